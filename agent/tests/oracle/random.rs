//! Random matches and frames, with what the model knows of them.

use bofuss_frame::{Gso, GsoKind, Offload};
use bofuss_oflib::Mac;
use bofuss_packet::craft;

use super::{FLAGS, Slots};
use crate::common::Random;

/// A random match: its slots and its text.
pub(crate) fn random_match(random: &mut Random) -> (Slots, String) {
    let mut slots = [(0, 0); 6];
    let mut text = String::new();
    if random.below(2) == 0 {
        let port = random.below(2) as u32 + 1;
        slots[0] = (port, u32::MAX);
        text += &format!(",in_port={port}");
    }
    let kind = random.of(&["", "ip", "tcp", "udp"]);
    if !kind.is_empty() {
        slots[1] = (0x0800, u32::MAX);
        text += &format!(",{kind}");
        if random.below(2) == 0 {
            let len = random.of(&[8, 24, 31, 32]);
            let mask = u32::MAX << (32 - len);
            let value = (0x0a00_0000 + random.below(4) as u32) & mask;
            slots[3] = (value, mask);
            text += &format!(",nw_dst={}/{len}", std::net::Ipv4Addr::from(value));
        }
    }
    if kind == "tcp" || kind == "udp" {
        slots[2] = (if kind == "tcp" { 6 } else { 17 }, u32::MAX);
        if random.below(2) == 0 {
            let port = random.below(3) as u32;
            slots[4] = (port, u32::MAX);
            text += &format!(",tp_dst={port}");
        }
        if kind == "tcp" && random.below(3) == 0 {
            let (value, mask) = random.of(&[(8, 8), (0, 9), (0x80, 0x80), (0x10, 0xfff)]);
            slots[FLAGS] = (value, mask);
            text += &format!(",tcp_flags={value:#x}/{mask:#x}");
        }
    }
    (slots, text)
}

/// A random frame or super-frame: its slots, its bytes, its offload record, and for each of its
/// packets the length in bytes and the TCP flags.
pub(crate) fn random_frame(random: &mut Random) -> (Slots, Vec<u8>, Offload, Vec<(u64, u32)>) {
    let (in_port, to, port) = (
        random.below(2) as u32 + 1,
        random.below(4) as u8,
        random.below(3),
    );
    let (from, proto, port) = ([10, 0, 0, 9], random.of(&[6, 17, 0]), port as u16);
    let segments = random.of(&[1, 1, 1, 5]);
    let flags = random.of(&[0x10, 0x18, 0x90, 0x99]);
    let (l4, header, checksum_at, kind) = match proto {
        6 => (
            craft::tcp(9, port, flags, &[7; 240][..48 * segments]),
            20,
            16,
            GsoKind::Tcp4,
        ),
        17 => (
            craft::udp(9, port, &[7; 240][..48 * segments]),
            8,
            6,
            GsoKind::Udp,
        ),
        _ => (craft::Layer::new(0x88b5, b"raw"), 0, 0, GsoKind::Udp),
    };
    let (offload, lengths) = match (proto, segments) {
        (0, _) => (Offload::NONE, vec![17]),
        (_, 1) => (Offload::NONE, vec![34 + header + 48]),
        (_, _) => {
            let gso = Gso {
                kind,
                segment_bytes: 48,
                ecn: false,
            };
            let offload = Offload {
                checksum: Some((34, checksum_at)),
                gso: Some(gso),
                ..Offload::NONE
            };
            (offload, vec![34 + header + 48; segments])
        }
    };
    let count = lengths.len();
    let eth = if proto == 0 { 0x88b5 } else { 0x0800 };
    let engine = match proto {
        0 => l4,
        _ => craft::ipv4(from.into(), [10, 0, 0, to].into(), 64, l4),
    };
    let packets = lengths.into_iter().enumerate().map(|(index, bytes)| {
        // Only the first segment has CWR, only the last PSH and FIN.
        let first = if index == 0 { 0 } else { 0x80 };
        let last = if index + 1 == count { 0 } else { 0x09 };
        (bytes, u32::from(flags) & !(first | last))
    });
    let packets = packets.collect();
    let dst = 0x0a00_0000 + u32::from(to);
    let all = |value| (value, u32::MAX);
    let slots = [
        all(in_port),
        all(eth),
        all(proto),
        all(dst),
        all(port.into()),
        all(0),
    ];
    let mac = |n| Mac([2, 0, 0, 0, 0, n]);
    let bytes = craft::ethernet(mac(1), mac(2), engine);
    (slots, bytes, offload, packets)
}
