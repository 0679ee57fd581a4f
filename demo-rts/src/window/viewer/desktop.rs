//! The viewer in a window of its own.

use super::opening::Refused;
use super::{MatchContext, Opened, Opener, Opening, Viewer};
use crate::exit::Problem;
use crate::signals::QuitRequest;
use crate::watch;
use crate::window::places::Places;
use crate::window::settings::{Settings, Shared};
use crate::window::{Screen, open, words};
use std::cell::RefCell;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

/// What the program prints once the viewer has closed.
pub(super) type ExitReport = Rc<RefCell<watch::ExitReport>>;

impl Viewer {
    /// Stores what to print once the viewer has closed.
    pub(super) fn store_exit_report(&self) {
        let reader = self.reel.reader();
        *self.exit_report.borrow_mut() =
            watch::ExitReport::of(&self.path, reader.damage(), self.reel.error());
    }
}

/// Opens the window with a replay.
///
/// # Errors
/// Nothing was begun where no window can be opened.
pub fn run(path: &Path, asked: &QuitRequest) -> Result<Result<ExitCode, Problem>, NoWindow> {
    let kept = Places::of_user().settings();
    // The menu reports unreadable settings; a replay opens all the same.
    let read = kept.as_deref().and_then(|path| Settings::read(path).ok());
    let before = read.unwrap_or_default();
    let settings: Shared = Rc::new(RefCell::new(before.clone()));
    let problem = |source| {
        let path = path.to_owned();
        Ok(Err(Problem::Replay { path, source }))
    };
    let opening = match Opening::begin(path) {
        Ok(opening) => opening,
        Err(why) => return problem(why.into()),
    };
    let match_context = MatchContext::of_user();
    let (exit_report, played) = (ExitReport::default(), match_context.exit_report.clone());
    let show = {
        let (exit_report, settings) = (exit_report.clone(), settings.clone());
        move |opened: Opened| {
            let viewer = Viewer::new(opened, settings).with(match_context);
            Viewer {
                exit_report,
                ..viewer
            }
        }
    };
    let mut refused = Refused::default();
    let first: Box<dyn FnOnce() -> Box<dyn Screen>> = match opening.wait(NOTICE_DELAY) {
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
    if let Some(path) = kept {
        // A closed window cannot show a failure, and the replay was shown.
        let _ = settings.borrow().write_changes(&before, &path);
    }
    if let Some(why) = refused.take() {
        return problem(why);
    }
    let code = exit_report.borrow().print();
    Ok(played.borrow().say().map(|_| code))
}

/// A replay that opens within this time needs no window with a notice.
const NOTICE_DELAY: Duration = Duration::from_millis(300);

/// No window can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoWindow;
