//! A map before its match, drawn like the world on a thread of its own.

use super::kit;
use crate::window::canvas::{Canvas, Colour, Kept, PictureId, Rect};
use crate::world::{MapKind, Setup, Terrain, Tile, World};
use lockstep::Seat;
use sim::{Seed, Simulation as _, Start};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

/// Which map to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The host's setup; without a map number there is nothing to draw.
    pub setup: Setup,
    pub seats: u8,
}

impl Wanted {
    /// A standard match on this kind of map.
    pub fn new(kind: MapKind, seed: u64, seats: u8) -> Wanted {
        let setup = Setup {
            map: Some(kind),
            map_seed: Some(seed),
            ..Setup::default()
        };
        Wanted { setup, seats }
    }
}

/// A drawn map, one pixel per tile, and its starting places. Only the match seed decides which seat starts where.
struct Drawn {
    edge: u16,
    rgba: Vec<u8>,
    starts: Vec<Tile>,
}

/// The most recently requested map.
#[derive(Default)]
pub struct Preview {
    wanted: Option<Wanted>,
    work: Option<Receiver<Drawn>>,
    drawn: Option<Drawn>,
    picture: Option<Kept<PictureId>>,
}

impl Preview {
    /// Draws the map into a square area once it is known. Returns whether it was.
    pub fn show(&mut self, wanted: &Wanted, area: Rect, canvas: &mut Canvas) -> bool {
        self.want(wanted, canvas);
        let (Some(drawn), Some(picture)) = (&self.drawn, &self.picture) else {
            return false;
        };
        let edge = f32::from(drawn.edge);
        let whole = Rect::new(0.0, 0.0, edge, edge);
        canvas.picture(picture.id(), whole, area, [255; 4]);
        let side = canvas.units(16.0);
        for tile in &drawn.starts {
            let at = |tile: u16| (f32::from(tile) + 0.5) / edge;
            let (x, y) = (area.x + at(tile.x) * area.w, area.y + at(tile.y) * area.h);
            let mark = Rect::new(
                (x - side / 2.0).round(),
                (y - side / 2.0).round(),
                side,
                side,
            );
            kit::free_place(canvas, mark);
        }
        true
    }

    /// Fills an area with a part of the map of the same proportions; `at`, from 0 to 1, moves it.
    pub fn fill(&mut self, wanted: &Wanted, area: Rect, at: f32, canvas: &mut Canvas) {
        self.want(wanted, canvas);
        let (Some(drawn), Some(picture)) = (&self.drawn, &self.picture) else {
            return;
        };
        let edge = f32::from(drawn.edge);
        let (w, h) = match area.w > area.h {
            true => (edge * SHOWN, edge * SHOWN * area.h / area.w.max(1.0)),
            false => (edge * SHOWN * area.w / area.h.max(1.0), edge * SHOWN),
        };
        let part = Rect::new((edge - w) * at, (edge - h) / 2.0, w, h);
        canvas.picture(picture.id(), part, area, [255; 4]);
    }

    fn want(&mut self, wanted: &Wanted, canvas: &mut Canvas) {
        if self.wanted.as_ref() != Some(wanted) {
            self.wanted = Some(wanted.clone());
            self.drawn = None;
            let (done, work) = channel();
            let wanted = wanted.clone();
            // An outdated map is still drawn to its end, which takes a moment, and dropped.
            let begun = std::thread::Builder::new().name("map".to_owned());
            // Without a thread there is no picture.
            let begun = begun.spawn(move || done.send(draw(&wanted)));
            self.work = begun.is_ok().then_some(work);
        }
        match self.work.as_ref().map(Receiver::try_recv) {
            Some(Ok(mut drawn)) => {
                let kept = self.picture.get_or_insert_with(|| canvas.keep_picture());
                let id = kept.id();
                let picture = canvas.picture_mut(id);
                (picture.width, picture.height) = (drawn.edge, drawn.edge);
                picture.rgba = std::mem::take(&mut drawn.rgba);
                picture.smooth = true;
                self.drawn = Some(drawn);
                self.work = None;
            }
            Some(Err(TryRecvError::Disconnected)) => self.work = None,
            Some(Err(TryRecvError::Empty)) | None => {}
        }
    }
}

