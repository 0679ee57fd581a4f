//! What a step tells the screen. Never state.

use super::{Id, Kind, Resource, Tile, Upgrade};
use sim::{Seat, Vec2};

/// Something that just happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A blow or an arrow struck.
    Hit {
        /// Who was struck.
        target: Id,
        /// Where.
        at: Vec2,
        /// How hard.
        damage: u16,
    },
    /// An arrow left its archer.
    Launched {
        /// Who shot.
        from: Id,
        /// At whom. 0: at a place.
        target: Id,
    },
    /// A unit or building is no more.
    Died {
        /// Which.
        id: Id,
        /// What it was.
        kind: Kind,
        /// Whose.
        seat: Seat,
        /// Where.
        at: Vec2,
    },
    /// A building is complete.
    Built {
        /// Which.
        id: Id,
        /// What.
        kind: Kind,
        /// Whose.
        seat: Seat,
    },
    /// A unit is trained.
    Trained {
        /// Which.
        id: Id,
        /// What.
        kind: Kind,
        /// Whose.
        seat: Seat,
    },
    /// A seat has learnt something.
    Researched {
        /// Whose.
        seat: Seat,
        /// What.
        upgrade: Upgrade,
        /// Levels that it knows now.
        level: u8,
    },
    /// A worker brought something home.
    Gathered {
        /// Whose.
        seat: Seat,
        /// What.
        resource: Resource,
        /// How much.
        amount: u16,
    },
    /// A tree or a tile of a mine is used up.
    Exhausted {
        /// Where.
        at: Tile,
    },
    /// A seat lost, or gave up.
    Defeated {
        /// Which.
        seat: Seat,
    },
    /// A command did nothing.
    Refused {
        /// Who issued it.
        seat: Seat,
        /// Why.
        reason: Refusal,
    },
}

/// Why a command did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// None of the units is alive and the seat's own, or able to do this.
    #[error("nobody there to do it")]
    Nobody,
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
    #[error("nobody has been there")]
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
