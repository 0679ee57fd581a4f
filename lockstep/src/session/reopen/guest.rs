//! The side of a peer that comes to where a match is reopened.

use super::book::Book;
use super::lookout::Lookout;
use super::message::{Claim, PAGE_COST, Proposal, Said};
use crate::encoding::Reader;
use crate::log::{RosterChange, decode_change};
use crate::session::core::Core;
use crate::session::joiner::Joiner;
use crate::session::lobby::Step;
use crate::session::rejoin::{Answer, Ask, RejoinContext, decode, encode};
use crate::session::wire::Control;
use crate::{Contact, EndReason, Ended, Fault, JoinRefused, LinkId, LobbyPeer, PeerId};
use sim::Seat;
use std::time::Duration;

/// Who hosts tells within this time that all have signed, or that somebody has not.
const BEGINS: Duration = Duration::from_secs(10);

pub(crate) struct Guest {
    known: RejoinContext,
    /// Who hosts, at the other end of this link.
    host: PeerId,
    link: LinkId,
    book: Book,
    /// What this peer had when it came.
    own: Claim,
    wanted: Option<Proposal>,
    signed: Option<u32>,
    signed_at: Duration,
    /// It has cut off the end of its log, which may have been its own alone.
    went_back: bool,
    lookout: Lookout,
    /// Bytes of the log that who hosts may still be given.
    allowance: u64,
    /// Round trips between who hosts and its guests, as it tells.
    pings: Vec<(PeerId, u16)>,
}

impl Guest {
    pub(crate) fn new(
        core: &mut Core,
        known: RejoinContext,
        link: LinkId,
    ) -> Result<Guest, EndReason> {
        let book = Book::open(core, known.match_id, &known.own, &known.rules);
        let book = book.map_err(EndReason::Refused)?;
        let own = book.claim();
        let come = Said::Come {
            claim: own,
            addresses: known.addresses.clone(),
        };
        core.send(link, &Control::Reopen(come));
        let proved = core.links.get(&link).and_then(|link| link.proved);
        let (host, _) = proved.ok_or(EndReason::LobbyClosed)?;
        Ok(Guest {
            known,
            host,
            link,
            own,
            book,
            wanted: None,
            signed: None,
            signed_at: Duration::ZERO,
            went_back: false,
            lookout: Lookout::new(core),
            allowance: core.limits.catch_up_bytes,
            pings: Vec::new(),
        })
    }

    pub(crate) fn own_seats(&self) -> &[Seat] {
        &self.book.start.roster[self.book.me].seats
    }

    /// Round trips between who hosts and its guests.
    pub(crate) fn pings(&self) -> &[(PeerId, u16)] {
        &self.pings
    }

    #[cfg(test)]
    pub(crate) fn proposal(&self) -> Option<&Proposal> {
        self.wanted.as_ref()
    }

    pub(crate) fn deadline(&self) -> Duration {
        self.lookout.deadline()
    }

    /// Looks whether somebody elsewhere plays: who hosts may be wrong, or lie.
    pub(crate) fn advance(&mut self, core: &mut Core) {
        self.lookout.look(core, &self.known, &[self.host]);
    }

    pub(crate) fn proved(&mut self, core: &mut Core, link: LinkId) {
        self.lookout.proved(core, &self.known, link);
    }

    pub(crate) fn link_down(&self, link: LinkId) -> Step {
        match link == self.link {
            true => Step::Search(EndReason::LobbyClosed),
            false => Step::Stay,
        }
    }

    /// It does not go on with who hosts: somebody else may have the match, where anybody else is known.
    fn turned_away(&self, core: &Core, why: EndReason) -> Step {
        let mut contacts = self.known.contacts.iter();
        let others = contacts.any(|contact| {
            let other = contact.peer != self.host && contact.peer != core.id();
            other && !contact.addresses.is_empty()
        });
        match others {
            true => Step::Search(why),
            false => Step::End(why),
        }
    }

    /// How it ended for this peer, which may have followed the match before it came.
    pub(crate) fn ended(&self, reason: EndReason) -> Ended {
        let ended = Ended::without_world(reason);
        match &self.known.held {
            Some(held) => held.as_far_as(ended),
            None => ended,
        }
    }

