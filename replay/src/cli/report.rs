//! `info`, `verify` and `diff`.

use super::contents::{seat_numbers, seats_text};
use super::print::{Items, Printer, clock, count, quoted, tail_json, thousands};
use super::{Failure, Verdict, at};
use crate::diff::Difference;
use crate::error::hex;
use crate::verify::{Options, Settled, Verified};
use crate::{FileEnd, Reader, RosterAt};
use lockstep::log::{Continuation, LogEntry, Record, What};
use lockstep::{Gone, RosterCause, TurnNumber};
use serde_json::{Value, json};
use sim::{Seat, Simulation};
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) fn info<S: Simulation>(
    path: &Path,
    json: bool,
    to: &mut Printer<'_>,
) -> Result<Verdict, Failure> {
    let mut reader = Reader::open(path).map_err(at(path))?;
    let cheats = cheats(&mut reader).map_err(at(path))?;
    let start = reader.start();
    let setup = setup::<S>(&reader);
    let turns = reader.turns();
    let length = reader.time_of(TurnNumber(turns));
    let ticks = reader.ticks_before(TurnNumber(turns));
    if json {
        let seats: Vec<Value> = start
            .roster
            .iter()
            .flat_map(|peer| peer.seats.iter().map(move |seat| (peer, seat)))
            .map(|(peer, seat)| {
                json!({"seat": seat.0, "name": peer.name, "peer": peer.peer.to_string()})
            })
            .collect();
        let value = json!({
            "match_id": start.match_id.to_string(), "rules": hex(&start.rules.0), "build": start.build,
            "format": crate::format::VERSION, "setup": setup, "seats": seats, "plan": start.terms.plan.to_string(), "turns": turns,
            "ms": length.as_millis() as u64, "ticks": ticks, "keyframes": reader.keyframes().len(),
            "bytes": reader.file_bytes(), "tail": tail_json(reader.file_end()), "provisional": reader.provisional(), "end": end_json(&reader),
            "branches": branches_json(&reader),
            "continued": reader.continuations().iter().map(|at| continued_json(at)).collect::<Vec<_>>(),
        });
        let cheats = cheats.iter().map(|cheat| cheat.json(&reader));
        let rosters = reader.rosters().iter().map(roster_json);
        let lists: [(_, Items<'_>); 2] =
            [("cheats", Box::new(cheats)), ("rosters", Box::new(rosters))];
        to.json_with(&value, lists);
    } else {
        to.line(&headline(&reader));
        to.line(&format!(
            "plan       {} at the start, {} ticks",
            start.terms.plan,
            thousands(ticks)
        ));
        to.line(&format!("build      {}", start.build));
        to.line(&format!("setup      {}", setup_text(setup.as_ref())));
        for peer in &start.roster {
            let seats: Vec<String> = peer.seats.iter().map(|seat| seat.0.to_string()).collect();
            to.line(&format!(
                "seat       {}  {}  key {}…",
                seats.join(", "),
                peer.name,
                peer.peer
            ));
        }
        let keyframes: u64 = reader.keyframes().iter().map(|k| k.packed_bytes).sum();
        to.line(&format!(
            "file       {}, of them {} in {}",
            count(reader.file_bytes(), "byte"),
            thousands(keyframes),
            count(reader.keyframes().len() as u64, "keyframe")
        ));
        cheats
            .iter()
            .for_each(|cheat| to.line(&cheat.text(&reader)));
        let rosters = reader.rosters().iter();
        rosters.for_each(|at| roster_text(at, &reader, to));
        branches_text(&reader, to);
        for continuation in reader.continuations() {
            to.line(&continued_text(continuation, &reader));
        }
        provisional_text(&reader, to);
        to.line(&format!("result     {}", result_text(&reader)));
    }
    Ok(tail_verdict(path, &reader, json, to))
}

fn provisional_text(reader: &Reader, to: &mut Printer<'_>) {
    let turns = reader.provisional();
    if turns > 0 {
        let turns = count(u64::from(turns), "turn");
        to.line(&format!(
            "tail       the last {turns}, provisional: other players may lack them"
        ));
    }
}

/// The game's setup; `None` if this build has other rules.
fn setup<S: Simulation>(reader: &Reader) -> Option<Value> {
    serde_json::to_value(reader.setup::<S>().ok()?).ok()
}

fn setup_text(setup: Option<&Value>) -> String {
    let Some(setup) = setup else {
        return "recorded under other rules than this build's".to_owned();
    };
    let text: Vec<String> = match setup {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            fields
                .map(|(name, value)| format!("{name} {value}"))
                .collect()
        }
        other => vec![other.to_string()],
    };
    let text = text.join("  ");
    let shown: String = text.chars().filter(|c| lockstep::is_shown(*c)).collect();
    let mut start: String = shown.chars().take(SETUP_SHOWN).collect();
    if start.len() < shown.len() {
        start.push('…');
    }
    start
}

/// Longer setups are cut; JSON holds all of them.
const SETUP_SHOWN: usize = 400;

/// A peer removed for signing two batches for one turn, as the file claims; `verify` checks the proof.
struct Cheat {
    peer: u8,
    turn: Option<TurnNumber>,
    cut: TurnNumber,
}

impl Cheat {
    fn seats(&self, reader: &Reader) -> Vec<u8> {
        let of = reader.start().roster.get(usize::from(self.peer));
        let seats = of.map_or(&[][..], |peer| &peer.seats);
        seats.iter().map(|seat| seat.0).collect()
    }

    fn json(&self, reader: &Reader) -> Value {
        json!({
            "peer": self.peer, "seats": self.seats(reader), "turn": self.turn.map(|turn| turn.0),
            "gone_from": self.cut.0,
        })
    }

    fn text(&self, reader: &Reader) -> String {
        let of = reader.start().roster.get(usize::from(self.peer));
        let turn = self
            .turn
            .map_or_else(String::new, |turn| format!(" for turn {turn}"));
        format!(
            "cheated    {}  {} signed two different batches{turn}: removed from turn {} on; the file holds the proof",
            seats_text(&self.seats(reader)),
            of.map_or("", |peer| &peer.name),
            self.cut
        )
    }
}

fn roster_json(at: &RosterAt) -> Value {
    let numbers = |seats: &[Seat]| seats.iter().map(|seat| seat.0).collect::<Vec<_>>();
    let all = Gone::seats(&at.gone);
    let removed = all.iter().filter(|seat| at.removed(**seat).is_some());
    let causes = at.gone.iter();
    let causes =
        causes.map(|gone| json!({"cause": gone.cause.name(), "seats": numbers(&gone.seats)}));
    json!({
        "turn": at.turn.0, "epoch": at.epoch, "seats": numbers(&at.seats), "gone": numbers(&all),
        "removed": removed.map(|seat| seat.0).collect::<Vec<_>>(), "causes": causes.collect::<Vec<_>>(),
        "back": numbers(&at.back), "cause": at.cause.name(),
    })
}

/// The changes of a roster change: seats without a player, and seats with one again. `cheats` shows cheaters.
fn roster_text(at: &RosterAt, reader: &Reader, to: &mut Printer<'_>) {
    let named = |seat: &Seat| {
        let peer = reader.start().peer_with(*seat);
        let name = peer.map_or("", |peer| peer.name.as_str());
        format!("seat {} ({name})", seat.0)
    };
    let turn = at.turn;
    for gone in &at.gone {
        let names: Vec<String> = gone.seats.iter().map(named).collect();
        let names = names.join(", ");
        let why = match gone.cause {
            RosterCause::Cheated => continue,
            RosterCause::Left => {
                to.line(&format!("left       {names} before turn {turn}"));
                continue;
            }
            RosterCause::Desynced => "world differed from the majority's",
            RosterCause::Reopened => "did not return when the match was reopened",
            RosterCause::Branched => "has no part in the branch",
            _ => "connection lost, or too slow for too long",
        };
        to.line(&format!("removed    {names} from turn {turn} on: {why}"));
    }
    if !at.back.is_empty() {
        let names: Vec<String> = at.back.iter().map(named).collect();
        let names = names.join(", ");
        to.line(&format!("rejoined   {names} from turn {turn} on"));
    }
}

fn cheats(reader: &mut Reader) -> Result<Vec<Cheat>, crate::Error> {
    let mut cheats = Vec::new();
    let mut cursor = reader.cursor(TurnNumber(0));
    while let Some(record) = reader.next_record(&mut cursor)? {
        if let Record::Roster(change) = record {
            cheats.extend(change.proofs.iter().map(|proof| Cheat {
                peer: proof.0.peer,
                turn: proof.turn(),
                cut: TurnNumber(change.value.cut),
            }));
        }
    }
    Ok(cheats)
}

pub(super) fn verify<S: Simulation>(
    path: &Path,
    json: bool,
    every_tick: bool,
    to: &mut Printer<'_>,
) -> Result<Verdict, Failure> {
    let mut reader = Reader::open(path).map_err(at(path))?;
    let options = Options {
        every_tick,
        ..Options::default()
    };
    let bar = to.bar(reader.turns());
    let begun = now();
    let verified = crate::verify::verify::<S>(&mut reader, &options, |turns| {
        if turns.is_multiple_of(64) {
            bar.set_position(u64::from(turns));
        }
    });
    let wall = now().duration_since(begun);
    bar.finish_and_clear();
    let verified = verified.map_err(at(path))?;
    let played = reader.time_of(TurnNumber(verified.turns));
    let ratio = played.as_secs_f64() / wall.as_secs_f64().max(1e-9);
    // An invalid file is no evidence of cheating.
    let cheats = match verified.wrong {
        None => cheats(&mut reader).map_err(at(path))?,
        Some(_) => Vec::new(),
    };
    if json {
        to.json(&json!({
            "match_id": reader.start().match_id.to_string(), "turns": verified.turns, "of": verified.of,
            "ticks": verified.ticks, "checksums": verified.checksums, "keyframes": verified.keyframes,
            "keyframes_unread": verified.keyframes_unread,
            "signatures": verified.signatures, "attested_turns": verified.attested_turns,
            "checksum": verified.checksum.to_string(),
            "winner": verified.outcome.and_then(|outcome| outcome.winner).map(|seat| seat.0),
            "decided": verified.outcome.is_some(), "tail": tail_json(verified.tail), "provisional": reader.provisional(),
            "wrong": verified.wrong.as_ref().map(ToString::to_string),
            "cheats": cheats.iter().map(|cheat| cheat.json(&reader)).collect::<Vec<_>>(),
            "branches": branches_json(&reader),
            "continued": verified.continued.iter().map(|at| {
                let mut json = continued_json(&at.continuation);
                json["attested_turns"] = json!(at.attested_turns);
                json
            }).collect::<Vec<_>>(),
            "desyncs": verified.desyncs.iter().map(|settled| json!({
                "turns": settled.turns, "peers": settled.peers,
            })).collect::<Vec<_>>(),
            "wall_ms": wall.as_millis() as u64, "real_time_ratio": (ratio * 10.0).round() / 10.0,
        }));
    } else {
        verified_text(&reader, &verified, ratio, to);
        cheats
            .iter()
            .for_each(|cheat| to.line(&cheat.text(&reader)));
    }
    if let Some(wrong) = &verified.wrong {
        to.problem(&format!(
            "{}: {wrong} ({} of play)",
            path.display(),
            clock(played)
        ));
        return Ok(Verdict::Mismatch);
    }
    Ok(tail_verdict(path, &reader, json, to))
}

fn verified_text(reader: &Reader, verified: &Verified, ratio: f64, to: &mut Printer<'_>) {
    to.line(&headline(reader));
    to.line(&format!(
        "turns      {} of {} re-run, {} agreed, {}            {} × real time",
        thousands(u64::from(verified.turns)),
        thousands(u64::from(verified.of)),
        count(u64::from(verified.checksums), "checksum"),
        count(u64::from(verified.keyframes), "keyframe"),
        thousands(ratio as u64)
    ));
    if verified.keyframes_unread > 0 {
        to.line(&format!(
            "keyframes  {} compared with no world: too long for this file's length, or too far behind its turn",
            count(u64::from(verified.keyframes_unread), "keyframe")
        ));
    }
    to.line(&match verified.attested_turns {
        Some(turns) => format!(
            "history    log hash and {} hold up to turn {}",
            count(u64::from(verified.signatures), "signature"),
            thousands(u64::from(turns))
        ),
        None => "history    this file holds no signature over its turns".to_owned(),
    });
    provisional_text(reader, to);
    branches_text(reader, to);
    for at in &verified.continued {
        to.line(&continued_text(&at.continuation, reader));
        to.line(&match at.attested_turns {
            Some(turns) => format!(
                "           the part before it is signed up to turn {} by other players of it",
                thousands(u64::from(turns))
            ),
            None => "           the part before it is unsigned".to_owned(),
        });
    }
    for settled in &verified.desyncs {
        to.line(&settled_text(reader, settled));
    }
    if verified.holds() {
        to.line(&format!("result     {}", result_text(reader)));
    }
}

fn settled_text(reader: &Reader, settled: &Settled) -> String {
    let roster = &reader.start().roster;
    let peers = settled.peers.iter();
    let peers = peers.filter_map(|peer| roster.get(usize::from(*peer)));
    let named = peers.map(|peer| {
        let seats = seats_text(&seat_numbers(&peer.seats));
        format!("{seats} ({})", peer.name)
    });
    let named: Vec<String> = named.collect();
    format!(
        "desync     after {} the world of {} differed from this one: the match went on without them",
        count(u64::from(settled.turns), "turn"),
        named.join(" and ")
    )
}

pub(super) fn diff(
    left: &Path,
    right: &Path,
    json: bool,
    to: &mut Printer<'_>,
) -> Result<Verdict, Failure> {
    let mut readers = (
        Reader::open(left).map_err(at(left))?,
        Reader::open(right).map_err(at(right))?,
    );
    let diff = crate::diff::compare(&mut readers.0, &mut readers.1, at(left), at(right))?;
    let difference = diff
        .difference
        .as_ref()
        .map(|d| difference_text(d, &readers.0));
    if json {
        to.json(&json!({
            "agrees": diff.agrees(), "turns": [diff.turns.0, diff.turns.1], "equal_turns": diff.equal_turns,
            "equal_checksums": diff.equal_checksums, "difference": difference,
            "provisional_turns": [diff.provisional_turns.0, diff.provisional_turns.1],
            "branches": [branches_json(&readers.0), branches_json(&readers.1)],
        }));
    } else {
        let equal = count(u64::from(diff.equal_turns), "turn");
        let (a, b) = diff.turns;
        to.line(&match &difference {
            Some(text) => match diff.difference {
                Some(Difference::OtherMatch | Difference::Start) => text.clone(),
                // The commands may differ later, or nowhere.
                Some(Difference::Checksum { .. }) => format!(
                    "{text}; the commands of {} {} are equal",
                    if diff.equal_turns == a.min(b) { "all" } else { "the first" },
                    count(u64::from(diff.equal_turns), "common turn")
                ),
                _ => format!("{text}; {equal} before that are equal"),
            },
            None if diff.provisional_turns != (0, 0) => {
                let (ours, theirs) = diff.provisional_turns;
                let alone = if ours > 0 { left } else { right };
                format!(
                    "equal: {equal}; {} then has {} of its own, because the match went on without its peer",
                    alone.display(),
                    count(u64::from(ours.max(theirs)), "turn"),
                )
            }
            None if a == b => format!("equal: {equal}"),
            None => {
                let (longer, more) = if a > b { (left, a - b) } else { (right, b - a) };
                let more = count(u64::from(more), "turn");
                format!(
                    "equal in all common turns: {equal}; {} has {more} more",
                    longer.display()
                )
            }
        });
        to.line(&format!(
            "{} in common agree",
            count(u64::from(diff.equal_checksums), "checksum")
        ));
        for (path, reader) in [(left, &readers.0), (right, &readers.1)] {
            if reader.rosters().iter().any(|at| at.branch.is_some()) {
                to.line(&format!("{}:", path.display()));
                branches_text(reader, to);
            }
        }
    }
    if !diff.agrees() {
        return Ok(Verdict::Mismatch);
    }
    let left = tail_verdict(left, &readers.0, json, to);
    let right = tail_verdict(right, &readers.1, json, to);
    Ok(if left == Verdict::Good { right } else { left })
}

fn difference_text(difference: &Difference, reader: &Reader) -> String {
    match difference {
        Difference::OtherMatch => "two different matches".to_owned(),
        Difference::Start => {
            "one match, but different starts: roster, setup, seed or plan".to_owned()
        }
        Difference::Turn {
            turn,
            entry,
            left,
            right,
        } => {
            let time = clock(reader.time_of(*turn));
            let turn = thousands(u64::from(turn.0));
            match entry {
                Some(entry) => format!(
                    "turn {turn} ({time}) differs at entry {entry}: {} against {}",
                    entry_text(left.as_ref()),
                    entry_text(right.as_ref())
                ),
                None => format!("turn {turn} ({time}) differs in its plan or pause"),
            }
        }
        Difference::Roster { turn } => format!(
            "from turn {} ({}) on the rosters differ",
            thousands(u64::from(turn.0)),
            clock(reader.time_of(*turn))
        ),
        Difference::Branched { turn, in_which } => format!(
            "from turn {} ({}) on players go on in a branch in {}",
            thousands(u64::from(turn.0)),
            clock(reader.time_of(*turn)),
            which(*in_which)
        ),
        Difference::Continued { turn, in_which } => format!(
            "from turn {} ({}) on one player goes on alone in {}",
            thousands(u64::from(turn.0)),
            clock(reader.time_of(*turn)),
            which(*in_which)
        ),
        Difference::Checksum { turns, left, right } => format!(
            "after {} ({}) the checksums differ: {left} against {right}",
            count(u64::from(*turns), "turn"),
            clock(reader.time_of(TurnNumber(*turns)))
        ),
    }
}

fn which(in_which: (bool, bool)) -> &'static str {
    match in_which {
        (true, true) => "both, differently",
        (true, false) => "the first",
        _ => "the second",
    }
}

