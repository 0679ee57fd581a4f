//! The demo's world: a small real-time strategy game, stepped by whole ticks of 50 ms.
//!
//! A tick does, in this order: commands and seat events; effects of changed ground; sorting by place; actions
//! of units and towers; ways; moves; arrows; blows, all at once; training; sight; burials; the verdict. Rows
//! stay where they are from the start of a tick to the burials, so the phases between may keep a row. Between
//! burials the dead keep their rows, with no hit points, and every phase skips them.
//!
//! Everything is integers in flat columns. Ids ascend and are never used again; a column's rows are in
//! the order of their ids.

#![deny(
    clippy::float_arithmetic,
    clippy::disallowed_types,
    clippy::disallowed_methods
)]

mod bands;
mod behaviour;
mod buildings;
mod columns;
mod combat;
mod command;
mod crowd;
mod damage;
mod economy;
mod effect;
mod errands;
mod farms;
mod fog;
mod formation;
mod garrison;
mod generate;
mod goals;
mod map;
mod may;
mod movement;
pub mod nav;
mod orders;
mod recent;
mod repair;
mod research;
mod roll;
mod save;
mod scenarios;
mod seats;
mod seen;
mod selection;
mod setup;
mod siege;
mod tables;
#[cfg(test)]
mod tests;
mod tile;
mod towers;
mod units;
mod victory;
mod view;
mod waypoints;

pub use command::{Command, Id, Task};
pub use effect::{Effect, Refusal};
pub use generate::MapKind;
pub use goals::STEPS_PER_TICK;
pub use map::{LARGEST, LARGEST_PLAYED, Map, SMALLEST, Terrain};
pub use research::Job;
pub use seen::{Rival, Seen};
pub use selection::Selection;
pub use setup::{Density, LONGEST_MINUTES, MOST_SEATS, SHORTEST_MINUTES, Scenario, Setup};
pub use tables::{
    Ability, BUILDINGS_PER_SEAT, CARRY, Change, Common, Fault, Kind, Line, QUEUE_LENGTH, Stats,
    TABLES, TICKS_PER_SECOND, TableError, Tables, Upgrade, UpgradeStats, WAYPOINTS,
};
pub use tile::Tile;
pub use units::{Order, Resource};
pub use view::{BuildingView, ProjectileView, SeatView, UnitView};

use tables::RULES;

use crate::bot;
use sim::{Entry, Outcome, RulesId, Seat, Seed, Simulation, Start, Stream};

/// The whole game at one tick.
#[derive(Clone, Debug)]
pub struct World {
    tick: u32,
    setup: Setup,
    map: Map,
    seats: seats::Seats,
    units: units::Units,
    buildings: buildings::Buildings,
    projectiles: combat::Projectiles,
    roll: roll::Roll,
    /// By row of the seats' table.
    recents: Vec<recent::Recent>,
    fog: fog::Fog,
    waypoints: waypoints::Waypoints,
    next_id: u32,
    /// Number of the last band that was formed.
    last_band: u16,
    /// Where units are on their way to.
    goals: goals::Goals,
    /// Draws what weapons do. Every step mixes its entries in.
    random: Stream,
    ending: victory::Ending,
    /// Scratch from here on: it follows from the above, or changes no result; never state.
    /// The table as each seat's upgrades change it: made anew when they do.
    abilities: research::Abilities,
    crowd: crowd::Crowd,
    bands: bands::Bands,
    headings: Vec<movement::Heading>,
    /// For each seat the row of a unit that kept it in the match when last asked.
    witnesses: Vec<usize>,
    blows: Vec<combat::Blow>,
    /// Something was blocked or opened since units last found their ways.
    ground_changed: bool,
    threads: crowd::Threads,
    /// Whether to leave the machine's widest vectors alone.
    plain: bool,
}

impl Simulation for World {
    type Setup = Setup;
    type Command = Command;
    type Effect = Effect;

    fn rules(_: &Setup) -> RulesId {
        let sound = TABLES.check();
        assert!(sound.is_ok(), "the table contradicts itself: {sound:?}");
        let mut hash = FNV_OFFSET;
        let version = CODE_VERSION.to_le_bytes();
        for byte in version.into_iter().chain(tables::table_bytes(&TABLES)) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(FNV_PRIME);
        }
        RulesId(hash.to_le_bytes())
    }

    fn new(start: &Start<Setup>) -> Self {
        setup::begin(start)
    }

    fn step(&mut self, entries: &[Entry<Command>], effects: &mut Vec<Effect>) {
        self.step_watched(entries, effects, |_| {});
    }

    fn outcome(&self) -> Option<Outcome> {
        self.ending_outcome()
    }
}

/// A part of a step, for measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Commands, seat events, and the bots of absent players.
    Commands = 0,
    /// Sorting all units by place.
    Sort = 1,
    /// Neighbours and enemies, on all threads.
    Scan = 2,
    /// Actions of units.
    Act = 3,
    /// Goals and the fields that lead to them.
    Ways = 4,
    /// Moves, on all threads.
    Move = 5,
    /// Arrows and blows.
    Combat = 6,
    /// Training, burials, changed ground, the verdict.
    Rest = 7,
}

