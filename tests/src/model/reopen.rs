//! Crashes between an accept and a decision, and what returning peers reopen.

use super::peer::LOG;
use super::{Action, Mutant, Part, RosterModel, State, peer_mut};
use lockstep::session::OpenChange;
use lockstep::session::roster::{Peers, Value};

impl RosterModel {
    /// The quorums of the first roster that may reopen its epoch: none of them knows of a decision.
    pub(super) fn reopenings(&self, state: &State, actions: &mut Vec<Action>) {
        if !self.reopens {
            return;
        }
        let members = self.first_roster();
        let open = members.iter().filter(|place| {
            let peer = &state.peers[usize::from(*place)];
            peer.part == Part::Plays && peer.epoch == 0 && peer.pending.is_none()
        });
        let open: Peers = open.collect();
        let groups = (1..=open.0).map(Peers);
        let quorums =
            groups.filter(|peers| peers.is_within(open) && self.voters(members).is_quorum(*peers));
        actions.extend(quorums.map(Action::Reopen));
    }

    /// Their processes die. What others reopen in their places ends the epoch; `None` where they stop.
    pub(super) fn reopen(&self, state: &mut State, peers: Peers) -> Option<()> {
        let voters = self.voters(self.first_roster());
        let of = |place: u8| &state.peers[usize::from(place)];
        let remembers = self.mutant != Some(Mutant::AcceptsForgotten);
        let here = peers.iter().map(|place| {
            let accepted = of(place).roster.accepted();
            (place, accepted.filter(|_| remembers))
        });
        let value = match OpenChange::among(voters, &here.collect()) {
            Some(open) => {
                let adopts = open.is_adopted_by(voters, peers.and(open.value.roster));
                adopts.then_some(open.value)?
            }
            None => {
                let most = peers.iter().map(|place| of(place).complete).max()?;
                Value::of(peers, most.into()).with_log(LOG)
            }
        };
        state.decided.insert((0, value));
        for place in peers.iter() {
            peer_mut(state, place).part = Part::Gone;
        }
        Some(())
    }
}
