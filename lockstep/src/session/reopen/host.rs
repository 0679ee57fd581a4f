//! The side of who hosts: it gathers the others, settles where to go on, and has all sign that.

mod again;
mod guests;
mod settle;

use self::again::Again;
use self::guests::{Absent, Guest};
use super::book::Book;
use super::lookout::Lookout;
use super::message::{Claim, PAGE_COST, Proposal, Said};
use crate::log::RosterChange;
use crate::session::core::Core;
use crate::session::joiner::Joiner;
use crate::session::lobby::{Pings, Step};
use crate::session::rejoin::{Answer, Ask, RejoinContext, decode, encode};
use crate::session::roster::Peers;
use crate::session::wire::{Control, LobbyEntry};
use crate::{EndReason, Fault, JoinRefused, LinkId, LobbyPeer, PeerId, Rejoin, SeatInfo};
use sim::Seat;
use std::collections::BTreeMap;
use std::time::Duration;

/// Time between the last signature and the first turn, for the word to reach everybody and the worlds to be built.
const BEGIN_AFTER: Duration = Duration::from_millis(400);
/// Who is here is told this often, at most.
const ANNOUNCE_EVERY: Duration = Duration::from_millis(250);

pub(crate) struct Host {
    known: RejoinContext,
    wait_until: Duration,
    /// As recorded, or with what was fetched since, or up to the cut that is proposed.
    book: Book,
    own: Claim,
    /// The book is not what was recorded any more.
    altered: bool,
    guests: BTreeMap<u8, Guest>,
    /// Who has held up the others, by leaving or otherwise.
    absent: BTreeMap<u8, Absent>,
    /// Who comes with a key that is here already.
    again: BTreeMap<u8, Again>,
    lookout: Lookout,
    attempt: u32,
    stage: Stage,
    /// Somebody came or went since it was last looked whether those who are here can go on.
    news: bool,
    /// Somebody came or went since that was last told, which may be told again then.
    untold: bool,
    tell_at: Duration,
    pings: Pings,
}

