//! The log: its records, their one encoding, and where they are kept.
//!
//! Wire catch-up and the replay file use these same bytes. [`Codec`] holds what a record leaves out because the
//! record before it says so: the turn's number, the plan, the pause.

mod accepted;
mod adaptive;
mod archive;
mod attested_log;
mod batch;
mod bundle;
mod chain;
mod codec;
mod continuation;
mod document;
mod encoded_log;
#[cfg(test)]
pub(crate) mod fixture;
mod hash;
mod head;
mod keyframe;
mod memory;
mod metering;
mod peers;
mod plans;
mod record;
mod reopening;
mod roster_change;
mod start;
mod store;
mod tail;
mod terms;
mod turn_fold;
mod value;
mod verified_log;

pub use crate::encoding::DecodeError;
pub use accepted::Accepted;
pub use adaptive::Way;
pub(crate) use archive::Archive;
pub(crate) use attested_log::AttestedLog;
pub(crate) use batch::seats_with_commands;
pub use batch::{Batch, Equivocation, SignedBatch};
// For the crates of this repository. It may change at any time.
#[doc(hidden)]
pub use batch::NO_WAY;
pub use bundle::{Bundle, LogEntry, What};
// For the crates of this repository. It may change at any time.
#[doc(hidden)]
pub use bundle::{MAX_LOAD, MAX_WAY};
pub(crate) use chain::Chain;
pub use codec::Codec;
pub use continuation::Continuation;
// For the crates of this repository. It may change at any time.
#[doc(hidden)]
pub use continuation::continued_hash;
// For the crates of this repository. It may change at any time.
#[doc(hidden)]
pub use document::{Document, Kind, Rule, SignatureSet, Signed};
pub(crate) use encoded_log::Cursor;
pub use encoded_log::{EncodedLog, LogPart};
// For the crates of this repository. It may change at any time.
#[doc(hidden)]
pub use hash::{roster_hash, turn_hash};
pub(crate) use head::{DoesNotFollow, Head};
pub use keyframe::{Keyframe, SnapshotHash};
pub use memory::Memory;
pub(crate) use metering::STALL_BUDGET;
// For the crates of this repository. It may change at any time.
#[doc(hidden)]
pub use metering::{Metered, Metering};
pub use peers::Peers;
pub use plans::{PlanChange, Plans};
// For the crates of this repository. It may change at any time.
#[doc(hidden)]
pub use peers::Voters;
pub use record::{End, Lead, Record};
pub use reopening::{NewRun, Reopening, SignedReopening};
pub use roster_change::{Accept, Gone, RosterCause, RosterChange};
pub(crate) use roster_change::{Vote, decode_change, encode_change};
// For the crates of this repository. It may change at any time.
#[doc(hidden)]
pub use start::{AgreedStart, start_hash};
pub use start::{RosterPeer, SeatInfo, Start};
pub use store::{LogStore, StoreError};
pub use tail::{Tail, TailChange};
pub use terms::{Absent, OnDesync, OnSlow, PauseBudget, Terms};
pub(crate) use turn_fold::{Formed, TurnFold};
pub use value::{Ballot, Readmission, Value};
// For the crates of this repository. It may change at any time.
#[doc(hidden)]
pub use value::decides;
pub(crate) use value::{EXCLUSIONS, bars};
pub(crate) use verified_log::VerifiedLog;
