//! The test bed: two hosts in network namespaces of their own, and veth pairs to the set-up.

use std::fmt::Display;
use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::time::Duration;

use bofuss_ports::NetNs;

use crate::error::{Error, Result};

/// Host A's address.
pub const A_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
/// Host B's address.
pub const B_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
/// Host A's Ethernet address.
pub const A_MAC: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
/// Host B's Ethernet address.
pub const B_MAC: [u8; 6] = [2, 0, 0, 0, 0, 0xb];
/// The name of a host's own interface.
pub const HOST_PORT: &str = "eth0";
/// The ends of the veth pairs at the switch.
pub const SWITCH_PORTS: [&str; 2] = ["sa", "sb"];
/// The offloads that a veth has.
const OFFLOADS: [&str; 5] = ["tx", "tso", "gso", "gro", "sg"];

/// Two hosts, connected.
pub struct Bed {
    a: NetNs,
    b: NetNs,
}

/// Runs a program with arguments separated by blanks, and returns its output.
///
/// Errors: its error output.
pub fn run(words: &str) -> Result<String> {
    let mut list = words.split_whitespace();
    let program = list.next().expect("a command names a program");
    let output = Command::new(program)
        .args(list)
        .output()
        .map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let error = String::from_utf8_lossy(&output.stderr);
        Err(format!("{words}: {error}").into())
    }
}

/// An Ethernet address as `ip` writes it.
pub fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Puts what failed before an error.
pub fn context<E: Display>(what: impl Display + Copy) -> impl Fn(E) -> Error + Copy {
    move |error| format!("{what}: {error}").into()
}

/// Runs lines of `ip`'s commands.
///
/// Errors: its error output.
pub fn run_batch(lines: &str) -> Result<()> {
    run_lines("ip", lines)
}

/// Runs lines of the commands of a program that takes them as `ip` does.
///
/// Errors: its error output.
pub fn run_lines(program: &str, lines: &str) -> Result<()> {
    let failed = context(program);
    let mut command = Command::new(program);
    command.args(["-batch", "-"]).stdin(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(failed)?;
    let mut input = child.stdin.take().expect("it was asked for");
    input.write_all(lines.as_bytes()).map_err(failed)?;
    drop(input);
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        Ok(())
    } else {
        let error = String::from_utf8_lossy(&output.stderr);
        Err(format!("{program}: {error}").into())
    }
}

/// The path that names a namespace of this process for `ip`.
pub fn namespace_path(namespace: &NetNs) -> String {
    use std::os::fd::{AsFd, AsRawFd};
    let fd = namespace.as_fd().as_raw_fd();
    format!("/proc/{}/fd/{fd}", std::process::id())
}

impl Bed {
    /// Creates two hosts and their veth pairs: to each other if `direct`, otherwise to
    /// [`SWITCH_PORTS`].
    ///
    /// Errors: the system's, also without the right to make interfaces.
    pub fn new(direct: bool, offloads: bool) -> Result<Self> {
        let this = Self {
            a: NetNs::new().map_err(context("a network namespace"))?,
            b: NetNs::new().map_err(context("a network namespace"))?,
        };
        let a = namespace_path(&this.a);
        let b = namespace_path(&this.b);
        if direct {
            run(&format!(
                "ip link add {HOST_PORT} netns {a} type veth peer name {HOST_PORT} netns {b}"
            ))?;
        } else {
            for (port, there) in SWITCH_PORTS.iter().zip([&a, &b]) {
                run(&format!(
                    "ip link add {port} type veth peer name {HOST_PORT} netns {there}"
                ))?;
                disable_ipv6(port);
                set_offloads(port, offloads)?;
                run(&format!("ip link set {port} up"))?;
            }
        }
        this.host(false, || host(A_MAC, A_ADDRESS, B_MAC, B_ADDRESS, offloads))?;
        this.host(true, || host(B_MAC, B_ADDRESS, A_MAC, A_ADDRESS, offloads))?;
        Ok(this)
    }

