//! A whole single-player match through its screen, in real time and without a graphics card.

use super::*;
use crate::bot::Level;
use crate::cli::Common;
use crate::peer::{Bots, KeyChoice, Part, now};
use crate::window::game::hand::{Aim, Mode};
use crate::window::input::{Click, Modifiers, MouseButton, Press};
use crate::window::readability::{SIZES, check_texts, until};
use lockstep::log::Terms;
use lockstep::{EndReason, MatchId, Seat, TurnNumber};
use std::net::SocketAddr;
use std::time::Instant;

struct Player {
    game: Game,
    canvas: Canvas,
    began: Instant,
    exit_report: Rc<RefCell<ExitReport>>,
}

impl Player {
    fn begin(common: &Common) -> Player {
        let part = Part::Alone { seats: 2 };
        Player::of(&part, Bots::AllButFirst(Level::Easy), common)
    }

    fn of(part: &Part<'_>, bots: Bots, common: &Common) -> Player {
        let peer = Peer::start(part, bots, common, KeyChoice::Ephemeral).expect("a match");
        let exit_report = Rc::new(RefCell::new(ExitReport::default()));
        let settings = Shared::default();
        let game = Game::new(
            peer,
            "test",
            &["a note".to_owned()],
            settings,
            exit_report.clone(),
        );
        Player {
            game,
            canvas: Canvas::new(),
            began: now(),
            exit_report,
        }
    }

    fn frame(&mut self, input: Input) -> Next {
        let size = SIZES[0];
        let input = Input {
            size,
            now: self.began.elapsed(),
            seconds: 0.01,
            ..input
        };
        self.canvas.begin(size, 1.0);
        let next = self.game.frame(&input, &mut self.canvas);
        check_texts(&self.canvas);
        next
    }

    fn press(&mut self, key: KeyCode) -> Next {
        let with = Modifiers::default();
        let repeat = false;
        self.frame(Input {
            keys: vec![Press { key, with, repeat }],
            ..Input::default()
        })
    }

    /// Runs frames until this holds.
    fn wait(&mut self, what: &str, is_so: impl Fn(&Player) -> bool) {
        until(what, || {
            let there = is_so(self);
            if !there {
                self.frame(Input::default());
            }
            there.then_some(())
        });
    }

    fn reads(&self, wanted: &str) -> bool {
        let mut texts = self.canvas.texts().iter();
        texts.any(|written| written.text.contains(wanted))
    }
}

#[test]
fn a_match_is_played_paused_and_left_by_the_menu() {
    let mut player = Player::begin(&Common::default());
    player.wait("the match begins", |player| player.reads("250"));
    player.wait("the log is shown", |player| player.reads("a note"));
    player.press(KeyCode::KpEnter);
    player.frame(Input {
        typed: "good luck".to_owned(),
        ..Input::default()
    });
    assert!(player.reads("good luck"));
    player.press(KeyCode::KpEnter);
    player.wait("the message arrives", |player| player.reads(": good luck"));
    let sounds = || -> Vec<Sound> { sound::played().iter().map(|cue| cue.sound).collect() };
    assert!(sounds().contains(&Sound::Chat));
    player.press(KeyCode::Period);
    assert_eq!(sounds(), [Sound::Select], "an idle worker");
    let at = (SIZES[0].0 / 2.0, SIZES[0].1 / 2.0);
    let click = Click {
        button: MouseButton::Right,
        at,
        with: Modifiers::default(),
        double: false,
    };
    player.frame(Input {
        mouse: Some(at),
        pressed: vec![click],
        ..Input::default()
    });
    assert_eq!(sounds(), [Sound::Order]);
    // With a selection, the next Escape would clear that.
    player.press(KeyCode::Escape);
    player.press(KeyCode::P);
    player.wait("all pause", |player| player.reads(words::PAUSED));
    player.press(KeyCode::P);
    player.wait("the match resumes", |player| !player.reads(words::PAUSED));
    player.press(KeyCode::F3);
    assert!(player.reads(words::NO_NETWORK));
    player.press(KeyCode::Escape);
    let to_leave = |player: &mut Player| {
        player.wait("the menu", |player| player.reads(words::LEAVE_MATCH));
        player.press(KeyCode::Up);
        player.press(KeyCode::Enter);
        player.wait("it asks", |player| player.reads(words::LEAVE_QUESTION));
    };
    to_leave(&mut player);
    // A second Enter in haste changes nothing.
    player.press(KeyCode::Enter);
    player.frame(Input::default());
    assert!(player.game.leaving.is_none() && !player.reads(words::LEAVE_QUESTION));
    player.press(KeyCode::Escape);
    to_leave(&mut player);
    player.press(KeyCode::Down);
    player.press(KeyCode::Enter);
    let began = now();
    while !matches!(player.frame(Input::default()), Next::Back) {
        assert!(began.elapsed() < Duration::from_secs(10), "it is left");
    }
    assert!(player.exit_report.borrow().lines()[0].contains("left the match"));
}

