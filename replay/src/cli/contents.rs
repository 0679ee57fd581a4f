//! `stats`, `export` and `trim`.

use super::print::{Items, Printer, clock, count, tail_json, thousands};
use super::report::{ms, tail_verdict};
use super::{Failure, Verdict, at};
use crate::error::hex;
use crate::{Error, PlanAt, Reader};
use lockstep::TurnNumber;
use lockstep::log::{Codec, Equivocation, LogEntry, Record, SignedBatch, Start, Way, What};
use lockstep::session::{Batch, Lead, NO_WAY};
use serde_json::{Value, json};
use sim::{Seat, Simulation};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

#[derive(Default)]
struct SeatCount {
    commands: u64,
    bytes: u64,
    /// By minute of play, up to the last one with a command. The last of [`MOST_MINUTES`] counts all later ones, too.
    per_minute: Vec<u64>,
    /// How many milliseconds after their sealing batches of its peer came to the others, by their signed reports of the last
    /// second before a keyframe.
    ways: Vec<i16>,
    /// How long before their deadline its peer's batches left in the end, as the recording peer measured it.
    lead: Option<Lead>,
}

/// Two days.
const MOST_MINUTES: usize = 2 * 24 * 60;

/// The totals of a file.
#[derive(Default)]
struct Counts {
    idle: u64,
    paused: u64,
    seats: BTreeMap<Seat, SeatCount>,
    bytes: BTreeMap<&'static str, u64>,
}

