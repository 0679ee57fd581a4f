//! The host of a new match: it gives seats to peers with the ticket's secret, and draws the seed with them.

use super::agreement::MEASURE_WAIT;
use super::guest::MAX_RTT_MS;
use super::seed::{OwnShare, Revealed, SeedDraw};
use super::start_of;
use crate::log::{AgreedStart, Document, SignatureSet, Start, start_hash};
use crate::session::core::Core;
use crate::session::lobby::base::{
    Agreed, Base, Customs, Entry, Next, Patience, Request, Sort, Standing,
};
use crate::session::lobby::room::{Occupant, Room};
use crate::session::lobby::{OwnPeer, Settled, decline};
use crate::session::wire::{Control, LockedPeer, Offer};
use crate::session::{HostConfig, Output, Step};
use crate::text::{MAX_BUILD, tidy_name, tidy_text};
use crate::ticket::NO_SECRET;
use crate::{EndReason, Fault, JoinRefused, Limits, LinkId, LogHash, PeerId, Plan};
use sim::{Checksum, Seat};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Time between the last signature and turn 0, for the message to reach all peers.
const BEGIN_AFTER: Duration = Duration::from_millis(400);
/// A guest that is silent for so long is dead where another run of it comes: guests probe the clock all the time.
const QUIET: Duration = Duration::from_millis(1_500);
/// Attempts that may fail by one key. A process that has died comes back, but a peer that has seen the others' shares
/// may not try for another seed again and again.
const FAILURES: u32 = 3;
/// A link is up for so long before its peer shows the ticket: a correct one does so at once.
const ASKS_WITHIN: Duration = Duration::from_secs(3);

pub(in crate::session::lobby) struct NewMatch {
    config: HostConfig,
    build: String,
    own: PeerId,
    /// Where this peer listens: its contact, for a later run. Guests have those of the ticket.
    addresses: Vec<String>,
    /// The host's player is ready, as it said last.
    ready: bool,
    share: OwnShare,
    draw: SeedDraw,
    reveal_until: Duration,
    /// The longest round trip between two peers, as those tell that have revealed their shares. `None` once one of them does
    /// not know all of its own.
    farthest: Option<Duration>,
    loading: Option<Loading>,
    /// Peers that did what no correct peer does.
    barred: Vec<PeerId>,
    /// Attempts that have failed by a key.
    failures: BTreeMap<PeerId, u32>,
    /// Keys that the host's player has removed.
    removed: Vec<PeerId>,
}

/// The world is being built from this start.
struct Loading {
    start: Start,
    hash: LogHash,
    /// Where each peer can be dialled.
    addresses: Vec<Vec<String>>,
    slowest_rtt: Duration,
}

impl NewMatch {
    /// The base, the host as an occupant, and how the lobby is kept.
    pub(in crate::session::lobby) fn new(
        core: &Core,
        own: OwnPeer,
        config: HostConfig,
    ) -> (Occupant, Customs, Self) {
        let customs = Customs {
            terms: config.terms,
            announce_every: Some(Duration::ZERO),
            duplicates: Patience {
                quiet: QUIET,
                wait: Duration::ZERO,
            },
            same_run_enters_again: true,
            pings_while_agreeing: true,
            hears_by_pings: false,
            chats: Some(config.match_id),
            sign_within: Some(6),
            loads: true,
            takes_links: true,
        };
        let occupant = Occupant {
            order: 0,
            peer: core.id(),
            incarnation: core.incarnation,
            name: own.name,
            build: own.build.clone(),
            seats: (0..own.seats).map(Seat).collect(),
            addresses: Vec::new(),
            ready: own.ready,
        };
        let mut base = NewMatch {
            share: OwnShare::new(config.match_id, core.id(), own.share),
            draw: SeedDraw::new(config.match_id),
            config,
            build: own.build,
            own: core.id(),
            addresses: own.addresses,
            ready: own.ready,
            reveal_until: Duration::ZERO,
            farthest: None,
            loading: None,
            barred: Vec::new(),
            failures: BTreeMap::new(),
            removed: Vec::new(),
        };
        base.commit(0);
        (occupant, customs, base)
    }

