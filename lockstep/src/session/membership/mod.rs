//! Membership: which peers are of the match, and how that changes.
//!
//! A peer that turns wait for is suspected (`suspicion`), players may give it more time (`extensions`), and voters agree on
//! a roster without it (`paxos`), or with a joiner (`readmission`), as one of them in turn proposes. Each change begins an
//! epoch (`epochs`). A peer that may have been removed while it slept does nothing until a quorum confirms its part (`fence`).

mod coordination;
mod epochs;
mod extensions;
mod fence;
pub mod paxos;
mod readmission;
mod suspicion;
#[cfg(test)]
mod tests;
mod vote_log;
mod voting;

pub(crate) use coordination::{Action, first_difference, promised_log};
pub(crate) use readmission::FRESH;
pub(crate) use suspicion::HeardLink;

use super::facts::{Body, Fact, Topic, Version};
use super::ledger::{Ledger, Places};
use super::timers::{Timer, Timers};
use super::wire::SignedStatement;
use crate::log::{Document, STALL_BUDGET, Value};
use crate::sign::Signer;
use crate::{Event, Fault, Incarnation, LogHash, Plan};
use epochs::Epochs;
use extensions::{Counting, Extensions};
use fence::{Fence, PeerStatus, StatusOf};
use paxos::{Peers, Voters};
use readmission::Readmissions;
use sim::Seat;
use std::time::Duration;
use suspicion::Suspicion;
use vote_log::VoteLog;

/// What membership is told of the rest of the match.
pub(crate) struct Surroundings {
    pub now: Duration,
    pub plan: Plan,
    /// The lowest seat of the peer that has slowed the match down for longer than it may.
    pub too_slow: Option<Seat>,
    /// Since when the next turn is waited for, and whether the game was told of it.
    pub stalled_since: Option<Duration>,
    pub is_stall_told: bool,
    /// Another turn belongs to the match.
    pub wants_turns: bool,
    pub has_ended: bool,
    /// The match has stopped for a difference.
    pub is_desynced: bool,
    pub is_leaving: bool,
    /// Peers that are convicted of signing two batches for one turn.
    pub cheats: Peers,
    /// Peers that differ from a quorum; those of them that a change may remove now; peers that may never know why; and
    /// peers that differ by the reports at hand.
    pub minority: Peers,
    pub minority_due: Peers,
    pub unaware_of_minority: Peers,
    pub evident_minority: Peers,
    /// The peer that attests another log, while this one does not know why.
    pub disputed: Peers,
    /// Peers that have strayed too often to come back.
    pub barred: Peers,
    /// While the roster changes, the log's hash after one turn more than are complete, and so on.
    pub ahead: Vec<LogHash>,
}

/// How this peer's part begins.
pub(crate) enum Since {
    /// With the match.
    Start,
    /// By this change, the last of those before.
    Change(u32, Value),
    /// Alone, in this epoch.
    Alone(u32),
}

pub(crate) struct Membership {
    me: u8,
    epochs: Epochs,
    votes: VoteLog,
    /// Accepts of this peer so far. Each is durable under its number before another peer hears of it.
    accepts: u64,
    suspicion: Suspicion,
    extensions: Extensions,
    fence: Fence,
    readmission: Readmissions,
}

impl Membership {
    pub(crate) fn new(
        since: Since,
        places: &Places,
        run: Incarnation,
        suspicion: Duration,
        now: Duration,
    ) -> Self {
        let (me, peers) = (places.me() as u8, places.len());
        let epochs = match since {
            Since::Start => Epochs::new(me, peers, now),
            Since::Change(ended, value) => Epochs::resumed(me, ended, value, now),
            Since::Alone(epoch) => Epochs::continued(epoch, now),
        };
        Membership {
            me,
            votes: VoteLog::new(me, epochs.epoch(), now),
            accepts: 0,
            epochs,
            suspicion: Suspicion::new(suspicion, peers, now),
            extensions: Extensions::default(),
            fence: Fence::new(run, peers, now),
            readmission: Readmissions::new(peers),
        }
    }

