//! `Match`: a world, its typed commands, and a source of turns. The only file of this crate that names
//! [`sim::Simulation`].

use crate::log::{Bundle, Start, What};
use crate::source::{Answer, TurnSource, Work};
use crate::text::tidy_text;
use crate::{CommandId, Event, Issued, Refused, Status, TurnNumber};
use serde::Serialize;
use sim::{Entry, Seat, SeatState, Simulation};
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

#[cfg(feature = "live")]
use crate::Live;

/// A world that follows a source of turns.
///
/// Call [`issue`](Self::issue) when the player acts, [`poll`](Self::poll) once a frame, and draw
/// [`world`](Self::world). A panic of the world ends the match for this peer, with
/// [`EndReason::WorldFault`](crate::EndReason::WorldFault) and a report, and not the process, unless the game's profile
/// says `panic = "abort"`. Dropping a live match does not leave it: see [`Live`](crate::Live).
pub struct Match<
    S: Simulation,
    #[cfg(feature = "live")] T: TurnSource = Live,
    #[cfg(not(feature = "live"))] T: TurnSource,
> {
    source: T,
    world: Option<S>,
    turn: Option<RunningTurn<S::Command>>,
    effects: Vec<S::Effect>,
    events: Vec<Event>,
    clock: Instant,
    budget: Duration,
    ticks: u64,
    last_tick_at: Duration,
    waiting: VecDeque<Waiting>,
    /// Own commands of the last turns, with the turns: should these be taken back, they are executed again.
    executed: VecDeque<(TurnNumber, CommandId)>,
    /// Own commands of retracted turns, in order: they were told before.
    again: VecDeque<CommandId>,
    counts: Counts,
    /// Commands in the turns that were begun, by seat.
    given: BTreeMap<Seat, u32>,
    /// Commands of turns before this one are among them.
    given_before: u32,
    /// Turns before this one were told of.
    told: u32,
}

/// What became of the commands of this peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Calls of [`Match::issue`], refused ones included.
    pub issued: u64,
    /// Commands executed.
    pub executed: u64,
    /// Commands refused, at the door or later.
    pub refused: u64,
}

/// Own commands of so many turns are known, for where a world has to execute turns again: so far back its snapshots
/// reach.
const TURNS_TO_GO_BACK: u32 = 64;

/// Bytes that are kept of what a panic said.
const MESSAGE_BYTES: u32 = 300;

/// A turn whose ticks are being stepped.
struct RunningTurn<C> {
    bundle: Bundle,
    entries: Vec<Entry<C>>,
    ticks_left: u8,
    next_tick_at: Duration,
    step: Duration,
}

/// A command that was issued and not yet executed.
struct Waiting {
    id: CommandId,
    issued_at: Duration,
}

#[cfg(feature = "live")]
impl<S: Simulation> Match<S> {
    /// Opens a match that others can join with its [`ticket`](Live::ticket).
    ///
    /// # Errors
    /// [`live::Error`](crate::live::Error): a setting out of range, or no socket, identity or file.
    pub fn host(setup: S::Setup, config: crate::Config) -> Result<Self, crate::live::Error> {
        Live::host(Self::encoded(&setup)?, S::rules(&setup), config).map(Self::of)
    }

    /// Joins the match that the ticket names.
    ///
    /// # Errors
    /// As [`host`](Self::host). That the host turns this peer away, or is not there, is told later, by
    /// [`Event::Ended`].
    pub fn join(ticket: &crate::Ticket, config: crate::Config) -> Result<Self, crate::live::Error> {
        Live::join(ticket, Self::rules(), config).map(Self::of)
    }

    /// Rejoins a match after a crash or a removal, with the same key, into the same seats. Where the other players wait
    /// with [`reopen`](Self::reopen), the match goes on with them. Until the joiner has caught up, its status is
    /// [`Status::CatchingUp`] and commands are refused.
    ///
    /// # Errors
    /// As [`host`](Self::host). [`Event::Ended`] tells later where no peer of the match answers.
    pub fn rejoin(from: crate::Rejoin, config: crate::Config) -> Result<Self, crate::live::Error> {
        Live::rejoin(from, Self::rules(), config).map(Self::of)
    }

