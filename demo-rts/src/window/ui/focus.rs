//! The focus of the keyboard, and the identity of widgets, which lasts from frame to frame.

use super::{Memory, Ui};
use crate::window::input::{KeyCode, Press};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::Location;

/// What tells a widget from all others, whatever else is drawn beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WidgetId {
    /// The call that draws it.
    call: &'static Location<'static>,
    /// What tells it from the other widgets of this call: its place among them, or a hash of what it stands for.
    which: u64,
}

impl WidgetId {
    /// A widget that stands for something, in whatever place it is drawn.
    pub fn standing_for(what: impl Hash, call: &'static Location<'static>) -> WidgetId {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        let which = hasher.finish();
        WidgetId { call, which }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    /// The next frame's widget with this index, if it is not disabled.
    Next(usize),
    On(WidgetId),
}

/// The widgets that a frame has drawn so far.
#[derive(Debug, Default)]
pub(super) struct DrawnWidgets {
    /// In the order of the keyboard, and whether they are not disabled.
    all: Vec<(WidgetId, bool)>,
    /// The focus has come to a disabled one of them by its index.
    came_to_disabled: bool,
}

impl DrawnWidgets {
    /// The next widget that this call draws.
    pub fn id(&self, call: &'static Location<'static>) -> WidgetId {
        let before = self.all.iter().filter(|(id, _)| id.call == call).count();
        let which = before as u64;
        WidgetId { call, which }
    }

    /// Adds a widget. A focus that waits for its index is on it from now on.
    pub fn add(&mut self, id: WidgetId, able: bool, memory: &mut Memory) {
        if memory.focus == Some(Focus::Next(self.all.len())) {
            memory.focus = Some(Focus::On(id));
            self.came_to_disabled = !able;
        }
        self.all.push((id, able));
    }

    /// Whether the widget with the focus is among them.
    pub fn have_focus(&self, memory: &Memory) -> bool {
        let mut all = self.all.iter();
        all.any(|(id, _)| memory.focus == Some(Focus::On(*id)))
    }

    /// The widget that the focus moves to: forward (`true`) or back, past disabled ones.
    fn after(&self, memory: &Memory, on: bool) -> Option<WidgetId> {
        let many = self.all.len();
        let mut all = self.all.iter();
        let now = all.position(|(id, _)| memory.focus == Some(Focus::On(*id)));
        let from = match on {
            true => now.unwrap_or(many.saturating_sub(1)),
            false => now.unwrap_or(0),
        };
        let mut steps = (1..=many).map(|step| match on {
            true => self.all[(from + step) % many],
            false => self.all[(from + many - step) % many],
        });
        steps.find(|(_, able)| *able).map(|(id, _)| id)
    }
}

impl Ui<'_> {
    /// Moves the focus by the keys of this frame, past a disabled widget that it has just come to, and off one that is not
    /// drawn any more.
    pub(super) fn move_focus(&mut self) {
        // An index counts disabled widgets too, and Enter would be dead on one.
        let past = self.drawn.came_to_disabled.then_some(true);
        let step = self.asked_step().or(past);
        if let Some(id) = step.and_then(|on| self.drawn.after(self.memory, on)) {
            self.memory.move_to(Focus::On(id));
        }
        if !self.drawn.have_focus(self.memory) {
            self.memory.focus = None;
        }
    }

    /// Whether the focus must move forward (`true`) or back.
    fn asked_step(&self) -> Option<bool> {
        // The modifier at the key's press: it may be released by the end of the frame.
        let tab = |press: &&Press| press.key == KeyCode::Tab;
        if let Some(press) = self.input.keys.iter().find(tab) {
            return Some(!press.with.shift);
        }
        if self.used_arrows || !self.memory.has_focus() {
            return None;
        }
        let any = |keys: [KeyCode; 2]| keys.iter().any(|key| self.input.typed_key(*key));
        if any([KeyCode::Down, KeyCode::Right]) {
            return Some(true);
        }
        any([KeyCode::Up, KeyCode::Left]).then_some(false)
    }
}

/// Whether this key is for the focus, which is visible from then on.
pub(super) fn is_for_focus(key: KeyCode) -> bool {
    matches!(
        key,
        KeyCode::Tab
            | KeyCode::Escape
            | KeyCode::Enter
            | KeyCode::KpEnter
            | KeyCode::Up
            | KeyCode::Down
            | KeyCode::Left
            | KeyCode::Right
    )
}
