//! The player: a peer with seats, a vote and a world. It is an assembly: it owns the components of a match and the data
//! that they share, tells each what it must know of the others (`facts`), and does what follows: of a roster change
//! (`change`), and of all else (`apply`).
//!
//! [`Player::advance`] is the one order in which they are called.

mod apply;
mod begin;
mod branch;
mod change;
mod facts;
mod receive;
mod traffic;

pub(crate) use begin::Settings;

use super::contract::{PeerStats, Stats};
use super::core::Core;
use super::ending::{Ending, Stage};
use super::ledger::{Held, Ledger};
use super::links::board::Board;
use super::links::dialling::Dialling;
use super::links::uplink::Uplink;
use super::membership::Membership;
use super::rejoin::MetBranches;
use super::timers::Timers;
use super::turns::{Seal, Sealed, SignedSnapshot, Step, Turns};
use super::verify::Verify;
use super::wire::Control;
use super::{Outlook, Output};
use crate::log::{Lead, Peers, Record, RosterChange, SignedBatch, What};
use crate::{
    Contact, EndReason, Event, Fault, JoinRefused, LinkError, LinkId, MatchId, PeerId, Status,
    TurnNumber,
};
use sim::{Checksum, Outcome, Seat};
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct Player {
    ledger: Ledger,
    turns: Turns,
    verify: Verify,
    membership: Membership,
    ending: Ending,
    board: Board,
    dialling: Dialling,
    uplink: Uplink,
    /// A batch was sealed that has not left yet.
    fresh_batch: bool,
    /// When the next packet is due, as of the last time that all that were due have left.
    next_packet: Option<Duration>,
    /// The changes by which the log has left a match for a branch, each with the match that it has left.
    branches: Vec<(MatchId, RosterChange)>,
    met: MetBranches,
    over: bool,
}

impl Player {
    pub(crate) fn received(&mut self, core: &mut Core, link: LinkId, message: Control) {
        let member = self.member_of(core, link);
        // A joiner may be further than this peer; what it passes on is signed by others, or proves itself.
        let of_the_match = member.is_some() || self.may_come_back(core, link);
        match message {
            // A guest that signed and lost its host may ask anew.
            Control::Join { .. } => core.refuse(link, JoinRefused::Started),
            end @ Control::End { .. } if member.is_some() => self.receive_end(core, link, end),
            Control::Rejoin { request, addresses } if member.is_none() => {
                self.receive_request(core, link, request, addresses.into());
            }
            Control::Bye if of_the_match => {
                if let Some(at) = member {
                    self.membership.note_goodbye(at);
                }
                core.close_for(link, LinkError::Closed);
            }
            Control::Evidence(shown) if of_the_match => self.receive_evidence(core, link, shown),
            Control::Roster(votes) if of_the_match => self.receive_votes(core, link, votes),
            Control::Decided(change) if of_the_match => {
                self.receive_decision(core, link, &change);
            }
            Control::Words(statuses) if of_the_match => {
                self.receive_statuses(core, link, statuses);
            }
            Control::Branch {
                left,
                change,
                match_id,
            } if of_the_match => self.receive_branch(core, link, (left, &change), match_id),
            // Of another match.
            Control::Branch { .. } => {}
            // What was on its way when it was admitted, or had ended for it; and what others pass on that had not heard this
            // peer yet, also an earlier run that stood still since.
            Control::Rejoin { .. } => {}
            Control::Reopen(_) | Control::End { .. } | Control::Go { .. } if of_the_match => {}
            // What was on its way when the match began.
            Control::Lobby(_)
            | Control::Pings(_)
            | Control::Ready { .. }
            | Control::Chat { .. }
                if member.is_some() => {}
            _ => core.fault(link, Fault::OutOfPlace),
        }
    }

    /// Everything that is due by now happens, in order.
    pub(crate) fn advance(&mut self, core: &mut Core) {
        for link in core.links.values_mut() {
            link.place = self.leads_to(link);
        }
        self.advance_turns(core);
        if !self.over && self.advance_membership(core) {
            self.advance_turns(core);
        }
        if !self.over && self.open_fence(core) {
            self.advance_turns(core);
        }
        if !self.over {
            self.tell_met_branches(core);
            self.seal_leaving(core);
            self.tell_stall(core);
            self.advance_dispute(core);
            self.check_mismatch(core);
            self.advance_ending(core);
        }
        if !self.over {
            self.close_strangers(core);
            self.dial_lost_peers(core);
            self.forward_start(core);
            self.send_facts(core);
            self.send_what_is_due(core);
            self.settle(core);
        }
    }

