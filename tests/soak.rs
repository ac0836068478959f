//! Under mixed traffic, changes and controllers that come and go, memory stays as it is and every
//! packet is accounted for.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bofuss_channel::Client;
use bofuss_frame::Pool;
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{Catalogue, Message, Version};
use bofuss_ports::{AfPacket, AfPacketOptions, BATCH_FRAMES, PortDriver};
use bofuss_tests::{Lab, PATIENCE, get, have, ip, until};

/// The time that traffic runs before everything is counted.
const STEP: Duration = Duration::from_secs(5);
/// Batches of frames and of flow-mods a second.
const BATCHES: u32 = 100;
/// Flow-mods in a batch: 1,000 a second.
const MODS: usize = 10;
/// The time that a controller stays.
const SESSION: Duration = Duration::from_secs(7);
/// The number of UDP ports for which entries come and go, and the port that controllers ask for.
const PORTS: u64 = 200;
const ASKED_PORT: u16 = 999;
/// Flows that the cache takes, and how long it may take until it is full.
const CACHE_FLOWS: u64 = 1 << 20;
const FILLED_IN: Duration = Duration::from_secs(600);
/// Growth of memory from the second third to the last that is allowed, in KiB.
const GROWTH_KIB: u64 = 1024;
/// Entries that stay: hosts 1 and 2 reach each other; 3 sends to 4 what table 1 lets pass.
const BASE: [&str; 5] = [
    "priority=20,in_port=1,actions=output:2",
    "priority=20,in_port=2,actions=output:1",
    "priority=20,in_port=3,actions=goto_table:1",
    "table=1,priority=20,cookie=7,udp,udp_dst=999,actions=controller",
    "table=1,priority=1,ip,nw_src=10.0.0.0/8,actions=dec_ttl,output:4",
];

/// The pace of the sender: STOPS asks it to stop, and by RESTS it confirms that it has.
const STOPS: u8 = 0;
const RESTS: u8 = 1;
const GOES: u8 = 2;
const HURRIES: u8 = 3;

/// The amount of traffic, and its duration.
struct Soak {
    seconds: u64,
    /// Frames of a batch: half of them of known flows, half random.
    frames: usize,
    /// Bits of the source address that are random.
    spread: u64,
    /// True if the cache is to be full before it begins.
    fills: bool,
}

/// A generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 20) % n
    }
}