impl Phase {
    /// All, in the order of a step.
    pub const ALL: [Phase; 8] = [
        Phase::Commands,
        Phase::Sort,
        Phase::Scan,
        Phase::Act,
        Phase::Ways,
        Phase::Move,
        Phase::Combat,
        Phase::Rest,
    ];
}

impl World {
    /// The first tick of a match of two with the usual setup: a sample for tests.
    #[must_use]
    pub fn of_two() -> World {
        World::new(&Start {
            setup: Setup::default(),
            seed: Seed([1; 32]),
            seats: vec![Seat(0), Seat(1)],
        })
    }

    /// A map before its first tick, without any seat.
    fn empty(setup: Setup, map: Map, random: Stream) -> World {
        World {
            tick: 0,
            setup,
            crowd: crowd::Crowd::new(map.size()),
            map,
            seats: seats::Seats::default(),
            units: units::Units::default(),
            buildings: buildings::Buildings::default(),
            projectiles: combat::Projectiles::default(),
            roll: roll::Roll::default(),
            recents: Vec::new(),
            fog: fog::Fog::default(),
            waypoints: waypoints::Waypoints::default(),
            next_id: 1,
            last_band: 0,
            goals: goals::Goals::default(),
            random,
            ending: victory::Ending::default(),
            abilities: research::Abilities::default(),
            bands: bands::Bands::default(),
            headings: Vec::new(),
            witnesses: Vec::new(),
            blows: Vec::new(),
            ground_changed: false,
            threads: crowd::Threads::default(),
            plain: false,
        }
    }

    /// [`step`](Simulation::step), telling `done` of each phase when it ends.
    pub fn step_watched(
        &mut self,
        entries: &[Entry<Command>],
        effects: &mut Vec<Effect>,
        done: impl FnMut(Phase) + Send,
    ) {
        let threads = self.threads.for_units(self.units.len());
        crowd::on_threads(threads, || {
            self.step_in_phases(threads, entries, effects, done)
        });
    }

    fn step_in_phases(
        &mut self,
        threads: usize,
        entries: &[Entry<Command>],
        effects: &mut Vec<Effect>,
        mut done: impl FnMut(Phase),
    ) {
        self.random.mix(entries);
        for entry in entries {
            match entry {
                Entry::Command { seat, command } => orders::execute(self, *seat, command, effects),
                Entry::Seat { seat, state } => {
                    orders::change_hands(self, *seat, *state, effects);
                }
            }
        }
        self.play_for_the_absent(effects);
        done(Phase::Commands);

        let mut blows = std::mem::take(&mut self.blows);
        blows.clear();
        self.units.index_rows();
        waypoints::go_on(self);
        crowd::Crowd::fill(self, threads);
        done(Phase::Sort);
        crowd::scan(self, threads);
        done(Phase::Scan);
        behaviour::act(self, &mut blows, effects);
        towers::shoot(self, effects);
        done(Phase::Act);
        goals::serve(self, threads);
        done(Phase::Ways);
        bands::Bands::fill(self);
        movement::move_units(self, threads);
        done(Phase::Move);
        combat::fly(self, &mut blows);
        combat::fall(self, &blows, effects);
        self.blows = blows;
        done(Phase::Combat);
        buildings::train(self, effects);
        fog::refresh(self);
        victory::defeat_the_beaten(self, effects);
        combat::bury(self, effects);
        goals::refresh(self);
        self.tick = self.tick.saturating_add(1);
        victory::judge(self);
        done(Phase::Rest);
    }

    /// Uses this many threads from now on, at most 16. The default is one for few units, and else one per
    /// core. No result depends on it.
    pub fn set_threads(&mut self, threads: std::num::NonZeroUsize) {
        self.threads = crowd::Threads::Given(threads);
    }

    /// Bytes kept from tick to tick that are not state: what sorts, finds and remembers ways.
    pub fn scratch_bytes(&self) -> usize {
        self.crowd.memory()
            + self.map.scratch_bytes()
            + self.goals.scratch_bytes()
            + self.headings.capacity() * size_of::<movement::Heading>()
            + self.blows.capacity() * size_of::<combat::Blow>()
    }

    /// Steps that the searches for ways to all places in use have taken: more by at most [`STEPS_PER_TICK`]
    /// after each tick.
    pub fn search_steps(&self) -> u64 {
        self.goals.steps.iter().map(|steps| u64::from(*steps)).sum()
    }

    /// Whether to keep to instructions that every machine has. No result depends on it.
    pub fn set_plain(&mut self, plain: bool) {
        self.plain = plain;
    }

    /// Lets the bot play seats without a peer, at the pace of a person.
    fn play_for_the_absent(&mut self, effects: &mut Vec<Effect>) {
        for row in 0..self.seats.len() {
            let seat = Seat(self.seats.seat[row]);
            let turn = self.tick % RULES.ai_period == row as u32 * 3;
            if self.seats.held[row] == seats::Held::Ai && !self.seats.is_defeated(row) && turn {
                for command in bot::think(self, seat, bot::Level::Normal) {
                    orders::execute(self, seat, &command, effects);
                }
            }
        }
    }
}

/// Grows with every change of code that changes what a step computes.
const CODE_VERSION: u32 = 9;
const FNV_OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const FNV_PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
