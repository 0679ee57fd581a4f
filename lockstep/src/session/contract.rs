//! What a session is told, what it wants done, and how it begins.

use super::rejoin::{AROUND, MESSAGE};
use crate::limits::{MAX_BATCH, MAX_CHAT, MAX_PEERS, room_of};
use crate::log::{Bundle, Lead, LogPart, Record, Start, Terms};
use crate::{
    Channel, Contact, Event, Limits, LinkError, LinkId, MatchId, Moment, PeerId, Plan, Rejoin,
    TurnNumber,
};
use sim::{Checksum, Outcome, RulesId, Seat};
use std::sync::Arc;
use std::time::Duration;

/// What a session is told.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input<'a> {
    /// A link is up.
    LinkUp {
        /// Its number.
        link: LinkId,
        /// The peer at the other end, if the transport knows it.
        peer: Option<PeerId>,
        /// True where this side dialled.
        dialled: bool,
        /// The other side's address as seen from here.
        address: String,
        /// What binds the link's channel.
        binding: [u8; 32],
    },
    /// A dial came to nothing.
    DialFailed {
        /// The address that was dialled.
        address: String,
        /// The peer that was expected there.
        key: PeerId,
        /// Why.
        why: LinkError,
    },
    /// A link is gone.
    LinkDown {
        /// Its number.
        link: LinkId,
        /// Why.
        why: LinkError,
    },
    /// Bytes arrived on a link.
    Received {
        /// The link.
        link: LinkId,
        /// The channel.
        channel: Channel,
        /// One datagram or one whole message.
        bytes: &'a [u8],
    },
    /// This peer is, or is no longer, ready to start.
    Ready(bool),
    /// The world of the start is built.
    Loaded {
        /// Checksum of the initial world.
        checksum: Checksum,
    },
    /// The world could not be built.
    LoadFailed,
    /// The world panicked, and is used no more.
    WorldFaulted {
        /// The turn that it executed, or would have executed next.
        turn: TurnNumber,
        /// What the panic said.
        message: String,
    },
    /// A command for one of this peer's seats, which the caller has checked against the limits.
    Issue {
        /// The seat.
        seat: Seat,
        /// The encoded command.
        command: Vec<u8>,
    },
    /// Public chat.
    Chat(String),
    /// Pause the match, for this peer's first seat.
    Pause,
    /// Let a paused match go on.
    Resume,
    /// The players of this peer want to wait longer for the missing peers.
    WaitLonger,
    /// The player of a joiner says to enter this branch, once [`Event::BranchFound`](crate::Event::BranchFound) has told
    /// of it.
    EnterBranch(MatchId),
    /// The player of a lobby's host removes this guest, or turns away this player that asks: its key does not enter this
    /// lobby again.
    RemoveGuest(PeerId),
    /// The player of a lobby's host lets in this player that asks, as [`Event::Askers`](crate::Event::Askers) told.
    AdmitGuest(PeerId),
    /// The player of a reopening's host goes on with those that are here, as soon as they are a quorum.
    BeginNow,
    /// A peer of the match that a joiner looks for may be found at these addresses. One that the joiner does not know to be
    /// of the match is ignored.
    Contact(Contact),
    /// The world has executed the next turn.
    Executed {
        /// Checksum of the world after it.
        checksum: Checksum,
        /// How the match ended, if it has.
        outcome: Option<Outcome>,
        /// Time spent in stepping it.
        step: Duration,
    },
    /// The snapshot that [`Output::Save`] asked for.
    Snapshot {
        /// Turns that the world had executed.
        turns: u32,
        /// What [`sim::State::save`] wrote.
        bytes: Arc<[u8]>,
    },
    /// What [`Output::Sync`] with this number asked for is done.
    Synced(u64),
    /// Leave the match.
    Leave,
    /// This process ends without leaving: the others need not wait for its silence, and another run of it may come back. A
    /// match is over for this session then, without an event.
    Quit,
    /// Time has passed.
    Timeout,
}

