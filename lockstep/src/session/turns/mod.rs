//! Turns: a peer seals a batch for each, collects those of the others, completes a turn once it has all of them, and
//! delivers it to the log and the world.
//!
//! A [`Gate`] holds all that turns know of the rest of the match.

mod arrivals;
mod clock;
mod collect;
mod delivery;
mod lead;
mod load;
mod own_seats;
mod retraction;
mod seal;
mod snapshots;
mod stall;
#[cfg(test)]
mod tests;

pub(crate) use collect::{Arrival, Collected};
pub(crate) use delivery::World;
pub(crate) use seal::{Seal, Sealed};
pub(crate) use snapshots::SignedSnapshot;

use super::ledger::{Ledger, LogWindow};
use super::timers::{Timer, Timers};
use super::{Outlook, Output};
use crate::limits::MAX_CHAT;
use crate::log::{
    Formed, Keyframe, Lead, Peers, PlanChange, Record, RosterChange, Start, TurnFold, Voters, What,
};
use crate::text::tidy_text;
use crate::{Event, Limits, LogHash, Plan, TurnNumber};
use arrivals::Arrivals;
use clock::Clock;
use delivery::Delivery;
use lead::{LONGEST_LEAD_MS, Leads};
use load::Load;
use own_seats::OwnSeats;
use retraction::RetractionBuffer;
use seal::OwnReports;
use sim::{Checksum, Seat};
use snapshots::Snapshots;
use stall::Stalls;
use std::sync::Arc;
use std::time::Duration;

/// What turns are told of the rest of the match.
#[derive(Clone, Copy)]
pub(crate) struct Gate {
    pub now: Duration,
    pub voters: Voters,
    pub epoch: u32,
    /// This peer has no more turns to complete: it is out, or has left.
    pub is_closed: bool,
    /// The match has ended, by agreement or by a difference.
    pub has_ended: bool,
    /// Nothing may be completed or sealed while the roster changes.
    pub is_frozen: bool,
    /// Nothing may be completed, sealed or handed out until others have answered.
    pub is_fenced: bool,
    /// Logs differ: nothing is completed that is not decided.
    pub is_disputed: bool,
    /// The last turn of the epoch, once it is decided, and the log's hash there.
    pub cut: Option<(u32, Option<LogHash>)>,
    /// The next batch says that this peer leaves; one has said so.
    pub says_leaving: bool,
    pub said_leaving: bool,
}

/// A turn, or none.
pub(crate) enum Step {
    /// Nothing is due.
    Idle,
    /// The next turn waits since then.
    Stalled(Duration),
    /// It is complete: what the game is told, and the delivery that follows.
    Complete(Vec<Event>),
}

/// What the world's next turn came to.
pub(crate) struct Executed {
    pub turns: u32,
    /// No report has told of this world before.
    pub is_new: bool,
    /// It was the last one that the match allows.
    pub is_last: bool,
}

/// Where this peer's part begins.
pub(crate) struct Beginning {
    pub fold: TurnFold,
    pub world: World,
    /// Worlds of at least so many turns are reported.
    pub reports_from: u32,
    /// When the next turn is due.
    pub due: Duration,
    /// Turns that the world may lie behind.
    pub most_unexecuted: u32,
}

pub(crate) struct Turns {
    fold: TurnFold,
    own: OwnSeats,
    /// The first turn that this peer has not sealed.
    sealed: u32,
    reports: OwnReports,
    clock: Clock,
    leads: Leads,
    arrivals: Arrivals,
    stalls: Stalls,
    stall_limit: Option<Duration>,
    /// Turns that the world may lie behind.
    most_unexecuted: u32,
    /// All texts of turns before this one are told.
    told: u32,
    delivery: Delivery,
    /// A world was above the limit on snapshots.
    has_outgrown: bool,
}

