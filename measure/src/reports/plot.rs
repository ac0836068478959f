//! Plots as SVG, on a white ground, so that they can be read on any page.

mod axis;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use self::axis::{LabelledAxis, MAX_LABELS};
use crate::reports::html_table::escaped;
use crate::statistics::numbers::number;
use crate::statistics::{greatest, least};

/// Size of a plot, in pixels.
const WIDTH: u32 = 800;
const HEIGHT: u32 = 340;
/// Height of a row of stacked bars, and of the axis below all of them.
const ROW: u32 = 44;
const AXIS: u32 = 52;
/// Height of the title, and of a line of the legend.
const TITLE: i32 = 32;
const LEGEND: i32 = 22;
/// Sizes of text, of which plotters draws 0.8 as pixels.
const TITLE_SIZE: u32 = 20;
const TEXT_SIZE: u32 = 16;
/// The estimated width of a character, as the viewer chooses the font; and of the least gap between
/// values above bars.
const CHARACTER: f64 = 7.0;
const VALUE_GAP: f64 = 6.0;
/// Bars that are narrower touch each other: gaps of parts of a pixel would be seen between some.
const NARROW: f64 = 8.0;
/// The colour of text and axes, and that of grid lines with its opacity.
const INK: RGBColor = RGBColor(48, 54, 61);
const GRID: f64 = 0.2;
/// A line with fewer points than this shows each.
const MAX_DOTS: usize = 40;
/// The least beginning of the axis of a distribution, in microseconds: to read a clock takes
/// longer.
const LEAST_MICROS: f64 = 0.01;
/// Half the width of a cross, and what it means.
const CROSS_SIZE: i32 = 5;
const CROSS_WORDS: &str = "cross: forced, or with another sign";
/// The colours of series.
const COLOURS: [RGBColor; 11] = [
    RGBColor(154, 160, 166),
    RGBColor(176, 141, 87),
    RGBColor(76, 159, 112),
    RGBColor(228, 87, 46),
    RGBColor(59, 125, 216),
    RGBColor(127, 178, 240),
    RGBColor(142, 107, 191),
    RGBColor(214, 164, 25),
    RGBColor(201, 104, 152),
    RGBColor(64, 176, 191),
    RGBColor(163, 122, 103),
];

/// One bar.
pub struct Bar {
    /// Its group; bars of a group follow each other.
    pub group: String,
    /// The index of its colour.
    pub series: usize,
    /// The meaning of the colour.
    pub name: String,
    /// Its height.
    pub value: f64,
    /// The minimum and the maximum.
    pub range: (f64, f64),
}

/// A stacked bar.
pub struct Stack {
    /// Its label.
    pub name: String,
    /// The parts, each with its name.
    pub parts: Vec<(String, f64)>,
}

impl Stack {
    /// A bar of these parts.
    pub fn new(name: &str, parts: &[(&str, f64)]) -> Self {
        let parts = parts.iter().map(|(part, ns)| (part.to_string(), *ns));
        Self {
            name: name.into(),
            parts: parts.collect(),
        }
    }
}

/// The drawing area of a plot.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Drawing errors; writing to a string never fails.
type Drawn<T> = Result<T, Box<dyn std::error::Error>>;

/// A picture of this height, with a title for those who cannot see it: what `draw` returns.
fn picture<'a>(height: u32, draw: impl FnOnce(&Area<'_>) -> Drawn<String> + 'a) -> String {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
    let title = area
        .fill(&WHITE)
        .map_err(Into::into)
        .and_then(|()| draw(&area));
    let title = title.expect("a text takes what is written");
    drop(area);
    let (head, rest) = svg
        .split_once('\n')
        .expect("the root has a line of its own");
    format!("{head}\n<title>{}</title>\n{rest}", escaped(&title))
}

/// The title of a picture.
pub fn title(svg: &str) -> &str {
    let rest = svg.split_once("<title>").map_or("", |(_, rest)| rest);
    rest.split("</title>").next().unwrap_or_default()
}

/// The words of a plot: its title and what the colours mean.
fn described(title: &str, names: &[(usize, &str)]) -> String {
    let names: Vec<&str> = names.iter().map(|(_, name)| *name).collect();
    format!("{title}: {}", names.join(", "))
}

