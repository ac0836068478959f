//! Super-frames cut by this crate against the segments built one by one by the other library.

use bofuss_frame::{Gso, GsoKind, Offload, Pool};
use bofuss_oflib::PortNo;
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::field::{Differs, FIELDS, Field, TCP_FLAGS, TCP_SRC, UDP_SRC};
use bofuss_packet::Packet;
use bofuss_packet::offload::{
    Use, agreeing_segments, finish_checksum, first, plausible_count, segment, split, wire_count,
};

use crate::spec::{Body, L4, Net, Part, Rng, Spec, V6, spec};

/// Super-frames in each test.
const FRAMES: usize = 3_000;

fn l4(net: &mut Net) -> Option<&mut L4> {
    match net {
        Net::V4(_, l4) | Net::V6(V6 { l4, .. }) => Some(l4),
        Net::Mpls(_, _, inner) => self::l4(inner),
        _ => None,
    }
}

/// A random super-frame: the value, its cut, and the payload bytes of a segment.
fn super_frame(rng: &mut Rng) -> (Spec, GsoKind, usize) {
    loop {
        let mut spec = spec(rng);
        spec.padding.clear();
        let v4 = match &spec.net {
            Net::Mpls(_, _, inner) => matches!(**inner, Net::V4(..)),
            other => matches!(other, Net::V4(..)),
        };
        let Some(l4) = l4(&mut spec.net).filter(|l4| l4.part == Part::Whole) else {
            continue;
        };
        let kind = match l4.body {
            Body::Tcp(_) if v4 => GsoKind::Tcp4,
            Body::Tcp(_) => GsoKind::Tcp6,
            Body::Udp { none: false, .. } => GsoKind::Udp,
            _ => continue,
        };
        let segment_bytes = 1 + rng.below(1448) as usize;
        let payload = 1 + rng.below(20 * segment_bytes as u64) as usize;
        l4.data = (0..payload).map(|_| rng.next() as u8).collect();
        l4.pending = true;
        return (spec, kind, segment_bytes);
    }
}

/// The segments as their sender would have built them, had it cut.
fn by_hand(whole: &Spec, segment_bytes: usize) -> Vec<Vec<u8>> {
    let mut whole = whole.clone();
    let data = std::mem::take(&mut l4(&mut whole.net).unwrap().data);
    let count = data.chunks(segment_bytes).count();
    let segments = data.chunks(segment_bytes).enumerate().map(|(i, part)| {
        let mut one = whole.clone();
        let l4 = l4(&mut one.net).unwrap();
        l4.data = part.to_vec();
        l4.pending = false;
        if let Body::Tcp(tcp) = &mut l4.body {
            let moved = (i * segment_bytes) as u32;
            tcp.sequence_number = tcp.sequence_number.wrapping_add(moved);
            tcp.cwr &= i == 0;
            tcp.fin &= i + 1 == count;
            tcp.psh &= i + 1 == count;
        }
        let ip = match &mut one.net {
            Net::Mpls(_, _, inner) => &mut **inner,
            other => other,
        };
        if let Net::V4(ip, _) = ip {
            ip.identification = ip.identification.wrapping_add(i as u16);
        }
        one.build().0
    });
    segments.collect()
}

fn gso(kind: GsoKind, segment_bytes: usize) -> Option<Gso> {
    let segment_bytes = segment_bytes as u16;
    Some(Gso {
        kind,
        segment_bytes,
        ecn: false,
    })
}

