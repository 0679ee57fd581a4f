//! The question before a player leaves a match, which may be final.

use crate::window::canvas::{Canvas, Rect};
use crate::window::input::Input;
use crate::window::letters::Weight;
use crate::window::ui::{Memory, Ui};
use crate::window::{theme, words};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Stay,
    Leave,
}

/// Asks in the middle of the window. The keyboard's focus starts on the answer that changes nothing.
pub fn ask(canvas: &mut Canvas, input: &Input, memory: &mut Memory) -> Option<Answer> {
    let mut ui = Ui::new(canvas, input, memory);
    let whole = ui.canvas.whole();
    ui.canvas.begin_above();
    ui.canvas.rect(whole, [0, 0, 0, 120]);
    let gap = ui.units(18.0);
    let (row, between) = (ui.units(38.0), ui.units(10.0));
    let head = ui.canvas.line_height(ui.units(theme::HEADING));
    let wide = ui.units(300.0).min(whole.w);
    let high = 2.0 * gap + head + 2.0 * (row + between);
    let (x, y) = ((whole.w - wide) / 2.0, (whole.h - high) / 2.0);
    let area = Rect::new(x.round(), y.round(), wide, high);
    ui.panel(area);
    let inner = area.inset(gap);
    ui.label(
        (inner.x, inner.y),
        inner.w,
        words::LEAVE_QUESTION,
        theme::HEADING,
        Weight::Bold,
        theme::TEXT,
    );
    let answers = [
        (words::STAY, Answer::Stay),
        (words::LEAVE_IT, Answer::Leave),
    ];
    let mut answered = None;
    for (place, (label, answer)) in answers.into_iter().enumerate() {
        let y = inner.y + head + between + (row + between) * place as f32;
        if ui.button(Rect::new(inner.x, y, inner.w, row), label) {
            answered = Some(answer);
        }
    }
    ui.finish();
    answered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::readability::{SIZES, check_texts};

    #[test]
    fn the_question_is_readable_at_every_size() {
        for size in SIZES {
            let mut canvas = Canvas::new();
            canvas.begin(size, 1.0);
            ask(&mut canvas, &Input::default(), &mut Memory::default());
            check_texts(&canvas);
            let cut = canvas.texts().iter().any(|text| text.text.contains('…'));
            assert!(!cut);
        }
    }
}
