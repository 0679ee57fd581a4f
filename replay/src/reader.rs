//! Reads a file to its longest valid prefix.

use crate::Error;
use crate::content;
use crate::damage::Damage;
use crate::error::KeyframeFault;
use crate::format::{KeyframeHead, Window};
use crate::roster::RosterAt;
use crate::scan::{Mark, Planned, Scan, Span, scan};
use crate::segment::{Found, Item, Kind, Stop, item_at, segment_at};
use crate::unpack::unpack;
use crate::verify;
use lockstep::log::{
    Accepted, Codec, Continuation, End, Keyframe, Record, SignedReopening, Start, Way,
};
use lockstep::{Limits, LogHash, MatchId, Plan, TurnNumber};
use sim::{Checksum, Seat, Simulation};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A file, or bytes in memory.
pub trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

/// How a file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileEnd {
    /// With the agreed end of the match.
    Complete,
    /// After a whole item, without the end of the match: the recording stopped, or is still running.
    Open,
    /// Within an item.
    Cut {
        /// Offset of the item.
        at: u64,
        /// Bytes of the file.
        of: u64,
    },
    /// With invalid bytes.
    Damaged {
        /// Offset of the first invalid item or segment.
        at: u64,
    },
}

/// A keyframe's place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyframeAt {
    /// Turns that its world has executed.
    pub turns: u32,
    /// Offset of its item.
    pub at: u64,
    /// Its bytes in the file.
    pub packed_bytes: u64,
    /// Its claimed unpacked length.
    pub unpacked_bytes: u64,
    /// Log hash after those turns; `None` if the keyframe came too late for the scan to have kept it.
    pub log_hash: Option<LogHash>,
}

/// A turn plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanAt {
    /// Its first turn.
    pub turn: TurnNumber,
    /// The plan.
    pub plan: Plan,
    /// Seats of the peer whose slow machine made ticks longer than at the start; empty for none.
    pub slow: Vec<Seat>,
    /// The way of batches that its turns are as long, and as many, for; `None` where the log tells of none.
    pub way: Option<Way>,
}

/// A replay file, read to its longest valid prefix.
///
/// Opening reads the file once. Beside a keyframe that is unpacked, memory stays within a fraction of the file's length
/// and a few MiB, whatever the file holds: records are decoded item by item, and a file may hold only so many changes of
/// plan, roster and the like. Where it has more, it counts as damaged.
///
/// ```no_run
/// let mut reader = replay::Reader::open("match.replay".as_ref())?;
/// println!("{} turns, {:?}", reader.turns(), reader.file_end());
/// for record in reader.records() {
///     println!("{:?}", record?);
/// }
/// # Ok::<(), replay::Error>(())
/// ```
pub struct Reader {
    window: Window,
    limits: Limits,
    scan: Arc<Scan>,
}

