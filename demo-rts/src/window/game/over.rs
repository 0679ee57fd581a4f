//! Panels over the match: its menu, the help, and the result.

use super::scene::colour;
use crate::facts::Facts;
use crate::window::canvas::{Canvas, Rect};
use crate::window::graphs::{self, Graph, Line, Span};
use crate::window::input::Input;
use crate::window::letters::Weight;
use crate::window::samples::Sample;
use crate::window::ui::{Memory, Ui};
use crate::window::{theme, words};
use crate::words::{clock, match_time};
use crate::world::{TICKS_PER_SECOND, World};
use lockstep::{Ended, Seat};

/// A choice from the menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    Close,
    /// Pauses the match, or ends the pause.
    Pause,
    Result,
    /// The list of keys.
    Help,
    /// Surrenders, after a confirmation.
    Surrender,
    Leave,
}

/// The state of the surrender button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surrender {
    /// A watcher or a defeated player has nothing to surrender.
    Cannot,
    /// The button asks for confirmation.
    Can,
    /// The button surrenders.
    Asks,
}

/// The state of the match, which decides what its menu offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Played {
        paused: bool,
        surrender: Surrender,
    },
    Over {
        /// Whether there is a world, and so a result.
        result: bool,
    },
}

pub fn menu(
    canvas: &mut Canvas,
    input: &Input,
    memory: &mut Memory,
    stage: Stage,
) -> Option<Choice> {
    let choices = match stage {
        Stage::Played { paused, surrender } => {
            let pause = match paused {
                true => words::RESUME_ALL,
                false => words::PAUSE,
            };
            let give_up = match surrender {
                Surrender::Asks => words::SURRENDER_CONFIRM,
                _ => words::SURRENDER,
            };
            let can = surrender != Surrender::Cannot;
            vec![
                (words::RESUME, Choice::Close, true),
                (pause, Choice::Pause, true),
                (words::HELP, Choice::Help, true),
                (give_up, Choice::Surrender, can),
                (words::LEAVE_MATCH, Choice::Leave, true),
            ]
        }
        Stage::Over { result } => vec![
            (words::SHOW_RESULT, Choice::Result, result),
            (words::LOOK, Choice::Close, result),
            (words::HELP, Choice::Help, true),
            (words::CLOSE_MATCH, Choice::Leave, true),
        ],
    };
    let mut ui = Ui::new(canvas, input, memory);
    let all = 70.0 + 48.0 * choices.len() as f32;
    let area = panel(&mut ui, 300.0, all, words::MENU);
    let (high, gap) = (ui.units(38.0), ui.units(10.0));
    let mut chosen = None;
    for (place, (label, choice, can)) in choices.into_iter().enumerate() {
        let y = area.y + (high + gap) * place as f32;
        let button = Rect::new(area.x, y, area.w, high);
        if ui.button_of(choice, button, label, can) {
            chosen = Some(choice);
        }
    }
    ui.finish();
    chosen
}

/// The list of keys and buttons. Returns whether it was closed.
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

/// What the result shows.
#[derive(Clone, Copy)]
pub struct Played<'a> {
    /// The world at the end.
    pub world: &'a World,
    pub facts: &'a Facts,
    /// Samples taken during the match.
    pub samples: &'a [Sample],
    pub ended: &'a Ended,
    /// The seat of this player, if any.
    pub own: Option<Seat>,
}

