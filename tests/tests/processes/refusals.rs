//! Refusals over real QUIC links, and their messages.

use lockstep::log::Terms;
use lockstep::{
    Config, EndReason, Ended, Event, Hosting, JoinRefused, LinkError, Live, PeerId, Ticket,
};
use sim::RulesId;
use std::time::{Duration, Instant};
use tests::peers::{config, run};

const RULES: RulesId = RulesId(*b"rules of a test!");

fn host(key: u8) -> (Live, Ticket) {
    let host = Live::host(vec![1], RULES, config(key)).expect("the config is in range");
    let ticket = host.ticket().expect("a host has a ticket").clone();
    (host, ticket)
}

fn join(ticket: &Ticket, rules: Option<RulesId>, config: Config) -> Live {
    Live::join(ticket, Box::new(move |_| rules), config).expect("the config is in range")
}

fn end_of(joiner: Live, host: &mut Live) -> EndReason {
    let mut joiner = joiner;
    run(&mut [host, &mut joiner], |at, event| match event {
        Event::Ended(Ended { reason, .. }) if at == 1 => Some(reason.clone()),
        _ => None,
    })
}

#[test]
fn other_rules_are_refused() {
    let (mut host, ticket) = host(1);
    let joiner = join(&ticket, Some(RulesId([0; 16])), config(2));
    assert_eq!(
        end_of(joiner, &mut host),
        EndReason::Refused(JoinRefused::Rules)
    );
    let joiner = join(&ticket, None, config(3));
    assert_eq!(
        end_of(joiner, &mut host),
        EndReason::Refused(JoinRefused::Setup)
    );
}

#[test]
fn a_host_with_another_key_than_the_tickets_is_refused() {
    let (mut host, mut ticket) = host(4);
    ticket.host = PeerId([9; 32]);
    let joiner = join(&ticket, Some(RULES), config(5));
    assert_eq!(
        end_of(joiner, &mut host),
        EndReason::Unreachable(LinkError::WrongKey)
    );
}

#[test]
fn foreign_and_expired_tickets_are_refused() {
    let (mut host, ticket) = host(6);
    let mut foreign = ticket.clone();
    foreign.match_id.0[0] ^= 1;
    let joiner = join(&foreign, Some(RULES), config(7));
    assert_eq!(
        end_of(joiner, &mut host),
        EndReason::Refused(JoinRefused::OtherMatch)
    );
    let mut uninvited = ticket.clone();
    uninvited.secret[0] ^= 1;
    let joiner = join(&uninvited, Some(RULES), config(8));
    assert_eq!(
        end_of(joiner, &mut host),
        EndReason::Refused(JoinRefused::Invite)
    );
    let brief = Config {
        host: Hosting {
            invite_for: Duration::ZERO,
            ..Hosting::default()
        },
        ..config(9)
    };
    let mut host = Live::host(vec![1], RULES, brief).expect("the config is in range");
    let ticket = host.ticket().expect("a host has a ticket").clone();
    let joiner = join(&ticket, Some(RULES), config(10));
    assert_eq!(
        end_of(joiner, &mut host),
        EndReason::Refused(JoinRefused::Expired)
    );
}

#[test]
fn duplicate_keys_and_surplus_joiners_are_refused() {
    let lobby = Config {
        host: Hosting {
            terms: Terms {
                seats: 3,
                ..Terms::default()
            },
            ..Hosting::default()
        },
        ready: false,
        ..config(11)
    };
    let mut host = Live::host(vec![1], RULES, lobby).expect("the config is in range");
    let ticket = host.ticket().expect("a host has a ticket").clone();
    let mut first = join(&ticket, Some(RULES), config(12));
    let lobby_of = |peers| {
        move |at: usize, event: &Event| match event {
            Event::Lobby { peers: here, .. } if at == 0 && here.len() == peers => Some(()),
            _ => None,
        }
    };
    run(&mut [&mut host, &mut first], lobby_of(2));
    let again = join(&ticket, Some(RULES), config(12));
    assert_eq!(
        end_of(again, &mut host),
        EndReason::Refused(JoinRefused::AlreadyIn)
    );
    let mut second = join(&ticket, Some(RULES), config(13));
    run(&mut [&mut host, &mut first, &mut second], lobby_of(3));
    let third = join(&ticket, Some(RULES), config(14));
    assert_eq!(
        end_of(third, &mut host),
        EndReason::Refused(JoinRefused::Full { seats: 3 })
    );
}

#[test]
fn a_running_match_refuses_joiners() {
    let (mut host, ticket) = host(15);
    let mut guest = join(&ticket, Some(RULES), config(16));
    run(&mut [&mut host, &mut guest], |_, event| {
        matches!(event, Event::Started { .. }).then_some(())
    });
    let late = join(&ticket, Some(RULES), config(17));
    let mut late = late;
    let reason = run(
        &mut [&mut host, &mut guest, &mut late],
        |at, event| match event {
            Event::Ended(ended) if at == 2 => Some(ended.reason.clone()),
            _ => None,
        },
    );
    assert_eq!(reason, EndReason::Refused(JoinRefused::Started));
}

#[test]
fn an_unreachable_host_is_reported_within_seconds() {
    let (host, ticket) = host(18);
    drop(host);
    let begun = Instant::now();
    let mut joiner = join(&ticket, Some(RULES), config(19));
    let reason = run(&mut [&mut joiner], |_, event| match event {
        Event::Ended(ended) => Some(ended.reason.clone()),
        _ => None,
    });
    assert_eq!(reason, EndReason::Unreachable(LinkError::Unanswered));
    assert!(begun.elapsed() < Duration::from_secs(30));
}
