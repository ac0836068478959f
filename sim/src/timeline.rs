//! The time line: a picture of what links carried, and when.

use std::fmt::Write;

use bofuss_datapath::Time;

use crate::link::LinkState;
use crate::observer::{EventKind, LinkId, LogEvent};
use crate::statistics::NetworkNames;

/// The number of bins that the time is divided into.
const BINS: usize = 240;
/// The most links that are drawn: those that carried most.
const MAX_ROWS: usize = 80;
/// The width of a bin, the height of a row, the width of the names on the left, and the margin.
const BIN_PIXELS: usize = 3;
const ROW_PIXELS: usize = 16;
const NAME_PIXELS: usize = 170;
const MARGIN_PIXELS: usize = 24;
/// Marks on the axis, without the first.
const MARKS: usize = 5;
/// The colours, and what they mean.
const MESSAGES: (&str, &str) = ("#1f5fa8", "messages of a controller");
const BYTES: (&str, &str) = ("#1b7f4d", "bytes of a link; dark is the most of all");
const DROPS: (&str, &str) = ("#c0392b", "frames dropped");
const NOT_UP: (&str, &str) = ("#bbb", "not up");

/// One row of the picture: a link or a controller.
struct TimelineRow {
    name: String,
    /// Bytes of a link, or messages of a controller, in each bin.
    amounts: Vec<u64>,
    /// Frames dropped in each bin.
    drops: Vec<u64>,
    /// For each bin, whether the link was not up during a part of it.
    down: Vec<bool>,
    /// The bin since which the link is not up; `None` if it is.
    down_since: Option<usize>,
}

fn rows_of(names: &[String]) -> Vec<TimelineRow> {
    let mut rows = Vec::new();
    for name in names {
        rows.push(TimelineRow::new(name.clone()));
    }
    rows
}

impl TimelineRow {
    fn new(name: String) -> Self {
        Self {
            name,
            amounts: vec![0; BINS],
            drops: vec![0; BINS],
            down: vec![false; BINS],
            down_since: None,
        }
    }
}

/// Collects what a time line shows.
pub struct Timeline {
    end: Time,
    links: Vec<TimelineRow>,
    controllers: Vec<TimelineRow>,
}

impl Timeline {
    /// Makes a time line from time 0 to `end`.
    pub fn new(end: Time, names: &NetworkNames) -> Self {
        let mut links = rows_of(&names.links);
        for LinkId(link) in &names.spare {
            links[*link as usize].down_since = Some(0);
        }
        Self {
            end,
            links,
            controllers: rows_of(&names.controllers),
        }
    }

    /// Adds an event.
    pub fn add(&mut self, event: &LogEvent<'_>) {
        let bin = self.bin(event.at);
        match event.kind {
            EventKind::Arrived(direction, frame) => {
                self.links[direction.link.0 as usize].amounts[bin] += frame.len() as u64;
            }
            EventKind::Dropped(direction, ..) => {
                self.links[direction.link.0 as usize].drops[bin] += 1;
            }
            EventKind::Link(LinkId(link), state) => {
                let row = &mut self.links[link as usize];
                if let Some(since) = row.down_since.take() {
                    row.down[since..=bin].fill(true);
                }
                row.down_since = (state != LinkState::Up).then_some(bin);
            }
            EventKind::ToController(_, controller, _) | EventKind::ToSwitch(_, controller, _) => {
                self.controllers[controller.0 as usize].amounts[bin] += 1;
            }
            EventKind::Sent(..)
            | EventKind::Connected(..)
            | EventKind::Disconnected(..)
            | EventKind::Host(..)
            | EventKind::Controller(..) => {}
        }
    }

    fn bin(&self, at: Time) -> usize {
        let place = u128::from(at.0) * BINS as u128 / u128::from(self.end.0.max(1));
        (place as usize).min(BINS - 1)
    }

