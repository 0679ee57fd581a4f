//! Texts of menu and lobby.

use crate::bot::Level;
use crate::options::PlanChoice;
use crate::peer::Way;
use crate::window::settings::Colours;
use crate::words::{clock, count};
use crate::world::{MapKind, Scenario, Setup};
use std::time::Duration;

pub const SUBTITLE: &str = "A small real-time strategy game in lockstep";
pub const SKIRMISH: &str = "Skirmish";
pub const HOST: &str = "Host a match";
pub const JOIN: &str = "Join a match";
pub const WATCH: &str = "Watch";
pub const SETTINGS: &str = "Settings";
pub const QUIT: &str = "Quit";
pub const BACK: &str = "Back";
pub const KEYS: &str = "Tab or arrows: choose     Enter: press     Esc: back     F11: full screen";

pub const OPPONENTS: &str = "Opponents";
pub const LEVEL: &str = "Bot level";
pub const BOTS_PLAY: &str = "Bot level";
pub const LAND: &str = "Map";
pub const SEED: &str = "Map number";
pub const MINUTES: &str = "Minutes";
pub const RANDOM: &str = "Random";
pub const START: &str = "Start";
pub const SEATS: &str = "Seats";
pub const BOTS: &str = "Bots";
pub const ADDRESS: &str = "Address";
pub const ADDRESS_HINT: &str = "address:port, such as 0.0.0.0:4433";
pub const PLAN: &str = "Clicks answered";
pub const PLAN_TIP: &str = "Adaptive: a click is answered about as fast as the slowest link allows. The others answer within the time shown: \
     a packet may take half of it, one way.";
pub const ADAPTIVE: &str = "adaptive";

pub fn answered_within(ms: u128) -> String {
    format!("in {ms} ms")
}

pub const ON_DESYNC: &str = "On desync";
pub const REMOVE_MINORITY: &str = "Remove minority";
pub const END_FOR_ALL: &str = "End match";
pub const ON_SLOW: &str = "Slow machines";
pub const METER: &str = "Slow down all";
pub const REMOVE: &str = "Remove after 10 s";
pub const ABSENT: &str = "Missing players";
pub const SEAT_IDLE: &str = "Seat idle";
pub const BOT_PLAYS: &str = "Bot plays";
pub const OPEN: &str = "Open the lobby";
pub const STARTS: &str = "Starting places are drawn when the match begins.";
pub const DRAWING: &str = "Drawing the map …";
pub const BAD_SEED: &str = "A map number is a whole number, such as 4711.";
pub const NO_SEAT_LEFT: &str = "Leave at least one seat for a player to join.";

pub const TICKET: &str = "Ticket";
pub const TICKET_HINT: &str = "Paste the host's ticket: it begins with ls1-";
pub const PASTE: &str = "Paste";
pub const JOIN_IT: &str = "Join";
pub const ON_NETWORK: &str = "On the local network";
pub const NONE_FOUND: &str = "No match found yet. Searching …";
pub const NETWORK_OFF: &str = "The search for matches is off in the settings.";
pub const NOTHING_TO_PASTE: &str = "The clipboard holds no text.";

pub fn network_trouble(why: &str) -> String {
    format!("Cannot search the local network ({why}). Tickets still work.")
}

pub fn ignored_announcements(many: usize) -> String {
    match many {
        1 => "1 unreadable announcement ignored.".to_owned(),
        _ => format!("{many} unreadable announcements ignored."),
    }
}

pub fn found(host: &str, taken: u8, seats: u8, map: Option<MapKind>, build: &str) -> String {
    let map = map.map_or(String::new(), |map| format!("   {}", land(map)));
    format!("{host}   {taken} of {seats} seats taken{map}   {build}")
}

pub fn join_found(many: usize) -> String {
    match many {
        0 => JOIN.to_owned(),
        _ => format!("{JOIN} ({many} found)"),
    }
}

