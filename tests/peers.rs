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

    /// What a verb prints. Panics: if it fails.
    pub fn told(&self, verb: &str, arguments: &[&str]) -> String {
        let (text, success) = self.run(verb, arguments);
        assert!(success, "ovs-ofctl {verb} {arguments:?}: {text}");
        text
    }

    /// What a verb prints that fails. Panics: if it succeeds.
    pub fn refused(&self, verb: &str, arguments: &[&str]) -> String {
        let (text, success) = self.run(verb, arguments);
        assert!(!success, "ovs-ofctl {verb} {arguments:?}: {text}");
        text
    }

    /// How many flow entries the switch reports.
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
/// Returns what it prints.
pub fn joins_os_ken(version: &str, port: u16, field: Option<&str>, script: &str) -> String {
    let name = format!("bofuss-os-ken-{port}-{}", std::process::id());
    let output = Removed(std::env::temp_dir().join(name));
    let stdout = std::fs::File::create(&output.0).unwrap();
    let mut command = controller(&crate::python(), &[script, &port.to_string()]);
    joins(version, port, field, command.stdout(stdout));
    std::fs::read_to_string(&output.0).unwrap()
}

/// The same for an application of ryu. Returns the switch's log.
pub fn joins_ryu(version: &str, port: u16, field: Option<&str>, application: &str) -> String {
    let port_argument = port.to_string();
    let arguments = ["ryu_app.py", &port_argument, application];
    let mut command = controller(&crate::ryu_python(), &arguments);
    joins(version, port, field, command.stdout(Stdio::null()))
}
