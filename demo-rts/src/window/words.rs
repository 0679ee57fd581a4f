//! Every word that the window says, in one place.

#[cfg(feature = "window")]
pub mod menu;
#[cfg(target_arch = "wasm32")]
pub(crate) mod page;
pub mod viewer;

use crate::world::{Kind, Order, Refusal, Resource, SeatView, Upgrade};

/// The title of the window.
pub const TITLE: &str = "demo-rts";
/// While the world is built.
pub const LOADING: &str = "Building the world …";
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

/// After the key for sound.
pub const SOUND_OFF: &str = "Sound off";
/// Likewise.
pub const SOUND_ON: &str = "Sound on";
/// Likewise, where none can be heard.
pub const SOUND_NOWHERE: &str = "Sound on, but there is no sound device";

/// Who plays here.
pub const YOU: &str = "you";
/// Where an own building is wanted.
pub const POINT_AT_OWN: &str = "Point at a building of yours.";
/// Where no worker is idle.
pub const NO_IDLE: &str = "No worker is idle.";
/// Where there is nobody to fight.
pub const NO_SOLDIERS: &str = "You have no soldiers.";

/// After a control group was set.
pub fn group_set(number: usize, many: usize) -> String {
    format!("Group {number}: {many}")
}

/// Where a control group holds nobody.
pub fn group_empty(number: usize) -> String {
    format!("Group {number} is empty: Ctrl+{number} sets it.")
}

/// Why something cannot be had that costs so much gold and wood. `lacking` is the kind of building that is not there.
pub fn why_not(why: Refusal, price: (u32, u32), own: &SeatView, lacking: Option<Kind>) -> String {
    let short = |price: u32, has: u32, what: &str| format!("Not enough {what}: {has} of {price}.");
    match (why, lacking) {
        (Refusal::NeedsBuilding, Some(need)) => needs(need),
        (Refusal::NoGold, _) => short(price.0, own.gold, GOLD),
        (Refusal::NoWood, _) => short(price.1, own.wood, WOOD),
        (Refusal::Queue, _) => QUEUE_FULL.to_owned(),
        (Refusal::AlreadyKnown, _) => RESEARCHING.to_owned(),
        (why, _) => refusal(why),
    }
}

/// Orders, and what they are for.
pub const MOVE: (&str, &str) = ("Move", "Go there, minding nothing else.");
/// Likewise.
pub const ATTACK: (&str, &str) = (
    "Attack",
    "Go there and fight whoever is met; or attack the one you point at.",
);
/// Likewise.
pub const PATROL: (&str, &str) = ("Patrol", "Go to and fro, fighting whoever is met.");
/// Likewise.
pub const STOP: (&str, &str) = ("Stop", "Forget every order.");
/// Likewise.
pub const HOLD: (&str, &str) = ("Hold", "Stay; fight only what is in reach.");
/// Likewise.
pub const ENTER: (&str, &str) = ("Go inside", "Shelter in a building of yours.");
/// Likewise.
pub const GATHER: (&str, &str) = ("Gather", "Fetch gold or wood from there, again and again.");
/// Likewise.
pub const WORK: (&str, &str) = (
    "Work",
    "Help to build, mend what is damaged, or work a farm.",
);
/// Likewise.
pub const BUILD: (&str, &str) = ("Build", "Choose a building.");
/// Likewise.
pub const SHELL: (&str, &str) = ("Shell", "Catapults hit a place, whoever is there.");
/// Likewise.
pub const RALLY: (&str, &str) = ("Rally", "Where the trained go; workers gather there.");
/// Likewise.
pub const LEAVE: (&str, &str) = ("Send out", "Everybody inside comes out.");
/// Likewise.
pub const TEAR_DOWN: (&str, &str) = ("Tear down", "For nothing. Press twice.");
/// Likewise.
pub const GIVE_UP: (&str, &str) = ("Give up", "For three quarters of its price. Press twice.");
/// Likewise.
pub const BACK: (&str, &str) = ("Back", "The other orders.");
/// Why something cannot be trained.
pub const QUEUE_FULL: &str = "Five are waiting already.";
/// Why somebody is trained only later.
pub const NO_HOUSES: &str = "Waits for room: build houses.";
/// Why nobody comes out.
pub const NOBODY_INSIDE: &str = "Nobody is inside.";
/// Why something cannot be researched.
pub const RESEARCHING: &str = "Being researched.";
/// Before something is torn down.
pub const AGAIN: &str = "Press again to tear it down.";

