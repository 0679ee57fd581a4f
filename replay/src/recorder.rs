//! Records a match.

use crate::budget::Budget;
use crate::content;
use crate::format;
use crate::output::{Output, sync_folder};
use crate::reader::{Cursor, of_file};
use crate::writer::{Place, Writer};
use crate::{Error, format::Window};
use lockstep::TurnNumber;
use lockstep::log::{
    Bundle, Codec, Keyframe, LogStore, Record, SignedBatch, Start, StoreError, Tail, TailChange,
};
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Writes a match's log to a file, turn by turn. Every call waits for the file system; a match calls its store on a thread
/// of its own.
///
/// A failing disk ends the file after its last whole turn. The failure is reported once, and the match goes on. Dropping a
/// recorder ends the file.
///
/// Every turn reaches the file system at once, and the disk with a [`sync`](LogStore::sync). A turn of the tail is written
/// once: it stays where it is when it is final, and leaves no trace where it is taken back. Checksums are thinned to one
/// in five seconds of match, and the last; all mismatches are kept.
pub struct Recorder {
    writer: Writer,
    path: PathBuf,
    keyframes_every: Option<Duration>,
    start: Option<Arc<Start>>,
    codec: Codec,
    /// Match time of the turns so far.
    match_time: Duration,
    next_checksum_at: Duration,
    next_attests_at: Duration,
    /// The newest agreed checksum that was thinned out.
    checksum: Option<Record>,
    /// The newest signed batch of each peer that is not in the file.
    attests: Vec<SignedBatch>,
    /// The newest leads, likewise.
    leads: Option<Record>,
    newest_keyframe: Option<u32>,
    tail: Tail,
    /// What readers keep of the file.
    budget: Budget,
    /// The state before each turn of the tail.
    points: VecDeque<Point>,
    /// What was written behind turns of the tail and is final, with how many turns are before it.
    behind: Vec<(u32, Behind)>,
    /// Whether this recorder created the file.
    created: bool,
    /// Whether further records are refused.
    over: bool,
    /// Whether the file has ended.
    closed: bool,
}

struct Point {
    turn: u32,
    codec: Codec,
    match_time: Duration,
    place: Place,
}

/// One item that is no turn.
enum Behind {
    Records(Vec<Record>),
    Keyframe(Keyframe),
}

