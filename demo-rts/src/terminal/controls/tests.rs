use super::*;
use crate::world::Setup;
use sim::{Seed, Simulation, Start};

fn world() -> World {
    World::new(&Start {
        setup: Setup::default(),
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
    assert_eq!(
        choose(&mut hand, &world, 'b', 'h'),
        Act::Issue(Command::Build {
            units,
            kind: Kind::House,
            at: to
        })
    );
    assert!(hand.describe(&world).starts_with("5 worker"));
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
fn every_kind_can_be_chosen_and_any_other_key_closes_the_menu() {
    for list in [&menu::BUILD[..], &menu::TRAIN] {
        for (place, (key, _)) in list.iter().enumerate() {
            assert!(list[..place].iter().all(|(other, _)| other != key));
            // These work at any time.
            assert!(!"cpqz".contains(*key));
        }
    }
    for kind in Kind::ALL {
        let list = if kind.is_building() {
            &menu::BUILD[..]
        } else {
            &menu::TRAIN
        };
        assert!(list.iter().any(|(_, other)| *other == kind), "{kind:?}");
    }
    let world = world();
    let mut hand = Hand::new(Seat(0), &world);
    press(&mut hand, &world, KeyCode::Char('b'));
    assert!(hand.describe(&world).contains("h house (80 wood)"));
    assert_eq!(press(&mut hand, &world, KeyCode::Char('9')), Act::Moved);
    assert!(hand.describe(&world).starts_with("nothing selected"));
}
