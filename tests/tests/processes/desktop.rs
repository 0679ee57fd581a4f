//! The game as a person uses it: windows on virtual displays, driven by real keys and clicks, and checked by
//! pictures.
//!
//! Every wait ends after a minute. A failure keeps its pictures and names their folder; with `KEEP_PICTURES=1` a
//! success keeps them too.

use demo_rts::window::words::{self, menu, viewer};
use demo_rts::world::{Kind, TICKS_PER_SECOND, Tile};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tests::processes::{Finished, Process};
use tests::window::display::{Display, Window, missing};
use tests::window::gallery;
use tests::window::picture::{Part, Picture};

const PROGRAM: &str = env!("CARGO_BIN_EXE_pictures");

/// Whether windows can be opened here; otherwise prints why.
///
/// # Panics
/// If they cannot in CI.
fn can_look() -> bool {
    let Some(lacks) = missing() else { return true };
    let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!in_ci, "no window was tested: {lacks}");
    eprintln!("\nNOT TESTED: windows, because {lacks}\n");
    false
}

fn program() -> &'static Path {
    Path::new(PROGRAM)
}

/// Runs a command of the game without a window.
fn run(arguments: &[&str], home: &Path) -> Finished {
    let all: Vec<&str> = ["demo"].iter().chain(arguments).copied().collect();
    Process::start(program(), &all, home).finish(Duration::from_secs(60))
}

/// The recordings in the user's data folder.
fn recordings(home: &Path) -> Vec<PathBuf> {
    let Ok(files) = std::fs::read_dir(home.join("demo-rts/replays")) else {
        return Vec::new();
    };
    let files = files.flatten().map(|file| file.path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "replay"))
        .collect();
    files.sort();
    files
}

/// Every record of a recording, from `replay export`.
fn records(replay: &Path, home: &Path) -> Vec<Value> {
    let exported = run(&["replay", "export", &replay.display().to_string()], home);
    assert!(exported.status.success(), "{}", exported.errors);
    exported.events
}

/// The entries of a seat, from `replay export`.
fn entries(records: &[Value], seat: u64) -> impl Iterator<Item = &Value> {
    let entries = records
        .iter()
        .filter_map(|record| record["entries"].as_array());
    entries.flatten().filter(move |entry| entry["seat"] == seat)
}

/// The commands of a seat.
fn commands(records: &[Value], seat: u64) -> Vec<&Value> {
    entries(records, seat)
        .map(|entry| &entry["command"])
        .collect()
}

fn verify(replay: &Path, home: &Path) {
    let verified = run(&["replay", "verify", &replay.display().to_string()], home);
    assert!(verified.status.success(), "{}", verified.errors);
}

/// Waits until the process has ended by itself.
fn ends_well(window: &mut Window<'_>) {
    window
        .process
        .wait_until(Duration::from_secs(60), |_| false);
    // Its output closes a little before it ends.
    let gone = (0..100).any(|_| {
        let gone = window.process.has_ended();
        if !gone {
            std::thread::sleep(Duration::from_millis(50));
        }
        gone
    });
    assert!(gone, "the window was closed");
}

/// Asserts that two pictures show different things, not only different frames.
fn assert_differs(one: &Picture, other: &Picture, what: &str) {
    let apart = one.difference(other).expect("one size");
    assert!(apart.clearly > 0.002, "{what}: {apart:?}");
}

