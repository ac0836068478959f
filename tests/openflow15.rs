//! OpenFlow 1.5 next to 1.3: tools and controllers that we did not write, and tshark.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use bofuss_tests::peers::{Ofctl, contains, joins_os_ken, joins_ovs, joins_ryu};
use bofuss_tests::{Capture, Lab, have, ip, ok, program, until};

/// The name that tshark has for the type of a message of 1.5.
const TYPE: &str = "openflow_v6.type";
const TOOLS: &[&str] = &["ip", "ping", "ovs-ofctl", "dumpcap", "tshark"];

/// `ovs-ofctl` in 1.5.
fn ofctl15(lab: &Lab) -> Ofctl<'_> {
    Ofctl {
        lab,
        version: "OpenFlow15",
    }
}

#[test]
fn flows_are_added_read_changed_and_deleted() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16761);
    let lab = Lab::new(2, &["--fail-mode", "secure", "--listen", "ptcp:16761"]);
    let tools = ofctl15(&lab);
    tools.told(
        "add-meter",
        &["meter=1,kbps,burst,band=type=drop,rate=1000,burst_size=100"],
    );
    for flow in [
        "priority=10,in_port=1,ip,nw_dst=10.0.0.0/8,actions=output:2",
        "priority=10,in_port=2,actions=output:1",
        "cookie=0x5,priority=9,importance=300,arp,actions=flood",
        "table=3,idle_timeout=60,send_flow_rem,tcp,tp_dst=80,actions=meter:1,in_port",
        "dl_vlan=7,ip,actions=pop_vlan,set_field:10.1.0.0/255.255.0.0->ip_src,\
         move:NXM_OF_IP_SRC[]->NXM_OF_IP_DST[],write_metadata:5,goto_table:3",
        "hard_timeout=70,mpls,mpls_label=9,actions=dec_mpls_ttl,pop_mpls:0x0800,dec_ttl,\
         set_queue:1,output:2",
        "ipv6,ipv6_dst=2001:db8::/32,icmp6,icmp_type=135,actions=write_actions(output:1)",
    ] {
        tools.told("add-flow", &[flow]);
    }
    // How long each is idle already depends on the machine.
    let entries = without_idle_ages(&tools.told("dump-flows", &[]));
    contains(
        &entries,
        &[
            "OFPST_FLOW reply (OF1.5)",
            "priority=10,ip,in_port=1,nw_dst=10.0.0.0/8 actions=output:2",
            "cookie=0x5",
            "importance=300, priority=9,arp actions=FLOOD",
            "idle_timeout=60, send_flow_rem tcp,tp_dst=80 actions=meter:1,IN_PORT",
            "ip,dl_vlan=7 actions=pop_vlan,set_field:10.1.0.0/16->ip_src,\
             move:NXM_OF_IP_SRC[]->NXM_OF_IP_DST[],write_metadata:0x5,goto_table:3",
            "icmp6,ipv6_dst=2001:db8::/32,icmp_type=135 actions=write_actions(output:1)",
        ],
    );
    tools.changes_and_deletes_flows(7, false);
    drop(lab);
    capture.is_well_formed_in(16761, TYPE);
}

/// Entries as `ovs-ofctl` prints them, without `idle_age=N, `.
fn without_idle_ages(entries: &str) -> String {
    let mut text = String::new();
    for (place, part) in entries.split("idle_age=").enumerate() {
        let after = part.split_once(", ").filter(|_| place > 0);
        text += after.map_or(part, |(_, rest)| rest);
    }
    text
}

