//! One microflow: its counters, and what is known of its packets' path.

use bofuss_datapath::{MAX_MICROFLOWS, Time};
use bofuss_oflib::PortNo;

use super::records::{ForwardRecord, NO_RECORD, QosRecord};
use super::tuple::FlowTuple;

/// The time that a flow waits for the controller before it is asked again, in nanoseconds.
pub(super) const PENDING_NS: u64 = Time::SEC;
/// Nanoseconds from one expiry round to the next.
pub(super) const ROUND_NS: u64 = Time::SEC;
/// No aggregate.
pub(super) const NO_AGGREGATE: u32 = u32::MAX;
/// One bit per nanosecond in kb/s.
const KBPS_PER_BIT_PER_NS: u64 = 1_000_000;

/// Limits of the flow table: how many flows, how long they may be idle, and when they are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLimits {
    /// The most flows; at least 1.
    pub flows: usize,
    /// Nanoseconds without a packet after which a flow ends, except TCP's.
    pub idle_ns: u64,
    /// Nanoseconds without a packet after which a TCP flow ends.
    pub tcp_idle_ns: u64,
    /// Nanoseconds without a packet after which a TCP flow ends that has sent FIN or RST.
    pub closed_ns: u64,
    /// A flow is reported when it has sent this many bytes.
    pub report_bytes: u64,
    /// A flow is reported when its rate exceeds this, in kb/s.
    pub report_kbps: u32,
    /// A flow is reported when its rate exceeds this part of its port's rate, in thousandths.
    /// Source: OpenQFlow, 10 % of the port.
    pub report_share: u32,
}

impl Default for FlowLimits {
    fn default() -> Self {
        Self {
            flows: MAX_MICROFLOWS,
            idle_ns: 10 * Time::SEC,
            tcp_idle_ns: 60 * Time::SEC,
            closed_ns: 2 * Time::SEC,
            report_bytes: 1_000_000,
            report_kbps: u32::MAX,
            report_share: 100,
        }
    }
}

impl FlowLimits {
    /// Nanoseconds without a packet after which a flow ends.
    pub(super) fn idle_ns(&self, tuple: &FlowTuple, flow: &TrackedFlow) -> u64 {
        if !tuple.is_tcp() {
            self.idle_ns
        } else if flow.has(CLOSING) {
            self.closed_ns
        } else {
            self.tcp_idle_ns
        }
    }

    /// The rate from which on a flow is reported: a fixed one, or a share of its port's rate, if
    /// that is known.
    pub(super) fn fast_kbps(&self, port_kbps: Option<&u64>) -> u64 {
        let share = port_kbps.map(|kbps| kbps * u64::from(self.report_share) / 1000);
        share.unwrap_or(u64::MAX).min(self.report_kbps.into())
    }
}

/// The progress of an expiry round, which visits all flows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExpiryRound {
    /// The slot that is next.
    pub(super) next_slot: u32,
    began: Time,
    /// Nanoseconds that the last round took.
    pub(super) last_ns: u64,
}

impl ExpiryRound {
    /// Returns true if the next slice is the first of a round.
    pub(super) fn begins(&self) -> bool {
        self.next_slot == 0
    }

    /// Begins a round.
    pub(super) fn begin(&mut self, now: Time) {
        self.last_ns = now.since(self.began);
        self.began = now;
    }
}

/// The state that an engine keeps about a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineState {
    /// Four numbers for the engine's own use.
    pub registers: [u64; 4],
    /// The number of bytes of the flow of which it still gets copies.
    pub copy_left: u32,
    /// The next path of the flow, and the gap in nanoseconds after which the flow takes it.
    pub next: Option<(ForwardRecord, u64)>,
}

/// The result of looking up the flow of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The slot of its flow.
    pub slot: u32,
    /// The decision on the packet.
    pub lookup: FlowLookup,
    /// True if the flow's bytes exceed the limit with this packet.
    pub passes: bool,
}

/// The knowledge of the path of a flow's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlowPhase {
    /// Nothing; each packet is looked up in the rule tables.
    Unresolved,
    /// No rule forwards them, and the controller was asked.
    Pending,
    /// Packets follow the flow's records.
    Resolved,
}

/// The reason why a flow is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReportReason {
    /// It was requested, or is due periodically.
    Periodic,
    /// Its bytes or its rate have exceeded the limit.
    Threshold,
    /// It was idle for too long, and has ended.
    Idle,
    /// It was evicted for another flow, and has ended.
    Evicted,
}

/// The reason why a packet of a flow was dropped.
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
    /// It arrived before its flow may send again by its share.
    TooEarly,
    /// Its queue, or all of them, were full.
    QueueFull,
    /// Its port accepted nothing, or was removed.
    Port,
    /// Another reason, which the counters of drops name.
    Other,
}

