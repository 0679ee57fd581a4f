//! The end of a match, agreed where that is possible; and the end of one peer's part: it leaves, or is removed.

use super::timers::{Timer, Timers};
use super::wire::Control;
use crate::limits::MOST_ENDS;
use crate::log::{End, Peers};
use crate::{EndReason, Plan};
use sim::{Checksum, Outcome};
use std::time::Duration;

/// How long a peer waits for the others to sign the end, at least.
const END_WAIT: Duration = Duration::from_secs(2);
/// How much longer than the command delay, by which a peer may lag that holds no other up.
const END_WAIT_MORE: Duration = Duration::from_secs(1);
/// For so long it waits for a roster change that is open among them.
const END_WAIT_FOR_CHANGE: Duration = Duration::from_secs(15);
/// How long a leaver waits, beside the command delay, until all hold its last batch and its leaving is decided, and a
/// removed peer until a survivor knows.
const LEAVE_WAIT: Duration = Duration::from_secs(5);
/// How long a desynced peer keeps answering, so that every peer learns of it.
const DESYNC_WAIT: Duration = Duration::from_secs(2);

pub(crate) struct Ending {
    leaving: Option<Leaving>,
    /// Since when this peer knows that it is removed.
    removed_since: Option<Duration>,
    desync_since: Option<Duration>,
    own: Option<OwnEnd>,
    /// By place, the ends that each peer signed: of turns that were taken back, and then of others. Others pass them on in any
    /// order.
    signed: Vec<Vec<(End, [u8; 64])>>,
}

/// This peer leaves.
struct Leaving {
    since: Duration,
    /// The turn of the batch that says so, once sealed.
    sealed_for: Option<u32>,
}

struct OwnEnd {
    begun: Duration,
    /// Since when the others have had nothing else to do.
    since: Duration,
    /// How long the others have to sign it.
    wait: Duration,
    reason: EndReason,
    end: End,
}

/// What the end is told of the rest of the match.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings {
    pub now: Duration,
    pub plan: Plan,
    /// The end waits for what becomes of logs that differ.
    pub is_disputed: bool,
    /// Turns may have been taken back of which an end was told before.
    pub took_back: bool,
    /// Peers that are asked to sign the end.
    pub asked: Peers,
    /// A peer that follows the match was heard of late: it learns the end, and the last turns, from no other peer.
    pub is_followed: bool,
    /// A change is decided, not all turns before its cut are complete, and a survivor knows of the change.
    pub is_decided: bool,
    pub is_known: bool,
    /// The others need this peer no more that leaves.
    pub is_released: bool,
}

/// What the end has come to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Open,
    /// The match has ended so for this peer, with the signatures at hand.
    Agreed(End, EndReason),
    /// Peers have signed different ends after so many turns.
    Differs(u32, Vec<(u8, End)>),
    /// This peer's part is over.
    Over(EndReason),
}

impl Ending {
    pub(crate) fn new(peers: usize) -> Self {
        Ending {
            leaving: None,
            removed_since: None,
            desync_since: None,
            own: None,
            signed: vec![Vec::new(); peers],
        }
    }

    pub(crate) fn is_desynced(&self) -> bool {
        self.desync_since.is_some()
    }

    /// Whether no more turns are to be completed.
    pub(crate) fn holds_turns(&self) -> bool {
        self.is_desynced() || self.own.is_some()
    }

