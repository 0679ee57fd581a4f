//! Log hashes and signatures, computed anew from the documented formats.

use ed25519_dalek::{Signature, VerifyingKey};
use lockstep::log::{Bundle, End, Equivocation, RosterChange, SignedBatch, Start, What};
use lockstep::session::Batch;
use lockstep::{Incarnation, LogHash, PROTOCOL, PeerId, Plan};

/// What a hash of the log is made of: parts of fixed width, or with their length before them.
struct Parts(blake3::Hasher);

impl Parts {
    fn of(context: &str) -> Self {
        Parts(blake3::Hasher::new_derive_key(context))
    }

    fn number(&mut self, number: impl Into<u32>) -> &mut Self {
        self.0.update(&number.into().to_le_bytes());
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u32).0.update(bytes);
        self
    }

    fn plan(&mut self, plan: &Plan) -> &mut Self {
        let [low, high] = plan.tick_ms.to_le_bytes();
        self.0.update(&[plan.ticks, plan.delay_turns, low, high]);
        self
    }

    fn hash(&self) -> LogHash {
        let mut hash = LogHash([0; 16]);
        self.0.finalize_xof().fill(&mut hash.0);
        hash
    }
}

/// The log's hash before its first turn.
pub fn after_start(start: &Start) -> LogHash {
    let mut parts = Parts::of("lockstep start 1");
    parts.number(start.protocol).bytes(&start.match_id.0);
    parts.bytes(&start.rules.0).bytes(&start.setup);
    parts.bytes(&start.seed.0).plan(&start.terms.plan);
    parts.number(start.terms.turn_limit.map_or(0, |turns| turns + 1));
    parts
        .number(start.terms.pauses.pauses)
        .number(start.terms.pauses.seconds);
    parts
        .number(start.terms.on_slow as u8)
        .number(start.terms.on_desync as u8);
    parts
        .number(start.terms.absent as u8)
        .number(start.roster.len() as u32);
    for peer in &start.roster {
        let seats: Vec<u8> = peer.seats.iter().map(|seat| seat.0).collect();
        parts.bytes(&peer.peer.0).bytes(&peer.incarnation.0);
        parts
            .bytes(peer.name.as_bytes())
            .bytes(&seats)
            .bytes(&peer.share);
    }
    parts.hash()
}

/// The log's hash after one turn more.
pub fn after_turn(before: LogHash, bundle: &Bundle) -> LogHash {
    let mut parts = Parts::of("lockstep turn 1");
    parts
        .bytes(&before.0)
        .number(bundle.turn.0)
        .plan(&bundle.plan);
    parts
        .number(bundle.paused)
        .number(bundle.entries.len() as u32);
    for entry in &bundle.entries {
        parts.number(entry.seat.0);
        match &entry.what {
            What::Command(bytes) => parts.number(0_u8).bytes(bytes),
            What::Seat(state) => parts.number(1_u8).number(*state as u8),
            What::Pause => parts.number(2_u8),
            What::Resume => parts.number(3_u8),
            What::Chat(text) => parts.number(4_u8).bytes(text.as_bytes()),
            What::Load(load) => parts.number(5_u8).number(*load),
        };
    }
    parts.hash()
}

/// What takes the place of the log's hash before the first turn of a new epoch.
pub fn after_change(before: LogHash, change: &RosterChange) -> LogHash {
    let (value, mut parts) = (&change.value, Parts::of("lockstep roster 1"));
    parts.bytes(&before.0).number(change.epoch);
    parts.number(value.roster.0).number(value.cut);
    parts.number(value.odd.0).number(value.left.0);
    if let Some(joins) = value.joins {
        parts.number(joins.peer).bytes(&joins.incarnation.0);
    }
    if let Some(at_cut) = &value.log_hash {
        parts.number(value.cheats.0).bytes(&at_cut.0);
    }
    reopening_parts(&mut parts, change);
    parts.hash()
}

fn reopening_parts(parts: &mut Parts, change: &RosterChange) {
    let Some(reopening) = &change.reopening else {
        return;
    };
    parts
        .bytes(&reopening.log_hash.0)
        .number(reopening.runs.len() as u32);
    for run in &reopening.runs {
        parts
            .number(run.peer)
            .bytes(&run.incarnation.0)
            .number(run.held);
    }
}

