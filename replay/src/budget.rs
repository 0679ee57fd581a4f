//! How many records a file may hold that readers keep in memory, or read it again for.

use lockstep::Plan;
use lockstep::log::{Bundle, Record};
use lockstep::session::Batch;

/// What a file holds so far of the records that readers keep, keep something of, or read it again for. All others they read
/// one by one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget {
    pace: Option<(Plan, bool)>,
    paces: u32,
    rosters: u32,
    branches: u32,
    mismatches: u32,
    keyframes: u32,
    claims: u32,
}

impl Budget {
    /// Takes the next record. False where a file may hold no more of its kind.
    pub(crate) fn take(&mut self, record: &Record) -> bool {
        match record {
            Record::Bundle(bundle) => self.take_turn(bundle),
            Record::Roster(change) if change.branch().is_some() => {
                counts(&mut self.branches, MOST_BRANCHES)
            }
            Record::Roster(_) => counts(&mut self.rosters, MOST_ROSTERS),
            Record::Continued(_) => counts(&mut self.branches, MOST_BRANCHES),
            Record::Mismatch { .. } => counts(&mut self.mismatches, MOST_MISMATCHES),
            Record::Checksum { .. } => counts(&mut self.claims, MOST_CLAIMS),
            // It claims a history, and worlds.
            Record::Attest(signed) => {
                let worlds =
                    Batch::decode(&signed.content).map_or(0, |batch| batch.checksums.len());
                (0..=worlds).all(|_| counts(&mut self.claims, MOST_CLAIMS))
            }
            _ => true,
        }
    }

    /// Takes a keyframe, likewise.
    pub(crate) fn take_keyframe(&mut self) -> bool {
        counts(&mut self.keyframes, MOST_KEYFRAMES)
    }

    fn take_turn(&mut self, bundle: &Bundle) -> bool {
        let pace = (bundle.plan, bundle.paused);
        self.pace.replace(pace) == Some(pace) || counts(&mut self.paces, MOST_PACES)
    }
}

fn counts(so_far: &mut u32, most: u32) -> bool {
    let within = *so_far < most;
    *so_far += u32::from(within);
    within
}

/// Changes of the plan and of the pause: a peer that reports loads without end asks for 2 to 3 a second, for half a day.
pub(crate) const MOST_PACES: u32 = 1 << 17;
/// Roster changes: a peer that leaves and rejoins without end asks for one in two seconds, for nine hours.
pub(crate) const MOST_ROSTERS: u32 = 1 << 14;
/// Branches and continuations: a player's word begins each.
const MOST_BRANCHES: u32 = 1 << 9;
/// Turns after which worlds differed.
pub(crate) const MOST_MISMATCHES: u32 = 1 << 14;
/// Claims, for each 65,536 of which a verifier reads the file again: 16 times. A checksum each second, and a signature of
/// each of sixteen peers each minute, last for a week.
const MOST_CLAIMS: u32 = 1 << 20;
/// Keyframes: 30 s apart, they last for five days.
pub(crate) const MOST_KEYFRAMES: u32 = 1 << 14;

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Checksum;

    #[test]
    fn a_file_of_more_claims_than_a_week_has_is_read_no_further() {
        let mut budget = Budget::default();
        let claim = |at: u32| Record::Checksum {
            turns: at,
            checksum: Checksum(1),
        };
        assert!((0..MOST_CLAIMS).all(|at| budget.take(&claim(at))));
        assert!(!budget.take(&claim(MOST_CLAIMS)));
        let batch = crate::fixture::play(60).records.into_iter();
        let mut batches = batch.filter(|record| matches!(record, Record::Attest(_)));
        assert!(!budget.take(&batches.next().expect("a signed batch")));
    }
}
