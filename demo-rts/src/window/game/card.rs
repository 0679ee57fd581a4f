//! The command card: commands for the selection, each with its key, its price, and why it is unavailable.

use super::effects;
use super::hand::{Aim, Hand, IssuedOrder, Mode, Request, why_not};
use super::signs::Sign;
use crate::window::canvas::Colour;
use crate::window::input::{Input, KeyCode};
use crate::window::{theme, words};
use crate::world::{BuildingView, Command, Id, Job, Kind, SeatView, Upgrade, World};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Page {
    /// Commands for the selection.
    #[default]
    Main,
    /// Buildings that workers can build.
    Build,
}

/// The effect of a button or its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The next click gives the target.
    Aim(Aim),
    Stop,
    Hold,
    Turn(Page),
    /// The next click gives the site.
    Place(Kind),
    Train(Id, Kind),
    Research(Id, Upgrade),
    /// Cancel this place of the queue.
    Cancel(Id, u8),
    /// Unload all units inside.
    Empty(Id),
    TearDown(Id),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub action: Action,
    pub sign: Sign,
    pub key: KeyCode,
    pub name: String,
    pub purpose: String,
    /// Gold and wood.
    pub price: (u32, u32),
    /// Why it is unavailable now.
    pub lacks: Option<String>,
}

impl Entry {
    /// The lines of its tooltip.
    pub fn tip(&self) -> Vec<(String, Colour)> {
        let heading = format!("{} ({})", self.name, key_name(self.key));
        let mut lines = vec![(heading, theme::TEXT)];
        if self.price != (0, 0) {
            lines.push((words::price(self.price), theme::GOLD));
        }
        lines.push((self.purpose.clone(), theme::FAINT));
        if let Some(lacks) = &self.lacks {
            lines.push((lacks.clone(), theme::BAD));
        }
        lines
    }
}

/// The card for the selection.
pub fn card(hand: &Hand, page: Page, world: &World) -> Vec<Entry> {
    let Some(own) = world.seat(hand.seat()) else {
        return Vec::new();
    };
    let units = hand.units(world);
    if units.is_empty() {
        let building = hand.building(world).and_then(|id| world.building(id));
        return building.map_or_else(Vec::new, |building| of_building(&building, &own, world));
    }
    let has = |wanted: fn(Kind) -> bool| {
        let mut kinds = units.iter().filter_map(|id| world.unit(*id));
        kinds.any(|unit| wanted(unit.kind))
    };
    let workers = has(|kind| kind == Kind::Worker);
    if page == Page::Build && workers {
        return build_page(&own, world);
    }
    let aim = |aim, sign, key, (name, purpose): (&str, &str)| {
        entry(Action::Aim(aim), sign, key, name, purpose)
    };
    let mut entries = vec![
        aim(Aim::Move, Sign::Move, KeyCode::M, words::MOVE),
        aim(Aim::Attack, Sign::Attack, KeyCode::A, words::ATTACK),
        aim(Aim::Patrol, Sign::Patrol, KeyCode::Y, words::PATROL),
        entry(
            Action::Stop,
            Sign::Stop,
            KeyCode::X,
            words::STOP.0,
            words::STOP.1,
        ),
        entry(
            Action::Hold,
            Sign::Hold,
            KeyCode::H,
            words::HOLD.0,
            words::HOLD.1,
        ),
        aim(Aim::Enter, Sign::Enter, KeyCode::I, words::ENTER),
    ];
    if workers {
        let turn = Action::Turn(Page::Build);
        entries.push(aim(Aim::Gather, Sign::Gather, KeyCode::G, words::GATHER));
        entries.push(aim(Aim::Work, Sign::Work, KeyCode::V, words::WORK));
        entries.push(entry(
            turn,
            Sign::Build,
            KeyCode::B,
            words::BUILD.0,
            words::BUILD.1,
        ));
    }
    if has(|kind| kind == Kind::Catapult) {
        entries.push(aim(Aim::Shell, Sign::Shell, KeyCode::D, words::SHELL));
    }
    entries
}

fn build_page(own: &SeatView, world: &World) -> Vec<Entry> {
    let mut entries: Vec<Entry> = BUILD
        .iter()
        .map(|(kind, key)| {
            let stats = kind.stats();
            let price = (stats.gold, stats.wood);
            let may = world.may_build(own.seat, *kind);
            let name = words::title_of(stats.name);
            let made = entry(
                Action::Place(*kind),
                Sign::Kind(*kind),
                *key,
                &name,
                words::purpose(*kind),
            );
            Entry {
                price,
                lacks: why_not(may, stats.needs, price, own.seat, world),
                ..made
            }
        })
        .collect();
    let (name, purpose) = words::BACK;
    let back = Action::Turn(Page::Main);
    entries.push(entry(back, Sign::Back, KeyCode::Escape, name, purpose));
    entries
}

