//! Readmission: joiners ask to come back, and each voter tells the others of joiners that it would admit.

use super::paxos::{Message, Peers, Readmission, Request};
use super::{Membership, Surroundings};
use crate::session::facts::Fact;
use crate::session::ledger::{Ledger, Places};
use crate::sign::Signer;
use crate::{Incarnation, Plan};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Turns that a joiner may have beyond this peer, at most: others may be so far ahead of it.
const TURNS_AHEAD: u32 = 64;
/// A joiner that has said for so long nothing new is not admitted: it may be gone again.
pub(crate) const FRESH: Duration = Duration::from_secs(1);
/// A joiner's request is passed on as often as this.
const AGAIN: Duration = Duration::from_millis(300);
/// Another run of a process is heard of by its own links no sooner.
const NEXT_RUN: Duration = Duration::from_secs(1);
/// Runs of one process that are remembered by one voter's word: longer than a decision takes.
const RUNS: usize = 8;
/// A peer that has held the others up is admitted again, the second time, after so long, the third time after twice this
/// time, and so on up to so many times.
const BACK_AFTER: Duration = Duration::from_secs(60);
const HELD_UP_MOST: u32 = 5;
/// A new run of a process may replace the run before at once. The second time that run must have had its place for so long,
/// the third time for twice as long, and so on up to so many times: each costs the others a change.
const REPLACED_AFTER: Duration = Duration::from_secs(15);
const REPLACED_MOST: u32 = 4;

/// The requests of joiners, and when an absent peer may come back.
pub(super) struct Readmissions {
    /// By place, the last run of each joiner of this epoch.
    asked: BTreeMap<u8, Asked>,
    /// By voter and place, the last runs that the voter has told of: where one dies and the next one asks, what was
    /// proposed for the first can still be accepted. A voter that makes up runs takes no place of runs that others tell of.
    known: BTreeMap<(u8, u8), VecDeque<Readmission>>,
    /// By place, the run that this peer has told all of, and since when.
    told: BTreeMap<u8, (Readmission, Duration)>,
    /// How many requests this peer has told all of.
    tellings: u32,
    /// By place.
    absences: Vec<Absence>,
}

struct Asked {
    request: Request,
    heard_at: Duration,
}

/// How a peer came to be away.
#[derive(Clone, Copy, Default)]
struct Absence {
    /// From when on this peer proposes to admit it again.
    back_at: Duration,
    /// How often it was removed after it had held the others up for long.
    held_up: u32,
    /// When another run of its process last asked for its place, having followed.
    replaced_at: Option<Duration>,
    /// How often it was removed while one asked.
    replaced: u32,
}

impl Readmissions {
    pub(super) fn new(peers: usize) -> Self {
        Readmissions {
            asked: BTreeMap::new(),
            known: BTreeMap::new(),
            told: BTreeMap::new(),
            tellings: 0,
            absences: vec![Absence::default(); peers],
        }
    }

    /// Whether no joiner has asked in this epoch.
    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// All joiners that have asked: a proposal for any of them can be accepted.
    pub(super) fn known(&self) -> Vec<Readmission> {
        self.known.values().flatten().copied().collect()
    }

    /// Whether a request says more than the last one, or is of another run that `may_follow`.
    fn is_news(&self, request: &Request, may_follow: impl Fn(&Asked) -> bool) -> bool {
        let last = self.asked.get(&request.joins.peer);
        last.is_none_or(|last| match last.request.joins == request.joins {
            true => last.request.turns < request.turns,
            false => may_follow(last),
        })
    }

    /// Whether a request that came from the joiner itself is to be told to all now.
    fn is_due(&self, request: &Request, now: Duration) -> bool {
        let known = self.asked.get(&request.joins.peer);
        let due = match self.told.get(&request.joins.peer) {
            Some((joins, since)) if *joins != request.joins => *since + NEXT_RUN <= now,
            Some(_) => known.is_none_or(|asked| asked.heard_at + AGAIN <= now),
            None => true,
        };
        due && self.is_news(request, |_| true)
    }

    /// Whether a joiner can have come as far, where so many turns are complete.
    fn is_plausible(request: &Request, complete: u32) -> bool {
        request.turns <= complete.saturating_add(TURNS_AHEAD)
    }

