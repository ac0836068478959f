//! Frames of known content: sent at a rate or as fast as possible, counted and checked where they
//! arrive.

use std::time::{Duration, Instant};

use bofuss_frame::Pool;
use bofuss_oflib::Mac;
use bofuss_packet::craft;
use bofuss_ports::{AfPacket, AfPacketOptions, BATCH_FRAMES, PortDriver};

use crate::error::Result;
use crate::testbed::net::{A_ADDRESS, A_MAC, B_ADDRESS, B_MAC};

/// Bytes of the smallest frame, without its check sequence.
pub const SMALL_FRAME: usize = 60;
/// The offset of a frame's TTL, and of its IPv4 addresses.
const TTL_AT: usize = 22;
const ADDRESSES: std::ops::Range<usize> = 26..34;
/// The offset of a frame's UDP ports, and of its sequence number.
const PORTS_AT: usize = 34;
const NUMBER_AT: usize = 42;
/// The destinations of frames from A and from B: no host has them.
pub const ABSENT_HOSTS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 0x1b], [2, 0, 0, 0, 0, 0x1a]];
/// Bytes of frames that wait to be sent at most.
const POOL_BYTES: usize = 64 << 20;
/// The time that the receiver waits for a frame.
const PATIENCE: Duration = Duration::from_secs(3);
/// The UDP destination port of flow 0; other flows have others, and other source ports.
pub const FIRST_PORT: u16 = 5000;

/// The order of the flows of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowOrder {
    /// Each frame is of a random flow.
    Random,
    /// The flows in turn.
    InTurn,
    /// Each frame is of a flow of its own: any ports, and addresses from 203.0.0.0/8 to an odd
    /// first byte.
    Attack,
}

/// A load.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The number of frames.
    pub frames: u64,
    /// Frames per second; 0 is as fast as possible.
    pub rate: u64,
    /// The number of flows; the frames of one flow are in the order of their numbers.
    pub flows: u32,
    /// The number of the first flow.
    pub first: u32,
    /// The order of the flows.
    pub order: FlowOrder,
    /// True if they go from B to A.
    pub back: bool,
}

impl Load {
    /// Frames of one flow, as fast as possible.
    pub fn of(frames: u64) -> Self {
        Self {
            frames,
            rate: 0,
            flows: 1,
            first: 0,
            order: FlowOrder::Random,
            back: false,
        }
    }
}

/// The UDP ports of a flow, source and destination.
pub fn flow_ports(flow: u32) -> (u16, u16) {
    (flow as u16, FIRST_PORT.wrapping_add((flow >> 16) as u16))
}

/// The template of all frames: UDP without checksum, as IPv4 permits. The destination address is no
/// host's; otherwise the receiver's kernel would send ICMP errors in the time of the forwarder.
fn template(back: bool) -> Vec<u8> {
    let a = (A_MAC, A_ADDRESS);
    let b = (B_MAC, B_ADDRESS);
    let (from, to) = if back {
        (b, (ABSENT_HOSTS[1], a.1))
    } else {
        (a, (ABSENT_HOSTS[0], b.1))
    };
    let data = [0; SMALL_FRAME - NUMBER_AT];
    let ip = craft::ipv4(from.1, to.1, 64, craft::udp(0, 0, &data));
    let mut bytes = craft::ethernet(Mac(to.0), Mac(from.0), ip);
    bytes[NUMBER_AT - 2..NUMBER_AT].fill(0);
    bytes
}

fn stamp(bytes: &mut [u8], flow: u32, number: u64) {
    let (source, destination) = flow_ports(flow);
    bytes[PORTS_AT..PORTS_AT + 2].copy_from_slice(&source.to_be_bytes());
    bytes[PORTS_AT + 2..PORTS_AT + 4].copy_from_slice(&destination.to_be_bytes());
    bytes[NUMBER_AT..NUMBER_AT + 8].copy_from_slice(&number.to_be_bytes());
}

/// A pseudo-random generator (xorshift); `seed` is not 0.
pub fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// Sends a load out of an interface and returns the time.
///
/// Errors: the interface's.
pub fn send(interface: &str, load: Load) -> Result<Duration> {
    send_until(interface, load, || false)
}