#[test]
fn surrender_needs_a_confirmation() {
    let mut player = Player::begin(&Common::default());
    player.wait("the match begins", |player| player.reads("250"));
    let to_surrender = |player: &mut Player| {
        player.press(KeyCode::Escape);
        player.wait("the menu", |player| player.reads(words::SURRENDER));
        player.press(KeyCode::Up);
        player.press(KeyCode::Up);
        player.press(KeyCode::Enter);
    };
    to_surrender(&mut player);
    player.wait("it asks", |player| player.reads(words::SURRENDER_CONFIRM));
    // A closed menu forgets the first press.
    player.press(KeyCode::Escape);
    player.wait("the menu is closed", |player| {
        !player.reads(words::SURRENDER)
    });
    to_surrender(&mut player);
    player.wait("it asks", |player| player.reads(words::SURRENDER_CONFIRM));
    assert!(player.game.ended.is_none());
    player.press(KeyCode::Enter);
    player.wait("the match ends", |player| player.reads(words::CLOSE_MATCH));
    assert!(player.reads("Defeat: bot 1 won"));
    let samples = player.game.samples.all();
    let issued = samples.last().map(|sample| sample.seats[0].actions);
    assert_eq!(issued, Some(1), "the surrender itself");
}

#[test]
fn a_banner_about_a_wait_ends_with_the_wait() {
    let mut player = Player::begin(&Common::default());
    player.wait("the match begins", |player| player.reads("250"));
    let (turn, seats) = (TurnNumber(3), vec![Seat(7)]);
    // Read at once: a frame would take in what a busy machine does to the match.
    let banner = |player: &Player| {
        let banner = player.game.banner.as_ref();
        banner.map_or_else(String::new, |(banner, _)| banner.text.clone())
    };
    player.game.take(&Event::Extension {
        turn,
        seats: seats.clone(),
        extension: Duration::from_secs(30),
    });
    assert!(banner(&player).contains("the match waits 30 s longer"));
    let over = Event::StallEnded {
        turn,
        late: Duration::from_secs(14),
    };
    player.game.take(&over);
    assert_eq!(banner(&player), "");
    player.game.take(&Event::Stalled {
        turn,
        on: seats,
        since: Duration::from_secs(14),
    });
    player.game.take(&over);
    assert!(banner(&player).contains("Connection to seat 7 restored"));
}

#[test]
fn closing_the_window_leaves_the_match_first() {
    let mut player = Player::begin(&Common::default());
    player.wait("the match begins", |player| player.reads("250"));
    assert!(!player.game.may_close());
    let closing = || Input {
        closing: true,
        ..Input::default()
    };
    player.frame(closing());
    let began = now();
    while !player.game.may_close() {
        assert!(began.elapsed() < Duration::from_secs(10), "it is left");
        player.frame(closing());
    }
    assert!(
        player.game.ended.is_some(),
        "the match has ended for this peer"
    );
}

