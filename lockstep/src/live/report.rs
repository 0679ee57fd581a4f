//! Reports of desyncs and of the world's faults: a folder with the peer's log, its world where there is one, and a text
//! that says what happened. The network thread holds the event back until the report is written; the log thread writes
//! it.

use crate::log::{Codec, LogStore, Record, Start};
use crate::{Desync, Event, Limits, TurnNumber};
use sim::Seat;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The network thread's part: desyncs that the game has not heard of yet.
#[derive(Default)]
pub(super) struct Untold {
    /// The world's snapshot has been asked for.
    pending: Option<Desync>,
    /// Reports that are being written, with their numbers and how long the game waits for them. At most [`MOST`].
    writing: VecDeque<(u32, Duration, Desync)>,
    requests: u32,
}

/// A report to write.
pub(super) enum Request {
    Desync {
        number: u32,
        desync: Desync,
        /// Turns that the world has executed, and its bytes.
        snapshot: Option<(u32, Arc<[u8]>)>,
    },
    /// The world of the peer with this seat panicked in this turn.
    Fault {
        own: Seat,
        turn: TurnNumber,
        message: String,
    },
}

impl Request {
    /// The number of its desync.
    pub(super) fn number(&self) -> Option<u32> {
        match self {
            Request::Desync { number, .. } => Some(*number),
            Request::Fault { .. } => None,
        }
    }

    /// What tells its folder from others of the match.
    fn name(&self) -> (&'static str, TurnNumber, Seat) {
        match self {
            Request::Desync { desync, .. } => {
                let own = desync.reports.iter().find(|side| side.own);
                ("desync", desync.turn, own.map_or(Seat(0), |side| side.seat))
            }
            Request::Fault { own, turn, .. } => ("fault", *turn, *own),
        }
    }

    fn snapshot(&self) -> Option<&(u32, Arc<[u8]>)> {
        match self {
            Request::Desync { snapshot, .. } => snapshot.as_ref(),
            Request::Fault { .. } => None,
        }
    }
}

impl Untold {
    /// A desync was found; the world's snapshot has been asked for.
    pub(super) fn begin(&mut self, desync: Desync) {
        self.pending = Some(desync);
    }

    /// The report to write, once the snapshot is here, or where it will not come.
    pub(super) fn request(
        &mut self,
        now: Duration,
        snapshot: Option<(u32, Arc<[u8]>)>,
    ) -> Option<Request> {
        let desync = self.pending.take()?;
        let number = self.requests;
        self.requests += 1;
        if self.writing.len() >= MOST {
            self.writing.push_front((number, now, desync));
            return None;
        }
        let until = now + PATIENCE;
        self.writing.push_back((number, until, desync.clone()));
        Some(Request::Desync {
            number,
            desync,
            snapshot,
        })
    }

    /// The event to tell now that a report was written, unless it was told already.
    pub(super) fn written(&mut self, number: u32, folder: Option<PathBuf>) -> Option<Event> {
        let at = self.writing.iter().position(|(of, ..)| *of == number)?;
        let (_, _, desync) = self.writing.remove(at)?;
        let report = folder;
        Some(Event::Desync(Desync { report, ..desync }))
    }

    /// The event of a report that takes too long.
    pub(super) fn overdue(&mut self, now: Duration) -> Option<Event> {
        let (_, _, desync) = self.writing.pop_front_if(|(_, until, _)| *until <= now)?;
        Some(Event::Desync(desync))
    }
}

/// The log thread's part.
pub(super) struct Reporter {
    folder: PathBuf,
    limits: Limits,
    start: Option<Arc<Start>>,
}

impl Reporter {
    pub(super) fn new(folder: PathBuf, limits: Limits) -> Self {
        Reporter {
            folder,
            limits,
            start: None,
        }
    }

    pub(super) fn note(&mut self, record: &Record) {
        if let Record::Start(start) = record {
            self.start = Some(start.clone());
        }
    }

