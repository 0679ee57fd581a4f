//! A guest of a new match: it dials the host, asks for seats, and agrees on the start.

use super::agreement::{Agreement, Broken, MOST_ATTEMPTS, Own};
use super::dialling::{Dialling, Reach};
use super::host_clock::HostClock;
use super::host_lost::{HostLost, Wait};
use super::seed::OwnShare;
use crate::limits::MAX_PEERS;
use crate::session::core::Core;
use crate::session::links::dialling::best_first;
use crate::session::links::link::Link;
use crate::session::lobby::guest::GuestBase;
use crate::session::lobby::rate_limiter::RateLimiter;
use crate::session::lobby::{Invitation, OwnPeer, Settled, chat, decline};
use crate::session::wire::{Control, LobbyEntry, LockedPeer, Offer};
use crate::session::{Output, RulesOf, Step};
use crate::{EndReason, Event, Fault, JoinRefused, LinkError, LinkId, LobbyPeer, PeerId};
use sim::Seat;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How long the host is asked for the place of an earlier run of this peer, until it takes that run for dead.
const PLACE_WITHIN: Duration = Duration::from_secs(3);
/// Round trips are told up to this length, in milliseconds.
pub(super) const MAX_RTT_MS: u16 = 3_000;
/// Once a lobby has lasted for longer, earlier ones that ended soon are forgotten: it may be open for a day, and links break.
const BRIEF: Duration = Duration::from_secs(60);
/// A host cannot put the beginning off for longer.
const BEGIN_WITHIN: Duration = Duration::from_secs(10);

pub(in crate::session::lobby) struct Newcomer {
    invitation: Invitation,
    rules: RulesOf,
    own: OwnPeer,
    dialling: Dialling,
    /// The link by which the host was asked, and then let this peer in.
    link: Option<LinkId>,
    /// Until then the host is to answer on it. Its player may take any time.
    answer_by: Option<Duration>,
    /// Until then it is asked for the place of an earlier run, which it told of.
    place_until: Option<Duration>,
    /// On the start, once the host has admitted this peer.
    agreement: Option<Agreement>,
    /// Attempts of agreements before: at which the roster was locked, and of lobbies that ended soon.
    locked: u32,
    brief: u32,
    /// Since when the host has let this peer in.
    in_since: Duration,
    seats: Vec<Seat>,
    /// The names in the lobby, as its host tells them.
    names: BTreeMap<PeerId, String>,
    /// What its player says in the lobby: the host takes no more.
    chats: RateLimiter,
    clock: HostClock,
    /// It has signed, and its link to the host is gone.
    host_lost: Option<HostLost>,
}

impl Newcomer {
    pub(in crate::session::lobby) fn new(
        core: &mut Core,
        own: OwnPeer,
        invitation: Invitation,
        rules: RulesOf,
    ) -> Self {
        let addresses = invitation.addresses.clone();
        let mut newcomer = Newcomer {
            dialling: Dialling::new(invitation.host, addresses, core.now),
            invitation,
            rules,
            own,
            link: None,
            answer_by: None,
            place_until: None,
            agreement: None,
            locked: 0,
            brief: 0,
            in_since: core.now,
            seats: Vec::new(),
            names: BTreeMap::new(),
            chats: RateLimiter::default(),
            clock: HostClock::default(),
            host_lost: None,
        };
        newcomer.dial(core);
        newcomer
    }

    /// Whether an attempt of this number is under way.
    fn attempts(&self, attempt: u32) -> bool {
        let agreement = self.agreement.as_ref();
        agreement.is_some_and(|agreement| agreement.attempt() == attempt)
    }

    fn dial(&mut self, core: &mut Core) {
        for address in self.dialling.dial(core.now) {
            core.out.push(Output::Dial {
                address: address.clone(),
                key: self.invitation.host,
            });
        }
    }

