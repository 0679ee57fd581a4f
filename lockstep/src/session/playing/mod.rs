//! The match itself: seal, collect, complete, hand out, compare, end.

mod agreement;
mod align;
mod begin;
mod by_turn;
mod change;
mod compare;
mod continued;
mod ending;
mod epochs;
mod hand_out;
mod load;
mod member;
mod odd;
mod own;
mod patience;
mod presence;
mod proof;
mod receive;
mod rejoin;
mod seal;
mod snapshots;
mod stats;
mod traffic;
mod undo;
mod watch;

use super::Output;
use super::contract::Stats;
use super::core::Core;
use super::link::Link;
use super::lobby::Settled;
use crate::limits::MAX_CHAT;
use crate::log::{
    Bundle, Formed, Keyframe, Metered, Record, Start, TurnFold, What, start_hash, turn_hash,
};
use crate::text::tidy_text;
use crate::{EndReason, Ended, Event, LinkError, LinkId, PeerId, Status, TurnNumber};
use agreement::{Checksums, Hashes};
use align::Others;
use begin::Beginning;
pub(crate) use begin::Settings;
use compare::Mismatch;
pub(crate) use continued::Continued;
use ending::Ending;
use epochs::Epochs;
use load::Load;
use member::Member;
use odd::Odd;
use own::OwnSeat;
use patience::Patience;
use presence::Presence;
pub(crate) use presence::WordKey;
use proof::Dispute;
use rejoin::Requests;
use sim::{Checksum, Seat};
use snapshots::Snapshots;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use undo::Past;
use watch::Watch;

/// A stall is told to the game from here on, and then once a second.
const STALL_TOLD_AFTER: Duration = Duration::from_millis(100);

pub(crate) struct Playing {
    start: Arc<Start>,
    me: usize,
    members: Vec<Member>,
    own: Vec<OwnSeat>,
    course: TurnFold,
    /// Turns complete; the number of the next one to complete.
    complete: u32,
    hashes: Hashes,
    /// The first turn that this peer has not sealed.
    sealed: u32,
    /// When the next turn is due.
    due: Duration,
    stall: Option<Stall>,
    /// Bundles that are due but wait for a snapshot before them.
    due_bundles: VecDeque<Bundle>,
    handed_out: u32,
    /// Of turns before this one all texts are told.
    told: u32,
    ticks_handed_out: u64,
    executed: u32,
    /// Checksums of our world that no batch has reported yet, the first after `reported` turns.
    unreported: VecDeque<Checksum>,
    reported: u32,
    last_checksum: Checksum,
    checksums: Checksums,
    snapshot_due: Option<Keyframe>,
    snapshots: Snapshots,
    requests: Requests,
    keyframe_every: Option<u32>,
    stall_limit: Option<Duration>,
    slack_reported_at: Duration,
    load: Load,
    /// How much longer turns are to be, in all, for this peer to fall back in line.
    slew: Duration,
    chats: VecDeque<Duration>,
    leaving: Option<Leaving>,
    epochs: Epochs,
    watch: Watch,
    presence: Presence,
    patience: Patience,
    ending: Ending,
    /// A batch was sealed that has not left yet.
    fresh_batch: bool,
    /// Logs differ.
    dispute: Option<Dispute>,
    others: Others,
    mismatch: Option<Mismatch>,
    odd: Odd,
    past: Past,
    pub(crate) stats: Stats,
    over: bool,
}

struct Stall {
    since: Duration,
    told_at: Option<Duration>,
}

