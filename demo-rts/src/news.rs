//! Log lines about events that a player may not see on the screen.

use crate::words;
use crate::world::{Effect, Id, Kind, TICKS_PER_SECOND, Tile, World};
use lockstep::Seat;
use std::collections::BTreeMap;

/// Finds the effects of a tick that deserve a line.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// Reported attacks, with their tick. Each suppresses further reports nearby for a while.
    reported: Vec<(u32, Tile)>,
    /// The tile of the newest reported attack, until it is taken.
    alarm: Option<Tile>,
    /// The tile of the newest attack, reported or seen.
    attacked_at: Option<Tile>,
    /// Lines name no tiles: another part of the screen leads to the place.
    without_tiles: bool,
}

impl News {
    /// News whose lines name no tiles.
    pub fn without_tiles() -> News {
        News {
            without_tiles: true,
            ..News::default()
        }
    }

    /// The lines for a tick: defeats of any seat; for the own seat, finished work and attacks off the screen.
    /// `named` gives a seat's name, `shown` whether a tile is on the screen.
    pub fn of(
        &mut self,
        world: &World,
        effects: &[Effect],
        own: Option<Seat>,
        named: impl Fn(Seat) -> String,
        shown: impl Fn(Tile) -> bool,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let fallen = fallen(effects);
        for effect in effects {
            match *effect {
                Effect::Defeated { seat } if Some(seat) == own => {
                    lines.push("you are defeated".to_owned());
                }
                Effect::Defeated { seat } => lines.push(format!("{} is defeated", named(seat))),
                Effect::Built { kind, seat, .. } if Some(seat) == own => {
                    lines.push(format!("{} is finished", words::one(kind)));
                }
                Effect::Researched {
                    seat,
                    upgrade,
                    level,
                } if Some(seat) == own => {
                    lines.push(format!("{} {level} researched", upgrade.stats().name));
                }
                Effect::Hit { target, at, .. } => {
                    let tile = Tile::of(at);
                    let struck =
                        owner(world, &fallen, target).filter(|(seat, _)| Some(*seat) == own);
                    let Some((_, kind)) = struck else {
                        continue;
                    };
                    self.attacked_at = Some(tile);
                    if !shown(tile) && self.is_new(world.tick(), tile) {
                        self.alarm = Some(tile);
                        lines.push(format!("ATTACK{}: {}", self.place(tile), kind.stats().name));
                    }
                }
                Effect::Died { id, kind, seat, at } if Some(seat) == own && kind.is_building() => {
                    // A building that its owner tore down fell without a hit.
                    let struck = |effect: &Effect| matches!(effect, Effect::Hit { target, .. } if *target == id);
                    if effects.iter().any(struck) {
                        let tile = Tile::of(at);
                        lines.push(format!("LOST{}: {}", self.place(tile), kind.stats().name));
                    }
                }
                _ => {}
            }
        }
        lines
    }

    /// The tile of the newest attack on the own seat, on the screen or not.
    pub fn attacked_at(&self) -> Option<Tile> {
        self.attacked_at
    }

    /// The tile of an attack reported since the last call.
    pub fn take_alarm(&mut self) -> Option<Tile> {
        self.alarm.take()
    }

    fn place(&self, tile: Tile) -> String {
        match self.without_tiles {
            true => String::new(),
            false => format!(" at {},{}", tile.x, tile.y),
        }
    }

    fn is_new(&mut self, tick: u32, tile: Tile) -> bool {
        self.reported
            .retain(|(reported, _)| tick.saturating_sub(*reported) < QUIET_TICKS);
        let known = |reported: &(u32, Tile)| {
            tick.saturating_sub(reported.0) < TICKS_PER_SECOND
                || reported.1.king_steps(tile) <= AREA_TILES
        };
        if self.reported.iter().any(known) {
            return false;
        }
        self.reported.push((tick, tile));
        true
    }
}

/// Owners and kinds of the units and buildings that fell in this tick.
fn fallen(effects: &[Effect]) -> BTreeMap<Id, (Seat, Kind)> {
    let died = effects.iter().filter_map(|effect| match effect {
        Effect::Died { id, kind, seat, .. } => Some((*id, (*seat, *kind))),
        _ => None,
    });
    died.collect()
}

/// Owner and kind of the target of a hit. A target that the hit destroyed is only in `fallen`.
fn owner(world: &World, fallen: &BTreeMap<Id, (Seat, Kind)>, target: Id) -> Option<(Seat, Kind)> {
    let unit = world.unit(target).map(|unit| (unit.seat, unit.kind));
    let standing = unit.or_else(|| world.building(target).map(|b| (b.seat, b.kind)));
    standing.or_else(|| fallen.get(&target).copied())
}

