//! Rows as text, the programs that are planned for them, and the reports.

use serde::Deserialize;

use super::*;
use crate::host::{Host, HostAddresses, HostConfig, HostProgram};

#[derive(Deserialize)]
struct Scenario {
    traffic: Vec<TrafficRow>,
}

fn rows(text: &str) -> Result<Vec<TrafficRow>, String> {
    let scenario: Result<Scenario, _> = toml::from_str(text);
    scenario.map(|s| s.traffic).map_err(|e| e.to_string())
}

fn config(number: u8) -> HostConfig {
    HostConfig {
        addresses: HostAddresses {
            mac: bofuss_oflib::Mac([2, 0, 0, 0, 0, number]),
            ip4: Some(([10, 0, 0, number].into(), 24)),
            ip6: None,
        },
        mtu_bytes: 1_500,
        seed: 0,
        known: Default::default(),
    }
}

/// Traffic among h1, h2 and h3.
fn plan(text: &str) -> Result<Traffic, String> {
    let configs = [1, 2, 3].map(config);
    let names = ["h1", "h2", "h3"];
    let hosts: Vec<TrafficHost<'_>> = names
        .iter()
        .zip(&configs)
        .map(|(name, config)| TrafficHost { name, config })
        .collect();
    Traffic::plan(rows(text)?, &hosts, 7).map_err(|error| error.to_string())
}

#[test]
fn rows_have_sensible_values_where_nothing_is_said() {
    let rows = rows(
        "[[traffic]]\nkind = 'ping'\nfrom = 'h1'\nto = 'h2'\n\
         [[traffic]]\nkind = 'udp'\nfrom = 'h1'\nto = 'h2'\npps = 10\non_off = [1, 0.5]\n\
         [[traffic]]\nkind = 'tcp'\nfrom = 'h1'\nto = 'h2'\ncongestion = 'reno'\nsize = 5\n",
    );
    let rows = rows.unwrap();
    let TrafficRow::Ping(ping) = &rows[0] else {
        panic!("{rows:?}");
    };
    assert_eq!((ping.ip, ping.interval, ping.size), (4, 1.0, 56));
    let TrafficRow::Udp(udp) = &rows[1] else {
        panic!("{rows:?}");
    };
    assert_eq!(
        (udp.pps, udp.flows, udp.on_off),
        (Some(10.0), 1, Some((1.0, 0.5)))
    );
    let TrafficRow::Tcp(tcp) = &rows[2] else {
        panic!("{rows:?}");
    };
    assert_eq!(
        (tcp.size, tcp.congestion),
        (Some(5), CongestionControl::Reno)
    );
}

#[test]
fn errors_say_which_row_and_what_is_wrong() {
    let udp = "kind = 'udp'\nfrom = 'h1'\nto = 'h2'\n";
    let tcp = "kind = 'tcp'\nfrom = 'h1'\nto = 'h2'\n";
    for (rest, expected) in [
        ("kind = 'dns'\n", "unknown variant `dns`"),
        (
            "kind = 'ping'\nfrom = 'h1'\nto = 'h2'\nspeed = 1\n",
            "unknown field `speed`",
        ),
        (
            "kind = 'ping'\nfrom = 'h1'\nto = 'h9'\n",
            "traffic 1: no host is called \"h9\"",
        ),
        (
            "kind = 'ping'\nfrom = 'h1'\nto = 'h1'\n",
            "h1 has no other host to send to",
        ),
        (
            "kind = 'ping'\nfrom = 'h1'\nto = 'h2'\nip = 6\n",
            "h2 has no address of IPv6",
        ),
        (
            "kind = 'ping'\nfrom = 'h1'\nto = 'h2'\nip = 5\n",
            "ip is 4 or 6",
        ),
        (
            "kind = 'ping'\nfrom = 'h1'\nto = 'h2'\ninterval = 0\n",
            "interval is out of range",
        ),
        (
            &format!("{udp}pps = 1\nmbps = 1\n"),
            "either pps or mbps is needed",
        ),
        (&format!("{udp}pps = 0\n"), "rate is out of range"),
        (&format!("{udp}pps = -1\n"), "rate is out of range"),
        (
            &format!("{udp}pps = 1\nsize = 17\n"),
            "size is 18 to 1472 bytes",
        ),
        (
            &format!("{udp}pps = 1\nsize = 1473\n"),
            "size is 18 to 1472 bytes",
        ),
        (
            &format!("{udp}pps = 1\nflows = 0\n"),
            "flows is 1 to 1000000",
        ),
        (
            &format!("{udp}pps = 1\nburst = 0\n"),
            "burst is 1 to 1000000",
        ),
        (
            &format!("{udp}pps = 1\nburst = 4000000000\n"),
            "burst is 1 to 1000000",
        ),
        (
            &format!("{udp}pps = 1\non_off = [0, 1]\n"),
            "on_off is out of range",
        ),
        (&format!("{tcp}start = -1\n"), "start is out of range"),
        (&format!("{tcp}start = nan\n"), "start is out of range"),
        (
            &format!("{tcp}per_second = 0\n"),
            "per_second is out of range",
        ),
    ] {
        let error = plan(&format!("[[traffic]]\n{rest}")).unwrap_err();
        assert!(error.contains(expected), "{rest}: {error}");
    }
}

