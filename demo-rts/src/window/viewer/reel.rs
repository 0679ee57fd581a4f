//! A replay under a world of its own, stepped tick by tick: it stands still in the middle of a turn, and goes anywhere.

use crate::window::clock::{now, since};
use crate::world::{Effect, TICKS_PER_SECOND, World};
use lockstep::log::Bundle;
use lockstep::source::{Answer, TurnSource, Work};
use lockstep::{TurnNumber, world_entries};
use replay::{Error, Player, Reader, RosterAt, Speed};
use sim::{Checksum, Entry, Simulation, State};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

type Command = <World as Simulation>::Command;

/// A replay and the world at one moment of it.
pub struct Reel {
    player: Player,
    world: Option<World>,
    running: Option<Running>,
    begun: Option<Bundle>,
    tick: u64,
    goal: Option<Goal>,
    effects: Vec<Effect>,
    /// Seconds of play that passed since the last tick.
    since_tick: f32,
    tick_seconds: f32,
    over: bool,
    /// Of the world after the last turn that was executed.
    checksum: Option<Checksum>,
}

/// A turn that is being stepped.
struct Running {
    bundle: Bundle,
    entries: Vec<Entry<Command>>,
    ticks_left: u8,
    step: Duration,
}

/// Where a seek goes.
#[derive(Clone, Copy, Debug)]
struct Goal {
    turn: u32,
    tick: u64,
    begun: bool,
}

/// What one piece of work was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The world stepped a tick.
    Tick,
    /// A turn began.
    Turn,
    /// The world was built or loaded.
    Leap,
    /// There is no more.
    End,
}

impl Reel {
    /// Of this file, before its first turn.
    ///
    /// # Errors
    /// [`Error`]: no such file, not a replay, damaged before its first turn, or of other rules than this build's.
    pub fn open(path: &Path) -> Result<Reel, Error> {
        Reel::of(Reader::open(path)?)
    }

    /// Of this reader.
    ///
    /// # Errors
    /// [`Error`]: of other rules than this build's.
    pub fn of(reader: Reader) -> Result<Reel, Error> {
        reader.setup::<World>()?;
        let tick_seconds = reader.start().terms.plan.tick().as_secs_f32();
        let mut player = Player::new(reader);
        // This reel holds the time.
        player.set_speed(Speed::UNLIMITED);
        Ok(Reel {
            player,
            world: None,
            running: None,
            begun: None,
            tick: 0,
            goal: None,
            effects: Vec::new(),
            since_tick: 0.0,
            tick_seconds,
            over: false,
            checksum: None,
        })
    }

    /// The world, once it is built.
    pub fn world(&self) -> Option<&World> {
        self.world.as_ref()
    }

    /// The file.
    pub fn reader(&self) -> &Reader {
        self.player.reader()
    }

    /// Why the replay ended early, where the disk or a file that changed meanwhile is the reason.
    pub fn error(&self) -> Option<&Error> {
        self.player.error()
    }

    /// Ticks stepped so far.
    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// The turn that is being executed, or is the next.
    pub fn turn(&self) -> u32 {
        let running = self.running.as_ref().map(|running| running.bundle.turn);
        running.unwrap_or_else(|| self.player.next_turn()).0
    }

    /// Ticks that the replay holds.
    pub fn ticks(&self) -> u64 {
        self.reader().ticks_before(TurnNumber(self.turns()))
    }

    /// Turns that the replay holds.
    pub fn turns(&self) -> u32 {
        self.player.turns()
    }

    /// Whether it stands at the end.
    pub fn is_over(&self) -> bool {
        self.over && self.goal.is_none()
    }

    /// Whether it is on its way to where a seek leads.
    pub fn is_seeking(&self) -> bool {
        self.goal.is_some()
    }

    /// The tick that a seek leads to, while there is one.
    pub fn goal_tick(&self) -> Option<u64> {
        self.goal.map(|goal| goal.tick)
    }

    /// How far the next tick is: 0 to 1.
    pub fn alpha(&self) -> f32 {
        (self.since_tick / self.tick_seconds.max(0.001)).clamp(0.0, 1.0)
    }

