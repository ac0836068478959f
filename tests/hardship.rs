//! Bad input and bad luck: the switch answers, goes on forwarding, and needs no more memory.
#![allow(clippy::unwrap_used)]

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bofuss_tests::raw::{HELLO, connect, message};
use bofuss_tests::{Lab, PATIENCE, have, program, until};

const TOOLS: &[&str] = &["ip", "ping"];
/// Tries on a machine that may be busy with something else, which delays everything.
const TRIES: usize = 5;

/// Sends a HELLO and `request`. Returns type, code and data of the error that answers it.
fn error_of(port: u16, request: &[u8]) -> (u16, u16, Vec<u8>) {
    let mut stream = connect(port);
    stream.write_all(&HELLO).unwrap();
    assert_eq!(message(&mut stream).unwrap()[1], 0, "HELLO comes first");
    stream.write_all(request).unwrap();
    let error = message(&mut stream).expect("an answer");
    assert_eq!(error[1], 1, "it is an ERROR: {error:?}");
    let word = |at: usize| u16::from_be_bytes([error[at], error[at + 1]]);
    (word(8), word(10), error[12..].to_vec())
}

fn descriptors(lab: &Lab) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", lab.switch.0.id()))
        .unwrap()
        .count()
}

// I10
#[test]
fn wrong_messages_get_the_right_error_and_the_next_is_served() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--listen", "ptcp:16656"]);
    let port = 16656;
    let unknown_type = [4, 99, 0, 8, 0, 0, 0, 5];
    let (ty, code, data) = error_of(port, &unknown_type);
    assert_eq!(
        (ty, code, &data[..]),
        (1, 1, &unknown_type[..]),
        "BAD_TYPE quotes the request"
    );
    let wrong_version = [1, 5, 0, 8, 0, 0, 0, 5];
    assert_eq!(error_of(port, &wrong_version).0, 1);
    assert_eq!(error_of(port, &wrong_version).1, 0, "BAD_VERSION");
    let long_features = [4, 5, 0, 12, 0, 0, 0, 5, 1, 2, 3, 4];
    assert_eq!(error_of(port, &long_features).1, 6, "BAD_LEN");
    let bad_multipart = [4, 18, 0, 16, 0, 0, 0, 5, 0, 99, 0, 0, 0, 0, 0, 0];
    assert_eq!(error_of(port, &bad_multipart).1, 2, "BAD_MULTIPART");
    let mut stream = connect(port);
    stream.write_all(&HELLO).unwrap();
    stream.write_all(&unknown_type).unwrap();
    stream
        .write_all(&[4, 2, 0, 12, 0, 0, 0, 9, b'e', b'c', b'h', b'o'])
        .unwrap();
    let types: Vec<u8> = (0..3).map(|_| message(&mut stream).unwrap()[1]).collect();
    assert_eq!(
        types,
        [0, 1, 3],
        "HELLO, ERROR, and the echo after it is served"
    );
    assert!(lab.pings(1, 2));
}

#[test]
fn garbage_and_sudden_ends_close_one_connection_only() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--listen", "ptcp:16657"]);
    let mut garbage = connect(16657);
    let _ = garbage.write_all(&[0xff; 4096]);
    let mut rest = Vec::new();
    let ended = garbage.read_to_end(&mut rest);
    assert!(ended.is_ok() || ended.unwrap_err().kind() == ErrorKind::ConnectionReset);
    let mut half = connect(16657);
    half.write_all(&HELLO).unwrap();
    half.write_all(&[4, 14, 0, 200, 0, 0]).unwrap();
    // Dropped with something unread, it would reset the connection, half message and all.
    half.shutdown(Shutdown::Write).unwrap();
    while message(&mut half).is_some() {}
    let before_hello = [4, 5, 0, 8, 0, 0, 0, 1];
    let mut early = connect(16657);
    early.write_all(&before_hello).unwrap();
    while message(&mut early).is_some() {}
    until("the switch notices", || {
        lab.log().contains("in the middle of a message")
    });
    assert!(lab.pings(1, 2));
}

#[test]
fn a_thousand_connections_leave_nothing() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--listen", "ptcp:16658"]);
    // A connection that comes before ended ones are cleared away is closed at once.
    let visit = || {
        until("it is greeted", || {
            let mut stream = connect(16658);
            stream.write_all(&HELLO).is_ok() && message(&mut stream).is_some()
        });
    };
    (0..200).for_each(|_| visit());
    let (fds, memory) = (descriptors(&lab), lab.resident_kib());
    (0..1000).for_each(|_| visit());
    until("the descriptors are given back", || {
        descriptors(&lab) <= fds
    });
    assert!(
        lab.resident_kib() < memory + 4096,
        "memory stays within 4 MiB"
    );
    assert!(lab.pings(1, 2));
}

