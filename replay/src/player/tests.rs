use super::*;
use crate::fixture::{self, Coins, Played};
use lockstep::Match;
use proptest::prelude::*;
use sim::State;

fn player(played: &Played) -> Match<Coins, Player> {
    let reader = Reader::from_bytes(fixture::file_of(&played.records)).unwrap();
    Match::over(Player::new(reader))
}

/// Polls until the seek is over.
fn arrive(game: &mut Match<Coins, Player>) -> Vec<Event> {
    let mut events = game.poll();
    while matches!(game.status(), Status::CatchingUp { .. } | Status::Loading) {
        events.extend(game.poll());
    }
    events
}

fn saved(world: &Coins) -> Vec<u8> {
    let mut bytes = Vec::new();
    world.save(&mut bytes);
    bytes
}

#[test]
fn every_seek_gives_the_world_that_was_played() {
    let played = fixture::play(170);
    let mut game = player(&played);
    game.source().set_speed(Speed::PAUSED);
    let there_and_back = (0..=170)
        .chain((0..=170).rev())
        .chain([49, 150, 51, 3, 100]);
    for turn in there_and_back {
        game.source().seek(TurnNumber(turn));
        arrive(&mut game);
        assert_eq!(game.source().next_turn(), TurnNumber(turn));
        let world = game.world().expect("built");
        assert_eq!(
            saved(world),
            saved(&played.worlds[turn as usize]),
            "turn {turn}"
        );
    }
}

#[test]
fn a_seek_starts_at_the_nearest_loadable_snapshot() {
    let played = fixture::play(170);
    let mut game = player(&played);
    game.source().set_speed(Speed::PAUSED);
    let ticks = |game: &mut Match<Coins, Player>, turn| {
        game.source().reader().ticks_before(TurnNumber(turn))
    };
    for turn in [30, 90, 120, 160] {
        let ticks = ticks(&mut game, turn);
        // The snapshot at 120 holds another world, so that its use is visible.
        let of = if turn == 120 { 30 } else { turn };
        let snapshot = match turn {
            160 => Arc::from([0xff; 40]),
            _ => saved(&played.worlds[of as usize]).into(),
        };
        game.source().keep(turn, ticks, snapshot);
    }
    for turn in [99, 40, 170, 31, 165] {
        game.source().seek(TurnNumber(turn));
        arrive(&mut game);
        let world = game.world().expect("built");
        assert_eq!(saved(world), saved(&played.worlds[turn as usize]), "{turn}");
    }
    game.source().seek(TurnNumber(120));
    arrive(&mut game);
    let world = game.world().map(saved);
    assert_eq!(world, Some(saved(&played.worlds[30])));
    game.source().forget(120);
    game.source().seek(TurnNumber(119));
    arrive(&mut game);
    game.source().seek(TurnNumber(120));
    arrive(&mut game);
    let world = game.world().map(saved);
    assert_eq!(world, Some(saved(&played.worlds[120])));
}

#[test]
fn a_keyframe_of_another_log_is_skipped() {
    let mut played = fixture::play(170);
    for record in &mut played.records {
        if let Record::Keyframe(keyframe) = record {
            match keyframe.turns {
                100 => keyframe.log_hash.0[0] ^= 1,
                150 => keyframe.snapshot = Arc::from([0xff; 40]),
                _ => {}
            }
        }
    }
    let mut game = player(&played);
    game.source().set_speed(Speed::PAUSED);
    for turn in [160, 120, 155, 20] {
        game.source().seek(TurnNumber(turn));
        arrive(&mut game);
        assert_eq!(game.world(), Some(&played.worlds[turn as usize]));
    }
}

#[test]
fn a_seek_after_a_panic_of_the_world_begins_with_another_one() {
    let mut played = fixture::play(60);
    for record in &mut played.records {
        if let Record::Bundle(bundle) = record
            && bundle.turn.0 == 30
        {
            bundle.entries.push(fixture::panics());
        }
    }
    let mut game = player(&played);
    game.source().set_speed(Speed::PAUSED);
    let seek = |game: &mut Match<Coins, Player>, turn| {
        game.source().seek(TurnNumber(turn));
        let events = arrive(game);
        events.into_iter().find_map(|event| match event {
            Event::Ended(ended) => Some(ended.reason),
            _ => None,
        })
    };
    for turn in [40, 20, 31, 30, 5, 60] {
        let panics = turn > 30;
        let reason = seek(&mut game, turn);
        let told = matches!(&reason, Some(EndReason::WorldFault { turn, .. }) if turn.0 == 30);
        assert_eq!(told, panics, "{turn}: {reason:?}");
        let world = (!panics).then(|| &played.worlds[turn as usize]);
        assert_eq!(game.world(), world, "{turn}");
    }
}

