//! The state machine that entries make, and its drawing.

use std::sync::Arc;

use bofuss_ext::openstate::StateRecord;
use bofuss_ext::openstate::graph::{StateGraph, StateNode};
use bofuss_oflib::Catalogue;
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::message::multipart::flow::FlowEntry;
use bofuss_oflib::text::parse_flow;

fn entries(lines: &[String]) -> Vec<FlowEntry> {
    let catalogue: Arc<Catalogue> = Arc::new(bofuss_ext::catalogue());
    let entry = |line: &String| {
        let flow = parse_flow(line, FlowModCommand::ADD, &catalogue).expect(line);
        FlowEntry {
            table_id: flow.table_id,
            priority: flow.priority,
            fields: flow.fields,
            instructions: flow.instructions,
            ..FlowEntry::default()
        }
    };
    lines.iter().map(entry).collect()
}

fn knocking() -> Vec<FlowEntry> {
    entries(&[
        "priority=10,udp,udp_dst=5001,state=0,actions=set_state(table=0,state=1)".into(),
        "priority=10,udp,udp_dst=5002,state=1,actions=set_state(table=0,state=2)".into(),
        "priority=10,udp,udp_dst=5003,state=2,\
         actions=set_state(table=0,state=3,idle_timeout=5000000)"
            .into(),
        "priority=10,udp,udp_dst=22,state=3,actions=output:2".into(),
        "priority=1,actions=set_state(table=0,state=0)".into(),
    ])
}

fn record(state: u32) -> StateRecord {
    StateRecord {
        key: vec![1],
        state,
        ..StateRecord::default()
    }
}

fn shown(graph: &StateGraph) -> Vec<String> {
    let edges = graph.edges.iter();
    edges
        .map(|edge| format!("{} -> {}: {}", edge.from, edge.to, edge.label))
        .collect()
}

#[test]
fn the_machine_is_read_from_the_entries_of_all_tables() {
    let mut graph = StateGraph::of_entries(0, &knocking());
    graph.count(&[record(3), record(3), record(77), StateRecord::default()]);
    assert_eq!(
        shown(&graph),
        [
            "any -> 0: any packet",
            "0 -> 1: udp,udp_dst=5001",
            "1 -> 2: udp,udp_dst=5002",
            "2 -> 3: udp,udp_dst=5003",
            "3 -> 0: after 5 s without a packet",
        ]
    );
    assert_eq!(graph.nodes[&StateNode::Exact(3)], 2);
    assert_eq!(graph.nodes[&StateNode::Exact(77)], 1);
    let others = entries(&[
        "table=1,arp,state=4/0xc,actions=set_state(table=1,state=1/3),inc_state(table=1)".into(),
        "table=1,state=7,actions=inc_state(table=1)".into(),
        "table=0,arp,actions=set_state(table=1,state=2/3,hard_timeout=1500,hard_rollback=9)".into(),
    ]);
    assert_eq!(
        shown(&StateGraph::of_entries(1, &others)),
        [
            "any -> 0x2/0x3: table 0: arp",
            "7 -> 8: any packet",
            "0x4/0xc -> 0x5/0xf: arp",
            "0x4/0xc -> 0x4/0xc: arp",
            "0x2/0x3 -> 9: after 1500 us",
        ]
    );
    assert!(StateGraph::of_entries(2, &others).is_empty());
}

#[test]
fn a_drawing_has_a_row_for_each_transition_and_is_the_same_each_time() {
    let mut graph = StateGraph::of_entries(0, &knocking());
    graph.count(&[record(3)]);
    let svg = graph.svg("", &[3]);
    assert_eq!(svg.matches("paint-order").count(), 5);
    assert_eq!(svg.matches("<ellipse").count(), 5);
    for part in [
        "udp,udp_dst=5003",
        "after 5 s without a packet",
        "1 flow<",
        "all others",
    ] {
        assert!(svg.contains(part), "{part}");
    }
    let mut reversed = knocking();
    reversed.reverse();
    let mut again = StateGraph::of_entries(0, &reversed);
    again.count(&[record(3)]);
    assert_eq!(again.svg("", &[3]), svg);
}

#[test]
fn a_large_machine_is_drawn_in_part_and_says_so() {
    let lines = (0..500).map(|n| {
        format!(
            "priority=2,udp,udp_dst={n},state={n},actions=set_state(table=0,state={})",
            n + 1
        )
    });
    let mut graph = StateGraph::of_entries(0, &entries(&lines.collect::<Vec<_>>()));
    graph.count(&[record(1), record(499), record(499)]);
    assert!(graph.nodes.len() <= 40 && graph.edges.len() <= 200);
    let svg = graph.svg("", &[]);
    assert!(
        svg.contains("more transitions. 2 flows in further states."),
        "{svg}"
    );
}

/// Draws machines of 1, 4 and 12 states. If `BOFUSS_DRAWINGS` names a folder, the drawings are
/// written there, to be looked at.
#[test]
fn machines_of_one_four_and_twelve_states_are_drawn() {
    let one = entries(&["table=0,tcp,state=0,actions=set_state(table=0,state=0)".into()]);
    let twelve: Vec<String> = (0..12)
        .flat_map(|n| {
            let next = (n + 1) % 12;
            let jump = (n * 5 + 3) % 12;
            [
                format!(
                    "priority=9,tcp,tcp_flags=0x12,tcp_dst=80,state={n},\
                     actions=set_state(table=0,state={next},hard_timeout=10000000)"
                ),
                format!("priority=8,udp,state={n},actions=set_state(table=0,state={jump})"),
            ]
        })
        .collect();
    let machines = [
        ("one", one, 1, 1),
        ("four", knocking(), 5, 5),
        ("twelve", entries(&twelve), 12, 36),
    ];
    for (name, entries, nodes, edges) in machines {
        let mut graph = StateGraph::of_entries(0, &entries);
        graph.count(&[record(0), record(3), record(3)]);
        let svg = graph.svg("xmlns=\"http://www.w3.org/2000/svg\"", &[3]);
        if let Some(folder) = std::env::var_os("BOFUSS_DRAWINGS") {
            let path = std::path::Path::new(&folder).join(format!("{name}.svg"));
            std::fs::write(path, &svg).expect("the folder is there");
        }
        let states = graph.nodes.len();
        assert!(
            states >= nodes && graph.edges.len() >= edges - 1,
            "{name}: {states}"
        );
        assert!(svg.ends_with("</svg>\n"));
    }
}
