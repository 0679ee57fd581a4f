//! From the batches of a turn to its bundle. Every peer computes the same from the same signed batches.

use super::batch::{Batch, NO_WAY};
use super::bundle::{Bundle, LogEntry, What};
use super::keyframe::Keyframe;
use super::plans::{PlanChange, Plans};
use super::start::Start;
use super::terms::PauseBudget;
use crate::{LogHash, Plan, TurnNumber};
use sim::{Seat, SeatState};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What earlier bundles left behind for later ones.
#[derive(Clone)]
pub(crate) struct TurnFold {
    /// The next turn's plan.
    pub plan: Plan,
    plans: Plans,
    /// The lowest seat of each peer, by place in the roster.
    lowest: Vec<Option<Seat>>,
    /// What seats become whose peer is gone.
    absent: SeatState,
    pauses: PauseBudget,
    /// The seat that paused, while the next turn is paused.
    pub paused_by: Option<Seat>,
    seats: BTreeMap<Seat, SeatFold>,
    /// Seat events of paused turns: they wait for a turn that has a tick.
    deferred: Vec<LogEntry>,
}

#[derive(Clone, Default)]
struct SeatFold {
    /// Number of its next command.
    next: u32,
    pauses: u8,
    paused_ms: u64,
    /// Its peer left or is removed: the world has been told, or is about to be.
    idle: bool,
}

/// A bundle, and what it means beyond the world.
pub(crate) struct Formed {
    pub bundle: Bundle,
    /// Commands that counted, by seat.
    pub executed: BTreeMap<Seat, usize>,
    pub paused: Option<Seat>,
    /// `Some(None)`: the pausing seat's budget is spent.
    pub resumed: Option<Option<Seat>>,
    pub chats: Vec<(Seat, String)>,
    /// The plan of the turn after it, where it is another one.
    pub new_plan: Option<PlanChange>,
}

impl TurnFold {
    pub(crate) fn new(start: &Start) -> Self {
        let seats = start.seats().into_iter();
        TurnFold {
            plan: start.terms.plan,
            plans: Plans::of(start),
            lowest: start
                .roster
                .iter()
                .map(|peer| peer.seats.first().copied())
                .collect(),
            absent: start.terms.absent.state(),
            pauses: start.terms.pauses,
            paused_by: None,
            seats: seats.map(|seat| (seat, SeatFold::default())).collect(),
            deferred: Vec::new(),
        }
    }

    /// The fold behind a continuation: the one peer of this start has all seats. Commands of the log are not counted
    /// again, and the world is told that absent players are back.
    pub(crate) fn continued(&self, start: &Start) -> Self {
        let mut fold = TurnFold {
            deferred: self.deferred.clone(),
            ..TurnFold::new(start)
        };
        for (seat, known) in &self.seats {
            if let Some(seat) = fold.seats.get_mut(seat) {
                (seat.next, seat.idle) = (known.next, known.idle);
            }
        }
        fold.open(&start.seats());
        fold
    }

    /// A roster change has begun an epoch, with so many peers, of which all know no more than the plan in force.
    pub(crate) fn begin_epoch(&mut self, peers: usize) {
        self.plans.begin_epoch(peers);
    }

    /// The next turn's plan, and what it is for.
    pub(crate) fn in_force(&self) -> PlanChange {
        self.plans.in_force(self.plan)
    }

    /// The lowest seat of the peer that is to be removed, as it has slowed the match down for longer than it may.
    pub(crate) fn too_slow(&self) -> Option<Seat> {
        self.plans.too_slow()
    }

    /// Leaves these seats idle, or to the world's AI, from the next turn on.
    pub(crate) fn close(&mut self, seats: &[Seat]) {
        for seat in seats {
            if self.turns_idle(*seat, true) {
                defer(&mut self.deferred, *seat, self.absent);
            }
        }
    }

    /// Whether no player has the seat any more: its peer left or is removed.
    pub(crate) fn is_idle(&self, seat: Seat) -> bool {
        self.seats.get(&seat).is_some_and(|seat| seat.idle)
    }

    /// Has these seats played again from the next turn on.
    pub(crate) fn open(&mut self, seats: &[Seat]) {
        for seat in seats {
            if self.turns_idle(*seat, false) {
                defer(&mut self.deferred, *seat, SeatState::Played);
            }
        }
    }

    /// What a keyframe of the log says beside the world, after so many turns.
    pub(crate) fn keyframe(&self, turns: u32, ticks: u64, log_hash: LogHash) -> Keyframe {
        Keyframe {
            turns,
            ticks,
            plan: self.plan,
            paused: self.paused_by.is_some(),
            log_hash,
            snapshot: Arc::default(),
        }
    }

