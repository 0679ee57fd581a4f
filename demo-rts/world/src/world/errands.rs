//! Errands: a command's orders to each unit that it names, for now or for later.

use super::{
    Id, Kind, Refusal, World,
    combat::Target,
    command::Task,
    economy::{become_idle, send_to_building, send_to_gather},
    farms::send_to_farm,
    formation,
    orders::{self, found, on_map, targetable},
    repair::is_damaged,
    units::Order,
    waypoints::Waypoint,
};

/// An errand of one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Errand {
    pub order: Order,
    /// Tile that the order names.
    pub goal: u32,
    /// Its own place near the goal.
    pub post: u32,
    /// Id of its target. 0: no target.
    pub target: u32,
}

impl Errand {
    fn at(order: Order, goal: u32) -> Self {
        Self {
            order,
            goal,
            post: goal,
            target: 0,
        }
    }

    fn about(order: Order, target: Id, goal: u32) -> Self {
        Self {
            target: target.0,
            ..Self::at(order, goal)
        }
    }
}

/// Makes errands of a task, one for each of these units that can do it; pays for what it founds.
///
/// # Errors
/// The reason why no unit can do it.
pub(super) fn plan(
    w: &mut World,
    seat: usize,
    mut units: Vec<usize>,
    task: Task,
) -> Result<Vec<(usize, Errand)>, Refusal> {
    let all = |units: Vec<usize>, errand: Errand| {
        Ok(units.into_iter().map(|row| (row, errand)).collect())
    };
    match task {
        Task::Move { to } => formation::spread(w, units, Order::Move, to),
        Task::AttackMove { to } => formation::spread(w, units, Order::AttackMove, to),
        Task::Patrol { to } => formation::spread(w, units, Order::Patrol, to),
        Task::Hold => all(units, Errand::at(Order::Hold, 0)),
        Task::Attack { target } => {
            let found = targetable(w, seat, target)?;
            all(
                units,
                Errand::about(Order::Attack, target, w.target_tile(found)),
            )
        }
        Task::AttackGround { at } => {
            let goal = on_map(w, at)?;
            units.retain(|row| w.units.stats(*row).splash > 0);
            require_any(&units)?;
            all(units, Errand::at(Order::AttackGround, goal))
        }
        Task::Gather { from } => {
            let site = on_map(w, from)?;
            if !w.fog.explored(seat, from) {
                return Err(Refusal::Unexplored);
            }
            if w.map.resource(from).is_none() {
                return Err(Refusal::NothingToGather);
            }
            let (workers, others) = workers_first(w, units);
            let mut errands: Vec<_> = formation::spread(w, others, Order::Move, from)?;
            errands.extend(
                workers
                    .into_iter()
                    .map(|row| (row, Errand::at(Order::Gather, site))),
            );
            Ok(errands)
        }
        Task::Build { kind, at } => {
            let (workers, _) = workers_first(w, units);
            let site = found(w, seat, &workers, kind, at)?;
            let id = Id(w.buildings.id[site]);
            all(
                workers,
                Errand::about(Order::Construct, id, w.buildings.tile[site]),
            )
        }
        Task::Assist { building } => {
            let (workers, _) = workers_first(w, units);
            require_any(&workers)?;
            let site = orders::own_building(w, seat, building)?;
            let order = if !w.buildings.is_complete(site) {
                Order::Construct
            } else if is_damaged(w, site, seat as u8) {
                Order::Repair
            } else if w.buildings.kind[site] == Kind::Farm {
                Order::Farm
            } else {
                return Err(Refusal::NothingToDo);
            };
            all(
                workers,
                Errand::about(order, building, w.buildings.tile[site]),
            )
        }
        Task::Garrison { building } => {
            let site = orders::own_building(w, seat, building)?;
            let shelters = w.buildings.kind[site].stats().shelters;
            if shelters == 0 || !w.buildings.is_complete(site) {
                return Err(Refusal::NoSuchBuilding);
            }
            units.retain(|row| w.units.stats(*row).splash == 0);
            require_any(&units)?;
            all(
                units,
                Errand::about(Order::Enter, building, w.buildings.tile[site]),
            )
        }
    }
}

/// Begins an errand, if there is still something to do. `false`: the unit keeps its order.
pub(super) fn begin(w: &mut World, row: usize, errand: Errand) -> bool {
    let building = || w.buildings.row(Id(errand.target));
    match errand.order {
        Order::Idle => become_idle(w, row),
        Order::Hold => {
            become_idle(w, row);
            w.units.order[row] = Order::Hold;
        }
        Order::Move | Order::AttackMove | Order::Patrol => {
            let from = w.map.index(w.units.tile(row));
            w.units.command(row, errand.order);
            w.units.site[row] = from;
            w.units.goal[row] = errand.goal;
            w.units.post[row] = errand.post;
            w.units.ask(row, errand.goal);
        }
        Order::AttackGround => {
            w.units.command(row, errand.order);
            w.units.goal[row] = errand.goal;
            w.units.post[row] = errand.goal;
        }
        Order::Attack => {
            let seat = usize::from(w.units.seat[row]);
            let Ok(target) = targetable(w, seat, Id(errand.target)) else {
                return false;
            };
            attack(w, row, errand.target, target);
        }
        Order::Gather | Order::Return => send_to_gather(w, row, errand.goal),
        Order::Construct => {
            let Some(site) = building().filter(|site| !w.buildings.is_complete(*site)) else {
                return false;
            };
            send_to_building(w, row, errand.order, site);
        }
        Order::Repair => {
            let seat = w.units.seat[row];
            let Some(site) = building().filter(|site| is_damaged(w, *site, seat)) else {
                return false;
            };
            send_to_building(w, row, errand.order, site);
        }
        Order::Farm => return building().is_some_and(|farm| send_to_farm(w, row, farm)),
        Order::Enter => {
            let Some(site) = building() else {
                return false;
            };
            send_to_building(w, row, errand.order, site);
        }
        Order::Inside => return false,
    }
    true
}

fn attack(w: &mut World, row: usize, id: u32, target: Target) {
    let aim = w.target_tile(target);
    w.units.command(row, Order::Attack);
    w.units.target[row] = id;
    w.units.goal[row] = aim;
    w.units.post[row] = aim;
    w.units.ask(row, aim);
}

impl From<Waypoint> for Errand {
    fn from(point: Waypoint) -> Self {
        Self {
            order: point.order,
            goal: point.goal,
            post: point.post,
            target: point.target,
        }
    }
}

fn workers_first(w: &World, units: Vec<usize>) -> (Vec<usize>, Vec<usize>) {
    units
        .into_iter()
        .partition(|row| w.units.kind[*row] == Kind::Worker)
}

fn require_any(units: &[usize]) -> Result<(), Refusal> {
    if units.is_empty() {
        Err(Refusal::NoUnit)
    } else {
        Ok(())
    }
}
