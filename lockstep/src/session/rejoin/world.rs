//! The world of a joiner: what it begins with, and the turns that it is handed out.

use super::Contradiction;
use crate::limits::LONGEST_DELAY;
use crate::log::{AttestedLog, Cursor, EncodedLog, Keyframe, Peers, Record, VerifiedLog};
use crate::session::Output;
use crate::session::ledger::LogTail;
use crate::{Event, TurnNumber};
use sim::Checksum;

/// Turns of the log, and the world that runs them.
pub(crate) struct World {
    state: State,
    /// The keyframe that it begins or began with; `None`: with the start.
    began_with: Option<Keyframe>,
    /// Up to where the log is in the store, with its tail, or was before.
    appended: Option<Cursor>,
    tail: LogTail,
    /// What an earlier world had followed to counts up to there.
    kept: Option<Kept>,
    /// The world that this one is to take the place of, once the log goes further than its final turns.
    replaces: Option<Box<DetachedWorld>>,
    /// It has logged turns as final that do not count: only another run of the process can come back.
    strayed: Option<Contradiction>,
}

#[derive(Clone, Copy)]
enum State {
    /// It is not known yet what it begins with.
    Absent,
    /// Its beginning is known.
    Due,
    Loading,
    Running(Running),
}

/// How far a world has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    /// Turns handed out to it.
    pub handed_out: u32,
    /// Turns that it has executed, and its checksum.
    pub executed: u32,
    pub checksum: Checksum,
}

/// Records that the store has already, and so many turns among them.
struct Kept {
    end: Cursor,
    turns: u32,
    /// A world has executed them, which steps them again.
    ran: bool,
}

/// What a store holds of a match, and the world that has executed all of that before the match stood still. It can go on in
/// a match that is reopened.
pub(crate) struct DetachedWorld {
    log: AttestedLog,
    began_with: Option<Keyframe>,
    me: u8,
    /// `None` where no world has executed anything.
    ran: Option<Ran>,
    appended: Cursor,
    tail: LogTail,
}

/// How far a world has come that was detached.
#[derive(Clone, Copy)]
struct Ran {
    turns: u32,
    checksum: Checksum,
}

/// How much of what a world has followed counts in another log.
enum Common {
    /// All, up to this place of the other log, with so many turns.
    All { end: Cursor, turns: u32 },
    /// The records up to this place, with so many turns.
    Until { end: Cursor, turns: u32 },
    /// Too little: only another run of the process can come back.
    TooLittle,
}

impl World {
    pub(crate) fn new() -> Self {
        World {
            state: State::Absent,
            began_with: None,
            appended: None,
            tail: LogTail::behind(0),
            kept: None,
            replaces: None,
            strayed: None,
        }
    }

    /// Begins, once it is asked for, with the newest of these keyframes that is of this log, or with the start.
    pub(crate) fn of_log(log: &AttestedLog, keyframes: impl Iterator<Item = Keyframe>) -> Self {
        let of_the_log = |keyframe: &Keyframe| {
            log.verified().hash_after(keyframe.turns) == Some(keyframe.log_hash)
        };
        let newest = keyframes.filter(of_the_log);
        let mut world = World::new();
        world.begin_with(newest.max_by_key(|keyframe| keyframe.turns));
        world
    }

    /// Goes on with a world in a match that was reopened with this log: as it stands, or from the beginning where its end
    /// does not count.
    pub(crate) fn reattached(
        held: DetachedWorld,
        log: &AttestedLog,
        own: Option<Keyframe>,
    ) -> Self {
        let keyframes = own.into_iter().chain(held.began_with.clone());
        let world = World::of_log(log, keyframes);
        match (held.common(log), held.ran) {
            (Common::All { end, .. }, Some(ran)) => World {
                state: State::Running(ran.into()),
                appended: Some(end),
                tail: held.tail,
                ..world
            },
            (common, _) => {
                let mut world = world;
                world.keep(held, common);
                world
            }
        }
    }

