//! Where things are between two ticks, and which way they look.

use super::camera::{Place, place_of};
use super::land::Eye;
use crate::world::{BuildingView, Id, Order, UnitView, World};
use lockstep::Seat;
use sim::Angle;
use std::f32::consts::TAU;

/// A unit as it is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Walker {
    /// As the world has it.
    pub unit: UnitView,
    /// Where it was a tick ago.
    pub from: Place,
    /// Where it is.
    pub to: Place,
    /// Which way it looks, from the right clockwise.
    pub heading: Angle,
    /// Which way it is to look, as soon as it has turned.
    aim: Angle,
}

impl Walker {
    /// Where it is so far from the last tick to the next, 0 to 1.
    pub fn at(&self, alpha: f32) -> Place {
        between(self.from, self.to, alpha)
    }
}

/// An arrow as it is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Arrow {
    /// Whose.
    pub seat: Seat,
    /// Where it was a tick ago.
    pub from: Place,
    /// Where it is.
    pub to: Place,
    /// Where it will strike.
    pub goal: Place,
}

/// What one eye sees of a world, ready to be drawn at any moment of a tick.
#[derive(Clone, Debug, Default)]
pub struct Motion {
    /// Units outside of buildings, by ascending id.
    pub walkers: Vec<Walker>,
    /// Buildings, those remembered last.
    pub buildings: Vec<BuildingView>,
    /// Arrows.
    pub arrows: Vec<Arrow>,
}

impl Motion {
    /// Takes in a tick. To be called once for each; what leaps or is new stands where it is.
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

    /// A unit, as it is drawn.
    pub fn walker(&self, id: Id) -> Option<&Walker> {
        let place = self
            .walkers
            .binary_search_by_key(&id, |walker| walker.unit.id);
        place.ok().map(|place| &self.walkers[place])
    }

    /// A building, as it is drawn.
    pub fn building(&self, id: Id) -> Option<&BuildingView> {
        self.buildings.iter().find(|building| building.id == id)
    }

    /// Turns the heads of these units to a place at once: an order is answered before it is executed.
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

    /// Lets heads turn for so many seconds.
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

/// Between two places: 0 is the first.
pub fn between(from: Place, to: Place, part: f32) -> Place {
    (
        from.0 + (to.0 - from.0) * part,
        from.1 + (to.1 - from.1) * part,
    )
}

/// Tiles from one place to another.
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

/// Nothing goes so many tiles in a tick.
const LEAP: f32 = 1.5;
/// More arrows than this are not told apart from tick to tick.
const MOST_PAIRS: usize = 250_000;
/// Units of an angle in a full turn.
const TURN: f32 = 65_536.0;
/// Units of an angle that a head turns in a second.
const TURN_RATE: f32 = 1.9 * TURN;
/// Units that have not moved yet look down to the right.
const FIRST_HEADING: Angle = Angle::degrees(46);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Command, Tile};
    use sim::{Entry, Num, Simulation};

    #[test]
    fn who_walks_is_drawn_between_where_it_was_and_where_it_is() {
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
    fn heads_turn_at_once_to_where_somebody_is_sent() {
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
    fn an_eye_sees_no_more_than_its_seat_may_know() {
        let world = World::of_two();
        let (mut own, mut all) = (Motion::default(), Motion::default());
        own.step(&world, Eye::Seat(Seat(0)));
        all.step(&world, Eye::All);
        assert!(own.walkers.iter().all(|walker| walker.unit.seat == Seat(0)));
        assert!(all.walkers.len() > own.walkers.len());
        assert!(all.buildings.len() > own.buildings.len());
    }
}
