//! The picture of the lobby.

use super::{CHAT_BYTES, Kind, Lobby, PAGE, Pressed};
use crate::options::PlanChoice;
use crate::peer::{BUILD, Bots, Peer};
use crate::window::canvas::Rect;
use crate::window::letters::Weight;
use crate::window::menu::{self, ROW, Rows, button_width, buttons, buttons_of, line, page};
use crate::window::theme;
use crate::window::ui::{Ui, wrapped};
use crate::window::words::{self as words_of_match, menu as words};
use lockstep::PeerId;
use std::collections::VecDeque;

impl Lobby {
    /// Draws players, chat and map.
    pub(super) fn draw(&mut self, ui: &mut Ui<'_>) -> Option<Pressed> {
        let room = page(ui, words::LOBBY, PAGE);
        let (high, gap) = (ui.units(ROW), ui.units(12.0));
        let text = ui.canvas.line_height(ui.units(theme::BODY));
        let side = ui.units(290.0).min(room.w * 0.4);
        let left = Rect::new(room.x, room.y, room.w - side - 2.0 * gap, room.h);
        let right = Rect::new(left.right() + 2.0 * gap, room.y, side, room.h);
        self.draw_map(ui, right);
        let mut pressed = None;
        let mut rows = Rows::new(left);
        let answers = self.draw_seats(ui, &mut rows);
        rows.next(ui.units(4.0), 0.0);
        if let Some(ticket) = self.peer.as_mut().and_then(Peer::ticket) {
            let row = rows.next(text, ui.units(4.0));
            let end = line(ui, row, words::INVITE, Weight::Regular, theme::FAINT);
            let beside = Rect::new(end + gap, row.y, (row.right() - end - gap).max(0.0), row.h);
            line(ui, beside, &self.message, Weight::Regular, theme::GOOD);
            let row = rows.next(high, gap);
            let wide = button_width(ui, words::COPY);
            let field = Rect::new(row.x, row.y, (row.w - wide - gap).max(0.0), row.h);
            let ticket = ticket.to_string();
            ui.canvas.rect(field, theme::FIELD);
            let inner = field.inset(ui.units(6.0));
            line(ui, inner, &ticket, Weight::Regular, theme::TEXT);
            let button = Rect::new(row.right() - wide, row.y, wide, row.h);
            if ui.button(button, words::COPY) {
                pressed = Some(Pressed::Copy);
            }
        }
        let bottom = Rect::new(left.x, left.bottom() - high, left.w, high);
        if let Kind::Reopen { wait, .. } = &self.kind {
            let (rest, how) = (rows.rest(), words::reopened_how(*wait));
            let at = (rest.x, rest.y);
            ui.paragraph(at, rest.w, &how, theme::BODY, theme::TEXT);
            let waits = self
                .peer
                .as_ref()
                .is_none_or(|peer| !peer.takes_first_comers());
            self.draw_standing(ui, bottom, &[words::BEGIN_NOW, words::CANCEL]);
            let labels = [(words::BEGIN_NOW, waits), (words::CANCEL, true)];
            return match buttons(ui, bottom, &labels) {
                Some(0) => Some(Pressed::BeginNow),
                Some(_) => Some(Pressed::Leave),
                None => pressed,
            };
        }
        let field = Rect::new(left.x, bottom.y - gap - high, left.w, high);
        let rest = rows.rest();
        let message = Rect::new(
            rest.x,
            rest.y,
            rest.w,
            (field.y - gap / 2.0 - rest.y).max(0.0),
        );
        self.draw_chat(ui, message);
        let typed = ui.field(field, &mut self.typed, words::CHAT_HINT, CHAT_BYTES);
        if typed.entered && !self.typed.trim().is_empty() {
            pressed = Some(Pressed::Say);
        }
        let ready = match self.ready {
            true => words::I_AM_NOT,
            false => words::I_AM_READY,
        };
        let can = !self.here.is_empty();
        self.draw_standing(ui, bottom, &[ready, words::CANCEL]);
        match buttons(ui, bottom, &[(ready, can), (words::CANCEL, true)]) {
            Some(0) => pressed = Some(Pressed::Ready),
            Some(_) => pressed = Some(Pressed::Leave),
            None => {}
        }
        // Last, so that no key press meets them by chance.
        for (label, button, answer) in answers {
            // Rows move as players come and leave.
            if ui.button_of((label, &answer), button, label, true) {
                pressed = Some(answer);
            }
        }
        pressed
    }