/// Whether `signature` is this peer's, by the key or by the keyed hash that stands in for it.
fn is_by(peer: PeerId, bytes: &[u8], signature: &[u8; 64]) -> bool {
    let (keyed, rest) = signature.split_at(32);
    let by_key = || {
        let key = VerifyingKey::from_bytes(&peer.0);
        key.is_ok_and(|key| {
            key.verify_strict(bytes, &Signature::from_bytes(signature))
                .is_ok()
        })
    };
    keyed == blake3::keyed_hash(&peer.0, bytes).as_bytes() && rest == [0; 32] || by_key()
}

fn head(what: &str, match_id: &[u8], incarnation: &[u8]) -> Vec<u8> {
    [
        what.as_bytes(),
        &PROTOCOL.to_le_bytes(),
        match_id,
        incarnation,
    ]
    .concat()
}

/// Whether all peers of the roster have signed the start.
pub fn start_is_signed(start: &Start) -> bool {
    let bytes = head("lockstep start", &after_start(start).0, &[]);
    let peers = start.roster.iter().zip(&start.signatures);
    start.roster.len() == start.signatures.len()
        && peers
            .clone()
            .all(|(peer, signature)| is_by(peer.peer, &bytes, signature))
}

/// The peers, by index, whose signatures under a roster change hold. `runs` are the incarnations in force.
pub fn accepted_by(start: &Start, runs: &[Incarnation], change: &RosterChange) -> Vec<u8> {
    let bytes = |peer: u8| match &change.reopening {
        Some(_) => {
            let mut parts = Parts::of("lockstep reopening 1");
            parts.bytes(&start.match_id.0);
            parts.number(change.epoch).number(change.value.cut);
            reopening_parts(&mut parts, change);
            head("lockstep reopen", parts.0.finalize().as_bytes(), &[])
        }
        None => {
            // The vote's variant is the fourth.
            let vote = (change.epoch, 3_u8, change.ballot, change.value);
            let vote = postcard::to_allocvec(&vote).expect("a vote in memory encodes");
            let run = runs[usize::from(peer)];
            [head("lockstep roster", &start.match_id.0, &run.0), vote].concat()
        }
    };
    let accepts = change.accepts.iter();
    let holds = accepts.filter(|(peer, signature)| {
        let place = start.roster.get(usize::from(*peer));
        place.is_some_and(|place| is_by(place.peer, &bytes(*peer), signature))
    });
    holds.map(|(peer, _)| *peer).collect()
}

/// What a batch says, where its signature is that of a run of its peer among these, by index.
pub fn batch_of(start: &Start, runs: &[Incarnation], batch: &SignedBatch) -> Option<Batch> {
    let at = usize::from(batch.peer);
    let head = head("lockstep batch", &start.match_id.0, &runs.get(at)?.0);
    let signed = [&head[..], &batch.content].concat();
    let holds = is_by(start.roster[at].peer, &signed, &batch.signature);
    Batch::decode(&batch.content).ok().filter(|_| holds)
}

/// The peer, by index, that two batches for one turn prove to have signed two histories.
pub fn proved(start: &Start, runs: &[Incarnation], proof: &Equivocation) -> Option<u8> {
    let Equivocation(one, other) = proof;
    let of = |batch| Some(batch_of(start, runs, batch)?.turn);
    let differ = one.peer == other.peer && one.content != other.content;
    (differ && of(one).is_some() && of(one) == of(other)).then_some(one.peer)
}

/// How many peers have signed an end, each once.
pub fn end_signers(start: &Start, end: &End) -> usize {
    let mut bytes = head("lockstep end", &[], &[]);
    bytes.extend_from_slice(&end.turns.to_le_bytes());
    bytes.extend_from_slice(&end.log_hash.0);
    bytes.extend_from_slice(&end.checksum.0.to_le_bytes());
    bytes.extend_from_slice(&match end.outcome.map(|outcome| outcome.winner) {
        None => [0, 0],
        Some(None) => [1, 0],
        Some(Some(seat)) => [2, seat.0],
    });
    let mut signers: Vec<u8> = end.signatures.iter().map(|(peer, _)| *peer).collect();
    signers.retain(|peer| {
        let place = start.roster.get(usize::from(*peer));
        let mut own = end.signatures.iter().filter(|(of, _)| of == peer);
        place.is_some_and(|place| own.any(|(_, signature)| is_by(place.peer, &bytes, signature)))
    });
    signers.dedup();
    signers.len()
}
