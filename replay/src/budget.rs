//! How many records a file may hold that every reader keeps in memory.

use lockstep::Plan;
use lockstep::log::{Bundle, Record};

/// What a file holds so far of the records that readers keep, or keep something of. All others they read one by one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget {
    pace: Option<(Plan, bool)>,
    paces: u32,
    rosters: u32,
    branches: u32,
    mismatches: u32,
    keyframes: u32,
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
const MOST_PACES: u32 = 1 << 17;
/// Roster changes: a peer that leaves and rejoins without end asks for one in two seconds, for nine hours.
const MOST_ROSTERS: u32 = 1 << 14;
/// Branches and continuations: a player's word begins each.
const MOST_BRANCHES: u32 = 1 << 9;
/// Turns after which worlds differed.
const MOST_MISMATCHES: u32 = 1 << 14;
/// Keyframes: 30 s apart, they last for five days.
const MOST_KEYFRAMES: u32 = 1 << 14;
