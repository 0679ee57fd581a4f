//! Where the players of a match are found: kept beside the recording, and taken from the local network.

use super::Peer;
use lockstep::Contact;
use replay::WayBack;

impl Peer {
    /// Another player of its match may be found there. A joiner looks for it.
    pub fn note_contact(&mut self, contact: &Contact) {
        let known =
            self.contacts_found.len() >= MOST_FOUND || self.contacts_found.contains(contact);
        if self.seeks_match() && !known {
            self.contacts_found.push(contact.clone());
            self.game.source().add_contact(contact.clone());
        }
    }

    /// The path of the recording is known once its file is made, which may be after the match has started.
    pub(super) fn note_recording(&mut self) {
        let Some(path) = self.recorded_to.take_if(|path| path.get().is_some()) else {
            return;
        };
        self.replay = path.get().cloned();
        let contacts = std::mem::take(&mut self.unsaved_contacts);
        self.save_contacts(&contacts);
    }

    /// Keeps where the players are found beside the recording, for a later run.
    pub(super) fn save_contacts(&mut self, contacts: &[Contact]) {
        let match_id = self.match_id.or(self.comes_to);
        let (Some(path), Some(match_id)) = (&self.replay, match_id) else {
            self.unsaved_contacts = contacts.to_vec();
            return;
        };
        if contacts.len() < 2 {
            return;
        }
        // Where it listens itself comes first: other players seek its next run there.
        let own = self
            .id
            .zip(self.again.as_ref())
            .map(|(peer, again)| Contact {
                peer,
                addresses: vec![again.listen().to_string()],
            });
        let others = contacts
            .iter()
            .filter(|contact| Some(contact.peer) != self.id);
        let all: Vec<Contact> = own.into_iter().chain(others.cloned()).collect();
        let kept = WayBack::beside(path).keep(match_id, &all);
        if let Err(why) = kept {
            self.warn(format!(
                "cannot save the addresses of the match's peers: {why}"
            ));
        }
    }
}

/// Addresses that are taken from the local network, each of one player.
const MOST_FOUND: usize = 64;
