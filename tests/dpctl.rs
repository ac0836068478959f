//! dpctl compared with ovs-ofctl, on our switch and on Open vSwitch.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bofuss_tests::{Lab, Process, have, ok, printed, program, run, until};

/// Entries with everything that ovs-ofctl writes in words of its own, one a line.
const FLOWS: &str = include_str!("../testdata/dpctl/flows.ovs");

/// The same for OpenFlow 1.0.
const OLD_FLOWS: &str = include_str!("../testdata/dpctl/flows10.ovs");
/// The same for OpenFlow 1.1, in the words of ovs-ofctl.
const FLOWS_1_1: &str = include_str!("../testdata/dpctl/flows11.ovs");

/// Requests whose replies both tools print alike, byte for byte, if the switch can answer them.
const QUESTIONS: &[&str] = &[
    "show",
    "dump-desc",
    "dump-flows",
    "dump-flows in_port=1",
    "dump-flows table=0,ip",
    "dump-flows --sort",
    "dump-flows --rsort",
    "dump-flows --rsort=in_port",
    "dump-flows --sort=tcp_dst tcp",
    "dump-flows --no-names",
    "dump-aggregate",
    "dump-aggregate table=0",
    "dump-tables",
    "dump-ports",
    "dump-ports 1",
    "dump-ports --names",
    "queue-stats",
    "queue-stats --names",
    "queue-stats 1",
    "get-frags",
];
/// The same of groups, which came with OpenFlow 1.1.
const GROUP_QUESTIONS: &[&str] = &["dump-groups", "dump-group-stats"];
/// The same of what came with OpenFlow 1.3.
const LATER_QUESTIONS: &[&str] = &[
    "dump-ports-desc",
    "dump-groups",
    "dump-groups --names",
    "dump-group-stats",
    "dump-group-stats group_id=2",
    "dump-group-features",
    "dump-meters",
    "dump-meters meter=1",
    "meter-stats",
    "meter-stats meter=2",
    "dump-table-features",
];

fn command(name: &str, version: &str, address: &str, words: &[&str]) -> Command {
    let program = if name == "dpctl" {
        program(name)
    } else {
        PathBuf::from(name)
    };
    let mut command = Command::new(program);
    command
        .args(["-O", version, words[0], address])
        .args(&words[1..]);
    command
}

/// Runs a tool on a switch. Returns whether it succeeds, and what it prints.
fn tool(name: &str, version: &str, address: &str, words: &[&str]) -> (bool, String) {
    let output = run(&mut command(name, version, address, words));
    (output.status.success(), printed(&output))
}

/// A text without times, which grow from call to call, without transaction ids, and without what
/// ovs-ofctl does not know.
fn timeless(text: &str) -> String {
    let cut = |text: &str, word: &str| {
        let is_number = |c: char| c.is_ascii_hexdigit() || "=:.sx".contains(c);
        let pieces: Vec<&str> = text
            .split(word)
            .map(|piece| piece.trim_start_matches(is_number))
            .collect();
        pieces.join(word)
    };
    // Table features of 1.5 name an instruction that ovs-ofctl does not know.
    let text = text.replace(" stat_trigger", "");
    let text = cut(&cut(&text, "duration"), "idle_age");
    cut(&text, "(xid")
}

/// Waits until both tools print the same; counters may change between the two calls.
fn agree(version: &str, address: &str, questions: &[&str]) {
    for question in questions {
        let words: Vec<&str> = question.split(' ').collect();
        let said = |name| {
            let mut command = command(name, version, address, &words);
            // Without it, ovs-ofctl sends Nicira's messages to an Open vSwitch of 1.0.
            if (name, version) == ("ovs-ofctl", "OpenFlow10") {
                command.args(["-F", "openflow10"]);
            }
            let output = run(&mut command);
            assert!(output.status.success(), "{question}: {}", printed(&output));
            timeless(&String::from_utf8(output.stdout).unwrap())
        };
        let mut last = (String::new(), String::new());
        let mut tries = 0;
        until(question, || {
            last = (said("dpctl"), said("ovs-ofctl"));
            tries += 1;
            last.0 == last.1 || tries > 20
        });
        for (ours, theirs) in last.0.lines().zip(last.1.lines()) {
            assert_eq!(ours, theirs, "{version} {question}");
        }
        assert_eq!(last.0, last.1, "{version} {question}");
    }
}

