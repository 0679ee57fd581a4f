//! Orders that wait until a unit has done its present one: a sparse table, a row for each errand.

use super::{
    Id, World,
    columns::columns,
    economy::become_idle,
    errands::{self, Errand},
    tables::{Stats, WAYPOINTS},
    units::Order,
};

columns! {
    /// Errands that wait, by ascending unit; of one unit, in the order of being done.
    Waypoints of Waypoint {
        /// Id of the unit.
        unit: u32,
        order: Order,
        goal: u32,
        post: u32,
        target: u32,
    }
}

impl Waypoints {
    pub fn len(&self) -> usize {
        self.unit.len()
    }

    /// Rows of one unit's errands.
    pub fn of(&self, unit: u32) -> std::ops::Range<usize> {
        let first = self.unit.partition_point(|id| *id < unit);
        let count = self.unit[first..].partition_point(|id| *id == unit);
        first..first + count
    }

    pub fn row(&self, at: usize) -> Waypoint {
        Waypoint {
            unit: self.unit[at],
            order: self.order[at],
            goal: self.goal[at],
            post: self.post[at],
            target: self.target[at],
        }
    }

    /// Appends an errand to each of these units, which are in ascending order and had room for one.
    pub fn append(&mut self, units: &[(u32, Errand)]) {
        let mut merged = Waypoints::default();
        let mut at = 0;
        for (unit, errand) in units {
            while at < self.len() && self.unit[at] <= *unit {
                merged.push(self.row(at));
                at += 1;
            }
            if merged.of(*unit).len() >= WAYPOINTS {
                continue;
            }
            merged.push(Waypoint {
                unit: *unit,
                order: errand.order,
                goal: errand.goal,
                post: errand.post,
                target: errand.target,
            });
        }
        for rest in at..self.len() {
            merged.push(self.row(rest));
        }
        *self = merged;
    }

    /// Drops every errand of these units, which are in ascending order.
    pub fn forget(&mut self, units: &[u32]) {
        let waits = |unit: &u32| units.binary_search(unit).is_ok();
        if self.unit.iter().any(waits) {
            let gone: Vec<bool> = self.unit.iter().map(waits).collect();
            self.remove(&gone);
        }
    }

    /// Takes the first errand of the unit whose rows begin at `first`; the rest moves up, and `last`
    /// takes the place that becomes free.
    fn rotate(&mut self, rows: std::ops::Range<usize>, last: Waypoint) -> Waypoint {
        let taken = self.row(rows.start);
        let end = rows.end - 1;
        self.order[rows.clone()].rotate_left(1);
        self.goal[rows.clone()].rotate_left(1);
        self.post[rows.clone()].rotate_left(1);
        self.target[rows].rotate_left(1);
        self.order[end] = last.order;
        self.goal[end] = last.goal;
        self.post[end] = last.post;
        self.target[end] = last.target;
        taken
    }
}

/// Lets every unit that has nothing left to do begin its next errand, and forgets those of the dead.
pub(super) fn go_on(w: &mut World) {
    if w.waypoints.len() == 0 {
        return;
    }
    let mut gone = vec![false; w.waypoints.len()];
    let mut first = 0;
    while first < w.waypoints.len() {
        let unit = w.waypoints.unit[first];
        // A few at most: no search is faster.
        let same = w.waypoints.unit[first..].iter();
        let rows = first..first + same.take_while(|other| **other == unit).count();
        match w.units.row(Id(unit)) {
            None => gone[rows.clone()].fill(true),
            Some(row) if w.units.order[row] == Order::Idle => {
                for at in rows.clone() {
                    gone[at] = true;
                    let errand = w.waypoints.row(at).into();
                    if errands::begin(w, row, errand) {
                        break;
                    }
                }
            }
            Some(_) => {}
        }
        first = rows.end;
    }
    if gone.contains(&true) {
        w.waypoints.remove(&gone);
    }
}

/// Whether the unit has errands waiting.
pub(super) fn waits(w: &World, row: usize) -> bool {
    !w.waypoints.of(w.units.id[row]).is_empty()
}

/// The end of a leg of a patrol: on to the next errand, or back to where the leg began.
pub(super) fn turn(w: &mut World, row: usize) {
    let rows = w.waypoints.of(w.units.id[row]);
    let (goal, post) = (w.units.goal[row], w.units.post[row]);
    let next = if rows.is_empty() {
        let back = w.units.site[row];
        Errand {
            order: Order::Patrol,
            goal: back,
            post: back,
            target: 0,
        }
    } else if w.waypoints.order[rows.start] == Order::Patrol {
        let last = Waypoint {
            unit: w.units.id[row],
            order: Order::Patrol,
            goal,
            post,
            target: 0,
        };
        w.waypoints.rotate(rows, last).into()
    } else {
        become_idle(w, row);
        return;
    };
    // The leg ends where it was meant to, even if the unit did not get there.
    errands::begin(w, row, next);
    w.units.site[row] = goal;
}

/// Checks what a snapshot says: known units with not too many errands each, in order, that they can do.
pub(super) fn are_sound(w: &World) -> bool {
    let points = &w.waypoints;
    let on_map = |place: &u32| (*place as usize) < w.map.tiles();
    let few = points
        .unit
        .windows(WAYPOINTS + 1)
        .all(|run| run[0] != run[WAYPOINTS]);
    let able = |at: usize| {
        let row = w.units.id.binary_search(&points.unit[at]);
        row.is_ok_and(|row| can_do(w.units.stats(row), points.order[at]))
    };
    points.unit.is_sorted()
        && few
        && points.goal.iter().all(on_map)
        && points.post.iter().all(on_map)
        && (0..points.len()).all(able)
}

/// Whether an order can wait for such a unit.
fn can_do(stats: &Stats, order: Order) -> bool {
    match order {
        Order::Move | Order::AttackMove | Order::Attack | Order::Hold | Order::Patrol => true,
        Order::Gather | Order::Construct | Order::Farm | Order::Repair => stats.gather_ticks > 0,
        Order::Enter => stats.splash == 0,
        Order::AttackGround => stats.splash > 0,
        Order::Idle | Order::Return | Order::Inside => false,
    }
}
