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

fn described(hand: &Hand, world: &World) -> String {
    hand.describe(world, |seat| format!("player {}", seat.0))
}

fn choose(hand: &mut Hand, world: &World, menu: char, key: char) -> Act {
    assert_eq!(press(hand, world, KeyCode::Char(menu)), Act::Moved);
    press(hand, world, KeyCode::Char(key))
}

#[test]
fn keys_order_selected_workers() {
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
    assert!(described(&hand, &world).starts_with("5 workers  |"));
}

/// Moves the cursor to where a building of this size may stand, as far as the seat knows.
fn point_at_room(hand: &mut Hand, world: &World, size: u16) {
    let seen = world.seen_by(hand.seat()).unwrap();
    hand.cursor = tiles(world)
        .find(|tile| seen.has_room(*tile, size))
        .unwrap();
}

#[test]
fn a_building_site_is_previewed_before_the_order() {
    let world = world();
    let mut hand = Hand::new(Seat(1), &world);
    press(&mut hand, &world, KeyCode::Char('t'));
    let none = choose(&mut hand, &world, 'b', 'h');
    assert!(matches!(none, Act::Say(_)) && !hand.is_choosing());
    press(&mut hand, &world, KeyCode::Char('w'));
    assert!(hand.footprint(&world).is_empty());
    assert_eq!(choose(&mut hand, &world, 'b', 'h'), Act::Moved);
    // The town hall is in the way: the site is red, and the order is refused.
    assert!(hand.footprint(&world).iter().any(|(_, open)| !open));
    assert!(described(&hand, &world).contains("no room"));
    let refused = press(&mut hand, &world, KeyCode::Enter);
    assert!(matches!(refused, Act::Say(why) if why.contains("no room")));
    // The arrows move the site.
    let before = hand.cursor;
    press(&mut hand, &world, KeyCode::Left);
    assert_eq!(hand.cursor.x + 1, before.x);
    point_at_room(&mut hand, &world, Kind::House.stats().size);
    let shown = hand.footprint(&world);
    assert_eq!(shown.len(), usize::from(Kind::House.stats().size).pow(2));
    assert!(shown.iter().all(|(_, open)| *open));
    assert!(described(&hand, &world).contains("enter = build"));
    let units = world.select(Seat(1), hand.selection.clone());
    let at = hand.cursor;
    let built = press(&mut hand, &world, KeyCode::Enter);
    let kind = Kind::House;
    assert_eq!(built, Act::Issue(Command::Build { units, kind, at }));
    assert!(!hand.is_choosing());
    // Escape cancels. Missing requirements and costs are shown before the order.
    choose(&mut hand, &world, 'b', 's');
    assert!(described(&hand, &world).contains("needs a finished barracks first"));
    press(&mut hand, &world, KeyCode::Esc);
    assert!(!hand.is_choosing() && hand.footprint(&world).is_empty());
    assert!(!hand.selection.is_empty());
    choose(&mut hand, &world, 'b', 't');
    point_at_room(&mut hand, &world, Kind::TownHall.stats().size);
    assert!(described(&hand, &world).contains("not enough wood, 200 of 300"));
}

