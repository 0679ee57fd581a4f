//! Which votes are taken up, and when.

use super::*;
use crate::Incarnation;
use crate::session::membership::paxos::{Readmission, Request};

fn request(peer: u8) -> Message {
    let request = Request {
        joins: Readmission {
            peer,
            incarnation: Incarnation([50; 16]),
        },
        turns: 100,
        signature: ([0; 32], [0; 32]),
    };
    Message::Request(1, request)
}

/// So many voters.
fn among(voters: usize, asks: Peers, now: Duration) -> Delivering {
    Delivering {
        voters: Voters::new(Peers::first(voters)),
        asks,
        in_turn: None,
        now,
    }
}

fn prepare(round: u32, peer: u8) -> Message {
    Message::Prepare(Ballot { round, peer })
}

fn promise(ballot: Ballot, unwanted: Peers) -> Message {
    Message::Promise(Promise {
        ballot,
        holdings: Vec::new(),
        complete: 0,
        hashes: Vec::new(),
        accepted: None,
        unwanted,
    })
}

#[test]
fn a_promise_is_doubted_once_what_it_tells_of_is_long_overdue() {
    let mut log = VoteLog::new(0, 1, Duration::ZERO);
    let (second, none) = (Duration::from_secs(1), Peers::default());
    let (early, both) = (Peers(0b010), Peers(0b110));
    let promise = |log: &mut VoteLog, round| {
        for from in both.iter() {
            let promise = promise(Ballot { round, peer: 0 }, none);
            log.post(1, from, promise, [0; 64]);
        }
    };
    promise(&mut log, 1);
    log.note_doubted(early, second);
    log.note_doubted(both, second * 3 / 2);
    log.note_doubted(both, second * 2);
    assert_eq!(log.doubted_for(DOUBTED_AFTER), early);
    log.note_doubted(both, second * 5 / 2);
    assert_eq!(log.doubted_for(DOUBTED_AFTER), both);
    assert_eq!(log.doubted_for(DOUBTED_AFTER * 2), none);
    // What comes so late counts with the next promise.
    log.note_doubted(none, second * 3);
    assert_eq!(log.doubted_for(DOUBTED_AFTER), both);
    promise(&mut log, 2);
    assert_eq!(log.doubted_for(DOUBTED_AFTER), none);
    // A doubt that was over begins anew, another one goes on.
    log.note_doubted(both, second * 4);
    log.note_doubted(both, second * 9 / 2);
    assert_eq!(log.doubted_for(DOUBTED_AFTER), none);
    promise(&mut log, 3);
    log.note_doubted(early, second * 5);
    assert_eq!(log.doubted_for(DOUBTED_AFTER), early);
}

#[test]
fn a_later_run_of_a_joiner_is_news_with_fewer_turns() {
    let mut log = VoteLog::new(0, 1, Duration::ZERO);
    log.post(1, 1, request(2), [0; 64]);
    assert!(!log.is_news(1, 1, &request(2)));
    let Message::Request(number, mut later) = request(2) else {
        unreachable!("it is a request");
    };
    later.joins.incarnation = Incarnation([51; 16]);
    later.turns -= 2;
    assert!(log.is_news(1, 1, &Message::Request(number + 1, later)));
}

#[test]
fn of_two_promises_in_one_ballot_all_keep_the_same() {
    let [one, other] = [0b01, 0b10].map(|of| promise(Ballot { round: 1, peer: 0 }, Peers(of)));
    let kept = [[&one, &other], [&other, &one]].map(|told| {
        let mut log = VoteLog::new(0, 1, Duration::ZERO);
        for promise in told {
            if log.is_news(1, 2, promise) {
                log.post(1, 2, promise.clone(), [0; 64]);
            }
        }
        let (_, kept) = log.current().next().expect("there is one");
        kept.message.clone()
    });
    assert_eq!(kept[0], kept[1]);
    let later = promise(Ballot { round: 2, peer: 0 }, Peers(0));
    assert!(version(&one).lacks(version(&later)) && version(&other).lacks(version(&later)));
}

#[test]
fn the_requests_of_two_joiners_are_both_kept() {
    let topics = [2, 3].map(|peer| topic(1, 0, &request(peer)));
    assert_ne!(topics[0], topics[1]);
    let ballot = Ballot { round: 1, peer: 0 };
    let others = [
        Message::Prepare(ballot),
        Message::Accept(ballot, Value::of(Peers(1), 1)),
    ];
    assert!(
        others
            .iter()
            .all(|other| !topics.contains(&topic(1, 0, other)))
    );
}

