//! Plots as SVG, readable on white and on black.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::report::number;

/// Width of a plot, and height of its bars, in pixels.
const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 220.0;
/// What is left of the bars, above them and below.
const LEFT: f64 = 70.0;
const ABOVE: f64 = 54.0;
const BELOW: f64 = 30.0;
/// Height of a row of stacked bars, and where they begin.
const ROW: f64 = 30.0;
const LABELS: f64 = 230.0;
/// The colour of text and lines.
const INK: &str = "#7a7f87";
/// The colours of series.
const COLOURS: [&str; 8] = [
    "#9aa0a6", "#b08d57", "#4c9f70", "#e4572e", "#3b7dd8", "#7fb2f0", "#8e6bbf", "#d6a419",
];

/// One bar.
pub struct Bar {
    /// What it stands beside others for; bars of a group follow each other.
    pub group: String,
    /// The number of its colour.
    pub series: usize,
    /// What the colour stands for.
    pub name: String,
    /// Its height.
    pub value: f64,
    /// The least and the most.
    pub range: (f64, f64),
}

/// One bar of parts.
pub struct Stack {
    /// What it is of.
    pub name: String,
    /// The parts, each with its name.
    pub parts: Vec<(String, f64)>,
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        r#"<text x="{x:.0}" y="{y:.0}" text-anchor="{anchor}">{text}</text>"#
    );
}

fn rectangle(svg: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), series: usize) {
    let colour = COLOURS[series % COLOURS.len()];
    let _ = writeln!(
        svg,
        r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}"/>"#
    );
}

fn line(svg: &mut String, (x, y): (f64, f64), (to_x, to_y): (f64, f64)) {
    let _ = writeln!(
        svg,
        r#"<path d="M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}" stroke="{INK}"/>"#
    );
}

fn begin(height: f64, title: &str) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\" \
         fill=\"{INK}\">\n"
    );
    text(&mut svg, (8.0, 18.0), "start", title);
    svg
}

fn legend(svg: &mut String, names: &BTreeMap<usize, &str>) {
    let mut x = 8.0;
    for (series, name) in names {
        rectangle(svg, (x, 28.0), (10.0, 10.0), *series);
        text(svg, (x + 14.0, 37.0), "start", name);
        x += 34.0 + name.len() as f64 * 6.6;
    }
}

/// A round number of which a few make up `most`.
fn step(most: f64) -> f64 {
    let rough = most / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * power);
    steps
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(rough)
}

/// Upright bars in groups, with their spread.
pub fn bars(title: &str, bars: &[Bar]) -> String {
    let mut svg = begin(ABOVE + HEIGHT + BELOW, title);
    let names = bars.iter().map(|bar| (bar.series, &bar.name[..]));
    legend(&mut svg, &names.collect());
    let most = bars.iter().map(|bar| bar.range.1).fold(1e-9, f64::max);
    let height = |value: f64| ABOVE + HEIGHT * (1.0 - value / (most * 1.03));
    let step = step(most);
    let mut mark = 0.0;
    while mark <= most {
        line(&mut svg, (LEFT - 4.0, height(mark)), (LEFT, height(mark)));
        text(
            &mut svg,
            (LEFT - 8.0, height(mark) + 4.0),
            "end",
            &number(mark),
        );
        mark += step;
    }
    line(&mut svg, (LEFT, ABOVE), (LEFT, height(0.0)));
    line(&mut svg, (LEFT, height(0.0)), (WIDTH - 8.0, height(0.0)));
    let groups: Vec<&[Bar]> = bars.chunk_by(|a, b| a.group == b.group).collect();
    let wide = (WIDTH - LEFT - 16.0) / (bars.len() + groups.len()).max(1) as f64;
    let wide = wide.min(60.0);
    let mut x = LEFT + wide / 2.0;
    for group in groups {
        let middle = x + wide * group.len() as f64 / 2.0;
        text(
            &mut svg,
            (middle, height(0.0) + 18.0),
            "middle",
            &group[0].group,
        );
        for bar in group {
            let size = (wide * 0.9, height(0.0) - height(bar.value));
            rectangle(&mut svg, (x, height(bar.value)), size, bar.series);
            let middle = x + wide * 0.45;
            line(
                &mut svg,
                (middle, height(bar.range.0)),
                (middle, height(bar.range.1)),
            );
            x += wide;
        }
        x += wide;
    }
    svg + "</svg>\n"
}

/// Bars that lie, of parts one after the other.
pub fn stacks(title: &str, stacks: &[Stack]) -> String {
    let mut svg = begin(ABOVE + ROW * stacks.len() as f64, title);
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in stacks.iter().flat_map(|stack| &stack.parts) {
        if !names.contains(&&name[..]) {
            names.push(name);
        }
    }
    legend(&mut svg, &names.iter().copied().enumerate().collect());
    let sum = |stack: &Stack| stack.parts.iter().map(|part| part.1).sum::<f64>();
    let most = stacks.iter().map(sum).fold(1e-9, f64::max);
    let scale = (WIDTH - LABELS - 60.0) / most;
    for (row, stack) in stacks.iter().enumerate() {
        let y = ABOVE + ROW * row as f64;
        text(&mut svg, (LABELS - 8.0, y + 15.0), "end", &stack.name);
        let mut x = LABELS;
        for (name, value) in &stack.parts {
            let series = names.iter().position(|n| n == name).unwrap_or(0);
            rectangle(&mut svg, (x, y), (value * scale, ROW - 8.0), series);
            x += value * scale;
        }
        text(&mut svg, (x + 6.0, y + 15.0), "start", &number(sum(stack)));
    }
    svg + "</svg>\n"
}