#[test]
fn a_key_without_effect_keeps_the_selection() {
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

/// A mine that the first seat has seen.
fn gold(world: &World) -> Tile {
    let known = |tile: &Tile| {
        world.explored(Seat(0), *tile) && world.map().terrain(*tile) == crate::world::Terrain::Gold
    };
    tiles(world).find(known).unwrap()
}

#[test]
fn only_existing_buildings_train() {
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
fn a_box_selects_own_units_and_the_cursor_stays_on_the_map() {
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
fn menus_offer_every_choice_and_other_keys_close_them() {
    let lists = [&menu::BUILD[..], &menu::TRAIN, &menu::RESEARCH];
    for list in lists {
        for (place, (key, _)) in list.iter().enumerate() {
            assert!(list[..place].iter().all(|(other, _)| other != key));
            // These keys work in any mode.
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
    assert!(described(&hand, &world).contains("h house (80 wood)") && hand.is_choosing());
    assert_eq!(press(&mut hand, &world, KeyCode::Char('9')), Act::Moved);
    assert!(described(&hand, &world).starts_with("nothing selected"));
    press(&mut hand, &world, KeyCode::Char('u'));
    assert!(described(&hand, &world).contains("t tools 1 (60 gold 80 wood)"));
    let researched = press(&mut hand, &world, KeyCode::Char('t'));
    let upgrade = Upgrade::Tools;
    assert!(matches!(
        researched,
        Act::Issue(Command::Research { upgrade: found, .. }) if found == upgrade
    ));
}

#[test]
fn capital_letters_queue_orders() {
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
fn keys_unload_cancel_and_demolish_a_building() {
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
    // Demolishing asks for confirmation. Any other key means no, and nothing else.
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
fn a_queue_without_housing_says_so() {
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
    assert!(described(&hand, &world).contains("1 town hall, "));
    assert!(described(&hand, &world).contains("1: worker 0 %"));
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
    let description = described(&hand, &world);
    assert!(
        description.contains("1: worker needs a house"),
        "{description}"
    );
}

#[test]
fn a_selection_above_the_limit_says_so() {
    let world = world_with(Setup {
        scenario: crate::world::Scenario::Archers {
            units_per_seat: 600,
        },
        ..Setup::default()
    });
    let mut hand = Hand::new(Seat(0), &world);
    let description = press(&mut hand, &world, KeyCode::Char('e'));
    assert_eq!(hand.selection.len(), Selection::MOST);
    let most = Selection::MOST;
    assert!(
        matches!(description, Act::Say(text) if text.starts_with(&format!("{most} of 600 selected")))
    );
}

fn tiles(world: &World) -> impl Iterator<Item = Tile> + use<> {
    let edge = world.map().size();
    (0..edge).flat_map(move |y| (0..edge).map(move |x| Tile::new(x, y)))
}

/// Armies on a map without buildings.
fn stage() -> World {
    world_with(Setup {
        scenario: crate::world::Scenario::Archers {
            units_per_seat: 100,
        },
        ..Setup::default()
    })
}

#[test]
fn without_a_town_hall_home_is_the_first_unit() {
    let world = stage();
    for seat in [Seat(0), Seat(1)] {
        let mut hand = Hand::new(seat, &world);
        let own = |at: Tile| world.units().any(|u| u.seat == seat && u.tile == at);
        assert!(own(hand.cursor), "{:?}", hand.cursor);
        press(&mut hand, &world, KeyCode::Char('e'));
        let army = hand.selection.clone();
        hand.cursor = Tile::new(0, 0);
        assert!(!own(hand.cursor));
        assert_eq!(press(&mut hand, &world, KeyCode::Char('t')), Act::Moved);
        assert!(own(hand.cursor), "{:?}", hand.cursor);
        assert_eq!(hand.selection, army);
    }
    let stranger = Hand::new(Seat(5), &world);
    let half = world.map().size() / 2;
    assert_eq!(stranger.cursor, Tile::new(half, half));
}

#[test]
fn selecting_soldiers_off_the_screen_moves_the_cursor() {
    let world = stage();
    let mut hand = Hand::new(Seat(0), &world);
    let there = hand.cursor;
    let near = |tile: Tile| world.units().any(|u| u.seat == Seat(0) && u.tile == tile);
    // With the whole map or the army on the screen, the cursor stays.
    let corner = Tile::new(0, 0);
    let last = Tile::new(world.map().size() - 1, world.map().size() - 1);
    for shown in [None, Some((corner, last)), Some((there, there))] {
        hand.cursor = corner;
        hand.shown = shown;
        assert_eq!(press(&mut hand, &world, KeyCode::Char('e')), Act::Moved);
        assert_eq!(hand.cursor, corner);
    }
    hand.shown = Some((corner, Tile::new(3, 3)));
    assert_eq!(press(&mut hand, &world, KeyCode::Char('e')), Act::Moved);
    assert!(near(hand.cursor), "{:?}", hand.cursor);
    let steps = |tile: Tile| tile.king_steps(corner);
    let own = world.units().filter(|unit| unit.seat == Seat(0));
    assert_eq!(own.map(|u| steps(u.tile)).min(), Some(steps(hand.cursor)));
}

#[test]
fn only_what_the_seat_sees_is_named_under_the_cursor() {
    let mut counts = [0; 5];
    for fog in [false, true] {
        let world = world_with(Setup {
            scenario: crate::world::Scenario::Skirmish { units_per_seat: 20 },
            size: Some(48),
            fog,
            ..Setup::default()
        });
        let mut hand = Hand::new(Seat(0), &world);
        for tile in tiles(&world) {
            hand.cursor = tile;
            let description = described(&hand, &world);
            let standing = world.units().find(|unit| unit.tile == tile);
            let number =
                match standing.map(|unit| (unit.seat, unit.kind.stats().name, unit.hit_points)) {
                    Some((Seat(0), name, hp)) => {
                        let wanted = format!("your {name}, {hp} of {hp} hp");
                        assert!(description.contains(&wanted), "{description}");
                        0
                    }
                    Some((seat, name, hp)) if world.sees(Seat(0), tile) => {
                        let wanted = format!("{name} of player {}, {hp} of {hp} hp", seat.0);
                        assert!(description.contains(&wanted), "{description}");
                        1
                    }
                    standing => {
                        assert!(!description.contains("hp"), "{description}");
                        let hidden = !world.explored(Seat(0), tile);
                        assert_eq!(description.ends_with("unexplored"), hidden, "{description}");
                        2 + usize::from(hidden) + usize::from(hidden && standing.is_some())
                    }
                };
            counts[number] += 1;
        }
    }
    assert!(counts.iter().all(|count| *count > 9), "{counts:?}");
}

#[test]
fn a_building_out_of_sight_is_shown_as_last_seen() {
    let mut world = world_with(Setup {
        size: Some(48),
        ..Setup::default()
    });
    let mut hand = Hand::new(Seat(0), &world);
    assert!(described(&hand, &world).ends_with("your town hall, 1200 of 1200 hp"));
    press(&mut hand, &world, KeyCode::Char('w'));
    let scout = world.select(Seat(0), [hand.selection.remove(0)]);
    hand.cursor = world.seat(Seat(1)).unwrap().home;
    let to = hand.cursor;
    assert!(described(&hand, &world).ends_with("unexplored"));
    let order = |hand: &mut Hand, world: &World| match press(hand, world, KeyCode::Char('f')) {
        Act::Issue(command) => command,
        act => panic!("{act:?}"),
    };
    assert!(matches!(order(&mut hand, &world), Command::Move { .. }));
    let mut entries = vec![sim::Entry::Command {
        seat: Seat(0),
        command: Command::Move {
            units: scout.clone(),
            to,
        },
    }];
    let home = world.seat(Seat(0)).unwrap().home;
    let mut told_of = Vec::new();
    let mut meant = Vec::new();
    for _ in 0..2_000 {
        world.step(&entries, &mut Vec::new());
        entries.clear();
        let description = described(&hand, &world);
        if !description.ends_with("unexplored") && told_of.last() != Some(&description) {
            told_of.push(description);
            meant.push(order(&mut hand, &world));
            entries.push(sim::Entry::Command {
                seat: Seat(0),
                command: Command::Move {
                    units: scout.clone(),
                    to: home,
                },
            });
        }
    }
    let wanted = "town hall of player 1, 1200 of 1200 hp";
    assert_eq!(told_of.len(), 2, "{told_of:?}");
    assert!(told_of[0].ends_with(wanted), "{told_of:?}");
    assert!(told_of[1].ends_with(&format!("{wanted}, last seen like this")));
    assert!(matches!(meant[0], Command::Attack { .. }), "{meant:?}");
    assert!(matches!(meant[1], Command::AttackMove { to: on, .. } if on == to));
}

#[test]
fn sheltered_units_are_not_selected() {
    let (world, hall) = crate::fixture::sheltered();
    let mut hand = Hand::new(Seat(0), &world);
    let inside: Vec<_> = world.units().filter(|u| u.seat == Seat(0)).collect();
    let under = inside[0].tile;
    assert!(inside.iter().all(|unit| unit.tile == under));
    hand.cursor = under;
    assert_eq!(press(&mut hand, &world, KeyCode::Char(' ')), Act::Moved);
    assert_eq!(hand.selection, [hall], "the building around them");
    // A box and the key of soldiers find nothing, and keep the selection.
    press(&mut hand, &world, KeyCode::Char('v'));
    for key in ['v', 'e'] {
        let act = press(&mut hand, &world, KeyCode::Char(key));
        assert!(matches!(act, Act::Say(_)), "{key}: {act:?}");
        assert_eq!(hand.selection, [hall]);
    }
    // Units that go in leave the selection.
    hand.selection = inside.iter().map(|unit| unit.id).collect();
    hand.deselect_removed(&world);
    assert_eq!(hand.selection, []);
    hand.selection = vec![hall];
    hand.deselect_removed(&world);
    assert_eq!(hand.selection, [hall]);
}
