//! A recorded match in the viewer: findings, seeks, pictures and files.

mod panels;

use super::events::{EventKind, Finder};
use super::reel::Step;
use super::*;
use crate::bot::{Bot, Level};
use crate::fixture;
use crate::window::graphs::Graph;
use crate::window::input::{Click, Modifiers, MouseButton, Press};
use crate::window::readability::{SIZES, check_texts, until};
use crate::world::{Effect, Id, Kind, Setup};
use lockstep::log::{Bundle, LogEntry, LogStore, Record, RosterChange, Terms, What};
use lockstep::session::roster::{Ballot, Peers, Value};
use lockstep::{Plan, TurnNumber};
use replay::Recorder;
use sim::{Checksum, SeatState, Seed, Simulation, State, Vec2};
use std::sync::Arc;

/// A recorded match of two bots without keyframes, and the world's checksums before each turn and tick, and after
/// the last.
struct Recorded {
    folder: tempfile::TempDir,
    path: PathBuf,
    checksums: Vec<Checksum>,
    ticks: Vec<Checksum>,
    actions: u32,
}

fn record(turns: u32) -> Recorded {
    record_where(turns, false)
}

/// Like [`record`]; the second peer may be removed before turn [`REMOVED_FROM`].
fn record_where(turns: u32, removed: bool) -> Recorded {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two bots.replay");
    let setup = Setup::default();
    let start = fixture::start(Terms::default(), ["ada <&> lovelace", "bob"]);
    let mut world = World::new(&sim::Start {
        setup,
        seed: start.seed,
        seats: start.seats(),
    });
    let mut bots = [0, 1].map(|seat| Bot::new(Seat(seat), Level::Hard));
    let mut log = Recorder::create(&path).unwrap();
    log.append(&Record::Start(Arc::new(start))).unwrap();
    let (mut checksums, mut actions) = (vec![world.checksum()], 0);
    let mut ticks = checksums.clone();
    for turn in 0..turns {
        if removed && turn == REMOVED_FROM {
            log.append(&Record::Roster(removal())).unwrap();
        }
        let mut entries = Vec::new();
        for bot in &mut bots {
            let seat = bot.seat();
            let commands = if bot.is_due(&world) {
                bot.think(&world)
            } else {
                Vec::new()
            };
            for command in commands {
                let bytes = postcard::to_allocvec(&command).unwrap();
                let what = What::Command(bytes.into());
                actions += u32::from(seat == Seat(0));
                entries.push(LogEntry { seat, what });
            }
            let more = match (turn, seat.0) {
                (7, 0) => Some(What::Chat("good luck".to_owned())),
                (20, 1) => Some(What::Seat(SeatState::Idle)),
                (30, 1) => Some(What::Seat(SeatState::Played)),
                (REMOVED_FROM, 1) if removed => Some(What::Seat(SeatState::Idle)),
                _ => None,
            };
            entries.extend(more.map(|what| LogEntry { seat, what }));
        }
        let bundle = Bundle {
            turn: TurnNumber(turn),
            plan: Plan::default(),
            paused: false,
            entries,
        };
        let (mut entries, _) = lockstep::world_entries(&bundle);
        for _ in 0..bundle.ticks() {
            world.step(&entries, &mut Vec::new());
            entries.clear();
            ticks.push(world.checksum());
        }
        checksums.push(world.checksum());
        log.append(&Record::Bundle(bundle)).unwrap();
    }
    log.close().unwrap();
    drop(log);
    Recorded {
        folder,
        path,
        checksums,
        ticks,
        actions,
    }
}

const REMOVED_FROM: u32 = 35;

/// Unsigned: a reader trusts the file.
fn removal() -> RosterChange {
    RosterChange {
        epoch: 0,
        ballot: Ballot { round: 1, peer: 0 },
        value: Value::of(Peers::first(1), REMOVED_FROM),
        accepts: Vec::new(),
        proofs: Vec::new(),
        reopening: None,
    }
}

fn far() -> Duration {
    now() + Duration::from_secs(60)
}

/// The survey, run to its end.
fn surveyed(path: &Path, reel: &mut Reel) -> Survey {
    let mut survey = Survey::begin(&Film::file(path), reel);
    until("the survey ends", || {
        survey.poll(reel);
        (!survey.is_running()).then_some(())
    });
    assert_eq!(survey.trouble, None);
    survey
}

