//! What fuzzing reaches of files and texts beneath the [`Reader`](crate::Reader).

pub use crate::contacts::{contacts_in, lines};

use crate::format::{self, KeyframeHead};
use crate::segment::{Encoder, Kind};

/// A part of a file, with any content.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// A turn without entries.
    Idle,
    /// A turn in its short form.
    Turn(&'a [u8]),
    /// Any other content.
    Content(&'a [u8]),
    /// A keyframe after so many turns, in a segment of its own, and its unpacked record.
    Keyframe(u32, &'a [u8]),
    /// The end of a segment.
    Seal,
}

/// A file of these parts: all heads and checks in it hold. The file leaves out empty content, which would be another item.
///
/// # Panics
/// Never: packing in memory cannot fail.
pub fn file_of<'a>(parts: impl IntoIterator<Item = Part<'a>>) -> Vec<u8> {
    let (mut encoder, mut file) = (Encoder::new(), format::header());
    let mut previous = 0;
    for part in parts {
        match part {
            Part::Idle => encoder.item(Kind::Idle, &[], &mut file),
            Part::Turn([]) | Part::Content([]) => {}
            Part::Turn(content) => encoder.item(Kind::Turn, content, &mut file),
            Part::Content(content) => encoder.item(Kind::Records, content, &mut file),
            Part::Keyframe(turns, record) => {
                let mut content = Vec::new();
                KeyframeHead {
                    turns,
                    previous,
                    unpacked: record.len() as u64,
                }
                .put(&mut content);
                zstd::stream::copy_encode(record, &mut content, FAST).expect("in memory");
                encoder.seal(&mut file);
                previous = file.len() as u64;
                encoder.item(Kind::Keyframe, &content, &mut file);
                encoder.seal(&mut file);
            }
            Part::Seal => encoder.seal(&mut file),
        }
    }
    file
}

/// How well a keyframe is packed: fuzzing wants many.
const FAST: i32 = 1;
