//! `bofuss demo`: three hosts on a switch, in network namespaces of its own.
//!
//! Namespaces, interfaces and sockets belong to this process and vanish with it.

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use bofuss_oflib::Mac;
use bofuss_ports::NetNs;

use crate::config::Options;
use crate::error::{Result, context};
use crate::process::Process;

mod scenes;
mod traffic;

/// The number of hosts; host n has the address 10.0.0.n and is on port n.
const HOSTS: u8 = 3;
/// The time to wait for a reply of the switch.
const REPLY_WAIT: Duration = Duration::from_secs(5);
/// The time to wait for a link.
const LINK_WAIT: Duration = Duration::from_secs(5);

/// Options of `bofuss demo`.
#[derive(Clone, Debug, clap::Args)]
pub struct DemoOptions {
    /// Keep everything running at the end, and print what to try next.
    #[arg(long)]
    keep: bool,
    /// Let this controller program the switch: tcp:HOST[:PORT] as this shell reaches it, or
    /// unix:FILE.
    #[arg(long, value_name = "ADDRESS")]
    controller: Option<String>,
}

/// The network namespaces of the switch and the hosts.
struct Lab {
    switch: NetNs,
    hosts: Vec<NetNs>,
}

/// Runs the demo; `stopped` ends it early. Errors: a sentence for the user.
pub async fn demo(options: DemoOptions, stopped: impl Future<Output = ()>) -> Result<()> {
    let program = std::env::args().next().unwrap_or_else(|| "bofuss".into());
    let lab = Lab::new().map_err(|error| {
        if error.kind() == io::ErrorKind::PermissionDenied {
            format!("creating network namespaces is not permitted; type: sudo {program} demo")
        } else {
            format!("creating network namespaces: {error}")
        }
    })?;
    lab.connect()?;
    let config = Options {
        name: Some(format!("demo-{}", std::process::id())),
        dpid: Some("0x1".into()),
        ports: (1..=HOSTS).map(port_name).collect(),
        controllers: options.controller.iter().cloned().collect(),
        // Without a controller, the scenes add all entries.
        fail_mode: Some("secure".into()),
        ..Options::default()
    }
    .check()?;
    let into = lab.switch.try_clone().map_err(context("namespace"))?;
    let enter = Box::new(move || {
        into.enter()
            .map_err(context("entering the switch's namespace"))
    });
    let process = Process::start(vec![config], None, Some(enter)).await?;
    let socket = process.socket().to_path_buf();
    let (done, finished) = tokio::sync::oneshot::channel();
    let controlled = options.controller.clone();
    let lab = Arc::new(lab);
    let scene = Arc::clone(&lab);
    thread::Builder::new()
        .name("demo".into())
        .spawn(move || drop(done.send(scenes::play(&scene, &socket, controlled.as_deref()))))
        .map_err(context("thread"))?;
    let mut stopped = std::pin::pin!(stopped);
    let mut played = tokio::select! {
        result = finished => result.unwrap_or_else(|_| Err("the demo's thread died".into())),
        () = &mut stopped => Err("interrupted; everything is cleaned up".into()),
    };
    if played.is_ok() && options.keep {
        while_up(&process, &lab)?;
        process.until(stopped).await?;
    } else {
        played = played.and_then(|()| what_next());
        // The switch gives back what it changed.
        process.until(std::future::ready(())).await?;
    }
    played?;
    println!("\nCleaned up.");
    Ok(())
}

fn port_name(host: u8) -> String {
    format!("s1-h{host}")
}

fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host)
}

/// The Ethernet address of a host: the first ends in 11, the second in 22, and so on.
fn mac(host: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, 0x11 * host])
}

/// Runs a program to its end and returns its output. Errors: what it wrote, or that it is missing.
fn run(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                format!(
                    "the program '{program}' is missing; type: apt install iproute2 iputils-ping"
                )
            } else {
                format!("{program}: {error}")
            }
        })?;
    if output.status.success() {
        Ok(trimmed(&output.stdout))
    } else {
        let arguments = arguments.join(" ");
        let error = trimmed(&output.stderr);
        Err(format!("{program} {arguments}: {error}").into())
    }
}

impl Lab {
    fn new() -> io::Result<Self> {
        let hosts = (0..HOSTS)
            .map(|_| NetNs::new())
            .collect::<io::Result<_>>()?;
        Ok(Self {
            switch: NetNs::new()?,
            hosts,
        })
    }

    fn host(&self, number: u8) -> &NetNs {
        &self.hosts[usize::from(number) - 1]
    }

