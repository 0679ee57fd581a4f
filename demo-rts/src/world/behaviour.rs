//! What each unit does in a tick, by its order.

use super::{
    Effect, Id, World,
    combat::{self, Blow},
    crowd::{LOOK_TICKS, Note},
    economy::{self, become_idle},
    farms, garrison, repair, siege,
    tables::RULES,
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
    match w.crowd.sensed(row).note() {
        Note::Nothing if w.units.way[row] == Way::None => match w.units.order[row] {
            Order::AttackMove => become_idle(w, row),
            // It turns in its own tick, so that one who cannot go anywhere does not ask in every tick.
            Order::Patrol if is_its_turn(w, row) => waypoints::turn(w, row),
            _ => {}
        },
        Note::Nothing => {}
        Note::Found(target) => w.units.target[row] = w.id_of(target).0,
        Note::Lost => {
            w.units.target[row] = 0;
            resume(w, row);
        }
        note @ (Note::InReach | Note::Far) => fight(w, row, note, blows, effects),
    }
}

fn is_its_turn(w: &World, row: usize) -> bool {
    let turn = w.tick.wrapping_add(w.units.id[row]);
    turn.is_multiple_of(LOOK_TICKS)
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

/// Pursues one target until it is dead or out of sight.
fn attack(w: &mut World, row: usize, blows: &mut Vec<Blow>, effects: &mut Vec<Effect>) {
    match w.crowd.sensed(row).note() {
        Note::InReach => fight(w, row, Note::InReach, blows, effects),
        Note::Far => fight(w, row, Note::Far, blows, effects),
        _ => become_idle(w, row),
    }
}

/// Strikes a target in reach, walks towards one that is not.
fn fight(w: &mut World, row: usize, note: Note, blows: &mut Vec<Blow>, effects: &mut Vec<Effect>) {
    if note == Note::InReach {
        w.units.failures[row] = 0;
        if w.units.way[row] != Way::None {
            w.units.halt(row);
        }
        if w.units.cooldown[row] == 0
            && let Some(target) = w.target(Id(w.units.target[row]))
        {
            combat::strike(w, row, target, blows, effects);
        }
        return;
    }
    let looks = is_its_turn(w, row);
    let fresh = w.units.way[row] == Way::None && w.units.failures[row] == 0;
    if w.units.order[row] == Order::Hold || !(looks || fresh) {
        return;
    }
    let Some(target) = w.target(Id(w.units.target[row])) else {
        return;
    };
    let aim = w.target_tile(target);
    match w.units.way[row] {
        Way::None => {
            w.units.failures[row] = w.units.failures[row].saturating_add(1);
            if w.units.failures[row] > RULES.failures {
                give_up(w, row);
            } else {
                w.units.ask(row, aim);
            }
        }
        Way::Straight => w.units.aim[row] = aim,
        Way::Course if strays(w, row, aim) => w.units.ask(row, aim),
        Way::Course | Way::Asked => {}
    }
}

/// Whether the target has gone so far from where it was that the way there no longer serves.
fn strays(w: &World, row: usize, aim: u32) -> bool {
    let (then, now) = (w.map.tile_of(w.units.aim[row]), w.map.tile_of(aim));
    then.king_steps(now) > 2
}

fn give_up(w: &mut World, row: usize) {
    w.units.target[row] = 0;
    match w.units.order[row] {
        Order::AttackMove | Order::Patrol => resume(w, row),
        _ => become_idle(w, row),
    }
}
