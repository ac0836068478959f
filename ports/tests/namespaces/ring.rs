//! The receive ring: order across ring and queue, wrapping round, growing.

use std::{
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    sync::Arc,
    thread,
    time::Duration,
};

use bofuss_frame::{Frame, Pool};
use bofuss_ports::{AfPacket, AfPacketOptions, BATCH_FRAMES, DriverDropReason, PortDriver};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use crate::common::{
    frame, host, in_both_ways, in_namespace, ip, open, open_with, setting, settle, until, veth,
};

/// Frames that a ring holds before it has grown.
const FIRST_SLOTS: usize = 1024;

/// A frame of `len` bytes that tells its number twice.
fn numbered(pool: &Pool, number: usize, len: usize) -> Frame {
    let mut it = frame(pool, len);
    let digits = (number as u64).to_be_bytes();
    it.bytes_mut()[14..22].copy_from_slice(&digits);
    it.bytes_mut()[len - 8..].copy_from_slice(&digits);
    it
}

/// The number of such a frame. Panics: if it is another frame, or not whole.
fn number(frame: &Frame) -> usize {
    let bytes = frame.bytes();
    assert_eq!(bytes[12..14], [0x88, 0xb5]);
    assert_eq!(bytes[14..22], bytes[bytes.len() - 8..]);
    let digits = bytes[14..22].try_into().expect("eight bytes");
    u64::from_be_bytes(digits) as usize
}

fn send(port: &mut AfPacket, pool: &Pool, numbers: std::ops::Range<usize>) {
    let mut frames = numbers.map(|n| numbered(pool, n, 60)).collect();
    port.send(&mut frames).expect("it is there");
    assert!(frames.is_empty());
}

/// The numbers of the frames that wait.
fn take(port: &mut AfPacket, pool: &Pool) -> Vec<usize> {
    let (mut numbers, mut frames) = (Vec::new(), Vec::new());
    while port
        .recv(pool, &mut frames, BATCH_FRAMES)
        .expect("it is there")
        > 0
    {
        numbers.extend(frames.drain(..).map(|frame| number(&frame)));
    }
    numbers
}

#[test]
fn frames_of_all_sizes_stay_in_order_and_whole() {
    in_both_ways(|| {
        let pool = Pool::new(1 << 26);
        veth("s1", "s2");
        for name in ["s1", "s2"] {
            ip(&format!("link set {name} mtu 9000"));
        }
        let (mut a, mut b) = (open("s1"), open("s2"));
        // Around the size of a small buffer, of a slot, and of everything.
        let sizes = [
            60, 9014, 1900, 1919, 1920, 1921, 1971, 1972, 1973, 61, 1980, 4096, 62, 63,
        ];
        let mut next = 0;
        for (round, max) in (0..60).zip([BATCH_FRAMES, 1, 3, 7].into_iter().cycle()) {
            let mut frames = Vec::new();
            for n in 0..20 + round {
                let size = sizes[(n * (round + 1)) % sizes.len()];
                frames.push(numbered(&pool, next + n, size));
            }
            let lens: Vec<usize> = frames.iter().map(Frame::len).collect();
            a.send(&mut frames).expect("it is there");
            let mut received = Vec::new();
            until("all arrive", || {
                b.recv(&pool, &mut received, max).expect("it is there");
                received.len() >= lens.len()
            });
            let numbers = received.iter().map(number);
            assert!(numbers.eq(next..next + lens.len()));
            assert!(received.iter().map(Frame::len).eq(lens));
            next += 20 + round;
        }
        assert!(next > 2 * FIRST_SLOTS, "the ring went round");
        assert_eq!(b.counters().rx_dropped() + b.counters().rx_errors(), 0);
    });
}

/// Receives until frame `last` has come; the numbers of all. Panics: if they do not increase.
fn take_until(port: &mut AfPacket, pool: &Pool, last: usize) -> Vec<usize> {
    let mut numbers = Vec::new();
    until("the last frame comes", || {
        numbers.extend(take(port, pool));
        numbers.last() == Some(&last)
    });
    assert!(numbers.is_sorted_by(|a, b| a < b));
    numbers
}

#[test]
fn a_ring_that_lost_frames_grows_and_keeps_their_order() {
    in_namespace(|| {
        let pool = Pool::new(1 << 26);
        veth("s1", "s2");
        let (mut a, mut b) = (open("s1"), open("s2"));
        let fd = |port: &AfPacket| port.fd().expect("a socket").as_raw_fd();
        let first = fd(&b);
        send(&mut a, &pool, 0..FIRST_SLOTS + 44);
        assert_eq!(
            take_until(&mut b, &pool, FIRST_SLOTS - 1).len(),
            FIRST_SLOTS
        );
        assert_eq!(b.counters().dropped(DriverDropReason::RxKernel), 44);
        // A larger ring is being made, while the first goes on.
        send(&mut a, &pool, 300..400);
        let mut frames = Vec::new();
        until("there is another ring", || {
            let _ = b.counters();
            thread::sleep(Duration::from_millis(10));
            fd(&b) != first
        });
        send(&mut a, &pool, 400..500);
        b.recv(&pool, &mut frames, 10).expect("it is there");
        assert!(
            frames.iter().map(number).eq(300..310),
            "the old ones come first"
        );
        assert!(take_until(&mut b, &pool, 499).into_iter().eq(310..500));
        // The kernel's own queue on the way holds a thousand, too.
        send(&mut a, &pool, 500..1400);
        assert_eq!(take_until(&mut b, &pool, 1399).len(), 900);
        assert_eq!(b.counters().rx_dropped(), 44);
    });
}

