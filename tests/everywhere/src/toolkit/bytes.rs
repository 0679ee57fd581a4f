//! Encoding and decoding: columns, serde, checksums, differences, and `sim::check` over a small world.

use super::stream;
use crate::controls;
use crate::lines::{Lines, put_text};
use serde::{Deserialize, Serialize};
use sim::{
    Angle, Arena, Checksum, Digester, Entry, Field, Id, Num, Reader, RulesId, Seat, SeatState,
    Seed, Simulation, Sink, Slots, Start, State, Stream, Sum, Vec2, Visit,
};
use std::collections::BTreeMap;

pub(super) fn trace(lines: &mut Lines) {
    lines.sum("sim/checksum", |sum| {
        // Every length up to some blocks of the fast algorithms, at every alignment, and a long one.
        let mut random = stream("checksum");
        let bytes: Vec<u8> = (0..200_000).map(|_| random.next_u32() as u8).collect();
        for length in 0..600 {
            let from = length % 17;
            sum.value(Checksum::of(&bytes[from..from + length]).0);
        }
        let mut parts = Sum::new();
        bytes.chunks(1_777).for_each(|part| parts.bytes(part));
        sum.column(&[Checksum::of(&bytes).0, parts.checksum().0]);
    });
    lines.sum("sim/columns/scalars", |sum| {
        sum.column(&[u8::MAX, 1]);
        sum.column(&[i8::MIN, 1]);
        sum.column(&[0x0102_u16, u16::MAX]);
        sum.column(&[i16::MIN, 0x0102]);
        sum.column(&[0x0102_0304_u32, u32::MAX]);
        sum.column(&[i32::MIN, 0x0102_0304]);
        sum.column(&[0x0102_0304_0506_0708_u64, u64::MAX]);
        sum.column(&[i64::MIN, 0x0102_0304_0506_0708]);
        sum.column(&[0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10_u128]);
        sum.column(&[i128::MIN, 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10]);
        sum.column(&super::nums());
        sum.value(Num::lit("-1.5"));
    });
    lines.sum("sim/columns/long", |sum| {
        // Longer than the buffer for columns that are not stored as such.
        sum.column_of((0..1_000_u32).map(|n| n.wrapping_mul(0x9e37_79b9)));
        sum.column_of((0..1_000_u16).map(|n| Num::from_bits(i32::from(n) << 9)));
    });
    lines.sum("sim/columns/by-hand", |sum| {
        for n in 0..1_000_u32 {
            sum.bytes(&controls::column_bytes(n.wrapping_mul(0x9e37_79b9)));
        }
    });
    lines.sum("sim/columns/read", read_columns);
    lines.sum("sim/digest", digests);
    lines.sum("sim/serde/bytes", |sum| sum.serde(&Everything::new()));
    lines.sum("sim/serde/description", |sum| {
        sim::serde_state::visit(&Everything::new(), &mut Describe(sum));
    });
    lines.sum("sim/serde/refusals", refusals);
    lines.sum("sim/diff", differences);
    lines.sum("sim/check", checks);
}

fn read_columns(sum: &mut Sum) {
    let mut bytes = vec![0];
    bytes.column(&super::nums());
    bytes.column(&[u64::MAX, 0x0102_0304_0506_0708]);
    bytes.serde(&Everything::new());
    // Read at an unaligned address.
    let mut reader = Reader::new(&bytes[1..]);
    let rows = super::nums().len() as u32;
    let read = (|| {
        let nums: Vec<Num> = reader.column(rows)?;
        let wide: [u64; 2] = [reader.value()?, reader.value()?];
        let rest: Everything = reader.serde()?;
        Ok::<_, sim::LoadError>((nums, wide, rest))
    })();
    if let Ok((nums, wide, rest)) = &read {
        nums.iter().for_each(|num| sum.value(num.to_bits()));
        wide.iter()
            .for_each(|value| put_text(sum, &value.to_string()));
        put_text(sum, &rest.name);
        sum.serde(rest);
    }
    // Counts beyond the data, and beyond 32 bits.
    for count in [1, 1 << 28, 1 << 31, u32::MAX] {
        let mut reader = Reader::new(&bytes[..9]);
        let _ = reader.bytes(3);
        put_error(sum, reader.column::<u128>(count).map(drop));
    }
}

