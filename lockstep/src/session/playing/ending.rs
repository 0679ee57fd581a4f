//! The end of a match, agreed where that is possible.

use super::Playing;
use super::member::Member;
use super::odd::Verdict;
use super::rejoin::FRESH;
use crate::log::{End, Record, end_signed_bytes};
use crate::session::Output;
use crate::session::core::Core;
use crate::session::roster::Peers;
use crate::session::wire::Control;
use crate::{EndReason, Fault, LinkId};
use sim::{Checksum, Outcome};
use std::time::Duration;

/// How long a peer waits for the others to sign the end, at least.
const END_WAIT: Duration = Duration::from_secs(2);
/// How much longer than the command delay, by which a peer may lag that holds nobody up.
const END_WAIT_MORE: Duration = Duration::from_secs(1);
/// How long a leaver waits, beside the command delay, until everybody holds its last batch and its leaving is decided,
/// and who is removed until one of those who stay knows.
const LEAVE_WAIT: Duration = Duration::from_secs(5);
/// How long a desynced peer keeps answering, so that every peer learns of it.
const DESYNC_WAIT: Duration = Duration::from_secs(2);

pub(super) struct Ending {
    /// Since when this peer knows that it is removed.
    removed_since: Option<Duration>,
    desync_since: Option<Duration>,
    own: Option<OwnEnd>,
    /// What each peer signed, by roster index.
    signed: Vec<Option<(End, [u8; 64])>>,
}

struct OwnEnd {
    since: Duration,
    /// How long the others have to sign it.
    wait: Duration,
    reason: EndReason,
    end: End,
}

impl Ending {
    pub(super) fn new(peers: usize) -> Self {
        Ending {
            removed_since: None,
            desync_since: None,
            own: None,
            signed: vec![None; peers],
        }
    }

    pub(super) fn desynced(&self) -> bool {
        self.desync_since.is_some()
    }

    /// Whether no more turns are to be completed.
    pub(super) fn holds_turns(&self) -> bool {
        self.desynced() || self.own.is_some()
    }

    /// False where one was found before. An end that was about to be agreed on is none any more.
    pub(super) fn begin_desync(&mut self, now: Duration) -> bool {
        let first = !self.desynced();
        if first {
            self.desync_since = Some(now);
            self.own = None;
        }
        first
    }

    pub(super) fn be_removed(&mut self, now: Duration) {
        self.removed_since.get_or_insert(now);
    }

    /// It is in the roster of a new epoch.
    pub(super) fn stay(&mut self) {
        self.removed_since = None;
    }

    /// Turns from `cut` on are taken back: where those ended the match, it has not ended.
    pub(super) fn reopen(&mut self, cut: u32) {
        if self.own.take_if(|own| own.end.turns > cut).is_some() {
            self.signed.iter_mut().for_each(|signed| *signed = None);
        }
    }

    /// What was slept through was not waited for.
    pub(super) fn skip(&mut self, away: Duration) {
        let own = self.own.as_mut().map(|own| &mut own.since);
        let waits = [&mut self.removed_since, &mut self.desync_since];
        for since in waits.into_iter().flatten().chain(own) {
            *since += away;
        }
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        let desync = self.desync_since.map(|since| since + DESYNC_WAIT);
        let own = self.own.as_ref().map(|own| own.since + own.wait);
        let removed = self.removed_since.map(|since| since + LEAVE_WAIT);
        desync.or(own).or(removed)
    }

    pub(super) fn turns(&self) -> Option<u32> {
        self.own.as_ref().map(|own| own.end.turns)
    }

    pub(super) fn checksum(&self) -> Option<Checksum> {
        self.own.as_ref().map(|own| own.end.checksum)
    }

    pub(super) fn outcome(&self) -> Option<Outcome> {
        self.own.as_ref().and_then(|own| own.end.outcome)
    }

    /// Whether a peer signed the end that we signed.
    pub(super) fn agrees(&self, at: usize) -> bool {
        let own = self.own.as_ref().map(|own| &own.end);
        let told = self.signed[at].as_ref().map(|(end, _)| end);
        own.is_some() && told == own
    }
}

impl Playing {
    pub(super) fn ending_deadline(&self) -> Option<Duration> {
        // The end waits for what becomes of logs that differ.
        let waits = self.dispute.is_some() && !self.ending.desynced();
        self.ending.deadline().filter(|_| !waits)
    }

    pub(super) fn begin_ending(
        &mut self,
        core: &mut Core,
        reason: EndReason,
        outcome: Option<Outcome>,
    ) {
        if self.ending.holds_turns() {
            return;
        }
        let log_hash = self.hashes.after(self.executed);
        let log_hash =
            log_hash.expect("the hashes of all that the world has not executed are kept");
        let end = End {
            turns: self.executed,
            log_hash,
            checksum: self.last_checksum,
            outcome,
            signatures: Vec::new(),
        };
        let signature = core.signer.sign(&end_signed_bytes(&end));
        self.give_up_stall(core.now);
        self.due_bundles.clear();
        let message = message(self.me as u8, &end, signature);
        self.ending.signed[self.me] = Some((end.clone(), signature));
        let plan = self.course.plan;
        let delay = plan.turn() * u32::from(plan.delay_turns);
        self.ending.own = Some(OwnEnd {
            since: core.now,
            wait: END_WAIT.max(delay + END_WAIT_MORE),
            reason,
            end,
        });
        self.pass_on(core, &message, None);
    }

