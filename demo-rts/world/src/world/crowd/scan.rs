//! What every unit finds out about its neighbours before any unit acts. The scan only reads the world, so
//! threads may share the work.

use super::{
    Crowd, Row,
    bodies::{Body, Coarse, FIRM, GUARDS, LOOKS, TARGETS},
    kernel::{self, Best, Own},
    masks::MASK_REACH,
    threads::{Parts, in_parts},
    wide,
};
use crate::world::{
    Id, World,
    behaviour::Occasions,
    combat::{LEASH, Target},
    tables::RULES,
    tile::Tile,
    units::Order,
};
use sim::{Grid, Num, Vec2};

/// What one unit found out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sensed {
    push: Vec2,
    note: u32,
}

/// A [`Note`] without the target. The numbers are those of a note's status, plus one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum News {
    Nothing = 0,
    Found = 1,
    Lost = 2,
    InReach = 3,
    Far = 4,
}

/// News of a unit's target, or of a better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// It has no target and saw none.
    Nothing,
    /// It saw an enemy to turn against.
    Found(Target),
    /// Its target is dead, or out of bounds for its order.
    Lost,
    /// Its target can be struck.
    InReach,
    /// Its target lives and is too far away to be struck.
    Far,
}

impl Sensed {
    /// How its neighbours push it.
    #[inline(always)]
    pub fn push(self) -> Vec2 {
        self.push
    }

    /// The kind of its news.
    #[inline(always)]
    pub fn news(self) -> News {
        let found = self.note & !ROW;
        let status = if found == STATUS { self.note & 3 } else { 0 };
        match u32::from(found != 0) + status {
            0 => News::Nothing,
            1 => News::Found,
            2 => News::Lost,
            3 => News::InReach,
            _ => News::Far,
        }
    }

    pub fn note(self) -> Note {
        let row = (self.note & ROW) as usize;
        match self.note & !ROW {
            UNIT => Note::Found(Target::Unit(row)),
            BUILDING => Note::Found(Target::Building(row)),
            STATUS if self.note == LOST => Note::Lost,
            STATUS if self.note == IN_REACH => Note::InReach,
            STATUS => Note::Far,
            _ => Note::Nothing,
        }
    }
}

/// Lets every unit look.
pub fn scan(w: &mut World, threads: usize) {
    let mut found = std::mem::take(&mut w.crowd.found);
    let bodies = w.crowd.bodies.len();
    found.resize(bodies, Sensed::default());
    let world = &*w;
    in_parts(threads, bodies, found.as_mut_slice(), |from, part| {
        wide::scan(world, from, part);
    });
    // Readers go by rows. One loop without branches fetches the rows here, so that it waits for the memory
    // once and not for each unit.
    let mut sensed = std::mem::take(&mut w.crowd.sensed);
    let mut acts = std::mem::take(&mut w.crowd.acts);
    let rows = w.crowd.rows.len();
    sensed.resize(rows, Sensed::default());
    acts.resize(rows, false);
    let by_row = ByRow {
        sensed: &mut sensed,
        acts: &mut acts,
    };
    let world = &*w;
    let occasions = Occasions::new();
    in_parts(threads, rows, by_row, |from, part| {
        let places = &world.crowd.grid.places()[from..];
        for (sensed, place) in part.sensed.iter_mut().zip(places) {
            *sensed = found.get(*place as usize).copied().unwrap_or_default();
        }
        occasions.mark(world, from, part.sensed, part.acts);
    });
    w.crowd.found = found;
    w.crowd.sensed = sensed;
    w.crowd.acts = acts;
}

/// Columns of consecutive rows.
struct ByRow<'a> {
    sensed: &'a mut [Sensed],
    acts: &'a mut [bool],
}

impl Parts for ByRow<'_> {
    fn cut(self, at: usize) -> (Self, Self) {
        let (sensed, acts) = (self.sensed.split_at_mut(at), self.acts.split_at_mut(at));
        let part = |sensed, acts| ByRow { sensed, acts };
        (part(sensed.0, acts.0), part(sensed.1, acts.1))
    }
}

/// What the bodies from `from` on find out.
#[inline(always)]
pub fn scan_part(w: &World, from: usize, out: &mut [Sensed]) {
    let crowd = &w.crowd;
    let bodies = &crowd.bodies;
    for (place, out) in (from..).zip(out) {
        let own = Own {
            x: bodies.x[place],
            y: bodies.y[place],
            body: bodies.body[place],
        };
        let reach = Body(own.body).radius() + crowd.widest;
        let mut push = kernel::push(own, bodies, crowd.around(own.x, own.y, reach));
        if push.same > 1 {
            part(crowd, place, own, &mut push);
        }
        let soft = if own.body & FIRM == 0 { 4 } else { 1 };
        let news = GUARDS & own.body != 0 && LOOKS & own.body != 0;
        let note = if own.body & TARGETS != 0 || news {
            let row = bodies.row[place] as usize;
            sense(w, row, own)
        } else {
            0
        };
        *out = Sensed {
            push: Vec2::new(scaled(push.x, soft), scaled(push.y, soft)),
            note,
        };
    }
}

