//! What one seed plays. [`Scenario::draw`] draws it; everything that differs from run to run stands here.

mod draw;
mod kinds;
mod outsiders;
mod reopening;
mod shrink;

pub use kinds::{KINDS, Kind};
pub use reopening::{Fate, Reopening};
pub use shrink::shrink;

use lockstep::Plan;
use lockstep::log::{Absent, OnDesync, OnSlow};
use std::time::Duration;

/// One run.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// The seed that all of it comes from.
    pub seed: u64,
    /// Whether batches are signed with Ed25519 rather than the keyed hash.
    pub ed25519: bool,
    /// What carries the messages.
    pub over: Over,
    /// The peers; the first is the lobby's host.
    pub peers: Vec<PeerPlan>,
    /// The turn plan.
    pub plan: Plan,
    /// Turns of the match.
    pub turn_limit: u32,
    /// What the links do, between calm peers until [`heal_at`](Self::heal_at).
    pub weather: Weather,
    /// So long after the match began, the faults of calm peers end.
    pub heal_at: Duration,
    /// Pairs of guests that can never dial each other, the lower one first.
    pub unreachable: Vec<(usize, usize)>,
    /// Whether the transport tells to which peer a link leads.
    pub transport_knows: bool,
    /// A stranger without a ticket dials all peers and sends garbage.
    pub stranger: bool,
    /// What becomes of a peer that is too slow.
    pub on_slow: OnSlow,
    /// What becomes of the match when worlds differ.
    pub on_desync: OnDesync,
    /// What plays the seats of absent peers.
    pub absent: Absent,
    /// All players vote once in every stall to extend the suspicion time.
    pub extends: bool,
    /// The processes of all peers die, or of too many, and the match is reopened.
    pub reopening: Option<Reopening>,
    /// A peer goes just after a roster change.
    pub aftermath: Option<Aftermath>,
}

/// One peer.
#[derive(Clone, Debug)]
pub struct PeerPlan {
    /// Its seats.
    pub seats: u8,
    /// When its process begins.
    pub begins_at: Duration,
    /// How fast its clock runs, in millionths too fast.
    pub drift_ppm: i32,
    /// Time to build the world.
    pub load: Duration,
    /// Time to step a tick.
    pub step: Duration,
    /// What its players do.
    pub workload: Workload,
    /// Time between two chat texts, if it chats.
    pub chats_every: Option<Duration>,
    /// Time between keyframes of its log, if it wants any.
    pub keyframe_every: Option<Duration>,
    /// Records that its log takes before the disk is full.
    pub log_takes: Option<u32>,
    /// What befalls it, by time after the match began.
    pub faults: Vec<(Duration, Fault)>,
    /// The turn after which its world goes wrong.
    pub flaw: Option<u32>,
    /// What it does against the protocol.
    pub hostile: Option<Hostile>,
    /// Its faults, and its links' weather, go on after healing: it stays outside the core.
    pub troubled: bool,
}

/// What befalls a peer, or what its players do beside playing.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Its process dies.
    Crash,
    /// Another run of a process that died begins, with the log of the one before or without.
    Return {
        /// Whether it has that log.
        with_log: bool,
    },
    /// Its process or machine stops for so long.
    Freeze(Duration),
    /// Its machine takes so long for a tick, for a while.
    Slow {
        /// For how long.
        lasts: Duration,
        /// Time to step a tick meanwhile.
        step: Duration,
    },
    /// It gets another address: what is under way to the old one is lost.
    Move,
    /// Its clock jumps ahead so far.
    Jump(Duration),
    /// Ways between it and these peers go dark for so long.
    Cut {
        /// For how long.
        lasts: Duration,
        /// The peers at the other ends.
        others: Vec<usize>,
        /// Which ways.
        ways: Ways,
    },
    /// It leaves.
    Leave,
    /// A player pauses the match, and resumes it after so long.
    Pause(Duration),
}

/// Directions of a cut, as the peer that it befalls sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// Nothing passes either way.
    Both,
    /// Nothing comes to it.
    In,
    /// Nothing goes from it.
    Out,
}

/// What the players of a peer do.
#[derive(Clone, Copy, Debug)]
pub enum Workload {
    /// Nothing.
    Idle,
    /// A command every so often.
    Steady(Duration),
    /// Many commands at one instant, every so often.
    Bursts(u64, Duration),
    /// Commands of about the largest allowed size.
    Large(Duration),
}

/// What links do, in parts per thousand where no unit is named.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    /// Shortest one-way delay.
    pub delay: Duration,
    /// Random delay on top, at most.
    pub jitter: Duration,
    /// Datagrams lost on average.
    pub loss: u32,
    /// How many in a row are lost, on average.
    pub burst: u32,
    /// Datagrams that arrive twice.
    pub duplicate: u32,
    /// Datagrams that are held back behind later ones.
    pub reorder: u32,
    /// Packets of which some bits arrive inverted; over messages there are none.
    pub corrupt: u32,
}

/// What carries the messages of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Over {
    /// A model of links, which moves whole messages.
    #[default]
    Messages,
    /// The real QUIC and TLS, whose packets the network carries.
    Quic,
}