    /// Whether nothing speaks of an end yet.
    pub(crate) fn is_far(&self) -> bool {
        self.removed_since.is_none() && self.leaving.is_none() && !self.holds_turns()
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    /// The turn of the batch that says that this peer leaves, once sealed.
    pub(crate) fn sealed_for(&self) -> Option<u32> {
        self.leaving.as_ref()?.sealed_for
    }

    /// This peer leaves. Whether that is new.
    pub(crate) fn leave(&mut self, now: Duration) -> bool {
        let first = self.leaving.is_none();
        self.leaving.get_or_insert(Leaving {
            since: now,
            sealed_for: None,
        });
        first
    }

    /// The batch of this turn says that this peer leaves.
    pub(crate) fn said_leaving(&mut self, turn: u32) {
        if let Some(leaving) = &mut self.leaving {
            leaving.sealed_for = Some(turn);
        }
    }

    /// False where a difference was found before. An end that was about to be agreed on is none any more.
    pub(crate) fn begin_desync(&mut self, now: Duration) -> bool {
        let first = !self.is_desynced();
        if first {
            self.desync_since = Some(now);
            self.own = None;
        }
        first
    }

    pub(crate) fn be_removed(&mut self, now: Duration) {
        self.removed_since.get_or_insert(now);
    }

    /// An epoch begins with this peer in its roster: the others could not decide on its leaving before.
    pub(crate) fn stay(&mut self, now: Duration) {
        self.removed_since = None;
        if let Some(leaving) = &mut self.leaving {
            leaving.since = now;
        }
    }

    /// Turns from `cut` on are taken back: where those ended the match, it has not ended, whether or not this peer had
    /// come to its end.
    pub(crate) fn retract(&mut self, cut: u32) {
        self.own.take_if(|own| own.end.turns > cut);
        for signed in &mut self.signed {
            signed.retain(|(end, _)| end.turns <= cut);
        }
    }

    /// What was slept through was not waited for.
    pub(crate) fn skip(&mut self, away: Duration) {
        let own = self.own.as_mut().map(|own| &mut own.since);
        let leaving = self.leaving.as_mut().map(|leaving| &mut leaving.since);
        let waits = [&mut self.removed_since, &mut self.desync_since];
        let waits = waits.into_iter().flatten();
        for since in waits.chain(own).chain(leaving) {
            *since += away;
        }
    }

    /// A roster change is open. Peers that stand still for it sign the end once it is over.
    pub(crate) fn wait_for_change(&mut self, now: Duration) {
        let own = self.own.as_mut();
        if let Some(own) = own.filter(|own| now < own.begun + END_WAIT_FOR_CHANGE) {
            own.since = now;
        }
    }

    pub(crate) fn timers(&self, is_disputed: bool, plan: Plan, timers: &mut Timers) {
        let desync = self.desync_since.map(|since| since + DESYNC_WAIT);
        let own = self.own.as_ref().map(|own| own.since + own.wait);
        let removed = self.removed_since.map(|since| since + LEAVE_WAIT);
        let end = desync.or(own).or(removed);
        let end = end.filter(|_| !is_disputed || self.is_desynced());
        let leaving = self.leaving.as_ref().filter(|_| !self.holds_turns());
        let leaving = leaving.map(|leaving| waits_until(leaving.since, plan));
        timers.set(Timer::End, end);
        timers.set(Timer::Leave, leaving);
    }

    /// Turns of the end that this peer has signed.
    pub(crate) fn turns(&self) -> Option<u32> {
        self.own.as_ref().map(|own| own.end.turns)
    }

    pub(crate) fn checksum(&self) -> Option<Checksum> {
        self.own.as_ref().map(|own| own.end.checksum)
    }

    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.own.as_ref().and_then(|own| own.end.outcome)
    }

    /// Whether a peer signed the end that this one signed.
    pub(crate) fn agrees(&self, at: usize) -> bool {
        self.own.is_some() && self.counted(at).map(|(end, _)| end) == self.own_end()
    }

    fn own_end(&self) -> Option<&End> {
        self.own.as_ref().map(|own| &own.end)
    }

    /// The end that a peer has signed: this peer's own, where it has, or the one that was told last.
    fn counted(&self, at: usize) -> Option<&(End, [u8; 64])> {
        let signed = &self.signed[at];
        let own = signed.iter().find(|(end, _)| Some(end) == self.own_end());
        own.or(signed.last())
    }

    /// The match ends so here: what the others are told.
    pub(crate) fn begin(
        &mut self,
        me: usize,
        (end, signature): (End, [u8; 64]),
        reason: EndReason,
        plan: Plan,
        now: Duration,
    ) -> Control {
        let delay = plan.turn() * u32::from(plan.delay_turns);
        let told = end_message(me as u8, &end, signature);
        self.signed[me] = vec![(end.clone(), signature)];
        self.own = Some(OwnEnd {
            begun: now,
            since: now,
            wait: END_WAIT.max(delay + END_WAIT_MORE),
            reason,
            end,
        });
        told
    }

    /// Takes what a peer has signed of the end; where turns may have been taken back, also beside what it signed before.
    /// Whether that is news.
    pub(crate) fn take(
        &mut self,
        at: usize,
        end: &End,
        signature: [u8; 64],
        took_back: bool,
    ) -> bool {
        let agrees = self.agrees(at);
        let known = &mut self.signed[at];
        let again = known.iter().any(|(known, _)| known == end);
        let full = known.len() == MOST_ENDS;
        if again || full || !known.is_empty() && (!took_back || agrees) {
            return false;
        }
        known.push((end.clone(), signature));
        true
    }

    /// What all peers have signed of the end.
    pub(crate) fn told(&self) -> impl Iterator<Item = Control> {
        let signed = self.signed.iter().enumerate();
        signed.flat_map(|(at, signed)| {
            let ends = signed.iter();
            ends.map(move |(end, signature)| end_message(at as u8, end, *signature))
        })
    }

