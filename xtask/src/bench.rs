//! `cargo xtask bench`: what a 64-byte frame costs the switch, as a ratio to the yardstick in the
//! same run.
//!
//! A -veth- S -veth- B: a generator in A, a forwarder in S, the far end in B. Before a set-up is
//! timed, it must deliver numbered frames complete, in order and unchanged. Rounds are interleaved,
//! figures are medians of the processor time per delivered frame; wall rates only tell how busy the
//! machine was.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::ci;

/// Rounds of each set-up, and frames of each round.
const ROUNDS: usize = 7;
const FRAMES: u64 = 300_000;
/// Frames that must arrive before anything is timed, and how fast they are sent.
const CHECKED_FRAMES: u64 = 2_000;
const CHECKED_RATE: u64 = 20_000;
/// The bar: processor time of the switch over that of the yardstick.
const MAX_RATIO: f64 = 2.5;
const SETUPS: [&str; 4] = ["direct", "bridge", "yardstick", "bofuss"];

/// Builds, then runs itself where interfaces can be made and vanish.
///
/// Errors: what failed, a wrong result, or a ratio above the bar.
pub(crate) fn run(root: &Path, target: &Path) -> Result<(), String> {
    ci::cargo(
        "build --locked --release --package bofuss-switchd --package bofuss-dpctl",
        |_| {},
    )?;
    ci::cargo(
        "build --locked --release --package bofuss-ports --examples",
        |_| {},
    )?;
    let myself = std::env::current_exe().map_err(|e| format!("own path: {e}"))?;
    let mut isolated = Command::new("sh");
    isolated
        .arg(root.join("xtask/setup.sh"))
        .arg("isolate")
        .arg(myself);
    let status = isolated
        .args(["bench", "--inside"])
        .arg(target.join("release"))
        .status();
    match status.map_err(|e| format!("sh: {e}"))?.success() {
        true => Ok(()),
        false => Err("bench: see above".into()),
    }
}

/// The bench itself, in a network of its own.
pub(crate) fn inside(programs: &Path) -> Result<(), String> {
    for namespace in ["A", "B"] {
        ip(&["netns", "add", namespace])?;
    }
    let mut costs = SETUPS.map(|_| (Vec::new(), Vec::new()));
    for round in 0..ROUNDS {
        for (setup, cost) in SETUPS.iter().zip(&mut costs) {
            let (nanos, rate) = measure(programs, setup)?;
            eprintln!(
                "round {} of {ROUNDS}: {setup:<9} {rate:>8.0} frames/s",
                round + 1
            );
            cost.0.push(nanos);
            cost.1.push(rate);
        }
    }
    let [direct, bridge, yardstick, bofuss] =
        costs.map(|(nanos, rates)| (median(nanos), median(rates)));
    let ratio = bofuss.0 / yardstick.0;
    println!("64-byte frames, one way, one rule; medians of {ROUNDS} interleaved rounds");
    println!(
        "{:<10} {:>14} {:>14} {:>8}",
        "", "CPU ns/frame", "frames/s", "ratio"
    );
    println!("{:<10} {:>14} {:>14.0}", "direct", "-", direct.1);
    println!("{:<10} {:>14} {:>14.0}", "bridge", "-", bridge.1);
    println!(
        "{:<10} {:>14.0} {:>14.0} {:>8.2}",
        "yardstick", yardstick.0, yardstick.1, 1.0
    );
    println!(
        "{:<10} {:>14.0} {:>14.0} {:>8.2}",
        "bofuss", bofuss.0, bofuss.1, ratio
    );
    match ratio <= MAX_RATIO {
        true => Ok(()),
        false => Err(format!(
            "bench: bofuss costs {ratio:.2} of the yardstick, the bar is {MAX_RATIO}"
        )),
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn ip(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .map_err(|e| format!("ip: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!(
            "ip {}: {}",
            arguments.join(" "),
            text(&output.stderr)
        )),
    }
}

/// A process that is stopped when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Starts a program and waits for a line that contains `ready` on its output.
    fn start(command: &mut Command, ready: &str) -> Result<Self, String> {
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut this = Self(child.map_err(|e| format!("{command:?}: {e}"))?);
        let (out, err) = (this.0.stdout.take(), this.0.stderr.take());
        let lines: Box<dyn BufRead> = match ready {
            "ready" => Box::new(BufReader::new(out.expect("is piped"))),
            _ => Box::new(BufReader::new(err.expect("is piped"))),
        };
        let mut seen = String::new();
        for line in lines.lines().map_while(Result::ok) {
            if line.contains(ready) {
                return Ok(this);
            }
            seen.push_str(&line);
        }
        Err(format!("{command:?}: {seen}"))
    }

    /// Processor time of all its threads so far, in nanoseconds.
    fn cpu_nanos(&self) -> f64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.0.id()));
        let tasks = tasks.into_iter().flatten().flatten();
        let stats = tasks.filter_map(|t| std::fs::read_to_string(t.path().join("schedstat")).ok());
        stats
            .filter_map(|s| s.split_whitespace().next()?.parse::<f64>().ok())
            .sum()
    }
}

