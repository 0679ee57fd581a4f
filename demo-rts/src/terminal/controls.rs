//! A person's hand: cursor and selection, and the commands that keys mean.

mod menu;

use crate::world::{
    BuildingView, Command, Id, Job, Kind, Order, Selection, Terrain, Tile, Upgrade, World,
};
use lockstep::Seat;
use menu::{Choice, Menu};
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

    /// Whether the next key chooses from a menu.
    pub fn is_choosing(&self) -> bool {
        self.menu.is_some()
    }

    /// Whether a building is selected, which [`KeyCode::Delete`] would take away.
    pub fn holds_building(&self, world: &World) -> bool {
        let first = self.selection.first();
        first.is_some_and(|id| world.building(*id).is_some())
    }

    /// Forgets whom the world no longer holds.
    pub fn forget_the_dead(&mut self, world: &World) {
        self.selection
            .retain(|id| world.unit(*id).is_some() || world.building(*id).is_some());
    }

    /// What `key` means. A capital letter means what the small one does, but after what was ordered
    /// before.
    pub fn press(&mut self, key: KeyEvent, world: &World) -> Act {
        let (key, later) = match key.code {
            KeyCode::Char(letter) if letter.is_ascii_uppercase() => {
                let code = KeyCode::Char(letter.to_ascii_lowercase());
                (KeyEvent { code, ..key }, true)
            }
            KeyCode::Enter => (key, key.modifiers.contains(KeyModifiers::SHIFT)),
            _ => (key, false),
        };
        match self.press_small(key, world) {
            Act::Issue(command) if later => match command.task() {
                Some((units, task)) => {
                    let units = units.clone();
                    Act::Issue(Command::Queue { units, task })
                }
                None => Act::Issue(command),
            },
            act => act,
        }
    }

    fn press_small(&mut self, key: KeyEvent, world: &World) -> Act {
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
            KeyCode::Enter | KeyCode::Char('f') => self.order(world, |units, hand| {
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
            KeyCode::Char('y') => self.order(world, |units, hand| Command::Patrol {
                units,
                to: hand.cursor,
            }),
            KeyCode::Char('d') => self.order(world, |units, hand| Command::AttackGround {
                units,
                at: hand.cursor,
            }),
            KeyCode::Char('i') => self.enter(world),
            KeyCode::Char('l') => self.with_building(world, |building| Command::Leave { building }),
            KeyCode::Char(digit @ '1'..='5') => self.with_building(world, |building| {
                let place = digit as u8 - b'1';
                Command::CancelTrain { building, place }
            }),
            KeyCode::Delete => self.tear_down(world),
            KeyCode::Char('x') => self.order(world, |units, _| Command::Stop { units }),
            KeyCode::Char('b') => self.open(Menu::Build),
            KeyCode::Char('n') => self.open(Menu::Train),
            KeyCode::Char('u') => self.open(Menu::Research),
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
            return menu.describe(world, self.seat);
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
        let first = self.selection.first();
        if let Some(building) = first.and_then(|id| world.building(*id)) {
            counts.extend(business(&building));
        }
        let waiting = first.map_or(0, |id| world.waypoints(*id).count());
        if waiting > 0 {
            counts.push(format!("{waiting} orders waiting"));
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

    fn research(&self, upgrade: Upgrade, world: &World) -> Act {
        let able = world.buildings().filter(|building| {
            building.seat == self.seat && building.complete && building.kind == upgrade.stats().at
        });
        let building = able.min_by_key(|b| (!self.selection.contains(&b.id), b.queued, b.id));
        match building.map(|building| building.id) {
            Some(building) => Act::Issue(Command::Research { building, upgrade }),
            None => Act::Say("no finished building of yours researches that"),
        }
    }

    /// Sends the selected units into the building under the cursor.
    fn enter(&self, world: &World) -> Act {
        match self.own_building_here(world) {
            Some(building) => self.order(world, |units, _| Command::Garrison { units, building }),
            None => Act::Say("point at a building of yours first"),
        }
    }

    fn own_building_here(&self, world: &World) -> Option<Id> {
        let building = world.building(world.map().occupant(self.cursor)?)?;
        (building.seat == self.seat).then_some(building.id)
    }

    /// Issues a command for the selected building, or for the one under the cursor.
    fn with_building(&self, world: &World, command: impl FnOnce(Id) -> Command) -> Act {
        let selected = self
            .selection
            .first()
            .filter(|id| world.building(**id).is_some());
        match selected.copied().or_else(|| self.own_building_here(world)) {
            Some(building) => Act::Issue(command(building)),
            None => Act::Say("select a building, or point at one of yours"),
        }
    }

    /// Gives up the selected foundation, or tears the selected building down.
    fn tear_down(&self, world: &World) -> Act {
        let first = self.selection.first().and_then(|id| world.building(*id));
        match first {
            Some(b) if b.complete => Act::Issue(Command::Demolish { building: b.id }),
            Some(b) => Act::Issue(Command::CancelBuild { building: b.id }),
            None => Act::Say("select the building first"),
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
            Some(Choice::Kind(kind)) if kind.is_building() => self.build(kind, world),
            Some(Choice::Kind(kind)) => self.train(kind, world),
            Some(Choice::Upgrade(upgrade)) => self.research(upgrade, world),
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

/// What the keys do, parted by two spaces.
pub const KEYS: [&str; 5] = [
    "arrows move (shift: far)  space select  v box  w idle workers  e soldiers  t home",
    "f or enter do what is meant  m move  a attack  g gather  h hold  x stop  y patrol",
    "d hit the ground  i go inside  l all leave  r rally  1-5 cancel  del tear down",
    "b build at the cursor ...  n train ...  u research ...  capitals: after the orders before",
    "z zoom  c chat  p pause  q leave",
];

/// What a building is busy with, in words.
fn business(building: &BuildingView) -> Vec<String> {
    let mut words = Vec::new();
    let jobs = building.queue.iter().flatten().zip(1..);
    for (job, place) in jobs {
        let name = match job {
            Job::Train(kind) => kind.stats().name,
            Job::Research(upgrade) => upgrade.stats().name,
        };
        let done = u32::from(building.worked) * 100 / u32::from(job.ticks());
        words.push(match place {
            1 => format!("1: {name} {done} %"),
            _ => format!("{place}: {name}"),
        });
    }
    if building.inside > 0 {
        words.push(format!("{} inside", building.inside));
    }
    words
}

fn kind_of(id: Id, world: &World) -> Option<Kind> {
    let unit = world.unit(id).map(|unit| unit.kind);
    unit.or_else(|| world.building(id).map(|building| building.kind))
}

/// Tiles of a step with shift.
const FAR: i32 = 6;

#[cfg(test)]
mod tests;
