//! Finds text in a picture by its shape, so that a test clicks where a person would.

use super::picture::Picture;
use demo_rts::window::canvas::Canvas;
use demo_rts::window::letters::Weight;
use demo_rts::window::theme;
use demo_rts::window::viewer::raster::Still;
use std::collections::BTreeMap;

/// Renders texts to search for, with the game's own letters.
pub struct Pen {
    canvas: Canvas,
    /// Texts searched so far, in every size and weight: most are searched repeatedly.
    known: BTreeMap<String, Vec<Ink>>,
}

/// A text in one size and weight.
pub struct Ink {
    wide: usize,
    high: usize,
    /// The coverage of each pixel, 0 to 255, row by row.
    cover: Vec<u8>,
    /// Pixels of high coverage, each with a pixel of none.
    pairs: Vec<((usize, usize), (usize, usize))>,
}

impl Default for Pen {
    fn default() -> Pen {
        Pen {
            canvas: Canvas::new(),
            known: BTreeMap::new(),
        }
    }
}

impl Pen {
    /// The centres of a text wherever it stands alone in a window of 1280 by 720, in any size and weight, from top
    /// to bottom.
    pub fn find(&mut self, text: &str, picture: &Picture) -> Vec<(usize, usize)> {
        let grey = picture.grey();
        let mut found: Vec<(usize, usize)> = self
            .inks(text)
            .iter()
            .flat_map(|ink| ink.find(&grey, picture.wide))
            .collect();
        found.sort_unstable_by_key(|(x, y)| (*y, *x));
        found
    }

    fn inks(&mut self, text: &str) -> &[Ink] {
        if !self.known.contains_key(text) {
            let kinds = SIZES.iter().flat_map(|size| {
                let weights = [Weight::Regular, Weight::Bold];
                weights.map(|weight| (*size, weight))
            });
            let inks = kinds.filter_map(|(size, weight)| self.draw(text, size, weight));
            let inks = inks.collect();
            self.known.insert(text.to_owned(), inks);
        }
        &self.known[text]
    }

    fn draw(&mut self, text: &str, size: f32, weight: Weight) -> Option<Ink> {
        let alone = (size * ALONE).max(LEAST_ALONE).ceil();
        let wide = self.canvas.measure(text, size, weight).ceil() + 2.0 * alone;
        let high = self.canvas.line_height(size).ceil();
        self.canvas.begin((wide, high), 1.0);
        let white = [255; 4];
        self.canvas.text((alone, 0.0), text, size, weight, white);
        let still = Still::of(&mut self.canvas, [0, 0, 0, 255]);
        let (wide, _) = still.size();
        let drawn = still.draw();
        let cover: Vec<u8> = drawn.chunks_exact(3).map(|rgb| rgb[0]).collect();
        Ink::of(&cover, wide)
    }
}

impl Ink {
    /// Without empty rows above and below; `None` without any coverage.
    fn of(cover: &[u8], wide: usize) -> Option<Ink> {
        let inked = |line: &[u8]| line.iter().any(|cover| *cover > 0);
        let first = cover.chunks_exact(wide).position(inked)?;
        let last = cover.chunks_exact(wide).rposition(inked)?;
        let cover = cover[first * wide..(last + 1) * wide].to_vec();
        let high = last + 1 - first;
        let mut places: Vec<usize> = (0..cover.len()).collect();
        places.sort_by_key(|place| std::cmp::Reverse(cover[*place]));
        let spread = |places: &[usize]| {
            let step = (places.len() / PAIRS).max(1);
            let places: Vec<usize> = places.iter().step_by(step).copied().collect();
            places
        };
        let full = places.partition_point(|place| cover[*place] >= FULL);
        let empty = places.partition_point(|place| cover[*place] > 0);
        let at = |place: usize| (place % wide, place / wide);
        let full = spread(&places[..full.max(1)]);
        let empty = spread(&places[empty..]);
        let pairs = full.into_iter().zip(empty.into_iter().cycle());
        Some(Ink {
            wide,
            high,
            pairs: pairs.map(|(full, empty)| (at(full), at(empty))).collect(),
            cover,
        })
    }

    fn find(&self, grey: &[u8], wide: usize) -> Vec<(usize, usize)> {
        let high = grey.len() / wide.max(1);
        let mut found: Vec<(usize, usize)> = Vec::new();
        if wide < self.wide || high < self.high {
            return found;
        }
        let pairs: Vec<(usize, usize)> = self
            .pairs
            .iter()
            .map(|((x, y), (u, v))| (y * wide + x, v * wide + u))
            .collect();
        let places = wide - self.wide + 1;
        let mut stands_out = vec![true; places];
        for y in 0..=high - self.high {
            let row = &grey[y * wide..];
            stands_out.fill(true);
            // A whole row for one pair of pixels after the other: the compiler makes vectors of that.
            let some = pairs.iter().all(|(full, empty)| {
                let pixels = row[*full..].iter().zip(&row[*empty..]);
                let mut some = false;
                for (stands_out, (full, empty)) in stands_out.iter_mut().zip(pixels) {
                    *stands_out &= *full >= empty.saturating_add(STANDS_OUT);
                    some |= *stands_out;
                }
                some
            });
            for x in (0..places).filter(|x| some && stands_out[*x]) {
                if self.is_at(grey, wide, y * wide + x) {
                    found.push((x + self.wide / 2, y + self.high / 2));
                }
            }
        }
        found
    }