    /// Whether nothing may be sealed, completed or handed out until others have responded. Where it is decided that this peer
    /// stays for the next epoch, the turns of this one are settled, and the others may need them to respond: the next one waits.
    pub(crate) fn is_fenced(&self) -> bool {
        self.fence.is_closed() && !self.stays_for_next()
    }

    /// How much longer than usual players wait in this stall.
    pub(crate) fn extension(&self) -> Duration {
        self.extensions.granted()
    }

    /// The same, and for how long a stall lasts at least after votes in it: what is late then may still be gone without.
    pub(crate) fn patience(&self) -> (Duration, Duration) {
        let least = match self.extensions.ends() {
            Duration::ZERO => Duration::ZERO,
            ends => ends + STALL_BUDGET * 2,
        };
        (self.extension(), least)
    }

    pub(crate) fn suspects(&self) -> Peers {
        self.suspicion.suspects
    }

    /// Whether so many peers are lost that the others cannot decide to go on without them.
    pub(crate) fn has_lost_quorum(&self) -> bool {
        self.suspicion.lost_quorum
    }

    /// For how long a peer was not heard.
    pub(crate) fn unheard(&self, at: usize, now: Duration) -> Duration {
        self.suspicion.unheard(at, now)
    }

    /// The players of this peer want to wait longer. Means nothing while no turn waits.
    pub(crate) fn wait_longer(&mut self, stalled: bool, ledger: &Ledger) {
        if stalled || self.epochs.is_changing() {
            self.extensions.vote(ledger.window.complete());
        }
    }

    /// How long this peer's clock has stood still, where that was a gap.
    pub(crate) fn detect_clock_gap(&mut self, now: Duration) -> Option<Duration> {
        self.fence.detect_clock_gap(now)
    }

    /// What was slept through was not waited for.
    pub(crate) fn skip(&mut self, away: Duration, now: Duration) {
        self.suspicion.skip(away, now);
    }

    /// Whether others may have removed this peer while it slept. Alone, it may have decided to admit another peer, which
    /// could then have removed it.
    pub(crate) fn may_be_removed(&self) -> bool {
        let voters = self.epochs.voters().members();
        voters.or(self.epochs.next_members()).len() > 1
    }

    /// Does nothing more until a quorum has responded to this number, which could not be foreseen.
    pub(crate) fn challenge(&mut self, number: u64) {
        self.fence.challenge(number);
    }

    /// The peers that have responded to this peer's challenge. Where it is decided that this peer stays, they may be in the
    /// next epoch already.
    fn responded(&self, places: &Places) -> Peers {
        let epoch = self.epochs.epoch() + u32::from(self.epochs.stays_for_next());
        let responding = self.fence.responding(epoch, places);
        responding.and(self.epochs.next_members())
    }

    /// The voters that have not responded to this peer's challenge.
    pub(crate) fn unresponsive(&self, places: &Places) -> Peers {
        if !self.fence.is_closed() {
            return Peers::default();
        }
        let others = self.epochs.voters().members().without(places.own());
        others.without(self.responded(places))
    }

    /// Opens the fence once a quorum has responded. Whether it has just done so.
    pub(crate) fn open_fence(&mut self, places: &Places) -> bool {
        if !self.fence.is_closed() {
            return false;
        }
        let voters = Voters::new(self.epochs.next_members());
        let responded = self.responded(places);
        let alone = voters.members() == places.own();
        let quorum = voters.is_quorum(responded.or(places.own()));
        let confirmed = alone || !responded.is_empty() && quorum;
        if confirmed {
            self.fence.open();
        }
        confirmed
    }

