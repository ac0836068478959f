//! From field rows to straight-line extraction: the rows of each header as compile-time constants.

use bofuss_oflib::field::{
    At, FIELDS, Field, HEADERS, Header, KEY_BYTES, KEY_PRESENT_BYTES, VID_PRESENT, VLAN_VID,
};
use bofuss_oflib::field_set::StandardFields;

use crate::configured;
use crate::header::ETHERNET;
use crate::key::Key;
use crate::parse::{ABSENT, Layout};

/// A field's place in a header and in the key.
///
/// `bit` and `bits` are those of the row; `slot` is the field's offset in the key, in bytes.
#[derive(Clone, Copy)]
struct FieldPlace {
    bit: usize,
    bits: usize,
    slot: usize,
    slot_bytes: usize,
}

const NOWHERE: FieldPlace = FieldPlace {
    bit: 0,
    bits: 0,
    slot: 0,
    slot_bytes: 0,
};
/// The most fields of any header; one more does not compile. `extract` has a line for each.
const MAX_PLACES: usize = 12;

/// The rows of one header, known to the compiler, so that extraction becomes straight-line code.
struct Rows {
    places: [FieldPlace; MAX_PLACES],
    /// The places after these are [`NOWHERE`], which writes no bytes.
    count: usize,
    fields: StandardFields,
    /// Bytes of the header that the rows reach into.
    bytes: usize,
}

/// Collects the places in one header from all rows, when the crate is compiled. A field with places
/// in several headers is in the rows of each.
const fn rows_of(header: usize) -> Rows {
    let mut rows = Rows {
        places: [NOWHERE; MAX_PLACES],
        count: 0,
        fields: StandardFields::EMPTY,
        bytes: 0,
    };
    let mut i = 0;
    while i < FIELDS.len() {
        let field = &FIELDS[i];
        let mut j = 0;
        while j < field.at.len() {
            let At {
                header: h,
                bit,
                bits,
            } = field.at[j];
            if matches!(h.known(), Some(h) if h as usize == header) {
                assert!(
                    bit % 8 + bits <= 128,
                    "a field is read through at most 16 bytes"
                );
                rows.places[rows.count] = FieldPlace {
                    bit: bit as usize,
                    bits: bits as usize,
                    slot: field.offset as usize,
                    slot_bytes: field.bytes(),
                };
                rows.count += 1;
                rows.fields.insert(StandardFields::of(field));
                let end = (bit as usize + bits as usize).div_ceil(8);
                if end > rows.bytes {
                    rows.bytes = end;
                }
            }
            j += 1;
        }
        i += 1;
    }
    rows
}

/// The field whose row begins at this bit of a header, if there is one.
pub(crate) const fn field_at(header: Header, bit: u16) -> Option<&'static Field> {
    let mut i = 0;
    while i < FIELDS.len() {
        let mut j = 0;
        while j < FIELDS[i].at.len() {
            let at = FIELDS[i].at[j];
            let is_in = matches!(at.header.known(), Some(known) if known as u8 == header as u8);
            if is_in && at.bit == bit {
                return Some(&FIELDS[i]);
            }
            j += 1;
        }
        i += 1;
    }
    None
}

/// Refuses to compile if a field of header number `header` ends after its first `bytes` bytes: only
/// these the parser has checked.
///
/// [`extract`] relies on it: a header that was found has all of its fields.
pub(crate) const fn assert_reach(header: usize, bytes: usize) {
    assert!(rows_of(header).bytes <= bytes);
}

/// The fields of header number `header`.
pub(crate) const fn fields_of(header: usize) -> StandardFields {
    rows_of(header).fields
}

/// Unrolls an expression over constants. The optimiser leaves a loop over places as it is, which
/// doubles the cost of a parse.
macro_rules! each {
    ($N:ident in $($n:literal)*: $say:expr) => { $({ const $N: usize = $n; $say; })* };
}

/// Unrolls an expression over the numbers of all headers.
///
/// The numbers past the last header have no places, so that they cost nothing.
macro_rules! each_header {
    ($H:ident: $say:expr) => {
        const { assert!(HEADERS <= 20, "each header has its number below") };
        each!($H in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19: $say)
    };
}

/// Returns true if most frames have header number `header`.
const fn is_common(header: usize) -> bool {
    use Header::{Eth, EthType, Ipv4, Tcp, Udp};
    let common = [Eth, EthType, Ipv4, Tcp, Udp];
    let mut i = 0;
    while i < common.len() && header != common[i] as usize {
        i += 1;
    }
    i < common.len()
}

/// The fields that only uncommon headers have. VLAN_VID is not one: a packet without a tag has it,
/// too.
///
/// A layout without any of them needs no look at the uncommon headers, which are most of all.
const RARE: StandardFields = {
    let mut common = StandardFields::of(VLAN_VID);
    let mut rare = StandardFields::EMPTY;
    each_header!(H: if is_common(H) {
        common.insert(fields_of(H));
    } else {
        rare.insert(fields_of(H));
    });
    rare.difference(common)
};

/// Writes the fields of a frame to its key.
///
/// The key has none of them yet. Values come first and presence last, in one step for all headers.
#[inline]
pub(crate) fn write(frame: &[u8], layout: &Layout, key: &mut Key) {
    each_header!(H: if const { is_common(H) } { extract::<H>(frame, layout, key) });
    if !layout.fields.is_disjoint(RARE) {
        each_header!(H: if const { !is_common(H) } { extract::<H>(frame, layout, key) });
        // The tag's bits do not say that there is a tag; the key's value of VLAN_VID does.
        if layout.offset(Header::Vlan).is_some() {
            key.bytes[VLAN_VID.offset as usize] |= (VID_PRESENT >> 8) as u8;
        }
    }
    if let Some((field, value)) = layout.derived {
        key.set(field, value.into());
    }
    key.add_present(layout.fields);
    if layout.has_placed {
        write_placed(frame, layout, key);
    }
}

