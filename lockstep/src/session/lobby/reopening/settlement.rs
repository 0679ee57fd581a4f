//! Where a reopened match goes on, and with which runs: settled by what this peer has recorded, what guests claim to have,
//! and what one of them gives.

use super::claims::{Claims, Told};
use super::cut::{holders, newest_common};
use super::message::{Claim, Proposal};
use super::open_change::{OpenChange, may_follow};
use super::recovered_log::{RECORD, RecoveredLog};
use crate::log::{
    Accepted, Ballot, Document, NewRun, Peers, RosterChange, SignatureSet, SignedReopening, Start,
    Value, Voters, start_hash,
};
use crate::session::rejoin::{Answer, Ask, Contradiction, RejoinContext, Reopened};
use crate::sign::Signer;
use crate::{Incarnation, JoinRefused, Limits, PeerId};
use std::collections::BTreeMap;
use std::time::Duration;

/// A guest that has recorded more gives it within so many times the time for one answer.
const ANSWERS: u32 = 3;

pub(super) struct Settlement {
    /// As recorded, or with what was fetched since, or up to the cut that is proposed.
    log: RecoveredLog,
    own: Claim,
    /// What an earlier run of this process, or this one as a guest, has signed.
    signed: Option<SignedReopening>,
    /// The log is not what was recorded any more.
    altered: bool,
    claims: Claims,
    /// Until then a quorum waits for the rest of the roster,
    wait_until: Duration,
    /// or until then, where its player takes the first comers,
    first_comers_from: Option<Duration>,
    /// which it does by now.
    first_comers: bool,
    /// Guests have come or gone since it was last tried to settle.
    news: bool,
    fetching: Option<Fetching>,
    proposal: Option<Proposal>,
    /// Accepts of what is decided with the proposal, by place.
    accepts: BTreeMap<u8, [u8; 64]>,
}

/// A guest has recorded more than this peer: it is to answer until then, and to have given all until then.
struct Fetching {
    from: u8,
    answer: Duration,
    until: Duration,
}

/// What settling depends on.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) now: Duration,
    pub(super) signer: &'a dyn Signer,
    pub(super) limits: &'a Limits,
    /// The run of this peer's process.
    pub(super) run: Incarnation,
    /// The number of the attempt.
    pub(super) attempt: u32,
}

/// What an attempt to settle comes to.
#[derive(Default)]
pub(super) struct Settling {
    /// Guests that are refused.
    pub(super) refused: Vec<(u8, JoinRefused)>,
    pub(super) then: Then,
}

#[derive(Default)]
pub(super) enum Then {
    /// Nothing is to be done now.
    #[default]
    Stay,
    /// Others are awaited: all begins anew.
    Wait,
    /// The guest at this place is asked for what this peer lacks.
    Fetch(u8, Ask),
    /// The runs that it names are to sign it.
    Propose(Proposal),
    /// This peer is not of the last roster.
    NotOfRoster,
    /// The peers here are no quorum without these.
    NoQuorum(Peers),
    /// What those here hold is not what some of them have signed.
    Contradicted(Contradiction),
    /// A change may be decided, or another reopening be signed by all, by which these go on.
    Undecided(Peers),
}

impl Settlement {
    /// `wait_until`: when a quorum no longer waits for the others.
    pub(super) fn new(log: RecoveredLog, wait_until: Duration) -> Self {
        Settlement {
            own: log.claim(),
            signed: log.signed(),
            log,
            altered: false,
            claims: Claims::default(),
            wait_until,
            first_comers_from: None,
            first_comers: false,
            news: true,
            fetching: None,
            proposal: None,
            accepts: BTreeMap::new(),
        }
    }

    /// From then on a quorum goes on without the rest of the roster, as soon as it is here.
    pub(super) fn take_first_comers(&mut self, from: Duration) {
        if !self.first_comers {
            self.first_comers_from.get_or_insert(from);
        }
    }

