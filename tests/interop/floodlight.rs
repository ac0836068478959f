//! A controller on openflowj that uses a switch as Floodlight does, for a minute.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

use bofuss_oflib::Version;
use bofuss_tests::{Lab, Process, have};

use crate::readers;

const SECONDS: u64 = 60;
/// The messages that come often in this time.
const FREQUENT: [&str; 10] = [
    "ECHO_REPLY",
    "BARRIER_REPLY",
    "FLOW_REMOVED",
    "PACKET_IN",
    "ROLE_REPLY",
    "FLOW",
    "PORT",
    "TABLE",
    "TABLE_FEATURES",
    "METER_FEATURES",
];

#[test]
#[ignore = "it takes a minute, and needs Java and libraries that Maven fetches: make interop"]
fn a_controller_as_floodlight_stays_connected_for_a_minute() {
    if !have(&["ip", "java"]) {
        return;
    }
    println!("a controller as Floodlight uses two switches for {SECONDS} s");
    std::thread::scope(|scope| {
        scope.spawn(|| uses(Version::V1_3, "OF_13", 16791));
        scope.spawn(|| uses(Version::V1_4, "OF_14", 16792));
    });
}

/// A controller that speaks a version uses a switch while its hosts ping each other.
fn uses(version: Version, name: &str, port: u16) {
    let mut java = readers::java("Floodlight.java");
    java.args([&port.to_string(), name, &SECONDS.to_string()]);
    let mut controller = Process::start(java.stdout(Stdio::piped()));
    let mut output = BufReader::new(controller.0.stdout.take().unwrap());
    let mut first = String::new();
    output.read_line(&mut first).unwrap();
    assert_eq!(first, "listens\n");
    let lab = Lab::new(2, &["--controller", &format!("tcp:127.0.0.1:{port}")]);
    let end = Instant::now() + Duration::from_secs(SECONDS - 5);
    while Instant::now() < end {
        lab.pings(1, 2);
        let log = lab.log();
        assert!(!log.contains("disconnected"), "{version}: {log}");
    }
    let mut got = String::new();
    output.read_to_string(&mut got).unwrap();
    println!("  {version}: {got}");
    assert!(controller.0.wait().unwrap().success(), "{version}: {got}");
    for name in FREQUENT {
        let row = got.split(['{', ' ', ',', '}']).find_map(|pair| {
            let (key, count) = pair.split_once('=')?;
            (key == name).then(|| count.parse::<u32>().unwrap())
        });
        assert!(
            row.is_some_and(|count| count > 20),
            "{version}, {name}: {got}"
        );
    }
}
