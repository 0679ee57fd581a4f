//! Where units are on their way to: one row for each place, shared by all who go there.
//!
//! A place costs a search, so the rows wait in line: in each tick a fixed number is opened, those of
//! orders before those of pursuits, and among these the one that waits longest. The table is state; the
//! ways that `nav` finds to the open ones are not.

use super::{
    World,
    columns::columns,
    combat::BURIAL_TICKS,
    nav::{FieldId, Goal},
    units::Way,
};

columns! {
    /// Places in use. Units name a row by its number, so free rows stay, with a size of 0.
    Goals of GoalRow {
        /// Upper left tile.
        tile: u32,
        /// Edge in tiles. 0: the row is free.
        size: u8,
        /// Tick at which somebody first asked for it.
        since: u32,
        /// 1: only those ask for it who pursue somebody.
        pursuit: u8,
        /// 1: ways to it are known.
        open: u8,
        /// Row in the seats' table of who asked first. Nobody may fill the table with places of their own.
        seat: u8,
    }
    derived {
        fields: Fields,
    }
}

/// What is known of the ways to open goals. Follows from the table, the ground and where units are.
#[derive(Clone, Debug, Default)]
struct Fields {
    /// For each row, under what name `nav` knows it.
    id: Vec<Option<FieldId>>,
    /// For each row, one bit for each sector that was prepared of late.
    ready: Vec<Vec<u64>>,
}

impl Goals {
    pub fn len(&self) -> usize {
        self.tile.len()
    }

    /// The row of a place; `None` if all rows are taken, or all of the seat's share.
    fn ask(&mut self, fresh: GoalRow, most: usize, share: usize) -> Option<u16> {
        let same = |row: &usize| self.tile[*row] == fresh.tile && self.size[*row] == fresh.size;
        if let Some(row) = (0..self.len()).find(same) {
            self.pursuit[row] &= fresh.pursuit;
            return Some(row as u16);
        }
        let own = |row: &usize| self.size[*row] > 0 && self.seat[*row] == fresh.seat;
        if (0..self.len()).filter(own).count() >= share {
            return None;
        }
        if let Some(row) = self.size.iter().position(|size| *size == 0) {
            self.tile[row] = fresh.tile;
            self.size[row] = fresh.size;
            self.since[row] = fresh.since;
            self.pursuit[row] = fresh.pursuit;
            self.open[row] = fresh.open;
            self.seat[row] = fresh.seat;
            return Some(row as u16);
        }
        if self.len() >= most {
            return None;
        }
        self.push(fresh);
        Some((self.len() - 1) as u16)
    }

    /// Bytes that it keeps from tick to tick, beside `nav`.
    pub fn scratch_bytes(&self) -> usize {
        let fields = &self.fields;
        let bits: usize = fields.ready.iter().map(Vec::capacity).sum();
        8 * bits
            + fields.id.capacity() * size_of::<Option<FieldId>>()
            + fields.ready.capacity() * size_of::<Vec<u64>>()
    }

    /// The name of the ways to an open goal.
    #[inline]
    pub fn field(&self, row: u16) -> Option<FieldId> {
        self.fields.id.get(usize::from(row)).copied().flatten()
    }

    /// The place of a row.
    pub fn place(&self, row: u16) -> (u32, u16) {
        let row = usize::from(row);
        (self.tile[row], u16::from(self.size[row]))
    }

    fn goal(&self, w: &World, row: usize) -> Goal {
        Goal::square(w.map.tile_of(self.tile[row]), self.size[row])
    }
}

/// Finds ways for those who ask, opens goals, and readies the ground where units are.
pub(super) fn serve(w: &mut World) {
    let mut goals = std::mem::take(&mut w.goals);
    answer(w, &mut goals);
    open(&mut goals, if is_vast(w) { 1 } else { OPENED_PER_TICK });
    if w.tick.is_multiple_of(SWEEP_TICKS) {
        sweep(w, &mut goals);
    }
    ready(w, &mut goals);
    w.goals = goals;
}

/// Sends everybody who asks straight to what it sees, and the others to the row of their place.
fn answer(w: &mut World, goals: &mut Goals) {
    let most = most_goals(w);
    let share = most / w.seats.len().max(1);
    let mut searches = 0;
    // Neighbouring rows mostly want the same.
    let mut last = None;
    // Others come first in every tick, so that those whose places are dear keep nobody waiting for ever.
    let rows = w.units.len();
    let first = w.tick.wrapping_mul(STRIDE) as usize % rows.max(1);
    for row in (first..rows).chain(0..first) {
        if w.units.way[row] != Way::Asked || w.units.hp[row] == 0 {
            continue;
        }
        let here = w.units.tile(row);
        let region = w.map.region(here);
        let wanted = (w.units.aim[row], region);
        let (aim, size) = match last {
            Some((known, answer)) if known == wanted => answer,
            _ => {
                if searches >= SEARCHES_PER_TICK {
                    continue;
                }
                let answer = resolve(w, wanted, &mut searches);
                last = Some((wanted, answer));
                answer
            }
        };
        if aim != wanted.0 {
            w.units.aim[row] = aim;
        }
        if w.units.aim[row] == w.units.goal[row] {
            let post = w.map.tile_of(w.units.post[row]);
            if w.map.region(post) != region {
                w.units.post[row] = aim;
            }
        }
        let end = super::movement::end(w, row);
        if w.map.is_clear(w.units.at(row), end.centre()) {
            w.units.way[row] = Way::Straight;
            continue;
        }
        let tile = if size > 1 { corner(w, aim) } else { aim };
        let pursuit = w.units.target[row] != 0 && w.units.order[row].guards();
        let place = GoalRow {
            tile,
            size,
            since: w.tick,
            pursuit: u8::from(pursuit),
            open: 0,
            seat: w.units.seat[row],
        };
        if let Some(course) = goals.ask(place, most, share) {
            w.units.way[row] = Way::Course;
            w.units.course[row] = course;
        }
    }
}