fn programs(traffic: &Traffic) -> Vec<(usize, &HostProgram)> {
    traffic
        .placed
        .iter()
        .map(|p| (p.host, &p.program))
        .collect()
}

#[test]
fn flows_are_dealt_to_senders_in_turn_and_share_the_rate() {
    let text =
        "[[traffic]]\nkind = 'udp'\nfrom = 'h*'\nto = 'h*'\nflows = 4\npps = 100\ncount = 40";
    let traffic = plan(text).unwrap();
    let mut shares = Vec::new();
    let mut expected = 0;
    for (host, program) in programs(&traffic) {
        match program {
            HostProgram::Udp(udp) => {
                shares.push((
                    host,
                    udp.flows.len(),
                    udp.interval_ns,
                    udp.start.0,
                    udp.count,
                ));
            }
            HostProgram::UdpExpectation(expectation) => expected += expectation.flows.len(),
            other => panic!("{other:?}"),
        }
    }
    let ms = 1_000_000;
    let due = [
        (0, 2, 20 * ms, 0, 20),
        (1, 1, 40 * ms, 10 * ms, 10),
        (2, 1, 40 * ms, 20 * ms, 10),
    ];
    assert_eq!((shares.as_slice(), expected), (&due[..], 4));
    assert!(traffic.pairs[0].iter().all(|pair| pair.from != pair.to));
}

#[test]
fn a_name_may_have_several_stars() {
    let traffic = plan("[[traffic]]\nkind = 'ping'\nfrom = '*h*1*'\nto = 'h2'\n").unwrap();
    let senders: Vec<usize> = programs(&traffic).iter().map(|(host, _)| *host).collect();
    assert_eq!(senders, [0]);
}

#[test]
fn connections_open_as_a_poisson_process_that_follows_from_the_seed() {
    let text = "[[traffic]]\nkind = 'tcp'\nfrom = 'h1'\nto = 'h*'\n\
                flows = 1000\nper_second = 100\nsize = 1";
    let starts = |traffic: &Traffic| -> Vec<u64> {
        let programs = programs(traffic).into_iter();
        let start = programs.map(|(_, program)| match program {
            HostProgram::Tcp(tcp) => tcp.start.0,
            other => panic!("{other:?}"),
        });
        start.collect()
    };
    let traffic = plan(text).unwrap();
    let first = starts(&traffic);
    assert!((8_500_000_000..11_500_000_000).contains(first.last().unwrap()));
    assert_eq!(first, starts(&plan(text).unwrap()));
}

#[test]
fn reports_have_a_row_for_each_row_and_flow() {
    let text = "[[traffic]]\nkind = 'ping'\nfrom = 'h*'\nto = 'h1'\n";
    assert_eq!(
        plan(text).unwrap().pairs[0].len(),
        2,
        "h1 has nobody to ping"
    );
    let text = "[[traffic]]\nkind = 'udp'\nfrom = 'h1'\nto = 'h2'\npps = 1\nflows = 2\n\
                [[traffic]]\nkind = 'tcp'\nfrom = 'h2'\nto = 'h3'\nstop = 2\ninterval = 1\n\
                [[traffic]]\nkind = 'ping'\nfrom = 'h3'\nto = 'h1'\n";
    let mut traffic = plan(text).unwrap();
    let mut stations = [1, 2, 3].map(|number| crate::host::EndHost::new(config(number)));
    for (host, station) in stations.iter_mut().enumerate() {
        traffic.give(host, station);
        assert!(station.next_tick().is_some());
    }
    let reports = traffic.reports(bofuss_datapath::Time(0), |host| &stations[host]);
    let json = serde_json::to_value(&reports).unwrap();
    assert_eq!(json[0]["flows"][1]["to"], "h2");
    assert_eq!(json[0]["flows"][1]["packets"], 0);
    assert_eq!(json[1]["kind"], "tcp");
    assert_eq!(json[1]["flows"][0]["from"], "h2");
    assert_eq!(json[2]["rtt"], serde_json::Value::Null);
}

#[test]
fn what_tcp_offers_is_said_once_and_has_a_size() {
    let tcp = "[[traffic]]\nkind = 'tcp'\nfrom = 'h1'\nto = 'h2'\nflows = 3\nmbps = 8\n";
    for (keys, wanted) in [
        ("", "mbps needs size or sizes"),
        ("size = 5\nper_second = 1", "either per_second or mbps"),
        ("sizes = 'uniform'", "unknown variant `uniform`"),
    ] {
        let error = plan(&format!("{tcp}{keys}")).unwrap_err();
        assert!(error.contains(wanted), "{error}");
    }
    assert!(plan(&format!("{tcp}sizes = 'data-mining'")).is_ok());
}
