//! The network thread's clock: where a session's time comes from. It goes on while the machine sleeps, so that a session
//! sees that it did.

use std::time::Duration;

/// Time since it was started.
pub(super) struct Clock {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    started: Duration,
    /// Elsewhere the standard library's clock goes on in sleep, or there is none that does.
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    started: std::time::Instant,
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
impl Clock {
    pub(super) fn start() -> Self {
        Clock { started: time() }
    }

    pub(super) fn elapsed(&self) -> Duration {
        time().saturating_sub(self.started)
    }
}

/// Time since some moment in the past.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    // Apple's monotonic clock counts sleep, Linux's does not.
    #[cfg(target_vendor = "apple")]
    const CLOCK: ClockId = ClockId::Monotonic;
    #[cfg(not(target_vendor = "apple"))]
    const CLOCK: ClockId = ClockId::Boottime;
    Duration::try_from(clock_gettime(CLOCK)).expect("time since the machine began is not negative")
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the network thread's clock is where a session's time comes from"
    )]
    pub(super) fn start() -> Self {
        Clock {
            started: std::time::Instant::now(),
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}
