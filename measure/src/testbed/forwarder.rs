//! The forwarder between the two hosts: the processes of a set-up, their time and their memory.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::error::Result;
use crate::testbed::held::{ScratchFolder, held};
use crate::testbed::huge_pages::HugePages;
use crate::testbed::net::{SWITCH_PORTS, run};
use crate::testbed::openflow::Session;

/// The port on which switches listen for OpenFlow.
pub const OPENFLOW_PORT: u16 = 16690;
/// The time that a program may take to be ready, in units of 20 ms.
const READY_STEPS: usize = 500;

/// A switch to start.
pub struct SwitchPlan {
    /// Its name.
    pub name: String,
    /// Its interfaces: the first is port 1.
    pub ports: Vec<String>,
    /// The port on which it listens for OpenFlow.
    pub openflow_port: u16,
    /// The behaviour of bofuss without a controller.
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
    pub(super) processes: Vec<Child>,
    pub(super) folder: Option<ScratchFolder>,
    pub(super) bridge: bool,
    pub(super) huge_pages: Option<HugePages>,
    /// The file of its true delays, if it has faults.
    pub truth: Option<PathBuf>,
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
    pub(super) fn start(&mut self, command: &mut Command, ready: &str) -> Result<()> {
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

    /// A forwarder with faults, which keeps its true delays.
    ///
    /// Errors: it does not start.
    pub fn faulty(program: &Path, faults: &str, ready: &str) -> Result<Self> {
        let mut this = Self::default();
        let truth = Path::new(&this.scratch_folder()?).join("truth");
        let mut command = held(program);
        command.arg("forward").args(SWITCH_PORTS);
        command.args(["--faults", faults, "--truth"]).arg(&truth);
        this.truth = Some(truth);
        this.start(&mut command, ready)?;
        Ok(this)
    }

    /// Makes a folder that lasts as long as this.
    pub(super) fn scratch_folder(&mut self) -> Result<String> {
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

    /// The file of the program that forwards, if it is a program.
    pub fn program(&self) -> Option<PathBuf> {
        let id = self.processes.first()?.id();
        std::fs::read_link(format!("/proc/{id}/exe")).ok()
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

pub(super) fn ready(what: &str, is: impl Fn() -> bool) -> Result<()> {
    for _ in 0..READY_STEPS {
        if is() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("{what} is not ready").into())
}
