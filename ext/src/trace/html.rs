//! A trace as a self-contained HTML page, for a lecture.

use alloc::string::{String, ToString};
use alloc::{collections::BTreeMap, format, vec::Vec};
use core::fmt::{Display, Write};

use bofuss_datapath::DropReason;

use super::read::number;
use super::text::or_any;
use super::{FieldDifference, LostEntry, Stage, Trace, TraceEvent, TracedFrame};

/// The style of a page with a trace, light and dark.
pub const STYLE: &str = include_str!("page.css");
/// The most bits of a value that is drawn bit by bit; a wider one is drawn in hexadecimal digits.
const DRAWN_BITS: u32 = 16;
/// Bytes in a line of a frame.
const BYTES_PER_LINE: usize = 16;

/// The reason why no copy goes back to the port that the packet came from.
const SKIPPED: &str = DropReason::OutputIsIngress.name();

/// Text that is escaped for HTML, also within quotes.
pub struct Escaped<T>(pub T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let text = format!("{}", self.0);
        text.chars().try_for_each(|c| match c {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            c => f.write_char(c),
        })
    }
}

/// Appends formatted text to a page.
macro_rules! put {
    ($page:expr, $($arg:tt)*) => {
        writeln!($page, $($arg)*).expect("a string takes everything")
    };
}

impl Trace {
    /// The trace as an HTML page under this title, with a drawing for each table that has one.
    pub fn html(&self, title: &str, drawings: &BTreeMap<u8, String>) -> String {
        let mut page = String::new();
        let title = Escaped(title);
        put!(
            page,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">"
        );
        put!(
            page,
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
        );
        put!(
            page,
            "<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>"
        );
        put!(
            page,
            "<h1>{}</h1>",
            title.to_string().replace(',', ",<wbr>")
        );
        page += &self.story(drawings);
        put!(page, "</main>\n</body>\n</html>");
        page
    }

    /// The middle of that page: the packet, its path and its end.
    pub fn story(&self, drawings: &BTreeMap<u8, String>) -> String {
        let mut page = String::new();
        let bytes = self.packet.bytes;
        let port = Escaped(&self.packet.port);
        put!(
            page,
            "<p>A packet of {bytes} bytes is received on port <b>{port}</b>:</p>"
        );
        put_fields(&mut page, &self.fields, &self.fields);
        put_frame(&mut page, &self.packet, &self.packet);
        put!(
            page,
            "<h2 id=\"path\">Its path</h2>\n<ol class=\"path\" aria-labelledby=\"path\">"
        );
        let is_lost = !self.leaves();
        let mut before = self.fields.as_str();
        for stage in &self.stages {
            put!(page, "<li>\n<section class=\"stage\">");
            put_stage(&mut page, stage, before, is_lost);
            if let Some(drawing) = stage.table.and_then(|table| drawings.get(&table)) {
                put!(
                    page,
                    "<h3>States of this table</h3>\n<div class=\"drawing\">"
                );
                put!(page, "{drawing}</div>");
            }
            put!(page, "</section>\n</li>");
            if stage.table.is_some() {
                before = &stage.fields;
            }
        }
        put!(page, "<li>\n<section class=\"stage\">\n<h2>Result</h2>");
        for event in &self.result {
            put_event(&mut page, event, is_lost, "div");
            if let TraceEvent::Out(frame) = event {
                put_frame(&mut page, frame, &self.packet);
            }
        }
        if self.cut {
            put!(
                page,
                "<p>Cut here: the trace is longer than one message.</p>"
            );
        }
        if let Some(place) = &self.forwarded {
            let place = Escaped(place);
            put!(page, "<p>Frames of this flow are forwarded {place}.</p>");
        }
        put!(page, "</section>\n</li>\n</ol>");
        page
    }

    /// Returns true if the packet, or a copy of it, leaves the switch.
    fn leaves(&self) -> bool {
        let mut ends = self.result.iter();
        ends.any(|end| matches!(end, TraceEvent::Out(_) | TraceEvent::PacketIn { .. }))
    }
}

/// Writes the fields of a match, and highlights those that are not in `before`.
fn put_fields(page: &mut String, fields: &str, before: &str) {
    let before: Vec<&str> = before.split(',').collect();
    put!(page, "<ul class=\"fields\">");
    for field in fields.split(',').filter(|field| !field.is_empty()) {
        let class = if before.contains(&field) {
            "field"
        } else {
            "field new"
        };
        put!(page, "<li class=\"{class}\">{}</li>", Escaped(field));
    }
    put!(page, "</ul>");
}

fn put_stage(page: &mut String, stage: &Stage, before: &str, is_lost: bool) {
    let name = stage.name();
    let (head, tail) = name.split_at(1);
    put!(page, "<h2>{}{}</h2>", head.to_uppercase(), Escaped(tail));
    if stage.table.is_some() {
        if !stage.before.is_empty() {
            put!(page, "<ul class=\"events\">");
            let events = stage.before.iter();
            events.for_each(|event| put_event(page, event, is_lost, "li"));
            put!(page, "</ul>");
        }
        for one in &stage.extensions {
            let name = Escaped(&one.name);
            put!(
                page,
                "<p class=\"soft\">Extension {name} prepares the packet.</p>"
            );
        }
        let is_looked_up = !stage.fields.is_empty();
        if is_looked_up && before != stage.fields {
            put!(page, "<p>The packet is now</p>");
            put_fields(page, &stage.fields, before);
        }
        match &stage.won {
            Some(entry) => put!(
                page,
                "<p class=\"won\"><b>Won:</b> <code>{}</code></p>",
                Escaped(entry)
            ),
            None if !is_looked_up => {}
            None => put!(page, "<p class=\"lost\"><b>No entry matches.</b></p>"),
        }
    }
    if !stage.lost.is_empty() {
        put!(page, "<h3>The nearest that lost</h3>");
        stage.lost.iter().for_each(|lost| put_lost(page, lost));
    }
    if !stage.events.is_empty() {
        put!(page, "<h3>What is done</h3>\n<ul class=\"events\">");
        let events = stage.events.iter();
        events.for_each(|event| put_event(page, event, is_lost, "li"));
        put!(page, "</ul>");
    }
}

