//! The exports of a running switch: started and ended, fed with counters, and shown.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bofuss_datapath::Port;
use bofuss_ext::Switch;
use bofuss_oflib::PortNo;
use bofuss_oflib::message::port::{PortConfig, PortState};
use serde_json::{Value, json};
use tracing::warn;

use super::live_switch::LiveSwitch;
use super::port_set::PortSet;
use crate::export::{Bell, Counted, Export, ExportSpec, MAX_EXPORTS, PortCounters, StartedExport};
use crate::metrics::Samples;
use crate::port::OpenPort;

/// The time that ending exports may take to send what they have.
const END_TIMEOUT: Duration = Duration::from_millis(500);

/// The exports of a switch.
pub struct Exports {
    started: Vec<StartedExport>,
    bell: Arc<Bell>,
}

impl Exports {
    /// None yet; `bell` wakes the switch's thread.
    pub fn new(bell: Arc<Bell>) -> Self {
        Self {
            started: Vec::new(),
            bell,
        }
    }

    /// Takes over the configured exports of a switch: those that stay go on, the others end and
    /// begin.
    pub(super) fn set(&mut self, live: &mut LiveSwitch, wanted: &[ExportSpec]) {
        let id = live.switch().datapath().config().datapath_id as u32;
        if !self.replace(wanted, id) {
            return;
        }
        // They see the ports of all workers.
        let exports: Vec<_> = self.all().cloned().collect();
        live.workers().tell_of_exports(&exports);
        live.io_mut().ports.set_exports(exports, &self.bell);
        // What they see must come up to the switch.
        live.accelerator().follow_ports();
    }

    /// Takes over the exports of a switch that has nothing but these ports; `id` tells it from
    /// others.
    pub fn set_of_ports(&mut self, ports: &mut PortSet, wanted: &[ExportSpec], id: u32) {
        if self.replace(wanted, id) {
            ports.set_exports(self.all().cloned().collect(), &self.bell);
        }
    }

    /// Does what is due.
    pub(super) fn serve(&self, live: &mut LiveSwitch) {
        if live.io_mut().ports.expire_flows() {
            self.send_counters(|| {
                // The counters of the switch are those of all workers.
                live.workers().stop();
                let (switch, io) = live.unrecorded();
                port_counters(switch, &io.ports)
            });
        }
    }

    /// Does what is due, with the counters of these ports.
    pub fn serve_ports(
        &self,
        ports: &mut PortSet,
        counters: impl FnOnce(&mut PortSet) -> Vec<(PortNo, PortCounters)>,
    ) {
        if ports.expire_flows() {
            self.send_counters(|| counters(ports));
        }
    }

    /// Ends all at the end of the switch, whose ports have no frames any more: what they have is
    /// sent, if that takes no longer than [`END_TIMEOUT`].
    pub(super) fn end(&mut self, live: &mut LiveSwitch) {
        if self.started.is_empty() {
            return;
        }
        // Their threads end, and hand over their flows.
        live.io_mut().followers = None;
        self.end_of_ports(&mut live.io_mut().ports);
    }

