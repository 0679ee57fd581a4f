//! The network panel, and the banner about what holds up or changes the match.

use crate::facts::Facts;
use crate::tally::Summary;
use crate::window::canvas::{Canvas, Colour, Rect};
use crate::window::letters::Weight;
use crate::window::ui::wrapped;
use crate::window::{theme, words};
use crate::words::remaining;
use lockstep::session::Stats;
use lockstep::{Event, Gone, RosterCause, Seat, SeatInfo, Status};
use std::time::Duration;

/// What the network panel shows.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    pub summary: Summary,
    /// Statistics of the session; `None` without a network.
    pub stats: Option<Stats>,
    pub seats: Vec<SeatInfo>,
}

/// What is heard of the seats that a turn waits for.
struct Heard {
    /// No packets come from the peers of these.
    silent: Vec<Seat>,
    /// Packets come from all of their peers.
    are_all_heard: bool,
}

/// What is heard of these seats. Of own ones, and of peers that are gone, nothing is known.
fn heard(on: &[Seat], seats: &[SeatInfo], stats: Option<&Stats>) -> Heard {
    let unheard = |seat: &Seat| {
        let peer = seats.iter().find(|info| info.seat == *seat)?.peer;
        let of = stats?.peers.iter().find(|of| of.peer == peer)?;
        Some(of.unheard > SHORTEST_SHOWN_STALL)
    };
    let silent = on.iter().copied();
    Heard {
        silent: silent.filter(|seat| unheard(seat) == Some(true)).collect(),
        are_all_heard: !on.is_empty() && on.iter().all(|seat| unheard(seat) == Some(false)),
    }
}

/// A sentence above everything else.
#[derive(Clone, Debug, PartialEq)]
pub struct Banner {
    /// What happened, and what the player can do.
    pub text: String,
    /// Its severity.
    pub colour: Colour,
    /// Whether it ends as soon as no turn waits.
    pub ends_with_wait: bool,
}

/// The banner for an event, and how long to show it.
pub fn banner_for(event: &Event, facts: &Facts) -> Option<(Banner, Duration)> {
    let names = |seats: &[Seat]| {
        let names: Vec<String> = seats.iter().map(|seat| facts.name(*seat)).collect();
        names.join(", ")
    };
    let (text, colour, seconds) = match event {
        Event::Suspected { seats, unheard, .. } => (
            words::suspected(&names(seats), unheard.as_secs()),
            theme::ACCENT,
            6,
        ),
        Event::NoQuorum { missing, .. } => {
            let remaining = remaining(facts.peers_without(missing));
            let text = words::no_quorum(&names(missing), &remaining);
            (text, theme::BAD, 3_600)
        }
        Event::Extension {
            seats, extension, ..
        } => (
            words::extension(&names(seats), extension.as_secs()),
            theme::ACCENT,
            6,
        ),
        Event::Left { seats, .. } => (words::left(&names(seats)), theme::ACCENT, 6),
        Event::RosterChanged {
            turn,
            gone,
            cause: RosterCause::Reopened,
            ..
        } => {
            let gone = names(&Gone::seats(gone));
            (words::reopened(turn.0, &gone), theme::GOOD, 8)
        }
        Event::RosterChanged {
            gone, back, seats, ..
        } => {
            let removed = gone.iter().filter_map(|gone| {
                let names = names(&gone.seats);
                Some(match gone.cause {
                    RosterCause::Lost => words::lost(&names),
                    RosterCause::Cheated => words::cheated(&names),
                    RosterCause::Desynced => words::desynced(&names),
                    _ => return None,
                })
            });
            let mut parts: Vec<String> = removed.collect();
            let (colour, seconds) = match parts.is_empty() {
                true => (theme::GOOD, 6),
                // Its player may come back meanwhile.
                false => (theme::BAD, 15),
            };
            let known = facts.absent_among(seats);
            if !known.is_empty() || !back.is_empty() {
                parts.push(words::rejoined(&names(&known)));
            }
            if parts.is_empty() {
                return None;
            }
            (parts.join(" "), colour, seconds)
        }
        Event::PlanChanged { plan, slow, .. } if !slow.is_empty() => {
            let percent = u32::from(facts.tick_ms) * 100 / u32::from(plan.tick_ms.max(1));
            (words::slow(&names(slow), percent), theme::ACCENT, 6)
        }
        Event::Desync(desync) if desync.goes_on => {
            let odd = desync.reports.iter();
            let odd = odd.filter(|side| desync.minority.contains(&side.peer));
            let odd: Vec<_> = odd.map(|side| side.seat).collect();
            (words::minority(desync.turn.0, &names(&odd)), theme::BAD, 6)
        }
        Event::Desync(desync) => {
            let report = desync
                .report
                .as_ref()
                .map(|path| path.display().to_string());
            (
                words::desync(desync.turn.0, report.as_deref()),
                theme::BAD,
                3_600,
            )
        }
        Event::BranchFound {
            seats, may_enter, ..
        } => {
            let text = words::branch_found_banner(&names(seats), *may_enter);
            (text, theme::ACCENT, 3_600)
        }
        Event::BranchMet { seats, .. } => (words::branch_met(&names(seats)), theme::ACCENT, 10),
        Event::Slept { away } => (words::slept(away.as_secs_f32()), theme::ACCENT, 5),
        Event::RecordingStopped { why } => (words::recording(&why.to_string()), theme::BAD, 10),
        _ => return None,
    };
    let ends_with_wait = matches!(
        event,
        Event::Suspected { .. }
            | Event::NoQuorum { .. }
            | Event::BranchFound { .. }
            | Event::Extension { .. }
    );
    let banner = Banner {
        text,
        colour,
        ends_with_wait,
    };
    Some((banner, Duration::from_secs(seconds)))
}

