//! What each seat sees, has explored, and remembers.
//!
//! Every seat has two bitmaps, a bit a tile: the tiles that its units and buildings see, and those that they
//! ever saw. A seat's bitmaps are refreshed in every eighth tick, each seat's in a tick of its own. So they
//! are state: between two refreshes they do not follow from where the units stand.

use super::{Id, Kind, World, columns::columns, map::Map, setup::MOST_SEATS, tile::Tile};
use sim::{Field, LoadError, Reader, Sink, Visit};

columns! {
    /// Other seats' buildings that a seat has seen and not yet seen gone, by ascending viewer and id.
    Ghosts of Ghost {
        /// Row in the seats' table of the seat that remembers.
        viewer: u8,
        id: u32,
        kind: Kind,
        /// Row of the owner in the seats' table.
        seat: u8,
        /// Upper left tile.
        tile: u32,
        /// As last seen.
        hp: u16,
        /// 1: it was more than a foundation.
        complete: u8,
    }
}

impl Ghosts {
    pub fn len(&self) -> usize {
        self.id.len()
    }

    pub fn row(&self, at: usize) -> Ghost {
        Ghost {
            viewer: self.viewer[at],
            id: self.id[at],
            kind: self.kind[at],
            seat: self.seat[at],
            tile: self.tile[at],
            hp: self.hp[at],
            complete: self.complete[at],
        }
    }

    /// Adds what was seen for the first time, or brings the memory of it up to date.
    fn remember(&mut self, seen: Ghost) {
        let key = (seen.viewer, seen.id);
        let at = self.viewer.partition_point(|viewer| *viewer < key.0);
        let own = self.viewer.partition_point(|viewer| *viewer <= key.0);
        match self.id[at..own].binary_search(&key.1) {
            Ok(place) => {
                self.hp[at + place] = seen.hp;
                self.complete[at + place] = seen.complete;
            }
            Err(place) => {
                let mut rows: Vec<Ghost> = (0..self.len()).map(|row| self.row(row)).collect();
                rows.insert(at + place, seen);
                *self = Ghosts::default();
                for row in rows {
                    self.push(row);
                }
            }
        }
    }
}

/// The bitmaps of all seats. Without fog they are empty, and every seat sees everything.
#[derive(Clone, Debug, Default)]
pub(super) struct Fog {
    /// Tiles along an edge of the map. Follows from the map.
    size: u16,
    /// For each seat, for each line of the map, whole words: bit `x % 64` of word `x / 64` is a tile.
    visible: Vec<u64>,
    explored: Vec<u64>,
    pub ghosts: Ghosts,
}

impl Fog {
    /// All dark, for this many seats; without fog, empty.
    pub fn new(on: bool, size: u16, seats: usize) -> Self {
        let words = if on {
            seats * usize::from(size) * words(size)
        } else {
            0
        };
        Self {
            size,
            visible: vec![0; words],
            explored: vec![0; words],
            ghosts: Ghosts::default(),
        }
    }

    /// Whether a row of the seats' table sees the tile now. No seat sees beyond the edge.
    pub fn sees(&self, seat: usize, tile: Tile) -> bool {
        self.is_set(&self.visible, seat, tile)
    }

    /// Whether a row of the seats' table ever saw the tile.
    pub fn explored(&self, seat: usize, tile: Tile) -> bool {
        self.is_set(&self.explored, seat, tile)
    }

    /// Whether a row of the seats' table sees any tile of a square.
    pub fn sees_any(&self, seat: usize, tile: Tile, size: u16) -> bool {
        (0..size).any(|dy| {
            (0..size).any(|dx| {
                let part = Tile::new(tile.x.saturating_add(dx), tile.y.saturating_add(dy));
                self.sees(seat, part)
            })
        })
    }

    fn is_set(&self, bits: &[u64], seat: usize, tile: Tile) -> bool {
        if tile.x >= self.size || tile.y >= self.size {
            return false;
        }
        if bits.is_empty() {
            return true;
        }
        let line = (seat * usize::from(self.size) + usize::from(tile.y)) * words(self.size);
        bits[line + usize::from(tile.x / 64)] >> (tile.x % 64) & 1 == 1
    }

    /// The words of one seat.
    fn plane(&self, seat: usize) -> std::ops::Range<usize> {
        let length = usize::from(self.size) * words(self.size);
        seat * length..(seat + 1) * length
    }

    /// Writes the bitmaps; their length follows from the settings.
    pub fn write(&self, to: &mut impl Sink) {
        to.field("visible");
        to.column(&self.visible);
        to.field("explored");
        to.column(&self.explored);
        to.section("ghosts");
        to.value(self.ghosts.len() as u32);
        self.ghosts.write(to);
    }

