//! Synthesised sounds: a few tones and some noise each, equal in every run.

use std::f32::consts::TAU;

/// Samples per second and channel.
pub const RATE: u32 = 44_100;
/// The peak of a single sound.
pub const PEAK: f32 = 0.8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sound {
    /// A selection.
    Select,
    /// An accepted order.
    Order,
    /// A refused order.
    Refused,
    /// A hit.
    Blow,
    /// A shot of a bow.
    Arrow,
    /// A shot of a catapult.
    Stone,
    /// A unit dies.
    Death,
    /// A building is destroyed.
    Ruin,
    /// A building is finished.
    Built,
    /// A unit is trained.
    Trained,
    /// An upgrade is researched.
    Researched,
    /// An attack on the player, off the screen.
    Alert,
    /// A chat message.
    Chat,
    Victory,
    Defeat,
}

impl Sound {
    pub const ALL: [Sound; 15] = [
        Sound::Select,
        Sound::Order,
        Sound::Refused,
        Sound::Blow,
        Sound::Arrow,
        Sound::Stone,
        Sound::Death,
        Sound::Ruin,
        Sound::Built,
        Sound::Trained,
        Sound::Researched,
        Sound::Alert,
        Sound::Chat,
        Sound::Victory,
        Sound::Defeat,
    ];

    /// Samples from -1 to 1, with silence at both ends.
    pub fn samples(self) -> Vec<f32> {
        let parts = self.parts();
        let ends = parts.iter().map(|part| part.at_ms + part.ms);
        let length = samples_in(ends.max().unwrap_or(0));
        let mut samples = vec![0.0; length];
        for part in parts {
            part.add_to(&mut samples);
        }
        let loudest = samples
            .iter()
            .fold(0.0_f32, |most, sample| most.max(sample.abs()));
        let level = PEAK * self.level() / loudest.max(f32::MIN_POSITIVE);
        samples.iter_mut().for_each(|sample| *sample *= level);
        samples
    }

    /// Its loudness relative to the others.
    fn level(self) -> f32 {
        match self {
            Sound::Select => 0.35,
            Sound::Order | Sound::Refused | Sound::Chat => 0.45,
            Sound::Arrow => 0.4,
            Sound::Blow | Sound::Trained | Sound::Built => 0.55,
            Sound::Stone | Sound::Death | Sound::Researched => 0.65,
            Sound::Ruin | Sound::Alert | Sound::Victory | Sound::Defeat => 1.0,
        }
    }

    fn parts(self) -> Vec<Part> {
        use Shape::{Noise, Sine, Triangle};
        let tune = |shape, notes: &[f32], every: u32, ms: u32| {
            let notes = notes.iter().zip(0..);
            let note = |(hz, place): (&f32, u32)| part(shape, place * every, ms, (*hz, *hz), 1.0);
            notes.map(note).collect()
        };
        match self {
            Sound::Select => tune(Sine, &[659.3, 880.0], 35, 60),
            Sound::Order => tune(Triangle, &[523.3, 392.0], 55, 80),
            Sound::Refused => tune(Triangle, &[196.0, 174.6], 90, 120),
            Sound::Blow => vec![
                part(Noise(2_600.0), 0, 45, (0.0, 0.0), 1.0),
                part(Sine, 0, 70, (240.0, 110.0), 0.8),
            ],
            Sound::Arrow => vec![
                part(Noise(5_200.0), 0, 95, (0.0, 0.0), 1.0),
                part(Triangle, 0, 30, (330.0, 220.0), 0.5),
            ],
            Sound::Stone => vec![
                part(Noise(500.0), 0, 260, (0.0, 0.0), 1.0),
                part(Sine, 0, 240, (96.0, 48.0), 1.0),
            ],
            Sound::Death => vec![
                part(Triangle, 0, 230, (330.0, 98.0), 1.0),
                part(Noise(900.0), 30, 140, (0.0, 0.0), 0.5),
            ],
            Sound::Ruin => vec![
                part(Noise(700.0), 0, 620, (0.0, 0.0), 1.0),
                part(Noise(2_400.0), 60, 180, (0.0, 0.0), 0.5),
                part(Sine, 0, 480, (82.0, 36.0), 1.0),
            ],
            Sound::Built => tune(Triangle, &[392.0, 523.3, 659.3], 85, 190),
            Sound::Trained => tune(Sine, &[587.3, 784.0], 80, 150),
            Sound::Researched => tune(Sine, &[523.3, 659.3, 784.0, 1_046.5], 75, 220),
            Sound::Alert => tune(Triangle, &[880.0, 659.3, 880.0, 659.3], 130, 140),
            Sound::Chat => tune(Sine, &[1_046.5, 1_318.5], 60, 110),
            Sound::Victory => {
                let mut parts: Vec<Part> =
                    tune(Triangle, &[392.0, 523.3, 659.3, 784.0, 659.3], 150, 320);
                let last = [523.3, 659.3, 784.0, 1_046.5];
                parts.extend(last.map(|hz| part(Triangle, 780, 900, (hz, hz), 0.7)));
                parts
            }
            Sound::Defeat => {
                let mut parts: Vec<Part> = tune(Triangle, &[392.0, 349.2, 311.1, 293.7], 240, 380);
                let last = [196.0, 233.1, 146.8];
                parts.extend(last.map(|hz| part(Triangle, 960, 900, (hz, hz * 0.98), 0.8)));
                parts
            }
        }
    }
}

