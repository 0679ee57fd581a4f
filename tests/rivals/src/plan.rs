//! Which matches are played.

use crate::contestant::{Contestant, KINDS, Kind};
use crate::link::{Cell, Loss};
use crate::run::Job;

/// Six cells with a name, in which each library is tuned.
pub const NAMED: [(&str, &str); 6] = [
    ("house", "4p-0ms-0"),
    ("city", "2p-50ms-1"),
    ("land", "4p-100ms-1"),
    ("ocean", "4p-200ms-5"),
    ("crowd", "8p-100ms-1"),
    ("far", "8p-300ms-bursts"),
];

/// How much is measured.
pub struct Extent {
    /// The cells of equal cadence.
    pub cells: Vec<Cell>,
    /// The cells in which libraries are tuned.
    pub tuned: Vec<Cell>,
    /// Seeds of every match but those of the search.
    pub seeds: Vec<u64>,
    /// Seconds that count in a match.
    pub seconds: u64,
    /// Seconds before those.
    pub warm_up: u64,
    /// Seconds that count in a match of the search.
    pub search_seconds: u64,
    /// Lengths of turns that the search tries.
    pub search_ms: Vec<u64>,
    /// Peers that run at once, unless the command line tells.
    pub peers_at_once: usize,
}

impl Extent {
    /// What the table is made of.
    pub fn full() -> Extent {
        let mut cells = Vec::new();
        for players in [2, 4, 8] {
            for rtt_ms in [0, 50, 100, 200, 300] {
                let percents = [0, 1, 5].map(Loss::Percent);
                let losses = percents.into_iter().chain([Loss::Bursts]);
                cells.extend(losses.map(|loss| Cell {
                    players,
                    rtt_ms,
                    loss,
                }));
            }
        }
        Extent {
            cells,
            tuned: NAMED.iter().map(|(_, cell)| read(cell)).collect(),
            seeds: vec![1, 2, 3],
            seconds: 60,
            warm_up: 5,
            search_seconds: 15,
            search_ms: vec![16, 20, 25, 33, 50, 100, 200],
            peers_at_once: 24,
        }
    }

    /// What takes at most five minutes.
    pub fn quick() -> Extent {
        let of = |cells: &[&str]| cells.iter().map(|cell| read(cell)).collect();
        Extent {
            cells: of(&[
                "2p-50ms-1",
                "4p-100ms-1",
                "4p-200ms-5",
                "8p-100ms-1",
                "8p-300ms-bursts",
            ]),
            tuned: of(&["2p-50ms-1", "4p-200ms-5"]),
            seeds: vec![1],
            seconds: 15,
            warm_up: 2,
            search_seconds: 5,
            search_ms: vec![16, 20, 25, 50, 100],
            peers_at_once: 32,
        }
    }

    fn job(&self, cell: Cell, contestant: Contestant, seed: u64) -> Job {
        Job {
            cell,
            contestant,
            seed,
            seconds: self.seconds,
            warm_up: self.warm_up,
            flips: true,
        }
    }

    /// The matches of equal cadence. Those of one cell and seed stand together: they run at the same time, or nearly. The
    /// cells in which libraries are tuned have an input delay of 2, and turns of 100 ms, too.
    pub fn equal(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for seed in &self.seeds {
            for cell in &self.cells {
                let contestants = cadences(200, 1);
                jobs.extend(contestants.map(|contestant| self.job(*cell, contestant, *seed)));
            }
            for cell in &self.tuned {
                let delayed = [Kind::GgrsGated, Kind::GgrsStock, Kind::Fortress];
                let delayed = delayed.map(|kind| Contestant::new(kind, 200, 2));
                let more = delayed.into_iter().chain(cadences(100, 1));
                jobs.extend(more.map(|contestant| self.job(*cell, contestant, *seed)));
            }
        }
        jobs
    }

    /// The matches of the search: all candidates of all libraries.
    pub fn search(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for cell in &self.tuned {
            for kind in KINDS {
                let candidates = candidates(kind, *cell, &self.search_ms);
                jobs.extend(candidates.into_iter().map(|contestant| Job {
                    seconds: self.search_seconds,
                    flips: false,
                    ..self.job(*cell, contestant, SEARCH_SEED)
                }));
            }
        }
        jobs
    }

    /// The matches of a tuned library.
    pub fn of_tuned(&self, cell: Cell, contestant: Contestant) -> Vec<Job> {
        let seeds = self.seeds.iter();
        seeds
            .map(|seed| self.job(cell, contestant, *seed))
            .collect()
    }
}

/// All libraries with turns of this length, and so many of them for the network.
fn cadences(cadence_ms: u64, budget_turns: u64) -> impl Iterator<Item = Contestant> {
    KINDS
        .into_iter()
        .map(move |kind| Contestant::new(kind, cadence_ms, budget_turns))
}

/// The candidates of the search: for each length of a turn, as many turns as a packet takes one way; and as many as it
/// takes if it is sent again once, a turn or a round trip later. The same for all libraries, as far as their settings
/// reach. A library that predicts needs no turn for the network.
fn candidates(kind: Kind, cell: Cell, lengths_ms: &[u64]) -> Vec<Contestant> {
    let one_way_ms = cell.rtt_ms * 55 / 100 + SLACK_MS;
    let mut found = Vec::new();
    for ms in lengths_ms {
        let none = (kind == Kind::Fortress).then_some(0);
        let some = [one_way_ms, one_way_ms + ms, one_way_ms + cell.rtt_ms];
        for needed_ms in none.into_iter().chain(some) {
            found.push(Contestant::new(kind, *ms, needed_ms.div_ceil(*ms)));
        }
    }
    found.sort();
    found.dedup();
    found
}

fn read(cell: &str) -> Cell {
    cell.parse().expect("a cell")
}

/// Time for polling and for a machine with other work.
const SLACK_MS: u64 = 10;
/// The search has a seed of its own: what it finds is measured with others.
const SEARCH_SEED: u64 = 99;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_measurement_has_all_cells_and_contestants() {
        let full = Extent::full();
        assert_eq!(full.cells.len(), 60);
        assert_eq!(full.equal().len(), 60 * 5 * 3 + 6 * 8 * 3);
        assert!(full.tuned.iter().all(|cell| full.cells.contains(cell)));
    }

    #[test]
    fn matches_of_one_cell_stand_together() {
        let quick = Extent::quick();
        let jobs = Extent {
            tuned: vec![],
            ..quick
        }
        .equal();
        let mut cells: Vec<Cell> = jobs.iter().map(|job| job.cell).collect();
        cells.dedup();
        assert_eq!(cells.len(), 5);
    }

    #[test]
    fn candidates_cover_one_way_and_a_repetition() {
        let cell = read("2p-100ms-1");
        let text = |kind| {
            let found = candidates(kind, cell, &[50, 100]);
            found.iter().map(Contestant::to_string).collect::<Vec<_>>()
        };
        let gated = ["50d2", "50d3", "50d4", "100d1", "100d2"];
        assert_eq!(
            text(Kind::GgrsGated),
            gated.map(|of| format!("ggrs-gated-{of}"))
        );
        let fortress = ["50d0", "50d2", "50d3", "50d4", "100d0", "100d1", "100d2"];
        assert_eq!(
            text(Kind::Fortress),
            fortress.map(|of| format!("fortress-{of}"))
        );
        let ours = ["50x3", "50x4", "50x5", "100x2", "100x3"];
        assert_eq!(text(Kind::Ours), ours.map(|of| format!("ours-{of}")));
        assert_eq!(text(Kind::Synctick), ["synctick-50", "synctick-100"]);
    }
}
