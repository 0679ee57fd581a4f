//! What one peer of the roster has told.

use super::rejoin::FRESH;
use super::watch::HALF_SPENT;
use std::time::Duration;

/// So long who is out is dialled to hear of it. Its own dials lead nowhere where this peer has moved.
const TELL_GONE: Duration = Duration::from_secs(10);

pub(crate) struct Member {
    pub addresses: Vec<String>,
    /// It is out of the roster, and may be coming back.
    pub returns: Option<Returns>,
    /// It may not know that it is out: where no link leads to it, it is dialled until then.
    pub tell_until: Duration,
    pub next_dial: Duration,
    pub dials: usize,
    /// When it was last heard, by any path.
    pub heard_at: Duration,
    /// Batches for turns before it may have been sealed before its peer fell silent: they are no sign of life.
    pub lives_from: u32,
    /// For how long it has blocked turns of late though it was heard.
    pub blocked: Duration,
    /// The others have kept it, whom this peer would not: until then it begins no change again to remove it.
    pub kept_until: Duration,
    /// For how long it has owed, in this epoch, batches that it told of.
    pub unproved: Duration,
    /// How often it was removed after it had held the others up for long.
    pub held_up: u32,
    /// From when on this peer proposes to let it in again.
    pub back_at: Duration,
    /// Another run of its process has shown up.
    pub restarted: bool,
    /// When another run of its process last asked for its place, having followed.
    pub replaced_at: Option<Duration>,
    /// How often it was removed while one asked.
    pub replaced: u32,
    /// Since when this run of its process is of the roster, where another one was before.
    pub run_since: Duration,
}

/// What was last seen of a peer that may be coming back.
pub(crate) struct Returns {
    /// Where it was heard from.
    pub from: String,
    /// Until then it goes on trying.
    pub until: Duration,
    /// This peer is the one that it asks: their link falls silent only where it does not carry any more.
    pub asks: bool,
}

impl Member {
    pub(crate) fn new(addresses: Vec<String>, now: Duration) -> Self {
        Member {
            addresses,
            returns: None,
            tell_until: Duration::ZERO,
            next_dial: now + Duration::from_secs(2),
            dials: 0,
            heard_at: now,
            lives_from: 0,
            blocked: Duration::ZERO,
            kept_until: Duration::ZERO,
            unproved: Duration::ZERO,
            held_up: 0,
            back_at: Duration::ZERO,
            restarted: false,
            replaced_at: None,
            replaced: 0,
            run_since: Duration::ZERO,
        }
    }

    /// Where it may be dialled; nowhere, where it is of no use. It is of the roster, or `outside` of it.
    pub(crate) fn found_at(&self, outside: bool, now: Duration) -> impl Iterator<Item = &String> {
        let returns = self.returns.as_ref();
        let returns = returns.filter(|returns| outside && returns.until > now);
        let wanted = returns.is_some() || !outside || self.tell_until > now;
        let known = self.addresses.iter().filter(move |_| wanted);
        returns
            .map(|returns| &returns.from)
            .into_iter()
            .chain(known)
    }

    /// It comes back.
    pub(crate) fn come_back(&mut self, now: Duration) {
        let addresses = std::mem::take(&mut self.addresses);
        *self = Member {
            blocked: self.blocked.min(HALF_SPENT),
            held_up: self.held_up,
            replaced: self.replaced,
            run_since: now,
            ..Member::new(addresses, now)
        };
    }

    /// Whether another run of its process has asked for its place of late.
    pub(super) fn is_asked_for(&self, now: Duration) -> bool {
        let asked = self.replaced_at;
        asked.is_some_and(|asked| now < asked + FRESH)
    }

    /// It is to hear that it is removed, unless it `knows`.
    pub(crate) fn tell_of_removal(&mut self, knows: bool, now: Duration) {
        self.tell_until = if knows {
            Duration::ZERO
        } else {
            now + TELL_GONE
        };
    }
}
