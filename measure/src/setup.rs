//! The set-ups that are measured: the switch, the yardsticks and Open vSwitch, each between the
//! same two hosts.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use bofuss_oflib::{Codec, Message};

use crate::case::BASE;
use crate::huge_pages::{HUGE_MIB, HugePages};
use crate::net::{SWITCH_PORTS, mac_text, run};
use crate::openflow::{Session, adds, codec, encode, extension};
use crate::traffic::ABSENT_HOSTS;

/// The port on which switches listen for OpenFlow.
pub const OPENFLOW_PORT: u16 = 16690;
/// How many times 20 ms a program may take to be ready.
const READY_STEPS: usize = 500;

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
    /// bofuss as the packages have it: static, with musl's C library.
    BofussStatic,
    /// Open vSwitch's userspace datapath on ordinary ports.
    Ovs,
    /// The same on AF_XDP ports, polling.
    OvsXdp,
    /// The same on ordinary ports with userspace-tso.
    OvsTso,
    /// bofuss as a learning switch: one entry, with NORMAL.
    BofussNormal,
    /// bofuss with ARP-Path: one entry, with its action.
    BofussArpPath,
}

impl Setup {
    /// All set-ups, in the order of a round.
    pub const ALL: [Self; 11] = [
        Self::Direct,
        Self::Bridge,
        Self::Yardstick,
        Self::Recvmmsg,
        Self::Bofuss,
        Self::BofussStatic,
        Self::Ovs,
        Self::OvsXdp,
        Self::OvsTso,
        Self::BofussNormal,
        Self::BofussArpPath,
    ];

    /// Its name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Bridge => "bridge",
            Self::Yardstick => "yardstick",
            Self::Recvmmsg => "recvmmsg",
            Self::Bofuss => "bofuss",
            Self::BofussStatic => "bofuss-static",
            Self::Ovs => "ovs",
            Self::OvsXdp => "ovs-afxdp",
            Self::OvsTso => "ovs-tso",
            Self::BofussNormal => "bofuss-normal",
            Self::BofussArpPath => "bofuss-arp-path",
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
            Self::BofussStatic => "bofuss, static (packages)",
            Self::Ovs => "Open vSwitch",
            Self::OvsXdp => "Open vSwitch with AF_XDP",
            Self::OvsTso => "Open vSwitch with TSO",
            Self::BofussNormal => "bofuss, NORMAL",
            Self::BofussArpPath => "bofuss, ARP-Path",
        }
    }

    /// Whether it speaks OpenFlow.
    pub fn is_switch(self) -> bool {
        !matches!(
            self,
            Self::Direct | Self::Bridge | Self::Yardstick | Self::Recvmmsg
        )
    }

    /// Whether it belongs to another project.
    pub fn is_foreign(self) -> bool {
        matches!(self, Self::Ovs | Self::OvsXdp | Self::OvsTso)
    }

    /// Whether this machine has what it needs; our programs are in the folder `programs`.
    pub fn is_here(self, programs: &Path) -> bool {
        let program = match self {
            Self::BofussStatic => return static_program(programs).exists(),
            Self::Ovs | Self::OvsXdp => "ovs-vswitchd",
            Self::OvsTso => "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk",
            Self::Direct
            | Self::Bridge
            | Self::Yardstick
            | Self::Recvmmsg
            | Self::Bofuss
            | Self::BofussNormal
            | Self::BofussArpPath => return true,
        };
        run(&format!("which {program}")).is_ok()
    }

    /// The entries that a switch begins with.
    fn entries(self) -> &'static [&'static str] {
        match self {
            Self::BofussNormal => &["priority=10,actions=NORMAL"],
            Self::BofussArpPath => &["priority=10,actions=arp_path"],
            Self::Bofuss | Self::BofussStatic | Self::Ovs | Self::OvsXdp | Self::OvsTso => &BASE,
            Self::Direct | Self::Bridge | Self::Yardstick | Self::Recvmmsg => &[],
        }
    }

    /// Starts it on the two ports; a switch has its entries.
    ///
    /// Errors: a program that does not start or become ready.
    pub fn start(self, programs: &Path) -> Result<Forwarder, String> {
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
                forwarder.start(Command::new(program).args(SWITCH_PORTS), "ready")?;
            }
            Self::Bofuss | Self::BofussNormal | Self::BofussArpPath => {
                forwarder.start_bofuss(&programs.join("bofuss"))?;
            }
            Self::BofussStatic => forwarder.start_bofuss(&static_program(programs))?,
            Self::Ovs | Self::OvsXdp | Self::OvsTso => forwarder.start_ovs(self)?,
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

