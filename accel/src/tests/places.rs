//! The places of ports in the program, and kernels that have none for it.

use std::collections::BTreeMap;

use super::*;
use crate::accelerator::free_place;
use crate::error::Unavailable;
use crate::program::is_real_time;

#[test]
fn the_place_of_a_port_that_is_gone_is_used_again() {
    let mut taken = BTreeMap::new();
    for wanted in 0..=u8::MAX {
        assert_eq!(free_place(&taken), Ok(wanted));
        taken.insert(wanted, ());
    }
    assert_eq!(free_place(&taken), Err(Unavailable::Ports));
    taken.remove(&7);
    assert_eq!(free_place(&taken), Ok(7));
    let Some(table) = table() else { return };
    table.drained(7, 9);
    table.hold(7, u64::MAX);
    table.program.settings[0].held[7].store(5, Relaxed);
    table.begin_place(7);
    let settings = &table.program.settings[0];
    let places = [&settings.drained, &settings.hold, &settings.held];
    assert_eq!(places.map(|places| places[7].load(Relaxed)), [0; 3]);
}

#[test]
fn real_time_kernels_are_known_by_their_own_word() {
    assert!(is_real_time("1\n"));
    assert!(!is_real_time("0\n") && !is_real_time(""));
}
