//! Mixes simultaneous voices into one stereo stream.

use super::synth::Sound;
use std::collections::BTreeMap;

/// Voices at a time.
pub const VOICES: usize = 24;
/// Voices of one sound.
pub const VOICES_OF_ONE: usize = 4;
/// The highest output level: louder signals are compressed below it.
pub const CEILING: f32 = 0.98;

/// A sound to play.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cue {
    pub sound: Sound,
    /// 0 to 1.
    pub gain: f32,
    /// -1 is left, 1 is right.
    pub pan: f32,
}

pub struct Mixer {
    bank: BTreeMap<Sound, Vec<f32>>,
    voices: Vec<Voice>,
    /// The volume at the end of the last block.
    volume: f32,
}

struct Voice {
    sound: Sound,
    gain: f32,
    left: f32,
    right: f32,
    at: usize,
}

impl Mixer {
    pub fn new() -> Mixer {
        Mixer {
            bank: Sound::ALL.map(|sound| (sound, sound.samples())).into(),
            voices: Vec::with_capacity(VOICES),
            volume: 0.0,
        }
    }

    /// Starts a voice. At the limit it replaces the faintest voice, if that is fainter.
    pub fn begin(&mut self, cue: Cue) {
        let gain = cue.gain.clamp(0.0, 1.0);
        // Written so that NaN is dropped too.
        if !(gain > 0.0 && cue.pan.is_finite()) {
            return;
        }
        let of_it = |voice: &&Voice| voice.sound == cue.sound;
        let crowded = self.voices.iter().filter(of_it).count() >= VOICES_OF_ONE;
        if crowded || self.voices.len() >= VOICES {
            let gives_way = |voice: &Voice| !crowded || voice.sound == cue.sound;
            let voices = self.voices.iter().enumerate();
            let faintest = voices
                .filter(|(_, voice)| gives_way(voice))
                .min_by(|(_, one), (_, other)| one.gain.total_cmp(&other.gain));
            match faintest.map(|(place, voice)| (place, voice.gain)) {
                Some((place, known)) if known < gain => drop(self.voices.swap_remove(place)),
                _ => return,
            }
        }
        // Constant power: as loud in the middle as at the sides.
        let turn = (cue.pan.clamp(-1.0, 1.0) + 1.0) * std::f32::consts::FRAC_PI_4;
        self.voices.push(Voice {
            sound: cue.sound,
            gain,
            left: gain * turn.cos(),
            right: gain * turn.sin(),
            at: 0,
        });
    }

    /// Writes the next samples, left and right interleaved, at this volume from 0 to 1.
    pub fn mix(&mut self, out: &mut [f32], volume: f32) {
        out.fill(0.0);
        for voice in &mut self.voices {
            let samples = &self.bank[&voice.sound][voice.at..];
            for (both, sample) in out.chunks_exact_mut(2).zip(samples) {
                both[0] += sample * voice.left;
                both[1] += sample * voice.right;
            }
            voice.at += samples.len().min(out.len() / 2);
        }
        let bank = &self.bank;
        self.voices
            .retain(|voice| voice.at < bank[&voice.sound].len());
        // A jump in volume would click.
        let step = (volume - self.volume) / (out.len() / 2).max(1) as f32;
        for both in out.chunks_exact_mut(2) {
            self.volume += step;
            both[0] = limited(both[0] * self.volume);
            both[1] = limited(both[1] * self.volume);
        }
        self.volume = volume;
    }
}

impl Default for Mixer {
    fn default() -> Self {
        Mixer::new()
    }
}

/// Compresses loud samples below the ceiling; faint ones are unchanged.
fn limited(sample: f32) -> f32 {
    let over = sample.abs() - KNEE;
    if over <= 0.0 {
        return sample;
    }
    let room = CEILING - KNEE;
    (KNEE + room * (1.0 - (-over / room).exp())).copysign(sample)
}