    /// Goes on alone where the recording of an earlier run ends, without a quorum, with the same key and in the same
    /// seats. The other players may enter this branch by their own word: they come by [`rejoin`](Self::rejoin) and
    /// [`Live::enter_branch`].
    ///
    /// # Errors
    /// As [`host`](Self::host).
    pub fn branch(from: crate::Rejoin, config: crate::Config) -> Result<Self, crate::live::Error> {
        Live::branch(from, Self::rules(), config).map(Self::of)
    }

    /// Reopens a match that lost all its processes, or its quorum, from the recording of an earlier run. The other
    /// players come by [`rejoin`](Self::rejoin) with their own recordings, through this peer's
    /// [`ticket`](Live::ticket). A quorum waits for the missing players for as long as `wait`.
    ///
    /// # Errors
    /// As [`host`](Self::host). [`Event::Ended`] tells later where too few players come.
    pub fn reopen(
        from: crate::Rejoin,
        wait: Duration,
        config: crate::Config,
    ) -> Result<Self, crate::live::Error> {
        Live::reopen(from, wait, Self::rules(), config).map(Self::of)
    }

    /// Plays alone: the same session, without links, at a delay of one turn.
    ///
    /// # Errors
    /// As [`host`](Self::host).
    pub fn single_player(
        setup: S::Setup,
        config: crate::Config,
    ) -> Result<Self, crate::live::Error> {
        Live::single_player(Self::encoded(&setup)?, S::rules(&setup), config).map(Self::of)
    }

    /// Goes on alone from a moment of a recorded match that was played by the rules of this build, in all its seats:
    /// the first of them is the one that the moment names. The turn limit of `config.host.terms` counts turns from
    /// there on.
    ///
    /// # Errors
    /// As [`host`](Self::host); a moment whose log does not hold is a [`ConfigError`](crate::session::ConfigError).
    pub fn play_on(from: crate::Moment, config: crate::Config) -> Result<Self, crate::live::Error> {
        Live::play_on(from, config).map(Self::of)
    }

    fn encoded(setup: &S::Setup) -> Result<Vec<u8>, crate::live::Error> {
        postcard::to_allocvec(setup).map_err(|_| crate::live::Error::Setup)
    }

    /// The rules of a match with this setup, for the peers that come to it.
    fn rules() -> crate::session::RulesOf {
        Box::new(|setup| from_bytes::<S::Setup>(setup).map(|setup| S::rules(&setup)))
    }

    fn of(source: Live) -> Self {
        let budget = source.budget();
        Self::over(source).with_budget(budget)
    }
}

impl<S: Simulation, T: TurnSource> Match<S, T> {
    /// A match over any source of turns.
    pub fn over(source: T) -> Self {
        Match {
            source,
            world: None,
            turn: None,
            effects: Vec::new(),
            events: Vec::new(),
            clock: now_instant(),
            budget: Duration::from_millis(8),
            ticks: 0,
            last_tick_at: Duration::ZERO,
            waiting: VecDeque::new(),
            executed: VecDeque::new(),
            again: VecDeque::new(),
            counts: Counts::default(),
            given: BTreeMap::new(),
            given_before: 0,
            told: 0,
        }
    }

    /// Sets how long one [`poll`](Self::poll) may step before it returns. Default 8 ms.
    pub fn with_budget(mut self, budget: Duration) -> Self {
        self.budget = budget;
        self
    }

    /// Issues a command for this peer's first seat. It is executed some turns later, on every peer alike.
    ///
    /// One click is one command: an order to forty units names them all in one, for the number of commands per second
    /// and the bytes of each are bounded ([`Limits`](crate::Limits)), and so are the bytes of a turn. A command that does
    /// not fit the next turn waits for the one behind it ([`Event::Backlog`]); a command that fits neither is refused.
    ///
    /// # Errors
    /// [`Refused`]: the command was not taken and will not be executed.
    pub fn issue(&mut self, command: S::Command) -> Result<Issued, Refused> {
        match self.source.own_seats().first() {
            Some(seat) => self.issue_for(*seat, command),
            None => self.count_issue(Err(Refused::NotLive)),
        }
    }

