//! Every decoder under hostile bytes, on stable: the targets of `tests/fuzz` with inputs from proptest.
//!
//! A failure prints the shrunk input, and stores it beside this file to run first from then on.
//! `PROPTEST_CASES=100000 cargo test -p tests --test pure decoders` searches longer.

use lockstep::log::{LogEntry, What};
use lockstep::session::Batch;
use lockstep::sign::{KeyedHash, Signer};
use lockstep::{Incarnation, LogHash, MatchId, PeerId, Ticket, TurnNumber};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use sim::{Checksum, Seat};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use tests::targets::{self, Scene, Signatures};

/// Changes some bytes: inputs close to valid encodings get deepest into a decoder.
fn changed(bytes: Vec<u8>, changes: &[(usize, u8)], keep: usize) -> Vec<u8> {
    let mut bytes = bytes;
    for (at, with) in changes {
        let length = bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(at % length) {
            *byte ^= with;
        }
    }
    bytes.truncate(keep);
    bytes
}

fn changes() -> impl Strategy<Value = Vec<(usize, u8)>> {
    prop::collection::vec((any::<usize>(), 1..=255_u8), 0..4)
}

fn entry() -> impl Strategy<Value = LogEntry> {
    let what = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..400).prop_map(|bytes| What::Command(bytes.into())),
        1 => Just(What::Pause),
        1 => Just(What::Resume),
        1 => "[a-z ]{0,40}".prop_map(What::Chat),
    ];
    (0..4_u8, what).prop_map(|(seat, what)| LogEntry {
        seat: Seat(seat),
        what,
    })
}

fn batch() -> impl Strategy<Value = Batch> {
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<bool>());
    let lists = (
        prop::collection::vec(entry(), 0..5),
        prop::collection::vec(any::<u32>(), 0..10),
        prop::collection::vec(any::<i16>(), 0..16),
    );
    (numbers, lists).prop_map(
        |((turn, executed, complete, leaving), (mut entries, checksums, way_ms))| {
            entries.sort_by_key(|entry| entry.seat);
            let mut seats: Vec<Seat> = entries
                .iter()
                .filter(|entry| matches!(entry.what, What::Command(_)))
                .map(|entry| entry.seat)
                .collect();
            seats.dedup();
            Batch {
                turn: TurnNumber(turn),
                first_numbers: seats.iter().map(|seat| u32::from(seat.0) * 1_000).collect(),
                entries,
                executed,
                checksums: checksums.into_iter().map(Checksum).collect(),
                complete,
                log_hash: LogHash([3; 16]),
                load: match way_ms.len() {
                    0 => 0,
                    _ => executed as u16 % (lockstep::session::MAX_LOAD + 1),
                },
                way_ms,
                leaving,
                epoch: turn % 3,
                snapshot: None,
            }
        },
    )
}

/// The parts of the session target's input: channel with receiver and link, length, bytes.
fn parts() -> impl Strategy<Value = Vec<u8>> {
    let random = prop::collection::vec(any::<u8>(), 0..200);
    let control =
        (0..20_u8, prop::collection::vec(any::<u8>(), 0..150)).prop_map(|(kind, rest)| {
            let mut bytes = vec![kind];
            bytes.extend(rest);
            bytes
        });
    let packet = (
        packet_head(),
        prop::collection::vec((0..3_u8, batch()), 0..3),
    )
        .prop_map(|(mut bytes, batches)| {
            for (peer, batch) in batches {
                let signer = KeyedHash::new(PeerId([2; 32]));
                let signed = batch.seal(
                    peer,
                    MatchId([4; 16]),
                    Incarnation([0; 16]),
                    &signer as &dyn Signer,
                );
                bytes.push(peer);
                let length = signed.content.len();
                bytes.extend(
                    [length as u8 | 0x80, (length >> 7) as u8]
                        .iter()
                        .take(if length < 128 { 1 } else { 2 }),
                );
                if length < 128 {
                    *bytes.last_mut().expect("a length was just added") = length as u8;
                }
                bytes.extend_from_slice(&signed.content);
                bytes.extend_from_slice(&signed.signature);
            }
            bytes
        });
    let part = prop_oneof![
        random.prop_map(|bytes| (0_u8, bytes)),
        control.prop_map(|bytes| (2_u8, bytes)),
        packet.prop_map(|bytes| (0_u8, bytes)),
        prop::collection::vec(any::<u8>(), 0..50).prop_map(|bytes| (3_u8, bytes)),
    ];
    // The newest link or the one before, and both receivers or one.
    let part = (0..6_u8, part);
    prop::collection::vec(part, 0..30).prop_map(|parts| {
        let mut bytes = Vec::new();
        for (place, (channel, part)) in parts {
            bytes.push(channel + 4 * place);
            bytes.extend_from_slice(&(part.len() as u16).to_le_bytes());
            bytes.extend(part);
        }
        bytes
    })
}

