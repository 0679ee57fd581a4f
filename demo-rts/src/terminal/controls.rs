//! A person's controls: cursor, selection, and the meaning of keys.

mod describe;
mod menu;
mod placing;
mod selecting;

use crate::home::look_at_first;
use crate::world::{Command, Id, Kind, Order, Selection, Tile, Upgrade, World};
use lockstep::Seat;
use menu::{Choice, Menu};
use placing::Site;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The cursor and the selection of one seat.
#[derive(Clone, Debug)]
pub struct Hand {
    seat: Seat,
    pub cursor: Tile,
    /// The opposite corner of a box that is being drawn.
    pub corner: Option<Tile>,
    /// Units or one building, by ascending id.
    pub selection: Vec<Id>,
    /// The corners of the part of the map on the screen, in the close view.
    pub shown: Option<(Tile, Tile)>,
    mode: Mode,
}

/// The meaning of the next key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Free,
    /// A choice from a menu.
    Choosing(Menu),
    /// A move or confirmation of a building's site.
    Placing(Site),
    /// An answer to whether this building is to be demolished.
    Asking(Id),
}

/// The result of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Issue(Command),
    /// Why nothing happened.
    Say(String),
    /// Only cursor, selection or mode changed.
    Moved,
    /// The key has no meaning here.
    Nothing,
}

impl Hand {
    /// The cursor starts at the seat's first town hall, or else at its first unit.
    pub fn new(seat: Seat, world: &World) -> Hand {
        Hand {
            seat,
            cursor: look_at_first(seat, world),
            corner: None,
            selection: Vec::new(),
            shown: None,
            mode: Mode::Free,
        }
    }

    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// The tiles between corner and cursor.
    pub fn marked(&self) -> (Tile, Tile) {
        let other = self.corner.unwrap_or(self.cursor);
        (
            Tile::new(self.cursor.x.min(other.x), self.cursor.y.min(other.y)),
            Tile::new(self.cursor.x.max(other.x), self.cursor.y.max(other.y)),
        )
    }

    /// Whether the next key answers the line above the keys: a menu, a site, a question.
    pub fn is_choosing(&self) -> bool {
        self.mode != Mode::Free
    }

    /// Deselects units and buildings that no longer exist, and units inside buildings: they take no orders.
    pub fn deselect_removed(&mut self, world: &World) {
        if let Mode::Asking(building) = self.mode
            && world.building(building).is_none()
        {
            self.mode = Mode::Free;
        }
        self.selection.retain(|id| match world.unit(*id) {
            Some(unit) => unit.order != Order::Inside,
            None => world.building(*id).is_some(),
        });
    }