    /// Final turns go from the tail into the log.
    fn settle(&mut self, core: &mut Core) {
        let membership = &self.membership;
        let epoch = (membership.voters(), membership.epoch_began_with());
        let turns = self.verify.final_turns(epoch, &self.ledger);
        core.out.extend(self.turns.settle(turns));
    }

    /// Comes before anything else is done with a new time.
    pub(crate) fn detect_clock_gap(&mut self, core: &mut Core) {
        let Some(away) = self.membership.detect_clock_gap(core.now) else {
            return;
        };
        if self.over {
            return;
        }
        self.membership.skip(away, core.now);
        self.turns.skip(away, core.now);
        // Why logs or worlds differ may be what this peer was shown meanwhile.
        self.verify.skip(away, core.now);
        self.ending.skip(away);
        if self.membership.may_be_removed() && !self.ending.holds_turns() {
            let mut number = [0; 8];
            number.copy_from_slice(&core.draw()[..8]);
            self.membership.challenge(u64::from_le_bytes(number));
            core.event(Event::Slept { away });
        }
    }

    fn advance_turns(&mut self, core: &mut Core) {
        while !self.over {
            let gate = self.gate(core.now);
            if !self.turns.is_due(&gate, &self.ledger) {
                return;
            }
            self.seal_due(core);
            match self.turns.advance(&gate, &mut self.ledger) {
                Step::Idle => return,
                Step::Stalled(since) => {
                    // A peer that is waited for since a change is not the one that was waited for before it.
                    let since = since.max(self.membership.epoch_began_at());
                    let more = self.membership.patience();
                    if self.turns.exceeds_limit(since, more, core.now) {
                        let on = self.waited_for();
                        self.finish(core, EndReason::StallLimit { on }, None);
                    }
                    return;
                }
                Step::Complete(events) => {
                    core.out.extend(events.into_iter().map(Output::Event));
                    self.agree(core);
                    self.settle(core);
                    self.hand_out(core);
                    self.check_hashes(core);
                    self.forget_old(core);
                    self.begin_epoch(core);
                }
            }
        }
    }

    /// Advances a pending roster change. Whether turns may complete that could not before.
    fn advance_membership(&mut self, core: &mut Core) -> bool {
        let around = self.around_change(core.now);
        let told = self.membership.count_extensions(&around, &self.ledger);
        core.out.extend(told.map(Output::Event));
        self.note_links(core);
        let told = self.membership.watch(&around, &self.ledger);
        core.out.extend(told.into_iter().map(Output::Event));
        if self.ending.is_desynced() {
            return false;
        }
        let waited = !self.membership.allows(self.ledger.window.complete());
        let signer = core.signer.as_ref();
        let places = &self.ledger.places;
        if let Some(change) = self.membership.take_earlier_decision(places, signer) {
            self.decided(core, change);
        }
        self.deliver_votes(core);
        self.coordinate(core);
        self.reconcile(core);
        if self.membership.is_changing() {
            let around = self.around_change(core.now);
            let signer = core.signer.as_ref();
            let actions = self.membership.look(&around, &self.ledger, signer);
            self.act(core, actions);
            self.deliver_votes(core);
        }
        self.begin_epoch(core);
        waited && !self.over && self.membership.allows(self.ledger.window.complete())
    }

    fn advance_ending(&mut self, core: &mut Core) {
        if self.membership.is_changing() {
            self.ending.wait_for_change(core.now);
        }
        while !self.over && !self.ending.is_far() {
            let around = self.around_ending(core);
            match self.ending.advance(&around) {
                Stage::Open => return,
                Stage::Differs(turns, told) => {
                    let around = self.around_verify(core.now);
                    let ledger = &self.ledger;
                    let (findings, goes_on) = self.verify.judge_ends(turns, &told, ledger, &around);
                    self.act_on(core, findings);
                    if !goes_on {
                        return;
                    }
                }
                Stage::Agreed(end, reason) => {
                    let signed = end.signatures.iter().map(|(at, _)| *at).collect();
                    // Other peers may go on without this one, from before its last turns: these stay provisional. A leaver
                    // goes on with no peer.
                    let here = around.asked.without(self.ledger.batches.leaving());
                    let by_all = !here.is_empty() && here.is_within(signed);
                    let is_final = by_all || self.membership.voters().is_quorum(signed);
                    self.finish(core, reason, Some(end).filter(|_| is_final));
                }
                Stage::Over(reason) => {
                    if let EndReason::Removed | EndReason::Left = reason {
                        // A peer that is removed with this one may hear of that from no other.
                        self.send_facts(core);
                    }
                    self.finish(core, reason, None);
                }
            }
        }
    }

