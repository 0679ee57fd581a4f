//! Encodes records as the content of an item, and decodes them.

use crate::segment::Kind;
use lockstep::Limits;
use lockstep::log::{Bundle, Codec, LogEntry, Record, What};
use sim::Seat;

/// Encodes records as one item.
pub(crate) fn encode(codec: &mut Codec, records: &[Record]) -> (Kind, Vec<u8>) {
    let short = match records {
        [Record::Bundle(bundle)] if codec.continues(bundle) => short(bundle),
        _ => None,
    };
    let mut bytes = Vec::new();
    for record in records {
        codec.encode(record, &mut bytes);
    }
    match short {
        Some(short) if short.is_empty() => (Kind::Idle, short),
        Some(short) => (Kind::Turn, short),
        None => (Kind::Records, bytes),
    }
}

/// Decodes the records of an item; `None` if they are not what [`encode`] writes.
pub(crate) fn decode(
    kind: Kind,
    content: &[u8],
    codec: &mut Codec,
    limits: &Limits,
) -> Option<Vec<Record>> {
    match kind {
        Kind::Idle => Some(vec![Record::Bundle(codec.next_bundle(Vec::new())?)]),
        Kind::Turn => {
            let entries = entries(content)?;
            Some(vec![Record::Bundle(codec.next_bundle(entries)?)])
        }
        Kind::Records => codec.decode_all(content, limits).ok(),
        Kind::Keyframe | Kind::Index | Kind::Seal => None,
    }
}

/// The short form of a turn; `None` unless it holds only short commands.
fn short(bundle: &Bundle) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    for entry in &bundle.entries {
        let What::Command(command) = &entry.what else {
            return None;
        };
        let length = u8::try_from(command.len()).ok()?;
        if entry.seat.0 > 7 || !(1..=MOST).contains(&length) {
            return None;
        }
        content.push(entry.seat.0 << 5 | length);
        content.extend_from_slice(command);
    }
    Some(content)
}

fn entries(mut content: &[u8]) -> Option<Vec<LogEntry>> {
    let mut entries: Vec<LogEntry> = Vec::new();
    while let Some((head, rest)) = content.split_first() {
        let seat = Seat(head >> 5);
        let (command, rest) = rest.split_at_checked(usize::from(head & MOST))?;
        let in_order = entries.last().is_none_or(|last| last.seat <= seat);
        if command.is_empty() || !in_order {
            return None;
        }
        entries.push(LogEntry {
            seat,
            what: What::Command(command.into()),
        });
        content = rest;
    }
    (!entries.is_empty()).then_some(entries)
}

/// Bytes of the longest short command.
const MOST: u8 = 31;
