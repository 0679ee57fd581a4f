//! What one seed plays: everything that differs from run to run. [`Scenario::draw`] draws it.

mod draw;
mod evictor;
mod kinds;
mod look_ahead;
mod outsiders;
mod reopening;
mod shrink;

pub use kinds::{KINDS, Kind};
pub use reopening::{Fate, Parted, Reopening};
pub use shrink::shrink;

use crate::plans::plan_for;
use lockstep::Plan;
use lockstep::log::{Absent, OnDesync, OnSlow, PauseBudget};
use std::time::Duration;

/// One run.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// The seed that all of it comes from.
    pub seed: u64,
    /// Whether batches are signed with Ed25519 rather than the keyed hash.
    pub ed25519: bool,
    /// Whether players issue garbage among their commands.
    pub clumsy: bool,
    /// The transport.
    pub over: Over,
    /// The peers; the first is the lobby's host.
    pub peers: Vec<PeerPlan>,
    /// The turn plan.
    pub plan: Plan,
    /// Turns of the match.
    pub turn_limit: u32,
    /// The weather of links; between calm peers until [`heal_at`](Self::heal_at).
    pub weather: Weather,
    /// When the faults of calm peers end, after the match began.
    pub heal_at: Duration,
    /// Pairs of guests that can never dial each other, the lower number first.
    pub unreachable: Vec<(usize, usize)>,
    /// Whether the transport knows the peer at the other end of a link.
    pub transport_knows: bool,
    /// Whether a stranger without a ticket dials all peers and sends garbage.
    pub stranger: bool,
    /// The policy for slow machines.
    pub on_slow: OnSlow,
    /// The policy for worlds that differ.
    pub on_desync: OnDesync,
    /// The policy for the seats of absent peers.
    pub absent: Absent,
    /// How often and how long each seat may pause.
    pub pauses: PauseBudget,
    /// Plans follow the links; the match begins with the plan that its lobby asks for.
    pub adaptive: bool,
    /// Whether all players vote once in every stall to extend the suspicion time.
    pub extends: bool,
    /// The processes of all peers die, or of too many, and the match is reopened.
    pub reopening: Option<Reopening>,
    /// A peer leaves or crashes just after a roster change.
    pub aftermath: Option<Aftermath>,
}

/// One peer.
#[derive(Clone, Debug)]
pub struct PeerPlan {
    /// Number of its seats.
    pub seats: u8,
    /// When its process begins.
    pub begins_at: Duration,
    /// Drift of its clock, in millionths too fast.
    pub drift_ppm: i32,
    /// Time to build the world.
    pub load: Duration,
    /// Time to step a tick.
    pub step: Duration,
    /// The actions of its players.
    pub workload: Workload,
    /// Time between two chat texts, if it chats.
    pub chats_every: Option<Duration>,
    /// Time between keyframes of its log, if it wants any.
    pub keyframe_every: Option<Duration>,
    /// Records that its log takes before the disk is full.
    pub log_takes: Option<u32>,
    /// Its faults, by time after the match began.
    pub faults: Vec<(Duration, Fault)>,
    /// The turn after which its world goes wrong.
    pub flaw: Option<u32>,
    /// Its violations of the protocol.
    pub hostile: Option<Hostile>,
    /// The weather of its links, where it is another one; between calm peers until healing, too.
    pub weather: Option<Weather>,
    /// Whether its faults, and its links' weather, go on after healing: then it stays outside the core.
    pub troubled: bool,
}

impl Default for PeerPlan {
    /// An honest peer with one seat, without faults, of which players do nothing.
    fn default() -> Self {
        PeerPlan {
            seats: 1,
            begins_at: Duration::ZERO,
            drift_ppm: 0,
            load: Duration::ZERO,
            step: Duration::ZERO,
            workload: Workload::Idle,
            chats_every: None,
            keyframe_every: None,
            log_takes: None,
            faults: Vec::new(),
            flaw: None,
            hostile: None,
            weather: None,
            troubled: false,
        }
    }
}

/// A fault of a peer, or an action of its players beside playing.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Its process dies.
    Crash,
    /// Another run of a dead process begins, with or without the log of the last run.
    Return {
        /// Whether it has that log.
        with_log: bool,
    },
    /// Its process or machine stops for this long.
    Freeze(Duration),
    /// Its machine is slow for a while.
    Slow {
        /// How long it is slow.
        lasts: Duration,
        /// Time to step a tick meanwhile.
        step: Duration,
    },
    /// Its address changes: packets to the old one are lost.
    Move,
    /// Its clock jumps ahead.
    Jump(Duration),
    /// The lanes between it and these peers are cut.
    Cut {
        /// How long the cut lasts.
        lasts: Duration,
        /// The peers at the other ends.
        others: Vec<usize>,
        /// The directions.
        ways: Ways,
    },
    /// All of its links are slower.
    Swing {
        /// How long they are slower.
        lasts: Duration,
        /// By how much, each way.
        more: Duration,
    },
    /// It leaves.
    Leave,
    /// A player pauses the match, and resumes it after this time.
    Pause(Duration),
}

