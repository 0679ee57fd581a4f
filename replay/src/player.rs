//! Playing a replay: a source of turns from a file.

use crate::reader::Cursor;
use crate::{Error, KeyframeAt, PlanAt, Reader};
use lockstep::log::{Bundle, Record, What};
use lockstep::source::{Answer, TurnSource, Work, WrongAnswer};
use lockstep::{EndReason, Ended, Event, Issued, Plan, Refused, Status, TurnNumber};
use sim::{Checksum, Seat, SeatState};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The speed of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Speed {
    quarters: u16,
}

impl Speed {
    /// Pauses after the current turn.
    pub const PAUSED: Speed = Speed { quarters: 0 };
    /// A quarter of normal speed.
    pub const QUARTER: Speed = Speed { quarters: 1 };
    /// Half of normal speed.
    pub const HALF: Speed = Speed { quarters: 2 };
    /// The speed of the match.
    pub const NORMAL: Speed = Speed { quarters: 4 };
    /// As fast as the world steps.
    pub const UNLIMITED: Speed = Speed { quarters: u16::MAX };

    /// A multiple of normal speed, at most 64; 0 is [`PAUSED`](Self::PAUSED).
    pub fn times(times: u16) -> Speed {
        Speed {
            quarters: times.min(64) * 4,
        }
    }

    /// How long match time `time` takes; `None` for no time at all.
    fn stretch(self, time: Duration) -> Option<Duration> {
        match self {
            Speed::UNLIMITED => None,
            // A pause delays turns, not ticks: the current turn finishes at normal speed.
            Speed::PAUSED => Some(time),
            Speed { quarters } => Some(time * 4 / u32::from(quarters)),
        }
    }
}

impl Default for Speed {
    fn default() -> Self {
        Speed::NORMAL
    }
}

/// Feeds a world from a replay.
///
/// It emits the log's events (pauses, chat, rosters, leavers, plans) for turns that are played; turns that a seek
/// runs through are silent. Paused turns take no time.
///
/// The last event is [`Event::Ended`]. A [`seek`](Self::seek) back plays on, to another `Ended`.
pub struct Player {
    reader: Reader,
    cursor: Cursor,
    pending: Pending,
    /// The world of the start was built once, so setup and rules fit.
    built: bool,
    /// The world panicked: a seek begins another one.
    is_gone: bool,
    /// The snapshot that the world began with, if it did with one.
    origin: Option<Origin>,
    told_start: bool,
    executed: u32,
    goal: Option<Goal>,
    speed: Speed,
    now: Duration,
    /// When the next turn is due.
    due: Option<Duration>,
    plan: Plan,
    paused: bool,
    /// The previous turn held a resumption.
    resumed: bool,
    checksum: Option<Checksum>,
    /// The keyframes of the file, by turn, without those that could not be used.
    usable: Vec<KeyframeAt>,
    /// Snapshots beside those of the file: by turns executed, with their ticks.
    own: BTreeMap<u32, (u64, Arc<[u8]>)>,
    events: Vec<Event>,
    over: Option<EndReason>,
    error: Option<Error>,
}

/// The work that waits for an answer.
enum Pending {
    Nothing,
    Building,
    Loading(Origin),
    Executing,
}

/// The origin of a snapshot.
#[derive(Clone, Copy)]
enum Origin {
    File(KeyframeAt),
    /// From [`Player::keep`], after this many turns.
    Own(u32),
}

/// The target of a seek.
#[derive(Clone, Copy)]
struct Goal {
    turn: u32,
    /// Whether the jump to a snapshot is done, so that only stepping remains.
    jumped: bool,
}

impl Player {
    /// A player at the first turn, at [`Speed::NORMAL`].
    pub fn new(reader: Reader) -> Self {
        let cursor = reader.cursor(TurnNumber(0));
        let plan = reader.start().terms.plan;
        let usable = reader.keyframes().to_vec();
        Player {
            reader,
            cursor,
            pending: Pending::Nothing,
            built: false,
            is_gone: false,
            origin: None,
            told_start: false,
            executed: 0,
            goal: None,
            speed: Speed::NORMAL,
            now: Duration::ZERO,
            due: None,
            plan,
            paused: false,
            resumed: false,
            checksum: None,
            usable,
            own: BTreeMap::new(),
            events: Vec::new(),
            over: None,
            error: None,
        }
    }

    /// Seeks to before `turn`, or to the end of the replay.
    ///
    /// Loads the newest useful keyframe and steps as fast as possible from there; meanwhile
    /// [`status`](TurnSource::status) is [`Status::CatchingUp`]. A keyframe that does not load, or belongs to
    /// another log, is skipped. After a panic of the world a seek begins with another one, and from another keyframe.
    pub fn seek(&mut self, turn: TurnNumber) {
        self.goal = Some(Goal {
            turn: turn.0.min(self.reader.turns()),
            jumped: false,
        });
        if self.built {
            self.over = None;
        }
    }

