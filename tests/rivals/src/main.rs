//! This kit and other Rust libraries for lockstep, over one bad network, measured alike.
//!
//! `rivals --quick` takes at most five minutes. Without it the whole table takes some hours, and is resumed where it was
//! left. A measurement with changes that are not committed begins anew each time.

mod account;
mod contestant;
mod link;
mod page;
mod peer;
mod plan;
mod plots;
mod processors;
mod proxy;
mod results;
mod run;
mod table;
mod trace;

use clap::{Parser, Subcommand};
use contestant::{Contestant, Kind};
use link::Cell;
use page::Page;
use plan::Extent;
use results::{Forgets, Results};
use run::Job;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::mpsc::channel;
use std::time::Instant;
use table::{Row, best, verdicts};

/// Measures this kit beside other libraries, prints a table and writes a page.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    /// A few cells, in at most five minutes.
    #[arg(long)]
    quick: bool,
    /// Forgets all results and begins again.
    #[arg(long)]
    anew: bool,
    /// Plays nothing: writes the page of the results at hand, of the commit that was measured last.
    #[arg(long, conflicts_with_all = ["quick", "anew", "cell"])]
    so_far: bool,
    /// Peers that run at once, in as many matches as that allows. Default: 24, and 32 for --quick.
    #[arg(long)]
    peers_at_once: Option<usize>,
    /// This cell alone, such as 4p-100ms-1 or 8p-300ms-bursts. Writes no page.
    #[arg(long)]
    cell: Option<Cell>,
    /// This contestant alone, such as ours-200x2, ggrs-gated-200d1 or synctick-200. With --cell.
    #[arg(long, requires = "cell")]
    contestant: Option<Contestant>,
    /// The folder of the page and its plots. Default: the docs of the repository.
    #[arg(long)]
    out: Option<PathBuf>,
    #[command(subcommand)]
    peer: Option<Hidden>,
}

impl Arguments {
    /// What is forgotten of earlier results. Those of uncommitted changes may be of other changes.
    fn forgets(&self, commit: &str) -> Forgets {
        match self.anew {
            true => Forgets::All,
            false if commit.ends_with(CHANGES) && !self.so_far => Forgets::Commit,
            false => Forgets::Nothing,
        }
    }

    /// The command line of a page, with which its figures are measured again.
    fn told(&self, peers_at_once: usize, usual: usize) -> String {
        let peers = (peers_at_once != usual).then(|| format!("--peers-at-once {peers_at_once}"));
        let quick = self.quick.then(|| "--quick".to_owned());
        let told: Vec<String> = quick.into_iter().chain(peers).collect();
        told.join(" ")
    }
}

