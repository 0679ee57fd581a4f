//! Whether the match stands still for want of a quorum, as far as a peer that comes back can see.
//!
//! Those who play on without a quorum let nobody in, and nobody need tell so: the log ends, and of its last roster too
//! few are in reach as the runs that it names. Another run of one of them does not count, as it has no vote there.
//! That may pass by itself, where others are only cut off or stopped: so this peer looks on, and says what it sees.

use super::{ANSWER, JoinerLog, Returning, Snapshot, UNHEARD, World};
use crate::log::{Cursor, Keyframe, Record};
use crate::session::core::Core;
use crate::session::roster::{Peers, RECENT};
use crate::{EndReason, Ended, Event, LinkId, SeatInfo, TurnNumber};
use sim::{Checksum, Seat};
use std::time::Duration;

/// No turn comes for so long: as long as those who play need to suspect whom they do not hear, and a second.
const STANDS: Duration = Duration::from_secs(4);

/// How far the log has come, in epochs and turns, whether this peer is let in, and since when not farther.
pub(super) struct Progress {
    at: (u32, u32, bool),
    since: Duration,
    /// It is told that there is no quorum.
    told: bool,
}

/// A world that has executed all that there was before the match stood still. It can go on in one that is reopened.
pub(crate) struct Held {
    log: JoinerLog,
    /// The snapshot that it began with, where it was given one.
    pub(super) began_with: Option<Keyframe>,
    me: usize,
    turns: u32,
    checksum: Checksum,
    appended: Cursor,
}

/// What of a match that stood still counts where it was reopened.
pub(super) enum Followed {
    /// All records up to there: the world goes on.
    All(Cursor),
    /// The records up to `end`, with so many turns: what is behind them leaves the log again, and the world begins anew.
    Until { end: Cursor, turns: u32 },
    /// Too little: only another run can come back.
    TooFar,
}

impl Progress {
    pub(super) fn new(now: Duration) -> Self {
        Progress {
            at: (0, 0, false),
            since: now,
            told: false,
        }
    }

    /// How long one that is asked may take to answer before another one is. Who stands still has nothing more to say, but
    /// is found to have gone, where it has.
    pub(super) fn patience(&self) -> Duration {
        match self.told {
            true => UNHEARD,
            false => ANSWER,
        }
    }

    pub(super) fn skip(&mut self, away: Duration) {
        self.since += away;
    }
}

impl Returning {
    /// Looks whether the log goes on, and tells once where it cannot.
    pub(super) fn look_whether_it_stands(&mut self, core: &mut Core) {
        let Some(log) = self.log.as_ref().filter(|_| !self.reopened) else {
            self.progress.since = core.now;
            return;
        };
        let at = (
            log.ahead().epoch(),
            log.ahead().turns(),
            self.decided.is_some(),
        );
        // What was walked and then forgotten comes again, and is no news.
        let (_, turns, _) = self.progress.at;
        let server = self.server.as_ref();
        let lacks = server.is_some_and(|server| server.has > turns);
        if at > self.progress.at {
            self.progress = Progress {
                at,
                ..Progress::new(core.now)
            };
            return;
        }
        if lacks {
            self.progress.since = core.now;
            return;
        }
        if core.now < self.progress.since + STANDS {
            return;
        }
        let here = self.in_reach(core, log);
        let reopens = self
            .reopens
            .is_some_and(|(link, _)| core.links.contains_key(&link));
        // Where nobody is in reach, it may be this peer that is cut off.
        let knows = !here.is_empty() || reopens;
        if log.ahead().is_quorum(here) {
            self.progress.told = false;
        } else if knows && !std::mem::replace(&mut self.progress.told, true) {
            self.stood = true;
            let missing = log.ahead().roster().without(here);
            core.event(Event::NoQuorum {
                turn: TurnNumber(log.ahead().turns()),
                missing: infos(log, missing).iter().map(|info| info.seat).collect(),
            });
        }
    }

    /// When that is to be looked at for the first time, if not before.
    pub(super) fn stands_at(&self, core: &Core) -> Option<Duration> {
        let at = self.progress.since + STANDS;
        let may = self.log.is_some() && !self.reopened && !self.progress.told;
        (may && at > core.now).then_some(at)
    }

    /// Whether the match was last seen to stand still, with too few to go on.
    pub(super) fn stands(&self) -> bool {
        self.progress.told
    }

