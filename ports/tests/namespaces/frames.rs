//! The treatment of single frames: tags, runts, sizes, drops, disappearing interfaces, the host's
//! stack.

use std::{
    fs,
    net::UdpSocket,
    thread,
    time::{Duration, Instant},
};

use bofuss_frame::{Gso, GsoKind, Offload, Pool};
use bofuss_ports::{
    AfPacket, AfPacketOptions, BATCH_FRAMES, Counters, DriverDropReason, PortDriver, PortError,
    Tap, set_link,
};

use crate::{
    ALLOCATIONS,
    common::{
        frame, host, in_both_ways, in_namespace, ip, limit_queue, open, open_with, pop, push,
        receive, setting, settle, until, veth,
    },
};

/// Opens a connected pair of ports.
fn pair() -> (AfPacket, AfPacket) {
    veth("s1", "s2");
    (open("s1"), open("s2"))
}

pub(crate) const TAGS: [&[(u16, u16)]; 7] = [
    &[],
    &[(0x8100, 0x0123)],
    &[(0x8100, 0)],
    &[(0x8100, 0xe000)],
    &[(0x88a8, 0)],
    &[(0x88a8, 0x0fff), (0x8100, 0x3001)],
    &[(0x8100, 0x3001), (0x8100, 0)],
];

/// Sends a frame with each stack of tags and expects it at the other end as it was.
fn tags_survive(pool: &Pool, from: &mut dyn PortDriver, to: &mut dyn PortDriver) {
    for tags in TAGS {
        let mut sent = frame(pool, 100);
        push(&mut sent, tags);
        let bytes = sent.bytes().to_vec();
        assert_eq!(from.send(&mut vec![sent]).expect("it is there"), 1);

        let mut received = receive(to, pool, 1).remove(0);
        assert_eq!(received.bytes(), bytes);
        pop(&mut received, tags);
        assert_eq!(received.bytes(), frame(pool, 100).bytes());
    }
}

#[test]
fn tags_survive_from_veth_to_veth() {
    in_both_ways(|| {
        let (mut a, mut b) = pair();
        tags_survive(&Pool::new(1 << 24), &mut a, &mut b);
    });
}

#[test]
fn tags_survive_both_ways_through_a_tap() {
    in_namespace(|| {
        let mut tap = Tap::open("tap0", true).expect("the device is there");
        setting("tap0", "ipv6", "disable_ipv6", "1");
        set_link("tap0", true).expect("it was just made");
        let mut host_side = open("tap0");
        settle(&mut host_side, &mut tap);
        let pool = Pool::new(1 << 24);
        tags_survive(&pool, &mut host_side, &mut tap);
        tags_survive(&pool, &mut tap, &mut host_side);
    });
}

#[test]
fn runts_are_padded_to_60_bytes_unless_told_not_to() {
    in_namespace(|| {
        let pool = Pool::new(1 << 24);
        let (mut a, mut b) = pair();
        a.send(&mut vec![frame(&pool, 30)]).expect("it is there");
        let padded = receive(&mut b, &pool, 1).remove(0);
        assert_eq!(padded.len(), 60);
        assert!(padded.bytes()[30..].iter().all(|byte| *byte == 0));
        drop(a);
        let options = AfPacketOptions {
            pad_runts: false,
            qdisc_bypass: true,
            ..AfPacketOptions::default()
        };
        let mut a = open_with("s1", options);
        a.send(&mut vec![frame(&pool, 30)]).expect("it is there");
        assert_eq!(receive(&mut b, &pool, 1)[0].len(), 30);
    });
}