    /// The host is lost, or did not wait for this peer's share: this peer asks for seats as at first. The host may know the
    /// share, so this peer draws another one.
    fn begin_anew(&mut self, core: &mut Core) -> Step {
        if let Some(agreement) = self.agreement.take() {
            let lasted = core.now.saturating_sub(self.in_since);
            self.locked += agreement.locked();
            self.brief = match lasted < BRIEF {
                true => self.brief + agreement.attempts() - agreement.locked(),
                false => 0,
            };
            let (peers, terms) = (Vec::new(), *agreement.terms());
            core.event(Event::Lobby { peers, terms });
        }
        if self.locked + self.brief > MOST_ATTEMPTS {
            return Step::End(EndReason::LobbyClosed);
        }
        self.own.share = core.draw();
        let (host, addresses) = (self.invitation.host, self.invitation.addresses.clone());
        self.dialling = Dialling::new(host, addresses, core.now);
        (self.link, self.host_lost, core.trusted) = (None, None, None);
        (self.answer_by, self.place_until) = (None, None);
        self.clock = HostClock::default();
        self.seats.clear();
        self.names.clear();
        let to_host: Vec<LinkId> = core.links_to(host).map(|link| link.id).collect();
        to_host.into_iter().for_each(|link| core.close(link));
        Step::Stay
    }

    /// Dials the host until it has admitted this peer.
    fn reach(&mut self, core: &mut Core) -> Step {
        let linked = self.is_linked(core);
        if linked {
            self.dialling.linked();
        }
        match self.link {
            Some(link) if self.is_late(core.now) => core.close(link),
            None if !linked => match self.dialling.reach(core.now) {
                Reach::Wait => {}
                Reach::Dial => self.dial(core),
                Reach::GiveUp(failure) => return Step::End(EndReason::Unreachable(failure)),
            },
            _ => {}
        }
        Step::Stay
    }

    /// Whether the host had its time to answer.
    fn is_late(&self, now: Duration) -> bool {
        self.answer_by.is_some_and(|by| by <= now)
    }

    /// Whether a link to the host is up, which may not have proved its key yet.
    fn is_linked(&self, core: &Core) -> bool {
        let mut links = core.links.keys();
        self.link.is_some() || links.any(|link| self.leads_to_host(core, *link))
    }

    /// Whether this is a link that was dialled to reach the host.
    fn leads_to_host(&self, core: &Core, link: LinkId) -> bool {
        core.links
            .get(&link)
            .is_some_and(|link| self.is_to_host(link))
    }

    fn is_to_host(&self, link: &Link) -> bool {
        let host = self.invitation.host;
        let peer = link.proved.map(|(peer, _)| peer).or(link.expected);
        link.dialled && peer.is_none_or(|peer| peer == host)
    }

    /// Whether the guest with this peer's key may be an earlier run of it that has died, which the host finds out.
    fn may_replace(&mut self, core: &Core) -> bool {
        let until = self.place_until.get_or_insert(core.now + PLACE_WITHIN);
        self.agreement.is_none() && core.now < *until
    }

    fn welcome(&mut self, core: &mut Core, link: LinkId, offer: Offer, attempt: u32) -> Step {
        let terms = &offer.terms;
        let refusal = match (self.rules)(&offer.setup) {
            None => Some(JoinRefused::Setup),
            Some(rules) if rules != offer.rules => Some(JoinRefused::Rules),
            Some(_)
                if !terms.plan.is_valid(true)
                    || usize::from(terms.seats) > MAX_PEERS
                    || terms.turn_limit == Some(0)
                    || offer.setup.len() > core.limits.setup_bytes as usize =>
            {
                Some(JoinRefused::Setup)
            }
            Some(_) => None,
        };
        if let Some(why) = refusal {
            core.refuse(link, why.clone());
            return Step::End(EndReason::Refused(why));
        }
        let match_id = self.invitation.match_id;
        let own = Own {
            peer: core.id(),
            run: core.incarnation,
            share: OwnShare::new(match_id, core.id(), self.own.share),
            build: self.own.build.clone(),
        };
        self.in_since = core.now;
        let may_fail = MOST_ATTEMPTS - self.locked - self.brief;
        let attempt = (attempt, may_fail);
        self.agreement = Some(Agreement::new(match_id, own, offer, attempt));
        self.tell_ready(core);
        Step::Stay
    }

