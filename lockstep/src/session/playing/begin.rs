//! How a peer's part begins: with the match, with its return, or alone. What differs between these is [`Beginning`].

use super::Playing;
use super::agreement::{Checksums, Hashes};
use super::align::Others;
use super::ending::Ending;
use super::epochs::Epochs;
use super::load::Load;
use super::member::Member;
use super::odd::Odd;
use super::own::OwnSeat;
use super::patience::Patience;
use super::presence::Presence;
use super::rejoin::Requests;
use super::snapshots::Snapshots;
use super::undo::Past;
use super::watch::Watch;
use crate::log::{Start, TurnFold};
use crate::session::contract::Stats;
use crate::session::core::Core;
use sim::Checksum;
use std::collections::VecDeque;
use std::sync::Arc;
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
    pub start: Arc<Start>,
    /// This peer's place in the roster.
    pub me: usize,
    pub members: Vec<Member>,
    pub course: TurnFold,
    pub epochs: Epochs,
    /// Turns that are complete and handed out, and their ticks.
    pub turns: u32,
    pub ticks: u64,
    /// Hashes of the log up to there.
    pub hashes: Hashes,
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
            start,
            me,
            members,
            course,
            epochs,
            turns,
            ticks,
            hashes,
            due,
            executed,
            checksum,
            reports_from,
        } = beginning;
        let (plan, peers) = (start.plan, members.len());
        let own = start.roster[me].seats.iter();
        let own = own.map(|seat| OwnSeat::new(*seat, course.next_number(*seat)));
        let per_turn = |every: Duration| (every.as_millis() / plan.turn().as_millis()).max(1);
        let unreported = (executed >= reports_from).then_some(checksum);
        let playing = Playing {
            me,
            own: own.collect(),
            complete: turns,
            hashes,
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
            checksums: Checksums::new(peers, reports_from),
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
            dispute: None,
            others: Others::default(),
            mismatch: None,
            odd: Odd::default(),
            past: Past::new(peers),
            stats: Stats::default(),
            over: false,
            members,
            course,
            start,
        };
        core.keys = playing.keys();
        playing
    }
}
