//! One frame's input as plain data: what was pressed, held, moved and typed since the last frame.

pub use miniquad::{KeyCode, MouseButton};
use std::collections::VecDeque;
use std::time::Duration;

/// Modifier keys held down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modifiers {
    /// Shift.
    pub shift: bool,
    /// Control; command on a Mac.
    pub control: bool,
    /// Alt; option on a Mac.
    pub alt: bool,
}

impl Modifiers {
    /// Whether keys are commands where a field takes text. Letters of many layouts need AltGr, which is alt on some
    /// systems and control with alt on others.
    pub fn command(self) -> bool {
        self.control && !self.alt
    }
}

/// A key press in this frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Press {
    /// The key.
    pub key: KeyCode,
    /// The modifiers at that moment.
    pub with: Modifiers,
    /// Whether the key was already down and repeats.
    pub repeat: bool,
}

/// A mouse button pressed or released in this frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Click {
    /// The button.
    pub button: MouseButton,
    /// The pixel.
    pub at: (f32, f32),
    /// The modifiers at that moment.
    pub with: Modifiers,
    /// Whether it is the second of a double click.
    pub double: bool,
}

/// One frame's input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Input {
    /// Size of the window in pixels.
    pub size: (f32, f32),
    /// Since the window was opened.
    pub now: Duration,
    /// Seconds since the last frame, at most a tenth.
    pub seconds: f32,
    /// The mouse; `None` outside of the window.
    pub mouse: Option<(f32, f32)>,
    /// The mouse's movement in this frame.
    pub moved: (f32, f32),
    /// Mouse buttons pressed, in order.
    pub pressed: Vec<Click>,
    /// Mouse buttons released, in order.
    pub released: Vec<Click>,
    /// Mouse buttons held down.
    pub holds: Vec<MouseButton>,
    /// Steps of the wheel; up is positive.
    pub wheel: f32,
    /// Keys pressed, in order.
    pub keys: Vec<Press>,
    /// Keys held down.
    pub held: Vec<KeyCode>,
    /// Modifiers held down.
    pub with: Modifiers,
    /// Letters typed.
    pub typed: String,
    /// Text pasted.
    pub pasted: Option<String>,
    /// Files dropped on the window.
    pub dropped: Vec<std::path::PathBuf>,
    /// Whether the window has the keyboard's focus.
    pub focused: bool,
    /// Whether the program was asked to end: the window's cross, Ctrl-C, SIGTERM. Never reset.
    pub closing: bool,
}

impl Input {
    /// Whether this key was pressed in this frame, repeats apart.
    pub fn hit(&self, key: KeyCode) -> bool {
        self.keys
            .iter()
            .any(|press| press.key == key && !press.repeat)
    }

    /// The modifiers of this key's press, repeats apart: they may be released within the same frame.
    pub fn hit_with(&self, key: KeyCode) -> Option<Modifiers> {
        let press = self
            .keys
            .iter()
            .find(|press| press.key == key && !press.repeat);
        press.map(|press| press.with)
    }

    /// The modifiers of the press of Enter, that of the number pad included.
    pub fn hit_enter(&self) -> Option<Modifiers> {
        let enter = [KeyCode::Enter, KeyCode::KpEnter];
        enter.into_iter().find_map(|key| self.hit_with(key))
    }

    /// Whether this key was pressed or repeats in this frame.
    pub fn typed_key(&self, key: KeyCode) -> bool {
        self.typed_with(key).is_some()
    }

    /// The modifiers of this key's press or repeat: they may be released within the same frame.
    pub fn typed_with(&self, key: KeyCode) -> Option<Modifiers> {
        let press = self.keys.iter().find(|press| press.key == key);
        press.map(|press| press.with)
    }

    /// Whether this key is held down.
    pub fn holds_key(&self, key: KeyCode) -> bool {
        self.held.contains(&key)
    }

    /// Whether this mouse button is held down.
    pub fn holds_button(&self, button: MouseButton) -> bool {
        self.holds.contains(&button)
    }

    /// The press of this mouse button in this frame.
    pub fn press(&self, button: MouseButton) -> Option<Click> {
        self.pressed
            .iter()
            .copied()
            .find(|click| click.button == button)
    }

    /// The release of this mouse button in this frame.
    pub fn release(&self, button: MouseButton) -> Option<Click> {
        self.released
            .iter()
            .copied()
            .find(|click| click.button == button)
    }
}

