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

/// All results of one commit.
pub struct Results {
    commit: String,
    file: File,
    known: BTreeMap<String, (String, Measured)>,
}

impl Results {
    /// Opens the file, and forgets what it holds where that is asked for.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn open(path: &Path, commit: &str, anew: bool) -> io::Result<Results> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) if !anew => text,
            Ok(_) => String::new(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        // A line that was cut off is played again.
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let of_commit = lines.filter(|line: &Line| line.key.starts_with(&format!("{commit} ")));
        let known = of_commit.map(|line| (line.key, (line.date, line.measured)));
        let known = known.collect();
        let mut options = OpenOptions::new();
        let file = if anew {
            options.write(true).truncate(true).create(true).open(path)?
        } else {
            options.append(true).create(true).open(path)?
        };
        let mut results = Results {
            commit: commit.to_owned(),
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
        let commit = &self.commit;
        format!("{commit} {cell} {contestant} seed {seed}, {seconds} s")
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

/// The commit of the newest result in a file.
///
/// # Errors
/// The file cannot be read.
pub fn newest_commit(path: &Path) -> io::Result<Option<String>> {
    let text = std::fs::read_to_string(path)?;
    let mut lines = text.lines().rev();
    Ok(lines.find_map(|line| {
        let line: Line = serde_json::from_str(line).ok()?;
        let words: Vec<&str> = line.key.split(' ').collect();
        let cell = words.iter().position(|word| word.parse::<Cell>().is_ok())?;
        Some(words[..cell].join(" "))
    }))
}

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
        let mut results = Results::open(&path, "abc", true).expect("a file");
        assert!(results.get(&job).is_none());
        let measured = Measured {
            latencies_ms: vec![7.5],
            ..Measured::default()
        };
        results.put(&job, "2000-01-02", measured).expect("written");
        // As a run leaves it that is interrupted while it writes.
        write!(results.file, "{{\"key\":").expect("written");
        drop(results);

        let results = Results::open(&path, "abc", false).expect("a file");
        assert_eq!(
            results.get(&job).map(|of| of.latencies_ms.clone()),
            Some(vec![7.5])
        );
        assert_eq!(results.days(&[job]), Some(("2000-01-02", "2000-01-02")));
        assert!(results.get(&Job { seconds: 15, ..job }).is_none());
        assert!(results.get(&Job { seed: 2, ..job }).is_none());
        let newest = newest_commit(&path).expect("a file");
        assert_eq!(newest.as_deref(), Some("abc"));
        assert!(
            Results::open(&path, "abd", false)
                .expect("a file")
                .get(&job)
                .is_none()
        );
        assert!(
            Results::open(&path, "abc", true)
                .expect("a file")
                .get(&job)
                .is_none()
        );
        std::fs::remove_file(&path).expect("removed");
    }
}