    /// The meaning of `key`. A capital letter queues the order of the small letter behind earlier orders.
    pub fn press(&mut self, key: KeyEvent, world: &World) -> Act {
        let (key, later) = match key.code {
            KeyCode::Char(letter) if letter.is_ascii_uppercase() => {
                let code = KeyCode::Char(letter.to_ascii_lowercase());
                (KeyEvent { code, ..key }, true)
            }
            KeyCode::Enter => (key, key.modifiers.contains(KeyModifiers::SHIFT)),
            _ => (key, false),
        };
        let mode = std::mem::take(&mut self.mode);
        let later = later || matches!(mode, Mode::Placing(site) if site.later);
        let act = match mode {
            Mode::Free => self.act_on(key, world),
            Mode::Choosing(menu) => self.choose(menu, key.code, later, world),
            Mode::Placing(site) => self.place(site, key, world),
            Mode::Asking(building) => answer(building, key.code, world),
        };
        match act {
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

    fn act_on(&mut self, key: KeyEvent, world: &World) -> Act {
        if let Some(act) = self.step(key, world) {
            return act;
        }
        match key.code {
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
            KeyCode::Delete | KeyCode::Backspace => self.demolish(world),
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

    /// Moves the cursor, if `key` is a cursor key.
    fn step(&mut self, key: KeyEvent, world: &World) -> Option<Act> {
        let far = key.modifiers.contains(KeyModifiers::SHIFT);
        self.cursor = stepped(self.cursor, key.code, far, world.map().size())?;
        Some(Act::Moved)
    }

    fn order(&self, world: &World, command: impl FnOnce(Selection, &Hand) -> Command) -> Act {
        if self.selection.is_empty() {
            return Act::Say("select units first: space, v, w or e".into());
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

    fn train(&self, kind: Kind, world: &World) -> Act {
        match self.trainer(world, Some(kind)) {
            Some(building) => Act::Issue(Command::Train { building, kind }),
            None => Act::Say("you have no finished building that trains it".into()),
        }
    }

    fn research(&self, upgrade: Upgrade, world: &World) -> Act {
        let able = world.buildings().filter(|building| {
            building.seat == self.seat && building.complete && building.kind == upgrade.stats().at
        });
        let building = able.min_by_key(|b| (!self.selection.contains(&b.id), b.queued, b.id));
        match building.map(|building| building.id) {
            Some(building) => Act::Issue(Command::Research { building, upgrade }),
            None => Act::Say("you have no finished building that researches it".into()),
        }
    }

    /// Orders the selected units into the building under the cursor.
    fn enter(&self, world: &World) -> Act {
        match self.own_building_here(world) {
            Some(building) => self.order(world, |units, _| Command::Garrison { units, building }),
            None => Act::Say("point at one of your buildings first".into()),
        }
    }

    fn own_building_here(&self, world: &World) -> Option<Id> {
        let building = world.building(world.map().occupant(self.cursor)?)?;
        (building.seat == self.seat).then_some(building.id)
    }

    /// Issues a command for the selected building, or else for the one under the cursor.
    fn with_building(&self, world: &World, command: impl FnOnce(Id) -> Command) -> Act {
        let selected = self
            .selection
            .first()
            .filter(|id| world.building(**id).is_some());
        match selected.copied().or_else(|| self.own_building_here(world)) {
            Some(building) => Act::Issue(command(building)),
            None => Act::Say("select one of your buildings, or point at it".into()),
        }
    }

    /// Asks for confirmation: a demolished building is gone for good.
    fn demolish(&mut self, world: &World) -> Act {
        let first = self.selection.first();
        match first.filter(|id| world.building(**id).is_some()) {
            Some(building) => {
                self.mode = Mode::Asking(*building);
                Act::Moved
            }
            None => Act::Say("select the building first".into()),
        }
    }

    fn rally(&self, world: &World) -> Act {
        match self.trainer(world, None) {
            Some(building) => Act::Issue(Command::Rally {
                building,
                to: self.cursor,
            }),
            None => Act::Say("select a building that trains first".into()),
        }
    }

    /// The selected building, or else the trainer with the shortest queue.
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
        self.mode = Mode::Choosing(menu);
        Act::Moved
    }

    fn choose(&mut self, menu: Menu, key: KeyCode, later: bool, world: &World) -> Act {
        match menu.chosen(key) {
            Some(Choice::Kind(kind)) if kind.is_building() => self.begin_site(kind, later, world),
            Some(Choice::Kind(kind)) => self.train(kind, world),
            Some(Choice::Upgrade(upgrade)) => self.research(upgrade, world),
            None => Act::Moved,
        }
    }
}

/// Abandons a foundation or demolishes a building, if `key` confirms it.
fn answer(building: Id, key: KeyCode, world: &World) -> Act {
    match world.building(building) {
        Some(b) if is_yes(key) => Act::Issue(if b.complete {
            Command::Demolish { building }
        } else {
            Command::CancelBuild { building }
        }),
        _ => Act::Moved,
    }
}

/// Some keyboards have a backspace in place of a delete key.
fn is_yes(key: KeyCode) -> bool {
    matches!(
        key,
        KeyCode::Delete | KeyCode::Backspace | KeyCode::Char('y')
    )
}

/// The tile that a cursor key moves to, on a map with edges of `size` tiles.
pub fn stepped(at: Tile, key: KeyCode, far: bool, size: u16) -> Option<Tile> {
    let (dx, dy) = match key {
        KeyCode::Left => (-1, 0),
        KeyCode::Right => (1, 0),
        KeyCode::Up => (0, -1),
        KeyCode::Down => (0, 1),
        _ => return None,
    };
    let length = if far { FAR } else { 1 };
    let last = i32::from(size) - 1;
    let moved = |at: u16, by: i32| (i32::from(at) + by * length).clamp(0, last) as u16;
    Some(Tile::new(moved(at.x, dx), moved(at.y, dy)))
}

/// Whether a tile lies between an upper left and a lower right corner.
pub fn lies_in(tile: Tile, (from, to): (Tile, Tile)) -> bool {
    (from.x..=to.x).contains(&tile.x) && (from.y..=to.y).contains(&tile.y)
}

/// The help lines; two spaces separate keys.
pub const KEYS: [&str; 5] = [
    "arrows move (shift: far)  space select  v box  w idle workers  e soldiers  t home",
    "f or enter act on the cursor  m move  a attack  g gather  h hold  x stop  y patrol",
    "d attack ground  i enter building  l unload all  r rally  1-5 cancel  del demolish",
    "b build  n train  u research  capitals queue an order  k last attack",
    "z zoom  c chat  p pause  q leave",
];

fn kind_of(id: Id, world: &World) -> Option<Kind> {
    let unit = world.unit(id).map(|unit| unit.kind);
    unit.or_else(|| world.building(id).map(|building| building.kind))
}

const FAR: i32 = 6;

#[cfg(test)]
mod tests;
