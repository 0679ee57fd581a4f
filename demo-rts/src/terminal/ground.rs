//! The map: terrain, buildings, units and cursor.

use super::controls::Hand;
use crate::world::{
    BuildingView, Id, Kind, Order, ProjectileView, Seen, Terrain, Tile, UnitView, World,
};
use lockstep::Seat;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

pub(super) fn colour(seat: Seat) -> Color {
    COLOURS[usize::from(seat.0) % COLOURS.len()].0
}

pub fn colour_name(seat: Seat) -> &'static str {
    COLOURS[usize::from(seat.0) % COLOURS.len()].1
}

/// How tiles map to cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// A tile is two cells wide and one high, and so about square. The view follows the cursor.
    Close,
    /// A cell shows a block of tiles: the whole map fits.
    Whole {
        /// Tiles across a cell; twice as many lie down it.
        tiles: u16,
    },
}

/// Which part of the map is shown, and where on the screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    area: Rect,
    scale: Scale,
    /// The tile in the upper left cell.
    corner: Tile,
    size: u16,
}

impl Frame {
    /// Fits the whole map into `area`, or a close view around the cursor.
    pub fn new(area: Rect, size: u16, close: bool, cursor: Tile) -> Frame {
        let fits_close = u32::from(size) * 2 <= u32::from(area.width) && size <= area.height;
        if !close && !fits_close {
            let wide = size.div_ceil(area.width.max(1));
            let high = size.div_ceil(area.height.max(1)).div_ceil(2);
            let tiles = wide.max(high).max(1);
            return Frame {
                area: centred(area, size.div_ceil(tiles), size.div_ceil(tiles * 2)),
                scale: Scale::Whole { tiles },
                corner: Tile::new(0, 0),
                size,
            };
        }
        let scroll = |cursor: u16, shown: u16| {
            let last = size.saturating_sub(shown);
            cursor.saturating_sub(shown / 2).min(last)
        };
        Frame {
            area: centred(area, size.saturating_mul(2), size),
            scale: Scale::Close,
            corner: Tile::new(
                scroll(cursor.x, area.width / 2),
                scroll(cursor.y, area.height),
            ),
            size,
        }
    }

    /// The upper left and lower right tile of a close view; `None` for the whole map, where single units cannot be
    /// told apart.
    pub fn shown(&self) -> Option<(Tile, Tile)> {
        let to = |from: u16, cells: u16| from.saturating_add(cells.saturating_sub(1));
        let (corner, area) = (self.corner, self.area);
        (self.scale == Scale::Close).then(|| {
            let last = Tile::new(to(corner.x, area.width / 2), to(corner.y, area.height));
            (corner, last)
        })
    }

    /// The first cell of a tile, and its width in cells; `None` off the screen.
    fn cell(&self, tile: Tile) -> Option<(u16, u16, u16)> {
        let (column, row, wide) = match self.scale {
            Scale::Close => {
                let column = tile.x.checked_sub(self.corner.x)?.checked_mul(2)?;
                (column, tile.y.checked_sub(self.corner.y)?, 2)
            }
            Scale::Whole { tiles } => (tile.x / tiles, tile.y / tiles.saturating_mul(2), 1),
        };
        let seen = column + wide <= self.area.width && row < self.area.height;
        seen.then(|| (self.area.x + column, self.area.y + row, wide))
    }
}

