//! Pictures, and their comparison.

use std::fs::File;
use std::io::{BufWriter, Cursor};
use std::path::Path;

/// Red, green and blue of each pixel, row by row.
pub struct Picture {
    size: (u32, u32),
    rgb: Vec<u8>,
}

impl Picture {
    pub fn of(size: (u32, u32), rgb: Vec<u8>) -> Picture {
        Picture { size, rgb }
    }

    pub fn size(&self) -> (u32, u32) {
        self.size
    }

    /// Decodes a PNG, without its transparency.
    pub fn decode(bytes: &[u8]) -> Result<Picture, String> {
        let text = |why: png::DecodingError| why.to_string();
        let mut reader = png::Decoder::new(Cursor::new(bytes))
            .read_info()
            .map_err(text)?;
        let mut pixels = vec![0; reader.output_buffer_size().ok_or("a picture too large")?];
        let info = reader.next_frame(&mut pixels).map_err(text)?;
        let channels = info.color_type.samples();
        if info.bit_depth != png::BitDepth::Eight || channels < 3 {
            return Err(format!("a PNG of another kind: {info:?}"));
        }
        let pixels = pixels[..info.buffer_size()].chunks_exact(channels);
        let rgb = pixels.flat_map(|pixel| pixel[..3].to_vec()).collect();
        Ok(Picture::of((info.width, info.height), rgb))
    }

    /// Writes a PNG.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let text = |why: png::EncodingError| why.to_string();
        let file = File::create(path).map_err(|why| format!("{}: {why}", path.display()))?;
        let mut encoder = png::Encoder::new(BufWriter::new(file), self.size.0, self.size.1);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(text)?;
        writer.write_image_data(&self.rgb).map_err(text)?;
        writer.finish().map_err(text)
    }

    /// Whether two pictures show the same. A graphics card may draw edges a little differently, but nothing may be
    /// missing, and a uniform picture fails.
    pub fn is_like(&self, other: &Picture) -> Result<(), String> {
        if self.size != other.size || self.rgb.len() != other.rgb.len() {
            return Err(format!(
                "the sizes are {:?} and {:?}",
                self.size, other.size
            ));
        }
        let (own, others) = (self.squares(), other.squares());
        let apart = own.iter().zip(&others).map(|(a, b)| (a - b).abs());
        let worst = apart.clone().fold(0.0, f64::max);
        let mean = apart.sum::<f64>() / own.len().max(1) as f64;
        let middle = own.iter().sum::<f64>() / own.len().max(1) as f64;
        let spread = own
            .iter()
            .map(|square| (square - middle).abs())
            .sum::<f64>()
            / own.len() as f64;
        println!(
            "squares of {SQUARE} pixels: {mean:.2} apart in the mean, {worst:.1} at most; spread {spread:.1}"
        );
        match mean <= MOST_MEAN && worst <= MOST_IN_SQUARE && spread >= LEAST_SPREAD {
            true => Ok(()),
            false => Err("the page looks different from the rendering on this machine".to_owned()),
        }
    }

    /// The mean of each colour in each square, from 0 to 255.
    fn squares(&self) -> Vec<f64> {
        let (wide, high) = (self.size.0 as usize, self.size.1 as usize);
        let mut means = Vec::new();
        for y in (0..high).step_by(SQUARE) {
            for x in (0..wide).step_by(SQUARE) {
                let lines = y..(y + SQUARE).min(high);
                let (from, to) = (x, (x + SQUARE).min(wide));
                let many = (lines.len() * (to - from)) as f64;
                for colour in 0..3 {
                    let line = |y: usize| (from..to).map(move |x| (y * wide + x) * 3 + colour);
                    let places = lines.clone().flat_map(line);
                    let sum: f64 = places.map(|place| f64::from(self.rgb[place])).sum();
                    means.push(sum / many);
                }
            }
        }
        means
    }
}

/// Edge of a square in pixels: about a letter.
const SQUARE: usize = 16;
const MOST_MEAN: f64 = 1.0;
const MOST_IN_SQUARE: f64 = 24.0;
const LEAST_SPREAD: f64 = 8.0;