fn viewer(recorded: &Recorded) -> Viewer {
    let mut viewer = Viewer::new(Opened::file(&recorded.path).unwrap(), Shared::default());
    viewer = viewer.with(MatchContext::default());
    viewer.settings.borrow_mut().edge_scroll = false;
    let mut reel = Reel::open(&recorded.path).unwrap();
    viewer.survey = surveyed(&recorded.path, &mut reel);
    viewer
}

fn frame(viewer: &mut Viewer, canvas: &mut Canvas, keys: &[KeyCode], with: Modifiers) -> Next {
    let press = |key: &KeyCode| Press {
        key: *key,
        with,
        repeat: false,
    };
    let input = Input {
        size: canvas.size(),
        now: Duration::from_secs(1),
        // Modifiers are released within the frame, as happens in slow frames.
        keys: keys.iter().map(press).collect(),
        ..Input::default()
    };
    let size = canvas.size();
    canvas.begin(size, 1.0);
    let next = viewer.frame(&input, canvas);
    while viewer.reel.is_seeking() || viewer.wanted.is_some() {
        viewer.pass(0.0);
    }
    next
}

#[test]
fn every_seek_ends_at_the_world_that_was_played() {
    let recorded = record(60);
    let mut reel = Reel::open(&recorded.path).unwrap();
    assert_eq!(reel.turns(), 60);
    assert_eq!(reel.ticks(), 60 * u64::from(Plan::default().ticks));
    let check = |reel: &Reel, turn: u32| {
        let world = reel.world().expect("it is built");
        assert_eq!(reel.turn(), turn);
        assert_eq!(
            world.checksum(),
            recorded.checksums[turn as usize],
            "turn {turn}"
        );
        assert_eq!(reel.tick(), u64::from(world.tick()));
    };
    for turn in [0, 60, 3, 4, 59, 30, 30, 31, 0] {
        reel.seek_turn(turn);
        assert!(reel.pursue(far()));
        check(&reel, turn);
    }
    // A tick within a turn, and back; then tick by tick into the next turn.
    let ticks = u64::from(Plan::default().ticks);
    reel.seek_tick(10 * ticks + 2);
    assert!(reel.pursue(far()));
    assert_eq!((reel.turn(), reel.tick()), (10, 10 * ticks + 2));
    let in_turn = reel.world().map(State::checksum);
    reel.seek_tick(10 * ticks + 1);
    assert!(reel.pursue(far()));
    assert!(reel.tick_once(|_, _| {}));
    assert_eq!(reel.world().map(State::checksum), in_turn);
    while reel.tick() < 11 * ticks {
        assert!(reel.tick_once(|_, _| {}));
    }
    check(&reel, 11);
    // With the survey's snapshots.
    let survey = surveyed(&recorded.path, &mut reel);
    drop(survey);
    for turn in [55, 12, 60, 41] {
        reel.seek_turn(turn);
        assert!(reel.pursue(far()));
        check(&reel, turn);
    }
    // Seeks start from snapshots: a wrong snapshot changes the result.
    let mut other = Reel::open(&recorded.path).unwrap();
    other.seek_turn(5);
    other.pursue(far());
    reel.keep(50, 50 * ticks, other.snapshot().into());
    reel.seek_turn(50);
    assert!(reel.pursue(far()));
    assert_eq!(
        reel.world().map(State::checksum),
        Some(recorded.checksums[5])
    );
}

#[test]
fn every_tick_within_a_turn_is_the_world_that_was_played() {
    let recorded = record(30);
    let check = |reel: &Reel, tick: u64| {
        assert_eq!(reel.tick(), tick);
        let checksum = reel.world().map(State::checksum);
        let played = recorded.ticks[tick as usize];
        assert_eq!(checksum, Some(played), "tick {tick}");
    };
    let mut reel = Reel::open(&recorded.path).unwrap();
    for tick in 1..=reel.ticks() {
        assert!(reel.tick_once(|_, _| {}));
        check(&reel, tick);
    }
    for tick in [50, 51, 53, 52, 49, 3, 119, 120, 118] {
        reel.seek_tick(tick);
        assert!(reel.pursue(far()));
        check(&reel, tick);
    }
    // By keys of the viewer, in both directions across a turn's beginning.
    let mut viewer = viewer(&recorded);
    let mut canvas = Canvas::new();
    canvas.begin((1_280.0, 720.0), 1.0);
    let shift = Modifiers {
        shift: true,
        ..Modifiers::default()
    };
    frame(&mut viewer, &mut canvas, &[KeyCode::Home], shift);
    let on = (1..=10).map(|tick| (KeyCode::Period, tick));
    let back = (5..10).rev().map(|tick| (KeyCode::Comma, tick));
    for (key, tick) in on.chain(back) {
        frame(&mut viewer, &mut canvas, &[key], shift);
        check(&viewer.reel, tick);
    }
}

