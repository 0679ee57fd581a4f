//! Where a replay's bytes are.

use replay::{Error, Reader};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A replay that can be opened again and again.
#[derive(Clone, Debug)]
pub struct Film {
    path: PathBuf,
    /// `None`: in the file.
    held: Option<Arc<[u8]>>,
}

impl Film {
    /// A file.
    pub fn file(path: &Path) -> Film {
        Film {
            path: path.to_owned(),
            held: None,
        }
    }

    /// The bytes of a file, which is called so.
    pub fn held(name: &Path, bytes: Arc<[u8]>) -> Film {
        Film {
            path: name.to_owned(),
            held: Some(bytes),
        }
    }

    /// Where the file is, or what it is called.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads it from its beginning.
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
