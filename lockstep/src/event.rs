//! What a match tells the game.

use crate::log::{Gone, RosterCause, SeatInfo, StoreError, Terms, Way};
use crate::{CommandId, LinkError, LogHash, MatchId, PeerId, Plan, Refused, TurnNumber};
use sim::{Checksum, Outcome, Seat};
use std::path::PathBuf;
use std::time::Duration;

/// Something the game may want to show. Ignoring any of them changes nothing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The lobby changed.
    Lobby {
        /// The peers in it, with their seats. None of them is known while a guest has lost its link to the host, which it
        /// dials again.
        peers: Vec<LobbyPeer>,
        /// What its host settles for all. An adaptive match begins with the plan that the links of its lobby ask for.
        terms: Terms,
    },
    /// Players ask the host of this lobby to let them in: all that wait now. They come without the ticket's secret, as from
    /// the local network.
    Askers(Vec<Asker>),
    /// The host's player is asked to let this peer in, which has no ticket.
    Asked,
    /// Turn 0 begins, or the first turn behind the moment that is played on from.
    Started {
        /// The match.
        match_id: MatchId,
        /// This peer's seats, the one that it plays itself first; empty for a spectator.
        own: Vec<Seat>,
        /// All seats.
        seats: Vec<SeatInfo>,
        /// The plan of its first turn. A peer that comes back is told of another one in force by
        /// [`PlanChanged`](Self::PlanChanged).
        plan: Plan,
    },
    /// Addresses at which the peers of this match can be dialled, this peer first. Comes when the match begins, and again
    /// when a peer's address changes or the match is reopened; where a match is reopened, also before, once the store holds what the
    /// earlier run has recorded. A game that keeps the newest can return after a crash:
    /// [`Match::rejoin`](crate::Match::rejoin).
    Contacts(Vec<Contact>),
    /// The world executed a turn. A turn comes again only behind [`Retracted`](Self::Retracted), or behind a seek of a replay.
    /// One `poll` may execute several turns, so the world may be later than this turn. After a fault it is gone.
    Turn {
        /// The turn.
        turn: TurnNumber,
        /// Ticks stepped since the start of the match, this turn's included.
        tick: u64,
        /// Checksum of the world after it.
        checksum: Checksum,
        /// Time spent in stepping it.
        step: Duration,
    },
    /// Turns that the world had executed do not count: a peer signed two histories, or the match was reopened at an
    /// earlier turn. The world is back before them, and other turns of these numbers follow.
    Retracted {
        /// The first of them.
        from: TurnNumber,
    },
    /// A command of this peer was executed.
    Executed {
        /// Which.
        id: CommandId,
        /// In which turn.
        turn: TurnNumber,
        /// From issue to execution.
        latency: Duration,
    },
    /// A command of this peer will never be executed.
    CommandRefused {
        /// Which.
        id: CommandId,
        /// Why.
        why: Refused,
    },
    /// More commands of an own seat wait than one batch has room for: they are executed in later turns, in order.
    Backlog {
        /// The seat.
        seat: Seat,
        /// Commands that the last batch had no room for.
        commands: u32,
    },
    /// Batches hold all commands of the seat again.
    BacklogEnded {
        /// The seat.
        seat: Seat,
    },
    /// A turn is due and its bundle is incomplete. Repeated once a second while it lasts.
    Stalled {
        /// The turn.
        turn: TurnNumber,
        /// The seats whose batches are missing.
        on: Vec<Seat>,
        /// For how long already.
        since: Duration,
    },
    /// The stall is over.
    StallEnded {
        /// The turn that was late.
        turn: TurnNumber,
        /// How late it was.
        late: Duration,
    },
    /// Another plan is in force. The event comes also where turns are taken back that had changed it, and to a peer that
    /// comes back under another plan than that of turn 0.
    PlanChanged {
        /// From which turn on.
        turn: TurnNumber,
        /// The plan.
        plan: Plan,
        /// The seats of the peer whose machine is so slow that ticks are longer for it than at the start; empty where
        /// they are not, and for a peer that comes back.
        slow: Vec<Seat>,
        /// The way of batches that turns are as long, and as many, for; `None` where the fastest plan fits all, and for
        /// a peer that comes back.
        way: Option<Way>,
    },
    /// A seat paused the match.
    Paused {
        /// Which seat.
        seat: Seat,
        /// In which turn; the turns after it have no ticks.
        turn: TurnNumber,
    },
    /// The match goes on.
    Resumed {
        /// The seat that resumed it; `None` when the pausing seat's budget was spent.
        seat: Option<Seat>,
        /// In which turn; the turns after it have ticks again.
        turn: TurnNumber,
    },
    /// A text to all.
    Chat {
        /// The sender's name, as in the lobby.
        from: String,
        /// The seat, once seats are given.
        seat: Option<Seat>,
        /// The text.
        text: String,
    },
    /// A peer left the match; its batches are empty by rule from this turn on.
    Left {
        /// The peer.
        peer: PeerId,
        /// Its seats, which stand empty now.
        seats: Vec<Seat>,
        /// The turn in which they left.
        turn: TurnNumber,
    },
    /// This process stood still, or its machine slept, so the others may have removed this peer. It executes and seals
    /// nothing until a quorum has confirmed its incarnation.
    Slept {
        /// For how long.
        away: Duration,
    },
    /// This peer suspects another one, which is silent or has blocked turns for too long. A quorum decides whether to
    /// remove it.
    Suspected {
        /// The peer.
        peer: PeerId,
        /// Its seats.
        seats: Vec<Seat>,
        /// For how long it has not been heard; short where it blocks turns although it is heard.
        unheard: Duration,
    },
    /// Players vote for an extension of the suspicion time: [`Live::wait_longer`](crate::Live::wait_longer).
    Extension {
        /// The turn that waits.
        turn: TurnNumber,
        /// The seats of the peers that vote for it.
        seats: Vec<Seat>,
        /// How much longer than usual the others wait in this stall, from the votes on; zero until a quorum has voted.
        extension: Duration,
    },
    /// Quorum loss: too few peers are left to decide a roster change, so the match waits. Leaving ends it.
    ///
    /// A joiner tells the same where no turn comes and too few voters are in reach, and again after a reopening that came
    /// to nothing. Its own earlier incarnation counts as missing. The match goes on when the missing peers are heard
    /// again, or when a peer reopens it: [`Live::reopen`](crate::Live::reopen).
    NoQuorum {
        /// The turn that waits.
        turn: TurnNumber,
        /// The seats of the missing peers.
        missing: Vec<Seat>,
    },
    /// A player of this match has come back in a new incarnation, after [`NoQuorum`](Self::NoQuorum). Without a quorum no
    /// peer can admit it. With it the peers in reach are a quorum again: a reopening lets them all play on.
    ///
    /// Told once per incarnation. Of the peers in reach, one should [reopen](crate::Live::reopen) the match from its
    /// recording, and the others [rejoin](crate::Live::rejoin).
    JoinerWaits {
        /// The joiner.
        peer: PeerId,
        /// Its seats.
        seats: Vec<Seat>,
    },
    /// A peer that waits has found players of its match that went on without a quorum, in a branch. Told once per branch.
    /// The peer enters only where its player says so: [`Live::enter_branch`](crate::Live::enter_branch).
    ///
    /// A joiner is told once peers that could carry on or reopen the match were asked. A peer in its match is told after
    /// [`NoQuorum`](Self::NoQuorum). It enters in a new incarnation, which [rejoins](crate::Live::rejoin) with its
    /// recording, and says so at once.
    BranchFound {
        /// The branch.
        match_id: MatchId,
        /// Its first turn.
        turn: TurnNumber,
        /// The seats of the players that began the branch.
        seats: Vec<Seat>,
        /// Whether the branch may hold all turns that are final at this peer. Otherwise it cannot be entered.
        may_enter: bool,
    },
    /// This peer plays a branch, and has met players of the match that it left in another one. Told once per branch. Two
    /// branches never merge, and each goes on.
    BranchMet {
        /// The other branch.
        match_id: MatchId,
        /// Its first turn.
        turn: TurnNumber,
        /// The seats of the players that began the branch.
        seats: Vec<Seat>,
    },
    /// This peer's part begins in a branch: a match of its own, whose result counts as unagreed with the match it left.
    Branched {
        /// Its first turn.
        turn: TurnNumber,
        /// The branch.
        match_id: MatchId,
        /// The match that it has left.
        of: MatchId,
    },
    /// A roster change is in force: the next epoch begins.
    RosterChanged {
        /// Its first turn.
        turn: TurnNumber,
        /// Its number; the first epoch is 0.
        epoch: u32,
        /// The seats of its roster.
        seats: Vec<Seat>,
        /// The peers that are not in it any more, by cause. Their seats stand empty.
        gone: Vec<Gone>,
        /// Seats that were empty before: those of the joiner.
        back: Vec<Seat>,
        /// Why it changed. Where several peers are gone, the cause of the first.
        cause: RosterCause,
    },
    /// A seat's command did not decode as one: every peer skips it and resigns the seat.
    SeatResigned {
        /// The seat.
        seat: Seat,
        /// The turn.
        turn: TurnNumber,
    },
    /// A peer did what no correct peer does.
    PeerFault {
        /// The peer.
        peer: PeerId,
        /// Its fault.
        fault: Fault,
    },
    /// A link to a peer went down; batches may still travel by others.
    LinkLost {
        /// The peer at its other end.
        peer: PeerId,
        /// Why.
        why: LinkError,
    },
    /// Worlds differ. Unless it [`goes_on`](Desync::goes_on), execution has stopped.
    Desync(Desync),
    /// The recording ended early; the match goes on.
    RecordingStopped {
        /// Why.
        why: StoreError,
    },
    /// The saved world is longer than [`Limits::snapshot_bytes`](crate::Limits::snapshot_bytes). While it is, the log gets no
    /// keyframe, and a rejoining peer none of this world: that peer re-runs turns. The event comes once.
    WorldTooLarge {
        /// The turns after which the world was saved.
        turns: u32,
        /// Bytes of the saved world.
        bytes: u64,
        /// [`Limits::snapshot_bytes`](crate::Limits::snapshot_bytes).
        limit: u64,
    },
    /// The match is over for this peer. The last event.
    Ended(Ended),
}

