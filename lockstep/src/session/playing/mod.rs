//! The match itself: seal, collect, complete, hand out, compare, end.

mod begin;
mod change;
mod continued;
mod ending;
mod epochs;
mod findings;
mod member;
mod messages;
mod patience;
mod presence;
mod rejoin;
mod stats;
mod traffic;
mod turns;
mod watch;

use super::Output;
use super::core::Core;
use super::ledger::{Batches, Ledger, LogWindow, Places, Tenure};
use super::link::Link;
use super::lobby::Settled;
use super::turns::{self as turn, Turns, World};
use super::verify::Verify;
use crate::log::{Peers, Record, TurnFold, What, start_hash};
use crate::{EndReason, Ended, Event, LinkError, LinkId, PeerId, Status};
use begin::Beginning;
pub(crate) use begin::Settings;
pub(crate) use continued::Continued;
use ending::Ending;
pub(crate) use ending::signed_end;
use epochs::Epochs;
use member::Member;
use patience::Patience;
use presence::Presence;
pub(crate) use presence::{GAP, LOOK_AT_TIME, WordKey};
use rejoin::Requests;
pub(crate) use rejoin::Returned;
use sim::{Checksum, Seat};
use std::sync::Arc;
use std::time::Duration;
use watch::Watch;

pub(crate) struct Playing {
    ledger: Ledger,
    members: Vec<Member>,
    turns: Turns,
    requests: Requests,
    leaving: Option<Leaving>,
    epochs: Epochs,
    watch: Watch,
    presence: Presence,
    patience: Patience,
    ending: Ending,
    /// A batch was sealed that has not left yet.
    fresh_batch: bool,
    verify: Verify,
    over: bool,
}

/// This peer leaves.
struct Leaving {
    since: Duration,
    /// The turn of the batch that says so, once sealed.
    sealed_for: Option<u32>,
}

impl Leaving {
    fn said(&self) -> bool {
        self.sealed_for.is_some()
    }
}

impl Playing {
    pub(crate) fn new(
        core: &mut Core,
        settled: Settled,
        initial: Checksum,
        settings: Settings,
    ) -> Self {
        let start = Arc::new(settled.start);
        let own_id = core.id();
        let me = start
            .roster
            .iter()
            .position(|peer| peer.peer == own_id)
            .expect("a settled roster holds this peer");
        let plan = start.plan;
        let first = u32::from(plan.delay_turns);
        let tenures = start.roster.iter().map(|_| Tenure::new(0, first, None));
        let addresses = settled.addresses.into_iter();
        let members: Vec<Member> = addresses
            .map(|addresses| Member::new(addresses, core.now))
            .collect();
        core.out.push(Output::Append(Record::Start(start.clone())));
        core.event(Event::Started {
            match_id: start.match_id,
            own: start.roster[me].seats.clone(),
            seats: start.seat_infos(),
            plan,
        });
        let kept = core.limits.unexecuted_turns as usize;
        let places = Places::new(start.clone(), me, Vec::new());
        let beginning = Beginning {
            verify: Verify::new(&places, 0, Peers::default()),
            ledger: Ledger {
                batches: Batches::new(tenures.collect()),
                window: LogWindow::new(0, &[start_hash(&start)], kept),
                places,
            },
            turns: turn::Beginning {
                fold: TurnFold::new(&start),
                world: World {
                    turns: 0,
                    ticks: 0,
                    executed: 0,
                    checksum: initial,
                },
                reports_from: 0,
                due: settled.begin,
            },
            epochs: Epochs::new(me, members.len(), core.now),
            members,
        };
        let mut playing = Playing::begin(core, settings, beginning);
        core.event(Event::Contacts(playing.contacts()));
        playing.report(core, me, 0, initial);
        core.out.extend(playing.turns.first_world());
        playing
    }

