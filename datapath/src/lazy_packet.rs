//! A frame that becomes a packet only when more is needed than the values of its fields.

use alloc::{boxed::Box, vec::Vec};

use bofuss_frame::Frame;
use bofuss_oflib::Field;
use bofuss_packet::{Key, Layout, Packet};

use crate::upcoming::arriving_value;

/// Fields and the values to which they were set; `None` if they were marked as absent.
pub(crate) type FieldSets = Vec<(&'static Field, Option<u128>)>;

/// What hooks have changed of a frame.
#[derive(Default)]
pub(crate) struct LazyEdits {
    /// The fields that were set before it was a packet.
    pub(crate) sets: FieldSets,
    /// The packet, if a hook needed one.
    pub(crate) packet: Option<Box<Packet>>,
}

/// A frame whose headers have been found, and the fields that were set since.
pub(crate) struct LazyPacket<'a> {
    /// Empty once it is a packet.
    pub(crate) frame: &'a mut Frame,
    /// Where the headers are. None of them has a field of an extension.
    pub(crate) layout: &'a Layout,
    /// The key without the fields of headers.
    pub(crate) arrival: &'a Key,
    /// Its number among the frames for which hooks prefetched, if they did.
    pub(crate) number: Option<usize>,
    pub(crate) made: &'a mut LazyEdits,
}

impl LazyPacket<'_> {
    /// The value of a field, as the key of the packet has it.
    #[inline]
    pub(crate) fn get(&self, field: &Field) -> Option<u128> {
        if let Some(packet) = &self.made.packet {
            return packet.key().get(field, &mut ());
        }
        let mut sets = self.made.sets.iter().rev();
        if let Some((_, value)) = sets.find(|(other, _)| *other == field) {
            return *value;
        }
        arriving_value(field, self.arrival, self.layout, self.frame.bytes())
    }

    /// Its number among the frames for which hooks prefetched, if its headers are unchanged.
    #[inline]
    pub(crate) fn upcoming(&self) -> Option<usize> {
        self.number.filter(|_| self.made.packet.is_none())
    }

    /// Sets a field, or marks it as absent if it is in no header.
    #[inline]
    pub(crate) fn set(&mut self, field: &'static Field, value: Option<u128>) {
        if self.made.packet.is_none() && field.at.is_empty() {
            self.made.sets.push((field, value));
        } else {
            set_field(self.packet(), field, value);
        }
    }

    /// The bytes.
    pub(crate) fn frame(&self) -> &Frame {
        match &self.made.packet {
            Some(packet) => &packet.frame,
            None => self.frame,
        }
    }

    /// Where the headers are.
    pub(crate) fn layout(&self) -> &Layout {
        match &self.made.packet {
            Some(packet) => packet.layout(),
            None => self.layout,
        }
    }

    /// Turns the frame into a packet, if it is not one yet.
    #[cold]
    pub(crate) fn packet(&mut self) -> &mut Packet {
        let LazyEdits { sets, packet } = &mut *self.made;
        packet.get_or_insert_with(|| {
            let mut packet = Packet::surveyed(self.frame.take(), self.arrival, self.layout);
            for (field, value) in sets {
                set_field(&mut packet, field, *value);
            }
            Box::new(packet)
        })
    }
}

/// Sets a field of a packet, in the key and in its header; or marks a field that is in no header as
/// absent.
pub(crate) fn set_field(packet: &mut Packet, field: &Field, value: Option<u128>) {
    let Some(value) = value else {
        if field.at.is_empty() {
            packet.key_mut().clear(field);
        }
        return;
    };
    let shifted = value << (128 - 8 * field.bytes());
    // A missing header has no field to set.
    let _ = packet.set_field(field, &shifted.to_be_bytes());
}
