//! A display for real windows: an X server that keeps its screen in a file, and `xdotool` for input.

use super::ink::Pen;
use super::picture::{Part, Picture};
use crate::processes::Process;
use demo_rts::window::settings::Settings;
use rustix::process::{Pid, Signal, kill_process};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A virtual display with room for this many windows side by side.
pub struct Display {
    server: Child,
    name: String,
    folder: TempDir,
    /// The name for pictures of a failure.
    title: String,
    pen: RefCell<Pen>,
}

/// What this machine lacks for a display, as text.
pub fn missing() -> Option<String> {
    let runs = |program: &str| {
        let mut asked = Command::new(program);
        let asked = asked.arg("-help").stdin(Stdio::null());
        let asked = asked.stdout(Stdio::null()).stderr(Stdio::null()).status();
        asked.is_ok()
    };
    let lacks: Vec<&str> = ["Xvfb", "xdotool"]
        .into_iter()
        .filter(|program| !runs(program))
        .collect();
    let packages = "on Debian: apt-get install --no-install-recommends \
                    xvfb xdotool libgl1 libgl1-mesa-dri libxi6 libxkbcommon0";
    let lacks = (!lacks.is_empty()).then(|| lacks.join(" and "))?;
    Some(format!("this machine has no {lacks} ({packages})"))
}

impl Display {
    /// With room for this many windows side by side. `title` names pictures of a failure.
    ///
    /// # Panics
    /// If the X server does not start.
    pub fn open(title: &str, windows: u32) -> Display {
        let folder = tempfile::tempdir().expect("a folder for the screen");
        let screen = format!("{}x{}x24", WIDE * windows, HIGH);
        let mut server = Command::new("Xvfb")
            // Otherwise it resets when its last client disconnects, and refuses clients meanwhile.
            .args(["-noreset", "-displayfd", "1", "-nolisten", "tcp"])
            .args(["-screen", "0"])
            .arg(&screen)
            .arg("-fbdir")
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb starts");
        let mut number = String::new();
        let stdout = server.stdout.take().expect("piped");
        // It writes its number once it accepts connections; or it ends.
        let read = BufReader::new(stdout).read_line(&mut number);
        let display = Display {
            server,
            name: format!(":{}", number.trim()),
            folder,
            title: title.to_owned(),
            pen: RefCell::default(),
        };
        assert!(
            read.is_ok() && number.trim().parse::<u32>().is_ok(),
            "Xvfb ended at once"
        );
        display
    }

    /// The current screen.
    fn picture(&self) -> Picture {
        let path = self.folder.path().join("Xvfb_screen0");
        Picture::read_dump(&path).expect("the screen of a running Xvfb")
    }

    /// Runs xdotool, and returns its output.
    fn hands(&self, arguments: &[&str]) -> String {
        let ran = Command::new("xdotool")
            .args(arguments)
            .env("DISPLAY", &self.name)
            .stdin(Stdio::null())
            .output()
            .expect("xdotool runs");
        // xdotool fails if it finds no window, which is no error here.
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    fn windows(&self) -> Vec<String> {
        let found = self.hands(&["search", "--onlyvisible", "--class", "demo-rts"]);
        found.lines().map(str::to_owned).collect()
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // SIGTERM lets it remove its socket and lock.
        let _ = kill_process(Pid::from_child(&self.server), Signal::TERM);
        let until = Instant::now() + Duration::from_secs(5);
        while matches!(self.server.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = self.server.kill();
                break;
            }
            std::thread::sleep(PACE);
        }
        let _ = self.server.wait();
    }
}

/// A window of the game. Dropping it ends the process; during a panic, its picture is kept.
pub struct Window<'a> {
    display: &'a Display,
    /// The game's process.
    pub process: Process,
    id: String,
    name: String,
    left: u32,
    steps: RefCell<Vec<(String, Picture)>>,
}

