//! What each unit does in a tick, by its order.

use super::{
    Effect, Id, World,
    combat::{self, Blow},
    crowd::{LOOK_TICKS, News, Note, Sensed},
    economy::{self, become_idle},
    farms, garrison, repair, siege,
    tables::RULES,
    units::{Order, Way},
    waypoints,
};

/// When units have something to do: for each order and news, the circumstances that suffice.
pub(super) struct Occasions([[u8; 8]; 16]);

impl Occasions {
    const ALWAYS: u8 = 1;
    /// It stands.
    const STANDS: u8 = 2;
    /// It is on its way.
    const GOES: u8 = 4;
    /// A way failed it.
    const FAILED: u8 = 8;
    /// Its weapon is ready.
    const READY: u8 = 16;
    /// It is its turn to look around.
    const TURN: u8 = 32;
    /// It stands, and no way has failed it.
    const FRESH: u8 = 64;

    pub fn new() -> Self {
        let fights = Self::GOES | Self::FAILED | Self::READY;
        let mut table = [[0; 8]; 16];
        for order in (0..16).filter_map(Order::from_number) {
            let nothing = match order {
                Order::AttackMove | Order::Patrol => Self::STANDS,
                Order::Attack => Self::ALWAYS,
                _ => 0,
            };
            let far = match order {
                Order::Hold => 0,
                _ => Self::TURN | Self::FRESH,
            };
            let occasions = &mut table[order as usize];
            match order {
                Order::Inside => {}
                Order::Move => *occasions = [Self::STANDS; 8],
                _ if order.strikes() => {
                    *occasions = [Self::ALWAYS; 8];
                    occasions[News::Nothing as usize] = nothing;
                    occasions[News::InReach as usize] = fights;
                    occasions[News::Far as usize] = far;
                }
                _ => *occasions = [Self::ALWAYS; 8],
            }
        }
        Self(table)
    }

    /// Marks the units from `from` on that have something to do in this tick; most have not. The mark depends
    /// on the unit alone, and no other unit's deeds change that before the unit acts.
    #[inline]
    pub fn mark(&self, w: &World, from: usize, sensed: &[Sensed], acts: &mut [bool]) {
        let (units, tick, len) = (&w.units, w.tick, acts.len());
        let (id, hp) = (&units.id[from..][..len], &units.hp[from..][..len]);
        let (order, way) = (&units.order[from..][..len], &units.way[from..][..len]);
        let failures = &units.failures[from..][..len];
        let cooldown = &units.cooldown[from..][..len];
        let when = |so: bool, occasion: u8| u8::from(so).wrapping_neg() & occasion;
        for (row, (acts, sensed)) in acts.iter_mut().zip(&sensed[..len]).enumerate() {
            let goes = way[row] != Way::None;
            let failed = failures[row] != 0;
            let now = Self::ALWAYS
                | when(!goes, Self::STANDS)
                | when(goes, Self::GOES)
                | when(failed, Self::FAILED)
                | when(cooldown[row] <= 1, Self::READY)
                | when(is_turn_of(id[row], tick), Self::TURN)
                | when(!goes & !failed, Self::FRESH);
            let suffices = self.0[order[row] as usize % 16][sensed.news() as usize % 8];
            *acts = (now & suffices != 0) & (hp[row] > 0);
        }
    }
}

/// Lets every unit act, in the order of their ids. Blows fall later, all at once.
pub(super) fn act(w: &mut World, blows: &mut Vec<Blow>, effects: &mut Vec<Effect>) {
    for (cooldown, hp) in w.units.cooldown.iter_mut().zip(&w.units.hp) {
        *cooldown = cooldown.saturating_sub(u16::from(*hp > 0));
    }
    let mut next = 0;
    while let Some(row) = w.crowd.next_to_act(next) {
        next = row + 1;
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

/// Fights enemies that come near, else follows its order.
fn guard(w: &mut World, row: usize, blows: &mut Vec<Blow>, effects: &mut Vec<Effect>) {
    match w.crowd.sensed(row).note() {
        Note::Nothing if w.units.way[row] == Way::None => match w.units.order[row] {
            Order::AttackMove => become_idle(w, row),
            // A patrol turns in its own tick, so that a unit without a way does not ask in every tick.
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
    is_turn_of(w.units.id[row], w.tick)
}

#[inline(always)]
fn is_turn_of(id: u32, tick: u32) -> bool {
    tick.wrapping_add(id).is_multiple_of(LOOK_TICKS)
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
