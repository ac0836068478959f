//! Metrics as text: families, samples, labels; in OpenMetrics or Prometheus's older format.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use bofuss_datapath::{Metric, MetricKind};

use MetricType::{Counter, Distribution, Gauge};

/// The type of a metric.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MetricType {
    /// Only increases.
    Counter,
    /// Increases and decreases.
    Gauge,
    /// A histogram.
    Distribution,
}

/// The format of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpositionFormat {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus's text format 0.0.4.
    Plain,
}

impl ExpositionFormat {
    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// The families of metrics: name without `bofuss_`, type, meaning.
pub const FAMILIES: &[(&str, MetricType, &str)] = &[
    ("build_info", Gauge, "1; the version is a label"),
    ("uptime_seconds", Gauge, "time since the switch started"),
    ("resident_memory_bytes", Gauge, "memory in use"),
    ("pool_bytes", Gauge, "bytes of frame buffers in use"),
    (
        "pool_refused",
        Counter,
        "frame buffers refused at the limit",
    ),
    ("dropped_packets", Counter, "packets dropped, by reason"),
    (
        "extension_dropped_packets",
        Counter,
        "those of the reason hook, by extension and its own reason",
    ),
    ("cache_hits", Counter, "packets found in the flow cache"),
    (
        "cache_misses",
        Counter,
        "packets not found in the flow cache",
    ),
    (
        "cache_evictions",
        Counter,
        "flows evicted from the full flow cache",
    ),
    (
        "accelerated_flows",
        Gauge,
        "flows whose packets the kernel forwards below the switch",
    ),
    (
        "accelerated_packets",
        Counter,
        "packets that it has forwarded",
    ),
    (
        "accelerator_state",
        Gauge,
        "1; labels say whether the kernel forwards known flows: on, idle or off, and why",
    ),
    (
        "worker_packets",
        Counter,
        "frames received, by the worker that has processed them",
    ),
    ("batch_frames", Distribution, "frames received in one call"),
    (
        "batch_seconds",
        Distribution,
        "time from a batch's receipt until its frames are sent",
    ),
    (
        "message_seconds",
        Distribution,
        "time that the data plane spends on an OpenFlow message",
    ),
    (
        "bundle_commit_error_seconds",
        Distribution,
        "how far commits of bundles were from the time asked for",
    ),
    (
        "openflow_messages",
        Counter,
        "OpenFlow messages, by direction and type",
    ),
    (
        "controller_connected",
        Gauge,
        "whether a configured controller is connected",
    ),
    ("connections", Gauge, "OpenFlow connections that are up"),
    (
        "connection_lost_packet_ins",
        Counter,
        "packet-ins dropped because a connection had no room",
    ),
    (
        "connection_lost_flow_stats",
        Counter,
        "statistics of triggers dropped because a connection had no room",
    ),
    (
        "connection_lost_notifications",
        Counter,
        "extensions' messages dropped because a connection had no room",
    ),
    (
        "extension_metrics_cut",
        Gauge,
        "1 for an extension with more values than fit into the answer",
    ),
    ("p4_digests", Counter, "digests of a P4 program"),
    (
        "p4_log_messages",
        Counter,
        "calls of log_msg of a P4 program",
    ),
    ("captures", Gauge, "active captures and mirrors"),
    (
        "export_datagrams",
        Counter,
        "datagrams sent to a collector of sFlow or IPFIX",
    ),
    (
        "export_failed_datagrams",
        Counter,
        "datagrams to a collector that the system refused to send",
    ),
    (
        "export_samples",
        Counter,
        "sampled frames, or records of flows, that were put into datagrams",
    ),
    (
        "export_dropped_samples",
        Counter,
        "those that were not: too many waited, or the collector has no address",
    ),
    ("export_flows", Gauge, "flows in the cache of an export"),
    (
        "export_uncached_packets",
        Counter,
        "packets in no flow, because the cache was full",
    ),
    (
        "recording",
        Gauge,
        "whether the record goes on: 0 once its file is full, or cannot be written",
    ),
    ("record_file_bytes", Gauge, "length of the record's file"),
    ("record_inputs", Counter, "inputs written to the record"),
    (
        "record_lost_inputs",
        Counter,
        "inputs missing in the record because they came faster than they were written",
    ),
    ("port_up", Gauge, "whether a port has a link"),
    ("port_speed_bytes_per_second", Gauge, "a port's speed"),
    (
        "port_accelerated",
        Gauge,
        "whether the kernel forwards a port's known flows, and why not",
    ),
    ("port_receive_packets", Counter, "packets received"),
    ("port_receive_bytes", Counter, "bytes received"),
    ("port_receive_dropped", Counter, "received packets dropped"),
    ("port_receive_errors", Counter, "errors on receipt"),
    ("port_transmit_packets", Counter, "packets sent"),
    ("port_transmit_bytes", Counter, "bytes sent"),
    (
        "port_transmit_dropped",
        Counter,
        "packets dropped instead of sent",
    ),
    ("port_transmit_errors", Counter, "errors on sending"),
    (
        "port_driver_dropped_packets",
        Counter,
        "frames that a port's driver dropped, by reason",
    ),
    ("queue_packets", Counter, "packets sent from a queue"),
    ("queue_bytes", Counter, "bytes sent from a queue"),
    (
        "guarantees_refused",
        Counter,
        "guarantees of QoS records that did not fit a port",
    ),
    (
        "queue_dropped",
        Counter,
        "packets that a full queue dropped",
    ),
    ("table_entries", Gauge, "entries of a table"),
    ("table_max_entries", Gauge, "entries that a table may have"),
    ("table_lookups", Counter, "packets looked up in a table"),
    (
        "table_matches",
        Counter,
        "packets that hit an entry of a table",
    ),
    ("group_flows", Gauge, "entries and groups that use a group"),
    ("group_packets", Counter, "packets through a group"),
    ("group_bytes", Counter, "bytes through a group"),
    ("meter_flows", Gauge, "entries that use a meter"),
    ("meter_packets", Counter, "packets through a meter"),
    ("meter_bytes", Counter, "bytes through a meter"),
    (
        "meter_band_packets",
        Counter,
        "packets that a meter band applied to",
    ),
    ("flow_packets", Counter, "packets that hit an entry"),
    ("flow_bytes", Counter, "bytes that hit an entry"),
    (
        "flows_left_out",
        Gauge,
        "flow entries that did not fit into the answer",
    ),
];

/// A histogram whose bucket bounds double.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// The upper bound of the first bucket.
    first: u64,
    /// The count of each bucket; the last has the values above the last bound.
    buckets: Vec<u64>,
    sum: u64,
}

