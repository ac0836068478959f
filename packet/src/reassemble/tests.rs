//! Fragments become whole packets again, whatever their order, and hold bounded memory.

use alloc::vec;

use bofuss_frame::Pool;
use bofuss_oflib::{Mac, PortNo};

use super::*;
use crate::craft::{self, Layer};

/// A UDP packet in a VLAN, as of `version`; version 6 with a hop-by-hop and a fragment header.
fn packet(pool: &Pool, version: u8, payload: usize) -> Frame {
    let data: Vec<u8> = (0..payload - 8).map(|i| (i * 7 + i / 256) as u8).collect();
    let udp = craft::udp(1, 2, &data);
    let ip = match version {
        4 => craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, udp),
        _ => {
            let mut bytes = vec![44, 0, 1, 4, 0, 0, 0, 0, 17, 0, 0, 0, 1, 2, 3, 4];
            bytes.extend(&udp.bytes);
            craft::ipv6([1; 16].into(), [2; 16].into(), 64, Layer::new(0, &bytes))
        }
    };
    let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), craft::vlan(0x8100, 5, ip));
    let mut frame = pool.frame(&bytes).expect("within the limit");
    frame.offload.fragment_bytes = 64;
    frame
}

fn cut(frame: &Frame) -> Vec<Packet> {
    let mut fragments = vec![];
    assert!(fragment(frame, |one| fragments.push(Packet::new(one, PortNo(1)))));
    fragments
}

/// Returns true if no fragment waits, and nothing counts as waiting.
fn is_empty(reassembler: &Reassembler) -> bool {
    let counted = reassembler.bytes.used() + reassembler.packets.used();
    reassembler.open.is_empty() && counted == 0
}

fn copy(packet: &Packet) -> Packet {
    packet.try_clone().expect("within the limit")
}

#[test]
fn fragments_in_any_order_give_the_packet_and_the_packet_the_fragments() {
    let pool = Pool::new(1 << 24);
    for (version, payload) in [(4, 65), (6, 65), (4, 640), (6, 1000), (4, 4000), (6, 3999)] {
        let whole = packet(&pool, version, payload);
        let fragments = cut(&whole);
        assert_eq!(fragments.len(), payload.div_ceil(64));
        for turn in 0..fragments.len() {
            let mut order: Vec<&Packet> = fragments.iter().collect();
            order.rotate_left(turn);
            order[1..].reverse();
            let mut reassembler = Reassembler::default();
            let (last, others) = order.split_last().expect("there are some");
            for one in others {
                assert!(matches!(reassembler.add(0, copy(one)), (None, 0)));
            }
            let joined = reassembler.add(0, copy(last)).0.expect("is whole");
            assert_eq!(joined.frame.bytes(), whole.bytes());
            assert_eq!(joined.frame.offload.fragment_bytes, 64);
            assert!(!joined.is_fragment() && joined.in_port() == PortNo(1));
            assert!(is_empty(&reassembler));
            let again = cut(&joined.frame);
            let bytes = |packets: &[Packet]| -> Vec<Vec<u8>> {
                packets
                    .iter()
                    .map(|packet| packet.frame.bytes().to_vec())
                    .collect()
            };
            assert_eq!(bytes(&again), bytes(&fragments));
        }
    }
}

#[test]
fn padding_is_no_payload_and_dont_fragment_stays() {
    let pool = Pool::new(1 << 20);
    let mut whole = packet(&pool, 4, 68);
    whole.bytes_mut()[18 + 6] = 0x40;
    seal(whole.bytes_mut(), (18, 38), 0, false);
    let mut fragments = cut(&whole);
    let last = &mut fragments[1];
    assert_eq!(last.frame.len(), 42);
    last.frame.set_len(60);
    last.reparse();
    let mut reassembler = Reassembler::default();
    assert!(matches!(reassembler.add(0, copy(&fragments[0])), (None, 0)));
    let joined = reassembler.add(0, copy(&fragments[1])).0;
    assert_eq!(joined.expect("is whole").frame.bytes(), whole.bytes());
}