/// A minimal frame: UDP of a known flow, or one whose headers are random.
fn frame(random: &mut Random, spread: u64) -> [u8; 60] {
    let mut bytes = [0; 60];
    bytes[..12].copy_from_slice(&[2, 0, 0, 0, 9, 4, 2, 0, 0, 0, 9, 3]);
    bytes[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
    bytes[16..18].copy_from_slice(&46u16.to_be_bytes());
    (bytes[22], bytes[23]) = (64, 17);
    bytes[26..34].copy_from_slice(&[10, 0, 0, 3, 10, 0, 0, 4]);
    let port = match random.below(50) {
        0 => ASKED_PORT,
        _ => random.below(PORTS) as u16,
    };
    bytes[36..38].copy_from_slice(&port.to_be_bytes());
    bytes[39] = 26;
    if random.below(2) == 0 {
        let source = (random.next() as u32) & ((1 << spread) - 1);
        bytes[26..30].copy_from_slice(&(10 << 24 | source).to_be_bytes());
        match random.below(8) {
            0 => bytes[12..14].copy_from_slice(&[0x86, 0xdd]),
            1 => bytes[12..14].copy_from_slice(&[0x88, 0x47]),
            2 => bytes[14] = 0x40 | random.below(16) as u8,
            3 => bytes[16] = random.next() as u8,
            4 => bytes[20] = random.next() as u8 & 0x3f,
            5 => bytes[22] = random.below(3) as u8,
            _ => bytes[23] = random.next() as u8,
        }
    }
    bytes
}

/// Sends batches out of the host's interface until it is `over`; `pace` makes it rest or hurry.
fn send(soak: &Soak, over: &AtomicBool, pace: &AtomicU8) {
    let options = AfPacketOptions {
        take_over: true,
        ..AfPacketOptions::default()
    };
    let mut port = AfPacket::open("eth0", options).unwrap();
    let (pool, mut random, mut batch) = (Pool::new(1 << 20), Random(1), Vec::new());
    while !over.load(Relaxed) {
        if pace.load(Relaxed) != HURRIES {
            std::thread::sleep(Duration::from_secs(1) / BATCHES);
        }
        let _ = pace.compare_exchange(STOPS, RESTS, Relaxed, Relaxed);
        if pace.load(Relaxed) == RESTS {
            continue;
        }
        for _ in 0..soak.frames {
            batch.push(pool.frame(&frame(&mut random, soak.spread)).unwrap());
            if batch.len() == BATCH_FRAMES {
                port.send(&mut batch).unwrap();
            }
        }
        port.send(&mut batch).unwrap();
        batch.clear();
    }
}

/// Controllers, one after another, that change entries all the time; each just disconnects.
fn control(lab: &Lab, over: &AtomicBool, changes: &AtomicU64, sessions: &AtomicU64) {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let (catalogue, mut random) = (Arc::new(Catalogue::default()), Random(2));
    let address = lab.address().parse().unwrap();
    while !over.load(Relaxed) {
        let connecting = Client::connect(&address, Version::SPOKEN, &catalogue, None, PATIENCE);
        let mut client = runtime.block_on(connecting).unwrap();
        let start = Instant::now();
        sessions.fetch_add(1, Relaxed);
        while start.elapsed() < SESSION && !over.load(Relaxed) {
            let turn = Instant::now();
            let mods: Vec<_> = (0..MODS).map(|_| change(&mut random, &catalogue)).collect();
            let errors = runtime.block_on(client.transact(&mods)).unwrap();
            assert!(errors.is_empty(), "{errors:?}");
            changes.fetch_add(MODS as u64, Relaxed);
            std::thread::sleep((Duration::from_secs(1) / BATCHES).saturating_sub(turn.elapsed()));
        }
    }
}

/// A flow-mod about one of the ports.
fn change(random: &mut Random, catalogue: &Catalogue) -> Message {
    let (port, priority) = (random.below(PORTS), 5 + random.below(3));
    let which = format!("table=1,priority={priority},udp,udp_dst={port}");
    let (command, rest) = match random.below(8) {
        0 => (FlowModCommand::DELETE_STRICT, ""),
        1 => (FlowModCommand::MODIFY, ",actions=output:4"),
        2 => (FlowModCommand::ADD, ",idle_timeout=1,actions=drop"),
        3 => (
            FlowModCommand::ADD,
            ",hard_timeout=1,send_flow_rem,actions=drop",
        ),
        4 | 5 => (
            FlowModCommand::ADD,
            ",actions=set_field:7->udp_src,output:4",
        ),
        _ => (FlowModCommand::ADD, ",actions=drop"),
    };
    let flow = parse_flow(&format!("{which}{rest}"), command, catalogue);
    Message::FlowMod(flow.unwrap())
}

/// Packets that an interface has sent, has received, and has dropped on the way out.
fn kernel(interface: &str) -> [u64; 3] {
    let text = ip(&format!("-s -j link show {interface}"));
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let stats = &all[0]["stats64"];
    [("tx", "packets"), ("rx", "packets"), ("tx", "dropped")]
        .map(|(way, what)| stats[way][what].as_u64().unwrap())
}

type Accounts = [(&'static str, u64, u64); 3];

/// The sum of all samples that begin with `start` and contain `part`.
fn total(metrics: &str, start: &str, part: &str) -> u64 {
    let lines = metrics
        .lines()
        .filter(|line| line.starts_with(start) && line.contains(part));
    let values = lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap());
    values.sum::<f64>() as u64
}

/// Returns where each packet of host 3 went: the numbers that are compared, and two that grow
/// together.
fn accounts(lab: &Lab, metrics: &str) -> Accounts {
    let port = |name: &str, number: u8| total(metrics, name, &format!("port=\"{number}\""));
    let lost = |number: u8, way: &str| {
        let labels = format!("port=\"{number}\",reason=\"{way}");
        total(metrics, "bofuss_port_driver_dropped_packets_total", &labels)
    };
    let [sent, ..] = lab.host(3, || kernel("eth0"));
    let [_, arrived, _] = lab.host(4, || kernel("eth0"));
    let [_, _, refused] = kernel(&lab.port(4));
    let (received, transmitted) = (
        port("bofuss_port_receive_packets_total", 3),
        port("bofuss_port_transmit_packets_total", 4),
    );
    let dropped = total(metrics, "bofuss_dropped_packets_total", "");
    let asked = total(metrics, "bofuss_flow_packets_total", "cookie=\"0x7\"");
    [
        (
            "sent by host 3",
            sent,
            received + lost(3, "rx_") + lost(3, "accel_"),
        ),
        (
            "received by port 3",
            received,
            transmitted + dropped + asked,
        ),
        (
            "transmitted by port 4",
            transmitted,
            arrived + lost(4, "tx_") + refused,
        ),
    ]
}

/// The samples of drops, and of how the cache served packets.
fn drops(metrics: &str) -> String {
    let told = |line: &&str| line.contains("dropped") || line.contains("cache");
    let lines = metrics
        .lines()
        .filter(|line| !line.ends_with(" 0") && !line.starts_with('#'));
    lines.filter(told).collect::<Vec<_>>().join("\n")
}

fn resident_kib(lab: &Lab) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", lab.switch.0.id())).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn mean(values: &[u64]) -> u64 {
    values.iter().sum::<u64>() / values.len() as u64
}

/// Curves over time, each with its name and unit, each from 0 to its highest value.
fn plot(curves: &[(&str, Vec<u64>)]) -> String {
    let mut svg = String::from(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 800 420' font-family='sans-serif' \
         font-size='13'><rect width='800' height='420' fill='white'/>\n",
    );
    for (i, (name, values)) in curves.iter().enumerate() {
        let (top, colour) = (
            values.iter().max().copied().unwrap_or(1).max(1),
            ["#c33", "#36c", "#393"][i % 3],
        );
        let points = values.iter().enumerate().map(|(at, value)| {
            let x = 20.0 + 760.0 * at as f64 / values.len().max(2) as f64;
            format!("{x:.1},{:.1}", 400.0 - 330.0 * *value as f64 / top as f64)
        });
        let points = points.collect::<Vec<_>>().join(" ");
        let _ = writeln!(
            svg,
            "<polyline points='{points}' fill='none' stroke='{colour}' stroke-width='1.5'/>\
             <text x='20' y='{}' fill='{colour}'>{name}, up to {top}</text>",
            20 + 17 * i
        );
    }
    svg + "</svg>\n"
}

/// Sets the flag when dropped, so that threads end also when the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl Soak {
    fn run(&self) {
        if !have(&["ip", "ping"]) {
            return;
        }
        // Rings that do not grow: what arrives while a larger one replaces a ring is lost without a
        // count.
        let arguments = "--metrics 0 --fail-mode secure --tables 2 --ring 256";
        let lab = Lab::new(4, &arguments.split(' ').collect::<Vec<_>>());
        // The system sends packets of its own on its ends of the cables.
        for host in 1..=4 {
            let path = format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", lab.port(host));
            let _ = std::fs::write(path, "1");
        }
        let log = lab.log();
        let (_, rest) = log.split_once("metrics: http://").unwrap();
        let address = rest.split_once("/metrics").unwrap().0;
        let metrics = || get(address, "/metrics?flows", "").1;
        for flow in BASE {
            let added = lab.dpctl(&["add-flow", flow]);
            assert!(added.status.success(), "{flow}: {added:?}");
        }
        let (over, pace) = (AtomicBool::new(false), AtomicU8::new(GOES));
        let (changes, sessions) = (AtomicU64::new(0), AtomicU64::new(0));
        let mut before = accounts(&lab, &metrics());
        until("no packet of the hosts is on its way", || {
            std::thread::sleep(Duration::from_millis(500));
            std::mem::replace(&mut before, accounts(&lab, &metrics())) == before
        });
        let since = |now: Accounts| {
            let pairs = now.into_iter().zip(before);
            pairs
                .map(|((what, a, b), (_, a0, b0))| (what, a - a0, b - b0))
                .collect::<Vec<_>>()
        };
        let (mut memory, mut rates, mut mods) = (Vec::new(), Vec::new(), Vec::new());
        let mut megabytes = 0;
        std::thread::scope(|scope| {
            let _ends = Ends(&over);
            scope.spawn(|| lab.host(3, || send(self, &over, &pace)));
            if self.fills {
                pace.store(HURRIES, Relaxed);
                // Each miss is a new flow, as long as there is room.
                let missed = || total(&metrics(), "bofuss_cache_misses_total", "");
                let start = Instant::now();
                while missed() < CACHE_FLOWS {
                    assert!(start.elapsed() < FILLED_IN, "the cache is full in time");
                    std::thread::sleep(Duration::from_secs(1));
                }
                println!("the cache was full after {:?}", start.elapsed());
            }
            scope.spawn(|| control(&lab, &over, &changes, &sessions));
            let (start, mut counted) = (Instant::now(), [0; 2]);
            while start.elapsed().as_secs() < self.seconds {
                pace.store(GOES, Relaxed);
                let step = Instant::now();
                while step.elapsed() < STEP {
                    lab.tcp(1, 2, 4);
                    megabytes += 4;
                    std::thread::sleep(Duration::from_millis(500));
                    memory.push(resident_kib(&lab));
                    let count = [lab.host(4, || kernel("eth0"))[1], changes.load(Relaxed)];
                    rates.push(count[0] - counted[0]);
                    mods.push(count[1] - counted[1]);
                    counted = count;
                }
                pace.store(STOPS, Relaxed);
                until("the sender rests", || pace.load(Relaxed) == RESTS);
                let is_settled = || {
                    since(accounts(&lab, &metrics()))
                        .iter()
                        .all(|(_, a, b)| a == b)
                };
                let deadline = Instant::now() + PATIENCE;
                while !is_settled() && Instant::now() < deadline {
                    std::thread::sleep(Duration::from_millis(50));
                }
                let text = metrics();
                for (what, count, found) in since(accounts(&lab, &text)) {
                    assert_eq!(count, found, "{what}: {}", drops(&text));
                }
            }
        });
        self.judge(
            &lab,
            &metrics(),
            [
                ("resident KiB", memory),
                ("frames", rates),
                ("flow-mods", mods),
            ],
        );
        println!(
            "{} changes, {} controllers, {megabytes} MB of TCP",
            changes.load(Relaxed),
            sessions.load(Relaxed)
        );
        assert!(
            changes.load(Relaxed) > self.seconds * 100,
            "there were changes"
        );
    }

    /// Prints all figures. Panics: if memory grows.
    fn judge(&self, lab: &Lab, metrics: &str, curves: [(&str, Vec<u64>); 3]) {
        let file = format!("{}/soak-{}.svg", env!("CARGO_TARGET_TMPDIR"), self.seconds);
        std::fs::write(&file, plot(&curves)).unwrap();
        let memory = &curves[0].1;
        let thirds: Vec<u64> = memory.chunks(memory.len().div_ceil(3)).map(mean).collect();
        println!("resident KiB in each third: {thirds:?}; see {file}");
        for (what, count, _) in accounts(lab, metrics) {
            println!("{what}: {count}");
        }
        println!("{}", drops(metrics));
        assert!(
            thirds[2] <= thirds[1] + GROWTH_KIB,
            "memory grows: {thirds:?}"
        );
    }
}

#[test]
fn forty_seconds_of_everything_cost_no_memory_and_lose_no_packet() {
    let soak = Soak {
        seconds: 40,
        frames: 40,
        spread: 2,
        fills: false,
    };
    soak.run();
}

#[test]
#[ignore = "15 minutes"]
fn a_quarter_of_an_hour_of_everything_costs_no_memory_and_loses_no_packet() {
    let soak = Soak {
        seconds: 900,
        frames: 100,
        spread: 24,
        fills: true,
    };
    soak.run();
}
