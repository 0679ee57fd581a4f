//! The world as bytes: little-endian columns, and everything checked on the way back.

pub(super) mod check;

use super::{
    Density, Map, MapKind, Scenario, Setup, World,
    bands::BANDS,
    buildings::Buildings,
    columns::Cell,
    combat::Projectiles,
    fog::{self, Fog},
    goals::Goals,
    map::{LARGEST, SMALLEST, Unfit},
    recent::{self, Recent},
    research::Abilities,
    roll::Roll,
    seats::Seats,
    tables::RULES,
    units::Units,
    victory::{Ending, Verdict},
    waypoints::{self, Waypoints},
};
use sim::{Checksum, Digest, Digester, Field, LoadError, Reader, Sink, State, Stream, Sum, Visit};

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
        let magic = from.value::<u32>()?;
        from.require(magic == MAGIC, "magic")?;
        let tick = from.value()?;
        let next_id = from.value()?;
        let last_band = from.value::<u16>()?;
        from.require(last_band < BANDS, "last band")?;
        let random: Stream = from.serde()?;
        let setup = load_setup(&mut from)?;
        let ending = Ending {
            verdict: Verdict::read(&mut from, 1, "verdict")?[0],
            winner: from.value()?,
        };
        let size = from.value::<u16>()?;
        from.require((SMALLEST..=LARGEST).contains(&size), "map size")?;
        let terrain = from.column::<u8>(u32::from(size) * u32::from(size))?;
        let amounts = from.column::<u16>(Map::deposits(&terrain).len() as u32)?;
        from.require(
            amounts.iter().all(|left| *left <= RULES.mine_gold),
            "amount",
        )?;
        let map = Map::load(size, terrain, amounts).map_err(|Unfit| from.fail("terrain"))?;
        let mut rows = || from.value::<u32>();
        let [seats, units, buildings] = [rows()?, rows()?, rows()?];
        let [projectiles, goals, graves] = [rows()?, rows()?, rows()?];
        let mut world = World {
            tick,
            seats: Seats::load(&mut from, seats)?,
            units: Units::load(&mut from, units)?,
            buildings: Buildings::load(&mut from, buildings)?,
            projectiles: Projectiles::load(&mut from, projectiles)?,
            goals: Goals::load(&mut from, goals)?,
            next_id,
            last_band,
            ending,
            ..World::empty(setup, map, random)
        };
        let seats = world.seats.len();
        check::check_seats(&world, &from)?;
        world.abilities = Abilities::of_seats(&world.seats);
        check::place_buildings(&mut world, &from)?;
        check::check_research(&world, &from)?;
        check::check_units(&world, &from)?;
        check::check_garrisons(&world, &from)?;
        check::check_projectiles(&world, &from)?;
        check::check_goals(&world, &from)?;
        world.roll = Roll::load(&mut from, graves, &world.units, seats, tick)?;
        for seat in 0..seats {
            let is_number = |number| world.roll.id(seat, number).is_some();
            let recent = Recent::load(&mut from, is_number)?;
            world.recents.push(recent);
        }
        world.fog = Fog::load(&mut from, world.setup.fog, size, seats)?;
        fog::check_ghosts(&world, &from)?;
        let rows = from.value()?;
        world.waypoints = Waypoints::load(&mut from, rows)?;
        from.require(waypoints::are_sound(&world), "waypoints")?;
        from.finish()?;
        world.map.refresh_regions();
        world.units.index_rows();
        Ok(world)
    }

    fn visit(&self, to: &mut dyn Visit) {
        if to.section("world", 1) && to.row(0) {
            to.field("tick", &self.tick);
            to.field("next_id", &self.next_id);
            to.field("last_band", &self.last_band);
            let mut random = Vec::new();
            random.serde(&self.random);
            to.field("random", &Raw(random));
            to.field("verdict", &self.ending.verdict);
            to.field("winner", &self.ending.winner);
            to.field("map_size", &self.map.size());
            to.field("population", &self.setup.population);
            to.field("last_tick", &self.setup.last_tick());
        }
        if to.section("tiles", self.map.tiles()) {
            for at in 0..self.map.tiles() {
                if to.row(at as u64) {
                    let tile = self.map.tile_of(at as u32);
                    to.field("terrain", &self.map.terrain(tile));
                    to.field("amount", &self.map.amount(tile));
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
    let seeded = from.value::<u8>()?;
    let map = from.value::<u8>()?;
    let kind = from.value::<u8>()?;
    let map_seed = from.value::<u64>()?;
    let size = from.value::<u16>()?;
    let population = from.value()?;
    let minutes = from.value()?;
    let gold = from.value()?;
    let wood = from.value()?;
    let units = from.value::<u32>()?;
    let density = from.value::<u32>()?;
    let fog = match from.value::<u8>()? {
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
    // Unused fields are zero, so that a setup has one encoding.
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
