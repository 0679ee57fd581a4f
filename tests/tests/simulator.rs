//! Hundreds of seeds of the simulator, judged.
//!
//! `SEED=17 cargo test -p tests --test simulator` runs one; `SEEDS=0..2000` runs a range.

use std::io::Write;
use tests::simulator::{Outcome, Over, Scenario, Sweep, run};

/// Seeds of an ordinary run: enough to draw each kind of run at least ten times.
const SEEDS: std::ops::Range<u64> = 0..700;

/// Further seeds, each of which has once revealed a bug in the session or in the judge.
const FOUND: [u64; 19] = [
    887, 1023, 1160, 1165, 1246, 1255, 1292, 1312, 1701, 1791, 1808, 1824, 1895, 1911, 2123, 2620,
    2693, 2865, 3111,
];

/// The same, of sweeps: the seed at which one began, and how much later each of these was. No plan was adaptive then.
const SWEPT: [(u64, &[u64]); 47] = [
    (
        1_795_528_883_000,
        &[
            364, 694, 838, 1006, 1212, 1259, 2079, 2175, 2487, 2632, 4217, 4325, 5086, 5933, 6755,
            6855, 8856, 8915, 9316,
        ],
    ),
    (
        1_797_000_000_000,
        &[26, 212, 238, 1125, 1533, 1641, 3258, 3759, 5458, 5946],
    ),
    (1_799_000_000_000, &[354, 1022, 1488, 5047, 6116, 6697]),
    (1_795_635_640_000, &[2314, 3524]),
    (1_795_641_090_000, &[3179, 4781, 5273, 11591, 12390]),
    (1_795_649_090_000, &[2115, 4559, 6589, 7707]),
    (1_795_653_430_000, &[5718]),
    (1_795_655_810_000, &[9771, 10058]),
    (1_795_656_000_000, &[893]),
    (1_795_659_000_000, &[514]),
    (1_795_659_080_000, &[6328, 9923, 10102, 11593]),
    (1_795_667_680_000, &[5746, 7577, 9370, 9770]),
    (1_795_675_077_000, &[374, 501, 747, 1954]),
    (1_795_679_730_000, &[8777]),
    (1_795_684_133_000, &[457]),
    (1_795_684_550_000, &[8787]),
    (1_800_000_000_000, &[614, 1334]),
    (1_795_687_330_000, &[3309, 4795]),
    (1_795_692_350_000, &[2689, 4667, 5734]),
    (1_795_693_650_000, &[8649]),
    (1_795_694_780_000, &[2227]),
    (1_795_695_630_000, &[5322, 345_980]),
    (1_795_699_390_000, &[9545]),
    (1_795_703_460_000, &[1840]),
    (1_795_705_480_000, &[2]),
    (1_795_708_370_000, &[3306]),
    (1_795_709_400_000, &[9644]),
    (1_795_709_410_000, &[1755]),
    (1_795_723_848_000, &[66, 323]),
    (1_795_727_411_000, &[275]),
    (1_795_729_479_000, &[663]),
    (1_795_731_117_000, &[94]),
    (1_813_000_000_000, &[15]),
    (1_900_000_000_000, &[2605]),
    (9_001_795_723_849_000, &[437]),
    (35_002_000_000_001_000, &[11]),
    (45_001_795_717_982_000, &[178]),
    (55_001_795_718_753_000, &[305]),
    (65_001_795_723_847_000, &[597]),
    (2_000_000_000_002_552, &[0]),
    (136_001_795_743_658_000, &[51]),
    (1_796_000_000, &[828]),
    (1_795_765_000_000, &[139]),
    (1_795_766_000_000, &[304]),
    (17_001_795_767_799_000, &[58]),
    (1_797_000_005_000, &[515]),
    (1_795_767_800_000, &[3233, 5213]),
];

/// The same, of sweeps that drew adaptive plans.
const ADAPTIVE: [u64; 7] = [
    1_795_824_775_366,
    1_795_830_203_905,
    49_001_795_830_203_152,
    1_795_879_234_168,
    1_795_951_401_091,
    63_001_795_961_001_786,
    7_001_795_980_000_124,
];

/// Seeds that also run over real QUIC and TLS.
const OVER_QUIC: std::ops::Range<u64> = 0..20;

/// Seeds of matches of eight peers, of which one looks ahead.
const LOOK_AHEAD: std::ops::Range<u64> = 0..8;

/// Each kind of run occurs at least this often among [`SEEDS`].
const OF_EACH_KIND: usize = 8;