/// Lays the cables: A to S and S to B, or A to B.
fn cables(setup: &str) -> Result<(), String> {
    if setup == "direct" {
        ip(&[
            "link", "add", "eth0", "netns", "A", "type", "veth", "peer", "name", "eth0", "netns",
            "B",
        ])?;
    } else {
        for (port, end) in [("sa", "A"), ("sb", "B")] {
            ip(&[
                "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", end,
            ])?;
            ip(&["link", "set", port, "up"])?;
        }
    }
    for end in ["A", "B"] {
        ip(&["-n", end, "link", "set", "eth0", "up"])?;
    }
    if setup == "bridge" {
        ip(&["link", "add", "br0", "type", "bridge"])?;
        ip(&["link", "set", "br0", "up"])?;
        ip(&["link", "set", "sa", "master", "br0"])?;
        ip(&["link", "set", "sb", "master", "br0"])?;
    }
    wait_for("state UP", || ip(&["-n", "B", "link", "show", "eth0"]))
}

fn wait_for(what: &str, look: impl Fn() -> Result<String, String>) -> Result<(), String> {
    for _ in 0..250 {
        if look()?.contains(what) {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Err(format!("no '{what}' within 5 s"))
}

/// Processor nanoseconds per delivered frame, and delivered frames per second, of one set-up.
fn measure(programs: &Path, setup: &str) -> Result<(f64, f64), String> {
    cables(setup)?;
    let result = timed(programs, setup);
    ip(&["-n", "A", "link", "del", "eth0"])?;
    if setup != "direct" {
        ip(&["-n", "B", "link", "del", "eth0"])?;
    }
    if setup == "bridge" {
        ip(&["link", "del", "br0"])?;
    }
    result
}

fn timed(programs: &Path, setup: &str) -> Result<(f64, f64), String> {
    let examples = programs.join("examples");
    let forwarder = match setup {
        "yardstick" => {
            let mut yardstick = Command::new(examples.join("yardstick"));
            Some(Running::start(yardstick.args(["sa", "sb"]), "ready")?)
        }
        "bofuss" => Some(start_switch(programs)?),
        _ => None,
    };
    check(&examples)?;
    let before = received()?;
    let cpu = forwarder.as_ref().map_or(0.0, Running::cpu_nanos);
    let nanos = generate(&examples, &[&FRAMES.to_string()])?;
    let cpu = forwarder.as_ref().map_or(0.0, Running::cpu_nanos) - cpu;
    let delivered = received()? - before;
    if delivered < FRAMES as f64 / 100.0 {
        return Err(format!("{setup}: {delivered} of {FRAMES} frames arrived"));
    }
    Ok((cpu / delivered, delivered / nanos * 1e9))
}

/// Starts the switch with one rule each way.
fn start_switch(programs: &Path) -> Result<Running, String> {
    let mut bofuss = Command::new(programs.join("bofuss"));
    bofuss.args([
        "run",
        "--name",
        "bench",
        "--port",
        "sa",
        "--port",
        "sb",
        "--fail-mode",
        "secure",
    ]);
    let running = Running::start(&mut bofuss, "waiting for controllers")?;
    for rule in ["in_port=1,actions=output:2", "in_port=2,actions=output:1"] {
        let added = Command::new(programs.join("dpctl"))
            .args(["bench", "add-flow", rule])
            .output();
        let added = added.map_err(|e| format!("dpctl: {e}"))?;
        if !added.status.success() {
            return Err(format!("dpctl: {}", String::from_utf8_lossy(&added.stderr)));
        }
    }
    Ok(running)
}

fn generator(examples: &Path, namespace: &str) -> Command {
    let mut command = Command::new("ip");
    command
        .args(["netns", "exec", namespace])
        .arg(examples.join("generate"));
    command
}

/// Sends frames from A; gives how long that took, in nanoseconds.
fn generate(examples: &Path, arguments: &[&str]) -> Result<f64, String> {
    let sent = generator(examples, "A")
        .args(["send", "eth0"])
        .args(arguments)
        .output();
    let sent = sent.map_err(|e| format!("generate: {e}"))?;
    let text = String::from_utf8_lossy(&sent.stdout);
    let error = || format!("generate: {}", String::from_utf8_lossy(&sent.stderr));
    text.trim().parse().map_err(|_| error())
}

/// Frames that have arrived at B.
fn received() -> Result<f64, String> {
    let counters = ip(&["-n", "B", "-s", "link", "show", "eth0"])?;
    let mut lines = counters
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("RX:"));
    let packets = lines
        .nth(1)
        .and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    packets.ok_or_else(|| format!("ip -s link shows: {counters}"))
}

/// The result before the time: numbered frames arrive complete, in order and unchanged.
fn check(examples: &Path) -> Result<(), String> {
    let (count, rate) = (CHECKED_FRAMES.to_string(), CHECKED_RATE.to_string());
    let mut receiver = generator(examples, "B");
    let mut receiver = Running::start(receiver.args(["receive", "eth0", &count]), "ready")?;
    generate(examples, &[&count, &rate])?;
    let status = receiver.0.wait().map_err(|e| format!("generate: {e}"))?;
    match status.success() {
        true => Ok(()),
        false => Err("the frames did not all arrive in order and unchanged".into()),
    }
}
