//! Results in a file, a line for each match, so that a measurement is resumed where it was left.

use crate::link::Cell;
use crate::run::{Job, Measured};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    key: String,
    date: String,
    measured: Measured,
}

/// What a file of results forgets as it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgets {
    /// Nothing: the measurement goes on.
    Nothing,
    /// What it holds of the commit.
    Commit,
    /// Everything.
    All,
}

/// All results of one commit, with so many peers at once.
pub struct Results {
    commit: String,
    peers_at_once: usize,
    file: File,
    known: BTreeMap<String, (String, Measured)>,
}

impl Results {
    /// Opens the file.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn open(
        path: &Path,
        commit: &str,
        peers_at_once: usize,
        forgets: Forgets,
    ) -> io::Result<Results> {
        let mut text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let is_of_commit = |line: &Line| line.key.starts_with(&format!("{commit} "));
        if forgets != Forgets::Nothing {
            let is_kept = |line: &Line| forgets == Forgets::Commit && !is_of_commit(line);
            let lines = text
                .lines()
                .filter(|text| serde_json::from_str(text).is_ok_and(|line| is_kept(&line)));
            text = lines.map(|line| format!("{line}\n")).collect();
            std::fs::write(path, &text)?;
        }
        // A line that was cut off is played again.
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let known = lines
            .filter(is_of_commit)
            .map(|line| (line.key, (line.date, line.measured)));
        let known = known.collect();
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        let mut results = Results {
            commit: commit.to_owned(),
            peers_at_once,
            file,
            known,
        };
        if !text.is_empty() && !text.ends_with('\n') {
            writeln!(results.file)?;
        }
        Ok(results)
    }

    fn key(&self, job: &Job) -> String {
        let Job {
            cell,
            contestant,
            seed,
            seconds,
            ..
        } = job;
        let (commit, peers) = (&self.commit, self.peers_at_once);
        format!("{commit} {cell} {contestant} seed {seed}, {seconds} s{BESIDE}{peers}")
    }

    /// The result of a match.
    pub fn get(&self, job: &Job) -> Option<&Measured> {
        self.known.get(&self.key(job)).map(|(_, measured)| measured)
    }

    /// The first and the last day of these matches.
    pub fn days(&self, jobs: &[Job]) -> Option<(&str, &str)> {
        let dates = || {
            let known = jobs.iter().filter_map(|job| self.known.get(&self.key(job)));
            known.map(|(date, _)| date.as_str())
        };
        dates().min().zip(dates().max())
    }

    /// Keeps a result.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put(&mut self, job: &Job, date: &str, measured: Measured) -> io::Result<()> {
        let key = self.key(job);
        let line = Line {
            key: key.clone(),
            date: date.to_owned(),
            measured: measured.clone(),
        };
        let text = serde_json::to_string(&line).expect("it is plain data");
        writeln!(self.file, "{text}")?;
        self.known.insert(key, (date.to_owned(), measured));
        Ok(())
    }
}

/// The commit of the newest result of so many seconds in a file, and the peers at once that it was measured with.
///
/// # Errors
/// The file cannot be read.
pub fn newest(path: &Path, seconds: u64) -> io::Result<Option<(String, usize)>> {
    let text = std::fs::read_to_string(path)?;
    let mut lines = text.lines().rev();
    Ok(lines.find_map(|line| {
        let line: Line = serde_json::from_str(line).ok()?;
        let (job, peers) = line.key.rsplit_once(BESIDE)?;
        let job = job.strip_suffix(&format!(", {seconds} s"))?;
        let words: Vec<&str> = job.split(' ').collect();
        let cell = words.iter().position(|word| word.parse::<Cell>().is_ok())?;
        Some((words[..cell].join(" "), peers.parse().ok()?))
    }))
}

/// In a key, before the number of peers at once: it decides how full the processors are.
const BESIDE: &str = ", peers at once: ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_found_again_for_their_commit() {
        let job = Job {
            cell: "2p-0ms-0".parse().expect("a cell"),
            contestant: "ours-200x2".parse().expect("a contestant"),
            seed: 1,
            seconds: 60,
            warm_up: 5,
            flips: true,
        };
        let name = format!("rivals-{}-results", std::process::id());
        let path = std::env::temp_dir().join(name);
        let open = |commit: &str, peers_at_once: usize, forgets: Forgets| {
            Results::open(&path, commit, peers_at_once, forgets).expect("a file")
        };
        let mut results = open("abc", 24, Forgets::All);
        assert!(results.get(&job).is_none());
        let measured = Measured {
            latencies_ms: vec![7.5],
            ..Measured::default()
        };
        results.put(&job, "2000-01-02", measured).expect("written");
        // As a run leaves it that is interrupted while it writes.
        write!(results.file, "{{\"key\":").expect("written");
        drop(results);

        let results = open("abc", 24, Forgets::Nothing);
        assert_eq!(
            results.get(&job).map(|of| of.latencies_ms.clone()),
            Some(vec![7.5])
        );
        assert_eq!(results.days(&[job]), Some(("2000-01-02", "2000-01-02")));
        assert!(results.get(&Job { seconds: 15, ..job }).is_none());
        assert!(results.get(&Job { seed: 2, ..job }).is_none());
        let known = |commit: &str, peers_at_once: usize, forgets: Forgets| {
            open(commit, peers_at_once, forgets).get(&job).is_some()
        };
        assert!(!known("abd", 24, Forgets::Nothing));
        assert!(!known("abc", 12, Forgets::Nothing), "fuller processors");

        let changed = "abc + changes";
        let put = |job: &Job| {
            let mut results = open(changed, 12, Forgets::Nothing);
            let put = results.put(job, "2000-01-02", Measured::default());
            put.expect("written");
        };
        put(&job);
        put(&Job { seconds: 15, ..job });
        let newest = |seconds| newest(&path, seconds).expect("a file");
        assert_eq!(newest(60), Some((changed.to_owned(), 12)));
        assert_eq!(newest(30), None);
        assert!(known(changed, 12, Forgets::Nothing));
        assert!(!known(changed, 12, Forgets::Commit));
        assert_eq!(newest(60), Some(("abc".to_owned(), 24)));
        assert!(known("abc", 24, Forgets::Nothing));
        assert!(!known("abc", 24, Forgets::All));
        assert_eq!(newest(60), None);
        std::fs::remove_file(&path).expect("removed");
    }
}
