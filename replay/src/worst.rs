//! The most memory that readers take, for files made to take much of it.

use crate::fixture::{self, Coins};
use crate::format::{self, KeyframeHead};
use crate::segment::{Encoder, Kind};
use crate::verify::{Options, verify};
use crate::{Reader, WorldAt, cli, diff};
use lockstep::log::{
    Bundle, Codec, Continuation, Keyframe, LogEntry, Record, Reopening, RosterChange, RosterPeer,
    What,
};
use lockstep::session::roster::{Ballot, Peers, Value};
use lockstep::session::{Batch, Lead};
use lockstep::sign::Ed25519;
use lockstep::{Incarnation, LogHash, MatchId, PeerId, Plan, TurnNumber};
use sim::{Checksum, Seat};
use std::path::Path;
use std::sync::Arc;

/// Sixteen peers, of a seat each.
fn start() -> Record {
    let Some(Record::Start(start)) = fixture::play(1).records.into_iter().next() else {
        panic!("a log begins with its start");
    };
    let mut start = Arc::unwrap_or_clone(start);
    let place = start.roster[0].clone();
    let places = (0..16).map(|at| RosterPeer {
        peer: PeerId([at + 1; 32]),
        seats: vec![Seat(at)],
        ..place.clone()
    });
    start.roster = places.collect();
    start.signatures = vec![start.signatures[0]; 16];
    Record::Start(Arc::new(start))
}

fn begun() -> (Codec, Encoder, Vec<u8>) {
    let (mut codec, mut encoder) = (Codec::default(), Encoder::new());
    let (mut content, mut file) = (Vec::new(), format::header());
    codec.encode(&start(), &mut content);
    encoder.item(Kind::Records, &content, &mut file);
    encoder.seal(&mut file);
    (codec, encoder, file)
}

/// A file of so many bytes, with these records in as few items as can be.
fn filled(bytes: usize, record: impl Fn(u32) -> Record) -> Vec<u8> {
    let (mut codec, mut encoder, mut file) = begun();
    let mut records = (0..).map(record);
    while file.len() < bytes {
        let mut content = Vec::new();
        let room = (format::MAX_RECORDS_BYTES as usize).min(bytes - file.len() + 1);
        while content.len() + 2_000 < room || content.is_empty() {
            let record = records.next().expect("there are always more");
            codec.encode(&record, &mut content);
        }
        encoder.item(Kind::Records, &content, &mut file);
    }
    file
}

fn turn(at: u32, tick_ms: u16, paused: bool, entries: Vec<LogEntry>) -> Record {
    Record::Bundle(Bundle {
        turn: TurnNumber(at),
        plan: Plan {
            tick_ms,
            ..Plan::default()
        },
        paused,
        entries,
    })
}

fn entry(what: What) -> Vec<LogEntry> {
    let seat = Seat(15);
    vec![LogEntry { seat, what }]
}

/// All peers but the first go, each cause has some, or all are back.
fn change(at: u32) -> RosterChange {
    let some = |from, until| Peers::first(until).without(Peers::first(from));
    let mut value = Value::of(Peers::first(if at.is_multiple_of(2) { 1 } else { 16 }), 0);
    (value.cheats, value.minority, value.left) = (some(1, 4), some(4, 8), some(8, 12));
    RosterChange {
        epoch: at,
        ballot: Ballot { round: 1, peer: 0 },
        value,
        accepts: Vec::new(),
        proofs: Vec::new(),
        reopening: None,
    }
}

fn branch(at: u32) -> RosterChange {
    RosterChange {
        reopening: Some(Reopening {
            log_hash: LogHash([0; 16]),
            runs: Vec::new(),
            branch: true,
        }),
        ..change(at)
    }
}

fn continuation(at: u32) -> Record {
    Record::Continued(Arc::new(Continuation {
        epoch: at,
        turns: 0,
        log_hash: LogHash([0; 16]),
        peer: PeerId([1; 32]),
        incarnation: Incarnation([1; 16]),
        name: String::new(),
        seat: Seat(0),
        plan: Plan::default(),
        turn_limit: None,
        build: String::new(),
        signature: [0; 64],
    }))
}

/// A batch with as many checksums as one may have, or almost.
fn batch() -> Record {
    let batch = Batch {
        turn: TurnNumber(2),
        entries: Vec::new(),
        first_numbers: Vec::new(),
        executed: 0,
        checksums: vec![Checksum(1); 8],
        complete: 0,
        log_hash: LogHash([0; 16]),
        slack_ms: Vec::new(),
        load: 0,
        leaving: false,
        epoch: 0,
        snapshot: None,
    };
    let run = Incarnation([1; 16]);
    let signed = batch.seal(1, MatchId([1; 16]), run, &Ed25519::new(&[1; 32]));
    assert!(Batch::decode(&signed.content).is_ok());
    Record::Attest(signed)
}