impl Turns {
    pub(crate) fn new(
        beginning: Beginning,
        ledger: &Ledger,
        keyframe_every: Option<Duration>,
        stall_limit: Option<Duration>,
        now: Duration,
    ) -> Self {
        let Beginning {
            fold,
            world,
            reports_from,
            due,
            most_unexecuted,
        } = beginning;
        let (places, turns) = (&ledger.places, world.turns);
        let (terms, peers) = (&places.start().terms, places.len());
        let kept = (Snapshots::new(terms, peers), RetractionBuffer::new(peers));
        let load = Load::new(now, turns.saturating_sub(world.executed));
        let keyframe_every = keyframe_every.map(|every| terms.turns_in(every));
        Turns {
            // Alone there is no peer to wait for, and none to keep up with: where the game does not poll, the match stands
            // still.
            stall_limit: stall_limit.filter(|_| peers > 1),
            most_unexecuted: match peers {
                1 => 2,
                _ => most_unexecuted,
            },
            own: OwnSeats::new(&places.peer(places.me()).seats, &fold),
            sealed: ledger.batches.held(places.me()),
            reports: OwnReports::new(reports_from, world.executed, world.checksum),
            clock: Clock::new(due, peers, now),
            leads: Leads::new(peers),
            arrivals: Arrivals::new(peers),
            stalls: Stalls::default(),
            told: turns,
            delivery: Delivery::new(world, keyframe_every, load, kept),
            has_outgrown: false,
            fold,
        }
    }

    pub(crate) fn issue(&mut self, seat: Seat, command: Vec<u8>) {
        self.own.issue(seat, command);
    }

    /// What a command that is issued now has before it.
    pub(crate) fn outlook(&self) -> Outlook {
        Outlook {
            next: TurnNumber(self.sealed),
            waiting: self.own.waiting_bytes(),
        }
    }

    /// What the game is to be told of commands that wait.
    pub(crate) fn backlog_news(&mut self) -> Vec<Event> {
        self.own.news()
    }

    pub(crate) fn chat(&mut self, text: &str, limits: &Limits, now: Duration) {
        self.own.chat(text, limits, now);
    }

    /// Pause or resume, for this peer's first seat.
    pub(crate) fn note(&mut self, what: What) {
        self.own.note(what);
    }

    pub(crate) fn fold(&self) -> &TurnFold {
        &self.fold
    }

    pub(crate) fn plan(&self) -> Plan {
        self.fold.plan
    }

    /// Tells the plan of the next turn.
    pub(crate) fn tell_plan(&self, ledger: &Ledger) -> Event {
        let turn = TurnNumber(ledger.window.complete());
        plan_changed(turn, self.fold.in_force(), ledger.places.start())
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.fold.paused_by.is_some()
    }

    /// Since when the next turn is waited for.
    pub(crate) fn stalled_since(&self) -> Option<Duration> {
        self.stalls.since
    }

    /// Whether the game was told of it.
    pub(crate) fn is_stall_told(&self) -> bool {
        self.stalls.is_told()
    }

    /// Turns that were late, and the time spent waiting for them.
    pub(crate) fn late(&self, now: Duration) -> (u64, Duration) {
        (self.stalls.late_turns, self.stalls.total(now))
    }

    /// Slack of a peer's batches here, and of this peer's there, over the last reports: milliseconds before their deadline.
    pub(crate) fn slack(&self, at: usize) -> (Option<i16>, Option<i16>) {
        let budget = self.budget_ms();
        let (here, there) = self.clock.ways(at);
        let slack = |way: i16| budget.saturating_sub(way);
        (here.map(slack), there.map(slack))
    }

    /// Time from the sealing of a batch until a peer needs it, to which it takes this way.
    pub(crate) fn needed_within(&self, at: usize, way: Duration) -> Duration {
        let network = self.fold.plan.network_budget();
        self.clock.way_there(at).map_or(network, |there_ms| {
            let there = Duration::from_millis(u64::try_from(there_ms).unwrap_or(0));
            network.min(way + network.saturating_sub(there))
        })
    }

