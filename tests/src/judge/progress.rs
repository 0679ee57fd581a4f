//! L1: after healing the core's turns run at the plan's rate, except for delays that peers outside may cause. All core
//! peers end as agreed. The bounds are those of `docs/bounds.md`.
//!
//! Ticks are longer than at the start only beside slow machines, or lies of one, and within bounds. All that this costs
//! is bounded, under every policy. A peer that lies of its load pays for that alone, all of its stall budget and not more, and
//! counts again once it has all back.

use super::*;
use crate::simulator::{Fault, REFILL, STALL_BUDGET};
use lockstep::log::OnSlow;

/// A vote's extension of the suspicion time. Votes within the second time belong to one stall.
const EXTENSION: Duration = Duration::from_secs(30);
const ONE_STALL: Duration = Duration::from_secs(2);
/// The longest dispute about two histories, or about a log that differs.
const DISPUTE: Duration = Duration::from_secs(15);
/// What a roster change takes beside four one-way delays: pulses, and a copy of a batch that waited for its
/// acknowledgement.
const PULSES: Duration = Duration::from_millis(100);
/// The longest time until the first joiner of a peer is admitted.
const REJOINS: Duration = Duration::from_secs(6);
/// The largest part of a turn by which it becomes longer, for clocks to agree.
const SLEW: u32 = 20;
/// The longest delay of a turn that is due.
const JITTER: Duration = Duration::from_millis(60);

/// A match that goes on for so long beside a slow machine has longer ticks.
const NOTICED: Duration = Duration::from_secs(10);
/// The longest ticks, as a multiple of those at the start.
const LONGEST: u16 = 4;
/// The shortest time of the match between two lowerings.
const BETWEEN_LOWERINGS: Duration = Duration::from_secs(10);
/// The longest time of the match until ticks are as at the start, once no machine is slow.
const RECOVERS: Duration = Duration::from_secs(40);
/// The longest time of the match for which a plan stays in force in a new epoch that no machine of it needs.
const OF_EARLIER_EPOCH: Duration = Duration::from_secs(3);

/// A cause of delays: its begin and end, the delay that it may cause in a window that overlaps them, and whether a part
/// of the window is given back to its stall budget.
type Cause = (Duration, Duration, Duration, bool);

impl Judge {
    /// Checks the end of an honest peer.
    pub(super) fn check_end(&mut self, peer: usize, ended: &Ended) {
        self.peers[peer].ended = Some(ended.clone());
        let (file, outside) = (&self.peers[peer], !self.is_core(peer));
        let signed = outside || usize::from(ended.agreed) >= self.core.members.len();
        let stops = outside || self.scenario.on_desync == OnDesync::Pause;
        let by_limit = ended.reason == EndReason::TurnLimit;
        let founded = match ended.reason {
            EndReason::TurnLimit => signed && ended.turns == self.scenario.turn_limit,
            EndReason::Desync => stops && self.scenario.differs(),
            EndReason::World | EndReason::Internal | EndReason::Decided => false,
            EndReason::Left => outside && file.notes.leaves,
            EndReason::Removed => outside && !file.notes.leaves,
            _ => outside,
        };
        self.must(peer, Progress, ended)(founded, "ends for no reason");
        let must = self.must(peer, Durable, ended);
        let logged = matches!(file.log.records.last(), Some(Record::End(_)));
        // An end that too few peers have signed is none: the others may go on without this one.
        let is_final = by_limit && ended.is_final;
        must(logged == is_final, "logs another end");
        let few = outside && ended.agreed < ended.of;
        must(is_final || !by_limit || few, "has no end");
        let leaves = self.peers.iter().any(|of| of.notes.leaves);
        let many = 2 * ended.agreed >= ended.of || leaves;
        must(!is_final || many, "has an end that too few have signed");
        let alike = file.executed.1.is_none() || file.executed == (ended.turns, ended.checksum);
        must(alike, "ends with another world than its own");
    }

    /// The plan with the longest delay: that of the start, or any of those that an adaptive match came to.
    fn slowest_plan(&self) -> Plan {
        let adaptive = self.canonical().filter(|_| self.scenario.adaptive);
        let plans = adaptive
            .into_iter()
            .flat_map(|log| &log.turns)
            .map(|of| of.plan);
        let slowest = plans.max_by_key(|plan| plan.turn() * plan.delay_turns.into());
        slowest.unwrap_or(self.scenario.plan)
    }

