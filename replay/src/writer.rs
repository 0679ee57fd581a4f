//! The writing thread: it takes jobs from a bounded queue and waits for the disk, so that no other thread must.

use crate::format::{self, KeyframeHead};
use crate::output::{Output, write_all};
use crate::scan::{MARK_EVERY_BYTES, Mark};
use crate::segment::{Encoder, Kind};
use lockstep::log::{Codec, Keyframe, Record, StoreError};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Encoded records that wait for the disk, at most. A match writes a few kilobytes a second; but a log that begins, of a match
/// that has lasted for hours, comes at once.
pub(crate) const QUEUE_BYTES: usize = 8 << 20;
/// A disk that takes so long for half of a full queue hangs.
const HANGS_AFTER: Duration = Duration::from_secs(5);
/// Bytes of snapshots in the queue, if there are several.
const KEYFRAME_BYTES: usize = 64 << 20;
/// How long appended turns may be unsafe from a loss of power.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// Turns that can be taken back: more than the longest tail has.
const POINTS: usize = 64;
/// Fast, and close to the best ratio on worlds in columns.
const PACKING_LEVEL: i32 = 3;

/// One thing to write.
#[derive(Clone)]
pub(crate) enum Job {
    /// Records of one item.
    Records {
        kind: Kind,
        content: Arc<[u8]>,
        /// The codec before them.
        codec: Codec,
        /// The number of the turn, if they are one.
        turn: Option<u32>,
    },
    /// Takes back a turn, and everything written since. What follows, up to [`Replaced`](Self::Replaced), takes its place.
    TakeBack {
        turn: u32,
    },
    Replaced,
    /// A keyframe, not packed yet.
    Keyframe(Keyframe),
    /// Makes all before it durable. Numbers ascend.
    Sync(u64),
}

impl Job {
    fn bytes(&self) -> usize {
        match self {
            Job::Records { content, .. } => content.len() + size_of::<Job>(),
            Job::Keyframe(_) | Job::TakeBack { .. } | Job::Replaced | Job::Sync(_) => 0,
        }
    }

    fn snapshot_bytes(&self) -> usize {
        match self {
            Job::Records { .. } | Job::TakeBack { .. } | Job::Replaced | Job::Sync(_) => 0,
            Job::Keyframe(keyframe) => keyframe.snapshot.len(),
        }
    }
}

/// What recorder and writer share.
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

pub(crate) struct State {
    /// The queue; its first job may be half written.
    pub jobs: VecDeque<Job>,
    /// Bytes of its records.
    pub bytes: usize,
    closing: bool,
    /// Why the writer gave up.
    pub error: Option<StoreError>,
    pub done: bool,
    /// How many syncs that were asked for are done.
    pub synced: u64,
    /// Bytes of whole items in the file.
    pub written: u64,
    /// Places in the file where reading may begin.
    pub marks: Vec<Mark>,
}