    /// The target of a seek under way.
    pub fn goal(&self) -> Option<TurnNumber> {
        self.goal.map(|goal| TurnNumber(goal.turn))
    }

    /// Keeps a snapshot of this replay's world after this many turns and ticks, for seeks to start from: the file's
    /// keyframes may be far apart. The caller vouches for it; one that does not load is dropped. Snapshots stay
    /// until [`forget`](Self::forget).
    pub fn keep(&mut self, turns: u32, ticks: u64, snapshot: Arc<[u8]>) {
        self.own.insert(turns, (ticks, snapshot));
    }

    /// Drops the snapshot of [`keep`](Self::keep) after this many turns, if any.
    pub fn forget(&mut self, turns: u32) {
        self.own.remove(&turns);
    }

    /// Sets the speed, at any time.
    pub fn set_speed(&mut self, speed: Speed) {
        self.speed = speed;
        self.due = None;
    }

    /// The speed.
    pub fn speed(&self) -> Speed {
        self.speed
    }

    /// Turns of the replay.
    pub fn turns(&self) -> u32 {
        self.reader.turns()
    }

    /// The file.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The error of the disk, if that ended the replay early.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Takes what [`error`](Self::error) tells of.
    #[cfg(feature = "cli")]
    pub(crate) fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }

    /// Uses a snapshot no more.
    fn discard(&mut self, origin: Origin) {
        match origin {
            Origin::File(keyframe) => self.usable.retain(|usable| *usable != keyframe),
            Origin::Own(turns) => self.forget(turns),
        }
    }

    fn build(&mut self) -> Work {
        self.pending = Pending::Building;
        Work::New {
            start: self.reader.start().clone(),
            retracted: None,
        }
    }

    /// Loading a snapshot that brings the world nearer to the goal, if there is one.
    fn jump(&mut self, turn: u32) -> Option<Work> {
        loop {
            let before = self
                .usable
                .partition_point(|keyframe| keyframe.turns <= turn);
            let best = self.usable[..before].last().copied();
            let forward = self.executed <= turn && !self.is_gone;
            let from_file = best.map(|best| best.turns);
            let own = self.own.range(..=turn).next_back();
            if let Some((turns, (ticks, snapshot))) = own
                && from_file.is_none_or(|from_file| from_file < *turns)
                && (!forward || *turns > self.executed)
            {
                self.pending = Pending::Loading(Origin::Own(*turns));
                return Some(Work::Load {
                    turns: *turns,
                    ticks: *ticks,
                    snapshot: Arc::clone(snapshot),
                    retracted: None,
                });
            }
            match best {
                Some(best) if !forward || best.turns > self.executed => {
                    match self.reader.keyframe(&best) {
                        Ok(keyframe) => {
                            self.pending = Pending::Loading(Origin::File(best));
                            return Some(Work::Load {
                                turns: keyframe.turns,
                                ticks: keyframe.ticks,
                                snapshot: keyframe.snapshot,
                                retracted: None,
                            });
                        }
                        Err(_) => drop(self.usable.remove(before - 1)),
                    }
                }
                None if !forward => return Some(self.build()),
                _ => return None,
            }
        }
    }

    /// Stands before this turn, with a world that has executed all before it.
    fn stand_before(&mut self, turn: u32) {
        self.executed = turn;
        (self.plan, self.paused) = (self.reader.start().terms.plan, false);
        self.resumed = false;
        let last = turn.checked_sub(1);
        self.cursor = self.reader.cursor(TurnNumber(last.unwrap_or(0)));
        match last.map(|last| self.bundle(last)) {
            Some(Ok(Some(bundle))) => self.follow(&bundle),
            Some(Err(error)) => self.fail(error),
            Some(Ok(None)) | None => {}
        }
    }

    /// Ends the replay early.
    fn fail(&mut self, error: Error) {
        self.error = Some(error);
        self.end(EndReason::ReplayEnd);
    }

    /// The bundle of a turn at or behind the cursor.
    fn bundle(&mut self, turn: u32) -> Result<Option<Bundle>, Error> {
        while let Some(record) = self.reader.next_record(&mut self.cursor)? {
            match record {
                Record::Bundle(bundle) if bundle.turn.0 == turn => {
                    return Ok(Some(bundle));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    fn execute(&mut self, bundle: Bundle) -> Work {
        if self.goal.is_none() {
            self.emit(&bundle);
            let length = bundle.plan.tick() * u32::from(bundle.ticks());
            let length = self.speed.stretch(length).unwrap_or_default();
            // A turn that began a little late does not delay later ones.
            let began = self
                .due
                .map_or(self.now, |due| due.max(self.now.saturating_sub(length)));
            self.due = Some(began + length);
        }
        self.follow(&bundle);
        self.pending = Pending::Executing;
        Work::Execute(bundle)
    }

    /// Takes from a turn what the next one is compared with.
    fn follow(&mut self, bundle: &Bundle) {
        (self.plan, self.paused) = (bundle.plan, bundle.paused);
        let mut entries = bundle.entries.iter();
        self.resumed = entries.any(|entry| entry.what == What::Resume);
    }

    /// Emits the events of a turn that is played.
    fn emit(&mut self, bundle: &Bundle) {
        let turn = bundle.turn;
        if bundle.plan != self.plan {
            let PlanAt { slow, way, .. } = self.reader.plan_at(turn);
            self.events.push(Event::PlanChanged {
                turn,
                plan: bundle.plan,
                slow,
                way,
            });
        }
        if self.paused && !bundle.paused && !self.resumed {
            self.events.push(Event::Resumed { seat: None, turn });
        }
        self.emit_rosters();
        let mut left = Vec::new();
        for entry in &bundle.entries {
            let seat = entry.seat;
            match &entry.what {
                What::Pause => self.events.push(Event::Paused { seat, turn }),
                What::Resume => self.events.push(Event::Resumed {
                    seat: Some(seat),
                    turn,
                }),
                What::Chat(text) => self.events.push(Event::Chat {
                    from: self.name_of(seat),
                    seat: Some(seat),
                    text: text.clone(),
                }),
                What::Seat(SeatState::Idle | SeatState::Ai) if !self.is_removed(seat) => {
                    left.push(seat);
                }
                _ => {}
            }
        }
        for peer in &self.reader.start().roster {
            let seats: Vec<Seat> = peer
                .seats
                .iter()
                .copied()
                .filter(|seat| left.contains(seat))
                .collect();
            if !seats.is_empty() {
                self.events.push(Event::Left {
                    peer: peer.peer,
                    seats,
                    turn,
                });
            }
        }
    }

    /// Emits the roster changes before the next turn.
    fn emit_rosters(&mut self) {
        let changes = self.reader.rosters_at(TurnNumber(self.executed));
        self.events
            .extend(changes.iter().map(|at| Event::RosterChanged {
                turn: at.turn,
                epoch: at.epoch,
                seats: at.seats.clone(),
                gone: at.gone.clone(),
                back: at.back.clone(),
                cause: at.cause,
            }));
    }

    /// Whether a seat loses its player in the next turn because its peer was removed.
    fn is_removed(&self, seat: Seat) -> bool {
        let rosters = self.reader.rosters();
        let until = rosters.partition_point(|at| at.turn.0 <= self.executed);
        let mut changes = rosters[..until].iter().rev();
        let last = changes.find(|at| {
            at.gone.iter().any(|gone| gone.seats.contains(&seat)) || at.seats.contains(&seat)
        });
        last.is_some_and(|at| at.removed(seat).is_some())
    }

    fn name_of(&self, seat: Seat) -> String {
        let roster = &self.reader.start().roster;
        roster
            .iter()
            .find(|peer| peer.seats.contains(&seat))
            .map_or_else(String::new, |peer| peer.name.clone())
    }

    fn emit_start(&mut self) {
        let start = Arc::clone(self.reader.start());
        self.events.push(Event::Started {
            match_id: start.match_id,
            own: Vec::new(),
            seats: start.seat_infos(),
            plan: start.terms.plan,
        });
    }

    fn end(&mut self, reason: EndReason) {
        let roster = self.reader.start().roster.len();
        let end = self.reader.end().filter(|end| end.turns == self.executed);
        self.events.push(Event::Ended(Ended {
            reason: reason.clone(),
            turns: self.executed,
            checksum: self.checksum,
            outcome: end.and_then(|end| end.outcome),
            agreed: end.map_or(0, |end| end.signatures.len()) as u8,
            of: roster as u8,
            is_final: end.is_some(),
            branch_of: self.reader.branch_of(TurnNumber(self.executed)),
        }));
        self.over = Some(reason);
        self.goal = None;
    }

    /// Why the match ended after its last turn.
    fn end_reason(&self) -> EndReason {
        match self.reader.end() {
            Some(end) if end.outcome.is_some() => EndReason::Decided,
            Some(end) if self.reader.start().terms.turn_limit == Some(end.turns) => {
                EndReason::TurnLimit
            }
            _ => EndReason::ReplayEnd,
        }
    }
}

impl TurnSource for Player {
    fn next(&mut self, now: Duration) -> Option<Work> {
        assert!(
            matches!(self.pending, Pending::Nothing),
            "the last piece of work was not answered"
        );
        self.now = now;
        if self.over.is_some() {
            return None;
        }
        if !self.built {
            return Some(self.build());
        }
        if let Some(goal) = &mut self.goal
            && !std::mem::replace(&mut goal.jumped, true)
        {
            let turn = goal.turn;
            if let Some(work) = self.jump(turn) {
                return Some(work);
            }
        }
        if self.goal.is_some_and(|goal| goal.turn == self.executed) {
            self.goal = None;
            self.due = None;
        }
        if self.goal.is_none() {
            if self.executed == self.reader.turns() {
                self.emit_rosters();
                self.end(self.end_reason());
                return None;
            }
            if self.speed == Speed::PAUSED || self.due.is_some_and(|due| due > now) {
                return None;
            }
        }
        match self.bundle(self.executed) {
            Ok(Some(bundle)) => Some(self.execute(bundle)),
            Ok(None) => {
                self.end(EndReason::ReplayEnd);
                None
            }
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    fn answer(&mut self, answer: Answer) -> Result<(), WrongAnswer> {
        let pending = std::mem::replace(&mut self.pending, Pending::Nothing);
        match (pending, answer) {
            (Pending::Building, Answer::Ready { checksum }) => {
                (self.built, self.is_gone) = (true, false);
                self.origin = None;
                self.checksum = Some(checksum);
                self.stand_before(0);
                if !std::mem::replace(&mut self.told_start, true) {
                    self.emit_start();
                }
            }
            (Pending::Building, Answer::Failed) => {
                self.executed = 0;
                self.checksum = None;
                self.built = false;
                self.end(EndReason::World);
            }
            (Pending::Loading(from), Answer::Ready { checksum }) => {
                let turns = match from {
                    Origin::File(keyframe) => keyframe.turns,
                    Origin::Own(turns) => turns,
                };
                self.is_gone = false;
                self.origin = Some(from);
                self.checksum = Some(checksum);
                self.stand_before(turns);
            }
            (Pending::Loading(from), Answer::Failed) => {
                self.discard(from);
                if let Some(goal) = &mut self.goal {
                    goal.jumped = false;
                }
            }
            (Pending::Executing, Answer::Executed { checksum, .. }) => {
                self.checksum = Some(checksum);
                self.executed += 1;
            }
            (Pending::Nothing, _) => return Err(WrongAnswer::NotAsked),
            (pending, Answer::Faulted { turn, message }) => {
                let origin = match pending {
                    Pending::Loading(from) => Some(from),
                    Pending::Executing => self.origin.take(),
                    Pending::Nothing | Pending::Building => None,
                };
                if let Some(origin) = origin {
                    // The panic may be the snapshot's fault: the next seek takes another one.
                    self.discard(origin);
                }
                self.checksum = None;
                self.is_gone = true;
                self.end(EndReason::WorldFault {
                    turn,
                    message,
                    report: None,
                });
            }
            (pending, _) => {
                self.pending = pending;
                return Err(WrongAnswer::OtherKind);
            }
        }
        Ok(())
    }

    fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn issue(&mut self, _: Seat, _: Vec<u8>) -> Result<Issued, Refused> {
        Err(Refused::NotLive)
    }

    fn own_seats(&self) -> &[Seat] {
        &[]
    }

    fn status(&self) -> Status {
        match (&self.over, &self.goal) {
            (Some(_), _) => Status::Ended,
            (None, Some(goal)) => Status::CatchingUp {
                behind: goal.turn.abs_diff(self.executed),
            },
            (None, None) if !self.built => Status::Loading,
            (None, None) if self.speed == Speed::PAUSED => Status::Paused,
            (None, None) => Status::Running,
        }
    }

    fn pace(&self) -> Option<Duration> {
        match self.goal {
            Some(_) => None,
            None => self.speed.stretch(self.plan.tick()),
        }
    }

    fn wait(&mut self, timeout: Duration) {
        let idle = self.over.is_some() || self.speed == Speed::PAUSED;
        let until_due = match self.due {
            _ if self.goal.is_some() || !self.built => Duration::ZERO,
            _ if idle => timeout,
            Some(due) => due.saturating_sub(self.now),
            None => Duration::ZERO,
        };
        std::thread::sleep(until_due.min(timeout));
    }

    fn next_turn(&self) -> TurnNumber {
        TurnNumber(self.executed)
    }
}

#[cfg(test)]
mod tests;
