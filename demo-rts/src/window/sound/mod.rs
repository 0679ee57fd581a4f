//! What is heard: sounds made in code, mixed here, and given to the system's sound server or device, if there is one.
//!
//! Sound is never waited for: a frame hands over what is to be heard, a thread of its own mixes and plays it. Where there
//! is no device, or it goes away, that thread looks for one again now and then, and nothing is heard meanwhile.

pub(crate) mod ears;
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

/// Opens what is heard, until [`close`].
pub fn open() {
    let output = Output::open();
    OUTPUT.with_borrow_mut(|open| *open = Some(output));
}

/// Nothing is heard any more.
pub fn close() {
    OUTPUT.with_borrow_mut(|open| *open = None);
}

/// Has a sound heard that comes from nowhere.
pub fn play(sound: Sound) {
    hear(Cue {
        sound,
        gain: 1.0,
        pan: 0.0,
    });
}

/// Has a sound heard. Of many alike in a short time only some are.
pub fn hear(cue: Cue) {
    #[cfg(test)]
    HEARD.with_borrow_mut(|heard| heard.push(cue));
    OUTPUT.with_borrow_mut(|open| {
        if let Some(output) = open {
            output.hear(cue);
        }
    });
}

/// How loud all is: 0 to 1.
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

/// Why nothing can be heard, in words, where that is so.
pub fn trouble() -> Option<String> {
    OUTPUT.with_borrow(|open| open.as_ref()?.shared.lock().trouble.clone())
}

thread_local! {
    /// The window has one thread, and one output.
    static OUTPUT: RefCell<Option<Output>> = const { RefCell::new(None) };
    /// What a test has heard.
    #[cfg(test)]
    static HEARD: RefCell<Vec<Cue>> = const { RefCell::new(Vec::new()) };
}

/// What was heard since this was last asked, by this thread.
#[cfg(test)]
pub fn heard() -> Vec<Cue> {
    HEARD.take()
}

struct Output {
    cues: SyncSender<Cue>,
    shared: Arc<Shared>,
    pace: Pace,
    began: Instant,
}

/// What the window and the thread that plays share.
struct Shared {
    stop: AtomicBool,
    /// As bits of a float.
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

    fn hear(&mut self, cue: Cue) {
        if self.pace.allows(cue.sound, self.began.elapsed()) {
            // Where as many wait as may, this one is not missed.
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

/// Plays, and looks for a device again where there is none.
fn run(shared: &Arc<Shared>, cues: &Receiver<Cue>) {
    let mut told = false;
    while !shared.is_over() {
        let why = play_on_device(shared, cues);
        if shared.is_over() {
            return;
        }
        let why = why.to_string();
        if !std::mem::replace(&mut told, true) {
            say(LogLevel::Info, format_args!("there is no sound: {why}"));
        }
        shared.lock().trouble = Some(why);
        for _ in 0..LOOKS_A_RETRY {
            if shared.is_over() {
                return;
            }
            std::thread::sleep(LOOK);
            // What was to be heard meanwhile is of no interest later.
            while cues.try_recv().is_ok() {}
        }
    }
}

/// Until the device is gone or all is over.
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

/// Until the device is gone or all is over. The system asks for samples on a thread of its own, which is handed the cues.
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
            // Where as many wait as may, this one is not missed.
            let _ = forward.try_send(cue);
        }
    }
    std::io::ErrorKind::Interrupted.into()
}

/// A page in a browser has no threads, and is silent.
#[cfg(not(any(unix, windows)))]
fn play_on_device(_: &Arc<Shared>, _: &Receiver<Cue>) -> std::io::Error {
    std::io::Error::other(NO_SERVER)
}

/// Keeps many sounds of a kind apart.
#[derive(Default)]
struct Pace {
    last: std::collections::BTreeMap<Sound, Duration>,
}

impl Pace {
    /// Whether a sound may be heard now.
    fn allows(&mut self, sound: Sound, now: Duration) -> bool {
        let last = self.last.get(&sound);
        let may = last.is_none_or(|last| *last + apart(sound) <= now);
        if may {
            self.last.insert(sound, now);
        }
        may
    }
}

/// Two of a kind are so far apart at least.
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
/// Cues that wait for the thread that plays.
const CUES: usize = 64;
/// How often it is looked whether the window has closed,
const LOOK: Duration = Duration::from_millis(100);
/// and how often of these for a device.
const LOOKS_A_RETRY: u32 = 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_alike_some_are_heard() {
        let mut pace = Pace::default();
        let second = (0..1_000).map(Duration::from_millis);
        let heard = second.filter(|at| pace.allows(Sound::Blow, *at)).count();
        assert_eq!(heard, 23);
        assert!(pace.allows(Sound::Arrow, Duration::from_secs(1)));
        assert!(pace.allows(Sound::Alert, Duration::from_secs(1)));
        assert!(!pace.allows(Sound::Alert, Duration::from_secs(2)));
    }

    #[test]
    fn an_output_opens_at_once_whatever_there_is_and_ends() {
        for _ in 0..3 {
            open();
            set_volume(0.0);
            // More than may wait: nobody waits for them.
            (0..10_000).for_each(|_| play(Sound::Chat));
            close();
        }
        assert_eq!(trouble(), None);
        play(Sound::Chat);
        assert!(heard().len() > 30_000);
    }
}
