//! Events of a match, found in its effects and log: fights, buildings, losses, players.

use crate::world::{Effect, Kind, TICKS_PER_SECOND, Tile, Upgrade, World};
use lockstep::log::{Bundle, What};
use lockstep::{RosterCause, Seat};
use replay::RosterAt;
use sim::SeatState;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it began.
    pub tick: u64,
    pub what: EventKind,
    pub at: Option<Tile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Hits in one area of the map.
    Fight {
        /// The tick of the last hit.
        until: u64,
        /// Losses of each seat, ascending.
        lost: Vec<(Seat, u32)>,
    },
    /// A building is finished.
    Built(Seat, Kind),
    /// A building was destroyed.
    Lost(Seat, Kind),
    /// An upgrade was researched, up to this level.
    Researched(Seat, Upgrade, u8),
    Defeated(Seat),
    /// A message to all.
    Chat(Seat, String),
    /// The player left.
    Left(Seat),
    /// A roster change removed the player.
    Removed(Seat, RosterCause),
    /// The player rejoined.
    Returned(Seat),
    /// The seat was resigned, because a batch held bytes that are no command.
    Resigned(Seat),
    /// A player went on alone from here: the seat and the player's name.
    PlayedOn(Seat, String),
    Paused(Seat),
    Resumed(Seat),
}

/// The lanes of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    Fights,
    /// Buildings and upgrades.
    Buildings,
    /// Lost buildings and defeats.
    Losses,
    /// Chat, leaving, rejoining, pauses.
    Players,
}

impl Lane {
    /// From top to bottom.
    pub const ALL: [Lane; 4] = [Lane::Fights, Lane::Buildings, Lane::Losses, Lane::Players];
}

impl Event {
    pub fn lane(&self) -> Lane {
        match self.what {
            EventKind::Fight { .. } => Lane::Fights,
            EventKind::Built(..) | EventKind::Researched(..) => Lane::Buildings,
            EventKind::Lost(..) | EventKind::Defeated(_) => Lane::Losses,
            _ => Lane::Players,
        }
    }

    /// The seat of the event, if it belongs to one.
    pub fn seat(&self) -> Option<Seat> {
        match self.what {
            EventKind::Fight { .. } => None,
            EventKind::Built(seat, _)
            | EventKind::Lost(seat, _)
            | EventKind::Researched(seat, ..)
            | EventKind::Defeated(seat)
            | EventKind::Chat(seat, _)
            | EventKind::Left(seat)
            | EventKind::Removed(seat, _)
            | EventKind::Returned(seat)
            | EventKind::Resigned(seat)
            | EventKind::PlayedOn(seat, _)
            | EventKind::Paused(seat)
            | EventKind::Resumed(seat) => Some(seat),
        }
    }
}

/// Finds events tick by tick, in bounded memory.
#[derive(Debug, Default)]
pub struct Finder {
    fights: Vec<Fight>,
    counts: BTreeMap<Lane, usize>,
    absent: BTreeSet<Seat>,
    /// How many events exceeded the limit of their lane.
    pub left_out: usize,
}

#[derive(Debug)]
struct Fight {
    from: u64,
    until: u64,
    /// First and latest place.
    first: Tile,
    now: Tile,
    blows: u32,
    lost: BTreeMap<Seat, u32>,
}

impl Finder {
    /// Reads a turn of the log, and the roster changes before it. `tick` is the tick before the turn.
    pub fn turn(
        &mut self,
        tick: u64,
        rosters: &[RosterAt],
        bundle: &Bundle,
        found: &mut Vec<Event>,
    ) {
        for roster in rosters {
            let gone = roster.gone.iter();
            for gone in gone.filter(|gone| gone.cause != RosterCause::Left) {
                for seat in &gone.seats {
                    if self.absent.insert(*seat) {
                        let what = EventKind::Removed(*seat, gone.cause);
                        let at = None;
                        self.push(Event { tick, what, at }, found);
                    }
                }
            }
        }
        for entry in &bundle.entries {
            let seat = entry.seat;
            let what = match &entry.what {
                What::Chat(text) => EventKind::Chat(seat, text.clone()),
                What::Pause => EventKind::Paused(seat),
                What::Resume => EventKind::Resumed(seat),
                What::Seat(SeatState::Resigned) => EventKind::Resigned(seat),
                What::Seat(SeatState::Played) if self.absent.remove(&seat) => {
                    EventKind::Returned(seat)
                }
                What::Seat(SeatState::Idle | SeatState::Ai) if self.absent.insert(seat) => {
                    EventKind::Left(seat)
                }
                _ => continue,
            };
            let at = None;
            self.push(Event { tick, what, at }, found);
        }
    }

