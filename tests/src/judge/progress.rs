//! L1: from healing on the core's turns run at the plan's rate, but for as long as peers outside may hold them up, and all
//! of the core end as agreed. The bounds are those of `docs/bounds.md`.

use super::{Invariant, Judge, core::Tenure};
use crate::simulator::{Hostile, Playable, SUSPICION};
use lockstep::log::OnDesync;
use lockstep::{EndReason, Ended};
use std::time::Duration;

/// What a player's vote adds to the suspicion time.
const EXTENSION: Duration = Duration::from_secs(30);
/// A peer may block turns for so long although it is heard, and is given back a tenth of the time that passes.
const STALL_BUDGET: Duration = Duration::from_secs(10);
const REFILL: u32 = 10;
/// Two histories, or a log that differs, are settled within this time.
const DISPUTE: Duration = Duration::from_secs(15);
/// A roster change that the core begins takes four one-way delays, and pulses.
const ONE_WAYS: u32 = 4;
const PULSES: Duration = Duration::from_millis(75);
/// A joiner that dies for the first time is admitted within this time.
const REJOINS: Duration = Duration::from_secs(6);
/// Turns become longer by this part at most, for clocks to agree.
const SLEW: u32 = 20;

impl<W: Playable> Judge<W> {
    /// How an honest peer may end.
    pub(super) fn check_end(&mut self, peer: usize, ended: &Ended) {
        let file = &self.peers[peer];
        let limit = self.scenario.turn_limit;
        let executed = (file.executed, file.checksum);
        let differs = self.differs();
        let seen = match &ended.reason {
            EndReason::TurnLimit if ended.turns != limit => format!("after {} turns", ended.turns),
            EndReason::TurnLimit
                if usize::from(ended.agreed) < self.core().len() && self.is_core(peer) =>
            {
                format!("and only {} of {} signed that", ended.agreed, ended.of)
            }
            EndReason::Left if !file.left => "though it was not told to leave".to_owned(),
            EndReason::Desync if !differs => "though all worlds and logs are the same".to_owned(),
            EndReason::World | EndReason::Internal | EndReason::Decided => {
                "for no reason".to_owned()
            }
            reason if self.is_core(peer) => match reason {
                EndReason::TurnLimit => return self.check_world_at_end(peer, ended, executed),
                EndReason::Desync if self.scenario.on_desync == OnDesync::Pause => return,
                _ => "a peer of the core".to_owned(),
            },
            _ => return self.check_world_at_end(peer, ended, executed),
        };
        let seen = format!("ends as {:?}, {seen}", ended.reason);
        self.fail(peer, Invariant::Progress, seen);
    }

    fn check_world_at_end(
        &mut self,
        peer: usize,
        ended: &Ended,
        executed: (u32, Option<sim::Checksum>),
    ) {
        if executed.1.is_some() && (ended.turns, ended.checksum) != executed {
            let seen = format!("ends with {ended:?}, and its world has executed {executed:?}");
            self.fail(peer, Invariant::Durable, seen);
        }
    }

    /// When a run must be over, as far as is known: what is left of the match, and all that peers outside may cost.
    pub fn ends_by(&self) -> Option<Duration> {
        let core = self.core.as_ref()?;
        let slowest = if self.may_be_slow() { 4 } else { 1 };
        let left = self.scenario.plan.turn() * self.scenario.turn_limit * slowest;
        let costs = core.tenures.iter().map(|tenure| self.cost(tenure));
        let outside = self.peers.len() - core.members.len();
        Some(core.due + left * (REFILL + outside as u32) / REFILL + costs.sum::<Duration>() * 2)
    }

    /// What a peer outside may cost the core in one stay in the roster, the refill of its budget aside.
    fn cost(&self, tenure: &Tenure) -> Duration {
        let plan = &self.scenario.peers[tenure.peer];
        let two_faced = matches!(
            plan.hostile,
            Some(
                Hostile::Equivocator { .. }
                    | Hostile::Forger
                    | Hostile::LiesOfLog(_)
                    | Hostile::LiesOfWorld(_)
            )
        );
        let mut cost = SUSPICION + super::core::RECOVERY;
        if tenure.was_alive {
            cost += STALL_BUDGET;
        }
        if two_faced || plan.flaw.is_some() {
            cost += DISPUTE;
        }
        cost
    }

    /// What may hold the core up in a time.
    fn may_cost(&self, from: Duration, to: Duration) -> Duration {
        let Some(core) = &self.core else {
            return Duration::ZERO;
        };
        let plan = self.scenario.plan;
        let delay = plan.turn() * u32::from(plan.delay_turns);
        let one_way = (delay - plan.turn()) / 4;
        // Turns stand still for a change before they come to its cut, behind which it is logged.
        let behind = from..=to + delay * 2;
        let changes = core.changes.iter().filter(|at| behind.contains(at));
        let changes = (changes.count() as u32).div_ceil(core.members.len().max(1) as u32);
        let changes = (one_way * ONE_WAYS + PULSES) * changes;
        let tenures = core
            .tenures
            .iter()
            .filter(|tenure| tenure.from <= to && tenure.to.is_none_or(|gone| gone >= from));
        let window = to.saturating_sub(from);
        let tenures = tenures.map(|tenure| match tenure.was_alive {
            true => self.cost(tenure) + window / REFILL,
            false => self.cost(tenure),
        });
        let extended = self.extended.iter();
        let extended = extended.filter(|at| **at <= to && **at + EXTENSION >= from);
        let extended = EXTENSION * extended.count() as u32;
        tenures.sum::<Duration>() + changes + extended
    }

