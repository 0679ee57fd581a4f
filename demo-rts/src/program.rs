//! Which part of the program a command line starts.

use crate::{
    cli::{Cli, Command, Common},
    exit::{self, Problem},
    headless, local,
    log::{self, LogLevel, say},
    options::{self, OnQuorumLoss, OptionError},
    output::Line,
    peer::{Bots, KeyChoice, Launch, Part, Peer},
    plain, play_on,
    recording::{beside, recorder},
    signals::QuitRequest,
    terminal, watch,
    world::World,
};
use clap::{CommandFactory as _, Parser as _};
use lockstep::{Rejoin, Ticket};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Commands and options of the program, for tests of its pages and for writers of completions.
pub fn command_line() -> clap::Command {
    Cli::command()
}

/// Runs the program with these arguments, the first of which is its name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // A closed stdout or stderr leaves no way to report its own failure.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(exit::USAGE));
        }
    };
    let done = match cli.command {
        None => run_without_command(cli.common),
        Some(command) => dispatch(command, &cli.common),
    };
    done.unwrap_or_else(|problem| exit::report(&problem))
}

/// Without a command: the menu, or, without a display, four peers that show what the program is.
fn run_without_command(common: Common) -> Result<ExitCode, Problem> {
    log::set(Some(common.log));
    if !wants_window(&common) {
        return local::run(4, &common);
    }
    let asked = listen()?;
    match menu(&common, &asked) {
        Some(done) => done,
        None => local::run(4, &common),
    }
}

/// Opens the window with the menu. `None`, with a message, where no window opens.
fn menu(common: &Common, asked: &QuitRequest) -> Option<Result<ExitCode, Problem>> {
    #[cfg(feature = "window")]
    if let Ok(done) = crate::window::menu::run(common, asked) {
        return Some(done);
    }
    #[cfg(not(feature = "window"))]
    let _ = (common, asked);
    say_no_window();
    None
}

