//! Notes over everything in the viewer: news, trouble with the file, help.

use super::{Viewer, words};
use crate::window::canvas::{Canvas, Rect};
use crate::window::input::Input;
use crate::window::letters::Weight;
use crate::window::theme;
use crate::window::ui::{Memory, Ui, wrapped};

impl Viewer {
    pub(super) fn draw_above(&mut self, input: &Input, canvas: &mut Canvas) {
        let now = self.now;
        let flash = self.flash.as_ref().filter(|(_, until)| now < *until);
        let flash = flash.map(|(text, _)| text.clone());
        let trouble = self.trouble();
        if self.trouble_since.as_ref().map(|(text, _)| text) != trouble.as_ref() {
            self.trouble_since = trouble.map(|text| (text, now));
        }
        let trouble = self.trouble_since.as_ref();
        let ends = self.reel.is_over();
        let trouble = trouble.filter(|(_, since)| ends || now.saturating_sub(*since) < TROUBLE);
        let trouble = trouble.map(|(text, _)| text.clone());
        let mut memory = Memory::default();
        let mut ui = Ui::new(canvas, input, &mut memory);
        ui.canvas.begin_above();
        let layout = self.layout(ui.canvas);
        if let Some(text) = trouble.filter(|_| !self.help) {
            let y = layout.top.bottom() + ui.units(8.0);
            note(&mut ui, &text, theme::BAD, layout.seats.right(), |_| y);
        }
        if let Some(text) = flash.filter(|_| !self.help) {
            let y = layout.below.y - ui.units(8.0);
            note(&mut ui, &text, theme::TEXT, 0.0, |high| y - high);
        }
        if self.help {
            draw_help(&mut ui, self.plays_on());
        }
        ui.finish();
    }
}

/// Lines in the middle of the area right of `left`; `top` computes their position from their height.
fn note(ui: &mut Ui<'_>, text: &str, colour: [u8; 4], left: f32, top: impl FnOnce(f32) -> f32) {
    let (width, _) = ui.canvas.size();
    let gap = ui.units(10.0);
    let most = ui.units(620.0).min(width - left - 4.0 * gap);
    let size = ui.units(theme::BODY);
    let lines = wrapped(ui.canvas, text, size, Weight::Regular, most);
    let widths = lines
        .iter()
        .map(|line| ui.canvas.measure(line, size, Weight::Regular));
    let wide = widths.fold(0.0, f32::max) + 2.0 * gap;
    let high = ui.canvas.line_height(size) * lines.len() as f32 + 2.0 * gap;
    let area = Rect::new(
        (left + (width - left - wide) / 2.0).round(),
        top(high).round(),
        wide.ceil(),
        high,
    );
    ui.panel(area);
    ui.paragraph(
        (area.x + gap, area.y + gap),
        most,
        text,
        theme::BODY,
        colour,
    );
}

fn draw_help(ui: &mut Ui<'_>, plays_on: bool) {
    let whole = ui.canvas.whole();
    ui.canvas.rect(whole, [0, 0, 0, 130]);
    let of_use = |(key, _): &(&str, &str)| plays_on || !words::KEYS_OF_MATCHES.contains(key);
    let keys: Vec<_> = words::KEYS.into_iter().filter(of_use).collect();
    let rows = keys.len().div_ceil(2);
    let (line, pad) = (ui.units(26.0), ui.units(22.0));
    let (wide, high) = (ui.units(900.0), line * (rows as f32 + 2.2) + 2.0 * pad);
    let x = ((whole.w - wide) / 2.0).round();
    let y = ((whole.h - high) / 2.0).round();
    ui.panel(Rect::new(x, y, wide, high));
    let inner = Rect::new(x, y, wide, high).inset(pad);
    ui.label(
        (inner.x, inner.y),
        inner.w,
        words::HELP,
        theme::HEADING,
        Weight::Bold,
        theme::TEXT,
    );
    for (place, (key, does)) in keys.into_iter().enumerate() {
        let column = (place / rows) as f32 * inner.w / 2.0;
        let at = inner.y + line * ((place % rows) as f32 + 1.4);
        let key_wide = ui.units(170.0);
        let left = inner.x + column;
        ui.label(
            (left, at),
            key_wide,
            key,
            theme::BODY,
            Weight::Bold,
            theme::ACCENT,
        );
        let room = inner.w / 2.0 - key_wide - ui.units(8.0);
        ui.label(
            (left + key_wide, at),
            room,
            does,
            theme::BODY,
            Weight::Regular,
            theme::TEXT,
        );
    }
    let at = (inner.x, inner.bottom() - ui.units(18.0));
    ui.label(
        at,
        inner.w,
        words::CLOSE_HELP,
        theme::SMALL,
        Weight::Regular,
        theme::FAINT,
    );
}

/// How long new trouble with a file is shown.
const TROUBLE: std::time::Duration = std::time::Duration::from_secs(20);