#[test]
fn a_frame_above_the_mtu_is_dropped_alone_and_by_name() {
    in_both_ways(|| {
        let pool = Pool::new(1 << 24);
        let (mut a, mut b) = pair();
        let mut sizes = vec![60, 1514, 1515, 61];
        let mut frames: Vec<_> = sizes.iter().map(|&len| frame(&pool, len)).collect();
        // The kernel allows one 802.1Q tag above the MTU and no other.
        push(&mut frames[1], &[(0x8100, 7)]);
        let mut stacked = frame(&pool, 1514);
        push(&mut stacked, &[(0x88a8, 7), (0x8100, 7)]);
        frames.insert(2, stacked);
        assert_eq!(a.send(&mut frames).expect("it is there"), 3);
        assert!(frames.is_empty());
        let received: Vec<_> = receive(&mut b, &pool, 3).iter().map(|f| f.len()).collect();
        assert_eq!(received, [60, 1518, 61]);
        assert_eq!(a.counters().dropped(DriverDropReason::TxTooLong), 2);

        for name in ["s1", "s2"] {
            ip(&format!("link set {name} mtu 9216"));
        }
        a.set_mtu(9216);
        sizes = vec![9230, 9231];
        let mut frames = sizes.iter().map(|&len| frame(&pool, len)).collect();
        assert_eq!(a.send(&mut frames).expect("it is there"), 1);
        assert_eq!(receive(&mut b, &pool, 1)[0].len(), 9230);
        assert_eq!(a.counters().tx_dropped(), 3);
    });
}

#[test]
fn a_frame_that_the_kernel_refuses_does_not_stop_the_next() {
    in_namespace(|| {
        let pool = Pool::new(1 << 24);
        let (mut a, mut b) = pair();
        let mut frames: Vec<_> = [60, 61, 62, 63].map(|len| frame(&pool, len)).into();
        frames[1].offload.checksum = Some((60, 6));
        frames[2].offload = Offload {
            checksum: Some((34, 8)),
            gso: Some(Gso {
                kind: GsoKind::Sctp,
                segment_bytes: 9,
                ecn: false,
            }),
            ..Offload::NONE
        };
        assert_eq!(a.send(&mut frames).expect("it is there"), 2);
        let received: Vec<_> = receive(&mut b, &pool, 2).iter().map(|f| f.len()).collect();
        assert_eq!(received, [60, 63]);
        let counters = a.counters();
        assert_eq!(counters.dropped(DriverDropReason::TxRefused), 1);
        assert_eq!(counters.dropped(DriverDropReason::TxShape), 1);
        assert_eq!((counters.tx_packets, counters.tx_bytes), (2, 123));
    });
}

#[test]
fn an_exhausted_pool_drops_by_name_and_recovers() {
    in_both_ways(|| {
        let pool = Pool::new(1 << 24);
        let (mut a, mut b) = pair();
        let held = Pool::new(2 * 70_000);
        a.send(&mut (0..80).map(|_| frame(&pool, 60)).collect())
            .expect("it is there");
        let mut kept = Vec::new();
        until("all are seen", || {
            b.recv(&held, &mut kept, BATCH_FRAMES).expect("it is there");
            let counters = b.counters();
            counters.rx_packets + counters.dropped(DriverDropReason::RxNoBuffer) == 80
        });
        assert!(b.counters().rx_dropped() > 0);
        kept.clear();
        a.send(&mut vec![frame(&pool, 60)]).expect("it is there");
        assert_eq!(receive(&mut b, &held, 1).len(), 1);
    });
}

