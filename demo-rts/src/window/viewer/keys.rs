//! Keys of the viewer.

use super::events::{Event, Lane};
use super::{Going, NORMAL, SPEEDS, Side, Viewer, Wanted, words};
use crate::window::game::land::Eye;
use crate::window::input::{DIGITS, Input, KeyCode};
use crate::window::viewer::reel::ticks_of;
use lockstep::Seat;

impl Viewer {
    /// Handles the keyboard. Returns whether to leave the viewer.
    pub(super) fn press_keys(&mut self, input: &Input) -> bool {
        if input.hit(KeyCode::F1) {
            self.help ^= true;
        }
        if input.hit(KeyCode::Escape) {
            if self.help {
                self.help = false;
            } else if self.memory.has_focus() {
                self.memory.blur();
            } else if self.side != Side::Nothing {
                self.side = Side::Nothing;
            } else {
                return true;
            }
        }
        if self.help {
            return false;
        }
        self.press_time_keys(input);
        self.press_view_keys(input);
        if input.hit(KeyCode::K) {
            self.next_lane();
        }
        if input.hit(KeyCode::N) {
            self.go_to_other_event(true);
        }
        if input.hit(KeyCode::P) {
            self.go_to_other_event(false);
        }
        if input.hit(KeyCode::G) {
            self.toggle(Side::Graphs);
        }
        if input.hit(KeyCode::E) {
            self.toggle(Side::Events);
        }
        #[cfg(feature = "window")]
        if input.hit(KeyCode::C) {
            self.play_on();
        }
        false
    }

    fn press_time_keys(&mut self, input: &Input) {
        if input.hit(KeyCode::Space) {
            self.pause_or_go_on();
        }
        if input.hit(KeyCode::R) {
            self.rewind();
        }
        let faster = [KeyCode::Equal, KeyCode::KpAdd, KeyCode::KpEqual];
        if faster.iter().any(|key| input.hit(*key)) || input.typed.contains('+') {
            self.faster();
        }
        if input.hit(KeyCode::Minus) || input.hit(KeyCode::KpSubtract) {
            self.slower();
        }
        // A focused widget uses these keys itself.
        if !self.memory.has_focus() {
            let (tick, minute, ten_seconds) = (self.tick(), ticks_of(60), ticks_of(10));
            for (key, to) in [
                (KeyCode::Left, tick.saturating_sub(ten_seconds)),
                (KeyCode::Right, tick.saturating_add(ten_seconds)),
                (KeyCode::PageUp, tick.saturating_sub(minute)),
                (KeyCode::PageDown, tick.saturating_add(minute)),
                (KeyCode::Home, 0),
                (KeyCode::End, u64::MAX),
            ] {
                if input.typed_key(key) {
                    self.go_to(to);
                }
            }
        }
        for (key, on) in [(KeyCode::Period, true), (KeyCode::Comma, false)] {
            if let Some(with) = input.typed_with(key) {
                self.step(on, with.shift);
            }
        }
    }

    fn press_view_keys(&mut self, input: &Input) {
        if input.hit(KeyCode::Key0) || input.hit(KeyCode::Kp0) {
            self.look_with(Eye::All);
        }
        for (place, key) in DIGITS[1..=8].iter().enumerate() {
            if input.hit(*key) {
                self.look_as(place);
            }
        }
        if input.hit(KeyCode::V) {
            let seats = self.seats();
            let next = match self.eye() {
                Eye::All => 0,
                Eye::Seat(seat) => seats.partition_point(|of| *of <= seat),
            };
            match seats.get(next) {
                Some(seat) => self.look_with(Eye::Seat(*seat)),
                None => self.look_with(Eye::All),
            }
        }
        if let Some(camera) = &mut self.camera {
            let middle = camera.view.centre();
            if input.typed_key(KeyCode::Z) {
                camera.zoom_at(middle, ZOOM);
            }
            if input.typed_key(KeyCode::X) {
                camera.zoom_at(middle, 1.0 / ZOOM);
            }
            if input.hit(KeyCode::M) {
                camera.zoom_at(middle, f32::MIN_POSITIVE);
                let world = self.reel.world();
                let size = world.map_or(0, |world| world.map().size());
                camera.centre = (f32::from(size) / 2.0, f32::from(size) / 2.0);
            }
        }
    }

