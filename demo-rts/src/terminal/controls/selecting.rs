//! Selecting the units and buildings that receive the next orders.

use super::{Act, Hand, lies_in};
use crate::home::{first_unit_of, hall_of};
use crate::world::{Id, Kind, Order, Selection, Tile, UnitView, World};

impl Hand {
    pub(super) fn select_here(&mut self, world: &World) -> Act {
        let here = self.cursor;
        let units = self.units_outside(world);
        let units = units.filter(|unit| unit.tile == here);
        let mut found: Vec<Id> = units.map(|unit| unit.id).collect();
        if found.is_empty() {
            found.extend(self.own_building_here(world));
        }
        self.select(found, "none of your units or buildings is here")
    }

    pub(super) fn draw_box(&mut self, world: &World) -> Act {
        if self.corner.is_none() {
            self.corner = Some(self.cursor);
            return Act::Say("go to the other corner and press v again".into());
        }
        let (from, to) = self.marked();
        self.corner = None;
        let inside =
            |tile: Tile| (from.x..=to.x).contains(&tile.x) && (from.y..=to.y).contains(&tile.y);
        let units = self.units_outside(world);
        let units = units.filter(|unit| inside(unit.tile));
        let found = units.map(|unit| unit.id).collect();
        self.select(found, "none of your units is there")
    }

    pub(super) fn select_idle_workers(&mut self, world: &World) -> Act {
        let idle = world.units().filter(|unit| {
            unit.seat == self.seat && unit.kind == Kind::Worker && unit.order == Order::Idle
        });
        let found = idle.map(|unit| unit.id).collect();
        self.select(found, "no idle worker")
    }

    /// Moves the cursor to the nearest soldier if none is on the screen, so that the player sees the selected
    /// units.
    pub(super) fn select_soldiers(&mut self, world: &World) -> Act {
        let soldiers = self.units_outside(world);
        let soldiers = soldiers.filter(|unit| unit.kind.is_soldier());
        let (found, tiles): (Vec<Id>, Vec<Tile>) =
            soldiers.map(|unit| (unit.id, unit.tile)).unzip();
        let selected = &tiles[..tiles.len().min(Selection::MOST)];
        let in_view = |corners| selected.iter().any(|tile| lies_in(*tile, corners));
        if self.shown.is_some_and(|corners| !in_view(corners)) {
            let nearest = selected
                .iter()
                .min_by_key(|tile| (tile.king_steps(self.cursor), **tile));
            self.cursor = nearest.copied().unwrap_or(self.cursor);
        }
        self.select(found, "no soldier of yours is on the map")
    }

    /// Moves the cursor to the first town hall and selects it, or else to the first unit.
    pub(super) fn go_home(&mut self, world: &World) -> Act {
        if let Some((hall, tile)) = hall_of(self.seat, world) {
            self.cursor = tile;
            self.selection = vec![hall];
            return Act::Moved;
        }
        match first_unit_of(self.seat, world) {
            Some(tile) => {
                self.cursor = tile;
                Act::Moved
            }
            None => Act::Say("you have neither a town hall nor units".into()),
        }
    }

    /// Own units on the map: those inside a building stand on its middle tile, and take no orders.
    fn units_outside(&self, world: &World) -> impl Iterator<Item = UnitView> {
        let seat = self.seat;
        let own = move |unit: &UnitView| unit.seat == seat && unit.order != Order::Inside;
        world.units().filter(own)
    }

    /// Selects as many of these as one command can name. An empty result keeps the old selection.
    fn select(&mut self, mut found: Vec<Id>, otherwise: &str) -> Act {
        if found.is_empty() {
            return Act::Say(otherwise.to_owned());
        }
        let all = found.len();
        found.truncate(Selection::MOST);
        self.selection = found;
        if all > Selection::MOST {
            return Act::Say(format!(
                "{} of {all} selected: the most that a command can name",
                Selection::MOST
            ));
        }
        Act::Moved
    }
}
