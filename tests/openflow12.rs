//! OpenFlow 1.2 next to 1.3: tools and controllers that we did not write and that speak only 1.2.
//! tshark has no dissector for it, so these tools are the check.
#![allow(clippy::unwrap_used)]

use bofuss_tests::peers::{Ofctl, contains, joins_os_ken, joins_ovs, joins_ryu};
use bofuss_tests::{Lab, have, until};

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
    assert_eq!(tools.entries(&["cookie=0x5/-1"]), 1);
    assert_eq!(tools.entries(&["table=3"]), 1);
    assert_eq!(tools.entries(&["out_port=2"]), 2);
    contains(
        &tools.told("dump-aggregate", &["in_port=1"]),
        &["flow_count=1"],
    );
    assert!(lab.pings(1, 2), "ARP floods, IP follows its entries");
    tools.told("mod-flows", &["in_port=1,actions=drop"]);
    assert!(!lab.pings(1, 2), "the changed entry drops");
    let strict = "priority=10,in_port=1,ip,nw_dst=10.0.0.0/8,actions=2";
    tools.told("mod-flows", &["--strict", strict]);
    assert!(lab.pings(1, 2));
    tools.told("mod-flows", &["priority=3,in_port=3,actions=2"]);
    assert_eq!(tools.entries(&["in_port=3"]), 0, "a modify does not add");
    tools.told("del-flows", &["--strict", "priority=11,in_port=2"]);
    assert_eq!(tools.entries(&[]), 7, "strict means the priority, too");
    tools.told("del-flows", &["in_port=2"]);
    assert_eq!(tools.entries(&[]), 6);
    let both = "check_overlap,priority=10,in_port=1,actions=drop";
    contains(&tools.refused("add-flow", &[both]), &["OFPFMFC_OVERLAP"]);
    contains(
        &tools.refused("add-flow", &["in_port=1,actions=group:9"]),
        &["OFPBAC_BAD_OUT_GROUP"],
    );
    contains(
        &tools.refused("add-flow", &["table=200,actions=drop"]),
        &["OFPFMFC_BAD_TABLE_ID"],
    );
    tools.replaces_all_flows();
    tools.told("del-flows", &[]);
    assert_eq!(tools.entries(&[]), 0);
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
    contains(&tools.told("dump-desc", &[]), &["Manufacturer: bofuss"]);
    contains(
        &tools.told("dump-tables", &[]),
        &["table 0 (\"table0\"):", "active=1", "max_entries=1000000"],
    );
    contains(&tools.told("dump-ports", &[]), &["2 ports", "rx pkts="]);
    contains(&tools.told("dump-ports", &["1"]), &["1 ports"]);
    contains(&tools.run("dump-ports-desc", &[]).0, &["OFPBRC_BAD_STAT"]);
    contains(
        &tools.told("queue-stats", &["2", "1"]),
        &["1 queues", "port 2 queue 1:"],
    );
    contains(
        &tools.told("queue-get-config", &["2"]),
        &["queue 1: min_rate:10.0%"],
    );
    tools.told("ping", &[]);
    tools.told("probe", &[]);
    contains(
        &tools.told("benchmark", &["100", "50"]),
        &["Sending 50 packets", "packets/s"],
    );
    tools.told("set-frags", &["drop"]);
    contains(&tools.told("get-frags", &[]), &["drop"]);
    tools.told("set-frags", &["normal"]);
    tools.told("mod-table", &["3", "drop"]);
    tools.told("mod-port", &["1", "down"]);
    contains(&tools.told("show", &[]), &["PORT_DOWN", "LINK_DOWN"]);
    assert!(!lab.pings(1, 2));
    tools.told("mod-port", &["1", "up"]);
    until("the port forwards again", || lab.pings(1, 2));
}

#[test]
fn groups_are_added_read_changed_and_deleted() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(3, &["--fail-mode", "secure"]);
    let tools = ofctl12(&lab);
    for group in [
        "group_id=1,type=all,bucket=output:1,bucket=output:2,bucket=output:3",
        "group_id=2,type=select,bucket=weight:3,output:2,bucket=weight:1,output:3",
        "group_id=3,type=ff,bucket=watch_port:2,output:2,bucket=watch_port:3,output:3",
        "group_id=4,type=indirect,bucket=group:1",
    ] {
        tools.told("add-group", &[group]);
    }
    contains(
        &tools.told("dump-groups", &[]),
        &[
            "group_id=2,type=select,bucket=weight:3,actions=output:2",
            "group_id=3,type=ff,bucket=watch_port:2,actions=output:2",
            "group_id=4,type=indirect,bucket=actions=group:1",
        ],
    );
    tools.told("add-flow", &["actions=group:4"]);
    lab.all_ping();
    contains(
        &tools.told("dump-group-stats", &[]),
        &["group_id=4,", "ref_count=1", "bucket2:packet_count="],
    );
    contains(
        &tools.told("dump-group-features", &[]),
        &["Types:  0xf", "Capabilities:  0xf", "max_groups=0x10000"],
    );
    let changed = "group_id=1,type=indirect,bucket=output:2";
    tools.told("mod-group", &[changed]);
    contains(
        &tools.told("dump-groups", &[]),
        &["group_id=1,type=indirect"],
    );
    let again = "group_id=1,type=all";
    contains(&tools.refused("add-group", &[again]), &["GROUP_EXISTS"]);
    tools.told("del-groups", &[]);
    assert!(!tools.told("dump-groups", &[]).contains("group_id"));
    assert_eq!(tools.entries(&[]), 0, "the entry goes with its group");
}

#[test]
fn a_miss_goes_to_the_controllers_of_1_2_alone_while_1_3_is_served_too() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    let tools = ofctl12(&lab);
    let newer = lab.ofctl13();
    let _monitors = tools.alone_gets_a_miss("OFPT_PACKET_IN (OF1.2)");
    newer.told("add-meter", &["meter=1,kbps,band=type=drop,rate=1000000"]);
    newer.told("add-flow", &["arp,actions=meter:1,goto_table:1"]);
    newer.told("add-flow", &["table=1,arp,actions=flood"]);
    tools.told("add-flow", &["ip,actions=normal"]);
    until("entries of both make one pipeline", || lab.pings(1, 2));
    assert_eq!(tools.entries(&[]), 2, "1.2 has no words for the meter");
    assert_eq!(newer.entries(&[]), 3);
}

#[test]
fn a_learning_switch_on_os_ken_joins_three_hosts() {
    if !have(TOOLS) {
        return;
    }
    let said = joins_os_ken("1.2", 16684, None, "learning12.py");
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
    contains(&said, &replies);
    assert!(!said.contains("ERROR"), "{said}");
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
