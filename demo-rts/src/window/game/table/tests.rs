//! The table as a person uses it: readable texts, and the effects of clicks and keys.

mod focus;

use super::*;
use crate::window::game::hand::Aim;
use crate::window::input::{Modifiers, Press};
use crate::window::readability::{SIZES, check_texts};
use crate::world::{Command, Kind, Order};
use sim::{Entry, Simulation as _};

struct Sitting {
    world: World,
    table: Table,
    canvas: Canvas,
    facts: Facts,
    settings: Settings,
    size: (f32, f32),
    covered: bool,
}

impl Sitting {
    fn at(size: (f32, f32)) -> Sitting {
        let world = World::of_two();
        let mut sitting = Sitting {
            table: Table::new(Some(Seat(0)), &world),
            world,
            canvas: Canvas::new(),
            facts: Facts::new("test"),
            settings: Settings::default(),
            size,
            covered: false,
        };
        sitting.frame(Input::default());
        sitting
    }

    fn frame(&mut self, input: Input) -> Vec<Request> {
        let input = Input {
            size: self.size,
            ..input
        };
        self.canvas.begin(self.size, 1.0);
        let around = Around {
            world: &self.world,
            facts: &self.facts,
            settings: &self.settings,
            alpha: 1.0,
            alarm: None,
            covered: self.covered,
        };
        self.table.frame(&input, &mut self.canvas, around)
    }

    fn key(&mut self, key: KeyCode, with: Modifiers) -> Vec<Request> {
        let repeat = false;
        self.frame(Input {
            keys: vec![Press { key, with, repeat }],
            with,
            ..Input::default()
        })
    }

    fn click(&mut self, button: MouseButton, at: (f32, f32), with: Modifiers) -> Vec<Request> {
        let double = false;
        let click = Click {
            button,
            at,
            with,
            double,
        };
        let mut requests = self.frame(Input {
            mouse: Some(at),
            pressed: vec![click],
            holds: vec![button],
            with,
            ..Input::default()
        });
        requests.extend(self.frame(Input {
            mouse: Some(at),
            released: vec![click],
            with,
            ..Input::default()
        }));
        requests
    }

    fn drag(&mut self, from: (f32, f32), to: (f32, f32), with: Modifiers) {
        let click = |at| Click {
            button: MouseButton::Left,
            at,
            with,
            double: false,
        };
        self.frame(Input {
            mouse: Some(from),
            pressed: vec![click(from)],
            ..Input::default()
        });
        self.frame(Input {
            mouse: Some(to),
            released: vec![click(to)],
            ..Input::default()
        });
    }

    /// Presses the left button at the first place, and moves it to the second without a release.
    fn hold(&mut self, from: (f32, f32), to: (f32, f32)) -> Vec<Request> {
        let click = Click {
            button: MouseButton::Left,
            at: from,
            with: PLAIN,
            double: false,
        };
        let held = |at| Input {
            mouse: Some(at),
            holds: vec![MouseButton::Left],
            ..Input::default()
        };
        let mut requests = self.frame(Input {
            pressed: vec![click],
            ..held(from)
        });
        requests.extend(self.frame(held(to)));
        requests
    }

    fn enemy(&self) -> Id {
        let mut units = self.world.units();
        let enemy = units.find(|unit| unit.seat != Seat(0));
        enemy.expect("two play").id
    }

    fn select(&mut self, id: Id) {
        let hand = self.table.hand.as_mut().expect("a person plays");
        hand.select(vec![id]);
    }

    fn hand(&self) -> &Hand {
        self.table.hand.as_ref().expect("a person plays")
    }

    fn pixel(&self, id: Id) -> (f32, f32) {
        let place = super::super::scene::place(&self.world, id).expect("it is there");
        self.table.camera.to_window(place)
    }

    fn own(&self, kind: Kind) -> Vec<Id> {
        let units = self
            .world
            .units()
            .filter(|unit| unit.seat == Seat(0) && unit.kind == kind);
        let buildings = self
            .world
            .buildings()
            .filter(|b| b.seat == Seat(0) && b.kind == kind);
        units
            .map(|unit| unit.id)
            .chain(buildings.map(|b| b.id))
            .collect()
    }

    /// Steps the world by a tick in which this command of the player is executed.
    fn execute(&mut self, command: Command) {
        let seat = Seat(0);
        self.tick(&[Entry::Command { seat, command }]);
    }

