//! A joiner's side of the lobby.

mod orphaned;

use super::{Invitation, OwnPeer, Settled, Step, commitment, share_of_attempt, start_of};
use crate::limits::MAX_PEERS;
use crate::log::{Start, start_hash, start_signed_bytes};
use crate::session::core::Core;
use crate::session::links::link::Link;
use crate::session::wire::{Control, Datagram, LobbyEntry, LockedPeer, Terms};
use crate::session::{Output, RulesOf};
use crate::text::{tidy_name, tidy_text};
use crate::{EndReason, Event, Fault, JoinRefused, LinkError, LinkId, LobbyPeer, LogHash, PeerId};
use orphaned::Orphaned;
use sim::Seat;
use std::sync::Arc;
use std::time::Duration;

/// Times that a roster may be settled before this peer gives up, from when it came.
const MOST_ATTEMPTS: u32 = 16;
/// Time between two probes of the host's clock.
const PROBE_EVERY: Duration = Duration::from_millis(100);
/// How long the load barrier waits for links to the other joiners; after it they are reached by others.
const MESH_WAIT: Duration = Duration::from_secs(3);
/// The host is dialled anew after this time, whether or not the dial before has come to anything: losses delay an answer
/// further with every repetition.
const DIAL_AGAIN: Duration = Duration::from_secs(1);
/// How long it is dialled while no link to it comes up. A new dial each second gets through losses that one dial does not.
const REACH_WITHIN: Duration = Duration::from_secs(20);
/// How long it is dialled once a link came up, which may be bad, or its doors crowded.
const ENTER_WITHIN: Duration = Duration::from_secs(60);
/// How long it is asked for the place of an earlier run of this peer, until the host takes that one for dead.
const PLACE_WITHIN: Duration = Duration::from_secs(3);

pub(crate) struct Joiner {
    invitation: Invitation,
    rules: RulesOf,
    own: OwnPeer,
    /// Where the host may be: addresses at which another key answers, and texts that are none, are left out.
    addresses: Vec<String>,
    /// Why no link has let this peer in so far.
    failure: LinkError,
    /// When the host is dialled anew, unless a link leads to it.
    dial_at: Duration,
    /// Until then it is, on the session's clock.
    dial_until: Duration,
    /// Until then it is asked for the place of an earlier run, which it told of.
    place_until: Option<Duration>,
    link: Option<LinkId>,
    terms: Option<Terms>,
    seats: Vec<Seat>,
    /// The attempt at which the host let it in.
    came_at: u32,
    attempt: u32,
    stage: Stage,
    clock: HostClock,
    /// Round trips between the host and its guests, as it tells.
    pings: Vec<(PeerId, u16)>,
    answer_by: Duration,
    /// It has signed, and its link to the host is gone.
    orphaned: Option<Orphaned>,
}

enum Stage {
    Gathering,
    Revealed {
        roster: Vec<LockedPeer>,
        mesh_by: Duration,
    },
    Loading {
        roster: Vec<LockedPeer>,
        start: Box<Start>,
        hash: LogHash,
        loaded: bool,
        signed: bool,
        mesh_by: Duration,
    },
}

/// How far the host's clock is ahead of ours, by the probe with the shortest round trip.
struct HostClock {
    next_probe: Duration,
    best: Option<(Duration, i64)>,
}

impl Joiner {
    pub(crate) fn new(
        core: &mut Core,
        own: OwnPeer,
        invitation: Invitation,
        rules: RulesOf,
    ) -> Self {
        let mut joiner = Joiner {
            addresses: invitation.addresses.clone(),
            invitation,
            rules,
            own,
            failure: LinkError::Unanswered,
            dial_at: core.now,
            dial_until: REACH_WITHIN,
            place_until: None,
            link: None,
            terms: None,
            seats: Vec::new(),
            came_at: 0,
            attempt: 0,
            stage: Stage::Gathering,
            clock: HostClock {
                next_probe: Duration::ZERO,
                best: None,
            },
            pings: Vec::new(),
            answer_by: Duration::ZERO,
            orphaned: None,
        };
        joiner.dial(core);
        joiner
    }

    fn dial(&mut self, core: &mut Core) {
        for address in &self.addresses {
            core.out.push(Output::Dial {
                address: address.clone(),
                key: self.invitation.host,
            });
        }
        self.dial_at = core.now + DIAL_AGAIN;
    }

    pub(crate) fn own_seats(&self) -> &[Seat] {
        &self.seats
    }

    pub(crate) fn is_loading(&self) -> bool {
        matches!(self.stage, Stage::Loading { .. })
    }