    /// Takes the world along to where the match is reopened. `known`: the place of its peer, and the log that it has followed.
    pub(crate) fn detach(self, known: Option<(u8, AttestedLog)>) -> Option<DetachedWorld> {
        if let Some(replaced) = self.replaces {
            return Some(*replaced);
        }
        let running = self.running()?;
        let (me, mut log) = known?;
        log.forget_unconfirmed();
        Some(DetachedWorld {
            log,
            began_with: self.began_with,
            me,
            ran: Some(Ran {
                turns: running.executed,
                checksum: running.checksum,
            }),
            appended: self.appended?,
            tail: self.tail,
        })
    }

    /// Begins anew, as the log that the world has followed does not count to its end. Its tail may be taken back, and no
    /// more.
    pub(crate) fn begin_again(&mut self, me: u8, log: AttestedLog) {
        let followed = std::mem::replace(self, World::new());
        self.replaces = followed.detach(Some((me, log))).map(Box::new);
    }

    /// The match was not reopened: the world goes on following its log, at its place in the roster. Where none has run, it
    /// is not known yet what the world begins with.
    pub(crate) fn attach(held: DetachedWorld) -> (World, Option<(AttestedLog, u8)>) {
        let Some(ran) = held.ran else {
            let world = World {
                replaces: Some(Box::new(held)),
                ..World::new()
            };
            return (world, None);
        };
        let world = World {
            state: State::Running(ran.into()),
            appended: Some(held.appended),
            tail: held.tail,
            ..World::new()
        };
        (world, Some((held.log, held.me)))
    }

    /// It is known what it begins with.
    pub(crate) fn begin_with(&mut self, keyframe: Option<Keyframe>) {
        (self.state, self.began_with) = (State::Due, keyframe);
    }

    /// Has the world built, once it is known from what, and the log appended up to there. `is_whole`: no turn follows.
    /// `started` is told where the match begins with it.
    pub(crate) fn load(
        &mut self,
        log: &AttestedLog,
        is_whole: bool,
        started: impl FnOnce() -> Event,
    ) -> Vec<Output> {
        if !matches!(self.state, State::Due) || !self.settle_replaced(log, is_whole) {
            return Vec::new();
        }
        self.state = State::Loading;
        let start = log.start();
        let turns = self.began_with.as_ref().map_or(0, |begin| begin.turns);
        let mut out = match &self.kept {
            Some(kept) => vec![self.tail.retract(kept.turns)],
            None => vec![Output::Append(Record::Start(start.clone()))],
        };
        let ran = self.kept.as_ref().filter(|kept| kept.ran);
        let retracted = ran.map(|kept| TurnNumber(kept.turns));
        if retracted.is_none() {
            out.push(Output::Event(started()));
        }
        let encoded = log.verified().encoded();
        let confirmed = log.confirmed().turns();
        let begin = encoded.before_turn(turns.min(confirmed));
        let begin = begin.expect("confirmed turns are in the log");
        let kept = self.kept.as_ref().map(|kept| &kept.end);
        let is_new = kept.is_none_or(|kept| kept.is_before(&begin));
        if is_new {
            let mut at = kept.cloned().unwrap_or(encoded.first());
            // All but the last turns are final, as those behind them are confirmed.
            let tail = begin.turn().saturating_sub(LONGEST_DELAY);
            if let Some(tail) = encoded.before_turn(tail)
                && at.is_before(&tail)
            {
                out.extend(self.tail.pass(encoded.part(at, &tail)));
                at = tail;
            }
            while at.is_before(&begin) {
                let record = encoded.read(&mut at).expect("a place of the log");
                out.extend(self.log(record));
            }
        }
        self.appended = Some(begin);
        match self.began_with.clone() {
            Some(keyframe) => {
                if is_new {
                    let record = Record::Keyframe(keyframe.clone());
                    out.extend(self.tail.record(turns, record));
                }
                out.push(Output::Load {
                    turns,
                    ticks: keyframe.ticks,
                    snapshot: keyframe.snapshot,
                    retracted,
                });
            }
            None => out.push(Output::New {
                start: start.clone(),
                retracted,
            }),
        }
        out
    }

