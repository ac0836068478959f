//! Up to when frames of a port have left the switch, and what is held back for that.

use super::*;
use crate::passage::{Passage, Passed, Waiting};

const MS: u64 = 1_000_000;
/// What the program decides about a frame that it drops.
const DROPPED: u32 = u32::MAX;
/// Frames wait all the time in a socket that has room for 100.
const SOME: Waiting = Waiting {
    is_none: false,
    is_none_inside: true,
    most: Some(100),
    is_crowded: false,
};

#[test]
fn what_came_before_has_left_once_as_many_were_taken_as_can_wait() {
    let mut passage = Passage::new();
    let mut drained = |now_ns: u64, count: usize, waiting: Waiting| {
        let passed = passage.after_batch(now_ns, count, waiting);
        passed.drained_ns
    };
    assert_eq!(drained(10, 32, SOME), None);
    assert_eq!(drained(20, 60, SOME), None);
    let queued = Waiting {
        is_none_inside: false,
        ..SOME
    };
    assert_eq!(drained(30, 40, queued), None, "the last one has not left");
    assert_eq!(drained(40, 1, SOME), Some(10));
    assert_eq!(drained(50, 99, SOME), None);
    assert_eq!(drained(60, 1, SOME), Some(40));
    let nothing = Waiting {
        is_none: true,
        ..SOME
    };
    assert_eq!(drained(70, 1, nothing), Some(70));
    let unknown = Waiting { most: None, ..SOME };
    for now_ns in 80..90 {
        assert_eq!(drained(now_ns, 1000, unknown), None);
    }
}

#[test]
fn frames_are_held_back_for_200_us_once_a_second_where_none_are_lost() {
    let mut passage = Passage::new();
    let unknown = Waiting { most: None, ..SOME };
    let mut ends = Vec::new();
    for now_ns in (0..3_000 * MS).step_by(50_000) {
        if let Some(end_ns) = passage.after_batch(now_ns, 1, unknown).hold_until_ns {
            assert!(end_ns - now_ns <= 200_000, "{now_ns} {end_ns}");
            ends.push(end_ns);
        }
    }
    ends.dedup();
    assert_eq!(ends.len(), 3, "{ends:?}");
    assert!(ends.windows(2).all(|pair| pair[1] - pair[0] >= 1_000 * MS));
}

#[test]
fn a_hold_of_a_crowded_port_ends_when_what_came_before_has_left() {
    let mut passage = Passage::new();
    let mut after =
        |ms: u64, count: usize, waiting: Waiting| passage.after_batch(ms * MS, count, waiting);
    let passed = |drained_ns: Option<u64>, hold_until_ns: Option<u64>| Passed {
        drained_ns,
        hold_until_ns,
    };
    let crowded = Waiting {
        is_crowded: true,
        ..SOME
    };
    assert_eq!(after(0, 1, SOME), passed(None, None));
    let short = passed(None, Some(101 * MS + 200_000));
    assert_eq!(after(101, 1, SOME), short);
    assert_eq!(after(102, 1, crowded), passed(None, Some(152 * MS)));
    assert_eq!(after(103, 60, crowded), passed(None, Some(153 * MS)));
    assert_eq!(after(104, 40, crowded), passed(Some(102 * MS), Some(0)));
    assert_eq!(after(105, 1, crowded), passed(None, None));
    let pauses = after(1102, 1, crowded).hold_until_ns;
    assert_eq!(pauses, None, "a second has not passed");
    let again = after(1103, 1, crowded).hold_until_ns;
    assert_eq!(again, Some(1153 * MS));
}

#[test]
fn a_flow_that_is_held_back_goes_below_when_what_went_up_has_left() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::EMPTY).unwrap());
    assert!(add(&mut table, 5, &segment(100), 1514));
    table.drained(0, 0);
    assert_eq!(decide(&mut table, &segment(100), 0), None);
    table.hold(0, u64::MAX);
    assert_eq!(decide(&mut table, &segment(100), 0), Some(DROPPED));
    let packet = ipv4([10; 4].into(), [11; 4].into(), 64, udp(1, 2, &[0; 60]));
    let unknown = ethernet(Mac([2; 6]), Mac([4; 6]), packet);
    assert_eq!(decide(&mut table, &unknown, 0), None);
    table.drained(0, u64::MAX);
    assert_eq!(decide(&mut table, &segment(100), 0), Some(OUT));
    assert_eq!(table.held(0), 1, "only the one in between was dropped");
    assert_eq!(table.take_counts()[0].packets, 1);
}
