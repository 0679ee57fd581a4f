//! Where units are on their way to: one row for each place, shared by all units that go there.
//!
//! Each place costs a search, so the rows wait in line. All searches together go a fixed number of steps in a
//! tick. Orders come before pursuits, and the longest wait comes first. A unit that the search has not
//! reached yet goes straight towards its end.
//!
//! When the ground changes, the searches that have passed there begin anew, at the end of the line. The
//! table with the steps taken is state; what `nav` finds within them follows from it.

use super::{
    World,
    columns::columns,
    combat::BURIAL_TICKS,
    crowd::of_parts,
    nav::{FieldId, Goal},
    tile::Tile,
    units::Way,
};

columns! {
    /// Places in use. Units name a row by its number, so free rows stay, with a size of 0.
    Goals of GoalRow {
        /// Upper left tile.
        tile: u32,
        /// Edge in tiles. 0: the row is free.
        size: u8,
        /// Tick since which it waits in line.
        since: u32,
        /// 1: only pursuing units ask for it.
        pursuit: u8,
        /// Steps that the search from it has taken. 0: it has not begun.
        steps: u32,
        /// Row in the seats' table of the seat that asked first. No seat may fill the table alone.
        seat: u8,
    }
    derived {
        fields: Fields,
    }
}

/// What is known of the ways to goals. Follows from the table, the ground and where units are.
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
            self.steps[row] = fresh.steps;
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

    /// The name of the ways to a row's place, once a unit has gone there.
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

/// Finds ways for the units that ask, and readies the ground around units.
pub(super) fn serve(w: &mut World, threads: usize) {
    let mut goals = std::mem::take(&mut w.goals);
    answer(w, &mut goals);
    if w.tick.is_multiple_of(SWEEP_TICKS) {
        sweep(w, &mut goals);
    }
    let waiting = ready(w, &mut goals, threads);
    search(w, &mut goals, waiting);
    w.goals = goals;
}

/// Applies what was blocked or opened. Searches that had passed there wait in line again.
pub(super) fn refresh(w: &mut World) {
    if !w.map.refresh_regions() {
        return;
    }
    w.ground_changed = true;
    for row in 0..w.goals.len() {
        let field = w.goals.field(row as u16);
        if w.goals.steps[row] > 0 && field.is_some_and(|id| w.map.steps(id) == 0) {
            w.goals.steps[row] = 0;
            w.goals.since[row] = w.tick;
        }
    }
}

/// Sends each asking unit straight to its end if it sees it, and else to the row of its place.
fn answer(w: &mut World, goals: &mut Goals) {
    let most = most_goals(w);
    let share = most / w.seats.len().max(1);
    let mut searches = 0;
    // Neighbouring rows mostly want the same place.
    let mut last = None;
    // The first unit changes in every tick, so that units with costly places do not starve the others.
    let rows = w.units.len();
    let first = w.tick.wrapping_mul(STRIDE) as usize % rows.max(1);
    let mut asking = Vec::new();
    for (from, ways) in [(first, &w.units.way[first..]), (0, &w.units.way[..first])] {
        list_asking(from, ways, &mut asking);
    }
    for row in asking {
        if w.units.hp[row] == 0 {
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
            steps: 0,
            seat: w.units.seat[row],
        };
        if let Some(course) = goals.ask(place, most, share) {
            w.units.way[row] = Way::Course;
            w.units.course[row] = course;
        }
    }
}

/// Appends the rows that ask; the first of `ways` belongs to row `from`.
fn list_asking(from: usize, ways: &[Way], out: &mut Vec<usize>) {
    // Mostly no row asks, so whole chunks are passed over at once.
    for (number, chunk) in ways.chunks(ASKING).enumerate() {
        if chunk
            .iter()
            .fold(false, |any, way| any | (*way == Way::Asked))
        {
            let asks = |(_, way): &(usize, &Way)| **way == Way::Asked;
            let rows = chunk.iter().enumerate().filter(asks);
            out.extend(rows.map(|(at, _)| from + number * ASKING + at));
        }
    }
}

/// The place and size that a way to `aim` leads to from `region`: the tile, the building there, or the
/// nearest reachable tile.
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

/// Frees the rows that no unit uses any more.
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
            goals.steps[row] = 0;
        }
    }
}

/// A sector with a unit on its way to a place, and a tile of the sector.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    course: u16,
    sector: u32,
    tile: Tile,
}

impl Wanted {
    fn of(w: &World, across: u32, row: usize) -> Self {
        let tile = w.units.tile(row);
        Self {
            course: w.units.course[row],
            sector: u32::from(tile.y) / SECTOR * across + u32::from(tile.x) / SECTOR,
            tile,
        }
    }

