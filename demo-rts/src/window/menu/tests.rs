//! The menu as a person uses it: every page at several sizes, and whole paths by mouse and keyboard.

mod quorum_loss;
mod typed;

use super::{Front, Home};
use crate::cli::Common;
use crate::window::canvas::{Canvas, Rect};
use crate::window::input::{Click, Input, KeyCode, Modifiers, MouseButton, Press};
use crate::window::places::Places;
use crate::window::readability::until;
use crate::window::settings::Settings;
use crate::window::words::menu as words;
use crate::window::{Next, Screen};
use crate::world::{MapKind, Scenario};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// Screens without a window, and what they drew last.
struct Desk {
    screens: Vec<Box<dyn Screen>>,
    canvas: Canvas,
    size: (f32, f32),
    zoom: f32,
    now: Duration,
    front: Rc<Front>,
}

impl Desk {
    fn new(folder: &Path, name: &str) -> Desk {
        let common = Common {
            identity: Some(folder.join(format!("{name}.key"))),
            name: Some(name.to_owned()),
            ..Common::default()
        };
        Desk::with(&Places::at(&folder.join("data")), &common)
    }

    fn with(places: &Places, common: &Common) -> Desk {
        let front = Rc::new(Front::at(places.clone(), common));
        // Tests must not depend on the local network of their machine.
        front.settings.borrow_mut().local_network = false;
        let home = Box::new(Home::new(front.clone()));
        Desk::of(front, home)
    }

    fn of(front: Rc<Front>, first: Box<dyn Screen>) -> Desk {
        let mut desk = Desk {
            screens: vec![first],
            canvas: Canvas::new(),
            size: (1_280.0, 720.0),
            zoom: 1.0,
            now: Duration::ZERO,
            front,
        };
        desk.step(Input::default());
        desk
    }

    /// Runs a frame like the window's shell.
    fn step(&mut self, mut input: Input) {
        self.now += Duration::from_millis(16);
        input.now = self.now;
        input.size = self.size;
        self.canvas.begin(self.size, self.zoom);
        let Some(screen) = self.screens.last_mut() else {
            return;
        };
        match screen.frame(&input, &mut self.canvas) {
            Next::Stay => {}
            Next::Push(screen) => self.screens.push(screen),
            Next::Replace(screen) => {
                self.screens.pop();
                self.screens.push(screen);
            }
            Next::Back => drop(self.screens.pop()),
            Next::Quit => self.screens.clear(),
        }
    }

    fn frames(&mut self, many: usize) {
        (0..many).for_each(|_| self.step(Input::default()));
    }

    fn key(&mut self, key: KeyCode) {
        let with = Modifiers::default();
        let press = Press {
            key,
            with,
            repeat: false,
        };
        self.step(Input {
            keys: vec![press],
            ..Input::default()
        });
        self.frames(1);
    }

    fn paste(&mut self, text: &str) {
        self.step(Input {
            pasted: Some(text.to_owned()),
            ..Input::default()
        });
        self.frames(1);
    }

    /// Clicks the last text with this label.
    fn press(&mut self, label: &str) {
        let found = self.canvas.texts().iter().rfind(|text| text.text == label);
        let area = found.map(|text| text.area);
        self.press_at(area, label);
    }

    /// Clicks the first text with this label.
    fn press_first(&mut self, label: &str) {
        let found = self.canvas.texts().iter().find(|text| text.text == label);
        let area = found.map(|text| text.area);
        self.press_at(area, label);
    }

    fn press_at(&mut self, area: Option<Rect>, label: &str) {
        let at = area.unwrap_or_else(|| panic!("{label} is not among {:?}", self.texts()));
        let at = at.centre();
        let click = Click {
            button: MouseButton::Left,
            at,
            with: Modifiers::default(),
            double: false,
        };
        self.step(Input {
            mouse: Some(at),
            pressed: vec![click],
            holds: vec![MouseButton::Left],
            ..Input::default()
        });
        self.step(Input {
            mouse: Some(at),
            released: vec![click],
            ..Input::default()
        });
        self.frames(1);
    }

    fn texts(&self) -> Vec<&str> {
        let texts = self.canvas.texts().iter();
        texts.map(|text| text.text.as_str()).collect()
    }

    fn shows(&self, part: &str) -> bool {
        self.texts().iter().any(|text| text.contains(part))
    }

    fn until_it_shows(&mut self, part: &str) {
        self.until(part, |desk| desk.shows(part));
    }

    /// Runs frames until this holds.
    fn until(&mut self, what: &str, is_so: impl Fn(&Desk) -> bool) {
        until(what, || {
            self.frames(1);
            is_so(self).then_some(())
        });
    }