impl Histogram {
    /// A histogram with `bounds` bounds, the lowest of which is `first`.
    pub fn new(first: u64, bounds: usize) -> Self {
        Self {
            first,
            buckets: vec![0; bounds + 1],
            sum: 0,
        }
    }

    /// One whose `counts` and `sum` are known; the last count is of values above the last bound.
    pub fn of(first: u64, counts: &[u64], sum: u64) -> Self {
        Self {
            first,
            buckets: counts.into(),
            sum,
        }
    }

    /// Counts a value.
    pub fn observe(&mut self, value: u64) {
        let above = value.saturating_sub(1) / self.first;
        let bucket = (u64::BITS - above.leading_zeros()) as usize;
        let last = self.buckets.len() - 1;
        self.buckets[bucket.min(last)] += 1;
        self.sum += value;
    }
}

/// Samples of all families.
#[derive(Default)]
pub struct Samples {
    /// The switch that the samples belong to; `None` for those of the process.
    pub switch: Option<String>,
    families: BTreeMap<String, String>,
    /// The families of extensions: type and meaning.
    of_extensions: BTreeMap<String, (MetricType, &'static str)>,
}

impl Samples {
    /// Adds a sample of the family `name`, one of [`FAMILIES`].
    pub fn add(&mut self, name: &'static str, labels: Labels<'_>, value: impl fmt::Display) {
        let family = FAMILIES.iter().find(|row| row.0 == name);
        let suffix = match family {
            Some((_, Counter, _)) => "_total",
            Some((_, Gauge | Distribution, _)) | None => "",
        };
        self.line(name, suffix, labels, value);
    }

    /// Adds a sample of a family of an extension; its name begins with the extension's.
    pub fn add_of(&mut self, extension: &str, metric: &Metric) {
        let name = format!("{extension}_{}", metric.name);
        let (kind, suffix) = match metric.kind {
            MetricKind::Counter => (Counter, "_total"),
            MetricKind::Gauge => (Gauge, ""),
        };
        let mut labels: Vec<(&str, &dyn fmt::Display)> = Vec::new();
        for (label, value) in &metric.labels {
            labels.push((label, value));
        }
        self.line(&name, suffix, &labels, metric.value);
        self.of_extensions
            .entry(name)
            .or_insert((kind, metric.help));
    }

    /// Adds a histogram whose values are in 1/`units` of the family's unit.
    pub fn distribution(&mut self, name: &'static str, histogram: &Histogram, units: f64) {
        let mut count = 0;
        let bounds = (0..).map(|power| (histogram.first << power) as f64 / units);
        for (number, (bucket, bound)) in (1..).zip(histogram.buckets.iter().zip(bounds)) {
            count += bucket;
            let bound = if number == histogram.buckets.len() {
                "+Inf".into()
            } else {
                format!("{bound:?}")
            };
            self.line(name, "_bucket", &[("le", &bound)], count);
        }
        self.line(name, "_sum", &[], histogram.sum as f64 / units);
        self.line(name, "_count", &[], count);
    }

    fn line(&mut self, name: &str, suffix: &str, labels: Labels<'_>, value: impl fmt::Display) {
        if !self.families.contains_key(name) {
            self.families.insert(name.into(), String::new());
        }
        let text = self.families.get_mut(name).expect("it is there");
        let _ = write!(text, "bofuss_{name}{suffix}");
        let switch = self.switch.as_ref().map(|name| ("switch", name as _));
        let mut close = "";
        for (label, value) in switch.iter().chain(labels) {
            let value = value
                .to_string()
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            let open = if close.is_empty() { '{' } else { ',' };
            let _ = write!(text, "{open}{label}=\"{value}\"");
            close = "}";
        }
        let _ = writeln!(text, "{close} {value}");
    }