    /// Its place among the bits of its course.
    #[inline]
    fn bit(self) -> (usize, u64) {
        (self.sector as usize / 64, 1 << (self.sector % 64))
    }
}

/// Names all goals in use, and lists the sectors around units that follow a course, each once, as far as
/// they were not ready of late. They are marked as ready.
fn ready(w: &mut World, goals: &mut Goals, threads: usize) -> Vec<Wanted> {
    let rows = goals.len();
    goals.fields.id.resize(rows, None);
    goals.fields.ready.resize(rows, Vec::new());
    let across = u32::from(w.map.size()).div_ceil(SECTOR);
    let words = across.pow(2).div_ceil(64) as usize;
    for row in 0..rows {
        if goals.size[row] > 0 && goals.fields.id[row].is_none() {
            let id = w.map.open_goal(goals.goal(w, row));
            w.map.resume(id, goals.steps[row]);
            goals.fields.id[row] = Some(id);
            goals.fields.ready[row].resize(words, 0);
        }
    }
    let turn = w.tick % READY_TICKS;
    for (row, bits) in goals.fields.ready.iter_mut().enumerate() {
        if w.ground_changed || row as u32 % READY_TICKS == turn {
            bits.fill(0);
        }
    }
    w.ground_changed = false;
    let world = &*w;
    let marks = &goals.fields.ready;
    let unready = of_parts(threads, w.units.len(), |rows| {
        let mut unready = Vec::new();
        for row in rows {
            if world.units.way[row] != Way::Course || world.units.hp[row] == 0 {
                continue;
            }
            let wanted = Wanted::of(world, across, row);
            let (word, bit) = wanted.bit();
            let marks = &marks[usize::from(wanted.course)];
            if marks.get(word).is_none_or(|word| word & bit == 0) {
                unready.push(row);
            }
        }
        unready
    });
    let mut wanted = Vec::new();
    for row in unready.into_iter().flatten() {
        let this = Wanted::of(w, across, row);
        let (word, bit) = this.bit();
        let marks = &mut goals.fields.ready[usize::from(this.course)][word];
        if *marks & bit == 0 {
            *marks |= bit;
            wanted.push(this);
        }
    }
    wanted
}

/// Readies the sectors that are wanted, as far as this tick's steps reach, and marks the others as not
/// ready.
fn search(w: &mut World, goals: &mut Goals, mut wanted: Vec<Wanted>) {
    let place = |wanted: &Wanted| {
        let course = usize::from(wanted.course);
        let line = (goals.pursuit[course], goals.since[course], wanted.course);
        (line, wanted.sector)
    };
    wanted.sort_unstable_by_key(place);
    let taken = goals.steps.iter().map(|steps| u64::from(*steps)).sum();
    let mut budget = MOST_STEPS.saturating_sub(taken).min(STEPS_PER_TICK) as u32;
    for this in wanted {
        let course = usize::from(this.course);
        let Some(id) = goals.field(this.course) else {
            continue;
        };
        if !w.map.prepare_within(id, this.tile, &mut budget) {
            let (word, bit) = this.bit();
            goals.fields.ready[course][word] &= !bit;
        }
        goals.steps[course] = w.map.steps(id);
    }
}

/// Places that may be in use at once: fewer on the largest maps, where each takes more memory.
pub(super) fn most_goals(w: &World) -> usize {
    if w.map.size() > 512 { 128 } else { 512 }
}

/// Rows that are passed over at once if none of them asks.
const ASKING: usize = 64;
/// How far the first to be answered moves on from tick to tick.
const STRIDE: u32 = 617;
/// Steps of all searches for ways together in a tick: a few milliseconds.
pub const STEPS_PER_TICK: u64 = 16_384;
/// Steps that the searches of all goals in use have taken at most: what a world that was loaded makes up
/// for in its first tick.
pub(super) const MOST_STEPS: u64 = 1 << 24;
/// Searches in a tick for the nearest reachable tile; later units ask again.
const SEARCHES_PER_TICK: u32 = 8;
/// Ticks between two looks for unused goals.
const SWEEP_TICKS: u32 = 16;
// The dead keep the course that they were on: no row that they name may be freed before they are buried.
const _: () = assert!(SWEEP_TICKS.is_multiple_of(BURIAL_TICKS));
/// Ticks after which a goal's sectors are asked for again, so that `nav` keeps them: it does for 64.
const READY_TICKS: u32 = 48;
/// Tiles along the edge of one of `nav`'s sectors.
const SECTOR: u32 = 16;