/// What a session wants done, in this order. Exhaustive: its driver has to do all of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Dial a peer.
    Dial {
        /// Where.
        address: String,
        /// The peer that must answer.
        key: PeerId,
    },
    /// Close a link, after what was sent on it before.
    Close {
        /// Its number.
        link: LinkId,
    },
    /// Send bytes. A loss that the channel allows, or a link that is gone, needs no answer.
    Send {
        /// On which link.
        link: LinkId,
        /// By which channel.
        channel: Channel,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
    /// Append a record to the log, for good: [`LogStore::append`](crate::log::LogStore::append).
    Append(Record),
    /// Append all these records, as [`Append`](Self::Append) does one: a log that is here as a whole.
    AppendAll(LogPart),
    /// Replace the provisional turns behind the log: [`LogStore::tail`](crate::log::LogStore::tail). Comes before a turn
    /// among them is executed.
    Tail(Vec<Bundle>),
    /// Make all that was appended durable, and answer [`Input::Synced`] then, or at once where nothing keeps the log:
    /// [`LogStore::sync`](crate::log::LogStore::sync). An accept waits for the answer to the newest one; nothing else does.
    Sync(u64),
    /// Build the world, or build it anew, and answer [`Input::Loaded`] or [`Input::LoadFailed`].
    New {
        /// How the match began.
        start: Arc<Start>,
        /// Turns from this one on were executed before, and are retracted.
        retracted: Option<TurnNumber>,
    },
    /// Execute a turn and answer [`Input::Executed`]. Turns come without a hole, but for [`Output::Load`].
    Execute(Bundle),
    /// Replace the world by a snapshot, after all that was asked for before, and answer [`Input::Loaded`]. Turns after
    /// it are handed out again.
    Load {
        /// Turns that the snapshot's world has executed.
        turns: u32,
        /// Ticks that it has stepped.
        ticks: u64,
        /// What [`sim::State::save`] wrote.
        snapshot: Arc<[u8]>,
        /// Turns from this one on were executed before, and are retracted.
        retracted: Option<TurnNumber>,
    },
    /// Save the world once every turn handed out so far is executed, and answer [`Input::Snapshot`].
    Save {
        /// Turns executed by then.
        turns: u32,
    },
    /// Tell the game.
    Event(Event),
}

/// How a session begins.
pub struct SessionConfig {
    /// What this peer calls itself; at most 32 bytes are kept.
    pub name: String,
    /// Seats that this peer asks for. At least 1.
    pub own_seats: u8,
    /// Whether this peer is ready from the beginning.
    pub ready: bool,
    /// Addresses at which others may try to dial this peer.
    pub addresses: Vec<String>,
    /// Secret randomness, drawn anew for every run of the process: nonces and the incarnation come from it.
    pub entropy: [u8; 32],
    /// This peer's share of the match seed; drawn from `entropy` where there is none.
    pub share: Option<[u8; 32]>,
    /// Match time between keyframes of the log, if any are wanted.
    pub keyframe_every: Option<Duration>,
    /// Bounds.
    pub limits: Limits,
    /// A turn that is waited for longer than this ends the match for this peer; `None` waits for ever. More than a year
    /// counts as a year.
    pub stall_limit: Option<Duration>,
    /// A peer that turns wait for and that is unheard, by any path, for so long is suspected: the others go on without
    /// it if they are a quorum. Usually 3 s. More than a year counts as a year.
    pub suspicion: Duration,
    /// The build, for information in the log; at most 64 bytes are kept.
    pub build: String,
    /// What this peer is in its lobby.
    pub role: Role,
}

/// The rules that a build plays a given setup by; `None` for a setup it cannot read.
pub type RulesOf = Box<dyn Fn(&[u8]) -> Option<RulesId> + Send>;