    /// While its process stood still this peer has waited for no guest.
    pub(super) fn skip(&mut self, away: Duration) {
        self.wait_until = self.wait_until.saturating_add(away);
        let fetching = self.fetching.as_mut();
        let fetching = fetching.map(|fetching| [&mut fetching.answer, &mut fetching.until]);
        let waits = fetching.into_iter().flatten();
        waits
            .chain(&mut self.first_comers_from)
            .for_each(|wait| *wait += away);
    }

    /// Whether it waits on until then, where there is no quorum: for a quorum, and no longer for the rest of the roster.
    pub(super) fn waits_on(&mut self, now: Duration, until: Duration) -> bool {
        self.wait_until = self.wait_until.max(until);
        self.first_comers |= now < until;
        now < self.wait_until
    }

    pub(super) fn start(&self) -> &Start {
        self.log.start()
    }

    pub(super) fn log(&self) -> &RecoveredLog {
        &self.log
    }

    /// As the last change left it: with the match that the log has come to.
    pub(super) fn newest_start(&self) -> &Start {
        self.log.head().start()
    }

    /// This peer's place.
    pub(super) fn me(&self) -> u8 {
        self.log.me()
    }

    pub(super) fn place_of(&self, peer: PeerId) -> Option<u8> {
        let mut places = self.start().roster.iter();
        let place = places.position(|place| place.peer == peer)?;
        Some(place as u8)
    }

    pub(super) fn id_of(&self, place: u8) -> PeerId {
        self.start().roster[usize::from(place)].peer
    }

    /// Whether the others of the roster are no quorum without this peer.
    pub(super) fn needs(&self, place: u8) -> bool {
        let roster = self.log.roster();
        let others = roster.without(std::iter::once(place).collect());
        roster.contains(place) && !self.log.head().is_quorum(others)
    }

    /// Whether the peers here are a quorum without this one.
    pub(super) fn has_quorum_without(&self, place: u8) -> bool {
        let here = self.claims.counting().map(|(guest, _)| guest);
        let here: Peers = here.chain([self.me()]).filter(|at| *at != place).collect();
        self.log.head().is_quorum(here)
    }

    pub(super) fn is_of_this_match(&self, claim: &Claim) -> bool {
        claim.start == start_hash(self.start())
    }

    /// A peer comes, and tells what it claims to have recorded and what it has accepted.
    ///
    /// # Errors
    /// Why it cannot go on here.
    pub(super) fn come(
        &mut self,
        facts: Facts<'_>,
        place: u8,
        run: Incarnation,
        told: Told,
    ) -> Result<(), JoinRefused> {
        if self.log.names_run(place, run) {
            return Err(JoinRefused::GoesOn);
        }
        // No peer could be given so much.
        let allowance = facts.limits.catch_up_bytes;
        let lacks = u64::from(told.claim.turns.saturating_sub(self.own.turns));
        if lacks * RECORD as u64 > allowance {
            return Err(JoinRefused::OtherHistory);
        }
        // Others may be about to go on, and do not wait for a peer that comes late: it can come back into the match.
        self.claims.come(place, run, told, allowance, facts.now);
        Ok(())
    }

    /// A guest goes, by itself or `expelled`. Whether the attempt depends on it.
    pub(super) fn go(&mut self, now: Duration, place: u8, expelled: bool) -> bool {
        let fetches = self.fetching.iter().any(|fetching| fetching.from == place);
        let mut proposed = self.proposal.iter().flat_map(|proposal| &proposal.runs);
        let takes_part = fetches || proposed.any(|run| run.peer == place);
        if takes_part || expelled {
            self.claims.failed(place, now);
        }
        self.claims.go(place);
        self.news = true;
        takes_part
    }

