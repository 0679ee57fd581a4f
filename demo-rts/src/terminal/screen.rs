//! The whole screen: one line above, the map, the panels, and the lines of help below.

use super::controls::Hand;
use super::{flow, ground, panels};
use crate::facts::Facts;
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
    /// The tile that a close map is shown around where nobody plays; `None`: its middle.
    pub centre: Option<Tile>,
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
        let said: Vec<Line<'_>> = parts.said.into_iter().map(Line::from).collect();
        Paragraph::new(said)
            .style(Style::new().bold())
            .render(parts.prompt, buffer);
        if !self.is_choosing() {
            let keys = parts.keys.into_iter().map(|line| Line::from(line).dim());
            Paragraph::new(keys.collect::<Vec<_>>()).render(parts.help, buffer);
        }
    }

    /// The corners of the part of the map that is shown closely in `area`, if it is.
    pub fn shown(&self, area: Rect) -> Option<(Tile, Tile)> {
        let world = self.world?;
        self.frame(world, self.parts(area).map).shown()
    }

    fn parts(&self, area: Rect) -> Parts {
        let said = flow::wrap(&self.prompt, area.width);
        let keys = flow::wrap(&self.keys.join("  "), area.width);
        let prompt_rows = rows(&said).max(1);
        // On a very small terminal the map is worth more than the keys; an open menu is worth more than both.
        let key_rows = rows(&keys).min(area.height / 3);
        let key_rows = if self.is_choosing() {
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
            said,
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

    /// Rows of the notice over the whole width, so that a ticket in it can be selected without what stands beside it.
    /// None where there is a world.
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

/// Where everything is drawn, and the lines that decide it.
struct Parts {
    top: Rect,
    notice: Rect,
    map: Rect,
    panels: Rect,
    prompt: Rect,
    help: Rect,
    said: Vec<String>,
    keys: Vec<String>,
}

fn rows(lines: &[String]) -> u16 {
    u16::try_from(lines.len()).unwrap_or(u16::MAX)
}

const PANEL_WIDTH: u16 = 33;

#[cfg(test)]
mod tests;