    /// Asserts that no text is cut off, shortened, or on top of another.
    fn assert_readable(&self, page: &str) {
        let where_ = format!("{page} at {:?} times {}", self.size, self.zoom);
        let whole = Rect::new(0.0, 0.0, self.size.0, self.size.1);
        let texts = self.canvas.texts();
        for text in texts {
            let seen = text.area.common(text.clip).common(whole);
            let is_whole = seen.w >= text.area.w - 1.0 && seen.h >= text.area.h - 1.0;
            assert!(is_whole, "{where_}: {text:?}");
            let ends_so =
                ENDS_SO.contains(&text.text.as_str()) || text.text.starts_with("Opening ");
            let is_cut = text.text.ends_with('…') && !ends_so;
            // A ticket is longer than any line; the button beside it copies it whole.
            let is_cut = is_cut && !text.text.starts_with("ls1-");
            assert!(!is_cut, "{where_}: {}", text.text);
        }
        let below = texts.iter().filter(|text| !text.above && text.area.w > 0.0);
        let below: Vec<_> = below.collect();
        for (place, one) in below.iter().enumerate() {
            for other in &below[..place] {
                let common = one.area.common(other.area);
                let apart = common.w <= 1.0 || common.h <= 3.0;
                assert!(apart, "{where_}: {} over {}", one.text, other.text);
            }
        }
    }

    fn assert_readable_at_every_size(&mut self, page: &str) {
        let (size, zoom) = (self.size, self.zoom);
        for size in [(1_280.0, 720.0), (1_920.0, 1_080.0), (3_840.0, 2_160.0)] {
            for zoom in [0.75, 1.0, 1.4] {
                (self.size, self.zoom) = (size, zoom);
                self.frames(2);
                self.assert_readable(page);
            }
        }
        for size in [(0.0, 0.0), (1.0, 1.0), (200.0, 4_000.0)] {
            self.size = size;
            self.frames(2);
        }
        (self.size, self.zoom) = (size, zoom);
        self.frames(2);
    }
}

#[test]
fn an_empty_field_shows_its_hint_even_with_the_focus() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::new(folder.path(), "ada");
    desk.press(words::JOIN);
    assert!(desk.shows(words::TICKET_HINT), "{:?}", desk.texts());
    desk.paste("ls1-");
    assert!(!desk.shows(words::TICKET_HINT), "{:?}", desk.texts());
}

#[test]
fn the_map_of_the_command_line_is_preselected() {
    let folder = tempfile::tempdir().unwrap();
    let common = Common {
        map_seed: Some(4_711),
        map: Some(MapKind::Valleys),
        ..Common::default()
    };
    let mut desk = Desk::with(&Places::at(folder.path()), &common);
    for page in [words::SKIRMISH, words::HOST] {
        desk.press(page);
        assert!(desk.shows("4711"), "{:?}", desk.texts());
        let purpose = words::land_purpose(MapKind::Valleys);
        let begins = purpose.split(':').next().unwrap_or_default();
        assert!(desk.shows(begins), "{:?}", desk.texts());
        desk.key(KeyCode::Escape);
    }
}

const ENDS_SO: [&str; 3] = [words::READING, words::DRAWING, words::CONNECTING];

#[test]
fn pages_are_readable_at_every_size_and_close_on_escape() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::new(folder.path(), "Ada");
    desk.assert_readable_at_every_size("home");
    for page in [
        words::SKIRMISH,
        words::HOST,
        words::JOIN,
        words::WATCH,
        words::SETTINGS,
    ] {
        desk.press(page);
        assert_eq!(desk.screens.len(), 2, "{page}");
        desk.assert_readable_at_every_size(page);
        desk.key(KeyCode::Escape);
        assert_eq!(desk.screens.len(), 1, "{page}");
    }
    desk.key(KeyCode::Escape);
    assert_eq!(
        desk.screens.len(),
        1,
        "escape alone does not end the program"
    );
    desk.key(KeyCode::Enter);
    assert!(
        desk.screens.is_empty(),
        "the focus moves to the button that does"
    );
}

