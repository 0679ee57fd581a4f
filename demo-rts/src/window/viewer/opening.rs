//! A replay that is being opened: a large one is read for a while, and no frame waits for that.

use super::{Opened, Viewer, words};
use crate::window::canvas::Canvas;
use crate::window::input::{Input, KeyCode};
use crate::window::letters::Weight;
use crate::window::menu::{buttons, page};
use crate::window::ui::{Memory, Ui};
use crate::window::{Next, Screen, theme};
use replay::Error;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// A replay that a thread of its own opens. Who drops this waits for it no more.
pub struct Opening {
    path: PathBuf,
    done: Receiver<Result<Opened, Error>>,
}

impl Opening {
    /// Begins to open a file.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub fn begin(path: &Path) -> std::io::Result<Opening> {
        let path = path.to_owned();
        let (tell, done) = sync_channel(1);
        let thread = std::thread::Builder::new().name("opening".to_owned());
        let opened = path.clone();
        // Nobody is left to be told where it is waited for no more.
        thread.spawn(move || drop(tell.send(Opened::file(&opened))))?;
        Ok(Opening { path, done })
    }

    /// What became of it, once, as soon as that is known.
    pub fn poll(&self) -> Option<Result<Opened, Error>> {
        self.wait(Duration::ZERO)
    }

    /// Likewise; waits so long for it.
    pub fn wait(&self, most: Duration) -> Option<Result<Opened, Error>> {
        match self.done.recv_timeout(most) {
            Ok(opened) => Some(opened),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                let why = std::io::Error::other("whoever opened it ended without a word");
                Some(Err(why.into()))
            }
        }
    }

    /// That it is being opened, in words.
    pub fn said(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        words::opening(&name.to_string_lossy())
    }
}

/// What fills the window until a replay is opened.
pub struct Opener {
    opening: Opening,
    show: Option<Box<dyn FnOnce(Opened) -> Viewer>>,
    refused: Refused,
    memory: Memory,
}

/// Why a replay could not be opened, where that is why the window has closed.
pub type Refused = Rc<RefCell<Option<Error>>>;

impl Opener {
    /// Waits for this one, and shows it then.
    pub fn new(opening: Opening, show: impl FnOnce(Opened) -> Viewer + 'static) -> Opener {
        Opener {
            opening,
            show: Some(Box::new(show)),
            refused: Refused::default(),
            memory: Memory::default(),
        }
    }

    /// Where it is told why the replay could not be opened.
    pub fn refused(&self) -> Refused {
        self.refused.clone()
    }
}

impl Screen for Opener {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        let mut ui = Ui::new(canvas, input, &mut self.memory);
        let mut row = page(&mut ui, words::REPLAY, (640.0, 110.0));
        let high = ui.units(theme::BODY * 1.5);
        let text = self.opening.said();
        row.h = (row.h - high).max(0.0);
        ui.centred(row, &text, theme::BODY, Weight::Regular, theme::TEXT);
        row.y += row.h;
        row.h = high;
        let pressed = buttons(&mut ui, row, &[(words::CLOSE, true)]);
        ui.finish();
        if pressed.is_some() || input.hit(KeyCode::Escape) {
            return Next::Back;
        }
        match self.opening.poll() {
            None => Next::Stay,
            Some(Ok(opened)) => match self.show.take() {
                Some(show) => Next::Replace(Box::new(show(opened))),
                None => Next::Back,
            },
            Some(Err(why)) => {
                *self.refused.borrow_mut() = Some(why);
                Next::Back
            }
        }
    }
}