/// Collects events into the input of the next frame.
///
/// A frame gets one press of a key or button, because a key may change the meaning of the next. Further presses
/// wait for the next frames, in order.
///
/// Typed text keeps its place among them. Where a field takes text, keys that only type letters share a frame. Text
/// of a frame was typed or pasted before that frame's other key.
#[derive(Debug, Default)]
pub struct Gatherer {
    input: Input,
    later: VecDeque<InputEvent>,
    /// A field takes text: keys type letters first.
    types: bool,
    /// The last frame had a press after which the focus may be elsewhere.
    focus_may_move: bool,
    last_mouse: Option<(f32, f32)>,
    last_press: Option<(MouseButton, (f32, f32), Duration)>,
    last_frame: Duration,
}

/// An event that waits for the next frame.
#[derive(Clone, Debug)]
enum InputEvent {
    Key(Press),
    Letter(char),
    Paste(String),
    Down(Click),
    Up(Click),
}

impl Gatherer {
    /// The mouse moved.
    pub fn mouse_at(&mut self, at: (f32, f32)) {
        self.input.mouse = Some(at);
    }

    /// The mouse left the window.
    pub fn mouse_left(&mut self) {
        self.input.mouse = None;
    }

    /// The wheel turned.
    pub fn wheel(&mut self, steps: f32) {
        self.input.wheel += steps;
    }

    /// A mouse button went down, `now` since the window was opened.
    pub fn button_down(&mut self, button: MouseButton, at: (f32, f32), now: Duration) {
        self.input.mouse = Some(at);
        let double = self.last_press.is_some_and(|(last, place, when)| {
            let far = (place.0 - at.0).abs().max((place.1 - at.1).abs());
            last == button && far < DOUBLE_PIXELS && now.saturating_sub(when) < DOUBLE_TIME
        });
        // A third press starts over.
        self.last_press = (!double).then_some((button, at, now));
        let with = self.input.with;
        self.admit(InputEvent::Down(Click {
            button,
            at,
            with,
            double,
        }));
        if !self.input.holds.contains(&button) {
            self.input.holds.push(button);
        }
    }

    /// A mouse button came up.
    pub fn button_up(&mut self, button: MouseButton, at: (f32, f32)) {
        self.input.mouse = Some(at);
        self.input.holds.retain(|held| *held != button);
        let with = self.input.with;
        self.admit(InputEvent::Up(Click {
            button,
            at,
            with,
            double: false,
        }));
    }

    /// A key went down, or repeats.
    pub fn key_down(&mut self, key: KeyCode, with: Modifiers, repeat: bool) {
        self.input.with = with;
        self.set_modifier(key, true);
        let with = self.input.with;
        let repeat = repeat || self.input.held.contains(&key);
        self.admit(InputEvent::Key(Press { key, with, repeat }));
        if !self.input.held.contains(&key) {
            self.input.held.push(key);
        }
    }

    /// A key came up.
    pub fn key_up(&mut self, key: KeyCode, with: Modifiers) {
        self.input.with = with;
        self.set_modifier(key, false);
        self.input.held.retain(|held| *held != key);
    }

    /// A letter was typed.
    pub fn letter(&mut self, letter: char) {
        if !letter.is_control() && !self.input.with.command() {
            self.admit(InputEvent::Letter(letter));
        }
    }

    /// Text was pasted.
    pub fn paste(&mut self, text: Option<String>) {
        if let Some(text) = text.filter(|text| text.len() <= MOST_PASTED) {
            self.admit(InputEvent::Paste(text));
        }
    }

    /// Whether the last frame had a field that takes text.
    pub fn takes_text(&mut self, takes: bool) {
        self.types = takes && !self.focus_may_move;
    }

    /// A file was dropped on the window.
    pub fn drop_file(&mut self, path: std::path::PathBuf) {
        self.input.dropped.push(path);
    }

    /// The window got or lost the keyboard's focus. Releases are missed without it, so all keys count as released.
    pub fn focus(&mut self, focused: bool) {
        self.input.focused = focused;
        if !focused {
            self.input.held.clear();
            self.input.with = Modifiers::default();
            let at = self.input.mouse.unwrap_or_default();
            for button in self.input.holds.clone() {
                self.button_up(button, at);
            }
        }
    }

    /// The program was asked to end.
    pub fn close(&mut self) {
        self.input.closing = true;
    }

