//! The page of the settings.

use super::front::Front;
use super::kit::{self, ROW, Rows, buttons, choice, labelled, page};
use crate::window::canvas::{Canvas, Rect};
use crate::window::input::{Input, KeyCode, MouseButton};
use crate::window::letters::Weight;
use crate::window::settings::{Colours, NAME_BYTES, SCROLL_SPEEDS, ZOOMS};
use crate::window::ui::{Memory, Ui};
use crate::window::words::menu as words;
use crate::window::{Next, Screen, sound, theme};
use std::rc::Rc;

pub struct Options {
    front: Rc<Front>,
    memory: Memory,
    /// The scale of the interface. It takes effect when the slider is released, or the slider would move away from
    /// the mouse.
    zoom: f32,
}

impl Options {
    pub fn new(front: Rc<Front>) -> Options {
        let mut memory = Memory::default();
        memory.focus(0);
        let zoom = front.settings.borrow().zoom;
        Options {
            front,
            memory,
            zoom,
        }
    }
}

impl Screen for Options {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        let front = self.front.clone();
        front.listen();
        front.draw_ground(input, canvas);
        let mut settings = front.settings.borrow().clone();
        let mut ui = Ui::new(canvas, input, &mut self.memory);
        let room = page(&mut ui, words::SETTINGS, (720.0, 460.0));
        let (high, gap) = (ui.units(ROW), ui.units(10.0));
        let mut rows = Rows::new(room);
        let area = labelled(&mut ui, rows.next(high, gap), words::NAME);
        ui.field(area, &mut settings.name, "", NAME_BYTES);
        let area = labelled(&mut ui, rows.next(high, gap), words::SIZE);
        let zoom = words::percent(self.zoom);
        slider(&mut ui, area, &mut self.zoom, ZOOMS, &zoom);
        if !input.holds_button(MouseButton::Left) {
            settings.zoom = self.zoom;
        }
        let area = labelled(&mut ui, rows.next(high, gap), words::COLOURS);
        let swatches = ui.units(8.0 * 24.0);
        let half = Rect::new(area.x, area.y, (area.w - swatches - gap).max(0.0), area.h);
        let mut chosen = usize::from(settings.colours == Colours::Vivid);
        let all = [Colours::Safe, Colours::Vivid];
        choice(&mut ui, half, &all.map(words::colours), &mut chosen);
        settings.colours = all[chosen % all.len()];
        theme::set_colours(settings.colours);
        let side = ui.units(20.0);
        for seat in 0..8_u8 {
            let x = area.right() - swatches + ui.units(24.0) * f32::from(seat) + ui.units(4.0);
            let swatch = Rect::new(
                x.round(),
                (area.y + (area.h - side) / 2.0).round(),
                side,
                side,
            );
            kit::mark(ui.canvas, seat, swatch);
        }
        let area = labelled(&mut ui, rows.next(high, gap), words::VOLUME);
        let volume = match sound::trouble() {
            Some(_) => words::NO_DEVICE.to_owned(),
            None if settings.muted => words::MUTED.to_owned(),
            None => words::percent(settings.volume),
        };
        let before = settings.volume;
        slider(&mut ui, area, &mut settings.volume, (0.0, 1.0), &volume);
        if settings.volume != before {
            settings.muted = false;
            sound::play(sound::Sound::Select);
        }
        let area = labelled(&mut ui, rows.next(high, gap), words::SCROLL);
        ui.check(area, words::EDGE_SCROLL, &mut settings.edge_scroll);
        let area = labelled(&mut ui, rows.next(high, gap), words::SPEED);
        let speed = words::tiles_a_second(settings.scroll_speed);
        slider(
            &mut ui,
            area,
            &mut settings.scroll_speed,
            SCROLL_SPEEDS,
            &speed,
        );
        let area = labelled(&mut ui, rows.next(high, gap), words::WINDOW);
        ui.check(area, words::FULL_SCREEN, &mut settings.full_screen);
        let area = labelled(&mut ui, rows.next(high, gap), words::NETWORK);
        ui.check(area, words::LOCAL_NETWORK, &mut settings.local_network);
        let row = Rect::new(room.x, room.bottom() - high, room.w, high);
        if let Some(folder) = front.places.replays().and_then(|path| {
            let folder = path.parent()?.display().to_string();
            Some(words::kept_in(&folder))
        }) {
            let wide = row.w - kit::button_width(&ui, words::BACK) - gap;
            let line = Rect::new(row.x, row.y, wide, row.h);
            kit::line(&mut ui, line, &folder, Weight::Regular, theme::FAINT);
        }
        let pressed = buttons(&mut ui, row, &[(words::BACK, true)]);
        ui.finish();
        *front.settings.borrow_mut() = settings;
        let leaving = pressed.is_some() || input.hit(KeyCode::Escape);
        if leaving || input.closing {
            front.keep_settings();
        }
        match leaving {
            true => Next::Back,
            false => Next::Stay,
        }
    }
}

/// A slider, with its value as text behind it.
fn slider(ui: &mut Ui<'_>, area: Rect, value: &mut f32, (least, most): (f32, f32), text: &str) {
    let wide = ui.units(86.0);
    let gap = ui.units(14.0);
    let bar = Rect::new(area.x, area.y, (area.w - wide - gap).max(0.0), area.h);
    let mut part = (*value - least) / (most - least);
    if ui.slider(bar, &mut part) {
        *value = least + part * (most - least);
    }
    let text_area = Rect::new(bar.right() + gap, area.y, wide, area.h);
    kit::line(ui, text_area, text, Weight::Regular, theme::TEXT);
}
