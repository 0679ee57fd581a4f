//! The log of one run of a peer's process, with hashes and epochs that are computed here.

use super::{Hash, after_change, after_start, after_turn};
use lockstep::Incarnation;
use lockstep::log::{Bundle, Record, RosterChange, Start};
use std::sync::Arc;

/// A log.
#[derive(Clone, Default)]
pub struct Log {
    /// Its records.
    pub records: Vec<Record>,
    /// Its start, if it has one.
    pub start: Option<Arc<Start>>,
    /// Its turns.
    pub turns: Vec<Bundle>,
    /// Its roster changes.
    pub changes: Vec<RosterChange>,
    /// Its hash after so many turns.
    pub hashes: Vec<Hash>,
    /// Its hash with the changes after the last turn: the next hash contains it.
    pub tip: Hash,
    /// Turns before each epoch, and the peers that vote in it, in the order of their places.
    pub epochs: Vec<(u32, Vec<usize>)>,
    /// The runs of processes that it names, with their places.
    pub runs: Vec<(u8, Incarnation)>,
}

impl Log {
    /// A log of these records, of peers in these places.
    pub fn of(places: &[usize], records: &[Record]) -> Log {
        let mut log = Log::default();
        records.iter().for_each(|record| log.put(places, record));
        log
    }

    /// The number of its turns.
    pub fn len(&self) -> u32 {
        self.turns.len() as u32
    }

    /// The peers that vote on a turn. Before the start there are none.
    pub fn roster(&self, turn: u32) -> &[usize] {
        let epoch = self.epochs.iter().rev().find(|(from, _)| *from <= turn);
        epoch.map_or(&[], |(_, roster)| roster)
    }

    /// Adds a record.
    pub fn put(&mut self, places: &[usize], record: &Record) {
        self.records.push(record.clone());
        match record {
            Record::Start(start) => {
                let runs = start.roster.iter().map(|of| of.incarnation);
                self.runs.extend((0..).zip(runs));
                self.epochs.push((0, places.to_vec()));
                self.tip = after_start(start);
                self.hashes.push(self.tip);
                self.start = Some(start.clone());
            }
            Record::Bundle(bundle) => {
                self.tip = after_turn(&self.tip, bundle);
                self.hashes.push(self.tip);
                self.turns.push(bundle.clone());
            }
            Record::Roster(change) => {
                let joins = change.value.joins.iter();
                let joins = joins.map(|of| (of.peer, of.incarnation));
                let runs = change.reopening.iter().flat_map(|of| &of.runs);
                let runs = runs.map(|of| (of.peer, of.incarnation));
                self.runs.extend(joins.chain(runs));
                let roster = change.value.roster.iter();
                let roster = roster.map(|place| places[usize::from(place)]);
                self.epochs.push((change.value.cut, roster.collect()));
                self.tip = after_change(&self.tip, change);
                self.changes.push(change.clone());
            }
            _ => {}
        }
    }

    /// Takes back every turn from `turns` on.
    pub fn retract(&mut self, places: &[usize], turns: u32) {
        if turns < self.len() {
            let stays = |of: &Record| !matches!(of, Record::Bundle(of) if of.turn.0 >= turns);
            self.records.retain(stays);
            *self = Log::of(places, &self.records);
        }
    }

    /// The number of turns that this log and another one have in common.
    pub fn common(&self, other: &Log) -> u32 {
        let pairs = self.hashes.iter().zip(&other.hashes);
        let alike = pairs.take_while(|(one, other)| one == other);
        (alike.count() as u32).saturating_sub(1)
    }
}