/// What is needed first.
pub fn needs(kind: Kind) -> String {
    format!("Needs a finished {} first.", kind.stats().name)
}

/// A price in words.
pub fn price((gold, wood): (u32, u32)) -> String {
    match (gold, wood) {
        (gold, 0) => format!("{gold} {GOLD}"),
        (0, wood) => format!("{wood} {WOOD}"),
        _ => format!("{gold} {GOLD}, {wood} {WOOD}"),
    }
}

/// At the top of the window.
pub const HELP_HINT: &str = "F1 help   F3 network   Enter chat   Esc menu";
/// On a place of a queue.
pub const CANCEL: &str = "Click to take it out of the queue.";
/// On a kind among many.
pub const ONLY_THESE: &str = "Click to select only these.";

/// Workers that do nothing.
pub fn idle(many: usize) -> String {
    match many {
        1 => "1 idle worker (.)".to_owned(),
        _ => format!("{many} idle workers (.)"),
    }
}

/// What is somebody's.
pub fn of(what: &str, whose: &str) -> String {
    format!("{what} of {whose}")
}

/// What a worker does with what it carries.
pub fn carries(doing: Order, amount: u16, what: Resource) -> String {
    format!(
        "{}, carries {amount} {}",
        title_of(order(doing)),
        resource(what)
    )
}

/// How strong a unit is.
pub fn strength(stats: &crate::world::Stats) -> String {
    let reach: i32 = stats.range.to_num();
    let mut text = format!("Damage {}, armour {}", stats.damage, stats.armour);
    if reach > 0 {
        text.push_str(&format!(", reach {reach}"));
    }
    text
}

/// How much of a building stands.
pub fn built(percent: u32) -> String {
    format!("{percent} % built")
}

/// Who is inside a building.
pub fn inside(many: u8) -> String {
    format!("{many} inside")
}

/// How many are selected.
pub fn selected(many: usize) -> String {
    format!("{many} selected")
}

/// Where a message is typed.
pub const CHAT_HINT: &str = "Message to all: Enter sends, Esc does not";
/// The match's own menu.
pub const MENU: &str = "Match";
/// Its choices.
pub const RESUME: &str = "Go on";
/// Likewise.
pub const PAUSE: &str = "Pause for all";
/// Likewise.
pub const RESUME_ALL: &str = "End the pause";
/// Likewise.
pub const HELP: &str = "Help";
/// Likewise.
pub const SURRENDER: &str = "Surrender";
/// Likewise, once pressed.
pub const SURRENDER_SURE: &str = "Surrender: press again";
/// Likewise.
pub const LEAVE_MATCH: &str = "Leave the match";
/// Before it is left.
pub const LEAVE_SURE: &str = "Really leave?";
/// Likewise, on the button.
pub const LEAVE_NOW: &str = "Leave now";
/// Closes a panel.
pub const CLOSE: &str = "Close";
/// Closes the result, and the match.
pub const CLOSE_MATCH: &str = "Close the match";
/// Closes the result only.
pub const LOOK: &str = "Look at the map";
/// Back to the result, in the menu of a match that is over.
pub const SHOW_RESULT: &str = "Show the result";
/// While the map of a match is looked at that is over.
pub const OVER: &str = "The match is over. Esc leads to the result.";
/// The columns of the result.
pub const RESULT: [&str; 6] = [
    "Player",
    "Score",
    "Trained",
    "Lost",
    "Destroyed",
    "Gathered",
];
/// While nothing moves by agreement.
pub const PAUSED: &str = "Paused. P ends the pause.";
/// Rows of the network panel.
pub const TURN: &str = "turn";
/// Likewise.
pub const PLAN: &str = "plan";
/// Likewise.
pub const LATENCY: &str = "order to world";
/// Likewise.
pub const STALLS: &str = "stalls";
/// Likewise.
pub const CHECKSUM: &str = "checksum";
/// Likewise.
pub const AGREED: &str = "all agree";
/// While no turn was compared.
pub const NOT_YET: &str = "not compared yet";
/// In the place of a link, where there is none.
pub const BY_OTHERS: &str = "heard by way of others";
/// Likewise.
pub const NETWORK: &str = "network";
/// Likewise.
pub const NO_NETWORK: &str = "none: nobody else plays";
/// Likewise.
pub const SENT: &str = "sent";
/// Likewise.
pub const RECEIVED: &str = "received";

