//! How a guest agrees on the start of a new match: from the offer of its host, over the locked roster and the revealed
//! shares, to the signatures of all.

use super::seed::OwnShare;
use super::start_of;
use crate::log::{AgreedStart, Document, Rule, SignatureSet, Start, Terms, start_hash};
use crate::session::wire::{LockedPeer, Offer};
use crate::sign::Signer;
use crate::text::tidy_name;
use crate::{Incarnation, LogHash, MatchId, PeerId, Plan};
use sim::Seat;
use std::time::Duration;

/// Attempts that may fail before a guest gives up, from when it came first. Attempts of lobbies that ended soon are forgotten
/// once a lobby has lasted; attempts at which the roster was locked never are.
pub(super) const MOST_ATTEMPTS: u32 = 16;
/// How long the load barrier waits for links to the other guests; after it they are reached by others.
const MESH_WAIT: Duration = Duration::from_secs(3);
/// How long a guest of an adaptive match keeps its share until it has measured its links to all others.
pub(super) const MEASURE_WAIT: Duration = Duration::from_secs(2);

/// What a guest brings into it.
pub(super) struct Own {
    pub(super) peer: PeerId,
    pub(super) run: Incarnation,
    pub(super) share: OwnShare,
    pub(super) build: String,
}

pub(super) struct Agreement {
    match_id: MatchId,
    own: Own,
    offer: Offer,
    /// The attempt at which the host admitted this peer, and the one that is under way.
    came_at: u32,
    attempt: u32,
    /// Attempts that may fail from then on.
    may_fail: u32,
    stage: Stage,
}

enum Stage {
    Gathering,
    Locked {
        roster: Vec<LockedPeer>,
        mesh_by: Duration,
        /// Until when this peer keeps its share. `None` once it has revealed it.
        reveal_by: Option<Duration>,
    },
    Loading(Box<Loading>),
}

struct Loading {
    roster: Vec<LockedPeer>,
    start: Start,
    hash: LogHash,
    loaded: bool,
    signed: bool,
    mesh_by: Duration,
}

/// The host has not kept to the agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// By what it says when.
    Order,
    /// By shares that were not committed to.
    Shares,
    /// By a signature.
    Signature,
}

impl Agreement {
    /// With the host that admitted this peer to this attempt, of which `may_fail` may fail.
    pub(super) fn new(
        match_id: MatchId,
        own: Own,
        offer: Offer,
        (attempt, may_fail): (u32, u32),
    ) -> Self {
        Agreement {
            match_id,
            own,
            offer,
            came_at: attempt,
            attempt,
            may_fail,
            stage: Stage::Gathering,
        }
    }

    /// The attempts that this peer was part of.
    pub(super) fn attempts(&self) -> u32 {
        self.attempt - self.came_at + 1
    }

    /// How many of them may have shown this peer's share to the host: all but one in which peers still gather.
    pub(super) fn locked(&self) -> u32 {
        self.attempts() - u32::from(self.is_gathering())
    }

    pub(super) fn terms(&self) -> &Terms {
        &self.offer.terms
    }

    pub(super) fn attempt(&self) -> u32 {
        self.attempt
    }

    pub(super) fn is_gathering(&self) -> bool {
        matches!(self.stage, Stage::Gathering)
    }

    pub(super) fn is_loading(&self) -> bool {
        matches!(self.stage, Stage::Loading(_))
    }

    pub(super) fn has_signed(&self) -> bool {
        matches!(&self.stage, Stage::Loading(loading) if loading.signed)
    }

    /// What this peer commits to in this attempt.
    pub(super) fn commitment(&self) -> [u8; 32] {
        self.own.share.commitment(self.attempt)
    }

    /// The peers to agree with, once they are locked.
    pub(super) fn roster(&self) -> &[LockedPeer] {
        match &self.stage {
            Stage::Gathering => &[],
            Stage::Locked { roster, .. } => roster,
            Stage::Loading(loading) => &loading.roster,
        }
    }

    /// The other peers to agree with, once they are locked.
    pub(super) fn others(&self) -> impl Iterator<Item = PeerId> {
        let peers = self.roster().iter().map(|peer| peer.peer);
        peers.filter(|peer| *peer != self.own.peer)
    }

    /// The attempt has failed. Whether there is another: a host that begins anew again and again is after a seed.
    pub(super) fn begin_anew(&mut self) -> bool {
        let next = self.attempt.checked_add(1);
        let next = next.filter(|next| next - self.came_at <= self.may_fail);
        self.attempt = next.unwrap_or(self.attempt);
        self.stage = Stage::Gathering;
        next.is_some()
    }

