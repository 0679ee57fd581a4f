//! The ground as drawn.

use super::*;
use crate::window::canvas::Drawn;
use crate::window::viewer::raster::Still;
use crate::world::Setup;
use sim::{Seed, Simulation, Start};

#[test]
fn unexplored_ground_is_covered_and_seen_ground_is_clear() {
    let world = World::of_two();
    let mut canvas = Canvas::new();
    canvas.begin((1_280.0, 720.0), 1.0);
    let mut land = Land::new(&world, &mut canvas);
    let eye = Eye::Seat(Seat(0));
    land.look(&world, eye, &mut canvas);
    let wide = usize::from(world.map().size()) + 1;
    let picture = &canvas.kept().1[land.fog.picture().place()];
    let alpha = |x: usize, y: usize| picture.rgba[(y * wide + x) * 4 + 3];
    let (mut dark, mut clear) = (0, 0);
    for y in 0..world.map().size() {
        for x in 0..world.map().size() {
            let tile = Tile::new(x, y);
            let (x, y) = (usize::from(x), usize::from(y));
            let corners = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)];
            if !eye.explored(&world, tile) {
                assert!(corners.iter().all(|(x, y)| alpha(*x, *y) == 255), "{x} {y}");
                dark += 1;
            } else if corners.iter().all(|(x, y)| alpha(*x, *y) == 0) {
                assert!(eye.sees(&world, tile));
                clear += 1;
            }
        }
    }
    assert!(dark > 1_000 && clear > 100, "{dark} {clear}");
    let small = &canvas.kept().1[land.small.id().place()];
    let edge = usize::from(world.map().size());
    assert_eq!(small.rgba.len(), edge * edge * 4);
}

#[test]
fn distant_ground_is_cheap_and_is_uploaded_once() {
    let world = World::of_two();
    let mut canvas = Canvas::new();
    canvas.begin((720.0, 720.0), 1.0);
    let mut land = Land::new(&world, &mut canvas);
    let size = f32::from(world.map().size());
    let mut camera = Camera::new((size / 2.0, size / 2.0), world.map().size());
    camera.view = canvas.whole();
    camera.zoom = 720.0 / size;
    assert!(camera.zoom < LEAST_FOR_GRASS);
    land.look(&world, Eye::All, &mut canvas);
    land.draw(world.map(), &camera, &mut canvas);
    land.draw_fog_over(&camera, &mut canvas);
    let pictures = canvas.batches().iter();
    let pictures = pictures.filter(|batch| matches!(batch.drawn, Drawn::Picture { .. }));
    assert_eq!(pictures.count(), 1, "the ground, and no fog");
    let drawn: Vec<Drawn> = canvas.batches().iter().map(|batch| batch.drawn).collect();
    let meshes = canvas.kept().2.iter();
    let covered = drawn.iter().filter_map(|drawn| match drawn {
        Drawn::Kept { mesh, .. } => meshes.clone().nth(mesh.place()),
        _ => None,
    });
    let kept: usize = covered.map(|mesh| mesh.indices.len() / 3).sum();
    let forest = terrain(world.map()).filter(|terrain| *terrain != Terrain::Ground);
    assert!(kept < 50 * forest.count(), "{kept}: trees and stones");

    let changed = |land: &mut Land, canvas: &mut Canvas| {
        land.look(&world, Eye::All, canvas);
        let pictures = canvas.kept().1.iter_mut();
        pictures.fold(0, |many, picture| {
            many + usize::from(std::mem::take(&mut picture.changed))
        })
    };
    assert_eq!(
        changed(&mut land, &mut canvas),
        3,
        "ground, fog and small map"
    );
    land.shown = None;
    assert_eq!(changed(&mut land, &mut canvas), 0);
    land.changed(Tile::new(3, 4), &world, &mut canvas);
    land.shown = None;
    assert_eq!(changed(&mut land, &mut canvas), 3);
}

#[test]
fn trees_at_the_edge_of_a_chunk_are_whole() {
    let edge = f32::from(CHUNK);
    let leans = |map: &Map| {
        (0..map.size()).find(|y| {
            let (tree, beside) = (Tile::new(CHUNK - 1, *y), Tile::new(CHUNK, *y));
            let reach = 0.5 + (part(dice(tree), 2) - 0.5) * 0.3 + 0.46;
            let is_so = [tree, beside].map(|tile| map.terrain(tile));
            is_so == [Terrain::Forest, Terrain::Ground] && reach > 1.05
        })
    };
    let setup = |seed| Setup {
        map_seed: Some(seed),
        ..Setup::default()
    };
    let found = (0..50).find_map(|seed| {
        let world = World::new(&Start {
            setup: setup(seed),
            seed: Seed([1; 32]),
            seats: vec![Seat(0), Seat(1)],
        });
        leans(world.map()).map(|y| (world, f32::from(y)))
    });
    let (world, y) = found.expect("a map with a wood that ends at the edge of a mesh");
    let mut canvas = Canvas::new();
    let mut camera = Camera::new((edge, y + 0.5), world.map().size());
    camera.view = Rect::new(0.0, 0.0, 200.0, 200.0);
    camera.zoom = 100.0;
    let mut drawn = |draw: &dyn Fn(&Land, &mut Canvas)| {
        canvas.begin((200.0, 200.0), 1.0);
        let mut land = Land::new(&world, &mut canvas);
        land.draw(world.map(), &camera, &mut canvas);
        draw(&land, &mut canvas);
        Still::of(&mut canvas, theme::GROUND).draw()
    };
    let whole = drawn(&|_, _| ());
    let bare = drawn(&|land, canvas| {
        let origin = camera.to_window((0.0, 0.0));
        canvas.begin((200.0, 200.0), 1.0);
        land.fog.draw_below(land.ground.id(), &camera, canvas);
        let chunks = land.chunks.iter().flatten();
        chunks.for_each(|chunk| canvas.mesh(chunk.grass.id(), camera.zoom, origin));
    });
    let right_of_edge = |place: usize| place / 3 % 200 >= 102;
    let leaning = (0..whole.len())
        .filter(|place| right_of_edge(*place) && whole[*place] != bare[*place])
        .count();
    assert!(leaning > 100, "{leaning}");
}
