//! What lies over the match: its menu, the help, and the result.

use super::scene::colour;
use crate::facts::Facts;
use crate::window::canvas::{Canvas, Rect};
use crate::window::input::Input;
use crate::window::letters::Weight;
use crate::window::ui::{Memory, Ui};
use crate::window::{theme, words};
use crate::world::World;
use lockstep::{Ended, Seat};

/// What was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// On with the match, or with looking at its map.
    Close,
    /// Pauses the match, or ends the pause.
    Pause,
    /// What keys do.
    Help,
    /// Gives up: what is asked twice.
    Surrender,
    /// Leaves the match.
    Leave,
}

/// Whether the person can give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surrender {
    /// There is nothing to give up.
    Cannot,
    /// Pressed once it asks.
    Can,
    /// Pressed once more it happens.
    Asks,
}

/// The menu of a match.
pub fn menu(
    canvas: &mut Canvas,
    input: &Input,
    memory: &mut Memory,
    paused: bool,
    surrender: Surrender,
) -> Option<Choice> {
    let mut ui = Ui::new(canvas, input, memory);
    let area = panel(&mut ui, 300.0, 310.0, words::MENU);
    let pause = if paused {
        words::RESUME_ALL
    } else {
        words::PAUSE
    };
    let give_up = match surrender {
        Surrender::Asks => words::SURRENDER_SURE,
        _ => words::SURRENDER,
    };
    let can = surrender != Surrender::Cannot;
    let choices = [
        (words::RESUME, Choice::Close, true),
        (pause, Choice::Pause, true),
        (words::HELP, Choice::Help, true),
        (give_up, Choice::Surrender, can),
        (words::LEAVE_MATCH, Choice::Leave, true),
    ];
    let (high, gap) = (ui.units(38.0), ui.units(10.0));
    let mut chosen = None;
    for (place, (label, choice, can)) in choices.into_iter().enumerate() {
        let y = area.y + (high + gap) * place as f32;
        if ui.button_if(Rect::new(area.x, y, area.w, high), label, can) {
            chosen = Some(choice);
        }
    }
    ui.finish();
    chosen
}

/// What keys and buttons do.
pub fn help(canvas: &mut Canvas, input: &Input, memory: &mut Memory) -> bool {
    let mut ui = Ui::new(canvas, input, memory);
    let area = panel(&mut ui, 720.0, 548.0, words::HELP);
    let line = ui.canvas.line_height(ui.units(theme::BODY)) + ui.units(3.0);
    let key_wide = ui.units(215.0);
    for (place, (key, what)) in words::KEYS.iter().enumerate() {
        let y = area.y + line * place as f32;
        ui.label(
            (area.x, y),
            key_wide,
            key,
            theme::BODY,
            Weight::Bold,
            theme::ACCENT,
        );
        let wide = area.w - key_wide;
        let at = (area.x + key_wide, y);
        ui.label(at, wide, what, theme::BODY, Weight::Regular, theme::TEXT);
    }
    let (wide, high) = (ui.units(160.0), ui.units(36.0));
    let button = Rect::new(area.right() - wide, area.bottom() - high, wide, high);
    let closed = ui.button(button, words::CLOSE);
    ui.finish();
    closed
}

/// How the match ended, and what everybody came to.
pub fn result(
    canvas: &mut Canvas,
    input: &Input,
    memory: &mut Memory,
    world: &World,
    facts: &Facts,
    (ended, own): (&Ended, Option<Seat>),
) -> Option<Choice> {
    let mut ui = Ui::new(canvas, input, memory);
    let rows = world.seats().count() as f32;
    let title = words::verdict(ended, own, |seat| facts.name(seat));
    let area = panel(&mut ui, 760.0, 196.0 + 30.0 * rows, &title);
    let line = ui.units(30.0);
    let mut y = area.y;
    let detail = words::title_of(&ended.reason.to_string());
    ui.label(
        (area.x, y),
        area.w,
        &detail,
        theme::BODY,
        Weight::Regular,
        theme::FAINT,
    );
    y += line;
    let columns: Vec<f32> = COLUMNS.iter().map(|part| area.x + area.w * part).collect();
    for (x, name) in columns.iter().zip(words::RESULT) {
        let wide = area.w * 0.14;
        ui.label(
            (*x, y),
            wide,
            name,
            theme::SMALL,
            Weight::Bold,
            theme::FAINT,
        );
    }
    y += line * 0.8;
    let mut seats: Vec<_> = world.seats().collect();
    seats.sort_by_key(|seat| (seat.defeated, std::cmp::Reverse(seat.score)));
    for seat in seats {
        let own_colour = theme::seat(colour(world, seat.seat));
        let side = ui.units(20.0);
        let flag = Rect::new(area.x, y, side, side);
        ui.canvas.rect(flag, own_colour);
        theme::mark(
            ui.canvas,
            seat.colour,
            flag.centre(),
            side * 0.7,
            theme::upon(own_colour),
        );
        let name = facts.name(seat.seat);
        let ink = if seat.defeated {
            theme::OFF
        } else {
            theme::TEXT
        };
        let weight = if Some(seat.seat) == own {
            Weight::Bold
        } else {
            Weight::Regular
        };
        let at = (area.x + side * 1.5, y);
        ui.label(
            at,
            area.w * 0.3 - side * 1.5,
            &name,
            theme::BODY,
            weight,
            ink,
        );
        let numbers = [
            seat.score,
            u64::from(seat.trained),
            u64::from(seat.lost),
            u64::from(seat.killed),
            u64::from(seat.gathered),
        ];
        for (x, number) in columns[1..].iter().zip(numbers) {
            let wide = area.w * 0.13;
            ui.label((*x, y), wide, &number.to_string(), theme::BODY, weight, ink);
        }
        y += line;
    }
    let (wide, high, gap) = (ui.units(200.0), ui.units(38.0), ui.units(12.0));
    let leave = Rect::new(area.right() - wide, area.bottom() - high, wide, high);
    let look = Rect::new(leave.x - wide - gap, leave.y, wide, high);
    let mut chosen = None;
    if ui.button(look, words::LOOK) {
        chosen = Some(Choice::Close);
    }
    if ui.button(leave, words::CLOSE_MATCH) {
        chosen = Some(Choice::Leave);
    }
    ui.finish();
    chosen
}

