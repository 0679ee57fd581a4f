//! A match on the terminal: a person plays, or watches a bot.

use crate::exit::{self, Problem};
use crate::facts::Facts;
use crate::home::look_at_first;
use crate::names::name_seats;
use crate::news::News;
use crate::output::{EndLine, Line};
use crate::peer::{NewRun, Peer, Way, now};
use crate::plain;
use crate::signals::QuitRequest;
use crate::terminal::controls::{Act, Hand, KEYS, lies_in, stepped};
use crate::terminal::{Console, Screen};
use crate::world::{Effect, Tile, World};
use lockstep::{Ended, Event, Seat, Status};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Plays until the match has ended and the screen is closed. The log begins with `notes`.
///
/// # Errors
/// [`Problem::Terminal`].
pub fn run(
    mut peer: Peer,
    title: &str,
    notes: &[String],
    asked: &QuitRequest,
) -> Result<ExitCode, Problem> {
    let mut table = Table::of(&mut peer, title);
    notes.iter().for_each(|note| table.facts.note(note));
    let mut console = Console::open(asked).map_err(Problem::Terminal)?;
    loop {
        let played = table.play(&mut peer, &mut console, asked);
        let Some(run) = played.map_err(Problem::Terminal)? else {
            break;
        };
        let note = going_on(run.way());
        drop(peer);
        peer = run.begin()?;
        table = Table::of(&mut peer, title);
        table.facts.note(note);
    }
    // The lines below stay on the ordinary screen.
    drop(console);
    let Some(ended) = table.ended else {
        return Ok(ExitCode::from(exit::GOOD));
    };
    let end = Line::End(Box::new(EndLine::new(&ended, &peer.summary())));
    plain::print(&plain::text(&end).unwrap_or_default()).map_err(Problem::Terminal)?;
    if let Some(how) = peer.rejoin_hint(&ended.reason) {
        plain::print(&format!("  {how}")).map_err(Problem::Terminal)?;
    }
    if let Some(path) = &peer.summary().replay {
        plain::print(&format!(
            "  watch the replay: demo-rts watch {}",
            plain::quoted(path)
        ))
        .map_err(Problem::Terminal)?;
    }
    Ok(ExitCode::from(exit::of_end(&ended.reason)))
}

/// The screen of one player.
struct Table {
    facts: Facts,
    hand: Option<Hand>,
    notice: String,
    close: bool,
    /// The chat message being typed.
    chat: Option<String>,
    /// Why the last key did nothing.
    message: String,
    /// Why the last command was refused, and since when.
    flash: Option<(String, Instant)>,
    news: News,
    /// The corners of the part of the map on the screen, in the close view.
    shown: Option<(Tile, Tile)>,
    /// The centre of a watcher's view.
    centre: Option<Tile>,
    /// Whether the next key answers the question about leaving.
    asking: bool,
    /// Whether the player hosts a lobby.
    hosts: bool,
    /// Whether the next key names the seat of a guest to remove.
    removing: bool,
    /// Whether the player may choose how to go on after quorum loss, and is asked.
    asks_way: bool,
    /// Whether a branch was found that the player may enter.
    finds_branch: bool,
    goes_on: Option<NewRun>,
    ended: Option<Ended>,
    closing: bool,
}

impl Table {
    /// The screen of this peer before its match.
    fn of(peer: &mut Peer, title: &str) -> Table {
        // That of a branch leads players of the match there, and is for no other.
        let invites = !peer.is_back() || peer.reopens();
        let ticket = peer.ticket().filter(|_| invites);
        let ticket = ticket.map(|ticket| ticket.to_string());
        let notice = notice(ticket.as_deref(), peer.reopens());
        Table::new(title, notice, peer.has_person())
    }

    /// The screen before the match; `close` selects the close view.
    fn new(title: &str, notice: String, close: bool) -> Table {
        Table {
            facts: Facts::new(title),
            hand: None,
            notice,
            close,
            chat: None,
            message: String::new(),
            flash: None,
            news: News::default(),
            shown: None,
            centre: None,
            asking: false,
            hosts: false,
            removing: false,
            asks_way: false,
            finds_branch: false,
            goes_on: None,
            ended: None,
            closing: false,
        }
    }

