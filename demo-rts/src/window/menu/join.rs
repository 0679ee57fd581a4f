//! The page of a match to join, by ticket or from the local network.

use super::front::{Front, sentence};
use super::kit::{self, ROW, Rows, buttons, page};
use crate::options;
use crate::peer::Part;
use crate::window::canvas::{Canvas, Rect};
use crate::window::input::{Input, KeyCode};
use crate::window::lan::Announcement;
use crate::window::letters::Weight;
use crate::window::lobby::{Kind, Lobby};
use crate::window::ui::{Memory, Ui};
use crate::window::words::menu as words;
use crate::window::{Next, Screen, theme};
use lockstep::{MatchId, PeerId, Ticket};
use std::rc::Rc;

pub struct Joining {
    front: Rc<Front>,
    memory: Memory,
    ticket: String,
    /// The chosen match and its host: its row moves as others are found.
    chosen: Option<(MatchId, PeerId)>,
    first: usize,
    message: String,
}

impl Joining {
    pub fn new(front: Rc<Front>) -> Joining {
        let mut memory = Memory::default();
        memory.focus(0);
        Joining {
            front,
            memory,
            ticket: String::new(),
            chosen: None,
            first: 0,
            message: String::new(),
        }
    }

    fn join(&mut self, ticket: &Ticket) -> Next {
        let front = &self.front;
        let listen = options::address("0.0.0.0:0").map_err(|why| why.to_string());
        let begun = listen.and_then(|listen| {
            let part = Part::Join { ticket, listen };
            let bots = front
                .common
                .bot
                .map_or(crate::peer::Bots::None, crate::peer::Bots::All);
            front.begin(&part, bots, front.common.clone(), false)
        });
        match begun {
            Ok(begun) => {
                let lobby = Lobby::new(front.clone(), begun, Kind::Join);
                Next::Replace(Box::new(lobby))
            }
            Err(why) => {
                self.message = why;
                Next::Stay
            }
        }
    }

    fn join_pasted(&mut self) -> Next {
        match self.ticket.parse::<Ticket>() {
            Ok(ticket) if ticket.is_expired(super::front::now_unix().as_secs()) => {
                self.message = sentence(&lockstep::JoinRefused::Expired.to_string());
                Next::Stay
            }
            Ok(ticket) => self.join(&ticket),
            Err(why) => {
                self.message = sentence(&why.to_string());
                Next::Stay
            }
        }
    }
}

enum Pressed {
    Ticket,
    Found(usize),
    Back,
}

