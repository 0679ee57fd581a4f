//! What a step tells the screen. Never state.

use super::{Id, Kind, Resource, Tile, Upgrade};
use sim::{Seat, Vec2};

/// Something that just happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A blow or an arrow struck.
    Hit {
        /// The unit or building that was struck.
        target: Id,
        /// Where.
        at: Vec2,
        /// The damage.
        damage: u16,
    },
    /// An arrow left its archer.
    Launched {
        /// The shooter.
        from: Id,
        /// Its target. 0: a place.
        target: Id,
    },
    /// A unit or building is no more.
    Died {
        /// The unit or building.
        id: Id,
        /// What it was.
        kind: Kind,
        /// The owner.
        seat: Seat,
        /// Where.
        at: Vec2,
    },
    /// A building is complete.
    Built {
        /// The building.
        id: Id,
        /// Its kind.
        kind: Kind,
        /// The owner.
        seat: Seat,
    },
    /// A unit is trained.
    Trained {
        /// The unit.
        id: Id,
        /// Its kind.
        kind: Kind,
        /// The owner.
        seat: Seat,
    },
    /// A seat has learnt something.
    Researched {
        /// The seat.
        seat: Seat,
        /// The upgrade.
        upgrade: Upgrade,
        /// Levels that it knows now.
        level: u8,
    },
    /// A worker brought something home.
    Gathered {
        /// The worker's owner.
        seat: Seat,
        /// Gold or wood.
        resource: Resource,
        /// The amount.
        amount: u16,
    },
    /// A tree or a tile of a mine is used up.
    Exhausted {
        /// Where.
        at: Tile,
    },
    /// A seat lost, or gave up.
    Defeated {
        /// The seat.
        seat: Seat,
    },
    /// A command did nothing.
    Refused {
        /// The seat that issued it.
        seat: Seat,
        /// The reason.
        reason: Refusal,
    },
}

/// Why a command did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// None of the units is alive and the seat's own, or able to do this.
    #[error("no unit there can do it")]
    NoUnit,
    /// The selection that it refers to is no longer remembered.
    #[error("that selection is forgotten")]
    Forgotten,
    /// Not an own, finished building that can do this.
    #[error("no such building of yours")]
    NoSuchBuilding,
    /// The target is dead, out of sight, or one's own.
    #[error("nothing there to attack")]
    NoSuchTarget,
    /// The seat never saw the ground.
    #[error("unexplored ground")]
    Unexplored,
    /// The tile lies off the map.
    #[error("off the map")]
    OffTheMap,
    /// Neither forest nor mine, or nothing left of it.
    #[error("nothing there to gather")]
    NothingToGather,
    /// Something stands in the way.
    #[error("no room to build there")]
    NoRoom,
    /// Too little gold.
    #[error("not enough gold")]
    NoGold,
    /// Too little wood.
    #[error("not enough wood")]
    NoWood,
    /// This building does not train this.
    #[error("cannot be trained there")]
    CannotTrain,
    /// Five are in the queue, or none is there to cancel.
    #[error("the queue is full or empty")]
    Queue,
    /// The seat owns as many buildings as it may.
    #[error("too many buildings")]
    TooManyBuildings,
    /// A finished building of another kind is needed first.
    #[error("another building is needed first")]
    NeedsBuilding,
    /// A finished, undamaged building that no more workers can work at.
    #[error("nothing to build, mend or work there")]
    NothingToDo,
    /// The seat knows every level, or is researching it.
    #[error("already known or being researched")]
    AlreadyKnown,
    /// Eight errands wait for every one of the units.
    #[error("too many orders are waiting")]
    TooManyWaypoints,
    /// The seat is out of the match.
    #[error("out of the match")]
    Defeated,
}
