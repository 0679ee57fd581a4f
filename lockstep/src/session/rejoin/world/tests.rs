//! Tests of the world of a joiner.

use super::*;
use crate::log::fixture::{decided, false_alarm, signer, start, turn, turns};
use crate::log::{Peers, RosterChange, Value, VerifiedLog};

fn log_of(records: &[Record]) -> AttestedLog {
    AttestedLog::of(VerifiedLog::of(start(3), records, &signer(0)))
}

fn keyframe(log: &AttestedLog, turns: u32) -> Keyframe {
    let snapshot = vec![turns as u8].into();
    let keyframe = log.verified().keyframe(turns, 0, snapshot);
    keyframe.expect("turns that are here")
}

fn load(world: &mut World, log: &AttestedLog) -> Vec<Output> {
    let out = world.load(log, false, || Event::Contacts(Vec::new()));
    world.loaded(Checksum(1));
    out
}

/// Turns that are appended and executed, and the rest by name.
fn told(out: &[Output]) -> Vec<String> {
    let each = |output: &Output| match output {
        Output::AppendAll(part) => part.records().map(Output::Append).collect(),
        output => vec![output.clone()],
    };
    let one = |output: &Output| match output {
        Output::Append(Record::Start(_)) => "start".to_owned(),
        Output::Append(Record::Bundle(bundle)) => format!("+{}", bundle.turn.0),
        Output::Append(Record::Roster(change)) => format!("+roster {}", change.value.cut),
        Output::Append(Record::Keyframe(keyframe)) => format!("+keyframe {}", keyframe.turns),
        Output::Execute(bundle) => format!("{}", bundle.turn.0),
        Output::Load { turns, .. } => format!("load {turns}"),
        Output::Tail(turns) => match turns.last() {
            Some(last) => format!("~{}", last.turn.0),
            None => "~".to_owned(),
        },
        Output::New { retracted, .. } => match retracted {
            Some(from) => format!("new, from {from}"),
            None => "new".to_owned(),
        },
        Output::Event(_) => "event".to_owned(),
        other => format!("{other:?}"),
    };
    let out: Vec<Output> = out.iter().flat_map(each).collect();
    out.iter().map(one).collect()
}

/// A world that has executed all turns of a log.
fn caught_up(log: &AttestedLog) -> World {
    let mut world = World::new();
    world.begin_with(None);
    load(&mut world, log);
    world.hand_out(log, 100);
    (0..log.confirmed().turns()).for_each(|_| world.executed(Checksum(2)));
    world
}

#[test]
fn a_world_begins_with_the_start_and_is_handed_out_turns_as_it_executes() {
    let log = log_of(&turns(4));
    let mut world = World::new();
    assert_eq!(told(&load(&mut world, &log)), [""; 0]);
    assert!(!world.exists());
    world.begin_with(None);
    assert_eq!(told(&load(&mut world, &log)), ["start", "event", "new"]);
    assert_eq!(told(&load(&mut world, &log)), [""; 0]);
    assert_eq!(told(&world.hand_out(&log, 2)), ["~0", "0", "~1", "1"]);
    assert_eq!(told(&world.hand_out(&log, 2)), [""; 0]);
    world.executed(Checksum(2));
    assert_eq!(told(&world.hand_out(&log, 2)), ["~2", "2"]);
}

#[test]
fn no_turn_is_handed_out_before_the_world_is_built() {
    let log = log_of(&turns(3));
    let mut world = World::new();
    world.begin_with(None);
    world.load(&log, false, || Event::Contacts(Vec::new()));
    assert_eq!(told(&world.hand_out(&log, 9)), [""; 0]);
    world.loaded(Checksum(1));
    assert_eq!(world.hand_out(&log, 9).len(), 6);
}

