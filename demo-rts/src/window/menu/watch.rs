//! The page of the recorded matches.

use super::front::{Front, sentence};
use super::kit::{self, ROW, Rows, buttons, page};
use super::recordings::{Recording, Recordings, Which};
use crate::window::canvas::{Canvas, Rect};
use crate::window::input::{Input, KeyCode};
use crate::window::letters::Weight;
use crate::window::ui::{Memory, Ui};
use crate::window::viewer::Opening;
use crate::window::words::menu as words;
use crate::window::{Next, Screen, theme};
use std::rc::Rc;

pub struct Watching {
    front: Rc<Front>,
    memory: Memory,
    recordings: Recordings,
    /// The list gets the keyboard's focus once it has a line, or will have none: until then it is disabled.
    awaits_list: bool,
    chosen: Option<usize>,
    first: usize,
    /// A viewer is above this page, from which matches may be played on.
    is_covered: bool,
    /// The replay that will be shown next.
    opening: Option<Opening>,
    message: String,
}

impl Watching {
    pub fn new(front: Rc<Front>) -> Watching {
        Watching {
            recordings: recordings_of(&front),
            awaits_list: true,
            front,
            memory: Memory::default(),
            chosen: None,
            first: 0,
            is_covered: false,
            opening: None,
            message: String::new(),
        }
    }

    /// Reads the folder again: there may be new recordings.
    fn come_back(&mut self) {
        self.recordings = recordings_of(&self.front);
        (self.chosen, self.first) = (None, 0);
    }

    fn watch(&mut self) {
        let chosen = self
            .chosen
            .and_then(|place| self.recordings.read.get(place));
        self.message.clear();
        match chosen.map(|recording| Opening::begin(&recording.path)) {
            Some(Ok(opening)) => self.opening = Some(opening),
            Some(Err(why)) => self.message = sentence(&why.to_string()),
            None => {}
        }
    }

    /// Moves on to an opened replay.
    fn opened(&mut self) -> Next {
        let Some(done) = self.opening.as_ref().and_then(Opening::poll) else {
            return Next::Stay;
        };
        self.opening = None;
        match done {
            Ok(opened) => {
                self.is_covered = true;
                Next::Push(self.front.viewer(opened))
            }
            Err(why) => {
                self.message = sentence(&why.to_string());
                Next::Stay
            }
        }
    }
}

impl Screen for Watching {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        let front = self.front.clone();
        front.draw_ground(input, canvas);
        if std::mem::take(&mut self.is_covered) {
            self.come_back();
        }
        self.recordings.poll();
        let is_settled = !self.recordings.read.is_empty() || !self.recordings.is_reading();
        if self.awaits_list && is_settled {
            self.awaits_list = false;
            // The player may have moved it by then.
            if !self.memory.has_focus() {
                self.memory.focus(0);
            }
        }
        let before = self.chosen;
        let mut ui = Ui::new(canvas, input, &mut self.memory);
        let room = page(&mut ui, words::WATCH, (1_080.0, 470.0));
        let (high, gap) = (ui.units(ROW), ui.units(12.0));
        let line = ui.canvas.line_height(ui.units(theme::BODY));
        let mut rows = Rows::new(room);
        let heading = match (
            self.recordings.is_reading(),
            self.recordings.read.is_empty(),
        ) {
            (true, _) => words::READING,
            (false, true) => words::NONE_RECORDED,
            (false, false) => words::RECORDED,
        };
        let row = rows.next(line, ui.units(6.0));
        kit::line(&mut ui, row, heading, Weight::Bold, theme::TEXT);
        let rest = rows.rest();
        let main = (rest.h - high - gap).max(0.0);
        let list = Rect::new(rest.x, rest.y, (rest.w * 0.62).floor(), main);
        let lines: Vec<String> = self.recordings.read.iter().map(line_of).collect();
        let double = input.pressed.iter().any(|click| click.double);
        let hit = ui.list(list, &lines, &mut self.chosen, &mut self.first);
        let mut watched = hit.is_some() && (double || input.hit_enter().is_some());
        let beside = list.right() + gap * 1.5;
        let side = Rect::new(beside, rest.y, (rest.right() - beside).max(0.0), main);
        let chosen = self
            .chosen
            .and_then(|place| self.recordings.read.get(place));
        if before != self.chosen {
            self.message.clear();
        }
        match chosen {
            Some(recording) => describe(&mut ui, side, recording),
            None if self.recordings.read.is_empty() => {}
            None => {
                let at = (side.x, side.y);
                ui.paragraph(at, side.w, words::CHOOSE_ONE, theme::BODY, theme::FAINT);
            }
        }
        let row = Rect::new(room.x, room.bottom() - high, room.w, high);
        let able = self.opening.is_none();
        let able = able && chosen.is_some_and(|recording| recording.content.is_ok());
        let news = match (&self.opening, &self.message, self.recordings.left_out) {
            (Some(opening), _, _) => opening.text(),
            (None, message, _) if !message.is_empty() => message.clone(),
            (None, _, 0) => String::new(),
            (None, _, many) => words::more_recordings(many),
        };
        let used = kit::button_width(&ui, words::WATCH_IT) + kit::button_width(&ui, words::BACK);
        let wide = (row.w - used - 3.0 * gap).max(0.0);
        let at = (row.x, row.y);
        ui.paragraph(at, wide, &news, theme::SMALL, theme::ACCENT);
        let pressed = buttons(
            &mut ui,
            row,
            &[(words::WATCH_IT, able), (words::BACK, true)],
        );
        ui.finish();
        watched &= able;
        if pressed == Some(1) || input.hit(KeyCode::Escape) {
            // Escape first cancels the opening of a replay.
            return match self.opening.take() {
                Some(_) => Next::Stay,
                None => Next::Back,
            };
        }
        if watched || pressed == Some(0) {
            self.watch();
        }
        self.opened()
    }
}