fn fill(address: &str) {
    for (verb, text) in [
        (
            "add-group",
            "group_id=1,type=select,bucket=output:1,bucket=weight:3,output:2",
        ),
        (
            "add-group",
            "group_id=2,type=ff,bucket=watch_port:1,output:1",
        ),
        (
            "add-meter",
            "meter=1,kbps,burst,stats,bands=type=drop,rate=50,burst_size=7",
        ),
        ("add-meter", "meter=2,pktps,bands=type=drop,rate=50"),
    ] {
        let (done, said) = tool("dpctl", "OpenFlow13", address, &[verb, text]);
        assert!(done, "{verb} {text}: {said}");
    }
    for flow in FLOWS.lines() {
        let (done, said) = tool("dpctl", "OpenFlow13", address, &["add-flow", flow]);
        assert!(done, "{flow}: {said}");
    }
}

/// With names, ovs-ofctl prints no heading, and tables by name, too.
fn named_flows_agree(address: &str) {
    let said = |name| {
        let words = ["dump-flows", "--names"];
        let output = run(&mut command(name, "OpenFlow13", address, &words));
        assert!(output.status.success(), "{}", printed(&output));
        timeless(&String::from_utf8(output.stdout).unwrap())
    };
    let (ours, theirs) = (said("dpctl"), said("ovs-ofctl"));
    let (_, ours) = ours.split_once('\n').unwrap();
    let theirs = theirs.replace("table=table", "table=");
    assert_eq!(ours, theirs.replace("goto_table:table", "goto_table:"));
    assert!(ours.contains("in_port=\"s"), "{ours}");
}

/// Adds entries in OpenFlow 1.0, by ovs-ofctl and by dpctl, and compares.
fn compare_old(address: &str) {
    for name in ["ovs-ofctl", "dpctl"] {
        let (done, said) = tool("dpctl", "OpenFlow13", address, &["del-flows"]);
        assert!(done, "{said}");
        for flow in OLD_FLOWS.lines() {
            let (done, said) = tool(name, "OpenFlow10", address, &["add-flow", flow]);
            assert!(done, "{name}: {flow}: {said}");
        }
        // A port of TCP or of UDP; our syntax asks which.
        let both = "priority=14,actions=mod_tp_src:5,mod_tp_dst:6,output:1";
        let (done, said) = tool("ovs-ofctl", "OpenFlow10", address, &["add-flow", both]);
        assert!(done, "{said}");
        agree("OpenFlow10", address, QUESTIONS);
    }
}

/// Puts entries and groups in that OpenFlow 1.1 can say, by ovs-ofctl, and compares.
fn compare_1_1(address: &str) {
    let (done, said) = tool("dpctl", "OpenFlow13", address, &["del-flows"]);
    assert!(done, "{said}");
    for flow in FLOWS_1_1.lines() {
        let (done, said) = tool("ovs-ofctl", "OpenFlow11", address, &["add-flow", flow]);
        assert!(done, "{flow}: {said}");
    }
    let group = "group_id=9,type=indirect,bucket=mod_tp_dst:53,mod_nw_tos:184,output:1";
    let (done, said) = tool("ovs-ofctl", "OpenFlow11", address, &["add-group", group]);
    assert!(done, "{said}");
    let questions = [QUESTIONS, GROUP_QUESTIONS].concat();
    agree("OpenFlow11", address, &questions);
}

#[test]
fn both_tools_say_the_same_of_our_switch() {
    if !have(&["ip", "ovs-ofctl"]) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure", "--port-rate", "1=10M"]);
    let address = lab.address();
    fill(&address);
    let (done, said) = tool(
        "dpctl",
        "OpenFlow13",
        &address,
        &["queue-mod", "1", "3", "min=200"],
    );
    assert!(done, "{said}");
    agree("OpenFlow13", &address, QUESTIONS);
    agree("OpenFlow13", &address, LATER_QUESTIONS);
    let dump = lab.dpctl(&["dump-flows"]);
    assert_eq!(printed(&dump).lines().count(), FLOWS.lines().count() + 1);
    // In the versions next to 1.3, both tools say the same of the entries, groups, meters and
    // queues.
    agree(
        "OpenFlow12",
        &address,
        &[QUESTIONS, GROUP_QUESTIONS].concat(),
    );
    for version in ["OpenFlow14", "OpenFlow15"] {
        agree(version, &address, QUESTIONS);
        agree(version, &address, LATER_QUESTIONS);
        agree(version, &address, &["dump-table-desc"]);
    }
    named_flows_agree(&address);
    compare_old(&address);
    compare_1_1(&address);
    let (done, said) = tool("dpctl", "OpenFlow10", &address, &["dump-ports-desc", "2"]);
    assert!(done && said.contains(" 2("), "{said}");
    let down = ["mod-port", "2", "down"];
    assert_eq!(
        tool("dpctl", "OpenFlow10", &address, &down),
        (true, "".into())
    );
    agree("OpenFlow10", &address, &["show"]);
}

