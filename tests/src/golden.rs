//! Golden replays: whole matches whose re-run must end in pinned checksums on every machine.
//!
//! They are in `tests/golden/`, with `checksums.txt`: name, turns, and the last world's checksum. After a change of
//! the rules, regenerate them: `cargo run --release -p tests --bin golden`.

use crate::recorded::{Wanted, play};
use demo_rts::bot::Level;
use demo_rts::world::{Scenario, Setup, World};
use replay::{FileEnd, Reader, verify};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A golden match.
pub struct Golden {
    /// The file's name without its extension.
    pub name: &'static str,
    setup: Setup,
    levels: Vec<Level>,
    minutes: u32,
}

/// The folder in the repository.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// The golden matches.
pub fn all() -> Vec<Golden> {
    let setup = |map_seed, scenario| Setup {
        map_seed: Some(map_seed),
        scenario,
        ..Setup::default()
    };
    vec![
        Golden {
            name: "duel",
            setup: setup(11, Scenario::Standard),
            levels: vec![Level::Hard, Level::Easy],
            minutes: 20,
        },
        Golden {
            name: "four",
            setup: setup(12, Scenario::Standard),
            levels: vec![Level::Normal, Level::Hard, Level::Easy, Level::Hard],
            minutes: 10,
        },
        Golden {
            name: "armies",
            setup: setup(13, Scenario::Skirmish { units_per_seat: 60 }),
            levels: vec![Level::Hard; 8],
            minutes: 3,
        },
    ]
}

/// A match of a few seconds.
pub fn short() -> Golden {
    Golden {
        name: "short",
        setup: Setup {
            map_seed: Some(14),
            minutes: 1,
            scenario: Scenario::Skirmish { units_per_seat: 6 },
            ..Setup::default()
        },
        levels: vec![Level::Hard; 2],
        minutes: 1,
    }
}

/// Plays the matches, and writes replays and pins into a folder, replacing existing ones.
///
/// # Errors
/// The error of the disk, or why a replay is invalid.
pub fn make(goldens: &[Golden], folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(failed)?;
    let mut pins = String::new();
    for golden in goldens {
        let path = folder.join(golden.name).with_extension("replay");
        if path.exists() {
            fs::remove_file(&path).map_err(failed)?;
        }
        play(&Wanted {
            path: &path,
            setup: golden.setup.clone(),
            levels: golden.levels.clone(),
            turn_limit: golden.minutes * 300,
            // A few keyframes, so that they are verified too and the file stays small.
            keyframes_every: Duration::from_secs(240),
            peaceful: false,
        });
        pins.push_str(&pin(golden.name, &path)?);
        pins.push('\n');
    }
    fs::write(folder.join(PINS), pins).map_err(failed)
}

/// Verifies every replay of a folder against its pin. Returns the number of replays.
///
/// # Errors
/// The first replay that is invalid or has no pin, or pin without a replay.
pub fn check(folder: &Path) -> Result<usize, String> {
    let pins = fs::read_to_string(folder.join(PINS))
        .map_err(|error| format!("{}: {error}", folder.join(PINS).display()))?;
    let mut names = Vec::new();
    for line in pins.lines() {
        let name = line.split(' ').next().unwrap_or_default();
        let found = pin(name, &folder.join(name).with_extension("replay"))?;
        if found != line {
            return Err(format!("re-run gives {found}, pinned is {line}"));
        }
        names.push(name.to_owned());
    }
    let listed = fs::read_dir(folder).map_err(|error| error.to_string())?;
    for entry in listed {
        let path = entry.map_err(|error| error.to_string())?.path();
        let is_replay = path.extension().is_some_and(|ending| ending == "replay");
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if is_replay && !names.iter().any(|pinned| *pinned == name) {
            return Err(format!("{name} has no pin"));
        }
    }
    Ok(names.len())
}

/// The pin of a valid replay.
fn pin(name: &str, path: &Path) -> Result<String, String> {
    let failed = |error: replay::Error| format!("{name}: {error}");
    let mut reader = Reader::open(path).map_err(failed)?;
    let options = verify::Options::default();
    let found = verify::verify::<World>(&mut reader, &options, |_| ()).map_err(failed)?;
    if !found.holds() || found.tail != FileEnd::Complete {
        return Err(format!("{name}: {found:?}"));
    }
    Ok(format!("{name} {} {}", found.turns, found.checksum))
}

const PINS: &str = "checksums.txt";
