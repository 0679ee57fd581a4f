//! How a peer's part begins: with the match, with its return, or alone. What differs between these is [`Beginning`].

use super::Playing;
use super::ending::Ending;
use super::epochs::Epochs;
use super::member::Member;
use super::patience::Patience;
use super::presence::Presence;
use super::rejoin::Requests;
use super::watch::Watch;
use crate::session::core::Core;
use crate::session::ledger::Ledger;
use crate::session::turns::{self as turn, Turns};
use crate::session::verify::Verify;
use std::time::Duration;

/// What a session's settings say about the match itself; see [`SessionConfig`](crate::session::SessionConfig).
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub keyframe_every: Option<Duration>,
    pub stall_limit: Option<Duration>,
    pub suspicion: Duration,
}

/// Where a part begins, and with whom.
pub(super) struct Beginning {
    pub ledger: Ledger,
    pub members: Vec<Member>,
    pub verify: Verify,
    pub epochs: Epochs,
    pub turns: turn::Beginning,
}

impl Playing {
    pub(super) fn begin(core: &mut Core, settings: Settings, beginning: Beginning) -> Self {
        let Beginning {
            ledger,
            members,
            verify,
            epochs,
            turns,
        } = beginning;
        let peers = members.len();
        let Settings {
            keyframe_every,
            stall_limit,
            suspicion,
        } = settings;
        let playing = Playing {
            turns: Turns::new(turns, &ledger, keyframe_every, stall_limit, core.now),
            requests: Requests::default(),
            leaving: None,
            epochs,
            watch: Watch::new(suspicion, core.now),
            presence: Presence::new(core.incarnation, peers, core.now),
            patience: Patience::default(),
            ending: Ending::new(peers),
            fresh_batch: false,
            verify,
            over: false,
            members,
            ledger,
        };
        core.keys = playing.ledger.places.keys();
        playing
    }
}
