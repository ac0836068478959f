//! OpenFlow 1.4 next to 1.3: tools and controllers that we did not write, and tshark.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use bofuss_tests::peers::{Ofctl, contains, joins_os_ken, joins_ovs, joins_ryu};
use bofuss_tests::{Capture, Lab, address, have, ip, run, until};

/// The name that tshark has for the type of a message of 1.4.
const TYPE: &str = "openflow_v5.type";
const TOOLS: &[&str] = &["ip", "ping", "ovs-ofctl", "dumpcap", "tshark"];

/// `ovs-ofctl` in 1.4.
fn ofctl14(lab: &Lab) -> Ofctl<'_> {
    Ofctl {
        lab,
        version: "OpenFlow14",
    }
}

#[test]
fn flows_are_added_read_changed_and_deleted() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16731);
    let lab = Lab::new(2, &["--fail-mode", "secure", "--listen", "ptcp:16731"]);
    let tools = ofctl14(&lab);
    for flow in [
        "priority=10,in_port=1,ip,nw_dst=10.0.0.0/8,actions=output:2",
        "priority=10,in_port=2,actions=output:1",
        "cookie=0x5,priority=9,importance=300,arp,actions=flood",
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
            "OFPST_FLOW reply (OF1.4)",
            "priority=10,ip,in_port=1,nw_dst=10.0.0.0/8 actions=output:2",
            "cookie=0x5",
            "importance=300, priority=9,arp actions=FLOOD",
            "idle_timeout=60, send_flow_rem tcp,tp_dst=80 actions=drop",
            "ip,dl_vlan=7 actions=pop_vlan,set_field:10.1.1.1->ip_src,write_metadata:0x5,\
             goto_table:3",
            "icmp6,ipv6_dst=2001:db8::/32,icmp_type=135 actions=write_actions(output:1)",
        ],
    );
    tools.changes_and_deletes_flows(7, false);
    drop(lab);
    capture.is_well_formed_in(16731, TYPE);
}

#[test]
fn the_switch_its_ports_and_queues_are_described_and_changed() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16732);
    let options = ["--dpid", "0xabc", "--listen", "ptcp:16732"];
    let queue = ["--queue", "2:1:min=1G,max=2G"];
    let lab = Lab::new(2, &[&options[..], &queue].concat());
    let tools = ofctl14(&lab);
    assert!(
        lab.pings(1, 2),
        "without controller the switch stands alone"
    );
    let ports = [lab.port(1), lab.port(2)];
    contains(
        &tools.told("show", &[]),
        &[
            "OFPT_FEATURES_REPLY (OF1.4)",
            "dpid:0000000000000abc",
            "n_tables:64, n_buffers:256",
            "OFPST_PORT_DESC reply (OF1.4)",
            &ports[0],
            &ports[1],
            "10GB-FD",
            "miss_send_len=128",
        ],
    );
    contains(&tools.told("dump-desc", &[]), &["Manufacturer: bofuss"]);
    contains(&tools.told("dump-tables", &[]), &["table 0", "active=1"]);
    contains(&tools.told("dump-table-features", &[]), &["table 0"]);
    contains(
        &tools.told("dump-ports", &[]),
        &["2 ports", "rx pkts=", "duration="],
    );
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
    capture.is_well_formed_in(16732, TYPE);
}

#[test]
fn groups_and_meters_are_added_read_changed_and_deleted() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(3, &["--fail-mode", "secure"]);
    let tools = ofctl14(&lab);
    tools.adds_groups();
    tools.deletes_groups();
    tools.told(
        "add-meter",
        &["meter=1,kbps,burst,band=type=drop,rate=1000,burst_size=100"],
    );
    contains(
        &tools.told("dump-meters", &[]),
        &["meter=1 kbps burst", "type=drop rate=1000 burst_size=100"],
    );
    tools.told("add-flow", &["send_flow_rem,actions=meter:1,output:2"]);
    tools.told("del-meters", &[]);
    assert_eq!(tools.entries(&[]), 0, "the entry goes with its meter");
}