/// Compression starts here.
const KNEE: f32 = 0.7;

#[cfg(test)]
mod tests {
    use super::*;

    fn cue(sound: Sound, gain: f32, pan: f32) -> Cue {
        Cue { sound, gain, pan }
    }

    fn power(samples: impl Iterator<Item = f32>) -> f32 {
        samples.map(|of| of * of).sum()
    }

    #[test]
    fn many_voices_stay_below_the_ceiling_few_are_unchanged() {
        let mut mixer = Mixer::new();
        let mut out = vec![0.0; 2_000];
        mixer.mix(&mut out, 1.0);
        assert!(out.iter().all(|of| *of == 0.0), "silence is silent");
        mixer.begin(cue(Sound::Select, 1.0, -1.0));
        mixer.mix(&mut out, 1.0);
        let made = Sound::Select.samples();
        let left: Vec<f32> = out.iter().step_by(2).copied().collect();
        assert_eq!(left[..], made[..1_000]);
        for _ in 0..VOICES_OF_ONE {
            for sound in Sound::ALL {
                mixer.begin(cue(sound, 1.0, 0.3));
            }
        }
        let mut most = 0.0_f32;
        for _ in 0..100 {
            mixer.mix(&mut out, 1.0);
            most = out.iter().fold(most, |most, of| most.max(of.abs()));
        }
        assert!(most > KNEE && most <= CEILING, "{most}");
        assert_eq!(mixer.voices.len(), 0, "all come to their end");
    }

    #[test]
    fn loud_voices_replace_faint_ones_at_the_limit() {
        let mut mixer = Mixer::new();
        for _ in 0..100 {
            mixer.begin(cue(Sound::Blow, 0.2, 0.0));
        }
        assert_eq!(mixer.voices.len(), VOICES_OF_ONE);
        for sound in Sound::ALL {
            for _ in 0..100 {
                mixer.begin(cue(sound, 0.5, 0.0));
            }
        }
        assert_eq!(mixer.voices.len(), VOICES);
        let faint = mixer.voices.iter().filter(|voice| voice.gain < 0.5);
        assert_eq!(faint.count(), 0);
        mixer.begin(cue(Sound::Defeat, 1.0, 0.0));
        assert_eq!(mixer.voices.len(), VOICES);
        let loud = |voice: &&Voice| voice.sound == Sound::Defeat && voice.gain == 1.0;
        assert_eq!(mixer.voices.iter().filter(loud).count(), 1);
    }

    #[test]
    fn panning_is_audible_and_nonsense_is_silent() {
        let mut out = vec![0.0; 2_000];
        for (pan, is_left) in [(-0.8, true), (0.8, false)] {
            let mut mixer = Mixer::new();
            mixer.begin(cue(Sound::Blow, 1.0, pan));
            mixer.mix(&mut out, 1.0);
            let left = power(out.iter().step_by(2).copied());
            let right = power(out.iter().skip(1).step_by(2).copied());
            assert_eq!(left > right * 4.0, is_left, "{left} {right}");
            assert_eq!(right > left * 4.0, !is_left, "{left} {right}");
        }
        let mut mixer = Mixer::new();
        for (gain, pan) in [(f32::NAN, 0.0), (0.0, 0.0), (-1.0, 0.0), (1.0, f32::NAN)] {
            mixer.begin(cue(Sound::Blow, gain, pan));
        }
        assert_eq!(mixer.voices.len(), 0);
    }

    #[test]
    fn zero_volume_is_silent() {
        let mut mixer = Mixer::new();
        let mut out = vec![0.0; 2_000];
        mixer.begin(cue(Sound::Alert, 1.0, 0.0));
        mixer.mix(&mut out, 0.0);
        assert_eq!(power(out.iter().copied()), 0.0);
        mixer.mix(&mut out, 0.5);
        let half = power(out.iter().skip(1_000).copied());
        assert!(half > 0.0);
    }
}