    /// Takes over what the store has of the world before, once this log is whole or goes further than that world's final
    /// turns. False before, and where they do not count.
    fn settle_replaced(&mut self, log: &AttestedLog, is_whole: bool) -> bool {
        let due = |replaced: &mut Box<DetachedWorld>| {
            is_whole || log.confirmed().turns() > replaced.tail.logged()
        };
        if let Some(replaced) = self.replaces.take_if(due) {
            let common = replaced.common(log);
            self.keep(*replaced, common);
        }
        self.replaces.is_none() && self.strayed.is_none()
    }

    /// Takes over what a store has in common with the log that this world is to run.
    fn keep(&mut self, held: DetachedWorld, common: Common) {
        match common {
            Common::All { end, turns } | Common::Until { end, turns } => {
                let ran = held.ran.is_some();
                self.kept = Some(Kept { end, turns, ran });
            }
            Common::TooLittle => {
                self.strayed = Some(Contradiction {
                    peers: Peers::default(),
                    turn: TurnNumber(held.tail.logged().saturating_sub(1)),
                });
            }
        }
        self.tail = held.tail;
    }

    /// Logs the next confirmed record. A quorum has it, and not all need to: a turn is final as late as it can be. A
    /// decision covers the turns before it.
    fn log(&mut self, record: Record) -> Vec<Output> {
        match record {
            Record::Bundle(bundle) => {
                let mut out = self.tail.push(bundle);
                out.extend(self.tail.provisional().map(Output::Tail));
                out
            }
            Record::Roster(change) => {
                let mut out = self.tail.settle(change.value.cut);
                out.push(Output::Append(Record::Roster(change)));
                out
            }
            _ => vec![Output::Append(record)],
        }
    }

    /// All turns up to here are final: a decision, or the end of the match, covers them.
    pub(crate) fn settle(&mut self, turns: u32) -> Vec<Output> {
        self.tail.settle(turns)
    }

    /// The world is built.
    pub(crate) fn loaded(&mut self, checksum: Checksum) {
        if matches!(self.state, State::Loading) {
            let turns = self.began_with.as_ref().map_or(0, |begin| begin.turns);
            self.state = State::Running(Running {
                handed_out: turns,
                executed: turns,
                checksum,
            });
        }
    }

    /// The world has executed a turn.
    pub(crate) fn executed(&mut self, checksum: Checksum) {
        if let State::Running(running) = &mut self.state {
            (running.executed, running.checksum) = (running.executed + 1, checksum);
        }
    }

    /// Appends and hands out confirmed turns, so many ahead of the world at most.
    pub(crate) fn hand_out(&mut self, log: &AttestedLog, most: u32) -> Vec<Output> {
        let mut out = Vec::new();
        let (State::Running(mut running), Some(mut at)) = (self.state, self.appended.clone())
        else {
            return out;
        };
        while running.handed_out - running.executed < most {
            let is_new = self.is_new(&at);
            let Some(record) = log.next_confirmed(&mut at) else {
                break;
            };
            if is_new {
                out.extend(self.log(record.clone()));
            }
            if let Record::Bundle(bundle) = record {
                out.push(Output::Execute(bundle));
                running.handed_out += 1;
            }
        }
        (self.state, self.appended) = (State::Running(running), Some(at));
        out
    }

    /// Whether the store lacks the record at this place.
    fn is_new(&self, at: &Cursor) -> bool {
        let kept = self.kept.as_ref();
        kept.is_none_or(|kept| !at.is_before(&kept.end))
    }

    /// The last turn that it has logged as final, where these do not count.
    pub(crate) fn strayed(&self) -> Option<Contradiction> {
        self.strayed
    }

    /// Whether it was asked for.
    pub(crate) fn exists(&self) -> bool {
        matches!(self.state, State::Loading | State::Running(_))
    }

    /// Whether the world is built, and has executed all that it was handed out.
    pub(crate) fn is_idle(&self) -> bool {
        let running = self.running();
        running.is_some_and(|running| running.handed_out == running.executed)
    }