#[test]
fn a_skirmish_by_hand_records_what_was_clicked() {
    if !can_look() {
        return;
    }
    let home = tempfile::tempdir().expect("a folder for the game");
    let display = Display::open("skirmish", 1);
    // On this map, grass surrounds every starting town hall.
    let arguments = "--map lakes --map-seed 7 --name Ada";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let mut window = Window::open(&display, program(), &arguments, home.path(), ("ada", 0));
    window.click_on(menu::SKIRMISH);
    window.until_seen("7");
    window.click_on("1");
    window.click_on(menu::level(demo_rts::bot::Level::Easy));
    window.click_on(menu::START);
    window.until_seen(words::HELP_HINT);

    // The town hall is in the middle of the picture, with five workers on one side. A button trains a worker.
    window.until_seen(&words::idle(5));
    window.click((640, 350));
    window.point(FIRST_OF_CARD);
    window.until_seen(TRAINS_WORKER);
    window.until_seen(&START_GOLD.to_string());
    window.click(FIRST_OF_CARD);
    // The gold that is left equals the wood, which is always visible: only the text of the old amount can
    // disappear.
    window.until_gone(&START_GOLD.to_string());
    // The other workers move away, and stop.
    window.drag((540, 250), (740, 440));
    window.until_seen(&words::selected(5));
    window.order((640, 540));
    window.until_gone(&words::idle(5));
    window.press(&["x"]);
    window.until_seen(&words::idle(5));
    // A house: its preview shows under the mouse before it is placed.
    window.press(&["b"]);
    window.until_seen("Esc");
    let site = (745, 365);
    window.point(site);
    let bare = window.still(Some(Part::around(site, 40)));
    window.press(&["h"]);
    window.until_gone("Esc");
    window.until_changed(&bare, Some(Part::around(site, 40)));
    window.click(site);
    window.until_seen(&(START_WOOD - Kind::House.stats().wood).to_string());

    window.press(&["Escape"]);
    window.until_gone(&words::selected(5));
    window.press(&["Escape"]);
    window.click_on(words::SURRENDER);
    window.click_on(words::SURRENDER_CONFIRM);
    window.until_seen("Defeat: bot 1 won");
    window.click_on(words::CLOSE_MATCH);
    window.until_seen(menu::SUBTITLE);
    window.click_on(menu::QUIT);
    ends_well(&mut window);

    let found = recordings(home.path());
    let [replay] = &found[..] else {
        panic!("one recording: {found:?}");
    };
    let name = replay.file_name().unwrap_or_default().to_string_lossy();
    assert!(name.ends_with("lakes, Ada and a bot.replay"), "{name}");
    verify(replay, home.path());
    let records = records(replay, home.path());
    let clicked = commands(&records, 0);
    let [trained, moved, _, built] = ["Train", "Move", "Stop", "Build"].map(|wanted| {
        let found = clicked.iter().find(|command| command[wanted].is_object());
        let found = found.unwrap_or_else(|| panic!("{wanted} is not among {clicked:?}"));
        &found[wanted]
    });
    assert_eq!(trained["kind"], "Worker");
    assert_eq!(built["kind"], "House");
    assert!(clicked.iter().any(|command| *command == "Surrender"));
    // The command names the clicked tile: the map shows thirty pixels per tile.
    let tile = |tile: &Value| serde_json::from_value::<Tile>(tile.clone()).expect("a tile");
    let (to, at) = (tile(&moved["to"]), tile(&built["at"]));
    let apart = (
        i32::from(at.x) - i32::from(to.x),
        i32::from(at.y) - i32::from(to.y),
    );
    assert!(matches!(apart, (2..=3, -7..=-6)), "{apart:?}");
}