/// Where a peer can be dialled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// Its key.
    pub peer: PeerId,
    /// Addresses, best first.
    pub addresses: Vec<String>,
}

/// One peer of the lobby.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LobbyPeer {
    /// Its key.
    pub peer: PeerId,
    /// What it calls itself.
    pub name: String,
    /// Its build, as it says; empty in the lobby of a reopening.
    pub build: String,
    /// Its seats.
    pub seats: Vec<Seat>,
    /// Whether it is ready.
    pub ready: bool,
}

/// A player that asks a lobby's host to let it in. What it says of itself is not proved, but for the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Its key.
    pub peer: PeerId,
    /// What it calls itself.
    pub name: String,
    /// Its build, as it says.
    pub build: String,
    /// Its address, as seen from here.
    pub address: String,
}

/// Two worlds differ after the same turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desync {
    /// The first turn after which peers reported different checksums or logs. Where this peer only knows the others'
    /// decision: the last turn that it executed.
    pub turn: TurnNumber,
    /// What each peer reported, by its lowest seat.
    pub reports: Vec<DesyncSide>,
    /// The minority: peers that reported something else than more than half of the roster. Empty where no majority is
    /// known.
    pub minority: Vec<PeerId>,
    /// Whether the match goes on without the minority, and this peer plays on; see [`OnDesync`](crate::log::OnDesync).
    pub goes_on: bool,
    /// The folder of this peer's desync report. `None` where it could not be written within 2 s: the folder may follow.
    pub report: Option<PathBuf>,
}