    /// A request has come from the joiner itself, or else a voter tells of it. A voter can tell again of runs that are
    /// over, so none of them follows on one that was heard of lately.
    fn note(&mut self, request: Request, by: u8, from_itself: bool, now: Duration) {
        let joins = request.joins;
        let was_known = self.known.values().flatten().any(|known| *known == joins);
        let may_follow = |last: &Asked| from_itself || !was_known || last.heard_at + FRESH <= now;
        let is_news = self.is_news(&request, may_follow);
        let known = self.known.entry((by, joins.peer)).or_default();
        if !known.contains(&joins) {
            known.push_back(joins);
            if known.len() > RUNS {
                known.pop_front();
            }
        }
        if is_news {
            let heard_at = now;
            self.asked.insert(joins.peer, Asked { request, heard_at });
        }
    }

    /// This peer tells all of a request as one that it would grant. What the others are told.
    fn tell(&mut self, request: Request, now: Duration) -> Message {
        let joins = request.joins;
        let since = match self.told.get(&joins.peer) {
            Some((told, since)) if *told == joins => *since,
            _ => now,
        };
        self.told.insert(joins.peer, (joins, since));
        self.tellings += 1;
        Message::Request(self.tellings, request)
    }

    /// The requests of joiners that follow and have reached only others.
    pub(super) fn untold(&self, plan: Plan, complete: u32, now: Duration) -> Vec<Request> {
        let asked = self.asked.values().filter(|asked| {
            let joins = asked.request.joins;
            let told = self.told.get(&joins.peer);
            told.is_none_or(|(told, since)| *told != joins && *since + NEXT_RUN <= now)
        });
        let untold = asked.filter(|asked| self.follows(asked, plan, complete, now));
        untold.map(|asked| asked.request).collect()
    }

    /// The joiner that is to be admitted next.
    pub(super) fn next(&self, plan: Plan, complete: u32, now: Duration) -> Option<Readmission> {
        let mut told = self.asked.values().filter(|asked| {
            let joins = asked.request.joins;
            let told = self.told.get(&joins.peer);
            let is_told = told.is_some_and(|(told, _)| *told == joins);
            is_told && self.follows(asked, plan, complete, now)
        });
        told.next().map(|asked| asked.request.joins)
    }

    /// Whether a joiner follows, was heard of lately, and may come back by now.
    fn follows(&self, asked: &Asked, plan: Plan, complete: u32, now: Duration) -> bool {
        let lately = FRESH.as_millis() / plan.turn().as_millis().max(1);
        let reach = u32::from(plan.delay_turns) + lately as u32 + 1;
        let Request { joins, turns, .. } = asked.request;
        let absence = self.absences.get(usize::from(joins.peer));
        let may = absence.is_some_and(|absence| absence.back_at <= now);
        may && asked.heard_at + FRESH > now && turns.saturating_add(reach) >= complete
    }

    /// Another run of a voter's process has followed, and asks for its place.
    fn note_replacement(&mut self, at: usize, run: Incarnation, places: &Places, now: Duration) {
        if places.is_new(at, run) {
            self.absences[at].replaced_at = Some(now);
        }
    }

    /// Whether another run of its process has asked for a peer's place of late.
    pub(super) fn is_asked_for(&self, at: usize, now: Duration) -> bool {
        let asked = self.absences[at].replaced_at;
        asked.is_some_and(|asked| now < asked + FRESH)
    }

    /// For how long a run must have had its place before another one of its process may have it.
    pub(super) fn replaced_after(&self, at: usize) -> Duration {
        REPLACED_AFTER * self.absences[at].replaced.min(REPLACED_MOST)
    }

    /// An epoch begins whose change has `removed` some peers, some of which have held the others up for long.
    pub(super) fn begin_epoch(&mut self, removed: Peers, held_up: Peers, now: Duration) {
        for at in removed.iter().map(usize::from) {
            if self.is_asked_for(at, now) {
                let replaced = &mut self.absences[at].replaced;
                *replaced = replaced.saturating_add(1);
            }
            if held_up.contains(at as u8) {
                let absence = &mut self.absences[at];
                absence.back_at = now + BACK_AFTER * absence.held_up;
                absence.held_up = (absence.held_up + 1).min(HELD_UP_MOST);
            }
        }
    }