/// Turns of a command, each an item of its own.
fn short_turns(bytes: usize) -> Vec<u8> {
    let (_, mut encoder, mut file) = begun();
    while file.len() < bytes {
        encoder.item(Kind::Turn, &[1, 7], &mut file);
        if encoder.is_full() {
            encoder.seal(&mut file);
        }
    }
    file
}

/// A turn for each keyframe, and then these, which hold nothing.
fn keyframes(bytes: usize) -> Vec<u8> {
    let (mut codec, mut encoder, mut file) = begun();
    let mut content = Vec::new();
    for _ in 0..bytes / 16 {
        let bundle = codec.clone().next_bundle(Vec::new());
        codec.encode(
            &Record::Bundle(bundle.expect("behind a start")),
            &mut content,
        );
    }
    encoder.item(Kind::Records, &content, &mut file);
    encoder.seal(&mut file);
    let mut previous = 0;
    for turns in 1.. {
        if file.len() >= bytes {
            break;
        }
        let mut content = Vec::new();
        let head = KeyframeHead {
            turns,
            previous,
            unpacked: 1,
        };
        head.put(&mut content);
        previous = file.len() as u64;
        encoder.item(Kind::Keyframe, &content, &mut file);
        encoder.seal(&mut file);
    }
    file
}

fn worst(bytes: usize) -> Vec<(&'static str, Vec<u8>)> {
    let idle = |at| turn(at, 50, false, Vec::new());
    let command = |at: u32| entry(What::Command(Arc::new([at as u8])));
    let load = |at: u32| entry(What::Load(16_000 - (at % 1_000) as u16));
    let checksum = |at: u32| Record::Checksum {
        turns: 0,
        checksum: Checksum(at),
    };
    let mismatch = |at: u32| match at % 16 {
        0 => Record::Roster(change(at)),
        _ => Record::Mismatch {
            turns: 0,
            checksums: vec![(0, Checksum(1)), (at as u8 % 16, Checksum(2))],
        },
    };
    let lead = Lead {
        ms: -1,
        usual_ms: 200,
        stands_out: true,
    };
    let leads = |turns: u32| Record::Leads {
        turns,
        leads: (0..16).map(|peer| (peer, lead)).collect(),
    };
    let batch = batch();
    vec![
        ("idle turns", filled(bytes, idle)),
        ("short turns", short_turns(bytes)),
        (
            "commands",
            filled(bytes, |at| turn(at, 50, false, command(at))),
        ),
        ("loads", filled(bytes, |at| turn(at, 50, false, load(at)))),
        (
            "plans",
            filled(bytes, |at| {
                turn(at, 50 + (at % 2) as u16, false, Vec::new())
            }),
        ),
        (
            "pauses",
            filled(bytes, |at| turn(at, 50, at % 2 == 1, Vec::new())),
        ),
        ("rosters", filled(bytes, |at| Record::Roster(change(at)))),
        ("branches", filled(bytes, |at| Record::Roster(branch(at)))),
        ("continuations", filled(bytes, continuation)),
        ("checksums", filled(bytes, checksum)),
        ("mismatches", filled(bytes, mismatch)),
        ("batches", filled(bytes, |_| batch.clone())),
        ("leads", filled(bytes, leads)),
        ("keyframes", keyframes(bytes)),
    ]
}

fn printed(name: &str, path: &Path) {
    let path = path.to_str().expect("a path in text");
    let (mut out, mut err) = (std::io::sink(), std::io::sink());
    cli::run_to::<Coins>([name, "--json", path], &mut out, &mut err, false);
}

type Read = fn(&Path);

/// All that reads a file as a whole.
const READERS: [(&str, Read); 8] = [
    ("records", |path| {
        let mut reader = Reader::open(path).unwrap();
        assert!(reader.records().all(|record| record.is_ok()));
    }),
    ("checksums", |path| {
        Reader::open(path).unwrap().checksums().unwrap();
    }),
    ("verify", |path| {
        let options = Options {
            signature: |_, _, _| true,
            ..Options::default()
        };
        verify::<Coins>(&mut Reader::open(path).unwrap(), &options, |_| {}).unwrap();
    }),
    ("diff", |path| {
        let [mut left, mut right] = [path, path].map(|path| Reader::open(path).unwrap());
        diff::diff(&mut left, &mut right).unwrap();
    }),
    ("reopen", |path| drop(crate::reopen(path))),
    ("moment", |path| drop(WorldAt::<Coins>::open(path, None))),
    ("info", |path| printed("info", path)),
    ("stats", |path| printed("stats", path)),
];

