//! A person's controls: selection, control groups, and the meaning of clicks.

use super::camera::{Camera, Place, place_of};
use super::effects::Sign;
use super::land::Eye;
use super::scene::{Scene, footprint};
use crate::window::canvas::Rect;
use crate::window::input::{Input, Modifiers, MouseButton};
use crate::window::words;
use crate::world::{Command, Id, Kind, Order, Refusal, Selection, Tile, World};
use lockstep::Seat;
use std::time::Duration;

/// The meaning of the next click on the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The left button selects, the right button orders.
    #[default]
    Free,
    /// The left button gives the target.
    Aim(Aim),
    /// The left button gives the site of a building.
    Place(Kind),
}

/// An order that needs a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aim {
    /// Attack a target, or attack-move.
    Attack,
    Move,
    Gather,
    Patrol,
    /// Attack ground.
    Shell,
    /// Enter a building.
    Enter,
    /// Build, repair or farm.
    Work,
    /// Set the rally point.
    Rally,
}

/// A request of the controls.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Issue a command, and show its marker at once.
    Issue(IssuedOrder),
    /// Show why nothing happens.
    Say(String),
    /// Move the view.
    Look(Place),
}

/// A command, with the marker and sound that answer it before it is executed.
#[derive(Clone, Debug, PartialEq)]
pub struct IssuedOrder {
    pub command: Command,
    /// The target.
    pub to: Option<Place>,
    pub sign: Sign,
    /// The units that turn to the target.
    pub ids: Vec<Id>,
}

/// What the controls need of the match.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    pub world: &'a World,
    pub scene: &'a Scene,
    pub camera: &'a Camera,
    /// The fraction of a tick since the last one.
    pub alpha: f32,
}

/// Selection, control groups, and the click in progress.
#[derive(Clone, Debug)]
pub struct Hand {
    seat: Seat,
    selection: Vec<Id>,
    groups: [Vec<Id>; 10],
    last_group: Option<(usize, Duration)>,
    /// The corner where a box began, on the map.
    from: Option<Place>,
    pub mode: Mode,
}

impl Hand {
    pub fn new(seat: Seat) -> Hand {
        Hand {
            seat,
            selection: Vec::new(),
            groups: Default::default(),
            last_group: None,
            from: None,
            mode: Mode::Free,
        }
    }

    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// Units or one building, by ascending id.
    pub fn selection(&self) -> &[Id] {
        &self.selection
    }

    /// The control groups, beginning with that of key 1.
    pub fn groups(&self) -> &[Vec<Id>; 10] {
        &self.groups
    }

    /// Drops dead units from selection and groups. From the selection it also drops units out of sight, and units
    /// inside buildings: they are not on the map, and take no orders.
    pub fn forget(&mut self, world: &World, eye: Eye) {
        let known = |id: &Id| match eye {
            Eye::All => world.unit(*id).is_some() || world.building(*id).is_some(),
            Eye::Seat(seat) => world
                .seen_by(seat)
                .is_some_and(|seen| seen.unit(*id).is_some() || seen.building(*id).is_some()),
        };
        self.selection
            .retain(|id| known(id) && !is_inside(*id, world));
        let lives = |id: &Id| world.unit(*id).is_some() || world.building(*id).is_some();
        self.groups.iter_mut().for_each(|group| group.retain(lives));
        if self.selection.is_empty() {
            self.mode = Mode::Free;
        }
    }

    /// Selects as many of these as one command can name.
    pub fn select(&mut self, mut ids: Vec<Id>) {
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(Selection::MOST);
        self.selection = ids;
        self.mode = Mode::Free;
    }

    /// Own units of the selection.
    pub fn units(&self, world: &World) -> Vec<Id> {
        let own = |id: &&Id| world.unit(**id).is_some_and(|unit| unit.seat == self.seat);
        self.selection.iter().filter(own).copied().collect()
    }

    /// The selected building, if it is the seat's own.
    pub fn building(&self, world: &World) -> Option<Id> {
        let own = |id: &&Id| world.building(**id).is_some_and(|b| b.seat == self.seat);
        self.selection.iter().find(own).copied()
    }

    /// The box in progress, in pixels.
    pub fn drawn_box(&self, camera: &Camera, input: &Input) -> Option<Rect> {
        let from = camera.to_window(self.from?);
        let to = input.mouse?;
        let (x, y) = (from.0.min(to.0), from.1.min(to.1));
        let area = Rect::new(x, y, (from.0 - to.0).abs(), (from.1 - to.1).abs());
        (area.w.max(area.h) >= LEAST_BOX).then_some(area)
    }

