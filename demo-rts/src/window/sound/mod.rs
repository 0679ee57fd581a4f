//! Sound: synthesised, mixed here, and played by the system's sound server or device, if there is one.
//!
//! Frames never wait for sound: a thread mixes and plays what they hand over. Without a device, the thread looks
//! for one now and then, and sounds are dropped.

pub(crate) mod listener;
pub(crate) mod mixer;
#[cfg(all(unix, not(target_os = "macos")))]
mod pulse;
pub mod synth;
#[cfg(any(windows, target_os = "macos"))]
mod system;

pub use synth::Sound;

use crate::log::{LogLevel, say};
use crate::peer::now;
use mixer::{Cue, Mixer};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Starts the output, until [`close`].
pub fn open() {
    let output = Output::open();
    OUTPUT.with_borrow_mut(|open| *open = Some(output));
}

pub fn close() {
    OUTPUT.with_borrow_mut(|open| *open = None);
}

/// Plays a sound without a position.
pub fn play(sound: Sound) {
    play_cue(Cue {
        sound,
        gain: 1.0,
        pan: 0.0,
    });
}

/// Plays a sound. Of many equal ones in a short time, only some are played.
pub fn play_cue(cue: Cue) {
    #[cfg(test)]
    HEARD.with_borrow_mut(|played| played.push(cue));
    OUTPUT.with_borrow_mut(|open| {
        if let Some(output) = open {
            output.play_cue(cue);
        }
    });
}

/// Sets the volume, from 0 to 1.
pub fn set_volume(volume: f32) {
    OUTPUT.with_borrow(|open| {
        if let Some(output) = open {
            output
                .shared
                .volume
                .store(volume.to_bits(), Ordering::Relaxed);
        }
    });
}

/// Why there is no sound, if so.
pub fn trouble() -> Option<String> {
    OUTPUT.with_borrow(|open| open.as_ref()?.shared.lock().trouble.clone())
}

thread_local! {
    /// The window has one thread, and one output.
    static OUTPUT: RefCell<Option<Output>> = const { RefCell::new(None) };
    #[cfg(test)]
    static HEARD: RefCell<Vec<Cue>> = const { RefCell::new(Vec::new()) };
}

/// Sounds that this thread has played since the last call.
#[cfg(test)]
pub fn played() -> Vec<Cue> {
    HEARD.take()
}

struct Output {
    cues: SyncSender<Cue>,
    shared: Arc<Shared>,
    pace: Pace,
    began: Instant,
}

/// What the window and the playing thread share.
struct Shared {
    stop: AtomicBool,
    /// Bits of a float.
    volume: AtomicU32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    trouble: Option<String>,
    #[cfg(all(unix, not(target_os = "macos")))]
    closer: Option<pulse::Closer>,
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn volume(&self) -> f32 {
        f32::from_bits(self.volume.load(Ordering::Relaxed)).clamp(0.0, 1.0)
    }
}

impl Output {
    fn open() -> Output {
        let (cues, coming) = sync_channel(CUES);
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            volume: AtomicU32::new(0.0_f32.to_bits()),
            state: Mutex::default(),
        });
        let thread = std::thread::Builder::new().name("sound".to_owned());
        let begun = {
            let shared = shared.clone();
            thread.spawn(move || run(&shared, &coming))
        };
        if let Err(why) = begun {
            shared.lock().trouble = Some(why.to_string());
        }
        Output {
            cues,
            shared,
            pace: Pace::default(),
            began: now(),
        }
    }

    fn play_cue(&mut self, cue: Cue) {
        if self.pace.allows(cue.sound, self.began.elapsed()) {
            // A full queue drops the sound.
            let _ = self.cues.try_send(cue);
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        #[cfg(all(unix, not(target_os = "macos")))]
        if let Some(closer) = &self.shared.lock().closer {
            closer.close();
        }
    }
}

/// Plays, and looks for a device where there is none.
fn run(shared: &Arc<Shared>, cues: &Receiver<Cue>) {
    let mut reported = false;
    while !shared.is_over() {
        let why = play_on_device(shared, cues);
        if shared.is_over() {
            return;
        }
        let why = why.to_string();
        if !std::mem::replace(&mut reported, true) {
            say(LogLevel::Info, format_args!("there is no sound: {why}"));
        }
        shared.lock().trouble = Some(why);
        for _ in 0..LOOKS_A_RETRY {
            if shared.is_over() {
                return;
            }
            std::thread::sleep(LOOK);
            // Sounds of the past are dropped.
            while cues.try_recv().is_ok() {}
        }
    }
}

