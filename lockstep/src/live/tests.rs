//! What a match alone takes from the game that plays it.

#[cfg(feature = "quic")]
mod disk;
#[cfg(feature = "quic")]
mod dropped;
#[cfg(feature = "quic")]
mod peers;
#[cfg(feature = "quic")]
mod places;

use super::*;
use crate::{Match, Status};
use sim::{Checksum, Entry, Outcome, Simulation, Start};

fn ready() -> Answer {
    Answer::Ready {
        checksum: Checksum(0),
    }
}

fn alone() -> Live {
    Live::single_player(vec![1], RulesId([0; 16]), Config::default()).expect("it needs no network")
}

#[test]
fn an_answer_that_nothing_asked_for_is_refused_and_changes_nothing() {
    let mut live = alone();
    assert_eq!(live.answer(ready()), Err(WrongAnswer::NotAsked));
    let work = loop {
        live.wait(Duration::from_millis(5));
        if let Some(work) = live.next(Duration::ZERO) {
            break work;
        }
    };
    assert!(matches!(work, Work::New { .. }));
    let executed = Answer::Executed {
        checksum: Checksum(0),
        outcome: None,
        step: Duration::ZERO,
    };
    assert_eq!(live.answer(executed), Err(WrongAnswer::OtherKind));
    let saved = Answer::Saved(Vec::new());
    assert_eq!(live.answer(saved), Err(WrongAnswer::OtherKind));
    assert_eq!(live.next_turn(), TurnNumber(0));
    assert_eq!(live.answer(ready()), Ok(()), "it still waits");
    assert_eq!(live.answer(ready()), Err(WrongAnswer::NotAsked));
}

#[test]
fn commands_that_two_turns_do_not_hold_are_refused_by_name() {
    let mut config = Config::default();
    config.host.terms.plan.ticks = 1;
    let live = Live::single_player(vec![1], RulesId([0; 16]), config);
    let mut live = live.expect("it needs no network");
    let (mut issued, mut executed, mut told) = (Vec::new(), Vec::new(), Vec::new());
    let mut refused = 0;
    while executed.len() < 30 {
        live.wait(Duration::from_millis(2));
        while let Some(work) = live.next(Duration::ZERO) {
            let answer = match work {
                Work::New { .. } | Work::Load { .. } => ready(),
                Work::Save { .. } => Answer::Saved(Vec::new()),
                Work::Execute(bundle) => {
                    let turns = bundle.entries.iter().map(|_| bundle.turn);
                    executed.extend(turns);
                    Answer::Executed {
                        checksum: Checksum(0),
                        outcome: None,
                        step: Duration::ZERO,
                    }
                }
            };
            live.answer(answer).expect("it was asked for");
        }
        told.extend(live.events());
        // A turn holds two of these.
        match live.issue(Seat(0), vec![7; 240]) {
            Ok(of) => issued.push(of),
            Err(Refused::Backlog { bytes, limit }) => {
                assert!(bytes <= limit && bytes + 243 > limit, "{bytes} of {limit}");
                refused += 1;
            }
            Err(other) => assert_eq!((other, issued.len()), (Refused::NotLive, 0)),
        }
    }
    assert!(refused > 0, "{} were taken at once", issued.len());
    let begins = |event: &Event| matches!(event, Event::Backlog { .. });
    assert!(told.iter().any(begins), "{told:?}");
    for (at, (of, turn)) in issued.iter().zip(&executed).enumerate() {
        // A batch may be sealed while the command is on its way to the network thread.
        let off = turn.0.abs_diff(of.turn.0);
        assert!(
            of.id.number == at as u32 && off <= 1,
            "{of:?} in turn {turn}"
        );
    }
}

/// A world with a command that cannot be written.
#[derive(serde::Serialize, serde::Deserialize)]
struct Mute;

sim::state_by_serde!(Mute);

#[derive(Clone, serde::Deserialize)]
struct Unsayable;

impl serde::Serialize for Unsayable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("it cannot be said"))
    }
}

impl Simulation for Mute {
    type Setup = ();
    type Command = Unsayable;
    type Effect = ();

    fn rules((): &()) -> RulesId {
        RulesId([0; 16])
    }

    fn new(_: &Start<()>) -> Self {
        Mute
    }

    fn step(&mut self, _: &[Entry<Unsayable>], _: &mut Vec<()>) {}

    fn outcome(&self) -> Option<Outcome> {
        None
    }
}

#[test]
fn a_command_that_does_not_encode_is_refused_as_such() {
    let mut game = Match::<Mute>::single_player((), Config::default()).expect("alone");
    while game.status() != Status::Running {
        game.wait(Duration::from_millis(5));
        game.poll();
    }
    assert_eq!(game.issue(Unsayable), Err(Refused::Unencodable));
}

