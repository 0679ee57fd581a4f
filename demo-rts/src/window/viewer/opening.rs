//! Opening a replay on a thread, because reading a large one takes longer than a frame.

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

/// A replay that a thread opens. Dropping this abandons it.
pub struct Opening {
    path: PathBuf,
    done: Receiver<Result<Opened, Error>>,
}

impl Opening {
    /// Begins to open a file.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn begin(path: &Path) -> std::io::Result<Opening> {
        let path = path.to_owned();
        let (result, done) = sync_channel(1);
        let thread = std::thread::Builder::new().name("opening".to_owned());
        let opened = path.clone();
        // An abandoned opening has no receiver.
        thread.spawn(move || drop(result.send(Opened::file(&opened))))?;
        Ok(Opening { path, done })
    }

    /// The result, once, as soon as it is known.
    pub fn poll(&self) -> Option<Result<Opened, Error>> {
        self.wait(Duration::ZERO)
    }

    /// Like [`poll`](Self::poll), but waits up to `most`.
    pub fn wait(&self, most: Duration) -> Option<Result<Opened, Error>> {
        match self.done.recv_timeout(most) {
            Ok(opened) => Some(opened),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                let why = std::io::Error::other("the thread that opened it ended");
                Some(Err(why.into()))
            }
        }
    }

    /// The text to show meanwhile.
    pub fn text(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        words::opening(&name.to_string_lossy())
    }
}

/// Fills the window until a replay is open.
pub struct Opener {
    opening: Opening,
    show: Option<Box<dyn FnOnce(Opened) -> Viewer>>,
    refused: Refused,
    memory: Memory,
}

/// Why a replay could not be opened, if that has closed the window.
pub type Refused = Rc<RefCell<Option<Error>>>;

impl Opener {
    /// Waits for this opening, then shows the replay.
    pub fn new(opening: Opening, show: impl FnOnce(Opened) -> Viewer + 'static) -> Opener {
        Opener {
            opening,
            show: Some(Box::new(show)),
            refused: Refused::default(),
            memory: Memory::default(),
        }
    }

    /// The cell for the error.
    pub fn refused(&self) -> Refused {
        self.refused.clone()
    }
}

impl Screen for Opener {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        let mut ui = Ui::new(canvas, input, &mut self.memory);
        let mut row = page(&mut ui, words::REPLAY, (640.0, 110.0));
        let high = ui.units(theme::BODY * 1.5);
        let text = self.opening.text();
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
