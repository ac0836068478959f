//! Any frames of ARP-Path and of hosts, in any order with time and ports that come and go: none
//! makes more than so many others, and what comes from a port of hosts is no frame of ARP-Path.

use std::sync::Arc;

use bofuss_datapath::{Config, Engine, PacketInEvent, Sink, Time};
use bofuss_ext::arppath::frame::{ETHERTYPE, FRAME_BYTES, FrameType, HostPair, PathFrame};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::{FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::craft;

/// Bytes of an operation: what, where, and nine numbers.
const OPERATION_BYTES: usize = 11;
/// Frames that one operation causes at most: all that may wait for paths, at each port, and what
/// floods.
const MOST_FRAMES: usize = 1700;
const PORTS: u8 = 3;
/// The port on which no switch can be.
const OF_HOSTS: PortNo = PortNo(3);

/// Counts frames.
#[derive(Default)]
struct Left(usize);

impl Sink for Left {
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {
        self.0 += 1;
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

fn host(number: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, number % 4])
}

fn bridge_id(number: u8) -> u64 {
    u64::from(number % 4)
}

/// A frame of ARP-Path that says these numbers.
fn path_frame(numbers: &[u8]) -> Vec<u8> {
    let frame = PathFrame {
        ty: FrameType::ALL[usize::from(numbers[0] % 4)].0,
        hops: numbers[1],
        for_all: numbers[5] & 1 != 0,
        offer: numbers[5] & 2 != 0,
        sender: bridge_id(numbers[2]),
        to: bridge_id(numbers[3]),
        epoch: 0,
        number: numbers[5].into(),
        origin: bridge_id(numbers[4]),
        sequence: numbers[5].into(),
        challenge: (numbers[1] & 1).into(),
        answer: (numbers[1] & 2).into(),
        pair: HostPair {
            vlan: u16::from(numbers[6] % 2) << 12,
            destination: host(numbers[7]),
            source: host(numbers[8]),
        },
    };
    let mut bytes = frame.encode(ETHERTYPE, host(numbers[8]), None, numbers[6] & 2 != 0);
    // Some are cut, and some say what no frame does.
    if numbers[6] & 4 != 0 {
        bytes.truncate(usize::from(numbers[1]).clamp(14, FRAME_BYTES));
    } else if numbers[6] & 8 != 0 {
        bytes[14 + usize::from(numbers[1] % 90)] ^= numbers[5];
    }
    bytes
}

/// A datagram between hosts; host 0 is all.
fn host_frame(numbers: &[u8]) -> Vec<u8> {
    let destination = match numbers[0] % 4 {
        0 => Mac([0xff; 6]),
        number => host(number),
    };
    let data = craft::udp(7, 7, &numbers[2..3]);
    let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, data);
    craft::ethernet(destination, host(numbers[1]), ip)
}

fn set_port(datapath: &mut Datapath, now: Time, port_no: PortNo, left: &mut Left) {
    let desc = PortDesc {
        port_no,
        ..PortDesc::default()
    };
    datapath
        .port_control(now, left)
        .changed(desc, OffloadCapabilities::default());
}

/// Panics: if the switch breaks its word.
pub fn run(bytes: &[u8]) {
    let Some((engine, operations)) = bytes.split_first() else {
        return;
    };
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let config = Config {
        engine: Engine::ALL[usize::from(*engine) % Engine::ALL.len()].1,
        datapath_id: 2,
        ..Config::default()
    };
    let mut datapath = Datapath::new(config, Arc::clone(&catalogue), Pool::new(1 << 20));
    for mut hook in bofuss_ext::hooks(&catalogue) {
        if hook.name() == "arppath" {
            for (option, value) in [("tables", "0"), ("host-ports", "3"), ("entries", "2")] {
                hook.set_option(option, value).expect("it is an option");
            }
        }
        datapath.add_hook(hook);
    }
    let mut left = Left::default();
    let mut now = Time(1);
    for number in 1..=PORTS {
        set_port(&mut datapath, now, PortNo(number.into()), &mut left);
    }
    for operation in operations.chunks_exact(OPERATION_BYTES) {
        let port = PortNo((1 + operation[1] % PORTS).into());
        let numbers = &operation[2..];
        left.0 = 0;
        let frame = match operation[0] % 4 {
            0 => Some(path_frame(numbers)),
            1 => Some(host_frame(numbers)),
            2 => {
                now = now.after(u64::from(numbers[0]) * 10_000_000);
                datapath.tick(now, &mut left);
                None
            }
            _ if numbers[0] % 8 == 0 => {
                datapath.port_control(now, &mut left).removed(port);
                None
            }
            _ => {
                set_port(&mut datapath, now, port, &mut left);
                None
            }
        };
        if let Some(bytes) = frame {
            let frame = datapath.pool().frame(&bytes).expect("frames are not kept");
            datapath.receive(now, port, &mut vec![frame], &mut left);
            let is_forged = operation[0] % 4 == 0 && port == OF_HOSTS && bytes.len() >= 14;
            assert!(!is_forged || left.0 == 0, "a host's frame is not taken");
        }
        assert!(left.0 <= MOST_FRAMES, "{} frames", left.0);
    }
}
