//! Any bytes are a frame: it parses, takes every edit or refuses it, and its key stays that of its
//! bytes.

use std::sync::OnceLock;

use bofuss_frame::Pool;
use bofuss_oflib::added_header::{AddedHeader, Sum};
use bofuss_oflib::{Catalogue, Field, PortNo, extension_fields};
use bofuss_packet::{EditError, Packet};

static TAG: AddedHeader = AddedHeader::after_eth_type(0x88b5, "tag", 6);
static SIGNAL: AddedHeader =
    AddedHeader::after_ip_protocol(253, "signal", 8).with_checksum(2, Sum::Ones);
static NAME: AddedHeader = AddedHeader::after_udp_port(6363, "name", 5);
/// Fields of an extension, in headers of its own and in others.
static ADDED: [Field; 4] = extension_fields! { 0x0062_6f99;
    0 "tag_colour" 12 masked set Hex in TAG 4;
    1 "signal_code" 16 exact set Dec in SIGNAL 32;
    2 "name_hash" 32 masked set Hex in NAME 8;
    3 "record" 8 exact set Dec at Tcp 160;
};

fn catalogue() -> &'static Catalogue {
    static ALL: OnceLock<Catalogue> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = Catalogue::default();
        let added = all.add("sample", &ADDED, &[]);
        added.expect("no other has these");
        all
    })
}

/// Edits in front of the frame, one a byte, up to a zero byte.
const MOST_EDITS: usize = 4;

/// Panics: if the parser or an edit breaks its word.
pub fn run(bytes: &[u8]) {
    let edits = bytes.iter().take(MOST_EDITS).take_while(|edit| **edit != 0);
    let count = edits.clone().count();
    let Some(frame) = Pool::new(1 << 20).frame(bytes.get(count + 1..).unwrap_or_default()) else {
        return;
    };
    let mut packet = Packet::with_additions(frame, PortNo(1), catalogue().additions());
    let mut set = false;
    for edit in edits {
        set |= *edit >= 0x80;
        let _refused = apply(&mut packet, *edit);
    }
    let copy = packet.frame.try_clone().expect("the pool has room for two");
    let fresh = Packet::with_additions(copy, PortNo(1), catalogue().additions());
    // a set-field does not parse again: it may make of the packet what its bytes are not yet
    assert!(set || fresh.key() == packet.key());
}

fn apply(packet: &mut Packet, edit: u8) -> Result<(), EditError> {
    if edit >= 0x80 {
        let fields = catalogue().fields();
        let field = fields[usize::from(edit - 0x80) % fields.len()];
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
