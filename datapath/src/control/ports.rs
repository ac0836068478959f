//! Adding, changing and removing ports.
//!
//! A port is described by three sources: the interface says state and speed, a controller sets the
//! configuration, and an extension may say what the interface does not. `Port` keeps them apart, so
//! that no source overwrites what another has said.

use alloc::vec::Vec;

use bofuss_frame::OffloadCapabilities;
use bofuss_oflib::PortNo;
use bofuss_oflib::message::multipart::PortStats;
use bofuss_oflib::message::port::{PortConfig, PortFeatures, PortState};
use bofuss_oflib::message::{PortDesc, PortStatusReason};

use crate::control::extensions::HookCalls;
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Context;
use crate::{DropReason, Port, PortProperties, Sink};

/// The part that changes ports and their queues.
pub struct PortControl<'a, S: Sink, E: FrameEngine> {
    pub(super) cx: Context<'a, S, E>,
}

impl<'a, S: Sink, E: FrameEngine> PortControl<'a, S, E> {
    pub(crate) fn new(cx: Context<'a, S, E>) -> Self {
        Self { cx }
    }

    /// Adds a port or changes its description, and informs the controllers if they can see the
    /// difference.
    ///
    /// The configuration that controllers set stays unchanged.
    ///
    /// Frames that wait in the port's queues stay, also if the link went down: they are dropped
    /// when they are due, with the reason that then holds.
    pub fn changed(&mut self, desc: PortDesc, capabilities: OffloadCapabilities) {
        let number = desc.port_no;
        let known = self.cx.pipeline.ports.get(&number);
        let before = known.map(|port| port.desc.clone());
        // A port that comes back is a new port: its counters and its age begin anew.
        let fresh = Port {
            desc: desc.clone(),
            capabilities,
            stats: PortStats::default(),
            since: self.cx.now,
            without_ethernet: false,
            driver_dropped: 0,
            interface_state: desc.state,
            properties: PortProperties::default(),
        };
        let port = self.cx.pipeline.ports.entry(number).or_insert(fresh);
        // The interface does not know what controllers have configured.
        let config = port.desc.config;
        port.interface_state = desc.state;
        port.desc = PortDesc { config, ..desc };
        port.capabilities = capabilities;
        port.without_ethernet = port.desc.is_without_ethernet();
        port.stats.port_no = number;
        port.apply_properties();
        let after = port.desc.clone();
        // Shares and guaranteed rates of queues are parts of the port's rate.
        if let Some(egress) = self.cx.egress.ports.get_mut(&number) {
            egress.discipline.set_rate(self.cx.now, after.curr_speed);
        }
        HookCalls::new(self.cx.reborrow()).described(before, &after);
    }

    /// Removes a port and forgets what NORMAL learned there.
    ///
    /// Its queues stay, for when it comes back under the same number.
    pub fn removed(&mut self, number: PortNo) {
        if let Some(port) = self.cx.pipeline.ports.remove(&number) {
            // The port has gone from the pipeline before its frames are dropped, so they are
            // counted as drops of the switch and not of a port.
            self.cx.pipeline.bridge.forget(number);
            self.cx
                .sender()
                .clear_queues(number, DropReason::NoSuchPort);
            self.cx.pipeline.port_liveness_changed(number);
            self.cx
                .sink
                .port_status(PortStatusReason::DELETE, &port.desc);
            HookCalls::new(self.cx.reborrow()).notify(|hook, cx| {
                hook.on_port_change(cx, number, false);
            });
        }
    }

    /// Changes the configuration bits of a port that `mask` selects. Unknown numbers change
    /// nothing.
    pub fn configure(&mut self, number: PortNo, config: PortConfig, mask: PortConfig) {
        let Some(port) = self.cx.pipeline.ports.get_mut(&number) else {
            return;
        };
        let before = port.desc.config;
        port.desc.config = PortConfig(before.0 & !mask.0 | config.0 & mask.0);
        // LIVE depends on PORT_DOWN, and the liveness of groups on LIVE.
        port.refresh_live();
        let desc = port.desc.clone();
        if before != desc.config {
            self.cx.pipeline.port_liveness_changed(number);
            // The interface itself is set down or up, so that the other end sees it, too.
            if before.has(PortConfig::PORT_DOWN) != desc.config.has(PortConfig::PORT_DOWN) {
                self.cx
                    .sink
                    .set_link(number, !desc.config.has(PortConfig::PORT_DOWN));
            }
            self.cx.sink.port_status(PortStatusReason::MODIFY, &desc);
        }
    }

    /// Changes the features that a port advertises.
    pub fn advertise(&mut self, number: PortNo, features: PortFeatures) {
        if let Some(port) = self.cx.pipeline.ports.get_mut(&number) {
            port.desc.advertised = features;
            self.cx.sink.advertise(number, features);
            self.cx
                .sink
                .port_status(PortStatusReason::MODIFY, &port.desc);
        }
    }

    /// Sends what is due at a port that had no room and now accepts frames again.
    ///
    /// The sink said before that the port has none, and its egress has had no timer since then.
    pub fn has_room(&mut self, number: PortNo) {
        if self.cx.egress.ports.contains_key(&number) {
            self.cx.sender().release(number);
        }
    }

    /// Sends all frames that wait in queues at once, because the switch ends and another one takes
    /// its ports over.
    pub fn send_waiting(&mut self) {
        let numbers: Vec<PortNo> = self.cx.pipeline.ports.keys().copied().collect();
        for number in numbers {
            self.cx.sender().send_waiting(number);
        }
    }

    /// Sets the counters that a port's driver keeps: frames lost at reception and transmission.
    pub fn set_driver_counters(&mut self, number: PortNo, lost: &PortStats) {
        if let Some(port) = self.cx.pipeline.ports.get_mut(&number) {
            port.set_driver_counters(lost);
        }
    }

    /// Forgets the addresses that NORMAL has learned at all ports.
    pub fn forget_addresses(&mut self) {
        self.cx.pipeline.bridge.forget_all();
    }
}

impl<S: Sink, E: FrameEngine> HookCalls<'_, S, E> {
    /// Has a port say what an extension knows of it. Unknown numbers change nothing.
    pub(super) fn set_properties(&mut self, number: PortNo, properties: PortProperties) {
        if let Some(port) = self.cx.pipeline.ports.get_mut(&number) {
            let before = port.desc.clone();
            port.properties = properties;
            port.apply_properties();
            let after = port.desc.clone();
            self.described(Some(before), &after);
        }
    }

    /// Informs controllers and hooks if a port's description is new, or another than before.
    fn described(&mut self, before: Option<PortDesc>, after: &PortDesc) {
        let number = after.port_no;
        self.cx.pipeline.port_liveness_changed(number);
        let reason = match before {
            None => PortStatusReason::ADD,
            Some(before) if before == *after => return,
            Some(_) => PortStatusReason::MODIFY,
        };
        self.cx.sink.port_status(reason, after);
        let up = !after.state.has(PortState::LINK_DOWN);
        self.notify(|hook, cx| hook.on_port_change(cx, number, up));
    }
}
