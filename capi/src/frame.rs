//! A frame as C has it.

use bofuss_frame::Frame;

/// A frame: from the destination address on, without FCS.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FrameBytes {
    /// Its first byte.
    pub bytes: *const u8,
    /// Their number.
    pub length: usize,
    /// The tunnel by which it comes or leaves, the field TUNNEL_ID: of a logical port, which
    /// encapsulates frames. 0 otherwise.
    pub tunnel_id: u64,
}

impl FrameBytes {
    /// Lends a frame to a callback.
    pub(crate) fn of(frame: &Frame) -> Self {
        Self {
            bytes: frame.bytes().as_ptr(),
            length: frame.len(),
            tunnel_id: frame.tunnel_id,
        }
    }
}
