//! The masks of an asynchronous configuration, of which a message since 1.4 may leave some out.

use super::{AsyncConfig, AsyncMasks};
use crate::version::Version;

/// The bits of the reasons that each message has, in the order of the masks: PACKET_IN,
/// PORT_STATUS, FLOW_REMOVED, ROLE_STATUS, TABLE_STATUS, REQUESTFORWARD, FLOW_STATS,
/// CONTROLLER_STATUS.
const REASONS: [u32; 8] = [
    0b11_1111, 0b111, 0b11_1111, 0b111, 0b1_1000, 0b11, 0b11, 0b111_1111,
];

impl AsyncConfig {
    /// The initial configuration in a version. Choice: since 1.4 a slave is informed how it became
    /// one, and requests are forwarded only to connections that asked for it. Since 1.5 triggered
    /// statistics go to connections that may set triggers, and the status of controllers goes to
    /// all, except for replies.
    pub fn initial(version: Version) -> Self {
        if !version.has_bundles() {
            return Self::INITIAL;
        }
        let since_1_4 = Self {
            packet_in: 0b11_1011,
            flow_removed: 0b11_1111,
            role_status: 0b111,
            role_status_slave: 0b111,
            table_status: 0b1_1000,
            ..Self::INITIAL
        };
        if !version.has_stat_lists() {
            return since_1_4;
        }
        Self {
            flow_stats: 0b10,
            controller_status: 0b111_1110,
            controller_status_slave: 0b111_1110,
            ..since_1_4
        }
    }

    /// Each mask with its bit.
    pub(crate) fn masks(&mut self) -> [(AsyncMasks, &mut u32); 16] {
        [
            (AsyncMasks::PACKET_IN_SLAVE, &mut self.packet_in_slave),
            (AsyncMasks::PACKET_IN, &mut self.packet_in),
            (AsyncMasks::PORT_STATUS_SLAVE, &mut self.port_status_slave),
            (AsyncMasks::PORT_STATUS, &mut self.port_status),
            (AsyncMasks::FLOW_REMOVED_SLAVE, &mut self.flow_removed_slave),
            (AsyncMasks::FLOW_REMOVED, &mut self.flow_removed),
            (AsyncMasks::ROLE_STATUS_SLAVE, &mut self.role_status_slave),
            (AsyncMasks::ROLE_STATUS, &mut self.role_status),
            (AsyncMasks::TABLE_STATUS_SLAVE, &mut self.table_status_slave),
            (AsyncMasks::TABLE_STATUS, &mut self.table_status),
            (
                AsyncMasks::REQUEST_FORWARD_SLAVE,
                &mut self.request_forward_slave,
            ),
            (AsyncMasks::REQUEST_FORWARD, &mut self.request_forward),
            (AsyncMasks::FLOW_STATS_SLAVE, &mut self.flow_stats_slave),
            (AsyncMasks::FLOW_STATS, &mut self.flow_stats),
            (
                AsyncMasks::CONTROLLER_STATUS_SLAVE,
                &mut self.controller_status_slave,
            ),
            (AsyncMasks::CONTROLLER_STATUS, &mut self.controller_status),
        ]
    }

    /// Returns true if a mask has a bit that is no reason of its message in OpenFlow 1.4 and later.
    pub fn has_unknown_reasons(&self) -> bool {
        let mut asked = self.clone();
        for (at, (_, mask)) in asked.masks().into_iter().enumerate() {
            if *mask & !REASONS[at / 2] != 0 {
                return true;
            }
        }
        false
    }

    /// Takes the masks of `asked` that it does not leave out.
    pub fn change(&mut self, asked: &Self) {
        let mut asked = asked.clone();
        let omitted = asked.omitted;
        for ((bit, mine), (_, wanted)) in self.masks().into_iter().zip(asked.masks()) {
            if !omitted.has(bit) {
                *mine = *wanted;
            }
        }
    }
}