    /// Connects each host to the switch by a veth pair.
    fn connect(&self) -> Result<()> {
        for host in 1..=HOSTS {
            let port = port_name(host);
            let there = path(self.host(host));
            let mac = mac(host).to_string();
            let ip = format!("{}/24", address(host));
            self.switch
                .run(|| {
                    disable_ipv6();
                    run(
                        "ip",
                        &[
                            "link", "add", &port, "type", "veth", "peer", "name", "eth0",
                            "address", &mac, "netns", &there,
                        ],
                    )?;
                    run("ip", &["link", "set", &port, "up"])
                })
                .map_err(context("switch"))??;
            self.host(host)
                .run(|| {
                    disable_ipv6();
                    run("ip", &["address", "add", &ip, "dev", "eth0"])?;
                    run("ip", &["link", "set", "lo", "up"])?;
                    run("ip", &["link", "set", "eth0", "up"])
                })
                .map_err(context("host"))??;
        }
        for host in 1..=HOSTS {
            let port = port_name(host);
            self.switch
                .run(|| wait_for_link(&port))
                .map_err(context("switch"))??;
            self.host(host)
                .run(|| wait_for_link("eth0"))
                .map_err(context("host"))??;
        }
        Ok(())
    }
}

/// Waits until an interface is up: the kernel takes up to a second to notice the carrier.
fn wait_for_link(name: &str) -> Result<()> {
    let until = Instant::now() + LINK_WAIT;
    while !run("ip", &["link", "show", name])?.contains("state UP") {
        if Instant::now() > until {
            return Err(format!("the link of {name} does not come up").into());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A path by which any program can enter the namespace while this process runs.
fn path(namespace: &NetNs) -> String {
    use std::os::fd::{AsFd, AsRawFd};
    format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        namespace.as_fd().as_raw_fd()
    )
}

fn trimmed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_string()
}

/// Disables IPv6 in the namespace of this thread: its own packets would be in the way.
fn disable_ipv6() {
    // A kernel without IPv6 has no such file.
    let _ = fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
}

/// Prints what to try next, in three lines: with make if the program was built in the tree,
/// otherwise with the installed programs.
fn what_next() -> Result<()> {
    let program = std::env::current_exe().map_err(context("own path"))?;
    let lines = if program
        .parent()
        .is_some_and(|folder| folder.ends_with("demo"))
    {
        [
            (
                "make demo ARGS=--keep",
                "the same, kept running for entries of your own",
            ),
            (
                "make build",
                "the programs as they are released; README.md says how to run them",
            ),
            (
                "docs/guide/lecture.md",
                "more with Mininet, captures, a controller in Python",
            ),
        ]
    } else {
        [
            (
                "sudo bofuss demo --keep",
                "the same, kept running for entries of your own",
            ),
            ("bofuss run --help", "a switch with ports of your own"),
            (
                "dpctl help",
                "entries, groups, meters and statistics of a switch",
            ),
        ]
    };
    scenes::title("What next");
    lines
        .iter()
        .for_each(|(words, what)| println!("  {words:25} {what}"));
    Ok(())
}

/// Prints what to try while everything runs; each line can be pasted into another shell.
fn while_up(process: &Process, lab: &Lab) -> Result<()> {
    let socket = process.socket().display();
    let pid = std::process::id();
    let program = std::env::current_exe().map_err(context("own path"))?;
    let dpctl_path = program.with_file_name("dpctl");
    let dpctl = dpctl_path.display();
    let enter = enter_command(pid, &path(lab.host(1)));
    scenes::title("Running until Ctrl-C. In another shell, try");
    println!("  a shell in host h1       {enter} sh");
    println!("  h1 pings h3              {enter} ping -c 3 10.0.0.3");
    println!("  the flow table           {dpctl} unix:{socket} dump-flows");
    println!("  a flow of your own       {dpctl} unix:{socket} add-flow in_port=3,actions=drop");
    println!("  another tool             ovs-ofctl -O OpenFlow13 dump-ports unix:{socket}");
    println!(
        "  a controller decides     {} demo --keep --controller tcp:127.0.0.1:6653",
        program.display()
    );
    Ok(())
}

/// The command by which another shell enters a network namespace of this process, and first the
/// user namespace that this process may have made for lack of rights.
fn enter_command(pid: u32, namespace: &str) -> String {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    // Only the first user namespace maps all ids, 2^32 - 1.
    if map.split_whitespace().nth(2) != Some("4294967295") {
        return format!("nsenter -t {pid} -U --preserve-credentials --net={namespace}");
    }
    let sudo = match std::env::var_os("SUDO_USER") {
        Some(_) => "sudo ",
        None => "",
    };
    format!("{sudo}nsenter --net={namespace}")
}
