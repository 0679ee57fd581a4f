//! How far the guests of a lobby are from its host.

use crate::session::core::Core;
use crate::session::wire::Control;
use crate::{LinkId, PeerId};
use std::time::Duration;

/// Guests are asked this often, and told what the last answers took.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// So often until the first answer.
const ASK_FIRST: Duration = Duration::from_millis(100);

/// Round trips to the guests, as their host measures them.
#[derive(Default)]
pub(crate) struct Pings {
    ask_at: Duration,
    known: Vec<(PeerId, u16)>,
}

impl Pings {
    /// When to go round again, on the session's clock; `alone` where no guest is there.
    pub(crate) fn deadline(&self, alone: bool) -> Option<Duration> {
        (!alone || !self.known.is_empty()).then_some(self.ask_at)
    }

    /// A guest is new.
    pub(crate) fn ask_now(&mut self) {
        self.ask_at = Duration::ZERO;
    }

    /// By guest, in milliseconds.
    pub(crate) fn known(&self) -> &[(PeerId, u16)] {
        &self.known
    }

    /// Tells all guests what the last answers took, and asks anew, where that is due.
    pub(crate) fn go_round(&mut self, core: &mut Core, guests: Vec<(PeerId, LinkId)>) {
        if core.now < self.ask_at {
            return;
        }
        let answers = |link| {
            core.links
                .get(link)
                .is_none_or(|link| link.probed.is_some())
        };
        let all_answer = guests.iter().all(|(_, link)| answers(link));
        self.ask_at = core.now + if all_answer { ASK_EVERY } else { ASK_FIRST };
        let known = guests.iter().filter_map(|(peer, link)| {
            let took = core.links.get(link)?.probed?.as_millis();
            Some((*peer, u16::try_from(took).unwrap_or(u16::MAX)))
        });
        let known: Vec<(PeerId, u16)> = known.collect();
        let is_news = known != self.known;
        self.known = known;
        for (_, link) in guests {
            if is_news {
                core.send(link, &Control::Pings(self.known.clone()));
            }
            core.probe(link);
        }
    }
}
