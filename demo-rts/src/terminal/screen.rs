//! The whole screen: headline, map, panels, prompt and keys.

use super::controls::Hand;
use super::{flow, ground, panels};
use crate::facts::Facts;
use crate::world::{Tile, World};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget, Wrap};

/// The content of one drawing.
pub struct Screen<'a> {
    pub facts: &'a Facts,
    /// The world, once it is built.
    pub world: Option<&'a World>,
    /// Cursor and selection, where a person plays.
    pub hand: Option<&'a Hand>,
    /// The centre of a close view for a watcher; `None` is the middle of the map.
    pub centre: Option<Tile>,
    /// Whether the close view is on.
    pub close: bool,
    /// Shown in place of the map while there is no world.
    pub notice: &'a str,
    /// The line above the keys.
    pub prompt: String,
    /// The keys, separated by two spaces. An open menu takes their place.
    pub keys: &'a [&'a str],
}

impl Screen<'_> {
    /// Draws into `area`, of any size.
    pub fn render(&self, area: Rect, buffer: &mut Buffer) {
        let parts = self.parts(area);
        if self.world.is_none() {
            self.draw_notice(parts.notice, buffer);
        }
        self.draw_headline(parts.top, buffer);
        if let Some(world) = self.world {
            ground::draw(world, &self.frame(world, parts.map), self.hand, buffer);
        }
        if parts.panels.width > 0 {
            panels::draw(self.facts, self.world, self.hand, parts.panels, buffer);
        }
        let prompt_lines: Vec<Line<'_>> = parts.prompt_lines.into_iter().map(Line::from).collect();
        Paragraph::new(prompt_lines)
            .style(Style::new().bold())
            .render(parts.prompt, buffer);
        if !self.is_choosing() {
            let keys = parts.keys.into_iter().map(|line| Line::from(line).dim());
            Paragraph::new(keys.collect::<Vec<_>>()).render(parts.help, buffer);
        }
    }

    /// The corners of the part of the map in a close view of `area`.
    pub fn shown(&self, area: Rect) -> Option<(Tile, Tile)> {
        let world = self.world?;
        self.frame(world, self.parts(area).map).shown()
    }

    fn parts(&self, area: Rect) -> Parts {
        let prompt_lines = flow::wrap(&self.prompt, area.width);
        let keys = flow::wrap(&self.keys.join("  "), area.width);
        let prompt_rows = rows(&prompt_lines).max(1);
        // On a very small terminal the map has precedence over the keys, and an open menu over both.
        let key_rows = rows(&keys).min(area.height / 3);
        let key_rows = if self.is_choosing() {
            // The map keeps its place if a menu needs no more room than the keys.
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
        let [notice, middle] = Layout::vertical([
            Constraint::Max(self.notice_rows(area.width)),
            Constraint::Fill(1),
        ])
        .areas(middle);
        let panel_width = if area.width >= 60 { PANEL_WIDTH } else { 0 };
        let [map, _, panels] = Layout::horizontal([
            Constraint::Fill(1),
            Constraint::Length(1.min(panel_width)),
            Constraint::Length(panel_width),
        ])
        .areas(middle);
        Parts {
            top,
            notice,
            map,
            panels,
            prompt,
            help,
            prompt_lines,
            keys,
        }
    }

    fn frame(&self, world: &World, area: Rect) -> ground::Frame {
        let size = world.map().size();
        let middle = Tile::new(size / 2, size / 2);
        let centre = self.hand.map(|hand| hand.cursor).or(self.centre);
        ground::Frame::new(area, size, self.close, centre.unwrap_or(middle))
    }

    fn is_choosing(&self) -> bool {
        self.hand.is_some_and(Hand::is_choosing)
    }

    /// Rows of the notice across the whole width, so that nothing else is selected along with a ticket in it. Zero
    /// once there is a world.
    fn notice_rows(&self, width: u16) -> u16 {
        if self.world.is_some() {
            return 0;
        }
        let width = usize::from(width.max(1));
        let lines = self.notice.lines();
        let rows: usize = lines
            .map(|line| line.chars().count().div_ceil(width) + 1)
            .sum();
        u16::try_from(rows).unwrap_or(u16::MAX)
    }

    fn draw_notice(&self, area: Rect, buffer: &mut Buffer) {
        Paragraph::new(self.notice)
            .wrap(Wrap { trim: false })
            .render(area, buffer);
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
}

/// The areas of a screen, and the lines that determine them.
struct Parts {
    top: Rect,
    notice: Rect,
    map: Rect,
    panels: Rect,
    prompt: Rect,
    help: Rect,
    prompt_lines: Vec<String>,
    keys: Vec<String>,
}

fn rows(lines: &[String]) -> u16 {
    u16::try_from(lines.len()).unwrap_or(u16::MAX)
}

const PANEL_WIDTH: u16 = 33;

#[cfg(test)]
mod tests;