    pub(crate) fn advance(&self, around: &Surroundings) -> Stage {
        let over = |since: Duration| around.now >= since + LEAVE_WAIT;
        if let Some(since) = self.desync_since {
            match around.now >= since + DESYNC_WAIT {
                true => Stage::Over(EndReason::Desync),
                false => Stage::Open,
            }
        } else if let Some(own) = self.own.as_ref().filter(|_| !around.is_disputed) {
            self.sign(own, around)
        } else if let Some(since) = self.removed_since.filter(|_| around.is_decided)
            && (around.is_known || over(since))
        {
            let leaves = self.leaving.is_some();
            Stage::Over(if leaves {
                EndReason::Left
            } else {
                EndReason::Removed
            })
        } else if let Some(leaving) = &self.leaving
            && (around.is_released || around.now >= waits_until(leaving.since, around.plan))
        {
            Stage::Over(EndReason::Left)
        } else {
            Stage::Open
        }
    }

    fn sign(&self, own: &OwnEnd, around: &Surroundings) -> Stage {
        let waits = around.now < own.since + own.wait;
        let asked = || around.asked.iter().map(usize::from);
        let all = asked().all(|at| !self.signed[at].is_empty());
        let ends = || {
            let signed = asked().filter_map(|at| Some((at as u8, &self.counted(at)?.0)));
            signed.filter(|(_, end)| end.turns == own.end.turns)
        };
        let differs = ends().any(|(_, end)| *end != own.end);
        // Word of an end that was taken back may not be true any more.
        let unsure = differs && around.took_back;
        if (!all || unsure) && waits {
            return Stage::Open;
        }
        if differs {
            let told = ends().map(|(at, end)| (at, end.clone()));
            return Stage::Differs(own.end.turns, told.collect());
        }
        // A follower goes once it has the end and the last turns.
        if around.is_followed && waits {
            return Stage::Open;
        }
        let mut end = own.end.clone();
        for at in asked().filter(|at| self.agrees(*at)) {
            let signed = self.counted(at);
            let signature = signed.map(|(_, signature)| (at as u8, *signature));
            end.signatures.extend(signature);
        }
        Stage::Agreed(end, own.reason.clone())
    }
}

/// Until when a peer that began to leave then waits for the others: its last batch counts only after the command delay,
/// and turns may be long.
fn waits_until(since: Duration, plan: Plan) -> Duration {
    since + LEAVE_WAIT + plan.turn() * u32::from(plan.delay_turns)
}