    /// The roster is locked, of at most so many peers. This peer's place in it.
    ///
    /// # Errors
    /// [`Broken`].
    pub(super) fn lock(
        &mut self,
        now: Duration,
        attempt: u32,
        roster: Vec<LockedPeer>,
        most: usize,
    ) -> Result<usize, Broken> {
        let own = roster.iter().position(|peer| peer.peer == self.own.peer);
        let own = own.filter(|at| {
            let place = &roster[*at];
            place.commit == self.commitment()
                && place.incarnation == self.own.run
                && !place.seats.is_empty()
        });
        let fair = attempt == self.attempt
            && self.is_gathering()
            && roster.len() <= most
            && self.is_fair(&roster);
        let own = own.filter(|_| fair).ok_or(Broken::Order)?;
        let wait = match self.offer.terms.adaptive {
            true => MEASURE_WAIT,
            false => Duration::ZERO,
        };
        self.stage = Stage::Locked {
            roster,
            mesh_by: now + MESH_WAIT,
            reveal_by: Some(now + wait),
        };
        Ok(own)
    }

    /// Whether this peer has its share for itself.
    pub(super) fn keeps_share(&self) -> bool {
        let stage = &self.stage;
        matches!(stage, Stage::Locked { reveal_by, .. } if reveal_by.is_some())
    }

    /// The share that this peer reveals, once: where it has measured its links to all others, or had time enough for it.
    pub(super) fn reveal(&mut self, now: Duration, has_measured: bool) -> Option<[u8; 32]> {
        let Stage::Locked { reveal_by, .. } = &mut self.stage else {
            return None;
        };
        reveal_by.take_if(|by| has_measured || now >= *by)?;
        Some(self.own.share.of(self.attempt))
    }

    /// Every seat of the match belongs to exactly one peer, peers stand in the order of their lowest seats, and no two have
    /// one key.
    fn is_fair(&self, roster: &[LockedPeer]) -> bool {
        let mut keys: Vec<PeerId> = roster.iter().map(|peer| peer.peer).collect();
        keys.sort_unstable();
        keys.dedup();
        let all = roster.iter().flat_map(|peer| peer.seats.iter().copied());
        let mut all: Vec<Seat> = all.collect();
        all.sort_unstable();
        let is_tidy =
            |peer: &LockedPeer| peer.seats.is_sorted() && peer.name == tidy_name(&peer.name);
        all.into_iter().eq((0..self.offer.terms.seats).map(Seat))
            && roster.is_sorted_by_key(|peer| peer.seats.first().copied())
            && roster.iter().all(is_tidy)
            && keys.len() == roster.len()
    }

    /// All shares are revealed, and this is the plan to begin with: the start of which the world is to be built.
    ///
    /// # Errors
    /// [`Broken`].
    pub(super) fn shares(&mut self, plan: Plan, shares: &[[u8; 32]]) -> Result<&Start, Broken> {
        let may_begin = self.offer.terms.may_begin_with(plan);
        let (roster, mesh_by) = match &mut self.stage {
            Stage::Locked {
                roster, mesh_by, ..
            } if may_begin => (std::mem::take(roster), *mesh_by),
            _ => return Err(Broken::Order),
        };
        self.offer.terms.plan = plan;
        let start = start_of(self.match_id, &self.offer, &roster, shares, &self.own.build);
        let start = start.ok_or(Broken::Shares)?;
        self.stage = Stage::Loading(Box::new(Loading {
            roster,
            hash: start_hash(&start),
            start,
            loaded: false,
            signed: false,
            mesh_by,
        }));
        match &self.stage {
            Stage::Loading(loading) => Ok(&loading.start),
            _ => Err(Broken::Order),
        }
    }

    /// The world is built.
    pub(super) fn loaded(&mut self) {
        if let Stage::Loading(loading) = &mut self.stage {
            loading.loaded = true;
        }
    }

    /// This peer's signature, once: at the load barrier, where the world is built and the other peers are linked, or had
    /// time enough for it.
    pub(super) fn sign(
        &mut self,
        now: Duration,
        is_linked: impl Fn(PeerId) -> bool,
        signer: &dyn Signer,
    ) -> Option<[u8; 64]> {
        let Stage::Loading(loading) = &mut self.stage else {
            return None;
        };
        let own = self.own.peer;
        let mut others = loading.roster.iter().filter(|peer| peer.peer != own);
        let meshed = now >= loading.mesh_by || others.all(|peer| is_linked(peer.peer));
        if !loading.loaded || loading.signed || !meshed {
            return None;
        }
        loading.signed = true;
        Some(AgreedStart(loading.hash).sign(signer))
    }

