//! PACKET_OUT: a packet from the controller. Spec: OpenFlow 1.3.5 section 7.3.7.

use alloc::vec::Vec;
use core::fmt;

use crate::action::Action;
use crate::text::Actions;
use crate::types::{BufferId, PortNo};
use crate::wire::{Bytes, Text, TextForm};

/// A packet that the controller sends through the switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PacketOut {
    /// A packet that the switch holds, or NO_BUFFER.
    pub buffer_id: BufferId,
    /// The port that the packet counts as received on, or CONTROLLER.
    pub in_port: PortNo,
    /// What to do with it.
    pub actions: Vec<Action>,
    /// The packet, if not buffered.
    pub data: Bytes,
}

impl TextForm for PacketOut {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "buffer_id={},in_port={},data={},actions={}",
            self.buffer_id,
            self.in_port,
            Text(&self.data),
            Actions(&self.actions)
        )
    }
}
