//! How long two players in windows wait after a click: for its mark on the ground, and for their units to obey.

use crate::window::display::{Display, Window, missing};
use crate::window::picture::{Part, Picture};
use demo_rts::window::settings::Settings;
use demo_rts::window::words;
use std::path::Path;
use std::time::{Duration, Instant};

/// Where units are sent by turns: above and below the town hall, with grass around.
const GOALS: [(i32, i32); 2] = [(640, 480), (640, 250)];
/// A box around all workers at the beginning.
const WORKERS: [(i32, i32); 2] = [(540, 250), (740, 440)];
const FRAMES_A_SECOND: u32 = 30;
/// The town hall. The way of units that have the order is drawn across it.
const HALL: Part = Part {
    x: 600,
    y: 320,
    wide: 80,
    high: 80,
};
/// A square of a picture that differs so much shows something else: here a thin line.
const CHANGED: f64 = 3.0;
/// A look takes about as long.
const LOOK_EVERY: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(5);

/// Plays a match of two windows, the second of which sends all of its packets through `impair`, and prints what each player
/// sees after so many clicks.
///
/// # Panics
/// If no match can be started.
pub fn print(program: &Path, impair: &str, clicks: usize) {
    if let Some(lacks) = missing() {
        println!("no window: {lacks}");
        return;
    }
    let [own, guests] = [(); 2].map(|()| tempfile::tempdir().expect("a folder for the game"));
    for home in [&own, &guests] {
        let settings = Settings {
            most_frames: FRAMES_A_SECOND,
            ..Settings::default()
        };
        let written = settings.write(&home.path().join("demo-rts/settings.json"));
        written.expect("the game's folder can be written to");
    }
    let display = Display::open("click", 2);
    let ticket = guests.path().join("ticket").display().to_string();
    let host = [
        "host",
        "--listen",
        "127.0.0.1:0",
        "--map",
        "lakes",
        "--map-seed",
        "7",
        "--record",
        "click.replay",
        "--ticket-file",
        &ticket,
    ];
    let guest = ["join", "@ticket", "--impair", impair];
    let host = Window::open(&display, program, &host, own.path(), ("host", 0));
    host.until("a ticket", |_| Path::new(&ticket).exists().then_some(()));
    let guest = Window::open(&display, program, &guest, guests.path(), ("guest", 1));
    println!("two windows of {FRAMES_A_SECOND} frames a second; packets of the guest: {impair}");
    for (name, window) in [("host", &host), ("guest", &guest)] {
        window.until_seen(words::HELP_HINT);
        window.until_seen(&words::idle(5));
        window.drag(WORKERS[0], WORKERS[1]);
        window.until_seen(&words::selected(5));
        window.order(GOALS[0]);
        window.until_gone(&words::idle(5));
        let mut seen: Vec<[Option<u128>; 2]> = Vec::new();
        for click in 0..clicks {
            window.until_seen(&words::idle(5));
            seen.push(wait_for_both(window, GOALS[(click + 1) % 2]));
        }
        for (at, what) in ["mark on the ground", "units have the order"]
            .iter()
            .enumerate()
        {
            let of = seen.iter().filter_map(|both| both[at]);
            let mut of: Vec<f64> = of.map(|ms| ms as f64).collect();
            let Some((median, most)) = super::median_and(&mut of, 1.0) else {
                println!("  {name}: {what}: never seen after {clicks} clicks");
                continue;
            };
            println!(
                "  {name}: {what}: {median:.0} ms in the median of {} clicks, {most:.0} at most, {:.0} frames",
                of.len(),
                median * f64::from(FRAMES_A_SECOND) / 1_000.0
            );
        }
    }
    host.press(&["F3"]);
    host.until_seen(words::AGREED);
}

/// Orders the selected units to another place. Milliseconds from the click until that place shows a mark, and until the way
/// of the units is drawn, which they go from then on.
fn wait_for_both(window: &Window<'_>, to: (i32, i32)) -> [Option<u128>; 2] {
    let parts = [Part::around(to, 60), HALL];
    window.point(to);
    let before = window.still(Some(HALL));
    let is_changed = |picture: &Picture, part: Part| {
        let apart = before.part(part).difference(&picture.part(part));
        apart.is_some_and(|apart| apart.worst_square > CHANGED)
    };
    let begun = Instant::now();
    window.order(to);
    let mut seen = [None; 2];
    while seen.contains(&None) && begun.elapsed() < PATIENCE {
        let picture = window.picture();
        let ms = begun.elapsed().as_millis();
        for (at, part) in seen.iter_mut().zip(parts) {
            if at.is_none() && is_changed(&picture, part) {
                *at = Some(ms);
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
    seen
}
