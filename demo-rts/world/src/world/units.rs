//! The columns of all units.

use super::{
    Id, Kind,
    columns::{byte_cell, columns},
    selection::NAMELESS,
    tables::Stats,
    tile::Tile,
};
use sim::{Num, Vec2};

byte_cell!(Kind, Kind::from_number);

/// What a unit is told to do. What it does right now may be a part of it: on its way to attack
/// somewhere it stops to fight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Order {
    /// Nothing. Soldiers fight enemies that come near.
    #[default]
    Idle = 0,
    /// Going somewhere.
    Move = 1,
    /// Going somewhere, fighting on the way.
    AttackMove = 2,
    /// Attacking one target.
    Attack = 3,
    /// Standing still, fighting what is in reach.
    Hold = 4,
    /// Fetching gold or wood.
    Gather = 5,
    /// Bringing it home.
    Return = 6,
    /// Building.
    Construct = 7,
    /// Working a farm.
    Farm = 8,
    /// Mending a building.
    Repair = 9,
    /// Going to and fro, fighting on the way.
    Patrol = 10,
    /// Going into a building.
    Enter = 11,
    /// Inside a building: on no tile of the map, and no unit's target.
    Inside = 12,
    /// Hitting a place.
    AttackGround = 13,
}

impl Order {
    pub(super) fn from_number(number: u8) -> Option<Order> {
        Some(match number {
            0 => Order::Idle,
            1 => Order::Move,
            2 => Order::AttackMove,
            3 => Order::Attack,
            4 => Order::Hold,
            5 => Order::Gather,
            6 => Order::Return,
            7 => Order::Construct,
            8 => Order::Farm,
            9 => Order::Repair,
            10 => Order::Patrol,
            11 => Order::Enter,
            12 => Order::Inside,
            13 => Order::AttackGround,
            _ => return None,
        })
    }

    /// Whether a unit with this order turns against enemies of its own accord.
    pub(super) fn guards(self) -> bool {
        matches!(
            self,
            Order::Idle | Order::AttackMove | Order::Hold | Order::Patrol
        )
    }

    /// Whether a unit with this order strikes its target.
    pub(super) fn strikes(self) -> bool {
        self.guards() || self == Order::Attack
    }
}

byte_cell!(Order, Order::from_number);

/// Where a unit stands with its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub(super) enum Way {
    /// It is not going anywhere.
    #[default]
    None = 0,
    /// It wants a way, and goes towards its aim meanwhile.
    Asked = 1,
    /// It sees its end and goes there.
    Straight = 2,
    /// It follows the field of a goal.
    Course = 3,
}

impl Way {
    fn from_number(number: u8) -> Option<Way> {
        [Way::None, Way::Asked, Way::Straight, Way::Course]
            .into_iter()
            .find(|way| *way as u8 == number)
    }
}

byte_cell!(Way, Way::from_number);

/// What can be gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum Resource {
    /// From mines.
    Gold = 1,
    /// From forests.
    Wood = 2,
}

/// What a worker has in its hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub(super) enum Load {
    #[default]
    Nothing = 0,
    Gold = 1,
    Wood = 2,
}

impl Load {
    fn from_number(number: u8) -> Option<Load> {
        [Load::Nothing, Load::Gold, Load::Wood]
            .into_iter()
            .find(|load| *load as u8 == number)
    }

    pub fn of(resource: Resource) -> Load {
        match resource {
            Resource::Gold => Load::Gold,
            Resource::Wood => Load::Wood,
        }
    }

    pub fn resource(self) -> Option<Resource> {
        match self {
            Load::Nothing => None,
            Load::Gold => Some(Resource::Gold),
            Load::Wood => Some(Resource::Wood),
        }
    }
}

byte_cell!(Load, Load::from_number);

/// In the table of rows: no unit.
const NO_ROW: u32 = u32::MAX;

columns! {
    /// All units, by ascending id. The dead keep their rows, without hit points, until the next burial.
    Units of Unit {
        id: u32,
        /// Its number among the units of its seat, for commands.
        number: u16,
        kind: Kind,
        /// Row of the owner in the seats' table.
        seat: u8,
        x: Num,
        y: Num,
        hp: u16,
        /// Ticks until it can strike again.
        cooldown: u16,
        order: Order,
        /// Tile that the order names.
        goal: u32,
        /// Its own place near the goal; of an idle unit, the place it returns to after a fight.
        post: u32,
        /// Id of what it attacks or builds. 0: nothing.
        target: u32,
        way: Way,
        /// Tile that the way leads to.
        aim: u32,
        /// Row of the goals' table whose field it follows.
        course: u16,
        /// Grows while it fails to advance.
        stuck: u8,
        /// Ways that ended without reaching their goal.
        failures: u8,
        load: Load,
        amount: u16,
        /// 0: not begun; else 1 and the ticks spent on the piece being gathered.
        work: u16,
        /// Tile it gathers from.
        site: u32,
        /// The number of its band. 0: no band.
        band: u16,
    }
    derived {
        rows: Rows,
    }
}

