//! Metering over hours of match time: bounds, recovery, and how often it changes its mind.

use super::*;
use proptest::prelude::*;

const PLAN: Plan = Plan {
    ticks: 4,
    delay_turns: 2,
    tick_ms: 50,
};
const MINUTE_MS: u64 = 60_000;

/// A match that is metered, and the plans that were in force: since when, and which.
struct Match {
    metering: Metering,
    plan: Plan,
    changes: Vec<(u64, Metered)>,
    next_report_ms: u64,
}

impl Match {
    fn new(plan: Plan, on_slow: OnSlow) -> Self {
        Match {
            metering: Metering::new(plan.tick_ms, on_slow),
            plan,
            changes: Vec::new(),
            next_report_ms: 0,
        }
    }

    /// Plays so long; once a second each peer reports what `load` says, in milliseconds, for the plan in force.
    fn play(&mut self, ms: u64, load: impl Fn(Plan) -> [u16; 3]) {
        let until = self.metering.at_ms + ms;
        while self.metering.at_ms < until {
            let mut loads = Vec::new();
            if self.metering.at_ms >= self.next_report_ms {
                self.next_report_ms = self.metering.at_ms + 1_000;
                let seats = (0..).map(Seat);
                loads = seats.zip(load(self.plan).map(|ms| ms * 16)).collect();
            }
            self.turn(&loads);
        }
    }

    fn turn(&mut self, loads: &[(Seat, u16)]) {
        if let Some(metered) = self.metering.turn(self.plan, false, loads.iter().copied()) {
            assert_ne!(metered.plan, self.plan, "a change changes something");
            self.plan = metered.plan;
            self.changes.push((self.metering.at_ms, metered));
        }
    }

    /// How much longer all turns of the next `ms` were than at the start, in milliseconds.
    fn cost(&mut self, ms: u64, load: impl Fn(Plan) -> [u16; 3]) -> u64 {
        let until = self.metering.at_ms + ms;
        let mut cost = 0;
        while self.metering.at_ms < until {
            let plan = self.plan;
            self.play(1, &load);
            cost += u64::from(plan.tick_ms - PLAN.tick_ms) * u64::from(plan.ticks);
        }
        cost
    }

    fn lengths(&self) -> Vec<u16> {
        let changes = self.changes.iter();
        changes.map(|(_, metered)| metered.plan.tick_ms).collect()
    }
}

#[test]
fn one_slow_machine_lengthens_ticks_once_and_is_named() {
    let mut game = Match::new(PLAN, OnSlow::Meter);
    game.play(5_000, |_| [3, 5, 9]);
    assert_eq!(game.changes, []);
    game.play(18_000, |_| [3, 80, 9]);
    let (at, metered) = game.changes[0];
    assert!(
        at <= 6_000,
        "raised at once, after a second at most, not at {at} ms"
    );
    assert_eq!((metered.plan.tick_ms, metered.slow), (100, Some(Seat(1))));
    assert_eq!(game.changes.len(), 1, "and then steady: {:?}", game.changes);
}

#[test]
fn ticks_are_short_again_soon_after_the_cause_has_ended() {
    for slow in [60, 80, 120, 199, 500] {
        let mut game = Match::new(PLAN, OnSlow::Meter);
        game.play(3_000, |_| [3, slow, 9]);
        assert_ne!(game.plan, PLAN);
        game.play(12_000, |_| [3, 4, 9]);
        let last = game.changes.last().map(|(_, metered)| *metered);
        let nominal = Metered {
            plan: PLAN,
            slow: None,
        };
        assert_eq!(last, Some(nominal), "{slow} ms");
        assert_eq!(game.changes.len(), 2, "{:?}", game.changes);
    }
}

#[test]
fn ticks_are_never_longer_than_the_floor() {
    let mut game = Match::new(PLAN, OnSlow::Meter);
    game.play(30_000, |_| [900, 1_000, 950]);
    assert_eq!(game.lengths(), [200]);
    let slowest = Plan {
        tick_ms: 1_000,
        ..PLAN
    };
    let mut game = Match::new(slowest, OnSlow::Meter);
    game.play(MINUTE_MS, |_| [900, 1_000, 1_000]);
    assert_eq!(game.changes, [], "the longest tick there is");
}

#[test]
fn a_load_that_shows_only_at_full_speed_is_tried_ever_less_often() {
    let mut game = Match::new(PLAN, OnSlow::Meter);
    let load = |plan: Plan| [3, if plan == PLAN { 61 } else { 30 }, 9];
    game.play(60 * MINUTE_MS, load);
    let raises = game.lengths().iter().filter(|ms| **ms > 50).count();
    // After 10 and 20 s, and then whenever its stall budget, which 35 s spend, is given back.
    assert!((20..=30).contains(&raises), "{raises}: {:?}", game.changes);
    // Once it has ended, the next trial is the last.
    let before = game.changes.len();
    game.play(9 * MINUTE_MS, |_| [3, 5, 9]);
    assert_eq!(game.plan, PLAN);
    assert!(game.changes.len() <= before + 1);
}

