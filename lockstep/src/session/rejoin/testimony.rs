//! What members of a match have signed of the log that an earlier run has recorded. A quorum can make up another history;
//! it cannot take back what its members signed.

use crate::limits::LONGEST_DELAY;
use crate::log::{Batch, Head, Peers, SignedBatch, VerifiedLog};
use crate::sign::Signer;
use crate::{EndReason, LogHash, SeatInfo, TurnNumber};

/// The newest signatures in a recording, and the turns in it that no fault takes back.
#[derive(Default)]
pub(crate) struct Testimony {
    signed: Vec<Signed>,
    /// The recording of a killed process may lack the signatures.
    recorded: Option<Recorded>,
}

/// The turns of a recording that no fault takes back.
struct Recorded {
    epoch: u32,
    turns: u32,
    /// Hashes of the recorded log after so many turns, after one less, and so on, up to those that a reopening may take back.
    hashes: Vec<LogHash>,
}

/// A peer has signed the log of an epoch up to a turn.
struct Signed {
    peer: u8,
    epoch: u32,
    turns: u32,
    /// Hashes of the recorded log after so many turns, after one less, and so on, up to those that may be taken back.
    hashes: Vec<LogHash>,
}

/// Peers have signed turns that a history does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contradiction {
    pub peers: Peers,
    /// The last turn that they signed.
    pub turn: TurnNumber,
}

impl Testimony {
    /// Signatures of others that are about this log: what a peer has signed of another one proves nothing here.
    pub(crate) fn of(
        log: &VerifiedLog,
        me: u8,
        attests: &[SignedBatch],
        signer: &dyn Signer,
    ) -> Self {
        let signed = attests.iter().filter(|attest| attest.peer != me);
        let signed = signed.filter_map(|attest| {
            let batch = attesting(attest, log, signer)?;
            let turns = batch.complete;
            let least = turns.saturating_sub(LONGEST_DELAY);
            let hashes = (least..=turns).rev().map(|turns| log.hash_after(turns));
            Some(Signed {
                peer: attest.peer,
                epoch: batch.epoch,
                turns,
                hashes: hashes.collect::<Option<_>>()?,
            })
        });
        let recorded = log.head().turns().checked_sub(LONGEST_DELAY);
        let recorded = recorded.map(|turns| {
            let last = (turns.saturating_sub(LONGEST_DELAY)..=turns).rev();
            Recorded {
                epoch: log.head().epoch(),
                turns,
                hashes: last.map_while(|turns| log.hash_after(turns)).collect(),
            }
        });
        Testimony {
            signed: signed.collect(),
            recorded,
        }
    }

    /// The members of a history that have signed something else; none, where only the recording itself says so.
    pub(crate) fn contradicted_by(&self, log: &VerifiedLog, head: &Head) -> Option<Contradiction> {
        self.contradicted(log, head, None)
            .or_else(|| self.contradicted_by_recording(log, head))
    }

    fn contradicted_by_recording(&self, log: &VerifiedLog, head: &Head) -> Option<Contradiction> {
        let Recorded {
            epoch,
            turns,
            ref hashes,
        } = *self.recorded.as_ref()?;
        let mut later = head.changes().iter().filter(|change| change.epoch >= epoch);
        // A quorum reopens the match, of which some have lost turns with their disks.
        let reopened = later
            .clone()
            .filter(|change| change.reopening.is_some())
            .map(|change| change.value.cut);
        let counts = reopened.min().map_or(turns, |cut| cut.min(turns));
        // Turns that a proved cheat has sealed twice are taken back.
        let retracted = later.any(|change| !change.value.cheats.is_empty());
        let own = hashes.get((turns - counts) as usize);
        let differs = head.turns() > turns && log.hash_after(counts).as_ref() != own;
        (differs && !retracted).then(|| Contradiction {
            peers: Peers::default(),
            turn: TurnNumber(turns.saturating_sub(1)),
        })
    }

