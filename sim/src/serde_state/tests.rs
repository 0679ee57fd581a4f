use crate::{Arena, Field, LoadError, State, Vec2, Visit};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Order {
    Idle,
    Move(Vec2),
    Build { site: u32, left: (u8, i16) },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Unit {
    order: Order,
    path: Vec<u16>,
    target: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct World {
    tick: u64,
    units: Arena<Unit>,
    gold: BTreeMap<u8, i32>,
    names: BTreeMap<String, [u8; 2]>,
}

state_by_serde!(World);

fn world() -> World {
    let mut units = Arena::new();
    units.insert(Unit {
        order: Order::Build {
            site: 9,
            left: (1, -2),
        },
        path: vec![4, 5],
        target: None,
    });
    let gone = units.insert(Unit {
        order: Order::Idle,
        path: vec![],
        target: Some(0),
    });
    units.insert(Unit {
        order: Order::Move(Vec2::from_ints(1, -1)),
        path: vec![],
        target: Some(7),
    });
    units.remove(gone);
    World {
        tick: 12,
        units,
        gold: [(3, 50), (5, -1)].into(),
        names: [("a".to_owned(), [1, 2])].into(),
    }
}

fn saved(world: &impl State) -> Vec<u8> {
    let mut bytes = Vec::new();
    world.save(&mut bytes);
    bytes
}

#[derive(Default)]
struct Printer(String);

impl Visit for Printer {
    fn section(&mut self, name: &str, rows: usize) -> bool {
        self.0 += &format!("[{name} {rows}]\n");
        true
    }

    fn row(&mut self, id: u64) -> bool {
        self.0 += &format!("#{id}\n");
        true
    }

    fn field(&mut self, name: &str, value: &dyn Field) {
        self.0 += &format!("{name} = {}\n", value.text());
    }
}

#[test]
fn a_world_describes_itself() {
    let mut printer = Printer::default();
    world().visit(&mut printer);
    let expected = "\
[tick 1]
#0
value = 12
[units 3]
#0
generation = 1
item.order.variant = Build
item.order.Build.site = 9
item.order.Build.left.len = 2
item.order.Build.left.0 = 1
item.order.Build.left.1 = -2
item.path.len = 2
item.path.0 = 4
item.path.1 = 5
item.target = none
#1
generation = 2
item = none
#2
generation = 1
item.order.variant = Move
item.order.Move.x.bits = 65536
item.order.Move.y.bits = -65536
item.path.len = 0
item.target = 7
[gold 2]
#3
value = 50
#5
value = -1
[names 1]
#0
key = \"a\"
value.len = 2
value.0 = 1
value.1 = 2
";
    assert_eq!(printer.0, expected);
}

#[test]
fn sections_and_rows_can_be_skipped() {
    struct Picky(Vec<String>);
    impl Visit for Picky {
        fn section(&mut self, name: &str, _: usize) -> bool {
            name == "gold"
        }

        fn row(&mut self, id: u64) -> bool {
            id == 5
        }

        fn field(&mut self, name: &str, value: &dyn Field) {
            self.0.push(format!("{name} {}", value.text()));
        }
    }
    let mut picky = Picky(Vec::new());
    world().visit(&mut picky);
    assert_eq!(picky.0, ["value -1"]);
}

#[test]
fn every_cut_and_every_addition_is_refused() {
    let bytes = saved(&world());
    assert_eq!(World::load(&bytes).unwrap(), world());
    for end in 0..bytes.len() {
        let error = World::load(&bytes[..end]).unwrap_err();
        assert!(error.at <= end);
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    let expected = LoadError {
        what: "bytes are left over",
        at: bytes.len(),
    };
    assert_eq!(World::load(&longer).unwrap_err(), expected);
}

#[test]
fn other_spellings_of_a_world_are_refused() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Small {
        number: u32,
        map: BTreeMap<u8, u8>,
    }
    state_by_serde!(Small);
    assert!(Small::load(&[5, 2, 1, 0, 2, 0]).is_ok());
    assert!(Small::load(&[0x85, 0, 2, 1, 0, 2, 0]).is_err());
    assert!(Small::load(&[5, 2, 2, 0, 1, 0]).is_err());
    assert!(Small::load(&[5, 2, 1, 0, 1, 0]).is_err());
}

#[test]
fn hostile_bytes_cost_little() {
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    struct Fat {
        #[serde(skip)]
        cache: [u64; 32],
    }
    #[derive(Debug, Serialize, Deserialize)]
    struct Empties {
        units: Vec<()>,
        nested: Vec<Vec<[Fat; 0]>>,
        fat: Vec<Fat>,
    }
    #[derive(Debug, Serialize, Deserialize)]
    enum Chain {
        End,
        Link(Box<Chain>),
    }
    state_by_serde!(Empties, Chain);

    let endless = [255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
    for start in [vec![], vec![0, 1], vec![0, 0]] {
        let bytes = [start.as_slice(), &endless].concat();
        let error = Empties::load(&bytes).unwrap_err();
        assert!(matches!(
            error.what,
            "it holds too many elements for its size" | "a number is out of range"
        ));
    }
    let ok = Empties {
        units: vec![(); 100],
        nested: vec![vec![]; 3],
        fat: vec![Fat::default(); 100],
    };
    let loaded = Empties::load(&saved(&ok)).unwrap();
    assert_eq!((loaded.fat.len(), loaded.fat[0].cache), (100, [0; 32]));

    let deep = [vec![1; 1_000_000], vec![0]].concat();
    assert_eq!(
        Chain::load(&deep).unwrap_err().what,
        "it is nested too deeply"
    );
    assert!(Chain::load(&[1, 1, 1, 0]).is_ok());
}

proptest! {
    #[test]
    fn any_bytes_load_exactly_or_fail(bytes: Vec<u8>) {
        if let Ok(world) = World::load(&bytes) {
            prop_assert_eq!(saved(&world), bytes);
        }
    }

    #[test]
    fn flipped_bits_load_exactly_or_fail(at: prop::sample::Index, bit in 0..8_u8) {
        let mut bytes = saved(&world());
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if let Ok(world) = World::load(&bytes) {
            prop_assert_eq!(saved(&world), bytes);
        }
    }
}
