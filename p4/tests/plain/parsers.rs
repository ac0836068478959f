//! Random parsers.

use num_bigint::BigInt;
use serde_json::{Value, json};

use super::expressions::{operation, power};
use super::programs::{Maker, NewValue, VARIABLE_KIND, VARIABLES, field};
use super::random::Random;
use super::unions::{self, MEMBERS, UNION_STACKS};

const STATES: usize = 6;
/// Standard metadata that parsers read, with its widths.
const STANDARD: [(&str, u32); 3] = [
    ("ingress_port", 9),
    ("packet_length", 32),
    ("instance_type", 32),
];

/// The key of a parser that has these parts with their widths, each in whole bytes.
pub fn key_of(parts: &[(BigInt, u32)]) -> BigInt {
    let append =
        |key: BigInt, (part, width): &(BigInt, u32)| (key << (width.div_ceil(8) * 8)) + part;
    parts.iter().fold(BigInt::from(0), append)
}

impl Maker<'_> {
    pub fn states(&mut self) -> Vec<Value> {
        (0..STATES).map(|index| self.state(index)).collect()
    }

    fn state(&mut self, index: usize) -> Value {
        let mut ops = Vec::new();
        // A state that takes an element of the stack may come again.
        let repeats = self.random.one_of(3);
        if repeats || !self.random.one_of(6) {
            ops.push(self.extract(repeats));
        }
        if self.random.one_of(3) {
            ops.push(self.parser_set());
        }
        match self.random.below(16) {
            0 => {
                let cond = self.cond();
                let code = json!({"type": "hexstr", "value": "0x4"});
                ops.push(json!({"op": "verify", "parameters": [cond, code]}));
            }
            1 | 2 => {
                let bits = self.random.pick(&["0x0", "0x8", "0x10", "0xc"]);
                let bits = json!({"type": "hexstr", "value": bits});
                ops.push(json!({"op": "advance", "parameters": [bits]}));
            }
            _ => {}
        }
        let mut key = Vec::new();
        let (mut bytes, mut widths) = (0, Vec::new());
        for _ in 0..self.random.below(3) {
            let (part, width) = self.select_key();
            key.push(part);
            bytes += width.div_ceil(8);
            widths.push(width);
        }
        let mut transitions = Vec::new();
        for _ in 0..if key.is_empty() {
            0
        } else {
            self.random.below(3)
        } {
            let mask = self.select_mask(bytes);
            let value = match (&mask, self.random.one_of(2)) {
                (Some(mask), true) => mask.clone(),
                (None, true) => self.highest_key(&widths),
                (_, false) => BigInt::from(0),
            };
            let mask = mask.map(|mask| format!("{mask:#x}"));
            transitions.push(
                json!({"type": "hexstr", "value": format!("{value:#x}"), "mask": mask,
                "next_state": self.next_state(index, repeats)}),
            );
        }
        if !key.is_empty() && self.random.one_of(3) {
            let set = self.value_set(index, &widths);
            let mask = self.select_mask(bytes);
            let mask = mask.map(|mask| format!("{mask:#x}"));
            let place = self.random.below(transitions.len() + 1);
            let next = self.next_state(index, repeats);
            let case = json!({"type": "parse_vset", "value": set, "mask": mask,
                "next_state": next});
            transitions.insert(place, case);
        }
        if key.is_empty() || !self.random.one_of(4) {
            transitions.push(json!({"type": "default", "value": null, "mask": null,
                "next_state": self.next_state(index, repeats)}));
        }
        json!({"name": format!("p{index}"), "id": index, "parser_ops": ops,
            "transition_key": key, "transitions": transitions})
    }

    /// Takes a header, or the next element of a stack.
    fn extract(&mut self, repeats: bool) -> Value {
        if repeats {
            let what = match self.random.below(2) {
                0 => {
                    let member = self.random.pick(&MEMBERS);
                    let stack = self.random.pick(&UNION_STACKS);
                    json!({"type": "union_stack", "value": [stack, member]})
                }
                _ => json!({"type": "stack", "value": "s"}),
            };
            return json!({"op": "extract", "parameters": [what]});
        }
        let header = self.random.below(self.headers.len());
        let (name, kind) = if self.random.one_of(4) {
            (self.random.pick(&VARIABLES).to_owned(), VARIABLE_KIND)
        } else {
            self.headers[header].clone()
        };
        let what = json!({"type": "regular", "value": name});
        if kind != VARIABLE_KIND {
            return json!({"op": "extract", "parameters": [what]});
        }
        // Mostly whole bytes, and not too many.
        let mask = self.random.pick(&["0x8", "0x18", "0x38", "0x58", "0x5"]);
        let mask = json!({"type": "hexstr", "value": mask});
        let (header, field_name, _) = self.a_field();
        let value = if self.random.one_of(2) {
            json!({"type": "hexstr", "value": "0xff"})
        } else {
            field(&header, &field_name)
        };
        let width = operation("&", value, mask);
        json!({"op": "extract_VL", "parameters": [what, width]})
    }

    /// What decides of a key: one bit or two, so that both ways are taken, or all of it.
    fn select_mask(&mut self, bytes: u32) -> Option<BigInt> {
        let bit = |random: &mut Random| power(random.below(bytes as usize * 8) as u32);
        match self.random.below(4) {
            0 => None,
            1 => Some(bit(self.random) | bit(self.random)),
            _ => Some(bit(self.random)),
        }
    }

    /// A key whose bits are all ones, each part in whole bytes.
    fn highest_key(&self, widths: &[u32]) -> BigInt {
        let parts = widths.iter().map(|width| (power(*width) - 1, *width));
        key_of(&parts.collect::<Vec<_>>())
    }

    /// The value set of a state that selects on parts of such widths, with its members.
    fn value_set(&mut self, index: usize, widths: &[u32]) -> String {
        let set = format!("set{index}");
        self.sets.push((set.clone(), widths.iter().sum()));
        for _ in 0..1 + self.random.below(3) {
            let parts = widths.iter().map(|width| (self.value(*width), *width));
            let parts = parts.collect();
            self.values.push(NewValue {
                set: set.clone(),
                parts,
            });
        }
        set
    }

    pub fn value_sets(&self) -> Vec<Value> {
        let rows = self.sets.iter().enumerate();
        rows.map(|(id, (name, width))| {
            json!({"name": name, "id": id, "compressed_bitwidth": width, "max_size": 8})
        })
        .collect()
    }

    fn next_state(&mut self, index: usize, repeats: bool) -> Value {
        let first = if repeats { index } else { index + 1 };
        match first + self.random.below(STATES - first + 1) {
            STATES => Value::Null,
            next => json!(format!("p{next}")),
        }
    }

    fn parser_set(&mut self) -> Value {
        let (header, name, _) = self.a_field();
        let value = match self.random.below(6) {
            5 => unions::truth(self.random),
            2 => field("standard_metadata", self.random.pick(&STANDARD).0),
            0 => json!({"type": "lookahead", "value": [self.random.below(9),
                1 + self.random.below(70)]}),
            1 => json!({"type": "stack_field", "value": ["s", self.kinds[0][0].0]}),
            _ => {
                let (header, name, _) = self.a_field();
                operation("+", field(&header, &name), self.random.number())
            }
        };
        json!({"op": "set", "parameters": [field(&header, &name), value]})
    }

    /// A part of what is selected on, and its width.
    fn select_key(&mut self) -> (Value, u32) {
        match self.random.below(9) {
            7 | 8 => {
                let stack = self.random.pick(&UNION_STACKS);
                let kind = self.random.below(MEMBERS.len());
                let (name, width, _) = &self.kinds[kind][0];
                let value = json!([stack, MEMBERS[kind], name]);
                (json!({"type": "union_stack_field", "value": value}), *width)
            }
            2 => {
                let (name, width) = self.random.pick(&STANDARD);
                (field("standard_metadata", name), width)
            }
            0 => {
                let (offset, width) = (self.random.below(9), 1 + self.random.below(40));
                (
                    json!({"type": "lookahead", "value": [offset, width]}),
                    width as u32,
                )
            }
            1 => {
                let place = self.random.below(self.kinds[0].len());
                let (name, width, _) = &self.kinds[0][place];
                (json!({"type": "stack_field", "value": ["s", name]}), *width)
            }
            _ => {
                let (header, name, width) = self.a_field();
                (field(&header, &name), width)
            }
        }
    }
}
