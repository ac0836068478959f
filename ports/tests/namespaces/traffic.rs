//! Real hosts with default offloads exchange TCP and UDP through ports: plain, tagged, over TAP.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    os::fd::AsRawFd,
    sync::mpsc::{Receiver, TryRecvError},
};

use bofuss_frame::{Frame, Gso, GsoKind, Pool};
use bofuss_ports::{BATCH_FRAMES, PortDriver, Tap, set_link};

use crate::common::{
    Namespace, at, host, in_both_ways, in_namespace, ip, open, pop, push, until, veth,
};

const TRANSFER_BYTES: usize = 8 << 20;
const DATAGRAM_BYTES: usize = 1000;
const DATAGRAMS: usize = 40;

type Tags = &'static [(u16, u16)];

/// The change to a frame between two ports.
#[derive(Clone, Copy)]
enum Edit {
    Push(Tags),
    Pop(Tags),
}

/// A cable: frames received on the first port leave by the second, edited.
type Cable = (usize, usize, Edit);

/// The frames that passed.
#[derive(Default)]
struct Seen {
    longest: [usize; 4],
    kinds: Vec<GsoKind>,
}

/// Carries frames between ports until `done` has a result.
fn carry<R>(
    pool: &Pool,
    ports: &mut [&mut dyn PortDriver],
    cables: &[Cable],
    done: &Receiver<R>,
) -> (R, Seen) {
    let mut seen = Seen::default();
    let mut frames: Vec<Frame> = Vec::new();
    let mut result = None;
    until("the hosts are done", || {
        for &(from, to, edit) in cables {
            ports[from]
                .recv(pool, &mut frames, BATCH_FRAMES)
                .expect("it is there");
            for frame in &mut frames {
                match edit {
                    Edit::Push(tags) => push(frame, tags),
                    Edit::Pop(tags) => pop(frame, tags),
                }
                seen.longest[from] = seen.longest[from].max(frame.len());
                if let Some(Gso { kind, .. }) = frame.offload.gso
                    && !seen.kinds.contains(&kind)
                {
                    seen.kinds.push(kind);
                }
            }
            ports[to].send(&mut frames).expect("it is there");
            frames.clear();
        }
        result = match done.try_recv() {
            Ok(result) => Some(result),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => panic!("the host failed"),
        };
        result.is_some()
    });
    for port in ports {
        let counters = port.counters();
        assert_eq!(counters.rx_errors() + counters.tx_errors(), 0);
    }
    (result.expect("the loop ended by it"), seen)
}

/// Sends a patterned megabytes' stream from one namespace to the other; yields whether it arrived
/// whole.
fn transfer(client: &Namespace, server: &Namespace, to: SocketAddr) -> Receiver<bool> {
    let listener = server.run(move || TcpListener::bind(to).expect("the address is there"));
    let pattern: Vec<u8> = (0..TRANSFER_BYTES).map(|n| ((n * 31) >> 8) as u8).collect();
    let sent = pattern.clone();
    client.start(move || {
        let mut stream = TcpStream::connect(to).expect("the server answers");
        stream.write_all(&sent).expect("it reads");
    });
    server.start(move || {
        let mut received = Vec::with_capacity(TRANSFER_BYTES);
        let (mut stream, _) = listener.accept().expect("the client comes");
        stream.read_to_end(&mut received).expect("it closes");
        received == pattern
    })
}

/// Sends datagrams in one super-frame (UDP segmentation offload); yields how many arrived whole.
fn datagrams(client: &Namespace, server: &Namespace, to: SocketAddr) -> Receiver<usize> {
    let socket = server.run(move || UdpSocket::bind(to).expect("the address is there"));
    client.start(move || {
        let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any).expect("any address will do");
        socket.connect(to).expect("it is local");
        let size = DATAGRAM_BYTES as libc::c_int;
        let (fd, value) = (socket.as_raw_fd(), (&raw const size).cast());
        let len = size_of_val(&size) as libc::socklen_t;
        // SAFETY: the kernel reads `len` bytes, which is what `value` points to.
        let result = unsafe { libc::setsockopt(fd, libc::SOL_UDP, libc::UDP_SEGMENT, value, len) };
        assert_eq!(result, 0);
        let bytes: Vec<u8> = (0..DATAGRAM_BYTES * DATAGRAMS)
            .map(|n| (n / DATAGRAM_BYTES) as u8)
            .collect();
        socket.send(&bytes).expect("it fits");
    });
    server.start(move || {
        let mut buffer = [0; 2 * DATAGRAM_BYTES];
        let whole = |_: &usize| {
            let size = socket.recv(&mut buffer).expect("one arrives");
            size == DATAGRAM_BYTES && buffer[..size].iter().all(|byte| *byte == buffer[0])
        };
        (0..DATAGRAMS).filter(whole).count()
    })
}

const STRAIGHT: Edit = Edit::Push(&[]);

