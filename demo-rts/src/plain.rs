//! The lines of a match as people read them.

use crate::output::{EndLine, GoneLine, Line};
use crate::words::clock;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// A file as it can be shown: without what a terminal would take for more than text.
pub fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.chars().filter(|c| lockstep::is_shown(*c)).collect()
}

/// A file as one word of a command line that can be pasted.
pub fn word(path: &Path) -> String {
    let text = shown(path);
    if cfg!(windows) {
        // Neither shell there takes anything else for one word; no file's name holds a quotation mark.
        return match text.contains(' ') {
            true => format!("\"{text}\""),
            false => text,
        };
    }
    // Only a zero byte cannot be quoted, and it is not shown.
    shlex::try_quote(&text)
        .map(String::from)
        .unwrap_or_default()
}

/// How whoever played in a match that has begun gets back into it.
pub const BACK_IN: &str =
    "whoever played in it comes back with: demo-rts rejoin FILE.replay, or rejoin TICKET";

/// How those go on who all look for a match that nobody plays any more, of whom one has this replay and key.
pub fn host_again(replay: Option<&Path>, identity: Option<&Path>) -> String {
    let command = host_command(replay, identity);
    format!(
        "one of you hosts it again: {command}\n  the others come with its ticket, each with \
         their own replay: demo-rts join TICKET --from FILE"
    )
}

/// The command that hosts a match again by this replay and key.
pub fn host_command(replay: Option<&Path>, identity: Option<&Path>) -> String {
    let replay = replay.map_or_else(|| "FILE".to_owned(), word);
    let key = identity.map_or_else(String::new, |key| format!(" --identity {}", word(key)));
    format!("demo-rts host --from {replay}{key}")
}

/// How a match goes on of which too few are left to let anybody in.
fn hosted_again_by(command: &str) -> String {
    format!(
        "if a program has died, nobody can let it in again: one of you leaves and hosts the match again: \
         {command}\n  who waits with rejoin FILE is let in then; the others come with the new ticket: \
         demo-rts join TICKET --from FILE"
    )
}

