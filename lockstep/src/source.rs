//! What a world is fed with. `Live` serves any session (network, single player), `replay::Player` a file.
//!
//! [`Match`](crate::Match) runs this loop for a world that implements [`sim::Simulation`]. A game with a loop of
//! its own runs it directly: take the next piece of [`Work`], do it, [`answer`](TurnSource::answer).
//!
//! Any engine and any representation of the world will do, as long as a turn is executed alike everywhere. Setup and
//! commands travel as bytes; those of [`postcard`](https://docs.rs/postcard) are what [`Match`](crate::Match),
//! [`world_entries`](crate::world_entries) and the `replay` crate use.
//!
//! ```
//! use lockstep::source::{Answer, TurnSource, Work, WrongAnswer};
//! use lockstep::world_entries;
//! use sim::{Simulation, State};
//! use std::time::Instant;
//!
//! /// Call it once a frame; `begun` is when the game began.
//! fn update<World: Simulation>(
//!     world: &mut Option<World>,
//!     feed: &mut impl TurnSource,
//!     begun: Instant,
//! ) -> Result<(), WrongAnswer> {
//!     while let Some(work) = feed.next(begun.elapsed()) {
//!         let answer = match work {
//!             Work::New { start, .. } => match postcard::from_bytes(&start.setup) {
//!                 // A recording may be of other rules.
//!                 Ok(setup) if World::rules(&setup) == start.rules => {
//!                     let start = sim::Start { setup, seed: start.seed, seats: start.seats() };
//!                     Answer::Ready { checksum: world.insert(World::new(&start)).checksum() }
//!                 }
//!                 _ => Answer::Failed,
//!             },
//!             Work::Load { snapshot, .. } => match World::load(&snapshot) {
//!                 Ok(loaded) => Answer::Ready { checksum: world.insert(loaded).checksum() },
//!                 Err(_) => Answer::Failed,
//!             },
//!             Work::Execute(bundle) => {
//!                 let world = world.as_mut().expect("New or Load comes first");
//!                 let stepping = Instant::now();
//!                 let (mut entries, _resigned) = world_entries(&bundle);
//!                 for _ in 0..bundle.ticks() {
//!                     world.step(&entries, &mut Vec::new());
//!                     entries.clear(); // they belong to the first tick
//!                 }
//!                 Answer::Executed {
//!                     checksum: world.checksum(),
//!                     outcome: world.outcome(),
//!                     step: stepping.elapsed(),
//!                 }
//!             }
//!             Work::Save { .. } => {
//!                 let mut snapshot = Vec::new();
//!                 world.as_ref().expect("New or Load comes first").save(&mut snapshot);
//!                 Answer::Saved(snapshot)
//!             }
//!         };
//!         feed.answer(answer)?;
//!     }
//!     for event in feed.events() {
//!         println!("{event:?}"); // `Event::Ended` is the last
//!     }
//!     Ok(())
//! }
//! ```
//!
//! This one steps a turn's ticks at once. For smooth motion keep the bundle, step one tick per
//! [`pace`](TurnSource::pace), and answer after the last.

use crate::log::{Bundle, Start};
use crate::{Event, Issued, Refused, Status, TurnNumber};
use sim::{Checksum, Outcome, Seat};
use std::sync::Arc;
use std::time::Duration;

/// One piece of work for the world. Mandatory, in order, one at a time. Exhaustive: a game has to do every kind of it.
#[derive(Clone, Debug)]
pub enum Work {
    /// Build the world of this start, in the place of another one where there is one. Answer [`Answer::Ready`], or
    /// [`Answer::Failed`] where the rules of the start are not this build's: a recording may have others.
    New {
        /// Setup, seed and seats.
        start: Arc<Start>,
        /// Turns from this one on were executed before, and are retracted.
        retracted: Option<TurnNumber>,
    },
    /// Replace the world by a snapshot. Answer [`Answer::Ready`].
    Load {
        /// Turns that the snapshot's world has executed.
        turns: u32,
        /// Ticks that it has stepped.
        ticks: u64,
        /// What [`sim::State::save`] wrote.
        snapshot: Arc<[u8]>,
        /// Turns from this one on were executed before, and are retracted.
        retracted: Option<TurnNumber>,
    },
    /// Apply the bundle's entries before the first tick, step its ticks. Answer [`Answer::Executed`].
    Execute(Bundle),
    /// Save the world. Answer [`Answer::Saved`].
    Save {
        /// Turns executed so far.
        turns: u32,
    },
}