/// The row of every id, so that lookups need no search. Follows from the ids, and is never state.
#[derive(Clone, Debug, Default)]
struct Rows {
    first: u32,
    of: Vec<u32>,
    /// Units when it was made. With any other number of them it does not hold.
    units: usize,
}

impl Unit {
    /// A fresh idle unit that has no number yet.
    pub fn new(id: Id, kind: Kind, seat: u8, at: Vec2, post: u32) -> Self {
        Self {
            id: id.0,
            number: NAMELESS,
            kind,
            seat,
            x: at.x,
            y: at.y,
            hp: kind.stats().hit_points,
            cooldown: 0,
            order: Order::Idle,
            goal: post,
            post,
            target: 0,
            way: Way::None,
            aim: post,
            course: 0,
            stuck: 0,
            failures: 0,
            load: Load::Nothing,
            amount: 0,
            work: 0,
            site: post,
            band: 0,
        }
    }
}

impl Units {
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// The living unit of this id.
    pub fn row(&self, id: Id) -> Option<usize> {
        self.row_of(id).filter(|row| self.hp[*row] > 0)
    }

    /// The row of this id, whether or not its unit lives.
    #[inline]
    pub fn row_of(&self, id: Id) -> Option<usize> {
        if self.rows.units != self.id.len() {
            return self.id.binary_search(&id.0).ok();
        }
        let place = id.0.wrapping_sub(self.rows.first) as usize;
        let row = self.rows.of.get(place).filter(|row| **row != NO_ROW);
        row.map(|row| *row as usize)
    }

    pub fn is_alive(&self, row: usize) -> bool {
        self.hp[row] > 0
    }

    /// Whether it is inside a building.
    pub fn is_inside(&self, row: usize) -> bool {
        self.order[row] == Order::Inside
    }

    /// Whether it lives and can be met.
    pub fn is_on_map(&self, row: usize) -> bool {
        self.is_alive(row) && !self.is_inside(row)
    }

    /// Makes the table of rows anew, if units came since. Ids too far apart for a table are searched for.
    pub fn index_rows(&mut self) {
        if self.rows.units == self.id.len() {
            return;
        }
        let first = self.id.first().copied().unwrap_or_default();
        let last = self.id.last().copied().unwrap_or_default();
        let span = last.saturating_sub(first) as usize + 1;
        self.rows.of.clear();
        if span > self.id.len().saturating_mul(8).saturating_add(1 << 16) {
            self.rows.units = usize::MAX;
            return;
        }
        self.rows.first = first;
        self.rows.units = self.id.len();
        self.rows.of.resize(span, NO_ROW);
        for (row, id) in self.id.iter().enumerate() {
            self.rows.of[(id - first) as usize] = row as u32;
        }
    }

    /// Drops the dead. Their rows stayed until now because each removal moves up to 100,000 rows.
    pub fn bury(&mut self) {
        if self.hp.contains(&0) {
            let gone: Vec<bool> = self.hp.iter().map(|hp| *hp == 0).collect();
            self.remove(&gone);
            self.rows.units = usize::MAX;
            self.index_rows();
        }
    }

    pub fn at(&self, row: usize) -> Vec2 {
        Vec2::new(self.x[row], self.y[row])
    }

    pub fn place(&mut self, row: usize, at: Vec2) {
        self.x[row] = at.x;
        self.y[row] = at.y;
    }

    pub fn tile(&self, row: usize) -> Tile {
        Tile::of(self.at(row))
    }

    pub fn stats(&self, row: usize) -> &'static Stats {
        self.kind[row].stats()
    }

    /// Stops where it is.
    pub fn halt(&mut self, row: usize) {
        self.way[row] = Way::None;
        self.stuck[row] = 0;
    }

    /// Asks for a way to a tile, or to the side of what stands on it.
    pub fn ask(&mut self, row: usize, aim: u32) {
        self.way[row] = Way::Asked;
        self.aim[row] = aim;
        self.stuck[row] = 0;
    }

    /// Gives a new order, forgetting the old one.
    pub fn command(&mut self, row: usize, order: Order) {
        self.halt(row);
        self.order[row] = order;
        self.target[row] = 0;
        self.failures[row] = 0;
        self.work[row] = 0;
    }
}
