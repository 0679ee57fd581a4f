//! The column beside the map: players, network figures and log.

use super::controls::Hand;
use super::{flow, ground};
use crate::facts::Facts;
use crate::plain::ms;
use crate::words::count;
use crate::world::{Kind, SeatView, World};
use lockstep::Seat;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Widget};
use std::collections::BTreeMap;

/// Draws all panels, from top to bottom. A player sees only the own stock and army.
pub(super) fn draw(
    facts: &Facts,
    world: Option<&World>,
    hand: Option<&Hand>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let players = world.map_or(facts.names.len(), |world| world.seats().count());
    let players = u16::try_from(players).unwrap_or(u16::MAX).saturating_add(2);
    let [top, middle, bottom] = Layout::vertical([
        Constraint::Max(players),
        Constraint::Length(5),
        Constraint::Fill(1),
    ])
    .areas(area);
    draw_players(facts, world, hand, top, buffer);
    draw_numbers(facts, middle, buffer);
    draw_log(facts, bottom, buffer);
}

fn draw_players(
    facts: &Facts,
    world: Option<&World>,
    hand: Option<&Hand>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let mut lines = vec![Line::from("  name     gold wood  pop army").dim()];
    match world {
        Some(world) => {
            // A defeated player may see all.
            let blind = |hand: &&Hand| world.seat(hand.seat()).is_some_and(|own| !own.defeated);
            let hand = hand.filter(blind);
            let armies = armies(world);
            lines.extend(world.seats().map(|seat| {
                let open = hand.is_none_or(|hand| hand.seat() == seat.seat);
                let soldiers = armies.get(&seat.seat).copied().unwrap_or(0);
                player(facts, soldiers, &seat, open)
            }));
        }
        None => lines.extend(
            facts
                .names
                .values()
                .map(|name| Line::from(format!("  {name}"))),
        ),
    }
    let block = Block::new().borders(Borders::TOP).title("players");
    Paragraph::new(lines).block(block).render(area, buffer);
}

/// Soldiers of each seat, in one pass: a world may hold 100,000.
fn armies(world: &World) -> BTreeMap<Seat, u32> {
    let mut armies = BTreeMap::new();
    for unit in world.units().filter(|unit| unit.kind != Kind::Worker) {
        *armies.entry(unit.seat).or_default() += 1;
    }
    armies
}

fn player(facts: &Facts, soldiers: u32, seat: &SeatView, open: bool) -> Line<'static> {
    let name: String = facts.name(seat.seat).chars().take(8).collect();
    let style = Style::new().fg(ground::colour(seat.seat));
    let mark = Span::styled(format!("{} ", seat.seat.0), style.bold());
    let numbers = if open {
        format!(
            "{name:8} {:4} {:4} {:>2}/{:<2} {:>3}",
            seat.gold.min(9_999),
            seat.wood.min(9_999),
            seat.population,
            seat.population_limit,
            soldiers
        )
    } else {
        name
    };
    let mut line = Line::from(vec![mark, Span::styled(numbers, style)]);
    if seat.defeated || facts.left.contains(&seat.seat) {
        line = line.style(Style::new().add_modifier(Modifier::CROSSED_OUT | Modifier::DIM));
    }
    line
}

fn draw_numbers(facts: &Facts, area: Rect, buffer: &mut Buffer) {
    let checksum = facts
        .checksum
        .map_or_else(|| "-".to_owned(), |sum| sum.to_string());
    let latency = facts.latency;
    let agreed = match facts.agreed {
        Some(turns) => format!("  all agree: {turns}"),
        None => String::new(),
    };
    let lines = vec![
        Line::from(vec!["checksum ".dim(), checksum.into(), agreed.green()]),
        Line::from(vec![
            "latency  ".dim(),
            format!("{} p99 {} ms", ms(latency.p50), ms(latency.p99)).into(),
        ]),
        Line::from(vec![
            "late     ".dim(),
            count(facts.late_turns, "turn").into(),
        ]),
        Line::from(vec!["plan     ".dim(), facts.plan.clone().into()]),
    ];
    let block = Block::new().borders(Borders::TOP).title("network");
    Paragraph::new(lines).block(block).render(area, buffer);
}

fn draw_log(facts: &Facts, area: Rect, buffer: &mut Buffer) {
    let rows = usize::from(area.height.saturating_sub(1));
    let mut lines: Vec<String> = facts
        .log
        .iter()
        .rev()
        .take(rows)
        .rev()
        .flat_map(|note| {
            let lines = flow::wrap(&note.text, area.width.saturating_sub(2));
            let indent = |(place, line)| {
                if place == 0 {
                    line
                } else {
                    format!("  {line}")
                }
            };
            lines.into_iter().enumerate().map(indent)
        })
        .collect();
    lines.drain(..lines.len().saturating_sub(rows));
    let lines: Vec<Line<'_>> = lines.into_iter().map(Line::from).collect();
    let block = Block::new()
        .borders(Borders::TOP)
        .border_style(Style::new().fg(Color::Reset))
        .title("log");
    Paragraph::new(lines).block(block).render(area, buffer);
}