    /// When it is to settle.
    pub(super) fn deadline(&self, now: Duration) -> Option<Duration> {
        if self.news {
            return Some(now);
        }
        let waits = [Some(self.wait_until), self.first_comers_from];
        let waits = waits.into_iter().flatten().filter(|until| *until > now);
        self.claims.next_counts().into_iter().chain(waits).min()
    }

    /// Settles once all of the roster are here, or the time to wait for them is over.
    pub(super) fn settle_if_due(&mut self, facts: Facts<'_>) -> Settling {
        let counts = self.claims.count(facts.now);
        if self
            .first_comers_from
            .take_if(|from| *from <= facts.now)
            .is_some()
        {
            (self.first_comers, self.news) = (true, true);
        }
        let news = std::mem::take(&mut self.news) || counts;
        let overdue = facts.now >= self.wait_until;
        let mut here = self.claims.peers();
        here.insert(self.me());
        let voters = Voters::new(self.log.roster());
        if overdue || news && self.is_enough(voters, here) {
            self.settle(facts)
        } else {
            Settling::default()
        }
    }

    /// Whether those here go on now: they are the roster, or its first comers are a quorum.
    fn is_enough(&self, voters: Voters, here: Peers) -> bool {
        let here = here.and(voters.members());
        voters.members().is_within(here) || self.first_comers && voters.is_quorum(here)
    }

    /// By the log of a guest that has what a quorum claims to have.
    fn settle(&mut self, facts: Facts<'_>) -> Settling {
        let mut settling = Settling::default();
        self.refuse_old_runs(facts.now, &mut settling);
        let epoch = self.claims.counting().map(|(_, claim)| claim.epoch).max();
        let epoch = epoch.filter(|epoch| *epoch > self.log.epoch());
        // Of a newer epoch the roster is not known here, so nor is how much of it counts.
        let wanted = match epoch {
            Some(_) => 0,
            None => {
                let (held, voters) = (self.claimed(), Voters::new(self.log.roster()));
                let cut = self.open_change().map_or(0, |open| open.value.cut);
                let follows = may_follow(voters, holders(&held, cut), self.own.turns, cut);
                let common = newest_common(&held, voters);
                common.max(if follows { cut } else { 0 })
            }
        };
        let newest = epoch.unwrap_or(self.log.epoch());
        let lacks = epoch.is_some() || wanted > self.log.turns();
        let gives = self.claims.counting();
        let gives = gives.filter(|(_, claim)| claim.epoch == newest && claim.turns >= wanted);
        let least = gives.min_by_key(|(_, claim)| claim.turns);
        let Some((from, _)) = least.filter(|_| lacks) else {
            return self.propose(facts, settling);
        };
        self.altered = true;
        if epoch.is_some() {
            self.log.cut_back_provisional(facts.signer);
        }
        let within = facts.limits.handshake;
        self.fetching = Some(Fetching {
            from,
            answer: facts.now + within,
            until: facts.now + within * ANSWERS,
        });
        settling.then = Then::Fetch(from, self.ask());
        settling
    }

    /// Refuses guests that proved themselves by a run that is in the log of the match: they may have been admitted just
    /// before the others died, and come again by another run.
    fn refuse_old_runs(&mut self, now: Duration, settling: &mut Settling) {
        let claims = self.claims.all();
        let old = claims.filter(|(place, claimed)| self.log.names_run(*place, claimed.incarnation));
        for place in old.map(|(place, _)| place).collect::<Vec<_>>() {
            self.refuse(now, place, JoinRefused::GoesOn, settling);
        }
    }

    fn refuse(&mut self, now: Duration, place: u8, why: JoinRefused, settling: &mut Settling) {
        self.claims.go(place);
        self.claims.failed(place, now);
        settling.refused.push((place, why));
    }