pub(super) fn stats(path: &Path, json: bool, to: &mut Printer<'_>) -> Result<Verdict, Failure> {
    let mut reader = Reader::open(path).map_err(at(path))?;
    let counts = counted(&mut reader).map_err(at(path))?;
    let turns = reader.turns();
    let length = reader.time_of(TurnNumber(turns));
    let plans = || reader.plans().skip(1);
    if json {
        let seats: Vec<Value> = counts
            .seats
            .iter()
            .map(|(seat, of)| {
                json!({
                    "seat": seat.0, "commands": of.commands, "command_bytes": of.bytes, "per_minute": of.per_minute,
                    "way_ms": of.way(), "way_reports": of.ways.len(),
                    "lead_ms": of.lead.map(|lead| lead.ms), "usual_lead_ms": of.lead.map(|lead| lead.usual_ms),
                    "stands_out": of.lead.is_some_and(|lead| lead.stands_out),
                })
            })
            .collect();
        let value = json!({
            "turns": turns, "ms": ms(length), "idle_turns": counts.idle, "paused_turns": counts.paused,
            "plan_changes": plans().len(), "seats": seats, "bytes": counts.bytes,
        });
        let plans = plans().map(|plan| plan_json(&reader, &plan));
        to.json_with(&value, [("plans", Box::new(plans) as Items<'_>)]);
    } else {
        to.line(&format!(
            "{} ({}): {} idle, {} paused, {}",
            count(u64::from(turns), "turn"),
            clock(length),
            thousands(counts.idle),
            thousands(counts.paused),
            count(plans().len() as u64, "plan change")
        ));
        for at in plans() {
            to.line(&format!(
                "turn {:<9} {:>12}  {}",
                thousands(u64::from(at.turn.0)),
                clock(reader.time_of(at.turn)),
                plan_text(&at)
            ));
        }
        let minutes = length.as_secs_f64() / 60.0;
        for (seat, of) in &counts.seats {
            to.line(&format!(
                "seat {:<3} {:>12}, {} bytes, {:.1} a minute, at most {} in one",
                seat.0,
                count(of.commands, "command"),
                thousands(of.bytes),
                of.commands as f64 / minutes.max(1.0 / 60.0),
                of.per_minute.iter().max().unwrap_or(&0)
            ));
        }
        for (seat, of) in &counts.seats {
            if let Some(ms) = of.way() {
                to.line(&format!(
                    "seat {:<3} batches took {ms} ms to the other peers (median of {})",
                    seat.0,
                    count(of.ways.len() as u64, "report")
                ));
            }
            if let Some(lead) = of.lead {
                let then = match lead.stands_out {
                    true => "; it stands out: this peer could see the others' commands first",
                    false => "",
                };
                to.line(&format!(
                    "seat {:<3} batches left {} ms before their deadline; {} ms is usual{then}",
                    seat.0, lead.ms, lead.usual_ms
                ));
            }
        }
        let all: u64 = counts.bytes.values().sum();
        for (kind, bytes) in &counts.bytes {
            to.line(&format!(
                "{kind:<12} {:>12} bytes  {:>5.1} %",
                thousands(*bytes),
                *bytes as f64 * 100.0 / all.max(1) as f64
            ));
        }
    }
    Ok(tail_verdict(path, &reader, json, to))
}

fn counted(reader: &mut Reader) -> Result<Counts, Error> {
    let mut counts = Counts::default();
    let seats = reader.start().seats();
    counts
        .seats
        .extend(seats.into_iter().map(|seat| (seat, SeatCount::default())));
    let mut codec = Codec::default();
    let mut encoded = Vec::new();
    let mut cursor = reader.cursor(TurnNumber(0));
    while let Some(record) = reader.next_record(&mut cursor)? {
        encoded.clear();
        codec.encode(&record, &mut encoded);
        *counts.bytes.entry(kind(&record)).or_default() += encoded.len() as u64;
        match &record {
            Record::Attest(batch) => take_ways(batch, reader.start(), &mut counts),
            Record::Leads { leads, .. } => take_leads(leads, reader.start(), &mut counts),
            _ => {}
        }
        let Record::Bundle(bundle) = record else {
            continue;
        };
        counts.idle += u64::from(bundle.entries.is_empty());
        counts.paused += u64::from(bundle.paused);
        let minute = (reader.time_of(bundle.turn).as_secs() / 60) as usize;
        for entry in &bundle.entries {
            if let What::Command(bytes) = &entry.what {
                let of = counts.seats.entry(entry.seat).or_default();
                of.commands += 1;
                of.bytes += bytes.len() as u64;
                let minute = minute.min(MOST_MINUTES - 1);
                of.per_minute.resize(of.per_minute.len().max(minute + 1), 0);
                of.per_minute[minute] += 1;
            }
        }
    }
    let keyframes = reader.keyframes().iter().map(|k| k.packed_bytes).sum();
    counts.bytes.insert("keyframe", keyframes);
    let known: u64 = counts.bytes.values().sum();
    let framing = reader.valid_bytes().saturating_sub(known);
    counts.bytes.insert("framing", framing);
    Ok(counts)
}

/// Takes what one peer measured of the others. A batch that comes late was sealed late, or its link is slow: the
/// recording knows no round trip.
fn take_ways(batch: &SignedBatch, start: &Start, counts: &mut Counts) {
    let Ok(content) = Batch::decode(&batch.content) else {
        return;
    };
    let told = start.roster.iter().zip(content.way_ms).enumerate();
    for (at, (peer, way)) in told {
        if at == usize::from(batch.peer) || way == NO_WAY {
            continue;
        }
        for seat in &peer.seats {
            let of = counts.seats.entry(*seat).or_default();
            of.ways.push(way);
        }
    }
}

/// The newest measurement counts.
fn take_leads(leads: &[(u8, Lead)], start: &Start, counts: &mut Counts) {
    for (at, lead) in leads {
        let of_peer = start.roster.get(usize::from(*at));
        for seat in of_peer.iter().flat_map(|peer| &peer.seats) {
            counts.seats.entry(*seat).or_default().lead = Some(*lead);
        }
    }
}

impl SeatCount {
    fn way(&self) -> Option<i16> {
        let mut sorted = self.ways.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }
}

fn kind(record: &Record) -> &'static str {
    match record {
        Record::Start(_) => "start",
        Record::Bundle(_) => "bundle",
        Record::Checksum { .. } => "checksum",
        Record::Mismatch { .. } => "mismatch",
        Record::Attest(_) => "attest",
        Record::Leads { .. } => "leads",
        Record::Keyframe(_) => "keyframe",
        Record::Roster(_) => "roster",
        Record::Accept(_) => "accept",
        Record::Signed(_) => "signed",
        Record::Continued(_) => "continued",
        Record::End(_) => "end",
    }
}

pub(super) fn export<S: Simulation>(path: &Path, to: &mut Printer<'_>) -> Result<Verdict, Failure> {
    let mut reader = Reader::open(path).map_err(at(path))?;
    let setup = reader.setup::<S>().map_err(at(path))?;
    let setup = serde_json::to_value(setup).unwrap_or(Value::Null);
    let mut cursor = reader.cursor(TurnNumber(0));
    while let Some(record) = reader.next_record(&mut cursor).map_err(at(path))? {
        if !to.is_open() {
            break;
        }
        let line = match &record {
            Record::Start(start) => json!({
                "record": "start", "match_id": start.match_id.to_string(), "rules": hex(&start.rules.0),
                "setup": setup, "seed": hex(&start.seed.0), "plan": start.terms.plan.to_string(), "build": start.build,
                "turn_limit": start.terms.turn_limit,
                "roster": start.roster.iter().map(|peer| json!({
                    "peer": hex(&peer.peer.0), "name": peer.name,
                    "seats": peer.seats.iter().map(|seat| seat.0).collect::<Vec<_>>(),
                })).collect::<Vec<_>>(),
            }),
            Record::Bundle(bundle) => json!({
                "record": "bundle", "turn": bundle.turn.0, "ms": ms(reader.time_of(bundle.turn)),
                "ticks": bundle.ticks(), "plan": bundle.plan.to_string(), "tick_ms": bundle.plan.tick_ms,
                "slow": seat_numbers(&reader.plan_at(bundle.turn).slow), "paused": bundle.paused,
                "entries": bundle.entries.iter().map(entry_json::<S>).collect::<Vec<_>>(),
            }),
            Record::Checksum { turns, checksum } => json!({
                "record": "checksum", "turns": turns, "checksum": checksum.to_string(),
            }),
            Record::Mismatch { turns, checksums } => json!({
                "record": "mismatch", "turns": turns,
                "checksums": checksums.iter().map(|(peer, checksum)| json!({
                    "peer": peer, "checksum": checksum.to_string(),
                })).collect::<Vec<_>>(),
            }),
            Record::Attest(batch) => json!({
                "record": "attest", "peer": batch.peer, "content": hex(&batch.content),
                "signature": hex(&batch.signature),
            }),
            Record::Leads { turns, leads } => json!({
                "record": "leads", "turns": turns,
                "leads": leads.iter().map(|(peer, lead)| json!({
                    "peer": peer, "ms": lead.ms, "usual_ms": lead.usual_ms, "stands_out": lead.stands_out,
                })).collect::<Vec<_>>(),
            }),
            Record::Keyframe(_) => continue,
            Record::Roster(change) => json!({
                "record": "roster", "epoch": change.epoch.saturating_add(1), "turn": change.value.cut,
                "peers": change.value.roster.iter().collect::<Vec<_>>(),
                "cheats": change.value.cheats.iter().collect::<Vec<_>>(),
                "odd": change.value.minority.iter().collect::<Vec<_>>(),
                "left": change.value.left.iter().collect::<Vec<_>>(),
                "proofs": change.proofs.iter().map(|Equivocation(one, other)| json!({
                    "peer": one.peer,
                    "batches": ([one, other].map(|batch| json!({
                        "content": hex(&batch.content), "signature": hex(&batch.signature),
                    }))),
                })).collect::<Vec<_>>(),
                "reopened": change.reopening.is_some(),
                "accepts": change.accepts.iter().map(|(peer, signature)| json!({
                    "peer": peer, "signature": hex(signature),
                })).collect::<Vec<_>>(),
            }),
            Record::Accept(accepted) => json!({
                "record": "accept", "epoch": accepted.epoch, "round": accepted.ballot.round,
                "coordinator": accepted.ballot.peer, "turn": accepted.value.cut,
                "peers": accepted.value.roster.iter().collect::<Vec<_>>(),
                "turns_ahead": accepted.turns.len(),
            }),
            Record::Signed(signed) => json!({
                "record": "signed", "epoch": signed.epoch, "hash": signed.hash.to_string(),
                "peers": signed.roster.iter().collect::<Vec<_>>(),
            }),
            Record::Continued(continuation) => json!({
                "record": "continued", "epoch": continuation.epoch.saturating_add(1), "turn": continuation.turns,
                "log_hash": continuation.log_hash.to_string(), "peer": hex(&continuation.peer.0),
                "name": continuation.name, "seat": continuation.seat.0, "plan": continuation.plan.to_string(),
                "turn_limit": continuation.turn_limit, "build": continuation.build,
                "signature": hex(&continuation.signature),
            }),
            Record::End(end) => json!({
                "record": "end", "turns": end.turns, "log_hash": end.log_hash.to_string(),
                "checksum": end.checksum.to_string(), "decided": end.outcome.is_some(),
                "winner": end.outcome.and_then(|outcome| outcome.winner).map(|seat| seat.0),
                "signatures": end.signatures.len(),
            }),
        };
        to.json(&line);
    }
    Ok(tail_verdict(path, &reader, true, to))
}

fn entry_json<S: Simulation>(entry: &LogEntry) -> Value {
    let seat = entry.seat.0;
    match &entry.what {
        What::Command(bytes) => {
            let command = match postcard::take_from_bytes::<S::Command>(bytes) {
                Ok((command, [])) => serde_json::to_value(command).ok(),
                _ => None,
            };
            match command {
                Some(command) => json!({"seat": seat, "command": command}),
                None => json!({"seat": seat, "command_bytes": hex(bytes)}),
            }
        }
        What::Seat(state) => json!({"seat": seat, "state": format!("{state:?}").to_lowercase()}),
        What::Pause => json!({"seat": seat, "pause": true}),
        What::Resume => json!({"seat": seat, "pause": false}),
        What::Chat(text) => json!({"seat": seat, "chat": text}),
        What::Load(load) => json!({"seat": seat, "load_us": u32::from(*load) * 125 / 2}),
        What::Way { from, ms } => json!({"seat": seat, "way_ms": ms, "from": from.0}),
        other => json!({"seat": seat, "entry": format!("{other:?}")}),
    }
}

fn plan_json(reader: &Reader, at: &PlanAt) -> Value {
    json!({
        "turn": at.turn.0, "ms": ms(reader.time_of(at.turn)), "ticks": at.plan.ticks, "delay": at.plan.delay_turns,
        "tick_ms": at.plan.tick_ms, "slow": seat_numbers(&at.slow), "way": way_json(at.way),
    })
}

/// A way that a plan is for.
pub(super) fn way_json(way: Option<Way>) -> Value {
    way.map_or(
        Value::Null,
        |way| json!({"from": way.from.0, "to": way.to.0, "ms": way.ms}),
    )
}

pub(super) fn seat_numbers(seats: &[Seat]) -> Vec<u8> {
    seats.iter().map(|seat| seat.0).collect()
}

/// `seat 1`, `seats 1, 2`.
pub(super) fn seats_text(numbers: &[u8]) -> String {
    let plural = if numbers.len() == 1 { "" } else { "s" };
    let numbers: Vec<String> = numbers.iter().map(u8::to_string).collect();
    format!("seat{plural} {}", numbers.join(", "))
}

/// A plan, and the slow machine and the way that it is for.
pub(super) fn plan_text(at: &PlanAt) -> String {
    let why = match at.slow.as_slice() {
        [] => String::new(),
        slow => format!(", slowed down for {}", seats_text(&seat_numbers(slow))),
    };
    let way = at.way.map_or(String::new(), |way| {
        let Way { from, to, ms } = way;
        format!(
            ", for {ms} ms on the way from seat {} to seat {}",
            from.0, to.0
        )
    });
    format!("{}, ticks of {} ms{why}{way}", at.plan, at.plan.tick_ms)
}

pub(super) fn trim(
    path: &Path,
    output: Option<&Path>,
    json: bool,
    to: &mut Printer<'_>,
) -> Result<Verdict, Failure> {
    let mut reader = Reader::open(path).map_err(at(path))?;
    let output = output.map_or_else(|| beside(path), Path::to_owned);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&output);
    let file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::Exists,
        _ => Error::Io(error),
    });
    let mut file = file.map_err(at(&output))?;
    let copied = reader
        .copy_prefix(|bytes| file.write_all(bytes))
        .and_then(|()| file.sync_all());
    if let Err(error) = copied {
        fs::remove_file(&output).ok();
        return Err(Failure::File(output, error.into()));
    }
    let turns = reader.turns();
    let dropped = reader.file_bytes() - reader.valid_bytes();
    if json {
        to.json(&json!({
            "written": output.display().to_string(), "turns": turns, "bytes": reader.valid_bytes(),
            "dropped_bytes": dropped, "tail": tail_json(reader.file_end()),
        }));
    } else {
        to.line(&format!(
            "{}: {} ({}) written, {} dropped",
            output.display(),
            count(u64::from(turns), "turn"),
            clock(reader.time_of(TurnNumber(turns))),
            count(dropped, "byte")
        ));
    }
    Ok(Verdict::Good)
}

