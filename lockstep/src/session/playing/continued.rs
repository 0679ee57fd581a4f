//! How the part of a player begins who goes on alone from a moment of a match.

use super::agreement::{Checksums, Hashes};
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
use super::{Course, Playing};
use crate::log::{Continuation, Keyframe, Record, Start};
use crate::session::Output;
use crate::session::contract::Stats;
use crate::session::core::Core;
use crate::{Event, LogHash, TurnNumber};
use sim::{Checksum, Seat};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// What a player goes on from.
pub(crate) struct Continued {
    /// As it counts from here on: this peer has all seats.
    pub start: Arc<Start>,
    pub continuation: Arc<Continuation>,
    pub course: Course,
    /// Hash of the log up to here, and the same with the continuation chained in.
    pub hash: LogHash,
    pub chained: LogHash,
    /// Ticks that the world has stepped, the world itself, and its checksum.
    pub ticks: u64,
    pub snapshot: Arc<[u8]>,
    pub checksum: Checksum,
}

impl Playing {
    /// The part of a player that goes on alone, from the first turn of its epoch on.
    pub(crate) fn continued(
        core: &mut Core,
        continued: Continued,
        keyframe_every: Option<Duration>,
        stall_limit: Option<Duration>,
        suspicion: Duration,
    ) -> Self {
        let Continued {
            start,
            continuation,
            ..
        } = continued;
        let (turns, plan) = (continuation.turns, start.plan);
        let first = turns + u32::from(plan.delay_turns);
        let peer = start.roster[0].clone();
        let own = peer.seats.iter();
        let own = own.map(|seat| OwnSeat::resumed(*seat, continued.course.next_number(*seat)));
        let member = Member {
            from: first,
            reported: turns,
            reports_from: turns,
            ..Member::new(peer.clone(), Vec::new(), TurnNumber(first), core.now)
        };
        core.out
            .push(Output::Append(Record::Continued(continuation.clone())));
        core.event(Event::Started {
            match_id: start.match_id,
            own: first_of(continuation.seat, &peer.seats),
            seats: start.seat_infos(),
            plan,
        });
        let kept = core.limits.unexecuted_turns as usize;
        let mut playing = Playing {
            me: 0,
            own: own.collect(),
            complete: turns,
            hashes: Hashes::resumed(turns, &[continued.hash], kept),
            sealed: first,
            due: core.now,
            stall: None,
            due_bundles: VecDeque::new(),
            handed_out: turns,
            told: turns,
            ticks_handed_out: continued.ticks,
            executed: turns,
            unreported: VecDeque::from([continued.checksum]),
            reported: turns,
            last_checksum: continued.checksum,
            checksums: Checksums::beginning_at(1, turns),
            snapshot_due: None,
            snapshots: Snapshots::new(plan, 1),
            requests: Requests::default(),
            keyframe_every: keyframe_every
                .map(|every| (every.as_millis() / plan.turn().as_millis()).max(1) as u32),
            stall_limit,
            slack_reported_at: core.now,
            load: Load::new(core.now, 0),
            slew: Duration::ZERO,
            chats: VecDeque::new(),
            leaving: None,
            epochs: Epochs::continued(continuation.epoch + 1, continued.chained, core.now),
            watch: Watch::new(suspicion, core.now),
            presence: Presence::new(core.incarnation, 1, core.now),
            patience: Patience::default(),
            ending: Ending::new(1),
            fresh_batch: false,
            dispute: None,
            mismatch: None,
            odd: Odd::default(),
            past: Past::new(1),
            stats: Stats::default(),
            over: false,
            members: vec![member],
            course: continued.course,
            start,
        };
        core.keys = playing.keys();
        let keyframe = Keyframe {
            snapshot: continued.snapshot,
            ..playing.keyframe(continued.hash)
        };
        core.out.push(Output::Append(Record::Keyframe(keyframe)));
        playing.report(core, 0, turns, continued.checksum);
        playing
    }
}

/// All seats, the one that the player itself plays before the others.
fn first_of(seat: Seat, seats: &[Seat]) -> Vec<Seat> {
    let others = seats.iter().copied().filter(|other| *other != seat);
    std::iter::once(seat).chain(others).collect()
}
