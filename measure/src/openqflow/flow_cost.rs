//! Figure 7 of OpenQFlow: what a packet costs a switch that keeps a state for each flow, by the
//! number of flows: the first packet of a flow, and a later one.

mod tuples;

use std::fmt::Write as _;
use std::sync::Arc;

use bofuss_datapath::{Config, Time};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::{FlowModCommand, PortDesc};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::craft;
use bofuss_ports::thread_time;
use bofuss_sim::Random;

use self::tuples::{PORTS, SOURCE, Tuples};
use crate::error::Result;
use crate::reports::plot::{self, Axes, Line};
use crate::statistics::median;

/// Packets that the switch is given at once.
const BATCH: u32 = 32;
/// Rounds, of which the median counts; packets of a round, and in the shortest form.
const ROUNDS: usize = 5;
const PACKETS: u32 = 1 << 18;
const SHORT_PACKETS: u32 = 1 << 13;
/// New flows of a round: one for this many existing ones, and at least a minimum.
const NEW_PART: u32 = 20;
const LEAST_NEW: u32 = 320;
/// The numbers of flows of the paper's figure, and in the shortest form.
const FLOWS: [u32; 6] = [10, 100, 1_000, 10_000, 100_000, 1_000_000];
const SHORT_FLOWS: [u32; 2] = [10, 1_000];
/// The options of the extension: its tables, and how many flows it may keep.
const OPTIONS: [(&str, &str); 3] = [("table", "0"), ("forwarding", "1"), ("flows", "2000000")];
/// The one rule of all flows.
const RULE: &str = "table=1,priority=9,udp,actions=qflow_forward(port=2)";
/// The place of the destination address in a frame, and after it the source port.
const DESTINATION_AT: usize = 30;
const SOURCE_PORT_AT: usize = 34;
/// Bytes of the pool of frames.
const POOL_BYTES: usize = 1 << 20;
/// Payload that makes frames of 60 bytes, which are 64 with their checksum.
const PAYLOAD: [u8; 18] = [0; 18];
const PACKET_BYTES: f64 = 64.0;
/// Cycles in a nanosecond of a processor that does not report its clock.
const USUAL_GHZ: f64 = 2.5;
/// The paper's processor: cycles of a core in a nanosecond, and the number of cores.
const PAPER_GHZ: f64 = 0.6;
const PAPER_CORES: f64 = 8.0;

/// The throughput in Gb/s of a processor with `cores` cores, if a packet of 64 bytes costs `cycles`
/// cycles.
///
/// Source: OpenQFlow, equation 8.
fn throughput(ghz: f64, cores: f64, cycles: f64) -> f64 {
    ghz * cores * PACKET_BYTES / cycles * 8.0
}

/// In which order packets of flows come, and which tuples the flows have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOrder {
    /// In turn, with addresses that follow each other.
    Sequential,
    /// At random, with random tuples.
    Random,
    /// At random, with tuples of one CRC-16.
    Adversarial,
}

impl PacketOrder {
    const ALL: [Self; 3] = [Self::Sequential, Self::Random, Self::Adversarial];

    /// Its name in tables and plots.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
            Self::Adversarial => "adversarial",
        }
    }

    fn tuples(self) -> Tuples {
        match self {
            Self::Sequential => Tuples::Sequential,
            Self::Random => Tuples::Scattered,
            Self::Adversarial => Tuples::colliding(),
        }
    }
}

/// The cost of packets for one number of flows and one order.
#[derive(Clone, Copy, Debug)]
pub struct FlowCost {
    /// The order.
    pub order: PacketOrder,
    /// The number of flows.
    pub flows: u32,
    /// Cycles of the first packet of a new flow while the others exist.
    pub setup_cycles: f64,
    /// Cycles of a packet of one of them.
    pub lookup_cycles: f64,
}

impl FlowCost {
    /// Gb/s of one core here, and of the paper's processor, by what later packets cost.
    pub fn throughputs(&self) -> (f64, f64) {
        let here = throughput(cycles_per_ns(), 1.0, self.lookup_cycles);
        let paper = throughput(PAPER_GHZ, PAPER_CORES, self.lookup_cycles);
        (here, paper)
    }
}