    pub(super) fn receive_end(&mut self, core: &mut Core, link: LinkId, told: Control) {
        let Some((peer, end, signature)) = told.signed_end() else {
            return;
        };
        let at = usize::from(peer);
        let signer = self.members.get(at).map(|member| member.peer.peer);
        if !signer.is_some_and(|signer| {
            core.signer
                .verify(signer, &end_signed_bytes(&end), &signature)
        }) {
            return core.fault(link, Fault::Signature);
        }
        // Who is out is not asked to agree: its last turns may be none of the others'.
        if !self.epochs.has(at) || self.epochs.is_out() {
            return;
        }
        let reach = self.complete + 2 * u32::from(self.course.plan.delay_turns) + 8;
        if end.turns > reach {
            // The others went on while this peer leaves, or without it, and it has not heard of that yet.
            return;
        }
        // Word of an end that is taken back may still be on its way, or may have come before the one that counts.
        let again = self.past.took_back_before(end.turns);
        let known = self.ending.signed[at].as_ref();
        if known.is_some_and(|(known, _)| !again || *known == end || self.ending.agrees(at)) {
            return;
        }
        let (turns, log_hash, checksum) = (end.turns, end.log_hash, end.checksum);
        self.ending.signed[at] = Some((end, signature));
        self.pass_on(core, &told, Some(link));
        if again {
            return;
        }
        // What a peer signs at its end it reports: no batch of it follows.
        if at != self.me {
            self.members[at].pending_hashes.push_back((turns, log_hash));
            self.check_pending_hashes(core);
            self.report(core, at, turns, checksum);
        }
    }

    /// Tells on a link what is signed of the end: the links on which it was told may be gone, and who follows the match
    /// knows whose signatures these are only once it has the log.
    pub(crate) fn tell_ends(&self, core: &mut Core, link: LinkId) {
        if self.member_of(core, link).is_none() && !self.is_follower(core, link) {
            return;
        }
        for (at, signed) in self.ending.signed.iter().enumerate() {
            if let Some((end, signature)) = signed {
                core.send(link, &message(at as u8, end, *signature));
            }
        }
    }

    pub(super) fn advance_ending(&mut self, core: &mut Core) {
        if self.over {
            return;
        }
        if let Some(since) = self.ending.desync_since {
            if core.now >= since + DESYNC_WAIT {
                self.finish(core, EndReason::Desync);
            }
        } else if self.ending.own.is_some() && self.dispute.is_none() {
            self.end_if_signed(core);
        } else if self.removed_and_known(core) {
            // Who is removed with it may hear of that from nobody else.
            self.send_notes(core);
            self.finish(core, EndReason::Removed);
        } else if self.left_and_known(core) {
            self.finish(core, EndReason::Left);
        }
    }

    /// Whether this peer is removed and may go. It may be the only one to know: whoever of the others is told hands
    /// the decision on, and without it they might never agree on another.
    fn removed_and_known(&self, core: &Core) -> bool {
        let (Some(since), Some(change)) = (self.ending.removed_since, self.epochs.pending()) else {
            return false;
        };
        let knows = |at: u8| {
            let mut links = core.links_to(self.members[usize::from(at)].peer.peer);
            links.any(|link| link.epoch > Some(self.epochs.epoch()))
        };
        change.value.roster.iter().any(knows) || core.now >= since + LEAVE_WAIT
    }

    fn end_if_signed(&mut self, core: &mut Core) {
        let own = self
            .ending
            .own
            .as_ref()
            .expect("the caller has seen the own end");
        let of_it = || self.asked_to_sign();
        let all = of_it().all(|at| self.ending.signed[at].is_some());
        let ends = || {
            let signed = of_it().filter_map(|at| Some((at, &self.ending.signed[at].as_ref()?.0)));
            signed.filter(|(_, end)| end.turns == own.end.turns)
        };
        let differs = ends().any(|(_, end)| *end != own.end);
        // Of an end that was taken back there may be word that is not true any more.
        let unsure = differs && self.past.took_back_before(own.end.turns);
        if (!all || unsure) && core.now < own.since + own.wait {
            return;
        }
        if differs {
            let turns = own.end.turns;
            let told: Vec<(u8, End)> = ends().map(|(at, end)| (at as u8, end.clone())).collect();
            return self.ends_differ(core, turns, &told);
        }
        // Who follows learns the end, and the last turns, from nobody else. It goes once it has them.
        let followers = core
            .links
            .values()
            .any(|link| self.is_follower(core, link.id) && link.heard_at + FRESH > core.now);
        if followers && core.now < own.since + own.wait {
            return;
        }
        let mut end = own.end.clone();
        let reason = own.reason.clone();
        for at in of_it().filter(|at| self.ending.agrees(*at)) {
            let signed = self.ending.signed[at].as_ref();
            let signature = signed.map(|(_, signature)| (at as u8, *signature));
            end.signatures.extend(signature);
        }
        // What was decided and has no turn behind it is told all the same: it may hold the proof of who cheated.
        self.log_changes(core, end.turns);
        self.append_attests(core);
        core.out.push(Output::Append(Record::End(end)));
        self.finish(core, reason);
    }

