//! Cards of a new world, and of every kind of building.

use super::*;
use lockstep::Seat;

fn keys_differ(entries: &[Entry]) {
    for (place, entry) in entries.iter().enumerate() {
        let same = entries[..place].iter().find(|other| other.key == entry.key);
        assert_eq!(same, None, "{entry:?}");
    }
    assert!(entries.len() <= 12, "the card has twelve places");
}

#[test]
fn buttons_of_a_card_have_distinct_keys() {
    let world = World::of_two();
    let mut hand = Hand::new(Seat(0));
    let workers = world.units().filter(|unit| unit.seat == Seat(0));
    hand.select(workers.map(|unit| unit.id).collect());
    for page in [Page::Main, Page::Build] {
        let entries = card(&hand, page, &world);
        assert!(entries.len() >= 9);
        keys_differ(&entries);
    }
    let own = world.seat(Seat(0)).expect("it plays");
    let hall = world
        .buildings()
        .find(|b| b.seat == Seat(0))
        .expect("a town hall");
    for kind in Kind::ALL.into_iter().filter(|kind| kind.is_building()) {
        for complete in [true, false] {
            let building = BuildingView {
                kind,
                complete,
                ..hall
            };
            keys_differ(&of_building(&building, &own, &world));
        }
    }
}

#[test]
fn unavailable_entries_say_why() {
    let world = World::of_two();
    let mut hand = Hand::new(Seat(0));
    let worker = world
        .units()
        .find(|unit| unit.seat == Seat(0))
        .expect("a worker");
    hand.select(vec![worker.id]);
    let entries = card(&hand, Page::Build, &world);
    let lacks = |kind: Kind| {
        let entry = entries
            .iter()
            .find(|entry| entry.action == Action::Place(kind));
        entry.and_then(|entry| entry.lacks.clone())
    };
    assert_eq!(lacks(Kind::House), None);
    let stable = lacks(Kind::Stable).expect("it needs barracks");
    assert!(stable.contains("barracks"), "{stable}");
    let hall = lacks(Kind::TownHall).expect("too expensive at the start");
    assert!(hall.contains("of 300"), "{hall}");
    let hall = world
        .buildings()
        .find(|b| b.seat == Seat(0))
        .expect("a town hall");
    hand.select(vec![hall.id]);
    let entries = card(&hand, Page::Main, &world);
    let train = entries
        .iter()
        .find(|entry| matches!(entry.action, Action::Train(..)));
    let train = train.expect("a town hall trains workers");
    assert_eq!((train.price, train.lacks.clone()), ((50, 0), None));
    let tip = train.tip();
    assert!(tip.iter().any(|(line, _)| line == "50 gold"), "{tip:?}");
}

#[test]
fn a_button_issues_a_command() {
    let world = World::of_two();
    let mut hand = Hand::new(Seat(0));
    let hall = world
        .buildings()
        .find(|b| b.seat == Seat(0))
        .expect("a town hall");
    hand.select(vec![hall.id]);
    let mut page = Page::Main;
    let (building, kind) = (hall.id, Kind::Worker);
    let request = act(
        Action::Train(building, kind),
        &mut hand,
        &mut page,
        &world,
        false,
    );
    let Some(Request::Issue(answered)) = request else {
        panic!("{request:?}");
    };
    assert_eq!(answered.command, Command::Train { building, kind });
    act(Action::Aim(Aim::Rally), &mut hand, &mut page, &world, false);
    assert_eq!(hand.mode, Mode::Aim(Aim::Rally));
}