    /// Whether links can lead from a peer to all of the core.
    fn is_linked_to_core(&self, peer: usize) -> bool {
        let mut core = self.core.members.iter();
        core.all(|member| !self.scenario.are_apart(peer, *member))
    }

    /// The causes of the core's delays.
    fn causes(&self) -> Vec<Cause> {
        let plan = self.slowest_plan();
        let delay = plan.turn() * plan.delay_turns.into();
        // Four ways at most, each of two links where a third peer passes votes on.
        let mut members = self.core.members.iter();
        let links = 2 - u32::from(members.all(|peer| self.is_linked_to_core(*peer)));
        let change = (delay - plan.turn()) * links + PULSES;
        let tenures = self.core.tenures.iter();
        let tenures = tenures.flat_map(|(peer, from, to, lives)| {
            let disputes = DISPUTE * u32::from(self.scenario.may_differ(*peer));
            let silent = (*from, *to, SUSPICION, false);
            // A peer that lives may be heard again, or hold up what waits for it.
            let budgets = RECOVERY + STALL_BUDGET + disputes;
            let held_up = (*from, *lives.min(to), budgets, true);
            [Some(silent), Some(held_up).filter(|_| from < lives)]
        });
        let tenures = tenures.flatten();
        // Turns stall for a change before its cut, and the log has it after the cut.
        let changes = self.core.changes.values();
        let changes = changes.map(|at| (at.saturating_sub(delay * 2), *at, change, false));
        // All votes of one stall are one extension, of which no time passes while the voters stand still.
        let votes = self.peers.iter().filter_map(|file| file.notes.voted_at);
        let mut votes = Vec::from_iter(votes.collect::<BTreeSet<Duration>>());
        votes.dedup_by(|next, last| *next < *last + ONE_STALL);
        let still = self.scenario.longest_freeze();
        let longer = |at| (at, at + EXTENSION + still, EXTENSION, false);
        let votes = votes.into_iter().map(longer);
        tenures.chain(changes).chain(votes).collect()
    }

    /// The match begins; the core advances, admits calm joiners, and ends.
    pub(super) fn check_progress(&self) {
        // The host waits for the seats of a guest that was refused, or sent garbage in the lobby.
        let waits = self.scenario.hostile().any(|(peer, hostile)| {
            let refused = matches!(self.peers[peer].ended_by(), Some(EndReason::Refused(_)));
            refused || matches!(hostile, Hostile::Garbage { early: true, .. })
        });
        self.check_metering();
        self.must(RUN, Progress, "the match")(waits || self.canonical().is_some(), "never began");
        for peer in self.core.members.iter().copied() {
            self.check_pace(peer);
            self.check_haste(peer);
            let ended = self.peers[peer].ended.is_some();
            self.must(peer, Progress, "a core peer")(ended, "never ended");
            self.check_admissions(peer);
        }
    }

    /// The core admits calm joiners that reach all of it in time. After it has sealed its last batches, none attests a
    /// decision.
    fn check_admissions(&self, core: usize) {
        let (due, unsealed) = (self.core.due.unwrap_or_default(), 2 * self.scenario.delay());
        let mut handed = self.peers[core].handed.iter();
        let last = handed.find(|(turn, ..)| turn + unsealed == self.scenario.turn_limit);
        for peer in (0..self.peers.len()).filter(|peer| self.scenario.is_calm(*peer)) {
            let notes = &self.peers[peer].notes;
            let by = due.max(notes.began_at) + REJOINS;
            let by = by + losses(&self.causes(), due, by);
            let joins = notes.run == 1 && self.is_linked_to_core(peer);
            let waits = notes.is_out && !notes.crashed;
            let late = notes.admitted_at.map_or(waits, |at| at > by);
            let late = joins && late && last.is_some_and(|(_, last, _)| by < *last);
            let must = self.must(peer, Progress, (notes.began_at, by, notes.admitted_at));
            must(!late, "is not admitted in time");
        }
    }

    /// The plan of a turn in a peer's log.
    fn plan_of(&self, peer: usize, turn: u32) -> Plan {
        let known = self.peers[peer].log.turns.get(turn as usize);
        known.map_or(self.scenario.plan, |of| of.plan)
    }