    /// Writes a report, and returns its folder.
    pub(super) fn write(&self, request: &Request, log: &mut dyn LogStore) -> Option<PathBuf> {
        let (kind, turn, Seat(own)) = request.name();
        let name = match &self.start {
            Some(start) => format!("{kind}-{}-turn-{turn}-seat-{own}", start.match_id),
            None => format!("{kind}-turn-{turn}-seat-{own}"),
        };
        let folder = self.folder.join(name);
        let written = self.write_to(&folder, request, log);
        written.is_ok().then_some(folder)
    }

    fn write_to(&self, folder: &Path, request: &Request, log: &mut dyn LogStore) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("report.txt"), self.text(request, log.path()))?;
        if let Some((_, bytes)) = request.snapshot() {
            fs::write(folder.join("world.snapshot"), bytes)?;
        }
        let mut codec = Codec::default();
        let mut bytes = Vec::new();
        let bound = usize::try_from(self.limits.snapshot_bytes).unwrap_or(usize::MAX);
        for record in log.read(TurnNumber(0), bound).unwrap_or_default() {
            codec.encode(&record, &mut bytes);
        }
        fs::write(folder.join("match.log"), bytes)
    }

    fn text(&self, request: &Request, replay: Option<&Path>) -> String {
        let mut text = String::new();
        let _ = match request {
            Request::Desync { desync, .. } => writeln!(
                text,
                "The worlds of this match's peers differ after turn {}.\n",
                desync.turn
            ),
            Request::Fault { turn, message, .. } => writeln!(
                text,
                "The game's world panicked in turn {turn}: {message}\n\n\
                 This is a fault of the game. The log holds that turn, so the fault can be repeated.\n"
            ),
        };
        if let Some(start) = &self.start {
            let _ = writeln!(text, "match  {}\nbuild  {}", start.match_id, start.build);
        }
        if let Request::Desync { desync, .. } = request {
            put_sides(&mut text, desync);
        }
        let turns = request.snapshot().map(|(turns, _)| *turns);
        if let Some(turns) = turns {
            let _ = writeln!(
                text,
                "\nworld.snapshot  this peer's world after {turns} turns"
            );
        }
        let _ = writeln!(
            text,
            "match.log       start and bundles as records of the log"
        );
        if let Some(replay) = replay {
            let _ = writeln!(text, "replay          {}", replay.display());
        }
        text
    }
}

/// What each side of a desync has reported.
fn put_sides(text: &mut String, desync: &Desync) {
    for side in &desync.reports {
        let own = if side.own { "  (this peer)" } else { "" };
        let _ = write!(
            text,
            "seat {}  peer {}  checksum {}",
            side.seat.0, side.peer, side.checksum
        );
        if let Some(hash) = side.log_hash {
            let _ = write!(text, "  log {hash}");
        }
        let minority = match desync.minority.contains(&side.peer) {
            true => "  (differs from most)",
            false => "",
        };
        let _ = writeln!(text, "{own}{minority}");
    }
}

/// How long the game waits for a report before it hears of the desync without one.
const PATIENCE: Duration = Duration::from_secs(2);
/// Reports that wait for the disk, each with a snapshot.
const MOST: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_that_wait_for_a_disk_that_hangs_are_few() {
        let mut untold = Untold::default();
        let desync = |turn| Desync {
            turn: TurnNumber(turn),
            reports: Vec::new(),
            minority: Vec::new(),
            goes_on: true,
            report: None,
        };
        for turn in 0..=MOST as u32 {
            assert!(untold.overdue(Duration::ZERO).is_none());
            untold.begin(desync(turn));
            let request = untold.request(Duration::ZERO, None);
            assert_eq!(request.is_some(), turn < MOST as u32, "{turn}");
        }
        let told = untold.overdue(Duration::ZERO);
        let last = Event::Desync(desync(MOST as u32));
        assert_eq!(told, Some(last), "told without a report");
        assert_eq!(untold.overdue(Duration::ZERO), None);
        assert_eq!(untold.overdue(PATIENCE), Some(Event::Desync(desync(0))));
    }
}