    /// Drops the box in progress: the release may never be seen.
    pub fn drop_box(&mut self) {
        self.from = None;
    }

    /// Handles the mouse. `covered`: it is over a panel.
    pub fn mouse(&mut self, input: &Input, sight: Sight<'_>, covered: bool) -> Vec<Request> {
        let mut requests = Vec::new();
        for click in &input.pressed {
            if covered || !sight.camera.view.contains(click.at) {
                continue;
            }
            match (click.button, self.mode) {
                (MouseButton::Left, Mode::Free) if click.double => {
                    self.from = None;
                    self.select_alike(click.at, sight, click.with.shift);
                }
                (MouseButton::Left, Mode::Free) => {
                    self.from = Some(sight.camera.to_map(click.at));
                }
                (MouseButton::Left, Mode::Aim(aim)) => {
                    requests.push(self.aimed(aim, click.at, sight, click.with.shift));
                    if !click.with.shift {
                        self.mode = Mode::Free;
                    }
                }
                (MouseButton::Left, Mode::Place(kind)) => {
                    let request = self.placed(kind, click.at, sight, click.with.shift);
                    if matches!(request, Request::Issue(_)) && !click.with.shift {
                        self.mode = Mode::Free;
                    }
                    requests.push(request);
                }
                (MouseButton::Right, Mode::Free) => {
                    requests.extend(self.ordered(click.at, sight, click.with.shift));
                }
                (MouseButton::Right, _) => self.mode = Mode::Free,
                _ => {}
            }
        }
        if let Some(click) = input.release(MouseButton::Left)
            && let Some(from) = self.from
        {
            self.choose(from, click.at, sight, click.with.shift);
            self.from = None;
        }
        requests
    }

    /// The order of a right click at a pixel.
    fn ordered(&self, at: (f32, f32), sight: Sight<'_>, later: bool) -> Option<Request> {
        let (world, camera) = (sight.world, sight.camera);
        let pointed = sight.scene.at(at, camera, sight.alpha);
        let enemy = pointed.and_then(|id| sight.scene.motion.walker(id));
        let enemy = enemy.filter(|walker| walker.unit.seat != self.seat);
        let tile = enemy.map(|walker| walker.unit.tile);
        let tile = tile.or_else(|| camera.tile_at(at))?;
        self.sent_to(tile, camera.to_map(at), world, later)
    }

    /// The order of a right click on a tile, also of the small map.
    pub fn sent_to(&self, tile: Tile, place: Place, world: &World, later: bool) -> Option<Request> {
        let ids = self.units(world);
        if ids.is_empty() {
            let building = self.building(world)?;
            let kind = world.building(building)?.kind;
            let rallies = !kind.trains().is_empty();
            return rallies.then(|| {
                let command = Command::Rally { building, to: tile };
                Self::request(command, Some(place), Sign::Go, Vec::new(), false)
            });
        }
        let units = world.select(self.seat, ids.iter().copied());
        let command = world.meant_by_click(self.seat, units, tile);
        let sign = match command {
            Command::Attack { .. } | Command::AttackMove { .. } => Sign::Fight,
            Command::Gather { .. } | Command::Assist { .. } | Command::Garrison { .. } => {
                Sign::Work
            }
            _ => Sign::Go,
        };
        Some(Self::request(command, Some(place), sign, ids, later))
    }

    fn aimed(&self, aim: Aim, at: (f32, f32), sight: Sight<'_>, later: bool) -> Request {
        match sight.camera.tile_at(at) {
            Some(tile) => {
                let pointed = sight.scene.at(at, sight.camera, sight.alpha);
                self.aimed_at(
                    aim,
                    tile,
                    sight.camera.to_map(at),
                    pointed,
                    sight.world,
                    later,
                )
            }
            None => Request::Say(words::refusal(Refusal::OffTheMap)),
        }
    }

