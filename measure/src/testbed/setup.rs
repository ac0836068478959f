//! The set-ups that are measured: the switch, the yardsticks and Open vSwitch, each between the
//! same two hosts.

pub mod foreign;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bofuss_oflib::{Codec, Message};

use crate::error::Result;
use crate::testbed::held::{ScratchFolder, held};
use crate::testbed::huge_pages::HugePages;
use crate::testbed::net::{SWITCH_PORTS, mac_text, run};
use crate::testbed::openflow::{Session, adds, codec, encode, extension};
use crate::testbed::traffic::ABSENT_HOSTS;

/// The port on which switches listen for OpenFlow.
pub const OPENFLOW_PORT: u16 = 16690;
/// The time that a program may take to be ready, in units of 20 ms.
const READY_STEPS: usize = 500;

/// The rules of a switch between two hosts.
pub const BASE: [&str; 2] = [
    "priority=10,in_port=1,actions=output:2",
    "priority=10,in_port=2,actions=output:1",
];

/// The connection between the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setup {
    /// A veth pair.
    Direct,
    /// The kernel's bridge.
    Bridge,
    /// The bare forwarder: the switch's own drivers and nothing else.
    Yardstick,
    /// A bare forwarder on plain system calls.
    Recvmmsg,
    /// bofuss.
    Bofuss,
    /// The same, where the kernel forwards the frames of known flows.
    BofussAccelerated,
    /// bofuss as the packages have it: static, with musl's C library.
    BofussStatic,
    /// Open vSwitch's userspace datapath on ordinary ports.
    Ovs,
    /// The same on AF_XDP ports, polling.
    OvsXdp,
    /// The same on ordinary ports with userspace-tso.
    OvsTso,
    /// Open vSwitch's datapath in the kernel.
    OvsKernel,
    /// bofuss as a learning switch: one entry, with NORMAL.
    BofussNormal,
    /// bofuss with ARP-Path: one entry, with its action.
    BofussArpPath,
    /// bofuss with OpenQFlow: a state for each flow, and one rule for each direction.
    BofussOpenQflow,
}

impl Setup {
    /// All set-ups, in the order of a round.
    pub const ALL: [Self; 14] = [
        Self::Direct,
        Self::Bridge,
        Self::Yardstick,
        Self::Recvmmsg,
        Self::Bofuss,
        Self::BofussAccelerated,
        Self::BofussStatic,
        Self::Ovs,
        Self::OvsXdp,
        Self::OvsTso,
        Self::BofussNormal,
        Self::BofussArpPath,
        Self::BofussOpenQflow,
        Self::OvsKernel,
    ];

