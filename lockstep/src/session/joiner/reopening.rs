//! How joiners that meet reopen a match that no peer plays: one of them hosts the others.

use super::{Joiner, Known, proved};
use crate::PeerId;
use crate::log::{Head, Peers};
use crate::session::core::Core;
use crate::session::rejoin::ProvedLink;

impl Joiner {
    /// Whether this joiner is to host a reopening.
    pub(super) fn hosts_reopening(&mut self, core: &Core) -> bool {
        let now = core.now;
        let meets = self
            .sources
            .joiners(now, self.from.match_id)
            .next()
            .is_some();
        if !meets || !self.searches() {
            return false;
        }
        let links = proved(core);
        let leads = self.leads_quorum(core, &links);
        let others_asked = self.sources.asks_joiners_only(now, self.from.match_id);
        let facts = self.gathering_facts(now, &links);
        self.gathering.host(&facts, leads, others_asked)
    }

    /// Whether the joiners here are a quorum of the last roster, and this one has the first place among them. While a run
    /// that the log names is in reach, the match may go on, or that run reopens it.
    fn leads_quorum(&mut self, core: &Core, links: &[ProvedLink]) -> bool {
        let met: Vec<PeerId> = self.sources.joiners(core.now, self.from.match_id).collect();
        let match_id = self.from.match_id;
        let Some(head) = self.newest_head(core) else {
            return false;
        };
        let place_of = |peer: PeerId| {
            let mut places = head.start().roster.iter();
            let place = places.position(|place| place.peer == peer)?;
            Some(place as u8)
        };
        let Some(me) = place_of(core.id()).filter(|me| head.roster().contains(*me)) else {
            return false;
        };
        let mut here: Peers = std::iter::once(me).collect();
        let mut meets = false;
        for link in links {
            let Some(place) = place_of(link.peer) else {
                continue;
            };
            if head.names_run(place, link.run) {
                return false;
            }
            if met.contains(&link.peer) {
                meets = true;
                here.insert(place);
            }
        }
        let here = here.and(head.roster());
        let same = head.start().match_id == match_id;
        same && meets && here.lowest() == Some(me) && head.is_quorum(here)
    }

    /// How far the log goes that it would host with.
    fn newest_head(&mut self, core: &Core) -> Option<&Head> {
        if let Some(Known { log, .. }) = self.known.as_ref().filter(|_| self.world.exists()) {
            return Some(log.ahead());
        }
        let own = self.from.log.as_ref()?;
        let read = || {
            let mut head = Head::new(own.start().clone());
            let mut records = own.records();
            while records
                .next()
                .is_some_and(|record| head.take(&record, core.signer.as_ref()).is_ok())
            {
            }
            head
        };
        Some(self.recorded.get_or_insert_with(read))
    }
}