/// `match.trimmed.replay` for `match.replay`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(".trimmed");
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_newest_measurement_of_leads_counts_for_all_seats_of_a_peer() {
        let file = fixture::file_of(&fixture::play(400).records);
        let mut reader = Reader::from_bytes(file).expect("a replay");
        let counts = counted(&mut reader).expect("it is whole");
        for (at, peer) in reader.start().roster.iter().enumerate() {
            for seat in &peer.seats {
                let lead = counts.seats[seat]
                    .lead
                    .map(|lead| (lead.ms, lead.stands_out));
                assert_eq!(lead, (at == 1).then_some((20, true)), "peer {at}");
            }
        }
        let kinds = counts.bytes.keys().filter(|kind| **kind == "leads");
        assert_eq!(kinds.count(), 1);
    }

    #[test]
    fn signed_ways_count_for_the_seats_of_other_peers() {
        let played = fixture::play(40);
        let Some(Record::Start(start)) = played.records.first() else {
            panic!("the first record is the start");
        };
        let mut attests = played.records.iter().filter_map(|record| match record {
            Record::Attest(batch) => Some(batch),
            _ => None,
        });
        let batch = attests.next().expect("a recording has signed batches");
        let peers = start.roster.len();
        let mut counts = Counts::default();
        for way in [40, 30, NO_WAY, 250, 35] {
            let mut content = Batch::decode(&batch.content).expect("it was signed");
            content.way_ms = vec![way; peers];
            let mut bytes = Vec::new();
            content.encode(&mut bytes);
            let told = SignedBatch {
                content: bytes.into(),
                ..batch.clone()
            };
            take_ways(&told, start, &mut counts);
        }
        for (at, peer) in start.roster.iter().enumerate() {
            let of = peer.seats.first().and_then(|seat| counts.seats.get(seat));
            let way = of.and_then(SeatCount::way);
            let expected = (at != usize::from(batch.peer)).then_some(40);
            assert_eq!(way, expected, "peer {at}");
        }
    }
}