#[test]
fn segments_are_those_that_the_sender_would_have_built() {
    let (mut rng, pool) = (Rng(21), Pool::new(1 << 24));
    let mut kinds = [0; 3];
    for _ in 0..FRAMES {
        let (spec, kind, segment_bytes) = super_frame(&mut rng);
        let (bytes, offload) = spec.build();
        let mut frame = pool.frame(&bytes).unwrap();
        frame.offload = Offload {
            gso: gso(kind, segment_bytes),
            ..offload
        };
        let expected = by_hand(&spec, segment_bytes);
        let mut cut = Vec::new();
        assert!(segment(&frame, |mut one| {
            assert_eq!(one.offload.gso, None);
            finish_checksum(&mut one);
            cut.push(one.bytes().to_vec());
        }));
        assert_eq!(cut, expected, "{kind:?}");
        let bytes: usize = expected.iter().map(Vec::len).sum();
        assert_eq!(wire_count(&frame), (expected.len() as u64, bytes as u64));
        kinds[kind as usize] += 1;
    }
    assert!(kinds.iter().all(|times| *times > 100), "{kinds:?}");
}

// I7
#[test]
fn edits_of_a_super_frame_are_edits_of_its_segments() {
    use bofuss_oflib::field as f;
    let (mut rng, pool) = (Rng(22), Pool::new(1 << 24));
    let edit = |packet: &mut Packet| {
        // A field that is absent from this frame is absent from its segments, too.
        let _ = packet.set_field(f::IPV4_DST, &[9; 16]);
        let _ = packet.set_field(f::IPV6_SRC, &[8; 16]);
        let _ = packet.set_field(f::IP_DSCP, &[5; 16]);
        let _ = packet.set_field(f::TCP_SRC, &[7; 16]);
        let _ = packet.set_field(f::UDP_DST, &[6; 16]);
        let _ = packet.dec_nw_ttl();
        packet.push_vlan(0x8100).unwrap();
        let _ = packet.push_pbb(0x88e7);
    };
    for _ in 0..FRAMES / 4 {
        let (spec, kind, segment_bytes) = super_frame(&mut rng);
        let (bytes, offload) = spec.build();
        let mut frame = pool.frame(&bytes).unwrap();
        frame.offload = Offload {
            gso: gso(kind, segment_bytes),
            ..offload
        };
        let mut first_cut = Vec::new();
        assert!(segment(&frame, |one| {
            let mut packet = Packet::new(one, PortNo(1));
            edit(&mut packet);
            finish_checksum(&mut packet.frame);
            first_cut.push(packet.frame.bytes().to_vec());
        }));
        let mut packet = Packet::new(frame, PortNo(1));
        edit(&mut packet);
        let mut first_edited = Vec::new();
        assert!(segment(&packet.frame, |mut one| {
            finish_checksum(&mut one);
            first_edited.push(one.bytes().to_vec());
        }));
        assert_eq!(first_cut, first_edited, "{kind:?}");
    }
}

// I7
#[test]
fn pieces_of_a_super_frame_have_its_segments() {
    let (mut rng, pool) = (Rng(27), Pool::new(1 << 24));
    let mut parted = 0;
    let segments = |frame: &bofuss_frame::Frame| {
        let mut segments = Vec::new();
        assert!(segment(frame, |one| {
            segments.push((one.bytes().to_vec(), one.offload));
        }));
        segments
    };
    for _ in 0..FRAMES {
        let (spec, kind, segment_bytes) = super_frame(&mut rng);
        let (bytes, offload) = spec.build();
        let mut frame = pool.frame(&bytes).unwrap();
        frame.offload = Offload {
            gso: gso(kind, segment_bytes),
            ..offload
        };
        assert_eq!(plausible_count(&frame), Some(wire_count(&frame)));
        let all = segments(&frame);
        let one = first(&frame).unwrap();
        assert_eq!((one.bytes(), one.offload), (&all[0].0[..], all[0].1));
        if all.len() == 1 {
            continue;
        }
        let count = 1 + rng.below(all.len() as u64 - 1) as usize;
        let (head, tail) = split(frame, count).unwrap();
        for (piece, count) in [(&head, count), (&tail, all.len() - count)] {
            assert_eq!(wire_count(piece).0, count as u64);
            assert_eq!(piece.offload.gso.is_some(), count > 1);
        }
        assert_eq!([segments(&head), segments(&tail)].concat(), all);
        parted += 1;
    }
    assert!(parted > FRAMES / 2);
}