/// Its TCP connection is about to close.
pub(super) const CLOSING: u8 = 1;
/// It has sent or lost packets since its last report.
pub(super) const CHANGED: u8 = 2;
/// It was reported for its bytes.
pub(super) const REPORTED_BYTES: u8 = 4;
/// It was reported for its rate. Either limit is reached independently of the other.
pub(super) const REPORTED_RATE: u8 = 128;
/// An engine has chosen its path.
pub(super) const OWN_FORWARD: u8 = 8;
/// An engine has chosen its quality of service.
pub(super) const OWN_QOS: u8 = 16;
/// Its class was determined by its payload.
pub(super) const CLASSIFIED: u8 = 64;
/// An engine keeps state about it.
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
    /// The time when its first packet came.
    pub since: Time,
    /// The time when its last packet came.
    pub used: Time,
    /// The time when the controller was last asked about it.
    pub(super) asked: Time,
    /// The epoch in which it was resolved.
    pub(super) epoch: u32,
    pub(super) aggregate: u32,
    /// Packets that were dropped.
    pub dropped_packets: u32,
    /// Its rate over some seconds.
    pub rate_kbps: u32,
    /// Packets and bytes since the last expiry round.
    pub(super) window_packets: u32,
    pub(super) window_bytes: u32,
    pub(super) forward: u16,
    pub(super) qos: u16,
    pub(super) state: FlowPhase,
    pub(super) flags: u8,
    /// The reason why its last packet was dropped, if one was.
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

    /// Returns true if the controller was asked about it within the last second.
    pub(super) fn waits_for_answer(&self, now: Time) -> bool {
        now.since(self.asked) < PENDING_NS
    }

    /// The time when it stops waiting for the controller.
    pub(super) fn waits_until(&self) -> Time {
        self.asked.after(PENDING_NS)
    }

    /// Its bytes, if its payload is still inspected.
    pub(super) fn inspected_bytes(&self) -> Option<u64> {
        (!self.has(CLASSIFIED)).then_some(self.bytes)
    }

    /// Counts a packet as forwarded.
    pub(super) fn forward(&mut self, packet: CountedPacket) {
        self.packets += u64::from(packet.packets);
        self.bytes += u64::from(packet.bytes);
        self.window_packets = self.window_packets.saturating_add(packet.packets);
        self.window_bytes = self.window_bytes.saturating_add(packet.bytes);
    }

    /// Uncounts a packet that was not forwarded after all.
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

    /// Updates the rate from the packets since the last expiry round: the mean of their rate and
    /// the previous one.
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

/// A tuple whose flow is being looked up, with its prefetched place.
#[derive(Clone, Copy, Debug)]
pub struct SoughtTuple {
    /// The tuple.
    pub tuple: FlowTuple,
    pub(super) hash: u64,
    pub(super) slot: u32,
}

/// The counts of a packet or super-frame for its flow.
#[derive(Clone, Copy, Debug)]
pub struct CountedPacket {
    /// Packets on the wire.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u32,
    /// True if it closes a TCP connection (FIN or RST).
    pub closes: bool,
}

/// The path of a resolved flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved<'a> {
    /// The record of the rule.
    pub forward: &'a ForwardRecord,
    /// The port that the record means now, own or failover.
    pub port: PortNo,
    /// The quality of service.
    pub qos: &'a QosRecord,
    /// The number of the aggregate.
    pub aggregate: u32,
}

/// The decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowLookup {
    /// It is looked up in the rule tables.
    LookUp,
    /// Its flow waits for the controller; the packet is not counted yet.
    Wait,
    /// It follows the flow's records.
    Known,
}

/// The report of a flow: 168 bytes on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlowRecord {
    /// The tuple.
    pub tuple: FlowTuple,
    /// Its output port; ANY if it has none.
    pub out_port: PortNo,
    /// The reason why it is reported.
    pub reason: ReportReason,
    /// The knowledge of its path.
    pub state: FlowPhase,
    /// The number of its aggregate key; 255 for none.
    pub key: u8,
    /// Milliseconds since its first packet.
    pub age_ms: u64,
    /// Milliseconds since its last packet.
    pub idle_ms: u32,
    /// Forwarded packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Dropped packets.
    pub dropped_packets: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// The reason why the last one was dropped.
    pub drop_cause: DropCause,
    /// Its rate over some seconds.
    pub rate_kbps: u32,
    /// The rate in kb/s that it may have at its port now; 0 if the port sets no rates.
    pub share_kbps: u32,
    /// The guaranteed rate in kb/s that its port has granted.
    pub guaranteed_kbps: u32,
    /// Microseconds until its expected time of arrival; 0 if that has passed.
    pub eta_us: u32,
    /// The number of its bytes that wait at its port.
    pub waiting_bytes: u32,
    /// Its quality of service.
    pub qos: QosRecord,
    /// The registers of an engine.
    pub registers: [u64; 4],
}
