//! The options with which an interface is opened.

/// Slots of a receive ring, which take 2 KiB each: at first, enough for the time in which another
/// program has the processor at 290,000 frames per second; where frames wait until another switch
/// has left the interface, and how many it has at most unless an option says otherwise.
pub(super) const FIRST_RING_SLOTS: usize = 1024;
const WAITING_RING_SLOTS: usize = 2048;
const MAX_RING_SLOTS: usize = 8192;

/// The options with which an interface is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AfPacketOptions {
    /// Take an interface although it carries an IP address or the default route.
    pub take_over: bool,
    /// Pad frames to [`crate::MIN_FRAME_BYTES`] on transmit.
    pub pad_runts: bool,
    /// Hand frames to the driver past the interface's queueing discipline.
    pub qdisc_bypass: bool,
    /// Keep the host's stack from answering or forwarding what arrives, if the interface has no
    /// address.
    pub keep_host_out: bool,
    /// Slots that the receive ring grows to, 2 KiB each; without any, frames are received by system
    /// calls.
    pub ring_slots: usize,
    /// Open the ring with all these slots, where the change to a larger one would disturb: a frame
    /// that arrives during it is lost.
    pub whole_ring: bool,
    /// Open at once the sockets that larger rings will need: the process gives up its rights.
    pub keeps_spares: bool,
    /// Receive nothing before [`crate::PortDriver::begin_reception`], and claim nothing before
    /// [`crate::PortDriver::take_over`]: another switch still has the interface.
    pub waits: bool,
}

impl Default for AfPacketOptions {
    fn default() -> Self {
        Self {
            take_over: false,
            pad_runts: true,
            qdisc_bypass: false,
            keep_host_out: true,
            ring_slots: MAX_RING_SLOTS,
            whole_ring: false,
            keeps_spares: false,
            waits: false,
        }
    }
}

impl AfPacketOptions {
    /// The slots of the first ring.
    pub(super) fn first_slots(&self) -> usize {
        if self.whole_ring {
            return self.ring_slots;
        }
        let first_slots = if self.waits {
            WAITING_RING_SLOTS
        } else {
            FIRST_RING_SLOTS
        };
        self.ring_slots.min(first_slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_ring_has_all_its_slots_from_the_beginning() {
        let slots = |whole_ring| {
            let options = AfPacketOptions {
                whole_ring,
                ..AfPacketOptions::default()
            };
            options.first_slots()
        };
        assert_eq!(slots(false), FIRST_RING_SLOTS);
        assert_eq!(slots(true), MAX_RING_SLOTS);
    }
}