    pub(crate) fn own_seats(&self) -> &[Seat] {
        &self.ledger.places.start().roster[self.ledger.places.me()].seats
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    pub(crate) fn status(&self, now: Duration) -> Status {
        if self.over {
            Status::Ended
        } else if self.ending.desynced() {
            Status::Desynced
        } else if let Some(since) = self.turns.stalled_since() {
            Status::Stalled {
                on: self.waited_for(),
                since: now.saturating_sub(since),
            }
        } else if self.turns.is_paused() {
            Status::Paused
        } else {
            Status::Running
        }
    }

    pub(crate) fn issue(&mut self, seat: Seat, command: Vec<u8>) {
        self.turns.issue(seat, command);
    }

    pub(crate) fn chat(&mut self, core: &Core, text: &str) {
        self.turns.chat(text, &core.limits, core.now);
    }

    /// Pause or resume, for this peer's first seat.
    pub(crate) fn note(&mut self, what: What) {
        self.turns.note(what);
    }

    /// The batch that says so is sealed at once: a match that stands still must hear of it too. From now on this peer
    /// completes nothing for its own sake; it stays to answer until the others have decided to go on without it.
    pub(crate) fn leave(&mut self, core: &mut Core) {
        if self.leaving.is_some() {
            return;
        }
        self.leaving = Some(Leaving {
            since: core.now,
            sealed_for: None,
        });
        self.turns.give_up_stall(core.now);
        self.seal_leaving(core);
    }

    /// Advances to `core.now`: everything that is due happens, in order.
    pub(crate) fn advance(&mut self, core: &mut Core) {
        for link in core.links.values_mut() {
            link.place = self.leads_to(link);
        }
        self.advance_turns(core);
        if !self.over && self.advance_change(core) {
            self.advance_turns(core);
        }
        if !self.over && self.advance_presence(core) {
            self.advance_turns(core);
        }
        if !self.over {
            self.seal_leaving(core);
            self.tell_stall(core);
            self.advance_dispute(core);
            self.check_mismatch(core);
            self.advance_ending(core);
        }
        if !self.over {
            self.close_strangers(core);
            self.dial_lost_peers(core);
            self.pass_on_the_beginning(core);
            self.send_notes(core);
            self.send_what_is_due(core);
        }
    }

    pub(crate) fn deadline(&self, core: &Core) -> Option<Duration> {
        if self.over {
            return None;
        }
        let turn = self.turns.deadline(&self.gate(core.now), &self.ledger);
        let leaving = self
            .leaving
            .as_ref()
            .filter(|_| !self.ending.holds_turns())
            .map(|leaving| self.waits_until(leaving.since));
        [
            turn,
            leaving,
            self.change_deadline(),
            Some(self.presence.deadline()),
            self.words_deadline(core),
            self.notes_deadline(core),
            self.ending_deadline(),
            self.verify.deadlines(&self.around(core.now)).min(),
            self.traffic_deadline(core),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The seats whose batches, or answers to a roster change, the next turn waits for; own seats where only our world
    /// lags.
    fn waited_for(&self) -> Vec<Seat> {
        let Ledger {
            places,
            batches,
            window,
        } = &self.ledger;
        let missing = places
            .all()
            .filter(|at| !batches.has(*at, window.complete()));
        let mut seats: Vec<Seat> = missing
            .flat_map(|at| places.peer(at).seats.iter().copied())
            .collect();
        if seats.is_empty() && self.epochs.is_changing() {
            seats = self.ledger.places.seats_of(self.blockers());
        }
        if seats.is_empty() {
            seats = self.ledger.places.seats_of(self.unanswering());
        }
        // Some whose batch of this turn came before they were lost are missing as much as the others.
        if self.has_no_quorum() {
            seats.extend(self.ledger.places.seats_of(self.suspects()));
        }
        if seats.is_empty() {
            seats = self.own_seats().to_vec();
        }
        seats.sort_unstable();
        seats.dedup();
        seats
    }

    pub(crate) fn finish(&mut self, core: &mut Core, reason: EndReason) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        for link in core.links.keys().copied().collect::<Vec<_>>() {
            core.close(link);
        }
        if !matches!(reason, EndReason::Decided | EndReason::TurnLimit) {
            // What was just decided has no turn behind it yet, and may be what the newest batches speak of.
            self.log_changes(core, self.turns.handed_out());
            self.append_attests(core);
        }
        let ended = Ended {
            reason,
            turns: self.ending.turns().unwrap_or(self.turns.executed()),
            checksum: Some(self.ending.checksum().unwrap_or(self.turns.checksum())),
            outcome: self.ending.outcome(),
            agreed: self
                .asked_to_sign()
                .filter(|at| self.ending.agrees(*at))
                .count() as u8,
            of: self.asked_to_sign().count() as u8,
        };
        core.event(Event::Ended(ended));
    }

    /// A link that leads to no member may ask to join, and is told that it is too late; it may not stay. One that
    /// leads to a peer that is out stays until that one knows.
    fn close_strangers(&self, core: &mut Core) {
        let stays = |link: &Link| {
            link.proved.is_none()
                || link.up_at + core.limits.handshake > core.now
                || self.may_come_back(core, link.id)
                || self
                    .member_of(core, link.id)
                    .is_some_and(|at| self.epochs.has(at))
                || self.epochs.began_at + core.limits.handshake > core.now
        };
        let strangers: Vec<LinkId> = core
            .links
            .values()
            .filter(|link| !stays(link))
            .map(|link| link.id)
            .collect();
        for link in strangers {
            core.close(link);
        }
    }

    fn member_of(&self, core: &Core, link: LinkId) -> Option<usize> {
        let link = core.links.get(&link)?;
        let (_, incarnation) = link.proved?;
        let at = self.leads_to(link)?;
        self.ledger.places.is_current(at, incarnation).then_some(at)
    }

    /// Where the peer that a link leads to stands in the roster, whatever run of its process it is.
    fn leads_to(&self, link: &Link) -> Option<usize> {
        let (peer, _) = link.proved?;
        link.place.or_else(|| self.ledger.places.of(peer))
    }

    pub(crate) fn link_down(&mut self, core: &mut Core, peer: PeerId, why: LinkError) {
        if !self.over
            && core.links_to(peer).next().is_none()
            && self
                .ledger
                .places
                .of(peer)
                .is_some_and(|at| !self.ledger.batches.is_gone(at))
        {
            core.event(Event::LinkLost { peer, why });
        }
    }
}

#[cfg(test)]
mod tests;
