//! Panels of the viewer: seats, timeline, graphs, events, help.

use super::events::Event;
use super::{LEAST_SAMPLES, Side, Viewer, words};
use crate::window::canvas::{Canvas, Rect};
use crate::window::game::camera::Place;
use crate::window::game::land::Eye;
use crate::window::game::scene::colour;
use crate::window::graphs::{self, Graph, Span};
use crate::window::input::Input;
use crate::window::letters::Weight;
use crate::window::samples::actions_a_minute;
use crate::window::theme;
use crate::window::ui::{Ui, shortened};
use crate::world::{Kind, World};
use lockstep::Seat;
use std::collections::BTreeMap;

/// The areas of the panels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub top: Rect,
    pub seats: Rect,
    small: Rect,
    pub below: Rect,
    side: Rect,
}

impl Layout {
    fn new(canvas: &Canvas, seats: usize) -> Layout {
        let (wide, high) = canvas.size();
        let units = |units| canvas.units(units);
        let top = Rect::new(0.0, 0.0, wide, units(34.0));
        let below = Rect::new(0.0, high - units(124.0), wide, units(124.0));
        let gap = units(6.0);
        let between = (below.y - top.bottom() - 2.0 * gap).max(0.0);
        let rows = units(34.0) + units(22.0) * (seats as f32 + 1.0);
        let seats = Rect::new(gap, top.bottom() + gap, units(396.0), rows.min(between));
        let edge = units(184.0).min((between - rows - gap).max(0.0));
        let small = Rect::new(gap, below.y - gap - edge, edge, edge);
        let room = units(430.0).min(wide - seats.right() - gap);
        let side = Rect::new(wide - room - gap, seats.y, room, between);
        Layout {
            top,
            seats,
            small,
            below,
            side,
        }
    }
}

impl Viewer {
    pub(super) fn layout(&self, canvas: &Canvas) -> Layout {
        let seats = self.reel.world().map_or(0, |world| world.seats().count());
        Layout::new(canvas, seats)
    }

    /// Whether the mouse is over a panel.
    pub(super) fn covers(&self, input: &Input, canvas: &Canvas) -> bool {
        let layout = self.layout(canvas);
        let Layout {
            top,
            seats,
            small,
            below,
            side,
        } = layout;
        let side = (self.side != Side::Nothing).then_some(side);
        let panels = [top, seats, small, below].into_iter().chain(side);
        let mut panels = panels;
        self.help
            || input
                .mouse
                .is_none_or(|at| panels.any(|panel| panel.contains(at)))
    }

    /// Draws the panels and handles the mouse on them.
    pub(super) fn draw_panels(&mut self, input: &Input, canvas: &mut Canvas) {
        let layout = self.layout(canvas);
        let quiet = Input {
            size: input.size,
            now: input.now,
            seconds: input.seconds,
            ..Input::default()
        };
        let input = if self.help { &quiet } else { input };
        let mut memory = std::mem::take(&mut self.memory);
        let mut ui = Ui::new(canvas, input, &mut memory);
        self.draw_top(&mut ui, layout.top);
        self.draw_seats(&mut ui, layout.seats);
        self.draw_small(&mut ui, layout.small);
        self.draw_below(&mut ui, layout.below);
        match self.side {
            Side::Nothing => {}
            Side::Graphs => self.draw_graphs(&mut ui, layout.side),
            Side::Events => self.draw_events(&mut ui, layout.side),
        }
        ui.finish();
        if !input.pressed.is_empty() || !input.released.is_empty() {
            // A mouse click on a button must not leave it with the keyboard's focus.
            memory.blur();
        }
        self.memory = memory;
    }

