//! Frames that come up although their flow is below, and what that means for the others.

use std::time::Instant;

use super::*;
use crate::table::{LONGEST_SECTION, processors};

/// A datagram with so many bytes.
fn short(ttl: u8, bytes: usize) -> Vec<u8> {
    let packet = ipv4(
        [10; 4].into(),
        [11; 4].into(),
        ttl,
        udp(1, 2, &vec![1; bytes]),
    );
    ethernet(Mac([2; 6]), Mac([4; 6]), packet)
}

#[test]
fn a_flow_comes_up_with_a_frame_that_the_kernel_leaves_to_the_switch() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::EMPTY).unwrap());
    let usual = short(64, 100);
    for other in [
        short(64, 0),
        short(64, 3),
        short(64, 17),
        short(64, 1500),
        short(1, 100),
        short(0, 100),
    ] {
        table.forget_all();
        assert!(add(&mut table, 5, &usual, 1514));
        assert_eq!(decide(&mut table, &usual, 0), Some(OUT));
        assert_eq!(decide(&mut table, &other, 0), None, "{other:x?}");
        assert_eq!(
            decide(&mut table, &usual, 0),
            None,
            "it would overtake the one before: {other:x?}"
        );
        table.drained(0, u64::MAX);
        assert_eq!(decide(&mut table, &usual, 0), Some(OUT));
    }
}

#[test]
fn a_flow_comes_up_with_a_super_frame_of_udp() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::EMPTY).unwrap());
    let usual = short(64, 100);
    assert!(add(&mut table, 5, &usual, 1514));
    assert_eq!(decide(&mut table, &usual, 0), Some(OUT));
    assert_eq!(decide(&mut table, &short(64, 1400), 700), None);
    assert_eq!(decide(&mut table, &usual, 0), None);
    table.drained(0, u64::MAX);
    assert_eq!(decide(&mut table, &usual, 0), Some(OUT));
}

#[test]
fn a_frame_may_end_with_the_header_of_udp() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::of(UDP_DST)).unwrap());
    let frame = |port: u16| {
        let packet = ipv6([1; 8].into(), [2; 8].into(), 64, udp(1, port, &[]));
        ethernet(Mac([2; 6]), Mac([4; 6]), packet)
    };
    assert!(add(&mut table, 5, &frame(2), 1514));
    assert_eq!(decide(&mut table, &frame(2), 0), Some(OUT));
    assert_eq!(decide(&mut table, &frame(3), 0), None, "of another flow");
}

#[test]
fn a_super_frame_comes_up_if_its_segments_take_other_ways() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::of(TCP_FLAGS)).unwrap());
    let frame = |flags: u8, data: usize| {
        let payload = tcp(1, 2, flags, &vec![1; data]);
        let packet = ipv4([10; 4].into(), [11; 4].into(), 64, payload);
        ethernet(Mac([2; 6]), Mac([4; 6]), packet)
    };
    for (flags, parting, out) in [
        (0x18, 0x00, Some(OUT)),
        (0x10, 0x89, Some(OUT)),
        (0x18, 0x09, None),
        (0x11, 0x09, None),
        (0x90, 0x80, None),
        (0x90, 0x09, Some(OUT)),
    ] {
        table.forget_all();
        let mut way = way_of(&[Action::output(PortNo(1))]);
        way.parting = parting;
        assert!(add_way(&mut table, 5, (&frame(flags, 100), 1514), way));
        assert_eq!(decide(&mut table, &frame(flags, 100), 0), Some(OUT));
        let whole = decide(&mut table, &frame(flags, 2500), 1000);
        assert_eq!(whole, out, "{flags:x} {parting:x}");
    }
}

#[test]
fn a_flow_begins_when_the_frames_have_passed_that_came_before() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::EMPTY).unwrap());
    // A processor that does not go on is waited for so long.
    table.program.cpus[0].section.store(1, Relaxed);
    let start = Instant::now();
    assert!(add(&mut table, 5, &segment(100), 1514));
    assert!(start.elapsed() >= LONGEST_SECTION);
}

#[test]
fn a_frame_that_goes_up_has_a_reason() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::EMPTY).unwrap());
    let usual = short(64, 100);
    let leaves = |table: &FlowTable, frame: &[u8]| {
        let key = key::of_frame(frame, INTERFACE).unwrap();
        table.leaves(&key, frame)
    };
    assert_eq!(leaves(&table, &usual), None, "it has no flow");
    assert!(add(&mut table, 5, &usual, 1514));
    for (frame, why) in [
        (&usual, None),
        (&short(64, 3), Some(Refusal::Short)),
        (&short(64, 1500), Some(Refusal::Long)),
        (&short(1, 100), Some(Refusal::Ttl)),
    ] {
        assert_eq!(leaves(&table, frame), why);
    }
    table.drained(0, EARLY_NS);
    assert_eq!(leaves(&table, &usual), Some(Refusal::Waits));
    assert_eq!(decide(&mut table, &usual, 0), None);
    table.drained(0, u64::MAX);
    assert_eq!(leaves(&table, &usual), None);
    assert_eq!(decide(&mut table, &usual, 0), Some(OUT));
}

#[test]
fn frames_are_waited_for_on_all_processors() {
    for (list, n) in [
        ("0\n", Some(1)),
        ("0-3\n", Some(4)),
        ("0,2-5\n", Some(6)),
        ("0-1,7\n", Some(8)),
        ("\n", None),
        ("", None),
    ] {
        assert_eq!(processors(list), n, "{list:?}");
    }
}
