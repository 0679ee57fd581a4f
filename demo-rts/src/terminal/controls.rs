//! A person's hand: cursor and selection, and the commands that keys mean.

mod menu;

use crate::world::{Command, Id, Kind, Order, Selection, Terrain, Tile, World};
use lockstep::Seat;
use menu::Menu;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Where a person points, and at what.
#[derive(Clone, Debug)]
pub struct Hand {
    seat: Seat,
    /// The tile pointed at.
    pub cursor: Tile,
    /// The other corner of a box that is being drawn.
    pub corner: Option<Tile>,
    /// Units or a building, by ascending id.
    pub selection: Vec<Id>,
    /// What the next key chooses from.
    menu: Option<Menu>,
}

/// What a key came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// A command to issue.
    Issue(Command),
    /// Something to say about why nothing happened.
    Say(&'static str),
    /// Only the hand has moved.
    Moved,
    /// The key means nothing here.
    Nothing,
}

impl Hand {
    /// At the seat's first building.
    pub fn new(seat: Seat, world: &World) -> Hand {
        let middle = Tile::new(world.map().size() / 2, world.map().size() / 2);
        Hand {
            seat,
            cursor: world.seat(seat).map_or(middle, |seat| seat.home),
            corner: None,
            selection: Vec::new(),
            menu: None,
        }
    }

    /// The seat it plays.
    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// The tiles from corner to cursor.
    pub fn marked(&self) -> (Tile, Tile) {
        let other = self.corner.unwrap_or(self.cursor);
        (
            Tile::new(self.cursor.x.min(other.x), self.cursor.y.min(other.y)),
            Tile::new(self.cursor.x.max(other.x), self.cursor.y.max(other.y)),
        )
    }

    /// Forgets whom the world no longer holds.
    pub fn forget_the_dead(&mut self, world: &World) {
        self.selection
            .retain(|id| world.unit(*id).is_some() || world.building(*id).is_some());
    }

    /// What `key` means.
    pub fn press(&mut self, key: KeyEvent, world: &World) -> Act {
        if let Some(menu) = self.menu.take() {
            return self.choose(menu, key.code, world);
        }
        let far = key.modifiers.contains(KeyModifiers::SHIFT);
        match key.code {
            KeyCode::Left => self.step(-1, 0, far, world),
            KeyCode::Right => self.step(1, 0, far, world),
            KeyCode::Up => self.step(0, -1, far, world),
            KeyCode::Down => self.step(0, 1, far, world),
            KeyCode::Char(' ') => self.select_here(world),
            KeyCode::Char('v') => self.draw_box(world),
            KeyCode::Char('w') => self.select_idle_workers(world),
            KeyCode::Char('e') => self.select_soldiers(world),
            KeyCode::Char('t') => self.go_home(world),
            KeyCode::Enter => self.order(world, |units, hand| {
                world.meant_by_click(hand.seat, units, hand.cursor)
            }),
            KeyCode::Char('m') => self.order(world, |units, hand| Command::Move {
                units,
                to: hand.cursor,
            }),
            KeyCode::Char('a') => self.order(world, |units, hand| hand.attack(units, world)),
            KeyCode::Char('g') => self.order(world, |units, hand| Command::Gather {
                units,
                from: hand.cursor,
            }),
            KeyCode::Char('h') => self.order(world, |units, _| Command::Hold { units }),
            KeyCode::Char('x') => self.order(world, |units, _| Command::Stop { units }),
            KeyCode::Char('b') => self.open(Menu::Build),
            KeyCode::Char('n') => self.open(Menu::Train),
            KeyCode::Char('r') => self.rally(world),
            KeyCode::Esc => {
                self.selection.clear();
                self.corner = None;
                Act::Moved
            }
            _ => Act::Nothing,
        }
    }

    /// What is selected and what lies under the cursor, in words.
    pub fn describe(&self, world: &World) -> String {
        if let Some(menu) = self.menu {
            return menu.describe();
        }
        let ground = match world.map().terrain(self.cursor) {
            _ if !world.explored(self.seat, self.cursor) => "unexplored".to_owned(),
            Terrain::Ground => "ground".to_owned(),
            Terrain::Rock => "rock".to_owned(),
            Terrain::Water => "water".to_owned(),
            Terrain::Forest => format!("forest, {} wood", world.map().amount(self.cursor)),
            Terrain::Gold => format!("mine, {} gold", world.map().amount(self.cursor)),
        };
        let mut counts: Vec<String> = Vec::new();
        for kind in Kind::ALL {
            let count = self
                .selection
                .iter()
                .filter(|id| kind_of(**id, world) == Some(kind))
                .count();
            if count > 0 {
                counts.push(format!("{count} {}", kind.stats().name));
            }
        }
        let training = self.selection.first().and_then(|id| world.building(*id));
        if let Some((kind, _)) = training.and_then(|building| building.training) {
            counts.push(format!("training {}", kind.stats().name));
        }
        let selected = if counts.is_empty() {
            "nothing selected".to_owned()
        } else {
            counts.join(", ")
        };
        format!(
            "{selected}  |  {},{} {ground}",
            self.cursor.x, self.cursor.y
        )
    }

    fn step(&mut self, dx: i32, dy: i32, far: bool, world: &World) -> Act {
        let length = if far { FAR } else { 1 };
        let last = i32::from(world.map().size()) - 1;
        let moved = |at: u16, by: i32| (i32::from(at) + by * length).clamp(0, last) as u16;
        self.cursor = Tile::new(moved(self.cursor.x, dx), moved(self.cursor.y, dy));
        Act::Moved
    }

