//! Plots of rows, as SVG.

use crate::contestant::{KINDS, Kind};
use crate::link::Cell;
use crate::table::Row;
use plotters::prelude::*;
use std::error::Error;
use std::path::Path;

/// Draws the 95th percentiles of latency: cells from left to right, a line for each library.
///
/// # Errors
/// The file cannot be written.
pub fn latencies(rows: &[Row], title: &str, path: &Path) -> Result<(), Box<dyn Error>> {
    let mut cells: Vec<Cell> = rows.iter().map(|row| row.cell).collect();
    cells.sort();
    cells.dedup();
    let p95s = rows.iter().filter_map(Row::p95);
    let most = p95s.fold(100.0, f64::max).min(HIGHEST_MS) * 1.05;
    let width = 260 + 110 * cells.len().clamp(4, 10) as u32;
    let root = SVGBackend::new(path, (width, 420)).into_drawing_area();
    root.fill(&WHITE)?;
    let last = cells.len().saturating_sub(1) as f64;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 16))
        .margin(10)
        .x_label_area_size(if cells.len() > 12 { 90 } else { 40 })
        .y_label_area_size(50)
        .build_cartesian_2d(-0.3..last + 0.3, 0.0..most)?;
    let name = |at: &f64| {
        let index = at.round().max(0.0) as usize;
        let cell = cells.get(index).filter(|_| (at - at.round()).abs() < 0.01);
        cell.map_or_else(String::new, Cell::to_string)
    };
    let labels = if cells.len() > 12 {
        ("sans-serif", 9)
            .into_font()
            .transform(FontTransform::Rotate90)
    } else {
        ("sans-serif", 12).into_font()
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(cells.len() * 2)
        .x_label_formatter(&name)
        .x_label_style(labels)
        .y_label_formatter(&|ms| format!("{ms:.0}"))
        .y_desc("p95 of confirmed execution, ms")
        .draw()?;
    for kind in KINDS {
        let color = color(kind);
        let of_kind = rows.iter().filter(|row| row.contestant.kind == kind);
        let mut points: Vec<(f64, f64)> = of_kind
            .filter_map(|row| {
                let at = cells.iter().position(|cell| *cell == row.cell)?;
                Some((at as f64, row.p95()?.min(HIGHEST_MS)))
            })
            .collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        if points.is_empty() {
            continue;
        }
        chart
            .draw_series(LineSeries::new(points.clone(), color.stroke_width(2)))?
            .label(kind.name())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(3)));
        let points = points.into_iter();
        chart.draw_series(points.map(|point| Circle::new(point, 3, color.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.4))
        .draw()?;
    root.present()?;
    Ok(())
}

fn color(kind: Kind) -> RGBColor {
    match kind {
        Kind::Ours => RGBColor(200, 30, 30),
        Kind::GgrsGated => RGBColor(30, 90, 200),
        Kind::GgrsStock => RGBColor(120, 170, 240),
        Kind::Fortress => RGBColor(30, 140, 70),
        Kind::Synctick => RGBColor(160, 120, 20),
    }
}

/// Higher latencies are drawn at this height.
const HIGHEST_MS: f64 = 2_000.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Job, Measured};

    #[test]
    fn a_plot_names_its_cells_and_libraries() {
        let cells = crate::plan::Extent::full().cells;
        let row = |cell: &Cell| {
            let job = Job {
                cell: *cell,
                contestant: "synctick-200".parse().expect("a contestant"),
                seed: 1,
                seconds: 60,
                warm_up: 5,
                flips: true,
            };
            let measured = Measured {
                latencies_ms: vec![300.0],
                ..Measured::default()
            };
            Row::new(&[(job, &measured)]).expect("a row")
        };
        for some in [&cells[..1], &cells[..2], &cells[..6], &cells] {
            let rows: Vec<Row> = some.iter().map(row).collect();
            let name = format!("rivals-{}-plot.svg", std::process::id());
            let path = std::env::temp_dir().join(name);
            latencies(&rows, "a title", &path).expect("a plot");
            let plot = std::fs::read_to_string(&path).expect("a file");
            assert!(plot.contains("synctick") && plot.contains("a title"));
            for cell in some {
                assert!(
                    plot.contains(&format!("{cell}\n")),
                    "{cell} of {}",
                    some.len()
                );
            }
            std::fs::remove_file(&path).expect("removed");
        }
    }
}