/// A tone, or noise.
#[derive(Clone, Copy, Debug)]
struct Part {
    shape: Shape,
    at_ms: u32,
    ms: u32,
    /// The tone's first and last frequency.
    hz: (f32, f32),
    level: f32,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Sine,
    Triangle,
    /// Low-pass noise, with its cutoff frequency.
    Noise(f32),
}

fn part(shape: Shape, at_ms: u32, ms: u32, hz: (f32, f32), level: f32) -> Part {
    Part {
        shape,
        at_ms,
        ms,
        hz,
        level,
    }
}

impl Part {
    fn add_to(self, samples: &mut [f32]) {
        let (first, many) = (samples_in(self.at_ms), samples_in(self.ms));
        let (mut phase, mut held) = (0.0_f32, 0.0_f32);
        let mut noise = NOISE_SEED ^ self.at_ms;
        let room = samples.iter_mut().skip(first).take(many);
        for (place, sample) in room.enumerate() {
            let part = place as f32 / many as f32;
            let value = match self.shape {
                Shape::Sine => (phase * TAU).sin(),
                Shape::Triangle => 1.0 - 4.0 * (phase - 0.5).abs(),
                Shape::Noise(cutoff) => {
                    // Xorshift: equal in every run.
                    noise ^= noise << 13;
                    noise ^= noise >> 17;
                    noise ^= noise << 5;
                    let white = noise as f32 / u32::MAX as f32 * 2.0 - 1.0;
                    let keep = 1.0 - (-TAU * cutoff / RATE as f32).exp();
                    held += (white - held) * keep;
                    held
                }
            };
            let hz = self.hz.0 + (self.hz.1 - self.hz.0) * part;
            phase = (phase + hz / RATE as f32).fract();
            *sample += value * self.level * envelope(place, many);
        }
    }
}

/// Rises at once, decays, and is silent at both ends.
fn envelope(place: usize, many: usize) -> f32 {
    let swell = (place as f32 / SWELL).min(1.0);
    let left = (many - 1 - place) as f32;
    let fade = (left / FADE).min(1.0);
    swell * fade * (-FALL * place as f32 / many as f32).exp()
}

fn samples_in(ms: u32) -> usize {
    (u64::from(ms) * u64::from(RATE) / 1_000) as usize
}

/// Samples of the rise, and of the fade at the end.
const SWELL: f32 = 0.003 * RATE as f32;
const FADE: f32 = 0.012 * RATE as f32;
/// The decay at the end, as a power of e.
const FALL: f32 = 3.2;
const NOISE_SEED: u32 = 0x9e37_79b9;

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest sound, in milliseconds.
    const LONGEST_MS: u32 = 2_000;

    #[test]
    fn sounds_are_audible_short_and_do_not_clip() {
        for sound in Sound::ALL {
            let samples = sound.samples();
            let most = samples.iter().fold(0.0_f32, |most, of| most.max(of.abs()));
            assert!((0.2..=PEAK).contains(&most), "{sound:?}: {most}");
            let power: f32 = samples.iter().map(|of| of * of).sum();
            let loud = (power / samples.len() as f32).sqrt();
            assert!(loud > 0.02, "{sound:?} is nearly silent: {loud}");
            assert_eq!(samples.first(), Some(&0.0), "{sound:?} begins with a click");
            assert_eq!(samples.last(), Some(&0.0), "{sound:?} ends with a click");
            let most = samples_in(LONGEST_MS);
            assert!((500..most).contains(&samples.len()), "{sound:?}");
            assert!(samples.iter().all(|of| of.is_finite()), "{sound:?}");
        }
    }

    #[test]
    fn sounds_are_reproducible_and_distinct() {
        let all = Sound::ALL.map(Sound::samples);
        assert_eq!(all, Sound::ALL.map(Sound::samples));
        for (place, one) in all.iter().enumerate() {
            assert!(all[..place].iter().all(|other| other != one), "{place}");
        }
    }
}
