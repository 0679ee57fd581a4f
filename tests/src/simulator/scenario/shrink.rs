//! Shrinks a failing scenario while it still fails.

use super::{Fault, PeerPlan, Scenario, Weather, Workload};

/// The smallest scenario found that still `fails`, within this many tries. Greedy: no edit is undone, and it ends
/// when no single edit keeps the failure.
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

/// Every scenario that is one edit smaller, the largest edits first.
fn smaller(scenario: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    let mut add = |edit: &dyn Fn(&mut Scenario) -> bool| {
        let mut edited = scenario.clone();
        if edit(&mut edited) {
            all.push(edited);
        }
    };
    add(&remove_last_peer);
    add(&|each| {
        change(
            &mut each.turn_limit,
            |turns| turns / 2 >= 20,
            |turns| turns / 2,
        )
    });
    add(&|each| !std::mem::take(&mut each.unreachable).is_empty());
    add(&|each| std::mem::take(&mut each.stranger));
    add(&|each| std::mem::take(&mut each.extends));
    add(&|each| std::mem::take(&mut each.clumsy));
    add(&|each| each.aftermath.take().is_some());
    add(&|each| each.reopening.take().is_some());
    for part in WEATHER {
        add(&|each| part(&mut each.weather));
    }
    for peer in 0..scenario.peers.len() {
        for part in ACTIONS {
            add(&|each| part(&mut each.peers[peer]));
        }
        for fault in 0..scenario.peers[peer].faults.len() {
            add(&|each| remove_fault(&mut each.peers[peer], fault));
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

const ACTIONS: [fn(&mut PeerPlan) -> bool; 9] = [
    |peer| peer.hostile.take().is_some(),
    |peer| peer.flaw.take().is_some(),
    |peer| peer.log_takes.take().is_some(),
    |peer| peer.chats_every.take().is_some(),
    |peer| peer.keyframe_every.take().is_some(),
    |peer| std::mem::take(&mut peer.drift_ppm) != 0,
    |peer| !std::mem::take(&mut peer.load).is_zero() | !std::mem::take(&mut peer.step).is_zero(),
    |peer| change(&mut peer.seats, |seats| seats > 1, |_| 1),
    |peer| {
        let idle = matches!(peer.workload, Workload::Idle);
        peer.workload = Workload::Idle;
        !idle
    },
];

/// A crash is removed together with its return.
fn remove_fault(peer: &mut PeerPlan, fault: usize) -> bool {
    let next = peer.faults.get(fault + 1);
    let returns = next.is_some_and(|(_, next)| matches!(next, Fault::Return { .. }));
    let (_, removed) = peer.faults.remove(fault);
    if removed == Fault::Crash && returns {
        peer.faults.remove(fault);
    }
    true
}

fn change<T: Copy>(value: &mut T, can: impl Fn(T) -> bool, to: impl Fn(T) -> T) -> bool {
    let can = can(*value);
    if can {
        *value = to(*value);
    }
    can
}

/// A match has at least two peers. References to the last peer are removed with it.
fn remove_last_peer(scenario: &mut Scenario) -> bool {
    let last = scenario.peers.len() - 1;
    if last < 2 || scenario.reopening.is_some() {
        return false;
    }
    scenario.peers.pop();
    let stays = |(one, other): &(usize, usize)| *one != last && *other != last;
    scenario.unreachable.retain(stays);
    for peer in &mut scenario.peers {
        for (_, fault) in &mut peer.faults {
            if let Fault::Cut { others, .. } = fault {
                others.retain(|other| *other != last);
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A scenario with a cut and a crash, from the first seed that has both.
    fn seed_with_both() -> Scenario {
        let is_wanted = |scenario: &Scenario| fails(scenario) && scenario.peers.len() > 4;
        let mut seeds = (0..2_000).map(Scenario::draw);
        seeds.find(is_wanted).expect("many seeds have both")
    }

    fn fails(scenario: &Scenario) -> bool {
        let has = |of: fn(&Fault) -> bool| scenario.peers.iter().any(|peer| peer.has(of));
        has(|fault| *fault == Fault::Crash) && has(|fault| matches!(fault, Fault::Cut { .. }))
    }

    #[test]
    fn shrinking_keeps_only_what_the_failure_needs() {
        let small = shrink(&seed_with_both(), 2_000, fails);
        assert!(fails(&small));
        let faults: usize = small.peers.iter().map(|peer| peer.faults.len()).sum();
        assert_eq!(faults, 2);
        assert_eq!(
            (small.weather.loss, small.weather.jitter),
            (0, Duration::ZERO)
        );
        assert!(small.turn_limit < 40);
        let mut peers = small.peers.iter();
        assert!(peers.all(|peer| matches!(peer.workload, Workload::Idle)));
    }

    #[test]
    fn shrinking_ends_after_its_tries() {
        let scenario = seed_with_both();
        let mut tries = 0;
        let same = shrink(&scenario, 10, |_| {
            tries += 1;
            false
        });
        assert_eq!((tries, same.peers.len()), (10, scenario.peers.len()));
    }
}