    /// The same, where a reopening is to end this epoch of a log after so many turns.
    pub(crate) fn contradicted_at(
        &self,
        log: &VerifiedLog,
        epoch: u32,
        cut: u32,
    ) -> Option<Contradiction> {
        self.contradicted(log, log.head(), Some((epoch, cut)))
    }

    fn contradicted(
        &self,
        log: &VerifiedLog,
        head: &Head,
        ends: Option<(u32, u32)>,
    ) -> Option<Contradiction> {
        let members = self.signed.iter();
        let members = members.filter(|signed| head.roster().contains(signed.peer));
        let lies = members.filter(|signed| {
            let before = |epoch: u32| ends.is_none_or(|(ends, _)| epoch < ends);
            let mut changes = head.changes().iter().filter(|change| before(change.epoch));
            let change = changes.find(|change| change.epoch == signed.epoch);
            // Peers execute turns that a proved cheat has sealed twice, until they know of it.
            if change.is_some_and(|change| !change.value.cheats.is_empty()) {
                return false;
            }
            let cut = change.map(|change| change.value.cut);
            let cut = cut.or(ends
                .filter(|(epoch, _)| *epoch <= signed.epoch)
                .map(|(_, cut)| cut));
            // Turns that were not final when the epoch ended may be taken back.
            let counts = cut.map_or(signed.turns, |cut| cut.min(signed.turns));
            let own = signed.hashes.get((signed.turns - counts) as usize);
            own.is_none() || counts <= head.turns() && log.hash_after(counts).as_ref() != own
        });
        let lies: Vec<&Signed> = lies.collect();
        let last = lies.iter().map(|signed| signed.turns).max()?;
        Some(Contradiction {
            peers: lies.iter().map(|signed| signed.peer).collect(),
            turn: TurnNumber(last.saturating_sub(1)),
        })
    }
}

/// The batch, where it is signed and attests this log.
pub(crate) fn attesting(
    attest: &SignedBatch,
    log: &VerifiedLog,
    signer: &dyn Signer,
) -> Option<Batch> {
    let batch = log.head().read(attest, signer)?;
    (log.hash_after(batch.complete) == Some(batch.log_hash)).then_some(batch)
}

