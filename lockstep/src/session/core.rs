//! What lobby and match share: links and the peers at their ends, signatures, randomness, outputs.

use super::Output;
use super::links::link::{Link, Quality};
use super::timers::{Timer, Timers};
use super::wire::{Control, Datagram};
use crate::doorway::{Arrival, Bounds, Crowd, Doorway};
use crate::log::{Chain, Document, Kind};
use crate::sign::Signer;
use crate::{
    Channel, Contact, Event, Fault, Incarnation, JoinRefused, Limits, LinkError, LinkId, PeerId,
};
use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) struct Core {
    pub now: Duration,
    pub limits: Limits,
    pub signer: Box<dyn Signer>,
    pub incarnation: Incarnation,
    pub links: BTreeMap<LinkId, Link>,
    pub out: Vec<Output>,
    /// Links closed from here that the phase has not been told of, and why.
    pub closed: Vec<(Link, LinkError)>,
    /// A link on which any number of messages is taken, until the match begins: the lobby's host could end the lobby anyway.
    pub trusted: Option<LinkId>,
    /// Keys of the peers of the match, once it has begun: strangers use up nothing that these need.
    pub keys: Vec<PeerId>,
    /// Faults by peer. A peer above its limit gets no link any more.
    faults: BTreeMap<PeerId, u32>,
    entropy: [u8; 32],
    drawn: u32,
    /// How often a lobby has had the store keep something.
    kept: u64,
}

/// Peers whose faults are counted.
const PEERS_REMEMBERED: usize = 1_024;
/// Unproved links that lead to one peer of the match, as the transport knows.
const LINKS_OF_ONE: usize = 4;
/// How long a peer that has dialled may take to prove its key: a correct one needs a few round trips.
const PROVES_WITHIN: Duration = Duration::from_secs(3);

/// What a link's introduction came to.
pub(crate) enum Introduced {
    /// Not finished yet, or the link was closed.
    No,
    /// The other end has just proved its key.
    Proved,
    /// The message was none of the introduction's.
    Other(Control),
    /// The other side speaks another protocol version.
    Protocol(u16),
}

impl Core {
    pub(crate) fn new(limits: Limits, signer: Box<dyn Signer>, entropy: [u8; 32]) -> Self {
        let mut core = Core {
            now: Duration::ZERO,
            limits,
            signer,
            incarnation: Incarnation([0; 16]),
            links: BTreeMap::new(),
            out: Vec::new(),
            closed: Vec::new(),
            trusted: None,
            keys: Vec::new(),
            faults: BTreeMap::new(),
            entropy,
            drawn: 0,
            kept: 0,
        };
        let drawn = core.draw();
        core.incarnation.0.copy_from_slice(&drawn[..16]);
        core
    }

    /// The number of the next [`Output::Sync`] before the match begins: no accept in a match has it.
    pub(crate) fn next_sync(&mut self) -> u64 {
        self.kept += 1;
        u64::MAX - self.kept
    }

    /// 32 fresh secret bytes.
    pub(crate) fn draw(&mut self) -> [u8; 32] {
        self.drawn += 1;
        let mut chain = Chain::new("lockstep session randomness 1");
        chain.bytes(&self.entropy);
        chain.number(self.drawn);
        chain.end_256()
    }

    /// Goes on as another run of its process: signatures of the run before are not about this one. Its links have
    /// proved the run before.
    pub(crate) fn begin_another_run(&mut self) {
        for link in self.links.keys().copied().collect::<Vec<_>>() {
            self.close(link);
        }
        let drawn = self.draw();
        self.incarnation.0.copy_from_slice(&drawn[..16]);
    }

    pub(crate) fn id(&self) -> PeerId {
        self.signer.id()
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.out.push(Output::Event(event));
    }

    /// Tells the game where the peers of the match can be dialled, this one first.
    pub(crate) fn tell_contacts(&mut self, mut contacts: Vec<Contact>) {
        let own = self.id();
        contacts.sort_by_key(|contact| contact.peer != own);
        self.event(Event::Contacts(contacts));
    }

