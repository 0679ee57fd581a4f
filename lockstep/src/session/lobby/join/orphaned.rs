//! A joiner that has signed the start and lost its host: the others may have begun, and tell it.

use super::{DIAL_AGAIN, Joiner, Stage, Step, all_signed};
use crate::session::Output;
use crate::session::core::Core;
use crate::{EndReason, Fault, LinkId};
use std::time::Duration;

/// Who has signed the start and has lost its link to the host waits for so long to hear that the match has begun: later
/// than this the others have gone on without it.
const HEARSAY_WAIT: Duration = Duration::from_secs(10);

/// It waits for whoever has everybody's signatures.
pub(super) struct Orphaned {
    until: Duration,
    /// When all whom no link leads to are dialled anew.
    dial_at: Duration,
    dials: usize,
}

impl Orphaned {
    pub(super) fn deadline(&self) -> Duration {
        self.dial_at.min(self.until)
    }
}

impl Joiner {
    /// The host may have told some that the match begins, and may have begun itself.
    pub(super) fn be_orphaned(&mut self, core: &Core) -> Step {
        self.link = None;
        self.orphaned = Some(Orphaned {
            until: core.now + HEARSAY_WAIT,
            dial_at: core.now,
            dials: 0,
        });
        Step::Stay
    }

    /// Dials all others: who has begun shows this peer, once a link is up, that all have signed.
    pub(super) fn wait_for_hearsay(&mut self, core: &mut Core) -> Step {
        let (Some(orphaned), Stage::Loading { roster, .. }) = (&mut self.orphaned, &self.stage)
        else {
            return Step::Stay;
        };
        if core.now >= orphaned.until {
            return Step::End(EndReason::LobbyClosed);
        }
        if core.now < orphaned.dial_at {
            return Step::Stay;
        }
        let own = core.id();
        for peer in roster.iter().filter(|peer| peer.peer != own) {
            let addresses = match peer.peer == self.invitation.host {
                true => &self.invitation.addresses,
                false => &peer.addresses,
            };
            if core.links_to(peer.peer).next().is_none() && !addresses.is_empty() {
                core.out.push(Output::Dial {
                    address: addresses[orphaned.dials % addresses.len()].clone(),
                    key: peer.peer,
                });
            }
        }
        orphaned.dials += 1;
        orphaned.dial_at = core.now + DIAL_AGAIN;
        Step::Stay
    }

    /// Another peer of the roster says that the match has begun, and shows that all have signed it: the host may have been
    /// lost while it told everybody. Its clock says nothing here, and the others wait: it begins at once.
    pub(super) fn go_on_hearsay(
        &mut self,
        core: &mut Core,
        link: LinkId,
        signatures: Vec<[u8; 64]>,
    ) -> Step {
        let Stage::Loading {
            roster,
            hash,
            signed: true,
            ..
        } = &self.stage
        else {
            return Step::Stay;
        };
        let proved = core.links.get(&link).and_then(|link| link.proved);
        let one_of_them = roster
            .iter()
            .any(|peer| Some((peer.peer, peer.incarnation)) == proved);
        if !one_of_them || !all_signed(core, roster, *hash, &signatures) {
            core.fault(link, Fault::Signature);
            return Step::Stay;
        }
        self.go(core, signatures, 0)
    }
}
