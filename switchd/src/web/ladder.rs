//! The last OpenFlow messages as a ladder: a line for each end, an arrow for each message.

use std::fmt::Write;

use bofuss_ext::trace::Escaped;
use serde_json::Value;

use super::asked::AskedSwitch;
use super::form::Form;
use super::html::{live, rows};
use crate::error::Result;

/// Pixels of a row, above the first one, and from a line to the next.
const ROW: usize = 24;
const HEAD: usize = 56;
const COLUMN: usize = 200;
/// Pixels to the left of the first line, which is the switch's: the time.
const LEFT: usize = 110;
/// Most peers that have a line of their own; messages of others are at the last.
const MAX_PEERS: usize = 6;
/// Most characters of a message, and of a peer's name.
const MAX_LABEL: usize = 110;
const MAX_NAME: usize = 26;

/// The page.
pub fn body(switch: &AskedSwitch, _: &Form) -> Result<String> {
    let list = switch.list(&["messages", "--json"])?;
    let messages = rows(&list["messages"]);
    let content = if messages.is_empty() {
        "<p>Messages are kept while this page is open; none has come yet.</p>\n".into()
    } else {
        drawn(&switch.name(), messages)
    };
    Ok(live(&content))
}

/// The drawing.
fn drawn(switch: &str, messages: &[Value]) -> String {
    let mut peers: Vec<&str> = Vec::new();
    for message in messages {
        let peer = message["peer"].as_str().unwrap_or_default();
        if !peers.contains(&peer) && peers.len() < MAX_PEERS {
            peers.push(peer);
        }
    }
    let x_of = |line: usize| LEFT + line * COLUMN;
    let labels = x_of(peers.len()) + 16;
    let width = labels + 7 * MAX_LABEL;
    let height = HEAD + messages.len() * ROW;
    let mut svg = format!(
        "<div class=\"drawing\"><svg class=\"ladder\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"OpenFlow messages\">\n"
    );
    for (line, name) in [switch].iter().chain(&peers).enumerate() {
        let x = x_of(line);
        let name: String = name.chars().take(MAX_NAME).collect();
        let _ = writeln!(
            svg,
            "<text class=\"end\" x=\"{x}\" y=\"20\" text-anchor=\"middle\">{}</text>\
             <path class=\"line\" d=\"M{x} 30 V{height}\"></path>",
            Escaped(name)
        );
    }
    let first = messages[0]["seconds"].as_f64().unwrap_or(0.0);
    for (row, message) in messages.iter().enumerate() {
        let y = HEAD + row * ROW;
        let peer = message["peer"].as_str().unwrap_or_default();
        let line = peers
            .iter()
            .position(|name| *name == peer)
            .unwrap_or(peers.len() - 1);
        let x = x_of(line + 1);
        // The head of the arrow is at the end that has received the message.
        let (head, class) = if message["received"] == true {
            (format!("M{} {y} l9 -4 v8 z", x_of(0)), "received")
        } else {
            (format!("M{x} {y} l-9 -4 v8 z"), "sent")
        };
        let whole = message["text"].as_str().unwrap_or_default();
        let label: String = whole.chars().take(MAX_LABEL).collect();
        let since = message["seconds"].as_f64().unwrap_or(first) - first;
        let _ = writeln!(
            svg,
            "<g class=\"{class}\"><title>{}</title>\
             <text class=\"time\" x=\"8\" y=\"{}\">+{since:.3} s</text>\
             <path class=\"arrow\" d=\"M{} {y} H{x}\"></path>\
             <path class=\"head\" d=\"{head}\"></path>\
             <text x=\"{labels}\" y=\"{}\">{}</text></g>",
            Escaped(whole),
            y + 4,
            x_of(0),
            y + 4,
            Escaped(label),
        );
    }
    svg + "</svg></div>\n"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_message_has_an_arrow_and_its_text_is_escaped() {
        let mut messages = Vec::new();
        for n in 0..20 {
            messages.push(json!({
                "number": n, "seconds": 1000.0 + f64::from(n), "peer": format!("tcp:<{n}>"),
                "received": n % 2 == 0, "type": "HELLO", "text": "<script>\"'",
            }));
        }
        let svg = drawn("s1", &messages);
        assert_eq!(svg.matches("class=\"head\"").count(), 20);
        assert_eq!(svg.matches("class=\"line\"").count(), MAX_PEERS + 1);
        assert!(!svg.contains("<script") && !svg.contains("tcp:<"), "{svg}");
    }
}
