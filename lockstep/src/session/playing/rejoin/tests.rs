use super::*;
use crate::log::TurnFold;
use crate::session::lobby::Settled;
use crate::session::playing::epochs::key;
use crate::session::playing::tests::{SETTINGS, change, core};
use crate::session::roster::tests::start;
use crate::{Incarnation, LogHash};
use sim::Checksum;

#[test]
fn who_comes_back_waits_for_no_batch_that_another_who_came_back_never_seals() {
    let start = start(4);
    let plan = start.plan;
    let returned = Returned {
        me: 3,
        addresses: vec![Vec::new(); 4],
        unheard_since: vec![None; 4],
        changes: vec![
            change(0, 0b0011, 90, None),
            change(1, 0b0111, 100, Some(2)),
            change(2, 0b1111, 101, Some(3)),
        ],
        left: Peers::default(),
        course: TurnFold::new(&start),
        start: Arc::new(start),
        ticks: 0,
        past: Vec::new(),
        hashes: vec![LogHash([0; 16])],
        chained: LogHash([0; 16]),
        executed: 101,
        checksum: Checksum(0),
        due: Duration::ZERO,
        early: Vec::new(),
    };
    let playing = Playing::returned(&mut core(3), returned, SETTINGS);
    let delay = u32::from(plan.delay_turns);
    let firsts = [(0, 101), (1, 101), (2, 100 + delay), (3, 101 + delay)];
    for (at, first) in firsts {
        let member = &playing.members[at];
        let first_missing = (101..).find(|turn| !member.has(*turn));
        assert_eq!(first_missing, Some(first), "of peer {at}");
        assert_eq!(member.held, first, "of peer {at}");
    }
}

fn request(peer: u8, run: u8, turns: u32) -> Request {
    Request {
        joins: Joins {
            peer,
            incarnation: Incarnation([run; 16]),
        },
        turns,
        signature: ([0; 32], [0; 32]),
    }
}

#[test]
fn what_was_proposed_for_a_run_can_be_accepted_when_the_next_run_asks() {
    let mut requests = Requests::default();
    let (first, next) = (request(2, 50, 100), request(2, 51, 100));
    requests.note(first, 0, Duration::ZERO);
    requests.note(next, 0, Duration::ZERO);
    assert_eq!(requests.known(), [first.joins, next.joins]);
    let asked = requests.asked[&2].request;
    assert_eq!(asked.joins, next.joins, "who is let in next");
    // Whatever another voter tells takes no place of theirs.
    for run in 0..=255 {
        requests.note(request(2, run, 100), 1, Duration::ZERO);
        requests.note(request(3, run, 100), 1, Duration::ZERO);
    }
    let known = requests.known();
    assert!(known.starts_with(&[first.joins, next.joins]));
    assert_eq!(known.len(), 2 + 2 * RUNS);
}

#[test]
fn the_requests_of_two_are_both_passed_on() {
    let message = |peer: u8| Message::Request(request(peer, 50, 100));
    let keys = [2, 3].map(|peer| key(1, 0, &message(peer)));
    assert_ne!(keys[0], keys[1]);
    let others = [
        Message::Prepare(message(2).ballot()),
        Message::Accept(message(2).ballot(), change(0, 1, 1, None).value),
    ];
    assert!(others.iter().all(|other| !keys.contains(&key(1, 0, other))));
}

#[test]
fn who_promises_has_attested_the_turns_before_its_epoch() {
    let mut core = core(0);
    let settled = Settled {
        start: start(3),
        addresses: vec![Vec::new(); 3],
        begin: Duration::ZERO,
    };
    let mut playing = Playing::new(&mut core, settled, Checksum(0), SETTINGS);
    core.now = Duration::from_millis(300);
    playing.advance(&mut core);
    assert_eq!(playing.complete, 2, "turns that are empty by rule");
    playing.epochs.decide(change(0, 0b111, 2, None));
    playing.begin_epoch(&mut core);
    let attests = |playing: &Playing| playing.members[0].attested_within(|_| u32::MAX);
    assert_eq!(attests(&playing), Some(1));
    // Somebody has left: the next change begins at once, before the turn is over that the next batch is sealed after.
    playing.members[2].left_from = Some(2);
    playing.advance_change(&mut core);
    assert!(playing.epochs.is_frozen());
    assert_eq!(attests(&playing), Some(2));
    assert_eq!(playing.members[0].newest_epoch(), Some(1));
}
