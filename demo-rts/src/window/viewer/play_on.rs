//! Playing on from the moment that the viewer shows: in which seat, and against whom.

use super::{Going, Viewer, words};
use crate::cli::Common;
use crate::exit::Problem;
use crate::peer::{Bots, Peer, user_name};
use crate::play_on::{Found, find};
use crate::window::canvas::{Canvas, Rect};
use crate::window::game::{Farewell, Game};
use crate::window::input::{Input, KeyCode};
use crate::window::letters::Weight;
use crate::window::menu::{
    LEVELS, ROW, Rows, buttons, choice, date, labelled, line, mark, now_unix, page, sentence,
};
use crate::window::places::{Places, name_of_continued};
use crate::window::settings::Shared;
use crate::window::ui::{Memory, Ui};
use crate::window::words::menu as menu_words;
use crate::window::{Next, Screen, theme};
use lockstep::Seat;
use replay::Recorder;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::Duration;

/// What a match that is begun from the viewer needs beside the replay.
#[derive(Clone, Default)]
pub struct Beyond {
    /// Where it is recorded.
    pub places: Places,
    /// The options of the command line.
    pub common: Common,
    /// What is told of it after the window has closed.
    pub farewell: Rc<RefCell<Farewell>>,
}

impl Beyond {
    /// With the files of this user.
    pub fn of_user() -> Beyond {
        Beyond {
            places: Places::of_user(),
            ..Beyond::default()
        }
    }
}

impl Viewer {
    /// With what a match needs that is begun from here.
    pub fn with(self, beyond: Beyond) -> Viewer {
        let beyond = Some(beyond);
        Viewer { beyond, ..self }
    }

    /// Leads to where one plays on from the moment that is shown.
    pub(super) fn play_on(&mut self) {
        let Some(beyond) = self.beyond.clone() else {
            return;
        };
        if self.reel.world().is_none() || self.reel.is_seeking() {
            return;
        }
        self.going = Going::Still;
        let turn = self.reel.turn();
        let time = self.reel.reader().time_of(lockstep::TurnNumber(turn));
        let names = self.names.clone().into_iter().collect();
        let page = PlayOn::new(
            &self.path,
            (turn, time),
            names,
            self.settings.clone(),
            beyond,
        );
        self.next = Some(Box::new(page));
    }
}

/// The page.
pub struct PlayOn {
    path: PathBuf,
    turn: u32,
    time: Duration,
    names: Vec<(Seat, String)>,
    settings: Shared,
    beyond: Beyond,
    looking: Looking,
    /// Seats that are still in the match.
    seats: Vec<Seat>,
    chosen: Option<usize>,
    first: usize,
    level: usize,
    memory: Memory,
    said: String,
}

/// How far the moment is looked up.
enum Looking {
    For(Receiver<Result<Found, Problem>>),
    Found(Box<Found>),
    Nothing,
}

impl PlayOn {
    /// Before this turn of a replay. `names` are the seats' as the viewer shows them.
    pub fn new(
        path: &Path,
        (turn, time): (u32, Duration),
        names: Vec<(Seat, String)>,
        settings: Shared,
        beyond: Beyond,
    ) -> PlayOn {
        let mut page = PlayOn {
            path: path.to_owned(),
            turn,
            time,
            names,
            settings,
            beyond,
            looking: Looking::Nothing,
            seats: Vec::new(),
            chosen: None,
            first: 0,
            level: 1,
            memory: Memory::default(),
            said: String::new(),
        };
        page.look_up();
        page
    }

    /// The world of the moment may take a while: frames do not wait for it.
    fn look_up(&mut self) {
        let (done, found) = sync_channel(1);
        let (path, turn) = (self.path.clone(), self.turn);
        let thread = std::thread::Builder::new().name("moment".to_owned());
        let begun = thread.spawn(move || {
            // Nobody is left to be told where the page was left.
            let _ = done.send(find(&path, Some(turn)));
        });
        match begun {
            Ok(_) => self.looking = Looking::For(found),
            Err(why) => self.said = sentence(&why.to_string()),
        }
    }

    fn poll(&mut self) {
        let Looking::For(coming) = &self.looking else {
            return;
        };
        match coming.try_recv() {
            Err(TryRecvError::Empty) => {}
            Ok(Ok(found)) => {
                let seats = found.world().seats().filter(|seat| !seat.defeated);
                self.seats = seats.map(|seat| seat.seat).collect();
                let usual = found.seat(None, self.beyond.common.identity.as_deref());
                let usual = usual.ok();
                let chosen = self.seats.iter().position(|seat| Some(*seat) == usual);
                self.chosen = self.chosen.or(chosen);
                self.looking = Looking::Found(Box::new(found));
                self.memory.focus(START_FOCUS);
            }
            Ok(Err(why)) => {
                self.said = sentence(&why.to_string());
                self.looking = Looking::Nothing;
            }
            Err(TryRecvError::Disconnected) => {
                self.said = words::NO_MOMENT.to_owned();
                self.looking = Looking::Nothing;
            }
        }
    }

