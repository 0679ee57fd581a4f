//! What a seat has and knows, sorted for thinking.

use crate::world::{
    BuildingView, Id, Kind, LARGEST_PLAYED, Order, Resource, SeatView, Seen, Selection, Tile,
    UnitView,
};
use sim::Square;

pub(super) struct Estate<'a> {
    pub seen: Seen<'a>,
    pub seat: SeatView,
    pub workers: Vec<UnitView>,
    pub soldiers: Vec<UnitView>,
    pub buildings: Vec<BuildingView>,
    /// Enemies in sight.
    pub enemy_units: Vec<UnitView>,
    /// Buildings in sight or remembered, of seats that are still in the match.
    pub enemy_buildings: Vec<BuildingView>,
    /// Gold near the own halls, where no enemy raids.
    pub mines: Vec<Mine>,
    /// What is left to spend after the commands of this thought.
    pub gold: u32,
    pub wood: u32,
    /// Units that this thought has given a command, ascending.
    busy: Vec<Id>,
}

/// The gold near one finished town hall.
pub(super) struct Mine {
    pub hall: Tile,
    /// The tile of gold nearest to the hall.
    pub tile: Tile,
    /// Workers it has room for.
    pub room: usize,
    pub miners: usize,
    pub gold: u32,
}

impl<'a> Estate<'a> {
    /// What this seat has, while it is in the match.
    pub fn of(seen: Seen<'a>) -> Option<Self> {
        let view = Some(seen.seat()).filter(|view| !view.defeated)?;
        let mut estate = Self {
            seen,
            seat: view,
            workers: Vec::new(),
            soldiers: Vec::new(),
            buildings: Vec::new(),
            enemy_units: Vec::new(),
            enemy_buildings: Vec::new(),
            mines: Vec::new(),
            gold: view.gold,
            wood: view.wood,
            busy: Vec::new(),
        };
        for unit in seen.some_units(OWN, OTHERS) {
            if unit.seat != view.seat {
                estate.enemy_units.push(unit);
            } else if unit.kind.is_soldier() {
                estate.soldiers.push(unit);
            } else {
                estate.workers.push(unit);
            }
        }
        let beaten: Vec<_> = seen.rivals().filter(|rival| rival.defeated).collect();
        for building in seen.buildings() {
            if building.seat == view.seat {
                estate.buildings.push(building);
            } else if beaten.iter().all(|rival| rival.seat != building.seat) {
                estate.enemy_buildings.push(building);
            }
        }
        estate.mines = estate.count_mines();
        Some(estate)
    }

    fn count_mines(&self) -> Vec<Mine> {
        let halls = self.complete(Kind::TownHall).map(middle);
        let mut mines: Vec<Mine> = halls.filter_map(|hall| self.mine_at(hall)).collect();
        for worker in &self.workers {
            if self.gathers(worker) == Some(Resource::Gold) && worker.order != Order::Farm {
                let nearest = mines
                    .iter_mut()
                    .min_by_key(|mine| mine.tile.king_steps(worker.goal));
                if let Some(mine) = nearest {
                    mine.miners += 1;
                }
            }
        }
        mines
    }

    fn mine_at(&self, hall: Tile) -> Option<Mine> {
        let mut mine = Mine {
            hall,
            tile: hall,
            room: 0,
            miners: 0,
            gold: 0,
        };
        let mut least = Square::MAX;
        for tile in square(hall, NEAR, self.seen.size()) {
            if let Some((Resource::Gold, amount)) = self.seen.resource(tile) {
                mine.room += MINERS_PER_TILE;
                mine.gold += u32::from(amount);
                let far = tile.centre().distance_squared(hall.centre());
                if far < least && self.is_reachable(tile) {
                    least = far;
                    mine.tile = tile;
                }
            }
        }
        let raided = self
            .enemy_units
            .iter()
            .any(|unit| unit.kind.is_soldier() && unit.tile.king_steps(mine.tile) <= 7);
        (least < Square::MAX && !raided).then_some(mine)
    }

    /// Whether a unit of the household can stand beside a tile.
    pub fn is_reachable(&self, tile: Tile) -> bool {
        let region = self.home_region();
        square(tile, 1, self.seen.size())
            .any(|side| self.seen.region(side) == region && region != 0)
    }

    /// Where the household is centred: a finished hall, else any building, else the start.
    pub fn home(&self) -> Tile {
        let hall = self.complete(Kind::TownHall).next();
        hall.or(self.buildings.first())
            .map_or(self.seat.home, middle)
    }

    pub fn complete(&self, kind: Kind) -> impl Iterator<Item = &BuildingView> {
        self.buildings
            .iter()
            .filter(move |b| b.kind == kind && b.complete)
    }