#[test]
fn the_keyboard_alone_starts_a_skirmish_with_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::new(folder.path(), "Ada");
    desk.key(KeyCode::Enter);
    desk.until_it_shows(words::RANDOM);
    desk.key(KeyCode::Enter);
    desk.until_it_shows("0:01");
    assert_eq!(desk.screens.len(), 2);
    let replays = desk.front.places.replays().unwrap();
    let names = std::fs::read_dir(&replays).unwrap();
    let names: Vec<String> = names
        .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        names
            .iter()
            .any(|name| name.ends_with("Ada and 3 bots.replay")),
        "{names:?}"
    );
    drop(desk);
    let mut desk = Desk::new(folder.path(), "Ada");
    std::fs::write(replays.join("other.replay"), "no replay").unwrap();
    assert!(
        !desk.shows(words::INTERRUPTED),
        "a skirmish has no peers to rejoin"
    );
    desk.press(words::WATCH);
    desk.until_it_shows(words::RECORDED);
    assert!(desk.shows("Ada and 3 bots"));
    assert!(desk.shows(&words::unreadable("other")));
    desk.press(&words::unreadable("other"));
    assert!(
        desk.shows("This is not a replay file."),
        "{:?}",
        desk.texts()
    );
    desk.assert_readable_at_every_size("watch");
}

#[test]
fn a_recording_is_played_on_and_listed_by_its_player() {
    use crate::window::words::{self as game, viewer};
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::new(folder.path(), "Ada");
    desk.key(KeyCode::Enter);
    desk.until_it_shows(words::RANDOM);
    desk.press("20");
    desk.press(words::START);
    desk.until_it_shows("0:03");
    drop(desk);
    let mut desk = Desk::new(folder.path(), "Eve");
    desk.press(words::WATCH);
    desk.until_it_shows("Ada and 3 bots");
    let line = desk
        .texts()
        .into_iter()
        .find(|text| text.contains("Ada and"));
    let line = line.map(str::to_owned).unwrap();
    desk.press(&line);
    desk.press(words::WATCH_IT);
    desk.until_it_shows("turn 0 of");
    (0..12).for_each(|_| desk.key(KeyCode::Period));
    desk.until_it_shows("turn 12 of");
    desk.key(KeyCode::C);
    desk.until_it_shows("1   Ada");
    desk.assert_readable_at_every_size("play on");
    desk.press("3   bot 2");
    desk.key(KeyCode::Escape);
    assert_eq!(desk.screens.len(), 3, "back to the viewer");
    desk.press(viewer::PLAY_ON_SHORT);
    desk.until_it_shows("3   bot 2");
    desk.press("3   bot 2");
    desk.press(words::START);
    // The clock of the match continues from there.
    desk.until_it_shows("0:02");
    assert_eq!(desk.screens.len(), 4, "the viewer is below");
    desk.key(KeyCode::Escape);
    desk.press(game::LEAVE_MATCH);
    desk.press(game::LEAVE_IT);
    desk.until_it_shows("turn 12 of");
    desk.key(KeyCode::Escape);
    // The page reads the folder again.
    desk.until_it_shows("Eve and 3 bots");
    assert!(desk.shows(words::CHOOSE_ONE));
    let line = desk
        .texts()
        .into_iter()
        .find(|text| text.contains("Eve and"));
    let line = line.map(str::to_owned).unwrap();
    desk.press(&line);
    desk.until_it_shows(words::PLAYED_ON);
    assert!(desk.shows(" on, solo") && desk.shows(" of 20 minutes"));
    desk.assert_readable_at_every_size("watch");
}