/// Shows the banner for an event, in place of the one that is shown until a time. That a player is lost is read to its end,
/// whatever else slows the match meanwhile.
pub fn show(shown: &mut Option<(Banner, Duration)>, event: &Event, facts: &Facts, now: Duration) {
    let Some((banner, lasts)) = banner_for(event, facts) else {
        return;
    };
    let is_news = |(shown, until): &(Banner, Duration)| {
        now < *until && shown.colour == theme::BAD && !shown.ends_with_wait
    };
    if banner.colour != theme::ACCENT || !shown.as_ref().is_some_and(is_news) {
        *shown = Some((banner, now + lasts));
    }
}

/// Seats that caused a long stall, so that a banner tells when their packets arrive again.
#[derive(Clone, Debug, Default)]
pub struct LongStalls {
    seats: Vec<Seat>,
}

impl LongStalls {
    /// Takes an event of a peer with these own seats. Returns a banner, and how long to show it.
    pub fn take(
        &mut self,
        event: &Event,
        own: &[Seat],
        facts: &Facts,
    ) -> Option<(Banner, Duration)> {
        match event {
            Event::Stalled { on, since, .. } if *since >= LONG_STALL => {
                let others = on.iter().filter(|seat| !own.contains(seat));
                self.seats.extend(others);
                self.seats.sort_unstable();
                self.seats.dedup();
            }
            Event::Left { seats: gone, .. } => self.seats.retain(|seat| !gone.contains(seat)),
            // The banner for the roster change names these seats.
            Event::RosterChanged { cause, .. } if *cause != RosterCause::FalseAlarm => {
                self.seats.clear();
            }
            // The others waited for this peer.
            Event::Slept { .. } => self.seats.clear(),
            Event::StallEnded { .. } => {
                let seats = std::mem::take(&mut self.seats);
                let names: Vec<String> = seats.iter().map(|seat| facts.name(*seat)).collect();
                let banner = Banner {
                    text: words::answered(&names.join(", ")),
                    colour: theme::GOOD,
                    ends_with_wait: false,
                };
                return (!names.is_empty()).then_some((banner, ANSWER_SHOWN));
            }
            _ => {}
        }
        None
    }
}

