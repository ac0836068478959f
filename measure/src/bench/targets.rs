//! The targets of the switch, and whether a run met them.

use std::collections::BTreeMap;

use crate::bench::report::{BenchReport, Figure};
use crate::statistics::numbers::number;
use crate::testbed::setup::Setup;

/// The nanoseconds of each case of the bench without I/O.
pub type InMemory = BTreeMap<String, f64>;

/// The figures of a run that targets use.
pub struct Targets<'a> {
    pub report: &'a BenchReport,
    pub in_memory: &'a InMemory,
    rows: Vec<[String; 4]>,
}

/// An upper or a lower bound.
#[derive(Clone, Copy)]
enum Bound {
    Most(f64),
    Least(f64),
}
use Bound::{Least, Most};

/// The key of a figure: case, parameter and metric.
type FigureKey<'a> = (&'a str, u32, &'a str);

impl<'a> Targets<'a> {
    /// Reads the figures of a run.
    pub fn new(report: &'a BenchReport, in_memory: &'a InMemory) -> Self {
        let mut this = Self {
            report,
            in_memory,
            rows: Vec::new(),
        };
        this.yardstick();
        this.open_vswitch();
        this.accelerated();
        this.attempts();
        this.p4();
        this.memory_alone();
        this.flat();
        this.controller();
        this.packages();
        this.footprint();
        this
    }

    /// The targets and the measured values, as a table.
    pub fn table(&self) -> String {
        let mut text = "| what | target | measured | met |\n|---|---|---|---|\n".to_string();
        for row in &self.rows {
            text += &format!("| {} |\n", row.join(" | "));
        }
        text
    }

    fn row(&mut self, what: &str, limit: Bound, unit: &str, value: Option<f64>) {
        let (target, met) = match limit {
            Most(most) => (
                format!("at most {}", number(most)),
                value.map(|v| v <= most),
            ),
            Least(least) => (
                format!("at least {}", number(least)),
                value.map(|v| v >= least),
            ),
        };
        let met = met.map_or("not measured", |met| if met { "yes" } else { "**no**" });
        let value = value.map_or_else(|| "-".into(), |v| format!("{}{unit}", number(v)));
        self.rows
            .push([what.into(), target + unit, value, met.into()]);
    }