/// Columns of several chunks, with a change in one place.
fn digests(sum: &mut Sum) {
    let write = |changed: usize| {
        let mut health: Vec<u16> = (0..30_000).collect();
        health[changed] ^= 1;
        let mut digester = Digester::new();
        digester.value(7_u32);
        digester.section("units");
        digester.field("health");
        digester.column(&health);
        digester.field("place");
        digester.column(&super::nums());
        digester.column_of((0..9_000).map(|n| Num::from_bits(n << 8)));
        digester.section("rest");
        digester.serde(&Everything::new());
        digester.finish()
    };
    let digest = write(0);
    sum.value(digest.root());
    sum.value(digest.checksum().0);
    for section in digest.sections() {
        put_text(sum, section.name);
        sum.value(section.hash);
        for field in &section.fields {
            put_text(sum, field.name);
            sum.column(&[field.hash, field.at, field.len, u64::from(field.width)]);
            sum.column(&field.chunks);
        }
    }
    for changed in [0, 1, 8_191, 8_192, 29_999] {
        let spot = digest.difference(&write(changed));
        put_text(sum, &spot.map_or_else(String::new, |spot| spot.to_string()));
    }
}

/// A value of every kind in serde's data model.
#[derive(Serialize, Deserialize)]
struct Everything {
    name: String,
    flags: (bool, Option<char>, Option<u8>),
    small: (u8, i8, u16, i16),
    large: (u32, i32, u64, i64),
    largest: (u128, i128),
    floats: [f64; 3],
    half: f32,
    num: Num,
    place: Vec2,
    angle: Angle,
    id: Id,
    seat: SeatState,
    random: Stream,
    slots: Slots,
    arena: Arena<Kind>,
    by_number: BTreeMap<u32, Vec<i16>>,
    by_name: BTreeMap<String, ()>,
}
sim::state_by_serde!(Everything);

#[derive(Clone, Serialize, Deserialize)]
enum Kind {
    Nothing,
    One(i64),
    Two(u16, Num),
    Named { at: Vec2, left: u64 },
}

impl Everything {
    fn new() -> Self {
        let mut slots = Slots::new();
        let ids: Vec<Id> = (0..70).map(|_| slots.insert()).collect();
        ids.iter()
            .step_by(3)
            .for_each(|id| assert!(slots.remove(*id)));
        let mut arena = Arena::new();
        let first = arena.insert(Kind::Nothing);
        arena.insert(Kind::One(i64::MIN));
        arena.insert(Kind::Two(300, Num::MIN));
        arena.insert(Kind::Named {
            at: Vec2::from_ints(-3, 4),
            left: u64::MAX,
        });
        arena.remove(first);
        Self {
            name: "Ærøskøbing ☂".to_owned(),
            flags: (true, Some('☂'), None),
            small: (255, -128, 65_535, -32_768),
            large: (u32::MAX, i32::MIN, u64::MAX, i64::MIN),
            largest: (u128::MAX - 1, i128::MIN + 1),
            // A world has no floats, but a snapshot must keep their bits.
            floats: [0.1, -0.0, f64::INFINITY],
            half: 1.5e-40,
            num: Num::lit("-0.3"),
            place: Vec2::new(Num::MAX, Num::MIN),
            angle: Angle(40_000),
            id: Id::unpack(0x0102_0304_0506_0708),
            seat: SeatState::Ai,
            random: stream("everything"),
            slots,
            arena,
            by_number: (0..5)
                .map(|n| (n * 1_000, vec![n as i16; n as usize]))
                .collect(),
            by_name: ["b", "a", ""].map(|name| (name.to_owned(), ())).into(),
        }
    }
}

/// Writes what a visitor sees.
struct Describe<'a>(&'a mut Sum);

impl Visit for Describe<'_> {
    fn section(&mut self, name: &str, rows: usize) -> bool {
        put_text(self.0, name);
        self.0.value(rows as u32);
        true
    }

    fn row(&mut self, id: u64) -> bool {
        self.0.value(id);
        true
    }

    fn field(&mut self, name: &str, value: &dyn Field) {
        put_text(self.0, name);
        put_text(self.0, &value.text());
        let mut bytes = Vec::new();
        value.bytes(&mut bytes);
        self.0.bytes(&bytes);
    }
}

