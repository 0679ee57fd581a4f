//! The world of a joiner: what it begins with, and the turns that it is handed out.

use super::joiner_log::JoinerLog;
use crate::log::{Cursor, Keyframe, Record};
use crate::session::Output;
use crate::session::roster::RECENT;
use crate::{Ended, Event};
use sim::Checksum;

/// Turns of the log, and the world that runs them.
pub(in crate::session) struct World {
    state: State,
    /// The keyframe that it begins or began with; `None`: with the start.
    began_with: Option<Keyframe>,
    /// Up to where the log is appended to the store, or was before.
    appended: Option<Cursor>,
    /// What an earlier world had followed to counts up to there.
    kept: Option<Kept>,
    /// It has executed turns that were taken back since: only another run of the process can come back.
    strayed: bool,
}

#[derive(Clone, Copy)]
enum State {
    /// It is not known yet what it begins with.
    Absent,
    /// That is known.
    Due,
    Loading,
    Running(Running),
}

/// How far a world has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) struct Running {
    /// Turns handed out to it.
    pub handed_out: u32,
    /// Turns that it has executed, and its checksum.
    pub executed: u32,
    pub checksum: Checksum,
}

/// Records that the store has already, and so many turns among them: the world steps these turns again.
struct Kept {
    end: Cursor,
    turns: u32,
}

/// A world that has executed all turns that there were before the match stood still. It can go on in a match that is
/// reopened.
pub(crate) struct DetachedWorld {
    log: JoinerLog,
    began_with: Option<Keyframe>,
    me: u8,
    turns: u32,
    checksum: Checksum,
    appended: Cursor,
}

/// How much of what a world has followed counts in another log.
enum Common {
    /// All, up to this place of the other log.
    All(Cursor),
    /// The records up to this place, with so many turns.
    Until { end: Cursor, turns: u32 },
    /// Too little: only another run of the process can come back.
    TooLittle,
}

impl World {
    pub(in crate::session) fn new() -> Self {
        World {
            state: State::Absent,
            began_with: None,
            appended: None,
            kept: None,
            strayed: false,
        }
    }