    /// The state of the lobby, left of these buttons in a row.
    fn draw_standing(&self, ui: &mut Ui<'_>, row: Rect, labels: &[&str]) {
        let gap = ui.units(12.0);
        let used: f32 = labels.iter().map(|label| button_width(ui, label)).sum();
        let used = used + (labels.len() as f32 + 1.0) * gap;
        let left = Rect::new(row.x, row.y, (row.w - used).max(0.0), row.h);
        line(ui, left, &self.standing(), Weight::Regular, theme::ACCENT);
    }

    fn draw_map(&self, ui: &mut Ui<'_>, room: Rect) {
        let small = ui.units(theme::SMALL);
        let lines = wrapped(ui.canvas, words::STARTS, small, Weight::Regular, room.w).len();
        let below = ui.canvas.line_height(small) * lines as f32 + ui.units(8.0);
        // Text keeps the room that it has without the line on starting places.
        let side = (room.w.min(room.h * 0.7) - below).max(0.0).floor();
        let map = Rect::new(room.x, room.y, side, side);
        let mut y = map.bottom();
        match self.wanted() {
            Some(wanted) => {
                self.front.draw_map(&wanted, map, ui);
                let at = (room.x, map.bottom() + ui.units(8.0));
                y = at.1 + ui.paragraph(at, room.w, words::STARTS, theme::SMALL, theme::FAINT);
            }
            None => {
                ui.canvas.rect(map, theme::FIELD);
                let inner = map.inset(ui.units(12.0));
                let at = (inner.x, inner.y);
                let text = match self.setup() {
                    Some(setup) if setup.scenario.is_staged() => words::MAP_STAGED,
                    _ => words::MAP_UNKNOWN,
                };
                ui.paragraph(at, inner.w, text, theme::BODY, theme::FAINT);
            }
        }
        y += ui.units(8.0);
        if let Some(setup) = self.setup() {
            let mut terms = vec![format!("{}.", words::long_terms(setup))];
            let pace = match (&self.kind, self.terms) {
                (Kind::Host { plan, .. }, _) => Some((*plan, self.front.common.turns)),
                (Kind::Join, Some(terms)) => Some((PlanChoice::of(&terms), None)),
                _ => None,
            };
            terms.extend(pace.map(|(plan, most)| words::pace(plan, most)));
            for line in terms {
                y += ui.paragraph((room.x, y), room.w, &line, theme::BODY, theme::TEXT);
            }
        }
        let own = self.peer.as_ref().and_then(Peer::id);
        let others = self.here.iter().filter(|peer| own != Some(peer.peer));
        let others: Vec<(&str, &str)> = others
            .map(|peer| (peer.name.as_str(), peer.build.as_str()))
            .collect();
        y += ui.units(6.0);
        let size = ui.units(theme::SMALL);
        let fits = |text: &str| {
            let lines = wrapped(ui.canvas, text, size, Weight::Regular, room.w).len();
            y + ui.canvas.line_height(size) * lines as f32 <= room.bottom()
        };
        let mut builds = words::builds(BUILD, &others);
        if !fits(&builds) {
            builds = words::builds_in_short(BUILD, &others);
        }
        ui.paragraph((room.x, y), room.w, &builds, theme::SMALL, theme::FAINT);
    }

