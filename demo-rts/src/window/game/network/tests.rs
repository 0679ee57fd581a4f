//! What the panel and the banner say, and that they are readable.

use super::*;
use crate::window::readability::{SIZES, check_texts};
use lockstep::session::{Agreed, Lead, LinkStats, PeerStats};
use lockstep::{PeerId, TurnNumber};

fn facts() -> Facts {
    let mut facts = Facts::new("test");
    facts.names.insert(Seat(0), "Ada".to_owned());
    facts
        .names
        .insert(Seat(1), "Grace of the very long name indeed".to_owned());
    facts
}

fn measured() -> Measured {
    let peer = PeerId([7; 32]);
    Measured {
        summary: Summary {
            wall: Duration::from_secs(200),
            ..Summary::default()
        },
        stats: Some(Stats {
            links: vec![LinkStats {
                peer,
                rtt: Some(Duration::from_millis(48)),
                lost_of_64: 4,
                batches: 1_000,
                copies: 70,
                bytes: 204_800,
                // It was up in the lobby.
                up_for: Duration::from_secs(260),
            }],
            peers: vec![PeerStats {
                peer,
                slack_ms: Some(312),
                slack_there_ms: Some(-18),
                lead: Some(Lead {
                    ms: 31,
                    usual_ms: 200,
                    stands_out: true,
                }),
                unheard: Duration::from_millis(90),
            }],
            agreed: Some(Agreed {
                turns: 118,
                ago: Duration::from_millis(260),
            }),
            ..Stats::default()
        }),
        seats: vec![SeatInfo {
            seat: Seat(1),
            peer,
            name: "Grace".to_owned(),
        }],
    }
}

#[test]
fn the_panel_names_the_other_end_of_a_link() {
    let mut measured = measured();
    let shown = lines(&facts(), &measured, Detail::All);
    let [.., agreed, link, sent, slack, lead] = &shown[..] else {
        panic!("{shown:?}");
    };
    assert_eq!(agreed.1, "after turn 118, as of 0.3 s ago");
    assert_eq!(link.0, "Grace of the very long name indeed");
    assert_eq!(link.1, "48 ms round trip, 6 % loss");
    assert_eq!(sent.1, "7 copies per 100 batches, 1.0 KiB/s");
    assert_eq!(slack.1, "slack 312 ms here, -18 ms there");
    let early = "sends 31 of 200 ms ahead: it may see your commands first";
    assert_eq!(lead.1, early);
    // A silent peer without a direct link.
    let stats = measured.stats.as_mut().expect("there is a network");
    stats.links.clear();
    stats.peers[0].unheard = Duration::from_millis(2_400);
    let shown = lines(&facts(), &measured, Detail::All);
    let [.., link, slack, _] = &shown[..] else {
        panic!("{shown:?}");
    };
    assert_eq!(
        (link.1.as_str(), slack.1.as_str()),
        (words::BY_OTHERS, "no packets for 2.4 s")
    );
    let alone = Measured::default();
    let lines = lines(&facts(), &alone, Detail::All);
    assert!(lines.iter().any(|(_, much)| much == words::NO_NETWORK));
}

#[test]
fn a_stall_banner_names_player_time_and_keys() {
    let status = |ms: u64| Status::Stalled {
        on: vec![Seat(0)],
        since: Duration::from_millis(ms),
    };
    let mut measured = measured();
    measured.seats[0].seat = Seat(0);
    let banner = |status: &Status, measured: &Measured| {
        let heard = (&measured.seats[..], measured.stats.clone());
        banner_for_status(status, &facts(), heard)
    };
    let parts = banner(&status(3_250), &measured).expect("it is long");
    for wanted in ["Ada", "3.2 s", "packets come, but", "O: vote", "Esc"] {
        assert!(parts.text.contains(wanted), "{} in {}", wanted, parts.text);
    }
    assert_eq!(banner(&status(200), &measured), None);
    assert_eq!(banner(&Status::Running, &measured), None);
    let stats = measured.stats.as_mut().expect("there is a network");
    stats.peers[0].unheard = Duration::from_millis(2_400);
    let parts = banner(&status(3_250), &measured).expect("it is long");
    assert!(
        parts.text.contains("no packets come from Ada"),
        "{}",
        parts.text
    );
    // Of its own seats a peer hears nothing.
    measured.stats = Some(Stats::default());
    let parts = banner(&status(3_250), &measured).expect("it is long");
    assert!(!parts.text.contains("packets"), "{}", parts.text);
}

