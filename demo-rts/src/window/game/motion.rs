//! Positions and headings between two ticks.

use super::camera::{Place, place_of};
use super::land::Eye;
use crate::world::{BuildingView, Id, Order, UnitView, World};
use lockstep::Seat;
use sim::Angle;
use std::f32::consts::TAU;

/// A unit as drawn.
#[derive(Clone, Copy, Debug)]
pub struct Walker {
    /// The unit in the world.
    pub unit: UnitView,
    /// Its place a tick ago.
    pub from: Place,
    /// Its place now.
    pub to: Place,
    /// Its heading, clockwise from the right.
    pub heading: Angle,
    /// The heading that it turns towards.
    aim: Angle,
}

impl Walker {
    /// Its place, `alpha` of the way from the last tick to the next.
    pub fn at(&self, alpha: f32) -> Place {
        between(self.from, self.to, alpha)
    }
}

/// An arrow as drawn.
#[derive(Clone, Copy, Debug)]
pub struct Arrow {
    pub seat: Seat,
    /// Its place a tick ago.
    pub from: Place,
    /// Its place now.
    pub to: Place,
    /// The place that it will hit.
    pub goal: Place,
}

/// What an eye sees of the world, at any moment of a tick.
#[derive(Clone, Debug, Default)]
pub struct Motion {
    /// Units outside of buildings, by ascending id.
    pub walkers: Vec<Walker>,
    /// Visible buildings, then remembered ones.
    pub buildings: Vec<BuildingView>,
    pub arrows: Vec<Arrow>,
}

impl Motion {
    /// Advances by a tick; call it once for each. New units, and units that jump, do not glide.
    pub fn step(&mut self, world: &World, eye: Eye) {
        let old = std::mem::take(&mut self.walkers);
        let mut before = old.iter().peekable();
        let mut take = |unit: UnitView| {
            if unit.order == Order::Inside {
                return;
            }
            while before.next_if(|last| last.unit.id < unit.id).is_some() {}
            let last = before.peek().filter(|last| last.unit.id == unit.id);
            self.walkers.push(walker(unit, last.copied()));
        };
        let arrows: Vec<_> = match eye {
            Eye::All => {
                world.units().for_each(&mut take);
                self.buildings = world.buildings().collect();
                world.projectiles().collect()
            }
            Eye::Seat(seat) => match world.seen_by(seat) {
                Some(seen) => {
                    seen.units().for_each(&mut take);
                    self.buildings = seen.buildings().collect();
                    seen.projectiles().collect()
                }
                None => {
                    self.buildings.clear();
                    Vec::new()
                }
            },
        };
        let old = std::mem::take(&mut self.arrows);
        let few = old.len() * arrows.len() <= MOST_PAIRS;
        self.arrows.extend(arrows.iter().map(|arrow| {
            let (to, goal) = (place_of(arrow.at), place_of(arrow.to));
            let came = |last: &&Arrow| {
                last.seat == arrow.seat && distance(last.to, to) < LEAP && nearer(last.to, to, goal)
            };
            let last = old.iter().filter(|_| few).find(came);
            let from = last.map_or(to, |last| last.to);
            let seat = arrow.seat;
            Arrow {
                seat,
                from,
                to,
                goal,
            }
        }));
    }

    pub fn walker(&self, id: Id) -> Option<&Walker> {
        let place = self
            .walkers
            .binary_search_by_key(&id, |walker| walker.unit.id);
        place.ok().map(|place| &self.walkers[place])
    }

    pub fn building(&self, id: Id) -> Option<&BuildingView> {
        self.buildings.iter().find(|building| building.id == id)
    }

    /// Turns units towards a place at once, before the order is executed.
    pub fn face(&mut self, units: &[Id], place: Place) {
        for id in units {
            if let Ok(at) = self
                .walkers
                .binary_search_by_key(id, |walker| walker.unit.id)
            {
                let walker = &mut self.walkers[at];
                walker.aim = angle(walker.to, place).unwrap_or(walker.aim);
                walker.heading = walker.aim;
            }
        }
    }

    /// Turns units for this long.
    pub fn turn(&mut self, seconds: f32) {
        let most = Angle((TURN_RATE * seconds) as u16);
        for walker in &mut self.walkers {
            walker.heading = walker.heading.turn_towards(walker.aim, most);
        }
    }
}

