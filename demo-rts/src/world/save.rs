//! The world as bytes: little-endian columns, and everything checked on the way back.

use super::{
    Density, Map, MapKind, Scenario, Setup, World,
    bands::BANDS,
    buildings::Buildings,
    columns::{Reader, Shown},
    combat::Projectiles,
    fog::{self, Fog},
    goals::{Goals, MOST_STEPS, most_goals},
    map::{LARGEST, SMALLEST, Unfit},
    recent::{self, Recent},
    research::{Abilities, Job},
    roll::Roll,
    seats::Seats,
    setup::MOST_SEATS,
    space::{ONE, Tile},
    tables::{CARRY, QUEUE_LENGTH, RULES, UPGRADES, Upgrade},
    units::{Load, Order, Units, Way},
    victory::{Ending, Verdict},
    waypoints::{self, Waypoints},
};
use sim::{Checksum, Digest, Digester, Field, LoadError, Sink, State, Stream, Sum, Visit};

impl State for World {
    fn save(&self, out: &mut Vec<u8>) {
        out.reserve(256 + self.map.tiles() * 3 + self.units.len() * 80 + self.buildings.len() * 32);
        write(self, out);
    }

    fn checksum(&self) -> Checksum {
        let mut sum = Sum::new();
        write(self, &mut sum);
        sum.checksum()
    }

    fn digest(&self) -> Digest {
        let mut digester = Digester::new();
        write(self, &mut digester);
        digester.finish()
    }

    fn load(bytes: &[u8]) -> Result<Self, LoadError> {
        let mut from = Reader::new(bytes);
        let magic = from.value::<u32>("magic")?;
        from.require(magic == MAGIC, "magic")?;
        let tick = from.value("tick")?;
        let next_id = from.value("next id")?;
        let last_band = from.value::<u16>("last band")?;
        from.require(last_band < BANDS, "last band")?;
        let random: Stream = from.serde()?;
        let setup = load_setup(&mut from)?;
        let ending = Ending {
            verdict: from.value::<Verdict>("verdict")?,
            winner: from.value("winner")?,
        };
        let size = from.value::<u16>("map size")?;
        from.require((SMALLEST..=LARGEST).contains(&size), "map size")?;
        let tiles = usize::from(size) * usize::from(size);
        let terrain = from.column::<u8>(tiles, "terrain")?;
        let amounts = from.column::<u16>(Map::deposits(&terrain).len(), "amount")?;
        from.require(
            amounts.iter().all(|left| *left <= RULES.mine_gold),
            "amount",
        )?;
        let map = Map::load(size, terrain, amounts).map_err(|Unfit| from.fail("terrain"))?;
        let mut rows = || Ok(from.value::<u32>("row count")? as usize);
        let [seats, units, buildings] = [rows()?, rows()?, rows()?];
        let [projectiles, goals, graves] = [rows()?, rows()?, rows()?];
        let mut world = World {
            tick,
            setup,
            map,
            seats: Seats::load(&mut from, seats)?,
            units: Units::load(&mut from, units)?,
            buildings: Buildings::load(&mut from, buildings)?,
            projectiles: Projectiles::load(&mut from, projectiles)?,
            goals: Goals::load(&mut from, goals)?,
            roll: Roll::default(),
            recents: Vec::new(),
            fog: Fog::default(),
            waypoints: Waypoints::default(),
            next_id,
            last_band,
            random,
            ending,
            abilities: Abilities::default(),
            bands: super::bands::Bands::default(),
            crowd: super::crowd::Crowd::default(),
            blows: Vec::new(),
            ground_changed: false,
            threads: super::crowd::Threads::default(),
            plain: false,
        };
        check_seats(&world, &from)?;
        world.abilities = Abilities::of_seats(&world.seats);
        place_buildings(&mut world, &from)?;
        check_research(&world, &from)?;
        check_units(&world, &from)?;
        check_garrisons(&world, &from)?;
        check_projectiles(&world, &from)?;
        check_goals(&world, &from)?;
        world.roll = Roll::load(&mut from, graves, &world.units, seats, tick)?;
        for seat in 0..seats {
            let is_number = |number| world.roll.id(seat, number).is_some();
            let recent = Recent::load(&mut from, is_number)?;
            world.recents.push(recent);
        }
        world.fog = Fog::load(&mut from, world.setup.fog, size, seats)?;
        fog::check_ghosts(&world, &from)?;
        let rows = from.value::<u32>("waypoint count")? as usize;
        world.waypoints = Waypoints::load(&mut from, rows)?;
        from.require(waypoints::are_sound(&world), "waypoints")?;
        from.finish()?;
        world.map.refresh_regions();
        world.units.index_rows();
        Ok(world)
    }