    /// The core advances, admits calm joiners, and ends.
    pub(super) fn check_progress(&mut self) {
        let Some(core) = self.core.as_ref().filter(|core| !core.members.is_empty()) else {
            return;
        };
        let (due, members, joiners) = (core.due, core.members.clone(), core.joiners.clone());
        for peer in members {
            let found = self.stalled_too_long(peer, due);
            if let Some(seen) = found {
                return self.fail(peer, Invariant::Progress, seen);
            }
            if self.peers[peer].ended.is_none() {
                return self.fail(peer, Invariant::Progress, "never ended".to_owned());
            }
        }
        for peer in joiners {
            let file = &self.peers[peer];
            let by = due.max(file.began_at) + REJOINS;
            let by = by + self.may_cost(due, by);
            let last = self.last_admission();
            if !file.is_in && file.run == 1 && last.is_some_and(|last| by < last) {
                let seen = format!("began anew at {:.1?} and was not admitted", file.began_at);
                return self.fail(peer, Invariant::Progress, seen);
            }
        }
    }

    /// When the core sealed its last batches: none attests a decision after them.
    fn last_admission(&self) -> Option<Duration> {
        let last = self
            .scenario
            .turn_limit
            .saturating_sub(2 * u32::from(self.scenario.plan.delay_turns));
        let handed = self.core().iter().filter_map(|peer| {
            let mut handed = self.peers[*peer].handed.iter();
            handed.find(|(turn, _)| *turn == last).map(|(_, at)| *at)
        });
        handed.min()
    }

    /// The first time in which a core peer's turns fell behind the plan by more than peers outside may cost.
    fn stalled_too_long(&self, peer: usize, due: Duration) -> Option<String> {
        let file = &self.peers[peer];
        let ended = self.scenario.turn_limit;
        let last = file.handed.last().map_or(0, |(turn, _)| *turn);
        let over = match last + 1 >= ended || file.desync && file.ended.is_some() {
            true => None,
            false => Some((last + 1, self.now)),
        };
        // Turns that were handed out again after a retraction count once.
        let mut times: Vec<(u32, Duration)> = Vec::new();
        for (turn, at) in file.handed.iter().copied().chain(over) {
            if times.last().is_none_or(|(before, _)| *before < turn) {
                times.push((turn, at.max(due)));
            }
        }
        let length = |turn: u32| {
            file.log
                .bundle(turn)
                .map_or(self.scenario.plan.turn(), |bundle| bundle.plan.turn())
        };
        // Each stall begins with a turn and ends with the next one.
        let mut stalls = Vec::new();
        let mut played = Duration::ZERO;
        for pair in times.windows(2) {
            let [(turn, from), (next, to)] = [pair[0], pair[1]];
            let lasts: Duration = (turn..next).map(length).sum();
            if to > due && to - from > lasts + lasts / SLEW + JITTER {
                stalls.push((from, to, played, played + lasts, turn));
            }
            if to > due {
                played += lasts;
            }
        }
        // Where turns become shorter, the batches of those after it are sealed by a clock that must catch up.
        let before_it = 2 * u32::from(self.scenario.plan.delay_turns);
        for (at, (from, _, before, _, turn)) in stalls.iter().enumerate() {
            for (_, to, _, after, _) in &stalls[at..] {
                let stalled = (*to - *from).saturating_sub(*after - *before);
                let shorter = (turn.saturating_sub(before_it)..*turn + 1)
                    .map(|turn| length(turn).saturating_sub(length(turn + 1)));
                let allowed = self.may_cost(*from, *to)
                    + (*to - *from) / SLEW
                    + JITTER
                    + length(*turn)
                    + shorter.sum::<Duration>() * u32::from(self.scenario.plan.delay_turns);
                if stalled > allowed {
                    return Some(format!(
                        "turn {turn} and those after it stall for {stalled:.2?} from {from:.2?} to {to:.2?}, {allowed:.2?} allowed"
                    ));
                }
            }
        }
        None
    }

    fn may_be_slow(&self) -> bool {
        self.peers.iter().any(|file| file.slow_until.is_some())
    }

    /// Whether a peer's world or log differs, or it says so.
    pub(super) fn differs(&self) -> bool {
        let lies = |hostile| !matches!(hostile, Hostile::Mute { .. } | Hostile::Withholder(_));
        let flawed = self.scenario.peers.iter().any(|plan| plan.flaw.is_some());
        flawed || self.scenario.hostile().any(|(_, hostile)| lies(hostile))
    }
}

/// A turn may be handed out so much later than it was due.
const JITTER: Duration = Duration::from_millis(60);
