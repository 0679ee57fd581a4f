//! Finding the enemy: early with a worker, later with a soldier.

use super::{
    Habits,
    estate::{Estate, middle, nearest, square},
};
use crate::world::{Command, Order, Task, Tile, UnitView};

/// Sends a scout, and sends a waiting one on.
pub(super) fn run(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let tick = estate.seen.tick();
    let Some(since) = tick.checked_sub(habits.scout_from) else {
        return;
    };
    if estate.enemy_buildings.is_empty()
        && let Some(scout) = waiting_far_from_home(estate)
    {
        let to = goal(estate, scout.tile);
        let units = estate.select([&scout]);
        commands.push(Command::Move { units, to });
        return;
    }
    let due = since % habits.scout_every < habits.period;
    if !due || estate.buildings.is_empty() {
        return;
    }
    let home = estate.home();
    let soldier = estate
        .soldiers
        .iter()
        .filter(|unit| unit.order == Order::Idle && unit.target.is_none() && estate.is_free(unit))
        .max_by_key(|unit| (unit.kind.stats().speed, unit.id))
        .copied();
    let worker = estate
        .builder(home)
        .filter(|_| estate.enemy_buildings.is_empty() && estate.workers.len() > 5);
    if let Some(scout) = soldier.or(worker) {
        // Scouts go by turns to unexplored ground and to known enemies, which may have changed.
        let again = (since / habits.scout_every) % 2 == 1;
        let known = estate.enemy_buildings.first().map(middle);
        let to = known
            .filter(|_| again)
            .unwrap_or_else(|| goal(estate, scout.tile));
        let units = estate.select([&scout]);
        let next = beyond(estate, to);
        commands.push(Command::Move {
            units: units.clone(),
            to,
        });
        if let Some(to) = next {
            let task = Task::Move { to };
            commands.push(Command::Queue { units, task });
        }
    }
}

/// Where to look after `to`, if another seat may have begun there too.
fn beyond(estate: &Estate<'_>, to: Tile) -> Option<Tile> {
    let seen = estate.seen;
    starts(estate.seat.home, seen.size())
        .into_iter()
        .filter(|start| start.king_steps(estate.seat.home) > OUTSIDE && !seen.explored(*start))
        .filter(|start| start.king_steps(to) > OUTSIDE)
        .min_by_key(|start| (start.king_steps(to), *start))
}

/// An idle worker far from every own building: a scout that has arrived.
fn waiting_far_from_home(estate: &Estate<'_>) -> Option<UnitView> {
    let far = |unit: &&UnitView| {
        unit.order == Order::Idle
            && !estate
                .buildings
                .iter()
                .any(|own| middle(own).king_steps(unit.tile) <= OUTSIDE)
    };
    estate.free_workers().find(far).copied()
}

/// Where a scout at `from` should look next: at the edge of the explored ground, first near the possible
/// start of another seat. When all is explored, at one place after another.
///
/// The edge is always reachable and going there explores it, so no scout waits for ever.
pub(super) fn goal(estate: &Estate<'_>, from: Tile) -> Tile {
    let seen = estate.seen;
    let size = seen.size();
    let start = starts(estate.seat.home, size)
        .into_iter()
        .filter(|start| start.king_steps(estate.seat.home) > OUTSIDE && !seen.explored(*start))
        .min_by_key(|start| (start.king_steps(from), *start));
    let region = seen.region(from);
    let edge = nearest(start.unwrap_or(from), size, size, |tile| {
        seen.region(tile) == region
            && region != 0
            && square(tile, 1, size).any(|next| !seen.explored(next))
    });
    edge.unwrap_or_else(|| {
        let turn = seen.tick() / LOOK_TICKS * 31 + u32::from(estate.seat.seat.0) * 7;
        let part = |stride: u32| (turn.wrapping_mul(stride) % u32::from(size)) as u16;
        let somewhere = Tile::new(part(37), part(53));
        let open = nearest(somewhere, size, size, |tile| seen.region(tile) == region);
        open.unwrap_or(somewhere)
    })
}

/// Possible starts of other seats, by each symmetry that a map may have.
fn starts(home: Tile, size: u16) -> [Tile; 7] {
    let far = size.saturating_sub(1);
    let (x, y) = (home.x, home.y);
    let (ox, oy) = (far.saturating_sub(x), far.saturating_sub(y));
    [
        Tile::new(ox, oy),
        Tile::new(oy, x),
        Tile::new(y, ox),
        Tile::new(ox, y),
        Tile::new(x, oy),
        Tile::new(y, x),
        Tile::new(oy, ox),
    ]
}

/// Tiles from every own building beyond which a unit is out.
const OUTSIDE: u16 = 16;
/// Ticks that a scout looks at one place when everything is explored.
const LOOK_TICKS: u32 = 900;
