//! The menu as people meet it: every page at several sizes, and whole ways through it with mouse and keyboard.

mod typed;

use super::{Front, Home};
use crate::cli::Common;
use crate::window::canvas::{Canvas, Rect};
use crate::window::input::{Click, Input, KeyCode, Modifiers, MouseButton, Press};
use crate::window::places::Places;
use crate::window::settings::Settings;
use crate::window::sight::until;
use crate::window::words::menu as words;
use crate::window::{Next, Screen};
use crate::world::{MapKind, Scenario};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// A window without a window: its screens, and what they drew last.
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
        // What is on the network of the machine that tests is no matter of theirs.
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

    /// A frame, as the window's shell makes it.
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

    /// Presses the mouse on what says this; the last of them where several do.
    fn press(&mut self, label: &str) {
        let found = self.canvas.texts().iter().rfind(|text| text.text == label);
        let area = found.map(|text| text.area);
        self.press_at(area, label);
    }

    /// Likewise, the first of them.
    fn press_first(&mut self, label: &str) {
        let found = self.canvas.texts().iter().find(|text| text.text == label);
        let area = found.map(|text| text.area);
        self.press_at(area, label);
    }

    fn press_at(&mut self, area: Option<Rect>, label: &str) {
        let at = area.unwrap_or_else(|| panic!("{label} is not among {:?}", self.said()));
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

    fn said(&self) -> Vec<&str> {
        let texts = self.canvas.texts().iter();
        texts.map(|text| text.text.as_str()).collect()
    }

    fn says(&self, part: &str) -> bool {
        self.said().iter().any(|text| text.contains(part))
    }

    fn until_it_says(&mut self, part: &str) {
        self.until(part, |desk| desk.says(part));
    }

    /// Lets frames pass until this is so.
    fn until(&mut self, what: &str, is_so: impl Fn(&Desk) -> bool) {
        until(what, || {
            self.frames(1);
            is_so(self).then_some(())
        });
    }

    /// Nothing cut off by the window or a panel, nothing shortened, nothing over one another.
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
fn an_empty_field_says_what_belongs_into_it_also_while_it_has_the_keyboard() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::new(folder.path(), "ada");
    desk.press(words::JOIN);
    assert!(desk.says(words::TICKET_HINT), "{:?}", desk.said());
    desk.paste("ls1-");
    assert!(!desk.says(words::TICKET_HINT), "{:?}", desk.said());
}

#[test]
fn the_map_of_the_command_line_is_the_one_that_is_offered() {
    let folder = tempfile::tempdir().unwrap();
    let common = Common {
        map_seed: Some(4_711),
        map: Some(MapKind::Valleys),
        ..Common::default()
    };
    let mut desk = Desk::with(&Places::at(folder.path()), &common);
    for page in [words::SKIRMISH, words::HOST] {
        desk.press(page);
        assert!(desk.says("4711"), "{:?}", desk.said());
        let purpose = words::land_purpose(MapKind::Valleys);
        let begins = purpose.split(':').next().unwrap_or_default();
        assert!(desk.says(begins), "{:?}", desk.said());
        desk.key(KeyCode::Escape);
    }
}

const ENDS_SO: [&str; 3] = [words::READING, words::DRAWING, words::CONNECTING];

#[test]
fn every_page_can_be_read_at_every_size_and_is_left_by_escape() {
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
    assert!(desk.screens.is_empty(), "it leads to the button that does");
}

#[test]
fn a_skirmish_is_begun_by_the_keyboard_alone_and_recorded_by_a_readable_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::new(folder.path(), "Ada");
    desk.key(KeyCode::Enter);
    desk.until_it_says(words::ANOTHER);
    desk.key(KeyCode::Enter);
    desk.until_it_says("0:01");
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
    assert!(!desk.says(words::BROKE_OFF), "nobody waits in a skirmish");
    desk.press(words::WATCH);
    desk.until_it_says(words::RECORDED);
    assert!(desk.says("Ada and 3 bots"));
    assert!(desk.says(&words::unreadable("other")));
    desk.press(&words::unreadable("other"));
    assert!(desk.says("This is not a replay file."), "{:?}", desk.said());
    desk.assert_readable_at_every_size("watch");
}

