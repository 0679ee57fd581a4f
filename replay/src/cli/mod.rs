//! A command line over replay files, for any game.
//!
//! Exit codes: 0 good, 1 I/O, 2 usage, 3 desync or mismatch, 5 damaged or foreign file.

mod contents;
mod print;
mod report;
mod state;

use crate::Error;
use clap::{Parser, Subcommand};
use print::Printer;
use sim::Simulation;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs one command of a game's `replay` command line. `args` follow the word `replay`: `["info", "FILE"]`.
///
/// Results go to stdout, problems to stderr.
///
/// ```no_run
/// # use sim::*;
/// # fn game<World: Simulation>() -> std::process::ExitCode {
/// replay::cli::run::<World>(["verify", "match.replay"])
/// # }
/// ```
pub fn run<S: Simulation>(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    let bars = io::stderr().is_terminal();
    ExitCode::from(run_to::<S>(
        args,
        &mut io::stdout().lock(),
        &mut io::stderr(),
        bars,
    ))
}

/// Inspect, check and compare recorded matches.
#[derive(Parser)]
#[command(
    name = "replay",
    bin_name = "replay",
    no_binary_name = true,
    disable_version_flag = true,
    subcommand_required = true,
    after_help = "Exit codes: 0 good, 1 I/O, 2 usage, 3 desync or mismatch, 5 damaged or foreign file.\n\nExample: replay verify match.replay"
)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show what a file holds, without running it.
    #[command(
        after_help = "With --json: {\"match_id\",\"rules\",\"build\",\"format\",\"setup\",\"seats\":[{\"seat\",\"name\",\"peer\"}],\"plan\",\"turns\",\"ms\",\"ticks\",\"keyframes\",\"bytes\",\"tail\",\"provisional\",\"end\",\"branches\":[{\"turn\",\"match_id\",\"seats\"}],\"continued\":[{\"turn\",\"name\",\"seat\",\"peer\"}],\"cheats\":[{\"peer\",\"seats\",\"turn\",\"gone_from\"}],\"rosters\":[{\"turn\",\"epoch\",\"seats\",\"gone\",\"removed\",\"causes\":[{\"cause\",\"seats\"}],\"back\",\"cause\"}]}\n\nExample: replay info match.replay"
    )]
    Info(OneFile),
    /// Re-run every turn, and check checksums, history, signatures and keyframes.
    #[command(
        after_help = "With --json: {\"match_id\",\"turns\",\"of\",\"ticks\",\"checksums\",\"keyframes\",\"keyframes_unread\",\"signatures\",\"attested_turns\",\"checksum\",\"winner\",\"decided\",\"tail\",\"provisional\",\"wrong\",\"cheats\":[{\"peer\",\"seats\",\"turn\",\"gone_from\"}],\"branches\",\"continued\":[{\"turn\",\"name\",\"seat\",\"peer\",\"attested_turns\"}],\"desyncs\":[{\"turns\",\"peers\"}],\"wall_ms\",\"real_time_ratio\"}\n\nExample: replay verify match.replay"
    )]
    Verify {
        #[command(flatten)]
        file: OneFile,
        /// Also save, load and compare the world after every tick. Slow.
        #[arg(long)]
        every_tick: bool,
    },
    /// Show the world before a turn.
    #[command(
        after_help = "The world may come from a keyframe of the file. Only `replay verify` checks keyframes.\n\nWith --json: {\"turn\",\"ms\",\"tick\",\"checksum\",\"seats\",\"bytes\",\"sections\":[{\"name\",\"rows\"}],\"plan\",\"tick_ms\",\"slow\":[SEAT],\"way\":{\"from\",\"to\",\"ms\"}|null}\n\nExample: replay show --turn 1200 match.replay"
    )]
    Show {
        #[command(flatten)]
        file: OneFile,
        /// The next turn to execute; the number of turns of the file shows its end.
        #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = turn)]
        turn: u32,
    },
    /// Count commands by seat and minute, and bytes by kind of record.
    #[command(
        after_help = "With --json: {\"turns\",\"ms\",\"idle_turns\",\"paused_turns\",\"plan_changes\",\"plans\":[{\"turn\",\"ms\",\"ticks\",\"delay\",\"tick_ms\",\"slow\":[SEAT],\"way\":{\"from\",\"to\",\"ms\"}|null}],\"seats\":[{\"seat\",\"commands\",\"command_bytes\",\"per_minute\":[N],\"way_ms\":N|null,\"way_reports\",\"lead_ms\":N|null,\"usual_lead_ms\":N|null,\"stands_out\":BOOL}],\"bytes\":{KIND:N}}\n\nExample: replay stats match.replay"
    )]
    Stats(OneFile),
    /// Compare two files: equal, one a prefix of the other, or the first difference.
    #[command(
        after_help = "With --json: {\"agrees\",\"turns\":[A,B],\"equal_turns\",\"equal_checksums\",\"provisional_turns\":[A,B],\"difference\",\"branches\":[A,B]}\n\nExample: replay diff ours.replay theirs.replay"
    )]
    Diff {
        /// A replay.
        left: PathBuf,
        /// Another replay.
        right: PathBuf,
        /// One line of JSON instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Find the first tick at which two builds differ. Not available in this version.
    #[command(after_help = "Example: replay bisect match.replay")]
    Bisect {
        /// A replay, or a replay of each build.
        #[arg(num_args = 0..=2, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Write the valid part of a cut or damaged file to a new, clean one.
    #[command(
        after_help = "With --json: {\"written\",\"turns\",\"bytes\",\"dropped_bytes\",\"tail\"}\n\nExample: replay trim cut.replay -o clean.replay"
    )]
    Trim {
        #[command(flatten)]
        file: OneFile,
        /// The new file. Default: FILE with `.trimmed` before its extension. Never overwrites.
        #[arg(short, long, value_name = "OUT")]
        output: Option<PathBuf>,
    },
    /// Write all records but keyframes as JSON lines.
    #[command(
        after_help = "Always JSON, one object a line, with \"record\": start | bundle | checksum | mismatch | attest | leads | roster | accept | signed | continued | end\n\nExample: replay export match.replay > match.jsonl"
    )]
    Export(OneFile),
}

