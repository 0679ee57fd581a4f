//! Compares two replays.

use crate::verify::MOST_CHECKSUMS;
use crate::{Error, Reader};
use lockstep::TurnNumber;
use lockstep::log::{Bundle, Continuation, LogEntry, Record, Reopening, Start, start_hash};
use lockstep::session::roster::{Peers, Value};
use sim::Checksum;
use std::sync::Arc;

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Diff {
    /// Turns of each replay.
    pub turns: (u32, u32),
    /// Equal turns at the start.
    pub equal_turns: u32,
    /// Checksums of equal turns that both replays hold, and that agree.
    pub equal_checksums: u32,
    /// Turns at the end of each that are not compared: only a removed peer completed them, or no quorum held them
    /// at a reopening.
    pub provisional_turns: (u32, u32),
    /// The first difference in the common part, if any.
    pub difference: Option<Difference>,
}

/// The first difference of two replays.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// They record two matches.
    OtherMatch,
    /// They record one match, but its start differs: roster, setup, seed or plan.
    Start,
    /// A turn's entries or plan differ.
    Turn {
        /// The turn.
        turn: TurnNumber,
        /// The index of the first entry that differs; `None` if plan or pause differ.
        entry: Option<u32>,
        /// That entry in the first replay, if it has one.
        left: Option<LogEntry>,
        /// That entry in the second.
        right: Option<LogEntry>,
    },
    /// Roster changes differ, or one replay goes on past a change that it lacks.
    Roster {
        /// The first turn of the differing roster.
        turn: TurnNumber,
    },
    /// Players of one replay go on in a branch where the other does not, or both branch differently.
    Branched {
        /// The first turn of the branch.
        turn: TurnNumber,
        /// Whether the first and the second replay branch there.
        in_which: (bool, bool),
    },
    /// One replay branches to single play where the other does not, or both branch differently.
    Continued {
        /// The first turn of the branch.
        turn: TurnNumber,
        /// Whether the first and the second replay branch there.
        in_which: (bool, bool),
    },
    /// The turns are equal, but a checksum is not.
    Checksum {
        /// Turns executed.
        turns: u32,
        /// In the first replay.
        left: Checksum,
        /// In the second.
        right: Checksum,
    },
}

impl Diff {
    /// Whether the common part is equal: they are equal, or one is a prefix of the other.
    pub fn agrees(&self) -> bool {
        self.difference.is_none()
    }
}

/// Compares two replays as far as both go.
///
/// # Errors
/// The error of the disk.
pub fn diff(left: &mut Reader, right: &mut Reader) -> Result<Diff, Error> {
    compare(left, right, |error| error, |error| error)
}

/// As [`diff`], with errors that tell which of the two files they are of.
pub(crate) fn compare<E>(
    left: &mut Reader,
    right: &mut Reader,
    of_left: impl Fn(Error) -> E + Copy,
    of_right: impl Fn(Error) -> E + Copy,
) -> Result<Diff, E> {
    let mut diff = Diff {
        turns: (left.turns(), right.turns()),
        equal_turns: 0,
        equal_checksums: 0,
        provisional_turns: (0, 0),
        difference: None,
    };
    if left.start().match_id != right.start().match_id {
        diff.difference = Some(Difference::OtherMatch);
        return Ok(diff);
    }
    if start_hash(left.start()) != start_hash(right.start()) {
        diff.difference = Some(Difference::Start);
        return Ok(diff);
    }
    let checksums = (
        checksums(left).map_err(of_left)?,
        checksums(right).map_err(of_right)?,
    );
    let continued = first_continued(left.continuations(), right.continuations());
    let until = continued.map_or(u32::MAX, |(turn, _)| turn.0);
    let changes = (
        changes(left, until).map_err(of_left)?,
        changes(right, until).map_err(of_right)?,
    );
    let both = diff.turns.0.min(diff.turns.1).min(until);
    let both = both.min(compare_changes(
        left.start(),
        &changes.0,
        &changes.1,
        until,
        &mut diff,
    ));
    let mut bundles = (left.records(), right.records());
    while diff.equal_turns < both {
        let (Some(left), Some(right)) = (
            next_bundle(&mut bundles.0).map_err(of_left)?,
            next_bundle(&mut bundles.1).map_err(of_right)?,
        ) else {
            break;
        };
        if left != right {
            diff.difference = Some(first_difference(&left, &right));
            break;
        }
        diff.equal_turns += 1;
    }
    if let Some((turn, in_which)) = continued
        && diff.equal_turns == until
        && diff.turns.0.min(diff.turns.1) > until
    {
        let difference = Difference::Continued { turn, in_which };
        diff.difference.get_or_insert(difference);
    }
    compare_checksums(&checksums.0, &checksums.1, &mut diff);
    Ok(diff)
}