/// What a peer is in its lobby.
#[non_exhaustive]
pub enum Role {
    /// It opened the match and admits guests.
    Host(HostConfig),
    /// It comes with a ticket.
    Join {
        /// The match.
        match_id: MatchId,
        /// The ticket's secret. Zeros: this peer has none, and asks the host's player.
        secret: [u8; 16],
        /// The host's key.
        host: PeerId,
        /// Where to dial the host, best first.
        addresses: Vec<String>,
        /// The rules that this build plays a given setup by; `None` for a setup it cannot read.
        rules: RulesOf,
    },
    /// It was in the match before: another run of its process was.
    Rejoin {
        /// What is known of the match.
        from: Rejoin,
        /// The rules that this build plays a given setup by; `None` for a setup it cannot read.
        rules: RulesOf,
    },
    /// The processes of all peers have died. This one waits for the others to come back, each by [`Role::Rejoin`] with
    /// its log, and then goes on with them.
    Reopen {
        /// What an earlier run has logged. Where the contacts are reached and still play, nothing is reopened.
        from: Rejoin,
        /// The rules that this build plays a given setup by; `None` for a setup it cannot read.
        rules: RulesOf,
        /// For so long a quorum waits for the others.
        wait: Duration,
    },
    /// It goes on alone where its log ends, without a quorum: in a branch, a match of its own that the other players may
    /// enter by their own word, each by [`Role::Rejoin`] and [`Input::EnterBranch`].
    Branch {
        /// What an earlier run has logged. The contacts are not dialled until the branch has begun.
        from: Rejoin,
        /// The rules that this build plays a given setup by; `None` for a setup it cannot read.
        rules: RulesOf,
    },
    /// It goes on alone from a moment of a match that others played, in all seats.
    PlayOn {
        /// The moment. Its log is in the caller's store already: what is appended follows on it.
        from: Moment,
        /// The plan of the turns behind it.
        plan: Plan,
        /// Turns behind it after which the match ends, if it is to end so.
        turn_limit: Option<u32>,
    },
}

/// What the host settles for all peers.
pub struct HostConfig {
    /// The match.
    pub match_id: MatchId,
    /// What a joiner must know to be admitted.
    pub secret: [u8; 16],
    /// When the invitation expires, on the session's clock; `None`: never.
    pub expires: Option<Duration>,
    /// Whether players without the secret may ask this host's player.
    pub takes_askers: bool,
    /// The game's own setup, encoded.
    pub setup: Vec<u8>,
    /// The rules in force.
    pub rules: RulesId,
    /// Everything else that holds for all.
    pub terms: Terms,
}

/// A setting that no session can begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No seat, or more than the match has.
    #[error(
        "a peer takes at least one seat and at most all of the match's, of which there are 1 to 16"
    )]
    Seats,
    /// A plan out of range.
    #[error(
        "the plan is out of range: 1, 2, 4 or 8 ticks of 1 to 1000 ms, and a delay of 2 to 8 turns (1 alone)"
    )]
    Plan,
    /// A match of no turns.
    #[error("a match has at least one turn")]
    TurnLimit,
    /// A setup above [`Limits::setup_bytes`], or one with which a message would be above [`Limits::message_bytes`].
    #[error("the setup takes {bytes} bytes, the limit is {limit}")]
    Setup {
        /// Its size.
        bytes: u32,
        /// The limit.
        limit: u32,
    },
    /// A limit out of its range, as [`Limits`] tells it.
    #[error("a limit is out of its range")]
    Limits,
    /// A moment to play on from whose log does not hold: a record does not follow on those before it, or a signature does
    /// not hold, or the match has no such seat.
    #[error("the turns before that moment do not follow each other, or the match has no such seat")]
    Moment,
    /// A ticket without an address, or a match to come back to of which none is known.
    #[error("there is no address to dial")]
    Addresses,
    /// A match to rejoin of which this peer knows no other peer.
    #[error(
        "this leads only to this peer itself: another player's ticket, or a replay of the match, leads back into it"
    )]
    OnlySelf,
    /// The ticket names a host with this peer's own key.
    #[error(
        "the host of this ticket has the same key as this peer: its identity is a copy, or the match is its own; join with another identity"
    )]
    OwnKey,
}

