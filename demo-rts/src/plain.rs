//! The lines of a match as text for people.

use crate::output::{EndLine, GoneLine, Line, PlanWay};
use crate::words::{clock, count, waiting_commands};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// A path without control characters of a terminal.
pub fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.chars().filter(|c| lockstep::is_shown(*c)).collect()
}

/// A path as one word of a command line that can be pasted.
pub fn quoted(path: &Path) -> String {
    let text = shown(path);
    if cfg!(windows) {
        // Neither Windows shell takes anything else for one word; no file name there holds a quotation mark.
        return match text.contains(' ') {
            true => format!("\"{text}\""),
            false => text,
        };
    }
    // Only a zero byte cannot be quoted, and it is filtered out above.
    shlex::try_quote(&text)
        .map(String::from)
        .unwrap_or_default()
}

/// Tells a refused joiner how a player of the match rejoins it.
pub const REJOIN_HINT: &str = "if you played in this match, rejoin it: demo-rts rejoin FILE.replay, or: demo-rts rejoin TICKET";

/// The hint where a recording contradicts the history of the others: how its player goes on.
pub const OTHER_HISTORY_HINT: &str = "others may hold your history: reopen the match with `demo-rts host --from FILE`, or go on by the history of these \
     players all the same: add --accept-other-history";

/// How to reopen a match that no peer runs any more, from this replay and key.
pub fn reopen_hint(replay: Option<&Path>, identity: Option<&Path>) -> String {
    let command = reopen_command(replay, identity);
    format!(
        "one player reopens the match: {command}\n  each of the others joins with its ticket and \
         their own replay: demo-rts join TICKET --from FILE"
    )
}

/// The command that reopens a match from this replay and key.
pub fn reopen_command(replay: Option<&Path>, identity: Option<&Path>) -> String {
    let replay = replay.map_or_else(|| "FILE".to_owned(), quoted);
    let key = identity.map_or_else(String::new, |key| format!(" --identity {}", quoted(key)));
    format!("demo-rts host --from {replay}{key}")
}

/// How to reopen a match after quorum loss.
fn quorum_loss_hint(command: &str) -> String {
    format!(
        "a missing player comes back by `demo-rts rejoin FILE`, and the match is reopened then. Once this run has \
         ended, reopen it with: {command}\n  \
         Peers waiting in `rejoin FILE` join it by themselves; the others join with its new ticket: \
         demo-rts join TICKET --from FILE"
    )
}

