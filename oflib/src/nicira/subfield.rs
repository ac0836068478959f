//! Some bits of a field, as Nicira's actions name them.

use super::actions::{NICIRA, NXM, field};
use super::registers;
use crate::error::{BadAction, DecodeError};
use crate::field::{Field, IN_PORT, IP_DSCP, IP_ECN, Style, VLAN_PCP, VLAN_VID};
use crate::v1_3::matching::encode_header;
use crate::wire::{Reader, Writer};

/// The numbers of the fields that NXM has otherwise than the model: the ingress port in 16 bits, a
/// VLAN tag (its id, the bit that says that there is one, its priority), the ToS byte. Their class
/// is 0.
pub(crate) const NXM_IN_PORT: u8 = 0;
pub(crate) const NXM_VLAN_TCI: u8 = 4;
pub(crate) const NXM_IP_TOS: u8 = 5;

/// In the numbers of rows for these, which so are none of the registers' of class 1.
const OF_CLASS_0: u8 = 0x80;

/// These as rows of fields, which give texts their names and widths. No packet has them, nor does a
/// catalogue.
static OTHERWISE: [Field; 3] = [
    row(NXM_IN_PORT, "in_port", &[], 16),
    row(NXM_VLAN_TCI, "vlan_tci", &[], 16),
    row(NXM_IP_TOS, "nw_tos", &["ip_tos"], 8),
];

const fn row(number: u8, name: &'static str, aliases: &'static [&'static str], bits: u16) -> Field {
    Field {
        aliases,
        style: Style::Hex,
        ..Field::extension(NICIRA, number | OF_CLASS_0, name, bits, true)
    }
}

/// What the fields of packets are there: the number, the first bit there, the field, how many bits.
const PARTS: [(u8, u16, &Field, u16); 5] = [
    (NXM_IN_PORT, 0, IN_PORT, 16),
    (NXM_VLAN_TCI, 0, VLAN_VID, 13),
    (NXM_VLAN_TCI, 13, VLAN_PCP, 3),
    (NXM_IP_TOS, 0, IP_ECN, 2),
    (NXM_IP_TOS, 2, IP_DSCP, 6),
];

/// Bits of a field of packets that follow each other.
///
/// Invariant: at least one, all of them within the field; of the ingress port within the low 16,
/// which is all that Nicira's actions have of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subfield {
    /// The field.
    pub field: &'static Field,
    /// The lowest bit, 0 for the field's last.
    pub offset: u16,
    /// How many there are.
    pub n_bits: u16,
}

impl Subfield {
    /// Reads the field's header, of NXM or OXM, and the lowest bit. Shape: 6 bytes.
    ///
    /// Errors: BAD_ACTION with BAD_SET_TYPE for a field that is not known, or BAD_SET_LEN for bits
    /// that it does not have, for none, and for those of more than one field of packets.
    pub fn read(r: &mut Reader<'_>, n_bits: u16) -> Result<Self, DecodeError> {
        let start = r.clone();
        let row = match otherwise(&start) {
            Some(row) => {
                r.take(4)?;
                row
            }
            None => field(r)?,
        };
        if row == IN_PORT {
            return Err(start.err(BadAction::BAD_SET_TYPE));
        }
        let offset: u16 = r.get()?;
        if n_bits == 0 || u32::from(offset) + u32::from(n_bits) > row.bits.into() {
            return Err(start.err(BadAction::BAD_SET_LEN));
        }
        Self::of(row, offset, n_bits).ok_or_else(|| start.err(BadAction::BAD_SET_LEN))
    }

    /// Appends what [`Self::read`] reads.
    pub fn write(&self, w: &mut Writer<'_>) {
        let mut offset = self.offset;
        if let Some((class, number, field)) = NXM.iter().find(|row| row.2 == self.field) {
            w.put(class).put(&(number << 1)).put(&(field.bytes() as u8));
        } else if let Some((number, first, ..)) = PARTS.iter().find(|part| part.2 == self.field) {
            offset += first;
            let row = OTHERWISE.iter().find(|row| number_of(row) == *number);
            let bytes = row.map_or(0, |row| row.bytes());
            w.put(&0u16).put(&(number << 1)).put(&(bytes as u8));
        } else {
            encode_header(self.field, false, w);
        }
        w.put(&offset);
    }

    /// These bits of a field, or of a row that is a part of some or has several; `None` if they are
    /// not in one field.
    pub(crate) fn of(row: &'static Field, offset: u16, n_bits: u16) -> Option<Self> {
        if let Some(row) = OTHERWISE.iter().find(|other| *other == row) {
            let end = offset + n_bits;
            let part = PARTS.iter().find(|(number, first, _, bits)| {
                *number == number_of(row) && *first <= offset && end <= first + bits
            });
            return part.map(|(_, first, field, _)| Self {
                field,
                offset: offset - first,
                n_bits,
            });
        }
        let (field, first) = registers::part(row, offset);
        let (other, _) = registers::part(row, offset + n_bits - 1);
        (field == other).then_some(Self {
            field,
            offset: first,
            n_bits,
        })
    }

    /// Returns true if these are all bits of the field.
    pub fn is_whole(&self) -> bool {
        (self.offset, self.n_bits) == (0, width(self.field))
    }

    /// As many ones, in the last bits.
    pub fn ones(&self) -> u128 {
        u128::MAX >> (128 - u32::from(self.n_bits))
    }

    /// The bits out of a value of the field.
    pub fn of_value(&self, value: u128) -> u128 {
        value >> self.offset & self.ones()
    }
}

/// The number in NXM of one of [`OTHERWISE`].
fn number_of(row: &Field) -> u8 {
    row.number & !OF_CLASS_0
}

/// How many bits Nicira's actions have of a field.
pub(crate) fn width(field: &Field) -> u16 {
    if field == IN_PORT {
        return OTHERWISE[0].bits;
    }
    field.bits
}

/// The row of a name that NXM has otherwise than the model.
#[cfg(feature = "text")]
pub(crate) fn otherwise_named(name: &str) -> Option<&'static Field> {
    OTHERWISE.iter().find(|row| row.is_called(name))
}

/// The row whose header, without a mask, `r` is at.
fn otherwise(r: &Reader<'_>) -> Option<&'static Field> {
    let mut r = r.clone();
    let [0, 0, packed, length] = *r.take(4).ok()?.first_chunk()? else {
        return None;
    };
    let mut rows = OTHERWISE.iter();
    rows.find(|row| (number_of(row) << 1, row.bytes()) == (packed, length.into()))
}
