//! Without the feature `super_frames`, a super-frame is implausible, so that none enters: see
//! `cut.rs`.

use bofuss_frame::{Frame, Gso};

/// Returns `None`.
pub(super) fn plausible_super_frame(_: &Frame, _: Gso) -> Option<(u64, u64)> {
    None
}

/// Returns how many packets, and how many bytes in them, a frame is on a wire.
#[inline]
pub fn wire_count(frame: &Frame) -> (u64, u64) {
    (1, frame.len() as u64)
}

/// Calls `emit` with a copy of a frame. Errors: `false` if the pool is exhausted.
pub fn segment(frame: &Frame, emit: impl FnMut(Frame)) -> bool {
    frame.try_clone().map(emit).is_some()
}