    /// Whether the host has let this peer in.
    pub(crate) fn is_in(&self) -> bool {
        self.terms.is_some()
    }

    /// Round trips between the host and its guests.
    pub(crate) fn pings(&self) -> &[(PeerId, u16)] {
        &self.pings
    }

    pub(crate) fn dial_failed(&mut self, address: &str, key: PeerId, why: LinkError) {
        if key != self.invitation.host {
            return;
        }
        if matches!(why, LinkError::WrongKey | LinkError::Address) {
            self.addresses.retain(|other| other != address);
        }
        // Of several failures the most telling counts: another key is more than silence.
        if self.failure != LinkError::WrongKey {
            self.failure = why;
        }
    }

    pub(crate) fn proved(&mut self, core: &mut Core, link: LinkId) {
        let peer = core.links[&link].proved.map(|(peer, _)| peer);
        if peer != Some(self.invitation.host) || self.orphaned.is_some() {
            return;
        }
        if self.link.is_some() {
            core.close(link);
            return;
        }
        self.link = Some(link);
        core.trusted = Some(link);
        self.answer_by = core.now + core.limits.handshake;
        let join = Control::Join {
            match_id: self.invitation.match_id,
            secret: self.invitation.secret,
            name: self.own.name.clone(),
            build: self.own.build.clone(),
            own_seats: self.own.seats,
            addresses: self.own.addresses.clone(),
        };
        core.send(link, &join);
    }

    pub(crate) fn link_down(&mut self, core: &mut Core, gone: &Link, why: LinkError) -> Step {
        let own = self.link == Some(gone.id);
        if self.terms.is_some() {
            let signed = matches!(self.stage, Stage::Loading { signed: true, .. });
            return match own {
                true if signed => self.be_orphaned(core),
                true => Step::End(EndReason::LobbyClosed),
                false => Step::Stay,
            };
        }
        let host = self.invitation.host;
        if own || gone.dialled && gone.expected.is_none_or(|peer| peer == host) {
            // Who is at its end was silent for too long, before or after the proof.
            let late = match own {
                true => self.answer_by <= core.now,
                false => gone.proved.is_none() && gone.up_at + core.limits.handshake <= core.now,
            };
            self.failure = if late { LinkError::TimedOut } else { why };
            self.dial_at = core.now + DIAL_AGAIN;
            self.link = self.link.filter(|_| !own);
        }
        Step::Stay
    }

    pub(crate) fn received(&mut self, core: &mut Core, link: LinkId, message: Control) -> Step {
        if self.link != Some(link) {
            return match message {
                Control::Refused(why) if self.link.is_none() && self.leads_to_host(core, link) => {
                    Step::End(EndReason::Refused(why))
                }
                Control::Go { signatures, .. } => {
                    let signatures = signatures.into_iter().map(Into::into).collect();
                    self.go_on_hearsay(core, link, signatures)
                }
                message if is_of_a_match(&message) => Step::Stay,
                _ => {
                    core.fault(link, Fault::OutOfPlace);
                    Step::Stay
                }
            };
        }
        match message {
            Control::Welcome { terms, attempt } if self.terms.is_none() => {
                return self.welcome(core, terms, attempt);
            }
            Control::Refused(JoinRefused::AlreadyIn) if self.may_be_dead(core) => core.close(link),
            Control::Refused(why) => return Step::End(EndReason::Refused(why)),
            Control::Bye => return Step::End(EndReason::LobbyClosed),
            Control::Lobby(entries) if self.terms.is_some() => self.lobby(core, entries),
            Control::Pings(pings) if pings.len() <= usize::from(core.limits.peers) => {
                self.pings = pings;
            }
            Control::Chat { from, text } => {
                let event = Event::Chat {
                    from: tidy_name(&from),
                    seat: None,
                    text: tidy_text(&text, core.limits.chat_bytes),
                };
                core.event(event);
            }
            Control::Lock { attempt, roster } if self.terms.is_some() => {
                return self.lock(core, attempt, roster);
            }
            Control::Unlock { attempt } if attempt == self.attempt => {
                // A host that begins anew again and again is after a seed.
                let next = self.attempt.checked_add(1);
                let Some(next) = next.filter(|next| next - self.came_at <= MOST_ATTEMPTS) else {
                    return Step::End(EndReason::LobbyClosed);
                };
                self.attempt = next;
                self.stage = Stage::Gathering;
                self.tell_ready(core);
            }
            Control::Shares { attempt, shares } if attempt == self.attempt => {
                return self.shares(core, &shares);
            }
            Control::Go {
                attempt,
                signatures,
                begin_ms,
            } if attempt == self.attempt => {
                let signatures = signatures.into_iter().map(Into::into).collect();
                return self.go(core, signatures, begin_ms);
            }
            message if is_of_a_match(&message) => {}
            _ => core.fault(link, Fault::OutOfPlace),
        }
        Step::Stay
    }

