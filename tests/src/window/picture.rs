//! Pictures: of a display and in files, and their differences.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter};
use std::path::Path;

/// Red, green and blue of each pixel, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels per row.
    pub wide: usize,
    /// Rows.
    pub high: usize,
    /// Three bytes per pixel.
    pub rgb: Vec<u8>,
}

/// A part of a picture, in pixels from its upper left corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The left edge.
    pub x: usize,
    /// The upper edge.
    pub y: usize,
    /// Width.
    pub wide: usize,
    /// Height.
    pub high: usize,
}

impl Part {
    /// A square around a place, this far to each side.
    pub fn around((x, y): (i32, i32), far: usize) -> Part {
        Part {
            x: x as usize - far,
            y: y as usize - far,
            wide: 2 * far,
            high: 2 * far,
        }
    }
}

/// The difference between two pictures of one size, in channels from 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Mean difference of a channel over the whole picture.
    pub mean: f64,
    /// The mean in the square of 16 by 16 pixels where it is greatest, which reveals a missing label.
    pub worst_square: f64,
    /// The corner of that square.
    pub worst_at: (usize, usize),
    /// The share of pixels with a channel that differs by more than [`CLEARLY`].
    pub clearly: f64,
}

impl Picture {
    /// Reads an X window dump with 32 bits per pixel, least byte first, as Xvfb writes it.
    ///
    /// # Errors
    /// The error of the disk; [`io::ErrorKind::InvalidData`] for another format.
    pub fn read_dump(path: &Path) -> io::Result<Picture> {
        let bytes = fs::read(path)?;
        let strange = || io::Error::new(io::ErrorKind::InvalidData, "no dump of this kind");
        let word = |place: usize| {
            let word = bytes.get(place * 4..place * 4 + 4)?;
            Some(u32::from_be_bytes(word.try_into().ok()?) as usize)
        };
        let read = || {
            let [head, colours] = [word(0)?, word(19)?];
            let [wide, high, lowest_first, bits, line] =
                [word(4)?, word(5)?, word(7)?, word(11)?, word(12)?];
            if lowest_first != 0 || bits != 32 {
                return None;
            }
            let pixels = bytes.get(head + colours * 12..)?;
            let mut rgb = Vec::with_capacity(wide * high * 3);
            for y in 0..high {
                let line = pixels.get(y * line..y * line + wide * 4)?;
                for pixel in line.chunks_exact(4) {
                    rgb.extend([pixel[2], pixel[1], pixel[0]]);
                }
            }
            Some(Picture { wide, high, rgb })
        };
        read().ok_or_else(strange)
    }

    /// Reads a PNG with eight bits per channel and no transparency.
    ///
    /// # Errors
    /// The error of the disk; [`io::ErrorKind::InvalidData`] for another format.
    pub fn read_png(path: &Path) -> io::Result<Picture> {
        let strange = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        let decoder = png::Decoder::new(BufReader::new(File::open(path)?));
        let mut reader = decoder
            .read_info()
            .map_err(|why| strange(why.to_string()))?;
        let bytes = reader.output_buffer_size().unwrap_or_default();
        let mut rgb = vec![0; bytes];
        let info = reader
            .next_frame(&mut rgb)
            .map_err(|why| strange(why.to_string()))?;
        let (wide, high) = (info.width as usize, info.height as usize);
        if info.color_type != png::ColorType::Rgb || rgb.len() != wide * high * 3 {
            return Err(strange("not red, green and blue".to_owned()));
        }
        Ok(Picture { wide, high, rgb })
    }

    /// Writes a PNG, and creates its folder.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn write_png(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = BufWriter::new(File::create(path)?);
        let mut encoder = png::Encoder::new(file, self.wide as u32, self.high as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_compression(png::Compression::High);
        encoder.set_filter(png::Filter::Adaptive);
        let written = encoder
            .write_header()
            .and_then(|mut writer| writer.write_image_data(&self.rgb));
        written.map_err(io::Error::other)
    }

    /// A part, clipped to the picture.
    pub fn part(&self, part: Part) -> Picture {
        let (x, y) = (part.x.min(self.wide), part.y.min(self.high));
        let (wide, high) = (part.wide.min(self.wide - x), part.high.min(self.high - y));
        let lines = (y..y + high).flat_map(|y| {
            let from = (y * self.wide + x) * 3;
            &self.rgb[from..from + wide * 3]
        });
        Picture {
            wide,
            high,
            rgb: lines.copied().collect(),
        }
    }