fn dispatch(command: Command, outer: &Common) -> Result<ExitCode, Problem> {
    match command {
        Command::Local(local) => {
            let common = begin(local.common, outer);
            warn_unused(&common, &["--identity"], "each peer makes its own key");
            warn_unused(
                &common,
                &["--on-quorum-loss"],
                "all peers are in this process",
            );
            local::run(local.peers, &common)
        }
        Command::Skirmish(skirmish) => {
            let common = begin(skirmish.common, outer);
            let notes = warn_unused(
                &common,
                &["--identity", "--impair", "--patient", "--on-quorum-loss"],
                "there is no network",
            );
            let bots = match common.bot {
                Some(first) => Bots::FirstAndOthers(first, skirmish.level),
                None => Bots::AllButFirst(skirmish.level),
            };
            let part = Part::Alone {
                seats: skirmish.bots + 1,
            };
            play(&part, bots, ("skirmish", notes), &common, None)
        }
        Command::Host(host) => {
            let terms = host.terms();
            let common = begin(host.common, outer);
            if host.relay.is_some() {
                return Err(
                    not_available("--relay", "all peers must reach the host directly").into(),
                );
            }
            let file = host.ticket_file.as_deref();
            if let Some(path) = &host.from {
                let mut common = common;
                refuse_options(&common, &HOST_DECIDES, "host --from")?;
                common.accept_other_history = host.accept_other_history;
                let from = recorded(path, None, &mut common)?;
                let part = Part::Reopen {
                    from: &from,
                    replay: path,
                    wait: Duration::from_secs(host.wait.into()),
                    first_comers: host.first_comers,
                    listen: host.listen,
                };
                let bots = Bots::on_way_back(common.bot);
                return play(&part, bots, ("host", Vec::new()), &common, file);
            }
            options::networked(common.plan)?;
            let bots = common.bot.map_or(Bots::None, Bots::All);
            let part = Part::Host {
                terms,
                bots: 0,
                listen: host.listen,
            };
            play(&part, bots, ("host", Vec::new()), &common, file)
        }
        Command::Join(join) => {
            let mut common = begin(join.common, outer);
            let notes = warn_unused(&common, &HOST_DECIDES, "the host chooses that");
            let ticket = ticket(&join.ticket)?;
            if let Some(path) = &join.from {
                common.accept_other_history = join.accept_other_history;
                let from = recorded(path, Some(&ticket), &mut common)?;
                let part = Part::Rejoin {
                    from: &from,
                    replay: Some(path),
                    listen: join.listen,
                };
                let bots = Bots::on_way_back(common.bot);
                return play(&part, bots, ("join", notes), &common, None);
            }
            let bots = common.bot.map_or(Bots::None, Bots::All);
            let part = Part::Join {
                ticket: &ticket,
                listen: join.listen,
            };
            play(&part, bots, ("join", notes), &common, None)
        }
        Command::Watch(watch) => {
            refuse_options(outer, &NO_MATCH, "watch")?;
            let without_screen = watch.headless || watch.json || outer.without_screen();
            if watch.what.parse::<Ticket>().is_ok() {
                let instead = "record the match and watch the replay";
                return Err(not_available("watching a running match", instead).into());
            }
            let path = PathBuf::from(&watch.what);
            if !path.exists() && watch.what.starts_with("ls1-") {
                return ticket(&watch.what).map(|_| ExitCode::from(exit::USAGE));
            }
            let instead = "`demo-rts replay info FILE` and `show` work without a terminal";
            let nowhere = || not_available("watching without a terminal", instead);
            if without_screen {
                return Err(nowhere().into());
            }
            let asked = listen()?;
            if !watch.terminal
                && wants_window(outer)
                && let Some(done) = watch_in_window(&path, &asked)
            {
                return done;
            }
            if !terminal::is_there() {
                return Err(nowhere().into());
            }
            watch::run(&path, &asked)
        }
        Command::Replay(replay) => {
            refuse_options(outer, &NO_MATCH, "replay")?;
            let before = outer.given(&OF_OUTPUT);
            if !before.is_empty() {
                return Err(OptionError::BeforeReplay(before.join(", ")).into());
            }
            Ok(replay::cli::run::<World>(replay.rest))
        }
        Command::Rejoin(back) => {
            let mut common = begin(back.common, outer);
            common.into_branch = back.into_branch;
            let notes = warn_unused(&common, &HOST_DECIDES, "the match keeps its own");
            common.accept_other_history = back.accept_other_history;
            let from = rejoin_source(&back.what, &mut common)?;
            let bots = Bots::on_way_back(common.bot);
            let part = Part::Rejoin {
                from: &from,
                replay: Some(Path::new(&back.what)).filter(|path| path.exists()),
                listen: back.listen,
            };
            play(&part, bots, ("rejoin", notes), &common, None)
        }
        Command::Relay(_) => {
            Err(not_available("relay", "all peers must reach the host directly").into())
        }
        Command::Continue(on) => {
            let common = begin(on.common, outer);
            let mut notes = warn_unused(
                &common,
                &[
                    "--map-seed",
                    "--map",
                    "--scenario",
                    "--minutes",
                    "--impair",
                    "--patient",
                    "--on-quorum-loss",
                ],
                "the match keeps its own and runs without a network",
            );
            options::plan_alone(common.plan)?;
            let found = play_on::find(&on.replay, on.turn)?;
            let seat = found.seat(on.seat, common.identity.as_deref())?;
            let record = common.record.clone();
            let record = record.unwrap_or_else(|| beside(&on.replay));
            let message = found.notes(seat, Some(&record));
            message
                .iter()
                .for_each(|note| say(LogLevel::Info, format_args!("{note}")));
            if let Some(damage) = &found.damage {
                let path = plain::shown(&on.replay);
                say(LogLevel::Warn, format_args!("{path}: {damage}"));
            }
            notes.extend(message);
            let bots = match common.bot {
                Some(first) => Bots::FirstAndOthers(first, on.level),
                None => Bots::AllButFirst(on.level),
            };
            let begun = |common: &Common| {
                let recorder = recorder(&record)?;
                found.begin(seat, bots, common, Some(recorder))
            };
            play_begun(begun, None, ("continue", notes), &common, None)
        }
    }
}

fn play(
    part: &Part<'_>,
    bots: Bots,
    (title, mut notes): (&str, Vec<String>),
    common: &Common,
    ticket_file: Option<&Path>,
) -> Result<ExitCode, Problem> {
    if !matches!(part, Part::Alone { .. }) {
        notes.extend(warn_unrecorded(common));
    }
    let begun = |common: &Common| {
        let launch = Launch {
            takes_askers: wants_window(common),
            ..Launch::default()
        };
        Peer::begin(part, bots, common, KeyChoice::Kept, launch)
    };
    play_begun(begun, Some(part), (title, notes), common, ticket_file)
}