pub fn land(kind: MapKind) -> &'static str {
    match kind {
        MapKind::Plains => "Plains",
        MapKind::Valleys => "Valleys",
        MapKind::Lakes => "Lakes",
    }
}

pub fn land_purpose(kind: MapKind) -> &'static str {
    match kind {
        MapKind::Plains => "Open land with woods: armies come from every side.",
        MapKind::Valleys => "Ridges with passes: a held pass protects the land behind it.",
        MapKind::Lakes => "Lakes with fords and land bridges between them.",
    }
}

pub fn level(level: Level) -> &'static str {
    match level {
        Level::Easy => "Easy",
        Level::Normal => "Normal",
        Level::Hard => "Hard",
    }
}

pub const NAME: &str = "Your name";
pub const SIZE: &str = "Interface size";
pub const COLOURS: &str = "Seat colours";
pub const NO_DEVICE: &str = "no device";
pub const MUTED: &str = "off (F9)";
pub const VOLUME: &str = "Sound";
pub const SCROLL: &str = "Scrolling";
pub const EDGE_SCROLL: &str = "Scroll with the mouse at the edge";
pub const SPEED: &str = "Scroll speed";
pub const WINDOW: &str = "Window";
pub const FULL_SCREEN: &str = "Full screen (F11)";
pub const NETWORK: &str = "Network";
pub const LOCAL_NETWORK: &str = "Announce and find matches on the local network";

pub fn colours(colours: Colours) -> &'static str {
    match colours {
        Colours::Safe => "Colour-blind safe",
        Colours::Vivid => "Vivid",
    }
}

pub fn percent(part: f32) -> String {
    format!("{} %", (part * 100.0).round() as i32)
}

pub fn tiles_a_second(speed: f32) -> String {
    format!("{} tiles/s", speed.round() as i32)
}

pub fn not_kept(why: &str) -> String {
    format!("Settings could not be saved ({why}). They apply until you quit.")
}

pub fn settings_unread(why: &str) -> String {
    format!("Your settings could not be read ({why}). The defaults apply.")
}

pub const NO_FOLDER: &str = "this system has no folder for user data";

pub fn unrecorded(why: &str) -> String {
    format!("Matches are not recorded: {why}.")
}

pub fn no_identity(why: &str) -> String {
    format!(
        "Cannot use your key ({why}). This match uses a temporary key: you cannot rejoin it after a crash."
    )
}

pub const RECORDED: &str = "Recorded matches, newest first";
pub const READING: &str = "Reading your recordings …";
pub const NONE_RECORDED: &str = "No recordings yet. Every match you play is recorded.";
pub const WATCH_IT: &str = "Watch replay";
pub const CHOOSE_ONE: &str = "Choose a match to see its players.";
pub const PLAYED: &str = "Played";
pub const LENGTH: &str = "Length";
pub const RESULT: &str = "Result";
pub const PLAYED_ON: &str = "Played on";
pub const RECORDED_BY: &str = "Recorded by";
pub const PLAYERS: &str = "Players";
pub const DRAW: &str = "a draw";
pub const UNDECIDED: &str = "undecided";
pub const BROKEN_OFF: &str = "incomplete";

pub fn won(name: &str) -> String {
    format!("{name} won")
}

pub fn unreadable(name: &str) -> String {
    format!("{name}   cannot be watched")
}

pub fn kept_in(folder: &str) -> String {
    format!("Folder: {folder}")
}

pub fn more_recordings(many: usize) -> String {
    format!("{many} older recordings are not listed.")
}

pub fn ago(passed: Duration) -> String {
    let minutes = passed.as_secs() / 60;
    match minutes {
        0 => "just now".to_owned(),
        1..=59 => format!("{} ago", count(minutes, "minute")),
        60..=1_439 => format!("{} ago", count(minutes / 60, "hour")),
        _ => format!("{} ago", count(minutes / 1_440, "day")),
    }
}

pub fn length(length: Duration) -> String {
    clock(length)
}

