//! Collects the metrics in slices, with packets in between.

use bofuss_agent::FIRST_ERROR_BOUND_NS;
use bofuss_channel::ActiveAddress;
use bofuss_datapath::{Cursor, Egress, Table};
use bofuss_oflib::PortNo;
use bofuss_oflib::message::port::PortState;
use bofuss_oflib::types::{GroupId, MeterId, TableId};
use bofuss_oflib::wire::Text;

use super::collection::{CollectedSwitch, Collection};
use super::live_switch::LiveSwitch;
use crate::metrics::{Histogram, Labels, Samples};

/// Nanoseconds of a second.
const NS_PER_SEC: f64 = 1e9;
/// Most ports, groups or meters in one slice.
const SLICE: usize = 32;
/// Most values of one extension in one answer.
const MAX_EXTENSION_VALUES: usize = 10_000;
/// Most flow entries of one switch in one answer.
const MAX_FLOWS: usize = 100_000;

/// A collection of metrics in progress: the samples so far, and where to continue.
pub struct Scrape {
    /// The samples so far.
    pub samples: Samples,
    next: NextSlice,
    flows: Option<Cursor>,
    flows_seen: usize,
}

/// The slice to continue with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NextSlice {
    Switch,
    Ports(PortNo),
    Groups(GroupId),
    Meters(MeterId),
    Extensions {
        extension: usize,
        /// The place where the extension continues; only the extension knows what the number means.
        from: u64,
        /// The number of values that it has given before.
        count: usize,
    },
    Flows,
    Nothing,
}

impl NextSlice {
    fn first_of_extension(extension: usize) -> Self {
        Self::Extensions {
            extension,
            from: 0,
            count: 0,
        }
    }
}

impl Collection for Box<Scrape> {
    fn is_done(&self) -> bool {
        self.next == NextSlice::Nothing
    }

    fn add_slice(&mut self, switch: CollectedSwitch<'_>) {
        let live = switch.live;
        self.next = match self.next {
            NextSlice::Switch => {
                self.add_switch(live);
                switch.exports.report(&mut self.samples);
                self.add_controllers(live, switch.controllers);
                self.add_tables(live);
                self.add_drivers(live);
                NextSlice::Ports(PortNo(0))
            }
            NextSlice::Ports(from) => self.add_ports(live, from),
            NextSlice::Groups(from) => self.add_groups(live, from),
            NextSlice::Meters(from) => self.add_meters(live, from),
            NextSlice::Extensions {
                extension,
                from,
                count,
            } => self.add_extension(live, extension, from, count),
            NextSlice::Flows => self.add_flows(live),
            NextSlice::Nothing => NextSlice::Nothing,
        };
    }
}

impl Scrape {
    /// Starts with the metrics of the process. With `flows`, flow entries come last.
    pub fn new(flows: bool) -> Self {
        let mut samples = Samples::default();
        let version = env!("CARGO_PKG_VERSION");
        samples.add("build_info", &[("version", &version)], 1);
        if let Some(kib) = super::command::resident_kib() {
            samples.add("resident_memory_bytes", &[], kib * 1024);
        }
        Self {
            samples,
            next: NextSlice::Nothing,
            flows: flows.then(|| Cursor::new(TableId::ALL)),
            flows_seen: 0,
        }
    }

    /// Continues with the switch `name`.
    pub fn begin(&mut self, name: String) {
        self.samples.switch = Some(name);
        self.next = NextSlice::Switch;
        self.flows = self.flows.take().map(|_| Cursor::new(TableId::ALL));
        self.flows_seen = 0;
    }

    fn add_switch(&mut self, live: &mut LiveSwitch) {
        let samples = &mut self.samples;
        samples.add("uptime_seconds", &[], live.clock().uptime().as_secs_f64());
        let pool = live.pool().stats();
        samples.add("pool_bytes", &[], pool.bytes_in_use);
        samples.add("pool_refused", &[], pool.refused);
        let datapath = live.settled().datapath();
        for (reason, count) in datapath.lane().drops() {
            samples.add("dropped_packets", &[("reason", &reason.name())], count);
        }
        for (extension, reason, count) in datapath.hooks().drops() {
            let labels: Labels<'_> = &[("extension", &extension), ("reason", &reason)];
            samples.add("extension_dropped_packets", labels, count);
        }
        let cache = datapath.lane().engine.stats();
        samples.add("cache_hits", &[], cache.hits);
        samples.add("cache_misses", &[], cache.misses);
        samples.add("cache_evictions", &[], cache.evicted);
        let standing = live.acceleration().standing().unwrap_or_default();
        samples.add("accelerated_flows", &[], standing.flows);
        samples.add("accelerated_packets", &[], standing.packets);
        let (state, why) = live.acceleration().state();
        let why = why.unwrap_or_default();
        let labels: Labels<'_> = &[("state", &state), ("why", &why)];
        samples.add("accelerator_state", labels, 1);
        samples.add("captures", &[], live.io().ports.copiers.len());
        if let Some(recorder) = &live.io().recorder {
            recorder.report(samples);
        }
        for (worker, packets) in live.workers().packets().into_iter().enumerate() {
            samples.add("worker_packets", &[("worker", &worker)], packets);
        }
        live.counters()
            .report(live.io().connections.sent(), samples);
        let errors = live.switch().clock().errors;
        let histogram = Histogram::of(FIRST_ERROR_BOUND_NS, &errors.counts, errors.sum_ns);
        samples.distribution("bundle_commit_error_seconds", &histogram, NS_PER_SEC);
    }