    fn show(&mut self, core: &mut Core, link: LinkId, entries: Vec<LobbyEntry>) {
        let Some(terms) = self.agreement.as_ref().map(|agreement| *agreement.terms()) else {
            return;
        };
        let named = entries.iter().flat_map(|entry| entry.seats.iter().copied());
        let mut named: Vec<Seat> = named.collect();
        let count = named.len();
        named.sort_unstable();
        named.dedup();
        let exist = named.last().is_none_or(|last| last.0 < terms.seats);
        if count != named.len() || !exist || entries.len() > usize::from(core.limits.peers) {
            return core.fault(link, Fault::OutOfPlace);
        }
        let own = core.id();
        if let Some(entry) = entries.iter().find(|entry| entry.peer == own) {
            self.seats = entry.seats.clone();
        }
        let peers = entries.into_iter();
        let peers = peers.map(|entry| LobbyPeer::from(entry.tidied()));
        let peers: Vec<LobbyPeer> = peers.collect();
        let names = peers.iter().map(|peer| (peer.peer, peer.name.clone()));
        self.names = names.collect();
        core.event(Event::Lobby { peers, terms });
    }

    /// The host passes on what a peer of the lobby says.
    fn hear(&self, core: &mut Core, link: LinkId, said: &Control) {
        let heard = chat::heard(core, Some(self.invitation.match_id), said);
        let named = heard.and_then(|(from, text)| match self.names.get(&from) {
            Some(name) => Ok((name.clone(), text)),
            None => Err(Fault::OutOfPlace),
        });
        match named {
            Ok((from, text)) => core.event(Event::Chat {
                from,
                seat: None,
                text,
            }),
            Err(fault) => core.fault(link, fault),
        }
    }

    fn tell_ready(&self, core: &mut Core) {
        let agreement = self.agreement.as_ref().filter(|_| self.own.ready);
        let commit = agreement.map(Agreement::commitment);
        if let Some(link) = self.link {
            core.send(link, &Control::Ready { commit });
        }
    }

    /// The roster is locked: this peer links with the others, and then reveals its share.
    fn lock(
        &mut self,
        core: &mut Core,
        link: LinkId,
        attempt: u32,
        roster: Vec<LockedPeer>,
    ) -> Step {
        let most = usize::from(core.limits.peers);
        let Some(agreement) = &mut self.agreement else {
            return Step::Stay;
        };
        let index = match agreement.lock(core.now, attempt, roster, most) {
            Ok(index) => index,
            Err(broken) => return give_up(core, link, broken),
        };
        self.clock.improve();
        let roster = agreement.roster();
        self.seats = roster[index].seats.clone();
        // The later peer dials the earlier one.
        let host = self.invitation.host;
        let earlier = roster[..index].iter().filter(|peer| peer.peer != host);
        for peer in earlier {
            if core.links_to(peer.peer).next().is_none() {
                for address in peer.addresses.iter().take(2) {
                    core.out.push(Output::Dial {
                        address: address.clone(),
                        key: peer.peer,
                    });
                }
            }
        }
        self.reveal_if_ready(core);
        Step::Stay
    }

    /// Reveals this peer's share once its links to all others are measured, which an adaptive plan is to begin with.
    fn reveal_if_ready(&mut self, core: &mut Core) {
        let (Some(agreement), Some(link)) = (&mut self.agreement, self.link) else {
            return;
        };
        if !agreement.keeps_share() {
            return;
        }
        let took = agreement.others().map(|peer| core.round_trip_to(peer));
        let longest: Option<Vec<Duration>> = took.collect();
        let longest = longest.and_then(|took| took.into_iter().max());
        if let Some(share) = agreement.reveal(core.now, longest.is_some()) {
            let reveal = Control::Reveal {
                attempt: agreement.attempt(),
                share,
                rtt_ms: longest.map(|took| took.as_millis().min(MAX_RTT_MS.into()) as u16),
            };
            core.send(link, &reveal);
        }
    }

    /// Measures the links to these peers that are not measured yet.
    fn measure(core: &mut Core, peers: impl Iterator<Item = PeerId>) {
        let unknown = peers.filter(|peer| core.round_trip_to(*peer).is_none());
        let links = unknown.flat_map(|peer| core.links_to(peer).map(|link| link.id));
        let links: Vec<LinkId> = links.collect();
        links.into_iter().for_each(|link| core.probe(link));
    }

    fn sign_if_ready(&mut self, core: &mut Core) {
        let Some(agreement) = &mut self.agreement else {
            return;
        };
        let is_linked = |peer| core.links_to(peer).next().is_some();
        let signature = agreement.sign(core.now, is_linked, core.signer.as_ref());
        if let (Some(signature), Some(link)) = (signature, self.link) {
            let message = Control::Loaded {
                attempt: agreement.attempt(),
                signature: signature.into(),
                rtt_ms: self.clock.rtt().as_millis().min(MAX_RTT_MS.into()) as u16,
            };
            core.send(link, &message);
        }
    }