    pub(crate) fn send(&mut self, link: LinkId, message: &Control) {
        let bytes = message.encode().into();
        self.out.push(Output::Send {
            link,
            channel: Channel::Control,
            bytes,
        });
    }

    pub(crate) fn send_bulk(&mut self, link: LinkId, bytes: Vec<u8>) {
        self.out.push(Output::Send {
            link,
            channel: Channel::Bulk,
            bytes: bytes.into(),
        });
    }

    pub(crate) fn send_datagram(&mut self, link: LinkId, datagram: &Datagram) -> usize {
        let bytes = datagram.encode();
        let length = bytes.len();
        self.out.push(Output::Send {
            link,
            channel: Channel::Turns,
            bytes: bytes.into(),
        });
        length
    }

    /// The links whose other end has proved to be `peer`.
    pub(crate) fn links_to(&self, peer: PeerId) -> impl Iterator<Item = &Link> {
        self.links
            .values()
            .filter(move |link| link.proved.is_some_and(|(id, _)| id == peer))
    }

    /// The round trip to a peer, as probes of its links tell. `None` where none has come back.
    pub(crate) fn round_trip_to(&self, peer: PeerId) -> Option<Duration> {
        self.links_to(peer).filter_map(|link| link.probed).min()
    }

    /// Asks the peer at the other end how long a round trip takes.
    pub(crate) fn probe(&mut self, link: LinkId) {
        let sent_us = self.now.as_micros() as u64;
        self.send_datagram(link, &Datagram::Probe { sent_us });
    }

    /// Forgets the link and has it closed.
    pub(crate) fn close(&mut self, link: LinkId) {
        self.close_for(link, LinkError::Violation);
    }

    /// As [`close`](Self::close), for this reason.
    pub(crate) fn close_for(&mut self, link: LinkId, why: LinkError) {
        if let Some(closed) = self.links.remove(&link) {
            self.out.push(Output::Close { link });
            self.closed.push((closed, why));
        }
    }

    pub(crate) fn refuse(&mut self, link: LinkId, why: JoinRefused) {
        self.send(link, &Control::Refused(why));
        self.close(link);
    }

    /// The other end is there.
    pub(crate) fn hears(&mut self, link: LinkId) {
        if let Some(link) = self.links.get_mut(&link) {
            link.heard_at = self.now;
        }
    }

    /// Blames the peer at the other end; closes the link where no peer is proved.
    pub(crate) fn fault(&mut self, link: LinkId, fault: Fault) {
        let Some(at) = self.links.get(&link) else {
            return;
        };
        let Some((peer, _)) = at.proved else {
            return self.close(link);
        };
        self.blame(peer, fault);
    }

    /// A peer has broken a rule, on any of its links or through another peer. Names it; closes its links once it has too
    /// many faults, the last of which is told.
    pub(crate) fn blame(&mut self, peer: PeerId, fault: Fault) {
        if self.faults.len() == PEERS_REMEMBERED && !self.faults.contains_key(&peer) {
            // A stranger has ever new keys; strangers with the fewest faults are forgotten.
            let strangers = self.faults.iter();
            let strangers = strangers.filter(|(peer, _)| !self.keys.contains(peer));
            let least = strangers.min_by_key(|(_, faults)| **faults);
            if let Some(least) = least.map(|(peer, _)| *peer) {
                self.faults.remove(&least);
            }
        }
        let was_told = self.has_too_many_faults(peer);
        *self.faults.entry(peer).or_default() += 1;
        if !was_told {
            self.event(Event::PeerFault { peer, fault });
        }
        if self.has_too_many_faults(peer) {
            let links: Vec<LinkId> = self.links_to(peer).map(|link| link.id).collect();
            links.into_iter().for_each(|link| self.close(link));
        }
    }