    fn add_controllers(&mut self, live: &LiveSwitch, controllers: &[ActiveAddress]) {
        let samples = &mut self.samples;
        for controller in controllers {
            let up = live.io().connections.have(controller);
            let labels: Labels<'_> = &[("controller", controller)];
            samples.add("controller_connected", labels, u8::from(up));
        }
        let all = live.io().connections.select(|_| true);
        samples.add("connections", &[], all.len());
        for conn in all {
            let peer = live.io().connections.peer(conn);
            let role = match live.switch().role(conn) {
                Some(role) => role.to_string(),
                None => String::new(),
            };
            let labels: Labels<'_> = &[("connection", &conn.0), ("peer", &peer), ("role", &role)];
            let lost = live.switch().lost(conn);
            samples.add("connection_lost_packet_ins", labels, lost.packet_ins);
            samples.add("connection_lost_flow_stats", labels, lost.flow_stats);
            samples.add("connection_lost_notifications", labels, lost.notifications);
        }
    }

    fn add_tables(&mut self, live: &mut LiveSwitch) {
        let samples = &mut self.samples;
        let settled = live.settled();
        let datapath = settled.datapath();
        for head in datapath.shape().heads() {
            let table = &datapath.tables()[usize::from(head.table_id.0)];
            let counts = settled.table_counts(head.table_id);
            let labels: Labels<'_> = &[("table", &head.table_id.0), ("name", &head.name.0)];
            samples.add("table_entries", labels, table.len());
            samples.add("table_max_entries", labels, head.max_entries);
            samples.add("table_lookups", labels, counts.lookups);
            samples.add("table_matches", labels, counts.matches);
        }
    }

    fn add_drivers(&mut self, live: &mut LiveSwitch) {
        let samples = &mut self.samples;
        for (number, reason, count) in live.driver_drops() {
            let labels: Labels<'_> = &[("port", &number), ("reason", &reason)];
            samples.add("port_driver_dropped_packets", labels, count);
        }
    }

    fn add_ports(&mut self, live: &LiveSwitch, from: PortNo) -> NextSlice {
        let samples = &mut self.samples;
        let datapath = live.switch().datapath();
        let mut ports = datapath.ports().range(from..);
        for (number, port) in ports.by_ref().take(SLICE) {
            let labels: Labels<'_> = &[("port", number), ("name", &port.desc.name.0)];
            let desc = &port.desc;
            let stats = &port.stats;
            let down = desc.state.has(PortState::LINK_DOWN);
            samples.add("port_up", labels, u8::from(!down));
            let speed = u64::from(desc.curr_speed) * 125;
            samples.add("port_speed_bytes_per_second", labels, speed);
            let refused = live.acceleration().why_not(*number);
            let is_accelerated = u8::from(refused.is_none());
            let why = refused.unwrap_or_default();
            let with_why: Labels<'_> = &[labels[0], labels[1], ("why", &why)];
            samples.add("port_accelerated", with_why, is_accelerated);
            for (name, count) in [
                ("port_receive_packets", stats.rx_packets),
                ("port_receive_bytes", stats.rx_bytes),
                ("port_receive_dropped", stats.rx_dropped),
                ("port_receive_errors", stats.rx_errors),
                ("port_transmit_packets", stats.tx_packets),
                ("port_transmit_bytes", stats.tx_bytes),
                ("port_transmit_dropped", stats.tx_dropped),
                ("port_transmit_errors", stats.tx_errors),
            ] {
                samples.add(name, labels, count);
            }
            if let Some(promised) = datapath.queues().of(*number).and_then(Egress::guarantees) {
                samples.add("guarantees_refused", labels, promised.refused);
            }
            let queues = datapath.queues().of(*number).map(Egress::queues);
            for queue in queues.unwrap_or_default() {
                let labels: Labels<'_> = &[labels[0], labels[1], ("queue", &queue.id.0)];
                samples.add("queue_packets", labels, queue.stats.tx_packets);
                samples.add("queue_bytes", labels, queue.stats.tx_bytes);
                samples.add("queue_dropped", labels, queue.stats.tx_errors);
            }
        }
        match ports.next() {
            Some((number, _)) => NextSlice::Ports(*number),
            None => NextSlice::Groups(GroupId(0)),
        }
    }

