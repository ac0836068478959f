//! Fields whose rows are known at run time only: found, read and written as their rows say.

use bofuss_oflib::added_header::AnyHeader;
use bofuss_oflib::field::{At, FIELDS, Field, Header, Need};

use crate::parse::Layout;
use crate::rows::get_bits;

/// The bits of the Ethernet type in its header; what follows is payload.
const ETH_TYPE_BITS: u16 = 16;

/// The place of a field in a frame: its row's place, and where that header begins. Errors: `None`
/// if the frame ends before, lacks the header or does not meet the field's prerequisite.
pub(crate) fn find(field: &Field, bytes: &[u8], layout: &Layout) -> Option<(At, usize)> {
    let (at, start) = first_place(field, layout)?;
    let end = start + usize::from(at.bit + at.bits).div_ceil(8);
    // After an Ethernet type whose header has rows of its own, those say what stands there.
    let is_payload =
        at.header == AnyHeader::Known(Header::EthType) && at.bit + at.bits > ETH_TYPE_BITS;
    if end > layout.end || is_payload && has_header_after_type(layout) {
        return None;
    }
    // The place alone does not say that the header is of the kind that has the field.
    let meets = match &field.need {
        Some(need) => is_met(need, bytes, layout),
        None => true,
    };
    meets.then_some((at, start))
}

/// The value of a field that [`find`] found.
pub(crate) fn read(bytes: &[u8], (at, start): (At, usize)) -> u128 {
    get_bits(&bytes[start..], usize::from(at.bit), usize::from(at.bits))
}

/// The first place of a row whose header a frame has, and where that header begins. That of a spare
/// row has to be the one of the [`Additions`](bofuss_oflib::catalogue::Additions).
///
/// It does not look whether the frame reaches to the field.
pub(crate) fn first_place(field: &Field, layout: &Layout) -> Option<(At, usize)> {
    for at in field.at {
        if let Some(start) = layout.offset_of_any(at.header) {
            return Some((*at, start));
        }
    }
    None
}

/// Returns true if the parser has found a header right after the Ethernet type.
fn has_header_after_type(layout: &Layout) -> bool {
    use Header::{Arp, Ipv4, Ipv6, Mpls, Pbb};
    let known = [Mpls, Pbb, Arp, Ipv4, Ipv6];
    known.iter().any(|header| layout.offset(*header).is_some())
}

/// Returns true if a frame has the value of a field that a prerequisite asks for.
fn is_met(need: &Need<'_>, bytes: &[u8], layout: &Layout) -> bool {
    let Some(field) = FIELDS.get(usize::from(need.id)) else {
        return false;
    };
    let value = layout.value(bytes, field);
    value.is_some_and(|value| need.any_of.contains(&(value as u64 & need.mask)))
}