    /// Draws the seats, and in open ones the players that ask. Returns the buttons about them, and where they belong.
    fn draw_seats(
        &mut self,
        ui: &mut Ui<'_>,
        rows: &mut Rows,
    ) -> Vec<(&'static str, Rect, Pressed)> {
        let pings = match &mut self.peer {
            Some(peer) => peer.game().source().stats().pings,
            None => Vec::new(),
        };
        let own = self.peer.as_ref().and_then(Peer::id);
        let ping = |peer: PeerId| {
            let ping = pings.iter().find(|(of, _)| *of == peer);
            ping.map(|(_, rtt)| words::ping(*rtt))
        };
        let bots = self.peer.as_ref().map(Peer::bots);
        let (high, gap, apart) = (ui.units(26.0), ui.units(2.0), ui.units(10.0));
        let wide = match self.kind {
            Kind::Host { .. } => {
                let labels = [words::REMOVE_GUEST, words::TURN_AWAY];
                labels
                    .map(|label| button_width(ui, label))
                    .into_iter()
                    .fold(0.0, f32::max)
            }
            _ => 0.0,
        };
        let mut buttons = Vec::new();
        let mut askers = self.askers.iter();
        for (seat, place) in self.places().into_iter().enumerate() {
            let whole = rows.next(high, gap);
            let row = Rect::new(whole.x, whole.y, whole.w - wide, whole.h);
            let seat = seat as u8;
            let mark = Rect::new(row.x, row.y, high, high).inset(ui.units(3.0));
            menu::mark(ui.canvas, seat, mark);
            let column = |from: f32, to: f32| {
                let x = row.x + row.w * from;
                Rect::new(x, row.y, row.w * (to - from) - apart, row.h)
            };
            let (colour, name) = (column(0.06, 0.24), column(0.24, 0.66));
            let faint = theme::FAINT;
            line(ui, colour, theme::seat_name(seat), Weight::Regular, faint);
            let Some((peer, is_first)) = place else {
                if let Some(asker) = askers.next() {
                    let admits = button_width(ui, words::LET_IN);
                    let left = row.right() - admits - apart;
                    let text = Rect::new(name.x, row.y, (left - apart - name.x).max(0.0), row.h);
                    let asks = words::asks(&asker.name, &asker.address);
                    line(ui, text, &asks, Weight::Regular, theme::ACCENT);
                    let button = Rect::new(left, row.y, admits, row.h);
                    buttons.push((words::LET_IN, button, Pressed::Admit(asker.peer)));
                    let button = Rect::new(row.right(), row.y, wide, row.h);
                    buttons.push((words::TURN_AWAY, button, Pressed::Remove(asker.peer)));
                    if ui.is_pointed_at(text) && !asker.build.is_empty() {
                        let build = words::build_of(&asker.name, &asker.build);
                        ui.tip(text, vec![(build, theme::TEXT)]);
                    }
                    continue;
                }
                let awaited = self.awaited(seat);
                let text = awaited.unwrap_or(words::OPEN_SEAT);
                line(ui, name, text, Weight::Regular, theme::OFF);
                if awaited.is_some() {
                    let state = column(0.66, 0.86);
                    line(ui, state, words::NOT_HERE, Weight::Regular, theme::OFF);
                }
                continue;
            };
            let is_own = own == Some(peer.peer);
            if !is_first {
                let level = bots.filter(|_| is_own).and_then(Bots::others);
                let bot = words::bot_of(&peer.name, level);
                line(ui, name, &bot, Weight::Regular, faint);
                continue;
            }
            let text = match is_own {
                true => words::yourself(&peer.name, bots.and_then(Bots::first)),
                false => peer.name.clone(),
            };
            line(ui, name, &text, Weight::Bold, theme::TEXT);
            if wide > 0.0 && !is_own {
                let button = Rect::new(row.right(), row.y, wide, row.h);
                buttons.push((words::REMOVE_GUEST, button, Pressed::Remove(peer.peer)));
            }
            let (text, colour) = match peer.ready {
                true => (words::READY, theme::GOOD),
                false => (words::NOT_READY, theme::ACCENT),
            };
            line(ui, column(0.66, 0.86), text, Weight::Regular, colour);
            let ping = ping(peer.peer);
            if ui.is_pointed_at(row) {
                let build = words::build_of(&peer.name, &peer.build);
                let build = Some((build, theme::TEXT)).filter(|_| !peer.build.is_empty());
                let text = ping.as_deref().map(words::ping_to_host);
                let text = text.map(|text| (text, theme::TEXT));
                ui.tip(row, build.into_iter().chain(text).collect());
            }
            if let Some(ping) = ping {
                line(ui, column(0.86, 1.0), &ping, Weight::Regular, faint);
            }
        }
        buttons
    }

    /// The name of the missing player of a seat, if known.
    fn awaited(&self, seat: u8) -> Option<&str> {
        let Kind::Reopen { seats, .. } = &self.kind else {
            return None;
        };
        let info = seats.iter().find(|info| info.seat.0 == seat)?;
        Some(&info.name)
    }

