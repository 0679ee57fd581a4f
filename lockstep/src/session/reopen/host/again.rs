//! A key that comes again while it is here: its process may have died, of which nothing is heard but that nothing is.

use super::Host;
use crate::session::core::Core;
use crate::session::reopen::message::Claim;
use crate::{JoinRefused, LinkId};
use std::time::Duration;

/// A guest that was not heard for so long is dead where another run of it comes: it is asked every second, and one of
/// two answers may be lost.
const QUIET: Duration = Duration::from_millis(2_500);
/// Who comes again waits a little longer than that, and is told then that its key is here.
const WAITS: Duration = Duration::from_secs(3);

/// Who comes with a key that is here.
pub(super) struct Again {
    link: LinkId,
    claim: Claim,
    addresses: Vec<String>,
    until: Duration,
}

impl Again {
    pub(super) fn new(core: &Core, link: LinkId, claim: Claim, addresses: Vec<String>) -> Self {
        Again {
            link,
            claim,
            addresses,
            until: core.now + WAITS,
        }
    }

    pub(super) fn is_by(&self, link: LinkId) -> bool {
        self.link == link
    }

    pub(super) fn refuse(self, core: &mut Core, why: JoinRefused) {
        core.refuse(self.link, why);
    }
}

impl Host {
    /// The last one that comes again waits whether the one that is here is heard. That one keeps its place then: two
    /// processes with copies of one key would put each other out for ever.
    pub(super) fn comes_again(&mut self, core: &mut Core, peer: u8, again: Again) {
        let link = again.link;
        let before = self.again.insert(peer, again);
        if let Some(before) = before.filter(|before| !before.is_by(link)) {
            before.refuse(core, JoinRefused::AlreadyIn);
        }
    }

    pub(super) fn waits_again(&self, link: LinkId) -> bool {
        self.again.values().any(|again| again.is_by(link))
    }

    /// Lets in those whose earlier run is gone, or dead, and refuses those who have waited.
    pub(super) fn let_in_again(&mut self, core: &mut Core) {
        let now = core.now;
        let due = self.again.iter().filter(|(peer, again)| {
            again.until <= now || self.quiet_at(core, **peer).is_none_or(|at| at <= now)
        });
        for peer in due.map(|(peer, _)| *peer).collect::<Vec<_>>() {
            let Some(again) = self.again.remove(&peer) else {
                continue;
            };
            match self.quiet_at(core, peer) {
                Some(at) if at > now => again.refuse(core, JoinRefused::AlreadyIn),
                quiet => {
                    if quiet.is_some() {
                        core.refuse(self.guests[&peer].link, JoinRefused::AlreadyIn);
                        self.lost(core, peer);
                    }
                    self.come(core, again.link, again.claim, again.addresses);
                }
            }
        }
    }

    pub(super) fn again_deadline(&self, core: &Core) -> Option<Duration> {
        let due = self.again.iter().map(|(peer, again)| {
            let quiet = self.quiet_at(core, *peer).unwrap_or(core.now);
            quiet.min(again.until)
        });
        due.min()
    }

    /// When the guest with this key was not heard for long enough; `None` where there is none.
    fn quiet_at(&self, core: &Core, peer: u8) -> Option<Duration> {
        let guest = self.guests.get(&peer)?;
        let link = core.links.get(&guest.link);
        Some(link.map_or(core.now, |link| link.heard_at + QUIET))
    }
}