/// Snapshots that were cut or changed.
fn refusals(sum: &mut Sum) {
    let mut bytes = Vec::new();
    Everything::new().save(&mut bytes);
    for length in 0..bytes.len() {
        put_error(sum, Everything::load(&bytes[..length]).map(drop));
    }
    // Changed bytes may give a length beyond 32 bits. A 32-bit machine refuses it earlier, with another message,
    // but every machine refuses it.
    let mut random = stream("refusals");
    for _ in 0..3_000 {
        let mut changed = bytes.clone();
        for _ in 0..=random.below(2) {
            let at = random.below(changed.len() as u32) as usize;
            changed[at] = random.next_u32() as u8;
        }
        let loaded = Everything::load(&changed);
        sum.value(u8::from(loaded.is_ok()));
        if let Ok(loaded) = loaded {
            sum.value(loaded.checksum().0);
        }
    }
    // Lengths of 2^31, 2^32, 2^32 + 1, 2^35 and 2^64 − 1, followed by nothing.
    let lengths: [&[u8]; 5] = [
        &[0x80, 0x80, 0x80, 0x80, 0x08],
        &[0x80, 0x80, 0x80, 0x80, 0x10],
        &[0x81, 0x80, 0x80, 0x80, 0x10],
        &[0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    ];
    for length in lengths {
        let loaded = sim::serde_state::load::<Vec<u32>>(length).map(drop);
        sum.value(u8::from(loaded.is_err()));
        let loaded = sim::serde_state::load::<Vec<()>>(length).map(drop);
        sum.value(u8::from(loaded.is_err()));
    }
}

fn put_error(sum: &mut Sum, result: Result<(), sim::LoadError>) {
    match result {
        Ok(()) => sum.value(1_u8),
        Err(error) => put_text(sum, &error.to_string()),
    }
}

fn differences(sum: &mut Sum) {
    let original = Everything::new();
    let mut random = stream("differences");
    for number in 0..8 {
        let mut other = Everything::new();
        match number {
            0 => {}
            1 => other.name.push('!'),
            2 => other.large.2 -= 1,
            3 => other.angle = -other.angle,
            4 => other.id = other.slots.insert(),
            5 => other.id = other.arena.insert(Kind::Nothing),
            6 => drop(other.by_number.remove(&3_000)),
            _ => other.largest.1 = i128::from(random.next_u64()),
        }
        let difference = sim::diff(&original, &other);
        put_text(
            sum,
            &difference.map_or_else(String::new, |found| found.to_string()),
        );
    }
}

/// A small world built with the toolkit.
#[derive(Serialize, Deserialize)]
struct Race {
    runners: Arena<(Seat, Vec2)>,
    wind: Stream,
}
sim::state_by_serde!(Race);

impl Simulation for Race {
    type Setup = ();
    type Command = Vec2;
    type Effect = ();

    fn rules((): &()) -> RulesId {
        RulesId(*b"a race over land")
    }

    fn new(start: &Start<()>) -> Self {
        let mut runners = Arena::new();
        for seat in &start.seats {
            runners.insert((*seat, Vec2::ZERO));
        }
        let wind = Stream::named(&start.seed, "wind");
        Self { runners, wind }
    }

    fn step(&mut self, entries: &[Entry<Vec2>], _: &mut Vec<()>) {
        for entry in entries {
            if let Entry::Command { seat, command } = entry {
                self.runners.insert((*seat, *command));
            }
        }
        for (_, (_, at)) in self.runners.iter_mut() {
            let wind = Angle(self.wind.next_u32() as u16).direction();
            *at += wind.with_length(Num::lit("0.2")) - at.clamp_length(Num::lit("0.1"));
        }
        self.runners.retain(|id, (_, at)| at.x >= 0 || id.slot < 4);
    }
}

fn checks(sum: &mut Sum) {
    let start = Start {
        setup: (),
        seed: Seed([3; 32]),
        seats: vec![Seat(0), Seat(1)],
    };
    let mut seen = Vec::new();
    let report = sim::check::<Race>(&start)
        .ticks(60)
        .commands(|world, random| {
            seen.push(world.checksum().0);
            let seat = Seat(random.below(2) as u8);
            let x = Num::from_bits(random.next_u32() as i32);
            let command = Vec2::new(x, random.num_between(Num::MIN, Num::MAX));
            vec![Entry::Command { seat, command }]
        })
        .run();
    match report {
        Ok(report) => {
            sum.column(&[
                report.seeds,
                report.ticks,
                report.entries,
                report.largest_snapshot,
            ]);
        }
        Err(failure) => put_text(sum, &failure.to_string()),
    }
    sum.column(&seen);
}
