//! The log: its records, their one encoding, and where they are kept.
//!
//! Wire catch-up and the replay file use these same bytes. [`Codec`] holds what a record leaves out because the
//! record before it says so: the turn's number, the plan, the pause.

mod codec;
mod continuation;
mod hash;
mod memory;
mod metering;
mod reopening;
mod terms;

pub use codec::{Codec, DecodeError};
pub(crate) use codec::{decode_change, decode_entries, encode_change, encode_entries};
pub use continuation::{Continuation, continued_hash};
pub(crate) use hash::Chain;
pub use hash::{end_signed_bytes, roster_hash, start_hash, start_signed_bytes, turn_hash};
pub use memory::Memory;
pub use metering::{Metered, Metering};
pub use reopening::{NewRun, Reopening};
pub use terms::{Absent, OnDesync, OnSlow, PauseBudget, Terms};

use crate::session::Batch;
use crate::session::roster::{Ballot, Value};
use crate::{Incarnation, LogHash, MatchId, PeerId, Plan, SeatInfo, TurnNumber};
use sim::{Checksum, Outcome, RulesId, Seat, SeatState, Seed};
use std::sync::Arc;
use std::time::Duration;

/// One record of the log.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// How the match began. The first record.
    Start(Arc<Start>),
    /// A turn. Follows the turn before it.
    Bundle(Bundle),
    /// All peers reported the same checksum.
    Checksum {
        /// Turns that their worlds had executed.
        turns: u32,
        /// Checksum of the worlds.
        checksum: Checksum,
    },
    /// Peers reported different checksums.
    Mismatch {
        /// Turns that their worlds had executed.
        turns: u32,
        /// What each peer reported, by index in the roster.
        checksums: Vec<(u8, Checksum)>,
    },
    /// A peer's newest signed batch: it attests the log hash that it names, and so all before it.
    Attest(SignedBatch),
    /// A snapshot of the world.
    Keyframe(Keyframe),
    /// The roster changed. Stands right before the first turn of the new epoch.
    Roster(RosterChange),
    /// One player went on alone from here. Stands right before its first turn.
    Continued(Arc<Continuation>),
    /// The match ended as intended. The last record.
    End(End),
}

/// How a match began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Version of wire and log.
    pub protocol: u16,
    /// The match.
    pub match_id: MatchId,
    /// The rules in force.
    pub rules: RulesId,
    /// The game's own setup, encoded.
    pub setup: Arc<[u8]>,
    /// The seed that commit and reveal gave.
    pub seed: Seed,
    /// What the host settled for all.
    pub terms: Terms,
    /// The peers, in the order of their lowest seats. Its order gives the peers their indices.
    pub roster: Vec<RosterPeer>,
    /// The build that wrote this, for information.
    pub build: String,
    /// Each roster peer's signature over [`start_signed_bytes`].
    pub signatures: Vec<[u8; 64]>,
}

impl Start {
    /// All seats, ascending.
    pub fn seats(&self) -> Vec<Seat> {
        let mut seats: Vec<Seat> = self
            .roster
            .iter()
            .flat_map(|peer| peer.seats.iter().copied())
            .collect();
        seats.sort_unstable();
        seats
    }

    /// The peer with this seat.
    pub fn peer_with(&self, seat: Seat) -> Option<&RosterPeer> {
        let mut roster = self.roster.iter();
        roster.find(|peer| peer.seats.contains(&seat))
    }

    /// All seats with their peers, ascending.
    pub fn seat_infos(&self) -> Vec<SeatInfo> {
        let of = |peer: &RosterPeer, seat: Seat| SeatInfo {
            seat,
            peer: peer.peer,
            name: peer.name.clone(),
        };
        let peers = self.roster.iter();
        let mut infos: Vec<SeatInfo> = peers
            .flat_map(|peer| peer.seats.iter().map(move |seat| of(peer, *seat)))
            .collect();
        infos.sort_by_key(|info| info.seat);
        infos
    }
}

/// What ended an epoch: a decided roster change, with the signed accepts that decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosterChange {
    /// The epoch that it ends; the first is 0.
    pub epoch: u32,
    /// The ballot in which it was decided.
    pub ballot: Ballot,
    /// The new roster, and where its epoch begins.
    pub value: Value,
    /// Who accepted, ascending, by index in the start's roster, with the signatures of
    /// [`accept_signed_bytes`](crate::session::roster::accept_signed_bytes).
    pub accepts: Vec<(u8, [u8; 64])>,
    /// That those who go for cheating did: one for each, ascending.
    pub proofs: Vec<Equivocation>,
    /// The match was reopened here after the processes of all its peers had died: then the accepts are signatures of the
    /// new runs, over [`Reopening::signed_bytes`].
    pub reopening: Option<Reopening>,
}

/// Two different batches that one run of one peer's process signed for one turn: no correct peer does. Anyone who has
/// the start can check it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equivocation(pub SignedBatch, pub SignedBatch);