    /// Reads the effects of a tick.
    pub fn tick(&mut self, tick: u64, world: &World, effects: &[Effect], found: &mut Vec<Event>) {
        let mut struck = BTreeSet::new();
        for effect in effects {
            let (what, at) = match *effect {
                Effect::Hit { target, at, .. } => {
                    struck.insert(target);
                    let fight = self.fight(tick, Tile::of(at), found);
                    fight.blows = fight.blows.saturating_add(1);
                    continue;
                }
                Effect::Died { id, kind, seat, at } => {
                    let tile = Tile::of(at);
                    // A demolished building, or a unit that was removed, fell without a hit.
                    if !struck.contains(&id) {
                        let later = effects.iter().any(
                            |effect| matches!(effect, Effect::Hit { target, .. } if *target == id),
                        );
                        if !later {
                            continue;
                        }
                    }
                    let fight = self.fight(tick, tile, found);
                    *fight.lost.entry(seat).or_default() += 1;
                    if !kind.is_building() {
                        continue;
                    }
                    (EventKind::Lost(seat, kind), Some(tile))
                }
                Effect::Built { id, kind, seat } => {
                    let at = world.building(id).map(|building| Tile::of(building.centre));
                    (EventKind::Built(seat, kind), at)
                }
                Effect::Researched {
                    seat,
                    upgrade,
                    level,
                } => (EventKind::Researched(seat, upgrade, level), None),
                Effect::Defeated { seat } => (EventKind::Defeated(seat), None),
                _ => continue,
            };
            self.push(Event { tick, what, at }, found);
        }
        let over = |fight: &mut Fight| tick > fight.until + QUIET_TICKS;
        for fight in self.fights.extract_if(.., over).collect::<Vec<_>>() {
            self.end(fight, found);
        }
    }

    /// Ends open fights at the end of the match.
    pub fn finish(&mut self, found: &mut Vec<Event>) {
        for fight in std::mem::take(&mut self.fights) {
            self.end(fight, found);
        }
    }

    /// The fight that this place belongs to.
    fn fight(&mut self, tick: u64, at: Tile, found: &mut Vec<Event>) -> &mut Fight {
        let near = |fight: &Fight| fight.now.king_steps(at) <= AREA_TILES;
        let place = match self.fights.iter().position(near) {
            Some(place) => place,
            None => {
                if self.fights.len() >= MOST_AT_ONCE {
                    let oldest = self.fights.remove(0);
                    self.end(oldest, found);
                }
                self.fights.push(Fight {
                    from: tick,
                    until: tick,
                    first: at,
                    now: at,
                    blows: 0,
                    lost: BTreeMap::new(),
                });
                self.fights.len() - 1
            }
        };
        let fight = &mut self.fights[place];
        (fight.until, fight.now) = (tick, at);
        fight
    }

    fn end(&mut self, fight: Fight, found: &mut Vec<Event>) {
        // A few hits are no fight.
        if fight.blows < LEAST_BLOWS && fight.lost.is_empty() {
            return;
        }
        let what = EventKind::Fight {
            until: fight.until,
            lost: fight.lost.into_iter().collect(),
        };
        let (tick, at) = (fight.from, Some(fight.first));
        self.push(Event { tick, what, at }, found);
    }

    fn push(&mut self, event: Event, found: &mut Vec<Event>) {
        let count = self.counts.entry(event.lane()).or_default();
        if *count >= MOST_OF_A_LANE {
            self.left_out += 1;
            return;
        }
        *count += 1;
        found.push(event);
    }
}

/// Hits within this distance of the last one belong to the same fight,
const AREA_TILES: u16 = 14;
/// unless this time has passed without a hit.
const QUIET_TICKS: u64 = 6 * TICKS_PER_SECOND as u64;
/// Fewer hits without a loss are no fight.
const LEAST_BLOWS: u32 = 12;
const MOST_AT_ONCE: usize = 32;
const MOST_OF_A_LANE: usize = 3_000;
