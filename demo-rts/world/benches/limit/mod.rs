//! The limit: what a step costs when only speed counts.
//!
//! Integers in flat arrays, three passes. The first is a counting sort. The second does separation, the
//! nearest enemy at the world's cadence and radius, steering, passability and blows in one loop. The third
//! applies the blows. There are no orders, fields, buildings, effects or rules. The world is measured against
//! this kernel, so it must never get slower.

use demo_world::world::{Kind, Tile, World};

const LANES: usize = 8;
/// The kernel's coordinates are in 1/1024 of a tile.
const COARSER: i32 = 6;
/// A block of the seats' mask is 8 tiles wide.
const BLOCK: i32 = 13;
const NONE: u32 = u32::MAX;

/// The units of a world, in the columns that this kernel reads.
#[derive(Clone)]
pub struct Limit {
    size: i32,
    tick: u32,
    /// One bit a tile.
    blocked: Vec<u64>,
    words: usize,
    x: Vec<i32>,
    y: Vec<i32>,
    goal_x: Vec<i32>,
    goal_y: Vec<i32>,
    /// Radius in bits 0 to 9, kind in bits 10 to 14, seat from bit 16 on.
    body: Vec<i32>,
    hp: Vec<i32>,
    cooldown: Vec<u8>,
    target: Vec<u32>,
    hurt: Vec<i32>,
    traits: [Traits; 32],
    unit: Vec<(i32, i32)>,
    widest: i32,
    side: u32,
    wide: i32,
    begin: Vec<u32>,
    cells: Vec<u32>,
    blocks: i32,
    near: Vec<u8>,
    spread: Vec<u8>,
    living: usize,
    sorted_x: Vec<i32>,
    sorted_y: Vec<i32>,
    sorted_body: Vec<i32>,
    sorted_row: Vec<u32>,
    place: Vec<u32>,
    candidates: u64,
}

#[derive(Clone, Copy, Default)]
struct Traits {
    speed: i32,
    alert: i32,
    reach: i32,
    damage: i32,
    cooldown: u8,
}

impl Limit {
    /// The same units at the same places with the same goals.
    pub fn new(w: &World, side: u32) -> Self {
        let size = i32::from(w.map().size());
        let words = size.unsigned_abs().div_ceil(64) as usize;
        let mut blocked = vec![0; words * size as usize];
        for y in 0..w.map().size() {
            for x in (0..w.map().size()).filter(|x| w.map().is_blocked(Tile::new(*x, y))) {
                blocked[usize::from(y) * words + usize::from(x) / 64] |= 1 << (x % 64);
            }
        }
        let units: Vec<_> = w.units().collect();
        let mut traits = [Traits::default(); 32];
        let mut widest = 0;
        for kind in Kind::ALL.into_iter().filter(|kind| !kind.is_building()) {
            let stats = kind.stats();
            widest = widest.max(stats.radius.to_bits() >> COARSER);
            traits[kind as usize] = Traits {
                speed: stats.speed.to_bits(),
                alert: stats.alert.to_bits() >> COARSER,
                reach: (stats.range + stats.radius).to_bits() >> COARSER,
                damage: i32::from(stats.damage),
                cooldown: stats.cooldown as u8,
            };
        }
        let unit = (0..=256_u64).map(|short| {
            let length = ((256 * 256 + short * short) << 32).isqrt();
            (
                ((256 << 32) / length) as i32,
                ((short << 32) / length) as i32,
            )
        });
        let count = units.len();
        let column =
            |of: &dyn Fn(&demo_world::world::UnitView) -> i32| units.iter().map(of).collect();
        Self {
            size,
            tick: w.tick(),
            blocked,
            words,
            x: column(&|unit| unit.at.x.to_bits()),
            y: column(&|unit| unit.at.y.to_bits()),
            goal_x: column(&|unit| unit.goal.centre().x.to_bits()),
            goal_y: column(&|unit| unit.goal.centre().y.to_bits()),
            body: column(&|unit| {
                unit.kind.stats().radius.to_bits() >> COARSER
                    | (unit.kind as i32) << 10
                    | i32::from(unit.seat.0) << 16
            }),
            hp: column(&|unit| i32::from(unit.hit_points)),
            cooldown: vec![0; count],
            target: vec![NONE; count],
            hurt: vec![0; count],
            traits,
            unit: unit.collect(),
            widest,
            side,
            wide: (size + (1 << side) - 1) >> side,
            begin: Vec::new(),
            cells: vec![0; count],
            blocks: (size + 7) / 8,
            near: Vec::new(),
            spread: Vec::new(),
            living: 0,
            sorted_x: vec![0; count + LANES],
            sorted_y: vec![0; count + LANES],
            sorted_body: vec![0; count + LANES],
            sorted_row: vec![0; count + LANES],
            place: vec![NONE; count],
            candidates: 0,
        }
    }

