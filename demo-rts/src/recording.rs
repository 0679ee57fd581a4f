//! Where a match is recorded.

use crate::exit::Problem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The path of a recording, set once it begins.
pub type RecordedTo = Arc<OnceLock<PathBuf>>;

/// A recorder to a new file.
///
/// # Errors
/// [`Problem::Record`].
pub fn recorder(path: &Path) -> Result<replay::Recorder, Problem> {
    replay::Recorder::create(path).map_err(|source| Problem::Record {
        path: path.to_owned(),
        source,
    })
}

/// The next free name after a replay's: `match-2.replay` after `match.replay`.
pub(crate) fn beside(replay: &Path) -> PathBuf {
    let stem = replay.file_stem().unwrap_or_default().to_string_lossy();
    let (name, number) = numbered(&stem).unwrap_or((&stem, 1));
    (number + 1..)
        .map(|number| replay.with_file_name(format!("{name}-{number}.replay")))
        .find(|path| !path.exists())
        .expect("some number is free")
}

/// A recording's name without its number, and the number. The name may hold those of players, which end in any digits, or
/// a date.
fn numbered(stem: &str) -> Option<(&str, u32)> {
    let (name, number) = stem.rsplit_once('-')?;
    let ends_in_digits = |text: &str, count: usize| {
        let digits = text.bytes().rev().take(count).filter(u8::is_ascii_digit);
        digits.count() == count
    };
    let is_day = number.len() == 2
        && name.rsplit_once('-').is_some_and(|(year, month)| {
            month.len() == 2 && ends_in_digits(month, 2) && ends_in_digits(year, 4)
        });
    let is_number = number.len() <= MOST_DIGITS && ends_in_digits(number, number.len());
    match is_number && !is_day {
        true => Some((name, number.parse().ok()?)),
        false => None,
    }
}

/// A longer number is part of a name.
const MOST_DIGITS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_beside_another_has_the_next_free_number() {
        let folder = tempfile::tempdir().unwrap();
        let after = |name: &str| {
            let path = beside(&folder.path().join(format!("{name}.replay")));
            path.file_stem().unwrap().to_string_lossy().into_owned()
        };
        for (name, next) in [
            ("match", "match-2"),
            ("match-2", "match-3"),
            (
                "lakes, Ada and x-4294967295",
                "lakes, Ada and x-4294967295-2",
            ),
            ("x-+5", "x-+5-2"),
            ("game-2026-11-29", "game-2026-11-29-2"),
            ("game-2026-11-29-9999", "game-2026-11-29-10000"),
            ("9", "9-2"),
        ] {
            assert_eq!(after(name), next);
        }
        std::fs::write(folder.path().join("match-3.replay"), "").unwrap();
        assert_eq!(after("match-2"), "match-4");
    }
}