fn draw(wanted: &Wanted) -> Drawn {
    let world = World::new(&Start {
        setup: wanted.setup.clone(),
        seed: Seed([0; 32]),
        seats: (0..wanted.seats).map(Seat).collect(),
    });
    let map = world.map();
    let edge = map.size();
    let tiles = (0..edge).flat_map(|y| (0..edge).map(move |x| Tile::new(x, y)));
    let rgba = tiles
        .flat_map(|tile| ground(map.terrain(tile), tile))
        .collect();
    let starts = world.buildings();
    let starts = starts.map(|hall| Tile::of(hall.centre)).collect();
    Drawn { edge, rgba, starts }
}

fn ground(terrain: Terrain, tile: Tile) -> Colour {
    let [red, green, blue] = match terrain {
        Terrain::Ground => [104, 126, 70],
        Terrain::Forest => [52, 84, 44],
        Terrain::Gold => [236, 192, 72],
        Terrain::Rock => [112, 110, 104],
        Terrain::Water => [46, 102, 150],
    };
    // Some variation, so that wide land does not look flat.
    let word = (u32::from(tile.x) << 16 | u32::from(tile.y)).wrapping_mul(0x9e37_79b9);
    let less = (word >> 29) as u8;
    [red - less, green - less, blue - less, 255]
}

/// How much of the map's edge is visible where it fills the window.
const SHOWN: f32 = 0.7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::readability::until;
    use crate::window::theme;

    #[test]
    fn a_preview_equals_the_map_of_its_match() {
        let wanted = Wanted::new(MapKind::Lakes, 4_711, 4);
        let drawn = draw(&wanted);
        assert_eq!(drawn.starts.len(), 4);
        let pixels = usize::from(drawn.edge) * usize::from(drawn.edge);
        assert_eq!(drawn.rgba.len(), 4 * pixels);
        let blue = drawn.rgba.chunks(4).filter(|rgba| rgba[2] > 130).count();
        assert!(blue > pixels / 50, "there are lakes: {blue}");
        let other = draw(&Wanted::new(MapKind::Lakes, 4_712, 4));
        assert_ne!(drawn.rgba, other.rgba);
    }

    /// Starting places of a match with this seed, by seat.
    fn starts(wanted: &Wanted, seed: u8) -> Vec<Tile> {
        let world = World::new(&Start {
            setup: wanted.setup.clone(),
            seed: Seed([seed; 32]),
            seats: (0..wanted.seats).map(Seat).collect(),
        });
        world
            .buildings()
            .map(|hall| Tile::of(hall.centre))
            .collect()
    }

    #[test]
    fn starting_places_have_no_seat_before_the_match() {
        let wanted = Wanted::new(MapKind::Plains, 4_711, 4);
        let sorted = |mut tiles: Vec<Tile>| {
            tiles.sort_by_key(|tile| (tile.y, tile.x));
            tiles
        };
        let drawn = sorted(draw(&wanted).starts);
        let of_matches: Vec<_> = (0..8).map(|seed| starts(&wanted, seed)).collect();
        // The places are the same in every match; their seats are not.
        assert!(of_matches.iter().any(|starts| *starts != of_matches[0]));
        for starts in of_matches {
            assert_eq!(sorted(starts), drawn);
        }
        let mut preview = Preview::default();
        let mut canvas = Canvas::new();
        until("the map is drawn", || {
            canvas.begin((400.0, 400.0), 1.0);
            let whole = canvas.whole();
            preview.show(&wanted, whole, &mut canvas).then_some(())
        });
        let marks = canvas.texts().iter();
        assert_eq!(marks.filter(|text| text.text == "?").count(), 4);
        let (corners, _) = canvas.triangles();
        for seat in 0..8 {
            let colour = theme::seat(seat);
            assert!(!corners.iter().any(|corner| corner.colour == colour));
        }
    }
}
