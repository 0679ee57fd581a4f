//! Kinds of runs, for the table that every sweep prints.

use super::{Fault, Hostile, PeerPlan, Scenario};
use lockstep::log::{OnDesync, OnSlow};
use std::time::Duration;

/// A kind of run: its name, and whether a scenario is of it.
pub type Kind = (&'static str, fn(&Scenario) -> bool);

fn any(scenario: &Scenario, of: impl Fn(&PeerPlan) -> bool) -> bool {
    scenario.peers.iter().any(of)
}

fn any_fault(scenario: &Scenario, of: impl Fn(&Fault) -> bool) -> bool {
    any(scenario, |peer| peer.has(&of))
}

/// Whether a peer has such a fault after healing.
fn any_late(scenario: &Scenario, of: impl Fn(&Fault) -> bool) -> bool {
    let heal_at = scenario.heal_at;
    any(scenario, |peer| {
        let mut faults = peer.faults.iter();
        faults.any(|(at, fault)| *at > heal_at && of(fault))
    })
}

fn hostile(scenario: &Scenario, of: fn(&Hostile) -> bool) -> bool {
    scenario.hostile().any(|(_, hostile)| of(&hostile))
}

/// Every kind.
pub const KINDS: &[Kind] = &[
    ("accepts outlive their peers", |each| {
        let mut reopening = each.reopening.iter();
        reopening.any(|reopening| !reopening.outlived.is_empty())
    }),
    ("two reopenings of one match", |each| {
        let mut reopening = each.reopening.iter();
        reopening.any(|reopening| reopening.parted.is_some())
    }),
    ("adaptive plans", |each| each.adaptive),
    ("links that swing", |each| {
        any_fault(each, |fault| matches!(fault, Fault::Swing { .. }))
    }),
    ("two peers", |each| each.peers.len() == 2),
    ("eight peers", |each| each.peers.len() == 8),
    ("signed with Ed25519", |each| each.ed25519),
    ("garbage among commands", |each| each.clumsy),
    ("loss above 5 %", |each| each.weather.loss > 50),
    ("pairs without a link", |each| !each.unreachable.is_empty()),
    ("cut", |each| {
        any_fault(each, |fault| matches!(fault, Fault::Cut { .. }))
    }),
    ("cut for over 10 s", |each| {
        let long = |lasts: &Duration| lasts.as_secs() >= 10;
        any_fault(
            each,
            |fault| matches!(fault, Fault::Cut { lasts, .. } if long(lasts)),
        )
    }),
    ("cut after healing", |each| {
        any_late(each, |fault| matches!(fault, Fault::Cut { .. }))
    }),
    ("frozen", |each| {
        any_fault(each, |fault| matches!(fault, Fault::Freeze(_)))
    }),
    ("frozen for over 4 s", |each| {
        any_fault(
            each,
            |fault| matches!(fault, Fault::Freeze(lasts) if lasts.as_secs() >= 4),
        )
    }),
    ("frozen after healing", |each| {
        any_late(each, |fault| matches!(fault, Fault::Freeze(_)))
    }),
    ("crashed", |each| {
        any_fault(each, |fault| *fault == Fault::Crash)
    }),
    ("returned", |each| {
        any_fault(each, |fault| matches!(fault, Fault::Return { .. }))
    }),
    ("crashed after healing", |each| {
        any_late(each, |fault| *fault == Fault::Crash)
    }),
    ("crashed repeatedly", |each| {
        any(each, |peer| {
            let crashes = peer
                .faults
                .iter()
                .filter(|(_, fault)| *fault == Fault::Crash);
            crashes.count() > 1
        })
    }),
    ("left", |each| {
        any_fault(each, |fault| *fault == Fault::Leave)
    }),
    ("slow for a while", |each| {
        any_fault(each, |fault| matches!(fault, Fault::Slow { .. }))
    }),
    ("slow after healing", |each| {
        any(each, |peer| {
            peer.troubled && peer.has(|fault| matches!(fault, Fault::Slow { .. }))
        })
    }),
    ("slow peers are removed", |each| {
        each.on_slow == OnSlow::Remove
    }),
    ("moved", |each| {
        any_fault(each, |fault| *fault == Fault::Move)
    }),
    ("clock jumps", |each| {
        any_fault(each, |fault| matches!(fault, Fault::Jump(_)))
    }),
    ("disk full", |each| {
        any(each, |peer| peer.log_takes.is_some())
    }),
    ("paused", |each| {
        any_fault(each, |fault| matches!(fault, Fault::Pause(_)))
    }),
    ("paused by an outsider", |each| {
        any(each, |peer| {
            peer.troubled && peer.has(|fault| matches!(fault, Fault::Pause(_)))
        })
    }),
    ("suspicion extended", |each| each.extends),
    ("extended beside a hostile peer", |each| {
        each.extends && each.hostile().next().is_some()
    }),
    ("a world goes wrong", |each| {
        any(each, |peer| peer.flaw.is_some())
    }),
    ("a mismatch stops the match", |each| {
        let lies =
            |hostile: &Hostile| matches!(hostile, Hostile::LiesOfWorld(_) | Hostile::LiesOfLog(_));
        let differs = any(each, |peer| peer.flaw.is_some()) || hostile(each, lies);
        each.on_desync == OnDesync::Pause && differs
    }),
    ("a stranger", |each| each.stranger),
    ("a hostile peer", |each| each.hostile().next().is_some()),
    ("two hostile peers", |each| each.hostile().count() > 1),
    ("the host is hostile", |each| each.is_hostile(0)),
    ("garbage", |each| {
        hostile(each, |hostile| matches!(hostile, Hostile::Garbage { .. }))
    }),
    ("forged batches", |each| {
        hostile(each, |hostile| matches!(hostile, Hostile::Forger))
    }),
    ("two histories", |each| {
        hostile(each, |hostile| {
            matches!(hostile, Hostile::Equivocator { .. })
        })
    }),
    ("lies of world or log", |each| {
        hostile(each, |hostile| {
            matches!(hostile, Hostile::LiesOfWorld(_) | Hostile::LiesOfLog(_))
        })
    }),
    ("lies of load", |each| {
        hostile(each, |hostile| matches!(hostile, Hostile::LiesOfLoad(_)))
    }),
    ("lies of links", |each| {
        hostile(each, |hostile| {
            matches!(hostile, Hostile::LiesOfLinks { .. })
        })
    }),
    ("lies of load for over 80 s", |each| {
        let turns = each.plan.turn() * each.turn_limit;
        each.lies_of_load() && turns.as_secs() >= 80
    }),
    ("a coordinator removes a peer", |each| {
        hostile(each, |hostile| matches!(hostile, Hostile::Evictor { .. }))
    }),
    ("withheld batches", |each| {
        hostile(
            each,
            |hostile| matches!(hostile, Hostile::Withholder(keeps) if keeps.batches),
        )
    }),
    ("withheld votes", |each| {
        hostile(
            each,
            |hostile| matches!(hostile, Hostile::Withholder(keeps) if keeps.votes),
        )
    }),
    ("mute", |each| {
        hostile(each, |hostile| matches!(hostile, Hostile::Mute { .. }))
    }),
    ("all die, reopened", |each| {
        each.reopening
            .as_ref()
            .is_some_and(|reopening| !reopening.some_live())
    }),
    ("too few left, reopened", |each| {
        each.reopening
            .as_ref()
            .is_some_and(|reopening| reopening.some_live())
    }),
    ("lost just after a change", |each| each.aftermath.is_some()),
];
