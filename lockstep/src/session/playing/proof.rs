//! Two histories: how they are found, what is shown of them, and the proof of who signed both.

use super::Playing;
use crate::log::{Equivocation, SignedBatch};
use crate::session::core::Core;
use crate::session::membership::paxos::Peers;
use crate::session::wire::{Control, WireBatch};
use crate::{DesyncSide, Event, Fault, LinkId, LogHash};
use std::time::Duration;

/// Logs that differ are shown to everybody, again and again, for so long; without a proof it is a desync then, as it is
/// where worlds differ.
const SHOWN_FOR: Duration = Duration::from_secs(5);
/// Whoever attests another log may hold the proof: it is judged once it was in reach at so many showings in a row.
const SHOWN: u8 = 3;
/// It is judged all the same so long after it first attested another log: the turns of the others must go on.
const REACHED_WITHIN: Duration = Duration::from_secs(15);
/// The others have so long to decide on going on without whoever signed both, or attests what a quorum does not.
const DECIDED_WITHIN: Duration = Duration::from_secs(30);
const SHOWN_EVERY: Duration = Duration::from_secs(1);
/// Batches in one message, at most.
const BATCHES: usize = 24;

/// Somebody attests another log than ours.
pub(super) struct Dispute {
    since: Duration,
    shown_at: Duration,
    /// The first turn of which batches are shown.
    from: u32,
    /// It differs after so many turns.
    turns: u32,
    /// Whose it is, and its hash.
    other: usize,
    hash: LogHash,
    /// The last showings in a row at which that one was in reach.
    shown: u8,
    /// It was shown for long enough, and there is no proof.
    unproved: bool,
}

impl Dispute {
    /// Whose log differs.
    pub(super) fn other(&self) -> u8 {
        self.other as u8
    }

    /// Whether it attests another log than one with this hash.
    pub(super) fn differs_from(&self, own: LogHash) -> bool {
        self.hash != own
    }
}

impl Playing {
    /// The peers of whom two different batches for one turn are known.
    pub(super) fn cheats(&self) -> Peers {
        let members = self.members.iter().enumerate();
        members
            .filter(|(_, member)| member.proof.is_some())
            .map(|(at, _)| at as u8)
            .collect()
    }

    /// Those of them who are in the roster.
    pub(super) fn cheating_voters(&self) -> Peers {
        self.cheats().and(self.epochs.voters().members())
    }

    /// Two batches of one peer for one turn, of which one came by this link, differ.
    pub(super) fn two_batches(&mut self, core: &mut Core, link: LinkId, proof: Equivocation) {
        let at = usize::from(proof.0.peer);
        if at == self.ledger.places.me() || self.members[at].proof.is_some() {
            return;
        }
        let verify =
            |peer, bytes: &[u8], signature: &[u8; 64]| core.signer.verify(peer, bytes, signature);
        match proof.holds(self.ledger.places.start(), verify) {
            Some(_) => self.note_proof(core, proof),
            None => core.strange(link),
        }
    }

    /// Names whoever is proved to have signed two batches.
    pub(super) fn note_proof(&mut self, core: &mut Core, proof: Equivocation) {
        let at = usize::from(proof.0.peer);
        let member = &mut self.members[at];
        if member.proof.is_none() {
            member.proof = Some(proof);
            let peer = self.ledger.places.key(at);
            core.event(Event::PeerFault {
                peer,
                fault: Fault::Equivocation,
            });
        }
    }

    /// Somebody's log differs from ours after some turns: no turn is completed until it is known why.
    pub(super) fn dispute(&mut self, core: &mut Core, turns: u32, other: usize, hash: LogHash) {
        if self.dispute.is_some() {
            return;
        }
        let back = u32::from(self.ledger.places.start().plan.delay_turns) + 2;
        let from = turns.saturating_sub(back);
        let member = &mut self.members[other];
        let first = *member.disputed_since.get_or_insert(core.now);
        self.dispute = Some(Dispute {
            since: core.now,
            shown_at: core.now,
            from,
            turns,
            other,
            hash,
            shown: 0,
            // What was begun anew by every roster change would end never.
            unproved: first + REACHED_WITHIN <= core.now,
        });
        self.show_dispute(core);
    }

    /// Whoever has slept is given the whole time again to be shown why logs or worlds differ.
    pub(super) fn wait_anew_for_proof(&mut self, now: Duration) {
        if let Some(dispute) = &mut self.dispute {
            dispute.since = now;
            (dispute.shown, dispute.unproved) = (0, false);
            self.members[dispute.other].disputed_since = Some(now);
        }
        if let Some(mismatch) = &mut self.mismatch {
            mismatch.since = now;
        }
    }

    pub(super) fn dispute_deadline(&self) -> Option<Duration> {
        let dispute = self.dispute.as_ref()?;
        (!self.ending.desynced()).then_some(
            self.dispute_ends(dispute)
                .min(dispute.shown_at + SHOWN_EVERY),
        )
    }

