use super::*;
use crate::log::{Accept, Document, RosterChange};
use crate::session::ledger::fixture::start;
use crate::sign::{KeyedHash, Signer};
use crate::{Incarnation, PeerId};
use std::collections::VecDeque;

/// The log's hash after any turn.
const LOG: LogHash = LogHash([5; 16]);

/// Rosters that hear each other at once, unless one of them is dead.
struct Table {
    rosters: Vec<Roster>,
    held: Vec<Vec<Holding>>,
    dead: Peers,
    unwanted: Peers,
    kept: Peers,
    /// What peers hear of the others, where it is not that the coordinator alone suspects some.
    present: Peers,
    /// Whose batches lead to another log.
    astray: Peers,
    said: VecDeque<(u8, Message)>,
    decided: Vec<Option<Decision>>,
}

impl Table {
    /// `held[i][j]`: turns of `j` that `i` holds.
    fn new(held: &[&[u32]]) -> Self {
        let voters = Voters::new(Peers::first(held.len()));
        let holding = |until: &u32| Holding {
            until: *until,
            ..Holding::default()
        };
        Table {
            rosters: (0..held.len() as u8)
                .map(|at| Roster::new(at, voters))
                .collect(),
            held: held
                .iter()
                .map(|row| row.iter().map(holding).collect())
                .collect(),
            dead: Peers::default(),
            unwanted: Peers::default(),
            kept: Peers::default(),
            present: Peers::default(),
            astray: Peers::default(),
            said: VecDeque::new(),
            decided: vec![None; held.len()],
        }
    }

    fn tell(&mut self, at: u8, input: Input) {
        if self.dead.contains(at) {
            return;
        }
        // Promises tell.
        let left = self.held.iter().flat_map(|row| (0..).zip(row));
        let left = left.filter(|(_, holding)| holding.left);
        let left = left.map(|(of, _)| of).collect();
        let view = View {
            holdings: &self.held[usize::from(at)],
            complete: 0,
            hashes: &[LOG],
            ahead: match self.astray.contains(at) {
                true => &[LogHash([6; 16]); 16],
                false => &[LOG; 16],
            },
            cheats: Peers::default(),
            evident_minority: Peers::default(),
            minority: Peers::default(),
            suspects: self.dead.or(self.unwanted.without(self.kept)),
            unwanted: self.unwanted,
            kept: self.kept,
            withholding: Peers::default(),
            excused: self.unwanted.or(left),
            present: self.present,
            joiner: None,
            asked: &[],
        };
        for each in self.rosters[usize::from(at)].handle(input, &view) {
            match each {
                Effect::Broadcast(message) => self.said.push_back((at, message)),
                Effect::Decided(decision) => self.decided[usize::from(at)] = Some(decision),
            }
        }
    }

    /// All peers hear all messages, until none is left or `ends` says so.
    fn run(&mut self, ends: impl Fn(&Message) -> bool) {
        while let Some((from, message)) = self.said.pop_front() {
            if ends(&message) {
                return;
            }
            for at in 0..self.rosters.len() as u8 {
                self.tell(at, Input::Heard(from, message.clone()));
            }
        }
    }

    fn coordinate(&mut self, at: u8) {
        self.tell(at, Input::Coordinate);
        self.run(|_| false);
    }

    fn values(&self) -> Vec<Option<Value>> {
        let decided = self.decided.iter();
        decided
            .map(|decision| decision.map(|decision| decision.value))
            .collect()
    }
}

#[test]
fn no_voter_accepts_a_roster_without_a_peer_that_it_hears() {
    let mut table = Table::new(&[&[5, 5, 5], &[5, 5, 5], &[5, 5, 5]]);
    table.dead.insert(2);
    table.present = Peers(0b100);
    table.coordinate(0);
    assert_eq!(table.values(), [None, None, None]);
    table.present = Peers::default();
    for at in [0, 1] {
        table.tell(at, Input::Recheck);
    }
    table.run(|_| false);
    assert_eq!(table.values()[..2], [value(0b011, 5), value(0b011, 5)]);
}

/// A coordinator has proposed to go on without peer 2, which the others hear.
fn proposal_without_a_present_peer() -> Table {
    let mut table = Table::new(&[&[5, 5, 5], &[5, 5, 5], &[5, 5, 5]]);
    table.present = Peers(0b100);
    table.dead.insert(2);
    table.coordinate(0);
    table
}

#[test]
fn a_removal_that_the_others_refuse_binds_no_voter() {
    let mut table = proposal_without_a_present_peer();
    assert_eq!(table.values(), [None, None, None]);
    table.dead = Peers::default();
    table.coordinate(0);
    assert_eq!(table.values(), [value(0b111, 5); 3]);
}