/// Draws the whole world, or what the hand's seat may know of it.
pub(super) fn draw(world: &World, frame: &Frame, hand: Option<&Hand>, buffer: &mut Buffer) {
    let seen = hand.and_then(|hand| known(world, hand.seat()));
    draw_terrain(world, seen, frame, buffer);
    let selected = |id: Id| hand.is_some_and(|hand| hand.selection.binary_search(&id).is_ok());
    let buildings: Vec<BuildingView> = match seen {
        Some(seen) => seen.buildings().collect(),
        None => world.buildings().collect(),
    };
    for building in buildings {
        let size = building.kind.stats().size;
        for dy in 0..size {
            for dx in 0..size {
                let tile = Tile::new(building.tile.x + dx, building.tile.y + dy);
                let thing = Thing {
                    seat: building.seat,
                    letter: letter(building.kind),
                    solid: true,
                    dim: !building.complete || building.remembered,
                    selected: selected(building.id),
                };
                thing.draw(frame, tile, buffer);
            }
        }
    }
    let units: Vec<UnitView> = match seen {
        Some(seen) => seen.units().collect(),
        None => world.units().collect(),
    };
    let on_map = |unit: &&UnitView| unit.order != Order::Inside;
    for unit in units.iter().filter(on_map) {
        let thing = Thing {
            seat: unit.seat,
            letter: letter(unit.kind),
            solid: false,
            dim: false,
            selected: selected(unit.id),
        };
        thing.draw(frame, unit.tile, buffer);
    }
    let arrows: Vec<ProjectileView> = match seen {
        Some(seen) => seen.projectiles().collect(),
        None => world.projectiles().collect(),
    };
    for arrow in arrows {
        let cell = frame.cell(Tile::of(arrow.at)).map(|(x, y, _)| (x, y));
        if let Some(cell) = cell.filter(|cell| buffer[*cell].symbol() == " ") {
            buffer[cell].set_char('\'').set_fg(Color::White);
        }
    }
    if let Some(hand) = hand {
        let site = hand.footprint(world);
        if site.is_empty() {
            draw_cursor(frame, hand, buffer);
        }
        for (tile, open) in site {
            let colour = if open { Color::Green } else { Color::Red };
            tint(frame, tile, colour, buffer);
        }
    }
}

/// What a seat may know while it is in the match. A defeated player may see all.
fn known(world: &World, seat: Seat) -> Option<Seen<'_>> {
    world.seen_by(seat).filter(|seen| !seen.seat().defeated)
}

/// A unit, or one tile of a building.
struct Thing {
    seat: Seat,
    letter: char,
    solid: bool,
    dim: bool,
    selected: bool,
}

impl Thing {
    /// Close: the letter of its kind and the number of its seat. Whole map: the number only.
    fn draw(&self, frame: &Frame, tile: Tile, buffer: &mut Buffer) {
        let Some((x, y, wide)) = frame.cell(tile) else {
            return;
        };
        let own = colour(self.seat);
        let mut style = if self.solid {
            Style::new().fg(Color::Black).bg(own)
        } else {
            Style::new().fg(own).add_modifier(Modifier::BOLD)
        };
        if self.dim {
            style = style.add_modifier(Modifier::DIM);
        }
        if self.selected {
            style = style.add_modifier(Modifier::REVERSED | Modifier::UNDERLINED);
        }
        let digit = char::from_digit(u32::from(self.seat.0), 36).unwrap_or('?');
        if wide == 1 {
            buffer[(x, y)].set_char(digit).set_style(style);
        } else {
            buffer[(x, y)].set_char(self.letter).set_style(style);
            buffer[(x + 1, y)].set_char(digit).set_style(style);
        }
    }
}

fn draw_terrain(world: &World, seen: Option<Seen<'_>>, frame: &Frame, buffer: &mut Buffer) {
    let map = world.map();
    match frame.scale {
        Scale::Close => {
            for y in frame.corner.y..frame.size {
                for x in frame.corner.x..frame.size {
                    let tile = Tile::new(x, y);
                    let Some((column, row, wide)) = frame.cell(tile) else {
                        break;
                    };
                    let sight = sight(seen, tile);
                    for column in column..column + wide {
                        paint(map.terrain(tile), sight, buffer, column, row);
                    }
                }
            }
        }
        Scale::Whole { tiles } => {
            let high = tiles.saturating_mul(2);
            for y in (0..frame.size).step_by(usize::from(high)) {
                for x in (0..frame.size).step_by(usize::from(tiles)) {
                    if let Some((column, row, _)) = frame.cell(Tile::new(x, y)) {
                        let corner = Tile::new(x, y);
                        let (most, sight) = commonest(world, seen, corner, tiles, high);
                        paint(most, sight, buffer, column, row);
                    }
                }
            }
        }
    }
}

