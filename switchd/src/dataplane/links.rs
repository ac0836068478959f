//! Link events from the kernel: interfaces that change, disappear and return; and the drivers' loss
//! counters.

use bofuss_datapath::Time;
use bofuss_embed::record::RecordedInput;
use bofuss_oflib::PortNo;
use bofuss_oflib::message::multipart::PortStats;
use bofuss_ports::LinkEvent;
use tracing::{debug, info, warn};

use super::DataPlane;
use crate::log;

/// How often the port drivers' loss counters are read.
const COUNTER_PERIOD_NS: u64 = 500_000_000;

impl DataPlane {
    /// Applies the kernel's link events to the ports.
    pub(super) fn follow_links(&mut self) -> std::io::Result<()> {
        for event in self.monitor.poll()? {
            match event {
                LinkEvent::New(link) | LinkEvent::Changed(link) => self.follow_link(&link),
                LinkEvent::Gone(link) => {
                    if let Some(number) = self.io.ports.with_index(link.index) {
                        self.lose_port(number);
                    }
                }
            }
        }
        Ok(())
    }

    fn follow_link(&mut self, link: &bofuss_ports::Link) {
        if let Some((desc, capabilities)) = self.io.ports.update_link(link) {
            let now = self.now();
            self.port_changed(now, desc, capabilities);
            return;
        }
        let Some(spec) = self
            .config
            .ports
            .iter()
            .find(|spec| spec.kind.interface() == Some(&link.name))
        else {
            return;
        };
        if self.io.ports.contains(spec.number) {
            return;
        }
        match self.open(spec) {
            Ok(port) => {
                info!("port {}: {} is back", spec.number, link.name);
                if let Err(error) = self.add_port(port) {
                    warn!("{error}");
                }
            }
            Err(error) if self.io.is_locked => warn!("{} is back: {error}", link.name),
            Err(error) => debug!("{error}"),
        }
    }

    /// The frames that each port has dropped before or after the tables, by reason.
    pub(super) fn driver_drops(&mut self) -> Vec<(PortNo, &'static str, u64)> {
        let mut all = Vec::new();
        for (number, counters, overflowed) in self.io.ports.driver_counters() {
            let held = self.held_back(number);
            let others = [("tx_overflow", overflowed), ("accel_handover", held)];
            let reasons = counters.drops().chain(others);
            all.extend(reasons.map(|(reason, count)| (number, reason, count)));
        }
        all
    }

    /// Reads the drivers' counters at intervals, and logs how many repeated lines were left out.
    pub(super) fn count(&mut self, now: Time) {
        if now.since(self.lane.counted) < COUNTER_PERIOD_NS {
            return;
        }
        self.lane.counted = now;
        log::report_left_out();
        for (number, counters, overflowed) in self.io.ports.driver_counters() {
            let Some(port) = self.switch.datapath().ports().get(&number) else {
                continue;
            };
            let lost = PortStats {
                rx_over_err: counters.rx_dropped() + self.held_back(number),
                rx_errors: counters.rx_errors(),
                tx_dropped: counters.tx_dropped() + overflowed,
                tx_errors: counters.tx_errors(),
                ..port.stats.clone()
            };
            if lost == port.stats {
                continue;
            }
            self.give(
                now,
                |_| Some(RecordedInput::PortLost(number, Box::new(lost.clone()))),
                |switch, _| switch.set_driver_counters(number, &lost),
            );
        }
    }
}
