//! A state machine as an SVG drawing, like a sequence diagram: a vertical line for each state, and
//! a row with an arrow for each transition, so that labels never overlap.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use core::fmt::Write;

use super::AskedStates;
use super::graph::{StateEdge, StateGraph, StateNode};
use crate::trace::{Trace, TraceEvent};

/// Pixels from one state to the next.
const COLUMN: usize = 96;
/// Pixels from the left edge to the first state.
const LEFT: usize = 60;
/// Height of a row in pixels.
const ROW: usize = 36;
/// Pixels above the first row, where the states are drawn.
const HEAD: usize = 108;
/// Radius of a state in pixels.
const RADIUS: usize = 27;
/// The largest width of a character of a label, in pixels.
const CHARACTER: usize = 8;
/// With more rows than this, the states are drawn below the rows, too.
const ROWS_WITHOUT_FOOT: usize = 12;
/// The most characters of a label.
const MAX_LABEL: usize = 80;

/// Appends formatted text to a drawing.
macro_rules! put {
    ($svg:expr, $($arg:tt)*) => {
        writeln!($svg, $($arg)*).expect("a string takes everything")
    };
}

impl StateGraph {
    /// The drawing. In a page, `namespace` is empty; in a file of its own, it is
    /// `xmlns="http://www.w3.org/2000/svg"`. The `marked` states are highlighted.
    pub fn svg(&self, namespace: &str, marked: &[u32]) -> String {
        let mut places = BTreeMap::new();
        for (at, node) in self.nodes.keys().enumerate() {
            places.insert(*node, LEFT + at * COLUMN);
        }
        let foot = HEAD + self.edges.len() * ROW;
        let has_foot = self.edges.len() > ROWS_WITHOUT_FOOT;
        let ends = self.edges.iter().map(|edge| {
            let from = places[&edge.from].min(places[&edge.to]);
            from + 40 + CHARACTER * edge.label.chars().count().min(MAX_LABEL)
        });
        let width = ends
            .max()
            .unwrap_or(0)
            .max(places.len() * COLUMN + LEFT)
            .max(320);
        let height = foot + if has_foot { HEAD } else { 28 };
        let mut svg = String::new();
        put!(
            svg,
            "<svg {namespace} viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-label=\"states and transitions\" \
             font-family=\"DejaVu Sans, sans-serif\" font-size=\"13\">"
        );
        put!(
            svg,
            "<rect width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"#ffffff\"></rect>"
        );
        for (node, x) in &places {
            let flows = self.nodes[node];
            let is_marked = matches!(node, StateNode::Exact(state) if marked.contains(state));
            let colour = if is_marked { "#156a3b" } else { "#b9c0c6" };
            put!(
                svg,
                "<path d=\"M{x} {} V{foot}\" stroke=\"{colour}\" fill=\"none\"></path>",
                HEAD - 26
            );
            put_state(&mut svg, *node, flows, *x, 44, is_marked);
            if has_foot {
                put_state(&mut svg, *node, flows, *x, foot + 44, is_marked);
            }
        }
        for (row, edge) in self.edges.iter().enumerate() {
            put_edge(
                &mut svg,
                edge,
                places[&edge.from],
                places[&edge.to],
                HEAD + row * ROW + 18,
            );
        }
        self.put_rest(&mut svg, height - 8);
        put!(svg, "</svg>");
        svg
    }

    /// Writes how much was left out.
    fn put_rest(&self, svg: &mut String, y: usize) {
        let mut text = String::new();
        if self.edges_left_out > 0 {
            text += &format!("{} more transitions. ", self.edges_left_out);
        }
        if self.flows_left_out > 0 {
            text += &format!("{} flows in further states.", self.flows_left_out);
        }
        if !text.is_empty() {
            put!(
                svg,
                "<text x=\"8\" y=\"{y}\" fill=\"#5a646d\">{text}</text>"
            );
        }
    }
}

/// The drawings of the tables whose states a trace mentions, by table number. The states that the
/// packet read and set are marked.
pub fn of_trace(trace: &Trace, asked: &AskedStates) -> BTreeMap<u8, String> {
    let mut drawings = BTreeMap::new();
    for (table, marked) in marked_states(trace) {
        drawings.insert(table, asked.graph(table).svg("", &marked));
    }
    drawings
}