    /// Runs `work` in a host: in B if `far`, otherwise in A.
    ///
    /// Errors: those of `work`, or of entering the namespace.
    pub fn host<T: Send>(&self, far: bool, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let namespace = if far { &self.b } else { &self.a };
        namespace.run(work).map_err(|e| format!("a host: {e}"))?
    }

    /// Switches the offloads of both hosts, and of the switch's ports if there are some.
    ///
    /// Errors: the system's.
    pub fn set_offloads(&self, on: bool) -> Result<()> {
        for far in [false, true] {
            self.host(far, || set_offloads(HOST_PORT, on))?;
        }
        for port in SWITCH_PORTS {
            // Two hosts on one cable have no ports of a switch.
            let _ = set_offloads(port, on);
        }
        Ok(())
    }

    /// The number of frames that a host has received.
    ///
    /// Errors: the system's.
    pub fn received(&self, far: bool) -> Result<u64> {
        self.host(far, || {
            let counters = run(&format!("ip -s link show {HOST_PORT}"))?;
            let mut lines = counters.lines();
            let _ = lines.find(|line| line.trim_start().starts_with("RX:"));
            let packets = lines
                .next()
                .and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
            packets.ok_or_else(|| format!("ip -s link shows: {counters}").into())
        })
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        for port in SWITCH_PORTS {
            let _ = run(&format!("ip link del {port}"));
        }
    }
}

/// Disables IPv6 on an interface, on which the kernel would send packets by itself.
pub fn disable_ipv6(interface: &str) {
    // Without IPv6 in the kernel there is nothing to disable.
    let path = format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6");
    let _ = std::fs::write(path, "1");
}

/// Switches the offloads of an interface.
///
/// Errors: the system's.
pub fn set_offloads(interface: &str, on: bool) -> Result<()> {
    let state = if on { " on" } else { " off" };
    let words = OFFLOADS.map(|name| format!("{name}{state}")).join(" ");
    run(&format!("ethtool -K {interface} {words}")).map(drop)
}

/// The offloads of an interface that are on, in words.
pub fn offloads_on(interface: &str) -> String {
    on_in(&run(&format!("ethtool -k {interface}")).unwrap_or_default())
}

/// Those in a list of `ethtool -k`, in which the parts of an offload are indented.
fn on_in(listed: &str) -> String {
    if listed.is_empty() {
        return "unknown".into();
    }
    let whole = listed.lines().filter(|line| !line.starts_with('\t'));
    let states = whole.filter_map(|line| line.split_once(": "));
    let on = states.filter(|(_, state)| state.starts_with("on"));
    let names: Vec<&str> = on.map(|(name, _)| name).collect();
    if names.is_empty() {
        return "none".into();
    }
    names.join(", ")
}

/// Configures a namespace as a host with a static neighbour entry for the other host.
fn host(
    mac: [u8; 6],
    address: Ipv4Addr,
    peer_mac: [u8; 6],
    peer: Ipv4Addr,
    offloads: bool,
) -> Result<()> {
    disable_ipv6("all");
    disable_ipv6(HOST_PORT);
    run(&format!(
        "ip link set {HOST_PORT} address {}",
        mac_text(mac)
    ))?;
    set_offloads(HOST_PORT, offloads)?;
    run(&format!("ip address add {address}/24 dev {HOST_PORT}"))?;
    run("ip link set lo up")?;
    run(&format!("ip link set {HOST_PORT} up"))?;
    let peer_mac = mac_text(peer_mac);
    run(&format!(
        "ip neighbour add {peer} lladdr {peer_mac} dev {HOST_PORT}"
    ))?;
    std::thread::sleep(Duration::from_millis(20));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offloads_that_are_on_are_named_or_unknown() {
        let listed = "Features for eth1:\nrx-checksumming: on\ntx-checksumming: off\n\
                      \ttx-checksum-ipv4: on\ngeneric-receive-offload: on [fixed]\n";
        assert_eq!(on_in(listed), "rx-checksumming, generic-receive-offload");
        assert_eq!(on_in("Features for eth1:\ntx-checksumming: off\n"), "none");
        assert_eq!(on_in(""), "unknown");
    }
}