    /// All that this peer knew when it came, and whom it came to.
    pub(crate) fn into_context(self) -> (RejoinContext, PeerId) {
        (self.known, self.host)
    }

    pub(crate) fn leave(&self, core: &mut Core) -> Step {
        core.send(self.link, &Control::Bye);
        Step::End(EndReason::Left)
    }

    pub(crate) fn received(&mut self, core: &mut Core, link: LinkId, message: Control) -> Step {
        if link != self.link {
            // Others may be in the match already, and lack this peer.
            return Step::Stay;
        }
        match message {
            // Perhaps it goes on right here.
            Control::Refused(JoinRefused::GoesOn) => {
                return Step::Search(EndReason::Refused(JoinRefused::GoesOn));
            }
            Control::Refused(why) => return self.turned_away(core, EndReason::Refused(why)),
            Control::Bye => return self.turned_away(core, EndReason::LobbyClosed),
            Control::Pings(pings) if pings.len() <= usize::from(core.limits.peers) => {
                self.pings = pings;
            }
            Control::Lobby(entries) => {
                let most = usize::from(core.limits.peers);
                let peers = entries.into_iter().take(most);
                let peers = peers.map(|entry| LobbyPeer::from(entry.tidied()));
                core.event(self.book.lobby(peers.collect()));
            }
            Control::Reopen(Said::Propose(proposal)) => {
                // What an earlier proposal cut off or added is not this peer's own.
                let known = &self.known;
                match Book::open(core, known.match_id, &known.own, &known.rules) {
                    Ok(book) => self.book = book,
                    Err(why) => return Step::End(EndReason::Refused(why)),
                }
                (self.wanted, self.signed, self.went_back) = (Some(proposal), None, false);
                return self.look(core);
            }
            Control::Reopen(Said::Withdraw { attempt }) => {
                self.wanted.take_if(|wanted| wanted.attempt == attempt);
            }
            Control::Reopen(Said::Begin {
                change,
                contacts,
                in_ms,
            }) => return self.begin(core, &change, contacts, in_ms),
            _ => core.fault(link, Fault::OutOfPlace),
        }
        Step::Stay
    }

    /// Takes what comes on the bulk channel: who hosts may lack turns, or give them.
    pub(crate) fn bulk(&mut self, core: &mut Core, link: LinkId, bytes: &[u8]) -> Step {
        let hosts = link == self.link;
        match decode::<Ask>(bytes) {
            Ok(Ask::Log { from, .. }) if hosts => {
                let left = self.allowance.checked_sub(PAGE_COST);
                let answer = match left {
                    Some(_) => self.book.page(from),
                    None => Answer::Nothing,
                };
                self.allowance = left.unwrap_or(0);
                core.send_bulk(link, encode(&answer));
                return Step::Stay;
            }
            Ok(_) => {
                core.send_bulk(link, encode(&Answer::Nothing));
                return Step::Stay;
            }
            Err(_) => {}
        }
        match decode::<Answer>(bytes) {
            // What was asked for an earlier proposal may come late.
            Ok(Answer::Log { from, records, .. })
                if hosts && self.wanted.is_some() && from == self.book.turns() =>
            {
                match self.book.take(core, from, &records) {
                    Some(()) => self.look(core),
                    None => self.other_history(core),
                }
            }
            Ok(answer) if !hosts => {
                let plays = self.lookout.answered(core, &self.known, link, answer);
                // Others may have begun what this peer has signed, and its host's word be on its way.
                let begins = self.signed.is_some() && core.now < self.signed_at + BEGINS;
                if !plays || begins {
                    return Step::Stay;
                }
                core.send(self.link, &Control::Bye);
                Step::Search(EndReason::Refused(JoinRefused::GoesOn))
            }
            Ok(_) => Step::Stay,
            Err(_) => {
                core.fault(link, Fault::Garbage);
                Step::Stay
            }
        }
    }

