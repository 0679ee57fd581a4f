//! The replay viewer as a page in a browser: a file is dropped on the page or chosen, and never leaves the machine.
//!
//! `web/page.html` is the page around it. It is told what is shown, and takes the files that the viewer writes.

use super::canvas::Canvas;
use super::gpu::Gpu;
use super::input::Input;
use super::settings::Shared;
use super::viewer::film::Film;
use super::viewer::{Opened, Viewer};
use super::words::page as words;
use super::{Next, Screen, Shell, conf};
use crate::signals::Asked;
use miniquad::{EventHandler, window};
use std::panic;
use std::path::Path;

/// Fills the page. Returns at once; the browser asks for each frame.
pub fn open() {
    miniquad::start(conf(super::words::TITLE), || -> Box<dyn EventHandler> {
        panic::set_hook(Box::new(|why| {
            tell(Told::Broken, &words::broken(&why.to_string()))
        }));
        match Gpu::new() {
            Ok(gpu) => {
                let settings = Shared::default();
                let first = Box::new(Page::new(settings.clone()));
                Box::new(Shell::new(gpu, first, settings, Asked::default()))
            }
            Err(why) => {
                tell(Told::Broken, &words::broken(&why.to_string()));
                Box::new(Nothing)
            }
        }
    });
}

/// A replay, or a page that waits for one.
struct Page {
    settings: Shared,
    viewer: Option<Viewer>,
    told: (Told, String),
}

/// What the page around the viewer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Told {
    /// It waits for a file; with why the last one cannot be shown, if there was one.
    Waits = 0,
    /// It shows a replay; with where that stands.
    Shows = 1,
    /// It cannot go on.
    Broken = 2,
}

impl Page {
    fn new(settings: Shared) -> Page {
        let told = (Told::Waits, String::new());
        tell(told.0, &told.1);
        let viewer = None;
        Page {
            settings,
            viewer,
            told,
        }
    }

    /// Shows the file that was dropped or chosen last.
    fn take(&mut self) -> Result<(), String> {
        let (Some(name), Some(bytes)) =
            (window::dropped_file_path(0), window::dropped_file_bytes(0))
        else {
            return Err(words::UNREADABLE.to_owned());
        };
        let film = Film::held(Path::new(&name), bytes.into());
        let unshown = |why: replay::Error| words::unshown(&name.display().to_string(), &why);
        let opened = Opened::of(film).map_err(unshown)?;
        self.viewer = Some(Viewer::new(opened, self.settings.clone()));
        Ok(())
    }

    fn say(&mut self, told: Told, text: String) {
        if self.told != (told, text.clone()) {
            tell(told, &text);
            self.told = (told, text);
        }
    }
}

impl Screen for Page {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        if !input.dropped.is_empty()
            && let Err(why) = self.take()
        {
            self.viewer = None;
            self.say(Told::Waits, why);
        }
        if let Some(viewer) = &mut self.viewer {
            let next = viewer.frame(input, canvas);
            let state = viewer.state();
            match next {
                Next::Stay => self.say(Told::Shows, state),
                _ => {
                    self.viewer = None;
                    self.say(Told::Waits, String::new());
                }
            }
        }
        Next::Stay
    }
}

/// A page without a card to draw with.
struct Nothing;

impl EventHandler for Nothing {
    fn update(&mut self) {}

    fn draw(&mut self) {}
}

/// Gives the browser a file to keep.
pub fn give(name: &str, bytes: &[u8]) {
    page_takes(name.as_ptr(), name.len(), bytes.as_ptr(), bytes.len());
}

fn tell(told: Told, text: &str) {
    page_hears(told as u32, text.as_ptr(), text.len());
}

#[expect(
    unsafe_code,
    reason = "what is declared here is written in web/page.html, and no compiler compares the two"
)]
// SAFETY: both are functions of the page with these arguments. They read the bytes before they return, and write none.
#[link(wasm_import_module = "env")]
unsafe extern "C" {
    safe fn page_hears(told: u32, text: *const u8, length: usize);
    safe fn page_takes(name: *const u8, name_length: usize, bytes: *const u8, length: usize);
}
