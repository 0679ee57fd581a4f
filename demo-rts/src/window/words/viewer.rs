//! Texts of the replay viewer.

use crate::window::viewer::events::EventKind;
use crate::window::words::title_of;
use crate::words::{clock, one};
use crate::world::Tile;
use lockstep::{RosterCause, Seat};
use std::time::Duration;

pub const REPLAY: &str = "Replay";
pub const CLOSE: &str = "Close";
pub const SEEKING: &str = "Seeking …";
pub const ALL: &str = "All";
pub const AT_END: &str = "End of the replay";
pub const PAUSED: &str = "paused";
pub const REWIND: &str = "rewinding";
pub const SEATS: &str = "Seats";
pub const COLUMNS: [&str; 5] = ["army", "workers", "gold", "wood", "per min"];
pub const LANES: [&str; 4] = ["Fights", "Buildings", "Losses", "Players"];
pub const EVENTS: &str = "Events";
pub const NO_EVENTS: &str = "No events yet.";
pub const DRAWING: &str = "Drawing the picture …";
pub const GRAPHS: [&str; 3] = [
    "Army: gold and wood spent on soldiers",
    "Economy: resources gathered per minute",
    "Actions: commands per minute",
];
pub const STILL_READING: &str = "Reading the match …";
pub const TOO_LITTLE: &str = "Too little for graphs.";
pub const HINT: &str = "F1 help   C play on   G graphs   E events   Space pause   Esc back";
pub const HINT_ALONE: &str = "F1 help   G graphs   E events   Space pause   Esc back";
pub const KEYS_OF_MATCHES: [&str; 2] = ["C", "F9"];
pub const HELP: &str = "Keys of the replay viewer";
pub const CLOSE_HELP: &str = "F1 or Esc: close";
pub const KEYS: [(&str, &str); 24] = [
    ("Space", "Pause, resume"),
    ("+  −", "Faster, slower: 0.25 to 64"),
    ("R", "Rewind: play backwards"),
    ("←  →", "10 seconds back, forward"),
    ("Page Up  Page Down", "A minute back, forward"),
    (",  .", "A turn back, forward"),
    ("Shift , .", "A tick back, forward"),
    ("Home  End", "Start, end"),
    ("P  N", "Previous, next event"),
    ("K", "Kind of event for P and N"),
    ("0", "View of all seats"),
    ("1 … 8", "View of this seat"),
    ("V", "View of the next seat"),
    ("W A S D", "Move the view"),
    ("Wheel, Z  X", "Zoom in, out"),
    ("M", "Whole map"),
    ("G", "Graphs"),
    ("E", "List of events"),
    ("Alt", "All health bars"),
    ("C", "Play on from here"),
    ("F2", "Picture as PNG"),
    ("F3", "Graphs as SVG"),
    ("F9", "Sound on, off"),
    ("F11  Esc", "Full screen, back"),
];
pub const PLAY_ON_SHORT: &str = "Play on";
pub const PLAY_ON: &str = "Play on from here";
pub const LOOKING_UP: &str = "Building that moment …";
pub const YOUR_SEAT: &str = "Your seat; bots play the others";
pub const NO_MOMENT: &str = "That moment cannot be built.";

pub fn opening(name: &str) -> String {
    format!("Opening {name} …")
}

pub fn play_on_from(turn: u32, time: Duration) -> String {
    format!("From turn {turn} at {}", clock(time))
}

/// A seat and its player. Seats are numbered like the viewer's keys.
pub fn seat_to_take(seat: Seat, name: &str) -> String {
    format!("{}   {name}", u32::from(seat.0) + 1)
}

pub const ALL_KINDS: &str = "all events";

pub fn written(path: &str) -> String {
    format!("Saved to {path}")
}

pub fn given(name: &str) -> String {
    format!("The browser saves {name}")
}

pub fn unwritten(why: &str) -> String {
    format!("Nothing was saved: {why}")
}

pub fn unwatched(path: &str, why: &str) -> String {
    format!("{path}: {why}")
}