/// The result: how the match ended, and a table and graphs of all seats.
pub fn result(
    canvas: &mut Canvas,
    input: &Input,
    memory: &mut Memory,
    played: Played<'_>,
) -> Option<Choice> {
    let Played {
        world,
        facts,
        samples,
        ended,
        own,
    } = played;
    let mut ui = Ui::new(canvas, input, memory);
    let table = 196.0 + 30.0 * world.seats().count() as f32;
    // Units of the interface, independent of its size.
    let room = ui.canvas.size().1 / ui.canvas.scale() - 2.0 * EDGE - table;
    let graphs = match samples {
        [first, .., last] if last.tick >= first.tick + SECOND && room >= GRAPHS.0 => {
            room.min(GRAPHS.1)
        }
        _ => 0.0,
    };
    let wide = if graphs > 0.0 { 1_180.0 } else { 760.0 };
    let title = words::verdict(ended, own, |seat| facts.name(seat));
    let area = panel(&mut ui, wide, table + graphs, &title);
    let line = ui.units(30.0);
    let mut y = area.y;
    let mut detail = words::title_of(&ended.reason.to_string());
    if ended.is_unagreed() {
        let why = match ended.branch_of {
            Some(_) => words::UNAGREED,
            None => words::UNSIGNED,
        };
        detail = format!("{detail}. {why}");
    }
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
            theme::contrast(own_colour),
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
    if graphs > 0.0 {
        let above = Rect::new(area.x, y, area.w, ui.units(graphs));
        draw_graphs(ui.canvas, above, played);
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

/// The graphs of the replay viewer, side by side.
fn draw_graphs(canvas: &mut Canvas, area: Rect, played: Played<'_>) {
    let Played {
        world,
        facts,
        samples,
        ..
    } = played;
    let ([first, ..], [.., last]) = (samples, samples) else {
        return;
    };
    let lines = world.seats().map(|seat| Line {
        name: facts.name(seat.seat),
        colour: seat.colour,
    });
    let lines: Vec<Line> = lines.collect();
    let span = Span {
        from: first.tick,
        to: last.tick,
        now: None,
    };
    let gap = canvas.units(24.0);
    let size = canvas.units(theme::SMALL);
    let foot = canvas.line_height(size) + canvas.units(2.0);
    let many = Graph::ALL.len() as f32;
    let wide = ((area.w - gap * (many - 1.0)) / many).floor();
    let top = area.y + canvas.units(12.0);
    let high = area.bottom() - canvas.units(6.0) - foot - top;
    for (place, graph) in Graph::ALL.into_iter().enumerate() {
        let x = area.x + (wide + gap) * place as f32;
        graphs::draw(
            canvas,
            Rect::new(x, top, wide, high),
            graph,
            samples,
            &lines,
            span,
        );
        let y = area.bottom() - canvas.units(6.0) - foot + canvas.units(2.0);
        let [begins, ends] =
            [span.from, span.to].map(|tick| clock(match_time(tick, facts.tick_ms)));
        canvas.text((x, y), &begins, size, Weight::Regular, theme::FAINT);
        let at = (x + wide - canvas.measure(&ends, size, Weight::Regular), y);
        canvas.text(at, &ends, size, Weight::Regular, theme::FAINT);
    }
}

/// A panel with a heading in the middle of the window. Returns the room below the heading.
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

const SECOND: u64 = TICKS_PER_SECOND as u64;
/// Margin above and below the result.
const EDGE: f32 = 12.0;
/// Smallest and largest height of a graph, with its labels.
const GRAPHS: (f32, f32) = (110.0, 300.0);
const COLUMNS: [f32; 6] = [0.0, 0.32, 0.47, 0.60, 0.73, 0.86];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::input::{KeyCode, Modifiers, Press};
    use crate::window::readability::{SIZES, check_texts};
    use crate::window::samples::Samples;
    use crate::world::Setup;
    use lockstep::{EndReason, Outcome};
    use sim::{Seed, Simulation, Start};

    #[test]
    fn menu_and_help_are_readable_at_every_size() {
        let input = Input::default();
        for size in SIZES {
            let mut canvas = Canvas::new();
            let mut memory = Memory::default();
            canvas.begin(size, 1.0);
            let asks = Stage::Played {
                paused: false,
                surrender: Surrender::Asks,
            };
            menu(&mut canvas, &input, &mut memory, asks);
            check_texts(&canvas);
            canvas.begin(size, 1.0);
            menu(
                &mut canvas,
                &input,
                &mut memory,
                Stage::Over { result: true },
            );
            check_texts(&canvas);
            canvas.begin(size, 1.0);
            help(&mut canvas, &input, &mut memory);
            check_texts(&canvas);
            let cut = canvas.texts().iter().find(|text| {
                text.text.contains('…') && text.text != "Ctrl+1 … Ctrl+9" && text.text != "1 … 9"
            });
            assert_eq!(cut, None);
        }
    }

    /// A match of this many seats, and ten minutes of samples beginning at `from`.
    fn played(seats: u8, from: u64) -> (World, Samples) {
        let world = World::new(&Start {
            setup: Setup::default(),
            seed: Seed([1; 32]),
            seats: (0..seats).map(Seat).collect(),
        });
        let mut samples = Samples::default();
        for second in 0..=600 {
            let issued = |seat: Seat| second * (u32::from(seat.0) + 5) / 3;
            samples.follow(from + u64::from(second) * SECOND, &world, issued);
        }
        (world, samples)
    }

    #[test]
    fn the_result_is_readable_at_every_size() {
        let facts = Facts::new("test");
        let ended = Ended {
            reason: EndReason::Decided,
            turns: 9,
            checksum: None,
            outcome: Some(Outcome {
                winner: Some(Seat(1)),
            }),
            agreed: 1,
            of: 1,
            is_final: true,
            branch_of: Some(lockstep::MatchId([7; 16])),
        };
        let input = Input::default();
        // The whole match, and the second half of it for a late joiner.
        for (seats, from) in [(2, 0), (8, 0), (8, 723 * SECOND)] {
            let (world, samples) = played(seats, from);
            for (size, zoom) in SIZES
                .into_iter()
                .flat_map(|size| [(size, 1.0), (size, 1.25)])
            {
                let mut canvas = Canvas::new();
                let mut memory = Memory::default();
                let show = |canvas: &mut Canvas, memory: &mut Memory, samples| {
                    canvas.begin(size, zoom);
                    let played = Played {
                        world: &world,
                        facts: &facts,
                        samples,
                        ended: &ended,
                        own: Some(Seat(0)),
                    };
                    result(canvas, &input, memory, played);
                    check_texts(canvas);
                };
                show(&mut canvas, &mut memory, samples.all());
                let shows = |canvas: &Canvas, wanted: &str| {
                    canvas.texts().iter().any(|text| text.text == wanted)
                };
                assert!(shows(&canvas, "Defeat: seat 1 won"));
                let unagreed = format!("The game is decided. {}", words::UNAGREED);
                assert!(shows(&canvas, &unagreed));
                assert!((0..seats).all(|seat| shows(&canvas, &format!("seat {seat}"))));
                for title in words::viewer::GRAPHS {
                    assert!(shows(&canvas, title), "{title} at {size:?}, {zoom}");
                }
                let times = match from {
                    0 => ["0:00", "10:00"],
                    _ => ["12:03", "22:03"],
                };
                assert!(times.into_iter().all(|time| shows(&canvas, time)));
                // With a single sample there is nothing to draw.
                show(&mut canvas, &mut memory, &samples.all()[..1]);
                assert!(!shows(&canvas, words::viewer::GRAPHS[0]));
                assert!(shows(&canvas, words::LOOK));
            }
        }
    }

    #[test]
    fn keys_move_through_the_menu() {
        let mut memory = Memory::default();
        memory.focus(0);
        let mut press_in = |stage: Stage, key: KeyCode| {
            let with = Modifiers::default();
            let repeat = false;
            let input = Input {
                keys: vec![Press { key, with, repeat }],
                ..Input::default()
            };
            let mut canvas = Canvas::new();
            canvas.begin(SIZES[0], 1.0);
            menu(&mut canvas, &input, &mut memory, stage)
        };
        let played = Stage::Played {
            paused: true,
            surrender: Surrender::Can,
        };
        let mut press = |key: KeyCode| press_in(played, key);
        assert_eq!(press(KeyCode::Enter), Some(Choice::Close));
        press(KeyCode::Down);
        assert_eq!(press(KeyCode::Enter), Some(Choice::Pause));
        press(KeyCode::Up);
        press(KeyCode::Up);
        assert_eq!(press(KeyCode::Enter), Some(Choice::Leave));
        press(KeyCode::Up);
        assert_eq!(press(KeyCode::Enter), Some(Choice::Surrender));
        // The end of the match leaves nothing to surrender.
        let over = Stage::Over { result: true };
        assert_eq!(press_in(over, KeyCode::Enter), None);
    }
}
