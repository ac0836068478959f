//! Mappings of spare rows: what has their places then, and which are refused.

use super::*;
use crate::added_header::AnyHeader;
use crate::field::{Header, UDP_DST};

const OURS: u32 = 0x0062_6f73;

/// The place of these bits in UDP, with a prerequisite or none.
fn in_udp(bit: u16, bits: u16, port: Option<u64>) -> Mapping {
    Mapping {
        at: At {
            header: AnyHeader::Known(Header::Udp),
            bit,
            bits,
        },
        need: port.map(|port| (UDP_DST.id, 0xffff, port)),
        maskable: true,
        settable: true,
        shared: false,
    }
}

/// A catalogue with two spare rows.
fn with_spares() -> (Catalogue, [&'static Field; 2]) {
    let mut all = Catalogue::default();
    let rows = [Field::spare(OURS, 1, "one"), Field::spare(OURS, 2, "two")];
    all.add("spares", &rows, &[]).expect("there is room");
    let rows = [1, 2].map(|number| all.field(OURS, number).expect("it was added"));
    (all, rows)
}

#[test]
fn a_spare_row_has_the_place_of_its_mapping_and_stays_the_same_field() {
    let (mut all, [one, two]) = with_spares();
    assert!(all.additions().placed.is_empty() && one.is_unmapped() && !one.is_pipeline());
    assert!(all.additions().row_of(one).is_none());
    all.map(one, Some(in_udp(64, 8, Some(6363))))
        .expect("it is free");
    let mapped = all.by_id(one.id.into());
    assert_eq!((mapped, mapped.offset, mapped.bits), (one, one.offset, 128));
    assert!(mapped.is_spare() && !mapped.is_unmapped());
    assert_eq!(all.additions().placed.len(), 1);
    assert_eq!(all.additions().row_of(one).map(|row| row.at.len()), Some(2));
    assert!(all.additions().row_of(two).is_none());
    // Messages and texts have the row without its mapping.
    let said = [all.field(OURS, 1), all.field_named("one")];
    assert!(
        said.iter()
            .flatten()
            .all(|row| row.is_unmapped() && row.maskable)
    );
    all.map(one, None).expect("it needs no room");
    assert!(all.by_id(one.id.into()).is_unmapped() && all.additions().placed.is_empty());
}

#[test]
fn mapped_bits_are_those_of_one_field_that_may_be_set() {
    let (mut all, [one, two]) = with_spares();
    all.map(one, Some(in_udp(64, 8, Some(6363))))
        .expect("it is free");
    let why = all.map(two, Some(in_udp(71, 8, None)));
    let MapError::Place(why) = why.expect_err("a bit of the other") else {
        panic!("another error");
    };
    assert_eq!(
        why,
        "it has bits of one of spares, and one of them may be set"
    );
    // No packet has both.
    all.map(two, Some(in_udp(64, 8, Some(6364))))
        .expect("it is free");
    for (bit, bits) in [(0, 8), (64, 129), (65, 128), (64, 0)] {
        let wrong = all.map(two, Some(in_udp(bit, bits, None)));
        assert!(matches!(wrong, Err(MapError::Place(_))), "{bit} {bits}");
    }
    assert_eq!(all.additions().placed.len(), 2);
}

#[test]
fn a_mapping_that_was_there_before_takes_no_memory_and_others_have_a_limit() {
    let (mut all, [one, two]) = with_spares();
    for _ in 0..10_000 {
        all.map(one, Some(in_udp(64, 8, None)))
            .expect("it is known");
        all.map(two, Some(in_udp(72, 8, None)))
            .expect("it is known");
        all.map(one, None).expect("it is known");
        all.map(two, None).expect("it is known");
    }
    let mut places = (65..).map(|bit| Some(in_udp(bit, 8, None)));
    let accepted = places
        .by_ref()
        .take_while(|place| all.map(one, *place).is_ok());
    // Four sets were made above.
    assert_eq!(accepted.count(), 4_096 - 4);
    assert_eq!(all.map(one, places.next().flatten()), Err(MapError::Full));
    all.map(one, None).expect("it was there before");
    assert!(all.additions().placed.is_empty());
}
