//! The libraries that are compared, and their settings.

use std::fmt;
use std::str::FromStr;

/// A library, and how it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// This kit over QUIC.
    Ours,
    /// ggrs with a prediction window of none: its lockstep.
    GgrsStock,
    /// ggrs with a window of 8 frames, and a game that advances on confirmed frames alone.
    GgrsGated,
    /// fortress-rollback with a window of 8 frames. It predicts; steps count once they are confirmed.
    Fortress,
    /// synctick. The first player hosts.
    Synctick,
}

/// All of them, in the order of tables.
pub const KINDS: [Kind; 5] = [
    Kind::Ours,
    Kind::GgrsGated,
    Kind::GgrsStock,
    Kind::Fortress,
    Kind::Synctick,
];

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Ours => "ours",
            Kind::GgrsStock => "ggrs-stock",
            Kind::GgrsGated => "ggrs-gated",
            Kind::Fortress => "fortress",
            Kind::Synctick => "synctick",
        }
    }
}

/// A library with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contestant {
    /// The library.
    pub kind: Kind,
    /// Milliseconds in a turn, frame or tick.
    pub cadence_ms: u64,
    /// Turns that the network may take: the input delay of ggrs, and the command delay of ours less one. Of ours and of
    /// ggrs alike, a command waits for the end of its turn first. Without a meaning for synctick, which waits for no
    /// player.
    pub budget_turns: u64,
}

impl Contestant {
    /// The contestant of a kind, with the nearest settings that it allows.
    pub fn new(kind: Kind, cadence_ms: u64, budget_turns: u64) -> Contestant {
        let budget_turns = match kind {
            Kind::Ours => budget_turns.clamp(1, 7),
            Kind::GgrsStock | Kind::GgrsGated => budget_turns.clamp(1, 30),
            Kind::Fortress => budget_turns.min(30),
            Kind::Synctick => 0,
        };
        Contestant {
            kind,
            cadence_ms,
            budget_turns,
        }
    }
}

impl fmt::Display for Contestant {
    /// As its documentation writes the settings: of ours `ours-200x2`, of ggrs `ggrs-gated-200d1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.kind.name();
        let ms = self.cadence_ms;
        match self.kind {
            Kind::Ours => write!(f, "{name}-{ms}x{}", self.budget_turns + 1),
            Kind::Synctick => write!(f, "{name}-{ms}"),
            _ => write!(f, "{name}-{ms}d{}", self.budget_turns),
        }
    }
}

impl FromStr for Contestant {
    type Err = String;

    fn from_str(text: &str) -> Result<Contestant, String> {
        let read = || {
            let (name, settings) = text.rsplit_once('-')?;
            let kind = KINDS.into_iter().find(|kind| kind.name() == name)?;
            let (ms, budget) = match kind {
                Kind::Synctick => (settings, 0),
                Kind::Ours => {
                    let (ms, delay) = settings.split_once('x')?;
                    (ms, delay.parse::<u64>().ok()?.checked_sub(1)?)
                }
                _ => {
                    let (ms, delay) = settings.split_once('d')?;
                    (ms, delay.parse().ok()?)
                }
            };
            let ms = ms.parse().ok().filter(|ms| (1..=1_000).contains(ms))?;
            Some(Contestant::new(kind, ms, budget))
        };
        read().ok_or_else(|| {
            format!(
                "{text:?} is no contestant, such as ours-200x2, ggrs-gated-200d1 or synctick-200"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contestants_are_read_as_they_are_written() {
        for text in [
            "ours-200x2",
            "ggrs-stock-200d1",
            "ggrs-gated-100d2",
            "fortress-50d3",
            "synctick-200",
        ] {
            let read: Contestant = text.parse().expect("a contestant");
            assert_eq!(read.to_string(), text);
        }
        for wrong in [
            "",
            "ours",
            "ours-200d1",
            "ggrs-200d1",
            "ours-0x2",
            "ours-200x0",
        ] {
            assert!(wrong.parse::<Contestant>().is_err(), "{wrong}");
        }
    }
}
