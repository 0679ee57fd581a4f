//! A line on the screen that shows what the sound key did, for players without sound.

use super::canvas::{Canvas, Rect};
use super::letters::Weight;
use super::settings::Settings;
use super::{theme, words};
use std::time::Duration;

#[derive(Debug, Default)]
pub struct SoundNotice {
    shown: Option<(&'static str, Duration)>,
}

impl SoundNotice {
    /// Switches sound off or on. `trouble` says why there is no sound device, if so.
    pub fn switch(&mut self, settings: &mut Settings, trouble: Option<String>, now: Duration) {
        settings.muted = !settings.muted;
        let text = match (settings.muted, trouble) {
            (true, _) => words::SOUND_OFF,
            (false, None) => words::SOUND_ON,
            (false, Some(_)) => words::SOUND_NOWHERE,
        };
        self.shown = Some((text, now + LASTS));
    }

    pub fn draw(&mut self, canvas: &mut Canvas, now: Duration) {
        self.shown.take_if(|(_, until)| *until <= now);
        let Some((text, _)) = self.shown else {
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
    use crate::window::readability::{SIZES, check_texts};

    #[test]
    fn the_line_after_the_key_is_shown_for_a_while() {
        let mut sound_notice = SoundNotice::default();
        let mut settings = Settings::default();
        let read = |sound_notice: &mut SoundNotice, seconds: u64| -> Vec<String> {
            let mut canvas = Canvas::new();
            canvas.begin(SIZES[0], 1.0);
            sound_notice.draw(&mut canvas, Duration::from_secs(seconds));
            check_texts(&canvas);
            let texts = canvas.texts().iter();
            texts.map(|written| written.text.clone()).collect()
        };
        assert!(read(&mut sound_notice, 0).is_empty());
        let none = || Some("no server".to_owned());
        let at = Duration::from_secs;
        sound_notice.switch(&mut settings, None, at(1));
        assert!(settings.muted);
        assert_eq!(read(&mut sound_notice, 2), [words::SOUND_OFF]);
        assert!(read(&mut sound_notice, 3).is_empty());
        sound_notice.switch(&mut settings, None, at(4));
        assert_eq!(read(&mut sound_notice, 5), [words::SOUND_ON]);
        sound_notice.switch(&mut settings, none(), at(5));
        assert_eq!(read(&mut sound_notice, 6), [words::SOUND_OFF]);
        sound_notice.switch(&mut settings, none(), at(6));
        assert_eq!(read(&mut sound_notice, 7), [words::SOUND_NOWHERE]);
    }
}
