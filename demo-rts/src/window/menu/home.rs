//! The first page.

use super::front::Front;
use super::host::Hosting;
use super::join::Joining;
use super::kit;
use super::options::Options;
use super::rejoin::{Offer, Offers};
use super::skirmish::Skirmish;
use super::watch::Watching;
use crate::window::canvas::{Canvas, Rect};
use crate::window::input::{Input, KeyCode};
use crate::window::letters::Weight;
use crate::window::ui::{Memory, Ui};
use crate::window::words::menu as words;
use crate::window::{Next, Screen, theme};
use std::rc::Rc;

pub struct Home {
    front: Rc<Front>,
    memory: Memory,
    offers: Option<Offers>,
    /// Why rejoining failed.
    message: Option<String>,
}

impl Home {
    pub fn new(front: Rc<Front>) -> Home {
        front.try_recording();
        let mut memory = Memory::default();
        memory.focus(0);
        Home {
            front,
            memory,
            offers: None,
            message: None,
        }
    }

    /// Opens another page; offers to rejoin are searched again after it.
    fn go(&mut self, screen: Box<dyn Screen>) -> Next {
        self.offers = None;
        self.message = None;
        Next::Push(screen)
    }

    fn rejoin(&mut self, offer: &Offer) -> Next {
        match offer.begin(&self.front) {
            Ok(screen) => self.go(screen),
            Err(why) => {
                self.message = Some(why);
                Next::Stay
            }
        }
    }
}

/// The index of the button that ends the program.
const QUIT: usize = 5;

#[derive(Clone, Copy)]
enum Pressed {
    Entry(usize),
    ComeBack,
    Forget,
}

impl Screen for Home {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        let front = self.front.clone();
        front.listen();
        front.draw_ground(input, canvas);
        // The map shows where there is nothing to read.
        let (dark, light) = ([10, 13, 18, 190], [10, 13, 18, 0]);
        canvas.quad_of(canvas.whole(), [dark, light, light, dark]);
        let offers = self.offers.get_or_insert_with(|| Offers::look(&front));
        let offer = offers.first().cloned();
        let mut ui = Ui::new(canvas, input, &mut self.memory);
        let pressed = draw(&mut ui, &front, offer.as_ref(), self.message.as_deref());
        ui.finish();
        // Escape only moves the focus to the button that ends the program.
        if input.hit(KeyCode::Escape) {
            self.memory.focus(QUIT);
        }
        match pressed {
            None => Next::Stay,
            Some(Pressed::ComeBack) => match offer {
                Some(offer) => self.rejoin(&offer),
                None => Next::Stay,
            },
            Some(Pressed::Forget) => {
                self.message = offers.forget_first().err();
                Next::Stay
            }
            Some(Pressed::Entry(0)) => self.go(Box::new(Skirmish::new(front))),
            Some(Pressed::Entry(1)) => self.go(Box::new(Hosting::new(front))),
            Some(Pressed::Entry(2)) => self.go(Box::new(Joining::new(front))),
            Some(Pressed::Entry(3)) => self.go(Box::new(Watching::new(front))),
            Some(Pressed::Entry(4)) => self.go(Box::new(Options::new(front))),
            Some(Pressed::Entry(_)) => Next::Quit,
        }
    }
}

fn draw(
    ui: &mut Ui<'_>,
    front: &Front,
    offer: Option<&Offer>,
    message: Option<&str>,
) -> Option<Pressed> {
    let (width, height) = ui.canvas.size();
    let left = (width * 0.09).max(ui.units(16.0)).round();
    let wide = ui.units(270.0).min(width - 2.0 * left);
    let found = words::join_found(front.found().len());
    let entries = [
        words::SKIRMISH,
        words::HOST,
        &found,
        words::WATCH,
        words::SETTINGS,
        words::QUIT,
    ];
    let (high, gap) = (ui.units(42.0), ui.units(10.0));
    let all = (high + gap) * entries.len() as f32 + ui.units(110.0);
    let mut y = ((height - all) / 2.0).max(ui.units(8.0)).round();
    let size = theme::TITLE * 1.5;
    let title = ui.label(
        (left, y),
        width - 2.0 * left,
        crate::window::words::TITLE,
        size,
        Weight::Bold,
        theme::TEXT,
    );
    y = title.bottom() + ui.units(2.0);
    let below = ui.label(
        (left, y),
        width - 2.0 * left,
        words::SUBTITLE,
        theme::BODY,
        Weight::Regular,
        theme::FAINT,
    );
    y = below.bottom() + ui.units(24.0);
    let mut pressed = None;
    let top = y;
    for (place, entry) in entries.iter().enumerate() {
        if ui.button(Rect::new(left, y, wide, high), entry) {
            pressed = Some(Pressed::Entry(place));
        }
        y += high + gap;
    }
    let beside = left + wide + ui.units(40.0);
    let room = Rect::new(
        beside,
        top,
        (width - beside - left).min(ui.units(520.0)),
        0.0,
    );
    let mut y = room.y;
    if let Some(offer) = offer {
        let (panel, done) = draw_offer(ui, room, offer);
        y = panel + gap;
        pressed = pressed.or(done);
    }
    let notes = front.notes();
    let notes = message.into_iter().chain(notes.iter().map(String::as_str));
    for note in notes {
        let at = (room.x, y);
        y += ui.paragraph(at, room.w, note, theme::BODY, theme::ACCENT) + gap;
    }
    let keys = (left, height - ui.units(28.0));
    ui.label(
        keys,
        width - 2.0 * left,
        words::KEYS,
        theme::SMALL,
        Weight::Regular,
        theme::FAINT,
    );
    pressed
}

/// Draws an offer to rejoin a match. Returns its lower edge.
fn draw_offer(ui: &mut Ui<'_>, room: Rect, offer: &Offer) -> (f32, Option<Pressed>) {
    let (inset, high) = (ui.units(16.0), ui.units(kit::ROW));
    let text = offer.words();
    let wide = room.w - 2.0 * inset;
    let size = ui.units(theme::BODY);
    let lines = crate::window::ui::wrapped(ui.canvas, &text, size, Weight::Regular, wide);
    let line = ui.canvas.line_height(size);
    let heading = ui.canvas.line_height(ui.units(theme::HEADING)) + ui.units(6.0);
    let all = 2.0 * inset + heading + line * lines.len() as f32 + ui.units(12.0) + high;
    let panel = Rect::new(room.x, room.y, room.w, all);
    ui.panel(panel);
    let inner = panel.inset(inset);
    let at = (inner.x, inner.y);
    ui.label(
        at,
        wide,
        words::INTERRUPTED,
        theme::HEADING,
        Weight::Bold,
        theme::ACCENT,
    );
    let at = (inner.x, inner.y + heading);
    ui.paragraph(at, wide, &text, theme::BODY, theme::TEXT);
    let row = Rect::new(inner.x, inner.bottom() - high, inner.w, high);
    let labels = [(words::REJOIN, true), (words::FORGET, true)];
    let pressed = kit::buttons(ui, row, &labels).map(|place| match place {
        0 => Pressed::ComeBack,
        _ => Pressed::Forget,
    });
    (panel.bottom(), pressed)
}
