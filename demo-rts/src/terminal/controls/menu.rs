//! Menus of one key: buildings, units and upgrades.

use crate::world::{Kind, Upgrade, World};
use lockstep::Seat;
use ratatui::crossterm::event::KeyCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Menu {
    Build,
    Train,
    Research,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Kind(Kind),
    Upgrade(Upgrade),
}

impl Menu {
    /// The choice of a key.
    pub fn chosen(self, key: KeyCode) -> Option<Choice> {
        let line = self.lines().iter().find(|(k, _)| KeyCode::Char(*k) == key);
        line.map(|(_, choice)| *choice)
    }

    /// Keys, names and prices.
    pub fn describe(self, world: &World, seat: Seat) -> String {
        let levels = world.seat(seat).map(|seat| seat.upgrades);
        let choices = self.lines().iter().map(|(key, choice)| match choice {
            Choice::Kind(kind) => {
                let stats = kind.stats();
                let price = price(stats.gold, stats.wood);
                format!("{key} {} ({price})", stats.name)
            }
            Choice::Upgrade(upgrade) => {
                let stats = upgrade.stats();
                let known = levels.map_or(0, |levels| levels[*upgrade as usize]);
                if known >= stats.levels {
                    return format!("{key} {} (researched)", stats.name);
                }
                let (gold, wood) = stats.price(known + 1);
                let price = price(gold, wood);
                format!("{key} {} {} ({price})", stats.name, known + 1)
            }
        });
        choices.collect::<Vec<_>>().join("  ")
    }

    fn lines(self) -> &'static [(char, Choice)] {
        match self {
            Menu::Build => &BUILD,
            Menu::Train => &TRAIN,
            Menu::Research => &RESEARCH,
        }
    }
}

/// A price as text.
pub(super) fn price(gold: u32, wood: u32) -> String {
    match (gold, wood) {
        (gold, 0) => format!("{gold} gold"),
        (0, wood) => format!("{wood} wood"),
        _ => format!("{gold} gold {wood} wood"),
    }
}

pub(super) const BUILD: [(char, Choice); 9] = [
    ('h', Choice::Kind(Kind::House)),
    ('f', Choice::Kind(Kind::Farm)),
    ('b', Choice::Kind(Kind::Barracks)),
    ('r', Choice::Kind(Kind::Range)),
    ('s', Choice::Kind(Kind::Stable)),
    ('m', Choice::Kind(Kind::Workshop)),
    ('i', Choice::Kind(Kind::Tower)),
    ('w', Choice::Kind(Kind::Wall)),
    ('t', Choice::Kind(Kind::TownHall)),
];
pub(super) const TRAIN: [(char, Choice); 5] = [
    ('w', Choice::Kind(Kind::Worker)),
    ('s', Choice::Kind(Kind::Swordsman)),
    ('a', Choice::Kind(Kind::Archer)),
    ('k', Choice::Kind(Kind::Knight)),
    ('t', Choice::Kind(Kind::Catapult)),
];
pub(super) const RESEARCH: [(char, Choice); 5] = [
    ('b', Choice::Upgrade(Upgrade::Blades)),
    ('a', Choice::Upgrade(Upgrade::Armour)),
    ('f', Choice::Upgrade(Upgrade::Fletching)),
    ('t', Choice::Upgrade(Upgrade::Tools)),
    ('m', Choice::Upgrade(Upgrade::Masonry)),
];
