//! What a peer writes when a desync is found: the world it has, the log it has, and a text that says what happened.

use crate::log::{Codec, LogStore, Record, Start};
use crate::{Desync, Event, Limits, TurnNumber};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) struct Report {
    folder: PathBuf,
    limits: Limits,
    start: Option<Arc<Start>>,
    pending: Option<Desync>,
}

impl Report {
    pub(super) fn new(folder: PathBuf, limits: Limits) -> Self {
        Report {
            folder,
            limits,
            start: None,
            pending: None,
        }
    }

    pub(super) fn note(&mut self, record: &Record) {
        if let Record::Start(start) = record {
            self.start = Some(start.clone());
        }
    }

    /// A desync was found; the world's snapshot has been asked for.
    pub(super) fn begin(&mut self, desync: Desync) {
        self.pending = Some(desync);
    }

    /// The event to tell, once the snapshot is here and everything is written.
    pub(super) fn snapshot(
        &mut self,
        turns: u32,
        bytes: &[u8],
        log: &mut dyn LogStore,
    ) -> Option<Event> {
        let desync = self.pending.take()?;
        Some(self.write(desync, Some((turns, bytes)), log))
    }

    /// The event to tell where the match ends before the snapshot came.
    pub(super) fn give_up(&mut self, log: &mut dyn LogStore) -> Option<Event> {
        let desync = self.pending.take()?;
        Some(self.write(desync, None, log))
    }

    fn write(
        &self,
        mut desync: Desync,
        snapshot: Option<(u32, &[u8])>,
        log: &mut dyn LogStore,
    ) -> Event {
        let own = desync
            .reports
            .iter()
            .find(|side| side.own)
            .map_or(0, |side| side.seat.0);
        let name = match &self.start {
            Some(start) => format!("desync-{}-turn-{}-seat-{own}", start.match_id, desync.turn),
            None => format!("desync-turn-{}-seat-{own}", desync.turn),
        };
        let folder = self.folder.join(name);
        if self.write_to(&folder, &desync, snapshot, log).is_ok() {
            desync.report = Some(folder);
        }
        Event::Desync(desync)
    }

    fn write_to(
        &self,
        folder: &Path,
        desync: &Desync,
        snapshot: Option<(u32, &[u8])>,
        log: &mut dyn LogStore,
    ) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(
            folder.join("report.txt"),
            self.text(desync, snapshot.map(|(turns, _)| turns), log.path()),
        )?;
        if let Some((_, bytes)) = snapshot {
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

    fn text(&self, desync: &Desync, turns: Option<u32>, replay: Option<&Path>) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "The worlds of this match's peers differ after turn {}.\n",
            desync.turn
        );
        if let Some(start) = &self.start {
            let _ = writeln!(text, "match  {}\nbuild  {}", start.match_id, start.build);
        }
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