/// Vertical bars in groups, each with a line from the minimum to the maximum.
///
/// Units: `unit` is the axis' title.
pub fn bars(title: &str, unit: &str, bars: &[Bar]) -> String {
    bars_of("bar: median, line: least to most", title, unit, bars)
}

/// The same, where bars are means and ranges their intervals.
pub fn mean_bars(title: &str, unit: &str, bars: &[Bar]) -> String {
    bars_of("bar: mean, line: 95 % interval", title, unit, bars)
}

fn bars_of(what: &str, title: &str, unit: &str, bars: &[Bar]) -> String {
    picture(HEIGHT, |area| draw_bars(area, what, title, unit, bars))
}

/// Horizontal stacked bars.
///
/// Units: `unit` is the axis' title.
pub fn stacks(title: &str, unit: &str, stacks: &[Stack]) -> String {
    let height = TITLE as u32 + LEGEND as u32 + ROW * stacks.len() as u32 + AXIS;
    picture(height, |area| draw_stacks(area, title, unit, stacks))
}

/// A line of a plot.
pub struct Line {
    /// Its name.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
    /// True if it is dashed: what others have published, or a bound.
    pub is_reference: bool,
}

/// The titles and scales of a plot of lines.
#[derive(Clone, Copy)]
pub struct Axes<'a> {
    /// Above the plot.
    pub title: &'a str,
    /// Of the horizontal axis.
    pub x: &'a str,
    /// Of the vertical axis.
    pub y: &'a str,
    /// True if the horizontal axis is logarithmic.
    pub log_x: bool,
}

impl Axes<'_> {
    /// Returns the place of a value of the horizontal axis on the linear one that is drawn.
    fn place(&self, x: f64) -> f64 {
        if self.log_x { x.log10() } else { x }
    }
}

/// Lines over a linear or logarithmic axis; the vertical axis begins at zero.
pub fn lines(axes: Axes<'_>, lines: &[Line]) -> String {
    signed_lines(axes, lines, &[])
}

/// Distributions of times as steps over a logarithmic axis: for each time, how many per cent do not
/// exceed it.
pub fn distributions(title: &str, lines: &[Line]) -> String {
    let axes = Axes {
        title,
        x: "us",
        y: "share at most this, %",
        log_x: true,
    };
    let mut stepped = Vec::new();
    for line in lines {
        stepped.push(Line {
            name: line.name.clone(),
            points: steps(&line.points),
            is_reference: line.is_reference,
        });
    }
    picture(HEIGHT, |area| draw_lines(area, axes, &stepped, &[], 0))
}

/// The corners of the steps that begin at zero and rise at each of these points; the axis begins
/// at [`LEAST_MICROS`].
fn steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut corners = Vec::new();
    let mut before = 0.0;
    for (micros, y) in points {
        let x = micros.max(LEAST_MICROS);
        corners.push((x, before));
        corners.push((x, *y));
        before = *y;
    }
    corners
}

/// The same with crosses, which no line connects, for points of each line that have a sign.
pub fn signed_lines(axes: Axes<'_>, lines: &[Line], crosses: &[Vec<(f64, f64)>]) -> String {
    picture(HEIGHT, |area| {
        draw_lines(area, axes, lines, crosses, MAX_DOTS)
    })
}

/// The least and the greatest of some numbers; 0 and 1 of none.
fn bounds(numbers: &[f64]) -> (f64, f64) {
    if numbers.is_empty() {
        return (0.0, 1.0);
    }
    (least(numbers), greatest(numbers))
}

/// An axis that has zero, these bounds and some room; of one unit if all is zero.
fn from_zero(least: f64, most: f64) -> (f64, f64) {
    let bottom = least.min(0.0);
    let top = most.max(0.0);
    let room = (top - bottom) * 0.06;
    if room == 0.0 {
        return (0.0, 1.0);
    }
    (if bottom < 0.0 { bottom - room } else { 0.0 }, top + room)
}