    /// Whether the guest with this peer's key may be an earlier run of it that has died, which the host finds out.
    fn may_be_dead(&mut self, core: &Core) -> bool {
        let until = self.place_until.get_or_insert(core.now + PLACE_WITHIN);
        self.terms.is_none() && core.now < *until
    }

    /// Whether this is the link that was dialled to reach the host.
    pub(crate) fn leads_to_host(&self, core: &Core, link: LinkId) -> bool {
        core.links.get(&link).is_some_and(|link| {
            link.dialled
                && link
                    .expected
                    .is_none_or(|peer| peer == self.invitation.host)
        })
    }

    pub(crate) fn probe_answered(
        &mut self,
        core: &Core,
        link: LinkId,
        sent_us: u64,
        clock_us: u64,
    ) {
        let sent = Duration::from_micros(sent_us);
        if self.link != Some(link) || sent > core.now {
            return;
        }
        let rtt = core.now - sent;
        let middle_us = (sent + rtt / 2).as_micros() as i64;
        let ahead_us = (clock_us as i64).saturating_sub(middle_us);
        if self.clock.best.is_none_or(|(best, _)| rtt < best) {
            self.clock.best = Some((rtt, ahead_us));
        }
    }

    pub(crate) fn set_ready(&mut self, core: &mut Core, ready: bool) {
        self.own.ready = ready;
        if matches!(self.stage, Stage::Gathering) && self.terms.is_some() {
            self.tell_ready(core);
        }
    }

    pub(crate) fn own_loaded(&mut self, core: &mut Core) -> Step {
        if let Stage::Loading { loaded, .. } = &mut self.stage {
            *loaded = true;
        }
        self.sign_if_ready(core);
        Step::Stay
    }

    pub(crate) fn chat(&mut self, core: &mut Core, text: &str) {
        if let Some(link) = self.link {
            let text = tidy_text(text, core.limits.chat_bytes);
            core.send(
                link,
                &Control::Chat {
                    from: String::new(),
                    text,
                },
            );
        }
    }

    pub(crate) fn leave(&mut self, core: &mut Core) -> Step {
        if let Some(link) = self.link {
            core.send(link, &Control::Bye);
        }
        Step::End(EndReason::Left)
    }

    pub(crate) fn timeout(&mut self, core: &mut Core) -> Step {
        if self.terms.is_none()
            && let end @ Step::End(_) = self.reach(core)
        {
            return end;
        }
        if let end @ Step::End(_) = self.wait_for_hearsay(core) {
            return end;
        }
        if let Some(link) = self.link
            && self.terms.is_some()
            && core.now >= self.clock.next_probe
        {
            self.clock.next_probe = core.now + PROBE_EVERY;
            core.send_datagram(
                link,
                &Datagram::Probe {
                    sent_us: core.now.as_micros() as u64,
                },
            );
        }
        self.sign_if_ready(core);
        Step::Stay
    }

    /// Dials the host until it has let this peer in.
    fn reach(&mut self, core: &mut Core) -> Step {
        if self.is_linked(core) {
            self.dial_until = ENTER_WITHIN;
        }
        match self.link {
            Some(link) if core.now >= self.answer_by => core.close(link),
            None if self.is_linked(core) => {}
            None if self.addresses.is_empty() || core.now >= self.dial_until => {
                return Step::End(EndReason::Unreachable(self.failure));
            }
            None if core.now >= self.dial_at => self.dial(core),
            _ => {}
        }
        Step::Stay
    }

    /// Whether a link to the host is up, which may not have proved yet whose it is.
    fn is_linked(&self, core: &Core) -> bool {
        let mut links = core.links.keys();
        self.link.is_some() || links.any(|link| self.leads_to_host(core, *link))
    }

    pub(crate) fn deadline(&self, core: &Core) -> Option<Duration> {
        let answer = match (self.link, self.is_linked(core)) {
            (Some(_), _) => Some(self.answer_by),
            // The link has its time to prove whose it is.
            (None, true) => None,
            (None, false) => Some(self.dial_at.min(self.dial_until)),
        };
        let answer = answer.filter(|_| self.terms.is_none());
        let probe = (self.link.is_some() && self.terms.is_some()).then_some(self.clock.next_probe);
        let mesh = match &self.stage {
            Stage::Loading {
                loaded: true,
                signed: false,
                mesh_by,
                ..
            } => Some(*mesh_by),
            _ => None,
        };
        let orphaned = self.orphaned.as_ref().map(Orphaned::deadline);
        [answer, probe, mesh, orphaned].into_iter().flatten().min()
    }

