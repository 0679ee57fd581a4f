//! Gathering: whether a joiner waits for the other peers where one of them offers to reopen the match, or hosts them itself.

use super::links::ProvedLink;
use super::sources::GIVE_UP;
use crate::{EndReason, JoinRefused, LinkId, PeerId};
use std::time::Duration;

/// Other peers are asked, or dialled, for so long before one is believed that no peer plays.
const ASK_OTHERS: Duration = Duration::from_secs(3);

/// The offer, if there is one, and how the joiner ends otherwise.
pub(crate) struct Gathering {
    offer: Option<Offer>,
    /// An earlier offer came to this: how it ends where no source is found until then.
    otherwise: Option<(EndReason, Duration)>,
    /// Since when joiners that this one leads are a quorum.
    quorum_since: Option<Duration>,
}

#[derive(Clone, Copy)]
struct Offer {
    link: LinkId,
    host: PeerId,
    /// When a peer first offered to reopen the match.
    since: Duration,
}

/// What the joiner knows beside the offer.
pub(crate) struct GatheringFacts<'a> {
    pub now: Duration,
    pub links: &'a [ProvedLink],
    /// It can begin, or go on, in a match that is reopened.
    pub may_join: bool,
    pub stands_still: bool,
}

impl Gathering {
    pub(crate) fn new(otherwise: Option<(EndReason, Duration)>) -> Self {
        Gathering {
            offer: None,
            otherwise,
            quorum_since: None,
        }
    }

    /// While its machine slept this peer has waited for nothing.
    pub(crate) fn skip(&mut self, away: Duration) {
        let offer = self.offer.as_mut().map(|offer| &mut offer.since);
        let otherwise = self.otherwise.as_mut().map(|(_, by)| by);
        let waits = [offer, otherwise, self.quorum_since.as_mut()];
        waits.into_iter().flatten().for_each(|wait| *wait += away);
    }

    /// A source gives of the match: after an earlier offer that came to nothing, the joiner does not end so soon.
    pub(crate) fn fetched(&mut self, now: Duration) {
        if let Some((_, by)) = &mut self.otherwise {
            *by = now + GIVE_UP;
        }
    }

    /// The peer at the other end of a link offers to reopen the match.
    pub(crate) fn offered(&mut self, now: Duration, link: LinkId, host: PeerId) {
        let since = self.offer.map_or(now, |offer| offer.since);
        self.offer = Some(Offer { link, host, since });
    }

    /// Whether the peer that offers it is in reach.
    pub(crate) fn is_in_reach(&self, links: &[ProvedLink]) -> bool {
        let mut offer = self.offer.iter();
        offer.any(|offer| links.iter().any(|link| link.link == offer.link))
    }

    /// The link to the peer at which to wait, once no other peer may play: `passed_over` tells whether all peers but this
    /// one are passed over.
    pub(crate) fn join(
        &mut self,
        facts: &GatheringFacts<'_>,
        passed_over: impl Fn(PeerId) -> bool,
    ) -> Option<LinkId> {
        self.offer = self.offer.filter(|_| self.is_in_reach(facts.links));
        let Offer { link, host, since } = self.offer.filter(|_| facts.may_join)?;
        let asked = passed_over(host) || facts.now >= since + ASK_OTHERS;
        (asked || facts.stands_still).then_some(link)
    }

    /// Whether this joiner is to host a reopening, once no other peer may play. `leads`: the joiners here are a quorum, and
    /// this one has the first place among them; `others_asked`: no other peer is left to ask.
    pub(crate) fn host(
        &mut self,
        facts: &GatheringFacts<'_>,
        leads: bool,
        others_asked: bool,
    ) -> bool {
        // A reopening has shown that the last roster is without this peer: it can only come back into the match.
        let is_out = matches!(
            self.otherwise,
            Some((EndReason::Refused(JoinRefused::NotOfRoster), _))
        );
        if !leads || is_out || !facts.may_join || self.is_in_reach(facts.links) {
            self.quorum_since = None;
            return false;
        }
        let since = *self.quorum_since.get_or_insert(facts.now);
        others_asked || facts.now >= since + ASK_OTHERS
    }

    /// How it ends, where no world was begun until the time for it.
    pub(crate) fn end(&mut self, now: Duration) -> Option<EndReason> {
        let (why, _) = self.otherwise.take_if(|(_, by)| *by <= now)?;
        Some(why)
    }

    /// What [`new`](Self::new) is given where this peer goes on looking later.
    pub(crate) fn into_otherwise(self) -> Option<(EndReason, Duration)> {
        self.otherwise
    }