/// Measures each order at each number of flows; fewer in the shortest form.
///
/// Errors: the switch refuses its configuration, or loses packets.
pub fn measure(short: bool) -> Result<Vec<FlowCost>> {
    let flows = if short { &SHORT_FLOWS[..] } else { &FLOWS[..] };
    let packets = if short { SHORT_PACKETS } else { PACKETS };
    let mut costs = Vec::new();
    for order in PacketOrder::ALL {
        for flows in flows {
            costs.push(with_flows(order, *flows, packets)?);
        }
    }
    Ok(costs)
}

fn with_flows(order: PacketOrder, flows: u32, packets: u32) -> Result<FlowCost> {
    let mut switch = FlowSwitch::new(order.tuples())?;
    switch.send(0..flows)?;
    let mut random = Random::new(1, 0);
    let mut lookups = Vec::new();
    for _ in 0..ROUNDS {
        let cost = match order {
            PacketOrder::Sequential => switch.send((0..packets).map(|number| number % flows))?,
            PacketOrder::Random | PacketOrder::Adversarial => {
                switch.send((0..packets).map(|_| random.below(flows.into()) as u32))?
            }
        };
        lookups.push(cost);
    }
    let new = LEAST_NEW.max(flows / NEW_PART);
    let mut setups = Vec::new();
    for round in 0..ROUNDS as u32 {
        let first = flows + round * new;
        setups.push(switch.send(first..first + new)?);
    }
    Ok(FlowCost {
        order,
        flows,
        setup_cycles: median(&setups) * cycles_per_ns(),
        lookup_cycles: median(&lookups) * cycles_per_ns(),
    })
}

/// A table of all costs.
pub fn table(costs: &[FlowCost]) -> String {
    let mut table = String::from(
        "flows    order        first packet  later packet, cycles  Gb/s: core here  paper's 8\n",
    );
    for cost in costs {
        let (here, paper) = cost.throughputs();
        writeln!(
            table,
            "{:<8} {:12} {:12.0}  {:20.0}  {here:15.2}  {paper:9.2}",
            cost.flows,
            cost.order.name(),
            cost.setup_cycles,
            cost.lookup_cycles
        )
        .expect("a text takes what is written");
    }
    table
}

/// The points of a line: numbers of flows, and a cost with each.
fn points(costs: &[FlowCost], cycles: fn(&FlowCost) -> f64) -> Vec<(f64, f64)> {
    let each = costs.iter();
    each.map(|cost| (cost.flows.into(), cycles(cost))).collect()
}