    fn tick(&mut self, entries: &[Entry<Command>]) {
        let mut effects = Vec::new();
        self.world.step(entries, &mut effects);
        self.table.step(&self.world, &effects);
    }

    /// The middle of the key's letter on the card.
    fn on_card(&self, letter: &str) -> (f32, f32) {
        let card = Layout::new(&self.canvas, true).card;
        let mut texts = self.canvas.texts().iter();
        let found = texts.find(|text| text.text == letter && card.contains(text.area.centre()));
        found.expect("the card has its key").area.centre()
    }

    fn select_workers(&mut self) {
        let pixels: Vec<(f32, f32)> = self
            .own(Kind::Worker)
            .iter()
            .map(|id| self.pixel(*id))
            .collect();
        let least = |part: fn(&(f32, f32)) -> f32| pixels.iter().map(part).fold(f32::MAX, f32::min);
        let most = |part: fn(&(f32, f32)) -> f32| pixels.iter().map(part).fold(f32::MIN, f32::max);
        let from = (least(|at| at.0) - 20.0, least(|at| at.1) - 20.0);
        let to = (most(|at| at.0) + 20.0, most(|at| at.1) + 20.0);
        self.drag(from, to, PLAIN);
    }
}

const PLAIN: Modifiers = Modifiers {
    shift: false,
    control: false,
    alt: false,
};
const SHIFT: Modifiers = Modifiers {
    shift: true,
    ..PLAIN
};
const CONTROL: Modifiers = Modifiers {
    control: true,
    ..PLAIN
};

#[test]
fn all_text_is_readable_at_every_size() {
    for size in SIZES {
        let mut sitting = Sitting::at(size);
        check_texts(&sitting.canvas);
        sitting.select_workers();
        sitting.frame(Input::default());
        check_texts(&sitting.canvas);
        assert!(
            sitting
                .canvas
                .texts()
                .iter()
                .any(|text| text.text == "5 selected")
        );
        sitting.key(KeyCode::B, PLAIN);
        sitting.frame(Input::default());
        check_texts(&sitting.canvas);
        for kind in [Kind::TownHall, Kind::Worker] {
            let id = sitting.own(kind)[0];
            sitting.click(MouseButton::Left, sitting.pixel(id), PLAIN);
            assert_eq!(sitting.hand().selection(), [id]);
            sitting.frame(Input::default());
            check_texts(&sitting.canvas);
        }
        // The mouse on the first button of the card shows its tooltip.
        let card = Layout::new(&sitting.canvas, true).card;
        let over = (
            card.x + sitting.canvas.units(20.0),
            card.y + sitting.canvas.units(20.0),
        );
        sitting.frame(Input {
            mouse: Some(over),
            ..Input::default()
        });
        check_texts(&sitting.canvas);
        assert!(
            sitting
                .canvas
                .texts()
                .iter()
                .any(|text| text.text == "Move (M)")
        );
    }
}

#[test]
fn a_box_selects_and_a_right_click_orders_in_one_frame() {
    let mut sitting = Sitting::at(SIZES[0]);
    sitting.select_workers();
    assert_eq!(sitting.hand().selection(), sitting.own(Kind::Worker));
    let hall = sitting.pixel(sitting.own(Kind::TownHall)[0]);
    let at = (hall.0 + 140.0, hall.1 + 140.0);
    let requests = sitting.click(MouseButton::Right, at, PLAIN);
    let [Request::Issue(order)] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    assert_eq!(order.ids, sitting.own(Kind::Worker));
    assert!(order.to.is_some());
    let later = sitting.click(MouseButton::Right, at, SHIFT);
    let [Request::Issue(order)] = later.as_slice() else {
        panic!("{later:?}");
    };
    assert!(matches!(order.command, Command::Queue { .. }), "{order:?}");
}