impl Screen for Joining {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        let front = self.front.clone();
        front.listen();
        front.draw_ground(input, canvas);
        let found = front.found();
        let mut chosen = self.chosen.and_then(|of| row_of(of, &found));
        let mut ui = Ui::new(canvas, input, &mut self.memory);
        let room = page(&mut ui, words::JOIN, (860.0, 430.0));
        let (high, gap) = (ui.units(ROW), ui.units(12.0));
        let mut rows = Rows::new(room);
        let row = rows.next(high, ui.units(6.0));
        let paste = kit::button_width(&ui, words::PASTE);
        let join = kit::button_width(&ui, words::JOIN_IT);
        let field = Rect::new(
            row.x,
            row.y,
            (row.w - paste - join - 2.0 * gap).max(0.0),
            row.h,
        );
        let mut pressed = None;
        let typed = ui.field(field, &mut self.ticket, words::TICKET_HINT, TICKET_BYTES);
        if typed.changed {
            self.message.clear();
        }
        let area = Rect::new(field.right() + gap, row.y, paste, row.h);
        if ui.button(area, words::PASTE) {
            match crate::window::clipboard() {
                Some(text) => {
                    self.ticket = text.trim().chars().take(TICKET_BYTES).collect();
                    self.message.clear();
                }
                None => self.message = words::NOTHING_TO_PASTE.to_owned(),
            }
        }
        let area = Rect::new(row.right() - join, row.y, join, row.h);
        if ui.button_if(area, words::JOIN_IT, !self.ticket.is_empty()) || typed.entered {
            pressed = Some(Pressed::Ticket);
        }
        let line = ui.canvas.line_height(ui.units(theme::BODY));
        let message = rows.next(line * 2.0, gap);
        ui.paragraph(
            (message.x, message.y),
            message.w,
            &self.message,
            theme::BODY,
            theme::BAD,
        );
        let row = rows.next(line, ui.units(6.0));
        kit::line(&mut ui, row, words::ON_NETWORK, Weight::Bold, theme::TEXT);
        let news = front.network_news();
        let rest = rows.rest();
        let below = high + gap + (line + ui.units(2.0)) * news.len().max(1) as f32;
        let list = Rect::new(rest.x, rest.y, rest.w, (rest.h - below).max(0.0));
        let lines: Vec<String> = found.iter().map(line_of).collect();
        let double = input.pressed.iter().any(|click| click.double);
        let hit = ui.list(list, &lines, &mut chosen, &mut self.first);
        self.chosen = chosen.and_then(|row| found.get(row)).map(key_of);
        if let Some(place) = hit.filter(|_| double || input.hit_enter().is_some()) {
            pressed = Some(Pressed::Found(place));
        }
        let mut y = list.bottom() + ui.units(4.0);
        for text in &news {
            let row = Rect::new(rest.x, y, rest.w, line);
            kit::line(&mut ui, row, text, Weight::Regular, theme::FAINT);
            y += line + ui.units(2.0);
        }
        let row = Rect::new(room.x, room.bottom() - high, room.w, high);
        let labels = [(words::JOIN_IT, chosen.is_some()), (words::BACK, true)];
        match buttons(&mut ui, row, &labels) {
            Some(0) => pressed = chosen.map(Pressed::Found),
            Some(_) => pressed = Some(Pressed::Back),
            None => {}
        }
        ui.finish();
        match pressed {
            Some(Pressed::Ticket) => self.join_pasted(),
            Some(Pressed::Found(place)) => match found.get(place) {
                Some(found) => self.join(&found.ticket.clone()),
                None => Next::Stay,
            },
            Some(Pressed::Back) => Next::Back,
            None if input.hit(KeyCode::Escape) => Next::Back,
            None => Next::Stay,
        }
    }
}

/// What tells a match from all others. The host is a part of it: another player may announce the match as its own.
fn key_of(found: &Announcement) -> (MatchId, PeerId) {
    (found.ticket.match_id, found.ticket.host)
}

/// The row of a match in this frame.
fn row_of(of: (MatchId, PeerId), found: &[Announcement]) -> Option<usize> {
    found.iter().position(|found| key_of(found) == of)
}

fn line_of(found: &Announcement) -> String {
    words::found(
        &found.host,
        found.taken,
        found.seats,
        found.map,
        &found.build,
    )
}

/// Longer than any ticket, so that a longer text is refused and not cut.
const TICKET_BYTES: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_match_stays_chosen_as_others_come_and_go() {
        let announced = |number: u8, host: u8| Announcement {
            host: "Ada".to_owned(),
            seats: 2,
            taken: 1,
            build: "test".to_owned(),
            map: None,
            is_open: true,
            ticket: Ticket {
                match_id: MatchId([number; 16]),
                host: PeerId([host; 32]),
                secret: [0; 16],
                addresses: Vec::new(),
                expires_unix_s: 0,
            },
        };
        let (first, second) = (announced(1, 1), announced(2, 2));
        let chosen = key_of(&second);
        let impostor = announced(2, 3);
        assert_eq!(row_of(chosen, &[first, impostor, second.clone()]), Some(2));
        assert_eq!(row_of(chosen, &[second]), Some(0));
        assert_eq!(row_of(chosen, &[announced(2, 3)]), None);
    }
}
