//! A laboratory: a switch process and hosts on veth with default offloads, removed when dropped.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

mod asked;
pub mod folder;
pub mod locked;
pub mod misread;
pub mod peers;
pub mod pings;
pub mod raw;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bofuss_ports::NetNs;

use self::peers::Ofctl;

/// The time that anything may take.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// Tells the laboratories of one process apart.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Returns true if the tests that need `tools` can run. Outside CI, missing ones are printed, and
/// the test is skipped.
///
/// Panics: in CI, if one is missing.
pub fn have(tools: &[&str]) -> bool {
    let runs = |tool: &&&str| {
        Command::new("which")
            .arg(tool)
            .stdout(Stdio::null())
            .status()
    };
    let missing = |tool: &&&str| !runs(tool).is_ok_and(|status| status.success());
    let missing: Vec<_> = tools.iter().filter(missing).collect();
    assert!(
        missing.is_empty() || std::env::var_os("CI").is_none(),
        "missing: {missing:?}"
    );
    if !missing.is_empty() {
        println!("not run: {missing:?} are missing");
    }
    missing.is_empty()
}

/// The same of tests that need other users, too: a plain user's namespace has only one.
///
/// Panics: in CI, if there are none.
pub fn have_users(tools: &[&str]) -> bool {
    let has_others = bofuss_channel::is_user(locked::NOBODY);
    assert!(
        has_others || std::env::var_os("CI").is_none(),
        "needs other users: run as root"
    );
    if !has_others {
        println!("not run: needs other users, which only root has");
    }
    has_others && have(tools)
}

/// A program of ours: in the folder that the runner sets, or where cargo puts it.
pub fn program(name: &str) -> PathBuf {
    let built = || {
        std::env::current_exe()
            .unwrap()
            .ancestors()
            .nth(2)
            .unwrap()
            .to_path_buf()
    };
    std::env::var_os("BOFUSS_BIN_DIR")
        .map_or_else(built, PathBuf::from)
        .join(name)
}

/// The Python with the controllers.
pub fn python() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    std::env::var_os("BOFUSS_PYTHON").map_or(root.join("target/venv/bin/python"), PathBuf::from)
}

