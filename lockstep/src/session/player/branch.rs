//! Branches: a player of one tells of it where it meets other players of the match that it left, and hears of theirs.

use super::Player;
use crate::encoding::Reader;
use crate::log::{RosterChange, Start, decode_change, encode_change};
use crate::session::core::Core;
use crate::session::rejoin::Branch;
use crate::session::wire::Control;
use crate::{Event, Fault, LinkId, MatchId, TurnNumber};

impl Player {
    /// The match that was left, where this peer plays a branch.
    pub(super) fn branch_of(&self) -> Option<MatchId> {
        self.branches.first().map(|(left, _)| *left)
    }

    /// The change by which the log has left this match for a branch.
    pub(crate) fn leaves(&self, match_id: MatchId) -> Option<&RosterChange> {
        let mut branches = self.branches.iter();
        let (_, change) = branches.find(|(left, _)| *left == match_id)?;
        Some(change)
    }

    /// Tells a peer of the match that has no part in this branch.
    pub(super) fn tell_of_branch(&self, core: &mut Core, id: LinkId) {
        let at = core.links.get(&id).and_then(|link| self.leads_to(link));
        if at.is_none_or(|at| self.membership.has(at)) {
            return;
        }
        for (left, change) in &self.branches {
            let told = Control::Branch {
                left: *left,
                change: encode_change(change),
                match_id: self.match_id(),
            };
            core.send(id, &told);
        }
    }

    /// A peer of the match plays a branch, which `left` this match, or one that this peer has left.
    pub(super) fn receive_branch(
        &mut self,
        core: &mut Core,
        id: LinkId,
        (left, change): (MatchId, &[u8]),
        match_id: MatchId,
    ) {
        let mut reader = Reader::new(change);
        let change = decode_change(&mut reader).ok();
        let Some(change) = change.filter(|_| reader.end().is_ok()) else {
            return core.fault(id, Fault::Garbage);
        };
        let start = Start {
            match_id: left,
            ..Start::clone(self.ledger.places.start())
        };
        let begun = change.match_behind(&start);
        if !self.has_played(left) || self.has_played(begun) || self.has_played(match_id) {
            return;
        }
        let Some(link) = core.links.get_mut(&id) else {
            return;
        };
        let Some((host, _)) = link.proved else {
            return;
        };
        match Branch::read(host, (&start, &change), match_id, core.signer.as_ref()) {
            Some(branch) => {
                let is_news = !std::mem::replace(&mut link.plays_branch, true);
                self.met.meet(left, branch);
                // It may not have had a part yet when it was told of this peer's branch.
                if is_news {
                    self.tell_of_branch(core, id);
                }
            }
            None => core.fault(id, Fault::Signature),
        }
    }

    /// Tells the game of branches that were met. While a quorum carries the match on, no branch of it matters.
    pub(super) fn tell_met_branches(&mut self, core: &mut Core) {
        let own = self.match_id();
        let stands_still = self.membership.has_lost_quorum();
        let delay = self.ledger.places.start().terms.longest_delay();
        let final_turns = self.ledger.window.complete().saturating_sub(delay);
        for (left, branch) in self.met.tell(|left| left != own || stands_still) {
            let turn = TurnNumber(branch.turns);
            let (match_id, seats) = (branch.match_id, branch.seats);
            core.event(match left == own {
                true => Event::BranchFound {
                    match_id,
                    turn,
                    seats,
                    may_enter: final_turns <= turn.0,
                },
                false => Event::BranchMet {
                    match_id,
                    turn,
                    seats,
                },
            });
        }
    }

    /// Whether this is the match that is played, or one that was left.
    fn has_played(&self, match_id: MatchId) -> bool {
        match_id == self.match_id() || self.leaves(match_id).is_some()
    }
}