    /// Reads what [`Fog::write`] wrote. The ghosts are checked by [`check_ghosts`].
    pub fn load(
        from: &mut Reader<'_>,
        on: bool,
        size: u16,
        seats: usize,
    ) -> Result<Self, LoadError> {
        let mut fog = Fog::new(on, size, 0);
        let lines = if on { seats * usize::from(size) } else { 0 };
        let words_in_all = (lines * words(size)) as u32;
        fog.visible = from.column(words_in_all)?;
        fog.explored = from.column(words_in_all)?;
        let mut both = fog.visible.iter().zip(&fog.explored);
        from.require(both.all(|(now, ever)| now & !ever == 0), "visible")?;
        // Bits beyond the edge would be a second way to write the same world.
        let last = (0..fog.explored.len()).filter(|at| at % words(size) == words(size) - 1);
        let beyond = if size.is_multiple_of(64) {
            0
        } else {
            u64::MAX << (size % 64)
        };
        for at in last {
            from.require(fog.explored[at] & beyond == 0, "explored")?;
        }
        let rows = from.value()?;
        fog.ghosts = Ghosts::load(from, rows)?;
        Ok(fog)
    }

    /// Describes everything, a row for each line of each seat's map.
    pub fn visit(&self, to: &mut dyn Visit) {
        let words = words(self.size);
        let lines = self.visible.len() / words.max(1);
        if to.section("fog", lines) {
            for line in 0..lines {
                if to.row(line as u64) {
                    let words = line * words..(line + 1) * words;
                    to.field("visible", &Bits(&self.visible[words.clone()]));
                    to.field("explored", &Bits(&self.explored[words]));
                }
            }
        }
        let ids = (0..self.ghosts.len())
            .map(|row| u64::from(self.ghosts.viewer[row]) << 32 | u64::from(self.ghosts.id[row]));
        self.ghosts.visit("ghosts", ids, to);
    }
}

/// Words of a line.
fn words(size: u16) -> usize {
    usize::from(size.div_ceil(64))
}

/// Refreshes the seat whose turn it is in this tick.
pub(super) fn refresh(w: &mut World) {
    let turn = (w.tick % PERIOD) as usize;
    if turn < w.seats.len() {
        look(w, turn);
    }
}

/// Refreshes all seats: before the first tick.
pub(super) fn refresh_all(w: &mut World) {
    for seat in 0..w.seats.len() {
        look(w, seat);
    }
}

/// What one seat sees from where its units and buildings stand.
fn look(w: &mut World, seat: usize) {
    if w.fog.visible.is_empty() {
        return;
    }
    let plane = w.fog.plane(seat);
    let size = w.fog.size;
    let visible = &mut w.fog.visible[plane.clone()];
    visible.fill(0);
    let own = seat as u8;
    let mut last = None;
    for row in 0..w.units.len() {
        if w.units.seat[row] != own || w.units.hp[row] == 0 {
            continue;
        }
        let from = (w.units.tile(row), w.units.stats(row).sight);
        // Crowds stand close together, in the order of their ids more often than not.
        if last != Some(from) {
            paint(visible, size, from.0, from.1);
            last = Some(from);
        }
    }
    for row in 0..w.buildings.len() {
        if w.buildings.seat[row] == own && w.buildings.hp[row] > 0 {
            let stats = w.buildings.kind[row].stats();
            let corner = w.map.tile_of(w.buildings.tile[row]);
            let middle = Tile::new(corner.x + stats.size / 2, corner.y + stats.size / 2);
            // A foundation costs too little to see by itself, so it sees nothing before the first work.
            if !w.buildings.is_solid(row) {
                continue;
            }
            // A building under construction shows its own place and no more.
            let sight = if w.buildings.is_complete(row) {
                stats.sight
            } else {
                stats.size
            };
            paint(visible, size, middle, sight);
        }
    }
    for (ever, now) in w.fog.explored[plane.clone()]
        .iter_mut()
        .zip(&w.fog.visible[plane])
    {
        *ever |= now;
    }
    remember(w, own);
}

/// Brings one seat's memory up to date with what it sees.
fn remember(w: &mut World, viewer: u8) {
    let seat = usize::from(viewer);
    for row in 0..w.buildings.len() {
        let b = &w.buildings;
        if b.seat[row] == viewer || b.hp[row] == 0 {
            continue;
        }
        let tile = w.map.tile_of(b.tile[row]);
        if w.fog.sees_any(seat, tile, b.kind[row].stats().size) {
            w.fog.ghosts.remember(Ghost {
                viewer,
                id: b.id[row],
                kind: b.kind[row],
                seat: b.seat[row],
                tile: b.tile[row],
                hp: b.hp[row],
                complete: u8::from(b.is_complete(row)),
            });
        }
    }
    let gone: Vec<bool> = (0..w.fog.ghosts.len())
        .map(|row| w.fog.ghosts.viewer[row] == viewer && is_seen_gone(w, &w.fog.ghosts.row(row)))
        .collect();
    if gone.contains(&true) {
        w.fog.ghosts.remove(&gone);
    }
}