    pub(crate) fn timers(&self, core: &Core, timers: &mut Timers) {
        if self.over {
            return;
        }
        let (now, ledger) = (core.now, &self.ledger);
        let around = self.around_membership(now);
        let disputed = self.verify.is_disputed();
        self.turns.timers(&self.gate(now), ledger, timers);
        self.membership.timers(&around, ledger, timers);
        self.verify.timers(&self.around_verify(now), timers);
        self.ending.timers(disputed, self.turns.plan(), timers);
        self.facts_timers(core, timers);
        self.traffic_timers(core, timers);
    }

    pub(crate) fn own_seats(&self) -> &[Seat] {
        let places = &self.ledger.places;
        &places.peer(places.me()).seats
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    pub(crate) fn status(&self, now: Duration) -> Status {
        if self.over {
            Status::Ended
        } else if self.ending.is_desynced() {
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

    /// What has been measured so far, the wait that still goes on included. The session knows the links.
    pub(crate) fn stats(&self, now: Duration) -> Stats {
        let peers = self.there().map(|at| {
            let (slack_ms, slack_there_ms) = self.turns.slack(at);
            PeerStats {
                peer: self.ledger.places.key(at),
                slack_ms,
                slack_there_ms,
                lead: self.lead(at),
                unheard: self.membership.unheard(at, now),
            }
        });
        let (late_turns, stalled) = self.turns.late(now);
        Stats {
            late_turns,
            stalled,
            peers: peers.collect(),
            agreed: self.verify.agreed(now),
            ..Stats::default()
        }
    }

    /// The other peers that are here.
    fn there(&self) -> impl Iterator<Item = usize> {
        let (places, batches) = (&self.ledger.places, &self.ledger.batches);
        let others = places.all().filter(|at| *at != places.me());
        others.filter(|at| !batches.is_going(*at))
    }

    fn lead(&self, at: usize) -> Option<Lead> {
        self.turns.lead(at, self.there())
    }

    pub(crate) fn outlook(&self) -> Outlook {
        self.turns.outlook()
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

    /// The players of this peer want to wait longer.
    pub(crate) fn wait_longer(&mut self) {
        let stalled = self.turns.stalled_since().is_some();
        self.membership.wait_longer(stalled, &self.ledger);
    }

    /// The batch that says so is sealed at once: a match that stands still must hear of it too. From now on this peer
    /// completes no turn for its own sake; it stays to answer until the others have decided to go on without it.
    pub(crate) fn leave(&mut self, core: &mut Core) {
        if self.ending.leave(core.now) {
            self.turns.give_up_stall(core.now);
            self.seal_leaving(core);
        }
    }

    pub(crate) fn world_executed(
        &mut self,
        core: &mut Core,
        checksum: Checksum,
        outcome: Option<Outcome>,
        step: Duration,
    ) {
        if self.turns.is_loading() {
            return;
        }
        let has_ended = self.ending.holds_turns();
        let told = (checksum, step);
        let ledger = &self.ledger;
        let executed = self.turns.world_executed(told, has_ended, ledger, core.now);
        let Some(executed) = executed else {
            return;
        };
        if executed.is_new {
            self.report(core, self.ledger.places.me(), executed.turns, checksum);
        }
        let reason = match outcome {
            Some(_) => EndReason::Decided,
            None if executed.is_last => EndReason::TurnLimit,
            None => return,
        };
        self.begin_ending(core, reason, outcome);
    }

    /// The world that was to take the place of another has.
    pub(crate) fn world_loaded(&mut self, checksum: Checksum) {
        self.turns.world_loaded(checksum);
    }

    pub(crate) fn snapshot(&mut self, core: &mut Core, turns: u32, bytes: Arc<[u8]>) {
        if self.turns.is_loading() {
            return;
        }
        let (len, limit) = (bytes.len() as u64, core.limits.snapshot_bytes);
        let fits = len <= limit;
        if self.turns.outgrows(len, limit) {
            core.event(Event::WorldTooLarge {
                turns,
                bytes: len,
                limit,
            });
        }
        let end = self.ending.turns();
        let keyframe = self.turns.saved(turns, bytes, end, &core.limits);
        if let Some(keyframe) = keyframe.filter(|_| fits) {
            let record = Record::Keyframe(keyframe);
            core.out.extend(self.turns.record(turns, record));
            self.log_attests(core);
        }
        if end.is_none_or(|end| turns <= end) && !self.ending.holds_turns() {
            self.hand_out(core);
        }
    }

    fn seal_due(&mut self, core: &mut Core) {
        let gate = self.gate(core.now);
        let sealed = self.turns.seal_due(&gate, &mut self.ledger, seal(core));
        self.note_sealed(sealed);
        let news = self.turns.backlog_news().into_iter();
        core.out.extend(news.map(Output::Event));
    }

    fn seal_leaving(&mut self, core: &Core) {
        let gate = self.gate(core.now);
        let ledger = &mut self.ledger;
        let sealed = self.turns.seal_leaving(&gate, ledger, seal(core));
        self.note_sealed(sealed);
    }

    fn note_sealed(&mut self, sealed: Sealed) {
        self.fresh_batch |= sealed.batches > 0;
        if let Some(turn) = sealed.leaving {
            self.ending.said_leaving(turn);
        }
    }

    fn hand_out(&mut self, core: &mut Core) {
        let gate = self.gate(core.now);
        let window = &self.ledger.window;
        core.out.extend(self.turns.hand_out(&gate, window));
    }

    fn tell_stall(&mut self, core: &mut Core) {
        if let Some(since) = self.turns.tell_stall(core.now) {
            let turn = TurnNumber(self.ledger.window.complete());
            let on = self.waited_for();
            core.event(Event::Stalled { turn, on, since });
        }
    }

    /// The seats whose batches, or answers to a roster change, the next turn waits for; own seats where only this peer's
    /// world lags.
    fn waited_for(&self) -> Vec<Seat> {
        let Ledger {
            places,
            batches,
            window,
        } = &self.ledger;
        let missing = places.all();
        let missing = missing.filter(|at| !batches.has(*at, window.complete()));
        let missing: Peers = missing.map(|at| at as u8).collect();
        let mut seats = places.seats_of(missing);
        if seats.is_empty() && self.membership.is_changing() {
            let around = self.around_change(Duration::ZERO);
            seats = places.seats_of(self.membership.known_blockers(&around, &self.ledger));
        }
        if seats.is_empty() {
            seats = places.seats_of(self.membership.unresponsive(places));
        }
        // A lost peer is missing even where its batch of this turn came before.
        if self.membership.has_lost_quorum() {
            seats.extend(places.seats_of(self.membership.suspects()));
        }
        if seats.is_empty() {
            seats = self.own_seats().to_vec();
        }
        seats.sort_unstable();
        seats.dedup();
        seats
    }

    pub(crate) fn match_id(&self) -> MatchId {
        self.ledger.places.start().match_id
    }

    /// The place of a key in the start's roster.
    pub(crate) fn place_of(&self, peer: PeerId) -> Option<usize> {
        self.ledger.places.of(peer)
    }

    /// The newest snapshot that a quorum has signed.
    pub(crate) fn signed_snapshot(&self) -> Option<&SignedSnapshot> {
        self.turns.signed_snapshot()
    }

    /// Each roster peer's newest batch that attests no more than so many turns.
    pub(crate) fn attests(&self, turns: u32) -> impl Iterator<Item = &SignedBatch> {
        self.newest_attests(turns).map(|held| &held.signed)
    }

    fn newest_attests(&self, turns: u32) -> impl Iterator<Item = &Held> {
        let Ledger {
            places,
            batches,
            window,
        } = &self.ledger;
        let voters = places.all().filter(|at| self.membership.has(*at));
        voters.filter_map(move |at| batches.newest_within(at, window.at_most(turns)))
    }

    /// Up to how many turns a quorum's batches attest the log.
    pub(crate) fn attested(&self, turns: u32) -> u32 {
        let newest = self.newest_attests(turns);
        let told = newest.map(|held| (held.batch.complete, held.signed.peer));
        let mut told: Vec<(u32, u8)> = told.collect();
        told.sort_unstable_by_key(|(turns, at)| (std::cmp::Reverse(*turns), *at));
        let voters = self.membership.voters();
        let quorum = (1..=told.len()).find(|count| {
            let first = told[..*count].iter().map(|(_, at)| *at);
            voters.is_quorum(first.collect())
        });
        quorum.map_or(0, |count| told[count - 1].0)
    }

    /// When the turn after `turns` turns is due, in milliseconds from now.
    pub(crate) fn due_in_ms(&self, now: Duration, turns: u32) -> i32 {
        let complete = self.ledger.window.complete();
        self.turns.due_in_ms(turns, complete, now)
    }

    /// Where the peers of the match are found.
    pub(crate) fn member_addresses(&self) -> Vec<String> {
        self.dialling.all_addresses()
    }

    /// Where the peers of the match can be dialled, by index in the start's roster.
    pub(crate) fn contacts(&self) -> Vec<Contact> {
        let places = &self.ledger.places;
        let contact = |at: usize| Contact {
            peer: places.key(at),
            addresses: self.dialling.addresses(at).to_vec(),
        };
        places.all().map(contact).collect()
    }
}

fn seal(core: &Core) -> Seal<'_> {
    Seal {
        signer: core.signer.as_ref(),
        run: core.incarnation,
        limits: &core.limits,
    }
}

#[cfg(test)]
mod tests;
