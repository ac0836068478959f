//! What happens in small networks: frames, links, switches, controllers.

mod common;

use bofuss_datapath::Time;

use bofuss_sim::NetworkConfig;
use common::{Log, line_of_two};

#[test]
fn hosts_ping_through_two_switches_and_a_learning_controller() {
    let mut log = Log::default();
    let mut network = line_of_two(NetworkConfig::default());
    network.run_until(Time(10 * Time::SEC), &mut log).unwrap();
    let replies = log.lines_with("echo_reply");
    assert_eq!(replies.len(), 3, "{log:?}");
    // Forth and back: 3 links of 10 us, and 98 bytes at 1 Gb/s on each. Only the first packets
    // go through the controller.
    let rtt = 2 * 3 * (10_000 + 98 * 8);
    assert!(
        replies[2].contains(&format!("Number({rtt})")),
        "{}",
        replies[2]
    );
    let first = log.lines_with("to_controller");
    assert_eq!(
        first.len(),
        6,
        "one ARP request and two first packets at each switch: {log:?}"
    );
}

#[test]
fn two_runs_are_byte_identical() {
    let mut logs = Vec::new();
    for _ in 0..2 {
        let mut log = Log::default();
        let mut network = line_of_two(NetworkConfig::default());
        network.run_until(Time(10 * Time::SEC), &mut log).unwrap();
        logs.push(log.0);
    }
    assert_eq!(logs[0], logs[1]);
}