    /// When this peer keeps its share no longer, or the load barrier waits for links no longer.
    pub(super) fn deadline(&self) -> Option<Duration> {
        match &self.stage {
            Stage::Locked { reveal_by, .. } => *reveal_by,
            Stage::Loading(loading) if loading.loaded && !loading.signed => Some(loading.mesh_by),
            _ => None,
        }
    }

    /// The start with the signatures of all.
    ///
    /// # Errors
    /// [`Broken`].
    pub(super) fn signed(
        &self,
        signatures: Vec<[u8; 64]>,
        signer: &dyn Signer,
    ) -> Result<Start, Broken> {
        let Stage::Loading(loading) = &self.stage else {
            return Err(Broken::Order);
        };
        if !loading.loaded {
            return Err(Broken::Order);
        }
        let signers = (0..).zip(loading.roster.iter().map(|peer| peer.peer));
        let mut set = SignatureSet::new(&AgreedStart(loading.hash), signers);
        let given = (0..).zip(signatures.iter().copied());
        if !set.add_all(given, signer.verifier()) || !set.fulfils(Rule::All) {
            return Err(Broken::Signature);
        }
        Ok(Start {
            signatures,
            ..loading.start.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::fixture::signer;
    use sim::RulesId;

    const PLAN: Plan = Plan {
        ticks: 4,
        delay_turns: 2,
        tick_ms: 50,
    };
    const MATCH: MatchId = MatchId([7; 16]);

    fn share(peer: u8) -> OwnShare {
        OwnShare::new(MATCH, signer(peer).id(), [peer; 32])
    }

    /// Of the second of two peers.
    fn agreement() -> Agreement {
        let own = Own {
            peer: signer(1).id(),
            run: Incarnation([1; 16]),
            share: share(1),
            build: String::new(),
        };
        let offer = Offer {
            rules: RulesId([9; 16]),
            setup: Vec::new(),
            terms: Terms::default(),
        };
        Agreement::new(MATCH, own, offer, (0, MOST_ATTEMPTS))
    }

    fn roster(attempt: u32) -> Vec<LockedPeer> {
        let locked = |peer: u8| LockedPeer {
            peer: signer(peer).id(),
            incarnation: Incarnation([peer; 16]),
            name: format!("peer {peer}"),
            seats: vec![Seat(peer)],
            addresses: Vec::new().into(),
            commit: share(peer).commitment(attempt),
        };
        (0..2).map(locked).collect()
    }

    fn shares() -> [[u8; 32]; 2] {
        [share(0).of(0), share(1).of(0)]
    }

    const NOW: Duration = Duration::from_secs(1);

    #[test]
    fn a_roster_with_one_key_twice_is_refused() {
        let mut agreement = agreement();
        agreement.offer.terms.seats = 3;
        let mut double = roster(0);
        double.push(LockedPeer {
            seats: vec![Seat(2)],
            ..double[0].clone()
        });
        let locked = agreement.lock(NOW, 0, double.clone(), 16);
        assert_eq!(locked, Err(Broken::Order));
        double[2].peer = signer(2).id();
        assert!(agreement.lock(NOW, 0, double, 16).is_ok());
    }

    #[test]
    fn a_host_settles_another_plan_where_plans_are_adaptive() {
        let fast = Plan { ticks: 1, ..PLAN };
        let begin = |adaptive: bool, plan: Plan| {
            let mut agreement = agreement();
            agreement.offer.terms.adaptive = adaptive;
            agreement
                .lock(NOW, 0, roster(0), 16)
                .expect("a fair roster");
            let start = agreement.shares(plan, &shares())?;
            Ok(start.terms.plan)
        };
        assert_eq!(begin(false, fast), Err(Broken::Order));
        assert_eq!(begin(true, fast), Ok(fast));
        for wrong in [
            Plan {
                tick_ms: 49,
                ..fast
            },
            Plan {
                delay_turns: 1,
                ..fast
            },
        ] {
            assert_eq!(begin(true, wrong), Err(Broken::Order));
        }
    }

    #[test]
    fn a_guest_of_an_adaptive_match_measures_before_it_reveals_its_share() {
        let locked = |adaptive: bool| {
            let mut agreement = agreement();
            agreement.offer.terms.adaptive = adaptive;
            agreement
                .lock(NOW, 0, roster(0), 16)
                .expect("a fair roster");
            agreement
        };
        let mut fixed = locked(false);
        assert!(fixed.keeps_share());
        assert_eq!(fixed.reveal(NOW, false), Some(share(1).of(0)), "at once");
        let mut measured = locked(true);
        assert_eq!(measured.reveal(NOW, false), None);
        assert_eq!(measured.deadline(), Some(NOW + MEASURE_WAIT));
        assert_eq!(measured.reveal(NOW, true), Some(share(1).of(0)));
        assert!(!measured.keeps_share());
        assert_eq!(measured.reveal(NOW, true), None, "once");
        let mut unlinked = locked(true);
        let late = unlinked.reveal(NOW + MEASURE_WAIT, false);
        assert_eq!(late, Some(share(1).of(0)));
    }

    #[test]
    fn a_start_is_agreed_from_the_lock_to_the_last_signature() {
        let mut agreement = agreement();
        assert_eq!(agreement.lock(NOW, 0, roster(0), 16), Ok(1));
        assert_eq!(agreement.reveal(NOW, false), Some(share(1).of(0)));
        let start = agreement.shares(PLAN, &shares());
        let hash = start_hash(start.expect("as committed"));
        let signature = |peer: u8| AgreedStart(hash).sign(&signer(peer));
        assert_eq!(agreement.sign(NOW, |_| true, &signer(1)), None, "not built");
        agreement.loaded();
        assert_eq!(
            agreement.sign(NOW, |_| false, &signer(1)),
            None,
            "not linked"
        );
        assert_eq!(agreement.deadline(), Some(NOW + MESH_WAIT));
        assert_eq!(
            agreement.sign(NOW, |_| true, &signer(1)),
            Some(signature(1))
        );
        assert_eq!(agreement.sign(NOW, |_| true, &signer(1)), None, "once");
        let all = vec![signature(0), signature(1)];
        let start = agreement.signed(all.clone(), &signer(1)).expect("of all");
        assert_eq!(start.signatures, all);
        let forged = agreement.signed(vec![signature(1); 2], &signer(1));
        assert_eq!(forged, Err(Broken::Signature));
        let few = agreement.signed(all[..1].to_vec(), &signer(1));
        assert_eq!(few, Err(Broken::Signature));
    }

    #[test]
    fn an_unfair_roster_is_not_accepted() {
        let lock = |change: fn(&mut Vec<LockedPeer>)| {
            let mut roster = roster(0);
            change(&mut roster);
            agreement().lock(NOW, 0, roster, 16)
        };
        assert_eq!(lock(|_| {}), Ok(1));
        let unfair: [fn(&mut Vec<LockedPeer>); 7] = [
            |roster| roster.truncate(1),
            |roster| roster.swap(0, 1),
            |roster| roster[0].seats.push(Seat(1)),
            |roster| roster[0].seats.clear(),
            |roster| roster[0].name = "\n".to_owned(),
            |roster| roster[1].incarnation = Incarnation([8; 16]),
            |roster| roster[1].commit = [0; 32],
        ];
        for change in unfair {
            assert_eq!(lock(change), Err(Broken::Order));
        }
        let crowded = agreement().lock(NOW, 0, roster(0), 1);
        assert_eq!(crowded, Err(Broken::Order));
    }

    #[test]
    fn shares_that_were_not_committed_to_break_the_agreement() {
        let mut agreement = agreement();
        assert_eq!(agreement.shares(PLAN, &shares()), Err(Broken::Order));
        agreement
            .lock(NOW, 0, roster(0), 16)
            .expect("a fair roster");
        let [host, own] = shares();
        assert_eq!(agreement.shares(PLAN, &[own, host]), Err(Broken::Shares));
    }

    #[test]
    fn so_many_attempts_may_fail_from_when_the_guest_came() {
        let mut agreement = agreement();
        let mut commitments = vec![agreement.commitment()];
        for _ in 0..MOST_ATTEMPTS {
            assert!(agreement.begin_anew());
            commitments.push(agreement.commitment());
        }
        assert!(!agreement.begin_anew());
        assert_eq!((agreement.attempts(), agreement.locked()), (17, 16));
        commitments.sort_unstable();
        commitments.dedup();
        assert_eq!(commitments.len(), 17, "no share is used twice");
        let old = agreement.lock(NOW, 3, roster(3), 16);
        assert_eq!(old, Err(Broken::Order), "a lock of an earlier attempt");
    }
}