    /// Peers have signed different ends: those who differ from a quorum have no part in it.
    fn ends_differ(&mut self, core: &mut Core, turns: u32, told: &[(u8, End)]) {
        let turn = turns.saturating_sub(1);
        let sides = told.iter();
        let sides = sides.map(|(at, end)| self.side(*at, end.checksum, Some(end.log_hash)));
        let sides = sides.collect();
        let verdict = match self.removes_odd_ones() {
            true => self.verdict(told, Peers::default()),
            false => Verdict::Nobody,
        };
        match verdict {
            Verdict::Minority(odd) if !odd.contains(self.me as u8) => {
                let checksums = told.iter().map(|(at, end)| (*at, end.checksum));
                let checksums: Vec<(u8, Checksum)> = checksums.collect();
                self.log_mismatch(core, turns, &checksums);
                self.go_without(core, odd, turn, sides);
                self.end_if_signed(core);
            }
            _ => self.desync(core, turn, sides),
        }
    }

    /// Peers that have not left, and do not go for cheating or for their world: they sign the end.
    pub(super) fn asked_to_sign(&self) -> impl Iterator<Item = usize> {
        let turns = self.ending.turns().unwrap_or(self.executed);
        let members = self.members.iter().enumerate();
        let asked = members.filter(move |(at, member)| {
            let out = member.proof.is_some() || self.odd.peers().contains(*at as u8);
            member.required(turns) && !out
        });
        asked.map(|(at, _)| at)
    }

    /// Whether this peer leaves and may go: the others have decided on a roster without it, or there is nobody who
    /// could, or it has waited for long enough.
    fn left_and_known(&self, core: &Core) -> bool {
        let Some(leaving) = &self.leaving else {
            return false;
        };
        // Who leaves, too, and has no link any more, has gone.
        let gone = |member: &Member| {
            let linked = core.links_to(member.peer.peer).next().is_some();
            member.left_from.is_some() || member.leaves.is_some() && !linked
        };
        let known = leaving.sealed_for.is_some_and(|turn| {
            self.members.iter().enumerate().all(|(at, member)| {
                at == self.me
                    || gone(member)
                    || core.links_to(member.peer.peer).any(|link| {
                        link.quality
                            .held
                            .get(self.me)
                            .is_some_and(|held| held.0 > turn)
                    })
            })
        });
        let others = |out: &dyn Fn(&Member) -> bool| {
            let mut members = self.members.iter().enumerate();
            members.all(|(at, member)| at == self.me || !self.epochs.has(at) || out(member))
        };
        // Those who stay need this peer's vote until they know what is decided.
        let released = match self.epochs.pending() {
            Some(change) if self.epochs.is_out() => others(&|member| {
                let at = self
                    .members
                    .iter()
                    .position(|other| std::ptr::eq(other, member));
                let stays = at.is_some_and(|at| change.value.roster.contains(at as u8));
                let mut links = core.links_to(member.peer.peer);
                !stays || links.any(|link| link.epoch > Some(self.epochs.epoch()))
            }),
            _ => known && others(&|member| member.leaves.is_some()),
        };
        released || self.has_no_quorum() || core.now >= self.waits_until(leaving.since)
    }

    /// Until when who began to leave then waits for the others: its last batch counts only after the command delay, and
    /// turns may be long.
    pub(super) fn waits_until(&self, since: Duration) -> Duration {
        let plan = self.course.plan;
        since + LEAVE_WAIT + plan.turn() * u32::from(plan.delay_turns)
    }

    /// Sends to every member but the one it came from, and to who follows the match.
    fn pass_on(&self, core: &mut Core, message: &Control, from: Option<LinkId>) {
        let links: Vec<LinkId> = core
            .links
            .keys()
            .copied()
            .filter(|link| Some(*link) != from)
            .collect();
        for link in links {
            if self.member_of(core, link).is_some() || self.is_follower(core, link) {
                core.send(link, message);
            }
        }
    }
}

fn message(peer: u8, end: &End, signature: [u8; 64]) -> Control {
    Control::End {
        peer,
        turns: end.turns,
        log_hash: end.log_hash,
        checksum: end.checksum,
        outcome: end.outcome,
        signature: signature.into(),
    }
}
