//! The match on the screen: map, panels and controls, used with mouse and keyboard.

use super::camera::{Camera, Place, place_of};
use super::card::{self, Action, Page};
use super::hand::{Hand, Mode, Request, Sight, corner_of};
use super::hud::{self, Layout, Shown};
use super::land::Eye;
use super::scene::{Overlay, Scene, in_window};
use super::shapes::{self, BuildingLook};
use super::signs::{self, Sign};
use crate::facts::Facts;
use crate::home::look_at_first;
use crate::window::canvas::{Canvas, Rect};
use crate::window::input::{Click, DIGITS, Input, KeyCode, Modifiers, MouseButton};
use crate::window::settings::Settings;
use crate::window::sound::{self, Sound, listener};
use crate::window::ui::{Memory, Ui};
use crate::window::{theme, words};
use crate::world::{Effect, Id, Tile, World};
use lockstep::Seat;
use std::time::Duration;

/// The state of a match on the screen.
pub struct Table {
    /// The picture of the world.
    pub scene: Scene,
    /// The view of the map.
    pub camera: Camera,
    /// The player's controls; `None` for a watcher.
    pub hand: Option<Hand>,
    page: Page,
    memory: Memory,
    home: Tile,
    /// The building to demolish on confirmation, and until when that may come.
    asking: Option<(Id, Duration)>,
    /// Whether the keyboard points, at the middle of the view.
    crosshair: bool,
    /// The panels of the last frame that were drawn.
    panels: Option<Layout>,
}

/// What a frame needs to know.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// The world.
    pub world: &'a World,
    /// What is known of the match.
    pub facts: &'a Facts,
    /// The user's settings.
    pub settings: &'a Settings,
    /// The fraction of a tick since the last one.
    pub alpha: f32,
    /// The tile of the newest attack.
    pub alarm: Option<Tile>,
    /// Whether something covers the table, which then ignores input.
    pub covered: bool,
}

impl Table {
    /// A table for the person on this seat; `None` watches all.
    pub fn new(person: Option<Seat>, world: &World) -> Table {
        let eye = person.map_or(Eye::All, Eye::Seat);
        let mut scene = Scene::new(eye);
        scene.restart(world);
        let first = world.seats().next().map_or(Seat(0), |seat| seat.seat);
        let home = look_at_first(person.unwrap_or(first), world);
        Table {
            scene,
            camera: Camera::new(place_of(home.centre()), world.map().size()),
            hand: person.map(Hand::new),
            page: Page::Main,
            memory: Memory::default(),
            home,
            asking: None,
            crosshair: false,
            panels: None,
        }
    }

    /// Advances by a tick.
    pub fn step(&mut self, world: &World, effects: &[Effect]) {
        self.scene.step(world, effects);
        let own = self.hand.as_ref().map(Hand::seat);
        let eye = self.scene.eye();
        let cues = listener::of_tick(world, effects, eye, &self.camera, own);
        cues.into_iter().for_each(sound::play_cue);
        if let Some(hand) = &mut self.hand {
            hand.forget(world, self.scene.eye());
            if world.seat(hand.seat()).is_some_and(|seat| seat.defeated) {
                self.scene.look_with(Eye::All, world);
            }
        }
    }

    /// Whether a tile is on the screen and under no panel.
    pub fn shows(&self, tile: Tile) -> bool {
        let place = place_of(tile.centre());
        let at = self.camera.to_window(place);
        let covered = self.panels.is_some_and(|panels| panels.covers(at));
        self.camera.sees(place, 0.0) && !covered
    }

    /// Whether Escape has a meaning for the table: an order in hand, a page of the card, a selection.
    pub fn uses_escape(&self) -> bool {
        let hand = self.hand.as_ref();
        self.page != Page::Main
            || hand.is_some_and(|hand| hand.mode != Mode::Free || !hand.selection().is_empty())
    }

