//! The claims of a file about its match, by turns executed.

use crate::{Error, KeyframeAt, Reader};
use lockstep::log::{Continuation, Record, RosterChange, SignedBatch, Start};
use lockstep::session::Batch;
use lockstep::session::roster::Peers;
use lockstep::{Incarnation, LogHash, PeerId};
use sim::Checksum;
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

/// All claims about turns of the file, by turn, and the incarnations that signed as its peers. The agreed end is
/// not among them.
pub(super) fn collect(reader: &mut Reader) -> Result<(Vec<Expected>, Runs), Error> {
    let mut expected = Vec::new();
    let mut runs = Runs::of(reader.start());
    let mut differences = Vec::new();
    let mut desynced = Desynced(Vec::new());
    let mut attested = Vec::new();
    let mut roster = Peers::first(reader.start().roster.len());
    for record in reader.records() {
        match record? {
            Record::Checksum { turns, checksum } => expected.push(Expected {
                turns,
                claim: Claim::Checksum(checksum),
            }),
            Record::Mismatch { turns, checksums } => differences.push(Differing {
                turns,
                checksums,
                named: Peers::default(),
                settled: false,
            }),
            Record::Attest(signed) => match Batch::decode(&signed.content) {
                Ok(batch) => {
                    for (later, checksum) in (0u32..).zip(&batch.checksums) {
                        let turns = batch.executed.saturating_add(later);
                        attested.push((signed.peer, batch.epoch, turns, *checksum));
                    }
                    expected.push(Expected {
                        turns: batch.complete,
                        claim: Claim::History {
                            epoch: batch.epoch,
                            log_hash: batch.log_hash,
                            batch: signed,
                        },
                    });
                }
                Err(_) => expected.push(Expected {
                    turns: 0,
                    claim: Claim::Unreadable { peer: signed.peer },
                }),
            },
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
            Record::Accept(_) | Record::Signed(_) => {}
            Record::Continued(continuation) => {
                runs.go_on(&continuation);
                // A player alone decides nothing about other peers.
                roster = Peers::default();
            }
            Record::Start(_) | Record::Bundle(_) | Record::Keyframe(_) => {}
        }
    }
    // Signed checksums of desynced peers are no claims of this file.
    let sound = attested
        .into_iter()
        .filter(|attested| !desynced.holds(attested));
    expected.extend(sound.map(|(_, _, turns, checksum)| Expected {
        turns,
        claim: Claim::Checksum(checksum),
    }));
    expected.extend(differences.into_iter().map(|differing| Expected {
        turns: differing.turns,
        claim: Claim::Desync {
            without: differing.settled.then_some(differing.named),
            checksums: differing.checksums,
        },
    }));
    expected.extend(reader.keyframes().iter().map(|keyframe| Expected {
        turns: keyframe.turns,
        claim: Claim::Keyframe(*keyframe),
    }));
    // Signatures about turns beyond the file say nothing about it.
    let turns = reader.turns();
    expected.retain(|expected| expected.turns <= turns);
    expected.sort_by_key(|expected| (expected.turns, expected.claim.rank()));
    Ok((expected, runs))
}

/// Worlds that differed.
struct Differing {
    turns: u32,
    checksums: Vec<(u8, Checksum)>,
    /// Peers excluded for it since.
    named: Peers,
    /// Whether the remaining peers share one world.
    settled: bool,
}

/// Desynced peers: which peer, its last epoch, and the number of turns after which it differed.
struct Desynced(Vec<(u8, u32, u32)>);

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
            self.0
                .extend(gone.iter().map(|peer| (peer, epoch, differing.turns)));
        }
    }

    /// Whether a peer was already desynced when it signed this checksum.
    fn holds(&self, (peer, epoch, turns, _): &(u8, u32, u32, Checksum)) -> bool {
        let mut desynced = self.0.iter();
        desynced.any(|(of, until, from)| of == peer && epoch <= until && turns >= from)
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