    /// The first turn of which a peer owes its batch, and when that batch should have come, if its way takes so long.
    pub(crate) fn expected(
        &self,
        at: usize,
        way: Duration,
        ledger: &Ledger,
    ) -> Option<(u32, Duration)> {
        let Ledger {
            places, batches, ..
        } = ledger;
        let turn = batches.held(at);
        let own = batches.get(places.me(), turn)?;
        let is_last = batches.leaves(at).is_some_and(|last| last < turn);
        let is_owed = batches.required(at, turn) && !is_last;
        let of_turn = (turn, self.fold.plan.turn());
        let expected = || self.arrivals.expected(at, of_turn, own.arrived, way);
        is_owed.then(|| (turn, expected()))
    }

    /// How long before their deadline a peer's batches leave, against those of all `there`.
    pub(crate) fn lead(&self, at: usize, there: impl Iterator<Item = usize>) -> Option<Lead> {
        let budget = self.fold.plan.network_budget();
        Some(Lead {
            ms: self.leads.of(at, budget)?,
            usual_ms: budget.as_millis().min(LONGEST_LEAD_MS) as i16,
            stands_out: self.leads.stands_out(at, there, budget),
        })
    }

    /// The time from sealing a batch in time to its deadline.
    fn budget_ms(&self) -> i16 {
        let budget = self.fold.plan.network_budget().as_millis();
        i16::try_from(budget).unwrap_or(i16::MAX)
    }

    /// When the turn after `turns` turns is due, in milliseconds from now.
    pub(crate) fn due_in_ms(&self, turns: u32, complete: u32, now: Duration) -> i32 {
        let ahead = i64::from(turns) - i64::from(complete);
        let turn = self.fold.plan.turn().as_millis() as i64;
        let due = self.clock.earliest().as_millis() as i64 - now.as_millis() as i64 + ahead * turn;
        due.clamp(-600_000, 600_000) as i32
    }

    /// The newest snapshot that a quorum has signed.
    pub(crate) fn signed_snapshot(&self) -> Option<&SignedSnapshot> {
        self.delivery.snapshots.signed()
    }

    pub(crate) fn handed_out(&self) -> u32 {
        self.delivery.handed_out()
    }

    /// Turns that the world has executed.
    pub(crate) fn executed(&self) -> u32 {
        self.delivery.executed()
    }

    /// Checksum of the world after them.
    pub(crate) fn checksum(&self) -> Checksum {
        self.delivery.checksum()
    }

    pub(crate) fn timers(&self, gate: &Gate, ledger: &Ledger, timers: &mut Timers) {
        let told = self.stalls.tell_at();
        let due = || self.completes(gate, ledger).then(|| self.due(gate, ledger));
        timers.set(Timer::Turn, told.or_else(due));
    }

    /// Whether another turn belongs to the match.
    pub(crate) fn wants_more(&self, gate: &Gate, ledger: &Ledger) -> bool {
        !gate.has_ended && ledger.window.complete() < self.limit(ledger)
    }

    fn completes(&self, gate: &Gate, ledger: &Ledger) -> bool {
        self.wants_more(gate, ledger) && !gate.is_closed
    }

    fn limit(&self, ledger: &Ledger) -> u32 {
        ledger.places.start().terms.turn_limit.unwrap_or(u32::MAX)
    }

    /// Whether the next turn is due.
    pub(crate) fn is_due(&self, gate: &Gate, ledger: &Ledger) -> bool {
        self.completes(gate, ledger) && gate.now >= self.due(gate, ledger)
    }

    /// When the next turn is due: earlier, where all of it has come already, by what this peer has waited.
    fn due(&self, gate: &Gate, ledger: &Ledger) -> Duration {
        let (earliest, due) = (self.clock.earliest(), self.clock.due());
        match earliest < due && self.can_complete(gate, ledger) {
            true => earliest,
            false => due,
        }
    }

    /// Completes the next turn, which is due, or waits for it.
    pub(crate) fn advance(&mut self, gate: &Gate, ledger: &mut Ledger) -> Step {
        if !self.is_due(gate, ledger) {
            return Step::Idle;
        }
        if self.can_complete(gate, ledger) {
            return Step::Complete(self.complete(gate, ledger));
        }
        if self.stalls.since.is_none() {
            self.stalls.late_turns += u64::from(ledger.places.len() > 1);
        }
        // Since now, not since it was due: where this process has stood still no other peer is to blame.
        Step::Stalled(*self.stalls.since.get_or_insert(gate.now))
    }

