//! Rows out of results: the seeds of a contestant in a cell are put together.

use crate::account::{percentile, range_of_percentile};
use crate::contestant::{Contestant, Kind};
use crate::link::{Cell, Loss};
use crate::run::{Job, Measured};

/// A contestant in a cell.
#[derive(Clone, Debug)]
pub struct Row {
    /// Players and network.
    pub cell: Cell,
    /// The library and its settings.
    pub contestant: Contestant,
    /// All seeds together. Sums of counts, means of rates, and the worst of what is a maximum.
    pub all: Measured,
    /// Seeds that count.
    pub seeds: usize,
    /// Seconds of each.
    pub seconds: u64,
}

impl Row {
    /// The row of jobs of one contestant and cell.
    pub fn new(jobs: &[(Job, &Measured)]) -> Option<Row> {
        let (first, _) = jobs.first()?;
        let mut all = Measured::default();
        let (played, failed): (Vec<_>, Vec<_>) = jobs
            .iter()
            .partition(|(_, measured)| measured.failed.is_none());
        all.failed = failed
            .iter()
            .find_map(|(_, measured)| measured.failed.clone());
        let seeds = played.len();
        let mut reports: Vec<Option<u64>> = Vec::new();
        for (_, one) in &played {
            let share = 1.0 / seeds as f64;
            all.latencies_ms.extend(&one.latencies_ms);
            all.lost += one.lost;
            all.unexecuted += one.unexecuted;
            all.disordered += one.disordered;
            all.disagreeing += one.disagreeing;
            all.stalled_percent += one.stalled_percent * share;
            all.longest_stall_ms = all.longest_stall_ms.max(one.longest_stall_ms);
            all.cpu_us_per_turn += one.cpu_us_per_turn * share;
            all.up_bytes_per_s += one.up_bytes_per_s * share;
            all.most_up_bytes_per_s = all.most_up_bytes_per_s.max(one.most_up_bytes_per_s);
            all.up_packets_per_s += one.up_packets_per_s * share;
            let busy = all.busy_percent.into_iter().chain(one.busy_percent);
            all.busy_percent = busy.reduce(f64::max);
            reports.push(one.desync_turns);
        }
        // The slowest report. A seed without one leaves none.
        let reports: Option<Vec<u64>> = reports.into_iter().collect();
        all.desync_turns = reports.and_then(|turns| turns.into_iter().max());
        Some(Row {
            cell: first.cell,
            contestant: first.contestant,
            all,
            seeds,
            seconds: first.seconds,
        })
    }

    /// Whether a seed failed.
    pub fn failed(&self) -> bool {
        self.all.failed.is_some()
    }

    /// Whether the processors were full during a match.
    pub fn is_crowded(&self) -> bool {
        self.all
            .busy_percent
            .is_some_and(|busy| busy > FULL_PERCENT)
    }

    /// A percentile of latency in ms.
    pub fn latency(&self, share: f64) -> Option<f64> {
        percentile(&mut self.all.latencies_ms.clone(), share)
    }

    /// The range in which the 95th percentile lies, as far as the samples tell.
    fn range(&self) -> (f64, f64) {
        let range = range_of_percentile(&mut self.all.latencies_ms.clone(), 0.95);
        range.unwrap_or_default()
    }

    /// The 95th percentile of latency in ms, where no seed failed.
    pub fn p95(&self) -> Option<f64> {
        self.latency(0.95).filter(|_| !self.failed())
    }

