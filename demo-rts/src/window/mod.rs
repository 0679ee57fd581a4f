//! The window, where most players meet the game.
//!
//! Once a frame, a [`Screen`] gets plain input, draws on a [`Canvas`] in memory, and says what comes next. Only
//! this file, `desktop`, `page` and `gpu` know the window and its graphics card, so all else is tested without
//! them.

pub mod clock;
#[cfg(feature = "window")]
mod desktop;
pub mod game;
mod gpu;
mod graphs;
pub mod input;
#[cfg(feature = "window")]
pub(crate) mod lan;
#[cfg(feature = "window")]
pub(crate) mod lobby;
#[cfg(feature = "window")]
pub(crate) mod menu;
#[cfg(target_arch = "wasm32")]
pub mod page;
#[cfg(feature = "window")]
pub(crate) mod places;
pub(crate) mod players;
#[cfg(test)]
mod readability;
mod samples;
pub mod settings;
#[cfg(feature = "window")]
pub(crate) mod sound;
#[cfg(feature = "window")]
mod sound_notice;
pub mod theme;
pub(crate) mod ui;
pub mod viewer;
pub mod words;

pub use demo_canvas::{canvas, letters};

use crate::signals::QuitRequest;
use canvas::Canvas;
#[cfg(feature = "window")]
pub use desktop::{has_display, kept_name, open, play};
use gpu::Gpu;
use input::{Gatherer, Input, Modifiers};
// For the fuzzing of this repository.
#[cfg(feature = "window")]
#[doc(hidden)]
pub use lan::{Announcement, Announcements};
use miniquad::{EventHandler, KeyCode, KeyMods, MouseButton, conf::Conf, window};
use settings::Shared;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A screen that fills the window: a menu, a lobby, a match.
pub trait Screen {
    /// Draws a frame and returns what comes next.
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next;

    /// Called each frame once the program must end, also for screens below the top one. `false` delays the end, for
    /// example to leave a match first.
    fn may_close(&mut self) -> bool {
        true
    }
}

/// What comes after a frame.
pub enum Next {
    /// The same screen.
    Stay,
    /// Another screen on top of this one.
    Push(Box<dyn Screen>),
    /// Another screen in place of this one.
    Replace(Box<dyn Screen>),
    /// The screen below. The window closes below the last one.
    Back,
    /// The window closes.
    Quit,
}

fn conf(title: &str) -> Conf {
    Conf {
        window_title: title.to_owned(),
        window_width: USUAL_SIZE.0,
        window_height: USUAL_SIZE.1,
        high_dpi: true,
        sample_count: samples(),
        window_resizable: true,
        icon: None,
        platform: miniquad::conf::Platform {
            linux_backend: miniquad::conf::LinuxBackend::X11WithWaylandFallback,
            linux_wm_class: "demo-rts",
            webgl_version: miniquad::conf::WebGLVersion::WebGL2,
            ..Default::default()
        },
        ..Conf::default()
    }
}

/// The screens, and the window that they fill.
struct Shell {
    gpu: Gpu,
    canvas: Canvas,
    screens: Vec<Box<dyn Screen>>,
    gatherer: Gatherer,
    settings: Shared,
    asked: QuitRequest,
    began: Duration,
    drawn_at: Duration,
    full_screen: bool,
    #[cfg(feature = "window")]
    sound_notice: sound_notice::SoundNotice,
}

impl Shell {
    fn new(gpu: Gpu, first: Box<dyn Screen>, settings: Shared, asked: QuitRequest) -> Shell {
        let mut gatherer = Gatherer::default();
        gatherer.focus(true);
        IS_OPEN.store(true, Ordering::Relaxed);
        #[cfg(feature = "window")]
        sound::open();
        Shell {
            gpu,
            canvas: Canvas::new(),
            screens: vec![first],
            gatherer,
            settings,
            asked,
            began: clock::now(),
            drawn_at: Duration::ZERO,
            full_screen: false,
            #[cfg(feature = "window")]
            sound_notice: sound_notice::SoundNotice::default(),
        }
    }

    fn frame(&mut self) {
        if self.asked.is_set() {
            self.gatherer.close();
        }
        let size = window::screen_size();
        let input = self.gatherer.frame(clock::since(self.began), size);
        let mut settings = self.settings.borrow().clone();
        if input.hit(KeyCode::F11) {
            settings.full_screen = !settings.full_screen;
            self.settings.borrow_mut().full_screen = settings.full_screen;
        }
        #[cfg(feature = "window")]
        {
            if input.hit(KeyCode::F9) {
                let trouble = sound::trouble();
                self.sound_notice.switch(&mut settings, trouble, input.now);
                self.settings.borrow_mut().muted = settings.muted;
            }
            sound::set_volume(settings.effective_volume());
        }
        if settings.full_screen != self.full_screen {
            self.full_screen = settings.full_screen;
            window::set_fullscreen(self.full_screen);
        }
        theme::set_colours(settings.colours);
        self.canvas.begin(size, settings.zoom);
        let next = match self.screens.last_mut() {
            Some(screen) => screen.frame(&input, &mut self.canvas),
            None => Next::Quit,
        };
        #[cfg(feature = "window")]
        self.sound_notice.draw(&mut self.canvas, input.now);
        match next {
            Next::Stay => {}
            Next::Push(screen) => self.screens.push(screen),
            Next::Replace(screen) => {
                self.screens.pop();
                self.screens.push(screen);
            }
            Next::Back => drop(self.screens.pop()),
            Next::Quit => self.gatherer.close(),
        }
        let closing = input.closing || self.screens.is_empty();
        let may = closing && self.screens.iter_mut().all(|screen| screen.may_close());
        if may {
            window::order_quit();
        }
        self.gatherer.takes_text(self.canvas.takes_text());
        let [red, green, blue, _] = theme::GROUND.map(|part| f32::from(part) / 255.0);
        self.gpu.draw(&mut self.canvas, [red, green, blue]);
    }
}

