//! Where a match is recorded to.

use crate::exit::Problem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Where a recording is, once it is begun.
pub type RecordedTo = Arc<OnceLock<PathBuf>>;

/// A recording in a new file.
///
/// # Errors
/// [`Problem::Record`].
pub fn recorder(path: &Path) -> Result<replay::Recorder, Problem> {
    replay::Recorder::create(path).map_err(|source| Problem::Record {
        path: path.to_owned(),
        source,
    })
}

/// The next free name after that of a replay: `match-2.replay` after `match.replay`.
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
