//! The cases that need a switch: many rules, tables and masks, changes, packet-ins.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::text::parse_meter;
use bofuss_oflib::{Codec, Mac, Message};

use crate::bench::case::{BenchMetric, CaseContext, Figures, RATE, TCP_RATE};
use crate::bench::host_case::{FRAMES, echoes, frames, spread, tcp};
use crate::error::{Error, Result};
use crate::statistics::median;
use crate::testbed::iperf;
use crate::testbed::net::{Bed, HOST_PORT};
use crate::testbed::openflow::{self, adds, codec, encode, exact, mods};
use crate::testbed::real_time::RealTime;
use crate::testbed::setup::BASE;
use crate::testbed::traffic::{FlowOrder, Load, flow_ports, random, send, send_until};

/// Echoes, each of a new flow.
const FIRST_ECHOES: usize = 1_000;
/// Changes per second during traffic, and how many are sent at a time.
const CHANGE_RATE: u64 = 10_000;
const CHANGES_AT_ONCE: u64 = 100;
/// The number of prepared batches, the time that the preparation may take, and the number of
/// comparisons of the rates.
const PREPARED: usize = 100;
const PREPARING: Duration = Duration::from_millis(100);
const LOST_RUNS: usize = 3;
/// The background flow during new flows; no socket has its port.
const BESIDE: u32 = 1 << 16;
/// The rate of first packets of a rule's flow: a share of the yardstick's maximum.
const WARM_UP_SHARE: f64 = 0.5;

/// Enough entries for memory and single changes to be measurable.
const MANY: u32 = 100_000;
const MOST: u32 = 1_000_000;
/// Modifications of a run, and how many rules they touch when they are concentrated.
const MODIFICATIONS: u32 = 200_000;
const CONCENTRATED: u32 = 100;
/// The number of times that statistics are requested in a run.
const STATS_RUNS: usize = 3;
/// Frames of a second port that miss while the first port is flooded, and their rate per second.
const OTHERS: u64 = 500;
const OTHERS_RATE: u64 = 500;
/// The time that the flood lasts before and after them.
const AROUND: Duration = Duration::from_millis(100);

/// The metrics of adding and changing rules.
const ADDED: BenchMetric = ("added", "flow-mods/s");
const SPREAD: BenchMetric = ("modified, spread", "flow-mods/s");
const ON_FEW: BenchMetric = ("modified, on 100 rules", "flow-mods/s");
const RULE_BYTES: BenchMetric = ("memory", "bytes/rule");
const FLOW_BYTES: BenchMetric = ("flow memory", "bytes/flow");
const COST: BenchMetric = ("rate lost to 10,000 flow-mods/s", "%");

/// The entry for a flow of a load, above the switch's own, with these actions.
pub(super) fn exact_rule(flow: u32, actions: &str) -> String {
    let (source, destination) = flow_ports(flow);
    let fields = exact(source, destination);
    format!("priority=20,in_port=1,{fields},actions={actions}")
}

/// The memory of the forwarder.
fn resident_bytes(c: &CaseContext<'_>) -> f64 {
    c.forwarder.status("VmRSS") * 1024.0
}

/// A rule for each flow.
pub fn rules(c: &CaseContext<'_>) -> Figures {
    let count = c.parameter;
    let changes = adds(&codec(), (0..count).map(|n| exact_rule(n, "output:2")))?;
    let before = resident_bytes(c);
    let took = c.forwarder.session()?.change(&changes)?;
    let mut figures = Vec::new();
    if count >= MANY {
        let grown = resident_bytes(c) - before;
        figures.push((ADDED, f64::from(count) / took.as_secs_f64()));
        figures.push((RULE_BYTES, grown / f64::from(count)));
    }
    if count >= MOST {
        // Rings and buffers, which frames of any flow need, are allocated before.
        frames(c, Load::of(FRAMES))?;
    }
    let before = resident_bytes(c);
    figures.extend(flow_states(c)?);
    if count >= MOST {
        let grown = resident_bytes(c) - before;
        figures.push((FLOW_BYTES, grown / f64::from(count)));
        figures.push((COST, lost(c, spread(count))?));
        figures.extend(modifications(c)?);
    }
    Ok(figures)
}

