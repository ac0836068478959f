//! The work of local engines on flows (registers, other records, a new path at a gap, copies), and
//! the expiry round, which measures rates and ends idle flows.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_datapath::{ControlContext, Time};
use bofuss_oflib::{ErrorCode, ExtValue, PortNo};

use super::REPORT;
use super::egress::add_standing;
use super::error::{NO_FLOW, TOO_MANY};
use super::flow::*;
use super::records::ForwardRecord;
use super::table::FlowTable;
use super::write::FlowWrite;
use crate::common::list::ValueList;

/// The most flows about which engines keep state.
const MAX_ENGINE_FLOWS: usize = 65_536;
/// The number of slots that one slice of an expiry round visits.
const SLICE_SLOTS: u32 = 1024;
/// Nanoseconds between two slices, so that packets need not wait.
const SLICE_NS: u64 = 1_000_000;
/// The most reports of one slice of an expiry round.
pub(super) const REPORTS_PER_SLICE: usize = 100;

/// The result of one slice of an expiry round.
#[derive(Debug, Default)]
pub struct ExpirySlice {
    /// Flows to report: those that have changed, if these were requested, and those whose rate has
    /// exceeded the limit.
    pub reports: Vec<FlowRecord>,
    /// True if it was the last slice of a round.
    pub is_last: bool,
}

impl FlowTable {
    /// Changes a flow as an engine requests. The choice holds until the flow ends or the engine
    /// gives it back. While the flow has a backlog, its new path waits as for a gap.
    ///
    /// Errors: NO_FLOW, TOO_MANY; then nothing is changed.
    pub fn write(&mut self, write: &FlowWrite, has_backlog: bool) -> Result<(), ErrorCode> {
        let slot = self.find(&write.tuple).ok_or(NO_FLOW)?;
        let keeps = write.registers.is_some() || write.copy_bytes > 0;
        let waits = write.forward.is_some() && (write.gap_us > 0 || has_backlog);
        if (keeps || waits)
            && !self.engines.contains_key(&slot)
            && self.engines.len() >= MAX_ENGINE_FLOWS
        {
            return Err(TOO_MANY);
        }
        let (forward, qos) = (write.forward.as_ref(), write.qos.as_ref());
        if !self.paths.has_room_for(forward, qos) {
            return Err(TOO_MANY);
        }
        if let Some(qos) = qos {
            let (_, flow) = self.flows.at_mut(slot).expect("it was found just now");
            self.paths.set_qos(flow, qos);
        }
        let ends_wait = write.forward.is_some() || write.gives_back;
        if let Some(engine) = self.engines.get_mut(&slot).filter(|_| ends_wait) {
            engine.next = None;
        }
        if let Some(forward) = forward.filter(|_| !waits) {
            self.take_path(slot, forward);
        }
        if keeps || waits {
            let engine = self.engines.entry(slot).or_default();
            engine.registers = write.registers.unwrap_or(engine.registers);
            if write.copy_bytes > 0 {
                engine.copy_left = write.copy_bytes;
            }
            if let Some(forward) = forward.filter(|_| waits) {
                engine.next = Some((forward.clone(), u64::from(write.gap_us) * 1000));
            }
        }
        let (_, flow) = self.flows.at_mut(slot).expect("it was found just now");
        if keeps || waits {
            flow.flags |= HAS_ENGINE;
        }
        if write.qos.is_some() {
            flow.flags |= OWN_QOS;
        }
        if write.gives_back {
            flow.flags &= !(OWN_FORWARD | OWN_QOS);
            flow.epoch = flow.epoch.wrapping_sub(1);
        }
        self.join_aggregate(slot);
        Ok(())
    }

    /// Puts a flow on a path that an engine has chosen, if there is room for its record.
    fn take_path(&mut self, slot: u32, forward: &ForwardRecord) {
        let (_, flow) = self.flows.at_mut(slot).expect("its slot is that of a flow");
        if !self.paths.set_forward(flow, forward) {
            return;
        }
        flow.flags |= OWN_FORWARD;
        // A flow for which the controller was asked now has its answer.
        if flow.state == FlowPhase::Pending {
            flow.state = FlowPhase::Unresolved;
        }
    }

    /// Switches the flow of a packet that has just arrived to the new path that waits for a gap,
    /// once no packet can still be on the old one: the gap has passed, and none waits at a port.
    pub fn reroute_after_gap(
        &mut self,
        now: Time,
        sought: &SoughtTuple,
        waits: impl Fn(PortNo, u64) -> bool,
    ) {
        let found = self.flows.find(sought.hash, sought.slot, &sought.tuple);
        let flow = found.and_then(|slot| Some((slot, self.flows.at(slot)?.1)));
        let Some((slot, flow)) = flow.filter(|(_, flow)| flow.has(HAS_ENGINE)) else {
            return;
        };
        let next = self.engines.get(&slot).and_then(|one| one.next.as_ref());
        let is_gap = next.is_some_and(|(_, gap_ns)| now.since(flow.used) >= *gap_ns);
        if !is_gap || self.has_backlog(slot, waits) {
            return;
        }
        let engine = self.engines.get_mut(&slot);
        if let Some((forward, _)) = engine.and_then(|engine| engine.next.take()) {
            self.take_path(slot, &forward);
            self.join_aggregate(slot);
        }
    }

    /// Returns true if an engine gets a copy of a flow's packet of `bytes` bytes; counts it if so.
    pub fn takes_copy(&mut self, slot: u32, bytes: u32) -> bool {
        let flow = self.flows.at(slot).map(|(_, flow)| flow);
        if !flow.is_some_and(|flow| flow.has(HAS_ENGINE)) {
            return false;
        }
        let Some(engine) = self.engines.get_mut(&slot) else {
            return false;
        };
        let wants = engine.copy_left > 0;
        engine.copy_left = engine.copy_left.saturating_sub(bytes);
        wants
    }

