//! How a session leaves before its match has ended.

use super::{Phase, Session, Step};
use crate::EndReason;

impl Session {
    /// There is no world any more: the match is over for this peer.
    pub(super) fn lose_world(&mut self, reason: EndReason) {
        if let Phase::Playing(playing) = &mut self.phase {
            playing.say_goodbye(&mut self.core);
            playing.finish(&mut self.core, reason, None);
        } else {
            let _ = self.leave();
            self.step(Step::End(reason));
        }
    }

    /// Leaves before the match begins for this peer.
    pub(super) fn leave(&mut self) -> Step {
        match &mut self.phase {
            Phase::Lobby(lobby) => lobby.leave(&mut self.core),
            Phase::Rejoin(_) => Step::End(EndReason::Left),
            Phase::Playing(_) | Phase::Over => Step::Stay,
        }
    }
}
