//! What the player of a lobby's host says.

use super::Live;
use crate::PeerId;
use crate::session::Input;

impl Live {
    /// Of the host of a lobby: removes a guest, or turns away a player that asks, and refuses its key for as long as this
    /// lobby lasts. An attempt to begin is made anew without it. Without effect for a key that is neither's, in a reopening,
    /// and once the match has begun.
    pub fn remove_guest(&mut self, guest: PeerId) {
        self.tell(Input::RemoveGuest(guest));
    }

    /// Of the host of a lobby: lets in a player that asks, as [`Event::Askers`](crate::Event::Askers) told. Without effect
    /// for another key.
    pub fn admit_guest(&mut self, guest: PeerId) {
        self.tell(Input::AdmitGuest(guest));
    }

    /// Of the host of a [reopening](Self::reopen): goes on as soon as the players that came are a quorum, at the earliest 3 s
    /// after it began, and does not wait for the rest. Missing players may still [rejoin](Self::rejoin). Without effect
    /// elsewhere.
    pub fn begin_now(&mut self) {
        self.tell(Input::BeginNow);
    }
}