#[test]
fn fragments_of_different_packets_wait_apart() {
    let pool = Pool::new(1 << 20);
    for version in [4, 6] {
        let at = [18 + 4, 18 + 40 + 8 + 4][usize::from(version == 6)];
        // Another identification, source, VLAN; the last is not told by bytes, but by its port.
        for changed in [at, 18 + 12, 15, 0] {
            let mut reassembler = Reassembler::default();
            let fragments = cut(&packet(&pool, version, 100));
            let mut other = copy(&fragments[1]);
            if changed == 0 {
                other = Packet::new(other.frame, PortNo(2));
            } else {
                other.frame.bytes_mut()[changed] ^= 1;
                other.reparse();
            }
            assert!(matches!(reassembler.add(0, copy(&fragments[0])), (None, 0)));
            assert!(
                matches!(reassembler.add(0, other), (None, 0)),
                "{version} {changed}"
            );
            assert!(matches!(
                reassembler.add(0, copy(&fragments[1])),
                (Some(_), 0)
            ));
            assert_eq!(reassembler.expire(TIMEOUT_NS), 1);
        }
    }
}

#[test]
fn what_overlaps_takes_the_packet_along_and_a_repeated_fragment_does_not() {
    let pool = Pool::new(1 << 20);
    let coarse = packet(&pool, 4, 1000);
    let mut fine = coarse.try_clone().expect("within the limit");
    fine.offload.fragment_bytes = 40;
    let (coarse, fine) = (cut(&coarse), cut(&fine));
    let mut reassembler = Reassembler::default();
    assert!(matches!(reassembler.add(0, copy(&coarse[0])), (None, 0)));
    assert!(matches!(reassembler.add(0, copy(&coarse[2])), (None, 0)));
    assert_eq!(reassembler.add(0, copy(&coarse[2])).1, 1, "repeated");
    // 40 to 80 overlaps 0 to 64.
    assert_eq!(reassembler.add(0, copy(&fine[1])).1, 3);
    assert!(is_empty(&reassembler));
    // A second end, and a part behind the end.
    let mut ends = copy(&coarse[3]);
    ends.frame.bytes_mut()[18 + 6] &= !0x20;
    for (first, second) in [
        (&ends, &coarse[15]),
        (&coarse[15], &ends),
        (&ends, &coarse[4]),
    ] {
        assert!(matches!(reassembler.add(0, copy(first)), (None, 0)));
        assert_eq!(reassembler.add(0, copy(second)).1, 2);
    }
}

#[test]
fn fragments_that_cannot_be_parts_are_refused() {
    let pool = Pool::new(1 << 20);
    let fragments = cut(&packet(&pool, 4, 100));
    let refused = |change: &dyn Fn(&mut [u8]), length: usize| {
        let mut one = copy(&fragments[0]);
        change(one.frame.bytes_mut());
        one.frame.set_len(length);
        one.reparse();
        assert!(one.is_fragment());
        let mut reassembler = Reassembler::default();
        assert_eq!(reassembler.add(0, one).1, 1);
        assert!(is_empty(&reassembler));
    };
    refused(&|bytes| bytes[18 + 3] = 20, 102);
    refused(&|bytes| bytes[18 + 3] = 20 + 63, 102);
    refused(&|_| {}, 101);
    // 20 + 65,528 - 8 + 64 bytes are too many.
    refused(
        &|bytes| bytes[18 + 6..18 + 8].copy_from_slice(&[0x3f, 0xff]),
        102,
    );
}

#[test]
fn so_many_packets_fragments_and_bytes_wait_for_so_long_and_no_more() {
    let pool = Pool::new(1 << 24);
    let fragments = cut(&packet(&pool, 4, 64 * (MAX_FRAGMENTS + 2)));
    let mut reassembler = Reassembler::default();
    for one in &fragments[..MAX_FRAGMENTS] {
        assert!(matches!(reassembler.add(5, copy(one)), (None, 0)));
    }
    assert_eq!(reassembler.add(5, copy(&fragments[MAX_FRAGMENTS])).1, 1);
    assert_eq!(reassembler.deadline_ns(), Some(5 + TIMEOUT_NS));
    assert_eq!(reassembler.expire(4 + TIMEOUT_NS), 0);
    assert_eq!(reassembler.expire(5 + TIMEOUT_NS), MAX_FRAGMENTS);
    let numbered = |number: usize| {
        let mut one = copy(&fragments[0]);
        one.frame.bytes_mut()[18 + 4..18 + 6].copy_from_slice(&(number as u16).to_be_bytes());
        one.reparse();
        one
    };
    for number in 0..MAX_PACKETS / 2 {
        assert!(matches!(reassembler.add(0, numbered(number)), (None, 0)));
    }
    assert_eq!(reassembler.add(0, numbered(MAX_PACKETS / 2)).1, 1);
    assert!(
        matches!(reassembler.add(0, copy(&fragments[1])), (None, 0)),
        "of one that waits"
    );
    let mut added = 2;
    while reassembler.add(0, copy(&fragments[added])).1 == 0 {
        added += 1;
    }
    assert!(added == MAX_FRAGMENTS);
    let most = (MAX_BYTES / 2048 - MAX_PACKETS) / 2 - (MAX_FRAGMENTS - 1);
    for number in 0..most {
        let mut one = numbered(number + 1);
        one.frame.bytes_mut()[18 + 7] = 8 * (1 + (number / (MAX_PACKETS / 2 - 1)) as u8);
        one.reparse();
        assert!(matches!(reassembler.add(0, one), (None, 0)), "{number}");
    }
    assert_eq!(reassembler.bytes.used(), MAX_BYTES / 2);
    let mut one = numbered(1);
    one.frame.bytes_mut()[18 + 7] = 32;
    assert_eq!(reassembler.add(0, one).1, 1);
}

