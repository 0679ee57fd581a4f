//! The panels around the map: resources, small map, selection, command card.

use super::camera::{Camera, Place};
use super::card::{Action, Page, card, key_name};
use super::effects::radius;
use super::hand::{Hand, Mode};
use super::scene::{Scene, colour, max_hit_points};
use super::shapes::{self, UnitLook};
use super::signs::{Sign, sign};
use crate::facts::Facts;
use crate::window::canvas::{Canvas, Rect};
use crate::window::input::{Modifiers, MouseButton};
use crate::window::letters::Weight;
use crate::window::ui::Ui;
use crate::window::{theme, words};
use crate::world::{BuildingView, Id, Job, Kind, Order, UnitView, World};
use sim::Angle;
use std::collections::BTreeMap;

/// Where the panels are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layout {
    /// Resources and clock.
    pub top: Rect,
    /// The panel of the small map.
    pub small: Rect,
    /// The map inside it.
    pub map: Rect,
    /// The selection.
    pub chosen: Rect,
    /// The command card.
    pub card: Rect,
}

impl Layout {
    /// For the canvas's size. A watcher has neither selection nor card.
    pub fn new(canvas: &Canvas, plays: bool) -> Layout {
        let (width, height) = canvas.size();
        let gap = canvas.units(6.0);
        let side = canvas.units(184.0);
        let button = canvas.units(46.0);
        let small = Rect::new(0.0, height - side, side, side);
        let wide = 4.0 * button + 5.0 * gap;
        let high = 3.0 * button + 4.0 * gap;
        let card = Rect::new(width - wide, height - high, wide, high);
        let chosen = canvas
            .units(400.0)
            .min(width - side - wide - 2.0 * gap)
            .max(0.0);
        let low = canvas.units(132.0);
        let none = Rect::default();
        Layout {
            top: Rect::new(0.0, 0.0, width, canvas.units(30.0)),
            small,
            map: small.inset(gap),
            chosen: match plays {
                true => Rect::new(card.x - chosen - gap, height - low, chosen, low),
                false => none,
            },
            card: if plays { card } else { none },
        }
    }

    /// With the selection, and with the card.
    pub fn with(self, chosen: bool, card: bool) -> Layout {
        let shown = |area, shown| if shown { area } else { Rect::default() };
        Layout {
            chosen: shown(self.chosen, chosen),
            card: shown(self.card, card),
            ..self
        }
    }

    /// Whether a panel covers a pixel.
    pub fn covers(&self, at: (f32, f32)) -> bool {
        let areas = [self.top, self.small, self.chosen, self.card];
        areas.iter().any(|area| area.contains(at))
    }
}

/// What the player asked of the panels in this frame.
#[derive(Debug, Default)]
pub struct Response {
    /// The button that was pressed, with the modifiers.
    pub action: Option<(Action, Modifiers)>,
    /// The place to move the view to.
    pub look: Option<Place>,
    /// A right click on the small map, or a click with an order in hand.
    pub order: Option<(Place, Modifiers)>,
    /// A right click on the small map drops the order in hand.
    pub cancels: bool,
    /// The new selection.
    pub select: Option<Vec<Id>>,
}

/// What the panels show.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    pub world: &'a World,
    pub scene: &'a Scene,
    pub camera: &'a Camera,
    /// The player's controls; `None` for a watcher.
    pub hand: Option<&'a Hand>,
    pub facts: &'a Facts,
    pub page: Page,
    pub layout: &'a Layout,
}

pub fn draw(ui: &mut Ui<'_>, shown: Shown<'_>) -> Response {
    let mut asked = Response::default();
    draw_top(ui, shown);
    draw_small(ui, shown, &mut asked);
    if let Some(hand) = shown.hand.filter(|hand| !hand.selection().is_empty()) {
        draw_chosen(ui, shown, hand, &mut asked);
        draw_card(ui, shown, hand, &mut asked);
    }
    asked
}

