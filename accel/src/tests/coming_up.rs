//! Frames that come up although their flow is below, and what that means for the others.

use super::*;

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