/// Seeks pass by the keyframe after 100 turns once the world has panicked on this snapshot of it.
fn assert_panics_once(snapshot: Arc<[u8]>) {
    let mut played = fixture::play(170);
    for record in &mut played.records {
        if let Record::Keyframe(keyframe) = record
            && keyframe.turns == 100
        {
            keyframe.snapshot = snapshot.clone();
        }
    }
    let mut game = player(&played);
    game.source().set_speed(Speed::PAUSED);
    for (turn, panics) in [(120, true), (120, false), (20, false), (130, false)] {
        game.source().seek(TurnNumber(turn));
        arrive(&mut game);
        let world = (!panics).then(|| &played.worlds[turn as usize]);
        assert_eq!(game.world(), world, "{turn}");
    }
}

#[test]
fn a_keyframe_on_which_the_world_panics_is_loaded_once() {
    assert_panics_once(fixture::bad_snapshot());
}

#[test]
fn a_pause_without_a_resumption_is_reported() {
    let played = fixture::play_with(30, |bundle| {
        bundle.entries.retain(|entry| entry.what != What::Resume);
    });
    let mut game = player(&played);
    game.source().set_speed(Speed::UNLIMITED);
    let mut resumed = Vec::new();
    while game.status() != Status::Ended {
        let events = game.poll().into_iter();
        resumed.extend(events.filter(|event| matches!(event, Event::Resumed { .. })));
    }
    assert!(matches!(
        resumed[..],
        [Event::Resumed {
            seat: None,
            turn: TurnNumber(11)
        }]
    ));
}

#[test]
fn playing_to_the_end_emits_the_events_of_the_log() {
    let played = fixture::play(30);
    let mut game = player(&played);
    game.source().set_speed(Speed::UNLIMITED);
    let mut events = Vec::new();
    while game.status() != Status::Ended {
        events.extend(game.poll());
    }
    events.retain(|event| !matches!(event, Event::Turn { .. }));
    assert!(
        matches!(&events[0], Event::Started { seats, own, .. } if seats.len() == 2 && own.is_empty())
    );
    assert!(
        matches!(&events[1], Event::Chat { from, text, .. } if from == "ada" && text == "good luck")
    );
    assert!(matches!(
        events[2],
        Event::Paused {
            seat: Seat(1),
            turn: TurnNumber(7)
        }
    ));
    assert!(matches!(
        events[3],
        Event::Resumed {
            seat: Some(Seat(1)),
            turn: TurnNumber(10)
        }
    ));
    let Event::Ended(ended) = &events[4] else {
        panic!("{events:?}");
    };
    assert_eq!((ended.turns, ended.agreed, ended.of), (30, 2, 2));
    assert_eq!(ended.reason, EndReason::TurnLimit);
    assert_eq!(ended.checksum, Some(played.worlds[30].checksum()));
    assert_eq!(events.len(), 5);
    game.source().seek(TurnNumber(29));
    let events = arrive(&mut game);
    assert!(
        events
            .iter()
            .all(|event| !matches!(event, Event::Chat { .. }))
    );
}

