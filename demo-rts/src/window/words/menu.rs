//! What menu and lobby say.

use crate::bot::Level;
use crate::plain;
use crate::window::settings::Colours;
use crate::words::clock;
use crate::world::{MapKind, Scenario, Setup};
use lockstep::Plan;
use std::time::Duration;

/// What the game is, under its title.
pub const SUBTITLE: &str = "A small real-time strategy game that stays in step";
/// Buttons of the first menu.
pub const SKIRMISH: &str = "Skirmish";
/// Likewise.
pub const HOST: &str = "Host a match";
/// Likewise.
pub const JOIN: &str = "Join a match";
/// Likewise.
pub const WATCH: &str = "Watch";
/// Likewise.
pub const SETTINGS: &str = "Settings";
/// Likewise.
pub const QUIT: &str = "Quit";
/// Back to the screen before.
pub const BACK: &str = "Back";
/// Which keys serve where no mouse is at hand.
pub const KEYS: &str = "Tab or arrows: choose     Enter: press     Esc: back     F11: full screen";

/// Labels of what a match is made of.
pub const OPPONENTS: &str = "Opponents";
/// Likewise.
pub const LEVEL: &str = "They play";
/// Likewise.
pub const BOTS_PLAY: &str = "Bots play";
/// Likewise.
pub const LAND: &str = "Land";
/// Likewise.
pub const SEED: &str = "Map number";
/// After how many minutes the highest score wins.
pub const MINUTES: &str = "Minutes";
/// Draws another map.
pub const ANOTHER: &str = "Another";
/// Begins.
pub const START: &str = "Start";
/// Seats of a match.
pub const SEATS: &str = "Seats";
/// Seats that bots take.
pub const BOTS: &str = "Of them bots";
/// Where the host listens.
pub const ADDRESS: &str = "Address";
/// What an address looks like.
pub const ADDRESS_HINT: &str = "address:port, such as 0.0.0.0:4433";
/// How long turns are.
pub const PLAN: &str = "Turns";
/// Under the plans.
pub const PLAN_TIP: &str =
    "Shorter turns answer sooner; longer ones bear a slower network. 200x2 suits most.";
/// What becomes of a match whose worlds differ.
pub const ON_DESYNC: &str = "Worlds differ";
/// Those go whose world is not that of most.
pub const REMOVE_ODD: &str = "Minority removed";
/// It ends for all.
pub const END_FOR_ALL: &str = "Match ends";
/// What becomes of slow machines.
pub const ON_SLOW: &str = "Slow machines";
/// The match slows down for them.
pub const METER: &str = "All slow down";
/// They are removed after a while.
pub const REMOVE: &str = "Removed after 10 s";
/// Who plays the seats of players that are gone.
pub const ABSENT: &str = "Empty seats";
/// Nobody does.
pub const STANDS_IDLE: &str = "Stand idle";
/// A bot of the world does.
pub const WORLD_PLAYS: &str = "Played by a bot";
/// Opens the lobby.
pub const OPEN: &str = "Open the lobby";
/// Under a map before its match.
pub const STARTS: &str = "Who starts where is drawn when the match begins.";
/// While a map is drawn.
pub const DRAWING: &str = "Drawing the map …";
/// Where the number of a map is none.
pub const BAD_SEED: &str = "A map number is a whole number, such as 4711.";
/// Where there are more bots than seats.
pub const NO_SEAT_LEFT: &str = "At least one seat must be left for somebody who joins.";

/// The field for a ticket.
pub const TICKET: &str = "Ticket";
/// What belongs into it.
pub const TICKET_HINT: &str = "Paste the word that the host gave you: it begins with ls1-";
/// Puts the clipboard into the field.
pub const PASTE: &str = "Paste";
/// Joins.
pub const JOIN_IT: &str = "Join";
/// Above the matches that were found.
pub const ON_NETWORK: &str = "On the local network";
/// While nothing was found.
pub const NONE_FOUND: &str = "No match found yet. Looking on …";
/// Where looking is switched off.
pub const NETWORK_OFF: &str = "Looking for matches is switched off in the settings.";
/// Where there was nothing to paste.
pub const NOTHING_TO_PASTE: &str = "There is no text in the clipboard.";

/// Where the network cannot be searched.
pub fn network_trouble(why: &str) -> String {
    format!("The local network cannot be searched here ({why}); tickets work all the same.")
}

/// Announcements that are no match.
pub fn strange(many: usize) -> String {
    match many {
        1 => "1 announcement could not be read and is left out.".to_owned(),
        _ => format!("{many} announcements could not be read and are left out."),
    }
}