/// Sends units on one point different ways.
fn part(crowd: &Crowd, place: usize, own: Own, push: &mut kernel::Push) {
    let bodies = &crowd.bodies;
    let row = bodies.row[place];
    for run in crowd.around(own.x, own.y, Coarse::ZERO) {
        for other in run {
            let there = (bodies.x[other], bodies.y[other]);
            if there == (own.x, own.y) && other != place {
                let away = if row < bodies.row[other] {
                    PARTING
                } else {
                    -PARTING
                };
                let turned = if (row ^ bodies.row[other]) & 1 == 0 {
                    away
                } else {
                    -away
                };
                push.x = push.x.wrapping_add(away);
                push.y = push.y.wrapping_add(turned);
            }
        }
    }
}

#[inline(always)]
fn sense(w: &World, row: usize, own: Own) -> u32 {
    let status = if own.body & TARGETS == 0 {
        0
    } else {
        target_status(w, row, own)
    };
    let looks = match status {
        LOST => true,
        IN_REACH => false,
        _ => own.body & LOOKS != 0,
    };
    if looks && own.body & GUARDS != 0 {
        match look(w, row, own) {
            None => {}
            Some(target) if w.id_of(target).0 == w.units.target[row] => {}
            Some(Target::Unit(other)) => return UNIT | other as u32,
            Some(Target::Building(other)) => return BUILDING | other as u32,
        }
    }
    status
}

/// The status of a unit's target.
#[inline(always)]
fn target_status(w: &World, row: usize, own: Own) -> u32 {
    let id = Id(w.units.target[row]);
    let Some(other) = w.units.row_of(id) else {
        return building_status(w, row, id);
    };
    // One struct holds all that matters of another unit: units and their targets lie all over the memory.
    let there = w.crowd.rows[other];
    let seat = Body(own.body).seat();
    let tile = Tile::new(there.x.wrapping_to_num(), there.y.wrapping_to_num());
    let seen = Body(there.body).seat() == seat || w.fog.sees(usize::from(seat), tile);
    if there.cell == Grid::NOWHERE || !seen {
        return LOST;
    }
    let in_reach = is_in_reach(w, row, own, other, there);
    status_by_order(w, row, Target::Unit(other), in_reach)
}

fn building_status(w: &World, row: usize, id: Id) -> u32 {
    let seen = |target: &Target| w.sees_target(usize::from(w.units.seat[row]), *target);
    match w.target(id).filter(seen) {
        Some(target) => status_by_order(w, row, target, w.is_in_reach(row, target)),
        None => LOST,
    }
}

/// Whether a unit's order allows it to have the target.
#[inline(always)]
fn status_by_order(w: &World, row: usize, target: Target, in_reach: bool) -> u32 {
    let allowed = match w.units.order[row] {
        Order::Idle => {
            let post = w.map.tile_of(w.units.post[row]).centre();
            post.within(w.target_at(target), LEASH)
        }
        Order::Hold => in_reach,
        _ => true,
    };
    match (allowed, in_reach) {
        (false, _) => LOST,
        (true, true) => IN_REACH,
        (true, false) => FAR,
    }
}

/// Whether a unit's weapon reaches another unit. The world's coordinates decide where the kernels' coarser
/// ones leave a doubt.
#[inline(always)]
fn is_in_reach(w: &World, row: usize, own: Own, other: usize, there: Row) -> bool {
    let stats = w.able(row);
    let reach = (stats.range + stats.radius).to_num::<Coarse>() + Body(there.body).radius();
    let (dx, dy) = (own.x - there.x, own.y - there.y);
    let far = reach + DOUBT;
    if dx.abs() > far || dy.abs() > far {
        return false;
    }
    let apart = square(dx).wrapping_add(square(dy));
    let near = (reach - DOUBT).max(Coarse::ZERO);
    if apart <= square(near) {
        return true;
    }
    apart <= square(far) && w.is_in_reach(row, Target::Unit(other))
}

