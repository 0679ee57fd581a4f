//! The page for playing on from the viewer's moment: the choice of seat and opponents.

use super::{Going, Viewer, words};
use crate::cli::Common;
use crate::exit::Problem;
use crate::options::plan_alone;
use crate::peer::{Bots, Peer, user_name};
use crate::play_on::{Found, find};
use crate::window::canvas::{Canvas, Rect};
use crate::window::game::{ExitReport, Game};
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

/// What a match begun from the viewer needs beside the replay.
#[derive(Clone, Default)]
pub struct MatchContext {
    /// Where to record it.
    pub places: Places,
    /// The options of the command line.
    pub common: Common,
    /// What the program prints after the window has closed.
    pub exit_report: Rc<RefCell<ExitReport>>,
}

impl MatchContext {
    /// With this user's files and no options.
    pub fn of_user() -> MatchContext {
        MatchContext {
            places: Places::of_user(),
            ..MatchContext::default()
        }
    }
}

impl Viewer {
    /// Enables matches to begin from this viewer.
    pub fn with(self, match_context: MatchContext) -> Viewer {
        let match_context = Some(match_context);
        Viewer {
            match_context,
            ..self
        }
    }

    /// Opens the page for playing on from the current moment.
    pub(super) fn play_on(&mut self) {
        let Some(match_context) = self.match_context.clone() else {
            return;
        };
        if self.reel.world().is_none() || self.reel.is_seeking() {
            return;
        }
        self.going = Going::Still;
        let turn = self.reel.turn();
        let begun = self.reel.reader().ticks_before(lockstep::TurnNumber(turn));
        let time = self.reel.time_of(begun);
        let names = self.names.clone().into_iter().collect();
        let page = PlayOn::new(
            &self.path,
            (turn, time),
            names,
            self.settings.clone(),
            match_context,
        );
        self.next = Some(Box::new(page));
    }
}

pub struct PlayOn {
    path: PathBuf,
    turn: u32,
    time: Duration,
    names: Vec<(Seat, String)>,
    settings: Shared,
    match_context: MatchContext,
    looking: Lookup,
    /// Seats that are still in the match.
    seats: Vec<Seat>,
    chosen: Option<usize>,
    first: usize,
    level: usize,
    memory: Memory,
    message: String,
}

/// The progress of building the moment's world.
enum Lookup {
    For(Receiver<Result<Found, Problem>>),
    Found(Box<Found>),
    Nothing,
}

impl PlayOn {
    /// Before this turn of a replay. `names` are those that the viewer shows.
    pub fn new(
        path: &Path,
        (turn, time): (u32, Duration),
        names: Vec<(Seat, String)>,
        settings: Shared,
        match_context: MatchContext,
    ) -> PlayOn {
        let mut page = PlayOn {
            path: path.to_owned(),
            turn,
            time,
            names,
            settings,
            match_context,
            looking: Lookup::Nothing,
            seats: Vec::new(),
            chosen: None,
            first: 0,
            level: 1,
            memory: Memory::default(),
            message: String::new(),
        };
        page.look_up();
        page
    }

    /// Building the world takes time, so frames do not wait for it.
    fn look_up(&mut self) {
        let (done, found) = sync_channel(1);
        let (path, turn) = (self.path.clone(), self.turn);
        let thread = std::thread::Builder::new().name("moment".to_owned());
        let begun = thread.spawn(move || {
            // The page may be closed.
            let _ = done.send(find(&path, Some(turn)));
        });
        match begun {
            Ok(_) => self.looking = Lookup::For(found),
            Err(why) => self.message = sentence(&why.to_string()),
        }
    }

