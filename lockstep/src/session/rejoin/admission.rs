//! Admission: a joiner's request, the decision that admits it, and what it brings into its part.

use crate::log::{AttestedLog, Head, Peers, Readmission, Record, RosterChange, Start, TurnFold};
use crate::session::roster::Request;
use crate::session::wire::Control;
use crate::sign::Signer;
use crate::{Incarnation, LinkId, LogHash, MatchId, PeerId};
use sim::Checksum;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// How often a joiner that is near the others says so.
const REQUEST_EVERY: Duration = Duration::from_millis(200);
/// Messages about the next roster change that are kept until this peer has a part in it, each within the limit of a
/// message: more than members send in a second.
const EARLY: usize = 256;

/// Requests, and what members say before the joiner has a part in it.
pub(crate) struct Admission {
    next_request: Duration,
    /// What members have told of the next change, of cheats and of the end, oldest first: they say it once.
    early: VecDeque<(LinkId, Control)>,
}

/// What a peer brings that was admitted: the log up to the cut of the decision.
pub(crate) struct Returned {
    /// As the last change left it.
    pub start: Arc<Start>,
    pub me: usize,
    pub addresses: Vec<Vec<String>>,
    /// By place, since when a peer that was asked is not heard.
    pub unheard_since: Vec<Option<Duration>>,
    /// The changes of all epochs. The last one admits this peer.
    pub changes: Vec<RosterChange>,
    /// Changes by which the log has left a match for a branch, each with the match that it has left.
    pub branches: Vec<(MatchId, RosterChange)>,
    /// Peers that the last change removed and that had left by themselves.
    pub left: Peers,
    pub course: TurnFold,
    pub ticks: u64,
    /// By place, the runs of each peer's process that are over.
    pub past: Vec<Vec<Incarnation>>,
    /// Hashes of the log, oldest first, up to the one after the cut.
    pub hashes: Vec<LogHash>,
    /// The same with the last change chained in.
    pub chained: LogHash,
    /// Turns that the world has executed, and its checksum.
    pub executed: u32,
    pub checksum: Checksum,
    /// When the turn behind the cut is due.
    pub due: Duration,
    /// What members have told of roster changes and cheats, oldest first, and may not say again.
    pub early: Vec<(LinkId, Control)>,
}

impl Admission {
    pub(crate) fn new(now: Duration) -> Self {
        Admission {
            next_request: now,
            early: VecDeque::new(),
        }
    }

    /// Keeps what was said until this peer has a part in the match.
    pub(crate) fn keep_early(&mut self, link: LinkId, message: Control) {
        if self.early.len() == EARLY {
            // What is said of a change is said again in the next attempt.
            let is_note = |(_, early): &(_, Control)| matches!(early, Control::Roster(_));
            let oldest = self.early.iter().position(is_note);
            self.early.remove(oldest.unwrap_or(0));
        }
        self.early.push_back((link, message));
    }

    /// The request for admission, where it is time for one: the joiner's world has executed so many turns.
    pub(crate) fn request(
        &mut self,
        now: Duration,
        log: &AttestedLog,
        joins: Readmission,
        executed: u32,
        signer: &dyn Signer,
    ) -> Option<Request> {
        if now < self.next_request {
            return None;
        }
        self.next_request = now + REQUEST_EVERY;
        let epoch = log.ahead().epoch();
        let start = log.ahead().start();
        Some(Request::signed(signer, start, epoch, joins, executed))
    }

    /// When the next request is due.
    pub(crate) fn deadline(&self) -> Duration {
        self.next_request
    }

    /// What was kept, oldest first.
    pub(crate) fn take_early(&mut self) -> Vec<(LinkId, Control)> {
        std::mem::take(&mut self.early).into()
    }
}

/// What the log comes to with the change by which the joiner's part begins, once it is confirmed up to the cut.
pub(crate) fn head_at(
    change: &RosterChange,
    log: &AttestedLog,
    signer: &dyn Signer,
) -> Option<Head> {
    let mut head = log.confirmed().clone();
    let here = log.ends_with(change) && !log.has_unconfirmed();
    let taken = here.then(|| head.take(&Record::Roster(change.clone()), signer));
    taken?.ok().map(|()| head)
}

/// Whether this is a decision that admits the joiner, of the epoch and at a turn that its log comes to. A decision of
/// another epoch will be seen in the log, or is of the past.
pub(crate) fn takes_decision(
    change: &RosterChange,
    joins: Readmission,
    head: &Head,
    signer: &dyn Signer,
) -> bool {
    change.value.joins == Some(joins)
        && change.value.cut >= head.turns()
        && head.is_next(change, signer)
}

