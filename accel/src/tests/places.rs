//! The places of ports in the program.

use std::collections::BTreeMap;

use super::*;
use crate::accelerator::free_place;
use crate::error::Unavailable;

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
