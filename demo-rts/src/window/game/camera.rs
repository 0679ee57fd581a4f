//! Which part of the map is shown, and at what zoom.

use crate::window::canvas::Rect;
use crate::window::input::{Input, KeyCode, MouseButton};
use crate::window::settings::Settings;
use crate::world::Tile;
use sim::Vec2;

/// A place on the map in tiles, with fractions.
pub type Place = (f32, f32);

pub fn place_of(point: Vec2) -> Place {
    (point.x.to_num(), point.y.to_num())
}

#[derive(Clone, Debug, PartialEq)]
pub struct Camera {
    /// The place in the middle of the view.
    pub centre: Place,
    /// Pixels per tile.
    pub zoom: f32,
    /// The part of the window that shows the map.
    pub view: Rect,
    /// The scale of the interface.
    scale: f32,
    /// Tiles along an edge of the map.
    size: f32,
    /// Whether the middle button is dragging the map.
    drags: bool,
}

impl Camera {
    /// Above a place, on a map with edges of `size` tiles.
    pub fn new(centre: Place, size: u16) -> Camera {
        Camera {
            centre,
            zoom: 0.0,
            view: Rect::default(),
            scale: 1.0,
            size: f32::from(size),
            drags: false,
        }
    }

    /// Follows the window's size and the interface's scale.
    pub fn fit(&mut self, view: Rect, scale: f32) {
        self.view = view;
        if self.zoom == 0.0 {
            self.zoom = USUAL_ZOOM * scale;
        } else {
            // A larger window shows the same part of the map, in more detail.
            self.zoom *= scale / self.scale;
        }
        self.scale = scale;
        self.keep_zoom();
        self.keep_inside();
    }

    /// Moves with keys, edges, drags and the wheel. `covered`: the mouse is over a panel.
    pub fn steer(&mut self, input: &Input, settings: &Settings, covered: bool, arrows: bool) {
        let (mut dx, mut dy) = (0.0, 0.0);
        if arrows {
            let way = |plus, minus| {
                f32::from(u8::from(input.holds_key(plus)))
                    - f32::from(u8::from(input.holds_key(minus)))
            };
            dx += way(KeyCode::Right, KeyCode::Left);
            dy += way(KeyCode::Down, KeyCode::Up);
        }
        if settings.edge_scroll
            && input.focused
            && let Some((x, y)) = input.mouse
        {
            let edge = |at: f32, end: f32| {
                f32::from(u8::from(at >= end - EDGE)) - f32::from(u8::from(at < EDGE))
            };
            dx += edge(x, input.size.0);
            dy += edge(y, input.size.1);
        }
        let far =
            settings.scroll_speed * input.seconds * (USUAL_ZOOM / self.relative_zoom()).sqrt();
        self.centre.0 += dx.clamp(-1.0, 1.0) * far;
        self.centre.1 += dy.clamp(-1.0, 1.0) * far;
        let began = input.press(MouseButton::Middle);
        self.drags |= began.is_some_and(|click| self.view.contains(click.at) && !covered);
        self.drags &= input.holds_button(MouseButton::Middle);
        if self.drags {
            self.centre.0 -= input.moved.0 / self.zoom;
            self.centre.1 -= input.moved.1 / self.zoom;
        }
        if input.wheel != 0.0
            && !covered
            && let Some(at) = input.mouse.filter(|at| self.view.contains(*at))
        {
            self.zoom_at(at, ZOOM_STEP.powf(input.wheel));
        }
        self.keep_inside();
    }

    /// Zooms with the place under a pixel fixed.
    pub fn zoom_at(&mut self, at: (f32, f32), factor: f32) {
        let fixed = self.to_map(at);
        self.zoom *= factor;
        self.keep_zoom();
        let moved = self.to_map(at);
        self.centre.0 += fixed.0 - moved.0;
        self.centre.1 += fixed.1 - moved.1;
        self.keep_inside();
    }

    pub fn look_at(&mut self, tile: Tile) {
        self.centre = place_of(tile.centre());
        self.keep_inside();
    }

    /// The pixel of a place on the map.
    pub fn to_window(&self, (x, y): Place) -> (f32, f32) {
        let (mx, my) = self.view.centre();
        (
            mx + (x - self.centre.0) * self.zoom,
            my + (y - self.centre.1) * self.zoom,
        )
    }

