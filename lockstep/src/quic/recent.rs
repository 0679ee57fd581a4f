//! The connections that others have lately begun, by the [`Crowd`] that they come from.
//!
//! A connection that has ended keeps its memory for three probe timeouts, which the other end can make as long as
//! [`LATELY`]. So each of them counts for that time, however soon it ends. A crowd begins no more than an eighth of what
//! all crowds leave free: one alone gets a ninth of all, and of fifty at once each gets a fifty-eighth. Switches share the memory
//! of their ports by this rule ("dynamic thresholds", Choudhury and Hahne, 1998).

use super::rules::{CONNECTIONS, LATELY};
use crate::doorway::Crowd;
use std::collections::VecDeque;
use std::time::Duration;

/// A crowd begins no more than what is left free, divided by this.
const SHARE: usize = 8;
/// What a crowd of members may begin beside all others.
const OF_MEMBERS: usize = 16;

/// Connections that others have begun, the oldest first.
#[derive(Default)]
pub(super) struct Recent {
    begun: VecDeque<(Duration, Crowd)>,
}

impl Recent {
    /// How many this crowd has begun.
    pub(super) fn of(&mut self, now: Duration, crowd: &Crowd) -> usize {
        while let Some((since, _)) = self.begun.front()
            && *since + LATELY <= now
        {
            self.begun.pop_front();
        }
        self.begun.iter().filter(|(_, one)| one == crowd).count()
    }

    /// Whether this crowd may begin one more. Members come from it if it is `kept`.
    pub(super) fn admits(&mut self, now: Duration, crowd: &Crowd, kept: bool) -> bool {
        let own = self.of(now, crowd);
        let free = CONNECTIONS.saturating_sub(self.begun.len());
        own < free.div_ceil(SHARE) || kept && own < OF_MEMBERS
    }

    /// This crowd begins one.
    pub(super) fn begin(&mut self, now: Duration, crowd: Crowd) {
        self.begun.push_back((now, crowd));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    fn crowd(number: u16) -> Crowd {
        let [high, low] = number.to_be_bytes();
        IpAddr::from([10, 0, high, low]).into()
    }

    /// What the crowd gets of as many as it can begin.
    fn begin_all(recent: &mut Recent, now: Duration, crowd: &Crowd) -> usize {
        let mut begun = 0;
        while recent.admits(now, crowd, false) {
            recent.begin(now, crowd.clone());
            begun += 1;
        }
        begun
    }

    #[test]
    fn no_crowd_shuts_the_door() {
        let mut recent = Recent::default();
        let at = Duration::from_secs(1);
        let alone = begin_all(&mut recent, at, &crowd(0));
        assert_eq!(alone, CONNECTIONS / 9 + 1);
        for number in 1..40 {
            let begun = begin_all(&mut recent, at, &crowd(number));
            assert!((1..alone).contains(&begun), "{begun}");
        }
    }

    #[test]
    fn fifty_crowds_at_once_leave_as_much_to_one_more() {
        let mut recent = Recent::default();
        let at = Duration::from_secs(1);
        for number in (0..50).cycle().take(10_000) {
            if recent.admits(at, &crowd(number), false) {
                recent.begin(at, crowd(number));
            }
        }
        let of_one = recent.of(at, &crowd(0));
        assert!((20..30).contains(&of_one), "{of_one}");
        let next = begin_all(&mut recent, at, &crowd(50));
        assert!((20..=of_one).contains(&next), "{next}");
    }

    #[test]
    fn members_begin_some_beside_every_crowd() {
        let mut recent = Recent::default();
        let at = Duration::from_secs(1);
        let mut number = 0;
        while begin_all(&mut recent, at, &crowd(number)) > 0 {
            number += 1;
        }
        assert_eq!(recent.begun.len(), CONNECTIONS);
        assert!(number > 40, "{number}");
        let member = crowd(1_000);
        for _ in 0..OF_MEMBERS {
            assert!(recent.admits(at, &member, true));
            recent.begin(at, member.clone());
        }
        assert!(!recent.admits(at, &member, true));
    }

    #[test]
    fn each_counts_for_as_long_as_it_may_take_memory() {
        let mut recent = Recent::default();
        let at = Duration::from_secs(1);
        let all = begin_all(&mut recent, at, &crowd(0));
        let just_before = at + LATELY - Duration::from_millis(1);
        assert!(!recent.admits(just_before, &crowd(0), false));
        assert_eq!(begin_all(&mut recent, at + LATELY, &crowd(0)), all);
    }
}