    fn add_groups(&mut self, live: &LiveSwitch, from: GroupId) -> NextSlice {
        let samples = &mut self.samples;
        let all = from..=GroupId(u32::MAX);
        let mut groups = live.switch().datapath().groups().stats(live.now(), all);
        for group in groups.by_ref().take(SLICE).map(|group| group.0) {
            let labels = [("group", &group.group_id.0 as _)];
            samples.add("group_flows", &labels, group.ref_count);
            samples.add("group_packets", &labels, group.packet_count);
            samples.add("group_bytes", &labels, group.byte_count);
        }
        match groups.next() {
            Some(group) => NextSlice::Groups(group.0.group_id),
            None => NextSlice::Meters(MeterId(0)),
        }
    }

    fn add_meters(&mut self, live: &LiveSwitch, from: MeterId) -> NextSlice {
        let samples = &mut self.samples;
        let all = from..=MeterId(u32::MAX);
        let mut meters = live.switch().datapath().meters().stats(live.now(), all);
        for meter in meters.by_ref().take(SLICE) {
            let labels = [("meter", &meter.meter_id.0 as _)];
            samples.add("meter_flows", &labels, meter.flow_count);
            samples.add("meter_packets", &labels, meter.input.packet_count);
            samples.add("meter_bytes", &labels, meter.input.byte_count);
            for (number, band) in meter.bands.iter().enumerate() {
                let labels = [labels[0], ("band", &number as _)];
                samples.add("meter_band_packets", &labels, band.packet_count);
            }
        }
        match meters.next() {
            Some(meter) => NextSlice::Meters(meter.meter_id),
            None => NextSlice::first_of_extension(0),
        }
    }

    fn add_extension(
        &mut self,
        live: &LiveSwitch,
        extension: usize,
        from: u64,
        mut count: usize,
    ) -> NextSlice {
        let samples = &mut self.samples;
        let mut list = Vec::new();
        let datapath = live.switch().datapath();
        let listed = datapath
            .hooks()
            .metrics(live.now(), extension, from, &mut list);
        let Some((name, next)) = listed else {
            return NextSlice::Flows;
        };
        if let Some(followers) = &live.io().followers {
            followers.add_metrics(name, &mut list);
        }
        for metric in list.iter().take(MAX_EXTENSION_VALUES - count) {
            samples.add_of(name, metric);
        }
        count += list.len();
        match next {
            Some(next) if count < MAX_EXTENSION_VALUES => {
                return NextSlice::Extensions {
                    extension,
                    from: next,
                    count,
                };
            }
            None if count <= MAX_EXTENSION_VALUES => {}
            Some(_) | None => samples.add("extension_metrics_cut", &[("extension", &name)], 1),
        }
        NextSlice::first_of_extension(extension + 1)
    }

    fn add_flows(&mut self, live: &mut LiveSwitch) -> NextSlice {
        let Some(cursor) = &mut self.flows else {
            return NextSlice::Nothing;
        };
        let settled = live.settled();
        let datapath = settled.datapath();
        let samples = &mut self.samples;
        let seen = &mut self.flows_seen;
        let is_last = settled.slice(cursor, |table, entry| {
            *seen += 1;
            if *seen > MAX_FLOWS {
                return;
            }
            let rule = entry.rule.to_match(datapath.catalogue());
            let text = Text(&rule).to_string();
            let cookie = format!("{:#x}", entry.cookie);
            let labels: Labels<'_> = &[
                ("table", &table.0),
                ("priority", &entry.key.priority.0),
                ("match", &text.trim_matches(['{', '}'])),
                ("cookie", &cookie),
            ];
            samples.add("flow_packets", labels, entry.packets);
            samples.add("flow_bytes", labels, entry.bytes);
        });
        if !is_last && *seen < MAX_FLOWS {
            return NextSlice::Flows;
        }
        let all: usize = datapath.tables().iter().map(Table::len).sum();
        samples.add("flows_left_out", &[], all.saturating_sub(MAX_FLOWS));
        NextSlice::Nothing
    }
}