/// A FIFO in place of a replay, whose first reader blocks until the sender is dropped and then finds it empty.
#[cfg(unix)]
fn held_open(path: &Path) -> std::sync::mpsc::SyncSender<()> {
    use std::os::unix::fs::FileTypeExt;
    std::fs::remove_file(path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
    let (held, free) = std::sync::mpsc::sync_channel(0);
    let path = path.to_owned();
    std::thread::spawn(move || {
        // If frames waited for the file, the test must fail and not hang.
        let _ = free.recv_timeout(Duration::from_secs(120));
        let waits =
            |path: &Path| std::fs::metadata(path).is_ok_and(|file| file.file_type().is_fifo());
        while waits(&path) {
            let _ = std::fs::OpenOptions::new().write(true).open(&path);
        }
    });
    held
}

#[cfg(unix)]
#[test]
fn a_slow_recording_delays_no_frame_and_closes_on_escape() {
    use crate::window::settings::Shared;
    use crate::window::viewer::{Opener, Opening, Viewer};
    use crate::window::words::viewer;
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::new(folder.path(), "Ada");
    let replay = desk.front.places.replays().unwrap().join("long.replay");
    std::fs::create_dir_all(replay.parent().unwrap()).unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/duel.replay");
    std::fs::copy(&golden, &replay).unwrap();
    desk.press(words::WATCH);
    desk.until_it_shows(words::RECORDED);
    let depth = desk.screens.len();
    desk.key(KeyCode::Down);
    desk.until_it_shows(words::LENGTH);
    let held = held_open(&replay);
    desk.press(words::WATCH_IT);
    let opening = viewer::opening("long.replay");
    assert!(desk.shows(&opening), "{:?}", desk.texts());
    desk.frames(5);
    desk.assert_readable("opening");
    // Pressing Enter again must not open it twice.
    desk.key(KeyCode::Enter);
    assert!(desk.shows(&opening));
    desk.key(KeyCode::Escape);
    assert!(!desk.shows(&opening), "{:?}", desk.texts());
    assert_eq!(desk.screens.len(), depth, "the list is still there");
    // The same in a window that shows a single replay.
    let show = |opened| Viewer::new(opened, Shared::default());
    let opener = Opener::new(Opening::begin(&replay).unwrap(), show);
    let refused = opener.refused();
    desk.screens.push(Box::new(opener));
    desk.frames(2);
    assert!(desk.shows(&opening), "{:?}", desk.texts());
    desk.assert_readable_at_every_size("opener");
    drop(held);
    desk.until("the window closes", |desk| desk.screens.len() == depth);
    assert!(refused.take().is_some(), "it was no replay");
    // A readable file is shown, either way.
    std::fs::remove_file(&replay).unwrap();
    std::fs::copy(&golden, &replay).unwrap();
    let opening = Opening::begin(&replay).unwrap();
    desk.screens.push(Box::new(Opener::new(opening, show)));
    desk.until_it_shows("turn 0 of");
    desk.key(KeyCode::Escape);
    assert_eq!(desk.screens.len(), depth);
    desk.frames(2);
    desk.press(words::WATCH_IT);
    desk.until_it_shows("turn 0 of");
}

#[test]
fn nonsense_for_a_ticket_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::new(folder.path(), "Ada");
    desk.press(words::JOIN);
    for (nonsense, answer) in [
        ("hello there", "This is no ticket"),
        ("ls1-abc", "ticket"),
        ("ls9-abcdef", "version 9"),
        (&"x".repeat(9_000), "longer than any ticket"),
    ] {
        desk.paste(nonsense);
        desk.key(KeyCode::Enter);
        assert!(desk.shows(answer), "{answer}: {:?}", desk.texts());
        assert_eq!(desk.screens.len(), 2);
        desk.key(KeyCode::End);
        for _ in 0..nonsense.len().min(4_200) / 200 + 1 {
            let with = Modifiers {
                control: true,
                ..Modifiers::default()
            };
            let press = Press {
                key: KeyCode::Backspace,
                with,
                repeat: false,
            };
            desk.step(Input {
                keys: vec![press],
                ..Input::default()
            });
        }
    }
}

/// Runs frames of both until each shows its text.
fn both_until(ada: &mut Desk, bob: &mut Desk, adas: &str, bobs: &str) {
    until(&format!("{adas} and {bobs}"), || {
        ada.frames(1);
        bob.frames(1);
        (ada.shows(adas) && bob.shows(bobs)).then_some(())
    });
}

/// Opens a lobby and copies its ticket.
fn open(desk: &mut Desk) {
    desk.press(words::HOST);
    desk.press("0.0.0.0:0");
    for _ in 0..9 {
        desk.key(KeyCode::Backspace);
    }
    desk.paste("127.0.0.1:0");
    desk.press(words::OPEN);
    desk.until_it_shows("(you)");
    desk.press(words::COPY);
    assert!(desk.shows(crate::window::words::COPIED));
}

/// Joins by the copied ticket.
fn join(desk: &mut Desk) {
    desk.press(words::JOIN);
    desk.press(words::PASTE);
    desk.press_first(words::JOIN_IT);
}

