//! Frames, inspected without a graphics card.

use super::*;

fn canvas() -> Canvas {
    let mut canvas = Canvas::new();
    canvas.begin((1_280.0, 720.0), 1.0);
    canvas
}

#[test]
fn shapes_and_text_are_one_draw_call_until_the_clip_changes() {
    let mut canvas = canvas();
    canvas.rect(Rect::new(0.0, 0.0, 9.0, 9.0), [1; 4]);
    canvas.circle((5.0, 5.0), 3.0, [2; 4]);
    canvas.text((0.0, 0.0), "one", 14.0, Weight::Regular, [3; 4]);
    assert_eq!(canvas.batches().len(), 1);
    canvas.clip(Rect::new(0.0, 0.0, 5.0, 5.0));
    canvas.text((0.0, 0.0), "two", 14.0, Weight::Regular, [3; 4]);
    canvas.unclip();
    canvas.ring((5.0, 5.0), 3.0, 1.0, [2; 4]);
    assert_eq!(canvas.batches().len(), 3);
    let (vertices, indices) = canvas.triangles();
    assert!(indices.iter().all(|at| (*at as usize) < vertices.len()));
    let ends: usize = canvas
        .batches()
        .iter()
        .map(|batch| match batch.drawn {
            Drawn::Shapes { first, end } => end - first,
            _ => 0,
        })
        .sum();
    assert_eq!(ends, indices.len());
}

#[test]
fn text_covers_what_it_measures_in_whole_pixels() {
    let mut canvas = canvas();
    let wide = canvas.measure("Gold 250", 15.4, Weight::Bold);
    let area = canvas.text((10.3, 20.6), "Gold 250", 15.4, Weight::Bold, [255; 4]);
    assert_eq!((area.x, area.y, area.w), (10.0, 21.0, wide));
    let (vertices, _) = canvas.triangles();
    let inside = |v: &Vertex| {
        v.at[0] >= area.x - 1.0
            && v.at[0] <= area.right() + 1.0
            && v.at[1] >= area.y
            && v.at[1] <= area.bottom()
    };
    assert!(vertices.iter().all(inside));
    assert!(
        vertices
            .iter()
            .all(|v| v.at.iter().all(|at| at.fract() == 0.0))
    );
}

#[test]
fn the_scale_grows_with_the_window_and_is_never_too_small() {
    let mut canvas = canvas();
    assert_eq!(canvas.scale(), 1.0);
    canvas.begin((3_840.0, 2_160.0), 1.0);
    assert_eq!(canvas.scale(), 3.0);
    canvas.begin((1.0, 1.0), 1.0);
    assert_eq!(canvas.scale(), SMALLEST_SCALE);
}

#[test]
fn shapes_of_a_mesh_are_not_in_the_frame() {
    let mut canvas = canvas();
    let mesh = canvas.keep_mesh();
    canvas.into_mesh(mesh.id(), |canvas| {
        canvas.rect(Rect::new(0.0, 0.0, 1.0, 1.0), [9; 4]);
    });
    assert!(canvas.batches().is_empty());
    canvas.mesh(mesh.id(), 32.0, (5.0, 6.0));
    assert_eq!(canvas.batches().len(), 1);
    assert_eq!(canvas.kept().2[0].vertices.len(), 4);
    assert_eq!(canvas.kept().2[0].indices, [0, 1, 2, 0, 2, 3]);
}

#[test]
fn resources_without_a_handle_are_freed() {
    let mut canvas = canvas();
    let square = |canvas: &mut Canvas| canvas.rect(Rect::new(0.0, 0.0, 1.0, 1.0), [9; 4]);
    let (first, second) = (canvas.keep_mesh(), canvas.keep_mesh());
    canvas.into_mesh(first.id(), square);
    canvas.into_mesh(second.id(), square);
    let picture = canvas.keep_picture();
    let kept = canvas.picture_mut(picture.id());
    (kept.width, kept.height, kept.rgba) = (1, 1, vec![255; 4]);
    drop((first, picture));
    let indices = |canvas: &mut Canvas| -> Vec<usize> {
        let meshes = canvas.kept().2.iter();
        meshes.map(|mesh| mesh.indices.len()).collect()
    };
    assert_eq!(indices(&mut canvas), [6, 6], "this frame may draw it still");
    canvas.kept().2[0].changed = false;
    canvas.begin((100.0, 100.0), 1.0);
    assert_eq!(indices(&mut canvas), [0, 6]);
    assert!(canvas.kept().2[0].changed, "the card hears of it");
    assert_eq!(canvas.kept().1[0].width, 0);
    for _ in 0..100 {
        drop((canvas.keep_mesh(), canvas.keep_picture()));
        canvas.begin((100.0, 100.0), 1.0);
    }
    let (_, pictures, meshes) = canvas.kept();
    assert_eq!((pictures.len(), meshes.len()), (1, 2), "indices are reused");
}

#[test]
fn shapes_are_white_in_a_picture_of_letters_of_every_size() {
    let mut letters = Letters::new();
    let mut edges = Vec::new();
    for size in 8..200 {
        letters.begin();
        for letter in 'A'..='z' {
            letters.glyph(letter, size * 2, Weight::Bold);
        }
        let edge = usize::from(letters.edge());
        let [x, y] = WHITE_SPOT.map(|at| (f32::from(at) / FAR * edge as f32) as usize);
        assert_eq!(letters.alpha()[y * edge + x], 255, "{edge} pixels");
        edges.push(edge);
    }
    edges.dedup();
    assert!(edges.len() > 2, "it has grown: {edges:?}");
}

#[test]
fn letters_missing_from_the_font_share_a_glyph() {
    let mut letters = Letters::new();
    let unknown =
        ('\u{4e00}'..'\u{9000}').map(|letter| letters.glyph(letter, 20, Weight::Regular).at);
    let mut places: Vec<(u16, u16)> = unknown.collect();
    places.dedup();
    assert_eq!(places.len(), 1);
}
