//! Fetching a snapshot: what the world of a joiner begins with.

use super::follow::Mistrust;
use super::message::{Offer, PART};
use crate::Fault;
use crate::log::{Head, Keyframe, Peers, SignedBatch, SnapshotHash, VerifiedLog};
use crate::sign::Signer;
use std::time::Duration;

/// Pieces of a snapshot that are asked for at a time.
const WINDOW: u64 = 8;
/// An offer that the log has passed for so long, and that no quorum has signed, is a lie.
const CONFIRM: Duration = Duration::from_secs(5);

/// The snapshot that a source offers.
pub(crate) struct Fetch {
    snapshot: Snapshot,
    offered_at: Duration,
    /// Turns that the source had, as it told first after its offer.
    offered_with: Option<u32>,
}

enum Snapshot {
    Unknown,
    /// The world begins with the start.
    Start,
    /// Not yet proved: the log does not reach it.
    Offered(Offer),
    Fetching {
        offer: Offer,
        bytes: Vec<u8>,
        asked: u64,
    },
    Here(Keyframe),
}

impl Fetch {
    /// Before an offer.
    pub(crate) fn new(now: Duration) -> Self {
        Fetch {
            snapshot: Snapshot::Unknown,
            offered_at: now,
            offered_with: None,
        }
    }

    /// While its machine slept this peer has waited for nothing.
    pub(crate) fn skip(&mut self, away: Duration) {
        self.offered_at += away;
    }

    /// Takes a source's offer. Where there is none, or one above the limit, the world begins with the start.
    pub(crate) fn offered(&mut self, now: Duration, offer: Option<Offer>, most: u64) {
        let offer = offer.filter(|offer| (1..=most).contains(&offer.bytes));
        self.snapshot = offer.map_or(Snapshot::Start, Snapshot::Offered);
        (self.offered_at, self.offered_with) = (now, None);
    }

    /// The source has so many turns.
    pub(crate) fn source_has(&mut self, turns: u32) {
        self.offered_with.get_or_insert(turns);
    }

    /// Forgets the offer, and what came of it.
    pub(crate) fn reset(&mut self) {
        self.snapshot = Snapshot::Unknown;
    }

    /// Once the confirmed log has come to an offered snapshot, looks whether a quorum has signed it. An own keyframe of this
    /// log that is the same takes its place. A quorum of one peer can make a world up: a peer that `reruns` begins with its
    /// own keyframe then, or with the start.
    ///
    /// # Errors
    /// No quorum has, or the turns were taken back. The source is no liar where a cheat is among the peers that have: it may
    /// have offered the snapshot before the cheat was proved.
    pub(crate) fn settle(
        &mut self,
        now: Duration,
        confirmed: u32,
        head: &Head,
        (own, reruns): (&mut Option<Keyframe>, bool),
        signer: &dyn Signer,
    ) -> Result<(), Mistrust> {
        let Snapshot::Offered(offer) = &self.snapshot else {
            return Ok(());
        };
        if confirmed < offer.turns {
            return Ok(());
        }
        let reports = |signed: &SignedBatch| {
            let batch = head.read(signed, signer)?;
            let reports = batch.snapshot == Some((offer.turns, offer.hash));
            reports.then_some((signed.peer, batch.epoch))
        };
        let batches: Vec<SignedBatch> = offer.batches.iter().cloned().map(Into::into).collect();
        let reports: Vec<(u8, u32)> = batches.iter().filter_map(reports).collect();
        let signed: Peers = reports.iter().map(|(peer, _)| *peer).collect();
        let epoch = reports.iter().map(|(_, epoch)| *epoch).min();
        let proved = epoch.and_then(|epoch| head.cheats_since(epoch));
        if proved.is_some_and(|(_, from)| from < offer.turns) {
            return Err(Mistrust::Source);
        }
        if !head.were_quorum_since(offer.turns, signed) {
            // The roster that has signed it may be one that the log has not come to: while a match stands still, one that
            // begins where the log ends.
            let passed = self.offered_with.is_some_and(|turns| confirmed > turns);
            let by_a_cheat = proved.is_some_and(|(cheats, _)| !cheats.and(signed).is_empty());
            return match passed && now >= self.offered_at + CONFIRM {
                true if by_a_cheat => Err(Mistrust::Source),
                true => Err(Mistrust::Liar),
                false => Ok(()),
            };
        }
        let alone = reruns && signed.len() == 1;
        let same = |own: &Keyframe| own.turns == offer.turns && SnapshotHash::of(own) == offer.hash;
        let own = own.take_if(|own| alone || same(own));
        self.snapshot = match own {
            Some(own) => Snapshot::Here(own),
            None if alone => Snapshot::Start,
            None => Snapshot::Fetching {
                offer: offer.clone(),
                bytes: Vec::new(),
                asked: 0,
            },
        };
        Ok(())
    }

