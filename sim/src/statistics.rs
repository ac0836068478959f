//! The statistics of a network, as one JSON document.

use std::collections::BTreeMap;

use bofuss_datapath::DropReason;
use bofuss_embed::p4::{P4Port, P4Switch};
use bofuss_oflib::PortNo;
use bofuss_oflib::types::TableId;
use serde_json::{Map, Value, json};

use crate::link::{LinkStats, NodeId};
use crate::network::Network;
use crate::observer::{ControllerId, LinkDirection, LinkId};
use crate::scenario::matches;

/// The most cells of a counter of a P4 program that are shown.
const MAX_CELLS: usize = 1000;

/// The names of nodes, links and controllers.
#[derive(Clone, Debug, Default)]
pub struct NetworkNames {
    /// Switches and hosts.
    pub nodes: BTreeMap<String, NodeId>,
    /// Switches, in their order.
    pub switches: Vec<(String, NodeId)>,
    /// Hosts, in their order.
    pub hosts: Vec<(String, NodeId)>,
    /// Links, in their order.
    pub links: Vec<String>,
    link_numbers: BTreeMap<String, LinkId>,
    /// The links to which hosts move, which are down before.
    pub(crate) spare: Vec<LinkId>,
    /// Controllers, in their order.
    pub controllers: Vec<String>,
}

impl NetworkNames {
    pub(crate) fn add_switch(&mut self, name: &str, id: NodeId) {
        self.nodes.insert(name.into(), id);
        self.switches.push((name.into(), id));
    }

    pub(crate) fn add_host(&mut self, name: &str, id: NodeId) {
        self.nodes.insert(name.into(), id);
        self.hosts.push((name.into(), id));
    }

    /// Adds a link. If another one has the name, a number is appended.
    pub(crate) fn add_link(&mut self, name: &str, id: LinkId) {
        let mut unique = name.to_string();
        let mut number = 1;
        while self.link_numbers.contains_key(&unique) {
            number += 1;
            unique = format!("{name}-{number}");
        }
        self.link_numbers.insert(unique.clone(), id);
        self.links.push(unique);
    }

    /// Adds a controller. Returns false if there is one with this name already.
    pub(crate) fn add_controller(&mut self, name: &str, id: ControllerId) -> bool {
        if self.controllers.iter().any(|other| other == name) {
            return false;
        }
        debug_assert_eq!(id.0 as usize, self.controllers.len());
        self.controllers.push(name.into());
        true
    }

    /// The link with a name.
    pub fn link(&self, name: &str) -> Option<LinkId> {
        self.link_numbers.get(name).copied()
    }

    /// The controller with a name.
    pub fn controller(&self, name: &str) -> Option<ControllerId> {
        let place = self.controllers.iter().position(|other| other == name)?;
        Some(ControllerId(place as u32))
    }

    /// The switches whose names match a pattern in which `*` stands for any characters.
    pub fn matching_switches(&self, pattern: &str) -> Vec<NodeId> {
        let switches = self.switches.iter();
        let found = switches.filter(|(name, _)| matches(pattern, name));
        found.map(|(_, id)| *id).collect()
    }
}

/// Makes the document: `time` in seconds; `events`; `hosts`, `switches` and `links` by name; and
/// `traffic`, row by row.
pub(crate) fn document(network: &mut Network, names: &NetworkNames, traffic: Value) -> Value {
    let mut hosts = Map::new();
    for (name, id) in &names.hosts {
        let mut counts = Map::new();
        for (key, count) in network
            .host(*id)
            .map(|host| host.statistics())
            .into_iter()
            .flatten()
        {
            counts.insert(key, count.into());
        }
        hosts.insert(name.clone(), counts.into());
    }
    let mut switches = Map::new();
    for (name, id) in &names.switches {
        switches.insert(name.clone(), switch(network, *id));
    }
    let mut links = Map::new();
    for (name, number) in names.links.iter().zip(0..) {
        let link = LinkId(number);
        let forth = network.link_stats(LinkDirection { link, back: false });
        let back = network.link_stats(LinkDirection { link, back: true });
        links.insert(
            name.clone(),
            json!({"forth": carried(&forth), "back": carried(&back)}),
        );
    }
    json!({
        "time": network.now().0 as f64 / 1e9,
        "events": network.events(),
        "hosts": hosts,
        "switches": switches,
        "links": links,
        "traffic": traffic,
    })
}

fn carried(stats: &LinkStats) -> Value {
    json!({
        "frames": stats.frames,
        "bytes": stats.bytes,
        "arrived_frames": stats.arrived_frames,
        "arrived_bytes": stats.arrived_bytes,
        "queue_full": stats.queue_full,
        "lost": stats.lost,
        "down": stats.down,
        "marked": stats.marked,
        "most_waiting": stats.most_waiting,
    })
}

