//! Random parsers.

use num_bigint::BigInt;
use serde_json::{Value, json};

use super::expressions::{operation, power};
use super::programs::{Maker, field};

const STATES: usize = 5;

impl Maker<'_> {
    pub fn states(&mut self) -> Vec<Value> {
        (0..STATES).map(|index| self.state(index)).collect()
    }

    fn state(&mut self, index: usize) -> Value {
        let mut ops = Vec::new();
        // A state that takes an element of the stack may come again.
        let repeats = self.random.one_of(3);
        let what = if repeats {
            json!({"type": "stack", "value": "s"})
        } else {
            let header = self.random.below(self.headers.len());
            json!({"type": "regular", "value": self.headers[header].0})
        };
        if repeats || !self.random.one_of(6) {
            ops.push(json!({"op": "extract", "parameters": [what]}));
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
        let mut bytes = 0;
        for _ in 0..self.random.below(3) {
            let (part, width) = self.select_key();
            key.push(part);
            bytes += width.div_ceil(8);
        }
        let mut transitions = Vec::new();
        for _ in 0..if key.is_empty() {
            0
        } else {
            self.random.below(3)
        } {
            // One bit decides, so that both ways are taken.
            let mask = power(self.random.below(bytes as usize * 8) as u32);
            let value = if self.random.one_of(2) {
                mask.clone()
            } else {
                BigInt::from(0)
            };
            transitions.push(json!({"type": "hexstr", "value": format!("{value:#x}"),
                "mask": format!("{mask:#x}"), "next_state": self.next_state(index, repeats)}));
        }
        if key.is_empty() || !self.random.one_of(4) {
            transitions.push(json!({"type": "default", "value": null, "mask": null,
                "next_state": self.next_state(index, repeats)}));
        }
        json!({"name": format!("p{index}"), "id": index, "parser_ops": ops,
            "transition_key": key, "transitions": transitions})
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
        let value = match self.random.below(5) {
            2 => field("standard_metadata", "ingress_port"),
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
        match self.random.below(7) {
            2 => (field("standard_metadata", "ingress_port"), 9),
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
