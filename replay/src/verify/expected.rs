//! The claims of a file about its match, by turns executed.

use crate::{Error, KeyframeAt, Reader};
use lockstep::log::{Continuation, Record, RosterChange, SignedBatch, Start};
use lockstep::session::Batch;
use lockstep::session::roster::Peers;
use lockstep::{Incarnation, LogHash, PeerId};
use sim::Checksum;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) struct Expected {
    /// The claim is about world and log after this many turns.
    pub turns: u32,
    pub claim: Claim,
}

pub(super) enum Claim {
    /// A peer signed this history.
    History {
        batch: SignedBatch,
        /// The epoch in which it was sealed.
        epoch: u32,
        log_hash: LogHash,
    },
    /// A signed batch that does not decode.
    Unreadable { peer: u8 },
    /// The world has this checksum.
    Checksum(Checksum),
    /// The peers' worlds differed, and the match went on without some of them.
    Desync {
        checksums: Vec<(u8, Checksum)>,
        /// The excluded peers, if the others share a checksum.
        without: Option<Peers>,
    },
    /// The world has these bytes.
    Keyframe(KeyframeAt),
}

/// All claims about turns of the file, by turn. Memory holds so many at a time: the file is read again for the next ones.
pub(super) struct Claims {
    differences: Vec<Differing>,
    desynced: Desynced,
    waiting: BTreeMap<Place, Claim>,
    /// The last claim that was found, where more follow.
    more_behind: Option<Place>,
    most: usize,
}

/// The order of claims: by turns executed, then by rank, then those that batches hold last, as they are in the file.
type Place = (u32, u8, bool, u64);

/// All claims of a file, and the incarnations that signed as its peers. The agreed end is not among the claims.
pub(super) fn collect(reader: &mut Reader) -> Result<(Claims, Runs), Error> {
    collect_by(reader, MOST_CLAIMS)
}

fn collect_by(reader: &mut Reader, most: usize) -> Result<(Claims, Runs), Error> {
    let mut runs = Runs::of(reader.start());
    let mut differences = Vec::new();
    let mut desynced = Desynced::default();
    let mut roster = Peers::first(reader.start().roster.len());
    for record in reader.records() {
        match record? {
            Record::Mismatch { turns, checksums } => differences.push(Differing {
                turns,
                checksums,
                named: Peers::default(),
                settled: false,
            }),
            Record::Roster(change) => {
                runs.take(&change);
                roster = change.value.roster;
                desynced.settle(&mut differences, change.value.minority, change.epoch);
            }
            Record::End(end) => {
                // A peer whose world differed at the very end did not sign the end.
                let signed: Peers = end.signatures.iter().map(|(peer, _)| *peer).collect();
                desynced.settle(&mut differences, roster.without(signed), u32::MAX);
            }
            Record::Continued(continuation) => {
                runs.go_on(&continuation);
                // A player alone decides nothing about other peers.
                roster = Peers::default();
            }
            _ => {}
        }
    }
    let mut claims = Claims {
        differences,
        desynced,
        waiting: BTreeMap::new(),
        more_behind: None,
        most,
    };
    claims.find(reader, None)?;
    Ok((claims, runs))
}

impl Claims {
    /// The next claim, where it is about so many turns at most.
    ///
    /// # Errors
    /// The error of the disk, and [`Error::Changed`] if the file has changed.
    pub(super) fn next(
        &mut self,
        reader: &mut Reader,
        turns: u32,
    ) -> Result<Option<Expected>, Error> {
        if self.waiting.is_empty()
            && let Some(last) = self.more_behind.take()
        {
            self.find(reader, Some(last))?;
        }
        let next = self.waiting.first_entry();
        let next = next.filter(|next| next.key().0 <= turns);
        Ok(next.map(|next| {
            let ((turns, ..), claim) = next.remove_entry();
            Expected { turns, claim }
        }))
    }

    /// Finds the first claims behind a place.
    fn find(&mut self, reader: &mut Reader, behind: Option<Place>) -> Result<(), Error> {
        // Claims about turns beyond the file say nothing about it.
        let until = reader.turns();
        let (waiting, more_behind, most) = (&mut self.waiting, &mut self.more_behind, self.most);
        let mut count = 0;
        let mut offer = |turns: u32, claim: Claim, in_batch: bool| {
            count += 1;
            let place = (turns, claim.rank(), in_batch, count);
            if turns > until || behind.is_some_and(|behind| place <= behind) {
                return;
            }
            waiting.insert(place, claim);
            if waiting.len() > most {
                waiting.pop_last();
                *more_behind = waiting.last_key_value().map(|(last, _)| *last);
            }
        };
        for record in reader.records() {
            match record? {
                Record::Checksum { turns, checksum } => {
                    offer(turns, Claim::Checksum(checksum), false);
                }
                Record::Attest(signed) => match Batch::decode(&signed.content) {
                    Ok(batch) => {
                        // Signed checksums of desynced peers are no claims of this file.
                        for (later, checksum) in (0u32..).zip(&batch.checksums) {
                            let turns = batch.executed.saturating_add(later);
                            if !self.desynced.holds(signed.peer, batch.epoch, turns) {
                                offer(turns, Claim::Checksum(*checksum), true);
                            }
                        }
                        let claim = Claim::History {
                            epoch: batch.epoch,
                            log_hash: batch.log_hash,
                            batch: signed,
                        };
                        offer(batch.complete, claim, false);
                    }
                    Err(_) => offer(0, Claim::Unreadable { peer: signed.peer }, false),
                },
                _ => {}
            }
        }
        for differing in &self.differences {
            let claim = Claim::Desync {
                without: differing.settled.then_some(differing.named),
                checksums: differing.checksums.clone(),
            };
            offer(differing.turns, claim, false);
        }
        for keyframe in reader.keyframes() {
            offer(keyframe.turns, Claim::Keyframe(*keyframe), false);
        }
        Ok(())
    }
}

