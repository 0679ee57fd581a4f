//! The host of a reopening: it admits runs of the roster's peers, and has those that go on sign where.

use super::activity_probe::ActivityProbe;
use super::claims::Told;
use super::message::{Proposal, Said};
use super::recovered_log::RecoveredLog;
use super::settlement::{Facts, Settlement, Settling, Then};
use super::{carry_out, keep, occupant, probe_others, probe_proved};
use crate::log::{Document, Peers, SignatureSet, encode_change};
use crate::session::Step;
use crate::session::core::Core;
use crate::session::joiner::Joiner;
use crate::session::lobby::Gathers;
use crate::session::lobby::base::{
    Agreed, Base, Customs, Entry, Next, Patience, Request, Sort, Standing,
};
use crate::session::lobby::room::{Occupant, Room};
use crate::session::rejoin::{Answer, Ask, RejoinContext, decode, decode_answer, encode};
use crate::session::wire::Control;
use crate::{Contact, EndReason, Fault, JoinRefused, LinkId, PeerId, SeatInfo};
use sim::Checksum;
use std::collections::BTreeMap;
use std::time::Duration;

/// Time between the last signature and the first turn, for the message to reach all and the worlds to be built.
const BEGIN_AFTER: Duration = Duration::from_millis(400);
/// The occupants are announced this often, at most.
const ANNOUNCE_EVERY: Duration = Duration::from_millis(250);
/// A guest that is silent for so long is dead where another run of it comes: it is pinged every second, and one of two
/// answers may be lost.
const QUIET: Duration = Duration::from_millis(2_500);
/// A run whose key is here waits a little longer than that.
const DUPLICATE_WAITS: Duration = Duration::from_secs(3);
/// First comers wait so long for an answer of others, which may still play.
const ASK_OTHERS: Duration = Duration::from_secs(3);
/// Joiners that have met come so late at most: they ask others first, and may have to turn round.
const JOINERS_COME: Duration = Duration::from_secs(15);
/// A host by its player's word yields to another host that it can do without, where the other host has said so for so long.
const YIELDS_AFTER: Duration = Duration::from_secs(2);

pub(in crate::session::lobby) struct ReopeningHost {
    context: RejoinContext,
    settlement: Settlement,
    probe: ActivityProbe,
    /// By link, when the peer there first said that it hosts a reopening, too.
    rivals: BTreeMap<LinkId, Duration>,
    /// The attempt fails because others are awaited.
    awaits: bool,
    /// Its own signature, and the number by which the store says that it keeps that.
    signs: Option<(u64, [u8; 64])>,
    gathers: Gathers,
    opened_at: Duration,
}

impl ReopeningHost {
    /// The base, the host as an occupant, and how the lobby is kept.
    pub(in crate::session::lobby) fn new(
        core: &Core,
        context: RejoinContext,
        gathers: Gathers,
    ) -> Result<(Occupant, Customs, Self), JoinRefused> {
        let log = RecoveredLog::open(core.signer.as_ref(), &context)?;
        if !log.roster().contains(log.me()) {
            return Err(JoinRefused::NotOfRoster);
        }
        let customs = Customs {
            terms: log.start().terms,
            announce_every: Some(ANNOUNCE_EVERY),
            duplicates: Patience {
                quiet: QUIET,
                wait: DUPLICATE_WAITS,
            },
            same_run_enters_again: false,
            pings_while_agreeing: true,
            hears_by_pings: true,
            chats: None,
            sign_within: Some(3),
            loads: false,
            takes_links: true,
        };
        let occupant = occupant(log.start(), log.me(), core.incarnation, Vec::new());
        let base = ReopeningHost {
            context,
            settlement: Settlement::new(log, core.now + gathers.wait()),
            probe: ActivityProbe::new(core.now),
            rivals: BTreeMap::new(),
            awaits: false,
            signs: None,
            gathers,
            opened_at: core.now,
        };
        Ok((occupant, customs, base))
    }

    /// The link to the guest at this place.
    fn link_to(&self, room: &Room, place: u8) -> Option<LinkId> {
        Some(room.guest(self.settlement.id_of(place))?.1)
    }

