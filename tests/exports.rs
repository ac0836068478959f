//! sFlow and IPFIX, as collectors and an analyzer that we did not write read them.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use bofuss_frame::Pool;
use bofuss_ports::{AfPacket, AfPacketOptions, PortDriver};
use bofuss_tests::{Lab, PATIENCE, address, have, ok, program, until};
use serde_json::Value;

mod collector;

use collector::{Collector, free_port, numbers};

const TOOLS: [&str; 7] = [
    "ip", "ping", "tshark", "dumpcap", "nfcapd", "sfcapd", "nfdump",
];

fn ctl(lab: &Lab, words: &[&str]) -> String {
    ok(Command::new(program("bofuss"))
        .args(["ctl", &lab.name])
        .args(words))
}

/// The only export as JSON.
fn export(lab: &Lab) -> Value {
    let text = ctl(lab, &["exports", "--json"]);
    let mut value: Value = serde_json::from_str(&text).unwrap();
    value["exports"][0].take()
}

fn count(value: &Value, key: &str) -> u64 {
    let count = value[key].as_u64();
    count.unwrap_or_else(|| panic!("{key}: {value}"))
}

/// Packets and bytes that each port has received.
fn received(lab: &Lab) -> Vec<(u64, u64)> {
    let value: Value = serde_json::from_str(&ctl(lab, &["ports", "--json"])).unwrap();
    let ports = value["ports"].as_array().unwrap().iter();
    ports
        .map(|port| (count(port, "rx_packets"), count(port, "rx_bytes")))
        .collect()
}

fn sum(ports: &[(u64, u64)]) -> (u64, u64) {
    ports.iter().fold((0, 0), |(packets, bytes), port| {
        (packets + port.0, bytes + port.1)
    })
}