#[test]
fn a_full_table_evicts_entries_and_says_how_full_it_is() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16733);
    let options = ["--fail-mode", "secure", "--listen", "ptcp:16733"];
    let lab = Lab::new(2, &[&options[..], &["--max-entries", "4"]].concat());
    let tools = ofctl14(&lab);
    let (monitor, printed) = tools.monitor();
    until("the monitor is connected", || {
        lab.log().contains("connected, OpenFlow 1.4")
    });
    tools.told("mod-table", &["0", "evict"]);
    tools.told("mod-table", &["0", "vacancy:30,60"]);
    contains(
        &tools.told("dump-table-desc", &[]),
        &[
            "eviction=on eviction_flags=IMPORTANCE|LIFETIME",
            "vacancy=on vacancy_down=30% vacancy_up=60% vacancy=100%",
        ],
    );
    for port in 1..=6 {
        let flow = format!("importance={port},send_flow_rem,in_port={port},actions=drop");
        tools.told("add-flow", &[&flow]);
    }
    assert_eq!(tools.entries(&[]), 4);
    let flows = tools.told("dump-flows", &[]);
    assert!(!flows.contains("importance=2,"), "{flows}");
    contains(&flows, &["importance=3,", "importance=6,"]);
    until("evictions and the vacancy are told", || {
        let said = printed();
        said.matches("reason=eviction").count() == 2 && said.contains("reason=VACANCY_DOWN")
    });
    tools.told("del-flows", &[]);
    until("the table is empty again", || {
        printed().contains("reason=VACANCY_UP")
    });
    tools.told("mod-table", &["0", "noevict"]);
    tools.told("mod-table", &["0", "novacancy"]);
    contains(
        &tools.told("dump-table-desc", &[]),
        &["eviction=off", "vacancy=off"],
    );
    drop((monitor, lab));
    capture.is_well_formed_in(16733, TYPE);
}

#[test]
fn a_learning_switch_on_os_ken_joins_three_hosts() {
    if !have(TOOLS) {
        return;
    }
    let replies = [
        "TABLES",
        "ROLE 2",
        "ASYNC 12",
        "CONFIGURED 5 4 1",
        "CONFIGURED 6 8 1",
        "LISTED OFPQueueDescStatsReply 0",
        "LISTED OFPPortDescStatsReply 3",
        "LISTED OFPPortStatsReply 3",
        "BUNDLE 4 1",
        "BUNDLE 4 5",
        "FILLS 3 6",
        "IMPORTANCE [7]",
    ];
    joins_os_ken("1.4", 16734, Some(TYPE), "learning14.py", &replies);
}

#[test]
fn ryus_simple_switch_joins_three_hosts() {
    if !have(TOOLS) {
        return;
    }
    let log = joins_ryu("1.4", 16735, Some(TYPE), "ryu.app.simple_switch_14");
    assert!(!log.contains("BAD_"), "{log}");
}

#[test]
fn ovs_testcontroller_joins_three_hosts() {
    if !have(&[TOOLS, &["ovs-testcontroller"]].concat()) {
        return;
    }
    let log = joins_ovs("1.4", 16736, Some(TYPE));
    assert!(!log.contains("BAD_"), "{log}");
}

#[test]
fn versions_that_are_not_offered_are_not_agreed_on() {
    if !have(&["ip", "ovs-ofctl"]) {
        return;
    }
    let lab = Lab::new(1, &["--versions", "1.1,1.2,1.4"]);
    // The highest of those that both offer, though neither's highest: by the bitmaps.
    for (version, agreed) in [
        ("OpenFlow11,OpenFlow12,OpenFlow13", Some("(OF1.2)")),
        ("OpenFlow11,OpenFlow14,OpenFlow15", Some("(OF1.4)")),
        ("OpenFlow10,OpenFlow11,OpenFlow15", Some("(OF1.1)")),
        ("OpenFlow10", None),
        ("OpenFlow13", None),
        ("OpenFlow13,OpenFlow15", None),
    ] {
        let tools = Ofctl { lab: &lab, version };
        let (text, success) = tools.run("dump-desc", &[]);
        assert_eq!(success, agreed.is_some(), "{version}: {text}");
        assert!(text.contains(agreed.unwrap_or("version")), "{text}");
    }
}

/// The address of hardware that an entry answers for.
const MAC: &str = "02:00:00:00:00:99";

#[test]
fn an_entry_of_ovs_ofctl_copies_fields_to_answer_arp_requests() {
    if !have(&["ip", "ping", "ovs-ofctl"]) {
        return;
    }
    let lab = Lab::new(1, &["--fail-mode", "secure"]);
    for (version, number) in [("OpenFlow13", 97), ("OpenFlow14", 98)] {
        let tools = Ofctl { lab: &lab, version };
        let asked = address(number);
        let flow = format!(
            "arp,arp_op=1,arp_tpa={asked},actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],\
             set_field:{MAC}->eth_src,set_field:2->arp_op,\
             move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],set_field:{MAC}->arp_sha,\
             move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:{asked}->arp_spa,in_port"
        );
        tools.told("add-flow", &[&flow]);
        contains(
            &tools.told("dump-flows", &[]),
            &["move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],"],
        );
        let masked = "priority=3,ip,nw_dst=10.8.0.0/16,actions=\
                      set_field:10.9.0.0/255.255.0.0->ip_dst,in_port";
        tools.told("add-flow", &[masked]);
        contains(
            &tools.told("dump-flows", &["ip,nw_dst=10.8.0.0/16"]),
            &["set_field:10.9.0.0/16->ip_dst,IN_PORT"],
        );
        until("the answer is known", || {
            lab.host(1, || {
                let mut ping = Command::new("ping");
                run(ping.args(["-c", "1", "-W", "1", &asked.to_string()]));
                ip(&format!("neigh show {asked}")).contains(MAC)
            })
        });
    }
}