#[test]
fn a_port_says_how_many_frames_can_wait_and_whether_half_of_them_do() {
    in_namespace(|| {
        let pool = Pool::new(1 << 26);
        veth("s1", "s2");
        let (mut a, mut b) = (open("s1"), open("s2"));
        let is_half_full = |port: &AfPacket| {
            let room = port.receive_room().expect("it has a ring");
            assert_eq!(room.frames, FIRST_SLOTS);
            room.is_half_full
        };
        send(&mut a, &pool, 0..FIRST_SLOTS / 2);
        thread::sleep(Duration::from_millis(50));
        assert!(!is_half_full(&b));
        send(&mut a, &pool, FIRST_SLOTS / 2..FIRST_SLOTS / 2 + 1);
        until("one more has arrived", || is_half_full(&b));
        take_until(&mut b, &pool, FIRST_SLOTS / 2);
        assert!(!is_half_full(&b));
        drop(b);
        let without_ring = AfPacketOptions {
            ring_slots: 0,
            ..AfPacketOptions::default()
        };
        assert_eq!(open_with("s2", without_ring).receive_room(), None);
    });
}

/// The interface here has the number that the one in the host has there, as both are the first.
#[test]
fn a_ring_grows_in_the_namespace_of_its_port_whatever_thread_uses_it() {
    in_namespace(|| {
        let pool = Pool::new(1 << 26);
        let host = host("s1", &[]);
        setting("s1", "ipv6", "disable_ipv6", "1");
        host.run(|| setting("eth0", "ipv6", "disable_ipv6", "1"));
        let there = || open_with("eth0", AfPacketOptions::default());
        settle(&mut open("s1"), &mut host.run(there));
        let (mut a, mut b) = (open("s1"), host.run(there));
        until("the ring has grown", || {
            send(&mut a, &pool, 0..FIRST_SLOTS + 44);
            thread::sleep(Duration::from_millis(20));
            while !take(&mut b, &pool).is_empty() {}
            let _ = b.counters();
            b.ring_slots() > FIRST_SLOTS
        });
        send(&mut a, &pool, 1000..1100);
        let sent: Vec<usize> = (1000..1100).collect();
        assert!(take_until(&mut b, &pool, 1099).ends_with(&sent));
        // What leaves the host arrives at the other interface alone.
        send(&mut b, &pool, 1100..1110);
        assert!(take_until(&mut a, &pool, 1109).into_iter().eq(1100..1110));
        assert!(take(&mut b, &pool).is_empty());
    });
}

#[test]
fn a_ring_grows_without_rights_if_the_sockets_for_that_were_opened_ahead() {
    in_namespace(|| {
        let pool = Pool::new(1 << 26);
        veth("s1", "s2");
        for keeps_spares in [true, false] {
            let options = AfPacketOptions {
                keeps_spares,
                ..AfPacketOptions::default()
            };
            let (mut a, mut b) = (open("s1"), open_with("s2", options));
            let rights = capabilities(None).expect("they can be read");
            let none = CapabilitySets {
                effective: CapabilitySet::empty(),
                ..rights
            };
            set_capabilities(None, none).expect("they can be laid down");
            let sizes = [(FIRST_SLOTS, 8192)];
            for (slots, grown) in sizes.into_iter().filter(|_| keeps_spares) {
                until("the ring has grown", || {
                    send(&mut a, &pool, 0..slots + 1000);
                    thread::sleep(Duration::from_millis(20));
                    while !take(&mut b, &pool).is_empty() {}
                    let _ = b.counters();
                    b.ring_slots() == grown
                });
            }
            for _ in 0..10 {
                send(&mut a, &pool, 0..FIRST_SLOTS + 1);
                thread::sleep(Duration::from_millis(20));
                while !take(&mut b, &pool).is_empty() {}
                let _ = b.counters();
            }
            let wanted = if keeps_spares { 8192 } else { FIRST_SLOTS };
            assert_eq!(b.ring_slots(), wanted);
            set_capabilities(None, rights).expect("they can be taken up again");
        }
    });
}

