//! Every text of the window, in one place.
#![expect(missing_docs, reason = "the texts describe themselves")]

#[cfg(feature = "window")]
pub mod menu;
#[cfg(target_arch = "wasm32")]
pub(crate) mod page;
pub mod viewer;

use crate::words::count;
use crate::world::{Kind, Order, Refusal, Resource, SeatView, Upgrade};

pub const TITLE: &str = "demo-rts";
pub const LOADING: &str = "Building the world …";
pub const COPIED: &str = "Copied.";

pub const GOLD: &str = "gold";
pub const WOOD: &str = "wood";

pub fn resource(resource: Resource) -> &'static str {
    match resource {
        Resource::Gold => GOLD,
        Resource::Wood => WOOD,
    }
}

pub fn title_of(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

pub fn order(order: Order) -> &'static str {
    match order {
        Order::Idle => "idle",
        Order::Move => "moving",
        Order::AttackMove => "advancing",
        Order::Attack => "attacking",
        Order::Hold => "holding",
        Order::Gather => "gathering",
        Order::Return => "carrying it home",
        Order::Construct => "building",
        Order::Farm => "farming",
        Order::Repair => "repairing",
        Order::Patrol => "on patrol",
        Order::Enter => "entering",
        Order::Inside => "inside",
        Order::AttackGround => "attacking ground",
    }
}

pub fn purpose(kind: Kind) -> &'static str {
    match kind {
        Kind::Worker => "Gathers gold and wood, builds and repairs.",
        Kind::Swordsman => "Fights hand to hand.",
        Kind::Archer => "Shoots from a distance; weak hand to hand.",
        Kind::TownHall => "Trains workers, stores resources, houses ten, shelters units.",
        Kind::House => "Houses eight.",
        Kind::Barracks => "Trains swordsmen.",
        Kind::Knight => "Rides fast and hits hard.",
        Kind::Range => "Trains archers.",
        Kind::Stable => "Trains knights.",
        Kind::Tower => "Shoots at nearby enemies; shelters units.",
        Kind::Farm => "Gives one worker a little gold, without end.",
        Kind::Wall => "Blocks the way.",
        Kind::Catapult => "Throws stones far, at walls and crowds. Hits friends too.",
        Kind::Workshop => "Builds catapults.",
    }
}

pub fn upgrade(upgrade: Upgrade) -> &'static str {
    match upgrade {
        Upgrade::Blades => "Swordsmen and knights hit harder.",
        Upgrade::Armour => "Soldiers lose less with every hit.",
        Upgrade::Fletching => "Archers and towers shoot farther and harder.",
        Upgrade::Tools => "Workers gather and farm faster.",
        Upgrade::Masonry => "Buildings withstand more damage.",
    }
}

pub fn refusal(refusal: Refusal) -> String {
    title_of(&refusal.to_string())
}

pub const SOUND_OFF: &str = "Sound off";
pub const SOUND_ON: &str = "Sound on";
pub const SOUND_NOWHERE: &str = "Sound on, but there is no sound device";

pub const YOU: &str = "you";
pub const POINT_AT_OWN: &str = "Point at one of your buildings.";
pub const NO_IDLE: &str = "No worker is idle.";
pub const NO_SOLDIERS: &str = "No soldier of yours is on the map.";

pub fn group_set(number: usize, many: usize) -> String {
    format!("Group {number}: {many}")
}

pub fn group_empty(number: usize) -> String {
    format!("Group {number} is empty. Ctrl+{number} sets it.")
}

pub fn group_inside(number: usize) -> String {
    format!("All of group {number} is inside.")
}

/// Why a seat cannot have an entry of the card; `lacking` is the kind of a missing building.
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

