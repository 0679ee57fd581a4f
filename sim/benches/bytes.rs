//! Save, checksum, digest and load of 100,000 units of 64 bytes in columns, against memcpy of the same bytes.

use sim::{Checksum, Digester, Num, Reader, Sink, Sum};
use std::hint::black_box;
#[allow(clippy::disallowed_types)]
use std::time::Instant;

struct Columns {
    nums: [Vec<Num>; 12],
    small: [Vec<u16>; 8],
}

impl Columns {
    fn write(&self, to: &mut impl Sink) {
        to.value(UNITS);
        to.section("units");
        for (column, name) in self.nums.iter().zip(NAMES) {
            to.field(name);
            to.column(column);
        }
        for (column, name) in self.small.iter().zip(&NAMES[self.nums.len()..]) {
            to.field(name);
            to.column(column);
        }
    }

    fn read(bytes: &[u8]) -> Result<Self, sim::LoadError> {
        let mut reader = Reader::new(bytes);
        let count = reader.value()?;
        let mut columns = Self {
            nums: Default::default(),
            small: Default::default(),
        };
        for column in &mut columns.nums {
            *column = reader.column(count)?;
        }
        for column in &mut columns.small {
            *column = reader.column(count)?;
        }
        reader.finish()?;
        Ok(columns)
    }
}

fn main() {
    let columns = Columns {
        nums: std::array::from_fn(|column| {
            (0..UNITS as i32)
                .map(|unit| Num::from_bits(unit.wrapping_mul(column as i32 + 77)))
                .collect()
        }),
        small: std::array::from_fn(|column| {
            (0..UNITS)
                .map(|unit| (unit ^ column as u32) as u16)
                .collect()
        }),
    };
    let mut bytes = Vec::new();
    columns.write(&mut bytes);
    let mut target = Vec::with_capacity(bytes.len());
    let mut copied = vec![0; bytes.len()];

    let copy = median(|| copied.copy_from_slice(black_box(&bytes)));
    let fresh = median(|| drop(black_box(bytes.clone())));
    let save = median(|| {
        target.clear();
        columns.write(&mut target);
    });
    let sum = median(|| {
        let mut sum = Sum::new();
        columns.write(&mut sum);
        assert_eq!(sum.checksum(), black_box(sum_of(&bytes)));
    });
    let flat = median(|| {
        black_box(Checksum::of(black_box(&bytes)));
    });
    let digest = median(|| {
        let mut digester = Digester::new();
        columns.write(&mut digester);
        assert_eq!(black_box(digester.finish()).sections().len(), 2);
    });
    let load = median(|| {
        drop(black_box(
            Columns::read(&bytes).expect("its own bytes load"),
        ))
    });
    println!("{} bytes, medians of {ROUNDS} rounds", bytes.len());
    println!("memcpy    {copy:>8} ns");
    println!("fresh     {fresh:>8} ns  memcpy into newly allocated memory, as load must");
    let against = [
        ("save", save, "memcpy", copy),
        ("checksum", sum, "memcpy", copy),
        ("digest", digest, "checksum of the bytes in one piece", flat),
        ("load", load, "fresh", fresh),
    ];
    for (name, time, reference, base) in against {
        let percent = time * 100 / base.max(1);
        println!("{name:<9} {time:>8} ns  {percent:>4} % of {reference}");
    }
}

/// Computed once, so that the checksum under measurement is compared and not optimised away.
fn sum_of(bytes: &[u8]) -> Checksum {
    static SUM: std::sync::OnceLock<Checksum> = std::sync::OnceLock::new();
    *SUM.get_or_init(|| Checksum::of(bytes))
}

#[allow(clippy::disallowed_types, clippy::disallowed_methods)]
fn median(mut work: impl FnMut()) -> u128 {
    let mut times: Vec<u128> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

const NAMES: [&str; 20] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s",
    "t",
];
const UNITS: u32 = 100_000;
const ROUNDS: usize = 201;