/// Bytes of the largest batch, without its signature.
const MAX_CONTENT: usize = 700 - 64;

/// The head of a turn packet of two peers: kind, sequence, echo, missing, heard, and holdings.
fn packet_head() -> impl Strategy<Value = Vec<u8>> {
    (
        0..128_u8,
        0..128_u8,
        0..=64_u8,
        any::<u16>(),
        (0..4_u8, 0..128_u8, 0..128_u8),
    )
        .prop_map(|(sequence, echo, missing, heard, (peers, base, more))| {
            let mut bytes = vec![0, sequence, echo];
            if echo > 0 {
                bytes.push(1);
            }
            bytes.push(missing);
            bytes.extend(heard.to_le_bytes());
            bytes.extend([peers, base]);
            bytes.extend((0..peers).map(|at| if at == 0 { 0 } else { more }));
            bytes
        })
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn batches(batch in batch(), changes in changes(), keep in 0..2_000_usize, noise in prop::collection::vec(any::<u8>(), 0..100)) {
        let mut bytes = Vec::new();
        batch.encode(&mut bytes);
        match bytes.len() <= MAX_CONTENT {
            true => prop_assert_eq!(Batch::decode(&bytes), Ok(batch)),
            false => prop_assert!(Batch::decode(&bytes).is_err()),
        }
        targets::batch(&changed(bytes, &changes, keep));
        targets::batch(&noise);
    }

    #[test]
    fn logs(log in log(), changes in changes(), keep in 0..20_000_usize, noise in prop::collection::vec(any::<u8>(), 0..100)) {
        targets::records(&log);
        targets::replay(&noise);
        targets::records(&changed(log, &changes, keep));
        targets::records(&noise);
    }

    #[test]
    fn tickets(secret in any::<[u8; 16]>(), addresses in prop::collection::vec("[a-z0-9.:]{1,40}", 0..5), expires_unix_s in any::<u64>(), changes in changes(), noise in ".{0,200}") {
        let ticket = Ticket {
            match_id: MatchId([1; 16]),
            secret,
            host: PeerId([2; 32]),
            addresses,
            expires_unix_s,
        };
        let text = ticket.to_string();
        prop_assert_eq!(text.parse(), Ok(ticket));
        targets::ticket(&changed(text.into_bytes(), &changes, 10_000));
        targets::ticket(noise.as_bytes());
    }

    #[test]
    fn impairments(delay in any::<u64>(), loss in any::<u32>(), noise in "(delay|jitter|loss|dup|reorder|burst|rate|seed|=|,|ms|s|%|-|[0-9.]){0,20}") {
        targets::impairment(format!("delay={delay}ms,loss={loss}%").as_bytes());
        targets::impairment(noise.as_bytes());
    }
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn sessions(parts in parts(), changes in changes(), scene in prop::sample::select(&Scene::ALL[..]), signatures in prop::sample::select(&[Signatures::Checked, Signatures::OfHostilePeer][..])) {
        let first = [targets::first_byte(scene, signatures)];
        targets::session(&[&first, &parts[..]].concat());
        let parts = changed(parts, &changes, usize::MAX);
        targets::session(&[&first, &parts[..]].concat());
    }
}

type Target = fn(&[u8]);

/// A target, and its inputs.
type Inputs = (Target, Vec<Vec<u8>>);