#[cfg(feature = "window")]
impl Drop for Shell {
    fn drop(&mut self) {
        sound::close();
    }
}

impl EventHandler for Shell {
    fn update(&mut self) {}

    fn draw(&mut self) {
        self.frame();
        // Where the display does not set the pace, this limit saves power.
        let passed = clock::since(self.began).saturating_sub(self.drawn_at);
        let shortest = Duration::from_secs(1) / self.settings.borrow().most_frames.max(1);
        // A browser asks for each frame, and cannot be made to wait.
        if cfg!(not(target_arch = "wasm32")) {
            std::thread::sleep(shortest.saturating_sub(passed));
        }
        self.drawn_at = clock::since(self.began);
    }

    fn mouse_motion_event(&mut self, x: f32, y: f32) {
        self.gatherer.mouse_at((x, y));
    }

    fn mouse_leave_event(&mut self) {
        self.gatherer.mouse_left();
    }

    fn mouse_wheel_event(&mut self, _: f32, y: f32) {
        self.gatherer.wheel(y.clamp(-1.0, 1.0));
    }

    fn mouse_button_down_event(&mut self, button: MouseButton, x: f32, y: f32) {
        let now = clock::since(self.began);
        self.gatherer.button_down(button, (x, y), now);
    }

    fn mouse_button_up_event(&mut self, button: MouseButton, x: f32, y: f32) {
        self.gatherer.button_up(button, (x, y));
    }

    fn char_event(&mut self, letter: char, with: KeyMods, _: bool) {
        if !with.logo && !modifiers(with).command() {
            self.gatherer.letter(letter);
        }
    }

    fn key_down_event(&mut self, key: KeyCode, with: KeyMods, repeat: bool) {
        let with = modifiers(with);
        // The system's clipboard may be slow: it is read only where a field takes text.
        if key == KeyCode::V && with.command() && !repeat && self.canvas.takes_text() {
            self.gatherer.paste(window::clipboard_get());
        }
        self.gatherer.key_down(key, with, repeat);
    }

    fn key_up_event(&mut self, key: KeyCode, with: KeyMods) {
        self.gatherer.key_up(key, modifiers(with));
    }

    fn window_minimized_event(&mut self) {
        self.gatherer.focus(false);
    }

    fn window_restored_event(&mut self) {
        self.gatherer.focus(true);
    }

    fn files_dropped_event(&mut self) {
        for place in 0..window::dropped_file_count() {
            if let Some(path) = window::dropped_file_path(place) {
                self.gatherer.drop_file(path);
            }
        }
    }

    fn quit_requested_event(&mut self) {
        window::cancel_quit();
        self.gatherer.close();
    }
}

/// Puts a text into the clipboard. Returns whether there is one.
pub fn copy(text: &str) -> bool {
    let there = IS_OPEN.load(Ordering::Relaxed);
    if there {
        window::clipboard_set(text);
    }
    #[cfg(test)]
    BOARD.with_borrow_mut(|board| *board = text.to_owned());
    there || cfg!(test)
}

/// The text in the clipboard, if any.
pub fn clipboard() -> Option<String> {
    let there = IS_OPEN.load(Ordering::Relaxed);
    let text = there.then(window::clipboard_get).flatten();
    #[cfg(test)]
    let text = text.or_else(|| Some(BOARD.with_borrow(Clone::clone)));
    text.filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
thread_local! {
    /// Stands in for the clipboard where there is no window.
    static BOARD: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

/// Whether there is a window with a clipboard.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

fn modifiers(with: KeyMods) -> Modifiers {
    Modifiers {
        shift: with.shift,
        control: with.ctrl || with.logo,
        alt: with.alt,
    }
}

const USUAL_SIZE: (i32, i32) = (1_280, 720);
/// Files of a graphics card on Linux: of the kernel, of NVIDIA's driver, of WSL.
const CARDS: [&str; 3] = ["/dev/dri", "/dev/nvidiactl", "/dev/dxg"];

/// Samples per pixel for smooth edges. Software rendering cannot afford them.
fn samples() -> i32 {
    let unwanted = std::env::var_os("LIBGL_ALWAYS_SOFTWARE").is_some();
    let card = |path| std::path::Path::new(path).exists();
    let lacks = cfg!(target_os = "linux") && !CARDS.into_iter().any(card);
    if unwanted || lacks { 1 } else { 4 }
}