/// The states that a trace mentions, by table number.
pub fn marked_states(trace: &Trace) -> BTreeMap<u8, Vec<u32>> {
    let mut marked: BTreeMap<u8, Vec<u32>> = BTreeMap::new();
    let events = trace
        .stages
        .iter()
        .flat_map(|stage| stage.before.iter().chain(&stage.events));
    for event in events {
        let TraceEvent::Reported {
            extension, facts, ..
        } = event
        else {
            continue;
        };
        let table = facts.get("table").and_then(|table| table.parse().ok());
        if let Some(table) = table.filter(|_| extension == "openstate") {
            let states = ["state", "new"]
                .into_iter()
                .filter_map(|name| facts.get(name))
                .filter_map(|state| state.parse::<u32>().ok());
            marked.entry(table).or_default().extend(states);
        }
    }
    marked
}

fn put_state(svg: &mut String, node: StateNode, flows: u64, x: usize, y: usize, is_marked: bool) {
    let fill = if is_marked { "#e4f3ea" } else { "#e4eef8" };
    let below = y + RADIUS + 15;
    let stroke = match node {
        StateNode::Any => "#5a646d\" stroke-dasharray=\"4 3",
        StateNode::Exact(_) | StateNode::Masked(..) => "#1b5490",
    };
    put!(
        svg,
        "<ellipse cx=\"{x}\" cy=\"{y}\" rx=\"{}\" ry=\"{RADIUS}\" fill=\"{fill}\" \
         stroke=\"{stroke}\" stroke-width=\"1.5\"></ellipse>",
        RADIUS + 12
    );
    put!(
        svg,
        "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" font-weight=\"bold\" \
         fill=\"#1d2328\">{node}</text>",
        y + 5
    );
    let population = match (node, flows) {
        (StateNode::Any | StateNode::Masked(..), _) => return,
        (StateNode::Exact(0), _) => "all others".into(),
        (StateNode::Exact(_), 1) => "1 flow".into(),
        (StateNode::Exact(_), flows) => format!("{flows} flows"),
    };
    put!(
        svg,
        "<text x=\"{x}\" y=\"{below}\" text-anchor=\"middle\" font-size=\"11\" \
         fill=\"#5a646d\">{population}</text>"
    );
}

/// Draws a transition in the row at `y`, between the states at `from` and `to`.
fn put_edge(svg: &mut String, edge: &StateEdge, from: usize, to: usize, y: usize) {
    let (colour, dashes) = if edge.is_timer {
        ("#8a4b00", " stroke-dasharray=\"6 4\"")
    } else {
        ("#1b5490", "")
    };
    let (line, label_x, label_y) = if from == to {
        let loops = format!("M{from} {} h22 v10 h-16", y - 5);
        (loops, from + 30, y + 4)
    } else if from < to {
        (format!("M{from} {y} H{}", to - 8), from + 10, y - 6)
    } else {
        (format!("M{from} {y} H{}", to + 8), to + 14, y - 6)
    };
    let head = if from < to {
        format!("M{to} {y} l-10 -5 v10 z")
    } else if from == to {
        format!("M{from} {} l10 -5 v10 z", y + 5)
    } else {
        format!("M{to} {y} l10 -5 v10 z")
    };
    put!(
        svg,
        "<path d=\"{line}\" stroke=\"{colour}\" stroke-width=\"1.5\" fill=\"none\"{dashes}></path>"
    );
    put!(svg, "<path d=\"{head}\" fill=\"{colour}\"></path>");
    put!(
        svg,
        "<circle cx=\"{from}\" cy=\"{}\" r=\"3\" fill=\"{colour}\"></circle>",
        if from == to { y - 5 } else { y }
    );
    let label = label_text(&edge.label);
    put!(
        svg,
        "<text x=\"{label_x}\" y=\"{label_y}\" fill=\"#1d2328\" stroke=\"#ffffff\" \
         stroke-width=\"4\" paint-order=\"stroke\">{label}</text>"
    );
}

/// A label as text of an SVG file, cut if it is too long.
fn label_text(label: &str) -> String {
    let mut text = String::new();
    for c in label.chars().take(MAX_LABEL) {
        match c {
            '&' => text += "&amp;",
            '<' => text += "&lt;",
            '>' => text += "&gt;",
            c => text.push(c),
        }
    }
    if label.chars().count() > MAX_LABEL {
        text += "...";
    }
    text
}
