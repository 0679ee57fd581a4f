//! What the judge holds about one peer: the log of its newest run, and what became of it.

use super::signed;
use lockstep::log::{Bundle, Keyframe, Record, RosterChange, Start};
use lockstep::{Ended, Incarnation, LogHash, PeerId};
use sim::{Checksum, Seat};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// A log as one run of one peer's process has it.
#[derive(Clone, Default)]
pub struct Log {
    pub start: Option<Arc<Start>>,
    pub records: Vec<Record>,
    /// The log's hash after so many turns.
    pub hashes: Vec<LogHash>,
    /// What the next turn's hash is made of.
    tip: Option<LogHash>,
    pub epochs: Vec<Epoch>,
    /// Before each turn: records, tip and epochs.
    before: Vec<(usize, Option<LogHash>, usize)>,
    pub ended: bool,
}

/// Who votes and seals, and as which run.
#[derive(Clone)]
pub struct Epoch {
    pub roster: Vec<u8>,
    pub runs: Vec<Incarnation>,
    /// Turns before it.
    pub begins: u32,
}

impl Log {
    /// A log of these records.
    pub fn of(records: &[Record]) -> Log {
        let mut log = Log::default();
        records.iter().for_each(|record| log.put(record));
        log
    }

    /// Turns in it.
    pub fn turns(&self) -> u32 {
        self.before.len() as u32
    }

    /// The bundle of a turn.
    pub fn bundle(&self, turn: u32) -> Option<&Bundle> {
        let (at, ..) = self.before.get(turn as usize)?;
        match &self.records[*at] {
            Record::Bundle(bundle) => Some(bundle),
            _ => None,
        }
    }

    /// What the next turn's hash is made of: it names all before it, with the changes behind the last turn.
    ///
    /// # Panics
    /// Where there is no start.
    pub fn tip(&self) -> LogHash {
        self.tip.expect("a log begins with its start")
    }

    pub fn roster(&self) -> &[u8] {
        self.epochs.last().map_or(&[], |epoch| &epoch.roster)
    }

    /// Adds a record that stands where it may.
    pub fn put(&mut self, record: &Record) {
        match record {
            Record::Start(start) => {
                self.hashes.push(signed::after_start(start));
                self.tip = self.hashes.last().copied();
                self.epochs.push(Epoch {
                    roster: (0..start.roster.len() as u8).collect(),
                    runs: start.roster.iter().map(|peer| peer.incarnation).collect(),
                    begins: 0,
                });
                self.start = Some(start.clone());
            }
            Record::Bundle(bundle) => {
                let before = (self.records.len(), self.tip, self.epochs.len());
                self.before.push(before);
                self.hashes.push(signed::after_turn(self.tip(), bundle));
                self.tip = self.hashes.last().copied();
            }
            Record::Roster(change) => {
                self.tip = Some(signed::after_change(self.tip(), change));
                self.epochs.push(self.epoch_after(change));
            }
            Record::End(_) => self.ended = true,
            _ => {}
        }
        self.records.push(record.clone());
    }

    fn epoch_after(&self, change: &RosterChange) -> Epoch {
        let mut runs = self
            .epochs
            .last()
            .map_or(Vec::new(), |epoch| epoch.runs.clone());
        let reopened = change
            .reopening
            .iter()
            .flat_map(|reopening| &reopening.runs);
        let anew = reopened.map(|run| (run.peer, run.incarnation));
        let joins = change
            .value
            .joins
            .iter()
            .map(|joins| (joins.peer, joins.incarnation));
        for (peer, incarnation) in anew.chain(joins) {
            runs[usize::from(peer)] = incarnation;
        }
        Epoch {
            roster: change.value.roster.iter().collect(),
            runs,
            begins: change.value.cut,
        }
    }

    /// Takes back every turn from `turns` on.
    pub fn retract(&mut self, turns: u32) {
        if let Some((records, tip, epochs)) = self.before.get(turns as usize).copied() {
            self.records.truncate(records);
            self.tip = tip;
            self.epochs.truncate(epochs);
            self.before.truncate(turns as usize);
            self.hashes.truncate(turns as usize + 1);
        }
    }

