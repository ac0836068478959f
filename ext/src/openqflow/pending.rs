//! Packets of flows that wait for the controller: a few per flow, in order, until rules change.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_datapath::{ControlContext, HeldPacket, HookContext, Time};
use bofuss_oflib::PortNo;
use bofuss_oflib::types::TableId;
use bofuss_packet::offload;

use super::flow::{CountedPacket, DropCause, FlowPhase};
use super::table::FlowTable;
use super::tuple::FlowTuple;

/// The most waiting packets of one flow.
pub(super) const PACKETS_PER_FLOW: usize = 8;
/// The most bytes of buffers of all waiting packets. Packets from one port may use at most as much
/// as then remains free, so that a flooded port leaves room to others.
pub(super) const MAX_BYTES: usize = 1 << 20;
/// Nanoseconds from a change of rules until waiting packets continue. Choice: the controller sends
/// the packet that it got together with its rule, and that packet was the first.
const RELEASE_NS: u64 = Time::SEC / 1000;
/// The number of flows whose packets continue in one turn, so that other packets need not wait.
const FLOWS_PER_RELEASE: usize = 8;

/// The waiting packets of one flow.
#[derive(Debug)]
struct PendingFlow {
    tuple: FlowTuple,
    /// The time when they stop waiting.
    until: Time,
    packets: Vec<HeldPacket>,
}

/// The packets that wait.
#[derive(Debug, Default)]
pub(super) struct PendingPackets {
    /// By the slot of their flow.
    flows: BTreeMap<u32, PendingFlow>,
    bytes: usize,
    bytes_of: BTreeMap<PortNo, usize>,
    /// The time when some continue, or have waited too long.
    due: Option<Time>,
}

/// Packets that need not wait any longer.
#[derive(Debug, Default)]
pub(super) struct DuePackets {
    /// Packets to look up again, in this order.
    pub(super) released: Vec<HeldPacket>,
    /// Packets that have waited too long, with the slot and the tuple of their flow.
    pub(super) dropped: Vec<(u32, FlowTuple, HeldPacket)>,
}

impl PendingPackets {
    /// Returns how many wait.
    pub(super) fn len(&self) -> usize {
        self.flows.values().map(|flow| flow.packets.len()).sum()
    }

    /// The time when `take_due` has something to do.
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// Returns true if packets of a flow wait.
    pub(super) fn has(&self, slot: u32, tuple: &FlowTuple) -> bool {
        let flow = self.flows.get(&slot);
        flow.is_some_and(|flow| flow.tuple == *tuple)
    }

    /// Returns true if a packet of a flow may wait.
    pub(super) fn has_room(&self, slot: u32, tuple: &FlowTuple, bytes: usize) -> bool {
        let of_port = self.bytes_of.get(&PortNo(tuple.in_port)).copied();
        let left = MAX_BYTES - self.bytes;
        let is_full = self
            .flows
            .get(&slot)
            .is_some_and(|flow| flow.tuple != *tuple || flow.packets.len() >= PACKETS_PER_FLOW);
        !is_full && bytes <= left && of_port.unwrap_or(0) + bytes <= left
    }

    /// Adds a packet, for which there is room.
    pub(super) fn push(&mut self, slot: u32, tuple: &FlowTuple, until: Time, held: HeldPacket) {
        let bytes = held.packet.frame.buffer_bytes();
        self.bytes += bytes;
        *self.bytes_of.entry(PortNo(tuple.in_port)).or_default() += bytes;
        let flow = self.flows.entry(slot).or_insert_with(|| PendingFlow {
            tuple: *tuple,
            until,
            packets: Vec::new(),
        });
        flow.packets.push(held);
        self.wake_at(until);
    }

    /// Schedules a release, because rules have changed or an engine has chosen a path.
    pub(super) fn paths_changed(&mut self, now: Time) {
        if !self.flows.is_empty() {
            self.wake_at(now.after(RELEASE_NS));
        }
    }

