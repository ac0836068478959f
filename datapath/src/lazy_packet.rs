//! A frame that becomes a packet only when more is asked of it than the values of its fields.

use alloc::{boxed::Box, vec::Vec};

use bofuss_frame::Frame;
use bofuss_oflib::Field;
use bofuss_packet::{Key, Layout, Packet};

use crate::hook_context::set_field;
use crate::upcoming::arriving_value;

/// Fields and the values that they were given; `None` if they were made absent.
pub(crate) type FieldSets = Vec<(&'static Field, Option<u128>)>;

/// A frame whose headers have been found, and what its fields were set to since.
pub(crate) struct LazyPacket<'a> {
    /// Empty once it is a packet.
    frame: &'a mut Frame,
    layout: &'a Layout,
    /// The key without what headers say.
    arrival: &'a Key,
    sets: FieldSets,
    packet: Option<Box<Packet>>,
}

impl<'a> LazyPacket<'a> {
    /// A frame which has no field of an extension in a header, with the fields set so far.
    pub(crate) fn new(
        frame: &'a mut Frame,
        layout: &'a Layout,
        arrival: &'a Key,
        sets: FieldSets,
    ) -> Self {
        Self {
            frame,
            layout,
            arrival,
            sets,
            packet: None,
        }
    }

    /// The value of a field, as the key of the packet has it.
    #[inline]
    pub(crate) fn get(&self, field: &Field) -> Option<u128> {
        if let Some(packet) = &self.packet {
            return packet.key().get(field, &mut ());
        }
        if let Some((_, value)) = self.sets.iter().rev().find(|(other, _)| *other == field) {
            return *value;
        }
        arriving_value(field, self.arrival, self.layout, self.frame)
    }

    /// Gives a field a value, or makes it absent if it stands in no header.
    #[inline]
    pub(crate) fn set(&mut self, field: &'static Field, value: Option<u128>) {
        if self.packet.is_none() && field.at.is_empty() {
            self.sets.push((field, value));
        } else {
            set_field(self.packet(), field, value);
        }
    }

    /// The bytes.
    pub(crate) fn frame(&self) -> &Frame {
        match &self.packet {
            Some(packet) => &packet.frame,
            None => self.frame,
        }
    }

    /// Where the headers stand.
    pub(crate) fn layout(&self) -> &Layout {
        match &self.packet {
            Some(packet) => packet.layout(),
            None => self.layout,
        }
    }

    /// The packet that the frame is from now on.
    #[cold]
    pub(crate) fn packet(&mut self) -> &mut Packet {
        let Self {
            frame,
            layout,
            arrival,
            sets,
            packet,
        } = self;
        packet.get_or_insert_with(|| {
            let mut packet = Packet::surveyed(frame.take(), arrival, layout);
            for (field, value) in sets {
                set_field(&mut packet, field, *value);
            }
            Box::new(packet)
        })
    }

    /// What the fields were set to, and the packet, if it is one.
    pub(crate) fn into_parts(self) -> (FieldSets, Option<Box<Packet>>) {
        (self.sets, self.packet)
    }
}
