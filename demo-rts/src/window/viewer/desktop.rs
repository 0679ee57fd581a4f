//! The viewer in a window of its own.

use super::{Beyond, Viewer};
use crate::exit::Problem;
use crate::signals::Asked;
use crate::watch;
use crate::window::places::Places;
use crate::window::settings::{Settings, Shared};
use crate::window::{Screen, open, words};
use std::cell::RefCell;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

/// What is told once the viewer has closed.
pub(super) type Farewell = Rc<RefCell<Vec<String>>>;

impl Viewer {
    /// Notes what is told once the viewer has closed.
    pub(super) fn say_farewell(&self) {
        let reader = self.reel.reader();
        *self.farewell.borrow_mut() = watch::wrong(&self.path, reader.damage(), self.reel.error());
    }
}

/// Opens the window with a replay.
///
/// # Errors
/// Where no window can be opened, nothing was begun.
pub fn run(path: &Path, asked: &Asked) -> Result<Result<ExitCode, Problem>, NoWindow> {
    let kept = Places::of_user().settings();
    // What holds no settings is told by the menu; a replay is shown all the same.
    let settings = kept.and_then(|path| Settings::read(&path).ok());
    let settings: Shared = Rc::new(RefCell::new(settings.unwrap_or_default()));
    let viewer = match Viewer::open(path, settings.clone()) {
        Ok(viewer) => viewer,
        Err(source) => {
            let path = path.to_owned();
            return Ok(Err(Problem::Replay { path, source }));
        }
    };
    let beyond = Beyond::of_user();
    let (farewell, played) = (viewer.farewell.clone(), beyond.farewell.clone());
    let viewer = viewer.with(beyond);
    let first = move || -> Box<dyn Screen> { Box::new(viewer) };
    match open(words::TITLE, &settings, asked, first) {
        Ok(()) => {
            let told = watch::tell(&farewell.borrow());
            Ok(played.borrow().say().map(|_| told))
        }
        Err(_) => Err(NoWindow),
    }
}

/// There is no window to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoWindow;
