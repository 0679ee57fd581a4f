//! The lobby: who is here, until the match begins. Coming back into a match waits here too.

use super::canvas::{Canvas, Rect};
use super::input::{Input, KeyCode};
use super::lan::Announcement;
use super::letters::Weight;
use super::menu::{self, Begun, Front, ROW, Rows, Wanted, button_width, buttons, line, page};
use super::ui::{Memory, Ui, wrapped};
use super::words::menu as words;
use super::{Next, Screen, theme};
use crate::bot::Level;
use crate::peer::{BUILD, Peer};
use crate::world::Setup;
use lockstep::{Ended, Event, LobbyPeer, PeerId, Status};
use replay::WayBack;
use std::collections::VecDeque;
use std::mem::discriminant;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// How this peer came to the lobby.
pub enum Kind {
    /// It opened it.
    Host {
        /// What it opened.
        wanted: Wanted,
        /// How its bots play.
        level: Level,
    },
    /// It was invited.
    Join {
        /// What the host announced, where it was found so.
        found: Option<Announcement>,
    },
    /// It comes back into a match that runs.
    Back {
        /// What an earlier run recorded.
        old: PathBuf,
    },
}

/// A match before its first turn.
pub struct Lobby {
    front: Rc<Front>,
    memory: Memory,
    /// Taken where the match goes on to its own screen.
    peer: Option<Peer>,
    kind: Kind,
    here: Vec<LobbyPeer>,
    ready: bool,
    chat: VecDeque<String>,
    typed: String,
    said: String,
    notes: Vec<String>,
    /// What the match's own screen has to hear.
    events: Vec<Event>,
    ended: Option<Ended>,
    leaving_since: Option<Duration>,
    now: Duration,
}

impl Lobby {
    /// Of a match that was begun.
    pub fn new(front: Rc<Front>, begun: Begun, kind: Kind) -> Lobby {
        let mut memory = Memory::default();
        if matches!(kind, Kind::Host { .. } | Kind::Join { .. }) {
            memory.focus(0);
        }
        Lobby {
            front,
            memory,
            peer: Some(begun.peer),
            ready: matches!(kind, Kind::Back { .. }),
            kind,
            here: Vec::new(),
            chat: begun.notes.iter().cloned().collect(),
            typed: String::new(),
            said: String::new(),
            notes: begun.notes,
            events: Vec::new(),
            ended: None,
            leaving_since: None,
            now: Duration::ZERO,
        }
    }

    /// Takes in what happened. Returns whether the match has begun.
    fn follow(&mut self) -> bool {
        let Some(peer) = &mut self.peer else {
            return false;
        };
        let events = peer.poll(|_, _| {});
        let mut began = false;
        for event in &events {
            match event {
                Event::Lobby(peers) => {
                    let before = std::mem::replace(&mut self.here, peers.clone());
                    tell_changes(&mut self.chat, &before, &self.here);
                }
                Event::Chat { from, text, .. } => say(&mut self.chat, format!("{from}: {text}")),
                Event::Started { .. } => began = true,
                Event::Ended(ended) => self.ended = Some(ended.clone()),
                Event::LinkLost { .. } | Event::PeerFault { .. } => {}
                _ => {}
            }
        }
        let is_back = matches!(self.kind, Kind::Back { .. });
        let caught_up = !matches!(
            peer.game().status(),
            Status::Lobby | Status::Loading | Status::CatchingUp { .. } | Status::Ended
        );
        keep(&mut self.events, events);
        match is_back {
            false => began,
            true => peer.is_in() && caught_up,
        }
    }

    /// Goes on to the match.
    fn enter(&mut self) -> Next {
        let Some(mut peer) = self.peer.take() else {
            return Next::Back;
        };
        self.front.withdraw();
        if let Kind::Back { old } = &self.kind {
            // The way back goes with the new recording: with the match it ends.
            if let Some(new) = peer.replay().map(WayBack::beside) {
                let old = WayBack::beside(old);
                match new.path().exists() {
                    true => old.forget(),
                    // Where it cannot be moved the old recording leads back.
                    false => drop(std::fs::rename(old.path(), new.path())),
                }
            }
        }
        peer.tell_again(std::mem::take(&mut self.events));
        let title = match self.kind {
            Kind::Host { .. } => words::HOST,
            Kind::Join { .. } | Kind::Back { .. } => words::JOIN,
        };
        Next::Replace(self.front.game(title, peer, &self.notes))
    }