    /// Whether a turn is waited for longer than this peer waits, with what players have given `more`, and for no less than
    /// the others have after their votes.
    pub(crate) fn exceeds_limit(
        &self,
        since: Duration,
        (more, least): (Duration, Duration),
        now: Duration,
    ) -> bool {
        let waited = now.saturating_sub(since);
        let limit = self.stall_limit;
        limit.is_some_and(|limit| waited >= limit + more && waited >= least)
    }

    fn can_complete(&self, gate: &Gate, ledger: &Ledger) -> bool {
        let (turn, places) = (ledger.window.complete(), &ledger.places);
        let world_follows = turn.saturating_sub(self.executed()) < self.most_unexecuted;
        let disputed = gate.is_disputed && gate.cut.is_none();
        let after_cut = gate.cut.is_some_and(|(cut, _)| turn >= cut);
        if disputed || gate.is_fenced || gate.is_frozen || after_cut || !world_follows {
            return false;
        }
        let by_rule = turn < u32::from(places.start().terms.plan.delay_turns);
        let mut all = places.all();
        (by_rule || all.all(|at| ledger.batches.has(at, turn))) && self.leads_to_cut(gate, ledger)
    }

    /// Whether what is held leads to the log that is decided. Of what reopens the match no turns are missing.
    fn leads_to_cut(&self, gate: &Gate, ledger: &Ledger) -> bool {
        let Some((cut, Some(log_hash))) = gate.cut else {
            return true;
        };
        let ahead = ledger.hashes_ahead(&self.fold, None);
        ledger.hash_at(cut, &ahead) == Some(log_hash)
    }

    fn complete(&mut self, gate: &Gate, ledger: &mut Ledger) -> Vec<Event> {
        let turn = TurnNumber(ledger.window.complete());
        let chained = ledger.window.chained();
        self.delivery.retraction.note(turn.0, &self.fold, chained);
        let formed = self.form(turn, ledger);
        let mut events = Vec::new();
        let began = match self.stalls.since {
            Some(_) => gate.now,
            None => self.clock.due().min(gate.now),
        };
        if let Some(late) = self.stalls.end(gate.now) {
            events.push(Event::StallEnded { turn, late });
        }
        let next = self.fold.plan.turn();
        self.clock.begin(began, formed.bundle.plan, next);
        ledger.window.push(&formed.bundle);
        self.own.complete(&formed, self.fold.paused_by.is_some());
        self.tell(turn, &formed, ledger, &mut events);
        self.told = self.told.max(ledger.window.complete());
        note_leavers(turn, ledger, &mut events);
        self.delivery.push(formed.bundle);
        events
    }

    fn form(&mut self, turn: TurnNumber, ledger: &Ledger) -> Formed {
        let Ledger {
            places, batches, ..
        } = ledger;
        let required = places.all().filter(|at| batches.required(*at, turn.0));
        let sealed = required.filter_map(|at| {
            let held = batches.get(at, turn.0)?;
            Some((places.peer(at).seats.as_slice(), &held.batch))
        });
        self.fold.form(turn, sealed)
    }

    fn tell(&self, turn: TurnNumber, formed: &Formed, ledger: &Ledger, events: &mut Vec<Event>) {
        let start = ledger.places.start();
        if let Some(seat) = formed.paused {
            events.push(Event::Paused { seat, turn });
        }
        if let Some(seat) = formed.resumed {
            events.push(Event::Resumed { seat, turn });
        }
        if let Some(change) = formed.new_plan {
            events.push(plan_changed(turn.next(), change, start));
        }
        let chats = formed.chats.iter().filter(|_| turn.0 >= self.told);
        for (seat, text) in chats {
            let from = start.peer_with(*seat);
            events.push(Event::Chat {
                from: from.map(|peer| peer.name.clone()).unwrap_or_default(),
                seat: Some(*seat),
                text: tidy_text(text, MAX_CHAT as u32),
            });
        }
    }

