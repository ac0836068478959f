//! Every field of thousands of random frames against the values that an independent library wrote.

use crate::spec::{Rng, described, spec};
use bofuss_frame::Pool;
use bofuss_oflib::field::{self as f, FIELDS, Header};
use bofuss_oflib::{FieldSet, PortNo};
use bofuss_packet::packet_type::{FRONT_BYTES, front};
use bofuss_packet::{Flaw, Key, Layout, Packet, parse};

/// Random frames in each test.
const FRAMES: usize = 20_000;

#[test]
fn the_key_has_every_field_that_was_written_and_no_other() {
    let mut rng = Rng(1);
    let mut seen = FieldSet::EMPTY;
    for _ in 0..FRAMES {
        let spec = spec(&mut rng);
        let (bytes, _) = spec.build();
        let (mut key, mut layout) = (Key::EMPTY, Layout::EMPTY);
        parse(&bytes, &mut key, &mut layout);
        let mut expected = Key::EMPTY;
        for (field, value) in spec.expected() {
            expected.set(field, value);
            seen.insert(FieldSet::of(field));
        }
        for field in described() {
            let value = key.get(field, &mut ());
            assert_eq!(value, expected.get(field, &mut ()), "{spec:#?}");
        }
        let second = key.second_tag(&mut ());
        assert_eq!(second.is_some(), layout.vlan_tags > 1, "{spec:#?}");
        assert_eq!(layout.flaw, Flaw::None, "{spec:#?}");
        if let Some(key) = key_without_ethernet(&bytes, &mut layout) {
            seen.insert(FieldSet::of(f::PACKET_TYPE));
            for field in described() {
                let value = match key.get(field, &mut ()) {
                    Some(packet_type) if field == f::PACKET_TYPE => {
                        assert_eq!(
                            Some(packet_type & 0xffff),
                            expected.get(f::ETH_TYPE, &mut ())
                        );
                        continue;
                    }
                    value => value,
                };
                let wanted = expected.get(field, &mut ());
                assert_eq!(
                    value,
                    wanted.filter(|_| !field.is_of_ethernet()),
                    "{spec:#?}"
                );
            }
        }
    }
    for field in described() {
        let supplied = [f::IN_PORT, f::IN_PHY_PORT, f::METADATA, f::TUNNEL_ID];
        let covered = seen.contains(field) || supplied.contains(&field);
        assert!(covered, "no frame had {}", field.name);
    }
}

/// The key of the IP packet in an Ethernet frame without tags, as one without that header.
fn key_without_ethernet(frame: &[u8], layout: &mut Layout) -> Option<Key> {
    let packet = &frame[FRONT_BYTES..];
    let eth_type = [0x0800, 0x86dd].map(u16::to_be_bytes);
    if !eth_type
        .iter()
        .any(|ty| frame[FRONT_BYTES - 2..].starts_with(ty))
    {
        return None;
    }
    let bytes = [&front(packet)?, packet].concat();
    let mut key = Key::EMPTY;
    key.leave_ethernet();
    parse(&bytes, &mut key, layout);
    assert_eq!(layout.offset(Header::Eth), None);
    Some(key)
}

#[test]
fn a_field_is_read_at_the_place_that_its_row_says() {
    let mut rng = Rng(2);
    for _ in 0..FRAMES / 4 {
        let (bytes, _) = spec(&mut rng).build();
        let (mut key, mut layout) = (Key::EMPTY, Layout::EMPTY);
        parse(&bytes, &mut key, &mut layout);
        for field in &FIELDS {
            for at in field.at {
                let Some(start) = layout.offset_of_any(at.header) else {
                    continue;
                };
                let bits = (8 * start + usize::from(at.bit)..).take(usize::from(at.bits));
                let bit = |i: usize| u128::from(bytes[i / 8] >> (7 - i % 8) & 1);
                let value = bits.fold(0, |n, i| n << 1 | bit(i));
                let ones = u128::MAX >> (128 - at.bits);
                assert_eq!(key.get(field, &mut ()).map(|v| v & ones), Some(value));
            }
        }
    }
}

#[test]
fn every_prefix_gives_a_part_of_the_key() {
    let mut rng = Rng(3);
    for _ in 0..FRAMES / 40 {
        let (bytes, _) = spec(&mut rng).build();
        let (mut whole, mut layout) = (Key::EMPTY, Layout::EMPTY);
        parse(&bytes, &mut whole, &mut layout);
        let end = layout.end;
        for len in 0..end {
            let mut key = Key::EMPTY;
            parse(&bytes[..len], &mut key, &mut layout);
            let llc = whole.get(f::ETH_TYPE, &mut ()) < Some(0x600)
                || key.get(f::ETH_TYPE, &mut ()) == Some(0x05ff);
            for field in FIELDS
                .iter()
                .filter(|field| !llc && **field != *f::IPV6_EXTHDR)
            {
                if let Some(value) = key.get(field, &mut ()) {
                    assert_eq!(Some(value), whole.get(field, &mut ()), "{}", field.name);
                }
            }
        }
    }
}

