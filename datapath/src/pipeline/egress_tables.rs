//! The egress tables, which each copy of a packet passes before it leaves by a port. Spec: OpenFlow
//! 1.5.1 section 5.1.1.

use bofuss_oflib::action::Output;
use bofuss_oflib::field::ACTSET_OUTPUT;
use bofuss_oflib::types::{MaxLen, TableId};
use bofuss_oflib::{Action, PortNo};
use bofuss_packet::{Packet, offload};

use crate::frame_engine::FrameEngine;
use crate::pipeline::Walk;
use crate::pipeline::context::Context;
use crate::qos::QueueClass;
use crate::{DropReason, Sink, Step};

impl<E: FrameEngine> Walk<'_, E> {
    /// Sets the field ACTSET_OUTPUT of the key to the output in the action set. Spec: OpenFlow
    /// 1.5.1 section 7.2.3.9.
    pub(super) fn note_output(&mut self) {
        let port = u128::from(self.set.output().0);
        self.packet.key_mut().set(ACTSET_OUTPUT, port);
    }
}

impl<S: Sink, E: FrameEngine> Context<'_, S, E> {
    /// Sends a packet that has to leave by a port through the egress tables from `first` on. Its
    /// action set begins with the output to that port, and its other fields are unchanged.
    ///
    /// Choice: a copy that an egress entry outputs passes the egress tables from the first one, for
    /// its own port. Copies of copies are dropped when this is nested too deeply.
    #[inline(never)]
    pub(crate) fn pass_egress(
        &mut self,
        packet: &mut Packet,
        number: PortNo,
        class: &QueueClass,
        first: TableId,
    ) {
        if !self.lane.work.begin_egress() {
            let on_wire = offload::wire_count(&packet.frame);
            return self.drop_for(class, on_wire, DropReason::EgressLimit);
        }
        if S::TRACES {
            self.sink.step(Step::Egress(number));
        }
        packet.key_mut().set(ACTSET_OUTPUT, number.0.into());
        let mut walk = Walk::from(packet);
        walk.class = *class;
        walk.leaves_by = Some(number);
        core::mem::swap(&mut walk.set, &mut self.lane.spare_set);
        walk.set.write(&[Action::Output(Output {
            port: number,
            max_len: MaxLen::NO_BUFFER,
        })]);
        let result = self.tables_and_set(&mut walk, Some(first));
        walk.set.clear();
        core::mem::swap(&mut walk.set, &mut self.lane.spare_set);
        self.end_copy(&mut walk, result);
        self.lane.work.end_egress();
    }

    /// Executes an output with the packet itself: directly to the port if it has passed the egress
    /// tables, otherwise like any other output.
    pub(crate) fn output_of(&mut self, walk: &mut Walk<'_, E>, port: PortNo) {
        if walk.bypasses_egress_tables {
            self.leave_after_egress(walk.packet, port, &walk.class);
        } else {
            self.output(walk.packet, port, &walk.class);
        }
    }
}
