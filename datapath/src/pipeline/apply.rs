//! The behaviour of actions: one arm for each. Spec: OpenFlow 1.3.5 section 5.12.

use bofuss_oflib::action::Output;
use bofuss_oflib::field_set::FieldSet;
use bofuss_oflib::message::PacketInReason;
use bofuss_oflib::{Action, PortNo};
use bofuss_packet::EditError;

use crate::engine_notes::EngineNotes;
use crate::pipeline::context::Context;
use crate::pipeline::walk::{PendingOutput, Stage, Walk};
use crate::{DropReason, Sink, Step};

impl<S: Sink, E: EngineNotes> Context<'_, S, E> {
    /// Applies one action to a packet in the pipeline.
    pub(crate) fn apply(
        &mut self,
        walk: &mut Walk<'_, E>,
        action: &Action,
    ) -> Result<(), DropReason> {
        if S::TRACES {
            self.sink.step(Step::Action(action));
        }
        self.flush_pending(walk);
        let packet = &mut *walk.packet;
        let edit = match action {
            Action::Output(output) => return self.output_to(walk, output),
            Action::Group(id) => {
                self.enter_group(walk, *id);
                Ok(())
            }
            Action::SetQueue(queue) => {
                walk.class.queue = *queue;
                Ok(())
            }
            Action::SetField(set) if set.0.is_exact() => {
                packet.set_field(set.0.field, &set.0.value)
            }
            Action::SetField(set) => {
                E::note_read(&mut walk.notes, FieldSet::of(set.0.field));
                packet.set_masked(&set.0)
            }
            Action::CopyField(copy) => {
                E::note_read(&mut walk.notes, copy.fields());
                packet.copy_field(copy)
            }
            Action::PushVlan(ty) => packet.push_vlan(ty.0),
            Action::PopVlan => packet.pop_vlan(),
            Action::PushMpls(ty) => packet.push_mpls(ty.0),
            Action::PopMpls(ty) => packet.pop_mpls(ty.0),
            Action::PushPbb(ty) => packet.push_pbb(ty.0),
            Action::PopPbb => packet.pop_pbb(),
            Action::SetNwTtl(ttl) => packet.set_nw_ttl(*ttl),
            Action::DecNwTtl => packet.dec_nw_ttl(),
            Action::SetMplsTtl(ttl) => packet.set_mpls_ttl(*ttl),
            Action::DecMplsTtl => packet.dec_mpls_ttl(),
            Action::CopyTtlOut => packet.copy_ttl_out(),
            Action::CopyTtlIn => packet.copy_ttl_in(),
            Action::Meter(id) => return self.apply_meter(walk, *id),
            Action::Experimenter(_) if action.is_tag_vlan() => packet.tag_vlan(),
            Action::Experimenter(value) => return self.apply_extension(walk, value),
        };
        match edit {
            Ok(()) => Ok(()),
            // An action on a missing header does nothing.
            Err(EditError::NoHeader) => Ok(()),
            Err(EditError::NoHeadroom) => Err(DropReason::NoHeadroom),
            Err(EditError::InvalidTtl) => {
                self.offer_to_controllers(walk, PacketInReason::INVALID_TTL, None);
                Err(DropReason::InvalidTtl)
            }
        }
    }

    /// Executes an output action.
    fn output_to(&mut self, walk: &mut Walk<'_, E>, output: &Output) -> Result<(), DropReason> {
        match output.port {
            PortNo::CONTROLLER => {
                self.offer_to_controllers(walk, walk.cause.reason, Some(output.max_len));
            }
            PortNo::TABLE => return self.enter_tables(walk),
            port => {
                let in_set = walk.cause.reason == PacketInReason::ACTION_SET;
                let has_passed = in_set && walk.stage == Stage::EgressTables(port);
                walk.output.pending = Some(if has_passed {
                    PendingOutput::AfterEgressTables(port)
                } else {
                    PendingOutput::To(port)
                });
                if S::TRACES {
                    // So that a trace shows the output in its place.
                    self.flush_pending(walk);
                }
            }
        }
        Ok(())
    }

    /// Sends a packet-out's packet through the tables.
    fn enter_tables(&mut self, walk: &mut Walk<'_, E>) -> Result<(), DropReason> {
        if walk.stage != Stage::BeforeTables {
            return Err(DropReason::Resubmitted);
        }
        walk.stage = Stage::Tables;
        let mut packet = walk.packet.try_clone().ok_or(DropReason::NoBuffer)?;
        walk.output.sent = true;
        self.run(&mut packet, E::PathNotes::default());
        Ok(())
    }
}