    fn welcome(&mut self, core: &mut Core, terms: Terms, attempt: u32) -> Step {
        let refusal = match (self.rules)(&terms.setup) {
            None => Some(JoinRefused::Setup),
            Some(rules) if rules != terms.rules => Some(JoinRefused::Rules),
            Some(_)
                if !terms.plan.is_valid(true)
                    || usize::from(terms.seats) > MAX_PEERS
                    || terms.turn_limit == Some(0)
                    || terms.setup.len() > core.limits.setup_bytes as usize =>
            {
                Some(JoinRefused::Setup)
            }
            Some(_) => None,
        };
        if let Some(why) = refusal {
            let link = self.link.expect("a welcome comes by the host's link");
            core.refuse(link, why.clone());
            return Step::End(EndReason::Refused(why));
        }
        self.terms = Some(terms);
        (self.came_at, self.attempt) = (attempt, attempt);
        self.tell_ready(core);
        Step::Stay
    }

    fn lobby(&mut self, core: &mut Core, entries: Vec<LobbyEntry>) {
        let own = core.id();
        let Some((seats, plan)) = self.terms.as_ref().map(|terms| (terms.seats, terms.plan)) else {
            return;
        };
        let mut named: Vec<Seat> = entries
            .iter()
            .flat_map(|entry| entry.seats.iter().copied())
            .collect();
        let count = named.len();
        named.sort_unstable();
        named.dedup();
        let exist = named.last().is_none_or(|last| last.0 < seats);
        if count != named.len() || !exist || entries.len() > usize::from(core.limits.peers) {
            let link = self.link.expect("the lobby comes by the host's link");
            core.fault(link, Fault::OutOfPlace);
            return;
        }
        if let Some(entry) = entries.iter().find(|entry| entry.peer == own) {
            self.seats = entry.seats.clone();
        }
        let peers = entries.into_iter();
        let peers = peers.map(|entry| LobbyPeer::from(entry.tidied()));
        let peers = peers.collect();
        core.event(Event::Lobby { peers, seats, plan });
    }

    fn tell_ready(&mut self, core: &mut Core) {
        let own = core.id();
        let share = share_of_attempt(&self.own.share, self.attempt);
        let commit = self
            .own
            .ready
            .then(|| commitment(self.invitation.match_id, own, &share));
        if let Some(link) = self.link {
            core.send(link, &Control::Ready { commit });
        }
    }

    /// The roster is settled: reveal, and get to know the others.
    fn lock(&mut self, core: &mut Core, attempt: u32, roster: Vec<LockedPeer>) -> Step {
        let own = core.id();
        let share = share_of_attempt(&self.own.share, self.attempt);
        let index = roster.iter().position(|peer| peer.peer == own);
        let fair = attempt == self.attempt
            && matches!(self.stage, Stage::Gathering)
            && roster.len() <= usize::from(core.limits.peers)
            && index.is_some_and(|at| {
                roster[at].commit == commitment(self.invitation.match_id, own, &share)
                    && roster[at].incarnation == core.incarnation
                    && !roster[at].seats.is_empty()
            })
            && self.seats_are_fair(&roster);
        let (Some(index), true, Some(link)) = (index, fair, self.link) else {
            if let Some(link) = self.link {
                core.fault(link, Fault::OutOfPlace);
            }
            return Step::End(EndReason::LobbyClosed);
        };
        core.send(link, &Control::Reveal { attempt, share });
        self.seats = roster[index].seats.clone();
        // The later peer dials the earlier one.
        for peer in roster[..index]
            .iter()
            .filter(|peer| peer.peer != self.invitation.host)
        {
            if core.links_to(peer.peer).next().is_none() {
                for address in peer.addresses.iter().take(2) {
                    core.out.push(Output::Dial {
                        address: address.clone(),
                        key: peer.peer,
                    });
                }
            }
        }
        self.stage = Stage::Revealed {
            roster,
            mesh_by: core.now + MESH_WAIT,
        };
        Step::Stay
    }

