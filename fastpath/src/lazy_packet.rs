//! A frame that becomes a packet only when more is needed than the values of its fields.

use alloc::{boxed::Box, vec::Vec};

use bofuss_datapath::engine::{Subject, arriving_value, set_field};
use bofuss_frame::Frame;
use bofuss_oflib::{Field, FieldSet};
use bofuss_packet::{Key, Layout, Packet};

/// Fields and the values to which they were set; `None` if they were marked as absent.
pub(crate) type FieldSets = Vec<(&'static Field, Option<u128>)>;

/// The changes that hooks have made to a frame.
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
    /// The places of the headers. None of them has a field of an extension.
    pub(crate) layout: &'a Layout,
    /// The key without the fields of headers.
    pub(crate) arrival: &'a Key,
    /// Its number among the frames for which hooks prefetched, if they did.
    pub(crate) number: Option<usize>,
    pub(crate) made: &'a mut LazyEdits,
}

impl Subject for LazyPacket<'_> {
    /// The result of a hook with a frame is not cached, so nothing is logged: the hook is called
    /// for each.
    #[inline]
    fn get(&self, field: &Field, _: &mut FieldSet) -> Option<u128> {
        if let Some(packet) = &self.made.packet {
            return packet.key().get(field, &mut ());
        }
        let mut sets = self.made.sets.iter().rev();
        if let Some((_, value)) = sets.find(|(other, _)| *other == field) {
            return *value;
        }
        arriving_value(field, self.arrival, self.layout, self.frame.bytes())
    }

    #[inline]
    fn upcoming(&self) -> Option<usize> {
        self.number.filter(|_| self.made.packet.is_none())
    }

    #[inline]
    fn set(&mut self, field: &'static Field, value: Option<u128>) -> bool {
        if self.made.packet.is_none() && field.at.is_empty() {
            self.made.sets.push((field, value));
        } else {
            set_field(self.packet(), field, value);
        }
        true
    }

    fn frame(&self) -> &Frame {
        match &self.made.packet {
            Some(packet) => &packet.frame,
            None => self.frame,
        }
    }

    fn layout(&self) -> &Layout {
        match &self.made.packet {
            Some(packet) => packet.layout(),
            None => self.layout,
        }
    }

    /// Turns the frame into a packet, if it is not one yet.
    #[cold]
    fn packet(&mut self) -> &mut Packet {
        let LazyEdits { sets, packet } = &mut *self.made;
        packet.get_or_insert_with(|| {
            let mut packet = Packet::with_layout(self.frame.take(), self.arrival, self.layout);
            for (field, value) in sets {
                set_field(&mut packet, field, *value);
            }
            Box::new(packet)
        })
    }
}