#[test]
fn two_windows_meet_and_a_killed_one_rejoins() {
    if !can_look() {
        return;
    }
    let [home, guests_home] = [(); 2].map(|()| tempfile::tempdir().expect("a folder for the game"));
    let display = Display::open("two", 2);
    let arguments = ["--map-seed", "5", "--map", "plains", "--name", "Ada"];
    let host = Window::open(&display, program(), &arguments, home.path(), ("ada", 0));
    host.click_on(menu::HOST);
    // A seat that stands idle for 30 s loses the match, and the killed window may take longer to be back.
    host.click_on(menu::BOT_PLAYS);
    host.click_on(menu::OPEN);
    host.until_seen(&menu::missing(1, 1));
    host.click_on(menu::COPY);
    host.until_seen(words::COPIED);

    let arguments = ["--name", "Grace"];
    let mut guest = Window::open(
        &display,
        program(),
        &arguments,
        guests_home.path(),
        ("grace", 1),
    );
    // The local network may offer any number of matches.
    guest.until_seen(menu::SUBTITLE);
    guest.press(&["Tab", "Tab", "Return"]);
    guest.until_seen(menu::TICKET_HINT);
    // An error about an invalid ticket disappears with the next text.
    guest.click_on(menu::TICKET_HINT);
    guest.write("nonsense");
    guest.click_on(menu::JOIN_IT);
    guest.until_seen(NO_TICKET);
    guest.click_on(menu::PASTE);
    guest.until_gone(NO_TICKET);
    // The button beside it, by keys that come faster than frames.
    guest.press(&["Tab", "Return"]);
    greet_and_begin(&host, &guest);
    // Chat within the match; the host's recording shows that it arrived.
    let bare = guest.still(Some(CHAT)).part(CHAT);
    guest.press(&["Return"]);
    guest.until_seen(words::CHAT_HINT);
    guest.write("have fun");
    guest.press(&["Return"]);
    guest.until("the map where was written", |picture| {
        let apart = picture.part(CHAT).difference(&bare)?;
        (apart.mean < 0.1).then_some(())
    });
    // Both players have a seat: the host's recording holds the guest's order for a worker.
    guest.click((640, 350));
    guest.until_seen(&START_GOLD.to_string());
    guest.press(&["w"]);
    guest.until_gone(&START_GOLD.to_string());
    host.press(&["F3"]);
    host.until_seen(words::AGREED);
    let playing = host.picture();

    // The host tells of it for 15 s. On a busy machine the guest takes longer to end.
    guest.process.strike();
    host.until_seen(&words::lost("Grace"));
    host.until_changed(&playing, None);
    guest.kill();

    // The menu offers a killed player to rejoin.
    let guest = Window::open(
        &display,
        program(),
        &arguments,
        guests_home.path(),
        ("back", 1),
    );
    guest.click_on(menu::REJOIN);
    host.until_seen(&words::rejoined("Grace"));
    guest.until_seen(words::HELP_HINT);
    for window in [&guest, &host] {
        window.press(&["Escape"]);
        window.click_on(words::LEAVE_MATCH);
        window.click_on(words::LEAVE_IT);
        window.until_seen(menu::SUBTITLE);
    }

    // The recording tells what was visible: the players, the removal and the return.
    let [replay] = &recordings(home.path())[..] else {
        panic!("one recording: {:?}", recordings(home.path()));
    };
    verify(replay, home.path());
    let records = records(replay, home.path());
    let start = records.iter().find(|record| record["record"] == "start");
    let trained = commands(&records, 1);
    let trained = trained
        .iter()
        .find(|command| command["Train"]["kind"] == "Worker");
    assert!(trained.is_some(), "the guest's worker: {records:?}");
    let arrived = entries(&records, 1).any(|entry| entry["chat"] == "have fun");
    assert!(arrived, "the guest's message: {records:?}");
    let roster = start.and_then(|start| start["roster"].as_array());
    let named: Vec<&Value> = roster
        .into_iter()
        .flatten()
        .map(|peer| &peer["name"])
        .collect();
    assert_eq!(named, ["Ada", "Grace"]);
    // The rosters of the match, as indices of peers.
    let changes = records.iter().filter(|record| record["record"] == "roster");
    let changes: Vec<&Value> = changes.map(|change| &change["peers"]).collect();
    assert!(changes.len() >= 2, "{changes:?}");
    assert_eq!(*changes[0], serde_json::json!([0]));
    assert_eq!(*changes[1], serde_json::json!([0, 1]));
}

