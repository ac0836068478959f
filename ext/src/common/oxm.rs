//! OXM headers of fields (OpenFlow 1.3, section 7.2.3.2).

use bofuss_oflib::Field;

/// The class of experimenters' fields.
pub(crate) const CLASS_EXPERIMENTER: u16 = 0xffff;
/// The class of the specification's fields.
pub(crate) const CLASS_BASIC: u16 = 0x8000;
/// Bytes of the experimenter's number, which the length in an experimenter field's OXM header
/// includes.
pub(crate) const EXPERIMENTER_BYTES: usize = 4;

/// The OXM header of a field.
pub(crate) fn header_of(field: &Field) -> u32 {
    let (class, more) = match field.experimenter {
        0 => (CLASS_BASIC, 0),
        _ => (CLASS_EXPERIMENTER, EXPERIMENTER_BYTES),
    };
    let length = (field.bytes() + more) as u32;
    u32::from(class) << 16 | u32::from(field.number) << 9 | length
}