    /// How it ends where it has seen that, and nobody answers any more.
    pub(super) fn no_quorum(&self, core: &Core) -> Option<EndReason> {
        let log = self.log.as_ref().filter(|_| self.stands())?;
        let own: Peers = std::iter::once(self.me as u8).collect();
        let here = self.in_reach(core, log).or(own);
        let missing = infos(log, log.ahead().roster().without(here));
        Some(EndReason::NoQuorum { missing })
    }

    /// Whether who is at the other end of a link is no run that the log knows of: one that looks for the match as well,
    /// or that reopens it.
    pub(super) fn is_new_run(&self, core: &Core, link: LinkId) -> bool {
        let proved = core.links.get(&link).and_then(|link| link.proved);
        let (Some(log), Some((peer, run))) = (&self.log, proved) else {
            return false;
        };
        let mut places = log.ahead().start().roster.iter();
        places.any(|place| place.peer == peer && place.incarnation != run)
    }

    /// Peers of the roster that are in reach as the runs that have a vote.
    fn in_reach(&self, core: &Core, log: &JoinerLog) -> Peers {
        let places = log.ahead().start().roster.iter().enumerate();
        let here = places.filter(|(_, place)| {
            let votes = Some((place.peer, place.incarnation));
            let mut links = core.links_to(place.peer);
            links.any(|link| link.proved == votes)
        });
        let here: Peers = here.map(|(at, _)| at as u8).collect();
        here.and(log.ahead().roster())
    }

    /// Whether it can wait for the others where the match is reopened: its world begins there, or goes on.
    pub(super) fn may_gather(&self) -> bool {
        let outlined = self.server.as_ref().is_some_and(|server| server.outlined);
        match &self.world {
            World::None => !outlined || self.stands(),
            World::Loading => false,
            World::Ready {
                handed_out,
                executed,
                ..
            } => self.stands() && handed_out == executed,
        }
    }

    /// Takes the world along to where the match is reopened. What it has followed counts there as recorded.
    pub(super) fn hold(&mut self) -> Option<Box<Held>> {
        let World::Ready {
            executed, checksum, ..
        } = self.world
        else {
            return None;
        };
        let began_with = match &self.snapshot {
            Snapshot::Here(keyframe) => Some(keyframe.clone()),
            _ => None,
        };
        let mut log = self.log.take()?;
        log.forget_unconfirmed();
        let start = Record::Start(log.start().clone());
        let followed: Vec<Record> = std::iter::once(start)
            .chain(log.confirmed_records())
            .collect();
        if self.own.is_empty() || how_far(&followed) > how_far(&self.own) {
            self.own = followed;
        }
        Some(Box::new(Held {
            log,
            began_with,
            me: self.me,
            turns: executed,
            checksum,
            appended: self.appended.take()?,
        }))
    }

    /// Goes on looking with the world that it had.
    pub(super) fn take_back(&mut self, held: Held) {
        self.stood = true;
        self.world = held.world();
        self.me = held.me;
        self.appended = Some(held.appended);
        self.log = Some(held.log);
    }
}

impl Held {
    /// An end with what this world has come to.
    pub(crate) fn as_far_as(&self, ended: Ended) -> Ended {
        Ended {
            turns: self.turns,
            checksum: Some(self.checksum),
            ..ended
        }
    }

    pub(super) fn world(&self) -> World {
        World::Ready {
            handed_out: self.turns,
            executed: self.turns,
            checksum: self.checksum,
        }
    }

    /// What of that counts where the match was reopened with this log.
    pub(super) fn follow(&self, log: &JoinerLog) -> Followed {
        let (ours, theirs) = (self.log.verified().encoded(), log.verified().encoded());
        let (mut own, mut other) = (ours.first(), theirs.first());
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
                        Followed::Until { end, turns }
                    }
                    _ => Followed::TooFar,
                };
            }
            if is_turn {
                last_turn = Some(end);
                turns += 1;
            }
        }
        Followed::All(other)
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

/// Roster changes, and then turns.
fn how_far(records: &[Record]) -> (usize, usize) {
    records
        .iter()
        .fold((0, 0), |(changes, turns), record| match record {
            Record::Roster(_) => (changes + 1, turns),
            Record::Bundle(_) => (changes, turns + 1),
            _ => (changes, turns),
        })
}

fn infos(log: &JoinerLog, peers: Peers) -> Vec<SeatInfo> {
    let place = |seat: Seat| {
        let mut places = log.start().roster.iter();
        places.position(|place| place.seats.contains(&seat))
    };
    let all = log.start().seat_infos().into_iter();
    all.filter(|info| place(info.seat).is_some_and(|at| peers.contains(at as u8)))
        .collect()
}