#[test]
fn a_peer_pays_for_the_time_that_it_costs_as_for_being_late() {
    let mut game = Match::new(PLAN, OnSlow::Remove);
    game.play(18_000, |_| [3, 9, 80]);
    assert_eq!(game.metering.too_slow(), None, "it has cost 8 s");
    game.play(8_000, |_| [3, 9, 80]);
    assert_eq!(game.metering.too_slow(), Some(Seat(2)), "it has cost 11 s");
    game.metering.begin_epoch(3);
    assert_eq!(game.metering.too_slow(), None);

    let mut game = Match::new(PLAN, OnSlow::Remove);
    for _ in 0..20 {
        game.play(3_000, |_| [3, 9, 80]);
        game.play(4 * MINUTE_MS, |_| [3, 9, 5]);
    }
    assert_eq!(game.metering.too_slow(), None, "it is given back in time");

    let mut game = Match::new(PLAN, OnSlow::Meter);
    game.play(10 * MINUTE_MS, |_| [3, 9, 200]);
    assert_eq!(
        game.metering.too_slow(),
        None,
        "no machine is removed for it"
    );
}

#[test]
fn a_peer_does_not_pay_for_the_waits_of_another_one() {
    let mut of = Match::new(PLAN, OnSlow::Remove);
    // The first one needs longer ticks again and again, soon after they are short.
    for _ in 0..4 {
        of.play(1_500, |_| [51, 5, 5]);
        of.play(45_000, |_| [5, 5, 5]);
    }
    assert!(of.changes.len() >= 4, "{:?}", of.changes);
    of.play(200_000, |_| [5, 5, 5]);
    assert_eq!(of.plan, PLAN);
    // The second one has a single slow moment.
    of.play(1_500, |_| [5, 120, 5]);
    assert_ne!(of.plan, PLAN);
    let since = of.metering.at_ms;
    while of.plan != PLAN {
        of.play(1_000, |_| [5, 5, 5]);
    }
    let lasted = of.metering.at_ms - since;
    assert!(lasted < 12_000, "{lasted} ms");
    assert_eq!(of.metering.too_slow(), None);
}

#[test]
fn a_report_that_lasts_costs_no_more_than_the_stall_budget() {
    for load in [60, 80, 200, 1_000] {
        for on_slow in [OnSlow::Meter, OnSlow::Remove] {
            let mut game = Match::new(PLAN, on_slow);
            let cost = game.cost(60 * MINUTE_MS, |_| [3, load, 9]);
            let most = 10_000 + 60 * MINUTE_MS / 10 + 1_000;
            assert!(cost > 10_000, "the match slows down for it");
            assert!(
                cost <= most,
                "{load} ms under {on_slow:?}: {cost} of {most}"
            );
        }
    }
}

#[test]
fn a_peer_that_begins_a_long_wait_pays_for_all_of_it() {
    let mut game = Match::new(PLAN, OnSlow::Meter);
    let mut cost = 0;
    // It is slow only once ticks are short again, so that they are tried ever less often.
    for _ in 0..60 {
        cost += game.cost(MINUTE_MS, |plan| {
            [3, if plan == PLAN { 1_000 } else { 5 }, 9]
        });
    }
    let most = 10_000 + 60 * MINUTE_MS / 10 + 1_000;
    assert!(cost <= most, "{cost} of {most}");
}

#[test]
fn an_honest_load_does_not_pay_for_a_larger_one() {
    let mut game = Match::new(PLAN, OnSlow::Remove);
    game.play(10_000, |_| [1_000, 45, 9]);
    assert_eq!(game.plan.tick_ms, 200);
    game.play(8_000, |_| [3, 45, 9]);
    assert_eq!(game.metering.too_slow(), Some(Seat(0)));
    assert_eq!(game.plan.tick_ms, 57, "what the other one needs");
    let spent = game.metering.peers[&Seat(1)].spent;
    assert!(spent < 20_000, "{spent} tenths of a millisecond");
}

#[test]
fn paused_turns_and_a_peer_alone_cost_nothing() {
    let start = crate::log::fixture::start(1);
    let mut alone = Match::new(start.terms.plan, OnSlow::Remove);
    alone.metering = Metering::of(&start);
    alone.play(60 * MINUTE_MS, |_| [80, 0, 0]);
    assert_eq!(alone.changes.len(), 1, "{:?}", alone.changes);

    let mut game = Match::new(PLAN, OnSlow::Remove);
    game.play(10_000, |_| [3, 80, 9]);
    for _ in 0..5_000 {
        let loads = [(Seat(1), 80 * 16)];
        let metered = game.metering.turn(game.plan, true, loads.into_iter());
        assert_eq!(metered, None);
    }
    assert_eq!(game.metering.too_slow(), None);
}