#[test]
fn the_switch_its_ports_and_queues_are_described_and_changed() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16762);
    let options = ["--dpid", "0xabc", "--listen", "ptcp:16762"];
    let queue = ["--queue", "2:1:min=1G,max=2G"];
    let lab = Lab::new(2, &[&options[..], &queue].concat());
    let tools = ofctl15(&lab);
    let ports = [lab.port(1), lab.port(2)];
    contains(
        &tools.told("show", &[]),
        &[
            "OFPT_FEATURES_REPLY (OF1.5)",
            "dpid:0000000000000abc",
            "n_tables:64, n_buffers:256",
            "BUNDLES FLOW_MONITORING",
            "OFPST_PORT_DESC reply (OF1.5)",
            &ports[0],
            &ports[1],
            "10GB-FD",
            "miss_send_len=128",
        ],
    );
    contains(&tools.told("dump-desc", &[]), &["Manufacturer: bofuss"]);
    contains(&tools.told("dump-tables", &[]), &["table 0", "active=1"]);
    contains(&tools.told("dump-table-features", &[]), &["table 0"]);
    contains(&tools.told("dump-table-desc", &[]), &["eviction=off"]);
    contains(
        &tools.told("dump-ports", &[]),
        &["2 ports", "rx pkts=", "duration="],
    );
    contains(&tools.told("dump-ports-desc", &["2"]), &[&ports[1]]);
    contains(
        &tools.told("queue-stats", &["2", "1"]),
        &["1 queues", "port 2 queue 1:"],
    );
    contains(
        &tools.told("queue-get-config", &["2"]),
        &["queue 1: min_rate:10.0% max_rate:20.0%"],
    );
    tools.told("mod-port", &["1", "down"]);
    contains(&tools.told("show", &[]), &["PORT_DOWN", "LINK_DOWN"]);
    tools.told("mod-port", &["1", "up"]);
    until("the port forwards again", || lab.pings(1, 2));
    drop(lab);
    capture.is_well_formed_in(16762, TYPE);
}

#[test]
fn buckets_are_inserted_and_removed_by_their_ids() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16763);
    let lab = Lab::new(3, &["--fail-mode", "secure", "--listen", "ptcp:16763"]);
    let tools = ofctl15(&lab);
    let bucket = |id: u8, port: u8| format!("bucket=bucket_id:{id},actions=output:{port}");
    let of_ports = format!("group_id=9,type=all,{},{}", bucket(1, 1), bucket(3, 3));
    tools.told("add-group", &[&of_ports]);
    tools.told("add-flow", &["actions=group:9"]);
    assert!(lab.pings(1, 3) && !lab.pings(1, 2));
    let second = format!("group_id=9,command_bucket_id=1,{}", bucket(2, 2));
    tools.told("insert-buckets", &[&second]);
    lab.all_ping();
    contains(
        &tools.refused("insert-buckets", &[&second]),
        &["OFPGMFC_BUCKET_EXISTS", "INSERT_BUCKET"],
    );
    let three = format!("{},{},{}", bucket(1, 1), bucket(2, 2), bucket(3, 3));
    contains(&tools.told("dump-groups", &[]), &[&three]);
    contains(
        &tools.told("dump-group-stats", &[]),
        &["group_id=9,", "ref_count=1", "bucket2:packet_count="],
    );
    contains(&tools.told("dump-group-features", &[]), &["Types:  0xf"]);
    tools.told("remove-buckets", &["group_id=9,command_bucket_id=first"]);
    assert!(lab.pings(2, 3) && !lab.pings(1, 2));
    contains(
        &tools.refused("remove-buckets", &["group_id=9,command_bucket_id=7"]),
        &["OFPGMFC_UNKNOWN_BUCKET"],
    );
    tools.told("remove-buckets", &["group_id=9,command_bucket_id=all"]);
    assert!(!lab.pings(2, 3));
    drop(lab);
    capture.is_well_formed_in(16763, TYPE);
}

/// Two hosts reach each other by these flows, and a packet-out comes with them.
const PATH: &str = "flow add in_port=1,actions=meter:7,goto_table:1
flow add in_port=2,actions=output:1
flow add table=1,actions=meter:8,output:2
group add group_id=5,type=indirect,bucket=output:2
packet-out in_port=controller,packet=02000000000202000000000188b5,actions=group:5
";

