//! The strip at the bottom of the viewer: buttons, clock, and timeline.

use super::events::{Event, EventKind, Lane};
use super::{Going, NORMAL, SPEEDS, Viewer, words};
use crate::window::canvas::{Canvas, Rect};
use crate::window::game::scene::colour;
use crate::window::input::MouseButton;
use crate::window::letters::Weight;
use crate::window::theme;
use crate::window::ui::Ui;
use lockstep::Seat;
use std::collections::BTreeMap;

impl Viewer {
    pub(super) fn draw_below(&mut self, ui: &mut Ui<'_>, area: Rect) {
        ui.panel(area);
        let gap = ui.units(8.0);
        let high = ui.units(28.0);
        let y = area.y + ui.units(6.0);
        let mut x = area.x + gap;
        let mut button = |ui: &mut Ui<'_>, wide: f32| {
            let button = Rect::new(x, y, ui.units(wide), high);
            x = button.right() + ui.units(4.0);
            let (_, pressed) = ui.tile(button, true);
            (button, pressed)
        };
        let (at, back) = button(ui, 34.0);
        let rewinds = matches!(self.going, Going::Back(_));
        let ink = |on| if on { theme::ACCENT } else { theme::TEXT };
        arrows(ui.canvas, at, -1.0, 2, ink(rewinds));
        let (at, pause) = button(ui, 42.0);
        let plays = self.going == Going::On;
        match plays {
            true => bars(ui.canvas, at, theme::TEXT),
            false => arrows(ui.canvas, at, 1.0, 1, theme::TEXT),
        }
        let (at, slower) = button(ui, 26.0);
        ui.centred(at, "−", theme::BODY, Weight::Bold, theme::TEXT);
        let (at, usual) = button(ui, 58.0);
        let (_, name) = SPEEDS[self.speed];
        let faint = if self.speed == NORMAL {
            theme::FAINT
        } else {
            theme::ACCENT
        };
        ui.centred(at, &words::speed(name), theme::BODY, Weight::Bold, faint);
        let (at, faster) = button(ui, 26.0);
        ui.centred(at, "+", theme::BODY, Weight::Bold, theme::TEXT);
        #[cfg(feature = "window")]
        if self.plays_on() {
            let (at, on) = button(ui, 92.0);
            let text = words::PLAY_ON_SHORT;
            ui.centred(at, text, theme::BODY, Weight::Bold, theme::TEXT);
            if on {
                self.play_on();
            }
        }
        for (pressed, act) in [
            (back, Viewer::rewind as fn(&mut Viewer)),
            (pause, Viewer::pause_or_go_on),
            (slower, Viewer::slower),
            (usual, Viewer::usual_speed),
            (faster, Viewer::faster),
        ] {
            if pressed {
                act(self);
            }
        }
        self.draw_clock(
            ui,
            Rect::new(x + gap, y, area.right() - gap - x - gap, high),
        );
        let rest = y + high + ui.units(6.0);
        self.draw_timeline(
            ui,
            Rect::new(
                area.x + gap,
                rest,
                area.w - 2.0 * gap,
                area.bottom() - rest - gap,
            ),
        );
    }

    fn draw_clock(&mut self, ui: &mut Ui<'_>, area: Rect) {
        let size = ui.units(theme::HEADING);
        let middle = |ui: &Ui<'_>, size: f32| area.y + (area.h - ui.canvas.line_height(size)) / 2.0;
        let (tick, ticks) = (self.reel.tick(), self.reel.ticks());
        let clock = |tick| crate::words::clock(self.reel.time_of(tick));
        let text = format!("{} / {}", clock(tick), clock(ticks));
        let at = (area.x, middle(ui, size));
        let written = ui.canvas.text(at, &text, size, Weight::Bold, theme::TEXT);
        let small = ui.units(theme::SMALL);
        let gap = ui.units(18.0);
        let mut x = written.right() + gap;
        let status = match self.going {
            _ if self.reel.is_seeking() => words::SEEKING,
            _ if self.reel.is_over() || tick >= ticks => words::AT_END,
            Going::Still => words::PAUSED,
            Going::Back(_) => words::REWIND,
            Going::On => "",
        };
        let place = words::place(self.reel.turn(), self.reel.turns(), tick);
        let differs = self.survey.found.differs_after;
        let reading = match self.survey.is_running() {
            _ if differs.is_some() => String::new(),
            true => words::reading(self.survey.reached() * 100 / ticks.max(1)),
            false => words::agreed(self.survey.found.agreed),
        };
        let differs = differs.map_or_else(String::new, words::differs_briefly);
        let lane = words::kind(self.lane.map(|lane| lane as usize));
        for (text, colour) in [
            (place.as_str(), theme::FAINT),
            (differs.as_str(), theme::BAD),
            (status, theme::ACCENT),
            (lane.as_str(), theme::FAINT),
            (reading.as_str(), theme::FAINT),
        ] {
            let room = area.right() - x;
            let wide = ui.canvas.measure(text, small, Weight::Regular);
            if text.is_empty() || wide > room {
                continue;
            }
            let at = (x, middle(ui, small));
            x = ui
                .canvas
                .text(at, text, small, Weight::Regular, colour)
                .right()
                + gap;
        }
    }

    fn draw_timeline(&mut self, ui: &mut Ui<'_>, area: Rect) {
        let small = ui.units(theme::SMALL);
        let names = ui.units(74.0);
        let bar = Rect::new(area.x + names, area.y, (area.w - names).max(1.0), area.h);
        let ticks = self.reel.ticks().max(1);
        let high = (bar.h / Lane::ALL.len() as f32).floor();
        ui.canvas.rect(bar, theme::FIELD);
        let x_of = |tick: u64| bar.x + bar.w * (tick as f32 / ticks as f32).min(1.0);
        let read = x_of(self.survey.reached()) - bar.x;
        ui.canvas.rect(
            Rect::new(bar.x, bar.y, read, bar.h),
            theme::alpha(theme::BUTTON, 0.45),
        );
        let thin = ui.canvas.scale().max(1.0);
        for (place, name) in words::LANES.into_iter().enumerate() {
            let y = bar.y + high * place as f32;
            let text_high = ui.canvas.line_height(small);
            let at = (area.x, y + (high - text_high) / 2.0);
            let own = self.lane.is_some_and(|lane| lane as usize == place);
            let ink = if own { theme::ACCENT } else { theme::FAINT };
            ui.canvas.text(at, name, small, Weight::Regular, ink);
            if place > 0 {
                let line = Rect::new(bar.x, y.round(), bar.w, thin);
                ui.canvas.rect(line, theme::alpha(theme::EDGE, 0.4));
            }
        }
        // In a slow frame the mouse may have moved on since its click.
        let pressed = ui.input.press(MouseButton::Left).map(|click| click.at);
        let clicked = pressed.filter(|at| bar.contains(*at));
        let pointed = clicked.or(ui.input.mouse);
        let hovered = self.draw_marks(ui, bar, high, &x_of, pointed);
        let now = x_of(self.tick());
        let edge = Rect::new(
            (now - thin).round(),
            bar.y - thin * 2.0,
            2.0 * thin,
            bar.h + thin * 4.0,
        );
        ui.canvas.rect(edge, theme::ACCENT);
        let dragged = ui.dragged_in(bar);
        let tick_at = |x: f32| {
            let part = ((x - bar.x) / bar.w).clamp(0.0, 1.0);
            (f64::from(part) * ticks as f64) as u64
        };
        if let Some(at) = ui.input.mouse.filter(|at| bar.contains(*at)) {
            let clock = |tick| crate::words::clock(self.reel.time_of(tick));
            let lines = match hovered.and_then(|place| self.survey.found.events.get(place)) {
                Some(event) => {
                    let text = words::event(&event.what, event.at, &|seat| self.name(seat));
                    vec![(clock(event.tick), theme::ACCENT), (text, theme::TEXT)]
                }
                None => vec![(clock(tick_at(at.0)), theme::ACCENT)],
            };
            ui.tip(Rect::new(at.0, bar.y, 1.0, bar.h), lines);
        }
        let event = hovered.and_then(|place| self.survey.found.events.get(place));
        // Within a long fight, a click means its own moment, not the beginning of the fight.
        let reach = ui.units(REACH);
        let near = |at: (f32, f32)| event.filter(|event| (x_of(event.tick) - at.0).abs() <= reach);
        if let Some(event) = clicked.and_then(near).cloned() {
            self.go_to_event(&event);
        } else if let Some(at) = dragged
            && (clicked.is_some() || ui.input.moved != (0.0, 0.0))
        {
            self.go_to(tick_at(at.0));
        }
    }

    /// Draws the events into their lanes. Returns the index of the event under the mouse.
    fn draw_marks(
        &self,
        ui: &mut Ui<'_>,
        bar: Rect,
        high: f32,
        x_of: &dyn Fn(u64) -> f32,
        pointed: Option<(f32, f32)>,
    ) -> Option<usize> {
        let size = (high * 0.62).min(ui.units(12.0));
        let reach = ui.units(REACH);
        let mut last: BTreeMap<(Lane, Option<Seat>), f32> = BTreeMap::new();
        let mut hovered: Option<(f32, usize)> = None;
        ui.canvas.clip(bar);
        for (place, event) in self.survey.found.events.iter().enumerate() {
            let lane = event.lane();
            let y = bar.y + high * (lane as usize as f32 + 0.5);
            let x = x_of(event.tick);
            let mut right = x;
            if let EventKind::Fight { until, .. } = event.what {
                right = x_of(until);
            }
            if let Some(at) = pointed.filter(|at| (at.1 - y).abs() <= high / 2.0) {
                let far = (x - at.0).max(at.0 - right).max(0.0);
                if far <= reach && hovered.is_none_or(|(best, _)| far <= best) {
                    hovered = Some((far, place));
                }
            }
            // Of overlapping marks one is enough.
            let key = (lane, event.seat());
            if last.get(&key).is_some_and(|last| x - last < size * 0.3) && right <= x {
                continue;
            }
            last.insert(key, x);
            self.draw_mark(ui.canvas, event, (x, y), right, size);
        }
        ui.canvas.unclip();
        hovered.map(|(_, place)| place)
    }

    fn draw_mark(
        &self,
        canvas: &mut Canvas,
        event: &Event,
        (x, y): (f32, f32),
        right: f32,
        size: f32,
    ) {
        let Some(seat) = event.seat() else {
            let fallen = match &event.what {
                EventKind::Fight { lost, .. } => lost.iter().map(|(_, many)| *many).sum::<u32>(),
                _ => 0,
            };
            let strength = 0.45 + 0.55 * (fallen as f32 / 20.0).min(1.0);
            let wide = (right - x).max(size * 0.4);
            let area = Rect::new(x, y - size / 2.0, wide, size);
            return canvas.rect(area, theme::alpha(theme::BAD, strength));
        };
        let number = self
            .reel
            .world()
            .map_or(theme::of(seat), |world| colour(world, seat));
        let own = theme::seat(number);
        theme::mark(canvas, number, (x, y), size * 1.25, theme::OUTLINE);
        theme::mark(canvas, number, (x, y), size, own);
    }
}

/// Arrow heads side by side, to the right, or to the left for a negative `way`.
fn arrows(canvas: &mut Canvas, area: Rect, way: f32, many: usize, colour: [u8; 4]) {
    let (x, y) = area.centre();
    let r = area.h * 0.24;
    for place in 0..many {
        let x = x + (place as f32 - (many as f32 - 1.0) / 2.0) * r * 1.3;
        let corners = [
            (x - r * 0.6 * way, y - r),
            (x + r * 0.8 * way, y),
            (x - r * 0.6 * way, y + r),
        ];
        canvas.convex(&corners, colour);
    }
}

fn bars(canvas: &mut Canvas, area: Rect, colour: [u8; 4]) {
    let (x, y) = area.centre();
    let r = area.h * 0.24;
    for at in [x - r * 0.9, x + r * 0.3] {
        canvas.rect(Rect::new(at, y - r, r * 0.6, 2.0 * r), colour);
    }
}

/// The greatest distance of the mouse from an event that it means, in units.
const REACH: f32 = 6.0;
