//! The window's clock.

use std::time::Duration;

/// Time since some moment before the first frame.
#[cfg(not(target_arch = "wasm32"))]
pub fn now() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    #[expect(
        clippy::disallowed_methods,
        reason = "the one clock of the window: screens get the time from it"
    )]
    let now = Instant::now();
    now.saturating_duration_since(*BEGAN.get_or_init(|| now))
}

/// Time since some moment before the first frame; a browser gives the date in milliseconds.
#[cfg(target_arch = "wasm32")]
pub fn now() -> Duration {
    Duration::try_from_secs_f64(miniquad::date::now()).unwrap_or_default()
}

/// Time since `begun`, a result of [`now`].
pub fn since(begun: Duration) -> Duration {
    now().saturating_sub(begun)
}