#[test]
fn what_the_kernel_could_not_queue_is_counted() {
    in_both_ways(|| {
        let pool = Pool::new(1 << 26);
        let (mut a, mut b) = pair();
        for name in ["s1", "s2"] {
            ip(&format!("link set {name} mtu 60000"));
        }
        a.set_mtu(60_000);
        // As for a user whose queues the system limits: the ring holds more frames than the queue
        // has room for their ends.
        limit_queue(&b, 1 << 20);
        // A few large frames fill the socket and not the kernel's queue, which all tests share.
        let total = 40 * BATCH_FRAMES;
        for _ in 0..total / BATCH_FRAMES {
            let mut frames = (0..BATCH_FRAMES).map(|_| frame(&pool, 60_000)).collect();
            a.send(&mut frames).expect("it is there");
        }
        let mut frames = Vec::new();
        until("all are received or counted", || {
            b.recv(&pool, &mut frames, BATCH_FRAMES)
                .expect("it is there");
            frames.clear();
            // Meanwhile a larger ring takes over.
            thread::sleep(Duration::from_millis(10));
            let counters = b.counters();
            counters.rx_packets + counters.rx_dropped() >= total as u64
        });
        let counters = b.counters();
        let lost = counters.dropped(DriverDropReason::RxKernel);
        assert!(lost > 0);
        assert_eq!(counters.rx_packets + lost, total as u64);
        assert_eq!(b.counters(), counters, "counted once");
    });
}

#[test]
fn a_link_that_is_down_drops_by_name_and_comes_back() {
    in_both_ways(|| {
        let pool = Pool::new(1 << 24);
        let (mut a, mut b) = pair();
        set_link("s1", false).expect("it is there");
        let mut frames = vec![frame(&pool, 60), frame(&pool, 61)];
        assert_eq!(a.send(&mut frames).expect("down, not gone"), 0);
        assert!(frames.is_empty());
        assert_eq!(a.counters().dropped(DriverDropReason::TxLinkDown), 2);
        assert_eq!(a.recv(&pool, &mut frames, 9).expect("down, not gone"), 0);
        set_link("s1", true).expect("it is there");
        settle(&mut a, &mut b);
        a.send(&mut vec![frame(&pool, 62)]).expect("it is there");
        assert_eq!(receive(&mut b, &pool, 1)[0].len(), 62);
        b.send(&mut vec![frame(&pool, 63)]).expect("it is there");
        assert_eq!(receive(&mut a, &pool, 1)[0].len(), 63);
    });
}

#[test]
fn a_disappeared_interface_is_gone_and_can_be_opened_anew() {
    in_both_ways(|| {
        let pool = Pool::new(1 << 24);
        let (mut a, mut b) = pair();
        let mut frames = Vec::new();
        assert_eq!(a.recv(&pool, &mut frames, 9).expect("it is there"), 0);
        ip("link del s1");
        assert!(matches!(
            a.recv(&pool, &mut frames, 9),
            Err(PortError::Gone)
        ));
        assert!(matches!(
            a.recv(&pool, &mut frames, 9),
            Err(PortError::Gone)
        ));
        frames.push(frame(&pool, 60));
        assert!(matches!(b.send(&mut frames), Err(PortError::Gone)));
        assert!(frames.is_empty());
        veth("s1", "s2");
        let (mut new_a, mut new_b) = (open("s1"), open("s2"));
        drop((a, b));
        tags_survive(&pool, &mut new_a, &mut new_b);
        assert!(
            new_a.host_is_kept_out(),
            "the old port did not give back for the new one"
        );
    });
}

#[test]
fn a_disappeared_tap_is_gone() {
    in_namespace(|| {
        let pool = Pool::new(1 << 24);
        let mut tap = Tap::open("tap0", true).expect("the device is there");
        let mut frames = vec![frame(&pool, 60)];
        assert_eq!(tap.send(&mut frames).expect("down, not gone"), 0);
        assert_eq!(tap.counters().dropped(DriverDropReason::TxLinkDown), 1);
        ip("link del tap0");
        assert!(matches!(
            tap.recv(&pool, &mut frames, 9),
            Err(PortError::Gone)
        ));
        frames.push(frame(&pool, 60));
        assert!(matches!(tap.send(&mut frames), Err(PortError::Gone)));
    });
}

