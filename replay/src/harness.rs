//! Files made to take much memory, for tests of their readers.

use crate::budget::{MOST_KEYFRAMES, MOST_MISMATCHES, MOST_PACES, MOST_ROSTERS};
use crate::format::{self, KeyframeHead};
use crate::segment::{Encoder, Kind};
use lockstep::log::{
    Bundle, Codec, Continuation, Keyframe, LogEntry, Record, Reopening, RosterChange, RosterPeer,
    Start, What,
};
use lockstep::session::roster::{Ballot, Peers, Value};
use lockstep::session::{Batch, Lead};
use lockstep::sign::Ed25519;
use lockstep::{Incarnation, LogHash, MatchId, PeerId, Plan, TurnNumber};
use sim::{Checksum, Seat};
use std::sync::Arc;

/// A kind of file, of any length.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The records that fill it.
    pub name: &'static str,
    /// Whether a file may hold any number of them, so that all of it is read. Claims about worlds are capped: readers keep
    /// so many at a time, and list their checksums.
    pub is_uncapped: bool,
    fill: Fill,
}

impl Shape {
    /// A file of so many bytes. Its match is that of `start`, but of [`PEERS`] peers.
    pub fn file(&self, start: &Start, bytes: usize) -> Vec<u8> {
        (self.fill)(start, bytes)
    }
}

/// Peers of each file, of a seat each.
pub const PEERS: u8 = 16;

/// One shape for each kind of record that a file may hold many of.
pub const SHAPES: [Shape; 15] = [
    uncapped("idle turns", |start, bytes| {
        filled(start, bytes, |at| turn(at, 50, false, Vec::new()))
    }),
    uncapped("short turns", short_turns),
    uncapped("commands", |start, bytes| {
        filled(start, bytes, |at| {
            let command = What::Command(Arc::new([at as u8]));
            turn(at, 50, false, entry(command))
        })
    }),
    uncapped("loads", |start, bytes| {
        filled(start, bytes, |at| {
            let load = What::Load(16_000 - (at % 1_000) as u16);
            turn(at, 50, false, entry(load))
        })
    }),
    uncapped("chat", |start, bytes| {
        filled(start, bytes, |at| {
            let text = What::Chat("good luck".repeat(20));
            turn(at, 50, false, entry(text))
        })
    }),
    capped("plans", |start, bytes| {
        filled(start, bytes, |at| {
            turn(at, 50 + (at % 2) as u16, false, Vec::new())
        })
    }),
    capped("pauses", |start, bytes| {
        filled(start, bytes, |at| turn(at, 50, at % 2 == 1, Vec::new()))
    }),
    capped("rosters", |start, bytes| {
        filled(start, bytes, |at| Record::Roster(change(at)))
    }),
    capped("branches", |start, bytes| {
        filled(start, bytes, |at| Record::Roster(branch(at)))
    }),
    capped("continuations", |start, bytes| {
        filled(start, bytes, continuation)
    }),
    capped("checksums", |start, bytes| {
        filled(start, bytes, |at| Record::Checksum {
            turns: 0,
            checksum: Checksum(at),
        })
    }),
    capped("mismatches", |start, bytes| {
        filled(start, bytes, |at| match at % 16 {
            0 => Record::Roster(change(at)),
            _ => Record::Mismatch {
                turns: 0,
                checksums: vec![(0, Checksum(1)), (at as u8 % 16, Checksum(2))],
            },
        })
    }),
    capped("batches", |start, bytes| {
        let batch = batch();
        filled(start, bytes, |_| batch.clone())
    }),
    uncapped("leads", |start, bytes| {
        let lead = Lead {
            ms: -1,
            usual_ms: 200,
            stands_out: true,
        };
        filled(start, bytes, |turns| Record::Leads {
            turns,
            leads: (0..PEERS).map(|peer| (peer, lead)).collect(),
        })
    }),
    capped("keyframes", keyframes),
];

type Fill = fn(&Start, usize) -> Vec<u8>;

const fn uncapped(name: &'static str, fill: Fill) -> Shape {
    Shape {
        name,
        is_uncapped: true,
        fill,
    }
}

const fn capped(name: &'static str, fill: Fill) -> Shape {
    Shape {
        name,
        is_uncapped: false,
        fill,
    }
}

/// The start of a match of more peers.
fn start_of(start: &Start) -> Record {
    let mut start = start.clone();
    let place = start.roster[0].clone();
    let places = (0..PEERS).map(|at| RosterPeer {
        peer: PeerId([at + 1; 32]),
        seats: vec![Seat(at)],
        ..place.clone()
    });
    start.roster = places.collect();
    start.signatures = vec![start.signatures[0]; usize::from(PEERS)];
    Record::Start(Arc::new(start))
}

fn begun(start: &Start) -> (Codec, Encoder, Vec<u8>) {
    let (mut codec, mut encoder) = (Codec::default(), Encoder::new());
    let (mut content, mut file) = (Vec::new(), format::header());
    codec.encode(&start_of(start), &mut content);
    encoder.item(Kind::Records, &content, &mut file);
    encoder.seal(&mut file);
    (codec, encoder, file)
}