/// Keys, and what they do.
pub const KEYS: [(&str, &str); 20] = [
    (
        "Left click, drag",
        "Select one; select all in a box. Shift adds.",
    ),
    ("Double click", "Select all of a kind on the screen."),
    (
        "Right click",
        "Go, attack, gather, build, mend: what is meant there. Shift: afterwards.",
    ),
    (
        "Letters on the buttons",
        "Order, train, build. A then click: attack-move.",
    ),
    (
        "Ctrl+1 … Ctrl+9",
        "Set a control group; Shift+1 adds to it.",
    ),
    ("1 … 9", "Select a control group; twice: look at it."),
    (".", "Next idle worker; Shift: all of them."),
    ("F2", "All soldiers."),
    ("Space", "Look at the last attack."),
    ("Home", "Look at your base."),
    (
        "Arrows, edges, middle drag",
        "Scroll. The wheel zooms to the mouse.",
    ),
    ("Alt", "Show every health bar."),
    ("Enter", "Write to all."),
    ("P", "Pause for all, or end the pause."),
    ("O", "Vote to wait longer for whom the match waits."),
    ("F3", "The network panel."),
    (
        "F4",
        "Point with the keyboard: arrows aim, Space selects, Enter orders.",
    ),
    ("F9", "Sound off, or on again."),
    ("F11", "Full screen."),
    ("Esc", "Back; else the match's menu."),
];

/// While a turn waits for somebody.
pub fn stalled(who: &str, seconds: f32) -> String {
    format!(
        "Waiting for {who} for {seconds:.1} s. Press O to vote for waiting longer; Esc leads to leaving."
    )
}

/// While the world is behind.
pub fn behind(turns: u32) -> String {
    format!("{turns} turns behind, catching up: orders will come late for a moment.")
}

/// Somebody is not heard.
pub fn suspected(who: &str, seconds: u64) -> String {
    format!(
        "{who} has not been heard for {seconds} s: the others are asked whether to go on without. O votes to wait."
    )
}

/// Too many are lost.
pub fn no_quorum(who: &str) -> String {
    format!(
        "{who} lost, too many to go on without: wait, or leave by Esc and host it again from a replay."
    )
}

/// Players would wait.
pub fn patience(who: &str, seconds: u64) -> String {
    match seconds {
        0 => format!("{who} would wait longer, too few yet: press O to join them."),
        _ => format!("{who}: the match waits {seconds} s longer."),
    }
}

/// Whom turns waited for is heard again.
pub fn waited_for(who: &str) -> String {
    format!("{who} back: the match goes on.")
}

/// Somebody left.
pub fn left(who: &str) -> String {
    format!("{who} left; the match goes on.")
}

/// Somebody was lost.
pub fn lost(who: &str) -> String {
    format!("{who} lost: the match goes on. They can come back with rejoin.")
}

/// Somebody cheated.
pub fn cheated(who: &str) -> String {
    format!("{who} signed two truths, which is proved: the match goes on without.")
}