/// The banner for a status, for as long as it lasts. What is heard tells why a turn waits.
pub fn banner_for_status(
    status: &Status,
    facts: &Facts,
    (seats, stats): (&[SeatInfo], Option<Stats>),
) -> Option<Banner> {
    let (text, colour) = match status {
        Status::Stalled { on, since } if *since >= SHORTEST_SHOWN_STALL => {
            let names = |seats: &[Seat]| -> String {
                let names: Vec<String> = seats.iter().map(|seat| facts.name(*seat)).collect();
                names.join(", ")
            };
            let heard = heard(on, seats, stats.as_ref());
            let why = match (heard.silent.is_empty(), heard.are_all_heard) {
                (false, _) => words::silent_players(&names(&heard.silent)),
                (true, true) => words::COMMANDS_MISSING.to_owned(),
                (true, false) => String::new(),
            };
            let text = words::stalled(&names(on), &why, since.as_secs_f32());
            (text, theme::ACCENT)
        }
        Status::CatchingUp { behind } => (words::behind(*behind), theme::ACCENT),
        Status::Paused => (words::PAUSED.to_owned(), theme::TEXT),
        _ => return None,
    };
    Some(Banner {
        text,
        colour,
        ends_with_wait: true,
    })
}

/// The banner over the map of a match that is over.
pub fn banner_after_end() -> Banner {
    Banner {
        text: words::OVER.to_owned(),
        colour: theme::TEXT,
        ends_with_wait: false,
    }
}

/// Draws a banner below the top of the window, left of `right`.
pub fn draw_banner(canvas: &mut Canvas, banner: &Banner, right: f32) {
    let size = canvas.units(theme::HEADING);
    let most = (canvas.size().0 * 0.6).min(right - canvas.units(60.0));
    let lines = wrapped(canvas, &banner.text, size, Weight::Bold, most);
    let widths = lines
        .iter()
        .map(|line| canvas.measure(line, size, Weight::Bold));
    let wide = widths.fold(0.0, f32::max);
    let high = canvas.line_height(size);
    let gap = canvas.units(10.0);
    let (width, height) = canvas.size();
    let middle = ((width - wide) / 2.0).min(right - wide - 3.0 * gap);
    let x = middle.max(2.0 * gap).round();
    let y = (height * 0.16).round();
    let area = Rect::new(
        x - 2.0 * gap,
        y - gap,
        wide + 4.0 * gap,
        high * lines.len() as f32 + 2.0 * gap,
    );
    canvas.begin_above();
    canvas.rect(area, [12, 15, 19, 225]);
    let edge = canvas.units(2.0);
    canvas.frame(area, edge, banner.colour);
    for (place, line) in lines.iter().enumerate() {
        let at = (x, y + high * place as f32);
        canvas.text(at, line, size, Weight::Bold, banner.colour);
    }
}

/// Labels and values of the panel.
pub fn lines(facts: &Facts, measured: &Measured) -> Vec<(String, String)> {
    let summary = &measured.summary;
    let mut lines = vec![
        (
            words::TURN.to_owned(),
            facts.turn.map_or_else(dash, |turn| turn.to_string()),
        ),
        (
            words::PLAN.to_owned(),
            words::plan(&facts.plan, &facts.plan_for),
        ),
        (
            words::LATENCY.to_owned(),
            words::median_and_p99(summary.latency.p50, summary.latency.p99),
        ),
        (
            words::STALLS.to_owned(),
            words::stalls(summary.late_turns, summary.stalled.as_secs_f32()),
        ),
        (
            words::CHECKSUM.to_owned(),
            facts.checksum.map_or_else(dash, |sum| sum.to_string()),
        ),
    ];
    let Some(stats) = &measured.stats else {
        lines.push((words::NETWORK.to_owned(), words::NO_NETWORK.to_owned()));
        return lines;
    };
    let traffic = &summary.traffic;
    let wall = summary.wall.as_secs_f64().max(1.0);
    lines.push((
        words::SENT.to_owned(),
        words::bytes(traffic.bytes_sent, wall),
    ));
    lines.push((
        words::RECEIVED.to_owned(),
        words::bytes(traffic.bytes_received, wall),
    ));
    let agreed = stats.agreed.map_or_else(
        || words::NOT_YET.to_owned(),
        |agreed| words::agreed(agreed.turns, agreed.ago.as_secs_f32()),
    );
    lines.push((words::AGREED.to_owned(), agreed));
    for peer in &stats.peers {
        let seat = measured.seats.iter().find(|info| info.peer == peer.peer);
        let name = seat.map_or_else(|| peer.peer.to_string(), |info| facts.name(info.seat));
        let link = stats.links.iter().find(|link| link.peer == peer.peer);
        let sent = link.map(|link| {
            let copies = link.copies * 100 / link.batches.max(1);
            words::link_traffic(
                copies,
                link.bytes as f64 / link.up_for.as_secs_f64().max(1.0),
            )
        });
        let link = link.map_or_else(
            || words::BY_OTHERS.to_owned(),
            |link| {
                let rtt = link.rtt.map(|rtt| rtt.as_secs_f64() * 1_000.0);
                words::link(rtt, link.lost_of_64)
            },
        );
        lines.push((name, link));
        if let Some(sent) = sent {
            lines.push((String::new(), sent));
        }
        let how = match peer.unheard > SHORTEST_SHOWN_STALL {
            true => words::silent(peer.unheard.as_secs_f32()),
            false => words::slack(peer.slack_ms, peer.slack_there_ms),
        };
        lines.push((String::new(), how));
        if let Some(lead) = peer.lead {
            lines.push((String::new(), words::lead(lead)));
        }
    }
    lines
}