    /// The order of an aimed click on a tile; `pointed` is the unit or building there.
    pub fn aimed_at(
        &self,
        aim: Aim,
        tile: Tile,
        place: Place,
        pointed: Option<Id>,
        world: &World,
        later: bool,
    ) -> Request {
        let ids = self.units(world);
        let units = world.select(self.seat, ids.iter().copied());
        let seen = world.seen_by(self.seat);
        let own = pointed
            .and_then(|id| world.building(id))
            .filter(|b| b.seat == self.seat);
        let foe = pointed.filter(|id| {
            let seen = seen.as_ref();
            let unit = seen.and_then(|seen| seen.unit(*id)).map(|unit| unit.seat);
            let building = seen.and_then(|seen| seen.building(*id));
            let building = building.filter(|b| !b.remembered).map(|b| b.seat);
            unit.or(building).is_some_and(|seat| seat != self.seat)
        });
        let (command, sign) = match aim {
            Aim::Attack => match foe {
                Some(target) => (Command::Attack { units, target }, Sign::Fight),
                None => (Command::AttackMove { units, to: tile }, Sign::Fight),
            },
            Aim::Move => (Command::Move { units, to: tile }, Sign::Go),
            Aim::Gather => (Command::Gather { units, from: tile }, Sign::Work),
            Aim::Patrol => (Command::Patrol { units, to: tile }, Sign::Fight),
            Aim::Shell => (Command::AttackGround { units, at: tile }, Sign::Fight),
            Aim::Enter | Aim::Work => {
                let Some(building) = own.map(|building| building.id) else {
                    return Request::Say(words::POINT_AT_OWN.to_owned());
                };
                match aim {
                    Aim::Enter => (Command::Garrison { units, building }, Sign::Work),
                    _ => (Command::Assist { units, building }, Sign::Work),
                }
            }
            Aim::Rally => {
                let Some(building) = self.building(world) else {
                    return Request::Say(words::refusal(Refusal::NoSuchBuilding));
                };
                (Command::Rally { building, to: tile }, Sign::Go)
            }
        };
        Self::request(command, Some(place), sign, ids, later)
    }

    fn placed(&self, kind: Kind, at: (f32, f32), sight: Sight<'_>, later: bool) -> Request {
        let Some(tile) = corner_of(kind, sight.camera.to_map(at), sight.world) else {
            return Request::Say(words::refusal(Refusal::OffTheMap));
        };
        match self.obstacle(kind, tile, sight.world) {
            Some(why) => Request::Say(why),
            None => self.build(kind, tile, sight.world, later),
        }
    }

    /// Orders the building, whatever is in the way.
    pub fn build(&self, kind: Kind, at: Tile, world: &World, later: bool) -> Request {
        let ids = self.workers(world);
        let units = world.select(self.seat, ids.iter().copied());
        let half = f32::from(kind.stats().size) / 2.0;
        let middle = (f32::from(at.x) + half, f32::from(at.y) + half);
        let command = Command::Build { units, kind, at };
        Self::request(command, Some(middle), Sign::Work, ids, later)
    }

    /// Why the building cannot stand there, as far as the seat knows.
    pub fn obstacle(&self, kind: Kind, tile: Tile, world: &World) -> Option<String> {
        let seen = world.seen_by(self.seat)?;
        let stats = kind.stats();
        let may = seen.may_found(&self.workers(world), kind, tile);
        why_not(may, stats.needs, (stats.gold, stats.wood), self.seat, world)
    }

    /// Workers of the selection.
    pub fn workers(&self, world: &World) -> Vec<Id> {
        let mut units = self.units(world);
        units.retain(|id| {
            world
                .unit(*id)
                .is_some_and(|unit| unit.kind == Kind::Worker)
        });
        units
    }

    fn request(
        command: Command,
        to: Option<Place>,
        sign: Sign,
        ids: Vec<Id>,
        later: bool,
    ) -> Request {
        Request::Issue(IssuedOrder {
            command: if later { command.later() } else { command },
            to,
            sign,
            ids,
        })
    }

    /// Ends a click or a box.
    fn choose(&mut self, from: Place, at: (f32, f32), sight: Sight<'_>, add: bool) {
        let start = sight.camera.to_window(from);
        let far = (start.0 - at.0).abs().max((start.1 - at.1).abs());
        if far < LEAST_BOX {
            let found = sight.scene.at(at, sight.camera, sight.alpha);
            self.choose_one(found, sight.world, add);
        } else {
            let found = self.boxed(from, sight.camera.to_map(at), sight);
            self.chosen(found, sight.world, add);
        }
    }

