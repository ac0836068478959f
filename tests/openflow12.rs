//! OpenFlow 1.2 next to 1.3: tools and controllers that we did not write and that speak only 1.2.
//! These tools are the check: see `misread.rs`.
#![allow(clippy::unwrap_used)]

use bofuss_tests::peers::{Ofctl, contains, joins_os_ken, joins_ovs, joins_ryu};
use bofuss_tests::{Lab, have};

const TOOLS: &[&str] = &["ip", "ping", "ovs-ofctl"];

/// `ovs-ofctl` in 1.2.
fn ofctl12(lab: &Lab) -> Ofctl<'_> {
    Ofctl {
        lab,
        version: "OpenFlow12",
    }
}

#[test]
fn flows_are_added_read_changed_and_deleted() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    let tools = ofctl12(&lab);
    for flow in [
        "priority=10,in_port=1,ip,nw_dst=10.0.0.0/8,actions=output:2",
        "priority=10,in_port=2,actions=output:1",
        "cookie=0x5,priority=9,arp,actions=flood",
        "table=3,idle_timeout=60,send_flow_rem,tcp,tp_dst=80,actions=drop",
        "dl_vlan=7,ip,actions=pop_vlan,set_field:10.1.1.1->ip_src,write_metadata:5,goto_table:3",
        "hard_timeout=70,mpls,mpls_label=9,actions=dec_mpls_ttl,pop_mpls:0x0800,dec_ttl,\
         set_queue:1,output:2",
        "ipv6,ipv6_dst=2001:db8::/32,icmp6,icmp_type=135,actions=write_actions(output:1)",
    ] {
        tools.told("add-flow", &[flow]);
    }
    contains(
        &tools.told("dump-flows", &[]),
        &[
            "priority=10,ip,in_port=1,nw_dst=10.0.0.0/8 actions=output:2",
            "cookie=0x5",
            "table=3",
            "idle_timeout=60, tcp,tp_dst=80 actions=drop",
            "ip,dl_vlan=7 actions=pop_vlan,set_field:10.1.1.1->ip_src,write_metadata:0x5,\
             goto_table:3",
            "hard_timeout=70, mpls,mpls_label=9 actions=dec_mpls_ttl,pop_mpls:0x0800,dec_ttl,\
             set_queue:1,output:2",
            "icmp6,ipv6_dst=2001:db8::/32,icmp_type=135 actions=write_actions(output:1)",
        ],
    );
    tools.changes_and_deletes_flows(7, false);
}

#[test]
fn the_switch_its_ports_and_queues_are_described_and_changed() {
    if !have(TOOLS) {
        return;
    }
    let queue = ["--queue", "2:1:min=1G,max=2G"];
    let lab = Lab::new(2, &[&["--dpid", "0xabc"], &queue[..]].concat());
    let tools = ofctl12(&lab);
    assert!(
        lab.pings(1, 2),
        "without controller the switch stands alone"
    );
    let ports = [lab.port(1), lab.port(2)];
    contains(
        &tools.told("show", &[]),
        &[
            "OFPT_FEATURES_REPLY (OF1.2)",
            "dpid:0000000000000abc",
            "n_tables:64, n_buffers:256",
            "GROUP_STATS",
            &ports[0],
            &ports[1],
            "10GB-FD",
            "miss_send_len=128",
        ],
    );
    tools.describes_and_changes();
}

#[test]
fn groups_are_added_read_changed_and_deleted() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(3, &["--fail-mode", "secure"]);
    let tools = ofctl12(&lab);
    tools.adds_groups();
    contains(
        &tools.told("dump-group-features", &[]),
        &["Types:  0xf", "Capabilities:  0xf", "max_groups=0x10000"],
    );
    tools.deletes_groups();
}

#[test]
fn a_miss_goes_to_the_controllers_of_1_2_alone_while_1_3_is_served_too() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    let tools = ofctl12(&lab);
    let _monitors = tools.alone_gets_a_miss("OFPT_PACKET_IN (OF1.2)");
    tools.has_no_words_for_meters();
}

#[test]
fn a_learning_switch_on_os_ken_joins_three_hosts() {
    if !have(TOOLS) {
        return;
    }
    let replies = [
        "PORTS 3",
        "OFPGetConfigReply",
        "OFPQueueGetConfigReply",
        "ROLE 2",
        "OFPBarrierReply",
        "STATS 0 1",
        "STATS 1 1",
        "STATS 2 1",
        "STATS 3 64",
        "STATS 4 3",
        "STATS 5 0",
        "STATS 6 1",
        "STATS 7 1",
        "STATS 8 1",
    ];
    joins_os_ken("1.2", 16684, None, "learning12.py", &replies);
}

#[test]
fn ryus_simple_switch_joins_three_hosts() {
    if !have(TOOLS) {
        return;
    }
    let log = joins_ryu("1.2", 16685, None, "ryu.app.simple_switch_12");
    assert!(!log.contains("BAD_"), "{log}");
}

#[test]
fn ovs_testcontroller_joins_three_hosts() {
    if !have(&[TOOLS, &["ovs-testcontroller"]].concat()) {
        return;
    }
    let log = joins_ovs("1.2", 16686, None);
    assert!(!log.contains("BAD_"), "{log}");
}