/// What one peer reported for the turn in question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesyncSide {
    /// The peer's lowest seat.
    pub seat: Seat,
    /// The peer.
    pub peer: PeerId,
    /// True for the peer that tells this.
    pub own: bool,
    /// Checksum of its world after the turn.
    pub checksum: Checksum,
    /// Hash of its log, where logs rather than worlds differ.
    pub log_hash: Option<LogHash>,
}

/// How and where a match ended for this peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Why.
    pub reason: EndReason,
    /// Turns executed.
    pub turns: u32,
    /// Checksum of the world after them; `None` when no world was ever built, or while the world of an earlier turn was being
    /// loaded, as turns were taken back.
    pub checksum: Option<Checksum>,
    /// The winner, where the world named one.
    pub outcome: Option<Outcome>,
    /// Peers that signed the same end.
    pub agreed: u8,
    /// Peers that were asked to sign it.
    pub of: u8,
    /// Whether a quorum, or all that were asked and have not left, have signed it: the recording holds the end. Otherwise the last turns stay
    /// provisional, since the other peers may have gone on without this one.
    pub is_final: bool,
    /// The match that this one has left as a branch: its result counts as unagreed with that match. `None` where it is no
    /// branch.
    pub branch_of: Option<MatchId>,
}

impl Ended {
    /// Before any world was built.
    pub(crate) fn without_world(reason: EndReason) -> Self {
        Ended::outside(reason, None)
    }