#[test]
fn a_window_without_a_quorum_reopens_and_the_killed_host_rejoins() {
    if !can_look() {
        return;
    }
    let [home, guests_home] = [(); 2].map(|()| tempfile::tempdir().expect("a folder for the game"));
    let display = Display::open("reopened", 2);
    let arguments = ["--map-seed", "5", "--map", "plains", "--name", "Ada"];
    let host = Window::open(&display, program(), &arguments, home.path(), ("host", 0));
    host.click_on(menu::HOST);
    host.click_on(menu::OPEN);
    host.until_seen(&menu::missing(1, 1));
    host.click_on(menu::COPY);
    host.until_seen(words::COPIED);
    let named = ["--name", "Grace"];
    let guest = Window::open(
        &display,
        program(),
        &named,
        guests_home.path(),
        ("guest", 1),
    );
    guest.until_seen(menu::SUBTITLE);
    guest.press(&["Tab", "Tab", "Return"]);
    guest.until_seen(menu::TICKET_HINT);
    guest.click_on(menu::PASTE);
    guest.click_on(menu::JOIN_IT);
    greet_and_begin(&host, &guest);

    host.kill();
    guest.until_seen(words::TOO_FEW);
    guest.until_seen(words::GO_ON_ALONE);
    guest.click_on(words::REOPEN);
    guest.until_seen(menu::NOT_HERE);
    let host = Window::open(&display, program(), &arguments, home.path(), ("back", 0));
    host.click_on(menu::REJOIN);
    for window in [&host, &guest] {
        window.until_seen(words::HELP_HINT);
    }
    guest.press(&["Escape"]);
    guest.click_on(words::LEAVE_MATCH);
    guest.click_on(words::LEAVE_IT);
    host.until_seen(words::CLOSE_MATCH);
    let replays = recordings(guests_home.path());
    let [before, after] = &replays[..] else {
        panic!("two recordings: {replays:?}");
    };
    let records = [before, after].map(|replay| {
        verify(replay, guests_home.path());
        records(replay, guests_home.path())
    });
    let longer = records.iter().max_by_key(|records| records.len());
    let reopened = longer.into_iter().flatten();
    assert!(reopened.clone().any(|record| record["record"] == "roster"));
}

/// In a lobby without ready players.
fn greet_and_begin(host: &Window<'_>, guest: &Window<'_>) {
    guest.until_seen(&menu::yourself("Grace", None));
    host.until_seen("Grace");
    guest.until_seen("Ada");
    // A chat message, typed.
    guest.click_on(menu::CHAT_HINT);
    guest.write("good luck");
    guest.press(&["Return"]);
    host.until_seen("Grace: good luck");
    guest.click_on(menu::I_AM_READY);
    host.until_seen(menu::READY);
    host.click_on(menu::I_AM_READY);
    for window in [host, guest] {
        window.until_seen(words::HELP_HINT);
        window.until_seen(&words::idle(5));
    }
}

#[test]
fn host_and_join_commands_meet_in_the_same_lobby() {
    if !can_look() {
        return;
    }
    let [home, guests_home] = [(); 2].map(|()| tempfile::tempdir().expect("a folder for the game"));
    let display = Display::open("typed", 2);
    let ticket = guests_home.path().join("ticket");
    let options =
        "--map-seed 5 --map plains --minutes 90 --plan 100x3 --name Ada --record a.replay";
    let arguments = ["host", "--listen", "127.0.0.1:0", "--ticket-file"];
    let named = ticket.display().to_string();
    let arguments: Vec<&str> = arguments
        .into_iter()
        .chain([named.as_str()])
        .chain(options.split(' '))
        .collect();
    let mut host = Window::open(&display, program(), &arguments, home.path(), ("ada", 0));
    // The lobby shows the options of the command line.
    host.until_seen(&menu::yourself("Ada", None));
    host.until_seen(&menu::missing(1, 0));
    host.until_seen("Plains, number 5, 90 minutes.");
    host.until_seen("Clicks answered in 300 ms, turns 100x3.");
    host.until_gone(menu::DRAWING);
    host.click_on(menu::COPY);
    host.until_seen(words::COPIED);
    // It would begin with the second player, as `--help` says; this time they chat first.
    host.click_on(menu::I_AM_NOT);
    host.until_seen(menu::NOT_READY);
    let arguments = ["join", "@ticket", "--name", "Grace"];
    let home_of = guests_home.path();
    let mut guest = Window::open(&display, program(), &arguments, home_of, ("grace", 1));
    guest.click_on(menu::I_AM_NOT);
    guest.until_seen(menu::I_AM_READY);
    greet_and_begin(&host, &guest);

    // There is no menu behind the match, and the terminal shows how it ended.
    guest.press(&["Escape"]);
    guest.click_on(words::LEAVE_MATCH);
    guest.click_on(words::LEAVE_IT);
    ends_well(&mut guest);
    host.click_on(words::CLOSE_MATCH);
    ends_well(&mut host);
    for (window, wanted) in [
        (&guest, "left the match"),
        (&host, "demo-rts watch a.replay"),
    ] {
        let lines = &window.process.events;
        let line = |line: &Value| line.as_str().is_some_and(|line| line.contains(wanted));
        assert!(lines.iter().any(line), "{wanted} in {lines:?}");
    }
    verify(&home.path().join("a.replay"), home.path());
}