    /// Plays until the match has ended, or until the peer goes on in a new run.
    fn play(
        &mut self,
        peer: &mut Peer,
        console: &mut Console,
        asked: &QuitRequest,
    ) -> std::io::Result<Option<NewRun>> {
        let mut drawn_at: Option<Instant> = None;
        loop {
            self.follow(peer);
            if asked.is_set() {
                peer.leave();
                self.closing = true;
            }
            if self.closing && self.ended.is_some() {
                return Ok(None);
            }
            if self.goes_on.is_some() {
                return Ok(self.goes_on.take());
            }
            if drawn_at.is_none_or(|at| at.elapsed() >= FRAME) {
                drawn_at = Some(now());
                self.draw(peer, console)?;
            }
            let mut key = console.key(SHORT)?;
            while let Some(pressed) = key {
                self.press(pressed, peer);
                key = console.key(Duration::ZERO)?;
            }
        }
    }

    fn follow(&mut self, peer: &mut Peer) {
        let person = peer.person();
        let mut refused = None;
        let mut lines = Vec::new();
        let (news, facts, shown) = (&mut self.news, &self.facts, self.shown);
        let events = peer.poll(|world, effects| {
            for effect in effects {
                match effect {
                    Effect::Refused { seat, reason } if Some(*seat) == person => {
                        refused = Some(*reason);
                    }
                    _ => {}
                }
            }
            let named = |seat| facts.name(seat);
            let on_screen = |tile| shown.is_some_and(|corners| lies_in(tile, corners));
            lines.extend(news.of(world, effects, person, named, on_screen));
        });
        for event in &events {
            self.facts.take(event);
            if let Event::Started { own, seats, .. } = event
                && own.len() == seats.len()
            {
                self.name_sole_person(own, person.is_some() || peer.person().is_some());
            }
            if let Event::NoQuorum { .. } = event {
                self.asks_way = peer.asks_way();
            }
            match (peer.way_after(event), event) {
                (Some(way), _) => self.go_on(way, peer),
                (None, Event::Ended(ended)) => self.ended = Some(ended.clone()),
                _ => {}
            }
        }
        self.asks_way &= peer.has_lost_quorum();
        self.finds_branch = peer.found_branch().is_some();
        self.hosts = peer.hosts_lobby();
        lines.into_iter().for_each(|line| self.facts.note(line));
        let warnings = peer.warnings().iter();
        warnings.for_each(|warning| self.facts.note(warning));
        if let Some(reason) = refused {
            self.facts.note(reason.to_string());
            self.flash = Some((reason.to_string(), now()));
        }
        self.facts.status = Some(peer.game().status());
        let person = person.filter(|_| self.hand.is_none());
        if let (Some(seat), Some(world)) = (person, peer.world()) {
            self.hand = Some(Hand::new(seat, world));
        }
        if let (None, Some(world)) = (self.centre, peer.world()) {
            self.centre = Some(home(world));
        }
        if let (Some(hand), Some(world)) = (&mut self.hand, peer.world()) {
            hand.deselect_removed(world);
        }
    }

    /// Without other persons, the person's seat is called "you".
    fn name_sole_person(&mut self, own: &[Seat], first_is_person: bool) {
        let people = own.iter().enumerate().map(|(place, seat)| {
            let is_person = place == 0 && first_is_person;
            (*seat, is_person.then(|| "you".to_owned()))
        });
        self.facts.names = name_seats(people.collect());
    }

    fn draw(&mut self, peer: &mut Peer, console: &mut Console) -> std::io::Result<()> {
        let summary = peer.summary();
        self.facts.latency = summary.latency;
        self.facts.late_turns = summary.late_turns;
        let world = peer.world();
        let prompt = self.prompt(world);
        let screen = Screen {
            facts: &self.facts,
            world,
            hand: self.hand.as_ref(),
            centre: self.centre,
            close: self.close,
            notice: &self.notice,
            prompt,
            keys: if self.hand.is_some() {
                &KEYS
            } else {
                &WATCHING
            },
        };
        let area = console.draw(&screen)?;
        self.shown = screen.shown(area);
        if let Some(hand) = &mut self.hand {
            hand.shown = self.shown;
        }
        Ok(())
    }

