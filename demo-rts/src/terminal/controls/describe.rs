//! A hand's business in words: the line above the keys.

use super::{Hand, Mode, kind_of};
use crate::plain::count;
use crate::terminal::words;
use crate::world::{BuildingView, Id, Job, Kind, Terrain, World};

impl Hand {
    /// What is selected and what lies under the cursor, or what the next key chooses from.
    pub fn describe(&self, world: &World) -> String {
        match self.mode {
            Mode::Choosing(menu) => format!("{}  esc back", menu.describe(world, self.seat)),
            Mode::Placing(site) => self.describe_site(site, world),
            Mode::Asking(building) => {
                let name = kind_of(building, world).map_or("building", |kind| kind.stats().name);
                format!("tear the {name} down?  del or y = yes  any other key = no")
            }
            Mode::Free => format!(
                "{}  |  {},{} {}",
                self.describe_selection(world),
                self.cursor.x,
                self.cursor.y,
                self.describe_ground(world)
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
            words.extend(business(&building, world));
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

    fn describe_ground(&self, world: &World) -> String {
        match world.map().terrain(self.cursor) {
            _ if !world.explored(self.seat, self.cursor) => "unexplored".to_owned(),
            Terrain::Ground => "ground".to_owned(),
            Terrain::Rock => "rock".to_owned(),
            Terrain::Water => "water".to_owned(),
            Terrain::Forest => format!("forest, {} wood", world.map().amount(self.cursor)),
            Terrain::Gold => format!("mine, {} gold", world.map().amount(self.cursor)),
        }
    }
}

/// How much a single thing can still bear, of how much.
fn health(id: Id, world: &World) -> Option<String> {
    let unit = world.unit(id).map(|u| (u.seat, u.kind, u.hit_points));
    let (seat, kind, left) =
        unit.or_else(|| world.building(id).map(|b| (b.seat, b.kind, b.hit_points)))?;
    let whole = world.stats(seat, kind)?.hit_points;
    Some(format!("{left} of {whole} hp"))
}

/// What a building is busy with.
fn business(building: &BuildingView, world: &World) -> Vec<String> {
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
            1 if lacks_room(building, world) => format!("1: {name} waits for a house"),
            1 => format!("1: {name} {done} %"),
            _ => format!("{place}: {name}"),
        });
    }
    if building.inside > 0 {
        words.push(format!("{} inside", building.inside));
    }
    words
}

/// Whether the first in the queue cannot be begun, because its seat gives no room to live.
fn lacks_room(building: &BuildingView, world: &World) -> bool {
    let seat = world.seat(building.seat);
    match (building.queue.first(), seat) {
        (Some(Some(Job::Train(kind))), Some(seat)) if building.worked == 0 => {
            seat.population + u32::from(kind.stats().population) > seat.population_limit
        }
        _ => false,
    }
}