    /// Without a part in the match: the world has only followed it, if there is one, and has `executed` so many turns.
    pub(crate) fn outside(reason: EndReason, executed: Option<(u32, Checksum)>) -> Self {
        Ended {
            reason,
            turns: executed.map_or(0, |(turns, _)| turns),
            checksum: executed.map(|(_, checksum)| checksum),
            outcome: None,
            agreed: 0,
            of: 0,
            is_final: false,
            branch_of: None,
        }
    }

    /// Whether the result counts as unagreed: that of a branch, or an end that too few peers have signed.
    pub fn is_unagreed(&self) -> bool {
        let is_over = matches!(self.reason, EndReason::Decided | EndReason::TurnLimit);
        self.branch_of.is_some() || is_over && !self.is_final
    }
}

/// Why a match ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndReason {
    /// The world said it is over.
    #[error("the game is decided")]
    Decided,
    /// The setup's last turn was executed.
    #[error("the agreed number of turns was played")]
    TurnLimit,
    /// This peer left.
    #[error("left the match")]
    Left,
    /// A desync.
    #[error("the worlds of two peers differ")]
    Desync,
    /// A stall lasted longer than the stall limit.
    #[error("{} waited for in vain", seats_were(on))]
    StallLimit {
        /// The seats whose batches did not come.
        on: Vec<Seat>,
    },
    /// A roster change removed this peer: it was silent for too long, or had blocked turns for too long.
    #[error("the others went on without this peer")]
    Removed,
    /// The lobby turned this peer away.
    #[error("{0}")]
    Refused(JoinRefused),
    /// The lobby's host could not be reached.
    #[error("the match's host cannot be reached: {0}")]
    Unreachable(LinkError),
    /// A joiner found no peer of the match at the addresses that it knows.
    #[error("no peer of that match answers at any known address")]
    NoPeerFound,
    /// All other peers went while this one was rejoining. How the match ended, if it did, is not known.
    #[error("the other players left after turn {after}, before this one was admitted")]
    OthersWent {
        /// Their newest turn that this peer knows of.
        after: TurnNumber,
    },
    /// A joiner found only other joiners of the match, which are no quorum with it.
    #[error(
        "no peer plays that match any more, and too few players are looking for it to reopen it"
    )]
    OnlyJoiners,
    /// A joiner found only players that went on in a branch, and its player did not say to enter.
    #[error("the other players went on in a branch of that match, and this one did not enter it")]
    OnlyBranches,
    /// The host closed the lobby before the match began.
    #[error("the lobby closed before the match began")]
    LobbyClosed,
    /// The world could not be built or loaded from what the lobby or the log gave.
    #[error("the world cannot be built from this setup")]
    World,
    /// The world panicked, which is a fault of the game. The log holds the turn, so the fault can be repeated; rejoining
    /// meets it again.
    #[error(
        "the game's world failed in turn {turn}: {message}{}",
        reported(report)
    )]
    WorldFault {
        /// The turn that it executed, or would have executed next.
        turn: TurnNumber,
        /// What the panic said.
        message: String,
        /// The folder of the report, where it could be written.
        report: Option<PathBuf>,
    },
    /// Quorum loss that no peer mended: too few came to a reopening, or the last peers left before a joiner was
    /// admitted.
    #[error(
        "without {} there is no quorum, so the match cannot go on",
        names(missing)
    )]
    NoQuorum {
        /// The players that are missing.
        missing: Vec<SeatInfo>,
    },
    /// Peers here have accepted a roster change that the `missing` may have decided, or signed a reopening that these may
    /// have begun, and gone on by: the match is not reopened without them.
    #[error(
        "{} may play on without the others, which agreed to that before the match broke off",
        names(missing)
    )]
    Undecided {
        /// The players that are missing.
        missing: Vec<SeatInfo>,
    },
    /// The others have lost turns, or made up another history. Some of them have signed what it lacks, as the recording
    /// proves, or this run has logged it as final.
    /// [`Rejoin::accepts_other_history`](crate::Rejoin::accepts_other_history) goes on by it all the same.
    #[error(
        "the others' history is not the one that this recording holds up to turn {turn}{}",
        signed_by(signers)
    )]
    Contradicted {
        /// The players that have signed it; empty where the recording holds no such signature.
        signers: Vec<SeatInfo>,
        /// The last turn that they have signed, or that this run has logged as final.
        turn: TurnNumber,
    },
    /// The network thread failed.
    #[error("the network thread failed: a bug in the kit, please report what it printed")]
    Internal,
    /// A replay has no more turns.
    #[error("the replay ends here")]
    ReplayEnd,
}

