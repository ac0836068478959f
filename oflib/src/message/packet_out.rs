//! PACKET_OUT: a packet from the controller. Spec: OpenFlow 1.3.5 section 7.3.7.

use alloc::vec::Vec;
use core::fmt;

use crate::action::Action;
use crate::error::DecodeError;
use crate::text::Actions;
use crate::types::{BufferId, PortNo};
use crate::wire::{Bytes, Reader, Text, Wire, Writer};

/// A packet that the controller sends through the switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

impl Wire for PacketOut {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let buffer_id = r.at("buffer_id").get()?;
        let in_port = r.at("in_port").get()?;
        let actions_len = r.at("actions_len").get::<u16>()?;
        r.take(6)?;
        let actions = Action::decode_list(r, actions_len.into())?;
        Ok(Self {
            buffer_id,
            in_port,
            actions,
            data: r.at("data").get()?,
        })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.buffer_id).put(&self.in_port).put(&0u16).pad(6);
        let start = w.bytes.len();
        w.put(&self.actions).patch_length(start, start - 8);
        w.put(&self.data);
    }
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
