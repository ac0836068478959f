//! A frame that becomes a packet only when more is asked of it than the values of its fields.

use alloc::{boxed::Box, vec::Vec};

use bofuss_frame::Frame;
use bofuss_oflib::Field;
use bofuss_packet::{Key, Layout, Packet};

use crate::hook_context::set_field;
use crate::upcoming::arriving_value;

/// Fields and the values that they were given; `None` if they were made absent.
pub(crate) type FieldSets = Vec<(&'static Field, Option<u128>)>;

/// What hooks have made of a frame.
#[derive(Default)]
pub(crate) struct LazyEdits {
    /// The fields that were set before it was a packet.
    pub(crate) sets: FieldSets,
    /// The packet, if one needed it.
    pub(crate) packet: Option<Box<Packet>>,
}

/// A frame whose headers have been found, and what its fields were set to since.
pub(crate) struct LazyPacket<'a> {
    /// Empty once it is a packet.
    pub(crate) frame: &'a mut Frame,
    /// Where the headers stand. None of them has a field of an extension.
    pub(crate) layout: &'a Layout,
    /// The key without what headers say.
    pub(crate) arrival: &'a Key,
    /// Its number among the frames that hooks were shown together, if they were.
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

    /// Its number among the frames that hooks were shown together, if its headers are as they were.
    #[inline]
    pub(crate) fn upcoming(&self) -> Option<usize> {
        self.number.filter(|_| self.made.packet.is_none())
    }

    /// Gives a field a value, or makes it absent if it stands in no header.
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

    /// Where the headers stand.
    pub(crate) fn layout(&self) -> &Layout {
        match &self.made.packet {
            Some(packet) => packet.layout(),
            None => self.layout,
        }
    }

    /// The packet that the frame is from now on.
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