    /// The input of the frame that begins `now`, in a window of this size.
    pub fn frame(&mut self, now: Duration, size: (f32, f32)) -> Input {
        for event in std::mem::take(&mut self.later) {
            self.admit(event);
        }
        let keys = self.input.keys.iter();
        self.focus_may_move =
            !self.input.pressed.is_empty() || keys.clone().any(|press| !stays_in_field(press));
        let passed = now.saturating_sub(self.last_frame);
        self.last_frame = now;
        self.input.now = now;
        self.input.seconds = passed.as_secs_f32().min(LONGEST_FRAME);
        self.input.size = size;
        self.input.moved = match (self.last_mouse, self.input.mouse) {
            (Some(last), Some(at)) => (at.0 - last.0, at.1 - last.1),
            _ => (0.0, 0.0),
        };
        self.last_mouse = self.input.mouse;
        let kept = Input {
            mouse: self.input.mouse,
            holds: self.input.holds.clone(),
            held: self.input.held.clone(),
            with: self.input.with,
            focused: self.input.focused,
            closing: self.input.closing,
            ..Input::default()
        };
        std::mem::replace(&mut self.input, kept)
    }

    /// Puts an event into this frame, unless earlier events still wait or fill the frame.
    fn admit(&mut self, event: InputEvent) {
        if !self.later.is_empty() || self.must_delay(&event) {
            let repeats = matches!(&event, InputEvent::Key(press) if press.repeat);
            // A held key repeats faster than slow frames can use.
            if !repeats && self.later.len() < MOST_LATER {
                self.later.push_back(event);
            }
            return;
        }
        match event {
            InputEvent::Key(press) => self.input.keys.push(press),
            InputEvent::Letter(letter) if self.input.typed.len() < MOST_TYPED => {
                self.input.typed.push(letter);
            }
            InputEvent::Letter(_) => {}
            InputEvent::Paste(text) => self.input.pasted = Some(text),
            InputEvent::Down(click) => self.input.pressed.push(click),
            InputEvent::Up(click) => self.input.released.push(click),
        }
    }

    /// Whether an event of this frame may change the meaning of the new one.
    fn must_delay(&self, event: &InputEvent) -> bool {
        let keys = self.input.keys.iter();
        let mut filling = keys.filter(|press| {
            let is_typed = self.types && types_letter(press);
            !is_modifier(press.key) && !is_typed
        });
        let clicked = !self.input.pressed.is_empty();
        match event {
            InputEvent::Up(_) => false,
            InputEvent::Key(press) if is_modifier(press.key) => false,
            // Some systems deliver a letter after its key: it belongs to that frame.
            InputEvent::Letter(_) => clicked || filling.any(|press| !types_letter(press)),
            InputEvent::Key(_) | InputEvent::Paste(_) | InputEvent::Down(_) => {
                clicked || filling.next().is_some()
            }
        }
    }

    /// Some systems report a modifier only with the next key.
    fn set_modifier(&mut self, key: KeyCode, down: bool) {
        match key {
            KeyCode::LeftShift | KeyCode::RightShift => self.input.with.shift = down,
            KeyCode::LeftControl | KeyCode::RightControl => self.input.with.control = down,
            KeyCode::LeftAlt | KeyCode::RightAlt => self.input.with.alt = down,
            _ => {}
        }
    }
}

fn is_modifier(key: KeyCode) -> bool {
    matches!(
        key,
        KeyCode::LeftShift
            | KeyCode::RightShift
            | KeyCode::LeftControl
            | KeyCode::RightControl
            | KeyCode::LeftAlt
            | KeyCode::RightAlt
    )
}

/// Whether a key only types a letter where a field takes text.
fn types_letter(press: &Press) -> bool {
    let number = press.key as u32;
    let is_letter =
        number <= KeyCode::Unknown as u32 || (FIRST_OF_PAD..=LAST_OF_PAD).contains(&number);
    is_letter && !press.with.command()
}

/// Whether the focus stays in the field after this key.
fn stays_in_field(press: &Press) -> bool {
    let moves = [
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Home,
        KeyCode::End,
    ];
    let selects = press.key == KeyCode::A && press.with.command();
    is_modifier(press.key) || types_letter(press) || moves.contains(&press.key) || selects
}

