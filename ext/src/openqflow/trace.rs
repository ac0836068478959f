//! Traces: what would happen to a packet, and the state of its flow.

use alloc::{format, string::ToString};

use bofuss_datapath::HookContext;
use bofuss_oflib::wire::Text;

use super::flow::{CountedPacket, FlowPhase, ReportReason};
use super::forwarding::OpenQflow;
use super::tuple::FlowTuple;

impl OpenQflow {
    /// Handles a packet in a trace, without changing any state.
    pub(super) fn try_out(
        &mut self,
        cx: &mut HookContext<'_>,
        tuple: FlowTuple,
        packet: CountedPacket,
    ) {
        let slot = self.table.find(&tuple);
        let now = cx.now;
        let record = slot.and_then(|slot| self.table.record(now, slot, ReportReason::Periodic));
        cx.say(|| match &record {
            Some(record) => format!("the flow {}", Text(record)),
            None => format!("a new flow {}", Text(&tuple)),
        });
        let is_fresh = slot.is_some_and(|slot| self.table.is_fresh(now, slot));
        match (slot, record.map(|record| record.state)) {
            (Some(slot), Some(FlowPhase::Resolved)) if is_fresh && !self.looks_up_each => {
                self.send(cx, slot, &tuple, packet);
            }
            (Some(slot), Some(FlowPhase::Pending)) if is_fresh => {
                let bytes = cx.frame().buffer_bytes();
                if self.pending.has_room(slot, &tuple, bytes) {
                    cx.say(|| "it waits until there is a rule".to_string());
                    // Its path ends here, because a packet held in a trace never continues.
                    drop(cx.hold(cx.table));
                    return;
                }
                cx.drop("pending");
            }
            (..) => self.look_up(cx, tuple, None, packet),
        }
    }
}