/// The same, but ends early when `over` is set.
///
/// Errors: the interface's.
pub fn send_until(interface: &str, mut load: Load, over: impl Fn() -> bool) -> Result<Duration> {
    let mut port = open(interface)?;
    let pool = Pool::new(POOL_BYTES);
    let mut next = random(7);
    let mut bytes = template(load.back);
    let start = Instant::now();
    let mut batch = Vec::with_capacity(BATCH_FRAMES);
    let mut number = 0;
    while number < load.frames || !batch.is_empty() {
        if over() {
            load.frames = number;
        }
        while batch.len() < BATCH_FRAMES && number < load.frames {
            match load.order {
                FlowOrder::Random => {
                    let any = next() % u64::from(load.flows.max(1));
                    stamp(&mut bytes, load.first + any as u32, number);
                }
                FlowOrder::InTurn => {
                    let next = number % u64::from(load.flows.max(1));
                    stamp(&mut bytes, load.first + next as u32, number);
                }
                FlowOrder::Attack => {
                    stamp(&mut bytes, next() as u32, number);
                    bytes[ADDRESSES].copy_from_slice(&next().to_be_bytes());
                    bytes[ADDRESSES.start] = 203;
                    bytes[ADDRESSES.start + 4] |= 1;
                }
            }
            batch.push(pool.frame(&bytes).ok_or("the pool of frames is empty")?);
            number += 1;
        }
        port.send(&mut batch)
            .map_err(|e| format!("{interface}: {e}"))?;
        let due_ns = (number * 1_000_000_000).checked_div(load.rate);
        let due = start + Duration::from_nanos(due_ns.unwrap_or(0));
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(start.elapsed())
}

/// Opens an interface, also one that has an address. Errors: the interface's.
pub fn open(interface: &str) -> Result<AfPacket> {
    open_with(interface, false)
}

/// The same for measurements: its receive ring has its final size from the beginning, so that no
/// frame is lost while a larger one takes its place; or the usual one, if there is no memory.
///
/// Errors: the interface's.
pub fn open_whole(interface: &str) -> Result<AfPacket> {
    open_with(interface, true).or_else(|_| open(interface))
}

fn open_with(interface: &str, whole_ring: bool) -> Result<AfPacket> {
    let options = AfPacketOptions {
        take_over: true,
        whole_ring,
        ..AfPacketOptions::default()
    };
    AfPacket::open(interface, options).map_err(|e| format!("{interface}: {e}").into())
}

/// The template as a router with this address sends it on.
fn routed(mut bytes: Vec<u8>, mac: [u8; 6]) -> Vec<u8> {
    bytes[6..12].copy_from_slice(&mac);
    bytes[TTL_AT] -= 1;
    // The sum of a header that has 0x100 less.
    let sum = u16::from_be_bytes([bytes[TTL_AT + 2], bytes[TTL_AT + 3]]);
    let (sum, carry) = sum.overflowing_add(0x100);
    let sum = sum + u16::from(carry);
    bytes[TTL_AT + 2..TTL_AT + 4].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// Checks that `count` frames of one flow arrive complete, in order and unchanged, or as a router
/// with this address has to change them. Calls `ready` before the first may arrive.
///
/// Errors: the first frame that is lost or wrong.
pub fn receive(
    interface: &str,
    count: u64,
    router: Option<[u8; 6]>,
    ready: impl FnOnce(),
) -> Result<()> {
    let mut port = open(interface)?;
    let pool = Pool::new(POOL_BYTES);
    let mut wanted = template(false);
    if let Some(mac) = router {
        wanted = routed(wanted, mac);
    }
    let mut frames = Vec::new();
    let mut next = 0;
    let mut last = Instant::now();
    ready();
    while next < count {
        port.recv(&pool, &mut frames, BATCH_FRAMES)
            .map_err(|e| format!("{interface}: {e}"))?;
        for frame in frames.drain(..) {
            if frame.bytes().get(..14) != Some(&wanted[..14]) {
                continue; // a neighbour's, or the host's own
            }
            stamp(&mut wanted, 0, next);
            if frame.bytes() != wanted {
                return Err(format!("frame {next} is lost, late or changed").into());
            }
            (next, last) = (next + 1, Instant::now());
        }
        if last.elapsed() > PATIENCE {
            return Err(format!("{next} of {count} frames arrived").into());
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}