#[test]
fn times_and_ticks_and_turns_agree() {
    let recorded = record(12);
    let reel = Reel::open(&recorded.path).unwrap();
    let plan = Plan::default();
    let ticks = u64::from(plan.ticks);
    assert_eq!(reel.time_of(5 * ticks), plan.turn() * 5);
    assert_eq!(reel.time_of(5 * ticks + 1), plan.turn() * 5 + plan.tick());
    assert_eq!(reel.turn_of(5 * ticks - 1), 4);
    assert_eq!(reel.turn_of(5 * ticks), 5);
    assert_eq!(reel.turn_of(u64::MAX), 12);
}

#[test]
fn a_removed_player_is_not_listed_as_left() {
    let recorded = record_where(40, true);
    let mut reel = Reel::open(&recorded.path).unwrap();
    let survey = surveyed(&recorded.path, &mut reel);
    let ticks = u64::from(Plan::default().ticks);
    let named = |_: Seat| "bob".to_owned();
    let found: Vec<(u64, String)> = survey
        .found
        .events
        .iter()
        .filter(|event| event.lane() == Lane::Players)
        .map(|event| (event.tick / ticks, words::event(&event.what, None, &named)))
        .collect();
    let expected = [
        (7, "bob: good luck"),
        (20, "bob left"),
        (30, "bob rejoined"),
        (u64::from(REMOVED_FROM), "bob was removed: connection lost"),
    ];
    assert_eq!(found, expected.map(|(turn, text)| (turn, text.to_owned())));
}

#[test]
fn a_panic_of_the_world_ends_the_replay_and_not_the_window() {
    let recorded = record(60);
    let mut viewer = viewer(&recorded);
    let mut canvas = Canvas::new();
    canvas.begin(SIZES[0], 1.0);
    let mut draw = |viewer: &mut Viewer| frame(viewer, &mut canvas, &[], Modifiers::default());
    viewer.reel.seek_turn(30);
    assert!(viewer.reel.pursue(far()));
    assert_eq!(viewer.reel.work(), Step::Turn);
    let ends = viewer.reel.guarded(|_| panic!("no such unit"));
    assert_eq!((ends, viewer.reel.is_over()), (Step::End, true));
    draw(&mut viewer);
    let told = viewer.trouble().expect("it is told");
    assert!(
        told.contains("world panicked in turn 30: no such unit"),
        "{told}"
    );
    assert!(!viewer.reel.tick_once(|_, _| panic!("there is no tick")));
    viewer.reel.seek_turn(20);
    assert!(viewer.reel.pursue(far()));
    let world = viewer.reel.world().map(State::checksum);
    assert_eq!(world, Some(recorded.checksums[20]));
    draw(&mut viewer);
    assert_eq!(viewer.trouble(), None);
}

