//! How a peer takes part in a match.

use crate::bot::Level;
use crate::recording::RecordedTo;
use lockstep::log::{EncodedLog, LogStore, Terms};
use lockstep::{Moment, Rejoin, Ticket};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// How a peer begins, beside its options.
pub struct Launch {
    /// Whether it is ready at once; otherwise it says so later.
    pub ready: bool,
    /// A recording other than to the file of the options, and the cell for its path.
    pub recording: Option<(Box<dyn LogStore>, RecordedTo)>,
    /// Whether its player can answer players that ask to be let in.
    pub takes_askers: bool,
}

impl Default for Launch {
    fn default() -> Self {
        Launch {
            ready: true,
            recording: None,
            takes_askers: false,
        }
    }
}

/// Which of a peer's seats bots play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bots {
    None,
    All(Level),
    /// Every seat; the first seat's level differs from that of the others.
    FirstAndOthers(Level, Level),
    /// Every seat except the first, which a person plays.
    AllButFirst(Level),
}

impl Bots {
    /// Which seats bots play for a peer that comes back to a recorded match, by its option `--bot`. Its further seats
    /// are those of bots that it hosted: a person plays only the first.
    pub fn on_way_back(bot: Option<Level>) -> Bots {
        bot.map_or(Bots::AllButFirst(Level::Normal), Bots::All)
    }

    /// The level of the first seat's bot, unless a person plays it.
    pub fn first(self) -> Option<Level> {
        match self {
            Bots::All(level) | Bots::FirstAndOthers(level, _) => Some(level),
            Bots::None | Bots::AllButFirst(_) => None,
        }
    }

    /// The level of the other seats' bots.
    pub fn others(self) -> Option<Level> {
        match self {
            Bots::All(level) | Bots::FirstAndOthers(_, level) | Bots::AllButFirst(level) => {
                Some(level)
            }
            Bots::None => None,
        }
    }
}

/// How a peer takes part in a match.
pub enum Part<'a> {
    /// It hosts a new match.
    Host {
        /// What holds for all; the common options give plan and turn limit.
        terms: Terms,
        /// Seats for bots of the host.
        bots: u8,
        listen: SocketAddr,
    },
    Join {
        ticket: &'a Ticket,
        listen: SocketAddr,
    },
    Rejoin {
        from: &'a Rejoin,
        /// The replay that `from` was read from, if any.
        replay: Option<&'a Path>,
        listen: SocketAddr,
    },
    /// It hosts a reopening.
    Reopen {
        from: &'a Rejoin,
        replay: &'a Path,
        /// How long it waits for missing players.
        wait: Duration,
        /// A quorum goes on as soon as it is there.
        first_comers: bool,
        listen: SocketAddr,
    },
    /// It goes on alone where its recording ends, in a branch that the other players may enter.
    Branch {
        from: &'a Rejoin,
        replay: &'a Path,
        listen: SocketAddr,
    },
    /// It plays without a network.
    Alone { seats: u8 },
    /// It plays on from a moment of a recording, on all seats and without a network.
    PlayOn { from: &'a Moment },
}

/// Which key a peer uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyChoice {
    /// The key in the identity file.
    Kept,
    /// A new key that no file keeps.
    Ephemeral,
}

impl Part<'_> {
    /// The ticket by which it joins.
    pub(super) fn ticket(&self) -> Option<&Ticket> {
        match self {
            Part::Join { ticket, .. } => Some(ticket),
            _ => None,
        }
    }

    pub(super) fn replay(&self) -> Option<&Path> {
        match self {
            Part::Rejoin { replay, .. } => *replay,
            Part::Reopen { replay, .. } | Part::Branch { replay, .. } => Some(replay),
            Part::Host { .. } | Part::Join { .. } | Part::Alone { .. } | Part::PlayOn { .. } => {
                None
            }
        }
    }

    /// What is known of the match that this part is in already.
    pub(crate) fn from(&self) -> Option<&Rejoin> {
        match self {
            Part::Rejoin { from, .. } | Part::Reopen { from, .. } | Part::Branch { from, .. } => {
                Some(from)
            }
            Part::Host { .. } | Part::Join { .. } | Part::Alone { .. } | Part::PlayOn { .. } => {
                None
            }
        }
    }

    pub(super) fn recorded(&self) -> u32 {
        let log = self.from().and_then(|from| from.log.as_ref());
        log.map_or(0, EncodedLog::turns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bot_hands;
    use super::*;
    use lockstep::Seat;

    #[test]
    fn a_host_that_comes_back_plays_the_seats_of_its_bots() {
        let played = |bot, own: &[Seat]| bot_hands(Bots::on_way_back(bot), own, 1).len();
        let own = [Seat(0), Seat(2), Seat(3)];
        assert_eq!(played(None, &own), 2);
        assert_eq!(played(None, &own[..1]), 0);
        assert_eq!(played(Some(Level::Hard), &own), 3);
    }
}
