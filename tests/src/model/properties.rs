//! Properties of every state of the model, and states that it must reach.

use super::peer::LOG;
use super::{Part, Peer, RosterModel, State};
use lockstep::session::roster::{Message, Peers, Value};
use std::sync::Arc;

/// A statement about one state.
pub type Statement = fn(&RosterModel, &State) -> bool;

/// Safety properties.
pub const SAFETY: [(&str, Statement); 8] = [
    ("an epoch ends in one way", ends_in_one_way),
    ("S1: remaining peers have the same turns", same_turns),
    (
        "remaining peers have completed no more than the cut",
        no_rollback,
    ),
    (
        "S2: a removed peer has at most `delay` turns more",
        short_tail,
    ),
    ("turns up to the cut can be fetched", fetchable),
    ("a place has one run in a turn", one_run),
    (
        "a run counts from `cut + delay` on, and not beyond the cut that ends it",
        in_tenure,
    ),
    (
        "no peer waits for a batch that no peer seals",
        every_wait_has_a_sender,
    ),
];

/// A removal is decided.
pub const REMOVED: &str = "a peer is removed";
/// A removed peer has turns that the others do not have.
pub const TAIL: &str = "a removed peer is ahead of the cut";
/// The roster stays as it is.
pub const FALSE_ALARM: &str = "a false alarm";
/// A leaver is removed.
pub const LEFT: &str = "a leave is decided";
/// A later coordinator proposes an earlier one's value.
pub const AGAIN: &str = "a value is proposed again";
/// A second epoch ends.
pub const SECOND: &str = "a second epoch ends";
/// Another run of a process is admitted.
pub const REJOINED: &str = "a peer rejoins";
/// Its batches count.
pub const COUNTS: &str = "a batch of a peer that came back counts";
/// The first run of a process has not learned of its removal.
pub const BESIDE: &str = "a peer rejoins while its previous run plays on";
/// Two have rejoined.
pub const BOTH: &str = "a peer rejoins before the batches of another joiner count";

/// Peers whose processes have died go on by a change that one of them had accepted.
pub const ADOPTED: &str = "a reopening decides what was accepted";
/// They go on by another one, for none was accepted that may be decided.
pub const UNBOUND: &str = "a reopening is bound by no change";

/// States to reach, if the bound allows them.
pub const REACHED: [(&str, Statement); 12] = [
    (ADOPTED, |_, state| {
        reopened_by(state).is_some_and(|was_accepted| was_accepted)
    }),
    (UNBOUND, |_, state| {
        reopened_by(state).is_some_and(|was_accepted| !was_accepted)
    }),
    (REMOVED, |model, state| {
        let epochs = model.epochs(state);
        let mut changes = epochs.windows(2);
        changes.any(|pair| !pair[0].roster.without(pair[1].roster).is_empty())
    }),
    (TAIL, |_, state| {
        let mut goes = ends(state).flat_map(|(epoch, value)| in_epoch(state, epoch, value, false));
        goes.any(|(complete, cut)| complete > cut)
    }),
    (FALSE_ALARM, |model, state| {
        state
            .decided
            .contains(&(0, Value::of(model.first_roster(), 1).with_log(LOG)))
    }),
    (LEFT, |_, state| {
        let mut left = state.peers.iter().filter(|peer| peer.leaves.is_some());
        left.any(|peer| {
            let mut ends = ends(state);
            ends.any(|(epoch, value)| epoch == 0 && !value.roster.contains(peer.place))
        })
    }),
    (AGAIN, |_, state| {
        let proposals = state.sent.iter().filter_map(|sent| match &sent.message {
            Message::Propose(ballot, value) => Some((sent.epoch, ballot.peer, *value)),
            _ => None,
        });
        let proposals: Vec<_> = proposals.collect();
        proposals.iter().any(|(epoch, peer, value)| {
            let mut others = proposals.iter();
            others.any(|other| other.0 == *epoch && other.1 != *peer && other.2 == *value)
        })
    }),
    (SECOND, |_, state| ends(state).any(|(epoch, _)| epoch == 1)),
    (REJOINED, |model, state| {
        later_runs(model, state).any(|(_, peer)| peer.part == Part::Plays)
    }),
    (COUNTS, |model, state| {
        later_runs(model, state).any(|(run, peer)| {
            let mut others = state.peers.iter().filter(|other| other.place != peer.place);
            others.any(|other| other.log.iter().any(|turn| turn.contains(run)))
        })
    }),
    (BESIDE, |model, state| {
        later_runs(model, state).any(|(_, peer)| {
            let before = &state.peers[usize::from(peer.place)];
            peer.part == Part::Plays && before.part == Part::Plays
        })
    }),
    (BOTH, |model, state| {
        later_runs(model, state).any(|(_, peer)| {
            let others = peer.from.iter().enumerate();
            let mut waits =
                others.filter(|(of, from)| *of != usize::from(peer.place) && **from > 0);
            peer.part == Part::Plays && waits.next().is_some()
        })
    }),
];

fn ends(state: &State) -> impl Iterator<Item = (u8, Value)> {
    state.decided.iter().copied()
}

/// Whether what ended the first epoch was accepted by a voter, where a reopening has ended it and no voter has.
fn reopened_by(state: &State) -> Option<bool> {
    let pending = |peer: &&Arc<Peer>| peer.epoch > 0 || peer.pending.is_some();
    let value = ends(state).next().map(|(_, value)| value)?;
    let accepted = state
        .sent
        .iter()
        .any(|sent| matches!(&sent.message, Message::Accept(_, of) if *of == value));
    let by_voters = state.peers.iter().any(|peer| pending(&peer));
    (!by_voters).then_some(accepted)
}