    fn leave(&mut self) {
        self.front.withdraw();
        if let Some(peer) = &mut self.peer {
            peer.leave();
        }
        self.leaving_since.get_or_insert(self.now);
    }

    /// Whether leaving is done, or has taken long enough.
    fn has_left(&self) -> bool {
        let waited = self
            .leaving_since
            .map(|since| self.now.saturating_sub(since));
        waited.is_some_and(|waited| self.ended.is_some() || waited > LEAVING)
    }

    fn announce(&mut self) {
        let Kind::Host { wanted, .. } = &self.kind else {
            return;
        };
        let wanted = wanted.clone();
        let Some(ticket) = self.peer.as_mut().and_then(Peer::ticket) else {
            return;
        };
        if self.leaving_since.is_some() || self.here.is_empty() {
            return;
        }
        let taken: usize = self.here.iter().map(|peer| peer.seats.len()).sum();
        self.front.announce(&Announcement {
            host: self.front.name(),
            seats: wanted.seats,
            taken: u8::try_from(taken)
                .unwrap_or(wanted.seats)
                .min(wanted.seats),
            build: BUILD.to_owned(),
            map: wanted.setup.map,
            ticket,
        });
    }

    /// Seats of the match, where that is known.
    fn seats(&self) -> Option<u8> {
        match &self.kind {
            Kind::Host { wanted, .. } => Some(wanted.seats),
            Kind::Join { found } => found.as_ref().map(|found| found.seats),
            Kind::Back { .. } => None,
        }
    }

    /// The map, where it is known.
    fn wanted(&self) -> Option<Wanted> {
        let seats = self.seats()?;
        let setup = self.setup()?.clone();
        // A stage may be far larger than a picture of it is worth.
        let is_drawn = setup.map_seed.is_some() && !setup.scenario.is_staged();
        is_drawn.then_some(Wanted { setup, seats })
    }

    /// What is played, where it is known.
    fn setup(&self) -> Option<&Setup> {
        match &self.kind {
            Kind::Host { wanted, .. } => Some(&wanted.setup),
            Kind::Join { .. } | Kind::Back { .. } => self.peer.as_ref()?.told_setup(),
        }
    }

    /// Every seat: who has it, and whether it is their first.
    fn places(&self) -> Vec<Option<(&LobbyPeer, bool)>> {
        let known = self.here.iter().flat_map(|peer| peer.seats.iter());
        let known = known
            .map(|seat| seat.0.saturating_add(1))
            .max()
            .unwrap_or(0);
        let seats = self.seats().unwrap_or(0).max(known);
        let of = |seat: u8| {
            self.here.iter().find_map(|peer| {
                let place = peer.seats.iter().position(|own| own.0 == seat)?;
                Some((peer, place == 0))
            })
        };
        (0..seats).map(of).collect()
    }

    fn standing(&self) -> String {
        let open = self.places().iter().filter(|place| place.is_none()).count();
        let unready = self.here.iter().filter(|peer| !peer.ready).count();
        match (self.here.is_empty(), self.seats()) {
            (true, _) => words::CONNECTING.to_owned(),
            // How many seats there are is not told to who came by a ticket.
            (false, None) if unready == 0 => words::WHEN_ALL.to_owned(),
            _ => words::missing(open, unready),
        }
    }
}

