//! Limits and faults under a switch whose known flows the kernel forwards: a table that is full, a
//! program that is refused, ports that go away.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bofuss_tests::{Process, have, ip, program, until};

use crate::{Tap, below, both, datagram, send_slowly, standing};

/// `bofuss` without the right to load programs into the kernel.
fn without_right(arguments: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-bpf,-sys_admin"]);
    command.arg(program("bofuss")).args(["run"]).args(arguments);
    command
}

#[test]
fn without_the_right_to_load_it_the_switch_forwards_alone_and_says_why() {
    if !have(&["setpriv"]) || both(&[]).is_none() {
        return;
    }
    ip("link add fb1 type veth peer name fb2");
    let log = std::env::temp_dir().join("bofuss-without-right.log");
    let named = ["--name", "without-right", "--port", "fb1"];
    let auto = [&named[..], &["--accelerate", "auto"]].concat();
    let switch = Process::start(
        without_right(&auto)
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).unwrap()),
    );
    let said = || std::fs::read_to_string(&log).unwrap();
    until("it runs", || said().contains("waiting for controllers"));
    assert!(said().contains("INFO accelerator: off: "), "{}", said());
    drop(switch);
    let on = [&named[..], &["--accelerate", "on"]].concat();
    let output = without_right(&on).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("--accelerate on: "), "{text}");
    ip("link delete fb1");
    std::fs::remove_file(&log).unwrap();
}

#[test]
fn ports_that_go_while_frames_and_changes_come_leave_the_others_right() {
    let Some([mut lab, _]) = both(&[]) else {
        return;
    };
    let [mut one, mut three] = [1, 3].map(|host| Tap::of(&lab, host));
    lab.asks(&["add-flow", "in_port=1,udp,actions=output:2"]);
    lab.asks(&["add-flow", "in_port=3,udp,actions=output:1,output:2"]);
    send_slowly(&mut three, &[0; 50].map(|_| datagram(7, None, 60)));
    one.waits_for(50);
    let mut sent = 0;
    std::thread::scope(|scope| {
        let lab = &mut lab;
        let changing = scope.spawn(move || {
            until("frames pass below", || below(lab) > 150);
            // The host's network goes, and the cable with it, between changes of entries.
            for n in 0..20 {
                if n == 5 {
                    lab.lose_host(2);
                }
                let flow = format!("priority={n},in_port=1,udp,actions=output:2");
                lab.asks(&["add-flow", &flow]);
            }
            lab.asks(&["mod-flows", "in_port=1,udp,actions=output:3"]);
            let marked = below(lab);
            until("frames pass below again", || below(lab) > marked + 100);
        });
        while !changing.is_finished() {
            send_slowly(&mut one, &[datagram(sent, None, 60)]);
            sent += 1;
        }
    });
    three.waits_for(100);
    let numbers = three.numbers();
    assert!(numbers.is_sorted(), "{numbers:?}");
    assert_eq!(numbers.last(), Some(&(sent - 1)));
    assert!(!standing(&lab).contains("port 2 on"), "{}", standing(&lab));
    // Port 1 still gets its copies.
    one.receive();
    let before = one.frames.len();
    send_slowly(&mut three, &[0; 50].map(|_| datagram(7, None, 60)));
    one.waits_for(before + 50);
}

#[test]
fn a_port_that_comes_back_is_accelerated_again() {
    let Some([lab, _]) = both(&[]) else { return };
    lab.asks(&["add-flow", "in_port=1,udp,actions=output:2"]);
    let frames: Vec<_> = (0..50).map(|n| datagram(n, None, 60)).collect();
    let mut one = Tap::of(&lab, 1);
    send_slowly(&mut one, &frames);
    let first = below(&lab);
    assert!(first > 30, "{first}");
    let there = lab.port(2);
    ip(&format!("link delete {there}"));
    until("its loss is seen", || !standing(&lab).contains("port 2 on"));
    send_slowly(&mut one, &frames);
    ip(&format!("link add {there} type veth peer name back2"));
    ip(&format!("link set {there} up"));
    ip("link set back2 up");
    until("it is back", || standing(&lab).contains("port 2 on"));
    let before = below(&lab);
    until("its flow is below", || {
        send_slowly(&mut one, &frames);
        below(&lab) > before + 30
    });
    ip("link delete back2");
}

#[test]
fn a_port_that_is_accelerated_no_longer_does_not_hold_others_up() {
    let Some([lab, _]) = both(&[]) else { return };
    let [mut one, mut two, mut three] = [1, 2, 3].map(|host| Tap::of(&lab, host));
    lab.asks(&["add-flow", "udp,actions=output:2"]);
    ip(&format!("addr add 10.7.7.7/24 dev {}", lab.port(3)));
    until("it is left alone", || !standing(&lab).contains("port 3 on"));
    // A TTL of 1 brings frames up.
    let mut frame = datagram(0, None, 60);
    frame[22] = 1;
    let mut times: Vec<Duration> = (1..=40)
        .map(|round| {
            let start = Instant::now();
            one.send(std::slice::from_ref(&frame));
            three.send(std::slice::from_ref(&frame));
            two.waits_for(2 * round);
            start.elapsed()
        })
        .collect();
    times.sort();
    // The switch would wait for 10 ms until the other port's frame has left by the kernel.
    assert!(times[20] < Duration::from_millis(8), "{times:?}");
}

#[test]
fn flows_for_which_there_is_no_room_pass_the_switch() {
    let Some([lab, _]) = both(&["--accelerated-flows", "100"]) else {
        return;
    };
    lab.asks(&["add-flow", "in_port=1,udp,actions=output:2"]);
    lab.asks(&["add-flow", "priority=1,ip,nw_src=10.9.9.9,actions=drop"]);
    let [mut one, mut two] = [1, 2].map(|host| Tap::of(&lab, host));
    let frames: Vec<_> = (0..1000_u32)
        .map(|n| {
            let mut frame = datagram(n, None, 60);
            // Its address, which entries read.
            frame[28..30].copy_from_slice(&(n as u16 % 500).to_be_bytes());
            frame
        })
        .collect();
    send_slowly(&mut one, &frames);
    two.waits_for(frames.len());
    let text = standing(&lab);
    let flows = text.lines().find_map(|line| line.strip_prefix("flows "));
    let flows: u32 = flows.unwrap().parse().unwrap();
    assert!((60..=128).contains(&flows), "{text}");
    let entries = lab.asks(&["dump-flows", "in_port=1,udp"]);
    assert!(entries.contains("n_packets=1000"), "{entries}");
    let sizes = ["0", "x", "99999999999"];
    for wrong in sizes {
        let mut command = Command::new(program("bofuss"));
        command.args(["run", "--accelerated-flows", wrong]);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && text.contains("accelerated-flows"),
            "{text}"
        );
    }
}