    /// Turns before this one are final.
    pub(crate) fn settle(&mut self, turns: u32) -> Vec<Output> {
        self.delivery.settle(turns)
    }

    /// Turns of the log.
    pub(crate) fn logged(&self) -> u32 {
        self.delivery.logged()
    }

    /// Takes a record about so many turns for the log.
    pub(crate) fn record(&mut self, about: u32, record: Record) -> Option<Output> {
        self.delivery.record(about, record)
    }

    /// The match is over with `end` turns, or is over for this peer alone with what it has.
    pub(crate) fn close_log(&mut self) -> Vec<Output> {
        self.delivery.close_log()
    }

    /// Logs and hands out what is complete, up to the next snapshot.
    pub(crate) fn hand_out(&mut self, gate: &Gate, window: &LogWindow) -> Vec<Output> {
        match gate.is_fenced {
            true => Vec::new(),
            false => self.delivery.hand_out(&self.fold, window),
        }
    }

    /// Whether a world of so many bytes is the first above the limit.
    pub(crate) fn outgrows(&mut self, bytes: u64, limit: u64) -> bool {
        bytes > limit && !std::mem::replace(&mut self.has_outgrown, true)
    }

    /// The world has been saved after so many turns; the match ends at `end`, where that is known. What goes to the log.
    pub(crate) fn saved(
        &mut self,
        turns: u32,
        bytes: Arc<[u8]>,
        end: Option<u32>,
        limits: &Limits,
    ) -> Option<Keyframe> {
        self.delivery.saved(turns, bytes, end, limits)
    }

    /// Whether what the world tells is about turns that are taken back.
    pub(crate) fn is_loading(&self) -> bool {
        self.delivery.retraction.is_loading()
    }

    /// The world that was to take the place of another has.
    pub(crate) fn world_loaded(&mut self, checksum: Checksum) {
        self.delivery.note_loaded(checksum);
    }

    /// The world has executed the next turn; once the match `has_ended` that matters to nothing.
    ///
    /// # Panics
    /// Where none was handed out.
    pub(crate) fn world_executed(
        &mut self,
        (checksum, step): (Checksum, Duration),
        has_ended: bool,
        ledger: &Ledger,
        now: Duration,
    ) -> Option<Executed> {
        self.delivery.note_executed(checksum, step, now);
        let turns = self.executed();
        (!has_ended).then(|| Executed {
            turns,
            is_new: self.reports.push(turns, checksum),
            is_last: ledger.places.start().terms.turn_limit == Some(turns),
        })
    }

    /// A snapshot of the first world is wanted, if turns are ever taken back.
    pub(crate) fn first_world(&mut self) -> Option<Output> {
        self.delivery.first_world()
    }

    /// What a keyframe says beside the world, after the turns that are handed out.
    pub(crate) fn keyframe(&self, log_hash: LogHash) -> Keyframe {
        self.delivery.keyframe(&self.fold, log_hash)
    }

    /// Takes note of the snapshot that a batch of a peer reports, if it does.
    pub(crate) fn note_snapshot(&mut self, at: usize, turn: u32, ledger: &Ledger, voters: Voters) {
        if let Some(held) = ledger.batches.get(at, turn) {
            self.delivery.snapshots.note(held, &ledger.window, voters);
        }
    }

    /// A peer reports the way of this one's batches there.
    pub(crate) fn note_way(&mut self, at: usize, way_ms: i16, now: Duration) {
        let uneven_ms = self.clock.reported(at, way_ms);
        let way_ms = i64::from(way_ms);
        // None is shorter than without a wait, and another peer may cause waits.
        let least = self.clock.way_there(at).map_or(way_ms, i64::from);
        let even = (way_ms - uneven_ms).max(least.min(way_ms));
        self.leads.note_report(at, even, now);
    }

    /// The game is to be told of a stall now: how long it lasts.
    pub(crate) fn tell_stall(&mut self, now: Duration) -> Option<Duration> {
        self.stalls.tell(now)
    }

    /// The turn that is waited for does not come any more, or not to this peer.
    pub(crate) fn give_up_stall(&mut self, now: Duration) {
        self.stalls.end(now);
    }