    /// A core peer's turns are no earlier than planned, in any window, but to make up for waits of a command delay.
    fn check_haste(&self, peer: usize) {
        // The haste left in the tightest window that ends here.
        let (mut turn, mut from, mut left) = (0, Duration::ZERO, Duration::MAX);
        let (handed, mut plan, mut latest) = (&self.peers[peer].handed, self.scenario.plan, 0);
        for (next, to, its_plan) in handed.iter().copied() {
            if next <= latest {
                // Turns handed out again may have other plans: windows begin anew where these turns first began.
                if next <= turn {
                    let first = handed.iter().find(|(turn, ..)| *turn == next);
                    (turn, plan, left) = (next, its_plan, Duration::MAX);
                    from = first.map_or(to, |of| of.1);
                }
                continue;
            }
            let waited = plan.turn() * plan.delay_turns.into() + JITTER;
            let more = (turn + 1..next).map(|of| self.plan_of(peer, of).turn());
            let planned = plan.turn() + more.sum::<Duration>();
            // The tightest window goes on, or another one begins here.
            let most = left.min(waited) + (to - from);
            let least = planned - planned / SLEW;
            let is_due = Some(from) > self.core.due;
            let must = self.must(peer, Progress, (turn, from, to, most));
            must(most >= least || !is_due, "is earlier than its plan allows");
            if is_due {
                left = most.saturating_sub(least);
            }
            (turn, from, plan, latest) = (next, to, its_plan, next);
        }
    }

    /// A core peer's turns are no later than planned, in any window, by more than all causes allow.
    fn check_pace(&self, peer: usize) {
        let (file, due) = (&self.peers[peer], self.core.due.unwrap_or_default());
        let length = |turn| self.plan_of(peer, turn).turn();
        let next = file.next.min(self.scenario.turn_limit - 1);
        let mut causes = self.causes();
        // The delay left in the tightest window that ends here.
        let (mut turn, mut from, mut left) = (0, due, Duration::MAX);
        let handed = file.handed.iter().map(|(turn, at, _)| (*turn, *at));
        for (next, to) in handed.chain([(next, self.now)]) {
            // A clock must catch up to seal the batches of turns that have become shorter.
            let catches_up = to + length(turn) * 2 * self.scenario.delay();
            let shorter = length(turn).saturating_sub(length(next)) * self.scenario.delay();
            causes.push((to, catches_up, shorter, false));
            // Turns handed out again after a retraction count once.
            if next <= turn || to <= due {
                turn = turn.max(next);
                continue;
            }
            let open = losses(&causes, from, from);
            let planned: Duration = (turn..next).map(length).sum();
            let more = planned + (to - from) / SLEW + losses(&causes, from, to) - open;
            // The tightest window goes on, or another one begins here.
            left = left.min(open + JITTER + length(turn)) + more;
            let must = self.must(peer, Progress, (turn, from, to, left));
            must(left >= to - from, "is later than peers outside may make it");
            (turn, from, left) = (next, to, left.saturating_sub(to - from));
        }
    }

    /// Ticks become longer while the machine of a peer is slow and the others wait for it.
    pub(super) fn check_metering(&self) {
        let (first, meters) = (self.scenario.plan, self.scenario.on_slow == OnSlow::Meter);
        for peer in self.scenario.honest().filter(|_| meters) {
            let (plan, file) = (&self.scenario.peers[peer], &self.peers[peer]);
            let is_slow = plan.has(|fault| match fault {
                Fault::Slow { step, .. } => *step >= first.tick() * 3 / 2,
                _ => false,
            });
            let slow = file.notes.slow_since..file.notes.slow_until;
            let (mut unnoticed, mut longest) = (Duration::ZERO, Duration::ZERO);
            // Behind longer ticks, its stall budget may be spent.
            let handed = file.handed.iter().filter(|_| is_slow);
            for (turn, at, plan) in handed.take_while(|of| of.2.tick_ms == first.tick_ms) {
                let bundle = file.log.turns.get(*turn as usize);
                let steps = bundle.is_some_and(|of| !of.paused) && slow.contains(&Some(*at));
                let begins = file.log.epochs.iter().any(|(begins, _)| begins == turn);
                unnoticed = (unnoticed + plan.turn()) * u32::from(steps && !begins);
                longest = longest.max(unnoticed);
            }
            let must = self.must(peer, Progress, (&slow, longest));
            must(longest < NOTICED, "is slow, and no tick is longer");
        }
    }