/// Plays a match that begins once a screen or output for it exists.
fn play_begun(
    begun: impl FnOnce(&Common) -> Result<Peer, Problem>,
    part: Option<&Part<'_>>,
    (title, notes): (&str, Vec<String>),
    common: &Common,
    ticket_file: Option<&Path>,
) -> Result<ExitCode, Problem> {
    let in_a_window = wants_window(common);
    if !common.without_screen() && !in_a_window && !terminal::is_there() {
        return Err(OptionError::NoTerminal.into());
    }
    let asked = listen()?;
    let named = named(common, kept_name);
    let mut peer = begun(&named)?;
    if common.without_screen() {
        return headless::run(peer, common.json, ticket_file, &asked);
    }
    if let (Some(path), Some(ticket)) = (ticket_file, peer.ticket()) {
        headless::write_whole(path, &ticket.to_string())?;
    }
    if in_a_window {
        if let Some(ticket) = peer.ticket().map(|ticket| ticket.to_string()) {
            let reopens = peer.reopens();
            let message = plain::text(&Line::Ticket { ticket, reopens });
            // The window shows the message even where stdout is closed.
            let _ = plain::print(&message.unwrap_or_default());
        }
        peer = match in_window(peer, part, (title, &notes), common, &asked) {
            Ok(done) => return done,
            Err(peer) => *peer,
        };
        if !terminal::is_there() {
            return Err(OptionError::NoTerminal.into());
        }
    }
    crate::play::run(peer, title, &notes, &asked)
}

/// With the name in the menu's settings, unless the command line names one.
fn named(common: &Common, kept: impl FnOnce() -> Option<String>) -> Common {
    let mut common = common.clone();
    if common.name.is_none() && !common.without_screen() {
        common.name = kept();
    }
    common
}

fn kept_name() -> Option<String> {
    #[cfg(feature = "window")]
    let name = crate::window::kept_name();
    #[cfg(not(feature = "window"))]
    let name = None;
    name
}

/// Whether the match opens in a window.
fn wants_window(common: &Common) -> bool {
    #[cfg(feature = "window")]
    let there = crate::window::has_display();
    #[cfg(not(feature = "window"))]
    let there = false;
    there && !common.without_screen() && !common.terminal
}

/// Plays in the window. Where none opens, prints so and returns the peer.
fn in_window(
    peer: Peer,
    part: Option<&Part<'_>>,
    (title, notes): (&str, &[String]),
    common: &Common,
    asked: &QuitRequest,
) -> Result<Result<ExitCode, Problem>, Box<Peer>> {
    #[cfg(feature = "window")]
    let peer = match crate::window::play(peer, part, (title, notes), common, asked) {
        Ok(done) => return Ok(done),
        Err(peer) => peer,
    };
    #[cfg(not(feature = "window"))]
    let (_, _, _, _, _, peer) = (part, title, notes, common, asked, Box::new(peer));
    say_no_window();
    Err(peer)
}

/// Shows a replay in the window. `None`, with a message, where no window opens.
fn watch_in_window(path: &Path, asked: &QuitRequest) -> Option<Result<ExitCode, Problem>> {
    #[cfg(feature = "window")]
    if let Ok(done) = crate::window::viewer::run(path, asked) {
        return Some(done);
    }
    #[cfg(not(feature = "window"))]
    let _ = (path, asked);
    say_no_window();
    None
}