#[test]
fn a_click_keeps_the_shift_state_of_its_moment() {
    let mut sitting = Sitting::at(SIZES[0]);
    sitting.select_workers();
    sitting.frame(Input::default());
    let layout = Layout::new(&sitting.canvas, true);
    let hold = sitting.on_card("H");
    let beside = (layout.map.x + 9.0, layout.map.y + 9.0);
    for (held, after, queued) in [(SHIFT, PLAIN, true), (PLAIN, SHIFT, false)] {
        for (button, at) in [(MouseButton::Left, hold), (MouseButton::Right, beside)] {
            let click = Click {
                button,
                at,
                with: held,
                double: false,
            };
            // Shift changes while the frame with the click is drawn.
            let requests = sitting.frame(Input {
                mouse: Some(at),
                pressed: vec![click],
                released: vec![click],
                with: after,
                ..Input::default()
            });
            let [Request::Issue(order)] = requests.as_slice() else {
                panic!("{button:?} with {held:?}: {requests:?}");
            };
            let is_queued = matches!(order.command, Command::Queue { .. });
            assert_eq!(is_queued, queued, "{button:?} with {held:?}: {order:?}");
        }
    }
}

#[test]
fn a_keyboard_click_keeps_the_shift_state_of_its_moment() {
    let mut sitting = Sitting::at(SIZES[0]);
    sitting.select_workers();
    sitting.key(KeyCode::F4, PLAIN);
    for (with, after, queued) in [(SHIFT, PLAIN, true), (PLAIN, SHIFT, false)] {
        let (key, repeat) = (KeyCode::Enter, false);
        let requests = sitting.frame(Input {
            keys: vec![Press { key, with, repeat }],
            with: after,
            ..Input::default()
        });
        let [Request::Issue(order)] = requests.as_slice() else {
            panic!("{with:?}: {requests:?}");
        };
        let is_queued = matches!(order.command, Command::Queue { .. });
        assert_eq!(is_queued, queued, "{with:?}: {order:?}");
    }
}

#[test]
fn a_covered_table_ignores_input() {
    let mut sitting = Sitting::at(SIZES[0]);
    sitting.covered = true;
    sitting.select_workers();
    assert!(sitting.hand().selection().is_empty());
}

#[test]
fn control_groups_are_set_extended_and_visited() {
    let mut sitting = Sitting::at(SIZES[0]);
    sitting.select_workers();
    sitting.key(KeyCode::Key1, CONTROL);
    let hall = sitting.own(Kind::TownHall)[0];
    sitting.click(MouseButton::Left, sitting.pixel(hall), PLAIN);
    assert_eq!(sitting.hand().selection(), [hall]);
    sitting.key(KeyCode::Key1, PLAIN);
    assert_eq!(sitting.hand().selection(), sitting.own(Kind::Worker));
    let again = sitting.key(KeyCode::Key1, PLAIN);
    assert!(matches!(again.as_slice(), [Request::Look(_)]), "{again:?}");
    let empty = sitting.key(KeyCode::Key7, PLAIN);
    assert!(matches!(empty.as_slice(), [Request::Say(_)]), "{empty:?}");
}

#[test]
fn a_building_is_placed_only_on_a_free_site() {
    let mut sitting = Sitting::at(SIZES[0]);
    sitting.select_workers();
    sitting.key(KeyCode::B, PLAIN);
    sitting.key(KeyCode::H, PLAIN);
    assert_eq!(sitting.hand().mode, Mode::Place(Kind::House));
    let hall = sitting.pixel(sitting.own(Kind::TownHall)[0]);
    let refused = sitting.click(MouseButton::Left, hall, PLAIN);
    assert!(
        matches!(refused.as_slice(), [Request::Say(_)]),
        "{refused:?}"
    );
    assert_eq!(sitting.hand().mode, Mode::Place(Kind::House));
    let map = &sitting.world;
    let seen = map.seen_by(Seat(0)).expect("it plays");
    let home = sitting.table.home;
    let free = (3..8).find_map(|far| {
        let tile = Tile::new(home.x + far, home.y + 3);
        seen.has_room(tile, 2).then_some(tile)
    });
    let free = free.expect("there is room beside a town hall");
    let at = sitting
        .table
        .camera
        .to_window((f32::from(free.x) + 1.0, f32::from(free.y) + 1.0));
    let built = sitting.click(MouseButton::Left, at, PLAIN);
    let [Request::Issue(order)] = built.as_slice() else {
        panic!("{built:?}");
    };
    let is_house = |command: &Command| matches!(command, Command::Build { kind: Kind::House, at, .. } if *at == free);
    assert!(is_house(&order.command), "{order:?}");
    assert_eq!(sitting.hand().mode, Mode::Free);
}

