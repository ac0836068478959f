//! Packets without an Ethernet header: two TUN ports of a switch between two routed networks.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::net::Ipv4Addr;
use std::process::Command;

use bofuss_tests::{Lab, get, have, ip, ok, run, until};

/// The packet that a host sends to another over the switch.
const PING: &str = "45000054000040004001000000000000";

fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, host, 1)
}

/// Makes the machine of the switch a router, which hands what comes from host 1 to the switch by
/// the interface `left`, and what comes from host 2 by `right`.
fn route(lab: &Lab) {
    fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap();
    for (host, tun) in [(1, "left"), (2, "right")] {
        let port = lab.port(host);
        for interface in ["all", &port, tun] {
            let file = format!("/proc/sys/net/ipv4/conf/{interface}/rp_filter");
            fs::write(file, "0").unwrap();
        }
        ip(&format!("address add 10.0.{host}.254/24 dev {port}"));
        ip(&format!("rule add iif {port} lookup 10{host}"));
        ip(&format!("route add default dev {tun} table 10{host}"));
        lab.host(host, || {
            ip(&format!("address add {}/24 dev eth0", address(host)));
            ip(&format!("route add 10.0.0.0/16 via 10.0.{host}.254"));
        });
    }
}

fn pings(lab: &Lab) -> bool {
    let target = address(2).to_string();
    let ping = || run(Command::new("ping").args(["-n", "-c", "1", "-W", "1", &target]));
    lab.host(1, ping).status.success()
}

#[test]
fn ip_packets_are_switched_between_ports_without_ethernet() {
    if !have(&["ip", "ping", "python3"]) {
        return;
    }
    let lab = Lab::with_file(
        2,
        &[
            "--port",
            "tun:left",
            "--port",
            "tun:right",
            "--metrics",
            "0",
        ],
    );
    route(&lab);
    let dpctl = |arguments: &[&str]| lab.asks(&[&["-O", "OpenFlow15"], arguments].concat());
    // What is of Ethernet is of no packet here.
    dpctl(&["add-flow", "actions=FLOOD"]);
    assert!(!pings(&lab));
    let ways = [
        "packet_type=(1,0x800),in_port=1,nw_dst=10.0.2.0/24,actions=dec_ttl,output:2",
        "packet_type=(1,0x800),in_port=2,nw_dst=10.0.1.0/24,actions=output:1",
        "packet_type=(1,0x86dd),actions=drop",
    ];
    for way in ways {
        dpctl(&["add-flow", way]);
    }
    until("host 1 reaches host 2", || pings(&lab));
    lab.tcp_between((1, address(1)), (2, address(2)), 16);
    let flows = dpctl(&["dump-flows"]);
    let way = "packet_type=(1,0x800) actions=dec_ttl,output:2";
    assert!(flows.contains(way), "{flows}");
    let shown = dpctl(&["dump-ports-desc"]);
    let of_ports = shown.matches("pipeline input:  packet_type").count();
    assert_eq!(of_ports, 2, "{shown}");
    // Earlier versions are not told of such entries.
    let earlier = lab.asks(&["-O", "OpenFlow13", "dump-flows"]);
    assert!(!earlier.contains("packet_type"), "{earlier}");
    let story = dpctl(&["trace", "1", &format!("{PING}0a000203")]);
    assert!(story.contains("packet_type=(1,0x800)"), "{story}");
    // Among these are packets of no known type, and a packet that no port can take.
    let send = "import socket\n\
        out = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)\n\
        out.bind(('left', 0x88b5))\n\
        for data in [b'U', b'\\x15' * 40, b'\\xff' * 1400]: out.send(data)";
    ok(Command::new("python3").args(["-c", send]));
    let log = lab.log();
    let (_, rest) = log.split_once("metrics: http://").unwrap();
    let (metrics, _) = rest.split_once("/metrics").unwrap();
    until("they are counted", || {
        let (_, page) = get(metrics, "/metrics", "");
        page.contains("reason=\"packet_type\"} 3")
    });
    assert!(pings(&lab));
}
