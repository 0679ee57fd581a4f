//! What neighbours need to know of each other, sorted by cell, in few bytes.

use super::{
    Row,
    threads::{Parts, in_parts},
};

/// The kernels' numbers: in 1/1024 of a tile, so that squares of all lengths that matter fit 32 bits.
pub type Coarse = sim::fixed::types::I22F10;

/// Lanes that the kernels take at a time; after the last body as many empty ones follow.
pub const LANES: usize = 8;

/// All living units in the order of their cells.
#[derive(Clone, Debug, Default)]
pub struct Bodies {
    pub x: Vec<Coarse>,
    pub y: Vec<Coarse>,
    /// See [`Body`].
    pub body: Vec<i32>,
    /// Row in the units' table. It also breaks ties: rows are in the order of the ids.
    pub row: Vec<u32>,
    len: usize,
}

/// Radius, firmness, seat and flags in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body(pub i32);

impl Body {
    /// A body of this radius (below 1), firmness (0 to 7) and seat.
    pub fn new(radius: Coarse, firm: i32, seat: u8) -> Self {
        Self((radius.to_bits() & RADIUS) | (firm & 7) << FIRM_AT | i32::from(seat) << SEAT_AT)
    }

    /// Sets the flag if `so`.
    pub fn with(self, flag: i32, so: bool) -> Self {
        Self(if so { self.0 | flag } else { self.0 })
    }

    #[inline(always)]
    pub fn radius(self) -> Coarse {
        Coarse::from_bits(self.0 & RADIUS)
    }

    pub fn is_civil(self) -> bool {
        self.0 & CIVIL != 0
    }

    pub fn seat(self) -> u8 {
        (self.0 >> SEAT_AT & 0xff) as u8
    }
}

/// The columns that are fetched.
struct Columns<'a> {
    x: &'a mut [Coarse],
    y: &'a mut [Coarse],
    body: &'a mut [i32],
}

impl Parts for Columns<'_> {
    fn cut(self, at: usize) -> (Self, Self) {
        let (x, y) = (self.x.split_at_mut(at), self.y.split_at_mut(at));
        let body = self.body.split_at_mut(at);
        let part = |x, y, body| Columns { x, y, body };
        (part(x.0, y.0, body.0), part(x.1, y.1, body.1))
    }
}

impl Bodies {
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes that it keeps from tick to tick.
    pub fn memory(&self) -> usize {
        4 * (self.x.capacity() + self.y.capacity() + self.body.capacity() + self.row.capacity())
    }

    /// Fetches the bodies of these rows in this order, followed by empty lanes.
    pub fn gather(&mut self, rows: &[Row], order: &[u32], threads: usize) {
        self.resize(order.len());
        self.row[..order.len()].copy_from_slice(order);
        let columns = Columns {
            x: &mut self.x[..order.len()],
            y: &mut self.y[..order.len()],
            body: &mut self.body[..order.len()],
        };
        in_parts(threads, self.len, columns, |from, part| {
            let places = part.x.iter_mut().zip(part.y).zip(part.body);
            for (((x, y), body), row) in places.zip(&order[from..]) {
                let row = rows[*row as usize];
                (*x, *y, *body) = (row.x, row.y, row.body);
            }
        });
    }

    fn resize(&mut self, len: usize) {
        self.len = len;
        fn resize<T: Copy>(column: &mut Vec<T>, len: usize, empty: T) {
            column.truncate(len);
            column.resize(len + LANES, empty);
        }
        resize(&mut self.x, len, Coarse::ZERO);
        resize(&mut self.y, len, Coarse::ZERO);
        resize(&mut self.body, len, 0);
        resize(&mut self.row, len, u32::MAX);
    }
}

/// In a [`Body`]: the radius.
pub const RADIUS: i32 = 0x3ff;
/// In a [`Body`]: where the firmness begins, three bits.
pub const FIRM_AT: i32 = 10;
/// In a [`Body`]: is hardly pushed about.
pub const FIRM: i32 = 1 << 13;
/// In a [`Body`]: walks through other ghosts.
pub const GHOST: i32 = 1 << 14;
/// In a [`Body`]: no soldier; soldiers come before it.
pub const CIVIL: i32 = 1 << 15;
/// In a [`Body`]: where the seat begins, eight bits.
pub const SEAT_AT: i32 = 16;
/// In a [`Body`]: it is its turn to look around.
pub const LOOKS: i32 = 1 << 24;
/// In a [`Body`]: it turns against enemies of its own accord.
pub const GUARDS: i32 = 1 << 25;
/// In a [`Body`]: it has a target to strike.
pub const TARGETS: i32 = 1 << 26;
