//! OpenFlow 1.0 beside 1.3: tools and controllers that we did not write, which speak only that.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Stdio};

use bofuss_tests::{Capture, Lab, Process, have, printed, program, python, run, ryu_python, until};

/// What tshark calls the type of a message of 1.0.
const TYPE: &str = "openflow_1_0.type";
const TOOLS: &[&str] = &["ip", "ping", "ovs-ofctl", "dumpcap", "tshark"];

/// Runs `ovs-ofctl` in a version; gives what it prints, and whether it succeeded.
fn spoken(version: &str, lab: &Lab, verb: &str, arguments: &[&str]) -> (String, bool) {
    let mut command = Command::new("ovs-ofctl");
    command.args(["-O", version, "--timeout=10", verb, &lab.tools_address()]);
    let output = run(command.args(arguments));
    (printed(&output), output.status.success())
}

/// What a verb prints in 1.0. Panics: if it fails.
fn ofctl(lab: &Lab, verb: &str, arguments: &[&str]) -> String {
    let (text, success) = spoken("OpenFlow10", lab, verb, arguments);
    assert!(success, "ovs-ofctl {verb} {arguments:?}: {text}");
    text
}

/// What a verb prints that fails in 1.0.
fn refused(lab: &Lab, verb: &str, arguments: &[&str]) -> String {
    let (text, success) = spoken("OpenFlow10", lab, verb, arguments);
    assert!(!success, "ovs-ofctl {verb} {arguments:?}: {text}");
    text
}

fn contains(text: &str, wanted: &[&str]) {
    wanted
        .iter()
        .for_each(|part| assert!(text.contains(part), "{part:?} in: {text}"));
}

fn entries(lab: &Lab, filter: &[&str]) -> usize {
    ofctl(lab, "dump-flows", filter).matches("cookie=").count()
}

#[test]
fn flows_are_added_read_changed_and_deleted() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16691);
    let lab = Lab::new(2, &["--fail-mode", "secure", "--listen", "ptcp:16691"]);
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
        ofctl(&lab, "add-flow", &[flow]);
    }
    contains(
        &ofctl(&lab, "dump-flows", &[]),
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
    assert_eq!(entries(&lab, &["out_port=2"]), 1);
    assert_eq!(entries(&lab, &["ip"]), 4);
    contains(
        &ofctl(&lab, "dump-aggregate", &["in_port=1"]),
        &["flow_count=1"],
    );
    assert!(lab.pings(1, 2), "ARP floods, IP follows its entries");
    ofctl(&lab, "mod-flows", &["in_port=1,actions=drop"]);
    contains(
        &ofctl(&lab, "dump-flows", &["in_port=1"]),
        &["actions=drop"],
    );
    assert!(!lab.pings(1, 2), "the changed entry drops");
    let strict = "priority=10,in_port=1,ip,nw_dst=10.0.0.0/8,actions=2";
    ofctl(&lab, "mod-flows", &["--strict", strict]);
    assert!(lab.pings(1, 2));
    ofctl(&lab, "mod-flows", &["priority=3,in_port=3,actions=2"]);
    assert_eq!(entries(&lab, &["in_port=3"]), 1, "a modify of nothing adds");
    ofctl(&lab, "del-flows", &["--strict", "priority=11,in_port=2"]);
    assert_eq!(entries(&lab, &[]), 8, "strict means the priority, too");
    ofctl(&lab, "del-flows", &["in_port=2"]);
    assert_eq!(entries(&lab, &[]), 7);
    let both = "check_overlap,priority=10,in_port=1,actions=drop";
    contains(&refused(&lab, "add-flow", &[both]), &["OFPFMFC_OVERLAP"]);
    contains(
        &refused(&lab, "add-flow", &["actions=output:65280"]),
        &["OFPBAC_BAD_OUT_PORT"],
    );
    replaced(&lab);
    ofctl(&lab, "del-flows", &[]);
    assert_eq!(entries(&lab, &[]), 0);
    drop(lab);
    capture.is_well_formed_in(16691, TYPE);
}

