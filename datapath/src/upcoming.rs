//! Packets that will go through the tables soon, of which little is read yet.

use bofuss_frame::Frame;
use bofuss_oflib::Field;
use bofuss_packet::{Key, Layout};

/// Packets of a burst, in their order.
pub struct Upcoming<'a> {
    pub(crate) frames: &'a [Frame],
    pub(crate) layout_of: &'a dyn Fn(usize) -> &'a Layout,
    /// The key without what headers say.
    pub(crate) arrival: &'a Key,
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