/// The roster changes of the first `until` turns.
fn changes(reader: &mut Reader, until: u32) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::new();
    for record in reader.records() {
        if let Record::Roster(change) = record?
            && change.value.cut <= until
        {
            changes.push((change.value, change.reopening));
        }
    }
    Ok(changes)
}

/// The first turn where the two differ in the player that goes on alone.
fn first_continued(
    left: &[Arc<Continuation>],
    right: &[Arc<Continuation>],
) -> Option<(TurnNumber, (bool, bool))> {
    let common = left
        .iter()
        .zip(right)
        .take_while(|(one, other)| one == other);
    let common = common.count();
    let turns = |of: &[Arc<Continuation>]| of.get(common).map(|continuation| continuation.turns);
    let (one, other) = (turns(left), turns(right));
    let turn = one.into_iter().chain(other).min()?;
    let in_which = (one == Some(turn), other == Some(turn));
    Some((TurnNumber(turn), in_which))
}

/// A roster change, and the reopening that caused it, if any.
type Change = (Value, Option<Reopening>);

/// How many turns are comparable: up to the first differing roster change, if either replay goes past it. From turn
/// `until` on the player of one replay goes on alone.
fn compare_changes(
    start: &Start,
    left: &[Change],
    right: &[Change],
    until: u32,
    diff: &mut Diff,
) -> u32 {
    let mut pairs = left.iter().zip(right);
    let common = pairs.position(|(one, other)| one != other);
    let common = common.unwrap_or(left.len().min(right.len()));
    let (one, other) = (left.get(common), right.get(common));
    let Some(cut) = one
        .into_iter()
        .chain(other)
        .map(|(value, _)| value.cut)
        .min()
    else {
        return u32::MAX;
    };
    let before = match common.checked_sub(1) {
        Some(before) => left[before].0.roster,
        None => Peers::first(start.roster.len()),
    };
    let beyond = |turns: u32| turns.saturating_sub(cut);
    let both_go_on = beyond(diff.turns.0.min(diff.turns.1)) > 0;
    if cut == until && both_go_on && one.is_some() != other.is_some() {
        // One replay goes on with another roster, and the other one with a lone player.
        return cut;
    }
    let delay = start.terms.longest_delay();
    let is_tail = |change: Option<&Change>, turns: u32| match change {
        // No turn beyond a quorum's files counts, not even those of the peers that went on.
        Some((_, Some(reopening))) => !reopening.branch || beyond(turns) <= delay,
        Some((value, None)) => value.roster != before && beyond(turns) <= delay,
        None => false,
    };
    match (one, other) {
        (Some(_), None) if beyond(diff.turns.1) == 0 => return u32::MAX,
        (None, Some(_)) if beyond(diff.turns.0) == 0 => return u32::MAX,
        (_, None) if is_tail(one, diff.turns.1) => {
            diff.provisional_turns.1 = beyond(diff.turns.1);
        }
        (None, _) if is_tail(other, diff.turns.0) => {
            diff.provisional_turns.0 = beyond(diff.turns.0);
        }
        _ => {
            let turn = TurnNumber(cut);
            let branches = |change: Option<&Change>| {
                let reopening = change.and_then(|(_, reopening)| reopening.as_ref());
                reopening.is_some_and(|reopening| reopening.branch)
            };
            let in_which = (branches(one), branches(other));
            diff.difference = Some(match in_which {
                (false, false) => Difference::Roster { turn },
                _ => Difference::Branched { turn, in_which },
            });
        }
    }
    cut
}

fn next_bundle(
    records: &mut impl Iterator<Item = Result<Record, Error>>,
) -> Result<Option<Bundle>, Error> {
    for record in records {
        if let Record::Bundle(bundle) = record? {
            return Ok(Some(bundle));
        }
    }
    Ok(None)
}

fn checksums(reader: &mut Reader) -> Result<Vec<(u32, Checksum)>, Error> {
    let mut checksums = Vec::new();
    for record in reader.records() {
        if checksums.len() == MOST_CHECKSUMS {
            break;
        }
        match record? {
            Record::Checksum { turns, checksum } => checksums.push((turns, checksum)),
            Record::End(end) => checksums.push((end.turns, end.checksum)),
            _ => {}
        }
    }
    checksums.sort_unstable();
    checksums.dedup();
    Ok(checksums)
}

