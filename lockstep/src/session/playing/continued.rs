//! How the part of a player begins who goes on alone from a moment of a match.

use super::Playing;
use super::agreement::Hashes;
use super::begin::{Beginning, Settings};
use super::epochs::Epochs;
use super::member::Member;
use crate::log::{Continuation, Keyframe, Record, Start, TurnFold};
use crate::session::Output;
use crate::session::core::Core;
use crate::{Event, LogHash, TurnNumber};
use sim::{Checksum, Seat};
use std::sync::Arc;

/// What a player goes on from.
pub(crate) struct Continued {
    /// As it counts from here on: this peer has all seats.
    pub start: Arc<Start>,
    pub continuation: Arc<Continuation>,
    pub course: TurnFold,
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
    pub(crate) fn continued(core: &mut Core, continued: Continued, settings: Settings) -> Self {
        let Continued {
            start,
            continuation,
            ..
        } = continued;
        let (turns, plan) = (continuation.turns, start.plan);
        let first = turns + u32::from(plan.delay_turns);
        let peer = start.roster[0].clone();
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
        let beginning = Beginning {
            start,
            me: 0,
            members: vec![member],
            course: continued.course,
            epochs: Epochs::continued(continuation.epoch + 1, continued.chained, core.now),
            turns,
            ticks: continued.ticks,
            hashes: Hashes::resumed(turns, &[continued.hash], kept),
            due: core.now,
            executed: turns,
            checksum: continued.checksum,
            reports_from: turns,
        };
        let mut playing = Playing::begin(core, settings, beginning);
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
