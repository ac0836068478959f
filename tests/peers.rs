//! Tools and controllers of one OpenFlow version that we did not write.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Capture, Lab, Process, printed, run, until};

/// `ovs-ofctl` on a switch, in one version.
pub struct Ofctl<'a> {
    /// The switch.
    pub lab: &'a Lab,
    /// The version as the option `-O` has it, such as `OpenFlow12`.
    pub version: &'static str,
}

impl Ofctl<'_> {
    /// Runs a verb. Returns what it prints, and whether it succeeded.
    pub fn run(&self, verb: &str, arguments: &[&str]) -> (String, bool) {
        let mut command = Command::new("ovs-ofctl");
        let address = self.lab.tools_address();
        command.args(["-O", self.version, "--timeout=10", verb, &address]);
        let output = run(command.args(arguments));
        (printed(&output), output.status.success())
    }

    /// Returns what a verb prints. Panics: if it fails.
    pub fn told(&self, verb: &str, arguments: &[&str]) -> String {
        let (text, success) = self.run(verb, arguments);
        assert!(success, "ovs-ofctl {verb} {arguments:?}: {text}");
        text
    }

    /// Returns what a verb prints that fails. Panics: if it succeeds.
    pub fn refused(&self, verb: &str, arguments: &[&str]) -> String {
        let (text, success) = self.run(verb, arguments);
        assert!(!success, "ovs-ofctl {verb} {arguments:?}: {text}");
        text
    }

    /// Returns how many flow entries the switch reports.
    pub fn entries(&self, filter: &[&str]) -> usize {
        self.told("dump-flows", filter).matches("cookie=").count()
    }

    /// Several flows in one file: `replace-flows`, `diff-flows` and `add-flows`; then three entries
    /// are there.
    pub fn replaces_all_flows(&self) {
        let name = format!("bofuss-flows-{}-{}", self.version, std::process::id());
        let file = std::env::temp_dir().join(name);
        let path = file.to_str().unwrap();
        let two = "priority=1,actions=drop\npriority=2,ip,actions=output:1\n";
        std::fs::write(&file, two).unwrap();
        self.told("replace-flows", &[path]);
        assert_eq!(self.entries(&[]), 2);
        assert_eq!(self.told("diff-flows", &[path]), "");
        std::fs::write(&file, "priority=3,arp,actions=flood\n").unwrap();
        self.told("add-flows", &[path]);
        assert_eq!(self.entries(&[]), 3);
        std::fs::remove_file(&file).unwrap();
    }

    /// `ovs-ofctl monitor`, and what it prints.
    pub fn monitor(&self) -> (Process, impl Fn() -> String + use<>) {
        let name = format!("bofuss-monitor-{}-{}", self.version, std::process::id());
        let output = std::env::temp_dir().join(name);
        let mut command = Command::new("ovs-ofctl");
        let address = self.lab.tools_address();
        command.args(["-O", self.version, "monitor", &address, "65534"]);
        command
            .stderr(std::fs::File::create(&output).unwrap())
            .stdout(Stdio::null());
        command.env("OVS_RUNDIR", std::env::temp_dir());
        let file = Removed(output);
        let printed = move || std::fs::read_to_string(&file.0).unwrap();
        (Process::start(&mut command), printed)
    }

    /// Reads, changes and deletes the `count` entries of a switch in 1.1 or 1.2, where a modify
    /// `adds` what it does not find or does not: two for port 1 and for port 2 of priority
    /// 10, one of cookie 5, one of table 3, and one that floods ARP.
    pub fn changes_and_deletes_flows(&self, count: usize, adds: bool) {
        assert_eq!(self.entries(&["cookie=0x5/-1"]), 1);
        assert_eq!(self.entries(&["table=3"]), 1);
        assert_eq!(self.entries(&["out_port=2"]), 2);
        contains(
            &self.told("dump-aggregate", &["in_port=1"]),
            &["flow_count=1"],
        );
        assert!(self.lab.pings(1, 2), "ARP floods, IP follows its entries");
        self.told("mod-flows", &["in_port=1,actions=drop"]);
        assert!(!self.lab.pings(1, 2), "the changed entry drops");
        let strict = "priority=10,in_port=1,ip,nw_dst=10.0.0.0/8,actions=2";
        self.told("mod-flows", &["--strict", strict]);
        assert!(self.lab.pings(1, 2));
        self.told("mod-flows", &["priority=3,in_port=3,actions=2"]);
        let added = usize::from(adds);
        assert_eq!(self.entries(&["in_port=3"]), added, "what a modify adds");
        self.told("mod-flows", &["cookie=0x99/-1,in_port=4,actions=2"]);
        assert_eq!(self.entries(&["in_port=4"]), 0, "not one for a cookie");
        self.told("del-flows", &["--strict", "priority=11,in_port=2"]);
        let entries = self.entries(&[]);
        assert_eq!(entries, count + added, "strict means the priority, too");
        self.told("del-flows", &["in_port=2"]);
        assert_eq!(self.entries(&[]), count + added - 1);
        self.refuses_wrong_flows();
        self.replaces_all_flows();
        self.told("del-flows", &[]);
        assert_eq!(self.entries(&[]), 0);
    }

    /// Checks what 1.1 and 1.2 report and change of a switch of two ports. Port 2 has a queue of a
    /// tenth of its rate.
    pub fn describes_and_changes(&self) {
        contains(&self.told("dump-desc", &[]), &["Manufacturer: bofuss"]);
        contains(
            &self.told("dump-tables", &[]),
            &["table 0 (\"table0\"):", "active=1", "max_entries=1000000"],
        );
        contains(&self.told("dump-ports", &[]), &["2 ports", "rx pkts="]);
        contains(&self.told("dump-ports", &["1"]), &["1 ports"]);
        contains(&self.run("dump-ports-desc", &[]).0, &["OFPBRC_BAD_STAT"]);
        contains(
            &self.told("queue-stats", &["2", "1"]),
            &["1 queues", "port 2 queue 1:"],
        );
        contains(
            &self.told("queue-get-config", &["2"]),
            &["queue 1: min_rate:10.0%"],
        );
        self.told("ping", &[]);
        self.told("probe", &[]);
        contains(
            &self.told("benchmark", &["100", "50"]),
            &["Sending 50 packets", "packets/s"],
        );
        self.told("set-frags", &["drop"]);
        contains(&self.told("get-frags", &[]), &["drop"]);
        self.told("set-frags", &["normal"]);
        for miss in ["controller", "continue", "drop"] {
            self.told("mod-table", &["all", miss]);
            let config = format!("config={miss}");
            contains(&self.told("dump-tables", &[]), &[&config]);
        }
        self.told("mod-port", &["1", "down"]);
        contains(&self.told("show", &[]), &["PORT_DOWN", "LINK_DOWN"]);
        assert!(!self.lab.pings(1, 2));
        self.told("mod-port", &["1", "up"]);
        until("the port forwards again", || self.lab.pings(1, 2));
    }

    /// Adds a group of each type for three ports, and an entry that sends to all.
    pub fn adds_groups(&self) {
        for group in [
            "group_id=1,type=all,bucket=output:1,bucket=output:2,bucket=output:3",
            "group_id=2,type=select,bucket=weight:3,output:2,bucket=weight:1,output:3",
            "group_id=3,type=ff,bucket=watch_port:2,output:2,bucket=watch_port:3,output:3",
            "group_id=4,type=indirect,bucket=group:1",
        ] {
            self.told("add-group", &[group]);
        }
        contains(
            &self.told("dump-groups", &[]),
            &[
                "group_id=2,type=select,bucket=weight:3,actions=output:2",
                "group_id=3,type=ff,bucket=watch_port:2,actions=output:2",
                "group_id=4,type=indirect,bucket=actions=group:1",
            ],
        );
        self.told("add-flow", &["actions=group:4"]);
        self.lab.all_ping();
        contains(
            &self.told("dump-group-stats", &[]),
            &["group_id=4,", "ref_count=1", "bucket2:packet_count="],
        );
    }

    /// Changes a group that [`Self::adds_groups`] added, and deletes all.
    pub fn deletes_groups(&self) {
        let changed = "group_id=1,type=indirect,bucket=output:2";
        self.told("mod-group", &[changed]);
        contains(
            &self.told("dump-groups", &[]),
            &["group_id=1,type=indirect"],
        );
        let again = "group_id=1,type=all";
        contains(&self.refused("add-group", &[again]), &["GROUP_EXISTS"]);
        self.told("del-groups", &[]);
        assert!(!self.told("dump-groups", &[]).contains("group_id"));
        assert_eq!(self.entries(&[]), 0, "the entry goes with its group");
    }

    /// Entries for a meter are a part of the pipeline, but this version cannot express them.
    pub fn has_no_words_for_meters(&self) {
        let newer = self.lab.ofctl13();
        newer.told("add-meter", &["meter=1,kbps,band=type=drop,rate=1000000"]);
        newer.told("add-flow", &["arp,actions=meter:1,goto_table:1"]);
        newer.told("add-flow", &["table=1,arp,actions=flood"]);
        self.told("add-flow", &["ip,actions=normal"]);
        until("entries of both make one pipeline", || self.lab.pings(1, 2));
        assert_eq!(self.entries(&[]), 2);
        assert_eq!(newer.entries(&[]), 3);
    }

    /// Checks why 1.1 and 1.2 refuse a flow-mod. There is an entry for port 1 of priority 10.
    pub fn refuses_wrong_flows(&self) {
        for (flow, error) in [
            (
                "check_overlap,priority=10,in_port=1,actions=drop",
                "OFPFMFC_OVERLAP",
            ),
            ("in_port=1,actions=group:9", "OFPBAC_BAD_OUT_GROUP"),
            ("table=200,actions=drop", "OFPFMFC_BAD_TABLE_ID"),
        ] {
            contains(&self.refused("add-flow", &[flow]), &[error]);
        }
    }

    /// Checks that a miss goes to the monitor of this version, which prints it as `miss`, and not
    /// to one of 1.3. Returns both monitors, which go on.
    pub fn alone_gets_a_miss(&self, miss: &str) -> [Process; 2] {
        let (old, of_old) = self.monitor();
        let (new, of_new) = self.lab.ofctl13().monitor();
        let minor = self.version.trim_start_matches("OpenFlow1");
        until("both are connected", || {
            let log = self.lab.log();
            log.contains(&format!("connected, OpenFlow 1.{minor}"))
                && log.contains("connected, OpenFlow 1.3")
        });
        until("the miss comes in", || {
            self.lab.pings(1, 2);
            of_old().contains(miss)
        });
        contains(&of_old(), &["in_port=1 (via no_match)", "arp_tpa=10.0.0.2"]);
        assert!(!of_new().contains("OFPT_PACKET_IN"), "{}", of_new());
        [old, new]
    }
}

