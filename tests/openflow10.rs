//! OpenFlow 1.0 next to 1.3: tools and controllers that we did not write and that speak only 1.0.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use bofuss_tests::peers::{Ofctl, contains, joins_os_ken, joins_ovs, joins_ryu};
use bofuss_tests::{Capture, Lab, have, printed, program, run, until};

/// The name that tshark has for the type of a message of 1.0.
const TYPE: &str = "openflow_1_0.type";
const TOOLS: &[&str] = &["ip", "ping", "ovs-ofctl", "dumpcap", "tshark"];

/// `ovs-ofctl` in 1.0.
fn ofctl10(lab: &Lab) -> Ofctl<'_> {
    Ofctl {
        lab,
        version: "OpenFlow10",
    }
}

#[test]
fn flows_are_added_read_changed_and_deleted() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16691);
    let lab = Lab::new(2, &["--fail-mode", "secure", "--listen", "ptcp:16691"]);
    let tools = ofctl10(&lab);
    for flow in [
        "priority=10,in_port=1,ip,nw_dst=10.0.0.0/8,actions=output:2",
        "priority=10,in_port=2,actions=output:1",
        "cookie=0x5,priority=9,arp,actions=flood",
        "idle_timeout=60,tcp,tp_dst=80,actions=drop",
        "hard_timeout=70,dl_vlan=7,dl_vlan_pcp=3,udp,tp_src=53,nw_tos=8,actions=strip_vlan,\
         mod_dl_src:02:00:00:00:00:09,mod_dl_dst:02:00:00:00:00:08,mod_nw_src:10.1.1.1,\
         mod_nw_dst:10.1.1.2,mod_nw_tos:32,mod_tp_src:4,mod_tp_dst:5,mod_vlan_vid:3,\
         mod_vlan_pcp:4,enqueue:1:1,LOCAL",
        "icmp,icmp_type=13,icmp_code=0,actions=NORMAL",
        "dl_vlan=0xffff,dl_type=0x88cc,actions=CONTROLLER:65535",
    ] {
        tools.told("add-flow", &[flow]);
    }
    contains(
        &tools.told("dump-flows", &[]),
        &[
            "priority=10,ip,in_port=1,nw_dst=10.0.0.0/8 actions=output:2",
            "cookie=0x5",
            "idle_timeout=60, tcp,tp_dst=80 actions=drop",
            "hard_timeout=70, udp,dl_vlan=7,dl_vlan_pcp=3,nw_tos=8,tp_src=53 actions=strip_vlan,\
             mod_dl_src:02:00:00:00:00:09,mod_dl_dst:02:00:00:00:00:08,mod_nw_src:10.1.1.1,\
             mod_nw_dst:10.1.1.2,mod_nw_tos:32,mod_tp_src:4,mod_tp_dst:5,mod_vlan_vid:3,\
             mod_vlan_pcp:4,enqueue:1:1,LOCAL",
            "icmp,icmp_type=13,icmp_code=0 actions=NORMAL",
            "vlan_tci=0x0000,dl_type=0x88cc actions=CONTROLLER:65535",
        ],
    );
    assert_eq!(tools.entries(&["out_port=2"]), 1);
    assert_eq!(tools.entries(&["ip"]), 4);
    contains(
        &tools.told("dump-aggregate", &["in_port=1"]),
        &["flow_count=1"],
    );
    assert!(lab.pings(1, 2), "ARP floods, IP follows its entries");
    tools.told("mod-flows", &["in_port=1,actions=drop"]);
    contains(&tools.told("dump-flows", &["in_port=1"]), &["actions=drop"]);
    assert!(!lab.pings(1, 2), "the changed entry drops");
    let strict = "priority=10,in_port=1,ip,nw_dst=10.0.0.0/8,actions=2";
    tools.told("mod-flows", &["--strict", strict]);
    assert!(lab.pings(1, 2));
    tools.told("mod-flows", &["priority=3,in_port=3,actions=2"]);
    assert_eq!(tools.entries(&["in_port=3"]), 1, "a modify of nothing adds");
    tools.told("del-flows", &["--strict", "priority=11,in_port=2"]);
    assert_eq!(tools.entries(&[]), 8, "strict means the priority, too");
    tools.told("del-flows", &["in_port=2"]);
    assert_eq!(tools.entries(&[]), 7);
    let both = "check_overlap,priority=10,in_port=1,actions=drop";
    contains(&tools.refused("add-flow", &[both]), &["OFPFMFC_OVERLAP"]);
    contains(
        &tools.refused("add-flow", &["actions=output:65280"]),
        &["OFPBAC_BAD_OUT_PORT"],
    );
    tools.replaces_all_flows();
    tools.told("del-flows", &[]);
    assert_eq!(tools.entries(&[]), 0);
    drop(lab);
    capture.is_well_formed_in(16691, TYPE);
}

