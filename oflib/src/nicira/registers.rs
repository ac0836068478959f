//! Open vSwitch's registers `reg0` to `reg15` and `xxreg0` to `xxreg3`: names of parts of the
//! packet registers, which are `xreg0` to `xreg7` there.
//!
//! `xreg0` is `reg0` before `reg1`, and `xxreg0` is `xreg0` before `xreg1`: the first has the high
//! bits. Packets, matches and actions have the packet registers alone.

use alloc::{vec, vec::Vec};

use super::actions::NICIRA;
#[cfg(feature = "text")]
use crate::action::{Action, SetField};
use crate::copy_field::CopyField;
use crate::field::{Field, Style};
use crate::matching::FieldMatch;
use crate::registers::REGISTERS;
use crate::wire::Reader;

/// Bits of a register, and of a packet register.
const NARROW_BITS: u16 = 32;
const WHOLE_BITS: u16 = 64;
/// The number of the first wide register among Nicira's fields; that of `reg0` is 0.
const FIRST_WIDE: u8 = 111;

const NARROW_NAMES: [&str; 16] = [
    "reg0", "reg1", "reg2", "reg3", "reg4", "reg5", "reg6", "reg7", "reg8", "reg9", "reg10",
    "reg11", "reg12", "reg13", "reg14", "reg15",
];
const WIDE_NAMES: [&str; 4] = ["xxreg0", "xxreg1", "xxreg2", "xxreg3"];

/// The parts as rows of fields, which give texts their names, widths and styles. No packet has
/// them, nor does a catalogue.
static NARROW: [Field; 16] = rows(NARROW_NAMES, 0, NARROW_BITS);
static WIDE: [Field; 4] = rows(WIDE_NAMES, FIRST_WIDE, 2 * WHOLE_BITS);

const fn rows<const N: usize>(names: [&'static str; N], first: u8, bits: u16) -> [Field; N] {
    let mut rows = [Field::extension(NICIRA, first, "", bits, true); N];
    let mut place = 0;
    while place < N {
        rows[place] = Field {
            name: names[place],
            number: first + place as u8,
            settable: true,
            style: Style::Hex,
            ..rows[place]
        };
        place += 1;
    }
    rows
}

/// The register of this name.
#[cfg(feature = "text")]
pub(crate) fn named(name: &str) -> Option<&'static Field> {
    NARROW.iter().chain(&WIDE).find(|row| row.is_called(name))
}

/// The class of these in NXM, which was before OXM.
const CLASS: u16 = 1;

