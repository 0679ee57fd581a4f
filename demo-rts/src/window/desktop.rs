//! The window on a desktop, where there is a display.

use super::gpu::Gpu;
use super::lobby::{Kind, Lobby};
use super::menu::{Begun, Front};
use super::places::Places;
use super::settings::{Settings, Shared};
use super::{Screen, Shell, conf, words};
use crate::cli::Common;
use crate::exit::Problem;
use crate::peer::{Part, Peer};
use crate::signals::QuitRequest;
use miniquad::{EventHandler, window};
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::rc::Rc;

/// Whether a window has a display to open on.
pub fn has_display() -> bool {
    if cfg!(any(windows, target_os = "macos")) {
        return true;
    }
    let names = ["DISPLAY", "WAYLAND_DISPLAY"];
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    names.into_iter().any(is_set)
}

/// Opens the window and shows `first` until it is closed.
///
/// # Errors
/// Returns `first` uncalled where no window can be opened.
pub fn open<F>(title: &str, settings: &Shared, asked: &QuitRequest, first: F) -> Result<(), F>
where
    F: FnOnce() -> Box<dyn Screen> + 'static,
{
    let first = Rc::new(RefCell::new(Some(first)));
    // The library panics without GL. Its message is of no use to a player, because the terminal takes over.
    let usual_hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let usual_hook = Rc::new(RefCell::new(Some(usual_hook)));
    let begin = {
        let (first, hook) = (first.clone(), usual_hook.clone());
        let (settings, asked) = (settings.clone(), asked.clone());
        move || -> Box<dyn EventHandler> {
            let gpu = Gpu::new();
            if let Some(hook) = hook.borrow_mut().take() {
                panic::set_hook(hook);
            }
            let screen = gpu.is_ok().then(|| first.borrow_mut().take()).flatten();
            match (gpu, screen) {
                (Ok(gpu), Some(screen)) => Box::new(Shell::new(gpu, screen(), settings, asked)),
                _ => Box::new(Nothing),
            }
        }
    };
    let conf = conf(title);
    let ran = panic::catch_unwind(AssertUnwindSafe(|| miniquad::start(conf, begin)));
    if let Some(hook) = usual_hook.borrow_mut().take() {
        panic::set_hook(hook);
    }
    let unused = first.borrow_mut().take();
    match (unused, ran) {
        (Some(first), _) => Err(first),
        (None, Ok(())) => Ok(()),
        (None, Err(panic)) => panic::resume_unwind(panic),
    }
}

/// Plays a match in a window. Players of a networked `part` wait in the lobby first.
///
/// # Errors
/// Returns the peer where no window can be opened.
pub fn play(
    peer: Peer,
    part: Option<&Part<'_>>,
    (title, notes): (&str, &[String]),
    common: &Common,
    asked: &QuitRequest,
) -> Result<Result<ExitCode, Problem>, Box<Peer>> {
    let front = Rc::new(Front::of_user(common));
    let kind = part.and_then(|part| Kind::of(part, common));
    let (settings, exit_report) = (front.settings.clone(), front.exit_report.clone());
    let held = Rc::new(RefCell::new(Some(Box::new(peer))));
    let first = {
        let (front, held) = (front.clone(), held.clone());
        let (title, notes) = (title.to_owned(), notes.to_vec());
        move || -> Box<dyn Screen> {
            let peer = held.borrow_mut().take();
            let peer = *peer.expect("the first screen is made once");
            first_of(&front, Begun { peer, notes }, kind, &title)
        }
    };
    let opened = open(words::TITLE, &settings, asked, first);
    match held.borrow_mut().take() {
        Some(peer) if opened.is_err() => Err(peer),
        _ => {
            front.keep_settings();
            Ok(exit_report.borrow().say())
        }
    }
}

/// The name in the menu's settings, if there is one.
pub fn kept_name() -> Option<String> {
    kept_name_at(&Places::of_user())
}

fn kept_name_at(places: &Places) -> Option<String> {
    // The menu reports unreadable settings.
    let settings = Settings::read(&places.settings()?).ok()?;
    let name = settings.name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// The first screen of a match that a command has begun.
pub(super) fn first_of(
    front: &Rc<Front>,
    mut begun: Begun,
    kind: Option<Kind>,
    title: &str,
) -> Box<dyn Screen> {
    begun.notes.extend(front.notes());
    front.by_command.set(true);
    match kind {
        Some(kind) => Box::new(Lobby::of_command(front.clone(), begun, kind)),
        None => front.game(title, begun.peer, &begun.notes),
    }
}

/// A window that closes at once, because the graphics card lacks a feature.
struct Nothing;

impl EventHandler for Nothing {
    fn update(&mut self) {
        window::order_quit();
    }

    fn draw(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kept_name_is_read_without_a_window() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::at(folder.path());
        assert_eq!(kept_name_at(&places), None);
        let mut settings = Settings::default();
        for (name, known) in [("Anna", Some("Anna")), (" ", None)] {
            settings.name = name.to_owned();
            settings.write(&places.settings().unwrap()).unwrap();
            assert_eq!(kept_name_at(&places).as_deref(), known);
        }
    }
}