    /// All peers have signed: it begins then, on the host's clock.
    fn go(&self, core: &mut Core, link: LinkId, signatures: Vec<[u8; 64]>, begin_ms: u64) -> Step {
        let Some(agreement) = &self.agreement else {
            return Step::End(EndReason::LobbyClosed);
        };
        let start = match agreement.signed(signatures, core.signer.as_ref()) {
            Ok(start) => start,
            Err(Broken::Order) => return Step::End(EndReason::LobbyClosed),
            Err(broken) => return give_up(core, link, broken),
        };
        let (host, own) = (self.invitation.host, core.id());
        let addresses = agreement.roster().iter().map(|peer| match peer.peer {
            of if of == host => self.invitation.addresses.clone(),
            // The host has put its view of this peer's address first: no port to listen at again.
            of if of == own => self.own.addresses.clone(),
            _ => peer.addresses.clone().into(),
        });
        // A host cannot put the beginning off, nor into the past.
        let begin = self.clock.here(begin_ms);
        let begin = begin.clamp(core.now, core.now + BEGIN_WITHIN);
        Step::Begin(Box::new(Settled {
            start,
            addresses: addresses.collect(),
            begin,
        }))
    }

    /// Another peer of the roster shows that all have signed: the host may have been lost while it told them. Its clock
    /// says nothing here, and the others wait: this peer begins at once.
    fn accept_start_proof(&self, core: &mut Core, link: LinkId, signatures: Vec<[u8; 64]>) -> Step {
        let signed = self.agreement.as_ref();
        let Some(agreement) = signed.filter(|agreement| agreement.has_signed()) else {
            return Step::Stay;
        };
        let proved = core.links.get(&link).and_then(|link| link.proved);
        let mut roster = agreement.roster().iter();
        let one_of_them = roster.any(|peer| Some((peer.peer, peer.incarnation)) == proved);
        let signer = core.signer.as_ref();
        if !one_of_them || agreement.signed(signatures.clone(), signer).is_err() {
            core.fault(link, Fault::Signature);
            return Step::Stay;
        }
        self.go(core, link, signatures, 0)
    }

    /// Dials all others while the host is lost: a peer that has begun shows, once a link is up, that all have signed.
    fn seek_start_proof(&mut self, core: &mut Core) -> Step {
        let (Some(lost), Some(agreement)) = (&mut self.host_lost, &self.agreement) else {
            return Step::Stay;
        };
        let number = match lost.advance(core.now) {
            Wait::Stay => return Step::Stay,
            Wait::GiveUp => return self.begin_anew(core),
            Wait::Dial(number) => number,
        };
        let own = core.id();
        for peer in agreement.roster().iter().filter(|peer| peer.peer != own) {
            let addresses = match peer.peer == self.invitation.host {
                true => &self.invitation.addresses,
                false => &*peer.addresses,
            };
            if core.links_to(peer.peer).next().is_none() && !addresses.is_empty() {
                core.out.push(Output::Dial {
                    address: addresses[number % addresses.len()].clone(),
                    key: peer.peer,
                });
            }
        }
        Step::Stay
    }
}

/// The host has not kept to the agreement: this peer leaves it.
fn give_up(core: &mut Core, link: LinkId, broken: Broken) -> Step {
    let fault = match broken {
        Broken::Order => Fault::OutOfPlace,
        Broken::Shares => Fault::Reveal,
        Broken::Signature => Fault::Signature,
    };
    core.fault(link, fault);
    Step::End(EndReason::LobbyClosed)
}

impl GuestBase for Newcomer {
    fn link(&self) -> Option<LinkId> {
        self.link
    }

    fn member_addresses(&self) -> Vec<String> {
        let roster = self.agreement.as_ref().map(Agreement::roster);
        let roster = roster.unwrap_or_default().iter();
        best_first(roster.map(|peer| &*peer.addresses))
    }

    fn own_seats(&self) -> &[Seat] {
        &self.seats
    }

    fn is_loading(&self) -> bool {
        self.agreement.as_ref().is_some_and(Agreement::is_loading)
    }