    fn draw_top(&self, ui: &mut Ui<'_>, area: Rect) {
        ui.panel(area);
        let gap = ui.units(10.0);
        let high = ui.canvas.line_height(ui.units(theme::BODY));
        let y = area.y + (area.h - high) / 2.0;
        let title = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let third = area.w * 0.4 - 2.0 * gap;
        ui.label(
            (area.x + gap, y),
            third,
            &title,
            theme::BODY,
            Weight::Bold,
            theme::TEXT,
        );
        let view = match self.eye() {
            Eye::All => String::new(),
            Eye::Seat(seat) => words::view_of(&self.name(seat)),
        };
        let at = (area.x + area.w * 0.4, y);
        ui.label(
            at,
            area.w * 0.27,
            &view,
            theme::BODY,
            Weight::Bold,
            theme::ACCENT,
        );
        let size = ui.units(theme::SMALL);
        let room = area.w * 0.33 - gap;
        let hint = match self.plays_on() {
            true => words::HINT,
            false => words::HINT_ALONE,
        };
        let hint = shortened(ui.canvas, hint, size, Weight::Regular, room);
        let wide = ui.canvas.measure(&hint, size, Weight::Regular);
        let at = (area.right() - gap - wide, y);
        ui.canvas
            .text(at, &hint, size, Weight::Regular, theme::FAINT);
    }

