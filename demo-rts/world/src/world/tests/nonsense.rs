//! Everything at once, with nonsense for commands.

use super::snapshots::crc;
use super::*;
use crate::world::generate::mix;

/// Numbers for the tests below, printed by their seed.
pub(super) struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = mix(self.0.wrapping_add(1));
        (self.0 >> 16) % bound.max(1)
    }

    /// Mostly a number that exists, sometimes any.
    fn id(&mut self, w: &World) -> Id {
        match self.below(12) {
            0 => Id(self.below(1 << 32) as u32),
            1 => Id([0, 1, u32::MAX][self.below(3) as usize]),
            _ => Id(self.below(u64::from(w.next_id) + 2) as u32),
        }
    }

    fn tile(&mut self, w: &World) -> Tile {
        let mut part = || match self.below(12) {
            0 => self.below(1 << 16) as u16,
            _ => self.below(u64::from(w.map.size()) + 1) as u16,
        };
        Tile::new(part(), part())
    }

    fn command(&mut self, w: &World) -> Command {
        let count = self.below(70) as usize;
        let units = match self.below(4) {
            0 => Selection::recent(self.below(24) as u8),
            1 => {
                let seat = Seat(self.below(4) as u8);
                w.select(seat, (0..count).map(|_| self.id(w)).collect::<Vec<_>>())
            }
            _ => (0..count).map(|_| self.below(80) as u16).collect(),
        };
        let kind = Kind::ALL[self.below(Kind::ALL.len() as u64) as usize];
        let (to, building, target) = (self.tile(w), self.id(w), self.id(w));
        let task = match self.below(10) {
            0 => Task::Move { to },
            1 => Task::Attack { target },
            2 => Task::AttackMove { to },
            3 => Task::Hold,
            4 => Task::Gather { from: to },
            5 => Task::Build { kind, at: to },
            6 => Task::Assist { building },
            7 => Task::Patrol { to },
            8 => Task::AttackGround { at: to },
            _ => Task::Garrison { building },
        };
        let upgrade = Upgrade::ALL[self.below(Upgrade::ALL.len() as u64) as usize];
        match self.below(60) {
            40..=45 => Command::Queue { units, task },
            46..=47 => Command::Patrol { units, to },
            48 => Command::AttackGround { units, at: to },
            49..=51 => Command::Garrison { units, building },
            52 => Command::Leave { building },
            53..=55 => Command::Research { building, upgrade },
            56 => Command::Demolish { building },
            0..=3 => Command::Move { units, to },
            4..=6 => Command::Attack { units, target },
            7..=10 => Command::AttackMove { units, to },
            11 => Command::Hold { units },
            12 => Command::Stop { units },
            13..=18 => {
                let from = w.map.tile_of(self.below(w.map.tiles() as u64) as u32);
                Command::Gather { units, from }
            }
            19..=23 => Command::Build {
                units,
                kind,
                at: to,
            },
            24..=29 => Command::Train { building, kind },
            30 => Command::CancelTrain {
                building,
                place: self.below(6) as u8,
            },
            31..=32 => Command::Rally { building, to },
            33..=35 => Command::Assist { units, building },
            36 => Command::CancelBuild { building },
            _ => Command::Train {
                building,
                kind: Kind::Worker,
            },
        }
    }

    pub fn entries(&mut self, w: &World) -> Vec<Entry<Command>> {
        let mut entries: Vec<Entry<Command>> = Vec::new();
        for seat in 0..5 {
            for _ in 0..self.below(4) {
                let command = self.command(w);
                entries.push(Entry::Command {
                    seat: Seat(seat),
                    command,
                });
            }
            if self.below(300) == 0 {
                let states = [SeatState::Played, SeatState::Idle, SeatState::Ai];
                let state = states[self.below(3) as usize];
                entries.push(Entry::Seat {
                    seat: Seat(seat),
                    state,
                });
            }
        }
        entries
    }
}

/// What must hold after every tick, whatever was commanded.
pub(super) fn assert_sound(w: &World) {
    for unit in w.units() {
        let hidden = unit.order == Order::Inside || w.map().occupant(unit.tile).is_some();
        assert!(hidden || !w.map().is_blocked(unit.tile), "{unit:?}");
        assert!(unit.hit_points > 0);
    }
    for building in w.buildings() {
        assert_eq!(w.map().occupant(building.tile), Some(building.id));
    }
    for row in 0..w.units.len() {
        let goal = usize::from(w.units.course[row]);
        assert!(w.units.way[row] != Way::Course || w.goals.size[goal] > 0);
    }
}

/// Repeat one: `SEED=n cargo test -p demo-world nonsense`.
#[test]
fn nonsense_leaves_every_world_sound_equal_and_loadable() {
    let seeds = match std::env::var("SEED") {
        Ok(seed) => vec![seed.parse().expect("a number")],
        Err(_) => (1..=6).collect::<Vec<u64>>(),
    };
    for seed in seeds {
        println!("SEED={seed} cargo test -p demo-world nonsense");
        let mut dice = Dice(seed);
        let mut setup = Setup {
            gold: 9_000,
            wood: 9_000,
            ..Setup::default()
        };
        if seed % 3 == 0 {
            setup.scenario = Scenario::Skirmish { units_per_seat: 60 };
        }
        let begin = start(4, seed, setup);
        let (mut w, mut twin) = (World::new(&begin), World::new(&begin));
        for tick in 0..500 {
            let entries = dice.entries(&w);
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            w.step(&entries, &mut ours);
            twin.step(&entries, &mut theirs);
            assert_eq!(ours, theirs);
            assert_sound(&w);
            if tick % 7 == 0 {
                let saved = bytes(&w);
                assert_eq!(saved, bytes(&twin), "tick {tick}");
                twin = World::load(&saved).unwrap_or_else(|error| panic!("tick {tick}: {error}"));
                assert_eq!(bytes(&twin), saved, "tick {tick}");
                assert_eq!(w.checksum(), sim::Checksum(crc(&saved)));
            }
        }
    }
}

#[test]
fn the_toolkit_finds_the_world_deterministic() {
    let begin = start(3, 8, Setup::default());
    sim::check::<World>(&begin)
        .ticks(150)
        .seeds(0..3)
        .commands(|w, random| Dice(random.next_u64()).entries(w))
        .assert();
}