pub fn broken(what: &str, remedy: &str) -> String {
    format!("This file {what}: {remedy}.")
}

pub fn stopped(why: &str) -> String {
    format!("{}.", title_of(why))
}

pub fn reading(percent: u64) -> String {
    format!("Reading the match: {percent} %")
}

pub fn agreed(checksums: u32) -> String {
    match checksums {
        0 => String::new(),
        1 => "1 checksum agreed".to_owned(),
        many => format!("{many} checksums agreed"),
    }
}

pub fn differs(turns: u32) -> String {
    let after = match turns {
        0 => "At its start".to_owned(),
        1 => "After 1 turn".to_owned(),
        many => format!("After {many} turns"),
    };
    format!(
        "{after} the world's checksum differs from the recorded one: from there on this is not the match that was played."
    )
}

pub fn differs_briefly(turns: u32) -> String {
    match turns {
        0 => "differs from its start".to_owned(),
        1 => "differs after 1 turn".to_owned(),
        many => format!("differs after {many} turns"),
    }
}

pub fn place(turn: u32, turns: u32, tick: u64) -> String {
    format!("turn {turn} of {turns}   tick {tick}")
}

pub fn speed(name: &str) -> String {
    format!("{name}×")
}

pub fn kind(lane: Option<usize>) -> String {
    let name = lane.and_then(|lane| LANES.get(lane)).copied();
    format!("P N: {}", name.unwrap_or(ALL_KINDS).to_lowercase())
}

pub fn view_of(name: &str) -> String {
    format!("View of {name}")
}

pub const NO_OTHER: &str = "No more events of this kind.";
pub fn left_out(many: usize) -> String {
    format!("{many} more events are not listed.")
}

/// A moment as part of a file name.
pub fn moment(time: Duration, tick: u64) -> String {
    let clock = clock(time).replace(':', ".");
    format!("at {clock} (tick {tick})")
}

fn removal(why: RosterCause) -> &'static str {
    match why {
        RosterCause::Cheated => "cheated",
        RosterCause::Desynced => "desync",
        RosterCause::Reopened => "did not return",
        RosterCause::Branched => "not in the branch",
        _ => "connection lost",
    }
}

pub fn event(what: &EventKind, at: Option<Tile>, named: &dyn Fn(Seat) -> String) -> String {
    // A name is written as its owner writes it.
    let name = |seat: &Seat| named(*seat);
    let place = at.map_or_else(String::new, |at| format!(" at {},{}", at.x, at.y));
    match what {
        EventKind::Fight { lost, .. } if lost.is_empty() => format!("Fight{place}: no losses"),
        EventKind::Fight { lost, .. } => {
            let lost: Vec<String> = lost
                .iter()
                .map(|(seat, many)| format!("{} −{many}", named(*seat)))
                .collect();
            format!("Fight{place}: {}", lost.join(", "))
        }
        EventKind::Built(seat, kind) => format!("{} built {}", name(seat), one(*kind)),
        EventKind::Lost(seat, kind) => format!("{} lost {}{place}", name(seat), one(*kind)),
        EventKind::Researched(seat, upgrade, level) => {
            format!("{} researched {} {level}", name(seat), upgrade.stats().name)
        }
        EventKind::Defeated(seat) => format!("{} is defeated", name(seat)),
        EventKind::Chat(seat, text) => format!("{}: {text}", name(seat)),
        EventKind::Left(seat) => format!("{} left", name(seat)),
        EventKind::Removed(seat, why) => format!("{} was removed: {}", name(seat), removal(*why)),
        EventKind::Returned(seat) => format!("{} rejoined", name(seat)),
        EventKind::Resigned(seat) => format!("{} resigned: invalid commands", name(seat)),
        EventKind::PlayedOn(_, name) => format!("{name} plays on from here, against bots"),
        EventKind::Paused(seat) => format!("{} paused the match", name(seat)),
        EventKind::Resumed(seat) => format!("{} ended the pause", name(seat)),
    }
}
