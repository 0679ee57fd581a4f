//! The README's pictures of the game, with fixed maps, matches and moments. Tests compare them with the window.

use super::display::{self, Display, Window};
use super::picture::{Part, Picture};
use demo_rts::bot::Level;
use demo_rts::window::words::{self, menu, viewer};
use lockstep::EndReason;
use std::fmt::Write as _;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};

/// A stored picture, at half the size of the window.
struct Kept {
    /// Its file name without the extension.
    name: &'static str,
    arguments: fn() -> Vec<String>,
    /// Leads the window to the scene.
    lead: fn(&Window<'_>) -> Picture,
    /// The compared part, in pixels of the stored picture.
    compared: Part,
    /// A part that shows which starting place a match has drawn: matches are started until it is the stored one.
    beginning: Option<Part>,
}

/// Regenerates all pictures. Returns a line for each.
///
/// # Errors
/// The error of the disk.
pub fn make(program: &Path) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    for kept in &KEPT {
        let path = file(kept);
        let failed = |why: std::io::Error| format!("{}: {why}", path.display());
        kept.take(program).write_png(&path).map_err(failed)?;
        let bytes = std::fs::metadata(&path).map_err(failed)?.len();
        lines.push(format!("{bytes:>7} bytes  {}", path.display()));
    }
    Ok(lines)
}

