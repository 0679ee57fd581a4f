//! The table as bytes.

use super::{
    BUILDINGS_PER_SEAT, Change, Common, NUMBER_REST, QUEUE_LENGTH, SELECTION,
    SELECTION_WORTH_KEEPING, SELECTIONS_KEPT, SELECTIONS_NAMED, Stats, Tables, UpgradeStats,
    WAYPOINTS,
};

/// The table and the constants beside it, as bytes: what `rules` hashes.
pub(in crate::world) fn table_bytes(tables: &Tables) -> Vec<u8> {
    let mut out = Vec::new();
    let mut put = |number: i64| out.extend_from_slice(&number.to_le_bytes());
    for line in &tables.kinds {
        // Every field by name: a new one cannot be forgotten here.
        let Stats {
            name,
            gold,
            wood,
            needs,
            hit_points,
            armour,
            damage,
            bonus,
            siege,
            range,
            cooldown,
            arrow_speed,
            splash,
            arrows,
            alert,
            sight,
            speed,
            radius,
            build_ticks,
            gather_ticks,
            farm_ticks,
            population,
            houses,
            size,
            shelters,
            trains,
        } = *line;
        put(name.len() as i64);
        for number in [gold, wood] {
            put(i64::from(number));
        }
        for number in [
            hit_points,
            armour,
            damage,
            siege,
            cooldown,
            arrows,
            build_ticks,
            gather_ticks,
            farm_ticks,
            population,
            houses,
            size,
            shelters,
            sight,
        ] {
            put(i64::from(number));
        }
        for number in [range, arrow_speed, splash, alert, speed, radius] {
            put(i64::from(number.to_bits()));
        }
        for kinds in [needs, trains] {
            put(kinds.len() as i64);
            kinds.iter().for_each(|kind| put(i64::from(*kind as u8)));
        }
        put(bonus.len() as i64);
        for (kind, more) in bonus {
            put(i64::from(*kind as u8));
            put(i64::from(*more));
        }
    }
    for line in &tables.upgrades {
        let UpgradeStats {
            name,
            gold,
            wood,
            ticks,
            levels,
            at,
            needs,
            changes,
        } = *line;
        put(name.len() as i64);
        for number in [gold, wood, ticks.into(), levels.into(), at as u32] {
            put(i64::from(number));
        }
        put(needs.len() as i64);
        needs.iter().for_each(|kind| put(i64::from(*kind as u8)));
        put(changes.len() as i64);
        for Change { of, what, by } in changes {
            put(of.len() as i64);
            of.iter().for_each(|kind| put(i64::from(*kind as u8)));
            put(i64::from(*what as u8));
            put(i64::from(*by));
        }
    }
    let Common {
        carry,
        farm_gold,
        tree_wood,
        mine_gold,
        refund_percent,
        repair_percent,
        repair_ticks,
        damage_spread_percent,
        leash_tiles,
        lenience_tiles,
        search_tiles,
        tower_look_ticks,
        failures,
        return_ticks,
        workers,
        ai_period,
    } = tables.common;
    for number in [carry, farm_gold, tree_wood, mine_gold, leash_tiles] {
        put(i64::from(number));
    }
    for number in [
        refund_percent,
        repair_percent,
        repair_ticks,
        damage_spread_percent.into(),
        lenience_tiles.into(),
        search_tiles.into(),
        tower_look_ticks,
        failures.into(),
        return_ticks,
        workers.into(),
        ai_period,
    ] {
        put(i64::from(number));
    }
    for number in [
        QUEUE_LENGTH,
        SELECTION,
        SELECTIONS_KEPT,
        SELECTIONS_NAMED,
        SELECTION_WORTH_KEEPING,
        WAYPOINTS,
        BUILDINGS_PER_SEAT,
    ] {
        put(number as i64);
    }
    put(i64::from(NUMBER_REST));
    out
}
