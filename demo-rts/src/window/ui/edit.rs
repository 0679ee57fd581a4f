//! Editing a text field by keys, letters and pastes.

use super::{Typed, Ui, floor_boundary};
use crate::window::input::KeyCode;

impl Ui<'_> {
    /// Edits the text of the focused field.
    pub(super) fn edit(&mut self, text: &mut String, most: usize) -> Typed {
        let before = text.clone();
        let mut caret = floor_boundary(text, self.memory.caret);
        let mut all = self.memory.all_selected;
        let pasted = self.input.pasted.as_deref().map_or("", str::trim);
        for more in [self.input.typed.as_str(), pasted] {
            if more.is_empty() {
                continue;
            }
            if std::mem::take(&mut all) {
                text.clear();
                caret = 0;
            }
            for letter in more.chars().filter(|letter| lockstep::is_shown(*letter)) {
                if text.len() + letter.len_utf8() <= most {
                    text.insert(caret, letter);
                    caret += letter.len_utf8();
                }
            }
        }
        for press in &self.input.keys {
            let left = text[..caret].char_indices().next_back().map(|(at, _)| at);
            let right = text[caret..].chars().next().map(|c| caret + c.len_utf8());
            match press.key {
                KeyCode::A if press.with.command() => {
                    (all, caret) = (!text.is_empty(), text.len());
                    continue;
                }
                KeyCode::Backspace | KeyCode::Delete if all => {
                    text.clear();
                    caret = 0;
                }
                KeyCode::Backspace if press.with.command() => {
                    text.replace_range(..caret, "");
                    caret = 0;
                }
                KeyCode::Backspace => {
                    if let Some(left) = left {
                        text.remove(left);
                        caret = left;
                    }
                }
                KeyCode::Delete if right.is_some() => drop(text.remove(caret)),
                KeyCode::Left | KeyCode::Home if all => caret = 0,
                KeyCode::Right if all => caret = text.len(),
                KeyCode::Left => caret = left.unwrap_or(caret),
                KeyCode::Right => caret = right.unwrap_or(caret),
                KeyCode::Home => caret = 0,
                KeyCode::End => caret = text.len(),
                _ => continue,
            }
            all = false;
            self.used_arrows = true;
        }
        (self.memory.caret, self.memory.all_selected) = (caret, all);
        Typed {
            changed: *text != before,
            entered: self.input.hit_enter().is_some(),
        }
    }
}
