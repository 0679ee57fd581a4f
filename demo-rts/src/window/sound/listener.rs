//! Which sounds of the world a player hears, how loud, and from which side.

use super::mixer::Cue;
use super::synth::Sound;
use crate::window::game::camera::{Camera, Place, place_of};
use crate::window::game::land::Eye;
use crate::world::{Effect, Kind, Tile, World};
use lockstep::Seat;

/// The sounds of a tick, as far as the eye sees; `own` is the player's seat.
pub fn of_tick(
    world: &World,
    effects: &[Effect],
    eye: Eye,
    camera: &Camera,
    own: Option<Seat>,
) -> Vec<Cue> {
    let mut cues = Vec::new();
    let mut at_place = |sound, at| cues.extend(from(sound, at, camera));
    for effect in effects {
        match *effect {
            Effect::Hit { at, .. } if eye.sees(world, Tile::of(at)) => {
                at_place(Sound::Blow, place_of(at));
            }
            Effect::Launched { from, .. } => {
                let unit = world.unit(from).map(|unit| (unit.kind, unit.at));
                let building = || world.building(from).map(|from| (from.kind, from.centre));
                if let Some((kind, at)) = unit.or_else(building)
                    && eye.sees(world, Tile::of(at))
                {
                    let sound = match kind {
                        Kind::Catapult => Sound::Stone,
                        _ => Sound::Arrow,
                    };
                    at_place(sound, place_of(at));
                }
            }
            Effect::Died { kind, at, .. } if eye.sees(world, Tile::of(at)) => {
                let sound = match kind.is_building() {
                    true => Sound::Ruin,
                    false => Sound::Death,
                };
                at_place(sound, place_of(at));
            }
            _ => {}
        }
    }
    let news = effects.iter().filter_map(|effect| match *effect {
        Effect::Built { seat, .. } if Some(seat) == own => Some(Sound::Built),
        Effect::Trained { seat, .. } if Some(seat) == own => Some(Sound::Trained),
        Effect::Researched { seat, .. } if Some(seat) == own => Some(Sound::Researched),
        Effect::Defeated { seat } if Some(seat) == own => Some(Sound::Defeat),
        _ => None,
    });
    cues.extend(news.map(|sound| Cue {
        sound,
        gain: 1.0,
        pan: 0.0,
    }));
    cues
}

/// A sound from a place on the map; `None` if it is too far away.
pub fn from(sound: Sound, at: Place, camera: &Camera) -> Option<Cue> {
    let shown = camera.shown();
    let (wide, high) = (shown.w / 2.0, shown.h / 2.0);
    if !(wide > 0.0 && high > 0.0) {
        return None;
    }
    let (x, y) = shown.centre();
    // In halves of the view: 1 is its edge.
    let (dx, dy) = ((at.0 - x) / wide, (at.1 - y) / high);
    let beyond = (dx.abs().max(dy.abs()) - 1.0).max(0.0);
    let near = (1.0 - beyond / REACH).max(0.0);
    // From high above, every sound is faint.
    let height = (USUAL_TILES / wide).clamp(FROM_HIGH, 1.0);
    let gain = near * near * height;
    (gain > FAINTEST).then_some(Cue {
        sound,
        gain,
        pan: (dx * SPREAD).clamp(-1.0, 1.0),
    })
}

/// Hearing distance beyond the view's edge, in halves of the view.
const REACH: f32 = 1.2;
/// Tiles from the middle of the view to its side at the default zoom.
const USUAL_TILES: f32 = 22.0;
/// Loudness at the farthest zoom.
const FROM_HIGH: f32 = 0.4;
/// Fainter sounds are dropped.
const FAINTEST: f32 = 0.02;
/// The pan of a sound at the edge of the view.
const SPREAD: f32 = 0.75;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::canvas::Rect;
    use crate::world::{Command, Id};
    use sim::{Simulation as _, Vec2};

    fn camera() -> Camera {
        let mut camera = Camera::new((64.0, 64.0), 128);
        camera.fit(Rect::new(0.0, 0.0, 1_280.0, 720.0), 1.0);
        camera
    }

    #[test]
    fn distance_makes_sounds_faint_and_position_pans_them() {
        let camera = camera();
        let shown = camera.shown();
        let (x, y) = shown.centre();
        let at = |dx: f32, dy: f32| {
            let place = (x + dx * shown.w / 2.0, y + dy * shown.h / 2.0);
            from(Sound::Blow, place, &camera)
        };
        let middle = at(0.0, 0.0).unwrap();
        assert!(middle.gain > 0.9 && middle.pan == 0.0, "{middle:?}");
        assert!(at(-0.9, 0.0).unwrap().pan < -0.5);
        assert!(at(0.9, 0.0).unwrap().pan > 0.5);
        let steps = [1.0, 1.3, 1.6, 1.9].map(|far| at(far, 0.0).unwrap().gain);
        assert!(steps.is_sorted_by(|near, far| near > far), "{steps:?}");
        assert_eq!(at(2.3, 0.0), None);
        assert_eq!(at(0.0, -2.3), None);
        let nowhere = Camera::new((0.0, 0.0), 128);
        assert_eq!(from(Sound::Blow, (0.0, 0.0), &nowhere), None);
    }

    #[test]
    fn fog_hides_sounds() {
        let mut world = World::of_two();
        world.step(&[] as &[sim::Entry<Command>], &mut Vec::new());
        let home = |seat| world.seat(Seat(seat)).unwrap().home;
        let hit = |at: Vec2| Effect::Hit {
            target: Id(0),
            at,
            damage: 5,
        };
        let effects = [hit(home(0).centre()), hit(home(1).centre())];
        let audible = |eye, seat| {
            let mut camera = camera();
            camera.look_at(home(seat));
            of_tick(&world, &effects, eye, &camera, None).len()
        };
        assert_eq!(audible(Eye::Seat(Seat(0)), 0), 1, "one's own");
        assert_eq!(audible(Eye::Seat(Seat(0)), 1), 0, "in the fog");
        assert_eq!(audible(Eye::All, 1), 1);
    }

    #[test]
    fn finished_work_sounds_for_its_owner() {
        let world = World::of_two();
        let effects = [0, 1].map(|seat| Effect::Trained {
            id: Id(0),
            kind: Kind::Worker,
            seat: Seat(seat),
        });
        let audible = |own| of_tick(&world, &effects, Eye::All, &camera(), own).len();
        assert_eq!(audible(Some(Seat(1))), 1);
        assert_eq!(audible(None), 0);
    }
}