/// The runs of processes that are members once a decision has ended the log's last epoch.
pub(crate) fn members_after(change: &RosterChange, head: &Head) -> Vec<(PeerId, Incarnation)> {
    let roster = &head.start().roster;
    let places = change.value.roster.iter();
    let places = places.filter_map(|at| roster.get(usize::from(at)));
    let mut runs: Vec<(PeerId, Incarnation)> = places
        .map(|place| (place.peer, place.incarnation))
        .collect();
    runs.extend(
        change
            .new_runs()
            .filter_map(|(at, run)| Some((roster.get(usize::from(at))?.peer, run))),
    );
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Value;
    use crate::log::fixture::{decided, signer, start, turn, turns};

    const JOINS: Readmission = Readmission {
        peer: 2,
        incarnation: Incarnation([99; 16]),
    };

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Five turns, the removal of the third peer, and four turns more.
    fn log() -> AttestedLog {
        let mut records = turns(5);
        let before = AttestedLog::new(start(3), &records, &signer(2));
        let value = Value::of(Peers(0b011), 5).with_log(before.ahead().hash());
        records.push(Record::Roster(decided(&start(3), 0, value)));
        records.extend((5..9).map(|at| turn(at, false, Vec::new())));
        AttestedLog::new(start(3), &records, &signer(2))
    }

    fn change(cut: u32) -> RosterChange {
        let mut value = Value::of(Peers::first(3), cut);
        value.log_hash = log().verified().hash_after(cut.min(9));
        value.joins = Some(JOINS);
        decided(&start(3), 1, value)
    }

    #[test]
    fn requests_are_signed_for_the_epoch_and_leave_five_times_a_second() {
        let (mut admission, log) = (Admission::new(at(100)), log());
        let request = |admission: &mut Admission, ms: u64| {
            admission.request(at(ms), &log, JOINS, 9, &signer(2))
        };
        assert!(request(&mut admission, 99).is_none());
        let first = request(&mut admission, 100).expect("due");
        assert!(request(&mut admission, 299).is_none());
        assert_eq!(admission.deadline(), at(300));
        let (key, start) = (signer(2).id(), start(3));
        assert!(first.is_signed_by(key, &signer(0), &start, 1));
        assert!(!first.is_signed_by(key, &signer(0), &start, 0));
        assert_eq!((first.joins, first.turns), (JOINS, 9));
    }

    #[test]
    fn a_part_begins_where_the_log_is_confirmed_up_to_the_cut() {
        let (log, signer) = (log(), signer(2));
        let head = head_at(&change(9), &log, &signer).expect("it ends the log");
        assert_eq!((head.epoch(), head.began()), (2, 9));
        assert_eq!(head.past_runs(2), [Incarnation([2; 16])]);
        for cut in [8, 10] {
            assert!(head_at(&change(cut), &log, &signer).is_none(), "cut {cut}");
        }
        let mut ahead = AttestedLog::new(start(3), turns(8), &signer);
        let next = turn(8, false, Vec::new());
        ahead.take(&next, &signer).expect("it follows");
        let unconfirmed = RosterChange {
            epoch: 0,
            ..change(9)
        };
        assert!(head_at(&unconfirmed, &ahead, &signer).is_none());
    }

    #[test]
    fn a_decision_counts_for_the_run_that_asked_and_the_epoch_of_its_log() {
        let (log, signer) = (log(), signer(2));
        let takes =
            |change: &RosterChange, joins| takes_decision(change, joins, log.ahead(), &signer);
        let other = Readmission {
            incarnation: Incarnation([98; 16]),
            ..JOINS
        };
        assert!(takes(&change(9), JOINS) && takes(&change(10), JOINS));
        assert!(!takes(&change(9), other), "another run");
        assert!(!takes(&change(8), JOINS), "of the past");
        let forged = RosterChange {
            accepts: change(8).accepts,
            ..change(9)
        };
        assert!(!takes(&forged, JOINS));
    }

    #[test]
    fn early_votes_are_dropped_first() {
        let mut admission = Admission::new(at(0));
        admission.keep_early(LinkId(1), Control::Evidence(Vec::new()));
        for _ in 1..EARLY {
            admission.keep_early(LinkId(2), Control::Roster(Vec::new()));
        }
        admission.keep_early(LinkId(3), Control::Evidence(Vec::new()));
        let early = admission.take_early();
        assert_eq!(early.len(), EARLY);
        assert_eq!(early[0].0, LinkId(1));
        assert_eq!(early[EARLY - 1].0, LinkId(3));
    }

    #[test]
    fn members_after_a_decision_are_named_by_the_runs_that_speak_then() {
        let members = members_after(&change(9), log().ahead());
        let id = |peer: u8| signer(peer).id();
        assert!(members.contains(&(id(0), Incarnation([0; 16]))));
        assert!(members.contains(&(id(2), JOINS.incarnation)));
    }
}
