//! An immediate-mode widget kit: each call draws a widget and returns its state. Sizes are in pixels; see
//! [`Canvas::units`]. The keyboard reaches every widget: Tab and arrows move the focus, Enter presses.

mod edit;
mod focus;

use super::canvas::{Canvas, Colour, Rect};
use super::input::{Input, KeyCode, Modifiers, MouseButton};
use super::letters::Weight;
use super::theme;
use focus::{DrawnWidgets, Focus, WidgetId, is_for_focus};
use std::hash::Hash;
use std::panic::Location;

/// State of the widgets from frame to frame.
#[derive(Debug, Default)]
pub struct Memory {
    focus: Option<Focus>,
    /// The widget that the mouse button went down on.
    held: Option<WidgetId>,
    /// The caret in the focused field, in bytes.
    caret: usize,
    /// Whether all text of that field is selected, so that typing replaces it.
    all_selected: bool,
    /// Where the left mouse button last went down.
    begun: Option<(f32, f32)>,
    /// Whether the keyboard was used last: only then is the focus visible.
    by_keys: bool,
}

impl Memory {
    /// Moves the focus to the next frame's widget with this index, or behind it to the first that is not disabled, and makes
    /// it visible.
    pub fn focus(&mut self, index: usize) {
        self.move_to(Focus::Next(index));
        self.by_keys = true;
    }

    fn move_to(&mut self, focus: Focus) {
        self.focus = Some(focus);
        self.caret = usize::MAX;
        self.all_selected = false;
    }

    /// Removes the focus from all widgets.
    pub fn blur(&mut self) {
        self.focus = None;
    }

    /// Whether a widget has the focus.
    pub fn has_focus(&self) -> bool {
        self.focus.is_some()
    }
}

pub struct Ui<'a> {
    pub canvas: &'a mut Canvas,
    pub input: &'a Input,
    memory: &'a mut Memory,
    drawn: DrawnWidgets,
    tip: Option<Tip>,
    used_arrows: bool,
    in_field: bool,
    pressed_with: Modifiers,
}

struct Tip {
    at: Rect,
    lines: Vec<(String, Colour)>,
}

/// Draws the mark of a line, by its index, into a square.
pub type Mark<'m> = &'m dyn Fn(&mut Canvas, usize, Rect);

/// What happened in a field in this frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    /// The text has changed.
    pub changed: bool,
    pub entered: bool,
}

/// The interaction of a widget in this frame.
#[derive(Clone, Copy, Debug)]
struct Interaction {
    hot: bool,
    focused: bool,
    pressed: bool,
    held: bool,
}