    fn commit(&mut self, attempt: u32) {
        let commitment = self.ready.then(|| self.share.commitment(attempt));
        self.draw.commit(self.own, commitment);
    }

    /// The longest round trip where guests do not know all: none takes longer than by way of the host, from one far guest to
    /// the other.
    fn by_way_of_host(core: &Core, room: &Room) -> Option<Duration> {
        let took = room.guests().map(|(_, link)| core.links.get(&link)?.probed);
        let mut took: Vec<Duration> = took.collect::<Option<_>>()?;
        took.sort_unstable();
        Some(took.iter().rev().take(2).sum())
    }

    /// The plan to begin with.
    fn plan(&self, core: &Core, room: &Room) -> Plan {
        let terms = &self.config.terms;
        let rtt = self.farthest.or_else(|| Self::by_way_of_host(core, room));
        let rtt = rtt.filter(|_| room.guests().next().is_some());
        rtt.map_or(terms.plan, |rtt| terms.plan_for(rtt / 2))
    }

    fn offer(&self) -> Offer {
        Offer {
            rules: self.config.rules,
            setup: self.config.setup.clone(),
            terms: self.config.terms,
        }
    }

    fn free_seats(&self, room: &Room) -> Vec<Seat> {
        room.free_seats(self.config.terms.seats)
    }

    /// A peer reveals its share. With the last one the start is settled.
    fn reveal(
        &mut self,
        core: &mut Core,
        standing: &Standing<'_>,
        peer: PeerId,
        share: [u8; 32],
    ) -> Next {
        let (roster, shares) = match self.draw.reveal(peer, share) {
            Revealed::Waits => return Next::Stay,
            Revealed::False => return Next::Expel(peer, JoinRefused::Fault(Fault::Reveal)),
            Revealed::All(roster, shares) => (roster, shares),
        };
        let match_id = self.config.match_id;
        let plan = self.plan(core, standing.room);
        self.config.terms.plan = plan;
        let start = start_of(match_id, &self.offer(), &roster, &shares, &self.build);
        let start = start.expect("every share was checked as it came");
        let attempt = standing.attempt;
        let shares = Control::Shares {
            attempt,
            plan,
            shares,
        };
        standing.broadcast(core, &shares);
        let hash = start_hash(&start);
        let signers = (0..).zip(roster.iter().map(|peer| peer.peer));
        let signatures = SignatureSet::new(&AgreedStart(hash), signers);
        core.out.push(Output::New {
            start: Arc::new(start.clone()),
            retracted: None,
        });
        self.loading = Some(Loading {
            start,
            hash,
            addresses: roster
                .into_iter()
                .map(|peer| match peer.peer == self.own {
                    true => self.addresses.clone(),
                    false => peer.addresses.into(),
                })
                .collect(),
            slowest_rtt: Duration::ZERO,
        });
        Next::Sign(signatures)
    }

    fn is_barred(&self, peer: PeerId) -> bool {
        let failures = self.failures.get(&peer);
        self.barred.contains(&peer) || failures.is_some_and(|failures| *failures >= FAILURES)
    }
}

impl Base for NewMatch {
    fn open(&mut self, _: &mut Core) -> Next {
        Next::Changed
    }

    fn sort(&self, message: &Control, _: bool) -> Sort {
        match message {
            Control::Join { .. } => Sort::Request,
            // A player of another match may look for this one at an address of old.
            Control::Branch { .. } => Sort::Harmless,
            _ => Sort::Guests,
        }
    }