    pub fn alive(&self) -> usize {
        self.hp.iter().filter(|hp| **hp > 0).count()
    }

    /// Neighbours that the last tick looked at. A pass of its own counts them, so that ticks stay as fast.
    pub fn count_candidates(&mut self) -> u64 {
        self.sort();
        self.pass::<true>();
        self.candidates
    }

    /// One tick.
    pub fn step(&mut self) {
        self.sort();
        self.run();
        self.fall();
        self.tick = self.tick.wrapping_add(1);
    }

    fn run(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            #[allow(unsafe_code, reason = "the compiler cannot see the check above")]
            // SAFETY: the only requirement of the function is AVX2, which was just found.
            unsafe {
                self.pass_avx2();
            }
            return;
        }
        self.pass::<false>();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn pass_avx2(&mut self) {
        self.pass::<false>();
    }

    fn sort(&mut self) {
        let shift = 16 + self.side;
        self.begin.clear();
        self.begin.resize((self.wide * self.wide) as usize + 2, 0);
        self.near.clear();
        self.near.resize((self.blocks * self.blocks) as usize, 0);
        self.living = 0;
        for row in 0..self.x.len() {
            if self.hp[row] <= 0 {
                self.cells[row] = NONE;
                continue;
            }
            let cell = (self.y[row] >> shift) * self.wide + (self.x[row] >> shift);
            self.cells[row] = cell as u32;
            self.begin[cell as usize + 2] += 1;
            let block = (self.y[row] >> 19) * self.blocks + (self.x[row] >> 19);
            self.near[block as usize] |= 1 << (self.body[row] >> 16 & 7);
            self.living += 1;
        }
        let mut sum = 0_u32;
        for begin in &mut self.begin[2..] {
            sum = sum.wrapping_add(*begin);
            *begin = sum;
        }
        for row in 0..self.x.len() {
            let cell = self.cells[row];
            if cell == NONE {
                continue;
            }
            let end = &mut self.begin[cell as usize + 1];
            let place = *end as usize;
            *end += 1;
            self.place[row] = place as u32;
            self.sorted_x[place] = self.x[row] >> COARSER;
            self.sorted_y[place] = self.y[row] >> COARSER;
            self.sorted_body[place] = self.body[row];
            self.sorted_row[place] = row as u32;
        }
        let wide = self.blocks as usize;
        self.spread.clear();
        self.spread.extend_from_slice(&self.near);
        for (line, out) in self
            .near
            .chunks_exact(wide)
            .zip(self.spread.chunks_exact_mut(wide))
        {
            out[1..]
                .iter_mut()
                .zip(line)
                .for_each(|(to, from)| *to |= from);
            out.iter_mut()
                .zip(&line[1..])
                .for_each(|(to, from)| *to |= from);
        }
        self.near.copy_from_slice(&self.spread);
        let (near, spread) = (&mut self.near, &self.spread);
        near[wide..]
            .iter_mut()
            .zip(spread)
            .for_each(|(to, from)| *to |= from);
        near.iter_mut()
            .zip(&spread[wide..])
            .for_each(|(to, from)| *to |= from);
    }

