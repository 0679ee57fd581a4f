//! The line above the keys, as text.

use super::{Hand, Mode, kind_of};
use crate::words::{self, count};
use crate::world::{BuildingView, Id, Job, Kind, Order, Terrain, UnitView, World};
use lockstep::Seat;

impl Hand {
    /// The selection and what is under the cursor, or the choices of the next key. `named` gives the name of a
    /// seat's player.
    pub fn describe(&self, world: &World, named: impl Fn(Seat) -> String) -> String {
        match self.mode {
            Mode::Choosing(menu) => format!("{}  esc back", menu.describe(world, self.seat)),
            Mode::Placing(site) => self.describe_site(site, world),
            Mode::Asking(building) => {
                let name = kind_of(building, world).map_or("building", |kind| kind.stats().name);
                format!("demolish the {name}?  del or y = yes  any other key = no")
            }
            Mode::Free => format!(
                "{}  |  {},{} {}",
                self.describe_selection(world),
                self.cursor.x,
                self.cursor.y,
                self.describe_cursor(world, named)
            ),
        }
    }

    fn describe_selection(&self, world: &World) -> String {
        let mut words: Vec<String> = Vec::new();
        for kind in Kind::ALL {
            let of_kind = |id: &&Id| kind_of(**id, world) == Some(kind);
            let many = self.selection.iter().filter(of_kind).count();
            if many > 0 {
                words.push(words::kinds(many, kind));
            }
        }
        let first = self.selection.first();
        if let [only] = self.selection.as_slice() {
            words.extend(health(*only, world));
        }
        if let Some(building) = first.and_then(|id| world.building(*id)) {
            words.extend(activity(&building, world));
        }
        let waiting = first.map_or(0, |id| world.waypoints(*id).count());
        if waiting > 0 {
            words.push(format!("{} waiting", count(waiting as u64, "order")));
        }
        if words.is_empty() {
            "nothing selected".to_owned()
        } else {
            words.join(", ")
        }
    }

    /// What is under the cursor, as far as the seat knows.
    fn describe_cursor(&self, world: &World, named: impl Fn(Seat) -> String) -> String {
        let Some(seen) = world.seen_by(self.seat) else {
            return String::new();
        };
        let owned = |seat: Seat, kind: Kind| {
            let name = kind.stats().name;
            match seat == self.seat {
                true => format!("your {name}"),
                false => format!("{name} of {}", named(seat)),
            }
        };
        let here = |unit: &UnitView| unit.tile == self.cursor && unit.order != Order::Inside;
        let mut units = seen.units().filter(here);
        if let Some(unit) = units.next() {
            let left = self.hit_points_text(unit.seat, unit.kind, unit.hit_points, world);
            let others = match units.count() {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            return format!("{}, {left}{others}", owned(unit.seat, unit.kind));
        }
        if let Some(building) = seen.building_on(self.cursor) {
            let left =
                self.hit_points_text(building.seat, building.kind, building.hit_points, world);
            let known = match (building.remembered, building.complete) {
                (true, _) => ", last seen like this",
                (false, false) => ", unfinished",
                (false, true) => "",
            };
            return format!("{}, {left}{known}", owned(building.seat, building.kind));
        }
        let amount = seen.resource(self.cursor).map_or(0, |(_, amount)| amount);
        match seen.terrain(self.cursor) {
            None => "unexplored".to_owned(),
            Some(Terrain::Ground) => "ground".to_owned(),
            Some(Terrain::Rock) => "rock".to_owned(),
            Some(Terrain::Water) => "water".to_owned(),
            Some(Terrain::Forest) => format!("forest, {amount} wood"),
            Some(Terrain::Gold) => format!("mine, {amount} gold"),
        }
    }

    /// `30 of 40 hp`. Another seat's upgrades are unknown: its maximum is the table's, or the visible number if higher.
    fn hit_points_text(&self, seat: Seat, kind: Kind, left: u16, world: &World) -> String {
        let own = world.stats(seat, kind).filter(|_| seat == self.seat);
        let usual = kind.stats().hit_points.max(left);
        let whole = own.map_or(usual, |line| line.hit_points);
        format!("{left} of {whole} hp")
    }
}

/// Hit points of the maximum of one unit or building.
fn health(id: Id, world: &World) -> Option<String> {
    let unit = world.unit(id).map(|u| (u.seat, u.kind, u.hit_points));
    let (seat, kind, left) =
        unit.or_else(|| world.building(id).map(|b| (b.seat, b.kind, b.hit_points)))?;
    let whole = world.stats(seat, kind)?.hit_points;
    Some(format!("{left} of {whole} hp"))
}

/// The building's construction, queue and research.
fn activity(building: &BuildingView, world: &World) -> Vec<String> {
    let mut words = Vec::new();
    if !building.complete {
        let ticks = u32::from(building.kind.stats().build_ticks.max(1));
        let done = u32::from(building.progress) * 100 / ticks;
        words.push(format!("{done} % built"));
    }
    let jobs = building.queue.iter().flatten().zip(1..);
    for (job, place) in jobs {
        let name = match job {
            Job::Train(kind) => kind.stats().name,
            Job::Research(upgrade) => upgrade.stats().name,
        };
        let done = u32::from(building.worked) * 100 / u32::from(job.ticks()).max(1);
        words.push(match place {
            1 if lacks_housing(building, world) => format!("1: {name} needs a house"),
            1 => format!("1: {name} {done} %"),
            _ => format!("{place}: {name}"),
        });
    }
    if building.inside > 0 {
        words.push(format!("{} inside", building.inside));
    }
    words
}

/// Whether the first of the queue cannot begin, because the seat lacks housing.
fn lacks_housing(building: &BuildingView, world: &World) -> bool {
    let seat = world.seat(building.seat);
    match (building.queue.first(), seat) {
        (Some(Some(Job::Train(kind))), Some(seat)) if building.worked == 0 => {
            seat.population + u32::from(kind.stats().population) > seat.population_limit
        }
        _ => false,
    }
}