#[test]
fn a_recording_is_played_on_from_a_moment_and_listed_by_who_did() {
    use crate::window::words::viewer;
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::new(folder.path(), "Ada");
    desk.key(KeyCode::Enter);
    desk.until_it_says(words::ANOTHER);
    desk.press("20");
    desk.press(words::START);
    desk.until_it_says("0:03");
    drop(desk);
    let mut desk = Desk::new(folder.path(), "Eve");
    desk.press(words::WATCH);
    desk.until_it_says("Ada and 3 bots");
    let line = desk
        .said()
        .into_iter()
        .find(|text| text.contains("Ada and"));
    let line = line.map(str::to_owned).unwrap();
    desk.press(&line);
    desk.press(words::WATCH_IT);
    desk.until_it_says("turn 0 of");
    (0..12).for_each(|_| desk.key(KeyCode::Period));
    desk.until_it_says("turn 12 of");
    desk.key(KeyCode::C);
    desk.until_it_says("1   Ada");
    desk.assert_readable_at_every_size("play on");
    desk.press("3   bot 2");
    desk.key(KeyCode::Escape);
    assert_eq!(desk.screens.len(), 3, "back to the viewer");
    desk.press(viewer::PLAY_ON_SHORT);
    desk.until_it_says("3   bot 2");
    desk.press("3   bot 2");
    desk.press(words::START);
    // The clock of the match goes on from there.
    desk.until_it_says("0:02");
    assert_eq!(desk.screens.len(), 4, "the viewer is below");
    drop(desk);
    let mut desk = Desk::new(folder.path(), "Eve");
    desk.press(words::WATCH);
    desk.until_it_says("Eve and 3 bots");
    let line = desk
        .said()
        .into_iter()
        .find(|text| text.contains("Eve and"));
    let line = line.map(str::to_owned).unwrap();
    desk.press(&line);
    desk.until_it_says(words::PLAYED_ON);
    assert!(desk.says(" on, alone") && desk.says(" of 20 minutes"));
    desk.assert_readable_at_every_size("watch");
}