#[test]
fn a_removed_voter_does_not_bind_itself_to_a_removal_that_the_others_refuse() {
    let mut table = proposal_without_a_present_peer();
    table.dead = Peers::default();
    let (ballot, value_without) = *table.rosters[0].proposed().expect("it proposed");
    table.tell(2, Input::Heard(0, Message::Prepare(ballot)));
    table.tell(2, Input::Heard(0, Message::Propose(ballot, value_without)));
    table.run(|_| false);
    assert_eq!(table.values(), [None, None, None]);
    table.coordinate(0);
    assert_eq!(table.values(), [value(0b111, 5); 3]);
}

#[test]
fn a_coordinator_accepts_a_removal_that_another_voter_has_accepted() {
    let mut table = Table::new(&[&[5, 5, 5], &[5, 5, 5], &[5, 5, 5]]);
    table.dead.insert(2);
    table.coordinate(0);
    assert_eq!(table.values()[..2], [value(0b011, 5), value(0b011, 5)]);
}

fn value(roster: u16, cut: u32) -> Option<Value> {
    Some(Value::of(Peers(roster), cut).with_log(LOG))
}

#[test]
fn a_dead_peer_is_removed_after_what_any_survivor_holds() {
    let mut table = Table::new(&[&[7, 7, 5], &[7, 7, 6], &[6, 6, 7]]);
    table.dead.insert(2);
    table.coordinate(0);
    assert!(
        table.rosters[0].is_frozen(),
        "it lacks turn 5 of the dead peer"
    );
    assert_eq!(table.values(), [None, None, None]);
    table.held[0][2].until = 6;
    table.tell(0, Input::Recheck);
    table.run(|_| false);
    assert_eq!(table.values(), [value(0b011, 6), value(0b011, 6), None]);
    assert!(!table.rosters[0].is_frozen());
}

#[test]
fn no_peer_is_removed_where_all_answer() {
    let mut table = Table::new(&[&[4, 4], &[4, 4]]);
    table.coordinate(1);
    assert_eq!(table.values(), [value(0b11, 4), value(0b11, 4)]);
}

#[test]
fn a_guest_alone_decides_nothing() {
    let mut table = Table::new(&[&[4, 4], &[4, 4]]);
    table.dead.insert(0);
    table.coordinate(1);
    assert_eq!(table.values(), [None, None]);
    assert!(table.rosters[1].is_frozen());
}

#[test]
fn a_host_that_leaves_votes_for_its_guest() {
    let mut table = Table::new(&[&[4, 4], &[4, 4]]);
    table.held[1][0].left = true;
    table.coordinate(1);
    assert_eq!(
        table.values(),
        [value(0b10, 4); 2].map(|value| value.map(|value| Value {
            left: Peers(0b01),
            ..value
        }))
    );
}

#[test]
fn peer_with_batches_of_another_log_does_not_accept() {
    let mut table = Table::new(&[&[4; 3], &[4; 3], &[4; 3]]);
    table.astray.insert(1);
    table.coordinate(0);
    let decided = table.decided[0].map(|decision| (decision.value, decision.accepts));
    assert_eq!(decided, value(0b111, 4).map(|value| (value, Peers(0b101))));
    assert!(table.rosters[1].proposed().is_some(), "it may yet");
    let mut table = Table::new(&[&[4; 3], &[4; 3], &[4; 3]]);
    table.astray = Peers(0b110);
    table.coordinate(0);
    assert_eq!(table.values(), [None, None, None]);
}

#[test]
fn next_coordinator_proposes_a_possibly_decided_value() {
    let mut table = Table::new(&[&[5, 5, 5], &[5, 5, 5], &[5, 5, 5]]);
    table.tell(0, Input::Coordinate);
    // The first coordinator dies when its proposal, for all three, has been accepted by the others.
    table.run(|message| matches!(message, Message::Accept(..)));
    table.said.clear();
    table.dead.insert(0);
    table.coordinate(1);
    assert_eq!(table.values(), [None, value(0b111, 5), value(0b111, 5)]);
    let ballot = table.decided[1].map(|decision| decision.ballot);
    assert_eq!(ballot, Some(Ballot { round: 2, peer: 1 }));
}

#[test]
fn quorum_removes_a_peer_that_answers_and_blocks() {
    let mut table = Table::new(&[&[4; 3], &[4; 3], &[4; 3]]);
    table.unwanted.insert(2);
    table.coordinate(0);
    assert_eq!(table.values()[0], value(0b011, 4));
}

#[test]
fn a_coordinator_does_not_wait_for_a_peer_that_answered_before_and_is_to_go() {
    let mut table = Table::new(&[&[4; 4], &[4; 4], &[4; 4], &[4; 4]]);
    table.tell(0, Input::Coordinate);
    table.run(|message| matches!(message, Message::Propose(..)));
    table.said.clear();
    table.dead.insert(3);
    table.unwanted.insert(3);
    table.coordinate(0);
    assert_eq!(table.values()[0], value(0b0111, 4));
}

#[test]
fn a_coordinator_keeps_a_peer_that_was_kept_of_late() {
    let mut table = Table::new(&[&[4; 3], &[4; 3], &[4; 3]]);
    table.unwanted.insert(2);
    table.kept.insert(2);
    table.coordinate(0);
    assert_eq!(table.values()[0], value(0b111, 4));
}

