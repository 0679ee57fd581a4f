//! Files for the page.

use lockstep::log::{LogStore as _, Record};
use replay::{Reader, Recorder};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A whole match that re-runs to the same world on every machine.
pub fn golden() -> PathBuf {
    // The driver accepts no path with `..`.
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    tests.unwrap_or(Path::new("")).join("golden/duel.replay")
}

/// A file name, its bytes, and part of the expected error.
type Wrong = (&'static str, Vec<u8>, &'static str);

/// Files that cannot be shown.
pub fn wrong(folder: &Path) -> Result<Vec<Wrong>, String> {
    let whole = std::fs::read(golden()).map_err(|why| why.to_string())?;
    let mut newer = whole.clone();
    newer[8] += 1;
    Ok(vec![
        (
            "letter.replay",
            b"Dear Ada,".to_vec(),
            "this is not a replay file",
        ),
        ("empty.replay", Vec::new(), "the file is empty"),
        ("cut.replay", whole[..40].to_vec(), "nothing can be read"),
        ("newer.replay", newer, "use the release that wrote it"),
        (
            "Ünï rules.replay",
            other_rules(folder)?,
            "was played under rules",
        ),
    ])
}

/// A replay recorded under other rules.
fn other_rules(folder: &Path) -> Result<Vec<u8>, String> {
    let text = |why: replay::Error| why.to_string();
    let mut reader = Reader::open(&golden()).map_err(text)?;
    let path = folder.join("rules");
    let mut log = Recorder::create(&path).map_err(text)?;
    for record in reader.records().take(9) {
        let mut record = record.map_err(text)?;
        if let Record::Start(start) = &mut record {
            Arc::make_mut(start).rules.0[0] ^= 1;
        }
        log.append(&record).map_err(|why| why.to_string())?;
    }
    log.close().map_err(|why| why.to_string())?;
    drop(log);
    std::fs::read(&path).map_err(|why| why.to_string())
}