/// Writes an event. `is_lost` says that nothing of the packet leaves: otherwise it is no loss that
/// no copy goes back to where it came from.
fn put_event(page: &mut String, event: &TraceEvent, is_lost: bool, tag: &str) {
    let class = match event {
        TraceEvent::Instruction { .. } => "instruction",
        TraceEvent::Out(_) => "end out",
        TraceEvent::Drop { reason, .. } if !is_lost && *reason == SKIPPED => "end skip",
        TraceEvent::Drop { .. } => "end drop",
        TraceEvent::PacketIn { .. } => "end controllers",
        TraceEvent::Fragment => "end fragment",
        TraceEvent::Reported { .. } => "said",
        TraceEvent::In(_) | TraceEvent::Egress { .. } => "action",
        TraceEvent::Action { .. }
        | TraceEvent::Bucket { .. }
        | TraceEvent::Meter { .. }
        | TraceEvent::Normal { .. }
        | TraceEvent::Queue { .. } => "action",
    };
    let line = format!("{event}");
    let text = Escaped(line.trim_start_matches("=> "));
    put!(page, "<{tag} class=\"{class}\"><code>{text}</code></{tag}>");
}

fn put_lost(page: &mut String, lost: &LostEntry) {
    let priority = lost.priority;
    let fields = Escaped(or_any(&lost.fields));
    put!(
        page,
        "<div class=\"lost\">\n<p><b>Lost:</b> <code>priority {priority}, {fields}</code></p>"
    );
    if lost.differs.is_empty() {
        put!(page, "<p>It matches, too, but comes behind.</p>");
    }
    for one in &lost.differs {
        put!(page, "<p>{}</p>", Escaped(one));
        put_bits(page, one);
    }
    put!(page, "</div>");
}

/// Writes the wanted value above the packet's. Digits that differ are marked, and digits outside
/// the mask are pale.
fn put_bits(page: &mut String, one: &FieldDifference) {
    let wanted = number(&one.value).unwrap_or(0);
    let mask = number(&one.mask).unwrap_or(0);
    let is = number(&one.packet).unwrap_or(0);
    let differs = (wanted ^ is) & mask;
    let bits = 128 - (wanted | mask | is).leading_zeros();
    if one.is.is_none() || bits == 0 {
        return;
    }
    // A digit is a bit, or four.
    let (bits_per_digit, letter) = if bits <= DRAWN_BITS {
        (1, "0b")
    } else {
        (4, "0x")
    };
    put!(page, "<table>");
    for (name, value) in [("wanted", wanted), ("packet", is)] {
        let mut row = String::from(letter);
        for place in (0..bits.div_ceil(bits_per_digit)).rev() {
            let shift = place * bits_per_digit;
            let ones = (1 << bits_per_digit) - 1;
            let digit = value >> shift & ones;
            let _ = match (mask >> shift & ones, differs >> shift & ones) {
                (0, _) => write!(row, "<span class=\"any\">{digit:x}</span>"),
                (_, 0) => write!(row, "{digit:x}"),
                _ => write!(row, "<mark>{digit:x}</mark>"),
            };
        }
        put!(
            page,
            "<tr><th scope=\"row\">{name}</th><td><code>{row}</code></td></tr>"
        );
    }
    put!(page, "</table>");
}

/// A frame's bytes, each as two digits.
fn pairs_of_digits(frame: &TracedFrame) -> Vec<String> {
    let digits: Vec<char> = frame.hex.chars().collect();
    digits.chunks(2).map(|pair| pair.iter().collect()).collect()
}

/// Writes a frame's bytes. If it is as long as the frame `before`, bytes that differ are marked.
fn put_frame(page: &mut String, frame: &TracedFrame, before: &TracedFrame) {
    let bytes = pairs_of_digits(frame);
    let old = pairs_of_digits(before);
    let same_length = frame.bytes == before.bytes;
    put!(
        page,
        "<details>\n<summary>Its first {} bytes</summary>\n<pre>",
        bytes.len()
    );
    for (line, chunk) in bytes.chunks(BYTES_PER_LINE).enumerate() {
        let _ = write!(page, "{:04x} ", line * BYTES_PER_LINE);
        for (i, byte) in chunk.iter().enumerate() {
            let is_old = !same_length || old.get(line * BYTES_PER_LINE + i) == Some(byte);
            let byte = Escaped(byte);
            let _ = if is_old {
                write!(page, " {byte}")
            } else {
                write!(page, " <mark>{byte}</mark>")
            };
        }
        put!(page, "");
    }
    put!(page, "</pre>\n</details>");
}
