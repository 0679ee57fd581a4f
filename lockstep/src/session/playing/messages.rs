//! What arrives from other peers, and where it goes.

use super::Playing;
use crate::session::core::Core;
use crate::session::wire::{Control, Datagram};
use crate::{Fault, JoinRefused, LinkId};

impl Playing {
    pub(crate) fn received(&mut self, core: &mut Core, link: LinkId, message: Control) {
        match (message, self.member_of(core, link)) {
            (Control::Join { .. }, None) => core.refuse(link, JoinRefused::Started),
            (end @ Control::End { .. }, Some(_)) => self.receive_end(core, link, end),
            (Control::Bye, at) if at.is_some() || self.may_come_back(core, link) => {
                core.close(link);
            }
            // What was on its way when it was let in, or had ended for it.
            (Control::Rejoin { .. }, Some(_)) => {}
            (Control::Reopen(_), at) if at.is_some() || self.may_come_back(core, link) => {}
            (Control::End { .. }, None) if self.may_come_back(core, link) => {}
            // Who comes back may be further than this peer; what it passes on is signed by others, or proves itself.
            (Control::Evidence(shown), at) if at.is_some() || self.may_come_back(core, link) => {
                self.receive_evidence(core, link, shown);
            }
            (Control::Roster(notes), at) if at.is_some() || self.may_come_back(core, link) => {
                self.receive_notes(core, link, notes);
            }
            (Control::Decided(change), at) if at.is_some() || self.may_come_back(core, link) => {
                self.receive_decision(core, link, &change);
            }
            (Control::Words(notes), at) if at.is_some() || self.may_come_back(core, link) => {
                self.receive_words(core, link, notes);
            }
            (Control::Rejoin { request, addresses }, None) => {
                self.receive_request(core, link, request, addresses);
            }
            // What was on its way when the match began.
            (
                Control::Lobby(_)
                | Control::Pings(_)
                | Control::Ready { .. }
                | Control::Chat { .. },
                Some(_),
            ) => {}
            // What others pass on who had not heard this peer yet: also an earlier run that stood still since.
            (Control::Go { .. }, at) if at.is_some() || self.may_come_back(core, link) => {}
            _ => core.fault(link, Fault::OutOfPlace),
        }
    }

    pub(crate) fn datagram(&mut self, core: &mut Core, link: LinkId, datagram: Datagram) {
        let Datagram::Turns(packet) = datagram else {
            return;
        };
        if self.is_past(core, link) {
            return self.note_past(core, link, &packet);
        }
        if self.member_of(core, link).is_none() && self.may_come_back(core, link) {
            // It has been let in, which this peer has not heard.
            return;
        }
        if self.member_of(core, link).is_none() || packet.held.len() != self.ledger.places.len() {
            return core.fault(link, Fault::OutOfPlace);
        }
        self.receive_packet(core, link, packet);
    }
}
