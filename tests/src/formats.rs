//! Log hashes and signatures, computed anew from the documented formats.

mod log;

pub use log::Log;

use ed25519_dalek::{Signature, VerifyingKey};
use lockstep::log::{
    Bundle, End, Equivocation, LogEntry, Reopening, RosterChange, SignedBatch, Start, What,
};
use lockstep::session::Batch;
use lockstep::{Incarnation, PROTOCOL, Plan};
use sim::Seat;
use std::collections::BTreeSet;

/// A hash of the log.
pub type Hash = [u8; 16];

/// The parts of a hash: numbers of four bytes, and bytes with their length before them.
#[derive(Default)]
struct Parts(Vec<u8>);

impl Parts {
    fn numbers<const N: usize>(&mut self, numbers: [u32; N]) -> &mut Self {
        self.0.extend(numbers.map(u32::to_le_bytes).as_flattened());
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.numbers([bytes.len() as u32]).0.extend(bytes);
        self
    }

    fn plan(&mut self, plan: &Plan) -> &mut Self {
        let [low, high] = plan.tick_ms.to_le_bytes();
        self.0.extend([plan.ticks, plan.delay_turns, low, high]);
        self
    }

    fn reopening(&mut self, of: &Reopening) {
        self.bytes(&of.log_hash.0).numbers([of.runs.len() as u32]);
        for run in &of.runs {
            self.numbers([run.peer.into()]).bytes(&run.incarnation.0);
            self.numbers([run.held.into()]);
        }
    }

    fn hash<const N: usize>(&self, context: &str) -> [u8; N] {
        let mut hash = [0; N];
        let mut hasher = blake3::Hasher::new_derive_key(context);
        hasher.update(&self.0).finalize_xof().fill(&mut hash);
        hash
    }
}

/// The log's hash before its first turn.
pub fn after_start(start: &Start) -> Hash {
    let (pauses, mut parts) = (start.terms.pauses, Parts::default());
    let limit = start.terms.turn_limit.map_or(0, |turns| turns + 1);
    parts.numbers([start.protocol.into()]);
    parts.bytes(&start.match_id.0).bytes(&start.rules.0);
    parts.bytes(&start.setup).bytes(&start.seed.0);
    parts
        .plan(&start.terms.plan)
        .numbers([start.terms.adaptive.into(), limit]);
    parts.numbers([pauses.pauses.into(), pauses.seconds.into()]);
    parts.numbers([start.terms.on_slow as u32, start.terms.on_desync as u32]);
    parts.numbers([start.terms.absent as u32, start.roster.len() as u32]);
    for of in &start.roster {
        let seats: Vec<u8> = of.seats.iter().map(|seat| seat.0).collect();
        parts.bytes(&of.peer.0).bytes(&of.incarnation.0);
        parts.bytes(of.name.as_bytes()).bytes(&seats);
        parts.bytes(&of.share);
    }
    parts.hash("lockstep start 1")
}

/// The log's hash after one turn more.
pub fn after_turn(before: &Hash, bundle: &Bundle) -> Hash {
    let mut parts = Parts::default();
    parts.bytes(before).numbers([bundle.turn.0]);
    parts.plan(&bundle.plan).numbers([bundle.paused.into()]);
    parts.numbers([bundle.entries.len() as u32]);
    for LogEntry { seat, what } in &bundle.entries {
        let parts = parts.numbers([seat.0.into()]);
        match what {
            What::Command(bytes) => parts.numbers([0]).bytes(bytes),
            What::Seat(state) => parts.numbers([1, *state as u32]),
            What::Pause => parts.numbers([2]),
            What::Resume => parts.numbers([3]),
            What::Chat(text) => parts.numbers([4]).bytes(text.as_bytes()),
            What::Load(load) => parts.numbers([5, (*load).into()]),
            What::Way { from, ms } => parts.numbers([6, from.0.into(), (*ms).into()]),
            // No log has this hash, so the judge reports the first log that holds such an entry.
            _ => parts.numbers([u32::MAX]),
        };
    }
    parts.hash("lockstep turn 1")
}

/// The log's hash before the first turn of a new epoch.
pub fn after_change(before: &Hash, change: &RosterChange) -> Hash {
    let (value, mut parts) = (&change.value, Parts::default());
    parts.bytes(before).numbers([change.epoch]);
    parts.numbers([value.roster.0.into(), value.cut]);
    parts.numbers([value.minority.0.into(), value.left.0.into()]);
    if let Some(of) = value.joins {
        parts.numbers([of.peer.into()]).bytes(&of.incarnation.0);
    }
    if let Some(hash) = value.log_hash {
        parts.numbers([value.cheats.0.into()]).bytes(&hash.0);
    }
    change.reopening.iter().for_each(|of| parts.reopening(of));
    parts.hash("lockstep roster 1")
}

