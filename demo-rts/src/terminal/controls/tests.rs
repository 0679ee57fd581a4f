use super::*;
use crate::world::{Setup, Task};
use sim::{Seed, Simulation, Start};

fn world() -> World {
    world_with(Setup::default())
}

fn world_with(setup: Setup) -> World {
    World::new(&Start {
        setup,
        seed: Seed([1; 32]),
        seats: vec![Seat(0), Seat(1)],
    })
}

fn press(hand: &mut Hand, world: &World, code: KeyCode) -> Act {
    hand.press(KeyEvent::new(code, KeyModifiers::NONE), world)
}

/// Opens a menu and chooses from it.
fn choose(hand: &mut Hand, world: &World, menu: char, key: char) -> Act {
    assert_eq!(press(hand, world, KeyCode::Char(menu)), Act::Moved);
    press(hand, world, KeyCode::Char(key))
}

#[test]
fn selecting_workers_and_ordering_them_issues_commands() {
    let world = world();
    let mut hand = Hand::new(Seat(1), &world);
    assert!(matches!(
        press(&mut hand, &world, KeyCode::Char('m')),
        Act::Say(_)
    ));
    assert_eq!(press(&mut hand, &world, KeyCode::Char('w')), Act::Moved);
    assert_eq!(hand.selection.len(), 5);
    let units = world.select(Seat(1), hand.selection.clone());
    let to = hand.cursor;
    assert_eq!(
        press(&mut hand, &world, KeyCode::Char('m')),
        Act::Issue(Command::Move {
            units: units.clone(),
            to
        })
    );
    assert!(hand.describe(&world).starts_with("5 workers  |"));
}

/// Points where a building of this size may stand, as far as the seat knows.
fn point_at_room(hand: &mut Hand, world: &World, size: u16) {
    let seen = world.seen_by(hand.seat()).unwrap();
    let edge = world.map().size();
    let mut tiles = (0..edge).flat_map(|y| (0..edge).map(move |x| Tile::new(x, y)));
    hand.cursor = tiles.find(|tile| seen.has_room(*tile, size)).unwrap();
}

#[test]
fn a_building_is_shown_before_it_is_ordered() {
    let world = world();
    let mut hand = Hand::new(Seat(1), &world);
    press(&mut hand, &world, KeyCode::Char('t'));
    let nobody = choose(&mut hand, &world, 'b', 'h');
    assert!(matches!(nobody, Act::Say(_)) && !hand.is_choosing());
    press(&mut hand, &world, KeyCode::Char('w'));
    assert!(hand.footprint(&world).is_empty());
    assert_eq!(choose(&mut hand, &world, 'b', 'h'), Act::Moved);
    // On the town hall: shown as taken, and refused with the reason.
    assert!(hand.footprint(&world).iter().any(|(_, open)| !open));
    assert!(hand.describe(&world).contains("no room"));
    let refused = press(&mut hand, &world, KeyCode::Enter);
    assert!(matches!(refused, Act::Say(why) if why.contains("no room")));
    // The arrows move it on.
    let before = hand.cursor;
    press(&mut hand, &world, KeyCode::Left);
    assert_eq!(hand.cursor.x + 1, before.x);
    point_at_room(&mut hand, &world, Kind::House.stats().size);
    let shown = hand.footprint(&world);
    assert_eq!(shown.len(), usize::from(Kind::House.stats().size).pow(2));
    assert!(shown.iter().all(|(_, open)| *open));
    assert!(hand.describe(&world).contains("enter = build"));
    let units = world.select(Seat(1), hand.selection.clone());
    let at = hand.cursor;
    let built = press(&mut hand, &world, KeyCode::Enter);
    let kind = Kind::House;
    assert_eq!(built, Act::Issue(Command::Build { units, kind, at }));
    assert!(!hand.is_choosing());
    // Escape gives it up; what needs another building or costs too much is said before.
    choose(&mut hand, &world, 'b', 's');
    assert!(
        hand.describe(&world)
            .contains("needs a finished barracks first")
    );
    press(&mut hand, &world, KeyCode::Esc);
    assert!(!hand.is_choosing() && hand.footprint(&world).is_empty());
    assert!(!hand.selection.is_empty());
    choose(&mut hand, &world, 'b', 't');
    point_at_room(&mut hand, &world, Kind::TownHall.stats().size);
    assert!(
        hand.describe(&world)
            .contains("not enough wood, 200 of 300")
    );
}

