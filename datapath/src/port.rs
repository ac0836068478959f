//! A port as the datapath sees it: description, counters, what it can send.

use bofuss_frame::OffloadCapabilities;
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::message::multipart::PortStats;
use bofuss_oflib::message::port::{PortConfig, PortState};

use crate::{DropReason, Time};

/// One port.
#[derive(Clone, Debug)]
pub struct Port {
    /// The description that controllers see.
    pub desc: PortDesc,
    /// The offloads that it does on transmission.
    pub capabilities: OffloadCapabilities,
    /// Its counters; frames as they are on a wire, a super-frame as its segments.
    pub stats: PortStats,
    /// The time when it appeared.
    pub since: Time,
    /// True if its packets have no Ethernet header, as its description says. In its frames, each
    /// packet is preceded by [`bofuss_packet::packet_type::FRONT_BYTES`] bytes that the port does
    /// not see.
    pub without_ethernet: bool,
}

impl Port {
    /// The reason for which the port sends nothing now, if there is one.
    pub fn egress_block(&self) -> Option<DropReason> {
        let config = self.desc.config;
        if config.has(PortConfig::PORT_DOWN) {
            Some(DropReason::PortDown)
        } else if config.has(PortConfig::NO_FWD) {
            Some(DropReason::NoForward)
        } else if self.desc.state.has(PortState::LINK_DOWN) {
            Some(DropReason::LinkDown)
        } else {
            None
        }
    }

    /// The reason for which the port accepts nothing now, if there is one.
    pub fn ingress_block(&self) -> Option<DropReason> {
        let config = self.desc.config;
        if config.has(PortConfig::PORT_DOWN) {
            Some(DropReason::PortDown)
        } else if config.has(PortConfig::NO_RECV) {
            Some(DropReason::NoReceive)
        } else {
            None
        }
    }

    /// Sets LIVE in the description according to link and configuration.
    pub(crate) fn refresh_live(&mut self) {
        let down = self.desc.state.has(PortState::LINK_DOWN)
            || self.desc.config.has(PortConfig::PORT_DOWN);
        let live = if down { 0 } else { PortState::LIVE.0 };
        self.desc.state = PortState(self.desc.state.0 & !PortState::LIVE.0 | live);
    }

    /// Sets the counters that the port's driver keeps: frames lost at reception and transmission.
    pub(crate) fn set_driver_counters(&mut self, lost: &PortStats) {
        self.stats.rx_over_err = lost.rx_over_err;
        self.stats.rx_errors = lost.rx_errors;
        self.stats.tx_errors = lost.tx_errors;
        self.stats.tx_dropped = lost.tx_dropped;
    }
}
