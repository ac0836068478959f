//! The egress tables, which each copy of a packet passes before it leaves by a port. Spec: OpenFlow
//! 1.5.1 section 5.1.1.

use bofuss_oflib::action::Output;
use bofuss_oflib::field::ACTSET_OUTPUT;
use bofuss_oflib::types::{MaxLen, TableId};
use bofuss_oflib::{Action, PortNo};
use bofuss_packet::Packet;

use crate::engine_notes::EngineNotes;
use crate::pipeline::context::Context;
use crate::pipeline::walk::{Stage, Walk};
use crate::qos::QueueClass;
use crate::{DropReason, Sink, Step};

impl<S: Sink, E: EngineNotes> Context<'_, S, E> {
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
        // An egress entry that outputs to another port would otherwise go on for ever.
        if !self.lane.work.begin_egress() {
            return self.drop_for(packet, class, DropReason::EgressLimit);
        }
        if S::TRACES {
            self.sink.step(Step::Egress(number));
        }
        // Entries match the port as this field. Spec: OpenFlow 1.5.1 section 5.1.1.
        packet.key_mut().set(ACTSET_OUTPUT, number.0.into());
        let mut walk = Walk::from(packet);
        walk.class = *class;
        walk.stage = Stage::EgressTables(number);
        // The lane's set is empty and has memory, so a packet in the egress tables allocates
        // nothing. In a nested pass it is in use, and a new set takes its place.
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
}
