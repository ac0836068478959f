//! Every rewrite against the same change made to the value and built by the other library.

use bofuss_frame::{Frame, Offload, Pool};
use bofuss_oflib::PortNo;
use bofuss_oflib::field::{self as f, FIELDS, Field, Header};
use bofuss_packet::offload::finish_checksum;
use bofuss_packet::{EditError, Key, Packet};

use crate::spec::{Body, Net, Part, Rng, Spec, V6, described, spec};

/// Random frames in each test.
const FRAMES: usize = 20_000;

fn pool() -> Pool {
    Pool::new(1 << 20)
}

pub fn frame(pool: &Pool, (bytes, offload): (Vec<u8>, Offload)) -> Frame {
    let mut frame = pool.frame(&bytes).unwrap();
    frame.offload = offload;
    frame
}

fn packet(pool: &Pool, built: (Vec<u8>, Offload)) -> Packet {
    Packet::new(frame(pool, built), PortNo(1))
}

/// Returns true if a checksum cannot be refreshed: SCTP's, over what other fragments hold.
fn has_partial_crc(spec: &mut Spec) -> bool {
    spec.l4_mut()
        .is_some_and(|l4| matches!(l4.body, Body::Sctp { .. }) && l4.part == Part::First)
}

/// A value of `field` as the first bytes of 16, and as a number.
pub fn value(field: &Field, rng: &mut Rng) -> ([u8; 16], u128) {
    let random = u128::from(rng.next()) << 64 | u128::from(rng.next());
    let number = match rng.below(8) {
        0 => 0,
        1 => u128::MAX,
        _ => random,
    } & u128::MAX >> (128 - field.bits);
    let number = if field == f::VLAN_VID {
        number | 0x1000
    } else {
        number
    };
    let mut bytes = [0; 16];
    bytes[..field.bytes()].copy_from_slice(&number.to_be_bytes()[16 - field.bytes()..]);
    (bytes, number)
}

/// Fields that say what follows: the packet is not parsed again when they are set.
const STEERING: [&Field; 3] = [f::ETH_TYPE, f::IP_PROTO, f::ICMPV6_TYPE];

// I6
#[test]
fn set_field_changes_its_bytes_its_checksums_and_its_slot() {
    let (mut rng, pool) = (Rng(11), pool());
    let mut done = [0usize; FIELDS.len()];
    for _ in 0..FRAMES {
        let mut spec = spec(&mut rng);
        let mut packet = packet(&pool, spec.build());
        let settable: Vec<_> = described().filter(|field| field.settable).collect();
        let mut steered = false;
        for _ in 0..6 {
            let field = rng.pick(&settable);
            let (bytes, number) = value(field, &mut rng);
            let (before, frame_before) = (packet.key().clone(), packet.frame.bytes().to_vec());
            let result = packet.set_field(field, &bytes);
            if field.at.is_empty() {
                assert_eq!(result, Ok(()));
                assert_eq!(packet.key().get(field, &mut ()), Some(number));
                packet.key_mut().set(field, 0);
                continue;
            }
            // A changed type no longer says what the value has: the test's own bookkeeping ends.
            if !spec.set(field, number) {
                assert_eq!(result, Err(EditError::NoHeader), "{} {spec:#?}", field.name);
                assert_eq!(packet.frame.bytes(), frame_before);
                continue;
            }
            assert_eq!(result, Ok(()), "{} {spec:#?}", field.name);
            done[usize::from(field.id)] += 1;
            let mut expected = before;
            expected.set(field, number);
            assert_eq!(*packet.key(), expected, "{}", field.name);
            if has_partial_crc(&mut spec) {
                break;
            }
            let (built, offload) = spec.build();
            assert_eq!(packet.frame.bytes(), built, "{} {spec:#?}", field.name);
            assert_eq!(packet.frame.offload, offload);
            steered |= STEERING.contains(&field);
            if steered {
                break;
            }
            let fresh = self::packet(&pool, (built, offload));
            assert_eq!(fresh.key(), packet.key(), "{}", field.name);
        }
        // A changed protocol hides from a later parse where the packet ends and padding begins.
        if !steered {
            finished(&mut packet, &mut spec);
        }
    }
    for field in described().filter(|field| field.settable && !field.at.is_empty()) {
        let times = done[usize::from(field.id)];
        assert!(times > 5, "{} was set {times} times only", field.name);
    }
}

