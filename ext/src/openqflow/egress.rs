//! Flows at their port: what the port is told of their packets, and what it drops of them.

use bofuss_datapath::{DropReason, EgressDrop, Entitlement, PacketOwner, Qos};

use super::flow::{CHANGED, CountedPacket, DropCause};
use super::hook::NAME;
use super::records::{QosRecord, QosScope, ServiceType};
use super::table::FlowTable;

/// Drops of packets for which a queue had no room.
const NO_ROOM: [DropReason; 3] = [
    DropReason::QueueFull,
    DropReason::QueuesFull,
    DropReason::QueueGone,
];
/// Drops of packets that their port did not take.
const NO_PORT: [DropReason; 5] = [
    DropReason::NoSuchPort,
    DropReason::PortDown,
    DropReason::LinkDown,
    DropReason::NoForward,
    DropReason::OutputIsIngress,
];

/// What a drop at a port means to a flow.
fn cause_of(reason: DropReason) -> DropCause {
    if reason == DropReason::TooEarly {
        DropCause::TooEarly
    } else if NO_ROOM.contains(&reason) {
        DropCause::QueueFull
    } else if NO_PORT.contains(&reason) {
        DropCause::Port
    } else {
        DropCause::Other
    }
}

/// What disciplines know of a packet with a record, of the aggregate of this number if its flow is
/// known. One without a record leaves its aggregate as others have it.
pub(super) fn qos_of(record: &QosRecord, aggregate: Option<u32>, flow: Option<u64>) -> Qos {
    let guaranteed_kbps = match record.service {
        ServiceType::BestEffort => 0,
        ServiceType::Guaranteed => record.rate,
    };
    let own = Entitlement {
        weight: record.weight,
        guaranteed_kbps,
        max_kbps: record.cap,
    };
    let qos = Qos {
        aggregate_id: aggregate.map(u64::from),
        priority: record.priority,
        owner: flow.map(|number| PacketOwner {
            extension: NAME,
            number,
        }),
        ..Qos::default()
    };
    match record.scope {
        QosScope::Flow => Qos { flow: own, ..qos },
        QosScope::Aggregate if own == Entitlement::default() => qos,
        QosScope::Aggregate => Qos {
            aggregate: Some(own),
            ..qos
        },
    }
}

impl FlowTable {
    /// A packet that was counted is not forwarded, but dropped for a cause; or a controller has it.
    pub fn take_back(&mut self, slot: u32, packet: CountedPacket, cause: Option<DropCause>) {
        let Some((_, flow)) = self.flows.at_mut(slot) else {
            return;
        };
        let settled_packets = packet.packets.saturating_sub(flow.window_packets);
        let settled_bytes = packet.bytes.saturating_sub(flow.window_bytes);
        flow.take_back(packet);
        flow.flags |= CHANGED;
        if let Some(cause) = cause {
            flow.drop(packet, cause);
        }
        let aggregate = flow.aggregate;
        let Some((_, aggregate)) = self.aggregates.at_mut(aggregate) else {
            return;
        };
        aggregate.packets -= u64::from(settled_packets).min(aggregate.packets);
        aggregate.bytes -= u64::from(settled_bytes).min(aggregate.bytes);
        if cause.is_some() {
            aggregate.dropped_packets += u64::from(packet.packets);
            aggregate.dropped_bytes += u64::from(packet.bytes);
        }
    }

    /// A number of a flow that is hardly ever that of another one, also not of one that has its
    /// slot later: the slot, and below it when the flow's first packet came.
    pub fn number(&self, slot: u32) -> u64 {
        let since = self.flows.at(slot).map_or(0, |(_, flow)| flow.since.0);
        u64::from(slot) << 32 | since & u64::from(u32::MAX)
    }

    /// Packets of the flow of a number were dropped at its port.
    pub(super) fn drop_at_port(&mut self, drop: &EgressDrop) {
        let slot = (drop.number >> 32) as u32;
        if self.number(slot) != drop.number {
            return;
        }
        let packet = CountedPacket {
            packets: drop.packets as u32,
            bytes: drop.bytes as u32,
            closes: false,
        };
        self.take_back(slot, packet, Some(cause_of(drop.reason)));
    }
}
