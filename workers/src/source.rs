//! Where the frames of a worker come from and go to.

use bofuss_datapath::Time;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;

use crate::dispatch::Share;

/// The ports of one worker, which are on its thread.
pub trait Source {
    /// Takes a burst of frames that arrived on one port, in buffers of this pool. Only frames that
    /// [`Share::has`] may be among them. Returns when and where they arrived; `None` if there is
    /// nothing now, and then whoever brings the next frame calls [`crate::Workers::wake`].
    fn receive(
        &mut self,
        share: &Share,
        pool: &Pool,
        frames: &mut Vec<Frame>,
    ) -> Option<(Time, PortNo)>;
    /// Returns how many bursts wait now. They are processed before the next change of the switch.
    fn waiting(&self) -> usize {
        0
    }
    /// Sends a frame out of a port.
    fn transmit(&mut self, port: PortNo, queue: QueueId, frame: Frame);
}