impl Screen for Lobby {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        self.now = input.now;
        let front = self.front.clone();
        if self.follow() {
            return self.enter();
        }
        front.listen();
        self.announce();
        front.draw_ground(input, canvas);
        if input.closing || self.leaving_since.is_some() {
            self.leave();
        }
        if self.has_left() {
            return Next::Back;
        }
        let mut memory = std::mem::take(&mut self.memory);
        let mut ui = Ui::new(canvas, input, &mut memory);
        let done = match (&self.ended, &self.kind) {
            _ if self.leaving_since.is_some() => {
                notice(&mut ui, words::LOBBY, words::GOING, &[]).map(|_| Pressed::Leave)
            }
            (Some(ended), _) => {
                let heading = match self.kind {
                    Kind::Back { .. } => words::RETURNING,
                    _ => words::LOBBY_OVER,
                };
                let why = match self.kind {
                    Kind::Back { .. } => words::no_way_back(&ended.reason.to_string()),
                    _ => menu::sentence(&ended.reason.to_string()),
                };
                notice(&mut ui, heading, &why, &[words::BACK]).map(|_| Pressed::Leave)
            }
            (None, Kind::Back { .. }) => {
                let mut text = words::RETURNING_HOW.to_owned();
                let status = self.peer.as_mut().map(|peer| peer.game().status());
                if let Some(Status::CatchingUp { behind }) = status {
                    text = format!("{text} {}", words::behind(behind));
                }
                let heading = words::RETURNING;
                notice(&mut ui, heading, &text, &[words::CANCEL]).map(|_| Pressed::Leave)
            }
            (None, _) => self.draw(&mut ui),
        };
        let typing = ui.has_focus_on_field();
        ui.finish();
        self.memory = memory;
        match done {
            Some(Pressed::Ready) => {
                self.ready = !self.ready;
                let ready = self.ready;
                if let Some(peer) = &mut self.peer {
                    peer.game().source().set_ready(ready);
                }
            }
            Some(Pressed::Say) => {
                if let Some(peer) = &mut self.peer {
                    peer.game().source().chat(self.typed.trim());
                }
                self.typed.clear();
            }
            Some(Pressed::Copy(text)) => {
                let copied = super::copy(&text);
                self.said = match copied {
                    true => super::words::COPIED.to_owned(),
                    false => words::NOT_COPIED.to_owned(),
                };
            }
            Some(Pressed::Leave) if self.ended.is_some() => return Next::Back,
            Some(Pressed::Leave) => self.leave(),
            None if input.hit(KeyCode::Escape) && typing => self.memory.blur(),
            None if input.hit(KeyCode::Escape) && self.ended.is_some() => return Next::Back,
            None if input.hit(KeyCode::Escape) => self.leave(),
            None => {}
        }
        Next::Stay
    }

    fn may_close(&mut self) -> bool {
        self.peer.is_none() || self.has_left() || self.ended.is_some()
    }
}

enum Pressed {
    Ready,
    Say,
    Copy(String),
    Leave,
}

impl Lobby {
    fn draw(&mut self, ui: &mut Ui<'_>) -> Option<Pressed> {
        let room = page(ui, words::LOBBY, PAGE);
        let (high, gap) = (ui.units(ROW), ui.units(12.0));
        let text = ui.canvas.line_height(ui.units(theme::BODY));
        let side = ui.units(290.0).min(room.w * 0.4);
        let left = Rect::new(room.x, room.y, room.w - side - 2.0 * gap, room.h);
        let right = Rect::new(left.right() + 2.0 * gap, room.y, side, room.h);
        self.draw_map(ui, right);
        let mut pressed = None;
        let mut rows = Rows::new(left);
        self.draw_seats(ui, &mut rows);
        rows.next(ui.units(4.0), 0.0);
        if let Some(ticket) = self.peer.as_mut().and_then(Peer::ticket) {
            let row = rows.next(text, ui.units(4.0));
            let end = line(ui, row, words::INVITE, Weight::Regular, theme::FAINT);
            let beside = Rect::new(end + gap, row.y, (row.right() - end - gap).max(0.0), row.h);
            line(ui, beside, &self.said, Weight::Regular, theme::GOOD);
            let row = rows.next(high, gap);
            let wide = button_width(ui, words::COPY);
            let field = Rect::new(row.x, row.y, (row.w - wide - gap).max(0.0), row.h);
            let ticket = ticket.to_string();
            ui.canvas.rect(field, theme::FIELD);
            let inner = field.inset(ui.units(6.0));
            line(ui, inner, &ticket, Weight::Regular, theme::TEXT);
            let button = Rect::new(row.right() - wide, row.y, wide, row.h);
            if ui.button(button, words::COPY) {
                pressed = Some(Pressed::Copy(ticket));
            }
        }
        let bottom = Rect::new(left.x, left.bottom() - high, left.w, high);
        let field = Rect::new(left.x, bottom.y - gap - high, left.w, high);
        let rest = rows.rest();
        let said = Rect::new(
            rest.x,
            rest.y,
            rest.w,
            (field.y - gap / 2.0 - rest.y).max(0.0),
        );
        self.draw_chat(ui, said);
        let typed = ui.field(field, &mut self.typed, words::CHAT_HINT, CHAT_BYTES);
        if typed.entered && !self.typed.trim().is_empty() {
            pressed = Some(Pressed::Say);
        }
        let ready = match self.ready {
            true => words::I_AM_NOT,
            false => words::I_AM_READY,
        };
        let can = !self.here.is_empty();
        let used = button_width(ui, ready) + button_width(ui, words::CANCEL) + 3.0 * gap;
        let standing = Rect::new(bottom.x, bottom.y, (bottom.w - used).max(0.0), bottom.h);
        line(
            ui,
            standing,
            &self.standing(),
            Weight::Regular,
            theme::ACCENT,
        );
        match buttons(ui, bottom, &[(ready, can), (words::CANCEL, true)]) {
            Some(0) => Some(Pressed::Ready),
            Some(_) => Some(Pressed::Leave),
            None => pressed,
        }
    }