/// What a peer does against the protocol. All of it goes on after healing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hostile {
    /// It adds garbage to what it sends.
    Garbage {
        /// So many messages.
        messages: u32,
        /// From the lobby on, else once the match has begun.
        early: bool,
    },
    /// It changes its batches, and signs some of the changed ones.
    Forger,
    /// It signs two batches for each of some turns, and shows peers with odd numbers another one than the others.
    Equivocator {
        /// The first turn.
        from: u32,
        /// How many turns.
        turns: u32,
    },
    /// It reports a wrong checksum of its world after so many turns, to all peers alike.
    LiesOfWorld(u32),
    /// It reports wrong log hashes from after so many turns on, to all peers alike.
    LiesOfLog(u32),
    /// It is heard, and keeps back what others wait for, at times.
    Withholder(Withholder),
    /// From then on it receives and sends nothing, while its links stay up.
    Mute {
        /// When, after the match began.
        from: Duration,
    },
}

/// What a peer keeps back, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Withholder {
    /// When it begins, after the match began.
    pub from: Duration,
    /// It keeps back for so long,
    pub withholds: Duration,
    /// delivers for so long, and begins anew. Zero: it never delivers again.
    pub delivers: Duration,
    /// Its own batches.
    pub batches: bool,
    /// Its own votes on roster changes, and what it knows of decisions.
    pub votes: bool,
    /// Only from peers with odd numbers.
    pub from_odd: bool,
}

/// One of the peers in the match goes, in the moment after a peer is told that the roster has changed.
#[derive(Clone, Copy, Debug)]
pub struct Aftermath {
    /// After the first change that admits a joiner or reopens the match; else after the first of all.
    pub admission: bool,
    /// So much later.
    pub later: Duration,
    /// Which peer goes.
    pub victim: Victim,
    /// It leaves; else its process dies.
    pub leaves: bool,
    /// When another run of a process that died begins, after that.
    pub returns: Option<Duration>,
}

/// A peer in the match.
#[derive(Clone, Copy, Debug)]
pub enum Victim {
    /// The peer that was told of the change first.
    Told,
    /// The peer that the change admits, else the one that was told.
    Joiner,
    /// The peer of this number.
    Peer(usize),
}

/// Silence after which a peer that turns wait for is suspected.
pub const SUSPICION: Duration = Duration::from_secs(3);

impl Scenario {
    /// The peers that do something against the protocol.
    pub fn hostile(&self) -> impl Iterator<Item = (usize, Hostile)> + '_ {
        let peers = self.peers.iter().enumerate();
        peers.filter_map(|(at, plan)| Some((at, plan.hostile?)))
    }

    /// Whether this peer does something against the protocol.
    pub fn is_hostile(&self, peer: usize) -> bool {
        self.peers[peer].hostile.is_some()
    }

    /// Whether the faults of this peer end when the others heal, and it keeps to the protocol.
    pub fn is_calm(&self, peer: usize) -> bool {
        let plan = &self.peers[peer];
        !plan.troubled && plan.hostile.is_none() && plan.flaw.is_none()
    }

    /// The peers that do not.
    pub fn honest(&self) -> impl Iterator<Item = usize> {
        (0..self.peers.len()).filter(|peer| !self.is_hostile(*peer))
    }

    /// Turns between sealing and executing, at the start's plan.
    pub fn delay(&self) -> u32 {
        self.plan.delay_turns.into()
    }

    /// Whether this peer keeps to the protocol, and its world is right.
    pub fn is_sound(&self, peer: usize) -> bool {
        self.peers[peer].hostile.is_none() && self.peers[peer].flaw.is_none()
    }

    /// Whether this peer's world or log differs from the others', or it says so.
    pub fn may_differ(&self, peer: usize) -> bool {
        let plan = &self.peers[peer];
        let lies = |hostile| match hostile {
            Hostile::Forger | Hostile::Equivocator { .. } => true,
            Hostile::LiesOfWorld(_) | Hostile::LiesOfLog(_) => true,
            Hostile::Garbage { .. } | Hostile::Withholder(_) | Hostile::Mute { .. } => false,
        };
        plan.flaw.is_some() || plan.hostile.is_some_and(lies)
    }

    /// Whether any peer's does.
    pub fn differs(&self) -> bool {
        (0..self.peers.len()).any(|peer| self.may_differ(peer))
    }

    /// Whether a peer signs two histories, or may.
    pub fn has_two_faced(&self) -> bool {
        let two = |(_, hostile)| matches!(hostile, Hostile::Equivocator { .. } | Hostile::Forger);
        self.hostile().any(two)
    }

    /// Whether these two can never dial each other.
    pub fn are_apart(&self, one: usize, other: usize) -> bool {
        self.unreachable.contains(&(one.min(other), one.max(other)))
    }
}

impl PeerPlan {
    /// Whether a fault of this kind befalls it.
    pub fn has(&self, of: impl Fn(&Fault) -> bool) -> bool {
        self.faults.iter().any(|(_, fault)| of(fault))
    }
}

impl Withholder {
    /// Whether it keeps back at this time after the match began.
    pub fn is_at_it(&self, since_begin: Duration) -> bool {
        let Some(passed) = since_begin.checked_sub(self.from) else {
            return false;
        };
        let period = (self.withholds + self.delivers).as_micros().max(1);
        self.delivers.is_zero() || passed.as_micros() % period < self.withholds.as_micros()
    }
}