/// The Python with ryu.
pub fn ryu_python() -> PathBuf {
    let target = python().ancestors().nth(3).unwrap().to_path_buf();
    target.join("venv-ryu/bin/python")
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Returns what a command prints, on both streams. Panics: if it fails.
pub fn ok(command: &mut Command) -> String {
    let output = run(command);
    let text = printed(&output);
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

/// Both streams of a finished command.
pub fn printed(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// Runs `ip` with arguments separated by blanks.
pub fn ip(arguments: &str) -> String {
    ok(Command::new("ip").args(arguments.split_whitespace()))
}

/// Requests a page over HTTP. Returns head and body of the answer.
pub fn get(address: &str, path: &str, header: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{header}");
    write!(stream, "{}\r\n\r\n", head.trim_end()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.into(), body.into())
}

/// Runs a shell script as a plain user who may call sudo, in namespaces of its own; see `users.sh`.
/// Returns what it prints. Panics: if it fails.
pub fn as_user(script: &str) -> String {
    ok(&mut users_command(script))
}

/// The command that runs a script so.
pub fn users_command(script: &str) -> Command {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new("unshare");
    command.args([
        "-nm",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
    ]);
    command.arg(root.join("tests/users.sh"));
    command.args([program("bofuss"), program("dpctl"), root]);
    command
        .arg(python().ancestors().nth(2).unwrap())
        .arg(script);
    command
}

/// Waits until `condition` holds. Panics: if it takes longer than [`PATIENCE`].
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A process that is stopped when dropped.
pub struct Process(pub Child);

impl Process {
    /// Starts a command.
    pub fn start(command: &mut Command) -> Self {
        Self(
            command
                .spawn()
                .unwrap_or_else(|error| panic!("{command:?}: {error}")),
        )
    }

    /// Sends SIGTERM. Returns the exit code.
    pub fn terminate(&mut self) -> Option<i32> {
        ok(Command::new("kill").arg(self.0.id().to_string()));
        until("the process ends", || self.0.try_wait().unwrap().is_some());
        self.0.wait().unwrap().code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A switch with one host at each port; host i has the address 10.0.0.i.
pub struct Lab {
    /// The switch's process.
    pub switch: Process,
    /// Its name.
    pub name: String,
    hosts: BTreeMap<u8, NetNs>,
    log: PathBuf,
    /// The address on which it listens for tools, if an argument says so.
    tcp: Option<String>,
}

impl Lab {
    /// Starts a switch with hosts 1 to n on ports 1 to n, and waits until all is up.
    pub fn new(hosts: u8, arguments: &[&str]) -> Self {
        Self::start(1..=hosts, arguments, true)
    }

    /// The same, where a configuration file says which ports the switch has.
    pub fn with_file(hosts: u8, arguments: &[&str]) -> Self {
        Self::start(1..=hosts, arguments, false)
    }

    /// The same with other numbers of hosts, whose ports follow those that the arguments name.
    pub fn with_hosts(hosts: RangeInclusive<u8>, arguments: &[&str]) -> Self {
        Self::start(hosts, arguments, true)
    }

    fn start(hosts: RangeInclusive<u8>, arguments: &[&str], with_ports: bool) -> Self {
        let number = NEXT.fetch_add(1, Relaxed);
        let name = format!("t{}-{number}", std::process::id());
        let hosts: BTreeMap<_, _> = hosts.map(|i| (i, host(number, i))).collect();
        let log = std::env::temp_dir().join(format!("bofuss-{name}.log"));
        let mut command = Command::new(program("bofuss"));
        command
            .args(["run", "--name", &name, "--log", "debug"])
            .args(arguments);
        command.args(asked::workers(arguments));
        for i in hosts.keys().filter(|_| with_ports) {
            command.args(["--port", &port(number, *i)]);
        }
        command
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).unwrap());
        let switch = Process::start(&mut command);
        let mut listens = arguments
            .iter()
            .filter_map(|word| word.strip_prefix("ptcp:"));
        let tcp = listens.next().map(|port| format!("tcp:127.0.0.1:{port}"));
        let lab = Self {
            switch,
            name,
            hosts,
            log,
            tcp,
        };
        let lines = ["waiting for controllers", ": P4 program "];
        let says = |line: &&str| lab.log().contains(line);
        until("the switch runs", || lines.iter().any(says));
        lab
    }

    /// The switch's log so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Memory that the switch has, in KiB.
    pub fn resident_kib(&self) -> usize {
        let file = format!("/proc/{}/status", self.switch.0.id());
        let status = std::fs::read_to_string(file).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS"));
        let kib = line.unwrap().split_whitespace().nth(1);
        kib.unwrap().parse().unwrap()
    }

    /// Runs `work` inside a host.
    pub fn host<T: Send>(&self, number: u8, work: impl FnOnce() -> T + Send) -> T {
        self.hosts[&number].run(work).unwrap()
    }

    /// Ends a host's network, and the cable with it.
    pub fn lose_host(&mut self, number: u8) {
        self.hosts.remove(&number);
    }

    /// The socket of the switch, as an address.
    pub fn address(&self) -> String {
        let sockets = bofuss_channel::run_sockets("sock", Some(&self.name));
        let socket = sockets.first().expect("the switch has a socket");
        format!("unix:{}", socket.path.display())
    }

    /// Runs our `dpctl` on this switch.
    pub fn dpctl(&self, arguments: &[&str]) -> Output {
        run(Command::new(program("dpctl"))
            .arg(&self.name)
            .args(arguments))
    }

    /// Returns what our `dpctl` prints about this switch. Panics: if it fails.
    pub fn asks(&self, arguments: &[&str]) -> String {
        let output = self.dpctl(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            printed(&output)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// The address for tools: over TCP if it listens there, so that it can be captured.
    pub fn tools_address(&self) -> String {
        self.tcp.clone().unwrap_or_else(|| self.address())
    }

    /// Runs `ovs-ofctl` on this switch in 1.3. Returns what it prints, and whether it succeeded.
    pub fn ofctl(&self, verb: &str, arguments: &[&str]) -> (String, bool) {
        self.ofctl13().run(verb, arguments)
    }

    /// `ovs-ofctl` on this switch, in 1.3.
    pub fn ofctl13(&self) -> Ofctl<'_> {
        Ofctl {
            lab: self,
            version: "OpenFlow13",
        }
    }

    /// Waits until every host reaches every other.
    pub fn all_ping(&self) {
        for &from in self.hosts.keys() {
            for &to in self.hosts.keys().filter(|to| **to != from) {
                until("each host reaches each other", || self.pings(from, to));
            }
        }
    }

    /// Moves `megabytes` over TCP from one host to another, and checks what arrives.
    pub fn tcp(&self, from: u8, to: u8, megabytes: usize) {
        self.tcp_between((from, address(from)), (to, address(to)), megabytes);
    }

    /// The same between these addresses of the hosts.
    pub fn tcp_between(&self, from: (u8, Ipv4Addr), to: (u8, Ipv4Addr), megabytes: usize) {
        let listener = self.host(to.0, || TcpListener::bind((to.1, 5001)).unwrap());
        let pattern: Vec<u8> = (0..1 << 20).map(|i: u32| (i % 251) as u8).collect();
        std::thread::scope(|scope| {
            let pattern = &pattern;
            scope.spawn(move || {
                self.host(from.0, || {
                    let to = SocketAddr::from((to.1, 5001));
                    let mut stream = TcpStream::connect_timeout(&to, PATIENCE).unwrap();
                    (0..megabytes).for_each(|_| stream.write_all(pattern).unwrap());
                });
            });
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut block = vec![0; pattern.len()];
            for _ in 0..megabytes {
                stream.read_exact(&mut block).unwrap();
                assert!(block == *pattern, "the bytes arrive as they were sent");
            }
        });
    }

    /// Sends one datagram and waits for it at the other end, a host of this switch.
    pub fn udp(&self, from: u8, to: u8) {
        let receiver = self.host(to, || UdpSocket::bind((address(to), 7)).unwrap());
        receiver.set_read_timeout(Some(PATIENCE)).unwrap();
        self.host(from, || {
            let sender = UdpSocket::bind((address(from), 0)).unwrap();
            sender
                .send_to(b"over the switch", (address(to), 7))
                .unwrap();
        });
        let mut data = [0; 64];
        let (count, sender) = receiver.recv_from(&mut data).unwrap();
        assert_eq!(
            (&data[..count], sender.ip()),
            (&b"over the switch"[..], address(from).into())
        );
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.log());
        }
        let _ = std::fs::remove_file(&self.log);
        let number = self.name.rsplit('-').next().unwrap_or_default();
        for i in self.hosts.keys() {
            let _ = run(Command::new("ip").args(["link", "del", &format!("s{number}-{i}")]));
        }
    }
}

/// The switch's end of a cable.
pub fn port(lab: u32, host: u8) -> String {
    format!("s{lab}-{host}")
}

impl Lab {
    /// The interface of a port.
    pub fn port(&self, host: u8) -> String {
        let number = self.name.rsplit('-').next().unwrap();
        port(number.parse().unwrap(), host)
    }
}

/// A host's address.
pub fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host)
}