impl Shared {
    pub(crate) fn new() -> Self {
        Shared {
            state: Mutex::new(State {
                jobs: VecDeque::new(),
                bytes: 0,
                closing: false,
                error: None,
                done: false,
                synced: 0,
                written: format::HEADER_BYTES,
                marks: Vec::new(),
            }),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a job. Waits only where the queue is full, until half of it is written.
    ///
    /// A keyframe is dropped, and the result is false, if too many are queued: the file is valid without it.
    pub(crate) fn push(&self, job: Job) -> Result<bool, StoreError> {
        let mut state = self.lock();
        if let Some(error) = &state.error {
            return Err(error.clone());
        }
        if let Job::Keyframe(keyframe) = &job {
            let waiting: usize = state.jobs.iter().map(Job::snapshot_bytes).sum();
            if waiting > 0 && waiting + keyframe.snapshot.len() > KEYFRAME_BYTES {
                return Ok(false);
            }
        }
        if state.bytes + job.bytes() > QUEUE_BYTES {
            let waits = |state: &mut State| state.bytes > QUEUE_BYTES / 2 && !state.done;
            let waited = self.changed.wait_timeout_while(state, HANGS_AFTER, waits);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some(error) = &state.error {
            return Err(error.clone());
        }
        if state.bytes + job.bytes() > QUEUE_BYTES {
            let error = StoreError::Io(io::ErrorKind::TimedOut);
            state.error = Some(error.clone());
            return Err(error);
        }
        state.bytes += job.bytes();
        state.jobs.push_back(job);
        self.changed.notify_all();
        Ok(true)
    }

    /// Waits until the queue is empty.
    pub(crate) fn settle(&self) -> Result<(), StoreError> {
        let waits = |state: &mut State| !state.jobs.is_empty() && !state.done;
        let state = self.changed.wait_while(self.lock(), waits);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        state.error.clone().map_or(Ok(()), Err)
    }

    /// Closes the writer and waits for it, at most `patience`.
    pub(crate) fn close(&self, patience: Duration) -> Result<(), StoreError> {
        let mut state = self.lock();
        state.closing = true;
        self.changed.notify_all();
        let (state, waited) = self
            .changed
            .wait_timeout_while(state, patience, |state| !state.done)
            .unwrap_or_else(PoisonError::into_inner);
        match &state.error {
            Some(error) => Err(error.clone()),
            None if waited.timed_out() => Err(StoreError::Io(io::ErrorKind::TimedOut)),
            None => Ok(()),
        }
    }
}

/// Runs the writer until it is closed or the disk fails.
pub(crate) fn run(shared: &Shared, output: Box<dyn Output>) {
    let mut writer = Writer {
        output,
        encoder: Encoder::new(),
        written: format::HEADER_BYTES,
        keyframes: Vec::new(),
        unmarked_bytes: MARK_EVERY_BYTES,
        unsynced_since: None,
        points: VecDeque::new(),
        replacing: None,
    };
    let result = writer.serve(shared);
    if result.is_err() {
        writer.give_up();
    }
    let mut state = shared.lock();
    if let (Err(error), None) = (&result, &state.error) {
        state.error = Some(StoreError::Io(error.kind()));
    }
    state.written = writer.in_file();
    state.jobs.clear();
    state.bytes = 0;
    state.done = true;
    shared.changed.notify_all();
}

struct Writer {
    output: Box<dyn Output>,
    encoder: Encoder,
    /// Bytes of whole items.
    written: u64,
    /// Turns and offset of every keyframe.
    keyframes: Vec<(u32, u64)>,
    unmarked_bytes: u64,
    unsynced_since: Option<Instant>,
    /// The state before each of the last turns.
    points: VecDeque<Point>,
    /// What is to take the place of all that stands in the file from an offset on.
    replacing: Option<(u64, Vec<u8>)>,
}

struct Point {
    turn: u32,
    written: u64,
    encoder: Encoder,
    keyframes: usize,
    unmarked_bytes: u64,
}

/// The writer's next step.
enum Next {
    Write(Job),
    Sync,
    Finish,
}

impl Writer {
    fn serve(&mut self, shared: &Shared) -> io::Result<()> {
        loop {
            match self.next(shared) {
                Next::Write(job) => {
                    let mark = self.write(&job)?;
                    let mut state = shared.lock();
                    if let Job::TakeBack { .. } = job {
                        state.marks.retain(|mark| mark.at < self.in_file());
                    }
                    if let Job::Sync(number) = job {
                        state.synced = number;
                    }
                    state.jobs.pop_front();
                    let was_half_full = state.bytes > QUEUE_BYTES / 2;
                    state.bytes -= job.bytes();
                    state.written = self.in_file();
                    state.marks.extend(mark);
                    let is_half_free = was_half_full && state.bytes <= QUEUE_BYTES / 2;
                    if state.jobs.is_empty() || is_half_free {
                        shared.changed.notify_all();
                    }
                }
                Next::Sync => self.sync()?,
                Next::Finish => return self.finish(),
            }
        }
    }

    /// Waits for the next step.
    fn next(&self, shared: &Shared) -> Next {
        let mut state = shared.lock();
        loop {
            let sync_in = self
                .unsynced_since
                .map(|since| SYNC_EVERY.saturating_sub(now().duration_since(since)));
            if sync_in == Some(Duration::ZERO) {
                return Next::Sync;
            }
            if let Some(job) = state.jobs.front() {
                return Next::Write(job.clone());
            }
            // A full queue is an error too, but queued jobs are written before the end.
            if state.closing || state.error.is_some() {
                return Next::Finish;
            }
            state = match sync_in {
                Some(sync_in) => {
                    let waited = shared.changed.wait_timeout(state, sync_in);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => {
                    let waited = shared.changed.wait(state);
                    waited.unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }

    /// Writes one item. Returns a mark if one is due.
    fn write(&mut self, job: &Job) -> io::Result<Option<Mark>> {
        match job {
            Job::Records {
                kind,
                content,
                codec,
                turn,
            } => {
                if let Some(turn) = turn {
                    self.note(*turn);
                }
                let due = self.unmarked_bytes >= MARK_EVERY_BYTES;
                let sealed = self.encoder.sealed().filter(|_| due);
                let mark = sealed.map(|crc| Mark {
                    at: self.written,
                    crc,
                    codec: codec.clone(),
                });
                if mark.is_some() {
                    self.unmarked_bytes = 0;
                }
                self.unmarked_bytes += content.len() as u64;
                let mut bytes = Vec::with_capacity(content.len() + 16);
                self.encoder.item(*kind, content, &mut bytes);
                if self.encoder.is_full() {
                    self.encoder.seal(&mut bytes);
                }
                self.append(&bytes)?;
                Ok(mark)
            }
            Job::TakeBack { turn } => self.take_back(*turn).map(|()| None),
            Job::Replaced => self.replace().map(|()| None),
            Job::Sync(_) => self.sync().map(|()| None),
            Job::Keyframe(keyframe) => {
                let mut bytes = Vec::new();
                self.encoder.seal(&mut bytes);
                self.append(&bytes)?;
                let at = self.written;
                let content = self.pack(keyframe)?;
                bytes.clear();
                self.encoder.item(Kind::Keyframe, &content, &mut bytes);
                self.encoder.seal(&mut bytes);
                self.append(&bytes)?;
                self.keyframes.push((keyframe.turns, at));
                Ok(None)
            }
        }
    }

    fn note(&mut self, turn: u32) {
        self.points.push_back(Point {
            turn,
            written: self.written,
            encoder: self.encoder.clone(),
            keyframes: self.keyframes.len(),
            unmarked_bytes: self.unmarked_bytes,
        });
        if self.points.len() > POINTS {
            self.points.pop_front();
        }
    }

    /// A reader never sees such a turn as whole: the file is as if it had not been written.
    fn take_back(&mut self, turn: u32) -> io::Result<()> {
        let at = self.points.iter().position(|point| point.turn == turn);
        let at = at.ok_or(io::ErrorKind::InvalidInput)?;
        let point = self.points.drain(at..).next();
        let point = point.ok_or(io::ErrorKind::InvalidInput)?;
        self.written = point.written;
        self.encoder = point.encoder;
        self.keyframes.truncate(point.keyframes);
        self.unmarked_bytes = point.unmarked_bytes;
        self.replacing = Some((point.written, Vec::new()));
        Ok(())
    }

    /// What was taken back goes. What takes its place was durable where it stood before: it is in the file all the time, and
    /// is made durable again.
    fn replace(&mut self) -> io::Result<()> {
        let Some((at, bytes)) = self.replacing.take() else {
            return Ok(());
        };
        let written = std::mem::replace(&mut self.written, at);
        self.output.replace(at, &bytes)?;
        self.written = written;
        match bytes.is_empty() {
            true => Ok(()),
            false => self.sync(),
        }
    }

    /// Bytes of whole items that are in the file, and stay there.
    fn in_file(&self) -> u64 {
        self.replacing.as_ref().map_or(self.written, |(at, _)| *at)
    }

    fn pack(&self, keyframe: &Keyframe) -> io::Result<Vec<u8>> {
        let mut record = Vec::new();
        Codec::default().encode(&Record::Keyframe(keyframe.clone()), &mut record);
        let mut content = Vec::new();
        KeyframeHead {
            turns: keyframe.turns,
            previous: self.keyframes.last().map_or(0, |(_, at)| *at),
            unpacked: record.len() as u64,
        }
        .put(&mut content);
        zstd::stream::copy_encode(&record[..], &mut content, PACKING_LEVEL)?;
        Ok(content)
    }

    /// Appends whole items.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.replacing {
            Some((_, replacing)) => replacing.extend_from_slice(bytes),
            None => write_all(&mut *self.output, bytes)?,
        }
        self.written += bytes.len() as u64;
        if self.unsynced_since.is_none() {
            self.unsynced_since = Some(now());
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.unsynced_since = None;
        self.output.sync()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.replace()?;
        let index = format::index_content(self.keyframes.iter().copied());
        let mut bytes = Vec::new();
        if index.len() as u64 <= format::MAX_RECORDS_BYTES {
            self.encoder.item(Kind::Index, &index, &mut bytes);
        }
        self.encoder.seal(&mut bytes);
        self.append(&bytes)?;
        self.sync()
    }

    /// Cuts the file to whole items after a failure of the disk. If this fails too, every reader cuts it.
    fn give_up(&mut self) {
        // What was to be replaced is still whole.
        if self.replacing.is_none() && self.output.truncate(self.written).is_ok() {
            self.output.sync().ok();
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the edge of the program: syncs are a second apart"
)]
fn now() -> Instant {
    Instant::now()
}
