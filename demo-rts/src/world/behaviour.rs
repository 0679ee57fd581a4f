//! What each unit does in a tick, by its order.

use super::{
    Effect, Id, World,
    combat::{self, Blow, LEASH, Target},
    economy::{self, become_idle},
    farms, garrison,
    movement::PATIENCE,
    repair, siege,
    units::{Order, Way},
    waypoints,
};

/// Lets every unit act, in the order of their ids. Blows fall later, all at once.
pub(super) fn act(w: &mut World, blows: &mut Vec<Blow>, effects: &mut Vec<Effect>) {
    for row in 0..w.units.len() {
        if w.units.hp[row] == 0 {
            continue;
        }
        w.units.cooldown[row] = w.units.cooldown[row].saturating_sub(1);
        match w.units.order[row] {
            Order::Idle | Order::AttackMove | Order::Hold | Order::Patrol => {
                guard(w, row, blows, effects);
            }
            Order::Move => {
                if w.units.way[row] == Way::None {
                    become_idle(w, row);
                }
            }
            Order::Attack => attack(w, row, blows, effects),
            Order::Gather => economy::gather(w, row, effects),
            Order::Return => economy::bring_home(w, row, effects),
            Order::Construct => economy::construct(w, row, effects),
            Order::Farm => farms::farm(w, row, effects),
            Order::Repair => repair::repair(w, row),
            Order::Enter => garrison::enter(w, row),
            Order::Inside => {}
            Order::AttackGround => siege::attack_ground(w, row, effects),
        }
    }
}

/// Fights whoever comes near, else minds its order.
fn guard(w: &mut World, row: usize, blows: &mut Vec<Blow>, effects: &mut Vec<Effect>) {
    let order = w.units.order[row];
    let fights = w.units.kind[row].is_soldier() || order != Order::Idle;
    let had = w.units.target[row] != 0;
    let mut target = current_target(w, row);
    // Everybody looks around every eighth tick, spread over the ticks by id.
    let looks = w.tick.wrapping_add(w.units.id[row]).is_multiple_of(8);
    if fights && (looks || had && target.is_none()) {
        let in_reach = target.is_some_and(|t| w.gap(row, t) <= w.able(row).range);
        if !in_reach && let Some(found) = combat::acquire(w, row) {
            w.units.target[row] = found.0;
            target = w.target(found);
        }
    }
    match target {
        Some(target) => fight(w, row, target, blows, effects),
        None => {
            w.units.target[row] = 0;
            if had {
                resume(w, row);
            } else if order == Order::AttackMove && w.units.way[row] == Way::None {
                become_idle(w, row);
            } else if order == Order::Patrol && w.units.way[row] == Way::None && looks {
                waypoints::turn(w, row);
            }
        }
    }
}

/// The target, while it lives and the order allows to pursue it.
fn current_target(w: &World, row: usize) -> Option<Target> {
    if w.units.target[row] == 0 {
        return None;
    }
    let target = seen_target(w, row)?;
    let at = w.target_at(target);
    let allowed = match w.units.order[row] {
        Order::Idle => {
            w.map
                .tile_of(w.units.post[row])
                .centre()
                .distance_squared(at)
                <= LEASH
        }
        Order::Hold => w.gap(row, target) <= w.able(row).range,
        _ => true,
    };
    allowed.then_some(target)
}

/// After a fight: back to the post, or on to the goal.
fn resume(w: &mut World, row: usize) {
    w.units.failures[row] = 0;
    w.units.halt(row);
    match w.units.order[row] {
        Order::AttackMove | Order::Patrol => w.units.ask(row, w.units.goal[row]),
        Order::Idle => w.units.ask(row, w.units.post[row]),
        _ => {}
    }
}

/// The target, while it lives and the unit's seat sees it.
fn seen_target(w: &World, row: usize) -> Option<Target> {
    let target = w.target(Id(w.units.target[row]))?;
    w.sees_target(usize::from(w.units.seat[row]), target)
        .then_some(target)
}

/// Pursues one target until it is dead or out of sight.
fn attack(w: &mut World, row: usize, blows: &mut Vec<Blow>, effects: &mut Vec<Effect>) {
    match seen_target(w, row) {
        Some(target) => fight(w, row, target, blows, effects),
        None => become_idle(w, row),
    }
}

/// Strikes a target in reach, walks towards one that is not.
fn fight(
    w: &mut World,
    row: usize,
    target: Target,
    blows: &mut Vec<Blow>,
    effects: &mut Vec<Effect>,
) {
    if w.gap(row, target) <= w.able(row).range {
        w.units.failures[row] = 0;
        if w.units.way[row] != Way::None {
            w.units.halt(row);
        }
        combat::strike(w, row, target, blows, effects);
        return;
    }
    let looks = w.tick.wrapping_add(w.units.id[row]).is_multiple_of(8);
    if w.units.order[row] == Order::Hold || w.units.way[row] == Way::Asked || !looks {
        return;
    }
    let aim = w.target_tile(target);
    if w.units.way[row] == Way::None {
        w.units.failures[row] = w.units.failures[row].saturating_add(1);
        if w.units.failures[row] > PATIENCE {
            give_up(w, row);
            return;
        }
        w.units.ask(row, aim);
    } else if w.units.aim[row] != aim {
        w.units.ask(row, aim);
    }
}

fn give_up(w: &mut World, row: usize) {
    w.units.target[row] = 0;
    match w.units.order[row] {
        Order::AttackMove | Order::Patrol => resume(w, row),
        _ => become_idle(w, row),
    }
}
