//! One log at the cut: a roster change names the log's hash there, and a peer whose batches lead to another one goes over
//! to those that others hold.
//!
//! Of two batches that a cheat has signed for one turn each peer holds the one that came first. Where that turn is not
//! complete when the others decide, nothing has to be taken back: this peer shows what it holds, each of the others
//! answers with what *it* holds where that is different, and what one of them holds leads to the hash.

use super::Verify;
use crate::LogHash;
use crate::log::{Batch, SignedBatch, TurnFold};
use crate::session::ledger::{Held, Ledger};
use crate::session::wire::WireBatch;
use crate::sign::Signer;
use std::time::Duration;

/// What is held is shown so often, while it leads to another hash.
const SHOWN_EVERY: Duration = Duration::from_secs(1);
/// A peer that has found no batches that lead to the log of a decision for so long cannot follow it.
const FOUND_WITHIN: Duration = Duration::from_secs(5);

/// The search for batches that lead to the log of a roster change.
#[derive(Default)]
pub(super) struct Search {
    /// Since when this peer's batches lead to another log than is wanted, and when they were last shown.
    astray: Option<(Duration, Duration)>,
}

/// What a roster change says of the log.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// The cut, and the hash there.
    pub log: Option<(u32, LogHash)>,
    /// It is decided.
    pub decided: bool,
    /// This peer, as its coordinator, is told of another log.
    pub another: bool,
}

/// What is to be done for it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reconciled {
    /// Batches from this turn on are to be shown.
    pub show: Option<u32>,
    /// The log of the decision is out of reach.
    pub is_lost: bool,
}

impl Search {
    /// What was slept through was not waited for.
    pub(super) fn skip(&mut self, away: Duration) {
        if let Some((since, shown_at)) = &mut self.astray {
            *since += away;
            *shown_at += away;
        }
    }

    /// It is decided which log counts, or an epoch begins: from now on there is no other.
    pub(super) fn reset(&mut self) {
        self.astray = None;
    }

    /// When batches are shown again.
    pub(super) fn show_at(&self) -> Option<Duration> {
        let (_, shown_at) = self.astray?;
        Some(shown_at + SHOWN_EVERY)
    }

    /// Goes over to what others hold where that leads to the log that is wanted, and this peer's batches do not.
    pub(super) fn reconcile(
        &mut self,
        ledger: &mut Ledger,
        fold: &TurnFold,
        wanted: Wanted,
        now: Duration,
    ) -> Reconciled {
        let Wanted {
            log,
            decided,
            another,
        } = wanted;
        let complete = ledger.window.complete();
        let wanted = log.filter(|(cut, _)| *cut > complete);
        let leads_to =
            |cut: u32, holder: Option<u8>| ledger.hash_at(cut, &ledger.hashes_ahead(fold, holder));
        let own = wanted.map(|(cut, _)| leads_to(cut, None));
        // What is lacking comes by itself, unless it is of a peer that left in another history.
        let differs = wanted.zip(own);
        let differs =
            differs.filter(|((_, hash), own)| *own != Some(*hash) && (own.is_some() || decided));
        if differs.is_none() && !another {
            self.astray = None;
            return Reconciled::default();
        }
        let found = differs.and_then(|((cut, hash), _)| {
            let mut holders = ledger.batches.alternate_holders().iter();
            let leads = |by: &u8| leads_to(cut, Some(*by)) == Some(hash);
            Some((holders.find(leads)?, cut))
        });
        if let Some((holder, cut)) = found {
            ledger.batches.take_alternates(holder, complete, cut);
            self.astray = None;
            return Reconciled::default();
        }
        let lacks = own == Some(None);
        let first = if lacks { now } else { Duration::ZERO };
        let (since, shown_at) = self.astray.unwrap_or((now, first));
        let due = now >= shown_at + SHOWN_EVERY || shown_at == Duration::ZERO;
        self.astray = Some((since, if due { now } else { shown_at }));
        let back = ledger.places.start().terms.longest_delay() + 2;
        Reconciled {
            show: due.then(|| complete.saturating_sub(back)),
            is_lost: decided && !lacks && now >= since + FOUND_WITHIN,
        }
    }
}

impl Verify {
    /// Keeps what another voter holds for a turn for which this peer holds something else, both signed by their
    /// author. False where the signature does not hold.
    pub(crate) fn keep_alternate(
        &self,
        holder: usize,
        signed: SignedBatch,
        epoch: u32,
        ledger: &mut Ledger,
        (signer, now): (&dyn Signer, Duration),
    ) -> bool {
        let Ok(batch) = Batch::decode(&signed.content) else {
            return true;
        };
        let (of, turn) = (usize::from(signed.peer), batch.turn.0);
        let batches = &ledger.batches;
        let held = batches.get(of, turn);
        let differs = held.is_some_and(|held| held.signed.content != signed.content);
        let complete = ledger.window.complete();
        let open = turn >= complete && batches.required(of, turn) && batch.epoch <= epoch;
        if !differs || !open || self.convicts(holder) {
            return true;
        }
        if !signed.is_signed(ledger.places.start(), signer) {
            return false;
        }
        let other = Held {
            signed,
            batch,
            arrived: now,
        };
        let batches = &mut ledger.batches;
        batches.keep_alternate(holder as u8, of as u8, turn, other);
        true
    }

    /// Answers a voter that has shown what differs from what this peer holds of a convicted cheat: first of each pair is
    /// what this peer holds.
    pub(crate) fn answers(
        &self,
        shown: &[SignedBatch],
        ledger: &Ledger,
        signer: &dyn Signer,
    ) -> Vec<Vec<WireBatch>> {
        let answer = |signed: &SignedBatch| {
            let at = usize::from(signed.peer);
            let turn = Batch::decode(&signed.content).ok()?.turn.0;
            let held = ledger.batches.get(at, turn)?;
            let differs = held.signed.content != signed.content && self.convicts(at);
            let holds = differs && signed.is_signed(ledger.places.start(), signer);
            holds.then(|| vec![WireBatch::of(&held.signed), WireBatch::of(signed)])
        };
        shown.iter().filter_map(answer).collect()
    }
}