    fn start(&mut self) -> Next {
        let seat = self.chosen.and_then(|place| self.seats.get(place)).copied();
        let (Some(seat), Looking::Found(_)) = (seat, &self.looking) else {
            return Next::Stay;
        };
        let Looking::Found(found) = std::mem::replace(&mut self.looking, Looking::Nothing) else {
            return Next::Stay;
        };
        match self.begin(*found, seat) {
            Ok((peer, notes)) => {
                let (settings, farewell) = (self.settings.clone(), self.beyond.farewell.clone());
                let game = Game::new(peer, words::PLAY_ON, &notes, settings, farewell);
                Next::Replace(Box::new(game))
            }
            Err(why) => {
                self.look_up();
                self.said = sentence(&why.to_string());
                Next::Stay
            }
        }
    }

    fn begin(&self, found: Found, seat: Seat) -> Result<(Peer, Vec<String>), Problem> {
        let mut common = self.beyond.common.clone();
        let called = self.settings.borrow().name.trim().to_owned();
        let name = match called.is_empty() {
            true => user_name(),
            false => called,
        };
        let mut notes = Vec::new();
        let recorder = match self.beyond.places.try_replays() {
            Ok(folder) => {
                let start = found.start().clone();
                let called = name_of_continued(&date(now_unix()), &start, &name, self.time);
                let recorder = Recorder::create_in(&folder, &called);
                Some(recorder.map_err(|source| Problem::Record {
                    path: folder,
                    source,
                })?)
            }
            Err(why) => {
                notes.push(menu_words::unrecorded(&why));
                None
            }
        };
        common.name = Some(name);
        let level = LEVELS[self.level];
        let bots = match common.bot {
            Some(first) => Bots::FirstAndOthers(first, level),
            None => Bots::AllButFirst(level),
        };
        let peer = found.begin(seat, bots, &common, recorder)?;
        Ok((peer, notes))
    }

    fn name(&self, seat: Seat) -> String {
        let known = self.names.iter().find(|(of, _)| *of == seat);
        let name = known.map_or("", |(_, name)| name.as_str());
        words::seat_to_take(seat, name)
    }
}

impl Screen for PlayOn {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        self.poll();
        let whole = canvas.whole();
        canvas.rect(whole, theme::GROUND);
        let lines: Vec<String> = self.seats.iter().map(|seat| self.name(*seat)).collect();
        let mut ui = Ui::new(canvas, input, &mut self.memory);
        let room = page(&mut ui, words::PLAY_ON, (720.0, 430.0));
        let (high, gap) = (ui.units(ROW), ui.units(12.0));
        let text = ui.canvas.line_height(ui.units(theme::BODY));
        let mut rows = Rows::new(room);
        let about = words::play_on_from(self.turn, self.time);
        let row = rows.next(text, gap);
        line(&mut ui, row, &about, Weight::Bold, theme::TEXT);
        let area = labelled(&mut ui, rows.next(high, gap), menu_words::LEVEL);
        choice(
            &mut ui,
            area,
            &LEVELS.map(menu_words::level),
            &mut self.level,
        );
        let row = rows.next(text, gap / 2.0);
        let heading = match self.looking {
            Looking::For(_) => words::LOOKING_UP,
            _ => words::YOUR_SEAT,
        };
        line(&mut ui, row, heading, Weight::Bold, theme::TEXT);
        let rest = rows.rest();
        let below = high + gap;
        let list = Rect::new(rest.x, rest.y, rest.w, (rest.h - below).max(0.0));
        if self.said.is_empty() {
            let seats = &self.seats;
            let sign = |canvas: &mut Canvas, place: usize, area: Rect| {
                if let Some(seat) = seats.get(place) {
                    mark(canvas, theme::of(*seat), area);
                }
            };
            ui.marked_list(list, &lines, Some(&sign), &mut self.chosen, &mut self.first);
        } else {
            ui.paragraph(
                (list.x, list.y),
                list.w,
                &self.said,
                theme::BODY,
                theme::BAD,
            );
        }
        let able = matches!(self.looking, Looking::Found(_)) && self.chosen.is_some();
        let row = Rect::new(room.x, room.bottom() - high, room.w, high);
        let pressed = buttons(
            &mut ui,
            row,
            &[(menu_words::START, able), (menu_words::BACK, true)],
        );
        ui.finish();
        match pressed {
            Some(0) => self.start(),
            Some(_) => Next::Back,
            None if input.hit(KeyCode::Escape) => Next::Back,
            None => Next::Stay,
        }
    }
}

/// The button that starts: three levels, the list and the way back come before it.
const START_FOCUS: usize = 3 + 1 + 1;