    /// Every seat of the match belongs to exactly one peer, and peers stand in the order of their lowest seats.
    fn seats_are_fair(&self, roster: &[LockedPeer]) -> bool {
        let seats = self.terms.as_ref().map_or(0, |terms| terms.seats);
        let mut all: Vec<Seat> = roster
            .iter()
            .flat_map(|peer| peer.seats.iter().copied())
            .collect();
        all.sort_unstable();
        all.into_iter().eq((0..seats).map(Seat))
            && roster.is_sorted_by_key(|peer| peer.seats.first().copied())
            && roster
                .iter()
                .all(|peer| peer.seats.is_sorted() && peer.name == tidy_name(&peer.name))
    }

    fn shares(&mut self, core: &mut Core, shares: &[[u8; 32]]) -> Step {
        let Stage::Revealed { roster, mesh_by } = &mut self.stage else {
            return Step::End(EndReason::LobbyClosed);
        };
        let (roster, mesh_by) = (std::mem::take(roster), *mesh_by);
        let terms = self
            .terms
            .as_ref()
            .expect("a roster is settled after the welcome");
        let Some(start) = start_of(
            self.invitation.match_id,
            terms,
            &roster,
            shares,
            &self.own.build,
        ) else {
            if let Some(link) = self.link {
                core.fault(link, Fault::Reveal);
            }
            return Step::End(EndReason::LobbyClosed);
        };
        core.out.push(Output::New(Arc::new(start.clone())));
        let hash = start_hash(&start);
        self.stage = Stage::Loading {
            roster,
            start: Box::new(start),
            hash,
            loaded: false,
            signed: false,
            mesh_by,
        };
        Step::Stay
    }

    /// The load barrier: the world is built, and the other peers are linked or were given time enough.
    fn sign_if_ready(&mut self, core: &mut Core) {
        let Stage::Loading {
            roster,
            hash,
            loaded: true,
            signed,
            mesh_by,
            ..
        } = &mut self.stage
        else {
            return;
        };
        let own = core.id();
        let linked =
            |peer: &LockedPeer| peer.peer == own || core.links_to(peer.peer).next().is_some();
        if *signed || core.now < *mesh_by && !roster.iter().all(linked) {
            return;
        }
        *signed = true;
        let rtt = self
            .clock
            .best
            .map_or(Duration::from_millis(500), |(rtt, _)| rtt);
        let message = Control::Loaded {
            attempt: self.attempt,
            signature: core.signer.sign(&start_signed_bytes(*hash)).into(),
            rtt_ms: rtt.as_millis().min(3_000) as u16,
        };
        if let Some(link) = self.link {
            core.send(link, &message);
        }
    }

    fn go(&mut self, core: &mut Core, signatures: Vec<[u8; 64]>, begin_ms: u64) -> Step {
        let Stage::Loading {
            roster,
            start,
            hash,
            loaded: true,
            ..
        } = &self.stage
        else {
            return Step::End(EndReason::LobbyClosed);
        };
        if !all_signed(core, roster, *hash, &signatures) {
            if let Some(link) = self.link {
                core.fault(link, Fault::Signature);
            }
            return Step::End(EndReason::LobbyClosed);
        }
        let mut start = (**start).clone();
        start.signatures = signatures;
        let addresses = roster
            .iter()
            .map(|peer| {
                if peer.peer == self.invitation.host {
                    self.invitation.addresses.clone()
                } else {
                    peer.addresses.clone()
                }
            })
            .collect();
        let ahead_us = self.clock.best.map_or(0, |(_, ahead)| ahead);
        let begin_us = (begin_ms.saturating_mul(1_000) as i64).saturating_sub(ahead_us);
        let begin = Duration::from_micros(u64::try_from(begin_us).unwrap_or(0));
        // A host cannot put the beginning off, nor into the past.
        let begin = begin.clamp(core.now, core.now + Duration::from_secs(10));
        Step::Begin(Box::new(Settled {
            start,
            addresses,
            begin,
        }))
    }
}

/// Whether these are the signatures of all of them under the start.
fn all_signed(core: &Core, roster: &[LockedPeer], hash: LogHash, signatures: &[[u8; 64]]) -> bool {
    let signed = start_signed_bytes(hash);
    let mut each = roster.iter().zip(signatures);
    signatures.len() == roster.len()
        && each.all(|(peer, signature)| core.signer.verify(peer.peer, &signed, signature))
}

/// Whether it is said in a match: others may be in it already, and lack this peer.
fn is_of_a_match(message: &Control) -> bool {
    matches!(
        message,
        Control::Roster(_)
            | Control::Decided(_)
            | Control::Words(_)
            | Control::Evidence(_)
            | Control::Rejoin { .. }
            | Control::End { .. }
    )
}
