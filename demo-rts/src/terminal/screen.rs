//! The whole screen: one line above, the map, the panels, and the lines of help below.

use super::controls::Hand;
use super::facts::Facts;
use super::{flow, ground, panels};
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
    /// Shown above everything else while there is no world.
    pub notice: &'a str,
    /// What is typed or selected.
    pub prompt: String,
    /// The keys, parted by two spaces. They give way to a menu.
    pub keys: &'a [&'a str],
}

impl Screen<'_> {
    /// Draws into `area`, however small or large it is.
    pub fn render(&self, area: Rect, buffer: &mut Buffer) {
        let prompt_lines = flow::wrap(&self.prompt, area.width);
        let key_lines = flow::wrap(&self.keys.join("  "), area.width);
        let prompt_rows = rows(&prompt_lines).max(1);
        // On a very small terminal the map is worth more than the keys; an open menu is worth more than both.
        let key_rows = rows(&key_lines).min(area.height / 3);
        let choosing = self.hand.is_some_and(Hand::is_choosing);
        let key_rows = if choosing {
            // The map keeps its place where a menu needs no more room than the keys did.
            (key_rows + 1).saturating_sub(prompt_rows)
        } else {
            key_rows
        };
        let [top, middle, prompt, help] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(prompt_rows),
            Constraint::Length(key_rows),
        ])
        .areas(area);
        let middle = if self.world.is_none() {
            self.draw_notice(middle, buffer)
        } else {
            middle
        };
        let panel_width = if area.width >= 60 { PANEL_WIDTH } else { 0 };
        let [left, _, right] = Layout::horizontal([
            Constraint::Fill(1),
            Constraint::Length(1.min(panel_width)),
            Constraint::Length(panel_width),
        ])
        .areas(middle);
        self.draw_headline(top, buffer);
        if let Some(world) = self.world {
            self.draw_map(world, left, buffer);
        }
        if panel_width > 0 {
            panels::draw(self.facts, self.world, self.hand, right, buffer);
        }
        let said: Vec<Line<'_>> = prompt_lines.into_iter().map(Line::from).collect();
        Paragraph::new(said)
            .style(Style::new().bold())
            .render(prompt, buffer);
        if !choosing {
            let keys = key_lines.into_iter().map(|line| Line::from(line).dim());
            Paragraph::new(keys.collect::<Vec<_>>()).render(help, buffer);
        }
    }

    /// Draws the notice over the whole width, so that a ticket in it can be selected without what stands beside it.
    /// Returns what is left below.
    fn draw_notice(&self, area: Rect, buffer: &mut Buffer) -> Rect {
        let width = usize::from(area.width.max(1));
        let lines = self.notice.lines();
        let rows: usize = lines
            .map(|line| line.chars().count().div_ceil(width) + 1)
            .sum();
        let rows = u16::try_from(rows).unwrap_or(u16::MAX);
        let [above, below] =
            Layout::vertical([Constraint::Max(rows), Constraint::Fill(1)]).areas(area);
        Paragraph::new(self.notice)
            .wrap(Wrap { trim: false })
            .render(above, buffer);
        below
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

fn rows(lines: &[String]) -> u16 {
    u16::try_from(lines.len()).unwrap_or(u16::MAX)
}

const PANEL_WIDTH: u16 = 33;

#[cfg(test)]
mod tests;
