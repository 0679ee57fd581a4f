//! The screen of a match that a person plays, or watches bots play.

use super::camera;
use super::exit_report::ExitReport;
use super::hand::Request;
use super::leave::{self, Answer};
use super::network::{self, Banner, LongStalls, Measured};
use super::over::{self, Choice, Played, Stage, Surrender};
use super::table::{Around, Table};
use super::talk::Talk;
use super::ways;
use crate::facts::Facts;
use crate::names::name_seats;
use crate::news::News;
use crate::peer::{BUILD, NewRun, Peer, Way};
use crate::window::canvas::{Canvas, Rect};
use crate::window::input::{Input, KeyCode};
use crate::window::lan::Announcement;
use crate::window::letters::Weight;
use crate::window::lobby::Between;
use crate::window::menu::Front;
use crate::window::samples::Samples;
use crate::window::settings::Shared;
use crate::window::sound::{self, Sound};
use crate::window::ui::{Memory, wrapped};
use crate::window::{Next, Screen, theme, words};
use crate::world::{Command, Effect, World};
use lockstep::session::Stats;
use lockstep::{Ended, Event, Match, SeatInfo, Status};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Which panel covers the match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Nothing,
    Menu,
    Help,
    /// The question about leaving.
    Leave,
    /// The choice after quorum loss.
    Ways,
    Result,
}

/// The screen of a running match.
pub struct Game {
    peer: Peer,
    /// For the screens of a new run; `None` without a network.
    front: Option<Rc<Front>>,
    /// The new run with which the peer goes on after quorum loss.
    goes_on: Option<NewRun>,
    /// Names of the lost players, and of the players of a branch that was found.
    lost: String,
    in_branch: String,
    /// The branch that this peer plays is announced on the local network.
    is_announced: bool,
    facts: Facts,
    news: News,
    settings: Shared,
    exit_report: Rc<RefCell<ExitReport>>,
    table: Option<Table>,
    talk: Talk,
    seats: Vec<SeatInfo>,
    /// Seats are assigned; only then is it known which seat's view to show.
    started: bool,
    ended: Option<Ended>,
    /// Samples of all seats, for the result.
    samples: Samples,
    over: Over,
    /// The menu asks to confirm the surrender.
    asks_surrender: bool,
    memory: Memory,
    shows_network: bool,
    /// A message in the middle, and when it ends.
    flash: Option<(String, Duration)>,
    banner: Option<(Banner, Duration)>,
    long_stalls: LongStalls,
    /// When leaving began.
    leaving: Option<Duration>,
    now: Duration,
}

impl Game {
    /// The screen of this peer; the log begins with `notes`.
    pub fn new(
        peer: Peer,
        title: &str,
        notes: &[String],
        settings: Shared,
        exit_report: Rc<RefCell<ExitReport>>,
    ) -> Game {
        let mut facts = Facts::new(title);
        notes.iter().for_each(|note| facts.note(note));
        Game {
            peer,
            front: None,
            goes_on: None,
            lost: String::new(),
            in_branch: String::new(),
            is_announced: false,
            facts,
            news: News::without_tiles(),
            settings,
            exit_report,
            table: None,
            talk: Talk::default(),
            seats: Vec::new(),
            started: false,
            ended: None,
            samples: Samples::default(),
            over: Over::Nothing,
            asks_surrender: false,
            memory: Memory::default(),
            shows_network: false,
            flash: None,
            banner: None,
            long_stalls: LongStalls::default(),
            leaving: None,
            now: Duration::ZERO,
        }
    }

    /// With the pages to show after quorum loss.
    pub fn with_front(mut self, front: Rc<Front>) -> Game {
        self.front = Some(front);
        self
    }

