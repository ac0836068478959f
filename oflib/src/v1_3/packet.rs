//! PACKET_IN and PACKET_OUT. Spec: OpenFlow 1.3.5 sections 7.3.7, 7.4.1.

use super::{V1_3, layout};
use crate::action::Action;
use crate::error::DecodeError;
use crate::forms::Form;
use crate::message::{PacketIn, PacketInReason, PacketOut};
use crate::wire::{Reader, Writer};

layout! {
    V1_3;
    // The two bytes of padding after the match align the IP header of an Ethernet frame to 4 bytes.
    // `data` goes up to the end of the message and may be shorter than `total_len`.
    PacketIn { buffer_id, total_len, reason, table_id, cookie, fields => 2, data }
}

/// The reasons that came after a version are read and written as those that it has in their place.
impl Form<V1_3> for PacketInReason {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let version = r.version();
        r.get().map(|number| Self(number).in_version(version))
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&self.in_version(w.version()).0);
    }
}

/// Spec: OpenFlow 1.3.5 section 7.3.7. `data` goes up to the end of the message; it is the frame if
/// `buffer_id` names none.
impl Form<V1_3> for PacketOut {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let buffer_id = r.at("buffer_id").get()?;
        let in_port = r.at("in_port").get()?;
        // The list needs its length, as the frame follows it without one.
        let actions_len = r.at("actions_len").get::<u16>()?;
        r.take(6)?;
        let actions = Action::decode_list(r, actions_len.into())?;
        Ok(Self {
            buffer_id,
            in_port,
            actions,
            data: r.at("data").get()?,
            ..Self::default()
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        // Before 1.5 a packet-out names a port only, and no other pipeline fields.
        self.say_no_fields(w);
        w.put(&self.buffer_id).put(&self.in_port).put(&0u16).pad(6);
        let start = w.bytes.len();
        // The place of `actions_len`: two bytes, and six of padding before the list.
        w.put(&self.actions).patch_length(start, start - 8);
        w.put(&self.data);
    }
}
