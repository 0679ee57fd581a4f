//! What a peer that comes back knows of its match.

use crate::log::{Accepted, EncodedLog, Keyframe, SignedBatch, SignedReopening};
use crate::{Contact, MatchId, PeerId, Ticket};
use std::net::SocketAddr;

/// What is known of a match to come back to: by its replay, or by a ticket alone.
#[derive(Clone, Debug)]
pub struct Rejoin {
    /// The match.
    pub match_id: MatchId,
    /// Where its peers may be dialled: those of [`Event::Contacts`](crate::Event::Contacts), or a ticket's host. One is enough.
    pub contacts: Vec<Contact>,
    /// The peer that the earlier run was, where that is known. The default network takes its key and its port again.
    pub player: Option<PeerId>,
    /// Turns and roster changes that the earlier run has logged, from the first on. `None`: all is fetched.
    pub log: Option<EncodedLog>,
    /// The newest keyframe of that log. Where the others have none that is newer, no snapshot is fetched.
    pub keyframe: Option<Keyframe>,
    /// The roster change that the earlier run has accepted and of which its log has no decision.
    pub accepted: Option<Accepted>,
    /// The reopening that the earlier run has signed last, and by which its log does not go on.
    pub signed: Option<SignedReopening>,
    /// The newest signed batch of each peer that the earlier run has logged. They prove which turns these peers had.
    pub attests: Vec<SignedBatch>,
    /// The player's word to go on by a history that the log or these batches contradict. Without it the peer ends by
    /// [`EndReason::Contradicted`](crate::EndReason::Contradicted).
    pub accepts_other_history: bool,
}

impl Rejoin {
    /// The peers of the match, as far as a log tells.
    pub fn roster(&self) -> impl Iterator<Item = PeerId> {
        let start = self.log.iter().map(EncodedLog::start);
        start.flat_map(|start| start.roster.iter().map(|place| place.peer))
    }

    /// The port on which an earlier run of this peer listened, where its addresses are among the contacts.
    pub fn port_of(&self, peer: PeerId) -> Option<u16> {
        let mut contacts = self.contacts.iter();
        let own = contacts.find(|contact| contact.peer == peer)?;
        let mut addresses = own.addresses.iter();
        addresses.find_map(|address| Some(address.parse::<SocketAddr>().ok()?.port()))
    }
}

impl From<&Ticket> for Rejoin {
    /// Through the ticket's host.
    fn from(ticket: &Ticket) -> Rejoin {
        Rejoin {
            match_id: ticket.match_id,
            contacts: vec![Contact {
                peer: ticket.host,
                addresses: ticket.addresses.clone(),
            }],
            player: None,
            log: None,
            keyframe: None,
            accepted: None,
            signed: None,
            attests: Vec::new(),
            accepts_other_history: false,
        }
    }
}
