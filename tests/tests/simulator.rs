//! Hundreds of seeds of the simulator, judged.
//!
//! `SEED=17 cargo test -p tests --test simulator` runs one; `SEEDS=0..2000` runs a range.

use lockstep::log::{OnDesync, OnSlow};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tests::simulator::{Cut, Hostile, Over, PeerPlan, Report, Scenario, Toy, run};

/// Seeds of an ordinary run, a minute on two cores: enough to draw everything that can go wrong ten times at least.
const SEEDS: std::ops::Range<u64> = 0..400;

/// Seeds beyond those, each of which has shown something that was wrong in the session or in the judge.
const FOUND: [u64; 30] = [
    300120, 300524, 301118, 301306, 500024, 500118, 500194, 511141, 511700, 520597, 521136, 521751,
    522291, 522967, 524326, 720682, 721182, 801461, 70002453, 91006763, 94005144, 94006943,
    95005827, 96000134, 96007317, 98006245, 99000628, 99001630, 99005830, 99006008,
];

/// Seeds that also run over the real QUIC and TLS, half a minute on two cores: among them all kinds of faults, and hosts
/// that are lost while they tell all that the match begins.
const OVER_QUIC: [u64; 19] = [
    0, 1, 2, 3, 4, 5, 7, 9, 11, 26, 31, 36, 38, 39, 90_184, 90_330, 90_631, 90_753, 120_032,
];

/// Seeds that run twice over QUIC.
const REPEATED_OVER_QUIC: [u64; 2] = [3, 7];

#[test]
fn every_seed_keeps_the_invariants() {
    let seeds: Vec<u64> = wanted_seeds().collect();
    all_keep_the_invariants(&seeds, Over::Messages);
}

#[test]
fn seeds_that_have_shown_something_keep_the_invariants() {
    all_keep_the_invariants(&FOUND, Over::Messages);
}

#[test]
fn seeds_keep_the_invariants_over_quic() {
    let reports = all_keep_the_invariants(&OVER_QUIC, Over::Quic);
    assert!(reports.iter().all(|report| report.packets > 1_000));
    let scenarios = OVER_QUIC.map(Scenario::draw);
    let some = |of: &dyn Fn(&Scenario) -> bool| scenarios.iter().any(of);
    let some_peer = |of: fn(&PeerPlan) -> bool| some(&|each| each.peers.iter().any(of));
    let long = |cut: &Cut| cut.lasts > Duration::from_secs(10);
    assert!(some(&|each| each.weather.loss > 100), "loss");
    assert!(some(&|each| each.weather.corrupt > 20), "corruption");
    assert!(some(&|each| each.weather.duplicate > 100), "duplication");
    assert!(some(&|each| each.cuts.iter().any(long)), "links given up");
    assert!(some(&|each| each.hostile.is_some()), "hostility");
    assert!(some_peer(|peer| peer.returns.is_some()), "crash and rejoin");
    assert!(some_peer(|peer| peer.freeze.is_some()), "freezes");
    assert!(some_peer(|peer| peer.moves_at.is_some()), "moves");
}

#[test]
fn a_seed_is_a_whole_run_over_quic() {
    for seed in REPEATED_OVER_QUIC {
        let scenario = over(Over::Quic, seed);
        let [first, second] = [(); 2].map(|()| run::<Toy>(&scenario, None));
        assert_eq!(
            (first.trace, first.packets),
            (second.trace, second.packets),
            "seed {seed} runs differently twice"
        );
    }
}

#[test]
fn a_seed_is_a_whole_run() {
    for seed in [2, 15, 29, 41] {
        let scenario = Scenario::draw(seed);
        let first = run::<Toy>(&scenario, None);
        let second = run::<Toy>(&scenario, None);
        assert_eq!(
            first.trace, second.trace,
            "seed {seed} runs differently twice"
        );
        assert!(first.turns > 0, "seed {seed} plays");
    }
    let traces = [1, 2].map(|seed| run::<Toy>(&Scenario::draw(seed), None).trace);
    assert_ne!(traces[0], traces[1], "the trace shows what was run");
}