/// A line as a sentence; `None` for lines of no interest to a person.
pub fn text(line: &Line) -> Option<String> {
    Some(match line {
        Line::Ticket { ticket, reopens } => {
            let from = if *reopens { " --from REPLAY" } else { "" };
            format!("ticket: {ticket}\n  join with: demo-rts join {ticket}{from}")
        }
        Line::Lobby { peers } => {
            let names: Vec<&str> = peers.iter().map(|peer| peer.name.as_str()).collect();
            format!("lobby: {}", names.join(", "))
        }
        Line::Start {
            seat,
            match_id,
            names,
            plan,
            ..
        } => format!(
            "match {match_id} begins, plan {plan}, you have seat {seat}: {}",
            names.join(", ")
        ),
        Line::Turn {
            turn,
            tick,
            checksum,
        } => {
            if turn % 25 != 0 {
                return None;
            }
            format!(
                "{}  turn {turn}  checksum {checksum}",
                clock(Duration::from_millis(tick.saturating_mul(50)))
            )
        }
        Line::Retracted { turn } => format!("turns from {turn} on are taken back"),
        Line::Backlog { seat, commands: 0 } => format!("no command of seat {seat} waits any more"),
        Line::Backlog { seat, commands } => waiting_commands(*commands, &format!("seat {seat}")),
        Line::Stall {
            turn,
            waiting_on,
            ms,
        } => format!(
            "turn {turn} has waited for {} for {}.{} s",
            seats(waiting_on),
            ms / 1_000,
            ms % 1_000 / 100
        ),
        Line::Plan {
            turn,
            ticks,
            delay,
            tick_ms,
            slow,
            way,
        } => {
            let turn_ms = u32::from(*ticks) * u32::from(*tick_ms);
            let plan = format!("from turn {turn} on: {turn_ms} ms x {delay}");
            let slow = match slow.is_empty() {
                true => String::new(),
                false => format!(", slowed down for {}", seats(slow)),
            };
            let way = way
                .as_ref()
                .map_or(String::new(), |PlanWay { from, to, ms }| {
                    format!(", for {ms} ms on the way from seat {from} to seat {to}")
                });
            format!("{plan}{slow}{way}")
        }
        Line::Roster {
            turn,
            gone,
            back,
            cause,
            seats: playing,
            ..
        } => match *cause {
            "rejoined" => format!(
                "a player rejoined at turn {turn}: playing {}",
                seats(playing)
            ),
            "reopened" => format!(
                "the match resumes at turn {turn}: playing {}",
                seats(playing)
            ),
            "false-alarm" => format!("false alarm at turn {turn}: all peers answered"),
            _ => {
                let gone = gone.iter();
                let mut sentence: Vec<String> = gone.map(|gone| removal(gone, *turn)).collect();
                if !back.is_empty() {
                    sentence.push(format!("{} rejoined at turn {turn}", seats(back)));
                }
                // A branch may begin without a further loss.
                if sentence.is_empty() {
                    return None;
                }
                sentence.join("; ")
            }
        },
        Line::Suspected { seats: of, .. } => format!("no packets from {}", seats(of)),
        Line::Slept { ms } => {
            format!(
                "this process stopped for {:.1} s: checking with the other peers",
                *ms as f64 / 1_000.0
            )
        }
        Line::Patience {
            seats: of,
            longer_ms,
            ..
        } => match longer_ms {
            0 => format!("{} voted to wait longer: too few votes so far", seats(of)),
            _ => format!(
                "{} voted: waiting {} s longer",
                seats(of),
                longer_ms / 1_000
            ),
        },
        Line::NoQuorum {
            missing, reopen, ..
        } => {
            let how = match reopen.as_str() {
                "" => String::new(),
                host => format!("\n  {}", quorum_loss_hint(host)),
            };
            format!(
                "connection to {} lost: too few players remain, the match waits{how}",
                seats(missing)
            )
        }
        Line::JoinerWaits { seats: of } => {
            format!(
                "{} came back: the match must be reopened to go on",
                seats(of)
            )
        }
        Line::Reopen { .. } => "reopening the match: waiting for the missing players".to_owned(),
        Line::Branch { turn, .. } => {
            format!("playing a branch from turn {turn} on: its result counts as unagreed")
        }
        Line::BranchMet {
            turn, seats: of, ..
        } => format!(
            "another branch of the match began at turn {turn}, with {}: two branches never merge",
            seats(of)
        ),
        Line::BranchFound {
            turn,
            seats: of,
            may_enter,
            ..
        } => {
            let how = match may_enter {
                true => "to enter it, end this run and start `demo-rts rejoin FILE --into-branch`",
                false => "it lacks turns that this player has played, and cannot be entered",
            };
            format!(
                "{} went on without a quorum, in a branch from turn {turn} on: {how}",
                seats(of)
            )
        }
        Line::Pause { paused: true, .. } => "paused".to_owned(),
        Line::Pause { paused: false, .. } => "the match resumes".to_owned(),
        Line::Chat { from, text, .. } => format!("{from}: {text}"),
        Line::Resigned { seat, turn } => {
            format!("seat {seat} resigned at turn {turn}: invalid commands")
        }
        Line::Fault { peer, what } => format!("peer {peer} {what}"),
        Line::Link { peer, why } => format!("link to {peer}: {why}"),
        Line::Recording { why } => format!("recording stopped: {why}"),
        Line::Desync {
            turn,
            seat,
            ours,
            theirs,
            odd,
            goes_on,
            report,
        } => {
            let odd = match (odd.as_slice(), goes_on) {
                ([], _) => String::new(),
                (odd, false) => format!("; {} in the minority", seats(odd)),
                (odd, true) => format!(
                    "; {} in the minority, the match goes on without it",
                    seats(odd)
                ),
            };
            format!(
                "desync after turn {turn}: seat {seat} has {theirs}, this peer {ours}{odd}; see {report}"
            )
        }
        Line::End(end) => end_text(end),
        Line::Verify {
            agreed,
            differed,
            replays,
        } => format!(
            "all peers agree on {}, {differed} differ; recorded {}",
            count(u64::from(*agreed), "turn"),
            replays.join(", ")
        ),
    })
}

