//! Super-frames and unfinished checksums of every kind that hosts leave to the switch, as
//! docs/reference/offloads.md lists them.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};

use bofuss_tests::{Lab, Process, address, have, ip, ok, run, until};

const TOOLS: &[&str] = &["ip", "ping", "python3"];

/// Sends traffic of a kind from h1 to `address` of h2, and checks that it arrives as it was sent.
fn carries(lab: &Lab, kind: &str, address: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("offloads.py");
    let python = |role: &str| {
        let mut command = Command::new("python3");
        command.arg(&script).args([kind, role, address]);
        command
    };
    let start = || Process::start(python("receive").stdout(Stdio::piped()));
    let mut receiver = lab.host(2, start);
    let mut line = String::new();
    BufReader::new(receiver.0.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "ready\n");
    lab.host(1, || ok(&mut python("send")));
    until("all has arrived", || {
        receiver.0.try_wait().unwrap().is_some()
    });
    assert!(receiver.0.wait().unwrap().success(), "{kind} to {address}");
}

/// Gives both hosts an IPv6 address: fd00::1 and fd00::2.
fn with_ipv6(lab: &Lab) {
    for host in [1, 2] {
        lab.host(host, || {
            for scope in ["all", "eth0"] {
                std::fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "0")
                    .unwrap();
            }
            ip(&format!("-6 address add fd00::{host}/64 dev eth0 nodad"));
        });
    }
}

/// Returns how many frames the switch counted on port 1, on a wire, and how many bytes.
fn received(lab: &Lab) -> (u64, u64) {
    let text = String::from_utf8(lab.dpctl(&["dump-ports", "1"]).stdout).unwrap();
    let number = |key: &str| {
        let rest = text.split(key).nth(1).unwrap();
        rest.split(|c: char| !c.is_ascii_digit())
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    (number("rx pkts="), number("bytes="))
}

#[test]
fn tcp_super_frames_are_carried_and_counted_as_segments() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &[]);
    lab.tcp(1, 2, 32);
    let (packets, bytes) = received(&lab);
    assert!(bytes > 32 << 20);
    assert!(
        bytes / packets <= 1514,
        "{bytes} bytes in {packets} packets: segments are counted"
    );
}

#[test]
fn udp_super_frames_arrive_as_their_datagrams() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &[]);
    assert!(lab.pings(1, 2));
    carries(&lab, "udp-gso", "10.0.0.2");
    assert!(received(&lab).0 >= 20, "each datagram is counted");
}

#[test]
fn ipv6_extension_headers_do_not_stop_tcp_and_udp() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &[]);
    with_ipv6(&lab);
    carries(&lab, "tcp6-options", "fd00::2");
    carries(&lab, "udp-gso", "fd00::2");
    carries(&lab, "udp6", "fd00::2");
}

#[test]
fn tcp_inside_vxlan_passes_when_the_hosts_segment_it() {
    if !have(&["ip", "ping", "ethtool"]) {
        return;
    }
    let lab = Lab::new(2, &[]);
    assert!(lab.pings(1, 2));
    for host in [1, 2u8] {
        lab.host(host, || {
            let peer = address(3 - host);
            ip(&format!(
                "link add tun9 type vxlan id 5 remote {peer} dstport 4789 dev eth0"
            ));
            ip(&format!("address add 10.9.0.{host}/24 dev tun9"));
            ip("link set tun9 mtu 1400 up");
        });
    }
    let inside = |host: u8| (host, Ipv4Addr::new(10, 9, 0, host));
    let pinged = lab.host(
        1,
        || run(Command::new("ping").args(["-c", "1", "10.9.0.2"])),
    );
    assert!(
        pinged.status.success(),
        "frames of one segment pass as they are"
    );
    for host in [1, 2] {
        let off = ["-K", "tun9", "tso", "off", "gso", "off"];
        lab.host(host, || ok(Command::new("ethtool").args(off)));
    }
    lab.tcp_between(inside(1), inside(2), 4);
}