impl Reader {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error`]: no such file, empty, not a replay, another version, or damaged before its first turn. A file that
    /// is cut or damaged later opens, and [`file_end`](Self::file_end) tells where it ends.
    pub fn open(path: &Path) -> Result<Reader, Error> {
        Reader::over(File::open(path)?, of_file())
    }

    /// Reads a replay from bytes in memory.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Reader, Error> {
        Reader::over(io::Cursor::new(bytes), of_file())
    }

    /// Reads from any source, with these limits on setup and snapshots.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn over(source: impl Source + 'static, limits: Limits) -> Result<Reader, Error> {
        let mut window = Window::new(Box::new(source));
        let scan = scan(&mut window, &limits)?;
        Ok(Reader {
            window,
            limits,
            scan: Arc::new(scan),
        })
    }

    /// Reads the same replay through another source, with what is known of it already: nothing is read before it is
    /// asked for, and what both readers know takes memory once.
    #[must_use]
    pub fn share(&self, source: impl Source + 'static) -> Reader {
        Reader {
            window: Window::new(Box::new(source)),
            limits: self.limits.clone(),
            scan: self.scan.clone(),
        }
    }

    /// The start of the match.
    pub fn start(&self) -> &Arc<Start> {
        &self.scan.start
    }

    /// The game's own setup.
    ///
    /// # Errors
    /// [`Error::Setup`] if it does not decode, [`Error::OtherRules`] if this build has other rules.
    pub fn setup<S: Simulation>(&self) -> Result<S::Setup, Error> {
        let start = &self.scan.start;
        let setup: S::Setup = match postcard::take_from_bytes(&start.setup) {
            Ok((setup, [])) => setup,
            _ => return Err(Error::Setup),
        };
        let ours = S::rules(&setup);
        if ours != start.rules {
            return Err(Error::OtherRules {
                file: start.rules,
                ours,
            });
        }
        Ok(setup)
    }

    /// Playable turns: those in the valid prefix, up to the agreed end.
    pub fn turns(&self) -> u32 {
        let end = self.scan.end.as_ref().map_or(u32::MAX, |end| end.turns);
        self.scan.turns.min(end)
    }

    /// The last turns, where they may have been the tail: provisional when the recording ended. They are as many as the
    /// command delay has, but none before the last roster change, none that was played alone, and none with an agreed
    /// end.
    pub fn provisional(&self) -> u32 {
        let scan = &self.scan;
        let alone = scan.start.roster.len() == 1 || !scan.continuations.is_empty();
        if alone || scan.end.is_some() {
            return 0;
        }
        let began = scan.rosters.last().map_or(0, |change| change.turn.0);
        let delay = u32::from(self.plan_at(TurnNumber(scan.turns)).plan.delay_turns);
        scan.turns.saturating_sub(began).min(delay)
    }

    /// The reopening that the recording peer has signed last, where the log has no decision that ends its epoch.
    pub fn signed(&self) -> Option<&SignedReopening> {
        self.scan.signed.as_ref()
    }

    /// The roster change that the recording peer has accepted, where the log has no decision that ends its epoch. It binds
    /// the peer when the match is reopened.
    pub fn accepted(&self) -> Option<&Accepted> {
        let accepted = self.scan.accepted.as_ref();
        let last = self.scan.rosters.last();
        let epoch = last.map_or(0, |last| last.epoch);
        accepted.filter(|accepted| accepted.epoch == epoch)
    }

    /// Log hash after all turns of the valid prefix.
    pub fn log_hash(&self) -> LogHash {
        self.scan.log_hash
    }

    /// The agreed end, if the file has it.
    pub fn end(&self) -> Option<&End> {
        self.scan.end.as_ref()
    }

    /// Where the file breaks off, if it does. A recording without an end need not.
    pub fn damage(&self) -> Option<Damage> {
        Damage::of(self)
    }

    /// How the file ends.
    pub fn file_end(&self) -> FileEnd {
        self.scan.tail
    }

    /// Bytes of the valid prefix.
    pub fn valid_bytes(&self) -> u64 {
        self.scan.valid_bytes
    }

    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.scan.file_bytes
    }

    /// Where players went on alone, by turn. The first one ends the part of the peers in the start record.
    pub fn continuations(&self) -> &[Arc<Continuation>] {
        &self.scan.continuations
    }

    /// The keyframes, by turn.
    pub fn keyframes(&self) -> &[KeyframeAt] {
        &self.scan.keyframes
    }

    /// The plan of turn 0 and every later one, by first turn.
    pub fn plans(&self) -> impl ExactSizeIterator<Item = PlanAt> {
        self.planned().iter().map(|planned| self.at(planned))
    }

    fn planned(&self) -> &[Planned] {
        let turns = self.turns();
        let plans = &self.scan.plans;
        &plans[..plans.partition_point(|plan| plan.turn.0 < turns).max(1)]
    }

    fn at(&self, planned: &Planned) -> PlanAt {
        let peer = planned.slow.and_then(|seat| self.start().peer_with(seat));
        PlanAt {
            turn: planned.turn,
            plan: planned.plan,
            slow: peer.map_or(Vec::new(), |peer| peer.seats.clone()),
            way: planned.way,
        }
    }

    /// The match that the recording has come to: that of its start, or the last branch.
    pub fn match_id(&self) -> MatchId {
        let mut branches = self.rosters().iter().rev();
        let branch = branches.find_map(|at| at.branch);
        branch.unwrap_or(self.start().match_id)
    }

    /// The match that was left, where a branch is played before this turn.
    pub fn branch_of(&self, turn: TurnNumber) -> Option<MatchId> {
        let mut before = self.rosters().iter().take_while(|at| at.turn <= turn);
        let branches = before.any(|at| at.branch.is_some());
        branches.then_some(self.start().match_id)
    }

    /// Every roster change, by turn.
    pub fn rosters(&self) -> &[RosterAt] {
        &self.scan.rosters
    }

    /// The roster changes before `turn`, in order.
    pub fn rosters_at(&self, turn: TurnNumber) -> &[RosterAt] {
        let rosters = self.rosters();
        let before = rosters.partition_point(|at| at.turn < turn);
        let until = rosters.partition_point(|at| at.turn <= turn);
        &rosters[before..until]
    }

    /// The plan in force in `turn`; beyond the end, the last one.
    pub fn plan_at(&self, turn: TurnNumber) -> PlanAt {
        let plans = self.planned();
        let later = plans.partition_point(|plan| plan.turn <= turn);
        self.at(&plans[later - 1])
    }

    /// Match time before `turn`, without pauses.
    pub fn time_of(&self, turn: TurnNumber) -> Duration {
        Duration::from_millis(self.before(turn).0)
    }

    /// Ticks stepped before `turn`.
    pub fn ticks_before(&self, turn: TurnNumber) -> u64 {
        self.before(turn).1
    }

    /// The last turn that begins at this tick or earlier.
    pub fn turn_of(&self, tick: u64) -> TurnNumber {
        let (mut least, mut most) = (0, self.turns());
        while least < most {
            let middle = least + (most - least).div_ceil(2);
            if self.ticks_before(TurnNumber(middle)) <= tick {
                least = middle;
            } else {
                most = middle - 1;
            }
        }
        TurnNumber(least)
    }

    fn before(&self, turn: TurnNumber) -> (u64, u64) {
        let turn = turn.0.min(self.scan.turns);
        let spans: &[Span] = &self.scan.spans;
        let place = spans.partition_point(|span| span.turn <= turn);
        match place.checked_sub(1) {
            Some(place) => spans[place].before(turn),
            None => (0, 0),
        }
    }

    /// All records of the valid prefix in file order, except keyframes.
    pub fn records(&mut self) -> Records<'_> {
        let cursor = self.cursor(TurnNumber(0));
        Records {
            reader: self,
            cursor,
        }
    }

    /// Checksums of the peers' worlds, by turns executed. A turn may have several. Of a file with more than a million, only
    /// the first ones.
    ///
    /// # Errors
    /// The error of the disk, and [`Error::Changed`] if the file has changed.
    pub fn checksums(&mut self) -> Result<Vec<(u32, Checksum)>, Error> {
        verify::checksums(self)
    }

    /// Unpacks a keyframe of [`keyframes`](Self::keyframes). A keyframe may take as much memory as the rest of its file and
    /// 32 MiB, and no more than the [`Limits::snapshot_bytes`] of [`over`](Self::over). A world that takes more is re-run
    /// from an earlier keyframe, or from the start.
    ///
    /// # Errors
    /// [`Error::Keyframe`] if it does not unpack, takes too much or belongs to another log, and errors of the disk.
    pub fn keyframe(&mut self, keyframe: &KeyframeAt) -> Result<Keyframe, Error> {
        let fault = |what| Error::Keyframe {
            turns: keyframe.turns,
            what,
        };
        let changed = Error::Changed { at: keyframe.at };
        let end = self.scan.valid_bytes;
        let limit = self.limits.snapshot_bytes;
        let Found::Item(item) = item_at(&mut self.window, keyframe.at, end, limit)? else {
            return Err(changed);
        };
        let content = item.content(&mut self.window)?;
        let Some((head, packed_at)) = KeyframeHead::read(content) else {
            return Err(changed);
        };
        let rest = end.saturating_sub(content.len() as u64);
        let limit = limit.min(rest.saturating_add(KEYFRAME_BYTES));
        if head.unpacked > limit.saturating_add(RECORD_HEAD_BYTES) {
            let bytes = head.unpacked;
            return Err(fault(KeyframeFault::TooLong { bytes, limit }));
        }
        let packed = &content[packed_at..];
        // Its length may be a lie: no memory is taken before as many bytes have been unpacked.
        let mut front = Slice::of(vec![0; RECORD_HEAD_BYTES.min(head.unpacked) as usize], 0);
        unpack(packed, head.unpacked, &mut front).ok_or_else(|| fault(KeyframeFault::Packing))?;
        let front = front.bytes;
        let (mut found, snapshot) =
            Codec::decode_keyframe_head(&front, head.unpacked, &self.limits)
                .map_err(|error| fault(error.into()))?;
        let length =
            usize::try_from(head.unpacked - snapshot).map_err(|_| fault(KeyframeFault::Packing))?;
        let bytes = std::iter::repeat_n(0, length);
        found.snapshot = bytes.collect();
        let bytes = Arc::get_mut(&mut found.snapshot).expect("no other one has it yet");
        unpack(packed, head.unpacked, &mut Slice::of(bytes, snapshot))
            .ok_or_else(|| fault(KeyframeFault::Packing))?;
        let Some(log_hash) = keyframe.log_hash else {
            return Err(fault(KeyframeFault::FarBehind));
        };
        let of_this_log = found.turns == keyframe.turns
            && found.log_hash == log_hash
            && found.ticks == self.ticks_before(TurnNumber(found.turns));
        match of_this_log {
            true => Ok(found),
            false => Err(fault(KeyframeFault::OtherLog)),
        }
    }

    /// Passes the valid prefix of the file to `to`, in pieces.
    #[cfg(feature = "cli")]
    pub(crate) fn copy_prefix(
        &mut self,
        mut to: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut at = 0;
        while at < self.scan.valid_bytes {
            let count = (self.scan.valid_bytes - at).min(64 << 10);
            to(self.window.bytes(at, count as usize)?)?;
            at += count;
        }
        Ok(())
    }

    /// A cursor at or before the bundle of `turn`.
    pub(crate) fn cursor(&self, turn: TurnNumber) -> Cursor {
        let after = self
            .scan
            .marks
            .partition_point(|mark| mark.codec.next_turn() <= turn);
        Cursor::at(&self.scan.marks[after.max(1) - 1])
    }

    pub(crate) fn next_record(&mut self, cursor: &mut Cursor) -> Result<Option<Record>, Error> {
        cursor.next(&mut self.window, self.scan.valid_bytes, &self.limits)
    }
}

/// The limits of a file that this player chose: its match may have had higher ones than the defaults. Its length alone
/// bounds what it takes.
pub(crate) fn of_file() -> Limits {
    Limits {
        setup_bytes: u32::MAX,
        snapshot_bytes: u64::MAX,
        ..Limits::default()
    }
}

/// The records of a file; see [`Reader::records`].
pub struct Records<'a> {
    reader: &'a mut Reader,
    cursor: Cursor,
}

impl Iterator for Records<'_> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.reader.next_record(&mut self.cursor).transpose();
        if let Some(Err(_)) = next {
            self.cursor.stop();
        }
        next
    }
}

/// A place in a file, and what is undelivered of the segment before it. An item may hold ten thousands of records: they
/// are decoded one by one.
pub(crate) struct Cursor {
    at: u64,
    crc: u32,
    codec: Codec,
    items: VecDeque<Item>,
    /// The item that is being decoded, the rest of its content, and how much of that is decoded.
    open: Option<(Item, Vec<u8>, usize)>,
}

impl Cursor {
    pub(crate) fn at(mark: &Mark) -> Self {
        Cursor {
            at: mark.at,
            crc: mark.crc,
            codec: mark.codec.clone(),
            items: VecDeque::new(),
            open: None,
        }
    }

    fn stop(&mut self) {
        self.at = u64::MAX;
        self.items.clear();
        self.open = None;
    }

    /// The next record before offset `end`, except keyframes.
    pub(crate) fn next(
        &mut self,
        window: &mut Window,
        end: u64,
        limits: &Limits,
    ) -> Result<Option<Record>, Error> {
        loop {
            if let Some((item, content, decoded)) = &mut self.open {
                let mut rest = &content[*decoded..];
                let record = content::next(item.kind, &mut rest, &mut self.codec, limits);
                *decoded = content.len() - rest.len();
                let (at, is_over) = (item.at, rest.is_empty());
                self.open.take_if(|_| is_over);
                return record.ok_or(Error::Changed { at }).map(Some);
            }
            if let Some(item) = self.items.pop_front() {
                let content = item.content(window)?.to_vec();
                self.open = Some((item, content, 0));
                continue;
            }
            let changed = Error::Changed { at: self.at };
            match item_at(window, self.at, end, limits.snapshot_bytes)? {
                Found::Nothing => return Ok(None),
                Found::Item(item) if item.kind == Kind::Keyframe => {
                    // The first pass has checked it, and it may be large.
                    self.at = item.end;
                    match item_at(window, self.at, end, limits.snapshot_bytes)? {
                        Found::Nothing => return Ok(None),
                        Found::Item(seal) if seal.kind == Kind::Seal => {
                            self.crc = seal.seal_crc(window)?;
                            self.at = seal.end;
                        }
                        _ => return Err(changed),
                    }
                    continue;
                }
                _ => {}
            }
            let segment = segment_at(window, self.at, end, self.crc, limits.snapshot_bytes)?;
            match segment.stop {
                Stop::Sealed(crc) => self.crc = crc,
                Stop::Nothing => {}
                Stop::Cut | Stop::Damaged => return Err(changed),
            }
            let items = segment.items.into_iter();
            self.items = items.filter(|item| item.kind != Kind::Index).collect();
            self.at = segment.end;
        }
    }
}

/// What is written lands in these bytes, but for the first ones of it, and those beyond the end.
struct Slice<B> {
    bytes: B,
    skips: u64,
    at: usize,
}

impl<B: AsMut<[u8]>> Slice<B> {
    fn of(bytes: B, skips: u64) -> Self {
        Slice {
            bytes,
            skips,
            at: 0,
        }
    }
}

impl<B: AsMut<[u8]>> io::Write for Slice<B> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let skipped = self.skips.min(from.len() as u64);
        self.skips -= skipped;
        let room = &mut self.bytes.as_mut()[self.at..];
        let kept = &from[skipped as usize..];
        let kept = &kept[..kept.len().min(room.len())];
        room[..kept.len()].copy_from_slice(kept);
        self.at += kept.len();
        Ok(from.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Most bytes of a keyframe record beside its snapshot.
pub(crate) const RECORD_HEAD_BYTES: u64 = 64;
/// A keyframe may take so many bytes more than the rest of its file holds.
const KEYFRAME_BYTES: u64 = 32 << 20;

#[cfg(test)]
mod tests;