    /// A signature on this link does not hold. The other end may be in another epoch and know another run of the signer. More
    /// than a few such signatures are a fault.
    pub(crate) fn strange(&mut self, id: LinkId) {
        let link = self.links.get_mut(&id);
        if link.is_some_and(|link| !link.takes_strange()) {
            self.fault(id, Fault::Signature);
        }
    }

    fn has_too_many_faults(&self, peer: PeerId) -> bool {
        self.faults
            .get(&peer)
            .is_some_and(|faults| *faults > self.limits.faults_per_peer)
    }

    pub(crate) fn link_up(
        &mut self,
        id: LinkId,
        expected: Option<PeerId>,
        dialled: bool,
        address: String,
        binding: [u8; 32],
    ) {
        if !dialled && !self.makes_room(id, expected, &address) {
            self.out.push(Output::Close { link: id });
            return;
        }
        let own_nonce = self.draw();
        let link = Link {
            id,
            expected,
            dialled,
            address,
            binding,
            own_nonce,
            their_nonce: None,
            proved: None,
            place: None,
            up_at: self.now,
            heard_at: self.now,
            asked: false,
            admitted: false,
            plays_branch: false,
            messages: 0,
            strange: 0,
            epoch: None,
            board: Default::default(),
            probed: None,
            quality: Quality::new(self.now),
        };
        self.links.insert(id, link);
        self.send(
            id,
            &Control::Hello {
                protocol: crate::PROTOCOL,
                nonce: own_nonce,
            },
        );
    }

    /// The link leads to a guest of this peer's lobby from now on.
    pub(crate) fn admit(&mut self, link: LinkId) {
        if let Some(link) = self.links.get_mut(&link) {
            link.admitted = true;
        }
    }

    /// Whether the other side dialled this link, and has not shown yet that it belongs here.
    fn is_strangers(&self, link: &Link) -> bool {
        let is_peer = link
            .proved
            .is_some_and(|(peer, _)| self.keys.contains(&peer));
        !link.dialled && !link.admitted && !is_peer
    }

    /// Whether there is room for one more stranger. Where there are as many as may be, the oldest link of the largest
    /// crowd goes: a crowd keeps no other peer out. A key of the match, where the transport tells it, has room of its
    /// own.
    fn makes_room(&mut self, new: LinkId, expected: Option<PeerId>, address: &str) -> bool {
        let of_the_match = |key: Option<PeerId>| key.filter(|key| self.keys.contains(key));
        let key = of_the_match(expected);
        let alike = self.links.values().filter(|link| {
            let unproved = key.is_none() || link.proved.is_none();
            unproved && self.is_strangers(link) && of_the_match(link.expected) == key
        });
        let (all, each) = match key {
            Some(_) => (LINKS_OF_ONE, LINKS_OF_ONE),
            None => {
                let all = self.limits.unproved_links as usize;
                (all, all.div_ceil(8))
            }
        };
        let bounds = Bounds {
            all,
            each,
            kept: 0,
            stay: Duration::ZERO,
        };
        let mut alike: Vec<&Link> = alike.collect();
        alike.sort_by_key(|link| (link.up_at, link.id));
        let waiting = alike.iter();
        let waiting = waiting.map(|link| (link.id, Crowd::of(&link.address), link.up_at));
        let mut doorway = Doorway::with(bounds, waiting);
        match doorway.arrive(self.now, new, Crowd::of(address)) {
            Arrival::Waits => true,
            Arrival::Displaces(link) => {
                self.close(link);
                true
            }
            Arrival::TurnedAway => false,
        }
    }