/// Directions of a cut, as seen by its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// Both directions.
    Both,
    /// Towards the peer.
    In,
    /// Away from the peer.
    Out,
}

/// The actions of a peer's players.
#[derive(Clone, Copy, Debug)]
pub enum Workload {
    /// None.
    Idle,
    /// A command at this interval.
    Steady(Duration),
    /// This many commands at one instant, at this interval.
    Bursts(u64, Duration),
    /// Commands of about the largest allowed size, at this interval.
    Large(Duration),
}

/// Faults of links, in parts per thousand unless a unit is named.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    /// Shortest one-way delay.
    pub delay: Duration,
    /// Greatest additional random delay.
    pub jitter: Duration,
    /// Mean loss of datagrams.
    pub loss: u32,
    /// Mean length of a run of losses.
    pub burst: u32,
    /// Duplicated datagrams.
    pub duplicate: u32,
    /// Datagrams that later ones overtake.
    pub reorder: u32,
    /// Packets with flipped bits; runs over messages have none.
    pub corrupt: u32,
}

/// The transport of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Over {
    /// A model of links that moves whole messages.
    #[default]
    Messages,
    /// Real QUIC and TLS over packets.
    Quic,
}

/// A violation of the protocol. It goes on after healing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hostile {
    /// It adds garbage to its traffic.
    Garbage {
        /// Number of messages.
        messages: u32,
        /// From the lobby on; otherwise once the match has begun.
        early: bool,
    },
    /// It changes its batches, and signs some of the changed ones.
    Forger,
    /// It signs two batches for each of some turns: one for peers with odd numbers, one for the others.
    Equivocator {
        /// The first turn.
        from: u32,
        /// Number of turns.
        turns: u32,
    },
    /// It reports a wrong checksum after this many turns, to all peers alike.
    LiesOfWorld(u32),
    /// It reports wrong log hashes after this many turns and later, to all peers alike.
    LiesOfLog(u32),
    /// It reports that its machine needs so long for a tick, and that is a lie.
    LiesOfLoad(Duration),
    /// It asks for copies without end, says that it misses all packets, and that it has answered at once. It may acknowledge
    /// what it does not hold.
    LiesOfLinks {
        /// Whether it does.
        acknowledges: bool,
    },
    /// It holds its batches back for so long: it has seen those of the others by then.
    LooksAhead(Duration),
    /// It stays heard, but withholds batches or votes at times.
    Withholder(Withholder),
    /// In every roster change that it coordinates, it proposes to go on without this peer, and accepts that.
    Evictor {
        /// The peer.
        victim: usize,
    },
    /// From a moment on it receives and sends nothing, while its links stay up.
    Mute {
        /// The moment, after the match began.
        from: Duration,
    },
}

/// What a peer withholds, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Withholder {
    /// The first time, after the match began.
    pub from: Duration,
    /// How long it withholds,
    pub withholds: Duration,
    /// and how long it delivers before it withholds again. Zero: it never delivers again.
    pub delivers: Duration,
    /// Whether it withholds its batches.
    pub batches: bool,
    /// Whether it withholds its votes on roster changes, and decisions.
    pub votes: bool,
    /// Whether it withholds only from peers with odd numbers.
    pub from_odd: bool,
}

/// A peer leaves or crashes just after a peer is told of a roster change.
#[derive(Clone, Copy, Debug)]
pub struct Aftermath {
    /// The first change that admits a joiner or reopens the match; otherwise the first of all.
    pub admission: bool,
    /// The delay after the change.
    pub later: Duration,
    /// The peer that leaves or crashes.
    pub victim: Victim,
    /// Whether it leaves; otherwise its process dies.
    pub leaves: bool,
    /// When another run of a dead process begins, after that.
    pub returns: Option<Duration>,
}

/// A peer in the match.
#[derive(Clone, Copy, Debug)]
pub enum Victim {
    /// The first peer that was told of the change.
    Told,
    /// The peer that the change admits, if any; otherwise the first one told.
    Joiner,
    /// The peer of this number.
    Peer(usize),
}

/// The suspicion time.
pub const SUSPICION: Duration = Duration::from_secs(3);
/// A peer that is heard may block turns for this long.
pub const STALL_BUDGET: Duration = Duration::from_secs(10);
/// It is given back such a part of the time that passes: a tenth.
pub const REFILL: u32 = 10;

