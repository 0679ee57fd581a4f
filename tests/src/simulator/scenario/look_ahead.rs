//! A peer that looks ahead among honest ones, of which one has a bad link.

use super::{Hostile, PeerPlan, Scenario, Weather, Workload};
use crate::random::Stream;
use std::time::Duration;

/// For so long it holds its batches back.
const LATE: Duration = Duration::from_millis(150);
/// The time of the match at which the leads of all are noted, 2 s later.
const NOTED_AT: Duration = Duration::from_secs(118);

impl Scenario {
    /// Eight peers, of which the first of the returned two looks ahead, and the other is honest and has a bad link: 100 ±
    /// 30 ms, and 5 % loss.
    pub fn look_ahead(seed: u64) -> (Scenario, usize, usize) {
        let random = &mut Stream::new(seed, "look-ahead", 0);
        let peer = |at: u64, random: &mut Stream| PeerPlan {
            begins_at: Duration::from_millis(at * 200),
            drift_ppm: random.between(0, 400) as i32 - 200,
            workload: Workload::Steady(random.millis(300, 1_500)),
            ..PeerPlan::default()
        };
        let mut scenario = Scenario {
            seed,
            peers: (0..8).map(|at| peer(at, random)).collect(),
            weather: Weather {
                delay: random.millis(1, 12),
                jitter: random.millis(0, 6),
                loss: random.below(5) as u32,
                burst: 1,
                ..Weather::default()
            },
            heal_at: NOTED_AT,
            turn_limit: 615,
            ..Scenario::default()
        };
        let looks = random.below(8) as usize;
        let bad = (looks + random.between(1, 7) as usize) % 8;
        scenario.peers[looks].hostile = Some(Hostile::LooksAhead(LATE));
        scenario.peers[bad].troubled = true;
        scenario.peers[bad].weather = Some(Weather {
            delay: Duration::from_millis(65),
            jitter: Duration::from_millis(60),
            loss: 50,
            burst: 1,
            ..Weather::default()
        });
        (scenario, looks, bad)
    }
}
