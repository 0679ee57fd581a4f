//! The most memory that readers take, for files made to take much of it.

use crate::fixture::{self, Coins};
use crate::harness::{self, SHAPES, Shape};
use crate::verify::{Options, verify};
use crate::{Player, Reader, Speed, WorldAt, cli, diff};
use lockstep::Status;
use lockstep::log::{Record, Start};
use lockstep::source::{Answer, TurnSource as _, Work};
use sim::Checksum;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn start() -> Arc<Start> {
    match fixture::play(1).records.into_iter().next() {
        Some(Record::Start(start)) => start,
        _ => panic!("a log begins with its start"),
    }
}

fn packed_world(bytes: usize) -> Vec<u8> {
    harness::packed_world(&start(), bytes)
}

fn printed(name: &str, path: &Path) {
    let path = path.to_str().expect("a path in text");
    let (mut out, mut err) = (std::io::sink(), std::io::sink());
    cli::run_to::<Coins>([name, "--json", path], &mut out, &mut err, false);
}

type Read = fn(&Path);

/// All that reads a file as a whole.
const READERS: [(&str, Read); 10] = [
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
    ("export", |path| printed("export", path)),
    ("player", |path| {
        let mut player = Player::new(Reader::open(path).unwrap());
        player.set_speed(Speed::UNLIMITED);
        let (checksum, outcome, step) = (Checksum(0), None, Duration::ZERO);
        while let Some(work) = player.next(Duration::ZERO) {
            let answer = match work {
                Work::Execute(_) => Answer::Executed {
                    checksum,
                    outcome,
                    step,
                },
                _ => Answer::Ready { checksum },
            };
            player.answer(answer).unwrap();
            // A game takes them in each frame.
            player.events();
        }
        assert_eq!(player.status(), Status::Ended);
    }),
];

/// The most that each reader takes for this file.
fn peaks(name: &str, file: &[u8]) -> Vec<(&'static str, u64)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("worst.replay");
    std::fs::write(&path, file).unwrap();
    let peak = |(reader, read): (&'static str, Read)| {
        let taken = allocation_counter::measure(|| read(&path)).bytes_max;
        eprintln!(
            "{name:<14} {reader:<10} {:>6.1} MB of {:.1}",
            taken as f64 / 1e6,
            file.len() as f64 / 1e6
        );
        (reader, taken)
    };
    READERS.map(peak).into()
}

/// Fails where a reader takes more than twice the file and a constant part.
fn assert_small(name: &str, file: &[u8], constant: u64) -> Vec<(&'static str, u64)> {
    let most = file.len() as u64 * 2 + constant;
    let peaks = peaks(name, file);
    let mut over = peaks.iter().filter(|(_, taken)| *taken > most).peekable();
    let any = over.peek().is_some();
    assert!(
        !any,
        "{name}: {:?}, of {most} bytes allowed",
        over.collect::<Vec<_>>()
    );
    peaks
}

#[test]
fn no_reader_takes_more_than_twice_a_file_and_a_constant() {
    // Allocations are counted by thread.
    let next = AtomicUsize::new(0);
    let checked = || {
        while let Some(shape) = SHAPES.get(next.fetch_add(1, Ordering::Relaxed)) {
            assert_bound(shape);
        }
    };
    std::thread::scope(|scope| {
        let threads = [scope.spawn(checked), scope.spawn(checked)];
        for thread in threads {
            thread.join().expect("readers within the bound");
        }
    });
}

fn assert_bound(shape: &Shape) {
    let name = shape.name;
    if !shape.is_uncapped {
        assert_small(name, &shape.file(&start(), 1 << 20), 40 << 20);
        return;
    }
    let [small, large] = [256, 1_024].map(|kib| shape.file(&start(), kib << 10));
    let less = assert_small(name, &small, 40 << 20);
    let read = Reader::from_bytes(large.clone()).unwrap().valid_bytes();
    assert!(read > 512 << 10, "{name}: {read} bytes are read");
    let most = (large.len() - small.len()) as u64 * 2;
    let both = less.into_iter().zip(peaks(name, &large));
    let grown = both.map(|((reader, less), (_, more))| (reader, more.saturating_sub(less)));
    let over: Vec<_> = grown.filter(|(_, grown)| *grown > most).collect();
    assert!(over.is_empty(), "{name}: {over:?}, of {most} bytes allowed");
}

#[test]
fn a_file_of_all_that_readers_keep_is_read_within_its_bound() {
    let file = harness::everything(&start(), 1_000_000);
    let read = Reader::from_bytes(file.clone()).unwrap().valid_bytes();
    assert_eq!(read, file.len() as u64, "the file is read");
    assert_small("all", &file, 64 << 20);
}

#[test]
fn the_longest_match_to_rejoin_takes_less_than_twice_its_file() {
    let idle = SHAPES[0];
    assert_small(idle.name, &idle.file(&start(), 999_000), 2 << 20);
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
