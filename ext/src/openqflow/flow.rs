//! One microflow: what is counted of it, and what is known of the way of its packets.

use bofuss_datapath::Time;
use bofuss_oflib::PortNo;

use super::records::{ForwardRecord, NO_RECORD, QosRecord};
use super::tuple::FlowTuple;

/// How long a flow waits for the controller before that is asked again, in nanoseconds.
pub(super) const PENDING_NS: u64 = Time::SEC;
/// No aggregate.
pub(super) const NO_AGGREGATE: u32 = u32::MAX;
/// What a bit in a nanosecond is as a rate in kb/s.
const KBPS_PER_BIT_PER_NS: u64 = 1_000_000;

/// How many flows are known at most, and for how long one that is idle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLimits {
    /// Flows at most; at least 1.
    pub flows: usize,
    /// Nanoseconds without a packet until a flow has ended,
    pub idle_ns: u64,
    /// until one of TCP has,
    pub tcp_idle_ns: u64,
    /// and until one of TCP has after its FIN or RST.
    pub closed_ns: u64,
    /// Bytes with which a flow is reported,
    pub report_bytes: u64,
    /// and the rate,
    pub report_kbps: u32,
    /// and the rate in thousandths of its port's. Source: OpenQFlow, 10 % of the port.
    pub report_share: u32,
}

impl Default for FlowLimits {
    fn default() -> Self {
        Self {
            flows: 1 << 20,
            idle_ns: 10 * Time::SEC,
            tcp_idle_ns: 60 * Time::SEC,
            closed_ns: 2 * Time::SEC,
            report_bytes: 1_000_000,
            report_kbps: u32::MAX,
            report_share: 100,
        }
    }
}

/// What the table found for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    /// The slot of its flow.
    pub slot: u32,
    /// What becomes of it.
    pub meeting: Meeting,
    /// Whether the flow's bytes pass the limit with it.
    pub passes: bool,
}

/// What is known of the way of a flow's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlowPhase {
    /// Nothing: each packet is looked up in the rule tables.
    Unresolved,
    /// No rule forwards it, and the controller was asked.
    Pending,
    /// Its packets go as its records say.
    Resolved,
}

/// Why a flow is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReportReason {
    /// It was asked for, or its time has come.
    Periodic,
    /// Its bytes or its rate have passed the limit.
    Threshold,
    /// It was idle for too long, and has ended.
    Idle,
    /// It had to make room, and has ended.
    Evicted,
}

/// Why a packet of a flow was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropCause {
    /// None was.
    None,
    /// The flow waited for the controller.
    Pending,
    /// A rule says so.
    Rule,
    /// No rule forwards it.
    NoRule,
    /// It came before its flow may send again by its share.
    TooEarly,
    /// Its queue, or all of them, were full.
    QueueFull,
    /// Its port took nothing, or was lost.
    Port,
    /// Something else, which counters of drops name.
    Other,
}

/// Its connection of TCP is about to close.
pub(super) const CLOSING: u8 = 1;
/// It has sent or lost packets since it was reported last.
pub(super) const CHANGED: u8 = 2;
/// It was reported for passing a limit.
pub(super) const REPORTED: u8 = 4;
/// An engine has chosen where it goes,
pub(super) const OWN_FORWARD: u8 = 8;
/// and its quality of service.
pub(super) const OWN_QOS: u8 = 16;
/// Its class was found out by its payload.
pub(super) const CLASSIFIED: u8 = 64;
/// An engine keeps something about it.
pub(super) const HAS_ENGINE: u8 = 32;