/// The names in the legend, each with the number of its colour. One of which nothing is drawn keeps
/// its colour, so that others have theirs in each plot.
fn drawn_names<'a>(lines: &'a [Line], crosses: &[Vec<(f64, f64)>]) -> Vec<(usize, &'a str)> {
    let mut names = Vec::new();
    for (series, line) in lines.iter().enumerate() {
        let has_crosses = crosses.get(series).is_some_and(|own| !own.is_empty());
        if has_crosses || !line.points.is_empty() {
            names.push((series, &line.name[..]));
        }
    }
    names
}

fn draw_lines(
    area: &Area,
    axes: Axes<'_>,
    lines: &[Line],
    crosses: &[Vec<(f64, f64)>],
    max_dots: usize,
) -> Drawn<String> {
    let names = drawn_names(lines, crosses);
    let is_signed = crosses.iter().any(|of_line| !of_line.is_empty());
    let explained = if is_signed { CROSS_WORDS } else { "" };
    let area = head(area, axes.title, explained, &names)?;
    let mut places = Vec::new();
    let mut heights = Vec::new();
    let drawn = lines.iter().flat_map(|line| &line.points);
    let all = drawn.chain(crosses.iter().flatten());
    let axes = Axes {
        // Zero has no place on a logarithmic one.
        log_x: axes.log_x && all.clone().all(|(x, _)| *x > 0.0),
        ..axes
    };
    for (x, y) in all {
        places.push(axes.place(*x));
        heights.push(*y);
    }
    let (left, right) = bounds(&places);
    let (lowest, highest) = bounds(&heights);
    let (bottom, top) = from_zero(lowest, highest);
    let mut chart = ChartBuilder::on(&area)
        .margin_left(8)
        .margin_right(24)
        .margin_top(12)
        .x_label_area_size(AXIS)
        .y_label_area_size(88)
        .build_cartesian_2d(LabelledAxis::new(left, right, axes.log_x), bottom..top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(GRID))
        .axis_style(INK)
        .label_style(words(TEXT_SIZE))
        .x_labels(MAX_LABELS)
        .y_labels(7)
        .x_label_formatter(&|x| number(if axes.log_x { 10f64.powf(*x) } else { *x }))
        .y_label_formatter(&|value| number(*value))
        .x_desc(axes.x)
        .y_desc(axes.y)
        .draw()?;
    for (series, line) in lines.iter().enumerate() {
        let mut placed = Vec::new();
        for (x, y) in &line.points {
            placed.push((axes.place(*x), *y));
        }
        let stroke = colour(series).stroke_width(2);
        if line.is_reference {
            chart.draw_series(DashedLineSeries::new(placed, 6, 4, stroke))?;
            continue;
        }
        if placed.len() < max_dots {
            let filled = colour(series).filled();
            chart.draw_series(placed.iter().map(|at| Circle::new(*at, 3, filled)))?;
        }
        chart.draw_series(LineSeries::new(placed, stroke))?;
    }
    for (series, of_line) in crosses.iter().enumerate() {
        let stroke = colour(series).stroke_width(2);
        let placed = of_line.iter().map(|(x, y)| (axes.place(*x), *y));
        chart.draw_series(placed.map(|at| Cross::new(at, CROSS_SIZE, stroke)))?;
    }
    Ok(described(axes.title, &names))
}