fn entry_text(entry: Option<&LogEntry>) -> String {
    match entry {
        None => "nothing".to_owned(),
        Some(entry) => {
            let what = match &entry.what {
                What::Command(bytes) => format!("command {}", hex(bytes)),
                What::Seat(state) => format!("seat now {state:?}"),
                What::Pause => "pause".to_owned(),
                What::Resume => "resume".to_owned(),
                What::Chat(text) => format!("chat {text:?}"),
                What::Load(load) => format!("load of {:.1} ms a tick", f64::from(*load) / 16.0),
                What::Way { from, ms } => format!("way of {ms} ms from seat {}", from.0),
                other => format!("{other:?}"),
            };
            format!("seat {}'s {what}", entry.seat.0)
        }
    }
}

/// The player that went on alone, and the turn where that begins.
fn continued_text(continuation: &Continuation, reader: &Reader) -> String {
    let turn = TurnNumber(continuation.turns);
    format!(
        "continued  from turn {} ({}) on by {} in seat {}, alone; bots play the other seats  key {}…",
        thousands(u64::from(turn.0)),
        clock(reader.time_of(turn)),
        continuation.name,
        continuation.seat.0,
        continuation.peer
    )
}

fn continued_json(continuation: &Continuation) -> Value {
    json!({
        "turn": continuation.turns, "name": continuation.name, "seat": continuation.seat.0,
        "peer": continuation.peer.to_string(),
    })
}