    /// By their own word: the turns of the log's epoch that each voter here holds, which may be more than the log's.
    fn claimed(&self) -> BTreeMap<u8, u32> {
        let own = self.log.shared_with(&self.own).unwrap_or(0);
        let mut held = BTreeMap::from([(self.me(), own)]);
        let voters = self.log.roster();
        for (place, claim) in self.claims.counting() {
            let turns = match claim.epoch == self.log.epoch() {
                true => Some(claim.turns),
                false => self.log.shared_with(claim),
            };
            if let Some(turns) = turns.filter(|_| voters.contains(place)) {
                held.insert(place, turns);
            }
        }
        held
    }

    fn ask(&self) -> Ask {
        Ask::Log {
            from: self.log.turns(),
            attested: 0,
        }
    }

    /// Proposes to go on with those here, if that can be.
    fn propose(&mut self, facts: Facts<'_>, mut settling: Settling) -> Settling {
        let (voters, epoch) = (Voters::new(self.log.roster()), self.log.epoch());
        if !voters.members().contains(self.me()) {
            settling.then = Then::NotOfRoster;
            return settling;
        }
        let held = self.shared(facts.now, voters, &mut settling);
        let here: Peers = held.keys().copied().collect();
        if facts.now < self.wait_until && !self.is_enough(voters, here) {
            settling.then = Then::Wait;
            return settling;
        }
        if !voters.is_quorum(here) {
            settling.then = Then::NoQuorum(voters.members().without(here));
            return settling;
        }
        let open = self.open_change();
        let here = match &open {
            Some(open) => here.and(open.value.roster),
            None => here,
        };
        if let Some(open) = &open
            && !self.can_adopt(open, voters, &held, here)
        {
            settling.then = match facts.now < self.wait_until {
                true => Then::Wait,
                false => Then::Undecided(open.absent),
            };
            return settling;
        }
        if !here.contains(self.me()) {
            settling.then = Then::NotOfRoster;
            return settling;
        }
        let ends = epoch + u32::from(open.is_some());
        let decide = open
            .as_ref()
            .map_or(voters, |open| Voters::new(open.value.roster));
        if let Some(absent) = self.signed_elsewhere(ends, decide) {
            settling.then = match facts.now < self.wait_until {
                true => Then::Wait,
                false => Then::Undecided(absent),
            };
            return settling;
        }
        let cut = match &open {
            Some(open) => open.value.cut,
            None => newest_common(&held, voters).max(self.log.began()),
        };
        if let Some(found) = self.log.contradicted(here, epoch, cut) {
            settling.then = match facts.now < self.wait_until {
                true => Then::Wait,
                false => Then::Contradicted(found),
            };
            return settling;
        }
        self.altered |= cut < self.log.turns();
        self.log.cut_back(facts.signer, epoch, cut);
        let runs = held.iter().filter(|(place, _)| here.contains(**place));
        let runs = runs.map(|(place, turns)| {
            let claimed = self.claims.of(*place);
            NewRun {
                peer: *place,
                incarnation: claimed.map_or(facts.run, |claimed| claimed.incarnation),
                held: *turns >= cut,
            }
        });
        let decided = open.map(|open| open.adopted(self.me()));
        let tip = self.log.tip();
        let proposal = Proposal {
            attempt: facts.attempt,
            epoch: ends,
            cut,
            log_hash: decided.map_or(tip, |decided| self.log.tip_behind(&decided)),
            runs: runs.collect(),
            decided,
        };
        let own = decided.and_then(|decided| self.log.sign_accept(facts.signer, &decided));
        self.accepts = own.into_iter().map(|own| (self.me(), own)).collect();
        self.proposal = Some(proposal.clone());
        settling.then = Then::Propose(proposal);
        settling
    }

    /// The change that binds this reopening, where one does.
    fn open_change(&self) -> Option<OpenChange> {
        let epoch = self.log.epoch();
        let counting = self.claims.counting();
        let guests = counting.map(|(place, claim)| {
            let claimed = self.claims.of(place);
            let accepted = claimed.and_then(|claimed| claimed.told.accepted);
            // A recording that ends in an epoch before holds no accept of this one.
            (place, accepted.filter(|_| claim.epoch == epoch))
        });
        let own = std::iter::once((self.me(), self.log.accepted()));
        OpenChange::among(Voters::new(self.log.roster()), &guests.chain(own).collect())
    }

