//! The parser.

use alloc::format;
use alloc::vec::Vec;

use super::Walk;
use crate::int::Int;
use crate::program::{Data, HeaderId, ParserOp, SelectCase, SelectKey, State};
use crate::run::eval::{Missing, View};
use crate::run::sink::Sink;

/// The states that a packet may pass. A program that needs more runs in a circle without taking
/// bytes; this is the error ParserTimeout.
const MAX_STATES: usize = 4096;

/// The number of an error of the parser.
type ErrorCode = u32;

impl<S: Sink> Walk<'_, S> {
    /// Parses the packet, verifies checksums, and notes what was wrong.
    pub(super) fn parse(&mut self) {
        let mut next = Some(self.program.start).filter(|_| !self.program.states.is_empty());
        let mut left = MAX_STATES;
        let mut error = 0;
        while let Some(index) = next {
            left -= 1;
            let entered = match left {
                0 => Err(self.program.core_errors.parser_timeout),
                _ => self.state_of_parser(&self.program.states[index]),
            };
            match entered {
                Ok(state) => next = state,
                Err(code) => {
                    error = code;
                    break;
                }
            }
        }
        let program = self.program;
        self.trace(1, |walk| match error {
            0 => format!("parsed {} bytes", walk.packet.parsed),
            _ => {
                let name = program.errors.iter().find(|(_, number)| *number == error);
                let name = name.map_or("an error without a name", |(name, _)| name);
                format!("parser error {name} after {} bytes", walk.packet.parsed)
            }
        });
        self.packet
            .phv
            .set_some(program, program.standard.parser_error, error.into());
        let wrong = self.verify_checksums();
        let flag = program.standard.checksum_error;
        self.packet.phv.set_some(program, flag, wrong.into());
    }

    fn state_of_parser(&mut self, state: &State) -> Result<Option<usize>, ErrorCode> {
        self.trace(1, |_| format!("parser state {}", state.name));
        for op in &state.ops {
            if !self.step() {
                return Err(self.program.core_errors.parser_timeout);
            }
            self.parser_op(op)?;
        }
        if state.key.is_empty() {
            // All cases but a default compare nothing, which is equal to nothing.
            return Ok(state.cases.first().and_then(|(_, next)| *next));
        }
        if self.packet.ahead().len() < state.ahead {
            return Err(self.program.core_errors.packet_too_short);
        }
        let mut key = core::mem::take(&mut self.state.scratch.bytes);
        let next = select_key(&self.view(&[], self.packet.ahead()), state, &mut key)
            .map(|()| self.select(state, &key));
        self.state.scratch.bytes = key;
        next
    }

    /// The next state by the key of this one.
    fn select(&mut self, state: &State, key: &[u8]) -> Option<usize> {
        let found = state.cases.iter().find(|(case, _)| match case {
            SelectCase::Default => true,
            SelectCase::Value(value, mask) => {
                let mut bytes = key.iter().zip(mask).zip(value);
                bytes.all(|((key, mask), value)| key & mask == *value)
            }
            SelectCase::Set(set, mask) => {
                self.state.externs.in_value_set(*set, key, mask.as_deref())
            }
        });
        let name =
            |next: Option<usize>| next.map_or("accept", |index| &*self.program.states[index].name);
        match found {
            Some((_, next)) => {
                let next = *next;
                if self.sink.traces() {
                    let text = format!(
                        "select on 0x{} goes to {}",
                        crate::show::shortened(crate::show::hex(key)),
                        name(next)
                    );
                    self.sink.step(2, text);
                }
                next
            }
            // bmv2 accepts where no case matches, and so does this.
            None => None,
        }
    }

    fn parser_op(&mut self, op: &ParserOp) -> Result<(), ErrorCode> {
        let program = self.program;
        let errors = &program.core_errors;
        match op {
            ParserOp::Extract(header) => self.extract(*header, None),
            ParserOp::ExtractVariable(header, width) => self.extract(*header, Some(width)),
            ParserOp::ExtractNext(stack, width) => {
                let elements = &program.stacks[*stack].elements;
                let next = elements.get(self.packet.phv.filled[*stack]);
                self.extract(*next.ok_or(errors.stack_out_of_bounds)?, width.as_ref())?;
                self.packet.phv.filled[*stack] += 1;
                Ok(())
            }
            ParserOp::ExtractNextUnion(stack, member, width) => {
                let elements = &program.union_stacks[*stack].elements;
                let next = elements.get(self.packet.phv.unions_filled[*stack]);
                let union = *next.ok_or(errors.stack_out_of_bounds)?;
                self.extract(program.unions[union].members[*member], width.as_ref())?;
                self.packet.phv.unions_filled[*stack] += 1;
                Ok(())
            }
            ParserOp::Set(field, data) => {
                let value = parser_data(&self.view(&[], self.packet.ahead()), data)?;
                self.packet.phv.set(program, *field, &value);
                self.trace(2, |walk| {
                    let row = &program.fields[*field];
                    let value = walk.packet.phv.get(program, *field);
                    format!("{} = {value}", row.name)
                });
                Ok(())
            }
            ParserOp::Verify(cond, code) => {
                if self.view(&[], self.packet.ahead()).cond(cond) {
                    return Ok(());
                }
                let code = parser_data(&self.view(&[], self.packet.ahead()), code)?;
                Err(u32::try_from(code.low()).unwrap_or(u32::MAX))
            }
            ParserOp::Advance(bits) => {
                let bits = parser_data(&self.view(&[], self.packet.ahead()), bits)?.index();
                if bits % 8 != 0 {
                    return Err(errors.parser_invalid_argument);
                }
                if bits / 8 > self.packet.ahead().len() {
                    return Err(errors.packet_too_short);
                }
                self.packet.parsed += bits / 8;
                Ok(())
            }
            ParserOp::Primitive(primitive) => {
                self.primitives(core::slice::from_ref(primitive), &[]);
                Ok(())
            }
        }
    }

    /// Extracts a header, whose field of variable width has `width` bits.
    fn extract(&mut self, header: HeaderId, width: Option<&Data>) -> Result<(), ErrorCode> {
        let row = &self.program.headers[header];
        let errors = &self.program.core_errors;
        let variable = match width {
            Some(width) => parser_data(&self.view(&[], self.packet.ahead()), width)?.index(),
            None => 0,
        };
        if variable % 8 != 0 {
            return Err(errors.parser_invalid_argument);
        }
        let fixed = row.fixed_bits as usize;
        if variable / 8 + fixed / 8 > self.packet.ahead().len() {
            return Err(errors.packet_too_short);
        }
        if variable > row.variable.map_or(0, |(_, most)| most as usize) {
            return Err(errors.header_too_short);
        }
        if (fixed + variable) % 8 != 0 {
            return Err(errors.parser_invalid_argument);
        }
        let bytes = &self.packet.frame[self.packet.parsed..];
        let variable = variable as u32;
        self.packet
            .phv
            .extract(self.program, header, variable, bytes);
        self.packet.parsed += self.packet.phv.header_bytes(self.program, header);
        self.trace(2, |walk| {
            let bytes = walk.packet.phv.header_bytes(walk.program, header);
            format!("extract {} ({bytes} bytes)", row.name)
        });
        Ok(())
    }
}

