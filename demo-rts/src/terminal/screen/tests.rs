use super::*;
use crate::terminal::controls::KEYS;
use crate::world::Setup;
use lockstep::{
    Checksum, EndReason, Ended, Event, MatchId, Outcome, PeerId, Plan, Seat, SeatInfo, Status,
    TurnNumber,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use sim::{Seed, Simulation, Start};
use std::time::Duration;

fn world(seats: u8) -> World {
    World::new(&Start {
        setup: Setup {
            map_seed: Some(1),
            ..Setup::default()
        },
        seed: Seed([1; 32]),
        seats: (0..seats).map(Seat).collect(),
    })
}

fn facts() -> Facts {
    let mut facts = Facts::new("local");
    let seats = ["ann", "bob", "cleo-with-a-long-name", "dan"];
    let seats = seats.iter().enumerate().map(|(seat, name)| SeatInfo {
        seat: Seat(seat as u8),
        peer: PeerId([seat as u8; 32]),
        name: (*name).to_owned(),
    });
    facts.take(&Event::Started {
        match_id: MatchId([0x7f; 16]),
        own: vec![Seat(0)],
        seats: seats.collect(),
        plan: Plan::default(),
    });
    facts.take(&Event::Turn {
        turn: TurnNumber(299),
        tick: 1_200,
        checksum: Checksum(0xdead_beef),
        step: Duration::ZERO,
    });
    facts.status = Some(Status::Running);
    facts.latency.p50 = Some(301.2);
    facts.latency.p99 = Some(398.0);
    facts.agreed = Some(298);
    facts.take(&Event::Chat {
        from: "bob".to_owned(),
        seat: Some(Seat(1)),
        text: "good\x1b[2J luck".to_owned(),
    });
    facts
}

fn described(hand: &Hand, world: &World) -> String {
    hand.describe(world, |seat| format!("player {}", seat.0))
}

fn drawn(screen: &Screen<'_>, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| screen.render(frame.area(), frame.buffer_mut()))
        .unwrap();
    let buffer = terminal.backend().buffer().clone();
    (0..height)
        .map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect())
        .collect()
}

fn screen<'a>(facts: &'a Facts, world: Option<&'a World>) -> Screen<'a> {
    Screen {
        facts,
        world,
        hand: None,
        centre: None,
        close: false,
        notice: "waiting for peers",
        prompt: "prompt".to_owned(),
        keys: &["q quit"],
    }
}

#[test]
fn a_small_terminal_shows_every_panel() {
    let (facts, world) = (facts(), world(4));
    let lines = drawn(&screen(&facts, Some(&world)), 80, 24);
    let all = lines.join("\n");
    assert!(
        lines[0].starts_with("local  1:00  turn 299  tick 1200  running"),
        "{all}"
    );
    for wanted in [
        "ann",
        "bob",
        "cleo-wit ",
        "dan",
        " 250  200",
        "deadbeef",
        "all agree: 298",
        "301.2 p99 398.0 ms",
        "200x2",
        "bob: good[2J luck",
        "q quit",
        "prompt",
        "^",
        "$",
    ] {
        assert!(all.contains(wanted), "{wanted} in\n{all}");
    }
    for seat in ["0", "1", "2", "3"] {
        let map = lines[1..20].iter().map(|line| &line[..40]);
        assert!(
            map.clone().any(|line| line.contains(seat)),
            "seat {seat} in\n{all}"
        );
    }
}

#[test]
fn the_close_view_shows_kind_and_seat() {
    let (facts, world) = (facts(), world(2));
    let mut hand = Hand::new(Seat(0), &world);
    hand.cursor = world.seat(Seat(0)).unwrap().home;
    let mut screen = screen(&facts, Some(&world));
    screen.hand = Some(&hand);
    screen.close = true;
    let all = drawn(&screen, 120, 40).join("\n");
    assert!(all.contains("T0T0") && all.contains("w0"), "{all}");
}

