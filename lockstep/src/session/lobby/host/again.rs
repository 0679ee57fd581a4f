//! A key that comes again: by another link, as another run of its process, or after it failed a start.

use super::{Guest, Host};
use crate::PeerId;
use crate::session::core::Core;
use std::time::Duration;

/// A guest that was not heard for so long is dead where another run of it comes: guests probe the clock all the time.
const QUIET: Duration = Duration::from_millis(1_500);
/// Starts that one key may fail. A process that has died comes back, but who has seen the others' shares may not try for
/// another seed again and again.
const STARTS_TO_FAIL: u32 = 3;

impl Host {
    /// Who asks again by another link never heard that it was let in: its link broke at its end.
    pub(super) fn forget_unheard(&mut self, core: &mut Core, asks: &Guest) {
        let earlier = self.guests.iter().position(|guest| {
            let same = (guest.peer, guest.incarnation) == (asks.peer, asks.incarnation);
            same && guest.link != asks.link && guest.commit.is_none()
        });
        if let Some(at) = earlier
            && let Some(link) = self.guests.remove(at).link
        {
            core.close(link);
            self.announce(core);
        }
    }

    /// Where the guest of this key stands that is not heard any more. One that is keeps its place: two processes with
    /// copies of one key would put each other out for ever.
    pub(super) fn quiet(&self, core: &Core, peer: PeerId) -> Option<usize> {
        let at = self.guests.iter().position(|guest| guest.peer == peer)?;
        let link = self.guests[at].link.and_then(|link| core.links.get(&link));
        let quiet = link.is_none_or(|link| link.heard_at + QUIET <= core.now);
        quiet.then_some(at)
    }

    /// A start has failed by this peer.
    pub(super) fn has_failed(&mut self, peer: PeerId) {
        *self.failed.entry(peer).or_default() += 1;
    }

    pub(super) fn is_barred(&self, peer: PeerId) -> bool {
        let failed = self.failed.get(&peer);
        self.barred.contains(&peer) || failed.is_some_and(|failed| *failed >= STARTS_TO_FAIL)
    }
}
