//! The rosters of a match, from its log.

use lockstep::log::{Bundle, RosterChange, Start, What};
use lockstep::session::roster::Peers;
use lockstep::{Gone, MatchId, RosterCause, TurnNumber};
use sim::{Seat, SeatState};
use std::sync::Arc;

/// A roster change in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RosterAt {
    /// The first turn of the new roster.
    pub turn: TurnNumber,
    /// Number of the epoch that begins with it; the start's is 0.
    pub epoch: u32,
    /// The seats of the new roster, ascending.
    pub seats: Vec<Seat>,
    /// Seats without a player from then on, by cause. The log cannot tell a leaver from a lost peer during a pause:
    /// a peer that signed the change counts as a leaver.
    pub gone: Vec<Gone>,
    /// Seats whose player rejoined.
    pub back: Vec<Seat>,
    /// The cause of the change; that of the first of `gone`, if any.
    pub cause: RosterCause,
    /// The match that goes on behind it, where it begins a branch.
    pub branch: Option<MatchId>,
}

impl RosterAt {
    /// Why this seat's peer was removed by this change, if it was and had not left by itself.
    pub fn removed(&self, seat: Seat) -> Option<RosterCause> {
        let mut gone = self.gone.iter();
        let of = gone.find(|gone| gone.seats.contains(&seat))?;
        (of.cause != RosterCause::Left).then_some(of.cause)
    }
}

/// The rosters of a log so far.
pub(crate) struct Rosters {
    start: Arc<Start>,
    roster: Peers,
    /// Peers whose seats the world counts as without a player.
    absent: Peers,
    paused: bool,
}

impl Rosters {
    pub(crate) fn new(start: Arc<Start>) -> Self {
        Rosters {
            roster: Peers::first(start.roster.len()),
            absent: Peers::default(),
            paused: false,
            start,
        }
    }

    /// Follows the next turn.
    pub(crate) fn bundle(&mut self, bundle: &Bundle) {
        self.paused = bundle.paused;
        for entry in &bundle.entries {
            let What::Seat(state) = &entry.what else {
                continue;
            };
            let mut places = self.start.roster.iter();
            let Some(place) = places.position(|peer| peer.seats.contains(&entry.seat)) else {
                continue;
            };
            let one = Peers::first(place + 1).without(Peers::first(place));
            self.absent = match state {
                SeatState::Idle | SeatState::Ai => self.absent.or(one),
                SeatState::Played => self.absent.without(one),
                SeatState::Resigned => self.absent,
            };
        }
    }

    /// Applies a change before the next turn.
    pub(crate) fn change(&mut self, change: &RosterChange) -> RosterAt {
        let roster = change.value.roster;
        // During a pause the world does not learn of a peer that rejoins and is lost again.
        self.absent = self.absent.without(roster.without(self.roster));
        let before = std::mem::replace(&mut self.roster, roster);
        let gone = before.without(roster);
        let signed: Peers = change.accepts.iter().map(|(peer, _)| *peer).collect();
        let left = match self.paused {
            // The world learns of it in the first turn with ticks.
            true => self.absent.or(signed),
            false => self.absent,
        };
        let gone = change.gone(gone, gone.without(left)).into_iter();
        let gone = gone.map(|(cause, peers)| Gone {
            cause,
            seats: self.seats(peers),
        });
        let gone: Vec<Gone> = gone.collect();
        let branch = change.branch().map(|_| {
            change.apply(Arc::make_mut(&mut self.start));
            self.start.match_id
        });
        RosterAt {
            branch,
            turn: TurnNumber(change.value.cut),
            epoch: change.epoch.saturating_add(1),
            seats: self.seats(roster),
            back: self.seats(roster.without(before)),
            cause: change.cause(&gone),
            gone,
        }
    }

    fn seats(&self, peers: Peers) -> Vec<Seat> {
        let places = peers.iter();
        let places = places.filter_map(|peer| self.start.roster.get(usize::from(peer)));
        let mut seats: Vec<Seat> = places.flat_map(|place| place.seats.clone()).collect();
        seats.sort_unstable();
        seats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use lockstep::log::Record;

    /// The log of a match in which the second peer was removed before turn 9, during a pause.
    fn in_a_pause(signed_by_it: bool) -> Vec<RosterAt> {
        let played = fixture::play_gone(20, 9, false);
        let Some(Record::Start(start)) = played.records.first() else {
            panic!("the first record is the start");
        };
        let mut rosters = Rosters::new(start.clone());
        let mut changes = Vec::new();
        for record in played.records {
            match record {
                Record::Bundle(bundle) => rosters.bundle(&bundle),
                Record::Roster(mut change) => {
                    change.accepts.extend(signed_by_it.then_some((1, [0; 64])));
                    changes.push(rosters.change(&change));
                }
                _ => {}
            }
        }
        changes
    }

    #[test]
    fn a_peer_lost_in_the_pause_of_its_return_has_not_left() {
        let records = fixture::play_gone(20, 9, false).records;
        let mut rosters = match records.first() {
            Some(Record::Start(start)) => Rosters::new(start.clone()),
            _ => panic!("the first record is the start"),
        };
        let goes = records.iter().find_map(|record| match record {
            Record::Roster(change) => Some(change.clone()),
            _ => None,
        });
        let goes = goes.expect("a peer is removed");
        let turn = |paused, entries| Bundle {
            turn: TurnNumber(0),
            plan: lockstep::Plan::default(),
            paused,
            entries,
        };
        let idle = lockstep::log::LogEntry {
            seat: Seat(1),
            what: What::Seat(SeatState::Idle),
        };
        let mut back = goes.clone();
        back.value.roster = Peers::first(2);
        let lost = Gone {
            cause: RosterCause::Lost,
            seats: vec![Seat(1)],
        };
        assert_eq!(rosters.change(&goes).gone, std::slice::from_ref(&lost));
        rosters.bundle(&turn(false, vec![idle]));
        rosters.bundle(&turn(true, Vec::new()));
        let back = rosters.change(&back);
        assert_eq!((back.gone, back.back), (Vec::new(), vec![Seat(1)]));
        assert_eq!(rosters.change(&goes).gone, [lost]);
    }

    #[test]
    fn a_peer_that_signs_its_removal_in_a_pause_has_left() {
        for (signed, cause) in [(true, RosterCause::Left), (false, RosterCause::Lost)] {
            let expected = RosterAt {
                turn: TurnNumber(9),
                epoch: 1,
                seats: vec![Seat(0)],
                gone: vec![Gone {
                    cause,
                    seats: vec![Seat(1)],
                }],
                back: Vec::new(),
                branch: None,
                cause,
            };
            assert_eq!(in_a_pause(signed), [expected]);
        }
    }
}