/// Plays until the device is lost or the output is closed.
#[cfg(all(unix, not(target_os = "macos")))]
fn play_on_device(shared: &Arc<Shared>, cues: &Receiver<Cue>) -> std::io::Error {
    let opened = pulse::Stream::open(|closer| {
        let mut state = shared.lock();
        // The window may have closed just now.
        if shared.is_over() {
            closer.close();
        }
        state.closer = Some(closer);
    });
    match opened {
        Ok(stream) => {
            shared.lock().trouble = None;
            let mut mixer = Mixer::new();
            stream.play(|samples| {
                while let Ok(cue) = cues.try_recv() {
                    mixer.begin(cue);
                }
                mixer.mix(samples, shared.volume());
            })
        }
        Err(why) => match why.kind() {
            std::io::ErrorKind::NotFound => std::io::Error::other(NO_SERVER),
            _ => why,
        },
    }
}

/// Plays until the device is lost or the output is closed. The system asks for samples on a thread of its own,
/// which receives the cues.
#[cfg(any(windows, target_os = "macos"))]
fn play_on_device(shared: &Arc<Shared>, cues: &Receiver<Cue>) -> std::io::Error {
    let (forward, coming) = sync_channel(CUES);
    let mut mixer = Mixer::new();
    let state = shared.clone();
    let opened = system::Stream::open(move |samples| {
        while let Ok(cue) = coming.try_recv() {
            mixer.begin(cue);
        }
        mixer.mix(samples, state.volume());
    });
    let stream = match opened {
        Ok(stream) => stream,
        Err(why) => return why,
    };
    shared.lock().trouble = None;
    while !shared.is_over() {
        if let Some(why) = stream.ended() {
            return why;
        }
        if let Ok(cue) = cues.recv_timeout(LOOK) {
            // A full queue drops the sound.
            let _ = forward.try_send(cue);
        }
    }
    std::io::ErrorKind::Interrupted.into()
}

/// A browser's page has no threads, and is silent.
#[cfg(not(any(unix, windows)))]
fn play_on_device(_: &Arc<Shared>, _: &Receiver<Cue>) -> std::io::Error {
    std::io::Error::other(NO_SERVER)
}

/// Spaces out sounds of a kind.
#[derive(Default)]
struct Pace {
    last: std::collections::BTreeMap<Sound, Duration>,
}

impl Pace {
    fn allows(&mut self, sound: Sound, now: Duration) -> bool {
        let last = self.last.get(&sound);
        let may = last.is_none_or(|last| *last + apart(sound) <= now);
        if may {
            self.last.insert(sound, now);
        }
        may
    }
}

/// Least time between two sounds of a kind.
fn apart(sound: Sound) -> Duration {
    Duration::from_millis(match sound {
        Sound::Select | Sound::Order | Sound::Refused | Sound::Chat => 60,
        Sound::Blow | Sound::Arrow => 45,
        Sound::Stone | Sound::Death => 90,
        Sound::Ruin | Sound::Built | Sound::Trained | Sound::Researched => 200,
        Sound::Alert | Sound::Victory | Sound::Defeat => 2_000,
    })
}

#[cfg(not(any(windows, target_os = "macos")))]
const NO_SERVER: &str = "no audio device (neither PulseAudio nor PipeWire runs here)";
/// Length of the queue to the playing thread.
const CUES: usize = 64;
/// How often the thread checks whether the window has closed; every `LOOKS_A_RETRY` times it also looks for a
/// device.
const LOOK: Duration = Duration::from_millis(100);
const LOOKS_A_RETRY: u32 = 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sounds_are_spaced_out() {
        let mut pace = Pace::default();
        let second = (0..1_000).map(Duration::from_millis);
        let played = second.filter(|at| pace.allows(Sound::Blow, *at)).count();
        assert_eq!(played, 23);
        assert!(pace.allows(Sound::Arrow, Duration::from_secs(1)));
        assert!(pace.allows(Sound::Alert, Duration::from_secs(1)));
        assert!(!pace.allows(Sound::Alert, Duration::from_secs(2)));
    }

    #[test]
    fn an_output_opens_and_closes_without_waiting() {
        for _ in 0..3 {
            open();
            set_volume(0.0);
            // More than the queue holds: playing never blocks.
            (0..10_000).for_each(|_| play(Sound::Chat));
            close();
        }
        assert_eq!(trouble(), None);
        play(Sound::Chat);
        assert!(played().len() > 30_000);
    }
}