/// Entries that read the flags of TCP, in both directions.
const TCP_FLAGS: [&str; 4] = [
    "priority=20,in_port=1,tcp,tcp_flags=+psh,actions=output:2",
    "priority=20,in_port=2,tcp,tcp_flags=+psh,actions=output:1",
    "priority=20,in_port=1,tcp,tcp_flags=+fin,actions=output:2",
    "priority=20,in_port=2,tcp,tcp_flags=+fin,actions=output:1",
];

/// TCP through entries that match `tcp_flags`, between two runs without them.
pub fn tcp_flags(c: &CaseContext<'_>) -> Figures {
    let _real_time = RealTime::begin(c.forwarder)?;
    let before = figure_of(&tcp(c)?, TCP_RATE);
    let codec = codec();
    let mut session = c.forwarder.session()?;
    session.change(&adds(&codec, TCP_FLAGS)?)?;
    let mut figures = tcp(c)?;
    let deletes = mods(&codec.catalogue, FlowModCommand::DELETE, ["tcp"])?;
    session.change(&encode(&codec, deletes))?;
    let after = figure_of(&tcp(c)?, TCP_RATE);
    let share = 200.0 * figure_of(&figures, TCP_RATE) / (before + after);
    figures.push((("of the rate without them", "%"), share));
    Ok(figures)
}

/// Entries that send TCP through a meter, and then to the port.
const METERED: [&str; 3] = [
    "priority=20,tcp,actions=meter:1,goto_table:1",
    "table=1,in_port=1,actions=output:2",
    "table=1,in_port=2,actions=output:1",
];
/// The depth of its bucket, in parts of a second of its rate.
const METER_BURST: u32 = 10;

/// One stream of TCP through a meter, which holds it to its rate.
pub fn tcp_meter(c: &CaseContext<'_>) -> Figures {
    let (rate, burst) = (c.parameter * 1_000, c.parameter * 1_000 / METER_BURST);
    let added = format!("meter=1,kbps,burst,bands=type=drop,rate={rate},burst_size={burst}");
    let meter = |text: &str, command| {
        let meter_mod = parse_meter(text, command).map_err(|error| error.to_string())?;
        Ok::<_, Error>(encode(&codec(), [Message::MeterMod(meter_mod)]))
    };
    let mut session = c.forwarder.session()?;
    session.change(&meter(&added, MeterModCommand::ADD)?)?;
    session.change(&adds(&codec(), METERED)?)?;
    let gbps = iperf::tcp(c.bed, c.forwarder, 1)?.gbps;
    session.change(&meter("meter=1", MeterModCommand::DELETE)?)?;
    let most = f64::from(c.parameter) / 1e3;
    if gbps > 1.1 * most {
        return Err(format!("{gbps} Gb/s passed a meter of {most}").into());
    }
    Ok(vec![(TCP_RATE, gbps)])
}

/// Adding rules, and its processor time.
pub fn flow_mods(c: &CaseContext<'_>) -> Figures {
    let count = c.parameter;
    let changes = adds(&codec(), (0..count).map(|n| exact_rule(n, "output:2")))?;
    let mut session = c.forwarder.session()?;
    let cpu = c.forwarder.cpu_nanos();
    let took = session.change(&changes)?;
    let cpu = c.forwarder.cpu_nanos() - cpu;
    let count = f64::from(count);
    Ok(vec![
        (ADDED, count / took.as_secs_f64()),
        (("processor", "ns/flow-mod"), cpu / count),
    ])
}