#[test]
fn a_field_that_is_set_reads_back_whatever_its_row() {
    let (mut rng, pool) = (Rng(21), pool());
    for _ in 0..FRAMES / 40 {
        let (built, offload) = spec(&mut rng).build();
        for field in FIELDS.iter().filter(|field| field.settable) {
            let mut packet = packet(&pool, (built.clone(), offload));
            let (bytes, number) = value(field, &mut rng);
            if packet.set_field(field, &bytes).is_err() {
                assert_eq!(packet.frame.bytes(), built, "{}", field.name);
                continue;
            }
            assert_eq!(packet.key().get(field, &mut ()), Some(number));
            let fresh = self::packet(&pool, (packet.frame.bytes().to_vec(), offload));
            let same = field.at.is_empty() || fresh.key() == packet.key();
            assert!(same || STEERING.contains(&field), "{}", field.name);
        }
    }
}

/// A pending checksum, once finished, is the checksum that an ordinary sender would have written.
fn finished(packet: &mut Packet, spec: &mut Spec) {
    if packet.frame.offload.checksum.is_none() || has_partial_crc(spec) {
        return;
    }
    // A finish takes the packet's end from its headers: padding is not covered.
    finish_checksum(&mut packet.frame);
    let l4 = match &mut spec.net {
        Net::Mpls(_, _, inner) => match &mut **inner {
            Net::V4(_, l4) | Net::V6(V6 { l4, .. }) => l4,
            other => panic!("{other:?} has no checksum"),
        },
        Net::V4(_, l4) | Net::V6(V6 { l4, .. }) => l4,
        other => panic!("{other:?} has no checksum"),
    };
    l4.pending = false;
    assert_eq!(packet.frame.bytes(), spec.build().0, "{spec:#?}");
}

#[test]
fn an_unfinished_checksum_is_finished_as_its_sender_would() {
    let (mut rng, pool) = (Rng(12), pool());
    let mut count = 0;
    for _ in 0..FRAMES {
        let mut spec = spec(&mut rng);
        let mut packet = packet(&pool, spec.build());
        count += usize::from(packet.frame.offload.checksum.is_some());
        finished(&mut packet, &mut spec);
        assert_eq!(packet.frame.offload, Offload::NONE);
    }
    assert!(count > 100, "only {count} unfinished checksums");
}

#[test]
fn a_wrong_checksum_stays_wrong() {
    let (mut rng, pool) = (Rng(13), pool());
    for _ in 0..FRAMES / 4 {
        let mut spec = spec(&mut rng);
        let partial_crc = has_partial_crc(&mut spec);
        let (mut bytes, offload) = spec.build();
        if partial_crc || offload.checksum.is_some() || bytes.len() < 15 {
            continue;
        }
        // Damage to the data after the sender computed its checksum.
        let padding = spec.padding.len();
        let Some(l4) = spec
            .l4_mut()
            .filter(|l4| !l4.data.is_empty() && l4.part == Part::Whole)
        else {
            continue;
        };
        let ones = rng.pick(&[1, 0x80]);
        let last = l4.data.len() - 1;
        l4.data[last] ^= ones;
        let at = bytes.len() - padding - 1;
        bytes[at] ^= ones;
        let damage = |spec: &Spec, frame: &[u8]| {
            let right = spec.build().0;
            let differ: Vec<_> = (0..right.len())
                .filter(|i| right[*i] != frame[*i])
                .collect();
            differ
        };
        let before = damage(&spec, &bytes);
        let mut packet = packet(&pool, (bytes, offload));
        for field in [
            f::IPV4_SRC,
            f::IPV6_DST,
            f::TCP_DST,
            f::UDP_SRC,
            f::SCTP_DST,
            f::ICMPV6_CODE,
        ] {
            let (bytes, number) = value(field, &mut rng);
            if packet.set_field(field, &bytes).is_ok() {
                assert!(spec.set(field, number));
            }
        }
        let after = damage(&spec, packet.frame.bytes());
        assert_eq!(before.is_empty(), after.is_empty(), "{spec:#?}");
    }
}