    /// Does what settling came to.
    fn settled(&mut self, core: &mut Core, standing: Standing<'_>, settling: Settling) -> Next {
        for (place, why) in settling.refused {
            if let Some(link) = standing.room.leave(self.settlement.id_of(place)) {
                core.refuse(link, why);
                standing.room.change();
            }
        }
        match settling.then {
            Then::Stay => Next::Stay,
            Then::Wait => {
                self.awaits = true;
                Next::Fail
            }
            Then::Fetch(place, ask) => {
                if let Some(link) = self.link_to(standing.room, place) {
                    core.send_bulk(link, encode(&ask));
                }
                Next::Prepare
            }
            Then::Propose(proposal) => self.propose(core, &standing, proposal),
            Then::NotOfRoster => Next::Leave(EndReason::Refused(JoinRefused::NotOfRoster)),
            Then::Undecided(missing) => Next::Leave(EndReason::Undecided {
                missing: self.infos(missing),
            }),
            Then::Contradicted(found) => Next::Leave(found.reason(self.infos(found.peers))),
            Then::NoQuorum(missing) => match self.rival(core) {
                Some(link) => self.yields(core, &standing, link),
                None if self.settlement.waits_on(core.now, self.patience()) => Next::Stay,
                None => Next::Leave(EndReason::NoQuorum {
                    missing: self.infos(missing),
                }),
            },
        }
    }

    /// Asks the runs of a proposal to sign it. Its own signature counts once its recording tells of it.
    fn propose(&mut self, core: &mut Core, standing: &Standing<'_>, proposal: Proposal) -> Next {
        let (epoch, cut) = (proposal.epoch, proposal.cut);
        let reopening = proposal.reopening();
        let document = reopening.at(self.settlement.newest_start(), epoch, cut);
        let places: Vec<u8> = proposal.runs.iter().map(|run| run.peer).collect();
        let signers = places.iter();
        let signers = signers.map(|place| (*place, self.settlement.id_of(*place)));
        let signatures = SignatureSet::new(&document, signers);
        let (own, signed) = (document.sign(core.signer.as_ref()), document.signed());
        let accepts = self.settlement.accepts(&proposal);
        let log = self.settlement.log();
        match keep(core, &mut self.context, log, signed, accepts) {
            Ok(number) => self.signs = Some((number, own)),
            Err(why) => return Next::Leave(EndReason::Refused(why)),
        }
        // A peer of no roster any more has no part in it, and waits until the match goes on.
        let propose = Control::Reopen(Said::Propose(proposal));
        for place in places {
            if let Some(link) = self.link_to(standing.room, place) {
                core.send(link, &propose);
            }
        }
        Next::Sign(signatures)
    }

    fn infos(&self, peers: Peers) -> Vec<SeatInfo> {
        let all = self.settlement.start().seat_infos().into_iter();
        let is_of = |info: &SeatInfo| {
            let place = self.settlement.place_of(info.peer);
            place.is_some_and(|place| peers.contains(place))
        };
        all.filter(is_of).collect()
    }

    fn answer(&mut self, room: &Room, link: LinkId, ask: &Ask) -> Answer {
        let guest = room.guest_on(link);
        let guest = guest.and_then(|guest| self.settlement.place_of(guest.peer));
        let answer = match (ask, guest) {
            (Ask::Outline { match_id }, _) => {
                let here =
                    *match_id == self.context.from.match_id && !self.settlement.is_proposed();
                here.then_some(Answer::Reopens)
            }
            (Ask::Log { from, .. }, Some(guest)) => self.settlement.page(guest, *from),
            _ => None,
        };
        answer.unwrap_or(Answer::Nothing)
    }

    /// Another peer says on this link that it hosts a reopening, too. Two hosts would wait for each other: the one of the
    /// higher place yields, while no quorum is here without the other one and no proposal was made. A host by its player's
    /// word does so at once only where there can be no such quorum: then a false claim holds up nothing. Otherwise the
    /// other one must have said so for a while.
    fn note_rival(&mut self, core: &mut Core, standing: &Standing<'_>, link: LinkId) -> Next {
        let since = *self.rivals.entry(link).or_insert(core.now);
        self.rivals.retain(|link, _| core.links.contains_key(link));
        let Some(place) = self.lower_place(core, link) else {
            return Next::Stay;
        };
        let lasts = core.now >= since + YIELDS_AFTER;
        let at_once = self.settlement.needs(place) || self.searches_on();
        let yields = (at_once || lasts) && !self.settlement.has_quorum_without(place);
        match yields && standing.attempt == 0 && standing.gathers {
            true => self.yields(core, standing, link),
            false => Next::Stay,
        }
    }

    /// The peer on this link hosts instead: the guests are told where.
    fn yields(&self, core: &mut Core, standing: &Standing<'_>, link: LinkId) -> Next {
        if let Some((link, (host, _))) = core.links.get(&link).and_then(|on| Some((on, on.proved?)))
        {
            let known = self
                .context
                .from
                .contacts
                .iter()
                .filter(|known| known.peer == host);
            let known = known.flat_map(|known| known.addresses.iter());
            let addresses = std::iter::once(&link.address).chain(known);
            let addresses: Vec<String> = addresses.cloned().collect();
            let addresses = addresses.into();
            standing.broadcast(core, &Control::Reopen(Said::HostedBy { host, addresses }));
        }
        Next::Yield(link)
    }