/// Verbs that have several flows in one file.
fn replaced(lab: &Lab) {
    let file = std::env::temp_dir().join(format!("bofuss-flows10-{}", std::process::id()));
    let path = file.to_str().unwrap();
    std::fs::write(
        &file,
        "priority=1,actions=drop\npriority=2,ip,actions=output:1\n",
    )
    .unwrap();
    ofctl(lab, "replace-flows", &[path]);
    assert_eq!(entries(lab, &[]), 2);
    assert_eq!(ofctl(lab, "diff-flows", &[path]), "");
    std::fs::write(&file, "priority=3,arp,actions=flood\n").unwrap();
    ofctl(lab, "add-flows", &[path]);
    assert_eq!(entries(lab, &[]), 3);
    std::fs::remove_file(&file).unwrap();
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
    assert!(
        lab.pings(1, 2),
        "without controller the switch stands alone"
    );
    contains(
        &ofctl(&lab, "show", &[]),
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
    contains(&ofctl(&lab, "dump-desc", &[]), &["Manufacturer: bofuss"]);
    contains(
        &ofctl(&lab, "dump-tables", &[]),
        &["table 0 (\"table0\"):", "active=1", "max_entries=1000000"],
    );
    contains(&ofctl(&lab, "dump-ports", &[]), &["2 ports", "rx pkts="]);
    contains(&ofctl(&lab, "dump-ports", &["1"]), &["1 ports"]);
    contains(
        &refused_or_told(&lab, "dump-ports-desc"),
        &["OFPBRC_BAD_STAT"],
    );
    contains(
        &ofctl(&lab, "queue-stats", &[]),
        &["2 queues", "port 2 queue 0:", "port 2 queue 1:"],
    );
    contains(&ofctl(&lab, "queue-stats", &["2", "1"]), &["1 queues"]);
    contains(
        &ofctl(&lab, "queue-get-config", &["2"]),
        &["queue 1: min_rate:10.0%"],
    );
    contains(
        &spoken("OpenFlow10", &lab, "queue-get-config", &["9"]).0,
        &["OFPQOFC_BAD_PORT"],
    );
    ofctl(&lab, "ping", &[]);
    ofctl(&lab, "probe", &[]);
    contains(
        &ofctl(&lab, "benchmark", &["100", "50"]),
        &["Sending 50 packets", "packets/s"],
    );
    ofctl(&lab, "set-frags", &["drop"]);
    contains(&ofctl(&lab, "get-frags", &[]), &["drop"]);
    ofctl(&lab, "set-frags", &["normal"]);
    for bit in ["no-flood", "no-packet-in", "no-forward", "no-receive"] {
        ofctl(&lab, "mod-port", &["1", bit]);
    }
    contains(
        &ofctl(&lab, "show", &[]),
        &["config:     NO_RECV NO_FLOOD NO_FWD NO_PACKET_IN"],
    );
    for bit in ["flood", "packet-in", "forward", "receive", "down"] {
        ofctl(&lab, "mod-port", &["1", bit]);
    }
    contains(&ofctl(&lab, "show", &[]), &["PORT_DOWN", "LINK_DOWN"]);
    assert!(!lab.pings(1, 2));
    ofctl(&lab, "mod-port", &["1", "up"]);
    until("the port forwards again", || lab.pings(1, 2));
    drop(lab);
    capture.is_well_formed_in(16692, TYPE);
}

#[test]
fn dpctl_speaks_it_where_told_to() {
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

/// What a verb prints, whether it succeeds or not.
fn refused_or_told(lab: &Lab, verb: &str) -> String {
    spoken("OpenFlow10", lab, verb, &[]).0
}

/// `ovs-ofctl monitor` in a version, and what it prints.
fn monitor(version: &str, lab: &Lab) -> (Process, impl Fn() -> String) {
    let name = format!("bofuss-monitor-{version}-{}", std::process::id());
    let output = std::env::temp_dir().join(name);
    let mut command = Command::new("ovs-ofctl");
    command.args(["-O", version, "monitor", &lab.tools_address(), "65534"]);
    command
        .stderr(std::fs::File::create(&output).unwrap())
        .stdout(Stdio::null());
    command.env("OVS_RUNDIR", std::env::temp_dir());
    (Process::start(&mut command), move || {
        std::fs::read_to_string(&output).unwrap()
    })
}

#[test]
fn both_versions_are_served_at_once_and_a_miss_is_decided_per_connection() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure", "--listen", "ptcp:16693"]);
    let (_old, of_old) = monitor("OpenFlow10", &lab);
    let (_new, of_new) = monitor("OpenFlow13", &lab);
    until("both are connected", || {
        let log = lab.log();
        log.contains("connected, OpenFlow 1.0") && log.contains("connected, OpenFlow 1.3")
    });
    until("the miss comes in", || {
        lab.pings(1, 2);
        of_old().contains("OFPT_PACKET_IN")
    });
    contains(&of_old(), &["in_port=1 (via no_match)", "arp_tpa=10.0.0.2"]);
    assert!(!of_new().contains("OFPT_PACKET_IN"), "{}", of_new());
    let packet =
        "ffffffffffff0200000000090806000108000604000102000000000a0a00000900000000000a0a000001";
    let before = ofctl(&lab, "dump-ports", &["2"]);
    ofctl(&lab, "packet-out", &["none", "output:2", packet]);
    until("a packet goes out", || {
        ofctl(&lab, "dump-ports", &["2"]) != before
    });
    let (text, _) = spoken(
        "OpenFlow13",
        &lab,
        "add-flow",
        &["arp,actions=goto_table:1"],
    );
    assert_eq!(text, "");
    let (text, _) = spoken(
        "OpenFlow13",
        &lab,
        "add-flow",
        &["table=1,arp,actions=flood"],
    );
    assert_eq!(text, "");
    ofctl(&lab, "add-flow", &["ip,actions=normal"]);
    until("entries of both make one pipeline", || lab.pings(1, 2));
    assert_eq!(entries(&lab, &[]), 2, "the goto is not told to 1.0");
    let (text, _) = spoken("OpenFlow13", &lab, "dump-flows", &[]);
    assert_eq!(text.matches("cookie=").count(), 3, "{text}");
    let name = |version| format!("bofuss-monitor-{version}-{}", std::process::id());
    for version in ["OpenFlow10", "OpenFlow13"] {
        std::fs::remove_file(std::env::temp_dir().join(name(version))).unwrap();
    }
}

/// A controller's command in the folder of controllers.
fn controller(python: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(python);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("controllers"));
    command.args(arguments).stderr(Stdio::null());
    command
}