/// The key that a fresh parse of the same bytes gives.
fn reparsed(packet: &Packet) -> Key {
    let fresh = Packet::new(packet.frame.try_clone().unwrap(), packet.in_port());
    fresh.key().clone()
}

/// The place of a pending checksum's bytes, counted from the frame's end.
fn pending_from_end(packet: &Packet) -> Option<usize> {
    let (start, offset) = packet.frame.offload.checksum?;
    Some(packet.frame.len() - usize::from(start + offset))
}

#[test]
fn pushes_and_pops_are_those_of_the_bytes() {
    let (mut rng, pool) = (Rng(14), pool());
    let mut done = [0; 8];
    for _ in 0..FRAMES {
        let spec = spec(&mut rng);
        let mut packet = packet(&pool, spec.build());
        for _ in 0..4 {
            let old = packet.frame.bytes().to_vec();
            let from_end = pending_from_end(&packet);
            let which = rng.below(6) as usize;
            let get = |field| packet.key().get(field, &mut ());
            let (vid, pcp) = (get(f::VLAN_VID), get(f::VLAN_PCP).unwrap_or(0) as u32);
            let isid = get(f::PBB_ISID).unwrap_or(0) as u32;
            let offset = |header| packet.layout().offset(header);
            let [vlan, mpls, pbb] = [Header::Vlan, Header::Mpls, Header::Pbb].map(offset);
            let ttl = match (offset(Header::Ipv4), offset(Header::Ipv6)) {
                (Some(ip), _) => old[ip + 8],
                (None, Some(ip)) => old[ip + 7],
                (None, None) => 0,
            };
            let ty = rng.pick(&[0x0800, 0x86dd, 0x8847, 0x8100, 0x88cc, 0x9100u16]);
            let two = ty.to_be_bytes();
            let tci = (pcp << 13 | vid.unwrap_or(0) as u32 & 0xfff) as u16;
            let (result, expected) = match which {
                0 => (
                    packet.push_vlan(ty),
                    Some([&old[..12], &two, &tci.to_be_bytes(), &old[12..]].concat()),
                ),
                1 => (
                    packet.pop_vlan(),
                    vlan.map(|at| [&old[..at], &old[at + 4..]].concat()),
                ),
                2 => {
                    let plain = u16::from_be_bytes([old[12], old[13]]) >= 0x600;
                    let expected = match mpls {
                        Some(at) => {
                            let mut entry = old[at..at + 4].to_vec();
                            entry[2] &= 0xfe;
                            Some([&old[..at - 2], &two, &entry, &old[at..]].concat())
                        }
                        None => {
                            plain.then(|| [&old[..12], &two, &[0, 0, 1, ttl], &old[14..]].concat())
                        }
                    };
                    (packet.push_mpls(ty), expected)
                }
                3 => (
                    packet.pop_mpls(ty),
                    mpls.map(|at| [&old[..at - 2], &two, &old[at + 4..]].concat()),
                ),
                4 => {
                    let tag = (pcp << 29 | isid).to_be_bytes();
                    let expected = [&old[..12], &two, &tag, &old].concat();
                    (packet.push_pbb(ty), Some(expected))
                }
                _ => (
                    packet.pop_pbb(),
                    pbb.filter(|at| at + 18 <= old.len())
                        .map(|at| [&old[at + 6..at + 18], &old[12..at], &old[at + 18..]].concat()),
                ),
            };
            match expected {
                None => {
                    assert_eq!(result, Err(EditError::NoHeader));
                    assert_eq!(packet.frame.bytes(), old);
                }
                Some(expected) => {
                    assert_eq!(result, Ok(()));
                    assert_eq!(packet.frame.bytes(), expected, "{which} {spec:#?}");
                    assert_eq!(*packet.key(), reparsed(&packet));
                    if packet.frame.offload.checksum.is_some() {
                        assert_eq!(pending_from_end(&packet), from_end);
                    }
                    done[which] += 1;
                }
            }
        }
    }
    assert!(done[..6].iter().all(|times| *times > 300), "{done:?}");
}