#[test]
fn an_attempt_waits_for_a_reason_and_for_the_one_before() {
    let mut log = VoteLog::new(0, 1, Duration::ZERO);
    log.post(1, 2, prepare(1, 2), [0; 64]);
    let (none, peer) = (Peers::default(), Peers(0b100));
    assert!(log.is_asked() && log.has_undelivered());
    assert_eq!(log.next_undelivered(&among(4, none, Duration::ZERO)), None);
    let next = log.next_undelivered(&among(4, peer, Duration::ZERO));
    assert_eq!(next, Some((2, prepare(1, 2))));
    log.post(1, 2, prepare(2, 2), [0; 64]);
    assert_eq!(log.next_undelivered(&among(4, peer, Duration::ZERO)), None);
    assert!(
        log.next_undelivered(&among(4, peer, ATTEMPTS_EVERY))
            .is_some()
    );
}

#[test]
fn an_attempt_leaves_that_of_the_peer_in_turn_time_to_be_answered() {
    let others = Peers(0b110);
    let in_turn = |now| Delivering {
        in_turn: Some(0),
        ..among(3, others, now)
    };
    let mut log = VoteLog::new(0, 1, Duration::ZERO);
    let now = ATTEMPTS_EVERY * 3;
    log.post(1, 0, prepare(1, 0), [0; 64]);
    assert!(log.next_undelivered(&in_turn(now)).is_some());
    log.post(1, 1, prepare(2, 1), [0; 64]);
    assert_eq!(log.next_undelivered(&in_turn(now)), None);
    assert!(
        log.next_undelivered(&in_turn(now + ATTEMPTS_EVERY))
            .is_some()
    );
    // That an epoch has just begun here is no attempt.
    let mut log = VoteLog::new(0, 1, now);
    log.post(1, 1, prepare(1, 1), [0; 64]);
    assert!(log.next_undelivered(&in_turn(now)).is_some());
}

#[test]
fn what_is_said_of_rounds_far_ahead_waits() {
    let all = Peers::first(5);
    let (began, second) = (Duration::from_secs(7), Duration::from_secs(1));
    let limit = ROUNDS_PER_S * 3;
    let mut log = VoteLog::new(0, 1, began);
    let mut told = |from, message, in_turn, after| {
        log.post(1, from, message, [0; 64]);
        let seen = Delivering {
            in_turn,
            ..among(5, all, began + after)
        };
        log.next_undelivered(&seen).is_some()
    };
    let said = |round, peer| promise(Ballot { round, peer }, Peers::default());
    assert!(!told(4, prepare(limit + 1, 4), None, second * 2));
    assert!(told(4, prepare(limit, 4), None, second * 2));
    assert!(!told(3, said(limit + 1, 4), None, second * 2));
    assert!(told(3, said(limit, 4), None, second * 2));
    // The peer in turn goes on from there.
    let after = second * 5 / 2;
    assert!(!told(1, prepare(limit + IN_TURN + 1, 1), Some(1), after));
    assert!(!told(1, prepare(limit + 1, 1), Some(2), after));
    assert!(told(1, prepare(limit + 1, 1), Some(1), after));
    assert!(told(2, said(limit + 1, 1), Some(1), after));
}

#[test]
fn a_round_to_which_a_peer_must_come_is_not_far() {
    let mut log = VoteLog::new(0, 1, Duration::ZERO);
    let far = ROUNDS_PER_S * 9;
    for from in [3, 4] {
        let round = far + u32::from(from);
        let said = promise(Ballot { round, peer: 3 }, Peers::default());
        log.post(1, from, said, [0; 64]);
    }
    log.post(1, 1, request(2), [0; 64]);
    let furthest = |log: &VoteLog, voters| {
        log.furthest_round(&among(voters, Peers::default(), Duration::ZERO))
    };
    assert_eq!(furthest(&log, 5), ROUNDS_PER_S, "three others are a quorum");
    let said = promise(
        Ballot {
            round: far,
            peer: 3,
        },
        Peers::default(),
    );
    log.post(1, 2, said, [0; 64]);
    assert_eq!(furthest(&log, 5), far);
}