    fn may_ask(&self, core: &Core, request: &Request) -> Result<Entry, JoinRefused> {
        let Control::Join {
            match_id, secret, ..
        } = &request.message
        else {
            return Err(JoinRefused::OtherMatch);
        };
        let knows = *secret == self.config.secret;
        let asks = *secret == NO_SECRET && self.config.takes_askers;
        if *match_id != self.config.match_id {
            Err(JoinRefused::OtherMatch)
        } else if !knows && !asks {
            Err(JoinRefused::Invite)
        } else if self.config.expires.is_some_and(|at| at <= core.now) {
            Err(JoinRefused::Expired)
        } else if self.removed.contains(&request.peer) {
            Err(JoinRefused::Removed)
        } else if self.is_barred(request.peer) {
            Err(JoinRefused::TooSlow)
        } else if knows {
            Ok(Entry::Proven)
        } else {
            Ok(Entry::Asked)
        }
    }

    fn admit(
        &mut self,
        core: &Core,
        standing: Standing<'_>,
        request: Request,
    ) -> Result<(Occupant, Option<Control>), JoinRefused> {
        let Control::Join {
            name,
            build,
            own_seats,
            addresses: told,
            ..
        } = request.message
        else {
            return Err(JoinRefused::OtherMatch);
        };
        let free = self.free_seats(standing.room);
        let full = JoinRefused::Full {
            seats: self.config.terms.seats,
        };
        if !standing.gathers && !free.is_empty() {
            return Err(JoinRefused::Started);
        }
        let wanted = usize::from(own_seats.max(1));
        let crowded = standing.room.guests().count() + 1 >= usize::from(core.limits.peers);
        if !standing.gathers || free.len() < wanted || crowded {
            return Err(full);
        }
        let occupant = Occupant {
            order: 0,
            peer: request.peer,
            incarnation: request.incarnation,
            name: standing.room.free_name(&tidy_name(&name)),
            build: tidy_text(&build, MAX_BUILD),
            seats: free[..wanted].to_vec(),
            addresses: told.behind(&core.links[&request.link].address),
            ready: false,
        };
        let welcome = Control::Welcome {
            offer: self.offer(),
            attempt: standing.attempt,
        };
        Ok((occupant, Some(welcome)))
    }

    fn received(
        &mut self,
        core: &mut Core,
        standing: Standing<'_>,
        from: PeerId,
        message: Control,
    ) -> Next {
        match message {
            Control::Ready { commit } if standing.gathers => {
                if self.draw.commitment(from) == commit {
                    return Next::Stay;
                }
                if !standing.room.takes_change(from, core.now) {
                    return Next::Fault(Fault::Flood);
                }
                self.draw.commit(from, commit);
                standing.room.set_ready(from, commit.is_some());
                Next::Changed
            }
            Control::Reveal {
                attempt,
                share,
                rtt_ms,
            } if attempt == standing.attempt => {
                let rtt = rtt_ms.map(|ms| Duration::from_millis(ms.min(MAX_RTT_MS).into()));
                self.farthest = self.farthest.zip(rtt).map(|(one, other)| one.max(other));
                self.reveal(core, &standing, from, share)
            }
            Control::Loaded {
                attempt,
                signature,
                rtt_ms,
            } if attempt == standing.attempt => {
                if let Some(loading) = &mut self.loading {
                    let rtt = Duration::from_millis(rtt_ms.min(MAX_RTT_MS).into());
                    loading.slowest_rtt = loading.slowest_rtt.max(rtt);
                }
                Next::Signed(from, signature.into())
            }
            // Changes of mind that crossed the lock on their way, and answers to an attempt that has failed since.
            Control::Ready { .. } | Control::Reveal { .. } | Control::Loaded { .. } => Next::Stay,
            _ => Next::Fault(Fault::OutOfPlace),
        }
    }

    fn bulk(&mut self, core: &mut Core, _: Standing<'_>, link: LinkId, bytes: &[u8]) -> Next {
        match decline(core, link, self.config.match_id, bytes) {
            true => Next::Stay,
            false => Next::Fault(Fault::OutOfPlace),
        }
    }

    fn set_ready(&mut self, standing: Standing<'_>, ready: bool) -> Next {
        self.ready = ready;
        // An attempt goes on; the next one begins with this.
        if !standing.gathers {
            return Next::Stay;
        }
        self.commit(standing.attempt);
        standing.room.set_ready(self.own, ready);
        Next::Changed
    }

