//! The widget kit, used with a mouse and with the keyboard alone.

use super::super::input::{Click, Gatherer, Modifiers, Press};
use super::*;

fn canvas() -> Canvas {
    let mut canvas = Canvas::new();
    canvas.begin((1_280.0, 720.0), 1.0);
    canvas
}

fn key(key: KeyCode) -> Input {
    let with = Modifiers::default();
    let repeat = false;
    Input {
        keys: vec![Press { key, with, repeat }],
        ..Input::default()
    }
}

fn click(at: (f32, f32)) -> [Input; 2] {
    let click = Click {
        button: MouseButton::Left,
        at,
        with: Modifiers::default(),
        double: false,
    };
    let down = Input {
        mouse: Some(at),
        pressed: vec![click],
        holds: vec![MouseButton::Left],
        ..Input::default()
    };
    let up = Input {
        mouse: Some(at),
        released: vec![click],
        ..Input::default()
    };
    [down, up]
}

const FIRST: Rect = Rect::new(10.0, 10.0, 100.0, 30.0);
const SECOND: Rect = Rect::new(10.0, 50.0, 100.0, 30.0);

fn two_buttons(memory: &mut Memory, input: &Input) -> [bool; 2] {
    let mut canvas = canvas();
    let mut ui = Ui::new(&mut canvas, input, memory);
    let pressed = [ui.button(FIRST, "one"), ui.button(SECOND, "two")];
    ui.finish();
    pressed
}

#[test]
fn a_button_is_pressed_by_a_release_over_it() {
    let mut memory = Memory::default();
    let [down, up] = click((20.0, 60.0));
    assert_eq!(two_buttons(&mut memory, &down), [false, false]);
    assert_eq!(two_buttons(&mut memory, &up), [false, true]);
    let [down, _] = click((20.0, 60.0));
    let [_, elsewhere] = click((20.0, 20.0));
    two_buttons(&mut memory, &down);
    assert_eq!(two_buttons(&mut memory, &elsewhere), [false, false]);
}

/// Two buttons, the first disabled unless `able`, and before them `more` others.
fn buttons_behind(memory: &mut Memory, input: &Input, more: usize, able: bool) -> [bool; 2] {
    let mut canvas = canvas();
    let mut ui = Ui::new(&mut canvas, input, memory);
    for place in 0..more {
        ui.button(Rect::new(200.0 * place as f32, 200.0, 100.0, 30.0), "more");
    }
    let pressed = [ui.button_if(FIRST, "one", able), ui.button(SECOND, "two")];
    ui.finish();
    pressed
}

#[test]
fn a_held_button_is_the_same_whatever_is_drawn_before_it() {
    let [down, up] = click((20.0, 60.0));
    for (before, after) in [
        ((0, true), (2, true)),
        ((2, true), (1, true)),
        ((0, true), (0, false)),
    ] {
        let mut memory = Memory::default();
        buttons_behind(&mut memory, &down, before.0, before.1);
        let pressed = buttons_behind(&mut memory, &up, after.0, after.1);
        assert_eq!(pressed, [false, true], "{before:?}, then {after:?}");
    }
}

#[test]
fn the_focus_stays_whatever_is_drawn_before_it() {
    let mut memory = Memory::default();
    for key_code in [KeyCode::Tab, KeyCode::Tab] {
        buttons_behind(&mut memory, &key(key_code), 0, true);
    }
    let enter = key(KeyCode::Enter);
    for (more, able) in [(0, true), (2, true), (1, true), (1, false)] {
        let pressed = buttons_behind(&mut memory, &enter, more, able);
        assert_eq!(pressed, [false, true], "{more} {able}");
    }
}

#[test]
fn a_focus_by_index_passes_over_a_disabled_button() {
    let enter = key(KeyCode::Enter);
    for (able, wanted) in [(true, [true, false]), (false, [false, true])] {
        let mut memory = Memory::default();
        memory.focus(0);
        buttons_behind(&mut memory, &Input::default(), 0, able);
        assert_eq!(buttons_behind(&mut memory, &enter, 0, able), wanted);
    }
}

#[test]
fn a_disabled_button_keeps_the_focus_and_is_not_pressed() {
    let mut memory = Memory::default();
    buttons_behind(&mut memory, &key(KeyCode::Tab), 0, true);
    let enter = key(KeyCode::Enter);
    assert_eq!(buttons_behind(&mut memory, &enter, 0, false), [false; 2]);
    assert_eq!(buttons_behind(&mut memory, &enter, 0, true), [true, false]);
    // The keyboard passes over a disabled button, and goes on from there.
    buttons_behind(&mut memory, &key(KeyCode::Down), 0, false);
    assert_eq!(buttons_behind(&mut memory, &enter, 0, false), [false, true]);
    buttons_behind(&mut memory, &key(KeyCode::Down), 0, false);
    assert_eq!(buttons_behind(&mut memory, &enter, 0, false), [false, true]);
}

