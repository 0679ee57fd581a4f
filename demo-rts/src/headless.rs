//! A match without a screen: events as lines on stdout.

use crate::exit::{self, Problem};
use crate::log::{LogLevel, say};
use crate::output::{EndLine, Line, write_json};
use crate::peer::{Peer, now};
use crate::plain;
use crate::signals::Asked;
use lockstep::{Ended, Event};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Plays until the match ends or somebody asks the program to end.
///
/// # Errors
/// [`Problem`]: standard output or the ticket's file failed.
pub fn run(
    mut peer: Peer,
    json: bool,
    ticket_file: Option<&Path>,
    asked: &Asked,
) -> Result<ExitCode, Problem> {
    let mut out = Out {
        to: io::stdout().lock(),
        json,
    };
    if let Some(ticket) = peer.ticket() {
        let ticket = ticket.to_string();
        if let Some(path) = ticket_file {
            write_whole(path, &ticket)?;
        }
        let reopens = peer.reopens();
        out.write(&Line::Ticket { ticket, reopens })?;
    }
    if peer.looks_for_others() && !json {
        plain::print("looking for the others of the match").map_err(Problem::Terminal)?;
    }
    let done = follow(&mut peer, &mut out, asked);
    if done.is_err() {
        // Nobody reads any more; the other peers need not wait for us all the same.
        leave_quietly(&mut peer);
    }
    done
}

fn follow<W: Write>(peer: &mut Peer, out: &mut Out<W>, asked: &Asked) -> Result<ExitCode, Problem> {
    loop {
        if asked.is_set() && !peer.is_leaving() {
            say(
                LogLevel::Info,
                format_args!("asked to end: leaving the match"),
            );
            peer.leave();
        }
        for event in peer.poll(|_, _| {}) {
            note(&event);
            for mut line in Line::of(&event) {
                if let Line::NoQuorum { reopen, .. } = &mut line {
                    *reopen = peer.reopen_command().unwrap_or_default();
                }
                out.write(&line)?;
            }
            if let Event::Ended(ended) = &event {
                return finish(peer, ended, out);
            }
        }
        peer.wait(LONGEST_WAIT);
    }
}

fn leave_quietly(peer: &mut Peer) {
    peer.leave();
    let began = now();
    while began.elapsed() < LEAVING {
        let events = peer.poll(|_, _| {});
        if events.iter().any(|event| matches!(event, Event::Ended(_))) {
            return;
        }
        peer.wait(LONGEST_WAIT);
    }
}

/// Writes a file whole or not at all: readers never see half of it.
///
/// # Errors
/// [`Problem::Write`].
pub fn write_whole(path: &Path, text: &str) -> Result<(), Problem> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = std::path::PathBuf::from(beside);
    std::fs::write(&beside, format!("{text}\n"))
        .and_then(|()| std::fs::rename(&beside, path))
        .map_err(|source| {
            // The rename failed after the write: leave nothing behind. The first error is the one to tell.
            let _ = std::fs::remove_file(&beside);
            Problem::Write {
                path: path.to_owned(),
                source,
            }
        })
}

/// Says an event on stderr, as loud as it matters.
pub fn note(event: &Event) {
    match event {
        Event::Turn { .. } | Event::Executed { .. } => {}
        Event::Desync(desync) => say(
            LogLevel::Error,
            format_args!("the worlds differ after turn {}", desync.turn),
        ),
        Event::RecordingStopped { why } => {
            say(
                LogLevel::Warn,
                format_args!("the recording ended early: {why}"),
            );
        }
        Event::PlanChanged { plan, slow, .. } if !slow.is_empty() => {
            let seats: Vec<u8> = slow.iter().map(|seat| seat.0).collect();
            let (seats, tick_ms) = (plain::seats(&seats), plan.tick_ms);
            say(
                LogLevel::Info,
                format_args!("for the slow machine of {seats}: ticks take {tick_ms} ms"),
            );
        }
        Event::PeerFault { peer, fault } => {
            say(LogLevel::Warn, format_args!("peer {peer} {fault}"));
        }
        Event::LinkLost { peer, why } => {
            say(LogLevel::Info, format_args!("link to {peer}: {why}"));
        }
        Event::Ended(ended) if !crate::peer::went_well(&ended.reason) => {
            say(LogLevel::Error, format_args!("{}", ended.reason));
        }
        other => say(LogLevel::Debug, format_args!("{other:?}")),
    }
}

fn finish<W: Write>(peer: &mut Peer, ended: &Ended, out: &mut Out<W>) -> Result<ExitCode, Problem> {
    let end = EndLine::new(ended, &peer.summary());
    out.write(&Line::End(end))?;
    if let Some(how) = peer.way_back(&ended.reason) {
        say(LogLevel::Error, format_args!("{how}"));
    }
    Ok(ExitCode::from(exit::of_end(&ended.reason)))
}

/// Where lines go, and in which form.
struct Out<W> {
    to: W,
    json: bool,
}

impl<W: Write> Out<W> {
    fn write(&mut self, line: &Line) -> Result<(), Problem> {
        let written = if self.json {
            write_json(&mut self.to, line)
        } else {
            match plain::text(line) {
                Some(text) => writeln!(self.to, "{text}").and_then(|()| self.to.flush()),
                None => Ok(()),
            }
        };
        written.map_err(Problem::Terminal)
    }
}

/// A match ends sooner than this once it is left: five seconds and the command delay, of at most 8 turns of 400 ms, which
/// a slow machine makes four times as long.
const LEAVING: Duration = Duration::from_secs(20);
const LONGEST_WAIT: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_and_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("match.ticket");
        write_whole(&path, "one").unwrap();
        write_whole(&path, "two").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let nowhere = folder.path().join("no/such/folder");
        let problem = write_whole(&nowhere, "three").unwrap_err();
        assert_eq!(problem.code(), exit::IO);
        assert!(problem.to_string().contains("no/such/folder"));
    }
}
