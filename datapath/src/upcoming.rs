//! Packets that will go through the tables soon, of which little is read yet.

use bofuss_frame::Frame;
use bofuss_oflib::Field;
use bofuss_oflib::field::Header;
use bofuss_packet::{Key, Layout};

use crate::Time;
use crate::lazy_packet::FieldSets;

/// Packets of a burst, in their order.
pub struct Upcoming<'a> {
    /// The time at which they will most likely be looked up.
    pub now: Time,
    pub(crate) frames: &'a [Frame],
    pub(crate) layout_of: &'a dyn Fn(usize) -> &'a Layout,
    /// The key without what headers say.
    pub(crate) arrival: &'a Key,
    /// The fields that they will most likely be given, one list for each.
    pub(crate) foreseen: &'a mut [FieldSets],
}

impl Upcoming<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The value of a field of one of them, if it has that as it arrives. One that an extension
    /// has placed in a header is taken for absent.
    #[inline]
    pub fn get(&self, number: usize, field: &Field) -> Option<u128> {
        arriving_value(
            field,
            self.arrival,
            (self.layout_of)(number),
            &self.frames[number],
        )
    }

    /// The bytes of one of them from a header on, if it has all of that header.
    #[inline]
    pub fn header(&self, number: usize, header: Header) -> Option<&[u8]> {
        let start = (self.layout_of)(number).offset(header)?;
        self.frames[number].bytes().get(start..)
    }

    /// Says that [`crate::Hook::before_lookup`] will most likely set a field of one of them, or
    /// make it absent, as the next thing that it does to its fields. So what is known of the
    /// packet's flow can be prefetched, too. Whether it comes true changes nothing else.
    #[inline]
    pub fn foresee(&mut self, number: usize, field: &'static Field, value: Option<u128>) {
        self.foreseen[number].push((field, value));
    }
}

/// The value of a field of a packet that arrives with a key, but for what its headers say, and with
/// these headers; `None` if it has none, or if an extension has placed it in a header.
#[inline]
pub(crate) fn arriving_value(
    field: &Field,
    arrival: &Key,
    layout: &Layout,
    frame: &Frame,
) -> Option<u128> {
    if field.at.is_empty()
        && let Some(value) = arrival.get(field, &mut ())
    {
        return Some(value);
    }
    layout.value(frame.bytes(), field)
}