    fn visit(&self, to: &mut dyn Visit) {
        if to.section("world", 1) && to.row(0) {
            to.field("tick", &Shown(self.tick));
            to.field("next_id", &Shown(self.next_id));
            to.field("last_band", &Shown(self.last_band));
            let mut random = Vec::new();
            random.serde(&self.random);
            to.field("random", &Raw(random));
            to.field("verdict", &Shown(self.ending.verdict));
            to.field("winner", &Shown(self.ending.winner));
            to.field("map_size", &Shown(self.map.size()));
            to.field("population", &Shown(self.setup.population));
            to.field("last_tick", &Shown(self.setup.last_tick()));
        }
        if to.section("tiles", self.map.tiles()) {
            for at in 0..self.map.tiles() {
                if to.row(at as u64) {
                    let tile = self.map.tile_of(at as u32);
                    to.field("terrain", &Shown(self.map.terrain(tile)));
                    to.field("amount", &Shown(self.map.amount(tile)));
                }
            }
        }
        let ids = |ids: &[u32]| ids.iter().map(|id| u64::from(*id)).collect::<Vec<_>>();
        let seats = self.seats.seat.iter().map(|seat| u64::from(*seat));
        self.seats.visit("seats", seats, to);
        self.units
            .visit("units", ids(&self.units.id).into_iter(), to);
        self.buildings
            .visit("buildings", ids(&self.buildings.id).into_iter(), to);
        self.projectiles
            .visit("projectiles", 0..self.projectiles.len() as u64, to);
        self.goals.visit("goals", 0..self.goals.len() as u64, to);
        let graves = 0..self.roll.graves.len() as u64;
        self.roll.graves.visit("graves", graves, to);
        recent::visit(&self.recents, to);
        self.fog.visit(to);
        self.waypoints
            .visit("waypoints", 0..self.waypoints.len() as u64, to);
    }
}

/// The names are those of [`World::visit`], as far as both have one.
fn write(w: &World, to: &mut impl Sink) {
    to.section("world");
    to.column(&[MAGIC, w.tick, w.next_id]);
    to.value(w.last_band);
    to.serde(&w.random);
    write_setup(&w.setup, to);
    to.column(&[w.ending.verdict as u8, w.ending.winner]);
    to.value(w.map.size());
    to.section("tiles");
    to.field("terrain");
    to.column(w.map.terrain_column());
    to.field("amount");
    to.column(w.map.amount_column());
    to.section("rows");
    let rows = [
        w.seats.len(),
        w.units.len(),
        w.buildings.len(),
        w.projectiles.len(),
        w.goals.len(),
        w.roll.graves.len(),
    ];
    to.column(&rows.map(|rows| rows as u32));
    to.section("seats");
    w.seats.write(to);
    to.section("units");
    w.units.write(to);
    to.section("buildings");
    w.buildings.write(to);
    to.section("projectiles");
    w.projectiles.write(to);
    to.section("goals");
    w.goals.write(to);
    to.section("graves");
    w.roll.graves.write(to);
    to.section("selections");
    for recent in &w.recents {
        recent.write(to);
    }
    to.section("fog");
    w.fog.write(to);
    to.section("waypoints");
    to.value(w.waypoints.len() as u32);
    w.waypoints.write(to);
}

