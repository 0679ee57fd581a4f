//! Where the units of a group go: each to its own place near the goal.

use super::{Refusal, World, errands::Errand, orders::on_map, tile::Tile, units::Order};

/// Sends a group: each unit gets its own place near the goal, and keeps its place in the group. A unit
/// without a way to the goal goes as near as it gets.
pub(super) fn spread(
    w: &World,
    mut units: Vec<usize>,
    order: Order,
    to: Tile,
) -> Result<Vec<(usize, Errand)>, Refusal> {
    on_map(w, to)?;
    let Some(first) = units.first() else {
        return Ok(Vec::new());
    };
    let region = w.map.region(w.units.tile(*first));
    let to = if w.map.region(to) == region {
        to
    } else {
        w.map.nearest_in_region(to, region).unwrap_or(to)
    };
    let goal = w.map.index(to);
    let mut places = places_around(w, to, units.len(), region);
    places.sort_unstable_by_key(|tile| (tile.y, tile.x));
    units.sort_by_key(|row| (w.units.y[*row], w.units.x[*row]));
    let errands = units.into_iter().enumerate().map(|(number, row)| {
        let post = places.get(number).map_or(goal, |place| w.map.index(*place));
        let errand = Errand {
            order,
            goal,
            post,
            target: 0,
        };
        (row, errand)
    });
    Ok(errands.collect())
}

/// The open tiles of `region` nearest to `to`, as many as asked for or as there are nearby.
fn places_around(w: &World, to: Tile, count: usize, region: u32) -> Vec<Tile> {
    let reach = (count as u64).isqrt() as u16 / 2 + 3;
    let edge = w.map.size() - 1;
    let (left, right) = (
        to.x.saturating_sub(reach),
        to.x.saturating_add(reach).min(edge),
    );
    let (top, bottom) = (
        to.y.saturating_sub(reach),
        to.y.saturating_add(reach).min(edge),
    );
    let mut tiles: Vec<Tile> = (top..=bottom)
        .flat_map(|y| (left..=right).map(move |x| Tile::new(x, y)))
        .filter(|tile| w.map.region(*tile) == region && region != 0)
        .collect();
    let centre = to.centre();
    tiles.sort_by_key(|tile| tile.centre().distance_squared(centre));
    tiles.truncate(count);
    tiles
}