    /// Whether the picture matches the ink in every part of the text: a single wrong digit must not match.
    fn is_at(&self, grey: &[u8], wide: usize, from: usize) -> bool {
        let pixels = || {
            let lines = self.cover.chunks_exact(self.wide).enumerate();
            lines.flat_map(|(y, line)| {
                let seen = &grey[from + y * wide..][..self.wide];
                let pair = line.iter().zip(seen).enumerate();
                pair.map(|(x, (ink, seen))| (x, f64::from(*ink) / 255.0, f64::from(*seen)))
            })
        };
        let mut sums = [0.0_f64; 4];
        for (_, ink, seen) in pixels() {
            let more = [ink, seen, ink * ink, ink * seen];
            sums.iter_mut()
                .zip(more)
                .for_each(|(sum, more)| *sum += more);
        }
        let count = self.cover.len() as f64;
        let [ink, seen, square, both] = sums.map(|sum| sum / count);
        // The least-squares fit of the letters' brightness, relative to their background.
        let contrast = (both - ink * seen) / (square - ink * ink).max(1e-9);
        let ground = seen - contrast * ink;
        let mut apart = vec![0.0_f64; self.wide.div_ceil(PART)];
        for (x, ink, seen) in pixels() {
            apart[x / PART] += (seen - ground - contrast * ink).powi(2);
        }
        let most = (contrast * UNLIKE).powi(2) * (PART * self.high) as f64;
        contrast >= f64::from(STANDS_OUT) && apart.iter().all(|apart| *apart <= most)
    }
}

/// All font sizes in pixels, at this size of the window.
const SIZES: [f32; 8] = [
    KEYS,
    theme::SMALL,
    theme::BODY,
    theme::HEADING,
    OVER,
    theme::TITLE * 0.82,
    theme::TITLE,
    theme::TITLE * 1.5,
];
/// The headings of panels over a match.
const OVER: f32 = 24.0;
/// The keys on the buttons of the command card.
const KEYS: f32 = 10.0;
/// Free space beside a text that stands alone, relative to its size: clearly more than a space.
const ALONE: f32 = 0.45;
/// The same in pixels: a field's frame is close to its text.
const LEAST_ALONE: f32 = 8.0;
/// Pixels of a text that are compared first.
const PAIRS: usize = 12;
/// The coverage of pixels that are covered, or nearly.
const FULL: u8 = 200;
/// The least difference in brightness between such a pixel and one beside the letters.
const STANDS_OUT: u8 = 24;
/// Columns of a part of a text: about a letter.
const PART: usize = 6;
/// Greatest root mean square difference of a part from the ink, relative to the contrast.
const UNLIKE: f64 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture with texts on an uneven background.
    fn page(words: &[((f32, f32), &str, f32)]) -> Picture {
        let mut canvas = Canvas::new();
        canvas.begin((400.0, 200.0), 1.0);
        let whole = canvas.whole();
        canvas.shade(whole, theme::PANEL_TOP, theme::FIELD);
        for (at, text, size) in words {
            canvas.text(*at, text, *size, Weight::Bold, theme::FAINT);
        }
        let rgb = Still::of(&mut canvas, theme::GROUND).draw();
        Picture {
            wide: 400,
            high: 200,
            rgb,
        }
    }

    #[test]
    fn texts_are_found_where_they_stand_alone() {
        let page = page(&[
            ((20.0, 20.0), "Join", theme::BODY),
            ((20.0, 80.0), "Join a match", theme::BODY),
            ((20.0, 165.0), "Join a match", theme::TITLE * 0.82),
            ((200.0, 140.0), "Joint", theme::HEADING),
            ((20.0, 110.0), "turn 300 of 744   tick 1202", theme::SMALL),
        ]);
        let mut pen = Pen::default();
        let found = pen.find("Join", &page);
        assert!(matches!(found[..], [(30..40, 25..35)]), "{found:?}");
        assert_eq!(pen.find("Join a match", &page).len(), 2);
        assert_eq!(pen.find("Joint", &page).len(), 1);
        assert_eq!(pen.find("turn 300 of 744   tick 1202", &page).len(), 1);
        let others = ["turn 300 of 744   tick 1200", "turn 308 of 744   tick 1202"];
        let absent = ["Quit", "a match", "Join a watch", "oin"];
        for absent in others.iter().chain(&absent) {
            assert_eq!(pen.find(absent, &page), [], "{absent}");
        }
    }
}