    /// All that happens to a unit, in the order of the cells.
    #[inline(always)]
    fn pass<const COUNTS: bool>(&mut self) {
        let shift = 10 + self.side;
        let last = self.wide - 1;
        let mut candidates = 0;
        for place in 0..self.living {
            let (x, y) = (self.sorted_x[place], self.sorted_y[place]);
            let body = self.sorted_body[place];
            let row = self.sorted_row[place] as usize;
            let radius = body & 0x3ff;
            let seat = body >> 16;
            let traits = self.traits[(body >> 10 & 31) as usize];
            let cell = |at: i32| (at >> shift).clamp(0, last);

            let reach = radius + self.widest;
            let (left, right) = (cell(x - reach), cell(x + reach));
            let (mut push_x, mut push_y) = ([0_i32; LANES], [0_i32; LANES]);
            for line in cell(y - reach)..=cell(y + reach) {
                let mut at = self.begin[(line * self.wide + left) as usize] as usize;
                let to = self.begin[(line * self.wide + right + 1) as usize] as usize;
                if COUNTS {
                    candidates += (to - at) as u64;
                }
                while at < to {
                    let xs = lanes(&self.sorted_x, at);
                    let ys = lanes(&self.sorted_y, at);
                    let bodies = lanes(&self.sorted_body, at);
                    let left = (to - at) as i32;
                    for lane in 0..LANES {
                        let live = -i32::from((lane as i32) < left);
                        let dx = x.wrapping_sub(xs[lane]);
                        let dy = y.wrapping_sub(ys[lane]);
                        let least = radius.wrapping_add(bodies[lane] & 0x3ff);
                        let apart = dx.wrapping_mul(dx).wrapping_add(dy.wrapping_mul(dy));
                        let deep = least.wrapping_mul(least).wrapping_sub(apart).max(0) & live;
                        push_x[lane] = push_x[lane].wrapping_add(deep.wrapping_mul(dx) >> 12);
                        push_y[lane] = push_y[lane].wrapping_add(deep.wrapping_mul(dy) >> 12);
                    }
                    at += LANES;
                }
            }
            let total = |lanes: [i32; LANES]| lanes.iter().fold(0_i32, |a, b| a.wrapping_add(*b));
            let (push_x, push_y) = (total(push_x) >> 3, total(push_y) >> 3);

            // A unit strikes a living target in reach. Without one it looks around, in its turn or when its
            // target died.
            let mut target = self.target[row];
            let mut goal = (self.goal_x[row], self.goal_y[row]);
            let mut in_reach = false;
            let lost = target != NONE && self.hp[target as usize] <= 0;
            if target != NONE && !lost {
                let there = self.place[target as usize] as usize;
                let (dx, dy) = (x - self.sorted_x[there], y - self.sorted_y[there]);
                let reach = traits.reach + (self.sorted_body[there] & 0x3ff);
                let apart = dx.wrapping_mul(dx).wrapping_add(dy.wrapping_mul(dy));
                in_reach = dx.abs() < 1 << 14 && dy.abs() < 1 << 14 && apart <= reach * reach;
                goal = (
                    self.sorted_x[there] << COARSER,
                    self.sorted_y[there] << COARSER,
                );
            }
            let turn = self.tick.wrapping_add(row as u32).is_multiple_of(8);
            if lost || turn && !in_reach {
                target = NONE;
                let block = (y >> BLOCK) * self.blocks + (x >> BLOCK);
                if self.near[block as usize] & !(1 << (seat & 7)) != 0 {
                    let sight = traits.alert;
                    let far = sight * sight;
                    let (left, right) = (cell(x - sight), cell(x + sight));
                    let (mut best, mut rows) = ([i32::MAX; LANES], [NONE; LANES]);
                    for line in cell(y - sight)..=cell(y + sight) {
                        let mut at = self.begin[(line * self.wide + left) as usize] as usize;
                        let to = self.begin[(line * self.wide + right + 1) as usize] as usize;
                        if COUNTS {
                            candidates += (to - at) as u64;
                        }
                        while at < to {
                            let xs = lanes(&self.sorted_x, at);
                            let ys = lanes(&self.sorted_y, at);
                            let bodies = lanes(&self.sorted_body, at);
                            let mut found = [0; LANES];
                            found.copy_from_slice(&self.sorted_row[at..at + LANES]);
                            let left = (to - at) as i32;
                            for lane in 0..LANES {
                                let dx = x.wrapping_sub(xs[lane]);
                                let dy = y.wrapping_sub(ys[lane]);
                                let apart = dx.wrapping_mul(dx).wrapping_add(dy.wrapping_mul(dy));
                                let enemy = bodies[lane] >> 16 != seat;
                                let better = apart < best[lane]
                                    || (apart == best[lane] && found[lane] < rows[lane]);
                                let takes =
                                    ((lane as i32) < left) & enemy & (apart <= far) & better;
                                best[lane] = if takes { apart } else { best[lane] };
                                rows[lane] = if takes { found[lane] } else { rows[lane] };
                            }
                            at += LANES;
                        }
                    }
                    let nearest = best.into_iter().zip(rows).min();
                    target = nearest.map_or(NONE, |(_, row)| row);
                }
                self.target[row] = target;
            }

            let (mut to_x, mut to_y) = (0, 0);
            let cooldown = self.cooldown[row].saturating_sub(1);
            self.cooldown[row] = cooldown;
            if in_reach {
                if cooldown == 0 {
                    let hurt = &mut self.hurt[target as usize];
                    *hurt = hurt.wrapping_add(traits.damage);
                    self.cooldown[row] = traits.cooldown;
                }
            } else {
                (to_x, to_y) = self.heading(
                    goal.0.wrapping_sub(self.x[row]),
                    goal.1.wrapping_sub(self.y[row]),
                    traits.speed,
                );
            }
            let most = traits.speed / 2;
            let aside = self.x[row] + to_x + push_x.clamp(-most, most);
            if self.is_open(aside, self.y[row]) {
                self.x[row] = aside;
            }
            let along = self.y[row] + to_y + push_y.clamp(-most, most);
            if self.is_open(self.x[row], along) {
                self.y[row] = along;
            }
        }
        self.candidates = candidates;
    }

