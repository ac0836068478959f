//! Four subscribers who share a port of 10 Mb/s on real interfaces: what each gets with bofuss's
//! disciplines, and with the kernel's FIFO and HTB.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bofuss_sim::Random;
use clap::Args;
use serde::Serialize;

use crate::error::Result;
use crate::openqflow::fairness::{DISCIPLINES, Shares, subscriber_plot};
use crate::openqflow::heavy_tail::fraction;
use crate::reports::html_table::HtmlTable;
use crate::reports::markdown::{fill_page, markdown};
use crate::runs::machine::host;
use crate::subject::{isolated, own_folder};
use crate::tell::{say, tell};
use crate::testbed::forwarder::{Forwarder, SwitchPlan};
use crate::testbed::net::{
    A_ADDRESS, B_ADDRESS, B_MAC, Bed, HOST_PORT, SWITCH_PORTS, context, mac_text, run, run_batch,
    run_lines,
};
use crate::testbed::openflow::{adds, codec};
use crate::testbed::real_time::RealTime;
use crate::testbed::setup::Setup;

/// The subscribers of OpenQFlow's evaluation: an address each, and the flows that go there. Flow
/// `n` offers `n` times a 32nd of the port's rate.
const SUBSCRIBERS: [(&str, Ipv4Addr, RangeInclusive<usize>); 4] = [
    ("a", B_ADDRESS, 1..=4),
    ("b", Ipv4Addr::new(10, 9, 0, 22), 5..=10),
    ("c", Ipv4Addr::new(10, 9, 0, 23), 11..=20),
    ("d", Ipv4Addr::new(10, 9, 0, 24), 21..=32),
];
const FLOWS: usize = 32;
/// What they offer in all, in times of the port's rate.
const OFFERED: f64 = (FLOWS + 1) as f64 / 2.0;
/// The rate of the port in the evaluation, in bits per second.
const PORT_BPS: f64 = 10e6;
/// Bytes of a frame, and of them headers.
const FRAME: usize = 1_000;
const HEADERS: usize = 42;
const FRAME_BITS: f64 = FRAME as f64 * 8.0;
/// Gaps between packets of a flow, as parts of the mean gap: with equal gaps, flows would keep step
/// with each other.
const GAPS: Range<f64> = 0.7..1.3;
/// UDP ports: that of all subscribers, and the one before that of flow 1.
const PORT: u16 = 9;
const SOURCE_BASE: u16 = 20_000;
/// Seconds at the beginning of a run that do not count, and of the shortest form.
const WARM_UP: f64 = 2.0;
const SHORT_WARM_UP: f64 = 1.0;
/// The most that a packet may be late. A sender that was not scheduled for longer continues as if
/// no time had passed. Otherwise it would send what it missed as a burst, and the first in a burst
/// gets more.
const MOST_LATE: Duration = Duration::from_millis(1);
/// The time that a receiver waits at most for a packet.
const WAIT: Duration = Duration::from_millis(50);
/// The kernel's disciplines, as a port of its bridge has them: 100 packets in one queue, and 25 in
/// each of four classes.
const KERNEL_FIFO: &str = "kernel-fifo";
const KERNEL_HTB: &str = "kernel-htb";
/// Bytes that the kernel's buckets let through at once.
const BURST: u32 = 3_000;
/// The verb in the marks between which the table is in a page.
const VERB: &str = "shares";

/// Options of the measurement.
#[derive(Args)]
pub struct SharesArguments {
    /// One of bofuss's disciplines, kernel-fifo or kernel-htb; repeat for more
    /// [default: all]
    #[arg(long = "discipline", value_name = "NAME")]
    disciplines: Vec<String>,
    /// Repeats of each, in turns; the one of the median index counts
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..))]
    rounds: u8,
    /// Seconds of each that count
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..))]
    seconds: u8,
    /// The factor by which the port and all flows are slower, for slow machines
    #[arg(long, value_name = "FACTOR", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=10))]
    scale: u8,
    /// The folder for the plot and the JSON
    #[arg(long, default_value = "bench", value_name = "FOLDER")]
    out: PathBuf,
    /// Also write the table into this Markdown file, between its marks
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