#[test]
fn removed_peers_and_leavers_have_their_own_events() {
    let events = |played: &Played| {
        let mut game = player(played);
        game.source().set_speed(Speed::UNLIMITED);
        let mut events = Vec::new();
        while game.status() != Status::Ended {
            events.extend(game.poll().into_iter().filter_map(|event| match event {
                Event::RosterChanged {
                    turn,
                    epoch: 1,
                    seats,
                    gone,
                    cause,
                    ..
                } if seats == [Seat(0)] => {
                    Some((cause.name(), turn.0, lockstep::Gone::seats(&gone)))
                }
                Event::Left { seats, turn, .. } => Some(("by itself", turn.0, seats)),
                _ => None,
            }));
        }
        events
    };
    let gone = |cause, turn| (cause, turn, vec![Seat(1)]);
    let mut cut = fixture::play_gone(60, 40, false);
    let behind = |record: &Record| matches!(record, Record::Bundle(bundle) if bundle.turn.0 == 40);
    cut.records
        .truncate(cut.records.iter().position(behind).expect("turn 40"));
    let cases = [
        (fixture::play_gone(60, 40, false), vec![gone("lost", 40)]),
        (
            fixture::play_gone(60, 40, true),
            vec![gone("by itself", 39), gone("left", 40)],
        ),
        (fixture::play_cheated(60, 40), vec![gone("cheated", 40)]),
        (fixture::play_desynced(60, 40), vec![gone("desync", 40)]),
        // No turn follows the change, but its event comes all the same.
        (cut, vec![gone("lost", 40)]),
    ];
    for (played, expected) in cases {
        assert_eq!(events(&played), expected);
    }
}

#[test]
fn roster_changes_within_a_seek_are_silent() {
    let mut game = player(&fixture::play_gone(60, 40, false));
    game.source().set_speed(Speed::PAUSED);
    game.source().seek(TurnNumber(50));
    let events = arrive(&mut game);
    let changed = |event: &Event| matches!(event, Event::RosterChanged { .. } | Event::Left { .. });
    assert!(!events.iter().any(changed), "{events:?}");
}

#[test]
fn speed_delays_turns() {
    let played = fixture::play(30);
    let reader = Reader::from_bytes(fixture::file_of(&played.records)).unwrap();
    let mut player = Player::new(reader);
    let ms = Duration::from_millis;
    let answer_turn = |player: &mut Player| {
        let executed = Answer::Executed {
            checksum: Checksum(0),
            outcome: None,
            step: ms(0),
        };
        assert_eq!(player.answer(executed), Ok(()));
    };
    let ready = || Answer::Ready {
        checksum: Checksum(0),
    };
    assert_eq!(player.answer(ready()), Err(WrongAnswer::NotAsked));
    assert!(matches!(player.next(ms(0)), Some(Work::New { .. })));
    let saved = Answer::Saved(Vec::new());
    assert_eq!(player.answer(saved), Err(WrongAnswer::OtherKind));
    assert_eq!(player.answer(ready()), Ok(()), "it still waits");
    assert!(matches!(player.next(ms(0)), Some(Work::Execute(_))));
    assert_eq!(player.pace(), Some(ms(50)));
    answer_turn(&mut player);
    assert!(player.next(ms(199)).is_none());
    assert!(player.next(ms(200)).is_some());
    answer_turn(&mut player);
    player.set_speed(Speed::times(4));
    assert_eq!(player.pace(), Some(Duration::from_micros(12_500)));
    assert!(player.next(ms(200)).is_some());
    answer_turn(&mut player);
    assert!(player.next(ms(249)).is_none());
    player.set_speed(Speed::PAUSED);
    assert!(player.next(ms(9_999)).is_none());
    assert_eq!(player.status(), Status::Paused);
    assert_eq!(player.issue(Seat(0), Vec::new()), Err(Refused::NotLive));
}

#[test]
fn a_match_of_other_rules_is_refused() {
    let mut played = fixture::play(5);
    let Record::Start(start) = &mut played.records[0] else {
        panic!("a log begins with its start");
    };
    Arc::make_mut(start).rules.0[0] ^= 1;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("match.replay");
    std::fs::write(&path, fixture::file_of(&played.records)).unwrap();
    assert!(matches!(
        crate::open::<Coins>(&path),
        Err(Error::OtherRules { .. })
    ));
    let mut game = player(&played);
    let events = game.poll();
    assert!(matches!(&events[..], [Event::Ended(ended)] if ended.reason == EndReason::World));
}

