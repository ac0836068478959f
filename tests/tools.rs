//! ovs-ofctl, a client that we did not write: each verb's reply is right.
#![allow(clippy::unwrap_used)]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use bofuss_tests::peers::contains;
use bofuss_tests::{Capture, Lab, PATIENCE, address, have, run, until};

const TOOLS: &[&str] = &["ip", "ping", "ovs-ofctl", "dumpcap", "tshark"];

/// Returns what a verb prints. Panics: if it fails.
fn ofctl(lab: &Lab, verb: &str, arguments: &[&str]) -> String {
    lab.ofctl13().told(verb, arguments)
}

#[test]
fn flows_are_added_read_changed_and_deleted() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16661);
    let lab = Lab::new(2, &["--fail-mode", "secure", "--listen", "ptcp:16661"]);
    let dump = |filter: &[&str]| ofctl(&lab, "dump-flows", filter);
    ofctl(
        &lab,
        "add-flow",
        &["priority=10,in_port=1,ip,nw_dst=10.0.0.0/8,actions=output:2"],
    );
    ofctl(
        &lab,
        "add-flow",
        &["priority=10,in_port=2,actions=output:1"],
    );
    ofctl(
        &lab,
        "add-flow",
        &["cookie=0x5,priority=9,arp,actions=flood"],
    );
    ofctl(
        &lab,
        "add-flow",
        &["table=3,idle_timeout=60,send_flow_rem,tcp,tp_dst=80,actions=drop"],
    );
    ofctl(
        &lab,
        "add-flow",
        &["dl_vlan=7,ip,actions=pop_vlan,set_field:10.1.1.1->ip_src,write_metadata:5,goto_table:3"]
            [..],
    );
    contains(
        &dump(&[]),
        &[
            "priority=10,ip,in_port=1,nw_dst=10.0.0.0/8 actions=output:2",
            "cookie=0x5",
            "table=3",
            "idle_timeout=60",
            "send_flow_rem",
            "tp_dst=80",
        ],
    );
    assert_eq!(dump(&["cookie=0x5/-1"]).matches("cookie=").count(), 1);
    assert_eq!(dump(&["table=3"]).matches("cookie=").count(), 1);
    assert_eq!(dump(&["out_port=2"]).matches("cookie=").count(), 1);
    assert!(lab.pings(1, 2), "ARP floods, IP follows its entries");
    contains(
        &ofctl(&lab, "dump-aggregate", &["in_port=1"]),
        &["flow_count=1"],
    );
    ofctl(&lab, "mod-flows", &["in_port=1,actions=drop"]);
    contains(&dump(&["in_port=1"]), &["actions=drop"]);
    assert!(!lab.pings(1, 2), "the changed entry drops");
    ofctl(
        &lab,
        "mod-flows",
        &[
            "--strict",
            "priority=10,in_port=1,ip,nw_dst=10.0.0.0/8,actions=2",
        ],
    );
    assert!(lab.pings(1, 2));
    ofctl(&lab, "del-flows", &["--strict", "priority=11,in_port=2"]);
    assert_eq!(
        dump(&[]).matches("cookie=").count(),
        5,
        "strict means the priority, too"
    );
    ofctl(&lab, "del-flows", &["in_port=2"]);
    assert_eq!(dump(&[]).matches("cookie=").count(), 4);
    ofctl(&lab, "del-flows", &[]);
    assert_eq!(dump(&[]).matches("cookie=").count(), 0);
    let (text, success) = lab.ofctl("add-flow", &["in_port=1,actions=group:9"]);
    assert!(!success, "{text}");
    contains(&text, &["OFPBAC_BAD_OUT_GROUP"]);
    capture.is_well_formed(16661);
}

