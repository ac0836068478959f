//! The places of fields' values in a key.

use crate::field::{Field, Id, KEY_PRESENT_BYTES, STANDARD_FIELDS};

/// The fields that come first in a key, a word of eight bytes a line: what most entries match takes
/// three of them, and what is next to each other in a header is read in one piece.
///
/// A match compares only the words in which a bit counts, so that fewer words mean less work for
/// each entry and packet.
#[rustfmt::skip]
const FIRST: [Id; 16] = [
    Id::IN_PORT, Id::ETH_TYPE, Id::IP_PROTO, Id::IP_DSCP,
    Id::IPV4_SRC, Id::IPV4_DST,
    Id::TCP_SRC, Id::TCP_DST, Id::UDP_SRC, Id::UDP_DST,
    Id::ETH_DST, Id::VLAN_VID,
    Id::ETH_SRC, Id::VLAN_PCP, Id::IP_ECN,
    Id::METADATA,
];

/// All fields, each with its place.
type KeyRows = [Field; STANDARD_FIELDS];

/// Assigns each row its place in the key: first those of [`FIRST`], then the others in their order;
/// the first row has the last place.
///
/// It runs when the rows are compiled. Places are bytes from the key's start, without gaps and
/// without alignment: a value may lie across two words.
pub(crate) const fn place(mut rows: KeyRows) -> KeyRows {
    // The set of fields that are present comes before all values.
    let mut offset = KEY_PRESENT_BYTES;
    let mut i = 0;
    while i < FIRST.len() {
        let row = &mut rows[FIRST[i] as usize];
        row.offset = offset as u16;
        offset += row.bytes();
        i += 1;
    }
    // From the second row around to the first.
    i = 1;
    while i <= rows.len() {
        let row = &mut rows[i % STANDARD_FIELDS];
        // No place begins at 0.
        if row.offset == 0 {
            row.offset = offset as u16;
            offset += row.bytes();
        }
        i += 1;
    }
    rows
}