    /// The seats of the world, ascending.
    pub(super) fn seats(&self) -> Vec<Seat> {
        let world = self.reel.world();
        world.map_or_else(Vec::new, |world| {
            world.seats().map(|seat| seat.seat).collect()
        })
    }

    fn look_as(&mut self, place: usize) {
        if let Some(seat) = self.seats().get(place) {
            self.look_with(Eye::Seat(*seat));
        }
    }

    pub(super) fn pause_or_go_on(&mut self) {
        let at_end = self.tick() >= self.reel.ticks();
        self.going = match self.going {
            Going::Still if at_end => {
                self.go_to(0);
                Going::On
            }
            Going::Still | Going::Back(_) => Going::On,
            Going::On => Going::Still,
        };
    }

    pub(super) fn rewind(&mut self) {
        self.going = match self.going {
            Going::Back(_) => Going::On,
            _ => Going::Back(self.tick() as f64),
        };
    }

    pub(super) fn faster(&mut self) {
        self.speed = (self.speed + 1).min(SPEEDS.len() - 1);
    }

    pub(super) fn slower(&mut self) {
        self.speed = self.speed.saturating_sub(1);
    }

    pub(super) fn usual_speed(&mut self) {
        self.speed = NORMAL;
    }

    /// Moves by a turn or a tick, and pauses.
    pub(super) fn step(&mut self, on: bool, one_tick: bool) {
        self.going = Going::Still;
        if one_tick {
            let tick = self.tick();
            return self.go_to(if on { tick + 1 } else { tick.saturating_sub(1) });
        }
        let (turn, begins) = match self.wanted {
            Some(Wanted::Turn(turn)) => (turn, true),
            Some(Wanted::Tick(tick)) => self.turn_at(tick),
            None => match self.reel.goal_tick() {
                Some(tick) => self.turn_at(tick),
                None => (self.reel.turn(), self.reel.is_between_turns()),
            },
        };
        let to = match (on, begins) {
            (true, _) => turn + 1,
            (false, true) => turn.saturating_sub(1),
            (false, false) => turn,
        };
        self.wanted = Some(Wanted::Turn(to.min(self.reel.turns())));
    }

    fn turn_at(&self, tick: u64) -> (u32, bool) {
        let turn = self.reel.turn_of(tick);
        let begins = self.reel.reader().ticks_before(lockstep::TurnNumber(turn));
        (turn, begins == tick)
    }

    fn toggle(&mut self, side: Side) {
        self.side = if self.side == side {
            Side::Nothing
        } else {
            side
        };
        self.memory.blur();
    }

    pub(super) fn next_lane(&mut self) {
        let now = self.lane.map_or(0, |lane| lane as usize + 1);
        self.lane = Lane::ALL.get(now).copied();
    }

    pub(super) fn go_to_other_event(&mut self, next: bool) {
        let tick = self.tick();
        let wanted = |event: &&Event| self.lane.is_none_or(|lane| event.lane() == lane);
        let events = self.survey.found.events.iter().filter(wanted);
        let found = match next {
            true => events.into_iter().find(|event| event.tick > tick).cloned(),
            // A margin, or during play the previous event would be unreachable.
            false => events
                .into_iter()
                .rfind(|event| {
                    event.tick + GRACE < tick || event.tick < tick && self.going == Going::Still
                })
                .cloned(),
        };
        match found {
            Some(event) => self.go_to_event(&event),
            None => self.say(words::NO_OTHER.to_owned()),
        }
    }
}

/// The camera's input: letters scroll, because the arrows move in time.
pub(super) fn steering(input: &Input, deaf: bool) -> Input {
    let mut steered = input.clone();
    let held = |letter, arrow| (!deaf && input.holds_key(letter)).then_some(arrow);
    steered.held = [
        held(KeyCode::W, KeyCode::Up),
        held(KeyCode::A, KeyCode::Left),
        held(KeyCode::S, KeyCode::Down),
        held(KeyCode::D, KeyCode::Right),
    ]
    .into_iter()
    .flatten()
    .collect();
    steered
}

const ZOOM: f32 = 1.15;
/// Ticks after an event in which "previous" means the event before it.
const GRACE: u64 = 2 * crate::world::TICKS_PER_SECOND as u64;
