//! Meters and queues hold their rates on real interfaces.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bofuss_tests::{Lab, PATIENCE, address, have, ip, until};

/// The time for which packets are sent.
const SENDING: Duration = Duration::from_secs(2);
/// The shortest time between two bursts of packets.
const PERIOD: Duration = Duration::from_millis(1);
/// Tries on a machine that may be busy with something else, which delays everything.
const TRIES: usize = 5;

fn socket(lab: &Lab, host: u8) -> UdpSocket {
    lab.host(host, || UdpSocket::bind((address(host), 9)).unwrap())
}

/// Sends packets to host 2 as evenly as possible, without making up for delays. Returns the time
/// from the first packet to the last.
fn send(from: &UdpSocket, a_second: u64, bytes: usize) -> Duration {
    let (data, start) = (vec![0; bytes], Instant::now());
    let period = PERIOD.max(Duration::from_nanos(1_000_000_000 / a_second));
    let burst = a_second * period.as_millis() as u64 / 1000;
    let mut last = start;
    while start.elapsed() < SENDING {
        last = Instant::now();
        (0..burst.max(1)).for_each(|_| drop(from.send_to(&data, (address(2), 9))));
        std::thread::sleep(period.saturating_sub(last.elapsed()));
    }
    last - start
}

/// Packets that meter 1 has seen, and those that it dropped.
fn counts(lab: &Lab) -> (u64, u64) {
    let text = lab.asks(&["meter-stats", "1"]);
    let count = |name: &str| {
        let (_, rest) = text.split_once(name).unwrap();
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
        digits.unwrap().parse().unwrap()
    };
    (count("packet_in_count:"), count(" packet_count:"))
}

#[test]
fn a_meter_holds_its_rate_from_100_pps_to_100_kpps() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let lab = Lab::new(2, &[]);
    lab.all_ping();
    let (from, _to) = (socket(&lab, 1), socket(&lab, 2));
    for rate in [100, 1_000, 10_000, 100_000] {
        // A burst of a tenth of a second, so that a busy machine loses nothing.
        let burst = rate / 10;
        let meter = format!("meter=1,pktps,burst,bands=type=drop,rate={rate},burst_size={burst}");
        let holds = (0..TRIES).any(|_| {
            lab.asks(&["del-meters"]);
            lab.asks(&["add-meter", &meter]);
            lab.asks(&[
                "add-flow",
                "priority=9,in_port=1,udp,actions=meter:1,output:2",
            ]);
            let start = Instant::now();
            let sending = send(&from, 2 * rate, 18);
            let mut came = counts(&lab);
            until("all packets are counted", || {
                std::mem::replace(&mut came, counts(&lab)) == came
            });
            let (offered, dropped) = came;
            let passed = (offered - dropped) as f64;
            let most = rate as f64 * start.elapsed().as_secs_f64() + burst as f64 + 1.0;
            assert!(
                passed <= most,
                "{passed} of {offered}, at {rate} pps at most {most}"
            );
            let due = (rate as f64 * sending.as_secs_f64()).min(offered as f64);
            println!("{passed} of {offered}, at {rate} pps due {due}");
            passed >= 0.98 * due - 1.0
        });
        assert!(holds, "at {rate} pps too few passed");
    }
}

/// The goodput of one TCP stream with CUBIC from host 1 to host 2, in bits per second, during ten
/// seconds after the first one.
fn tcp_rate(lab: &Lab) -> f64 {
    let second = Duration::from_secs(1);
    let listener = lab.host(2, || TcpListener::bind((address(2), 9)).unwrap());
    let sender = lab.host(1, || {
        let _ = std::fs::write("/proc/sys/net/ipv4/tcp_congestion_control", "cubic");
        TcpStream::connect((address(2), 9)).unwrap()
    });
    let (mut receiver, _) = listener.accept().unwrap();
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    let sending = std::thread::spawn(move || {
        let (mut sender, block) = (sender, vec![0; 1 << 16]);
        while sender.write_all(&block).is_ok() {}
    });
    let mut data = vec![0; 1 << 16];
    let mut receive = |time: Duration| {
        let (start, mut bytes) = (Instant::now(), 0);
        while start.elapsed() < time {
            bytes += receiver.read(&mut data).unwrap();
        }
        bytes as f64 * 8.0 / start.elapsed().as_secs_f64()
    };
    receive(second);
    let rate = receive(10 * second);
    drop(receiver);
    sending.join().unwrap();
    rate
}