#[test]
fn orders_are_aimed_by_keys_and_the_small_map() {
    let mut sitting = Sitting::at(SIZES[0]);
    sitting.select_workers();
    sitting.key(KeyCode::A, PLAIN);
    assert_eq!(sitting.hand().mode, Mode::Aim(Aim::Attack));
    let map = Layout::new(&sitting.canvas, true).map;
    let requests = sitting.click(MouseButton::Left, map.centre(), PLAIN);
    let [Request::Issue(order)] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    let size = sitting.world.map().size();
    let Command::AttackMove { to, .. } = order.command else {
        panic!("{order:?}");
    };
    assert!(to.king_steps(Tile::new(size / 2, size / 2)) <= 1, "{to:?}");
    let before = sitting.table.camera.centre;
    sitting.click(MouseButton::Left, (map.x + 9.0, map.y + 9.0), PLAIN);
    assert_ne!(
        sitting.table.camera.centre, before,
        "without an order the view moves there"
    );
}

#[test]
fn the_keyboard_alone_selects_and_orders() {
    let mut sitting = Sitting::at(SIZES[0]);
    sitting.key(KeyCode::F4, PLAIN);
    sitting.key(KeyCode::Space, PLAIN);
    assert_eq!(sitting.hand().selection(), sitting.own(Kind::TownHall));
    let requests = sitting.key(KeyCode::W, PLAIN);
    let [Request::Issue(order)] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    assert!(matches!(
        order.command,
        Command::Train {
            kind: Kind::Worker,
            ..
        }
    ));
    sitting.key(KeyCode::Period, SHIFT);
    assert_eq!(sitting.hand().selection(), sitting.own(Kind::Worker));
    for enter in [KeyCode::Enter, KeyCode::KpEnter] {
        let requests = sitting.key(enter, PLAIN);
        assert!(
            matches!(requests.as_slice(), [Request::Issue(_)]),
            "{enter:?}: {requests:?}"
        );
    }
}

#[test]
fn demolishing_needs_a_confirmation() {
    let mut sitting = Sitting::at(SIZES[0]);
    let hall = sitting.own(Kind::TownHall)[0];
    sitting.click(MouseButton::Left, sitting.pixel(hall), PLAIN);
    let first = sitting.key(KeyCode::Delete, PLAIN);
    assert!(matches!(first.as_slice(), [Request::Say(_)]), "{first:?}");
    let second = sitting.key(KeyCode::Delete, PLAIN);
    let [Request::Issue(order)] = second.as_slice() else {
        panic!("{second:?}");
    };
    assert_eq!(order.command, Command::Demolish { building: hall });
}

#[test]
fn tiles_under_panels_are_not_shown() {
    let size = SIZES[0];
    let mut sitting = Sitting::at(size);
    let tile_at = |sitting: &Sitting, at: (f32, f32)| {
        let (x, y) = sitting.table.camera.to_map(at);
        Tile::new(x as u16, y as u16)
    };
    sitting.table.camera.look_at(Tile::new(48, 48));
    sitting.frame(Input::default());
    let small = tile_at(&sitting, (80.0, size.1 - 80.0));
    let card = tile_at(&sitting, (size.0 - 80.0, size.1 - 80.0));
    let middle = tile_at(&sitting, (size.0 / 2.0, size.1 / 2.0));
    assert!(sitting.table.shows(middle) && sitting.table.shows(card));
    assert!(!sitting.table.shows(small), "under the small map");
    let worker = sitting.own(Kind::Worker)[0];
    sitting.select(worker);
    sitting.frame(Input::default());
    assert!(sitting.table.shows(middle) && !sitting.table.shows(card));
    sitting.select(sitting.enemy());
    sitting.frame(Input::default());
    assert!(sitting.table.shows(card), "an enemy has no card");
}

#[test]
fn enter_presses_the_focused_button_and_does_not_order_too() {
    let mut sitting = Sitting::at(SIZES[0]);
    sitting.select_workers();
    sitting.key(KeyCode::F4, PLAIN);
    sitting.key(KeyCode::Tab, PLAIN);
    // The first button selects all units of a kind.
    assert_eq!(sitting.key(KeyCode::Enter, PLAIN), []);
    assert_eq!(sitting.hand().selection(), sitting.own(Kind::Worker));
}