#[test]
fn every_seek_to_a_moment_shows_the_same_picture() {
    if !can_look() {
        return;
    }
    let home = tempfile::tempdir().expect("a folder for the game");
    let replay = home.path().join("armies.replay");
    let golden = tests::golden::folder().join("armies.replay");
    std::fs::copy(golden, &replay).expect("a recording of a fixed seed");
    let display = Display::open("viewer", 1);
    let arguments = ["watch", "armies.replay"];
    let window = Window::open(&display, program(), &arguments, home.path(), ("viewer", 0));
    let at = |turn: u32| viewer::place(turn, ARMIES_TURNS, u64::from(turn) * ARMIES_TICKS);
    let outside = || window.point((640, 16));
    window.press(&["space"]);
    window.until_seen(viewer::PAUSED);
    outside();
    window.press(&["Home"]);
    window.until_seen(&at(0));
    let first = window.still(None);

    // By the mouse: a click into the timeline seeks to that tick.
    let (left, wide) = (82.0, 1_190.0);
    let wanted = SEEK * f64::from(ARMIES_TURNS);
    let clicked_at = (left + wide * SEEK).floor();
    window.click((clicked_at as i32, 704));
    outside();
    let part = (clicked_at - left) / wide;
    let tick = (part * (ARMIES_TICKS * u64::from(ARMIES_TURNS)) as f64) as u64;
    let (turn, into) = ((tick / ARMIES_TICKS) as u32, tick % ARMIES_TICKS);
    assert!(into > 0, "in the middle of a turn");
    window.until_seen(&viewer::place(turn, ARMIES_TURNS, tick));
    let within = window.still(None);
    // Then to the beginning of the next turn.
    window.press(&["period"]);
    let near = wanted as u32 - 3..wanted as u32 + 5;
    let turn = window.until("the beginning of a turn near the click", |picture| {
        near.clone().find(|turn| window.shows(&at(*turn), picture))
    });
    let clicked = window.still(None);
    assert_differs(&first, &clicked, "another moment");

    // By keys: jumps and steps from the beginning.
    window.press(&["Home"]);
    window.until_seen(&at(0));
    for leap in 1..=turn / LEAP_TURNS {
        window.press(&["Right"]);
        window.until_seen(&at(leap * LEAP_TURNS));
    }
    for step in turn / LEAP_TURNS * LEAP_TURNS + 1..=turn {
        window.press(&["period"]);
        window.until_seen(&at(step));
    }
    assert_same(&clicked, &window.still(None), "by the mouse and by keys");
    // Backward by ticks to the clicked moment.
    for back in (tick..u64::from(turn) * ARMIES_TICKS).rev() {
        window.press(&["shift+comma"]);
        window.until_seen(&viewer::place(
            (back / ARMIES_TICKS) as u32,
            ARMIES_TURNS,
            back,
        ));
    }
    assert_same(&within, &window.still(None), "by the mouse and by ticks");

    // By playing: to the end at the highest speed; and by a key.
    for _ in 0..6 {
        window.press(&["plus"]);
    }
    window.until_seen(&viewer::speed("64"));
    window.press(&["space"]);
    window.until_seen(viewer::AT_END);
    let played = window.still(None);
    window.press(&["Home"]);
    window.until_seen(&at(0));
    window.press(&["End"]);
    window.until_seen(viewer::AT_END);
    let leapt = window.still(None);
    // Playing ends between two ticks, so units are elsewhere by a little; all figures are equal.
    for part in [SEATS, TIMELINE] {
        let (played, leapt) = (played.part(part), leapt.part(part));
        assert_same(&played, &leapt, "by playing and by a key");
    }

    // The view of one seat shows less, on the map and on the small map.
    window.press(&["Home"]);
    window.until_seen(&at(0));
    window.press(&["3"]);
    window.until_changed(&first, Some(MAP));
    window.until_changed(&first, Some(SMALL_MAP));

    // A saved picture of the moment, drawn without a card, shows the same as the window.
    let of_one_seat = window.still(None);
    window.press(&["0"]);
    window.until_changed(&of_one_seat, Some(MAP));
    let seen = window.still(None);
    window.press(&["F2"]);
    let written = window.until("a PNG beside the replay", |_| {
        let files = std::fs::read_dir(home.path()).ok()?.flatten();
        let mut paths = files.map(|file| file.path());
        let path = paths.find(|path| path.extension().is_some_and(|ending| ending == "png"))?;
        Picture::read_png(&path).ok()
    });
    let apart = seen.difference(&written).expect("one size");
    assert!(apart.mean < 2.0 && apart.worst_square < 30.0, "{apart:?}");
}

