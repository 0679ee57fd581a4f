//! The most memory that a viewer takes, for files made to take much of it.

use super::*;
use crate::window::viewer::Opened;
use crate::world::Setup;
use lockstep::log::{RosterPeer, Start, Terms};
use lockstep::{Incarnation, MatchId, PeerId};
use replay::harness::{self, SHAPES};
use sim::{Seed, Simulation as _};
use std::path::Path;

fn start(setup: &Setup) -> Start {
    Start {
        protocol: lockstep::PROTOCOL,
        match_id: MatchId([3; 16]),
        rules: World::rules(setup),
        setup: postcard::to_allocvec(setup).unwrap().into(),
        seed: Seed([5; 32]),
        terms: Terms::default(),
        roster: vec![RosterPeer {
            peer: PeerId([1; 32]),
            incarnation: Incarnation([1; 16]),
            name: "ada".to_owned(),
            seats: vec![Seat(0)],
            share: [1; 32],
        }],
        build: "test".to_owned(),
        signatures: vec![[0; 64]],
    }
}

/// A film as the page makes it: the window holds the file, too, until the page has taken it.
fn film_of_page(file: &[u8]) -> Film {
    let dropped = file.to_vec();
    let bytes = dropped.clone();
    drop(dropped);
    Film::held(Path::new("worst.replay"), bytes)
}

/// The most that a viewer takes at once that opens a film, surveys it to its end, and seeks while it keeps the most
/// snapshots.
fn peak(film: impl FnOnce() -> Film) -> u64 {
    let view = || {
        let Opened { film, mut reel, .. } = Opened::of(film()).unwrap();
        let mut survey = Survey::in_slices(&film, &reel);
        // However fast this machine is, it takes as many snapshots as it keeps.
        survey.shared.apart.store(1, Ordering::Relaxed);
        let mut is_full = false;
        while survey.is_running() {
            survey.poll(&mut reel);
            if survey.kept().1 > MOST_BYTES / 10 * 9 && !std::mem::replace(&mut is_full, true) {
                seek_to_the_end(&mut reel);
            }
        }
        assert_eq!(survey.trouble, None);
        reel.seek_turn(0);
        seek_to_the_end(&mut reel);
    };
    allocation_counter::measure(view).bytes_max
}

fn seek_to_the_end(reel: &mut Reel) {
    reel.seek_turn(reel.turns());
    while !reel.pursue(now() + Duration::from_secs(1)) {}
    assert!(reel.is_over());
}

/// Fails where a viewer takes more than twice the file and 64 MiB.
fn assert_small(name: &str, bytes: usize, taken: u64) {
    let most = bytes as u64 * 2 + (64 << 20);
    eprintln!(
        "{name:<14} {:>6.1} MB of {:.1}",
        taken as f64 / 1e6,
        most as f64 / 1e6
    );
    assert!(taken <= most, "{name}: {taken} of {most} bytes");
}

#[test]
fn a_viewer_takes_less_than_twice_a_file_and_a_constant() {
    let start = start(&Setup::default());
    for shape in SHAPES {
        let file = shape.file(&start, 64 << 10);
        assert_small(shape.name, file.len(), peak(|| film_of_page(&file)));
    }
}

#[test]
fn a_file_of_all_that_viewers_keep_stays_within_the_bound() {
    let file = harness::everything(&start(&Setup::default()), 100_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("worst.replay");
    std::fs::write(&path, &file).unwrap();
    assert_small("all, in a page", file.len(), peak(|| film_of_page(&file)));
    assert_small("all, in a file", file.len(), peak(|| Film::file(&path)));
}

#[test]
fn a_viewer_grows_by_at_most_twice_what_a_file_grows_by() {
    let start = start(&Setup::default());
    let prepared = |file: &[u8]| {
        let prepare = || {
            let Opened { film, reel, .. } = Opened::of(film_of_page(file)).unwrap();
            assert_eq!(Survey::in_slices(&film, &reel).trouble, None);
            let read = reel.reader().valid_bytes();
            assert!(read > file.len() as u64 / 2, "{read} bytes are read");
        };
        allocation_counter::measure(prepare).bytes_max
    };
    for shape in SHAPES.iter().filter(|shape| shape.is_uncapped) {
        let [small, large] = [1, 8].map(|mib| shape.file(&start, mib << 20));
        let most = (large.len() - small.len()) as u64 * 2;
        let (less, more) = (prepared(&small), prepared(&large));
        let name = shape.name;
        eprintln!(
            "{name:<14} {:>6.1} MB, then {:.1} MB",
            less as f64 / 1e6,
            more as f64 / 1e6
        );
        let grown = more.saturating_sub(less);
        assert!(
            grown <= most,
            "{name}: {less} to {more}, by more than {most} bytes"
        );
    }
}

#[test]
fn snapshots_that_a_hidden_window_does_not_take_are_few() {
    let file = SHAPES[0].file(&start(&Setup::default()), 4 << 10);
    let film = film_of_page(&file);
    let reel = Reel::of(film.open().unwrap()).unwrap();
    let survey = Survey::idle(reel.ticks());
    survey.shared.apart.store(0, Ordering::Relaxed);
    let mut run = Run::of(film.open_beside(reel.reader()), reel.ticks()).unwrap();
    let mut waiting = Vec::new();
    let mut emit = |piece| {
        if let Piece::Snapshot(_, _, snapshot) = piece {
            waiting.push(snapshot.len());
        }
        true
    };
    while run.work(&survey.shared, &mut emit) {}
    let (bytes, last) = (waiting.iter().sum::<usize>(), waiting.last());
    let before_last = bytes - last.expect("some are taken");
    assert!(before_last < MOST_WAITING_BYTES, "{bytes} bytes wait");
}