pub const MOVE: (&str, &str) = ("Move", "Go there without fighting.");
pub const ATTACK: (&str, &str) = (
    "Attack",
    "Attack a target, or go there and fight enemies on the way.",
);
pub const PATROL: (&str, &str) = ("Patrol", "Go back and forth, fighting enemies on the way.");
pub const STOP: (&str, &str) = ("Stop", "Cancel all orders.");
pub const HOLD: (&str, &str) = ("Hold", "Stay, and fight only enemies in range.");
pub const ENTER: (&str, &str) = ("Enter", "Shelter in one of your buildings.");
pub const GATHER: (&str, &str) = ("Gather", "Keep bringing gold or wood from there.");
pub const WORK: (&str, &str) = ("Work", "Help to build, repair a building, or work a farm.");
pub const BUILD: (&str, &str) = ("Build", "Choose a building.");
pub const SHELL: (&str, &str) = (
    "Attack ground",
    "Catapults hit a place. They hit friends too.",
);
pub const RALLY: (&str, &str) = ("Rally", "Where new units go. Workers gather there.");
pub const UNLOAD: (&str, &str) = ("Unload", "All units inside come out.");
pub const DEMOLISH: (&str, &str) = ("Demolish", "No refund. Press twice.");
pub const ABANDON: (&str, &str) = (
    "Abandon",
    "Refunds three quarters of the price. Press twice.",
);
pub const BACK: (&str, &str) = ("Back", "Back to the other orders.");
pub const QUEUE_FULL: &str = "The queue is full: five.";
pub const NO_HOUSES: &str = "Needs housing: build houses.";
pub const NO_UNITS_INSIDE: &str = "No units inside.";
pub const RESEARCHING: &str = "Research is under way.";
pub const DEMOLISH_CONFIRM: &str = "Press again to demolish it.";

pub fn needs(kind: Kind) -> String {
    format!("Needs a finished {} first.", kind.stats().name)
}

pub fn price((gold, wood): (u32, u32)) -> String {
    match (gold, wood) {
        (gold, 0) => format!("{gold} {GOLD}"),
        (0, wood) => format!("{wood} {WOOD}"),
        _ => format!("{gold} {GOLD}, {wood} {WOOD}"),
    }
}

pub const HELP_HINT: &str = "F1 help   F3 network   Enter chat   Esc menu";
pub const CANCEL: &str = "Click to cancel it.";
pub const ONLY_THESE: &str = "Click to select only these.";

pub fn idle(many: usize) -> String {
    match many {
        1 => "1 idle worker (.)".to_owned(),
        _ => format!("{many} idle workers (.)"),
    }
}

pub fn owned_by(what: &str, owner: &str) -> String {
    format!("{what} of {owner}")
}

pub fn carries(doing: Order, amount: u16, what: Resource) -> String {
    format!(
        "{}, carrying {amount} {}",
        title_of(order(doing)),
        resource(what)
    )
}

pub fn strength(stats: &crate::world::Stats) -> String {
    let reach: i32 = stats.range.to_num();
    let mut text = format!("Damage {}, armour {}", stats.damage, stats.armour);
    if reach > 0 {
        text.push_str(&format!(", range {reach}"));
    }
    text
}

pub fn built(percent: u32) -> String {
    format!("{percent} % built")
}

pub fn inside(many: u8) -> String {
    format!("{many} inside")
}

pub fn selected(many: usize) -> String {
    format!("{many} selected")
}

pub const CHAT_HINT: &str = "Message to all: Enter sends, Esc cancels";
pub const MENU: &str = "Match";
pub const RESUME: &str = "Resume";
pub const PAUSE: &str = "Pause for all";
pub const RESUME_ALL: &str = "End the pause";
pub const HELP: &str = "Help";
pub const SURRENDER: &str = "Surrender";
pub const SURRENDER_CONFIRM: &str = "Surrender: press again";
pub const LEAVE_MATCH: &str = "Leave the match";
pub const LEAVING: &str = "Leaving the match …";
pub const LEAVE_QUESTION: &str = "Leave the match?";
pub const STAY: &str = "Stay";
pub const LEAVE_IT: &str = "Leave";
pub const CLOSE: &str = "Close";
pub const CLOSE_MATCH: &str = "Close the match";
pub const LOOK: &str = "Look at the map";
pub const SHOW_RESULT: &str = "Show the result";
pub const OVER: &str = "The match is over. Esc: menu.";
pub const RESULT: [&str; 6] = [
    "Player",
    "Score",
    "Trained",
    "Lost",
    "Destroyed",
    "Gathered",
];
pub const PAUSED: &str = "Paused. P: resume.";
pub const TURN: &str = "turn";
pub const PLAN: &str = "plan";
pub const LATENCY: &str = "command latency";
pub const STALLS: &str = "stalls";
pub const CHECKSUM: &str = "checksum";
pub const AGREED: &str = "all agree";
pub const NOT_YET: &str = "not compared yet";
pub const BY_OTHERS: &str = "no direct link";
pub const NETWORK: &str = "network";
pub const NO_NETWORK: &str = "none: single player";
pub const SENT: &str = "sent";
pub const RECEIVED: &str = "received";

