//! Letters as pixels: rasterised once per size, and kept in one picture with a white spot for shapes.

use fontdue::{Font, FontSettings};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The thickness of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// For body text.
    Regular,
    /// For emphasis.
    Bold,
}

/// A letter in the picture, and its position on the line, in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Glyph {
    /// Left and upper edge in the picture.
    pub at: (u16, u16),
    /// Width and height.
    pub size: (u16, u16),
    /// From the pen to the left edge.
    pub left: f32,
    /// From the base line up to the lower edge.
    pub below: f32,
    /// The advance of the pen.
    pub advance: f32,
}

/// By [`Weight`]. Loading takes longer than a frame, so it happens once.
static FONTS: LazyLock<[Font; 2]> = LazyLock::new(|| {
    [notosans::REGULAR_TTF, notosans::BOLD_TTF].map(|bytes| {
        Font::from_bytes(bytes, FontSettings::default()).expect("the font that is built in")
    })
});

/// The picture of all letters drawn so far.
pub struct Letters {
    /// By weight, size and glyph of the font. All missing letters share a glyph.
    glyphs: BTreeMap<(Weight, u16, u16), Glyph>,
    /// Alpha of the picture's pixels.
    pixels: Vec<u8>,
    edge: u16,
    /// The upper left corner of the free part of the current row, and the row's height.
    pen: (u16, u16),
    line: u16,
    /// Rows of pixels that have changed since the last upload.
    changed: Option<(u16, u16)>,
    full: bool,
}

impl Default for Letters {
    fn default() -> Letters {
        Letters::new()
    }
}

impl Letters {
    /// With an empty picture.
    pub fn new() -> Letters {
        let mut letters = Letters {
            glyphs: BTreeMap::new(),
            pixels: Vec::new(),
            edge: SMALLEST_EDGE,
            pen: (0, 0),
            line: 0,
            changed: None,
            full: false,
        };
        letters.clear(SMALLEST_EDGE);
        letters
    }

    /// Pixels along an edge of the picture.
    pub fn edge(&self) -> u16 {
        self.edge
    }

    /// A letter of this size, in whole pixels.
    pub fn glyph(&mut self, letter: char, pixels: u16, weight: Weight) -> Glyph {
        let drawn = self.drawn_as(letter, weight);
        let key = (weight, pixels, drawn);
        if let Some(glyph) = self.glyphs.get(&key) {
            return *glyph;
        }
        let glyph = self.draw(drawn, pixels, weight);
        self.glyphs.insert(key, glyph);
        glyph
    }

    /// The width of a line of text, in pixels.
    pub fn width(&self, text: &str, pixels: u16, weight: Weight) -> f32 {
        let font = &FONTS[weight as usize];
        let advance = |letter: char| {
            let drawn = self.drawn_as(letter, weight);
            let known = self.glyphs.get(&(weight, pixels, drawn));
            known.map_or_else(
                || font.metrics_indexed(drawn, f32::from(pixels)).advance_width,
                |glyph| glyph.advance,
            )
        };
        text.chars().map(advance).sum()
    }

    /// The font's glyph for a letter.
    fn drawn_as(&self, letter: char, weight: Weight) -> u16 {
        let letter = if letter.is_control() { ' ' } else { letter };
        FONTS[weight as usize].lookup_glyph_index(letter)
    }

    /// From the top of a line to its base line, in whole pixels.
    pub fn ascent(&self, pixels: u16) -> f32 {
        (f32::from(pixels) * ASCENT).round()
    }

    /// Changes of the picture since the last call: first row, number of rows, and the alpha of their pixels.
    pub fn take_changed(&mut self) -> Option<(u16, u16, &[u8])> {
        let (first, end) = self.changed.take()?;
        let edge = usize::from(self.edge);
        let bytes = &self.pixels[usize::from(first) * edge..usize::from(end) * edge];
        Some((first, end - first, bytes))
    }

    /// The alpha of the picture's pixels, row by row.
    pub fn alpha(&self) -> &[u8] {
        &self.pixels
    }