    /// The cells of a table.
    pub fn fields(&self) -> Vec<String> {
        let all = &self.all;
        let ms = |share| {
            self.latency(share)
                .map_or("–".to_owned(), |ms| format!("{ms:.0}"))
        };
        let mut fields = vec![self.cell.to_string(), self.contestant.to_string()];
        if self.seeds > 0 {
            let (low, high) = self.range();
            fields.extend([
                ms(0.5),
                format!("{} ({low:.0}–{high:.0})", ms(0.95)),
                ms(1.0),
                format!("{:.1}", all.stalled_percent),
                format!("{:.0}", all.longest_stall_ms),
                all.lost.to_string(),
                all.unexecuted.to_string(),
                format!("{:.0} / {:.0}", all.up_bytes_per_s, all.most_up_bytes_per_s),
                format!("{:.1}", all.cpu_us_per_turn / 1_000.0),
                all.desync_turns
                    .map_or("none".to_owned(), |turns| turns.to_string()),
            ]);
        } else {
            fields.extend(std::iter::repeat_n("–".to_owned(), HEAD.len() - 3));
        }
        let mut sample = format!(
            "{} of {} × {} s",
            all.latencies_ms.len(),
            self.seeds,
            self.seconds
        );
        if self.seconds < FULL_SECONDS {
            sample += ", shortened";
        }
        if self.is_crowded() {
            sample += ", processors full";
        }
        if all.disordered + all.disagreeing > 0 {
            let (disordered, disagreeing) = (all.disordered, all.disagreeing);
            sample += &format!("; {disordered} out of order, {disagreeing} peers disagree");
        }
        if let Some(why) = &all.failed {
            sample += &format!("; failed: {}", why.replace('|', " "));
        }
        fields.push(sample);
        fields
    }
}

/// The heads of [`Row::fields`].
pub const HEAD: [&str; 13] = [
    "cell",
    "contestant",
    "p50 ms",
    "p95 ms (range)",
    "max ms",
    "stalled %",
    "longest stall ms",
    "lost",
    "late",
    "up B/s, mean / most",
    "CPU ms a turn",
    "desync after turns",
    "commands measured",
];
/// Seconds of a match that is not shortened.
const FULL_SECONDS: u64 = 60;
/// Processors that are busy for such a share of a match, in percent, make its turns late.
const FULL_PERCENT: f64 = 85.0;

/// What the goal says of these rows: each sentence, and whether it holds.
pub fn verdicts(equal: &[Row], tuned: &[Row]) -> Vec<(String, Option<bool>)> {
    let in_cell = |rows: &[Row], cell: Cell, kind: Kind, ms: Option<u64>| {
        let fits = |row: &&Row| {
            let Contestant {
                kind: of,
                cadence_ms,
                budget_turns,
            } = row.contestant;
            let equal = ms.is_none_or(|ms| cadence_ms == ms && budget_turns <= 1);
            row.cell == cell && of == kind && equal
        };
        rows.iter().find(fits).cloned()
    };
    let mut found = Vec::new();
    for ms in [200, 100] {
        let (mut cells, mut worse) = (0, Vec::new());
        for ours in equal.iter().filter(|row| row.contestant.kind == Kind::Ours) {
            let gated = in_cell(equal, ours.cell, Kind::GgrsGated, Some(ms));
            let (Some(gated), true) = (gated, ours.contestant.cadence_ms == ms) else {
                continue;
            };
            cells += 1;
            if !is_no_worse(ours, &gated) {
                worse.push(compared(ours, &gated));
            }
        }
        if cells > 0 {
            let claim = format!("p95 no worse than gated ggrs, equal cadence of {ms} ms");
            found.push(verdict(&claim, cells, &worse));
        }
    }
    let (mut cells, mut worse) = (0, Vec::new());
    let lossy = tuned.iter().filter(|row| row.cell.loss != Loss::Percent(0));
    for rival in lossy.filter(|row| row.contestant.kind != Kind::Ours) {
        cells += 1;
        match in_cell(tuned, rival.cell, Kind::Ours, None) {
            // A rival was tuned to be smooth: what is faster because it stalls for longer is not better.
            Some(ours) if is_better(&ours, rival) && (is_smooth(&ours) || !is_smooth(rival)) => {}
            Some(ours) => worse.push(compared(&ours, rival)),
            None => worse.push(format!(
                "{} (no row of ours; {})",
                rival.cell, rival.contestant
            )),
        }
    }
    if cells > 0 {
        let claim = "p95 better than each rival tuned, cells with loss";
        found.push(verdict(claim, cells, &worse));
    }
    let of_ours = equal.iter().chain(tuned);
    let of_ours = of_ours.filter(|row| row.contestant.kind == Kind::Ours);
    let (mut cells, mut worse) = (0, Vec::new());
    for row in of_ours {
        cells += 1;
        if row.all.lost > 0 || row.failed() {
            worse.push(format!(
                "{} {}: {} lost",
                row.cell, row.contestant, row.all.lost
            ));
        }
    }
    found.push(verdict("0 lost commands of ours", cells, &worse));
    found
}