impl SharesArguments {
    /// Measures, prints the table and writes plot, JSON and page.
    ///
    /// Errors: an unknown discipline, what does not start, the system's.
    pub fn run(&self) -> Result<()> {
        let names = chosen(&self.disciplines)?;
        let scale = f64::from(self.scale);
        let load = SharesLoad {
            // Queues fill and empty as much more slowly.
            warm_up: WARM_UP * scale,
            seconds: self.seconds.into(),
            // A queue's rate is in kb/s.
            port_bps: (PORT_BPS / 1e3 / scale).round() * 1e3,
        };
        let runs = measure(&names, self.rounds, load)?;
        let text = markdown(&report(&runs)) + &format!("\n{}\n", host().join("; "));
        say(&text)?;
        self.write(&runs)?;
        match &self.page {
            Some(page) => fill_page(page, VERB, &text),
            None => Ok(()),
        }
    }

    fn write(&self, runs: &[LiveShares]) -> Result<()> {
        let named = self.out.display().to_string();
        let failed = context(named.as_str());
        std::fs::create_dir_all(&self.out).map_err(failed)?;
        let json = serde_json::to_string_pretty(runs).map_err(|error| error.to_string())?;
        std::fs::write(self.out.join("shares.json"), json).map_err(failed)?;
        std::fs::write(self.out.join("shares.svg"), plot(runs)).map_err(failed)
    }
}

/// The names that exist, in the order of the table.
fn all_names() -> Vec<&'static str> {
    let mut names = DISCIPLINES.to_vec();
    names.extend([KERNEL_FIFO, KERNEL_HTB]);
    names
}

fn chosen(wanted: &[String]) -> Result<Vec<&'static str>> {
    let all = all_names();
    if wanted.is_empty() {
        return Ok(all);
    }
    let mut names = Vec::new();
    for name in wanted {
        let found = all.iter().find(|one| *one == name);
        names.push(*found.ok_or_else(|| {
            let there = all.join(", ");
            format!("no discipline {name}; there are {there}")
        })?);
    }
    Ok(names)
}

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct LiveShares {
    /// The shares that subscribers and flows got.
    #[serde(flatten)]
    pub shares: Shares,
    /// The part of the port's rate that was used.
    used: f64,
    /// Mb/s of frames that were sent.
    offered_mbps: f64,
    /// The rate of the port in Mb/s.
    port_mbps: f64,
}

/// The shortest form: two disciplines and the kernel's FIFO, once.
///
/// Errors: those of [`measure`].
pub fn measure_short() -> Result<Vec<LiveShares>> {
    let load = SharesLoad {
        warm_up: SHORT_WARM_UP,
        seconds: 2.0,
        port_bps: PORT_BPS,
    };
    measure(&["hfair", "ceta", KERNEL_FIFO], 1, load)
}

/// Measures everything that `ofmeter shares` measures by default.
///
/// Errors: those of [`measure`].
pub fn measure_all() -> Result<Vec<LiveShares>> {
    let load = SharesLoad {
        warm_up: WARM_UP,
        seconds: 8.0,
        port_bps: PORT_BPS,
    };
    measure(&all_names(), 3, load)
}