/// What tells ARP-Path where the frames of a load go: to addresses that nobody sends from.
///
/// Errors: the message, if bofuss has none such.
fn pins(codec: &Codec) -> Result<Vec<Message>, String> {
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

/// A running set-up, stopped when dropped.
#[derive(Default)]
pub struct Forwarder {
    /// Its processes; the first one forwards.
    processes: Vec<Child>,
    folder: Option<PathBuf>,
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
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

impl Forwarder {
    /// Starts a program and waits for a line that contains `ready` on either output.
    fn start(&mut self, command: &mut Command, ready: &str) -> Result<(), String> {
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
        Err(format!("{command:?}: {seen}"))
    }

    /// A program that forwards once it prints `ready`.
    ///
    /// Errors: it does not start.
    pub fn of(command: &mut Command, ready: &str) -> Result<Self, String> {
        let mut this = Self::default();
        this.start(command, ready)?;
        Ok(this)
    }

    /// The original BOFUSS: `ofdatapath` and `ofprotocol` of a folder.
    ///
    /// Errors: they do not start, or nothing listens for OpenFlow.
    pub fn original(folder: &Path) -> Result<Self, String> {
        let mut this = Self::default();
        let run_folder = this.scratch_folder()?;
        let socket = format!("unix:{run_folder}/datapath");
        let mut datapath = Command::new(folder.join("ofdatapath"));
        let ports = SWITCH_PORTS.join(",");
        datapath.args(["--no-slicing", "-i", &ports, &format!("p{socket}")]);
        let mut protocol = Command::new(folder.join("ofprotocol"));
        protocol.args([&socket, &format!("ptcp:{OPENFLOW_PORT}")]);
        for command in [&mut datapath, &mut protocol] {
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let child = command.spawn().map_err(|e| format!("{command:?}: {e}"))?;
            this.processes.push(child);
            std::thread::sleep(Duration::from_millis(200)); // until the socket is there
        }
        ready("the original BOFUSS", || {
            std::net::TcpStream::connect(("127.0.0.1", OPENFLOW_PORT)).is_ok()
        })?;
        Ok(this)
    }

    /// Makes a folder that is removed when this is dropped.
    fn scratch_folder(&mut self) -> Result<String, String> {
        // The process id may be used in another pid namespace, too.
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        let folder = std::env::temp_dir().join(format!("ofmeter-{now}"));
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let at = folder.display().to_string();
        self.folder = Some(folder);
        Ok(at)
    }

    fn start_bofuss(&mut self, program: &Path) -> Result<(), String> {
        let mut bofuss = Command::new(program);
        let listen = format!("ptcp:{OPENFLOW_PORT}");
        bofuss.args(["run", "--name", "bench", "--fail-mode", "secure"]);
        bofuss.args(["--listen", &listen]);
        // A million entries, and the two of the set-up.
        bofuss.args(["--max-entries", "2000000"]);
        for port in SWITCH_PORTS {
            bofuss.args(["--port", port]);
        }
        self.start(&mut bofuss, &format!("tools on {listen}"))
    }

    /// Starts bofuss on some ports, without controllers and entries.
    ///
    /// Errors: it does not start.
    pub fn idle(programs: &Path, number: usize, ports: &[String]) -> Result<Self, String> {
        let mut bofuss = Command::new(programs.join("bofuss"));
        bofuss.args(["run", "--fail-mode", "secure", "--name"]);
        bofuss.arg(format!("idle{number}"));
        for port in ports {
            bofuss.args(["--port", port]);
        }
        let mut this = Self::default();
        this.start(&mut bofuss, "tools on punix:")?;
        Ok(this)
    }

    /// Adds more bridges with these ports to Open vSwitch.
    ///
    /// Errors: what it complains about.
    pub fn add_bridges(&self, ports: &[[String; 4]]) -> Result<(), String> {
        let mut words = String::new();
        for (number, ports) in ports.iter().enumerate() {
            let bridge = format!("idle{number}");
            words += &format!(" -- add-br {bridge} -- set bridge {bridge} datapath_type=netdev");
            for port in ports {
                words += &format!(" -- add-port {bridge} {port}");
            }
        }
        self.vsctl(&words)
    }

    /// Removes these bridges.
    ///
    /// Errors: what it complains about.
    pub fn remove_bridges(&self, count: usize) -> Result<(), String> {
        let words: String = (0..count).map(|n| format!(" -- del-br idle{n}")).collect();
        self.vsctl(&words)
    }

    /// Runs a command on the database of this Open vSwitch.
    fn vsctl(&self, words: &str) -> Result<(), String> {
        let at = self
            .folder
            .as_ref()
            .ok_or("this is not Open vSwitch")?
            .display();
        let command = format!("ovs-vsctl --db=unix:{at}/db.sock --timeout=30 {words}");
        run(&command).map(drop)
    }

    fn start_ovs(&mut self, setup: Setup) -> Result<(), String> {
        let at = self.scratch_folder()?;
        let schema = "/usr/share/openvswitch/vswitch.ovsschema";
        run(&format!("ovsdb-tool create {at}/conf.db {schema}"))?;
        let mut database = ovs_command("ovsdb-server", &at);
        database.args([
            &format!("{at}/conf.db"),
            &format!("--remote=punix:{at}/db.sock"),
        ]);
        database.args([&format!("--unixctl={at}/db.ctl")]);
        let database = database.spawn().map_err(|e| format!("ovsdb-server: {e}"))?;
        self.processes.push(database);
        ready("ovsdb-server", || self.vsctl("--no-wait init").is_ok())?;
        let program = if setup == Setup::OvsTso {
            self.huge_pages = Some(HugePages::reserve()?);
            self.vsctl(&format!(
                "--no-wait set Open_vSwitch . other_config:dpdk-init=true \
                 other_config:dpdk-extra=--no-pci other_config:dpdk-socket-mem={HUGE_MIB} \
                 other_config:userspace-tso-enable=true"
            ))?;
            "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
        } else {
            "ovs-vswitchd"
        };
        let mut daemon = ovs_command(program, &at);
        daemon.args([
            &format!("unix:{at}/db.sock"),
            &format!("--unixctl={at}/vs.ctl"),
        ]);
        let daemon = daemon.spawn().map_err(|e| format!("{program}: {e}"))?;
        self.processes.insert(0, daemon);
        self.vsctl("add-br br0 -- set bridge br0 datapath_type=netdev fail-mode=secure")?;
        for (number, port) in (1..).zip(SWITCH_PORTS) {
            let xdp = if setup == Setup::OvsXdp {
                " type=afxdp options:n_rxq=1 options:xdp-mode=native"
            } else {
                ""
            };
            self.vsctl(&format!(
                "add-port br0 {port} -- set interface {port} ofport_request={number}{xdp}"
            ))?;
        }
        self.vsctl(&format!("set-controller br0 ptcp:{OPENFLOW_PORT}"))?;
        ready("Open vSwitch", || {
            Session::connect(OPENFLOW_PORT).is_ok() && run("ip link show sa").is_ok()
        })
    }

    /// The number of the process that forwards; 0 if it is the kernel.
    pub fn process_id(&self) -> u32 {
        self.processes.first().map_or(0, Child::id)
    }

    /// Connects as a controller.
    ///
    /// Errors: the connection's.
    pub fn session(&self) -> Result<Session, String> {
        Session::connect(OPENFLOW_PORT)
    }

    /// The processor time of all threads of the forwarder so far, in nanoseconds.
    pub fn cpu_nanos(&self) -> f64 {
        self.sum_of_threads("schedstat", |s| s.split_whitespace().next()?.parse().ok())
    }

    /// How often its threads have slept so far.
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

/// A command of Open vSwitch that has its files in a folder and prints nothing.
fn ovs_command(program: &str, folder: &str) -> Command {
    let mut command = Command::new(program);
    for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"] {
        command.env(variable, folder);
    }
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The number in the line that begins with `name`.
fn number(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn ready(what: &str, is: impl Fn() -> bool) -> Result<(), String> {
    for _ in 0..READY_STEPS {
        if is() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("{what} is not ready"))
}