/// The kernel's index of a port's interface.
fn index(lab: &Lab, host: u8) -> u64 {
    let path = format!("/sys/class/net/{}/ifindex", lab.port(host));
    fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

#[test]
fn sflow_one_in_one_has_all_that_ports_receive_and_their_counters() {
    if !have(&TOOLS) {
        return;
    }
    let mut collector = Collector::start("sfcapd");
    let sflow = format!("127.0.0.1:{} rate=1 poll=1 sub-agent=7", collector.port);
    let lab = Lab::new(2, &["--sflow", &sflow]);
    lab.all_ping();
    lab.udp(1, 2);
    lab.tcp(1, 2, 1);
    lab.host(1, || {
        ok(Command::new("ping").args(["-c", "2", "-i", "0.2", "-s", "4000", "10.0.0.2"]))
    });
    // So that the last report of counters has all.
    std::thread::sleep(Duration::from_secs(2));
    let ports = received(&lab);
    let (packets, bytes) = sum(&ports);
    assert!(packets > 700, "a megabyte in segments: {packets}");
    until("all are sent", || {
        count(&export(&lab), "samples") == packets
    });
    let said = export(&lab);
    assert_eq!(count(&said, "dropped_samples"), 0);
    assert_eq!(said["trouble"], Value::Null);
    let read = collector.end();
    assert_eq!(read["Packets"], packets);
    // A frame's length in sFlow includes the FCS.
    assert_eq!(read["Bytes"], bytes + 4 * packets);
    assert_eq!(read["Sequence failures"], 0);
    assert_eq!(
        collector
            .tshark("sflow && _ws.malformed", &["frame.number"])
            .len(),
        0
    );
    let agents = collector.tshark("sflow", &["sflow_245.agent", "sflow_245.sub_agent_id"]);
    assert!(agents.iter().all(|row| row == &["127.0.0.1", "7"]));
    // Each datagram has reports of both ports.
    let fields = [
        "sflow_245.ifindex",
        "sflow_245.ifinoct",
        "sflow_245.ifinpkt",
    ];
    let reports = collector.tshark("sflow_245.ifindex", &fields);
    let mut last = BTreeMap::new();
    for row in &reports {
        let [indexes, octets, packets] = [0, 1, 2].map(|i| numbers(&row[i..=i]));
        for ((index, octets), packets) in indexes.iter().zip(octets).zip(packets) {
            last.insert(*index, (packets, octets));
        }
    }
    let wanted = BTreeMap::from([(index(&lab, 1), ports[0]), (index(&lab, 2), ports[1])]);
    assert_eq!(last, wanted);
    let metrics = "failed_datagrams=0";
    assert!(ctl(&lab, &["exports"]).contains(metrics));
}

#[test]
fn sflow_one_in_n_is_a_fair_share_also_when_locked_down() {
    if !have(&TOOLS) {
        return;
    }
    let mut collector = Collector::start("sfcapd");
    let sflow = format!("127.0.0.1:{} rate=20 poll=0", collector.port);
    let arguments = ["--sflow", &sflow, "--seed", "11", "--lock-down"];
    let lab = Lab::new(2, &arguments);
    lab.all_ping();
    lab.tcp(1, 2, 30);
    std::thread::sleep(Duration::from_secs(1));
    let (packets, _) = sum(&received(&lab));
    assert!(packets > 20_000, "{packets}");
    let mean = packets as f64 / 20.0;
    // The skip is uniform over 1 to 2N-1: the variance of the number is a third of its mean.
    let deviation = (mean / 3.0).sqrt();
    let said = export(&lab);
    let taken = count(&said, "samples") + count(&said, "dropped_samples");
    let off = (taken as f64 - mean).abs();
    assert!(off < 5.0 * deviation, "{taken} of {packets}");
    until("all are sent", || count(&export(&lab), "datagrams") > 0);
    std::thread::sleep(Duration::from_secs(1));
    let sent = count(&export(&lab), "samples");
    let read = collector.end();
    assert_eq!(read["Packets"], 20 * sent, "nfdump scales");
    assert_eq!(read["Sequence failures"], 0);
}

#[test]
fn workers_sample_their_own_and_sequence_numbers_stay_right() {
    if !have(&TOOLS) {
        return;
    }
    let port = free_port();
    let collector = UdpSocket::bind(("::1", port)).unwrap();
    collector.set_nonblocking(true).unwrap();
    let mut flows = Collector::start("nfcapd");
    let sflow = format!("[::1]:{port} rate=1 poll=0");
    let ipfix = format!("127.0.0.1:{} idle=1", flows.port);
    let mut arguments = vec!["--workers", "2", "--fail-mode", "secure"];
    arguments.extend(["--sflow", &sflow, "--ipfix", &ipfix]);
    let lab = Lab::new(2, &arguments);
    for (from, to) in [(1, 2), (2, 1)] {
        lab.asks(&["add-flow", &format!("in_port={from},actions=output:{to}")]);
    }
    lab.all_ping();
    // Datagrams of different ports are different flows.
    for _ in 0..20 {
        lab.udp(1, 2);
    }
    let said = ctl(&lab, &["workers", "--json"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["dispatch"], "flows");
    assert!(said["packets"][1].as_u64().unwrap() > 0, "{said}");
    let (packets, _) = sum(&received(&lab));
    until("all are sent", || {
        count(&export(&lab), "samples") == packets
    });
    std::thread::sleep(Duration::from_secs(1));
    let mut last: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    let mut bytes = [0; 2000];
    let mut datagrams = 0;
    while let Ok(length) = collector.recv(&mut bytes) {
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!((word(0), word(4)), (5, 2), "an agent with IPv6");
        datagrams += 1;
        assert_eq!(word(28), datagrams);
        let mut at = 40;
        for _ in 0..word(36) {
            let source = last.entry(word(at + 12)).or_default();
            // The number of the sample, and of how many packets it is one.
            assert_eq!((word(at + 8), word(at + 20)), (source.0 + 1, source.1 + 1));
            *source = (word(at + 8), word(at + 20));
            at += 8 + word(at + 4) as usize;
        }
        assert_eq!(at, length);
    }
    let all: u32 = last.values().map(|source| source.0).sum();
    assert_eq!(u64::from(all), packets);
    until("all flows have ended", || {
        ctl(&lab, &["exports"]).matches(" flows=0 ").count() == 2
    });
    let read = flows.end();
    assert_eq!(read["Packets"], packets);
    assert_eq!(read["Sequence failures"], 0);
}

#[test]
fn counters_that_workers_export_are_those_of_all() {
    const DATAGRAMS: u32 = 30;
    if !have(&TOOLS) {
        return;
    }
    let port = free_port();
    let collector = UdpSocket::bind(("::1", port)).unwrap();
    collector.set_read_timeout(Some(PATIENCE)).unwrap();
    let sflow = format!("[::1]:{port} rate=1000000 poll=1");
    let arguments = ["--workers", "2", "--fail-mode", "secure", "--sflow", &sflow];
    let lab = Lab::new(2, &arguments);
    for (from, to) in [(1, 2), (2, 1)] {
        lab.asks(&["add-flow", &format!("in_port={from},actions=output:{to}")]);
    }
    // Datagrams of different ports are different flows, which both workers have.
    lab.all_ping();
    lab.host(1, || {
        for _ in 0..DATAGRAMS {
            let sender = UdpSocket::bind((address(1), 0)).unwrap();
            sender.send_to(b"to nobody", (address(2), 9)).unwrap();
        }
    });
    // Nothing is asked of the switch now, for which the workers would stop.
    collector.set_nonblocking(true).unwrap();
    let mut bytes = [0; 2000];
    while collector.recv(&mut bytes).is_ok() {}
    collector.set_nonblocking(false).unwrap();
    let wanted = index(&lab, 1) as u32;
    let counted = loop {
        let length = collector.recv(&mut bytes).unwrap();
        let words = bytes[..length].chunks_exact(4);
        let words = words.map(|word| u32::from_be_bytes(word.try_into().unwrap()));
        let words: Vec<u32> = words.collect();
        // The generic counters of an interface: their type, length and index.
        let found = words.windows(3).position(|three| three == [1, 88, wanted]);
        if let Some(at) = found {
            break words[at + 10];
        }
    };
    assert!(counted >= DATAGRAMS, "{counted}");
}

/// Frames of the same addresses and ports in two VLANs.
fn tagged(vlan: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0, vlan, 8, 0];
    frame.extend([0x45, 0, 0, 42, 0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend([10, 9, 9, 1, 10, 9, 9, 2, 0x30, 0x39, 0, 9, 0, 22, 0, 0]);
    frame.resize(60, 7);
    frame
}

#[test]
fn ipfix_totals_are_those_of_ports_and_flows_end_in_time() {
    if !have(&TOOLS) {
        return;
    }
    let mut collector = Collector::start("nfcapd");
    let ipfix = format!(
        "127.0.0.1:{} idle=1 active=3 domain=9 templates=2",
        collector.port
    );
    let lab = Lab::new(2, &["--ipfix", &ipfix]);
    lab.all_ping();
    lab.udp(1, 2);
    lab.tcp(1, 2, 3);
    let ping = |words: &[&str]| {
        lab.host(1, || {
            ok(Command::new("ping").args(words).arg(address(2).to_string()))
        })
    };
    ping(&["-c", "2", "-i", "0.2", "-s", "4000"]);
    ping(&["-c", "24", "-i", "0.2"]);
    let options = AfPacketOptions {
        take_over: true,
        keep_host_out: false,
        ring_slots: 0,
        ..Default::default()
    };
    let mut raw = lab.host(1, || AfPacket::open("eth0", options).unwrap());
    let pool = Pool::new(1 << 20);
    for vlan in [5, 6, 5] {
        let mut frames = vec![pool.frame(&tagged(vlan)).unwrap()];
        raw.send(&mut frames).unwrap();
    }
    until("all flows have ended", || {
        let said = export(&lab);
        count(&said, "flows") == 0 && count(&said, "samples") > 10
    });
    std::thread::sleep(Duration::from_millis(500));
    let ports = received(&lab);
    let said = export(&lab);
    let zeros = ["dropped_samples", "uncached_packets", "failed_datagrams"];
    assert!(zeros.iter().all(|key| count(&said, key) == 0), "{said}");
    let read = collector.end();
    assert_eq!(read["Packets"], sum(&ports).0);
    assert_eq!(read["Flows"], count(&said, "samples"));
    assert_eq!(read["Sequence failures"], 0);
    assert_eq!(
        collector
            .tshark("cflow && _ws.malformed", &["frame.number"])
            .len(),
        0
    );
    let templates = collector.tshark("cflow.flowset_id == 2", &["cflow.od_id"]);
    assert!(templates.len() >= 4 && templates.iter().all(|row| row[0] == "9"));
    let fields = [
        "cflow.inputint",
        "cflow.packets",
        "cflow.layer2_octet_delta_count",
    ];
    let mut totals: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for row in collector.tshark("cflow.packets", &fields) {
        let [indexes, packets, bytes] = [0, 1, 2].map(|i| numbers(&row[i..=i]));
        for ((index, packets), bytes) in indexes.iter().zip(packets).zip(bytes) {
            let total = totals.entry(*index).or_default();
            *total = (total.0 + packets, total.1 + bytes);
        }
    }
    let wanted = BTreeMap::from([(index(&lab, 1), ports[0]), (index(&lab, 2), ports[1])]);
    assert_eq!(totals, wanted);
    // Rows of nfdump: the VLAN and protocol of each flow, its packets, and its milliseconds.
    let format = "fmt:%svln %pr %pkt %td %dp";
    let rows = ok(Command::new("nfdump")
        .args(["-q", "-N", "-o", format, "-R"])
        .arg(&collector.folder));
    let rows: Vec<Vec<&str>> = rows
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for (vlan, packets) in [("5", "2"), ("6", "1")] {
        let meant: Vec<_> = rows.iter().filter(|row| row[0] == vlan).collect();
        assert_eq!(meant.len(), 1, "{rows:?}");
        assert_eq!(meant[0][2], packets);
    }
    let reasons: Vec<_> = collector
        .tshark("cflow.packets", &["cflow.flow_end_reason"])
        .iter()
        .flat_map(|row| numbers(row))
        .collect();
    assert!(reasons.contains(&1) && reasons.contains(&2), "{reasons:?}");
    // Flows are reported 1 s after their last packet, or 3 s after their first; ping took 4.6 s.
    let times = ok(Command::new("nfdump")
        .args(["-q", "-N", "-o", "fmt:%tsr %ter %trr", "-R"])
        .arg(&collector.folder));
    for line in times.lines() {
        let times = line.split_whitespace().map(|time| time.parse().unwrap());
        let times: Vec<f64> = times.collect();
        let [start, end, told] = times[..] else {
            panic!("{line}")
        };
        let is_idle = (1.0..2.5).contains(&(told - end));
        let is_active = (3.0..4.5).contains(&(told - start));
        assert!(is_idle || is_active, "{line}");
    }
}

#[test]
fn collectors_that_are_not_there_cost_no_packets() {
    if !have(&TOOLS) {
        return;
    }
    let silent = format!("127.0.0.1:{} rate=1 poll=1", free_port());
    let arguments = [
        "--sflow",
        "nowhere.invalid rate=1",
        "--sflow",
        &silent,
        "--ipfix",
        "nowhere.invalid idle=1",
    ];
    let lab = Lab::new(2, &arguments);
    lab.all_ping();
    lab.tcp(1, 2, 5);
    assert_eq!(lab.lost_pings(50, "0.01"), [0; 0]);
    let value = || -> Value { serde_json::from_str(&ctl(&lab, &["exports", "--json"])).unwrap() };
    until("their troubles are told", || {
        let said = value();
        (0..3).all(|at| said["exports"][at]["trouble"].is_string())
    });
    let said = value();
    assert!(
        count(&said["exports"][0], "dropped_samples") > 100,
        "{said}"
    );
    assert_eq!(count(&said["exports"][0], "datagrams"), 0);
    let trouble = said["exports"][1]["trouble"].as_str().unwrap();
    assert!(trouble.contains("refused"), "{said}");
    until("flows are dropped", || {
        count(&value()["exports"][2], "dropped_samples") > 0
    });
}

#[test]
fn a_port_whose_frames_are_sampled_is_not_accelerated() {
    if !have(&["ip", "ping", "clang"]) {
        return;
    }
    let lab = Lab::new(2, &["--accelerate", "on"]);
    let accelerator = || ctl(&lab, &["accelerator"]);
    assert!(accelerator().contains("port 1 on"), "{}", accelerator());
    let sampled = format!("sflow = ['127.0.0.1:{} ports=1']", free_port());
    ctl(&lab, &["set", &sampled]);
    let said = accelerator();
    assert!(
        said.contains("port 1 off: sFlow or IPFIX see its frames"),
        "{said}"
    );
    assert!(said.contains("port 2 on"), "{said}");
    lab.all_ping();
    ctl(&lab, &["unset", "sflow"]);
    assert!(accelerator().contains("port 1 on"), "{}", accelerator());
    lab.all_ping();
}

#[test]
fn flows_are_sent_when_an_export_ends_and_when_the_switch_does() {
    if !have(&TOOLS) {
        return;
    }
    let [mut first, mut second] = [(); 2].map(|()| Collector::start("nfcapd"));
    let line = |collector: &Collector| format!("127.0.0.1:{} idle=600", collector.port);
    let mut lab = Lab::new(2, &["--ipfix", &line(&first)]);
    lab.all_ping();
    lab.udp(1, 2);
    // One that stays keeps its flows.
    ctl(&lab, &["set", "sflow = ['127.0.0.1 rate=7']"]);
    let both = format!("ipfix = ['{}', '{}']", line(&first), line(&second));
    let at_first = sum(&received(&lab)).0;
    ctl(&lab, &["set", &both]);
    lab.all_ping();
    let in_both = sum(&received(&lab)).0;
    ctl(&lab, &["set", &format!("ipfix = ['{}']", line(&second))]);
    lab.all_ping();
    let at_last = sum(&received(&lab)).0;
    assert_eq!(lab.switch.terminate(), Some(0));
    let read = [first.end(), second.end()];
    assert_eq!(read[0]["Packets"], in_both);
    assert_eq!(read[1]["Packets"], at_last - at_first);
    for (collector, read) in [first, second].iter().zip(&read) {
        assert_eq!(read["Sequence failures"], 0);
        let reasons = collector.tshark("cflow.packets", &["cflow.flow_end_reason"]);
        assert!(
            reasons
                .iter()
                .flat_map(|row| numbers(row))
                .all(|reason| reason == 4)
        );
    }
}
