//! One peer of the model: a roster, and the rules of turns around it.

use lockstep::LogHash;
use lockstep::session::roster::{Do, Holding, Input, Peers, Roster, View, Voters};

/// A peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Its index.
    pub at: u8,
    /// The epoch that it is in.
    pub epoch: u8,
    /// Its part in the change that ends it.
    pub roster: Roster,
    /// By peer: the first turn whose batch is not held. Its own: what it has sealed.
    pub held: Vec<u8>,
    /// For each turn that it has sealed, in which epoch.
    pub sealed_in: Vec<u8>,
    /// Turns complete.
    pub complete: u8,
    /// For each of them, whose batches it holds.
    pub log: Vec<Peers>,
    /// The turn of the batch by which it leaves.
    pub leaves: Option<u8>,
}

impl Peer {
    /// At the beginning of the match.
    pub fn new(at: u8, peers: usize, voters: Voters) -> Self {
        Peer {
            at,
            epoch: 0,
            roster: Roster::new(at, voters),
            held: vec![0; peers],
            sealed_in: Vec::new(),
            complete: 0,
            log: Vec::new(),
            leaves: None,
        }
    }

    /// Turns that it has sealed.
    pub fn sealed(&self) -> u8 {
        self.held[usize::from(self.at)]
    }

    /// Seals the next turn.
    pub fn seal(&mut self) {
        self.held[usize::from(self.at)] += 1;
        self.sealed_in.push(self.epoch);
    }

    /// Whether it knows that it is not in the roster any more.
    pub fn is_removed(&self) -> bool {
        let decision = self.roster.decision();
        decision.is_some_and(|decision| !decision.value.roster.contains(self.at))
    }

    /// Whether it knows that it is in the next roster.
    pub fn stays_for_next(&self) -> bool {
        let decision = self.roster.decision();
        decision.is_some_and(|decision| decision.value.roster.contains(self.at))
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
            log_hash: LogHash([0; 16]),
            suspects,
            unwanted: Peers::default(),
            joiner: None,
            asked: &[],
        };
        self.roster.handle(input, &view)
    }

    /// Whose batches the next turn takes.
    fn required(&self, peers: &[Peer]) -> Peers {
        let members = self.roster.voters().members().iter();
        let required = members.filter(|of| {
            let leaves = peers[usize::from(*of)].leaves;
            let knows = leaves.filter(|turn| self.held[usize::from(*of)] > *turn);
            knows.is_none_or(|turn| self.complete <= turn)
        });
        required.collect()
    }

    /// Whether it holds the next turn, and may complete it.
    pub fn can_complete(&self, peers: &[Peer]) -> bool {
        let before_cut = self
            .roster
            .decision()
            .is_none_or(|decision| u32::from(self.complete) < decision.value.cut);
        let mut required = self.required(peers).iter();
        before_cut && required.all(|of| self.held[usize::from(of)] > self.complete)
    }

    /// Completes the next turn.
    pub fn complete(&mut self, peers: &[Peer]) {
        self.log.push(self.required(peers));
        self.complete += 1;
    }

    /// Begins with another roster; what it held of others' later batches is void.
    pub fn begin(&mut self, members: Peers, voters: impl Fn(Peers) -> Voters, next_epoch: bool) {
        self.epoch += u8::from(next_epoch);
        self.roster = Roster::new(self.at, voters(members));
    }
}
