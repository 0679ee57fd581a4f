//! Recordings of a match of three, for tests.

use super::recovered_log::RecoveredLog;
use crate::log::fixture::{self, signer};
use crate::log::{Accepted, AgreedStart, Document as _, EncodedLog, Start, start_hash};
use crate::session::rejoin::RejoinContext;
use crate::{Incarnation, MatchId, Rejoin};
use sim::RulesId;
use std::sync::Arc;

pub(super) const PEERS: u8 = 3;

/// As the match began.
pub(super) fn start() -> Start {
    let mut start = Arc::unwrap_or_clone(fixture::start(PEERS));
    let agreed = AgreedStart(start_hash(&start));
    start.signatures = (0..PEERS).map(|peer| agreed.sign(&signer(peer))).collect();
    start
}

/// What a run has recorded of so many turns.
pub(super) fn context(turns: u32) -> RejoinContext {
    let mut own = EncodedLog::new(Arc::new(start()));
    let turns = fixture::turns(turns);
    turns.iter().for_each(|record| own.append(record));
    let from = Rejoin {
        match_id: MatchId([7; 16]),
        contacts: Vec::new(),
        player: None,
        log: Some(own),
        keyframe: None,
        accepted: None,
        signed: None,
        attests: Vec::new(),
        accepts_other_history: false,
    };
    RejoinContext::of(from, Vec::new(), Box::new(|_| Some(RulesId([9; 16]))))
}

/// The log of the peer at a place that has recorded so many turns of a log, and has accepted that the first two peers go on
/// behind `cut` turns of it.
pub(super) fn log_with_accept(peer: u8, turns: u32, cut: u32) -> RecoveredLog {
    let mut context = context(turns);
    let hash = log(peer, cut).hash_after(cut).expect("it is as long");
    let ahead = (turns..cut).map(fixture::bundle);
    context.from.accepted = Some(Accepted {
        turns: ahead.collect(),
        ..fixture::accepted_at(0, cut, hash)
    });
    RecoveredLog::open(&signer(peer), &context).expect("it was recorded")
}

/// The log of the peer at a place that has recorded so many turns.
pub(super) fn log(peer: u8, turns: u32) -> RecoveredLog {
    RecoveredLog::open(&signer(peer), &context(turns)).expect("it was recorded")
}

/// A new run of a peer's process.
pub(super) fn run(peer: u8) -> Incarnation {
    Incarnation([100 + peer; 16])
}
