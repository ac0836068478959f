//! Pictures in SVG: a packet's trace as one card for each stage.

use alloc::borrow::ToOwned;
use alloc::{format, string::String, vec::Vec};
use core::fmt::Write;

use super::Trace;

/// Pixels from one line of text to the next.
const LINE_PIXELS: usize = 18;
/// Characters of a line of text; a longer one is broken.
const LINE_CHARS: usize = 104;
/// Pixels between two cards.
const CARD_GAP: usize = 22;

const STYLE: &str = "\
text { font: 14px system-ui, sans-serif; fill: #1d2328; }
.head { font-weight: 700; }
.plain, .good, .bad { font: 13px ui-monospace, 'DejaVu Sans Mono', monospace; }
.good { fill: #156a3b; } .bad { fill: #a3261b; }
.room, .legend { text-anchor: middle; } .legend { fill: #5a646d; font-size: 13px; }
rect { stroke: #9aa3aa; } .paper { fill: #fbfaf7; stroke: none; } .card { fill: #ffffff; }
.pure { fill: #e4f3ea; } .door { fill: #e4eef8; } .face { fill: #eceef0; }
.arrow { fill: none; stroke: #7a848c; }
";

/// A picture of boxes, texts and arrows. Places are pixels from the left and from above; classes
/// are those of its style.
#[derive(Default)]
pub struct Picture(String);

impl Picture {
    /// Its width in pixels.
    pub const WIDTH: usize = 920;
    /// Its margin in pixels.
    pub const MARGIN: usize = 16;

    /// Draws a box with its upper left corner at a place.
    pub fn put_box(
        &mut self,
        class: &str,
        (x, y): (usize, usize),
        (width, height): (usize, usize),
    ) {
        self.put(&format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
             rx=\"7\"/>"
        ));
    }

    /// Writes a line of text.
    pub fn put_text(&mut self, class: &str, (x, y): (usize, usize), text: &str) {
        let text = escaped(text);
        self.put(&format!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" xml:space=\"preserve\">{text}</text>"
        ));
    }

    /// Draws an arrow along some places, each below the one before.
    pub fn put_arrow(&mut self, places: &[(usize, usize)]) {
        let Some((first, rest)) = places.split_first() else {
            return;
        };
        let mut path = format!("M{},{}", first.0, first.1);
        let (mut x, mut y) = *first;
        for (number, (to_x, to_y)) in rest.iter().enumerate() {
            // The last piece ends where the head begins.
            let head = if number + 1 == rest.len() { 6 } else { 0 };
            let middle = usize::midpoint(y, *to_y);
            let end = to_y - head;
            path += &format!(" C{x},{middle} {to_x},{middle} {to_x},{end}");
            (x, y) = (*to_x, *to_y);
        }
        self.put(&format!(
            "<path class=\"arrow\" d=\"{path}\" marker-end=\"url(#head)\"/>"
        ));
    }

    fn put(&mut self, line: &str) {
        writeln!(self.0, "{line}").expect("a string takes everything");
    }

    /// The whole picture, with a background so that it can be read on a dark page.
    pub fn svg(&self, title: &str, height: usize) -> String {
        let width = Self::WIDTH;
        let drawn = &self.0;
        let title = escaped(title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\">\n<title>{title}</title>\n<style>\n{STYLE}\
             </style>\n<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"2\" refY=\"4\" \
             markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" \
             fill=\"#7a848c\"/></marker></defs>\n\
             <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n{drawn}</svg>\n"
        )
    }
}

impl Trace {
    /// The trace as a picture: a card for each stage, with the text of the trace.
    pub fn svg(&self) -> String {
        let text = format!("{self}");
        let mut picture = Picture::default();
        let margin = Picture::MARGIN;
        let middle = Picture::WIDTH / 2;
        let mut y = margin;
        let mut lines = text.lines().peekable();
        while let Some(heading) = lines.next() {
            // The lines below a heading are indented.
            let mut rows = Vec::new();
            while let Some(line) = lines.next_if(|line| line.starts_with(' ')) {
                rows.extend(broken(line.strip_prefix("  ").unwrap_or(line)));
            }
            let height = (rows.len() + 1) * LINE_PIXELS + 20;
            if y > margin {
                picture.put_arrow(&[(middle, y - CARD_GAP), (middle, y)]);
            }
            let width = Picture::WIDTH - 2 * margin;
            picture.put_box("card", (margin, y), (width, height));
            let mut line_y = y + 22;
            picture.put_text("head", (margin + 14, line_y), heading);
            for (class, row) in &rows {
                line_y += LINE_PIXELS;
                picture.put_text(class, (margin + 14, line_y), row);
            }
            y += height + CARD_GAP;
        }
        let end = text.lines().next_back().unwrap_or_default();
        let end = end.trim_start_matches([' ', '=', '>']);
        let title = format!("The trace of a packet: {end}");
        picture.svg(&title, y - CARD_GAP + margin)
    }
}

/// Text in XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A line of a trace in pieces of at most [`LINE_CHARS`], each with its class of the style.
fn broken(line: &str) -> Vec<(&'static str, String)> {
    let class = match line.trim_start() {
        text if text.starts_with("won:") => "good",
        text if text.starts_with("lost:") || text.starts_with("=> dropped") => "bad",
        text if text.starts_with("=>") => "good",
        _ => "plain",
    };
    let mut pieces = Vec::new();
    let mut rest = line.to_owned();
    while rest.chars().count() > LINE_CHARS {
        let limit = rest
            .char_indices()
            .nth(LINE_CHARS)
            .map_or(rest.len(), |c| c.0);
        // A word longer than a line is cut: behind the indent alone, nothing would be gained.
        let indent = rest.len() - rest.trim_start().len();
        let place = rest[..limit].rfind([' ', ',']).filter(|at| *at >= indent);
        let end = place.map_or(limit, |at| at + 1);
        let next = format!("    {}", rest[end..].trim_start());
        rest.truncate(end);
        pieces.push((class, rest));
        rest = next;
    }
    pieces.push((class, rest));
    pieces
}
