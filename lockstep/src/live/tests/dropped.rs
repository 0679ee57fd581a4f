//! A game drops its match; a ticket leads to its own peer.

use super::peers::{config, now, run};
use super::*;
use crate::RosterCause;
use sim::Checksum;
use std::cell::Cell;

const RULES: RulesId = RulesId(*b"rules of a test!");

fn of_three(at: u8) -> Config {
    Config {
        host: Hosting {
            terms: Terms {
                seats: 3,
                ..Terms::default()
            },
            ..Hosting::default()
        },
        suspicion: Duration::from_secs(20),
        ..config(80 + at)
    }
}

#[test]
fn the_others_go_on_long_before_they_would_suspect_a_dropped_match() {
    let mut host = Live::host(vec![1], RULES, of_three(0)).expect("the config is in range");
    let ticket = host.ticket().expect("a host has a ticket").clone();
    let join = |at| Live::join(&ticket, Box::new(|_| Some(RULES)), of_three(at)).expect("in range");
    let (mut second, mut third) = (join(1), join(2));
    let turn = Cell::new(0);
    let checksum = |at: usize, of: u32| {
        if at == 2 {
            turn.set(of);
        }
        Checksum(of)
    };
    run(
        &mut [&mut host, &mut second, &mut third],
        checksum,
        |_, _| (turn.get() >= 5).then_some(()),
    );
    drop(third);
    let dropped_at = now();
    let cause = run(&mut [&mut host, &mut second], checksum, |_, events| {
        events.iter().find_map(|event| match event {
            Event::RosterChanged { cause, .. } => Some(*cause),
            _ => None,
        })
    });
    assert_eq!(cause, RosterCause::Lost);
    // Half a second, on a machine that is not busy.
    let took = now() - dropped_at;
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn a_copy_of_the_hosts_identity_cannot_join_it() {
    let host = Live::host(vec![1], RULES, of_three(0)).expect("the config is in range");
    let ticket = host.ticket().expect("a host has a ticket").clone();
    let copy = Live::join(&ticket, Box::new(|_| Some(RULES)), of_three(0));
    let refused = copy.map(drop).expect_err("it cannot be reached");
    assert!(matches!(refused, Error::Config(ConfigError::OwnKey)));
}