fn draw_top(ui: &mut Ui<'_>, shown: Shown<'_>) {
    let area = shown.layout.top;
    ui.canvas.shade(area, theme::PANEL_TOP, theme::PANEL);
    let edge = ui.units(1.0).max(1.0);
    ui.canvas.rect(
        Rect::new(area.x, area.bottom() - edge, area.w, edge),
        theme::EDGE,
    );
    let size = ui.units(theme::BODY);
    let y = area.y + (area.h - ui.canvas.line_height(size)) / 2.0;
    let gap = ui.units(10.0);
    let mut x = area.x + gap;
    let middle = area.y + area.h / 2.0;
    if let Some(seat) = shown.hand.and_then(|hand| shown.world.seat(hand.seat())) {
        let r = ui.units(7.0);
        ui.canvas.circle((x + r, middle), r, [140, 100, 20, 255]);
        ui.canvas.circle((x + r, middle), r * 0.75, theme::GOLD);
        x += 2.0 * r + gap * 0.6;
        x += number(ui, (x, y), &seat.gold.to_string(), theme::TEXT) + 2.0 * gap;
        let log = Rect::new(x, middle - r * 0.6, r * 2.2, r * 1.2);
        ui.canvas.rect(log, [96, 64, 36, 255]);
        ui.canvas.circle((log.x, middle), r * 0.6, theme::WOOD);
        ui.canvas
            .circle((log.x, middle), r * 0.3, [96, 64, 36, 255]);
        x += 2.2 * r + gap * 0.6;
        x += number(ui, (x, y), &seat.wood.to_string(), theme::TEXT) + 2.0 * gap;
        ui.canvas
            .circle((x + r * 0.7, middle - r * 0.4), r * 0.5, theme::FAINT);
        ui.canvas.oval(
            (x + r * 0.7, middle + r * 0.55),
            (r * 0.8, r * 0.55),
            theme::FAINT,
        );
        x += 1.4 * r + gap * 0.6;
        let full = seat.population >= seat.population_limit;
        let colour = if full { theme::BAD } else { theme::TEXT };
        let text = format!("{}/{}", seat.population, seat.population_limit);
        x += number(ui, (x, y), &text, colour) + 3.0 * gap;
        let idle = shown.world.units().filter(|unit| {
            unit.seat == seat.seat && unit.kind == Kind::Worker && unit.order == Order::Idle
        });
        let idle = idle.count();
        if idle > 0 {
            number(ui, (x, y), &words::idle(idle), theme::ACCENT);
        }
    }
    let clock = shown.facts.clock();
    let wide = ui.canvas.measure(&clock, size, Weight::Bold);
    let at = (area.right() - wide - gap, y);
    ui.canvas.text(at, &clock, size, Weight::Bold, theme::TEXT);
    let hint = words::HELP_HINT;
    let small = ui.units(theme::SMALL);
    let hint_wide = ui.canvas.measure(hint, small, Weight::Regular);
    let hint_y = area.y + (area.h - ui.canvas.line_height(small)) / 2.0;
    let at = (at.0 - hint_wide - 2.0 * gap, hint_y);
    if at.0 > area.w * 0.5 {
        ui.canvas
            .text(at, hint, small, Weight::Regular, theme::FAINT);
    }
}

fn number(
    ui: &mut Ui<'_>,
    at: (f32, f32),
    text: &str,
    colour: crate::window::canvas::Colour,
) -> f32 {
    let size = ui.units(theme::BODY);
    ui.canvas.text(at, text, size, Weight::Bold, colour).w
}

