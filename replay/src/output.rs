//! The destination of a recorder's bytes.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// An append-only file. Tests replace it by failing ones.
pub trait Output: Send {
    /// Appends a prefix of `bytes`; returns its length.
    ///
    /// # Errors
    /// The error of the disk.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Blocks until all appended bytes would survive a loss of power.
    ///
    /// # Errors
    /// The error of the disk.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts the file to `length` bytes.
    ///
    /// # Errors
    /// The error of the disk.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Puts `bytes` in the place of all from `at` on. A file has them before it loses what stood behind them: a process that
    /// dies meanwhile leaves the one or the other.
    ///
    /// # Errors
    /// The error of the disk.
    fn replace(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.truncate(at)?;
        write_all(self, bytes)
    }
}

impl Output for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(self, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.sync_data()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(drop)
    }

    fn replace(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(at))?;
        write_all(self, bytes)?;
        self.truncate(at + bytes.len() as u64)
    }
}

/// Appends all of `bytes`.
pub(crate) fn write_all<O: Output + ?Sized>(output: &mut O, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match output.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count.min(bytes.len())..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Makes the name of this file survive a loss of power, too. Not every system lets a folder be opened.
pub(crate) fn sync_folder(file: &Path) {
    let folder = file.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
        folder.sync_all().ok();
    }
}