    fn draw_map(&self, ui: &mut Ui<'_>, room: Rect) {
        let side = room.w.min(room.h * 0.7).floor();
        let map = Rect::new(room.x, room.y, side, side);
        match self.wanted() {
            Some(wanted) => self.front.draw_map(&wanted, map, ui),
            None => {
                ui.canvas.rect(map, theme::FIELD);
                let inner = map.inset(ui.units(12.0));
                let at = (inner.x, inner.y);
                ui.paragraph(at, inner.w, words::MAP_UNKNOWN, theme::BODY, theme::FAINT);
            }
        }
        let mut y = map.bottom() + ui.units(8.0);
        if let Some(setup) = self.setup() {
            let terms = words::long_terms(setup);
            y += ui.paragraph((room.x, y), room.w, &terms, theme::BODY, theme::TEXT);
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

    fn draw_seats(&mut self, ui: &mut Ui<'_>, rows: &mut Rows) {
        let pings = match &mut self.peer {
            Some(peer) => peer.game().source().stats().pings,
            None => Vec::new(),
        };
        let own = self.peer.as_ref().and_then(Peer::id);
        let ping = |peer: PeerId| {
            let ping = pings.iter().find(|(of, _)| *of == peer);
            ping.map(|(_, rtt)| words::ping(*rtt))
        };
        let level = match &self.kind {
            Kind::Host { level, .. } => Some(*level),
            _ => None,
        };
        let (high, gap) = (ui.units(26.0), ui.units(2.0));
        for (seat, place) in self.places().into_iter().enumerate() {
            let row = rows.next(high, gap);
            let seat = seat as u8;
            let mark = Rect::new(row.x, row.y, high, high).inset(ui.units(3.0));
            menu::mark(ui.canvas, seat, mark);
            let column = |from: f32, to: f32| {
                let x = row.x + row.w * from;
                Rect::new(x, row.y, row.w * (to - from) - gap, row.h)
            };
            let (colour, name) = (column(0.06, 0.24), column(0.24, 0.66));
            let faint = theme::FAINT;
            line(ui, colour, theme::seat_name(seat), Weight::Regular, faint);
            let Some((peer, is_first)) = place else {
                line(ui, name, words::OPEN_SEAT, Weight::Regular, theme::OFF);
                continue;
            };
            let is_own = own == Some(peer.peer);
            if !is_first {
                let level = level.filter(|_| is_own);
                let bot = words::bot_of(&peer.name, level);
                line(ui, name, &bot, Weight::Regular, faint);
                continue;
            }
            let text = match is_own {
                true => words::yourself(&peer.name),
                false => peer.name.clone(),
            };
            line(ui, name, &text, Weight::Bold, theme::TEXT);
            let (text, colour) = match peer.ready {
                true => (words::READY, theme::GOOD),
                false => (words::NOT_READY, theme::ACCENT),
            };
            line(ui, column(0.66, 0.86), text, Weight::Regular, colour);
            let ping = ping(peer.peer);
            if ui.is_pointed_at(row) {
                let build = words::build_of(&peer.name, &peer.build);
                let build = Some((build, theme::TEXT)).filter(|_| !peer.build.is_empty());
                let told = ping.as_deref().map(words::ping_to_host);
                let told = told.map(|told| (told, theme::TEXT));
                ui.tip(row, build.into_iter().chain(told).collect());
            }
            if let Some(ping) = ping {
                line(ui, column(0.86, 1.0), &ping, Weight::Regular, faint);
            }
        }
    }

    /// The newest of what was said, as much as there is room for.
    fn draw_chat(&self, ui: &mut Ui<'_>, room: Rect) {
        let text = ui.canvas.line_height(ui.units(theme::BODY));
        let many = (room.h / text).floor().max(0.0) as usize;
        let first = self.chat.len().saturating_sub(many);
        let shown = self.chat.iter().skip(first);
        let used = text * self.chat.len().min(many) as f32;
        let mut y = room.bottom() - used;
        for said in shown {
            let row = Rect::new(room.x, y, room.w, text);
            line(ui, row, said, Weight::Regular, theme::TEXT);
            y += text;
        }
    }
}

/// A page that says one thing.
fn notice(ui: &mut Ui<'_>, heading: &str, text: &str, labels: &[&str]) -> Option<usize> {
    let room = page(ui, heading, (640.0, 190.0));
    ui.paragraph((room.x, room.y), room.w, text, theme::BODY, theme::TEXT);
    let high = ui.units(ROW);
    let row = Rect::new(room.x, room.bottom() - high, room.w, high);
    let labels: Vec<(&str, bool)> = labels.iter().map(|label| (*label, true)).collect();
    buttons(ui, row, &labels)
}

/// Keeps what the match's own screen has to hear: the lobby as it is now, the newest words, and each thing that happens
/// but once.
fn keep(kept: &mut Vec<Event>, fresh: Vec<Event>) {
    for event in fresh {
        let most = match &event {
            Event::Lobby(_) => 1,
            Event::Chat { .. } => CHAT_LINES,
            Event::LinkLost { .. } | Event::PeerFault { .. } => continue,
            _ => usize::MAX,
        };
        let alike = |kept: &Event| discriminant(kept) == discriminant(&event);
        if kept.iter().filter(|event| alike(event)).count() >= most {
            let oldest = kept.iter().position(alike);
            oldest.map(|oldest| kept.remove(oldest));
        }
        kept.push(event);
    }
}

fn say(chat: &mut VecDeque<String>, text: String) {
    let text: String = text
        .chars()
        .filter(|letter| lockstep::is_shown(*letter))
        .collect();
    chat.push_back(text);
    while chat.len() > CHAT_LINES {
        chat.pop_front();
    }
}

fn tell_changes(chat: &mut VecDeque<String>, before: &[LobbyPeer], now: &[LobbyPeer]) {
    let lacks = |all: &[LobbyPeer], peer: &LobbyPeer| all.iter().all(|one| one.peer != peer.peer);
    // Whoever comes in finds others there: that is no news.
    if !before.is_empty() {
        for peer in now.iter().filter(|peer| lacks(before, peer)) {
            say(chat, words::came(&peer.name));
        }
    }
    for peer in before.iter().filter(|peer| lacks(now, peer)) {
        say(chat, words::went(&peer.name));
    }
}

/// How large the lobby is, in units.
const PAGE: (f32, f32) = (1_040.0, 540.0);
/// How long leaving may take.
const LEAVING: Duration = Duration::from_secs(6);
/// What the session's default limit lets through.
const CHAT_BYTES: usize = 200;
const CHAT_LINES: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::sight::SIZES;
    use lockstep::Seat;

    #[test]
    fn a_flood_in_the_lobby_fills_no_memory() {
        let mut kept = Vec::new();
        let chat = |text: String| Event::Chat {
            from: "Ada".to_owned(),
            seat: None,
            text,
        };
        for number in 0..10_000 {
            let peer = PeerId([1; 32]);
            let fault = lockstep::Fault::Flood;
            let lobby = Event::Lobby(Vec::new());
            keep(
                &mut kept,
                vec![
                    lobby,
                    chat(number.to_string()),
                    Event::PeerFault { peer, fault },
                ],
            );
        }
        assert_eq!(kept.len(), 1 + CHAT_LINES);
        assert!(kept.contains(&chat("9999".to_owned())), "the newest stay");
    }

    #[test]
    fn the_builds_of_seven_guests_have_room_and_are_told_where_one_points_at_them() {
        let folder = tempfile::tempdir().unwrap();
        let common = crate::cli::Common {
            map_seed: Some(4_711),
            ..crate::cli::Common::default()
        };
        let front = Rc::new(Front::at(
            crate::window::places::Places::at(folder.path()),
            &common,
        ));
        let setup = crate::peer::setup(&common);
        let mut canvas = Canvas::new();
        let guest = |seat: u8, name: String, build: String| LobbyPeer {
            peer: PeerId([seat; 32]),
            name,
            build,
            seats: vec![Seat(seat)],
            ready: false,
        };
        let short = (1..8).map(|seat| guest(seat, format!("G{seat}"), "other 2".to_owned()));
        let long = (1..8).map(|seat| {
            let build = format!("{seat} {}", "unheard-of ".repeat(6));
            guest(seat, "M".repeat(31) + &seat.to_string(), build)
        });
        for (here, all_told) in [(short.collect::<Vec<_>>(), true), (long.collect(), false)] {
            let builds: Vec<String> = here.iter().map(|peer| peer.build.clone()).collect();
            let mut lobby = Lobby {
                front: front.clone(),
                memory: Memory::default(),
                peer: None,
                kind: Kind::Host {
                    wanted: Wanted {
                        setup: setup.clone(),
                        seats: 8,
                    },
                    level: Level::Easy,
                },
                here,
                ready: false,
                chat: VecDeque::new(),
                typed: String::new(),
                said: String::new(),
                notes: Vec::new(),
                events: Vec::new(),
                ended: None,
                leaving_since: None,
                now: Duration::ZERO,
            };
            for size in SIZES {
                for zoom in [0.75, 1.0, 1.4] {
                    let mut frame = |mouse| {
                        canvas.begin(size, zoom);
                        let input = Input {
                            size,
                            mouse,
                            ..Input::default()
                        };
                        let mut memory = Memory::default();
                        let mut ui = Ui::new(&mut canvas, &input, &mut memory);
                        lobby.draw(&mut ui);
                        let room = page(&mut ui, "", PAGE);
                        ui.finish();
                        (room, canvas.texts().to_vec())
                    };
                    let (room, texts) = frame(None);
                    for text in texts.iter().filter(|text| text.area.y > room.y) {
                        let bottom = text.area.bottom();
                        assert!(bottom <= room.bottom() + 1.0, "{size:?} x {zoom}: {text:?}");
                    }
                    let all: Vec<&str> = texts.iter().map(|text| text.text.as_str()).collect();
                    let all = all.join(" ");
                    assert_eq!(
                        all.contains("G1, G2, G3, G4, G5, G6, G7: other 2."),
                        all_told
                    );
                    assert_eq!(all.contains("7 others run something else"), !all_told);
                    let name = texts
                        .iter()
                        .filter(|text| text.text.starts_with(['G', 'M']));
                    for (seat, name) in name
                        .filter(|text| text.area.x < room.centre().0)
                        .enumerate()
                    {
                        let (_, texts) = frame(Some(name.area.centre()));
                        let above = texts.iter().filter(|text| text.above);
                        let tip: Vec<&str> = above.map(|text| text.text.as_str()).collect();
                        let tip = tip.join(" ");
                        assert!(
                            tip.contains(builds[seat].trim()),
                            "{size:?} x {zoom}: {tip}"
                        );
                    }
                }
            }
        }
    }
}