#[test]
fn a_flood_of_fragments_on_one_port_costs_other_ports_no_packet() {
    let pool = Pool::new(1 << 24);
    let fragments = cut(&packet(&pool, 4, 128));
    // The first or second half of a packet with this number, on this port.
    let half = |port: u32, number: u32, second: usize| {
        let mut frame = fragments[second]
            .frame
            .try_clone()
            .expect("within the limit");
        frame.bytes_mut()[18 + 4..18 + 6].copy_from_slice(&(number as u16).to_be_bytes());
        Packet::new(frame, PortNo(port))
    };
    let mut reassembler = Reassembler::default();
    for number in 0..100 {
        assert!(matches!(reassembler.add(0, half(2, number, 0)), (None, 0)));
    }
    // 60,000 packets of which only the first half comes.
    let flood = |reassembler: &mut Reassembler, from: u32| -> usize {
        (0..60_000)
            .map(|number| reassembler.add(from.into(), half(1, number, 0)).1)
            .sum()
    };
    let most = (MAX_PACKETS - 100) / 2;
    assert_eq!(flood(&mut reassembler, 0), 60_000 - most, "its share");
    // Those that wait become whole, and so do new fragments.
    for number in 0..200 {
        if number >= 100 {
            assert!(matches!(reassembler.add(0, half(2, number, 0)), (None, 0)));
        }
        assert!(
            reassembler.add(0, half(2, number, 1)).0.is_some(),
            "{number}"
        );
    }
    let waiting = reassembler.packets.used();
    assert_eq!(waiting, most, "those of the flood alone");
    // The places that the others gave back are shared, and after the timeout nothing is left.
    flood(&mut reassembler, 1);
    assert_eq!(reassembler.packets.used(), MAX_PACKETS / 2);
    assert_eq!(reassembler.expire(1 + TIMEOUT_NS), MAX_PACKETS / 2);
    assert!(is_empty(&reassembler));
}

#[test]
fn a_flood_of_large_fragments_on_one_port_leaves_bytes_for_other_ports() {
    let pool = Pool::new(1 << 24);
    let fragments = cut(&packet(&pool, 4, 64 * MAX_FRAGMENTS));
    let mut reassembler = Reassembler::default();
    let on = |port: u32, number: usize, part: usize| {
        let mut frame = fragments[part].frame.try_clone().expect("within the limit");
        frame.bytes_mut()[18 + 4..18 + 6].copy_from_slice(&(number as u16).to_be_bytes());
        Packet::new(frame, PortNo(port))
    };
    let mut added = 0;
    for number in 0..MAX_PACKETS {
        for part in 0..MAX_FRAGMENTS - 1 {
            added += 1 - reassembler.add(0, on(1, number, part)).1;
        }
    }
    assert_eq!(added, MAX_BYTES / 2 / 2048);
    for part in 0..MAX_FRAGMENTS - 1 {
        assert_eq!(reassembler.add(0, on(2, 1, part)).1, 0, "{part}");
    }
    assert!(reassembler.add(0, on(2, 1, MAX_FRAGMENTS - 1)).0.is_some());
}

#[test]
fn an_empty_pool_loses_the_packet() {
    let pool = Pool::new(1 << 20);
    let fragments = cut(&packet(&pool, 4, 100));
    let mut reassembler = Reassembler::default();
    let second = copy(&fragments[1]);
    assert!(matches!(reassembler.add(0, copy(&fragments[0])), (None, 0)));
    let held: Vec<Frame> = core::iter::from_fn(|| pool.take(1)).collect();
    assert_eq!(reassembler.add(0, second).1, 2);
    drop(held);
}