    /// The absent peers of another reopening of an epoch that these voters end, where all of its peers that are here have
    /// signed it and are no quorum of its roster: the absent ones may go on by it. A roster that is no quorum of the voters
    /// cannot have reopened the epoch, whatever a guest tells.
    fn signed_elsewhere(&self, epoch: u32, voters: Voters) -> Option<Peers> {
        let guests = self.claims.counting();
        let guests =
            guests.filter_map(|(place, _)| Some((place, self.claims.of(place)?.told.signed)));
        let here: BTreeMap<u8, Option<SignedReopening>> =
            guests.chain([(self.me(), self.signed)]).collect();
        let present: Peers = here.keys().copied().collect();
        let signed = here.values().flatten();
        let mut open = signed.filter(|signed| {
            let of_it = present.and(signed.roster);
            let mut signers = of_it.iter();
            signed.epoch == epoch
                && signed.roster.is_within(voters.members())
                && voters.is_quorum(signed.roster)
                && signers.all(|peer| here.get(&peer) == Some(&Some(**signed)))
                && !Voters::new(signed.roster).is_quorum(of_it)
        });
        Some(open.next()?.roster.without(present))
    }

    /// What this peer accepts with its proposal.
    pub(super) fn accepts(&self, proposal: &Proposal) -> Option<Accepted> {
        let decided = proposal.decided.as_ref()?;
        Some(self.log.accepts(decided, self.own.turns))
    }

    /// Whether these peers can go on by a change, given how many turns each peer holds. The log is here up to the cut.
    fn can_adopt(
        &self,
        open: &OpenChange,
        voters: Voters,
        held: &BTreeMap<u8, u32>,
        here: Peers,
    ) -> bool {
        let value = &open.value;
        let leads =
            value.cut <= self.log.turns() && self.log.hash_after(value.cut) == value.log_hash;
        let holders = holders(held, value.cut).and(here);
        leads
            && may_follow(voters, holders, self.own.turns, value.cut)
            && open.is_adopted_by(voters, here)
    }

    /// Turns of the log that each voter here shares. A guest with another history is refused.
    fn shared(
        &mut self,
        now: Duration,
        voters: Voters,
        settling: &mut Settling,
    ) -> BTreeMap<u8, u32> {
        let own = self.log.shared_with(&self.own).unwrap_or(0);
        let mut held = BTreeMap::from([(self.me(), own)]);
        let claims = self.claims.counting();
        let claims: Vec<(u8, Claim)> = claims.map(|(place, claim)| (place, *claim)).collect();
        // The match had gone on without a peer that is no voter: it comes back once it goes on again.
        let of_voters = claims
            .into_iter()
            .filter(|(place, _)| voters.members().contains(*place));
        for (place, claim) in of_voters {
            match self.log.shared_with(&claim) {
                Some(turns) => {
                    held.insert(place, turns);
                }
                None => self.refuse(now, place, JoinRefused::OtherHistory, settling),
            }
        }
        held
    }

    /// The guest that gives what this peer lacks, and when it is too slow.
    pub(super) fn source(&self) -> Option<(u8, Duration)> {
        let fetching = self.fetching.as_ref()?;
        Some((fetching.from, fetching.answer.min(fetching.until)))
    }