/// Where a way to `aim` leads from `region`, and how large that is: there, to the building there, or as
/// near as one can get.
fn resolve(w: &World, (aim, region): (u32, u32), searches: &mut u32) -> (u32, u8) {
    let tile = w.map.tile_of(aim);
    if w.map.region(tile) == region {
        return (aim, 1);
    }
    let building = w.map.occupant(tile).and_then(|id| w.buildings.row(id));
    let (left, size) = match building {
        Some(row) => (
            w.map.tile_of(w.buildings.tile[row]),
            w.buildings.kind[row].stats().size,
        ),
        None => (tile, 1),
    };
    if w.map.is_blocked(tile) && w.map.touches_region(left, size, region) {
        return (aim, size as u8);
    }
    *searches += 1;
    let nearest = w.map.nearest_in_region(tile, region);
    (nearest.map_or(aim, |tile| w.map.index(tile)), 1)
}

/// The upper left tile of the building that covers a tile.
fn corner(w: &World, tile: u32) -> u32 {
    let building = w.map.occupant(w.map.tile_of(tile));
    let row = building.and_then(|id| w.buildings.row(id));
    row.map_or(tile, |row| w.buildings.tile[row])
}

/// Opens those who have waited longest.
fn open(goals: &mut Goals, most: usize) {
    for _ in 0..most {
        let waiting = (0..goals.len()).filter(|row| goals.size[*row] > 0 && goals.open[*row] == 0);
        let first = waiting.min_by_key(|row| (goals.pursuit[*row], goals.since[*row], *row));
        let Some(row) = first else {
            return;
        };
        goals.open[row] = 1;
    }
}

/// Frees the rows that nobody uses any more.
fn sweep(w: &mut World, goals: &mut Goals) {
    let mut used = vec![false; goals.len()];
    for row in 0..w.units.len() {
        if w.units.way[row] == Way::Course && w.units.hp[row] > 0 {
            used[usize::from(w.units.course[row])] = true;
        }
    }
    for (row, used) in used.into_iter().enumerate() {
        if goals.size[row] > 0 && !used {
            if goals.fields.id.get(row).is_some_and(Option::is_some) {
                w.map.close_goal(goals.goal(w, row));
                goals.fields.id[row] = None;
            }
            if let Some(bits) = goals.fields.ready.get_mut(row) {
                bits.fill(0);
            }
            goals.size[row] = 0;
            goals.open[row] = 0;
        }
    }
}

/// Readies the sector around every unit that follows a course.
fn ready(w: &mut World, goals: &mut Goals) {
    let rows = goals.len();
    goals.fields.id.resize(rows, None);
    goals.fields.ready.resize(rows, Vec::new());
    let turn = w.tick % READY_TICKS;
    for (row, bits) in goals.fields.ready.iter_mut().enumerate() {
        if w.ground_changed || row as u32 % READY_TICKS == turn {
            bits.fill(0);
        }
    }
    w.ground_changed = false;
    let across = u32::from(w.map.size()).div_ceil(SECTOR);
    for row in 0..w.units.len() {
        if w.units.way[row] != Way::Course || w.units.hp[row] == 0 {
            continue;
        }
        let course = usize::from(w.units.course[row]);
        if goals.open[course] == 0 {
            continue;
        }
        let tile = w.units.tile(row);
        let sector = u32::from(tile.y) / SECTOR * across + u32::from(tile.x) / SECTOR;
        let sector = sector as usize;
        let bits = &mut goals.fields.ready[course];
        if bits.is_empty() {
            bits.resize(across.pow(2).div_ceil(64) as usize, 0);
        }
        let word = &mut bits[sector / 64];
        if *word >> (sector % 64) & 1 == 0 {
            *word |= 1 << (sector % 64);
            let goal = goals.goal(w, course);
            goals.fields.id[course] = Some(w.map.prepare(goal, tile));
        }
    }
}

/// Places that may be in use at once: fewer on the largest maps, where each takes more memory.
pub(super) fn most_goals(w: &World) -> usize {
    if is_vast(w) { 128 } else { 512 }
}

/// Whether a goal's ways may lead through thousands of sectors.
fn is_vast(w: &World) -> bool {
    w.map.size() > 512
}

/// How far the first to be answered moves on from tick to tick.
const STRIDE: u32 = 617;
/// Goals opened in a tick; on vast maps it is one.
const OPENED_PER_TICK: usize = 4;
/// Searches in a tick for the nearest tile that can be reached; who comes later asks again.
const SEARCHES_PER_TICK: u32 = 8;
/// Ticks between two looks for goals that nobody uses.
const SWEEP_TICKS: u32 = 16;
// The dead keep the course that they were on: no row that they name may be freed before they are buried.
const _: () = assert!(SWEEP_TICKS.is_multiple_of(BURIAL_TICKS));
/// Ticks after which a goal's sectors are asked for again, so that `nav` keeps them: it does for 64.
const READY_TICKS: u32 = 48;
/// Tiles along the edge of one of `nav`'s sectors.
const SECTOR: u32 = 16;