/// The peers that have signed the start.
pub fn start_signers(log: &Log, start: &Start) -> BTreeSet<usize> {
    let by: Vec<_> = (0..).zip(start.signatures.clone()).collect();
    signers(log, &by, |_| head("lockstep start", &[&after_start(start)]))
}

/// The peers whose signatures under a log's next roster change hold, as their newest runs.
pub fn accepted_by(log: &Log, change: &RosterChange) -> Option<BTreeSet<usize>> {
    let (mut parts, match_id) = (Parts::default(), &log.start.as_ref()?.match_id.0);
    parts.bytes(match_id);
    parts.numbers([change.epoch, change.value.cut]);
    change.reopening.iter().for_each(|of| parts.reopening(of));
    let reopening: [u8; 32] = parts.hash("lockstep reopening 1");
    // The vote's variant is the fourth.
    let vote = (change.epoch, 3_u8, change.ballot, change.value);
    let vote = postcard::to_allocvec(&vote).expect("a vote in memory encodes");
    Some(signers(log, &change.accepts, |place| {
        let newest = log.runs.iter().rfind(|(of, _)| *of == place);
        let run = newest.map_or(&[][..], |(_, run)| &run.0);
        match change.reopening {
            Some(_) => head("lockstep reopen", &[&reopening]),
            None => head("lockstep roster", &[match_id, run, &vote]),
        }
    }))
}

/// A batch, and the run of its peer that signed it, if the log names that run.
pub fn batch_of(log: &Log, batch: &SignedBatch) -> Option<(Incarnation, Batch)> {
    let (start, by) = (log.start.as_ref()?, [(batch.peer, batch.signature)]);
    let mut runs = log.runs.iter().rev().filter(|(of, _)| *of == batch.peer);
    let (_, run) = runs.find(|(_, run)| {
        let parts = [&start.match_id.0[..], &run.0, &batch.content];
        !signers(log, &by, |_| head("lockstep batch", &parts)).is_empty()
    })?;
    Some((*run, Batch::decode(&batch.content).ok()?))
}

/// The place that signed two histories, as two batches of one run for one turn prove.
pub fn proved(log: &Log, Equivocation(one, other): &Equivocation) -> Option<u8> {
    let of = |batch| batch_of(log, batch).map(|(run, said)| (run, said.turn));
    let alike = of(one).is_some() && of(one) == of(other) && one.peer == other.peer;
    (alike && one.content != other.content).then_some(one.peer)
}

/// The peers that have signed an end.
pub fn end_signers(log: &Log, end: &End) -> BTreeSet<usize> {
    let [turns, checksum] = [end.turns, end.checksum.0].map(u32::to_le_bytes);
    let by_winner = |winner: Option<Seat>| winner.map_or([1, 0], |seat| [2, seat.0]);
    let outcome = end.outcome.map_or([0, 0], |of| by_winner(of.winner));
    let parts = [&turns[..], &end.log_hash.0, &checksum, &outcome];
    signers(log, &end.signatures, |_| head("lockstep end", &parts))
}

/// The signed bytes: the purpose, the protocol, and the parts.
fn head(what: &str, parts: &[&[u8]]) -> Vec<u8> {
    [what.as_bytes(), &PROTOCOL.to_le_bytes(), &parts.concat()].concat()
}

/// The peers whose signatures hold: by their keys, or by the keyed hash that stands in for them.
fn signers(log: &Log, by: &[(u8, [u8; 64])], signed: impl Fn(u8) -> Vec<u8>) -> BTreeSet<usize> {
    let holds = |(place, signature): &(u8, [u8; 64])| {
        let key = log.start.as_ref()?.roster.get(usize::from(*place))?.peer.0;
        let (bytes, ed25519) = (signed(*place), Signature::from_bytes(signature));
        let keyed = [*blake3::keyed_hash(&key, &bytes).as_bytes(), [0; 32]];
        let verifies = |key: VerifyingKey| key.verify_strict(&bytes, &ed25519).is_ok();
        let is_keyed = keyed.as_flattened() == signature;
        let holds = is_keyed || VerifyingKey::from_bytes(&key).is_ok_and(verifies);
        holds.then_some(log.epochs[0].1[usize::from(*place)])
    };
    by.iter().filter_map(holds).collect()
}