#[test]
fn joiner_of_an_epoch_computes_the_same_plans() {
    let mut game = Match::new(PLAN, OnSlow::Meter);
    game.play(8_000, |_| [3, 120, 9]);
    game.metering.begin_epoch(3);
    let mut joiner = Match::new(PLAN, OnSlow::Meter);
    joiner.plan = game.plan;
    joiner.metering.begin_epoch(3);
    game.changes.clear();
    game.next_report_ms = 0;
    for (minutes, load) in [(1, 60), (2, 5), (1, 90)] {
        game.play(minutes * MINUTE_MS, |_| [3, load, 9]);
        joiner.play(minutes * MINUTE_MS, |_| [3, load, 9]);
    }
    assert_eq!(game.changes, joiner.changes);
    assert!(game.changes.len() >= 3);
}

#[test]
fn a_peer_that_comes_and_goes_does_not_keep_ticks_long() {
    let mut game = Match::new(PLAN, OnSlow::Meter);
    game.play(8_000, |_| [3, 120, 9]);
    let long = game.plan.tick_ms;
    for _ in 0..5 {
        game.metering.begin_epoch(3);
        game.play(5_000, |_| [3, 5, 9]);
    }
    assert!(
        long > PLAN.tick_ms && game.plan == PLAN,
        "{long} {}",
        game.plan
    );
}

proptest! {
    #[test]
    fn whatever_is_reported_the_plan_keeps_its_bounds(
        nominal_ms in 1..=1_000_u16,
        turns in prop::collection::vec(prop::collection::vec(((0..3_u8).prop_map(Seat), 0..=MAX_LOAD), 0..3), 1..300),
    ) {
        let start = Plan { tick_ms: nominal_ms, ..PLAN };
        let mut game = Match::new(start, OnSlow::Remove);
        let floor = (4 * u32::from(nominal_ms)).min(1_000) as u16;
        let mut lowered_at = None;
        for loads in turns {
            let before = game.plan;
            game.turn(&loads);
            let plan = game.plan;
            prop_assert!((nominal_ms..=floor).contains(&plan.tick_ms));
            prop_assert_eq!(Plan { tick_ms: nominal_ms, ..plan }, start);
            prop_assert!(plan.is_valid(true));
            let worst = loads.iter().map(|(_, load)| *load).max().unwrap_or(0);
            let machines = || game.metering.peers.values();
            let spent = machines().filter(|machine| machine.is_spent).count();
            let fits = worst <= plan.tick_ms * 16 || plan.tick_ms == floor;
            prop_assert!(fits || spent > 0, "{} in {}", worst, plan);
            if plan.tick_ms < before.tick_ms {
                let at = game.metering.at_ms;
                let waited = lowered_at.is_none_or(|last| at - last >= WAIT_MS);
                prop_assert!(waited || spent > 0);
                lowered_at = Some(at);
            }
            prop_assert!(machines().all(|machine| machine.recent.len() <= 300));
        }
    }

    #[test]
    fn a_larger_load_never_asks_for_a_shorter_tick(
        nominal_ms in 1..=1_000_u16,
        one in 0..=MAX_LOAD,
        other in 0..=MAX_LOAD,
    ) {
        let metering = Metering::new(nominal_ms, OnSlow::Meter);
        let (less, more) = (one.min(other), one.max(other));
        prop_assert!(metering.target(less) <= metering.target(more));
        let target = metering.target(less);
        prop_assert!(u32::from(target) * 64 >= u32::from(less) * 5 || target == metering.longest());
    }

    /// However loads jump: each lowering is bought with ten seconds, or with a stall budget, and a rise has at most as many
    /// steps as there are.
    #[test]
    fn changes_are_rare(loads in prop::collection::vec(1..250_u16, 1..200)) {
        let mut game = Match::new(PLAN, OnSlow::Meter);
        for load in loads {
            game.play(2_000, |_| [3, load, 9]);
        }
        let at = game.metering.at_ms;
        let lengths: Vec<u16> = std::iter::once(50).chain(game.lengths()).collect();
        let lowerings = lengths.windows(2).filter(|pair| pair[1] < pair[0]).count() as u64;
        prop_assert!(lowerings <= 2 * at / WAIT_MS, "{lowerings} in {at} ms");
        prop_assert!(game.changes.len() as u64 <= 8 * (lowerings + 1), "{:?}", game.changes);
    }
}
