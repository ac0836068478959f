//! Numbered frames of all kinds mixed at random: small frames, jumbo frames and super-frames,
//! tagged or not, with checksums finished or not. Each comes once, whole, in order, as it was sent.

use std::thread;
use std::time::Duration;

use bofuss_frame::{Frame, Gso, GsoKind, Pool};
use bofuss_ports::{AfPacket, BATCH_BYTES, BATCH_FRAMES, PortDriver, set_link};

use crate::common::{in_both_ways, ip, open, push, until, veth};

/// Bytes of Ethernet, IPv4 and TCP headers, and where that of TCP begins.
const HEADERS: usize = 54;
const TCP_AT: u16 = 34;
/// The offset of a TCP header's checksum.
const TCP_CHECKSUM: u16 = 16;
/// The longest super-frame that the kernel makes.
const LONGEST: usize = 65_549;
const MTU: usize = 9000;
/// The ring has 1,024 slots at first, and these are many more.
const FRAMES: usize = 3000;

/// The kind of each frame.
#[derive(Clone, Copy)]
enum Kind {
    /// The shortest.
    Small,
    /// With a checksum to finish.
    Unfinished,
    /// As long as a slot of the ring, some bytes more or less.
    Slot,
    /// Of the MTU.
    Jumbo,
    /// To be cut.
    Super,
}

const KINDS: [Kind; 5] = [
    Kind::Small,
    Kind::Unfinished,
    Kind::Slot,
    Kind::Jumbo,
    Kind::Super,
];
const TAGS: [&[(u16, u16)]; 4] = [
    &[],
    &[(0x8100, 0x6123)],
    &[(0x8100, 0)],
    &[(0x88a8, 0x0007), (0x8100, 0x3001)],
];

/// Pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// Frame `number` of a direction: the same whoever makes it.
fn numbered(pool: &Pool, number: usize) -> Frame {
    let mut random = Random(0x9e37_79b9 * (number as u64 + 1));
    let kind = KINDS[random.below(KINDS.len())];
    let len = match kind {
        Kind::Small => 64 + random.below(100),
        Kind::Unfinished => 64 + random.below(1400),
        Kind::Slot => 1900 + random.below(100),
        Kind::Jumbo => MTU + 14 - random.below(20),
        Kind::Super => MTU + 1000 + random.below(LONGEST - MTU - 999),
    };
    let mut bytes = vec![number as u8; len];
    bytes[..HEADERS].fill(0);
    bytes[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    bytes[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0]);
    bytes[16..18].copy_from_slice(&((len - 14) as u16).to_be_bytes());
    bytes[22..24].copy_from_slice(&[64, 6]);
    // To an address that is nobody's.
    bytes[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    bytes[46] = 0x50;
    let digits = (number as u64).to_be_bytes();
    bytes[HEADERS..HEADERS + 8].copy_from_slice(&digits);
    bytes[len - 2..].copy_from_slice(&digits[6..]);
    let mut frame = pool.frame(&bytes).expect("within the limit");
    if matches!(kind, Kind::Unfinished | Kind::Super) {
        frame.offload.checksum = Some((TCP_AT, TCP_CHECKSUM));
    }
    if let Kind::Super = kind {
        frame.offload.gso = Some(Gso {
            kind: GsoKind::Tcp4,
            segment_bytes: 1400,
            ecn: random.below(2) == 0,
        });
    }
    push(&mut frame, TAGS[random.below(TAGS.len())]);
    frame
}

/// The number of a frame. Panics: if it is not as it was sent.
fn number(pool: &Pool, frame: &Frame) -> usize {
    let bytes = frame.bytes();
    let tagged = bytes.windows(4).skip(12).step_by(4);
    let tags = tagged
        .take_while(|tag| tag[0] == 0x81 || tag[..2] == [0x88, 0xa8])
        .count();
    let at = HEADERS + 4 * tags;
    let digits = bytes[at..at + 8].try_into().expect("eight bytes");
    let number = u64::from_be_bytes(digits) as usize;
    let sent = numbered(pool, number);
    assert_eq!(frame.len(), sent.len(), "frame {number}");
    assert!(bytes == sent.bytes(), "frame {number} is changed");
    assert_eq!(frame.offload, sent.offload, "frame {number}");
    number
}

/// A cable with room for jumbo frames and two tags.
fn cable() -> (AfPacket, AfPacket) {
    veth("s1", "s2");
    for name in ["s1", "s2"] {
        ip(&format!("link set {name} mtu {}", MTU + 8));
    }
    (open("s1"), open("s2"))
}

fn send(port: &mut AfPacket, pool: &Pool, numbers: std::ops::Range<usize>) {
    let mut frames: Vec<Frame> = numbers.map(|number| numbered(pool, number)).collect();
    until("there is room", || {
        port.send(&mut frames).expect("it is there");
        frames.is_empty()
    });
    let counters = port.counters();
    assert_eq!(counters.tx_dropped() + counters.tx_errors(), 0);
}

/// Receives up to `max` frames, and adds their numbers.
fn take(port: &mut AfPacket, pool: &Pool, max: usize, numbers: &mut Vec<usize>) -> usize {
    let mut frames = Vec::new();
    let count = port.recv(pool, &mut frames, max).expect("it is there");
    assert_eq!(count, frames.len());
    assert!(count <= max);
    numbers.extend(frames.iter().map(|frame| number(pool, frame)));
    count
}

#[test]
fn frames_of_all_kinds_come_once_in_order_and_unchanged_both_ways() {
    in_both_ways(|| {
        let pool = Pool::new(1 << 27);
        let (mut a, mut b) = cable();
        let mut random = Random(5);
        let mut next = 0;
        let mut came = [Vec::new(), Vec::new()];
        while next < FRAMES {
            let burst = 1 + random.below(60);
            send(&mut a, &pool, next..next + burst);
            send(&mut b, &pool, next..next + burst);
            next += burst;
            // Some bursts wait for the next.
            while random.below(3) > 0 {
                let max = 1 + random.below(BATCH_FRAMES);
                take(&mut a, &pool, max, &mut came[0]);
                take(&mut b, &pool, max, &mut came[1]);
            }
            until("all arrive", || {
                let max = 1 + random.below(BATCH_FRAMES);
                take(&mut a, &pool, max, &mut came[0]);
                take(&mut b, &pool, max, &mut came[1]);
                came.iter().all(|came| came.len() + 100 > next)
            });
        }
        until("all arrive", || {
            take(&mut a, &pool, BATCH_FRAMES, &mut came[0]);
            take(&mut b, &pool, BATCH_FRAMES, &mut came[1]);
            came.iter().all(|came| came.len() >= next)
        });
        for (port, numbers) in [&mut a, &mut b].into_iter().zip(&came) {
            assert!(numbers.iter().copied().eq(0..next));
            let counters = port.counters();
            assert_eq!(counters.rx_dropped() + counters.rx_errors(), 0);
        }
    });
}

#[test]
fn what_a_full_ring_or_queue_loses_is_counted_and_the_rest_stays_in_order() {
    in_both_ways(|| {
        let pool = Pool::new(1 << 27);
        let (mut a, mut b) = cable();
        let mut numbers = Vec::new();
        let mut next = 0;
        // More than the ring's slots and than what the queue holds, while the ring is replaced.
        for _ in 0..4 {
            send(&mut a, &pool, next..next + FRAMES);
            next += FRAMES;
            while take(&mut b, &pool, BATCH_FRAMES, &mut numbers) > 0 {}
            let _ = b.counters();
            thread::sleep(Duration::from_millis(30));
        }
        until("the last frame comes", || {
            send(&mut a, &pool, next..next + 1);
            next += 1;
            thread::sleep(Duration::from_millis(5));
            let _ = b.counters();
            while take(&mut b, &pool, BATCH_FRAMES, &mut numbers) > 0 {}
            numbers.last() == Some(&(next - 1))
        });
        assert!(numbers.is_sorted_by(|one, other| one < other));
        let lost = b.counters().rx_dropped() as usize;
        // Each time that a ring takes over, a frame or two may fall between two system calls.
        let missing = next - numbers.len() - lost;
        assert!(lost > 0 && missing < 8, "{missing} frames were not counted");
    });
}

#[test]
fn order_holds_while_an_interface_goes_down_and_up_and_a_port_is_opened_again() {
    in_both_ways(|| {
        let pool = Pool::new(1 << 27);
        let (mut a, mut b) = cable();
        let mut numbers = Vec::new();
        let mut next = 0;
        for round in 0..6 {
            send(&mut a, &pool, next..next + 40);
            next += 40;
            take(&mut b, &pool, 1 + 7 * round, &mut numbers);
            // The frames that wait in the ring and the queue survive.
            set_link("s2", false).expect("it is there");
            take(&mut b, &pool, 5, &mut numbers);
            set_link("s2", true).expect("it is there");
            until("the link is up", || {
                send(&mut a, &pool, next..next + 1);
                next += 1;
                thread::sleep(Duration::from_millis(2));
                while take(&mut b, &pool, BATCH_FRAMES, &mut numbers) > 0 {}
                numbers.last() == Some(&(next - 1))
            });
            if round % 2 == 1 {
                drop(b);
                b = open("s2");
            }
        }
        assert!(numbers.is_sorted_by(|one, other| one < other));
        for round in 0..6 {
            let first = numbers.iter().filter(|number| **number >= 40 * round);
            assert!(first.count() > 0);
        }
    });
}

#[test]
fn a_batch_ends_when_it_has_its_bytes() {
    in_both_ways(|| {
        let pool = Pool::new(1 << 27);
        let (mut a, mut b) = cable();
        let long = (0..).filter(|number| numbered(&pool, *number).len() > 40_000);
        let mut sent: Vec<Frame> = long.take(20).map(|n| numbered(&pool, n)).collect();
        assert_eq!(a.send(&mut sent).expect("it is there"), 20);
        let mut frames = Vec::new();
        let mut came = 0;
        while came < 20 {
            b.recv(&pool, &mut frames, BATCH_FRAMES)
                .expect("it is there");
            let bytes: usize = frames.iter().map(Frame::len).sum();
            // Without a ring the first places are guessed.
            assert!(bytes < BATCH_BYTES + 2 * LONGEST, "{bytes}");
            came += frames.drain(..).count();
        }
    });
}
