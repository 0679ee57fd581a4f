//! The host's side of a lobby: it admits guests, has all participants sign one document, and tells them to begin.

use super::askers::Askers;
use super::base::{Base, Customs, Entry, Next, Request, Sort, Standing};
use super::chat;
use super::duplicate_keys::{DuplicateKeys, Verdict};
use super::pings::Pings;
use super::room::{Occupant, Room};
use crate::log::{Rule, SignatureSet};
use crate::session::Step;
use crate::session::clock_gap::{GAP, LOOK_AT_TIME};
use crate::session::core::Core;
use crate::session::links::dialling::best_first;
use crate::session::rejoin::RejoinContext;
use crate::session::wire::Control;
use crate::text::tidy_text;
use crate::{EndReason, Event, Fault, JoinRefused, LinkId, LobbyPeer, PeerId};
use sim::{Checksum, Seat};
use std::time::Duration;

pub(crate) struct HostSide {
    room: Room,
    duplicates: DuplicateKeys,
    askers: Askers,
    pings: Pings,
    customs: Customs,
    base: Box<dyn Base>,
    /// Attempts to agree that have failed.
    attempt: u32,
    stage: Stage,
    seen_at: Duration,
}

enum Stage {
    Gathering,
    /// Participants give what the document needs.
    Preparing,
    /// Participants sign.
    Signing {
        signatures: SignatureSet,
        until: Option<Duration>,
    },
}

impl HostSide {
    pub(super) fn new(own: Occupant, customs: Customs, base: Box<dyn Base>) -> Self {
        HostSide {
            room: Room::new(own, customs.announce_every),
            duplicates: DuplicateKeys::new(customs.duplicates),
            askers: Askers::default(),
            pings: Pings::default(),
            customs,
            base,
            attempt: 0,
            stage: Stage::Gathering,
            seen_at: Duration::ZERO,
        }
    }

    pub(super) fn open(&mut self, core: &mut Core) -> Step {
        self.seen_at = core.now;
        let next = self.base.open(core);
        self.follow(core, None, next)
    }

    /// Comes before anything else is done with a new time. While this process stood still it heard no guest: what came in
    /// time waits to be taken.
    pub(super) fn detect_clock_gap(&mut self, core: &Core) {
        let away = core.now.saturating_sub(self.seen_at);
        self.seen_at = core.now;
        if away <= GAP {
            return;
        }
        if let Stage::Signing {
            until: Some(until), ..
        } = &mut self.stage
        {
            *until += away;
        }
        self.base.skip(away);
    }

    pub(super) fn own_seats(&self) -> &[Seat] {
        &self.room.own().seats
    }

    /// Round trips to the guests.
    pub(super) fn pings(&self) -> &[(PeerId, u16)] {
        self.pings.known()
    }

    /// Where the guests are found.
    pub(super) fn member_addresses(&self) -> Vec<String> {
        let guests = self.room.guests().map(|(guest, _)| &guest.addresses);
        best_first(guests)
    }

    pub(super) fn takes_links(&self) -> bool {
        self.customs.takes_links
    }

    pub(super) fn is_loading(&self) -> bool {
        let alone = !self.customs.takes_links;
        self.customs.loads && (alone || matches!(self.stage, Stage::Signing { .. }))
    }

    pub(super) fn proved(&mut self, core: &mut Core, link: LinkId) {
        self.base.proved(core, link);
    }

    pub(super) fn probe_answered(&self, core: &mut Core, link: LinkId) {
        if self.customs.hears_by_pings {
            core.hears(link);
        }
    }

    pub(super) fn set_ready(&mut self, core: &mut Core, ready: bool) -> Step {
        let next = self
            .base
            .set_ready(standing(&mut self.room, self.attempt, &self.stage), ready);
        self.follow(core, None, next)
    }

    /// Removes a guest, or turns away a player that asks, where the base lets its host bar keys.
    pub(super) fn remove_guest(&mut self, core: &mut Core, guest: PeerId) -> Step {
        if guest == core.id() || !self.base.bar(guest) {
            return Step::Stay;
        }
        if let Some(link) = self.askers.turn_away(guest) {
            core.refuse(link, JoinRefused::TurnedAway);
            self.show_askers(core);
        }
        if self.room.guest(guest).is_none() {
            return Step::Stay;
        }
        self.expel(core, guest, JoinRefused::Removed);
        match self.stage {
            Stage::Gathering => self.changed(core),
            Stage::Preparing | Stage::Signing { .. } => self.fail(core),
        }
    }