fn draw_small(ui: &mut Ui<'_>, shown: Shown<'_>, asked: &mut Response) {
    ui.panel(shown.layout.small);
    let map = shown.layout.map;
    let edge = f32::from(shown.world.map().size());
    let scale = map.w / edge;
    ui.canvas.clip(map);
    if let Some(picture) = shown.scene.small_map() {
        let part = Rect::new(0.0, 0.0, edge, edge);
        ui.canvas.picture(picture, part, map, [255; 4]);
    }
    let least = ui.units(2.0);
    let place = |(x, y): Place| (map.x + x * scale, map.y + y * scale);
    for building in &shown.scene.motion.buildings {
        let size = (f32::from(building.kind.stats().size) * scale).max(least * 1.3);
        let corner = place((f32::from(building.tile.x), f32::from(building.tile.y)));
        let own = theme::seat(colour(shown.world, building.seat));
        let colour = if building.remembered {
            theme::mix(own, theme::GROUND, 0.4)
        } else {
            own
        };
        ui.canvas
            .rect(Rect::new(corner.0, corner.1, size, size), colour);
    }
    let colours: BTreeMap<_, _> = shown
        .world
        .seats()
        .map(|seat| (seat.seat, seat.colour))
        .collect();
    let dot = (scale * 0.8).max(least);
    for walker in &shown.scene.motion.walkers {
        let (x, y) = place(walker.to);
        let own = colours.get(&walker.unit.seat).copied().unwrap_or(0);
        let area = Rect::new(x - dot / 2.0, y - dot / 2.0, dot, dot);
        ui.canvas.rect(area, theme::seat(own));
    }
    let view = shown.camera.shown();
    let (x, y) = place((view.x, view.y));
    let seen = Rect::new(x, y, view.w * scale, view.h * scale);
    ui.canvas
        .frame(seen, ui.canvas.units(1.5).max(1.0), theme::TEXT);
    for (at, age) in &shown.scene.effects.pings {
        let part = (age * 1.2).fract();
        let ring = theme::alpha(theme::BAD, 1.0 - part * 0.7);
        let size = ui.units(3.0 + 12.0 * part);
        let wide = ui.units(2.0);
        ui.canvas.ring(place(*at), size, wide, ring);
    }
    ui.canvas.unclip();
    let on_map = |at: (f32, f32)| ((at.0 - map.x) / scale, (at.1 - map.y) / scale);
    let aims = shown
        .hand
        .is_some_and(|hand| matches!(hand.mode, Mode::Aim(_)));
    let pressed = |button| {
        ui.input
            .press(button)
            .filter(|click| map.contains(click.at))
    };
    if let Some(click) = pressed(MouseButton::Right) {
        match shown.hand.is_some_and(|hand| hand.mode != Mode::Free) {
            true => asked.cancels = true,
            false => asked.order = Some((on_map(click.at), click.with)),
        }
    }
    match pressed(MouseButton::Left) {
        Some(click) if aims => {
            asked.order = Some((on_map(click.at), click.with));
            ui.end_drag();
        }
        _ => {
            let at = ui.dragged_in(map).filter(|at| map.contains(*at));
            if let Some(at) = at.filter(|_| !aims) {
                asked.look = Some(on_map(at));
            }
        }
    }
}

fn draw_chosen(ui: &mut Ui<'_>, shown: Shown<'_>, hand: &Hand, asked: &mut Response) {
    let area = shown.layout.chosen;
    ui.panel(area);
    let inner = area.inset(ui.units(10.0));
    match hand.selection() {
        [only] => {
            if let Some(building) = shown.scene.motion.building(*only) {
                draw_building(ui, shown, inner, &building.clone(), hand, asked);
            } else if let Some(walker) = shown.scene.motion.walker(*only) {
                draw_unit(ui, shown, inner, &walker.unit.clone());
            }
        }
        many => draw_many(ui, shown, inner, many, asked),
    }
}

fn heading(ui: &mut Ui<'_>, inner: Rect, text: &str) -> f32 {
    let wide = inner.w;
    let written = ui.label(
        (inner.x, inner.y),
        wide,
        text,
        theme::HEADING,
        Weight::Bold,
        theme::TEXT,
    );
    written.bottom()
}

fn health(ui: &mut Ui<'_>, (x, y): (f32, f32), wide: f32, left: u16, most: u16) -> f32 {
    let part = f32::from(left) / f32::from(most.max(1));
    let high = ui.units(10.0);
    let bar = Rect::new(x, y + ui.units(3.0), wide, high);
    ui.canvas.rect(bar, theme::FIELD);
    let colour = if part > 0.6 {
        theme::GOOD
    } else if part > 0.3 {
        theme::ACCENT
    } else {
        theme::BAD
    };
    ui.canvas.rect(
        Rect::new(bar.x, bar.y, bar.w * part.min(1.0), bar.h),
        colour,
    );
    let text = format!("{left}/{most}");
    let at = (bar.right() + ui.units(8.0), y - ui.units(2.0));
    ui.label(
        at,
        ui.units(90.0),
        &text,
        theme::SMALL,
        Weight::Regular,
        theme::TEXT,
    );
    y + high + ui.units(8.0)
}