/// A file that is removed when dropped.
struct Removed(std::path::PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Panics: if `text` lacks one of the parts.
pub fn contains(text: &str, wanted: &[&str]) {
    for part in wanted {
        assert!(text.contains(part), "{part:?} in: {text}");
    }
}

/// A controller's command in the folder of controllers.
pub fn controller(python: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(python);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("controllers"));
    command.args(arguments).stderr(Stdio::null());
    command
}

/// Three hosts reach each other over a controller that listens at a port and speaks `version`, such
/// as `1.2`. Returns the switch's log. tshark checks the messages if it has `field` for their type.
pub fn joins(version: &str, port: u16, field: Option<&str>, command: &mut Command) -> String {
    joins_and(version, port, field, command, || ())
}

/// The same; the controller still runs while `finish` does.
fn joins_and(
    version: &str,
    port: u16,
    field: Option<&str>,
    command: &mut Command,
    finish: impl FnOnce(),
) -> String {
    let capture = field.map(|_| Capture::start(port));
    let _controller = Process::start(command);
    let lab = Lab::new(3, &["--controller", &format!("tcp:127.0.0.1:{port}")]);
    until("the controller is there", || {
        lab.log()
            .contains(&format!("connected, OpenFlow {version}"))
    });
    lab.all_ping();
    lab.tcp(1, 2, 16);
    lab.udp(2, 3);
    finish();
    let log = lab.log();
    drop(lab);
    if let (Some(capture), Some(field)) = (capture, field) {
        capture.is_well_formed_in(port, field);
    }
    log
}

