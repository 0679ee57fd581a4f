//! The side of who hosts: it gathers the others, settles where to go on, and has all sign that.

mod settle;

use super::book::Book;
use super::message::{Claim, Proposal, Said};
use crate::log::{RosterChange, start_hash};
use crate::session::Output;
use crate::session::catch_up::{Answer, Ask, Reopened, Returning, Whole, decode, encode};
use crate::session::core::Core;
use crate::session::lobby::Step;
use crate::session::roster::Peers;
use crate::session::wire::{Control, LobbyEntry};
use crate::{EndReason, Event, Fault, JoinRefused, LinkId, LobbyPeer, Rejoin, SeatInfo};
use sim::Seat;
use std::collections::BTreeMap;
use std::time::Duration;

/// Time between the last signature and the first turn, for the word to reach everybody and the worlds to be built.
const BEGIN_AFTER: Duration = Duration::from_millis(400);
/// Addresses of one peer, and the bytes of each.
const ADDRESSES: usize = 8;
const ADDRESS_BYTES: usize = 64;
/// What a page of the log counts, at least, of the bytes that the limits let one guest have.
const PAGE_COST: u64 = 32 << 10;

pub(crate) struct Host {
    known: Whole,
    wait_until: Duration,
    /// As recorded, or with what was fetched since, or up to the cut that is proposed.
    book: Book,
    own: Claim,
    guests: BTreeMap<u8, Guest>,
    attempt: u32,
    stage: Stage,
    /// Somebody came or went since it was last looked whether those who are here can go on.
    news: bool,
}

struct Guest {
    link: LinkId,
    incarnation: crate::Incarnation,
    claim: Claim,
    addresses: Vec<String>,
    /// Bytes of the log that it may still be given.
    allowance: u64,
}

enum Stage {
    Gathering,
    /// This guest has recorded more than this peer.
    Fetching {
        from: u8,
        until: Duration,
    },
    Proposed {
        proposal: Proposal,
        signatures: BTreeMap<u8, [u8; 64]>,
        until: Duration,
    },
}

impl Host {
    /// `wait`: how long those who are a quorum wait for the others.
    pub(crate) fn new(
        core: &Core,
        from: Rejoin,
        addresses: Vec<String>,
        rules: crate::session::RulesOf,
        wait: Duration,
    ) -> Result<Host, JoinRefused> {
        let book = Book::open(core, from.match_id, &from.log, &rules)?;
        if !book.roster().contains(book.me as u8) {
            return Err(JoinRefused::NotOfRoster);
        }
        Ok(Host {
            own: book.claim(),
            book,
            known: Whole {
                match_id: from.match_id,
                contacts: from.contacts,
                addresses,
                rules,
                own: from.log,
                keyframe: from.keyframe,
            },
            wait_until: core.now + wait,
            guests: BTreeMap::new(),
            attempt: 0,
            stage: Stage::Gathering,
            news: true,
        })
    }

    /// Where the others were, the match may go on.
    pub(crate) fn begin(&mut self, core: &mut Core) {
        for contact in &self.known.contacts {
            let others = contact.peer != core.id();
            for address in contact.addresses.iter().filter(|_| others) {
                core.out.push(Output::Dial {
                    address: address.clone(),
                    key: contact.peer,
                });
            }
        }
        self.announce(core);
    }

    /// Whoever this peer has dialled is asked whether it still plays.
    pub(crate) fn proved(&self, core: &mut Core, link: LinkId) {
        let dialled = core.links.get_mut(&link).filter(|link| link.dialled);
        if let Some(link) = dialled {
            let ask = Ask::Outline {
                match_id: self.known.match_id,
            };
            link.asked = true;
            let id = link.id;
            core.send_bulk(id, encode(&ask));
        }
    }

    pub(crate) fn own_seats(&self) -> &[Seat] {
        &self.book.start.roster[self.book.me].seats
    }

    pub(crate) fn deadline(&self, core: &Core) -> Option<Duration> {
        match &self.stage {
            Stage::Gathering if self.news => Some(core.now),
            Stage::Gathering => Some(self.wait_until.max(core.now)),
            Stage::Fetching { until, .. } | Stage::Proposed { until, .. } => Some(*until),
        }
    }

    pub(crate) fn leave(&self, core: &mut Core) -> Step {
        self.broadcast(core, &Control::Bye);
        Step::End(EndReason::Left)
    }