/// Claims that are held at a time: those of a day are fewer.
const MOST_CLAIMS: usize = 1 << 16;

/// Worlds that differed.
struct Differing {
    turns: u32,
    checksums: Vec<(u8, Checksum)>,
    /// Peers excluded for it since.
    named: Peers,
    /// Whether the remaining peers share one world.
    settled: bool,
}

/// Desynced peers: which peer, its last epoch, and the number of turns after which it first differed.
#[derive(Default)]
struct Desynced(BTreeMap<(u8, u32), u32>);

impl Desynced {
    /// Marks peers as excluded at the end of this epoch.
    fn settle(&mut self, differences: &mut [Differing], minority: Peers, epoch: u32) {
        for differing in differences.iter_mut().filter(|each| !each.settled) {
            let reporters: Peers = differing.checksums.iter().map(|(peer, _)| *peer).collect();
            let gone = minority.and(reporters);
            differing.named = differing.named.or(gone);
            let named = differing.named;
            let mut others = differing
                .checksums
                .iter()
                .filter(|(peer, _)| !named.contains(*peer));
            let sound = others.next().map(|(_, checksum)| *checksum);
            let alike = sound.is_some() && others.all(|(_, checksum)| Some(*checksum) == sound);
            differing.settled = alike && !named.is_empty();
            for peer in gone.iter() {
                let from = self.0.entry((peer, epoch)).or_insert(differing.turns);
                *from = differing.turns.min(*from);
            }
        }
    }

    /// Whether a peer was already desynced when it signed a checksum in this epoch, after so many turns.
    fn holds(&self, peer: u8, epoch: u32, turns: u32) -> bool {
        let mut later = self.0.range((peer, epoch)..=(peer, u32::MAX));
        later.any(|(_, from)| turns >= *from)
    }
}

/// Which incarnation spoke for a peer, under which start, from which epoch on.
pub(super) struct Runs {
    starts: Vec<(u32, Arc<Start>)>,
    /// Rejoined peers: the first epoch, the peer, the incarnation.
    returned: Vec<(u32, u8, Incarnation)>,
}

impl Runs {
    fn of(start: &Arc<Start>) -> Self {
        Runs {
            starts: vec![(0, start.clone())],
            returned: Vec::new(),
        }
    }

    fn take(&mut self, change: &RosterChange) {
        let epoch = change.epoch.saturating_add(1);
        if change.branch().is_some() {
            let (_, before) = self.starts.last().expect("there is the first start");
            let mut start = Start::clone(before);
            change.apply(&mut start);
            self.starts.push((epoch, Arc::new(start)));
        }
        let runs = change.new_runs();
        let runs = runs.map(|(peer, run)| (epoch, peer, run));
        self.returned.extend(runs);
    }

    fn go_on(&mut self, continuation: &Continuation) {
        let (_, before) = self.starts.last().expect("there is the first start");
        let start = Arc::new(continuation.start(before));
        let epoch = continuation.epoch.saturating_add(1);
        self.starts.push((epoch, start));
    }

    /// Whether the incarnation that spoke for a peer in this epoch signed a batch.
    pub(super) fn signed(
        &self,
        batch: &SignedBatch,
        epoch: u32,
        signature: fn(PeerId, &[u8], &[u8; 64]) -> bool,
    ) -> bool {
        let mut starts = self.starts.iter().rev();
        let Some((began, start)) = starts.find(|(from, _)| *from <= epoch) else {
            return false;
        };
        let mut later = self.returned.iter().rev();
        let run =
            later.find(|(from, peer, _)| *peer == batch.peer && *from <= epoch && *from >= *began);
        match run {
            Some((.., run)) => batch.is_signed_in(start, *run, signature),
            None => batch.is_signed_by(start, signature),
        }
    }
}

impl Claim {
    /// The most informative of several claims about one turn comes first.
    fn rank(&self) -> u8 {
        match self {
            Claim::Unreadable { .. } => 0,
            Claim::History { .. } => 1,
            Claim::Desync { .. } => 2,
            Claim::Checksum(_) => 3,
            Claim::Keyframe(_) => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn claims_come_in_one_order_however_many_are_held() {
        let bytes = fixture::file_of(&fixture::play_desynced(120, 60).records);
        let places = |most: usize| {
            let mut reader = Reader::from_bytes(bytes.clone()).unwrap();
            let (mut claims, _) = collect_by(&mut reader, most).unwrap();
            let mut places = Vec::new();
            while let Some(next) = claims.next(&mut reader, u32::MAX).unwrap() {
                places.push((next.turns, next.claim.rank()));
            }
            places
        };
        let all = places(MOST_CLAIMS);
        assert!(all.is_sorted() && all.len() > 10, "{}", all.len());
        for most in [1, 2, 7] {
            assert_eq!(places(most), all, "{most} at a time");
        }
    }
}
