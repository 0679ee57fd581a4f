//! The whole screen: one line above, the map, the panels, and the lines of help below.

use super::controls::Hand;
use super::facts::Facts;
use super::{ground, panels};
use crate::world::{Tile, World};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget, Wrap};

/// Everything that one drawing shows.
pub struct Screen<'a> {
    /// What events told.
    pub facts: &'a Facts,
    /// The world, once it is built.
    pub world: Option<&'a World>,
    /// Cursor and selection, where a person plays.
    pub hand: Option<&'a Hand>,
    /// Whether to show the map closely rather than whole.
    pub close: bool,
    /// Shown in place of the map while there is no world.
    pub notice: &'a str,
    /// What is typed or selected.
    pub prompt: String,
    /// The keys, one string a line.
    pub keys: &'a [&'a str],
}

impl Screen<'_> {
    /// Draws into `area`, however small or large it is.
    pub fn render(&self, area: Rect, buffer: &mut Buffer) {
        let keys = u16::try_from(self.keys.len()).unwrap_or(u16::MAX);
        let [top, middle, prompt, help] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(1),
            Constraint::Max(keys),
        ])
        .areas(area);
        let panel_width = if area.width >= 60 { PANEL_WIDTH } else { 0 };
        let [left, _, right] = Layout::horizontal([
            Constraint::Fill(1),
            Constraint::Length(1.min(panel_width)),
            Constraint::Length(panel_width),
        ])
        .areas(middle);
        self.draw_headline(top, buffer);
        match self.world {
            Some(world) => self.draw_map(world, left, buffer),
            None => Paragraph::new(self.notice)
                .wrap(Wrap { trim: false })
                .render(left, buffer),
        }
        if panel_width > 0 {
            panels::draw(self.facts, self.world, right, buffer);
        }
        Paragraph::new(self.prompt.as_str())
            .style(Style::new().bold())
            .render(prompt, buffer);
        let keys: Vec<Line<'_>> = self
            .keys
            .iter()
            .map(|line| Line::from(*line).dim())
            .collect();
        Paragraph::new(keys).render(help, buffer);
    }

    fn draw_headline(&self, area: Rect, buffer: &mut Buffer) {
        let facts = self.facts;
        let turn = match (facts.turn, facts.turns) {
            (Some(turn), Some(turns)) => format!("turn {turn} of {turns}"),
            (Some(turn), None) => format!("turn {turn}"),
            (None, _) => "turn -".to_owned(),
        };
        let text = format!(
            "{}  {}  {turn}  tick {}  {}",
            facts.title,
            facts.clock(),
            facts.tick,
            facts.standing()
        );
        Paragraph::new(text)
            .style(Style::new().reversed())
            .render(area, buffer);
    }

    fn draw_map(&self, world: &World, area: Rect, buffer: &mut Buffer) {
        let size = world.map().size();
        let middle = Tile::new(size / 2, size / 2);
        let cursor = self.hand.map_or(middle, |hand| hand.cursor);
        let frame = ground::Frame::new(area, size, self.close, cursor);
        ground::draw(world, &frame, self.hand, buffer);
    }
}

const PANEL_WIDTH: u16 = 33;

#[cfg(test)]
mod tests;