    pub(crate) fn link_down(&mut self, core: &mut Core, link: LinkId) {
        if let Some(peer) = self.guest_of(link) {
            self.lost(core, peer);
        }
    }

    pub(crate) fn received(&mut self, core: &mut Core, link: LinkId, message: Control) -> Step {
        let guest = self.guest_of(link);
        match (message, guest) {
            (Control::Reopen(Said::Come { claim, addresses }), None) => {
                self.come(core, link, claim, addresses);
            }
            (Control::Reopen(Said::Sign { attempt, signature }), Some(peer)) => {
                return self.signed(core, peer, attempt, signature.into());
            }
            (Control::Join { .. }, _) => core.refuse(link, JoinRefused::Reopening),
            (Control::Refused(_) | Control::Bye, Some(peer)) => {
                core.close(link);
                self.lost(core, peer);
            }
            // An earlier run that has not heard that it is out.
            (Control::Roster(_) | Control::Decided(_) | Control::Words(_), None) => {}
            _ => core.fault(link, Fault::OutOfPlace),
        }
        Step::Stay
    }

    pub(crate) fn bulk(&mut self, core: &mut Core, link: LinkId, bytes: &[u8]) -> Step {
        if let Ok(ask) = decode::<Ask>(bytes) {
            let answer = self.answer(link, &ask);
            core.send_bulk(link, encode(&answer));
            return Step::Stay;
        }
        let fetching = match &self.stage {
            Stage::Fetching { from, .. } => self.guests.get(from).map(|guest| guest.link),
            _ => None,
        };
        match decode::<Answer>(bytes) {
            // Only who plays has an outline to give.
            Ok(Answer::Outline { .. }) if core.links.get(&link).is_some_and(|link| link.asked) => {
                self.broadcast(core, &Control::Refused(JoinRefused::GoesOn));
                Step::End(EndReason::Refused(JoinRefused::GoesOn))
            }
            Ok(Answer::Log { from, records, .. })
                if fetching == Some(link) && from == self.book.turns() =>
            {
                self.fetched(core, from, &records)
            }
            Ok(_) => Step::Stay,
            Err(_) => {
                core.fault(link, Fault::Garbage);
                Step::Stay
            }
        }
    }

    /// Does what is due.
    pub(crate) fn advance(&mut self, core: &mut Core) -> Step {
        self.close_strangers(core);
        let late: Vec<u8> = match &self.stage {
            Stage::Gathering => {
                let due = self.news || core.now >= self.wait_until;
                return match due && self.may_settle(core) {
                    true => self.settle(core),
                    false => Step::Stay,
                };
            }
            Stage::Fetching { until, .. } | Stage::Proposed { until, .. } if core.now < *until => {
                return Step::Stay;
            }
            Stage::Fetching { from, .. } => vec![*from],
            Stage::Proposed { signatures, .. } => {
                let guests = self.guests.keys().copied();
                guests
                    .filter(|peer| !signatures.contains_key(peer))
                    .collect()
            }
        };
        for peer in late {
            self.refuse(core, peer, JoinRefused::TooSlow);
        }
        self.gather(core);
        Step::Stay
    }

    fn come(&mut self, core: &mut Core, link: LinkId, claim: Claim, told: Vec<String>) {
        let proved = core.links.get(&link).and_then(|link| link.proved);
        let Some((id, incarnation)) = proved else {
            return;
        };
        let mut places = self.book.start.roster.iter();
        let place = places.position(|place| place.peer == id);
        let Some(peer) = place.map(|place| place as u8) else {
            return core.refuse(link, JoinRefused::NoSeat);
        };
        if claim.start != start_hash(&self.book.start) {
            return core.refuse(link, JoinRefused::OtherMatch);
        }
        if self.guests.contains_key(&peer) || id == core.id() {
            return core.refuse(link, JoinRefused::AlreadyIn);
        }
        let mut addresses = vec![core.links[&link].address.clone()];
        let fits = |address: &String| address.len() <= ADDRESS_BYTES && !address.is_empty();
        addresses.extend(told.into_iter().filter(fits).take(ADDRESSES - 1));
        let guest = Guest {
            link,
            incarnation,
            claim,
            addresses,
            allowance: core.limits.catch_up_bytes,
        };
        self.guests.insert(peer, guest);
        self.gather(core);
    }