    /// Signs what is proposed, once all turns up to the cut are here; before, asks for them.
    fn look(&mut self, core: &mut Core) -> Step {
        let Some(wanted) = &self.wanted else {
            return Step::Stay;
        };
        let (epoch, cut) = (wanted.epoch, wanted.cut);
        if epoch < self.book.epoch() {
            return self.other_history(core);
        }
        if epoch == self.book.epoch() && cut < self.book.turns() {
            self.book.cut_back(core, epoch, cut);
        }
        let here = (self.book.epoch(), self.book.turns());
        if here != (epoch, cut) {
            if self.book.epoch() < epoch && !std::mem::replace(&mut self.went_back, true) {
                self.book.cut_back_provisional(core);
            }
            let ask = Ask::Log {
                from: self.book.turns(),
                attested: 0,
            };
            core.send_bulk(self.link, encode(&ask));
            return Step::Stay;
        }
        let wanted = wanted.clone();
        if !self.agrees(core, &wanted) {
            return self.other_history(core);
        }
        let reopening = wanted.reopening();
        let bytes = reopening.signed_bytes(&self.book.start, epoch, cut);
        (self.signed, self.signed_at) = (Some(wanted.attempt), core.now);
        let sign = Said::Sign {
            attempt: wanted.attempt,
            signature: core.signer.sign(&bytes).into(),
        };
        core.send(self.link, &Control::Reopen(sign));
        Step::Stay
    }

    /// Whether the proposal is about this log, and says of this peer what is so.
    fn agrees(&self, core: &Core, wanted: &Proposal) -> bool {
        let me = self.book.me as u8;
        let shared = self.book.shared_with(&self.own);
        let held = self.held(wanted.cut, shared);
        let mut runs = wanted.runs.iter();
        let own = runs.find(|run| run.peer == me);
        let of_me = own.is_some_and(|run| run.incarnation == core.incarnation && run.held == held);
        of_me && wanted.log_hash == self.book.tip()
    }

    /// Whether this peer's own replay holds the turns up to the cut. What it had beyond is cut off by now.
    fn held(&self, cut: u32, shared: Option<u32>) -> bool {
        self.own.turns >= cut && (self.own.epoch == self.book.epoch() || shared == Some(cut))
    }

    fn begin(
        &mut self,
        core: &mut Core,
        change: &[u8],
        contacts: Vec<(PeerId, Vec<String>)>,
        in_ms: u32,
    ) -> Step {
        let mut reader = Reader::new(change);
        let change = decode_change(&mut reader).ok();
        let signed = self
            .wanted
            .as_ref()
            .filter(|wanted| self.signed == Some(wanted.attempt));
        let as_signed = change.filter(|change| {
            let reopening = signed.map(Proposal::reopening);
            reader.end().is_ok()
                && change.reopening == reopening
                && self.book.is_reopened_by(core, change)
        });
        let Some(change) = as_signed else {
            core.fault(self.link, Fault::Signature);
            core.close(self.link);
            return self.turned_away(core, EndReason::LobbyClosed);
        };
        let of_the_match = |peer: &PeerId| self.book.start.roster.iter().any(|at| at.peer == *peer);
        let told = contacts.into_iter().filter(|(peer, _)| of_the_match(peer));
        let told = told.map(|(peer, addresses)| Contact {
            peer,
            addresses: addresses.into_iter().take(8).collect(),
        });
        // Whoever hosts can be reached where it was reached before.
        let mut all = std::mem::take(&mut self.known.contacts);
        for contact in told {
            all.retain(|known| known.peer != contact.peer || contact.addresses.is_empty());
            if all.iter().all(|known| known.peer != contact.peer) {
                all.push(contact);
            }
        }
        self.known.contacts = all;
        let change = Box::new(change);
        Step::Reopened(change, core.now + Duration::from_millis(in_ms.into()))
    }

    /// What it goes on from, once it is to begin.
    pub(crate) fn into_joiner(self, core: &Core, change: RosterChange, due: Duration) -> Joiner {
        Joiner::reopened(core, self.known, self.book.reopened(change, due))
    }

    fn other_history(&self, core: &mut Core) -> Step {
        let why = JoinRefused::OtherHistory;
        core.refuse(self.link, why.clone());
        self.turned_away(core, EndReason::Refused(why))
    }
}