/// A file of the folder that opens for as long as it is held, in the place of one that is a replay. Whoever opens it then
/// finds nothing in it, and whoever does so later.
#[cfg(unix)]
fn held_open(path: &Path) -> std::sync::mpsc::SyncSender<()> {
    use std::os::unix::fs::FileTypeExt;
    std::fs::remove_file(path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
    let (held, free) = std::sync::mpsc::sync_channel(0);
    let path = path.to_owned();
    std::thread::spawn(move || {
        // Where frames wait for the file the test shall fail, and not stand still.
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
fn a_recording_that_takes_long_to_open_holds_no_frame_up_and_is_left_by_escape() {
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
    desk.until_it_says(words::RECORDED);
    let who = desk.screens.len();
    desk.key(KeyCode::Down);
    desk.until_it_says(words::LENGTH);
    let held = held_open(&replay);
    desk.press(words::WATCH_IT);
    let opening = viewer::opening("long.replay");
    assert!(desk.says(&opening), "{:?}", desk.said());
    desk.frames(5);
    desk.assert_readable("opening");
    // Once is enough, however often it is asked for.
    desk.key(KeyCode::Enter);
    assert!(desk.says(&opening));
    desk.key(KeyCode::Escape);
    assert!(!desk.says(&opening), "{:?}", desk.said());
    assert_eq!(desk.screens.len(), who, "the list is still there");
    // The same of a window that shows one replay alone.
    let show = |opened| Viewer::new(opened, Shared::default());
    let opener = Opener::new(Opening::begin(&replay).unwrap(), show);
    let refused = opener.refused();
    desk.screens.push(Box::new(opener));
    desk.frames(2);
    assert!(desk.says(&opening), "{:?}", desk.said());
    desk.assert_readable_at_every_size("opener");
    drop(held);
    desk.until("the window closes", |desk| desk.screens.len() == who);
    assert!(refused.take().is_some(), "it was no replay");
    // What can be opened is shown, by either way.
    std::fs::remove_file(&replay).unwrap();
    std::fs::copy(&golden, &replay).unwrap();
    let opening = Opening::begin(&replay).unwrap();
    desk.screens.push(Box::new(Opener::new(opening, show)));
    desk.until_it_says("turn 0 of");
    desk.key(KeyCode::Escape);
    assert_eq!(desk.screens.len(), who);
    desk.frames(2);
    desk.press(words::WATCH_IT);
    desk.until_it_says("turn 0 of");
}

#[test]
fn nonsense_for_a_ticket_is_answered_in_words() {
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
        assert!(desk.says(answer), "{answer}: {:?}", desk.said());
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

/// Until each of two says its text.
fn both_until(ada: &mut Desk, bob: &mut Desk, adas: &str, bobs: &str) {
    until(&format!("{adas} and {bobs}"), || {
        ada.frames(1);
        bob.frames(1);
        (ada.says(adas) && bob.says(bobs)).then_some(())
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
    desk.until_it_says("(you)");
    desk.press(words::COPY);
    assert!(desk.says(crate::window::words::COPIED));
}

/// Joins by the ticket that was copied.
fn join(desk: &mut Desk) {
    desk.press(words::JOIN);
    desk.press(words::PASTE);
    desk.press_first(words::JOIN_IT);
}

#[test]
fn two_meet_in_a_lobby_play_and_the_one_that_crashes_comes_back() {
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
        let terms: String = desk.said().join(" ");
        assert!(terms.contains("armies of 3 each, 90 minutes"), "{terms}");
    }
    assert!(ada.says(words::NOT_READY) && bob.says("Bob (you)"));
    ada.press(words::I_AM_READY);
    bob.press(words::I_AM_READY);
    both_until(&mut ada, &mut bob, "0:03", "0:03");
    // Without a word: as a crash does.
    bob.screens.clear();
    drop(bob);
    let mut bob = Desk::new(&bobs, "Bob");
    bob.until_it_says(words::BROKE_OFF);
    bob.assert_readable_at_every_size("home with an offer");
    bob.press(words::COME_BACK);
    both_until(&mut ada, &mut bob, "0:2", "0:2");
    assert_eq!(bob.screens.len(), 2);
    // The way back stands beside the new recording, and only there.
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
fn a_host_that_is_gone_is_told_in_the_window() {
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
    bob.until_it_says("cannot be reached");
    bob.assert_readable_at_every_size("a lobby that is over");
    bob.press(words::BACK);
    assert_eq!(bob.screens.len(), 1);
}

#[test]
fn where_nothing_can_be_kept_that_is_told_and_a_match_is_played_all_the_same() {
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
        assert!(desk.says("Matches are not recorded"), "{:?}", desk.said());
        desk.assert_readable_at_every_size("home with a notice");
        desk.press(words::SETTINGS);
        desk.press(words::EDGE_SCROLL);
        desk.press(words::BACK);
        desk.frames(1);
        assert!(desk.says("could not be kept"), "{:?}", desk.said());
        assert!(
            !desk.front.settings.borrow().edge_scroll,
            "they hold until then"
        );
        desk.press(words::HOST);
        desk.press(words::OPEN);
        desk.until_it_says("Your key cannot be used");
        desk.press(words::CANCEL);
        desk.until("cancel leads back to the menu", |desk| {
            desk.screens.len() == 1
        });
        desk.frames(1);
        desk.press(words::SKIRMISH);
        desk.press(words::START);
        desk.until_it_says("0:01");
    }
}

#[test]
fn settings_are_there_again_in_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::new(folder.path(), "Ada");
    desk.press(words::SETTINGS);
    desk.press(words::colours(crate::window::settings::Colours::Vivid));
    desk.press(words::EDGE_SCROLL);
    desk.press(words::BACK);
    let path = desk.front.places.settings().unwrap();
    let kept = Settings::read(&path).unwrap();
    assert!(!kept.edge_scroll && kept.name == "Ada");
    crate::window::theme::set_colours(crate::window::settings::Colours::Safe);
}