fn write_setup(setup: &Setup, to: &mut impl Sink) {
    let (kind, units, density) = match setup.scenario {
        Scenario::Standard => (0_u8, 0, 0),
        Scenario::Skirmish { units_per_seat } => (1, u32::from(units_per_seat), 0),
        Scenario::Archers { units_per_seat } => (2, u32::from(units_per_seat), 0),
        Scenario::March { units } => (3, units, 0),
        Scenario::Swarm { units, density } => (4, units, density as u32),
    };
    let map = setup.map.map_or(0, |map| map as u8 + 1);
    to.column(&[u8::from(setup.map_seed.is_some()), map, kind]);
    to.value(setup.map_seed.unwrap_or_default());
    to.column(&[
        setup.size.unwrap_or_default(),
        setup.population,
        setup.minutes,
    ]);
    to.column(&[setup.gold, setup.wood, units, density]);
    to.value(u8::from(setup.fog));
}

fn load_setup(from: &mut Reader<'_>) -> Result<Setup, LoadError> {
    let seeded = from.value::<u8>("map seed")?;
    let map = from.value::<u8>("map")?;
    let kind = from.value::<u8>("scenario")?;
    let map_seed = from.value::<u64>("map seed")?;
    let size = from.value::<u16>("size")?;
    let population = from.value("population")?;
    let minutes = from.value("minutes")?;
    let gold = from.value("gold")?;
    let wood = from.value("wood")?;
    let units = from.value::<u32>("units")?;
    let density = from.value::<u32>("density")?;
    let fog = match from.value::<u8>("fog")? {
        0 => false,
        1 => true,
        _ => return Err(from.fail("fog")),
    };
    let units_per_seat = u16::try_from(units).unwrap_or(u16::MAX);
    let scenario = match kind {
        0 => Scenario::Standard,
        1 => Scenario::Skirmish { units_per_seat },
        2 => Scenario::Archers { units_per_seat },
        3 => Scenario::March { units },
        _ => Scenario::Swarm {
            units,
            density: Density::from_number(density).unwrap_or(Density::Sparse),
        },
    };
    let setup = Setup {
        map_seed: (seeded == 1).then_some(map_seed),
        map: map.checked_sub(1).and_then(MapKind::from_number),
        size: (size > 0).then_some(size),
        scenario,
        population,
        minutes,
        gold,
        wood,
        fog,
    };
    // What is not used is zero, so that a setup has one encoding.
    let fits = match kind {
        0 => units == 0 && density == 0,
        1 | 2 => u32::from(units_per_seat) == units && density == 0,
        3 => density == 0,
        4 => Density::from_number(density).is_some(),
        _ => false,
    };
    let canonical =
        seeded <= 1 && (map == 0) == setup.map.is_none() && fits && (seeded == 1 || map_seed == 0);
    from.require(canonical && setup == setup.in_range(), "setup")?;
    Ok(setup)
}

fn check_seats(w: &World, from: &Reader<'_>) -> Result<(), LoadError> {
    let seats = &w.seats;
    from.require(seats.len() <= MOST_SEATS, "seats")?;
    from.require(seats.seat.is_sorted_by(|a, b| a < b), "seats")?;
    from.require(seats.defeated.iter().all(|flag| *flag <= 1), "defeated")?;
    from.require(in_map(w, &seats.home), "home")?;
    let known = |levels: &[u8; UPGRADES]| {
        let mut pairs = Upgrade::ALL.into_iter().zip(levels);
        pairs.all(|(upgrade, level)| *level <= upgrade.stats().levels)
    };
    from.require(seats.upgrades.iter().all(known), "upgrades")?;
    let won = w.ending.verdict == Verdict::Won;
    let winner = usize::from(w.ending.winner);
    from.require(
        if won {
            winner < seats.len()
        } else {
            winner == 0
        },
        "winner",
    )
}

