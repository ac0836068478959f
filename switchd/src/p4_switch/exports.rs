//! What exports tell of the ports of a P4 switch.

use std::collections::BTreeMap;

use bofuss_oflib::PortNo;
use bofuss_oflib::message::port::{PortConfig, PortState};
use bofuss_p4::Count;

use crate::dataplane::PortSet;
use crate::export::{Counted, PortCounters};

/// The counters of all open ports; `counted` is what the program has received from them.
pub fn ports_seen(
    ports: &mut PortSet,
    counted: &BTreeMap<PortNo, Count>,
) -> Vec<(PortNo, PortCounters)> {
    let rows = ports.driver_counters();
    let found = rows.into_iter().filter_map(|(number, sent, overflowed)| {
        let port = ports.get(number)?;
        let desc = port.desc();
        let received = counted.get(&number).copied().unwrap_or_default();
        let counters = PortCounters {
            index: port.index().unwrap_or(number.0),
            interface: port.interface().map(String::from),
            speed: u64::from(desc.curr_speed) * 1000,
            is_enabled: !desc.config.has(PortConfig::PORT_DOWN),
            is_up: !desc.state.has(PortState::LINK_DOWN),
            received: Counted {
                bytes: received.bytes,
                packets: received.packets,
                discarded: sent.rx_dropped(),
                errors: sent.rx_errors(),
            },
            sent: Counted {
                bytes: sent.tx_bytes,
                packets: sent.tx_packets,
                discarded: sent.tx_dropped() + overflowed,
                errors: sent.tx_errors(),
            },
        };
        Some((number, counters))
    });
    found.collect()
}