    fn protocol_refusal(&self, core: &Core, link: LinkId, host: u16) -> Option<JoinRefused> {
        let asks = self.agreement.is_none() && self.leads_to_host(core, link);
        asks.then_some(JoinRefused::Protocol {
            host,
            ours: crate::PROTOCOL,
        })
    }

    fn dial_failed(&mut self, address: &str, key: PeerId, why: LinkError) {
        self.dialling.failed(address, key, why);
    }

    fn proved(&mut self, core: &mut Core, link: LinkId) {
        let peer = core.links[&link].proved.map(|(peer, _)| peer);
        if peer != Some(self.invitation.host) || self.host_lost.is_some() {
            // A guest that is to be measured.
            return core.probe(link);
        }
        if self.link.is_some() {
            return core.close(link);
        }
        self.link = Some(link);
        core.trusted = Some(link);
        self.answer_by = Some(core.now + core.limits.handshake);
        let join = Control::Join {
            match_id: self.invitation.match_id,
            secret: self.invitation.secret,
            name: self.own.name.clone(),
            build: self.own.build.clone(),
            own_seats: self.own.seats,
            addresses: self.own.addresses.clone().into(),
        };
        core.send(link, &join);
    }

    fn link_down(&mut self, core: &mut Core, gone: &Link, why: LinkError) -> Step {
        let own = self.link == Some(gone.id);
        if self.agreement.is_some() {
            if !own {
                return Step::Stay;
            }
            // The host may have told some that the match begins, and may have begun itself.
            if !self.agreement.as_ref().is_some_and(Agreement::has_signed) {
                return self.begin_anew(core);
            }
            self.link = None;
            self.host_lost = Some(HostLost::new(core.now));
            return Step::Stay;
        }
        if own || self.is_to_host(gone) {
            // The peer at its end was silent for too long, before or after the proof.
            let late = match own {
                true => self.is_late(core.now),
                false => gone.proved.is_none() && gone.up_at + core.limits.handshake <= core.now,
            };
            let why = if late { LinkError::TimedOut } else { why };
            self.dialling.lost(core.now, why);
            if own && self.answer_by.is_none() {
                // The host's player may not have answered for longer than a link takes to come up.
                self.dialling.asked(core.now);
            }
            self.link = self.link.filter(|_| !own);
        }
        Step::Stay
    }

    fn refused(&mut self, core: &mut Core, link: LinkId, why: JoinRefused) -> Step {
        if why == JoinRefused::AlreadyIn && self.may_replace(core) {
            core.close(link);
            return Step::Stay;
        }
        // Its share came too late, as over a bad link. A host that has enough of that says so again.
        let agreement = self.agreement.as_ref();
        if why == JoinRefused::TooSlow && agreement.is_some_and(|of| !of.is_loading()) {
            return self.begin_anew(core);
        }
        Step::End(EndReason::Refused(why))
    }

    fn host_left(&mut self, _: &mut Core) -> Step {
        Step::End(EndReason::LobbyClosed)
    }

    fn received(&mut self, core: &mut Core, link: LinkId, message: Control) -> Step {
        match message {
            Control::Welcome { offer, attempt } if self.agreement.is_none() => {
                return self.welcome(core, link, offer, attempt);
            }
            Control::Asked if self.agreement.is_none() => {
                self.answer_by = None;
                self.dialling.asked(core.now);
                core.event(Event::Asked);
            }
            Control::Lobby(entries) if self.agreement.is_some() => self.show(core, link, entries),
            Control::Chat { .. } => self.hear(core, link, &message),
            Control::Lock { attempt, roster } if self.agreement.is_some() => {
                return self.lock(core, link, attempt, roster);
            }
            Control::Unlock { attempt } if self.attempts(attempt) => {
                let next = self.agreement.as_mut().map(Agreement::begin_anew);
                if next != Some(true) {
                    return Step::End(EndReason::LobbyClosed);
                }
                self.tell_ready(core);
            }
            Control::Shares {
                attempt,
                plan,
                shares,
            } if self.attempts(attempt) => {
                let start = self
                    .agreement
                    .as_mut()
                    .map(|agreement| agreement.shares(plan, &shares));
                match start {
                    Some(Ok(start)) => core.out.push(Output::New {
                        start: Arc::new(start.clone()),
                        retracted: None,
                    }),
                    Some(Err(Broken::Order)) | None => {
                        return Step::End(EndReason::LobbyClosed);
                    }
                    Some(Err(broken)) => return give_up(core, link, broken),
                }
            }
            Control::Go {
                attempt,
                signatures,
                begin_ms,
            } if self.attempts(attempt) => {
                let signatures = signatures.into_iter().map(Into::into).collect();
                return self.go(core, link, signatures, begin_ms);
            }
            // Of an agreement that this peer has left: the match has begun without it.
            Control::Go { .. } if self.agreement.is_none() => {}
            message if is_of_a_match(&message) => {}
            _ => core.fault(link, Fault::OutOfPlace),
        }
        Step::Stay
    }

