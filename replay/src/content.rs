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

/// Decodes the content of an item of [`Kind::Records`] record by record, for there may be ten thousands. `None` stands for
/// one that [`encode`] does not write, and is the last.
pub(crate) fn decode<'a>(
    mut content: &'a [u8],
    codec: &'a mut Codec,
    limits: &'a Limits,
) -> impl Iterator<Item = Option<Record>> + use<'a> {
    std::iter::from_fn(move || {
        if content.is_empty() {
            return None;
        }
        let record = next(Kind::Records, &mut content, codec, limits);
        if record.is_none() {
            content = &[];
        }
        Some(record)
    })
}

/// Decodes the next record of an item, and takes its bytes from the front of the content.
pub(crate) fn next(
    kind: Kind,
    content: &mut &[u8],
    codec: &mut Codec,
    limits: &Limits,
) -> Option<Record> {
    match kind {
        Kind::Idle => codec.next_bundle(Vec::new()).map(Record::Bundle),
        Kind::Turn => {
            let entries = entries(std::mem::take(content))?;
            codec.next_bundle(entries).map(Record::Bundle)
        }
        Kind::Records => codec.decode_front(content, limits).ok(),
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