fn walker(unit: UnitView, last: Option<&Walker>) -> Walker {
    let to = place_of(unit.at);
    let from = last.map_or(to, |last| last.to);
    let from = if distance(from, to) > LEAP { to } else { from };
    let aim = angle(from, to)
        .or(last.map(|last| last.aim))
        .unwrap_or(FIRST_HEADING);
    Walker {
        unit,
        from,
        to,
        heading: last.map_or(aim, |last| last.heading),
        aim,
    }
}

/// Interpolates from `from` to `to`.
pub fn between(from: Place, to: Place, part: f32) -> Place {
    (
        from.0 + (to.0 - from.0) * part,
        from.1 + (to.1 - from.1) * part,
    )
}

/// Distance in tiles.
pub fn distance(from: Place, to: Place) -> f32 {
    (to.0 - from.0).hypot(to.1 - from.1)
}

fn nearer(before: Place, now: Place, goal: Place) -> bool {
    distance(now, goal) < distance(before, goal)
}

fn angle(from: Place, to: Place) -> Option<Angle> {
    (distance(from, to) > 0.004).then(|| {
        let radians = (to.1 - from.1).atan2(to.0 - from.0);
        Angle((radians / TAU * TURN) as i32 as u16)
    })
}

/// No unit moves this many tiles in a tick.
const LEAP: f32 = 1.5;
/// Beyond this many pairs, arrows are not matched from tick to tick.
const MOST_PAIRS: usize = 250_000;
/// Units of an angle in a full turn.
const TURN: f32 = 65_536.0;
/// Units of an angle that a unit turns in a second.
const TURN_RATE: f32 = 1.9 * TURN;
/// Units that have not moved yet face down and right.
const FIRST_HEADING: Angle = Angle::degrees(46);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Command, Tile};
    use sim::{Entry, Num, Simulation};

    #[test]
    fn a_walking_unit_is_drawn_between_two_ticks() {
        let mut world = World::of_two();
        let eye = Eye::Seat(Seat(0));
        let mut motion = Motion::default();
        motion.step(&world, eye);
        let first = motion.walkers[0];
        assert_eq!(first.at(0.5), first.to);
        let home = first.unit.tile;
        let to = Tile::new(home.x, home.y + 6);
        let units = world.select(Seat(0), [first.unit.id]);
        let order = Entry::Command {
            seat: Seat(0),
            command: Command::Move { units, to },
        };
        world.step(&[order], &mut Vec::new());
        motion.step(&world, eye);
        for _ in 0..10 {
            world.step(&[], &mut Vec::new());
            motion.step(&world, eye);
        }
        let walker = *motion.walker(first.unit.id).expect("it lives");
        assert_ne!(walker.from, walker.to);
        let (from, half, to) = (walker.from.1, walker.at(0.5).1, walker.to.1);
        assert!(from < half && half < to, "{from} {half} {to}");
        motion.turn(1.0);
        let heading = motion.walker(first.unit.id).map(|walker| walker.heading);
        assert!(
            heading.is_some_and(|heading| heading.sin() > Num::lit("0.3")),
            "{heading:?}"
        );
    }

    #[test]
    fn units_turn_to_their_target_at_once() {
        let world = World::of_two();
        let mut motion = Motion::default();
        motion.step(&world, Eye::Seat(Seat(0)));
        let walker = motion.walkers[0];
        let left = (walker.to.0 - 5.0, walker.to.1);
        motion.face(&[walker.unit.id], left);
        let heading = motion.walkers[0].heading;
        assert!(heading.cos() < Num::lit("-0.99"), "{heading:?}");
        assert_ne!(motion.walkers[1].heading, heading);
    }

    #[test]
    fn an_eye_sees_no_more_than_its_seat() {
        let world = World::of_two();
        let (mut own, mut all) = (Motion::default(), Motion::default());
        own.step(&world, Eye::Seat(Seat(0)));
        all.step(&world, Eye::All);
        assert!(own.walkers.iter().all(|walker| walker.unit.seat == Seat(0)));
        assert!(all.walkers.len() > own.walkers.len());
        assert!(all.buildings.len() > own.buildings.len());
    }
}