fn draw_bars(area: &Area, what: &str, title: &str, unit: &str, bars: &[Bar]) -> Drawn<String> {
    // In the order of the bars.
    let mut names: Vec<(usize, &str)> = Vec::new();
    for bar in bars {
        let named = (bar.series, &bar.name[..]);
        if !names.contains(&named) {
            names.push(named);
        }
    }
    let spread = bars.iter().any(|bar| bar.range.0 < bar.range.1);
    let area = head(area, title, if spread { what } else { "" }, &names)?;
    let groups: Vec<&[Bar]> = bars.chunk_by(|a, b| a.group == b.group).collect();
    let ranges: Vec<f64> = bars.iter().flat_map(|b| [b.range.0, b.range.1]).collect();
    let (lowest, highest) = bounds(&ranges);
    let (bottom, top) = from_zero(lowest, highest);
    let named = bars.iter().any(|bar| !bar.group.is_empty());
    // One slot for each bar, and one between groups.
    let places = (bars.len() + groups.len()) as f64;
    let mut chart = ChartBuilder::on(&area)
        .margin_left(8)
        .margin_right(12)
        .margin_top(16)
        .x_label_area_size(if named { 28 } else { 8 })
        .y_label_area_size(88)
        .build_cartesian_2d(0.0..places, bottom..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(GRID))
        .axis_style(INK)
        .label_style(words(TEXT_SIZE))
        .y_labels(9)
        .y_label_formatter(&|value| number(*value))
        .y_desc(unit)
        .draw()?;
    let wide = f64::from(WIDTH - 108) / places;
    let longest = bars.iter().map(|bar| number(bar.value).len()).max();
    let has_values = wide >= longest.unwrap_or(0) as f64 * CHARACTER + VALUE_GAP;
    let margin = if wide < NARROW { 0.0 } else { 0.05 };
    let mut x = 0.5;
    for group in groups {
        let middle = chart.backend_coord(&(x + group.len() as f64 / 2.0, bottom));
        let below = centred(VPos::Top);
        area.draw(&Text::new(
            &group[0].group[..],
            local(&area, middle, 8),
            below,
        ))?;
        for bar in group {
            let corners = [(x + margin, 0.0), (x + 1.0 - margin, bar.value)];
            chart.draw_series([Rectangle::new(corners, colour(bar.series).filled())])?;
            let spread = vec![(x + 0.5, bar.range.0), (x + 0.5, bar.range.1)];
            chart.draw_series([PathElement::new(spread, INK.stroke_width(2))])?;
            if has_values {
                let at = chart.backend_coord(&(x + 0.5, bar.range.1.max(bar.value)));
                let text = number(bar.value);
                area.draw(&Text::new(
                    text,
                    local(&area, at, -3),
                    centred(VPos::Bottom),
                ))?;
            }
            x += 1.0;
        }
        x += 1.0;
    }
    Ok(described(title, &names))
}

fn draw_stacks(area: &Area, title: &str, unit: &str, stacks: &[Stack]) -> Drawn<String> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in stacks.iter().flat_map(|stack| &stack.parts) {
        if !names.contains(&&name[..]) {
            names.push(name);
        }
    }
    let series: Vec<(usize, &str)> = names.iter().copied().enumerate().collect();
    let area = head(area, title, "", &series)?;
    let sums = stacks
        .iter()
        .map(|stack| stack.parts.iter().map(|part| part.1).sum::<f64>());
    let most = sums.max_by(f64::total_cmp).unwrap_or(0.0).max(1e-9);
    let rows = stacks.len() as f64;
    let mut chart = ChartBuilder::on(&area)
        .margin_right(12)
        .x_label_area_size(AXIS)
        .y_label_area_size(230)
        .build_cartesian_2d(0.0..most * 1.1, rows..0.0)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(GRID))
        .axis_style(INK)
        .label_style(words(TEXT_SIZE))
        .x_labels(8)
        .x_label_formatter(&|value| number(*value))
        .x_desc(unit)
        .draw()?;
    for (row, stack) in stacks.iter().enumerate() {
        let top = row as f64 + 0.15;
        let bottom = row as f64 + 0.85;
        let mut x = 0.0;
        for (name, value) in &stack.parts {
            let series = names.iter().position(|n| n == name).unwrap_or(0);
            let corners = [(x, top), (x + value, bottom)];
            chart.draw_series([Rectangle::new(corners, colour(series).filled())])?;
            x += value;
        }
        let middle = row as f64 + 0.5;
        let left = words(TEXT_SIZE).pos(Pos::new(HPos::Right, VPos::Center));
        let right = words(TEXT_SIZE).pos(Pos::new(HPos::Left, VPos::Center));
        let (x0, y0) = local(&area, chart.backend_coord(&(0.0, middle)), 0);
        let (x1, y1) = local(&area, chart.backend_coord(&(x, middle)), 0);
        area.draw(&Text::new(&stack.name[..], (x0 - 8, y0), left))?;
        area.draw(&Text::new(number(x), (x1 + 6, y1), right))?;
    }
    Ok(described(title, &series))
}

