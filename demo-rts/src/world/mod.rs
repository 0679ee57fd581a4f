//! The demo's world: a small real-time strategy game, stepped by whole ticks of 50 ms.
//!
//! A tick does, in this order: commands and seat events; what follows from the changed ground; who is
//! where; what each unit and tower does; ways; moves; arrows; blows, all at once; training; what is seen; burials;
//! the verdict. Rows stay where they are from the start of a tick to the burials, so a row may be kept
//! across the phases between. Between burials the dead keep their rows, with no hit points: every phase
//! skips them.
//!
//! Everything is integers in flat columns. Ids ascend and are never used again; a column's rows are in
//! the order of their ids.

#![deny(
    clippy::float_arithmetic,
    clippy::disallowed_types,
    clippy::disallowed_methods
)]

mod behaviour;
mod buildings;
mod columns;
mod combat;
mod command;
mod damage;
mod economy;
mod effect;
mod errands;
mod farms;
mod fog;
mod formation;
mod garrison;
mod generate;
mod grid;
mod map;
mod movement;
pub mod nav;
mod orders;
mod path;
mod recent;
mod repair;
mod research;
mod roll;
mod save;
mod seats;
mod seen;
mod selection;
mod setup;
mod siege;
mod space;
mod tables;
#[cfg(test)]
mod tests;
mod towers;
mod units;
mod victory;
mod view;
mod waypoints;

pub use command::{Command, Id, Task};
pub use effect::{Effect, Refusal};
pub use generate::MapKind;
pub use map::{LARGEST, LARGEST_PLAYED, Map, SMALLEST, Terrain};
pub use research::Job;
pub use seen::{Rival, Seen};
pub use selection::Selection;
pub use setup::{MOST_SEATS, Scenario, Setup};
pub use space::{ONE, Point, Tile};
pub use tables::{
    Ability, BUILDINGS_PER_SEAT, CARRY, Change, Fault, Kind, Line, QUEUE_LENGTH, Stats, TABLES,
    TICKS_PER_SECOND, TableError, Tables, Upgrade, UpgradeStats, WAYPOINTS,
};
pub use units::{Order, Resource};
pub use view::{BuildingView, ProjectileView, SeatView, UnitView};

use crate::bot;
use sim::{Entry, Outcome, RulesId, Seat, Simulation, Start, Stream};

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
    /// Id at which the path finder goes on in the next tick.
    path_cursor: u32,
    /// Draws what weapons do.
    random: Stream,
    ending: victory::Ending,
    /// From here on: made anew in every tick that uses it, and never state.
    /// The table as each seat's upgrades change it: made anew when they do.
    abilities: research::Abilities,
    grid: grid::Grid,
    finder: path::Finder,
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
        for entry in entries {
            match entry {
                Entry::Command { seat, command } => orders::execute(self, *seat, command, effects),
                Entry::Seat { seat, state } => {
                    orders::change_hands(self, *seat, *state, effects);
                }
            }
        }
        self.play_for_the_absent(effects);

        let mut blows = Vec::new();
        self.map.refresh_regions();
        self.units.index_rows();
        waypoints::go_on(self);
        self.grid.fill(&self.map, &self.units);
        behaviour::act(self, &mut blows, effects);
        towers::shoot(self, effects);
        self.map.refresh_regions();
        path::find_ways(self);
        movement::move_units(self);
        combat::fly(self, &mut blows);
        combat::fall(self, &blows, effects);
        buildings::train(self, effects);
        fog::refresh(self);
        victory::defeat_the_beaten(self, effects);
        combat::bury(self, effects);
        self.map.refresh_regions();
        self.tick = self.tick.saturating_add(1);
        victory::judge(self);
    }

    fn outcome(&self) -> Option<Outcome> {
        self.ending_outcome()
    }
}

impl World {
    /// Seats that no peer holds any more may be played by the bot, at the pace of a person.
    fn play_for_the_absent(&mut self, effects: &mut Vec<Effect>) {
        for row in 0..self.seats.len() {
            let seat = Seat(self.seats.seat[row]);
            let turn = self.tick % AI_PERIOD == row as u32 * 3;
            if self.seats.held[row] == seats::Held::Ai && !self.seats.is_defeated(row) && turn {
                for command in bot::think(self, seat, bot::Level::Normal) {
                    orders::execute(self, seat, &command, effects);
                }
            }
        }
    }
}

/// Grows with every change of code that changes what a step computes.
const CODE_VERSION: u32 = 3;
/// Ticks between two thoughts for an absent player; more than three times the seats.
const AI_PERIOD: u32 = 30;
const FNV_OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const FNV_PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