    /// The number of a seat's next command.
    pub(crate) fn next_number(&self, seat: Seat) -> u32 {
        self.seats.get(&seat).map_or(0, |seat| seat.next)
    }

    /// Takes in a bundle that others formed. False where none of ours could follow on it.
    pub(crate) fn follow(&mut self, bundle: &Bundle) -> bool {
        if bundle.paused != self.paused_by.is_some() || bundle.plan != self.plan {
            return false;
        }
        let mut named = bundle.entries.iter().flat_map(LogEntry::seats);
        if !named.all(|seat| self.seats.contains_key(&seat)) {
            return false;
        }
        if !bundle.paused {
            // The bundle holds them.
            self.deferred.clear();
        }
        let mut formed = Formed::new(bundle.clone());
        for entry in &bundle.entries {
            if !self.note(entry, &mut formed) {
                return false;
            }
            match entry.what {
                What::Command(_) => {
                    let seat = self.seats.get_mut(&entry.seat).expect("just seen");
                    seat.next = seat.next.wrapping_add(1);
                }
                What::Seat(state) => {
                    self.turns_idle(entry.seat, state == self.absent);
                }
                _ => {}
            }
        }
        self.spend_pause(&mut formed);
        self.plan_next(&mut formed);
        true
    }

    /// Decides on the plan of the turn after this one.
    fn plan_next(&mut self, formed: &mut Formed) {
        formed.new_plan = self.plans.take(&formed.bundle);
        if let Some(change) = &formed.new_plan {
            self.plan = change.plan;
        }
    }

    /// Whether that is new.
    fn turns_idle(&mut self, seat: Seat, idle: bool) -> bool {
        let seat = self.seats.get_mut(&seat);
        seat.is_some_and(|seat| std::mem::replace(&mut seat.idle, idle) != idle)
    }

    /// Forms the bundle of `turn` from the batches of all required peers, each with its seats.
    pub(crate) fn form<'a>(
        &mut self,
        turn: TurnNumber,
        batches: impl Iterator<Item = (&'a [Seat], &'a Batch)>,
    ) -> Formed {
        let paused = self.paused_by.is_some();
        let mut formed = Formed::new(Bundle {
            turn,
            plan: self.plan,
            paused,
            entries: Vec::new(),
        });
        let mut entries: Vec<LogEntry> = Vec::new();
        let mut events: Vec<LogEntry> = std::mem::take(&mut self.deferred);
        let mut reports: Vec<LogEntry> = Vec::new();
        for (seats, batch) in batches {
            reports.extend(
                seats
                    .first()
                    .into_iter()
                    .flat_map(|seat| self.reports(*seat, batch)),
            );
            self.take(seats, batch, paused, &mut entries, &mut formed.executed);
            if batch.leaving {
                for seat in seats {
                    self.turns_idle(*seat, true);
                    defer(&mut events, *seat, self.absent);
                }
            }
        }
        entries.sort_by_key(|entry| entry.seat);
        entries.retain(|entry| self.note(entry, &mut formed));
        entries.extend(reports);
        if paused {
            self.deferred = events;
        } else {
            entries.extend(events);
        }
        entries.sort_by_key(|entry| entry.seat);
        self.spend_pause(&mut formed);
        formed.bundle.entries = entries;
        self.plan_next(&mut formed);
        formed
    }

    /// What the log is to hold of a peer's measurements. No way from a peer that is gone matters.
    fn reports(&self, to: Seat, batch: &Batch) -> impl Iterator<Item = LogEntry> {
        let ways = self.lowest.iter().zip(&batch.way_ms);
        let ways = ways.filter_map(|(from, ms)| Some(((*from)?, *ms)));
        let ways =
            ways.filter(move |(from, ms)| *ms != NO_WAY && *from != to && !self.is_idle(*from));
        let whats = self.plans.reports(to, batch.load, ways, self.plan.tick_ms);
        whats.map(move |what| LogEntry { seat: to, what })
    }

    /// The entries of one batch that count. A seat's commands count only where they continue what is executed;
    /// none count in a paused turn; of chat, one text a turn.
    fn take(
        &mut self,
        seats: &[Seat],
        batch: &Batch,
        paused: bool,
        entries: &mut Vec<LogEntry>,
        executed: &mut BTreeMap<Seat, usize>,
    ) {
        let mut first_numbers = batch.first_numbers.iter();
        let mut last_with_command = None;
        let mut counts = false;
        let mut chatted = None;
        for entry in &batch.entries {
            let is_command = matches!(entry.what, What::Command(_));
            if is_command && last_with_command != Some(entry.seat) {
                last_with_command = Some(entry.seat);
                let first = first_numbers.next().copied();
                let next = self.seats.get(&entry.seat).map(|seat| seat.next);
                counts = !paused && first.is_some() && first == next;
            }
            if !seats.contains(&entry.seat) {
                continue;
            }
            match &entry.what {
                What::Command(_) if counts => {
                    let seat = self
                        .seats
                        .get_mut(&entry.seat)
                        .expect("every seat of the roster has a fold");
                    seat.next = seat.next.wrapping_add(1);
                    *executed.entry(entry.seat).or_default() += 1;
                }
                What::Command(_) | What::Seat(_) | What::Load(_) | What::Way { .. } => continue,
                What::Chat(_) if chatted.replace(entry.seat) == Some(entry.seat) => continue,
                What::Chat(_) | What::Pause | What::Resume => {}
            }
            entries.push(entry.clone());
        }
    }

    /// Applies an entry that concerns the course of the match; false where it has no effect and is left out.
    fn note(&mut self, entry: &LogEntry, formed: &mut Formed) -> bool {
        match &entry.what {
            What::Pause => {
                let seat = self
                    .seats
                    .get_mut(&entry.seat)
                    .expect("every seat of the roster has a fold");
                let within = seat.pauses < self.pauses.pauses
                    && seat.paused_ms < u64::from(self.pauses.seconds) * 1_000;
                if self.paused_by.is_some() || !within {
                    return false;
                }
                seat.pauses += 1;
                self.paused_by = Some(entry.seat);
                formed.paused = Some(entry.seat);
            }
            What::Resume => {
                if self.paused_by.take().is_none() {
                    return false;
                }
                formed.paused = None;
                formed.resumed = Some(Some(entry.seat));
            }
            What::Chat(text) => formed.chats.push((entry.seat, text.clone())),
            What::Command(_) | What::Seat(_) | What::Load(_) | What::Way { .. } => {}
        }
        true
    }

    fn spend_pause(&mut self, formed: &mut Formed) {
        let Some(by) = self.paused_by else {
            return;
        };
        let seat = self
            .seats
            .get_mut(&by)
            .expect("every seat of the roster has a fold");
        seat.paused_ms += self.plan.turn().as_millis() as u64;
        if seat.paused_ms >= u64::from(self.pauses.seconds) * 1_000 {
            self.paused_by = None;
            formed.paused = None;
            formed.resumed = Some(None);
        }
    }
}

