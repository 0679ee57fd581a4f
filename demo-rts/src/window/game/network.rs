//! The network panel, and the banner about what holds up or changes the match.

use crate::facts::Facts;
use crate::tally::Summary;
use crate::window::canvas::{Canvas, Colour, Rect};
use crate::window::letters::Weight;
use crate::window::settings::ZOOMS;
use crate::window::ui::wrapped;
use crate::window::{theme, words};
use crate::words::remaining;
use lockstep::session::{Lead, Stats};
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

/// The banner until the others know that this player leaves.
pub fn banner_while_leaving() -> Banner {
    Banner {
        text: words::LEAVING.to_owned(),
        colour: theme::TEXT,
        ends_with_wait: false,
    }
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

/// How much the panel says: less where it does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    All,
    WithoutTraffic,
    /// Also without leads that do not stand out.
    Least,
}

/// Labels and values of the panel.
fn lines(facts: &Facts, measured: &Measured, detail: Detail) -> Vec<(String, String)> {
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
    let [sent, received] = summary.rates();
    lines.push((
        words::SENT.to_owned(),
        words::bytes(traffic.bytes_sent, sent),
    ));
    lines.push((
        words::RECEIVED.to_owned(),
        words::bytes(traffic.bytes_received, received),
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
        let sent = link.filter(|_| detail == Detail::All).map(|link| {
            let copies = link.copies * 100 / link.batches.max(1);
            // A link carries no turns in a lobby.
            let carries_for = link.up_for.min(summary.wall).as_secs_f64().max(1.0);
            words::link_traffic(copies, link.bytes as f64 / carries_for)
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
        let is_shown = |lead: &Lead| lead.stands_out || detail != Detail::Least;
        if let Some(lead) = peer.lead.filter(is_shown) {
            lines.push((String::new(), words::lead(lead)));
        }
    }
    lines
}

/// The lines that fit into a room of this height, and the size of their type. Smaller type comes before fewer lines,
/// but at the greatest zoom it is as large as usual type without zoom.
fn fitting(
    canvas: &Canvas,
    facts: &Facts,
    measured: &Measured,
    room: f32,
) -> (Vec<(String, String)>, f32) {
    let usual = canvas.units(theme::SMALL);
    let least = (usual / ZOOMS.1).max(SMALLEST_TYPE);
    let fits = |lines: &[_], size| canvas.line_height(size) * lines.len() as f32 <= room;
    for detail in [Detail::All, Detail::WithoutTraffic] {
        let lines = lines(facts, measured, detail);
        let sizes = std::iter::successors(Some(usual), |size| Some(size - 1.0));
        let mut sizes = sizes.take_while(|size| *size >= least);
        if let Some(size) = sizes.find(|size| fits(&lines, *size)) {
            return (lines, size);
        }
    }
    (lines(facts, measured, Detail::Least), least.min(usual))
}

/// Draws the panel at the right edge. Returns its left edge.
pub fn draw_panel(canvas: &mut Canvas, facts: &Facts, measured: &Measured) -> f32 {
    let gap = canvas.units(10.0);
    let y = canvas.units(40.0);
    let room = canvas.size().1 - y - 3.0 * gap;
    let (lines, size) = fitting(canvas, facts, measured, room);
    let least = canvas.line_height(size);
    let most = (room / lines.len() as f32).max(least);
    let high = (least + canvas.units(2.0)).min(most);
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
/// Smaller type is unreadable, in pixels.
const SMALLEST_TYPE: f32 = 10.0;

#[cfg(test)]
mod tests;
