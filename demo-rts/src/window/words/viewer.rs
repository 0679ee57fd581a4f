//! What the replay viewer says.

use crate::window::viewer::events::Happened;
use crate::window::words::title_of;
use crate::words::{clock, one};
use crate::world::Tile;
use lockstep::{RosterCause, Seat};
use std::time::Duration;

/// Above what says that a replay is being opened.
pub const REPLAY: &str = "Replay";
/// Waits for it no more.
pub const CLOSE: &str = "Close";
/// While the world of a moment is built.
pub const SEEKING: &str = "Going there …";
/// All seats' view.
pub const ALL: &str = "All";
/// Where the replay ends.
pub const AT_END: &str = "End of the replay";
/// It stands still.
pub const PAUSED: &str = "paused";
/// It runs backwards.
pub const REWIND: &str = "rewinding";
/// Title of the seats' panel.
pub const SEATS: &str = "Seats";
/// Columns of the seats' panel.
pub const COLUMNS: [&str; 5] = ["army", "workers", "gold", "wood", "per min"];
/// Lanes of the timeline.
pub const LANES: [&str; 4] = ["Fights", "Buildings", "Losses", "People"];
/// Title of the list of events.
pub const EVENTS: &str = "What happened";
/// Where there is none.
pub const NO_EVENTS: &str = "Nothing yet.";
/// While a picture is drawn.
pub const DRAWING: &str = "Drawing the picture …";
/// Titles of the graphs.
pub const GRAPHS: [&str; 3] = [
    "Army: what soldiers cost, gold and wood",
    "Economy: brought home a minute",
    "Actions: commands a minute",
];
/// Where the graphs are empty so far.
pub const NO_SAMPLES: &str = "The match is being read …";
/// Where the one who asks for help is told how.
pub const HINT: &str = "F1 help   C play on   G graphs   E events   Space pause   Esc back";
/// The same where no match can be begun.
pub const HINT_ALONE: &str = "F1 help   G graphs   E events   Space pause   Esc back";
/// Keys that are of use only where a match can be begun.
pub const KEYS_OF_MATCHES: [&str; 2] = ["C", "F9"];
/// Title of the keys.
pub const HELP: &str = "Keys of the replay viewer";
/// How the help is closed.
pub const CLOSE_HELP: &str = "F1 or Esc closes this.";
/// Each key and what it does.
pub const KEYS: [(&str, &str); 24] = [
    ("Space", "Pause, go on"),
    ("+  −", "Faster, slower: 0.25 to 64"),
    ("R", "Rewind: play backwards"),
    ("←  →", "10 seconds back, on"),
    ("Page Up  Page Down", "A minute back, on"),
    (",  .", "A turn back, on"),
    ("Shift , .", "A tick back, on"),
    ("Home  End", "Start, end"),
    ("P  N", "Event before, next"),
    ("K", "Kind of event for P and N"),
    ("0", "See all"),
    ("1 … 8", "See as this seat does"),
    ("V", "See as the next seat does"),
    ("W A S D", "Move the view"),
    ("Wheel, Z  X", "Zoom in, out"),
    ("M", "The whole map"),
    ("G", "Graphs"),
    ("E", "List of events"),
    ("Alt", "All health bars"),
    ("C", "Play on from here"),
    ("F2", "Picture as PNG"),
    ("F3", "Graphs as SVG"),
    ("F9", "Sound off, on"),
    ("F11  Esc", "Full screen, back"),
];
/// On the button.
pub const PLAY_ON_SHORT: &str = "Play on";
/// Title of the page, and of the match.
pub const PLAY_ON: &str = "Play on from here";
/// While the world of the moment is made.
pub const LOOKING_UP: &str = "Looking that moment up …";
/// Heading of the seats.
pub const YOUR_SEAT: &str = "Your seat; bots play the others";
/// Where looking up came to nothing.
pub const NO_MOMENT: &str = "That moment cannot be made.";

/// While a replay is being opened.
pub fn opening(name: &str) -> String {
    format!("Opening {name} …")
}

/// From where.
pub fn play_on_from(turn: u32, time: Duration) -> String {
    format!("From turn {turn} at {} on", clock(time))
}

/// A seat, and who has played it. Seats are numbered as the viewer's keys are.
pub fn seat_to_take(seat: Seat, name: &str) -> String {
    format!("{}   {name}", u32::from(seat.0) + 1)
}

/// All kinds of events.
pub const ALL_KINDS: &str = "all events";