/// Checks the buildings and puts them on the map.
fn place_buildings(w: &mut World, from: &Reader<'_>) -> Result<(), LoadError> {
    from.require(ids_are_good(w, &w.buildings.id), "building ids")?;
    from.require(in_map(w, &w.buildings.rally), "rally")?;
    from.require(in_map(w, &w.buildings.tile), "building tile")?;
    for row in 0..w.buildings.len() {
        let b = &w.buildings;
        let stats = b.kind[row].stats();
        let queued = usize::from(b.queued[row]);
        from.require(b.kind[row].is_building(), "building kind")?;
        from.require(usize::from(b.seat[row]) < w.seats.len(), "building seat")?;
        let most = w.able_building(row).hit_points;
        from.require((1..=most).contains(&b.hp[row]), "building hit points")?;
        from.require(b.progress[row] <= stats.build_ticks, "progress")?;
        from.require(b.cooldown[row] <= stats.cooldown, "building cooldown")?;
        from.require(queued <= QUEUE_LENGTH, "queue")?;
        let (line, rest) = b.queue[row].split_at(queued);
        let known =
            |number: &u8| Job::from_number(*number).is_some_and(|job| job.is_done_at(b.kind[row]));
        from.require(
            line.iter().all(known) && rest.iter().all(|n| *n == 0),
            "queue",
        )?;
        let most = b.queue(row).next().map_or(0, Job::ticks);
        from.require(b.trained[row] <= most, "training")?;
        let inside = u16::from(b.inside[row]);
        from.require(inside <= stats.shelters, "building inside")?;
        from.require(inside == 0 || b.is_complete(row), "building inside")?;
        let tile: Tile = w.map.tile_of(b.tile[row]);
        from.require(w.map.has_room(tile, stats.size), "building ground")?;
        let id = super::Id(b.id[row]);
        let solid = b.is_solid(row);
        w.map.occupy(tile, stats.size, id);
        if solid {
            w.map.set_solid(tile, stats.size, true);
        }
    }
    Ok(())
}

fn check_units(w: &World, from: &Reader<'_>) -> Result<(), LoadError> {
    let units = &w.units;
    from.require(ids_are_good(w, &units.id), "unit ids")?;
    let shared = units
        .id
        .iter()
        .any(|id| w.buildings.id.binary_search(id).is_ok());
    from.require(!shared, "an id used twice")?;
    for tiles in [&units.goal, &units.post, &units.aim, &units.site] {
        from.require(in_map(w, tiles), "a unit's tile")?;
    }
    from.require(units.band.iter().all(|band| *band < BANDS), "band")?;
    for row in 0..units.len() {
        let stats = units.stats(row);
        from.require(!units.kind[row].is_building(), "unit kind")?;
        from.require(usize::from(units.seat[row]) < w.seats.len(), "unit seat")?;
        from.require(units.hp[row] <= stats.hit_points, "unit hit points")?;
        let edge = i32::from(w.map.size()) * ONE;
        let at = units.at(row);
        from.require(
            (0..edge).contains(&at.x) && (0..edge).contains(&at.y),
            "unit ground",
        )?;
        // Something may have been built where a unit died.
        from.require(
            !units.is_on_map(row) || !w.map.is_blocked_at(at),
            "unit ground",
        )?;
        from.require(units.cooldown[row] <= stats.cooldown, "cooldown")?;
        let course = usize::from(units.course[row]);
        let leads = w.goals.size.get(course).is_some_and(|size| *size > 0);
        from.require(units.way[row] != Way::Course || leads, "course")?;
        let load = units.load[row] != Load::Nothing;
        from.require(
            units.amount[row] <= CARRY && (load || units.amount[row] == 0),
            "load",
        )?;
        let works = matches!(
            units.order[row],
            Order::Gather | Order::Return | Order::Construct | Order::Farm | Order::Repair
        );
        from.require(!works || stats.gather_ticks > 0, "order")?;
        let throws = units.order[row] == Order::AttackGround;
        from.require(!throws || stats.splash > 0, "order")?;
        let longest = stats.gather_ticks.max(stats.farm_ticks);
        from.require(units.work[row] <= longest, "work")?;
    }
    Ok(())
}

