//! The demo's network namespaces: a switch and three hosts, connected by veth pairs.

use std::net::Ipv4Addr;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use bofuss_oflib::Mac;
use bofuss_ports::NetNs;

use crate::error::{Result, context};

/// The number of hosts; host n has the address 10.0.0.n and is on port n.
pub(super) const HOSTS: u8 = 3;
/// The time to wait for a reply of the switch.
pub(super) const REPLY_WAIT: Duration = Duration::from_secs(5);
/// The time to wait for a link.
const LINK_WAIT: Duration = Duration::from_secs(5);

/// The network namespaces of the switch and the hosts.
pub(super) struct Lab {
    pub(super) switch: NetNs,
    hosts: Vec<NetNs>,
}

pub(super) fn port_name(host: u8) -> String {
    format!("s1-h{host}")
}

pub(super) fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host)
}

/// The Ethernet address of a host: the first ends in 11, the second in 22, and so on.
pub(super) fn mac(host: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, 0x11 * host])
}

/// Runs a program to its end and returns its output. Errors: what it wrote, or that it is missing.
pub(super) fn run(program: &str, arguments: &[&str]) -> Result<String> {
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
    pub(super) fn new() -> io::Result<Self> {
        let hosts = (0..HOSTS)
            .map(|_| NetNs::new())
            .collect::<io::Result<_>>()?;
        Ok(Self {
            switch: NetNs::new()?,
            hosts,
        })
    }

    pub(super) fn host(&self, number: u8) -> &NetNs {
        &self.hosts[usize::from(number) - 1]
    }

    /// Connects each host to the switch by a veth pair.
    pub(super) fn connect(&self) -> Result<()> {
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
pub(super) fn path(namespace: &NetNs) -> String {
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