    /// Buildings and foundations of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.buildings.iter().filter(|b| b.kind == kind).count()
    }

    pub fn is_being_built(&self, kind: Kind) -> bool {
        self.buildings.iter().any(|b| b.kind == kind && !b.complete)
    }

    /// Whether the seat can pay for it and has the buildings that it needs.
    pub fn can_have(&self, kind: Kind) -> bool {
        self.can_pay(kind) && self.may_have(kind)
    }

    pub fn may_have(&self, kind: Kind) -> bool {
        let mut needs = kind.stats().needs.iter();
        needs.all(|need| self.complete(*need).next().is_some())
    }

    pub fn can_pay(&self, kind: Kind) -> bool {
        let stats = kind.stats();
        self.gold >= stats.gold && self.wood >= stats.wood
    }

    pub fn pay(&mut self, kind: Kind) {
        let stats = kind.stats();
        self.gold = self.gold.saturating_sub(stats.gold);
        self.wood = self.wood.saturating_sub(stats.wood);
    }

    /// What a worker is after, if it gathers.
    pub fn gathers(&self, worker: &UnitView) -> Option<Resource> {
        match worker.order {
            Order::Farm => Some(Resource::Gold),
            Order::Gather | Order::Return => worker
                .carries
                .map(|(resource, _)| resource)
                .or_else(|| self.seen.resource(worker.goal).map(|(found, _)| found)),
            _ => None,
        }
    }

    /// Workers without a command in this thought.
    pub fn free_workers(&self) -> impl Iterator<Item = &UnitView> {
        self.workers.iter().filter(|worker| self.is_free(worker))
    }

    pub fn is_free(&self, unit: &UnitView) -> bool {
        self.busy.binary_search(&unit.id).is_err()
    }

    /// A selection of these units, which are busy from now on.
    pub fn select<'u>(&mut self, units: impl IntoIterator<Item = &'u UnitView>) -> Selection {
        let ids: Vec<Id> = units.into_iter().map(|unit| unit.id).collect();
        self.busy.extend(&ids);
        self.busy.sort_unstable();
        self.seen.select(ids)
    }

    /// The free worker nearest to a place; idle and empty-handed workers count as nearer.
    pub fn builder(&self, near: Tile) -> Option<UnitView> {
        let busy = |worker: &UnitView| match (worker.order, worker.carries) {
            (Order::Idle, _) => 0,
            (_, None) => 6,
            _ => 12,
        };
        self.free_workers()
            .filter(|worker| {
                let busy = [
                    Order::Construct,
                    Order::Repair,
                    Order::Move,
                    Order::Enter,
                    Order::Inside,
                ];
                !busy.contains(&worker.order)
            })
            .min_by_key(|worker| (worker.tile.king_steps(near) + busy(worker), worker.id))
            .copied()
    }

    /// The region in which the household's units walk.
    pub fn home_region(&self) -> u32 {
        let walker = self.workers.first().or(self.soldiers.first());
        walker.map_or(0, |unit| self.seen.region(unit.tile))
    }
}

/// The tile in the middle of a building.
pub(super) fn middle(building: &BuildingView) -> Tile {
    let half = building.kind.stats().size / 2;
    Tile::new(building.tile.x + half, building.tile.y + half)
}

/// What units are worth in a fight: their price, by the hit points left.
pub(super) fn strength<'u>(units: impl IntoIterator<Item = &'u UnitView>) -> u32 {
    units.into_iter().map(worth).sum()
}

fn worth(unit: &UnitView) -> u32 {
    let stats = unit.kind.stats();
    let price = if unit.kind.is_soldier() {
        stats.gold + stats.wood
    } else {
        WORKER_WORTH
    };
    price * u32::from(unit.hit_points) / u32::from(stats.hit_points.max(1))
}

/// All tiles of the map at most `reach` steps of a king away, line by line.
pub(super) fn square(middle: Tile, reach: u16, size: u16) -> impl Iterator<Item = Tile> {
    let edge = size.saturating_sub(1);
    let (left, right) = (
        middle.x.saturating_sub(reach),
        middle.x.saturating_add(reach).min(edge),
    );
    let (top, bottom) = (
        middle.y.saturating_sub(reach),
        middle.y.saturating_add(reach).min(edge),
    );
    (top..=bottom).flat_map(move |y| (left..=right).map(move |x| Tile::new(x, y)))
}

/// The good tile nearest to `from`, at most `most` and [`FARTHEST`] steps of a king away. It searches ring by
/// ring, so that a near tile is found soon.
pub(super) fn nearest(
    from: Tile,
    most: u16,
    size: u16,
    mut good: impl FnMut(Tile) -> bool,
) -> Option<Tile> {
    let mut best: Option<(u32, Tile)> = None;
    for ring in 0..=most.min(FARTHEST) {
        if best.is_some_and(|(least, _)| least < u32::from(ring) * u32::from(ring)) {
            break;
        }
        for tile in ring_around(from, ring, size) {
            let (dx, dy) = (tile.x.abs_diff(from.x), tile.y.abs_diff(from.y));
            let far = u32::from(dx) * u32::from(dx) + u32::from(dy) * u32::from(dy);
            let nearer =
                best.is_none_or(|(least, first)| (far, tile.y, tile.x) < (least, first.y, first.x));
            if nearer && good(tile) {
                best = Some((far, tile));
            }
        }
    }
    best.map(|(_, tile)| tile)
}

/// The tiles of the map exactly `ring` steps of a king away.
fn ring_around(from: Tile, ring: u16, size: u16) -> impl Iterator<Item = Tile> {
    let reach = i32::from(ring);
    let (x, y) = (i32::from(from.x), i32::from(from.y));
    (-reach..=reach).flat_map(move |dy| {
        let whole = dy.abs() == reach;
        let stride = if whole { 1 } else { 2 * reach };
        (-reach..=reach)
            .step_by(stride.max(1) as usize)
            .filter_map(move |dx| {
                let (x, y) = (u16::try_from(x + dx).ok()?, u16::try_from(y + dy).ok()?);
                (x < size && y < size).then_some(Tile::new(x, y))
            })
    })
}

/// Units that a thought considers at most: more than a seat, and seven others, may ever train.
const OWN: usize = 512;
const OTHERS: usize = 2_048;
/// No thought looks farther: the largest map that players choose.
const FARTHEST: u16 = LARGEST_PLAYED;
/// How far from a hall workers still fetch gold.
pub(super) const NEAR: u16 = 11;
const MINERS_PER_TILE: usize = 3;
/// A worker's worth in a fight.
const WORKER_WORTH: u32 = 15;
