//! A replay that can be opened repeatedly.

use replay::{Error, Reader};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A replay in a file or in memory.
#[derive(Clone, Debug)]
pub struct Film {
    path: PathBuf,
    /// `None`: in the file.
    held: Option<Arc<[u8]>>,
}

impl Film {
    /// A replay in a file.
    pub fn file(path: &Path) -> Film {
        Film {
            path: path.to_owned(),
            held: None,
        }
    }

    /// A replay in memory, with its file name.
    pub fn held(name: &Path, bytes: Arc<[u8]>) -> Film {
        Film {
            path: name.to_owned(),
            held: Some(bytes),
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
}