    fn select_here(&mut self, world: &World) -> Act {
        let here = self.cursor;
        let units = world
            .units()
            .filter(|unit| unit.seat == self.seat && unit.tile == here);
        self.selection = units.map(|unit| unit.id).collect();
        if self.selection.is_empty() {
            let building = world.map().occupant(here).and_then(|id| world.building(id));
            let own = building.filter(|building| building.seat == self.seat);
            self.selection.extend(own.map(|building| building.id));
        }
        self.or_say("nothing of yours is here")
    }

    fn draw_box(&mut self, world: &World) -> Act {
        if self.corner.is_none() {
            self.corner = Some(self.cursor);
            return Act::Say("go to the other corner and press v again");
        }
        let (from, to) = self.marked();
        self.corner = None;
        let inside =
            |tile: Tile| (from.x..=to.x).contains(&tile.x) && (from.y..=to.y).contains(&tile.y);
        let units = world
            .units()
            .filter(|unit| unit.seat == self.seat && inside(unit.tile));
        self.selection = units.map(|unit| unit.id).take(Selection::MOST).collect();
        self.or_say("nobody of yours is there")
    }

    fn select_idle_workers(&mut self, world: &World) -> Act {
        let idle = world.units().filter(|unit| {
            unit.seat == self.seat && unit.kind == Kind::Worker && unit.order == Order::Idle
        });
        self.selection = idle.map(|unit| unit.id).take(Selection::MOST).collect();
        self.or_say("no worker is idle")
    }

    fn select_soldiers(&mut self, world: &World) -> Act {
        let soldiers = world
            .units()
            .filter(|unit| unit.seat == self.seat && unit.kind.is_soldier());
        self.selection = soldiers.map(|unit| unit.id).take(Selection::MOST).collect();
        self.or_say("you have no soldiers")
    }

    fn go_home(&mut self, world: &World) -> Act {
        let hall = world
            .buildings()
            .find(|building| building.seat == self.seat && building.kind == Kind::TownHall);
        let Some(hall) = hall else {
            return Act::Say("you have no town hall");
        };
        self.cursor = Tile::new(hall.tile.x + 1, hall.tile.y + 1);
        self.selection = vec![hall.id];
        Act::Moved
    }

    fn order(&self, world: &World, command: impl FnOnce(Selection, &Hand) -> Command) -> Act {
        if self.selection.is_empty() {
            return Act::Say("select somebody first: space, v, w or e");
        }
        let units = world.select(self.seat, self.selection.iter().copied());
        Act::Issue(command(units, self))
    }

    fn attack(&self, units: Selection, world: &World) -> Command {
        match world.meant_by_click(self.seat, units.clone(), self.cursor) {
            attack @ Command::Attack { .. } => attack,
            _ => Command::AttackMove {
                units,
                to: self.cursor,
            },
        }
    }

    fn build(&self, kind: Kind, world: &World) -> Act {
        let workers = self
            .selection
            .iter()
            .filter(|id| kind_of(**id, world) == Some(Kind::Worker));
        let units = world.select(self.seat, workers.copied());
        if units.is_empty() {
            return Act::Say("select workers first: w selects the idle ones");
        }
        Act::Issue(Command::Build {
            units,
            kind,
            at: self.cursor,
        })
    }

    fn train(&self, kind: Kind, world: &World) -> Act {
        match self.trainer(world, Some(kind)) {
            Some(building) => Act::Issue(Command::Train { building, kind }),
            None => Act::Say("no finished building of yours trains that"),
        }
    }

    fn rally(&self, world: &World) -> Act {
        match self.trainer(world, None) {
            Some(building) => Act::Issue(Command::Rally {
                building,
                to: self.cursor,
            }),
            None => Act::Say("select a building that trains first"),
        }
    }

    /// The selected building, or any that trains this, the one with the shortest queue first.
    fn trainer(&self, world: &World, kind: Option<Kind>) -> Option<Id> {
        let trains = |trained: &[Kind]| match kind {
            Some(kind) => trained.contains(&kind),
            None => !trained.is_empty(),
        };
        let able = world.buildings().filter(|building| {
            building.seat == self.seat && building.complete && trains(building.kind.trains())
        });
        able.filter(|building| kind.is_some() || self.selection.contains(&building.id))
            .min_by_key(|building| {
                let selected = self.selection.contains(&building.id);
                (!selected, building.queued, building.id)
            })
            .map(|building| building.id)
    }

    fn open(&mut self, menu: Menu) -> Act {
        self.menu = Some(menu);
        Act::Moved
    }

    fn choose(&self, menu: Menu, key: KeyCode, world: &World) -> Act {
        match menu.chosen(key) {
            Some(kind) if kind.is_building() => self.build(kind, world),
            Some(kind) => self.train(kind, world),
            None => Act::Moved,
        }
    }

    fn or_say(&self, otherwise: &'static str) -> Act {
        if self.selection.is_empty() {
            Act::Say(otherwise)
        } else {
            Act::Moved
        }
    }
}

/// What the keys do, a string a line.
pub const KEYS: [&str; 4] = [
    "arrows move (shift: far)  space select  v box  w idle workers  e soldiers  t home",
    "enter do what is meant  m move  a attack  g gather  h hold  x stop  r rally",
    "b build ...  n train ...  (a second key says what)",
    "z zoom  c chat  p pause  q leave",
];

fn kind_of(id: Id, world: &World) -> Option<Kind> {
    let unit = world.unit(id).map(|unit| unit.kind);
    unit.or_else(|| world.building(id).map(|building| building.kind))
}

/// Tiles of a step with shift.
const FAR: i32 = 6;

#[cfg(test)]
mod tests;