#[test]
fn a_turn_executed_twice_counts_its_commands_once() {
    let played = fixture::play(170);
    let mut game = player(&played);
    game.source().set_speed(Speed::PAUSED);
    let wanted = |turns: u32, seat: Seat| {
        let bundles = played.records.iter().filter_map(|record| match record {
            Record::Bundle(bundle) if bundle.turn.0 < turns => Some(bundle),
            _ => None,
        });
        let entries = bundles.flat_map(|bundle| &bundle.entries);
        let given = entries.filter(|entry| entry.seat == seat);
        let given = given.filter(|entry| matches!(entry.what, What::Command(_)));
        given.count() as u32
    };
    for (turn, counted) in [(30, 30), (10, 30), (25, 30), (45, 45), (0, 45), (49, 49)] {
        game.source().seek(TurnNumber(turn));
        arrive(&mut game);
        for seat in [Seat(0), Seat(1)] {
            assert!(wanted(counted, seat) > 0);
            assert_eq!(game.given(seat), wanted(counted, seat), "turn {turn}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn any_walk_of_seeks_arrives(turns in proptest::collection::vec(0u32..200, 1..20)) {
        let played = fixture::play(170);
        let mut game = player(&played);
        game.source().set_speed(Speed::PAUSED);
        for turn in turns {
            game.source().seek(TurnNumber(turn));
            arrive(&mut game);
            prop_assert_eq!(game.world(), Some(&played.worlds[turn.min(170) as usize]));
        }
    }
}

#[test]
fn a_slow_machine_is_reported() {
    let played = fixture::play_slow(120);
    let changes = |game: &mut Match<Coins, Player>| {
        game.source().set_speed(Speed::times(10_000));
        let mut events = Vec::new();
        while game.status() != Status::Ended {
            events.extend(game.poll());
        }
        let plan = |event: Event| match event {
            Event::PlanChanged {
                turn, plan, slow, ..
            } => Some((turn.0, plan.tick_ms, slow)),
            _ => None,
        };
        events.into_iter().filter_map(plan).collect::<Vec<_>>()
    };
    let slow = (fixture::SLOW_FROM, 100, vec![Seat(1)]);
    let fast = (fixture::SLOW_UNTIL, 50, Vec::new());
    assert_eq!(changes(&mut player(&played)), [slow.clone(), fast.clone()]);
    // A seek past the change is silent about it.
    let mut game = player(&played);
    game.source().seek(TurnNumber(60));
    arrive(&mut game);
    assert_eq!(changes(&mut game), [fast]);
}

/// Plays on to the end.
fn play_out(game: &mut Match<Coins, Player>) -> Vec<Event> {
    game.source().set_speed(Speed::UNLIMITED);
    let mut events = Vec::new();
    while game.status() != Status::Ended {
        events.extend(game.poll());
    }
    events
}

#[test]
fn a_seek_to_a_snapshot_leads_to_the_plan_of_its_turn() {
    let played = fixture::play_slow(120);
    let mut game = player(&played);
    game.source().set_speed(Speed::PAUSED);
    let own = game.source().reader().ticks_before(TurnNumber(30));
    game.source()
        .keep(30, own, saved(&played.worlds[30]).into());
    for turn in [fixture::KEYFRAME_TURNS, 30] {
        game.source().set_speed(Speed::PAUSED);
        game.source().seek(TurnNumber(0));
        arrive(&mut game);
        game.source().seek(TurnNumber(turn));
        arrive(&mut game);
        game.source().set_speed(Speed::NORMAL);
        let pace = game.source().pace();
        assert_eq!(pace, Some(Duration::from_millis(100)), "{turn}");
        let events = play_out(&mut game);
        let changes = events.iter().filter_map(|event| match event {
            Event::PlanChanged { turn, .. } => Some(turn.0),
            _ => None,
        });
        assert_eq!(changes.collect::<Vec<_>>(), [fixture::SLOW_UNTIL], "{turn}");
    }
}

#[test]
fn a_seek_out_of_a_pause_or_behind_it_tells_of_no_resumption() {
    let played = fixture::play(120);
    let mut game = player(&played);
    // The match is paused before turn 9, and was resumed in turn 10.
    for ways in [&[9, fixture::KEYFRAME_TURNS][..], &[11]] {
        game.source().set_speed(Speed::PAUSED);
        for turn in ways {
            game.source().seek(TurnNumber(*turn));
            arrive(&mut game);
        }
        let events = play_out(&mut game);
        let resumed = |event: &Event| matches!(event, Event::Resumed { .. });
        assert!(!events.iter().any(resumed), "{ways:?}: {events:?}");
    }
}

#[test]
fn a_keyframe_whose_world_panics_later_is_used_once() {
    assert_panics_once(fixture::brittle_snapshot());
}