fn draw_unit(ui: &mut Ui<'_>, shown: Shown<'_>, inner: Rect, unit: &UnitView) {
    let portrait = Rect::new(inner.x, inner.y, inner.h, inner.h);
    ui.canvas.rect(portrait, theme::FIELD);
    let look = UnitLook {
        kind: unit.kind,
        seat: colour(shown.world, unit.seat),
        at: portrait.centre(),
        size: portrait.w * 0.5 * radius(unit.kind),
        heading: Angle::degrees(-34),
        carries: unit.carries.map(|(resource, _)| resource),
        struck: 0.0,
    };
    ui.canvas.clip(portrait);
    shapes::unit(ui.canvas, &look);
    ui.canvas.unclip();
    let gap = ui.units(12.0);
    let text = Rect::new(
        portrait.right() + gap,
        inner.y,
        inner.w - portrait.w - gap,
        inner.h,
    );
    let own = shown.hand.is_some_and(|hand| hand.seat() == unit.seat);
    let name = words::title_of(unit.kind.stats().name);
    let name = if own {
        name
    } else {
        words::owned_by(&name, &shown.facts.name(unit.seat))
    };
    let y = heading(ui, text, &name);
    let most = max_hit_points(
        shown.world,
        shown.scene.eye(),
        unit.seat,
        unit.kind,
        unit.hit_points,
    );
    let y = health(ui, (text.x, y), text.w * 0.55, unit.hit_points, most);
    let line = match (own, unit.carries) {
        (false, _) => words::purpose(unit.kind).to_owned(),
        (true, Some((resource, amount))) => words::carries(unit.order, amount, resource),
        (true, None) => words::title_of(words::order(unit.order)),
    };
    let y = ui.paragraph((text.x, y), text.w, &line, theme::BODY, theme::FAINT) + y;
    let stats = shown
        .world
        .stats(unit.seat, unit.kind)
        .unwrap_or(unit.kind.stats());
    if own && y < inner.bottom() - ui.units(14.0) {
        let line = words::strength(stats);
        ui.label(
            (text.x, y),
            text.w,
            &line,
            theme::SMALL,
            Weight::Regular,
            theme::FAINT,
        );
    }
}

fn draw_building(
    ui: &mut Ui<'_>,
    shown: Shown<'_>,
    inner: Rect,
    building: &BuildingView,
    hand: &Hand,
    asked: &mut Response,
) {
    let own = hand.seat() == building.seat;
    let name = words::title_of(building.kind.stats().name);
    let name = if own {
        name
    } else {
        words::owned_by(&name, &shown.facts.name(building.seat))
    };
    let y = heading(ui, inner, &name);
    let seat = building.seat;
    let most = max_hit_points(
        shown.world,
        shown.scene.eye(),
        seat,
        building.kind,
        building.hit_points,
    );
    let y = health(ui, (inner.x, y), inner.w * 0.5, building.hit_points, most);
    if !building.complete {
        let part =
            f32::from(building.progress) / f32::from(building.kind.stats().build_ticks.max(1));
        let text = words::built((part * 100.0) as u32);
        ui.label(
            (inner.x, y),
            inner.w,
            &text,
            theme::BODY,
            Weight::Regular,
            theme::FAINT,
        );
        return;
    }
    if building.queued == 0 {
        let text = match building.inside {
            0 => words::purpose(building.kind).to_owned(),
            inside => words::inside(inside),
        };
        ui.paragraph((inner.x, y), inner.w, &text, theme::BODY, theme::FAINT);
        return;
    }
    let side = ui.units(38.0).min(inner.bottom() - y);
    let gap = ui.units(6.0);
    for (place, job) in (0_u8..).zip(building.queue.iter().flatten()) {
        let area = Rect::new(inner.x + (side + gap) * f32::from(place), y, side, side);
        let cancel = Action::Cancel(building.id, place);
        let (hot, pressed) = ui.tile_of(cancel, area, own);
        let (mark, name) = match job {
            Job::Train(kind) => (Sign::Kind(*kind), kind.stats().name),
            Job::Research(upgrade) => (Sign::Upgrade(*upgrade), upgrade.stats().name),
        };
        sign(
            ui.canvas,
            mark,
            area.centre(),
            side * 0.55,
            theme::TEXT,
            theme::OUTLINE,
        );
        if place == 0 {
            let part = f32::from(building.worked) / f32::from(job.ticks().max(1));
            let high = ui.units(4.0);
            let bar = Rect::new(area.x, area.bottom() - high, area.w * part.min(1.0), high);
            ui.canvas.rect(bar, theme::GOOD);
        }
        if hot {
            let lines = vec![
                (words::title_of(name), theme::TEXT),
                (words::CANCEL.to_owned(), theme::FAINT),
            ];
            ui.tip(area, lines);
        }
        if pressed {
            asked.action = Some((cancel, ui.pressed_with()));
        }
    }
}

