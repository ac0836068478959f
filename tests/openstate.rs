//! A controller that builds OpenState's messages by hand drives the switch.
#![allow(clippy::unwrap_used)]

use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bofuss_tests::{Lab, PATIENCE, Process, address, have, python, until};

/// The ports to knock at, in their order, and the one that they open.
const KNOCKS: [u16; 3] = [5001, 5002, 5003];
const OPEN: u16 = 22;
/// How long a datagram that should not arrive may take to do so.
const SILENCE: Duration = Duration::from_millis(300);

fn send(lab: &Lab, from: u8, port: u16) {
    lab.host(from, || {
        let socket = UdpSocket::bind((address(from), 0)).unwrap();
        socket.send_to(b"knock", (address(2), port)).unwrap();
    });
}

/// Whether a datagram from a host to the open port of host 2 arrives within a time.
fn passes(lab: &Lab, receiver: &UdpSocket, from: u8, patience: Duration) -> bool {
    receiver.set_read_timeout(Some(patience)).unwrap();
    send(lab, from, OPEN);
    receiver.recv_from(&mut [0; 64]).is_ok()
}

/// Starts a controller that writes what it sees to a file.
fn controller(output: &Path, arguments: &[&str]) -> Process {
    let stdout = std::fs::File::create(output).unwrap();
    let mut controller = Command::new(python());
    controller.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("controllers"));
    controller.args(arguments);
    Process::start(controller.stdout(stdout).stderr(Stdio::null()))
}

fn knock(dialect: &str, tcp_port: u16) {
    let output =
        std::env::temp_dir().join(format!("bofuss-knock-{}-{dialect}", std::process::id()));
    let arguments = ["port_knocking.py", &tcp_port.to_string(), dialect];
    let _controller = controller(&output, &arguments);
    let lab = Lab::new(3, &["--controller", &format!("tcp:127.0.0.1:{tcp_port}")]);
    let said = || std::fs::read_to_string(&output).unwrap();
    until("the controller is ready", || said().contains("READY"));
    let receiver = lab.host(2, || UdpSocket::bind((address(2), OPEN)).unwrap());
    assert!(!passes(&lab, &receiver, 1, SILENCE), "closed at first");
    KNOCKS.iter().for_each(|port| send(&lab, 1, *port));
    until("the state is told", || {
        said().contains("STATE 0 0a000001 3\n")
    });
    assert!(
        passes(&lab, &receiver, 1, PATIENCE),
        "open after the knocks"
    );
    assert!(passes(&lab, &receiver, 1, PATIENCE), "and it stays so");
    assert!(!passes(&lab, &receiver, 3, SILENCE), "for this host alone");
    send(&lab, 1, 9);
    assert!(
        !passes(&lab, &receiver, 1, SILENCE),
        "a wrong knock closes it"
    );
    let errors: Vec<String> = said()
        .lines()
        .filter(|l| l.contains("ERROR"))
        .map(Into::into)
        .collect();
    assert_eq!(
        errors,
        ["ERROR 65535 2 0xbebabeba"],
        "the one that is meant to be"
    );
    std::fs::remove_file(&output).unwrap();
}

#[test]
fn port_knocking_by_an_os_ken_controller_of_either_dialect() {
    if have(&["ip", "python3"]) {
        knock("beba", 16711);
        knock("openstate", 16712);
    }
}

#[test]
fn a_quota_of_packets_by_an_os_ken_controller_of_open_packet_processor() {
    if !have(&["ip", "python3"]) {
        return;
    }
    let output = std::env::temp_dir().join(format!("bofuss-quota-{}", std::process::id()));
    let tcp_port = 16713;
    let _controller = controller(&output, &["packet_quota.py", &tcp_port.to_string()]);
    let lab = Lab::new(3, &["--controller", &format!("tcp:127.0.0.1:{tcp_port}")]);
    let said = || std::fs::read_to_string(&output).unwrap();
    until("the controller is ready", || said().contains("READY"));
    let receiver = lab.host(2, || UdpSocket::bind((address(2), OPEN)).unwrap());
    for host in [1, 3] {
        for number in 1..=2 {
            let arrived = passes(&lab, &receiver, host, PATIENCE);
            assert!(arrived, "datagram {number} of host {host}");
        }
        assert!(!passes(&lab, &receiver, host, SILENCE), "a third one");
    }
    until("states and variables are told", || {
        let said = said();
        let states = [
            "STATE 0 0a000001 10 2 0 0 0 0 0\n",
            "STATE 0 0a000003 10 2 0 0 0 0 0\n",
        ];
        states.iter().all(|state| said.contains(state)) && said.contains("TABLE 2 0 0 0 0 0 0 0\n")
    });
    let said = said();
    let errors: Vec<&str> = said.lines().filter(|l| l.contains("ERROR")).collect();
    assert_eq!(errors, ["ERROR 65535 14", "ERROR 65535 7"], "as is meant");
    std::fs::remove_file(&output).unwrap();
}