#[test]
fn non_voter_is_not_heard() {
    let mut table = Table::new(&[&[4; 3], &[4; 3], &[4; 3]]);
    let prepare = Message::Prepare(Ballot { round: 1, peer: 3 });
    table.tell(0, Input::Heard(3, prepare));
    // Nor does one peer coordinate in the name of another.
    table.tell(
        0,
        Input::Heard(1, Message::Prepare(Ballot { round: 1, peer: 2 })),
    );
    assert!(!table.rosters[0].is_frozen());
}

#[test]
fn a_decision_is_proved_by_its_accepts() {
    let signers: Vec<KeyedHash> = (0..3).map(|at| KeyedHash::new(PeerId([at; 32]))).collect();
    let start = start(3);
    let ballot = Ballot { round: 1, peer: 0 };
    let value = value(0b011, 9).expect("there is one");
    let accept = |peer: u8| {
        let accept = Accept::of(&start, peer, 4, ballot, value).expect("a place");
        (peer, accept.sign(&signers[usize::from(peer)]))
    };
    let change = RosterChange {
        epoch: 4,
        ballot,
        value,
        accepts: vec![accept(0), accept(1)],
        reopening: None,
        proofs: Vec::new(),
    };
    let holds = |change: &RosterChange| {
        change.is_decided_by(&start, Peers(0b111), |peer, bytes, signature| {
            signers[0].verify(peer, bytes, signature)
        })
    };
    assert!(holds(&change));
    let changed = |edit: &dyn Fn(&mut RosterChange)| {
        let mut changed = change.clone();
        edit(&mut changed);
        holds(&changed)
    };
    assert!(!changed(&|change| change.epoch = 5));
    assert!(!changed(&|change| change.value.cut = 8));
    assert!(!changed(&|change| change.value.log_hash = None));
    assert!(!changed(&|change| change.ballot.round = 2));
    assert!(
        !changed(&|change| change.accepts.truncate(1)),
        "one of three"
    );
    assert!(!changed(&|change| change.accepts[1].1[3] ^= 1));
    assert!(
        !changed(&|change| change.accepts[1].0 = 2),
        "another peer's"
    );
    let of_the_place = Accept::of(&start, 1, 4, ballot, value).expect("a place");
    assert!(
        !changed(&|change| change.accepts[1].1 = of_the_place.sign(&signers[0])),
        "signed by another peer"
    );
    // Two of three, but only one of the two survivors: perhaps no survivor has all turns.
    let other = RosterChange {
        accepts: vec![accept(1), accept(2)],
        ..change.clone()
    };
    assert!(!holds(&other));
}

#[test]
fn a_note_has_one_encoding() {
    let message = Message::Propose(Ballot { round: 3, peer: 1 }, Value::of(Peers(5), 300));
    let vote = EpochVote { epoch: 2, message };
    let bytes = vote.encode();
    assert_eq!(EpochVote::decode(&bytes), Ok(vote));
    assert!(EpochVote::decode(&[&bytes[..], &[0]].concat()).is_err());
    assert!(EpochVote::decode(&bytes[..bytes.len() - 1]).is_err());
    // A varint in a longer form than needed.
    let mut longer = bytes.clone();
    longer.splice(0..1, [0x82, 0x00]);
    assert!(EpochVote::decode(&longer).is_err());
}

#[test]
fn an_admission_is_decided_by_a_quorum_of_the_peers_that_stay() {
    let voters = Voters::new(Peers(0b1101));
    let joins = Readmission {
        peer: 1,
        incarnation: Incarnation([7; 16]),
    };
    let admission = Value {
        joins: Some(joins),
        ..Value::of(Peers(0b1111), 9)
    };
    assert!(decides(voters, admission, Peers(0b1100)));
    assert!(!decides(voters, admission, Peers(0b1000)));
    // The joiner has no vote, and a peer that goes is no peer that stays.
    assert!(!decides(voters, admission, Peers(0b1010)));
    let removal = Value::of(Peers(0b0101), 9);
    assert!(!decides(voters, removal, Peers(0b1100)));
    assert!(decides(voters, removal, Peers(0b1001)));
}

#[test]
fn a_value_that_only_the_lost_can_decide_needs_them() {
    let voters = Voters::new(Peers(0b111));
    let without = |lost, end| can_do_without(Peers(lost), voters, end);
    assert!(without(0b001, None) && !without(0b011, None));
    // The first peer may have decided to go on with the third alone.
    let value = Value::of(Peers(0b101), 9);
    assert!(!without(0b001, Some(OnlyEnd::Bound(value))));
    assert!(without(0b100, Some(OnlyEnd::Bound(value))));
    // Once that is known, the second one is not needed any more.
    assert!(without(0b110, Some(OnlyEnd::Decided(value))));
    assert!(!without(0b001, Some(OnlyEnd::Decided(value))));
}