/// A host in a network of its own, with the switch's end of its cable here.
pub fn host(lab: u32, number: u8) -> NetNs {
    use std::os::fd::{AsFd, AsRawFd};
    let namespace = NetNs::new().unwrap();
    let there = format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        namespace.as_fd().as_raw_fd()
    );
    let port = port(lab, number);
    ip(&format!(
        "link add {port} type veth peer name eth0 address 02:00:00:00:00:0{number} netns {there}"
    ));
    ip(&format!("link set {port} up"));
    let ready = || {
        let _ = std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        ip("link set lo up");
        ip(&format!("address add {}/24 dev eth0", address(number)));
        ip("link set eth0 up");
        until("the link is up", || {
            ip("link show eth0").contains("state UP")
        });
    };
    namespace.run(ready).unwrap();
    namespace
}

/// Captures what passes over loopback at a TCP port, and checks that all of it is well-formed
/// OpenFlow.
pub struct Capture {
    process: Process,
    file: PathBuf,
}

impl Capture {
    /// Begins to capture.
    pub fn start(tcp_port: u16) -> Self {
        let number = NEXT.fetch_add(1, Relaxed);
        let name = format!("bofuss-{}-{number}.pcap", std::process::id());
        let file = std::env::temp_dir().join(name);
        // Unlike tcpdump it works in a user namespace.
        let mut command = Command::new("dumpcap");
        command.args(["-q", "-P", "-i", "lo", "-w"]).arg(&file);
        command.args(["-f", &format!("tcp port {tcp_port}")]);
        let process = Process::start(command.stderr(Stdio::null()));
        until("the capture begins", || {
            file.metadata().is_ok_and(|file| file.len() > 0)
        });
        Self { process, file }
    }

    /// Ends the capture. Panics: if tshark finds a malformed message, or no OpenFlow 1.3 at all.
    pub fn is_well_formed(self, tcp_port: u16) {
        self.is_well_formed_in(tcp_port, "openflow_v4.type");
    }

    /// The same for the version in which tshark calls the type of a message `field`.
    pub fn is_well_formed_in(mut self, tcp_port: u16, field: &str) {
        // dumpcap gets packets in blocks, once a second.
        std::thread::sleep(Duration::from_millis(1500));
        self.process.terminate();
        let decode = format!("tcp.port=={tcp_port},openflow");
        let tshark = |filter: &str| {
            let mut command = Command::new("tshark");
            // Loopback may show the segments of a long message in another order.
            command.args(["-o", "tcp.reassemble_out_of_order:TRUE", "-r"]);
            command.arg(&self.file);
            let output = run(command.args(["-d", &decode, "-Y", filter]));
            assert!(output.status.success(), "{}", printed(&output));
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert!(!tshark(field).is_empty(), "{field} was captured");
        let known = misread::MISREAD
            .iter()
            .map(|(messages, _)| format!("!({messages})"));
        let known: Vec<String> = known.collect();
        let read = format!("{field} && {}", known.join(" && "));
        assert_eq!(tshark(&format!("_ws.malformed && {read}")), "");
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}