/// A file of so many bytes, with these records in as few items as can be.
fn filled(start: &Start, bytes: usize, record: impl Fn(u32) -> Record) -> Vec<u8> {
    let (mut codec, mut encoder, mut file) = begun(start);
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
    let seat = Seat(PEERS - 1);
    vec![LogEntry { seat, what }]
}

/// All peers but the first go, each cause has some, or all are back.
pub(crate) fn change(at: u32) -> RosterChange {
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

pub(crate) fn continuation(at: u32) -> Record {
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
        way_ms: Vec::new(),
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
fn short_turns(start: &Start, bytes: usize) -> Vec<u8> {
    let (_, mut encoder, mut file) = begun(start);
    while file.len() < bytes {
        encoder.item(Kind::Turn, &[1, 7], &mut file);
        if encoder.is_full() {
            encoder.seal(&mut file);
        }
    }
    file
}

/// A turn for each keyframe, and then these, which hold nothing.
fn keyframes(start: &Start, bytes: usize) -> Vec<u8> {
    let (mut codec, mut encoder, mut file) = begun(start);
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
    put_keyframes(&mut encoder, &mut file, (bytes / 24) as u32);
    file
}

/// Appends so many keyframes that hold nothing. Returns the offset of the last one.
fn put_keyframes(encoder: &mut Encoder, file: &mut Vec<u8>, many: u32) -> u64 {
    let mut previous = 0;
    for turns in 1..=many {
        let mut content = Vec::new();
        let head = KeyframeHead {
            turns,
            previous,
            unpacked: 1,
        };
        head.put(&mut content);
        previous = file.len() as u64;
        encoder.item(Kind::Keyframe, &content, file);
        encoder.seal(file);
    }
    previous
}

/// A file with as many records of each capped kind as one may have, or almost, so many checksums, and a last keyframe
/// that takes the most memory.
pub fn everything(start: &Start, checksums: u32) -> Vec<u8> {
    let (mut codec, mut encoder, mut file) = begun(start);
    let mut put = |records: &mut dyn Iterator<Item = Record>| {
        let mut records = records.peekable();
        while records.peek().is_some() {
            let mut content = Vec::new();
            for record in records.by_ref().take(64) {
                codec.encode(&record, &mut content);
            }
            encoder.item(Kind::Records, &content, &mut file);
            if encoder.is_full() {
                encoder.seal(&mut file);
            }
        }
    };
    let turns = MOST_PACES - 64;
    put(&mut (0..turns).map(|at| turn(at, 50 + (at % 2) as u16, at % 4 > 1, Vec::new())));
    put(&mut (0..MOST_ROSTERS - 64).map(|at| {
        let mut change = change(at);
        change.value.cut = turns;
        Record::Roster(change)
    }));
    put(&mut (0..MOST_MISMATCHES - 64).map(|at| Record::Mismatch {
        turns: at,
        checksums: (0..PEERS).map(|peer| (peer, Checksum(at))).collect(),
    }));
    put(&mut (0..checksums).map(|at| Record::Checksum {
        turns: at % turns,
        checksum: Checksum(at),
    }));
    encoder.seal(&mut file);
    let last = put_keyframes(&mut encoder, &mut file, MOST_KEYFRAMES - 1);
    let head = |unpacked| KeyframeHead {
        turns,
        previous: last,
        unpacked,
    };
    put_world(&mut encoder, &mut file, head, 32 << 20);
    file
}

/// A file of a turn, and a keyframe of so many zeros that belongs to no log.
pub fn packed_world(start: &Start, bytes: usize) -> Vec<u8> {
    let (mut codec, mut encoder, mut file) = begun(start);
    let mut turn = Vec::new();
    let bundle = codec.clone().next_bundle(Vec::new());
    codec.encode(&Record::Bundle(bundle.expect("behind a start")), &mut turn);
    encoder.item(Kind::Records, &turn, &mut file);
    encoder.seal(&mut file);
    let head = |unpacked| KeyframeHead {
        turns: 1,
        previous: 0,
        unpacked,
    };
    put_world(&mut encoder, &mut file, head, bytes);
    file
}

/// Appends a keyframe of so many zeros that belongs to no log.
fn put_world(
    encoder: &mut Encoder,
    file: &mut Vec<u8>,
    head: impl Fn(u64) -> KeyframeHead,
    bytes: usize,
) {
    let mut record = Vec::new();
    let keyframe = Record::Keyframe(Keyframe {
        turns: head(0).turns,
        ticks: 4,
        plan: Plan::default(),
        paused: false,
        log_hash: LogHash([0; 16]),
        snapshot: vec![0; bytes].into(),
    });
    Codec::default().encode(&keyframe, &mut record);
    let mut content = Vec::new();
    head(record.len() as u64).put(&mut content);
    content.extend(zstd::encode_all(&record[..], 3).expect("in memory"));
    encoder.item(Kind::Keyframe, &content, file);
    encoder.seal(file);
}
