//! Traffic over networks: rates as theory predicts them, shares, losses, failures, random trees.
#![allow(clippy::unwrap_used)]

use bofuss_datapath::Time;
use bofuss_embed::FailMode;
use bofuss_sim::controller::LearningController;
use bofuss_sim::host::{EndHost, HostConfig};
use bofuss_sim::traffic::{TcpReport, Traffic, TrafficHost, TrafficReport, TrafficRow};
use bofuss_sim::{Change, LinkConfig, LinkId, LinkState, Network, NetworkConfig, NodeId};
use proptest::prelude::*;
use serde::Deserialize;

use crate::common::{add_switch, connect_all, host_config, link};

const MS: u64 = 1_000_000;
/// Bytes of a full TCP segment with timestamps: its payload, and its frame without FCS.
const PAYLOAD: f64 = 1_448.0;
const FRAME: f64 = 1_514.0;

#[derive(Deserialize)]
struct Rows {
    traffic: Vec<TrafficRow>,
}

/// Hosts 1 to `hosts`, with the programs for the traffic of `text`.
fn hosts_with_traffic(hosts: u8, text: &str) -> (Vec<EndHost>, Traffic) {
    let mut configs: Vec<HostConfig> = (1..=hosts).map(host_config).collect();
    for (number, config) in (1..).zip(&mut configs) {
        config.addresses.ip6 = Some(([0xfd00, 0, 0, 0, 0, 0, 0, number].into(), 64));
    }
    let names: Vec<String> = (1..=hosts).map(|number| format!("h{number}")).collect();
    let named = names.iter().zip(&configs);
    let known: Vec<TrafficHost<'_>> = named
        .map(|(name, config)| TrafficHost { name, config })
        .collect();
    let rows: Rows = toml::from_str(text).unwrap();
    let mut traffic = Traffic::plan(rows.traffic, &known, 1).unwrap();
    let mut stations: Vec<EndHost> = configs.into_iter().map(EndHost::new).collect();
    for (at, station) in stations.iter_mut().enumerate() {
        traffic.give(at, station);
    }
    (stations, traffic)
}

/// A network, its hosts in their order, and their traffic.
struct Running {
    network: Network,
    hosts: Vec<NodeId>,
    links: Vec<LinkId>,
    traffic: Traffic,
}

impl Running {
    /// Runs until `seconds`, and reports.
    fn run(&mut self, seconds: u64) -> Vec<TrafficReport> {
        let end = Time(seconds * Time::SEC);
        self.network.run_until(end, &mut ()).unwrap();
        let host = |at: usize| -> &EndHost {
            let host: &dyn std::any::Any = self.network.host(self.hosts[at]).unwrap();
            host.downcast_ref().unwrap()
        };
        self.traffic.reports(end, host)
    }
}

/// Two hosts on one wire.
fn wire(config: LinkConfig, text: &str) -> Running {
    let (stations, traffic) = hosts_with_traffic(2, text);
    let mut network = Network::new(NetworkConfig::default());
    let mut hosts = Vec::new();
    for (number, station) in (1..).zip(stations) {
        hosts.push(network.add_host(&format!("h{number}"), Box::new(station)));
    }
    let links = vec![link(&mut network, (hosts[0], 1), (hosts[1], 1), config)];
    Running {
        network,
        hosts,
        links,
        traffic,
    }
}

/// Hosts 1 and 2 at one switch, 3 and 4 at another, and the given link between the switches.
fn dumbbell(config: LinkConfig, text: &str) -> Running {
    let (stations, traffic) = hosts_with_traffic(4, text);
    let mut network = Network::new(NetworkConfig::default());
    let left = add_switch(&mut network, "left", FailMode::Standalone);
    let right = add_switch(&mut network, "right", FailMode::Standalone);
    let middle = link(&mut network, (left, 3), (right, 3), config);
    let mut hosts = Vec::new();
    for (at, station) in stations.into_iter().enumerate() {
        let host = network.add_host(&format!("h{}", at + 1), Box::new(station));
        let switch = if at < 2 { left } else { right };
        let port = at as u32 % 2 + 1;
        link(
            &mut network,
            (switch, port),
            (host, 1),
            LinkConfig::default(),
        );
        hosts.push(host);
    }
    Running {
        network,
        hosts,
        links: vec![middle],
        traffic,
    }
}

/// A link of `mbps`, with a queue of 100 frames.
fn link_of(mbps: u64, delay_ms: u64) -> LinkConfig {
    LinkConfig {
        rate_bps: mbps * 1_000_000,
        delay_ns: delay_ms * MS,
        ..LinkConfig::default()
    }
}

fn tcp(report: &TrafficReport) -> &TcpReport {
    match report {
        TrafficReport::Tcp(report) => report,
        other => panic!("{other:?}"),
    }
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len() as f64
}