/// Why a lobby turned a peer away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum JoinRefused {
    /// Other protocol version.
    #[error(
        "the host speaks protocol version {host}, this build speaks {ours}: use the same release"
    )]
    Protocol {
        /// The host's version.
        host: u16,
        /// The joiner's.
        ours: u16,
    },
    /// Other rules.
    #[error(
        "the host plays by other rules (code or data tables): use the same release of the game"
    )]
    Rules,
    /// A setup that this build of the game cannot read.
    #[error(
        "this build of the game cannot read the host's setup: use the same release of the game"
    )]
    Setup,
    /// Another match is played at this address.
    #[error("another match is hosted there now: ask for a new ticket")]
    OtherMatch,
    /// The invitation is not this match's.
    #[error("the ticket's invitation is not valid for this match: ask for a new ticket")]
    Invite,
    /// The ticket has expired.
    #[error("the ticket has expired: ask for a new ticket")]
    Expired,
    /// All seats are taken.
    #[error("all {seats} seats are taken")]
    Full {
        /// Seats of the match.
        seats: u8,
    },
    /// The match has begun.
    #[error("the match has begun")]
    Started,
    /// The match has no seat for this key.
    #[error("this identity has no seat in that match: use the one that it was played with")]
    NoSeat,
    /// This key signed two different batches for one turn of the match. The log holds the proof.
    #[error("this identity cheated in that match, as two signed batches prove: it may not rejoin")]
    Cheated,
    /// The worlds of this key have differed from those of a quorum twice in this match.
    #[error(
        "this identity's world has twice differed from the others' in that match: it may not rejoin"
    )]
    Desynced,
    /// This key is in the lobby already.
    #[error("a peer with this key is in the lobby already: use another identity")]
    AlreadyIn,
    /// Did not reveal its share of the seed in time.
    #[error("did not complete the start of the match in time")]
    TooSlow,
    /// The match is being reopened for its seats.
    #[error(
        "this match is being reopened: only players that recorded it can join, each with its own replay"
    )]
    Reopening,
    /// The match to be reopened still goes on.
    #[error("that match still goes on: rejoin it, or reopen it once all players have left")]
    GoesOn,
    /// A roster change had removed this peer before the match was lost.
    #[error(
        "the match had gone on without this identity: rejoin it once the others have reopened it"
    )]
    NotOfRoster,
    /// This peer recorded another history than the host.
    #[error("this peer's replay and the host's are not of one history")]
    OtherHistory,
    /// Broke the lobby's rules.
    #[error("broke the rules of the lobby: {0}")]
    Fault(Fault),
    /// The host's player removed this peer.
    #[error("the host removed this player from its lobby")]
    Removed,
    /// The host's player was asked, and did not let this peer in; or too many asked at once.
    #[error("the host did not let this player in: ask it for the ticket")]
    TurnedAway,
}