impl Recorder {
    /// Records to a new file, which is removed if no match begins.
    ///
    /// # Errors
    /// [`Error::Exists`] if the file exists; [`Error::Io`] if it cannot be created.
    pub fn create(path: &Path) -> Result<Recorder, Error> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists,
            _ => Error::Io(error),
        })?;
        let mut recorder = Recorder::over(path, Box::new(file))?;
        recorder.created = true;
        sync_folder(path);
        Ok(recorder)
    }

    /// Records to a new file in `folder`, which is created if missing: `name.replay`, or the first free
    /// `name-N.replay`.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_in(folder: &Path, name: &str) -> Result<Recorder, Error> {
        std::fs::create_dir_all(folder)?;
        let mut number = 1;
        loop {
            let file = match number {
                1 => format!("{name}.replay"),
                _ => format!("{name}-{number}.replay"),
            };
            match Recorder::create(&folder.join(file)) {
                Err(Error::Exists) if number < MOST_NAMES => number += 1,
                result => return result,
            }
        }
    }

    /// Records to an empty output. `path` is where [`read`](LogStore::read) finds the written bytes.
    ///
    /// # Errors
    /// [`Error::Io`] if the output refuses the header.
    pub fn over(path: &Path, output: Box<dyn Output>) -> Result<Recorder, Error> {
        Ok(Recorder {
            writer: Writer::begin(output)?,
            path: path.to_owned(),
            keyframes_every: Some(KEYFRAMES_EVERY),
            start: None,
            codec: Codec::default(),
            match_time: Duration::ZERO,
            next_checksum_at: CHECKSUMS_EVERY,
            // Those of an earlier recording come with the first turn.
            next_attests_at: Duration::ZERO,
            checksum: None,
            attests: Vec::new(),
            leads: None,
            newest_keyframe: None,
            tail: Tail::default(),
            budget: Budget::default(),
            points: VecDeque::new(),
            behind: Vec::new(),
            created: false,
            over: false,
            closed: false,
        })
    }

    /// Sets the match time between two keyframes; `None` writes none. Default 30 s.
    #[must_use]
    pub fn with_keyframes_every(mut self, every: Option<Duration>) -> Self {
        self.keyframes_every = every;
        self
    }

    fn take(&mut self, record: &Record) -> Result<(), StoreError> {
        match record {
            Record::Start(start) => {
                self.start = Some(start.clone());
                self.write(std::slice::from_ref(record))
            }
            Record::Bundle(bundle) => {
                let mut tail = std::mem::take(&mut self.tail);
                let changed = self.change(&tail.append(bundle));
                self.tail = tail;
                let next = bundle.turn.0 + 1;
                self.points.retain(|point| point.turn >= next);
                self.behind.retain(|(turns, _)| *turns > next);
                changed
            }
            Record::Checksum { .. } => {
                self.checksum = Some(record.clone());
                if self.match_time >= self.next_checksum_at {
                    self.write_checksum()?;
                }
                Ok(())
            }
            Record::Roster(_) | Record::Accept(_) | Record::Signed(_) => {
                self.write(std::slice::from_ref(record))
            }
            Record::Continued(_) => {
                // Withheld records belong to the players so far.
                self.write_checksum()?;
                self.write_attests()?;
                self.write(std::slice::from_ref(record))
            }
            Record::Mismatch { .. } => {
                self.write_checksum()?;
                self.write(std::slice::from_ref(record))
            }
            Record::Leads { .. } => {
                self.leads = Some(record.clone());
                Ok(())
            }
            Record::Attest(batch) => {
                match self.attests.iter_mut().find(|old| old.peer == batch.peer) {
                    Some(old) => *old = batch.clone(),
                    None => self.attests.push(batch.clone()),
                }
                Ok(())
            }
            Record::Keyframe(keyframe) => {
                let after_newest = self.newest_keyframe.is_none_or(|old| keyframe.turns > old);
                if after_newest && self.budget.take_keyframe() {
                    self.write_keyframe(keyframe)?;
                    if self.newest_keyframe.is_none() {
                        // The first signatures follow the first keyframe directly; the others follow at their
                        // interval.
                        self.next_attests_at = self.match_time;
                    }
                    self.newest_keyframe = Some(keyframe.turns);
                }
                Ok(())
            }
            Record::End(_) => {
                self.write_checksum()?;
                self.write_attests()?;
                self.write(std::slice::from_ref(record))?;
                self.over = true;
                Ok(())
            }
        }
    }

    /// Changes the turns that are written. What is final behind turns that are taken back is written again.
    fn change(&mut self, change: &TailChange<'_>) -> Result<(), StoreError> {
        if let Some(turn) = change.take_back {
            let at = self.points.iter().position(|point| point.turn == turn);
            let point = at.and_then(|at| self.points.drain(at..).next());
            let point = point.ok_or(StoreError::NotKept(TurnNumber(turn)))?;
            self.codec = point.codec;
            self.match_time = point.match_time;
            self.writer.take_back(point.place);
            let again = self.behind.extract_if(.., |(turns, _)| *turns > turn);
            for (_, item) in again.collect::<Vec<_>>() {
                match item {
                    Behind::Records(records) => self.write(&records)?,
                    Behind::Keyframe(keyframe) => self.write_keyframe(&keyframe)?,
                }
            }
            self.writer.replace().map_err(of_disk)?;
        }
        for bundle in change.write {
            self.points.push_back(Point {
                turn: bundle.turn.0,
                codec: self.codec.clone(),
                match_time: self.match_time,
                place: self.writer.place(),
            });
            self.match_time += bundle.plan.tick() * u32::from(bundle.ticks());
            self.write(&[Record::Bundle(bundle.clone())])?;
        }
        if self.match_time >= self.next_attests_at {
            self.write_attests()?;
        }
        Ok(())
    }

    /// Keeps what was just written for where turns before it are taken back.
    fn note_behind(&mut self, item: Behind) {
        if let Some(last) = self.points.back() {
            self.behind.push((last.turn + 1, item));
        }
    }

    fn end_on_error(&mut self, result: Result<(), StoreError>) -> Result<(), StoreError> {
        if let Err(error) = &result {
            self.over = true;
            self.closed = true;
            self.checksum = None;
            self.attests.clear();
            self.leads = None;
            match error {
                StoreError::Io(_) => self.writer.give_up(),
                // The disk is well: the file ends as one that is whole.
                _ => self
                    .writer
                    .finish()
                    .unwrap_or_else(|_| self.writer.give_up()),
            }
        }
        result
    }

    fn write_checksum(&mut self) -> Result<(), StoreError> {
        let Some(checksum) = self.checksum.take() else {
            return Ok(());
        };
        self.next_checksum_at = self.match_time + CHECKSUMS_EVERY;
        self.write(&[checksum])
    }

    fn write_attests(&mut self) -> Result<(), StoreError> {
        self.next_attests_at = self.match_time + ATTESTS_EVERY;
        let mut attests = std::mem::take(&mut self.attests);
        attests.sort_by_key(|batch| batch.peer);
        let attests = attests.into_iter().map(Record::Attest);
        let records: Vec<Record> = attests.chain(self.leads.take()).collect();
        self.write(&records)
    }

    /// Writes one item.
    fn write(&mut self, records: &[Record]) -> Result<(), StoreError> {
        if records.is_empty() {
            return Ok(());
        }
        if !records.iter().all(|record| self.budget.take(record)) {
            return Err(StoreError::TooManyChanges);
        }
        let codec = self.codec.clone();
        let (kind, content) = content::encode(&mut self.codec, records);
        if content.len() as u64 > format::MAX_RECORDS_BYTES {
            return Err(StoreError::Full {
                limit: format::MAX_RECORDS_BYTES,
            });
        }
        if !matches!(records, [Record::Bundle(_)]) {
            self.note_behind(Behind::Records(records.to_vec()));
        }
        self.writer.write(kind, &content, codec).map_err(of_disk)
    }

    fn write_keyframe(&mut self, keyframe: &Keyframe) -> Result<(), StoreError> {
        self.note_behind(Behind::Keyframe(keyframe.clone()));
        self.writer.write_keyframe(keyframe).map_err(of_disk)
    }

    /// Writes withheld records and ends the file.
    fn finish(&mut self) -> Result<(), StoreError> {
        if std::mem::replace(&mut self.closed, true) {
            return Ok(());
        }
        if self.start.is_none() && self.created {
            // Without a match, the file would only block the name.
            std::fs::remove_file(&self.path).ok();
            return Ok(());
        }
        let held_back = self.write_checksum().and_then(|()| self.write_attests());
        let ended = held_back.and_then(|()| self.writer.finish().map_err(of_disk));
        self.over = true;
        self.end_on_error(ended)
    }
}