/// Nobody researches what is known, or one thing twice.
fn check_research(w: &World, from: &Reader<'_>) -> Result<(), LoadError> {
    let mut levels = w.seats.upgrades.clone();
    for row in 0..w.buildings.len() {
        for job in w.buildings.queue(row) {
            if let Job::Research(upgrade) = job {
                let known = w.seats.upgrades[usize::from(w.buildings.seat[row])][upgrade as usize];
                let level = &mut levels[usize::from(w.buildings.seat[row])][upgrade as usize];
                *level += 1;
                from.require(*level == known + 1, "research")?;
                from.require(*level <= upgrade.stats().levels, "research")?;
            }
        }
    }
    Ok(())
}

/// Whoever is inside is inside a building of its own seat, in its middle; and every guest is counted.
fn check_garrisons(w: &World, from: &Reader<'_>) -> Result<(), LoadError> {
    let units = &w.units;
    let mut inside = vec![0_u32; w.buildings.len()];
    for row in (0..units.len()).filter(|row| units.is_inside(*row) && units.is_alive(*row)) {
        let building = w.buildings.row(super::Id(units.target[row]));
        let own = building.filter(|b| w.buildings.seat[*b] == units.seat[row]);
        from.require(
            own.is_some_and(|b| w.building_centre(b) == units.at(row)),
            "garrison",
        )?;
        from.require(
            units.way[row] == Way::None && units.stats(row).splash == 0,
            "garrison",
        )?;
        if let Some(building) = own {
            inside[building] += 1;
        }
    }
    let counted = w.buildings.inside.iter().map(|count| u32::from(*count));
    from.require(counted.eq(inside), "garrison")
}

fn check_projectiles(w: &World, from: &Reader<'_>) -> Result<(), LoadError> {
    let p = &w.projectiles;
    let edge = i32::from(w.map.size()) * ONE;
    let on_map = |places: &[i32]| places.iter().all(|at| (0..edge).contains(at));
    for places in [&p.x, &p.y, &p.to_x, &p.to_y] {
        from.require(on_map(places), "projectile place")?;
    }
    for row in 0..p.len() {
        from.require(p.kind[row].stats().arrow_speed > 0, "projectile kind")?;
        from.require(usize::from(p.seat[row]) < w.seats.len(), "projectile seat")?;
    }
    Ok(())
}

fn check_goals(w: &World, from: &Reader<'_>) -> Result<(), LoadError> {
    let goals = &w.goals;
    from.require(goals.len() <= most_goals(w), "goals")?;
    from.require(in_map(w, &goals.tile), "goal")?;
    from.require(goals.size.iter().all(|size| *size <= 16), "goal")?;
    let seats = w.seats.len();
    from.require(
        goals.seat.iter().all(|seat| usize::from(*seat) < seats),
        "goal",
    )?;
    let mut places: Vec<_> = goals.tile.iter().zip(&goals.size).collect();
    places.retain(|(_, size)| **size > 0);
    let used = places.len();
    places.sort_unstable();
    places.dedup();
    from.require(places.len() == used, "a goal twice")?;
    from.require(goals.pursuit.iter().all(|flag| *flag <= 1), "goal")?;
    let steps: u64 = goals.steps.iter().map(|steps| u64::from(*steps)).sum();
    from.require(steps <= MOST_STEPS, "steps of searches")
}

fn in_map(w: &World, tiles: &[u32]) -> bool {
    tiles.iter().all(|tile| (*tile as usize) < w.map.tiles())
}

/// Ascending, used up by `next_id`, and far from the end of all ids.
fn ids_are_good(w: &World, ids: &[u32]) -> bool {
    let last = ids.last().copied().unwrap_or_default();
    ids.is_sorted_by(|a, b| a < b)
        && !ids.contains(&0)
        && last < w.next_id
        && w.next_id <= u32::MAX / 2
}

/// Bytes that a person reads as hexadecimal digits.
struct Raw(Vec<u8>);

impl Field for Raw {
    fn bytes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn text(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

const MAGIC: u32 = u32::from_le_bytes(*b"RTS1");
