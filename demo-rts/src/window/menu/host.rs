//! The page of a match to host.

use super::front::Front;
use super::kit::{ROW, Rows, buttons, choice, labelled, page};
use super::length::Length;
use super::skirmish::{LEVELS, MapChoice};
use crate::options::{self, PlanChoice};
use crate::peer::Part;
use crate::window::canvas::{Canvas, Rect};
use crate::window::input::{Input, KeyCode};
use crate::window::lobby::{Kind, Lobby};
use crate::window::ui::{Memory, Ui};
use crate::window::words::menu as words;
use crate::window::{Next, Screen, theme};
use lockstep::log::{Absent, OnDesync, OnSlow, Terms};
use std::rc::Rc;

pub struct Hosting {
    front: Rc<Front>,
    memory: Memory,
    seats: usize,
    bots: usize,
    level: usize,
    place: MapChoice,
    length: Length,
    address: String,
    plan: usize,
    on_slow: usize,
    on_desync: usize,
    absent: usize,
    message: String,
}

impl Hosting {
    /// With the defaults.
    pub fn new(front: Rc<Front>) -> Hosting {
        let mut memory = Memory::default();
        memory.focus(0);
        let wanted = front.common.plan.map(|plan| plan.to_string());
        let plan = PLANS
            .iter()
            .position(|plan| Some(*plan) == wanted.as_deref());
        Hosting {
            place: MapChoice::of(&front.common),
            length: Length::of(&front.common),
            front,
            memory,
            seats: 0,
            bots: 0,
            level: 1,
            address: "0.0.0.0:0".to_owned(),
            plan: plan.unwrap_or(0),
            on_slow: 0,
            on_desync: 0,
            absent: 0,
            message: String::new(),
        }
    }

    fn open(&mut self) -> Result<Next, String> {
        let front = &self.front;
        let seats = self.seats as u8 + 2;
        let bots = self.bots as u8;
        let listen = options::address(self.address.trim()).map_err(|why| why.to_string())?;
        let seed = self.place.seed().ok_or(words::BAD_SEED)?;
        if bots + 1 >= seats {
            return Err(words::NO_SEAT_LEFT.to_owned());
        }
        let mut common = front.common.clone();
        common.map_seed = Some(seed);
        common.map = Some(self.place.kind());
        common.minutes = Some(self.length.minutes());
        let plan = options::plan_choice(PLANS[self.plan]);
        common.plan = Some(plan.map_err(|why| why.to_string())?);
        let level = LEVELS[self.level];
        let part = Part::Host {
            terms: Terms {
                seats,
                on_slow: match self.on_slow {
                    0 => OnSlow::Meter,
                    _ => OnSlow::Remove,
                },
                on_desync: match self.on_desync {
                    0 => OnDesync::RemoveMinority,
                    _ => OnDesync::Pause,
                },
                absent: match self.absent {
                    0 => Absent::Idle,
                    _ => Absent::Ai,
                },
                ..Terms::default()
            },
            bots,
            listen,
        };
        let kind = Kind::host(seats, &common);
        let begun = front.begin(&part, front.bots(level, bots > 0), common, false)?;
        let lobby = Lobby::new(front.clone(), begun, kind);
        Ok(Next::Replace(Box::new(lobby)))
    }
}

impl Screen for Hosting {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        let front = self.front.clone();
        front.listen();
        front.draw_ground(input, canvas);
        let mut ui = Ui::new(canvas, input, &mut self.memory);
        let room = page(&mut ui, words::HOST, (980.0, 590.0));
        let left = self.place.show(&mut ui, &front, room, self.seats as u8 + 2);
        // Eleven rows and the buttons must fit into a small window.
        let least = ui.units(3.0);
        let high = ui.units(ROW).min((left.h - 11.0 * least) / 12.0);
        let gap = ((left.h - 12.0 * high) / 11.0).clamp(least, ui.units(10.0));
        let mut rows = Rows::new(left);
        let area = labelled(&mut ui, rows.next(high, gap), words::SEATS);
        choice(
            &mut ui,
            area,
            &["2", "3", "4", "5", "6", "7", "8"],
            &mut self.seats,
        );
        let area = labelled(&mut ui, rows.next(high, gap), words::BOTS);
        let counts = ["0", "1", "2", "3", "4", "5", "6"];
        // At least one seat stays free for a joiner.
        choice(&mut ui, area, &counts[..=self.seats], &mut self.bots);
        self.bots = self.bots.min(self.seats);
        let area = labelled(&mut ui, rows.next(high, gap), words::BOTS_PLAY);
        choice(&mut ui, area, &LEVELS.map(words::level), &mut self.level);
        self.place.rows(&mut ui, &mut rows, (high, gap));
        self.length.row(&mut ui, &mut rows, (high, gap));
        let area = labelled(&mut ui, rows.next(high, gap), words::ADDRESS);
        ui.field(area, &mut self.address, words::ADDRESS_HINT, ADDRESS_BYTES);
        let area = labelled(&mut ui, rows.next(high, gap), words::PLAN);
        let answered = PLANS.map(|plan| match options::plan_choice(plan) {
            Ok(PlanChoice::Fixed(plan)) => words::answered_within(plan.latency().as_millis()),
            _ => words::ADAPTIVE.to_owned(),
        });
        let labels = answered.each_ref().map(String::as_str);
        choice(&mut ui, area, &labels, &mut self.plan);
        if input.mouse.is_some_and(|at| area.contains(at)) {
            ui.tip(area, vec![(words::PLAN_TIP.to_owned(), theme::TEXT)]);
        }
        let area = labelled(&mut ui, rows.next(high, gap), words::ON_SLOW);
        let fates = [words::METER, words::REMOVE];
        choice(&mut ui, area, &fates, &mut self.on_slow);
        let area = labelled(&mut ui, rows.next(high, gap), words::ON_DESYNC);
        let fates = [words::REMOVE_MINORITY, words::END_FOR_ALL];
        choice(&mut ui, area, &fates, &mut self.on_desync);
        let area = labelled(&mut ui, rows.next(high, gap), words::ABSENT);
        let fates = [words::SEAT_IDLE, words::BOT_PLAYS];
        choice(&mut ui, area, &fates, &mut self.absent);
        let rest = rows.rest();
        let row = Rect::new(room.x, left.bottom() - high, left.w, high);
        let message = Rect::new(rest.x, rest.y, rest.w, (row.y - rest.y).max(0.0));
        ui.paragraph(
            (message.x, message.y),
            message.w,
            &self.message,
            theme::BODY,
            theme::BAD,
        );
        let pressed = buttons(&mut ui, row, &[(words::OPEN, true), (words::BACK, true)]);
        ui.finish();
        match pressed {
            Some(0) => self.open().unwrap_or_else(|why| {
                self.message = super::front::sentence(&why);
                Next::Stay
            }),
            Some(_) => Next::Back,
            None if input.hit(KeyCode::Escape) => Next::Back,
            None => Next::Stay,
        }
    }
}

const PLANS: [&str; 4] = ["adaptive", "100x2", "200x2", "400x2"];
const ADDRESS_BYTES: usize = 64;