fn later_runs<'a>(
    model: &'a RosterModel,
    state: &'a State,
) -> impl Iterator<Item = (u8, &'a Peer)> {
    let runs = (0u8..).zip(state.peers.iter().map(|peer| &**peer));
    runs.filter(|(run, _)| model.is_later_run(*run))
}

fn ends_in_one_way(_: &RosterModel, state: &State) -> bool {
    let epochs = state.decided.iter().map(|(epoch, _)| epoch);
    epochs
        .clone()
        .zip(epochs.skip(1))
        .all(|(one, next)| one != next)
}

/// The log of each run; for removed runs, up to the cut.
fn counted<'a>(model: &RosterModel, state: &'a State) -> Vec<&'a [Peers]> {
    let epochs = model.epochs(state);
    let runs = (0u8..).zip(&state.peers);
    runs.map(|(run, peer)| {
        let end = model.tenure(&epochs, run).and_then(|tenure| tenure.end);
        let log = &peer.log;
        &log[..log.len().min(end.map_or(usize::MAX, |end| end as usize))]
    })
    .collect()
}

fn same_turns(model: &RosterModel, state: &State) -> bool {
    let logs = counted(model, state);
    logs.iter().enumerate().all(|(at, one)| {
        logs[at + 1..].iter().all(|other| {
            let common = one.len().min(other.len());
            one[..common] == other[..common]
        })
    })
}

/// Over all logs.
fn one_run(model: &RosterModel, state: &State) -> bool {
    let logs = counted(model, state);
    let turns = logs.iter().map(|log| log.len()).max().unwrap_or(0);
    model.joiners.is_empty()
        || (0..turns).all(|turn| {
            let runs = logs.iter().filter_map(|log| log.get(turn));
            let runs = runs.fold(Peers::default(), |all, runs| all.or(*runs));
            let places: Peers = runs.iter().map(|run| model.place(run)).collect();
            places.len() == runs.len()
        })
}

fn in_tenure(model: &RosterModel, state: &State) -> bool {
    if state.decided.is_empty() {
        return true;
    }
    let epochs = model.epochs(state);
    let logs = counted(model, state);
    (0u8..).zip(&state.peers).all(|(run, _)| {
        let tenure = model.tenure(&epochs, run);
        let mut turns = logs.iter().flat_map(|log| (0u32..).zip(log.iter()));
        turns.all(|(turn, runs)| {
            let within = tenure.is_some_and(|tenure| {
                turn >= tenure.first && tenure.end.is_none_or(|end| turn < end)
            });
            within || !runs.contains(run)
        })
    })
}

/// A peer holds another peer's batches from its first turn on.
fn every_wait_has_a_sender(model: &RosterModel, state: &State) -> bool {
    if model.joiners.is_empty() || state.decided.is_empty() {
        return true;
    }
    let epochs = model.epochs(state);
    let mut plays = state.peers.iter().filter(|peer| peer.part == Part::Plays);
    plays.all(|peer| {
        peer.roster.voters().members().iter().all(|of| {
            let tenure = model.tenure(&epochs, peer.runs[usize::from(of)]);
            tenure.is_none_or(|tenure| u32::from(peer.held[usize::from(of)]) >= tenure.first)
        })
    })
}

/// Complete turns and cut of peers still in the epoch, for those that stay, or that are removed.
fn in_epoch(
    state: &State,
    epoch: u8,
    value: Value,
    stays: bool,
) -> impl Iterator<Item = (u32, u32)> {
    let of = state.peers.iter().filter(move |peer| {
        let voted = peer.roster.voters().members().contains(peer.place);
        let played = peer.part != Part::Follows && peer.epoch == epoch && voted;
        played && value.stay().contains(peer.place) == stays
    });
    of.map(move |peer| (u32::from(peer.complete), value.cut))
}

fn no_rollback(_: &RosterModel, state: &State) -> bool {
    let mut stays = ends(state).flat_map(|(epoch, value)| in_epoch(state, epoch, value, true));
    stays.all(|(complete, cut)| complete <= cut)
}

fn short_tail(model: &RosterModel, state: &State) -> bool {
    let mut goes = ends(state).flat_map(|(epoch, value)| in_epoch(state, epoch, value, false));
    goes.all(|(complete, cut)| complete <= cut + u32::from(model.delay))
}

/// Any quorum of the new roster has a member with all turns up to the cut. A joiner has no vote before it holds them.
fn fetchable(model: &RosterModel, state: &State) -> bool {
    if state.decided.is_empty() {
        return true;
    }
    let epochs = model.epochs(state);
    ends(state).all(|(at, value)| {
        let Some(epoch) = epochs.get(usize::from(at)) else {
            return true;
        };
        let holds = |of: &u8| {
            let peer = &state.peers[usize::from(epoch.runs[usize::from(*of)])];
            let holdings = peer.holdings(&peer.leaves(state));
            let mut needed = epoch.roster.iter();
            u32::from(peer.complete) >= value.cut
                || needed.all(|of| holdings[usize::from(of)].reaches(value.cut))
        };
        let holders: Peers = value.stay().iter().filter(holds).collect();
        // The holders meet every quorum of the new roster if the other peers are no quorum.
        let others = value.stay().without(holders);
        !model.voters(value.roster).is_quorum(others)
    })
}