/// Statistics of all rules.
pub fn stats(c: &CaseContext<'_>) -> Figures {
    let count = c.parameter;
    let changes = adds(&codec(), (0..count).map(|n| exact_rule(n, "output:2")))?;
    let mut session = c.forwarder.session()?;
    session.change(&changes)?;
    let sum: u64 = (0..count).map(|n| u64::from(flow_ports(n).0)).sum();
    let wanted = (count as usize + BASE.len(), sum);
    let mut times = Vec::new();
    let mut costs = Vec::new();
    for _ in 0..STATS_RUNS {
        let cpu = c.forwarder.cpu_nanos();
        let (count_reported, sum, took) = session.flow_stats()?;
        if (count_reported, sum) != wanted {
            return Err(
                format!("{count_reported} entries with a sum of {sum}, not {wanted:?}").into(),
            );
        }
        times.push(took.as_secs_f64() * 1e6);
        costs.push((c.forwarder.cpu_nanos() - cpu) / count_reported as f64);
    }
    Ok(vec![
        (("time", "us"), median(&times)),
        (("processor", "ns/entry"), median(&costs)),
    ])
}

/// Modifications of any rule, and repeated ones of a few.
fn modifications(c: &CaseContext<'_>) -> Figures {
    let mut session = c.forwarder.session()?;
    let codec = codec();
    let mut next = random(5);
    let mut figures = Vec::new();
    for (metric, rules) in [(SPREAD, c.parameter), (ON_FEW, CONCENTRATED)] {
        let flows = (0..MODIFICATIONS).map(|n| {
            let actions = ["output:2", "mod_nw_ttl:64,output:2"][(n / rules % 2) as usize];
            exact_rule((next() % u64::from(rules)) as u32, actions)
        });
        let changes = mods(&codec.catalogue, FlowModCommand::MODIFY_STRICT, flows)?;
        let took = session.change(&encode(&codec, changes))?;
        figures.push((metric, f64::from(MODIFICATIONS) / took.as_secs_f64()));
    }
    let (reported, ..) = session.flow_stats()?;
    match c.parameter as usize + BASE.len() {
        wanted if wanted == reported => Ok(figures),
        wanted => Err(format!("{reported} of {wanted} entries are reported").into()),
    }
}

/// Flows that have had a packet each.
pub fn flow_states(c: &CaseContext<'_>) -> Figures {
    let count = c.parameter;
    let first = Load {
        rate: (c.capacity * WARM_UP_SHARE) as u64,
        order: FlowOrder::InTurn,
        flows: count,
        ..Load::of(count.into())
    };
    frames(c, first)?;
    frames(c, spread(count))
}

/// One rule in each table, with goto-table to the next.
pub fn tables(c: &CaseContext<'_>) -> Figures {
    let last = c.parameter - 1;
    let chain = (0..c.parameter).map(|table| {
        let to = if table == last {
            "output:2".to_string()
        } else {
            format!("goto_table:{}", table + 1)
        };
        let fields = ["in_port=1", "ip", "udp", "nw_dst=10.9.0.0/16,ip"][table as usize % 4];
        format!("table={table},priority=20,{fields},actions={to}")
    });
    let mut session = c.forwarder.session()?;
    session.change(&adds(&codec(), chain)?)?;
    frames(c, Load::of(FRAMES))
}

/// Rules of higher priority than the traffic's, each with another mask. Beyond 625 pairs of
/// prefixes, they match some of the last bits of the Ethernet source, too.
fn access_list(c: &CaseContext<'_>) -> Result<()> {
    let rules = (0..c.parameter).map(|i| {
        let source = 8 + i % 25;
        let destination = 8 + i / 25 % 25;
        let ethernet = match i / 625 {
            0 => String::new(),
            bits => {
                let [_, _, mask @ ..] = ((1u64 << (16 + bits)) - 1).to_be_bytes();
                let [_, _, source @ ..] = u64::from(i).to_be_bytes();
                format!("dl_src={}/{},", Mac(source), Mac(mask))
            }
        };
        format!(
            "priority={},udp,{ethernet}nw_src=203.0.113.0/{source},\
             nw_dst=198.51.100.0/{destination},actions=drop",
            100 + i
        )
    });
    let mut session = c.forwarder.session()?;
    session.change(&adds(&codec(), rules)?).map(drop)
}