    /// What was asked in the epoch before is to be asked again.
    pub(super) fn forget_requests(&mut self) {
        self.asked.clear();
        self.known.clear();
        self.told.clear();
    }

    /// A joiner has its place again.
    pub(super) fn readmit(&mut self, at: usize) {
        let Absence {
            held_up, replaced, ..
        } = self.absences[at];
        self.absences[at] = Absence {
            held_up,
            replaced,
            ..Absence::default()
        };
    }
}

impl Membership {
    /// Another run of a voter's process, which has followed, asks for its place.
    pub(crate) fn note_replacement(
        &mut self,
        at: usize,
        run: Incarnation,
        places: &Places,
        now: Duration,
    ) {
        self.readmission.note_replacement(at, run, places, now);
    }

    /// Whether the peer at the place that a request asks for has signed it, for this epoch.
    pub(crate) fn is_signed(
        &self,
        request: &Request,
        places: &Places,
        signer: &dyn Signer,
    ) -> bool {
        let peer = places.get(usize::from(request.joins.peer));
        let epoch = self.epochs.epoch();
        peer.is_some_and(|peer| request.is_signed_by(peer.peer, signer, places.start(), epoch))
    }

    /// Takes a request that came from the joiner itself, and passes it on as one that this peer would grant.
    pub(crate) fn take_request(
        &mut self,
        request: Request,
        around: &Surroundings,
        ledger: &Ledger,
        signer: &dyn Signer,
    ) -> Option<Fact> {
        let due = self.readmission.is_due(&request, around.now);
        if !due || self.epochs.pending().is_some() {
            return None;
        }
        self.note_request(request, None, around, ledger, signer);
        Some(self.tell_request(request, around.now, &ledger.places, signer))
    }

    pub(super) fn tell_request(
        &mut self,
        request: Request,
        now: Duration,
        places: &Places,
        signer: &dyn Signer,
    ) -> Fact {
        let message = self.readmission.tell(request, now);
        self.cast(message, places, signer)
    }

