//! PACKET_OUT: a packet from the controller. Spec: OpenFlow 1.3.5 section 7.3.7.

use alloc::vec::Vec;

use crate::action::Action;
use crate::matching::Match;
use crate::types::{BufferId, PortNo};
use crate::wire::{Bytes, Writer};

/// A packet that the controller sends through the switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PacketOut {
    /// A packet that the switch holds, or NO_BUFFER.
    pub buffer_id: BufferId,
    /// The port that the packet counts as received on, or CONTROLLER.
    pub in_port: PortNo,
    /// The actions for the packet.
    pub actions: Vec<Action>,
    /// The packet, if not buffered.
    pub data: Bytes,
    /// The values of fields that are in no header, besides the ingress port (since OpenFlow 1.5).
    pub fields: Match,
}

impl PacketOut {
    /// Notes that the version cannot express fields besides the ingress port.
    pub(crate) fn say_no_fields(&self, w: &mut Writer<'_>) {
        if self.fields != Match::ANY {
            w.unsupported("fields");
        }
    }
}
