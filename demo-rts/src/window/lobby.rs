//! The lobby: players gather until the match begins. A joiner that rejoins waits here too.

mod draw;
mod new_run;

pub use new_run::Between;

use super::canvas::Canvas;
use super::input::{Input, KeyCode};
use super::lan::Announcement;
use super::menu::{self, Begun, Front, Wanted};
use super::places::setup_of;
use super::ui::{Memory, Ui};
use super::words::menu as words;
use super::{Next, Screen};
use crate::cli::Common;
use crate::options::PlanChoice;
use crate::peer::{self, BUILD, NewRun, Part, Peer, REOPENS_FOR, Way};
use crate::world::Setup;
use draw::notice;
use lockstep::log::{EncodedLog, Start, Terms};
use lockstep::{Asker, EndReason, Ended, Event, LobbyPeer, PeerId, SeatInfo, Status};
use replay::WayBack;
use std::collections::VecDeque;
use std::mem::discriminant;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// What this peer's lobby is for.
pub enum Kind {
    /// A new match of this peer.
    Host { wanted: Wanted, plan: PlanChoice },
    /// A match that this peer joins.
    Join,
    /// A running or reopened match that this peer rejoins.
    Rejoin {
        /// The recording of an earlier run; its contacts move to the new recording.
        old: Option<PathBuf>,
    },
    /// A match that this peer reopens.
    Reopen {
        /// The setup, if it is readable.
        setup: Option<Setup>,
        /// The players of the match.
        seats: Vec<SeatInfo>,
        /// How long missing players are awaited.
        wait: Duration,
    },
}

impl Kind {
    /// The lobby of a match with these seats and options.
    pub fn host(seats: u8, common: &Common) -> Kind {
        let setup = peer::setup(common);
        Kind::Host {
            wanted: Wanted { setup, seats },
            plan: common.plan.unwrap_or_default(),
        }
    }

    /// The lobby for this part and these options. `None` for a match without one.
    pub fn of(part: &Part<'_>, common: &Common) -> Option<Kind> {
        match part {
            Part::Host { terms, .. } => Some(Kind::host(terms.seats, common)),
            Part::Join { .. } => Some(Kind::Join),
            Part::Rejoin { .. } => Some(Kind::Rejoin { old: None }),
            Part::Reopen { from, wait, .. } => {
                let start = from.log.as_ref().map(EncodedLog::start);
                Some(Kind::reopen(start, *wait))
            }
            Part::Branch { .. } | Part::Alone { .. } | Part::PlayOn { .. } => None,
        }
    }

    fn reopen(start: Option<&Arc<Start>>, wait: Duration) -> Kind {
        Kind::Reopen {
            setup: start.and_then(|start| setup_of(&start.setup)),
            seats: start.map(|start| start.seat_infos()).unwrap_or_default(),
            wait,
        }
    }

    /// The lobby of a peer that reopens the match of this recording after quorum loss.
    fn reopen_of(path: &Path) -> Kind {
        // A recording that was readable for the peer is readable here; otherwise the lobby lacks its names.
        let reader = replay::Reader::open(path).ok();
        Kind::reopen(reader.as_ref().map(|reader| reader.start()), REOPENS_FOR)
    }
}

/// A match before its first turn.
pub struct Lobby {
    front: Rc<Front>,
    memory: Memory,
    /// Taken when the match moves on to its own screen.
    peer: Option<Peer>,
    kind: Kind,
    here: Vec<LobbyPeer>,
    /// Players that ask to be let in.
    askers: Vec<Asker>,
    /// The host's player is asked to let this peer in.
    asked: bool,
    /// What the host has announced.
    terms: Option<Terms>,
    ready: bool,
    /// Quorum loss: the remaining peers cannot admit it.
    quorum_lost: bool,
    /// The new run with which the peer goes on after quorum loss.
    goes_on: Option<NewRun>,
    /// There is no screen below: the window closes behind it, and the program prints how it ended.
    is_first: bool,
    chat: VecDeque<String>,
    typed: String,
    message: String,
    notes: Vec<String>,
    /// Events that the match's own screen still needs.
    events: Vec<Event>,
    ended: Option<Ended>,
    leaving_since: Option<Duration>,
    now: Duration,
}

impl Lobby {
    /// The lobby of a match begun in the menu.
    pub fn new(front: Rc<Front>, begun: Begun, kind: Kind) -> Lobby {
        let mut memory = Memory::default();
        if matches!(kind, Kind::Host { .. } | Kind::Join) {
            memory.focus(0);
        }
        Lobby {
            front,
            memory,
            peer: Some(begun.peer),
            ready: matches!(kind, Kind::Rejoin { .. } | Kind::Reopen { .. }),
            kind,
            here: Vec::new(),
            askers: Vec::new(),
            asked: false,
            terms: None,
            quorum_lost: false,
            goes_on: None,
            is_first: false,
            chat: begun.notes.iter().cloned().collect(),
            typed: String::new(),
            message: String::new(),
            notes: begun.notes,
            events: Vec::new(),
            ended: None,
            leaving_since: None,
            now: Duration::ZERO,
        }
    }

