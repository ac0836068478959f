//! Meters in the kernel: what passes, what is dropped, and what is left to the switch.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bofuss_fastpath::{BucketPlace, DropBand};
use bofuss_oflib::types::MeterId;

use super::*;
use crate::accelerator::monotonic_ns;
use crate::layout::{METERS, NOTED, Slot};

const SECOND: i64 = 1_000_000_000;
const METER: MeterId = MeterId(9);

/// A band of a packet in 100 seconds: as good as none while a test runs.
const PACKETS: DropBand = DropBand {
    rate: 1,
    depth_ns: 5_000 * SECOND as u64,
    per_packet: 100 * SECOND as u64,
    per_byte: 0,
    deepens: false,
};

/// Adds the flow of [`segment`]s that pass a meter. Returns the place of its bucket, which has so
/// many nanoseconds.
fn add_metered(table: &mut FlowTable, band: DropBand, nanos: i64) -> Arc<dyn BucketPlace> {
    table.set_mask(key::mask_of(FieldSet::EMPTY).unwrap());
    let place = table.program.meters.place(METER, band).unwrap();
    let full = monotonic_ns() as i64 - nanos;
    place.until().store(full, Relaxed);
    let mut way = way_of(&[Action::output(PortNo(1))]);
    way.meter = Some(METER);
    assert!(add_way(table, 5, (&segment(100), 1514), way));
    place
}

/// What was counted of the only flow: packets, and those of them that were dropped.
fn counted(table: &mut FlowTable) -> [(u64, u64); 2] {
    match &table.take_counts()[..] {
        [one] => [(one.packets, one.bytes), one.dropped],
        other => panic!("{} flows have counted", other.len()),
    }
}

#[test]
fn packets_pass_until_the_tokens_are_below_none() {
    let Some(mut table) = table() else { return };
    let place = add_metered(&mut table, PACKETS, 1_000 * SECOND);
    let passed = (0..30).filter(|_| decide(&mut table, &segment(100), 0) == Some(OUT));
    assert_eq!(
        passed.count(),
        11,
        "ten, and one that takes more than there is"
    );
    let bytes = segment(100).len() as u64;
    assert_eq!(counted(&mut table), [(30, 30 * bytes), (19, 19 * bytes)]);
    let debt = place.until().load(Relaxed) - monotonic_ns() as i64;
    assert!((90 * SECOND..=100 * SECOND).contains(&debt), "{debt}");
    // What the switch gives back passes here.
    place.until().fetch_sub(100 * SECOND, Relaxed);
    assert_eq!(decide(&mut table, &segment(100), 0), Some(OUT));
    assert_eq!(decide(&mut table, &segment(100), 0), Some(u32::MAX));
}

#[test]
fn a_frame_that_is_counted_while_counts_are_taken_is_in_no_other_flow() {
    let Some(mut table) = table() else { return };
    let _place = add_metered(&mut table, PACKETS, SECOND);
    let used = |slot: &Slot| slot.epoch.load(Relaxed) != 0;
    let number = table.program.slots.iter().position(used).unwrap();
    let note = |table: &FlowTable| {
        let bits = &table.program.noted[number / NOTED];
        bits.store(1 << (number % NOTED), Relaxed);
    };
    // The program has counted packets, and not yet their bytes.
    table.program.dropped[number].packets.store(1, Relaxed);
    note(&table);
    assert_eq!(counted(&mut table), [(1, 0), (1, 0)]);
    table.program.dropped[number].bytes.store(154, Relaxed);
    note(&table);
    assert_eq!(counted(&mut table), [(0, 154), (0, 154)]);
    table.program.slots[number].bytes.store(60, Relaxed);
    note(&table);
    assert_eq!(counted(&mut table), [(0, 60), (0, 0)]);
    assert!(table.take_counts().is_empty());
}

#[test]
fn a_flow_of_which_a_meter_drops_all_is_not_idle() {
    let Some(mut table) = table() else { return };
    let idle = |table: &FlowTable| table.first(1).next().unwrap().2 == 0;
    let _place = add_metered(&mut table, PACKETS, -SECOND);
    assert!(idle(&table));
    assert_eq!(decide(&mut table, &segment(100), 0), Some(u32::MAX));
    assert!(!idle(&table));
    // Another flow that takes the slot has had no frame.
    table.forget(&[5]);
    let _place = add_metered(&mut table, PACKETS, -SECOND);
    assert!(idle(&table));
}

#[test]
fn a_super_frame_passes_whole_is_dropped_whole_or_is_left_to_the_switch() {
    let Some(mut table) = table() else { return };
    let place = add_metered(&mut table, PACKETS, 450 * SECOND);
    let frame = segment(2500);
    assert_eq!(decide(&mut table, &frame, 1000), Some(OUT));
    assert_eq!(counted(&mut table), [(3, 2500 + 3 * 54), (0, 0)]);
    assert_eq!(
        decide(&mut table, &frame, 1000),
        None,
        "one of its three segments may pass, and one more with a debt"
    );
    table.drained(0, u64::MAX);
    place.until().fetch_add(300 * SECOND, Relaxed);
    assert_eq!(decide(&mut table, &frame, 1000), Some(u32::MAX));
    let all = (3, 2500 + 3 * 54);
    assert_eq!(counted(&mut table), [all, all]);
}

#[test]
fn fractions_of_a_nanosecond_count_on_average() {
    let Some(mut table) = table() else { return };
    let band = DropBand {
        rate: 3_333_333,
        depth_ns: u64::MAX >> 2,
        per_packet: 0,
        per_byte: 8_000_000,
        deepens: false,
    };
    let place = add_metered(&mut table, band, SECOND);
    let before = place.until().load(Relaxed);
    const FRAMES: i64 = 2_000;
    for _ in 0..FRAMES {
        assert_eq!(decide(&mut table, &segment(10), 0), Some(OUT));
    }
    let taken = place.until().load(Relaxed) - before;
    let exact = FRAMES * segment(10).len() as i64 * 8_000_000 / 3_333_333;
    // Rounded down, it would be 1,200 less.
    assert!((taken - exact).abs() < 150, "{taken}, not {exact}");
}

#[test]
fn a_small_bucket_lets_a_packet_pass_that_is_larger() {
    let Some(mut table) = table() else { return };
    let band = DropBand {
        depth_ns: 0,
        deepens: true,
        ..PACKETS
    };
    add_metered(&mut table, band, 1_000 * SECOND);
    let passed = (0..5).filter(|_| decide(&mut table, &segment(100), 0) == Some(OUT));
    assert_eq!(passed.count(), 2, "one, and a nanosecond later another");
}

#[test]
fn the_room_of_meters_that_are_gone_is_used_again() {
    let Some(mut table) = table() else { return };
    let meters = &mut table.program.meters;
    let mut places: Vec<_> = (1..METERS as u32)
        .map(|id| meters.place(MeterId(id), PACKETS).unwrap())
        .collect();
    assert!(meters.place(MeterId(METERS as u32), PACKETS).is_none());
    assert!(!meters.have_room(Some(MeterId(METERS as u32))));
    assert!(meters.have_room(Some(MeterId(1))) && meters.have_room(None));
    let again = meters.place(MeterId(1), PACKETS).unwrap();
    assert!(Arc::ptr_eq(&again, &places[0]), "it is the same meter");
    drop(again);
    places.truncate(100);
    assert!(meters.number(Some(MeterId(101))).is_none());
    assert!(meters.place(MeterId(METERS as u32), PACKETS).is_some());
}
