//! A desync over real QUIC links: which peers stop, which play on, and what they report.

use lockstep::log::{OnDesync, Terms};
use lockstep::{Config, Desync, EndReason, Event, Hosting, Live, RosterCause, TurnNumber};
use sim::{Checksum, RulesId};
use std::cell::RefCell;
use tests::peers::{config, run_worlds};

const RULES: RulesId = RulesId(*b"rules of a test!");
const STRAYS_AFTER: u32 = 7;

#[test]
fn a_desync_stops_every_peer_with_a_report() {
    let folders: Vec<_> = (0..3)
        .map(|_| tempfile::tempdir().expect("a folder"))
        .collect();
    let config_of = |at: usize| Config {
        host: Hosting {
            terms: Terms {
                seats: 3,
                on_desync: OnDesync::Pause,
                ..Terms::default()
            },
            ..Hosting::default()
        },
        reports: folders[at].path().to_owned(),
        ..config(40 + at as u8)
    };
    let mut host = Live::host(vec![1], RULES, config_of(0)).expect("the config is in range");
    let ticket = host.ticket().expect("a host has a ticket").clone();
    let join =
        |at| Live::join(&ticket, Box::new(|_| Some(RULES)), config_of(at)).expect("in range");
    let (mut second, mut third) = (join(1), join(2));
    let strays = |at: usize, turn: u32| Checksum(turn ^ u32::from(at == 2 && turn >= STRAYS_AFTER));
    let mut desyncs: [Option<Desync>; 3] = Default::default();
    let mut ends: [Option<EndReason>; 3] = Default::default();
    run_worlds(
        &mut [&mut host, &mut second, &mut third],
        strays,
        |at, event| {
            match event {
                Event::Desync(desync) => desyncs[at] = Some(desync.clone()),
                Event::Ended(ended) => ends[at] = Some(ended.reason.clone()),
                _ => {}
            }
            ends.iter().all(Option::is_some).then_some(())
        },
    );
    for (at, desync) in desyncs.iter().enumerate() {
        let desync = desync.as_ref().expect("every peer reports it");
        assert_eq!(desync.turn, TurnNumber(STRAYS_AFTER), "peer {at}");
        assert_eq!(ends[at], Some(EndReason::Desync));
        let strayed = desync
            .reports
            .iter()
            .find(|side| side.checksum != Checksum(STRAYS_AFTER));
        let strayed = strayed.map(|side| side.peer);
        assert_eq!(desync.minority, strayed.into_iter().collect::<Vec<_>>());
        let checksums: Vec<Checksum> = desync.reports.iter().map(|side| side.checksum).collect();
        assert!(checksums.contains(&Checksum(STRAYS_AFTER)), "{checksums:?}");
        assert!(
            checksums.contains(&Checksum(STRAYS_AFTER ^ 1)),
            "{checksums:?}"
        );
        let report = desync.report.as_ref().expect("a report was written");
        assert_eq!(
            std::fs::read(report.join("world.snapshot"))
                .expect("a snapshot")
                .len(),
            9
        );
        assert!(
            !std::fs::read(report.join("match.log"))
                .expect("a log")
                .is_empty()
        );
        let text = std::fs::read_to_string(report.join("report.txt")).expect("a text");
        assert!(
            text.contains("turn 7") && text.contains("checksum 00000006"),
            "{text}"
        );
    }
}

#[test]
fn the_majority_plays_on_without_a_desynced_peer() {
    let folder = tempfile::tempdir().expect("a folder");
    let config_of = |at: usize| Config {
        host: Hosting {
            terms: Terms {
                seats: 3,
                ..Terms::default()
            },
            ..Hosting::default()
        },
        reports: folder.path().to_owned(),
        ..config(50 + at as u8)
    };
    let mut host = Live::host(vec![1], RULES, config_of(0)).expect("the config is in range");
    let ticket = host.ticket().expect("a host has a ticket").clone();
    let join =
        |at| Live::join(&ticket, Box::new(|_| Some(RULES)), config_of(at)).expect("in range");
    let (mut second, mut third) = (join(1), join(2));
    let executed = RefCell::new([0; 3]);
    // The host's world differs: the majority is right, not the host.
    let strays = |at: usize, turn: u32| {
        executed.borrow_mut()[at] = turn;
        Checksum(turn ^ u32::from(at == 0 && turn >= STRAYS_AFTER))
    };
    let mut desyncs: [Option<Desync>; 3] = Default::default();
    let mut gone: [Option<TurnNumber>; 3] = [None; 3];
    let end = run_worlds(
        &mut [&mut host, &mut second, &mut third],
        strays,
        |at, event| {
            match event {
                Event::Desync(desync) => desyncs[at] = Some(desync.clone()),
                Event::RosterChanged { turn, cause, .. } => {
                    assert_eq!(*cause, RosterCause::Desynced, "peer {at}");
                    gone[at] = Some(*turn);
                }
                Event::Ended(ended) => {
                    assert_eq!(at, 0, "peer {at} plays on: {ended:?}");
                    return Some(ended.reason.clone());
                }
                _ => {}
            }
            None
        },
    );
    assert_eq!(end, EndReason::Desync);
    for (at, desync) in desyncs.iter().enumerate() {
        let desync = desync.as_ref().expect("every peer reports it");
        let host = desync.reports.iter().find(|side| side.seat.0 == 0);
        assert_eq!(
            desync.minority,
            host.map(|side| side.peer).into_iter().collect::<Vec<_>>()
        );
        assert_eq!(desync.turn, TurnNumber(STRAYS_AFTER));
        assert_eq!(desync.goes_on, at != 0, "peer {at}");
        assert!(desync.report.as_ref().is_some_and(|report| report.exists()));
    }
    for (at, gone) in gone.iter().enumerate().skip(1) {
        let cut = gone.expect("it gets the roster change");
        // It goes on while the host still reports that it has stopped.
        let turns = executed.borrow()[at];
        assert!(
            turns > cut.0 + 3,
            "peer {at}: turn {turns} of those from {cut} on"
        );
    }
}
