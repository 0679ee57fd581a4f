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
    let (name, first) = match stem.rsplit_once('-') {
        Some((name, number)) => match number.parse::<u32>() {
            Ok(number) => (name.to_owned(), number.saturating_add(1)),
            Err(_) => (stem.to_string(), 2),
        },
        None => (stem.to_string(), 2),
    };
    let named = |number| replay.with_file_name(format!("{name}-{number}.replay"));
    let free = (first..).map(named).find(|path| !path.exists());
    free.unwrap_or_else(|| named(first))
}