/// Buttons for these names. The one that is pressed.
fn named(memory: &mut Memory, input: &Input, names: &[&'static str]) -> Option<&'static str> {
    let mut canvas = canvas();
    let mut ui = Ui::new(&mut canvas, input, memory);
    let mut pressed = None;
    for (place, name) in names.iter().enumerate() {
        let area = Rect::new(200.0 * place as f32, 200.0, 100.0, 30.0);
        if ui.button_of(name, area, "same", true) {
            pressed = Some(*name);
        }
    }
    ui.finish();
    pressed
}

#[test]
fn the_focus_stays_with_what_a_button_stands_for() {
    let (mut memory, enter) = (Memory::default(), key(KeyCode::Enter));
    let all = ["Ada", "Bob", "Eve"];
    for _ in 0..2 {
        named(&mut memory, &key(KeyCode::Tab), &all);
    }
    for others in [&all[..], &["Bob", "Eve"], &["Eve", "Bob"]] {
        assert_eq!(named(&mut memory, &enter, others), Some("Bob"));
    }
    assert_eq!(named(&mut memory, &enter, &["Ada", "Eve"]), None);
    assert!(!memory.has_focus());
}

#[test]
fn tab_and_enter_reach_every_button() {
    let mut memory = Memory::default();
    two_buttons(&mut memory, &key(KeyCode::Tab));
    assert_eq!(
        two_buttons(&mut memory, &key(KeyCode::Enter)),
        [true, false]
    );
    two_buttons(&mut memory, &key(KeyCode::Down));
    assert_eq!(
        two_buttons(&mut memory, &key(KeyCode::Enter)),
        [false, true]
    );
    two_buttons(&mut memory, &key(KeyCode::Tab));
    assert_eq!(
        two_buttons(&mut memory, &key(KeyCode::Enter)),
        [true, false]
    );
}

#[test]
fn a_field_takes_letters_and_pastes_up_to_its_limit() {
    let mut memory = Memory::default();
    memory.focus(0);
    let mut text = String::new();
    let mut step = |input: &Input| {
        let mut canvas = canvas();
        let mut ui = Ui::new(&mut canvas, input, &mut memory);
        let typed = ui.field(FIRST, &mut text, "name", 8);
        ui.finish();
        (text.clone(), typed.entered)
    };
    let typed = |letters: &str| Input {
        typed: letters.to_owned(),
        ..Input::default()
    };
    assert_eq!(step(&typed("añb")).0, "añb");
    step(&key(KeyCode::Left));
    assert_eq!(step(&key(KeyCode::Backspace)).0, "ab");
    let paste = Input {
        pasted: Some(" 12345678901 \n".to_owned()),
        ..Input::default()
    };
    assert_eq!(step(&paste).0, "a123456b");
    assert_eq!(step(&key(KeyCode::Home)).0, "a123456b");
    assert_eq!(step(&key(KeyCode::Delete)).0, "123456b");
    assert!(step(&key(KeyCode::Enter)).1);
}

#[test]
fn typing_replaces_the_selection() {
    let mut memory = Memory::default();
    memory.focus(0);
    let mut text = "player".to_owned();
    let mut step = |input: &Input| {
        let mut canvas = canvas();
        let mut ui = Ui::new(&mut canvas, input, &mut memory);
        ui.field(FIRST, &mut text, "name", 16);
        ui.finish();
        text.clone()
    };
    let mut all = key(KeyCode::A);
    all.keys[0].with.control = true;
    let typed = |letters: &str| Input {
        typed: letters.to_owned(),
        ..Input::default()
    };
    assert_eq!(step(&all), "player");
    assert_eq!(step(&typed("An")), "An");
    assert_eq!(step(&typed("na")), "Anna");
    step(&all);
    assert_eq!(step(&key(KeyCode::Backspace)), "");
    step(&typed("Bo"));
    step(&all);
    // Moving the caret keeps the text.
    step(&key(KeyCode::Left));
    assert_eq!(step(&typed("x")), "xBo");
    step(&all);
    let paste = Input {
        pasted: Some("Carl".to_owned()),
        ..Input::default()
    };
    assert_eq!(step(&paste), "Carl");
}

#[test]
fn keys_move_and_scroll_a_list() {
    let lines: Vec<String> = (0..50).map(|n| format!("line {n}")).collect();
    let (mut memory, mut chosen, mut first) = (Memory::default(), None, 0);
    memory.focus(0);
    let area = Rect::new(0.0, 0.0, 200.0, 100.0);
    let mut step = |input: &Input| {
        let mut canvas = canvas();
        let mut ui = Ui::new(&mut canvas, input, &mut memory);
        let pressed = ui.list(area, &lines, &mut chosen, &mut first);
        ui.finish();
        let shown: Vec<String> = canvas
            .texts()
            .iter()
            .map(|text| text.text.clone())
            .collect();
        (pressed, shown)
    };
    step(&key(KeyCode::End));
    let (pressed, shown) = step(&key(KeyCode::Enter));
    assert_eq!(pressed, Some(49));
    assert_eq!(shown.last().map(String::as_str), Some("line 49"));
    step(&key(KeyCode::Up));
    for enter in [KeyCode::Enter, KeyCode::KpEnter] {
        assert_eq!(step(&key(enter)).0, Some(48));
    }
}

#[test]
fn marks_of_a_list_precede_its_lines() {
    let lines: Vec<String> = (0..3).map(|n| format!("line {n}")).collect();
    let (mut memory, mut chosen, mut first) = (Memory::default(), None, 0);
    let marks = std::cell::RefCell::new(Vec::new());
    let mark = |_: &mut Canvas, place: usize, area: Rect| marks.borrow_mut().push((place, area));
    let area = Rect::new(0.0, 0.0, 200.0, 100.0);
    let (mut canvas, input) = (canvas(), Input::default());
    let mut ui = Ui::new(&mut canvas, &input, &mut memory);
    ui.marked_list(area, &lines, Some(&mark), &mut chosen, &mut first);
    ui.finish();
    let texts = canvas.texts();
    assert_eq!(texts.len(), 3);
    for ((place, area), (row, text)) in marks.take().into_iter().zip(texts.iter().enumerate()) {
        assert_eq!(place, row);
        assert!(area.right() < text.area.x && text.area.y < area.centre().1);
    }
}

#[test]
fn text_is_shortened_or_wrapped_to_its_room() {
    let canvas = canvas();
    let size = 14.0;
    let wide = 60.0;
    let cut = shortened(&canvas, "a long line of text", size, Weight::Bold, wide);
    assert!(cut.ends_with('…') && canvas.measure(&cut, size, Weight::Bold) <= wide);
    let text = "a long line with a verylongwordthatdoesnotfit in it";
    let lines = wrapped(&canvas, text, size, Weight::Regular, wide);
    assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
    for line in lines {
        assert!(
            canvas.measure(&line, size, Weight::Regular) <= wide,
            "{line}"
        );
    }
}

/// Typing within one frame: `<` deletes a letter, a tab moves to the other field, `!` is pasted.
fn typed_within_a_frame(typed: &str, letter_first: bool) -> ([String; 2], usize) {
    let mut gatherer = Gatherer::default();
    let (mut memory, mut canvas) = (Memory::default(), canvas());
    memory.focus(0);
    let mut texts = [String::new(), String::new()];
    let mut frame = |gatherer: &mut Gatherer| {
        let size = canvas.size();
        let input = gatherer.frame(std::time::Duration::ZERO, size);
        canvas.begin(size, 1.0);
        let mut ui = Ui::new(&mut canvas, &input, &mut memory);
        let [one, two] = &mut texts;
        ui.field(FIRST, one, "", 200);
        ui.field(SECOND, two, "", 200);
        ui.finish();
        gatherer.takes_text(canvas.takes_text());
        (texts.clone(), !input.keys.is_empty())
    };
    frame(&mut gatherer);
    let plain = Modifiers::default();
    let control = Modifiers {
        control: true,
        ..plain
    };
    for letter in typed.chars() {
        let key = match letter {
            '<' => KeyCode::Backspace,
            '\t' => KeyCode::Tab,
            '!' => {
                gatherer.key_down(KeyCode::LeftControl, control, false);
                gatherer.paste(Some("!".to_owned()));
                gatherer.key_down(KeyCode::V, control, false);
                gatherer.key_up(KeyCode::LeftControl, plain);
                continue;
            }
            // The field does not depend on the keyboard's layout.
            _ => KeyCode::Unknown,
        };
        let is_letter = key == KeyCode::Unknown;
        if is_letter && letter_first {
            gatherer.letter(letter);
        }
        gatherer.key_down(key, plain, false);
        gatherer.key_up(key, plain);
        if is_letter && !letter_first {
            gatherer.letter(letter);
        }
    }
    let mut frames = 0;
    loop {
        let (texts, all_seen) = frame(&mut gatherer);
        if !all_seen {
            return (texts, frames);
        }
        frames += 1;
    }
}

#[test]
fn typed_text_keeps_its_order_with_keys_of_its_frame() {
    for letter_first in [true, false] {
        let fields = |typed| typed_within_a_frame(typed, letter_first).0;
        assert_eq!(fields("ab<c"), ["ac", ""], "{letter_first}");
        assert_eq!(fields("ab<<cd<e"), ["ce", ""], "{letter_first}");
        assert_eq!(fields("ab\tcd<e"), ["ab", "ce"], "{letter_first}");
        assert_eq!(fields("ab!c<d"), ["ab!d", ""], "{letter_first}");
        let word = "abcdefghij".repeat(10);
        let (texts, frames) = typed_within_a_frame(&word, letter_first);
        assert_eq!(texts, [word.as_str(), ""]);
        assert_eq!(frames, 1, "letters alone share a frame");
    }
}