#[test]
fn a_pop_undoes_a_push() {
    let (mut rng, pool) = (Rng(15), pool());
    for _ in 0..FRAMES / 4 {
        let mut packet = packet(&pool, spec(&mut rng).build());
        let (bytes, key, layout) = (
            packet.frame.bytes().to_vec(),
            packet.key().clone(),
            *packet.layout(),
        );
        let ty = u16::from_be_bytes([bytes[12], bytes[13]]);
        packet.push_vlan(0x88a8).unwrap();
        packet.push_pbb(0x88e7).unwrap();
        packet.pop_pbb().unwrap();
        packet.pop_vlan().unwrap();
        if packet.layout().offset(Header::Mpls).is_none() && ty >= 0x600 {
            packet.push_mpls(0x8847).unwrap();
            packet.push_mpls(0x8848).unwrap();
            packet.pop_mpls(0x8847).unwrap();
            packet.pop_mpls(ty).unwrap();
        }
        assert_eq!(packet.frame.bytes(), bytes);
        assert_eq!((packet.key(), packet.layout()), (&key, &layout));
    }
}

#[test]
fn without_headroom_a_push_changes_nothing() {
    let (mut rng, pool) = (Rng(16), pool());
    let mut packet = packet(&pool, spec(&mut rng).build());
    while packet.push_vlan(0x8100).is_ok() {}
    let bytes = packet.frame.bytes().to_vec();
    assert_eq!(packet.push_vlan(0x8100), Err(EditError::NoHeadroom));
    assert_eq!(packet.push_mpls(0x8847), Err(EditError::NoHeadroom));
    assert_eq!(packet.push_pbb(0x88e7), Err(EditError::NoHeadroom));
    assert_eq!(packet.frame.bytes(), bytes);
}

#[test]
fn ttls_are_set_decremented_and_copied() {
    let (mut rng, pool) = (Rng(17), pool());
    let mut done = [0; 6];
    for _ in 0..FRAMES {
        let mut spec = spec(&mut rng);
        let mut packet = packet(&pool, spec.build());
        let which = rng.below(6) as usize;
        let new = rng.next() as u8;
        let is_label = matches!(spec.net, Net::Mpls(..));
        let mut values: Vec<u8> = ttls(&mut spec).into_iter().map(|ttl| *ttl).collect();
        let no_header = values.is_empty() || (which < 2) == is_label;
        let (result, expected) = match which {
            0 | 2 => {
                let result = if which == 0 {
                    packet.set_nw_ttl(new)
                } else {
                    packet.set_mpls_ttl(new)
                };
                if !no_header {
                    values[0] = new;
                }
                (
                    result,
                    if no_header {
                        Err(EditError::NoHeader)
                    } else {
                        Ok(())
                    },
                )
            }
            1 | 3 => {
                let result = if which == 1 {
                    packet.dec_nw_ttl()
                } else {
                    packet.dec_mpls_ttl()
                };
                let expected = match values.first_mut() {
                    None => Err(EditError::NoHeader),
                    Some(_) if no_header => Err(EditError::NoHeader),
                    Some(0 | 1) => Err(EditError::InvalidTtl),
                    Some(ttl) => {
                        *ttl -= 1;
                        Ok(())
                    }
                };
                (result, expected)
            }
            _ => {
                let out = which == 4;
                let result = if out {
                    packet.copy_ttl_out()
                } else {
                    packet.copy_ttl_in()
                };
                let expected = if values.len() < 2 {
                    Err(EditError::NoHeader)
                } else {
                    Ok(())
                };
                if expected.is_ok() {
                    values[usize::from(!out)] = values[usize::from(out)];
                }
                (result, expected)
            }
        };
        for (place, value) in ttls(&mut spec).into_iter().zip(values) {
            *place = value;
        }
        assert_eq!(result, expected, "{which} {spec:#?}");
        assert_eq!(packet.frame.bytes(), spec.build().0, "{which} {spec:#?}");
        done[which] += usize::from(result.is_ok());
    }
    assert!(done.iter().all(|times| *times > 100), "{done:?}");
}

