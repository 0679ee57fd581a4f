//! One run of a peer's process in the model: a roster, and the rules of turns around it.

use super::State;
use lockstep::LogHash;
use lockstep::session::roster::{
    Effect, Holding, Input, Peers, Readmission, Roster, Value, View, Voters,
};

/// The log hash after any turn: the model does not distinguish logs of equal length.
pub const LOG: LogHash = LogHash([0; 16]);

/// One run of a peer's process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Its place in the start's roster.
    pub place: u8,
    /// Whether it takes part in the match.
    pub part: Part,
    /// The epoch that it is in, or has walked to.
    pub epoch: u8,
    /// Its part in the change that ends the epoch.
    pub roster: Roster,
    /// The decision of that change, once known.
    pub pending: Option<Value>,
    /// Requests to rejoin in this epoch.
    pub asked: Vec<Readmission>,
    /// By place: the run that counts.
    pub runs: Vec<u8>,
    /// By place: the first turn of its batches, if incomplete; 0 for the beginning.
    pub from: Vec<u8>,
    /// By place: the first turn whose batch is missing. For itself: the turns that it has sealed.
    pub held: Vec<u8>,
    /// By sealed turn: its epoch.
    pub sealed_in: Vec<u8>,
    /// Complete turns.
    pub complete: u8,
    /// By complete turn: the runs whose batches it holds.
    pub log: Vec<Peers>,
    /// The turn of the batch by which it leaves.
    pub leaves: Option<u8>,
}

/// A run's part in the match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// It walks the log to rejoin, or has not begun.
    Follows,
    /// It votes and seals.
    Plays,
    /// It has ended, or knows that it was removed.
    Gone,
}

impl Peer {
    /// The first run at the beginning of the match.
    pub fn new(place: u8, peers: usize, voters: Voters) -> Self {
        let plays = voters.members().contains(place);
        Peer {
            place,
            part: if plays { Part::Plays } else { Part::Gone },
            epoch: 0,
            roster: Roster::new(place, voters),
            pending: None,
            asked: Vec::new(),
            runs: (0..peers as u8).collect(),
            from: vec![0; peers],
            held: vec![0; peers],
            sealed_in: Vec::new(),
            complete: 0,
            log: Vec::new(),
            leaves: None,
        }
    }

    /// Turns that it has sealed.
    pub fn sealed(&self) -> u8 {
        self.held[usize::from(self.place)]
    }

    /// Seals the next turn.
    pub fn seal(&mut self) {
        self.held[usize::from(self.place)] += 1;
        self.sealed_in.push(self.epoch);
    }

    /// Whether it knows that it is in the next roster.
    pub fn stays_for_next(&self) -> bool {
        let pending = self.pending;
        pending.is_some_and(|value| value.roster.contains(self.place))
    }

    /// Whether it stores the next batch of this place.
    pub fn takes(&self, of: u8) -> bool {
        let cut = self.pending.filter(|value| !value.roster.contains(of));
        let held = u32::from(self.held[usize::from(of)]);
        self.roster.voters().members().contains(of) && cut.is_none_or(|value| held < value.cut)
    }

    /// By place: the turn of the batch by which it leaves, known to this peer or not.
    pub fn leaves(&self, state: &State) -> Vec<Option<u8>> {
        let runs = self.runs.iter();
        runs.map(|run| state.peers[usize::from(*run)].leaves)
            .collect()
    }

    /// Whether it holds a peer's leaving batch, and has completed its turn.
    pub fn knows_left(&self, of: u8, leaves: &[Option<u8>]) -> bool {
        leaves[usize::from(of)].is_some_and(|turn| self.complete > turn)
    }

    /// What it holds of every peer.
    pub fn holdings(&self, leaves: &[Option<u8>]) -> Vec<Holding> {
        let each = self.held.iter().zip(leaves);
        each.map(|(held, leaves)| Holding {
            until: u32::from(*held),
            left: leaves.is_some_and(|turn| *held > turn),
            newest: 0,
        })
        .collect()
    }

    /// Calls its roster.
    pub fn handle(&mut self, input: Input, holdings: &[Holding], suspects: Peers) -> Vec<Effect> {
        let view = View {
            holdings,
            complete: 0,
            hashes: &[LOG],
            ahead: &[LOG; 16],
            cheats: Peers::default(),
            evident_minority: Peers::default(),
            minority: Peers::default(),
            suspects,
            unwanted: Peers::default(),
            kept: Peers::default(),
            withholding: Peers::default(),
            excused: self.roster.voters().members(),
            present: Peers::default(),
            joiner: self.asked.first().copied(),
            asked: &self.asked,
        };
        self.roster.handle(input, &view)
    }

    /// Peers whose batches the next turn requires.
    fn required(&self, leaves: &[Option<u8>]) -> Peers {
        let members = self.roster.voters().members().iter();
        let required = members.filter(|of| {
            let at = usize::from(*of);
            let knows = leaves[at].filter(|turn| self.held[at] > *turn);
            self.complete >= self.from[at] && knows.is_none_or(|turn| self.complete <= turn)
        });
        required.collect()
    }

    /// Whether it holds the next turn, and may complete it.
    pub fn can_complete(&self, leaves: &[Option<u8>]) -> bool {
        let pending = self.pending;
        let before_cut = pending.is_none_or(|value| u32::from(self.complete) < value.cut);
        let mut required = self.required(leaves).iter();
        before_cut && required.all(|of| self.held[usize::from(of)] > self.complete)
    }

    /// Completes the next turn.
    pub fn complete(&mut self, leaves: &[Option<u8>]) {
        let required = self.required(leaves).iter();
        let runs = required.map(|of| self.runs[usize::from(of)]);
        self.log.push(runs.collect());
        self.complete += 1;
        let passed = self.from.iter_mut().filter(|from| **from <= self.complete);
        passed.for_each(|from| *from = 0);
    }

    /// Learns the decision that ends its epoch. Earlier messages of the epoch are dropped.
    pub fn decide(&mut self, value: Value) {
        self.pending = Some(value);
        self.roster = Roster::new(self.place, self.roster.voters());
        self.asked.clear();
        if !value.roster.contains(self.place) {
            self.part = Part::Gone;
            let own = self.sealed();
            self.held.fill(0);
            self.held[usize::from(self.place)] = own;
        }
    }

    /// Begins the next epoch. A joiner's batches before `cut + delay` are empty by rule; batches of removed peers
    /// are void.
    pub fn begin_epoch(&mut self, value: Value, delay: u8, voters: Voters) {
        let goes = self.roster.voters().members().without(value.roster);
        goes.iter().for_each(|of| self.held[usize::from(of)] = 0);
        if let Some(joins) = value.joins {
            let at = usize::from(joins.peer);
            self.runs[at] = joins.incarnation.0[0];
            self.from[at] = value.cut as u8 + delay;
            self.held[at] = self.from[at];
        }
        self.epoch += 1;
        self.pending = None;
        self.asked.clear();
        self.roster = Roster::new(self.place, voters);
    }
}