/// What a session has measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Turns whose bundle was incomplete at the moment they were due.
    pub late_turns: u64,
    /// Time spent waiting for them, and for one that is still waited for.
    pub stalled: Duration,
    /// The links to other peers.
    pub links: Vec<LinkStats>,
    /// In the lobby, the last round trip between its host and each guest, as the host measures it every second.
    pub pings: Vec<(PeerId, Duration)>,
    /// The other peers of the running match, by whatever path they are heard.
    pub peers: Vec<PeerStats>,
    /// The newest world that all were found to have; `None` before the first.
    pub agreed: Option<Agreed>,
}

/// What a session has measured of another peer of the match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerStats {
    /// The peer.
    pub peer: PeerId,
    /// How many milliseconds before they were due its batches have come here, the latest of the last report; negative
    /// where one was late. `None` before the first report.
    pub slack_ms: Option<i16>,
    /// The same of this peer's batches there, as the other tells.
    pub slack_there_ms: Option<i16>,
    /// How long before their deadline its batches leave. `None` before 30 reports, and without a link to it.
    pub lead: Option<Lead>,
    /// Since when nothing of it was heard.
    pub unheard: Duration,
}

/// A world that all peers were found to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// After so many turns.
    pub turns: u32,
    /// How long ago the last of them told so.
    pub ago: Duration,
}

/// What a session has measured of one link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkStats {
    /// The peer at the other end.
    pub peer: PeerId,
    /// Smoothed round trip, once known.
    pub rtt: Option<Duration>,
    /// Packets lost of the last 64, in the worse direction.
    pub lost_of_64: u8,
    /// Own batches that left on it, and how often one left again.
    pub batches: u64,
    /// See `batches`.
    pub copies: u64,
    /// Bytes of turn packets that left on it, without what the transport adds.
    pub bytes: u64,
    /// How long it has been up.
    pub up_for: Duration,
}