// I7
#[test]
fn a_row_says_how_its_field_differs_between_segments() {
    let (mut rng, pool) = (Rng(28), Pool::new(1 << 24));
    for _ in 0..FRAMES / 4 {
        let (spec, kind, segment_bytes) = super_frame(&mut rng);
        let (bytes, offload) = spec.build();
        let mut frame = pool.frame(&bytes).unwrap();
        frame.offload = Offload {
            gso: gso(kind, segment_bytes),
            ..offload
        };
        let mut keys = Vec::new();
        assert!(segment(&frame, |one| {
            keys.push(Packet::new(one, PortNo(1)).key().clone());
        }));
        let whole = Packet::new(frame, PortNo(1));
        let whole = whole.key();
        for field in &FIELDS {
            let (first, last) = match field.differs {
                Differs::Nowhere => (0, 0),
                Differs::Ends { first, last } => (first, last),
                Differs::Every => continue,
            };
            for (index, key) in keys.iter().enumerate() {
                let lacks = if index == 0 { 0 } else { first };
                let ends = index + 1 == keys.len();
                let lacks = lacks | if ends { 0 } else { last };
                let value = whole.get(field, &mut ());
                let expected = value.map(|value| value & !u128::from(lacks));
                assert_eq!(key.get(field, &mut ()), expected, "{field:?} {index}");
            }
        }
    }
}

// I7
#[test]
fn segments_agree_up_to_the_first_that_differs_in_what_is_used() {
    let (mut rng, pool) = (Rng(29), Pool::new(1 << 24));
    let of_its_own = |field: &Field| Field {
        differs: Differs::Every,
        ..*field
    };
    let (tcp, udp) = (of_its_own(TCP_SRC), of_its_own(UDP_SRC));
    for _ in 0..FRAMES / 4 {
        let (spec, kind, segment_bytes) = super_frame(&mut rng);
        let (bytes, offload) = spec.build();
        let mut frame = pool.frame(&bytes).unwrap();
        frame.offload = Offload {
            gso: gso(kind, segment_bytes),
            ..offload
        };
        let all = wire_count(&frame).0 as usize;
        let alike = |field, is_set, bits| {
            let one = Use {
                field,
                is_set,
                bits,
            };
            agreeing_segments(&frame, Additions::NONE, [one].into_iter())
        };
        let is_tcp = kind != GsoKind::Udp;
        assert_eq!(alike(TCP_SRC, true, 0), all);
        assert_eq!(alike(&tcp, false, 0), if is_tcp { 1 } else { all });
        assert_eq!(alike(&udp, false, 0), if is_tcp { all } else { 1 });
        let flags = if is_tcp {
            bytes[usize::from(offload.checksum.unwrap().0) + 13]
        } else {
            0
        };
        let expected = match flags {
            flags if flags & 0x80 != 0 => 1,
            flags if flags & 0x09 != 0 => (all - 1).max(1),
            _ => all,
        };
        assert_eq!(alike(TCP_FLAGS, false, 0x89), expected);
        assert_eq!(alike(TCP_FLAGS, false, 0x00), all);
        assert_eq!(alike(TCP_FLAGS, true, 0x00), if is_tcp { 1 } else { all });
    }
}

#[test]
fn what_cannot_be_cut_counts_as_one_packet_and_says_so() {
    let (mut rng, pool) = (Rng(23), Pool::new(1 << 24));
    for _ in 0..FRAMES / 4 {
        let (spec, kind, segment_bytes) = super_frame(&mut rng);
        let (bytes, offload) = spec.build();
        let mut frame = pool.frame(&bytes).unwrap();
        let (start, at) = offload.checksum.unwrap();
        let refused = |frame: &bofuss_frame::Frame| {
            assert!(!segment(frame, |_| panic!("it cannot be cut")));
            assert_eq!(wire_count(frame), (1, frame.len() as u64));
        };
        for kind in [GsoKind::UdpFragment, GsoKind::Sctp] {
            frame.offload = Offload {
                gso: gso(kind, segment_bytes),
                ..offload
            };
            refused(&frame);
        }
        let gso = gso(kind, segment_bytes);
        // The record points into the payload, as for a tunnel.
        frame.offload = Offload {
            checksum: Some((start + 50, at)),
            gso,
            ..Offload::NONE
        };
        refused(&frame);
        frame.offload = Offload { gso, ..offload };
        frame.set_len(usize::from(start) + 4);
        refused(&frame);
    }
}

