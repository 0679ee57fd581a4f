//! One run of a peer's process in the model: a roster, and the rules of turns around it.

use super::State;
use lockstep::LogHash;
use lockstep::session::roster::{Do, Holding, Input, Joins, Peers, Roster, Value, View, Voters};

/// The log's hash after any turn: what two logs of so many turns hold is not told apart here.
pub const LOG: LogHash = LogHash([0; 16]);

/// One run of a peer's process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Its place in the start's roster.
    pub place: u8,
    /// Whether it has a part in the match.
    pub part: Part,
    /// The epoch that it is in, or that it has walked to.
    pub epoch: u8,
    /// Its part in the change that ends it.
    pub roster: Roster,
    /// What that change decided, once it has found out.
    pub pending: Option<Value>,
    /// Who has asked to come back in this epoch.
    pub asked: Vec<Joins>,
    /// By place: which run of its process counts.
    pub runs: Vec<u8>,
    /// By place: the first turn for which it sends a batch, where that is not complete. Before it is 0.
    pub from: Vec<u8>,
    /// By place: the first turn whose batch is not held. Its own: what it has sealed.
    pub held: Vec<u8>,
    /// For each turn that it has sealed, in which epoch.
    pub sealed_in: Vec<u8>,
    /// Turns complete.
    pub complete: u8,
    /// For each of them, whose batches it holds: runs, not places.
    pub log: Vec<Peers>,
    /// The turn of the batch by which it leaves.
    pub leaves: Option<u8>,
}

/// Whether a run has a part in the match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// It walks the log and wants to come back, or has not begun.
    Follows,
    /// It votes and seals.
    Plays,
    /// It is over, or knows that it is not in the roster any more.
    Gone,
}

impl Peer {
    /// At the beginning of the match, with its first run.
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

    /// Whether it takes batches of this place for the turn that it holds up to.
    pub fn takes(&self, of: u8) -> bool {
        let cut = self.pending.filter(|value| !value.roster.contains(of));
        let held = u32::from(self.held[usize::from(of)]);
        self.roster.voters().members().contains(of) && cut.is_none_or(|value| held < value.cut)
    }

    /// By place: the turn of the batch by which it leaves, whether or not this peer knows of it.
    pub fn leaves(&self, state: &State) -> Vec<Option<u8>> {
        let runs = self.runs.iter();
        runs.map(|run| state.peers[usize::from(*run)].leaves)
            .collect()
    }

    /// Whether it holds the batch by which a peer leaves, and has completed its turn.
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
    pub fn handle(&mut self, input: Input, holdings: &[Holding], suspects: Peers) -> Vec<Do> {
        let view = View {
            holdings,
            complete: 0,
            hashes: &[LOG],
            ahead: &[LOG; 16],
            cheats: Peers::default(),
            odd: Peers::default(),
            suspects,
            unwanted: Peers::default(),
            disbelieved: Peers::default(),
            excused: self.roster.voters().members(),
            present: Peers::default(),
            joiner: self.asked.first().copied(),
            asked: &self.asked,
        };
        self.roster.handle(input, &view)
    }

    /// Whose batches the next turn takes.
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

    /// It has found decided what ends its epoch. What led to it is of no use any more.
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

    /// Begins the next epoch. Of who comes back the batches before `cut + delay` are empty by rule; what is held of
    /// who goes is void.
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
