use super::*;
use crate::{FileEnd, Reader, fixture};
use lockstep::Plan;
use lockstep::log::Bundle;
use std::sync::Mutex;

/// A file in memory that fails at the `n`-th write or sync, completely or after a part.
struct Failing {
    bytes: Arc<Mutex<Vec<u8>>>,
    calls_left: usize,
    partly: usize,
    truncates: bool,
}

impl Failing {
    fn call(&mut self) -> io::Result<()> {
        match self.calls_left.checked_sub(1) {
            Some(left) => {
                self.calls_left = left;
                Ok(())
            }
            None => Err(io::ErrorKind::StorageFull.into()),
        }
    }
}

impl Output for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let failed = self.call().err();
        let count = match failed {
            Some(error) if self.partly == 0 => return Err(error),
            Some(_) => std::mem::take(&mut self.partly).min(bytes.len()),
            None => bytes.len(),
        };
        self.bytes
            .lock()
            .unwrap()
            .extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.call()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        if !self.truncates {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.lock().unwrap().truncate(length as usize);
        Ok(())
    }
}

fn bundles(records: &[Record]) -> Vec<&Bundle> {
    records
        .iter()
        .filter_map(|record| match record {
            Record::Bundle(bundle) => Some(bundle),
            _ => None,
        })
        .collect()
}

#[test]
fn a_failing_disk_leaves_whole_turns_and_is_reported_once() {
    let played = fixture::play(60);
    let all = bundles(&played.records);
    let mut finished = 0;
    for (partly, truncates) in [(0, true), (3, true), (3, false)] {
        for calls in 1.. {
            let bytes = Arc::new(Mutex::new(Vec::new()));
            let output = Failing {
                bytes: bytes.clone(),
                calls_left: calls,
                partly,
                truncates,
            };
            let mut recorder =
                Recorder::over(Path::new("nowhere"), Box::new(output)).expect("a header");
            let mut errors = Vec::new();
            for record in &played.records {
                errors.extend(recorder.append(record).err());
            }
            errors.extend(recorder.close().err());
            errors.extend(recorder.close().err());
            drop(recorder);
            let file = bytes.lock().unwrap().clone();
            if errors.is_empty() {
                assert_eq!(
                    Reader::from_bytes(file).unwrap().file_end(),
                    FileEnd::Complete
                );
                finished += 1;
                break;
            }
            assert_eq!(errors, [StoreError::Io(io::ErrorKind::StorageFull)]);
            if calls == 1 {
                let read = Reader::from_bytes(file);
                assert!(matches!(
                    read,
                    Err(Error::NotBegun | Error::Start { at: 12 })
                ));
                continue;
            }
            let mut reader = Reader::from_bytes(file).expect("the start was written");
            let kept: Vec<Record> = reader.records().map(|record| record.unwrap()).collect();
            let kept = bundles(&kept);
            assert_eq!(kept, all[..kept.len()]);
            match reader.file_end() {
                FileEnd::Cut { .. } => assert!(!truncates),
                // The failing call was the last sync, or the index after the end.
                FileEnd::Complete => assert_eq!(kept.len(), all.len()),
                tail => assert_eq!(tail, FileEnd::Open),
            }
        }
    }
    assert_eq!(finished, 3);
}

#[test]
fn dropping_a_recorder_writes_every_turn() {
    let played = fixture::play(40);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("match.replay");
    let mut recorder = Recorder::create(&path).unwrap();
    let unfinished = &played.records[..played.records.len() - 1];
    for record in unfinished {
        recorder.append(record).unwrap();
    }
    drop(recorder);
    let reader = Reader::open(&path).unwrap();
    assert_eq!((reader.turns(), reader.file_end()), (40, FileEnd::Open));
}

#[test]
fn recordings_never_overwrite_and_find_a_free_name() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("replays");
    let first = Recorder::create_in(&inner, "match").unwrap();
    let second = Recorder::create_in(&inner, "match").unwrap();
    assert_eq!(first.path(), Some(&*inner.join("match.replay")));
    assert_eq!(second.path(), Some(&*inner.join("match-2.replay")));
    assert!(matches!(
        Recorder::create(&inner.join("match.replay")),
        Err(Error::Exists)
    ));
    assert!(matches!(
        Recorder::create(&folder.path().join("missing/match.replay")),
        Err(Error::Io(_))
    ));
}

#[test]
fn every_turn_can_be_read_back_during_the_match() {
    let played = fixture::play(400);
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::create(&folder.path().join("match.replay")).unwrap();
    let mut turns = 0;
    for record in &played.records {
        recorder.append(record).unwrap();
        if let Record::Bundle(_) = record {
            turns += 1;
            let from = turns * 7 / 11;
            let page = recorder.read(TurnNumber(from), usize::MAX).unwrap();
            assert_eq!(page[0], played.records[0]);
            assert_eq!(
                bundles(&page),
                bundles(&played.records)[from as usize..turns as usize]
            );
        }
    }
    let page = recorder.read(TurnNumber(10), 200).unwrap();
    let few = bundles(&page).len();
    assert!((2..100).contains(&few), "{few} turns in about 200 bytes");
}