    fn prompt(&self, world: Option<&World>) -> String {
        if let Some(text) = &self.chat {
            return format!("to all: {text}_  (enter sends, esc cancels)");
        }
        if self.ended.is_some() {
            return format!("{}  -  press q", self.facts.standing());
        }
        if self.closing {
            return "leaving ...".to_owned();
        }
        if self.asking {
            return "leave the match?  q or y = leave  any other key = stay".to_owned();
        }
        if self.removing {
            return "remove the guest with which seat?  0 to 7  any other key = none".to_owned();
        }
        if !self.message.is_empty() {
            return self.message.clone();
        }
        if self.hosts {
            return "x = remove a guest".to_owned();
        }
        let enter = match self.finds_branch {
            true => "  B = enter the branch of others",
            false => "",
        };
        if self.asks_way {
            return format!(
                "too few players remain:  w = wait  r = reopen the match  a = go on alone, only for yourself{enter}"
            );
        }
        if self.finds_branch {
            return format!("other players went on in a branch:{enter}");
        }
        let (Some(hand), Some(world)) = (&self.hand, world) else {
            return String::new();
        };
        match &self.flash {
            Some((why, since)) if !hand.is_choosing() && since.elapsed() < FLASH => why.clone(),
            _ => hand.describe(world, |seat| self.facts.name(seat)),
        }
    }

    fn press(&mut self, key: KeyEvent, peer: &mut Peer) {
        self.message.clear();
        self.flash = None;
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            self.leave(peer);
            return;
        }
        if self.chat.is_some() {
            self.type_chat(key, peer);
            return;
        }
        let running = self.ended.is_none() && peer.world().is_some();
        if std::mem::take(&mut self.asking) && running {
            if matches!(key.code, KeyCode::Char('q' | 'y')) {
                self.leave(peer);
            }
            return;
        }
        if std::mem::take(&mut self.removing) {
            self.remove_guest(key.code, peer);
            return;
        }
        if self.choose_way(key.code, peer) {
            return;
        }
        match key.code {
            KeyCode::Char('x') if peer.hosts_lobby() => self.removing = true,
            KeyCode::Char('q') if running && !self.closing => self.asking = true,
            KeyCode::Char('q') => self.leave(peer),
            KeyCode::Char('B') if peer.found_branch().is_some() => {
                if let Some(way) = peer.enter_branch() {
                    self.go_on(way, peer);
                }
            }
            KeyCode::Char('n') if peer.gathers() => {
                peer.begin_now();
                self.message = "the match goes on once enough players are here".to_owned();
            }
            KeyCode::Char('z') => self.close = !self.close,
            KeyCode::Char('c') => self.chat = Some(String::new()),
            KeyCode::Char('p') => match peer.game().status() {
                Status::Paused => peer.game().source().resume(),
                _ => peer.game().source().pause(),
            },
            KeyCode::Char('o') if matches!(peer.game().status(), Status::Stalled { .. }) => {
                peer.game().source().wait_longer();
            }
            _ => self.command(key, peer),
        }
    }

    fn remove_guest(&mut self, key: KeyCode, peer: &mut Peer) {
        let KeyCode::Char(letter @ '0'..='9') = key else {
            return;
        };
        let seat = letter as u8 - b'0';
        self.message = match peer.remove_guest(seat) {
            true => format!("the guest with seat {seat} is removed and cannot come back"),
            false => format!("no guest has seat {seat}"),
        };
    }

    /// Takes a key about how to go on after quorum loss. Capital letters count as long as it lasts.
    fn choose_way(&mut self, key: KeyCode, peer: &Peer) -> bool {
        match key {
            KeyCode::Char('w') if self.asks_way => {
                self.asks_way = false;
                self.message =
                    "waiting for the missing players  (R = reopen  A = go on alone)".to_owned();
            }
            KeyCode::Char('r') if self.asks_way => self.go_on(Way::Reopen, peer),
            KeyCode::Char('a') if self.asks_way => self.go_on(Way::Alone, peer),
            KeyCode::Char('R') if peer.has_lost_quorum() => self.go_on(Way::Reopen, peer),
            KeyCode::Char('A') if peer.has_lost_quorum() => self.go_on(Way::Alone, peer),
            _ => return false,
        }
        true
    }

    fn go_on(&mut self, way: Way, peer: &Peer) {
        match peer.new_run(way) {
            Ok(run) => self.goes_on = Some(run),
            Err(why) => self.message = why.to_string(),
        }
    }

    fn leave(&mut self, peer: &mut Peer) {
        peer.leave();
        self.closing = true;
    }

    fn command(&mut self, key: KeyEvent, peer: &mut Peer) {
        let Some(world) = peer.world() else {
            return;
        };
        let Some(hand) = &mut self.hand else {
            let far = key.modifiers.contains(KeyModifiers::SHIFT);
            let at = self.centre.unwrap_or_else(|| home(world));
            self.centre = stepped(at, key.code, far, world.map().size()).or(self.centre);
            return;
        };
        if key.code == KeyCode::Char('k') && !hand.is_choosing() {
            match self.news.attacked_at() {
                Some(tile) => hand.cursor = tile,
                None => self.message = "no attack on you so far".to_owned(),
            }
            return;
        }
        match hand.press(key, world) {
            Act::Issue(command) => {
                if let Err(why) = peer.game().issue(command) {
                    self.facts.note(why.to_string());
                }
            }
            Act::Say(text) => self.message = text,
            Act::Moved | Act::Nothing => {}
        }
    }

    fn type_chat(&mut self, key: KeyEvent, peer: &mut Peer) {
        let Some(text) = &mut self.chat else {
            return;
        };
        match key.code {
            KeyCode::Enter => {
                if !text.trim().is_empty() {
                    peer.game().source().chat(text.trim());
                }
                self.chat = None;
            }
            KeyCode::Esc => self.chat = None,
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(letter) if text.len() + letter.len_utf8() <= CHAT_BYTES => {
                text.push(letter);
            }
            _ => {}
        }
    }
}

