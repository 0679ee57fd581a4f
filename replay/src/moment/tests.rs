use super::*;
use crate::diff::{Difference, diff};
use crate::fixture::{self, Coins, Order};
use crate::verify::{Options, Verified, Wrong, verify};
use lockstep::log::{Continuation, Terms, What};
use lockstep::{Config, Event, Hosting, Match, Plan};
use sim::State as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A folder with a recording of these records.
struct Recorded {
    folder: tempfile::TempDir,
    path: PathBuf,
}

impl Recorded {
    fn of(records: &[Record]) -> Recorded {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.replay");
        std::fs::write(&path, fixture::file_of(records)).unwrap();
        Recorded { folder, path }
    }

    /// Plays `more` turns on from a moment of a file; returns the new file.
    fn go_on(&self, from: &Path, turns: u32, more: u32, name: &str) -> PathBuf {
        let mut moment = WorldAt::<Coins>::open(from, Some(turns)).unwrap();
        let path = self.folder.path().join(name);
        let mut recorder = Recorder::create(&path).unwrap();
        moment.record_to(&mut recorder).unwrap();
        let config = Config {
            name: "eve".into(),
            log: Some(Box::new(recorder)),
            host: Hosting {
                terms: Terms {
                    turn_limit: Some(more),
                    plan: Plan {
                        ticks: 2,
                        delay_turns: 1,
                        tick_ms: 1,
                    },
                    ..Terms::default()
                },
                ..Hosting::default()
            },
            ..Config::default()
        };
        play(Match::play_on(moment.of_seat(Seat(1)), config).unwrap());
        path
    }
}

/// Plays to the end, with a command for each seat on the way.
fn play(mut game: Match<Coins>) {
    let mut own = Vec::new();
    let mut turns = 0;
    loop {
        for event in game.poll() {
            match event {
                Event::Started { own: seats, .. } => own = seats,
                Event::Turn { .. } => turns += 1,
                Event::Ended(ended) => {
                    assert!(ended.checksum.is_some(), "{ended:?}");
                    assert_eq!(own, [Seat(1), Seat(0)], "the player's seat comes first");
                    assert_eq!(game.counts().executed, 2);
                    return;
                }
                _ => {}
            }
        }
        if turns == 5 {
            turns += 1;
            game.issue(Order::Add(77)).unwrap();
            game.issue_for(Seat(0), Order::Add(78)).unwrap();
        }
        game.wait(Duration::from_millis(5));
    }
}

fn verified(path: &Path) -> Verified {
    let mut reader = Reader::open(path).unwrap();
    verify::<Coins>(&mut reader, &Options::default(), |_| {}).unwrap()
}

fn records_of(path: &Path) -> Vec<Record> {
    let mut reader = Reader::open(path).unwrap();
    reader.records().map(Result::unwrap).collect()
}

fn bundles(path: &Path) -> Vec<Record> {
    let mut records = records_of(path);
    records.retain(|record| matches!(record, Record::Bundle(_)));
    records
}

#[test]
fn a_moment_has_the_world_of_its_turn() {
    let played = fixture::play(120);
    let recorded = Recorded::of(&played.records);
    for turns in [0, 1, 49, 50, 73, 119] {
        let moment = WorldAt::<Coins>::open(&recorded.path, Some(turns)).unwrap();
        assert_eq!(moment.world(), &played.worlds[turns as usize], "{turns}");
        assert_eq!(moment.turns(), turns);
    }
    let end = WorldAt::<Coins>::open(&recorded.path, None).unwrap();
    assert_eq!((end.turns(), end.world()), (120, &played.worlds[120]));
}

#[test]
fn playing_on_records_a_valid_replay_with_its_branch_turn() {
    let recorded = Recorded::of(&fixture::play(120).records);
    let new = recorded.go_on(&recorded.path, 73, 30, "new.replay");
    let result = verified(&new);
    assert_eq!(result.wrong, None);
    assert_eq!((result.turns, result.of), (103, 103));
    assert_eq!(result.tail, crate::FileEnd::Complete);
    let [continued] = &result.continued[..] else {
        panic!("{:?}", result.continued);
    };
    let Continuation {
        turns, name, seat, ..
    } = &*continued.continuation;
    assert_eq!((*turns, name.as_str(), *seat), (73, "eve", Seat(1)));
    // Both old peers signed the part before the moment, and the new player signed all of it.
    assert!(
        continued
            .attested_turns
            .is_some_and(|turns| (50..=73).contains(&turns))
    );
    assert_eq!(result.attested_turns, Some(103));
    let (old_bundles, new_bundles) = (bundles(&recorded.path), bundles(&new));
    assert_eq!(old_bundles[..73], new_bundles[..73]);
    assert_ne!(old_bundles[73..103], new_bundles[73..]);
    let keyframes: Vec<u32> = Reader::open(&new)
        .unwrap()
        .keyframes()
        .iter()
        .map(|at| at.turns)
        .collect();
    assert_eq!(keyframes[..2], [50, 73]);
}

