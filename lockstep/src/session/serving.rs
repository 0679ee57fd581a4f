//! What a session in its match gives of it to peers that come back.

use super::core::Core;
use super::player::Player;
use super::rejoin::{Answer, Ask, Offer, PART, Serve, decode};
use super::wire::WireBatch;
use super::{Output, Phase, Session};
use crate::log::{Archive, Codec, Record, Start, encode_change};
use crate::{Fault, JoinRefused, LinkId, MatchId};
use std::sync::Arc;

/// What a session serves from.
pub(super) struct Serving<'a> {
    core: &'a mut Core,
    playing: &'a Player,
    archive: &'a Archive,
    serve: &'a mut Serve,
}

impl Session {
    /// Keeps what is appended to the log, and gives it to peers that wait for it.
    pub(super) fn serve(&mut self) {
        for output in &self.core.out {
            match output {
                Output::Append(record) => self.archive.append(record),
                Output::AppendAll(part) => {
                    let archive = &mut self.archive;
                    part.records().for_each(|record| archive.append(&record));
                }
                Output::Tail(turns) => self.archive.tail(turns),
                _ => {}
            }
        }
        if let Some(mut serving) = self.serving() {
            serving.advance();
        }
    }

    pub(super) fn serving(&mut self) -> Option<Serving<'_>> {
        let Phase::Playing(playing) = &self.phase else {
            return None;
        };
        Some(Serving {
            core: &mut self.core,
            playing,
            archive: &self.archive,
            serve: &mut self.serve,
        })
    }
}

impl Serving<'_> {
    /// Takes what came on the bulk channel.
    pub(super) fn received(&mut self, link: LinkId, bytes: &[u8]) {
        let at = self.core.links.get(&link);
        let proved = at.and_then(|link| link.proved).map(|(peer, _)| peer);
        let peer = proved.filter(|peer| self.playing.place_of(*peer).is_some());
        let Some(peer) = peer else {
            return self.refuse_stranger(link, bytes);
        };
        let Ok(ask) = decode::<Ask>(bytes) else {
            // Or an answer that this peer does not wait for any more: it is back.
            if self.core.links.get(&link).is_none_or(|link| !link.asked) {
                self.core.fault(link, Fault::Garbage);
            }
            return;
        };
        match ask {
            Ask::Outline { match_id } => {
                self.serve
                    .open(link, peer, self.core.now, &self.core.limits);
                self.outline(link, match_id);
            }
            Ask::Log { from, attested } => {
                let turns = self.archive.turns();
                if self.serve.wait(link, (from, attested), turns) {
                    self.playing.tell_ends(self.core, link);
                }
            }
            Ask::Snapshot { offset } => {
                if let Some(piece) = self.serve.piece(link, offset) {
                    self.send(link, &piece);
                }
            }
        }
    }

    fn outline(&mut self, link: LinkId, match_id: MatchId) {
        let Some(start) = self.archive.start() else {
            return self.send(link, &Answer::Nothing);
        };
        if self.playing.match_id() != match_id {
            let Some(change) = self.playing.leaves(match_id) else {
                return self.core.refuse(link, JoinRefused::OtherMatch);
            };
            let answer = Answer::Branch {
                start: encoded(start),
                change: encode_change(change),
                match_id: self.playing.match_id(),
            };
            return self.send(link, &answer);
        }
        let signed = self.playing.signed_snapshot();
        let keyframe = signed.map(|signed| signed.keyframe.clone());
        self.serve.offer(link, keyframe);
        let contacts = self.playing.contacts().into_iter();
        let answer = Answer::Outline {
            start: encoded(start),
            snapshot: signed.map(|signed| Offer {
                turns: signed.keyframe.turns,
                ticks: signed.keyframe.ticks,
                bytes: signed.keyframe.snapshot.len() as u64,
                hash: signed.hash,
                batches: signed.batches.iter().map(WireBatch::of).collect(),
            }),
            contacts: contacts
                .map(|contact| (contact.peer, contact.addresses.into()))
                .collect(),
        };
        self.send(link, &answer);
    }

    /// Answers peers for which there is more of the log.
    fn advance(&mut self) {
        if !self.serve.is_waited_for() {
            return;
        }
        let (playing, turns) = (self.playing, self.archive.turns());
        let attested = playing.attested(turns);
        for (link, from) in self.serve.due(turns, attested) {
            let answer = match self.archive.start() {
                None => Answer::Nothing,
                Some(_) => Answer::Log {
                    from,
                    records: self.archive.page(from, PART),
                    turns,
                    due_in_ms: playing.due_in_ms(self.core.now, turns),
                    // A joiner at the cut before its part takes no more turns, and needs those turns attested.
                    batches: playing
                        .attests(turns)
                        .chain(playing.attests(from))
                        .map(WireBatch::of)
                        .collect(),
                },
            };
            self.send(link, &answer);
        }
    }

    fn send(&mut self, link: LinkId, answer: &Answer) {
        match self.serve.encode(link, answer, self.core.now) {
            Some(bytes) => self.core.send_bulk(link, bytes),
            // A spent allowance is no fault: the links of a joiner may have broken again and again.
            None => self.core.close(link),
        }
    }

    /// No other key has a part in the match. A peer that comes back by a ticket cannot know that its key is another one,
    /// and is told; a peer that looks for another match is told that it is not here.
    fn refuse_stranger(&mut self, link: LinkId, bytes: &[u8]) {
        let known = self.core.links.get(&link);
        let known = known.is_some_and(|link| link.proved.is_some());
        match decode::<Ask>(bytes) {
            Ok(Ask::Outline { match_id }) if known => {
                let here = self.playing.match_id() == match_id;
                let why = match here || self.playing.leaves(match_id).is_some() {
                    true => JoinRefused::NoSeat,
                    false => JoinRefused::OtherMatch,
                };
                self.core.refuse(link, why);
            }
            _ => {
                self.core.fault(link, Fault::OutOfPlace);
                self.core.close(link);
            }
        }
    }
}

fn encoded(start: &Arc<Start>) -> Vec<u8> {
    let mut bytes = Vec::new();
    Codec::default().encode(&Record::Start(start.clone()), &mut bytes);
    bytes
}
