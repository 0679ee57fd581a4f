//! What the key for sound comes to, in a line on the screen: what is not heard must be read.

use super::canvas::{Canvas, Rect};
use super::letters::Weight;
use super::settings::Settings;
use super::{theme, words};
use std::time::Duration;

/// The line, for a while after the key.
#[derive(Debug, Default)]
pub struct Aloud {
    said: Option<(&'static str, Duration)>,
}

impl Aloud {
    /// Turns sound off, or on again. `trouble` is why none could be heard.
    pub fn switch(&mut self, settings: &mut Settings, trouble: Option<String>, now: Duration) {
        settings.muted = !settings.muted;
        let text = match (settings.muted, trouble) {
            (true, _) => words::SOUND_OFF,
            (false, None) => words::SOUND_ON,
            (false, Some(_)) => words::SOUND_NOWHERE,
        };
        self.said = Some((text, now + LASTS));
    }

    /// Draws it above all else.
    pub fn draw(&mut self, canvas: &mut Canvas, now: Duration) {
        self.said.take_if(|(_, until)| *until <= now);
        let Some((text, _)) = self.said else {
            return;
        };
        let size = canvas.units(theme::BODY);
        let (wide, high) = (
            canvas.measure(text, size, Weight::Bold),
            canvas.line_height(size),
        );
        let gap = canvas.units(10.0);
        let at = ((canvas.size().0 - wide) / 2.0, canvas.units(40.0));
        let under = Rect::new(at.0 - gap, at.1, wide + 2.0 * gap, high);
        canvas.begin_above();
        canvas.rect(under, [8, 10, 12, 220]);
        canvas.text(at, text, size, Weight::Bold, theme::ACCENT);
    }
}

const LASTS: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::sight::{SIZES, check_texts};

    #[test]
    fn what_the_key_did_is_read_for_a_while() {
        let mut aloud = Aloud::default();
        let mut settings = Settings::default();
        let read = |aloud: &mut Aloud, seconds: u64| -> Vec<String> {
            let mut canvas = Canvas::new();
            canvas.begin(SIZES[0], 1.0);
            aloud.draw(&mut canvas, Duration::from_secs(seconds));
            check_texts(&canvas);
            let texts = canvas.texts().iter();
            texts.map(|written| written.text.clone()).collect()
        };
        assert!(read(&mut aloud, 0).is_empty());
        let none = || Some("no server".to_owned());
        let at = Duration::from_secs;
        aloud.switch(&mut settings, None, at(1));
        assert!(settings.muted);
        assert_eq!(read(&mut aloud, 2), [words::SOUND_OFF]);
        assert!(read(&mut aloud, 3).is_empty());
        aloud.switch(&mut settings, None, at(4));
        assert_eq!(read(&mut aloud, 5), [words::SOUND_ON]);
        aloud.switch(&mut settings, none(), at(5));
        assert_eq!(read(&mut aloud, 6), [words::SOUND_OFF]);
        aloud.switch(&mut settings, none(), at(6));
        assert_eq!(read(&mut aloud, 7), [words::SOUND_NOWHERE]);
    }
}
