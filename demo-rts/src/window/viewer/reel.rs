//! A replay with a world stepped tick by tick: it can stop within a turn and seek anywhere.

use crate::window::clock::{now, since};
use crate::words::match_time;
use crate::world::{Effect, TICKS_PER_SECOND, World};
use lockstep::log::Bundle;
use lockstep::source::{Answer, TurnSource, Work};
use lockstep::{TurnNumber, guard, world_entries};
use replay::{Error, Player, Reader, RosterAt, Speed};
use sim::{Checksum, Entry, Simulation, State};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

type Command = <World as Simulation>::Command;

/// A replay and the world at one of its moments.
pub struct Reel {
    player: Player,
    world: Option<World>,
    running: Option<Running>,
    begun: Option<Bundle>,
    tick: u64,
    goal: Option<Goal>,
    effects: Vec<Effect>,
    /// Seconds of play since the last tick.
    since_tick: f32,
    tick_seconds: f32,
    over: bool,
    /// A panic of the world, until a seek begins another one.
    fault: Option<Error>,
    /// Of the world after the last executed turn.
    checksum: Option<Checksum>,
}

/// A turn that is being stepped.
struct Running {
    bundle: Bundle,
    entries: Vec<Entry<Command>>,
    ticks_left: u8,
    step: Duration,
}

/// The target of a seek.
#[derive(Clone, Copy, Debug)]
struct Goal {
    turn: u32,
    tick: u64,
    begun: bool,
}

/// The kind of one piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The world stepped a tick.
    Tick,
    /// A turn began.
    Turn,
    /// The world was built or loaded.
    Leap,
    /// The replay has ended.
    End,
}

impl Reel {
    /// A replay in a file, before its first turn.
    ///
    /// # Errors
    /// [`Error`]: no such file, not a replay, damaged before its first turn, or recorded under other rules.
    pub fn open(path: &Path) -> Result<Reel, Error> {
        Reel::of(Reader::open(path)?)
    }

    /// A replay in a reader.
    ///
    /// # Errors
    /// [`Error`]: recorded under other rules.
    pub fn of(reader: Reader) -> Result<Reel, Error> {
        reader.setup::<World>()?;
        let tick_seconds = reader.start().terms.plan.tick().as_secs_f32();
        let mut player = Player::new(reader);
        // The reel controls the time.
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
            fault: None,
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

    /// What ended the replay early: the disk, or a panic of the world.
    pub fn error(&self) -> Option<&Error> {
        self.player.error().or(self.fault.as_ref())
    }

    /// Ticks stepped so far.
    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// The turn being executed, or else the next one.
    pub fn turn(&self) -> u32 {
        let running = self.running.as_ref().map(|running| running.bundle.turn);
        running.unwrap_or_else(|| self.player.next_turn()).0
    }

    /// Ticks of the replay.
    pub fn ticks(&self) -> u64 {
        self.reader().ticks_before(TurnNumber(self.turns()))
    }

    /// Turns of the replay.
    pub fn turns(&self) -> u32 {
        self.player.turns()
    }

    /// Whether it is at the end.
    pub fn is_over(&self) -> bool {
        self.over && self.goal.is_none()
    }

    /// Whether a seek is under way.
    pub fn is_seeking(&self) -> bool {
        self.goal.is_some()
    }

    /// The target tick of a seek under way.
    pub fn goal_tick(&self) -> Option<u64> {
        self.goal.map(|goal| goal.tick)
    }

    /// The fraction of a tick since the last one, from 0 to 1.
    pub fn alpha(&self) -> f32 {
        (self.since_tick / self.tick_seconds.max(0.001)).clamp(0.0, 1.0)
    }

    /// The roster changes before a turn.
    pub fn rosters_at(&self, turn: TurnNumber) -> &[RosterAt] {
        self.reader().rosters_at(turn)
    }

    /// The match time of a tick.
    pub fn time_of(&self, tick: u64) -> Duration {
        match_time(tick, self.reader().start().terms.plan.tick_ms)
    }

    /// The last turn that begins at this tick or earlier.
    pub fn turn_of(&self, tick: u64) -> u32 {
        self.reader().turn_of(tick).0
    }

    /// Seeks to after this many ticks, or to the end. [`pursue`](Self::pursue) does the work.
    pub fn seek_tick(&mut self, tick: u64) {
        let tick = tick.min(self.ticks());
        let turn = self.turn_of(tick);
        self.set_goal(turn, tick);
    }

    /// Seeks to before this turn, or to the end.
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

    /// Works on a seek until it arrives or time is up. Returns whether no seek is under way.
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
                // A paused viewer at the end is at the end too, without playing on.
                self.over = goal_now.turn == self.turns();
            } else if self.work() == Step::End {
                self.goal = None;
            } else if now() >= until {
                return false;
            }
        }
        true
    }

    /// Plays this many seconds of match time, until at most `until`. `seen` runs after every tick.
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
                // Time that is not made up is dropped: the replay runs as fast as it can.
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

    /// Does one piece of work. A panic of the world ends the replay; see [`error`](Self::error).
    pub fn work(&mut self) -> Step {
        self.guarded(Self::piece)
    }

    pub(super) fn guarded(&mut self, piece: impl FnOnce(&mut Self) -> Step) -> Step {
        let turn = self.turn();
        guard(|| piece(self)).unwrap_or_else(|message| self.end_by(turn, message))
    }

    /// The world has panicked in this turn: nothing of it is used any more.
    fn end_by(&mut self, turn: u32, message: String) -> Step {
        let world = self.world.take();
        let _ = guard(|| drop(world));
        (self.running, self.over) = (None, true);
        self.fault = Some(Error::World {
            turn,
            message: message.clone(),
        });
        let turn = TurnNumber(turn);
        self.answer(Answer::Faulted { turn, message });
        Step::End
    }

    fn piece(&mut self) -> Step {
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
        // Events are not needed: the survey reads the log itself.
        self.player.events();
        let Some(work) = self.player.next(Duration::ZERO) else {
            self.over = true;
            return Step::End;
        };
        match work {
            Work::New { start, .. } => {
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
        taken.expect("each piece of work gets one answer of its own kind");
    }

    fn ready(&mut self, world: World, ticks: u64) -> Step {
        (self.tick, self.fault) = (ticks, None);
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
    pub fn take_bundle(&mut self) -> Option<Bundle> {
        self.begun.take()
    }

    /// Effects of the last tick.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// Whether the world is between two turns.
    pub fn is_between_turns(&self) -> bool {
        self.running.is_none()
    }

    /// The world's checksum after the last executed turn, once it is built.
    pub fn checksum(&self) -> Option<Checksum> {
        self.checksum
    }

    /// The world as bytes.
    pub fn snapshot(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(world) = &self.world {
            world.save(&mut bytes);
        }
        bytes
    }

    /// Adds a snapshot for seeks to start from; see [`Player::keep`].
    pub fn keep(&mut self, turns: u32, ticks: u64, snapshot: Arc<[u8]>) {
        self.player.keep(turns, ticks, snapshot);
    }

    /// Drops the snapshot after this many turns.
    pub fn forget(&mut self, turns: u32) {
        self.player.forget(turns);
    }
}

/// Ticks in this many seconds of play at the default pace.
pub fn ticks_of(seconds: u32) -> u64 {
    u64::from(seconds) * u64::from(TICKS_PER_SECOND)
}
