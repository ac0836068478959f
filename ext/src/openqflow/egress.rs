//! Flows at their output port: the QoS records of their packets, and packets that the port drops.

use bofuss_datapath::{
    ControlContext, DropReason, EgressDrop, Entitlement, Microflow, PacketOwner, Qos,
};
use bofuss_oflib::PortNo;

use super::NAME;
use super::flow::{CHANGED, CountedPacket, DropCause, FlowRecord};
use super::records::{QosRecord, QosScope, ServiceType};
use super::table::FlowTable;
use super::tuple::FlowTuple;

/// The drop reasons of packets for which a queue had no room.
const NO_ROOM: [DropReason; 3] = [
    DropReason::QueueFull,
    DropReason::QueuesFull,
    DropReason::QueueGone,
];
/// The drop reasons of packets that their port did not accept.
const NO_PORT: [DropReason; 5] = [
    DropReason::NoSuchPort,
    DropReason::PortDown,
    DropReason::LinkDown,
    DropReason::NoForward,
    DropReason::OutputIsIngress,
];

/// The cause that a flow records for a drop at its port.
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

/// The QoS record that disciplines get for a packet; `aggregate` and `owner` are numbers if its
/// flow is known. The default record leaves the aggregate's rights unchanged.
pub(super) fn qos_of(
    record: &QosRecord,
    aggregate: Option<u32>,
    flow_id: u64,
    owner: Option<u64>,
) -> Qos {
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
        flow_id: Some(flow_id),
        owner: owner.map(|number| PacketOwner {
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

/// Adds to a flow's record what its port knows of it.
pub(super) fn add_standing(table: &FlowTable, cx: &ControlContext<'_>, record: &mut FlowRecord) {
    let microflow = microflow_of(table, &record.tuple);
    let Some(standing) = cx.standing(record.out_port, &microflow) else {
        return;
    };
    record.share_kbps = saturated(standing.share_kbps);
    record.guaranteed_kbps = saturated(standing.guaranteed_kbps);
    record.eta_us = saturated(standing.eta_ns / 1000);
    record.waiting_bytes = saturated(standing.waiting_bytes);
}

/// The number, or the largest one of 32 bits.
fn saturated(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// The flow of a tuple as ports know it.
pub(super) fn microflow_of(table: &FlowTable, tuple: &FlowTuple) -> Microflow {
    Microflow {
        id: Some(table.flow_id(tuple)),
        ..Microflow::from(tuple)
    }
}

impl FlowTable {
    /// The number by which ports know the flow of a tuple. It differs for flows whose packets look
    /// the same at the port, and is the same for a flow that was forgotten and came again.
    pub fn flow_id(&self, tuple: &FlowTuple) -> u64 {
        self.flows.hash(tuple)
    }

    /// Returns true if packets of a flow wait at a port from which it can be moved; `waits` says
    /// whether they wait at a port.
    pub(super) fn has_backlog(&self, slot: u32, waits: impl Fn(PortNo, u64) -> bool) -> bool {
        let Some((tuple, known)) = self.flows.at(slot).zip(self.resolved(slot)) else {
            return false;
        };
        let id = self.flow_id(tuple.0);
        let mut ports = [known.forward.port, known.forward.failover].into_iter();
        ports.any(|port| self.paths.is_usable(port) && waits(port, id))
    }

    /// Corrects the counters for a packet that was counted as forwarded but was dropped for
    /// `cause`, or was sent to a controller.
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
        let Some(aggregate) = self.aggregates.counts_mut(aggregate) else {
            return;
        };
        aggregate.packets -= u64::from(settled_packets).min(aggregate.packets);
        aggregate.bytes -= u64::from(settled_bytes).min(aggregate.bytes);
        if cause.is_some() {
            aggregate.dropped_packets += u64::from(packet.packets);
            aggregate.dropped_bytes += u64::from(packet.bytes);
        }
    }

    /// A number that practically identifies a flow, even among flows that use its slot later: the
    /// slot, and in the low bits the time of the flow's first packet.
    pub fn number(&self, slot: u32) -> u64 {
        let since = self.flows.at(slot).map_or(0, |(_, flow)| flow.since.0);
        u64::from(slot) << 32 | since & u64::from(u32::MAX)
    }

    /// Counts packets of a flow, given by its number, that were dropped at its port.
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