impl Scenario {
    /// The hostile peers.
    pub fn hostile(&self) -> impl Iterator<Item = (usize, Hostile)> + '_ {
        let peers = self.peers.iter().enumerate();
        peers.filter_map(|(at, plan)| Some((at, plan.hostile?)))
    }

    /// Whether this peer is hostile.
    pub fn is_hostile(&self, peer: usize) -> bool {
        self.peers[peer].hostile.is_some()
    }

    /// Whether this peer keeps to the protocol, and its faults end at healing.
    pub fn is_calm(&self, peer: usize) -> bool {
        let plan = &self.peers[peer];
        !plan.troubled && plan.hostile.is_none() && plan.flaw.is_none()
    }

    /// The peers that do not.
    pub fn honest(&self) -> impl Iterator<Item = usize> {
        (0..self.peers.len()).filter(|peer| !self.is_hostile(*peer))
    }

    /// The most turns between sealing and executing.
    pub fn delay(&self) -> u32 {
        match self.adaptive {
            true => 8,
            false => self.plan.delay_turns.into(),
        }
    }

    /// The shortest turn of the match.
    pub fn shortest_turn(&self) -> Duration {
        match self.adaptive {
            true => plan_for(0, self.plan.tick_ms).turn().min(self.plan.turn()),
            false => self.plan.turn(),
        }
    }

    /// The longest freeze of any process.
    pub fn longest_freeze(&self) -> Duration {
        let faults = self.peers.iter().flat_map(|plan| &plan.faults);
        let freezes = faults.map(|(_, fault)| match fault {
            Fault::Freeze(lasts) => *lasts,
            _ => Duration::ZERO,
        });
        freezes.max().unwrap_or_default()
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
            Hostile::Garbage { .. } | Hostile::LiesOfLoad(_) | Hostile::LooksAhead(_) => false,
            Hostile::LiesOfLinks { .. } => false,
            Hostile::Withholder(_) | Hostile::Mute { .. } | Hostile::Evictor { .. } => false,
        };
        plan.flaw.is_some() || plan.hostile.is_some_and(lies)
    }

    /// Whether any peer's does.
    pub fn differs(&self) -> bool {
        (0..self.peers.len()).any(|peer| self.may_differ(peer))
    }

    /// The number of peers with a machine that is slow for a while, or that say so.
    pub fn slowing(&self) -> usize {
        let slows = |plan: &&PeerPlan| {
            let lies = matches!(plan.hostile, Some(Hostile::LiesOfLoad(_)));
            lies || plan.has(|fault| matches!(fault, Fault::Slow { .. }))
        };
        self.peers.iter().filter(slows).count()
    }

    /// Whether a peer lies of its load.
    pub fn lies_of_load(&self) -> bool {
        self.hostile()
            .any(|(_, hostile)| matches!(hostile, Hostile::LiesOfLoad(_)))
    }

    /// Whether a peer signs two histories, or may.
    pub fn has_two_faced(&self) -> bool {
        let two = |(_, hostile)| matches!(hostile, Hostile::Equivocator { .. } | Hostile::Forger);
        self.hostile().any(two)
    }

    /// Drops of these peers of a roster of so many those that do not hear from all others in time.
    ///
    /// Two without a link hear from each other by way of a third peer, but too late of a peer outside.
    pub fn in_reach(&self, mut peers: Vec<usize>, of: usize) -> Vec<usize> {
        loop {
            let linked = |one: usize, other: usize| !self.are_apart(one, other);
            let is_deaf = |one: usize, other: usize| {
                let mut by_way = peers.iter().filter(|_| peers.len() == of);
                let hears = by_way.any(|by| linked(one, *by) && linked(*by, other));
                !hears && !linked(one, other)
            };
            let deaf = |one: &usize| peers.iter().filter(|other| is_deaf(*one, **other)).count();
            match peers.iter().copied().max_by_key(deaf) {
                Some(most) if deaf(&most) > 0 => peers.retain(|one| *one != most),
                _ => return peers,
            }
        }
    }

    /// Whether these two can never dial each other.
    pub fn are_apart(&self, one: usize, other: usize) -> bool {
        self.unreachable.contains(&(one.min(other), one.max(other)))
    }
}

impl PeerPlan {
    /// Whether it has a fault of this kind.
    pub fn has(&self, of: impl Fn(&Fault) -> bool) -> bool {
        self.faults.iter().any(|(_, fault)| of(fault))
    }
}

impl Withholder {
    /// Whether it withholds at this time after the match began.
    pub fn is_at_it(&self, since_begin: Duration) -> bool {
        let Some(passed) = since_begin.checked_sub(self.from) else {
            return false;
        };
        let period = (self.withholds + self.delivers).as_micros().max(1);
        self.delivers.is_zero() || passed.as_micros() % period < self.withholds.as_micros()
    }
}