/// What a peer did that no correct peer does.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize,
)]
#[non_exhaustive]
pub enum Fault {
    /// Bytes that are no message.
    #[error("sent bytes that are no message")]
    Garbage,
    /// A message that has no place at this time.
    #[error("sent a message out of place")]
    OutOfPlace,
    /// A message or batch above its limit.
    #[error("sent more than the limits allow")]
    Oversize,
    /// A signature that does not hold.
    #[error("sent a signature that does not hold")]
    Signature,
    /// A batch for a turn that is over or lies too far ahead.
    #[error("sent a batch for a turn that is out of range")]
    WrongTurn,
    /// A batch with commands for another peer's seat.
    #[error("sent a command for another peer's seat")]
    WrongSeat,
    /// Two different batches for one turn.
    #[error("signed two different batches for one turn")]
    Equivocation,
    /// A reveal that does not match its commitment.
    #[error("revealed another share of the seed than it had committed to")]
    Reveal,
    /// More messages than the limits allow.
    #[error("sent too many messages")]
    Flood,
}

/// Where a match stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// Waiting for peers.
    Lobby,
    /// Building the world, or waiting for others to build theirs.
    Loading,
    /// Turns advance.
    Running,
    /// The next turn is due and its bundle incomplete.
    Stalled {
        /// The seats whose batches are missing.
        on: Vec<Seat>,
        /// For how long already.
        since: Duration,
    },
    /// The world lies behind and runs as fast as it can.
    CatchingUp {
        /// Turns still to execute.
        behind: u32,
    },
    /// Turns advance without ticks.
    Paused,
    /// Two worlds differ.
    Desynced,
    /// Over.
    Ended,
}

fn names(seats: &[SeatInfo]) -> String {
    let names: Vec<String> = seats
        .iter()
        .map(|info| format!("seat {} ({})", info.seat.0, info.name))
        .collect();
    names.join(", ")
}

fn signed_by(signers: &[SeatInfo]) -> String {
    match signers {
        [] => String::new(),
        signers => format!(", and that {} signed", names(signers)),
    }
}

fn seats_were(seats: &[Seat]) -> String {
    let numbers: Vec<String> = seats.iter().map(|seat| seat.0.to_string()).collect();
    match numbers.as_slice() {
        [number] => format!("seat {number} was"),
        numbers => format!("seats {} were", numbers.join(", ")),
    }
}

fn reported(report: &Option<PathBuf>) -> String {
    let told = report.as_ref();
    let told = told.map(|folder| format!("; the report is in {}", folder.display()));
    told.unwrap_or_default()
}