    /// Handles a control message up to the point where the other end is known.
    pub(crate) fn introduce(&mut self, id: LinkId, bytes: &[u8]) -> Introduced {
        let Some(link) = self.links.get_mut(&id) else {
            return Introduced::No;
        };
        link.heard_at = self.now;
        if self.trusted != Some(id) && !link.takes_message(self.now) {
            self.fault(id, Fault::Flood);
            return Introduced::No;
        }
        let Ok(message) = Control::decode(bytes, &self.limits) else {
            self.fault(id, Fault::Garbage);
            return Introduced::No;
        };
        match message {
            Control::Hello { protocol, .. } if protocol != crate::PROTOCOL => {
                Introduced::Protocol(protocol)
            }
            Control::Hello { nonce, .. } if link.their_nonce.is_none() => {
                link.their_nonce = Some(nonce);
                let introduction = Introduction {
                    dialled: link.dialled,
                    binding: &link.binding,
                    own_nonce: &link.own_nonce,
                    their_nonce: &nonce,
                    run: self.incarnation,
                };
                let proof = Control::Proof {
                    peer: self.signer.id(),
                    incarnation: self.incarnation,
                    signature: introduction.sign(self.signer.as_ref()).into(),
                };
                self.send(id, &proof);
                Introduced::No
            }
            Control::Proof {
                peer,
                incarnation,
                signature,
            } if link.proved.is_none() => {
                let Some(their_nonce) = link.their_nonce else {
                    self.fault(id, Fault::OutOfPlace);
                    return Introduced::No;
                };
                let introduction = Introduction {
                    dialled: !link.dialled,
                    binding: &link.binding,
                    own_nonce: &their_nonce,
                    their_nonce: &link.own_nonce,
                    run: incarnation,
                };
                let signed = introduction.with(signature.into());
                let holds = signed.is_by(peer, self.signer.verifier());
                if !holds
                    || link.expected.is_some_and(|expected| expected != peer)
                    || peer == self.signer.id()
                {
                    self.fault(id, Fault::Signature);
                    return Introduced::No;
                }
                link.proved = Some((peer, incarnation));
                if self.has_too_many_faults(peer) {
                    self.close(id);
                    return Introduced::No;
                }
                Introduced::Proved
            }
            Control::Hello { .. } | Control::Proof { .. } => {
                self.fault(id, Fault::OutOfPlace);
                Introduced::No
            }
            // A lobby of another version refuses before it introduces itself.
            Control::Refused(_) => Introduced::Other(message),
            _ if link.proved.is_none() => {
                self.fault(id, Fault::OutOfPlace);
                Introduced::No
            }
            message => Introduced::Other(message),
        }
    }

    /// Closes links that have not proved a key in time.
    pub(crate) fn close_unproved(&mut self) {
        let links = self.links.values();
        let late = links.filter(|link| self.proves_by(link).is_some_and(|by| by <= self.now));
        let late: Vec<LinkId> = late.map(|link| link.id).collect();
        for link in late {
            self.close(link);
        }
    }

    pub(crate) fn timers(&self, timers: &mut Timers) {
        let due = self.links.values().filter_map(|link| self.proves_by(link));
        timers.set(Timer::Handshake, due);
    }

    /// When the other end of a link that has not proved a key has to have done so.
    fn proves_by(&self, link: &Link) -> Option<Duration> {
        let within = match link.dialled {
            true => self.limits.handshake,
            false => PROVES_WITHIN.min(self.limits.handshake),
        };
        link.proved.is_none().then_some(link.up_at + within)
    }
}

/// What a side signs to prove its key: its part in the dial, the channel, its own nonce and the other side's, and the
/// run of its process.
pub(super) struct Introduction<'a> {
    pub dialled: bool,
    pub binding: &'a [u8; 32],
    pub own_nonce: &'a [u8; 32],
    pub their_nonce: &'a [u8; 32],
    pub run: Incarnation,
}

impl Document for Introduction<'_> {
    const KIND: Kind = Kind::Introduction;

    fn put_content(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.dialled));
        out.extend_from_slice(self.binding);
        out.extend_from_slice(self.own_nonce);
        out.extend_from_slice(self.their_nonce);
        out.extend_from_slice(&self.run.0);
    }
}