    fn wake_at(&mut self, at: Time) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// Takes the packets of flows that no longer wait, and those that have waited too long.
    pub(super) fn take_due(&mut self, now: Time, table: &FlowTable) -> DuePackets {
        let mut taken = DuePackets::default();
        if self.due.is_none_or(|due| due > now) {
            return taken;
        }
        self.due = None;
        let mut released = Vec::new();
        let mut dropped = Vec::new();
        let mut next: Option<Time> = None;
        for (slot, flow) in &self.flows {
            let waits = table.waits(*slot, &flow.tuple);
            let mut at = flow.until;
            if waits && flow.until <= now {
                dropped.push(*slot);
                continue;
            } else if !waits && released.len() < FLOWS_PER_RELEASE {
                released.push(*slot);
                continue;
            } else if !waits {
                at = now.after(RELEASE_NS);
            }
            next = Some(next.map_or(at, |next| next.min(at)));
        }
        self.due = next;
        for slot in released {
            let flow = self.remove(slot);
            taken.released.extend(flow.packets);
        }
        for slot in dropped {
            let PendingFlow { tuple, packets, .. } = self.remove(slot);
            let each = packets.into_iter().map(|held| (slot, tuple, held));
            taken.dropped.extend(each);
        }
        taken
    }

    fn remove(&mut self, slot: u32) -> PendingFlow {
        let flow = self.flows.remove(&slot).expect("it was there just now");
        let sizes = flow
            .packets
            .iter()
            .map(|one| one.packet.frame.buffer_bytes());
        let bytes: usize = sizes.sum();
        self.bytes -= bytes;
        let in_port = PortNo(flow.tuple.in_port);
        let of_port = self
            .bytes_of
            .get_mut(&in_port)
            .expect("its packets were counted");
        *of_port -= bytes;
        if *of_port == 0 {
            self.bytes_of.remove(&in_port);
        }
        flow
    }

    /// Holds a packet until there is a rule for its flow. It continues with `table`, the flows'
    /// one, because earlier tables have already changed it.
    pub(super) fn keep(
        &mut self,
        flows: &mut FlowTable,
        table: Option<TableId>,
        cx: &mut HookContext<'_>,
        slot: u32,
        tuple: &FlowTuple,
        packet: CountedPacket,
    ) {
        let bytes = cx.frame().buffer_bytes();
        let table = table.filter(|_| self.has_room(slot, tuple, bytes));
        if let Some(held) = table.and_then(|table| cx.hold(table)) {
            let flow = flows.flow(slot).expect("its slot is that of a flow");
            let until = flow.waits_until();
            self.push(slot, tuple, until, held);
            return;
        }
        flows.suppress(slot, tuple, packet);
        cx.drop("pending");
    }

    /// Resumes held packets whose flow no longer waits.
    pub(super) fn release(&mut self, flows: &mut FlowTable, cx: &mut ControlContext<'_>) {
        let due = self.take_due(cx.now, flows);
        for held in due.released {
            cx.resume(held);
        }
        for (slot, tuple, held) in due.dropped {
            let (packets, bytes) = offload::wire_count(&held.packet.frame);
            let counted = CountedPacket {
                packets: packets as u32,
                bytes: bytes as u32,
                closes: false,
            };
            flows.suppress(slot, &tuple, counted);
        }
    }
}

impl FlowTable {
    /// Makes a flow that no rule forwards wait for the controller. Returns true if the controller
    /// has to be asked now, and false if it was asked within the last second.
    pub fn wait(&mut self, now: Time, slot: u32) -> bool {
        let Some((_, flow)) = self.flows.at_mut(slot) else {
            return true;
        };
        let asks = flow.state != FlowPhase::Pending || !flow.waits_for_answer(now);
        flow.state = FlowPhase::Pending;
        flow.epoch = self.epoch;
        if asks {
            flow.asked = now;
        }
        asks
    }

    /// Returns true if the flow of this tuple waits for the controller under the current rules.
    pub(super) fn waits(&self, slot: u32, tuple: &FlowTuple) -> bool {
        let known = self.flows.at(slot).filter(|(known, _)| *known == tuple);
        let flow = known.map(|(_, flow)| flow);
        flow.is_some_and(|flow| flow.state == FlowPhase::Pending && flow.epoch == self.epoch)
    }

    /// Counts a packet as dropped, because its flow waits for the controller.
    pub fn suppress(&mut self, slot: u32, tuple: &FlowTuple, packet: CountedPacket) {
        self.counts.suppressed += u64::from(packet.packets);
        let known = self.flows.at_mut(slot);
        if let Some((_, flow)) = known.filter(|(known, _)| *known == tuple) {
            flow.drop(packet, DropCause::Pending);
        }
    }
}
