//! Slots and arenas under long sequences of births and deaths.

use super::stream;
use crate::lines::Lines;
use sim::{Arena, Id, Sink, Slots, Sum};

pub(super) fn trace(lines: &mut Lines) {
    lines.sum("sim/slots", |sum| {
        let mut random = stream("slots");
        let mut slots = Slots::from_generations(vec![u32::MAX - 1, 4, 0]).unwrap_or_default();
        let mut given: Vec<Id> = slots.ids().collect();
        for round in 0..3_000_u32 {
            // The table grows beyond several words of its free map, and shrinks again.
            let births = if round / 500 % 2 == 0 { 3 } else { 1 };
            if random.chance(births, 4) || given.is_empty() {
                let id = slots.insert();
                put(sum, id);
                given.push(id);
            } else {
                let at = random.below(given.len() as u32) as usize;
                let id = given.swap_remove(at);
                sum.value(u8::from(slots.remove(id)));
                sum.value(u8::from(slots.contains(id) || slots.remove(id)));
            }
            if round % 300 == 0 {
                slots = Slots::from_generations(slots.generations().to_vec()).unwrap_or_default();
            }
            sum.column(&[slots.len(), slots.rows()]);
        }
        sum.column(slots.generations());
        slots.ids().rev().for_each(|id| put(sum, id));
        sum.serde(&slots);
    });
    lines.sum("sim/arena", |sum| {
        let mut random = stream("arena");
        let mut arena: Arena<i64> = Arena::new();
        for round in 0..2_000_u32 {
            let rows = arena.len() * 2 + 2;
            let id = arena.id_at(random.below(rows));
            match random.below(5) {
                0 | 1 => put(sum, arena.insert(random.next_u64() as i64)),
                2 => {
                    let removed = id.and_then(|id| arena.remove(id));
                    sum.value(removed.unwrap_or_default());
                }
                3 => {
                    if let Some(item) = id.and_then(|id| arena.get_mut(id)) {
                        *item = item.wrapping_mul(31).wrapping_add(i64::from(round));
                    }
                }
                _ => sum.value(id.and_then(|id| arena.get(id)).copied().unwrap_or(-1)),
            }
            if round % 400 == 399 {
                arena.retain(|id, item| (*item ^ i64::from(id.generation)) % 3 != 0);
                sum.serde(&arena);
            }
        }
        for (id, item) in arena.iter() {
            put(sum, id);
            sum.value(*item);
        }
    });
}

fn put(sum: &mut Sum, id: Id) {
    sum.value(id.pack());
    sum.bytes(id.to_string().as_bytes());
}
