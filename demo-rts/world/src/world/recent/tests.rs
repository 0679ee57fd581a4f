use crate::world::{
    Command, Effect, Id, Kind, Refusal, Scenario, Selection, Setup, Tile, World, combat,
    tables::{NUMBER_REST, SELECTIONS_KEPT, SELECTIONS_NAMED},
};
use sim::{Entry, Seat, Seed, Simulation, Start, State};

const A: Seat = Seat(3);
const B: Seat = Seat(5);

/// Two armies of 40, far from each other.
fn world() -> World {
    World::new(&Start {
        setup: Setup {
            scenario: Scenario::Skirmish { units_per_seat: 40 },
            ..Setup::default()
        },
        seed: Seed([1; 32]),
        seats: vec![A, B],
    })
}

fn army(w: &World, seat: Seat) -> Vec<Id> {
    let own = w.units().filter(|unit| unit.seat == seat);
    own.map(|unit| unit.id).collect()
}

fn refusal(w: &mut World, seat: Seat, units: Selection) -> Option<Refusal> {
    let command = Command::Hold { units };
    let mut effects = Vec::new();
    w.step(&[Entry::Command { seat, command }], &mut effects);
    effects.iter().find_map(|effect| match effect {
        Effect::Refused { reason, .. } => Some(*reason),
        _ => None,
    })
}

fn kill(w: &mut World, id: Id) {
    let row = w.units.row(id).expect("it lives");
    combat::die(w, row, &mut Vec::new());
}

fn reloaded(w: &World) -> World {
    let mut bytes = Vec::new();
    w.save(&mut bytes);
    World::load(&bytes).expect("our own snapshot loads")
}

#[test]
fn numbers_are_dense_and_rest_after_a_burial() {
    let mut w = world();
    for seat in [A, B] {
        let numbers = w.units().filter(|unit| unit.seat == seat);
        assert!(numbers.map(|unit| unit.number).eq(0..40));
    }
    let units = army(&w, A);
    kill(&mut w, units[7]);
    kill(&mut w, units[3]);
    let buried = w.tick();
    let born = |w: &mut World| {
        let id = w.spawn_unit(Kind::Worker, 0, Tile::new(20, 20).centre());
        w.unit(id).expect("just born").number
    };
    assert_eq!(born(&mut w), 40);
    while w.tick() < buried + NUMBER_REST {
        assert_eq!(w.roll.id(0, 3), None);
        w.step(&[], &mut Vec::new());
    }
    let mut other = reloaded(&w);
    assert_eq!(born(&mut other.clone()), 41, "both rest");
    for w in [&mut w, &mut other] {
        w.step(&[], &mut Vec::new());
        assert_eq!([born(w), born(w), born(w)], [3, 7, 41]);
    }
}

#[test]
fn a_repeated_selection_is_a_reference_to_the_same_units() {
    let mut w = world();
    let units = army(&w, A);
    let group = &units[4..24];
    let first = w.select(A, group.iter().copied());
    assert_eq!(first.numbers().map(<[u16]>::len), Ok(20));
    assert_eq!(refusal(&mut w, A, first), None);
    let again = w.select(A, group.iter().rev().copied());
    assert_eq!(again, Selection::recent(1));
    assert!(w.select(B, group.iter().copied()).is_empty(), "not theirs");
    assert_eq!(refusal(&mut w, B, again.clone()), Some(Refusal::Forgotten));
    assert_eq!(refusal(&mut w, A, again.clone()), None);
    let rows = w.selected(0, &again).expect("it is remembered");
    assert!(
        rows.iter()
            .map(|row| w.units.id[*row])
            .eq(group.iter().map(|id| id.0))
    );
    // Spelled out once more, as by a command that was on its way, it is not remembered twice.
    let spelled = Selection::new(4..24);
    assert_eq!(refusal(&mut w, A, spelled), None);
    assert_eq!(w.select(A, group.iter().copied()), again);
    // A few are not worth it.
    assert_eq!(refusal(&mut w, A, Selection::new([1, 2])), None);
    assert_eq!(
        w.select(A, units[1..3].iter().copied()),
        Selection::new([1, 2])
    );
}

