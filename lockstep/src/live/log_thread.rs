//! The thread that keeps the log. It alone calls the store and writes desync reports, so that a hanging disk holds up no
//! other thread.

use super::report::{Reporter, Request};
use crate::log::{Bundle, LogPart, LogStore, Record, StoreError, What};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The network thread's end.
pub(super) struct LogThread {
    shared: Arc<Shared>,
}

/// What the log thread tells the network thread.
#[derive(Debug, PartialEq)]
pub(super) enum Told {
    /// The store keeps no more records.
    Failed(StoreError),
    /// All up to this sync is durable.
    Synced(u64),
    /// A report was written to the folder, or could not be written: that of the desync of this number, or that of the
    /// world's fault.
    Reported {
        number: Option<u32>,
        folder: Option<PathBuf>,
    },
}

enum Job {
    Append(Record),
    AppendAll(LogPart),
    Tail(Vec<Bundle>),
    Sync(u64),
    Report(Request),
    Close,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Tells the network thread that there is something to take.
    wake: Arc<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct State {
    /// Bounded by [`QUEUE_BYTES`] and [`KEYFRAME_BYTES`]. A log that begins is handed over at once,
    /// however long it is: its session holds it as well.
    jobs: VecDeque<Job>,
    /// Since when too much waits.
    behind_since: Option<Duration>,
    bytes: usize,
    snapshot_bytes: usize,
    /// No more records are taken.
    full: bool,
    /// A sync that was asked for and is not told of.
    syncing: Option<u64>,
    told: Vec<Told>,
    closing: bool,
    done: bool,
}

impl LogThread {
    /// Starts the thread over this store.
    pub(super) fn start(
        store: Box<dyn LogStore>,
        reporter: Reporter,
        wake: Arc<dyn Fn() + Send + Sync>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            wake,
        });
        let own = shared.clone();
        std::thread::Builder::new()
            .name("lockstep log".to_owned())
            .spawn(move || own.run(store, reporter))?;
        Ok(LogThread { shared })
    }

    /// Hands over a record. A keyframe is left out where too many wait: a log is valid without it.
    pub(super) fn append(&self, now: Duration, record: Record) {
        self.shared.push(now, Job::Append(record));
    }

    /// Hands over records of a log that is here as a whole.
    pub(super) fn append_all(&self, now: Duration, part: LogPart) {
        self.shared.push(now, Job::AppendAll(part));
    }

    /// Hands over the turns of the tail.
    pub(super) fn tail(&self, now: Duration, turns: Vec<Bundle>) {
        self.shared.push(now, Job::Tail(turns));
    }

    /// Asks for all so far to be made durable. A store that takes no more records is done at once.
    pub(super) fn sync(&self, id: u64) {
        let mut state = self.shared.lock();
        state.syncing = Some(id);
        match state.full {
            true => state.tell_synced(id),
            false => {
                // It takes the place of an earlier one, and makes all before that durable as well.
                state.jobs.retain(|job| !matches!(job, Job::Sync(_)));
                state.jobs.push_back(Job::Sync(id));
            }
        }
        self.shared.changed.notify_all();
    }

    /// Has a desync report written.
    pub(super) fn report(&self, request: Request) {
        self.shared.lock().jobs.push_back(Job::Report(request));
        self.shared.changed.notify_all();
    }

    /// What the thread has told since the last call.
    pub(super) fn told(&self) -> Vec<Told> {
        std::mem::take(&mut self.shared.lock().told)
    }

    /// Ends the log behind all that was handed over. Does not wait.
    pub(super) fn close(&self) {
        let mut state = self.shared.lock();
        if !std::mem::replace(&mut state.closing, true) {
            state.jobs.push_back(Job::Close);
        }
        self.shared.changed.notify_all();
    }

    /// Waits for the log to be closed. Goes on without it where the disk hangs.
    pub(super) fn finish(&self) {
        let state = self.shared.lock();
        let waited = self
            .shared
            .changed
            .wait_timeout_while(state, CLOSE_PATIENCE, |state| !state.done);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if !state.done {
            state.refuse(ErrorKind::TimedOut);
            state.done = true;
        }
    }
}

impl Drop for LogThread {
    fn drop(&mut self) {
        self.close();
        self.finish();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, now: Duration, job: Job) {
        self.lock().push(now, job);
        self.changed.notify_all();
    }

    fn tell(&self, told: Told) {
        self.lock().told.push(told);
        (self.wake)();
    }

    /// A failure is told once: not that of a store that has been given up.
    fn tell_failure(&self, result: Result<(), StoreError>) {
        if let Err(why) = result
            && !self.lock().full
        {
            self.tell(Told::Failed(why));
        }
    }

    fn run(&self, mut store: Box<dyn LogStore>, mut reporter: Reporter) {
        // A store may put its file in order as it goes, which is within.
        let serve = AssertUnwindSafe(move || {
            self.serve(store.as_mut(), &mut reporter);
            drop(store);
        });
        let has_panicked = catch_unwind(serve).is_err();
        let mut state = self.lock();
        if has_panicked {
            state.refuse(ErrorKind::Other);
        }
        state.done = true;
        drop(state);
        self.changed.notify_all();
        (self.wake)();
    }

