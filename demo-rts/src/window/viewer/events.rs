//! What happened in a match, found in its effects and its log: fights, buildings, losses, and people.

use crate::world::{Effect, Kind, TICKS_PER_SECOND, Tile, Upgrade, World};
use lockstep::log::{Bundle, What};
use lockstep::{RosterCause, Seat};
use replay::RosterAt;
use sim::SeatState;
use std::collections::{BTreeMap, BTreeSet};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it began.
    pub tick: u64,
    /// What.
    pub what: Happened,
    /// Where, if that is known.
    pub at: Option<Tile>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// Blows were dealt in one part of the map.
    Fight {
        /// The tick of the last blow.
        until: u64,
        /// What each seat lost, ascending.
        lost: Vec<(Seat, u32)>,
    },
    /// A building is complete.
    Built(Seat, Kind),
    /// A building was struck down.
    Lost(Seat, Kind),
    /// Something was learnt, up to this level.
    Researched(Seat, Upgrade, u8),
    /// A seat is out of the match.
    Defeated(Seat),
    /// A message to all.
    Chat(Seat, String),
    /// Its player left: nobody plays the seat any more, or the world does.
    Left(Seat),
    /// The others went on without its player.
    Removed(Seat, RosterCause),
    /// Its player is there again.
    Returned(Seat),
    /// It gave up.
    Resigned(Seat),
    /// One player went on alone from here: the seat, and what the player is called.
    PlayedOn(Seat, String),
    /// Somebody paused the match.
    Paused(Seat),
    /// Somebody ended the pause.
    Resumed(Seat),
}

/// The lanes of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Fights.
    Fights,
    /// Buildings and upgrades.
    Buildings,
    /// What was lost, and who.
    Losses,
    /// Chat, who left and came back, pauses.
    People,
}

impl Lane {
    /// From above to below.
    pub const ALL: [Lane; 4] = [Lane::Fights, Lane::Buildings, Lane::Losses, Lane::People];
}

impl Event {
    /// Where it is shown.
    pub fn lane(&self) -> Lane {
        match self.what {
            Happened::Fight { .. } => Lane::Fights,
            Happened::Built(..) | Happened::Researched(..) => Lane::Buildings,
            Happened::Lost(..) | Happened::Defeated(_) => Lane::Losses,
            _ => Lane::People,
        }
    }

    /// Whose it is, if it is one seat's.
    pub fn seat(&self) -> Option<Seat> {
        match self.what {
            Happened::Fight { .. } => None,
            Happened::Built(seat, _)
            | Happened::Lost(seat, _)
            | Happened::Researched(seat, ..)
            | Happened::Defeated(seat)
            | Happened::Chat(seat, _)
            | Happened::Left(seat)
            | Happened::Removed(seat, _)
            | Happened::Returned(seat)
            | Happened::Resigned(seat)
            | Happened::PlayedOn(seat, _)
            | Happened::Paused(seat)
            | Happened::Resumed(seat) => Some(seat),
        }
    }
}

/// Finds events, tick by tick. Its memory is bounded, however long the match.
#[derive(Debug, Default)]
pub struct Finder {
    fights: Vec<Fight>,
    told: BTreeMap<Lane, usize>,
    absent: BTreeSet<Seat>,
    /// Events that were not told because there are too many of their kind.
    pub left_out: usize,
}

#[derive(Debug)]
struct Fight {
    from: u64,
    until: u64,
    /// Where it was first, and where it is.
    first: Tile,
    now: Tile,
    blows: u32,
    lost: BTreeMap<Seat, u32>,
}

impl Finder {
    /// What a turn's log tells, and the changes of the roster before it. `tick` is the one before it.
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
                        let what = Happened::Removed(*seat, gone.cause);
                        let at = None;
                        self.tell(Event { tick, what, at }, found);
                    }
                }
            }
        }
        for entry in &bundle.entries {
            let seat = entry.seat;
            let what = match &entry.what {
                What::Chat(text) => Happened::Chat(seat, text.clone()),
                What::Pause => Happened::Paused(seat),
                What::Resume => Happened::Resumed(seat),
                What::Seat(SeatState::Resigned) => Happened::Resigned(seat),
                What::Seat(SeatState::Played) if self.absent.remove(&seat) => {
                    Happened::Returned(seat)
                }
                What::Seat(SeatState::Idle | SeatState::Ai) if self.absent.insert(seat) => {
                    Happened::Left(seat)
                }
                What::Seat(_) | What::Command(_) | What::Load(_) => continue,
            };
            let at = None;
            self.tell(Event { tick, what, at }, found);
        }
    }

    /// What a tick told.
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
                    // Who was torn down or sent away fell without a blow.
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
                    (Happened::Lost(seat, kind), Some(tile))
                }
                Effect::Built { id, kind, seat } => {
                    let at = world.building(id).map(|building| Tile::of(building.centre));
                    (Happened::Built(seat, kind), at)
                }
                Effect::Researched {
                    seat,
                    upgrade,
                    level,
                } => (Happened::Researched(seat, upgrade, level), None),
                Effect::Defeated { seat } => (Happened::Defeated(seat), None),
                _ => continue,
            };
            self.tell(Event { tick, what, at }, found);
        }
        let over = |fight: &mut Fight| tick > fight.until + QUIET_TICKS;
        for fight in self.fights.extract_if(.., over).collect::<Vec<_>>() {
            self.end(fight, found);
        }
    }

    /// Ends what goes on: the match is over.
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
        // A scuffle is none.
        if fight.blows < LEAST_BLOWS && fight.lost.is_empty() {
            return;
        }
        let what = Happened::Fight {
            until: fight.until,
            lost: fight.lost.into_iter().collect(),
        };
        let (tick, at) = (fight.from, Some(fight.first));
        self.tell(Event { tick, what, at }, found);
    }

    fn tell(&mut self, event: Event, found: &mut Vec<Event>) {
        let told = self.told.entry(event.lane()).or_default();
        if *told >= MOST_OF_A_LANE {
            self.left_out += 1;
            return;
        }
        *told += 1;
        found.push(event);
    }
}

/// Blows within so many tiles of the last belong to the same fight,
const AREA_TILES: u16 = 14;
/// until nobody strikes for so long.
const QUIET_TICKS: u64 = 6 * TICKS_PER_SECOND as u64;
/// Fewer blows than this without a loss are no fight.
const LEAST_BLOWS: u32 = 12;
const MOST_AT_ONCE: usize = 32;
const MOST_OF_A_LANE: usize = 3_000;