    /// Begins a frame. If the last one ran out of room, the picture starts over, larger.
    pub fn begin(&mut self) {
        if std::mem::take(&mut self.full) {
            self.clear((self.edge * 2).min(LARGEST_EDGE));
        }
    }

    fn clear(&mut self, edge: u16) {
        self.edge = edge;
        self.glyphs.clear();
        self.pixels = vec![0; usize::from(edge) * usize::from(edge)];
        for y in 0..WHITE {
            let from = usize::from(y) * usize::from(edge);
            self.pixels[from..from + usize::from(WHITE)].fill(255);
        }
        self.pen = (WHITE + GAP, 0);
        self.line = WHITE;
        self.changed = Some((0, edge));
    }

    fn draw(&mut self, drawn: u16, pixels: u16, weight: Weight) -> Glyph {
        let font = &FONTS[weight as usize];
        let (metrics, alpha) = font.rasterize_indexed(drawn, f32::from(pixels));
        let size = (metrics.width as u16, metrics.height as u16);
        let mut glyph = Glyph {
            at: (0, 0),
            size,
            left: metrics.xmin as f32,
            below: metrics.ymin as f32,
            advance: metrics.advance_width,
        };
        match self.room(size) {
            Some(at) => {
                glyph.at = at;
                let edge = usize::from(self.edge);
                for (y, line) in alpha.chunks_exact(metrics.width.max(1)).enumerate() {
                    let from = (usize::from(at.1) + y) * edge + usize::from(at.0);
                    self.pixels[from..from + line.len()].copy_from_slice(line);
                }
                let (first, end) = self.changed.unwrap_or((at.1, at.1));
                self.changed = Some((first.min(at.1), end.max(at.1 + size.1)));
            }
            None => {
                self.full = true;
                glyph.size = (0, 0);
            }
        }
        glyph
    }

    /// A free place in the picture.
    fn room(&mut self, (width, height): (u16, u16)) -> Option<(u16, u16)> {
        if width == 0 || height == 0 {
            return Some((0, 0));
        }
        if self.pen.0 + width + GAP > self.edge {
            self.pen = (0, self.pen.1 + self.line + GAP);
            self.line = 0;
        }
        if self.pen.1 + height + GAP > self.edge || width + GAP > self.edge {
            return None;
        }
        let at = self.pen;
        self.pen.0 += width + GAP;
        self.line = self.line.max(height);
        Some(at)
    }
}

/// Height of a line of text, as a multiple of its size.
pub const LINE: f32 = 1.36;
/// From the top of a line to its base line, as a multiple of its size.
const ASCENT: f32 = 1.05;
const SMALLEST_EDGE: u16 = 1_024;
const LARGEST_EDGE: u16 = 4_096;
/// Edge of the white spot, in pixels.
const WHITE: u16 = 4;
/// Pixels between letters, against bleeding.
const GAP: u16 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_the_sums_of_advances() {
        let mut letters = Letters::new();
        let before = letters.width("Axe 12", 17, Weight::Bold);
        let drawn: f32 = "Axe 12"
            .chars()
            .map(|c| letters.glyph(c, 17, Weight::Bold).advance)
            .sum();
        assert_eq!(before, drawn);
        assert_eq!(before, letters.width("Axe 12", 17, Weight::Bold));
        assert!(before > letters.width("Axe 12", 17, Weight::Regular));
    }

    #[test]
    fn a_full_picture_starts_over_larger() {
        let mut letters = Letters::new();
        for size in 20..120 {
            for letter in 'A'..='z' {
                letters.glyph(letter, size, Weight::Regular);
            }
        }
        assert_eq!(letters.edge(), SMALLEST_EDGE);
        letters.begin();
        assert_eq!(letters.edge(), SMALLEST_EDGE * 2);
        let glyph = letters.glyph('A', 20, Weight::Regular);
        assert!(glyph.size.0 > 0);
        let (first, lines, bytes) = letters.take_changed().expect("all of it");
        assert_eq!((first, lines), (0, SMALLEST_EDGE * 2));
        assert!(bytes.iter().filter(|alpha| **alpha > 0).count() > 60);
        assert!(letters.take_changed().is_none());
    }
}