/// Draws title, explanation and legend. Returns the remaining area.
fn head<'a>(
    area: &Area<'a>,
    title: &str,
    explained: &str,
    names: &[(usize, &str)],
) -> Result<Area<'a>, Box<dyn std::error::Error>> {
    let right = words(TEXT_SIZE).pos(Pos::new(HPos::Right, VPos::Top));
    area.draw(&Text::new(title, (8, 6), words(TITLE_SIZE)))?;
    let mut x = 8;
    let mut y = TITLE;
    for (series, name) in names {
        let wide = 30 + (name.len() as f64 * CHARACTER) as i32;
        if x + wide > WIDTH as i32 {
            (x, y) = (8, y + LEGEND);
        }
        let corners = [(x, y + 3), (x + 12, y + 15)];
        area.draw(&Rectangle::new(corners, colour(*series).filled()))?;
        area.draw(&Text::new(*name, (x + 17, y + 2), words(TEXT_SIZE)))?;
        x += wide;
    }
    let explained_wide = (explained.len() as f64 * CHARACTER) as i32;
    if x + explained_wide > WIDTH as i32 {
        y += LEGEND;
    }
    area.draw(&Text::new(explained, (WIDTH as i32 - 12, y + 2), right))?;
    let (_, below) = area.split_vertically(y + LEGEND);
    Ok(below)
}

/// Converts a point of the whole picture to one of an area that begins lower by this many pixels.
fn local(area: &Area, (x, y): (i32, i32), down: i32) -> (i32, i32) {
    let (left, top) = area.get_base_pixel();
    (x - left, y - top + down)
}

fn colour(series: usize) -> RGBColor {
    COLOURS[series % COLOURS.len()]
}

fn words(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

fn centred(vertical: VPos) -> TextStyle<'static> {
    words(TEXT_SIZE).pos(Pos::new(HPos::Center, vertical))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(values: &[f64]) -> String {
        let all: Vec<Bar> = values
            .iter()
            .map(|value| Bar {
                group: String::new(),
                series: 0,
                name: "one".into(),
                value: *value,
                range: (*value, *value),
            })
            .collect();
        let points = values.iter().map(|value| (*value, *value)).collect();
        let line = Line {
            name: "one".into(),
            points,
            is_reference: false,
        };
        let axes = Axes {
            title: "title",
            x: "x",
            y: "y",
            log_x: false,
        };
        bars("title", "unit", &all) + &lines(axes, &[line])
    }

    #[test]
    fn a_distribution_rises_from_zero_in_steps() {
        let corners = steps(&[(1.0, 20.0), (3.0, 100.0)]);
        assert_eq!(
            corners,
            [(1.0, 0.0), (1.0, 20.0), (3.0, 20.0), (3.0, 100.0)]
        );
    }

    #[test]
    fn zeros_negatives_single_values_and_none_are_drawn() {
        for values in [&[0.0, 0.0][..], &[-3.0, -1.0], &[5.0], &[-1e-6, 1e12], &[]] {
            let svg = drawn(values);
            assert_eq!(svg.matches("<svg").count(), 2, "{values:?}");
            assert!(svg.contains("<title>title: "), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{values:?}");
        }
    }

    #[test]
    fn text_is_dark_on_white_and_can_be_read() {
        let svg = drawn(&[5.0]);
        let pictures: Vec<&str> = svg.split("</svg>").filter(|p| p.contains("<svg")).collect();
        assert_eq!(pictures.len(), 2);
        for picture in pictures {
            // A ground below everything.
            let first = picture.find("<rect").unwrap();
            let ground = picture[first..].lines().next().unwrap();
            assert!(ground.contains("width=\"800\" height=\"340\""), "{ground}");
            assert!(ground.contains("fill=\"#FFFFFF\""), "{ground}");
            assert!(!picture[..first].contains("<text"));
            for size in picture.split("font-size=\"").skip(1) {
                let pixels: f64 = size.split('"').next().unwrap().parse().unwrap();
                assert!(pixels >= 12.0, "{pixels}");
            }
        }
    }
}
