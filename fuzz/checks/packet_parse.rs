//! Any bytes are a frame: it parses, takes every edit or refuses it, and its key stays that of its
//! bytes.

use bofuss_frame::Pool;
use bofuss_oflib::PortNo;
use bofuss_oflib::field::FIELDS;
use bofuss_packet::{EditError, Packet};

/// Edits in front of the frame, one a byte, up to a zero byte.
const MOST_EDITS: usize = 4;

/// Panics: if the parser or an edit breaks its word.
pub fn run(bytes: &[u8]) {
    let edits = bytes.iter().take(MOST_EDITS).take_while(|edit| **edit != 0);
    let count = edits.clone().count();
    let Some(frame) = Pool::new(1 << 20).frame(bytes.get(count + 1..).unwrap_or_default()) else {
        return;
    };
    let mut packet = Packet::new(frame, PortNo(1));
    let mut set = false;
    for edit in edits {
        set |= *edit >= 0x80;
        let _refused = apply(&mut packet, *edit);
    }
    let copy = packet.frame.try_clone().expect("the pool has room for two");
    let fresh = Packet::new(copy, PortNo(1));
    // a set-field does not parse again: it may make of the packet what its bytes are not yet
    assert!(set || fresh.key() == packet.key());
}

fn apply(packet: &mut Packet, edit: u8) -> Result<(), EditError> {
    if edit >= 0x80 {
        let field = &FIELDS[usize::from(edit - 0x80) % FIELDS.len()];
        let settable = field.settable && !field.at.is_empty();
        return if settable {
            packet.set_field(field, &field.ones())
        } else {
            Ok(())
        };
    }
    match edit % 12 {
        0 => packet.push_vlan(0x8100),
        1 => packet.pop_vlan(),
        2 => packet.push_mpls(0x8847),
        3 => packet.pop_mpls(0x0800),
        4 => packet.push_pbb(0x88e7),
        5 => packet.pop_pbb(),
        6 => packet.set_nw_ttl(9),
        7 => packet.dec_nw_ttl(),
        8 => packet.set_mpls_ttl(9),
        9 => packet.dec_mpls_ttl(),
        10 => packet.copy_ttl_out(),
        _ => packet.copy_ttl_in(),
    }
}