    /// Issues a command for one of this peer's seats.
    ///
    /// # Errors
    /// As [`issue`](Self::issue).
    pub fn issue_for(&mut self, seat: Seat, command: S::Command) -> Result<Issued, Refused> {
        let issued = match encode(&command) {
            Some(bytes) => self.source.issue(seat, bytes),
            None => Err(Refused::Unencodable),
        };
        if let Ok(Issued { id, .. }) = issued {
            let issued_at = self.now();
            self.waiting.push_back(Waiting { id, issued_at });
        }
        self.count_issue(issued)
    }

    /// Steps what is due and returns what has happened. Never waits.
    pub fn poll(&mut self) -> Vec<Event> {
        self.poll_each_tick(|_, _| {})
    }

    /// As [`poll`](Self::poll); `seen` runs after every tick: keep the previous positions, play the effects.
    pub fn poll_each_tick(&mut self, mut seen: impl FnMut(&S, &[S::Effect])) -> Vec<Event> {
        // Without any time it would never begin.
        let budget = self.budget.max(Duration::from_millis(1));
        let give_up_at = self.now().saturating_add(budget);
        loop {
            if let Some(turn) = &self.turn {
                let turn = turn.bundle.turn;
                match self.run_turn(give_up_at, &mut seen) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(message) => self.fault(turn, message),
                }
            }
            let now = self.now();
            if now >= give_up_at {
                break;
            }
            let Some(work) = self.source.next(now) else {
                break;
            };
            self.begin(work, now);
        }
        self.collect_events()
    }

    /// Waits until there may be something to [`poll`](Self::poll), at most `timeout`. For loops without a frame rate.
    pub fn wait(&mut self, timeout: Duration) {
        match (&self.turn, self.source.pace()) {
            (Some(turn), Some(_)) => {
                let until = turn.next_tick_at.saturating_sub(self.now());
                std::thread::sleep(until.min(timeout));
            }
            (Some(_), None) => {}
            (None, _) => self.source.wait(timeout),
        }
    }

    /// The world, once it is built. Draw it; only the match steps it.
    pub fn world(&self) -> Option<&S> {
        self.world.as_ref()
    }

    /// How much of the time from the last tick to the next has passed, 0–1: for drawing between ticks.
    pub fn alpha(&self) -> f32 {
        match self.source.pace() {
            Some(pace) if !pace.is_zero() => {
                let passed = self.now().saturating_sub(self.last_tick_at);
                (passed.as_secs_f32() / pace.as_secs_f32()).min(1.0)
            }
            _ => 1.0,
        }
    }

    /// Ticks stepped since the start of the match.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Where the match stands.
    pub fn status(&self) -> Status {
        self.source.status()
    }

    /// What became of the commands issued here. `issued = executed + refused` once the match has ended.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Commands of any seat in the turns that this match has begun to execute. A turn that is executed again counts
    /// once.
    pub fn given(&self, seat: Seat) -> u32 {
        self.given.get(&seat).copied().unwrap_or(0)
    }

    /// Seats of this peer; empty before the start.
    pub fn own_seats(&self) -> &[Seat] {
        self.source.own_seats()
    }

    /// What feeds the world: pause, chat and leave are there for a live match, seek and speed for a replay.
    pub fn source(&mut self) -> &mut T {
        &mut self.source
    }

    fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    fn count_issue(&mut self, issued: Result<Issued, Refused>) -> Result<Issued, Refused> {
        self.counts.issued += 1;
        self.counts.refused += u64::from(issued.is_err());
        issued
    }

    fn begin(&mut self, work: Work, now: Duration) {
        let (turn, answer) = match work {
            Work::New { start, retracted } => {
                self.retract(retracted, 0);
                (TurnNumber(0), self.build(&start))
            }
            Work::Load {
                ticks,
                snapshot,
                turns,
                retracted,
            } => {
                let answer = self.ready(|| S::load(&snapshot).ok());
                if let Ok(Answer::Ready { .. }) = answer {
                    self.ticks = ticks;
                    self.retract(retracted, turns);
                }
                (TurnNumber(turns), answer)
            }
            Work::Execute(bundle) => match self.entries(&bundle, now) {
                Ok(entries) => {
                    self.turn = Some(RunningTurn {
                        entries,
                        ticks_left: bundle.ticks(),
                        next_tick_at: now,
                        step: Duration::ZERO,
                        bundle,
                    });
                    return;
                }
                Err(message) => (bundle.turn, Err(message)),
            },
            Work::Save { turns } => {
                let world = self.expect_world();
                let saved = guard(|| {
                    let mut bytes = Vec::new();
                    world.save(&mut bytes);
                    Answer::Saved(bytes)
                });
                (TurnNumber(turns), saved)
            }
        };
        match answer {
            Ok(answer) => self.answer(answer),
            Err(message) => self.fault(turn, message),
        }
    }

    /// The world has panicked: nothing of it is used any more.
    fn fault(&mut self, turn: TurnNumber, message: String) {
        self.turn = None;
        let world = self.world.take();
        // What is left of it may panic once more.
        let _ = guard(|| drop(world));
        self.answer(Answer::Faulted { turn, message });
    }

    fn answer(&mut self, answer: Answer) {
        let taken = self.source.answer(answer);
        taken.expect("each piece of work is answered once, and in kind");
    }

    fn build(&mut self, start: &Start) -> Result<Answer, String> {
        self.ticks = 0;
        self.ready(|| {
            let setup = from_bytes::<S::Setup>(&start.setup);
            let setup = setup.filter(|setup| S::rules(setup) == start.rules)?;
            Some(S::new(&sim::Start {
                setup,
                seed: start.seed,
                seats: start.seats(),
            }))
        })
    }

    /// Puts a world in its place, if one can be made.
    fn ready(&mut self, make: impl FnOnce() -> Option<S>) -> Result<Answer, String> {
        let made = guard(|| make().map(|world| (world.checksum(), world)))?;
        Ok(match made {
            Some((checksum, world)) => {
                self.world = Some(world);
                Answer::Ready { checksum }
            }
            None => Answer::Failed,
        })
    }

    fn entries(
        &mut self,
        bundle: &Bundle,
        now: Duration,
    ) -> Result<Vec<Entry<S::Command>>, String> {
        let first_time = bundle.turn.0 >= self.given_before;
        for entry in &bundle.entries {
            if let What::Command(_) = entry.what {
                self.executed_own(entry.seat, bundle.turn, now);
                let given = self.given.entry(entry.seat).or_default();
                *given = given.saturating_add(u32::from(first_time));
            }
        }
        self.given_before = self.given_before.max(bundle.turn.0.saturating_add(1));
        let (entries, mut resigned) = guard(|| world_entries(bundle))?;
        resigned.retain(|_| bundle.turn.0 >= self.told);
        self.events
            .extend(resigned.into_iter().map(|seat| Event::SeatResigned {
                seat,
                turn: bundle.turn,
            }));
        Ok(entries)
    }

    /// The world begins anew after so many turns. Turns before `retracted` were told of.
    fn retract(&mut self, retracted: Option<TurnNumber>, turns: u32) {
        self.told = retracted.map_or(turns, |from| from.0);
        let told = retracted.map(|from| Event::Retracted { from });
        self.events.extend(told);
        let from = self.executed.partition_point(|(turn, _)| turn.0 < turns);
        let again = self.executed.split_off(from).into_iter().map(|(_, id)| id);
        let later = std::mem::take(&mut self.again);
        self.again = again.chain(later).collect();
    }

    fn executed_own(&mut self, seat: Seat, turn: TurnNumber, now: Duration) {
        if let Some(at) = self.again.iter().position(|id| id.seat == seat) {
            let id = self.again.remove(at);
            self.executed.extend(id.map(|id| (turn, id)));
            return;
        }
        let Some(at) = self
            .waiting
            .iter()
            .position(|waiting| waiting.id.seat == seat)
        else {
            return;
        };
        let waiting = self
            .waiting
            .remove(at)
            .expect("the position was just found");
        self.counts.executed += 1;
        self.executed.push_back((turn, waiting.id));
        let old = turn.0.saturating_sub(TURNS_TO_GO_BACK);
        while self
            .executed
            .pop_front_if(|(turn, _)| turn.0 < old)
            .is_some()
        {}
        self.events.push(Event::Executed {
            id: waiting.id,
            turn,
            latency: now.saturating_sub(waiting.issued_at),
        });
    }

    /// Steps the ticks that are due. True once the turn is finished.
    ///
    /// # Errors
    /// What the world said when it panicked.
    fn run_turn(
        &mut self,
        give_up_at: Duration,
        seen: &mut impl FnMut(&S, &[S::Effect]),
    ) -> Result<bool, String> {
        let is_over = self.step_due_ticks(give_up_at, seen)?;
        if is_over {
            self.finish_turn()?;
        }
        Ok(is_over)
    }

    /// True once the turn has no tick left.
    fn step_due_ticks(
        &mut self,
        give_up_at: Duration,
        seen: &mut impl FnMut(&S, &[S::Effect]),
    ) -> Result<bool, String> {
        let turn = self
            .turn
            .as_mut()
            .expect("the caller has seen a running turn");
        let world = self
            .world
            .as_mut()
            .expect("a source begins with New or Load");
        while turn.ticks_left > 0 {
            let begun = self.clock.elapsed();
            let pace = self.source.pace();
            if pace.is_some() && begun < turn.next_tick_at || begun >= give_up_at {
                return Ok(false);
            }
            self.effects.clear();
            guard(|| world.step(&turn.entries, &mut self.effects))?;
            turn.entries.clear();
            turn.ticks_left -= 1;
            turn.step += self.clock.elapsed().saturating_sub(begun);
            turn.next_tick_at += pace.unwrap_or_default();
            self.ticks += 1;
            self.last_tick_at = begun;
            seen(world, &self.effects);
        }
        Ok(true)
    }

    fn finish_turn(&mut self) -> Result<(), String> {
        let turn = self
            .turn
            .take()
            .expect("the caller has seen a running turn");
        let world = self.expect_world();
        let (checksum, outcome) = guard(|| (world.checksum(), world.outcome()))?;
        if turn.bundle.turn.0 >= self.told {
            self.told = turn.bundle.turn.0 + 1;
            self.events.push(Event::Turn {
                turn: turn.bundle.turn,
                tick: self.ticks,
                checksum,
                step: turn.step,
            });
        }
        self.answer(Answer::Executed {
            checksum,
            outcome,
            step: turn.step,
        });
        Ok(())
    }

    fn expect_world(&self) -> &S {
        self.world
            .as_ref()
            .expect("a source begins with New or Load")
    }

    fn collect_events(&mut self) -> Vec<Event> {
        for event in self.source.events() {
            if let Event::Ended(_) = event {
                for waiting in std::mem::take(&mut self.waiting) {
                    self.counts.refused += 1;
                    self.events.push(Event::CommandRefused {
                        id: waiting.id,
                        why: Refused::Ended,
                    });
                }
            }
            self.events.push(event);
        }
        std::mem::take(&mut self.events)
    }
}