/// This peer leaves.
struct Leaving {
    since: Duration,
    /// The turn of the batch that says so, once sealed.
    sealed_for: Option<u32>,
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
        let first = TurnNumber(u32::from(plan.delay_turns));
        let members: Vec<Member> = start
            .roster
            .iter()
            .zip(settled.addresses)
            .map(|(peer, addresses)| Member::new(peer.clone(), addresses, first, core.now))
            .collect();
        core.out.push(Output::Append(Record::Start(start.clone())));
        core.event(Event::Started {
            match_id: start.match_id,
            own: start.roster[me].seats.clone(),
            seats: start.seat_infos(),
            plan,
        });
        let kept = core.limits.unexecuted_turns as usize;
        let beginning = Beginning {
            me,
            course: TurnFold::new(&start),
            epochs: Epochs::new(me, members.len(), core.now),
            turns: 0,
            ticks: 0,
            hashes: Hashes::new(start_hash(&start), kept),
            due: settled.begin,
            executed: 0,
            checksum: initial,
            reports_from: 0,
            members,
            start,
        };
        let mut playing = Playing::begin(core, settings, beginning);
        core.event(Event::Contacts(playing.contacts()));
        playing.report(core, me, 0, initial);
        if playing.past.begins_with(0, 0) {
            core.out.push(Output::Save { turns: 0 });
        }
        playing
    }

    fn keys(&self) -> Vec<PeerId> {
        let roster = self.start.roster.iter();
        roster.map(|peer| peer.peer).collect()
    }

    pub(crate) fn own_seats(&self) -> &[Seat] {
        &self.start.roster[self.me].seats
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    pub(crate) fn status(&self, now: Duration) -> Status {
        if self.over {
            Status::Ended
        } else if self.ending.desynced() {
            Status::Desynced
        } else if let Some(stall) = &self.stall {
            Status::Stalled {
                on: self.waited_for(),
                since: now.saturating_sub(stall.since),
            }
        } else if self.course.paused_by.is_some() {
            Status::Paused
        } else {
            Status::Running
        }
    }

    pub(crate) fn issue(&mut self, seat: Seat, command: Vec<u8>) {
        if let Some(own) = self.own.iter_mut().find(|own| own.seat == seat) {
            own.issue(command);
        }
    }

    pub(crate) fn chat(&mut self, core: &Core, text: &str) {
        while self
            .chats
            .front()
            .is_some_and(|at| *at + Duration::from_secs(10) <= core.now)
        {
            self.chats.pop_front();
        }
        let text = tidy_text(text, core.limits.chat_bytes);
        if self.chats.len() < core.limits.chats_per_10_s as usize && !text.is_empty() {
            self.chats.push_back(core.now);
            self.note(What::Chat(text));
        }
    }

    /// Pause or resume, for this peer's first seat.
    pub(crate) fn note(&mut self, what: What) {
        let bound = 16;
        if let Some(own) = self.own.first_mut()
            && own.notes() < bound
        {
            own.note(what);
        }
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
        self.give_up_stall(core.now);
        self.seal_last(core);
    }

    /// Whether the next batch may say that this peer leaves: not between a decision and the epoch that it begins. Who is
    /// removed by that decision and has not heard of it would take the word as given in the old epoch, and go on alone.
    fn may_say_leaving(&self) -> bool {
        self.epochs.pending().is_none()
    }

    /// Seals the batch that says that this peer leaves.
    fn seal_last(&mut self, core: &mut Core) {
        let unsaid = self
            .leaving
            .as_ref()
            .is_some_and(|leaving| leaving.sealed_for.is_none());
        let limit = self.start.turn_limit.unwrap_or(u32::MAX);
        let held_up = self.ending.holds_turns()
            || self.epochs.is_frozen()
            || !self.may_say_leaving()
            || self.presence.is_unsure()
            || self.sealed >= limit;
        if unsaid && !held_up {
            self.seal(core);
        }
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
            self.seal_last(core);
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

    fn advance_turns(&mut self, core: &mut Core) {
        while !self.over && self.completes_turns() && core.now >= self.due {
            self.seal_what_is_due(core);
            if !self.can_complete(core) {
                self.stall(core);
                break;
            }
            let late = self.stall.is_some();
            self.complete_turn(core, late);
            self.begin_epoch(core);
        }
    }

    pub(crate) fn deadline(&self, core: &Core) -> Option<Duration> {
        if self.over {
            return None;
        }
        let turn = match &self.stall {
            None if self.completes_turns() => Some(self.due),
            Some(stall) => Some(match stall.told_at {
                None => stall.since + STALL_TOLD_AFTER,
                Some(at) => at + Duration::from_secs(1),
            }),
            None => None,
        };
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
            self.dispute_deadline(),
            self.align_deadline(),
            self.mismatch_deadline(),
            self.traffic_deadline(core),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Whether another turn is to be completed.
    fn wants_turns(&self) -> bool {
        !self.ending.holds_turns()
            && self
                .start
                .turn_limit
                .is_none_or(|limit| self.complete < limit)
    }

    /// Whether this peer is to complete it: whoever has said that it leaves does so only where it must, to vote in the
    /// next epoch.
    fn completes_turns(&self) -> bool {
        let said = |leaving: &Leaving| leaving.sealed_for.is_some();
        let plays = !self.leaving.as_ref().is_some_and(said);
        let removed = self.epochs.is_out();
        self.wants_turns() && !removed && (plays || self.epochs.stays_for_next())
    }

    fn is_alone(&self) -> bool {
        self.members.len() == 1
    }

    fn can_complete(&self, core: &Core) -> bool {
        let turn = self.complete;
        // Alone there is nobody to keep up with: where the game does not poll, the match stands still.
        let ahead = if self.is_alone() {
            2
        } else {
            core.limits.unexecuted_turns
        };
        let world_follows = turn.saturating_sub(self.executed) < ahead;
        // What is decided says which log counts.
        let disputed = self.dispute.is_some() && self.epochs.pending().is_none();
        let held_up = disputed || self.presence.is_unsure();
        if held_up || !self.epochs.allows(turn) {
            return false;
        }
        let by_rule = turn < u32::from(self.start.plan.delay_turns);
        let is_held = by_rule || self.members.iter().all(|member| member.has(turn));
        world_follows && is_held && self.is_aligned()
    }

    fn stall(&mut self, core: &mut Core) {
        if self.stall.is_none() {
            self.stall = Some(Stall {
                since: self.due,
                told_at: None,
            });
            self.stats.late_turns += u64::from(!self.is_alone());
        }
        if self.is_alone() {
            return;
        }
        let (Some(stall), Some(limit)) = (&self.stall, self.stall_limit) else {
            return;
        };
        // Whoever is waited for since a change is not who was waited for before it.
        let since = stall.since.max(self.epochs.began_at);
        if core.now.saturating_sub(since) >= limit + self.longer() {
            let on = self.waited_for();
            self.finish(core, EndReason::StallLimit { on });
        }
    }

    /// The turn that is waited for does not come any more, or not to this peer. The wait counts all the same.
    fn give_up_stall(&mut self, now: Duration) {
        if let Some(stall) = self.stall.take() {
            self.stats.stalled += now.saturating_sub(stall.since);
        }
    }

    fn tell_stall(&mut self, core: &mut Core) {
        let on = if self.stall.is_some() {
            self.waited_for()
        } else {
            return;
        };
        let turn = TurnNumber(self.complete);
        let stall = self.stall.as_mut().expect("just seen");
        let next = stall.told_at.map_or(stall.since + STALL_TOLD_AFTER, |at| {
            at + Duration::from_secs(1)
        });
        if core.now >= next {
            stall.told_at = Some(core.now);
            core.event(Event::Stalled {
                turn,
                on,
                since: core.now.saturating_sub(stall.since),
            });
        }
    }

    /// The seats whose batches, or answers to a roster change, the next turn waits for; own seats where only our world
    /// lags.
    fn waited_for(&self) -> Vec<Seat> {
        let missing = self
            .members
            .iter()
            .filter(|member| !member.has(self.complete));
        let mut seats: Vec<Seat> = missing
            .flat_map(|member| member.peer.seats.iter().copied())
            .collect();
        if seats.is_empty() && self.epochs.is_changing() {
            seats = self.seats_of(self.blockers());
        }
        if seats.is_empty() {
            seats = self.seats_of(self.unanswering());
        }
        // Some whose batch of this turn came before they were lost are missing as much as the others.
        if self.has_no_quorum() {
            seats.extend(self.seats_of(self.suspects()));
        }
        if seats.is_empty() {
            seats = self.own_seats().to_vec();
        }
        seats.sort_unstable();
        seats.dedup();
        seats
    }

    fn complete_turn(&mut self, core: &mut Core, late: bool) {
        let turn = TurnNumber(self.complete);
        self.past.note(turn.0, &self.course, self.epochs.chained);
        let formed = self.form(turn);
        let began = if late { core.now } else { self.due };
        if let Some(stall) = self.stall.take() {
            let lateness = core.now.saturating_sub(stall.since);
            self.stats.stalled += lateness;
            if stall.told_at.is_some() {
                core.event(Event::StallEnded {
                    turn,
                    late: lateness,
                });
            }
        }
        self.due = began + formed.bundle.plan.turn() + self.slew_step();
        let before = self.epochs.chained.take();
        let hash = turn_hash(before.unwrap_or(self.hashes.newest()), &formed.bundle);
        self.hashes.push(hash);
        self.complete = turn.next().0;
        for own in &mut self.own {
            let executed = formed.executed.get(&own.seat).copied().unwrap_or(0);
            own.completed(turn.0, executed, self.course.paused_by.is_some());
        }
        self.tell(core, turn, &formed);
        self.told = self.told.max(self.complete);
        self.note_leavers(core, turn);
        self.due_bundles.push_back(formed.bundle);
        self.hand_out(core);
        self.check_pending_hashes(core);
        let lag = core.limits.unexecuted_turns + 2 * u32::from(self.course.plan.delay_turns) + 8;
        for at in 0..self.members.len() {
            let member = &mut self.members[at];
            member.forget_before(self.complete);
            let silent = self.complete.saturating_sub(member.reported) > lag;
            if silent && at != self.me && member.left_from.is_none() {
                self.misreports(core, at);
            }
        }
    }

    fn form(&mut self, turn: TurnNumber) -> Formed {
        let members = self.members.iter().filter(|member| member.required(turn.0));
        let batches = members.filter_map(|member| {
            let held = member.batches.get(turn.0)?;
            Some((member.peer.seats.as_slice(), &held.batch))
        });
        self.course.form(turn, batches)
    }

    fn tell(&self, core: &mut Core, turn: TurnNumber, formed: &Formed) {
        if let Some(seat) = formed.paused {
            core.event(Event::Paused { seat, turn });
        }
        if let Some(seat) = formed.resumed {
            core.event(Event::Resumed { seat, turn });
        }
        if let Some(Metered { plan, slow }) = formed.metered {
            let slow = slow.and_then(|seat| self.start.peer_with(seat));
            core.event(Event::PlanChanged {
                turn: turn.next(),
                plan,
                slow: slow.map_or(Vec::new(), |peer| peer.seats.clone()),
            });
        }
        let chats = formed.chats.iter().filter(|_| turn.0 >= self.told);
        for (seat, text) in chats {
            let from = self.start.peer_with(*seat);
            let from = from.map(|peer| peer.name.clone()).unwrap_or_default();
            core.event(Event::Chat {
                from,
                seat: Some(*seat),
                text: tidy_text(text, MAX_CHAT as u32),
            });
        }
    }

    fn note_leavers(&mut self, core: &mut Core, turn: TurnNumber) {
        for member in &mut self.members {
            let leaves = member
                .batches
                .get(turn.0)
                .is_some_and(|held| held.batch.leaving);
            if leaves && member.left_from.is_none() {
                member.left_from = Some(turn.next().0);
                core.event(Event::Left {
                    peer: member.peer.peer,
                    seats: member.peer.seats.clone(),
                    turn,
                });
            }
        }
        self.agree(core);
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
            self.log_changes(core, self.handed_out);
            self.append_attests(core);
        }
        let ended = Ended {
            reason,
            turns: self.ending.turns().unwrap_or(self.executed),
            checksum: Some(self.ending.checksum().unwrap_or(self.last_checksum)),
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
                || self.member_at(link).is_some_and(|at| self.epochs.has(at))
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
        self.member_at(core.links.get(&link)?)
    }

    /// The place of the member that a link leads to, where the other end is the run of its process that is of the match.
    fn member_at(&self, link: &Link) -> Option<usize> {
        let (_, incarnation) = link.proved?;
        let at = self.leads_to(link)?;
        (self.members[at].peer.incarnation == incarnation).then_some(at)
    }

    /// Where the peer that a link leads to stands in the roster, whatever run of its process it is.
    fn leads_to(&self, link: &Link) -> Option<usize> {
        let (peer, _) = link.proved?;
        link.place.or_else(|| self.place_of(peer))
    }

    pub(crate) fn link_down(&mut self, core: &mut Core, peer: PeerId, why: LinkError) {
        if !self.over
            && core.links_to(peer).next().is_none()
            && self
                .members
                .iter()
                .any(|m| m.peer.peer == peer && m.left_from.is_none())
        {
            core.event(Event::LinkLost { peer, why });
        }
    }
}

#[cfg(test)]
mod tests;
