//! The time limit of a match.

use super::kit::{Rows, choice, labelled};
use crate::cli::Common;
use crate::window::ui::Ui;
use crate::window::words::menu as words;
use crate::world::Setup;

/// The minutes after which the highest score wins.
#[derive(Clone, Debug)]
pub(super) struct Length {
    /// The choices, shortest first.
    minutes: Vec<u16>,
    chosen: usize,
}

impl Length {
    /// As the command line says, or else the default.
    pub fn of(common: &Common) -> Length {
        let wanted = common.minutes.unwrap_or(Setup::default().minutes);
        let mut minutes = USUAL.to_vec();
        let chosen = minutes.binary_search(&wanted).unwrap_or_else(|place| {
            minutes.insert(place, wanted);
            place
        });
        Length { minutes, chosen }
    }

    /// The chosen minutes.
    pub fn minutes(&self) -> u16 {
        self.minutes[self.chosen]
    }

    /// The number of buttons.
    pub fn buttons(&self) -> usize {
        self.minutes.len()
    }

    /// A row of buttons, with this height and gap.
    pub fn row(&mut self, ui: &mut Ui<'_>, rows: &mut Rows, (high, gap): (f32, f32)) {
        let area = labelled(ui, rows.next(high, gap), words::MINUTES);
        let labels: Vec<String> = self.minutes.iter().map(u16::to_string).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        choice(ui, area, &labels, &mut self.chosen);
    }
}

const USUAL: [u16; 5] = [10, 20, 40, 60, 120];
