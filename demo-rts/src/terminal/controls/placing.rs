//! Choosing the site of a building, with a preview.

use super::{Act, Hand, Mode, kind_of};
use crate::terminal::controls::menu;
use crate::world::{Command, Id, Kind, Refusal, Selection, Tile, World};
use ratatui::crossterm::event::{KeyCode, KeyEvent};

/// A building whose site is being chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Site {
    kind: Kind,
    /// Whether the order is queued behind earlier orders.
    pub later: bool,
}

impl Hand {
    /// The tiles under the building being placed, with whether each is free as far as the seat knows. Empty
    /// otherwise.
    pub fn footprint(&self, world: &World) -> Vec<(Tile, bool)> {
        let (Mode::Placing(site), Some(seen)) = (self.mode, world.seen_by(self.seat)) else {
            return Vec::new();
        };
        let map = world.map();
        map.footprint(self.cursor, site.kind.stats().size)
            .filter(|tile| map.contains(*tile))
            .map(|tile| (tile, seen.has_room(tile, 1)))
            .collect()
    }

    pub(super) fn begin_site(&mut self, kind: Kind, later: bool, world: &World) -> Act {
        if self.builders(world).is_empty() {
            return Act::Say("select workers first: w selects the idle ones".into());
        }
        self.mode = Mode::Placing(Site { kind, later });
        Act::Moved
    }

    /// Handles a key while a site is being chosen: enter builds, escape cancels.
    pub(super) fn place(&mut self, site: Site, key: KeyEvent, world: &World) -> Act {
        self.mode = Mode::Placing(site);
        match key.code {
            KeyCode::Enter => {
                if let Some(why) = self.obstacle(site, world) {
                    return Act::Say(format!("{why}: {SITE_KEYS}"));
                }
                self.mode = Mode::Free;
                let units = self.builders(world);
                if units.is_empty() {
                    return Act::Say("your builders are dead".into());
                }
                Act::Issue(Command::Build {
                    units,
                    kind: site.kind,
                    at: self.cursor,
                })
            }
            KeyCode::Esc => {
                self.mode = Mode::Free;
                Act::Moved
            }
            _ => self.step(key, world).unwrap_or(Act::Nothing),
        }
    }

    pub(super) fn describe_site(&self, site: Site, world: &World) -> String {
        let stats = site.kind.stats();
        let price = menu::price(stats.gold, stats.wood);
        let hint = match self.obstacle(site, world) {
            None => format!("enter = build here  {SITE_KEYS}"),
            Some(why) => format!("{why}  {SITE_KEYS}"),
        };
        format!("{} ({price})  {hint}", stats.name)
    }

    /// Why the building cannot stand under the cursor, as far as the seat knows.
    fn obstacle(&self, site: Site, world: &World) -> Option<String> {
        let seen = world.seen_by(self.seat)?;
        let (stats, own) = (site.kind.stats(), seen.seat());
        let workers: Vec<Id> = self.workers(world).collect();
        let why = seen.may_found(&workers, site.kind, self.cursor).err()?;
        Some(match (why, world.lacking(self.seat, stats.needs)) {
            (Refusal::NeedsBuilding, Some(need)) => {
                format!("needs a finished {} first", need.stats().name)
            }
            (Refusal::NoGold, _) => format!("{why}, {} of {}", own.gold, stats.gold),
            (Refusal::NoWood, _) => format!("{why}, {} of {}", own.wood, stats.wood),
            _ => why.to_string(),
        })
    }

    /// The workers of the selection.
    fn builders(&self, world: &World) -> Selection {
        world.select(self.seat, self.workers(world))
    }

    fn workers(&self, world: &World) -> impl Iterator<Item = Id> {
        let worker = |id: &Id| kind_of(*id, world) == Some(Kind::Worker);
        self.selection.iter().copied().filter(worker)
    }
}

const SITE_KEYS: &str = "arrows = move  esc = cancel";