/// The plots of all costs, with their names: of later packets, next to numbers of cycles that
/// others have published, and of first ones.
pub fn plots(costs: &[FlowCost], published: &[(&str, f64)]) -> [(&'static str, String); 2] {
    let mut later = lines(costs, |cost| cost.lookup_cycles);
    if let (Some(first), Some(last)) = (costs.first(), costs.last()) {
        for (what, cycles) in published {
            later.push(Line {
                name: format!("the paper's text: {what}"),
                points: vec![(first.flows.into(), *cycles), (last.flows.into(), *cycles)],
                is_reference: true,
            });
        }
    }
    let first = lines(costs, |cost| cost.setup_cycles);
    [
        ("flow-cost", plot("A later packet of a flow", &later)),
        ("flow-setup", plot("The first packet of a flow", &first)),
    ]
}

/// A line for each order.
fn lines(costs: &[FlowCost], cycles: fn(&FlowCost) -> f64) -> Vec<Line> {
    let mut lines = Vec::new();
    for of_order in costs.chunk_by(|one, next| one.order == next.order) {
        lines.push(Line {
            name: of_order[0].order.name().into(),
            points: points(of_order, cycles),
            is_reference: false,
        });
    }
    lines
}

fn plot(packet: &str, lines: &[Line]) -> String {
    let title = format!("{packet}: its whole way through a switch with OpenQFlow");
    let axes = Axes {
        title: &title,
        x: "flows",
        y: "cycles",
        log_x: true,
    };
    plot::lines(axes, lines)
}

/// A switch in memory, without any input and output.
struct FlowSwitch {
    datapath: Datapath,
    /// The frames that have left, to be sent again.
    left: Vec<Frame>,
    pool: Pool,
    /// The bytes of a packet; its tuple is filled in.
    frame: Vec<u8>,
    tuples: Tuples,
    now: Time,
}

impl FlowSwitch {
    /// A switch with OpenQFlow and one rule.
    fn new(tuples: Tuples) -> Result<Self> {
        let pool = Pool::new(POOL_BYTES);
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let mut datapath = Datapath::new(Config::default(), Arc::clone(&catalogue), pool.clone());
        for mut hook in bofuss_ext::hooks(&catalogue) {
            if hook.name() == "openqflow" {
                for (option, value) in OPTIONS {
                    hook.set_option(option, value)
                        .map_err(|error| format!("{option}: {error}"))?;
                }
                datapath.add_hook(hook);
            }
        }
        let mut left = Vec::new();
        for port_no in [PortNo(1), PortNo(2)] {
            let desc = PortDesc {
                port_no,
                ..PortDesc::default()
            };
            datapath
                .port_control(Time(0), &mut left)
                .changed(desc, OffloadCapabilities::default());
        }
        let rule = parse_flow(RULE, FlowModCommand::ADD, &catalogue)
            .map_err(|error| format!("{RULE}: {error}"))?;
        datapath
            .control(Time(0), &mut left)
            .flow_mod(&rule)
            .map_err(|error| format!("{RULE}: {error:?}"))?;
        let udp = craft::udp(PORTS[0], PORTS[1], &PAYLOAD);
        let ip = craft::ipv4(SOURCE.into(), [11, 0, 0, 1].into(), 64, udp);
        Ok(Self {
            datapath,
            left,
            pool,
            frame: craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip),
            tuples,
            now: Time(1),
        })
    }

    /// Sends a packet of each of these flows. Returns nanoseconds for each, which include
    /// writing its tuple.
    ///
    /// Errors: some did not leave.
    fn send(&mut self, flows: impl Iterator<Item = u32>) -> Result<f64> {
        let mut flows = flows.peekable();
        let mut packets = 0_u64;
        let started = thread_time();
        while flows.peek().is_some() {
            let mut frames = std::mem::take(&mut self.left);
            let mut count = 0;
            for flow in flows.by_ref().take(BATCH as usize) {
                if frames.len() == count {
                    let frame = self.pool.frame(&self.frame);
                    frames.push(frame.ok_or("no memory for frames")?);
                }
                self.aim(&mut frames[count], flow);
                count += 1;
            }
            frames.truncate(count);
            self.now = self.now.after(1_000);
            self.datapath
                .receive(self.now, PortNo(1), &mut frames, &mut self.left);
            if self.left.len() != count {
                return Err(format!("{} of {count} packets left", self.left.len()).into());
            }
            packets += count as u64;
        }
        Ok((thread_time() - started).as_nanos() as f64 / packets as f64)
    }

    /// Makes a frame one of a flow.
    fn aim(&self, frame: &mut Frame, flow: u32) {
        let (destination, source_port) = self.tuples.of(flow);
        let bytes = frame.bytes_mut();
        bytes[DESTINATION_AT..SOURCE_PORT_AT].copy_from_slice(&destination.to_be_bytes());
        bytes[SOURCE_PORT_AT..SOURCE_PORT_AT + 2].copy_from_slice(&source_port.to_be_bytes());
    }
}

/// The processor's cycles in a nanosecond.
fn cycles_per_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("cpu MHz"));
    let mhz = line.and_then(|line| line.split(':').nth(1));
    let number = mhz.and_then(|mhz| mhz.trim().parse::<f64>().ok());
    number.map_or(USUAL_GHZ, |mhz| mhz / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_of_every_flow_leaves_in_each_order() {
        for order in PacketOrder::ALL {
            let mut switch = FlowSwitch::new(order.tuples()).unwrap();
            for packets in [100, 250] {
                switch
                    .send((0..packets).map(|number| number % 100))
                    .unwrap();
            }
        }
    }

    #[test]
    fn the_throughput_is_the_one_of_equation_8() {
        let gbps = throughput(PAPER_GHZ, PAPER_CORES, 800.0);
        assert!((gbps - 3.07).abs() < 0.01, "{gbps}");
    }
}