#[test]
fn bundles_meters_and_packet_outs_do_what_they_say() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    let tools = ofctl15(&lab);
    let file = std::env::temp_dir().join(format!("bofuss-bundle15-{}", std::process::id()));
    let path = file.to_str().unwrap();
    std::fs::write(&file, PATH).unwrap();
    let refused = tools.refused("bundle", &[path]);
    contains(&refused, &["OFPBAC_BAD_METER", "OFPBFC_MSG_FAILED"]);
    assert_eq!(tools.entries(&[]), 0, "nothing of it is done");
    for meter in ["meter=7,pktps,burst,stats,band", "meter=8,kbps,burst,band"] {
        let meter = format!("{meter}=type=drop,rate=1000,burst_size=1000");
        tools.told("add-meter", &[&meter]);
    }
    tools.told("bundle", &[path]);
    std::fs::remove_file(&file).unwrap();
    contains(
        &tools.told("dump-group-stats", &[]),
        &["group_id=5,", "packet_count=1,byte_count=14"],
    );
    assert!(lab.pings(1, 2));
    contains(
        &tools.told("dump-flows", &["table=1"]),
        &["actions=meter:8,output:2"],
    );
    let measured = tools.told("meter-stats", &["meter=7"]);
    contains(&measured, &["meter:7 flow_count:1"]);
    assert!(!measured.contains("packet_in_count:0"), "{measured}");
    tools.told("mod-meter", &["meter=7,pktps,band=type=drop,rate=9"]);
    contains(&tools.told("dump-meters", &[]), &["type=drop rate=9"]);
    let (_monitor, printed) = tools.monitor();
    until("the monitor is connected", || {
        lab.log().contains("connected, OpenFlow 1.5")
    });
    let packet = "in_port=controller,tun_id=7,metadata=5,\
                  packet=02000000000202000000000188b5,actions=table";
    tools.told("add-flow", &["metadata=5,tun_id=7,actions=controller"]);
    until("the packet-out has its fields", || {
        tools.told("packet-out", &[packet]);
        printed().contains("metadata=0x5,in_port=CONTROLLER (via action)")
    });
    tools.told("del-meters", &[]);
    assert_eq!(tools.entries(&[]), 2, "entries go with their meters");
}

#[test]
fn the_ends_of_a_veth_pair_recirculate_to_each_other_while_both_are_ports() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    ip("link add round1 type veth peer name round2");
    let ctl = |words: &[&str]| {
        ok(Command::new(program("bofuss"))
            .args(["ctl", &lab.name])
            .args(words))
    };
    let shows = |port: &str| lab.asks(&["-O", "OpenFlow15", "dump-ports-desc", port]);
    ctl(&["add-port", "7=round1"]);
    assert!(!shows("7").contains("recirculates"));
    ctl(&["add-port", "8=round2"]);
    contains(&shows("7"), &["recirculates to: 8"]);
    contains(&shows("8"), &["recirculates to: 7"]);
    assert!(!shows("1").contains("recirculates"));
    // What host 1 sends has a second round through the tables, by which it reaches host 2.
    for flow in [
        "in_port=1,actions=output:7",
        "in_port=8,actions=output:2",
        "in_port=2,actions=output:1",
    ] {
        lab.asks(&["add-flow", flow]);
    }
    until("pings come through", || lab.pings(1, 2));
    ctl(&["del-port", "8"]);
    assert!(!shows("7").contains("recirculates"));
    ip("link delete round1");
}

#[test]
fn a_learning_switch_on_os_ken_joins_three_hosts() {
    if !have(TOOLS) {
        return;
    }
    let replies = [
        "ROLE 2 9",
        "TABLES 64 3",
        "METERS 15",
        "ASYNC 16",
        "BUCKETS [(3, 3)]",
        "ACTIONS ['OFPActionMeter', 'OFPActionMeter'] 0",
        "LISTED OFPFlowStatsReply 1",
        "AGGREGATE 2",
        "LISTED OFPFlowMonitorReply 1",
        "LISTED OFPBundleFeaturesStatsReply 1",
        "LISTED OFPControllerStatusStatsReply 1",
        "BUNDLE 4 1",
        "BUNDLE 4 5",
    ];
    joins_os_ken("1.5", 16764, Some(TYPE), "learning15.py", &replies);
}

#[test]
fn ryus_simple_switch_joins_three_hosts() {
    if !have(TOOLS) {
        return;
    }
    let log = joins_ryu("1.5", 16765, Some(TYPE), "ryu.app.simple_switch_15");
    assert!(!log.contains("BAD_"), "{log}");
}

#[test]
fn ovs_testcontroller_joins_three_hosts() {
    if !have(&[TOOLS, &["ovs-testcontroller"]].concat()) {
        return;
    }
    let log = joins_ovs("1.5", 16766, Some(TYPE));
    assert!(!log.contains("BAD_"), "{log}");
}