pub fn length_of(length: Duration, setup: &Setup) -> String {
    format!("{} of {}", clock(length), at_most(setup))
}

pub const INTERRUPTED: &str = "Your last match was interrupted";
pub const REJOIN: &str = "Rejoin";
pub const FORGET: &str = "Dismiss";

pub fn interrupted(players: &str, length: Duration, ago: &str) -> String {
    format!(
        "{players}, {} played, {ago}. The other players may still be in it.",
        self::length(length)
    )
}

pub fn cannot_rejoin(why: &str) -> String {
    format!("You cannot rejoin that match: {why}.")
}

pub const REJOINING: &str = "Rejoining the match";
pub const REJOINING_HOW: &str = "Finding the other players and catching up with the match …";

pub const TOO_FEW_LEFT: &str = "Too few players remain to admit you. You rejoin here once they return, or once one of \
                                them reopens the match.";
pub const OR_GO_ON: &str = "You can reopen the match yourself, or go on alone in a branch: that result counts as unagreed.";
pub const BRANCH_FOUND: &str = "Other players went on in a branch. Its result counts as unagreed.";
pub const OR_ACCEPT: &str = "They may have lost it, or made up another history. You can accept their history: turns of your recording then no \
                             longer count.";
pub const BY_THEIR_HISTORY: &str = "You go on by the history of the others.";
pub const ALONE: &str = "Going on alone";
pub const NOT_GOING_ON: &str = "The match cannot go on here";

pub fn going_on(way: Way) -> &'static str {
    match way {
        Way::Reopen => "The match is being reopened.",
        Way::Rejoin => "Another player reopens the match.",
        Way::Alone => "You play on alone, in a branch: its result counts as unagreed.",
        Way::Enter(_) => "You enter the branch of other players: its result counts as unagreed.",
    }
}

pub fn behind(turns: u32) -> String {
    format!("{} behind", count(u64::from(turns), "turn"))
}

pub const LOBBY: &str = "Lobby";
pub const REMOVE_GUEST: &str = "Remove";
pub const LET_IN: &str = "Let in";
pub const TURN_AWAY: &str = "Turn away";
pub const CONNECTING: &str = "Connecting to the host …";
pub const HOST_LOST: &str = "The link to the host is gone. The host is dialled again.";
pub const ASKED: &str = "The host is asked to let you in …";
pub const OPEN_SEAT: &str = "open";
pub const READY: &str = "ready";
pub const NOT_READY: &str = "not ready";
pub const I_AM_READY: &str = "I am ready";
pub const I_AM_NOT: &str = "I am not ready";
pub const CANCEL: &str = "Cancel";
pub const LEAVING: &str = "Leaving the lobby …";
pub const COPY: &str = "Copy";
pub const INVITE: &str = "Others join with this ticket";
pub const CHAT_HINT: &str = "Message to all: Enter sends";
pub const CHAT: &str = "Chat";
pub const BEGINS: &str = "All players are ready: the match begins …";
pub const MAP_UNKNOWN: &str = "The map appears once all players are here.";
pub const MAP_STAGED: &str = "This scenario has a map of its own.";
pub const NOT_COPIED: &str = "No clipboard is available.";

pub fn reopened_how(wait: Duration) -> String {
    let wait = count(wait.as_secs(), "second");
    format!(
        "Missing players find this lobby when they rejoin the match from their menu. \
         After {wait} the match resumes without missing players, if the others are a quorum. \
         You need not wait so long for them."
    )
}

pub const BEGIN_NOW: &str = "Do not wait";
pub const FIRST_COMERS: &str = "Waiting for enough players.";

pub const NOT_HERE: &str = "not here yet";

pub fn awaited(away: usize) -> String {
    match away {
        0 => "All players are here: the match resumes …".to_owned(),
        away => format!("Waiting for {}.", count(away as u64, "player")),
    }
}

pub fn are_here<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("Here: {}.", names.collect::<Vec<_>>().join(", "))
}