/// Whether the seat that remembers this building sees its place without it.
pub(super) fn is_seen_gone(w: &World, ghost: &Ghost) -> bool {
    let tile = w.map.tile_of(ghost.tile);
    w.buildings.row(Id(ghost.id)).is_none()
        && w.fog
            .sees_any(usize::from(ghost.viewer), tile, ghost.kind.stats().size)
}

/// Sets the tiles of a disc, line by line.
fn paint(bits: &mut [u64], size: u16, middle: Tile, radius: u16) {
    let radius = radius.min(MOST_SIGHT);
    let words = words(size);
    let top = middle.y.saturating_sub(radius);
    let bottom = middle.y.saturating_add(radius).min(size - 1);
    let halves = &HALF_WIDTHS[usize::from(radius)];
    for y in top..=bottom {
        let half = u16::from(halves[usize::from(y.abs_diff(middle.y))]);
        let from = usize::from(middle.x.saturating_sub(half));
        let to = usize::from(middle.x.saturating_add(half).min(size - 1));
        let line = &mut bits[usize::from(y) * words..][..words];
        let (first, last) = (from / 64, to / 64);
        let left = u64::MAX << (from % 64);
        let right = u64::MAX >> (63 - to % 64);
        if first == last {
            line[first] |= left & right;
        } else {
            line[first] |= left;
            line[first + 1..last].fill(u64::MAX);
            line[last] |= right;
        }
    }
}

/// Half the width of a disc of each radius, at each distance from its middle line.
const HALF_WIDTHS: [[u8; MOST_SIGHT as usize + 1]; MOST_SIGHT as usize + 1] = {
    let mut table = [[0; MOST_SIGHT as usize + 1]; MOST_SIGHT as usize + 1];
    let mut radius = 0;
    while radius < table.len() {
        let mut away = 0;
        while away <= radius {
            let mut half: usize = 0;
            while (half + 1) * (half + 1) + away * away <= radius * radius + radius {
                half += 1;
            }
            table[radius][away] = half as u8;
            away += 1;
        }
        radius += 1;
    }
    table
};

/// Checks loaded ghosts: each is another seat's building that can have stood there.
pub(super) fn check_ghosts(w: &World, from: &Reader<'_>) -> Result<(), LoadError> {
    let ghosts = &w.fog.ghosts;
    let keys = || ghosts.viewer.iter().zip(&ghosts.id);
    from.require(keys().is_sorted_by(|a, b| a < b), "ghosts")?;
    from.require(ghosts.len() == 0 || w.setup.fog, "ghosts")?;
    for row in 0..ghosts.len() {
        let ghost = ghosts.row(row);
        let seats = w.seats.len();
        let known = usize::from(ghost.viewer) < seats && usize::from(ghost.seat) < seats;
        from.require(known && ghost.viewer != ghost.seat, "ghost seat")?;
        from.require(ghost.id > 0 && ghost.id < w.next_id, "ghost id")?;
        from.require(ghost.kind.is_building(), "ghost kind")?;
        let stats = ghost.kind.stats();
        let most = w.abilities.of(ghost.seat, ghost.kind).hit_points;
        from.require((1..=most).contains(&ghost.hp), "ghost")?;
        from.require(ghost.complete <= 1, "ghost")?;
        from.require(fits(&w.map, ghost.tile, stats.size), "ghost ground")?;
    }
    Ok(())
}

fn fits(map: &Map, tile: u32, size: u16) -> bool {
    let edge = u32::from(map.size());
    tile < edge * edge
        && tile % edge + u32::from(size) <= edge
        && tile / edge + u32::from(size) <= edge
}

/// A line of tiles, as a person reads it: the first tile first.
struct Bits<'a>(&'a [u64]);

impl Field for Bits<'_> {
    fn bytes(&self, out: &mut Vec<u8>) {
        out.column(self.0);
    }

    fn text(&self) -> String {
        let words = self
            .0
            .iter()
            .map(|word| format!("{:016x}", word.reverse_bits()));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// How far anything may see, in tiles.
pub(super) const MOST_SIGHT: u16 = 16;
/// Ticks from one refresh of a seat to the next.
const PERIOD: u32 = 8;
const _: () = assert!(PERIOD as usize >= MOST_SEATS, "each seat has its own tick");

#[cfg(test)]
mod tests;
