//! What a file claims about its match, by the number of turns executed.

use crate::{Error, KeyframeAt, Reader};
use lockstep::log::{Continuation, Record, RosterChange, SignedBatch, Start};
use lockstep::session::Batch;
use lockstep::{Incarnation, LogHash, PeerId};
use sim::Checksum;
use std::sync::Arc;

/// One claim.
pub(super) struct Expected {
    /// It holds for the world and the log after so many turns.
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
    /// A signed batch that cannot be read.
    Unreadable { peer: u8 },
    /// The world has this checksum.
    Checksum(Checksum),
    /// The peers' worlds had different ones.
    Desync(Vec<(u8, Checksum)>),
    /// The world has these bytes.
    Keyframe(KeyframeAt),
}

/// All claims about turns that the file holds, by turn, and the runs of their processes that peers signed as. The agreed
/// end is not among them.
pub(super) fn collect(reader: &mut Reader) -> Result<(Vec<Expected>, Runs), Error> {
    let mut expected = Vec::new();
    let mut runs = Runs::of(reader.start());
    for record in reader.records() {
        match record? {
            Record::Checksum { turns, checksum } => expected.push(Expected {
                turns,
                claim: Claim::Checksum(checksum),
            }),
            Record::Mismatch { turns, checksums } => expected.push(Expected {
                turns,
                claim: Claim::Desync(checksums),
            }),
            Record::Attest(signed) => match Batch::decode(&signed.content) {
                Ok(batch) => {
                    for (later, checksum) in (0u32..).zip(&batch.checksums) {
                        expected.push(Expected {
                            turns: batch.executed.saturating_add(later),
                            claim: Claim::Checksum(*checksum),
                        });
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
            Record::Roster(change) => runs.take(&change),
            Record::Continued(continuation) => runs.go_on(&continuation),
            Record::Start(_) | Record::Bundle(_) | Record::Keyframe(_) | Record::End(_) => {}
        }
    }
    expected.extend(reader.keyframes().iter().map(|keyframe| Expected {
        turns: keyframe.turns,
        claim: Claim::Keyframe(*keyframe),
    }));
    // What a peer signed about a later turn than the file holds says nothing about the file.
    let turns = reader.turns();
    expected.retain(|expected| expected.turns <= turns);
    expected.sort_by_key(|expected| (expected.turns, expected.claim.rank()));
    Ok((expected, runs))
}

/// Which run of a process spoke for a peer, and by which start, from which epoch on.
pub(super) struct Runs {
    starts: Vec<(u32, Arc<Start>)>,
    /// Of peers that came back: from which epoch on, which peer, which run.
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

    /// Whether a batch of this epoch is signed by the run that spoke for its peer then.
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
    /// Of several claims about one turn, the one that explains most comes first.
    fn rank(&self) -> u8 {
        match self {
            Claim::Unreadable { .. } => 0,
            Claim::History { .. } => 1,
            Claim::Desync(_) => 2,
            Claim::Checksum(_) => 3,
            Claim::Keyframe(_) => 4,
        }
    }
}