/// Prints a line to stdout. Unlike `println!` it does not panic on a closed pipe.
///
/// # Errors
/// The error of stdout.
pub fn print(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// Milliseconds, or a dash for no measurement.
pub fn ms(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1}"))
}

fn end_text(end: &EndLine) -> String {
    let winner = match end.winner {
        Some(seat) => format!(", seat {seat} won"),
        None if end.reason == "decided" => ", a draw".to_owned(),
        None => String::new(),
    };
    let mut text = format!(
        "{}{winner}: {}, checksum {}\n  commands {} issued, {} executed, {} refused; latency p50 {} p99 {} max {} ms\n  \
         {}, stalled {} ms; {} sent, {} received",
        end.detail,
        count(u64::from(end.turns), "turn"),
        end.checksum,
        end.issued,
        end.executed,
        end.refused,
        ms(end.latency_ms.p50),
        ms(end.latency_ms.p99),
        ms(end.latency_ms.max),
        count(end.late_turns, "late turn"),
        end.stalled_ms,
        count(end.bytes_sent, "byte"),
        end.bytes_received
    );
    for lead in end.leads.iter().filter(|lead| lead.stands_out) {
        let seats = seats(&lead.seats);
        text.push_str(&format!(
            "\n  {seats}: batches left {} ms before their deadline; {} ms is usual: this peer could see the others' commands first",
            lead.ms, lead.usual_ms
        ));
    }
    if end.unagreed {
        let why = match end.branch_of {
            Some(_) => "this was a branch: its result counts as unagreed",
            None => "too few players signed this end: the result counts as unagreed",
        };
        text.push_str(&format!("\n  {why}"));
    }
    if !end.replay.is_empty() {
        text.push_str(&format!("\n  recorded {}", end.replay));
    }
    text
}

/// Which seats a roster change removed, and why.
fn removal(gone: &GoneLine, turn: u32) -> String {
    let names = seats(&gone.seats);
    match gone.cause {
        "desync" => format!("{names} removed at turn {turn}: world differed from the majority"),
        "cheated" => format!("{names} removed at turn {turn}: proven to have signed two histories"),
        "lost" => format!("{names} removed at turn {turn}: connection lost"),
        "branched" => format!("{names} may enter the branch"),
        _ => format!("{names} left at turn {turn}"),
    }
}