/// Compares all pictures with the window. Returns a line for each.
///
/// # Errors
/// The greatest differences, as text with the folder of the new pictures.
pub fn check(program: &Path) -> Result<Vec<String>, String> {
    let (mut lines, mut wrong) = (Vec::new(), String::new());
    // In parallel, each on its own display.
    let seen: Vec<Result<Picture, String>> = std::thread::scope(|scope| {
        let taken = KEPT.each_ref();
        let taken = taken.map(|kept| scope.spawn(|| kept.take_like(program)));
        let taken = taken.into_iter().map(|thread| thread.join());
        taken
            .map(|seen| seen.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    for (kept, seen) in KEPT.iter().zip(seen) {
        let seen = seen?;
        match kept.compare(&seen) {
            Ok(line) => lines.push(line),
            Err(why) => {
                let path = display::kept().join(kept.name).with_extension("png");
                let written = seen.write_png(&path);
                let at = match written {
                    Ok(()) => path.display().to_string(),
                    Err(why) => why.to_string(),
                };
                let _ = writeln!(wrong, "{why}; the new picture: {at}");
            }
        }
    }
    match wrong.is_empty() {
        true => Ok(lines),
        false => Err(format!(
            "{wrong}if the change is intended: cargo run --release -p tests --bin pictures"
        )),
    }
}

impl Kept {
    fn take(&self, program: &Path) -> Picture {
        let home = tempfile::tempdir().expect("a folder for the game");
        let display = Display::open(self.name, 1);
        let arguments = (self.arguments)();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let named = (self.name, 0);
        let window = Window::open(&display, program, &arguments, home.path(), named);
        (self.lead)(&window).halved()
    }

    /// Takes the picture until its match begins like the stored one. After the last try, any picture serves to
    /// report the difference.
    fn take_like(&self, program: &Path) -> Result<Picture, String> {
        let mut seen = self.take(program);
        let Some(part) = self.beginning else {
            return Ok(seen);
        };
        let kept = self.kept()?.part(part);
        for _ in 0..MOST_BEGINNINGS {
            let apart = kept.difference(&seen.part(part));
            if apart.is_some_and(|apart| apart.worst_square <= SQUARE) {
                break;
            }
            seen = self.take(program);
        }
        Ok(seen)
    }

    fn kept(&self) -> Result<Picture, String> {
        Picture::read_png(&file(self)).map_err(|why| format!("{}: {why}", self.name))
    }

    fn compare(&self, seen: &Picture) -> Result<String, String> {
        let (name, part) = (self.name, self.compared);
        let apart = self.kept()?.part(part).difference(&seen.part(part));
        let apart = apart.ok_or_else(|| format!("{name}: another size"))?;
        let (x, y) = apart.worst_at;
        let line = format!(
            "{name}: a channel differs by {:.2} on average [{MEAN}], by {:.1} in the worst square, at {},{} \
             [{SQUARE}]; {:.3} % of pixels differ clearly",
            apart.mean,
            apart.worst_square,
            x + part.x,
            y + part.y,
            apart.clearly * 100.0,
        );
        let good = apart.mean <= MEAN && apart.worst_square <= SQUARE;
        if good { Ok(line) } else { Err(line) }
    }
}

fn file(kept: &Kept) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures");
    root.join(kept.name).with_extension("png")
}

fn golden(name: &str) -> String {
    let path = crate::golden::folder().join(name).with_extension("replay");
    path.display().to_string()
}

const KEPT: [Kept; 4] = [
    Kept {
        name: "menu",
        arguments: || words_of("--map lakes --map-seed 4711"),
        lead: lead_to_skirmish,
        // The map behind the page drifts.
        compared: part(91, 86, 458, 214),
        beginning: None,
    },
    Kept {
        name: "match",
        arguments: || words_of("skirmish --bots 1 --map lakes --map-seed 7 --name Ada --turns 24"),
        lead: lead_to_match,
        compared: WHOLE,
        // Each match draws its starting places; the small map shows them.
        beginning: Some(part(0, 268, 92, 92)),
    },
    Kept {
        name: "battle",
        arguments: || vec!["watch".to_owned(), golden("armies")],
        lead: lead_to_battle,
        compared: WHOLE,
        beginning: None,
    },
    Kept {
        name: "viewer",
        arguments: || vec!["watch".to_owned(), golden("four")],
        lead: lead_to_graphs,
        compared: WHOLE,
        beginning: None,
    },
];

const fn part(x: usize, y: usize, wide: usize, high: usize) -> Part {
    Part { x, y, wide, high }
}

fn words_of(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn lead_to_skirmish(window: &Window<'_>) -> Picture {
    window.click_on(menu::SKIRMISH);
    window.click_on("4");
    window.click_on(menu::level(Level::Hard));
    window.until_gone(menu::DRAWING);
    window.point((900, 660));
    // The map behind the page drifts, the page does not.
    window.still(Some(part(182, 172, 916, 428)))
}

fn lead_to_match(window: &Window<'_>) -> Picture {
    window.click_on(words::LOOK);
    // The messages at the start and the end of the match fade.
    window.until_gone("0:00 Ada joined");
    window.until_gone(&format!("0:02 {}", EndReason::TurnLimit));
    window.drag((540, 250), (740, 440));
    window.until_seen(&words::selected(5));
    window.still(None)
}

/// Pauses a replay at its beginning.
fn stop(window: &Window<'_>, turns: u32) {
    window.press(&["space"]);
    window.until_seen(viewer::PAUSED);
    window.press(&["Home"]);
    window.until_seen(&viewer::place(0, turns, 0));
}

fn lead_to_battle(window: &Window<'_>) -> Picture {
    let at = |turn: u32| viewer::place(turn, 739, u64::from(turn) * 4);
    stop(window, 739);
    // The first fight, from shortly before it on.
    window.press(&["n"]);
    window.until_gone(&at(0));
    window.press(&["Home"]);
    window.until_seen(&at(0));
    window.press(&["Right"]);
    window.until_seen(&at(50));
    for turn in 51..=58 {
        window.press(&["period"]);
        window.until_seen(&at(turn));
    }
    window.still(None)
}

fn lead_to_graphs(window: &Window<'_>) -> Picture {
    stop(window, 3_000);
    for minute in 1..=6 {
        window.press(&["Next"]);
        window.until_seen(&viewer::place(
            minute * 300,
            3_000,
            u64::from(minute) * 1_200,
        ));
    }
    window.press(&["2"]);
    window.press(&["g"]);
    window.until_seen(viewer::GRAPHS[0]);
    window.still(None)
}

/// The whole picture.
const WHOLE: Part = part(0, 0, 640, 360);
/// So many matches that the probability of never drawing one of two starts is below one in a million.
const MOST_BEGINNINGS: usize = 20;
/// Greatest mean difference of a channel: versions of the software renderer round differently.
const MEAN: f64 = 1.5;
/// Greatest mean difference in a square of 16 by 16 pixels.
const SQUARE: f64 = 10.0;
