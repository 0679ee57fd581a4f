//! What a world is: started once from what the lobby agreed, then stepped.

use crate::State;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// A numbered place whose commands count, `0..n`. Seats act in ascending order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Seat(pub u8);

/// The match seed. No single peer can choose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed(pub [u8; 32]);

/// Names a set of rules: code version and data tables. Peers with different rules cannot play together.
///
/// It names neither a build nor a target: other targets are other builds of the same rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RulesId(pub [u8; 16]);

/// What the lobby agreed: the game's own setup, and what no single peer may choose.
#[derive(Clone, Debug)]
pub struct Start<T> {
    /// The game's own settings: map, options.
    pub setup: T,
    /// The agreed seed.
    pub seed: Seed,
    /// The seats in play, ascending.
    pub seats: Vec<Seat>,
}

/// One thing that reaches a step. Nothing else ever does. Exhaustive: a world has to obey each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry<C> {
    /// A player's intent. It may be illegal (a dead unit, another seat's unit, no gold): the world gives it
    /// one defined outcome, usually none.
    Command {
        /// The seat that issued it.
        seat: Seat,
        /// The command itself.
        command: C,
    },
    /// A seat changed hands.
    Seat {
        /// The seat.
        seat: Seat,
        /// How the seat is held from this tick on.
        state: SeatState,
    },
}

/// How a seat is held. Exhaustive: a world has to obey each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SeatState {
    /// A peer issues for it. Every seat starts so.
    Played,
    /// Its peer is gone, and the seat issues nothing.
    Idle,
    /// Its peer is gone; the world's own AI plays it.
    Ai,
    /// A command of it does not decode, which no build of these rules writes. Its other commands of that turn are skipped.
    /// A world that means to close the seat ignores what comes later: commands, and other states of it.
    Resigned,
}

/// How a match ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The seat that won; `None` is a draw.
    pub winner: Option<Seat>,
}

/// A deterministic world.
pub trait Simulation: State {
    /// The game's own settings, chosen by the host and signed by every peer.
    type Setup: Serialize + DeserializeOwned + Clone;
    /// A player's intent. Append variants, so that old recordings decode. Each change, an appended variant too, changes
    /// [`rules`](Self::rules): to a build without it, the command does not decode.
    type Command: Serialize + DeserializeOwned + Clone;
    /// What a step tells the screen (a death, a hit). Never state; dropped while catching up.
    type Effect;

    /// Version and data tables, as one number. Equal rules or no match.
    fn rules(setup: &Self::Setup) -> RulesId;

    /// The world before the first tick.
    fn new(start: &Start<Self::Setup>) -> Self;

    /// Advances by one tick. `entries` are in order: by seat, and within a seat as issued.
    ///
    /// A panic here ends the match: no entry that a peer can send may cause one.
    fn step(&mut self, entries: &[Entry<Self::Command>], effects: &mut Vec<Self::Effect>);

    /// How the match ended, once it has. The session asks after the last tick of each turn. The first answer
    /// that is not `None` ends the match for all peers at that turn.
    fn outcome(&self) -> Option<Outcome> {
        None
    }
}