#[test]
fn tcp_flags_tell_the_segments_of_a_connection_apart() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    let [syn, syn_ack] = [
        "in_port=1,tcp_flags=+syn-ack",
        "in_port=2,tcp_flags=+syn+ack",
    ];
    let others = [
        "in_port=1,tcp_flags=-syn+ack",
        "in_port=2,tcp_flags=-syn+ack",
    ];
    ofctl(&lab, "add-flow", &["priority=1,arp,actions=flood"]);
    for (segments, port) in [(syn, 2), (syn_ack, 1), (others[0], 2), (others[1], 1)] {
        let flow = format!("priority=9,tcp,{segments},actions=output:{port}");
        ofctl(&lab, "add-flow", &[&flow]);
    }
    lab.tcp(1, 2, 1);
    let told = ofctl(&lab, "dump-flows", &["tcp"]);
    for segments in [syn, syn_ack, others[0], others[1]] {
        let line = told.lines().find(|line| line.contains(segments));
        let line = line.unwrap_or_else(|| panic!("{segments}: {told}"));
        assert!(!line.contains("n_packets=0,"), "{line}");
    }
    let drop = format!("priority=9,tcp,{syn},actions=drop");
    ofctl(&lab, "mod-flows", &["--strict", &drop]);
    let target = (address(2), 9).into();
    let patience = Duration::from_millis(300);
    let connected = lab.host(1, || TcpStream::connect_timeout(&target, patience));
    let kind = connected.map_err(|error| error.kind()).err();
    assert_eq!(
        kind,
        Some(ErrorKind::TimedOut),
        "its first segment is dropped"
    );
}

#[test]
fn the_switch_and_its_ports_are_described_and_changed() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16655);
    let lab = Lab::new(2, &["--dpid", "0xabc", "--listen", "ptcp:16655"]);
    assert!(
        lab.pings(1, 2),
        "without controller the switch stands alone"
    );
    contains(
        &ofctl(&lab, "show", &[]),
        &["dpid:0000000000000abc", "n_tables:64", "10GB-FD"],
    );
    contains(&ofctl(&lab, "dump-desc", &[]), &["Manufacturer: bofuss"]);
    contains(&ofctl(&lab, "dump-tables", &[]), &["table 0:", "active=1"]);
    contains(
        &ofctl(&lab, "dump-table-features", &[]),
        &["table 0", "max_entries=1000000"],
    );
    contains(&ofctl(&lab, "dump-ports", &[]), &["2 ports", "rx pkts="]);
    contains(&ofctl(&lab, "dump-ports", &["1"]), &["1 ports"]);
    contains(
        &ofctl(&lab, "dump-ports-desc", &[]),
        &[&lab.port(1), &lab.port(2), "LIVE"],
    );
    contains(&ofctl(&lab, "dump-group-features", &[]), &["Group table"]);
    contains(&ofctl(&lab, "meter-features", &[]), &["max_meter:65536"]);
    contains(
        &ofctl(&lab, "dump-flows", &[]),
        &["priority=0 actions=NORMAL"],
    );
    ofctl(&lab, "ping", &[]);
    ofctl(&lab, "set-frags", &["drop"]);
    contains(&ofctl(&lab, "get-frags", &[]), &["drop"]);
    ofctl(&lab, "set-frags", &["normal"]);
    ofctl(&lab, "mod-port", &["1", "down"]);
    contains(&ofctl(&lab, "dump-ports-desc", &["1"]), &["PORT_DOWN"]);
    assert!(!lab.pings(1, 2));
    ofctl(&lab, "mod-port", &["1", "up"]);
    until("the port forwards again", || lab.pings(1, 2));
    capture.is_well_formed(16655);
}

#[test]
fn packets_go_out_and_come_in() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16662);
    let lab = Lab::new(2, &["--fail-mode", "secure", "--listen", "ptcp:16662"]);
    let (_monitor, monitored) = lab.ofctl13().monitor();
    ofctl(&lab, "add-flow", &["priority=0,actions=CONTROLLER:65535"]);
    until("a packet comes in", || {
        lab.pings(1, 2);
        monitored().contains("OFPT_PACKET_IN")
    });
    contains(&monitored(), &["in_port=1", "arp_tpa=10.0.0.2"]);
    let packet =
        "ffffffffffff0200000000090806000108000604000102000000000a0a00000900000000000a0a000001";
    let before = ofctl(&lab, "dump-ports", &["2"]);
    ofctl(
        &lab,
        "packet-out",
        &[&format!(
            "in_port=controller packet={packet} actions=output:2"
        )],
    );
    until("a packet goes out", || {
        ofctl(&lab, "dump-ports", &["2"]) != before
    });
    capture.is_well_formed(16662);
}

