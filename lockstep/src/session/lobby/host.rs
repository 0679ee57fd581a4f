//! The host's side of the lobby.

mod again;

use super::{OwnPeer, Pings, Settled, Step, commitment, share_of_attempt, start_of};
use crate::log::{Start, start_hash, start_signed_bytes};
use crate::session::core::Core;
use crate::session::links::link::Link;
use crate::session::wire::{Control, LobbyEntry, LockedPeer, Terms};
use crate::session::{HostConfig, Output};
use crate::text::{MAX_BUILD, tidy_name, tidy_text};
use crate::{
    EndReason, Event, Fault, Incarnation, JoinRefused, LinkId, LobbyPeer, LogHash, PeerId,
};
use sim::Seat;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Time between the last signature and turn 0, for the word to reach everybody.
const BEGIN_AFTER: Duration = Duration::from_millis(400);
/// How often a guest may say in ten seconds that it is ready, or is not any more.
const READY_CHANGES_PER_10_S: usize = 40;

pub(crate) struct Host {
    config: HostConfig,
    terms: Terms,
    own: Guest,
    configured_share: [u8; 32],
    own_share: [u8; 32],
    guests: Vec<Guest>,
    /// Who has played foul.
    barred: Vec<PeerId>,
    /// Starts that have failed by a key.
    failed: BTreeMap<PeerId, u32>,
    attempt: u32,
    stage: Stage,
    pings: Pings,
}

/// A peer of the lobby; the host itself has no link.
struct Guest {
    link: Option<LinkId>,
    peer: PeerId,
    incarnation: Incarnation,
    name: String,
    build: String,
    addresses: Vec<String>,
    seats: Vec<Seat>,
    commit: Option<[u8; 32]>,
    chats: VecDeque<Duration>,
    /// When it last said that it is ready, or is not any more.
    changes: VecDeque<Duration>,
}

enum Stage {
    Gathering,
    Revealing {
        roster: Vec<LockedPeer>,
        shares: Vec<Option<[u8; 32]>>,
        until: Duration,
    },
    Loading(Box<Loading>),
}

struct Loading {
    roster: Vec<LockedPeer>,
    start: Start,
    hash: LogHash,
    signatures: Vec<Option<[u8; 64]>>,
    slowest_rtt: Duration,
    until: Duration,
}

impl Host {
    pub(crate) fn new(core: &Core, own: OwnPeer, config: HostConfig) -> Self {
        let guest = Guest {
            link: None,
            peer: core.id(),
            incarnation: core.incarnation,
            name: own.name,
            build: own.build,
            addresses: Vec::new(),
            seats: (0..own.seats).map(Seat).collect(),
            commit: None,
            chats: VecDeque::new(),
            changes: VecDeque::new(),
        };
        let terms = Terms {
            rules: config.rules,
            setup: config.setup.clone(),
            plan: config.plan,
            seats: config.seats,
            turn_limit: config.turn_limit,
            pauses: config.pauses,
            on_slow: config.on_slow,
            on_desync: config.on_desync,
            absent: config.absent,
        };
        let mut host = Host {
            config,
            terms,
            own: guest,
            configured_share: own.share,
            own_share: [0; 32],
            guests: Vec::new(),
            barred: Vec::new(),
            failed: BTreeMap::new(),
            attempt: 0,
            stage: Stage::Gathering,
            pings: Pings::default(),
        };
        if own.ready {
            host.commit();
        }
        host
    }

    pub(crate) fn begin(&mut self, core: &mut Core) -> Step {
        self.announce(core);
        self.lock_if_settled(core)
    }

    pub(crate) fn set_ready(&mut self, core: &mut Core, ready: bool) -> Step {
        if !matches!(self.stage, Stage::Gathering) {
            return Step::Stay;
        }
        if ready {
            self.commit();
        } else {
            self.own.commit = None;
        }
        self.announce(core);
        self.lock_if_settled(core)
    }

    pub(crate) fn own_seats(&self) -> &[Seat] {
        &self.own.seats
    }

    /// Round trips to the guests.
    pub(crate) fn pings(&self) -> &[(PeerId, u16)] {
        self.pings.known()
    }

