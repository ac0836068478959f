//! Frames that wait for a later turn, because earlier ones caused much work.
//!
//! The backlog bounds the time of one turn and not the number of frames: that is bounded by the
//! reader, which stops reading a port that has some here, and by the pool.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;

/// Frames that wait for a later turn, by port and in order. While a port has some, no more should
/// be read from it.
#[derive(Debug)]
pub struct Backlog {
    frames: BTreeMap<PortNo, Vec<Frame>>,
    last_served: PortNo,
}

impl Default for Backlog {
    fn default() -> Self {
        Self {
            frames: BTreeMap::new(),
            last_served: PortNo(0),
        }
    }
}

impl Backlog {
    /// Returns true if no frames wait.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Returns true if frames of a port wait.
    pub fn has(&self, port: PortNo) -> bool {
        self.frames.contains_key(&port)
    }

    /// Keeps frames of a port, which has none waiting.
    ///
    /// They are the rest of a burst whose earlier frames have been processed.
    pub fn defer(&mut self, port: PortNo, frames: Vec<Frame>) {
        if !frames.is_empty() {
            self.frames.insert(port, frames);
        }
    }

    /// Appends frames to those of a port, if some wait. Returns false if none do.
    ///
    /// New frames must not overtake those that wait.
    pub(crate) fn extend(&mut self, port: PortNo, frames: &mut Vec<Frame>) -> bool {
        match self.frames.get_mut(&port) {
            Some(waiting) => {
                waiting.append(frames);
                true
            }
            None => false,
        }
    }

    /// Takes all frames of the next port; ports take turns.
    ///
    /// The frames are no longer in the backlog; what the turn does not process is deferred again.
    pub(crate) fn take_next(&mut self) -> Option<(PortNo, Vec<Frame>)> {
        let after = PortNo(self.last_served.0.saturating_add(1));
        let mut following = self.frames.range(after..);
        let (&port, _) = following.next().or(self.frames.first_key_value())?;
        self.last_served = port;
        self.frames.remove_entry(&port)
    }
}