pub const KEYS: [(&str, &str); 20] = [
    (
        "Left click, drag",
        "Select one unit, or all in a box. Shift adds.",
    ),
    (
        "Double click",
        "Select all units of that kind on the screen.",
    ),
    (
        "Right click",
        "Go, attack, gather, build or repair there. Shift queues the order.",
    ),
    (
        "Letters on the buttons",
        "Order, train, build. A, then click: attack-move.",
    ),
    (
        "Ctrl+1 … Ctrl+9",
        "Set a control group; Shift+1 adds to it.",
    ),
    ("1 … 9", "Select a control group. Twice: go to it."),
    (".", "Next idle worker. Shift: all idle workers."),
    ("F2", "All soldiers."),
    ("Space", "Go to the last attack."),
    ("Home", "Go to your base."),
    (
        "Arrows, edges, middle drag",
        "Scroll. The wheel zooms around the mouse.",
    ),
    ("Alt", "Show all health bars."),
    ("Enter", "Chat with all players."),
    ("P", "Pause for all, or end the pause."),
    ("O", "Vote to wait longer for a player."),
    ("F3", "Network panel."),
    (
        "F4",
        "Keyboard pointer: arrows aim, Space selects, Enter orders.",
    ),
    ("F9", "Sound on or off."),
    ("F11", "Full screen."),
    ("Esc", "Back, or the match's menu."),
];

pub const COMMANDS_MISSING: &str = ": packets come, but not all commands of this turn";

pub fn silent_players(names: &str) -> String {
    format!(": no packets come from {names}")
}

/// The reason follows the seconds, where it is known.
pub fn stalled(names: &str, why: &str, seconds: f32) -> String {
    format!("Waiting for {names} for {seconds:.1} s{why}. O: vote to wait longer. Esc: menu.")
}

pub fn behind(turns: u32) -> String {
    let turns = count(u64::from(turns), "turn");
    format!("Catching up: {turns} behind. Orders take effect late until then.")
}

pub fn suspected(names: &str, seconds: u64) -> String {
    format!(
        "No packets from {names} for {seconds} s: a vote on going on without them has begun. O: vote to wait."
    )
}

pub fn no_quorum(names: &str, remaining: &str) -> String {
    format!("Connection to {names} lost. {remaining}, too few to go on. Esc: choose what to do.")
}

pub const TOO_FEW: &str = "Too few players remain";
pub const WAIT: &str = "Wait";
pub const REOPEN: &str = "Reopen the match";
pub const GO_ON_ALONE: &str = "Go on alone";
pub const ACCEPT_HISTORY: &str = "Accept their history";
pub const ENTER_BRANCH: &str = "Enter the branch";
pub const UNAGREED: &str = "This was a branch: its result counts as unagreed.";
pub const UNSIGNED: &str = "Too few players signed this end: the result counts as unagreed.";

pub fn ways(lost: &str) -> String {
    format!(
        "Connection to {lost} lost. If you wait or reopen the match, missing players find you by rejoining. \
         If you go on alone, in a branch, missing players may enter it, and its result counts as unagreed."
    )
}

pub fn branch_found(names: &str) -> String {
    format!("{names} went on in a branch without you.")
}

pub fn branch_found_banner(names: &str, may_enter: bool) -> String {
    let how = match may_enter {
        true => "Esc: choose what to do.",
        false => "It lacks turns of yours and cannot be entered.",
    };
    format!("{} {how}", branch_found(names))
}

pub fn branch_met(names: &str) -> String {
    format!("You and {names} play two branches of one match. They never merge: each goes on.")
}

pub fn extension(names: &str, seconds: u64) -> String {
    match seconds {
        0 => format!("{names} voted to wait longer: too few votes so far. O: vote."),
        _ => format!("{names} voted: the match waits {seconds} s longer."),
    }
}

pub fn answered(names: &str) -> String {
    format!("Connection to {names} restored: the match goes on.")
}

pub fn left(names: &str) -> String {
    format!("{names} left; the match goes on.")
}

pub fn lost(names: &str) -> String {
    format!("Connection to {names} lost: the match goes on. They can rejoin.")
}

pub fn cheated(names: &str) -> String {
    format!("{names} removed: proven to have signed two histories. The match goes on.")
}