fn of_building(building: &BuildingView, own: &SeatView, world: &World) -> Vec<Entry> {
    let mut entries = Vec::new();
    let id = building.id;
    if building.complete {
        for kind in building.kind.trains() {
            let stats = kind.stats();
            let job = Job::Train(*kind);
            let price = world.price(own.seat, job);
            let may = world.may_enqueue(own.seat, id, job);
            let room = own.population + u32::from(stats.population) <= own.population_limit;
            let purpose = match room {
                true => words::purpose(*kind).to_owned(),
                false => format!("{} {}", words::purpose(*kind), words::NO_HOUSES),
            };
            let name = words::title_of(stats.name);
            let made = entry(
                Action::Train(id, *kind),
                Sign::Kind(*kind),
                train_key(*kind),
                &name,
                &purpose,
            );
            entries.push(Entry {
                price,
                lacks: why_not(may, stats.needs, price, own.seat, world),
                ..made
            });
        }
        for upgrade in Upgrade::ALL {
            if upgrade.stats().at == building.kind {
                entries.extend(research(building, upgrade, own, world));
            }
        }
        if !building.kind.trains().is_empty() {
            let (name, purpose) = words::RALLY;
            entries.push(entry(
                Action::Aim(Aim::Rally),
                Sign::Rally,
                KeyCode::R,
                name,
                purpose,
            ));
        }
        if building.kind.stats().shelters > 0 {
            let (name, purpose) = words::UNLOAD;
            let made = entry(Action::Empty(id), Sign::Leave, KeyCode::L, name, purpose);
            let lacks = (building.inside == 0).then(|| words::NO_UNITS_INSIDE.to_owned());
            entries.push(Entry { lacks, ..made });
        }
    }
    let (name, purpose) = match building.complete {
        true => words::DEMOLISH,
        false => words::ABANDON,
    };
    entries.push(entry(
        Action::TearDown(id),
        Sign::TearDown,
        KeyCode::Delete,
        name,
        purpose,
    ));
    entries
}

fn research(
    building: &BuildingView,
    upgrade: Upgrade,
    own: &SeatView,
    world: &World,
) -> Option<Entry> {
    let stats = upgrade.stats();
    let known = own.upgrades[upgrade as usize];
    let level = known + 1;
    if known >= stats.levels {
        return None;
    }
    let job = Job::Research(upgrade);
    let price = world.price(own.seat, job);
    let may = world.may_enqueue(own.seat, building.id, job);
    let name = format!("{} {level}", words::title_of(stats.name));
    let made = entry(
        Action::Research(building.id, upgrade),
        Sign::Upgrade(upgrade),
        research_key(upgrade),
        &name,
        words::upgrade(upgrade),
    );
    Some(Entry {
        price,
        lacks: why_not(may, stats.needs, price, own.seat, world),
        ..made
    })
}

/// The pressed key finds its entry on the card, and says whether the order is for later.
pub fn pressed_key(input: &Input, hand: &Hand, page: Page, world: &World) -> Option<(Entry, bool)> {
    let pressed = |entry: Entry| {
        let with = input.hit_with(entry.key)?;
        (!with.control && !with.alt).then_some((entry, with.shift))
    };
    card(hand, page, world).into_iter().find_map(pressed)
}

/// A command without a target.
fn order(command: Command) -> Request {
    Request::Issue(IssuedOrder {
        command,
        to: None,
        sign: effects::Sign::Go,
        ids: Vec::new(),
    })
}

/// Carries out an action of the card.
pub fn act(
    action: Action,
    hand: &mut Hand,
    page: &mut Page,
    world: &World,
    later: bool,
) -> Option<Request> {
    let units = |hand: &Hand| world.select(hand.seat(), hand.units(world));
    match action {
        Action::Aim(aim) => hand.mode = Mode::Aim(aim),
        Action::Place(kind) => {
            hand.mode = Mode::Place(kind);
            *page = Page::Main;
        }
        Action::Turn(to) => {
            *page = to;
            hand.mode = Mode::Free;
        }
        Action::Stop => {
            let units = units(hand);
            return Some(order(Command::Stop { units }));
        }
        Action::Hold => {
            let units = units(hand);
            let hold = Command::Hold { units };
            return Some(order(if later { hold.later() } else { hold }));
        }
        Action::Train(building, kind) => {
            return Some(order(Command::Train { building, kind }));
        }
        Action::Research(building, upgrade) => {
            return Some(order(Command::Research { building, upgrade }));
        }
        Action::Cancel(building, place) => {
            return Some(order(Command::CancelTrain { building, place }));
        }
        Action::Empty(building) => {
            return Some(order(Command::Leave { building }));
        }
        Action::TearDown(building) => {
            let complete = world.building(building)?.complete;
            let command = match complete {
                true => Command::Demolish { building },
                false => Command::CancelBuild { building },
            };
            return Some(order(command));
        }
    }
    None
}

/// A key's name for people.
pub fn key_name(key: KeyCode) -> String {
    match key {
        KeyCode::Escape => "Esc".to_owned(),
        KeyCode::Delete => "Del".to_owned(),
        key => format!("{key:?}"),
    }
}

fn entry(action: Action, sign: Sign, key: KeyCode, name: &str, purpose: &str) -> Entry {
    Entry {
        action,
        sign,
        key,
        name: name.to_owned(),
        purpose: purpose.to_owned(),
        price: (0, 0),
        lacks: None,
    }
}

fn train_key(kind: Kind) -> KeyCode {
    match kind {
        Kind::Worker => KeyCode::W,
        Kind::Swordsman => KeyCode::S,
        Kind::Archer => KeyCode::A,
        Kind::Knight => KeyCode::K,
        _ => KeyCode::C,
    }
}

fn research_key(upgrade: Upgrade) -> KeyCode {
    match upgrade {
        Upgrade::Blades => KeyCode::B,
        Upgrade::Armour => KeyCode::U,
        Upgrade::Fletching => KeyCode::F,
        Upgrade::Tools => KeyCode::T,
        Upgrade::Masonry => KeyCode::M,
    }
}

const BUILD: [(Kind, KeyCode); 9] = [
    (Kind::House, KeyCode::H),
    (Kind::Farm, KeyCode::F),
    (Kind::Barracks, KeyCode::B),
    (Kind::Range, KeyCode::R),
    (Kind::Stable, KeyCode::S),
    (Kind::Workshop, KeyCode::M),
    (Kind::Tower, KeyCode::I),
    (Kind::Wall, KeyCode::W),
    (Kind::TownHall, KeyCode::T),
];

#[cfg(test)]
mod tests;