#[test]
fn checksums_are_thinned_and_the_last_one_is_kept() {
    let played = fixture::play(100);
    let mut reader = Reader::from_bytes(fixture::file_of(&played.records)).unwrap();
    let turns: Vec<u32> = reader
        .records()
        .filter_map(|record| match record.unwrap() {
            Record::Checksum { turns, .. } => Some(turns),
            _ => None,
        })
        .collect();
    // 25 turns of 200 ms, with three paused ones at first.
    assert_eq!(turns, [28, 53, 78, 100]);
}

#[test]
fn a_match_that_never_begins_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lobby.replay");
    let mut recorder = Recorder::create(&path).unwrap();
    recorder.close().unwrap();
    drop(recorder);
    assert!(!path.exists());
    drop(Recorder::create(&path).unwrap());
    assert!(!path.exists());
}

#[test]
fn turns_that_are_taken_back_leave_no_trace() {
    let played = fixture::play(130);
    let folder = tempfile::tempdir().unwrap();
    for (name, taken_back, until) in [
        ("a", 101, 112),
        ("b", 100, 101),
        ("c", 49, 110),
        ("d", 1, 3),
    ] {
        let path = folder.path().join(name);
        let mut recorder = Recorder::create(&path).unwrap();
        let place = |turn| {
            let is_turn =
                |record: &Record| matches!(record, Record::Bundle(bundle) if bundle.turn.0 == turn);
            played.records.iter().position(is_turn).unwrap()
        };
        let (mut before, after) = played.records.split_at(place(taken_back));
        // The last record about turns before comes behind the tail.
        let mut late = None;
        if let Some((last, earlier)) = before.split_last()
            && !matches!(last, Record::Bundle(_) | Record::Start(_))
        {
            (before, late) = (earlier, Some(last));
        }
        for record in before {
            recorder.append(record).unwrap();
        }
        let tail = &played.records[place(taken_back)..place(until)];
        let tail: Vec<Bundle> = bundles(tail).into_iter().cloned().collect();
        for turns in 1..=tail.len() {
            recorder.tail(&tail[..turns]).unwrap();
        }
        late.into_iter()
            .for_each(|record| recorder.append(record).unwrap());
        let read = recorder.read(TurnNumber(0), usize::MAX).unwrap();
        assert_eq!(bundles(&read).len(), until as usize);
        recorder.tail(&[]).unwrap();
        let read = recorder.read(TurnNumber(0), usize::MAX).unwrap();
        assert_eq!(bundles(&read).len(), taken_back as usize);
        for record in after {
            recorder.append(record).unwrap();
        }
        recorder.close().unwrap();
        let mut reader = Reader::open(&path).unwrap();
        assert_eq!(reader.file_end(), FileEnd::Complete, "{name}");
        assert_eq!((reader.turns(), reader.provisional()), (130, 0));
        let verified = crate::verify::verify::<fixture::Coins>(
            &mut reader,
            &crate::verify::Options::default(),
            |_| {},
        );
        assert_eq!(verified.unwrap().wrong, None, "{name}");
    }
}

#[test]
fn a_keyframe_behind_turns_that_are_taken_back_stays() {
    let played = fixture::play(130);
    let keyframe = played.records.iter().find_map(|record| match record {
        Record::Keyframe(keyframe) => Some(keyframe.clone()),
        _ => None,
    });
    let keyframe = keyframe.expect("the match has one");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("match.replay");
    let mut recorder = Recorder::create(&path).unwrap();
    let turns = bundles(&played.records);
    let (logged, tail) = turns[..keyframe.turns as usize + 3].split_at(keyframe.turns as usize);
    recorder.append(&played.records[0]).unwrap();
    for bundle in logged {
        let record = Record::Bundle((*bundle).clone());
        recorder.append(&record).unwrap();
    }
    let tail: Vec<Bundle> = tail.iter().map(|bundle| (*bundle).clone()).collect();
    recorder.tail(&tail).unwrap();
    recorder
        .append(&Record::Keyframe(keyframe.clone()))
        .unwrap();
    recorder.tail(&tail[..1]).unwrap();
    recorder.close().unwrap();
    let reader = Reader::open(&path).unwrap();
    let kept: Vec<u32> = reader.keyframes().iter().map(|at| at.turns).collect();
    assert_eq!(kept, [keyframe.turns]);
    assert_eq!(reader.turns(), keyframe.turns + 1);
    assert_eq!(reader.provisional(), u32::from(Plan::default().delay_turns));
}

/// All states of a file in memory, the newest last.
#[derive(Clone, Default)]
struct States(Arc<Mutex<Vec<Vec<u8>>>>);

impl States {
    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut states = self.0.lock().unwrap();
        let mut next = states.last().cloned().unwrap_or_default();
        change(&mut next);
        states.push(next);
    }
}

