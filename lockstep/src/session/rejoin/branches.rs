//! Branches: what a joiner finds where players have gone on without a quorum, and its player's word to enter one.
//!
//! A branch is no source: its log counts for no peer but its own players. The joiner tells of it once other peers were
//! asked, and enters by its player's word alone. A match that a quorum carries on, and a reopening, come first.

use crate::log::{Peers, RosterChange, Start, VerifiedLog};
use crate::sign::Signer;
use crate::{LogHash, MatchId, PeerId};
use sim::Seat;
use std::collections::BTreeMap;
use std::time::Duration;

/// Other peers are asked, or dialled, for so long before a branch is told of.
const ASK_OTHERS: Duration = Duration::from_secs(3);
/// The player has so long to say whether the joiner enters, from the last branch that was found.
pub(crate) const DECIDE: Duration = Duration::from_secs(60);
/// Branches that are told of.
pub(super) const MOST: usize = 16;

/// A branch of the match that the joiner comes back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    pub match_id: MatchId,
    /// Turns before it.
    pub turns: u32,
    /// The seats of its signers.
    pub seats: Vec<Seat>,
    /// A peer that plays it.
    pub host: PeerId,
}

/// The turns of the own log that no fault takes back, and the log's hash after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FinalTurns {
    pub turns: u32,
    pub hash: LogHash,
}

impl Branch {
    /// A branch that `host` plays, as it tells of it: `None` where its signers have not signed it. `start` is that of the
    /// match, with the id of the match that was left.
    pub(crate) fn read(
        host: PeerId,
        (start, change): (&Start, &RosterChange),
        match_id: MatchId,
        signer: &dyn Signer,
    ) -> Option<Branch> {
        let all = Peers::first(start.roster.len());
        if !change.begins_branch(start, all, signer.verifier()) {
            return None;
        }
        let places = change.value.roster.iter();
        let places = places.filter_map(|at| start.roster.get(usize::from(at)));
        let mut seats: Vec<Seat> = places.flat_map(|place| place.seats.clone()).collect();
        seats.sort_unstable();
        Some(Branch {
            match_id,
            turns: change.value.cut,
            seats,
            host,
        })
    }
}

impl FinalTurns {
    /// Of a log that an earlier run has recorded: all but as many as the command delay.
    pub(crate) fn of(log: &VerifiedLog) -> Self {
        let delay = log.start().terms.longest_delay();
        let turns = log.head().turns().saturating_sub(delay);
        let hash = log.hash_after(turns);
        FinalTurns {
            turns,
            hash: hash.expect("the hash after each turn is kept"),
        }
    }

    /// Whether a log may hold them: it has not come so far, or agrees.
    pub(crate) fn may_be_in(&self, log: &VerifiedLog) -> bool {
        log.hash_after(self.turns)
            .is_none_or(|hash| hash == self.hash)
    }
}

/// The branches that were found, and the branch that the player said to enter.
#[derive(Default)]
pub(crate) struct Branches {
    found: BTreeMap<MatchId, Found>,
    chosen: Option<MatchId>,
}

struct Found {
    branch: Branch,
    /// Since when it is known.
    since: Duration,
    /// The game was told.
    told: bool,
}

impl Branches {
    /// A source tells of a branch. False where that is a lie: its signers have not signed it. `start` is that of the
    /// match, with the id that the joiner asked for.
    pub(crate) fn found(
        &mut self,
        now: Duration,
        host: PeerId,
        told: (&Start, &RosterChange),
        match_id: MatchId,
        signer: &dyn Signer,
    ) -> bool {
        let Some(branch) = Branch::read(host, told, match_id, signer) else {
            return false;
        };
        if self.found.len() < MOST || self.found.contains_key(&match_id) {
            let new = || Found {
                branch: branch.clone(),
                since: now,
                told: false,
            };
            self.found.entry(match_id).or_insert_with(new).branch.host = host;
        }
        true
    }

    /// The branches that are to be told of now: `others_asked` tells whether all peers but this one are passed over.
    pub(crate) fn tell(
        &mut self,
        now: Duration,
        others_asked: impl Fn(PeerId) -> bool,
    ) -> Vec<Branch> {
        let untold = self.found.values_mut().filter(|found| {
            let asked = now >= found.since + ASK_OTHERS || others_asked(found.branch.host);
            !found.told && asked
        });
        let told = untold.map(|found| {
            found.told = true;
            found.branch.clone()
        });
        told.collect()
    }

    /// The player says to enter this branch.
    pub(crate) fn choose(&mut self, match_id: MatchId) {
        self.chosen = Some(match_id);
    }

    /// The branch to enter now: the game was told of it, and its player has chosen it.
    pub(crate) fn enter(&mut self) -> Option<Branch> {
        let found = self.found.get(&self.chosen?)?;
        let branch = found.told.then(|| found.branch.clone())?;
        self.chosen = None;
        Some(branch)
    }

    /// Whether the game was told of a branch.
    pub(crate) fn any_told(&self) -> bool {
        self.found.values().any(|found| found.told)
    }

    /// When one is to be told of, if not before.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let untold = self.found.values().filter(|found| !found.told);
        untold.map(|found| found.since + ASK_OTHERS).min()
    }
}
