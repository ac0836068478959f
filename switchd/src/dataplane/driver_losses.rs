//! Passes what ports' drivers have lost to the counters of the switch, now and then.

use bofuss_datapath::Time;
use bofuss_embed::record::RecordedInput;
use bofuss_oflib::message::multipart::PortStats;

use super::live_switch::LiveSwitch;
use crate::log;

/// The interval at which the drivers' counters are read.
const PERIOD_NS: u64 = 500_000_000;

/// What drivers have lost, as the switch knows it.
#[derive(Default)]
pub(super) struct DriverLosses {
    /// When the drivers' counters were last read.
    read: Time,
}

impl DriverLosses {
    /// Reads the drivers' counters if it is time, and logs how many repeated lines were left out.
    pub(super) fn follow(&mut self, now: Time, live: &mut LiveSwitch) {
        if now.since(self.read) < PERIOD_NS {
            return;
        }
        self.read = now;
        // What the drivers of other workers have lost is known once they have stopped.
        live.workers().stop();
        log::report_left_out();
        for (number, counters, overflowed) in live.io_mut().driver_counters() {
            let Some(port) = live.switch().datapath().ports().get(&number) else {
                continue;
            };
            let lost = PortStats {
                rx_over_err: counters.rx_dropped() + live.acceleration().held_back(number),
                rx_errors: counters.rx_errors(),
                tx_dropped: counters.tx_dropped() + overflowed,
                tx_errors: counters.tx_errors(),
                ..port.stats.clone()
            };
            let known = PortStats {
                tx_dropped: port.driver_dropped,
                ..port.stats.clone()
            };
            if lost == known {
                continue;
            }
            live.give(
                now,
                |_| Some(RecordedInput::PortLost(number, Box::new(lost.clone()))),
                |switch, io| {
                    switch.ports(now, io, |ports| ports.set_driver_counters(number, &lost))
                },
            );
        }
    }
}