#[test]
fn hosts_on_one_wire_find_and_ping_each_other() {
    let text = "[[traffic]]\nkind = 'ping'\nfrom = 'h1'\nto = 'h2'\ncount = 5\n\
                [[traffic]]\nkind = 'ping'\nfrom = 'h2'\nto = 'h1'\ncount = 5\nip = 6\n\
                size = 1000\n";
    let reports = wire(link_of(10, 1), text).run(10);
    for (report, bytes) in reports.iter().zip([98, 1_062]) {
        let TrafficReport::Ping(ping) = report else {
            panic!("{report:?}");
        };
        assert_eq!((ping.sent, ping.received, ping.duplicates), (5, 5, 0));
        // 10 Mb/s are 0.8 us a byte.
        let expected = 2.0 + 2.0 * f64::from(bytes) * 0.0008;
        assert!((ping.rtts_ms[4] - expected).abs() < 1e-6, "{ping:?}");
    }
}

#[test]
fn a_tcp_flow_fills_a_link_with_delay() {
    for congestion in ["reno", "cubic"] {
        let text = format!(
            "[[traffic]]\nkind = 'tcp'\nfrom = 'h1'\nto = 'h3'\nstop = 20\n\
             congestion = '{congestion}'\ninterval = 1\n"
        );
        let reports = dumbbell(link_of(10, 10), &text).run(20);
        let rate = mean(&tcp(&reports[0]).flows[0].intervals_mbps[2..20]);
        let expected = 10.0 * PAYLOAD / FRAME;
        assert!(
            (rate / expected - 1.0).abs() < 0.05,
            "{congestion}: {rate} of {expected}"
        );
    }
}

#[test]
fn two_flows_share_a_link_about_evenly() {
    for congestion in ["reno", "cubic"] {
        let text = format!(
            "[[traffic]]\nkind = 'tcp'\nfrom = 'h1'\nto = 'h3'\ninterval = 1\nstop = 60\n\
             congestion = '{congestion}'\n\
             [[traffic]]\nkind = 'tcp'\nfrom = 'h2'\nto = 'h4'\ninterval = 1\nstop = 60\n\
             start = 0.5\ncongestion = '{congestion}'\n"
        );
        let reports = dumbbell(link_of(10, 5), &text).run(60);
        let first = mean(&tcp(&reports[0]).flows[0].intervals_mbps[15..59]);
        let second = mean(&tcp(&reports[1]).flows[0].intervals_mbps[15..59]);
        let share = first / (first + second);
        assert!(
            (0.35..0.65).contains(&share),
            "{congestion}: {first} and {second}"
        );
        assert!(first + second > 0.95 * 10.0 * PAYLOAD / FRAME);
    }
}

#[test]
fn losses_lower_the_rate_as_congestion_control_predicts() {
    // sqrt(3 / 2p) segments a round trip (Mathis et al. 1997); p is 1 % of the data segments, and
    // of their acknowledgements, which cost nothing.
    for congestion in ["reno", "cubic"] {
        let text = format!(
            "[[traffic]]\nkind = 'tcp'\nfrom = 'h1'\nto = 'h3'\ninterval = 1\nstop = 60\n\
             congestion = '{congestion}'\n"
        );
        let lossy = LinkConfig {
            loss: 0.01,
            ..link_of(100, 20)
        };
        let reports = dumbbell(lossy, &text).run(60);
        let rate = mean(&tcp(&reports[0]).flows[0].intervals_mbps[5..59]);
        let expected = (1.5_f64 / 0.01).sqrt() * PAYLOAD * 8.0 / 0.0402 / 1e6;
        assert!(
            (0.8..1.25).contains(&(rate / expected)),
            "{congestion}: {rate} of {expected}"
        );
    }
}

#[test]
fn a_flow_goes_on_after_a_link_failed() {
    for state in [LinkState::Down, LinkState::Silent] {
        let text = "[[traffic]]\nkind = 'tcp'\nfrom = 'h1'\nto = 'h3'\nstop = 20\ninterval = 1\n";
        let mut running = dumbbell(link_of(10, 10), text);
        let link = running.links[0];
        let network = &mut running.network;
        network
            .plan(Time(5 * Time::SEC), Change::Link(link, state))
            .unwrap();
        network
            .plan(Time(7 * Time::SEC), Change::Link(link, LinkState::Up))
            .unwrap();
        let reports = running.run(20);
        let rates = &tcp(&reports[0]).flows[0].intervals_mbps;
        assert_eq!(rates[6], 0.0, "{rates:?}");
        assert!(
            mean(&rates[10..19]) > 0.95 * 10.0 * PAYLOAD / FRAME,
            "{rates:?}"
        );
    }
}