impl Contradiction {
    /// The reason by which it ends a part in the match, with the seats of the peers that signed.
    pub(crate) fn reason(self, seats: Vec<SeatInfo>) -> EndReason {
        EndReason::Contradicted {
            signers: seats,
            turn: self.turn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::fixture::{decided, false_alarm, report, signer, start, turn, turns};
    use crate::log::{Equivocation, Record, Value, What};

    fn log(records: &[Record]) -> VerifiedLog {
        VerifiedLog::of(start(3), records, &signer(0))
    }

    /// Of peer 2, which has recorded 20 turns, of which the first two peers have signed so many.
    fn testimony(signed: [u32; 2]) -> Testimony {
        let own = log(&turns(20));
        let attests = [0, 1].map(|peer| {
            let turns = signed[usize::from(peer)];
            report(
                peer,
                0,
                (turns, own.hash_after(turns).expect("it is recorded")),
                None,
            )
        });
        Testimony::of(&own, 2, &attests, &signer(2))
    }

    fn contradicted(testimony: &Testimony, log: &VerifiedLog) -> Option<(Peers, u32)> {
        let found = testimony.contradicted_by(log, log.head());
        found.map(|found| (found.peers, found.turn.0))
    }

    /// Turns that no peer has signed.
    fn invented(from: u32, to: u32) -> Vec<Record> {
        let text = |at: u32| vec![What::Chat(at.to_string())];
        (from..to).map(|at| turn(at, false, text(at))).collect()
    }

    #[test]
    fn a_log_that_goes_on_from_the_recorded_one_contradicts_nothing() {
        for count in [0, 7, 18, 20, 30] {
            assert_eq!(
                contradicted(&testimony([18, 15]), &log(&turns(count))),
                None
            );
        }
    }

    #[test]
    fn another_history_is_contradicted_by_those_that_have_signed_what_it_lacks() {
        let testimony = testimony([18, 12]);
        let mut other = turns(14);
        other.extend(invented(14, 30));
        let found = contradicted(&testimony, &log(&other));
        assert_eq!(found, Some((Peers(0b001), 17)), "the second knew of less");
        assert_eq!(
            contradicted(&testimony, &log(&other[..17])),
            None,
            "not as far"
        );
        let found = contradicted(&testimony, &log(&other[..18]));
        assert_eq!(found, Some((Peers(0b001), 17)));
    }

    #[test]
    fn turns_that_were_not_final_may_be_taken_back_and_no_more() {
        for (cut, contradicts) in [(12, false), (11, true)] {
            let mut other = turns(cut);
            let hash = log(&other).head().hash();
            other.push(Record::Roster(false_alarm(&start(3), 0, cut, hash)));
            other.extend(invented(cut, 30));
            let found = contradicted(&testimony([20, 11]), &log(&other));
            assert_eq!(found.is_some(), contradicts, "cut {cut}");
            // The same, where a reopening is to end the epoch there.
            let at_end = testimony([20, 11]).contradicted_at(&log(&turns(20)), 0, cut);
            assert_eq!(at_end.is_some(), contradicts, "cut {cut}");
        }
    }

    #[test]
    fn a_minority_that_was_made_up_excuses_no_other_history() {
        let mut other = turns(4);
        let hash = log(&other).head().hash();
        let value = Value {
            minority: Peers(0b100),
            ..Value::of(Peers(0b011), 4).with_log(hash)
        };
        other.push(Record::Roster(decided(&start(3), 0, value)));
        other.extend(invented(4, 30));
        let other = log(&other);
        assert_eq!(other.head().turns(), 30, "it follows");
        let found = contradicted(&testimony([20, 15]), &other);
        assert_eq!(found, Some((Peers(0b011), 19)));
    }

    #[test]
    fn turns_that_a_proved_cheat_sealed_twice_are_taken_back() {
        // The recording alone tells of 12 turns that stay; no other peer has signed them.
        let own = log(&turns(20));
        let testimony = Testimony::of(&own, 2, &[], &signer(2));
        for (cheats, contradicts) in [(Peers(0b010), false), (Peers::default(), true)] {
            let mut other = turns(10);
            let hash = log(&other).head().hash();
            let value = Value {
                cheats,
                ..Value::of(Peers(0b101), 10).with_log(hash)
            };
            let mut change = decided(&start(3), 0, value);
            let signed = |byte| report(1, 0, (10, LogHash([byte; 16])), None);
            let proofs = cheats.iter().map(|_| Equivocation(signed(1), signed(2)));
            change.proofs = proofs.collect();
            other.push(Record::Roster(change));
            other.extend(invented(10, 30));
            let other = log(&other);
            assert_eq!(other.head().turns(), 30, "it follows");
            let found = contradicted(&testimony, &other);
            assert_eq!(found.is_some(), contradicts, "{cheats:?}");
        }
    }

    #[test]
    fn what_is_signed_of_another_log_or_by_another_key_proves_nothing() {
        let own = log(&turns(20));
        let elsewhere = report(0, 0, (18, LogHash([7; 16])), None);
        let mut forged = report(
            1,
            0,
            (18, own.hash_after(18).expect("it is recorded")),
            None,
        );
        forged.signature = [7; 64];
        let of_itself = report(
            2,
            0,
            (18, own.hash_after(18).expect("it is recorded")),
            None,
        );
        let attests = [elsewhere, forged, of_itself];
        let testimony = Testimony::of(&own, 2, &attests, &signer(2));
        let of_recording = Some((Peers::default(), 11));
        let found = contradicted(&testimony, &log(&invented(0, 30)));
        assert_eq!(found, of_recording, "no peer has signed");
        let found = contradicted(&testimony, &log(&invented(0, 12)));
        assert_eq!(found, None, "not as far");
    }
}
