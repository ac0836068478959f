//! The flow state table: the state of each microflow. It shares nothing, so several tables can be
//! used in parallel, with flows distributed by tuple.
//!
//! Source: OpenQFlow (Ko and others, 2013), section 3.

use alloc::collections::BTreeMap;

use bofuss_datapath::{StepMap, Time};
use bofuss_oflib::PortNo;

use super::aggregates::AggregateTable;
use super::balance::Balancer;
use super::ended::EndedFlows;
use super::flow::*;
use super::paths::Paths;
use super::records::{ForwardRecord, QosRecord};
use super::tuple::FlowTuple;

/// The number of flows that are compared when the table is full; the one that was idle for longest
/// is evicted.
const EVICTION_GROUP: u32 = 16;
/// Nanoseconds of a millisecond.
const MS: u64 = Time::SEC / 1000;

/// Counters of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Flows that were created.
    pub created: u64,
    /// Flows that ended because they were idle.
    pub expired: u64,
    /// Flows that were evicted for others.
    pub evicted: u64,
    /// Packets for which rules were looked up.
    pub resolved: u64,
    /// Packets that were dropped while their flow waited for the controller.
    pub suppressed: u64,
    /// Flows that ended without a report, because too many ended at once.
    pub unreported: u64,
    /// Flows that were moved between links.
    pub moved: u64,
    /// Flows that were classified by their payload.
    pub classified: u64,
    /// Guarantees that rules or engines requested and a port could not grant.
    pub not_admitted: u64,
}

/// All microflows of a switch, or of one part of it.
#[derive(Debug, Default)]
pub struct FlowTable {
    /// The limits.
    pub limits: FlowLimits,
    /// The counters of events.
    pub counts: FlowCounts,
    /// True if the last reports of flows that end are kept.
    pub reports_ends: bool,
    pub(super) flows: StepMap<FlowTuple, TrackedFlow>,
    pub(super) engines: BTreeMap<u32, EngineState>,
    pub(super) aggregates: AggregateTable,
    pub(super) paths: Paths,
    pub(super) balancer: Balancer,
    /// The rates of ports in kb/s, as of the current round.
    pub(super) port_kbps: BTreeMap<PortNo, u64>,
    pub(super) ended: EndedFlows,
    pub(super) epoch: u32,
    pub(super) round: ExpiryRound,
}

