//! Matches of peers over QUIC on loopback. Their players issue commands at a given rate. A row tells latencies and
//! refusals.

use super::now;
use lockstep::quic::{Impairments, QuicConfig, Ways};
use lockstep::source::{Answer, TurnSource, Work};
use lockstep::{Config, Event, Live, Network, Refused, Ticket, TurnNumber};

use sim::{Checksum, RulesId, Seat};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The parameters of a measurement.
pub struct Wanted<'a> {
    /// Peers of the match, each with one seat.
    pub peers: u8,
    /// Match time.
    pub seconds: u64,
    /// What each seat issues.
    pub rate: Rate,
    /// Impairment of each peer's outgoing packets.
    pub impair: Option<&'a str>,
}

/// So many commands a second, of so many bytes.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Commands a second.
    pub per_second: u32,
    /// Bytes of each command.
    pub bytes: usize,
}

impl std::str::FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        let wrong = || format!("{text:?} is no rate, such as 50x10: commands a second, and bytes");
        let (per_second, bytes) = text.split_once('x').ok_or_else(wrong)?;
        match (per_second.parse(), bytes.parse()) {
            (Ok(per_second @ 1..=1_000), Ok(bytes)) => Ok(Rate { per_second, bytes }),
            _ => Err(wrong()),
        }
    }
}

/// What became of one peer's commands.
#[derive(Default)]
struct Outcome {
    /// Milliseconds from issue to execution.
    latencies: Vec<f64>,
    /// Commands that were executed in another turn than the one that `issue` told.
    off: u32,
    issued: u32,
    backlog: u32,
    limited: u32,
    /// Backlogs that events told of.
    told: u32,
    /// Commands that waited when the match ended.
    left: usize,
}

/// Plays and prints one row.
///
/// # Panics
/// If no match can be started.
pub fn print(wanted: &Wanted<'_>) {
    let (tickets, ticket) = std::sync::mpsc::channel();
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let host = scope.spawn(move || {
            let host = Live::host(Vec::new(), RulesId([0; 16]), config(0, wanted));
            let host = host.expect("a free port on loopback");
            let ticket = host.ticket().expect("a host has a ticket").clone();
            (1..wanted.peers).for_each(|_| tickets.send(ticket.clone()).expect("guests wait"));
            play(host, wanted)
        });
        let guests: Vec<_> = (1..wanted.peers)
            .map(|number| {
                let ticket: Ticket = ticket.recv().expect("the host is there");
                scope.spawn(move || {
                    let guest = Live::join(
                        &ticket,
                        Box::new(|_| Some(RulesId([0; 16]))),
                        config(number, wanted),
                    );
                    play(guest.expect("a free port on loopback"), wanted)
                })
            })
            .collect();
        let all = std::iter::once(host).chain(guests);
        all.map(|peer| peer.join().expect("no peer panics"))
            .collect()
    });
    println!(
        "{} peers, 200x2, {}: {} s, each seat {} commands a second of {} bytes",
        wanted.peers,
        wanted.impair.unwrap_or("clean loopback"),
        wanted.seconds,
        wanted.rate.per_second,
        wanted.rate.bytes,
    );
    let mut latencies: Vec<f64> = outcomes
        .iter()
        .flat_map(|of| of.latencies.clone())
        .collect();
    let mut at = |share: f64| {
        let found = super::median_and(&mut latencies, share);
        found.map_or(0.0, |(_, quantile)| quantile)
    };
    let (p50, p99, most) = (at(0.5), at(0.99), at(1.0));
    println!(
        "  latency ms p50 {:.0} p99 {:.0} max {:.0} of {} commands, {} of them not in the turn that was told",
        p50,
        p99,
        most,
        latencies.len(),
        outcomes.iter().map(|of| of.off).sum::<u32>(),
    );
    let sum = |of: fn(&Outcome) -> u32| outcomes.iter().map(of).sum::<u32>();
    let issued = sum(|of| of.issued);
    let left = outcomes.iter().map(|of| of.left).sum::<usize>();
    println!(
        "  issued {issued}, refused as a backlog {} and by rate {}, backlogs told of {}, waiting at the end {left}, lost {}",
        sum(|of| of.backlog),
        sum(|of| of.limited),
        sum(|of| of.told),
        i64::from(issued) - latencies.len() as i64 - left as i64,
    );
}

fn config(number: u8, wanted: &Wanted<'_>) -> Config {
    let mut quic = QuicConfig::new([number + 1; 32]);
    quic.listen = ([127, 0, 0, 1], 0).into();
    quic.impairments = wanted.impair.map(|text| {
        let ways: Ways = text.parse().expect("an impairment");
        Impairments::new(ways)
    });
    let mut config = Config {
        network: Some(Network::quic(quic).expect("a free port on loopback")),
        ..Config::default()
    };
    config.host.terms.seats = wanted.peers;
    config.host.terms.turn_limit = Some((wanted.seconds * 5) as u32);
    config
}

/// Plays one peer's part, with a world that only counts.
fn play(mut live: Live, wanted: &Wanted<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let mut waiting: VecDeque<(Instant, TurnNumber)> = VecDeque::new();
    // Commands are issued from the first turn on.
    let mut due: Option<Instant> = None;
    let mut own: Option<Seat> = None;
    loop {
        live.wait(Duration::from_millis(1));
        while let Some(work) = live.next(Duration::ZERO) {
            let answer = match work {
                Work::New { .. } | Work::Load { .. } => Answer::Ready {
                    checksum: Checksum(1),
                },
                Work::Save { .. } => Answer::Saved(vec![7; 9]),
                Work::Execute(bundle) => {
                    due.get_or_insert_with(now);
                    let mine = bundle
                        .entries
                        .iter()
                        .filter(|entry| Some(entry.seat) == own);
                    for _ in mine {
                        let (issued_at, turn) = waiting.pop_front().expect("it was issued");
                        let latency = now() - issued_at;
                        outcome.latencies.push(latency.as_secs_f64() * 1_000.0);
                        outcome.off += u32::from(turn != bundle.turn);
                    }
                    Answer::Executed {
                        checksum: Checksum(bundle.turn.0),
                        outcome: None,
                        step: Duration::ZERO,
                    }
                }
            };
            live.answer(answer).expect("answered in kind");
        }
        for event in live.events() {
            match event {
                Event::Started { own: seats, .. } => {
                    own = seats.first().copied();
                }
                Event::Backlog { .. } => outcome.told += 1,
                Event::Ended(_) => {
                    outcome.left = waiting.len();
                    return outcome;
                }
                _ => {}
            }
        }
        let Some(at) = due.as_mut().filter(|at| **at <= now()) else {
            continue;
        };
        *at += Duration::from_secs(1) / wanted.rate.per_second;
        match live.issue(own.unwrap_or_default(), vec![7; wanted.rate.bytes]) {
            Ok(issued) => {
                outcome.issued += 1;
                waiting.push_back((now(), issued.turn));
            }
            Err(Refused::Backlog { .. }) => outcome.backlog += 1,
            Err(Refused::RateLimited) => outcome.limited += 1,
            Err(_) => {}
        }
    }
}
