//! The window: where most people meet the game.
//!
//! A [`Screen`] is asked once a frame with plain input, draws upon a [`Canvas`] in memory, and says what
//! comes next. Only this file and `gpu` know the window and its graphics card, so all else is tested without them.

pub mod canvas;
pub mod game;
mod gpu;
pub mod input;
pub mod lan;
pub mod letters;
pub mod lobby;
pub mod menu;
pub mod places;
pub mod settings;
#[cfg(test)]
mod sight;
pub mod sound;
pub mod theme;
pub mod ui;
pub mod viewer;
pub mod words;

use crate::exit::Problem;
use crate::peer::{Peer, now};
use crate::signals::Asked;
use canvas::Canvas;
use game::{Farewell, Game};
use gpu::Gpu;
use input::{Gatherer, Input, Modifiers};
use miniquad::{EventHandler, KeyCode, KeyMods, MouseButton, conf::Conf, window};
use settings::Shared;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// One thing that fills the window: a menu, a lobby, a match.
pub trait Screen {
    /// Draws a frame and says what comes next.
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next;

    /// Asked each frame once the program is to end, also of screens below the top one. `false`: something must be
    /// finished first, such as leaving a match.
    fn may_close(&mut self) -> bool {
        true
    }
}

/// What comes after a frame.
pub enum Next {
    /// The same screen.
    Stay,
    /// Another screen upon this one.
    Push(Box<dyn Screen>),
    /// Another screen in the place of this one.
    Replace(Box<dyn Screen>),
    /// The screen below; the window closes below the last.
    Back,
    /// The window closes.
    Quit,
}

/// Whether there is a display to open a window on.
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
/// Where no window can be opened, `first` comes back, not called.
pub fn open<F>(title: &str, settings: &Shared, asked: &Asked, first: F) -> Result<(), F>
where
    F: FnOnce() -> Box<dyn Screen> + 'static,
{
    let first = Rc::new(RefCell::new(Some(first)));
    // Where there is no GL the library panics: that is no news for the user, who plays in the terminal then.
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

/// Plays a match in a window.
///
/// # Errors
/// Where no window can be opened, the peer comes back.
pub fn play(
    peer: Peer,
    title: &str,
    notes: &[String],
    asked: &Asked,
) -> Result<Result<ExitCode, Problem>, Box<Peer>> {
    let settings = Shared::default();
    let farewell = Rc::new(RefCell::new(Farewell::default()));
    let held = Rc::new(RefCell::new(Some(Box::new(peer))));
    let first = {
        let (settings, farewell, held) = (settings.clone(), farewell.clone(), held.clone());
        let (title, notes) = (title.to_owned(), notes.to_vec());
        move || -> Box<dyn Screen> {
            let peer = held.borrow_mut().take();
            let peer = peer.expect("the first screen is made once");
            Box::new(Game::new(*peer, &title, &notes, settings, farewell))
        }
    };
    let opened = open(words::TITLE, &settings, asked, first);
    match held.borrow_mut().take() {
        Some(peer) if opened.is_err() => Err(peer),
        _ => Ok(farewell.borrow().say()),
    }
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

/// A window that closes at once: the card cannot do what is needed.
struct Nothing;

impl EventHandler for Nothing {
    fn update(&mut self) {
        window::order_quit();
    }

    fn draw(&mut self) {}
}

/// The screens, and the window that they fill.
struct Shell {
    gpu: Gpu,
    canvas: Canvas,
    screens: Vec<Box<dyn Screen>>,
    gatherer: Gatherer,
    settings: Shared,
    asked: Asked,
    began: Instant,
    drawn_at: Duration,
    full_screen: bool,
}

impl Shell {
    fn new(gpu: Gpu, first: Box<dyn Screen>, settings: Shared, asked: Asked) -> Shell {
        let mut gatherer = Gatherer::default();
        gatherer.focus(true);
        IS_OPEN.store(true, Ordering::Relaxed);
        sound::open();
        Shell {
            gpu,
            canvas: Canvas::new(),
            screens: vec![first],
            gatherer,
            settings,
            asked,
            began: now(),
            drawn_at: Duration::ZERO,
            full_screen: false,
        }
    }

    fn frame(&mut self) {
        if self.asked.is_set() {
            self.gatherer.close();
        }
        let size = window::screen_size();
        let input = self.gatherer.frame(self.began.elapsed(), size);
        let mut settings = self.settings.borrow().clone();
        if input.hit(KeyCode::F11) {
            settings.full_screen = !settings.full_screen;
            self.settings.borrow_mut().full_screen = settings.full_screen;
        }
        if input.hit(KeyCode::F9) {
            settings.muted = !settings.muted;
            self.settings.borrow_mut().muted = settings.muted;
        }
        sound::set_volume(settings.heard());
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
        let [red, green, blue, _] = theme::GROUND.map(|part| f32::from(part) / 255.0);
        self.gpu.draw(&mut self.canvas, [red, green, blue]);
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        sound::close();
    }
}

impl EventHandler for Shell {
    fn update(&mut self) {}

    fn draw(&mut self) {
        self.frame();
        // Where the display does not set the pace, a match needs no more frames than this.
        let passed = self.began.elapsed().saturating_sub(self.drawn_at);
        let shortest = Duration::from_secs(1) / self.settings.borrow().most_frames.max(1);
        std::thread::sleep(shortest.saturating_sub(passed));
        self.drawn_at = self.began.elapsed();
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
        let now = self.began.elapsed();
        self.gatherer.button_down(button, (x, y), now);
    }

    fn mouse_button_up_event(&mut self, button: MouseButton, x: f32, y: f32) {
        self.gatherer.button_up(button, (x, y));
    }

    fn char_event(&mut self, letter: char, with: KeyMods, _: bool) {
        if !with.ctrl && !with.logo {
            self.gatherer.letter(letter);
        }
    }

    fn key_down_event(&mut self, key: KeyCode, with: KeyMods, repeat: bool) {
        let with = modifiers(with);
        // The system's clipboard may take its time: it is asked only where there is something to paste into.
        if key == KeyCode::V && with.control && !repeat && self.canvas.takes_text() {
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

/// The text in the clipboard, if there is any.
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
    static BOARD: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Whether there is a window, whose clipboard can be used.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

fn modifiers(with: KeyMods) -> Modifiers {
    Modifiers {
        shift: with.shift,
        control: with.ctrl || with.logo,
        alt: with.alt,
    }
}

/// Before the user makes it larger.
const USUAL_SIZE: (i32, i32) = (1_280, 720);
/// Samples of each pixel, for smooth edges; where no card draws, they would cost too much.
fn samples() -> i32 {
    match std::env::var_os("LIBGL_ALWAYS_SOFTWARE") {
        Some(_) => 1,
        None => 4,
    }
}