    /// The whole text.
    pub fn text(&self, format: ExpositionFormat) -> String {
        let mut text = String::new();
        let own = FAMILIES.iter().copied();
        let of_extensions = self.of_extensions.iter();
        let others = of_extensions.map(|(name, (kind, meaning))| (name.as_str(), *kind, *meaning));
        for (name, kind, meaning) in own.chain(others) {
            let Some(samples) = self.families.get(name) else {
                continue;
            };
            let (kind, suffix) = match kind {
                Counter if format == ExpositionFormat::Plain => ("counter", "_total"),
                Counter => ("counter", ""),
                Gauge => ("gauge", ""),
                Distribution => ("histogram", ""),
            };
            let _ = writeln!(text, "# HELP bofuss_{name}{suffix} {meaning}");
            let _ = writeln!(text, "# TYPE bofuss_{name}{suffix} {kind}");
            text += samples;
        }
        if format == ExpositionFormat::OpenMetrics {
            text += "# EOF\n";
        }
        text
    }
}

/// Names and values of labels.
pub type Labels<'a> = &'a [(&'a str, &'a dyn fmt::Display)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_falls_into_the_bucket_whose_bound_it_does_not_exceed() {
        let mut histogram = Histogram::new(1000, 3);
        for value in [0, 1, 1000, 1001, 2000, 2001, 4000, 4001, u64::MAX >> 8] {
            histogram.observe(value);
        }
        assert_eq!(histogram.buckets, [3, 2, 2, 2]);
        let mut samples = Samples::default();
        samples.distribution("batch_seconds", &histogram, 1e9);
        let text = samples.text(ExpositionFormat::OpenMetrics);
        let expected = "bofuss_batch_seconds_bucket{le=\"2e-6\"} 5\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("{le=\"+Inf\"} 9\n"), "{text}");
    }

    #[test]
    fn an_extensions_metrics_have_its_name_and_their_own_meaning() {
        let metric = |kind, labels, value| Metric {
            name: "states",
            help: "flows with a state",
            kind,
            labels,
            value,
        };
        let mut samples = Samples::default();
        let table = |number: u8| vec![("table", number.to_string())];
        for number in [0, 1] {
            samples.add_of("machine", &metric(MetricKind::Gauge, table(number), 7));
        }
        samples.add_of("other", &metric(MetricKind::Counter, vec![], 8));
        samples.add("captures", &[], 1);
        assert_eq!(
            samples.text(ExpositionFormat::OpenMetrics),
            "# HELP bofuss_captures active captures and mirrors\n\
             # TYPE bofuss_captures gauge\n\
             bofuss_captures 1\n\
             # HELP bofuss_machine_states flows with a state\n\
             # TYPE bofuss_machine_states gauge\n\
             bofuss_machine_states{table=\"0\"} 7\n\
             bofuss_machine_states{table=\"1\"} 7\n\
             # HELP bofuss_other_states flows with a state\n\
             # TYPE bofuss_other_states counter\n\
             bofuss_other_states_total 8\n\
             # EOF\n"
        );
    }

    #[test]
    fn the_dashboard_and_the_alerts_name_only_metrics_that_exist() {
        let mut known = Vec::new();
        for (name, kind, _) in FAMILIES {
            let suffixes: &[&str] = match kind {
                Counter => &["_total"],
                Gauge => &[""],
                Distribution => &["_bucket", "_sum", "_count"],
            };
            known.extend(suffixes.iter().map(|suffix| format!("{name}{suffix}")));
        }
        for text in [
            include_str!("../../../contrib/prometheus/dashboard.json"),
            include_str!("../../../contrib/prometheus/bofuss.rules.yml"),
        ] {
            let named: Vec<&str> = text.split("bofuss_").skip(1).collect();
            assert!(named.len() > 8);
            for rest in named {
                let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_');
                let name = &rest[..end.unwrap_or(rest.len())];
                assert!(known.iter().any(|one| one == name), "bofuss_{name}");
            }
        }
    }

    #[test]
    fn counters_and_labels_are_written_as_each_format_wants_them() {
        let mut samples = Samples::default();
        samples.add("port_receive_packets", &[("name", &"a\"b\\c\nd")], 7);
        let line = "bofuss_port_receive_packets_total{name=\"a\\\"b\\\\c\\nd\"} 7\n";
        let open = samples.text(ExpositionFormat::OpenMetrics);
        assert!(open.contains("# TYPE bofuss_port_receive_packets counter\n"));
        assert!(open.ends_with(&format!("{line}# EOF\n")), "{open}");
        let plain = samples.text(ExpositionFormat::Plain);
        assert!(plain.contains("# TYPE bofuss_port_receive_packets_total counter\n"));
        assert!(plain.ends_with(line), "{plain}");
    }
}