#[test]
fn events_and_samples_come_from_the_recording() {
    let recorded = record(500);
    let mut reel = Reel::open(&recorded.path).unwrap();
    let survey = surveyed(&recorded.path, &mut reel);
    let found = &survey.found;
    let ticks = u64::from(Plan::default().ticks);
    let when = |wanted: &EventKind| {
        let event = found.events.iter().find(|event| event.what == *wanted);
        event.map(|event| event.tick)
    };
    assert_eq!(
        when(&EventKind::Chat(Seat(0), "good luck".to_owned())),
        Some(7 * ticks)
    );
    assert_eq!(when(&EventKind::Left(Seat(1))), Some(20 * ticks));
    assert_eq!(when(&EventKind::Returned(Seat(1))), Some(30 * ticks));
    let built = |event: &&Event| matches!(event.what, EventKind::Built(..)) && event.at.is_some();
    assert!(
        found.events.iter().any(|event| built(&event)),
        "{:?}",
        found.events
    );
    assert!(found.events.is_sorted_by_key(|event| event.tick));
    let last = found.samples.last().expect("samples");
    assert_eq!(last.tick, reel.ticks());
    assert_eq!(last.seats[0].actions, recorded.actions);
    reel.seek_turn(500);
    assert!(reel.pursue(far()));
    let world = reel.world().expect("built");
    for (stand, seat) in last.seats.iter().zip(world.seats()) {
        assert_eq!(stand.gathered, seat.gathered);
        let army: u32 = world
            .units()
            .filter(|unit| unit.seat == seat.seat && unit.kind.is_soldier())
            .map(|unit| unit.kind.stats().gold + unit.kind.stats().wood)
            .sum();
        assert_eq!(stand.army, army);
    }
    let economy = Graph::Economy.values(&found.samples, 0);
    let whole = economy.last().expect("values").1;
    let samples = &found.samples;
    let minute_ago = samples
        .iter()
        .rfind(|sample| sample.tick + 1_200 <= last.tick)
        .expect("one");
    let brought = last.seats[0].gathered - minute_ago.seats[0].gathered;
    let passed = last.tick - minute_ago.tick;
    assert!(
        (whole - brought as f32 * 1_200.0 / passed as f32).abs() < 0.5,
        "{whole} {brought}"
    );
    assert!(whole > 0.0);
    // The same as a file.
    let mut viewer = viewer(&recorded);
    let mut canvas = Canvas::new();
    canvas.begin(SIZES[0], 1.0);
    frame(
        &mut viewer,
        &mut canvas,
        &[KeyCode::F3],
        Modifiers::default(),
    );
    let path = recorded.folder.path().join("two bots graphs.svg");
    let text = std::fs::read_to_string(&path).unwrap();
    let svg = roxmltree::Document::parse(&text).unwrap();
    let lines: Vec<_> = svg
        .descendants()
        .filter(|node| node.has_tag_name("polyline"))
        .collect();
    assert_eq!(lines.len(), 6);
    let points = lines[0].attribute("points").unwrap().split(' ').count();
    assert_eq!(points, samples.len());
    let mut texts = svg.descendants().filter_map(|node| node.text());
    assert!(texts.any(|text| text == "ada <&> lovelace"));
}

#[test]
fn a_fight_is_one_event_and_a_few_hits_are_none() {
    let world = World::new(&sim::Start {
        setup: Setup::default(),
        seed: Seed([1; 32]),
        seats: vec![Seat(0), Seat(1)],
    });
    let at = |x: i32| Vec2::from_ints(x, 9);
    let hit = |target: u32, x: i32| Effect::Hit {
        target: Id(target),
        at: at(x),
        damage: 1,
    };
    let died = |id: u32, kind, x| Effect::Died {
        id: Id(id),
        kind,
        seat: Seat(1),
        at: at(x),
    };
    let mut finder = Finder::default();
    let mut found = Vec::new();
    for tick in 100..120 {
        finder.tick(tick, &world, &[hit(7, 10 + tick as i32 / 20)], &mut found);
    }
    // A few hits far away, a demolished farm, and a damaged farm.
    finder.tick(
        121,
        &world,
        &[hit(9, 90), hit(8, 12), died(8, Kind::Archer, 12)],
        &mut found,
    );
    finder.tick(122, &world, &[died(30, Kind::Farm, 11)], &mut found);
    finder.tick(
        123,
        &world,
        &[hit(31, 11), died(31, Kind::Farm, 11)],
        &mut found,
    );
    finder.tick(300, &world, &[], &mut found);
    let fight = EventKind::Fight {
        until: 123,
        lost: vec![(Seat(1), 2)],
    };
    let lost = EventKind::Lost(Seat(1), Kind::Farm);
    let whats: Vec<_> = found
        .iter()
        .map(|event| (event.tick, event.what.clone()))
        .collect();
    assert_eq!(whats, [(123, lost), (100, fight)]);
}

#[test]
fn a_click_within_one_frame_counts() {
    let recorded = record(40);
    let mut viewer = viewer(&recorded);
    let mut canvas = Canvas::new();
    canvas.begin((1_280.0, 720.0), 1.0);
    let space = [KeyCode::Space];
    frame(&mut viewer, &mut canvas, &space, Modifiers::default());
    let click = |at| Click {
        button: MouseButton::Left,
        at,
        with: Modifiers::default(),
        double: false,
    };
    // The lane of players, without events so far; the mouse is far away again.
    let (middle, away) = ((677.0, 710.0), (640.0, 16.0));
    let input = Input {
        size: canvas.size(),
        now: Duration::from_secs(1),
        mouse: Some(away),
        pressed: vec![click(middle)],
        released: vec![click(away)],
        ..Input::default()
    };
    canvas.begin((1_280.0, 720.0), 1.0);
    viewer.frame(&input, &mut canvas);
    while viewer.reel.is_seeking() || viewer.wanted.is_some() {
        viewer.pass(0.0);
    }
    let (tick, half) = (viewer.reel.tick(), viewer.reel.ticks() / 2);
    assert!(tick.abs_diff(half) <= 2, "{tick} of {half}");
}

