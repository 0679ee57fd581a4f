//! Equivocation: two different batches of one peer for one turn, and the proof that it signed both.

use crate::log::{Batch, Equivocation, Peers};
use crate::session::ledger::Ledger;
use crate::session::wire::WireBatch;
use crate::sign::Signer;

/// The proofs, by the place of the peer that they convict.
pub(super) struct Proofs {
    of: Vec<Option<Equivocation>>,
}

/// What two batches that differ came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Weighed {
    /// Nothing that matters: the peer is convicted already, or is this one.
    Nothing,
    /// The peer at this place signed both.
    Proved(usize),
    /// One of the signatures does not hold for any run that this peer knows of.
    Unproved,
}

impl Proofs {
    pub(super) fn new(peers: usize) -> Self {
        Proofs {
            of: vec![None; peers],
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<&Equivocation> {
        self.of.get(at)?.as_ref()
    }

    pub(super) fn convict(&self, at: usize) -> bool {
        self.get(at).is_some()
    }

    /// The peers that are convicted.
    pub(super) fn cheats(&self) -> Peers {
        let of = self.of.iter().enumerate();
        let convicted = of.filter(|(_, proof)| proof.is_some());
        convicted.map(|(at, _)| at as u8).collect()
    }

    /// What these, and the convicted, report means nothing.
    pub(super) fn leave_out<T>(&self, cheats: Peers, told: Vec<(u8, T)>) -> Vec<(u8, T)> {
        let cheats = cheats.or(self.cheats());
        let mut told = told;
        told.retain(|(peer, _)| !cheats.contains(*peer));
        told
    }

    /// The proofs against these peers, ascending.
    pub(super) fn against(&self, cheats: Peers) -> Vec<Equivocation> {
        let cheats = cheats.iter();
        let proofs = cheats.filter_map(|at| self.get(usize::from(at)).cloned());
        proofs.collect()
    }

    /// Takes a proof that holds. Whether it is the first against its peer.
    pub(super) fn take(&mut self, proof: Equivocation) -> bool {
        let place = &mut self.of[usize::from(proof.0.peer)];
        let first = place.is_none();
        place.get_or_insert(proof);
        first
    }

    /// Another run of a peer's process has the place.
    pub(super) fn forget(&mut self, at: usize) {
        self.of[at] = None;
    }

    /// Whether both signatures hold of two batches that differ.
    pub(super) fn weigh(
        &self,
        proof: &Equivocation,
        ledger: &Ledger,
        signer: &dyn Signer,
    ) -> Weighed {
        let at = usize::from(proof.0.peer);
        if at == ledger.places.me() || self.convict(at) {
            return Weighed::Nothing;
        }
        let verify =
            |peer, bytes: &[u8], signature: &[u8; 64]| signer.verify(peer, bytes, signature);
        match proof.holds(ledger.places.start(), verify) {
            Some(_) => Weighed::Proved(at),
            None => Weighed::Unproved,
        }
    }
}

/// The two batches of a proof, first the one that this peer holds, if it does.
pub(super) fn own_batch_first(proof: &Equivocation, ledger: &Ledger) -> Vec<WireBatch> {
    let Equivocation(one, other) = proof;
    let turn = Batch::decode(&one.content).map(|batch| batch.turn.0);
    let held = turn.ok();
    let held = held.and_then(|turn| ledger.batches.get(usize::from(one.peer), turn));
    let swapped = held.is_some_and(|held| held.signed.content == other.content);
    let both = if swapped { [other, one] } else { [one, other] };
    both.map(WireBatch::of).to_vec()
}