    /// Selects what a click found, or adds it. A unit that is selected already is removed instead.
    fn choose_one(&mut self, found: Option<Id>, world: &World, add: bool) {
        let mut units = self.units(world);
        match found.filter(|id| add && units.contains(id)) {
            Some(known) => {
                units.retain(|id| *id != known);
                self.select(units);
            }
            None => self.chosen(found.into_iter().collect(), world, add),
        }
    }

    /// Own units in a box, soldiers before workers; without units, an own building.
    fn boxed(&self, from: Place, to: Place, sight: Sight<'_>) -> Vec<Id> {
        let area = Rect::new(
            from.0.min(to.0),
            from.1.min(to.1),
            (from.0 - to.0).abs(),
            (from.1 - to.1).abs(),
        );
        let walkers = sight.scene.motion.walkers.iter().filter(|walker| {
            walker.unit.seat == self.seat && area.contains(walker.at(sight.alpha))
        });
        let units: Vec<(Id, Kind)> = walkers
            .map(|walker| (walker.unit.id, walker.unit.kind))
            .collect();
        let soldiers = units.iter().filter(|(_, kind)| kind.is_soldier());
        let soldiers: Vec<Id> = soldiers.map(|(id, _)| *id).collect();
        if !soldiers.is_empty() {
            return soldiers;
        }
        if !units.is_empty() {
            return units.into_iter().map(|(id, _)| id).collect();
        }
        let own = sight
            .scene
            .motion
            .buildings
            .iter()
            .find(|building| building.seat == self.seat && footprint(building).meets(area));
        own.map(|building| building.id).into_iter().collect()
    }

    /// Selects these, or adds the own units among them to the selected ones.
    fn chosen(&mut self, mut found: Vec<Id>, world: &World, add: bool) {
        let units = self.units(world);
        if add && !units.is_empty() {
            found.retain(|id| world.unit(*id).is_some_and(|unit| unit.seat == self.seat));
            found.extend(units);
        }
        self.select(found);
    }

    /// Selects all units on the screen of the kind at the mouse.
    fn select_alike(&mut self, at: (f32, f32), sight: Sight<'_>, add: bool) {
        let pointed = sight.scene.at(at, sight.camera, sight.alpha);
        let Some(kind) = pointed
            .and_then(|id| sight.world.unit(id))
            .filter(|unit| unit.seat == self.seat)
            .map(|unit| unit.kind)
        else {
            self.choose_one(pointed, sight.world, add);
            return;
        };
        let alike = sight.scene.motion.walkers.iter().filter(|walker| {
            let unit = &walker.unit;
            unit.seat == self.seat && unit.kind == kind && sight.camera.sees(walker.to, 0.0)
        });
        let found: Vec<Id> = alike.map(|walker| walker.unit.id).collect();
        match add {
            true => self.chosen(found, sight.world, true),
            false => self.select(found),
        }
    }

    /// Selects the next idle worker, or all idle workers.
    pub fn select_idle(&mut self, world: &World, all: bool) -> Option<Request> {
        let idle = world.units().filter(|unit| {
            unit.seat == self.seat && unit.kind == Kind::Worker && unit.order == Order::Idle
        });
        let idle: Vec<(Id, Place)> = idle.map(|unit| (unit.id, place_of(unit.at))).collect();
        if idle.is_empty() {
            return Some(Request::Say(words::NO_IDLE.to_owned()));
        }
        if all {
            self.select(idle.into_iter().map(|(id, _)| id).collect());
            return None;
        }
        let last = self.selection.first().copied();
        let next = idle
            .iter()
            .find(|(id, _)| last.is_none_or(|last| *id > last));
        let (id, at) = next.copied().unwrap_or(idle[0]);
        self.select(vec![id]);
        Some(Request::Look(at))
    }

    /// Selects all soldiers on the map.
    pub fn select_soldiers(&mut self, world: &World) -> Option<Request> {
        let soldiers = world.units().filter(|unit| {
            unit.seat == self.seat && unit.kind.is_soldier() && unit.order != Order::Inside
        });
        let found: Vec<Id> = soldiers.map(|unit| unit.id).collect();
        if found.is_empty() {
            return Some(Request::Say(words::NO_SOLDIERS.to_owned()));
        }
        self.select(found);
        None
    }