impl Output for States {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.change(|file| file.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.change(|file| file.truncate(length as usize));
        Ok(())
    }

    /// As a file does it.
    fn replace(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let end = at as usize + bytes.len();
        self.change(|file| {
            file.resize(file.len().max(end), 0);
            file[at as usize..end].copy_from_slice(bytes);
        });
        self.truncate(end as u64)
    }
}

#[test]
fn an_accept_behind_turns_that_are_taken_back_is_in_the_file_at_all_times() {
    let played = fixture::play(60);
    let states = States::default();
    let disk = Box::new(states.clone());
    let mut recorder = Recorder::over(Path::new("nowhere"), disk).unwrap();
    let turns = bundles(&played.records);
    recorder.append(&played.records[0]).unwrap();
    for bundle in &turns[..50] {
        let record = Record::Bundle((*bundle).clone());
        recorder.append(&record).unwrap();
    }
    let tail: Vec<Bundle> = turns[50..53].iter().map(|of| (*of).clone()).collect();
    recorder.tail(&tail).unwrap();
    recorder.append(&accepted(0)).unwrap();
    let before = states.0.lock().unwrap().len();
    recorder.tail(&tail[..1]).unwrap();
    recorder.close().unwrap();
    let states = states.0.lock().unwrap();
    let read = |state: &Vec<u8>| Reader::from_bytes(state.clone()).unwrap();
    for state in &states[before - 1..] {
        let told = read(state).accepted().cloned().map(Record::Accept);
        assert_eq!(told, Some(accepted(0)));
    }
    assert!(states.len() > before);
    let of = |state| read(state).turns();
    assert_eq!(
        (of(&states[before - 1]), of(&states[states.len() - 1])),
        (53, 51)
    );
}

fn accepted(epoch: u32) -> Record {
    use lockstep::log::{Ballot, Peers, Value};
    Record::Accept(lockstep::log::Accepted {
        epoch,
        ballot: Ballot { round: 2, peer: 0 },
        value: Value::of(Peers::first(2), 50),
        turns: Vec::new(),
    })
}

#[test]
fn a_store_that_has_failed_holds_up_no_accept() {
    let disk = Failing {
        bytes: Arc::default(),
        calls_left: 2,
        partly: 0,
        truncates: true,
    };
    let path = Path::new("nowhere");
    let mut recorder = Recorder::over(path, Box::new(disk)).unwrap();
    let played = fixture::play(5);
    for record in &played.records {
        recorder.append(record).ok();
    }
    assert_eq!(recorder.sync(), Ok(()));
}

#[test]
fn an_accept_counts_until_a_change_ends_its_epoch() {
    let played = fixture::play_changing(60, &[50], |_| {});
    let is_change = |record: &Record| matches!(record, Record::Roster(_));
    let change = played.records.iter().position(is_change).unwrap();
    let (before, after) = played.records.split_at(change);
    let accepted_of = |parts: &[&[Record]]| {
        let bytes = fixture::file_of(&parts.concat());
        Reader::from_bytes(bytes).unwrap().accepted().cloned()
    };
    let of_epoch = |epoch| [accepted(epoch)];
    let told = |accepted: Option<_>| accepted.map(Record::Accept);
    assert_eq!(
        told(accepted_of(&[before, &of_epoch(0)])),
        Some(accepted(0))
    );
    assert_eq!(accepted_of(&[before, &of_epoch(0), after]), None);
    let two = &after[..2];
    assert_eq!(accepted_of(&[before, two, &of_epoch(0)]), None, "too late");
    let newest = accepted_of(&[before, two, &of_epoch(1)]);
    assert_eq!(told(newest), Some(accepted(1)));
}

#[test]
fn leads_are_thinned_and_the_last_ones_are_kept() {
    let played = fixture::play(600);
    let mut reader = Reader::from_bytes(fixture::file_of(&played.records)).unwrap();
    let records: Vec<Record> = reader.records().map(Result::unwrap).collect();
    let turns = records.iter().filter_map(|record| match record {
        Record::Leads { turns, .. } => Some(*turns),
        _ => None,
    });
    let turns: Vec<u32> = turns.collect();
    assert!(turns.len() < 6, "{turns:?}");
    assert_eq!(turns.last(), Some(&600));
}

#[test]
fn a_world_above_the_default_limit_has_a_keyframe() {
    const BYTES: usize = (256 << 20) + 1;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("match.replay");
    let mut recorder = Recorder::create(&path).unwrap();
    for mut record in fixture::play(50).records {
        if let Record::Keyframe(keyframe) = &mut record {
            keyframe.snapshot = std::iter::repeat_n(0, BYTES).collect();
        }
        recorder.append(&record).unwrap();
    }
    recorder.close().unwrap();
    let reader = Reader::open(&path).unwrap();
    let long = |at: &crate::KeyframeAt| at.unpacked_bytes > BYTES as u64;
    assert!(matches!(reader.keyframes(), [at] if long(at)));
}