/// Somebody's world was another one.
pub fn strayed(who: &str) -> String {
    format!("{who} had another world than most of us: the match goes on without.")
}

/// Somebody is back.
pub fn back(who: &str) -> String {
    match who {
        "" => "Back in the match.".to_owned(),
        _ => format!("{who} back in the match."),
    }
}

/// All were lost, and the match is played again.
pub fn reopened(turn: u32, without: &str) -> String {
    match without {
        "" => format!("The match goes on from turn {turn}."),
        _ => format!("The match goes on from turn {turn}, without {without}."),
    }
}

/// A slow machine.
pub fn slow(who: &str, percent: u32) -> String {
    format!("The machine of {who} is slow: the match runs at {percent} % of full speed for it.")
}

/// Two worlds differ.
pub fn desync(turn: u32, report: Option<&str>) -> String {
    let report = report.map_or_else(String::new, |path| format!(" A report is in {path}."));
    format!("The worlds differ after turn {turn}: the match stops here.{report} Leave by Esc.")
}

/// Worlds differ, and a quorum has one.
pub fn odd(turn: u32, who: &str) -> String {
    format!("After turn {turn} {who} had another world than most of us: we go on without.")
}

/// The machine stood still.
pub fn slept(seconds: f32) -> String {
    format!(
        "This machine stood still for {seconds:.1} s: asking the others whether it still belongs."
    )
}

/// The replay ended early.
pub fn recording(why: &str) -> String {
    format!("The recording ended early ({why}); the match goes on.")
}

/// Median and 99th percentile.
pub fn ms_pair(p50: Option<f64>, p99: Option<f64>) -> String {
    let ms = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |ms| format!("{ms:.0}"));
    format!("{} ms, slowest {} ms", ms(p50), ms(p99))
}

/// Turns that came late.
pub fn stalls(turns: u64, seconds: f32) -> String {
    format!("{turns} late turns, {seconds:.1} s")
}

/// Bytes, and how many a second.
pub fn bytes(bytes: u64, seconds: f64) -> String {
    let kib = bytes as f64 / 1_024.0;
    format!("{kib:.0} KiB, {:.1} KiB/s", kib / seconds)
}

/// A link to a peer.
pub fn link(rtt_ms: Option<f64>, lost_of_64: u8) -> String {
    let rtt = rtt_ms.map_or_else(|| "– ms".to_owned(), |ms| format!("{ms:.0} ms"));
    let lost = f64::from(lost_of_64) * 100.0 / 64.0;
    format!("{rtt} there and back, {lost:.0} % lost")
}

/// How early batches come: of another here, and own ones there.
pub fn slack(here_ms: Option<i16>, there_ms: Option<i16>) -> String {
    let ms = |ms: Option<i16>| ms.map_or_else(|| "–".to_owned(), |ms| ms.to_string());
    format!("slack {} ms here, {} ms there", ms(here_ms), ms(there_ms))
}

/// Since when nothing of somebody was heard.
pub fn unheard(seconds: f32) -> String {
    format!("not heard for {seconds:.1} s")
}

/// The newest world that all have, and how old that news is.
pub fn agreed(turns: u32, seconds: f32) -> String {
    format!("after turn {turns}, told {seconds:.1} s ago")
}

/// Who won, as the player is told.
pub fn verdict(
    ended: &lockstep::Ended,
    own: Option<lockstep::Seat>,
    named: impl Fn(lockstep::Seat) -> String,
) -> String {
    match ended.outcome.map(|outcome| outcome.winner) {
        Some(Some(seat)) if Some(seat) == own => "Victory".to_owned(),
        Some(Some(seat)) if own.is_some() => format!("Defeat: {} won", named(seat)),
        Some(Some(seat)) => format!("{} won", named(seat)),
        Some(None) => "A draw".to_owned(),
        None => "The match is over".to_owned(),
    }
}
