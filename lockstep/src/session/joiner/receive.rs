//! What others say to a joiner, and answer.

use super::{Decision, Joiner, Next, Stage};
use crate::encoding::Reader;
use crate::log::{Codec, Record, RosterChange, SignedBatch, Start, decode_change, start_hash};
use crate::session::core::Core;
use crate::session::rejoin::{
    Answer, Answered, Ask, DialledLink, Fetch, Follow, Offer, Page, Unfit, decode, encode, place_in,
};
use crate::session::wire::Control;
use crate::{EndReason, Fault, JoinRefused, LinkId, PeerId};
use std::sync::Arc;

impl Joiner {
    /// Takes a message of a link's control stream.
    pub(crate) fn received(&mut self, core: &mut Core, link: LinkId, message: Control) -> Next {
        match message {
            Control::Decided(bytes) => {
                let mut reader = Reader::new(&bytes);
                let change = decode_change(&mut reader).ok();
                match change.filter(|_| reader.end().is_ok()) {
                    Some(change) => self.hear_decision(core, change),
                    None => core.fault(link, Fault::Garbage),
                }
            }
            Control::Refused(
                why
                @ (JoinRefused::Protocol { .. } | JoinRefused::NoSeat | JoinRefused::OtherMatch),
            ) => return self.refused(core, link, why),
            // The other end is on its way out, or says what the roster says: none of it is for this peer yet.
            Control::Refused(_) | Control::Bye => core.close(link),
            Control::End { .. } => self.hear_end(core, link, message),
            Control::Words(_)
            | Control::Lobby(_)
            | Control::Pings(_)
            | Control::Reopen(_)
            | Control::Rejoin { .. } => {}
            Control::Roster(_) | Control::Evidence(_) => {
                let from = core.links.get(&link).and_then(|link| link.proved);
                if from.is_some_and(|(peer, _)| self.sources.is_contact(peer)) {
                    self.admission.keep_early(link, message);
                }
            }
            _ => core.fault(link, Fault::OutOfPlace),
        }
        Next::Stay
    }

    /// Another peer speaks another version, plays another match, or says that this key has no seat. That counts where it
    /// was dialled as one of the match's peers, and ends the way back once all of them say so: any peer may dial this one
    /// and say anything. A peer with a recording of the match knows that it has a seat, and other peers than the host.
    fn refused(&mut self, core: &mut Core, link: LinkId, why: JoinRefused) -> Next {
        let knows_nothing = self.own.is_empty() && self.follow.is_none();
        let counts = knows_nothing || matches!(why, JoinRefused::Protocol { .. });
        let dialled = core.links.get(&link).filter(|link| link.dialled && counts);
        let by_all = dialled.is_some_and(|link| {
            let dialled = DialledLink {
                expected: link.expected,
                address: &link.address,
            };
            self.sources.refused(dialled, why.clone())
        });
        core.close(link);
        match by_all {
            true => Next::End(EndReason::Refused(why)),
            false => Next::Stay,
        }
    }

    /// Takes what a member has signed of the end. Before there is a log it is not known whose signature that is: members
    /// tell it again to a peer that asks for the end of the log.
    fn hear_end(&mut self, core: &mut Core, link: LinkId, told: Control) {
        let (Some(signed), Some(follow)) = (told.signed_end(), &self.follow) else {
            return;
        };
        let roster = &follow.start().roster;
        match self.ends.hear(signed, roster, core.signer.as_ref()) {
            // This peer may be let in a few turns before the end.
            Ok(true) => self.admission.keep_early(link, told),
            Ok(false) => {}
            Err(fault) => core.fault(link, fault),
        }
    }

    fn hear_decision(&mut self, core: &Core, change: RosterChange) {
        let Some(follow) = &self.follow else {
            return;
        };
        let late = self.ends.is_behind(change.value.cut, follow.ahead());
        if !late && follow.takes_decision(&change, core.incarnation, core.signer.as_ref()) {
            self.decide(change);
        }
    }

    fn decide(&mut self, change: RosterChange) {
        let reopens = !self.searches();
        if matches!(self.stage, Stage::Following | Stage::Decided(_)) {
            self.stage = Stage::Decided(Decision { change, reopens });
        }
    }

    pub(crate) fn probe_answered(&mut self, core: &mut Core, link: LinkId, sent_us: u64) {
        core.hears(link);
        self.sources.probe_answered(core.now, sent_us);
    }