/// Measures each discipline once, then each again: what else the machine does meanwhile affects all
/// of them alike. Returns of each the run of the median index.
fn measure(names: &[&'static str], rounds: u8, load: SharesLoad) -> Result<Vec<LiveShares>> {
    let mut of_each = vec![Vec::new(); names.len()];
    for round in 1..=rounds {
        for (name, runs) in names.iter().zip(&mut of_each) {
            let live = SharesRun {
                seed: round.into(),
                load,
            };
            let result = isolated(true, || live.measure(name))?;
            tell!(
                "round {round} of {rounds}: {name}: index {:.4}, offered {:.0} Mb/s",
                result.shares.index,
                result.offered_mbps
            );
            runs.push(result);
        }
    }
    let mut medians = Vec::new();
    for mut runs in of_each {
        runs.sort_unstable_by(|one, next| one.shares.index.total_cmp(&next.shares.index));
        medians.push(runs.swap_remove(runs.len() / 2));
    }
    Ok(medians)
}

/// The table, as a part of a page.
pub fn report(runs: &[LiveShares]) -> String {
    let heads = ["port", "index", "A", "B", "C", "D"];
    let more = ["use of the link", "offered"];
    let mut table = HtmlTable::new(heads.into_iter().chain(more));
    for run in runs {
        let shares = &run.shares;
        let mut cells = vec![shares.discipline.into(), format!("{:.4}", shares.index)];
        cells.extend(shares.rates().iter().map(|rate| format!("{rate:.2}")));
        cells.push(format!("{:.3}", run.used));
        cells.push(format!("{:.0}", run.offered_mbps));
        table.push_cells(&cells);
    }
    table.html() + "<p>Rates are in Mb/s. Of each port, the run of the median index.</p>\n"
}

/// Plots what each subscriber gets.
pub fn plot(runs: &[LiveShares]) -> String {
    let shares: Vec<Shares> = runs.iter().map(|run| run.shares.clone()).collect();
    let port = runs.first().map_or(0.0, |run| run.port_mbps);
    let title = format!(
        "Four subscribers on real interfaces, {} Mb/s of UDP, a port of {port} Mb/s",
        OFFERED * port
    );
    subscriber_plot(&title, &shares)
}

/// The load of a run.
#[derive(Clone, Copy)]
struct SharesLoad {
    /// Seconds that do not count, and those that do.
    warm_up: f64,
    seconds: f64,
    /// The rate of the port, in bits per second; that of flows is in proportion.
    port_bps: f64,
}

/// One run.
struct SharesRun {
    seed: u64,
    load: SharesLoad,
}

impl SharesRun {
    /// Measures a discipline between two hosts of its own.
    fn measure(&self, name: &'static str) -> Result<LiveShares> {
        // The loopback interface carries the switch's rules.
        run("ip link set lo up")?;
        let bed = Bed::new(false, false)?;
        let mut addresses = String::new();
        let mut neighbours = String::new();
        let mac = mac_text(B_MAC);
        for (_, address, _) in &SUBSCRIBERS[1..] {
            addresses += &format!("address add {address}/24 dev {HOST_PORT}\n");
            neighbours += &format!("neighbour add {address} lladdr {mac} dev {HOST_PORT}\n");
        }
        bed.host(true, || run_batch(&addresses))?;
        bed.host(false, || run_batch(&neighbours))?;
        let forwarder = start(name, self.load.port_bps)?;
        let priority = RealTime::begin(&forwarder);
        if let Err(error) = &priority {
            tell!("without real-time priority, other programs count: {error}");
        }
        let receivers = bed.host(true, receivers)?;
        let senders = bed.host(false, senders)?;
        let (counts, offered_mbps) = self.exchange(&receivers, &senders)?;
        let mut flows = Vec::new();
        for (subscriber, _, numbers) in SUBSCRIBERS {
            for number in numbers {
                let rate = counts[number - 1] as f64 * FRAME_BITS / self.load.seconds / 1e6;
                flows.push((subscriber.to_string(), rate));
            }
        }
        let arrived: u64 = counts.iter().sum();
        if arrived == 0 {
            return Err(format!("{name}: nothing arrives").into());
        }
        Ok(LiveShares {
            shares: Shares::of(name, flows)?,
            used: arrived as f64 * FRAME_BITS / self.load.seconds / self.load.port_bps,
            offered_mbps,
            port_mbps: self.load.port_bps / 1e6,
        })
    }

    /// Sends all flows. Returns how many packets of each arrive while they count, and the Mb/s that
    /// are sent.
    fn exchange(
        &self,
        receivers: &[UdpSocket],
        senders: &[UdpSocket],
    ) -> Result<([u64; FLOWS], f64)> {
        let SharesLoad {
            warm_up,
            seconds,
            port_bps,
        } = self.load;
        let end = warm_up + seconds;
        // A sender that pauses ends later.
        let packets = schedule(self.seed, 2.0 * end, port_bps);
        let start = Instant::now();
        let counted =
            start + Duration::from_secs_f64(warm_up)..start + Duration::from_secs_f64(end);
        let mut sum = [0; FLOWS];
        let sent = std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for receiver in receivers {
                let counted = counted.clone();
                threads.push(scope.spawn(|| receive(receiver, counted)));
            }
            let sent = send(senders, &packets, counted.end);
            for thread in threads {
                let counts = thread.join().map_err(|_| "a receiver died")??;
                for (all, count) in sum.iter_mut().zip(counts) {
                    *all += count;
                }
            }
            sent
        })?;
        Ok((sum, sent as f64 * FRAME_BITS / end / 1e6))
    }
}