/// Moves batches through and returns how often this thread and the pool allocated after a warm-up.
fn allocations(pool: &Pool, from: &mut dyn PortDriver, to: &mut dyn PortDriver) -> (u64, u64) {
    let mut frames = Vec::with_capacity(4 * BATCH_FRAMES);
    let mut before = (0, 0);
    for round in 0..60 {
        if round == 10 {
            before = (ALLOCATIONS.get(), pool.stats().allocations);
        }
        let len = if round % 2 == 0 { 60 } else { 9000 };
        for _ in 0..BATCH_FRAMES {
            let mut one = pool.take(len).expect("within the limit");
            one.set_len(len);
            one.bytes_mut()[..14].copy_from_slice(&[2; 14]);
            frames.push(one);
        }
        assert_eq!(from.send(&mut frames).expect("it is there"), BATCH_FRAMES);
        let mut left = BATCH_FRAMES;
        while left > 0 {
            left -= to.recv(pool, &mut frames, left).expect("it is there");
        }
        assert!(frames.iter().all(|frame| frame.len() == len));
        frames.clear();
    }
    let after = (ALLOCATIONS.get(), pool.stats().allocations);
    (after.0 - before.0, after.1 - before.1)
}

// I12
#[test]
fn nothing_is_allocated_per_frame_after_warm_up() {
    in_both_ways(|| {
        let pool = Pool::new(1 << 26);
        let (mut a, mut b) = pair();
        let mut tap = Tap::open("tap0", true).expect("the device is there");
        setting("tap0", "ipv6", "disable_ipv6", "1");
        set_link("tap0", true).expect("it was just made");
        let mut host_side = open("tap0");
        settle(&mut host_side, &mut tap);
        for name in ["s1", "s2", "tap0"] {
            ip(&format!("link set {name} mtu 9000"));
        }
        let ports: [&mut dyn PortDriver; 4] = [&mut a, &mut b, &mut tap, &mut host_side];
        for port in ports {
            port.set_mtu(9000);
        }
        assert_eq!(allocations(&pool, &mut a, &mut b), (0, 0));
        assert_eq!(allocations(&pool, &mut tap, &mut host_side), (0, 0));
        assert_eq!(allocations(&pool, &mut host_side, &mut tap), (0, 0));
    });
}

/// Packets that a host's interface has received.
fn received_by(guest: &crate::common::Namespace) -> usize {
    guest.run(|| {
        let seen = fs::read_to_string("/proc/thread-self/net/dev").expect("procfs is there");
        let line = seen
            .lines()
            .find(|line| line.contains("eth0:"))
            .expect("it is there");
        let packets = line.split_whitespace().nth(2).expect("received packets");
        packets.parse().expect("a number")
    })
}

/// A host asks for what the switch's own stack could answer or forward; returns what comes back, by
/// kind.
fn answers_of_the_stack(options: AfPacketOptions) -> (usize, usize) {
    let pool = Pool::new(1 << 24);
    fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("our own namespace");
    veth("inside", "inner");
    ip("addr add 10.1.0.1/24 dev inside");
    ip("neigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev inside");
    let guest = host("p1", &["10.0.0.2/24"]);
    let mut inner = open("inner");
    let mut port = AfPacket::open("p1", options).expect("it is suitable");
    let mac = port.link().mac.map(|byte| format!("{byte:02x}")).join(":");
    let (answered, asks) = (
        Counters::default(),
        [("10.0.0.1", 7), ("10.1.0.1", 7), ("10.1.0.9", 7)],
    );
    assert_eq!(answered, port.counters());
    // A frame that the interface sent by itself before it was a port is no answer.
    let before = received_by(&guest);
    guest.run(move || {
        ip("route add default via 10.0.0.1 dev eth0 onlink");
        // ARP for an address of another interface, then packets straight to the port's own address.
        ip("route add 10.1.0.1/32 dev eth0");
        let socket = UdpSocket::bind("0.0.0.0:0").expect("any address will do");
        socket
            .send_to(b"who has?", asks[1])
            .expect("ARP takes its time");
        thread::sleep(Duration::from_millis(50));
        ip(&format!("neigh replace 10.0.0.1 lladdr {mac} dev eth0"));
        ip(&format!("neigh replace 10.1.0.1 lladdr {mac} dev eth0"));
        for ask in asks {
            socket
                .send_to(b"are you there?", ask)
                .expect("it is routed");
        }
    });
    thread::sleep(Duration::from_millis(100));
    let mut frames = Vec::new();
    port.recv(&pool, &mut frames, 1000).expect("it is there");
    assert!(
        frames.len() >= 4,
        "the switch sees the frames in either case"
    );
    frames.clear();
    inner.recv(&pool, &mut frames, 1000).expect("it is there");
    let forwarded = frames.len();
    let replies = received_by(&guest) - before;
    (replies, forwarded)
}

