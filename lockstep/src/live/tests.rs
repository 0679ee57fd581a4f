//! What a match alone takes from the game that plays it.

#[cfg(feature = "quic")]
mod disk;
#[cfg(feature = "quic")]
mod peers;

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