#[test]
fn a_flood_of_udp_takes_the_link_from_tcp() {
    let text = "[[traffic]]\nkind = 'udp'\nfrom = 'h1'\nto = 'h3'\nmbps = 20\nstart = 5\n\
                stop = 10\ninterval = 1\n\
                [[traffic]]\nkind = 'tcp'\nfrom = 'h2'\nto = 'h4'\nstop = 15\ninterval = 1\n";
    let reports = dumbbell(link_of(10, 1), text).run(15);
    let TrafficReport::Udp(udp) = &reports[0] else {
        panic!("{reports:?}");
    };
    assert!(udp.received < udp.sent * 55 / 100, "{udp:?}");
    assert_eq!((udp.duplicates, udp.reordered), (0, 0));
    assert!(mean(&udp.intervals_mbps[1..5]) > 9.0);
    let rates = &tcp(&reports[1]).flows[0].intervals_mbps;
    assert!(
        mean(&rates[6..10]) < 0.5 && mean(&rates[12..15]) > 9.0,
        "{rates:?}"
    );
}

#[test]
fn short_transfers_between_many_hosts_complete() {
    let text = "[[traffic]]\nkind = 'tcp'\nfrom = 'h*'\nto = 'h*'\nflows = 100\nper_second = 50\n\
                size = 30000\n";
    let reports = dumbbell(link_of(100, 1), text).run(10);
    let report = tcp(&reports[0]);
    assert_eq!(
        (report.completed, report.failed, report.bytes),
        (100, 0, 3_000_000)
    );
    assert!(
        report.completion.unwrap().p99_ms < 250.0,
        "{:?}",
        report.completion
    );
}

/// A tree of switches: the parent of switch i + 1 is the one that `parents[i]` chooses of those
/// before it.
fn tree(parents: &[prop::sample::Index], delays_us: &[u64], standalone: bool) -> Running {
    let switches = parents.len() + 1;
    let mut text = String::new();
    for at in 1..=switches {
        let other = at % switches + 1;
        text += &format!(
            "[[traffic]]\nkind = 'ping'\nfrom = 'h{at}'\nto = 'h{other}'\ncount = 3\nstart = 1\n\
             [[traffic]]\nkind = 'udp'\nfrom = 'h{at}'\nto = 'h{other}'\ncount = 20\npps = 10\n\
             start = 1.5\n"
        );
    }
    let (stations, traffic) = hosts_with_traffic(switches as u8, &text);
    let mut network = Network::new(NetworkConfig::default());
    let mode = if standalone {
        FailMode::Standalone
    } else {
        FailMode::Secure
    };
    let mut nodes = Vec::new();
    let mut hosts = Vec::new();
    let mut ports = vec![1; switches];
    for (at, station) in stations.into_iter().enumerate() {
        let switch = add_switch(&mut network, &format!("s{}", at + 1), mode);
        let host = network.add_host(&format!("h{}", at + 1), Box::new(station));
        link(&mut network, (switch, 1), (host, 1), LinkConfig::default());
        nodes.push(switch);
        hosts.push(host);
    }
    for (at, parent) in parents.iter().enumerate() {
        let child = at + 1;
        let parent = parent.index(child);
        ports[parent] += 1;
        ports[child] += 1;
        let config = LinkConfig {
            delay_ns: 1_000 * delays_us[at],
            ..LinkConfig::default()
        };
        let ends = [(nodes[parent], ports[parent]), (nodes[child], ports[child])];
        link(&mut network, ends[0], ends[1], config);
    }
    if !standalone {
        let controller = Box::<LearningController>::default();
        connect_all(&mut network, controller, &nodes, 100_000);
    }
    Running {
        network,
        hosts,
        links: Vec::new(),
        traffic,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn in_every_tree_all_pings_and_datagrams_arrive_once(
        parents in proptest::collection::vec(any::<prop::sample::Index>(), 1..12),
        delays_us in proptest::collection::vec(1_u64..2_000, 12),
        standalone in any::<bool>(),
    ) {
        let reports = tree(&parents, &delays_us, standalone).run(10);
        for report in &reports {
            match report {
                TrafficReport::Ping(ping) => {
                    prop_assert_eq!((ping.sent, ping.received, ping.duplicates), (3, 3, 0));
                }
                TrafficReport::Udp(udp) => {
                    prop_assert_eq!((udp.sent, udp.received, udp.duplicates), (20, 20, 0));
                }
                TrafficReport::Tcp(_) => prop_assert!(false, "none was asked for"),
            }
        }
        let again = tree(&parents, &delays_us, standalone).run(10);
        prop_assert_eq!(reports, again, "equal networks do the same");
    }
}

#[test]
fn the_examples_of_the_guide_are_read() {
    let page = include_str!("../../docs/guide/simulated-traffic.md");
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let (_, traffic) = hosts_with_traffic(4, example);
    assert!(format!("{traffic:?}").contains("10000"));
}
