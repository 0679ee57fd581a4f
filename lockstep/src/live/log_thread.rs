//! The thread that keeps the log. It alone calls the store and writes desync reports, so that a hanging disk holds up no
//! other thread.

use super::report::{Reporter, Request};
use crate::log::{Bundle, LogPart, LogStore, Record, StoreError, What};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
    /// Bounded by [`QUEUE_BYTES`] and [`KEYFRAME_BYTES`] while the store hangs. A log that begins is handed over at once,
    /// however long it is: its session holds it as well.
    jobs: VecDeque<Job>,
    /// Jobs that the store was given.
    taken: u64,
    /// Where too much waits: since when, and how many jobs the store had been given then.
    behind_since: Option<(Duration, u64)>,
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
            false => state.jobs.push_back(Job::Sync(id)),
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

    fn tell_failure(&self, result: Result<(), StoreError>) {
        if let Err(why) = result {
            self.tell(Told::Failed(why));
        }
    }

    fn run(&self, mut store: Box<dyn LogStore>, mut reporter: Reporter) {
        let serve = AssertUnwindSafe(|| self.serve(store.as_mut(), &mut reporter));
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
        let mut syncing = false;
        loop {
            match self.next(syncing) {
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
                    store.sync(id);
                    syncing = true;
                }
                Some(Job::Report(request)) => {
                    let number = request.number();
                    let folder = reporter.write(&request, store);
                    self.tell(Told::Reported { number, folder });
                }
                Some(Job::Close) => return self.tell_failure(store.close()),
                None => {}
            }
            if syncing && let Some(id) = store.synced() {
                syncing = false;
                self.lock().synced(id);
                (self.wake)();
            }
        }
    }

    /// The next job; `None` where the store may have synced meanwhile.
    fn next(&self, syncing: bool) -> Option<Job> {
        let mut state = self.lock();
        if syncing {
            let idle = |state: &mut State| state.jobs.is_empty();
            let waited = self.changed.wait_timeout_while(state, SYNC_EVERY, idle);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        } else {
            let waited = self
                .changed
                .wait_while(state, |state| state.jobs.is_empty());
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        let job = state.jobs.pop_front()?;
        state.taken += 1;
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
        } else if self.hangs(now) {
            return self.refuse(ErrorKind::TimedOut);
        }
        self.bytes += job.bytes();
        self.snapshot_bytes += snapshot;
        self.jobs.push_back(job);
    }

    /// Whether the store has been given nothing for long, though too much waits.
    fn hangs(&mut self, now: Duration) -> bool {
        let taken = self.taken;
        let since = self.behind_since.filter(|(_, before)| *before == taken);
        let (since, _) = *self.behind_since.insert(since.unwrap_or((now, taken)));
        since + HANGS_AFTER <= now
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
            // A start, a roster change, or an end: a few signed messages.
            Job::Append(Record::Keyframe(_)) => 0,
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

/// Bytes of records that wait for a store that hangs, at most. A match makes a few kilobytes a second.
const QUEUE_BYTES: usize = 8 << 20;
/// A store that takes so long for one job hangs. A recorder gives up a disk after 5 s.
const HANGS_AFTER: Duration = Duration::from_secs(6);
/// Bytes of snapshots that wait, if there are several.
const KEYFRAME_BYTES: usize = 64 << 20;
/// What a record is counted as that is neither a turn nor a snapshot.
const RECORD_BYTES: usize = 16 << 10;
/// How often a store that syncs is asked whether it is done.
const SYNC_EVERY: Duration = Duration::from_millis(5);
/// How long the end of a match waits for its log. A recorder gives up a hanging disk after 10 s, unless its queue was full.
const CLOSE_PATIENCE: Duration = Duration::from_secs(12);

#[cfg(test)]
mod tests;
