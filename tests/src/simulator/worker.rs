//! The game's side of one peer: it executes what the session hands out, at the pace of a screen.

use super::playable::{Playable, build, execute};
use lockstep::log::{Bundle, Start};
use lockstep::session::Input;
use sim::Checksum;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// One job for a world.
pub enum Job {
    /// Build it.
    New(Arc<Start>),
    /// Execute a turn.
    Execute(Bundle),
    /// Replace it by a snapshot.
    Load(Arc<[u8]>),
    /// Save it.
    Save(u32),
}

/// A world with its queue of jobs.
pub struct WorldWorker<W> {
    world: Option<W>,
    waiting: VecDeque<Job>,
    running: bool,
    load: Duration,
    step: Duration,
    /// The time that a tick takes by its peer's word, where that is a lie.
    claims: Option<Duration>,
    /// The turn after which this world goes wrong.
    flaw: Option<u32>,
}

impl<W: Playable> WorldWorker<W> {
    /// Without a world yet.
    pub fn new(load: Duration, step: Duration, flaw: Option<u32>) -> Self {
        WorldWorker {
            world: None,
            waiting: VecDeque::new(),
            running: false,
            load,
            step,
            claims: None,
            flaw,
        }
    }

    /// Has the peer lie about the time that a tick takes.
    pub fn claim(&mut self, step: Duration) {
        self.claims = Some(step);
    }

    /// Sets the time that a tick takes, from the next turn on.
    pub fn set_step(&mut self, step: Duration) {
        self.step = step;
    }

    /// Queues a job. Returns the time until [`finish`](Self::finish), if no job was running.
    pub fn take(&mut self, job: Job) -> Option<Duration> {
        self.waiting.push_back(job);
        self.begin()
    }

    /// Whether a job is running.
    pub fn is_running(&self) -> bool {
        self.running
    }

    /// Jobs that wait or run.
    pub fn behind(&self) -> usize {
        self.waiting.len()
    }

    /// Ends the running job. Returns the input for the session, and the checksum after an executed turn.
    ///
    /// # Panics
    /// If no job is running, or a turn precedes its world.
    pub fn finish(&mut self) -> (Input<'static>, Option<(u32, Checksum)>) {
        assert!(self.running, "only a running job can end");
        self.running = false;
        let job = self.waiting.pop_front().expect("the running job is kept");
        match job {
            Job::New(start) => {
                self.world = build(&start);
                let input = match &self.world {
                    Some(world) => Input::Loaded {
                        checksum: world.checksum(),
                    },
                    None => Input::LoadFailed,
                };
                (input, None)
            }
            Job::Execute(bundle) => {
                let world = self.world.as_mut().expect("turns come after the world");
                execute(world, &bundle);
                if self.flaw == Some(bundle.turn.0) {
                    world.corrupt();
                }
                let checksum = world.checksum();
                let outcome = world.outcome();
                let step = self.claims.unwrap_or(self.step) * u32::from(bundle.ticks());
                let input = Input::Executed {
                    checksum,
                    outcome,
                    step,
                };
                (input, Some((bundle.turn.0, checksum)))
            }
            Job::Load(snapshot) => {
                self.world = W::load(&snapshot).ok();
                let input = match &self.world {
                    Some(world) => Input::Loaded {
                        checksum: world.checksum(),
                    },
                    None => Input::LoadFailed,
                };
                (input, None)
            }
            Job::Save(turns) => {
                let world = self.world.as_ref().expect("a save comes after the world");
                let mut bytes = Vec::new();
                world.save(&mut bytes);
                let bytes = bytes.into();
                (Input::Snapshot { turns, bytes }, None)
            }
        }
    }

    /// Begins the next job, if one waits and none runs. Returns its duration.
    pub fn begin(&mut self) -> Option<Duration> {
        if self.running {
            return None;
        }
        let takes = match self.waiting.front()? {
            Job::New(_) => self.load,
            Job::Execute(bundle) if self.waiting.len() <= 2 => paced(bundle, self.step),
            Job::Execute(bundle) => self.step * u32::from(bundle.ticks()),
            Job::Save(_) | Job::Load(_) => Duration::ZERO,
        };
        self.running = true;
        Some(takes)
    }
}

/// Ticks are spread over the turn; the last one ends it.
fn paced(bundle: &Bundle, step: Duration) -> Duration {
    match bundle.ticks() {
        0 => Duration::ZERO,
        ticks => bundle.plan.tick().max(step) * u32::from(ticks - 1) + step,
    }
}