    /// Half the width and height: four pixels become one.
    pub fn halved(&self) -> Picture {
        let (wide, high) = (self.wide / 2, self.high / 2);
        let mut rgb = Vec::with_capacity(wide * high * 3);
        for y in 0..high {
            for x in 0..wide {
                for channel in 0..3 {
                    let at = |dx, dy| {
                        let pixel = (2 * y + dy) * self.wide + 2 * x + dx;
                        u16::from(self.rgb[pixel * 3 + channel])
                    };
                    let sum = at(0, 0) + at(1, 0) + at(0, 1) + at(1, 1);
                    rgb.push(((sum + 2) / 4) as u8);
                }
            }
        }
        Picture { wide, high, rgb }
    }

    /// The brightness of each pixel.
    pub fn grey(&self) -> Vec<u8> {
        let pixels = self.rgb.chunks_exact(3);
        pixels
            .map(|rgb| {
                let [red, green, blue] = [rgb[0], rgb[1], rgb[2]].map(u16::from);
                ((2 * red + 5 * green + blue) / 8) as u8
            })
            .collect()
    }

    /// The difference to another picture; `None` if sizes differ.
    pub fn difference(&self, other: &Picture) -> Option<Difference> {
        if (self.wide, self.high) != (other.wide, other.high) {
            return None;
        }
        let squares = (self.wide.div_ceil(SQUARE), self.high.div_ceil(SQUARE));
        let mut sums = vec![(0_u64, 0_u64); squares.0 * squares.1];
        let mut clearly = 0_u64;
        let pixels = self.rgb.chunks_exact(3).zip(other.rgb.chunks_exact(3));
        for (place, (own, theirs)) in pixels.enumerate() {
            let apart = own.iter().zip(theirs).map(|(a, b)| a.abs_diff(*b));
            let (x, y) = (place % self.wide, place / self.wide);
            let (sum, count) = &mut sums[y / SQUARE * squares.0 + x / SQUARE];
            *sum += apart.clone().map(u64::from).sum::<u64>();
            *count += 3;
            clearly += u64::from(apart.max() > Some(CLEARLY));
        }
        let part = |sum: u64, of: u64| sum as f64 / of.max(1) as f64;
        let all: u64 = sums.iter().map(|(sum, _)| sum).sum();
        let worst = sums.iter().enumerate().map(|(place, (sum, count))| {
            let at = (place % squares.0 * SQUARE, place / squares.0 * SQUARE);
            (part(*sum, *count), at)
        });
        let worst = worst.max_by(|a, b| a.0.total_cmp(&b.0));
        let (worst_square, worst_at) = worst.unwrap_or_default();
        let count = (self.wide * self.high) as u64;
        Some(Difference {
            mean: part(all, count * 3),
            worst_square,
            worst_at,
            clearly: part(clearly, count),
        })
    }
}

/// The difference of a channel that is visible at once.
pub const CLEARLY: u8 = 40;
/// The edge of the compared squares, in pixels.
const SQUARE: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn grey(wide: usize, high: usize, of: impl Fn(usize, usize) -> u8) -> Picture {
        let pixels = (0..high).flat_map(|y| (0..wide).map(move |x| (x, y)));
        let rgb = pixels.flat_map(|(x, y)| [of(x, y); 3]).collect();
        Picture { wide, high, rgb }
    }

    #[test]
    fn a_small_missing_object_shows_in_the_worst_square() {
        let empty = grey(640, 360, |_, _| 30);
        let written = grey(640, 360, |x, y| match (x, y) {
            (300..310, 200..208) if x % 2 == 0 => 230,
            _ => 30,
        });
        let apart = empty.difference(&written).expect("one size");
        assert!(apart.mean < 0.1, "{apart:?}");
        assert!(apart.worst_square > 8.0, "{apart:?}");
        assert_eq!(apart.worst_at, (304, 192));
        assert!(apart.clearly < 0.001, "{apart:?}");
        assert_eq!(
            empty.difference(&empty).expect("one size").worst_square,
            0.0
        );
        assert_eq!(empty.difference(&empty.halved()), None);
    }

    #[test]
    fn a_written_png_is_read_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/picture.png");
        let picture = grey(33, 7, |x, y| (x * 7 + y * 31) as u8);
        picture.write_png(&path).expect("written");
        assert_eq!(Picture::read_png(&path).expect("read"), picture);
        assert!(Picture::read_dump(&path).is_err());
    }

    #[test]
    fn halves_and_parts_show_the_same_picture() {
        let picture = grey(8, 4, |x, _| if x < 4 { 10 } else { 50 });
        assert_eq!(
            picture.halved(),
            grey(4, 2, |x, _| if x < 2 { 10 } else { 50 })
        );
        let part = Part {
            x: 3,
            y: 1,
            wide: 2,
            high: 9,
        };
        assert_eq!(
            picture.part(part),
            grey(2, 3, |x, _| if x < 1 { 10 } else { 50 })
        );
    }
}