#[test]
fn the_game_looks_like_the_pictures_of_the_readme() {
    if !can_look() {
        return;
    }
    match gallery::check(program()) {
        Ok(lines) => lines.iter().for_each(|line| eprintln!("{line}")),
        Err(why) => panic!("{why}"),
    }
}

fn assert_same(one: &Picture, other: &Picture, what: &str) {
    let apart = one.difference(other).expect("one size");
    assert!(
        apart.mean < 0.1 && apart.worst_square < 4.0,
        "{what}: {apart:?}"
    );
}

/// The viewer's panel of seats.
const SEATS: Part = Part {
    x: 0,
    y: 0,
    wide: 402,
    high: 404,
};
/// The viewer's strip at the bottom.
const TIMELINE: Part = Part {
    x: 0,
    y: 598,
    wide: 1_280,
    high: 122,
};
/// A large part of the map, beside the panels.
const MAP: Part = Part {
    x: 410,
    y: 50,
    wide: 860,
    high: 540,
};
/// The viewer's small map.
const SMALL_MAP: Part = Part {
    x: 10,
    y: 412,
    wide: 174,
    high: 172,
};
/// The chat line of a match.
const CHAT: Part = Part {
    x: 8,
    y: 490,
    wide: 520,
    high: 32,
};
/// The error about an invalid ticket.
const NO_TICKET: &str =
    "This is no ticket: paste the word that the host gave you, it begins with ls1-.";
/// The first button of the command card.
const FIRST_OF_CARD: (i32, i32) = (1_095, 587);
/// Its tooltip, with a town hall selected.
const TRAINS_WORKER: &str = "Worker (W)";
/// Starting resources of a seat.
const START_GOLD: u32 = 250;
const START_WOOD: u32 = 200;
/// Where the timeline is clicked: shortly after a jump of the keys.
const SEEK: f64 = 0.405;
/// Turns of the golden recording.
const ARMIES_TURNS: u32 = 739;
/// Ticks per turn.
const ARMIES_TICKS: u64 = 4;
/// Turns in ten seconds.
const LEAP_TURNS: u32 = 10 * TICKS_PER_SECOND / ARMIES_TICKS as u32;