/// A watcher's first centre: the home of the first seat.
pub(crate) fn home(world: &World) -> Tile {
    let first = world.seats().next().map_or(Seat(0), |seat| seat.seat);
    look_at_first(first, world)
}

/// The name of a seat for people.
pub fn seat_name(seat: Seat) -> String {
    format!("seat {} ({})", seat.0, crate::terminal::colour_name(seat))
}

fn going_on(way: Way) -> &'static str {
    match way {
        Way::Reopen => "the match is being reopened: missing players come back by rejoining",
        Way::Rejoin => "looking for the player that reopens the match",
        Way::Alone => "you play on alone, in a branch: its result counts as unagreed",
        Way::Enter(_) => "entering the branch of other players: its result counts as unagreed",
    }
}

fn notice(ticket: Option<&str>, reopens: bool) -> String {
    match ticket {
        Some(ticket) if reopens => format!(
            "Waiting for the other players. A player that comes back finds this peer by the addresses beside its\n\
             recording. From elsewhere each joins with its recording and its identity of that match:\n\n\
             demo-rts join {ticket} --from REPLAY\n\n\
             n: go on without the missing players, once enough are here.\n"
        ),
        Some(ticket) => format!(
            "Waiting for the other players. They join with this command:\n\ndemo-rts join {ticket}\n\n\
             `host --ticket-file F` also writes the ticket to a file, for `demo-rts join @F`.\n"
        ),
        None => "Waiting for the match to begin.".to_owned(),
    }
}

const WATCHING: [&str; 1] = ["z zoom  arrows move (shift: far)  c chat  p pause  q leave"];
/// How long a refusal is shown above the keys.
const FLASH: Duration = Duration::from_secs(3);
const FRAME: Duration = Duration::from_millis(50);
/// How long to wait for a key: briefly, because this thread also steps ticks.
const SHORT: Duration = Duration::from_millis(5);
/// The session's default limit.
const CHAT_BYTES: usize = 200;

#[cfg(test)]
mod tests;
