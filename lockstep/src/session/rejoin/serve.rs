//! Serving: what this peer gives of the match to peers that fetch it. Never more than one answer for a question, and never
//! anything that a turn waits for.

use super::message::{Answer, PART, encode};
use crate::limits::LONGEST_DELAY;
use crate::log::Keyframe;
use crate::{Limits, LinkId, PeerId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How long it takes until a peer that was given all that there may be is given as much again.
const REFILLED_IN: Duration = Duration::from_secs(3_600);

/// The peers that fetch the match, by link.
#[derive(Default)]
pub(crate) struct Serve {
    asking: BTreeMap<LinkId, Asking>,
    /// What each peer of the match may still be sent, on this link and on later ones.
    allowances: BTreeMap<PeerId, Allowance>,
}

struct Allowance {
    bytes: u64,
    /// As of when.
    at: Duration,
    most: u64,
}

impl Allowance {
    /// Takes so many bytes, after what was given back meanwhile. False where that leaves too few.
    fn take(&mut self, bytes: u64, now: Duration) -> bool {
        let passed = now.saturating_sub(self.at).min(REFILLED_IN);
        let given_back = u128::from(self.most) * passed.as_millis() / REFILLED_IN.as_millis();
        let left = self.most.min(self.bytes + given_back as u64);
        let rest = left.checked_sub(bytes);
        (self.bytes, self.at) = (rest.unwrap_or(left), now);
        rest.is_some()
    }
}

struct Asking {
    peer: PeerId,
    /// What it was offered; kept for it though there may be a newer one.
    snapshot: Option<Arc<Keyframe>>,
    /// The log that it waits for: from which turn on, and how many turns are attested as it knows.
    waits: Option<(u32, u32)>,
    /// It was told what is signed of the end, and is told of every other signature as it comes.
    knows_ends: bool,
}

impl Serve {
    /// A peer of the match asks on this link how the match began. It is answered on the link that it asked on last.
    pub(crate) fn open(&mut self, link: LinkId, peer: PeerId, now: Duration, limits: &Limits) {
        let most = 2 * (limits.snapshot_bytes + limits.catch_up_bytes);
        let whole = Allowance {
            bytes: most,
            at: now,
            most,
        };
        self.allowances.entry(peer).or_insert(whole);
        self.asking
            .retain(|other, asking| *other == link || asking.peer != peer);
        let new = || Asking {
            peer,
            snapshot: None,
            waits: None,
            knows_ends: false,
        };
        self.asking.entry(link).or_insert_with(new);
    }

    /// The peer asks for the log from a turn on, and knows that so many turns are attested. Whether it is told now what is
    /// signed of the end: the log, of `turns` turns, has no more.
    pub(crate) fn wait(&mut self, link: LinkId, (from, attested): (u32, u32), turns: u32) -> bool {
        let Some(asking) = self.asking.get_mut(&link) else {
            // It asks on another link by now.
            return false;
        };
        asking.waits = Some((from, attested));
        let tells_ends = from >= turns && !asking.knows_ends;
        asking.knows_ends |= tells_ends;
        tells_ends
    }

    /// The peer is offered this snapshot, and may ask for its pieces.
    pub(crate) fn offer(&mut self, link: LinkId, snapshot: Option<Arc<Keyframe>>) {
        if let Some(asking) = self.asking.get_mut(&link) {
            asking.snapshot = snapshot;
        }
    }

    /// A piece of the snapshot that the peer was offered; `None` where it asks on another link by now.
    pub(crate) fn piece(&self, link: LinkId, offset: u64) -> Option<Answer> {
        let asking = self.asking.get(&link)?;
        let piece = || {
            let snapshot = asking.snapshot.as_ref()?;
            let from = usize::try_from(offset).ok()?;
            let to = snapshot.snapshot.len().min(from.checked_add(PART)?);
            let bytes = snapshot.snapshot.get(from..to)?.to_vec();
            Some(Answer::Snapshot { offset, bytes })
        };
        Some(piece().unwrap_or(Answer::Nothing))
    }

    /// Whether any peer waits for more of the log.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.asking.values().any(|asking| asking.waits.is_some())
    }

    /// The peers for which there is more of a log of so many turns, of which so many are attested, and the turn from which
    /// on. They wait no more, as do peers for which there will be none for long.
    pub(crate) fn due(&mut self, turns: u32, attested: u32) -> Vec<(LinkId, u32)> {
        let more = |(from, known): &mut (u32, u32)| {
            turns > *from || attested > *known || is_behind(turns, *known)
        };
        let due = self.asking.iter_mut().filter_map(|(link, asking)| {
            let (from, _) = asking.waits.take_if(more)?;
            Some((*link, from))
        });
        due.collect()
    }

    /// The bytes of an answer; `None` where the peer was given all that there may be for a while.
    pub(crate) fn encode(
        &mut self,
        link: LinkId,
        answer: &Answer,
        now: Duration,
    ) -> Option<Vec<u8>> {
        let bytes = encode(answer);
        let asking = self.asking.get(&link)?;
        let allowance = self.allowances.get_mut(&asking.peer)?;
        allowance.take(bytes.len() as u64, now).then_some(bytes)
    }

    /// A link is gone.
    pub(crate) fn forget(&mut self, link: LinkId) {
        self.asking.remove(&link);
    }
}

