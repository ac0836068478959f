//! The simulator against the kernel: a TCP flow has the same rate in both.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Stdio};

use bofuss_tests::{Lab, Process, address, have, ok, printed, program, until};
use serde_json::Value;

/// The rates in Mb/s, the seconds that a flow lasts there, and how many of its first do not count:
/// at 10 Mb/s a full queue takes 0.8 s, at 100 Mb/s a tenth of that, and repairing the losses of
/// slow start takes some round trips.
const RATES: [FlowTime; 2] = [
    FlowTime {
        mbps: 10,
        lasts: 20,
        beginning: 10,
    },
    FlowTime {
        mbps: 100,
        lasts: 12,
        beginning: 4,
    },
];
/// Tries on a machine that may be busy with something else.
const TRIES: usize = 5;

/// See [`RATES`].
struct FlowTime {
    mbps: usize,
    lasts: usize,
    beginning: usize,
}

/// Two hosts at a switch; the port to the second is shaped. Its queue is as long as one of bofuss.
const SCENARIO: &str = "
    end = LASTS

    [[switch]]
    name = 's1'
    fail_mode = 'standalone'

    [[host]]
    name = 'h1'
    switch = 's1'

    [[host]]
    name = 'h2'
    switch = 's1'

    [[link]]
    ends = ['s1', 'h2']
    mbps = RATE
    queue = 1000
    queue_bytes = 1048576

    [[traffic]]
    kind = 'tcp'
    from = 'h1'
    to = 'h2'
    stop = LASTS
    interval = 1
";

/// Megabits of payload per second in the simulator.
fn simulated(time: &FlowTime) -> f64 {
    let (process, mbps) = (std::process::id(), time.mbps);
    let name = format!("bofuss-simulated-{process}-{mbps}.toml");
    let file = std::env::temp_dir().join(name);
    let text = SCENARIO.replace("RATE", &mbps.to_string());
    let text = text.replace("LASTS", &time.lasts.to_string());
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(program("bofuss"));
    let statistics = ok(command.arg("sim").arg("--json").arg(&file));
    std::fs::remove_file(&file).unwrap();
    let statistics: Value = serde_json::from_str(&statistics).unwrap();
    let rates = &statistics["traffic"][0]["flows"][0]["intervals_mbps"];
    let rates = &rates.as_array().unwrap()[time.beginning..time.lasts];
    rates.iter().map(|rate| rate.as_f64().unwrap()).sum::<f64>() / rates.len() as f64
}

/// The same with the kernel's TCP, a bofuss whose port is shaped, and iperf3.
fn live(lab: &Lab, time: &FlowTime) -> f64 {
    let to = address(2).to_string();
    let server = lab.host(2, || {
        let mut command = Command::new("iperf3");
        command
            .args(["--server", "--one-off"])
            .stdout(Stdio::null());
        Process::start(&mut command)
    });
    let listens = || {
        let sockets = lab.host(2, || Command::new("ss").arg("-ltn").output().unwrap());
        printed(&sockets).contains(":5201 ")
    };
    until("iperf3 listens", listens);
    let measured = (time.lasts - time.beginning).to_string();
    let beginning = time.beginning.to_string();
    let output = lab.host(1, || {
        let mut command = Command::new("iperf3");
        command.args(["--client", &to, "--congestion", "cubic", "--json"]);
        ok(command.args(["--time", &measured, "--omit", &beginning]))
    });
    drop(server);
    let report: Value = serde_json::from_str(&output).unwrap();
    let rate = report["end"]["sum_received"]["bits_per_second"].as_f64();
    rate.unwrap() / 1e6
}

#[test]
fn a_tcp_flow_has_the_rate_that_the_simulator_says() {
    if !have(&["ip", "ss", "iperf3"]) {
        return;
    }
    for time in &RATES {
        let mbps = time.mbps;
        let expected = simulated(time);
        let lab = Lab::new(
            2,
            &[
                "--port-rate",
                "2=1000M",
                "--queue",
                &format!("2:1:max={mbps}M"),
            ],
        );
        lab.all_ping();
        let flow = "priority=9,in_port=1,actions=set_queue:1,output:2";
        lab.asks(&["add-flow", flow]);
        let agree = (0..TRIES).any(|_| {
            let rate = live(&lab, time);
            println!("{mbps} Mb/s: {rate:.3} live, {expected:.3} simulated");
            (rate / expected - 1.0).abs() <= 0.05
        });
        assert!(agree, "within 5 %, {mbps} Mb/s: {expected}");
    }
}