    /// Its name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Bridge => "bridge",
            Self::Yardstick => "yardstick",
            Self::Recvmmsg => "recvmmsg",
            Self::Bofuss => "bofuss",
            Self::BofussAccelerated => "bofuss-accelerated",
            Self::BofussStatic => "bofuss-static",
            Self::Ovs => "ovs",
            Self::OvsXdp => "ovs-afxdp",
            Self::OvsTso => "ovs-tso",
            Self::OvsKernel => "ovs-kernel",
            Self::BofussNormal => "bofuss-normal",
            Self::BofussArpPath => "bofuss-arp-path",
            Self::BofussOpenQflow => "bofuss-openqflow",
        }
    }

    /// Its name in plots.
    pub fn title(self) -> &'static str {
        match self {
            Self::Direct => "one cable",
            Self::Bridge => "Linux bridge",
            Self::Yardstick => "bare forwarder (yardstick)",
            Self::Recvmmsg => "bare forwarder on recvmmsg",
            Self::Bofuss => "bofuss",
            Self::BofussAccelerated => "bofuss, accelerated",
            Self::BofussStatic => "bofuss, static (packages)",
            Self::Ovs => "Open vSwitch",
            Self::OvsXdp => "Open vSwitch with AF_XDP",
            Self::OvsTso => "Open vSwitch with TSO",
            Self::OvsKernel => "Open vSwitch in the kernel",
            Self::BofussNormal => "bofuss, NORMAL",
            Self::BofussArpPath => "bofuss, ARP-Path",
            Self::BofussOpenQflow => "bofuss, OpenQFlow",
        }
    }

    /// Returns true if it speaks OpenFlow.
    pub fn is_switch(self) -> bool {
        !matches!(
            self,
            Self::Direct | Self::Bridge | Self::Yardstick | Self::Recvmmsg
        )
    }

    /// Returns true if it belongs to another project.
    pub fn is_foreign(self) -> bool {
        matches!(
            self,
            Self::Ovs | Self::OvsXdp | Self::OvsTso | Self::OvsKernel
        )
    }

    /// Returns true if this machine has what it needs; our programs are in the folder `programs`.
    pub fn is_here(self, programs: &Path) -> bool {
        let program = match self {
            Self::BofussStatic => return static_program(programs).exists(),
            Self::OvsKernel => return foreign::kernel_datapath().is_ok(),
            Self::Ovs | Self::OvsXdp => "ovs-vswitchd",
            Self::OvsTso => foreign::OVS_DPDK,
            // What is built here has an accelerator only then.
            Self::BofussAccelerated => "clang",
            Self::Direct
            | Self::Bridge
            | Self::Yardstick
            | Self::Recvmmsg
            | Self::Bofuss
            | Self::BofussNormal
            | Self::BofussArpPath
            | Self::BofussOpenQflow => return true,
        };
        run(&format!("which {program}")).is_ok()
    }

    /// Our program of this set-up.
    pub fn program(self, programs: &Path) -> PathBuf {
        if self == Self::BofussStatic {
            return static_program(programs);
        }
        programs.join("bofuss")
    }

    /// The entries that a switch begins with.
    pub fn entries(self) -> &'static [&'static str] {
        match self {
            Self::BofussOpenQflow => &[
                "table=1,priority=10,in_port=1,actions=qflow_forward(port=2)",
                "table=1,priority=10,in_port=2,actions=qflow_forward(port=1)",
            ],
            Self::BofussNormal => &["priority=10,actions=NORMAL"],
            Self::BofussArpPath => &["priority=10,actions=arp_path"],
            Self::Bofuss
            | Self::BofussAccelerated
            | Self::BofussStatic
            | Self::Ovs
            | Self::OvsXdp
            | Self::OvsTso
            | Self::OvsKernel => &BASE,
            Self::Direct | Self::Bridge | Self::Yardstick | Self::Recvmmsg => &[],
        }
    }

    /// The options of extensions with which bofuss starts.
    pub fn options(self) -> &'static [&'static str] {
        if self == Self::BofussOpenQflow {
            return &[
                "openqflow.table=0",
                "openqflow.forwarding=1",
                "openqflow.flows=2000000",
            ];
        }
        &[]
    }

    /// The further options with which bofuss starts.
    fn more(self) -> Vec<String> {
        let options = if self == Self::BofussAccelerated {
            &["--accelerate", "on", "--accelerated-flows", "131072"][..]
        } else {
            &["--accelerate", "off"]
        };
        options.iter().copied().map(String::from).collect()
    }

    /// Starts it on the two ports; a switch has its entries.
    ///
    /// Errors: a program that does not start or become ready.
    pub fn start(self, programs: &Path) -> Result<Forwarder> {
        let mut forwarder = Forwarder::default();
        match self {
            Self::Direct => {}
            Self::Bridge => {
                run("ip link add bridge0 type bridge")?;
                forwarder.bridge = true;
                run("ip link set bridge0 up")?;
                for port in SWITCH_PORTS {
                    run(&format!("ip link set {port} master bridge0"))?;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            Self::Yardstick | Self::Recvmmsg => {
                let program = programs.join("examples").join(self.name());
                forwarder.start(held(program).args(SWITCH_PORTS), "ready")?;
            }
            Self::Bofuss
            | Self::BofussAccelerated
            | Self::BofussStatic
            | Self::BofussNormal
            | Self::BofussArpPath
            | Self::BofussOpenQflow => {
                let plan = SwitchPlan {
                    options: self.options(),
                    more: self.more(),
                    ..SwitchPlan::usual()
                };
                forwarder = Forwarder::bofuss(&self.program(programs), &plan)?;
            }
            Self::Ovs | Self::OvsXdp | Self::OvsTso | Self::OvsKernel => {
                forwarder = Forwarder::open_vswitch(self, &[SwitchPlan::usual()])?;
            }
        }
        if self.is_switch() {
            let mut session = forwarder.session()?;
            let codec = codec();
            session.change(&adds(&codec, self.entries())?)?;
            if self == Self::BofussArpPath {
                session.change(&encode(&codec, pins(&codec)?))?;
            }
        }
        Ok(forwarder)
    }
}

/// The messages that pin the destinations of a load in ARP-Path, because nothing is sent from these
/// addresses.
///
/// Errors: bofuss does not know the message.
fn pins(codec: &Codec) -> Result<Vec<Message>> {
    let mut messages = Vec::new();
    for (mac, port) in ABSENT_HOSTS.into_iter().zip([2, 1]) {
        let text = format!("pin,mac={},port={port}", mac_text(mac));
        messages.push(extension(&codec.catalogue, "arp_path_mod", &text)?);
    }
    Ok(messages)
}

/// The static program that cargo built for this machine, next to our other programs' folder.
fn static_program(programs: &Path) -> PathBuf {
    let target = format!(
        "../{}-unknown-linux-musl/release/bofuss",
        std::env::consts::ARCH
    );
    programs.join(target)
}

/// A switch to start.
pub struct SwitchPlan {
    /// Its name.
    pub name: String,
    /// Its interfaces: the first is port 1.
    pub ports: Vec<String>,
    /// The port on which it listens for OpenFlow.
    pub openflow_port: u16,
    /// What bofuss does without a controller.
    pub fail_mode: &'static str,
    /// Options of bofuss's extensions.
    pub options: &'static [&'static str],
    /// Further options of bofuss, with their values.
    pub more: Vec<String>,
}

