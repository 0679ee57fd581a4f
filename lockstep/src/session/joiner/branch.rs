//! How a joiner finds branches of the match, and enters one by its player's word.

use super::advance::branches_of;
use super::{Joiner, Known, proved};
use crate::encoding::Reader;
use crate::log::{
    Codec, EncodedLog, Record, Start, VerifiedLog, decode_change, encode_change, start_hash,
};
use crate::session::core::Core;
use crate::session::rejoin::{DECIDE, FinalTurns, Gathering, QuorumLoss, place_in};
use crate::session::wire::Control;
use crate::{Event, Fault, LinkId, MatchId, TurnNumber};

impl Joiner {
    /// The player says to enter this branch.
    pub(crate) fn enter_branch(&mut self, match_id: MatchId) {
        self.branches.choose(match_id);
    }

    /// A link has proved its peer. Where this peer's part in a branch begins soon, the other peer is told of the branch: it
    /// would take this run for one that waits.
    pub(crate) fn tell_of_branch(&self, core: &mut Core, id: LinkId) {
        let Some(Known { log, .. }) = self.known.as_ref().filter(|_| !self.searches()) else {
            return;
        };
        let roster = log.ahead().roster();
        let peer = core.links.get(&id).and_then(|link| link.proved);
        let mut places = log.start().roster.iter();
        let at = places.position(|place| peer.is_some_and(|(peer, _)| place.peer == peer));
        if at.is_none_or(|at| roster.contains(at as u8)) {
            return;
        }
        for (left, change) in branches_of(log.start(), log.ahead().changes()) {
            let told = Control::Branch {
                left,
                change: encode_change(&change),
                match_id: self.from.match_id,
            };
            core.send(id, &told);
        }
    }

    /// The source plays a branch: the record of the match's start, and the change by which its log leaves the match.
    pub(super) fn branch_found(
        &mut self,
        core: &mut Core,
        (start, change): (&[u8], &[u8]),
        match_id: MatchId,
    ) {
        let mut reader = Reader::new(change);
        let change = decode_change(&mut reader).ok();
        let change = change.filter(|_| reader.end().is_ok());
        let start = Codec::default().decode(start, &core.limits);
        let (Some(change), Ok(Record::Start(start))) = (change, start) else {
            return self.distrust(core, Fault::Garbage);
        };
        let signer = core.signer.as_ref();
        let fits = place_in(signer, &start, self.origin, &self.rules).is_ok();
        let host = self.sources.link().and_then(|link| core.links.get(&link));
        let host = host.and_then(|link| link.proved).map(|(peer, _)| peer);
        let Some(host) = host.filter(|_| fits && self.is_ours(&start)) else {
            return self.distrust(core, Fault::Signature);
        };
        let asked = Start {
            match_id: self.from.match_id,
            ..Start::clone(&start)
        };
        let (now, branches) = (core.now, &mut self.branches);
        match branches.found(now, host, (&asked, &change), match_id, signer) {
            true => self.pass_over(core),
            false => self.distrust(core, Fault::Signature),
        }
    }

    /// Whether a match began as this peer knows, where it knows that.
    fn is_ours(&self, start: &Start) -> bool {
        let known = self.known.as_ref().map(|known| known.log.start());
        let own = self.from.log.as_ref().map(EncodedLog::start).or(known);
        own.is_none_or(|own| start_hash(own) == start_hash(start))
    }

    /// Tells of branches once others were asked, and enters one by the player's word, where no match goes on.
    pub(super) fn look_at_branches(&mut self, core: &mut Core) {
        if !self.searches() {
            return;
        }
        let (now, sources) = (core.now, &self.sources);
        let others_asked = |host| sources.passes_over_others(now, host);
        let told = self.branches.tell(now, others_asked);
        for branch in told {
            let may_enter = self
                .final_turns_of_all(core)
                .is_none_or(|own| own.turns <= branch.turns);
            self.sources.wait_for_player(now, DECIDE);
            core.event(Event::BranchFound {
                match_id: branch.match_id,
                turn: TurnNumber(branch.turns),
                seats: branch.seats,
                may_enter,
            });
        }
        let goes_on = self.sources.is_outlined() && !self.quorum.is_lost();
        if goes_on || self.gathering.is_in_reach(&proved(core)) {
            return;
        }
        let Some(branch) = self.branches.enter() else {
            return;
        };
        let final_turns = self.final_turns_of_all(core);
        if final_turns.is_some_and(|own| own.turns > branch.turns) {
            return;
        }
        self.from.match_id = branch.match_id;
        self.final_turns = final_turns;
        if let Some(known) = &mut self.known {
            known.log.forget_unconfirmed();
        }
        self.gathering = Gathering::new(None);
        self.quorum = QuorumLoss::new(core.now, false);
        self.branches = Default::default();
        self.sources.prefer(core.now, branch.host);
    }

    /// The turns that no fault takes back: of what an earlier run has recorded, and of what this one has followed.
    fn final_turns_of_all(&self, core: &Core) -> Option<FinalTurns> {
        let followed = self.known.as_ref().and_then(|Known { log, .. }| {
            let turns = log.confirmed().turns();
            let hash = log.verified().hash_after(turns)?;
            Some(FinalTurns { turns, hash })
        });
        let recorded = self.from.log.as_ref().map(|own| {
            let log = VerifiedLog::of(own.start().clone(), own.records(), core.signer.as_ref());
            FinalTurns::of(&log)
        });
        followed
            .into_iter()
            .chain(recorded)
            .max_by_key(|own| own.turns)
    }
}