#[test]
fn a_tcp_stream_gets_nine_tenths_of_a_meter_without_burst() {
    gets_nine_tenths(10_000);
}

#[test]
#[ignore = "long: the same at a higher rate"]
fn a_faster_tcp_stream_gets_nine_tenths_of_a_meter_without_burst() {
    gets_nine_tenths(100_000);
}

/// A stream gets nine tenths of a meter of this rate.
fn gets_nine_tenths(kbps: u32) {
    if !have(&["ip", "ping"]) {
        return;
    }
    let lab = Lab::new(2, &[]);
    lab.all_ping();
    let meter = format!("meter=1,kbps,bands=type=drop,rate={kbps}");
    lab.asks(&["add-meter", &meter]);
    let flow = "priority=9,in_port=1,tcp,actions=meter:1,output:2";
    lab.asks(&["add-flow", flow]);
    let holds = (0..3).any(|_| {
        let share = tcp_rate(&lab) / f64::from(kbps) / 1000.0;
        println!("{share} of {kbps} kb/s");
        // In 10 s, 300 ms more than the rate at most: what a busy machine delivers late.
        (0.9..=1.03).contains(&share)
    });
    assert!(holds, "at {kbps} kb/s");
}

#[test]
fn a_queue_shapes_to_its_maximum_within_one_percent() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let lab = Lab::new(2, &["--port-rate", "2=100M", "--queue", "2:1:max=8M"]);
    lab.all_ping();
    lab.asks(&[
        "add-flow",
        "priority=9,in_port=1,udp,actions=set_queue:1,output:2",
    ]);
    let (from, to) = (socket(&lab, 1), socket(&lab, 2));
    to.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut rates = Vec::new();
    for _ in 0..TRIES {
        let sender = from.try_clone().unwrap();
        // Ten times the maximum, so that the queue is not empty when a busy machine sends late.
        let sending = std::thread::spawn(move || send(&sender, 10_000, 1_000));
        let mut data = [0; 2_000];
        to.recv(&mut data).unwrap();
        let (start, mut frames) = (Instant::now(), 0);
        while start.elapsed() < SENDING {
            to.recv(&mut data).unwrap();
            frames += 1;
        }
        // With the headers of UDP, IP and Ethernet.
        rates.push(f64::from(frames) * 8.0 * 1_042.0 / start.elapsed().as_secs_f64());
        sending.join().unwrap();
        if rates.iter().any(|rate| (rate / 8e6 - 1.0).abs() <= 0.01) {
            return;
        }
        // What waits in the queue is left from the last try.
        while to.set_read_timeout(Some(PERIOD * 100)).is_ok() && to.recv(&mut data).is_ok() {}
        to.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    panic!("bits a second, of 8,000,000: {rates:?}");
}

/// Half of a port: of each 1,514 bytes of a frame, TCP has 1,448.
const HALF: RangeInclusive<f64> = 0.45..=0.5;
/// The number of attempts, as a busy machine is late.
const ATTEMPTS: u32 = 6;

#[test]
fn tcp_has_half_of_a_port_beside_a_flood_to_another_address() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let arguments = ["--discipline", "2=hfair", "--queue", "2:0:max=10M"];
    let lab = Lab::new(2, &arguments);
    lab.all_ping();
    lab.host(2, || ip("address add 10.0.0.22/24 dev eth0"));
    let (from, done) = (socket(&lab, 1), AtomicBool::new(false));
    let mut shares = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let start = Instant::now();
            while !done.load(Ordering::Relaxed) && start.elapsed() < ATTEMPTS * PATIENCE {
                // 40 Mb/s; the host may refuse some while it asks for the address.
                (0..10).for_each(|_| drop(from.send_to(&[0; 1_000], ("10.0.0.22", 9))));
                std::thread::sleep(2 * PERIOD);
            }
        });
        for _ in 0..ATTEMPTS {
            shares.push(tcp_rate(&lab) / 10e6);
            if shares.last().is_some_and(|share| HALF.contains(share)) {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    let share = shares.last().unwrap();
    assert!(HALF.contains(share), "{shares:?}");
}