    /// Lets in a player that asks.
    pub(super) fn admit_guest(&mut self, core: &mut Core, guest: PeerId) {
        if let Some(request) = self.askers.welcome(guest) {
            self.show_askers(core);
            self.enter(core, request);
        }
    }

    pub(super) fn begin_now(&mut self, core: &Core) {
        self.base.begin_now(core);
    }

    pub(super) fn loaded(&mut self, core: &mut Core, checksum: Checksum) -> Step {
        let next = self.base.loaded(core, checksum);
        self.follow(core, None, next)
    }

    pub(super) fn synced(&mut self, core: &mut Core, number: u64) -> Step {
        let next = self.base.synced(core, number);
        self.follow(core, None, next)
    }

    pub(super) fn chat(&self, core: &mut Core, text: &str) {
        if let Some(match_id) = self.customs.chats {
            let said = chat::say(core, match_id, text);
            self.pass_on(
                core,
                &said,
                core.id(),
                tidy_text(text, core.limits.chat_bytes),
            );
        }
    }

    pub(super) fn leave(&self, core: &mut Core) -> Step {
        self.say_bye(core);
        Step::End(EndReason::Left)
    }

    pub(super) fn received(&mut self, core: &mut Core, link: LinkId, message: Control) -> Step {
        let Some((peer, incarnation)) = core.links.get(&link).and_then(|link| link.proved) else {
            return Step::Stay;
        };
        if let Control::Refused(_) | Control::Bye = message {
            core.close(link);
            return self.link_down(core, link);
        }
        let guest = self.room.guest_on(link).map(|guest| guest.peer);
        let Some(from) = guest else {
            match self.base.sort(&message, false) {
                Sort::Request => {
                    let request = Request {
                        link,
                        peer,
                        incarnation,
                        message,
                    };
                    self.enter(core, request);
                }
                Sort::Harmless => {}
                Sort::Guests => core.fault(link, Fault::OutOfPlace),
            }
            return Step::Stay;
        };
        match message {
            Control::Chat { .. } if self.customs.chats.is_some() => {
                self.chats(core, link, from, message);
                Step::Stay
            }
            message if self.base.sort(&message, true) == Sort::Request => {
                let request = Request {
                    link,
                    peer,
                    incarnation,
                    message,
                };
                self.enter(core, request);
                Step::Stay
            }
            message => {
                let standing = standing(&mut self.room, self.attempt, &self.stage);
                let next = self.base.received(core, standing, from, message);
                self.follow(core, Some(link), next)
            }
        }
    }

    /// Takes what comes on the bulk channel of a link that has proved its peer.
    pub(super) fn bulk(&mut self, core: &mut Core, link: LinkId, bytes: &[u8]) -> Step {
        let standing = standing(&mut self.room, self.attempt, &self.stage);
        let next = self.base.bulk(core, standing, link, bytes);
        self.follow(core, Some(link), next)
    }

    pub(super) fn link_down(&mut self, core: &mut Core, link: LinkId) -> Step {
        self.duplicates.forget(link);
        self.forget_asker(core, link);
        match self.room.guest_on(link).map(|guest| guest.peer) {
            Some(guest) => self.lost(core, guest),
            None => Step::Stay,
        }
    }

    /// Does what is due.
    pub(super) fn advance(&mut self, core: &mut Core) -> Step {
        self.close_strangers(core);
        self.base.advance(core, &self.room);
        let announces = self.room.announce_deadline(core.now);
        if announces.is_some_and(|at| at <= core.now) {
            self.announce(core);
        }
        if self.pings_now() {
            let guests = self.room.guests();
            let guests = guests.map(|(guest, link)| (guest.peer, link)).collect();
            self.pings.go_round(core, guests);
        }
        self.judge_duplicates(core);
        let late = match &self.stage {
            Stage::Gathering => return self.settle(core),
            Stage::Preparing => self.base.preparation(),
            Stage::Signing { signatures, until } => {
                until.map(|until| (until, signatures.missing().map(|(_, peer)| peer).collect()))
            }
        };
        let Some((_, late)) = late.filter(|(until, _)| *until <= core.now) else {
            return Step::Stay;
        };
        if late.contains(&core.id()) {
            self.say_bye(core);
            return Step::End(match self.customs.loads {
                true => EndReason::World,
                false => EndReason::Refused(JoinRefused::TooSlow),
            });
        }
        for peer in late {
            self.expel(core, peer, JoinRefused::TooSlow);
        }
        self.fail(core)
    }