#[test]
fn the_mouse_moves_the_view_on_the_small_map_while_the_keyboard_points() {
    let mut sitting = Sitting::at(SIZES[0]);
    sitting.key(KeyCode::F4, PLAIN);
    let map = Layout::new(&sitting.canvas, true).map;
    sitting.hold((map.x + 9.0, map.y + 9.0), map.centre());
    let middle = f32::from(sitting.world.map().size()) / 2.0;
    let (x, y) = sitting.table.camera.centre;
    assert!(
        (x - middle).abs() < 2.0 && (y - middle).abs() < 2.0,
        "{x} {y}"
    );
}

#[test]
fn an_order_on_the_small_map_does_not_move_the_view() {
    let mut sitting = Sitting::at(SIZES[0]);
    let map = Layout::new(&sitting.canvas, true).map;
    let corner = (map.x + 9.0, map.y + 9.0);
    sitting.select_workers();
    sitting.click(MouseButton::Left, corner, PLAIN);
    sitting.key(KeyCode::Home, PLAIN);
    sitting.key(KeyCode::A, PLAIN);
    let before = sitting.table.camera.centre;
    let requests = sitting.hold(corner, corner);
    assert!(
        matches!(requests.as_slice(), [Request::Issue(_)]),
        "{requests:?}"
    );
    assert_eq!(sitting.table.camera.centre, before);
    sitting.click(MouseButton::Left, corner, PLAIN);
    assert_ne!(sitting.table.camera.centre, before, "the next press does");
}

#[test]
fn a_right_click_on_the_small_map_drops_the_order_in_hand() {
    let mut sitting = Sitting::at(SIZES[0]);
    let at = Layout::new(&sitting.canvas, true).map.centre();
    sitting.select_workers();
    for keys in [[KeyCode::A].as_slice(), &[KeyCode::B, KeyCode::H]] {
        keys.iter().for_each(|key| drop(sitting.key(*key, PLAIN)));
        assert_ne!(sitting.hand().mode, Mode::Free);
        assert_eq!(sitting.click(MouseButton::Right, at, PLAIN), []);
        assert_eq!(sitting.hand().mode, Mode::Free);
    }
}

#[test]
fn a_control_group_has_no_enemies() {
    let mut sitting = Sitting::at(SIZES[0]);
    sitting.select(sitting.enemy());
    for with in [CONTROL, SHIFT] {
        sitting.key(KeyCode::Key1, with);
        assert_eq!(sitting.hand().groups()[1], []);
    }
}

#[test]
fn a_box_ends_when_the_table_is_covered() {
    let mut sitting = Sitting::at(SIZES[0]);
    let (from, to) = ((300.0, 200.0), (600.0, 400.0));
    sitting.hold(from, to);
    let over = Input {
        mouse: Some(to),
        ..Input::default()
    };
    let is_drawn = |sitting: &Sitting| {
        sitting
            .hand()
            .drawn_box(&sitting.table.camera, &over)
            .is_some()
    };
    assert!(is_drawn(&sitting));
    sitting.covered = true;
    sitting.frame(Input::default());
    assert!(!is_drawn(&sitting));
}

#[test]
fn shift_adds_only_own_units_and_only_a_click_removes_one() {
    let mut sitting = Sitting::at(SIZES[0]);
    sitting.select_workers();
    let workers = sitting.own(Kind::Worker);
    let around = |at: (f32, f32)| ((at.0 - 9.0, at.1 - 9.0), (at.0 + 9.0, at.1 + 9.0));
    let hall = sitting.pixel(sitting.own(Kind::TownHall)[0]);
    let (from, to) = around(hall);
    sitting.drag(from, to, SHIFT);
    assert_eq!(sitting.hand().selection(), workers, "a box on a building");
    sitting.click(MouseButton::Left, hall, SHIFT);
    assert_eq!(sitting.hand().selection(), workers, "a click on a building");
    let one = sitting.pixel(workers[0]);
    let (from, to) = around(one);
    sitting.drag(from, to, SHIFT);
    assert_eq!(sitting.hand().selection(), workers, "a box around one");
    sitting.click(MouseButton::Left, one, SHIFT);
    assert_eq!(sitting.hand().selection(), &workers[1..]);
    sitting.drag(from, to, SHIFT);
    assert_eq!(sitting.hand().selection(), workers);
}