    /// Steps the world and handles new events.
    fn follow(&mut self) {
        let person = self.peer.person();
        let mut refused = None;
        let mut lines = Vec::new();
        let (table, news, facts) = (&mut self.table, &mut self.news, &self.facts);
        // An open panel hides the map.
        let open = self.over == Over::Nothing;
        let events = self.peer.poll(|world, effects| {
            for effect in effects {
                if let Effect::Refused { seat, reason } = effect
                    && Some(*seat) == person
                {
                    refused = Some(*reason);
                }
            }
            let Some(table) = table else {
                return;
            };
            table.step(world, effects);
            let shows = |tile| open && table.shows(tile);
            lines.extend(news.of(world, effects, person, |seat| facts.name(seat), shows));
            if let Some(tile) = news.take_alarm() {
                table.scene.effects.ping(camera::place_of(tile.centre()));
                sound::play(Sound::Alert);
            }
        });
        self.sample(&events);
        for event in &events {
            self.take(event);
        }
        lines.into_iter().for_each(|line| self.facts.note(line));
        let warnings = self.peer.warnings().iter();
        warnings.for_each(|warning| self.facts.note(warning));
        if let Some(reason) = refused {
            sound::play(Sound::Refused);
            self.say(words::refusal(reason));
        }
        self.facts.status = Some(self.peer.game().status());
        self.talk.follow(&self.facts, self.now);
        if self.table.is_none()
            && self.started
            && let Some(world) = self.peer.world()
        {
            self.table = Some(Table::new(self.peer.person(), world));
        }
    }

    fn sample(&mut self, events: &[Event]) {
        let tick = self.peer.game().ticks();
        let Some(world) = self.peer.world() else {
            return;
        };
        let issued = |seat| self.peer.given(seat);
        match events.iter().any(|event| matches!(event, Event::Ended(_))) {
            true => self.samples.end(tick, world, issued),
            false if self.ended.is_none() => self.samples.follow(tick, world, issued),
            false => {}
        }
    }

    fn take(&mut self, event: &Event) {
        if let Some(way) = self.peer.way_after(event) {
            self.go_on(way);
        }
        network::show(&mut self.banner, event, &self.facts, self.now);
        if matches!(event, Event::StallEnded { .. } | Event::Resumed { .. }) {
            // A news line is read to its end.
            self.banner.take_if(|(banner, _)| banner.ends_with_wait);
        }
        let own = self.peer.game().own_seats();
        if let Some((banner, lasts)) = self.long_stalls.take(event, own, &self.facts) {
            self.banner = Some((banner, self.now + lasts));
        }
        self.talk.follow(&self.facts, self.now);
        self.facts.take(event);
        if matches!(
            event,
            Event::Stalled { .. } | Event::StallEnded { .. } | Event::BranchFound { .. }
        ) {
            // The banner shows it for as long as it matters.
            self.talk.pass_over(&self.facts);
        }
        match event {
            Event::Started { seats, .. } => {
                self.started = true;
                self.seats.clone_from(seats);
                if self.is_alone() {
                    self.name_sole_person();
                }
            }
            Event::Chat { .. } => sound::play(Sound::Chat),
            Event::NoQuorum { missing, .. } => {
                let names = missing.iter().map(|seat| self.facts.name(*seat));
                self.lost = names.collect::<Vec<_>>().join(", ");
                if self.peer.asks_way() && self.leaving.is_none() {
                    self.open(Over::Ways);
                }
            }
            Event::BranchFound { seats, .. } => {
                let names = seats.iter().map(|seat| self.facts.name(*seat));
                self.in_branch = names.collect::<Vec<_>>().join(", ");
                if self.peer.found_branch().is_some()
                    && self.peer.asks_way()
                    && self.leaving.is_none()
                {
                    self.open(Over::Ways);
                }
            }
            Event::Ended(ended) if self.goes_on.is_none() => self.end(ended),
            _ => {}
        }
    }

    /// Without other persons, the person's seat is called "you".
    fn name_sole_person(&mut self) {
        let person = self.peer.person();
        let people = self.seats.iter().map(|info| {
            let is_person = Some(info.seat) == person;
            (info.seat, is_person.then(|| words::YOU.to_owned()))
        });
        self.facts.names = name_seats(people.collect());
    }

    /// Whether one process plays all seats.
    fn is_alone(&self) -> bool {
        let first = self.seats.first().map(|info| info.peer);
        self.seats.iter().all(|info| Some(info.peer) == first)
    }

    fn go_on(&mut self, way: Way) {
        self.over = Over::Nothing;
        match self.peer.new_run(way) {
            Ok(run) => self.goes_on = Some(run),
            Err(why) => self.say(words::title_of(&why.to_string())),
        }
    }

    /// Opens a panel, with the focus on its first button.
    fn open(&mut self, over: Over) {
        self.over = over;
        self.memory.focus(0);
    }

    /// Whether the player may choose how to go on after quorum loss.
    fn has_ways(&self) -> bool {
        self.peer.has_lost_quorum() && self.peer.can_go_on() && self.ended.is_none()
    }