/// The bundle as a world takes it before the turn's first tick, and the seats that it resigns: a command that postcard
/// does not decode as one resigns its seat, on every peer alike, and the seat's later commands of the turn are skipped.
pub fn world_entries<C: serde::de::DeserializeOwned>(
    bundle: &Bundle,
) -> (Vec<Entry<C>>, Vec<Seat>) {
    let mut entries = Vec::with_capacity(bundle.entries.len());
    let mut resigned: Vec<Seat> = Vec::new();
    for entry in &bundle.entries {
        let seat = entry.seat;
        match &entry.what {
            What::Command(_) if resigned.last() == Some(&seat) => {}
            What::Command(bytes) => match from_bytes(bytes) {
                Some(command) => entries.push(Entry::Command { seat, command }),
                None => {
                    resigned.push(seat);
                    entries.push(Entry::Seat {
                        seat,
                        state: SeatState::Resigned,
                    });
                }
            },
            What::Seat(state) => entries.push(Entry::Seat {
                seat,
                state: *state,
            }),
            What::Pause | What::Resume | What::Chat(_) | What::Load(_) | What::Way { .. } => {}
        }
    }
    (entries, resigned)
}

/// Calls the world: a panic in it is the game's fault, and must not end the player's process.
///
/// # Errors
/// What the panic said.
#[doc(hidden)]
pub fn guard<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|said| {
        let words = said.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| said.downcast_ref::<&str>().copied());
        tidy_text(words.unwrap_or("a panic without words"), MESSAGE_BYTES)
    })
}

fn encode(value: &impl Serialize) -> Option<Vec<u8>> {
    postcard::to_allocvec(value).ok()
}

/// Strict: every byte belongs to the value.
fn from_bytes<V: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<V> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Some(value),
        _ => None,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the edge between a match and its game: ticks are paced here"
)]
fn now_instant() -> Instant {
    Instant::now()
}