/// The counters of a switch: `ports`; `tables`, those with entries or lookups; and `drops` by
/// reason.
fn switch(network: &mut Network, id: NodeId) -> Value {
    if let Some(switch) = network.p4_switch(id) {
        return p4_switch(switch);
    }
    let Some(switch) = network.switch_mut(id) else {
        return Value::Null;
    };
    let settled = switch.settled();
    let datapath = settled.datapath();
    let mut ports = Map::new();
    for (PortNo(number), port) in datapath.ports() {
        let stats = &port.stats;
        let counted = json!({
            "rx_packets": stats.rx_packets,
            "tx_packets": stats.tx_packets,
            "rx_bytes": stats.rx_bytes,
            "tx_bytes": stats.tx_bytes,
            "rx_dropped": stats.rx_dropped,
            "tx_dropped": stats.tx_dropped,
        });
        ports.insert(number.to_string(), counted);
    }
    let mut tables = Map::new();
    for (table, number) in datapath.tables().iter().zip(0..) {
        let counts = settled.table_counts(TableId(number));
        if counts.lookups > 0 || !table.is_empty() {
            let counted = json!({
                "entries": table.len(),
                "lookups": counts.lookups,
                "matches": counts.matches,
            });
            tables.insert(number.to_string(), counted);
        }
    }
    let mut drops = Map::new();
    for reason in DropReason::ALL {
        drops.insert(reason.name().into(), 0.into());
    }
    for (reason, count) in datapath.lane().drops() {
        drops.insert(reason.name().into(), count.into());
    }
    json!({"ports": ports, "tables": tables, "drops": drops})
}

/// The same of a switch with a P4 program, whose tables and `counters` have the program's names;
/// and how many digests and log messages it has sent.
fn p4_switch(switch: &P4Switch) -> Value {
    let mut ports = Map::new();
    for (number, P4Port { received, sent }) in switch.ports() {
        let counted = json!({
            "rx_packets": received.packets,
            "tx_packets": sent.packets,
            "rx_bytes": received.bytes,
            "tx_bytes": sent.bytes,
        });
        ports.insert(number.to_string(), counted);
    }
    let p4 = switch.switch();
    let mut tables = Map::new();
    for (id, row) in p4.program().tables.iter().enumerate() {
        let (lookups, matches) = p4.table_counts(id);
        if !row.key.is_empty() {
            let entries = p4.entry_count(id);
            let counted = json!({"entries": entries, "lookups": lookups, "matches": matches});
            tables.insert(row.name.clone(), counted);
        }
    }
    let mut counters = Map::new();
    for (id, row) in p4.program().counters.iter().enumerate() {
        let cells = p4.externs().counted(id).take(MAX_CELLS);
        let cells = cells.map(|(index, count)| {
            let counted = json!({"packets": count.packets, "bytes": count.bytes});
            (index.to_string(), counted)
        });
        let cells: Map<String, Value> = cells.collect();
        if !cells.is_empty() {
            counters.insert(row.name.clone(), cells.into());
        }
    }
    let counts = switch.counts();
    let drops = counts
        .drops()
        .map(|(reason, count)| (reason.into(), count.into()));
    let drops: Map<String, Value> = drops.collect();
    json!({
        "ports": ports,
        "tables": tables,
        "drops": drops,
        "counters": counters,
        "digests": counts.digests,
        "log_messages": counts.logs,
    })
}

/// The statistics as text for people: the traffic, and the drops of links and switches.
pub fn summary(statistics: &Value) -> String {
    let mut text = format!(
        "{} s, {} events\n",
        statistics["time"], statistics["events"]
    );
    let traffic = statistics["traffic"].as_array();
    for (row, number) in traffic.into_iter().flatten().zip(1..) {
        let mut facts = Vec::new();
        for (name, value) in row.as_object().into_iter().flatten() {
            match value {
                Value::String(value) => facts.push(format!("{name} {value}")),
                Value::Number(value) => facts.push(format!("{name} {value}")),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {}
            }
        }
        text += &format!("traffic {number}: {}\n", facts.join(", "));
    }
    for (name, link) in statistics["links"].as_object().into_iter().flatten() {
        for direction in ["forth", "back"] {
            let lost = nonzero(&link[direction], &["queue_full", "lost", "down"]);
            if !lost.is_empty() {
                text += &format!("link {name} {direction}: dropped {lost}\n");
            }
        }
    }
    for (name, switch) in statistics["switches"].as_object().into_iter().flatten() {
        let reasons = switch["drops"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(reason, _)| &reason[..]);
        let lost = nonzero(&switch["drops"], &reasons.collect::<Vec<_>>());
        if !lost.is_empty() {
            text += &format!("switch {name}: dropped {lost}\n");
        }
    }
    text
}

/// The numbers of some keys, each with its key; those that are 0 are left out.
fn nonzero(counts: &Value, keys: &[&str]) -> String {
    let mut said = Vec::new();
    for key in keys {
        let count = counts[key].as_u64().unwrap_or(0);
        if count > 0 {
            said.push(format!("{count} {key}"));
        }
    }
    said.join(", ")
}