    pub(super) fn deadline(&self, core: &Core) -> Option<Duration> {
        let now = core.now;
        let stage = match &self.stage {
            Stage::Gathering => None,
            Stage::Preparing => self.base.preparation().map(|(until, _)| until),
            Stage::Signing { until, .. } => *until,
        };
        let pings = self.pings.deadline(self.room.is_empty());
        let seen = self.seen_at + LOOK_AT_TIME;
        let deadlines = [
            stage,
            Some(seen).filter(|_| self.customs.takes_links),
            self.base
                .deadline(now, matches!(self.stage, Stage::Gathering)),
            self.room.announce_deadline(now),
            self.strangers_deadline(core),
            pings.filter(|_| self.pings_now()),
            self.duplicates
                .deadline(now, |peer| silence(core, &self.room, peer)),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Does what follows from what the guest on this link has done, or from something else.
    fn follow(&mut self, core: &mut Core, link: Option<LinkId>, next: Next) -> Step {
        match next {
            Next::Stay => Step::Stay,
            Next::Fault(fault) => {
                if let Some(link) = link {
                    core.fault(link, fault);
                }
                Step::Stay
            }
            Next::Changed => self.changed(core),
            Next::Prepare => {
                self.stage = Stage::Preparing;
                Step::Stay
            }
            Next::Sign(signatures) => {
                let within = self.customs.sign_within;
                let until = within.map(|times| core.now + core.limits.handshake * times);
                self.stage = Stage::Signing { signatures, until };
                self.agree()
            }
            Next::Signed(peer, signature) => self.signed(core, peer, signature),
            Next::Expel(peer, why) => {
                self.expel(core, peer, why);
                self.fail(core)
            }
            Next::Fail => self.fail(core),
            Next::Leave(reason) => {
                self.say_bye(core);
                self.comes_to_nothing(reason)
            }
            // Its player is back in the match without another word.
            Next::GoesOn => {
                self.broadcast(core, &Control::Refused(JoinRefused::GoesOn));
                Step::SearchOn(EndReason::Refused(JoinRefused::GoesOn))
            }
            Next::Yield(host) => Step::Gather(host),
        }
    }

    pub(super) fn into_context(self) -> Option<RejoinContext> {
        self.base.into_context()
    }

    pub(super) fn executed(&self) -> Option<(u32, Checksum)> {
        self.base.executed()
    }

    fn comes_to_nothing(&self, why: EndReason) -> Step {
        match self.base.searches_on() {
            true => Step::SearchOn(why),
            false => Step::End(why),
        }
    }

    fn enter(&mut self, core: &mut Core, request: Request) {
        let (link, peer) = (request.link, request.peer);
        // It may have waited, and its link may be gone.
        if !core.links.contains_key(&link) {
            return;
        }
        let entry = match self.base.may_ask(core, &request) {
            Err(why) => return core.refuse(link, why),
            Ok(entry) => entry,
        };
        // The key proves the rest where it is in already.
        let is_known = self.askers.is_welcome(peer) || self.room.guest(peer).is_some();
        if entry == Entry::Asked && !is_known {
            return self.ask(core, request);
        }
        self.forget_unheard(core, &request);
        if peer == core.id() {
            return core.refuse(link, JoinRefused::AlreadyIn);
        }
        if self.room.guest(peer).is_some() {
            if let Some(before) = self.duplicates.arrive(core.now, request) {
                core.refuse(before, JoinRefused::AlreadyIn);
            }
            if self.customs.acts_at_once() {
                self.judge_duplicates(core);
            }
            return;
        }
        let standing = standing(&mut self.room, self.attempt, &self.stage);
        match self.base.admit(core, standing, request) {
            Err(why) => core.refuse(link, why),
            Ok((occupant, welcome)) => {
                core.admit(link);
                self.room.enter(link, occupant);
                self.pings.ask_now();
                if let Some(welcome) = welcome {
                    core.send(link, &welcome);
                }
                self.note_change(core);
            }
        }
    }

    /// Asks the host's player to let a peer in.
    fn ask(&mut self, core: &mut Core, request: Request) {
        let (link, seats) = (request.link, self.customs.terms.seats);
        if self.room.free_seats(seats).is_empty() {
            return core.refuse(link, JoinRefused::Full { seats });
        }
        let address = core.links[&link].address.clone();
        core.send(link, &Control::Asked);
        if let Some(gone) = self.askers.arrive(request, &address) {
            core.refuse(gone, JoinRefused::TurnedAway);
        }
        self.show_askers(core);
    }

    fn forget_asker(&mut self, core: &mut Core, link: LinkId) {
        if self.askers.forget(link) {
            self.show_askers(core);
        }
    }

    fn show_askers(&self, core: &mut Core) {
        core.event(Event::Askers(self.askers.shown(core)));
    }

    /// The same run asks by another link: the one before broke at its end.
    fn forget_unheard(&mut self, core: &mut Core, request: &Request) {
        let unheard = self.room.guest(request.peer).filter(|(guest, link)| {
            let same_run = guest.incarnation == request.incarnation && *link != request.link;
            self.customs.same_run_enters_again && same_run && !guest.ready
        });
        if let Some((_, link)) = unheard {
            self.room.leave(request.peer);
            core.close(link);
            self.note_change(core);
        }
    }

    /// Admits a request once no guest with its key is heard, and refuses a request that has waited too long for that.
    fn judge_duplicates(&mut self, core: &mut Core) {
        let room = &self.room;
        let due = self
            .duplicates
            .due(core.now, |peer| silence(core, room, peer));
        for (request, verdict) in due {
            if verdict == Verdict::Refused {
                core.refuse(request.link, JoinRefused::AlreadyIn);
                continue;
            }
            if let Some((_, link)) = self.room.guest(request.peer) {
                core.refuse(link, JoinRefused::AlreadyIn);
                // With its seat free, nothing is settled by that.
                let _ = self.lost(core, request.peer);
            }
            self.enter(core, request);
        }
    }

    fn close_strangers(&self, core: &mut Core) {
        let links = core.links.values().map(|link| (link.id, link.up_at));
        let within = self.base.asks_within(&core.limits);
        for link in self.room.strangers(links, core.now, within) {
            if !self.waits_on(link) {
                core.close(link);
            }
        }
    }

    /// Whether a request on this link waits for its answer.
    fn waits_on(&self, link: LinkId) -> bool {
        self.duplicates.waits_on(link) || self.askers.waits_on(link)
    }

    /// When the next stranger has had its time to ask for a place.
    fn strangers_deadline(&self, core: &Core) -> Option<Duration> {
        let within = self.base.asks_within(&core.limits);
        let strangers = core
            .links
            .values()
            .filter(|link| self.room.guest_on(link.id).is_none() && !self.waits_on(link.id));
        strangers.map(|link| link.up_at + within).min()
    }

    /// A guest has gone.
    fn lost(&mut self, core: &mut Core, peer: PeerId) -> Step {
        let agrees = !matches!(self.stage, Stage::Gathering);
        self.room.leave(peer);
        match self.base.lost(core.now, peer, None, agrees) {
            true => self.fail(core),
            false => self.changed(core),
        }
    }

    fn expel(&mut self, core: &mut Core, peer: PeerId, why: JoinRefused) {
        let link = self.room.leave(peer);
        self.base.lost(core.now, peer, Some(&why), true);
        if let Some(link) = link {
            if let JoinRefused::Fault(fault) = why {
                core.event(Event::PeerFault { peer, fault });
            }
            core.refuse(link, why);
            self.room.change();
        }
    }

    /// The attempt comes to nothing.
    fn fail(&mut self, core: &mut Core) -> Step {
        let standing = standing(&mut self.room, self.attempt, &self.stage);
        if let Some(message) = self.base.fail(core, standing) {
            self.broadcast(core, &message);
        }
        self.attempt += 1;
        self.stage = Stage::Gathering;
        self.changed(core)
    }

    fn changed(&mut self, core: &mut Core) -> Step {
        self.note_change(core);
        match self.customs.acts_at_once() {
            true => self.settle(core),
            false => Step::Stay,
        }
    }

    fn note_change(&mut self, core: &mut Core) {
        self.room.change();
        if self.customs.acts_at_once() {
            self.announce(core);
        }
    }

    fn settle(&mut self, core: &mut Core) -> Step {
        if !matches!(self.stage, Stage::Gathering) {
            return Step::Stay;
        }
        let standing = standing(&mut self.room, self.attempt, &self.stage);
        let next = self.base.settle(core, standing);
        self.follow(core, None, next)
    }

    fn signed(&mut self, core: &mut Core, peer: PeerId, signature: [u8; 64]) -> Step {
        let Stage::Signing { signatures, .. } = &mut self.stage else {
            return Step::Stay;
        };
        let Some(place) = signatures.place_of(peer) else {
            return Step::Stay;
        };
        if !signatures.add(place, signature, core.signer.verifier()) {
            self.expel(core, peer, JoinRefused::Fault(Fault::Signature));
            return self.fail(core);
        }
        self.agree()
    }

    /// Ends the lobby once all participants have signed.
    fn agree(&mut self) -> Step {
        match std::mem::replace(&mut self.stage, Stage::Gathering) {
            Stage::Signing { signatures, .. } if signatures.fulfils(Rule::All) => {
                Step::Agreed(signatures)
            }
            stage => {
                self.stage = stage;
                Step::Stay
            }
        }
    }

    /// All participants have signed: tells them so.
    pub(super) fn close(mut self, core: &mut Core, signatures: &SignatureSet) -> Step {
        let standing = standing(&mut self.room, self.attempt, &Stage::Gathering);
        let agreed = match self.base.agreed(core, standing, signatures) {
            Ok(agreed) => agreed,
            Err(reason) => {
                say_bye(core, &self.room, &self.askers);
                return Step::End(reason);
            }
        };
        for link in self.askers.links() {
            core.refuse(link, JoinRefused::Started);
        }
        let late = agreed.late.iter().filter_map(|peer| self.room.leave(*peer));
        for link in late.chain(self.duplicates.dismiss()) {
            core.refuse(link, JoinRefused::GoesOn);
        }
        if let Some(message) = agreed.message {
            broadcast(core, &self.room, &message);
        }
        if agreed.one_link_each {
            for (guest, link) in self.room.guests() {
                let others = core.links_to(guest.peer).map(|link| link.id);
                let others: Vec<LinkId> = others.filter(|other| *other != link).collect();
                others.into_iter().for_each(|link| core.close(link));
            }
        }
        agreed.step
    }

    fn pings_now(&self) -> bool {
        self.customs.pings_while_agreeing || matches!(self.stage, Stage::Gathering)
    }

    /// The guest at the other end of a link says something.
    fn chats(&mut self, core: &mut Core, link: LinkId, guest: PeerId, said: Control) {
        let most = core.limits.chats_per_10_s as usize;
        if !self.room.takes_chat(guest, core.now, most) {
            return;
        }
        match chat::heard(core, self.customs.chats, &said) {
            Ok((from, text)) if from == guest => self.pass_on(core, &said, from, text),
            Ok(_) => core.fault(link, Fault::OutOfPlace),
            Err(fault) => core.fault(link, fault),
        }
    }

    /// Says to all what a peer of the lobby says.
    fn pass_on(&self, core: &mut Core, said: &Control, from: PeerId, text: String) {
        self.broadcast(core, said);
        core.event(Event::Chat {
            from: self.room.name_of(from).to_owned(),
            seat: None,
            text,
        });
    }

    fn announce(&mut self, core: &mut Core) {
        let entries = self.room.announcement(core.now);
        self.broadcast(core, &Control::Lobby(entries.clone()));
        core.event(Event::Lobby {
            peers: entries.into_iter().map(LobbyPeer::from).collect(),
            terms: self.customs.terms,
        });
    }

    /// To the guests, and to those that would be.
    fn say_bye(&self, core: &mut Core) {
        say_bye(core, &self.room, &self.askers);
    }

    fn broadcast(&self, core: &mut Core, message: &Control) {
        broadcast(core, &self.room, message);
    }
}

fn say_bye(core: &mut Core, room: &Room, askers: &Askers) {
    broadcast(core, room, &Control::Bye);
    for link in askers.links() {
        core.send(link, &Control::Bye);
    }
}

fn broadcast(core: &mut Core, room: &Room, message: &Control) {
    for (_, link) in room.guests() {
        core.send(link, message);
    }
}

fn standing<'a>(room: &'a mut Room, attempt: u32, stage: &Stage) -> Standing<'a> {
    Standing {
        room,
        attempt,
        gathers: matches!(stage, Stage::Gathering),
    }
}

/// How long nothing was heard of the guest with this key, where one is here.
fn silence(core: &Core, room: &Room, peer: PeerId) -> Option<Duration> {
    let (_, link) = room.guest(peer)?;
    let link = core.links.get(&link);
    Some(link.map_or(Duration::MAX, |link| core.now.saturating_sub(link.heard_at)))
}