fn verdict(claim: &str, pairs: usize, worse: &[String]) -> (String, Option<bool>) {
    if pairs == 0 {
        return (format!("{claim}: not measured"), None);
    }
    let held = pairs - worse.len();
    let mut text = format!("{claim}: holds in {held} of {pairs}");
    if !worse.is_empty() {
        text += &format!("; not in {}", worse.join(", "));
    }
    (text, Some(worse.is_empty()))
}

fn compared(ours: &Row, other: &Row) -> String {
    let ms = |row: &Row| {
        let stalled = row.all.stalled_percent;
        let told = |ms| format!("{ms:.1} ms, stalled {stalled:.1} %");
        row.p95().map_or("failed".to_owned(), told)
    };
    let name = other.contestant;
    let ((low, high), (other_low, other_high)) = (ours.range(), other.range());
    let overlap = if low <= other_high && other_low <= high {
        ", ranges overlap"
    } else {
        ""
    };
    format!(
        "{} ({}; {name} {}{overlap})",
        ours.cell,
        ms(ours),
        ms(other)
    )
}

/// A rival that failed is no better.
fn is_no_worse(ours: &Row, other: &Row) -> bool {
    match (ours.p95(), other.p95()) {
        (Some(ours), Some(other)) => ours <= other,
        (ours, _) => ours.is_some(),
    }
}

fn is_better(ours: &Row, other: &Row) -> bool {
    match (ours.p95(), other.p95()) {
        (Some(ours), Some(other)) => ours < other,
        (ours, _) => ours.is_some(),
    }
}

/// The best of the candidates of one library in one cell: the lowest p95 of those that stall for at most a hundredth of
/// the time; where all stall for longer, the one that stalls least.
pub fn best(rows: &[Row]) -> Option<&Row> {
    let played = || rows.iter().filter(|row| row.p95().is_some());
    let p95 = |row: &&Row| row.p95().unwrap_or(f64::MAX);
    let smooth = played().filter(|row| is_smooth(row));
    let fastest = smooth.min_by(|one, other| p95(one).total_cmp(&p95(other)));
    let stalled = |row: &&Row| row.all.stalled_percent;
    fastest.or_else(|| played().min_by(|one, other| stalled(one).total_cmp(&stalled(other))))
}

fn is_smooth(row: &Row) -> bool {
    row.all.stalled_percent <= STALLED_PERCENT
}