/// Frames that match no rule of an access list.
pub fn masks(c: &CaseContext<'_>) -> Figures {
    access_list(c)?;
    frames(c, spread(1_000))
}

/// The same, but each frame has other addresses and ports; compared with the rate of known flows.
pub fn attack(c: &CaseContext<'_>) -> Figures {
    access_list(c)?;
    let usual = figure_of(&frames(c, spread(1_000))?, RATE);
    let before = resident_bytes(c);
    let load = Load {
        order: FlowOrder::Attack,
        ..Load::of(FRAMES)
    };
    let mut figures = frames(c, load)?;
    let kept = figure_of(&figures, RATE) / usual * 100.0;
    let grown = resident_bytes(c) - before;
    figures.push((("rate kept", "%"), kept));
    figures.push((("memory", "MiB more"), grown / f64::from(1 << 20)));
    Ok(figures)
}

/// The figure of a metric.
fn figure_of(figures: &[(BenchMetric, f64)], metric: BenchMetric) -> f64 {
    let found = figures.iter().find(|(m, _)| *m == metric);
    found.expect("the case has this metric").1
}

/// Flow-mods that add rules that no frame matches, and delete them again.
fn batch_of_changes(codec: &Codec, mut next: impl FnMut() -> u64) -> Result<Vec<u8>> {
    let flows: Vec<String> = (0..CHANGES_AT_ONCE / 2)
        .map(|_| format!("priority=20,in_port=3,{}", exact(next() as u16, 1)))
        .collect();
    let added = flows.iter().map(|flow| format!("{flow},actions=output:2"));
    let mut changes = mods(&codec.catalogue, FlowModCommand::ADD, added)?;
    changes.extend(mods(
        &codec.catalogue,
        FlowModCommand::DELETE_STRICT,
        &flows,
    )?);
    Ok(encode(codec, changes))
}

/// Adds and deletes rules that no frame matches, at [`CHANGE_RATE`].
fn change_on(c: &CaseContext<'_>, over: &AtomicBool) -> Result<u64> {
    let mut session = c.forwarder.session()?;
    let codec = codec();
    let mut next = random(11);
    let mut prepared = Vec::new();
    for _ in 0..PREPARED {
        prepared.push(batch_of_changes(&codec, &mut next)?);
    }
    let start = Instant::now();
    let mut made = 0;
    for changes in prepared.iter().cycle() {
        if over.load(Relaxed) {
            break;
        }
        session.change(changes)?;
        made += CHANGES_AT_ONCE;
        let due = start + Duration::from_nanos(made * 1_000_000_000 / CHANGE_RATE);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(made)
}

/// Frames of a load while rules that no frame matches are added and deleted.
fn churned(c: &CaseContext<'_>, load: Load) -> Figures {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let changing = scope.spawn(|| change_on(c, &over));
        std::thread::sleep(PREPARING);
        let figures = frames(c, load);
        over.store(true, Relaxed);
        let made = changing.join().map_err(|_| "the controller died")??;
        match made {
            0 => Err("no flow-mod was made".into()),
            _ => figures,
        }
    })
}

/// The loss of rate while rules are added and deleted, in percent.
fn lost(c: &CaseContext<'_>, load: Load) -> Result<f64> {
    let mut shares = Vec::new();
    for _ in 0..LOST_RUNS {
        let before = figure_of(&frames(c, load)?, RATE);
        let during = figure_of(&churned(c, load)?, RATE);
        let after = figure_of(&frames(c, load)?, RATE);
        shares.push(100.0 * (1.0 - 2.0 * during / (before + after)));
    }
    Ok(median(&shares))
}

