//! The replay viewer as a page in a browser. The user drops or chooses a file, which never leaves the machine.
//!
//! `web/page.html` is the page around the viewer. It receives the viewer's state, and the files that the viewer
//! saves.

use super::canvas::Canvas;
use super::gpu::Gpu;
use super::input::Input;
use super::settings::Shared;
use super::viewer::film::Film;
use super::viewer::{Opened, Viewer};
use super::words::page as words;
use super::{Next, Screen, Shell, conf};
use crate::signals::QuitRequest;
use miniquad::{EventHandler, window};
use std::panic;
use std::path::Path;

/// Fills the page. Returns at once; the browser asks for each frame.
pub fn open() {
    miniquad::start(conf(super::words::TITLE), || -> Box<dyn EventHandler> {
        panic::set_hook(Box::new(|why| {
            publish(PageState::Broken, &words::broken(&why.to_string()))
        }));
        match Gpu::new() {
            Ok(gpu) => {
                let settings = Shared::default();
                let first = Box::new(Page::new(settings.clone()));
                Box::new(Shell::new(gpu, first, settings, QuitRequest::default()))
            }
            Err(why) => {
                publish(PageState::Broken, &words::broken(&why.to_string()));
                Box::new(Nothing)
            }
        }
    });
}

/// A replay, or a page that waits for one.
struct Page {
    settings: Shared,
    viewer: Option<Viewer>,
    state: (PageState, String),
}

/// The state that the surrounding page receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum PageState {
    /// Waiting for a file, with the error of the last one, if any.
    Waits = 0,
    /// Showing a replay, with its position.
    Shows = 1,
    /// The viewer has failed.
    Broken = 2,
}

impl Page {
    fn new(settings: Shared) -> Page {
        let state = (PageState::Waits, String::new());
        publish(state.0, &state.1);
        let viewer = None;
        Page {
            settings,
            viewer,
            state,
        }
    }

    /// Shows the newest dropped or chosen file.
    fn take(&mut self) -> Result<(), String> {
        let (Some(name), Some(bytes)) =
            (window::dropped_file_path(0), window::dropped_file_bytes(0))
        else {
            return Err(words::UNREADABLE.to_owned());
        };
        // Two replays take twice the memory, and so do two copies of one: the window keeps each file that was dropped.
        self.viewer = None;
        on_files_dropped_start();
        let film = Film::held(Path::new(&name), bytes);
        let unshown = |why: replay::Error| words::unshown(&name.display().to_string(), &why);
        let opened = Opened::of(film).map_err(unshown)?;
        self.viewer = Some(Viewer::new(opened, self.settings.clone()));
        Ok(())
    }

    fn say(&mut self, state: PageState, text: String) {
        if self.state != (state, text.clone()) {
            publish(state, &text);
            self.state = (state, text);
        }
    }
}

impl Screen for Page {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        if !input.dropped.is_empty()
            && let Err(why) = self.take()
        {
            self.viewer = None;
            self.say(PageState::Waits, why);
        }
        if let Some(viewer) = &mut self.viewer {
            let next = viewer.frame(input, canvas);
            let state = viewer.state();
            match next {
                Next::Stay => self.say(PageState::Shows, state),
                _ => {
                    self.viewer = None;
                    self.say(PageState::Waits, String::new());
                }
            }
        }
        Next::Stay
    }
}

/// A page without WebGL to draw with.
struct Nothing;

impl EventHandler for Nothing {
    fn update(&mut self) {}

    fn draw(&mut self) {}
}

/// Saves a file through the browser.
pub fn give(name: &str, bytes: &[u8]) {
    page_save(name.as_ptr(), name.len(), bytes.as_ptr(), bytes.len());
}

#[expect(
    unsafe_code,
    reason = "miniquad offers no other way to drop a file that it holds"
)]
// SAFETY: a function of miniquad, which its JavaScript half calls before it hands over files. It empties the list of files.
unsafe extern "C" {
    safe fn on_files_dropped_start();
}

fn publish(state: PageState, text: &str) {
    page_update(state as u32, text.as_ptr(), text.len());
}

#[expect(
    unsafe_code,
    reason = "the functions are defined in web/page.html, which no compiler checks"
)]
// SAFETY: both are functions of the page with these arguments. They only read, and only during the call.
#[link(wasm_import_module = "env")]
unsafe extern "C" {
    safe fn page_update(state: u32, text: *const u8, length: usize);
    safe fn page_save(name: *const u8, name_length: usize, bytes: *const u8, length: usize);
}
