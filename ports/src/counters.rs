//! Counters of a port, and the reasons for which it drops.

/// The reason for which a port dropped a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverDropReason {
    /// The kernel's receive buffer was full.
    RxKernel,
    /// The frame pool was exhausted.
    RxNoBuffer,
    /// The frame was longer than the longest buffer.
    RxTooLong,
    /// The kernel or we cannot describe the super-frame's shape (SCTP, IP fragments).
    RxShape,
    /// The packet of a capture file is empty or not Ethernet.
    RxNotEthernet,
    /// The frame, or a segment of it, exceeds the interface's MTU.
    TxTooLong,
    /// The offload header cannot say the super-frame's shape (SCTP).
    TxShape,
    /// The interface is down or gone.
    TxLinkDown,
    /// The interface's queue was full.
    TxQueueFull,
    /// The kernel refused the frame for another reason.
    TxRefused,
}

/// One row a reason: its name, whether it is one of receive, whether it counts as an error.
const REASONS: [(DriverDropReason, &str, bool, bool); 10] = [
    (DriverDropReason::RxKernel, "rx_kernel", true, false),
    (DriverDropReason::RxNoBuffer, "rx_no_buffer", true, false),
    (DriverDropReason::RxTooLong, "rx_too_long", true, true),
    (DriverDropReason::RxShape, "rx_shape", true, true),
    (
        DriverDropReason::RxNotEthernet,
        "rx_not_ethernet",
        true,
        true,
    ),
    (DriverDropReason::TxTooLong, "tx_too_long", false, false),
    (DriverDropReason::TxShape, "tx_shape", false, false),
    (DriverDropReason::TxLinkDown, "tx_link_down", false, false),
    (DriverDropReason::TxQueueFull, "tx_queue_full", false, false),
    (DriverDropReason::TxRefused, "tx_refused", false, true),
];

/// The counters of a port: frames as handed over by and to the kernel, a super-frame as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames received.
    pub rx_packets: u64,
    /// Bytes received, without FCS.
    pub rx_bytes: u64,
    /// Frames transmitted.
    pub tx_packets: u64,
    /// Bytes transmitted, without FCS.
    pub tx_bytes: u64,
    drops: [u64; REASONS.len()],
}

impl Counters {
    /// Frames dropped for `reason`.
    pub fn dropped(&self, reason: DriverDropReason) -> u64 {
        self.drops[reason as usize]
    }

    /// Each reason's name and count, zeros included.
    pub fn drops(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        REASONS
            .iter()
            .map(|row| (row.1, self.drops[row.0 as usize]))
    }

    /// Received frames lost for want of room.
    pub fn rx_dropped(&self) -> u64 {
        self.sum(true, false)
    }

    /// Received frames that could not be understood.
    pub fn rx_errors(&self) -> u64 {
        self.sum(true, true)
    }

    /// Frames not transmitted for a reason that the interface's state or configuration explains.
    pub fn tx_dropped(&self) -> u64 {
        self.sum(false, false)
    }

    /// Frames that the kernel refused.
    pub fn tx_errors(&self) -> u64 {
        self.sum(false, true)
    }

    fn sum(&self, receive: bool, error: bool) -> u64 {
        let rows = REASONS.iter().filter(|r| r.2 == receive && r.3 == error);
        rows.map(|row| self.drops[row.0 as usize]).sum()
    }

    /// Adds what another socket of the same port has counted.
    pub fn add(&mut self, other: &Self) {
        self.rx_packets += other.rx_packets;
        self.rx_bytes += other.rx_bytes;
        self.tx_packets += other.tx_packets;
        self.tx_bytes += other.tx_bytes;
        for (count, more) in self.drops.iter_mut().zip(other.drops) {
            *count += more;
        }
    }

    /// Counts frames that were dropped for `reason`.
    pub fn drop_some(&mut self, reason: DriverDropReason, count: u64) {
        self.drops[reason as usize] += count;
    }

    pub(crate) fn received(&mut self, bytes: usize) {
        self.rx_packets += 1;
        self.rx_bytes += bytes as u64;
    }

    pub(crate) fn sent(&mut self, bytes: usize) {
        self.tx_packets += 1;
        self.tx_bytes += bytes as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_own_row_and_slot() {
        for (slot, row) in REASONS.iter().enumerate() {
            assert_eq!(row.0 as usize, slot, "{}", row.1);
        }
    }

    #[test]
    fn drops_and_errors_are_summed_by_direction() {
        let mut counters = Counters::default();
        counters.drop_some(DriverDropReason::RxKernel, 2);
        counters.drop_some(DriverDropReason::RxShape, 3);
        counters.drop_some(DriverDropReason::TxTooLong, 5);
        counters.drop_some(DriverDropReason::TxRefused, 7);
        let sums = [
            counters.rx_dropped(),
            counters.rx_errors(),
            counters.tx_dropped(),
            counters.tx_errors(),
        ];
        assert_eq!(sums, [2, 3, 5, 7]);
    }
}
