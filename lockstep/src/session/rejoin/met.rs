//! Branches that a player meets: other players of its match went on there without a quorum.

use super::branches::{Branch, MOST};
use crate::MatchId;
use std::collections::BTreeMap;

/// The branches that were met.
#[derive(Default)]
pub(crate) struct MetBranches {
    met: BTreeMap<MatchId, Met>,
}

struct Met {
    branch: Branch,
    /// The match that it left.
    left: MatchId,
    /// The game was told.
    told: bool,
}

impl MetBranches {
    /// A peer plays a branch, which left this match.
    pub(crate) fn meet(&mut self, left: MatchId, branch: Branch) {
        if self.met.len() < MOST || self.met.contains_key(&branch.match_id) {
            let new = || Met {
                branch: branch.clone(),
                left,
                told: false,
            };
            self.met.entry(branch.match_id).or_insert_with(new);
        }
    }

    /// The branches that are to be told of now, each with the match that it left: those of a match that is `due`.
    pub(crate) fn tell(&mut self, due: impl Fn(MatchId) -> bool) -> Vec<(MatchId, Branch)> {
        let untold = self.met.values_mut();
        let untold = untold.filter(|met| !met.told && due(met.left));
        let told = untold.map(|met| {
            met.told = true;
            (met.left, met.branch.clone())
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PeerId;

    const OWN: MatchId = MatchId([7; 16]);

    fn branch(id: u8) -> Branch {
        Branch {
            match_id: MatchId([id; 16]),
            turns: 20,
            seats: Vec::new(),
            host: PeerId([id; 32]),
        }
    }

    #[test]
    fn a_branch_is_told_of_once_and_when_it_is_due() {
        let mut met = MetBranches::default();
        met.meet(OWN, branch(1));
        met.meet(OWN, branch(1));
        assert_eq!(met.tell(|left| left != OWN), []);
        assert_eq!(met.tell(|left| left == OWN), [(OWN, branch(1))]);
        met.meet(OWN, branch(1));
        assert_eq!(met.tell(|_| true), []);
    }

    #[test]
    fn a_peer_that_tells_of_ever_new_branches_is_bounded() {
        let mut met = MetBranches::default();
        for id in 0..=255 {
            met.meet(OWN, branch(id));
        }
        assert_eq!(met.tell(|_| true).len(), MOST);
    }
}