    /// The newest chat messages, as many as fit.
    fn draw_chat(&self, ui: &mut Ui<'_>, room: Rect) {
        let (size, weight) = (ui.units(theme::BODY), Weight::Regular);
        let high = ui.canvas.line_height(size);
        let many = (room.h / high).floor().max(0.0) as usize;
        let mut lines = VecDeque::new();
        for message in self.chat.iter().rev() {
            if lines.len() >= many {
                break;
            }
            for line in wrapped(ui.canvas, message, size, weight, room.w)
                .iter()
                .rev()
            {
                lines.push_front(line.clone());
            }
        }
        let first = lines.len().saturating_sub(many);
        let mut y = room.bottom() - high * (lines.len() - first) as f32;
        for message in lines.range(first..) {
            let row = Rect::new(room.x, y, room.w, high);
            line(ui, row, message, weight, theme::TEXT);
            y += high;
        }
    }
}

impl Lobby {
    /// A page with a message, a button to leave, and the choices after quorum loss where there are any.
    pub(super) fn ask(
        &self,
        ui: &mut Ui<'_>,
        heading: &str,
        text: &str,
        leave: &str,
    ) -> Option<Pressed> {
        let found = self.peer.as_ref().and_then(|peer| peer.found_branch());
        let enters = found.map(|_| (words_of_match::ENTER_BRANCH, Pressed::Enter));
        let all: Vec<(&str, Pressed)> = std::iter::once((leave, Pressed::Leave))
            .chain(self.ways())
            .chain(enters)
            .collect();
        let text = match self.message.as_str() {
            "" => text.to_owned(),
            message => format!("{text} {message}"),
        };
        notice(ui, heading, &text, &all)
    }
}

/// A page with a single message, and buttons with their labels.
pub(super) fn notice(
    ui: &mut Ui<'_>,
    heading: &str,
    text: &str,
    answers: &[(&str, Pressed)],
) -> Option<Pressed> {
    let (unit, size) = (ui.units(1.0), ui.units(theme::BODY));
    let wide = ui.units(600.0).min(ui.canvas.size().0 - ui.units(64.0));
    let lines = wrapped(ui.canvas, text, size, Weight::Regular, wide).len();
    let used = ui.canvas.line_height(size) * lines as f32 / unit;
    let room = page(ui, heading, (640.0, (used + 52.0 + ROW).max(190.0)));
    ui.paragraph((room.x, room.y), room.w, text, theme::BODY, theme::TEXT);
    let high = ui.units(ROW);
    let row = Rect::new(room.x, room.bottom() - high, room.w, high);
    let answers = answers.iter();
    let answers: Vec<(Pressed, &str, bool)> = answers
        .map(|(label, pressed)| (*pressed, *label, true))
        .collect();
    let place = buttons_of(ui, row, &answers)?;
    answers.get(place).map(|(pressed, ..)| *pressed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Way;
    use crate::window::canvas::Canvas;
    use crate::window::input::{Input, KeyCode, Modifiers, Press};
    use crate::window::ui::Memory;

    #[test]
    fn the_focus_stays_with_its_answer_as_others_come() {
        let [leave, enter, alone] = [
            ("leave", Pressed::Leave),
            ("enter", Pressed::Enter),
            ("alone", Pressed::GoOn(Way::Alone)),
        ];
        let (mut canvas, mut memory) = (Canvas::new(), Memory::default());
        let mut press = |key: KeyCode, answers: &[(&str, Pressed)]| {
            canvas.begin((1_280.0, 720.0), 1.0);
            let (with, repeat) = (Modifiers::default(), false);
            let input = Input {
                keys: vec![Press { key, with, repeat }],
                ..Input::default()
            };
            let mut ui = Ui::new(&mut canvas, &input, &mut memory);
            let pressed = notice(&mut ui, "", "", answers);
            ui.finish();
            pressed
        };
        // The first of them is the outermost at the right, and the last for the keyboard.
        press(KeyCode::Tab, &[leave, enter]);
        for answers in [&[leave, enter][..], &[leave, alone, enter]] {
            assert_eq!(press(KeyCode::Enter, answers), Some(Pressed::Enter));
        }
    }
}
