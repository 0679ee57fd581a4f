//! Ctrl-C and SIGTERM: the first leaves the match gracefully, the second ends the program at once.

#[cfg(feature = "play")]
use signal_hook::consts::{SIGINT, SIGTERM};
#[cfg(feature = "play")]
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user or the system has asked the program to end.
#[derive(Clone, Debug, Default)]
pub struct QuitRequest(Arc<AtomicBool>);

impl QuitRequest {
    /// Installs the signal handlers.
    ///
    /// # Errors
    /// The error of the operating system.
    #[cfg(feature = "play")]
    pub fn listen() -> io::Result<QuitRequest> {
        let asked = QuitRequest::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag unset and only sets it.
            let code = 128 + signal;
            signal_hook::flag::register_conditional_shutdown(signal, code, asked.0.clone())?;
            signal_hook::flag::register(signal, asked.0.clone())?;
        }
        Ok(asked)
    }

    /// Whether it has.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the flag, as a signal would.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
