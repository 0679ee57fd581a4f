//! Keys that come while they are in the room: the process of the guest may have died, which shows only in its silence.

use super::base::{Patience, Request};
use crate::{LinkId, PeerId};
use std::collections::BTreeMap;
use std::time::Duration;

/// What becomes of a request whose key is in the room, or was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The guest is heard and keeps its place. Two processes with copies of one key would put each other out for ever.
    Refused,
    /// The guest is silent: its place goes to the request.
    Replaces,
    /// No guest has the key any more.
    Free,
}

struct Waiting {
    request: Request,
    until: Duration,
}

/// Requests that wait for a guest with their key to fall silent, at most one for each key.
pub(super) struct DuplicateKeys {
    patience: Patience,
    waiting: BTreeMap<PeerId, Waiting>,
}

impl DuplicateKeys {
    pub(super) fn new(patience: Patience) -> Self {
        DuplicateKeys {
            patience,
            waiting: BTreeMap::new(),
        }
    }

    /// A request whose key is in the room. The link of an earlier one whose place it takes.
    pub(super) fn arrive(&mut self, now: Duration, request: Request) -> Option<LinkId> {
        let link = request.link;
        let until = now + self.patience.wait;
        let before = self
            .waiting
            .insert(request.peer, Waiting { request, until })?;
        (before.request.link != link).then_some(before.request.link)
    }

    /// Whether a request that came on this link waits.
    pub(super) fn waits_on(&self, link: LinkId) -> bool {
        let mut waiting = self.waiting.values();
        waiting.any(|waiting| waiting.request.link == link)
    }

    /// The request on this link is taken back.
    pub(super) fn forget(&mut self, link: LinkId) {
        self.waiting
            .retain(|_, waiting| waiting.request.link != link);
    }

    /// Requests whose wait is over. `silence` tells how long the guest with a key is silent; `None` where none has it.
    pub(super) fn due(
        &mut self,
        now: Duration,
        silence: impl Fn(PeerId) -> Option<Duration>,
    ) -> Vec<(Request, Verdict)> {
        let quiet = self.patience.quiet;
        let verdict = |waiting: &Waiting| match silence(waiting.request.peer) {
            None => Some(Verdict::Free),
            Some(silence) if silence >= quiet => Some(Verdict::Replaces),
            Some(_) => (waiting.until <= now).then_some(Verdict::Refused),
        };
        let waiting = self.waiting.iter();
        let due = waiting.filter_map(|(peer, waiting)| Some((*peer, verdict(waiting)?)));
        let due: Vec<(PeerId, Verdict)> = due.collect();
        let taken = due.into_iter().filter_map(|(peer, verdict)| {
            let waiting = self.waiting.remove(&peer)?;
            Some((waiting.request, verdict))
        });
        taken.collect()
    }

    /// Links of all requests that wait, which wait no longer.
    pub(super) fn dismiss(&mut self) -> Vec<LinkId> {
        let waiting = std::mem::take(&mut self.waiting).into_values();
        waiting.map(|waiting| waiting.request.link).collect()
    }

    /// When the next wait is over.
    pub(super) fn deadline(
        &self,
        now: Duration,
        silence: impl Fn(PeerId) -> Option<Duration>,
    ) -> Option<Duration> {
        let over = self.waiting.values().map(|waiting| {
            let silence = silence(waiting.request.peer);
            let left = silence.map(|silence| self.patience.quiet.saturating_sub(silence));
            (now + left.unwrap_or_default()).min(waiting.until)
        });
        over.min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Incarnation;
    use crate::session::wire::Control;

    const SECOND: Duration = Duration::from_secs(1);

    fn keys() -> DuplicateKeys {
        DuplicateKeys::new(Patience {
            quiet: SECOND * 2,
            wait: SECOND * 3,
        })
    }

    fn request(link: u32) -> Request {
        Request {
            link: LinkId(link),
            peer: PeerId([1; 32]),
            incarnation: Incarnation([link as u8; 16]),
            message: Control::Bye,
        }
    }

    fn verdicts(
        keys: &mut DuplicateKeys,
        now: Duration,
        silence: Option<Duration>,
    ) -> Vec<Verdict> {
        let due = keys.due(now, |_| silence);
        due.into_iter().map(|(_, verdict)| verdict).collect()
    }

    #[test]
    fn a_request_replaces_a_guest_that_falls_silent() {
        let mut keys = keys();
        assert_eq!(keys.arrive(SECOND, request(7)), None);
        assert!(keys.waits_on(LinkId(7)));
        assert_eq!(verdicts(&mut keys, SECOND, Some(SECOND)), []);
        assert_eq!(keys.deadline(SECOND, |_| Some(SECOND)), Some(SECOND * 2));
        let replaces = verdicts(&mut keys, SECOND * 2, Some(SECOND * 2));
        assert_eq!(replaces, [Verdict::Replaces]);
        assert!(!keys.waits_on(LinkId(7)));
    }

    #[test]
    fn a_guest_that_is_heard_keeps_its_place() {
        let mut keys = keys();
        keys.arrive(SECOND, request(7));
        assert_eq!(verdicts(&mut keys, SECOND * 3, Some(Duration::ZERO)), []);
        let refused = verdicts(&mut keys, SECOND * 4, Some(Duration::ZERO));
        assert_eq!(refused, [Verdict::Refused]);
    }

    #[test]
    fn a_request_enters_at_once_where_the_guest_has_gone() {
        let mut keys = keys();
        keys.arrive(SECOND, request(7));
        assert_eq!(keys.deadline(SECOND, |_| None), Some(SECOND));
        assert_eq!(verdicts(&mut keys, SECOND, None), [Verdict::Free]);
    }

    #[test]
    fn the_last_request_of_a_key_waits() {
        let mut keys = keys();
        keys.arrive(SECOND, request(7));
        assert_eq!(keys.arrive(SECOND, request(7)), None, "on the same link");
        assert_eq!(keys.arrive(SECOND, request(8)), Some(LinkId(7)));
        keys.forget(LinkId(7));
        assert_eq!(keys.dismiss(), [LinkId(8)]);
        assert_eq!(keys.deadline(SECOND, |_| None), None);
    }
}
