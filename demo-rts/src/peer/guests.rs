//! What the host of a lobby does about its guests.

use super::Peer;
use lockstep::Status;

impl Peer {
    /// Whether it hosts the lobby of a new match.
    pub fn hosts_lobby(&mut self) -> bool {
        let gathers = self.game.status() == Status::Lobby && !self.rejoining;
        gathers && self.game.source().ticket().is_some()
    }

    /// Removes the guest with this seat from its lobby, and bars its key. Whether there is such a guest.
    pub fn remove_guest(&mut self, seat: u8) -> bool {
        if !self.hosts_lobby() {
            return false;
        }
        let mut guests = self.here.iter().filter(|guest| Some(guest.peer) != self.id);
        let guest = guests.find(|guest| guest.seats.iter().any(|own| own.0 == seat));
        let Some(guest) = guest.map(|guest| guest.peer) else {
            return false;
        };
        self.game.source().remove_guest(guest);
        true
    }
}