#[test]
fn the_dead_leave_a_remembered_selection() {
    let mut w = world();
    let units = army(&w, A);
    let group = w.select(A, units[..10].iter().copied());
    assert_eq!(refusal(&mut w, A, group), None);
    let reference = w.select(A, units[..10].iter().copied());
    let left = || units[..10].iter().copied().filter(|id| *id != units[5]);
    kill(&mut w, units[5]);
    assert_eq!(w.select(A, left()), reference);
    // The number goes to a new unit, which is not in the group.
    for _ in 0..=NUMBER_REST {
        w.step(&[], &mut Vec::new());
    }
    let newcomer = w.spawn_unit(Kind::Worker, 0, Tile::new(20, 20).centre());
    assert_eq!(w.unit(newcomer).map(|unit| unit.number), Some(5));
    let rows = w.selected(0, &reference).expect("it is remembered");
    assert!(
        rows.iter()
            .map(|row| w.units.id[*row])
            .eq(left().map(|id| id.0))
    );
    for id in units[..10].iter().filter(|id| **id != units[5]) {
        kill(&mut w, *id);
    }
    assert_eq!(refusal(&mut w, A, reference), Some(Refusal::NoUnit));
}

#[test]
fn a_reference_outlives_commands_on_their_way_then_is_refused() {
    let mut w = world();
    let units = army(&w, A);
    let three = |n: usize| units[n..n + 3].iter().copied();
    for n in 0..SELECTIONS_NAMED {
        let explicit = w.select(A, three(n));
        assert!(explicit.numbers().is_ok());
        assert_eq!(refusal(&mut w, A, explicit), None);
    }
    let oldest = w.select(A, three(0));
    assert!(oldest.numbers().is_err(), "eight are newer");
    for n in SELECTIONS_NAMED..SELECTIONS_KEPT {
        let explicit = w.select(A, three(n));
        assert_eq!(refusal(&mut w, A, explicit), None);
        assert!(
            w.select(A, three(0)).numbers().is_ok(),
            "too old for a new command"
        );
        assert_eq!(refusal(&mut w, A, oldest.clone()), None, "{n}");
    }
    let explicit = w.select(A, three(30));
    assert_eq!(refusal(&mut w, A, explicit), None);
    assert_eq!(refusal(&mut w, A, oldest.clone()), Some(Refusal::Forgotten));
    let mut other = reloaded(&w);
    assert_eq!(w.select(A, three(30)), other.select(A, three(30)));
    for w in [&mut w, &mut other] {
        for forgotten in [oldest.clone(), Selection::recent(255)] {
            assert_eq!(refusal(w, A, forgotten), Some(Refusal::Forgotten));
        }
    }
    assert_eq!(w.checksum(), other.checksum(), "after the same commands");
}

#[test]
fn a_snapshot_with_wrong_numbers_does_not_load() {
    let mut good = world();
    let group = Selection::new(0..12);
    assert_eq!(refusal(&mut good, A, group), None);
    let victim = army(&good, A)[9];
    kill(&mut good, victim);
    let damages: [fn(&mut World); 5] = [
        |w| w.units.number[1] = 0,
        |w| w.units.number[1] = 9,
        |w| w.roll.graves.until[0] += NUMBER_REST,
        |w| w.roll.graves.seat[0] = 2,
        // A number that no unit has any more.
        |w| w.units.number[2] = 77,
    ];
    reloaded(&good);
    for (number, damage) in damages.into_iter().enumerate() {
        let mut bad = good.clone();
        damage(&mut bad);
        let mut bytes = Vec::new();
        bad.save(&mut bytes);
        assert!(World::load(&bytes).is_err(), "damage {number}");
    }
}