/// What became of a piece of work. Exhaustive: a source has to take every answer.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The world is built or loaded.
    Ready {
        /// Checksum of the world before the next turn.
        checksum: Checksum,
    },
    /// The turn was executed.
    Executed {
        /// Checksum of the world after it.
        checksum: Checksum,
        /// How the match ended, if it has.
        outcome: Option<Outcome>,
        /// Time spent in stepping.
        step: Duration,
    },
    /// The world's bytes.
    Saved(Vec<u8>),
    /// The world cannot be built or loaded. The world of before must still be there: a replay goes on with it where one of
    /// its keyframes does not load.
    Failed,
    /// The world panicked, and is used no more. Answers any piece of work; no other follows, but another world may be
    /// asked for where a replay is sought in.
    Faulted {
        /// The turn that it executed, or would have executed next.
        turn: TurnNumber,
        /// What the panic said.
        message: String,
    },
}

/// Why an answer was not taken. Nothing has come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WrongAnswer {
    /// No piece of work waits for an answer.
    #[error("no piece of work waits for an answer")]
    NotAsked,
    /// The piece of work asks for another kind of answer. It still waits.
    #[error("the piece of work asks for another kind of answer")]
    OtherKind,
}

/// A source of turns.
pub trait TurnSource {
    /// The next piece of work, if it is time for one. `now` is the caller's clock; it never goes back.
    ///
    /// # Panics
    /// When the last piece was not answered.
    fn next(&mut self, now: Duration) -> Option<Work>;

    /// The answer to the piece that [`next`](Self::next) gave.
    ///
    /// # Errors
    /// [`WrongAnswer`]: no piece waits for an answer, or for one of another kind.
    fn answer(&mut self, answer: Answer) -> Result<(), WrongAnswer>;

    /// What has happened since the last call.
    fn events(&mut self) -> Vec<Event>;

    /// Hands over an encoded command of `seat`: as postcard writes it, where [`world_entries`](crate::world_entries)
    /// decodes it.
    ///
    /// # Errors
    /// [`Refused`]: the command was not taken and will not be executed.
    fn issue(&mut self, seat: Seat, command: Vec<u8>) -> Result<Issued, Refused>;

    /// Seats of this peer; empty before the start, for spectators and for replays.
    fn own_seats(&self) -> &[Seat];

    /// Where the match stands.
    fn status(&self) -> Status;

    /// Time from one tick to the next; `None`: as fast as possible (catching up, seeking).
    fn pace(&self) -> Option<Duration>;

    /// Waits until there may be work or an event, at most `timeout`.
    fn wait(&mut self, timeout: Duration);

    /// The next turn to execute, once known.
    fn next_turn(&self) -> TurnNumber;
}

impl<T: TurnSource + ?Sized> TurnSource for Box<T> {
    fn next(&mut self, now: Duration) -> Option<Work> {
        (**self).next(now)
    }
    fn answer(&mut self, answer: Answer) -> Result<(), WrongAnswer> {
        (**self).answer(answer)
    }
    fn events(&mut self) -> Vec<Event> {
        (**self).events()
    }
    fn issue(&mut self, seat: Seat, command: Vec<u8>) -> Result<Issued, Refused> {
        (**self).issue(seat, command)
    }
    fn own_seats(&self) -> &[Seat] {
        (**self).own_seats()
    }
    fn status(&self) -> Status {
        (**self).status()
    }
    fn pace(&self) -> Option<Duration> {
        (**self).pace()
    }
    fn wait(&mut self, timeout: Duration) {
        (**self).wait(timeout);
    }
    fn next_turn(&self) -> TurnNumber {
        (**self).next_turn()
    }
}
