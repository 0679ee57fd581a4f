//! Lookups of names. A lookup waits for a name server, which an attacker may hold up; the system offers no way to end it. So
//! each key that is dialled has one at a time, and holds up no other key's.

use crate::PeerId;
use crate::limits::MAX_PEERS;
use std::collections::BTreeSet;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Threads that look up names: one for each peer of a match.
pub(super) const LOOKUP_THREADS: usize = MAX_PEERS;

/// How often a dial looks whether the lookup before is over.
const PACE: Duration = Duration::from_millis(20);

/// The keys for which an address is being looked up.
#[derive(Default)]
pub(super) struct Lookups(Arc<Mutex<BTreeSet<PeerId>>>);

/// A key's lookup, until it is over.
struct Lookup {
    key: PeerId,
    of: Arc<Mutex<BTreeSet<PeerId>>>,
}

impl Lookups {
    /// The addresses that `text`, `name:port`, stands for, once earlier lookups for this key are over.
    pub(super) async fn find(&self, key: PeerId, text: &str) -> Vec<SocketAddr> {
        let text = text.to_owned();
        let lookup = move || text.to_socket_addrs().map_or(Vec::new(), Iterator::collect);
        self.run(key, lookup).await
    }

    async fn run(
        &self,
        key: PeerId,
        lookup: impl FnOnce() -> Vec<SocketAddr> + Send + 'static,
    ) -> Vec<SocketAddr> {
        while !lock(&self.0).insert(key) {
            tokio::time::sleep(PACE).await;
        }
        let under_way = Lookup {
            key,
            of: self.0.clone(),
        };
        let found = tokio::task::spawn_blocking(move || {
            let found = lookup();
            drop(under_way);
            found
        });
        found.await.unwrap_or_default()
    }
}

impl Drop for Lookup {
    fn drop(&mut self) {
        lock(&self.of).remove(&self.key);
    }
}

fn lock(keys: &Mutex<BTreeSet<PeerId>>) -> std::sync::MutexGuard<'_, BTreeSet<PeerId>> {
    keys.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_name_server_that_hangs_holds_up_lookups_of_one_key_alone() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(LOOKUP_THREADS)
            .enable_time()
            .build()
            .expect("a runtime");
        let found: SocketAddr = "127.0.0.1:4000".parse().expect("an address");
        let lookups = Lookups::default();
        let (go_on, hangs) = mpsc::channel::<()>();
        runtime.block_on(async {
            let slow = PeerId([1; 32]);
            let hanging = lookups.run(slow, move || {
                let _ = hangs.recv();
                vec![found]
            });
            // A dial does not wait for so long, and its lookup goes on.
            let waited = tokio::time::timeout(Duration::from_millis(10), hanging).await;
            assert!(waited.is_err());
            for _ in 0..LOOKUP_THREADS {
                let next = lookups.find(slow, "127.0.0.1:4000");
                let waited = tokio::time::timeout(Duration::from_millis(10), next).await;
                assert!(waited.is_err());
            }
            let other = PeerId([2; 32]);
            assert_eq!(lookups.find(other, "127.0.0.1:4000").await, [found]);
            assert_eq!(lookups.find(other, "127.0.0.1:4000").await, [found]);
            drop(go_on);
            assert_eq!(lookups.run(slow, move || vec![found]).await, [found]);
        });
    }
}
