//! Whom the next orders go to.

use super::{Act, Hand};
use crate::world::{Id, Kind, Order, Selection, Tile, World};

impl Hand {
    pub(super) fn select_here(&mut self, world: &World) -> Act {
        let here = self.cursor;
        let units = world
            .units()
            .filter(|unit| unit.seat == self.seat && unit.tile == here);
        let mut found: Vec<Id> = units.map(|unit| unit.id).collect();
        if found.is_empty() {
            found.extend(self.own_building_here(world));
        }
        self.select(found, "nothing of yours is here")
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
        let units = world
            .units()
            .filter(|unit| unit.seat == self.seat && inside(unit.tile));
        let found = units.map(|unit| unit.id).collect();
        self.select(found, "nobody of yours is there")
    }

    pub(super) fn select_idle_workers(&mut self, world: &World) -> Act {
        let idle = world.units().filter(|unit| {
            unit.seat == self.seat && unit.kind == Kind::Worker && unit.order == Order::Idle
        });
        let found = idle.map(|unit| unit.id).collect();
        self.select(found, "no idle worker")
    }

    pub(super) fn select_soldiers(&mut self, world: &World) -> Act {
        let soldiers = world
            .units()
            .filter(|unit| unit.seat == self.seat && unit.kind.is_soldier());
        let found = soldiers.map(|unit| unit.id).collect();
        self.select(found, "you have no soldiers")
    }

    pub(super) fn go_home(&mut self, world: &World) -> Act {
        let hall = world
            .buildings()
            .find(|building| building.seat == self.seat && building.kind == Kind::TownHall);
        let Some(hall) = hall else {
            return Act::Say("you have no town hall".into());
        };
        self.cursor = Tile::new(hall.tile.x + 1, hall.tile.y + 1);
        self.selection = vec![hall.id];
        Act::Moved
    }

    /// Selects those found, as many as one command can name. Where there are none, the selection stays: a wrong key
    /// shall not cost it.
    fn select(&mut self, mut found: Vec<Id>, otherwise: &str) -> Act {
        if found.is_empty() {
            return Act::Say(otherwise.to_owned());
        }
        let all = found.len();
        found.truncate(Selection::MOST);
        self.selection = found;
        if all > Selection::MOST {
            return Act::Say(format!(
                "{} of {all} selected: no command takes more",
                Selection::MOST
            ));
        }
        Act::Moved
    }
}