/// By target: the inputs that are kept for fuzzing to begin with.
fn kept() -> BTreeMap<&'static str, Inputs> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let of = |(name, target): (&'static str, Target)| {
        let files = std::fs::read_dir(folder.join("seeds").join(name));
        let files = files.unwrap_or_else(|error| panic!("no inputs for {name}: {error}"));
        let read = |file: std::io::Result<std::fs::DirEntry>| std::fs::read(file?.path());
        let inputs: std::io::Result<Vec<_>> = files.map(read).collect();
        (name, (target, inputs.expect("inputs that are there")))
    };
    let inputs: BTreeMap<_, _> = TARGETS.into_iter().map(of).collect();
    let programs = std::fs::read_dir(folder.join("fuzz_targets")).expect("a folder");
    assert_eq!(
        programs.count(),
        inputs.len(),
        "targets, and their programs"
    );
    inputs
}

const TARGETS: [(&str, Target); 11] = [
    ("announcement", targets::announcement),
    ("batch", targets::batch),
    ("contacts", targets::contacts),
    ("frame", targets::frame),
    ("impairment", targets::impairment),
    ("items", targets::items),
    ("records", targets::records),
    ("replay", targets::replay),
    ("session", targets::session),
    ("ticket", targets::ticket),
    ("world", targets::world),
];

#[test]
fn kept_inputs_are_small_and_change_nothing() {
    for (name, (target, inputs)) in kept() {
        assert!(!inputs.is_empty(), "{name} begins with nothing");
        let bytes: usize = inputs.iter().map(Vec::len).sum();
        assert!(bytes < 100_000, "{name}: {bytes} bytes");
        inputs.iter().for_each(|input| target(input));
    }
}

proptest! {
    #![proptest_config(config(256))]

    /// Real inputs with a few bytes changed, for every target.
    #[test]
    fn changed_inputs_change_nothing(place in any::<prop::sample::Index>(), changes in changes(), keep in any::<prop::sample::Index>(), cut: bool) {
        for (target, inputs) in KEPT.values() {
            let input = place.get(inputs).clone();
            let keep = if cut { keep.index(input.len() + 1) } else { input.len() };
            target(&changed(input, &changes, keep));
        }
    }
}

static KEPT: LazyLock<BTreeMap<&'static str, Inputs>> = LazyLock::new(kept);

/// A small log of every kind of turn, in a recording's encoding.
fn log() -> impl Strategy<Value = Vec<u8>> {
    let turns = prop::collection::vec((prop::collection::vec(entry(), 0..3), any::<bool>()), 0..10);
    turns.prop_map(|turns| {
        use lockstep::log::{Bundle, Codec, Record, RosterPeer, Start, Terms};
        let mut bytes = Vec::new();
        let mut codec = Codec::default();
        let plan = lockstep::Plan::default();
        let start = Start {
            protocol: lockstep::PROTOCOL,
            match_id: MatchId([1; 16]),
            rules: sim::RulesId([2; 16]),
            setup: vec![3; 5].into(),
            seed: sim::Seed([4; 32]),
            terms: Terms {
                turn_limit: Some(9),
                ..Terms::default()
            },
            roster: vec![RosterPeer {
                peer: PeerId([5; 32]),
                incarnation: Incarnation([6; 16]),
                name: "one".to_owned(),
                seats: vec![Seat(0), Seat(1)],
                share: [7; 32],
            }],
            build: "test".to_owned(),
            signatures: vec![[8; 64]],
        };
        codec.encode(&Record::Start(start.into()), &mut bytes);
        for (turn, (mut entries, paused)) in (0..).zip(turns) {
            entries.sort_by_key(|entry| entry.seat);
            let turn = TurnNumber(turn);
            let bundle = Bundle {
                turn,
                plan,
                paused,
                entries,
            };
            codec.encode(&Record::Bundle(bundle), &mut bytes);
            let checksum = Checksum(turn.0);
            codec.encode(
                &Record::Checksum {
                    turns: turn.0 + 1,
                    checksum,
                },
                &mut bytes,
            );
        }
        bytes
    })
}

fn config(ordinary: u32) -> ProptestConfig {
    let wanted = std::env::var("PROPTEST_CASES").ok();
    let kept = FileFailurePersistence::Direct("tests/decoders.regressions");
    ProptestConfig {
        cases: wanted
            .and_then(|cases| cases.parse().ok())
            .unwrap_or(ordinary),
        failure_persistence: Some(Box::new(kept)),
        ..ProptestConfig::default()
    }
}
