//! Numbers of units and buildings, and match time, as English text.

use crate::world::Kind;
use std::time::Duration;

pub(crate) use replay::clock;

/// The match time of a tick, at the tick length with which the match began. A slower pace does not change it.
pub(crate) fn match_time(tick: u64, tick_ms: u16) -> Duration {
    Duration::from_millis(tick.saturating_mul(u64::from(tick_ms)))
}

/// `1 turn`, `12 turns`.
pub(crate) fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// `1 archer`, `2 swordsmen`, `1 barracks`.
#[cfg(any(feature = "play", test))]
pub(crate) fn kinds(many: usize, kind: Kind) -> String {
    let name = kind.stats().name;
    match (many, kind) {
        (1, _) | (_, Kind::Barracks) => format!("{many} {name}"),
        (_, Kind::Swordsman) => format!("{many} swordsmen"),
        _ => format!("{many} {name}s"),
    }
}

/// `a worker`, `an archer`, `a barracks`.
pub(crate) fn one(kind: Kind) -> String {
    let name = kind.stats().name;
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {name}")
}

/// `1 of 2 players remains`; without a number where a joiner does not know how many began.
#[cfg(feature = "play")]
pub(crate) fn remaining((playing, all): (usize, usize)) -> String {
    match (playing, all) {
        (_, 0) => "too few players remain".to_owned(),
        (1, _) => format!("1 of {all} players remains"),
        _ => format!("{playing} of {all} players remain"),
    }
}

/// That commands wait: `1 command of seat 2 waits for a later turn`.
#[cfg(feature = "play")]
pub(crate) fn waiting_commands(commands: u32, of: &str) -> String {
    let wait = if commands == 1 { "waits" } else { "wait" };
    let commands = count(u64::from(commands), "command");
    format!("{commands} of {of} {wait} for a later turn")
}

/// That a reopening lacks the last turns of this peer's recording.
#[cfg(feature = "play")]
pub(crate) fn lost_turns(lost: u32) -> String {
    match lost {
        1 => "the last recorded turn does not count: too few players recorded it".to_owned(),
        _ => format!("the last {lost} recorded turns do not count: too few players recorded them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_and_articles() {
        assert_eq!(count(0, "turn"), "0 turns");
        assert_eq!(count(1, "turn"), "1 turn");
        assert_eq!(count(12, "late turn"), "12 late turns");
        assert_eq!(kinds(1, Kind::Worker), "1 worker");
        assert_eq!(kinds(2, Kind::Archer), "2 archers");
        assert_eq!(kinds(3, Kind::Swordsman), "3 swordsmen");
        assert_eq!(kinds(1, Kind::Barracks), "1 barracks");
        assert_eq!(kinds(2, Kind::Barracks), "2 barracks");
        assert_eq!(kinds(12, Kind::TownHall), "12 town halls");
        assert_eq!(one(Kind::Archer), "an archer");
        assert_eq!(one(Kind::Barracks), "a barracks");
    }

    #[cfg(feature = "play")]
    #[test]
    fn a_verb_agrees_with_its_number() {
        for (commands, wanted) in [
            (1, "1 command of Ada waits for a later turn"),
            (2, "2 commands of Ada wait for a later turn"),
        ] {
            assert_eq!(waiting_commands(commands, "Ada"), wanted);
        }
        assert!(lost_turns(1).starts_with("the last recorded turn does not count"));
        assert!(lost_turns(2).starts_with("the last 2 recorded turns do not count"));
    }
}
