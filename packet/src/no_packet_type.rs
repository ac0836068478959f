//! In the place of `packet_type.rs` without the feature `packet_types`: each packet has an Ethernet
//! header.

use core::iter;

use bofuss_frame::Frame;

use crate::parse::Layout;

/// Bytes in front of a packet without an Ethernet header, which none is.
pub const FRONT_BYTES: usize = 14;

/// The types of packets that can be in the switch: Ethernet, which is 0.
pub fn supported() -> impl Iterator<Item = u32> {
    iter::once(0)
}

/// The bytes that precede a packet of another type; `None`, as there is none.
pub fn front(_: &[u8]) -> Option<[u8; FRONT_BYTES]> {
    None
}

/// Returns false, with nothing written: the packet in a frame of another kind has no type.
pub fn write_front(_: &mut Frame) -> bool {
    false
}

impl Layout {
    /// Leaves the layout as it is: it begins with an Ethernet header.
    pub fn leave_ethernet(&mut self) {}
}