/// The enemy that a unit turns against of its own accord: near ones first, soldiers before others,
/// buildings last.
#[inline(always)]
fn look(w: &World, row: usize, own: Own) -> Option<Target> {
    let crowd = &w.crowd;
    let sight: Coarse = sight(w, row).to_num();
    if sight <= 0 {
        return None;
    }
    let seat = Body(own.body).seat();
    let beyond = sight > MASK_REACH;
    if beyond || crowd.masks.has_others(own.x, own.y, seat) {
        let far = square(sight);
        let runs = crowd.around(own.x, own.y, sight);
        let best = kernel::seek(own, far, LENIENCE, &crowd.bodies, runs);
        if best != Best::NONE {
            if may_turn_against(w, row, best.row as usize) {
                return Some(Target::Unit(best.row as usize));
            }
            let other = search(w, own, sight, |other| may_turn_against(w, row, other));
            if other.is_some() {
                return other.map(Target::Unit);
            }
        }
    }
    if beyond || crowd.masks.has_other_buildings(own.x, own.y, seat) {
        return look_for_building(w, row, sight.to_num());
    }
    None
}

/// How far a unit looks just now.
fn sight(w: &World, row: usize) -> Num {
    let stats = w.able(row);
    match w.units.order[row] {
        Order::Hold => stats.range + stats.radius + Num::lit("0.5"),
        Order::Idle => {
            // Every enemy that it sees within this is within the leash of its post.
            let post = w.map.tile_of(w.units.post[row]).centre();
            let away = w.units.at(row).distance(post);
            stats.alert.min(LEASH.saturating_sub(away))
        }
        _ => stats.alert,
    }
    .min(MOST_SIGHT)
}

fn may_turn_against(w: &World, row: usize, other: usize) -> bool {
    let (here, there) = (w.units.tile(row), w.units.tile(other));
    let reachable =
        w.map.region(there) == w.map.region(here) || w.is_in_reach(row, Target::Unit(other));
    reachable && w.fog.sees(usize::from(w.units.seat[row]), there)
}

fn look_for_building(w: &World, row: usize, sight: Num) -> Option<Target> {
    let own = w.units.seat[row];
    let region = w.map.region(w.units.tile(row));
    let around = w
        .crowd
        .masks
        .buildings_around(w.units.at(row), sight + Num::ONE);
    around
        .filter(|other| w.buildings.seat[*other] != own && w.buildings.hp[*other] > 0)
        .filter(|other| w.sees_building(usize::from(own), *other))
        .map(|other| (w.gap(row, Target::Building(other)), other))
        .filter(|(gap, other)| {
            let tile = w.map.tile_of(w.buildings.tile[*other]);
            let size = w.buildings.kind[*other].stats().size;
            *gap <= sight && (*gap <= w.able(row).range || w.map.touches_region(tile, size, region))
        })
        .min()
        .map(|(_, other)| Target::Building(other))
}

/// The nearest enemy that suits, by a slow search: for the few units that may not attack their nearest enemy.
fn search(w: &World, own: Own, sight: Coarse, suits: impl Fn(usize) -> bool) -> Option<usize> {
    let bodies = &w.crowd.bodies;
    let seat = Body(own.body).seat();
    let far = square(sight);
    let mut best: Option<(i32, u32)> = None;
    for run in w.crowd.around(own.x, own.y, sight) {
        for place in run {
            let body = Body(bodies.body[place]);
            let (dx, dy) = (own.x - bodies.x[place], own.y - bodies.y[place]);
            let apart = square(dx).wrapping_add(square(dy));
            if body.seat() == seat || apart > far {
                continue;
            }
            let worth = apart + if body.is_civil() { LENIENCE } else { 0 };
            let row = bodies.row[place];
            if best.is_none_or(|best| (worth, row) < best) && suits(row as usize) {
                best = Some((worth, row));
            }
        }
    }
    best.map(|(_, row)| row as usize)
}

/// What the kernel sums up, as a length.
#[inline(always)]
fn scaled(push: i32, soft: i32) -> Num {
    Num::from_bits(push.wrapping_mul(soft) >> PUSH_SHIFT)
}

/// A square as the kernels compare it.
const fn square(length: Coarse) -> i32 {
    length.to_bits().wrapping_mul(length.to_bits())
}

/// A soldier this much farther away (a square) still comes before others.
const LENIENCE: i32 = square(Coarse::const_from_int(RULES.lenience_tiles as i32));
/// Squares of longer lengths do not fit the kernels' numbers.
const MOST_SIGHT: Num = Num::lit("22");
/// More than distances and sums of three lengths differ from the world's, in the last bits of the kernels'
/// numbers.
const DOUBT: Coarse = Coarse::from_bits(5);
/// Scales the neighbours' pushes to the world's numbers: of two that touch at half their depth each goes half
/// of the way.
const PUSH_SHIFT: i32 = 7;
/// How strongly two units on one point push each other apart.
const PARTING: i32 = 1 << 16;
/// In a note: the row that was found.
const ROW: u32 = (1 << 30) - 1;
const UNIT: u32 = 1 << 30;
const BUILDING: u32 = 2 << 30;
const STATUS: u32 = 3 << 30;
const LOST: u32 = STATUS | 1;
const IN_REACH: u32 = STATUS | 2;
const FAR: u32 = STATUS | 3;