/// A tool's exit code and what it prints, with ports by number.
fn code(name: &str, version: &str, words: &[&str]) -> (i32, String) {
    let mut command = Command::new(match name {
        "dpctl" => program(name),
        name => PathBuf::from(name),
    });
    let output = run(command.args(["-O", version]).args(words));
    (output.status.code().unwrap(), printed(&output))
}

#[test]
fn files_are_compared_and_replace_entries_as_by_ovs_ofctl() {
    if !have(&["ip", "ovs-ofctl"]) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    let address = lab.address();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/dpctl");
    let [old, wanted, groups] =
        ["flows10.ovs", "wanted.ovs", "groups.ovs"].map(|file| format!("{folder}/{file}"));
    let without = |file: &str, words: &[&str]| {
        let lines = std::fs::read_to_string(file).unwrap();
        let lines = lines
            .lines()
            .filter(|line| !words.iter().any(|word| line.contains(word)));
        let name = format!("{}-{}.ovs", lab.name, words.len());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, lines.collect::<Vec<_>>().join("\n")).unwrap();
        path.to_str().unwrap().to_string()
    };
    // OpenFlow 1.0 has one table, and ovs-ofctl does not read our text of its actions.
    let of_one_table = without(&wanted, &["table="]);
    let plain = without(&old, &["mod_", "enqueue"]);
    for (version, old, wanted) in [
        ("OpenFlow10", &old, &of_one_table),
        ("OpenFlow13", &plain, &wanted),
    ] {
        let mut said = Vec::new();
        for name in ["ovs-ofctl", "dpctl"] {
            for verb in ["del-flows", "add-flows"] {
                let words = [verb, &address, old];
                let count = if verb == "add-flows" { 3 } else { 2 };
                assert_eq!(code("dpctl", "OpenFlow10", &words[..count]).0, 0, "{verb}");
            }
            let mut steps = vec![code(name, version, &["diff-flows", &address, wanted])];
            steps.push(code(name, version, &["diff-flows", wanted, &address]));
            steps.push(code(name, version, &["replace-flows", &address, wanted]));
            steps.push(code(name, version, &["diff-flows", &address, wanted]));
            let dump = code("dpctl", version, &["dump-flows", &address]);
            steps.push((dump.0, timeless(&dump.1)));
            // Entries of one mask come in the switch's order, which changes.
            for (_, text) in &mut steps {
                let mut lines: Vec<&str> = text.lines().collect();
                lines.sort_unstable();
                *text = lines.join("\n");
            }
            said.push(steps);
        }
        let [theirs, ours] = &said[..] else {
            unreachable!()
        };
        assert_eq!(ours, theirs, "{version}");
        assert_eq!(ours[3], (0, String::new()), "{version}");
    }
    let mut dumps = Vec::new();
    for name in ["ovs-ofctl", "dpctl"] {
        let added = code(name, "OpenFlow13", &["add-groups", &address, &groups]);
        assert_eq!(added, (0, String::new()));
        dumps.push(code("dpctl", "OpenFlow13", &["dump-groups", &address]));
        assert_eq!(code(name, "OpenFlow13", &["del-groups", &address]).0, 0);
    }
    assert!(dumps[0].1.contains("group_id=12"), "{}", dumps[0].1);
    assert_eq!(dumps[0], dumps[1]);
}

#[test]
fn a_pipeline_of_unlike_tables_prints_as_by_ovs_ofctl() {
    if !have(&["ip", "ovs-ofctl"]) {
        return;
    }
    let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/profile.toml");
    let lab = Lab::new(1, &["--profile", profile]);
    for version in ["OpenFlow10", "OpenFlow13"] {
        agree(version, &lab.address(), &["dump-tables"]);
    }
    agree("OpenFlow13", &lab.address(), &["dump-table-features"]);
}

/// An Open vSwitch with a bridge in user space, in a folder of its own.
struct Ovs {
    folder: PathBuf,
    _processes: [Process; 2],
}