fn trains(requests: &[Request]) -> bool {
    let [Request::Issue(order)] = requests else {
        return false;
    };
    matches!(order.command, Command::Train { .. })
}

#[test]
fn a_click_on_the_card_counts_while_the_queue_changes() {
    let mut sitting = Sitting::at(SIZES[0]);
    let (building, kind) = (sitting.own(Kind::TownHall)[0], Kind::Worker);
    sitting.select(building);
    sitting.frame(Input::default());
    let at = sitting.on_card("W");
    let release = Input {
        mouse: Some(at),
        released: vec![Click {
            button: MouseButton::Left,
            at,
            with: PLAIN,
            double: false,
        }],
        ..Input::default()
    };
    for _ in 0..2 {
        assert_eq!(sitting.hold(at, at), []);
        sitting.execute(Command::Train { building, kind });
        let requests = sitting.frame(release.clone());
        assert!(trains(&requests), "{requests:?}");
    }
}

#[test]
fn enter_trains_again_and_cancels_nothing() {
    let mut sitting = Sitting::at(SIZES[0]);
    let (building, kind) = (sitting.own(Kind::TownHall)[0], Kind::Worker);
    sitting.select(building);
    sitting.frame(Input::default());
    sitting.key(KeyCode::Tab, PLAIN);
    for _ in 0..2 {
        let requests = sitting.key(KeyCode::Enter, PLAIN);
        assert!(trains(&requests), "{requests:?}");
        sitting.execute(Command::Train { building, kind });
        sitting.frame(Input::default());
    }
}

#[test]
fn another_selection_closes_the_page_of_buildings() {
    let mut sitting = Sitting::at(SIZES[0]);
    let hall = sitting.own(Kind::TownHall)[0];
    sitting.select(hall);
    sitting.key(KeyCode::Key2, CONTROL);
    sitting.select_workers();
    sitting.key(KeyCode::Key1, CONTROL);
    let workers = sitting.own(Kind::Worker);
    sitting.select(workers[0]);
    sitting.key(KeyCode::B, PLAIN);
    sitting.frame(Input::default());
    assert_eq!(sitting.table.page, Page::Build);
    sitting.key(KeyCode::Key1, PLAIN);
    assert_eq!(sitting.table.page, Page::Main, "a control group");
    sitting.key(KeyCode::B, PLAIN);
    sitting.key(KeyCode::Key2, PLAIN);
    sitting.key(KeyCode::Key1, PLAIN);
    let requests = sitting.key(KeyCode::H, PLAIN);
    let [Request::Issue(order)] = requests.as_slice() else {
        panic!("{requests:?}, {:?}", sitting.hand().mode);
    };
    assert!(matches!(order.command, Command::Hold { .. }), "{order:?}");
    sitting.key(KeyCode::B, PLAIN);
    sitting.frame(Input::default());
    assert_eq!(sitting.table.page, Page::Build);
    // The only tile in the panel of the selection: the workers.
    let count = workers.len().to_string();
    let panel = Layout::new(&sitting.canvas, true).chosen;
    let mut texts = sitting.canvas.texts().iter();
    let tile = texts.find(|text| text.text == count && panel.contains(text.area.centre()));
    let at = tile.expect("the workers are counted").area.centre();
    sitting.click(MouseButton::Left, at, PLAIN);
    assert_eq!(sitting.table.page, Page::Main, "the tile of a kind");
}

#[test]
fn sheltered_units_leave_the_selection_but_not_their_group() {
    let mut sitting = Sitting::at(SIZES[0]);
    let worker = sitting.own(Kind::Worker)[0];
    let building = sitting.own(Kind::TownHall)[0];
    sitting.select(worker);
    sitting.key(KeyCode::Key1, CONTROL);
    let units = sitting.world.select(Seat(0), [worker]);
    sitting.execute(Command::Garrison { units, building });
    let is_inside = |sitting: &Sitting| {
        let unit = sitting.world.unit(worker);
        unit.is_some_and(|unit| unit.order == Order::Inside)
    };
    for _ in 0..200 {
        assert_eq!(sitting.hand().selection().is_empty(), is_inside(&sitting));
        sitting.tick(&[]);
    }
    assert!(is_inside(&sitting));
    assert_eq!(sitting.hand().groups()[1], [worker]);
}
