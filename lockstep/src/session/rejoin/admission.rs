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
pub(in crate::session) struct Admission {
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
    pub(in crate::session) fn new(now: Duration) -> Self {
        Admission {
            next_request: now,
            early: VecDeque::new(),
        }
    }

    /// Keeps what was said until this peer has a part in the match.
    pub(in crate::session) fn keep_early(&mut self, link: LinkId, message: Control) {
        if self.early.len() == EARLY {
            // What is said of a change is said again in the next attempt.
            let is_note = |(_, early): &(_, Control)| matches!(early, Control::Roster(_));
            let oldest = self.early.iter().position(is_note);
            self.early.remove(oldest.unwrap_or(0));
        }
        self.early.push_back((link, message));
    }

    /// The request to be let in, where it is time for one, of a joiner whose world has executed so many turns.
    pub(in crate::session) fn request(
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
    pub(in crate::session) fn deadline(&self) -> Duration {
        self.next_request
    }

    /// What this peer brings into its part, which `change` begins; `None` where it does not end the log. `peers` tells
    /// addresses of a peer, and since when it is not heard.
    pub(in crate::session) fn returned(
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
pub(in crate::session) fn members_after(
    change: &RosterChange,
    head: &Head,
) -> Vec<(PeerId, Incarnation)> {
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