// I4
#[test]
fn random_and_damaged_bytes_give_a_key_within_the_frame() {
    let mut rng = Rng(4);
    for _ in 0..FRAMES {
        let mut bytes = if rng.one_in(4) {
            rng.bytes(200)
        } else {
            spec(&mut rng).build().0
        };
        for _ in 0..rng.below(4) {
            if !bytes.is_empty() {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] = rng.next() as u8;
            }
        }
        let (mut key, mut layout) = (Key::EMPTY, Layout::EMPTY);
        parse(&bytes, &mut key, &mut layout);
        assert!(layout.end <= bytes.len() && layout.payload <= bytes.len());
    }
}

#[test]
fn frames_of_tags_labels_and_options_only_end() {
    let repeats: [&[u8]; 6] = [
        &[0x81, 0x00, 0, 1],
        &[0x88, 0x47, 0, 0, 0, 0],
        &[0x88, 0xe7, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2],
        &[60, 0, 0, 0, 0, 0, 0, 0],
        &[0, 0, 0, 0, 0, 0, 0, 0],
        &[44, 0, 0, 0, 0, 0, 0, 0],
    ];
    for repeat in repeats {
        let mut bytes = vec![2; 12];
        if repeat.len() == 8 {
            bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0xff, 0xff, repeat[0], 64]);
            bytes.extend([1; 32]);
        }
        bytes.extend(repeat.repeat(64_000 / repeat.len()));
        let pool = Pool::new(1 << 20);
        let mut frame = pool.frame(&bytes).unwrap();
        let packet = Packet::new(frame.try_clone().unwrap(), PortNo(1));
        assert_ne!(packet.key(), &Key::EMPTY);
        frame.offload.checksum = Some((65_000, 16));
        bofuss_packet::offload::finish_checksum(&mut frame);
    }
}

#[test]
fn what_the_switch_supplies_outlives_a_parse() {
    let mut rng = Rng(5);
    let pool = Pool::new(1 << 20);
    for _ in 0..100 {
        let frame = pool.frame(&spec(&mut rng).build().0).unwrap();
        let mut packet = Packet::new(frame, PortNo(7));
        packet.write_metadata(0xff00, 0x0f00);
        packet.key_mut().set(f::TUNNEL_ID, 9);
        packet.push_vlan(0x8100).unwrap();
        let get = |field| packet.key().get(field, &mut ());
        assert_eq!(get(f::IN_PORT), Some(7));
        assert_eq!(get(f::IN_PHY_PORT), Some(7));
        assert_eq!(get(f::METADATA), Some(0x0f00));
        assert_eq!(get(f::TUNNEL_ID), Some(9));
    }
}

#[test]
fn flaws_are_told_apart_and_cost_the_header_at_fault_its_fields() {
    use bofuss_oflib::Mac;
    use bofuss_packet::craft::{ethernet, ipv4, tcp};
    let ip = ipv4(
        [10, 0, 0, 1].into(),
        [10, 0, 0, 2].into(),
        64,
        tcp(1, 2, 16, b"data"),
    );
    let good = ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    let read = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        let (mut key, mut layout) = (Key::EMPTY, Layout::EMPTY);
        parse(&bytes, &mut key, &mut layout);
        let has = |field| key.get(field, &mut ()).is_some();
        (layout.flaw, has(f::IPV4_SRC), has(f::TCP_SRC))
    };
    assert_eq!(read(&|_| {}), (Flaw::None, true, true));
    // Version 5; a header of 16 bytes; a packet shorter than its header; a TCP header of 16 bytes.
    assert_eq!(read(&|b| b[14] = 0x55), (Flaw::Malformed, false, false));
    assert_eq!(read(&|b| b[14] = 0x44), (Flaw::Malformed, false, false));
    assert_eq!(read(&|b| b[17] = 19), (Flaw::Malformed, false, false));
    assert_eq!(read(&|b| b[46] = 0x40), (Flaw::Malformed, true, false));
    // Options, TCP header and data that the frame does not hold.
    assert_eq!(read(&|b| b.truncate(33)), (Flaw::Truncated, false, false));
    assert_eq!(read(&|b| b.truncate(53)), (Flaw::Truncated, true, false));
    assert_eq!(read(&|b| b.truncate(57)), (Flaw::Truncated, true, true));
    // A packet that ends within its TCP header, though the frame goes on.
    assert_eq!(read(&|b| b[17] = 39), (Flaw::Truncated, true, false));
}
