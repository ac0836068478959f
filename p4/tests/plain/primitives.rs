//! Random primitives of actions.

use serde_json::{Value, json};

use super::expressions::operation;
use super::programs::{Maker, STACK, VARIABLE, VARIABLES, element, field};
use super::unions;

/// Standard metadata that programs write besides where a packet goes.
const WRITTEN: [&str; 8] = [
    "ingress_port",
    "instance_type",
    "packet_length",
    "parser_error",
    "checksum_error",
    "egress_rid",
    "deq_timedelta",
    "enq_qdepth",
];

impl Maker<'_> {
    /// A primitive at a place of an action with so many steps and parameters.
    pub fn primitive(&mut self, at: usize, steps: usize, parameters: usize) -> Value {
        let standard = |name: &str| field("standard_metadata", name);
        let number = |value: usize| json!({"type": "hexstr", "value": format!("{value:#x}")});
        let step = |op: &str, parameters: Value| json!({"op": op, "parameters": parameters});
        let jump = number(at + 1 + self.random.below(steps - at));
        match self.random.below(34) {
            0..=2 => {
                let port = self.random.pick(&[0, 1, 2, 3, 3, 511]);
                step("assign", json!([standard("egress_spec"), number(port)]))
            }
            3 => {
                let group = self.random.pick(&[0, 1, 1, 2]);
                step("assign", json!([standard("mcast_grp"), number(group)]))
            }
            4 | 5 => step("add_header", json!([self.header()])),
            6 => step("remove_header", json!([self.header()])),
            7 => {
                let kind = self.random.below(self.kinds.len());
                let like: Vec<&str> = self
                    .headers
                    .iter()
                    .filter(|(_, k)| *k == kind)
                    .map(|(name, _)| &**name)
                    .chain((kind == 0).then_some("t[1]"))
                    .collect();
                if like.is_empty() {
                    return step("no_op", json!([]));
                }
                let pair = [self.random.pick(&like), self.random.pick(&like)];
                let pair = pair.map(|name| json!({"type": "header", "value": name}));
                step("assign_header", json!(pair))
            }
            8 => {
                let pair = self.random.pick(&[["s", "t"], ["t", "s"]]);
                let pair = pair.map(|name| json!({"type": "header_stack", "value": name}));
                step("assign_header_stack", json!(pair))
            }
            9 | 10 => {
                let op = self.random.pick(&["push", "pop"]);
                let stack = json!({"type": "header_stack", "value": self.random.pick(&["s", "t"])});
                step(op, json!([stack, number(self.random.below(STACK + 2))]))
            }
            26 | 27 => self.union_primitive(parameters),
            28..=30 => {
                let pair = [0, 1].map(|_| field(self.random.pick(&VARIABLES), VARIABLE));
                step("assign_VL", json!(pair))
            }
            31 => {
                let name = self.random.pick(&WRITTEN);
                step("assign", json!([standard(name), self.data(parameters)]))
            }
            11 => {
                let place = self.random.below(self.kinds[0].len());
                let index = self.random.below(STACK + 1);
                let target = element(self.random.pick(&["s", "t"]), index, place);
                step("assign", json!([target, self.data(parameters)]))
            }
            12 | 13 => {
                let index = operation("&", self.data(parameters), number(7));
                let (header, name, _) = self.a_field();
                let register = json!({"type": "register_array", "value": "r"});
                if self.random.one_of(2) {
                    step(
                        "register_read",
                        json!([field(&header, &name), register, index]),
                    )
                } else {
                    step(
                        "register_write",
                        json!([register, index, self.data(parameters)]),
                    )
                }
            }
            14 if self.random.one_of(3) => step("exit", json!([])),
            14 if self.random.one_of(3) => step(
                "mark_to_drop",
                json!([{"type": "header", "value": "standard_metadata"}]),
            ),
            15 => step("_jump_if_zero", json!([self.data(parameters), jump])),
            16 if self.random.one_of(3) => step("_jump", json!([jump])),
            17..=20 => self.extern_primitive(parameters),
            _ => {
                let (header, name, _) = self.a_field();
                step(
                    "assign",
                    json!([field(&header, &name), self.data(parameters)]),
                )
            }
        }
    }

    /// A primitive on header unions or stacks of them.
    fn union_primitive(&mut self, parameters: usize) -> Value {
        let step = |op: &str, parameters: Value| json!({"op": op, "parameters": parameters});
        match self.random.below(6) {
            0 => step(
                "assign_union",
                json!([unions::union(self.random), unions::union(self.random)]),
            ),
            1 => {
                let pair = [0, 1].map(|_| unions::union_stack(self.random));
                step("assign_union_stack", json!(pair))
            }
            2 => {
                let count = format!("{:#x}", self.random.below(unions::ELEMENTS + 2));
                let count = json!({"type": "hexstr", "value": count});
                let op = self.random.pick(&["push", "pop"]);
                step(op, json!([unions::union_stack(self.random), count]))
            }
            3 => {
                let (to, kind) = unions::member(self.random);
                let like = self.headers.iter().filter(|(_, k)| *k == kind);
                let like: Vec<&str> = like.map(|(name, _)| &**name).collect();
                let from = json!({"type": "header", "value": self.random.pick(&like)});
                let pair = self
                    .random
                    .pick(&[[0, 1], [1, 0]])
                    .map(|at| [&to, &from][at]);
                step("assign_header", json!(pair))
            }
            4 => {
                let op = self
                    .random
                    .pick(&["add_header", "add_header", "remove_header"]);
                step(op, json!([unions::member(self.random).0]))
            }
            _ => {
                let (member, kind) = unions::member(self.random);
                let place = self.random.below(self.kinds[kind].len());
                let to = operation("access_field", member, json!(place));
                let value = [self.data(parameters), unions::truth(self.random)];
                let value = &value[self.random.below(2)];
                step("assign", json!([to, value]))
            }
        }
    }

    /// Any header by its name.
    fn header(&mut self) -> Value {
        if self.random.one_of(6) {
            return json!({"type": "header", "value": self.random.pick(&VARIABLES)});
        }
        let count = self.headers.len();
        let index = self.random.below(count + 2 * STACK);
        let name = match index.checked_sub(count) {
            None => self.headers[index].0.clone(),
            Some(rest) => format!("{}[{}]", ["s", "t"][rest / STACK], rest % STACK),
        };
        json!({"type": "header", "value": name})
    }
}
