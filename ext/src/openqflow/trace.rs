//! A trace: what would become of a packet, and what is known of its flow.

use alloc::{format, string::ToString};

use bofuss_datapath::HookContext;
use bofuss_oflib::wire::Text;

use super::flow::{CountedPacket, FlowPhase, ReportReason};
use super::hook::OpenQflow;
use super::tuple::FlowTuple;

impl OpenQflow {
    /// Does in a trace what would become of a packet.
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
                self.send(cx, slot, packet);
            }
            (Some(slot), Some(FlowPhase::Pending)) if is_fresh => {
                let bytes = cx.frame().buffer_bytes();
                if self.pending.has_room(slot, &tuple, bytes) {
                    cx.say(|| "it waits until there is a rule".to_string());
                    // Its way ends here; what is held of a trace never goes on.
                    drop(cx.hold(cx.table));
                    return;
                }
                cx.drop("pending");
            }
            (..) => self.look_up(cx, tuple, None, packet),
        }
    }
}