/// The register whose header, without the length, `r` is at.
pub(crate) fn of_header(r: &Reader<'_>) -> Option<&'static Field> {
    let mut r = r.clone();
    let class: u16 = r.get().ok()?;
    let packed: u8 = r.get().ok()?;
    let is_since = REGISTERS[0].versions.has(r.version());
    let mut rows = NARROW.iter().chain(&WIDE);
    rows.find(|row| is_since && (class, packed >> 1) == (CLASS, row.number))
}

/// The same of a header without a mask, whose length is right.
pub(crate) fn of_bare_header(r: &Reader<'_>) -> Option<&'static Field> {
    let field = of_header(r)?;
    let mut r = r.clone();
    let [_, _, packed, length] = *r.take(4).ok()?.first_chunk()?;
    (packed & 1 == 0 && usize::from(length) == field.bytes()).then_some(field)
}

/// The place of bit 0 of a field among all bits of the packet registers, counted from the last bit
/// of the last; `None` if it has none there.
fn first_bit(field: &Field) -> Option<u16> {
    let all = REGISTERS.len() as u16 * WHOLE_BITS;
    let rows = [&NARROW[..], &WIDE, &REGISTERS];
    let row = rows
        .into_iter()
        .find_map(|rows| rows.iter().position(|row| row == field))?;
    Some(all - (row as u16 + 1) * field.bits)
}

/// Returns true if a field is one of these, and no packet register itself.
pub(crate) fn is_part(field: &Field) -> bool {
    NARROW.iter().chain(&WIDE).any(|row| row == field)
}

/// The packet register that has a bit, and the bit's place in it.
fn whole(bit: u16) -> (&'static Field, u16) {
    let from_last = usize::from(bit / WHOLE_BITS);
    (
        &REGISTERS[REGISTERS.len() - 1 - from_last],
        bit % WHOLE_BITS,
    )
}

/// A match or a set-field of one of these as those of packet registers, the lowest first; that of
/// another field as it is.
pub(crate) fn in_packet_registers(one: FieldMatch) -> Vec<FieldMatch> {
    let Some(first) = first_bit(one.field).filter(|_| is_part(one.field)) else {
        return vec![one];
    };
    let (value, mask) = (one.number(), one.mask_number());
    if one.field.bits == NARROW_BITS {
        let (field, shift) = whole(first);
        return vec![FieldMatch::masked(field, value << shift, mask << shift)];
    }
    let (high, _) = whole(first + WHOLE_BITS);
    let (low, _) = whole(first);
    let halves = [
        FieldMatch::masked(low, value, mask),
        FieldMatch::masked(high, value >> WHOLE_BITS, mask >> WHOLE_BITS),
    ];
    let halves = halves.into_iter();
    halves.filter(|half| half.mask_number() != 0).collect()
}

/// A copy from or to one of these as copies of parts of packet registers, in an order in which none
/// overwrites what another reads.
fn copies(copy: &CopyField) -> Vec<CopyField> {
    let mut list = Vec::new();
    let mut done = 0;
    while done < copy.n_bits {
        let (src, src_offset) = part(copy.src, copy.src_offset + done);
        let (dst, dst_offset) = part(copy.dst, copy.dst_offset + done);
        let room = (src.bits - src_offset).min(dst.bits - dst_offset);
        let n_bits = room.min(copy.n_bits - done);
        list.push(CopyField {
            n_bits,
            src_offset,
            dst_offset,
            src,
            dst,
        });
        done += n_bits;
    }
    let from = first_bit(copy.src).map(|first| first + copy.src_offset);
    let to = first_bit(copy.dst).map(|first| first + copy.dst_offset);
    if from < to {
        list.reverse();
    }
    list
}

/// The same as one of a packet register, if one is enough.
pub(crate) fn in_one(one: FieldMatch) -> Option<FieldMatch> {
    let parts = in_packet_registers(one);
    parts.first().copied().filter(|_| parts.len() == 1)
}

/// A copy as one between fields that packets have, if one is enough.
pub(crate) fn copy_in_one(copy: CopyField) -> Option<CopyField> {
    if !is_part(copy.src) && !is_part(copy.dst) {
        return Some(copy);
    }
    let list = copies(&copy);
    let is_one = list.len() == 1;
    list.into_iter().next().filter(|_| is_one)
}

/// The field that packets have for a bit of `field`, and the bit's place in it.
pub(super) fn part(field: &'static Field, bit: u16) -> (&'static Field, u16) {
    match first_bit(field) {
        Some(first) => whole(first + bit),
        None => (field, bit),
    }
}

/// An action on one of these as those on packet registers that do the same; any other as it is.
#[cfg(feature = "text")]
pub(crate) fn spread(action: Action) -> Vec<Action> {
    if let Action::SetField(SetField(one)) = action {
        let parts = in_packet_registers(one).into_iter();
        return parts.map(|one| Action::SetField(SetField(one))).collect();
    }
    if let Action::CopyField(copy) = &action {
        if is_part(copy.src) || is_part(copy.dst) {
            return copies(copy).into_iter().map(Action::CopyField).collect();
        }
    }
    vec![action]
}

/// Adds a part of a packet register to a match. Returns false if that has the part already.
pub(crate) fn put(one: FieldMatch, fields: &mut Vec<FieldMatch>) -> bool {
    if one.mask_number() == 0 {
        return true;
    }
    let other = fields.iter().find(|other| other.field == one.field);
    match other.map(FieldMatch::mask_number) {
        Some(mask) if mask & one.mask_number() != 0 => false,
        Some(_) => join(fields, &one),
        None => {
            fields.push(one);
            true
        }
    }
}

/// Joins a part of a packet register to a match that has another part of it. Returns false if there
/// is none, or one that wants something else.
pub(crate) fn join(fields: &mut [FieldMatch], one: &FieldMatch) -> bool {
    let Some(other) = fields.iter_mut().find(|other| other.field == one.field) else {
        return false;
    };
    let (mask, value) = (one.mask_number(), one.number());
    let both = mask & other.mask_number();
    if (value ^ other.number()) & both != 0 {
        return false;
    }
    *other = FieldMatch::masked(
        one.field,
        value | other.number(),
        mask | other.mask_number(),
    );
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the packet registers hold after actions, as one number a register.
    fn after(actions: &[Action], mut values: [u64; 8]) -> [u64; 8] {
        let place = |field: &Field| REGISTERS.iter().position(|row| row == field);
        for action in actions {
            let one = match action {
                Action::SetField(SetField(one)) => *one,
                Action::CopyField(copy) => {
                    let [src, dst] =
                        [copy.src, copy.dst].map(|one| place(one).expect("a packet register"));
                    copy.copied(values[src].into(), values[dst].into())
                }
                _ => unreachable!("{action:?}"),
            };
            let value = &mut values[place(one.field).expect("a packet register")];
            *value = *value & !one.mask_number() as u64 | one.number() as u64;
        }
        values
    }

    fn copy(n_bits: u16, src: (&str, u16), dst: (&str, u16)) -> Action {
        Action::CopyField(CopyField {
            n_bits,
            src_offset: src.1,
            dst_offset: dst.1,
            src: named(src.0).expect("a register"),
            dst: named(dst.0).expect("a register"),
        })
    }

    #[test]
    fn the_first_of_two_registers_has_the_high_bits() {
        let set = |name, value| {
            let field = named(name).expect("a register");
            after(
                &spread(Action::SetField(SetField(FieldMatch::exact(field, value)))),
                [0; 8],
            )
        };
        assert_eq!(set("reg0", 5), [5 << 32, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(set("NXM_NX_REG15", 5), [0, 0, 0, 0, 0, 0, 0, 5]);
        assert_eq!(set("xxreg1", 7 << 64 | 9), [0, 0, 7, 9, 0, 0, 0, 0]);
    }

    #[test]
    fn bits_that_are_moved_over_themselves_arrive_as_they_were() {
        let before = [
            0x0123_4567_89ab_cdef,
            0xfedc_ba98_7654_3210,
            3,
            4,
            5,
            6,
            7,
            8,
        ];
        let whole = |values: [u64; 8]| u128::from(values[0]) << 64 | u128::from(values[1]);
        for (from, to) in [(0, 20), (20, 0), (0, 28), (28, 0), (5, 5)] {
            let n_bits = 100;
            let actions = spread(copy(n_bits, ("xxreg0", from), ("xxreg0", to)));
            let ones = u128::MAX >> 28;
            let bits = whole(before) >> from & ones;
            let wanted = whole(before) & !(ones << to) | bits << to;
            assert_eq!(whole(after(&actions, before)), wanted, "{from} to {to}");
        }
    }

    #[test]
    fn parts_of_one_register_are_joined_unless_they_contradict_each_other() {
        let part = |name, value, mask| {
            let field = named(name).expect("a register");
            in_packet_registers(FieldMatch::masked(field, value, mask))[0]
        };
        let mut fields = [part("reg2", 5, 0xff)];
        assert!(join(&mut fields, &part("reg3", 6, u128::MAX)));
        let wanted = FieldMatch::masked(&REGISTERS[1], 5 << 32 | 6, 0xff_ffff_ffff);
        assert_eq!(fields, [wanted]);
        assert!(!join(&mut fields, &part("reg2", 4, 0xff)));
        assert!(!join(&mut fields, &part("reg4", 5, 0xff)));
        assert_eq!(fields, [wanted]);
    }
}