/// After a file was written.
pub fn written(path: &str) -> String {
    format!("Written to {path}")
}

/// After a page has given the browser a file.
pub fn given(name: &str) -> String {
    format!("The browser keeps {name}")
}

/// Where a file was not written.
pub fn unwritten(why: &str) -> String {
    format!("Nothing was written: {why}")
}

/// What cannot be watched, and why.
pub fn unwatched(path: &str, why: &str) -> String {
    format!("{path}: {why}")
}

/// A file that breaks off.
pub fn broken(what: &str, remedy: &str) -> String {
    format!("This file {what}: {remedy}.")
}

/// The match is not wholly read.
pub fn stopped(why: &str) -> String {
    format!("{}.", title_of(why))
}

/// How far the survey is.
pub fn reading(percent: u64) -> String {
    format!("Reading the match: {percent} %")
}

/// Once the match is read, and its world was always the recorded one.
pub fn agreed(checksums: u32) -> String {
    match checksums {
        0 => String::new(),
        1 => "1 checksum agreed".to_owned(),
        many => format!("{many} checksums agreed"),
    }
}

/// Where the world of the replay is not the recorded one.
pub fn differs(turns: u32) -> String {
    let after = match turns {
        0 => "At its start".to_owned(),
        1 => "After 1 turn".to_owned(),
        many => format!("After {many} turns"),
    };
    format!(
        "{after} the world has another checksum than the recorded one: from there on this is not what was played."
    )
}

/// Turn and tick.
pub fn place(turn: u32, turns: u32, tick: u64) -> String {
    format!("turn {turn} of {turns}   tick {tick}")
}

/// The speed.
pub fn speed(name: &str) -> String {
    format!("{name}×")
}

/// Who P and N look for.
pub fn kind(lane: Option<usize>) -> String {
    let name = lane.and_then(|lane| LANES.get(lane)).copied();
    format!("P N: {}", name.unwrap_or(ALL_KINDS).to_lowercase())
}

/// Whose view it is.
pub fn view_of(name: &str) -> String {
    format!("As {name} sees it")
}

/// Where there is no such event.
pub const NO_OTHER: &str = "No more of these.";
/// How many are not listed.
pub fn left_out(many: usize) -> String {
    format!("{many} more are not listed.")
}

/// A moment, as a file's name has it.
pub fn moment(time: Duration, tick: u64) -> String {
    let clock = clock(time).replace(':', ".");
    format!("at {clock} (tick {tick})")
}

/// Why the others went on without somebody.
fn removal(why: RosterCause) -> &'static str {
    match why {
        RosterCause::Cheated => "cheated",
        RosterCause::Desynced => "another world",
        RosterCause::Reopened => "did not come back",
        _ => "lost",
    }
}

/// What happened, in a sentence. `named` says what a seat is called.
pub fn happened(what: &Happened, at: Option<Tile>, named: &dyn Fn(Seat) -> String) -> String {
    // A name is written as its owner writes it.
    let name = |seat: &Seat| named(*seat);
    let place = at.map_or_else(String::new, |at| format!(" at {},{}", at.x, at.y));
    match what {
        Happened::Fight { lost, .. } if lost.is_empty() => format!("Fight{place}: nobody fell"),
        Happened::Fight { lost, .. } => {
            let lost: Vec<String> = lost
                .iter()
                .map(|(seat, many)| format!("{} −{many}", named(*seat)))
                .collect();
            format!("Fight{place}: {}", lost.join(", "))
        }
        Happened::Built(seat, kind) => format!("{} has {}", name(seat), one(*kind)),
        Happened::Lost(seat, kind) => format!("{} lost {}{place}", name(seat), one(*kind)),
        Happened::Researched(seat, upgrade, level) => {
            format!("{} learnt {} {level}", name(seat), upgrade.stats().name)
        }
        Happened::Defeated(seat) => format!("{} is defeated", name(seat)),
        Happened::Chat(seat, text) => format!("{}: {text}", name(seat)),
        Happened::Left(seat) => format!("{} left", name(seat)),
        Happened::Removed(seat, why) => format!("{} was removed: {}", name(seat), removal(*why)),
        Happened::Returned(seat) => format!("{} came back", name(seat)),
        Happened::Resigned(seat) => format!("{} gave up", name(seat)),
        Happened::PlayedOn(_, name) => format!("{name} plays on from here, against bots"),
        Happened::Paused(seat) => format!("{} paused the match", name(seat)),
        Happened::Resumed(seat) => format!("{} ended the pause", name(seat)),
    }
}
