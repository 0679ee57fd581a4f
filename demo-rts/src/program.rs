//! Which part of the program a command line starts.

use crate::{
    cli::{Cli, Command, Common},
    exit::{self, Problem},
    headless, local,
    log::{self, LogLevel, say},
    options::{self, OptionError},
    output::Line,
    peer::{Bots, KeyChoice, Part, Peer},
    plain, play_on,
    recording::{beside, recorder},
    signals::Asked,
    terminal, watch,
    world::World,
};
use clap::Parser;
use lockstep::{Rejoin, Ticket};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Runs the program with these arguments, the first of which is its name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Where stdout or stderr is closed, nobody is left to tell.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(exit::USAGE));
        }
    };
    let done = match cli.command {
        None => bare(cli.common),
        Some(command) => dispatch(command, &cli.common),
    };
    done.unwrap_or_else(|problem| exit::report(&problem))
}

/// Without a command: the game itself; where there is no display four peers, so that a fresh machine shows what this is.
fn bare(common: Common) -> Result<ExitCode, Problem> {
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

/// Opens the window with the menu. `None` where no window can be opened, which is said.
fn menu(common: &Common, asked: &Asked) -> Option<Result<ExitCode, Problem>> {
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
            not_used(&common, &["--identity"], "each peer makes a key of its own");
            local::run(local.peers, &common)
        }
        Command::Skirmish(skirmish) => {
            let common = begin(skirmish.common, outer);
            let notes = not_used(
                &common,
                &["--identity", "--impair", "--patient"],
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
                return Err(later("--relay", "peers must reach the host directly").into());
            }
            let bots = common.bot.map_or(Bots::Nobody, Bots::All);
            let file = host.ticket_file.as_deref();
            if let Some(path) = &host.from {
                let mut common = common;
                not_taken(&common, &HOST_DECIDES, "host --from")?;
                let from = recorded(path, None, &mut common)?;
                let part = Part::Reopen {
                    from: &from,
                    replay: path,
                    wait: Duration::from_secs(host.wait.into()),
                    listen: host.listen,
                };
                return play(&part, bots, ("host", Vec::new()), &common, file);
            }
            options::networked(common.plan.unwrap_or_default())?;
            let part = Part::Host {
                terms,
                bots: 0,
                listen: host.listen,
            };
            play(&part, bots, ("host", Vec::new()), &common, file)
        }
        Command::Join(join) => {
            let mut common = begin(join.common, outer);
            let notes = not_used(&common, &HOST_DECIDES, "the host decides that");
            let ticket = ticket(&join.ticket)?;
            let bots = common.bot.map_or(Bots::Nobody, Bots::All);
            if let Some(path) = &join.from {
                let from = recorded(path, Some(&ticket), &mut common)?;
                let part = Part::Rejoin {
                    from: &from,
                    replay: Some(path),
                    listen: join.listen,
                };
                return play(&part, bots, ("join", notes), &common, None);
            }
            let part = Part::Join {
                ticket: &ticket,
                listen: join.listen,
            };
            play(&part, bots, ("join", notes), &common, None)
        }
        Command::Watch(watch) => {
            not_taken(outer, &NO_MATCH, "watch")?;
            let without_screen = watch.headless || watch.json || outer.without_screen();
            if watch.what.parse::<Ticket>().is_ok() {
                let instead = "watch its replay once it is recorded";
                return Err(later("watching a running match", instead).into());
            }
            let path = PathBuf::from(&watch.what);
            if !path.exists() && watch.what.starts_with("ls1-") {
                return ticket(&watch.what).map(|_| ExitCode::from(exit::USAGE));
            }
            let instead = "`demo-rts replay info FILE` and `show` work without a terminal";
            let nowhere = || later("watching without a terminal", instead);
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
        Command::Replay(replay) => Ok(replay::cli::run::<World>(replay.rest)),
        Command::Rejoin(back) => {
            let mut common = begin(back.common, outer);
            let notes = not_used(&common, &HOST_DECIDES, "the match goes on as it is");
            let from = way_back(&back.what, &mut common)?;
            let bots = common.bot.map_or(Bots::Nobody, Bots::All);
            let part = Part::Rejoin {
                from: &from,
                replay: Some(Path::new(&back.what)).filter(|path| path.exists()),
                listen: back.listen,
            };
            play(&part, bots, ("rejoin", notes), &common, None)
        }
        Command::Relay(_) => Err(later("relay", "peers must reach the host directly").into()),
        Command::Continue(on) => {
            let common = begin(on.common, outer);
            let mut notes = not_used(
                &common,
                &[
                    "--map-seed",
                    "--map",
                    "--scenario",
                    "--minutes",
                    "--impair",
                    "--patient",
                ],
                "the match goes on as it was, without a network",
            );
            let found = play_on::find(&on.replay, on.turn)?;
            let seat = found.seat(on.seat, common.identity.as_deref())?;
            let record = common.record.clone();
            let record = record.unwrap_or_else(|| beside(&on.replay));
            let told = found.notes(seat, Some(&record));
            told.iter()
                .for_each(|note| say(LogLevel::Info, format_args!("{note}")));
            if let Some(damage) = &found.damage {
                let path = plain::shown(&on.replay);
                say(LogLevel::Warn, format_args!("{path}: {damage}"));
            }
            notes.extend(told);
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
    (title, notes): (&str, Vec<String>),
    common: &Common,
    ticket_file: Option<&Path>,
) -> Result<ExitCode, Problem> {
    let begun = |common: &Common| Peer::start(part, bots, common, KeyChoice::Kept);
    play_begun(begun, Some(part), (title, notes), common, ticket_file)
}

/// Plays a match that is begun once it is known that there is something to play on.
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
            let told = plain::text(&Line::Ticket { ticket, reopens });
            // Where nobody reads it, the window shows it all the same.
            let _ = plain::print(&told.unwrap_or_default());
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

/// With the name that a person has given itself, unless the command line says one.
fn named(common: &Common, kept: impl FnOnce() -> Option<String>) -> Common {
    let mut common = common.clone();
    if common.name.is_none() && !common.without_screen() {
        common.name = kept();
    }
    common
}

/// The name in the menu's settings.
fn kept_name() -> Option<String> {
    #[cfg(feature = "window")]
    let name = crate::window::kept_name();
    #[cfg(not(feature = "window"))]
    let name = None;
    name
}

/// Whether a match is to be played in the window.
fn wants_window(common: &Common) -> bool {
    #[cfg(feature = "window")]
    let there = crate::window::has_display();
    #[cfg(not(feature = "window"))]
    let there = false;
    there && !common.without_screen() && !common.terminal
}

/// Plays in the window. Where none can be opened that is said, and the peer comes back.
fn in_window(
    peer: Peer,
    part: Option<&Part<'_>>,
    (title, notes): (&str, &[String]),
    common: &Common,
    asked: &Asked,
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

/// Shows a replay in the window. `None` where none can be opened, which is said.
fn watch_in_window(path: &Path, asked: &Asked) -> Option<Result<ExitCode, Problem>> {
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
    let told = "No window can be opened (no display, or no OpenGL): going on in the terminal.";
    // Where stderr is closed, nobody is left to tell.
    let _ = writeln!(std::io::stderr(), "{told}");
}

/// What is known of a match to come back to. Of a replay the new recording stands beside it, unless another was named.
fn way_back(what: &str, common: &mut Common) -> Result<Rejoin, Problem> {
    let path = PathBuf::from(what);
    if !path.exists() {
        let looks_like_one = what.starts_with('@') || what.trim().starts_with("ls1-");
        return match path.metadata() {
            Err(source) if !looks_like_one => Err(Problem::Read { path, source }),
            _ => ticket(what).map(|ticket| Rejoin::from(&ticket)),
        };
    }
    let from = replay::rejoin(&path).map_err(|source| Problem::Rejoin {
        path: path.clone(),
        source,
    })?;
    if common.record.is_none() {
        common.record = Some(beside(&path));
    }
    Ok(from)
}

/// What was recorded of a match that is to be reopened. The new recording stands beside it, unless another was named.
fn recorded(path: &Path, host: Option<&Ticket>, common: &mut Common) -> Result<Rejoin, Problem> {
    let from = replay::reopen(path, host).map_err(|source| Problem::Rejoin {
        path: path.to_owned(),
        source,
    })?;
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

/// Refuses these options, of which some may stand before the command.
fn not_taken(
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

/// Says which of these options mean nothing here, and why. Returns it too, for a screen that covers stderr.
fn not_used(common: &Common, options: &[&'static str], why: &str) -> Vec<String> {
    let given = common.given(options).into_iter();
    let notes: Vec<String> = given
        .map(|option| format!("{option} is not used: {why}"))
        .collect();
    for note in &notes {
        say(LogLevel::Warn, format_args!("{note}"));
    }
    notes
}

fn listen() -> Result<Asked, Problem> {
    Asked::listen().map_err(Problem::Terminal)
}

/// Reads a ticket, or the file that holds one.
fn ticket(text: &str) -> Result<Ticket, Problem> {
    let text = match text.strip_prefix('@') {
        None => text.to_owned(),
        Some(path) => read_ticket(Path::new(path))?,
    };
    text.trim().parse().map_err(Problem::Ticket)
}

/// A ticket is short: what is longer is not read to its end.
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

fn later(what: &'static str, instead: &'static str) -> OptionError {
    OptionError::Later { what, instead }
}

/// What a joiner takes over from the host.
const HOST_DECIDES: [&str; 5] = ["--map-seed", "--map", "--scenario", "--minutes", "--plan"];
/// What means nothing where no match is run.
const NO_MATCH: [&str; 13] = [
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
];
const TICKET_FILE_BYTES: u64 = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_match_is_played_by_the_name_that_is_kept() {
        let kept = || Some("Anna".to_owned());
        let name = |common: &Common| named(common, kept).name;
        let mut common = Common::default();
        assert_eq!(name(&common).as_deref(), Some("Anna"));
        common.name = Some("Bo".to_owned());
        assert_eq!(name(&common).as_deref(), Some("Bo"));
        // What scripts start depends on nobody's settings.
        common = Common {
            json: true,
            ..Common::default()
        };
        assert_eq!(name(&common), None);
    }
}
