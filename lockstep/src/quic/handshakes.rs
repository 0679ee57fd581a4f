//! The handshakes that others have begun: the [`Doorway`] of an endpoint.

use super::recent::Recent;
use super::rules::{HALF_OPEN, RETRY_FROM};
use crate::doorway::{Arrival, Crowd, Doorway};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// All pending handshakes of an endpoint.
pub(super) struct Handshakes {
    began: Instant,
    state: Mutex<State>,
}

struct State {
    doorway: Doorway<u64>,
    recent: Recent,
    next: u64,
    /// What tells a handshake that it has to make room.
    ends: BTreeMap<u64, oneshot::Sender<()>>,
}

/// A pending handshake. Dropping it frees its place.
pub(super) struct Pending {
    of: Arc<Handshakes>,
    key: u64,
    /// Resolves once the handshake has to make room.
    pub(super) displaced: oneshot::Receiver<()>,
}

impl Handshakes {
    /// None is pending. Must be called within the runtime of the endpoint.
    pub(super) fn new() -> Arc<Handshakes> {
        Arc::new(Handshakes {
            began: Instant::now(),
            state: Mutex::new(State {
                doorway: Doorway::new(HALF_OPEN),
                recent: Recent::default(),
                next: 0,
                ends: BTreeMap::new(),
            }),
        })
    }

    /// Keeps places for dials from these addresses.
    pub(super) fn keep(&self, addresses: impl Iterator<Item = IpAddr>) {
        self.lock().doorway.keep(addresses.map(Crowd::from));
    }

    /// How many are pending.
    #[cfg(test)]
    pub(super) fn pending(&self) -> usize {
        self.lock().doorway.len()
    }

    /// Whether a dialler must first show that it can be reached at this address. Its packet may have a forged sender, and
    /// would else cost memory and what the address may begin.
    pub(super) fn must_show(&self, from: IpAddr) -> bool {
        let now = self.began.elapsed();
        let mut state = self.lock();
        state.doorway.len() >= RETRY_FROM || state.recent.of(now, &from.into()) >= RETRY_FROM
    }

    /// A dial from this address begins a handshake, if there is a place for it.
    pub(super) fn begin(self: &Arc<Self>, from: IpAddr) -> Option<Pending> {
        let now = self.began.elapsed();
        let mut state = self.lock();
        let key = state.next;
        let crowd = Crowd::from(from);
        let kept = state.doorway.keeps(&crowd);
        if !state.recent.admits(now, &crowd, kept) {
            return None;
        }
        match state.doorway.arrive(now, key, crowd.clone()) {
            Arrival::TurnedAway => return None,
            Arrival::Displaces(oldest) => {
                // Its task may have just ended.
                state.ends.remove(&oldest).map(|end| end.send(()));
            }
            Arrival::Waits => {}
        }
        state.recent.begin(now, crowd);
        state.next += 1;
        let (end, displaced) = oneshot::channel();
        state.ends.insert(key, end);
        Some(Pending {
            of: self.clone(),
            key,
            displaced,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let mut state = self.of.lock();
        state.doorway.leave(self.key);
        state.ends.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::super::rules::CONNECTIONS;
    use super::*;

    /// Each begins its connection, ends it at once, and leaves what it took.
    #[test]
    fn one_address_does_not_shut_the_door() {
        let handshakes = Handshakes::new();
        let hostile = IpAddr::from([10, 0, 0, 1]);
        assert!(!handshakes.must_show(hostile));
        let begun = (0..CONNECTIONS).filter(|_| handshakes.begin(hostile).is_some());
        assert!(begun.count() < CONNECTIONS / 8);
        assert_eq!(handshakes.pending(), 0);
        assert!(handshakes.must_show(hostile));
        let honest = IpAddr::from([10, 0, 0, 2]);
        assert!(!handshakes.must_show(honest));
        assert!(handshakes.begin(honest).is_some());
    }

    #[test]
    fn a_handshake_beyond_those_of_one_address_ends_the_oldest() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let handshakes = Handshakes::new();
            let from = IpAddr::from([10, 0, 0, 1]);
            let begun = (0..HALF_OPEN.each).map(|_| handshakes.begin(from));
            let mut begun: Vec<Pending> = begun.flatten().collect();
            assert_eq!(begun.len(), HALF_OPEN.each);
            assert!(handshakes.begin(from).is_none(), "each has some time");
            tokio::time::sleep(HALF_OPEN.stay).await;
            let next = handshakes.begin(from);
            assert!(next.is_some());
            assert_eq!(begun[0].displaced.try_recv(), Ok(()));
            assert!(begun[1].displaced.try_recv().is_err());
            assert_eq!(handshakes.pending(), HALF_OPEN.each);
        });
    }
}
