//! The deparser, and the checksums before it and after the parser.

use alloc::vec::Vec;

use super::{Packet, Walk};
use crate::bits::Writer;
use crate::int::Int;
use crate::program::{Checksum, Input, Program};
use crate::run::eval::View;
use crate::run::sink::Sink;

/// Bytes of room for what headers may have more than expected.
const ROOM: usize = 64;
/// The bytes of the headers of a frame, and of the input of a calculation.
const MAX_FRAME: usize = 1 << 20;

impl Packet<'_> {
    /// The bytes that a hash or checksum is computed of: at most so many as a frame may have. They
    /// overwrite `memory`.
    pub(super) fn input(&self, program: &Program, parts: &[Input], memory: Vec<u8>) -> Vec<u8> {
        let phv = &self.phv;
        let mut writer = Writer::within(memory, ROOM);
        for part in parts {
            if writer.len() > MAX_FRAME {
                break;
            }
            match part {
                Input::Bits(header, start, width) if phv.valid[*header] => {
                    writer.push_bits(&phv.bytes, *start, *width);
                }
                Input::Field(field) if phv.valid[program.fields[*field].header] => {
                    writer.push(&phv.get(program, *field), phv.width(program, *field));
                }
                Input::Header(header) if phv.valid[*header] => {
                    phv.write(program, *header, &mut writer);
                }
                // What is not valid is left out.
                Input::Bits(..) | Input::Field(_) | Input::Header(_) => {}
                Input::Const(value, width) => writer.push(value, *width),
                Input::Payload => writer.extend(self.ahead()),
            }
        }
        writer.into_bytes()
    }
}

impl<S: Sink> Walk<'_, S> {
    /// The frame as it leaves: checksums, headers, and what the parser left; `None` if it is too
    /// long.
    pub(super) fn deparse(&mut self) -> Option<Vec<u8>> {
        let program = self.program;
        self.update_checksums();
        self.primitives(&program.deparser_body, &[]);
        let phv = &self.packet.phv;
        let mut writer = Writer::within(Vec::new(), self.packet.length + ROOM);
        for header in program.deparse.iter().filter(|header| phv.valid[**header]) {
            phv.write(program, *header, &mut writer);
            if writer.len() > MAX_FRAME {
                return None;
            }
        }
        writer.extend(self.packet.ahead());
        let mut bytes = writer.into_bytes();
        if let Some(most) = self.packet.truncate {
            bytes.truncate(most);
        }
        Some(bytes)
    }

    /// The result of a calculation.
    pub(super) fn calculate(&mut self, calculation: usize) -> u64 {
        let input = &self.program.calculations[calculation].input;
        let memory = core::mem::take(&mut self.state.scratch.bytes);
        let bytes = self.packet.input(self.program, input, memory);
        let turn = self.state.externs.turns[calculation];
        self.state.externs.turns[calculation] = turn.wrapping_add(1);
        let result = self.state.externs.algorithms[calculation].compute(&bytes, turn);
        self.state.scratch.bytes = bytes;
        result
    }

    /// Whether a checksum of the packet is wrong. Those of headers that are not there are not.
    pub(super) fn verify_checksums(&mut self) -> bool {
        let mut wrong = false;
        for checksum in self
            .program
            .checksums
            .iter()
            .filter(|checksum| checksum.verify)
        {
            let row = &self.program.fields[checksum.target];
            let valid = self.packet.phv.valid[row.header];
            if valid && applies(&self.view(&[], &[]), checksum) {
                let computed = self.calculate(checksum.calculation);
                let value = self.packet.phv.get(self.program, checksum.target);
                wrong |= value.wrapped(row.width) != Int::from(computed);
            }
        }
        wrong
    }

    fn update_checksums(&mut self) {
        let program = self.program;
        for checksum in program.checksums.iter().filter(|checksum| checksum.update) {
            if applies(&self.view(&[], &[]), checksum) {
                let computed = self.calculate(checksum.calculation);
                let target = Some(checksum.target);
                self.packet.phv.set_some(program, target, computed);
            }
        }
    }
}

/// Whether a checksum's condition holds.
fn applies(view: &View<'_>, checksum: &Checksum) -> bool {
    let condition = checksum.condition.as_ref();
    condition.is_none_or(|condition| view.cond(condition))
}
