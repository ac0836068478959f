//! Tests of where the switch listens, and that no peer keeps others out there.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use bofuss_tests::raw::{HELLO, connect, message};
use bofuss_tests::{Lab, PATIENCE, get, have, ip, ok, program};

const TOOLS: &[&str] = &["ip", "ping"];

#[test]
fn listeners_are_on_loopback_unless_told_otherwise() {
    if !have(TOOLS) {
        return;
    }
    let listen = [
        "--listen",
        "ptcp:16669",
        "--metrics",
        "16670",
        "--listen",
        "ptcp:16671:0.0.0.0",
    ];
    let _lab = Lab::new(1, &listen);
    ip("address add 192.0.2.1/32 dev lo");
    for (port, elsewhere) in [(16669, false), (16670, false), (16671, true)] {
        assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
        assert_eq!(
            TcpStream::connect(("192.0.2.1", port)).is_ok(),
            elsewhere,
            "{port}"
        );
    }
    ip("address del 192.0.2.1/32 dev lo");
}

#[test]
fn d17_every_address_to_listen_on_is_open() {
    if !have(TOOLS) {
        return;
    }
    let listen = ["--listen", "ptcp:16691", "--listen", "ptcp:16692"];
    let _lab = Lab::new(1, &listen);
    for port in [16691, 16692] {
        let mut stream = connect(port);
        stream.write_all(&HELLO).unwrap();
        assert!(message(&mut stream).is_some(), "it greets on {port}");
    }
}

#[test]
fn silent_and_slow_peers_keep_nobody_out() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--listen", "ptcp:16702", "--metrics", "16703"]);
    let silent = |port: u16| TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut crowd: Vec<_> = (0..80).map(|_| silent(16702)).collect();
    crowd.extend((0..30).map(|_| silent(16703)));
    // Each second they send a byte of what may become a HELLO, or a request.
    let drip = |crowd: &mut Vec<TcpStream>| {
        for peer in crowd {
            let _ = peer.write_all(b"\x04");
        }
    };
    let start = Instant::now();
    for _ in 0..3 {
        drip(&mut crowd);
        let text = ok(Command::new(program("dpctl")).args(["tcp:127.0.0.1:16702", "show"]));
        assert!(text.contains("dpid:"), "{text}");
        let (head, _) = get("127.0.0.1:16703", "/metrics", "");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        std::thread::sleep(Duration::from_secs(1));
    }
    assert!(start.elapsed() < PATIENCE, "nothing waited");
    // Who is connected stays so, however many come then.
    let mut controller = connect(16702);
    controller.write_all(&HELLO).unwrap();
    assert_eq!(message(&mut controller).unwrap()[1], 0);
    crowd.extend((0..200).map(|_| silent(16702)));
    controller.write_all(&[4, 20, 0, 8, 0, 0, 0, 9]).unwrap();
    assert_eq!(message(&mut controller).unwrap()[1], 21, "BARRIER_REPLY");
    assert!(lab.pings(1, 2));
}
