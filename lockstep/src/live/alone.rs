//! The transport of a match without others.

use crate::{Blocked, Channel, LinkEvent, LinkId, PeerId, Traffic, Transport};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Carries nothing and reaches no peer.
#[derive(Default)]
pub(super) struct Alone {
    woken: Arc<(Mutex<bool>, Condvar)>,
}

impl Transport for Alone {
    fn addresses(&self) -> Vec<String> {
        Vec::new()
    }

    fn dial(&mut self, _: &str, _: PeerId) {}

    fn send(&mut self, _: LinkId, _: Channel, _: &[u8]) -> Result<(), Blocked> {
        Err(Blocked)
    }

    fn close(&mut self, _: LinkId) {}

    fn poll(&mut self, timeout: Duration) -> Option<LinkEvent> {
        let (woken, condition) = &*self.woken;
        let woken = woken.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut woken, _) = condition
            .wait_timeout_while(woken, timeout, |woken| !*woken)
            .unwrap_or_else(PoisonError::into_inner);
        *woken = false;
        None
    }

    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        let shared = self.woken.clone();
        Arc::new(move || {
            *shared.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            shared.1.notify_all();
        })
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }
}