impl LogStore for Recorder {
    /// # Panics
    /// If a record comes before the start, or a turn leaves a gap.
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        if self.over {
            return Ok(());
        }
        assert!(
            self.start.is_some() || matches!(record, Record::Start(_)),
            "a log begins with its start"
        );
        let result = self.take(record);
        self.end_on_error(result)
    }

    fn tail(&mut self, turns: &[Bundle]) -> Result<(), StoreError> {
        if self.over {
            return Ok(());
        }
        let mut tail = std::mem::take(&mut self.tail);
        let result = self.change(&tail.replace(turns));
        self.tail = tail;
        self.end_on_error(result)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        if self.closed {
            return Ok(());
        }
        let synced = self.writer.sync().map_err(of_disk);
        self.end_on_error(synced)
    }

    fn keyframe_every(&self) -> Option<Duration> {
        self.keyframes_every
    }

    fn read(&mut self, from: TurnNumber, max_bytes: usize) -> Result<Vec<Record>, StoreError> {
        let Some(start) = &self.start else {
            return Err(StoreError::NotKept(from));
        };
        let limits = of_file();
        let mut page = Page {
            records: vec![Record::Start(start.clone())],
            next: from,
            bytes_left: max_bytes,
        };
        let (mark, end) = self.writer.read_from(from);
        if let Some(mark) = mark {
            let failed = |error: Error| match error {
                Error::Io(error) => of_disk(error),
                _ => StoreError::Io(io::ErrorKind::InvalidData),
            };
            let file = File::open(&self.path).map_err(of_disk)?;
            let mut window = Window::new(Box::new(file));
            let mut cursor = Cursor::at(mark);
            while page.wants_more()
                && let Some(record) = cursor.next(&mut window, end, &limits).map_err(failed)?
            {
                page.take(record);
            }
        }
        Ok(page.records)
    }

    fn close(&mut self) -> Result<(), StoreError> {
        self.finish()
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.path)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.finish().ok();
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn of_disk(error: io::Error) -> StoreError {
    StoreError::Io(error.kind())
}

/// The bundles that a reader of the log asked for.
struct Page {
    records: Vec<Record>,
    next: TurnNumber,
    bytes_left: usize,
}

impl Page {
    fn wants_more(&self) -> bool {
        self.bytes_left > 0
    }

    fn take(&mut self, record: Record) {
        if let Record::Bundle(bundle) = &record
            && bundle.turn == self.next
            && self.wants_more()
        {
            let entries = bundle.entries.iter().map(|entry| size_of_val(entry) + 16);
            self.bytes_left = self.bytes_left.saturating_sub(entries.sum::<usize>() + 1);
            self.next = bundle.turn.next();
            self.records.push(record);
        }
    }
}

const KEYFRAMES_EVERY: Duration = Duration::from_secs(30);
/// Match time between the archived signatures of a peer: each covers everything before it.
const ATTESTS_EVERY: Duration = Duration::from_secs(90);
const CHECKSUMS_EVERY: Duration = Duration::from_secs(5);
/// Recordings of one name in a folder.
const MOST_NAMES: u32 = 10_000;

#[cfg(test)]
mod tests;