#[test]
fn two_players_meet_and_the_crashed_one_rejoins() {
    let folder = tempfile::tempdir().unwrap();
    let common = Common {
        identity: Some(folder.path().join("Ada.key")),
        name: Some("Ada".to_owned()),
        minutes: Some(90),
        scenario: Some(Scenario::Skirmish { units_per_seat: 3 }),
        ..Common::default()
    };
    let mut ada = Desk::with(&Places::at(&folder.path().join("data")), &common);
    let bobs = folder.path().join("bob");
    std::fs::create_dir(&bobs).unwrap();
    let mut bob = Desk::new(&bobs, "Bob");
    open(&mut ada);
    join(&mut bob);
    both_until(&mut ada, &mut bob, "Bob", "Ada");
    ada.assert_readable_at_every_size("lobby of the host");
    bob.assert_readable_at_every_size("lobby of the guest");
    for desk in [&ada, &bob] {
        let terms: String = desk.texts().join(" ");
        assert!(terms.contains("3 soldiers each, 90 minutes"), "{terms}");
    }
    assert!(ada.shows(words::NOT_READY) && bob.shows("Bob (you)"));
    ada.press(words::I_AM_READY);
    bob.press(words::I_AM_READY);
    both_until(&mut ada, &mut bob, "0:03", "0:03");
    // Like a crash: without leaving.
    bob.screens.clear();
    drop(bob);
    let mut bob = Desk::new(&bobs, "Bob");
    bob.until_it_shows(words::INTERRUPTED);
    bob.assert_readable_at_every_size("home with an offer");
    bob.press(words::REJOIN);
    both_until(&mut ada, &mut bob, "0:2", "0:2");
    assert_eq!(bob.screens.len(), 2);
    // The contacts stand beside the new recording only.
    let replays = bob.front.places.replays().unwrap();
    let files = std::fs::read_dir(replays).unwrap();
    let names = files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
    let ways: Vec<String> = names.filter(|name| name.ends_with(".peers")).collect();
    assert!(
        matches!(ways.as_slice(), [way] if way.ends_with("-2.replay.peers")),
        "{ways:?}"
    );
}

#[test]
fn a_lost_host_is_reported_in_the_window() {
    let folder = tempfile::tempdir().unwrap();
    let mut ada = Desk::new(folder.path(), "Ada");
    open(&mut ada);
    ada.press(words::CANCEL);
    ada.until("cancel leads back to the menu", |ada| {
        ada.screens.len() == 1
    });
    let bobs = folder.path().join("bob");
    std::fs::create_dir(&bobs).unwrap();
    let mut bob = Desk::new(&bobs, "Bob");
    join(&mut bob);
    bob.until_it_shows("cannot be reached");
    bob.assert_readable_at_every_size("a lobby that is over");
    bob.press(words::BACK);
    assert_eq!(bob.screens.len(), 1);
}

#[test]
fn a_match_is_playable_where_no_file_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let common = Common {
        identity: Some(file.join("key")),
        name: Some("Ada".to_owned()),
        ..Common::default()
    };
    for places in [Places::at(&file), Places::default()] {
        let mut desk = Desk::with(&places, &common);
        assert!(desk.shows("Matches are not recorded"), "{:?}", desk.texts());
        desk.assert_readable_at_every_size("home with a notice");
        desk.press(words::SETTINGS);
        desk.press(words::EDGE_SCROLL);
        desk.press(words::BACK);
        desk.frames(1);
        assert!(desk.shows("could not be saved"), "{:?}", desk.texts());
        assert!(
            !desk.front.settings.borrow().edge_scroll,
            "they apply until then"
        );
        desk.press(words::HOST);
        desk.press(words::OPEN);
        desk.until_it_shows("Cannot use your key");
        desk.press(words::CANCEL);
        desk.until("cancel leads back to the menu", |desk| {
            desk.screens.len() == 1
        });
        desk.frames(1);
        desk.press(words::SKIRMISH);
        desk.press(words::START);
        desk.until_it_shows("0:01");
    }
}

#[test]
fn settings_persist_to_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::new(folder.path(), "Ada");
    desk.press(words::SETTINGS);
    desk.press(words::colours(crate::window::settings::Colours::Vivid));
    desk.press(words::EDGE_SCROLL);
    desk.press(words::BACK);
    let path = desk.front.places.settings().unwrap();
    let kept = Settings::read(&path).unwrap();
    assert!(!kept.edge_scroll);
    assert_eq!(kept.name, "", "that of the command line is for one run");
    crate::window::theme::set_colours(crate::window::settings::Colours::Safe);
}

#[test]
fn a_window_keeps_what_it_has_changed_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places::at(folder.path());
    let named = |name: &str| Common {
        name: Some(name.to_owned()),
        ..Common::default()
    };
    let [ada, bob] = ["Ada", "Bob"].map(|name| Front::at(places.clone(), &named(name)));
    ada.settings.borrow_mut().muted = true;
    bob.settings.borrow_mut().full_screen = true;
    ada.keep_settings();
    bob.keep_settings();
    let kept = || Settings::read(&places.settings().unwrap()).unwrap();
    assert!(kept().muted && kept().full_screen);
    assert_eq!(kept().name, "");
    bob.settings.borrow_mut().name = "Eve".to_owned();
    bob.keep_settings();
    assert!(kept().muted && kept().name == "Eve");
}
