//! Ports whose frames others receive as well, beside accelerated ones.
#![allow(clippy::unwrap_used)]

use bofuss_frame::Pool;
use bofuss_ports::AfPacket;
use bofuss_tests::{Lab, ip, until};

use crate::{Tap, below, both, datagram, options, send_slowly, standing, without_times};

/// A switch with hosts 2 and 3, whose port 1 has an address of this host, and what is behind that.
fn taken_over(number: u32, when: &str) -> (Lab, Tap) {
    let [here, there] = ["a", "b"].map(|end| format!("taken{number}{end}"));
    ip(&format!("link add {here} type veth peer name {there}"));
    for name in [&here, &there] {
        let setting = format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6");
        let _ = std::fs::write(setting, "1");
        ip(&format!("link set {name} up"));
    }
    ip(&format!("address add 10.78.{number}.1/24 dev {here}"));
    let arguments = [
        "--fail-mode",
        "secure",
        "--take-over",
        "--accelerate",
        when,
        "--port",
        &here,
    ];
    let lab = Lab::with_hosts(2..=3, &arguments);
    let tap = Tap {
        port: AfPacket::open(&there, options()).unwrap(),
        pool: Pool::new(64 << 20),
        frames: Vec::new(),
    };
    (lab, tap)
}

#[test]
fn a_port_with_an_address_of_the_host_is_served_as_by_the_switch_alone() {
    if both(&[]).is_none() {
        return;
    }
    let [with, without] = [(1, "on"), (2, "off")].map(|(number, when)| {
        let (lab, mut one) = taken_over(number, when);
        for flow in [
            "priority=40000,in_port=1,udp,dl_vlan=7,actions=output:2,output:3",
            "in_port=1,udp,actions=output:2",
            "priority=40000,in_port=2,udp,dl_vlan=7,actions=output:1,output:3",
            "in_port=2,udp,actions=output:3",
            "priority=40000,in_port=3,udp,dl_vlan=7,actions=dec_ttl,output:1",
            "in_port=3,udp,actions=output:2",
        ] {
            lab.asks(&["add-flow", flow]);
        }
        let [mut two, mut three] = [2, 3].map(|host| Tap::of(&lab, host));
        let frames: Vec<_> = (0..400)
            .map(|n| datagram(n, [None, Some(7)][n as usize % 2], 60))
            .collect();
        for tap in [&mut one, &mut two, &mut three] {
            send_slowly(tap, &frames);
        }
        one.waits_for(400);
        two.waits_for(600);
        three.waits_for(600);
        if when == "on" {
            let text = standing(&lab);
            assert!(text.contains("port 1 off: the host's stack"), "{text}");
            assert!(text.contains("port 2 on"), "{text}");
            assert!(below(&lab) > 250, "{text}");
        }
        let mut frames = [one, two, three].map(|tap| tap.frames);
        frames.iter_mut().for_each(|list| list.sort());
        let entries = without_times(&lab.asks(&["dump-flows"]));
        drop(lab);
        ip(&format!("link delete taken{number}a"));
        (frames, entries)
    });
    assert_eq!(with.1, without.1);
    assert!(with.0 == without.0, "bytes differ");
}

#[test]
fn a_port_whose_frames_another_interface_receives_is_not_accelerated() {
    let Some([lab, _]) = both(&[]) else { return };
    let port = lab.port(1);
    ip(&format!("link add upon1 link {port} type macvlan"));
    ip("link add upon2 type bridge");
    for (change, wanted) in [
        ("upon1 up", "port 1 off: an interface lies upon it"),
        ("upon1 down", "port 1 on"),
        ("upon1 up", "port 1 off: an interface lies upon it"),
    ] {
        ip(&format!("link set {change}"));
        until(wanted, || standing(&lab).contains(wanted));
    }
    ip("link delete upon1");
    until("it is alone", || standing(&lab).contains("port 1 on"));
    for (change, wanted) in [
        ("master upon2", "port 1 off: it has got a master"),
        ("nomaster", "port 1 on"),
    ] {
        ip(&format!("link set {port} {change}"));
        until(wanted, || standing(&lab).contains(wanted));
    }
    ip("link delete upon2");
}