    fn get(&self, (case, parameter, metric): FigureKey<'_>, setup: Setup) -> Option<&'a Figure> {
        self.report.get(case, parameter, metric, setup)
    }

    fn median(&self, key: FigureKey<'_>) -> Option<f64> {
        self.get(key, Setup::Bofuss).map(|figure| figure.median)
    }

    /// The ratio of the switch to another set-up.
    fn over(&self, key: FigureKey<'_>, base: Setup) -> Option<f64> {
        self.ratio(key, Setup::Bofuss, base)
    }

    /// The ratio of two set-ups.
    fn ratio(&self, key: FigureKey<'_>, own: Setup, base: Setup) -> Option<f64> {
        self.get(key, own)?.over(self.get(key, base)?)
    }

    /// The ratio of what frames of known flows cost the machine beyond their sender's part.
    fn forwarding(&self, flows: u32, base: Setup) -> Option<f64> {
        let figure = |metric, setup| self.get(("known-flows", flows, metric), setup);
        let sender = figure("sender alone", Setup::Bridge)?.median;
        let own = figure("whole machine", Setup::BofussAccelerated)?.median;
        let base = figure("whole machine", base)?.median;
        (base > sender).then(|| (own - sender) / (base - sender))
    }

    /// The ratio of two figures of the switch.
    fn between(&self, own: FigureKey<'_>, base: FigureKey<'_>) -> Option<f64> {
        self.get(own, Setup::Bofuss)?
            .over(self.get(base, Setup::Bofuss)?)
    }

    fn ns(&self, name: &str) -> Option<f64> {
        self.in_memory.get(name).copied()
    }

    fn yardstick(&mut self) {
        let ratio = self.over(("frames", 0, "processor"), Setup::Yardstick);
        self.row(
            "64-byte frames, one rule: processor time relative to the yardstick",
            Most(1.1),
            "",
            ratio,
        );
        for (case, with) in [("tcp", "with"), ("tcp-plain", "without")] {
            for streams in [1, 4] {
                let ratio = self.over((case, streams, "processor"), Setup::Recvmmsg);
                let what = format!(
                    "TCP {with} offloads ({streams}): \
                     processor time relative to the bare forwarder on recvmmsg"
                );
                self.row(&what, Most(1.05), "", ratio);
            }
        }
        for (metric, most) in [("p50", 3.0), ("p99", 10.0)] {
            for bytes in [64, 128, 256] {
                let key = ("rtt", bytes, metric);
                let base = self.get(key, Setup::Yardstick).map(|figure| figure.median);
                let more = self.median(key).zip(base).map(|(own, base)| own - base);
                let what = format!("echoes of {bytes} bytes, {metric}: more than the yardstick");
                self.row(&what, Most(most), " us", more);
            }
        }
    }

    /// The case that compares worst with another set-up: the greatest ratio, or the least.
    fn worst(
        &self,
        base: Setup,
        greatest: bool,
        counts: fn(&Figure) -> bool,
    ) -> Option<(f64, String)> {
        let own = self
            .report
            .figures
            .iter()
            .filter(|f| f.setup == Setup::Bofuss.name() && counts(f));
        let ratios = own.filter_map(|f| {
            let ratio = f.over(self.get((&f.case, f.parameter, &f.metric), base)?)?;
            Some((ratio, f.name()))
        });
        ratios.reduce(|a, b| if (b.0 > a.0) == greatest { b } else { a })
    }

    fn open_vswitch(&mut self) {
        // Below saturation all set-ups forward the same rate.
        let (ratio, name) = self
            .worst(Setup::Ovs, true, |f| {
                f.metric == "processor" && f.unit.starts_with("ns/")
            })
            .unzip();
        let name = name.unwrap_or_default();
        let what = format!("every case, processor time relative to Open vSwitch (worst: {name})");
        self.row(&what, Most(0.5), "", ratio);
        let (ratio, name) = self
            .worst(Setup::Ovs, false, |f| {
                f.metric == "rate" && f.case != "share"
            })
            .unzip();
        let name = name.unwrap_or_default();
        let what = format!("every case, rate relative to Open vSwitch (worst: {name})");
        self.row(&what, Least(2.0), "", ratio);
        for streams in [1, 4] {
            let ratio = self.over(("tcp", streams, "rate"), Setup::OvsTso);
            let what = format!("TCP ({streams}): rate relative to Open vSwitch with userspace-tso");
            self.row(&what, Least(1.3), "", ratio);
        }
        for percent in [10, 50] {
            let ratio = self.over(("share", percent, "processor"), Setup::OvsXdp);
            let what = format!(
                "the same load, {percent} % of the yardstick's most: \
                 processor time beside Open vSwitch with AF_XDP"
            );
            self.row(&what, Most(0.8), "", ratio);
        }
        let ratio = self.over(("frames", 0, "rate"), Setup::OvsXdp);
        self.row(
            "64-byte frames: rate relative to Open vSwitch with AF_XDP",
            Least(0.9),
            "",
            ratio,
        );
    }

    /// Known flows that the kernel forwards, beside the kernel's bridge, the switch alone, and Open
    /// vSwitch.
    fn accelerated(&mut self) {
        let (own, bridge) = (Setup::BofussAccelerated, Setup::Bridge);
        for streams in [1, 4] {
            let rate = ("tcp", streams, "rate");
            let what = format!("TCP ({streams}), accelerated: rate relative to the bridge");
            let ratio = self.ratio(rate, own, bridge);
            self.row(&what, Least(1.0), "", ratio);
            let what = format!("TCP ({streams}), accelerated: machine's time to the bridge's");
            let ratio = self.ratio(("tcp", streams, "whole machine"), own, bridge);
            self.row(&what, Most(1.05), "", ratio);
            let what = format!("TCP ({streams}), accelerated: rate to userspace-tso's");
            let ratio = self.ratio(rate, own, Setup::OvsTso);
            self.row(&what, Least(4.0), "", ratio);
        }
        for flows in [1, 1_000] {
            let what = format!("frames of {flows} known flows: rate relative to the bridge");
            let ratio = self.ratio(("known-flows", flows, "rate"), own, bridge);
            self.row(&what, Least(1.0), "", ratio);
            let what = format!("frames of {flows} known flows: forwarding time to the bridge's");
            let ratio = self.forwarding(flows, bridge);
            self.row(&what, Most(1.1), "", ratio);
        }
        let ratio = self.forwarding(100_000, Setup::Bofuss);
        let what = "frames of 100,000 known flows: forwarding time to that of the switch alone";
        self.row(what, Most(0.5), "", ratio);
        for (metric, most) in [("p50", 3.0), ("p99", 20.0)] {
            let key = ("rtt", 64, metric);
            let medians = self.get(key, own).zip(self.get(key, bridge));
            let more = medians.map(|(own, bridge)| own.median - bridge.median);
            let what = format!("echoes of 64 bytes, {metric}, accelerated: more than the bridge");
            self.row(&what, Most(most), " us", more);
        }
        let ratio = self.ratio(("frames", 0, "whole machine"), own, Setup::Ovs);
        let what = "64-byte frames, accelerated: machine's time to Open vSwitch's";
        self.row(what, Most(1.0 / 3.0), "", ratio);
    }

    /// What the accelerator costs where it cannot help, or is disturbed.
    fn attempts(&mut self) {
        let own = Setup::BofussAccelerated;
        let ratio = self.ratio(("unknown", 128, "whole machine"), own, Setup::Bofuss);
        let what = "frames that nobody knows: machine's time to that of the switch alone";
        self.row(what, Most(1.05), "", ratio);
        let lost = self.get(("known-churn", 0, "rate lost to 10,000 flow-mods/s"), own);
        let what = "rate of a known flow that is lost to 10,000 flow-mods a second";
        self.row(what, Most(5.0), " %", lost.map(|figure| figure.median));
    }

    fn p4(&mut self) {
        for flows in [1, 1_000, 100_000] {
            let key = ("router", flows, "processor");
            let ratio = self.ratio(key, Setup::BofussP4, Setup::BofussRouter);
            let flows = number(flows.into());
            let what = format!("a router in P4, {flows} flows: processor time to OpenFlow's");
            self.row(&what, Most(1.5), "", ratio);
        }
    }

    fn memory_alone(&mut self) {
        for (flows, most) in [(1_000, 60.0), (100_000, 110.0), (1_000_000, 150.0)] {
            let cost = self.ns(&format!("cache: {flows} flows"));
            let what = format!("in memory, {} flows in random order", number(flows.into()));
            self.row(&what, Most(most), " ns", cost);
        }
        let cost = self.ns("cache: 1000 flows, full width");
        let what = "in memory, 1,000 flows, keys of full width";
        self.row(what, Most(120.0), " ns", cost);
        let five = self.ns("cache: 1000 flows, 5 tables");
        let one = self.ns("cache: 1000 flows, 1 tables");
        let ratio = five.zip(one).map(|(five, one)| five / one);
        self.row(
            "in memory, five tables relative to one",
            Most(1.2),
            "",
            ratio,
        );
        for engine in ["cache", "tables"] {
            let cost = self.ns(&format!("{engine}: 128 masks, random headers"));
            let what = format!("in memory, random headers against 128 masks, {engine}");
            self.row(&what, Most(800.0), " ns", cost);
        }
        let cost = self.ns("cache: 100000 flows, crafted");
        self.row(
            "in memory, 100,000 flows crafted to collide",
            Most(1000.0),
            " ns",
            cost,
        );
    }

    fn flat(&mut self) {
        for (case, few) in [("flows", 10), ("rules", 1)] {
            let many = (case, 1_000_000, "processor");
            let ratio = self.between(many, (case, few, "processor"));
            let what = format!("1,000,000 {case} beside {few}: processor time");
            self.row(&what, Most(1.1), "", ratio);
        }
        let case = "flow-states";
        let setup = Setup::BofussOpenQflow;
        let many = self.get((case, 1_000_000, "processor"), setup);
        let few = self.get((case, 1_000, "processor"), setup);
        let ratio = many.zip(few).and_then(|(many, few)| many.over(few));
        let what = "1,000,000 flows with states of OpenQFlow beside 1,000: processor time";
        self.row(what, Most(1.15), "", ratio);
        for (masks, name, least) in [(128, "128", 75.0), (8_000, "8,000", 60.0)] {
            let kept = self.median(("attack", masks, "rate kept"));
            let what = format!("random headers against {name} masks: rate that is kept");
            self.row(&what, Least(least), " %", kept);
        }
    }

    fn controller(&mut self) {
        let added = ("rules", 1_000_000, "added");
        self.row(
            "flow-mods that add 1,000,000 entries",
            Least(300_000.0),
            " a second",
            self.median(added),
        );
        let ratio = self.over(added, Setup::Ovs);
        self.row("the same relative to Open vSwitch", Least(3.0), "", ratio);
        let stats = ("stats", 1_000_000, "time");
        let seconds = self.median(stats).map(|us| us / 1e6);
        self.row("statistics of 1,000,000 flows", Most(1.0), " s", seconds);
        let ratio = self.over(stats, Setup::Ovs);
        self.row("the same relative to Open vSwitch", Most(0.5), "", ratio);
        let lost = "rate lost to 10,000 flow-mods/s";
        for (what, key) in [
            ("rate lost to 10,000 flow-mods a second", ("churn", 0, lost)),
            ("the same with 1,000,000 flows", ("rules", 1_000_000, lost)),
        ] {
            self.row(what, Most(5.0), " %", self.median(key));
        }
        for (share, load) in [(0, "idle"), (10, "beside 10 % load")] {
            for metric in ["p50", "p99"] {
                let ratio = self.over(("first-packet", share, metric), Setup::Ovs);
                let what = format!("first packet, {metric}, {load}, to Open vSwitch's");
                self.row(&what, Most(1.0), "", ratio);
            }
        }
        let ratio = self.over(("packet-ins", 0, "rate"), Setup::Ovs);
        self.row(
            "packet-ins a second, to Open vSwitch's",
            Least(1.0),
            "",
            ratio,
        );
        let share = self.median(("tcp-flags", 1, "of the rate without them"));
        let what = "TCP through entries that match tcp_flags: of its rate without them";
        self.row(what, Least(70.0), " %", share);
        let wait = self.median(("hostile", 0, "p99"));
        let what = "echoes, p99, twice through the switch, during hostile super-frames";
        self.row(what, Most(2000.0), " us", wait);
        let others = self.median(("packet-ins", 0, "of another port"));
        let what = "packet-ins of a port while another one floods";
        self.row(what, Least(99.0), " %", others);
    }

    /// The build of the packages, next to the other one.
    fn packages(&mut self) {
        let rows = [
            ("flow-mods", ("flow-mods", 100_000, "added")),
            ("packet-ins", ("packet-ins", 0, "rate")),
        ];
        for (name, key) in rows {
            let base = self.get(key, Setup::Bofuss);
            let built = self.get(key, Setup::BofussStatic);
            let ratio = built.and_then(|own| own.over(base?));
            let what = format!("static build: {name} a second relative to glibc's");
            self.row(&what, Least(0.95), "", ratio);
        }
    }

    fn footprint(&mut self) {
        let rule = self.median(("rules", 1_000_000, "memory"));
        let flow = self.median(("rules", 1_000_000, "flow memory"));
        self.row("memory of a 5-tuple rule", Most(200.0), " bytes", rule);
        self.row("memory of a cached flow", Most(192.0), " bytes", flow);
        for (what, most, unit, count, metric) in [
            (
                "idle switch of four ports: memory",
                12.0,
                " MB",
                1,
                "memory",
            ),
            ("the same: wake-ups a second", 1.0, "", 1, "wake-ups"),
            ("100 of them: memory", 1500.0, " MB", 100, "memory"),
            ("the same: processor", 5.0, " % of a core", 100, "processor"),
        ] {
            let value = self.median(("idle", count, metric));
            self.row(what, Most(most), unit, value);
        }
    }
}