#[test]
fn keys_seek_as_documented() {
    let recorded = record(400);
    let mut viewer = viewer(&recorded);
    let mut canvas = Canvas::new();
    canvas.begin(SIZES[0], 1.0);
    let none = Modifiers::default();
    let shift = Modifiers {
        shift: true,
        ..none
    };
    let mut press = |viewer: &mut Viewer, key, with| {
        let next = frame(viewer, &mut canvas, &[key], with);
        (
            viewer.reel.turn(),
            viewer.reel.tick(),
            matches!(next, Next::Back),
        )
    };
    let ticks = u64::from(Plan::default().ticks);
    press(&mut viewer, KeyCode::Space, none);
    assert_eq!(viewer.going, Going::Still);
    assert_eq!(press(&mut viewer, KeyCode::Right, none).1, 200);
    assert_eq!(press(&mut viewer, KeyCode::Period, none).0, 51);
    assert_eq!(press(&mut viewer, KeyCode::Period, shift).1, 51 * ticks + 1);
    assert_eq!(press(&mut viewer, KeyCode::Comma, none).1, 51 * ticks);
    assert_eq!(press(&mut viewer, KeyCode::Comma, none).0, 50);
    assert_eq!(press(&mut viewer, KeyCode::Comma, shift).1, 50 * ticks - 1);
    assert_eq!(
        press(&mut viewer, KeyCode::PageDown, none).1,
        50 * ticks - 1 + 1_200
    );
    assert!(!viewer.state().contains(words::AT_END));
    assert_eq!(press(&mut viewer, KeyCode::End, none).0, 400);
    assert_eq!(viewer.going, Going::Still);
    let state = viewer.state();
    assert!(state.contains(words::AT_END), "though it stands: {state}");
    press(&mut viewer, KeyCode::Comma, none);
    assert!(!viewer.state().contains(words::AT_END));
    press(&mut viewer, KeyCode::End, none);
    assert_eq!(press(&mut viewer, KeyCode::Home, none).1, 0);
    assert_eq!(press(&mut viewer, KeyCode::N, none).1, 7 * ticks);
    assert_eq!(press(&mut viewer, KeyCode::N, none).1, 20 * ticks);
    assert_eq!(press(&mut viewer, KeyCode::P, none).1, 7 * ticks);
    press(&mut viewer, KeyCode::Key2, none);
    assert_eq!(viewer.eye(), Eye::Seat(Seat(1)));
    let own = viewer.scene.as_ref().unwrap();
    assert!(
        own.motion
            .walkers
            .iter()
            .all(|walker| walker.unit.seat == Seat(1))
    );
    press(&mut viewer, KeyCode::V, none);
    assert_eq!(viewer.eye(), Eye::All);
    for _ in 0..9 {
        press(&mut viewer, KeyCode::Equal, none);
    }
    assert_eq!(SPEEDS[viewer.speed].0, 64.0);
    for _ in 0..9 {
        press(&mut viewer, KeyCode::Minus, none);
    }
    assert_eq!(SPEEDS[viewer.speed].0, 0.25);
    // Rewinding: half a second at 64 times the speed.
    viewer.speed = SPEEDS.len() - 1;
    press(&mut viewer, KeyCode::End, none);
    press(&mut viewer, KeyCode::R, none);
    viewer.pass(0.5);
    while viewer.reel.is_seeking() {
        viewer.pass(0.0);
    }
    assert_eq!(viewer.reel.tick(), 400 * ticks - 640);
    // Sent beyond the end meanwhile, it rewinds from there.
    press(&mut viewer, KeyCode::End, none);
    viewer.pass(0.5);
    while viewer.reel.is_seeking() {
        viewer.pass(0.0);
    }
    assert_eq!(viewer.reel.tick(), 400 * ticks - 640);
    press(&mut viewer, KeyCode::F1, none);
    assert!(viewer.help && !press(&mut viewer, KeyCode::Escape, none).2);
    assert!(press(&mut viewer, KeyCode::Escape, none).2);
}