/// Overwrites `key` with the values that a state selects on.
fn select_key(view: &View<'_>, state: &State, key: &mut Vec<u8>) -> Result<(), ErrorCode> {
    let program = view.program;
    let empty = program.core_errors.stack_out_of_bounds;
    key.clear();
    for (part, width) in state.key.iter().zip(&state.key_widths) {
        let field = match part {
            SelectKey::Field(id) => Some(*id),
            SelectKey::Last(..) | SelectKey::LastUnion(..) | SelectKey::Lookahead(..) => None,
        };
        let word = field.and_then(|id| Some((view.phv.get_word(program, id)?, id)));
        if let Some((word, id)) = word {
            let unused = u64::BITS - program.fields[id].width;
            let bytes = (word as u64 & u64::MAX >> unused).to_be_bytes();
            let count = width.div_ceil(8) as usize;
            key.extend_from_slice(&bytes[bytes.len() - count..]);
            continue;
        }
        let value = match part {
            SelectKey::Field(id) => view.phv.get(program, *id),
            SelectKey::Last(stack, place) => {
                let last = view.phv.filled[*stack].checked_sub(1).ok_or(empty)?;
                let header = program.stacks[*stack].elements[last];
                view.phv.get(program, program.headers[header].first + place)
            }
            SelectKey::LastUnion(stack, member, place) => {
                let filled = view.phv.unions_filled[*stack];
                let last = filled.checked_sub(1).ok_or(empty)?;
                let union = program.union_stacks[*stack].elements[last];
                let header = program.unions[union].members[*member];
                view.phv.get(program, program.headers[header].first + place)
            }
            SelectKey::Lookahead(offset, width) => view.data(&Data::Lookahead(*offset, *width)),
        };
        value.append_to(*width, key);
    }
    Ok(())
}

/// A number in the parser. Errors: it needs what is not there.
fn parser_data(view: &View<'_>, data: &Data) -> Result<Int, ErrorCode> {
    let value = view.data(data);
    match view.missing.get() {
        None => Ok(value),
        Some(Missing::Bytes) => Err(view.program.core_errors.packet_too_short),
        Some(Missing::Element) => Err(view.program.core_errors.stack_out_of_bounds),
    }
}
