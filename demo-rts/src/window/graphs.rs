//! Army, economy and actions of each seat over time: in the window, and as SVG.

use crate::window::canvas::{Canvas, Colour, Rect};
use crate::window::letters::Weight;
use crate::window::samples::Sample;
use crate::window::theme;
use crate::window::ui::shortened;
use crate::window::words::viewer as words;
use crate::world::TICKS_PER_SECOND;
use std::fmt::Write as _;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graph {
    /// Cost of all soldiers.
    Army,
    /// Resources gathered per minute.
    Economy,
    /// Commands per minute.
    Actions,
}

impl Graph {
    /// From top to bottom.
    pub const ALL: [Graph; 3] = [Graph::Army, Graph::Economy, Graph::Actions];

    pub fn title(self) -> &'static str {
        words::GRAPHS[self as usize]
    }

    /// The values of all seats, and the value at the graph's upper edge.
    fn of_all(self, samples: &[Sample], seats: usize) -> (Vec<Vec<(u64, f32)>>, f32) {
        let all: Vec<_> = (0..seats).map(|seat| self.values(samples, seat)).collect();
        let values = all.iter().flatten().map(|(_, value)| *value);
        let top = round_up(values.fold(1.0, f32::max));
        (all, top)
    }

    /// A seat's values by ascending tick.
    pub fn values(self, samples: &[Sample], seat: usize) -> Vec<(u64, f32)> {
        let of = |sample: &Sample| {
            let stand = sample.seats.get(seat).copied().unwrap_or_default();
            match self {
                Graph::Army => stand.army,
                Graph::Economy => stand.gathered,
                Graph::Actions => stand.actions,
            }
        };
        let mut first = 0;
        let mut values = Vec::with_capacity(samples.len());
        for (place, sample) in samples.iter().enumerate() {
            while first < place && samples[first + 1].tick + MINUTE <= sample.tick {
                first += 1;
            }
            let value = match self {
                Graph::Army => of(sample) as f32,
                _ => {
                    let passed = sample.tick - samples[first].tick;
                    let more = of(sample).saturating_sub(of(&samples[first]));
                    more as f32 * MINUTE as f32 / passed.max(LEAST_PASSED) as f32
                }
            };
            values.push((sample.tick, value));
        }
        values
    }
}

/// A seat in a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub name: String,
    /// The number of its colour.
    pub colour: u8,
}

/// The last value at a tick or before it.
pub fn at(values: &[(u64, f32)], tick: u64) -> f32 {
    let after = values.partition_point(|(when, _)| *when <= tick);
    after.checked_sub(1).map_or(0.0, |place| values[place].1)
}