fn end_message(peer: u8, end: &End, signature: [u8; 64]) -> Control {
    Control::End {
        peer,
        turns: end.turns,
        log_hash: end.log_hash,
        checksum: end.checksum,
        outcome: end.outcome,
        signature: signature.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogHash;

    const SECOND: Duration = Duration::from_secs(1);

    fn around(now: Duration) -> Surroundings {
        Surroundings {
            now,
            plan: Plan::default(),
            is_disputed: false,
            took_back: false,
            asked: Peers::first(3),
            is_followed: false,
            is_decided: false,
            is_known: false,
            is_released: false,
        }
    }

    fn end(checksum: u32) -> End {
        End {
            turns: 9,
            log_hash: LogHash([0; 16]),
            checksum: Checksum(checksum),
            outcome: None,
            signatures: Vec::new(),
        }
    }

    /// This peer, the first of three, ends at the beginning of time.
    fn ending() -> Ending {
        let mut ending = Ending::new(3);
        let told = ending.begin(
            0,
            (end(1), [0; 64]),
            EndReason::Decided,
            Plan::default(),
            Duration::ZERO,
        );
        assert_eq!(told.signed_end(), Some((0, end(1), [0; 64])));
        ending
    }

    #[test]
    fn an_end_is_agreed_once_all_have_signed_it_or_after_two_seconds() {
        let mut ending = ending();
        assert!(ending.take(1, &end(1), [1; 64], false));
        assert_eq!(ending.advance(&around(SECOND)), Stage::Open);
        let Stage::Agreed(agreed, EndReason::Decided) = ending.advance(&around(SECOND * 2)) else {
            panic!("the wait is over");
        };
        assert_eq!(agreed.signatures, [(0, [0; 64]), (1, [1; 64])]);
        ending.take(2, &end(1), [2; 64], false);
        assert!(matches!(ending.advance(&around(SECOND)), Stage::Agreed(..)));
    }

    #[test]
    fn an_end_waits_for_a_dispute_and_for_a_follower() {
        let mut ending = ending();
        ending.take(1, &end(1), [1; 64], false);
        ending.take(2, &end(1), [2; 64], false);
        let mut around = around(SECOND);
        around.is_disputed = true;
        assert_eq!(ending.advance(&around), Stage::Open);
        (around.is_disputed, around.is_followed) = (false, true);
        assert_eq!(ending.advance(&around), Stage::Open);
        around.now = SECOND * 2;
        assert!(matches!(ending.advance(&around), Stage::Agreed(..)));
    }

    #[test]
    fn different_ends_are_told_apart() {
        let mut ending = ending();
        ending.take(1, &end(1), [1; 64], false);
        assert!(ending.take(2, &end(7), [2; 64], false));
        assert!(!ending.take(2, &end(1), [2; 64], false), "one end a peer");
        let Stage::Differs(9, told) = ending.advance(&around(SECOND)) else {
            panic!("they differ");
        };
        assert_eq!(told.len(), 3);
        let unsure = Surroundings {
            took_back: true,
            ..around(SECOND)
        };
        assert_eq!(ending.advance(&unsure), Stage::Open);
        assert!(
            ending.take(2, &end(1), [2; 64], true),
            "the first may be taken back"
        );
    }

    #[test]
    fn an_end_of_turns_taken_back_counts_no_more_in_any_order() {
        for order in [[1, 7], [7, 1]] {
            let mut ending = ending();
            ending.retract(8);
            for checksum in order {
                assert!(ending.take(2, &end(checksum), [2; 64], true));
                assert!(!ending.take(2, &end(checksum), [2; 64], true), "again");
            }
            let own = (end(1), [0; 64]);
            ending.begin(0, own, EndReason::TurnLimit, Plan::default(), SECOND);
            assert!(ending.agrees(2), "{order:?}");
        }
    }

    #[test]
    fn ends_of_a_peer_that_signs_ever_new_ones_are_not_passed_on_for_ever() {
        let mut ending = Ending::new(3);
        let news = (0..1_000).filter(|checksum| ending.take(2, &end(checksum % 40), [2; 64], true));
        assert_eq!(news.count(), MOST_ENDS);
    }

    #[test]
    fn an_end_behind_a_cut_is_none() {
        let mut ending = ending();
        ending.retract(9);
        assert!(ending.holds_turns());
        ending.retract(8);
        assert!(!ending.holds_turns() && ending.told().count() == 0);
    }

    #[test]
    fn an_end_waits_for_a_change_that_is_open_and_not_for_ever() {
        let mut ending = ending();
        for at in 1..=20 {
            ending.wait_for_change(SECOND * at);
            let over = matches!(ending.advance(&around(SECOND * at)), Stage::Agreed(..));
            assert_eq!(over, at >= 16, "{at} s");
        }
    }

    #[test]
    fn a_leaver_goes_once_it_is_released_or_has_waited() {
        let mut ending = Ending::new(3);
        assert!(ending.leave(Duration::ZERO) && !ending.leave(SECOND));
        assert_eq!(ending.advance(&around(SECOND * 5)), Stage::Open);
        let left = Stage::Over(EndReason::Left);
        assert_eq!(ending.advance(&around(SECOND * 6)), left);
        ending.stay(SECOND * 6);
        assert_eq!(ending.advance(&around(SECOND * 6)), Stage::Open);
        let released = Surroundings {
            is_released: true,
            ..around(SECOND * 6)
        };
        assert_eq!(ending.advance(&released), left);
    }

    #[test]
    fn a_removed_peer_goes_once_one_of_the_others_knows() {
        let mut ending = Ending::new(3);
        ending.be_removed(Duration::ZERO);
        let mut around = around(SECOND);
        around.is_decided = true;
        assert_eq!(ending.advance(&around), Stage::Open);
        around.is_known = true;
        assert_eq!(ending.advance(&around), Stage::Over(EndReason::Removed));
        ending.skip(SECOND * 10);
        (around.is_known, around.now) = (false, SECOND * 14);
        assert_eq!(ending.advance(&around), Stage::Open, "sleep does not count");
    }

    #[test]
    fn a_desync_ends_after_two_seconds_and_takes_the_place_of_an_end() {
        let mut ending = ending();
        assert!(ending.begin_desync(SECOND) && !ending.begin_desync(SECOND));
        assert_eq!(ending.advance(&around(SECOND * 2)), Stage::Open);
        let over = ending.advance(&around(SECOND * 3));
        assert_eq!(over, Stage::Over(EndReason::Desync));
    }
}