impl<'a> Window<'a> {
    /// Starts the game with `arguments` and `home` as its data folder, and waits for its window, the `place`-th
    /// from the left. `program` is the game if its first argument is `demo`.
    ///
    /// # Panics
    /// If no window appears.
    pub fn open(
        display: &'a Display,
        program: &Path,
        arguments: &[&str],
        home: &Path,
        (name, place): (&str, u32),
    ) -> Window<'a> {
        let before = display.windows();
        let around = [
            ("DISPLAY", display.name.as_str()),
            // Pictures must not depend on the machine's card, and smooth edges would cost a second per frame.
            ("LIBGL_ALWAYS_SOFTWARE", "1"),
        ];
        settle(home).expect("the game's folder can be written to");
        let all: Vec<&str> = ["demo"].iter().chain(arguments).copied().collect();
        let process = Process::start_in(program, &all, home, &around);
        let mut window = Window {
            display,
            process,
            id: String::new(),
            name: name.to_owned(),
            left: place * WIDE,
            steps: RefCell::default(),
        };
        let until = Instant::now() + PATIENCE;
        while window.id.is_empty() {
            let now = display.windows();
            let new = now.iter().find(|id| !before.contains(*id));
            window.id = new.cloned().unwrap_or_default();
            let ended = window.process.has_ended();
            assert!(!ended && Instant::now() < until, "{name}: no window");
            std::thread::sleep(PACE);
        }
        let left = window.left.to_string();
        display.hands(&["windowmove", &window.id, &left, "0"]);
        window
    }

    /// Its current picture.
    pub fn picture(&self) -> Picture {
        let own = Part {
            x: self.left as usize,
            ..WHOLE
        };
        self.display.picture().part(own)
    }

    /// Its picture once it, or a part of it, rests.
    ///
    /// # Panics
    /// After a minute.
    pub fn still(&self, part: Option<Part>) -> Picture {
        let watched = |picture: &Picture| match part {
            Some(part) => picture.part(part),
            None => picture.clone(),
        };
        let mut last = watched(&self.picture());
        let mut since = Instant::now();
        self.until("a picture that stays", |picture| {
            let now = watched(picture);
            let apart = now.difference(&last);
            if apart.is_none_or(|apart| apart.worst_square > SHIMMER) {
                since = Instant::now();
            }
            last = now;
            (since.elapsed() > STAYS).then(|| picture.clone())
        })
    }

    /// Waits until the picture, or a part of it, clearly differs from this one.
    ///
    /// # Panics
    /// After a minute.
    pub fn until_changed(&self, from: &Picture, part: Option<Part>) -> Picture {
        let part = part.unwrap_or(WHOLE);
        self.until("another picture", |picture| {
            let apart = from.part(part).difference(&picture.part(part));
            let changed = apart.is_some_and(|apart| apart.worst_square > CHANGED);
            changed.then(|| picture.clone())
        })
    }

    /// Waits until `wanted` returns a value for the picture.
    ///
    /// # Panics
    /// After a minute; the pictures are kept then.
    pub fn until<T>(&self, what: &str, mut wanted: impl FnMut(&Picture) -> Option<T>) -> T {
        let until = Instant::now() + PATIENCE;
        loop {
            let picture = self.picture();
            if let Some(found) = wanted(&picture) {
                let mut steps = self.steps.borrow_mut();
                // Pictures on the way, as far as memory allows.
                if steps.len() >= MOST_STEPS {
                    steps.remove(0);
                }
                steps.push((what.to_owned(), picture));
                return found;
            }
            if Instant::now() > until {
                let seconds = PATIENCE.as_secs();
                panic!("{}: not seen within {seconds} s: {what}", self.name);
            }
            std::thread::sleep(PACE);
        }
    }

    /// Waits until a text is visible. Returns its centre.
    ///
    /// # Panics
    /// After a minute; the pictures are kept then.
    pub fn until_seen(&self, text: &str) -> (i32, i32) {
        self.until(text, |picture| self.find(text, picture))
    }

    /// Waits until a text is gone.
    ///
    /// # Panics
    /// After a minute.
    pub fn until_gone(&self, text: &str) {
        let what = format!("no more: {text}");
        self.until(&what, |picture| {
            self.find(text, picture).is_none().then_some(())
        });
    }

    /// Kills its process, as a crash would, and so the window.
    pub fn kill(mut self) {
        self.process.kill();
    }

    /// Whether a picture of this window shows a text.
    pub fn shows(&self, text: &str, picture: &Picture) -> bool {
        self.find(text, picture).is_some()
    }

    fn find(&self, text: &str, picture: &Picture) -> Option<(i32, i32)> {
        let found = self.display.pen.borrow_mut().find(text, picture);
        found.first().map(|(x, y)| (*x as i32, *y as i32))
    }

    /// Clicks on a text once it is visible.
    ///
    /// # Panics
    /// As [`until_seen`](Self::until_seen).
    pub fn click_on(&self, text: &str) {
        let at = self.until_seen(text);
        self.click(at);
    }

    /// Clicks with the left button.
    pub fn click(&self, at: (i32, i32)) {
        self.hand(at, &["click", "1"]);
    }

    /// Clicks with the right button.
    pub fn order(&self, at: (i32, i32)) {
        self.hand(at, &["click", "3"]);
    }

    /// Moves the mouse.
    pub fn point(&self, at: (i32, i32)) {
        self.hand(at, &[]);
    }

    /// Draws a box with the left button.
    pub fn drag(&self, from: (i32, i32), to: (i32, i32)) {
        self.hand(from, &["mousedown", "1"]);
        self.hand(to, &["mouseup", "1"]);
    }

    /// Focuses the window and presses keys, by their X names.
    pub fn press(&self, keys: &[&str]) {
        let mut arguments = vec!["windowfocus", &self.id, "key", "--clearmodifiers"];
        arguments.extend(keys);
        self.display.hands(&arguments);
    }

    /// Focuses the window and types a text.
    pub fn write(&self, text: &str) {
        self.display.hands(&["windowfocus", &self.id, "type", text]);
    }

    fn hand(&self, (x, y): (i32, i32), then: &[&str]) {
        let (x, y) = ((self.left as i32 + x).to_string(), y.to_string());
        let mut arguments = vec!["mousemove", &x, &y];
        arguments.extend(then);
        self.display.hands(&arguments);
    }

    /// Writes the pictures on the way and the current one. Returns their folder.
    fn keep_pictures(&self) -> PathBuf {
        let folder = kept().join(&self.display.title);
        let last = ("at the end".to_owned(), self.picture());
        let steps = self.steps.borrow();
        for (place, (what, picture)) in steps.iter().chain([&last]).enumerate() {
            let mut called = format!("{}-{place:02}-", self.name);
            for letter in what.chars().take(40) {
                let kept = letter.is_ascii_alphanumeric();
                called.push(if kept { letter } else { '_' });
            }
            called.push_str(".png");
            // Pictures only help; the failure itself is reported all the same.
            let _ = picture.write_png(&folder.join(called));
        }
        folder
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        let wanted = std::env::var_os("KEEP_PICTURES").is_some();
        if wanted || std::thread::panicking() {
            let folder = self.keep_pictures();
            let mut report = format!("{}: pictures in {}", self.name, folder.display());
            self.process.kill();
            let _ = write!(report, "; its stderr: {}", self.process.errors_now());
            eprintln!("{report}");
        }
    }
}