/// The branches of a recording, by turn. Their results count as unagreed with the match.
fn branches_json(reader: &Reader) -> Vec<Value> {
    let branches = reader.rosters().iter();
    let branches = branches.filter_map(|at| Some((at, at.branch?)));
    let json = branches.map(|(at, branch)| {
        let seats: Vec<u8> = at.seats.iter().map(|seat| seat.0).collect();
        json!({"turn": at.turn.0, "match_id": branch.to_string(), "seats": seats})
    });
    json.collect()
}

fn branches_text(reader: &Reader, to: &mut Printer<'_>) {
    for at in reader.rosters() {
        if let Some(branch) = at.branch {
            let seats: Vec<String> = at.seats.iter().map(|seat| seat.0.to_string()).collect();
            to.line(&format!(
                "branch     from turn {} ({}) on match {branch} of seat {}, without a quorum: its result counts as unagreed",
                thousands(u64::from(at.turn.0)),
                clock(reader.time_of(at.turn)),
                seats.join(", ")
            ));
        }
    }
}

fn headline(reader: &Reader) -> String {
    let start = reader.start();
    let turns = reader.turns();
    format!(
        "match {}  {}  rules {}…  {}  {}",
        start.match_id,
        count(start.seats().len() as u64, "seat"),
        hex(&start.rules.0[..2]),
        clock(reader.time_of(TurnNumber(turns))),
        count(u64::from(turns), "turn")
    )
}