impl Formed {
    fn new(bundle: Bundle) -> Self {
        Formed {
            bundle,
            executed: BTreeMap::new(),
            paused: None,
            resumed: None,
            chats: Vec::new(),
            new_plan: None,
        }
    }
}

/// Adds what the next turn with ticks tells the world. What it has not been told yet is undone by the opposite.
fn defer(events: &mut Vec<LogEntry>, seat: Seat, state: SeatState) {
    let before = events.len();
    events.retain(|entry| entry.seat != seat);
    if events.len() == before {
        events.push(event(seat, state));
    }
}

fn event(seat: Seat, state: SeatState) -> LogEntry {
    LogEntry {
        seat,
        what: What::Seat(state),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::fixture::start;

    const SEATS: [[Seat; 1]; 3] = [[Seat(0)], [Seat(1)], [Seat(2)]];

    /// A batch with these entries of a seat, the first command numbered `first`.
    fn batch(turn: u32, seat: u8, first: u32, whats: Vec<What>) -> Batch {
        let commands = whats.iter().any(|what| matches!(what, What::Command(_)));
        let entry = |what| LogEntry {
            seat: Seat(seat),
            what,
        };
        Batch {
            turn: TurnNumber(turn),
            entries: whats.into_iter().map(entry).collect(),
            first_numbers: vec![first; usize::from(commands)],
            executed: turn,
            checksums: Vec::new(),
            complete: turn,
            log_hash: LogHash([0; 16]),
            way_ms: Vec::new(),
            load: 0,
            leaving: false,
            epoch: 0,
            snapshot: None,
        }
    }

    fn command(byte: u8) -> What {
        What::Command(Arc::from([byte]))
    }

    /// Forms a turn of a batch of each seat, and has another fold follow the bundle.
    fn form(fold: &mut TurnFold, turn: u32, batches: [Batch; 3]) -> Formed {
        let mut follower = fold.clone();
        let seats = SEATS.iter().map(|seats| &seats[..]);
        let formed = fold.form(TurnNumber(turn), seats.zip(&batches));
        assert!(follower.follow(&formed.bundle), "turn {turn}");
        let paused = formed.bundle.paused;
        // A bundle says of a player that leaves only once the world is told.
        let state = |fold: &TurnFold| {
            let seats = SEATS.iter().map(|[seat]| {
                let idle = !paused && fold.is_idle(*seat);
                (fold.next_number(*seat), idle)
            });
            (fold.plan, fold.paused_by, seats.collect::<Vec<_>>())
        };
        assert_eq!(state(fold), state(&follower), "turn {turn}");
        formed
    }

    fn idle(turn: u32, seat: u8) -> Batch {
        batch(turn, seat, 0, Vec::new())
    }

    #[test]
    fn commands_count_where_they_continue_executed_commands() {
        let mut fold = TurnFold::new(&start(3));
        let two = vec![command(1), command(2)];
        let formed = form(&mut fold, 0, [batch(0, 0, 0, two), idle(0, 1), idle(0, 2)]);
        assert_eq!(formed.executed, BTreeMap::from([(Seat(0), 2)]));
        for (first, counts) in [(0, 0), (3, 0), (2, 1)] {
            let next = batch(1, 0, first, vec![command(3)]);
            let formed = form(&mut fold.clone(), 1, [next, idle(1, 1), idle(1, 2)]);
            assert_eq!(formed.bundle.entries.len(), counts, "first number {first}");
        }
    }

    #[test]
    fn a_paused_turn_holds_no_command_and_tells_the_world_nothing() {
        let mut fold = TurnFold::new(&start(3));
        let pauses = [batch(0, 0, 0, vec![What::Pause]), idle(0, 1), idle(0, 2)];
        assert_eq!(form(&mut fold, 0, pauses).paused, Some(Seat(0)));
        let leaves = Batch {
            leaving: true,
            ..idle(1, 2)
        };
        let commands = batch(1, 1, 0, vec![command(1)]);
        let formed = form(&mut fold, 1, [idle(1, 0), commands, leaves]);
        assert!(formed.bundle.paused && formed.bundle.entries.is_empty());
        let resumes = batch(2, 1, 0, vec![What::Resume]);
        let formed = form(&mut fold, 2, [idle(2, 0), resumes, idle(2, 2)]);
        assert_eq!(formed.resumed, Some(Some(Seat(1))));
        // The next turn has ticks: the world is told that a player left.
        let formed = form(&mut fold, 3, [idle(3, 0), idle(3, 1), idle(3, 2)]);
        let told = [event(Seat(2), SeatState::Idle)];
        assert_eq!(
            (formed.bundle.paused, &formed.bundle.entries[..]),
            (false, &told[..])
        );
    }

    #[test]
    fn a_pause_ends_with_the_budget_of_its_seat() {
        let mut start = (*start(3)).clone();
        start.terms.pauses = PauseBudget {
            pauses: 1,
            seconds: 1,
        };
        let mut fold = TurnFold::new(&start);
        let pauses = [batch(0, 0, 0, vec![What::Pause]), idle(0, 1), idle(0, 2)];
        form(&mut fold, 0, pauses);
        let turns = 1_000 / u32::from(start.terms.plan.ticks) / u32::from(start.terms.plan.tick_ms);
        let ends = (1..=turns).map(|turn| {
            let formed = form(
                &mut fold,
                turn,
                [idle(turn, 0), idle(turn, 1), idle(turn, 2)],
            );
            formed.resumed.is_some()
        });
        assert_eq!(ends.filter(|ended| *ended).count(), 1);
        let again = [batch(9, 0, 0, vec![What::Pause]), idle(9, 1), idle(9, 2)];
        assert!(form(&mut fold, 9, again).bundle.entries.is_empty());
    }

    #[test]
    fn bundles_that_no_fold_forms_do_not_follow() {
        let mut fold = TurnFold::new(&start(3));
        let bundle = Bundle {
            turn: TurnNumber(0),
            plan: fold.plan,
            paused: false,
            entries: Vec::new(),
        };
        let with = |entries| Bundle {
            entries,
            ..bundle.clone()
        };
        let entry = |seat, what| LogEntry {
            seat: Seat(seat),
            what,
        };
        let faults = [
            Bundle {
                paused: true,
                ..bundle.clone()
            },
            Bundle {
                plan: Plan {
                    delay_turns: 3,
                    ..fold.plan
                },
                ..bundle.clone()
            },
            with(vec![entry(3, What::Chat("no such seat".to_owned()))]),
            with(vec![entry(0, What::Resume)]),
        ];
        for fault in faults {
            assert!(!fold.clone().follow(&fault), "{fault:?}");
        }
        assert!(fold.follow(&bundle));
    }
}