/// How well a seat knows a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sight {
    Unexplored,
    Explored,
    Now,
}

fn sight(seen: Option<Seen<'_>>, tile: Tile) -> Sight {
    match seen {
        Some(seen) if !seen.explored(tile) => Sight::Unexplored,
        Some(seen) if !seen.sees(tile) => Sight::Explored,
        _ => Sight::Now,
    }
}

/// The most common terrain among the known tiles of a block, and the best knowledge of any. Gold always wins.
fn commonest(
    world: &World,
    seen: Option<Seen<'_>>,
    corner: Tile,
    wide: u16,
    high: u16,
) -> (Terrain, Sight) {
    let map = world.map();
    let mut counts = [0_u16; TERRAINS.len()];
    let mut best = Sight::Unexplored;
    for y in corner.y..corner.y.saturating_add(high).min(map.size()) {
        for x in corner.x..corner.x.saturating_add(wide).min(map.size()) {
            let sight = sight(seen, Tile::new(x, y));
            if sight == Sight::Unexplored {
                continue;
            }
            best = best.max(sight);
            counts[map.terrain(Tile::new(x, y)) as usize] += 1;
        }
    }
    if counts[Terrain::Gold as usize] > 0 {
        return (Terrain::Gold, best);
    }
    let most = (0..TERRAINS.len()).max_by_key(|kind| (counts[*kind], TERRAINS.len() - kind));
    (TERRAINS[most.unwrap_or(0)], best)
}

fn paint(terrain: Terrain, sight: Sight, buffer: &mut Buffer, x: u16, y: u16) {
    let (letter, colour) = match terrain {
        _ if sight == Sight::Unexplored => ('.', Color::DarkGray),
        Terrain::Ground => (' ', Color::Reset),
        Terrain::Forest => ('^', Color::Green),
        Terrain::Gold => ('$', Color::LightYellow),
        Terrain::Rock => ('#', Color::DarkGray),
        Terrain::Water => ('~', Color::Blue),
    };
    let mut style = Style::new().fg(colour);
    if sight == Sight::Explored {
        style = style.add_modifier(Modifier::DIM);
    }
    buffer[(x, y)].set_char(letter).set_style(style);
}

fn draw_cursor(frame: &Frame, hand: &Hand, buffer: &mut Buffer) {
    let (from, to) = hand.marked();
    for y in from.y..=to.y {
        for x in from.x..=to.x {
            tint(frame, Tile::new(x, y), Color::White, buffer);
        }
    }
}

/// Tints a tile, in place of any other mark on it.
fn tint(frame: &Frame, tile: Tile, colour: Color, buffer: &mut Buffer) {
    let Some((x, y, wide)) = frame.cell(tile) else {
        return;
    };
    for x in x..x + wide {
        let style = Style::reset().bg(colour).fg(Color::Black);
        buffer[(x, y)].set_style(style);
    }
}

/// The middle of `area`, at most this large.
fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    }
}

fn letter(kind: Kind) -> char {
    match kind {
        Kind::Worker => 'w',
        Kind::Swordsman => 's',
        Kind::Archer => 'a',
        Kind::TownHall => 'T',
        Kind::House => 'H',
        Kind::Barracks => 'B',
        Kind::Knight => 'k',
        Kind::Range => 'R',
        Kind::Stable => 'S',
        Kind::Tower => 'I',
        Kind::Farm => 'F',
        Kind::Wall => 'W',
        Kind::Catapult => 't',
        Kind::Workshop => 'M',
    }
}

const TERRAINS: [Terrain; 5] = [
    Terrain::Ground,
    Terrain::Forest,
    Terrain::Gold,
    Terrain::Rock,
    Terrain::Water,
];
const COLOURS: [(Color, &str); 8] = [
    (Color::Red, "red"),
    (Color::Yellow, "yellow"),
    (Color::LightBlue, "blue"),
    (Color::LightGreen, "green"),
    (Color::Magenta, "purple"),
    (Color::Cyan, "cyan"),
    (Color::LightRed, "pink"),
    (Color::White, "white"),
];