    /// Takes a page of the log from that guest.
    ///
    /// # Errors
    /// The guest's place, where its log is of another history.
    pub(super) fn fetched(
        &mut self,
        facts: Facts<'_>,
        from: u32,
        records: &[u8],
    ) -> Result<Settling, u8> {
        let stay = Ok(Settling::default());
        let Some(fetching) = &mut self.fetching else {
            return stay;
        };
        let source = fetching.from;
        let Some(claim) = self.claims.of(source).map(|claimed| claimed.told.claim) else {
            return stay;
        };
        if from != self.log.turns() {
            return stay;
        }
        let taken = self
            .log
            .take(facts.signer, facts.limits, from, records)
            .is_some();
        if taken && (self.log.epoch(), self.log.turns()) < (claim.epoch, claim.turns) {
            fetching.answer = facts.now + facts.limits.handshake;
            return Ok(Settling {
                refused: Vec::new(),
                then: Then::Fetch(source, self.ask()),
            });
        }
        let of_one_history = self.log.claim() == claim && self.log.shared_with(&self.own).is_some();
        if !taken || !of_one_history {
            return Err(source);
        }
        self.fetching = None;
        Ok(self.settle(facts))
    }

    /// A page of the log for a guest that is to go on from the cut.
    pub(super) fn page(&mut self, guest: u8, from: u32) -> Option<Answer> {
        let gives = self.proposal.is_some() && self.claims.takes_page(guest);
        gives.then(|| self.log.page(from))
    }

    pub(super) fn is_proposed(&self) -> bool {
        self.proposal.is_some()
    }

    /// The attempt has failed. All begins anew from what `context` tells was recorded, at once unless others are
    /// awaited. Whether guests know of a proposal.
    pub(super) fn begin_anew(
        &mut self,
        signer: &dyn Signer,
        context: &RejoinContext,
        awaited: bool,
    ) -> bool {
        self.news = !awaited;
        self.fetching = None;
        // What was fetched is one guest's word until a quorum has it.
        if std::mem::take(&mut self.altered)
            && let Ok(log) = RecoveredLog::open(signer, context)
        {
            self.log = log;
        }
        self.proposal.take().is_some()
    }

    /// Takes a guest's accept of what is decided with the proposal. False where that is not one.
    pub(super) fn take_accept(
        &mut self,
        from: PeerId,
        accept: Option<[u8; 64]>,
        signer: &dyn Signer,
    ) -> bool {
        let decided = self.proposal.as_ref().and_then(|proposal| proposal.decided);
        let Some(decided) = decided else {
            return true;
        };
        let Some((place, accept)) = self.place_of(from).zip(accept) else {
            return false;
        };
        let signed = self.log.accept_of(place, &decided);
        let signed = signed.map(|document| document.with(accept));
        let holds = signed.is_some_and(|signed| signed.is_by(from, signer.verifier()));
        if holds {
            self.accepts.insert(place, accept);
        }
        holds
    }

    /// The roster change that reopens the match, once all have signed the proposal, and the one that was decided with it.
    pub(super) fn changes(
        &mut self,
        signatures: &SignatureSet,
        signer: &dyn Signer,
    ) -> Option<(Option<RosterChange>, RosterChange)> {
        let proposal = self.proposal.as_ref()?;
        let accepts = std::mem::take(&mut self.accepts).into_iter().collect();
        let epoch = self.log.epoch();
        let decided = proposal
            .decided
            .map(|decided| decided.change(epoch, accepts));
        let reopening = proposal.reopening();
        let change = RosterChange {
            epoch: proposal.epoch,
            ballot: Ballot {
                round: 0,
                peer: self.me(),
            },
            value: Value::of(reopening.roster(), proposal.cut),
            accepts: signatures.signatures().collect(),
            proofs: Vec::new(),
            reopening: Some(reopening),
        };
        if let Some(decided) = &decided {
            self.altered = true;
            if !self.log.take_decided(signer, decided) {
                return None;
            }
        }
        let holds = self.log.is_reopened_by(signer, &change);
        holds.then_some((decided, change))
    }

    /// What this peer goes on from, once a change has reopened the match.
    pub(super) fn into_reopened(self, change: RosterChange, due: Duration) -> Reopened {
        self.log.reopened(change, due)
    }
}

#[cfg(test)]
mod tests;
