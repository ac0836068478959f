//! Adding, changing and removing ports.

use bofuss_frame::OffloadCapabilities;
use bofuss_oflib::PortNo;
use bofuss_oflib::message::multipart::PortStats;
use bofuss_oflib::message::port::{PortConfig, PortFeatures, PortState};
use bofuss_oflib::message::{PortDesc, PortStatusReason};

use crate::control::staged_bundle::StagedBundle;
use crate::frame_engine::FrameEngine;
use crate::{Datapath, DropReason, Port, Sink, Time};

impl<E: FrameEngine> Datapath<E> {
    /// Adds a port or changes its description, and informs the controllers if they can see the
    /// difference.
    ///
    /// The configuration that controllers set stays unchanged.
    pub fn port_changed<S: Sink>(
        &mut self,
        now: Time,
        desc: PortDesc,
        capabilities: OffloadCapabilities,
        sink: &mut S,
    ) {
        let number = desc.port_no;
        let before = self
            .pipeline
            .ports
            .get(&number)
            .map(|port| port.desc.clone());
        let fresh = Port {
            desc: desc.clone(),
            capabilities,
            stats: PortStats::default(),
            since: now,
            without_ethernet: false,
        };
        let port = self.pipeline.ports.entry(number).or_insert(fresh);
        let config = port.desc.config;
        port.desc = PortDesc { config, ..desc };
        port.capabilities = capabilities;
        port.without_ethernet = port.desc.is_without_ethernet();
        port.stats.port_no = number;
        port.refresh_live();
        let after = port.desc.clone();
        if let Some(egress) = self.egress.ports.get_mut(&number) {
            egress.discipline.set_rate(now, after.curr_speed);
        }
        self.port_liveness_changed(number);
        match before {
            None => sink.port_status(PortStatusReason::ADD, &after),
            Some(before) if before != after => sink.port_status(PortStatusReason::MODIFY, &after),
            Some(_) => return,
        }
        let up = !after.state.has(PortState::LINK_DOWN);
        self.notify_hooks(now, sink, |hook, cx| {
            hook.on_port_change(cx, number, up);
        });
    }

    /// Removes a port and forgets what NORMAL learned there.
    pub fn port_removed<S: Sink>(&mut self, now: Time, number: PortNo, sink: &mut S) {
        if let Some(port) = self.pipeline.ports.remove(&number) {
            self.pipeline.bridge.forget(number);
            self.context(now, sink)
                .clear_queues(number, DropReason::NoSuchPort);
            self.port_liveness_changed(number);
            sink.port_status(PortStatusReason::DELETE, &port.desc);
            self.notify_hooks(now, sink, |hook, cx| {
                hook.on_port_change(cx, number, false);
            });
        }
    }

    /// Changes the configuration bits of a port that `mask` selects. Unknown numbers change
    /// nothing.
    pub fn configure_port<S: Sink>(
        &mut self,
        number: PortNo,
        config: PortConfig,
        mask: PortConfig,
        sink: &mut S,
    ) {
        let Some(port) = self.pipeline.ports.get_mut(&number) else {
            return;
        };
        let before = port.desc.config;
        port.desc.config = PortConfig(before.0 & !mask.0 | config.0 & mask.0);
        port.refresh_live();
        let desc = port.desc.clone();
        if before != desc.config {
            self.port_liveness_changed(number);
            if before.has(PortConfig::PORT_DOWN) != desc.config.has(PortConfig::PORT_DOWN) {
                sink.set_link(number, !desc.config.has(PortConfig::PORT_DOWN));
            }
            sink.port_status(PortStatusReason::MODIFY, &desc);
        }
    }

    /// Changes the features that a port advertises.
    pub fn advertise<S: Sink>(&mut self, number: PortNo, features: PortFeatures, sink: &mut S) {
        if let Some(port) = self.pipeline.ports.get_mut(&number) {
            port.desc.advertised = features;
            sink.advertise(number, features);
            sink.port_status(PortStatusReason::MODIFY, &port.desc);
        }
    }

    /// Determines anew which groups are live, after a port was added, removed or changed.
    fn port_liveness_changed(&mut self, port: PortNo) {
        self.pipeline.port_liveness_changed(port);
        if let Some(groups) = self.bundle.as_mut().and_then(StagedBundle::groups) {
            groups.ports_changed = true;
        }
    }

    /// Sets the counters that a port's driver keeps: frames lost at reception and transmission.
    pub fn set_driver_counters(&mut self, number: PortNo, lost: &PortStats) {
        if let Some(port) = self.pipeline.ports.get_mut(&number) {
            port.stats.rx_over_err = lost.rx_over_err;
            port.stats.rx_errors = lost.rx_errors;
            port.stats.tx_errors = lost.tx_errors;
            port.stats.tx_dropped = lost.tx_dropped;
        }
    }
}