    /// Begins, once it is asked for, with the newest of these keyframes that is of this log, or with the start.
    pub(in crate::session) fn of_log(
        log: &JoinerLog,
        keyframes: impl Iterator<Item = Keyframe>,
    ) -> Self {
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
    pub(in crate::session) fn reattached(
        held: DetachedWorld,
        log: &JoinerLog,
        own: Option<Keyframe>,
    ) -> Self {
        let keyframes = own.into_iter().chain(held.began_with.clone());
        let world = World::of_log(log, keyframes);
        match held.common(log) {
            Common::All(end) => World {
                state: State::Running(held.running()),
                appended: Some(end),
                ..world
            },
            Common::Until { end, turns } => World {
                kept: Some(Kept { end, turns }),
                ..world
            },
            Common::TooLittle => World {
                strayed: true,
                ..world
            },
        }
    }

    /// Takes the world along to where the match is reopened, with the log that it has followed.
    pub(in crate::session) fn detach(self, me: u8, mut log: JoinerLog) -> Option<DetachedWorld> {
        let running = self.running()?;
        log.forget_unconfirmed();
        Some(DetachedWorld {
            log,
            began_with: self.began_with,
            me,
            turns: running.executed,
            checksum: running.checksum,
            appended: self.appended?,
        })
    }

    /// The match was not reopened: the world goes on following its log, at its place in the roster.
    pub(in crate::session) fn attach(held: DetachedWorld) -> (World, JoinerLog, u8) {
        let world = World {
            state: State::Running(held.running()),
            began_with: None,
            appended: Some(held.appended),
            kept: None,
            strayed: false,
        };
        (world, held.log, held.me)
    }

    /// It is known what it begins with.
    pub(in crate::session) fn begin_with(&mut self, keyframe: Option<Keyframe>) {
        (self.state, self.began_with) = (State::Due, keyframe);
    }

    /// Has the world built, once it is known from what, and the log appended up to there. `started` is told where the match
    /// begins with it.
    pub(in crate::session) fn load(
        &mut self,
        log: &JoinerLog,
        started: impl FnOnce() -> Event,
    ) -> Vec<Output> {
        if !matches!(self.state, State::Due) {
            return Vec::new();
        }
        self.state = State::Loading;
        let start = log.start();
        let turns = self.began_with.as_ref().map_or(0, |begin| begin.turns);
        let mut out = match &self.kept {
            Some(Kept { turns, .. }) => vec![Output::Undo { turns: *turns }],
            None => vec![
                Output::Append(Record::Start(start.clone())),
                Output::Event(started()),
            ],
        };
        let before = |record: &Record| match record {
            Record::Bundle(bundle) => bundle.turn.0 < turns,
            Record::Roster(change) => change.value.cut < turns,
            _ => false,
        };
        let mut at = log.verified().encoded().first();
        let mut is_new = self.kept.is_none();
        loop {
            let mut next = at.clone();
            let Some(record) = log.next_confirmed(&mut next).filter(before) else {
                break;
            };
            is_new = self.is_new(&at);
            at = next;
            if is_new {
                out.push(Output::Append(record));
            }
        }
        self.appended = Some(at);
        match &self.began_with {
            Some(keyframe) => {
                if is_new {
                    out.push(Output::Append(Record::Keyframe(keyframe.clone())));
                }
                out.push(Output::Load {
                    turns,
                    ticks: keyframe.ticks,
                    snapshot: keyframe.snapshot.clone(),
                });
            }
            None => out.push(Output::New(start.clone())),
        }
        out
    }

    /// The world is built.
    pub(in crate::session) fn loaded(&mut self, checksum: Checksum) {
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
    pub(in crate::session) fn executed(&mut self, checksum: Checksum) {
        if let State::Running(running) = &mut self.state {
            (running.executed, running.checksum) = (running.executed + 1, checksum);
        }
    }

    /// Appends and hands out confirmed turns, so many ahead of the world at most.
    pub(in crate::session) fn hand_out(&mut self, log: &JoinerLog, most: u32) -> Vec<Output> {
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
                out.push(Output::Append(record.clone()));
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

    /// It has executed turns that do not count any more.
    pub(in crate::session) fn stray(&mut self) {
        self.strayed = true;
    }

    pub(in crate::session) fn has_strayed(&self) -> bool {
        self.strayed
    }

    /// Whether it was asked for.
    pub(in crate::session) fn exists(&self) -> bool {
        matches!(self.state, State::Loading | State::Running(_))
    }

    /// How far it has come, once it is built.
    pub(in crate::session) fn running(&self) -> Option<Running> {
        match self.state {
            State::Running(running) => Some(running),
            _ => None,
        }
    }
}

impl DetachedWorld {
    /// An end with what this world has come to.
    pub(crate) fn as_far_as(&self, ended: Ended) -> Ended {
        Ended {
            turns: self.turns,
            checksum: Some(self.checksum),
            ..ended
        }
    }

    /// Start and records of the log that it has followed.
    pub(in crate::session) fn records(&self) -> Vec<Record> {
        let start = Record::Start(self.log.start().clone());
        std::iter::once(start)
            .chain(self.log.confirmed_records())
            .collect()
    }

    fn running(&self) -> Running {
        Running {
            handed_out: self.turns,
            executed: self.turns,
            checksum: self.checksum,
        }
    }

    fn common(&self, log: &JoinerLog) -> Common {
        let ours = self.log.verified().encoded();
        let (mut own, mut other) = (ours.first(), log.verified().encoded().first());
        let (mut turns, mut last_turn) = (0, None);
        while own.is_before(&self.appended) {
            let end = other.clone();
            let mine = ours.read(&mut own);
            let alike = log
                .next_confirmed(&mut other)
                .zip(mine.as_ref())
                .is_some_and(|(theirs, mine)| are_alike(mine, &theirs));
            let is_turn = matches!(mine, Some(Record::Bundle(_)));
            if !alike {
                // A change that does not count goes with the turn before it.
                let until = match is_turn {
                    true => Some((end, turns)),
                    false => last_turn.map(|end| (end, turns - 1)),
                };
                return match until {
                    Some((end, turns)) if self.turns - turns <= RECENT as u32 => {
                        Common::Until { end, turns }
                    }
                    _ => Common::TooLittle,
                };
            }
            if is_turn {
                last_turn = Some(end);
                turns += 1;
            }
        }
        Common::All(other)
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