    fn fall(&mut self) {
        for (hp, hurt) in self.hp.iter_mut().zip(&mut self.hurt) {
            *hp = hp.wrapping_sub(*hurt);
            *hurt = 0;
        }
    }

    #[inline(always)]
    fn heading(&self, x: i32, y: i32, reach: i32) -> (i32, i32) {
        let (across, down) = (x.unsigned_abs(), y.unsigned_abs());
        let (long, short) = (across.max(down), across.min(down));
        if long <= reach as u32 {
            return (x, y);
        }
        let coarser = 9_u32.saturating_sub(long.leading_zeros());
        let (a, b) = self.unit[(((short >> coarser) << 8) / (long >> coarser)) as usize];
        let (a, b) = (a.wrapping_mul(reach) >> 16, b.wrapping_mul(reach) >> 16);
        let (a, b) = if across >= down { (a, b) } else { (b, a) };
        (if x < 0 { -a } else { a }, if y < 0 { -b } else { b })
    }

    #[inline(always)]
    fn is_open(&self, x: i32, y: i32) -> bool {
        let (x, y) = ((x >> 16) as u32, (y >> 16) as u32);
        let size = self.size as u32;
        x < size
            && y < size
            && self.blocked[y as usize * self.words + (x >> 6) as usize] >> (x & 63) & 1 == 0
    }

    /// The state, column by column.
    pub fn columns(&self) -> impl Iterator<Item = &[i32]> {
        [
            &self.x[..],
            &self.y,
            &self.goal_x,
            &self.goal_y,
            &self.body,
            &self.hp,
        ]
        .into_iter()
    }
}

#[inline(always)]
fn lanes(column: &[i32], at: usize) -> [i32; LANES] {
    let mut out = [0; LANES];
    out.copy_from_slice(&column[at..at + LANES]);
    out
}