    /// Draws a frame and returns its requests.
    pub fn frame(
        &mut self,
        input: &Input,
        canvas: &mut Canvas,
        around: Around<'_>,
    ) -> Vec<Request> {
        let layout = Layout::new(canvas, self.hand.is_some());
        let quiet = Input {
            size: input.size,
            now: input.now,
            seconds: input.seconds,
            ..Input::default()
        };
        let active = if around.covered { &quiet } else { input };
        let panels = self.drawn_of(layout, around.world);
        self.panels = Some(panels);
        let pointed = self.pointed(active, &panels);
        let input = &pointed;
        let mut requests = Vec::new();
        self.camera.fit(canvas.whole(), canvas.scale());
        let covered = input.mouse.is_none_or(|at| panels.covers(at));
        let arrows = !self.memory.has_focus();
        self.camera.steer(input, around.settings, covered, arrows);
        self.scene.pass(input.seconds);
        let before = self.selection().to_vec();
        self.press_keys(input, around, &mut requests);
        if let Some(hand) = &mut self.hand {
            let sight = Sight {
                world: around.world,
                scene: &self.scene,
                camera: &self.camera,
                alpha: around.alpha,
            };
            if around.covered {
                hand.drop_box();
            }
            requests.extend(hand.mouse(input, sight, covered));
            if hand.selection().is_empty() || hand.selection() != before {
                self.page = Page::Main;
            }
        }
        if self.selection().iter().any(|id| !before.contains(id)) {
            sound::play(Sound::Select);
        }
        self.draw(input, canvas, around, covered);
        self.draw_panels(input, canvas, around, &layout, &mut requests);
        if !input.pressed.is_empty() || !input.released.is_empty() {
            // A mouse click on a button must not leave it with the keyboard's focus.
            self.memory.blur();
        }
        requests
    }

    /// The panels that are drawn.
    fn drawn_of(&self, layout: Layout, world: &World) -> Layout {
        let hand = self.hand.as_ref();
        let hand = hand.filter(|hand| !hand.selection().is_empty());
        let has_card = hand.is_some_and(|hand| !card::card(hand, self.page, world).is_empty());
        layout.with(hand.is_some(), has_card)
    }

    fn selection(&self) -> &[Id] {
        self.hand.as_ref().map_or(&[], Hand::selection)
    }

    /// The input, with the keyboard's clicks at the middle of the view while the keyboard points.
    fn pointed(&mut self, input: &Input, panels: &Layout) -> Input {
        let mut input = input.clone();
        if input.hit(KeyCode::F4) {
            self.crosshair ^= true;
        }
        if !self.crosshair {
            return input;
        }
        let at = self.camera.view.centre();
        let rests = input.pressed.is_empty() && input.released.is_empty() && input.holds.is_empty();
        // The mouse still uses the panels.
        if rests || !input.mouse.is_some_and(|mouse| panels.covers(mouse)) {
            input.mouse = Some(at);
        }
        let click = |button, with: Modifiers| Click {
            button,
            at,
            with,
            double: with.alt,
        };
        if let Some(with) = input.hit_with(KeyCode::Space) {
            let click = click(MouseButton::Left, with);
            input.pressed.push(click);
            input.released.push(click);
        }
        // With the focus on a button, Enter presses that. No button answers to Space.
        if let Some(with) = input.hit_enter()
            && !self.memory.has_focus()
        {
            input.pressed.push(click(MouseButton::Right, with));
        }
        input
    }

    /// Whether Enter has a meaning for the table: it presses the focused button, or orders where the keyboard points.
    pub fn uses_enter(&self) -> bool {
        self.crosshair || self.memory.has_focus()
    }

    fn press_keys(&mut self, input: &Input, around: Around<'_>, requests: &mut Vec<Request>) {
        let world = around.world;
        if input.hit(KeyCode::Home) {
            self.camera.look_at(self.home);
        }
        if input.hit(KeyCode::Space)
            && !self.crosshair
            && let Some(tile) = around.alarm
        {
            self.camera.look_at(tile);
        }
        let Some(hand) = &mut self.hand else {
            return;
        };
        if let Some((entry, later)) = card::pressed_key(input, hand, self.page, world) {
            match entry.lacks {
                Some(why) => requests.push(Request::Say(why)),
                None => {
                    let request = self.act(entry.action, input, world, later);
                    requests.extend(request);
                }
            }
            return;
        }
        if input.hit(KeyCode::Escape) {
            if hand.mode != Mode::Free {
                hand.mode = Mode::Free;
            } else {
                hand.select(Vec::new());
            }
        }
        if let Some(with) = input.hit_with(KeyCode::Period) {
            requests.extend(hand.select_idle(world, with.shift));
        }
        if input.hit(KeyCode::F2) {
            requests.extend(hand.select_soldiers(world));
        }
        for (number, key) in DIGITS.into_iter().enumerate() {
            if let Some(with) = input.hit_with(key) {
                requests.extend(hand.group(number, with, input.now, world));
            }
        }
    }

