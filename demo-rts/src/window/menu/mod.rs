//! The menu: where the game begins without a command.

mod front;
mod home;
mod host;
mod join;
mod kit;
mod length;
mod options;
mod preview;
mod recordings;
mod rejoin;
mod skirmish;
mod watch;

#[cfg(test)]
mod tests;

pub use front::{Begun, Front, date, now_unix, sentence};
pub use home::Home;
pub(in crate::window) use kit::ROW;
pub(in crate::window) use kit::{
    Rows, button_width, buttons, buttons_of, choice, labelled, line, mark, page,
};
pub(in crate::window) use preview::Wanted;
pub(in crate::window) use skirmish::LEVELS;

use crate::cli::Common;
use crate::exit::Problem;
use crate::signals::QuitRequest;
use std::process::ExitCode;

/// Opens the window with the menu.
///
/// # Errors
/// Nothing was begun where no window can be opened.
pub fn run(common: &Common, asked: &QuitRequest) -> Result<Result<ExitCode, Problem>, NoWindow> {
    let front = std::rc::Rc::new(Front::of_user(common));
    let (settings, exit_report) = (front.settings.clone(), front.exit_report.clone());
    let first = {
        let front = front.clone();
        move || -> Box<dyn super::Screen> { Box::new(Home::new(front)) }
    };
    if super::open(super::words::TITLE, &settings, asked, first).is_err() {
        return Err(NoWindow);
    }
    // Keys change settings on every page.
    front.keep_settings();
    Ok(exit_report.borrow().say())
}

/// No window can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoWindow;