/// Many units: a button for each kind selects the units of that kind.
fn draw_many(ui: &mut Ui<'_>, shown: Shown<'_>, inner: Rect, many: &[Id], asked: &mut Response) {
    let mut kinds: BTreeMap<Kind, Vec<Id>> = BTreeMap::new();
    let (mut left, mut all) = (0_u32, 0_u32);
    let mut seat = None;
    for id in many {
        if let Some(walker) = shown.scene.motion.walker(*id) {
            let unit = &walker.unit;
            seat = seat.or(Some(unit.seat));
            kinds.entry(unit.kind).or_default().push(*id);
            left += u32::from(unit.hit_points);
            let most = max_hit_points(
                shown.world,
                shown.scene.eye(),
                unit.seat,
                unit.kind,
                unit.hit_points,
            );
            all += u32::from(most);
        }
    }
    let y = heading(ui, inner, &words::selected(many.len()));
    let percent = |left: u32| (u64::from(left) * 1_000 / u64::from(all.max(1))) as u16;
    let high = ui.units(6.0);
    let bar = Rect::new(inner.x, y, inner.w * 0.6, high);
    ui.canvas.rect(bar, theme::FIELD);
    let part = f32::from(percent(left)) / 1_000.0;
    ui.canvas.rect(
        Rect::new(bar.x, bar.y, bar.w * part.min(1.0), bar.h),
        theme::GOOD,
    );
    let top = bar.bottom() + ui.units(8.0);
    let side = (inner.bottom() - top).min(ui.units(52.0));
    let gap = ui.units(6.0);
    let own = seat.map_or(0, |seat| colour(shown.world, seat));
    for (place, (kind, ids)) in kinds.into_iter().enumerate() {
        let area = Rect::new(inner.x + (side + gap) * place as f32, top, side, side);
        if area.right() > inner.right() {
            break;
        }
        let (hot, pressed) = ui.tile_of(kind, area, true);
        let look = UnitLook {
            kind,
            seat: own,
            at: (area.x + side * 0.42, area.y + side * 0.42),
            size: side * 0.6 * radius(kind),
            heading: Angle::degrees(-34),
            carries: None,
            struck: 0.0,
        };
        shapes::unit(ui.canvas, &look);
        let count = ids.len().to_string();
        let size = ui.units(theme::SMALL);
        let wide = ui.canvas.measure(&count, size, Weight::Bold);
        let at = (
            area.right() - wide - ui.units(4.0),
            area.bottom() - ui.canvas.line_height(size),
        );
        ui.canvas.text(at, &count, size, Weight::Bold, theme::TEXT);
        if hot {
            let lines = vec![
                (words::title_of(kind.stats().name), theme::TEXT),
                (words::ONLY_THESE.to_owned(), theme::FAINT),
            ];
            ui.tip(area, lines);
        }
        if pressed {
            asked.select = Some(ids);
        }
    }
}

fn draw_card(ui: &mut Ui<'_>, shown: Shown<'_>, hand: &Hand, asked: &mut Response) {
    let entries = card(hand, shown.page, shown.world);
    if entries.is_empty() {
        return;
    }
    let area = shown.layout.card;
    ui.panel(area);
    let gap = ui.units(6.0);
    let side = ui.units(46.0);
    for (place, entry) in entries.iter().enumerate() {
        let (column, line) = ((place % 4) as f32, (place / 4) as f32);
        let button = Rect::new(
            area.x + gap + (side + gap) * column,
            area.y + gap + (side + gap) * line,
            side,
            side,
        );
        let able = entry.lacks.is_none();
        let (hot, pressed) = ui.tile_of(entry.action, button, able);
        let aimed = match (hand.mode, entry.action) {
            (Mode::Aim(one), Action::Aim(other)) => one == other,
            (Mode::Place(one), Action::Place(other)) => one == other,
            _ => false,
        };
        if aimed {
            let wide = ui.units(2.0);
            ui.canvas.frame(button, wide, theme::ACCENT);
        }
        let ink = if able { theme::TEXT } else { theme::OFF };
        let at = (button.x + side * 0.5, button.y + side * 0.43);
        sign(ui.canvas, entry.sign, at, side * 0.5, ink, theme::OUTLINE);
        let key = key_name(entry.key);
        let size = ui.units(10.0);
        let wide = ui.canvas.measure(&key, size, Weight::Bold);
        let at = (
            button.right() - wide - ui.units(4.0),
            button.bottom() - ui.canvas.line_height(size),
        );
        let colour = if able { theme::ACCENT } else { theme::OFF };
        ui.canvas.text(at, &key, size, Weight::Bold, colour);
        let under = ui.input.mouse.is_some_and(|at| button.contains(at));
        if hot || under {
            let above = Rect::new(button.x, area.y, side, side);
            ui.tip(above, entry.tip());
        }
        if pressed {
            asked.action = Some((entry.action, ui.pressed_with()));
        }
    }
}