#[test]
fn tcp_and_udp_super_frames_pass_whole_between_two_ports() {
    in_both_ways(|| {
        let pool = Pool::new(64 << 20);
        let a = host("p1", &["10.0.0.1/24", "fd00::1/64"]);
        let b = host("p2", &["10.0.0.2/24", "fd00::2/64"]);
        let (mut p1, mut p2) = (open("p1"), open("p2"));
        let cables = [(0, 1, STRAIGHT), (1, 0, STRAIGHT)];
        for (address, kind) in [("10.0.0.2", GsoKind::Tcp4), ("fd00::2", GsoKind::Tcp6)] {
            let done = transfer(&a, &b, at(address, 5001));
            let (whole, seen) = carry(&pool, &mut [&mut p1, &mut p2], &cables, &done);
            assert!(whole);
            assert_eq!(seen.kinds, [kind]);
            assert!(seen.longest[0] > 20_000, "{:?}", seen.longest);
            let done = datagrams(&a, &b, at(address, 5002));
            let (count, seen) = carry(&pool, &mut [&mut p1, &mut p2], &cables, &done);
            assert_eq!(count, DATAGRAMS);
            assert_eq!(seen.kinds, [GsoKind::Udp]);
        }
    });
}

/// Two switches with a trunk between them: tags are pushed at one end, restored and popped at the
/// other.
fn across_a_trunk(tags: Tags) {
    let pool = Pool::new(64 << 20);
    let a = host("p1", &["10.0.0.1/24", "fd00::1/64"]);
    let b = host("p4", &["10.0.0.2/24", "fd00::2/64"]);
    veth("p2", "p3");
    // Above the MTU the kernel allows one 802.1Q tag and no other.
    for name in ["p2", "p3"] {
        ip(&format!("link set {name} mtu {}", 1500 + 4 * tags.len()));
    }
    let [mut p1, mut p2, mut p3, mut p4] = ["p1", "p2", "p3", "p4"].map(open);
    let ports: &mut [&mut dyn PortDriver] = &mut [&mut p1, &mut p2, &mut p3, &mut p4];
    let cables = [
        (0, 1, Edit::Push(tags)),
        (2, 3, Edit::Pop(tags)),
        (3, 2, Edit::Push(tags)),
        (1, 0, Edit::Pop(tags)),
    ];
    for address in ["10.0.0.2", "fd00::2"] {
        let done = transfer(&a, &b, at(address, 5001));
        let (whole, seen) = carry(&pool, ports, &cables, &done);
        assert!(whole);
        assert!(seen.longest[2] > 20_000, "{:?}", seen.longest);
        let done = datagrams(&a, &b, at(address, 5002));
        let (count, seen) = carry(&pool, ports, &cables, &done);
        assert_eq!(count, DATAGRAMS);
        assert_eq!(seen.kinds, [GsoKind::Udp]);
    }
}

#[test]
fn super_frames_keep_an_802_1q_tag_over_a_trunk() {
    in_namespace(|| across_a_trunk(&[(0x8100, 0x6123)]));
}

#[test]
fn super_frames_keep_an_802_1ad_tag_over_a_trunk() {
    in_namespace(|| across_a_trunk(&[(0x88a8, 0x0007)]));
}

#[test]
fn super_frames_keep_802_1ad_over_802_1q_over_a_trunk() {
    in_both_ways(|| across_a_trunk(&[(0x88a8, 0x3064), (0x8100, 0x0065)]));
}

#[test]
fn super_frames_keep_a_priority_tag_of_class_0_over_a_trunk() {
    in_namespace(|| across_a_trunk(&[(0x8100, 0)]));
}

/// The host of this namespace behind a TAP port, another behind veth; TCP and UDP both ways.
fn between_tap_and_veth(tags: Tags) {
    let pool = Pool::new(64 << 20);
    let mut tap = Tap::open("tap0", true).expect("the device is there");
    ip("addr add 10.0.0.1/24 dev tap0");
    set_link("tap0", true).expect("it was just made");
    let near = Namespace::here();
    let far = host("p1", &["10.0.0.2/24"]);
    let mut port = open("p1");
    let ports: &mut [&mut dyn PortDriver] = &mut [&mut tap, &mut port];
    // A host takes a frame with a priority tag for one without.
    let cables = [(0, 1, Edit::Push(tags)), (1, 0, Edit::Push(tags))];
    let ways = [(&near, &far, "10.0.0.2"), (&far, &near, "10.0.0.1")];
    for (port, (client, server, address)) in (5001..).zip(ways) {
        let done = transfer(client, server, at(address, port));
        let (whole, seen) = carry(&pool, ports, &cables, &done);
        assert!(whole);
        assert_eq!(seen.kinds, [GsoKind::Tcp4]);
        let done = datagrams(client, server, at(address, port));
        let (count, seen) = carry(&pool, ports, &cables, &done);
        assert_eq!(count, DATAGRAMS);
        assert_eq!(seen.kinds, [GsoKind::Udp]);
    }
}

#[test]
fn super_frames_pass_whole_between_tap_and_veth() {
    in_both_ways(|| between_tap_and_veth(&[]));
}

#[test]
fn super_frames_with_priority_tags_reach_hosts_behind_tap_and_veth() {
    in_namespace(|| between_tap_and_veth(&[(0x8100, 0x6000)]));
}