/// One line as a sentence; `None` for what nobody wants to read.
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
        Line::Stall {
            turn,
            waiting_on,
            ms,
        } => format!(
            "turn {turn} waits for {} for {}.{} s",
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
        } => {
            let turn_ms = u32::from(*ticks) * u32::from(*tick_ms);
            let plan = format!("from turn {turn} on: {turn_ms} ms x {delay}");
            match slow.is_empty() {
                true => plan,
                false => format!("{plan}, for the slow machine of {}", seats(slow)),
            }
        }
        Line::Roster {
            turn,
            gone,
            back,
            cause,
            seats: playing,
            ..
        } => match *cause {
            "rejoined" => format!("a player is back in turn {turn}: {} play", seats(playing)),
            "reopened" => format!(
                "the match goes on from turn {turn}: {} play",
                seats(playing)
            ),
            "false-alarm" => format!("all answered in turn {turn}: the match goes on"),
            _ => {
                let gone = gone.iter();
                let mut said: Vec<String> = gone.map(|gone| gone_in(gone, *turn)).collect();
                if !back.is_empty() {
                    said.push(format!("{} back in turn {turn}", seats(back)));
                }
                said.join("; ")
            }
        },
        Line::Suspected { seats: of, .. } => format!("{} not heard", seats(of)),
        Line::Slept { ms } => {
            format!(
                "stood still for {:.1} s, asking the others",
                *ms as f64 / 1_000.0
            )
        }
        Line::Patience {
            seats: of,
            longer_ms,
            ..
        } => match longer_ms {
            0 => format!("{} would wait longer, too few to", seats(of)),
            _ => format!("{} wait {} s longer", seats(of), longer_ms / 1_000),
        },
        Line::NoQuorum {
            missing, reopen, ..
        } => {
            let how = match reopen.as_str() {
                "" => String::new(),
                host => format!("\n  {}", hosted_again_by(host)),
            };
            format!(
                "too few are left without {}: the match waits for them{how}",
                seats(missing)
            )
        }
        Line::Pause { paused: true, .. } => "paused".to_owned(),
        Line::Pause { paused: false, .. } => "the match goes on".to_owned(),
        Line::Chat { from, text, .. } => format!("{from}: {text}"),
        Line::Resigned { seat, turn } => format!("seat {seat} was closed in turn {turn}"),
        Line::Fault { peer, what } => format!("peer {peer} {what}"),
        Line::Link { peer, why } => format!("link to {peer}: {why}"),
        Line::Recording { why } => format!("the recording ended early: {why}"),
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
                (odd, false) => format!("; {} differs from most", seats(odd)),
                (odd, true) => format!("; {} differs from most, we go on without", seats(odd)),
            };
            format!(
                "desync after turn {turn}: seat {seat} has {theirs}, we have {ours}{odd}; see {report}"
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

/// Writes a line to stdout. Unlike `println!` it does not panic when nobody reads any more.
///
/// # Errors
/// What stdout says.
pub fn print(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// `1 turn`, `12 turns`.
pub fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// Milliseconds, or a dash where nothing was measured.
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
    if !end.replay.is_empty() {
        text.push_str(&format!("\n  recorded {}", end.replay));
    }
    text
}

/// Who is out from a turn on, and why.
fn gone_in(gone: &GoneLine, turn: u32) -> String {
    let who = seats(&gone.seats);
    match gone.cause {
        "desync" => format!("{who} had another world than most: out in turn {turn}"),
        "cheated" => format!("{who} signed two histories, which is proved: out in turn {turn}"),
        "lost" => format!("{who} lost in turn {turn}: the match goes on"),
        _ => format!("{who} left in turn {turn}"),
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
    fn a_file_is_one_word_and_nothing_more() {
        assert_eq!(word(Path::new("/tmp/a-1_b.replay")), "/tmp/a-1_b.replay");
        if cfg!(unix) {
            let odd = "Ada and $(reboot); 'x'.replay";
            let words = shlex::split(&format!("demo-rts rejoin {} --json", word(Path::new(odd))));
            let words = words.expect("quotes are closed");
            assert_eq!(words, ["demo-rts", "rejoin", odd, "--json"]);
        }
        assert!(!word(Path::new("a\u{1b}[2J\u{202e}b")).contains('\u{1b}'));
    }

    #[test]
    fn who_look_for_a_match_that_nobody_plays_are_told_what_to_type() {
        let said = host_again(Some(Path::new("ours of may.replay")), Some(Path::new("k")));
        let commands: Vec<Vec<String>> = said
            .lines()
            .filter_map(|line| shlex::split(line.split_once(": ")?.1))
            .collect();
        let host = "demo-rts host --from 'ours of may.replay' --identity k";
        assert_eq!(Some(&commands[0]), shlex::split(host).as_ref());
        let join = "demo-rts join TICKET --from FILE";
        assert_eq!(Some(&commands[1]), shlex::split(join).as_ref());
        assert!(host_again(None, None).contains("host --from FILE"));
    }

    #[test]
    fn who_are_too_few_are_told_the_command_that_goes_on() {
        let reopen = host_command(Some(Path::new("b.replay")), None);
        let line = |reopen: &str| Line::NoQuorum {
            turn: 29,
            missing: vec![0, 5],
            reopen: reopen.to_owned(),
        };
        let said = text(&line(&reopen)).expect("it is told");
        assert!(
            said.starts_with("too few are left without seats 0, 5: "),
            "{said}"
        );
        assert!(said.contains(": demo-rts host --from b.replay\n"), "{said}");
        let nothing_recorded = text(&line("")).expect("it is told");
        assert!(!nothing_recorded.contains("demo-rts"), "{nothing_recorded}");
    }

    #[test]
    fn only_who_left_is_told_to_have_left() {
        use lockstep::RosterCause::{Cheated, Desynced, Left, Lost};
        for cause in [Left, Lost, Cheated, Desynced] {
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
            let said = text(&line).expect("it is told");
            assert_eq!(said.contains(" left "), cause == Left, "{said}");
            assert!(said.contains("seat 2 lost"), "{said}");
            assert!(said.ends_with("seat 3 back in turn 9"), "{said}");
        }
    }

    #[test]
    fn gaps() {
        assert_eq!(ms(None), "-");
        assert_eq!(ms(Some(300.04)), "300.0");
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(count(0, "turn"), "0 turns");
        assert_eq!(count(1, "turn"), "1 turn");
        assert_eq!(count(12, "late turn"), "12 late turns");
        assert_eq!(
            (seats(&[2]), seats(&[2, 3])),
            ("seat 2".into(), "seats 2, 3".into())
        );
    }

    #[test]
    fn only_every_so_many_turns_are_told() {
        let turn = |turn| Line::Turn {
            turn,
            tick: 0,
            checksum: "00000000".into(),
        };
        assert!(text(&turn(25)).is_some());
        assert!(text(&turn(26)).is_none());
    }
}
