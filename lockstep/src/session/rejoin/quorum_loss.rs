//! Quorum loss, as far as a joiner can see: the log does not go on, and of its last roster too few are in reach.
//!
//! Peers that are left without a quorum let no joiner in, and none of them need tell so. Another run of a member's process
//! does not count, as it has no vote there. The loss may pass by itself, where members are only cut off or stopped: the
//! joiner looks on.

use super::links::ProvedLink;
use crate::log::{Head, Peers, SeatInfo, Start};
use sim::Seat;
use std::time::Duration;

/// No turn comes for so long: as long as members need to suspect a silent peer, and a second.
const STANDS_STILL: Duration = Duration::from_secs(4);

/// How far the log has come, and whether it can go on.
pub(crate) struct QuorumLoss {
    /// Epochs, turns, and whether this peer is admitted.
    at: (u32, u32, bool),
    /// Since when the log has not come farther.
    since: Duration,
    lost: bool,
    /// The quorum was lost, now or before.
    was_lost: bool,
}

impl QuorumLoss {
    pub(crate) fn new(now: Duration, was_lost: bool) -> Self {
        QuorumLoss {
            at: (0, 0, false),
            since: now,
            lost: false,
            was_lost,
        }
    }

    /// Time that does not count: this peer's machine slept, or there is no log to look at.
    pub(crate) fn skip(&mut self, away: Duration) {
        self.since += away;
    }

    pub(crate) fn postpone(&mut self, now: Duration) {
        self.since = now;
    }

    /// Takes how far the log is and how many turns the source says to have. Whether it has stood still for so long that
    /// the quorum is to be looked at.
    pub(crate) fn has_stopped(
        &mut self,
        now: Duration,
        at: (u32, u32, bool),
        source_has: Option<u32>,
    ) -> bool {
        // What was taken and then forgotten comes again, and is no news.
        let (_, turns, _) = self.at;
        if at > self.at {
            self.at = at;
            self.lost = false;
            self.since = now;
        } else if source_has.is_some_and(|has| has > turns) {
            self.since = now;
        }
        now >= self.since + STANDS_STILL
    }

    /// Takes the peers in reach. The missing ones where too few are, which is told once. Where no peer at all is in reach,
    /// this peer itself may be cut off.
    pub(crate) fn check_quorum(
        &mut self,
        head: &Head,
        in_reach: Peers,
        host_in_reach: bool,
    ) -> Option<Peers> {
        let knows = !in_reach.is_empty() || host_in_reach;
        if head.is_quorum(in_reach) {
            self.lost = false;
        } else if knows && !self.lost {
            (self.lost, self.was_lost) = (true, true);
            return Some(head.roster().without(in_reach));
        }
        None
    }

    /// Whether the match was last seen to stand still, with too few to go on.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost
    }

    /// Whether that was so at any time.
    pub(crate) fn was_lost(&self) -> bool {
        self.was_lost
    }

    /// When the quorum is to be looked at for the first time, if not before.
    pub(crate) fn deadline(&self, now: Duration) -> Option<Duration> {
        let at = self.since + STANDS_STILL;
        (!self.lost && at > now).then_some(at)
    }
}

/// Members of the roster that are in reach as the runs that have a vote.
pub(crate) fn in_reach(head: &Head, links: &[ProvedLink]) -> Peers {
    let places = head.start().roster.iter().enumerate();
    let here = places.filter(|(_, place)| {
        let mut links = links.iter();
        links.any(|link| (link.peer, link.run) == (place.peer, place.incarnation))
    });
    let here: Peers = here.map(|(at, _)| at as u8).collect();
    here.and(head.roster())
}

/// Whether a link leads to a run of a member's process that the log does not name: to a joiner, or to a peer that reopens
/// the match.
pub(crate) fn is_new_run(head: &Head, link: &ProvedLink) -> bool {
    let mut places = head.start().roster.iter();
    places.any(|place| place.peer == link.peer && place.incarnation != link.run)
}

/// The seats of these peers, ascending.
pub(crate) fn seats_of(start: &Start, peers: Peers) -> Vec<SeatInfo> {
    let place = |seat: Seat| {
        let mut places = start.roster.iter();
        places.position(|place| place.seats.contains(&seat))
    };
    let all = start.seat_infos().into_iter();
    all.filter(|info| place(info.seat).is_some_and(|at| peers.contains(at as u8)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::VerifiedLog;
    use crate::log::fixture::{signer, start, turns};
    use crate::{Incarnation, LinkId};

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn head() -> Head {
        VerifiedLog::of(start(3), turns(9), &signer(0))
            .head()
            .clone()
    }

    fn stopped(loss: &mut QuorumLoss, ms: u64, turns: u32, source_has: Option<u32>) -> bool {
        loss.has_stopped(at(ms), (0, turns, false), source_has)
    }

    #[test]
    fn a_log_has_stopped_once_no_turn_comes_and_none_is_announced() {
        let mut loss = QuorumLoss::new(at(0), false);
        assert!(!stopped(&mut loss, 1_000, 9, None));
        assert!(!stopped(&mut loss, 4_999, 9, Some(9)));
        assert!(stopped(&mut loss, 5_000, 9, Some(9)));
        assert!(!stopped(&mut loss, 5_000, 9, Some(10)), "one is to come");
        // What was forgotten and comes again is no news.
        assert!(!stopped(&mut loss, 8_999, 3, Some(9)));
        assert!(stopped(&mut loss, 9_000, 9, Some(9)));
        assert!(!stopped(&mut loss, 9_000, 10, Some(10)));
    }

    #[test]
    fn a_lost_quorum_is_told_once_until_it_is_back() {
        let (mut loss, head) = (QuorumLoss::new(at(0), false), head());
        let peers = |peers: &[u8]| peers.iter().copied().collect::<Peers>();
        assert_eq!(
            loss.check_quorum(&head, peers(&[]), false),
            None,
            "cut off itself"
        );
        assert_eq!(loss.check_quorum(&head, peers(&[0, 1]), false), None);
        let missing = loss.check_quorum(&head, peers(&[1]), false);
        assert_eq!(missing, Some(peers(&[0, 2])));
        assert!(loss.is_lost());
        assert_eq!(
            loss.check_quorum(&head, peers(&[1]), false),
            None,
            "told before"
        );
        assert_eq!(loss.check_quorum(&head, peers(&[0, 1]), false), None);
        assert!(!loss.is_lost() && loss.was_lost());
        let missing = loss.check_quorum(&head, peers(&[]), true);
        assert_eq!(
            missing,
            Some(peers(&[0, 1, 2])),
            "another peer reopens the match"
        );
    }

    #[test]
    fn another_run_of_a_member_has_no_vote() {
        let head = head();
        let link = |peer: u8, run: u8| ProvedLink {
            link: LinkId(u32::from(peer)),
            peer: head.start().roster[usize::from(peer)].peer,
            run: Incarnation([run; 16]),
            heard_at: at(0),
        };
        let links = [link(0, 0), link(1, 77)];
        assert_eq!(in_reach(&head, &links), Peers(0b001));
        assert!(is_new_run(&head, &links[1]) && !is_new_run(&head, &links[0]));
        let seats: Vec<Seat> = seats_of(head.start(), Peers(0b110))
            .iter()
            .map(|info| info.seat)
            .collect();
        assert_eq!(seats, [Seat(1), Seat(2)]);
    }
}