/// Frames of one flow while rules are added and deleted.
pub fn churn(c: &CaseContext<'_>) -> Figures {
    let mut figures = churned(c, Load::of(FRAMES))?;
    figures.push((COST, lost(c, Load::of(FRAMES))?));
    Ok(figures)
}

/// Runs `work` while a controller answers packet-ins; also returns how many there were.
fn with_controller<T>(
    c: &CaseContext<'_>,
    install: bool,
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, [u64; 2])> {
    let mut session = c.forwarder.session()?;
    let miss = ["priority=15,in_port=1,actions=CONTROLLER:65535"];
    session.change(&adds(&openflow::codec(), miss)?)?;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reacting = scope.spawn(|| session.react(install, &over));
        let done = work();
        over.store(true, Relaxed);
        let counts = reacting.join().map_err(|_| "the controller died")??;
        let done = done.map_err(|e| format!("{e}, after {counts:?} packet-ins"))?;
        Ok((done, counts))
    })
}

fn echoes_during_traffic(c: &CaseContext<'_>) -> Figures {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| c.bed.host(false, || send_on(c, &over)));
        let figures = echoes(c, FIRST_ECHOES, 64, true);
        over.store(true, Relaxed);
        figures
    })
}

/// Echoes of new flows, each through the controller, during traffic of a known flow.
pub fn first_packets(c: &CaseContext<'_>) -> Figures {
    let mut session = c.forwarder.session()?;
    session.change(&adds(&codec(), [exact_rule(BESIDE, "output:2")])?)?;
    let (figures, [count, _]) = with_controller(c, true, || echoes_during_traffic(c))?;
    // The kernel may choose a port twice.
    if count * 10 >= FIRST_ECHOES as u64 * 9 {
        Ok(figures)
    } else {
        Err(format!("{count} packet-ins for {FIRST_ECHOES} new flows").into())
    }
}

/// Sends a share of the yardstick's maximum until it is over.
fn send_on(c: &CaseContext<'_>, over: &AtomicBool) -> Result<()> {
    let rate = (c.capacity * f64::from(c.parameter) / 100.0) as u64;
    let load = Load {
        rate,
        first: BESIDE,
        ..Load::of(if rate == 0 { 0 } else { u64::MAX })
    };
    send_until(HOST_PORT, load, || over.load(Relaxed)).map(drop)
}

/// Floods from host A, and sends frames from host B meanwhile. Returns how long the flood was.
fn send_during_flood(bed: &Bed) -> Result<Duration> {
    let over = AtomicBool::new(false);
    let flood = Load {
        frames: u64::MAX,
        ..spread(1_000_000)
    };
    let others = Load {
        rate: OTHERS_RATE,
        back: true,
        ..Load::of(OTHERS)
    };
    std::thread::scope(|scope| {
        let flooding = scope.spawn(|| {
            bed.host(false, || {
                send_until(HOST_PORT, flood, || over.load(Relaxed))
            })
        });
        std::thread::sleep(AROUND);
        let sent = bed.host(true, || send(HOST_PORT, others));
        std::thread::sleep(AROUND);
        over.store(true, Relaxed);
        let took = flooding.join().map_err(|_| "the sender died")?;
        sent.and(took)
    })
}

/// Frames that all go to the controller: a flood from the first port, and some from the second.
pub fn packet_ins(c: &CaseContext<'_>) -> Figures {
    let mut session = c.forwarder.session()?;
    let miss = ["priority=15,in_port=2,actions=CONTROLLER:65535"];
    session.change(&adds(&codec(), miss)?)?;
    let (took, [flood, others]) = with_controller(c, false, || send_during_flood(c.bed))?;
    Ok(vec![
        (("rate", "packet-ins/s"), flood as f64 / took.as_secs_f64()),
        (
            ("of another port", "% come"),
            100.0 * others as f64 / OTHERS as f64,
        ),
    ])
}