    /// The seats and their figures; a click selects a seat's view.
    fn draw_seats(&mut self, ui: &mut Ui<'_>, area: Rect) {
        ui.panel(area);
        let Some(world) = self.reel.world() else {
            return;
        };
        let inner = area.inset(ui.units(6.0));
        let columns: Vec<f32> = [0.36, 0.51, 0.64, 0.76, 0.90]
            .iter()
            .map(|part| inner.x + inner.w * part)
            .collect();
        let wide = inner.w * 0.12;
        let y = inner.y;
        let mut heading = |x: f32, text: &str, right: bool| {
            let size = ui.units(theme::SMALL);
            let x = match right {
                true => x + wide - ui.canvas.measure(text, size, Weight::Bold) - ui.units(4.0),
                false => x,
            };
            ui.canvas
                .text((x, y), text, size, Weight::Bold, theme::FAINT);
        };
        heading(inner.x + 4.0, words::SEATS, false);
        for (x, text) in columns.iter().zip(words::COLUMNS) {
            heading(x - inner.w * 0.03, text, true);
        }
        let row_high = ui.units(22.0);
        let mut row = Rect::new(inner.x, y + ui.units(20.0), inner.w, row_high);
        let mut chosen = None;
        let eye = self.eye();
        let numbers = self.numbers(world);
        if row_button(ui, row, eye == Eye::All) {
            chosen = Some(Eye::All);
        }
        let text_at = |ui: &Ui<'_>, row: Rect| {
            let high = ui.canvas.line_height(ui.units(theme::SMALL));
            row.y + (row.h - high) / 2.0
        };
        let at = (row.x + ui.units(30.0), text_at(ui, row));
        ui.label(
            at,
            inner.w * 0.3,
            words::ALL,
            theme::SMALL,
            Weight::Bold,
            theme::TEXT,
        );
        for seat in world.seats() {
            row.y += row_high;
            if row.bottom() > area.bottom() {
                break;
            }
            if row_button(ui, row, eye == Eye::Seat(seat.seat)) {
                chosen = Some(Eye::Seat(seat.seat));
            }
            let own = theme::seat(seat.colour);
            let side = ui.units(16.0);
            let flag = Rect::new(
                row.x + ui.units(6.0),
                row.y + (row.h - side) / 2.0,
                side,
                side,
            );
            ui.canvas.rect(flag, own);
            theme::mark(
                ui.canvas,
                seat.colour,
                flag.centre(),
                side * 0.7,
                theme::contrast(own),
            );
            let ink = if seat.defeated {
                theme::OFF
            } else {
                theme::TEXT
            };
            let y = text_at(ui, row);
            let name_at = row.x + ui.units(30.0);
            let room = columns[0] - inner.w * 0.03 - name_at;
            let name = self.name(seat.seat);
            ui.label((name_at, y), room, &name, theme::SMALL, Weight::Bold, ink);
            let known = numbers.get(&seat.seat).copied().unwrap_or_default();
            let shown = [
                u64::from(known.army),
                u64::from(known.workers),
                u64::from(seat.gold),
                u64::from(seat.wood),
                u64::from(known.actions),
            ];
            for (x, number) in columns.iter().zip(shown) {
                let text = number.to_string();
                let size = ui.units(theme::SMALL);
                let text = shortened(ui.canvas, &text, size, Weight::Regular, wide);
                let used = ui.canvas.measure(&text, size, Weight::Regular);
                let x = x - inner.w * 0.03 + wide - used - ui.units(4.0);
                ui.canvas.text((x, y), &text, size, Weight::Regular, ink);
            }
        }
        if let Some(eye) = chosen {
            self.look_with(eye);
        }
    }

    fn numbers(&self, world: &World) -> BTreeMap<Seat, Numbers> {
        let mut numbers: BTreeMap<Seat, Numbers> = BTreeMap::new();
        for unit in world.units() {
            let of = numbers.entry(unit.seat).or_default();
            if unit.kind.is_soldier() {
                let stats = unit.kind.stats();
                of.army += stats.gold + stats.wood;
            }
            of.workers += u32::from(unit.kind == Kind::Worker);
        }
        let found = &self.survey.found;
        let tick = self.reel.tick();
        for (place, seat) in found.seats.iter().enumerate() {
            let actions = actions_a_minute(&found.samples, place, tick);
            numbers.entry(*seat).or_default().actions = actions;
        }
        numbers
    }

    /// The small map.
    fn draw_small(&mut self, ui: &mut Ui<'_>, area: Rect) {
        let (Some(world), Some(scene), Some(camera)) =
            (self.reel.world(), &self.scene, &mut self.camera)
        else {
            return;
        };
        if area.w < ui.units(60.0) {
            return;
        }
        ui.panel(area);
        let map = area.inset(ui.units(5.0));
        let edge = f32::from(world.map().size());
        let scale = map.w / edge;
        ui.canvas.clip(map);
        if let Some(picture) = scene.small_map() {
            let part = Rect::new(0.0, 0.0, edge, edge);
            ui.canvas.picture(picture, part, map, [255; 4]);
        }
        let least = ui.units(2.0);
        let place = |(x, y): Place| (map.x + x * scale, map.y + y * scale);
        for building in &scene.motion.buildings {
            let size = (f32::from(building.kind.stats().size) * scale).max(least * 1.3);
            let (x, y) = place((f32::from(building.tile.x), f32::from(building.tile.y)));
            let own = theme::seat(colour(world, building.seat));
            ui.canvas.rect(Rect::new(x, y, size, size), own);
        }
        let colours: BTreeMap<_, _> = world.seats().map(|seat| (seat.seat, seat.colour)).collect();
        for walker in &scene.motion.walkers {
            let (x, y) = place(walker.to);
            let own = colours.get(&walker.unit.seat).copied().unwrap_or(0);
            let dot = Rect::new(x - least / 2.0, y - least / 2.0, least, least);
            ui.canvas.rect(dot, theme::seat(own));
        }
        let view = camera.shown();
        let (x, y) = place((view.x, view.y));
        let seen = Rect::new(x, y, view.w * scale, view.h * scale);
        let thin = ui.units(1.5).max(1.0);
        ui.canvas.frame(seen, thin, theme::TEXT);
        ui.canvas.unclip();
        if let Some(at) = ui.dragged_in(map) {
            camera.centre = ((at.0 - map.x) / scale, (at.1 - map.y) / scale);
        }
    }

    fn draw_graphs(&mut self, ui: &mut Ui<'_>, area: Rect) {
        ui.panel(area);
        let inner = area.inset(ui.units(10.0));
        let found = &self.survey.found;
        if found.samples.len() < LEAST_SAMPLES {
            let why = match self.survey.is_running() {
                true => words::STILL_READING,
                false => words::TOO_LITTLE,
            };
            ui.centred(inner, why, theme::BODY, Weight::Regular, theme::FAINT);
            return;
        }
        let gap = ui.units(10.0);
        let high = (inner.h - 2.0 * gap) / Graph::ALL.len() as f32;
        let lines = self.lines();
        let span = Span {
            from: 0,
            to: self.reel.ticks(),
            now: Some(self.tick()),
        };
        for (place, graph) in Graph::ALL.into_iter().enumerate() {
            let y = inner.y + (high + gap) * place as f32;
            let plot = Rect::new(inner.x, y.round(), inner.w, high);
            graphs::draw(ui.canvas, plot, graph, &found.samples, &lines, span);
        }
    }

    fn draw_events(&mut self, ui: &mut Ui<'_>, area: Rect) {
        ui.panel(area);
        let inner = area.inset(ui.units(10.0));
        self.list_events();
        let heading = ui.canvas.line_height(ui.units(theme::HEADING)) + ui.units(6.0);
        let lane = self.lane.map(|lane| words::LANES[lane as usize]);
        let title = lane.unwrap_or(words::EVENTS);
        ui.label(
            (inner.x, inner.y),
            inner.w,
            title,
            theme::HEADING,
            Weight::Bold,
            theme::TEXT,
        );
        let left_out = self.survey.found.left_out;
        let foot = if left_out > 0 { ui.units(20.0) } else { 0.0 };
        let rest = Rect::new(
            inner.x,
            inner.y + heading,
            inner.w,
            inner.h - heading - foot,
        );
        if left_out > 0 {
            let at = (inner.x, rest.bottom() + ui.units(3.0));
            let text = words::left_out(left_out);
            ui.label(
                at,
                inner.w,
                &text,
                theme::SMALL,
                Weight::Regular,
                theme::FAINT,
            );
        }
        if self.list.lines.is_empty() {
            ui.centred(
                rest,
                words::NO_EVENTS,
                theme::BODY,
                Weight::Regular,
                theme::FAINT,
            );
            return;
        }
        let current = self.current_line();
        if current != self.list.current {
            self.list.current = current;
            // The current event stays visible, with later ones below it.
            self.list.first = current.map_or(0, |line| line.saturating_sub(7));
        }
        let mut chosen = current;
        let lines = &self.list.lines;
        let pressed = ui.list(rest, lines, &mut chosen, &mut self.list.first);
        let line = pressed.or(chosen.filter(|_| chosen != current));
        if let Some(event) = line.and_then(|line| self.listed(line)).cloned() {
            self.list.chosen = line;
            self.go_to_event(&event);
        }
    }

    /// The event of a line.
    fn listed(&self, line: usize) -> Option<&Event> {
        let place = self.list.events.get(line)?;
        self.survey.found.events.get(*place)
    }

    /// The line of the last event so far. Of several events in one tick, that is the chosen one, if there is one.
    fn current_line(&self) -> Option<usize> {
        let events = &self.survey.found.events;
        let has_begun = |place: &usize| events[*place].tick <= self.tick();
        let last = self.list.events.partition_point(has_begun).checked_sub(1)?;
        let tick_of = |line| self.listed(line).map(|event| event.tick);
        let chosen = self.list.chosen;
        chosen
            .filter(|line| tick_of(*line) == tick_of(last))
            .or(Some(last))
    }

    /// Rebuilds the list if there are new events.
    fn list_events(&mut self) {
        let events = &self.survey.found.events;
        let of = Some((events.len(), self.lane));
        if self.list.of == of {
            return;
        }
        let shown = events.iter().enumerate();
        let shown = shown.filter(|(_, event)| self.lane.is_none_or(|lane| event.lane() == lane));
        let (lines, places) = shown
            .map(|(place, event)| {
                let clock = crate::words::clock(self.reel.time_of(event.tick));
                let text = words::event(&event.what, event.at, &|seat| self.name(seat));
                (format!("{clock}   {text}"), place)
            })
            .unzip();
        (self.list.of, self.list.lines, self.list.events) = (of, lines, places);
        // Its line may be another one now.
        self.list.chosen = None;
    }
}

/// The figures of a seat.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    army: u32,
    workers: u32,
    actions: u32,
}

fn row_button(ui: &mut Ui<'_>, row: Rect, on: bool) -> bool {
    let (_, pressed) = ui.tile(row, true);
    if on {
        let wide = ui.units(3.0);
        ui.canvas
            .rect(Rect::new(row.x, row.y, wide, row.h), theme::ACCENT);
    }
    pressed
}