// I11
#[test]
fn a_controller_that_never_reads_costs_bounded_memory_and_no_packets() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--listen", "ptcp:16659"]);
    let before = lab.resident_kib();
    let mut deaf = connect(16659);
    deaf.write_all(&HELLO).unwrap();
    deaf.set_write_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    // Each asks for the features of all tables: tens of kilobytes.
    let request = [4, 18, 0, 16, 0, 0, 0, 5, 0, 12, 0, 0, 0, 0, 0, 0];
    let many: Vec<u8> = request
        .iter()
        .copied()
        .cycle()
        .take(request.len() * 4096)
        .collect();
    for _ in 0..20 {
        if deaf.write_all(&many).is_err() {
            break;
        }
    }
    assert!(lab.pings(1, 2), "packets pass meanwhile");
    // Packet-ins, unlike replies, are dropped if the controller does not read.
    lab.dpctl(&["add-flow", "priority=9,udp,actions=controller"]);
    lab.host(1, || {
        let socket = std::net::UdpSocket::bind("10.0.0.1:0").unwrap();
        (0..100_000).for_each(|_| drop(socket.send_to(&[0; 1000], "10.0.0.2:9")));
    });
    assert!(
        lab.resident_kib() < before + (48 << 10),
        "memory stays within 48 MiB"
    );
}

// I11
#[test]
fn peers_that_flood_and_do_not_read_keep_no_other_from_being_served() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &["--listen", "ptcp:16665"]);
    let echo = [&[4, 2, 4, 0, 0, 0, 0, 7][..], &[0x55; 1016]].concat();
    let flood = echo.repeat(1024);
    let deaf = [(); 3].map(|()| {
        let mut stream = connect(16665);
        let patience = Some(Duration::from_millis(300));
        stream.set_write_timeout(patience).unwrap();
        stream.write_all(&HELLO).unwrap();
        while stream.write_all(&flood).is_ok() {}
        stream
    });
    for _ in 0..10 {
        let start = Instant::now();
        assert!(lab.dpctl(&["dump-flows"]).status.success());
        assert!(start.elapsed() < PATIENCE);
    }
    assert!(lab.pings(1, 2), "packets pass meanwhile");
    drop(deaf);
    until("their end is noticed", || {
        lab.log().matches("disconnected").count() >= 13
    });
}

// I11
#[test]
fn packets_pass_and_others_are_served_while_peers_flood_and_read() {
    if !have(TOOLS) {
        return;
    }
    let lab = &Lab::new(2, &["--listen", "ptcp:16666"]);
    let echoes = [4, 2, 0, 8, 0, 0, 0, 7].repeat(8192);
    std::thread::scope(|scope| {
        let peers = [(); 3].map(|()| {
            let mut stream = connect(16666);
            stream.write_all(&HELLO).unwrap();
            let (mut reader, mut writer) =
                (stream.try_clone().unwrap(), stream.try_clone().unwrap());
            scope.spawn(move || while reader.read(&mut [0; 65536]).is_ok_and(|n| n > 0) {});
            let echoes = &echoes;
            scope.spawn(move || while writer.write_all(echoes).is_ok() {});
            stream
        });
        std::thread::sleep(Duration::from_millis(200));
        let pings = scope.spawn(|| lab.lost_pings(100, "0.01"));
        for _ in 0..5 {
            let start = Instant::now();
            assert!(lab.dpctl(&["dump-flows"]).status.success());
            assert!(start.elapsed() < PATIENCE);
        }
        let lost = pings.join().unwrap();
        for peer in peers {
            peer.shutdown(std::net::Shutdown::Both).unwrap();
        }
        assert_eq!(lost, [0; 0]);
    });
}

#[test]
fn eight_wait_for_the_next_packet_and_no_ninth() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(2, &[]);
    let wait = || {
        let mut command = Command::new(program("bofuss"));
        command.args(["ctl", &lab.name, "trace-next", "in_port=1,arp"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    // Which of nine comes last is up to the machine.
    let mut waiting: Vec<Child> = (0..9).map(|_| wait()).collect();
    let mut refused = None;
    until("one of nine is refused", || {
        let mut all = waiting.iter_mut();
        let ended = all.position(|one| one.try_wait().unwrap().is_some());
        refused = ended.map(|place| waiting.remove(place));
        refused.is_some()
    });
    let refused = refused.unwrap().wait_with_output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("8 requests wait for packets already"),
        "{said}"
    );
    assert!(lab.pings(1, 2));
    for one in waiting {
        assert!(one.wait_with_output().unwrap().status.success());
    }
}

#[test]
fn a_rate_of_messages_holds_for_each_connection_and_none_is_lost() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(1, &["--listen", "ptcp:16667", "--message-rate", "100"]);
    assert!(
        (0..TRIES).any(|_| rates_are_separate(&lab, &mut connect(16667))),
        "another has its own rate, and each message is answered in time"
    );
}