/// A socket for each subscriber.
fn receivers() -> Result<Vec<UdpSocket>> {
    let failed = context("a receiver");
    let mut sockets = Vec::new();
    for (_, address, _) in SUBSCRIBERS {
        let socket = UdpSocket::bind((address, PORT)).map_err(failed)?;
        socket.set_read_timeout(Some(WAIT)).map_err(failed)?;
        sockets.push(socket);
    }
    Ok(sockets)
}

/// A socket for each flow.
fn senders() -> Result<Vec<UdpSocket>> {
    let failed = context("a sender");
    let mut sockets = Vec::new();
    for (_, address, numbers) in SUBSCRIBERS {
        for number in numbers {
            let port = SOURCE_BASE + number as u16;
            let socket = UdpSocket::bind((A_ADDRESS, port)).map_err(failed)?;
            socket.connect((address, PORT)).map_err(failed)?;
            sockets.push(socket);
        }
    }
    Ok(sockets)
}

/// The packets in the order in which they are sent: the time in seconds, and the number of the
/// flow, from 0.
fn schedule(seed: u64, seconds: f64, port_bps: f64) -> Vec<(f64, usize)> {
    let mut packets = Vec::new();
    for flow in 0..FLOWS {
        let mut random = Random::new(seed, flow as u64);
        let gap = FRAME_BITS * FLOWS as f64 / (port_bps * (flow + 1) as f64);
        let mut at = gap * fraction(&mut random);
        while at < seconds {
            packets.push((at, flow));
            at += gap * (GAPS.start + (GAPS.end - GAPS.start) * fraction(&mut random));
        }
    }
    packets.sort_unstable_by(|one, next| one.0.total_cmp(&next.0));
    packets
}

/// Sends packets until `end`. Returns how many.
fn send(sockets: &[UdpSocket], packets: &[(f64, usize)], end: Instant) -> Result<u64> {
    let data = [0; FRAME - HEADERS];
    let mut start = Instant::now();
    let mut sent = 0;
    for (at, flow) in packets {
        let now = Instant::now();
        if now >= end {
            break;
        }
        let due = start + Duration::from_secs_f64(*at);
        let late = now.saturating_duration_since(due);
        if late > MOST_LATE {
            start += late;
        }
        std::thread::sleep(due.saturating_duration_since(now));
        sockets[*flow].send(&data).map_err(context("a sender"))?;
        sent += 1;
    }
    Ok(sent)
}

/// Counts packets of each flow that arrive in some time.
fn receive(socket: &UdpSocket, counted: Range<Instant>) -> Result<[u64; FLOWS]> {
    let mut counts = [0; FLOWS];
    let mut data = [0; FRAME];
    while Instant::now() < counted.end {
        let from = match socket.recv_from(&mut data) {
            Ok((_, from)) => from,
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(error) => return Err(format!("a receiver: {error}").into()),
        };
        let flow = usize::from(from.port().wrapping_sub(SOURCE_BASE + 1));
        if counted.contains(&Instant::now())
            && let Some(count) = counts.get_mut(flow)
        {
            *count += 1;
        }
    }
    Ok(counts)
}