    fn act(
        &mut self,
        action: Action,
        input: &Input,
        world: &World,
        later: bool,
    ) -> Option<Request> {
        if let Action::TearDown(building) = action {
            let asked = self.asking.take();
            let again = asked.is_some_and(|(id, until)| id == building && input.now < until);
            if !again {
                self.asking = Some((building, input.now + ASKING));
                return Some(Request::Say(words::DEMOLISH_CONFIRM.to_owned()));
            }
        }
        let hand = self.hand.as_mut()?;
        card::act(action, hand, &mut self.page, world, later)
    }

    fn draw(&mut self, input: &Input, canvas: &mut Canvas, around: Around<'_>, covered: bool) {
        let pixel = input.mouse.filter(|_| !covered);
        let under = pixel.and_then(|at| self.scene.at(at, &self.camera, around.alpha));
        let overlay = Overlay {
            selected: self.hand.as_ref().map_or(&[], Hand::selection),
            under,
            alpha: around.alpha,
            all_bars: input.with.alt,
        };
        self.scene
            .draw(around.world, &self.camera, &overlay, canvas);
        let scale = canvas.scale();
        let Some(hand) = &self.hand else {
            return;
        };
        self.draw_ways(hand, around, canvas);
        if let (Mode::Place(kind), Some(at)) = (hand.mode, pixel) {
            self.draw_ghost(hand, kind, at, around.world, canvas);
        }
        if let Some(area) = hand.drawn_box(&self.camera, input) {
            canvas.rect(area, theme::alpha(theme::GOOD, 0.12));
            canvas.frame(area, scale.max(1.0), theme::GOOD);
        }
        if matches!(hand.mode, Mode::Aim(_))
            && let Some(at) = pixel
        {
            canvas.ring(at, 12.0 * scale, 2.0 * scale, theme::BAD);
        }
        if self.crosshair {
            let (x, y) = self.camera.view.centre();
            let (far, wide) = (14.0 * scale, 2.0 * scale);
            canvas.line((x - far, y), (x + far, y), wide, theme::ACCENT);
            canvas.line((x, y - far), (x, y + far), wide, theme::ACCENT);
        }
    }

    /// Draws the targets of the selection and the rally point.
    fn draw_ways(&self, hand: &Hand, around: Around<'_>, canvas: &mut Canvas) {
        let scale = canvas.scale();
        let world = around.world;
        let own = |id: &&Id| {
            world
                .unit(**id)
                .is_some_and(|unit| unit.seat == hand.seat())
        };
        for id in hand.selection().iter().filter(own).take(MOST_WAYS) {
            let Some(walker) = self.scene.motion.walker(*id) else {
                continue;
            };
            let mut from = walker.at(around.alpha);
            let next = walker
                .unit
                .moving
                .then(|| place_of(walker.unit.goal.centre()));
            let later = world
                .waypoints(*id)
                .map(|(_, tile)| place_of(tile.centre()));
            for to in next.into_iter().chain(later) {
                let (a, b) = (self.camera.to_window(from), self.camera.to_window(to));
                canvas.line(a, b, scale.max(1.0), theme::alpha(theme::GOOD, 0.35));
                canvas.circle(b, 3.0 * scale, theme::alpha(theme::GOOD, 0.7));
                from = to;
            }
        }
        let building = hand.building(world).and_then(|id| world.building(id));
        if let Some(building) = building.filter(|b| b.complete && !b.kind.trains().is_empty()) {
            let from = self.camera.to_window(place_of(building.centre));
            let to = self.camera.to_window(place_of(building.rally.centre()));
            canvas.line(from, to, scale.max(1.0), theme::alpha(theme::ACCENT, 0.5));
            signs::sign(
                canvas,
                Sign::Rally,
                to,
                18.0 * scale,
                theme::ACCENT,
                theme::OUTLINE,
            );
        }
    }

