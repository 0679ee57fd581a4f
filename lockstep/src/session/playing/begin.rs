//! How a peer's part begins: with the match, with its return, or alone. What differs between these is [`Beginning`].

use super::Playing;
use super::ending::Ending;
use super::epochs::Epochs;
use super::load::Load;
use super::member::Member;
use super::own::OwnSeat;
use super::patience::Patience;
use super::presence::Presence;
use super::rejoin::Requests;
use super::snapshots::Snapshots;
use super::undo::Past;
use super::watch::Watch;
use crate::log::TurnFold;
use crate::session::contract::Stats;
use crate::session::core::Core;
use crate::session::ledger::Ledger;
use crate::session::verify::Verify;
use sim::Checksum;
use std::collections::VecDeque;
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
    pub course: TurnFold,
    pub epochs: Epochs,
    /// Ticks of the turns that are complete and handed out.
    pub ticks: u64,
    /// When the next turn is due.
    pub due: Duration,
    /// Turns that the world has executed, and its checksum.
    pub executed: u32,
    pub checksum: Checksum,
    /// Worlds of at least so many turns are reported and compared.
    pub reports_from: u32,
}

impl Playing {
    pub(super) fn begin(core: &mut Core, settings: Settings, beginning: Beginning) -> Self {
        let Beginning {
            ledger,
            members,
            verify,
            course,
            epochs,
            ticks,
            due,
            executed,
            checksum,
            reports_from,
        } = beginning;
        let (plan, peers) = (ledger.places.start().plan, members.len());
        let turns = ledger.window.complete();
        let own = ledger.places.peer(ledger.places.me()).seats.iter();
        let own = own.map(|seat| OwnSeat::new(*seat, course.next_number(*seat)));
        let per_turn = |every: Duration| (every.as_millis() / plan.turn().as_millis()).max(1);
        let unreported = (executed >= reports_from).then_some(checksum);
        let playing = Playing {
            own: own.collect(),
            sealed: turns + u32::from(plan.delay_turns),
            due,
            stall: None,
            due_bundles: VecDeque::new(),
            handed_out: turns,
            told: turns,
            ticks_handed_out: ticks,
            executed,
            unreported: unreported.into_iter().collect(),
            reported: reports_from,
            last_checksum: checksum,
            snapshot_due: None,
            snapshots: Snapshots::new(plan, peers),
            requests: Requests::default(),
            keyframe_every: settings.keyframe_every.map(|every| per_turn(every) as u32),
            stall_limit: settings.stall_limit,
            slack_reported_at: core.now,
            load: Load::new(core.now, turns.saturating_sub(executed)),
            slew: Duration::ZERO,
            chats: VecDeque::new(),
            leaving: None,
            epochs,
            watch: Watch::new(settings.suspicion, core.now),
            presence: Presence::new(core.incarnation, peers, core.now),
            patience: Patience::default(),
            ending: Ending::new(peers),
            fresh_batch: false,
            verify,
            past: Past::new(peers),
            stats: Stats::default(),
            over: false,
            members,
            course,
            ledger,
        };
        core.keys = playing.ledger.places.keys();
        playing
    }
}
