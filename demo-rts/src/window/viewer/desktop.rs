//! The viewer in a window of its own.

use super::opening::Refused;
use super::{Beyond, Opened, Opener, Opening, Viewer};
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
use std::time::Duration;

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
    let problem = |source| {
        let path = path.to_owned();
        Ok(Err(Problem::Replay { path, source }))
    };
    let opening = match Opening::begin(path) {
        Ok(opening) => opening,
        Err(why) => return problem(why.into()),
    };
    let beyond = Beyond::of_user();
    let (farewell, played) = (Farewell::default(), beyond.farewell.clone());
    let show = {
        let (farewell, settings) = (farewell.clone(), settings.clone());
        move |opened: Opened| {
            let viewer = Viewer::new(opened, settings).with(beyond);
            Viewer { farewell, ..viewer }
        }
    };
    let mut refused = Refused::default();
    let first: Box<dyn FnOnce() -> Box<dyn Screen>> = match opening.wait(WITHOUT_A_WORD) {
        Some(Ok(opened)) => {
            let viewer = show(opened);
            Box::new(move || -> Box<dyn Screen> { Box::new(viewer) })
        }
        Some(Err(why)) => return problem(why),
        None => {
            let opener = Opener::new(opening, show);
            refused = opener.refused();
            Box::new(move || -> Box<dyn Screen> { Box::new(opener) })
        }
    };
    if open(words::TITLE, &settings, asked, first).is_err() {
        return Err(NoWindow);
    }
    if let Some(why) = refused.take() {
        return problem(why);
    }
    let told = watch::tell(&farewell.borrow());
    Ok(played.borrow().say().map(|_| told))
}

/// For so long a replay is opened before there is a window that says so.
const WITHOUT_A_WORD: Duration = Duration::from_millis(300);

/// There is no window to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoWindow;