    /// The changes of the roster before a turn.
    pub fn rosters_at(&self, turn: TurnNumber) -> &[RosterAt] {
        self.reader().rosters_at(turn)
    }

    /// The match time of a tick.
    pub fn time_of(&self, tick: u64) -> Duration {
        let turn = self.turn_of(tick);
        let begun = self.reader().ticks_before(TurnNumber(turn));
        let into = u32::try_from(tick.saturating_sub(begun)).unwrap_or(0);
        let plan = self.reader().plan_at(TurnNumber(turn)).plan;
        self.reader().time_of(TurnNumber(turn)) + plan.tick() * into
    }

    /// The tick at a match time, as the ticks are long there.
    pub fn tick_at(&self, time: Duration) -> u64 {
        let (mut least, mut most) = (0, self.ticks());
        while least < most {
            let middle = least + (most - least) / 2;
            if self.time_of(middle) < time {
                least = middle + 1;
            } else {
                most = middle;
            }
        }
        least
    }

    /// The last turn that begins at this tick or before it.
    pub fn turn_of(&self, tick: u64) -> u32 {
        let (mut least, mut most) = (0, self.turns());
        while least < most {
            let middle = least + (most - least).div_ceil(2);
            if self.reader().ticks_before(TurnNumber(middle)) <= tick {
                least = middle;
            } else {
                most = middle - 1;
            }
        }
        least
    }

    /// Goes to where so many ticks were stepped, or to the end where that comes first. [`pursue`](Self::pursue) does the
    /// work.
    pub fn seek_tick(&mut self, tick: u64) {
        let tick = tick.min(self.ticks());
        let turn = self.turn_of(tick);
        self.set_goal(turn, tick);
    }

    /// Goes to where this turn is the next, or to the end where that comes first.
    pub fn seek_turn(&mut self, turn: u32) {
        let turn = turn.min(self.turns());
        let tick = self.reader().ticks_before(TurnNumber(turn));
        self.set_goal(turn, tick);
    }

    fn set_goal(&mut self, turn: u32, tick: u64) {
        let begun = false;
        self.goal = Some(Goal { turn, tick, begun });
        self.over = false;
        self.since_tick = 0.0;
    }

    /// Works on a seek until it has arrived or the time has come. Returns whether there is nothing more to seek.
    pub fn pursue(&mut self, until: Duration) -> bool {
        while let Some(goal) = &mut self.goal {
            let goal_now = *goal;
            if !goal.begun {
                let runs_there = self.running.as_ref().is_some_and(|running| {
                    running.bundle.turn.0 == goal_now.turn && self.tick <= goal_now.tick
                });
                goal.begun = true;
                if !runs_there {
                    while self.running.is_some() {
                        self.work();
                    }
                    self.player.seek(TurnNumber(goal_now.turn));
                }
            }
            let there = self.turn() == goal_now.turn && self.tick == goal_now.tick;
            if there && self.world.is_some() {
                self.goal = None;
                // Nothing need be played to know it: a viewer that stands still is at the end as well.
                self.over = goal_now.turn == self.turns();
            } else if self.work() == Step::End {
                self.goal = None;
            } else if now() >= until {
                return false;
            }
        }
        true
    }

    /// Plays so many seconds of match time, at most until then. `seen` runs after every tick.
    pub fn play(
        &mut self,
        seconds: f32,
        until: Duration,
        mut seen: impl FnMut(&World, &[Effect]),
    ) -> bool {
        self.since_tick += seconds;
        while self.since_tick >= self.tick_seconds {
            match self.tick_once(&mut seen) {
                true => self.since_tick -= self.tick_seconds,
                false => {
                    self.since_tick = 0.0;
                    return false;
                }
            }
            if now() >= until {
                // What is not done in time is let go: the replay runs as fast as it can.
                self.since_tick = self.since_tick.min(self.tick_seconds);
                break;
            }
        }
        true
    }