#[derive(Subcommand)]
enum Hidden {
    /// One peer of a match, which its parent drives.
    #[command(hide = true)]
    Peer {
        #[arg(long)]
        contestant: Contestant,
        #[arg(long)]
        players: usize,
        #[arg(long)]
        me: usize,
        #[arg(long)]
        seed: u64,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(Hidden::Peer {
        contestant,
        players,
        me,
        seed,
    }) = arguments.peer
    {
        peer::run(contestant, players, me, seed);
        return ExitCode::SUCCESS;
    }
    match measure(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rivals: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut extent = if arguments.quick {
        Extent::quick()
    } else {
        Extent::full()
    };
    if let Some(cell) = arguments.cell {
        extent.cells = vec![cell];
        extent.tuned = if arguments.contestant.is_some() {
            vec![]
        } else {
            vec![cell]
        };
    }
    let mut field = Field::open(arguments, &extent)?;
    let mut equal = extent.equal();
    if let Some(contestant) = arguments.contestant {
        equal.retain(|job| job.contestant.kind == contestant.kind);
        equal.iter_mut().for_each(|job| job.contestant = contestant);
        equal.dedup();
    }
    let search = extent.search();
    let (mut tuned, mut without_ours) = (Vec::new(), Vec::new());
    // A measurement that is stopped early has one seed of everything, rather than all seeds of a part.
    for seed in &extent.seeds {
        let of_seed = |jobs: &[Job]| -> Vec<Job> {
            let jobs = jobs.iter().filter(|job| job.seed == *seed);
            jobs.copied().collect()
        };
        field.play(&format!("equal cadence, seed {seed}"), &of_seed(&equal))?;
        field.play("search", &search)?;
        (tuned, without_ours) = field.tuned(&extent, &search);
        field.play(&format!("tuned, seed {seed}"), &of_seed(&tuned))?;
    }

    let (rows_equal, mut rows_tuned) = (field.rows(&equal), field.rows(&tuned));
    rows_tuned.sort_by_key(|row| (row.cell, row.contestant.kind));
    let verdicts = verdicts(&rows_equal, &rows_tuned);
    println!(
        "\n{}\n{}",
        page::table(&rows_equal),
        page::table(&rows_tuned)
    );
    for (claim, _) in &verdicts {
        println!("{claim}");
    }
    let left = equal.iter().filter(|job| !field.has(job)).count();
    let so_far = (left > 0).then(|| (equal.len() - left, equal.len()));
    let all: Vec<Job> = equal.into_iter().chain(tuned).collect();
    let days = field.results.days(&all);
    let (first, last) = days.ok_or("nothing was measured")?;
    let page = Page {
        commit: field.commit.clone(),
        days: (first.to_owned(), last.to_owned()),
        arguments: arguments.told(field.peers_at_once, extent.peers_at_once),
        peers_at_once: field.peers_at_once,
        so_far,
        equal: rows_equal,
        tuned: rows_tuned,
    };
    if arguments.cell.is_none() {
        page.write(&extent, &field.out)?;
        println!("written: {}", field.out.join("rivals.md").display());
    }
    let rows = || page.equal.iter().chain(&page.tuned);
    let held = verdicts.iter().filter(|(_, holds)| *holds == Some(true));
    println!(
        "{} of {} claims hold, {} of {} rows failed, {} s in all",
        held.count(),
        verdicts.len(),
        rows().filter(|row| row.failed()).count(),
        rows().count(),
        field.begun.elapsed().as_secs(),
    );
    let mut of_ours = rows().filter(|row| row.contestant.kind == Kind::Ours);
    if of_ours.any(|row| row.failed() || row.all.lost + row.all.disagreeing > 0) {
        return Err("a match of ours failed, or lost commands".into());
    }
    if !without_ours.is_empty() {
        let cells = without_ours.join(", ");
        return Err(format!("all candidates of ours failed in {cells}").into());
    }
    Ok(())
}

/// Where matches are played and kept.
struct Field {
    results: Results,
    commit: String,
    work: PathBuf,
    out: PathBuf,
    peers_at_once: usize,
    /// Matches without a result are not played.
    so_far: bool,
    begun: Instant,
}

impl Field {
    fn open(arguments: &Arguments, extent: &Extent) -> Result<Field, Box<dyn Error>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
        let root = root.ok_or("this crate lies two folders deep")?;
        let program = std::env::current_exe()?;
        let target = program
            .ancestors()
            .nth(2)
            .ok_or("a program without a folder")?;
        let work = target.join("rivals");
        std::fs::create_dir_all(&work)?;
        let results = work.join("results.jsonl");
        let (commit, usual) = match arguments.so_far {
            true => results::newest(&results, extent.seconds)?.ok_or("nothing was measured")?,
            false => (commit(root), extent.peers_at_once),
        };
        let peers_at_once = arguments.peers_at_once.unwrap_or(usual).max(8);
        let forgets = arguments.forgets(&commit);
        Ok(Field {
            results: Results::open(&results, &commit, peers_at_once, forgets)?,
            commit,
            work,
            out: arguments.out.clone().unwrap_or_else(|| root.join("docs")),
            peers_at_once,
            so_far: arguments.so_far,
            begun: Instant::now(),
        })
    }

    fn has(&self, job: &Job) -> bool {
        self.results.get(job).is_some()
    }

    fn has_all(&self, jobs: &[Job]) -> bool {
        jobs.iter().all(|job| self.has(job))
    }

    /// The matches of tuned libraries, by what the search found, and the cells in which all candidates of ours failed.
    fn tuned(&self, extent: &Extent, search: &[Job]) -> (Vec<Job>, Vec<String>) {
        let (mut tuned, mut without_ours) = (Vec::new(), Vec::new());
        // What a part of a search finds is not what the whole of it would.
        if !self.has_all(search) {
            return (tuned, without_ours);
        }
        let mut searched = self.rows(search);
        searched.sort_by_key(|row| (row.cell, row.contestant.kind));
        for of_library in searched.chunk_by(|one, other| {
            one.cell == other.cell && one.contestant.kind == other.contestant.kind
        }) {
            match best(of_library) {
                Some(best) => tuned.extend(extent.of_tuned(best.cell, best.contestant)),
                None if of_library[0].contestant.kind == Kind::Ours => {
                    without_ours.push(of_library[0].cell.to_string());
                }
                None => {}
            }
        }
        (tuned, without_ours)
    }

    /// Plays those matches that have no result yet, as many at once as there is room for.
    fn play(&mut self, part: &str, jobs: &[Job]) -> Result<(), Box<dyn Error>> {
        if self.so_far {
            return Ok(());
        }
        let mut left: Vec<Job> = jobs.to_vec();
        left.retain(|job| !self.has(job));
        let lasts = |job: &Job| (job.warm_up + job.seconds + BESIDE_S) * job.cell.players as u64;
        let minutes = left.iter().map(lasts).sum::<u64>() as f64 / 60.0 / self.peers_at_once as f64;
        let (left_count, all) = (left.len(), jobs.len());
        println!("{part}: {left_count} of {all} matches are left, about {minutes:.1} minutes");
        let (of, mut ended, mut running, mut number) = (left.len(), 0, 0, 0);
        let (sender, played) = channel();
        let mut left = left.into_iter().peekable();
        while ended < of {
            while let Some(job) =
                left.next_if(|job| running + job.cell.players <= self.peers_at_once)
            {
                running += job.cell.players;
                number += 1;
                let folder = self
                    .work
                    .join(format!("match-{}-{number}", std::process::id()));
                let sender = sender.clone();
                std::thread::spawn(move || {
                    let played = std::fs::create_dir_all(&folder).map(|()| run::run(&job, &folder));
                    // A report that cannot be removed stays until the target folder is cleaned.
                    let _ = std::fs::remove_dir_all(&folder);
                    // Without a parent there is no result to keep.
                    let _ = sender.send((job, played));
                });
            }
            let (job, measured) = played.recv()?;
            let measured = measured?;
            ended += 1;
            running -= job.cell.players;
            let told = [(job, &measured)];
            let row = Row::new(&told).ok_or("a match without a row")?;
            let seconds = self.begun.elapsed().as_secs();
            println!("{seconds} s, {ended} of {of}: {}", row.fields().join(" | "));
            self.results.put(&job, &today(), measured)?;
        }
        Ok(())
    }

    /// The rows of these matches: a contestant in a cell each, in the order of cells.
    fn rows(&self, jobs: &[Job]) -> Vec<Row> {
        let known = jobs
            .iter()
            .filter_map(|job| Some((*job, self.results.get(job)?)));
        let mut known: Vec<_> = known.collect();
        // Stable: contestants keep their order.
        known.sort_by_key(|(job, _)| (job.cell, order_of(job)));
        let of_row = known.chunk_by(|(one, _), (other, _)| {
            one.cell == other.cell && one.contestant == other.contestant
        });
        of_row.filter_map(Row::new).collect()
    }
}

/// A match takes so many seconds beside those of its measurement.
const BESIDE_S: u64 = 7;

/// Rows of one cell: first by settings of the table, then by library.
fn order_of(job: &Job) -> (u64, u64, Contestant) {
    let Contestant { cadence_ms, .. } = job.contestant;
    let delayed = u64::from(job.contestant.budget_turns > 1);
    (u64::MAX - cadence_ms, delayed, job.contestant)
}

/// The last commit that changed anything but pages that are measured.
fn commit(root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(arguments)
            .output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let all = ["--", ".", ":!docs/proofs.md", ":!docs/rivals*"];
    let commit = git(&[&["log", "-1", "--format=%h"], &all[..]].concat());
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    match git(&[&["diff", "--quiet", "HEAD"], &all[..]].concat()) {
        Some(_) => commit,
        None => format!("{commit}{CHANGES}"),
    }
}

/// Behind the commit where there are changes that are not committed.
const CHANGES: &str = " + changes";

/// The date in UTC.
fn today() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let days = since.map_or(0, |since| since.as_secs() / 86_400) as i64;
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The date so many days behind the first of January 1970, in the Gregorian calendar.
fn date(days: i64) -> (i64, i64, i64) {
    // Years begin in March here, so a leap day is the last of its year. The first of March of the year 0 is day 0.
    let since = days + 719_468;
    let (era, of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(20_088), (2024, 12, 31));
        assert_eq!(date(20_089), (2025, 1, 1));
    }

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
        let typed = ["rivals", "--contestant", "ours-200x2"];
        assert!(Arguments::try_parse_from(typed).is_err());
    }

    #[test]
    fn results_of_uncommitted_changes_are_forgotten() {
        let forgets = |typed: &[&str], commit: &str| {
            let typed = ["rivals"].iter().chain(typed);
            let arguments = Arguments::try_parse_from(typed).expect("a command line");
            arguments.forgets(commit)
        };
        assert_eq!(forgets(&[], "abc"), Forgets::Nothing);
        assert_eq!(forgets(&["--anew"], "abc"), Forgets::All);
        assert_eq!(forgets(&[], "abc + changes"), Forgets::Commit);
        assert_eq!(forgets(&["--so-far"], "abc + changes"), Forgets::Nothing);
    }

    #[test]
    fn a_page_tells_how_many_peers_at_once_were_asked_for() {
        let told = |typed: &[&str], peers: usize| {
            let typed = ["rivals"].iter().chain(typed);
            let arguments = Arguments::try_parse_from(typed).expect("a command line");
            arguments.told(peers, 24)
        };
        assert_eq!(told(&[], 24), "");
        assert_eq!(told(&["--quick"], 24), "--quick");
        assert_eq!(told(&["--so-far"], 12), "--peers-at-once 12");
        assert_eq!(told(&["--quick"], 12), "--quick --peers-at-once 12");
    }

    #[test]
    fn rows_begin_with_the_longest_turns() {
        let job = |contestant: &str| Job {
            cell: "2p-0ms-0".parse().expect("a cell"),
            contestant: contestant.parse().expect("a contestant"),
            seed: 1,
            seconds: 1,
            warm_up: 1,
            flips: false,
        };
        let mut jobs = [
            "ours-100x2",
            "ggrs-gated-200d2",
            "ggrs-gated-200d1",
            "ours-200x2",
        ]
        .map(job);
        jobs.sort_by_key(order_of);
        let order = [
            "ours-200x2",
            "ggrs-gated-200d1",
            "ggrs-gated-200d2",
            "ours-100x2",
        ]
        .map(job);
        assert_eq!(jobs, order);
    }
}
