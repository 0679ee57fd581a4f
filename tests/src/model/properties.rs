//! What must hold in every state of the model, and what must be among its states.

use super::{RosterModel, State};
use lockstep::session::roster::{Message, Peers, Value};

/// A statement about one state.
pub type Statement = fn(&RosterModel, &State) -> bool;

/// What holds always.
pub const SAFETY: [(&str, Statement); 5] = [
    ("an epoch ends in one way", ends_in_one_way),
    ("S1: who stays has the same turns", same_turns),
    ("who stays has completed no more than the cut", no_rollback),
    ("S2: who goes has at most `delay` turns more", short_tail),
    ("turns up to the cut can be fetched", fetchable),
];

/// A removal is decided.
pub const REMOVED: &str = "a peer is removed";
/// Who is removed has turns that the others do not have.
pub const TAIL: &str = "a removed peer is ahead of the cut";
/// The roster stays as it is.
pub const FALSE_ALARM: &str = "a false alarm";
/// A peer that left is out.
pub const LEFT: &str = "a leave is decided";
/// A later coordinator proposes what an earlier one did.
pub const AGAIN: &str = "a value is proposed again";
/// Another epoch ends.
pub const SECOND: &str = "a second epoch ends";

/// What is reached, where the bound allows it.
pub const REACHED: [(&str, Statement); 6] = [
    (REMOVED, |model, state| {
        let everybody = Peers::first(model.peers);
        state
            .decided
            .iter()
            .any(|(_, value)| value.roster != everybody)
    }),
    (TAIL, |_, state| {
        let mut goes = ends(state).flat_map(|(epoch, value)| in_epoch(state, epoch, value, false));
        goes.any(|(complete, cut)| complete > cut)
    }),
    (FALSE_ALARM, |model, state| {
        let everybody = Peers::first(model.peers);
        state.decided.contains(&(
            0,
            Value {
                roster: everybody,
                cut: 1,
                joins: None,
            },
        ))
    }),
    (LEFT, |_, state| {
        let mut left = (0u8..)
            .zip(&state.peers)
            .filter(|(_, peer)| peer.leaves.is_some());
        left.any(|(at, _)| {
            let mut ends = ends(state);
            ends.any(|(epoch, value)| epoch == 0 && !value.roster.contains(at))
        })
    }),
    (AGAIN, |_, state| {
        let proposals = state
            .said
            .iter()
            .filter_map(|(epoch, _, message)| match message {
                Message::Propose(ballot, value) => Some((*epoch, ballot.peer, *value)),
                _ => None,
            });
        let proposals: Vec<_> = proposals.collect();
        proposals.iter().any(|(epoch, peer, value)| {
            let mut others = proposals.iter();
            others.any(|other| other.0 == *epoch && other.1 != *peer && other.2 == *value)
        })
    }),
    (SECOND, |_, state| ends(state).any(|(epoch, _)| epoch == 1)),
];

fn ends(state: &State) -> impl Iterator<Item = (u8, Value)> {
    state.decided.iter().copied()
}

fn ends_in_one_way(_: &RosterModel, state: &State) -> bool {
    let epochs = state.decided.iter().map(|(epoch, _)| epoch);
    epochs
        .clone()
        .zip(epochs.skip(1))
        .all(|(one, next)| one != next)
}

fn same_turns(model: &RosterModel, state: &State) -> bool {
    // Of a peer that goes, only the turns up to the cut count.
    let counts = |at: u8| {
        let removed = ends(state).filter(|(_, value)| !value.roster.contains(at));
        let cut = removed.map(|(_, value)| value.cut as usize).min();
        let log = &state.peers[usize::from(at)].log;
        &log[..log.len().min(cut.unwrap_or(usize::MAX))]
    };
    let all = Peers::first(model.peers);
    all.iter().all(|one| {
        all.iter().filter(|other| *other > one).all(|other| {
            let (one, other) = (counts(one), counts(other));
            let common = one.len().min(other.len());
            one[..common] == other[..common]
        })
    })
}

/// Turns complete, and the cut, of those still in the epoch who stay, or who go.
fn in_epoch(
    state: &State,
    epoch: u8,
    value: Value,
    stays: bool,
) -> impl Iterator<Item = (u32, u32)> {
    let peers = (0u8..).zip(&state.peers);
    let of = peers.filter(move |(at, peer)| {
        let voted = peer.roster.voters().members().contains(*at);
        peer.epoch == epoch && voted && value.roster.contains(*at) == stays
    });
    of.map(move |(_, peer)| (u32::from(peer.complete), value.cut))
}

fn no_rollback(_: &RosterModel, state: &State) -> bool {
    let mut stays = ends(state).flat_map(|(epoch, value)| in_epoch(state, epoch, value, true));
    stays.all(|(complete, cut)| complete <= cut)
}

fn short_tail(model: &RosterModel, state: &State) -> bool {
    let mut goes = ends(state).flat_map(|(epoch, value)| in_epoch(state, epoch, value, false));
    goes.all(|(complete, cut)| complete <= cut + u32::from(model.delay))
}

/// Any quorum of the new roster has a member that holds all turns up to the cut, whatever it is told later.
fn fetchable(model: &RosterModel, state: &State) -> bool {
    let leaves: Vec<Option<u8>> = state.peers.iter().map(|peer| peer.leaves).collect();
    ends(state).all(|(epoch, value)| {
        let old = match epoch {
            0 => Some(Peers::first(model.peers)),
            epoch => ends(state)
                .find(|(of, _)| *of + 1 == epoch)
                .map(|(_, value)| value.roster),
        };
        let holds = |at: &u8| {
            let peer = &state.peers[usize::from(*at)];
            let holdings = peer.holdings(&leaves);
            let mut needed = old.into_iter().flat_map(Peers::iter);
            needed.all(|of| holdings[usize::from(of)].reaches(value.cut))
        };
        let holders: Peers = value.roster.iter().filter(holds).collect();
        // Every quorum of the new roster meets the holders when the others are no quorum.
        !model
            .voters(value.roster)
            .is_quorum(value.roster.without(holders))
    })
}