#[test]
fn a_player_does_not_see_unexplored_tiles() {
    let (facts, world) = (facts(), world(2));
    let hand = Hand::new(Seat(0), &world);
    let mut screen = screen(&facts, Some(&world));
    screen.close = true;
    let map = |screen: &Screen<'_>| {
        let lines = drawn(screen, 200, 70);
        let map = lines[1..66].iter().map(|line| line.chars().take(160));
        map.map(|line| line.collect::<String>()).collect::<String>()
    };
    let open = map(&screen);
    assert!(open.contains("T1T1") && !open.contains('.'), "{open}");
    assert!(
        drawn(&screen, 200, 70)
            .concat()
            .matches(" 250  200")
            .count()
            == 2
    );
    screen.hand = Some(&hand);
    let fogged = map(&screen);
    assert!(fogged.contains("T0T0") && fogged.contains('.'), "{fogged}");
    assert!(!fogged.contains("T1"), "{fogged}");
    assert!(
        drawn(&screen, 200, 70)
            .concat()
            .matches(" 250  200")
            .count()
            == 1
    );
}

#[test]
fn screens_of_every_size_draw() {
    let (facts, world) = (facts(), world(8));
    let hand = Hand::new(Seat(0), &world);
    for (width, height) in [
        (1, 1),
        (3, 2),
        (20, 5),
        (59, 10),
        (80, 24),
        (200, 60),
        (400, 250),
    ] {
        for close in [false, true] {
            for world in [None, Some(&world)] {
                let mut screen = screen(&facts, world);
                screen.close = close;
                screen.hand = Some(&hand);
                drawn(&screen, width, height);
            }
        }
    }
}

#[test]
fn the_headline_tells_the_state_of_the_match() {
    let mut facts = facts();
    let standing = |facts: &Facts| drawn(&screen(facts, None), 80, 24)[0].clone();
    facts.status = Some(Status::Stalled {
        on: vec![Seat(2)],
        since: Duration::from_millis(750),
    });
    assert!(standing(&facts).contains("waiting for cleo-with-a-long-name for 0.7 s"));
    facts.status = Some(Status::Paused);
    assert!(standing(&facts).contains("paused"));
    facts.take(&Event::Ended(Ended {
        reason: EndReason::Decided,
        turns: 300,
        checksum: None,
        outcome: Some(Outcome {
            winner: Some(Seat(1)),
        }),
        agreed: 4,
        of: 4,
        is_final: true,
        branch_of: None,
    }));
    assert!(standing(&facts).contains("over: bob won"));
    if let Some(ended) = &mut facts.ended {
        ended.outcome = Some(Outcome { winner: None });
    }
    assert!(standing(&facts).contains("over: a draw"));
}

#[test]
fn a_ticket_in_the_lobby_has_its_rows_to_itself() {
    let facts = facts();
    let ticket = "ls1-".to_owned() + &"abcdefg".repeat(20);
    let notice = format!("They join with:\n\ndemo-rts join {ticket}\n");
    let mut screen = screen(&facts, None);
    screen.notice = &notice;
    for width in [70, 110, 200] {
        let rows = drawn(&screen, width, 30);
        let first = rows.iter().position(|row| row.contains("ls1-")).unwrap();
        let last = rows.iter().position(|row| row.contains("players")).unwrap();
        let text: String = rows[first..last].concat();
        let described = text.replace("demo-rts join", "").replace(' ', "");
        assert_eq!(described, ticket, "{width} columns");
    }
}