#[test]
fn flows_come_from_files_and_are_compared_and_replaced() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16663);
    let lab = Lab::new(2, &["--fail-mode", "secure", "--listen", "ptcp:16663"]);
    let file = |name: &str, flows: &str| {
        let name = format!("bofuss-{name}-{}.flows", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, flows).unwrap();
        path
    };
    let first = file(
        "first",
        "priority=5,in_port=1,actions=2\npriority=5,in_port=2,actions=1\n",
    );
    let second = file(
        "second",
        "priority=5,in_port=1,actions=2\npriority=6,arp,actions=drop\n",
    );
    let [first, second] = [&first, &second].map(|path| path.to_str().unwrap());
    ofctl(&lab, "add-flows", &[first]);
    assert!(lab.pings(1, 2));
    contains(&ofctl(&lab, "diff-flows", &[first]), &[]);
    let (difference, same) = lab.ofctl("diff-flows", &[second]);
    assert!(!same);
    contains(&difference, &["-priority=5,in_port=2", "+priority=6,arp"]);
    ofctl(&lab, "replace-flows", &[second]);
    contains(&ofctl(&lab, "diff-flows", &[second]), &[]);
    let dump = ofctl(&lab, "dump-flows", &["--sort=priority"]);
    assert_eq!(dump.matches("cookie=").count(), 2, "{dump}");
    ofctl(&lab, "probe", &[]);
    contains(&ofctl(&lab, "benchmark", &["100", "200"]), &["packets/s"]);
    for path in [first, second] {
        std::fs::remove_file(path).unwrap();
    }
    capture.is_well_formed(16663);
}

#[test]
fn groups_are_added_read_changed_and_deleted() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16664);
    let lab = Lab::new(3, &["--fail-mode", "secure", "--listen", "ptcp:16664"]);
    let dump = |verb: &str| ofctl(&lab, verb, &[]);
    ofctl(
        &lab,
        "add-group",
        &["group_id=1,type=all,bucket=output:1,bucket=output:2,bucket=output:3"],
    );
    ofctl(
        &lab,
        "add-group",
        &["group_id=2,type=select,bucket=weight:3,output:2,bucket=weight:1,output:3"],
    );
    ofctl(
        &lab,
        "add-group",
        &["group_id=3,type=ff,bucket=watch_port:2,output:2,bucket=watch_port:3,output:3"],
    );
    ofctl(
        &lab,
        "add-group",
        &["group_id=4,type=indirect,bucket=group:1"],
    );
    contains(
        &dump("dump-groups"),
        &[
            "group_id=1,type=all,bucket=actions=output:1,bucket=actions=output:2",
            "group_id=2,type=select,bucket=weight:3,actions=output:2",
            "group_id=3,type=ff,bucket=watch_port:2,actions=output:2",
            "group_id=4,type=indirect,bucket=actions=group:1",
        ],
    );
    ofctl(&lab, "add-flow", &["actions=group:4"]);
    lab.all_ping();
    contains(
        &dump("dump-group-stats"),
        &["group_id=4,", "ref_count=1", "bucket2:packet_count="],
    );
    contains(
        &dump("dump-group-features"),
        &["Types:  0xf", "Capabilities:  0xf", "max_groups=0x10000"],
    );
    ofctl(&lab, "mod-flows", &["actions=drop"]);
    ofctl(
        &lab,
        "mod-group",
        &["group_id=1,type=indirect,bucket=output:2"],
    );
    contains(&dump("dump-groups"), &["group_id=1,type=indirect"]);
    ofctl(
        &lab,
        "mod-group",
        &["--may-create", "group_id=9,type=all,bucket=output:2"],
    );
    contains(&dump("dump-groups"), &["group_id=9"]);
    for (group, error) in [
        ("group_id=1,type=all", "GROUP_EXISTS"),
        ("group_id=8,type=all,bucket=group:77", "BAD_OUT_GROUP"),
        (
            "group_id=8,type=ff,bucket=watch_port:99,output:1",
            "BAD_WATCH",
        ),
    ] {
        let (text, success) = lab.ofctl("add-group", &[group]);
        assert!(!success && text.contains(error), "{group}: {text}");
    }
    ofctl(&lab, "add-flow", &["in_port=1,actions=group:9"]);
    ofctl(&lab, "del-groups", &["group_id=9"]);
    assert!(!dump("dump-flows").contains("group:9"));
    ofctl(&lab, "del-groups", &[]);
    assert!(!dump("dump-groups").contains("group_id"));
    capture.is_well_formed(16664);
}

