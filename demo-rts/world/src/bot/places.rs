//! Where to build.

use super::estate::{Estate, NEAR, middle, nearest, square};
use crate::world::{Command, Kind, Resource, Terrain, Tile};

/// Founds a building as near to a place as there is room.
pub(super) fn found_near(
    estate: &mut Estate<'_>,
    kind: Kind,
    near: Tile,
    commands: &mut Vec<Command>,
) {
    if let Some(at) = site(estate, kind, near) {
        found(estate, kind, at, commands);
    }
}

/// Founds a building there and sends a worker to build it.
pub(super) fn found(estate: &mut Estate<'_>, kind: Kind, at: Tile, commands: &mut Vec<Command>) {
    if let Some(worker) = estate.builder(at) {
        estate.pay(kind);
        let units = estate.select([&worker]);
        commands.push(Command::Build { units, kind, at });
    }
}

/// The free place for a building nearest to `near`, with a lane around it and away from mines.
pub(super) fn site(estate: &Estate<'_>, kind: Kind, near: Tile) -> Option<Tile> {
    let seen = estate.seen;
    let size = kind.stats().size;
    let half = size / 2;
    let region = estate.home_region();
    let lanes = lanes(estate);
    let corner = Tile::new(near.x.saturating_sub(half), near.y.saturating_sub(half));
    nearest(corner, FAR, seen.size(), |at| {
        if at.x == 0 || at.y == 0 || seen.region(at) != region {
            return false;
        }
        let centre = Tile::new(at.x + half, at.y + half);
        let in_lane = kind != Kind::TownHall && lanes.iter().any(|lane| lane.holds(centre));
        !in_lane
            && seen.has_room(Tile::new(at.x - 1, at.y - 1), size + 2)
            && !square(centre, half + 2, seen.size())
                .any(|tile| seen.terrain(tile) == Some(Terrain::Gold))
    })
}

/// The workers' way between a hall and its mine.
struct Lane {
    hall: Tile,
    mine: Tile,
}

impl Lane {
    fn holds(&self, centre: Tile) -> bool {
        let around = centre.king_steps(self.hall) + centre.king_steps(self.mine);
        around <= self.hall.king_steps(self.mine) + 2
    }
}

fn lanes(estate: &Estate<'_>) -> Vec<Lane> {
    let lane = |mine: &super::estate::Mine| Lane {
        hall: mine.hall,
        mine: mine.tile,
    };
    estate.mines.iter().map(lane).collect()
}

/// The nearest gold that no hall of this seat stands by and no enemy is known to hold.
pub(super) fn free_mine(estate: &Estate<'_>) -> Option<Tile> {
    let seen = estate.seen;
    let home = estate.home();
    let taken: Vec<Tile> = estate
        .buildings
        .iter()
        .filter(|b| b.kind == Kind::TownHall)
        .map(middle)
        .collect();
    let held: Vec<Tile> = estate.enemy_buildings.iter().map(middle).collect();
    nearest(home, seen.size(), seen.size(), |tile| {
        let gold = seen
            .resource(tile)
            .is_some_and(|(found, _)| found == Resource::Gold);
        gold && !taken.iter().any(|hall| hall.king_steps(tile) <= NEAR)
            && !held.iter().any(|enemy| enemy.king_steps(tile) <= HELD)
            && estate.is_reachable(tile)
    })
}

/// How far from its wanted place a building may lie.
const FAR: u16 = 20;
/// Tiles from an enemy's building within which gold is the enemy's.
const HELD: u16 = 14;