pub fn missing(open: usize, unready: usize) -> String {
    match (open, unready) {
        (0, 0) => BEGINS.to_owned(),
        (0, many) => format!("Waiting for {} to be ready.", count(many as u64, "player")),
        (open, _) => format!("Waiting for {} to be taken.", count(open as u64, "seat")),
    }
}

pub fn bot_of(name: &str, level: Option<Level>) -> String {
    match level {
        Some(level) => format!("bot, {}", self::level(level).to_lowercase()),
        None => format!("bot of {name}"),
    }
}

pub fn yourself(name: &str, bot: Option<Level>) -> String {
    match bot {
        Some(level) => format!("{name} (you: {})", bot_of(name, Some(level))),
        None => format!("{name} (you)"),
    }
}

pub fn ping_to_host(ping: &str) -> String {
    format!("Ping to the host: {ping}")
}

pub fn ping(rtt: Duration) -> String {
    format!("{} ms", rtt.as_millis().max(1))
}

pub fn terms(setup: &Setup) -> String {
    let land_ = setup.map.map_or("a map", land);
    let mut terms = match setup.map_seed {
        Some(seed) => format!("{land_}, number {seed}"),
        None => land_.to_owned(),
    };
    terms += &match setup.scenario {
        Scenario::Standard => String::new(),
        Scenario::Skirmish { units_per_seat } => format!(", {units_per_seat} soldiers each"),
        Scenario::Archers { units_per_seat } => format!(", {units_per_seat} archers each"),
        Scenario::March { units } => format!(", a march of {units} units"),
        Scenario::Swarm { units, .. } => format!(", a swarm of {units} units"),
    };
    terms
}

pub fn long_terms(setup: &Setup) -> String {
    format!("{}, {}", terms(setup), at_most(setup))
}

/// A player asks the host of a lobby to let it in.
pub fn asks(name: &str, address: &str) -> String {
    let place = address.rsplit_once(':').map_or(address, |(place, _)| place);
    format!("{name} ({place}) asks to join")
}

pub fn pace(plan: PlanChoice, most: Option<u32>) -> String {
    let answered = match plan {
        PlanChoice::Adaptive => "as fast as links allow".to_owned(),
        PlanChoice::Fixed(fixed) => answered_within(fixed.latency().as_millis()),
    };
    match most {
        Some(turns) => format!("Clicks answered {answered}, turns {plan}, at most {turns}."),
        None => format!("Clicks answered {answered}, turns {plan}."),
    }
}

fn at_most(setup: &Setup) -> String {
    count(setup.in_range().minutes.into(), "minute")
}

/// Builds by player; `others` are names and builds, of which unknown ones are empty.
pub fn builds(own: &str, others: &[(&str, &str)]) -> String {
    let known = others.iter().filter(|(_, build)| !build.is_empty());
    if known.clone().next().is_none() {
        return format!("You: {own}. Builds with other rules cannot join.");
    }
    if others.iter().all(|(_, build)| *build == own) {
        return format!("All players: {own}.");
    }
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, build) in known.filter(|(_, build)| *build != own) {
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

/// The same for a narrow place.
pub fn builds_in_short(own: &str, others: &[(&str, &str)]) -> String {
    let others = others.iter();
    let others = others.filter(|(_, build)| !build.is_empty() && *build != own);
    match others.count() {
        1 => format!("You: {own}. 1 player runs another build: point at the name."),
        many => format!("You: {own}. {many} players run other builds: point at a name."),
    }
}

pub fn build_of(name: &str, build: &str) -> String {
    format!("{name}: {build}")
}

pub fn joined(name: &str) -> String {
    format!("{name} joined.")
}

pub fn left(name: &str) -> String {
    format!("{name} left.")
}

pub const LOBBY_OVER: &str = "This match will not begin";

pub fn continued_from(time: Duration) -> String {
    format!("from {} on, solo", clock(time))
}