    fn loaded(&mut self, core: &Core, _: Checksum) -> Next {
        match &self.loading {
            Some(loading) => {
                let signature = AgreedStart(loading.hash).sign(core.signer.as_ref());
                Next::Signed(self.own, signature)
            }
            None => Next::Stay,
        }
    }

    fn bar(&mut self, peer: PeerId) -> bool {
        if !self.removed.contains(&peer) {
            self.removed.push(peer);
        }
        true
    }

    fn asks_within(&self, limits: &Limits) -> Duration {
        ASKS_WITHIN.min(limits.handshake)
    }

    /// Locks the roster once all seats are taken and all peers are ready.
    fn settle(&mut self, core: &mut Core, standing: Standing<'_>) -> Next {
        if !self.free_seats(standing.room).is_empty() || !standing.room.all_are_ready() {
            return Next::Stay;
        }
        self.farthest = Some(Duration::ZERO);
        let locked = |occupant: &Occupant| LockedPeer {
            peer: occupant.peer,
            incarnation: occupant.incarnation,
            name: occupant.name.clone(),
            seats: occupant.seats.clone(),
            addresses: occupant.addresses.clone().into(),
            commit: self
                .draw
                .commitment(occupant.peer)
                .expect("all have committed"),
        };
        let mut roster: Vec<LockedPeer> = standing.room.occupants().map(locked).collect();
        roster.sort_by_key(|peer| peer.seats.first().copied());
        let attempt = standing.attempt;
        let lock = Control::Lock {
            attempt,
            roster: roster.clone(),
        };
        standing.broadcast(core, &lock);
        self.draw.lock(roster);
        let measures = MEASURE_WAIT * u32::from(self.config.terms.adaptive);
        self.reveal_until = core.now + core.limits.handshake + measures;
        match self.reveal(core, &standing, self.own, self.share.of(attempt)) {
            Next::Stay => Next::Prepare,
            next => next,
        }
    }

    fn skip(&mut self, away: Duration) {
        self.reveal_until += away;
    }

    fn preparation(&self) -> Option<(Duration, Vec<PeerId>)> {
        Some((self.reveal_until, self.draw.silent()))
    }

    fn lost(&mut self, _: Duration, peer: PeerId, why: Option<&JoinRefused>, agrees: bool) -> bool {
        self.draw.commit(peer, None);
        if matches!(why, Some(JoinRefused::Fault(_))) {
            self.barred.push(peer);
        } else if agrees {
            *self.failures.entry(peer).or_default() += 1;
        }
        agrees
    }

    fn fail(&mut self, _: &Core, standing: Standing<'_>) -> Option<Control> {
        let attempt = standing.attempt;
        self.draw.reset();
        self.loading = None;
        self.commit(attempt + 1);
        standing.room.set_ready(self.own, self.ready);
        standing.room.unready_guests();
        Some(Control::Unlock { attempt })
    }

    fn agreed(
        self: Box<Self>,
        core: &mut Core,
        standing: Standing<'_>,
        signatures: &SignatureSet,
    ) -> Result<Agreed, EndReason> {
        let loading = self.loading.expect("peers sign a start");
        let signatures: Vec<[u8; 64]> = signatures.signatures().map(|(_, one)| one).collect();
        let wait = match signatures.len() {
            1 => Duration::ZERO,
            _ => BEGIN_AFTER + loading.slowest_rtt * 2,
        };
        let begin = core.now + wait;
        let go = Control::Go {
            attempt: standing.attempt,
            signatures: signatures.iter().map(|one| (*one).into()).collect(),
            begin_ms: begin.as_millis() as u64,
        };
        let settled = Settled {
            start: Start {
                signatures,
                ..loading.start
            },
            addresses: loading.addresses,
            begin,
        };
        Ok(Agreed {
            late: Vec::new(),
            message: Some(go),
            one_link_each: true,
            step: Step::Begin(Box::new(settled)),
        })
    }
}
