//! OpenQFlow over real veth: pings, TCP and UDP by its rules, what dpctl and the trace tell, and a
//! port that is lost.
#![allow(clippy::unwrap_used)]

use bofuss_tests::{Lab, have, ip, until};

/// Table 0 has flows, 1 forwarding rules, 2 QoS rules; ARP has no flow.
const OPTIONS: [&str; 8] = [
    "--fail-mode",
    "secure",
    "--extension",
    "openqflow.table=0",
    "--extension",
    "openqflow.forwarding=1",
    "--extension",
    "openqflow.qos=2",
];
const RULES: [&str; 5] = [
    "table=0,priority=9,arp,actions=normal",
    "table=1,priority=5,ip,nw_dst=10.0.0.1,actions=qflow_forward(port=1)",
    "table=1,priority=5,ip,nw_dst=10.0.0.2,actions=qflow_forward(port=2,failover=3)",
    "table=1,priority=5,ip,nw_dst=10.0.0.3,actions=qflow_forward(port=3)",
    "table=2,priority=5,ip,nw_dst=10.0.0.2,actions=qflow_qos(weight=3)",
];

fn lab() -> Lab {
    let lab = Lab::new(3, &OPTIONS);
    RULES
        .iter()
        .for_each(|rule| _ = lab.asks(&["add-flow", rule]));
    lab
}

#[test]
fn hosts_speak_by_flows_that_tools_see() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let lab = lab();
    lab.all_ping();
    lab.tcp(1, 2, 8);
    lab.udp(2, 1);
    let flows = lab.asks(&["qflow_flows", "dst=10.0.0.2,ip_proto=6"]);
    let line = flows
        .lines()
        .find(|line| line.contains("src=10.0.0.1"))
        .unwrap();
    assert!(
        line.contains("out_port=2") && line.contains("weight=3"),
        "{flows}"
    );
    let aggregates = lab.asks(&["qflow_aggregates"]);
    assert_eq!(aggregates.matches("out_port=").count(), 3, "{aggregates}");
    lab.asks(&["qflow_key_mod", "set,key=1,ipv4_dst=/24"]);
    let keys = lab.asks(&["qflow_keys"]);
    assert!(keys.contains("set,key=1,ipv4_dst=255.255.255.0"), "{keys}");
    let wrong = lab.dpctl(&["qflow_key_mod", "delete,key=7"]);
    assert!(!wrong.status.success());
    let entries = lab.asks(&["dump-flows"]);
    assert!(
        entries.contains("qflow_forward(port=2,failover=3)"),
        "{entries}"
    );
}

#[test]
fn flows_follow_a_port_that_is_lost_and_return() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let lab = lab();
    lab.all_ping();
    let out = |lab: &Lab| {
        let flows = lab.asks(&["qflow_flows", "dst=10.0.0.2,src=10.0.0.1,ip_proto=1"]);
        let word = flows.split("out_port=").nth(1).unwrap_or("").to_string();
        word.split(',').next().unwrap_or("").to_string()
    };
    assert_eq!(out(&lab), "2");
    ip(&format!("link set {} down", lab.port(2)));
    until("the flow goes to port 3", || out(&lab) == "3");
    ip(&format!("link set {} up", lab.port(2)));
    until("the flow goes to port 2", || {
        lab.pings(1, 2) && out(&lab) == "2"
    });
}