fn say_no_window() {
    let message = "Cannot open a window (no display, or no OpenGL): using the terminal instead.";
    // A closed stderr leaves no way to report its own failure.
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// Reads how to rejoin the match. Its new recording stands beside a given replay, unless `--record` names another
/// place.
fn rejoin_source(what: &str, common: &mut Common) -> Result<Rejoin, Problem> {
    let path = PathBuf::from(what);
    if !path.exists() {
        let looks_like_one = what.starts_with('@') || what.trim().starts_with("ls1-");
        return match path.metadata() {
            Err(source) if !looks_like_one => Err(Problem::Read { path, source }),
            _ => ticket(what).map(|ticket| Rejoin::from(&ticket)),
        };
    }
    let mut from = replay::rejoin(&path).map_err(|source| Problem::Rejoin {
        path: path.clone(),
        source,
    })?;
    from.accepts_other_history = common.accept_other_history;
    if common.record.is_none() {
        common.record = Some(beside(&path));
    }
    Ok(from)
}

/// Reads the recording of a match to reopen. The new one stands beside it, unless `--record` names another place.
fn recorded(path: &Path, host: Option<&Ticket>, common: &mut Common) -> Result<Rejoin, Problem> {
    let read = match host {
        Some(ticket) => replay::rejoin_by(path, ticket),
        None => replay::reopen(path),
    };
    let mut from = read.map_err(|source| Problem::Rejoin {
        path: path.to_owned(),
        source,
    })?;
    from.accepts_other_history = common.accept_other_history;
    if common.record.is_none() {
        common.record = Some(beside(path));
    }
    Ok(from)
}

fn begin(common: Common, outer: &Common) -> Common {
    let common = common.or(outer);
    log::set(Some(common.log));
    common
}

/// Refuses these options, which may also stand before the command.
fn refuse_options(
    common: &Common,
    options: &[&'static str],
    command: &'static str,
) -> Result<(), OptionError> {
    let options = common.given(options).join(", ");
    match options.is_empty() {
        true => Ok(()),
        false => Err(OptionError::NotTaken { command, options }),
    }
}

/// Warns of options that have no effect, and why. Also returns the lines, for a screen that covers stderr.
fn warn_unused(common: &Common, options: &[&'static str], why: &str) -> Vec<String> {
    let given = common.given(options).into_iter();
    let notes: Vec<String> = given
        .map(|option| format!("{option} has no effect: {why}"))
        .collect();
    for note in &notes {
        say(LogLevel::Warn, format_args!("{note}"));
    }
    notes
}

/// Warns of a choice after quorum loss that needs a recording, in a match without one.
fn warn_unrecorded(common: &Common) -> Vec<String> {
    let is_made = |choice| choice != OnQuorumLoss::Wait;
    match common.record.is_none() && common.on_quorum_loss.is_some_and(is_made) {
        true => warn_unused(
            common,
            &["--on-quorum-loss"],
            "without --record the peer can only wait",
        ),
        false => Vec::new(),
    }
}

fn listen() -> Result<QuitRequest, Problem> {
    QuitRequest::listen().map_err(Problem::Terminal)
}

/// Parses a ticket, or reads the file that holds one.
fn ticket(text: &str) -> Result<Ticket, Problem> {
    let text = match text.strip_prefix('@') {
        None => text.to_owned(),
        Some(path) => read_ticket(Path::new(path))?,
    };
    text.trim().parse().map_err(Problem::Ticket)
}

/// A longer file is no ticket, and is not read to its end.
fn read_ticket(path: &Path) -> Result<String, Problem> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(TICKET_FILE_BYTES).read_to_end(&mut bytes))
        .map_err(|source| Problem::Read {
            path: path.to_owned(),
            source,
        })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn not_available(what: &'static str, instead: &'static str) -> OptionError {
    OptionError::NotAvailable { what, instead }
}

/// Options that a joiner takes from the host.
const HOST_DECIDES: [&str; 5] = ["--map-seed", "--map", "--scenario", "--minutes", "--plan"];
/// Options without a meaning where no match runs.
const NO_MATCH: [&str; 14] = [
    "--bot",
    "--turns",
    "--record",
    "--seed",
    "--map-seed",
    "--map",
    "--scenario",
    "--minutes",
    "--identity",
    "--name",
    "--plan",
    "--impair",
    "--patient",
    "--on-quorum-loss",
];
/// Options that `replay` has of its own, or has no use for.
const OF_OUTPUT: [&str; 4] = ["--json", "--headless", "--terminal", "--log"];
const TICKET_FILE_BYTES: u64 = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_after_quorum_loss_needs_a_recording() {
        let common = |choice, record: Option<&str>| Common {
            on_quorum_loss: choice,
            record: record.map(PathBuf::from),
            ..Common::default()
        };
        for (choice, record, warns) in [
            (Some(OnQuorumLoss::Reopen), None, true),
            (Some(OnQuorumLoss::Branch), None, true),
            (Some(OnQuorumLoss::Branch), Some("a.replay"), false),
            (Some(OnQuorumLoss::Wait), None, false),
            (None, None, false),
        ] {
            let notes = warn_unrecorded(&common(choice, record));
            assert_eq!(!notes.is_empty(), warns, "{choice:?}, {record:?}");
            assert!(notes.iter().all(|note| note.contains("--record")));
        }
    }

    #[test]
    fn options_before_replay_are_refused() {
        let code = |line: &str| run(line.split(' ').map(OsString::from));
        let usage = ExitCode::from(exit::USAGE);
        for option in ["--json", "--headless", "--seed 3"] {
            let line = format!("demo-rts {option} replay info no-such.replay");
            assert_eq!(code(&line), usage, "{line}");
        }
        let line = "demo-rts replay info no-such.replay";
        assert_eq!(code(line), ExitCode::from(exit::IO));
    }

    #[test]
    fn an_adaptive_plan_without_a_network_is_refused_before_a_file_is_read() {
        let line = "demo-rts continue no-such.replay --plan adaptive";
        let code = run(line.split(' ').map(OsString::from));
        assert_eq!(code, ExitCode::from(exit::USAGE));
    }

    #[test]
    fn a_match_from_the_command_line_uses_the_kept_name() {
        let kept = || Some("Anna".to_owned());
        let name = |common: &Common| named(common, kept).name;
        let mut common = Common::default();
        assert_eq!(name(&common).as_deref(), Some("Anna"));
        common.name = Some("Bo".to_owned());
        assert_eq!(name(&common).as_deref(), Some("Bo"));
        // Scripts do not depend on a person's settings.
        common = Common {
            json: true,
            ..Common::default()
        };
        assert_eq!(name(&common), None);
    }
}