#[test]
fn a_world_begins_with_a_keyframe_behind_the_log_up_to_it() {
    let log = log_of(&turns(4));
    let mut world = World::new();
    world.begin_with(Some(keyframe(&log, 2)));
    let out = load(&mut world, &log);
    let expected = ["start", "event", "~0", "~1", "load 2"];
    assert_eq!(told(&out), expected);
    assert_eq!(told(&world.hand_out(&log, 9)), ["~2", "2", "~3", "3"]);
}

#[test]
fn a_keyframe_of_another_log_is_no_beginning() {
    let log = log_of(&turns(4));
    let other = Keyframe {
        log_hash: crate::LogHash([1; 16]),
        ..keyframe(&log, 3)
    };
    let keyframes = [keyframe(&log, 2), other, keyframe(&log, 1)];
    let mut world = World::of_log(&log, keyframes.into_iter());
    assert_eq!(told(&load(&mut world, &log)).last().unwrap(), "load 2");
}

#[test]
fn a_detached_world_goes_on_where_all_that_it_followed_counts() {
    let (short, long) = (log_of(&turns(4)), log_of(&turns(6)));
    let held = caught_up(&short).detach(Some((2, short))).expect("it runs");
    let mut world = World::reattached(held, &long, None);
    assert_eq!(told(&load(&mut world, &long)), [""; 0]);
    assert_eq!(told(&world.hand_out(&long, 9)), ["~4", "4", "~5", "5"]);
    // A loading world cannot be taken along.
    let mut loading = World::new();
    loading.begin_with(None);
    assert!(loading.detach(Some((2, log_of(&turns(4))))).is_none());
}

#[test]
fn a_detached_world_begins_anew_where_its_end_does_not_count() {
    let mut other = turns(6);
    other[4] = turn(4, false, vec![crate::log::What::Chat("other".to_owned())]);
    let (ours, theirs) = (log_of(&turns(6)), log_of(&other));
    let held = caught_up(&ours).detach(Some((2, ours))).expect("it runs");
    let mut world = World::reattached(held, &theirs, None);
    assert_eq!(told(&load(&mut world, &theirs)), ["~3", "new, from 4"]);
    // The store has the first four turns, in its tail.
    let out = world.hand_out(&theirs, 9);
    let expected = ["0", "1", "2", "3", "~4", "4", "~5", "5"];
    assert_eq!(told(&out), expected);
}

#[test]
fn a_world_behind_a_change_that_does_not_count_has_strayed() {
    let (start, mut records) = (start(3), turns(6));
    let hash = log_of(&records[..4]).verified().head().hash();
    let change: RosterChange = false_alarm(&start, 0, 4, hash);
    let value = Value::of(Peers(0b011), 4).with_log(hash);
    let other = decided(&start, 0, value);
    records.insert(4, Record::Roster(change));
    let ours = log_of(&records[..5]);
    records[4] = Record::Roster(other);
    let theirs = log_of(&records[..5]);
    let held = caught_up(&ours).detach(Some((2, ours))).expect("it runs");
    assert!(World::reattached(held, &theirs, None).strayed().is_some());
}

#[test]
fn a_world_that_has_gone_too_far_has_strayed() {
    let (ours, theirs) = (log_of(&turns(40)), log_of(&turns(31)));
    let held = caught_up(&ours).detach(Some((2, ours))).expect("it runs");
    assert!(World::reattached(held, &theirs, None).strayed().is_some());
    let ours = log_of(&turns(39));
    let held = caught_up(&ours).detach(Some((2, ours))).expect("it runs");
    assert_eq!(World::reattached(held, &theirs, None).strayed(), None);
}

