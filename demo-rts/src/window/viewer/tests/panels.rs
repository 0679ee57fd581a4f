//! What the panels of the viewer tell: trouble, times, and the list of events.

use super::*;
use crate::world::Tile;

#[test]
fn trouble_is_shown_for_a_while_whenever_it_is_found() {
    let recorded = record(40);
    let mut viewer = viewer(&recorded);
    viewer.going = Going::Still;
    let mut canvas = Canvas::new();
    let mut text_at = |viewer: &mut Viewer, seconds| {
        let input = Input {
            size: SIZES[0],
            now: Duration::from_secs(seconds),
            ..Input::default()
        };
        canvas.begin(SIZES[0], 1.0);
        viewer.frame(&input, &mut canvas);
        check_texts(&canvas);
        let texts = canvas.texts().iter().map(|text| text.text.as_str());
        texts.collect::<Vec<_>>().join(" ")
    };
    let note = "After 12 turns the world's checksum differs";
    let brief = "differs after 12 turns";
    // The window is open for long already.
    assert!(!text_at(&mut viewer, 100).contains(brief));
    viewer.survey.found.differs_after = Some(12);
    for seconds in [101, 120] {
        let text = text_at(&mut viewer, seconds);
        assert!(text.contains(note) && text.contains(brief), "{text}");
    }
    let text = text_at(&mut viewer, 122);
    assert!(!text.contains(note) && text.contains(brief), "{text}");
}

#[test]
fn events_of_one_tick_are_chosen_one_by_one() {
    let recorded = record(40);
    let mut viewer = viewer(&recorded);
    let mut canvas = Canvas::new();
    canvas.begin(SIZES[0], 1.0);
    let none = Modifiers::default();
    let shift = Modifiers {
        shift: true,
        ..none
    };
    frame(&mut viewer, &mut canvas, &[KeyCode::Space], none);
    let event = |(tick, x)| Event {
        tick,
        what: EventKind::Defeated(Seat(1)),
        at: Some(Tile::new(x, 40)),
    };
    let events = [(10, 40), (40, 41), (40, 42), (40, 43), (60, 44)];
    viewer.survey.found.events = events.map(event).to_vec();
    frame(&mut viewer, &mut canvas, &[KeyCode::E], none);
    // The list is the last widget.
    frame(&mut viewer, &mut canvas, &[KeyCode::Tab], shift);
    let down = events.map(|event| (KeyCode::Down, event));
    let mut up = events.map(|event| (KeyCode::Up, event));
    up.reverse();
    for (key, (tick, x)) in down.into_iter().chain(up.into_iter().skip(1)) {
        frame(&mut viewer, &mut canvas, &[key], none);
        let camera = viewer.camera.as_ref().expect("the world is built");
        let at = (viewer.tick(), camera.centre);
        let wanted = (tick, place_of(Tile::new(x, 40).centre()));
        assert_eq!(at, wanted, "{key:?}");
    }
}

#[test]
fn a_slower_pace_does_not_change_match_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("slow.replay");
    let mut log = Recorder::create(&path).unwrap();
    let start = fixture::start(Terms::default(), ["ada", "bob"]);
    log.append(&Record::Start(Arc::new(start))).unwrap();
    let usual = Plan::default();
    for turn in 0..20 {
        let tick_ms = usual.tick_ms * if turn < 10 { 1 } else { 2 };
        let bundle = Bundle {
            turn: TurnNumber(turn),
            plan: Plan { tick_ms, ..usual },
            paused: false,
            entries: Vec::new(),
        };
        log.append(&Record::Bundle(bundle)).unwrap();
    }
    log.close().unwrap();
    drop(log);
    let reel = Reel::open(&path).unwrap();
    assert_eq!(reel.time_of(reel.ticks()), usual.turn() * 20);
}

#[test]
fn a_match_that_was_read_without_samples_promises_no_graphs() {
    let recorded = record(3);
    let mut viewer = viewer(&recorded);
    viewer.survey.found.samples.truncate(1);
    let mut canvas = Canvas::new();
    canvas.begin(SIZES[0], 1.0);
    let none = Modifiers::default();
    // The panel, and the picture of it while the panel is closed.
    for keys in [&[KeyCode::G][..], &[KeyCode::G, KeyCode::F3]] {
        for key in keys {
            frame(&mut viewer, &mut canvas, &[*key], none);
        }
        frame(&mut viewer, &mut canvas, &[], none);
        let texts = canvas.texts().iter().map(|text| text.text.as_str());
        let texts = texts.collect::<Vec<_>>().join(" ");
        assert!(texts.contains("Too little for graphs"), "{keys:?}: {texts}");
        assert!(!texts.contains("Reading the match …"), "{keys:?}: {texts}");
    }
}