#[test]
fn seeds_cover_what_can_go_wrong() {
    let scenarios: Vec<Scenario> = SEEDS.map(Scenario::draw).collect();
    let share = |of: fn(&Scenario) -> bool| scenarios.iter().filter(|each| of(each)).count();
    for (what, count) in [
        ("lossy", share(|each| each.weather.loss > 50)),
        ("cut", share(|each| !each.cuts.is_empty())),
        (
            "long cuts",
            share(|each| each.cuts.iter().any(|cut| cut.lasts.as_secs() > 10)),
        ),
        ("forwarding", share(|each| !each.unreachable.is_empty())),
        ("desynced", share(|each| each.flaw.is_some())),
        ("disturbed", share(|each| each.hostile.is_some())),
        (
            "two-faced",
            share(|each| matches!(each.hostile, Some(Hostile::Equivocator(_)))),
        ),
        (
            "lied of a world",
            share(|each| matches!(each.hostile, Some(Hostile::Liar(_)))),
        ),
        (
            "of three or more that go on without who strays",
            share(|each| {
                let lie = matches!(each.hostile, Some(Hostile::Liar(_)));
                let goes_on = each.on_desync == OnDesync::RemoveMinority;
                goes_on && each.peers.len() > 2 && (lie || each.flaw.is_some())
            }),
        ),
        (
            "left",
            share(|each| each.peers.iter().any(|peer| peer.leaves_at.is_some())),
        ),
        (
            "crashed",
            share(|each| each.peers.iter().any(|peer| peer.crashes_at.is_some())),
        ),
        (
            "slow for a while",
            share(|each| each.peers.iter().any(|peer| peer.slow.is_some())),
        ),
        (
            "slow among strangers",
            share(|each| each.on_slow == OnSlow::Remove),
        ),
        (
            "frozen",
            share(|each| each.peers.iter().any(|peer| peer.freeze.is_some())),
        ),
        (
            "frozen for long",
            share(|each| {
                let freezes = each.peers.iter().filter_map(|peer| peer.freeze);
                freezes.map(|(_, lasts)| lasts.as_secs()).max() > Some(4)
            }),
        ),
        (
            "come back",
            share(|each| each.peers.iter().any(|peer| peer.returns.is_some())),
        ),
        (
            "paused",
            share(|each| each.peers.iter().any(|peer| peer.pause.is_some())),
        ),
        (
            "moved",
            share(|each| each.peers.iter().any(|peer| peer.moves_at.is_some())),
        ),
        (
            "with a clock that jumps",
            share(|each| each.peers.iter().any(|peer| peer.jump.is_some())),
        ),
        (
            "with a full disk",
            share(|each| each.peers.iter().any(|peer| peer.log_takes.is_some())),
        ),
        ("patient", share(|each| each.patient)),
        ("reopened", share(|each| each.reopens.is_some())),
        (
            "reopened beside some who stand still",
            share(|each| {
                let fates = each.reopens.iter().flat_map(|reopens| &reopens.fates);
                fates.map(|fate| fate.dies).any(|dies| dies.is_none())
            }),
        ),
        (
            "lost just after a change",
            share(|each| each.sequel.is_some()),
        ),
        ("signed with Ed25519", share(|each| each.ed25519)),
        ("eight peers", share(|each| each.peers.len() == 8)),
    ] {
        assert!(
            count >= 10,
            "only {count} of {} runs are {what}",
            scenarios.len()
        );
    }
}

#[test]
fn who_signs_two_histories_is_found_out_and_the_others_go_back_to_one() {
    let scenarios = (0..250).map(Scenario::draw);
    let two_faced = scenarios.filter(|each| matches!(each.hostile, Some(Hostile::Equivocator(_))));
    let (mut runs, mut proved, mut back) = (0, 0, 0);
    let mut sizes = std::collections::BTreeSet::new();
    for scenario in two_faced {
        let report = run::<Toy>(&scenario, None);
        let seed = scenario.seed;
        assert_eq!(report.violation, None, "seed {seed}");
        // It may have died before.
        if scenario
            .peers
            .last()
            .is_some_and(|peer| peer.crashes_at.is_some())
        {
            continue;
        }
        runs += 1;
        proved += u32::from(report.proved);
        back += u32::from(report.most_undone > 0);
        sizes.insert(report.peers);
    }
    println!("{runs} runs of {sizes:?} peers: {proved} proved, {back} went back");
    assert!(runs >= 8 && proved * 4 >= runs * 3 && back * 2 >= runs);
}

/// Runs the seeds on all processors.
///
/// # Panics
/// When one of them violates an invariant.
fn all_keep_the_invariants(seeds: &[u64], carrier: Over) -> Vec<Report> {
    let next = AtomicUsize::new(0);
    let reports = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let report = run::<Toy>(&over(carrier, *seed), None);
                    let mut reports = reports.lock().expect("no thread panics while it adds");
                    reports.push(report);
                }
            });
        }
    });
    let reports = reports.into_inner().expect("all threads have ended");
    let option = match carrier {
        Over::Messages => "",
        Over::Quic => " --over quic",
    };
    let failures = reports.iter().filter_map(|report| {
        let (seed, violation) = (report.seed, report.violation.as_ref()?);
        Some(format!(
            "seed {seed}: {violation}\n  again: cargo run -p tests --release --bin simulate -- --seed {seed}{option} --trace trace.txt"
        ))
    });
    let failures: Vec<String> = failures.collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    reports
}

fn over(carrier: Over, seed: u64) -> Scenario {
    Scenario {
        over: carrier,
        ..Scenario::draw(seed)
    }
}

fn wanted_seeds() -> std::ops::Range<u64> {
    let number = |text: &str| text.parse().expect("SEED=A or SEEDS=A..B");
    if let Ok(seed) = std::env::var("SEED") {
        let seed = number(&seed);
        return seed..seed + 1;
    }
    match std::env::var("SEEDS") {
        Ok(seeds) => {
            let (first, last) = seeds.split_once("..").expect("SEEDS=A..B");
            number(first)..number(last)
        }
        Err(_) => SEEDS,
    }
}