impl SwitchPlan {
    /// The switch between the two hosts, with a name that no other run gives it.
    pub fn usual() -> Self {
        Self {
            name: format!("bench{}", std::process::id()),
            ports: SWITCH_PORTS.map(String::from).to_vec(),
            openflow_port: OPENFLOW_PORT,
            fail_mode: "secure",
            options: &[],
            more: Vec::new(),
        }
    }
}

/// A running set-up, stopped when dropped.
#[derive(Default)]
pub struct Forwarder {
    /// Its processes; the first one forwards.
    processes: Vec<Child>,
    folder: Option<ScratchFolder>,
    bridge: bool,
    huge_pages: Option<HugePages>,
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
        if self.bridge {
            let _ = run("ip link del bridge0");
        }
    }
}

impl Forwarder {
    /// Starts a program and waits for a line that contains `ready` on either output.
    fn start(&mut self, command: &mut Command, ready: &str) -> Result<()> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{command:?}: {e}"))?;
        let out = child.stdout.take();
        let err = child.stderr.take();
        self.processes.insert(0, child);
        let (send, lines) = std::sync::mpsc::channel();
        let streams: [Option<Box<dyn std::io::Read + Send>>; 2] =
            [out.map(|s| Box::new(s) as _), err.map(|s| Box::new(s) as _)];
        for stream in streams.into_iter().flatten() {
            let send = send.clone();
            std::thread::spawn(move || {
                // Reads to the end, so that the program never blocks on its output.
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let _ = send.send(line);
                }
            });
        }
        drop(send);
        let mut seen = String::new();
        while let Ok(line) = lines.recv_timeout(Duration::from_secs(10)) {
            if line.contains(ready) {
                return Ok(());
            }
            seen.push_str(&line);
            seen.push('\n');
        }
        Err(format!("{command:?}: {seen}").into())
    }

    /// A program that forwards once it prints `ready`.
    ///
    /// Errors: it does not start.
    pub fn of(command: &mut Command, ready: &str) -> Result<Self> {
        let mut this = Self::default();
        this.start(command, ready)?;
        Ok(this)
    }

    /// Makes a folder that lasts as long as this.
    fn scratch_folder(&mut self) -> Result<String> {
        let folder = self.folder.insert(ScratchFolder::new()?);
        Ok(folder.path().display().to_string())
    }

    /// Starts bofuss.
    ///
    /// Errors: it does not start.
    pub fn bofuss(program: &Path, plan: &SwitchPlan) -> Result<Self> {
        let mut bofuss = held(program);
        let listen = format!("ptcp:{}", plan.openflow_port);
        bofuss.args(["run", "--name", &plan.name, "--fail-mode", plan.fail_mode]);
        bofuss.args(["--listen", &listen]);
        // A million entries, and the two of the set-up.
        bofuss.args(["--max-entries", "2000000"]);
        for port in &plan.ports {
            bofuss.args(["--port", port]);
        }
        for option in plan.options {
            bofuss.args(["--extension", option]);
        }
        bofuss.args(&plan.more);
        Self::of(&mut bofuss, &format!("tools on {listen}"))
    }

    /// Starts bofuss on some ports, without controllers and entries.
    ///
    /// Errors: it does not start.
    pub fn idle(programs: &Path, number: usize, ports: &[String]) -> Result<Self> {
        let mut bofuss = held(programs.join("bofuss"));
        bofuss.args(["run", "--fail-mode", "secure", "--name"]);
        bofuss.arg(format!("idle{number}"));
        for port in ports {
            bofuss.args(["--port", port]);
        }
        let mut this = Self::default();
        this.start(&mut bofuss, "tools on punix:")?;
        Ok(this)
    }

    /// The number of the process that forwards; 0 if it is the kernel.
    pub fn process_id(&self) -> u32 {
        self.processes.first().map_or(0, Child::id)
    }

    /// Connects as a controller.
    ///
    /// Errors: the connection's.
    pub fn session(&self) -> Result<Session> {
        Session::connect(OPENFLOW_PORT)
    }

    /// The processor time of all threads of the forwarder so far, in nanoseconds.
    pub fn cpu_nanos(&self) -> f64 {
        self.sum_of_threads("schedstat", |s| s.split_whitespace().next()?.parse().ok())
    }

    /// The number of times that its threads have slept so far.
    pub fn wake_ups(&self) -> f64 {
        self.sum_of_threads("status", |status| number(status, "voluntary_ctxt_switches"))
    }

    fn sum_of_threads(&self, file: &str, value: impl Fn(&str) -> Option<f64>) -> f64 {
        let Some(process) = self.processes.first() else {
            return 0.0;
        };
        let tasks = std::fs::read_dir(format!("/proc/{}/task", process.id()))
            .into_iter()
            .flatten()
            .flatten();
        let texts = tasks.filter_map(|t| std::fs::read_to_string(t.path().join(file)).ok());
        texts.filter_map(|text| value(&text)).sum()
    }

    /// Bytes of its private memory, plus its share of shared memory.
    pub fn share_of_memory(&self) -> f64 {
        self.number_in("smaps_rollup", "Pss:") * 1024.0
    }

    /// A number in `/proc/PID/status` of the forwarder.
    pub fn status(&self, name: &str) -> f64 {
        self.number_in("status", name)
    }

    fn number_in(&self, file: &str, name: &str) -> f64 {
        let id = self.processes.first().map_or(0, Child::id);
        let text = std::fs::read_to_string(format!("/proc/{id}/{file}")).unwrap_or_default();
        number(&text, name).unwrap_or(0.0)
    }
}

/// The number in the line that begins with `name`.
fn number(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn ready(what: &str, is: impl Fn() -> bool) -> Result<()> {
    for _ in 0..READY_STEPS {
        if is() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("{what} is not ready").into())
}
