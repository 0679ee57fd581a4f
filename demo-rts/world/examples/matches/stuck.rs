//! Finds units that stand under orders although a way exists.

use demo_world::world::{Id, Kind, Order, Tile, UnitView, World};
use sim::{Num, Seat, Vec2};
use std::collections::BTreeMap;
use std::fmt;

/// A unit that stood under an order for [`TICKS`], farther from its goal than it may.
pub struct Stuck {
    tick: u32,
    id: Id,
    kind: Kind,
    seat: Seat,
    at: Tile,
    order: Order,
    goal: Tile,
    target: Option<Id>,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.kind.stats().name;
        write!(
            f,
            "tick {} seat {} {name} {} at {},{} {:?} to {},{}",
            self.tick,
            self.seat.0,
            self.id.0,
            self.at.x,
            self.at.y,
            self.order,
            self.goal.x,
            self.goal.y
        )?;
        match self.target {
            Some(target) => write!(f, " for {}", target.0),
            None => Ok(()),
        }
    }
}

/// Where a unit last moved, or last received an order.
struct Anchor {
    at: Vec2,
    since: u32,
    order: Order,
    goal: Tile,
}

/// Follows all units of a match.
#[derive(Default)]
pub struct Watch {
    anchors: BTreeMap<Id, Anchor>,
}

impl Watch {
    /// Checks all units every few ticks.
    pub fn look(&mut self, world: &World, stuck: &mut Vec<Stuck>) {
        if !world.tick().is_multiple_of(EVERY) {
            return;
        }
        let mut anchors = BTreeMap::new();
        for unit in world.units() {
            let Some(target) = goes_to(world, &unit) else {
                continue;
            };
            let fresh = Anchor {
                at: unit.at,
                since: world.tick(),
                order: unit.order,
                goal: unit.goal,
            };
            let mut anchor = match self.anchors.remove(&unit.id) {
                Some(old)
                    if old.order == unit.order
                        && old.goal == unit.goal
                        && old.at.distance(unit.at) < HALF =>
                {
                    old
                }
                _ => fresh,
            };
            if world.tick() - anchor.since >= TICKS && target.is_reachable(world, unit.tile) {
                stuck.push(Stuck {
                    tick: world.tick(),
                    id: unit.id,
                    kind: unit.kind,
                    seat: unit.seat,
                    at: unit.tile,
                    order: unit.order,
                    goal: unit.goal,
                    target: unit.target,
                });
                anchor.since = world.tick();
            }
            anchors.insert(unit.id, anchor);
        }
        self.anchors = anchors;
    }
}

/// A square of tiles that a unit walks to.
struct Target {
    tile: Tile,
    size: u16,
}

impl Target {
    /// Whether a unit can walk there, or to its side.
    fn is_reachable(&self, world: &World, from: Tile) -> bool {
        let map = world.map();
        let region = map.region(from);
        let mut beside = map
            .footprint(self.tile, self.size)
            .chain(map.ring(self.tile, self.size));
        beside.any(|tile| region != 0 && map.region(tile) == region)
    }

    /// The distance from a point to the nearest edge.
    fn gap(&self, from: Vec2) -> Num {
        from.distance(self.tile.nearest_of_square(self.size, from))
    }
}

/// Where a unit should be going; `None` for a unit that is at its place, or fights.
fn goes_to(world: &World, unit: &UnitView) -> Option<Target> {
    let square = |tile, size| Target { tile, size };
    let building = |id: Option<Id>| {
        let building = id.and_then(|id| world.building(id))?;
        Some(square(building.tile, building.kind.stats().size))
    };
    let goal = square(unit.goal, 1);
    let (target, arrival) = match unit.order {
        Order::Idle | Order::Hold | Order::Inside | Order::AttackGround => return None,
        // A unit that has met an enemy fights, or waits behind fighting units.
        Order::AttackMove | Order::Attack | Order::Patrol if unit.target.is_some() => {
            let enemy = unit.target.and_then(|id| world.unit(id));
            let place = enemy.map(|enemy| square(enemy.tile, 1));
            let reach = unit.kind.stats().range + FIGHT;
            (place.or_else(|| building(unit.target))?, reach)
        }
        Order::Move | Order::AttackMove | Order::Attack | Order::Patrol => (goal, ARRIVAL),
        Order::Gather => (goal, BESIDE),
        Order::Return | Order::Construct | Order::Farm | Order::Repair | Order::Enter => {
            (building(unit.target)?, BESIDE)
        }
    };
    (target.gap(unit.at) > arrival).then_some(target)
}

/// Ticks without moving half a tile that count as stuck.
pub const TICKS: u32 = 200;
/// Ticks between two looks.
const EVERY: u32 = 10;
const HALF: Num = Num::lit("0.5");
/// How near a group's goal its last unit may come to stand.
const ARRIVAL: Num = Num::lit("3");
/// How near to a building or a mine a worker works.
const BESIDE: Num = Num::lit("2");
/// How far behind fighting units a unit may wait.
const FIGHT: Num = Num::lit("4");