#[test]
fn only_the_end_of_a_long_stall_is_announced() {
    let turn = TurnNumber(9);
    let stalled = |on: Vec<Seat>, seconds| Event::Stalled {
        turn,
        on,
        since: Duration::from_secs(seconds),
    };
    let over = Event::StallEnded {
        turn,
        late: Duration::from_secs(14),
    };
    let of = |cause| Event::RosterChanged {
        turn,
        epoch: 1,
        seats: vec![Seat(0), Seat(1)],
        gone: Vec::new(),
        back: Vec::new(),
        cause,
    };
    let left = Event::Left {
        peer: PeerId([7; 32]),
        seats: vec![Seat(1)],
        turn,
    };
    let slept = Event::Slept {
        away: Duration::from_secs(14),
    };
    let mut facts = facts();
    facts.names.insert(Seat(2), "Edsger".to_owned());
    let banners = |events: &[&Event]| {
        let mut waited = LongStalls::default();
        let parts = events
            .iter()
            .filter_map(|event| waited.take(event, &[Seat(0)], &facts));
        let parts: Vec<String> = parts.map(|(banner, _)| banner.text).collect();
        parts.join(" | ")
    };
    let (short, long) = (stalled(vec![Seat(1)], 1), stalled(vec![Seat(1)], 4));
    let other = stalled(vec![Seat(2)], 5);
    let grace = "Connection to Grace of the very long name indeed restored: the match goes on.";
    assert_eq!(banners(&[&short, &over]), "");
    assert_eq!(banners(&[&short, &long, &long, &over, &over]), grace);
    let alarm = of(RosterCause::FalseAlarm);
    assert_eq!(banners(&[&long, &alarm, &over]), grace);
    let both = grace.replace("indeed", "indeed, Edsger");
    assert_eq!(banners(&[&long, &other, &over]), both);
    for gone in [
        &of(RosterCause::Lost),
        &of(RosterCause::Rejoined),
        &left,
        &slept,
    ] {
        assert_eq!(banners(&[&long, gone, &over]), "", "{gone:?}");
    }
    assert_eq!(banners(&[&stalled(vec![Seat(0)], 9), &over]), "");
}

fn changed(cause: RosterCause) -> Event {
    Event::RosterChanged {
        turn: TurnNumber(9),
        epoch: 1,
        seats: vec![Seat(0)],
        gone: vec![Gone {
            cause,
            seats: vec![Seat(1)],
        }],
        back: match cause {
            RosterCause::Rejoined => vec![Seat(0)],
            _ => Vec::new(),
        },
        cause,
    }
}

#[test]
fn news_of_a_lost_player_gives_way_to_other_news_alone() {
    let slept = Event::Slept {
        away: Duration::from_secs(2),
    };
    let mut shown = None;
    let mut text = |event: &Event, second: u64| {
        show(&mut shown, event, &facts(), Duration::from_secs(second));
        shown.as_ref().map(|(banner, _)| banner.text.clone())
    };
    let lost = text(&changed(RosterCause::Lost), 1);
    assert_eq!(text(&slept, 2), lost);
    assert_ne!(text(&changed(RosterCause::Cheated), 3), lost);
    let read = text(&slept, 30);
    assert_ne!(text(&changed(RosterCause::Lost), 31), read);
    assert_ne!(read, lost);
}

#[test]
fn every_banner_is_readable_at_every_size() {
    let turn = TurnNumber(9);
    let seats = vec![Seat(1)];
    let events = [
        changed(RosterCause::Lost),
        changed(RosterCause::Cheated),
        changed(RosterCause::Desynced),
        changed(RosterCause::Rejoined),
        Event::NoQuorum {
            turn,
            missing: seats.clone(),
        },
        Event::Suspected {
            peer: PeerId([7; 32]),
            seats: seats.clone(),
            unheard: Duration::from_secs(4),
        },
        Event::PlanChanged {
            turn,
            plan: lockstep::Plan {
                tick_ms: 100,
                ..lockstep::Plan::default()
            },
            slow: seats,
            way: None,
        },
        Event::Slept {
            away: Duration::from_secs(7),
        },
    ];
    let facts = facts();
    for event in &events {
        let (banner, _) = banner_for(event, &facts).expect("it is worth saying");
        for size in SIZES {
            let mut canvas = Canvas::new();
            canvas.begin(size, 1.0);
            let right = draw_panel(&mut canvas, &facts, &measured());
            draw_banner(&mut canvas, &banner, right);
            check_texts(&canvas);
        }
    }
    let slow = banner_for(&events[6], &facts).map(|(banner, _)| banner.text);
    assert!(slow.is_some_and(|text| text.contains("50 %")));
    assert_eq!(banner_for(&changed(RosterCause::FalseAlarm), &facts), None);
    // One roster change removes a player and readmits another.
    let mut without_ada = facts;
    without_ada.left.push(Seat(0));
    let both = banner_for(&events[0], &without_ada).map(|(banner, _)| banner.text);
    let both = both.expect("it is worth saying");
    for wanted in ["lost", "Ada rejoined"] {
        assert!(both.contains(wanted), "{wanted} in {both}");
    }
}

#[test]
fn the_panel_of_eight_players_fits_at_every_zoom() {
    let mut facts = facts();
    let mut measured = measured();
    let stats = measured.stats.as_mut().expect("there is a network");
    let (peer, link) = (stats.peers.remove(0), stats.links.remove(0));
    measured.seats.clear();
    for number in 1..8 {
        let id = PeerId([number; 32]);
        let name = format!("Player {number}");
        facts.names.insert(Seat(number), name.clone());
        measured.seats.push(SeatInfo {
            seat: Seat(number),
            peer: id,
            name,
        });
        stats.links.push(LinkStats { peer: id, ..link });
        let mut peer = peer;
        peer.peer = id;
        peer.lead.as_mut().expect("it sends early").stands_out = number == 1;
        stats.peers.push(peer);
    }
    let small = (800.0, 450.0);
    for size in SIZES.into_iter().chain([small]) {
        for zoom in [1.0, 1.1, ZOOMS.1] {
            let mut canvas = Canvas::new();
            canvas.begin(size, zoom);
            draw_panel(&mut canvas, &facts, &measured);
            check_texts(&canvas);
            let shows = |part: &str| canvas.texts().iter().any(|text| text.text.contains(part));
            for wanted in ["Player 7", "slack", "may see your commands first"] {
                assert!(shows(wanted), "{wanted} at {size:?}, {zoom}");
            }
        }
    }
}
