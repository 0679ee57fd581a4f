//! A player goes on alone from a moment of a match that several played.

use super::*;
use crate::Moment;
use crate::log::{Codec, Continuation, EncodedLog};

const ALONE: Plan = Plan {
    ticks: 2,
    delay_turns: 1,
    tick_ms: 50,
};

/// What three played in their first turns, the last of them gone from some turn on.
fn played(turns: u32) -> Vec<Record> {
    let mut net = Net::new(3, Plan::default(), Some(60));
    for step in 0..20u8 {
        net.run(Duration::from_millis(1_000 + 200 * u64::from(step)));
        let at = usize::from(step % 3);
        let seat = Seat(at as u8);
        let command = command(step);
        net.input(at, Input::Issue { seat, command });
    }
    net.input(2, Input::Leave);
    net.run(Duration::from_secs(20));
    let before = |record: &&Record| match record {
        Record::Bundle(bundle) => bundle.turn.0 < turns,
        Record::Roster(change) => change.value.cut <= turns,
        Record::Start(_) => true,
        _ => false,
    };
    let log: Vec<Record> = net.peers[0]
        .recording
        .records
        .iter()
        .filter(before)
        .cloned()
        .collect();
    assert!(log.iter().any(|record| matches!(record, Record::Roster(_))));
    log
}

fn moment(log: &[Record], seat: u8) -> Moment {
    Moment {
        log: EncodedLog::of(log).expect("a log begins with its start"),
        snapshot: Arc::from([7, 7]),
        seat: Seat(seat),
    }
}

fn config(from: Moment, turn_limit: Option<u32>) -> SessionConfig {
    SessionConfig {
        name: "eve".to_owned(),
        own_seats: 1,
        ready: true,
        addresses: Vec::new(),
        entropy: [9; 32],
        share: None,
        keyframe_every: None,
        limits: Limits::default(),
        stall_limit: None,
        suspicion: Duration::from_secs(3),
        build: String::new(),
        role: Role::PlayOn {
            from,
            plan: ALONE,
            turn_limit,
        },
    }
}

/// A peer that goes on from there for 20 turns, with a command for each seat.
fn going_on(log: &[Record], seat: u8) -> Peer {
    let mut net = Net::new(0, Plan::default(), None);
    let from = moment(log, seat);
    net.add(Role::PlayOn {
        from,
        plan: ALONE,
        turn_limit: Some(20),
    });
    net.run(Duration::from_millis(500));
    for seat in 0..3 {
        let (seat, command) = (Seat(seat), command(100 + seat));
        net.input(0, Input::Issue { seat, command });
    }
    net.run(Duration::from_secs(10));
    net.peers.remove(0)
}

fn bundles(log: &[Record]) -> Vec<&Bundle> {
    let bundles = log.iter().filter_map(|record| match record {
        Record::Bundle(bundle) => Some(bundle),
        _ => None,
    });
    bundles.collect()
}

#[test]
fn one_goes_on_in_all_seats_from_where_the_log_ends() {
    let log = played(40);
    let peer = going_on(&log, 1);
    let Some(Record::Continued(continuation)) = peer.recording.records.first() else {
        panic!("{:?}", peer.recording.records.first());
    };
    assert_eq!((continuation.turns, continuation.seat), (40, Seat(1)));
    assert_eq!(continuation.turn_limit, Some(60));
    let started = peer.events.iter().find_map(|event| match event {
        Event::Started { own, .. } => Some(own.clone()),
        _ => None,
    });
    assert_eq!(started, Some(vec![Seat(1), Seat(0), Seat(2)]));
    let turns = bundles(&peer.recording.records);
    let numbers: Vec<u32> = turns.iter().map(|bundle| bundle.turn.0).collect();
    assert_eq!(numbers, (40..60).collect::<Vec<_>>());
    assert!(
        turns
            .iter()
            .all(|bundle| bundle.plan == ALONE && !bundle.paused)
    );
    // The seat of the leaver is played again, and each command counts once.
    let returned = LogEntry {
        seat: Seat(2),
        what: What::Seat(SeatState::Played),
    };
    assert_eq!(turns[0].entries, [returned]);
    let commands = turns.iter().flat_map(|bundle| &bundle.entries);
    let commands = commands.filter(|entry| matches!(entry.what, What::Command(_)));
    assert_eq!(commands.count(), 3);
    let Some(Event::Ended(ended)) = peer.events.last() else {
        panic!("{:?}", peer.events.last());
    };
    assert_eq!((&ended.reason, ended.turns), (&EndReason::TurnLimit, 60));
    // Old and new together are one log, from which another may go on.
    let whole = [log, peer.recording.records.clone()].concat();
    let signer = KeyedHash::new(id(0));
    let Record::Start(start) = &whole[0] else {
        panic!("a log begins with its start");
    };
    let mut head = crate::log::Head::new(start.clone());
    for record in &whole[1..] {
        let taken = match record {
            Record::Bundle(_) | Record::Roster(_) => head.take(record, &signer),
            Record::Continued(continuation) => head.continued(continuation, &signer),
            _ => Ok(()),
        };
        assert_eq!(taken, Ok(()), "after {} turns", head.turns());
    }
    let Some(Record::End(end)) = whole.last() else {
        panic!("{:?}", whole.last());
    };
    assert_eq!((end.turns, end.log_hash), (60, head.tip()));
    let derives = |record: &&Record| {
        matches!(
            record,
            Record::Start(_) | Record::Bundle(_) | Record::Roster(_) | Record::Continued(_)
        )
    };
    let whole: Vec<Record> = whole.iter().filter(derives).cloned().collect();
    let again = going_on(&whole, 0);
    assert_eq!(bundles(&again.recording.records).len(), 20);
}

