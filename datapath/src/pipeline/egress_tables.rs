//! The egress tables, which a packet goes through on its way to a port.
//! Spec: OpenFlow 1.5.1 section 5.1.1.

use bofuss_oflib::action::Output;
use bofuss_oflib::field::ACTSET_OUTPUT;
use bofuss_oflib::types::{MaxLen, TableId};
use bofuss_oflib::{Action, PortNo};
use bofuss_packet::{Packet, offload};

use crate::pipeline::Walk;
use crate::pipeline::context::Context;
use crate::qos::QueueClass;
use crate::{DropReason, Sink, Step};

impl Walk<'_> {
    /// Notes in the key which output the action set has. Spec: OpenFlow 1.5.1 section 7.2.3.9.
    pub(super) fn note_output(&mut self) {
        let port = u128::from(self.set.output().0);
        self.packet.key_mut().set(ACTSET_OUTPUT, port);
    }
}

impl<S: Sink> Context<'_, S> {
    /// Sends a packet that is to leave by a port through the egress tables from `first` on. Its
    /// action set begins with the output to that port, and its other fields are as they were.
    ///
    /// Choice: a copy that an entry of these tables outputs begins with them anew, for its own
    /// port; a packet whose copies do so too often in a row is dropped.
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

    /// Carries out an output with the packet itself: by the port if it has passed the egress
    /// tables, else as any other.
    pub(crate) fn output_of(&mut self, walk: &mut Walk<'_>, port: PortNo) {
        if walk.leaves {
            self.leave_after_egress(walk.packet, port, &walk.class);
        } else {
            self.output(walk.packet, port, &walk.class);
        }
    }
}
