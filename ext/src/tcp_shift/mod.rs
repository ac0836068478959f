//! TCP connections whose numbers are shifted: `add_tcp_seq`, `add_tcp_ack` with the SACK blocks.

use alloc::{boxed::Box, format};
use core::ops::Range;

use bofuss_datapath::{Hook, HookContext, HookEffect, Verdict};
use bofuss_oflib::ext::{Arg, ExtKind, ExtRow};
use bofuss_oflib::field::Header;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, ExtValue, Field};
use bofuss_packet::checksum::{sum, update};

/// This extension's number as an experimenter: a locally administered OUI.
pub const EXPERIMENTER: u32 = 0x0062_6f74;

/// This extension brings no field: every TCP packet of every switch would be parsed for it. Options
/// of a switch describe `tcp_seq` and `tcp_ack` where they are matched or set.
pub static FIELDS: [Field; 0] = [];

/// `add_tcp_seq(bytes=N)` and `add_tcp_ack(bytes=N)`: the number plus N, modulo 2^32.
pub static VALUES: [ExtRow; 2] = [
    ExtRow::new(ExtKind::Action, EXPERIMENTER, 1, "add_tcp_seq").with_args(&[Arg::new("bytes", 4)]),
    ExtRow::new(ExtKind::Action, EXPERIMENTER, 2, "add_tcp_ack").with_args(&[Arg::new("bytes", 4)]),
];

/// The index in [`VALUES`] of the action that shifts acknowledgements.
const ADD_TCP_ACK: usize = 1;

/// Places in a TCP header, in bytes, and its shortest length. Spec: RFC 9293 section 3.1.
const SEQ: usize = 4;
const ACK: usize = 8;
const DATA_OFFSET: usize = 12;
const FLAGS: usize = 13;
const CHECKSUM: Range<usize> = 16..18;
const MIN_HEADER_BYTES: usize = 20;
/// The flag of a header whose acknowledgement number counts.
const ACK_FLAG: u8 = 0x10;

/// Kinds of options, and the length of an edge of a block. Spec: RFC 9293 section 3.2, RFC 2018.
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const SACK: u8 = 5;
const EDGE_BYTES: usize = 4;
/// The bytes before an option's value: its kind and its length.
const OPTION_HEAD_BYTES: usize = 2;

/// This extension's behaviour.
pub fn hook(_: &Catalogue) -> Box<dyn Hook> {
    Box::new(TcpShift)
}

struct TcpShift;

impl Hook for TcpShift {
    fn name(&self) -> &'static str {
        "tcp_shift"
    }

    /// It acts only in its actions.
    fn effect(&self, _: TableId) -> HookEffect {
        HookEffect::None
    }

    /// It changes bytes that are in no field, as far as the switch has none there.
    fn action_effect(&self, _: usize, _: &ExtValue) -> HookEffect {
        HookEffect::Live
    }

    fn on_action(&mut self, cx: &mut HookContext<'_>, row: usize, value: &ExtValue) -> Verdict {
        let Some(start) = cx.layout().offset(Header::Tcp) else {
            return Verdict::Continue;
        };
        let by = value.args[0] as u32;
        let packet = cx.edit();
        // The sum of an unfinished checksum is that of the pseudo-header, which stays.
        let unfinished = packet.frame.offload.checksum.is_some();
        let Some(header) = header_of(packet.frame.bytes_mut(), start) else {
            return Verdict::Continue;
        };
        let before = sum(header);
        if row == ADD_TCP_ACK {
            shift_acknowledgements(header, by);
        } else {
            shift(&mut header[SEQ..], by);
        }
        let after = sum(header);
        if !unfinished {
            let checksum = &mut header[CHECKSUM];
            let old = u16::from_be_bytes([checksum[0], checksum[1]]);
            checksum.copy_from_slice(&update(old, before, after).to_be_bytes());
        }
        // A switch may have fields where the numbers are.
        packet.reparse();
        let name = value.row.name;
        cx.say(|| format!("{name}: {by} more, modulo 2^32"));
        Verdict::Continue
    }
}

/// A TCP header with its options that begins at `start`; `None` if the frame ends before it does.
fn header_of(bytes: &mut [u8], start: usize) -> Option<&mut [u8]> {
    let rest = bytes.get_mut(start..)?;
    let length = usize::from(*rest.get(DATA_OFFSET)? >> 4) * 4;
    (length >= MIN_HEADER_BYTES).then(|| rest.get_mut(..length))?
}

/// Adds to a number of four bytes, modulo 2^32.
fn shift(bytes: &mut [u8], by: u32) {
    if let Some(number) = bytes.first_chunk_mut() {
        *number = u32::from_be_bytes(*number).wrapping_add(by).to_be_bytes();
    }
}

/// Adds to what a header acknowledges: the number, if it counts, and all edges of SACK blocks.
/// Options behind a malformed one stay as they are.
fn shift_acknowledgements(header: &mut [u8], by: u32) {
    if header[FLAGS] & ACK_FLAG == 0 {
        return;
    }
    shift(&mut header[ACK..], by);
    let mut options = &mut header[MIN_HEADER_BYTES..];
    while let [kind, rest @ ..] = options {
        match *kind {
            END => return,
            NO_OPERATION => options = rest,
            kind => {
                let Some(length) = rest.first().map(|&length| usize::from(length)) else {
                    return;
                };
                // The length counts the kind, too.
                if length < OPTION_HEAD_BYTES || length > rest.len() + 1 {
                    return;
                }
                let (option, behind) = rest.split_at_mut(length - 1);
                if kind == SACK {
                    for edge in option[1..].chunks_exact_mut(EDGE_BYTES) {
                        shift(edge, by);
                    }
                }
                options = behind;
            }
        }
    }
}

#[cfg(test)]
mod tests;
