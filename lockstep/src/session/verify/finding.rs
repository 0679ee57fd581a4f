//! What verification finds, and how it says that peers differ.

use crate::log::{Record, Voters};
use crate::session::ledger::{Ledger, Places};
use crate::session::wire::WireBatch;
use crate::{Desync, DesyncSide, Fault, LogHash, PeerId};
use sim::Checksum;

/// What follows from verification, in order.
pub(crate) enum Finding {
    /// A record about so many turns is for the log.
    Log(u32, Record),
    /// All peers of the match are to see these batches.
    Show(Vec<WireBatch>),
    /// The batches of the dispute are to be shown.
    ShowDispute,
    /// A peer has done what no correct peer does.
    Fault(usize, Fault),
    /// The others go on without a minority.
    Excluded(Desync),
    /// The match stops at this turn.
    Desync(u32, Vec<DesyncSide>),
}

/// What becomes of a dispute that a quorum judges.
pub(super) enum Judgement {
    /// More may be known later.
    Open,
    /// No quorum is right.
    Undecided,
    Settled(Vec<Finding>),
}

/// The peers that reported something else than more than half of the roster.
pub(crate) fn minority_of(reports: &[DesyncSide], voters: Voters) -> Vec<PeerId> {
    let told = |side: &DesyncSide| (side.checksum, side.log_hash);
    let alike = |one: &&DesyncSide| {
        let same = reports.iter().filter(|other| told(other) == told(one));
        2 * same.count() as u32 > voters.members().len()
    };
    let Some(one) = reports.iter().find(alike) else {
        return Vec::new();
    };
    let minority = reports.iter().filter(|other| told(other) != told(one));
    minority.map(|other| other.peer).collect()
}

/// What one peer says of its world, or its log.
pub(crate) fn side(
    at: u8,
    checksum: Checksum,
    log_hash: Option<LogHash>,
    places: &Places,
) -> DesyncSide {
    let peer = places.peer(usize::from(at));
    DesyncSide {
        seat: peer.seats.first().copied().unwrap_or_default(),
        peer: peer.peer,
        own: usize::from(at) == places.me(),
        checksum,
        log_hash,
    }
}

pub(super) fn sides_of_worlds(told: &[(u8, Checksum)], places: &Places) -> Vec<DesyncSide> {
    let sides = told.iter();
    sides
        .map(|(at, checksum)| side(*at, *checksum, None, places))
        .collect()
}

pub(super) fn desync_sides(
    told: &[(u8, LogHash)],
    checksum: Checksum,
    places: &Places,
) -> Vec<DesyncSide> {
    let sides = told.iter();
    sides
        .map(|(at, hash)| side(*at, checksum, Some(*hash), places))
        .collect()
}

pub(super) fn log_mismatch(turns: u32, checksums: Vec<(u8, Checksum)>) -> Finding {
    Finding::Log(turns, Record::Mismatch { turns, checksums })
}

/// The batches that report the world after so many turns: a peer that was told otherwise has the proof that two were
/// signed, and a peer that was told nothing knows as much as this peer.
pub(super) fn show_reports(turns: u32, ledger: &Ledger) -> Finding {
    let held = ledger.batches.all_from(0);
    let held = held.filter(|held| held.batch.reported().contains(&turns));
    Finding::Show(held.map(|held| WireBatch::of(&held.signed)).collect())
}

/// All batches that are held of these turns: a holder of others has the proof.
pub(crate) fn show_from(turn: u32, ledger: &Ledger) -> Finding {
    let held = ledger.batches.all_from(turn);
    Finding::Show(held.map(|held| WireBatch::of(&held.signed)).collect())
}