#[test]
fn every_seed_keeps_the_invariants() {
    let seeds = wanted_seeds();
    let outcome = all_keep_the_invariants(&Sweep::of(seeds.start, seeds.end));
    assert!(
        !outcome.lacks_cores(),
        "too many runs have no core: {outcome}"
    );
    if seeds == SEEDS {
        for (kind, count) in outcome.kinds() {
            assert!(count >= OF_EACH_KIND, "{count} runs are of kind: {kind}");
        }
        assert!(outcome.proved >= 15 && outcome.retracted >= 15, "{outcome}");
    }
}

#[test]
fn seeds_that_found_bugs_keep_the_invariants() {
    let swept = SWEPT.into_iter();
    let swept = swept.flat_map(|(from, later)| later.iter().map(move |later| from + later));
    let fixed = FOUND.into_iter().chain(swept).map(|seed| (seed, true));
    for (seed, fixed_plans) in fixed.chain(ADAPTIVE.map(|seed| (seed, false))) {
        all_keep_the_invariants(&Sweep {
            fixed_plans,
            by_number: true,
            ..Sweep::of(seed, seed + 1)
        });
    }
}

#[test]
fn seeds_keep_the_invariants_over_quic() {
    let sweep = Sweep {
        over: Over::Quic,
        ..Sweep::of(OVER_QUIC.start, OVER_QUIC.end)
    };
    let outcome = all_keep_the_invariants(&sweep);
    assert!(outcome.packets() > 20_000, "{outcome}");
    for wanted in [
        "loss above 5 %",
        "cut for over 10 s",
        "a hostile peer",
        "returned",
        "frozen",
        "moved",
    ] {
        let mut kinds = outcome.kinds();
        assert!(kinds.any(|(kind, count)| kind == wanted && count > 0));
    }
}

#[test]
fn a_seed_runs_the_same_way_again() {
    let mut seeds = SEEDS;
    let signed = seeds.find(|seed| Scenario::draw(*seed).ed25519);
    for (over, seed) in [
        (Over::Messages, 2),
        (Over::Messages, signed.expect("one seed in fifty is")),
        (Over::Messages, 48),
        (Over::Quic, 3),
        (Over::Quic, 7),
    ] {
        let scenario = Scenario {
            over,
            ..Scenario::draw(seed)
        };
        let [first, second] = [(); 2].map(|()| run(&scenario, None));
        assert_eq!(
            (first.trace, first.packets),
            (second.trace, second.packets),
            "seed {seed} over {over:?} runs differently twice"
        );
        assert!(first.turns > 0, "seed {seed} plays");
    }
}

#[test]
fn a_peer_that_looks_ahead_stands_out_and_one_on_a_bad_link_does_not() {
    for seed in LOOK_AHEAD {
        let (scenario, looks, bad) = Scenario::look_ahead(seed);
        let report = run(&scenario, None);
        assert!(report.violation.is_none(), "{seed}: {report:?}");
        let leads = report.leads.iter().filter(|(here, ..)| *here != bad);
        let (mut told, mut named) = (0, 0);
        for (here, of, ms, stands_out) in leads {
            let place = format!(
                "seed {seed}: peer {here} of {of}: {ms} ms, all: {:?}",
                report.leads
            );
            assert_eq!(*stands_out, *of == looks, "{place}");
            assert!(*ms < 100 || *of != looks, "{place}");
            assert!(*ms > 150 || *of == looks, "{place}");
            told += 1;
            named += usize::from(*stands_out);
        }
        assert_eq!((told, named), (6 * 7, 6), "seed {seed}: {:?}", report.leads);
    }
}

#[test]
fn two_seeds_leave_two_traces() {
    let traces = [1, 2].map(|seed| run(&Scenario::draw(seed), None).trace);
    assert_ne!(traces[0], traces[1], "the trace shows what was run");
}

/// Runs the seeds on all processors, and prints the results.
///
/// # Panics
/// If a seed violates an invariant.
fn all_keep_the_invariants(sweep: &Sweep) -> Outcome {
    let outcome = sweep.run(|_, _| ());
    // Not captured by the test harness: every sweep prints its results.
    if outcome.runs() > 1 {
        let seeds = format!("\nseeds {}..{}\n{outcome}\n", sweep.first, sweep.end);
        let _ = std::io::stderr().write_all(seeds.as_bytes());
    }
    let failures = outcome.failed.iter();
    let failures: Vec<String> = failures
        .map(|(seed, violation)| sweep.failure(*seed, violation))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    outcome
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
