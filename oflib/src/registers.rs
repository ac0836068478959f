//! The packet registers: fields of the pipeline alone, which every packet has.

use crate::field::{Field, KEY_BYTES, KEY_PRESENT_BYTES, Style};
use crate::field_set::FieldSet;
use crate::version::span;

/// The OXM class of the packet registers. Spec: OpenFlow 1.5.1 section 7.2.3.10.
pub const PACKET_REGISTERS: u32 = 0x8001;
/// The number of packet registers. Choice: as many as Open vSwitch has.
pub const N_REGISTERS: usize = 8;
/// The id of the first packet register. They have the last ids, as they need no bit that says that
/// a packet has them: those of the first ids are in the first word of every key.
pub(crate) const FIRST_REGISTER: u8 = (FieldSet::MAX_FIELDS - N_REGISTERS) as u8;
/// Bits of a packet register.
const REGISTER_BITS: u16 = 64;
/// The first byte of the packet registers in a key's tail, counted from the key's start.
const KEY_REGISTERS: usize = KEY_BYTES + 8 * FieldSet::WORDS - KEY_PRESENT_BYTES;

/// The first byte of a key's tail that holds values of extensions, counted from the key's start.
pub const KEY_TAIL_VALUES: usize = KEY_REGISTERS + N_REGISTERS * REGISTER_BITS as usize / 8;

/// The names of the packet registers: the specification's, and Open vSwitch's.
const REGISTER_NAMES: [(&str, &[&str]); N_REGISTERS] = [
    ("pkt_reg0", &["xreg0"]),
    ("pkt_reg1", &["xreg1"]),
    ("pkt_reg2", &["xreg2"]),
    ("pkt_reg3", &["xreg3"]),
    ("pkt_reg4", &["xreg4"]),
    ("pkt_reg5", &["xreg5"]),
    ("pkt_reg6", &["xreg6"]),
    ("pkt_reg7", &["xreg7"]),
];

/// The packet registers, in the order of their numbers: the pipeline's own, with which each packet
/// begins as 0. Choice: since 1.3, as Open vSwitch has them. Spec: OpenFlow 1.5.1 section 7.2.3.10.
pub static REGISTERS: [Field; N_REGISTERS] = {
    let unnamed = Field::register(PACKET_REGISTERS, 0, "", REGISTER_BITS, 0);
    let mut rows = [unnamed; N_REGISTERS];
    let mut number = 0;
    while number < N_REGISTERS {
        let (name, aliases) = REGISTER_NAMES[number];
        rows[number] = Field {
            name,
            aliases,
            number: number as u8,
            maskable: true,
            settable: true,
            style: Style::Hex,
            versions: span!(since V1_3),
            id: FIRST_REGISTER + number as u8,
            offset: (KEY_REGISTERS + number * REGISTER_BITS as usize / 8) as u16,
            ..unnamed
        };
        number += 1;
    }
    rows
};
