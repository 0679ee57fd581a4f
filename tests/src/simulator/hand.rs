//! The game's side of one peer: it executes what the session hands out, at the pace a screen would.

use super::playable::{Playable, build, execute};
use lockstep::log::{Bundle, Start};
use lockstep::session::Input;
use sim::Checksum;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// One piece of work for a world.
pub enum Piece {
    /// Build it.
    New(Arc<Start>),
    /// Execute a turn.
    Execute(Bundle),
    /// Replace it by a snapshot.
    Load(Arc<[u8]>),
    /// Save it.
    Save(u32),
}

/// A world and the work that waits for it.
pub struct Hand<W> {
    world: Option<W>,
    waiting: VecDeque<Piece>,
    running: bool,
    load: Duration,
    step: Duration,
    /// The turn after which this world goes wrong.
    flaw: Option<u32>,
}

impl<W: Playable> Hand<W> {
    /// Without a world yet.
    pub fn new(load: Duration, step: Duration, flaw: Option<u32>) -> Self {
        Hand {
            world: None,
            waiting: VecDeque::new(),
            running: false,
            load,
            step,
            flaw,
        }
    }

    /// From the next turn on a tick takes so long.
    pub fn set_step(&mut self, step: Duration) {
        self.step = step;
    }

    /// Queues a piece. How long until [`finish`](Self::finish), where nothing was running.
    pub fn take(&mut self, piece: Piece) -> Option<Duration> {
        self.waiting.push_back(piece);
        self.begin()
    }

    /// Whether a piece runs.
    pub fn is_running(&self) -> bool {
        self.running
    }

    /// Pieces that wait or run.
    pub fn behind(&self) -> usize {
        self.waiting.len()
    }

    /// Whether its world is still to be saved.
    pub fn saves(&self) -> bool {
        self.waiting
            .iter()
            .any(|piece| matches!(piece, Piece::Save(_)))
    }

    /// Ends the running piece: what to tell the session, and the checksum after an executed turn.
    ///
    /// # Panics
    /// When none is running, or a turn comes before its world.
    pub fn finish(&mut self) -> (Input<'static>, Option<(u32, Checksum)>) {
        assert!(self.running, "only a running piece can end");
        self.running = false;
        let piece = self.waiting.pop_front().expect("the running piece is kept");
        match piece {
            Piece::New(start) => {
                self.world = build(&start);
                let input = match &self.world {
                    Some(world) => Input::Loaded {
                        checksum: world.checksum(),
                    },
                    None => Input::LoadFailed,
                };
                (input, None)
            }
            Piece::Execute(bundle) => {
                let world = self.world.as_mut().expect("turns come after the world");
                execute(world, &bundle);
                if self.flaw == Some(bundle.turn.0) {
                    world.corrupt();
                }
                let checksum = world.checksum();
                let outcome = world.outcome();
                let step = self.step * u32::from(bundle.ticks());
                let input = Input::Executed {
                    checksum,
                    outcome,
                    step,
                };
                (input, Some((bundle.turn.0, checksum)))
            }
            Piece::Load(snapshot) => {
                self.world = W::load(&snapshot).ok();
                let input = match &self.world {
                    Some(world) => Input::Loaded {
                        checksum: world.checksum(),
                    },
                    None => Input::LoadFailed,
                };
                (input, None)
            }
            Piece::Save(turns) => {
                let world = self.world.as_ref().expect("a save comes after the world");
                let mut bytes = Vec::new();
                world.save(&mut bytes);
                let bytes = bytes.into();
                (Input::Snapshot { turns, bytes }, None)
            }
        }
    }

    /// Begins the next piece, if one waits and none runs. How long it takes.
    pub fn begin(&mut self) -> Option<Duration> {
        if self.running {
            return None;
        }
        let takes = match self.waiting.front()? {
            Piece::New(_) => self.load,
            Piece::Execute(bundle) if self.waiting.len() <= 2 => paced(bundle, self.step),
            Piece::Execute(bundle) => self.step * u32::from(bundle.ticks()),
            Piece::Save(_) | Piece::Load(_) => Duration::ZERO,
        };
        self.running = true;
        Some(takes)
    }
}

/// Ticks are spread over the turn; its last one ends it.
fn paced(bundle: &Bundle, step: Duration) -> Duration {
    match bundle.ticks() {
        0 => Duration::ZERO,
        ticks => bundle.plan.tick().max(step) * u32::from(ticks - 1) + step,
    }
}