pub fn desynced(names: &str) -> String {
    format!("{names} removed: their world differed from the majority's. The match goes on.")
}

pub fn rejoined(names: &str) -> String {
    match names {
        "" => "You rejoined the match.".to_owned(),
        _ => format!("{names} rejoined the match."),
    }
}

pub fn reopened(turn: u32, without: &str) -> String {
    match without {
        "" => format!("The match resumes at turn {turn}."),
        _ => format!("The match resumes at turn {turn}, without {without}."),
    }
}

pub fn slow(names: &str, percent: u32) -> String {
    format!("{names}: slow machine. The match runs at {percent} % of full speed.")
}

pub fn desync(turn: u32, report: Option<&str>) -> String {
    let report = report.map_or_else(String::new, |path| format!(" See the report in {path}."));
    format!("Desync: worlds differ after turn {turn}, and the match stops.{report} Esc: leave.")
}

pub fn minority(turn: u32, names: &str) -> String {
    format!(
        "After turn {turn} the world of {names} differs from the majority's: the match goes on without them."
    )
}

pub fn slept(seconds: f32) -> String {
    format!("This machine stopped for {seconds:.1} s: checking with the other players.")
}

pub fn recording(why: &str) -> String {
    format!("Recording stopped ({why}). The match goes on.")
}

pub fn median_and_p99(p50: Option<f64>, p99: Option<f64>) -> String {
    let ms = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |ms| format!("{ms:.0}"));
    format!("{} ms, 99th percentile {} ms", ms(p50), ms(p99))
}

/// Late turns, and the seconds spent waiting for them.
pub fn stalls(turns: u64, seconds: f32) -> String {
    let turns = count(turns, "late turn");
    format!("{turns}, {seconds:.1} s")
}

pub fn bytes(bytes: u64, bytes_a_second: f64) -> String {
    let [kib, rate] = [bytes as f64, bytes_a_second].map(|bytes| bytes / 1_024.0);
    format!("{kib:.0} KiB, {rate:.1} KiB/s")
}

/// What left on a link: copies per hundred batches, and bytes a second, since it is up and the match runs.
pub fn link_traffic(copies: u64, bytes_a_second: f64) -> String {
    let copies = match copies {
        1 => "1 copy".to_owned(),
        _ => format!("{copies} copies"),
    };
    format!(
        "{copies} per 100 batches, {:.1} KiB/s",
        bytes_a_second / 1_024.0
    )
}

pub fn link(rtt_ms: Option<f64>, lost_of_64: u8) -> String {
    let rtt = rtt_ms.map_or_else(|| "– ms".to_owned(), |ms| format!("{ms:.0} ms"));
    let lost = f64::from(lost_of_64) * 100.0 / 64.0;
    format!("{rtt} round trip, {lost:.0} % loss")
}

/// The plan in force, and the way that it is for.
pub fn plan(plan: &str, way: &str) -> String {
    match way {
        "" => plan.to_owned(),
        way => format!("{plan}, for {way}"),
    }
}

/// Milliseconds that batches come early: those of the other peer here, and our own there.
pub fn slack(here_ms: Option<i16>, there_ms: Option<i16>) -> String {
    let ms = |ms: Option<i16>| ms.map_or_else(|| "–".to_owned(), |ms| ms.to_string());
    format!("slack {} ms here, {} ms there", ms(here_ms), ms(there_ms))
}

/// How long before their deadline the batches of a peer leave.
pub fn lead(lead: lockstep::session::Lead) -> String {
    let then = match lead.stands_out {
        true => ": it may see your commands first",
        false => "",
    };
    format!("sends {} of {} ms ahead{then}", lead.ms, lead.usual_ms)
}

pub fn silent(seconds: f32) -> String {
    format!("no packets for {seconds:.1} s")
}

pub fn agreed(turns: u32, seconds: f32) -> String {
    format!("after turn {turns}, as of {seconds:.1} s ago")
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!(stalls(1, 0.5), "1 late turn, 0.5 s");
        assert_eq!(stalls(2, 0.5), "2 late turns, 0.5 s");
        assert!(behind(1).starts_with("Catching up: 1 turn behind."));
        assert!(behind(0).starts_with("Catching up: 0 turns behind."));
        let copies = |copies| link_traffic(copies, 0.0);
        assert!(copies(1).starts_with("1 copy per 100 batches"));
        assert!(copies(3).starts_with("3 copies per 100 batches"));
    }
}
