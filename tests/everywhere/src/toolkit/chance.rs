//! Random streams.

use super::nums;
use crate::lines::Lines;
use sim::{Entry, Seat, SeatState, Seed, Sink, Stream};

pub(super) fn trace(lines: &mut Lines) {
    lines.sum("sim/stream/names", |sum| {
        for (byte, name) in [(0, ""), (0, "combat"), (255, "combat"), (7, "wetter ☂")] {
            let seed = Seed([byte; 32]);
            sum.value(Stream::named(&seed, name).next_u64());
            for number in [0, 1, u64::from(u32::MAX) + 1, u64::MAX] {
                sum.value(Stream::numbered(&seed, name, number).next_u64());
            }
        }
    });
    lines.sum("sim/stream/draws", |sum| {
        let mut random = super::stream("draws");
        for n in [
            0,
            1,
            2,
            3,
            6,
            1_000,
            (1 << 31) - 1,
            1 << 31,
            (1 << 31) + 1,
            u32::MAX,
        ] {
            for _ in 0..500 {
                sum.value(random.below(n));
                sum.value(u8::from(random.chance(n / 3, n)));
            }
        }
        for (from, to) in [
            (0, 0),
            (-5, 6),
            (i32::MIN, i32::MAX),
            (i32::MIN, 0),
            (9, -9),
        ] {
            for _ in 0..500 {
                sum.value(random.range(from..to));
            }
        }
        let nums = nums();
        for pair in nums.windows(9) {
            sum.value(random.num_between(pair[0], pair[8]));
            sum.value(random.num_between(pair[8], pair[0]));
        }
        sum.value(random.next_u64());
        sum.serde(&random);
    });
    lines.sum("sim/stream/orders", |sum| {
        let mut random = super::stream("orders");
        for count in 0..200_u32 {
            let mut items: Vec<u32> = (0..count).collect();
            random.shuffle(&mut items);
            sum.column(&items);
            sum.value(random.pick(&items).copied().unwrap_or(u32::MAX));
        }
    });
    lines.sum("sim/stream/mixed", |sum| {
        let mut random = super::stream("mixed");
        let states = [
            SeatState::Played,
            SeatState::Idle,
            SeatState::Ai,
            SeatState::Resigned,
        ];
        for number in 0..500_u32 {
            let (seat, state) = (Seat(number as u8), states[number as usize % 4]);
            let command = (number, "go ☂".to_owned(), vec![number as i16; 3]);
            let entries = [
                Entry::Command { seat, command },
                Entry::Seat { seat, state },
            ];
            random.mix(&entries[..number as usize % 3]);
            sum.value(random.next_u64());
        }
        sum.serde(&random);
    });
}