    fn answer(&mut self, link: LinkId, ask: &Ask) -> Answer {
        let guest = self.guest_of(link);
        let proposed = matches!(self.stage, Stage::Proposed { .. });
        match ask {
            Ask::Outline { match_id } if *match_id == self.known.match_id && !proposed => {
                Answer::Reopens
            }
            Ask::Log { from, .. } if proposed => {
                let guest = guest.and_then(|peer| self.guests.get_mut(&peer));
                let left = guest.and_then(|guest| {
                    guest.allowance = guest.allowance.checked_sub(PAGE_COST)?;
                    Some(())
                });
                left.map_or(Answer::Nothing, |()| self.book.page(*from))
            }
            _ => Answer::Nothing,
        }
    }

    /// Whether all of the roster are here, or those who are have waited long enough.
    fn may_settle(&mut self, core: &Core) -> bool {
        self.news = false;
        self.book.roster().is_within(self.here()) || core.now >= self.wait_until
    }

    /// What it goes on from, once it is to begin.
    pub(crate) fn into_returning(
        self,
        core: &Core,
        change: RosterChange,
        due: Duration,
    ) -> Returning {
        let me = self.book.me;
        let log = self.book.into_log();
        let reopened = Reopened {
            log,
            me,
            change,
            due,
        };
        Returning::reopened(core, self.known, reopened)
    }

    /// Waits again, for whoever comes.
    fn gather(&mut self, core: &mut Core) {
        if let Stage::Proposed { proposal, .. } = &self.stage {
            let attempt = proposal.attempt;
            self.broadcast(core, &Control::Reopen(Said::Withdraw { attempt }));
        }
        self.attempt += 1;
        self.stage = Stage::Gathering;
        self.news = true;
        // What was fetched is one guest's word until a quorum has it.
        let known = &self.known;
        if let Ok(book) = Book::open(core, known.match_id, &known.own, &known.rules) {
            self.book = book;
        }
        self.announce(core);
    }

    fn lost(&mut self, core: &mut Core, peer: u8) {
        self.guests.remove(&peer);
        self.gather(core);
    }

    fn refuse(&mut self, core: &mut Core, peer: u8, why: JoinRefused) {
        if let Some(guest) = self.guests.remove(&peer) {
            core.refuse(guest.link, why);
        }
    }

    fn guest_of(&self, link: LinkId) -> Option<u8> {
        let mut guests = self.guests.iter();
        guests.find_map(|(peer, guest)| (guest.link == link).then_some(*peer))
    }

    /// This peer, and who has come.
    fn here(&self) -> Peers {
        let guests = self.guests.keys().copied();
        guests.chain([self.book.me as u8]).collect()
    }

    fn infos(&self, peers: Peers) -> Vec<SeatInfo> {
        let all = self.book.start.seat_infos().into_iter();
        let place = |info: &SeatInfo| {
            let mut places = self.book.start.roster.iter();
            places.position(|place| place.peer == info.peer)
        };
        all.filter(|info| place(info).is_some_and(|at| peers.contains(at as u8)))
            .collect()
    }

    fn broadcast(&self, core: &mut Core, message: &Control) {
        for guest in self.guests.values() {
            core.send(guest.link, message);
        }
    }

    fn announce(&self, core: &mut Core) {
        let here = self.here();
        let places = here
            .iter()
            .filter_map(|peer| self.book.start.roster.get(usize::from(peer)));
        let entries: Vec<LobbyEntry> = places
            .map(|place| LobbyEntry {
                peer: place.peer,
                name: place.name.clone(),
                seats: place.seats.clone(),
                ready: true,
            })
            .collect();
        self.broadcast(core, &Control::Lobby(entries.clone()));
        let peers = entries.into_iter().map(LobbyPeer::from);
        core.event(Event::Lobby(peers.collect()));
    }

    /// Who has proved a key and does not come may not keep a place.
    fn close_strangers(&self, core: &mut Core) {
        let links = core.links.values();
        let strange = links.filter(|link| {
            let waited = link.up_at + core.limits.handshake <= core.now;
            waited && self.guest_of(link.id).is_none()
        });
        for link in strange.map(|link| link.id).collect::<Vec<_>>() {
            core.close(link);
        }
    }
}