/// A differing checksum of an equal turn comes before any later difference. A file may hold several for one turn.
fn compare_checksums(left: &[(u32, Checksum)], right: &[(u32, Checksum)], diff: &mut Diff) {
    for ours in left.chunk_by(|one, other| one.0 == other.0) {
        let turns = ours[0].0;
        let from = right.partition_point(|(other, _)| *other < turns);
        let until = right.partition_point(|(other, _)| *other <= turns);
        let theirs = &right[from..until];
        if theirs.is_empty() {
            continue;
        }
        if turns > diff.equal_turns {
            return;
        }
        if ours != theirs {
            diff.difference = Some(Difference::Checksum {
                turns,
                left: odd(ours, theirs),
                right: odd(theirs, ours),
            });
            return;
        }
        diff.equal_checksums += ours.len() as u32;
    }
}

/// The first checksum that the other file lacks, or else the first one.
fn odd(these: &[(u32, Checksum)], others: &[(u32, Checksum)]) -> Checksum {
    let lacks = |it: &&(u32, Checksum)| others.binary_search(it).is_err();
    these.iter().find(lacks).unwrap_or(&these[0]).1
}

fn first_difference(left: &Bundle, right: &Bundle) -> Difference {
    let turn = left.turn;
    let longer = left.entries.len().max(right.entries.len());
    let place = (0..longer).find(|place| left.entries.get(*place) != right.entries.get(*place));
    Difference::Turn {
        turn,
        entry: place.map(|place| place as u32),
        left: place.and_then(|place| left.entries.get(place).cloned()),
        right: place.and_then(|place| right.entries.get(place).cloned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn an_error_of_the_disk_is_that_of_its_file() {
        let whole = || Reader::from_bytes(fixture::file_of(&fixture::play(20).records)).unwrap();
        let gone = || whole().share(std::io::Cursor::new(Vec::new()));
        for (mut left, mut right, of) in [(gone(), whole(), "left"), (whole(), gone(), "right")] {
            let found = super::compare(&mut left, &mut right, |_| "left", |_| "right");
            assert_eq!(found, Err(of));
        }
    }

    fn compare(left: &[Record], right: &[Record]) -> Diff {
        let mut left = Reader::from_bytes(fixture::file_of(left)).unwrap();
        let mut right = Reader::from_bytes(fixture::file_of(right)).unwrap();
        diff(&mut left, &mut right).unwrap()
    }

    #[test]
    fn equal_replays_and_prefixes_agree() {
        let records = fixture::play(100).records;
        let diff = compare(&records, &records);
        assert!(diff.agrees());
        assert_eq!((diff.equal_turns, diff.equal_checksums), (100, 4));
        let diff = compare(&records, &records[..records.len() / 2]);
        assert!(diff.agrees());
        assert!(diff.equal_turns < 100 && diff.equal_turns == diff.turns.1);
    }

    #[test]
    fn a_desynced_peer_has_the_same_log_up_to_its_removal() {
        let records = fixture::play_desynced(100, 40).records;
        let before = |record: &&Record| !matches!(record, Record::Roster(_));
        let of_the_odd: Vec<Record> = records.iter().take_while(before).cloned().collect();
        let diff = compare(&records, &of_the_odd);
        assert!(diff.agrees(), "{:?}", diff.difference);
        assert_eq!((diff.equal_turns, diff.turns), (40, (100, 40)));
    }

    #[test]
    fn the_first_differing_entry_is_named() {
        let records = fixture::play(100).records;
        let edited = fixture::play_with(100, |bundle| {
            if bundle.turn.0 == 51 {
                bundle.entries.remove(0);
            }
        });
        let diff = compare(&records, &edited.records);
        assert_eq!(diff.equal_turns, 51);
        assert!(matches!(
            diff.difference,
            Some(Difference::Turn {
                turn: TurnNumber(51),
                entry: Some(0),
                left: Some(_),
                ..
            })
        ));
    }

    /// The same match in the log of a peer that went on without the second peer from turn 60 on.
    fn without_the_second(records: &[Record], roster: u16) -> Vec<Record> {
        let changed = fixture::play_changing(100, &[60], |bundle| {
            if bundle.turn.0 >= 60 {
                bundle.entries.clear();
            }
        });
        assert_eq!(changed.records[0], records[0]);
        let mut changed = changed.records;
        for record in &mut changed {
            if let Record::Roster(change) = record {
                change.value.roster = Peers(roster);
            }
        }
        changed
    }

    #[test]
    fn provisional_turns_of_a_removed_peer_are_no_difference() {
        let records = fixture::play(100).records;
        let went_on = without_the_second(&records, 0b01);
        let until = |turns: u32| {
            let after = |record: &Record| matches!(record, Record::Bundle(bundle) if bundle.turn.0 == turns);
            let end = records.iter().position(after).expect("the match is longer");
            &records[..end]
        };
        let diff = compare(&went_on, until(62));
        assert!(diff.agrees(), "{diff:?}");
        assert_eq!((diff.equal_turns, diff.provisional_turns), (60, (0, 2)));
        let diff = compare(until(61), &went_on);
        assert!(diff.agrees(), "{diff:?}");
        assert_eq!((diff.equal_turns, diff.provisional_turns), (60, (1, 0)));
        let diff = compare(&went_on, until(60));
        assert_eq!((diff.agrees(), diff.provisional_turns), (true, (0, 0)));
        // More turns than the delay, or turns past a false alarm, are a difference.
        let roster = Some(Difference::Roster {
            turn: TurnNumber(60),
        });
        assert_eq!(compare(&went_on, until(63)).difference, roster);
        let alarm = without_the_second(&records, 0b11);
        assert_eq!(compare(&alarm, until(61)).difference, roster);
        assert_eq!(compare(&alarm, &went_on).difference, roster);
        assert!(compare(&went_on, &went_on).agrees());
    }

    #[test]
    fn the_tail_of_a_removed_peer_is_as_long_as_the_longest_delay() {
        let mut records = fixture::play(100).records;
        let mut went_on = without_the_second(&records, 0b01);
        for records in [&mut records, &mut went_on] {
            let Some(Record::Start(start)) = records.first_mut() else {
                panic!("a log begins with its start");
            };
            Arc::make_mut(start).terms.adaptive = true;
        }
        let after =
            |record: &Record| matches!(record, Record::Bundle(bundle) if bundle.turn.0 == 64);
        records.truncate(records.iter().position(after).expect("turn 64"));
        let diff = compare(&went_on, &records);
        assert!(diff.agrees(), "{diff:?}");
        assert_eq!((diff.equal_turns, diff.provisional_turns), (60, (0, 4)));
    }

    #[test]
    fn a_continuation_is_named_before_a_roster_change_at_its_turn() {
        let records = fixture::play(100).records;
        let went_on = without_the_second(&records, 0b01);
        let Record::Continued(mut continuation) = crate::harness::continuation(0) else {
            panic!("it is a continuation");
        };
        Arc::make_mut(&mut continuation).turns = 60;
        let at = |record: &Record| matches!(record, Record::Bundle(bundle) if bundle.turn.0 == 60);
        let at = records.iter().position(at).expect("turn 60");
        let (before, behind) = records.split_at(at);
        let turns = |record: &&Record| matches!(record, Record::Bundle(_));
        for more in [2, 40] {
            let mut alone = before.to_vec();
            alone.push(Record::Continued(continuation.clone()));
            alone.extend(behind.iter().filter(turns).take(more).cloned());
            let turn = TurnNumber(60);
            let from = |in_which| Some(Difference::Continued { turn, in_which });
            assert_eq!(compare(&went_on, &alone).difference, from((false, true)));
            assert_eq!(compare(&alone, &went_on).difference, from((true, false)));
        }
    }

    #[test]
    fn a_replay_with_two_checksums_for_a_turn_equals_itself() {
        let records = fixture::play(100).records;
        let mut forged = records.clone();
        for record in &mut forged {
            if let Record::Checksum {
                turns: 100,
                checksum,
            } = record
            {
                checksum.0 ^= 1;
            }
        }
        assert!(compare(&forged, &forged).agrees());
        for (left, right) in [(&records, &forged), (&forged, &records)] {
            let difference = compare(left, right).difference;
            let Some(Difference::Checksum {
                turns: 100,
                left,
                right,
            }) = difference
            else {
                panic!("{difference:?}");
            };
            assert_ne!(left, right);
        }
    }

    #[test]
    fn differing_checksums_and_matches_are_named() {
        let records = fixture::play(100).records;
        let mut edited = records.clone();
        for record in &mut edited {
            match record {
                Record::Checksum {
                    turns: 53,
                    checksum,
                } => checksum.0 ^= 1,
                Record::Bundle(bundle) if bundle.turn.0 == 60 => bundle.entries.clear(),
                _ => {}
            }
        }
        let diff = compare(&records, &edited);
        assert!(matches!(
            diff.difference,
            Some(Difference::Checksum { turns: 53, .. })
        ));
        if let Record::Start(start) = &mut edited[0] {
            Arc::make_mut(start).match_id.0[0] ^= 1;
        }
        let diff = compare(&records, &edited);
        assert_eq!(diff.difference, Some(Difference::OtherMatch));
    }
}
