//! Ctrl-C and SIGTERM: the first leaves the match gracefully, the second ends the program at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(feature = "play")]
pub use handlers::Hold;

/// Whether the user or the system has asked the program to end.
#[derive(Clone, Debug, Default)]
pub struct QuitRequest {
    asked: Arc<AtomicBool>,
    #[cfg(feature = "play")]
    handlers: handlers::Handlers,
}

impl QuitRequest {
    /// Whether it has.
    pub fn is_set(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Sets the flag, as a signal would.
    pub fn set(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }
}

#[cfg(feature = "play")]
mod handlers {
    use super::QuitRequest;
    use signal_hook::SigId;
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::flag::{register, register_conditional_shutdown, register_usize};
    use signal_hook::low_level::unregister;
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex, PoisonError};

    /// The handlers that now stand.
    pub(super) type Handlers = Arc<Mutex<Vec<SigId>>>;

    impl QuitRequest {
        /// Installs the signal handlers.
        ///
        /// # Errors
        /// The error of the operating system.
        pub fn listen() -> io::Result<QuitRequest> {
            let request = QuitRequest::default();
            request.end_at_second()?;
            Ok(request)
        }

        /// Until the hold is dropped, a second signal is only counted. The program first restores the terminal.
        ///
        /// # Errors
        /// The error of the operating system.
        pub fn hold(&self) -> io::Result<Hold> {
            let newest = Arc::new(AtomicUsize::new(0));
            let mut handlers = Vec::new();
            for signal in SIGNALS {
                handlers.push(register(signal, self.asked.clone())?);
                let number = signal.unsigned_abs() as usize;
                handlers.push(register_usize(signal, newest.clone(), number)?);
            }
            self.replace(handlers);
            Ok(Hold {
                request: self.clone(),
                newest,
                is_first_seen: self.is_set(),
            })
        }

        fn end_at_second(&self) -> io::Result<()> {
            let mut handlers = Vec::new();
            for signal in SIGNALS {
                // In this order: the first signal finds the flag unset and only sets it.
                let code = 128 + signal;
                let shutdown = register_conditional_shutdown(signal, code, self.asked.clone());
                handlers.push(shutdown?);
                handlers.push(register(signal, self.asked.clone())?);
            }
            self.replace(handlers);
            Ok(())
        }

        fn replace(&self, handlers: Vec<SigId>) {
            let standing = self.handlers.lock();
            let mut standing = standing.unwrap_or_else(PoisonError::into_inner);
            for earlier in std::mem::replace(&mut *standing, handlers) {
                unregister(earlier);
            }
        }
    }

    /// Signals are counted while it lives.
    #[derive(Debug)]
    pub struct Hold {
        request: QuitRequest,
        /// The newest signal that was not counted; 0 for none.
        newest: Arc<AtomicUsize>,
        is_first_seen: bool,
    }

    impl Hold {
        /// After a second signal, the exit code with which the program is to end at once.
        pub fn ends_by(&mut self) -> Option<i32> {
            let signal = self.newest.swap(0, Ordering::Relaxed);
            let signal = i32::try_from(signal).ok().filter(|signal| *signal > 0)?;
            std::mem::replace(&mut self.is_first_seen, true).then_some(128 + signal)
        }
    }

    impl Drop for Hold {
        fn drop(&mut self) {
            // Where the system refuses, the counting handlers stay, and the first signal still leaves the match.
            let _ = self.request.end_at_second();
        }
    }

    const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

    #[cfg(test)]
    mod tests {
        use super::*;
        use signal_hook::low_level::raise;

        #[test]
        fn a_second_signal_is_counted_while_a_screen_is_drawn() {
            let request = QuitRequest::listen().unwrap();
            let mut hold = request.hold().unwrap();
            assert_eq!(hold.ends_by(), None);
            raise(SIGTERM).unwrap();
            assert!(request.is_set());
            assert_eq!(hold.ends_by(), None);
            assert_eq!(hold.ends_by(), None);
            raise(SIGTERM).unwrap();
            assert_eq!(hold.ends_by(), Some(143));
        }
    }
}