/// A match that was found.
pub fn found(host: &str, taken: u8, seats: u8, map: Option<MapKind>, build: &str) -> String {
    let map = map.map_or(String::new(), |map| format!("   {}", land(map)));
    format!("{host}   {taken} of {seats} seats taken{map}   {build}")
}

/// On the button to join, where matches were found.
pub fn join_found(many: usize) -> String {
    match many {
        0 => JOIN.to_owned(),
        _ => format!("{JOIN} ({many} here)"),
    }
}

/// What the land looks like.
pub fn land(kind: MapKind) -> &'static str {
    match kind {
        MapKind::Plains => "Plains",
        MapKind::Valleys => "Valleys",
        MapKind::Lakes => "Lakes",
    }
}

/// What the land is like, in a sentence.
pub fn land_purpose(kind: MapKind) -> &'static str {
    match kind {
        MapKind::Plains => "Open land with woods: armies come from every side.",
        MapKind::Valleys => "Ridges with passes between: who holds a pass holds what lies behind.",
        MapKind::Lakes => "Lakes with fords and land bridges between them.",
    }
}

/// How well bots play.
pub fn level(level: Level) -> &'static str {
    match level {
        Level::Easy => "Easy",
        Level::Normal => "Normal",
        Level::Hard => "Hard",
    }
}

/// What the settings are called.
pub const NAME: &str = "Your name";
/// Likewise.
pub const SIZE: &str = "Size of all";
/// Likewise.
pub const COLOURS: &str = "Seat colours";
/// In the place of the volume, where there is nothing to hear it on.
pub const NO_DEVICE: &str = "no device";
/// In its place, where nothing is to be heard.
pub const MUTED: &str = "off (F9)";
/// Likewise.
pub const VOLUME: &str = "Sound";
/// Likewise.
pub const SCROLL: &str = "Scrolling";
/// Likewise.
pub const EDGE_SCROLL: &str = "Scroll where the mouse touches the edge";
/// Likewise.
pub const SPEED: &str = "Its speed";
/// Likewise.
pub const WINDOW: &str = "Window";
/// Likewise.
pub const FULL_SCREEN: &str = "Fill the display (F11)";
/// Likewise.
pub const NETWORK: &str = "Network";
/// Likewise.
pub const LOCAL_NETWORK: &str = "Announce own matches and look for others on the local network";

/// Which colours seats have.
pub fn colours(colours: Colours) -> &'static str {
    match colours {
        Colours::Safe => "For all eyes",
        Colours::Vivid => "Strong",
    }
}

/// A part as percent.
pub fn percent(part: f32) -> String {
    format!("{} %", (part * 100.0).round() as i32)
}

/// A speed.
pub fn tiles_a_second(speed: f32) -> String {
    format!("{} tiles/s", speed.round() as i32)
}

/// Where settings cannot be kept.
pub fn not_kept(why: &str) -> String {
    format!("Settings could not be kept ({why}): they hold until you quit.")
}

/// Where settings cannot be read.
pub fn settings_unread(why: &str) -> String {
    format!("Your settings could not be read ({why}): the usual ones are used.")
}

/// Where files cannot be kept at all.
pub const NO_FOLDER: &str = "this system names no folder for a user's data";

/// Where nothing can be recorded.
pub fn unrecorded(why: &str) -> String {
    format!("Matches are not recorded: {why}.")
}

/// Where the user's key cannot be used.
pub fn no_identity(why: &str) -> String {
    format!(
        "Your key cannot be used ({why}): one for this match only is. Coming back after a crash will not work."
    )
}

/// Above the list of recordings.
pub const RECORDED: &str = "Recorded matches, the newest first";
/// While they are read.
pub const READING: &str = "Reading your recordings …";
/// Where there are none.
pub const NONE_RECORDED: &str = "Nothing is recorded yet. Every match that you play will be.";
/// Opens one.
pub const WATCH_IT: &str = "Watch it";
/// Where none is chosen.
pub const CHOOSE_ONE: &str = "Choose a match to see who played.";
/// Labels of a recording.
pub const PLAYED: &str = "Played";
/// Likewise.
pub const LENGTH: &str = "Length";
/// Likewise.
pub const RESULT: &str = "Result";
/// Label of from when on one played alone.
pub const PLAYED_ON: &str = "Played on";
/// Likewise.
pub const RECORDED_BY: &str = "Recorded by";
/// Likewise.
pub const PLAYERS: &str = "Players";
/// How a match ended that nobody won.
pub const DRAW: &str = "a draw";
/// How a match ended before it was decided.
pub const UNDECIDED: &str = "ended undecided";
/// How a match ended whose recording breaks off.
pub const BROKEN_OFF: &str = "breaks off";