#[test]
fn the_end_is_shown_and_printed_after_the_window_closes() {
    let common = Common {
        turns: Some(15),
        ..Common::default()
    };
    let mut player = Player::begin(&common);
    player.wait("the match ends", |player| player.reads(words::CLOSE_MATCH));
    assert!(player.reads("bot 1") && player.reads(words::RESULT[1]));
    let graphs = words::viewer::GRAPHS;
    assert!(graphs.into_iter().all(|title| player.reads(title)));
    assert!(player.reads("0:00") && player.reads("0:01"));
    let samples = player.game.samples.all().to_vec();
    let [.., before, last] = samples.as_slice() else {
        panic!("{samples:?}");
    };
    assert!(before.tick < last.tick && last.tick == 30, "{samples:?}");
    // The map, the menu, and back to the result.
    player.press(KeyCode::Escape);
    player.frame(Input::default());
    assert!(player.reads(words::OVER));
    player.press(KeyCode::P);
    player.frame(Input::default());
    assert!(player.reads(words::OVER) && !player.reads(words::PAUSED));
    player.press(KeyCode::Escape);
    player.frame(Input::default());
    assert!(player.reads(words::SHOW_RESULT) && !player.reads(words::OVER));
    for senseless in [words::PAUSE, words::SURRENDER, words::RESUME] {
        assert!(!player.reads(senseless), "{senseless}");
    }
    player.press(KeyCode::Enter);
    player.frame(Input::default());
    assert!(graphs.into_iter().all(|title| player.reads(title)));
    assert_eq!(player.game.samples.all(), samples);
    player.press(KeyCode::Tab);
    assert!(matches!(player.press(KeyCode::Enter), Next::Back));
    let report = player.exit_report.borrow();
    assert_eq!(report.code(), crate::exit::GOOD);
    assert!(!report.lines().is_empty(), "a result is printed");
}

#[test]
fn a_key_of_the_chat_answers_no_panel() {
    let mut player = Player::begin(&Common::default());
    player.wait("the match begins", |player| player.reads("250"));
    player.press(KeyCode::Enter);
    assert!(player.game.talk.is_typing());
    player.game.over = Over::Leave;
    player.game.memory.focus(0);
    player.press(KeyCode::Enter);
    assert!(!player.game.talk.is_typing());
    assert_eq!(player.game.over, Over::Leave);
    player.press(KeyCode::Enter);
    assert_eq!(player.game.over, Over::Nothing, "it is answered: stay");
}

#[test]
fn enter_on_a_button_of_the_card_begins_no_chat() {
    let mut player = Player::begin(&Common::default());
    player.wait("the match begins", |player| player.reads("250"));
    for key in [KeyCode::Period, KeyCode::Tab, KeyCode::Enter] {
        player.press(key);
    }
    let table = player.game.table.as_ref().expect("there is a world");
    let mode = table.hand.as_ref().map(|hand| hand.mode);
    assert_eq!(mode, Some(Mode::Aim(Aim::Move)), "the first button");
    assert!(!player.game.talk.is_typing());
}

#[test]
fn leaving_is_told_and_ends_chat_and_pauses() {
    let mut player = Player::begin(&Common::default());
    player.wait("the match begins", |player| player.reads("250"));
    player.game.leaving = Some(player.game.now);
    player.frame(Input::default());
    assert!(player.reads(words::LEAVING));
    for key in [KeyCode::P, KeyCode::Enter, KeyCode::Escape] {
        player.press(key);
        assert!(!player.game.talk.is_typing());
        assert_eq!(player.game.over, Over::Nothing);
    }
    let later = player.game.facts.tick + 20;
    player.wait("the match is not paused", |player| {
        player.game.facts.tick > later
    });
}

#[test]
fn a_match_that_ends_without_a_world_is_closed_by_a_button() {
    let part = Part::Host {
        terms: Terms {
            seats: 2,
            ..Terms::default()
        },
        bots: 0,
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
    };
    let mut player = Player::of(&part, Bots::None, &Common::default());
    let world = player.game.peer.world();
    assert!(world.is_none(), "a lobby that no player joins has no world");
    player.game.take(&Event::Ended(Ended {
        reason: EndReason::Left,
        turns: 0,
        checksum: None,
        outcome: None,
        agreed: 0,
        of: 1,
        is_final: true,
        branch_of: None,
    }));
    assert_eq!(player.game.over, Over::Menu);
    player.frame(Input::default());
    assert!(player.reads(words::CLOSE_MATCH));
    // There is no result to show: the focus of the menu passes over it.
    for key in [KeyCode::Escape, KeyCode::Escape, KeyCode::Enter] {
        player.press(key);
    }
    assert_eq!(player.game.over, Over::Help);
}

#[test]
fn a_branch_is_told_by_the_banner_alone() {
    let mut player = Player::begin(&Common::default());
    player.wait("the match begins", |player| player.reads("250"));
    player.game.take(&Event::BranchFound {
        match_id: MatchId([7; 16]),
        turn: TurnNumber(3),
        seats: vec![Seat(1)],
        may_enter: true,
    });
    let banner = player.game.banner.as_ref();
    assert!(banner.is_some_and(|(banner, _)| banner.text.contains("went on in a branch")));
    player.frame(Input::default());
    assert!(!player.reads("B enters it"), "a key of the terminal");
}