    pub(crate) fn received(&mut self, core: &mut Core, link: LinkId, message: Control) -> Step {
        let Some((peer, incarnation)) = core.links.get(&link).and_then(|link| link.proved) else {
            return Step::Stay;
        };
        if let Control::Join {
            match_id,
            secret,
            name,
            build,
            own_seats,
            addresses,
        } = message
        {
            let guest = Guest {
                link: Some(link),
                peer,
                incarnation,
                name: tidy_name(&name),
                build: tidy_text(&build, MAX_BUILD),
                addresses: self.reachable(core, link, addresses),
                seats: Vec::new(),
                commit: None,
                chats: VecDeque::new(),
                changes: VecDeque::new(),
            };
            self.forget_unheard(core, &guest);
            let same_match = match_id == self.config.match_id;
            let mut refusal = self.refusal(core, peer, same_match, &secret);
            if refusal == Some(JoinRefused::AlreadyIn)
                && let Some(at) = self.quiet(core, peer)
            {
                // Its process has died and is here again; a start that waits for the one before cannot be completed.
                let before = self.guests[at].link.expect("a guest has a link");
                core.refuse(before, JoinRefused::AlreadyIn);
                // Nothing is settled by it: its seat is free.
                let _ = self.lost(core, at);
                refusal = self.refusal(core, peer, same_match, &secret);
            }
            return self.join(core, guest, own_seats, refusal);
        }
        let Some(at) = self
            .guests
            .iter()
            .position(|guest| guest.link == Some(link))
        else {
            core.fault(link, Fault::OutOfPlace);
            return Step::Stay;
        };
        match message {
            Control::Ready { commit } if matches!(self.stage, Stage::Gathering) => {
                let guest = &mut self.guests[at];
                if guest.commit == commit {
                    return Step::Stay;
                }
                // Each change is told to all: who wavers all the time makes everybody's link busy.
                let past = core.now.saturating_sub(Duration::from_secs(10));
                guest.changes.retain(|at| *at > past);
                if guest.changes.len() >= READY_CHANGES_PER_10_S {
                    core.fault(link, Fault::Flood);
                    return Step::Stay;
                }
                guest.changes.push_back(core.now);
                guest.commit = commit;
                self.announce(core);
                return self.lock_if_settled(core);
            }
            // A change of mind that crossed the lock on its way.
            Control::Ready { .. } => {}
            Control::Chat { text, .. } => self.chat_from(core, at, &text),
            Control::Reveal { attempt, share } if attempt == self.attempt => {
                return self.revealed(core, peer, share);
            }
            Control::Loaded {
                attempt,
                signature,
                rtt_ms,
            } if attempt == self.attempt => {
                return self.loaded(core, peer, signature.into(), rtt_ms);
            }
            // Answers to an attempt that has failed since.
            Control::Reveal { .. } | Control::Loaded { .. } => {}
            Control::Refused(_) | Control::Bye => {
                core.close(link);
                return self.lost(core, at);
            }
            _ => core.fault(link, Fault::OutOfPlace),
        }
        Step::Stay
    }

    pub(crate) fn is_loading(&self) -> bool {
        matches!(self.stage, Stage::Loading(_))
    }

    pub(crate) fn link_down(&mut self, core: &mut Core, link: LinkId) -> Step {
        match self
            .guests
            .iter()
            .position(|guest| guest.link == Some(link))
        {
            Some(at) => self.lost(core, at),
            None => Step::Stay,
        }
    }

    pub(crate) fn own_loaded(&mut self, core: &mut Core) -> Step {
        let Stage::Loading(loading) = &self.stage else {
            return Step::Stay;
        };
        let signature = core.signer.sign(&start_signed_bytes(loading.hash));
        let own = core.id();
        self.loaded(core, own, signature, 0)
    }

    pub(crate) fn chat(&mut self, core: &mut Core, text: &str) {
        let from = self.own.name.clone();
        self.say(core, from, text);
    }

    pub(crate) fn leave(&mut self, core: &mut Core) -> Step {
        self.broadcast(core, &Control::Bye);
        Step::End(EndReason::Left)
    }