    fn end(&mut self, ended: &Ended) {
        let winner = ended.outcome.and_then(|outcome| outcome.winner);
        if winner.is_some() && winner == self.peer.person() {
            sound::play(Sound::Victory);
        }
        self.ended = Some(ended.clone());
        // A result needs a world: a panic takes the world away, and a match may end before its world is built.
        self.over = match self.peer.world() {
            Some(_) => Over::Result,
            None => Over::Menu,
        };
        self.banner = None;
        self.exit_report.borrow_mut().take(ended, &mut self.peer);
    }

    fn say(&mut self, text: String) {
        self.flash = Some((text, self.now + FLASH));
    }

    fn request(&mut self, request: Request) {
        match request {
            Request::Say(text) => self.say(text),
            Request::Look(at) => {
                if let Some(table) = &mut self.table {
                    table.camera.centre = at;
                }
            }
            Request::Issue(order) => {
                let game: &mut Match<World> = self.peer.game();
                if let Err(why) = game.issue(order.command) {
                    self.say(words::title_of(&why.to_string()));
                    sound::play(Sound::Refused);
                } else {
                    sound::play(Sound::Order);
                    if let (Some(table), Some(to)) = (&mut self.table, order.to) {
                        table.scene.effects.mark(order.sign, to);
                        table.scene.motion.face(&order.ids, to);
                    }
                }
            }
        }
    }

    fn leave(&mut self) {
        self.peer.leave();
        self.leaving.get_or_insert(self.now);
        self.over = Over::Nothing;
        self.talk.cancel();
    }

    /// Surrenders on the second call: the seat is defeated, and its player may see all.
    fn surrender(&mut self) {
        if !std::mem::replace(&mut self.asks_surrender, true) {
            return;
        }
        self.over = Over::Nothing;
        if let Err(why) = self.peer.game().issue(Command::Surrender) {
            self.say(words::title_of(&why.to_string()));
        }
    }

    fn can_surrender(&self) -> Surrender {
        let seat = self.peer.person().zip(self.peer.world());
        let seat = seat.and_then(|(person, world)| world.seat(person));
        match seat {
            Some(seat) if seat.defeated || self.ended.is_some() => Surrender::Cannot,
            Some(_) if self.asks_surrender => Surrender::Asks,
            Some(_) => Surrender::Can,
            None => Surrender::Cannot,
        }
    }

    /// Keys of the match itself, not of its table.
    fn press_keys(&mut self, input: &Input) {
        if self.talk.is_typing() {
            return;
        }
        if input.hit(KeyCode::F3) {
            self.shows_network ^= true;
        }
        if self.leaving.is_some() {
            return;
        }
        if input.hit(KeyCode::F1) {
            self.over = match self.over {
                Over::Help => Over::Nothing,
                _ => Over::Help,
            };
        }
        let uses_escape = self.table.as_ref().is_some_and(Table::uses_escape);
        let uses_enter = self.table.as_ref().is_some_and(Table::uses_enter);
        if input.hit(KeyCode::Escape) {
            self.over = match self.over {
                Over::Nothing if uses_escape => Over::Nothing,
                Over::Nothing if self.has_ways() => Over::Ways,
                Over::Nothing => Over::Menu,
                _ => Over::Nothing,
            };
            self.memory.focus(0);
        } else if input.hit(KeyCode::F10) {
            self.over = Over::Menu;
        }
        if self.over != Over::Nothing {
            return;
        }
        if input.hit_enter().is_some() && !uses_enter {
            self.talk.begin();
        }
        if input.hit(KeyCode::P) {
            self.pause();
        }
        if input.hit(KeyCode::O) && matches!(self.peer.game().status(), Status::Stalled { .. }) {
            self.peer.game().source().wait_longer();
        }
    }

    fn pause(&mut self) {
        if self.ended.is_some() {
            return;
        }
        match self.peer.game().status() {
            Status::Paused => self.peer.game().source().resume(),
            _ => self.peer.game().source().pause(),
        }
    }

    fn draw_table(&mut self, input: &Input, canvas: &mut Canvas, covered: bool) {
        let alpha = self.peer.game().alpha();
        let settings = self.settings.borrow().clone();
        let (Some(world), Some(table)) = (self.peer.world(), &mut self.table) else {
            draw_waiting(canvas, self.ended.as_ref());
            return;
        };
        let around = Around {
            world,
            facts: &self.facts,
            settings: &settings,
            alpha,
            alarm: self.news.attacked_at(),
            covered,
        };
        for request in table.frame(input, canvas, around) {
            self.request(request);
        }
    }