    fn poll(&mut self) {
        let Lookup::For(coming) = &self.looking else {
            return;
        };
        match coming.try_recv() {
            Err(TryRecvError::Empty) => {}
            Ok(Ok(found)) => {
                let seats = found.world().seats().filter(|seat| !seat.defeated);
                self.seats = seats.map(|seat| seat.seat).collect();
                let identity = self.match_context.common.identity.as_deref();
                // The key need not have played in this match.
                let usual = found
                    .seat(None, identity)
                    .or_else(|_| found.seat(None, None));
                let usual = usual.ok();
                let chosen = self.seats.iter().position(|seat| Some(*seat) == usual);
                self.chosen = self.chosen.or(chosen);
                self.looking = Lookup::Found(Box::new(found));
                self.memory.focus(START_FOCUS);
            }
            Ok(Err(why)) => {
                self.message = sentence(&why.to_string());
                self.looking = Lookup::Nothing;
            }
            Err(TryRecvError::Disconnected) => {
                self.message = words::NO_MOMENT.to_owned();
                self.looking = Lookup::Nothing;
            }
        }
    }

    fn start(&mut self) -> Next {
        let seat = self.chosen.and_then(|place| self.seats.get(place)).copied();
        let (Some(seat), Lookup::Found(_)) = (seat, &self.looking) else {
            return Next::Stay;
        };
        let Lookup::Found(found) = std::mem::replace(&mut self.looking, Lookup::Nothing) else {
            return Next::Stay;
        };
        match self.begin(*found, seat) {
            Ok((peer, notes)) => {
                let (settings, exit_report) = (
                    self.settings.clone(),
                    self.match_context.exit_report.clone(),
                );
                let game = Game::new(peer, words::PLAY_ON, &notes, settings, exit_report);
                Next::Replace(Box::new(game))
            }
            Err(why) => {
                self.look_up();
                self.message = sentence(&why.to_string());
                Next::Stay
            }
        }
    }

    fn begin(&self, found: Found, seat: Seat) -> Result<(Peer, Vec<String>), Problem> {
        let mut common = self.match_context.common.clone();
        plan_alone(common.plan)?;
        let called = self.settings.borrow().name.trim().to_owned();
        let name = match called.is_empty() {
            true => user_name(),
            false => called,
        };
        let mut notes = Vec::new();
        let recorder = match self.match_context.places.try_replays() {
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
            Lookup::For(_) => words::LOOKING_UP,
            _ => words::YOUR_SEAT,
        };
        line(&mut ui, row, heading, Weight::Bold, theme::TEXT);
        let rest = rows.rest();
        let below = high + gap;
        let list = Rect::new(rest.x, rest.y, rest.w, (rest.h - below).max(0.0));
        if self.message.is_empty() {
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
                &self.message,
                theme::BODY,
                theme::BAD,
            );
        }
        let able = matches!(self.looking, Lookup::Found(_)) && self.chosen.is_some();
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

/// The index of the start button, behind three levels, the list, and Back.
const START_FOCUS: usize = 3 + 1 + 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::window::readability::until;
    use lockstep::log::{Bundle, LogStore as _, Record, Terms};
    use lockstep::quic::Identity;
    use lockstep::{Plan, TurnNumber};

    #[test]
    fn a_key_that_did_not_play_leaves_no_seat_unchosen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.replay");
        let [missing, other] = ["missing", "other"].map(|name| folder.path().join(name));
        drop(Identity::at(&other).unwrap());
        let mut log = Recorder::create(&path).unwrap();
        let start = fixture::start(Terms::default(), ["ada", "bob"]);
        log.append(&Record::Start(start.into())).unwrap();
        let idle = Bundle {
            turn: TurnNumber(0),
            plan: Plan::default(),
            paused: false,
            entries: Vec::new(),
        };
        log.append(&Record::Bundle(idle)).unwrap();
        log.close().unwrap();
        for identity in [&missing, &other] {
            let mut match_context = MatchContext {
                places: Places::at(folder.path()),
                ..MatchContext::default()
            };
            match_context.common.identity = Some(identity.clone());
            let settings = Shared::default();
            let from = (1, Duration::ZERO);
            let mut page = PlayOn::new(&path, from, Vec::new(), settings, match_context);
            until("the moment", || {
                page.poll();
                matches!(page.looking, Lookup::Found(_)).then_some(())
            });
            assert_eq!(page.chosen, Some(0), "{}", identity.display());
        }
        assert!(!missing.exists());
    }
}