    /// Until then joiners that met, and were a quorum, have time to come.
    fn patience(&self) -> Duration {
        match self.gathers {
            Gathers::Players(_) => Duration::ZERO,
            Gathers::Joiners => self.opened_at + JOINERS_COME,
        }
    }

    /// The link to a host that has a lower place.
    fn rival(&self, core: &Core) -> Option<LinkId> {
        let mut links = self.rivals.keys().copied();
        links.find(|link| self.lower_place(core, *link).is_some())
    }

    /// The place of the peer on this link, where that is lower than this peer's.
    fn lower_place(&self, core: &Core, link: LinkId) -> Option<u8> {
        let (peer, _) = core.links.get(&link)?.proved?;
        let place = self.settlement.place_of(peer)?;
        (place < self.settlement.me()).then_some(place)
    }
}

impl Base for ReopeningHost {
    fn open(&mut self, _: &mut Core) -> Next {
        Next::Stay
    }

    fn into_context(self: Box<Self>) -> Option<RejoinContext> {
        Some(self.context)
    }

    fn executed(&self) -> Option<(u32, Checksum)> {
        self.context.executed()
    }

    fn searches_on(&self) -> bool {
        self.gathers == Gathers::Joiners
    }

    fn sort(&self, message: &Control, by_guest: bool) -> Sort {
        match message {
            // It is refused, whatever it says.
            Control::Join { .. } => Sort::Request,
            Control::Reopen(Said::Come { .. }) if !by_guest => Sort::Request,
            // An earlier run has not heard that it is out, or its match is just ending.
            Control::Roster(_) | Control::Decided(_) | Control::Words(_) | Control::End { .. } => {
                Sort::Harmless
            }
            // A joiner follows peers without a quorum, and does not know yet that they let no peer in.
            Control::Rejoin { .. } => Sort::Harmless,
            // A reopening comes before a branch.
            Control::Branch { .. } => Sort::Harmless,
            _ => Sort::Guests,
        }
    }

    fn may_ask(&self, _: &Core, request: &Request) -> Result<Entry, JoinRefused> {
        let Control::Reopen(Said::Come { claim, .. }) = &request.message else {
            return Err(JoinRefused::Reopening);
        };
        if self.settlement.place_of(request.peer).is_none() {
            Err(JoinRefused::NoSeat)
        } else if !self.settlement.is_of_this_match(claim) {
            Err(JoinRefused::OtherMatch)
        } else {
            Ok(Entry::Proven)
        }
    }

    fn admit(
        &mut self,
        core: &Core,
        standing: Standing<'_>,
        request: Request,
    ) -> Result<(Occupant, Option<Control>), JoinRefused> {
        let place = self.settlement.place_of(request.peer);
        let place = place.ok_or(JoinRefused::NoSeat)?;
        let Control::Reopen(Said::Come {
            claim,
            accepted,
            signed,
            addresses,
        }) = request.message
        else {
            return Err(JoinRefused::Reopening);
        };
        let run = request.incarnation;
        let facts = facts(core, standing.attempt);
        let told = Told {
            claim,
            accepted,
            signed,
        };
        self.settlement.come(facts, place, run, told)?;
        let addresses = addresses.behind(&core.links[&request.link].address);
        let start = self.settlement.start();
        Ok((occupant(start, place, run, addresses), None))
    }

    fn received(
        &mut self,
        core: &mut Core,
        standing: Standing<'_>,
        from: PeerId,
        message: Control,
    ) -> Next {
        match message {
            Control::Reopen(Said::Sign {
                attempt,
                signature,
                accept,
            }) if attempt == standing.attempt => {
                let (accept, signer) = (accept.map(Into::into), core.signer.as_ref());
                match self.settlement.take_accept(from, accept, signer) {
                    true => Next::Signed(from, signature.into()),
                    false => Next::Fault(Fault::Signature),
                }
            }
            Control::Reopen(Said::Sign { .. }) => Next::Stay,
            _ => Next::Fault(Fault::OutOfPlace),
        }
    }

    fn bulk(
        &mut self,
        core: &mut Core,
        standing: Standing<'_>,
        link: LinkId,
        bytes: &[u8],
    ) -> Next {
        if let Ok(ask) = decode::<Ask>(bytes) {
            let answer = self.answer(standing.room, link, &ask);
            core.send_bulk(link, encode(&answer));
            return Next::Stay;
        }
        let source = self.settlement.source();
        let source = source.and_then(|(source, _)| self.link_to(standing.room, source));
        match decode_answer(bytes, &core.limits) {
            Ok(Answer::Reopens) => self.note_rival(core, &standing, link),
            Ok(Answer::Log { from, records, .. }) if source == Some(link) => {
                let facts = facts(core, standing.attempt);
                match self.settlement.fetched(facts, from, &records) {
                    Ok(settling) => self.settled(core, standing, settling),
                    Err(place) => {
                        let peer = self.settlement.id_of(place);
                        Next::Expel(peer, JoinRefused::OtherHistory)
                    }
                }
            }
            Ok(answer) => {
                self.rivals.remove(&link);
                let (signer, limits) = (core.signer.as_ref(), &core.limits);
                let context = &self.context;
                let finding = self.probe.answered(signer, limits, context, link, answer);
                match carry_out(core, finding) {
                    true => Next::GoesOn,
                    false => Next::Stay,
                }
            }
            Err(_) => Next::Fault(Fault::Garbage),
        }
    }