    /// Statistics of the session; `None` without a network.
    fn stats(&mut self) -> Option<Stats> {
        (!self.is_alone()).then(|| self.peer.game().source().stats())
    }

    fn draw_message(&mut self, canvas: &mut Canvas) {
        let mut right = canvas.size().0;
        if self.shows_network {
            let measured = Measured {
                summary: self.peer.summary(),
                stats: self.stats(),
                seats: self.seats.clone(),
            };
            right = network::draw_panel(canvas, &self.facts, &measured);
        }
        let status = self.peer.game().status();
        let lasting = match self.ended {
            Some(_) => self.table.as_ref().map(|_| network::banner_after_end()),
            None if self.leaving.is_some() => Some(network::banner_while_leaving()),
            None => {
                let stats = matches!(status, Status::Stalled { .. }).then(|| self.stats());
                network::banner_for_status(&status, &self.facts, (&self.seats, stats.flatten()))
            }
        };
        let lasting = lasting.filter(|_| self.over == Over::Nothing);
        let now = self.now;
        let newest = self.banner.as_ref().filter(|(_, until)| now < *until);
        // The choice says the same, and after leaving it means nothing.
        let newest = newest.filter(|_| self.over != Over::Ways && self.leaving.is_none());
        if let Some(banner) = newest.map(|(banner, _)| banner).or(lasting.as_ref()) {
            network::draw_banner(canvas, banner, right);
        }
        if let Some((text, _)) = self.flash.as_ref().filter(|(_, until)| now < *until) {
            draw_flash(canvas, text);
        }
    }

    fn ask_way(&mut self, input: &Input, canvas: &mut Canvas) -> Option<ways::Answer> {
        let found = self.peer.found_branch();
        let branch = found.map(|_| self.in_branch.as_str());
        ways::ask(canvas, input, &mut self.memory, (&self.lost, branch))
    }

    /// Announces a branch on the local network while it is played: missing players may enter it.
    fn announce_branch(&mut self) {
        let Some(front) = self.front.clone() else {
            return;
        };
        match self.announcement() {
            Some(announcement) => {
                front.listen();
                front.announce(&announcement);
                self.is_announced = true;
            }
            None if std::mem::take(&mut self.is_announced) => {
                front.withdraw();
                front.stop_listening();
            }
            None => {}
        }
    }

    fn announcement(&mut self) -> Option<Announcement> {
        let is_over = self.ended.is_some() || self.leaving.is_some() || self.goes_on.is_some();
        self.peer.branch().filter(|_| !is_over)?;
        let ticket = self.peer.way_for_players()?;
        let own = self.seats.iter().find(|info| info.peer == ticket.host)?;
        let seats = u8::try_from(self.seats.len()).ok()?;
        let absent = u8::try_from(self.facts.left.len()).ok()?;
        Some(Announcement {
            host: own.name.clone(),
            seats,
            taken: seats.saturating_sub(absent),
            build: BUILD.to_owned(),
            map: None,
            is_open: false,
            ticket,
        })
    }

    /// Draws the panel over the match. Returns whether to leave the screen.
    fn draw_over(&mut self, input: &Input, canvas: &mut Canvas) -> bool {
        let choice = match self.over {
            Over::Nothing => {
                self.asks_surrender = false;
                None
            }
            Over::Menu => {
                let stage = match self.ended {
                    Some(_) => Stage::Over {
                        result: self.peer.world().is_some(),
                    },
                    None => Stage::Played {
                        paused: self.peer.game().status() == Status::Paused,
                        surrender: self.can_surrender(),
                    },
                };
                over::menu(canvas, input, &mut self.memory, stage)
            }
            Over::Leave => {
                match leave::ask(canvas, input, &mut self.memory) {
                    Some(Answer::Stay) if self.has_ways() => self.open(Over::Ways),
                    Some(Answer::Stay) => self.over = Over::Nothing,
                    Some(Answer::Leave) => self.leave(),
                    None => {}
                }
                None
            }
            Over::Ways => match self.ask_way(input, canvas) {
                Some(ways::Answer::Wait) => Some(Choice::Close),
                Some(ways::Answer::Enter) => {
                    if let Some(way) = self.peer.enter_branch() {
                        self.go_on(way);
                    }
                    None
                }
                Some(ways::Answer::GoOn(way)) => {
                    self.go_on(way);
                    None
                }
                Some(ways::Answer::Leave) => Some(Choice::Leave),
                None => None,
            },
            Over::Help => over::help(canvas, input, &mut self.memory).then_some(Choice::Close),
            Over::Result => match (&self.ended, self.peer.world()) {
                (Some(ended), Some(world)) => {
                    let played = Played {
                        world,
                        facts: &self.facts,
                        samples: self.samples.all(),
                        ended,
                        own: self.peer.person(),
                    };
                    over::result(canvas, input, &mut self.memory, played)
                }
                _ => None,
            },
        };
        match choice {
            Some(Choice::Close) => self.over = Over::Nothing,
            Some(Choice::Pause) => {
                self.pause();
                self.over = Over::Nothing;
            }
            Some(Choice::Result) => self.open(Over::Result),
            Some(Choice::Help) => self.open(Over::Help),
            Some(Choice::Surrender) => self.surrender(),
            Some(Choice::Leave) if self.ended.is_some() => return true,
            Some(Choice::Leave) => self.open(Over::Leave),
            None => {}
        }
        false
    }
}

