//! Frames that are made from words, and their text.

use super::*;

/// A line about a frame, cut to the bytes that a trace shows of it.
pub(super) fn cut(line: &str) -> String {
    let (head, hex) = line.rsplit_once(' ').unwrap();
    format!("{head} {}", &hex[..hex.len().min(2 * 128)])
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A frame from words: `tcp 1 2 80`, `arp 1 2`, `vlan 7 ...`, `mpls 5 ...`, `ttl 1 ...`,
/// `dscp 10 ...`, `bytes 100 ...`, `hex ...`.
pub(super) fn frame(words: &[&str]) -> Vec<u8> {
    let number = |at: usize| words[at].parse::<u16>().unwrap();
    if words[0] == "hex" {
        let digits = words[1..].concat();
        let pairs = (0..digits.len()).step_by(2);
        return pairs
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
            .collect();
    }
    if words[0] == "part" {
        let (whole, at, length) = (frame(&words[3..]), number(1), number(2));
        let (headers, payload) = whole.split_at(34);
        let end = usize::from(at + length);
        let mut bytes = [headers, &payload[usize::from(at)..end]].concat();
        let more = u16::from(end < payload.len()) << 13;
        bytes[16..18].copy_from_slice(&(20 + length).to_be_bytes());
        bytes[20..22].copy_from_slice(&(more | (at / 8)).to_be_bytes());
        bytes[24..26].fill(0);
        let checksum = !fold(sum(&bytes[14..34]));
        bytes[24..26].copy_from_slice(&checksum.to_be_bytes());
        return bytes;
    }
    if words[0] == "dscp" {
        let pool = Pool::new(1 << 16);
        let mut packet = Packet::new(pool.frame(&frame(&words[2..])).unwrap(), PortNo(1));
        let value = (u128::from(number(1)) << 120).to_be_bytes();
        packet.set_field(IP_DSCP, &value).unwrap();
        return packet.frame.bytes().to_vec();
    }
    let mac = |n: u16| match n {
        255 => Mac([0xff; 6]),
        n => Mac([2, 0, 0, 0, 0, n as u8]),
    };
    let ip = |n: u16| [10, 0, 0, n as u8].into();
    let (mut at, mut ttl, mut tags, mut length) = (0, 64, Vec::new(), 20);
    while let "vlan" | "mpls" | "ttl" | "bytes" = words[at] {
        match words[at] {
            "ttl" => ttl = number(at + 1) as u8,
            "bytes" => length = number(at + 1).into(),
            kind => tags.push((kind, number(at + 1))),
        }
        at += 2;
    }
    let (from, to) = (number(at + 1), number(at + 2));
    let data: Vec<u8> = (0..length).map(|i| 0x5a ^ (i / 20) as u8).collect();
    let mut layer: Layer = match words[at] {
        "tcp" => craft::ipv4(
            ip(from),
            ip(to),
            ttl,
            craft::tcp(1000, number(at + 3), 2, &data),
        ),
        "udp" => craft::ipv4(
            ip(from),
            ip(to),
            ttl,
            craft::udp(1000, number(at + 3), &data),
        ),
        "arp" => craft::arp(1, mac(from), ip(from), Mac([0; 6]), ip(to)),
        "raw" => Layer::new(0x88b5, &data),
        other => panic!("no such frame: {other}"),
    };
    for (kind, value) in tags.into_iter().rev() {
        layer = match kind {
            "vlan" => craft::vlan(0x8100, value, layer),
            _ => craft::mpls(value.into(), 0, ttl, layer),
        };
    }
    let to = if words[at] == "arp" { 255 } else { to };
    craft::ethernet(mac(to), mac(from), layer)
}

/// Makes the frame of `words` a super-frame, to be cut into segments of this many bytes.
pub(super) fn left_whole(mut frame: Frame, words: &[&str], segment_bytes: u16) -> Frame {
    let tags = words.iter().filter(|word| ["vlan", "mpls"].contains(word));
    let (ip, bytes) = (14 + 4 * tags.count(), frame.bytes_mut());
    let (l4, protocol) = (ip + 20, bytes[ip + 9]);
    let (kind, at) = match protocol {
        6 => (GsoKind::Tcp4, 16),
        _ => (GsoKind::Udp, 6),
    };
    if protocol == 6 {
        // Some with PSH, FIN, CWR.
        bytes[l4 + 13] = [0x10, 0x18, 0x19, 0x98][bytes.len() % 4];
    }
    let pseudo = sum(&bytes[ip + 12..l4]) + u64::from(protocol) + (bytes.len() - l4) as u64;
    bytes[l4 + at..][..2].copy_from_slice(&fold(pseudo).to_be_bytes());
    frame.offload = Offload {
        checksum: Some((l4 as u16, at as u16)),
        gso: Some(Gso {
            kind,
            segment_bytes,
            ecn: false,
        }),
        ..Offload::NONE
    };
    frame
}