    /// Offsets of the pieces that are to be asked for now.
    pub(crate) fn pieces(&mut self) -> Vec<u64> {
        let mut pieces = Vec::new();
        if let Snapshot::Fetching {
            offer,
            bytes,
            asked,
        } = &mut self.snapshot
        {
            let part = PART as u64;
            let until = (bytes.len() as u64 + WINDOW * part).min(offer.bytes);
            while *asked < until {
                pieces.push(*asked);
                *asked += part;
            }
        }
        pieces
    }

    /// Takes the next piece of the snapshot of a world that this log leads to.
    ///
    /// # Errors
    /// It is not the next one, or the whole is not the signed snapshot.
    pub(crate) fn piece(
        &mut self,
        offset: u64,
        piece: &[u8],
        log: &VerifiedLog,
    ) -> Result<(), Fault> {
        let Snapshot::Fetching { offer, bytes, .. } = &mut self.snapshot else {
            return Ok(());
        };
        let room = offer.bytes - bytes.len() as u64;
        if offset != bytes.len() as u64 || piece.is_empty() || piece.len() as u64 > room {
            return Err(Fault::Oversize);
        }
        bytes.extend_from_slice(piece);
        if (bytes.len() as u64) < offer.bytes {
            return Ok(());
        }
        let keyframe = log.keyframe(offer.turns, offer.ticks, std::mem::take(bytes).into());
        let signed = keyframe.filter(|keyframe| SnapshotHash::of(keyframe) == offer.hash);
        self.snapshot = Snapshot::Here(signed.ok_or(Fault::Signature)?);
        Ok(())
    }

    /// What the world begins with, once that is here: a keyframe, or the start.
    pub(crate) fn begin(&mut self) -> Option<Option<Keyframe>> {
        match std::mem::replace(&mut self.snapshot, Snapshot::Unknown) {
            Snapshot::Start => Some(None),
            Snapshot::Here(keyframe) => Some(Some(keyframe)),
            open => {
                self.snapshot = open;
                None
            }
        }
    }