fn recordings_of(front: &Front) -> Recordings {
    Recordings::of(front.places.replays(), Which::All)
}

fn line_of(recording: &Recording) -> String {
    let Ok(content) = &recording.content else {
        return words::unreadable(&recording.name());
    };
    let (when, length) = (words::ago(recording.age), words::length(content.length));
    format!(
        "{when}   {}   {length}   {}",
        content.player_names(),
        content.result
    )
}

fn describe(ui: &mut Ui<'_>, room: Rect, recording: &Recording) {
    let (line, gap) = (ui.canvas.line_height(ui.units(theme::BODY)), ui.units(6.0));
    let name_high = ui.paragraph(
        (room.x, room.y),
        room.w,
        &recording.name(),
        theme::BODY,
        theme::TEXT,
    );
    let mut rows = Rows::new(room);
    rows.next(name_high, gap * 2.0);
    let content = match &recording.content {
        Ok(content) => content,
        Err(why) => {
            let rest = rows.rest();
            ui.paragraph((rest.x, rest.y), rest.w, why, theme::BODY, theme::BAD);
            return;
        }
    };
    for (seat, name) in &content.players {
        let row = rows.next(line, gap / 2.0);
        if row.bottom() > room.bottom() {
            return;
        }
        kit::mark(ui.canvas, seat.0, Rect::new(row.x, row.y, line, line));
        let beside = Rect::new(
            row.x + line + gap,
            row.y,
            (row.w - line - gap).max(0.0),
            line,
        );
        kit::line(ui, beside, name, Weight::Regular, theme::TEXT);
    }
    rows.next(gap, 0.0);
    let continued = content.continued.map(words::continued_from);
    let continued = continued.map(|from| (words::PLAYED_ON, from));
    let facts = [
        (
            words::LENGTH,
            words::length_of(content.length, &content.setup),
        ),
        (words::RESULT, content.result.clone()),
        (words::LAND, words::terms(&content.setup)),
        (words::PLAYED, words::ago(recording.age)),
        (words::RECORDED_BY, content.build.clone()),
    ];
    for (label, fact) in facts.into_iter().chain(continued) {
        let row = rows.next(line, gap / 2.0);
        if row.bottom() > room.bottom() {
            return;
        }
        let area = kit::labelled(ui, row, label);
        kit::line(ui, area, &fact, Weight::Regular, theme::TEXT);
    }
    if let Some(damage) = &content.damage {
        let rest = rows.rest();
        ui.paragraph(
            (rest.x, rest.y + gap),
            rest.w,
            damage,
            theme::SMALL,
            theme::BAD,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Common;
    use crate::fixture;
    use crate::window::input::{Modifiers, Press};
    use crate::window::places::Places;
    use crate::window::readability::until;
    use lockstep::log::{LogStore as _, Record, Terms};
    use replay::Recorder;
    use std::path::Path;

    /// The page once it has read this folder's recordings, and what a key does on it then.
    fn key_when_read(folder: &Path, key: KeyCode) -> (Watching, Next) {
        let front = Front::at(Places::at(folder), &Common::default());
        front.settings.borrow_mut().local_network = false;
        let mut page = Watching::new(Rc::new(front));
        let mut canvas = Canvas::new();
        let mut frame = |page: &mut Watching, keys| {
            canvas.begin((1_280.0, 720.0), 1.0);
            let input = Input {
                size: (1_280.0, 720.0),
                keys,
                ..Input::default()
            };
            page.frame(&input, &mut canvas)
        };
        until("the recordings", || {
            assert!(matches!(frame(&mut page, Vec::new()), Next::Stay));
            (!page.recordings.is_reading()).then_some(())
        });
        let (with, repeat) = (Modifiers::default(), false);
        let next = frame(&mut page, vec![Press { key, with, repeat }]);
        (page, next)
    }

    #[test]
    fn enter_leaves_a_page_without_recordings() {
        let folder = tempfile::tempdir().unwrap();
        let (_, next) = key_when_read(folder.path(), KeyCode::Enter);
        assert!(matches!(next, Next::Back));
    }

    #[test]
    fn the_focus_waits_for_the_recordings() {
        let folder = tempfile::tempdir().unwrap();
        let replays = Places::at(folder.path()).try_replays().unwrap();
        let mut log = Recorder::create(&replays.join("a.replay")).unwrap();
        let start = fixture::start(Terms::default(), ["ada", "bob"]);
        log.append(&Record::Start(start.into())).unwrap();
        log.close().unwrap();
        let (page, _) = key_when_read(folder.path(), KeyCode::Down);
        assert_eq!(page.chosen, Some(0));
    }
}