/// The same for `ovs-testcontroller`.
pub fn joins_ovs(version: &str, port: u16, field: Option<&str>) -> String {
    let mut command = Command::new("ovs-testcontroller");
    let unixctl = format!("bofuss-tc-{port}-{}.ctl", std::process::id());
    let unixctl = std::env::temp_dir().join(unixctl);
    command.arg(format!("--unixctl={}", unixctl.display()));
    let option = format!("OpenFlow{}", version.replace('.', ""));
    command.args(["-O", &option, &format!("ptcp:{port}:127.0.0.1")]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    joins(version, port, field, &mut command)
}

/// Runs a script in the folder of controllers, on os-ken, that lets three hosts reach each other.
/// Panics: if it does not print these `replies` of the switch, or prints an error.
pub fn joins_os_ken(version: &str, port: u16, field: Option<&str>, script: &str, replies: &[&str]) {
    let name = format!("bofuss-os-ken-{port}-{}", std::process::id());
    let output = Removed(std::env::temp_dir().join(name));
    let stdout = std::fs::File::create(&output.0).unwrap();
    let mut command = controller(&crate::python(), &[script, &port.to_string()]);
    let printed = || std::fs::read_to_string(&output.0).unwrap();
    joins_and(version, port, field, command.stdout(stdout), || {
        for reply in replies {
            until(reply, || printed().contains(reply));
        }
    });
    assert!(!printed().contains("ERROR"), "{}", printed());
}

/// The same for an application of ryu. Returns the switch's log.
pub fn joins_ryu(version: &str, port: u16, field: Option<&str>, application: &str) -> String {
    let port_argument = port.to_string();
    let arguments = ["ryu_app.py", &port_argument, application];
    let mut command = controller(&crate::ryu_python(), &arguments);
    joins(version, port, field, command.stdout(Stdio::null()))
}