/// The next round number.
fn round_up(value: f32) -> f32 {
    let power = 10_f32.powf(value.max(1.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let fits = steps.into_iter().map(|step| step * power);
    fits.into_iter()
        .find(|round| *round >= value)
        .unwrap_or(value)
}

/// The ticks that a graph covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// At the left edge.
    pub from: u64,
    /// At the right edge.
    pub to: u64,
    /// The tick of the vertical line.
    pub now: Option<u64>,
}

pub fn draw(
    canvas: &mut Canvas,
    area: Rect,
    graph: Graph,
    samples: &[Sample],
    lines: &[Line],
    span: Span,
) {
    let size = canvas.units(theme::SMALL);
    let high = canvas.line_height(size);
    let gap = canvas.units(4.0);
    let (all, top) = graph.of_all(samples, lines.len());
    let label = format!("{top:.0}");
    let wide = canvas.measure(&label, size, Weight::Regular);
    canvas.text(
        (area.right() - wide, area.y),
        &label,
        size,
        Weight::Regular,
        theme::FAINT,
    );
    let room = area.w - wide - 2.0 * gap;
    let title = shortened(canvas, graph.title(), size, Weight::Bold, room);
    let at_left = (area.x, area.y);
    canvas.text(at_left, &title, size, Weight::Bold, theme::TEXT);
    let plot = Rect::new(area.x, area.y + high + gap, area.w, area.h - high - gap);
    canvas.rect(plot, theme::FIELD);
    let thin = canvas.scale().max(1.0);
    for part in [0.0, 0.5] {
        let y = plot.y + plot.h * part;
        canvas.rect(
            Rect::new(plot.x, y.round(), plot.w, thin),
            theme::alpha(theme::EDGE, 0.5),
        );
    }
    canvas.clip(plot);
    let ticks = span.to.saturating_sub(span.from).max(1) as f32;
    let x_of = |tick: u64| plot.x + plot.w * tick.saturating_sub(span.from) as f32 / ticks;
    let spot = |(tick, value): (u64, f32)| {
        let x = x_of(tick);
        (x, plot.bottom() - (plot.h - thin * 2.0) * value / top)
    };
    let step = canvas.units(1.5).max(1.0);
    for (values, line) in all.iter().zip(lines) {
        let colour = theme::seat(line.colour);
        let mut last: Option<(f32, f32)> = None;
        for (place, value) in values.iter().enumerate() {
            let at = spot(*value);
            let Some(from) = last else {
                last = Some(at);
                continue;
            };
            if at.0 - from.0 >= step || place + 1 == values.len() {
                canvas.line(from, at, 2.0 * thin, colour);
                last = Some(at);
            }
        }
        for place in 1..=MARKS {
            // Each seat's marks are offset a little, so that none hides another.
            let tick = (place as f32 - 0.5 + f32::from(line.colour % 8) * 0.06) / MARKS as f32;
            let tick = span.from + (tick * ticks) as u64;
            if values.last().is_some_and(|(last, _)| *last >= tick) {
                let at = spot((tick, at(values, tick)));
                theme::mark(canvas, line.colour, at, 11.0 * thin, theme::OUTLINE);
                theme::mark(canvas, line.colour, at, 8.0 * thin, colour);
            }
        }
    }
    if let Some(now) = span.now {
        let x = x_of(now).round();
        canvas.rect(Rect::new(x, plot.y, thin, plot.h), theme::ACCENT);
    }
    canvas.unclip();
}

/// All graphs as one SVG.
pub fn svg(
    title: &str,
    samples: &[Sample],
    lines: &[Line],
    (ticks, length): (u64, Duration),
) -> String {
    let legend = 60.0 + 22.0 * lines.len() as f32;
    let whole = legend + Graph::ALL.len() as f32 * (PLOT.1 + 70.0);
    let mut svg = String::new();
    let wide = PLOT.0 + 120.0;
    // Writing to a string does not fail.
    let mut put = |line: std::fmt::Arguments<'_>| {
        let _ = svg.write_fmt(line);
        svg.push('\n');
    };
    put(format_args!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {whole}" font-family="sans-serif" font-size="13">"##
    ));
    put(format_args!(
        r##"<rect width="{wide}" height="{whole}" fill="#12161c"/>"##
    ));
    put(format_args!(
        r##"<text x="60" y="30" fill="#e8ecf0" font-size="18">{}</text>"##,
        escaped(title)
    ));
    for (place, line) in lines.iter().enumerate() {
        let y = 54.0 + 22.0 * place as f32;
        put(format_args!("{}", svg_mark(line.colour, (68.0, y), 7.0)));
        put(format_args!(
            r##"<text x="84" y="{}" fill="#e8ecf0">{}</text>"##,
            y + 4.5,
            escaped(&line.name)
        ));
    }
    for (place, graph) in Graph::ALL.into_iter().enumerate() {
        let top = legend + place as f32 * (PLOT.1 + 70.0) + 24.0;
        let (all, most) = graph.of_all(samples, lines.len());
        put(format_args!(r##"<g transform="translate(60 {top})">"##));
        put(format_args!(
            r##"<text x="0" y="-8" fill="#e8ecf0" font-weight="bold">{}</text>"##,
            escaped(graph.title())
        ));
        put(format_args!(
            r##"<rect width="{}" height="{}" fill="#0e1217"/>"##,
            PLOT.0, PLOT.1
        ));
        for part in [0.0_f32, 0.5, 1.0] {
            let y = PLOT.1 * (1.0 - part);
            put(format_args!(
                r##"<path d="M0 {y}H{}" stroke="#4a5868"/>"##,
                PLOT.0
            ));
            put(format_args!(
                r##"<text x="-6" y="{}" text-anchor="end" fill="#a0acb8">{:.0}</text>"##,
                y + 4.0,
                most * part
            ));
        }
        for part in 0..=4_u32 {
            let x = PLOT.0 * part as f32 / 4.0;
            let time = crate::words::clock(length * part / 4);
            put(format_args!(
                r##"<text x="{x}" y="{}" text-anchor="middle" fill="#a0acb8">{time}</text>"##,
                PLOT.1 + 18.0
            ));
        }
        let spot = |(tick, value): (u64, f32)| {
            (
                PLOT.0 * tick as f32 / ticks.max(1) as f32,
                PLOT.1 * (1.0 - value / most),
            )
        };
        for (values, line) in all.iter().zip(lines) {
            let points = values.iter().map(|value| spot(*value));
            let points: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            put(format_args!(
                r##"<polyline fill="none" stroke="{}" stroke-width="2" points="{}"/>"##,
                hex(theme::seat(line.colour)),
                points.join(" ")
            ));
            for place in 0..MARKS {
                let part = (place as f32 + 0.5 + f32::from(line.colour % 8) * 0.06) / MARKS as f32;
                let tick = (part * ticks as f32) as u64;
                let at = spot((tick, at(values, tick)));
                put(format_args!("{}", svg_mark(line.colour, at, 5.0)));
            }
        }
        put(format_args!("</g>"));
    }
    svg.push_str("</svg>\n");
    svg
}

/// A seat's mark: the shapes of [`theme::mark`].
fn svg_mark(colour: u8, (x, y): (f32, f32), r: f32) -> String {
    let fill = format!(r##"fill="{}""##, hex(theme::seat(colour)));
    let polygon = |corners: &[(f32, f32)]| {
        let corners = corners.iter().map(|(dx, dy)| (x + dx * r, y + dy * r));
        let points: Vec<String> = corners.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        format!(r##"<polygon {fill} points="{}"/>"##, points.join(" "))
    };
    let bar = |dx: f32, dy: f32, w: f32, h: f32| {
        let (x, y) = (x + dx * r, y + dy * r);
        format!(
            r##"<rect {fill} x="{x:.1}" y="{y:.1}" width="{}" height="{}"/>"##,
            w * r,
            h * r
        )
    };
    match colour % 8 {
        0 => format!(
            r##"<circle {fill} cx="{x:.1}" cy="{y:.1}" r="{}"/>"##,
            r * 0.9
        ),
        1 => bar(-0.8, -0.8, 1.6, 1.6),
        2 => polygon(&[(0.0, -1.0), (1.0, 0.8), (-1.0, 0.8)]),
        3 => polygon(&[(0.0, -1.1), (1.1, 0.0), (0.0, 1.1), (-1.1, 0.0)]),
        4 => bar(-0.35, -1.0, 0.7, 2.0) + &bar(-1.0, -0.35, 2.0, 0.7),
        5 => format!(
            r##"<circle fill="none" stroke="{}" stroke-width="{}" cx="{x:.1}" cy="{y:.1}" r="{}"/>"##,
            hex(theme::seat(colour)),
            r * 0.5,
            r * 0.75
        ),
        6 => polygon(&[(0.0, 1.0), (1.0, -0.8), (-1.0, -0.8)]),
        _ => bar(-1.0, -0.85, 2.0, 0.6) + &bar(-1.0, 0.25, 2.0, 0.6),
    }
}

fn hex([red, green, blue, _]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// As text of XML: escapes what has a meaning there and drops what is not allowed.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for letter in text.chars().filter(|letter| !letter.is_control()) {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => {}
            letter => safe.push(letter),
        }
    }
    safe
}

const MINUTE: u64 = 60 * TICKS_PER_SECOND as u64;
/// At the start of a match, a shorter time would make rates meaningless.
const LEAST_PASSED: u64 = 10 * TICKS_PER_SECOND as u64;
/// Marks along a line.
const MARKS: usize = 7;
/// Size of a graph in SVG.
const PLOT: (f32, f32) = (900.0, 200.0);