/// Who won.
pub fn won(name: &str) -> String {
    format!("{name} won")
}

/// In the list, of a file that cannot be watched.
pub fn unreadable(name: &str) -> String {
    format!("{name}   cannot be watched")
}

/// Where the recordings are kept.
pub fn kept_in(folder: &str) -> String {
    format!("They are kept in {folder}")
}

/// Where more are there than are listed.
pub fn more_recordings(many: usize) -> String {
    format!("{many} older ones are not listed.")
}

/// How long ago something was.
pub fn ago(passed: Duration) -> String {
    let minutes = passed.as_secs() / 60;
    match minutes {
        0 => "just now".to_owned(),
        1..=59 => format!("{} ago", plain::count(minutes, "minute")),
        60..=1_439 => format!("{} ago", plain::count(minutes / 60, "hour")),
        _ => format!("{} ago", plain::count(minutes / 1_440, "day")),
    }
}

/// Minutes and seconds of a match.
pub fn length(length: Duration) -> String {
    clock(length)
}

/// Likewise, and how long it could have been.
pub fn length_of(length: Duration, setup: &Setup) -> String {
    format!("{} of {}", clock(length), at_most(setup))
}

/// Above an offer to come back.
pub const BROKE_OFF: &str = "A match of yours broke off";
/// Accepts it.
pub const COME_BACK: &str = "Come back";
/// Refuses it for good.
pub const FORGET: &str = "Let it go";

/// What an offer is about.
pub fn broke_off(players: &str, length: Duration, ago_: &str) -> String {
    format!(
        "{players}, {} played, {ago_}. Perhaps the others are still there.",
        self::length(length)
    )
}

/// Of a match that cannot be come back to.
pub fn no_way_back(why: &str) -> String {
    format!("You cannot come back into that match: {why}.")
}

/// While the others are looked for.
pub const RETURNING: &str = "Coming back into the match";
/// Likewise, in a sentence.
pub const RETURNING_HOW: &str =
    "Looking for the others, and catching up with what they have played since …";

/// Instead of them, where nobody can let this player in; with the command that it would host the match again by.
pub fn too_few_left(command: Option<&str>) -> String {
    let yourself = command.map_or_else(String::new, |command| {
        format!(" To host it yourself, cancel, and then run: {command}")
    });
    format!(
        "Too few of those who played are left to let you in. You wait here until they are back, or until one of \
         them hosts the match again, which takes you there.{yourself}"
    )
}

/// How far that is.
pub fn behind(turns: u32) -> String {
    format!("{} behind", plain::count(u64::from(turns), "turn"))
}

/// The lobby.
pub const LOBBY: &str = "Lobby";
/// While the host is looked for.
pub const CONNECTING: &str = "Looking for the host …";
/// A seat that nobody has.
pub const OPEN_SEAT: &str = "open";
/// Who is ready.
pub const READY: &str = "ready";
/// Who is not.
pub const NOT_READY: &str = "not ready";
/// The button that says so.
pub const I_AM_READY: &str = "I am ready";
/// The button that takes it back.
pub const I_AM_NOT: &str = "I am not ready";
/// Leaves the lobby.
pub const CANCEL: &str = "Cancel";
/// While the lobby is left.
pub const GOING: &str = "Leaving the lobby …";
/// Copies the ticket.
pub const COPY: &str = "Copy";
/// Above the ticket.
pub const INVITE: &str = "Others join with this ticket";
/// The field to write to all.
pub const CHAT_HINT: &str = "Write to all, Enter sends";
/// Above what is said.
pub const CHAT: &str = "Said here";
/// After the last one was.
pub const BEGINS: &str = "All are ready: the match begins …";
/// Where the map is not known yet.
pub const MAP_UNKNOWN: &str = "The map is shown when all are here.";
/// Where the ticket could not be copied.
pub const NOT_COPIED: &str = "There is no clipboard here.";

/// Beside them, in a match that is reopened: how its players come back.
pub fn reopened_how(wait: Duration) -> String {
    let wait = plain::count(wait.as_secs(), "second");
    format!(
        "They come back by demo-rts join TICKET --from REPLAY, each with its own recording and identity. \
         After {wait} the match goes on without who is not here, if the others are enough."
    )
}

/// Who has not come back into a reopened match.
pub const NOT_HERE: &str = "not here yet";

/// How a reopened match goes on.
pub fn awaited(away: usize) -> String {
    match away {
        0 => "All are here: the match goes on …".to_owned(),
        away => format!("Waiting for {}.", plain::count(away as u64, "player")),
    }
}