#[test]
fn diff_names_the_turn_where_playing_on_begins() {
    let recorded = Recorded::of(&fixture::play(120).records);
    let new = recorded.go_on(&recorded.path, 73, 30, "new.replay");
    let compare = |one: &Path, other: &Path| {
        let mut readers = (Reader::open(one).unwrap(), Reader::open(other).unwrap());
        diff(&mut readers.0, &mut readers.1).unwrap()
    };
    let from = |in_which| {
        let turn = TurnNumber(73);
        Some(Difference::Continued { turn, in_which })
    };
    let result = compare(&recorded.path, &new);
    assert_eq!(
        (result.equal_turns, result.difference),
        (73, from((false, true)))
    );
    assert_eq!(
        compare(&new, &recorded.path).difference,
        from((true, false))
    );
    assert!(compare(&new, &new).agrees());
    let other = recorded.go_on(&recorded.path, 73, 10, "other.replay");
    assert_eq!(compare(&new, &other).difference, from((true, true)));
    // Played on from the very end, the new file continues the old one.
    let end = recorded.go_on(&recorded.path, 120, 10, "end.replay");
    assert!(compare(&recorded.path, &end).agrees());
}

#[test]
fn a_continued_replay_can_be_continued() {
    let recorded = Recorded::of(&fixture::play(120).records);
    let first = recorded.go_on(&recorded.path, 73, 30, "first.replay");
    for (turns, continued) in [(90, vec![73, 90]), (73, vec![73, 73]), (60, vec![60])] {
        let name = format!("{turns}.replay");
        let second = recorded.go_on(&first, turns, 12, &name);
        let result = verified(&second);
        assert_eq!((result.wrong, result.turns), (None, turns + 12));
        let states = result.continued.iter().map(|at| at.continuation.turns);
        assert_eq!(states.collect::<Vec<_>>(), continued);
    }
}

#[test]
fn a_seat_whose_player_left_is_played_again() {
    let played = fixture::play_cheated(120, 60);
    let recorded = Recorded::of(&played.records);
    let new = recorded.go_on(&recorded.path, 80, 20, "new.replay");
    let result = verified(&new);
    assert_eq!((result.wrong, result.turns), (None, 100));
    let entries = records_of(&new)
        .into_iter()
        .filter_map(|record| match record {
            Record::Bundle(bundle) if bundle.turn.0 == 80 => Some(bundle.entries),
            _ => None,
        });
    let states: Vec<What> = entries.flatten().map(|entry| entry.what).collect();
    assert_eq!(states, [What::Seat(sim::SeatState::Played)]);
}

#[test]
fn an_edited_continued_history_is_found() {
    let recorded = Recorded::of(&fixture::play(120).records);
    let new = recorded.go_on(&recorded.path, 73, 30, "new.replay");
    let records = records_of(&new);
    let wrong = |change: &dyn Fn(&mut Record)| {
        let mut records = records.clone();
        records.iter_mut().for_each(change);
        verified(&Recorded::of(&records).path).wrong
    };
    assert_eq!(wrong(&|_| {}), None);
    let continuation = |change: fn(&mut Continuation)| {
        wrong(&|record| {
            if let Record::Continued(continuation) = record {
                change(Arc::make_mut(continuation));
            }
        })
    };
    let unsigned = Some(Wrong::Continued { turns: 73 });
    assert_eq!(continuation(|of| of.name = "ada".into()), unsigned);
    assert_eq!(continuation(|of| of.seat = Seat(0)), unsigned);
    assert_eq!(continuation(|of| of.log_hash.0[3] ^= 1), unsigned);
    assert_eq!(continuation(|of| of.peer.0[3] ^= 1), unsigned);
    // A turn before the moment, signed by the players of that time.
    let before = wrong(&|record| match record {
        Record::Bundle(bundle) if bundle.turn.0 == 30 => bundle.entries.clear(),
        _ => {}
    });
    assert!(matches!(before, Some(Wrong::History { .. })), "{before:?}");
    // Without the continuation record, no key signs the turns behind it.
    let mut hidden = records.clone();
    hidden.retain(|record| !matches!(record, Record::Continued(_)));
    let hidden = verified(&Recorded::of(&hidden).path);
    assert!(hidden.wrong.is_some() && hidden.continued.is_empty());
    // Roster changes behind it are not signed either.
    let mut changed = records.clone();
    let alarm = fixture::play_changing(120, &[90], |_| {}).records;
    let change = |record: &&Record| matches!(record, Record::Roster(_));
    let alarm = alarm.iter().find(change).unwrap().clone();
    let at = |record: &Record| matches!(record, Record::Bundle(bundle) if bundle.turn.0 == 90);
    let at = changed.iter().position(at).unwrap();
    changed.insert(at, alarm);
    let changed = verified(&Recorded::of(&changed).path);
    assert!(
        matches!(changed.wrong, Some(Wrong::Roster { .. })),
        "{changed:?}"
    );
}