/// The TTLs of a frame, outermost first.
fn ttls(spec: &mut Spec) -> Vec<&mut u8> {
    match &mut spec.net {
        Net::V4(ip, _) => vec![&mut ip.time_to_live],
        Net::V6(v6) => vec![&mut v6.header.hop_limit],
        Net::Mpls(_, labels, inner) => {
            let mut all: Vec<_> = labels.iter_mut().map(|label| &mut label.ttl).collect();
            match &mut **inner {
                Net::V4(ip, _) => all.push(&mut ip.time_to_live),
                Net::V6(v6) => all.push(&mut v6.header.hop_limit),
                _ => {}
            }
            all
        }
        _ => Vec::new(),
    }
}

#[test]
fn a_ttl_of_one_is_not_decremented() {
    let (mut rng, pool) = (Rng(18), pool());
    for _ in 0..FRAMES / 10 {
        let mut spec = spec(&mut rng);
        let ttl = rng.below(3) as u8;
        ttls(&mut spec).into_iter().for_each(|place| *place = ttl);
        let mut packet = packet(&pool, spec.build());
        let is_label = matches!(spec.net, Net::Mpls(..));
        let result = if is_label {
            packet.dec_mpls_ttl()
        } else {
            packet.dec_nw_ttl()
        };
        let places = ttls(&mut spec);
        let expected = match (places.is_empty(), ttl) {
            (true, _) => Err(EditError::NoHeader),
            (false, 2) => Ok(()),
            (false, _) => Err(EditError::InvalidTtl),
        };
        assert_eq!(result, expected);
        if result.is_ok() {
            *ttls(&mut spec)[0] = 1;
        }
        assert_eq!(packet.frame.bytes(), spec.build().0);
    }
}

#[test]
fn ttls_are_copied_between_ip_and_ip_in_it() {
    use bofuss_oflib::Mac;
    use bofuss_packet::craft::{Layer, ethernet, ipv4, ipv6, udp};
    let (a, b) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let frame = |outer: u8, inner: u8| {
        let inner = ipv4(a, b, inner, udp(1, 2, b"data"));
        let outer = ipv4(a, b, outer, Layer::new(4, &inner.bytes));
        (ethernet(Mac([2; 6]), Mac([4; 6]), outer), Offload::NONE)
    };
    let pool = pool();
    let mut outward = packet(&pool, frame(9, 77));
    assert_eq!(outward.copy_ttl_out(), Ok(()));
    assert_eq!(outward.frame.bytes(), frame(77, 77).0);
    let mut inward = packet(&pool, frame(9, 77));
    assert_eq!(inward.copy_ttl_in(), Ok(()));
    assert_eq!(inward.frame.bytes(), frame(9, 9).0);
    let six = |outer: u8, inner: u8| {
        let inner = ipv6([1; 16].into(), [2; 16].into(), inner, udp(1, 2, b"data"));
        let outer = ipv6(
            [3; 16].into(),
            [4; 16].into(),
            outer,
            Layer::new(41, &inner.bytes),
        );
        (ethernet(Mac([2; 6]), Mac([4; 6]), outer), Offload::NONE)
    };
    let mut inward = packet(&pool, six(9, 77));
    assert_eq!(inward.copy_ttl_in(), Ok(()));
    assert_eq!(inward.frame.bytes(), six(9, 9).0);
}
