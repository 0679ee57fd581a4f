#![allow(warnings, clippy::all, clippy::disallowed_methods)]
use demo_rts::{
    bot::{Bot, Level},
    world::*,
};
use sim::{Entry, Seat, Seed, Simulation, Start};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let seed: u64 = a[1].parse().unwrap();
    let levels: Vec<Level> = a[2].split(',').map(|t| t.parse().unwrap()).collect();
    let every: u32 = a[3].parse().unwrap();
    let show = a.get(4).is_some();
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let seats: Vec<Seat> = (0..levels.len() as u8).map(Seat).collect();
    let mut w = World::new(&Start {
        setup: Setup::default(),
        seed: Seed(bytes),
        seats: seats.clone(),
    });
    let mut bots: Vec<Bot> = seats
        .iter()
        .zip(&levels)
        .map(|(s, l)| Bot::new(*s, *l))
        .collect();
    let mut fx = Vec::new();
    let mut dead: std::collections::BTreeMap<(u8, &str), u32> = Default::default();
    while w.outcome().is_none() && w.tick() < 72_001 {
        let mut e = Vec::new();
        for b in &mut bots {
            let seat = b.seat();
            for command in b.think(&w) {
                if show {
                    println!(
                        "{} {:?}: {}",
                        w.tick(),
                        seat.0,
                        format!("{command:?}").chars().take(150).collect::<String>()
                    );
                }
                e.push(Entry::Command { seat, command });
            }
        }
        fx.clear();
        w.step(&e, &mut fx);
        for f in &fx {
            if let Effect::Refused { seat, reason } = f {
                if show {
                    println!("{} {} REFUSED {reason}", w.tick(), seat.0);
                }
            }
        }
        for f in &fx {
            if let Effect::Died { kind, seat, .. } = f {
                *dead.entry((seat.0, kind.stats().name)).or_insert(0) += 1;
            }
        }
        if w.tick() == 16090 {
            let m = w.map();
            for y in 20..38u16 {
                let mut l = String::new();
                for x in 75..96u16 {
                    let t = Tile::new(x, y);
                    let n = w.units().filter(|u| u.tile == t).count();
                    l += &if n > 0 {
                        format!("{n:>3}")
                    } else if let Some(id) = m.occupant(t) {
                        format!(" {}", &w.building(id).unwrap().kind.stats().name[..2])
                    } else if m.is_blocked(t) {
                        "  #".into()
                    } else {
                        format!("{:>3}", m.region(t))
                    };
                }
                println!("{y} {l}");
            }
            for u in w.units().filter(|u| u.tile == Tile::new(85, 28)).take(3) {
                println!("{u:?}");
            }
            if let Some(u) = w.unit(Id(100)) {
                println!("target {u:?}");
            }
        }
        if w.tick() % every == 0 {
            println!("dead {dead:?}");
            for s in w.seats() {
                let mut c = std::collections::BTreeMap::new();
                for u in w.units().filter(|u| u.seat == s.seat) {
                    *c.entry(u.kind.stats().name).or_insert(0) += 1;
                }
                for b in w.buildings().filter(|u| u.seat == s.seat) {
                    *c.entry(b.kind.stats().name).or_insert(0) += 1;
                }
                let idle = w
                    .units()
                    .filter(|u| {
                        u.seat == s.seat && u.kind == Kind::Worker && u.order == Order::Idle
                    })
                    .count();
                println!(
                    "{:>5} {} {:?} g{} w{} pop {}/{} idle {idle} lost {} killed {} gathered {} {:?}",
                    w.tick(),
                    s.seat.0,
                    levels[s.seat.0 as usize],
                    s.gold,
                    s.wood,
                    s.population,
                    s.population_limit,
                    s.lost,
                    s.killed,
                    s.gathered,
                    c
                );
            }
        }
    }
    println!("{:?} {}", w.outcome(), w.tick());
}
