//! A replay that can be opened repeatedly.

use replay::{Error, Reader};
use std::fs::File;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A replay in a file or in memory.
#[derive(Clone, Debug)]
pub struct Film {
    path: PathBuf,
    /// `None`: in the file.
    held: Option<Held>,
}

/// The bytes of a file, once for all readers.
#[derive(Clone, Debug)]
struct Held(Arc<Vec<u8>>);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Film {
    /// A replay in a file.
    pub fn file(path: &Path) -> Film {
        Film {
            path: path.to_owned(),
            held: None,
        }
    }

    /// A replay in memory, with its file name. The bytes are not copied.
    pub fn held(name: &Path, bytes: Vec<u8>) -> Film {
        Film {
            path: name.to_owned(),
            held: Some(Held(Arc::new(bytes))),
        }
    }

    /// The path, or the file name of bytes in memory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a reader at the beginning.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open(&self) -> Result<Reader, Error> {
        match &self.held {
            Some(bytes) => Reader::over(Cursor::new(bytes.clone()), lockstep::Limits::default()),
            None => Reader::open(&self.path),
        }
    }

    /// Opens another reader, which shares what this one knows of the replay.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn open_beside(&self, reader: &Reader) -> io::Result<Reader> {
        match &self.held {
            Some(bytes) => Ok(reader.share(Cursor::new(bytes.clone()))),
            None => Ok(reader.share(File::open(&self.path)?)),
        }
    }
}
