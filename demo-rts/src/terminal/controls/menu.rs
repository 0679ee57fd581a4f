//! Menus of one key: what can be built and trained.

use crate::world::Kind;
use ratatui::crossterm::event::KeyCode;

/// What a second key chooses from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Menu {
    Build,
    Train,
}

impl Menu {
    /// What stands behind a key.
    pub fn chosen(self, key: KeyCode) -> Option<Kind> {
        let line = self.lines().iter().find(|(k, _)| KeyCode::Char(*k) == key);
        line.map(|(_, kind)| *kind)
    }

    /// Keys, names and prices.
    pub fn describe(self) -> String {
        let choices = self.lines().iter().map(|(key, kind)| {
            let stats = kind.stats();
            format!("{key} {} ({})", stats.name, price(stats.gold, stats.wood))
        });
        choices.collect::<Vec<_>>().join("  ")
    }

    fn lines(self) -> &'static [(char, Kind)] {
        match self {
            Menu::Build => &BUILD,
            Menu::Train => &TRAIN,
        }
    }
}

fn price(gold: u32, wood: u32) -> String {
    match (gold, wood) {
        (gold, 0) => format!("{gold} gold"),
        (0, wood) => format!("{wood} wood"),
        _ => format!("{gold} gold {wood} wood"),
    }
}

pub(super) const BUILD: [(char, Kind); 9] = [
    ('h', Kind::House),
    ('f', Kind::Farm),
    ('b', Kind::Barracks),
    ('r', Kind::Range),
    ('s', Kind::Stable),
    ('m', Kind::Workshop),
    ('i', Kind::Tower),
    ('w', Kind::Wall),
    ('t', Kind::TownHall),
];
pub(super) const TRAIN: [(char, Kind); 5] = [
    ('w', Kind::Worker),
    ('s', Kind::Swordsman),
    ('a', Kind::Archer),
    ('k', Kind::Knight),
    ('t', Kind::Catapult),
];
