//! Edits of headers without a key do to the bytes what those of a packet do.

use bofuss_frame::Pool;
use bofuss_oflib::PortNo;
use bofuss_oflib::field::FIELDS;
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
        let Some(rewrite) = Rewrite::of(field, &bytes) else {
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
        let result = packet.set_field(field, &bytes);
        assert_eq!(headers.rewrite(&rewrite), result, "{}", field.name);
        assert_eq!(other.bytes(), packet.frame.bytes(), "{}", field.name);
        done[usize::from(field.id)] += usize::from(result.is_ok());
    }
    let written = done.iter().filter(|count| **count > 20).count();
    assert!(written > 20, "{done:?}");
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