#[test]
fn a_wrong_key_does_not_cost_the_selection() {
    let mut world = world();
    let mut hand = Hand::new(Seat(0), &world);
    press(&mut hand, &world, KeyCode::Char('w'));
    let units = world.select(Seat(0), hand.selection.clone());
    let hold = Command::Gather {
        units,
        from: gold(&world),
    };
    let seat = Seat(0);
    world.step(
        &[sim::Entry::Command {
            seat,
            command: hold,
        }],
        &mut Vec::new(),
    );
    let none = press(&mut hand, &world, KeyCode::Char('w'));
    assert_eq!(none, Act::Say("no idle worker".into()));
    assert_eq!(hand.selection.len(), 5);
    assert!(matches!(
        press(&mut hand, &world, KeyCode::Char('e')),
        Act::Say(_)
    ));
    hand.cursor = Tile::new(0, 0);
    assert!(matches!(
        press(&mut hand, &world, KeyCode::Char(' ')),
        Act::Say(_)
    ));
    assert_eq!(hand.selection.len(), 5);
}

/// A mine that the first seat knows.
fn gold(world: &World) -> Tile {
    let edge = world.map().size();
    let mut tiles = (0..edge).flat_map(|y| (0..edge).map(move |x| Tile::new(x, y)));
    let known = |tile: &Tile| {
        world.explored(Seat(0), *tile) && world.map().terrain(*tile) == crate::world::Terrain::Gold
    };
    tiles.find(known).unwrap()
}

#[test]
fn the_town_hall_trains_and_the_missing_barracks_do_not() {
    let world = world();
    let mut hand = Hand::new(Seat(0), &world);
    let trained = choose(&mut hand, &world, 'n', 'w');
    assert!(matches!(
        trained,
        Act::Issue(Command::Train {
            kind: Kind::Worker,
            ..
        })
    ));
    assert!(matches!(choose(&mut hand, &world, 'n', 's'), Act::Say(_)));
    assert_eq!(press(&mut hand, &world, KeyCode::Char(' ')), Act::Moved);
    assert!(matches!(
        press(&mut hand, &world, KeyCode::Char('r')),
        Act::Issue(Command::Rally { .. })
    ));
}

#[test]
fn a_box_selects_only_what_is_ones_own_and_the_cursor_stays_on_the_map() {
    let world = world();
    let mut hand = Hand::new(Seat(0), &world);
    let last = world.map().size() - 1;
    hand.cursor = Tile::new(0, 0);
    press(&mut hand, &world, KeyCode::Left);
    assert_eq!(hand.cursor, Tile::new(0, 0));
    press(&mut hand, &world, KeyCode::Char('v'));
    hand.cursor = Tile::new(last, last);
    press(&mut hand, &world, KeyCode::Down);
    assert_eq!(hand.cursor, Tile::new(last, last));
    press(&mut hand, &world, KeyCode::Char('v'));
    assert_eq!(hand.selection.len(), 5);
    press(&mut hand, &world, KeyCode::Esc);
    assert!(hand.selection.is_empty());
}

#[test]
fn everything_can_be_chosen_and_any_other_key_closes_the_menu() {
    let lists = [&menu::BUILD[..], &menu::TRAIN, &menu::RESEARCH];
    for list in lists {
        for (place, (key, _)) in list.iter().enumerate() {
            assert!(list[..place].iter().all(|(other, _)| other != key));
            // These work at any time.
            assert!(!"cpqz".contains(*key));
        }
    }
    let offered = |choice| lists.concat().iter().any(|(_, other)| *other == choice);
    assert!(
        Kind::ALL
            .into_iter()
            .all(|kind| offered(Choice::Kind(kind)))
    );
    let mut upgrades = Upgrade::ALL.into_iter();
    assert!(upgrades.all(|upgrade| offered(Choice::Upgrade(upgrade))));
    let world = world();
    let mut hand = Hand::new(Seat(0), &world);
    press(&mut hand, &world, KeyCode::Char('b'));
    assert!(hand.describe(&world).contains("h house (80 wood)") && hand.is_choosing());
    assert_eq!(press(&mut hand, &world, KeyCode::Char('9')), Act::Moved);
    assert!(hand.describe(&world).starts_with("nothing selected"));
    press(&mut hand, &world, KeyCode::Char('u'));
    assert!(
        hand.describe(&world)
            .contains("t tools 1 (60 gold 80 wood)")
    );
    let researched = press(&mut hand, &world, KeyCode::Char('t'));
    let upgrade = Upgrade::Tools;
    assert!(matches!(
        researched,
        Act::Issue(Command::Research { upgrade: found, .. }) if found == upgrade
    ));
}