    /// Takes a request that a voter passes on, or that came from the joiner itself. A run of a process that has had its part
    /// does not come back, and no peer does that is convicted, or has strayed too often.
    pub(super) fn note_request(
        &mut self,
        request: Request,
        voter: Option<u8>,
        around: &Surroundings,
        ledger: &Ledger,
        signer: &dyn Signer,
    ) {
        let by = voter.unwrap_or(self.me);
        let joins = request.joins;
        let at = usize::from(joins.peer);
        let places = &ledger.places;
        let over = at >= places.len()
            || !places.is_new(at, joins.incarnation)
            || around.cheats.or(around.barred).contains(joins.peer);
        let counts = !self.epochs.has(at) && self.epochs.has(usize::from(by));
        let plausible = Readmissions::is_plausible(&request, ledger.window.complete());
        if !over && plausible && counts && self.is_signed(&request, places, signer) {
            let from_itself = voter.is_none();
            self.readmission.note(request, by, from_itself, around.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn request(peer: u8, run: u8, turns: u32) -> Request {
        Request {
            joins: Readmission {
                peer,
                incarnation: Incarnation([run; 16]),
            },
            turns,
            signature: ([0; 32], [0; 32]),
        }
    }

    #[test]
    fn proposal_for_a_run_is_acceptable_when_the_next_run_asks() {
        let mut readmission = Readmissions::new(4);
        let (first, next) = (request(2, 50, 100), request(2, 51, 100));
        readmission.note(first, 0, false, Duration::ZERO);
        readmission.note(next, 0, false, Duration::ZERO);
        assert_eq!(readmission.known(), [first.joins, next.joins]);
        let asked = readmission.asked[&2].request;
        assert_eq!(asked.joins, next.joins, "the run that is admitted next");
        // Runs that another voter tells of take no place of theirs.
        for run in 0..=255 {
            readmission.note(request(2, run, 100), 1, false, Duration::ZERO);
            readmission.note(request(3, run, 100), 1, false, Duration::ZERO);
        }
        let known = readmission.known();
        assert!(known.starts_with(&[first.joins, next.joins]));
        assert_eq!(known.len(), 2 + 2 * RUNS);
    }

    #[test]
    fn a_voter_that_tells_of_earlier_runs_keeps_no_joiner_out() {
        let mut readmission = Readmissions::new(4);
        let (first, plan) = (request(2, 50, 100), Plan::default());
        readmission.note(first, 0, true, Duration::ZERO);
        let mut now = SECOND * 10;
        for turns in 200..220 {
            let joins = request(2, 51, turns);
            assert!(readmission.is_due(&joins, now));
            readmission.note(joins, 0, true, now);
            readmission.tell(joins, now);
            for old in [first, request(2, 51, 200)] {
                now += AGAIN / 2;
                readmission.note(old, 1, false, now);
            }
            assert_eq!(readmission.next(plan, turns, now), Some(joins.joins));
        }
        readmission.note(first, 1, false, now + FRESH);
        assert_eq!(readmission.asked[&2].request, first, "its last run is gone");
    }

    #[test]
    fn a_later_run_is_told_as_news_with_fewer_turns() {
        let mut readmission = Readmissions::new(4);
        let mut number = |run, turns, now| match readmission.tell(request(2, run, turns), now) {
            Message::Request(number, _) => number,
            message => panic!("{message:?}"),
        };
        let first = number(50, 100, Duration::ZERO);
        assert!(number(51, 40, SECOND) > first);
    }

    #[test]
    fn joiner_is_admitted_once_it_follows_and_was_heard_lately() {
        let mut readmission = Readmissions::new(3);
        let plan = Plan::default();
        let asks = request(2, 50, 100);
        assert!(readmission.is_due(&asks, Duration::ZERO));
        readmission.note(asks, 0, true, Duration::ZERO);
        assert_eq!(readmission.untold(plan, 100, Duration::ZERO), [asks]);
        assert_eq!(readmission.next(plan, 100, Duration::ZERO), None);
        readmission.tell(asks, Duration::ZERO);
        let next = |readmission: &Readmissions, complete: u32, now: Duration| {
            readmission.next(plan, complete, now)
        };
        assert_eq!(next(&readmission, 100, Duration::ZERO), Some(asks.joins));
        assert_eq!(
            next(&readmission, 900, Duration::ZERO),
            None,
            "too far behind"
        );
        assert_eq!(next(&readmission, 100, FRESH), None, "too long ago");
        assert!(!readmission.is_due(&asks, SECOND), "nothing new");
        assert!(!Readmissions::is_plausible(&request(2, 50, 165), 100));
    }

    #[test]
    fn a_peer_that_holds_the_others_up_comes_back_later_each_time() {
        let mut readmission = Readmissions::new(3);
        let (peer, none) = (Peers(0b100), Peers::default());
        let now = SECOND * 100;
        for waits in [0, 60, 120] {
            readmission.begin_epoch(peer, peer, now);
            assert_eq!(readmission.absences[2].back_at, now + SECOND * waits);
            readmission.readmit(2);
            assert_eq!(readmission.absences[2].back_at, Duration::ZERO);
        }
        readmission.begin_epoch(peer, none, now);
        assert_eq!(readmission.absences[2].back_at, Duration::ZERO);
    }

    #[test]
    fn a_place_is_given_to_another_run_later_each_time() {
        let places = crate::session::ledger::fixture::ledger(3).places;
        let mut readmission = Readmissions::new(3);
        let (run, peer) = (Incarnation([9; 16]), Peers(0b100));
        readmission.note_replacement(2, places.peer(2).incarnation, &places, SECOND);
        assert!(
            !readmission.is_asked_for(2, SECOND),
            "the run in force itself"
        );
        for times in 0..6u32 {
            assert_eq!(
                readmission.replaced_after(2),
                REPLACED_AFTER * times.min(REPLACED_MOST)
            );
            readmission.note_replacement(2, run, &places, SECOND);
            assert!(
                readmission.is_asked_for(2, SECOND) && !readmission.is_asked_for(2, SECOND * 2)
            );
            readmission.begin_epoch(peer, Peers::default(), SECOND);
        }
    }
}