    /// The plan of every turn follows from those of the turns before it.
    pub(super) fn check_plans(&self, canonical: &Log) {
        let slow = self.peers.iter().filter_map(|of| of.notes.slow_until).max();
        // The first turn that the core executed when no machine was slow any more.
        let core = self.core.members.iter().take(1);
        let mut handed = core.flat_map(|peer| &self.peers[*peer].handed);
        let fast = handed.find(|(_, at, _)| Some(*at) > slow);
        let (first, slowing) = (self.scenario.plan, self.scenario.slowing() as u32);
        // A turn may overdraw the stall budget.
        let most = (STALL_BUDGET + first.turn() * LONGEST.into()) * slowing + OF_EARLIER_EPOCH;
        // What longer ticks have cost in this epoch, and that without what is given back.
        let (mut cost, mut owed) = (Duration::ZERO, Duration::ZERO);
        // A lie alone makes ticks longer until its budget is spent, and not again until all of that is given back. Pauses,
        // other slow machines and roster changes would count as well.
        let paused = canonical.turns.iter().any(|bundle| bundle.paused);
        let lies = self.scenario.lies_of_load() && slowing == 1;
        let (by_lie, mut is_spent) = (lies && !paused && canonical.changes.is_empty(), false);
        // With the time of the last lowering, and the time since when all machines are fast.
        let (mut last, mut at, mut lowered_at, mut fast_at) = (first, Duration::ZERO, None, None);
        for bundle in &canonical.turns {
            let (turn, plan) = (bundle.turn.0, bundle.plan);
            let must = self.must(RUN, Progress, bundle);
            let in_bounds = (first.tick_ms..=first.tick_ms * LONGEST).contains(&plan.tick_ms);
            must(in_bounds, "a plan out of bounds");
            let fast = fast.is_some_and(|(since, ..)| *since <= turn);
            // A pause steps no tick, and the last measurement stands.
            fast_at = fast_at.or(fast.then_some(at)).filter(|_| !bundle.paused);
            let late = fast_at.is_some_and(|since| at > since + RECOVERS);
            let founded = plan.tick_ms == first.tick_ms
                || slow.is_some() && !late
                || self.scenario.lies_of_load();
            must(founded, "a plan for no slow machine");
            // Every epoch begins the measurement anew.
            let anew = canonical.epochs.iter().any(|(begins, _)| *begins == turn);
            let kept = u32::from(!anew);
            // A peer alone costs no other anything.
            let costs = !bundle.paused && canonical.roster(turn).len() > 1;
            let longer = Duration::from_millis((plan.tick_ms - first.tick_ms).into());
            let longer = longer * u32::from(plan.ticks) * u32::from(costs);
            let given_back = (plan.turn() - longer) * slowing / REFILL;
            owed = (owed * kept + longer).saturating_sub(given_back);
            must(owed <= most, "ticks are long for more than stall budgets");
            let lowered = plan.tick_ms < last.tick_ms;
            if by_lie {
                let is_short = plan.tick_ms == first.tick_ms;
                must(is_short || !is_spent, "believes a peer in debt");
                must(is_spent || !lowered, "charges a peer for more than it cost");
                is_spent = !owed.is_zero() && (is_spent || owed >= STALL_BUDGET);
            }
            // Ticks are short at once when a stall budget is spent.
            let again = lowered_at.is_some_and(|last| at < last + BETWEEN_LOWERINGS);
            let soon = lowered && again && cost < STALL_BUDGET;
            must(!soon, "lowered too soon again");
            cost = cost * kept + longer;
            lowered_at = lowered.then_some(at).or(lowered_at).filter(|_| !anew);
            (last, at) = (plan, at + plan.turn());
        }
    }
}

/// The time that all causes may cost in a window.
fn losses(causes: &[Cause], from: Duration, to: Duration) -> Duration {
    let refill = |given_back| (to - from) * u32::from(given_back) / REFILL;
    let overlap = |of: &&Cause| of.0 <= to && from <= of.1;
    let causes = causes.iter().filter(overlap);
    causes.map(|of| of.2 + refill(of.3)).sum()
}
