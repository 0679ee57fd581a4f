//! A match without a screen: events as lines on stdout.

use crate::exit::{self, Problem};
use crate::log::{LogLevel, say};
use crate::output::{EndLine, Line, write_json};
use crate::peer::{Peer, Way, now};
use crate::plain;
use crate::requests::{Request, Requests};
use crate::signals::QuitRequest;
use lockstep::{EndReason, Ended, Event, Status};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Plays until the match ends, or until a signal asks the program to leave.
pub fn run(
    mut peer: Peer,
    json: bool,
    ticket_file: Option<&Path>,
    asked: &QuitRequest,
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
    if peer.seeks_match() && !json {
        plain::print("looking for the other peers of the match").map_err(Problem::Terminal)?;
    }
    let requests = match json {
        true => Requests::listen(),
        false => Requests::none(),
    };
    loop {
        match follow(&mut peer, &mut out, asked, &requests) {
            Ok(Step::Ends(code)) => return Ok(code),
            Ok(Step::GoesOn(way)) => peer = go_on(peer, way, &mut out)?,
            Err(problem) => {
                // A failed output must not keep the other peers waiting for this one.
                leave_quietly(&mut peer);
                return Err(problem);
            }
        }
    }
}

enum Step {
    Ends(ExitCode),
    /// After quorum loss the peer goes on in a new run.
    GoesOn(Way),
}

fn follow<W: Write>(
    peer: &mut Peer,
    out: &mut Out<W>,
    asked: &QuitRequest,
    requests: &Requests,
) -> Result<Step, Problem> {
    loop {
        if asked.is_set() && !peer.is_leaving() {
            say(
                LogLevel::Info,
                format_args!("signal received: leaving the match"),
            );
            peer.leave();
        }
        let requested = requests.next().and_then(|request| match request {
            Request::EnterBranch => {
                if peer.found_branch().is_none() {
                    say(LogLevel::Warn, format_args!("there is no branch to enter"));
                }
                peer.enter_branch()
            }
            Request::BeginNow => {
                peer.begin_now();
                None
            }
            Request::RemoveGuest { seat } => {
                if !peer.remove_guest(seat) {
                    say(
                        LogLevel::Warn,
                        format_args!("no guest of a lobby here has seat {seat}"),
                    );
                }
                None
            }
        });
        let mut way = requested;
        for event in peer.poll(|_, _| {}) {
            note(&event);
            for mut line in Line::of(&event) {
                if let Line::NoQuorum {
                    reopen, choices, ..
                } = &mut line
                {
                    *reopen = peer.reopen_command().unwrap_or_default();
                    *choices = peer.choices();
                }
                out.write(&line)?;
            }
            way = match &event {
                // The quorum that was lost before is missed no more.
                Event::Ended(Ended {
                    reason: EndReason::Decided | EndReason::TurnLimit,
                    ..
                }) => requested,
                _ => peer.way_after(&event).or(way),
            };
            if let (Event::Ended(ended), None) = (&event, way) {
                return finish(peer, ended, out).map(Step::Ends);
            }
        }
        if let Some(way) = way {
            return Ok(Step::GoesOn(way));
        }
        peer.wait(LONGEST_WAIT);
    }
}

/// Begins a new run. Where its recording is unreadable, a match that has not ended goes on waiting.
fn go_on<W: Write>(mut peer: Peer, way: Way, out: &mut Out<W>) -> Result<Peer, Problem> {
    let again = peer.reopens_again();
    let run = match peer.new_run(way) {
        Ok(run) => run,
        Err(problem) if peer.game().status() == Status::Ended => return Err(problem),
        Err(problem) => {
            say(LogLevel::Error, format_args!("{problem}"));
            return Ok(peer);
        }
    };
    drop(peer);
    let mut peer = run.begin()?;
    if let Some(ticket) = peer.ticket().filter(|_| way == Way::Reopen && !again) {
        let ticket = ticket.to_string();
        out.write(&Line::Reopen { ticket })?;
    }
    Ok(peer)
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

/// Writes a file atomically: readers never see half of it.
pub fn write_whole(path: &Path, text: &str) -> Result<(), Problem> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = std::path::PathBuf::from(beside);
    std::fs::write(&beside, format!("{text}\n"))
        .and_then(|()| std::fs::rename(&beside, path))
        .map_err(|source| {
            // The rename failed after the write. Its error is the one to report, not that of this clean-up.
            let _ = std::fs::remove_file(&beside);
            Problem::Write {
                path: path.to_owned(),
                source,
            }
        })
}

/// Logs an event on stderr, at the level that it deserves.
pub fn note(event: &Event) {
    match event {
        Event::Turn { .. } | Event::Executed { .. } => {}
        Event::Desync(desync) => say(
            LogLevel::Error,
            format_args!("the worlds differ after turn {}", desync.turn),
        ),
        Event::RecordingStopped { why } => {
            say(LogLevel::Warn, format_args!("recording stopped: {why}"));
        }
        Event::WorldTooLarge { bytes, limit, .. } => say(
            LogLevel::Warn,
            format_args!("the world takes {bytes} bytes, more than the {limit} of a snapshot"),
        ),
        Event::PlanChanged { plan, slow, .. } if !slow.is_empty() => {
            let seats: Vec<u8> = slow.iter().map(|seat| seat.0).collect();
            let (seats, tick_ms) = (plain::seats(&seats), plan.tick_ms);
            say(
                LogLevel::Info,
                format_args!("slow machine ({seats}): a tick now takes {tick_ms} ms"),
            );
        }
        Event::PeerFault { peer, fault } => {
            say(LogLevel::Warn, format_args!("peer {peer} {fault}"));
        }
        Event::LinkLost { peer, why } => {
            say(LogLevel::Info, format_args!("link to {peer}: {why}"));
        }
        Event::Ended(ended) if !crate::peer::ended_as_planned(&ended.reason) => {
            say(LogLevel::Error, format_args!("{}", ended.reason));
        }
        other => say(LogLevel::Debug, format_args!("{other:?}")),
    }
}

fn finish<W: Write>(peer: &mut Peer, ended: &Ended, out: &mut Out<W>) -> Result<ExitCode, Problem> {
    let end = EndLine::new(ended, &peer.summary());
    out.write(&Line::End(Box::new(end)))?;
    if let Some(how) = peer.rejoin_hint(&ended.reason) {
        say(LogLevel::Error, format_args!("{how}"));
    }
    Ok(ExitCode::from(exit::of_end(&ended.reason)))
}

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

/// Longer than leaving takes: five seconds, and the command delay of at most 8 turns of 400 ms, which a slow
/// machine stretches fourfold.
const LEAVING: Duration = Duration::from_secs(20);
const LONGEST_WAIT: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_whole_leaves_one_whole_file() {
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
