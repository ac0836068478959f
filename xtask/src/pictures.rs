//! The pictures of the documents, as SVG: a packet's trace, and the rooms with their arrows.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use bofuss_agent::{FailMode, Identity, Switch};
use bofuss_datapath::{Config, Datapath, PacketInEvent, Sink, Time};
use bofuss_ext::trace::{Trace, parse_packet, request};
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::PortNo;
use bofuss_oflib::message::{FlowModCommand, FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use toml::{Table, Value};

use crate::rooms;

/// The entries of the trace's switch: those of `bofuss demo`, with the wrong digit of port 3.
const ENTRIES: [&str; 5] = [
    "table=0,priority=10,arp,actions=goto_table:1",
    "table=0,priority=10,ip,nw_src=10.0.0.0/24,actions=goto_table:1",
    "table=1,priority=10,dl_dst=02:00:00:00:00:11,actions=output:1",
    "table=1,priority=10,dl_dst=02:00:00:00:00:22,actions=output:2",
    "table=1,priority=10,dl_dst=02:00:00:00:00:37,actions=output:3",
];
/// What is traced: an ICMP echo request from host 1 to host 3.
const PACKET: &str = "in_port=1,icmp,dl_src=02:00:00:00:00:11,dl_dst=02:00:00:00:00:33,\
    nw_src=10.0.0.1,nw_dst=10.0.0.3,icmp_type=8";
/// Bytes of the frame pool of the trace's switch.
const POOL_BYTES: usize = 1 << 20;

/// Pixels from one line of text to the next.
const LINE: usize = 18;
/// Characters of a line of text; a longer one is broken.
const LINE_CHARS: usize = 104;
/// Pixels of a picture's width, and of its margin.
const WIDTH: usize = 920;
const MARGIN: usize = 16;
/// Pixels between two cards of a trace.
const CARD_GAP: usize = 22;
/// Pixels of a room's box, and from one row of rooms to the next.
const ROOM: (usize, usize) = (120, 38);
const ROW: usize = 84;

/// Discards the outputs of building the trace's switch.
struct Ignored;

impl Sink for Ignored {
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// Draws the trace of [`PACKET`]: each stage is a card.
///
/// Errors: an entry or the packet that cannot be read.
pub(crate) fn trace() -> Result<String, String> {
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let pool = Pool::new(POOL_BYTES);
    let mut datapath = Datapath::new(Config::default(), catalogue.clone(), pool);
    for port_no in (1..=3).map(PortNo) {
        let desc = PortDesc {
            port_no,
            ..PortDesc::default()
        };
        datapath.port_changed(Time(0), desc, OffloadCapabilities::default(), &mut Ignored);
    }
    for entry in ENTRIES {
        let flow = parse_flow(entry, FlowModCommand::ADD, &catalogue)
            .map_err(|error| format!("{entry}: {error}"))?;
        let added = datapath.flow_mod(Time(0), &flow, &mut Ignored);
        added.map_err(|error| format!("{entry}: {error}"))?;
    }
    let mut switch = Switch::new(Time(0), datapath, Identity::default(), FailMode::Secure);
    let (in_port, frame) = parse_packet(PACKET, &catalogue)?;
    let reply = switch
        .trace(Time(0), &request(in_port, &frame))
        .map_err(|error| format!("{PACKET}: {error}"))?;
    let trace = Trace::read(&String::from_utf8_lossy(&reply.data.0))?;
    Ok(cards(&trace.to_string()))
}

/// Draws a text whose lines are headings, or belong to the heading above if they are indented.
fn cards(text: &str) -> String {
    let mut drawn = String::new();
    let mut y = MARGIN;
    let mut lines = text.lines().peekable();
    while let Some(heading) = lines.next() {
        let mut rows = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with(' ')) {
            rows.extend(broken(line.strip_prefix("  ").unwrap_or(line)));
        }
        let height = (rows.len() + 1) * LINE + 20;
        let width = WIDTH - 2 * MARGIN;
        if y > MARGIN {
            put_arrow(&mut drawn, (WIDTH / 2, y - CARD_GAP), (WIDTH / 2, y));
        }
        put(
            &mut drawn,
            &format!(
                "<rect class=\"card\" x=\"{MARGIN}\" y=\"{y}\" width=\"{width}\" \
                 height=\"{height}\" rx=\"7\"/>"
            ),
        );
        put_text(&mut drawn, "head", (MARGIN + 14, y + 22), heading);
        for (i, (class, row)) in rows.iter().enumerate() {
            put_text(
                &mut drawn,
                class,
                (MARGIN + 14, y + 22 + (i + 1) * LINE),
                row,
            );
        }
        y += height + CARD_GAP;
    }
    picture("The trace of a packet", y - CARD_GAP + MARGIN, &drawn)
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
        let end = rest[..limit].rfind([' ', ',']).map_or(limit, |at| at + 1);
        let next = format!("    {}", rest[end..].trim_start());
        rest.truncate(end);
        pieces.push((class, rest));
        rest = next;
    }
    pieces.push((class, rest));
    pieces
}