    /// Who has proved a key and asks for nothing may not keep a place.
    fn close_strangers(&self, core: &mut Core) {
        let strange = |link: &&Link| {
            let waited = link.up_at + core.limits.handshake <= core.now;
            waited && !self.guests.iter().any(|guest| guest.link == Some(link.id))
        };
        let strangers: Vec<LinkId> = core
            .links
            .values()
            .filter(strange)
            .map(|link| link.id)
            .collect();
        for link in strangers {
            core.close(link);
        }
    }

    pub(crate) fn timeout(&mut self, core: &mut Core) -> Step {
        self.close_strangers(core);
        let late: Vec<PeerId> = match &self.stage {
            Stage::Gathering => {
                let guests = self.guests.iter();
                let linked = guests.filter_map(|guest| Some((guest.peer, guest.link?)));
                self.pings.go_round(core, linked.collect());
                return Step::Stay;
            }
            Stage::Revealing { until, .. } if core.now < *until => return Step::Stay,
            Stage::Loading(loading) if core.now < loading.until => return Step::Stay,
            Stage::Revealing { roster, shares, .. } => silent(roster, shares),
            Stage::Loading(loading) => silent(&loading.roster, &loading.signatures),
        };
        if late.contains(&core.id()) {
            self.broadcast(core, &Control::Bye);
            return Step::End(EndReason::World);
        }
        for peer in late {
            self.bar(core, peer, JoinRefused::TooSlow);
        }
        self.unlock(core)
    }

    pub(crate) fn deadline(&self) -> Option<Duration> {
        match &self.stage {
            Stage::Gathering => self.pings.deadline(self.guests.is_empty()),
            Stage::Revealing { until, .. } => Some(*until),
            Stage::Loading(loading) => Some(loading.until),
        }
    }

    fn refusal(
        &self,
        core: &Core,
        peer: PeerId,
        same_match: bool,
        secret: &[u8; 16],
    ) -> Option<JoinRefused> {
        if !same_match {
            Some(JoinRefused::OtherMatch)
        } else if *secret != self.config.secret {
            Some(JoinRefused::Invite)
        } else if self.config.expires.is_some_and(|at| at <= core.now) {
            Some(JoinRefused::Expired)
        } else if self.is_barred(peer) {
            Some(JoinRefused::TooSlow)
        } else if self.guests.iter().any(|guest| guest.peer == peer) || peer == core.id() {
            Some(JoinRefused::AlreadyIn)
        } else if !matches!(self.stage, Stage::Gathering) {
            Some(if self.free_seats().is_empty() {
                JoinRefused::Full {
                    seats: self.config.seats,
                }
            } else {
                JoinRefused::Started
            })
        } else {
            None
        }
    }

    fn join(
        &mut self,
        core: &mut Core,
        mut guest: Guest,
        own_seats: u8,
        refusal: Option<JoinRefused>,
    ) -> Step {
        let link = guest.link.expect("a joiner comes by a link");
        let wanted = usize::from(own_seats.max(1));
        let free = self.free_seats();
        let full = free.len() < wanted || self.guests.len() + 1 >= usize::from(core.limits.peers);
        let refusal = refusal.or(full.then_some(JoinRefused::Full {
            seats: self.config.seats,
        }));
        if let Some(why) = refusal {
            core.refuse(link, why);
            return Step::Stay;
        }
        guest.seats = free[..wanted].to_vec();
        self.guests.push(guest);
        let welcome = Control::Welcome {
            terms: self.terms.clone(),
            attempt: self.attempt,
        };
        core.send(link, &welcome);
        self.announce(core);
        Step::Stay
    }

