//! Answers peers that come back. Never more than one answer for a question, and never anything that a turn waits for.

use super::archive::Archive;
use super::message::{Answer, Ask, Offer, PART, decode, encode};
use crate::log::Keyframe;
use crate::session::core::Core;
use crate::session::player::Player;
use crate::session::wire::WireBatch;
use crate::{Fault, JoinRefused, LinkId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whom this peer answers.
#[derive(Default)]
pub(crate) struct Server {
    asking: BTreeMap<LinkId, Asking>,
}

#[derive(Default)]
struct Asking {
    /// What it was offered; kept for it though there may be a newer one.
    snapshot: Option<Arc<Keyframe>>,
    /// The log that it waits for: from which turn on, and how many turns are attested as it knows.
    waits: Option<(u32, u32)>,
    /// Bytes that it may still be sent.
    allowance: u64,
    /// It was told what is signed of the end, and is told of every other signature as it comes.
    knows_ends: bool,
}

impl Server {
    /// Takes what came on the bulk channel.
    pub(crate) fn received(
        &mut self,
        core: &mut Core,
        playing: &Player,
        archive: &Archive,
        link: LinkId,
        bytes: &[u8],
    ) {
        let proved = core.links.get(&link).and_then(|link| link.proved);
        let of_the_match = proved.is_some_and(|(peer, _)| playing.place_of(peer).is_some());
        if !of_the_match {
            return refuse_stranger(core, playing, link, bytes);
        }
        let Ok(ask) = decode::<Ask>(bytes) else {
            // Or an answer that this peer does not wait for any more: it is back.
            if core.links.get(&link).is_none_or(|link| !link.asked) {
                core.fault(link, Fault::Garbage);
            }
            return;
        };
        if let Ask::Outline { .. } = ask {
            // Each peer of the match is answered on the link that it asked on last.
            let peer = |link: &LinkId| Some(core.links.get(link)?.proved?.0);
            let key = peer(&link);
            let asking = &mut self.asking;
            asking.retain(|other, _| {
                *other == link || peer(other).is_some_and(|_| peer(other) != key)
            });
            let limits = &core.limits;
            let allowance = 2 * (limits.snapshot_bytes + limits.catch_up_bytes);
            let new = || Asking {
                allowance,
                ..Asking::default()
            };
            self.asking.entry(link).or_insert_with(new);
        }
        let Some(asking) = self.asking.get_mut(&link) else {
            // It asks on another link by now.
            return;
        };
        match ask {
            Ask::Outline { match_id } => {
                let answer = match archive.start() {
                    Some((start, record)) if start.match_id == match_id => {
                        let signed = playing.signed_snapshot();
                        asking.snapshot = signed.map(|signed| signed.keyframe.clone());
                        Answer::Outline {
                            start: record.to_vec(),
                            snapshot: signed.map(|signed| Offer {
                                turns: signed.keyframe.turns,
                                ticks: signed.keyframe.ticks,
                                bytes: signed.keyframe.snapshot.len() as u64,
                                hash: signed.hash,
                                batches: signed.batches.iter().map(WireBatch::of).collect(),
                            }),
                            contacts: contacts(playing),
                        }
                    }
                    _ => Answer::Nothing,
                };
                asking.send(core, link, &answer);
            }
            Ask::Log { from, attested } => {
                asking.waits = Some((from, attested));
                if from >= archive.turns() && !std::mem::replace(&mut asking.knows_ends, true) {
                    playing.tell_ends(core, link);
                }
            }
            Ask::Snapshot { offset } => {
                let answer = asking.piece(offset).unwrap_or(Answer::Nothing);
                asking.send(core, link, &answer);
            }
        }
    }

    /// Answers those for whom there is more of the log.
    pub(crate) fn advance(&mut self, core: &mut Core, playing: &Player, archive: &Archive) {
        if self.asking.values().all(|asking| asking.waits.is_none()) {
            return;
        }
        let turns = archive.turns();
        let attested = playing.attested(turns);
        for (link, asking) in &mut self.asking {
            if let Some((from, known)) = asking.waits
                && (turns > from || attested > known)
            {
                asking.waits = None;
                let answer = match archive.start() {
                    None => Answer::Nothing,
                    Some(_) => Answer::Log {
                        from,
                        records: archive.page(from, PART).to_vec(),
                        turns,
                        due_in_ms: playing.due_in_ms(core.now, turns),
                        // Who is at the cut before its part takes no more turns, and needs those turns attested.
                        batches: playing
                            .attests(turns)
                            .chain(playing.attests(from))
                            .map(WireBatch::of)
                            .collect(),
                    },
                };
                asking.send(core, *link, &answer);
            }
        }
    }

    /// A link is gone.
    pub(crate) fn forget(&mut self, link: LinkId) {
        self.asking.remove(&link);
    }
}

impl Asking {
    fn piece(&self, offset: u64) -> Option<Answer> {
        let bytes = &self.snapshot.as_ref()?.snapshot;
        let from = usize::try_from(offset).ok()?;
        let piece = bytes.get(from..bytes.len().min(from.checked_add(PART)?))?;
        Some(Answer::Snapshot {
            offset,
            bytes: piece.to_vec(),
        })
    }

    fn send(&mut self, core: &mut Core, link: LinkId, answer: &Answer) {
        let bytes = encode(answer);
        if bytes.len() as u64 > self.allowance {
            core.fault(link, Fault::Flood);
            return core.close(link);
        }
        self.allowance -= bytes.len() as u64;
        core.send_bulk(link, bytes);
    }
}

/// Nobody else has a part in the match. Who comes back by a ticket cannot know that its key is another one, and is
/// told; who looks for another match than this one, that it is not here.
fn refuse_stranger(core: &mut Core, playing: &Player, link: LinkId, bytes: &[u8]) {
    let is_known = core
        .links
        .get(&link)
        .is_some_and(|link| link.proved.is_some());
    match decode::<Ask>(bytes) {
        Ok(Ask::Outline { match_id }) if is_known => {
            let why = match playing.match_id() == match_id {
                true => JoinRefused::NoSeat,
                false => JoinRefused::OtherMatch,
            };
            core.refuse(link, why);
        }
        _ => {
            core.fault(link, Fault::OutOfPlace);
            core.close(link);
        }
    }
}

fn contacts(playing: &Player) -> Vec<(crate::PeerId, Vec<String>)> {
    let contacts = playing.contacts().into_iter();
    contacts
        .map(|contact| (contact.peer, contact.addresses))
        .collect()
}
