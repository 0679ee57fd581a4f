//! What the log thread tells of a store that hangs, fails or panics.

use super::*;
use crate::log::Keyframe;
use crate::log::fixture::{start, turns};
use crate::{Limits, TurnNumber};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A store that goes on, in each call, once it is told to; with what it does then.
struct Gated {
    goes_on: Receiver<Result<(), StoreError>>,
    records: Sender<Record>,
    syncs: Sender<()>,
}

impl LogStore for Gated {
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        self.records.send(record.clone()).ok();
        self.goes_on.recv().expect("the store fails")
    }

    fn tail(&mut self, _: &[Bundle]) -> Result<(), StoreError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.syncs.send(()).ok();
        Ok(())
    }

    fn keyframe_every(&self) -> Option<Duration> {
        None
    }

    fn read(&mut self, from: TurnNumber, _: usize) -> Result<Vec<Record>, StoreError> {
        Err(StoreError::NotKept(from))
    }

    fn close(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

struct Bench {
    thread: LogThread,
    goes_on: Sender<Result<(), StoreError>>,
    records: Receiver<Record>,
    syncs: Receiver<()>,
}

fn bench() -> Bench {
    let (goes_on, gate) = channel();
    let ((records, written), (syncs, synced)) = (channel(), channel());
    let store = Gated {
        goes_on: gate,
        records,
        syncs,
    };
    let reporter = Reporter::new(PathBuf::new(), Limits::default());
    let thread = LogThread::start(Box::new(store), reporter, Arc::new(|| {}));
    Bench {
        thread: thread.expect("a thread"),
        goes_on,
        records: written,
        syncs: synced,
    }
}

fn first() -> Record {
    Record::Start(start(2))
}

#[test]
fn a_long_log_that_begins_is_kept_whole() {
    let bench = bench();
    let records = turns(100_000);
    bench.thread.append(Duration::ZERO, first());
    for record in &records {
        bench.thread.append(Duration::ZERO, record.clone());
    }
    assert!(bench.thread.shared.lock().bytes > QUEUE_BYTES);
    for _ in 0..=records.len() {
        bench.goes_on.send(Ok(())).expect("the store waits");
    }
    bench.thread.close();
    bench.thread.finish();
    assert_eq!(bench.records.try_iter().count(), records.len() + 1);
    assert_eq!(bench.thread.told(), []);
}

#[test]
fn a_store_that_falls_behind_gets_no_more_and_is_told_of_once() {
    let bench = bench();
    bench.thread.append(Duration::ZERO, first());
    let written = bench.records.recv().expect("the store is called");
    assert_eq!(written, first());
    bench.thread.sync(3);
    assert_eq!(bench.thread.told(), []);
    let records = turns(100_000);
    let (some, more) = records.split_at(50_000);
    for record in some {
        bench.thread.append(Duration::ZERO, record.clone());
    }
    assert_eq!(bench.thread.told(), [], "it may be a log that begins");
    for record in more {
        bench.thread.append(BEHIND, record.clone());
    }
    let why = StoreError::Io(ErrorKind::TimedOut);
    assert_eq!(bench.thread.told(), [Told::Failed(why), Told::Synced(3)]);
    bench.thread.sync(4);
    assert_eq!(bench.thread.told(), [Told::Synced(4)]);
    assert_eq!(bench.thread.shared.lock().jobs.len(), some.len() + 1);
    for _ in 0..some.len() {
        bench.goes_on.send(Ok(())).expect("the store waits");
    }
    let late = StoreError::Io(ErrorKind::StorageFull);
    bench.goes_on.send(Err(late)).expect("the store waits");
    bench.thread.close();
    bench.thread.finish();
    let kept: Vec<Record> = bench.records.try_iter().collect();
    assert_eq!(kept, some, "no hole");
    assert_eq!(bench.thread.told(), []);
}

#[test]
fn the_last_sync_that_was_asked_for_is_told_whatever_its_number() {
    for numbers in [[1, 2], [9, 8], [5, 5]] {
        let bench = bench();
        bench.thread.append(Duration::ZERO, first());
        numbers.iter().for_each(|id| bench.thread.sync(*id));
        bench.goes_on.send(Ok(())).expect("the store waits");
        bench.thread.close();
        bench.thread.finish();
        let last = Told::Synced(numbers[1]);
        assert_eq!(bench.thread.told(), [last], "{numbers:?}");
    }
}

#[test]
fn a_store_is_asked_to_sync_soon_behind_its_last_record() {
    let bench = bench();
    bench.thread.append(Duration::ZERO, first());
    bench.goes_on.send(Ok(())).expect("the store waits");
    let patience = SYNC_EVERY * 30;
    assert!(bench.syncs.recv_timeout(patience).is_ok());
    let again = bench.syncs.recv_timeout(SYNC_EVERY + SYNC_EVERY / 2);
    assert!(again.is_err(), "nothing came since");
    assert_eq!(bench.thread.told(), [], "the match did not ask");
}

#[test]
fn a_store_that_panics_counts_as_failed() {
    let bench = bench();
    bench.thread.append(Duration::ZERO, first());
    bench.thread.sync(1);
    // The store panics, for nothing lets it go on.
    drop(bench.goes_on);
    bench.thread.finish();
    let why = StoreError::Io(ErrorKind::Other);
    assert_eq!(bench.thread.told(), [Told::Failed(why), Told::Synced(1)]);
}

#[test]
fn a_failure_of_the_store_is_told_and_its_log_closed() {
    let bench = bench();
    bench.thread.append(Duration::ZERO, first());
    let why = StoreError::Io(ErrorKind::StorageFull);
    bench
        .goes_on
        .send(Err(why.clone()))
        .expect("the store waits");
    bench.thread.close();
    bench.thread.finish();
    assert_eq!(bench.thread.told(), [Told::Failed(why)]);
}

#[test]
fn keyframes_that_wait_for_a_store_that_hangs_are_few() {
    let bench = bench();
    let keyframe = Record::Keyframe(Keyframe {
        turns: 1,
        ticks: 4,
        plan: crate::Plan::default(),
        paused: false,
        log_hash: crate::LogHash([0; 16]),
        snapshot: vec![7; KEYFRAME_BYTES / 2 + 1].into(),
    });
    bench.thread.append(Duration::ZERO, first());
    assert_eq!(bench.records.recv().ok(), Some(first()));
    let turns = turns(2);
    for record in [&keyframe, &turns[0], &keyframe, &turns[1]] {
        bench.thread.append(Duration::ZERO, record.clone());
    }
    for _ in 0..5 {
        bench.goes_on.send(Ok(())).expect("the store waits");
    }
    bench.thread.close();
    bench.thread.finish();
    let kept: Vec<Record> = bench.records.try_iter().collect();
    assert!(kept == [keyframe, turns[0].clone(), turns[1].clone()]);
    assert_eq!(bench.thread.told(), []);
}