/// `seat 1`, `seats 1, 2`.
pub fn seats(numbers: &[u8]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u8::to_string).collect();
    let plural = if numbers.len() == 1 { "" } else { "s" };
    format!("seat{plural} {}", numbers.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_that_is_resigned_is_called_so() {
        let line = Line::Resigned { seat: 2, turn: 30 };
        let wanted = "seat 2 resigned at turn 30: invalid commands";
        assert_eq!(text(&line).as_deref(), Some(wanted));
    }

    #[test]
    fn a_file_name_is_quoted_as_one_word() {
        assert_eq!(quoted(Path::new("/tmp/a-1_b.replay")), "/tmp/a-1_b.replay");
        if cfg!(unix) {
            let odd = "Ada and $(reboot); 'x'.replay";
            let words = shlex::split(&format!(
                "demo-rts rejoin {} --json",
                quoted(Path::new(odd))
            ));
            let words = words.expect("quotes are closed");
            assert_eq!(words, ["demo-rts", "rejoin", odd, "--json"]);
        }
        assert!(!quoted(Path::new("a\u{1b}[2J\u{202e}b")).contains('\u{1b}'));
    }

    #[test]
    fn a_match_without_peers_is_reopened_by_a_printed_command() {
        let sentence = reopen_hint(Some(Path::new("ours of may.replay")), Some(Path::new("k")));
        let commands: Vec<Vec<String>> = sentence
            .lines()
            .filter_map(|line| shlex::split(line.split_once(": ")?.1))
            .collect();
        let host = "demo-rts host --from 'ours of may.replay' --identity k";
        assert_eq!(Some(&commands[0]), shlex::split(host).as_ref());
        let join = "demo-rts join TICKET --from FILE";
        assert_eq!(Some(&commands[1]), shlex::split(join).as_ref());
        assert!(reopen_hint(None, None).contains("host --from FILE"));
    }

    #[test]
    fn quorum_loss_prints_the_command_that_reopens() {
        let reopen = reopen_command(Some(Path::new("b.replay")), None);
        let line = |reopen: &str| Line::NoQuorum {
            turn: 29,
            missing: vec![0, 5],
            choices: &["wait", "reopen", "branch"],
            reopen: reopen.to_owned(),
        };
        let sentence = text(&line(&reopen)).expect("the line has a text");
        assert!(
            sentence.starts_with("connection to seats 0, 5 lost: "),
            "{sentence}"
        );
        assert!(
            sentence.contains(": demo-rts host --from b.replay\n"),
            "{sentence}"
        );
        let nothing_recorded = text(&line("")).expect("the line has a text");
        assert!(!nothing_recorded.contains("demo-rts"), "{nothing_recorded}");
    }

    #[test]
    fn only_a_leaver_is_said_to_have_left() {
        use lockstep::RosterCause::{Branched, Cheated, Desynced, Left, Lost};
        for cause in [Left, Lost, Cheated, Desynced, Branched] {
            let gone = |cause: lockstep::RosterCause, seat| GoneLine {
                cause: cause.name(),
                seats: vec![seat],
            };
            let line = Line::Roster {
                turn: 9,
                epoch: 1,
                seats: vec![0, 3],
                left: vec![1, 2],
                gone: vec![gone(cause, 1), gone(Lost, 2)],
                back: vec![3],
                cause: cause.name(),
            };
            let sentence = text(&line).expect("the line has a text");
            assert_eq!(sentence.contains(" left "), cause == Left, "{sentence}");
            assert!(sentence.contains("seat 2 removed"), "{sentence}");
            assert!(
                sentence.ends_with("seat 3 rejoined at turn 9"),
                "{sentence}"
            );
        }
    }

    #[test]
    fn a_branch_without_a_further_loss_prints_no_line() {
        let line = Line::Roster {
            turn: 9,
            epoch: 1,
            seats: vec![0],
            left: vec![1],
            gone: Vec::new(),
            back: Vec::new(),
            cause: lockstep::RosterCause::Branched.name(),
        };
        assert_eq!(text(&line), None);
    }

    #[test]
    fn missing_measurements_are_dashes() {
        assert_eq!(ms(None), "-");
        assert_eq!(ms(Some(300.04)), "300.0");
    }

    #[test]
    fn plurals_follow_the_number() {
        assert_eq!(
            (seats(&[2]), seats(&[2, 3])),
            ("seat 2".into(), "seats 2, 3".into())
        );
    }

    #[test]
    fn every_25th_turn_is_printed() {
        let turn = |turn| Line::Turn {
            turn,
            tick: 0,
            checksum: "00000000".into(),
        };
        assert!(text(&turn(25)).is_some());
        assert!(text(&turn(26)).is_none());
    }
}
