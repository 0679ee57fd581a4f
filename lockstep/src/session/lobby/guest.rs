//! A guest's side of a lobby: it follows its host, and begins with the others.

use crate::log::RosterChange;
use crate::session::Step;
use crate::session::core::Core;
use crate::session::links::link::Link;
use crate::session::wire::Control;
use crate::{EndReason, JoinRefused, LinkError, LinkId, PeerId};
use sim::{Checksum, Seat};
use std::time::Duration;

/// How a guest leaves a lobby for the match.
pub(crate) enum Exit {
    /// The match is reopened by this change; its first turn is due then.
    Reopened(Box<RosterChange>, Duration),
    /// The match is not reopened here: this peer looks further, and ends so where it finds no source.
    Search(EndReason),
}

/// What depends on the base, on a guest's side.
pub(super) trait GuestBase: Send {
    /// The link to the host, once it has proved its key.
    fn link(&self) -> Option<LinkId>;

    fn own_seats(&self) -> &[Seat];

    /// Where the other members are found, once that is known.
    fn member_addresses(&self) -> Vec<String> {
        Vec::new()
    }

    fn is_loading(&self) -> bool {
        false
    }

    /// The refusal by a peer that speaks another version of the protocol, where it is the host.
    fn protocol_refusal(&self, _core: &Core, _link: LinkId, _host: u16) -> Option<JoinRefused> {
        None
    }

    fn dial_failed(&mut self, _address: &str, _key: PeerId, _why: LinkError) {}

    /// A link has proved its peer.
    fn proved(&mut self, core: &mut Core, link: LinkId);

    fn link_down(&mut self, core: &mut Core, gone: &Link, why: LinkError) -> Step;

    /// The host refuses this peer, or goes.
    fn refused(&mut self, core: &mut Core, link: LinkId, why: JoinRefused) -> Step;
    fn host_left(&mut self, core: &mut Core) -> Step;

    /// The host says something else.
    fn received(&mut self, core: &mut Core, link: LinkId, message: Control) -> Step;

    /// Another peer says something.
    fn received_elsewhere(&mut self, core: &mut Core, link: LinkId, message: Control) -> Step;

    /// Bytes came on the bulk channel of a link that has proved its peer.
    fn bulk(&mut self, core: &mut Core, link: LinkId, bytes: &[u8]) -> Step;

    fn probe_answered(&mut self, _core: &Core, _link: LinkId, _sent: Duration, _clock_us: u64) {}

    fn set_ready(&mut self, _core: &mut Core, _ready: bool) {}

    /// The world is built.
    fn loaded(&mut self, _core: &mut Core) {}

    /// The store keeps all that it was given up to [`Output::Sync`](crate::session::Output::Sync) with this number.
    fn synced(&mut self, _core: &mut Core, _number: u64) -> Step {
        Step::Stay
    }

    fn chat(&mut self, _core: &mut Core, _text: &str) {}

    /// Does what is due.
    fn advance(&mut self, core: &mut Core) -> Step;

    fn deadline(&self, core: &Core) -> Option<Duration>;

    /// Turns that its world has executed before it came, and its checksum.
    fn executed(&self) -> Option<(u32, Checksum)> {
        None
    }

    /// It goes on in the match.
    fn exit(self: Box<Self>, _core: &mut Core, _exit: Exit) -> Step {
        Step::Stay
    }

    #[cfg(test)]
    fn proposal(&self) -> Option<&super::Proposal> {
        None
    }
}

pub(crate) struct GuestSide {
    base: Box<dyn GuestBase>,
    /// Round trips between the host and its guests, as it tells.
    pings: Vec<(PeerId, u16)>,
}

impl GuestSide {
    pub(super) fn new(base: Box<dyn GuestBase>) -> Self {
        GuestSide {
            base,
            pings: Vec::new(),
        }
    }

    pub(super) fn base(&self) -> &dyn GuestBase {
        self.base.as_ref()
    }

    pub(super) fn base_mut(&mut self) -> &mut dyn GuestBase {
        self.base.as_mut()
    }

    pub(super) fn pings(&self) -> &[(PeerId, u16)] {
        &self.pings
    }

    pub(super) fn received(&mut self, core: &mut Core, link: LinkId, message: Control) -> Step {
        if self.base.link() != Some(link) {
            return self.base.received_elsewhere(core, link, message);
        }
        match message {
            Control::Pings(pings) if pings.len() <= usize::from(core.limits.peers) => {
                self.pings = pings;
                Step::Stay
            }
            Control::Refused(why) => self.base.refused(core, link, why),
            Control::Bye => self.base.host_left(core),
            message => self.base.received(core, link, message),
        }
    }

    pub(super) fn leave(&self, core: &mut Core) -> Step {
        if let Some(link) = self.base.link() {
            core.send(link, &Control::Bye);
        }
        Step::End(EndReason::Left)
    }

    /// It goes on in the match.
    pub(super) fn exit(self, core: &mut Core, exit: Exit) -> Step {
        self.base.exit(core, exit)
    }
}