/// An attack is reported once in this time within `AREA_TILES`, and any attack at most once a second.
const QUIET_TICKS: u32 = 10 * TICKS_PER_SECOND;
const AREA_TILES: u16 = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Upgrade;
    use sim::{Simulation, Vec2};

    fn at(x: i32, y: i32) -> Vec2 {
        Vec2::from_ints(x, y)
    }

    fn hit(target: Id, at: Vec2) -> Effect {
        let damage = 1;
        Effect::Hit { target, at, damage }
    }

    fn of(world: &World, seat: u8) -> Id {
        let mut units = world.units();
        units.find(|unit| unit.seat == Seat(seat)).unwrap().id
    }

    #[test]
    fn attacks_off_the_screen_are_reported_once_per_area() {
        let mut world = World::of_two();
        let (own, other) = (of(&world, 0), of(&world, 1));
        let mut news = News::default();
        let mut lines = |world: &World, effect: Effect, shown: bool| {
            let named = |seat: Seat| format!("bot {}", seat.0);
            let tick = [effect, effect];
            news.of(world, &tick, Some(Seat(0)), named, |_| shown).len()
        };
        assert_eq!(lines(&world, hit(other, at(9, 9)), false), 0);
        assert_eq!(lines(&world, hit(own, at(9, 9)), true), 0);
        assert_eq!(lines(&world, hit(own, at(9, 9)), false), 1);
        assert_eq!(lines(&world, hit(own, at(20, 9)), false), 0);
        // Another area is reported too, but not within the same second.
        assert_eq!(lines(&world, hit(own, at(40, 9)), false), 0);
        for _ in 0..TICKS_PER_SECOND {
            world.step(&[], &mut Vec::new());
        }
        assert_eq!(lines(&world, hit(own, at(40, 9)), false), 1);
        for _ in TICKS_PER_SECOND..QUIET_TICKS {
            assert_eq!(lines(&world, hit(own, at(9, 9)), false), 0);
            world.step(&[], &mut Vec::new());
        }
        assert_eq!(lines(&world, hit(own, at(9, 9)), false), 1);
        assert_eq!(news.attacked_at(), Some(Tile::new(9, 9)));
    }

    #[test]
    fn the_last_attack_is_known_even_if_it_was_on_the_screen() {
        let mut world = World::of_two();
        let own = of(&world, 0);
        let mut news = News::default();
        let mut struck = |world: &World, at: Vec2, shown: bool| {
            let tick = [hit(own, at)];
            let lines = news.of(world, &tick, Some(Seat(0)), |_| String::new(), |_| shown);
            (lines.len(), news.attacked_at(), news.take_alarm())
        };
        let tile = |x, y| Some(Tile::new(x, y));
        assert_eq!(struck(&world, at(9, 9), true), (0, tile(9, 9), None));
        assert_eq!(struck(&world, at(9, 9), false), (1, tile(9, 9), tile(9, 9)));
        // An attack elsewhere, on the screen; then the first area again, reported a moment ago.
        assert_eq!(struck(&world, at(60, 9), true), (0, tile(60, 9), None));
        assert_eq!(struck(&world, at(9, 9), false), (0, tile(9, 9), None));
        world.step(&[], &mut Vec::new());
        let other = of(&world, 1);
        let lines = news.of(
            &world,
            &[hit(other, at(5, 5))],
            Some(Seat(0)),
            |_| String::new(),
            |_| true,
        );
        assert!(lines.is_empty());
        assert_eq!(news.attacked_at(), tile(9, 9));
    }

    #[test]
    fn a_unit_killed_by_the_first_hit_is_reported() {
        let world = World::of_two();
        let id = Id(1_000_000);
        let died = Effect::Died {
            id,
            kind: Kind::Archer,
            seat: Seat(0),
            at: at(3, 4),
        };
        let tick = [hit(id, at(3, 4)), died];
        let lines = News::default().of(&world, &tick, Some(Seat(0)), |_| String::new(), |_| false);
        assert_eq!(lines, ["ATTACK at 3,4: archer"]);
        // No hit in this tick.
        let lines =
            News::default().of(&world, &[died], Some(Seat(0)), |_| String::new(), |_| false);
        assert!(lines.is_empty());
    }

    #[test]
    fn a_destroyed_building_is_lost_a_demolished_one_is_not() {
        let world = World::of_two();
        let id = Id(1_000_000);
        let died = Effect::Died {
            id,
            kind: Kind::Farm,
            seat: Seat(0),
            at: at(3, 4),
        };
        let reported = |tick: &[Effect]| {
            News::default().of(&world, tick, Some(Seat(0)), |_| String::new(), |_| true)
        };
        let tick = [hit(id, at(3, 4)), died];
        assert_eq!(reported(&tick), ["LOST at 3,4: farm"]);
        let mut in_a_window = News::without_tiles();
        let named = |_| String::new();
        let lines = in_a_window.of(&world, &tick, Some(Seat(0)), named, |_| false);
        assert_eq!(lines, ["ATTACK: farm", "LOST: farm"]);
        assert!(reported(&[died]).is_empty());
    }

    #[test]
    fn finished_work_is_news_to_its_owner_defeat_to_all() {
        let world = World::of_two();
        let kind = Kind::Barracks;
        let (id, upgrade, level) = (Id(7), Upgrade::Blades, 2);
        let effects = |seat| {
            [
                Effect::Built { id, kind, seat },
                Effect::Researched {
                    seat,
                    upgrade,
                    level,
                },
                Effect::Defeated { seat },
            ]
        };
        let reported = |seat, own| {
            let named = |seat: Seat| format!("bot {}", seat.0);
            News::default().of(&world, &effects(seat), own, named, |_| true)
        };
        let own = Some(Seat(0));
        let all = [
            "a barracks is finished",
            "blades 2 researched",
            "you are defeated",
        ];
        assert_eq!(reported(Seat(0), own), all);
        assert_eq!(reported(Seat(1), own), ["bot 1 is defeated"]);
        assert_eq!(reported(Seat(1), None), ["bot 1 is defeated"]);
    }
}
