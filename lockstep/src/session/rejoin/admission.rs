//! Admission: what a joiner says to be let in, the decision that lets it in, and what it brings into its part.

use super::follow::Follow;
use crate::log::{Head, Peers, Record, RosterChange, Start, TurnFold};
use crate::session::roster::{Joins, Request};
use crate::session::wire::Control;
use crate::sign::Signer;
use crate::{Incarnation, LinkId, LogHash, PeerId};
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

/// What a peer brings that was let in: the log up to the cut of the decision.
pub(crate) struct Returned {
    /// As the last change left it.
    pub start: Arc<Start>,
    pub me: usize,
    pub addresses: Vec<Vec<String>>,
    /// By place, since when a peer that was asked is not heard.
    pub unheard_since: Vec<Option<Duration>>,
    /// The changes of all epochs. The last one lets this peer in.
    pub changes: Vec<RosterChange>,
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

    /// The request to be let in, where it is time for one, of a joiner whose world has executed so many turns.
    pub(crate) fn request(
        &mut self,
        now: Duration,
        follow: &Follow,
        run: Incarnation,
        executed: u32,
        signer: &dyn Signer,
    ) -> Option<Request> {
        if now < self.next_request {
            return None;
        }
        self.next_request = now + REQUEST_EVERY;
        let joins = Joins {
            peer: follow.me(),
            incarnation: run,
        };
        let epoch = follow.ahead().epoch();
        Some(Request::signed(
            signer,
            follow.start(),
            epoch,
            joins,
            executed,
        ))
    }

    /// When the next request is due.
    pub(crate) fn deadline(&self) -> Duration {
        self.next_request
    }

    /// What this peer brings into its part, which `change` begins; `None` where it does not end the log. `peers` tells
    /// addresses of a peer, and since when it is not heard.
    pub(crate) fn returned(
        &mut self,
        now: Duration,
        change: &RosterChange,
        follow: &Follow,
        (executed, checksum): (u32, Checksum),
        peers: impl Fn(PeerId) -> (Vec<String>, Option<Duration>),
        signer: &dyn Signer,
    ) -> Option<Returned> {
        let cut = change.value.cut;
        let mut head = follow.log().confirmed().clone();
        if head.turns() < cut || head.take(&Record::Roster(change.clone()), signer).is_err() {
            return None;
        }
        let due = follow.due(cut, head.fold().plan.turn());
        let places = head.start().roster.iter();
        let (addresses, unheard_since) = places.map(|place| peers(place.peer)).unzip();
        let places = 0..head.start().roster.len() as u8;
        Some(Returned {
            me: usize::from(follow.me()),
            addresses,
            unheard_since,
            past: places.map(|at| head.past_runs(at)).collect(),
            chained: head.tip(),
            start: head.start().clone(),
            changes: head.changes().to_vec(),
            left: head.left(),
            course: head.fold().clone(),
            ticks: head.ticks(),
            hashes: follow.verified().hashes().to_vec(),
            executed,
            checksum,
            due: due.unwrap_or(now),
            early: std::mem::take(&mut self.early).into(),
        })
    }
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

    const ME: u8 = 2;
    const RUN: Incarnation = Incarnation([99; 16]);

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Five turns, the removal of the third peer, and four turns more.
    fn records() -> Vec<Record> {
        let mut records = turns(5);
        let own = Follow::new(at(0), ME, start(3), &records, &signer(ME));
        let value = Value::of(Peers(0b011), 5).with_log(own.ahead().hash());
        records.push(Record::Roster(decided(&start(3), 0, value)));
        records.extend((5..9).map(|at| turn(at, false, Vec::new())));
        records
    }

    fn follow() -> Follow {
        let mut follow = Follow::new(at(0), ME, start(3), &records(), &signer(ME));
        follow.set_reported(9, at(700));
        follow
    }

    fn change(cut: u32, follow: &Follow) -> RosterChange {
        let mut value = Value::of(Peers::first(3), cut);
        value.log_hash = follow.verified().hash_after(cut);
        value.joins = Some(Joins {
            peer: ME,
            incarnation: RUN,
        });
        decided(&start(3), 1, value)
    }

    #[test]
    fn requests_are_signed_for_the_epoch_and_leave_five_times_a_second() {
        let (mut admission, follow) = (Admission::new(at(100)), follow());
        let request = |admission: &mut Admission, ms: u64| {
            admission.request(at(ms), &follow, RUN, 9, &signer(ME))
        };
        assert!(request(&mut admission, 99).is_none());
        let first = request(&mut admission, 100).expect("due");
        assert!(request(&mut admission, 299).is_none());
        assert_eq!(admission.deadline(), at(300));
        let (key, start) = (signer(ME).id(), start(3));
        assert!(first.is_signed_by(key, &signer(0), &start, 1));
        assert!(!first.is_signed_by(key, &signer(0), &start, 0));
        assert_eq!((first.joins.incarnation, first.turns), (RUN, 9));
    }

    #[test]
    fn a_part_begins_with_the_log_up_to_the_cut() {
        let (mut admission, follow) = (Admission::new(at(0)), follow());
        admission.keep_early(LinkId(4), Control::Bye);
        let peers = |peer: PeerId| (vec![format!("{}", peer.0[0])], None);
        let change = change(9, &follow);
        let returned = admission
            .returned(
                at(800),
                &change,
                &follow,
                (9, Checksum(3)),
                peers,
                &signer(ME),
            )
            .expect("the change ends the log");
        assert_eq!(
            (returned.me, returned.executed, returned.due),
            (2, 9, at(700))
        );
        assert_eq!(returned.addresses, [["1"], ["2"], ["3"]]);
        assert_eq!(returned.changes.last(), Some(&change));
        assert_eq!(returned.hashes.len(), 10);
        assert_eq!(returned.past, [vec![], vec![], vec![Incarnation([2; 16])]]);
        assert_eq!(returned.early.len(), 1);
    }

    #[test]
    fn no_part_begins_before_the_log_is_confirmed_up_to_the_cut() {
        let (mut admission, follow) = (Admission::new(at(0)), follow());
        for cut in [8, 10] {
            let mut change = change(cut.min(9), &follow);
            change.value.cut = cut;
            let peers = |_: PeerId| (Vec::new(), None);
            let world = (cut, Checksum(3));
            let returned = admission.returned(at(0), &change, &follow, world, peers, &signer(ME));
            assert!(returned.is_none(), "cut {cut}");
        }
    }

    #[test]
    fn of_early_messages_notes_go_first() {
        let mut admission = Admission::new(at(0));
        admission.keep_early(LinkId(1), Control::Evidence(Vec::new()));
        for _ in 1..EARLY {
            admission.keep_early(LinkId(2), Control::Roster(Vec::new()));
        }
        admission.keep_early(LinkId(3), Control::Evidence(Vec::new()));
        assert_eq!(admission.early.len(), EARLY);
        assert_eq!(admission.early[0].0, LinkId(1));
        assert_eq!(admission.early[EARLY - 1].0, LinkId(3));
    }

    #[test]
    fn members_after_a_decision_are_named_by_the_runs_that_speak_then() {
        let follow = follow();
        let members = members_after(&change(9, &follow), follow.ahead());
        let id = |peer: u8| signer(peer).id();
        assert!(members.contains(&(id(0), Incarnation([0; 16]))));
        assert!(members.contains(&(id(ME), RUN)));
    }
}