#[test]
fn waits_and_sizes_beyond_all_use_and_no_budget_end_no_match() {
    let mut config = Config::default();
    (config.suspicion, config.stall_limit) = (Duration::MAX, Some(Duration::MAX));
    config.budget = Duration::ZERO;
    config.host.terms.plan.ticks = 1;
    config.limits = Limits {
        handshake: Duration::MAX,
        unexecuted_turns: u32::MAX,
        snapshot_bytes: u64::MAX,
        catch_up_bytes: u64::MAX,
        ..Limits::default()
    };
    let mut game = Match::<Mute>::single_player((), config).expect("alone");
    while game.ticks() < 3 {
        game.wait(Duration::from_millis(5));
        let events = game.poll();
        let ended = events.iter().any(|event| matches!(event, Event::Ended(_)));
        assert!(!ended, "{events:?}");
    }
}

/// A world that fails in the step of this tick.
#[derive(serde::Serialize, serde::Deserialize)]
struct Fragile {
    ticks_left: u32,
}

sim::state_by_serde!(Fragile);

impl Simulation for Fragile {
    type Setup = u32;
    type Command = ();
    type Effect = ();

    fn rules(_: &u32) -> RulesId {
        RulesId([0; 16])
    }

    fn new(start: &Start<u32>) -> Self {
        Fragile {
            ticks_left: start.setup,
        }
    }

    fn step(&mut self, _: &[Entry<()>], _: &mut Vec<()>) {
        self.ticks_left = self.ticks_left.checked_sub(1).expect("ticks are left");
    }

    fn outcome(&self) -> Option<Outcome> {
        None
    }
}

#[test]
fn a_panic_of_the_world_ends_its_match_with_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = Config {
        reports: folder.path().to_owned(),
        ..Config::default()
    };
    let ticks = u32::from(Plan::default().ticks) * 3 + 1;
    let mut game = Match::<Fragile>::single_player(ticks, config).expect("alone");
    let ended = loop {
        game.wait(Duration::from_millis(5));
        let ended = game.poll().into_iter().find_map(|event| match event {
            Event::Ended(ended) => Some(ended),
            _ => None,
        });
        if let Some(ended) = ended {
            break ended;
        }
    };
    assert!(game.world().is_none() && game.poll().is_empty());
    let crate::EndReason::WorldFault {
        turn,
        message,
        report: Some(report),
    } = &ended.reason
    else {
        panic!("{}", ended.reason);
    };
    assert_eq!((turn.0, message.as_str()), (3, "ticks are left"));
    let text = std::fs::read_to_string(report.join("report.txt")).expect("a text");
    assert!(text.contains("in turn 3: ticks are left"), "{text}");
    let log = std::fs::read(report.join("match.log")).expect("a log");
    let records = crate::log::Codec::default().decode_all(&log, &Limits::default());
    let turns = records.expect("it decodes").into_iter();
    let turns = turns.filter(|record| matches!(record, crate::log::Record::Bundle(_)));
    assert!(turns.count() >= 4, "the log holds the failing turn");
}

/// A world that fails when it is built, for setup 0, or when it is asked for its outcome.
#[derive(serde::Serialize, serde::Deserialize)]
struct Undecided;

sim::state_by_serde!(Undecided);

impl Simulation for Undecided {
    type Setup = u32;
    type Command = ();
    type Effect = ();

    fn rules(_: &u32) -> RulesId {
        RulesId([0; 16])
    }

    fn new(start: &Start<u32>) -> Self {
        assert!(start.setup > 0, "no land");
        Undecided
    }

    fn step(&mut self, _: &[Entry<()>], _: &mut Vec<()>) {}

    fn outcome(&self) -> Option<Outcome> {
        panic!("no winner")
    }
}

#[test]
fn a_panic_outside_a_step_ends_the_match_as_well() {
    for (setup, said) in [(0, "no land"), (1, "no winner")] {
        let folder = tempfile::tempdir().expect("a folder");
        let config = Config {
            reports: folder.path().to_owned(),
            ..Config::default()
        };
        let mut game = Match::<Undecided>::single_player(setup, config).expect("alone");
        let reason = loop {
            game.wait(Duration::from_millis(5));
            let ended = game.poll().into_iter().find_map(|event| match event {
                Event::Ended(ended) => Some(ended.reason),
                _ => None,
            });
            if let Some(reason) = ended {
                break reason;
            }
        };
        let crate::EndReason::WorldFault {
            turn,
            message,
            report: Some(report),
        } = reason
        else {
            panic!("{reason}");
        };
        assert_eq!((turn.0, message.as_str()), (0, said));
        let text = std::fs::read_to_string(report.join("report.txt")).expect("a text");
        assert!(text.contains(said), "{text}");
    }
}