    fn serve(&self, store: &mut dyn LogStore, reporter: &mut Reporter) {
        let mut unsynced_since = None;
        loop {
            let job = self.next(unsynced_since);
            if let Some(Job::Append(_) | Job::AppendAll(_) | Job::Tail(_)) = &job {
                unsynced_since.get_or_insert_with(now);
            }
            match job {
                Some(Job::Append(record)) => {
                    reporter.note(&record);
                    self.tell_failure(store.append(&record));
                }
                Some(Job::AppendAll(part)) => {
                    for record in part.records() {
                        reporter.note(&record);
                        self.tell_failure(store.append(&record));
                    }
                }
                Some(Job::Tail(turns)) => self.tell_failure(store.tail(&turns)),
                Some(Job::Sync(id)) => {
                    self.tell_failure(store.sync());
                    unsynced_since = None;
                    self.lock().synced(id);
                    (self.wake)();
                }
                Some(Job::Report(request)) => {
                    let number = request.number();
                    let folder = reporter.write(&request, store);
                    self.tell(Told::Reported { number, folder });
                }
                Some(Job::Close) => return self.tell_failure(store.close()),
                None => {
                    self.tell_failure(store.sync());
                    unsynced_since = None;
                }
            }
        }
    }

    /// The next job; `None` where what the store was given is to be synced first.
    fn next(&self, unsynced_since: Option<Instant>) -> Option<Job> {
        let idle = |state: &mut State| state.jobs.is_empty();
        let state = self.lock();
        let mut state = match unsynced_since {
            Some(since) => {
                let left = SYNC_EVERY.checked_sub(now().duration_since(since))?;
                let waited = self.changed.wait_timeout_while(state, left, idle);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.changed.wait_while(state, idle);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        };
        let job = state.jobs.pop_front()?;
        state.bytes -= job.bytes();
        state.snapshot_bytes -= job.snapshot_bytes();
        Some(job)
    }
}

impl State {
    fn push(&mut self, now: Duration, job: Job) {
        let snapshot = job.snapshot_bytes();
        let too_many = self.snapshot_bytes > 0 && self.snapshot_bytes + snapshot > KEYFRAME_BYTES;
        if self.full || (snapshot > 0 && too_many) {
            return;
        }
        if self.bytes + job.bytes() <= QUEUE_BYTES {
            self.behind_since = None;
        } else if *self.behind_since.get_or_insert(now) + BEHIND <= now {
            return self.refuse(ErrorKind::TimedOut);
        }
        self.bytes += job.bytes();
        self.snapshot_bytes += snapshot;
        self.jobs.push_back(job);
    }

    /// The log ends here.
    fn refuse(&mut self, why: ErrorKind) {
        if !std::mem::replace(&mut self.full, true) {
            self.told.push(Told::Failed(StoreError::Io(why)));
        }
        if let Some(id) = self.syncing {
            self.tell_synced(id);
        }
    }

    /// The store has done a sync. Where another one was asked for since, that takes its place: numbers tell no order.
    fn synced(&mut self, id: u64) {
        let another = self.jobs.iter().any(|job| matches!(job, Job::Sync(_)));
        if !another {
            self.tell_synced(id);
        }
    }

    fn tell_synced(&mut self, id: u64) {
        if self.syncing.take().is_some() {
            self.told.push(Told::Synced(id));
        }
    }
}

impl Job {
    /// Bytes that it holds, apart from a snapshot.
    fn bytes(&self) -> usize {
        let held = match self {
            Job::Append(Record::Bundle(bundle)) => bytes_of(bundle),
            Job::Append(Record::Attest(batch)) => batch.content.len(),
            Job::Append(
                Record::Checksum { .. }
                | Record::Mismatch { .. }
                | Record::Leads { .. }
                | Record::Keyframe(_),
            ) => 0,
            // A start, a roster change, or an end: a few signed messages.
            Job::Append(_) => RECORD_BYTES,
            // The log that it is a part of is kept anyway.
            Job::AppendAll(_) => 0,
            Job::Tail(turns) => turns.iter().map(bytes_of).sum(),
            Job::Sync(_) | Job::Report(_) | Job::Close => return 0,
        };
        size_of::<Job>() + held
    }

    fn snapshot_bytes(&self) -> usize {
        match self {
            Job::Append(Record::Keyframe(keyframe)) => keyframe.snapshot.len(),
            _ => 0,
        }
    }
}

fn bytes_of(bundle: &Bundle) -> usize {
    let entries = bundle.entries.iter().map(|entry| {
        let held = match &entry.what {
            What::Command(bytes) => bytes.len(),
            What::Chat(text) => text.len(),
            _ => 0,
        };
        size_of_val(entry) + held
    });
    size_of::<Bundle>() + entries.sum::<usize>()
}

/// Bytes of records that wait for the store. A match makes some 10 kB a second: this is a hang of minutes.
const QUEUE_BYTES: usize = 8 << 20;
/// A store for which more has waited for so long gets no more.
const BEHIND: Duration = Duration::from_secs(5);
/// Bytes of snapshots that wait, if there are several.
const KEYFRAME_BYTES: usize = 64 << 20;
/// What a record is counted as that is neither a turn nor a snapshot.
const RECORD_BYTES: usize = 16 << 10;
/// How long what a store was given may be unsafe from a loss of power.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// How long the end of a match waits for its log where the disk hangs.
const CLOSE_PATIENCE: Duration = Duration::from_secs(10);

#[expect(
    clippy::disallowed_methods,
    reason = "the edge of the program: syncs are a second apart"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests;
