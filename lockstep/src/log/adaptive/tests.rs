//! Adaptive plans over hours of match time: what they answer, how soon, and how often they change their mind.

use super::*;
use crate::TurnNumber;
use crate::log::LogEntry;
use proptest::prelude::*;

const START: Plan = Plan {
    ticks: 4,
    delay_turns: 2,
    tick_ms: 50,
};
const MINUTE_MS: u64 = 60_000;

/// A match of three peers, and its plans: since when, and which.
struct Match {
    adaptive: Adaptive,
    plan: Plan,
    turn: u32,
    changes: Vec<(u64, Plan, Option<Way>)>,
    reported_ms: u64,
    /// Turns that came too late for their plan.
    late: u32,
    /// Entries of the log.
    logged: usize,
}

impl Match {
    fn new() -> Self {
        Match {
            adaptive: Adaptive::new(false, FIRST_WAIT_MS),
            plan: START,
            turn: 0,
            changes: Vec::new(),
            reported_ms: 0,
            late: 0,
            logged: 0,
        }
    }

    /// Plays so long. The first peer's batches take `way` to the second, at a time; it reports each second, and what is late
    /// at once.
    fn play(&mut self, ms: u64, way: impl Fn(u64) -> i16) {
        let until = self.adaptive.at_ms + ms;
        while self.adaptive.at_ms < until {
            let at_ms = self.adaptive.at_ms;
            let way = way(at_ms);
            let late = i64::from(way) > self.plan.network_budget().as_millis() as i64;
            self.late += u32::from(late);
            let due = late || at_ms >= self.reported_ms + 1_000;
            self.reported_ms = if due { at_ms } else { self.reported_ms };
            self.turn(due.then_some(way));
        }
    }

    fn turn(&mut self, way: Option<i16>) {
        let ways = way.map(|way| (Seat(0), way)).into_iter();
        let way = self.adaptive.report(Seat(1), self.plan.tick_ms, ways);
        let entry = |Way { from, to, ms }| LogEntry {
            seat: to,
            what: What::Way { from, ms },
        };
        let bundle = Bundle {
            turn: TurnNumber(self.turn),
            plan: self.plan,
            paused: false,
            entries: way.into_iter().map(entry).collect(),
        };
        self.turn += 1;
        self.logged += bundle.entries.len();
        if let Some((plan, way)) = self.adaptive.take(&bundle, self.plan) {
            assert_ne!(plan, self.plan, "a change changes something");
            self.plan = plan;
            self.changes.push((self.adaptive.at_ms, plan, way));
        }
    }

    fn plans(&self) -> Vec<String> {
        let plans = self.changes.iter().map(|(_, plan, _)| plan.to_string());
        plans.collect()
    }
}

fn fits(way_ms: u16) -> String {
    fitting_plan(way_ms, START).to_string()
}

#[test]
fn short_turns_serve_short_ways_and_long_turns_long_ones() {
    let ways = [0, 50, 51, 100, 150, 151, 200, 300, 301, 400, 625];
    let plans = [
        "50x2", "50x2", "50x3", "50x3", "50x4", "100x3", "100x3", "100x4", "200x3", "200x3",
        "200x5",
    ];
    assert_eq!(ways.map(fits), plans.map(str::to_owned));
    let of = |way_ms, tick_ms| {
        let plan = fitting_plan(way_ms, Plan { tick_ms, ..START });
        (plan.to_string(), plan.is_valid(true))
    };
    let valid = |plan: &str| (plan.to_owned(), true);
    assert_eq!(of(0, 16), valid("64x2"));
    assert_eq!(of(300, 16), valid("128x4"));
    assert_eq!(of(0, 5), valid("40x2"));
    assert_eq!(of(625, 5), valid("40x8"));
    assert_eq!(of(625, 1_000), valid("1000x2"));
}

#[test]
fn a_fast_network_has_short_turns_after_five_seconds() {
    let mut game = Match::new();
    game.play(FIRST_WAIT_MS - 1_000, |_| 3);
    assert!(game.changes.is_empty());
    game.play(MINUTE_MS * 60, |_| 3);
    assert_eq!(game.plans(), ["50x2"]);
    assert_eq!((game.logged, game.changes[0].2), (0, None));
}

#[test]
fn a_step_of_the_way_is_answered_by_the_second_late_turn() {
    let mut game = Match::new();
    game.play(MINUTE_MS, |_| 20);
    assert_eq!(game.plan.to_string(), "50x2");
    game.play(MINUTE_MS * 5, |_| 150);
    assert_eq!(game.plans(), ["50x2", "100x3"]);
    assert_eq!(game.late, 2);
    let way = Way {
        from: Seat(0),
        to: Seat(1),
        ms: 150,
    };
    assert_eq!(game.changes[1].2, Some(way));
}

#[test]
fn one_hiccup_changes_nothing_and_two_do() {
    let mut game = Match::new();
    game.play(MINUTE_MS, |_| 20);
    for _ in 0..20 {
        game.turn(Some(170));
        game.play(2 * LATE_WINDOW_MS, |_| 20);
    }
    assert_eq!(game.plans(), ["50x2"]);
    game.turn(Some(170));
    game.play(1_000, |_| 20);
    game.turn(Some(120));
    assert_eq!(game.plans(), ["50x2", "50x4"], "the second worst counts");
}