/// A program of the kernel that lets a socket receive every frame.
fn passing() -> OwnedFd {
    #[repr(C)]
    struct Instruction {
        code: u8,
        registers: u8,
        offset: i16,
        immediate: i32,
    }
    // r0 = -1, the bytes that are kept; exit.
    let instructions = [(0xb7, -1), (0x95, 0)].map(|(code, immediate)| Instruction {
        code,
        registers: 0,
        offset: 0,
        immediate,
    });
    let license = c"GPL";
    /// The first fields of `union bpf_attr` for BPF_PROG_LOAD; those of the log are 0.
    #[repr(C)]
    struct Attributes {
        program_type: u32,
        count: u32,
        instructions: u64,
        license: u64,
        log: [u64; 3],
    }
    const BPF_PROG_LOAD: libc::c_int = 5;
    const BPF_PROG_TYPE_SOCKET_FILTER: u32 = 1;
    let attributes = Attributes {
        program_type: BPF_PROG_TYPE_SOCKET_FILTER,
        count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: license.as_ptr() as u64,
        log: [0; 3],
    };
    // SAFETY: the kernel reads the attributes, as many bytes as are said, and what they point to,
    // and returns a descriptor that nobody else has.
    unsafe {
        let size = size_of_val(&attributes);
        let fd = libc::syscall(libc::SYS_bpf, BPF_PROG_LOAD, &raw const attributes, size);
        assert!(fd >= 0, "{}", std::io::Error::last_os_error());
        OwnedFd::from_raw_fd(fd as libc::c_int)
    }
}

#[test]
fn no_other_ring_takes_over_while_a_program_of_a_predecessor_chooses_the_frames() {
    in_namespace(|| {
        const WAITING_SLOTS: usize = 2048;
        let pool = Pool::new(1 << 26);
        veth("s1", "s2");
        let options = AfPacketOptions {
            waits: true,
            ..AfPacketOptions::default()
        };
        let (mut a, mut b) = (open("s1"), open_with("s2", options));
        let mut lose = |b: &mut AfPacket| {
            for first in (0..WAITING_SLOTS + 1000).step_by(BATCH_FRAMES) {
                send(&mut a, &pool, first..first + BATCH_FRAMES);
            }
            thread::sleep(Duration::from_millis(20));
            while !take(b, &pool).is_empty() {}
            b.counters().dropped(DriverDropReason::RxKernel)
        };
        b.receive_beside(&Arc::new(passing())).expect("it waits");
        let mut lost = 0;
        until("frames are lost some times", || {
            lost += u64::from(lose(&mut b) > 0);
            lost > 9
        });
        assert_eq!(b.ring_slots(), WAITING_SLOTS);
        assert!(b.begin_reception().expect("it is there"), "it has begun");
        b.receive_alone().expect("it is there");
        until("the ring has grown", || {
            lose(&mut b);
            b.ring_slots() > WAITING_SLOTS
        });
    });
}

#[test]
fn order_holds_and_losses_are_counted_while_a_ring_grows_under_load() {
    in_namespace(|| {
        let pool = Pool::new(1 << 26);
        veth("s1", "s2");
        let (mut a, mut b) = (open("s1"), open("s2"));
        const FRAMES: usize = 100_000;
        let sender = thread::spawn(move || {
            let pool = Pool::new(1 << 26);
            for first in (0..FRAMES).step_by(BATCH_FRAMES) {
                send(&mut a, &pool, first..first + BATCH_FRAMES);
            }
            a
        });
        let mut numbers = Vec::new();
        while !sender.is_finished() {
            numbers.extend(take(&mut b, &pool));
            // A slow receiver, so that frames are lost.
            thread::sleep(Duration::from_millis(2));
        }
        let mut a = sender.join().expect("it sent all");
        until("the growth is done", || {
            numbers.extend(take(&mut b, &pool));
            let _ = b.counters();
            thread::sleep(Duration::from_millis(10));
            b.ring_slots() > FIRST_SLOTS
        });
        send(&mut a, &pool, FRAMES..FRAMES + 1);
        numbers.extend(take_until(&mut b, &pool, FRAMES));
        assert!(numbers.is_sorted_by(|a, b| a < b));
        let lost = b.counters().rx_dropped() as usize;
        // At each growth some fall between two system calls: a frame or two, unless the machine is
        // so busy that it interrupts the receiver there.
        let missing = FRAMES + 1 - numbers.len() - lost;
        let most = FRAMES / 50;
        assert!(
            lost > 0 && missing < most,
            "{missing} frames were not counted"
        );
    });
}

#[test]
fn a_ring_goes_comes_and_shrinks_while_frames_pass() {
    in_namespace(|| {
        let pool = Pool::new(1 << 26);
        veth("s1", "s2");
        let (mut a, mut b) = (open("s1"), open("s2"));
        let mut next = 0;
        // The last of two wishes at a time counts.
        for (wishes, slots) in [
            ([9999, 0], 0),
            ([0, 40], 64),
            ([0, 4096], FIRST_SLOTS),
            ([64, 64], 64),
        ] {
            wishes.into_iter().for_each(|slots| b.tune(slots, true));
            until("the ring has its size", || {
                send(&mut a, &pool, next..next + 10);
                next += 10;
                take_until(&mut b, &pool, next - 1);
                let _ = b.counters();
                thread::sleep(Duration::from_millis(5));
                b.ring_slots() == slots
            });
        }
        assert_eq!(b.counters().rx_dropped(), 0);
        b.tune(64, false);
        let mut short = vec![frame(&pool, 20)];
        b.send(&mut short).expect("it is there");
        until("it comes as it is", || {
            a.recv(&pool, &mut short, 1).expect("it is there") == 1
        });
        assert_eq!(short[0].len(), 20);
    });
}
