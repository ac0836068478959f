//! Lists of what is never long, as text or JSON: ports, tables, queues and addresses.

use std::collections::BTreeMap;
use std::fmt::Write;

use bofuss_datapath::{Egress, Station, Time};
use bofuss_ext::queues;
use bofuss_oflib::PortNo;
use bofuss_oflib::field::VID_PRESENT;
use bofuss_oflib::message::port::PortState;
use serde_json::{Value, json};

use super::exports::Exports;
use super::live_switch::LiveSwitch;
use crate::error::Result;

/// The version of these lists as JSON. It increases when a key is removed or changes its meaning.
pub(super) const VERSION: u32 = 1;

/// Prints a list as lines, or with `--json`. Errors: there is another option.
pub(super) fn print(
    options: &str,
    live: &mut LiveSwitch,
    lines: impl FnOnce(&mut LiveSwitch) -> String,
    list: impl FnOnce(&mut LiveSwitch) -> Value,
) -> Result<String> {
    match options {
        "" => Ok(lines(live)),
        "--json" => Ok(format!("{}\n", list(live))),
        other => Err(format!("there is no option '{other}', only --json").into()),
    }
}

/// The ports that the switch has.
pub(super) fn ports(live: &mut LiveSwitch) -> Value {
    let settled = live.settled();
    let ports = settled.datapath().ports().values().map(|port| {
        let desc = &port.desc;
        let stats = &port.stats;
        json!({
            "port_no": desc.port_no.to_string(), "name": desc.name.0,
            "hw_addr": desc.hw_addr.to_string(),
            "is_up": !desc.state.has(PortState::LINK_DOWN), "curr_speed": desc.curr_speed,
            "rx_packets": stats.rx_packets, "tx_packets": stats.tx_packets,
            "rx_bytes": stats.rx_bytes, "tx_bytes": stats.tx_bytes,
            "rx_dropped": stats.rx_dropped, "tx_dropped": stats.tx_dropped,
            "rx_errors": stats.rx_errors, "tx_errors": stats.tx_errors,
        })
    });
    json!({"version": VERSION, "ports": ports.collect::<Value>()})
}

/// The exports.
pub(super) fn exports(exports: &Exports) -> Value {
    json!({"version": VERSION, "exports": exports.json()})
}

/// The queues of all ports.
pub(super) fn queues(live: &mut LiveSwitch) -> Value {
    let mut all = Vec::new();
    let datapath = live.switch().datapath();
    for port in datapath.ports().keys() {
        let queues = datapath.queues().of(*port).map(Egress::queues);
        for queue in queues.unwrap_or_default() {
            all.push(json!({
                "port_no": port.to_string(), "queue_id": queue.id.0,
                "properties": queues::text(&queue.spec),
                "tx_packets": queue.stats.tx_packets, "tx_bytes": queue.stats.tx_bytes,
                "tx_errors": queue.stats.tx_errors,
            }));
        }
    }
    json!({"version": VERSION, "queues": all})
}

/// The addresses that NORMAL knows, each with its port and when it was seen; not for static ones.
pub(super) fn known_addresses(live: &mut LiveSwitch) -> BTreeMap<Station, (PortNo, Option<Time>)> {
    live.accelerator().hear_of_stations();
    let datapath = live.switch().datapath();
    let learned = datapath.bridge().stations(live.now());
    let learned = learned.map(|(station, port, seen)| (station, (port, Some(seen))));
    let fixed = datapath.config().static_addresses.iter();
    let fixed = fixed.map(|(station, port)| (*station, (*port, None)));
    learned.chain(fixed).collect()
}

/// The addresses that NORMAL knows, by VLAN and address.
pub(super) fn addresses(live: &mut LiveSwitch) -> Value {
    let all = known_addresses(live);
    let rows = all.into_iter().map(|((tag, mac), (port, seen))| {
        json!({
            "mac": mac.to_string(), "vlan": vlan(tag), "port_no": port.to_string(),
            "age_sec": seen.map(|seen| live.now().since(seen) / Time::SEC),
            "is_static": seen.is_none(),
        })
    });
    json!({"version": VERSION, "macs": rows.collect::<Value>()})
}

/// The VLAN of a VLAN_VID value; null for untagged.
pub(super) fn vlan(tag: u16) -> Value {
    match tag {
        0 => Value::Null,
        tag => (tag & !VID_PRESENT).into(),
    }
}

/// The tables, of which the pipeline may use some and leave others empty.
pub(super) fn tables(live: &mut LiveSwitch) -> Value {
    let settled = live.settled();
    let datapath = settled.datapath();
    let tables = datapath.shape().heads().map(|head| {
        let counts = settled.table_counts(head.table_id);
        json!({
            "table_id": head.table_id.0, "name": head.name.0,
            "active_count": datapath.tables()[usize::from(head.table_id.0)].len(),
            "max_entries": head.max_entries,
            "lookup_count": counts.lookups, "matched_count": counts.matches,
        })
    });
    json!({"version": VERSION, "tables": tables.collect::<Value>()})
}

/// The tables that have entries or were looked up, a line each.
pub(super) fn table_lines(live: &mut LiveSwitch) -> String {
    let mut text = String::new();
    let settled = live.settled();
    let datapath = settled.datapath();
    for head in datapath.shape().heads() {
        let entries = datapath.tables()[usize::from(head.table_id.0)].len();
        let counts = settled.table_counts(head.table_id);
        if entries > 0 || counts.lookups > 0 {
            let _ = writeln!(
                text,
                "{} {} entries={entries} max_entries={} lookups={} matches={}",
                head.table_id.0, head.name.0, head.max_entries, counts.lookups, counts.matches,
            );
        }
    }
    text
}