/// Fails where a reader takes more than twice the file and a constant part.
fn assert_small(name: &str, file: &[u8], constant: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("worst.replay");
    std::fs::write(&path, file).unwrap();
    let most = file.len() as u64 * 2 + constant;
    let mut over = Vec::new();
    for (reader, read) in READERS {
        let taken = allocation_counter::measure(|| read(&path)).bytes_max;
        eprintln!(
            "{name:<14} {reader:<10} {:>6.1} MB of {:.1}",
            taken as f64 / 1e6,
            most as f64 / 1e6
        );
        if taken > most {
            over.push((reader, taken));
        }
    }
    assert!(over.is_empty(), "{name}: {over:?}, of {most} bytes allowed");
}

#[test]
fn no_reader_takes_more_than_twice_a_file_and_a_constant() {
    for (name, file) in worst(1 << 20) {
        assert_small(name, &file, 40 << 20);
    }
}

#[test]
fn the_longest_match_to_rejoin_takes_less_than_twice_its_file() {
    let (idle, most) = (|at| turn(at, 50, false, Vec::new()), 999_000);
    assert_small("idle turns", &filled(most, idle), 2 << 20);
}

/// A turn, and a keyframe of zeros that belongs to no log.
fn packed_world(bytes: usize) -> Vec<u8> {
    let (mut codec, mut encoder, mut file) = begun();
    let (mut turn, mut record) = (Vec::new(), Vec::new());
    let bundle = codec.clone().next_bundle(Vec::new());
    codec.encode(&Record::Bundle(bundle.expect("behind a start")), &mut turn);
    encoder.item(Kind::Records, &turn, &mut file);
    encoder.seal(&mut file);
    let keyframe = Record::Keyframe(Keyframe {
        turns: 1,
        ticks: 4,
        plan: Plan::default(),
        paused: false,
        log_hash: LogHash([0; 16]),
        snapshot: vec![0; bytes].into(),
    });
    Codec::default().encode(&keyframe, &mut record);
    let mut content = Vec::new();
    let head = KeyframeHead {
        turns: 1,
        previous: 0,
        unpacked: record.len() as u64,
    };
    head.put(&mut content);
    content.extend(zstd::encode_all(&record[..], 3).expect("in memory"));
    encoder.item(Kind::Keyframe, &content, &mut file);
    encoder.seal(&mut file);
    file
}

#[test]
fn a_keyframe_takes_its_unpacked_length_once() {
    const MOST: usize = 32 << 20;
    let (longest, longer) = (packed_world(MOST), packed_world(MOST + (64 << 10)));
    let refused = |file: &[u8]| {
        let mut reader = Reader::from_bytes(file.to_vec()).expect("a replay");
        let at = reader.keyframes()[0];
        let mut refused = None;
        let taken = allocation_counter::measure(|| refused = reader.keyframe(&at).err());
        let refused = refused.expect("of another log").to_string();
        (refused, taken.bytes_max)
    };
    let (why, taken) = refused(&longest);
    assert!(why.contains("log"), "{why}");
    let most = MOST as u64 + (10 << 20);
    assert!(taken < most, "{taken} of {most}");
    let (why, taken) = refused(&longer);
    assert!(why.contains("33619"), "{why}");
    assert!(taken < 2 << 20, "{taken}");
}

#[test]
fn a_keyframe_that_is_too_long_is_counted_and_compared_with_no_world() {
    let verified = |bytes: usize| {
        let mut reader = Reader::from_bytes(packed_world(bytes)).expect("a replay");
        let options = Options {
            signature: |_, _, _| true,
            ..Options::default()
        };
        verify::<Coins>(&mut reader, &options, |_| {}).expect("it is read")
    };
    let longer = verified((32 << 20) + (64 << 10));
    assert_eq!((longer.keyframes, longer.keyframes_unread), (0, 1));
    assert!(longer.wrong.is_none(), "{:?}", longer.wrong);
    let fits = verified(32 << 20);
    assert!(fits.wrong.is_some(), "it belongs to another log");
}

#[test]
fn a_file_with_the_longest_world_is_read_within_its_bound() {
    assert_small("a world", &packed_world(32 << 20), 64 << 20);
}