/// Three hosts reach each other over a controller of 1.0 that listens at a port.
fn joins(port: u16, command: &mut Command) -> String {
    let capture = Capture::start(port);
    let _controller = Process::start(command);
    let lab = Lab::new(3, &["--controller", &format!("tcp:127.0.0.1:{port}")]);
    until("the controller is there", || {
        lab.log().contains("connected, OpenFlow 1.0")
    });
    lab.all_ping();
    lab.tcp(1, 2, 16);
    lab.udp(2, 3);
    let log = lab.log();
    drop(lab);
    capture.is_well_formed_in(port, TYPE);
    log
}

#[test]
fn a_learning_switch_on_os_ken_joins_three_hosts() {
    if !have(TOOLS) {
        return;
    }
    let output = std::env::temp_dir().join(format!("bofuss-os-ken10-{}", std::process::id()));
    let stdout = std::fs::File::create(&output).unwrap();
    joins(
        16694,
        controller(&python(), &["learning10.py", "16694"]).stdout(stdout),
    );
    let said = std::fs::read_to_string(&output).unwrap();
    std::fs::remove_file(&output).unwrap();
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
    contains(&said, &replies);
    assert!(!said.contains("ERROR"), "{said}");
}

#[test]
fn ryus_simple_switch_joins_three_hosts() {
    if !have(TOOLS) {
        return;
    }
    let arguments = ["ryu_app.py", "16695", "ryu.app.simple_switch"];
    let log = joins(
        16695,
        controller(&ryu_python(), &arguments).stdout(Stdio::null()),
    );
    assert!(!log.contains("BAD_"), "{log}");
}

#[test]
fn ovs_testcontroller_joins_three_hosts() {
    if !have(&[TOOLS, &["ovs-testcontroller"]].concat()) {
        return;
    }
    let mut command = Command::new("ovs-testcontroller");
    let unixctl = std::env::temp_dir().join(format!("bofuss-tc10-{}.ctl", std::process::id()));
    command.arg(format!("--unixctl={}", unixctl.display()));
    command.args(["-O", "OpenFlow10", "ptcp:16696:127.0.0.1"]);
    let log = joins(16696, command.stdout(Stdio::null()).stderr(Stdio::null()));
    assert!(!log.contains("BAD_"), "{log}");
}