    /// The preview of a building: green on a free site, red otherwise.
    fn draw_ghost(
        &self,
        hand: &Hand,
        kind: crate::world::Kind,
        pixel: (f32, f32),
        world: &World,
        canvas: &mut Canvas,
    ) {
        let Some(tile) = corner_of(kind, self.camera.to_map(pixel), world) else {
            return;
        };
        let size = f32::from(kind.stats().size);
        let on_map = Rect::new(f32::from(tile.x), f32::from(tile.y), size, size);
        let area = in_window(on_map, &self.camera);
        let seat = super::scene::colour(world, hand.seat());
        let look = BuildingLook {
            kind,
            seat,
            area,
            built: 1.0,
            struck: 0.0,
            alpha: 0.55,
        };
        shapes::building(canvas, &look);
        if let Some(seen) = world.seen_by(hand.seat()) {
            for part in world.map().footprint(tile, kind.stats().size) {
                let free = seen.has_room(part, 1);
                let colour = if free { theme::GOOD } else { theme::BAD };
                let on_map = Rect::new(f32::from(part.x), f32::from(part.y), 1.0, 1.0);
                let area = in_window(on_map, &self.camera).inset(1.0);
                canvas.rect(area, theme::alpha(colour, 0.35));
            }
        }
        let obstacle = hand.obstacle(kind, tile, world);
        let colour = if obstacle.is_none() {
            theme::GOOD
        } else {
            theme::BAD
        };
        let wide = canvas.units(2.0);
        canvas.frame(area, wide, colour);
        if let Some(why) = obstacle {
            let size = canvas.units(theme::BODY);
            let weight = crate::window::letters::Weight::Bold;
            let wide = canvas.measure(&why, size, weight);
            let high = canvas.line_height(size);
            let at = (
                area.x + (area.w - wide) / 2.0,
                area.y - high - canvas.units(4.0),
            );
            let gap = canvas.units(6.0);
            canvas.rect(
                Rect::new(at.0 - gap, at.1, wide + 2.0 * gap, high),
                theme::PANEL,
            );
            canvas.text(at, &why, size, weight, theme::BAD);
        }
    }

    fn draw_panels(
        &mut self,
        input: &Input,
        canvas: &mut Canvas,
        around: Around<'_>,
        layout: &Layout,
        requests: &mut Vec<Request>,
    ) {
        let mut ui = Ui::new(canvas, input, &mut self.memory);
        let shown = Shown {
            world: around.world,
            scene: &self.scene,
            camera: &self.camera,
            hand: self.hand.as_ref(),
            facts: around.facts,
            page: self.page,
            layout,
        };
        let asked = hud::draw(&mut ui, shown);
        ui.finish();
        if let Some(at) = asked.look {
            self.camera.centre = at;
        }
        if let (Some(ids), Some(hand)) = (asked.select, &mut self.hand) {
            hand.select(ids);
            self.page = Page::Main;
        }
        if let Some(hand) = self.hand.as_mut().filter(|_| asked.cancels) {
            hand.mode = Mode::Free;
        }
        if let Some((at, with)) = asked.order {
            requests.extend(self.order_on_map(at, around.world, with.shift));
        }
        if let Some((action, with)) = asked.action {
            requests.extend(self.act(action, input, around.world, with.shift));
        }
    }

    /// The order of a click on the small map.
    fn order_on_map(&mut self, at: Place, world: &World, later: bool) -> Option<Request> {
        let hand = self.hand.as_mut()?;
        let edge = f32::from(world.map().size()) - 1.0;
        let tile = Tile::new(at.0.clamp(0.0, edge) as u16, at.1.clamp(0.0, edge) as u16);
        match hand.mode {
            Mode::Aim(aim) => {
                if !later {
                    hand.mode = Mode::Free;
                }
                Some(hand.aimed_at(aim, tile, at, None, world, later))
            }
            _ => hand.sent_to(tile, at, world, later),
        }
    }
}

/// How long a demolition waits for its confirmation.
const ASKING: Duration = Duration::from_secs(3);
/// Targets are drawn for at most this many units.
const MOST_WAYS: usize = 40;

#[cfg(test)]
mod tests;