#[test]
fn every_menu_choice_and_key_is_on_the_screen() {
    let (facts, world) = (facts(), world(4));
    for (width, height) in [(80, 24), (100, 30), (140, 45)] {
        let mut hand = Hand::new(Seat(0), &world);
        let shown = |hand: &Hand, wanted: &str| {
            let mut screen = screen(&facts, Some(&world));
            screen.hand = Some(hand);
            screen.close = true;
            screen.prompt = described(hand, &world);
            screen.keys = &KEYS;
            let all = drawn(&screen, width, height).join("\n");
            for choice in wanted.split("  ") {
                assert!(all.contains(choice.trim()), "{choice} in\n{all}");
            }
            assert!(all.contains("T0T0"), "the map is still there:\n{all}");
            let map = screen.shown(Rect::new(0, 0, width, height));
            let (from, to) = map.expect("it is shown closely");
            assert!(
                to.y - from.y >= height / 2,
                "rows {} to {}\n{all}",
                from.y,
                to.y
            );
        };
        shown(&hand, &KEYS.join("  "));
        for menu in ['b', 'n', 'u'] {
            hand.press(
                KeyEvent::new(KeyCode::Char(menu), KeyModifiers::NONE),
                &world,
            );
            let choices = described(&hand, &world);
            assert!(choices.matches("gold").count() > 3, "{choices}");
            shown(&hand, &choices);
            hand.press(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE), &world);
        }
    }
}

#[test]
fn long_log_lines_are_wrapped() {
    let mut facts = facts();
    facts.note("a town hall of yours is attacked, a barracks is finished and more happens");
    let world = world(2);
    let all = drawn(&screen(&facts, Some(&world)), 80, 24).join("\n");
    for word in ["attacked,", "barracks", "happens"] {
        assert!(all.contains(word), "{word} in\n{all}");
    }
}

#[test]
fn the_end_of_a_replay_is_logged_once() {
    let mut facts = facts();
    let ended = Event::Ended(Ended {
        reason: EndReason::ReplayEnd,
        turns: 300,
        checksum: None,
        outcome: None,
        agreed: 0,
        of: 4,
        is_final: true,
        branch_of: None,
    });
    let ends = |facts: &Facts| {
        let text = EndReason::ReplayEnd.to_string();
        let described = facts.log.iter().filter(|note| note.text.contains(&text));
        described.count()
    };
    facts.take(&ended);
    facts.take(&ended);
    assert_eq!(ends(&facts), 1);
    facts.rewind(1_200);
    assert_eq!(ends(&facts), 1);
    facts.rewind(1_199);
    assert_eq!((ends(&facts), facts.log.len()), (0, 1));
}

#[test]
fn a_building_site_is_green_where_free_and_red_elsewhere() {
    let (facts, world) = (facts(), world(2));
    let mut hand = Hand::new(Seat(0), &world);
    for key in ['w', 'b', 'b'] {
        hand.press(
            KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE),
            &world,
        );
    }
    let painted = |hand: &Hand, colour: Color| {
        let mut screen = screen(&facts, Some(&world));
        screen.hand = Some(hand);
        screen.close = true;
        let mut terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
        terminal
            .draw(|frame| screen.render(frame.area(), frame.buffer_mut()))
            .unwrap();
        let cells = terminal.backend().buffer().content.clone();
        cells.iter().filter(|cell| cell.bg == colour).count()
    };
    // A barracks covers three by three tiles of two cells each.
    let own = painted(&hand, Color::Red);
    assert!(own >= 18, "{own}");
    let seen = world.seen_by(Seat(0)).unwrap();
    let edge = world.map().size();
    let mut tiles = (0..edge).flat_map(|y| (0..edge).map(move |x| Tile::new(x, y)));
    hand.cursor = tiles.find(|tile| seen.has_room(*tile, 3)).unwrap();
    assert_eq!(painted(&hand, Color::Green), 18);
}

#[test]
fn a_watcher_moves_the_close_view() {
    let (facts, world) = (facts(), world(2));
    let mut screen = screen(&facts, Some(&world));
    screen.close = true;
    screen.centre = Some(world.seat(Seat(1)).unwrap().home);
    let all = drawn(&screen, 80, 24).join("\n");
    assert!(all.contains("T1T1") && !all.contains("T0T0"), "{all}");
}