    /// Visits `slots` slots from where the last call ended: ends idle flows, and measures the rates
    /// of the others. With `reports_all`, all changed flows are reported.
    pub fn expire(&mut self, now: Time, slots: u32, reports_all: bool) -> ExpirySlice {
        let mut slice = ExpirySlice::default();
        if self.round.begins() {
            self.round.begin(now);
        }
        let mut end = self.round.next_slot.saturating_add(slots);
        while let Some(slot) = self
            .flows
            .used(self.round.next_slot)
            .filter(|slot| *slot < end)
        {
            self.round.next_slot = slot + 1;
            if self.is_over(now, slot) {
                self.end(now, slot, ReportReason::Idle);
                continue;
            }
            self.settle(slot);
            let port = self.resolved(slot).map(|known| known.port);
            let port_kbps = port.and_then(|port| self.port_kbps.get(&port));
            let limit_kbps = self.limits.fast_kbps(port_kbps);
            let (_, flow) = self.flows.at_mut(slot).expect("the slot is used");
            flow.end_window(self.round.last_ns.min(now.since(flow.since)));
            let rate_kbps = flow.rate_kbps;
            let is_fast = u64::from(rate_kbps) >= limit_kbps && !flow.has(REPORTED_RATE);
            let is_due = is_fast || reports_all && flow.has(CHANGED);
            if is_due {
                flow.flags &= !CHANGED;
            }
            if is_fast {
                flow.flags |= REPORTED_RATE;
            }
            if self.balancer.is_on() {
                if let Some(port) = self.resolved(slot).map(|known| known.port) {
                    self.balancer.note(slot, rate_kbps, port);
                }
            }
            if !is_due {
                continue;
            }
            let reason = if is_fast {
                ReportReason::Threshold
            } else {
                ReportReason::Periodic
            };
            slice.reports.extend(self.record(now, slot, reason));
            if slice.reports.len() >= REPORTS_PER_SLICE {
                end = self.round.next_slot;
            }
        }
        slice.is_last = self.flows.used(self.round.next_slot).is_none();
        self.round.next_slot = if slice.is_last { 0 } else { end };
        if slice.is_last && self.balancer.is_on() {
            self.balance();
        }
        slice
    }

    /// Has flows change links at their next gap, as long as moving one of the remembered flows
    /// evens out the measured loads.
    fn balance(&mut self) {
        let mut balancer = core::mem::take(&mut self.balancer);
        while let Some((slot, port)) = balancer.next(|port| self.paths.is_usable(port)) {
            if self.reroute(slot, port, balancer.gap_us).is_ok() {
                self.counts.moved += 1;
            }
        }
        balancer.clear();
        self.balancer = balancer;
    }

    /// Has a flow continue on another port after its next gap, at the earliest from its next packet
    /// on. The port that it uses until then, own or failover, becomes its failover port.
    pub fn reroute(&mut self, slot: u32, port: PortNo, gap_us: u32) -> Result<(), ErrorCode> {
        let (&tuple, _) = self.flows.at(slot).ok_or(NO_FLOW)?;
        let known = self.resolved(slot).ok_or(NO_FLOW)?;
        let write = FlowWrite {
            forward: Some(ForwardRecord {
                port,
                failover: known.port,
                ..known.forward.clone()
            }),
            gap_us,
            ..FlowWrite::of(tuple)
        };
        self.write(&write, true)
    }
}

/// The known rates of ports in kb/s: the rate that its discipline shares, or else the link's.
fn port_rates(cx: &ControlContext<'_>) -> BTreeMap<PortNo, u64> {
    let mut rates = BTreeMap::new();
    for (number, port) in cx.ports() {
        let kbps = match cx.guarantees(*number) {
            Some(shared) => shared.granted_kbps + shared.free_kbps,
            None => port.desc.curr_speed.into(),
        };
        if kbps > 0 {
            rates.insert(*number, kbps);
        }
    }
    rates
}

/// The expiry rounds over all flows.
#[derive(Default)]
pub(super) struct Expiry {
    /// The time when the next slice of a round is due.
    pub(super) due: Time,
    /// The time when flows were last reported, and whether this round reports them.
    pushed_at: Time,
    pushes: bool,
}

impl Expiry {
    /// Does one slice of a round. Flows are reported every `push_ns` nanoseconds.
    pub(super) fn expire_some(
        &mut self,
        table: &mut FlowTable,
        push_ns: u64,
        cx: &mut ControlContext<'_>,
    ) {
        let now = cx.now;
        if table.round.begins() {
            let is_time = now.since(self.pushed_at) >= push_ns;
            self.pushes = is_time && table.reports_ends;
            if is_time {
                self.pushed_at = now;
            }
            table.port_kbps = port_rates(cx);
        }
        let mut slice = table.expire(now, SLICE_SLOTS, self.pushes);
        while slice.reports.len() < REPORTS_PER_SLICE {
            let Some(record) = table.ended.pop() else {
                break;
            };
            slice.reports.push(record);
        }
        for record in &mut slice.reports {
            add_standing(table, cx, record);
        }
        if !slice.reports.is_empty() {
            cx.notify(ExtValue::typed(
                REPORT,
                ValueList::<FlowRecord>(slice.reports),
            ));
        }
        let is_done = slice.is_last && table.ended.is_empty();
        self.due = now.after(if is_done { ROUND_NS } else { SLICE_NS });
    }
}