#[test]
fn meters_and_queues_are_added_read_changed_and_deleted() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16665);
    let lab = Lab::new(2, &["--fail-mode", "secure", "--listen", "ptcp:16665"]);
    let dump = |verb: &str| ofctl(&lab, verb, &[]);
    ofctl(
        &lab,
        "add-meter",
        &["meter=1,pktps,burst,stats,band=type=drop,rate=1000,burst_size=10"],
    );
    ofctl(
        &lab,
        "add-meter",
        &["meter=2,kbps,band=type=dscp_remark,rate=5000,prec_level=1"],
    );
    contains(
        &dump("dump-meters"),
        &[
            "meter=1 pktps burst stats bands=",
            "rate=1000 burst_size=10",
            "meter=2 kbps",
        ],
    );
    ofctl(&lab, "add-flow", &["actions=meter:1,flood"]);
    lab.all_ping();
    contains(
        &dump("meter-stats"),
        &["meter:1 flow_count:1", "packet_in_count:"],
    );
    contains(
        &dump("meter-features"),
        &["drop", "dscp_remark", "kbps pktps burst stats"],
    );
    ofctl(&lab, "mod-meter", &["meter=1,pktps,band=type=drop,rate=7"]);
    contains(&ofctl(&lab, "dump-meters", &["meter=1"]), &["rate=7"]);
    for (meter, error) in [
        ("meter=1,kbps,band=type=drop,rate=1", "METER_EXISTS"),
        ("meter=3,kbps,pktps,band=type=drop,rate=1", "BAD_FLAGS"),
    ] {
        let (text, success) = lab.ofctl("add-meter", &[meter]);
        assert!(!success && text.contains(error), "{meter}: {text}");
    }
    ofctl(&lab, "del-meters", &["meter=1"]);
    assert!(!dump("dump-flows").contains("meter:1"));
    ofctl(&lab, "del-meters", &[]);
    assert!(!dump("dump-meters").contains("meter="));
    contains(&dump("queue-stats"), &["queues"]);
    contains(&ofctl(&lab, "queue-get-config", &["1"]), &[]);
    capture.is_well_formed(16665);
}

#[test]
fn another_version_is_refused_with_both_lists() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(1, &[]);
    // A HELLO of the next version that offers that one alone.
    let hello = [7, 0, 0, 16, 0, 0, 0, 1, 0, 1, 0, 8, 0, 0, 0, 0x80];
    let mut peer = UnixStream::connect(lab.address().trim_start_matches("unix:")).unwrap();
    peer.write_all(&hello).unwrap();
    until("the log says why", || {
        lab.log().contains("no common OpenFlow version")
    });
    contains(&lab.log(), &["1.5", "0x07"]);
    let mut said = Vec::new();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer.read_to_end(&mut said).unwrap();
    let said = String::from_utf8_lossy(&said).into_owned();
    contains(&said, &["no common OpenFlow version", "1.5", "0x07"]);
}

#[test]
fn fragments_are_put_together_for_the_tables_and_leave_as_fragments() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &[]);
    lab.all_ping();
    let long = || {
        let target = address(2).to_string();
        let arguments = ["-n", "-c", "1", "-W", "1", "-s", "5000", &target];
        let ping = || run(Command::new("ping").args(arguments)).status.success();
        lab.host(1, ping)
    };
    let flow = "priority=9,icmp,in_port=1,icmp_type=8,actions=output:2";
    ofctl(&lab, "add-flow", &[flow]);
    ofctl(&lab, "add-flow", &["priority=8,ip,in_port=1,actions=drop"]);
    assert!(!long(), "later fragments have no ICMP type");
    for (mode, passes) in [("drop", false), ("reassemble", true), ("normal", false)] {
        ofctl(&lab, "set-frags", &[mode]);
        contains(&ofctl(&lab, "get-frags", &[]), &[mode]);
        assert_eq!(long(), passes, "{mode}");
    }
    let flows = ofctl(&lab, "dump-flows", &["icmp"]);
    // One whole packet, and two first fragments.
    contains(&flows, &["n_packets=3, n_bytes=8070"]);
}