    /// The same of a switch that has nothing but these ports.
    pub fn end_of_ports(&mut self, ports: &mut PortSet) {
        ports.set_exports(Vec::new(), &self.bell);
        StartedExport::end_all(self.started.drain(..), END_TIMEOUT);
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Export>> {
        self.started.iter().map(|started| &started.export)
    }

    /// A number that tells a new export from the others of this switch and of other switches,
    /// whose datapath ids end otherwise.
    fn free_number(&self, id: u32) -> u32 {
        let numbers = (0..=MAX_EXPORTS as u32).map(|place| id.wrapping_add(place << 24));
        let is_free = |number: &u32| self.started.iter().all(|other| other.number != *number);
        let mut free = numbers.filter(is_free);
        free.next().expect("there are fewer exports than numbers")
    }

    /// Takes over the configured exports of a switch with this id: those that stay go on, the
    /// others end and begin. Returns true if there are others than before.
    fn replace(&mut self, wanted: &[ExportSpec], id: u32) -> bool {
        let all = self.started.drain(..);
        let (kept, ended): (Vec<_>, Vec<_>) =
            all.partition(|started| wanted.contains(&started.export.spec));
        self.started = kept;
        let has_changed = !ended.is_empty() || self.started.len() < wanted.len();
        for spec in wanted {
            if self.all().any(|export| export.spec == *spec) {
                continue;
            }
            let number = self.free_number(id);
            match StartedExport::start(spec.clone(), number) {
                Ok(started) => self.started.push(started),
                Err(error) => warn!("{spec}: {error}"),
            }
        }
        has_changed
    }

    /// Gives counters of ports to the exports for which they are due.
    fn send_counters(&self, counters: impl FnOnce() -> Vec<(PortNo, PortCounters)>) {
        let due: Vec<_> = self
            .all()
            .filter(|export| export.wants_counters() && export.state.takes_counters())
            .collect();
        if due.is_empty() {
            return;
        }
        let counters = counters();
        for export in due {
            let seen = counters.iter().filter(|(port, _)| export.sees(*port));
            export.send_counters(seen.map(|(_, counters)| counters.clone()).collect());
        }
    }

    /// Adds the metrics of all.
    pub fn report(&self, samples: &mut Samples) {
        for export in self.all() {
            let name = export.spec.to_string();
            for (metric, count) in counts(export) {
                samples.add(metric, &[("export", &name)], count);
            }
        }
    }

    /// Lists all, a line each.
    pub fn lines(&self) -> String {
        let lines = self.all().map(|export| {
            let counts = counts(export).map(|(metric, count)| {
                format!(" {}={count}", metric.trim_start_matches("export_"))
            });
            let trouble = export.state.trouble();
            let trouble = trouble.map(|text| format!(" ({text})"));
            let spec = &export.spec;
            format!("{spec}{}{}\n", counts.concat(), trouble.unwrap_or_default())
        });
        lines.collect()
    }

    /// The same as JSON.
    pub fn json(&self) -> Value {
        let list = self.all().map(|export| {
            let mut value = json!({
                "export": export.spec.to_string(),
                "trouble": export.state.trouble(),
            });
            for (metric, count) in counts(export) {
                value[metric.trim_start_matches("export_")] = count.into();
            }
            value
        });
        list.collect()
    }
}

/// The counters of an export, by the names of their metrics.
fn counts(export: &Export) -> [(&'static str, u64); 6] {
    let counts = &export.state.counts;
    [
        ("export_datagrams", counts.datagrams.load(Relaxed)),
        ("export_failed_datagrams", counts.failed.load(Relaxed)),
        ("export_samples", counts.samples.load(Relaxed)),
        ("export_dropped_samples", counts.dropped.load(Relaxed)),
        ("export_flows", counts.flows.load(Relaxed)),
        ("export_uncached_packets", counts.uncached.load(Relaxed)),
    ]
}

/// The counters of all open ports.
fn port_counters(switch: &mut Switch, open: &PortSet) -> Vec<(PortNo, PortCounters)> {
    let settled = switch.settled();
    let ports = settled.datapath().ports();
    let found = open.all().filter_map(|open| {
        let port = ports.get(&open.number)?;
        Some((open.number, counters_of(port, open)))
    });
    found.collect()
}

fn counters_of(port: &Port, open: &OpenPort) -> PortCounters {
    let desc = &port.desc;
    let stats = &port.stats;
    PortCounters {
        index: open.index().unwrap_or(desc.port_no.0),
        interface: open.interface().map(String::from),
        speed: u64::from(desc.curr_speed) * 1000,
        is_enabled: !desc.config.has(PortConfig::PORT_DOWN),
        is_up: !desc.state.has(PortState::LINK_DOWN),
        received: Counted {
            bytes: stats.rx_bytes,
            packets: stats.rx_packets,
            discarded: stats.rx_dropped,
            errors: stats.rx_errors,
        },
        sent: Counted {
            bytes: stats.tx_bytes,
            packets: stats.tx_packets,
            discarded: stats.tx_dropped,
            errors: stats.tx_errors,
        },
    }
}