#[test]
fn the_switch_its_ports_and_queues_are_described_and_changed() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16692);
    let lab = Lab::new(
        2,
        &[
            "--dpid",
            "0xabc",
            "--listen",
            "ptcp:16692",
            "--queue",
            "2:1:min=1G,max=2G",
        ],
    );
    let tools = ofctl10(&lab);
    assert!(
        lab.pings(1, 2),
        "without controller the switch stands alone"
    );
    contains(
        &tools.told("show", &[]),
        &[
            "dpid:0000000000000abc",
            "n_tables:64, n_buffers:256",
            "ARP_MATCH_IP",
            "enqueue set_vlan_vid",
            &lab.port(1),
            &lab.port(2),
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
        &tools.told("queue-stats", &[]),
        &["2 queues", "port 2 queue 0:", "port 2 queue 1:"],
    );
    contains(&tools.told("queue-stats", &["2", "1"]), &["1 queues"]);
    contains(
        &tools.told("queue-get-config", &["2"]),
        &["queue 1: min_rate:10.0%"],
    );
    contains(
        &tools.run("queue-get-config", &["9"]).0,
        &["OFPQOFC_BAD_PORT"],
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
    for bit in ["no-flood", "no-packet-in", "no-forward", "no-receive"] {
        tools.told("mod-port", &["1", bit]);
    }
    contains(
        &tools.told("show", &[]),
        &["config:     NO_RECV NO_FLOOD NO_FWD NO_PACKET_IN"],
    );
    for bit in ["flood", "packet-in", "forward", "receive", "down"] {
        tools.told("mod-port", &["1", bit]);
    }
    contains(&tools.told("show", &[]), &["PORT_DOWN", "LINK_DOWN"]);
    assert!(!lab.pings(1, 2));
    tools.told("mod-port", &["1", "up"]);
    until("the port forwards again", || lab.pings(1, 2));
    drop(lab);
    capture.is_well_formed_in(16692, TYPE);
}

#[test]
fn dpctl_speaks_1_0_if_an_option_says_so() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    let dpctl = |arguments: &[&str]| {
        let mut command = Command::new(program("dpctl"));
        command.args(["-O", "OpenFlow10", &lab.name]);
        let output = run(command.args(arguments));
        (printed(&output), output.status.success())
    };
    let told = |arguments: &[&str]| {
        let (text, success) = dpctl(arguments);
        assert!(success, "dpctl {arguments:?}: {text}");
        text
    };
    told(&[
        "add-flow",
        "priority=5,ip,nw_dst=10.0.0.0/8,actions=enqueue:2:1",
    ]);
    told(&["mod-flows", "arp,actions=flood"]);
    let flows = told(&["dump-flows"]);
    contains(&flows, &["priority=5", "nw_dst=10.0.0.0/8", "arp", "FLOOD"]);
    let entries = |text: &str| text.matches("actions=").count();
    assert_eq!(entries(&told(&["dump-flows", "arp"])), 1);
    contains(&told(&["dump-aggregate"]), &["flow_count=2"]);
    told(&["del-flows", "arp"]);
    assert_eq!(entries(&told(&["dump-flows"])), 1);
    contains(&told(&["show"]), &[&lab.port(1), &lab.port(2), "frags="]);
    for verb in ["dump-desc", "dump-tables", "dump-ports", "ping"] {
        told(&[verb]);
    }
    let (text, success) = dpctl(&["dump-groups"]);
    assert!(!success);
    contains(&text, &["this OpenFlow version cannot say GROUP_DESC"]);
    until("the log says so", || {
        lab.log().contains("connected, OpenFlow 1.0")
    });
}

#[test]
fn both_versions_are_served_at_once_and_a_miss_is_decided_per_connection() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure", "--listen", "ptcp:16693"]);
    let tools = ofctl10(&lab);
    let newer = lab.ofctl13();
    let _monitors = tools.alone_gets_a_miss("OFPT_PACKET_IN");
    let packet =
        "ffffffffffff0200000000090806000108000604000102000000000a0a00000900000000000a0a000001";
    let before = tools.told("dump-ports", &["2"]);
    tools.told("packet-out", &["none", "output:2", packet]);
    until("a packet goes out", || {
        tools.told("dump-ports", &["2"]) != before
    });
    newer.told("add-flow", &["arp,actions=goto_table:1"]);
    newer.told("add-flow", &["table=1,arp,actions=flood"]);
    tools.told("add-flow", &["ip,actions=normal"]);
    until("entries of both make one pipeline", || lab.pings(1, 2));
    assert_eq!(tools.entries(&[]), 2, "the goto is not told to 1.0");
    assert_eq!(newer.entries(&[]), 3);
}

#[test]
fn a_learning_switch_on_os_ken_joins_three_hosts() {
    if !have(TOOLS) {
        return;
    }
    let replies = [
        "PORTS 3",
        "OFPGetConfigReply",
        "OFPDescStatsReply",
        "OFPTableStatsReply",
        "OFPPortStatsReply",
        "OFPQueueStatsReply",
        "OFPQueueGetConfigReply",
        "OFPFlowStatsReply",
        "OFPAggregateStatsReply",
        "ROLE 1",
        "OFPBarrierReply",
    ];
    joins_os_ken("1.0", 16694, Some(TYPE), "learning10.py", &replies);
}

#[test]
fn ryus_simple_switch_joins_three_hosts() {
    if !have(TOOLS) {
        return;
    }
    let log = joins_ryu("1.0", 16695, Some(TYPE), "ryu.app.simple_switch");
    assert!(!log.contains("BAD_"), "{log}");
}

#[test]
fn ovs_testcontroller_joins_three_hosts() {
    if !have(&[TOOLS, &["ovs-testcontroller"]].concat()) {
        return;
    }
    let log = joins_ovs("1.0", 16696, Some(TYPE));
    assert!(!log.contains("BAD_"), "{log}");
}
