//! The layout of the menu's pages.

use crate::window::canvas::{Canvas, Colour, Rect};
use crate::window::letters::Weight;
use crate::window::theme;
use crate::window::ui::Ui;
use std::hash::Hash;

/// A heading and a panel below it, in the middle of the window. Returns the room on the panel.
pub fn page(ui: &mut Ui<'_>, heading: &str, units: (f32, f32)) -> Rect {
    let (width, height) = ui.canvas.size();
    let head = ui.units(52.0);
    let wide = ui.units(units.0).min(width - ui.units(24.0));
    let high = ui.units(units.1).min(height - head - ui.units(36.0));
    let x = ((width - wide) / 2.0).round();
    let y = ((height - high - head) / 2.0).round();
    let at = (x, y + ui.units(4.0));
    ui.label(
        at,
        wide,
        heading,
        theme::TITLE * 0.82,
        Weight::Bold,
        theme::TEXT,
    );
    let panel = Rect::new(x, y + head, wide.max(0.0), high.max(0.0));
    ui.panel(panel);
    panel.inset(ui.units(20.0))
}

/// Rows of a page from its top downwards.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    room: Rect,
    y: f32,
}

impl Rows {
    pub fn new(room: Rect) -> Rows {
        Rows { room, y: room.y }
    }

    /// The next row, this many pixels high, with a gap below it.
    pub fn next(&mut self, high: f32, gap: f32) -> Rect {
        let row = Rect::new(self.room.x, self.y, self.room.w, high);
        self.y += high + gap;
        row
    }

    /// The room below.
    pub fn rest(&self) -> Rect {
        let high = (self.room.bottom() - self.y).max(0.0);
        Rect::new(self.room.x, self.y, self.room.w, high)
    }
}

/// A row with a label at its left. Returns the room beside the label.
pub fn labelled(ui: &mut Ui<'_>, row: Rect, label: &str) -> Rect {
    let wide = ui.units(LABEL).min(row.w / 2.0);
    let high = ui.canvas.line_height(ui.units(theme::BODY));
    let at = (row.x, row.y + ((row.h - high) / 2.0).round());
    ui.label(at, wide, label, theme::BODY, Weight::Regular, theme::FAINT);
    Rect::new(row.x + wide, row.y, row.w - wide, row.h)
}

/// Buttons of which one is chosen. Returns whether the choice changed.
#[track_caller]
pub fn choice(ui: &mut Ui<'_>, area: Rect, labels: &[&str], chosen: &mut usize) -> bool {
    let before = *chosen;
    let many = labels.len().max(1) as f32;
    let gap = ui.units(4.0);
    let wide = ((area.w - gap * (many - 1.0)) / many).max(0.0);
    for (place, label) in labels.iter().enumerate() {
        let x = area.x + (wide + gap) * place as f32;
        let button = Rect::new(x.round(), area.y, wide.floor(), area.h);
        if ui.tile(button, true).1 {
            *chosen = place;
        }
        let is_chosen = *chosen == place;
        if is_chosen {
            let bar = ui.units(3.0);
            let under = Rect::new(button.x, button.bottom() - bar, button.w, bar);
            ui.canvas.rect(
                button.inset(ui.units(1.0)),
                theme::alpha(theme::ACCENT, 0.14),
            );
            ui.canvas.rect(under, theme::ACCENT);
        }
        let (weight, colour) = match is_chosen {
            true => (Weight::Bold, theme::TEXT),
            false => (Weight::Regular, theme::FAINT),
        };
        let inner = button.inset(ui.units(2.0));
        ui.centred(inner, label, theme::BODY, weight, colour);
    }
    *chosen != before
}

/// Buttons at the right end of a row, the first outermost. Returns the index of the pressed one. A button's place tells it
/// from the others: its label may change.
#[track_caller]
pub fn buttons(ui: &mut Ui<'_>, row: Rect, labels: &[(&str, bool)]) -> Option<usize> {
    let all = labels.iter().enumerate();
    let all: Vec<(usize, &str, bool)> = all
        .map(|(place, (label, able))| (place, *label, *able))
        .collect();
    buttons_of(ui, row, &all)
}

/// Such buttons of which some come and go: what each stands for tells it from the others.
#[track_caller]
pub fn buttons_of<T: Hash>(ui: &mut Ui<'_>, row: Rect, all: &[(T, &str, bool)]) -> Option<usize> {
    let gap = ui.units(10.0);
    let mut right = row.right();
    let mut areas = Vec::new();
    for (_, label, _) in all {
        let wide = button_width(ui, label);
        areas.push(Rect::new((right - wide).round(), row.y, wide, row.h));
        right -= wide + gap;
    }
    // The keyboard's order is that of the eye: from the left.
    let mut pressed = None;
    for (place, (area, (what, label, able))) in areas.iter().zip(all).enumerate().rev() {
        if ui.button_of(what, *area, label, *able) {
            pressed = Some(place);
        }
    }
    pressed
}

/// The width of a button with this label.
pub fn button_width(ui: &Ui<'_>, label: &str) -> f32 {
    let size = ui.units(theme::BODY);
    let wide = ui.canvas.measure(label, size, Weight::Bold) + ui.units(36.0);
    wide.max(ui.units(110.0)).ceil()
}

/// A line of text in the middle of a row. Returns its right edge.
pub fn line(ui: &mut Ui<'_>, row: Rect, text: &str, weight: Weight, colour: Colour) -> f32 {
    let high = ui.canvas.line_height(ui.units(theme::BODY));
    let at = (row.x, row.y + ((row.h - high) / 2.0).round());
    ui.label(at, row.w, text, theme::BODY, weight, colour)
        .right()
}

/// A seat's mark on its colour.
pub fn mark(canvas: &mut Canvas, seat: u8, area: Rect) {
    let colour = theme::seat(seat);
    canvas.rect(area, colour);
    let edge = canvas.units(1.0).max(1.0);
    canvas.frame(area, edge, theme::OUTLINE);
    let upon = theme::contrast(colour);
    theme::mark(canvas, seat, area.centre(), area.h * 0.56, upon);
}

/// The mark of a starting place without a seat: dark unlike seat colours, and a letter unlike seat marks.
pub fn free_place(canvas: &mut Canvas, area: Rect) {
    canvas.rect(area, theme::FIELD);
    let edge = canvas.units(1.0).max(1.0);
    canvas.frame(area, edge, theme::FAINT);
    let size = canvas.units(theme::SMALL);
    let (x, y) = area.centre();
    let wide = canvas.measure(UNKNOWN, size, Weight::Bold);
    let at = (x - wide / 2.0, y - canvas.line_height(size) / 2.0);
    canvas.text(at, UNKNOWN, size, Weight::Bold, theme::TEXT);
}

/// Stands for an unknown player.
const UNKNOWN: &str = "?";
/// Height of a button or field, in units.
pub const ROW: f32 = 34.0;
/// Width of the labels, in units.
const LABEL: f32 = 130.0;