    fn proved(&mut self, core: &mut Core, link: LinkId) {
        probe_proved(core, &mut self.probe, &self.context, link);
    }

    fn skip(&mut self, away: Duration) {
        self.opened_at += away;
        self.settlement.skip(away);
    }

    fn advance(&mut self, core: &mut Core, room: &Room) {
        let here = |peer| room.guest(peer).is_some();
        probe_others(core, &mut self.probe, &self.context, here);
    }

    fn settle(&mut self, core: &mut Core, standing: Standing<'_>) -> Next {
        let facts = facts(core, standing.attempt);
        let settling = self.settlement.settle_if_due(facts);
        self.settled(core, standing, settling)
    }

    fn begin_now(&mut self, core: &Core) {
        let from = core.now.max(self.opened_at + ASK_OTHERS);
        self.settlement.take_first_comers(from);
    }

    fn synced(&mut self, core: &Core, number: u64) -> Next {
        match self.signs.take_if(|(keeps, _)| *keeps == number) {
            Some((_, own)) => Next::Signed(core.id(), own),
            None => Next::Stay,
        }
    }

    fn preparation(&self) -> Option<(Duration, Vec<PeerId>)> {
        let (source, until) = self.settlement.source()?;
        Some((until, vec![self.settlement.id_of(source)]))
    }

    fn lost(&mut self, now: Duration, peer: PeerId, why: Option<&JoinRefused>, _: bool) -> bool {
        let place = self.settlement.place_of(peer);
        place.is_some_and(|place| self.settlement.go(now, place, why.is_some()))
    }

    fn fail(&mut self, core: &Core, standing: Standing<'_>) -> Option<Control> {
        let attempt = standing.attempt;
        self.signs = None;
        let awaits = std::mem::take(&mut self.awaits);
        let signer = core.signer.as_ref();
        let proposed = self.settlement.begin_anew(signer, &self.context, awaits);
        proposed.then_some(Control::Reopen(Said::Withdraw { attempt }))
    }

    fn agreed(
        mut self: Box<Self>,
        core: &mut Core,
        standing: Standing<'_>,
        signatures: &SignatureSet,
    ) -> Result<Agreed, EndReason> {
        let changes = self.settlement.changes(signatures, core.signer.as_ref());
        let (decided, change) = changes.ok_or(EndReason::Refused(JoinRefused::OtherHistory))?;
        let (mut contacts, mut late) = (Vec::new(), Vec::new());
        for (guest, _) in standing.room.guests() {
            let place = self.settlement.place_of(guest.peer);
            match place.is_some_and(|place| change.value.roster.contains(place)) {
                true => contacts.push((guest.peer, guest.addresses.clone().into())),
                false => late.push(guest.peer),
            }
        }
        let begin = Said::Begin {
            decided: decided.as_ref().map(encode_change),
            change: encode_change(&change),
            contacts: contacts.clone(),
            in_ms: BEGIN_AFTER.as_millis() as u32,
        };
        // A peer that does not go on may come back later, from where it was.
        let mut away = std::mem::take(&mut self.context.from.contacts);
        away.retain(|known| contacts.iter().all(|(peer, _)| *peer != known.peer));
        let here = contacts.into_iter();
        let here = here.map(|(peer, addresses)| Contact {
            peer,
            addresses: addresses.into(),
        });
        self.context.from.contacts = here.chain(away).collect();
        let due = core.now + BEGIN_AFTER;
        let reopened = self.settlement.into_reopened(change, due);
        let joiner = Joiner::reopened(core, self.context, reopened);
        Ok(Agreed {
            late,
            message: Some(Control::Reopen(begin)),
            one_link_each: false,
            step: Step::Reopened(Box::new(joiner)),
        })
    }

    fn deadline(&self, now: Duration, gathers: bool) -> Option<Duration> {
        let settles = self.settlement.deadline(now).filter(|_| gathers);
        settles.into_iter().chain([self.probe.deadline()]).min()
    }
}

fn facts(core: &Core, attempt: u32) -> Facts<'_> {
    Facts {
        now: core.now,
        signer: core.signer.as_ref(),
        limits: &core.limits,
        run: core.incarnation,
        attempt,
    }
}