    /// Steps one tick. Returns whether there was one.
    pub fn tick_once(&mut self, mut seen: impl FnMut(&World, &[Effect])) -> bool {
        loop {
            match self.work() {
                Step::Tick => break,
                Step::End => return false,
                Step::Turn | Step::Leap => {}
            }
        }
        if let Some(world) = &self.world {
            seen(world, &self.effects);
        }
        true
    }

    /// Does one piece of work.
    pub fn work(&mut self) -> Step {
        if let (Some(running), Some(world)) = (&mut self.running, &mut self.world) {
            let begun = now();
            self.effects.clear();
            world.step(&running.entries, &mut self.effects);
            running.entries.clear();
            running.ticks_left -= 1;
            running.step += since(begun);
            self.tick += 1;
            if running.ticks_left == 0 {
                let step = running.step;
                self.running = None;
                self.finish(step);
            }
            return Step::Tick;
        }
        // Of what is told nothing is needed: the survey reads the log itself.
        self.player.events();
        let Some(work) = self.player.next(Duration::ZERO) else {
            self.over = true;
            return Step::End;
        };
        match work {
            Work::New { start } => {
                let world = match self.player.reader().setup::<World>() {
                    Ok(setup) => World::new(&sim::Start {
                        setup,
                        seed: start.seed,
                        seats: start.seats(),
                    }),
                    Err(_) => return self.fail(),
                };
                self.ready(world, 0)
            }
            Work::Load {
                ticks, snapshot, ..
            } => match World::load(&snapshot) {
                Ok(world) => self.ready(world, ticks),
                Err(_) => self.fail(),
            },
            Work::Execute(bundle) => {
                let (entries, _) = world_entries(&bundle);
                self.tick_seconds = bundle.plan.tick().as_secs_f32();
                self.begun = Some(bundle.clone());
                match bundle.ticks() {
                    0 => self.finish(Duration::ZERO),
                    ticks_left => {
                        let step = Duration::ZERO;
                        self.running = Some(Running {
                            bundle,
                            entries,
                            ticks_left,
                            step,
                        });
                    }
                }
                Step::Turn
            }
            Work::Save { .. } => {
                let snapshot = self.snapshot();
                self.answer(Answer::Saved(snapshot));
                Step::Turn
            }
        }
    }

    fn answer(&mut self, answer: Answer) {
        let taken = self.player.answer(answer);
        taken.expect("each piece of work is answered once, and in kind");
    }

    fn ready(&mut self, world: World, ticks: u64) -> Step {
        self.tick = ticks;
        let checksum = self.world.insert(world).checksum();
        self.checksum = Some(checksum);
        self.answer(Answer::Ready { checksum });
        Step::Leap
    }

    fn fail(&mut self) -> Step {
        self.answer(Answer::Failed);
        Step::Leap
    }

    fn finish(&mut self, step: Duration) {
        if let Some(world) = &self.world {
            let checksum = world.checksum();
            self.checksum = Some(checksum);
            self.answer(Answer::Executed {
                checksum,
                outcome: world.outcome(),
                step,
            });
        }
    }

    /// The bundle of the turn that began last, once.
    pub fn take_begun(&mut self) -> Option<Bundle> {
        self.begun.take()
    }

    /// What the last tick told.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// Whether the world stands between two turns.
    pub fn is_between_turns(&self) -> bool {
        self.running.is_none()
    }

    /// The world's checksum after the last turn that was executed, once it is built.
    pub fn checksum(&self) -> Option<Checksum> {
        self.checksum
    }

    /// The world's bytes.
    pub fn snapshot(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(world) = &self.world {
            world.save(&mut bytes);
        }
        bytes
    }

    /// Takes a snapshot for seeks to begin at; see [`Player::keep`].
    pub fn keep(&mut self, turns: u32, ticks: u64, snapshot: Arc<[u8]>) {
        self.player.keep(turns, ticks, snapshot);
    }

    /// Drops the snapshot after so many turns.
    pub fn forget(&mut self, turns: u32) {
        self.player.forget(turns);
    }
}

/// Ticks of so many seconds of play at the usual pace.
pub fn ticks_of(seconds: u32) -> u64 {
    u64::from(seconds) * u64::from(TICKS_PER_SECOND)
}