impl Equivocation {
    /// Whose it is, by index in the start's roster; `None` where it proves nothing. `verify` tells whether a signature
    /// is a peer's for some bytes.
    pub fn holds(
        &self,
        start: &Start,
        verify: impl Fn(PeerId, &[u8], &[u8; 64]) -> bool,
    ) -> Option<u8> {
        let Equivocation(one, other) = self;
        let differ = one.peer == other.peer && one.content != other.content;
        let same_turn = differ && self.turn().is_some();
        let signed = same_turn
            && [one, other]
                .iter()
                .all(|batch| batch.is_signed_by(start, &verify));
        signed.then_some(one.peer)
    }

    /// The turn that both are for, if it is one.
    pub fn turn(&self) -> Option<TurnNumber> {
        let turn = |batch: &SignedBatch| Some(Batch::decode(&batch.content).ok()?.turn);
        turn(&self.0).filter(|of| turn(&self.1) == Some(*of))
    }
}

/// A peer of the roster at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosterPeer {
    /// Its key.
    pub peer: PeerId,
    /// The run of its process.
    pub incarnation: Incarnation,
    /// What it calls itself.
    pub name: String,
    /// Its seats, ascending.
    pub seats: Vec<Seat>,
    /// Its revealed share of the seed.
    pub share: [u8; 32],
}

/// What one turn executes: the effective content of all roster peers' batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The turn.
    pub turn: TurnNumber,
    /// The plan in force.
    pub plan: Plan,
    /// A paused turn steps no tick and holds no command.
    pub paused: bool,
    /// In seat order, and within a seat in the order of issue.
    pub entries: Vec<LogEntry>,
}

impl Bundle {
    /// Ticks to step.
    pub fn ticks(&self) -> u8 {
        if self.paused { 0 } else { self.plan.ticks }
    }
}

/// One entry of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The seat it comes from.
    pub seat: Seat,
    /// What it is.
    pub what: What,
}

/// What an entry of a bundle is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A command of the game, encoded. The `n`-th command of its seat in the log has the number `n`.
    Command(Arc<[u8]>),
    /// The seat changed hands.
    Seat(SeatState),
    /// Turns after this one are paused.
    Pause,
    /// Turns after this one run again.
    Resume,
    /// Public chat.
    Chat(String),
    /// The machine of the peer whose lowest seat this is needs so many sixteenths of a millisecond for a tick. Only
    /// where that is more than ticks of the start's length have to spare; see [`Metering`].
    Load(u16),
}

/// A snapshot of the world at a turn boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyframe {
    /// Turns that the world has executed.
    pub turns: u32,
    /// Ticks that it has stepped.
    pub ticks: u64,
    /// The plan in force.
    pub plan: Plan,
    /// Whether the next turn is paused.
    pub paused: bool,
    /// Hash of the log up to here.
    pub log_hash: LogHash,
    /// What [`sim::State::save`] wrote.
    pub snapshot: Arc<[u8]>,
}

/// The agreed end of a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Turns executed.
    pub turns: u32,
    /// Hash of the log.
    pub log_hash: LogHash,
    /// Checksum of the world after the last turn.
    pub checksum: Checksum,
    /// How it ended, where the world said so.
    pub outcome: Option<Outcome>,
    /// Signatures over [`end_signed_bytes`], by index in the roster.
    pub signatures: Vec<(u8, [u8; 64])>,
}

/// A batch as its peer signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedBatch {
    /// Index of the peer in the roster.
    pub peer: u8,
    /// The signed bytes; [`crate::session::Batch::decode`] reads them.
    pub content: Arc<[u8]>,
    /// The peer's signature, which also binds the match and the peer's incarnation.
    pub signature: [u8; 64],
}

/// A store that cannot keep the log any more. It keeps what it has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The disk refused a write.
    #[error("cannot write the replay: {0}")]
    Io(std::io::ErrorKind),
    /// More than the store's bound.
    #[error("the log is larger than the {limit} bytes allowed")]
    Full {
        /// The bound.
        limit: u64,
    },
    /// The records asked for are not kept.
    #[error("turn {0} is not kept")]
    NotKept(TurnNumber),
}

/// Where one peer keeps its log. [`Memory`] here; the file is `replay::Recorder`.
///
/// Nothing here may wait: the match goes on while a store writes.
pub trait LogStore: Send {
    /// Appends a record.
    ///
    /// # Errors
    /// [`StoreError`], once; later records are dropped silently.
    fn append(&mut self, record: &Record) -> Result<(), StoreError>;

    /// Takes back every turn from `turns` on, and what was appended after it.
    ///
    /// # Errors
    /// As [`append`](Self::append); [`StoreError::NotKept`] where the turns are too far back.
    fn undo(&mut self, turns: u32) -> Result<(), StoreError>;

    /// Match time between two keyframes that the store wants, if it wants any.
    fn keyframe_every(&self) -> Option<Duration>;

    /// Start, and the bundles from turn `from` on, up to about `max_bytes`.
    ///
    /// # Errors
    /// [`StoreError::NotKept`], or the disk's error.
    fn read(&mut self, from: TurnNumber, max_bytes: usize) -> Result<Vec<Record>, StoreError>;

    /// Writes what is buffered and ends the log. Called once, when the match is over; may wait.
    ///
    /// # Errors
    /// [`StoreError`] when the last records could not be written.
    fn close(&mut self) -> Result<(), StoreError>;

    /// The file that holds the log, if one does.
    fn path(&self) -> Option<&std::path::Path> {
        None
    }
}
