//! Machines whose switches are joined by tunnels of the kernel, as in docs/several-machines.md.
//! Network namespaces take the place of the machines.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use bofuss_ports::NetNs;
use bofuss_tests::{have, ip, printed, program, run, until};

const PAGE: &str = include_str!("../docs/several-machines.md");
const TOOLS: &[&str] = &["ip", "ping", "iperf3", "ss"];
/// Starts a server for one client on the host of machine 2.
const SERVER: &str = "ip netns exec h2 iperf3 --server --one-off --daemon";

/// The blocks of commands of the page that say where they are typed: where, and what.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let fenced = PAGE.split("\n```").skip(1).step_by(2);
    let blocks = fenced.filter_map(|block| block.strip_prefix("\n# on ")?.split_once('\n'));
    blocks.collect()
}

/// Networks in place of machines, whose interface `lan0` leads to all others.
struct Machines(Vec<NetNs>);

/// A network by a path, for `ip`.
fn path(network: &NetNs) -> String {
    use std::os::fd::{AsFd, AsRawFd};
    let descriptor = network.as_fd().as_raw_fd();
    format!("/proc/{}/fd/{descriptor}", std::process::id())
}

impl Machines {
    /// Two with a cable. They are 192.0.2.1 and 192.0.2.2.
    fn two() -> Self {
        let machines = Self((0..2).map(|_| NetNs::new().unwrap()).collect());
        let [first, second] = [0, 1].map(|i| path(&machines.0[i]));
        let cable = "type veth peer name lan0 netns";
        ip(&format!("link add lan0 netns {first} {cable} {second}"));
        machines.up("192.0.2.{}/24");
        machines
    }

    /// Three at a bridge of the kernel, which the last network is. They are fd00::1 to fd00::3.
    fn three() -> Self {
        let machines = Self((0..4).map(|_| NetNs::new().unwrap()).collect());
        let bridge = path(&machines.0[3]);
        machines.on(3, "ip link add br0 type bridge\nip link set br0 up");
        for (network, number) in machines.0[..3].iter().zip(1..) {
            let end = path(network);
            ip(&format!(
                "link add lan0 netns {end} type veth peer name b{number} netns {bridge}"
            ));
            machines.on(3, &format!("ip link set b{number} master br0 up"));
        }
        machines.up("fd00::{}/64 nodad");
        machines
    }

    /// Gives each `lan0` an address with its number.
    fn up(&self, address: &str) {
        for (number, network) in (1..).zip(&self.0) {
            let address = address.replace("{}", &i32::to_string(&number));
            let script = format!("ip link set lo up\nip address add {address} dev lan0");
            if network.run(|| ip("link")).unwrap().contains("lan0") {
                self.on(number as usize - 1, &script);
                self.on(number as usize - 1, "ip link set lan0 up");
            }
        }
    }

    /// Runs commands on a machine. Returns what they print, and whether all succeed.
    fn tries(&self, machine: usize, script: &str) -> (String, bool) {
        let programs = program("bofuss").parent().unwrap().display().to_string();
        let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
        // A program in the background would hold the output open.
        let script = format!("{script}\n").replace(" &\n", " >/dev/null 2>&1 &\n");
        let mut sh = Command::new("sh");
        sh.args(["-euc", &script]).env("PATH", path);
        let output = self.0[machine].run(|| run(&mut sh)).unwrap();
        (printed(&output), output.status.success())
    }

    /// Runs commands on a machine. Returns what they print. Panics: if one fails.
    fn on(&self, machine: usize, script: &str) -> String {
        let (said, succeeds) = self.tries(machine, script);
        assert!(succeeds, "on machine {}: {script}\n{said}", machine + 1);
        said
    }

    /// Runs a block of the page. Returns what it prints.
    fn block(&self, (place, script): (&str, &str)) -> String {
        match place {
            "192.0.2.1" => self.on(0, script),
            "192.0.2.2" => self.on(1, script),
            "both" => self.on(0, script) + &self.on(1, script),
            other => panic!("there is no machine {other}"),
        }
    }

    /// Waits until the server on the host of machine 2 listens: its daemon does so some time after
    /// the command has ended.
    fn listens(&self) {
        let sockets = || self.on(1, "ip netns exec h2 ss -ltn");
        until("iperf3 listens", || sockets().contains(":5201 "));
    }

    /// The number that the switch of a machine counts under a reason, at its port to the tunnel.
    fn counts(&self, machine: usize, reason: &str) -> u64 {
        let said = self.on(machine, &format!("bofuss ctl s{} counters", machine + 1));
        let line = format!("port 2 {reason} ");
        let mut lines = said.lines();
        lines
            .find_map(|text| text.strip_prefix(&line))
            .unwrap()
            .parse()
            .unwrap()
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for machine in 0..self.0.len() {
            let number = machine + 1;
            let _ = self.tries(machine, &format!("bofuss ctl s{number} shutdown"));
            let _ = self.tries(machine, &format!("ip netns delete h{number}"));
        }
    }
}

/// The packets with wrong checksums that a kernel has counted, of `/proc/net/snmp`.
fn wrong_checksums(counters: &str) -> u64 {
    let mut sum = 0;
    for pair in counters.lines().collect::<Vec<_>>().windows(2) {
        let mut columns = pair[0].split(' ').zip(pair[1].split(' '));
        let wrong = columns.find(|(name, _)| *name == "InCsumErrors");
        sum += wrong.map_or(0, |(_, value)| value.parse().unwrap_or(0));
    }
    sum
}