/// A tuned library may stall for so much of the time.
const STALLED_PERCENT: f64 = 1.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cell: &str, contestant: &str, p95: f64, stalled_percent: f64) -> Row {
        let job = Job {
            cell: cell.parse().expect("a cell"),
            contestant: contestant.parse().expect("a contestant"),
            seed: 1,
            seconds: 60,
            warm_up: 5,
            flips: true,
        };
        let measured = Measured {
            latencies_ms: vec![p95],
            stalled_percent,
            ..Measured::default()
        };
        Row::new(&[(job, &measured)]).expect("a row")
    }

    #[test]
    fn a_row_that_was_measured_on_full_processors_says_so() {
        let mut row = row("2p-0ms-0", "ours-50x2", 90.0, 0.0);
        let told = [None, Some(60.0), Some(97.5)].map(|busy| {
            row.all.busy_percent = busy;
            row.fields().last().cloned()
        });
        let sample = "1 of 1 × 60 s".to_owned();
        let full = format!("{sample}, processors full");
        assert_eq!(told, [sample.clone(), sample, full].map(Some));
    }

    #[test]
    fn the_best_candidate_is_the_fastest_that_does_not_stall() {
        let rows = [
            row("2p-0ms-0", "ours-50x2", 90.0, 4.0),
            row("2p-0ms-0", "ours-100x2", 190.0, 0.5),
            row("2p-0ms-0", "ours-200x2", 390.0, 0.0),
        ];
        let chosen = |rows: &[Row]| best(rows).map(|row| row.contestant.to_string());
        assert_eq!(chosen(&rows), Some("ours-100x2".to_owned()));
        assert_eq!(chosen(&rows[..1]), Some("ours-50x2".to_owned()));
        assert_eq!(chosen(&[]), None);
    }

    #[test]
    fn seeds_are_put_together() {
        let one = row("2p-0ms-0", "ours-50x2", 90.0, 4.0);
        let job = |seed| Job {
            cell: one.cell,
            contestant: one.contestant,
            seed,
            seconds: 60,
            warm_up: 5,
            flips: true,
        };
        let mut other = one.all.clone();
        other.latencies_ms = vec![10.0, 20.0];
        other.stalled_percent = 0.0;
        other.desync_turns = Some(3);
        let both = Row::new(&[(job(1), &one.all), (job(2), &other)]).expect("a row");
        assert_eq!(both.all.latencies_ms.len(), 3);
        assert_eq!(both.all.stalled_percent, 2.0);
        assert_eq!(both.all.desync_turns, None, "a seed without a report");
        assert_eq!(both.fields().len(), HEAD.len());
        let failed = Measured {
            failed: Some("why".to_owned()),
            ..Measured::default()
        };
        let half = Row::new(&[(job(1), &other), (job(2), &failed)]).expect("a row");
        assert!(half.failed() && half.seeds == 1 && half.p95().is_none());
        let none = Row::new(&[(job(2), &failed)]).expect("a row");
        assert_eq!(none.fields().len(), HEAD.len());
    }

    #[test]
    fn a_tuned_row_that_stalls_or_is_missing_is_no_better() {
        let rivals = [
            row("2p-50ms-1", "ggrs-gated-50d1", 95.0, 3.0),
            row("2p-50ms-1", "synctick-50", 95.0, 1.0),
            row("2p-50ms-5", "synctick-50", 95.0, 1.0),
        ];
        let claim = |ours: &[Row]| {
            let tuned = [&rivals[..], ours].concat();
            verdicts(&[], &tuned).swap_remove(0)
        };
        let smooth = [("2p-50ms-1", 1.0), ("2p-50ms-5", 0.0)];
        let ours = smooth.map(|(cell, stalled)| row(cell, "ours-50x2", 90.0, stalled));
        assert_eq!(claim(&ours).1, Some(true));
        let (stalls, held) = claim(&[row("2p-50ms-1", "ours-50x2", 90.0, 2.0)]);
        assert_eq!(held, Some(false));
        for part in [
            "1 of 3; not in 2p-50ms-1 (90.0 ms, stalled 2.0 %; synctick-50 95.0 ms, stalled 1.0 %",
            ", 2p-50ms-5 (no row of ours; synctick-50)",
        ] {
            assert!(stalls.contains(part), "{part}: {stalls}");
        }
    }

    #[test]
    fn verdicts_tell_where_the_goal_is_missed() {
        let equal = [
            row("2p-50ms-1", "ours-200x2", 380.0, 0.0),
            row("2p-50ms-1", "ggrs-gated-200d1", 390.0, 0.0),
            row("2p-50ms-1", "ggrs-gated-200d2", 100.0, 0.0),
            row("4p-50ms-1", "ours-200x2", 400.0, 0.0),
            row("4p-50ms-1", "ggrs-gated-200d1", 390.0, 0.0),
        ];
        let tuned = [
            row("2p-50ms-1", "ours-50x2", 100.0, 0.0),
            row("2p-50ms-1", "ggrs-gated-50d1", 90.0, 3.0),
            row("2p-50ms-1", "synctick-25", 90.0, 0.0),
            row("2p-0ms-0", "ours-50x2", 100.0, 0.0),
            row("2p-0ms-0", "synctick-25", 90.0, 0.0),
        ];
        let found = verdicts(&equal, &tuned);
        let held: Vec<Option<bool>> = found.iter().map(|(_, held)| *held).collect();
        assert_eq!(held, [Some(false), Some(false), Some(true)]);
        let first = "1 of 2; not in 4p-50ms-1 (400.0 ms, stalled 0.0 %; ggrs-gated-200d1 390.0 ms,";
        assert!(found[0].0.contains(first), "{}", found[0].0);
        // A rival that stalls counts, too.
        let second = "0 of 2; not in 2p-50ms-1 (100.0 ms, stalled 0.0 %; ggrs-gated-50d1 90.0 ms, stalled 3.0 %)";
        assert!(found[1].0.contains(second), "{}", found[1].0);
    }
}