    /// When to look again; `waits`: no world was begun yet.
    pub(crate) fn deadline(&self, facts: &GatheringFacts<'_>, waits: bool) -> Option<Duration> {
        let offer = self.offer.filter(|_| facts.may_join);
        let join = offer.map(|offer| offer.since + ASK_OTHERS);
        let host = self.quorum_since.map(|since| since + ASK_OTHERS);
        let otherwise = self.otherwise.as_ref().filter(|_| waits);
        let times = [
            join.filter(|at| *at > facts.now),
            host.filter(|at| *at > facts.now),
            otherwise.map(|(_, by)| *by),
        ];
        times.into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Incarnation;

    const HOST: PeerId = PeerId([3; 32]);

    fn links() -> [ProvedLink; 1] {
        [ProvedLink {
            link: LinkId(5),
            peer: HOST,
            run: Incarnation([1; 16]),
            heard_at: Duration::ZERO,
        }]
    }

    fn joins(gathering: &mut Gathering, ms: u64, passed_over: bool, stands_still: bool) -> bool {
        let facts = GatheringFacts {
            now: Duration::from_millis(ms),
            links: &links(),
            may_join: true,
            stands_still,
        };
        gathering.join(&facts, |host| host == HOST && passed_over) == Some(LinkId(5))
    }

    fn offered() -> Gathering {
        let mut gathering = Gathering::new(None);
        gathering.offered(Duration::from_millis(100), LinkId(5), HOST);
        gathering
    }

    #[test]
    fn a_joiner_waits_at_a_host_once_others_were_asked() {
        assert!(!joins(&mut offered(), 3_099, false, false));
        assert!(joins(&mut offered(), 3_100, false, false));
        assert!(joins(&mut offered(), 100, true, false));
        assert!(joins(&mut offered(), 100, false, true));
        let mut again = offered();
        again.offered(Duration::from_secs(2), LinkId(5), HOST);
        assert!(joins(&mut again, 3_100, false, false), "since the first");
    }

    #[test]
    fn an_offer_goes_with_its_link() {
        let mut gathering = offered();
        let facts = GatheringFacts {
            now: Duration::from_secs(9),
            links: &[],
            may_join: false,
            stands_still: false,
        };
        assert_eq!(gathering.join(&facts, |_| true), None);
        assert!(!joins(&mut gathering, 9_000, true, true));
    }

    fn at(ms: u64, links: &[ProvedLink]) -> GatheringFacts<'_> {
        GatheringFacts {
            now: Duration::from_millis(ms),
            links,
            may_join: true,
            stands_still: false,
        }
    }

    #[test]
    fn a_joiner_that_leads_a_quorum_hosts_once_others_were_asked() {
        let mut gathering = Gathering::new(None);
        assert!(gathering.host(&at(100, &[]), true, true));
        let mut gathering = Gathering::new(None);
        assert!(!gathering.host(&at(100, &[]), true, false));
        let looks_again = gathering.deadline(&at(100, &[]), false);
        assert_eq!(looks_again, Some(Duration::from_millis(3_100)));
        assert!(!gathering.host(&at(3_099, &[]), true, false));
        assert!(gathering.host(&at(3_100, &[]), true, false));
        assert!(!gathering.host(&at(9_000, &[]), false, true));
        assert!(!gathering.host(&at(9_000, &[]), true, false), "led anew");
    }

    #[test]
    fn a_joiner_hosts_neither_beside_a_host_nor_outside_the_roster() {
        let links = links();
        assert!(!offered().host(&at(9_000, &links), true, true));
        assert!(
            offered().host(&at(9_000, &[]), true, true),
            "without its link"
        );
        let why = EndReason::Refused(JoinRefused::NotOfRoster);
        let mut gathering = Gathering::new(Some((why, Duration::from_secs(30))));
        assert!(!gathering.host(&at(9_000, &[]), true, true));
    }

    #[test]
    fn an_earlier_refusal_ends_the_search_in_time() {
        let why = EndReason::Refused(JoinRefused::OtherHistory);
        let by = Duration::from_secs(30);
        let mut gathering = Gathering::new(Some((why.clone(), by)));
        assert_eq!(gathering.end(by - Duration::from_millis(1)), None);
        assert_eq!(gathering.end(by), Some(why));
        assert_eq!(gathering.end(by), None);
    }

    #[test]
    fn an_earlier_refusal_waits_while_a_source_gives_and_while_its_peer_sleeps() {
        let why = EndReason::Refused(JoinRefused::OtherHistory);
        let second = Duration::from_secs(1);
        let mut gathering = Gathering::new(Some((why.clone(), second * 30)));
        gathering.fetched(second * 20);
        gathering.skip(second * 100);
        assert_eq!(gathering.end(second * 149), None);
        assert_eq!(gathering.end(second * 150), Some(why));
    }

    #[test]
    fn no_peer_is_asked_while_this_one_sleeps() {
        let mut slept = offered();
        slept.skip(Duration::from_secs(60));
        assert!(!joins(&mut slept, 63_099, false, false));
        assert!(joins(&mut slept, 63_100, false, false));
        let mut gathering = Gathering::new(None);
        assert!(!gathering.host(&at(100, &[]), true, false));
        gathering.skip(Duration::from_secs(60));
        assert!(!gathering.host(&at(63_099, &[]), true, false));
        assert!(gathering.host(&at(63_100, &[]), true, false));
    }
}
