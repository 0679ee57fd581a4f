//! What others say to a joiner, and answer.

use super::{Decision, Joiner, Known, Stage};
use crate::addresses::Addresses;
use crate::encoding::Reader;
use crate::limits::{LONGEST_DELAY, MAX_PEERS};
use crate::log::{
    AttestedLog, Codec, LogPart, Record, RosterChange, SignedBatch, Start, VerifiedLog,
    decode_change, start_hash,
};
use crate::session::Step;
use crate::session::core::Core;
use crate::session::rejoin::{
    Answer, Answered, Ask, DialledLink, Fetch, Follow, Offer, Page, Testimony, Unfit, decode,
    decode_answer, encode, is_behind, place_in, takes_decision,
};
use crate::session::wire::Control;
use crate::{EndReason, Fault, JoinRefused, LinkId, PeerId};
use std::sync::Arc;

impl Joiner {
    /// Takes a message of a link's control stream.
    pub(crate) fn received(&mut self, core: &mut Core, link: LinkId, message: Control) -> Step {
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
            // This peer hosts no more: a guest would wait for it.
            come if come.comes_to_host() => core.close(link),
            Control::Lobby(_) | Control::Pings(_) | Control::Reopen(_) | Control::Rejoin { .. } => {
            }
            // It asks for branches itself, while it searches.
            Control::Branch { .. } if self.searches() => {}
            Control::Roster(_)
            | Control::Words(_)
            | Control::Evidence(_)
            | Control::Branch { .. } => {
                let from = core.links.get(&link).and_then(|link| link.proved);
                if from.is_some_and(|(peer, _)| self.sources.is_contact(peer)) {
                    self.admission.keep_early(link, message);
                }
            }
            _ => core.fault(link, Fault::OutOfPlace),
        }
        Step::Stay
    }

    /// Another peer speaks another version, plays another match, or says that this key has no seat. The refusal counts where it
    /// was dialled as one of the match's peers, and ends the way back once all of them say so: any peer may dial this one
    /// and say anything. A peer with a recording of the match knows that it has a seat, and other peers than the host.
    fn refused(&mut self, core: &mut Core, link: LinkId, why: JoinRefused) -> Step {
        let knows_nothing = self.from.log.is_none() && self.known.is_none();
        let counts = knows_nothing || matches!(why, JoinRefused::Protocol { .. });
        let dialled = core.links.get(&link).filter(|link| link.dialled && counts);
        let by_all = dialled.is_some_and(|link| {
            let dialled = DialledLink {
                expected: link.expected,
                address: &link.address,
            };
            self.sources.refused(dialled, why.clone())
        });
        // It is asked again in a while: its player may leave that match for this one.
        if why == JoinRefused::OtherMatch && self.sources.link() == Some(link) {
            self.pass_over(core);
        }
        core.close(link);
        match by_all {
            true => Step::End(EndReason::Refused(why)),
            false => Step::Stay,
        }
    }

    /// Takes what a member has signed of the end. Before there is a log it is not known whose signature that is: members
    /// tell it again to a peer that asks for the end of the log.
    fn hear_end(&mut self, core: &mut Core, link: LinkId, told: Control) {
        let (Some(signed), Some(known)) = (told.signed_end(), &self.known) else {
            return;
        };
        let roster = &known.start().roster;
        match self.ends.hear(signed, roster, core.signer.as_ref()) {
            // This peer may be admitted a few turns before the end.
            Ok(true) => self.admission.keep_early(link, told),
            Ok(false) => {}
            Err(fault) => core.fault(link, fault),
        }
    }

    fn hear_decision(&mut self, core: &Core, change: RosterChange) {
        let Some(known) = &self.known else {
            return;
        };
        let (head, joins) = (known.log.ahead(), known.joins(core));
        let late = self.ends.is_behind(change.value.cut, &known.log);
        if !late && takes_decision(&change, joins, head, core.signer.as_ref()) {
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
        self.sources.probe_answered(core.now, link, sent_us);
    }

    /// Takes an answer on the bulk channel.
    pub(crate) fn answered(&mut self, core: &mut Core, link: LinkId, bytes: &[u8]) -> Step {
        let proved = core.links.get(&link).and_then(|link| link.proved);
        if let Ok(ask) = decode::<Ask>(bytes) {
            // Another joiner, or a peer that waits for the others: it answers as well.
            if let (Some((peer, _)), Ask::Outline { match_id }) = (proved, ask) {
                self.sources.note_joiner(core.now, peer, match_id);
            }
            core.send_bulk(link, encode(&Answer::Nothing));
            return Step::Stay;
        }
        if self.sources.link() != Some(link) {
            return Step::Stay;
        }
        core.hears(link);
        let answer = decode_answer(bytes, &core.limits);
        let known = self.known.as_ref();
        let next = known.map(|known| known.log.ahead().turns());
        let kind = match &answer {
            Ok(Answer::Outline { .. }) => Answered::Outline,
            Ok(Answer::Log { from, turns, .. }) => Answered::Page {
                from: *from,
                turns: *turns,
            },
            Ok(Answer::Nothing) => Answered::Nothing,
            Ok(Answer::Branch { .. }) => Answered::Branch,
            _ => Answered::Other,
        };
        if !self.sources.answered(core.now, kind, next) {
            return Step::Stay;
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
                if let Some(Known { log, .. }) = &self.known {
                    let (one_way, plan) = (self.sources.one_way(), log.ahead().fold().plan);
                    self.follow
                        .source_reports(core.now, turns, due_in_ms, one_way, plan);
                    if is_behind(turns, log.confirmed().turns()) {
                        self.pass_over(core);
                        return Step::Stay;
                    }
                }
                if let Stage::Fetching(fetch) = &mut self.stage {
                    fetch.source_has(turns);
                }
                let batches: Vec<SignedBatch> = batches.into_iter().map(Into::into).collect();
                self.page(core, &records, &batches);
            }
            Ok(Answer::Snapshot { offset, bytes }) => {
                if let (Stage::Fetching(fetch), Some(known)) = (&mut self.stage, &self.known) {
                    match fetch.piece(offset, &bytes, known.log.verified()) {
                        Ok(()) => self.gathering.fetched(core.now),
                        Err(fault) => self.distrust(core, fault),
                    }
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
            Ok(Answer::Branch {
                start,
                change,
                match_id,
            }) => self.branch_found(core, (&start, &change), match_id),
            Ok(Answer::Nothing | Answer::Reopens) => self.pass_over(core),
        }
        Step::Stay
    }

    /// Whether it has a log to go on from: its own, or that of its world.
    fn has_log(&self) -> bool {
        match self.world.exists() {
            true => self.world.running().is_some(),
            false => self.from.log.is_some(),
        }
    }

    fn outline(
        &mut self,
        core: &mut Core,
        start: &[u8],
        offer: Option<Offer>,
        contacts: Vec<(PeerId, Addresses)>,
    ) -> Step {
        let Ok(Record::Start(start)) = Codec::default().decode(start, &core.limits) else {
            self.distrust(core, Fault::Garbage);
            return Step::Stay;
        };
        match &self.known {
            None => {
                if let Err(why) = self.begin(core, start) {
                    return why;
                }
            }
            Some(known) if start_hash(known.start()) != start_hash(&start) => {
                self.distrust(core, Fault::Signature);
                return Step::Stay;
            }
            Some(_) => {}
        }
        if let Stage::Fetching(fetch) = &mut self.stage {
            fetch.offered(core.now, offer, core.limits.snapshot_bytes);
        }
        let known = self.known.as_ref().expect("just begun");
        for (peer, addresses) in contacts {
            let mut roster = known.start().roster.iter();
            let of_the_match = roster.any(|place| place.peer == peer);
            if of_the_match && peer != core.id() {
                self.sources.learn(peer, addresses.into());
            }
        }
        Step::Stay
    }

    /// Takes how the match began, where this peer and all others have signed it.
    fn begin(&mut self, core: &mut Core, start: Arc<Start>) -> Result<(), Step> {
        let signer = core.signer.as_ref();
        let me = match place_in(signer, &start, self.origin, &self.rules) {
            Ok(me) => me as u8,
            Err(Unfit::Forged) => {
                self.distrust(core, Fault::Signature);
                return Err(Step::Stay);
            }
            Err(Unfit::Refused(why)) => return Err(Step::End(EndReason::Refused(why))),
        };
        let own = self.from.log.as_ref();
        let own = own.filter(|own| start_hash(own.start()) == start_hash(&start));
        let own = own.filter(|_| !self.from.accepts_other_history);
        if let Some(own) = own.filter(|_| self.testimony.is_none()) {
            let recorded = VerifiedLog::of(start.clone(), own.records(), signer);
            self.logged = recorded.head().changes().last().cloned();
            self.testimony = Some(Testimony::of(&recorded, me, &self.from.attests, signer));
        }
        // Its last turns may have been provisional.
        let committed = own.and_then(|own| {
            let turns = own.turns().saturating_sub(LONGEST_DELAY);
            Some(own.part(own.first(), &own.before_turn(turns)?))
        });
        let own = committed.iter().flat_map(LogPart::records);
        let log = AttestedLog::new(start, own, signer);
        self.known = Some(Known { me, log });
        self.compared = (0, 0);
        self.follow = Follow::new(core.now);
        self.stage = Stage::Fetching(Fetch::new(core.now));
        Ok(())
    }

    /// Takes a page of the log, and batches that attest it.
    fn page(&mut self, core: &mut Core, bytes: &[u8], batches: &[SignedBatch]) {
        let Some(known) = &mut self.known else {
            return;
        };
        // A joiner that has no world yet has not asked for admission.
        let asked = !matches!(self.stage, Stage::Fetching(_));
        let joins = asked.then(|| known.joins(core));
        let decided = match &self.stage {
            Stage::Decided(decision) => Some(&decision.change),
            _ => None,
        };
        let log = &mut known.log;
        let over_at = self.ends.of_quorum(log).map(|end| end.turns);
        let (before, unconfirmed) = (log.ahead().turns(), log.has_unconfirmed());
        let page = Page {
            now: core.now,
            bytes,
            joins,
            decided,
            branches: self.from.match_id != self.origin,
            over_at,
            limits: &core.limits,
            signer: core.signer.as_ref(),
        };
        // Where it does not follow on what a quorum attests, the batches may tell of a later epoch that began before.
        let on_confirmed = !unconfirmed && before > 0;
        let taken = self.follow.page(log, &page);
        let counts = taken.is_ok() || on_confirmed;
        for signed in batches.iter().take(2 * MAX_PEERS).filter(|_| counts) {
            log.attest(signed, page.signer);
        }
        let Ok(change) = taken else {
            return self.mistrust_log(core, unconfirmed);
        };
        let moved = log.ahead().turns() != before;
        change.into_iter().for_each(|change| self.decide(change));
        if moved || !self.source_is_ahead() {
            self.sources.moved(core.now);
        }
    }
}
