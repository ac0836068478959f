//! The metrics of a P4 switch: those of an OpenFlow switch that it has, too, and its own.

use bofuss_oflib::message::port::PortState;

use super::plane::P4Plane;
use crate::metrics::{Labels, Samples};

/// Adds the samples of a switch.
pub fn add(plane: &mut P4Plane, samples: &mut Samples) {
    let uptime = plane.now() as f64 / 1e6;
    samples.add("uptime_seconds", &[], uptime);
    let pool = plane.pool().stats();
    samples.add("pool_bytes", &[], pool.bytes_in_use);
    samples.add("pool_refused", &[], pool.refused);
    for (reason, count) in plane.outlet.counts.drops() {
        samples.add("dropped_packets", &[("reason", &reason)], count);
    }
    samples.add("captures", &[], plane.outlet.ports.copiers.len());
    if let Some(recorder) = &plane.outlet.recorder {
        recorder.report(samples);
    }
    plane.exports.report(samples);
    samples.add("p4_digests", &[], plane.outlet.counts.digests);
    samples.add("p4_log_messages", &[], plane.outlet.counts.logs);
    let tables = plane.switch.program().tables.iter().enumerate();
    for (id, table) in tables.filter(|(_, table)| !table.key.is_empty()) {
        let labels: Labels<'_> = &[("table", &id), ("name", &table.name)];
        let (lookups, hits) = plane.switch.table_counts(id);
        samples.add("table_entries", labels, plane.switch.entry_count(id));
        samples.add("table_max_entries", labels, table.size);
        samples.add("table_lookups", labels, lookups);
        samples.add("table_matches", labels, hits);
    }
    for (number, sent, overflowed) in plane.outlet.ports.driver_counters() {
        for (reason, count) in sent.drops() {
            let labels: Labels<'_> = &[("port", &number), ("reason", &reason)];
            samples.add("port_driver_dropped_packets", labels, count);
        }
        let Some((desc, _)) = plane.outlet.ports.describe(number) else {
            continue;
        };
        let labels: Labels<'_> = &[("port", &number), ("name", &desc.name.0)];
        let is_down = desc.state.has(PortState::LINK_DOWN);
        samples.add("port_up", labels, u8::from(!is_down));
        let speed = u64::from(desc.curr_speed) * 125;
        samples.add("port_speed_bytes_per_second", labels, speed);
        let received = plane.received.get(&number).copied().unwrap_or_default();
        for (name, count) in [
            ("port_receive_packets", received.packets),
            ("port_receive_bytes", received.bytes),
            ("port_receive_dropped", sent.rx_dropped()),
            ("port_receive_errors", sent.rx_errors()),
            ("port_transmit_packets", sent.tx_packets),
            ("port_transmit_bytes", sent.tx_bytes),
            ("port_transmit_dropped", sent.tx_dropped() + overflowed),
            ("port_transmit_errors", sent.tx_errors()),
        ] {
            samples.add(name, labels, count);
        }
        for queue in plane.outlet.disciplines.queues(number) {
            let labels: Labels<'_> = &[labels[0], labels[1], ("queue", &queue.id.0)];
            samples.add("queue_packets", labels, queue.stats.tx_packets);
            samples.add("queue_bytes", labels, queue.stats.tx_bytes);
            samples.add("queue_dropped", labels, queue.stats.tx_errors);
        }
    }
}
