//! Makes a scenario that fails smaller for as long as it still fails.

use super::{PeerPlan, Scenario, Weather, Workload};

/// The smallest scenario found that still `fails`, with at most so many tries. Greedy: what one edit removes is never
/// put back, and it ends when no single edit leaves a failure.
pub fn shrink(
    scenario: &Scenario,
    tries: u32,
    mut fails: impl FnMut(&Scenario) -> bool,
) -> Scenario {
    let mut smallest = scenario.clone();
    let mut left = tries;
    loop {
        let mut found = None;
        for smaller in smaller(&smallest) {
            if left == 0 {
                return smallest;
            }
            left -= 1;
            if fails(&smaller) {
                found = Some(smaller);
                break;
            }
        }
        match found {
            Some(smaller) => smallest = smaller,
            None => return smallest,
        }
    }
}

/// Every scenario that one edit makes of this one, the largest edits first.
fn smaller(scenario: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    let mut add = |edit: &dyn Fn(&mut Scenario) -> bool| {
        let mut edited = scenario.clone();
        if edit(&mut edited) {
            all.push(edited);
        }
    };
    add(&|scenario| remove_last_peer(scenario));
    add(&|scenario| {
        change(
            &mut scenario.turn_limit,
            |turns| turns / 2 >= 20,
            |turns| turns / 2,
        )
    });
    for cut in 0..scenario.cuts.len() {
        add(&|scenario| {
            scenario.cuts.remove(cut);
            true
        });
    }
    add(&|scenario| {
        let any = !scenario.unreachable.is_empty();
        scenario.unreachable.clear();
        any
    });
    add(&|scenario| scenario.hostile.take().is_some());
    add(&|scenario| scenario.flaw.take().is_some());
    add(&|scenario| std::mem::take(&mut scenario.patient));
    add(&|scenario| scenario.sequel.take().is_some());
    add(&|scenario| scenario.reopens.take().is_some());
    for part in WEATHER {
        add(&|scenario| part(&mut scenario.weather));
    }
    for peer in 0..scenario.peers.len() {
        for part in DOINGS {
            add(&|scenario| part(&mut scenario.peers[peer]));
        }
    }
    all
}

const WEATHER: [fn(&mut Weather) -> bool; 5] = [
    |weather| std::mem::take(&mut weather.loss) > 0,
    |weather| std::mem::take(&mut weather.duplicate) > 0,
    |weather| std::mem::take(&mut weather.reorder) > 0,
    |weather| std::mem::take(&mut weather.corrupt) > 0,
    |weather| !std::mem::take(&mut weather.jitter).is_zero(),
];

const DOINGS: [fn(&mut PeerPlan) -> bool; 14] = [
    |peer| peer.returns.take().is_some(),
    |peer| peer.returns.is_none() && peer.crashes_at.take().is_some(),
    |peer| peer.freeze.take().is_some(),
    |peer| peer.slow.take().is_some(),
    |peer| peer.leaves_at.take().is_some(),
    |peer| peer.pause.take().is_some(),
    |peer| peer.moves_at.take().is_some(),
    |peer| peer.jump.take().is_some(),
    |peer| peer.log_takes.take().is_some(),
    |peer| peer.chats_every.take().is_some(),
    |peer| std::mem::take(&mut peer.drift_ppm) != 0,
    |peer| !std::mem::take(&mut peer.load).is_zero() | !std::mem::take(&mut peer.step).is_zero(),
    |peer| change(&mut peer.seats, |seats| seats > 1, |_| 1),
    |peer| {
        let idle = matches!(peer.workload, Workload::Idle);
        peer.workload = Workload::Idle;
        !idle
    },
];

fn change<T: Copy>(value: &mut T, can: impl Fn(T) -> bool, to: impl Fn(T) -> T) -> bool {
    let can = can(*value);
    if can {
        *value = to(*value);
    }
    can
}

/// A match has two peers at least, and what names the last one goes with it.
fn remove_last_peer(scenario: &mut Scenario) -> bool {
    let last = scenario.peers.len() - 1;
    let flawed = scenario.flaw.is_some_and(|flaw| flaw.peer == last);
    let needed = scenario.is_hostile(last) || flawed || scenario.reopens.is_some();
    if last < 2 || needed {
        return false;
    }
    scenario.peers.pop();
    let stays = |(from, to): &(usize, usize)| *from != last && *to != last;
    scenario.unreachable.retain(stays);
    for cut in &mut scenario.cuts {
        cut.lanes.retain(stays);
    }
    scenario.cuts.retain(|cut| !cut.lanes.is_empty());
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A scenario with a cut and a crash, from the first seed that has both.
    fn seed_with_both() -> Scenario {
        let both = |scenario: &Scenario| {
            let crashes = scenario.peers.iter().any(|peer| peer.crashes_at.is_some());
            !scenario.cuts.is_empty() && crashes && scenario.peers.len() > 4
        };
        (0..500)
            .map(Scenario::draw)
            .find(both)
            .expect("many seeds have both")
    }

    #[test]
    fn only_what_the_failure_needs_is_left() {
        let scenario = seed_with_both();
        let fails = |scenario: &Scenario| {
            let crashes = scenario.peers.iter().any(|peer| peer.crashes_at.is_some());
            !scenario.cuts.is_empty() && crashes
        };
        let small = shrink(&scenario, 2_000, fails);
        assert!(fails(&small));
        assert_eq!(small.cuts.len(), 1);
        let crashes = small.peers.iter().filter(|peer| peer.crashes_at.is_some());
        assert_eq!(crashes.count(), 1);
        assert_eq!(
            (small.weather.loss, small.weather.jitter),
            (0, Duration::ZERO)
        );
        assert!(small.turn_limit < 40);
        let doings = small.peers.iter();
        assert!(
            doings
                .clone()
                .all(|peer| peer.freeze.is_none() && peer.returns.is_none())
        );
        assert!(
            doings
                .clone()
                .all(|peer| matches!(peer.workload, Workload::Idle))
        );
    }

    #[test]
    fn tries_are_bounded_and_what_never_fails_smaller_stays() {
        let scenario = seed_with_both();
        let mut tries = 0;
        let same = shrink(&scenario, 10, |_| {
            tries += 1;
            false
        });
        assert_eq!((tries, same.peers.len()), (10, scenario.peers.len()));
    }
}
