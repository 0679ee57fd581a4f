//! Pictures and graphs as files beside the replay, under free names derived from it. In a page, the browser saves
//! them.

use super::raster::Still;
use crate::window::words::viewer as words;
#[cfg(not(target_arch = "wasm32"))]
use std::fs::{self, File, OpenOptions};
#[cfg(not(target_arch = "wasm32"))]
use std::io::BufWriter;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

/// A picture that a thread of its own draws and saves.
pub struct Exporting {
    work: Receiver<io::Result<PathBuf>>,
}

impl Exporting {
    /// Begins to save a picture beside this replay. `what` names the moment.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn picture(replay: &Path, what: &str, still: Still) -> io::Result<Exporting> {
        let (done, work) = sync_channel(1);
        let (replay, what) = (replay.to_owned(), what.to_owned());
        let work_once = move || {
            let pixels = still.draw();
            let written = write_beside(&replay, &what, "png", |file| {
                write_png(file, still.size(), &pixels)
            });
            // The viewer may be closed.
            let _ = done.send(written);
        };
        if cfg!(target_arch = "wasm32") {
            // A page has no threads, and stops for a moment.
            work_once();
        } else {
            let thread = std::thread::Builder::new().name("picture".to_owned());
            thread.spawn(work_once)?;
        }
        Ok(Exporting { work })
    }

    /// The result as text, once it is known.
    pub fn poll(&self) -> Option<String> {
        match self.work.try_recv() {
            Ok(written) => Some(outcome_text(&written)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(words::unwritten("its thread ended")),
        }
    }
}

/// The result of a save as text.
pub fn outcome_text(written: &io::Result<PathBuf>) -> String {
    match written {
        Ok(path) if cfg!(target_arch = "wasm32") => words::given(&path.display().to_string()),
        Ok(path) => words::written(&path.display().to_string()),
        Err(why) => words::unwritten(&why.to_string()),
    }
}

/// Writes a file beside a replay, under a free name. An incomplete file is removed.
///
/// # Errors
/// The error of the disk.
#[cfg(not(target_arch = "wasm32"))]
pub fn write_beside(
    replay: &Path,
    what: &str,
    ending: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let (file, path) = free_file(replay, what, ending)?;
    let mut file = BufWriter::new(file);
    match write(&mut file).and_then(|()| file.flush()) {
        Ok(()) => Ok(path),
        Err(why) => {
            // The first error is the one to report.
            let _ = fs::remove_file(&path);
            Err(why)
        }
    }
}

/// Saves a file through the browser, named after the replay.
///
/// # Errors
/// The error of `write`.
#[cfg(target_arch = "wasm32")]
pub fn write_beside(
    replay: &Path,
    what: &str,
    ending: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let mut bytes = Vec::new();
    write(&mut bytes)?;
    let stem = replay.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem} {what}.{ending}");
    crate::window::page::give(&name, &bytes);
    Ok(name.into())
}

#[cfg(not(target_arch = "wasm32"))]
fn free_file(replay: &Path, what: &str, ending: &str) -> io::Result<(File, PathBuf)> {
    let stem = replay.file_stem().unwrap_or_default().to_string_lossy();
    let mut number = 1;
    loop {
        let name = match number {
            1 => format!("{stem} {what}.{ending}"),
            _ => format!("{stem} {what} {number}.{ending}"),
        };
        let path = replay.with_file_name(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists && number < MOST_NAMES => {
                number += 1;
            }
            Err(why) => return Err(why),
        }
    }
}

fn write_png(to: &mut dyn Write, (wide, high): (usize, usize), rgb: &[u8]) -> io::Result<()> {
    let size = |pixels: usize| u32::try_from(pixels).map_err(io::Error::other);
    let mut encoder = png::Encoder::new(to, size(wide)?, size(high)?);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(io::Error::other)?;
    writer.write_image_data(rgb).map_err(io::Error::other)?;
    writer.finish().map_err(io::Error::other)
}

#[cfg(not(target_arch = "wasm32"))]
const MOST_NAMES: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_picture_has_the_drawn_pixels_and_a_free_name() {
        let folder = tempfile::tempdir().unwrap();
        let replay = folder.path().join("my match.replay");
        let rgb: Vec<u8> = (0..4 * 3 * 3).map(|at| at as u8 * 7).collect();
        let write = |rgb: &[u8]| {
            write_beside(&replay, "at 1.23", "png", |file| {
                write_png(file, (4, 3), rgb)
            })
        };
        let first = write(&rgb).unwrap();
        assert_eq!(first.file_name().unwrap(), "my match at 1.23.png");
        let second = write(&[0; 36]).unwrap();
        assert_eq!(second.file_name().unwrap(), "my match at 1.23 2.png");
        let file = io::BufReader::new(File::open(&first).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let mut read = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut read).unwrap();
        assert_eq!((info.width, info.height), (4, 3));
        assert_eq!(&read[..info.buffer_size()], rgb);
    }

    #[test]
    fn a_failed_save_is_reported_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().join("a.replay");
        let full = |_: &mut dyn Write| Err(io::Error::other("the disk is full"));
        let text = outcome_text(&write_beside(&there, "graphs", "svg", full));
        assert!(text.contains("the disk is full"), "{text}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let nowhere = folder.path().join("missing").join("a.replay");
        let text = outcome_text(&write_beside(&nowhere, "graphs", "svg", |_| Ok(())));
        assert!(
            text.contains("No such file") || text.contains("cannot find"),
            "{text}"
        );
    }
}
