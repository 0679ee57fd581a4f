//! Log lines that fade, and the chat line being typed.

use crate::facts::Facts;
use crate::window::canvas::{Canvas, Colour, Rect};
use crate::window::input::{Input, KeyCode};
use crate::window::letters::Weight;
use crate::window::ui::{Memory, Ui, wrapped};
use crate::window::{theme, words};
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug, Default)]
pub struct Talk {
    lines: VecDeque<(String, Duration)>,
    seen: u64,
    typed: Option<String>,
    memory: Memory,
}

impl Talk {
    pub fn is_typing(&self) -> bool {
        self.typed.is_some()
    }

    pub fn begin(&mut self) {
        self.typed = Some(String::new());
        self.memory.focus(0);
    }

    pub fn cancel(&mut self) {
        self.typed = None;
    }

    /// Shows the lines that are new in the log.
    pub fn follow(&mut self, facts: &Facts, now: Duration) {
        let new = facts.notes_added.saturating_sub(self.seen) as usize;
        self.seen = facts.notes_added;
        let skip = facts.log.len().saturating_sub(new);
        let fresh = facts.log.iter().skip(skip);
        self.lines
            .extend(fresh.map(|note| (note.text.clone(), now)));
        while self.lines.len() > MOST_LINES {
            self.lines.pop_front();
        }
    }

    /// Skips the lines that are new in the log: a banner shows them.
    pub fn pass_over(&mut self, facts: &Facts) {
        self.seen = facts.notes_added;
    }

    /// Draws log and chat line; returns a sent message. `bottom` is the lower edge of the chat line.
    pub fn frame(&mut self, input: &Input, canvas: &mut Canvas, bottom: f32) -> Option<String> {
        self.draw_lines(input.now, canvas);
        let text = self.typed.as_mut()?;
        let high = canvas.units(32.0);
        let gap = canvas.units(8.0);
        let wide = canvas.units(520.0).min(canvas.size().0 - 2.0 * gap);
        let area = Rect::new(gap, bottom - high - gap, wide, high);
        let mut ui = Ui::new(canvas, input, &mut self.memory);
        let typed = ui.field(area, text, words::CHAT_HINT, MOST_BYTES);
        ui.finish();
        let sent = typed.entered.then(|| text.trim().to_owned());
        if typed.entered || input.hit(KeyCode::Escape) {
            self.cancel();
        }
        sent.filter(|text| !text.is_empty())
    }

    fn draw_lines(&mut self, now: Duration, canvas: &mut Canvas) {
        let size = canvas.units(theme::BODY);
        let high = canvas.line_height(size);
        let gap = canvas.units(10.0);
        let mut y = canvas.units(40.0);
        let most = canvas.size().0 * 0.45;
        for (text, since) in &self.lines {
            let age = now.saturating_sub(*since).as_secs_f32();
            let left = (LASTS - age).clamp(0.0, 1.0);
            if left <= 0.0 {
                continue;
            }
            for line in wrapped(canvas, text, size, Weight::Regular, most) {
                let wide = canvas.measure(&line, size, Weight::Regular);
                let under = Rect::new(gap * 0.6, y, wide + gap * 0.8, high);
                let dark: Colour = [8, 10, 12, 150];
                canvas.rect(under, theme::alpha(dark, left));
                let colour = theme::alpha(theme::TEXT, left);
                canvas.text((gap, y), &line, size, Weight::Regular, colour);
                y += high;
            }
        }
        let old =
            |(_, since): &(String, Duration)| now.saturating_sub(*since).as_secs_f32() > LASTS;
        while self.lines.front().is_some_and(old) {
            self.lines.pop_front();
        }
    }
}

const MOST_LINES: usize = 6;
/// Seconds that a line is shown.
const LASTS: f32 = 9.0;
/// The session's default limit.
const MOST_BYTES: usize = 200;