/// One microflow.
#[derive(Clone, Copy, Debug)]
pub struct TrackedFlow {
    /// Packets that were forwarded.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Bytes of packets that were dropped.
    pub dropped_bytes: u64,
    /// When its first packet came,
    pub since: Time,
    /// and its last one.
    pub used: Time,
    /// When the controller was asked for it last.
    pub(super) asked: Time,
    /// The epoch in which it was resolved.
    pub(super) epoch: u32,
    pub(super) aggregate: u32,
    /// Packets that were dropped.
    pub dropped_packets: u32,
    /// Its rate over some seconds.
    pub rate_kbps: u32,
    /// Packets and bytes since the last sweep.
    pub(super) window_packets: u32,
    pub(super) window_bytes: u32,
    pub(super) forward: u16,
    pub(super) qos: u16,
    pub(super) state: FlowPhase,
    pub(super) flags: u8,
    /// Why its last packet was dropped, if one was.
    pub drop_cause: DropCause,
}

/// A flow with its tuple is two lines of the processor's cache.
const _: () = assert!(size_of::<(FlowTuple, TrackedFlow)>() == 128);

impl TrackedFlow {
    pub(super) fn new(now: Time) -> Self {
        Self {
            packets: 0,
            bytes: 0,
            dropped_bytes: 0,
            since: now,
            used: now,
            asked: now,
            epoch: 0,
            aggregate: NO_AGGREGATE,
            dropped_packets: 0,
            rate_kbps: 0,
            window_packets: 0,
            window_bytes: 0,
            forward: NO_RECORD,
            qos: NO_RECORD,
            state: FlowPhase::Unresolved,
            flags: 0,
            drop_cause: DropCause::None,
        }
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether the controller was asked for it within the last second.
    pub(super) fn waits_for_answer(&self, now: Time) -> bool {
        now.since(self.asked) < PENDING_NS
    }

    /// Counts a packet as forwarded.
    pub(super) fn forward(&mut self, packet: CountedPacket) {
        self.packets += u64::from(packet.packets);
        self.bytes += u64::from(packet.bytes);
        self.window_packets = self.window_packets.saturating_add(packet.packets);
        self.window_bytes = self.window_bytes.saturating_add(packet.bytes);
    }

    /// A packet that was counted was not forwarded.
    pub(super) fn take_back(&mut self, packet: CountedPacket) {
        self.packets = self.packets.saturating_sub(packet.packets.into());
        self.bytes = self.bytes.saturating_sub(packet.bytes.into());
        self.window_packets = self.window_packets.saturating_sub(packet.packets);
        self.window_bytes = self.window_bytes.saturating_sub(packet.bytes);
    }

    /// Counts a packet as dropped.
    pub(super) fn drop(&mut self, packet: CountedPacket, cause: DropCause) {
        self.drop_cause = cause;
        self.dropped_packets = self.dropped_packets.saturating_add(packet.packets);
        self.dropped_bytes += u64::from(packet.bytes);
    }

    /// Counts what came since the last sweep as a rate, half of which is the one before.
    pub(super) fn end_window(&mut self, ns: u64) {
        let bits = u64::from(self.window_bytes) * 8;
        let kbps = (bits * KBPS_PER_BIT_PER_NS).checked_div(ns).unwrap_or(0);
        self.rate_kbps = (u64::from(self.rate_kbps).midpoint(kbps))
            .try_into()
            .unwrap_or(u32::MAX);
        self.window_packets = 0;
        self.window_bytes = 0;
    }
}

/// A flow that is looked for: its tuple, and where it most likely is.
#[derive(Clone, Copy, Debug)]
pub struct SoughtTuple {
    /// The tuple.
    pub tuple: FlowTuple,
    pub(super) hash: u64,
    pub(super) slot: u32,
}

/// A packet as flows count it.
#[derive(Clone, Copy, Debug)]
pub struct CountedPacket {
    /// Packets on the wire.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u32,
    /// Whether it ends a connection of TCP.
    pub closes: bool,
}

/// Where a flow's packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved<'a> {
    /// The record of the rule.
    pub forward: &'a ForwardRecord,
    /// The port that it means now.
    pub port: PortNo,
    /// The quality of service.
    pub qos: &'a QosRecord,
    /// The number of the aggregate.
    pub aggregate: u32,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// It is looked up in the rule tables.
    LookUp,
    /// Its flow waits for the controller; the packet is not counted yet.
    Wait,
    /// It goes as the flow's records say.
    Known,
}