    /// Whether a snapshot may still come.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.snapshot, Snapshot::Start | Snapshot::Here(_))
    }

    /// When an offer is to be looked at again.
    pub(crate) fn deadline(&self, now: Duration) -> Option<Duration> {
        let at = self.offered_at + CONFIRM;
        (matches!(self.snapshot, Snapshot::Offered(_)) && at > now).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogHash;
    use crate::log::fixture::{decided, report, signer, start, turns};
    use crate::log::{Equivocation, Record, Value};
    use crate::session::wire::WireBatch;

    const TURNS: u32 = 10;
    const WORLD: usize = 10 * PART;

    fn log() -> VerifiedLog {
        VerifiedLog::of(start(3), turns(20), &signer(2))
    }

    fn keyframe() -> Keyframe {
        let world = vec![7; WORLD].into();
        log().keyframe(TURNS, 40, world).expect("turns of the log")
    }

    /// The keyframe, as so many peers have signed it.
    fn offer(signers: u8) -> Offer {
        let hash = SnapshotHash::of(&keyframe());
        let sealed = |peer: u8| {
            let log = (TURNS, keyframe().log_hash);
            WireBatch::of(&report(peer, 0, log, Some((TURNS, hash))))
        };
        Offer {
            turns: TURNS,
            ticks: 40,
            bytes: WORLD as u64,
            hash,
            batches: (0..signers).map(sealed).collect(),
        }
    }

    fn offered(signers: u8) -> Fetch {
        let mut fetch = Fetch::new(Duration::ZERO);
        fetch.offered(Duration::ZERO, Some(offer(signers)), 1 << 30);
        fetch.source_has(12);
        fetch
    }

    fn settle(fetch: &mut Fetch, at: u64, confirmed: u32) -> Result<(), Mistrust> {
        let at = Duration::from_secs(at);
        fetch.settle(at, confirmed, log().head(), (&mut None, false), &signer(2))
    }

    #[test]
    fn a_snapshot_comes_piece_by_piece_once_a_quorum_has_signed_it() {
        let mut fetch = offered(2);
        assert_eq!(settle(&mut fetch, 1, TURNS - 1), Ok(()));
        assert_eq!(fetch.pieces(), [0; 0], "the log has not come to it");
        assert_eq!(settle(&mut fetch, 1, TURNS), Ok(()));
        let piece = vec![7; PART];
        let mut asked = fetch.pieces();
        assert_eq!(asked.len(), WINDOW as usize);
        for at in 0..10 {
            assert!(fetch.is_open() && fetch.begin().is_none());
            assert_eq!(fetch.piece(asked[at], &piece, &log()), Ok(()));
            asked.extend(fetch.pieces());
        }
        assert_eq!(asked.len(), 10);
        assert_eq!(fetch.begin(), Some(Some(keyframe())));
    }

    #[test]
    fn a_snapshot_without_a_quorum_is_a_lie_once_the_log_has_passed_it() {
        let mut fetch = offered(1);
        assert_eq!(
            settle(&mut fetch, 60, 12),
            Ok(()),
            "a later roster may have signed"
        );
        assert_eq!(settle(&mut fetch, 4, 13), Ok(()));
        assert_eq!(settle(&mut fetch, 5, 13), Err(Mistrust::Liar));
    }

    /// The log in which the second peer is proved a cheat when so many turns are complete.
    fn log_with_cheat(cut: u32) -> VerifiedLog {
        let mut records = turns(cut);
        let hash = VerifiedLog::of(start(3), &records, &signer(2))
            .head()
            .hash();
        let value = Value {
            cheats: Peers(0b010),
            ..Value::of(Peers(0b101), cut).with_log(hash)
        };
        let mut change = decided(&start(3), 0, value);
        let signed = |byte| report(1, 0, (cut, LogHash([byte; 16])), None);
        change.proofs = vec![Equivocation(signed(1), signed(2))];
        records.push(Record::Roster(change));
        VerifiedLog::of(start(3), &records, &signer(2))
    }

    #[test]
    fn a_source_that_could_not_know_of_a_cheat_is_no_liar() {
        for (cut, first) in [(TURNS, Ok(())), (TURNS - 1, Err(Mistrust::Source))] {
            let log = log_with_cheat(cut);
            let known = log.head().cheats_since(0);
            assert_eq!(known, Some((Peers(0b010), cut)), "it follows");
            let mut fetch = offered(3);
            if let Snapshot::Offered(offer) = &mut fetch.snapshot {
                offer.batches.remove(0);
            }
            let mut settle = |at| {
                let own = (&mut None, false);
                fetch.settle(at, 13, log.head(), own, &signer(2))
            };
            assert_eq!(settle(Duration::ZERO), first);
            assert_eq!(settle(CONFIRM), Err(Mistrust::Source));
        }
    }

    #[test]
    fn other_bytes_than_those_that_were_signed_are_refused() {
        let mut fetch = offered(3);
        settle(&mut fetch, 1, TURNS).expect("signed");
        fetch.pieces();
        let whole = vec![7; WORLD];
        assert_eq!(fetch.piece(1, &whole, &log()), Err(Fault::Oversize));
        assert_eq!(fetch.piece(0, &[], &log()), Err(Fault::Oversize));
        let more = vec![7; WORLD + 1];
        assert_eq!(fetch.piece(0, &more, &log()), Err(Fault::Oversize));
        let other = vec![8; WORLD];
        assert_eq!(fetch.piece(0, &other, &log()), Err(Fault::Signature));
    }

    #[test]
    fn an_own_keyframe_that_is_the_signed_one_is_not_fetched() {
        let mut fetch = offered(3);
        let mut own = Some(keyframe());
        let own_past = (&mut own, true);
        let settled = fetch.settle(Duration::ZERO, TURNS, log().head(), own_past, &signer(2));
        assert_eq!((settled, own), (Ok(()), None));
        assert_eq!(fetch.begin(), Some(Some(keyframe())));
    }

    #[test]
    fn a_world_begins_with_the_start_where_nothing_is_offered() {
        for none in [None, Some(offer(3))] {
            let mut fetch = Fetch::new(Duration::ZERO);
            fetch.offered(Duration::ZERO, none, WORLD as u64 - 1);
            assert_eq!(fetch.begin(), Some(None));
        }
    }
}