/// Starts what shapes the port to host B.
fn start(name: &str, port_bps: f64) -> Result<Forwarder> {
    match name {
        KERNEL_FIFO => bridge(&fifo_lines(port_bps)),
        KERNEL_HTB => bridge(&htb_lines(port_bps)),
        discipline => bofuss(discipline, port_bps, &own_folder()),
    }
}

/// bofuss with OpenQFlow's rules, and this discipline at port 2.
fn bofuss(discipline: &str, port_bps: f64, programs: &Path) -> Result<Forwarder> {
    let setup = Setup::BofussOpenQflow;
    let rate = format!("2:0:max={}k", port_bps / 1e3);
    let chosen = format!("2={discipline}");
    let plan = SwitchPlan {
        // The names of bofuss' sockets are unique on a machine.
        name: format!("shares-{}", std::process::id()),
        options: setup.options(),
        more: ["--discipline", &chosen, "--queue", &rate]
            .map(String::from)
            .to_vec(),
        ..SwitchPlan::usual()
    };
    let forwarder = Forwarder::bofuss(&setup.program(programs), &plan)?;
    let entries = adds(&codec(), setup.entries())?;
    forwarder.session()?.change(&entries)?;
    Ok(forwarder)
}

/// The kernel's bridge, whose port to host B is set up by lines of `tc`.
fn bridge(lines: &str) -> Result<Forwarder> {
    let forwarder = Setup::Bridge.start(&own_folder())?;
    run_lines("tc", lines)?;
    Ok(forwarder)
}

fn fifo_lines(port_bps: f64) -> String {
    let port = SWITCH_PORTS[1];
    format!(
        "qdisc add dev {port} root handle 1: tbf rate {port_bps}bit burst {BURST} limit 100000\n\
         qdisc add dev {port} parent 1: handle 2: pfifo limit 100\n"
    )
}

/// A class for each subscriber, which may borrow what others leave.
fn htb_lines(port_bps: f64) -> String {
    let port = SWITCH_PORTS[1];
    let bursts = format!("burst {BURST} cburst {BURST}");
    let share = port_bps / SUBSCRIBERS.len() as f64;
    let mut lines = format!(
        "qdisc add dev {port} root handle 1: htb default 9\n\
         class add dev {port} parent 1: classid 1:1 htb rate {port_bps}bit {bursts}\n\
         class add dev {port} parent 1: classid 1:9 htb rate 1mbit\n"
    );
    for (number, (_, address, _)) in SUBSCRIBERS.iter().enumerate() {
        let class = number + 2;
        lines += &format!(
            "class add dev {port} parent 1:1 classid 1:{class} htb rate {share}bit ceil \
             {port_bps}bit {bursts}\n\
             qdisc add dev {port} parent 1:{class} pfifo limit 25\n\
             filter add dev {port} parent 1: protocol ip u32 match ip dst {address}/32 flowid \
             1:{class}\n"
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_offer_their_rates_in_order_of_time_and_a_seed_gives_the_same_ones() {
        let packets = schedule(1, 4.0, PORT_BPS);
        assert!(packets.is_sorted_by(|one, next| one.0 <= next.0));
        for flow in 0..FLOWS {
            let count = packets.iter().filter(|(_, of)| *of == flow).count();
            let mbps = count as f64 * FRAME_BITS / 4.0 / 1e6;
            let wanted = 0.3125 * (flow + 1) as f64;
            assert!((mbps / wanted - 1.0).abs() < 0.02, "flow {flow}: {mbps}");
        }
        assert_eq!(packets, schedule(1, 4.0, PORT_BPS));
        assert_ne!(packets, schedule(2, 4.0, PORT_BPS));
    }

    #[test]
    fn a_discipline_that_is_not_there_is_refused_with_those_that_are() {
        let refused = chosen(&["cake".into()]).unwrap_err().to_string();
        assert!(
            refused.contains("cake") && refused.contains("kernel-htb"),
            "{refused}"
        );
        assert_eq!(chosen(&["drr".into()]).unwrap(), ["drr"]);
        assert_eq!(chosen(&[]).unwrap().len(), 9);
    }
}
