//! Where a recorder's bytes go.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};

/// A file that a recorder appends to. Tests put one that fails in its place.
pub trait Output: Send {
    /// Appends some of `bytes`; gives how many.
    ///
    /// # Errors
    /// What the disk says.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Waits until everything appended is safe from a loss of power.
    ///
    /// # Errors
    /// What the disk says.
    fn sync(&mut self) -> io::Result<()>;

    /// Drops everything behind the first `length` bytes.
    ///
    /// # Errors
    /// What the disk says.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
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
}

/// Appends all of `bytes`.
pub(crate) fn write_all(output: &mut dyn Output, mut bytes: &[u8]) -> io::Result<()> {
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