    /// Where others may dial a joiner: as seen from here first, then where it believes to be.
    fn reachable(&self, core: &Core, link: LinkId, told: Vec<String>) -> Vec<String> {
        let mut addresses = vec![core.links[&link].address.clone()];
        for address in told.into_iter().take(6) {
            if address.len() <= 64 && !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        addresses
    }

    fn free_seats(&self) -> Vec<Seat> {
        (0..self.config.seats)
            .map(Seat)
            .filter(|seat| !self.everybody().any(|guest| guest.seats.contains(seat)))
            .collect()
    }

    fn everybody(&self) -> impl Iterator<Item = &Guest> {
        std::iter::once(&self.own).chain(&self.guests)
    }

    fn commit(&mut self) {
        self.own_share = share_of_attempt(&self.configured_share, self.attempt);
        self.own.commit = Some(commitment(
            self.config.match_id,
            self.own.peer,
            &self.own_share,
        ));
    }

    fn broadcast(&self, core: &mut Core, message: &Control) {
        for link in self.guests.iter().filter_map(|guest| guest.link) {
            core.send(link, message);
        }
    }

    fn announce(&self, core: &mut Core) {
        let mut entries: Vec<LobbyEntry> = self
            .everybody()
            .map(|guest| LobbyEntry {
                peer: guest.peer,
                name: guest.name.clone(),
                build: guest.build.clone(),
                seats: guest.seats.clone(),
                ready: guest.commit.is_some(),
            })
            .collect();
        entries.sort_by_key(|entry| entry.seats.first().copied());
        self.broadcast(core, &Control::Lobby(entries.clone()));
        core.event(Event::Lobby {
            peers: entries.into_iter().map(LobbyPeer::from).collect(),
            seats: self.terms.seats,
            plan: self.terms.plan,
        });
    }

    fn say(&self, core: &mut Core, from: String, text: &str) {
        let text = tidy_text(text, core.limits.chat_bytes);
        self.broadcast(
            core,
            &Control::Chat {
                from: from.clone(),
                text: text.clone(),
            },
        );
        core.event(Event::Chat {
            from,
            seat: None,
            text,
        });
    }

    fn chat_from(&mut self, core: &mut Core, at: usize, text: &str) {
        let guest = &mut self.guests[at];
        let past = core.now.saturating_sub(Duration::from_secs(10));
        guest.chats.retain(|at| *at > past);
        if guest.chats.len() >= core.limits.chats_per_10_s as usize {
            return;
        }
        guest.chats.push_back(core.now);
        let from = guest.name.clone();
        self.say(core, from, text);
    }

    fn lock_if_settled(&mut self, core: &mut Core) -> Step {
        let settled =
            self.free_seats().is_empty() && self.everybody().all(|guest| guest.commit.is_some());
        if !settled || !matches!(self.stage, Stage::Gathering) {
            return Step::Stay;
        }
        let mut roster: Vec<LockedPeer> = self
            .everybody()
            .map(|guest| LockedPeer {
                peer: guest.peer,
                incarnation: guest.incarnation,
                name: guest.name.clone(),
                seats: guest.seats.clone(),
                addresses: guest.addresses.clone(),
                commit: guest.commit.expect("all have committed"),
            })
            .collect();
        roster.sort_by_key(|peer| peer.seats.first().copied());
        self.broadcast(
            core,
            &Control::Lock {
                attempt: self.attempt,
                roster: roster.clone(),
            },
        );
        self.stage = Stage::Revealing {
            shares: vec![None; roster.len()],
            roster,
            until: core.now + core.limits.handshake,
        };
        self.revealed(core, core.id(), self.own_share)
    }

    fn revealed(&mut self, core: &mut Core, peer: PeerId, share: [u8; 32]) -> Step {
        let Stage::Revealing { roster, shares, .. } = &mut self.stage else {
            return Step::Stay;
        };
        let Some(at) = roster.iter().position(|locked| locked.peer == peer) else {
            return Step::Stay;
        };
        if commitment(self.config.match_id, peer, &share) != roster[at].commit {
            self.bar(core, peer, JoinRefused::Fault(Fault::Reveal));
            return self.unlock(core);
        }
        shares[at] = Some(share);
        let Some(shares) = shares.iter().copied().collect::<Option<Vec<_>>>() else {
            return Step::Stay;
        };
        let roster = std::mem::take(roster);
        let start = start_of(
            self.config.match_id,
            &self.terms,
            &roster,
            &shares,
            &self.own.build,
        )
        .expect("every share was checked as it came");
        self.broadcast(
            core,
            &Control::Shares {
                attempt: self.attempt,
                shares,
            },
        );
        self.stage = Stage::Loading(Box::new(Loading {
            signatures: vec![None; roster.len()],
            roster,
            hash: start_hash(&start),
            slowest_rtt: Duration::ZERO,
            until: core.now + core.limits.handshake * 6,
            start: start.clone(),
        }));
        core.out.push(Output::New(Arc::new(start)));
        Step::Stay
    }

    fn loaded(&mut self, core: &mut Core, peer: PeerId, signature: [u8; 64], rtt_ms: u16) -> Step {
        let Stage::Loading(loading) = &mut self.stage else {
            return Step::Stay;
        };
        let Some(at) = loading.roster.iter().position(|locked| locked.peer == peer) else {
            return Step::Stay;
        };
        if !core
            .signer
            .verify(peer, &start_signed_bytes(loading.hash), &signature)
        {
            self.bar(core, peer, JoinRefused::Fault(Fault::Signature));
            return self.unlock(core);
        }
        loading.signatures[at] = Some(signature);
        loading.slowest_rtt = loading
            .slowest_rtt
            .max(Duration::from_millis(u64::from(rtt_ms.min(3_000))));
        let Some(signatures) = loading
            .signatures
            .iter()
            .copied()
            .collect::<Option<Vec<_>>>()
        else {
            return Step::Stay;
        };
        let alone = loading.roster.len() == 1;
        let wait = if alone {
            Duration::ZERO
        } else {
            BEGIN_AFTER + loading.slowest_rtt * 2
        };
        let begin = core.now + wait;
        let mut start = loading.start.clone();
        start.signatures = signatures.clone();
        let addresses = loading
            .roster
            .iter()
            .map(|peer| peer.addresses.clone())
            .collect();
        let go = Control::Go {
            attempt: self.attempt,
            signatures: signatures.into_iter().map(Into::into).collect(),
            begin_ms: begin.as_millis() as u64,
        };
        self.broadcast(core, &go);
        self.close_doubles(core);
        Step::Begin(Box::new(Settled {
            start,
            addresses,
            begin,
        }))
    }

    /// Of several links to a guest the one stays by which it is told to go: the word is lost with a link that is closed.
    fn close_doubles(&self, core: &mut Core) {
        for guest in &self.guests {
            let others = core.links_to(guest.peer).map(|link| link.id);
            let others: Vec<LinkId> = others.filter(|id| Some(*id) != guest.link).collect();
            others.into_iter().for_each(|link| core.close(link));
        }
    }

    /// A guest is gone; whatever was being settled has to be settled anew.
    fn lost(&mut self, core: &mut Core, at: usize) -> Step {
        let guest = self.guests.remove(at);
        if !matches!(self.stage, Stage::Gathering) {
            self.has_failed(guest.peer);
        }
        match self.stage {
            Stage::Gathering => {
                self.announce(core);
                Step::Stay
            }
            _ => self.unlock(core),
        }
    }

    fn bar(&mut self, core: &mut Core, peer: PeerId, why: JoinRefused) {
        match why {
            JoinRefused::Fault(_) => self.barred.push(peer),
            _ => self.has_failed(peer),
        }
        if let Some(at) = self.guests.iter().position(|guest| guest.peer == peer) {
            let guest = self.guests.remove(at);
            if let JoinRefused::Fault(fault) = why {
                core.event(Event::PeerFault { peer, fault });
            }
            core.refuse(guest.link.expect("a guest has a link"), why);
        }
    }

    fn unlock(&mut self, core: &mut Core) -> Step {
        self.broadcast(
            core,
            &Control::Unlock {
                attempt: self.attempt,
            },
        );
        self.attempt += 1;
        self.stage = Stage::Gathering;
        for guest in &mut self.guests {
            guest.commit = None;
        }
        self.commit();
        self.announce(core);
        self.lock_if_settled(core)
    }
}

fn silent<T>(roster: &[LockedPeer], answers: &[Option<T>]) -> Vec<PeerId> {
    let missing = roster
        .iter()
        .zip(answers)
        .filter(|(_, answer)| answer.is_none());
    missing.map(|(peer, _)| peer.peer).collect()
}

impl From<LobbyEntry> for LobbyPeer {
    fn from(entry: LobbyEntry) -> Self {
        LobbyPeer {
            peer: entry.peer,
            name: entry.name,
            build: entry.build,
            seats: entry.seats,
            ready: entry.ready,
        }
    }
}