/// A panel in the middle, with a heading. Returns what is left of it.
fn panel(ui: &mut Ui<'_>, wide: f32, high: f32, heading: &str) -> Rect {
    let whole = ui.canvas.whole();
    ui.canvas.begin_above();
    ui.canvas.rect(whole, [0, 0, 0, 120]);
    let (wide, high) = (ui.units(wide).min(whole.w), ui.units(high).min(whole.h));
    let x = ((whole.w - wide) / 2.0).round();
    let y = ((whole.h - high) / 2.0).round();
    let area = Rect::new(x, y, wide, high);
    ui.panel(area);
    let inner = area.inset(ui.units(18.0));
    let written = ui.label(
        (inner.x, inner.y),
        inner.w,
        heading,
        24.0,
        Weight::Bold,
        theme::TEXT,
    );
    let top = written.bottom() + ui.units(8.0);
    Rect::new(inner.x, top, inner.w, inner.bottom() - top)
}

const COLUMNS: [f32; 6] = [0.0, 0.32, 0.47, 0.60, 0.73, 0.86];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::input::{KeyCode, Modifiers, Press};
    use crate::window::sight::{SIZES, check_texts};
    use crate::world::Setup;
    use lockstep::{EndReason, Outcome};
    use sim::{Seed, Simulation, Start};

    #[test]
    fn menu_help_and_result_can_be_read_at_every_size() {
        let world = World::new(&Start {
            setup: Setup::default(),
            seed: Seed([1; 32]),
            seats: (0..8).map(Seat).collect(),
        });
        let facts = Facts::new("test");
        let winner = Some(Seat(3));
        let ended = Ended {
            reason: EndReason::Decided,
            turns: 9,
            checksum: None,
            outcome: Some(Outcome { winner }),
            agreed: 1,
            of: 1,
        };
        let input = Input::default();
        for size in SIZES {
            let mut canvas = Canvas::new();
            let mut memory = Memory::default();
            canvas.begin(size, 1.0);
            menu(&mut canvas, &input, &mut memory, false, Surrender::Asks);
            check_texts(&canvas);
            canvas.begin(size, 1.0);
            help(&mut canvas, &input, &mut memory);
            check_texts(&canvas);
            let cut = canvas.texts().iter().find(|text| {
                text.text.contains('…') && text.text != "Ctrl+1 … Ctrl+9" && text.text != "1 … 9"
            });
            assert_eq!(cut, None);
            canvas.begin(size, 1.0);
            result(
                &mut canvas,
                &input,
                &mut memory,
                &world,
                &facts,
                (&ended, Some(Seat(0))),
            );
            check_texts(&canvas);
            let said = |wanted: &str| canvas.texts().iter().any(|text| text.text == wanted);
            assert!(said("Defeat: seat 3 won"));
            assert!((0..8).all(|seat| said(&format!("seat {seat}"))));
        }
    }

    #[test]
    fn the_menu_is_walked_by_keys() {
        let mut memory = Memory::default();
        memory.focus(0);
        let mut press = |key: KeyCode| {
            let with = Modifiers::default();
            let repeat = false;
            let input = Input {
                keys: vec![Press { key, with, repeat }],
                ..Input::default()
            };
            let mut canvas = Canvas::new();
            canvas.begin(SIZES[0], 1.0);
            menu(&mut canvas, &input, &mut memory, true, Surrender::Can)
        };
        assert_eq!(press(KeyCode::Enter), Some(Choice::Close));
        press(KeyCode::Down);
        assert_eq!(press(KeyCode::Enter), Some(Choice::Pause));
        press(KeyCode::Up);
        press(KeyCode::Up);
        assert_eq!(press(KeyCode::Enter), Some(Choice::Leave));
        press(KeyCode::Up);
        assert_eq!(press(KeyCode::Enter), Some(Choice::Surrender));
    }
}
