//! Edits of headers without a key do to the bytes what those of a packet do.

use bofuss_frame::Pool;
use bofuss_oflib::FieldMatch;
use bofuss_oflib::PortNo;
use bofuss_oflib::field::{FIELDS, Field};
use bofuss_packet::{Headers, Layout, Packet, Rewrite, survey};

use crate::edits::{frame, value};
use crate::spec::{Rng, described, spec};

/// Random frames in each test.
const FRAMES: usize = 20_000;
/// Ethernet types of VLAN tags, and one that is of none.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x86dd];

// I6
#[test]
fn a_set_field_made_ready_writes_what_a_set_field_writes() {
    let (mut rng, pool) = (Rng(31), Pool::new(1 << 20));
    let mut done = [0usize; FIELDS.len()];
    for _ in 0..FRAMES {
        let built = spec(&mut rng).build();
        let settable: Vec<_> = described().filter(|field| field.settable).collect();
        let field = rng.pick(&settable);
        let (bytes, _) = value(field, &mut rng);
        let number = u128::from_be_bytes(bytes) >> (128 - 8 * field.bytes());
        let mask = match rng.below(2) {
            0 => u128::MAX,
            _ => u128::from(rng.next()) << 64 | u128::from(rng.next()),
        };
        let one = FieldMatch::masked(field, number, mask);
        let Some(rewrite) = Rewrite::of(&one) else {
            continue;
        };
        let mut packet = Packet::new(frame(&pool, built.clone()), PortNo(1));
        if rng.below(4) == 0 && packet.frame.len() > 60 {
            // Checksums are not always right, and the last word may be cut in half.
            let at = 20 + rng.below(40) as usize;
            packet.frame.bytes_mut()[at] ^= rng.next() as u8;
            packet.frame.set_len(packet.frame.len() - 1);
            packet.reparse();
        }
        let mut other = packet.frame.try_clone().unwrap();
        let layout = *packet.layout();
        let mut headers = Headers {
            frame: &mut other,
            layout: &layout,
        };
        let result = if one.is_exact() {
            packet.set_field(field, &bytes)
        } else {
            packet.set_masked(&one)
        };
        assert_eq!(headers.rewrite(&rewrite), result, "{}", field.name);
        assert_eq!(other.bytes(), packet.frame.bytes(), "{}", field.name);
        done[usize::from(field.id)] += usize::from(result.is_ok());
    }
    let written = done.iter().filter(|count| **count > 20).count();
    assert!(written > 20, "{done:?}");
}

/// A random field that can be set, its value, and the set-field if that can be made ready.
fn ready(rng: &mut Rng) -> Option<(&'static Field, [u8; 16], Rewrite)> {
    let settable: Vec<_> = described().filter(|field| field.settable).collect();
    let field = rng.pick(&settable);
    let (bytes, _) = value(field, rng);
    let number = u128::from_be_bytes(bytes) >> (128 - 8 * field.bytes());
    Some((
        field,
        bytes,
        Rewrite::of(&FieldMatch::exact(field, number))?,
    ))
}

// I6
#[test]
fn set_fields_that_are_made_one_write_what_both_write() {
    let (mut rng, pool) = (Rng(33), Pool::new(1 << 20));
    let (mut joined, mut in_tags) = (0, 0);
    for _ in 0..2 * FRAMES {
        let (Some(first), Some(second)) = (ready(&mut rng), ready(&mut rng)) else {
            continue;
        };
        let mut both = first.2.clone();
        let change = first.2.in_tag().zip(second.2.in_tag());
        if !both.merge(&second.2) {
            assert_eq!(both, first.2);
            continue;
        }
        let mut packet = Packet::new(frame(&pool, spec(&mut rng).build()), PortNo(1));
        let mut other = packet.frame.try_clone().unwrap();
        let layout = *packet.layout();
        let mut headers = Headers {
            frame: &mut other,
            layout: &layout,
        };
        if let Some((one, more)) = change {
            headers.push_changed_vlan(0x8100, one.then(more)).unwrap();
            packet.push_vlan(0x8100).unwrap();
            in_tags += 1;
        } else {
            joined += usize::from(headers.rewrite(&both).is_ok());
        }
        for (field, bytes, _) in [first, second] {
            let _ = packet.set_field(field, &bytes);
        }
        assert_eq!(other.bytes(), packet.frame.bytes());
    }
    assert!(joined > 50 && in_tags > 50, "{joined} {in_tags}");
}

#[test]
fn a_layout_that_follows_a_pushed_tag_is_that_of_the_frame() {
    let (mut rng, pool) = (Rng(32), Pool::new(1 << 20));
    for round in 0..FRAMES {
        let mut frame = frame(&pool, spec(&mut rng).build());
        if round % 4 == 0 {
            let len = 13 + rng.below(frame.len() as u64 - 12) as usize;
            frame.set_len(len.min(frame.len()));
        }
        let mut layout = Layout::EMPTY;
        survey(frame.bytes(), &mut layout);
        for _ in 0..3 {
            let mut headers = Headers {
                frame: &mut frame,
                layout: &layout,
            };
            if headers.push_vlan(rng.pick(&TAGS)).is_err() {
                break;
            }
            layout.follow_push(frame.bytes());
            let mut found = Layout::EMPTY;
            survey(frame.bytes(), &mut found);
            assert_eq!(layout, found, "{:02x?}", frame.bytes());
        }
    }
}