/// The number pad's keys that type a letter lie in this range; Enter does not.
const FIRST_OF_PAD: u32 = KeyCode::KpMultiply as u32;
const LAST_OF_PAD: u32 = KeyCode::KpEqual as u32;
/// The digits of the top row, ascending.
pub(crate) const DIGITS: [KeyCode; 10] = [
    KeyCode::Key0,
    KeyCode::Key1,
    KeyCode::Key2,
    KeyCode::Key3,
    KeyCode::Key4,
    KeyCode::Key5,
    KeyCode::Key6,
    KeyCode::Key7,
    KeyCode::Key8,
    KeyCode::Key9,
];
/// More presses than this while one frame is drawn are dropped.
const MOST_LATER: usize = 256;
const DOUBLE_TIME: Duration = Duration::from_millis(350);
const DOUBLE_PIXELS: f32 = 6.0;
/// Nothing must jump after a long frame.
const LONGEST_FRAME: f32 = 0.1;
const MOST_TYPED: usize = 256;
/// A ticket is far shorter.
const MOST_PASTED: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn presses_last_one_frame_and_holds_until_release() {
        let mut gatherer = Gatherer::default();
        gatherer.key_down(KeyCode::A, Modifiers::default(), false);
        let first = gatherer.frame(ms(10), (9.0, 9.0));
        assert!(first.hit(KeyCode::A) && first.holds_key(KeyCode::A));
        gatherer.key_down(KeyCode::A, Modifiers::default(), false);
        let second = gatherer.frame(ms(20), (9.0, 9.0));
        assert!(!second.hit(KeyCode::A) && second.typed_key(KeyCode::A));
        gatherer.key_up(KeyCode::A, Modifiers::default());
        assert!(!gatherer.frame(ms(30), (9.0, 9.0)).holds_key(KeyCode::A));
    }

    #[test]
    fn presses_within_one_frame_arrive_one_per_frame_in_order() {
        let none = Modifiers::default();
        let mut gatherer = Gatherer::default();
        for key in [KeyCode::LeftShift, KeyCode::B, KeyCode::H] {
            gatherer.key_down(key, none, false);
            gatherer.key_up(key, none);
        }
        gatherer.button_down(MouseButton::Left, (3.0, 4.0), ms(1));
        gatherer.button_up(MouseButton::Left, (3.0, 4.0));
        gatherer.key_down(KeyCode::X, none, false);
        let mut frame = |now: u64| {
            let input = gatherer.frame(ms(now), (9.0, 9.0));
            let keys: Vec<KeyCode> = input.keys.iter().map(|press| press.key).collect();
            (keys, input.pressed.len(), input.released.len())
        };
        assert_eq!(frame(10), (vec![KeyCode::LeftShift, KeyCode::B], 0, 0));
        assert_eq!(frame(20), (vec![KeyCode::H], 0, 0));
        assert_eq!(frame(30), (vec![], 1, 1));
        assert_eq!(frame(40), (vec![KeyCode::X], 0, 0));
        assert_eq!(frame(50), (vec![], 0, 0));
    }

    #[test]
    fn letters_of_altgr_are_typed_and_commands_are_not() {
        let typed = |control, alt| {
            let mut gatherer = Gatherer::default();
            let with = Modifiers {
                control,
                alt,
                ..Modifiers::default()
            };
            gatherer.takes_text(true);
            gatherer.key_down(KeyCode::Q, with, false);
            gatherer.letter('@');
            gatherer.frame(ms(10), (9.0, 9.0)).typed
        };
        // AltGr is alt on X11, and control with alt on Windows.
        assert_eq!(typed(false, true), "@");
        assert_eq!(typed(true, true), "@");
        assert_eq!(typed(true, false), "");
    }

    #[test]
    fn fast_repeats_end_with_the_key() {
        let mut gatherer = Gatherer::default();
        for _ in 0..500 {
            gatherer.key_down(KeyCode::Left, Modifiers::default(), false);
        }
        gatherer.key_up(KeyCode::Left, Modifiers::default());
        assert!(gatherer.frame(ms(10), (9.0, 9.0)).hit(KeyCode::Left));
        assert!(gatherer.frame(ms(20), (9.0, 9.0)).keys.is_empty());
    }

    #[test]
    fn two_quick_presses_are_a_double_click_and_a_third_is_not() {
        let mut gatherer = Gatherer::default();
        let mut double = |at: f32, now: u64| {
            gatherer.button_down(MouseButton::Left, (at, 0.0), ms(now));
            gatherer.button_up(MouseButton::Left, (at, 0.0));
            let input = gatherer.frame(ms(now), (9.0, 9.0));
            input
                .press(MouseButton::Left)
                .is_some_and(|click| click.double)
        };
        assert!(!double(0.0, 0));
        assert!(double(1.0, 200));
        assert!(!double(1.0, 300));
        assert!(!double(50.0, 400));
        assert!(!double(50.0, 2_000));
    }

    #[test]
    fn losing_the_focus_releases_held_keys_and_buttons() {
        let mut gatherer = Gatherer::default();
        gatherer.key_down(KeyCode::LeftShift, Modifiers::default(), false);
        gatherer.button_down(MouseButton::Left, (3.0, 4.0), ms(1));
        assert!(gatherer.frame(ms(1), (9.0, 9.0)).with.shift);
        gatherer.focus(false);
        let input = gatherer.frame(ms(2), (9.0, 9.0));
        assert!(input.held.is_empty() && !input.with.shift && !input.focused);
        let released = input.release(MouseButton::Left).expect("it was held");
        assert_eq!(released.at, (3.0, 4.0));
    }
}