/// No wait is longer: sums of times never overflow.
const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl SessionConfig {
    /// With waits and sizes that are not beyond all use, so that no sum of them overflows.
    pub(super) fn bounded(self) -> Self {
        let wait = |wait: Duration| wait.min(LONGEST_WAIT);
        let limits = self.limits;
        SessionConfig {
            suspicion: wait(self.suspicion),
            stall_limit: self.stall_limit.map(wait),
            limits: Limits {
                handshake: wait(limits.handshake),
                unexecuted_turns: limits.unexecuted_turns.min(1 << 24),
                snapshot_bytes: limits.snapshot_bytes.min(1 << 48),
                catch_up_bytes: limits.catch_up_bytes.min(1 << 48),
                ..limits
            },
            ..self
        }
    }

    /// Whether every setting is in its range.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let config = self;
        let limits = &config.limits;
        if limits.batch_bytes as usize > MAX_BATCH
            || limits.chat_bytes as usize > MAX_CHAT
            || usize::from(limits.peers) > MAX_PEERS
            || limits.batch_bytes < 350
            || (limits.message_bytes as usize) < MESSAGE
            || limits.unexecuted_turns == 0
            || room_of(limits.command_bytes as usize) > limits.turn_bytes()
        {
            return Err(ConfigError::Limits);
        }
        match &config.role {
            Role::Host(host) => {
                let terms = &host.terms;
                let alone = terms.seats == config.own_seats;
                if !(1..=16).contains(&terms.seats)
                    || !(1..=terms.seats).contains(&config.own_seats)
                {
                    return Err(ConfigError::Seats);
                }
                if terms.turn_limit == Some(0) {
                    return Err(ConfigError::TurnLimit);
                }
                if !terms.plan.is_valid(!alone) {
                    return Err(ConfigError::Plan);
                }
                // Guests and joiners get the setup in one message.
                let limit = match alone {
                    true => limits.setup_bytes,
                    false => limits.setup_bytes.min(limits.message_bytes - AROUND as u32),
                };
                if host.setup.len() > limit as usize {
                    return Err(ConfigError::Setup {
                        bytes: host.setup.len() as u32,
                        limit,
                    });
                }
            }
            // No address is needed.
            Role::Reopen { .. } | Role::Branch { .. } => {}
            Role::PlayOn {
                plan, turn_limit, ..
            } => {
                if *turn_limit == Some(0) {
                    return Err(ConfigError::TurnLimit);
                }
                if !plan.is_valid(false) {
                    return Err(ConfigError::Plan);
                }
            }
            Role::Rejoin { from, .. } => {
                let mut known = from.contacts.iter();
                if known.all(|contact| contact.addresses.is_empty()) {
                    return Err(ConfigError::Addresses);
                }
            }
            Role::Join { addresses, .. } => {
                if addresses.is_empty() {
                    return Err(ConfigError::Addresses);
                }
                if !(1..=16).contains(&config.own_seats) {
                    return Err(ConfigError::Seats);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{hosted, settings};

    fn checked(host: HostConfig, limits: Limits) -> Result<(), ConfigError> {
        let of_host = settings(0, Role::Host(host));
        SessionConfig { limits, ..of_host }.check()
    }

    #[test]
    fn a_setup_fits_a_message_with_what_goes_around_it() {
        let check = |seats: u8, setup: u32, message: u32| {
            let mut host = hosted(seats);
            host.setup = vec![0; setup as usize];
            host.terms.plan.delay_turns = if seats == 1 { 1 } else { 2 };
            let limits = Limits {
                setup_bytes: 128 << 10,
                message_bytes: message,
                ..Limits::default()
            };
            checked(host, limits)
        };
        let refused = |bytes: u32, limit: u32| Err(ConfigError::Setup { bytes, limit });
        let usual = Limits::default().message_bytes;
        let most = usual - (24 << 10);
        assert_eq!(check(2, most, usual), Ok(()));
        assert_eq!(check(2, most + 1, usual), refused(most + 1, most));
        assert_eq!(check(2, 80 << 10, 104 << 10), Ok(()));
        let too_large = (128 << 10) + 1;
        assert_eq!(check(2, too_large, 1 << 20), refused(too_large, 128 << 10));
        assert_eq!(check(1, 80 << 10, usual), Ok(()), "it is sent to no peer");
    }

    #[test]
    fn a_turn_has_room_for_the_largest_command() {
        let check = |command_bytes, batch_bytes| {
            let limits = Limits {
                command_bytes,
                batch_bytes,
                ..Limits::default()
            };
            checked(hosted(2), limits)
        };
        for (command, batch) in [(497, 700), (147, 350)] {
            assert_eq!(check(command, batch), Ok(()));
            assert_eq!(check(command + 1, batch), Err(ConfigError::Limits));
        }
        assert_eq!(check(u32::MAX, 700), Err(ConfigError::Limits));
    }

    #[test]
    fn a_message_holds_a_part_of_the_log() {
        let check = |message_bytes| {
            let limits = Limits {
                message_bytes,
                ..Limits::default()
            };
            checked(hosted(2), limits)
        };
        assert_eq!(check(56 << 10), Ok(()));
        assert_eq!(check((56 << 10) - 1), Err(ConfigError::Limits));
    }

    #[test]
    fn a_world_may_lie_behind_by_a_turn() {
        let check = |unexecuted_turns| {
            let limits = Limits {
                unexecuted_turns,
                ..Limits::default()
            };
            checked(hosted(2), limits)
        };
        assert_eq!([0, 1].map(check), [Err(ConfigError::Limits), Ok(())]);
    }
}
