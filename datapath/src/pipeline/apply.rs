//! The actions' behaviour: one arm each. Spec: OpenFlow 1.3.5 section 5.12.

use bofuss_oflib::message::PacketInReason;
use bofuss_oflib::{Action, PortNo};
use bofuss_packet::EditError;

use crate::pipeline::Walk;
use crate::pipeline::context::Context;
use crate::{DropReason, Sink, Step};

impl<S: Sink> Context<'_, S> {
    /// Applies one action to a packet on its way.
    pub(crate) fn apply(&mut self, walk: &mut Walk<'_>, action: &Action) -> Result<(), DropReason> {
        if S::TRACES {
            self.sink.step(Step::Action(action));
        }
        self.flush_pending(walk);
        let packet = &mut *walk.packet;
        let edit = match action {
            Action::Output(output) => match output.port {
                PortNo::CONTROLLER => {
                    self.offer_to_controllers(walk, walk.reason, Some(output.max_len));
                    Ok(())
                }
                PortNo::TABLE => return self.enter_tables(walk),
                port => {
                    walk.pending = Some(port);
                    if S::TRACES {
                        // So that it is told where it is said.
                        self.flush_pending(walk);
                    }
                    Ok(())
                }
            },
            Action::Group(id) => {
                self.enter_group(walk, *id);
                Ok(())
            }
            Action::SetQueue(queue) => {
                walk.class.queue = *queue;
                Ok(())
            }
            Action::SetField(set) => packet.set_field(set.0.field, &set.0.value),
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
            Action::Experimenter(_) if action.is_tag_vlan() => packet.tag_vlan(),
            Action::Experimenter(value) => return self.apply_extension(walk, value),
        };
        match edit {
            Ok(()) => Ok(()),
            // An action on a header that the packet does not have does nothing.
            Err(EditError::NoHeader) => Ok(()),
            Err(EditError::NoHeadroom) => Err(DropReason::NoHeadroom),
            Err(EditError::InvalidTtl) => {
                self.offer_to_controllers(walk, PacketInReason::INVALID_TTL, None);
                Err(DropReason::InvalidTtl)
            }
        }
    }

    /// Sends a packet-out's packet through the tables.
    fn enter_tables(&mut self, walk: &mut Walk<'_>) -> Result<(), DropReason> {
        if !core::mem::take(&mut walk.may_enter) {
            return Err(DropReason::Resubmitted);
        }
        let mut packet = walk.packet.try_clone().ok_or(DropReason::NoBuffer)?;
        walk.sent = true;
        self.run(&mut packet, None);
        Ok(())
    }
}