#[test]
fn two_machines_are_one_network_by_the_commands_of_the_page() {
    if !have(TOOLS) {
        return;
    }
    let machines = Machines::two();
    let [first, second, ping, server, client, jumbo, host2, host1] = blocks()[..] else {
        panic!("the page has other blocks than the test knows");
    };
    machines.block(first);
    machines.block(second);
    until("both switches run", || {
        (0..2).all(|i| machines.tries(i, &format!("bofuss ctl s{} ports", i + 1)).1)
    });
    until("the hosts reach each other", || {
        machines
            .tries(0, "ip netns exec h1 ping -c 1 -W 1 10.0.0.2")
            .1
    });
    let said = machines.block(ping);
    assert!(said.contains(" 0% packet loss"), "{said}");
    machines.block(server);
    machines.listens();
    let said = machines.block(client);
    let received = said
        .lines()
        .find(|line| line.ends_with("receiver"))
        .unwrap();
    assert!(
        received.contains(" MBytes ") || received.contains(" GBytes "),
        "{said}"
    );
    let below = machines.on(0, "bofuss ctl s1 accelerator");
    let forwarded = below.lines().find_map(|line| line.strip_prefix("packets "));
    let forwarded = forwarded.map(|count| count.parse::<u64>().unwrap());
    assert!(
        !below.starts_with("on\n") || forwarded > Some(1000),
        "{below}"
    );
    // UDP and the other direction.
    machines.on(1, SERVER);
    machines.listens();
    let datagrams = "ip netns exec h1 iperf3 --client 10.0.0.2 --udp --reverse --time 1 -b 10M";
    let said = machines.on(0, datagrams);
    // A busy machine may lose some in its sockets.
    assert!(
        said.contains("receiver") && !said.contains("(100%)"),
        "{said}"
    );
    for machine in [0, 1] {
        for reason in ["tx_too_long", "tx_shape", "rx_too_long", "rx_shape"] {
            assert_eq!(machines.counts(machine, reason), 0, "{reason}");
        }
        let host = machine + 1;
        let counters = machines.on(
            machine,
            &format!("ip netns exec h{host} cat /proc/net/snmp"),
        );
        assert!(counters.contains("InCsumErrors"), "{counters}");
        assert_eq!(wrong_checksums(&counters), 0, "{counters}");
        let outer = machines.on(machine, "cat /proc/net/snmp");
        assert_eq!(wrong_checksums(&outer), 0, "{outer}");
    }

    machines.block(host2);
    machines.on(0, "ip -n h1 link set eth0 mtu 1500");
    let ping = |bytes: usize| {
        let ping = format!("ip netns exec h1 ping -c 2 -i 0.2 -W 1 -M do -s {bytes} 10.0.0.2");
        machines.tries(0, &ping).1
    };
    assert!(ping(1422), "what fits passes");
    assert!(!ping(1423), "a byte more does not");
    assert_eq!(machines.counts(0, "tx_too_long"), 2);
    machines.block(jumbo);
    let said = machines.block(host1);
    assert!(said.contains(" 0% packet loss"), "{said}");
    assert_eq!(machines.counts(0, "tx_too_long"), 2);
}

#[test]
fn three_machines_with_a_tunnel_between_each_two_are_one_network_by_arp_path() {
    if !have(TOOLS) {
        return;
    }
    let machines = Machines::three();
    for machine in 0..3 {
        let (me, next, last) = (machine + 1, (machine + 1) % 3 + 1, (machine + 2) % 3 + 1);
        let mut script = String::new();
        for peer in [next, last] {
            let id = 10 * me.min(peer) + me.max(peer);
            let ends = format!("local fd00::{me} remote fd00::{peer}");
            script += &format!("ip link add vx{peer} type vxlan id {id} {ends} dstport 4789\n");
            script += &format!("ip link set vx{peer} mtu 1430 up\n");
        }
        let ports = format!("--port p1 --port vx{next} --port vx{last}");
        script += &format!(
            "ip netns add h{me}
            ip link add p1 type veth peer name eth0 netns h{me}
            ip link set p1 up
            ip -n h{me} address add 10.0.0.{me}/24 dev eth0
            ip -n h{me} link set eth0 mtu 1430 up
            bofuss run --name s{me} --fail-mode arp-path --accelerate off {ports} &"
        );
        machines.on(machine, &script);
    }
    for machine in 0..3 {
        for other in (1..=3).filter(|other| *other != machine + 1) {
            let from = machine + 1;
            let ping = format!("ip netns exec h{from} ping -c 1 -W 1 -M do -s 1402 10.0.0.{other}");
            until("each reaches each", || machines.tries(machine, &ping).1);
        }
    }
    machines.on(1, SERVER);
    machines.listens();
    let said = machines.on(0, "ip netns exec h1 iperf3 --client 10.0.0.2 --time 1");
    let received = said
        .lines()
        .find(|line| line.ends_with("receiver"))
        .unwrap();
    assert!(
        received.contains(" MBytes ") || received.contains(" GBytes "),
        "{said}"
    );
    for machine in 0..3 {
        let host = machine + 1;
        let counters = machines.on(
            machine,
            &format!("ip netns exec h{host} cat /proc/net/snmp"),
        );
        assert_eq!(wrong_checksums(&counters), 0, "{counters}");
    }
    let idle = || machines.on(2, "bofuss ctl s3 ports");
    let before = idle();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let frames = |text: &str| -> u64 {
        let counts = text.split("rx_packets=").skip(1);
        let counts = counts.map(|rest| rest.split(' ').next().unwrap().parse::<u64>().unwrap());
        counts.sum()
    };
    assert!(
        frames(&idle()) - frames(&before) < 50,
        "nothing circles: {before}"
    );
}