#[test]
fn a_world_begins_again_once_the_log_goes_further_than_its_final_turns() {
    let mut other = turns(14);
    other[10] = turn(10, false, vec![crate::log::What::Chat("other".to_owned())]);
    let ours = log_of(&turns(12));
    let mut world = caught_up(&ours);
    assert!(world.is_idle());
    world.begin_again(2, ours);
    assert_eq!(world.executed_turns(), Some((12, Checksum(2))));
    world.begin_with(None);
    let short = log_of(&other[..4]);
    assert_eq!(
        told(&load(&mut world, &short)),
        [""; 0],
        "4 turns are final"
    );
    assert!(!world.exists() && world.strayed().is_none());
    let theirs = log_of(&other);
    assert_eq!(told(&load(&mut world, &theirs)), ["~9", "new, from 10"]);
    let out = told(&world.hand_out(&theirs, 20));
    let logged = out.iter().filter(|what| what.starts_with('+'));
    assert_eq!(Vec::from_iter(logged), ["+4", "+5"], "the store has four");
}

#[test]
fn a_world_does_not_begin_again_where_its_final_turns_do_not_count() {
    let mut other = turns(14);
    other[2] = turn(2, false, vec![crate::log::What::Chat("other".to_owned())]);
    let (ours, theirs) = (log_of(&turns(12)), log_of(&other));
    let mut world = caught_up(&ours);
    world.begin_again(2, ours);
    world.begin_with(None);
    assert_eq!(told(&load(&mut world, &theirs)), [""; 0]);
    assert!(world.strayed().is_some());
}

#[test]
fn a_turn_is_final_once_as_many_follow_as_the_longest_delay_has() {
    let log = log_of(&turns(10));
    let mut world = World::new();
    world.begin_with(Some(keyframe(&log, 1)));
    load(&mut world, &log);
    let out = told(&world.hand_out(&log, 9));
    let logged = out.iter().filter(|what| what.starts_with('+'));
    assert_eq!(Vec::from_iter(logged), ["+0", "+keyframe 1", "+1"]);
    assert_eq!(told(&world.settle(3)), ["+2"]);
}

#[test]
fn a_world_that_was_not_reopened_goes_on_following() {
    let log = log_of(&turns(4));
    let held = caught_up(&log).detach(Some((2, log))).expect("it runs");
    assert_eq!(held.followed().turns(), 4);
    let (mut world, known) = World::attach(held);
    let (log, me) = known.expect("a world has run");
    assert_eq!((me, world.hand_out(&log, 9).len()), (2, 0));
    let running = world.running().expect("it runs on");
    assert_eq!((running.executed, running.checksum), (4, Checksum(2)));
}

#[test]
fn a_recorded_log_has_its_keyframe_where_its_turn_is() {
    let stored = |at: u32, provisional: u32| {
        let log = || VerifiedLog::of(start(3), turns(6), &signer(0));
        let keyframe = keyframe(&AttestedLog::of(log()), at);
        let (_, out) = DetachedWorld::recorded(log(), 0, Some(keyframe), provisional);
        told(&out).join(" ")
    };
    assert_eq!(stored(2, 4), "start +0 +1 +keyframe 2 +2 +3 ~5");
    assert_eq!(stored(4, 4), "start +0 +1 +2 +3 +keyframe 4 ~5");
    assert_eq!(stored(5, 4), "start +0 +1 +2 +3 ~5", "it waits");
}

#[test]
fn a_long_log_goes_into_the_store_without_being_decoded_at_once() {
    let turns: u32 = 1 << 20;
    let mut log = VerifiedLog::new(start(3));
    for at in 0..turns {
        log.take(&turn(at, false, Vec::new()), &signer(0))
            .expect("it follows");
    }
    let log = AttestedLog::of(log);
    let begin = keyframe(&log, turns - 1);
    let taken = allocation_counter::measure(|| {
        let mut world = World::new();
        world.begin_with(Some(begin));
        let out = load(&mut world, &log);
        let parts = out.iter().filter_map(|output| match output {
            Output::AppendAll(part) => Some(part.records().count() as u32),
            _ => None,
        });
        assert_eq!(parts.sum::<u32>(), turns - 9);
    });
    assert!(taken.bytes_max < 1 << 20, "{} bytes", taken.bytes_max);
}