impl Ovs {
    fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("dpctl-ovs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let at = folder.display().to_string();
        let schema = "/usr/share/openvswitch/vswitch.ovsschema";
        ok(Command::new("ovsdb-tool").args(["create", &format!("{at}/conf.db"), schema]));
        let start = |name: &str, words: &[String]| {
            let mut command = Command::new(name);
            command
                .args(words)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let folders = ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"];
            Process::start(command.envs(folders.map(|name| (name, &at))))
        };
        let database = start(
            "ovsdb-server",
            &[
                format!("{at}/conf.db"),
                format!("--remote=punix:{at}/db.sock"),
                format!("--unixctl={at}/db.ctl"),
            ],
        );
        let vsctl = |words: &str| {
            let mut command = Command::new("ovs-vsctl");
            command
                .arg(format!("--db=unix:{at}/db.sock"))
                .arg("--timeout=20");
            run(command.args(words.split(' '))).status.success()
        };
        until("the database is up", || vsctl("--no-wait init"));
        let daemon = start(
            "ovs-vswitchd",
            &[
                format!("unix:{at}/db.sock"),
                format!("--unixctl={at}/vs.ctl"),
            ],
        );
        assert!(vsctl(
            "add-br br0 -- set bridge br0 datapath_type=netdev fail-mode=secure \
             protocols=OpenFlow10,OpenFlow13"
        ));
        for port in ["1", "2"] {
            assert!(vsctl(&format!(
                "add-port br0 p{port} -- set interface p{port} type=internal \
                 ofport_request={port}"
            )));
        }
        Self {
            folder,
            _processes: [daemon, database],
        }
    }

    fn address(&self) -> String {
        format!(
            "unix:{}",
            Path::new(&self.folder).join("br0.mgmt").display()
        )
    }
}

impl Drop for Ovs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn open_vswitch_is_asked_and_changed_in_both_styles() {
    if !have(&[
        "ovs-vswitchd",
        "ovsdb-server",
        "ovsdb-tool",
        "ovs-vsctl",
        "ovs-ofctl",
    ]) {
        return;
    }
    let ovs = Ovs::start();
    let address = ovs.address();
    until("the bridge answers", || {
        tool("dpctl", "OpenFlow13", &address, &["show"]).0
    });
    let says = |words: &[&str]| {
        let (done, said) = tool("dpctl", "OpenFlow13", &address, words);
        assert!(done, "{words:?}: {said}");
        said
    };
    assert!(says(&["features"]).contains("feat_repl{dpid=\"0x0000"));
    let added = says(&[
        "flow-mod",
        "cmd=add,table=0,prio=7",
        "in_port=1",
        "apply:output=2",
    ]);
    assert!(added.ends_with("OK.\n\n"), "{added}");
    let flows = says(&["stats-flow", "table=0"]);
    assert!(flows.contains("match=\"oxm{in_port=\"1\"}\""), "{flows}");
    says(&[
        "group-mod",
        "cmd=add,type=all,group=7",
        "weight=0",
        "output=1",
    ]);
    assert!(says(&["stats-group-desc"]).contains("group=\"7\""));
    says(&["meter-mod", "cmd=add,flags=1,meter=7", "drop:rate=100"]);
    assert!(says(&["meter-config"]).contains("meter= 7"));
    says(&["flow-mod", "cmd=del,table=0"]);
    fill(&address);
    agree("OpenFlow13", &address, QUESTIONS);
    agree("OpenFlow13", &address, LATER_QUESTIONS);
    compare_old(&address);
    agree("OpenFlow10", &address, &["dump-ports-desc"]);
    let reg = ["add-flow", "table=7,reg0=1,actions=resubmit(,8)"];
    assert!(tool("ovs-ofctl", "OpenFlow13", &address, &reg).0);
    let (done, said) = tool("dpctl", "OpenFlow13", &address, &["dump-flows"]);
    assert!(
        !done && said.contains("extensions that dpctl does not know"),
        "{said}"
    );
    says(&["del-flows", "table=0"]);
    says(&["add-flow", "in_port=1,actions=output:2"]);
    assert!(says(&["dump-flows", "table=0"]).contains("in_port=1 actions=output:2"));
    assert!(says(&["role", "master", "1"]).contains("role=master"));
    assert!(says(&["watch", "1", "1"]).contains("lookup/s"));
    assert!(says(&["status"]).contains("local.is-connected=true"));
    let json = says(&["stats-port", "--json"]);
    assert!(
        json.starts_with('{') && json.contains("\"version\":1"),
        "{json}"
    );
    let (done, said) = tool(
        "dpctl",
        "OpenFlow13",
        &address,
        &["trace", "1", "ffffffffffff0200000000010806"],
    );
    assert!(
        !done && said.contains("needs a bofuss control socket"),
        "{said}"
    );
}