#[test]
fn all_text_is_readable_at_every_size() {
    let recorded = record(500);
    let none = Modifiers::default();
    for size in SIZES {
        let mut viewer = viewer(&recorded);
        let mut canvas = Canvas::new();
        canvas.begin(size, 1.0);
        let found = |canvas: &Canvas, wanted: &str| {
            canvas.texts().iter().any(|text| text.text.contains(wanted))
        };
        viewer.say(words::written(
            "/some/folder/with a long name/two bots graphs.svg",
        ));
        frame(&mut viewer, &mut canvas, &[KeyCode::Space], none);
        frame(&mut viewer, &mut canvas, &[KeyCode::PageDown], none);
        frame(&mut viewer, &mut canvas, &[], none);
        check_texts(&canvas);
        for wanted in ["1:00 / 1:40", "Players", "two bots", "Saved to"] {
            assert!(found(&canvas, wanted), "{wanted}");
        }
        frame(&mut viewer, &mut canvas, &[KeyCode::G], none);
        check_texts(&canvas);
        assert!(words::GRAPHS.iter().all(|title| found(&canvas, title)));
        frame(&mut viewer, &mut canvas, &[KeyCode::E], none);
        check_texts(&canvas);
        assert!(found(&canvas, "good luck"));
        frame(&mut viewer, &mut canvas, &[KeyCode::F1], none);
        check_texts(&canvas);
        for (key, does) in words::KEYS {
            assert!(found(&canvas, key) && found(&canvas, does), "{key}");
        }
        frame(&mut viewer, &mut canvas, &[KeyCode::F1], none);
        frame(&mut viewer, &mut canvas, &[KeyCode::E], none);
    }
}

#[test]
fn a_damaged_file_is_explained_and_its_rest_is_shown() {
    let recorded = record(60);
    let bytes = std::fs::read(&recorded.path).unwrap();
    let cut = recorded.folder.path().join("cut.replay");
    std::fs::write(&cut, [&bytes[..], &[0x5a; 40]].concat()).unwrap();
    let mut viewer = Viewer::new(Opened::file(&cut).unwrap(), Shared::default());
    let turns = viewer.reel.turns();
    assert_eq!(turns, 60);
    let mut canvas = Canvas::new();
    canvas.begin(SIZES[0], 1.0);
    frame(
        &mut viewer,
        &mut canvas,
        &[KeyCode::End],
        Modifiers::default(),
    );
    frame(&mut viewer, &mut canvas, &[], Modifiers::default());
    let world = viewer.reel.world().expect("built");
    assert_eq!(world.checksum(), recorded.checksums[turns as usize]);
    check_texts(&canvas);
    let text: Vec<&str> = canvas
        .texts()
        .iter()
        .map(|text| text.text.as_str())
        .collect();
    let text = text.join(" ");
    let breaks_off = ["ends in the middle of a record", "is damaged at byte"];
    assert!(
        breaks_off.iter().any(|words| text.contains(words)),
        "{text}"
    );
    assert!(text.contains("replay trim"), "{text}");
    for (name, bytes) in [
        (
            "foreign",
            &b"\x89PNG not a replay at all, but long enough"[..],
        ),
        ("empty", b""),
    ] {
        let path = recorded.folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let why = Opened::file(&path).err().map(|why| why.to_string());
        let why = why.unwrap_or_default();
        assert!(
            why.contains("not a replay") || why.contains("empty"),
            "{why}"
        );
    }
}

#[test]
fn a_saved_picture_shows_the_moment() {
    let recorded = record(20);
    let mut viewer = viewer(&recorded);
    let mut canvas = Canvas::new();
    canvas.begin((640.0, 360.0), 1.0);
    frame(
        &mut viewer,
        &mut canvas,
        &[KeyCode::Space],
        Modifiers::default(),
    );
    frame(
        &mut viewer,
        &mut canvas,
        &[KeyCode::F2],
        Modifiers::default(),
    );
    let text = until("the picture is written", || {
        viewer.exporting.as_ref().and_then(Exporting::poll)
    });
    let path = recorded.folder.path().join("two bots at 0.00 (tick 0).png");
    assert!(text.contains(&path.display().to_string()), "{text}");
    let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (640, 360));
    let colours: std::collections::BTreeSet<[u8; 3]> =
        pixels.as_chunks::<3>().0.iter().copied().collect();
    assert!(colours.len() > 500, "only {} colours", colours.len());
    let green = pixels
        .as_chunks::<3>()
        .0
        .iter()
        .filter(|[r, g, b]| g > r && g > b);
    assert!(green.count() > 20_000, "no land is seen");
    let svg = graphs::svg(
        "t",
        &viewer.survey.found.samples,
        &viewer.lines(),
        (1, Duration::ZERO),
    );
    assert!(roxmltree::Document::parse(&svg).is_ok());
}
