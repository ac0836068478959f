//! From what senders leave to hardware to the frames that a P4 program sees.

use bofuss_frame::Frame;
use bofuss_packet::offload::{finish_checksum, plausible_count, segment};

/// Calls `each` with what a frame would be on a wire: the frames of a super-frame, all with their
/// checksums. Returns false if it cannot be cut whole.
#[must_use]
pub fn on_the_wire(mut frame: Frame, mut each: impl FnMut(&Frame)) -> bool {
    if plausible_count(&frame).is_none() {
        return false;
    }
    if frame.offload.gso.is_none() {
        finish_checksum(&mut frame);
        each(&frame);
        return true;
    }
    segment(&frame, |mut piece| {
        finish_checksum(&mut piece);
        each(&piece);
    })
}
