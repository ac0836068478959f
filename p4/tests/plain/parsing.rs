//! Parsers of the plain interpreter.

use num_bigint::BigInt;
use serde_json::Value;

use super::expressions::{hex, wrapped};
use super::interpreter::{Interpreter, Packet, list, named, small, text};
use super::programs::VARIABLE;

/// The errors of the parser.
const TOO_SHORT: u32 = 1;
const OUT_OF_BOUNDS: u32 = 3;
const HEADER_TOO_SHORT: u32 = 4;
const INVALID_ARGUMENT: u32 = 6;

/// Bits of bytes, from the first on.
fn bits(bytes: &[u8], offset: usize, width: usize) -> BigInt {
    (offset..offset + width).fold(BigInt::from(0), |sum, at| {
        sum * 2 + (bytes[at / 8] >> (7 - at % 8) & 1)
    })
}

impl Interpreter<'_> {
    pub fn parse(&self, packet: &mut Packet) -> Result<(), u32> {
        let parser = &self.program["parsers"][0];
        let mut name = parser["init_state"].clone();
        while !name.is_null() {
            let state = named(&parser["parse_states"], text(&name));
            for op in list(&state["parser_ops"]) {
                self.parser_op(packet, op)?;
            }
            name = self.select(packet, state)?;
        }
        Ok(())
    }

    fn parser_op(&self, packet: &mut Packet, op: &Value) -> Result<(), u32> {
        let parameters = &op["parameters"];
        let first = &parameters[0]["value"];
        match text(&op["op"]) {
            "extract" if parameters[0]["type"] == "stack" => {
                let filled = packet.filled[text(first)];
                let next = self.stacks[text(first)].get(filled);
                self.extract(packet, next.ok_or(OUT_OF_BOUNDS)?, 0)?;
                packet.filled.insert(text(first).into(), filled + 1);
            }
            "extract" if parameters[0]["type"] == "union_stack" => {
                let (stack, member) = (text(&first[0]), text(&first[1]));
                let filled = packet.filled[stack];
                let next = self.union_stacks[stack].get(filled);
                let header = format!("{}.{member}", next.ok_or(OUT_OF_BOUNDS)?);
                self.extract(packet, &header, 0)?;
                packet.filled.insert(stack.into(), filled + 1);
            }
            "extract" => self.extract(packet, text(first), 0)?,
            "extract_VL" => {
                let bits = small(&self.data(packet, &parameters[1], &[]));
                self.extract(packet, text(first), bits)?;
            }
            "set" if self.lacks_union(&parameters[1]) => return Err(OUT_OF_BOUNDS),
            "set" => {
                let value = self.ahead_or_last(packet, &parameters[1])?;
                let value = value.unwrap_or_else(|| self.data(packet, &parameters[1], &[]));
                self.set(packet, text(&first[0]), text(&first[1]), &value);
            }
            "verify" => {
                if self.data(packet, &parameters[0], &[]) == BigInt::from(0) {
                    return Err(small(&hex(&parameters[1]["value"])) as u32);
                }
            }
            "advance" => {
                let bits = small(&hex(first));
                if bits % 8 != 0 {
                    return Err(INVALID_ARGUMENT);
                }
                if bits / 8 > packet.rest.len() {
                    return Err(TOO_SHORT);
                }
                packet.rest.drain(..bits / 8);
            }
            other => panic!("{other} is no parser operation of the grammar"),
        }
        Ok(())
    }

    /// What is read of the bytes before the parser, or of the last element of a stack.
    fn ahead_or_last(&self, packet: &Packet, value: &Value) -> Result<Option<BigInt>, u32> {
        let [first, second] = [0, 1].map(|i| &value["value"][i]);
        match text(&value["type"]) {
            "lookahead" => {
                let number = |value: &Value| value.as_u64().expect("a number") as usize;
                let (offset, width) = (number(first), number(second));
                if packet.rest.len() * 8 < offset + width {
                    return Err(TOO_SHORT);
                }
                Ok(Some(bits(&packet.rest, offset, width)))
            }
            "stack_field" => {
                let last = packet.filled[text(first)].checked_sub(1);
                let header = &self.stacks[text(first)][last.ok_or(OUT_OF_BOUNDS)?];
                let key = (header.clone(), text(second).to_owned());
                Ok(Some(packet.values[&key].clone()))
            }
            "union_stack_field" => {
                let last = packet.filled[text(first)].checked_sub(1);
                let union = &self.union_stacks[text(first)][last.ok_or(OUT_OF_BOUNDS)?];
                let header = format!("{union}.{}", text(second));
                let key = (header, text(&value["value"][2]).to_owned());
                Ok(Some(packet.values[&key].clone()))
            }
            _ => Ok(None),
        }
    }

    /// Extracts a header, whose field of variable width has so many bits.
    fn extract(&self, packet: &mut Packet, header: &str, variable: usize) -> Result<(), u32> {
        if variable % 8 != 0 {
            return Err(INVALID_ARGUMENT);
        }
        let before = packet.lengths.insert(header.into(), variable as u32);
        let length = self.bytes(packet, header);
        let most = self.fields[header].iter().find(|field| field.0 == VARIABLE);
        let wrong = if packet.rest.len() < length {
            Some(TOO_SHORT)
        } else if variable > most.map_or(0, |most| most.1 as usize) {
            Some(HEADER_TOO_SHORT)
        } else {
            None
        };
        if let Some(wrong) = wrong {
            packet
                .lengths
                .insert(header.into(), before.expect("it is there"));
            return Err(wrong);
        }
        let bytes: Vec<u8> = packet.rest.drain(..length).collect();
        let mut at = 0;
        for (field, _, _) in &self.fields[header] {
            let width = self.width(packet, header, field) as usize;
            let value = bits(&bytes, at, width);
            self.set(packet, header, field, &value);
            at += width;
        }
        self.set_valid(packet, header);
        self.variable
            .set(self.variable.get() + usize::from(variable > 0));
        Ok(())
    }

    /// The next state, or nothing.
    fn select(&self, packet: &Packet, state: &Value) -> Result<Value, u32> {
        let parts = list(&state["transition_key"]);
        // All that is read ahead has to be there before stacks are looked at.
        for part in parts.iter().filter(|part| part["type"] == "lookahead") {
            self.ahead_or_last(packet, part)?;
        }
        // Each part takes whole bytes.
        let mut key = BigInt::from(0);
        for part in parts {
            let names = &part["value"];
            let width = match text(&part["type"]) {
                "lookahead" => names[1].as_u64().expect("a number") as u32,
                "stack_field" => {
                    let header = &self.stacks[text(&names[0])][0];
                    self.row(header, text(&names[1])).1
                }
                "union_stack_field" => {
                    let union = &self.union_stacks[text(&names[0])][0];
                    let header = format!("{union}.{}", text(&names[1]));
                    self.row(&header, text(&names[2])).1
                }
                _ => self.row(text(&names[0]), text(&names[1])).1,
            };
            let value = self.ahead_or_last(packet, part)?;
            let value = value.unwrap_or_else(|| self.data(packet, part, &[]));
            key = (key << (width.div_ceil(8) * 8)) + wrapped(&value, width);
        }
        for case in list(&state["transitions"]) {
            let same = |value: &BigInt| match &case["mask"] {
                Value::Null => key == *value,
                mask => &key & hex(mask) == value & hex(mask),
            };
            let matches = match text(&case["type"]) {
                "default" => true,
                "parse_vset" => {
                    let found = self.value_sets[text(&case["value"])].iter().any(same);
                    self.in_sets.set(self.in_sets.get() + usize::from(found));
                    found
                }
                _ => same(&hex(&case["value"])),
            };
            if matches {
                return Ok(case["next_state"].clone());
            }
        }
        Ok(Value::Null)
    }
}