/// Who waits with one.
pub fn are_here<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("Here: {}.", names.collect::<Vec<_>>().join(", "))
}

/// How a match goes on.
pub fn missing(open: usize, unready: usize) -> String {
    match (open, unready) {
        (0, 0) => BEGINS.to_owned(),
        (0, many) => format!("Waiting until {} ready.", are(many)),
        (open, _) => format!(
            "Waiting for {} to be taken.",
            plain::count(open as u64, "seat")
        ),
    }
}

fn are(many: usize) -> String {
    match many {
        1 => "1 player is".to_owned(),
        _ => format!("{many} players are"),
    }
}

/// What a bot in the lobby is called.
pub fn bot_of(name: &str, level: Option<Level>) -> String {
    match level {
        Some(level) => format!("bot, {}", self::level(level).to_lowercase()),
        None => format!("bot of {name}"),
    }
}

/// Who sits here, marked; and how well a bot plays there instead, if one does.
pub fn yourself(name: &str, bot: Option<Level>) -> String {
    match bot {
        Some(level) => format!("{name} (you: {})", bot_of(name, Some(level))),
        None => format!("{name} (you)"),
    }
}

/// What a guest's round trip is.
pub fn ping_to_host(ping: &str) -> String {
    format!("To the host and back in {ping}")
}

/// The round trip between a guest and the host.
pub fn ping(rtt: Duration) -> String {
    format!("{} ms", rtt.as_millis().max(1))
}

/// What is played.
pub fn terms(setup: &Setup) -> String {
    let land_ = setup.map.map_or("a map", land);
    let mut terms = match setup.map_seed {
        Some(seed) => format!("{land_}, number {seed}"),
        None => land_.to_owned(),
    };
    terms += &match setup.scenario {
        Scenario::Standard => String::new(),
        Scenario::Skirmish { units_per_seat } => format!(", armies of {units_per_seat} each"),
        Scenario::Archers { units_per_seat } => format!(", {units_per_seat} archers each"),
        Scenario::March { units } => format!(", a march of {units} units"),
        Scenario::Swarm { units, .. } => format!(", a swarm of {units} units"),
    };
    terms
}

/// What is played, and for how long at most.
pub fn long_terms(setup: &Setup) -> String {
    format!("{}, {}", terms(setup), at_most(setup))
}

/// In which turns a match is played, and how many of them at most.
pub fn pace(plan: Plan, most: Option<u32>) -> String {
    match most {
        Some(turns) => format!("Turns {plan}, {turns} at most."),
        None => format!("Turns {plan}."),
    }
}

/// How long a match takes at most.
fn at_most(setup: &Setup) -> String {
    plain::count(setup.in_range().minutes.into(), "minute")
}

/// Who has which build: `others` by name and build, which is empty where nobody tells it.
pub fn builds(own: &str, others: &[(&str, &str)]) -> String {
    let told = others.iter().filter(|(_, build)| !build.is_empty());
    if told.clone().next().is_none() {
        return format!("You: {own}. Other rules would be turned away.");
    }
    if others.iter().all(|(_, build)| *build == own) {
        return format!("All here: {own}.");
    }
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, build) in told.filter(|(_, build)| *build != own) {
        match groups.iter_mut().find(|(of, _)| of == build) {
            Some((_, names)) => names.push(name),
            None => groups.push((build, vec![name])),
        }
    }
    let groups = groups.iter();
    groups.fold(format!("You: {own}."), |mut all, (build, names)| {
        all += &format!(" {}: {build}.", names.join(", "));
        all
    })
}

/// Likewise where there is no room for all that.
pub fn builds_in_short(own: &str, others: &[(&str, &str)]) -> String {
    let others = others.iter();
    let others = others.filter(|(_, build)| !build.is_empty() && *build != own);
    match others.count() {
        1 => format!("You: {own}. Another one runs something else: point at the name."),
        many => format!("You: {own}. {many} others run something else: point at a name."),
    }
}

/// What somebody else runs.
pub fn build_of(name: &str, build: &str) -> String {
    format!("{name}: {build}")
}

/// Somebody came or went.
pub fn came(name: &str) -> String {
    format!("{name} is here.")
}

/// Likewise.
pub fn went(name: &str) -> String {
    format!("{name} left.")
}

/// The heading of a lobby that is over.
pub const LOBBY_OVER: &str = "This match will not begin";

/// From when on one played alone.
pub fn continued_from(time: Duration) -> String {
    format!("from {} on, alone", clock(time))
}