    /// Draws the picture, as SVG: a row for each controller, with its messages in blue, and for
    /// each link, with its bytes in green, drops in red, and grey while it is not up. The shade is
    /// relative to the busiest bin of all controllers, or of all links.
    pub fn svg(&mut self) -> String {
        for row in &mut self.links {
            if let Some(since) = row.down_since.take() {
                row.down[since..].fill(true);
            }
        }
        let most_bytes = most(&self.links);
        let most_messages = most(&self.controllers);
        let mut links: Vec<&TimelineRow> = self.links.iter().collect();
        // The sort is stable: links that carried the same stay in their order.
        links.sort_by_key(|row| std::cmp::Reverse(row.amounts.iter().sum::<u64>()));
        let left_out = links.len().saturating_sub(MAX_ROWS);
        links.truncate(MAX_ROWS);
        let rows = self.controllers.len() + links.len();
        let width = NAME_PIXELS + BINS * BIN_PIXELS + 2 * MARGIN_PIXELS;
        let height = (rows + 3) * ROW_PIXELS + 2 * MARGIN_PIXELS;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
        );
        self.axis(&mut svg, rows);
        let controllers = self
            .controllers
            .iter()
            .map(|row| (row, MESSAGES.0, most_messages));
        let links = links.into_iter().map(|row| (row, BYTES.0, most_bytes));
        for ((row, colour, most), place) in controllers.chain(links).zip(1..) {
            draw(
                &mut svg,
                row,
                colour,
                most,
                MARGIN_PIXELS + place * ROW_PIXELS,
            );
        }
        legend(&mut svg, MARGIN_PIXELS + (rows + 2) * ROW_PIXELS, left_out);
        svg.push_str("</svg>\n");
        svg
    }

    fn axis(&self, svg: &mut String, rows: usize) {
        let bottom = MARGIN_PIXELS + (rows + 1) * ROW_PIXELS;
        for mark in 0..=MARKS {
            let x = MARGIN_PIXELS + NAME_PIXELS + mark * BINS * BIN_PIXELS / MARKS;
            let seconds = self.end.0 as f64 / 1e9 * mark as f64 / MARKS as f64;
            let digits = format!("{seconds:.3}");
            let label = digits.trim_end_matches('0').trim_end_matches('.');
            writeln!(
                svg,
                "<line x1=\"{x}\" y1=\"{MARGIN_PIXELS}\" x2=\"{x}\" y2=\"{bottom}\" \
                 stroke=\"#ddd\"/><text x=\"{x}\" y=\"{MARGIN_PIXELS}\" \
                 text-anchor=\"middle\">{label} s</text>"
            )
            .expect("a string takes everything");
        }
    }
}

/// Draws what the colours mean, and how many links have no row.
fn legend(svg: &mut String, y: usize, left_out: usize) {
    let mut x = MARGIN_PIXELS;
    for (colour, meaning) in [MESSAGES, BYTES, DROPS, NOT_UP] {
        let text_x = x + ROW_PIXELS;
        writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\
             <text x=\"{text_x}\" y=\"{y}\">{meaning}</text>",
            y - 9
        )
        .expect("a string takes everything");
        x = text_x + meaning.len() * 6 + ROW_PIXELS;
    }
    if left_out > 0 {
        writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\">{left_out} further links carried less</text>"
        )
        .expect("a string takes everything");
    }
}

fn most(rows: &[TimelineRow]) -> u64 {
    let amounts = rows.iter().flat_map(|row| &row.amounts);
    amounts.copied().max().unwrap_or(0).max(1)
}

/// Draws a row whose top is at `y`.
fn draw(svg: &mut String, row: &TimelineRow, colour: &str, most: u64, y: usize) {
    let height = ROW_PIXELS - 4;
    let base = y + height;
    let name = &row.name;
    let mut body = format!(
        "<text x=\"{MARGIN_PIXELS}\" y=\"{}\">{name}</text>\n",
        base - 1
    );
    for bin in 0..BINS {
        let x = MARGIN_PIXELS + NAME_PIXELS + bin * BIN_PIXELS;
        let mut bars = Vec::new();
        if row.down[bin] {
            bars.push((NOT_UP.0, 1.0));
        }
        if row.amounts[bin] > 0 {
            // At least 15 %, so that even a single frame is visible.
            bars.push((colour, 0.15 + 0.85 * row.amounts[bin] as f64 / most as f64));
        }
        for (fill, opacity) in bars {
            writeln!(
                body,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{BIN_PIXELS}\" height=\"{height}\" \
                 fill=\"{fill}\" fill-opacity=\"{opacity:.2}\"/>"
            )
            .expect("a string takes everything");
        }
        if row.drops[bin] > 0 {
            writeln!(
                body,
                "<rect x=\"{x}\" y=\"{}\" width=\"{BIN_PIXELS}\" height=\"4\" fill=\"{}\"/>",
                base - 4,
                DROPS.0
            )
            .expect("a string takes everything");
        }
    }
    svg.push_str(&body);
}