/// Writes settings with a low frame rate, unless the game has settings.
fn settle(home: &Path) -> std::io::Result<()> {
    let path = home.join("demo-rts/settings.json");
    if path.exists() {
        return Ok(());
    }
    let settings = Settings {
        most_frames: FRAMES_A_SECOND,
        ..Settings::default()
    };
    settings.write(&path)
}

/// The folder for pictures of failures.
pub fn kept() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    target.unwrap_or_else(own).join("pictures")
}

/// Width of a window in pixels, as the game opens it.
pub const WIDE: u32 = 1_280;
/// Height of a window.
pub const HIGH: u32 = 720;
/// The whole window.
const WHOLE: Part = Part {
    x: 0,
    y: 0,
    wide: WIDE as usize,
    high: HIGH as usize,
};
/// The greatest change of a channel in a square of a picture at rest: panels let some motion below shine through.
const SHIMMER: f64 = 2.0;
/// The least change of a channel in a square that counts as a change.
const CHANGED: f64 = 8.0;
/// The longest wait: a busy machine may draw one frame per second.
const PATIENCE: Duration = Duration::from_secs(60);
/// Frames per second of a game under test: the processor draws them, for several games at once.
const FRAMES_A_SECOND: u32 = 10;
/// The interval of looking.
const PACE: Duration = Duration::from_millis(120);
/// A picture unchanged for this long is at rest.
const STAYS: Duration = Duration::from_millis(1_000);
/// Pictures on the way that are kept.
const MOST_STEPS: usize = 24;
