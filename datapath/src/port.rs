//! A port as the datapath sees it: description, counters, what it can send.

use alloc::vec::Vec;

use bofuss_frame::OffloadCapabilities;
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::message::multipart::PortStats;
use bofuss_oflib::message::multipart::port::OpticalStats;
use bofuss_oflib::message::port::{OpticalPort, PortConfig, PortState};
use bofuss_oflib::message::property::ExperimenterProperty;

use crate::{DropReason, Time};

/// What an extension knows of a port that its interface does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortProperties {
    /// The features of an optical port.
    pub optical: Option<OpticalPort>,
    /// Properties of experimenters in the description.
    pub experimenters: Vec<ExperimenterProperty>,
    /// The state of an optical port.
    pub optical_stats: Option<OpticalStats>,
    /// Properties of experimenters in the statistics.
    pub experimenter_stats: Vec<ExperimenterProperty>,
    /// True if the link is down, whatever the interface says.
    pub link_down: bool,
}

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
    /// The part of `stats.tx_dropped` that its driver dropped; the switch dropped the rest.
    pub driver_dropped: u64,
    /// The state that the interface says.
    pub(crate) interface_state: PortState,
    /// What an extension says.
    pub(crate) properties: PortProperties,
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

    /// Sets in description and statistics what an extension says.
    pub(crate) fn apply_properties(&mut self) {
        let properties = &self.properties;
        self.desc.optical = properties.optical;
        self.desc
            .experimenters
            .clone_from(&properties.experimenters);
        self.stats.optical = properties.optical_stats;
        let stats = &properties.experimenter_stats;
        self.stats.experimenters.clone_from(stats);
        let link = u32::from(properties.link_down) * PortState::LINK_DOWN.0;
        self.desc.state = PortState(self.interface_state.0 | link);
        self.refresh_live();
    }

    /// Sets LIVE in the description according to link and configuration.
    pub(crate) fn refresh_live(&mut self) {
        let down = self.desc.state.has(PortState::LINK_DOWN)
            || self.desc.config.has(PortConfig::PORT_DOWN);
        let live = if down { 0 } else { PortState::LIVE.0 };
        self.desc.state = PortState(self.desc.state.0 & !PortState::LIVE.0 | live);
    }

    /// Sets the counters that the port's driver keeps: frames lost at reception and transmission.
    ///
    /// Only `tx_dropped` also counts what the switch drops, which stays.
    pub(crate) fn set_driver_counters(&mut self, lost: &PortStats) {
        self.stats.rx_over_err = lost.rx_over_err;
        self.stats.rx_errors = lost.rx_errors;
        self.stats.tx_errors = lost.tx_errors;
        let own = self.stats.tx_dropped - self.driver_dropped;
        self.stats.tx_dropped = own.saturating_add(lost.tx_dropped);
        self.driver_dropped = lost.tx_dropped;
    }
}