#[test]
fn capital_letters_queue_and_small_ones_do_not() {
    let world = world();
    let mut hand = Hand::new(Seat(0), &world);
    press(&mut hand, &world, KeyCode::Char('w'));
    let to = hand.cursor;
    let now = press(&mut hand, &world, KeyCode::Char('y'));
    assert!(matches!(now, Act::Issue(Command::Patrol { .. })));
    let later = press(&mut hand, &world, KeyCode::Char('Y'));
    assert!(matches!(
        later,
        Act::Issue(Command::Queue { task: Task::Patrol { to: found }, .. }) if found == to
    ));
    point_at_room(&mut hand, &world, Kind::House.stats().size);
    assert_eq!(choose(&mut hand, &world, 'b', 'H'), Act::Moved);
    let house = press(&mut hand, &world, KeyCode::Enter);
    assert!(matches!(
        house,
        Act::Issue(Command::Queue {
            task: Task::Build {
                kind: Kind::House,
                ..
            },
            ..
        })
    ));
}

#[test]
fn a_selected_building_is_left_cancelled_and_torn_down() {
    let world = world();
    let mut hand = Hand::new(Seat(0), &world);
    let say = press(&mut hand, &world, KeyCode::Delete);
    assert!(matches!(say, Act::Say(_)));
    press(&mut hand, &world, KeyCode::Char('t'));
    let building = hand.selection[0];
    let mut means = |code| press(&mut hand, &world, code);
    let place = 2;
    assert_eq!(
        means(KeyCode::Char('3')),
        Act::Issue(Command::CancelTrain { building, place })
    );
    assert_eq!(
        means(KeyCode::Char('l')),
        Act::Issue(Command::Leave { building })
    );
    // Tearing down is asked about; any other key is a no, and means nothing else.
    assert_eq!(means(KeyCode::Delete), Act::Moved);
    assert_eq!(means(KeyCode::Char('l')), Act::Moved);
    assert_eq!(means(KeyCode::Delete), Act::Moved);
    let torn = Act::Issue(Command::Demolish { building });
    assert_eq!(means(KeyCode::Delete), torn);
    means(KeyCode::Delete);
    assert_eq!(means(KeyCode::Char('y')), torn);
    assert_eq!(means(KeyCode::Delete), Act::Moved);
    means(KeyCode::Esc);
    means(KeyCode::Char('w'));
    assert!(matches!(
        means(KeyCode::Char('i')),
        Act::Issue(Command::Garrison { building: found, .. }) if found == building
    ));
}

#[test]
fn a_queue_without_room_to_live_says_so() {
    let mut world = world_with(Setup {
        gold: 1_000,
        ..Setup::default()
    });
    let mut hand = Hand::new(Seat(0), &world);
    let train = |world: &mut World, hand: &mut Hand| {
        let Act::Issue(command) = choose(hand, world, 'n', 'w') else {
            panic!("the town hall trains workers");
        };
        let seat = Seat(0);
        world.step(&[sim::Entry::Command { seat, command }], &mut Vec::new());
    };
    press(&mut hand, &world, KeyCode::Char('t'));
    train(&mut world, &mut hand);
    assert!(hand.describe(&world).contains("1 town hall, "));
    assert!(hand.describe(&world).contains("1: worker 0 %"));
    for _ in 0..4 {
        train(&mut world, &mut hand);
    }
    for _ in 0..120 * crate::world::TICKS_PER_SECOND {
        world.step(&[], &mut Vec::new());
    }
    assert!(
        world
            .seat(Seat(0))
            .is_some_and(|seat| seat.population == 10)
    );
    train(&mut world, &mut hand);
    let said = hand.describe(&world);
    assert!(said.contains("1: worker waits for a house"), "{said}");
}

#[test]
fn more_than_a_command_takes_are_not_selected_in_silence() {
    let world = world_with(Setup {
        scenario: crate::world::Scenario::Archers {
            units_per_seat: 600,
        },
        ..Setup::default()
    });
    let mut hand = Hand::new(Seat(0), &world);
    let said = press(&mut hand, &world, KeyCode::Char('e'));
    assert_eq!(hand.selection.len(), Selection::MOST);
    let most = Selection::MOST;
    assert!(matches!(said, Act::Say(text) if text.starts_with(&format!("{most} of 600 selected"))));
}