/// Whether a peer with so many turns has no part in the match as it goes on, where a quorum attests so many: others that
/// are asked have more.
pub(crate) fn is_behind(turns: u32, attested: u32) -> bool {
    turns.saturating_add(LONGEST_DELAY) < attested
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOINER: PeerId = PeerId([3; 32]);

    fn open(serve: &mut Serve, link: u32) {
        serve.open(LinkId(link), JOINER, Duration::ZERO, &Limits::default());
    }

    /// A joiner has asked on the first link.
    fn asked() -> Serve {
        let mut serve = Serve::default();
        open(&mut serve, 1);
        serve
    }

    fn wait(serve: &mut Serve, link: u32, from: u32, attested: u32) -> bool {
        serve.wait(LinkId(link), (from, attested), 10)
    }

    #[test]
    fn a_joiner_is_answered_on_the_link_that_it_asked_on_last() {
        let mut serve = asked();
        wait(&mut serve, 1, 3, 3);
        open(&mut serve, 2);
        assert!(!wait(&mut serve, 1, 10, 3));
        assert_eq!(serve.piece(LinkId(1), 0), None);
        assert!(!serve.is_waited_for());
        wait(&mut serve, 2, 3, 3);
        assert_eq!(serve.due(10, 10), [(LinkId(2), 3)]);
        assert!(!serve.is_waited_for());
    }

    #[test]
    fn a_page_waits_for_a_turn_or_for_a_quorum() {
        let mut serve = asked();
        wait(&mut serve, 1, 10, 8);
        assert_eq!(serve.due(10, 8), []);
        assert_eq!(serve.due(10, 9), [(LinkId(1), 10)]);
        wait(&mut serve, 1, 10, 9);
        assert_eq!(serve.due(11, 9), [(LinkId(1), 10)]);
    }

    #[test]
    fn a_peer_that_is_behind_says_so_at_once() {
        for (attested, says_so) in [(18, false), (19, true)] {
            let mut serve = asked();
            wait(&mut serve, 1, 20, attested);
            assert_eq!(!serve.due(10, 10).is_empty(), says_so, "{attested} turns");
        }
    }

    #[test]
    fn the_end_is_told_once_to_a_joiner_at_the_end_of_the_log() {
        let mut serve = asked();
        assert!(!wait(&mut serve, 1, 9, 9));
        assert!(wait(&mut serve, 1, 10, 9));
        assert!(!wait(&mut serve, 1, 10, 9));
    }

    #[test]
    fn a_joiner_is_given_no_more_than_the_limits_allow() {
        let limits = Limits {
            snapshot_bytes: 10,
            catch_up_bytes: 10,
            ..Limits::default()
        };
        let answer = Answer::Snapshot {
            offset: 0,
            bytes: vec![1; 30],
        };
        let (mut serve, half) = (Serve::default(), REFILLED_IN / 2);
        // It has no more on another link, but a while later.
        for (link, now, is_given) in [
            (1, Duration::ZERO, true),
            (1, Duration::ZERO, false),
            (2, Duration::ZERO, false),
            (3, half, false),
            (4, half * 2, true),
            (4, half * 9, true),
            (4, half * 9, false),
        ] {
            serve.open(LinkId(link), JOINER, now, &limits);
            let given = serve.encode(LinkId(link), &answer, now);
            assert_eq!(given.is_some(), is_given, "{link}, {now:?}");
            serve.forget(LinkId(link));
        }
    }

    #[test]
    fn pieces_are_those_of_the_snapshot_that_was_offered() {
        let mut serve = asked();
        assert_eq!(serve.piece(LinkId(1), 0), Some(Answer::Nothing));
        let world: Vec<u8> = (0..PART + 10).map(|at| at as u8).collect();
        let keyframe = Keyframe {
            turns: 1,
            ticks: 4,
            plan: crate::Plan::default(),
            paused: false,
            log_hash: crate::LogHash([0; 16]),
            snapshot: world.clone().into(),
        };
        serve.offer(LinkId(1), Some(Arc::new(keyframe)));
        let piece = |offset| match serve.piece(LinkId(1), offset) {
            Some(Answer::Snapshot { bytes, .. }) => Some(bytes),
            _ => None,
        };
        assert_eq!(piece(0).as_deref(), Some(&world[..PART]));
        assert_eq!(piece(PART as u64).as_deref(), Some(&world[PART..]));
        assert_eq!(piece(u64::MAX), None);
    }
}