    /// Handles a control group's key. Ctrl sets the group to what is selected of one's own, Shift adds that to it.
    /// Otherwise it selects the group, except for units inside buildings, and a double tap moves the view there.
    pub fn group(
        &mut self,
        number: usize,
        with: Modifiers,
        now: Duration,
        world: &World,
    ) -> Option<Request> {
        let mut own = self.units(world);
        own.extend(self.building(world));
        let group = self.groups.get_mut(number)?;
        if with.control {
            *group = own;
            return Some(Request::Say(words::group_set(number, group.len())));
        }
        if with.shift {
            group.extend(own);
            group.sort_unstable();
            group.dedup();
            return Some(Request::Say(words::group_set(number, group.len())));
        }
        if group.is_empty() {
            return Some(Request::Say(words::group_empty(number)));
        }
        let outside = group.iter().filter(|id| !is_inside(**id, world));
        let found: Vec<Id> = outside.copied().collect();
        let middle = middle_of(group, world);
        let again = self
            .last_group
            .is_some_and(|(last, when)| last == number && now.saturating_sub(when) < DOUBLE_TAP);
        self.last_group = Some((number, now));
        if !found.is_empty() {
            self.select(found);
        } else if !again {
            return Some(Request::Say(words::group_inside(number)));
        }
        middle.filter(|_| again).map(Request::Look)
    }
}

/// Whether it is a unit inside a building: not on the map, and it takes no orders.
fn is_inside(id: Id, world: &World) -> bool {
    world
        .unit(id)
        .is_some_and(|unit| unit.order == Order::Inside)
}

/// The upper left tile of a building with its middle at a place; `None` off the map.
pub fn corner_of(kind: Kind, (x, y): Place, world: &World) -> Option<Tile> {
    let size = kind.stats().size;
    let half = f32::from(size) / 2.0;
    let last = world.map().size().checked_sub(size)?;
    let corner = |at: f32| ((at - half).round().max(0.0) as u16).min(last);
    let edge = f32::from(world.map().size());
    let on = |at: f32| at >= 0.0 && at < edge;
    (on(x) && on(y)).then(|| Tile::new(corner(x), corner(y)))
}

/// Why the seat cannot have what needs these buildings and costs this much gold and wood.
pub fn why_not(
    may: Result<(), Refusal>,
    needs: &[Kind],
    price: (u32, u32),
    seat: Seat,
    world: &World,
) -> Option<String> {
    let (why, own) = may.err().zip(world.seat(seat))?;
    Some(words::why_not(why, price, &own, world.lacking(seat, needs)))
}

/// The middle of these units and buildings.
pub fn middle_of(ids: &[Id], world: &World) -> Option<Place> {
    let places: Vec<Place> = ids
        .iter()
        .filter_map(|id| super::scene::place(world, *id))
        .collect();
    let many = places.len() as f32;
    let sum = places
        .iter()
        .fold((0.0, 0.0), |sum, at| (sum.0 + at.0, sum.1 + at.1));
    (!places.is_empty()).then(|| (sum.0 / many, sum.1 / many))
}

/// A drag over more pixels than this draws a box.
const LEAST_BOX: f32 = 6.0;
const DOUBLE_TAP: Duration = Duration::from_millis(400);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_key_selects_no_units_inside_buildings() {
        let (world, hall) = fixture::sheltered();
        let own = world.units().filter(|unit| unit.seat == Seat(0));
        let inside: Vec<Id> = own.map(|unit| unit.id).collect();
        let mut hand = Hand::new(Seat(0));
        hand.groups[1] = inside.clone();
        hand.select(vec![hall]);
        // Before the next tick: a paused match, or one that is over, has none.
        let soldiers = hand.select_soldiers(&world);
        assert!(matches!(soldiers, Some(Request::Say(_))), "{soldiers:?}");
        let plain = Modifiers::default();
        let now = Duration::from_secs(9);
        let group = hand.group(1, plain, now, &world);
        assert!(matches!(group, Some(Request::Say(_))), "{group:?}");
        assert_eq!(hand.selection(), [hall]);
        // A double tap shows where they are.
        let again = hand.group(1, plain, now, &world);
        assert_eq!(again, middle_of(&inside, &world).map(Request::Look));
        assert_eq!(hand.selection(), [hall]);
        // The others of a group are selected.
        hand.groups[2] = inside;
        hand.groups[2].push(hall);
        hand.select(Vec::new());
        assert_eq!(hand.group(2, plain, now, &world), None);
        assert_eq!(hand.selection(), [hall]);
    }
}
