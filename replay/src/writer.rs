//! The bytes of a recording: items in sealed segments, and where reading may begin.

use crate::format::{self, KeyframeHead};
use crate::output::{Output, write_all};
use crate::scan::{MARK_EVERY_BYTES, Mark};
use crate::segment::{Encoder, Kind};
use lockstep::log::{Codec, Keyframe, Record};
use std::io;

/// Fast, and close to the best ratio on worlds in columns.
const PACKING_LEVEL: i32 = 3;

/// Writes items to an output.
pub(crate) struct Writer {
    output: Box<dyn Output>,
    place: Place,
    /// Turns and offset of every keyframe.
    keyframes: Vec<(u32, u64)>,
    /// Places where reading may begin.
    marks: Vec<Mark>,
    /// What is to take the place of all that stands in the file from an offset on.
    replacing: Option<(u64, Vec<u8>)>,
}

/// A place in what is written, to which a writer can go back.
#[derive(Clone)]
pub(crate) struct Place {
    /// Bytes of whole items before it.
    written: u64,
    encoder: Encoder,
    keyframes: usize,
    unmarked_bytes: u64,
}

impl Writer {
    /// A recording begins in this empty output.
    pub(crate) fn begin(mut output: Box<dyn Output>) -> io::Result<Writer> {
        write_all(&mut *output, &format::header())?;
        Ok(Writer {
            output,
            place: Place {
                written: format::HEADER_BYTES,
                encoder: Encoder::new(),
                keyframes: 0,
                unmarked_bytes: MARK_EVERY_BYTES,
            },
            keyframes: Vec::new(),
            marks: Vec::new(),
            replacing: None,
        })
    }

    /// The place behind all that is written.
    pub(crate) fn place(&self) -> Place {
        self.place.clone()
    }

    /// The last place before this turn where reading may begin, and the end of what is written.
    pub(crate) fn read_from(&self, turn: lockstep::TurnNumber) -> (Option<&Mark>, u64) {
        let after = self
            .marks
            .partition_point(|mark| mark.codec.next_turn() <= turn);
        let mark = after.checked_sub(1).map(|place| &self.marks[place]);
        (mark, self.place.written)
    }

    /// Writes one item of records, before which the codec was `codec`.
    pub(crate) fn write(&mut self, kind: Kind, content: &[u8], codec: Codec) -> io::Result<()> {
        let due = self.place.unmarked_bytes >= MARK_EVERY_BYTES;
        if let Some(crc) = self.place.encoder.sealed().filter(|_| due) {
            self.marks.push(Mark {
                at: self.place.written,
                crc,
                codec,
            });
            self.place.unmarked_bytes = 0;
        }
        self.place.unmarked_bytes += content.len() as u64;
        let mut bytes = Vec::with_capacity(content.len() + 16);
        self.place.encoder.item(kind, content, &mut bytes);
        if self.place.encoder.is_full() {
            self.place.encoder.seal(&mut bytes);
        }
        self.append(&bytes)
    }

    /// Writes a keyframe, which it packs.
    pub(crate) fn write_keyframe(&mut self, keyframe: &Keyframe) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.place.encoder.seal(&mut bytes);
        self.append(&bytes)?;
        let at = self.place.written;
        let content = self.pack(keyframe)?;
        bytes.clear();
        self.place
            .encoder
            .item(Kind::Keyframe, &content, &mut bytes);
        self.place.encoder.seal(&mut bytes);
        self.append(&bytes)?;
        self.keyframes.push((keyframe.turns, at));
        self.place.keyframes = self.keyframes.len();
        Ok(())
    }

    /// Takes back everything written since this place. What is written up to [`replace`](Self::replace) takes its place. A
    /// reader never sees a turn that is taken back as whole: the file is as if it had not been written.
    pub(crate) fn take_back(&mut self, to: Place) {
        self.keyframes.truncate(to.keyframes);
        self.marks.retain(|mark| mark.at < to.written);
        self.replacing = Some((to.written, Vec::new()));
        self.place = to;
    }

    /// What was taken back goes. What takes its place was durable where it stood before: it is in the file all the time, and
    /// is made durable again.
    pub(crate) fn replace(&mut self) -> io::Result<()> {
        let Some((at, bytes)) = self.replacing.take() else {
            return Ok(());
        };
        let written = std::mem::replace(&mut self.place.written, at);
        self.output.replace(at, &bytes)?;
        self.place.written = written;
        match bytes.is_empty() {
            true => Ok(()),
            false => self.sync(),
        }
    }

    /// Waits until the disk has all that is written.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.output.sync()
    }

    /// Ends the file.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.replace()?;
        let index = format::index_content(self.keyframes.iter().copied());
        let mut bytes = Vec::new();
        if index.len() as u64 <= format::MAX_RECORDS_BYTES {
            self.place.encoder.item(Kind::Index, &index, &mut bytes);
        }
        self.place.encoder.seal(&mut bytes);
        self.append(&bytes)?;
        self.sync()
    }

    /// Cuts the file to whole items after a failure of the disk. If this fails too, every reader cuts it.
    pub(crate) fn give_up(&mut self) {
        match self.replacing.take() {
            // What was to be replaced is still whole.
            Some((at, _)) => self.place.written = at,
            None if self.output.truncate(self.place.written).is_ok() => {
                self.output.sync().ok();
            }
            None => {}
        }
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
        self.place.written += bytes.len() as u64;
        Ok(())
    }
}
