//! Findings of a survey, with and without a thread.

use super::*;
use lockstep::log::{LogStore as _, Record};
use replay::{Reader, Recorder};
use std::path::Path;

/// The first turns of a golden replay, rewritten with each record changed by `edit`.
fn film(folder: &Path, turns: u32, edit: impl Fn(&mut Record)) -> Film {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/duel.replay");
    let mut reader = Reader::open(&golden).unwrap();
    let path = folder.join("some.replay");
    let mut log = Recorder::create(&path).unwrap();
    for record in reader.records() {
        let mut record = record.unwrap();
        if matches!(&record, Record::Bundle(bundle) if bundle.turn.0 == turns) {
            break;
        }
        edit(&mut record);
        log.append(&record).unwrap();
    }
    log.close().unwrap();
    drop(log);
    Film::held(&path, std::fs::read(&path).unwrap())
}

fn run_out(mut survey: Survey, reel: &mut Reel) -> Survey {
    while survey.is_running() {
        survey.poll(reel);
    }
    assert_eq!(survey.trouble, None);
    survey
}

#[test]
fn slices_find_the_same_as_a_thread() {
    let folder = tempfile::tempdir().unwrap();
    let film = film(folder.path(), 2_400, |_| {});
    let mut reel = Reel::of(film.open().unwrap()).unwrap();
    let ticks = reel.ticks();
    let thread = run_out(Survey::begin(&film, &reel), &mut reel);
    let mut slices = Survey::in_slices(&film, &reel);
    slices.poll(&mut reel);
    let tick = slices.reached();
    assert!(
        slices.is_running() && tick < ticks,
        "a poll never waits: tick {tick} of {ticks}"
    );
    let slices = run_out(slices, &mut reel);
    assert!(thread.found.events.len() > 3 && thread.found.samples.len() > 3);
    assert_eq!(slices.found.seats, thread.found.seats);
    assert_eq!(slices.found.samples, thread.found.samples);
    assert_eq!(slices.found.events, thread.found.events);
    let recorded = film.open().unwrap().checksums().unwrap().len();
    assert!(recorded > 3, "{recorded}");
    for found in [&thread.found, &slices.found] {
        assert_eq!(found.agreed as usize, recorded);
        assert_eq!(found.differs_after, None);
    }
}

#[test]
fn a_differing_checksum_is_reported_with_its_turn() {
    let folder = tempfile::tempdir().unwrap();
    let whole = film(folder.path(), 400, |_| {});
    let checksums = whole.open().unwrap().checksums().unwrap();
    let (wrong_after, _) = checksums[checksums.len() / 2];
    std::fs::remove_file(whole.path()).unwrap();
    let film = film(folder.path(), 400, |record| match record {
        Record::Checksum { turns, checksum } if *turns == wrong_after => checksum.0 ^= 1,
        _ => {}
    });
    let mut reel = Reel::of(film.open().unwrap()).unwrap();
    let survey = run_out(Survey::begin(&film, &reel), &mut reel);
    assert_eq!(survey.found.differs_after, Some(wrong_after));
}