#[test]
fn a_record_of_any_content_is_taken_without_harm() {
    let (mut rng, pool) = (Rng(24), Pool::new(1 << 24));
    let kinds = [
        GsoKind::Tcp4,
        GsoKind::Tcp6,
        GsoKind::Udp,
        GsoKind::UdpFragment,
        GsoKind::Sctp,
    ];
    for _ in 0..FRAMES * 4 {
        let mut frame = pool.frame(&spec(&mut rng).build().0).unwrap();
        let small = rng.below(200) as u16;
        frame.offload.checksum = (!rng.one_in(3)).then(|| {
            (
                rng.pick(&[small, 14, 34, 65535]),
                rng.pick(&[2, 6, 8, 16, 65535]),
            )
        });
        frame.offload.gso = gso(rng.pick(&kinds), rng.below(40) as usize);
        let (packets, bytes) = wire_count(&frame);
        assert!(packets >= 1 && bytes >= 1);
        segment(&frame, |mut one| finish_checksum(&mut one));
        let mut packet = Packet::new(frame, PortNo(1));
        for field in bofuss_oflib::field::FIELDS
            .iter()
            .filter(|field| field.settable)
        {
            let _ = packet.set_field(field, &[3; 16]);
        }
        let _ = packet.push_mpls(0x8847);
        let _ = packet.pop_vlan();
        let _ = packet.pop_pbb();
        finish_checksum(&mut packet.frame);
    }
}

#[test]
fn a_finished_udp_checksum_is_never_zero() {
    use bofuss_packet::craft::{ethernet, ipv4, udp};
    let (pool, mac, mut all_ones) = (Pool::new(1 << 20), bofuss_oflib::Mac([2; 6]), 0);
    for word in 0..=u16::MAX {
        let datagram = udp(1, 2, &word.to_be_bytes());
        let ip = ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, datagram);
        let mut frame = pool.frame(&ethernet(mac, mac, ip)).unwrap();
        // Some sum in the place of the pseudo-header's: all come up.
        frame.bytes_mut()[40..42].fill(7);
        frame.offload.checksum = Some((34, 6));
        finish_checksum(&mut frame);
        assert_ne!(frame.bytes()[40..42], [0, 0], "{word:#x}");
        all_ones += usize::from(frame.bytes()[40..42] == [0xff; 2]);
    }
    assert!(all_ones > 0);
}

#[test]
fn an_exhausted_pool_stops_a_cut() {
    let mut rng = Rng(25);
    let pool = Pool::new(80_000);
    let (mut spec, kind, _) = super_frame(&mut rng);
    l4(&mut spec.net).unwrap().data = vec![1; 30_000];
    let (bytes, offload) = spec.build();
    let mut frame = pool.frame(&bytes).unwrap();
    frame.offload = Offload {
        gso: gso(kind, 1000),
        ..offload
    };
    let mut held = Vec::new();
    assert!(!segment(&frame, |one| held.push(one)));
}

#[test]
fn an_ordinary_frame_is_its_own_segment() {
    let pool = Pool::new(1 << 20);
    let frame = pool.frame(&[7; 60]).unwrap();
    let mut count = 0;
    assert!(segment(&frame, |one| {
        assert_eq!(one.bytes(), frame.bytes());
        count += 1;
    }));
    assert_eq!((count, wire_count(&frame)), (1, (1, 60)));
}