#[test]
fn peers_that_owe_a_promise_owe_it_in_the_next_attempt_as_well() {
    let mut log = VoteLog::new(0, 1, Duration::ZERO);
    let coordinator = Peers(0b100);
    let attempt = |log: &mut VoteLog, round: u32, promises: &[u8]| {
        log.post(1, 2, prepare(round, 2), [0; 64]);
        let now = ATTEMPTS_EVERY * round;
        while log.next_undelivered(&among(4, coordinator, now)).is_some() {}
        for from in promises {
            let promise = promise(Ballot { round, peer: 2 }, Peers::default());
            log.post(1, *from, promise, [0; 64]);
        }
        log.owed(2).and(Peers::first(4))
    };
    assert_eq!(attempt(&mut log, 1, &[0, 2, 3]), Peers::default());
    assert_eq!(attempt(&mut log, 2, &[0, 1, 2]), Peers(0b0010));
    assert_eq!(attempt(&mut log, 3, &[]), Peers(0b1000));
    assert_eq!(log.owed(0), Peers::default());
    log.begin_epoch(2, Duration::ZERO);
    assert_eq!(log.owed(2), Peers::default());
}

#[test]
fn the_next_attempt_is_soon_again_where_another_peer_is_to_go() {
    let mut log = VoteLog::new(0, 1, Duration::ZERO);
    for _ in 0..5 {
        log.count_attempt();
    }
    let none = Peers::default();
    assert!(!log.is_retry_due(none, RETRY * 4) && log.is_retry_due(none, RETRY * 5));
    log.note_to_go(Peers(0b100));
    assert!(log.is_retry_due(none, RETRY));
    (0..3).for_each(|_| log.count_attempt());
    // One that comes and goes does not count each time.
    log.note_to_go(Peers::default());
    log.note_to_go(Peers(0b100));
    assert!(!log.is_retry_due(none, RETRY * 2));
}

#[test]
fn an_attempt_of_a_peer_that_is_to_go_does_not_put_off_the_next() {
    let mut log = VoteLog::new(0, 1, Duration::ZERO);
    let other = Peers(0b100);
    log.post(1, 2, prepare(1, 2), [0; 64]);
    assert!(log.next_undelivered(&among(4, other, RETRY / 2)).is_some());
    assert!(!log.is_retry_due(Peers::default(), RETRY));
    assert!(log.is_retry_due(other, RETRY));
    log.post(1, 0, prepare(2, 0), [0; 64]);
    assert!(log.next_undelivered(&among(4, other, RETRY)).is_some());
    assert!(!log.is_retry_due(other, RETRY * 2 - Duration::from_nanos(1)));
}

#[test]
fn a_voter_is_unwanted_while_the_newest_promises_of_a_quorum_say_so() {
    let promise = |round, unwanted| promise(Ballot { round, peer: 0 }, unwanted);
    let voters = Voters::new(Peers::first(3));
    let mut log = VoteLog::new(0, 1, Duration::ZERO);
    log.post(1, 0, promise(1, Peers(0b100)), [0; 64]);
    assert_eq!(log.still_unwanted(voters), Peers::default(), "one of three");
    log.post(1, 1, promise(1, Peers(0b100)), [0; 64]);
    assert_eq!(log.still_unwanted(voters), Peers(0b100));
    log.post(1, 1, promise(2, Peers::default()), [0; 64]);
    assert_eq!(log.still_unwanted(voters), Peers::default());
    assert_eq!(log.unwanted_by_quorum(voters), Peers(0b100));

    log.post(2, 0, promise(1, Peers(0b10)), [0; 64]);
    log.post(2, 2, promise(1, Peers(0b10)), [0; 64]);
    log.begin_epoch(2, Duration::ZERO);
    let early = log.unwanted_by_quorum(voters);
    assert_eq!(early, Peers(0b10), "promises from before it began here");
}

#[test]
fn a_vote_of_an_epoch_to_come_waits_and_an_older_one_goes() {
    let mut log = VoteLog::new(0, 1, Duration::ZERO);
    assert!(log.is_news(2, 1, &prepare(1, 1)) && !log.is_news(0, 1, &prepare(1, 1)));
    assert!(!log.keeps(1 + AHEAD + 1));
    log.post(2, 0, prepare(1, 0), [0; 64]);
    log.post(1, 0, prepare(1, 0), [0; 64]);
    assert!(!log.is_news(2, 0, &prepare(1, 0)) && log.is_news(2, 0, &prepare(2, 0)));
    log.begin_epoch(2, Duration::ZERO);
    assert!(
        log.next_undelivered(&among(4, Peers::default(), Duration::ZERO))
            .is_some()
    );
    assert!(!log.has_undelivered());
}