    /// The lobby of a match begun by a command. Its peer is ready, so the match begins once all are there.
    pub fn of_command(front: Rc<Front>, begun: Begun, kind: Kind) -> Lobby {
        Lobby {
            ready: true,
            is_first: true,
            ..Lobby::new(front, begun, kind)
        }
    }

    /// Handles new events. Returns whether the match has begun.
    fn follow(&mut self) -> bool {
        let Some(peer) = &mut self.peer else {
            return false;
        };
        let events = peer.poll(|_, _| {});
        // The log of the match begins with them.
        self.notes.extend_from_slice(peer.warnings());
        let mut began = false;
        for event in &events {
            if let Some(way) = peer.way_after(event) {
                match peer.new_run(way) {
                    Ok(run) => self.goes_on = Some(run),
                    Err(why) => self.message = menu::sentence(&why.to_string()),
                }
            }
            match event {
                Event::Lobby { peers, terms } => {
                    self.terms = Some(*terms);
                    self.asked = false;
                    let before = std::mem::replace(&mut self.here, peers.clone());
                    note_changes(&mut self.chat, &before, &self.here);
                }
                Event::Askers(askers) => {
                    let before = std::mem::replace(&mut self.askers, askers.clone());
                    let is_new = |asker: &&Asker| before.iter().all(|one| one.peer != asker.peer);
                    for asker in self.askers.iter().filter(is_new) {
                        say(&mut self.chat, words::asks(&asker.name, &asker.address));
                    }
                }
                Event::Asked => self.asked = true,
                Event::Chat { from, text, .. } => say(&mut self.chat, format!("{from}: {text}")),
                Event::Started { .. } => began = true,
                Event::NoQuorum { .. } => self.quorum_lost = true,
                Event::RosterChanged { .. } | Event::StallEnded { .. } => self.quorum_lost = false,
                Event::Ended(ended) if self.goes_on.is_none() => {
                    if self.is_first {
                        self.front.exit_report.borrow_mut().take(ended, peer);
                    }
                    self.ended = Some(ended.clone());
                }
                _ => {}
            }
        }
        let is_back = matches!(self.kind, Kind::Rejoin { .. } | Kind::Reopen { .. });
        let caught_up = !matches!(
            peer.game().status(),
            Status::Lobby | Status::Loading | Status::CatchingUp { .. } | Status::Ended
        );
        keep(&mut self.events, events);
        match is_back {
            false => began,
            true => (peer.is_admitted() && caught_up) || was_decided(peer, self.ended.as_ref()),
        }
    }

    /// Moves on to the match.
    fn enter(&mut self) -> Next {
        let Some(mut peer) = self.peer.take() else {
            return Next::Back;
        };
        self.front.withdraw();
        if let Kind::Rejoin { old: Some(old) } = &self.kind {
            // The contacts move to the new recording, and end with its match.
            if let Some(new) = peer.replay().map(WayBack::beside) {
                let old = WayBack::beside(old);
                match new.path().exists() {
                    true => old.forget(),
                    // Contacts that cannot be moved stay beside the old recording.
                    false => drop(std::fs::rename(old.path(), new.path())),
                }
            }
        }
        peer.redeliver(std::mem::take(&mut self.events));
        let title = match self.kind {
            Kind::Host { .. } | Kind::Reopen { .. } => words::HOST,
            Kind::Join | Kind::Rejoin { .. } => words::JOIN,
        };
        Next::Replace(self.front.game(title, peer, &self.notes))
    }