fn result_text(reader: &Reader) -> String {
    let result = result_of(reader);
    match reader.match_id() == reader.start().match_id {
        true => result,
        false => format!("{result}, in a branch: counts as unagreed"),
    }
}

fn result_of(reader: &Reader) -> String {
    match reader.end() {
        None => "the recording has no end".to_owned(),
        Some(end) => match end.outcome {
            None => "ended without a decision".to_owned(),
            Some(outcome) => match outcome.winner {
                None => "a draw".to_owned(),
                Some(seat) => format!("seat {} ({}) won", seat.0, name_of(reader, seat)),
            },
        },
    }
}

fn name_of(reader: &Reader, seat: Seat) -> &str {
    let roster = &reader.start().roster;
    roster
        .iter()
        .find(|peer| peer.seats.contains(&seat))
        .map_or("?", |peer| &peer.name)
}

fn end_json(reader: &Reader) -> Value {
    match reader.end() {
        None => Value::Null,
        Some(end) => json!({
            "turns": end.turns, "checksum": end.checksum.to_string(), "log_hash": end.log_hash.to_string(),
            "decided": end.outcome.is_some(),
            "winner": end.outcome.and_then(|outcome| outcome.winner).map(|seat| seat.0),
            "signatures": end.signatures.len(),
        }),
    }
}

