//! OpenFlow 1.1 next to 1.3: tools and a controller that we did not write, which speak only that.
//! That these tools find nothing wrong is the check: see `misread.rs`.
#![allow(clippy::unwrap_used)]

use bofuss_tests::peers::{Ofctl, contains, joins_ovs};
use bofuss_tests::{Lab, have};

const TOOLS: &[&str] = &["ip", "ping", "ovs-ofctl"];

/// `ovs-ofctl` in 1.1.
fn ofctl11(lab: &Lab) -> Ofctl<'_> {
    Ofctl {
        lab,
        version: "OpenFlow11",
    }
}

#[test]
fn flows_are_added_read_changed_and_deleted() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    let tools = ofctl11(&lab);
    for flow in [
        "priority=10,in_port=1,ip,nw_dst=10.0.0.0/8,actions=output:2",
        "priority=10,in_port=2,actions=output:1",
        "cookie=0x5,priority=9,arp,actions=flood",
        "table=3,idle_timeout=60,send_flow_rem,tcp,tp_dst=80,actions=mod_tp_dst:81,output:1",
        "dl_vlan=7,ip,actions=set_vlan_vid:8,set_vlan_pcp:3,pop_vlan,mod_dl_dst:02:00:00:00:00:09,\
         mod_nw_src:10.1.1.1,mod_nw_tos:184,mod_nw_ecn:1,write_metadata:5,goto_table:3",
        "hard_timeout=70,mpls,mpls_label=9,actions=set_mpls_label:10,set_mpls_tc:4,dec_mpls_ttl,\
         pop_mpls:0x0800,dec_ttl,set_queue:1,output:2",
        "priority=1,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00,actions=write_actions(output:1)",
        "table=1,metadata=0x5/0xf,icmp,icmp_type=8,actions=clear_actions",
    ] {
        tools.told("add-flow", &[flow]);
    }
    contains(
        &tools.told("dump-flows", &[]),
        &[
            "priority=10,ip,in_port=1,nw_dst=10.0.0.0/8 actions=output:2",
            "cookie=0x5",
            "table=3",
            "idle_timeout=60, tcp,tp_dst=80 actions=mod_tp_dst:81,output:1",
            "ip,dl_vlan=7 actions=set_vlan_vid:8,set_vlan_pcp:3,pop_vlan,\
             mod_dl_dst:02:00:00:00:00:09,mod_nw_src:10.1.1.1,mod_nw_tos:184,mod_nw_ecn:1,\
             write_metadata:0x5,goto_table:3",
            "hard_timeout=70, mpls,mpls_label=9 actions=set_mpls_label(10),set_mpls_tc(4),\
             dec_mpls_ttl,pop_mpls:0x0800,dec_ttl,set_queue:1,output:2",
            "priority=1,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00 actions=write_actions(output:1)",
            "icmp,metadata=0x5/0xf,icmp_type=8 actions=clear_actions",
        ],
    );
    tools.changes_and_deletes_flows(8, true);
}

#[test]
fn the_switch_its_ports_and_queues_are_described_and_changed() {
    if !have(TOOLS) {
        return;
    }
    let queue = ["--queue", "2:1:min=1G,max=2G"];
    let lab = Lab::new(2, &[&["--dpid", "0xabc"], &queue[..]].concat());
    let tools = ofctl11(&lab);
    assert!(
        lab.pings(1, 2),
        "without controller the switch stands alone"
    );
    let ports = [lab.port(1), lab.port(2)];
    contains(
        &tools.told("show", &[]),
        &[
            "OFPT_FEATURES_REPLY (OF1.1)",
            "dpid:0000000000000abc",
            "n_tables:64, n_buffers:256",
            "GROUP_STATS",
            "ARP_MATCH_IP",
            &ports[0],
            &ports[1],
            "10GB-FD",
            "miss_send_len=128",
        ],
    );
    contains(
        &tools.told("dump-tables", &[]),
        &["mod_nw_tos", "mpls_label"],
    );
    tools.describes_and_changes();
}

#[test]
fn groups_are_added_read_changed_and_deleted() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(3, &["--fail-mode", "secure"]);
    let tools = ofctl11(&lab);
    tools.adds_groups();
    let sets_port = "group_id=5,type=indirect,bucket=mod_tp_dst:53,output:1";
    tools.told("add-group", &[sets_port]);
    contains(
        &tools.told("dump-groups", &[]),
        &["group_id=5,type=indirect,bucket=actions=mod_tp_dst:53,output:1"],
    );
    tools.deletes_groups();
}

#[test]
fn a_miss_goes_to_the_controllers_of_1_1_alone_while_1_3_is_served_too() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    let tools = ofctl11(&lab);
    let _monitors = tools.alone_gets_a_miss("OFPT_PACKET_IN (OF1.1)");
    tools.has_no_words_for_meters();
}

#[test]
fn ovs_testcontroller_joins_three_hosts() {
    if !have(&[TOOLS, &["ovs-testcontroller"]].concat()) {
        return;
    }
    let log = joins_ovs("1.1", 16687, None);
    assert!(!log.contains("BAD_"), "{log}");
}