impl Screen for Game {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        self.now = input.now;
        if input.closing && self.leaving.is_none() {
            self.leave();
        }
        self.follow();
        self.announce_branch();
        if self.over == Over::Ways && !self.has_ways() {
            self.over = Over::Nothing;
        }
        if let (Some(front), Some(run)) = (&self.front, self.goes_on.take()) {
            return Next::Replace(Box::new(Between::new(front.clone(), run)));
        }
        let typing = self.talk.is_typing();
        self.press_keys(input);
        let covered = self.over != Over::Nothing || typing || self.leaving.is_some();
        self.draw_table(input, canvas, covered);
        let bottom = canvas.size().1 - canvas.units(190.0);
        let quiet = Input {
            now: input.now,
            ..Input::default()
        };
        let active = if typing { input } else { &quiet };
        if let Some(text) = self.talk.frame(active, canvas, bottom) {
            self.peer.game().source().chat(&text);
        }
        self.draw_message(canvas);
        // A key of the chat line must not answer a panel that has just opened.
        let mouse_only = Input {
            keys: Vec::new(),
            typed: String::new(),
            pasted: None,
            ..input.clone()
        };
        let active = if typing { &mouse_only } else { input };
        if self.draw_over(active, canvas) {
            return Next::Back;
        }
        // A player that left by the menu returns straight to the menu below.
        let left = self.leaving.is_some() && !input.closing && self.may_close();
        if left { Next::Back } else { Next::Stay }
    }

    fn may_close(&mut self) -> bool {
        let long_stalls = self.leaving.map(|since| self.now.saturating_sub(since));
        self.ended.is_some() || long_stalls.is_some_and(|long_stalls| long_stalls > LEAVING)
    }
}

/// Shown until there is a world.
fn draw_waiting(canvas: &mut Canvas, ended: Option<&Ended>) {
    let text = match ended {
        Some(ended) => words::title_of(&ended.reason.to_string()),
        None => words::LOADING.to_owned(),
    };
    let (width, height) = canvas.size();
    let size = canvas.units(theme::TITLE);
    let wide = (width * 0.7).min(canvas.units(900.0));
    let x = ((width - wide) / 2.0).round();
    let mut y = (height * 0.2).round();
    for line in wrapped(canvas, &text, size, Weight::Bold, wide) {
        let written = canvas.text((x, y), &line, size, Weight::Bold, theme::TEXT);
        y = written.bottom();
    }
}

fn draw_flash(canvas: &mut Canvas, text: &str) {
    let size = canvas.units(theme::HEADING);
    let wide = canvas.measure(text, size, Weight::Bold);
    let (width, height) = canvas.size();
    let at = ((width - wide) / 2.0, height * 0.66);
    let gap = canvas.units(10.0);
    let high = canvas.line_height(size);
    canvas.begin_above();
    let under = Rect::new(at.0 - gap, at.1, wide + 2.0 * gap, high);
    canvas.rect(under, [8, 10, 12, 190]);
    canvas.text(at, text, size, Weight::Bold, theme::ACCENT);
}

/// How long a message is shown.
const FLASH: Duration = Duration::from_secs(3);
/// Longer than leaving takes: five seconds, and the command delay of at most 8 turns of 400 ms, which a slow
/// machine stretches fourfold.
const LEAVING: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests;