    /// The place on the map under a pixel.
    pub fn to_map(&self, (x, y): (f32, f32)) -> Place {
        let (mx, my) = self.view.centre();
        (
            self.centre.0 + (x - mx) / self.zoom,
            self.centre.1 + (y - my) / self.zoom,
        )
    }

    /// The tile under a pixel; `None` off the map.
    pub fn tile_at(&self, at: (f32, f32)) -> Option<Tile> {
        let (x, y) = self.to_map(at);
        let on = |at: f32| at >= 0.0 && at < self.size;
        (on(x) && on(y)).then(|| Tile::new(x as u16, y as u16))
    }

    /// The part of the map in view, in tiles.
    pub fn shown(&self) -> Rect {
        let (x, y) = self.to_map((self.view.x, self.view.y));
        Rect::new(x, y, self.view.w / self.zoom, self.view.h / self.zoom)
    }

    /// Whether something at a place may be visible, given its extent of `around` tiles.
    pub fn sees(&self, (x, y): Place, around: f32) -> bool {
        let shown = self.shown();
        x + around >= shown.x
            && x - around <= shown.right()
            && y + around >= shown.y
            && y - around <= shown.bottom()
    }

    fn relative_zoom(&self) -> f32 {
        (self.zoom / self.scale).max(1.0)
    }

    fn keep_zoom(&mut self) {
        let whole = (self.view.w / self.size).min(self.view.h / self.size);
        let least = whole.min(LEAST_ZOOM * self.scale);
        self.zoom = self.zoom.clamp(least, MOST_ZOOM * self.scale);
    }

    fn keep_inside(&mut self) {
        self.centre.0 = self.centre.0.clamp(0.0, self.size);
        self.centre.1 = self.centre.1.clamp(0.0, self.size);
    }
}

/// Pixels per tile at scale 1.
const USUAL_ZOOM: f32 = 30.0;
const LEAST_ZOOM: f32 = 7.0;
const MOST_ZOOM: f32 = 72.0;
const ZOOM_STEP: f32 = 1.15;
/// Pixels at the window's edge that scroll.
const EDGE: f32 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn camera() -> Camera {
        let mut camera = Camera::new((50.0, 50.0), 128);
        camera.fit(Rect::new(0.0, 0.0, 1_280.0, 720.0), 1.0);
        camera
    }

    #[test]
    fn pixels_and_places_convert_both_ways() {
        let camera = camera();
        for at in [(0.0, 0.0), (640.0, 360.0), (1_000.0, 10.0)] {
            let (x, y) = camera.to_window(camera.to_map(at));
            assert!((x - at.0).abs() < 0.01 && (y - at.1).abs() < 0.01);
        }
        assert_eq!(camera.tile_at((640.0, 360.0)), Some(Tile::new(50, 50)));
    }

    #[test]
    fn the_wheel_zooms_in_on_the_mouse() {
        let mut camera = camera();
        let at = (900.0, 200.0);
        let before = camera.to_map(at);
        let input = Input {
            mouse: Some(at),
            wheel: 3.0,
            size: (1_280.0, 720.0),
            ..Input::default()
        };
        camera.steer(&input, &Settings::default(), false, true);
        let after = camera.to_map(at);
        assert!((before.0 - after.0).abs() < 0.01 && (before.1 - after.1).abs() < 0.01);
        assert!(camera.zoom > USUAL_ZOOM * 1.4);
        let zoom = camera.zoom;
        camera.steer(&input, &Settings::default(), true, true);
        assert_eq!(
            camera.zoom, zoom,
            "over a panel the wheel scrolls the panel"
        );
    }

    #[test]
    fn a_larger_window_shows_the_same_part_of_the_map() {
        let mut camera = camera();
        let before = camera.shown();
        camera.fit(Rect::new(0.0, 0.0, 3_840.0, 2_160.0), 3.0);
        assert_eq!(camera.shown(), before);
    }

    #[test]
    fn the_view_never_leaves_the_map() {
        let mut camera = camera();
        let input = Input {
            mouse: Some((0.0, 0.0)),
            focused: true,
            seconds: 100.0,
            size: (1_280.0, 720.0),
            ..Input::default()
        };
        camera.steer(&input, &Settings::default(), false, true);
        assert_eq!(camera.centre, (0.0, 0.0));
        let away = Settings {
            edge_scroll: false,
            ..Settings::default()
        };
        let mut still = self::camera();
        still.steer(&input, &away, false, true);
        assert_eq!(still.centre, (50.0, 50.0));
    }
}