enum Stage {
    Gathering,
    /// This guest has recorded more than this peer: it is to answer until then, and to have given all until then.
    Fetching {
        from: u8,
        answer: Duration,
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
            altered: false,
            known: RejoinContext {
                match_id: from.match_id,
                contacts: from.contacts,
                addresses,
                rules,
                own: from.log,
                keyframe: from.keyframe,
                otherwise: None,
                held: None,
            },
            wait_until: core.now + wait,
            guests: BTreeMap::new(),
            absent: BTreeMap::new(),
            again: BTreeMap::new(),
            lookout: Lookout::new(core),
            attempt: 0,
            stage: Stage::Gathering,
            news: true,
            untold: true,
            tell_at: core.now,
            pings: Pings::default(),
        })
    }

    /// Whoever this peer has dialled is asked whether it still plays.
    pub(crate) fn proved(&mut self, core: &mut Core, link: LinkId) {
        self.lookout.proved(core, &self.known, link);
    }

    pub(crate) fn own_seats(&self) -> &[Seat] {
        &self.book.start.roster[self.book.me].seats
    }

    pub(crate) fn deadline(&self, core: &Core) -> Option<Duration> {
        let stage = match &self.stage {
            Stage::Gathering if self.news => core.now,
            Stage::Gathering => {
                let waits = Some(self.wait_until).filter(|until| *until > core.now);
                let next = [self.next_counts(), waits].into_iter().flatten().min();
                next.unwrap_or(Duration::MAX)
            }
            Stage::Fetching { answer, until, .. } => *answer.min(until),
            Stage::Proposed { until, .. } => *until,
        };
        let tell = self.untold.then_some(self.tell_at.max(core.now));
        let look = self.lookout.deadline();
        let ask = self.pings.deadline(self.guests.is_empty());
        [
            Some(stage),
            tell,
            Some(look),
            ask,
            self.again_deadline(core),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Round trips to the guests.
    pub(crate) fn pings(&self) -> &[(PeerId, u16)] {
        self.pings.known()
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
            // Whom it has dialled may be in another match by now.
            (Control::Refused(_) | Control::Bye, None) => {
                self.again.retain(|_, again| !again.is_by(link));
                core.close(link);
            }
            // An earlier run that has not heard that it is out, or whose match is just ending.
            (
                Control::Roster(_) | Control::Decided(_) | Control::Words(_) | Control::End { .. },
                None,
            ) => {}
            // It follows others that stand still, and does not know yet that they let nobody in.
            (Control::Rejoin { .. }, None) => {}
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
            Ok(Answer::Log { from, records, .. }) if fetching == Some(link) => {
                if from == self.book.turns() {
                    return self.fetched(core, from, &records);
                }
            }
            Ok(Answer::Reopens) if self.yields_to(core, link) => {
                self.broadcast(core, &Control::Bye);
                return Step::Gather(link);
            }
            Ok(answer) => {
                if self.lookout.answered(core, &self.known, link, answer) {
                    let why = JoinRefused::GoesOn;
                    self.broadcast(core, &Control::Refused(why.clone()));
                    return Step::End(EndReason::Refused(why));
                }
            }
            Err(_) => core.fault(link, Fault::Garbage),
        }
        Step::Stay
    }

    /// Whether another host with a lower place gathers instead, as two hosts would wait for each other. Without a quorum
    /// apart from that host, a false claim holds up nothing. A host that has signed a proposal keeps to it.
    fn yields_to(&self, core: &Core, link: LinkId) -> bool {
        let proved = core.links.get(&link).and_then(|link| link.proved);
        let mut lower = (0..self.book.me as u8).filter(|peer| self.book.roster().contains(*peer));
        let other = lower.find(|peer| proved.is_some_and(|(id, _)| id == self.id_of(*peer)));
        let needed = other.is_some_and(|other| {
            let without = self.book.roster().without(std::iter::once(other).collect());
            !self.book.head().is_quorum(without)
        });
        needed && self.attempt == 0 && matches!(self.stage, Stage::Gathering)
    }

    pub(crate) fn into_context(self) -> RejoinContext {
        self.known
    }

    /// Does what is due.
    pub(crate) fn advance(&mut self, core: &mut Core) -> Step {
        self.close_strangers(core);
        let here: Vec<PeerId> = self.guests.keys().map(|peer| self.id_of(*peer)).collect();
        self.lookout.look(core, &self.known, &here);
        if self.untold && core.now >= self.tell_at {
            self.announce(core);
        }
        let guests = self.guests.iter();
        let linked = guests.map(|(peer, guest)| (self.id_of(*peer), guest.link));
        self.pings.go_round(core, linked.collect());
        self.let_in_again(core);
        self.count(core);
        let late: Vec<u8> = match &self.stage {
            Stage::Gathering => {
                return match self.may_settle(core) {
                    true => self.settle(core),
                    false => Step::Stay,
                };
            }
            Stage::Fetching {
                from,
                answer,
                until,
            } => match core.now < *answer.min(until) {
                true => return Step::Stay,
                false => vec![*from],
            },
            Stage::Proposed {
                proposal,
                signatures,
                until,
            } => {
                if core.now < *until {
                    return Step::Stay;
                }
                let runs = proposal.runs.iter().map(|run| run.peer);
                runs.filter(|peer| !signatures.contains_key(peer)).collect()
            }
        };
        for peer in late {
            self.refuse(core, peer, JoinRefused::TooSlow);
        }
        self.gather(core);
        Step::Stay
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
        let due = std::mem::take(&mut self.news) || core.now >= self.wait_until;
        due && (self.book.roster().is_within(self.here()) || core.now >= self.wait_until)
    }

    /// What it goes on from, once it is to begin.
    pub(crate) fn into_joiner(self, core: &Core, change: RosterChange, due: Duration) -> Joiner {
        Joiner::reopened(core, self.known, self.book.reopened(change, due))
    }

    /// Waits again, for whoever comes.
    fn gather(&mut self, core: &mut Core) {
        if let Stage::Proposed { proposal, .. } = &self.stage {
            let attempt = proposal.attempt;
            self.broadcast(core, &Control::Reopen(Said::Withdraw { attempt }));
        }
        self.attempt += 1;
        self.stage = Stage::Gathering;
        (self.news, self.untold) = (true, true);
        // What was fetched is one guest's word until a quorum has it.
        let known = &self.known;
        if std::mem::take(&mut self.altered)
            && let Ok(book) = Book::open(core, known.match_id, &known.own, &known.rules)
        {
            self.book = book;
        }
    }

    fn id_of(&self, peer: u8) -> PeerId {
        self.book.start.roster[usize::from(peer)].peer
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

    fn announce(&mut self, core: &mut Core) {
        (self.untold, self.tell_at) = (false, core.now + ANNOUNCE_EVERY);
        let guests = self.guests.keys().copied();
        let here: Peers = guests.chain([self.book.me as u8]).collect();
        let places = here
            .iter()
            .filter_map(|peer| self.book.start.roster.get(usize::from(peer)));
        let entries: Vec<LobbyEntry> = places
            .map(|place| LobbyEntry {
                peer: place.peer,
                name: place.name.clone(),
                build: String::new(),
                seats: place.seats.clone(),
                ready: true,
            })
            .collect();
        self.broadcast(core, &Control::Lobby(entries.clone()));
        let peers = entries.into_iter().map(LobbyPeer::from);
        core.event(self.book.lobby(peers.collect()));
    }

    /// Who has proved a key and does not come may not keep a place.
    fn close_strangers(&self, core: &mut Core) {
        let links = core.links.values();
        let strange = links.filter(|link| {
            let waited = link.up_at + core.limits.handshake <= core.now;
            waited && self.guest_of(link.id).is_none() && !self.waits_again(link.id)
        });
        for link in strange.map(|link| link.id).collect::<Vec<_>>() {
            core.close(link);
        }
    }
}