    /// Turns that the game has executed, and its checksum: of this world, or of the one that it replaces.
    pub(crate) fn executed_turns(&self) -> Option<(u32, Checksum)> {
        let running = self
            .running()
            .map(|running| (running.executed, running.checksum));
        let replaced = self.replaces.as_ref();
        running.or_else(|| replaced?.executed())
    }

    /// How far it has come, once it is built.
    pub(crate) fn running(&self) -> Option<Running> {
        match self.state {
            State::Running(running) => Some(running),
            _ => None,
        }
    }
}

impl From<Ran> for Running {
    fn from(ran: Ran) -> Running {
        Running {
            handed_out: ran.turns,
            executed: ran.turns,
            checksum: ran.checksum,
        }
    }
}

impl DetachedWorld {
    /// Has a new store keep a log that an earlier run has recorded, at its place in the roster, as far as the world's
    /// beginning is among it. Turns from `provisional` on may not count in the end.
    pub(crate) fn recorded(
        log: VerifiedLog,
        me: u8,
        keyframe: Option<Keyframe>,
        provisional: u32,
    ) -> (DetachedWorld, Vec<Output>) {
        let mut tail = LogTail::behind(0);
        let mut out = vec![Output::Append(Record::Start(log.start().clone()))];
        let encoded = log.encoded();
        // A decision covers the turns before it.
        let behind = |turns: u32| {
            let turns = turns.max(log.head().began()).min(log.head().turns());
            encoded.behind_changes(turns).expect("a turn of the log")
        };
        let finals = behind(provisional);
        let mut written = encoded.first();
        if let Some(keyframe) = keyframe {
            let turns = keyframe.turns;
            out.extend(tail.record(turns, Record::Keyframe(keyframe)));
            // It stands where its turn is: readers keep the log hashes of few turns.
            if turns < provisional {
                let here = behind(turns);
                out.extend(tail.pass(encoded.part(written, &here)));
                written = here;
            }
        }
        out.extend(tail.pass(encoded.part(written, &finals)));
        for record in encoded.records_behind(finals) {
            if let Record::Bundle(bundle) = record {
                tail.hold(bundle);
            }
        }
        out.push(Output::Tail(tail.provisional().unwrap_or_default()));
        let log = AttestedLog::of(log);
        let held = DetachedWorld {
            appended: log.verified().encoded().end(),
            log,
            began_with: None,
            me,
            ran: None,
            tail,
        };
        (held, out)
    }

    /// Turns that it has executed, and its checksum.
    pub(crate) fn executed(&self) -> Option<(u32, Checksum)> {
        self.ran.map(|ran| (ran.turns, ran.checksum))
    }

    /// The log that it has followed.
    pub(crate) fn followed(&self) -> EncodedLog {
        self.log.confirmed_log()
    }

    fn common(&self, log: &AttestedLog) -> Common {
        let ours = self.log.verified().encoded();
        let (mut own, mut other) = (ours.first(), log.verified().encoded().first());
        let mut turns = 0;
        while own.is_before(&self.appended) {
            let end = other.clone();
            let mine = ours.read(&mut own);
            let alike = log
                .next_confirmed(&mut other)
                .zip(mine.as_ref())
                .is_some_and(|(theirs, mine)| are_alike(mine, &theirs));
            let is_turn = matches!(mine, Some(Record::Bundle(_)));
            if !alike {
                // A change is decided, and so final with the turns before it.
                return match is_turn && turns >= self.tail.logged() {
                    true => Common::Until { end, turns },
                    false => Common::TooLittle,
                };
            }
            turns += u32::from(is_turn);
        }
        Common::All { end: other, turns }
    }
}

/// The same turns, and changes that say the same: others' accepts may have decided one.
fn are_alike(own: &Record, other: &Record) -> bool {
    match (own, other) {
        (Record::Roster(own), Record::Roster(other)) => {
            let same = (own.epoch, own.value) == (other.epoch, other.value);
            same && own.reopening == other.reopening
        }
        _ => own == other,
    }
}

#[cfg(test)]
mod tests;
