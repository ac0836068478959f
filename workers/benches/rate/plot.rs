//! Draws rates by workers as SVG, in the style of the other plots of `docs/performance.md`.

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::figures::{MOST_WORKERS, Point, model};
use crate::traffic::{Case, Traffic};

const TITLE: &str = "Packets a second by workers, in memory";
const EXPLAINED: &str =
    "point: median, line: least to most; grey: N times one; dashed: what the model says";
/// Size of the plot, in pixels.
const WIDTH: u32 = 800;
const HEIGHT: u32 = 420;
/// Places of the legend's lines, and its height.
const NAMES_AT: i32 = 34;
const EXPLAINED_AT: i32 = 56;
const LEGEND: i32 = 76;
/// Sizes of text, of which plotters draws 0.8 as pixels, and the estimated width of a character.
const TITLE_SIZE: u32 = 20;
const TEXT_SIZE: u32 = 16;
const CHARACTER: i32 = 7;
/// How far from each other the points of two cases with as many workers are, in workers.
const APART: f64 = 0.1;
/// The colour of text and axes, and that of grid lines with its opacity.
const INK: RGBColor = RGBColor(48, 54, 61);
const GRID: f64 = 0.2;
const IDEAL: RGBColor = RGBColor(154, 160, 166);
/// The colours of cases.
const COLOURS: [RGBColor; 3] = [
    RGBColor(228, 87, 46),
    RGBColor(59, 125, 216),
    RGBColor(76, 159, 112),
];

/// The drawing area of a plot.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Drawing errors; writing to a string never fails.
type Drawn<T> = Result<T, Box<dyn Error>>;

/// A plot of what was measured in some cases, as multiples of one worker's rate, with the line of
/// N times one and what the model says of each number of flows.
pub fn picture(measured: &[(Case, Vec<Point>)]) -> String {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area();
    draw(&area, measured).expect("a text takes what is written");
    drop(area);
    let (head, rest) = svg
        .split_once('\n')
        .expect("the root has a line of its own");
    let names: Vec<&str> = measured.iter().map(|(case, _)| case.name).collect();
    format!(
        "{head}\n<title>{TITLE}: {}</title>\n{rest}",
        names.join(", ")
    )
}

fn draw(area: &Area<'_>, measured: &[(Case, Vec<Point>)]) -> Drawn<()> {
    area.fill(&WHITE)?;
    legend(area, measured)?;
    let (_, below) = area.split_vertically(LEGEND);
    let ideal = MOST_WORKERS as f64;
    let points = measured.iter().flat_map(|(_, points)| points);
    let top = points.fold(ideal, |top, point| top.max(point.times.most));
    let mut chart = ChartBuilder::on(&below)
        .margin_left(8)
        .margin_right(24)
        .margin_top(8)
        .x_label_area_size(52)
        .y_label_area_size(64)
        .build_cartesian_2d(0.6..ideal + 0.4, 0.0..top * 1.06)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(GRID))
        .axis_style(INK)
        .label_style(words(TEXT_SIZE))
        .x_labels(9)
        .y_labels(10)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .x_desc("workers")
        .y_desc("rate, times one worker's")
        .draw()?;
    let line = vec![(1.0, 1.0), (ideal, ideal)];
    chart.draw_series(LineSeries::new(line, IDEAL.stroke_width(2)))?;
    for ((case, _), colour) in measured.iter().zip(COLOURS) {
        // Senders that knock are divided as flows are.
        if case.traffic == Traffic::Flows {
            let mut line = Vec::new();
            for workers in 1..=MOST_WORKERS {
                line.push((workers as f64, model(workers, case.flows)));
            }
            let stroke = colour.stroke_width(2);
            chart.draw_series(DashedLineSeries::new(line, 6, 4, stroke))?;
        }
    }
    for (number, ((_, points), colour)) in measured.iter().zip(COLOURS).enumerate() {
        let right = (number as f64 - 1.0) * APART;
        for point in points {
            let x = point.workers as f64 + right;
            let spread = vec![(x, point.times.least), (x, point.times.most)];
            chart.draw_series([PathElement::new(spread, colour.stroke_width(2))])?;
            let median = (x, point.times.median);
            chart.draw_series([Circle::new(median, 4, colour.filled())])?;
        }
    }
    Ok(())
}

/// Draws the title, and what colours and lines mean.
fn legend(area: &Area<'_>, measured: &[(Case, Vec<Point>)]) -> Drawn<()> {
    area.draw(&Text::new(TITLE, (8, 6), words(TITLE_SIZE)))?;
    let mut x = 8;
    for ((case, _), colour) in measured.iter().zip(COLOURS) {
        let corners = [(x, NAMES_AT + 1), (x + 12, NAMES_AT + 13)];
        area.draw(&Rectangle::new(corners, colour.filled()))?;
        let name = Text::new(case.name, (x + 17, NAMES_AT), words(TEXT_SIZE));
        area.draw(&name)?;
        x += 30 + case.name.len() as i32 * CHARACTER;
    }
    area.draw(&Text::new(EXPLAINED, (8, EXPLAINED_AT), words(TEXT_SIZE)))?;
    Ok(())
}

fn words(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}