impl FlowTable {
    /// Returns how many flows there are.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.flows.len() == 0
    }

    /// The aggregates.
    pub fn aggregates(&self) -> &AggregateTable {
        &self.aggregates
    }

    /// Begins a new epoch, because rules have changed: the next packet of each flow is looked up
    /// again.
    pub fn begin_epoch(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// Begins the lookup of a tuple's flow by prefetching its place in the index.
    #[inline]
    pub fn seek(&self, tuple: FlowTuple) -> SoughtTuple {
        let hash = self.flows.hash(&tuple);
        self.flows.prefetch(hash);
        SoughtTuple {
            tuple,
            hash,
            slot: u32::MAX,
        }
    }

    /// Guesses the slot of a flow, and prefetches it.
    #[inline]
    pub fn guess(&self, sought: &mut SoughtTuple) {
        sought.slot = self.flows.guess(sought.hash);
    }

    /// Finds or creates the flow of a received packet, and counts the packet as forwarded unless
    /// the flow waits for the controller.
    pub fn touch(&mut self, now: Time, sought: &SoughtTuple, packet: CountedPacket) -> Touched {
        let found = self.flows.find(sought.hash, sought.slot, &sought.tuple);
        let slot = match found {
            Some(slot) if !self.is_over(now, slot) => slot,
            Some(slot) => {
                self.end(now, slot, ReportReason::Idle);
                self.create(now, sought)
            }
            None => self.create(now, sought),
        };
        let (_, flow) = self
            .flows
            .at_mut(slot)
            .expect("it was found or made just now");
        if packet.closes {
            flow.flags |= CLOSING;
        }
        let is_fresh = flow.epoch == self.epoch;
        let lookup = match flow.state {
            FlowPhase::Resolved if is_fresh => FlowLookup::Known,
            FlowPhase::Pending if is_fresh && flow.waits_for_answer(now) => FlowLookup::Wait,
            FlowPhase::Resolved | FlowPhase::Pending | FlowPhase::Unresolved => FlowLookup::LookUp,
        };
        flow.flags |= CHANGED;
        flow.used = now;
        if lookup != FlowLookup::Wait {
            flow.forward(packet);
            self.counts.resolved += u64::from(lookup == FlowLookup::LookUp);
        }
        let passes = flow.bytes >= self.limits.report_bytes && !flow.has(REPORTED_BYTES);
        if passes {
            flow.flags |= REPORTED_BYTES;
        }
        Touched {
            slot,
            lookup,
            passes,
        }
    }

    pub(super) fn is_over(&self, now: Time, slot: u32) -> bool {
        let (tuple, flow) = self.flows.at(slot).expect("its slot is that of a flow");
        now.since(flow.used) >= self.limits.idle_ns(tuple, flow)
    }

    fn create(&mut self, now: Time, sought: &SoughtTuple) -> u32 {
        if self.flows.len() >= self.limits.flows {
            self.evict(now, sought.hash);
        }
        self.counts.created += 1;
        self.flows.insert(sought.tuple, TrackedFlow::new(now))
    }

    /// Evicts the flow of a group that was idle for longest. A hash with a secret chooses the
    /// group, so that it is unpredictable.
    fn evict(&mut self, now: Time, hash: u64) {
        let first = (hash % self.limits.flows as u64) as u32;
        let mut next = self.flows.used(first).or_else(|| self.flows.used(0));
        let mut oldest: Option<(Time, u32)> = None;
        for _ in 0..EVICTION_GROUP {
            let Some(slot) = next else { break };
            let (_, flow) = self.flows.at(slot).expect("the slot is used");
            if oldest.is_none_or(|(used, _)| flow.used < used) {
                oldest = Some((flow.used, slot));
            }
            next = self.flows.used(slot + 1).or_else(|| self.flows.used(0));
        }
        if let Some((_, slot)) = oldest {
            self.end(now, slot, ReportReason::Evicted);
        }
    }

    /// Removes a flow, after storing its last report.
    pub(super) fn end(&mut self, now: Time, slot: u32, reason: ReportReason) {
        self.settle(slot);
        let (&tuple, &flow) = self.flows.at(slot).expect("its slot is that of a flow");
        match reason {
            ReportReason::Evicted => self.counts.evicted += 1,
            ReportReason::Idle | ReportReason::Periodic | ReportReason::Threshold => {
                self.counts.expired += 1;
            }
        }
        if self.reports_ends {
            let record = self.record(now, slot, reason);
            let is_kept = self.ended.push(record.expect("its slot is that of a flow"));
            self.counts.unreported += u64::from(!is_kept);
        }
        self.aggregates.leave(flow.aggregate);
        self.paths.release(&flow);
        if flow.has(HAS_ENGINE) {
            self.engines.remove(&slot);
        }
        self.flows.remove(&tuple);
    }

    /// Adds what a flow has counted since the last expiry round to its aggregate, if it has one.
    pub(super) fn settle(&mut self, slot: u32) -> bool {
        let Some((_, flow)) = self.flows.at(slot) else {
            return false;
        };
        let Some(aggregate) = self.aggregates.counts_mut(flow.aggregate) else {
            return false;
        };
        aggregate.packets += u64::from(flow.window_packets);
        aggregate.bytes += u64::from(flow.window_bytes);
        true
    }

    /// Resolves a flow by the records of rules, except for what an engine has chosen. Returns false
    /// if there is no room for a record; its packets are then still looked up.
    pub fn resolve(&mut self, slot: u32, forward: &ForwardRecord, qos: &QosRecord) -> bool {
        let (_, flow) = self.flows.at_mut(slot).expect("its slot is that of a flow");
        let has_forward = flow.has(OWN_FORWARD) || self.paths.set_forward(flow, forward);
        let has_qos = flow.has(OWN_QOS) || self.paths.set_qos(flow, qos);
        self.join_aggregate(slot);
        let (_, flow) = self.flows.at_mut(slot).expect("it was there just now");
        if has_forward && has_qos {
            flow.state = FlowPhase::Resolved;
            flow.epoch = self.epoch;
        }
        has_forward && has_qos
    }

    /// Moves a flow to the aggregate that its records determine.
    pub(super) fn join_aggregate(&mut self, slot: u32) {
        let (tuple, flow) = self.flows.at(slot).expect("its slot is that of a flow");
        let before = flow.aggregate;
        let rule = self.paths.forward(flow);
        let qos = self.paths.qos(flow);
        let port = rule.map_or(PortNo::ANY, |(rule, _)| rule.port);
        let key = qos.map_or(QosRecord::PORT_KEY, |qos| qos.key);
        let Some(own) = self.aggregates.join(tuple, (port, key), before) else {
            return;
        };
        let is_settled = self.settle(slot);
        let (_, flow) = self.flows.at_mut(slot).expect("its slot is that of a flow");
        flow.aggregate = own;
        if is_settled {
            flow.window_packets = 0;
            flow.window_bytes = 0;
        }
        self.aggregates.leave(before);
    }

    /// The path that an engine has chosen for a flow, if any.
    pub(super) fn own_forward(&self, slot: u32) -> Option<&ForwardRecord> {
        let (_, flow) = self.flows.at(slot)?;
        let (rule, _) = self.paths.forward(flow)?;
        flow.has(OWN_FORWARD).then_some(rule)
    }

    /// The path of a flow; `None` if it is not resolved.
    #[inline]
    pub fn resolved(&self, slot: u32) -> Option<Resolved<'_>> {
        let (_, flow) = self.flows.at(slot)?;
        self.paths.resolved(flow)
    }

    /// Returns true if a flow was resolved under the current rules.
    pub fn is_fresh(&self, now: Time, slot: u32) -> bool {
        let Some((_, flow)) = self.flows.at(slot) else {
            return false;
        };
        let waits = flow.state != FlowPhase::Pending || flow.waits_for_answer(now);
        flow.epoch == self.epoch && waits && !self.is_over(now, slot)
    }

    /// A flow by its slot.
    pub(super) fn flow(&self, slot: u32) -> Option<&TrackedFlow> {
        self.flows.at(slot).map(|(_, flow)| flow)
    }

    /// Marks a flow as classified.
    pub fn set_classified(&mut self, slot: u32) {
        self.counts.classified += 1;
        if let Some((_, flow)) = self.flows.at_mut(slot) {
            flow.flags |= CLASSIFIED;
        }
    }

    /// The slot of a flow, if there is one.
    pub fn find(&self, tuple: &FlowTuple) -> Option<u32> {
        self.flows.find(self.flows.hash(tuple), u32::MAX, tuple)
    }

    /// The first flow from a slot on, with its slot.
    pub fn next(&self, from: u32) -> Option<(u32, &FlowTuple, &TrackedFlow)> {
        let slot = self.flows.used(from)?;
        let (tuple, flow) = self.flows.at(slot)?;
        Some((slot, tuple, flow))
    }

    /// The report of a flow.
    pub fn record(&self, now: Time, slot: u32, reason: ReportReason) -> Option<FlowRecord> {
        let (tuple, flow) = self.flows.at(slot)?;
        let qos = self.paths.qos(flow).copied();
        let port = self.paths.forward(flow).map(|(_, port)| port);
        let aggregate = self.aggregates.get(flow.aggregate);
        let registers = self.engines.get(&slot).map(|engine| engine.registers);
        Some(FlowRecord {
            tuple: *tuple,
            out_port: port.unwrap_or(PortNo::ANY),
            reason,
            state: flow.state,
            key: aggregate.map_or(QosRecord::PORT_KEY, |(id, _)| id.key),
            age_ms: now.since(flow.since) / MS,
            idle_ms: (now.since(flow.used) / MS) as u32,
            packets: flow.packets,
            bytes: flow.bytes,
            dropped_packets: flow.dropped_packets.into(),
            dropped_bytes: flow.dropped_bytes,
            rate_kbps: flow.rate_kbps,
            drop_cause: flow.drop_cause,
            share_kbps: 0,
            eta_us: 0,
            waiting_bytes: 0,
            guaranteed_kbps: 0,
            qos: qos.unwrap_or_default(),
            registers: registers.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests;