    fn dispute_ends(&self, dispute: &Dispute) -> Duration {
        let decides = dispute.unproved || !self.cheating_voters().is_empty();
        let lasts = match decides {
            // Where players wait longer for a silent peer, what goes on without the other one waits as well.
            true => DECIDED_WITHIN + self.longer(),
            false => SHOWN_FOR,
        };
        dispute.since + lasts
    }

    /// Shows batches again, or gives up: then it is a desync like any other.
    pub(super) fn advance_dispute(&mut self, core: &mut Core) {
        let Some(dispute) = self.dispute.as_ref().filter(|_| !self.ending.desynced()) else {
            return;
        };
        let over = core.now >= self.dispute_ends(dispute);
        let judged = over || dispute.unproved && self.cheating_voters().is_empty();
        let decided = over && dispute.since + DECIDED_WITHIN <= core.now;
        if judged {
            let (turns, sides) = self.sides_of_dispute(dispute);
            let settled = match decided {
                true => Some(false),
                false => self.settles_by_logs(core, turns, sides.clone()),
            };
            if settled == Some(false) {
                return self.desync(core, turns.saturating_sub(1), sides);
            }
            if let Some(dispute) = &mut self.dispute {
                dispute.unproved = true;
            }
        }
        let dispute = self.dispute.as_ref();
        if dispute.is_some_and(|dispute| dispute.shown_at + SHOWN_EVERY <= core.now) {
            self.show_dispute(core);
        }
    }

    /// After how many turns logs differ, and what is known of each.
    pub(super) fn sides_of_dispute(&self, dispute: &Dispute) -> (u32, Vec<DesyncSide>) {
        let Dispute {
            turns, other, hash, ..
        } = *dispute;
        (turns, self.sides_of_log(turns, other, hash))
    }

    /// Whether what the other one of a dispute holds would be known by now, if it holds anything.
    pub(super) fn was_in_reach(&self, dispute: &Dispute, now: Duration) -> bool {
        let first = self.members[dispute.other].disputed_since;
        dispute.shown >= SHOWN || first.unwrap_or(dispute.since) + REACHED_WITHIN <= now
    }

    /// Logs are one again from here on: who differed from the one before may have been right.
    pub(super) fn forget_disputes(&mut self) {
        for member in &mut self.members {
            member.disputed_since = None;
        }
    }

    fn show_dispute(&mut self, core: &mut Core) {
        let in_reach = self.in_reach(core);
        let Some(dispute) = &mut self.dispute else {
            return;
        };
        dispute.shown_at = core.now;
        dispute.shown = match in_reach.contains(dispute.other as u8) {
            true => dispute.shown.saturating_add(1),
            false => 0,
        };
        let from = dispute.from;
        self.show(core, from);
    }

    /// Sends everybody all batches that are held of these turns: who holds others has the proof.
    pub(super) fn show(&self, core: &mut Core, from: u32) {
        let held = self.ledger.batches.all_from(from);
        self.show_batches(core, held.map(|held| WireBatch::of(&held.signed)).collect());
    }

    pub(super) fn show_batches(&self, core: &mut Core, batches: Vec<WireBatch>) {
        for part in batches.chunks(BATCHES) {
            self.tell_members(core, &Control::Evidence(part.to_vec()));
        }
    }

    fn tell_members(&self, core: &mut Core, message: &Control) {
        let links: Vec<LinkId> = core.links.keys().copied().collect();
        for link in links {
            if self.member_of(core, link).is_some() {
                core.send(link, message);
            }
        }
    }

    /// Passes on the proofs that the other end of a link has not been sent.
    pub(super) fn send_proofs(&self, core: &mut Core, id: LinkId) {
        let Some(link) = core.links.get_mut(&id) else {
            return;
        };
        let new = self.cheats().without(link.proofs_known);
        link.proofs_known = link.proofs_known.or(new);
        for at in new.iter() {
            if let Some(proof) = &self.members[usize::from(at)].proof {
                let both = self.held_first(proof);
                core.send(id, &Control::Evidence(both));
            }
        }
    }

    pub(super) fn receive_evidence(
        &mut self,
        core: &mut Core,
        link: LinkId,
        shown: Vec<WireBatch>,
    ) {
        if shown.len() > BATCHES {
            return core.fault(link, Fault::Oversize);
        }
        let shown: Vec<SignedBatch> = shown.into_iter().map(SignedBatch::from).collect();
        if shown
            .iter()
            .any(|batch| usize::from(batch.peer) >= self.ledger.places.len())
        {
            return core.fault(link, Fault::OutOfPlace);
        }
        if let [one, other] = shown.as_slice() {
            let proof = Equivocation(one.clone(), other.clone());
            let differ = one.peer == other.peer && one.content != other.content;
            if differ && proof.turn().is_some() {
                self.two_batches(core, link, proof);
                return self.keep_other(core, link, one.clone());
            }
        }
        for batch in &shown {
            self.receive_batch(core, link, batch.clone());
        }
        self.answer_shown(core, link, &shown);
    }
}
