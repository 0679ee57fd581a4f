//! How a world becomes bytes, and describes itself.

use crate::Digest;
use serde::{Deserialize, Serialize};

/// CRC-32 (IEEE) of a world's bytes. Finds accidents, not lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Checksum(pub u32);

impl Checksum {
    /// The checksum of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(crc32fast::hash(bytes))
    }
}

impl std::fmt::Display for Checksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// How a world becomes bytes. One line of [`state_by_serde!`](crate::state_by_serde) for most worlds; by hand
/// for worlds of many items in columns:
///
/// ```
/// use sim::{
///     Checksum, Grid, LoadError, Num, Reader, Sink, Slots, State, Stream, Sum, Vec2, Visit,
/// };
///
/// struct World {
///     tick: u32,
///     units: Slots,
///     /// One per slot, as are the other columns.
///     at: Vec<Vec2>,
///     health: Vec<i16>,
///     luck: Stream,
///     /// Rebuilt in every step before it is asked, so it is not saved.
///     near: Grid,
/// }
///
/// impl World {
///     /// One function for `save` and `checksum`: they cannot disagree.
///     fn write(&self, to: &mut impl Sink) {
///         to.value(self.tick);
///         to.value(self.units.rows());
///         to.column(self.units.generations());
///         to.column_of(self.at.iter().map(|at| at.x));
///         to.column_of(self.at.iter().map(|at| at.y));
///         to.column(&self.health);
///         to.serde(&self.luck);
///     }
///
///     fn empty_grid() -> Grid {
///         Grid::new(Vec2::ZERO, Vec2::from_ints(64, 64), Num::from_num(4))
///     }
/// }
///
/// impl State for World {
///     fn save(&self, out: &mut Vec<u8>) {
///         self.write(out);
///     }
///
///     fn checksum(&self) -> Checksum {
///         let mut sum = Sum::new();
///         self.write(&mut sum);
///         sum.checksum()
///     }
///
///     fn load(bytes: &[u8]) -> Result<Self, LoadError> {
///         let mut from = Reader::new(bytes);
///         let tick = from.value()?;
///         let rows = from.value()?;
///         let units = Slots::from_generations(from.column(rows)?)
///             .ok_or_else(|| from.fail("there are too many slots"))?;
///         let (x, y) = (from.column::<Num>(rows)?, from.column::<Num>(rows)?);
///         let world = World {
///             tick,
///             units,
///             at: x.into_iter().zip(y).map(|(x, y)| Vec2::new(x, y)).collect(),
///             health: from.column(rows)?,
///             luck: from.serde()?,
///             near: Self::empty_grid(),
///         };
///         from.finish()?;
///         Ok(world)
///     }
///
///     fn visit(&self, to: &mut dyn Visit) {
///         if to.section("world", 1) && to.row(0) {
///             to.field("tick", &self.tick);
///         }
///         if to.section("units", self.units.len() as usize) {
///             for id in self.units.ids() {
///                 if to.row(id.pack()) {
///                     to.field("at", &self.at[id.row()]);
///                     to.field("health", &self.health[id.row()]);
///                 }
///             }
///         }
///         // What is small describes itself: each field of a struct becomes a section.
///         #[derive(serde::Serialize)]
///         struct Rest<'a> {
///             luck: &'a Stream,
///         }
///         sim::serde_state::visit(&Rest { luck: &self.luck }, to);
///     }
/// }
///
/// let mut units = Slots::new();
/// units.insert();
/// let world = World {
///     tick: 7,
///     units,
///     at: vec![Vec2::from_ints(3, 4)],
///     health: vec![40],
///     luck: Stream::named(&sim::Seed([1; 32]), "luck"),
///     near: World::empty_grid(),
/// };
/// let mut bytes = Vec::new();
/// world.save(&mut bytes);
/// assert_eq!(world.checksum(), Checksum::of(&bytes));
///
/// let mut other = World::load(&bytes)?;
/// assert_eq!(other.checksum(), world.checksum());
/// other.health[0] = 39;
/// assert!(sim::diff(&world, &other).is_some());
/// # Ok::<(), LoadError>(())
/// ```
pub trait State: Sized {
    /// Appends the whole world, little-endian, exactly: loading the bytes continues bit-identically.
    fn save(&self, out: &mut Vec<u8>);

    /// The world that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`LoadError`] for bytes that `save` never writes. Memory stays within a small multiple of
    /// `bytes.len()`.
    fn load(bytes: &[u8]) -> Result<Self, LoadError>;

    /// CRC-32 of exactly the bytes that [`save`](Self::save) writes. Override it for speed only.
    fn checksum(&self) -> Checksum {
        let mut bytes = Vec::new();
        self.save(&mut bytes);
        Checksum(crc32fast::hash(&bytes))
    }

    /// The tree of hashes over the same bytes. Override it to name the parts: hand a
    /// [`Digester`](crate::Digester) to the function that writes the world.
    fn digest(&self) -> Digest {
        let mut bytes = Vec::new();
        self.save(&mut bytes);
        Digest::of(&bytes)
    }

    /// Describes the world to a visitor: sections, their rows, the rows' fields.
    ///
    /// Visits serve people only: the first difference of two worlds, the contents of a replay. Bytes that a
    /// visit does not show are compared all the same, but a difference in them has no name.
    fn visit(&self, to: &mut dyn Visit);
}

/// A visitor of a world that describes itself.
pub trait Visit {
    /// A section of `rows` rows begins. `false` skips its rows.
    fn section(&mut self, name: &str, rows: usize) -> bool;
    /// A row of the section begins; `id` names it in both of two worlds that are compared, as
    /// [`Id::pack`](crate::Id::pack) does. `false` skips its fields.
    fn row(&mut self, id: u64) -> bool;
    /// A field of the row.
    fn field(&mut self, name: &str, value: &dyn Field);
}

/// A value that a visitor can hash and print.
pub trait Field {
    /// Appends the value's little-endian bytes.
    fn bytes(&self, out: &mut Vec<u8>);
    /// The value as a person reads it.
    fn text(&self) -> String;
}

/// Bytes that are not a world.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a snapshot of this world: {what} at byte {at}")]
pub struct LoadError {
    /// What was wrong.
    pub what: &'static str,
    /// Where, as an offset into the bytes.
    pub at: usize,
}