/// Sends 175 echo requests, and asks by another connection. Returns whether neither was slower than
/// the rate demands.
fn rates_are_separate(lab: &Lab, eager: &mut TcpStream) -> bool {
    eager.write_all(&HELLO).unwrap();
    assert_eq!(message(eager).unwrap()[1], 0);
    let start = Instant::now();
    for xid in 0..175 {
        eager.write_all(&[4, 2, 0, 8, 0, 0, 0, xid]).unwrap();
    }
    let asked = Instant::now();
    assert!(lab.dpctl(&["show"]).status.success());
    let other = asked.elapsed();
    for xid in 0..175 {
        assert_eq!(message(eager).unwrap(), [4, 3, 0, 8, 0, 0, 0, xid]);
    }
    // 25 at once, the others one each 10 ms.
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(1490), "{took:?}");
    println!("{took:?}, and {other:?} by another connection");
    took < Duration::from_secs(3) && other < Duration::from_millis(1400)
}

#[test]
fn a_peer_that_sends_nonsense_does_not_fill_the_log() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(1, &["--listen", "ptcp:16668"]);
    for _ in 0..4 {
        let mut peer = connect(16668);
        peer.write_all(&HELLO).unwrap();
        assert_eq!(message(&mut peer).unwrap()[1], 0);
        for xid in 0..100 {
            // There is no type 99; each gets its error all the same.
            peer.write_all(&[4, 99, 0, 8, 0, 0, 0, xid]).unwrap();
            assert_eq!(message(&mut peer).unwrap()[1], 1);
        }
    }
    let log = lab.log();
    let lines = log.lines().filter(|line| line.contains("type"));
    assert_eq!(lines.count(), 100, "{log}");
    assert!(lab.dpctl(&["show"]).status.success());
}

#[test]
fn a_rate_of_packet_ins_holds_and_the_others_are_counted() {
    if !have(TOOLS) {
        return;
    }
    // Half of the burst is for one port.
    let rate = ["--packet-in-rate", "10", "--packet-in-burst", "60"];
    let lab = Lab::new(2, &[&rate[..], &["--listen", "ptcp:16668"]].concat());
    lab.dpctl(&["add-flow", "priority=9,udp,actions=controller"]);
    let mut listener = connect(16668);
    listener.write_all(&HELLO).unwrap();
    assert_eq!(message(&mut listener).unwrap()[1], 0);
    until("it is connected", || {
        lab.log().contains("ptcp:16668:127.0.0.1: connected")
    });
    assert!(lab.pings(1, 2));
    let start = Instant::now();
    lab.host(1, || {
        let socket = std::net::UdpSocket::bind("10.0.0.1:0").unwrap();
        (0..500).for_each(|_| drop(socket.send_to(&[0; 10], "10.0.0.2:9")));
    });
    until("some are lost", || {
        connections(&lab).contains(" packet-ins lost)")
    });
    listener.write_all(&[4, 2, 0, 8, 0, 0, 0, 9]).unwrap();
    let mut came = 0;
    let mut is_answered = false;
    while !is_answered || came < 30 {
        match message(&mut listener).expect("the burst, and an answer")[1] {
            3 => is_answered = true,
            10 => came += 1,
            _ => {}
        }
    }
    // The burst, and ten a second since.
    let most = 31.0 + 10.0 * start.elapsed().as_secs_f64();
    assert!(f64::from(came) <= most, "{came} packet-ins, at most {most}");
}

/// Returns what the switch says of its connections.
fn connections(lab: &Lab) -> String {
    let mut command = Command::new(program("bofuss"));
    let output = command.args(["ctl", &lab.name, "controllers"]).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

#[test]
fn the_longest_message_passes_and_a_silent_peer_is_given_up() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(1, &["--listen", "ptcp:16664", "--inactivity-probe", "1"]);
    let mut stream = connect(16664);
    stream.write_all(&HELLO).unwrap();
    assert_eq!(message(&mut stream).unwrap()[1], 0);
    let mut longest = vec![0x55; 65535];
    longest[..8].copy_from_slice(&[4, 2, 0xff, 0xff, 0, 0, 0, 3]);
    stream.write_all(&longest).unwrap();
    longest[1] = 3;
    // The connection is given up when no answer comes.
    let came: Vec<Vec<u8>> = std::iter::from_fn(|| message(&mut stream)).collect();
    assert!(came.contains(&longest), "the echo is as long");
    let is_asked = came.iter().any(|bytes| bytes[1] == 2);
    assert!(is_asked, "it is asked whether it lives");
    until("the log says why", || lab.log().contains("inactive"));
}