impl<'a> Ui<'a> {
    /// Begins a frame of widgets.
    pub fn new(canvas: &'a mut Canvas, input: &'a Input, memory: &'a mut Memory) -> Ui<'a> {
        if !input.pressed.is_empty() {
            memory.by_keys = false;
        }
        if input.keys.iter().any(|press| is_for_focus(press.key)) {
            memory.by_keys = true;
        }
        Ui {
            canvas,
            input,
            memory,
            drawn: DrawnWidgets::default(),
            tip: None,
            used_arrows: false,
            in_field: false,
            pressed_with: Modifiers::default(),
        }
    }

    /// Units of the interface in pixels.
    pub fn units(&self, units: f32) -> f32 {
        self.canvas.units(units)
    }

    /// Whether a field of this frame has the focus.
    pub fn has_focus_on_field(&self) -> bool {
        self.in_field
    }

    /// The modifiers of the last widget's press: they may be released within the same frame.
    pub fn pressed_with(&self) -> Modifiers {
        self.pressed_with
    }

    /// Ends the frame: moves the focus and draws the tooltip.
    pub fn finish(mut self) {
        self.move_focus();
        if !self.input.holds_button(MouseButton::Left) {
            self.memory.held = None;
        }
        self.draw_tip();
    }

    pub fn panel(&mut self, area: Rect) {
        let edge = self.units(1.0).max(1.0);
        let mut shadow = area;
        shadow.y += 2.0 * edge;
        self.canvas.rect(shadow, [0, 0, 0, 70]);
        self.canvas.shade(area, theme::PANEL_TOP, theme::PANEL);
        self.canvas.frame(area, edge, theme::EDGE);
    }

    /// A line of text, shortened to its room. Returns its area.
    pub fn label(
        &mut self,
        at: (f32, f32),
        wide: f32,
        text: &str,
        size: f32,
        weight: Weight,
        colour: Colour,
    ) -> Rect {
        let size = self.units(size);
        let text = shortened(self.canvas, text, size, weight, wide);
        self.canvas.text(at, &text, size, weight, colour)
    }

    /// A line of text in the middle of an area.
    pub fn centred(&mut self, area: Rect, text: &str, size: f32, weight: Weight, colour: Colour) {
        let size = self.units(size);
        let text = shortened(self.canvas, text, size, weight, area.w);
        let wide = self.canvas.measure(&text, size, weight);
        let high = self.canvas.line_height(size);
        let at = (
            area.x + (area.w - wide) / 2.0,
            area.y + (area.h - high) / 2.0,
        );
        self.canvas.text(at, &text, size, weight, colour);
    }

    /// Text over as many lines as it needs. Returns its height.
    pub fn paragraph(
        &mut self,
        at: (f32, f32),
        wide: f32,
        text: &str,
        size: f32,
        colour: Colour,
    ) -> f32 {
        let size = self.units(size);
        let high = self.canvas.line_height(size);
        let lines = wrapped(self.canvas, text, size, Weight::Regular, wide);
        for (place, line) in lines.iter().enumerate() {
            let at = (at.0, at.1 + high * place as f32);
            self.canvas.text(at, line, size, Weight::Regular, colour);
        }
        high * lines.len() as f32
    }

    /// A button. Returns whether it was pressed.
    #[track_caller]
    pub fn button(&mut self, area: Rect, label: &str) -> bool {
        self.button_if(area, label, true)
    }

    /// A button, disabled unless `able`.
    #[track_caller]
    pub fn button_if(&mut self, area: Rect, label: &str, able: bool) -> bool {
        let id = self.drawn.id(Location::caller());
        self.draw_button(id, area, label, able)
    }

    /// A button among others that come and go: what it stands for tells it from them.
    #[track_caller]
    pub fn button_of(&mut self, what: impl Hash, area: Rect, label: &str, able: bool) -> bool {
        let id = WidgetId::standing_for(what, Location::caller());
        self.draw_button(id, area, label, able)
    }

    fn draw_button(&mut self, id: WidgetId, area: Rect, label: &str, able: bool) -> bool {
        let met = self.interact_as(id, area, able);
        self.draw_box(area, &met, able);
        let colour = if able { theme::TEXT } else { theme::OFF };
        let inner = area.inset(self.units(4.0));
        self.centred(inner, label, theme::BODY, Weight::Bold, colour);
        met.pressed
    }

    /// A button without a label, to draw on. Returns whether the mouse is over it, and whether it was pressed.
    #[track_caller]
    pub fn tile(&mut self, area: Rect, able: bool) -> (bool, bool) {
        let id = self.drawn.id(Location::caller());
        self.draw_tile(id, area, able)
    }

    /// A tile among others that come and go: what it stands for tells it from them.
    #[track_caller]
    pub fn tile_of(&mut self, what: impl Hash, area: Rect, able: bool) -> (bool, bool) {
        let id = WidgetId::standing_for(what, Location::caller());
        self.draw_tile(id, area, able)
    }

    fn draw_tile(&mut self, id: WidgetId, area: Rect, able: bool) -> (bool, bool) {
        let met = self.interact_as(id, area, able);
        self.draw_box(area, &met, able);
        (met.hot || (met.focused && self.memory.by_keys), met.pressed)
    }

    /// A check box with a label. Returns whether it was toggled.
    #[track_caller]
    pub fn check(&mut self, area: Rect, label: &str, on: &mut bool) -> bool {
        let met = self.interact(area, true);
        let side = area.h.min(self.units(20.0));
        let tick = Rect::new(area.x, area.y + (area.h - side) / 2.0, side, side);
        self.draw_box(tick, &met, true);
        if *on {
            self.canvas.rect(tick.inset(side * 0.28), theme::ACCENT);
        }
        let high = self.canvas.line_height(self.units(theme::BODY));
        let at = (
            tick.right() + self.units(8.0),
            area.y + (area.h - high) / 2.0,
        );
        let wide = area.right() - at.0;
        self.label(at, wide, label, theme::BODY, Weight::Regular, theme::TEXT);
        *on ^= met.pressed;
        met.pressed
    }

    /// A text field of at most `most` bytes.
    #[track_caller]
    pub fn field(&mut self, area: Rect, text: &mut String, hint: &str, most: usize) -> Typed {
        let met = self.interact(area, true);
        let mut typed = Typed::default();
        if met.focused {
            self.in_field = true;
            self.canvas.take_text();
            typed = self.edit(text, most);
        }
        let edge = self.units(1.0).max(1.0);
        self.canvas.rect(area, theme::FIELD);
        let colour = if met.focused {
            theme::ACCENT
        } else {
            theme::EDGE
        };
        self.canvas.frame(area, edge, colour);
        let inner = area.inset(self.units(6.0));
        let size = self.units(theme::BODY);
        let high = self.canvas.line_height(size);
        let top = area.y + (area.h - high) / 2.0;
        if text.is_empty() {
            // Right of the caret.
            let at = (inner.x + self.units(3.0), top);
            let (wide, colour) = (inner.right() - at.0, theme::OFF);
            self.label(at, wide, hint, theme::BODY, Weight::Regular, colour);
        }
        // Scrolls to the caret.
        let caret = if met.focused { self.memory.caret } else { 0 };
        let caret = floor_boundary(text, caret);
        let before = self.canvas.measure(&text[..caret], size, Weight::Regular);
        let shift = (before + edge * 2.0 - inner.w).max(0.0);
        let from = first_shown(self.canvas, text, size, shift);
        let shown = &text[from..];
        let skipped = self.canvas.measure(&text[..from], size, Weight::Regular);
        let fitting = fitting(self.canvas, shown, size, Weight::Regular, inner.w);
        if met.focused && self.memory.all_selected {
            let under = &shown[..fitting];
            let wide = self.canvas.measure(under, size, Weight::Regular);
            let under = Rect::new(inner.x, top, wide, high);
            self.canvas.rect(under, theme::alpha(theme::ACCENT, 0.35));
        }
        self.canvas.text(
            (inner.x, top),
            &shown[..fitting],
            size,
            Weight::Regular,
            theme::TEXT,
        );
        if met.focused && (self.input.now.as_millis() / 500).is_multiple_of(2) {
            let x = (inner.x + before - skipped).min(inner.right());
            let caret = Rect::new(x.round(), top, edge * 1.5, high);
            self.canvas.rect(caret, theme::ACCENT);
        }
        typed
    }

    /// A slider from 0 to 1. Returns whether it moved.
    #[track_caller]
    pub fn slider(&mut self, area: Rect, value: &mut f32) -> bool {
        let met = self.interact(area, true);
        let before = *value;
        if met.held
            && let Some((x, _)) = self.input.mouse
        {
            *value = (x - area.x) / area.w.max(1.0);
        }
        if met.focused {
            let step = |key: KeyCode, by: f32| match self.input.typed_key(key) {
                true => by,
                false => 0.0,
            };
            let moved = step(KeyCode::Right, 0.05) + step(KeyCode::Left, -0.05);
            self.used_arrows |= moved != 0.0;
            *value += moved;
        }
        *value = value.clamp(0.0, 1.0);
        let high = self.units(4.0);
        let bar = Rect::new(area.x, area.y + (area.h - high) / 2.0, area.w, high);
        self.canvas.rect(bar, theme::FIELD);
        let filled = Rect::new(bar.x, bar.y, bar.w * *value, bar.h);
        self.canvas.rect(filled, theme::ACCENT);
        let knob = (area.x + area.w * *value, area.y + area.h / 2.0);
        let (radius, edge) = (self.units(8.0), self.units(2.0));
        let face = if met.hot || met.held {
            theme::BUTTON_HOT
        } else {
            theme::BUTTON
        };
        self.canvas.circle(knob, radius, face);
        let colour = match met.focused && self.memory.by_keys {
            true => theme::ACCENT,
            false => theme::FAINT,
        };
        self.canvas.ring(knob, radius, edge, colour);
        (*value - before).abs() > f32::EPSILON
    }

    /// A list of lines, of which one may be chosen. `first` is the first visible line; wheel and keys scroll.
    /// Returns the pressed line.
    #[track_caller]
    pub fn list(
        &mut self,
        area: Rect,
        lines: &[String],
        chosen: &mut Option<usize>,
        first: &mut usize,
    ) -> Option<usize> {
        self.marked_list(area, lines, None, chosen, first)
    }

    /// A list with a mark before each line, drawn into a square.
    #[track_caller]
    pub fn marked_list(
        &mut self,
        area: Rect,
        lines: &[String],
        mark: Option<Mark<'_>>,
        chosen: &mut Option<usize>,
        first: &mut usize,
    ) -> Option<usize> {
        let met = self.interact(area, !lines.is_empty());
        let edge = self.units(1.0).max(1.0);
        self.canvas.rect(area, theme::FIELD);
        let colour = match met.focused && self.memory.by_keys {
            true => theme::ACCENT,
            false => theme::EDGE,
        };
        self.canvas.frame(area, edge, colour);
        let high = self.units(24.0);
        let rows = ((area.h - 2.0 * edge) / high).floor().max(1.0) as usize;
        let last = lines.len().saturating_sub(rows);
        if met.hot {
            let steps = -(self.input.wheel * 3.0) as isize;
            *first = first.saturating_add_signed(steps);
        }
        let mut pressed = None;
        if met.focused && !lines.is_empty() {
            let now = chosen.unwrap_or(0);
            for (key, to) in [
                (KeyCode::Up, now.saturating_sub(1)),
                (KeyCode::Down, chosen.map_or(0, |now| now + 1)),
                (KeyCode::PageUp, now.saturating_sub(rows)),
                (KeyCode::PageDown, now + rows),
                (KeyCode::Home, 0),
                (KeyCode::End, lines.len() - 1),
            ] {
                if self.input.typed_key(key) {
                    self.used_arrows = true;
                    let to = to.min(lines.len() - 1);
                    *chosen = Some(to);
                    *first = (*first).clamp((to + 1).saturating_sub(rows), to);
                }
            }
            if self.input.hit_enter().is_some() {
                pressed = *chosen;
            }
        }
        *first = (*first).min(last);
        for row in 0..rows.min(lines.len() - *first) {
            let place = *first + row;
            let line = Rect::new(
                area.x + edge,
                area.y + edge + high * row as f32,
                area.w - 2.0 * edge,
                high,
            );
            let under = self.input.mouse.is_some_and(|at| line.contains(at));
            if *chosen == Some(place) {
                self.canvas.rect(line, theme::BUTTON_HOT);
            } else if under {
                self.canvas.rect(line, theme::BUTTON);
            }
            let press = self.input.press(MouseButton::Left);
            if press.is_some_and(|click| line.contains(click.at)) {
                *chosen = Some(place);
                pressed = Some(place);
            }
            let text = self.canvas.line_height(self.units(theme::BODY));
            let gap = self.units(8.0);
            let mut at = (line.x + gap, line.y + (high - text) / 2.0);
            if let Some(mark) = mark {
                let side = high - self.units(6.0);
                let square = Rect::new(at.0, line.y + self.units(3.0), side, side);
                mark(self.canvas, place, square);
                at.0 = square.right() + gap;
            }
            let wide = line.right() - gap - at.0;
            self.label(
                at,
                wide,
                &lines[place],
                theme::BODY,
                Weight::Regular,
                theme::TEXT,
            );
        }
        if lines.len() > rows {
            let part = |lines_: usize| lines_ as f32 / lines.len() as f32 * area.h;
            let wide = self.units(4.0);
            let bar = Rect::new(area.right() - wide, area.y + part(*first), wide, part(rows));
            self.canvas.rect(bar, theme::EDGE);
        }
        pressed
    }

    /// Whether the mouse is in this area.
    pub fn is_pointed_at(&self, area: Rect) -> bool {
        self.input.mouse.is_some_and(|at| area.contains(at))
    }

    /// A tooltip beside `area` while the mouse rests on it. The first line is the heading.
    pub fn tip(&mut self, area: Rect, lines: Vec<(String, Colour)>) {
        self.tip = Some(Tip { at: area, lines });
    }

    /// The mouse while the left button, pressed in this area, is held. A press counts even if it was released
    /// within one slow frame.
    pub fn dragged_in(&mut self, area: Rect) -> Option<(f32, f32)> {
        let pressed = self.input.press(MouseButton::Left).map(|click| click.at);
        if pressed.is_some() {
            self.memory.begun = pressed;
        }
        let begun = self.memory.begun.is_some_and(|at| area.contains(at));
        let held = self.input.holds_button(MouseButton::Left);
        let at = self.input.mouse.filter(|_| held).or(pressed);
        at.filter(|_| begun)
    }

    /// Until the next press of the mouse, [`Ui::dragged_in`] returns nothing.
    pub fn end_drag(&mut self) {
        self.memory.begun = None;
    }

    #[track_caller]
    fn interact(&mut self, area: Rect, able: bool) -> Interaction {
        let id = self.drawn.id(Location::caller());
        self.interact_as(id, area, able)
    }

    fn interact_as(&mut self, id: WidgetId, area: Rect, able: bool) -> Interaction {
        self.drawn.add(id, able, self.memory);
        let under = self.input.mouse.is_some_and(|at| area.contains(at));
        let press = self.input.press(MouseButton::Left);
        if able && press.is_some_and(|click| area.contains(click.at)) {
            self.memory.held = Some(id);
            self.memory.move_to(Focus::On(id));
        }
        let held = able && self.memory.held == Some(id);
        let release = self.input.release(MouseButton::Left);
        let clicked = release.filter(|click| held && area.contains(click.at));
        let focused = self.memory.focus == Some(Focus::On(id));
        let enter = self.input.hit_enter();
        let entered = enter.filter(|_| able && focused && self.memory.by_keys);
        let pressed = clicked.map(|click| click.with).or(entered);
        self.pressed_with = pressed.unwrap_or(self.pressed_with);
        Interaction {
            hot: able && under,
            focused,
            pressed: pressed.is_some(),
            held,
        }
    }

    fn draw_box(&mut self, area: Rect, met: &Interaction, able: bool) {
        let face = match (able, met.held, met.hot) {
            (false, ..) => theme::PANEL,
            (_, true, _) => theme::BUTTON_DOWN,
            (_, _, true) => theme::BUTTON_HOT,
            _ => theme::BUTTON,
        };
        let edge = self.units(1.0).max(1.0);
        self.canvas.rect(area, face);
        let shown = met.focused && self.memory.by_keys;
        let (colour, wide) = match (shown, able) {
            (true, _) => (theme::ACCENT, 2.0 * edge),
            (false, true) => (theme::EDGE, edge),
            (false, false) => (theme::BUTTON, edge),
        };
        self.canvas.frame(area, wide, colour);
    }

    fn draw_tip(&mut self) {
        let Some(tip) = self.tip.take() else {
            return;
        };
        let size = self.units(theme::SMALL);
        let gap = self.units(8.0);
        let high = self.canvas.line_height(size);
        let most = (self.canvas.size().0 * 0.4).max(self.units(220.0));
        let mut lines = Vec::new();
        for (place, (text, colour)) in tip.lines.iter().enumerate() {
            let weight = weight_of(place);
            for line in wrapped(self.canvas, text, size, weight, most) {
                lines.push((line, *colour, weight));
            }
        }
        let widths = lines
            .iter()
            .map(|(text, _, weight)| self.canvas.measure(text, size, *weight));
        let wide = widths.fold(0.0, f32::max) + 2.0 * gap;
        let all = high * lines.len() as f32 + 2.0 * gap;
        let (width, height) = self.canvas.size();
        let x = tip.at.x.min(width - wide).max(0.0);
        let above = tip.at.y - all - gap / 2.0;
        let y = if above >= 0.0 {
            above
        } else {
            (tip.at.bottom() + gap / 2.0).min(height - all).max(0.0)
        };
        self.canvas.begin_above();
        self.panel(Rect::new(x.round(), y.round(), wide.ceil(), all));
        for (place, (text, colour, weight)) in lines.iter().enumerate() {
            let at = (x + gap, y + gap + high * place as f32);
            self.canvas.text(at, text, size, *weight, *colour);
        }
    }
}

/// Text cut to a width, with an ellipsis.
pub fn shortened(canvas: &Canvas, text: &str, size: f32, weight: Weight, wide: f32) -> String {
    if canvas.measure(text, size, weight) <= wide {
        return text.to_owned();
    }
    let dots = canvas.measure(ELLIPSIS, size, weight);
    let end = fitting(canvas, text, size, weight, wide - dots);
    format!("{}{ELLIPSIS}", text[..end].trim_end())
}

/// Text broken between words into lines of at most this width; longer words break anywhere.
pub fn wrapped(canvas: &Canvas, text: &str, size: f32, weight: Weight, wide: f32) -> Vec<String> {
    let mut lines = Vec::new();
    for part in text.split('\n') {
        let mut line = String::new();
        for word in part.split(' ') {
            let longer = match line.is_empty() {
                true => word.to_owned(),
                false => format!("{line} {word}"),
            };
            if canvas.measure(&longer, size, weight) <= wide {
                line = longer;
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            let mut rest = word;
            while canvas.measure(rest, size, weight) > wide {
                let first = rest.chars().next().map_or(0, char::len_utf8);
                let end = fitting(canvas, rest, size, weight, wide).max(first);
                if end == rest.len() {
                    break;
                }
                lines.push(rest[..end].to_owned());
                rest = &rest[end..];
            }
            line = rest.to_owned();
        }
        lines.push(line);
    }
    lines
}

/// Bytes of the text that fit into a width.
fn fitting(canvas: &Canvas, text: &str, size: f32, weight: Weight, wide: f32) -> usize {
    let mut used = 0.0;
    for (at, letter) in text.char_indices() {
        let mut buffer = [0; 4];
        used += canvas.measure(letter.encode_utf8(&mut buffer), size, weight);
        if used > wide {
            return at;
        }
    }
    text.len()
}

/// The first visible byte of a text shifted to the left.
fn first_shown(canvas: &Canvas, text: &str, size: f32, shift: f32) -> usize {
    if shift <= 0.0 {
        return 0;
    }
    let end = fitting(canvas, text, size, Weight::Regular, shift);
    let next = text[end..].chars().next().map_or(0, char::len_utf8);
    end + next
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn weight_of(line: usize) -> Weight {
    match line {
        0 => Weight::Bold,
        _ => Weight::Regular,
    }
}

const ELLIPSIS: &str = "…";

#[cfg(test)]
mod tests;