/// Draws `xtask/arrows.toml`: who uses others is above them.
///
/// Errors: a room that nothing lists.
pub(crate) fn rooms(list: &Table) -> Result<String, String> {
    let arrows: BTreeMap<&str, Vec<&str>> = list
        .get("arrows")
        .and_then(Value::as_table)
        .into_iter()
        .flatten()
        .map(|(room, uses)| (room.as_str(), rooms::names(Some(uses))))
        .collect();
    let mut levels: Vec<Vec<&str>> = Vec::new();
    for room in arrows.keys() {
        let level = level(room, &arrows, arrows.len())?;
        levels.resize_with(levels.len().max(level + 1), Vec::new);
        levels[level].push(room);
    }
    levels.reverse();
    let places = placed(&levels, &arrows);
    let mut drawn = String::new();
    for (room, uses) in &arrows {
        let (x, y) = places[room];
        for used in uses {
            let (to_x, to_y) = places[used];
            put_arrow(&mut drawn, (x, y + ROOM.1), (to_x, to_y));
        }
    }
    let pure = rooms::names(list.get("pure"));
    for (room, (x, y)) in &places {
        let is_face = levels[0].contains(room);
        let class = match (pure.contains(room) || *room == "intrinsics", is_face) {
            (true, _) => "pure",
            (false, true) => "face",
            (false, false) => "door",
        };
        let left = x - ROOM.0 / 2;
        let width = ROOM.0;
        let height = ROOM.1;
        put(
            &mut drawn,
            &format!(
                "<rect class=\"{class}\" x=\"{left}\" y=\"{y}\" width=\"{width}\" \
                 height=\"{height}\" rx=\"7\"/>"
            ),
        );
        put_text(&mut drawn, "room", (*x, y + 24), room);
    }
    let height = levels.len() * ROW + LINE;
    let legend = "green: pure; blue: doors to the world; grey: programs. An arrow: uses";
    put_text(&mut drawn, "legend", (WIDTH / 2, height - 8), legend);
    Ok(picture("The rooms and their arrows", height, &drawn))
}

/// How many arrows lead down from a room at most; `rooms` bounds the search.
fn level(room: &str, arrows: &BTreeMap<&str, Vec<&str>>, rooms: usize) -> Result<usize, String> {
    let uses = arrows.get(room).filter(|_| rooms > 0);
    let uses =
        uses.ok_or_else(|| format!("xtask/arrows.toml: {room} is not listed, or in a circle"))?;
    let mut most = 0;
    for used in uses {
        most = most.max(level(used, arrows, rooms - 1)? + 1);
    }
    Ok(most)
}

/// The middle of each room's upper edge: a row for each level, ordered by where those stand that
/// use a room (the barycentre method of layered drawing, Sugiyama 1981, one pass).
fn placed<'a>(
    levels: &[Vec<&'a str>],
    arrows: &BTreeMap<&'a str, Vec<&'a str>>,
) -> BTreeMap<&'a str, (usize, usize)> {
    let mut places: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (row, level) in levels.iter().enumerate() {
        let mut ordered: Vec<(usize, &str)> = Vec::new();
        for room in level {
            let users = arrows.iter().filter(|(_, uses)| uses.contains(room));
            let at: Vec<usize> = users.map(|(user, _)| places[user].0).collect();
            ordered.push((at.iter().sum::<usize>() / at.len().max(1), room));
        }
        ordered.sort_unstable();
        for (i, (_, room)) in ordered.iter().enumerate() {
            let x = WIDTH * (2 * i + 1) / (2 * ordered.len());
            places.insert(room, (x, row * ROW + MARGIN));
        }
    }
    places
}

/// A curve with an arrowhead from one point to another below it. One that goes straight down over
/// several rows bends around the boxes between.
fn put_arrow(drawn: &mut String, (x, y): (usize, usize), (to_x, to_y): (usize, usize)) {
    let middle = usize::midpoint(y, to_y);
    let end = to_y - 6;
    let bow = if x == to_x && to_y - y > ROW {
        ROOM.0
    } else {
        0
    };
    let from_x = x + bow;
    let into_x = to_x + bow;
    put(
        drawn,
        &format!(
            "<path class=\"arrow\" d=\"M{x},{y} C{from_x},{middle} {into_x},{middle} \
             {to_x},{end}\" marker-end=\"url(#head)\"/>"
        ),
    );
}

fn put_text(drawn: &mut String, class: &str, (x, y): (usize, usize), text: &str) {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    put(
        drawn,
        &format!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" xml:space=\"preserve\">{text}</text>"
        ),
    );
}

fn put(drawn: &mut String, line: &str) {
    writeln!(drawn, "{line}").expect("a string takes everything");
}

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

/// The whole picture, with a background so that it can be read on a dark page.
fn picture(title: &str, height: usize, drawn: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
         <defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"2\" refY=\"4\" markerWidth=\"7\" \
         markerHeight=\"7\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" \
         fill=\"#7a848c\"/></marker></defs>\n\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n{drawn}</svg>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_shows_the_wrong_digit() {
        let svg = trace().unwrap();
        for part in ["table 1", "1 bit differs", "dropped", "</svg>"] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
    }

    #[test]
    fn who_uses_a_room_is_above_it() {
        let list = "pure = ['a']\n[arrows]\na = []\nb = ['a']\nc = ['a', 'b']\n";
        let svg = rooms(&list.parse().unwrap()).unwrap();
        let at = |room: &str| svg.find(&format!(">{room}</text>")).unwrap();
        assert!(at("a") < at("b") && at("b") < at("c"), "{svg}");
        assert_eq!(svg.matches("class=\"arrow\"").count(), 3);
        assert!(rooms(&"[arrows]\na = ['b']\nb = ['a']".parse().unwrap()).is_err());
        assert!(rooms(&"[arrows]\na = ['b']".parse().unwrap()).is_err());
    }
}