/// Reports a file without a proper end.
pub(super) fn tail_verdict(
    path: &Path,
    reader: &Reader,
    json: bool,
    to: &mut Printer<'_>,
) -> Verdict {
    let name = path.display();
    if let Some(damage) = reader.damage() {
        to.problem(&format!("{name}: {damage}"));
        to.problem(&format!("  {}", damage.remedy(quoted(path))));
        return Verdict::Damaged;
    }
    if reader.file_end() == FileEnd::Open && !json {
        let turns = reader.turns();
        to.line(&format!(
            "{name}: whole up to its last turn (turn {}, {}); the recording has no end",
            thousands(u64::from(turns)),
            clock(reader.time_of(TurnNumber(turns)))
        ));
    }
    Verdict::Good
}

#[expect(
    clippy::disallowed_methods,
    reason = "the edge of the program: the time of the re-run"
)]
fn now() -> Instant {
    Instant::now()
}

pub(super) fn ms(time: Duration) -> u64 {
    time.as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_follow_the_number() {
        assert_eq!(seats_text(&[1]), "seat 1");
        assert_eq!(seats_text(&[1, 2]), "seats 1, 2");
    }

    #[test]
    fn a_setup_is_one_line_of_fields() {
        let setup = json!({"map": null, "minutes": 20, "name": "a\u{202e}b"});
        assert_eq!(setup_text(Some(&setup)), "minutes 20  name \"ab\"");
        let long = json!(["x".repeat(10_000)]);
        assert_eq!(setup_text(Some(&long)).chars().count(), SETUP_SHOWN + 1);
        assert!(setup_text(None).contains("other rules"));
    }
}