/// Draws the panel at the right edge. Returns its left edge.
pub fn draw_panel(canvas: &mut Canvas, facts: &Facts, measured: &Measured) -> f32 {
    let size = canvas.units(theme::SMALL);
    let high = canvas.line_height(size) + canvas.units(2.0);
    let gap = canvas.units(10.0);
    let lines = lines(facts, measured);
    let column = |canvas: &Canvas, side: usize, weight: Weight| {
        let texts = lines
            .iter()
            .map(|line| if side == 0 { &line.0 } else { &line.1 });
        texts
            .map(|text| canvas.measure(text, size, weight))
            .fold(0.0, f32::max)
    };
    let left = column(canvas, 0, Weight::Bold);
    let right = column(canvas, 1, Weight::Regular);
    let wide = left + right + 4.0 * gap;
    let all = high * lines.len() as f32 + 2.0 * gap;
    let x = canvas.size().0 - wide - gap;
    let y = canvas.units(40.0);
    canvas.begin_above();
    canvas.rect(Rect::new(x, y, wide, all), [12, 15, 19, 225]);
    let edge = canvas.units(1.0).max(1.0);
    canvas.frame(Rect::new(x, y, wide, all), edge, theme::EDGE);
    for (place, (what, much)) in lines.iter().enumerate() {
        let y = y + gap + high * place as f32;
        canvas.text((x + gap, y), what, size, Weight::Bold, theme::FAINT);
        let at = (x + left + 3.0 * gap, y);
        canvas.text(at, much, size, Weight::Regular, theme::TEXT);
    }
    x
}

fn dash() -> String {
    "–".to_owned()
}

/// Shorter stalls end before a player could read the banner.
const SHORTEST_SHOWN_STALL: Duration = Duration::from_millis(700);
/// Shorter stalls end without a banner.
const LONG_STALL: Duration = Duration::from_secs(3);
const ANSWER_SHOWN: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
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
            summary: Summary::default(),
            stats: Some(Stats {
                links: vec![LinkStats {
                    peer,
                    rtt: Some(Duration::from_millis(48)),
                    lost_of_64: 4,
                    batches: 1_000,
                    copies: 70,
                    bytes: 204_800,
                    up_for: Duration::from_secs(200),
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
        let shown = lines(&facts(), &measured);
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
        let shown = lines(&facts(), &measured);
        let [.., link, slack, _] = &shown[..] else {
            panic!("{shown:?}");
        };
        assert_eq!(
            (link.1.as_str(), slack.1.as_str()),
            (words::BY_OTHERS, "no packets for 2.4 s")
        );
        let alone = Measured::default();
        let lines = lines(&facts(), &alone);
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
}
