//! The instruction that says when the statistics of an entry are sent: its model and checks.

use alloc::boxed::Box;

use crate::error::{BadInstruction, ErrorCode};
use crate::message::stats::{NANOS, StatTime, Stats};
use crate::model::flags;

flags! {
    /// The flags of a trigger: how often thresholds count (`OFPSTF_*`).
    pub struct StatTriggerFlags(u32) {
        /// At each multiple of them.
        PERIODIC = 0x1 "periodic",
        /// Only the threshold that is reached first.
        ONLY_FIRST = 0x2 "only_first",
    }
}

/// The thresholds at which an entry's statistics are sent unasked. Spec: OpenFlow 1.5.1 section
/// 7.2.5.
///
/// Shape: the flags, 32 bits, and the thresholds as a list of statistics, padded to 8 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StatTrigger {
    /// The flags.
    pub flags: StatTriggerFlags,
    /// The thresholds, of which any counts when it is reached.
    pub thresholds: Box<Stats>,
}

impl StatTrigger {
    /// Checks that each threshold can be reached, and not at every moment.
    ///
    /// Choice: the text names no error for these, so it is the one for what a table does not
    /// support. A count of entries is none of an entry's statistics.
    ///
    /// Errors: BAD_INSTRUCTION/UNSUP_INST for unknown flags, no threshold, one of zero or of
    /// `flow_count`, or a time with more nanoseconds than a second has.
    pub fn check(&self) -> Result<(), ErrorCode> {
        let Stats {
            duration,
            idle_time,
            flow_count,
            packet_count,
            byte_count,
        } = *self.thresholds;
        let counts = [packet_count, byte_count];
        let times = [duration, idle_time];
        let is_bad = self.flags.0 & !StatTriggerFlags::ALL.0 != 0
            || *self.thresholds == Stats::default()
            || flow_count.is_some()
            || counts.contains(&Some(0))
            || times.contains(&Some(StatTime::default()))
            || times.into_iter().flatten().any(|time| time.nsec >= NANOS);
        if is_bad {
            return Err(BadInstruction::UNSUP_INST);
        }
        Ok(())
    }
}
