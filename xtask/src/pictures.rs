//! Draws the pictures of the documents as SVG: a packet's trace, and the rooms with their arrows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bofuss_agent::{FailMode, Identity};
use bofuss_datapath::{Config, PacketInEvent, Sink, Time};
use bofuss_ext::Switch;
use bofuss_ext::trace::{Picture, Trace, parse_packet, request};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::PortNo;
use bofuss_oflib::message::{FlowModCommand, FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use toml::{Table, Value};

use crate::rooms;

/// The entries of the traced switch: those of `bofuss demo`, with the wrong digit in port 3's.
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
/// Bytes of the traced switch's frame pool.
const POOL_BYTES: usize = 1 << 20;

/// Height of the legend's line, in pixels.
const LEGEND: usize = 18;
/// Width and height of a room's box, in pixels.
const ROOM: (usize, usize) = (120, 38);
/// Pixels from one row of rooms to the next.
const ROW: usize = 84;
/// Pixels from the outermost box of a row to the arrows that pass it, and between two arrows.
const GAP: usize = 12;
const LANE: usize = 6;

/// Discards what building the traced switch causes.
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
    Ok(trace.svg())
}

/// Draws the arrows of `xtask/arrows.toml`: a room is above those that it uses.
///
/// Errors: a room that is not listed, or a circle.
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
    let mut picture = Picture::default();
    let mut taken = BTreeMap::new();
    for (room, uses) in &arrows {
        let (x, y) = places[room];
        let from_y = y + ROOM.1;
        for used in uses {
            let to = places[used];
            picture.put_arrow(&way((x, from_y), to, &places, &mut taken));
        }
    }
    let pure = rooms::names(list.get("pure"));
    for (room, (x, y)) in &places {
        let class = if pure.contains(room) || *room == "intrinsics" {
            "pure"
        } else if levels[0].contains(room) {
            "face"
        } else {
            "door"
        };
        picture.put_box(class, (x - ROOM.0 / 2, *y), ROOM);
        picture.put_text("room", (*x, y + 24), room);
    }
    let height = levels.len() * ROW + LEGEND;
    let legend = "green: pure; blue: doors to the world; grey: programs. An arrow: uses";
    picture.put_text("legend", (Picture::WIDTH / 2, height - 8), legend);
    Ok(picture.svg("Rooms, and which uses which", height))
}

/// The places along which an arrow goes: through each row between, by the gap between two boxes
/// that is nearest to the straight line. `taken` counts the arrows of each gap, so that
/// each has its own place.
fn way(
    from: (usize, usize),
    to: (usize, usize),
    places: &BTreeMap<&str, (usize, usize)>,
    taken: &mut BTreeMap<(usize, usize), usize>,
) -> Vec<(usize, usize)> {
    let mut way = vec![from];
    let rows: BTreeSet<usize> = places.values().map(|(_, y)| *y).collect();
    for y in rows.range(from.1..to.1) {
        let row = places.values().filter(|place| place.1 == *y);
        let mut sides: Vec<usize> = row.map(|(x, _)| *x).collect();
        sides.sort_unstable();
        let between = sides
            .windows(2)
            .map(|pair| usize::midpoint(pair[0], pair[1]));
        let ends = [
            sides[0] - ROOM.0 / 2 - GAP,
            sides[sides.len() - 1] + ROOM.0 / 2 + GAP,
        ];
        let straight =
            from.0 * (to.1 - y) / (to.1 - from.1) + to.0 * (y - from.1) / (to.1 - from.1);
        let nearest = between.chain(ends).min_by_key(|x| x.abs_diff(straight));
        let gap = nearest.expect("a row has two ends");
        let others = taken.entry((*y, gap)).or_default();
        // Outside of a row outwards, otherwise to the right and to the left in turn.
        let x = if gap > sides[sides.len() - 1] {
            gap + *others * LANE
        } else if gap < sides[0] {
            gap.saturating_sub(*others * LANE)
        } else if others.is_multiple_of(2) {
            gap + *others / 2 * LANE
        } else {
            gap - others.div_ceil(2) * LANE
        };
        *others += 1;
        way.extend([(x, *y), (x, y + ROOM.1)]);
    }
    way.push(to);
    way
}

/// The length of the longest path of arrows from a room. `rooms` bounds the search, in case of a
/// circle.
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

/// The middle of each room's upper edge. Each level is a row, ordered by the mean position of the
/// rooms that use a room (the barycentre method of layered drawing, Sugiyama 1981, one pass).
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
            let x = Picture::WIDTH * (2 * i + 1) / (2 * ordered.len());
            places.insert(room, (x, row * ROW + Picture::MARGIN));
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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

    #[test]
    fn no_arrow_passes_behind_a_box() {
        let list = rooms::table(&Path::new(env!("CARGO_MANIFEST_DIR")).join("arrows.toml"));
        let svg = rooms(&list.unwrap()).unwrap();
        let attribute = |line: &str, name: &str| -> Vec<f64> {
            let value = line.split_once(&format!(" {name}=\"")).unwrap().1;
            let value = value.split('"').next().unwrap();
            let numbers = value
                .split(|c: char| !c.is_ascii_digit())
                .filter(|n| !n.is_empty());
            numbers.map(|n| n.parse().unwrap()).collect()
        };
        let lines = || svg.lines();
        let boxes: Vec<(f64, f64)> = lines()
            .filter(|line| line.starts_with("<rect") && line.contains("rx="))
            .map(|line| (attribute(line, "x")[0], attribute(line, "y")[0]))
            .collect();
        assert!(boxes.len() > 10);
        let (wide, high) = (ROOM.0 as f64, ROOM.1 as f64);
        for arrow in lines().filter(|line| line.contains("class=\"arrow\"")) {
            let numbers = attribute(arrow, "d");
            for at in (0..numbers.len() - 2).step_by(6) {
                let curve = &numbers[at..at + 8];
                for step in 0..=50 {
                    let t = f64::from(step) / 50.0;
                    let weights = [
                        (1.0 - t).powi(3),
                        3.0 * t * (1.0 - t).powi(2),
                        3.0 * t * t * (1.0 - t),
                        t.powi(3),
                    ];
                    let sum = |from| {
                        (0..4)
                            .map(|i| weights[i] * curve[2 * i + from])
                            .sum::<f64>()
                    };
                    let (x, y) = (sum(0), sum(1));
                    let is_inside = |(left, top): &&(f64, f64)| {
                        x >= *left && x <= left + wide && y > *top && y < top + high
                    };
                    assert_eq!(boxes.iter().find(is_inside), None, "{arrow}");
                }
            }
        }
    }
}