#[derive(clap::Args)]
struct OneFile {
    /// The replay.
    file: PathBuf,
    /// One line of JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// How a command ended, beside its output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Good = 0,
    Usage = 2,
    Mismatch = 3,
    Damaged = 5,
}

/// Why a command failed.
enum Failure {
    File(PathBuf, Error),
    Output(io::Error),
}

impl Failure {
    fn exit_code(&self) -> u8 {
        match self {
            Failure::Output(_) | Failure::File(_, Error::Io(_) | Error::Exists) => 1,
            Failure::File(_, Error::Setup | Error::OtherRules { .. } | Error::World { .. }) => {
                Verdict::Mismatch as u8
            }
            Failure::File(..) => Verdict::Damaged as u8,
        }
    }
}

/// Attaches a path to a file's error.
fn at(path: &Path) -> impl Fn(Error) -> Failure + Copy {
    move |error| Failure::File(path.to_owned(), error)
}

pub(crate) fn run_to<S: Simulation>(
    args: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    out: &mut dyn Write,
    err: &mut dyn Write,
    bars: bool,
) -> u8 {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            if error.use_stderr() {
                write!(err, "{error}").ok();
            } else {
                write!(out, "{error}").ok();
            }
            return error.exit_code() as u8;
        }
    };
    let mut printer = Printer::new(out, err, bars);
    let result = command::<S>(&args.command, &mut printer).and_then(|verdict| {
        printer.finish().map_err(Failure::Output)?;
        Ok(verdict)
    });
    match result {
        Ok(verdict) => verdict as u8,
        Err(failure) => {
            match &failure {
                Failure::File(path, error) => {
                    printer.problem(&format!("{}: {error}", path.display()))
                }
                Failure::Output(error) => printer.problem(&format!("standard output: {error}")),
            }
            failure.exit_code()
        }
    }
}

fn command<S: Simulation>(command: &Command, to: &mut Printer<'_>) -> Result<Verdict, Failure> {
    match command {
        Command::Info(file) => report::info::<S>(&file.file, file.json, to),
        Command::Verify { file, every_tick } => {
            report::verify::<S>(&file.file, file.json, *every_tick, to)
        }
        Command::Show { file, turn } => state::show::<S>(&file.file, file.json, *turn, to),
        Command::Stats(file) => contents::stats(&file.file, file.json, to),
        Command::Diff { left, right, json } => report::diff(left, right, *json, to),
        Command::Bisect { .. } => {
            to.problem(
                "bisect is not available in this version; `replay diff A B` finds the first difference of two files, and \
                 `replay verify --every-tick FILE` checks a file tick by tick",
            );
            Ok(Verdict::Usage)
        }
        Command::Trim { file, output } => {
            contents::trim(&file.file, output.as_deref(), file.json, to)
        }
        Command::Export(file) => contents::export::<S>(&file.file, to),
    }
}

fn turn(text: &str) -> Result<u32, TurnError> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| plain);
    number.ok_or_else(|| TurnError(text.to_owned()))
}

#[derive(Debug, thiserror::Error)]
#[error("a whole number from 0 to the turns of the file is expected, not `{0}`")]
struct TurnError(String);

#[cfg(test)]
mod tests;