    /// Copies the ticket, if any, for others to paste.
    fn copy_ticket(&mut self) {
        let Some(ticket) = self.peer.as_mut().and_then(Peer::ticket) else {
            return;
        };
        self.message = match super::copy(&ticket.to_string()) {
            true => super::words::COPIED.to_owned(),
            false => words::NOT_COPIED.to_owned(),
        };
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

    /// Why the match cannot go on, and what the player can do.
    fn why(&self, reason: &EndReason) -> String {
        if !matches!(self.kind, Kind::Rejoin { .. }) {
            return menu::sentence(&reason.to_string());
        }
        let why = words::cannot_rejoin(&reason.to_string());
        match self.has_ways() {
            true if matches!(reason, EndReason::Contradicted { .. }) => {
                format!("{why} {}", words::OR_ACCEPT)
            }
            true => format!("{why} {}", words::OR_GO_ON),
            false => why,
        }
    }

    /// How this player may go on, each by a button.
    fn ways(&self) -> Vec<(&'static str, Pressed)> {
        if !self.has_ways() {
            return Vec::new();
        }
        let mut ways = vec![
            (super::words::GO_ON_ALONE, Pressed::GoOn(Way::Alone)),
            (super::words::REOPEN, Pressed::GoOn(Way::Reopen)),
        ];
        let reason = self.ended.as_ref().map(|ended| &ended.reason);
        if let Some(EndReason::Contradicted { .. }) = reason {
            ways.push((super::words::ACCEPT_HISTORY, Pressed::AcceptHistory));
        }
        ways
    }

    /// Whether the player of this joiner may reopen the match, or go on alone.
    fn has_ways(&self) -> bool {
        let Some(peer) = self.peer.as_ref().filter(|peer| peer.can_go_on()) else {
            return false;
        };
        match &self.ended {
            Some(ended) => peer.rejoin_hint(&ended.reason).is_some(),
            None => self.quorum_lost,
        }
    }

    /// Goes on by the others' history, which this player's recording contradicts.
    fn accept_history(&mut self) {
        self.go_on(match self.kind {
            Kind::Reopen { .. } => Way::Reopen,
            _ => Way::Rejoin,
        });
        self.goes_on = self.goes_on.take().map(NewRun::accept_other_history);
    }

    fn go_on(&mut self, way: Way) {
        match self.peer.as_ref().map(|peer| peer.new_run(way)) {
            Some(Ok(run)) => self.goes_on = Some(run),
            Some(Err(why)) => self.message = menu::sentence(&why.to_string()),
            None => {}
        }
    }

    /// Announces a match that this peer hosts, or reopens, on the local network.
    fn announce(&mut self) {
        if let Some(announcement) = self.announcement() {
            self.front.announce(&announcement);
        }
    }

    fn announcement(&mut self) -> Option<Announcement> {
        if !matches!(self.kind, Kind::Host { .. } | Kind::Reopen { .. }) {
            return None;
        }
        let seats = self.seats()?;
        let map = self.setup().and_then(|setup| setup.map);
        let ticket = self.peer.as_mut()?.ticket()?;
        let own = self.peer.as_ref().and_then(Peer::id);
        let own = self.here.iter().find(|peer| own == Some(peer.peer));
        let own = own.filter(|_| self.leaving_since.is_none())?;
        let taken: usize = self.here.iter().map(|peer| peer.seats.len()).sum();
        Some(Announcement {
            host: own.name.clone(),
            seats,
            taken: u8::try_from(taken).unwrap_or(seats).min(seats),
            build: BUILD.to_owned(),
            map,
            is_open: matches!(self.kind, Kind::Host { .. }),
            ticket,
        })
    }

    /// Tells a joiner of players that were found on the local network.
    fn note_players_found(&mut self) {
        if let Some(peer) = self.peer.as_mut().filter(|peer| peer.seeks_match()) {
            for contact in self.front.players_found() {
                peer.note_contact(&contact);
            }
        }
    }

    /// Seats of the match, once known.
    fn seats(&self) -> Option<u8> {
        match &self.kind {
            Kind::Host { wanted, .. } => Some(wanted.seats),
            Kind::Join | Kind::Rejoin { .. } => self.terms.map(|terms| terms.seats),
            Kind::Reopen { seats, .. } => u8::try_from(seats.len()).ok(),
        }
    }

    /// The map, once known.
    fn wanted(&self) -> Option<Wanted> {
        let seats = self.seats()?;
        let setup = self.setup()?.clone();
        // A staged map may be too large for a useful picture.
        let is_drawn = setup.map_seed.is_some() && !setup.scenario.is_staged();
        is_drawn.then_some(Wanted { setup, seats })
    }

    /// The setup, once known.
    fn setup(&self) -> Option<&Setup> {
        match &self.kind {
            Kind::Host { wanted, .. } => Some(&wanted.setup),
            Kind::Reopen { setup, .. } => setup.as_ref(),
            Kind::Join | Kind::Rejoin { .. } => self.peer.as_ref()?.host_setup(),
        }
    }

    /// For every seat: its player, and whether this is their first seat.
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
        match self.here.is_empty() {
            _ if matches!(self.kind, Kind::Reopen { .. }) => {
                let peer = self.peer.as_ref();
                match peer.is_some_and(|peer| peer.takes_first_comers() && open > 0) {
                    true => words::FIRST_COMERS.to_owned(),
                    false => words::awaited(open),
                }
            }
            true if self.asked => words::ASKED.to_owned(),
            true => words::CONNECTING.to_owned(),
            false => words::missing(open, unready),
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
        if let Some(run) = self.goes_on.take() {
            self.front.withdraw();
            return Next::Replace(Box::new(Between::new(front, run)));
        }
        front.listen();
        self.announce();
        self.note_players_found();
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
            _ if self.leaving_since.is_some() => notice(&mut ui, words::LOBBY, words::LEAVING, &[]),
            (Some(ended), _) => {
                let heading = match self.kind {
                    Kind::Rejoin { .. } => words::REJOINING,
                    _ => words::LOBBY_OVER,
                };
                let why = self.why(&ended.reason);
                let label = match self.is_first {
                    true => super::words::CLOSE,
                    false => words::BACK,
                };
                self.ask(&mut ui, heading, &why, label)
            }
            (None, Kind::Rejoin { .. }) => {
                let mut text = words::REJOINING_HOW.to_owned();
                let status = self.peer.as_mut().map(|peer| peer.game().status());
                if let Some(Status::CatchingUp { behind }) = status {
                    text = format!("{text} {}.", words::behind(behind));
                }
                if self.quorum_lost {
                    text = words::TOO_FEW_LEFT.to_owned();
                }
                if self
                    .peer
                    .as_ref()
                    .is_some_and(|peer| peer.found_branch().is_some())
                {
                    text = format!("{text} {}", words::BRANCH_FOUND);
                }
                if self.has_ways() {
                    text = format!("{text} {}", words::OR_GO_ON);
                }
                if !self.here.is_empty() {
                    let names = self.here.iter().map(|peer| peer.name.as_str());
                    text = format!("{text} {}", words::are_here(names));
                }
                let heading = words::REJOINING;
                self.ask(&mut ui, heading, &text, words::CANCEL)
            }
            (None, _) => self.draw(&mut ui),
        };
        let typing = ui.has_focus_on_field();
        let copies = input.hit_with(KeyCode::C).is_some_and(|with| with.control);
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
            Some(Pressed::Copy) => self.copy_ticket(),
            Some(Pressed::GoOn(way)) => self.go_on(way),
            Some(Pressed::AcceptHistory) => self.accept_history(),
            Some(Pressed::Enter) => {
                if let Some(way) = self.peer.as_mut().and_then(Peer::enter_branch) {
                    self.go_on(way);
                }
            }
            Some(Pressed::BeginNow) => {
                if let Some(peer) = &mut self.peer {
                    peer.begin_now();
                }
            }
            Some(Pressed::Remove(guest)) => {
                if let Some(peer) = &mut self.peer {
                    peer.game().source().remove_guest(guest);
                }
            }
            Some(Pressed::Admit(asker)) => {
                if let Some(peer) = &mut self.peer {
                    peer.game().source().admit_guest(asker);
                }
            }
            Some(Pressed::Leave) if self.ended.is_some() => return Next::Back,
            Some(Pressed::Leave) => self.leave(),
            None if copies => self.copy_ticket(),
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Pressed {
    Ready,
    Say,
    Copy,
    GoOn(Way),
    /// By the others' history, which the player's recording contradicts.
    AcceptHistory,
    /// Into the branch that was found.
    Enter,
    /// With the players that came to a reopening.
    BeginNow,
    /// A guest, from this peer's lobby, or a player that asks.
    Remove(PeerId),
    /// A player that asks.
    Admit(PeerId),
    Leave,
}

/// Whether the match was decided while this peer caught up: its own screen shows the result.
fn was_decided(peer: &Peer, ended: Option<&Ended>) -> bool {
    let result = [EndReason::Decided, EndReason::TurnLimit];
    ended.is_some_and(|ended| result.contains(&ended.reason)) && peer.world().is_some()
}

/// Keeps what the match's own screen still needs: the newest state of the lobby, the newest chat, and all other
/// events.
fn keep(kept: &mut Vec<Event>, fresh: Vec<Event>) {
    for event in fresh {
        let most = match &event {
            Event::Lobby { .. } => 1,
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

fn note_changes(chat: &mut VecDeque<String>, before: &[LobbyPeer], now: &[LobbyPeer]) {
    if now.is_empty() && !before.is_empty() {
        return say(chat, words::HOST_LOST.to_owned());
    }
    let lacks = |all: &[LobbyPeer], peer: &LobbyPeer| all.iter().all(|one| one.peer != peer.peer);
    // Players present before one enters are no news.
    if !before.is_empty() {
        for peer in now.iter().filter(|peer| lacks(before, peer)) {
            say(chat, words::joined(&peer.name));
        }
    }
    for peer in before.iter().filter(|peer| lacks(now, peer)) {
        say(chat, words::left(&peer.name));
    }
}

/// Size of the lobby, in units.
const PAGE: (f32, f32) = (1_040.0, 540.0);
/// How long leaving may take.
const LEAVING: Duration = Duration::from_secs(6);
/// The session's default limit.
const CHAT_BYTES: usize = 200;
const CHAT_LINES: usize = 100;

#[cfg(test)]
mod tests;