    /// Turns up to which this log and another one are the same.
    pub fn common(&self, other: &Log) -> u32 {
        let pairs = self.hashes.iter().zip(&other.hashes);
        let differ = pairs.clone().position(|(one, other)| one != other);
        (differ.unwrap_or(pairs.len()) as u32).saturating_sub(1)
    }
}

/// One peer's doings.
pub struct PeerFile {
    pub id: PeerId,
    pub wanted_seats: u8,
    pub own: Vec<Seat>,
    /// Which run of its process it is.
    pub run: u32,
    pub log: Log,
    /// What earlier runs had in their logs.
    pub past: Vec<Log>,
    /// What the log held that the newest run began with.
    pub given: Log,
    /// When turns were handed out, since the run's world was loaded last.
    pub handed: Vec<(u32, Duration)>,
    /// The next turn to be handed out, and the first that was not handed out before.
    pub next: (u32, u32),
    /// The log hashes of the turns that its world is to execute.
    pub executing: VecDeque<Option<LogHash>>,
    pub executed: u32,
    pub checksum: Option<Checksum>,
    pub started: bool,
    pub left: bool,
    /// When its process died.
    pub crashed: Option<Duration>,
    pub frozen: bool,
    /// The newest run has been admitted, or is the first.
    pub is_in: bool,
    /// When the newest run began.
    pub began_at: Duration,
    pub ended: Option<Ended>,
    /// It was told of a mismatch of worlds or logs.
    pub desync: bool,
    /// Before this no peer can have told it that it still belongs.
    pub fenced_until: Duration,
    pub texts: Vec<String>,
    pub pause_asks: u32,
    /// Its machine was slow up to then.
    pub slow_until: Option<Duration>,
    pub most_retracted: u32,
}

impl PeerFile {
    /// Of a peer that has done nothing yet.
    pub fn new(id: PeerId, wanted_seats: u8) -> Self {
        PeerFile {
            id,
            wanted_seats,
            own: Vec::new(),
            run: 0,
            log: Log::default(),
            past: Vec::new(),
            given: Log::default(),
            handed: Vec::new(),
            next: (0, 0),
            executing: VecDeque::new(),
            executed: 0,
            checksum: None,
            started: false,
            left: false,
            crashed: None,
            frozen: false,
            is_in: true,
            began_at: Duration::ZERO,
            ended: None,
            desync: false,
            fenced_until: Duration::ZERO,
            texts: Vec::new(),
            pause_asks: 0,
            slow_until: None,
            most_retracted: 0,
        }
    }

    /// Another run of its process begins, with this log of the one before and an empty one of its own.
    pub fn begin_run(&mut self, now: Duration, given: &[Record]) {
        self.past.push(std::mem::take(&mut self.log));
        self.run += 1;
        self.given = Log::of(given);
        (self.handed, self.next, self.executed) = (Vec::new(), (0, 0), 0);
        (self.checksum, self.ended, self.crashed) = (None, None, None);
        self.executing.clear();
        (self.left, self.frozen, self.is_in) = (false, false, false);
        (self.began_at, self.fenced_until) = (now, Duration::ZERO);
    }

    /// Whether a run of its process plays, or tries to.
    pub fn runs(&self) -> bool {
        self.crashed.is_none() && self.ended.is_none() && !self.frozen && !self.left
    }

    /// What its newest log holds for another run: start, turns and roster changes, and the newest keyframe.
    pub fn kept(&self) -> (Vec<Record>, Option<Keyframe>) {
        let (mut kept, mut keyframe) = (Vec::new(), None);
        let past = self.past.iter().rev();
        let mut logs = std::iter::once(&self.log).chain(past);
        let log = logs.find(|log| log.start.is_some()).unwrap_or(&self.log);
        for record in &log.records {
            match record {
                Record::Start(_) | Record::Bundle(_) | Record::Roster(_) => {
                    kept.push(record.clone())
                }
                Record::Keyframe(newer) => keyframe = Some(newer.clone()),
                _ => {}
            }
        }
        (kept, keyframe)
    }
}