impl Layout {
    /// The value that parsing `frame` gives one of OpenFlow's fields in headers; `None` if the
    /// frame does not have it.
    ///
    /// For callers that have no key: it reads one field where a parse reads all.
    #[inline]
    pub fn value(&self, frame: &[u8], field: &Field) -> Option<u128> {
        match self.derived {
            Some((derived, value)) if derived == field => return Some(value.into()),
            Some(_) | None => {}
        }
        if !self.fields.contains(field) {
            return None;
        }
        let mut places = field.at.iter();
        let place = places.find_map(|at| Some((self.offset(at.header.known()?)?, at)));
        // The layout has the field without its header: VLAN_VID of a packet without a tag.
        let Some((start, at)) = place else {
            return Some(0);
        };
        let value = get_bits(frame.get(start..)?, at.bit.into(), at.bits.into());
        let present = u128::from(VID_PRESENT) * u128::from(field == VLAN_VID);
        Some(value | present)
    }
}

/// Writes the fields whose rows are known at run time only, as far as the frame has them.
///
/// It is off the path of switches whose catalogue has only the specification's fields.
#[cold]
fn write_placed(frame: &[u8], layout: &Layout, key: &mut Key) {
    for field in &layout.additions.placed {
        if let Some(place) = configured::find(field, frame, layout) {
            key.set(field, configured::read(frame, place));
        }
    }
}

/// Writes all fields of header number `H`, if the frame has it.
#[inline(always)]
fn extract<const H: usize>(frame: &[u8], layout: &Layout, key: &mut Key) {
    const { assert!(MAX_PLACES == 12, "each place has its number below") };
    // `H` may be past the last header, as `each_header` has a fixed list of numbers.
    let offset = layout.offsets.get(H).map_or(ABSENT, |at| *at);
    let at = usize::from(offset);
    if offset == ABSENT {
        return;
    }
    if let Some(header) = frame.get(at..at + const { rows_of(H).bytes }) {
        each!(I in 0 1 2 3 4 5 6 7 8 9 10 11: extract_one::<H, I>(header, key));
    }
}

/// Writes field number `I` of a header, if it has that many.
#[inline(always)]
fn extract_one<const H: usize, const I: usize>(header: &[u8], key: &mut Key) {
    let place = const { rows_of(H).places[I] };
    let slot = place.slot..place.slot + place.slot_bytes;
    // Whole bytes are copied as they are: key and frame have the same byte order.
    if place.bit % 8 == 0 && place.bits == 8 * place.slot_bytes {
        let from = place.bit / 8;
        key.bytes[slot].copy_from_slice(&header[from..from + place.slot_bytes]);
    } else {
        let value = get_bits(header, place.bit, place.bits).to_be_bytes();
        key.bytes[slot].copy_from_slice(&value[16 - place.slot_bytes..]);
    }
}

/// Reads `bits` bits from bit `bit` on, as a number.
///
/// Bit 0 is the highest of the first byte, as headers are drawn. They lie in 16 bytes at most,
/// which [`rows_of`] checks for the specification's rows. Panics: if `bytes` ends before.
#[inline(always)]
pub(crate) fn get_bits(bytes: &[u8], bit: usize, bits: usize) -> u128 {
    let end = (bit + bits).div_ceil(8);
    let mut value = 0u128;
    let mut i = bit / 8;
    while i < end {
        value = value << 8 | bytes[i] as u128;
        i += 1;
    }
    value >> (8 * end - bit - bits) & ones(bits)
}

/// Writes the low `bits` bits of `value` from bit `bit` on; the other bits keep their values.
///
/// The reverse of [`get_bits`], with the same limits.
pub(crate) fn put_bits(bytes: &mut [u8], bit: usize, bits: usize, value: u128) {
    let end = (bit + bits).div_ceil(8);
    let after = 8 * end - bit - bits;
    let mut mask = ones(bits) << after;
    let mut value = (value & ones(bits)) << after;
    for byte in bytes[bit / 8..end].iter_mut().rev() {
        *byte = *byte & !(mask as u8) | value as u8;
        mask >>= 8;
        value >>= 8;
    }
}

/// A number whose lowest `bits` bits are ones.
pub(crate) const fn ones(bits: usize) -> u128 {
    if bits == 0 {
        0
    } else {
        u128::MAX >> (128 - bits)
    }
}

/// Ones where no parse writes to a key, but the switch and its extensions do. The same holds for
/// all of its tail.
pub(crate) const SUPPLIED: [u8; KEY_BYTES] = {
    let mut keep = [0xff; KEY_BYTES];
    let mut parsed = StandardFields::ALL.facts().difference(ETHERNET);
    let mut i = 0;
    while i < FIELDS.len() {
        let field = &FIELDS[i];
        if !field.at.is_empty() || field.id == bofuss_oflib::field::IPV6_EXTHDR.id {
            parsed.insert(StandardFields::of(field));
            let mut at = field.offset as usize;
            while at < field.offset as usize + field.bytes() {
                keep[at] = 0;
                at += 1;
            }
        }
        i += 1;
    }
    // The bits of presence are kept by the same rule: those that a parse sets are not.
    let present = StandardFields::ALL.difference(parsed).words()[0].to_ne_bytes();
    let mut i = 0;
    while i < KEY_PRESENT_BYTES {
        keep[i] = present[i];
        i += 1;
    }
    keep
};