#[test]
fn log_of_a_player_alone_does_not_continue_the_match() {
    let log = played(40);
    let peer = going_on(&log, 1);
    let Record::Start(start) = &log[0] else {
        panic!("a log begins with its start");
    };
    let mut head = crate::log::Head::new(start.clone());
    let signer = KeyedHash::new(id(0));
    for record in &log[1..] {
        assert_eq!(head.take(record, &signer), Ok(()));
    }
    assert!(head.take(&peer.recording.records[0], &signer).is_err());
    // Its first turn counts for no other peer either, as the hash of the log behind it shows.
    let before = head.tip();
    assert_ne!(
        crate::log::turn_hash(before, bundles(&peer.recording.records)[0]),
        {
            let mut alone = head.clone();
            let Record::Continued(continuation) = &peer.recording.records[0] else {
                panic!("it comes first");
            };
            assert_eq!(alone.continued(continuation, &signer), Ok(()));
            let turn = Record::Bundle(bundles(&peer.recording.records)[0].clone());
            assert_eq!(alone.take(&turn, &signer), Ok(()));
            alone.tip()
        }
    );
}

#[test]
fn a_log_that_does_not_hold_is_no_moment() {
    let log = played(40);
    let begun = |log: &[Record], seat| {
        let config = config(moment(log, seat), None);
        Session::new(config, Box::new(KeyedHash::new(id(9)))).map(drop)
    };
    assert_eq!(begun(&log, 2), Ok(()));
    assert_eq!(begun(&log, 3), Err(ConfigError::Moment), "no such seat");
    let mut forged = log.clone();
    for record in &mut forged {
        if let Record::Roster(change) = record {
            change.accepts[0].1[0] ^= 1;
        }
    }
    assert_eq!(begun(&forged, 0), Err(ConfigError::Moment));
    let mut config = config(moment(&log, 0), Some(0));
    let none = Session::new(config, Box::new(KeyedHash::new(id(9)))).map(drop);
    assert_eq!(none, Err(ConfigError::TurnLimit));
    config = self::config(moment(&log, 0), None);
    if let Role::PlayOn { plan, .. } = &mut config.role {
        plan.ticks = 3;
    }
    let refused = Session::new(config, Box::new(KeyedHash::new(id(9)))).map(drop);
    assert_eq!(refused, Err(ConfigError::Plan));
}

#[test]
fn a_continuation_has_one_encoding() {
    let peer = going_on(&played(40), 1);
    let record = peer.recording.records[0].clone();
    let mut bytes = Vec::new();
    Codec::default().encode(&record, &mut bytes);
    let decode = |bytes: &[u8]| Codec::default().decode(bytes, &Limits::default());
    assert_eq!(decode(&bytes), Ok(record.clone()));
    for cut in 0..bytes.len() {
        assert!(decode(&bytes[..cut]).is_err(), "{cut}");
    }
    let Record::Continued(continuation) = &record else {
        panic!("it comes first");
    };
    for limit in [None, Some(0), Some(u32::MAX)] {
        let other = Continuation {
            turn_limit: limit,
            ..Continuation::clone(continuation)
        };
        let other = Record::Continued(Arc::new(other));
        let mut bytes = Vec::new();
        Codec::default().encode(&other, &mut bytes);
        assert_eq!(decode(&bytes), Ok(other));
    }
}