    /// Says what is new about this peer. What it has accepted and does not know to be decided may be that a challenger goes.
    pub(crate) fn publish_status(&mut self, places: &Places, signer: &dyn Signer) -> Option<Fact> {
        let responds_to = match self.epochs.is_frozen() {
            true => Peers::default(),
            false => self.epochs.next_members(),
        };
        let told = (self.epochs.epoch(), self.extensions.own());
        let told = self.fence.publish_status(told, responds_to, places, signer);
        told.map(|(status, signed)| status_fact(&status, signed))
    }

    /// Takes a status that came by a link.
    ///
    /// # Errors
    /// What its link is at fault for.
    pub(crate) fn take_status(
        &mut self,
        statement: SignedStatement,
        places: &Places,
        signer: &dyn Signer,
    ) -> Result<Option<Fact>, Fault> {
        let at = statement.peer;
        let Some(peer) = places.get(usize::from(at)) else {
            return Err(Fault::OutOfPlace);
        };
        let Ok(status) = PeerStatus::decode(&statement.content, places.len()) else {
            return Err(Fault::Garbage);
        };
        if !self.fence.is_news(at, &status, self.epochs.epoch(), places) {
            return Ok(None);
        }
        let status_of = StatusOf(places.start().match_id, &statement.content);
        let signed = status_of.with(statement.signature.into());
        if !signed.is_by(peer.peer, signer.verifier()) {
            return Err(Fault::Signature);
        }
        let fact = status_fact(&status, statement);
        self.fence.take(at, status);
        Ok(Some(fact))
    }

    /// Counts the votes of players to wait longer.
    pub(crate) fn count_extensions(
        &mut self,
        around: &Surroundings,
        ledger: &Ledger,
    ) -> Option<Event> {
        let epoch = self.epochs.epoch();
        let statuses = self.fence.statuses(&ledger.places);
        let current = statuses.filter(|(_, status)| status.epoch == epoch);
        let given = current.map(|(at, status)| (at, status.votes));
        // A moment in one of the next turns is no stall that the game was told of.
        let stalls = around.is_stall_told || self.epochs.is_changing();
        let since = around.stalled_since;
        let counting = Counting {
            voters: self.epochs.voters(),
            stalls,
            lasts: since.map(|since| around.now.saturating_sub(since)),
            near: u32::from(around.plan.delay_turns),
            now: around.now,
        };
        self.extensions.count(given, &counting, ledger)
    }

    /// Peers are looked at again while there is a reason to, the clock always.
    pub(crate) fn timers(&self, around: &Surroundings, ledger: &Ledger, timers: &mut Timers) {
        timers.set(Timer::ClockGap, Some(self.fence.look_at()));
        if around.is_desynced {
            return;
        }
        let voters = self.epochs.voters().members();
        let reasons = around.cheats.or(around.minority).or(ledger.batches.gone());
        let looks = around.stalled_since.is_some()
            || self.epochs.is_changing()
            || self.votes.is_asked()
            || !self.readmission.is_empty()
            || !reasons.and(voters).is_empty()
            || !self.replaced(self.suspicion.at, ledger).is_empty()
            || !self.too_slow(around, ledger).is_empty();
        let at = self.suspicion.at + WATCH_EVERY;
        timers.set(Timer::Watch, looks.then_some(at));
    }

    /// Another run of a peer's process has its place.
    pub(crate) fn readmit(&mut self, at: usize, run: Incarnation, now: Duration) {
        self.suspicion.readmit(at, now);
        self.readmission.readmit(at);
        self.fence.readmit(at as u8, run);
    }

    #[cfg(test)]
    pub(crate) fn blocked_by(&self, at: usize) -> Duration {
        self.suspicion.blocked_by(at)
    }
}

/// While there is a reason, peers are looked at this often.
const WATCH_EVERY: Duration = Duration::from_millis(50);

fn status_fact(status: &PeerStatus, signed: SignedStatement) -> Fact {
    Fact {
        topic: Topic::Status(signed.peer),
        version: Version::Status(status.run, status.number),
        body: Body::Status(signed),
    }
}
