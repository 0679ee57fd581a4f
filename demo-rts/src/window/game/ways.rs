//! The choice after quorum loss: wait, reopen the match, go on alone, or enter a branch that was found.

use crate::peer::Way;
use crate::window::canvas::{Canvas, Rect};
use crate::window::input::Input;
use crate::window::letters::Weight;
use crate::window::ui::{Memory, Ui, wrapped};
use crate::window::{theme, words};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    Wait,
    GoOn(Way),
    /// Into the branch that was found.
    Enter,
    Leave,
}

/// Asks in the middle of the window, with the names of the lost players, and of the players of a branch to enter. The
/// keyboard's focus starts on the answer that changes nothing.
pub fn ask(
    canvas: &mut Canvas,
    input: &Input,
    memory: &mut Memory,
    (lost, branch): (&str, Option<&str>),
) -> Option<Answer> {
    let mut ui = Ui::new(canvas, input, memory);
    let whole = ui.canvas.whole();
    ui.canvas.begin_above();
    ui.canvas.rect(whole, [0, 0, 0, 120]);
    let gap = ui.units(18.0);
    let (row, between) = (ui.units(38.0), ui.units(10.0));
    let head = ui.canvas.line_height(ui.units(theme::HEADING));
    let wide = ui.units(560.0).min(whole.w);
    let inside = wide - 2.0 * gap;
    let text = match branch {
        Some(players) => format!("{} {}", words::branch_found(players), words::ways(lost)),
        None => words::ways(lost),
    };
    let size = ui.units(theme::BODY);
    let lines = wrapped(ui.canvas, &text, size, Weight::Regular, inside).len();
    let text_high = ui.canvas.line_height(size) * lines as f32;
    let answers = [
        (words::WAIT, Answer::Wait),
        (words::REOPEN, Answer::GoOn(Way::Reopen)),
        (words::GO_ON_ALONE, Answer::GoOn(Way::Alone)),
    ];
    let enter = branch.map(|_| (words::ENTER_BRANCH, Answer::Enter));
    let leave = (words::LEAVE_MATCH, Answer::Leave);
    let answers: Vec<(&str, Answer)> = answers.into_iter().chain(enter).chain([leave]).collect();
    let rows = answers.len() as f32 * (row + between);
    let high = 2.0 * gap + head + between + text_high + rows;
    let (x, y) = ((whole.w - wide) / 2.0, (whole.h - high) / 2.0);
    let area = Rect::new(x.round(), y.round(), wide, high);
    ui.panel(area);
    let inner = area.inset(gap);
    ui.label(
        (inner.x, inner.y),
        inner.w,
        words::TOO_FEW,
        theme::HEADING,
        Weight::Bold,
        theme::TEXT,
    );
    let at = (inner.x, inner.y + head + between);
    ui.paragraph(at, inner.w, &text, theme::BODY, theme::TEXT);
    let first = at.1 + text_high + between;
    let mut answered = None;
    for (place, (label, answer)) in answers.into_iter().enumerate() {
        let y = first + (row + between) * place as f32;
        let button = Rect::new(inner.x, y, inner.w, row);
        if ui.button_of(answer, button, label, true) {
            answered = Some(answer);
        }
    }
    ui.finish();
    answered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::input::{KeyCode, Modifiers, Press};
    use crate::window::readability::{SIZES, check_texts};

    #[test]
    fn a_branch_that_is_found_takes_no_focus() {
        let mut memory = Memory::default();
        let mut press = |key: KeyCode, branch| {
            let (with, repeat) = (Modifiers::default(), false);
            let input = Input {
                keys: vec![Press { key, with, repeat }],
                ..Input::default()
            };
            let mut canvas = Canvas::new();
            canvas.begin(SIZES[0], 1.0);
            ask(&mut canvas, &input, &mut memory, ("Ada", branch))
        };
        for _ in 0..4 {
            press(KeyCode::Tab, None);
        }
        for branch in [None, Some("Bob")] {
            assert_eq!(press(KeyCode::Enter, branch), Some(Answer::Leave));
        }
    }

    #[test]
    fn choice_after_quorum_loss_is_readable_at_every_size() {
        let names = ["M".repeat(32), "W".repeat(32), "Ada".to_owned()].join(", ");
        for (size, branch) in SIZES
            .into_iter()
            .flat_map(|size| [(size, None), (size, Some("Ada, Bob"))])
        {
            for zoom in [0.75, 1.0, 1.4] {
                let mut canvas = Canvas::new();
                canvas.begin(size, zoom);
                let input = Input {
                    size,
                    ..Input::default()
                };
                ask(
                    &mut canvas,
                    &input,
                    &mut Memory::default(),
                    (&names, branch),
                );
                check_texts(&canvas);
                let texts = canvas.texts();
                assert!(texts.iter().all(|text| !text.text.contains('…')));
                for label in [words::WAIT, words::REOPEN, words::GO_ON_ALONE] {
                    assert!(texts.iter().any(|text| text.text == label), "{label}");
                }
                let enters = texts.iter().any(|text| text.text == words::ENTER_BRANCH);
                assert_eq!(enters, branch.is_some());
            }
        }
    }
}