    /// The match ends before the turns that are not handed out.
    pub(crate) fn end(&mut self, now: Duration) {
        self.give_up_stall(now);
        self.delivery.drop_waiting();
    }

    /// What was slept through was not waited for.
    pub(crate) fn skip(&mut self, away: Duration, now: Duration) {
        self.clock.skip_to(now);
        self.stalls.skip(away);
    }

    /// No peer plays these seats from the next turn on.
    pub(crate) fn close_seats(&mut self, seats: &[Seat]) {
        self.fold.close(seats);
    }

    /// An epoch begins. `rosters` are the one before it and its own; its peers know no more than the plan in force.
    pub(crate) fn begin_epoch(&mut self, cheats: Peers, rosters: [Peers; 2]) {
        let [_, roster] = rosters;
        self.fold.begin_epoch(roster.len() as usize);
        self.delivery.snapshots.end_epoch(cheats, rosters);
    }

    /// Another run of a peer's process has its place, and its seats.
    pub(crate) fn readmit(&mut self, at: usize, seats: &[Seat]) {
        self.clock.readmit(at);
        self.leads.readmit(at);
        self.arrivals.readmit(at);
        self.fold.open(seats);
    }

    /// A change waits for its place in the log.
    pub(crate) fn push_change(&mut self, change: RosterChange) {
        self.delivery.push_change(change);
    }

    /// Logs all that is complete.
    pub(crate) fn log_complete(&mut self) -> Vec<Output> {
        self.delivery.log_complete()
    }

    /// Logs the changes that come next behind so many turns.
    pub(crate) fn log_changes(&mut self, turns: u32) -> Vec<Output> {
        self.delivery.log_changes(turns)
    }

    /// Takes back the turns from `cut` on, of an epoch that began before turn `began`; `None` where that is too far back.
    pub(crate) fn retract(
        &mut self,
        cut: u32,
        began: u32,
        ledger: &mut Ledger,
    ) -> Option<Vec<Output>> {
        let mut out = Vec::new();
        if ledger.window.complete() > cut {
            if began > cut || !self.delivery.reaches(cut) {
                return None;
            }
            let point = self.delivery.retraction.take_point(cut)?;
            self.fold = point.fold;
            ledger.window.truncate(cut, point.chained);
            ledger.batches.retract(cut);
            self.arrivals.retract(cut);
            let own = ledger.batches.range(ledger.places.me(), cut);
            let own: Vec<_> = own.map(|(turn, held)| (turn, &held.batch)).collect();
            self.own.retract(&own, &self.fold);
            out = self.delivery.retract(cut);
        }
        self.reports.retract(cut);
        self.delivery.snapshots.retract(cut);
        Some(out)
    }

    #[cfg(test)]
    pub(crate) fn take_stall(&mut self) -> Option<Duration> {
        std::mem::take(&mut self.stalls).since
    }

    #[cfg(test)]
    pub(crate) fn put_stall(&mut self, since: Duration) {
        self.stalls.since = Some(since);
    }
}

fn plan_changed(turn: TurnNumber, change: PlanChange, start: &Start) -> Event {
    let PlanChange { plan, slow, way } = change;
    let slow = slow.and_then(|seat| start.peer_with(seat));
    Event::PlanChanged {
        turn,
        plan,
        slow: slow.map_or(Vec::new(), |peer| peer.seats.clone()),
        way,
    }
}

/// The peers whose batches of this turn say that they leave are gone from the next one on.
fn note_leavers(turn: TurnNumber, ledger: &mut Ledger, events: &mut Vec<Event>) {
    let Ledger {
        places, batches, ..
    } = ledger;
    for at in places.all() {
        let held = batches.get(at, turn.0);
        if held.is_some_and(|held| held.batch.leaving) && !batches.is_gone(at) {
            batches.leave(at, turn.next().0);
            let peer = places.peer(at);
            events.push(Event::Left {
                peer: peer.peer,
                seats: peer.seats.clone(),
                turn,
            });
        }
    }
}
