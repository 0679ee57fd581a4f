//! Every word that the window says, in one place.

pub mod menu;

use crate::world::{Kind, Order, Refusal, Resource, Upgrade};

/// The title of the window.
pub const TITLE: &str = "demo-rts";
/// Before the match begins.
pub const WAITING: &str = "Waiting for the match to begin";
/// While the world is built.
pub const LOADING: &str = "Building the world …";
/// While a match is being left.
pub const LEAVING: &str = "Leaving the match …";
/// The ticket that others join with.
pub const TICKET: &str = "Others join with this ticket (Ctrl-C copies it):";
/// After the ticket was copied.
pub const COPIED: &str = "Copied.";

/// What the units of the window count.
pub const GOLD: &str = "gold";
/// Likewise.
pub const WOOD: &str = "wood";

/// A resource's name.
pub fn resource(resource: Resource) -> &'static str {
    match resource {
        Resource::Gold => GOLD,
        Resource::Wood => WOOD,
    }
}

/// A name with a capital letter.
pub fn title_of(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// What a unit does.
pub fn order(order: Order) -> &'static str {
    match order {
        Order::Idle => "idle",
        Order::Move => "moving",
        Order::AttackMove => "advancing",
        Order::Attack => "attacking",
        Order::Hold => "holding",
        Order::Gather => "gathering",
        Order::Return => "bringing it home",
        Order::Construct => "building",
        Order::Farm => "farming",
        Order::Repair => "mending",
        Order::Patrol => "on patrol",
        Order::Enter => "going inside",
        Order::Inside => "inside",
        Order::AttackGround => "shelling a place",
    }
}

/// What a kind is for, in a sentence.
pub fn purpose(kind: Kind) -> &'static str {
    match kind {
        Kind::Worker => "Gathers gold and wood, builds and mends.",
        Kind::Swordsman => "Fights hand to hand.",
        Kind::Archer => "Shoots from afar; weak hand to hand.",
        Kind::TownHall => "Trains workers, takes what they carry, houses ten, shelters.",
        Kind::House => "Houses eight.",
        Kind::Barracks => "Trains swordsmen.",
        Kind::Knight => "Rides fast and hits hard.",
        Kind::Range => "Trains archers.",
        Kind::Stable => "Trains knights.",
        Kind::Tower => "Shoots at whoever comes near; shelters.",
        Kind::Farm => "Yields a little gold for ever to one worker.",
        Kind::Wall => "Stands in the way.",
        Kind::Catapult => "Throws stones far, at walls and crowds, friends or not.",
        Kind::Workshop => "Makes catapults.",
    }
}

/// What an upgrade is for, in a sentence.
pub fn upgrade(upgrade: Upgrade) -> &'static str {
    match upgrade {
        Upgrade::Blades => "Swordsmen and knights hit harder.",
        Upgrade::Armour => "Soldiers lose less by every hit.",
        Upgrade::Fletching => "Archers and towers shoot farther and harder.",
        Upgrade::Tools => "Workers cut, dig and farm faster.",
        Upgrade::Masonry => "Buildings bear more.",
    }
}

/// Why a command did nothing, as the player is told.
pub fn refusal(refusal: Refusal) -> String {
    title_of(&refusal.to_string())
}

/// Who plays here.
pub const YOU: &str = "you";
/// Where an own building is wanted.
pub const POINT_AT_OWN: &str = "Point at a building of yours.";
/// Where no worker is idle.
pub const NO_IDLE: &str = "No worker is idle.";
/// Where there is nobody to fight.
pub const NO_SOLDIERS: &str = "You have no soldiers.";

/// What the bot of a seat is called.
pub fn bot(seat: lockstep::Seat) -> String {
    format!("bot {}", seat.0)
}

/// After a control group was set.
pub fn group_set(number: usize, many: usize) -> String {
    format!("Group {number}: {many}")
}

/// Where a control group holds nobody.
pub fn group_empty(number: usize) -> String {
    format!("Group {number} is empty: Ctrl+{number} sets it.")
}

/// What a seat lacks to have one of these.
pub fn lacking(kind: Kind, gold: u32, wood: u32, owns: impl Fn(Kind) -> bool) -> Option<String> {
    let stats = kind.stats();
    if let Some(need) = stats.needs.iter().find(|need| !owns(**need)) {
        return Some(format!("Needs a finished {} first.", need.stats().name));
    }
    lacking_price(stats.gold, stats.wood, gold, wood)
}

/// What is missing of a price.
pub fn lacking_price(price_gold: u32, price_wood: u32, gold: u32, wood: u32) -> Option<String> {
    let lacks = |price: u32, has: u32, what: &str| {
        (has < price).then(|| format!("Not enough {what}: {has} of {price}."))
    };
    lacks(price_gold, gold, GOLD).or_else(|| lacks(price_wood, wood, WOOD))
}