/// Each keyframe has the world after three turns.
fn falsify_keyframes(played: &mut fixture::Played) {
    let mut snapshot = Vec::new();
    played.worlds[3].save(&mut snapshot);
    for record in &mut played.records {
        if let Record::Keyframe(keyframe) = record {
            keyframe.snapshot = snapshot.clone().into();
        }
    }
}

#[test]
fn a_wrong_keyframe_is_skipped() {
    let mut played = fixture::play(120);
    falsify_keyframes(&mut played);
    let recorded = Recorded::of(&played.records);
    let moment = WorldAt::<Coins>::open(&recorded.path, Some(110)).unwrap();
    assert_eq!(moment.world(), &played.worlds[110]);
}

#[test]
fn few_keyframes_of_another_world_are_run() {
    let mut played = fixture::play(400);
    let is_early = |record: &Record| matches!(record, Record::Checksum { turns: ..400, .. });
    played.records.retain(|record| !is_early(record));
    falsify_keyframes(&mut played);
    let recorded = Recorded::of(&played.records);
    fixture::STEPS.set(0);
    let moment = WorldAt::<Coins>::open(&recorded.path, Some(400)).unwrap();
    assert_eq!(moment.world(), &played.worlds[400]);
    // The keyframes after 350 and 300 turns are run, that after 400 is compared at once, and the match is run.
    let turns = fixture::STEPS.get() / u64::from(Plan::default().ticks);
    assert!(turns <= 400 + 50 + 100, "{turns}");
}

#[test]
fn invalid_moments_are_named() {
    let played = fixture::play(120);
    let recorded = Recorded::of(&played.records);
    let open = |path: &Path, turns| WorldAt::<Coins>::open(path, turns).err().unwrap();
    let beyond = open(&recorded.path, Some(121));
    assert!(matches!(
        beyond,
        Error::NoSuchTurn {
            turns: 121,
            last: 120
        }
    ));
    let reader = Reader::open(&recorded.path).unwrap();
    let long = WorldAt::<Coins>::within(reader, Some(60), 59)
        .err()
        .unwrap();
    assert!(matches!(
        long,
        Error::TooLong {
            turns: 60,
            most: 59
        }
    ));
    let won = fixture::play_with(40, |bundle| {
        if bundle.turn.0 == 39 {
            let won = postcard::to_allocvec(&Order::Win).unwrap();
            bundle.entries.push(lockstep::log::LogEntry {
                seat: Seat(1),
                what: What::Command(won.into()),
            });
        }
    });
    let won = Recorded::of(&won.records);
    assert!(matches!(
        open(&won.path, None),
        Error::Decided { turns: 40 }
    ));
    assert!(WorldAt::<Coins>::open(&won.path, Some(39)).is_ok());
    let mut edited = played.records.clone();
    for record in &mut edited {
        if let Record::Checksum {
            turns: 26..,
            checksum,
        } = record
        {
            checksum.0 ^= 1;
        }
    }
    let edited = Recorded::of(&edited);
    assert!(WorldAt::<Coins>::open(&edited.path, Some(20)).is_ok());
    assert!(matches!(
        open(&edited.path, Some(90)),
        Error::OtherWorld { .. }
    ));
    let mut other = played.records.clone();
    if let Record::Start(start) = &mut other[0] {
        Arc::make_mut(start).rules.0[0] ^= 1;
    }
    let other = Recorded::of(&other);
    assert!(matches!(
        open(&other.path, Some(3)),
        Error::OtherRules { .. }
    ));
}

#[test]
fn a_cut_file_can_be_played_on_from_its_valid_turns() {
    let played = fixture::play(120);
    let mut bytes = fixture::file_of(&played.records);
    bytes.truncate(bytes.len() * 2 / 3);
    let recorded = Recorded::of(&played.records);
    let cut = recorded.folder.path().join("cut.replay");
    std::fs::write(&cut, bytes).unwrap();
    let moment = WorldAt::<Coins>::open(&cut, None).unwrap();
    let turns = moment.turns();
    assert!((10..120).contains(&turns), "{turns}");
    assert_eq!(moment.world(), &played.worlds[turns as usize]);
    let new = recorded.go_on(&cut, turns, 10, "new.replay");
    assert_eq!(verified(&new).wrong, None);
}

#[test]
fn a_continued_replay_cannot_be_rejoined() {
    let recorded = Recorded::of(&fixture::play(120).records);
    let new = recorded.go_on(&recorded.path, 73, 30, "new.replay");
    let mut records = records_of(&new);
    records.retain(|record| !matches!(record, Record::End(_)));
    let open = Recorded::of(&records);
    assert!(matches!(
        crate::reopen(&open.path),
        Err(Error::Continued { turns: 73 })
    ));
}
