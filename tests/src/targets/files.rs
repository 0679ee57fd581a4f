//! Replay files of any bytes, and of any items with valid checks.

use lockstep::Limits;
use lockstep::log::{EncodedLog, Record};
use replay::Reader;
use replay::parts::{Part, file_of};
use std::io::Cursor;

/// A replay file of any bytes opens with all its claimed turns, or has an error message.
///
/// # Panics
/// If a turn is out of order, or the message is empty.
pub fn replay(bytes: &[u8]) {
    let limits = Limits {
        snapshot_bytes: SNAPSHOT_BYTES,
        ..Limits::default()
    };
    match Reader::over(Cursor::new(bytes.to_vec()), limits) {
        Err(error) => assert!(!error.to_string().is_empty(), "an error says something"),
        Ok(mut reader) => {
            read_log(&mut reader);
            read_claims(&mut reader);
        }
    }
}

/// The same for a file of these items, with valid heads and checks. The first byte of each item selects its kind, the next
/// two the length, and of a keyframe's content the first two its turns.
///
/// # Panics
/// As [`replay()`].
pub fn items(mut bytes: &[u8]) {
    let mut parts = Vec::new();
    while let [kind, low, high, rest @ ..] = bytes {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (content, after) = rest.split_at(length);
        parts.push(match (kind % 5, content) {
            (0, _) => Part::Idle,
            (1, _) => Part::Turn(content),
            (2, [low, high, record @ ..]) => {
                let turns = u16::from_le_bytes([*low, *high]);
                Part::Keyframe(turns.into(), record)
            }
            (2 | 3, _) => Part::Content(content),
            _ => Part::Seal,
        });
        bytes = after;
    }
    replay(&file_of(parts));
}

/// The largest keyframe that is unpacked: one of the usual limit would take too long for millions of files.
const SNAPSHOT_BYTES: u64 = 1 << 20;
/// Keyframes that are unpacked of one file.
const MOST_KEYFRAMES: usize = 8;

/// The turns follow each other, and the log that a joiner makes of them gives the same records.
fn read_log(reader: &mut Reader) {
    let turns = reader.turns();
    let mut log = EncodedLog::new(reader.start().clone());
    let mut kept = Vec::new();
    let mut bundles = 0;
    for record in reader.records().map_while(Result::ok) {
        if matches!(record, Record::Bundle(_) | Record::Roster(_)) {
            bundles += u32::from(matches!(record, Record::Bundle(_)));
            log.append(&record);
            kept.push(record);
        }
    }
    assert!(
        bundles >= turns,
        "{bundles} turns of {turns} that it claims"
    );
    assert_eq!(log.turns(), bundles, "turns of the log");
    assert!(log.records().eq(kept), "one log, one encoding");
}

/// What a file claims of worlds is read, or has an error message.
fn read_claims(reader: &mut Reader) {
    let _ = reader.checksums().map_err(|error| error.to_string());
    let keyframes = reader.keyframes().to_vec();
    for at in keyframes.iter().rev().take(MOST_KEYFRAMES) {
        match reader.keyframe(at) {
            Err(error) => assert!(!error.to_string().is_empty(), "an error says something"),
            Ok(keyframe) => {
                assert_eq!(keyframe.turns, at.turns);
                assert!(keyframe.snapshot.len() as u64 <= SNAPSHOT_BYTES);
            }
        }
    }
    let damage = reader.damage();
    assert!(damage.is_none_or(|damage| !damage.to_string().is_empty()));
    reader.plans().for_each(drop);
    let (provisional, turns) = (reader.provisional(), reader.turns());
    assert!(provisional <= turns, "{provisional} of {turns} turns");
}