#[test]
fn the_hosts_stack_is_kept_out_of_a_port_without_addresses() {
    in_namespace(|| {
        let silent = answers_of_the_stack(AfPacketOptions::default());
        assert_eq!(silent, (0, 0), "replies and forwarded packets");
    });
    in_namespace(|| {
        let (replies, forwarded) = answers_of_the_stack(AfPacketOptions {
            keep_host_out: false,
            ..AfPacketOptions::default()
        });
        assert!(
            replies > 0 && forwarded > 0,
            "the test tells the difference"
        );
    });
}

#[test]
fn the_stacks_settings_are_given_back() {
    in_namespace(|| {
        veth("s1", "s2");
        setting("s1", "ipv6", "disable_ipv6", "0");
        let all = || {
            [
                "ipv6/conf/s1/disable_ipv6",
                "ipv4/conf/s1/arp_ignore",
                "ipv4/conf/s1/rp_filter",
            ]
            .map(|key| fs::read_to_string(format!("/proc/sys/net/{key}")).expect("it is there"))
        };
        let before = all();
        let port = open("s1");
        assert!(port.host_is_kept_out());
        assert_eq!(all(), ["1\n", "8\n", "1\n"]);
        drop(port);
        assert_eq!(all(), before);
    });
}

#[test]
fn the_settings_of_a_renamed_interface_are_given_back_to_it() {
    in_namespace(|| {
        veth("s1", "s2");
        let arp_ignore = |name| {
            let path = format!("/proc/sys/net/ipv4/conf/{name}/arp_ignore");
            fs::read_to_string(path).expect("it is there")
        };
        let before = arp_ignore("s1");
        let port = open("s1");
        assert_ne!(arp_ignore("s1"), before);
        for change in ["s1 down", "s2 down", "s1 name s3", "s2 name s1"] {
            ip(&format!("link set {change}"));
        }
        setting("s1", "ipv4", "arp_ignore", "2");
        drop(port);
        assert_eq!(arp_ignore("s3"), before);
        assert_eq!(arp_ignore("s1"), "2\n", "another interface");
    });
}

#[test]
fn promiscuous_mode_is_held_and_given_back() {
    in_both_ways(|| {
        veth("s1", "s2");
        let promiscuous = || {
            let output = std::process::Command::new("ip")
                .args(["-d", "link", "show", "s1"])
                .output();
            let output = output.expect("ip of iproute2 is installed").stdout;
            String::from_utf8_lossy(&output).contains("promiscuity 1")
        };
        let port = open("s1");
        until("the ports before are closed", promiscuous);
        drop(port);
        until("promiscuous mode is given back", || !promiscuous());
    });
}

#[test]
fn an_idle_port_holds_no_buffers_and_returns_at_once() {
    in_both_ways(|| {
        let pool = Pool::new(1 << 24);
        let (mut a, _b) = pair();
        let start = Instant::now();
        assert_eq!(
            a.recv(&pool, &mut Vec::new(), BATCH_FRAMES)
                .expect("it is there"),
            0
        );
        assert!(start.elapsed() < Duration::from_secs(1));
        assert_eq!(pool.stats().bytes_in_use, 0);
    });
}