#[test]
fn a_hiccup_is_over_after_five_seconds_and_a_slower_link_is_not() {
    let mut game = Match::new();
    game.play(2 * MINUTE_MS, |_| 20);
    let hiccup = |game: &mut Match| {
        (0..3).for_each(|_| game.turn(Some(170)));
        let at = game.changes.last().expect("it is slower").0;
        game.play(20_000, |_| 20);
        game.changes.last().map(|of| of.0 - at)
    };
    assert_eq!(hiccup(&mut game), Some(HICCUP_MS));
    assert_eq!(game.plans(), ["50x2", "100x3", "50x2"]);
    // The next one shows that links are worse than that.
    assert_eq!(hiccup(&mut game), Some(0));
    let changes = game.changes.len();
    game.play(WAIT_MS, |_| 20);
    assert_eq!(game.changes.len(), changes + 1);
    game.play(3 * MINUTE_MS, |_| 20);
    game.play(MINUTE_MS, |_| 150);
    let plans = game.plans();
    assert_eq!(plans[changes..], ["50x2", "100x3"], "no hiccup");
}

#[test]
fn a_link_that_is_slower_both_ways_is_answered_at_once() {
    let mut game = Match::new();
    game.play(MINUTE_MS, |_| 20);
    let entry = |to: u8, from: u8| LogEntry {
        seat: Seat(to),
        what: What::Way {
            from: Seat(from),
            ms: 150,
        },
    };
    let turn = |entries: Vec<LogEntry>| {
        let bundle = Bundle {
            turn: TurnNumber(game.turn),
            plan: game.plan,
            paused: false,
            entries,
        };
        let taken = game.adaptive.clone().take(&bundle, game.plan);
        taken.map(|(plan, _)| plan.to_string())
    };
    assert_eq!(
        turn(vec![entry(0, 1), entry(1, 0)]),
        Some("100x3".to_owned())
    );
    let one_peer = vec![entry(1, 0), entry(2, 0), entry(3, 0)];
    assert_eq!(turn(one_peer), None, "its machine stood still for a moment");
}

#[test]
fn after_a_lowering_that_failed_the_next_waits_twice_as_long() {
    let mut game = Match::new();
    game.play(MINUTE_MS, |_| 20);
    // Fast for just as long as it takes the plan to follow, each time.
    let mut waits = Vec::new();
    for _ in 0..7 {
        game.play(1_000, |_| 90);
        let raised = game.changes.last().expect("it is slower").0;
        let before = game.changes.len();
        while game.changes.len() == before {
            game.play(1_000, |_| 20);
        }
        waits.push((game.changes[before].0 - raised) / 1_000);
    }
    assert_eq!(waits, [5, 60, 120, 240, 480, 480, 480]);
    // A lowering that held for long has not failed.
    game.play(MINUTE_MS * 20, |_| 20);
    game.play(1_000, |_| 90);
    let raised = game.changes.last().expect("it is slower").0;
    game.play(MINUTE_MS, |_| 20);
    assert_eq!(game.changes.last().map(|of| of.0), Some(raised + HICCUP_MS));
}

#[test]
fn a_report_counts_no_more_than_the_longest_way() {
    let mut game = Match::new();
    game.play(MINUTE_MS, |_| i16::MAX);
    assert_eq!(game.plan.to_string(), "200x5");
    assert!(game.logged < 40, "{} entries of one minute", game.logged);
    game.play(MINUTE_MS, |_| i16::MIN + 1);
    assert_eq!(game.plan.to_string(), "50x2");
}

#[test]
fn ticks_of_another_length_are_another_budget_at_once() {
    let mut game = Match::new();
    game.play(MINUTE_MS, |_| 80);
    assert_eq!(game.plan.to_string(), "50x4");
    let bundle = |plan| Bundle {
        turn: TurnNumber(0),
        plan,
        paused: false,
        entries: Vec::new(),
    };
    let short = Plan {
        tick_ms: 13,
        ..game.plan
    };
    let (plan, way) = game.adaptive.take(&bundle(game.plan), short).expect("fits");
    assert_eq!(
        (plan.to_string(), way.map(|way| way.ms)),
        ("52x4".to_owned(), Some(80))
    );
}

#[test]
fn an_epoch_begins_with_the_plan_in_force_and_no_report() {
    let mut game = Match::new();
    game.play(MINUTE_MS, |_| 80);
    game.adaptive.begin_epoch();
    game.play(WINDOW_MS - 1_000, |_| 10);
    assert_eq!(game.plan.to_string(), "50x4");
    game.play(2_000, |_| 10);
    assert_eq!(game.plan.to_string(), "50x2");
}

#[test]
fn a_fixed_plan_stays_whatever_is_reported() {
    let mut game = Match::new();
    game.adaptive = Adaptive::new(true, FIRST_WAIT_MS);
    (0..1_000).for_each(|_| game.turn(Some(500)));
    assert_eq!((game.changes.len(), game.logged), (0, 0));
}

proptest! {
    #[test]
    fn every_plan_is_valid_and_fits_what_lasts(
        ways in prop::collection::vec((0i16..700, 1u64..40), 1..30),
        last in 0i16..600,
    ) {
        let mut game = Match::new();
        for (way, seconds) in ways {
            game.play(seconds * 1_000, |_| way);
            prop_assert!(game.plan.is_valid(true));
        }
        let times = game.changes.windows(2).map(|of| (of[0], of[1]));
        for ((before, last, _), (at, plan, _)) in times {
            let faster = plan.latency() < last.latency();
            prop_assert!(!faster || at >= before + HICCUP_MS, "faster after {} ms", at - before);
        }
        game.play(LONGEST_WAIT_MS + WINDOW_MS, |_| last);
        let before = game.late;
        let rounded = (last.max(0) as u16).next_multiple_of(STEP_MS);
        prop_assert!(game.plan.network_budget().as_millis() >= u128::from(rounded));
        prop_assert!(game.plan.latency() <= fitting_plan(rounded + MARGIN_MS, START).latency());
        game.play(MINUTE_MS, |_| last);
        prop_assert_eq!(game.late, before);
    }
}