    /// Takes an answer on the bulk channel.
    pub(crate) fn answered(&mut self, core: &mut Core, link: LinkId, bytes: &[u8]) -> Next {
        let proved = core.links.get(&link).and_then(|link| link.proved);
        if let Ok(ask) = decode::<Ask>(bytes) {
            // Another joiner, or a peer that waits for the others: it answers as well.
            if let (Some((peer, _)), Ask::Outline { match_id }) = (proved, ask) {
                self.sources.note_joiner(core.now, peer, match_id);
            }
            core.send_bulk(link, encode(&Answer::Nothing));
            return Next::Stay;
        }
        if self.sources.link() != Some(link) {
            return Next::Stay;
        }
        core.hears(link);
        let answer = decode(bytes);
        let next = self.follow.as_ref().map(|follow| follow.ahead().turns());
        let kind = match &answer {
            Ok(Answer::Outline { .. }) => Answered::Outline,
            Ok(Answer::Log { from, turns, .. }) => Answered::Page {
                from: *from,
                turns: *turns,
            },
            Ok(Answer::Nothing) => Answered::Nothing,
            _ => Answered::Other,
        };
        if !self.sources.answered(core.now, kind, next) {
            return Next::Stay;
        }
        match answer {
            Err(_) => self.distrust(core, Fault::Garbage),
            Ok(Answer::Outline {
                start,
                snapshot,
                contacts,
            }) => return self.outline(core, &start, snapshot, contacts),
            Ok(Answer::Log {
                records,
                turns,
                due_in_ms,
                batches,
                ..
            }) => {
                if let Some(follow) = &mut self.follow {
                    follow.source_reports(core.now, turns, due_in_ms, self.sources.one_way());
                }
                if let Stage::Fetching(fetch) = &mut self.stage {
                    fetch.source_has(turns);
                }
                let batches: Vec<SignedBatch> = batches.into_iter().map(Into::into).collect();
                self.page(core, &records, &batches);
            }
            Ok(Answer::Snapshot { offset, bytes }) => {
                if let (Stage::Fetching(fetch), Some(follow)) = (&mut self.stage, &self.follow)
                    && let Err(fault) = fetch.piece(offset, &bytes, follow.verified())
                {
                    self.distrust(core, fault);
                }
            }
            // Without a log of its own it has nothing to say where the match is reopened. It asks again once the match
            // goes on.
            Ok(Answer::Reopens) if self.has_log() => {
                let host = proved.map(|(peer, _)| peer);
                // Where it was turned away it does not come again.
                let host = host.filter(|host| self.sources.has_refused(*host) == Some(false));
                if let Some(host) = host {
                    self.gathering.offered(core.now, link, host);
                }
                self.pass_over(core);
            }
            Ok(Answer::Nothing | Answer::Reopens) => self.pass_over(core),
        }
        Next::Stay
    }

    /// Whether it has a log to go on from: its own, or that of its world.
    fn has_log(&self) -> bool {
        match self.world.exists() {
            true => self.world.running().is_some(),
            false => !self.own.is_empty(),
        }
    }

    fn outline(
        &mut self,
        core: &mut Core,
        start: &[u8],
        offer: Option<Offer>,
        contacts: Vec<(PeerId, Vec<String>)>,
    ) -> Next {
        let Ok(Record::Start(start)) = Codec::default().decode(start, &core.limits) else {
            self.distrust(core, Fault::Garbage);
            return Next::Stay;
        };
        match &self.follow {
            None => {
                if let Err(why) = self.begin(core, start) {
                    return why;
                }
            }
            Some(follow) if start_hash(follow.start()) != start_hash(&start) => {
                self.distrust(core, Fault::Signature);
                return Next::Stay;
            }
            Some(_) => {}
        }
        if let Stage::Fetching(fetch) = &mut self.stage {
            fetch.offered(core.now, offer, core.limits.snapshot_bytes);
        }
        let follow = self.follow.as_ref().expect("just begun");
        for (peer, addresses) in contacts {
            let mut roster = follow.start().roster.iter();
            let of_the_match = roster.any(|place| place.peer == peer);
            if of_the_match && peer != core.id() {
                self.sources.learn(peer, addresses);
            }
        }
        Next::Stay
    }

    /// Takes how the match began, where this peer and all others have signed it.
    fn begin(&mut self, core: &mut Core, start: Arc<Start>) -> Result<(), Next> {
        let signer = core.signer.as_ref();
        let me = match place_in(signer, &start, self.match_id, &self.rules) {
            Ok(me) => me as u8,
            Err(Unfit::Forged) => {
                self.distrust(core, Fault::Signature);
                return Err(Next::Stay);
            }
            Err(Unfit::Refused(why)) => return Err(Next::End(EndReason::Refused(why))),
        };
        let own = match self.own[..self.committed_records].split_first() {
            Some((Record::Start(first), own)) if start_hash(first) == start_hash(&start) => own,
            _ => &[],
        };
        self.follow = Some(Follow::new(core.now, me, start, own, signer));
        self.stage = Stage::Fetching(Fetch::new(core.now));
        Ok(())
    }

    /// Takes a page of the log, and batches that attest it.
    fn page(&mut self, core: &mut Core, bytes: &[u8], batches: &[SignedBatch]) {
        // A joiner that has no world yet has not asked to be let in.
        let run = Some(core.incarnation).filter(|_| !matches!(self.stage, Stage::Fetching(_)));
        let decided = match &self.stage {
            Stage::Decided(decision) => Some(&decision.change),
            _ => None,
        };
        let Some(follow) = &mut self.follow else {
            return;
        };
        let over_at = self.ends.of_quorum(follow.ahead()).map(|end| end.turns);
        let before = follow.ahead().turns();
        let page = follow.page(&Page {
            now: core.now,
            bytes,
            run,
            decided,
            over_at,
            limits: &core.limits,
            signer: core.signer.as_ref(),
        });
        let Ok(change) = page else {
            return self.mistrust_log(core);
        };
        follow.attest(batches, core.signer.as_ref());
        let moved = follow.ahead().turns() != before;
        change.into_iter().for_each(|change| self.decide(change));
        if moved || !self.source_is_ahead() {
            self.sources.moved(core.now);
        }
    }
}