    fn received_elsewhere(&mut self, core: &mut Core, link: LinkId, message: Control) -> Step {
        match message {
            Control::Refused(why) if self.link.is_none() && self.leads_to_host(core, link) => {
                return Step::End(EndReason::Refused(why));
            }
            Control::Go { signatures, .. } => {
                let signatures = signatures.into_iter().map(Into::into).collect();
                return self.accept_start_proof(core, link, signatures);
            }
            message if is_of_a_match(&message) => {}
            _ => core.fault(link, Fault::OutOfPlace),
        }
        Step::Stay
    }

    fn bulk(&mut self, core: &mut Core, link: LinkId, bytes: &[u8]) -> Step {
        if !decline(core, link, self.invitation.match_id, bytes) {
            core.fault(link, Fault::OutOfPlace);
        }
        Step::Stay
    }

    fn probe_answered(&mut self, core: &Core, link: LinkId, sent: Duration, clock_us: u64) {
        if self.link == Some(link) {
            self.clock.answered(core.now, sent, clock_us);
        }
    }

    fn set_ready(&mut self, core: &mut Core, ready: bool) {
        self.own.ready = ready;
        if self.agreement.as_ref().is_some_and(Agreement::is_gathering) {
            self.tell_ready(core);
        }
    }

    fn loaded(&mut self, core: &mut Core) {
        if let Some(agreement) = &mut self.agreement {
            agreement.loaded();
        }
        self.sign_if_ready(core);
    }

    fn chat(&mut self, core: &mut Core, text: &str) {
        let most = core.limits.chats_per_10_s as usize;
        if let Some(link) = self.link
            && self.agreement.is_some()
            && self.chats.takes(core.now, most)
        {
            let said = chat::say(core, self.invitation.match_id, text);
            core.send(link, &said);
        }
    }

    fn advance(&mut self, core: &mut Core) -> Step {
        if let end @ Step::End(_) = self.seek_start_proof(core) {
            return end;
        }
        if self.agreement.is_none()
            && let end @ Step::End(_) = self.reach(core)
        {
            return end;
        }
        if let Some(link) = self.link
            && let Some(agreement) = &self.agreement
            && self.clock.probes(core.now)
        {
            core.probe(link);
            let keeps_share = agreement.keeps_share();
            Self::measure(core, agreement.others().filter(|_| keeps_share));
        }
        self.reveal_if_ready(core);
        self.sign_if_ready(core);
        Step::Stay
    }

    fn deadline(&self, core: &Core) -> Option<Duration> {
        let is_in = self.agreement.is_some();
        let answer = match (self.link, self.is_linked(core)) {
            (Some(_), _) => self.answer_by,
            // The link has its time to prove its key.
            (None, true) => None,
            (None, false) => Some(self.dialling.deadline()),
        };
        let answer = answer.filter(|_| !is_in);
        let probe = (self.link.is_some() && is_in).then_some(self.clock.deadline());
        let mesh = self.agreement.as_ref().and_then(Agreement::deadline);
        let host_lost = self.host_lost.as_ref().map(HostLost::deadline);
        [answer, probe, mesh, host_lost].into_iter().flatten().min()
    }
}

/// Whether a message is said in a match: others may be in it already, and lack this peer.
fn is_of_a_match(message: &Control) -> bool {
    matches!(
        message,
        Control::Roster(_)
            | Control::Decided(_)
            | Control::Words(_)
            | Control::Evidence(_)
            | Control::Rejoin { .. }
            | Control::End { .. }
            | Control::Bye
    )
}
