//! The page of a match against bots.

use super::front::{Front, any_map};
use super::kit::{self, ROW, Rows, buttons, choice, labelled, page};
use super::length::Length;
use super::preview::Wanted;
use crate::bot::Level;
use crate::cli::Common;
use crate::peer::Part;
use crate::window::canvas::{Canvas, Rect};
use crate::window::input::{Input, KeyCode};
use crate::window::ui::{Memory, Ui};
use crate::window::words::menu as words;
use crate::window::{Next, Screen, theme};
use crate::world::MapKind;
use std::rc::Rc;

/// The choice of a map.
#[derive(Clone, Debug)]
pub(super) struct MapChoice {
    kind: usize,
    seed: String,
}

impl MapChoice {
    /// As the command line says, or else random.
    pub fn of(common: &Common) -> MapChoice {
        let seed = common.map_seed.unwrap_or_else(any_map);
        let named = MapKind::ALL
            .iter()
            .position(|kind| Some(*kind) == common.map);
        MapChoice {
            kind: named.unwrap_or((seed % MapKind::ALL.len() as u64) as usize),
            seed: seed.to_string(),
        }
    }

    pub fn kind(&self) -> MapKind {
        MapKind::ALL[self.kind % MapKind::ALL.len()]
    }

    /// The map's number, if the text is one.
    pub fn seed(&self) -> Option<u64> {
        self.seed.trim().parse().ok()
    }

    /// The map for this many seats.
    pub fn wanted(&self, seats: u8) -> Option<Wanted> {
        Some(Wanted::new(self.kind(), self.seed()?, seats))
    }

    /// Two rows to choose it, with this height and gap.
    pub fn rows(&mut self, ui: &mut Ui<'_>, rows: &mut Rows, (high, gap): (f32, f32)) {
        let beside = ui.units(12.0);
        let area = labelled(ui, rows.next(high, gap), words::LAND);
        let names = MapKind::ALL.map(words::land);
        choice(ui, area, &names, &mut self.kind);
        let area = labelled(ui, rows.next(high, gap), words::SEED);
        let wide = kit::button_width(ui, words::RANDOM);
        let field = Rect::new(area.x, area.y, (area.w - wide - beside).max(0.0), area.h);
        ui.field(field, &mut self.seed, "", SEED_BYTES);
        let button = Rect::new(area.right() - wide, area.y, wide, area.h);
        if ui.button(button, words::RANDOM) {
            self.seed = any_map().to_string();
        }
    }

    /// Draws the map in a square at the right of the room, with a description. Returns the room that is left.
    pub fn show(&self, ui: &mut Ui<'_>, front: &Front, room: Rect, seats: u8) -> Rect {
        let gap = ui.units(24.0);
        let text = ui.canvas.line_height(ui.units(theme::SMALL)) * 3.0 + ui.units(8.0);
        let side = (room.h - text).min(room.w * 0.45).max(0.0).floor();
        let map = Rect::new(room.right() - side, room.y, side, side);
        match self.wanted(seats) {
            Some(wanted) => front.draw_map(&wanted, map, ui),
            None => {
                ui.canvas.rect(map, theme::FIELD);
                let inner = map.inset(gap);
                ui.paragraph(
                    (inner.x, inner.y),
                    inner.w,
                    words::BAD_SEED,
                    theme::BODY,
                    theme::BAD,
                );
            }
        }
        let at = (map.x, map.bottom() + ui.units(6.0));
        let purpose = words::land_purpose(self.kind());
        let about = format!("{purpose} {}", words::STARTS);
        ui.paragraph(at, map.w, &about, theme::SMALL, theme::FAINT);
        Rect::new(room.x, room.y, (room.w - side - gap).max(0.0), room.h)
    }
}

/// Levels of bots, easiest first.
pub(in crate::window) const LEVELS: [Level; 3] = [Level::Easy, Level::Normal, Level::Hard];

pub struct Skirmish {
    front: Rc<Front>,
    memory: Memory,
    opponents: usize,
    level: usize,
    place: MapChoice,
    length: Length,
    message: String,
}

impl Skirmish {
    /// With the defaults.
    pub fn new(front: Rc<Front>) -> Skirmish {
        let length = Length::of(&front.common);
        let mut memory = Memory::default();
        memory.focus(START_FOCUS + length.buttons());
        Skirmish {
            place: MapChoice::of(&front.common),
            length,
            front,
            memory,
            opponents: 2,
            level: 1,
            message: String::new(),
        }
    }

    fn start(&mut self) -> Next {
        let front = &self.front;
        let seats = self.opponents as u8 + 2;
        let Some(seed) = self.place.seed() else {
            self.message = words::BAD_SEED.to_owned();
            return Next::Stay;
        };
        let mut common = front.common.clone();
        common.map_seed = Some(seed);
        common.map = Some(self.place.kind());
        common.minutes = Some(self.length.minutes());
        let bots = front.bots(LEVELS[self.level], true);
        match front.begin(&Part::Alone { seats }, bots, common, true) {
            Ok(begun) => Next::Replace(front.game(words::SKIRMISH, begun.peer, &begun.notes)),
            Err(why) => {
                self.message = why;
                Next::Stay
            }
        }
    }
}

impl Screen for Skirmish {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        let front = self.front.clone();
        front.draw_ground(input, canvas);
        let mut ui = Ui::new(canvas, input, &mut self.memory);
        let room = page(&mut ui, words::SKIRMISH, (920.0, 446.0));
        let seats = self.opponents as u8 + 2;
        let left = self.place.show(&mut ui, &front, room, seats);
        let (high, gap) = (ui.units(ROW), ui.units(12.0));
        let mut rows = Rows::new(left);
        let area = labelled(&mut ui, rows.next(high, gap), words::OPPONENTS);
        let counts = ["1", "2", "3", "4", "5", "6", "7"];
        choice(&mut ui, area, &counts, &mut self.opponents);
        let area = labelled(&mut ui, rows.next(high, gap), words::LEVEL);
        choice(&mut ui, area, &LEVELS.map(words::level), &mut self.level);
        self.place.rows(&mut ui, &mut rows, (high, gap));
        self.length.row(&mut ui, &mut rows, (high, gap));
        let rest = rows.rest();
        ui.paragraph(
            (rest.x, rest.y),
            rest.w,
            &self.message,
            theme::BODY,
            theme::BAD,
        );
        let row = Rect::new(left.x, left.bottom() - high, left.w, high);
        let pressed = buttons(&mut ui, row, &[(words::START, true), (words::BACK, true)]);
        ui.finish();
        match pressed {
            Some(0) => self.start(),
            Some(_) => Next::Back,
            None if input.hit(KeyCode::Escape) => Next::Back,
            None => Next::Stay,
        }
    }
}

/// The focus starts on the last button, which starts the match: a player in a hurry presses Enter.
const START_FOCUS: usize = 7 + 3 + 3 + 2 + 1;
const SEED_BYTES: usize = 20;
