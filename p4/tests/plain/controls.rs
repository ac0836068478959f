//! Controls, tables and actions of the plain interpreter.

use num_bigint::BigInt;
use serde_json::Value;

use super::expressions::{hex, wrapped};
use super::interpreter::{DROP, Interpreter, Packet, list, named, small, text};
use super::programs::{NewEntry, VARIABLE, Wanted};

impl<'a> Interpreter<'a> {
    pub fn control(&mut self, packet: &mut Packet, name: &str) {
        let program = self.program;
        let control = named(&program["pipelines"], name);
        let mut next = control["init_table"].clone();
        packet.exit = false;
        while !next.is_null() && !packet.exit {
            let mut conditions = list(&control["conditionals"]).iter();
            next = match conditions.find(|condition| condition["name"] == next) {
                Some(condition) => {
                    let holds = self.data(packet, &condition["expression"], &[]);
                    let no = holds == BigInt::from(0);
                    condition[if no { "false_next" } else { "true_next" }].clone()
                }
                None => self.table(packet, named(&control["tables"], text(&next))),
            };
        }
    }

    /// Applies a table. Returns what is next.
    fn table(&mut self, packet: &mut Packet, table: &Value) -> Value {
        let hit = self.lookup(packet, table);
        let counted = if hit.is_some() {
            &mut self.hits
        } else {
            &mut self.misses
        };
        *counted += 1;
        let default = &table["default_entry"];
        let bound = match hit {
            Some(entry) => self.chosen(packet, table, &entry.does),
            None if default.is_null() => None,
            None => {
                let mut actions = list(&self.program["actions"]).iter();
                let action = actions.find(|action| action["id"] == default["action_id"]);
                let name = text(&action.expect("an action")["name"]).to_owned();
                Some((
                    name,
                    list(&default["action_data"]).iter().map(hex).collect(),
                ))
            }
        };
        if let Some((action, data)) = &bound {
            self.action(packet, action, data);
        }
        let after = &table["next_tables"];
        if after.get("__HIT__").is_some() {
            return after[if hit.is_some() { "__HIT__" } else { "__MISS__" }].clone();
        }
        match bound {
            Some((action, _)) => after[action].clone(),
            None => table["base_default_next"].clone(),
        }
    }

    /// The best entry of those that match: of the highest priority, then the longest prefix.
    fn lookup(&self, packet: &Packet, table: &Value) -> Option<&'a NewEntry> {
        let parts = list(&table["key"]);
        let mut values = Vec::new();
        for part in parts {
            let (header, field) = (text(&part["target"][0]), text(&part["target"][1]));
            let width = self.row(header, field).1;
            // A header that is not valid keeps its values, but tables do not see them.
            let value = if packet.valid[header] {
                wrapped(&packet.values[&(header.into(), field.into())], width)
            } else {
                BigInt::from(0)
            };
            let value = if part["mask"].is_null() {
                value
            } else {
                value & hex(&part["mask"])
            };
            values.push((value, width));
        }
        let matching = self.entries.iter().filter(|entry| {
            table["name"] == entry.table
                && entry
                    .key
                    .iter()
                    .zip(&values)
                    .all(|(wanted, (value, width))| match wanted {
                        Wanted::Exact(exact) => value == exact,
                        Wanted::Prefix(prefix, length) => {
                            value >> (width - length) == prefix >> (width - length)
                        }
                        Wanted::Mask(bits, mask) => value & mask == bits & mask,
                        Wanted::Range(low, high) => low <= value && value <= high,
                        Wanted::Any => true,
                    })
        });
        matching.max_by_key(|entry| {
            let lengths = entry.key.iter().map(|wanted| match wanted {
                Wanted::Prefix(_, length) => *length,
                _ => 0,
            });
            (entry.priority, lengths.sum::<u32>())
        })
    }

    fn action(&mut self, packet: &mut Packet, name: &str, data: &[BigInt]) {
        let program = self.program;
        let body = list(&named(&program["actions"], name)["primitives"]);
        let mut at = 0;
        while at < body.len() && !packet.exit {
            at = self.primitive(packet, &body[at], data).unwrap_or(at + 1);
        }
    }

    /// Does a primitive. Returns where it jumps to.
    fn primitive(&mut self, packet: &mut Packet, step: &Value, data: &[BigInt]) -> Option<usize> {
        let parameters = &step["parameters"];
        let value = |packet: &Packet, index: usize| self.data(packet, &parameters[index], data);
        let name = |index: usize| text(&parameters[index]["value"]).to_owned();
        match text(&step["op"]) {
            "no_op" => {}
            "assign" => {
                let value = value(packet, 1);
                let target = match &parameters[0]["value"] {
                    Value::Array(names) => Some((text(&names[0]).into(), text(&names[1]).into())),
                    access => self.element(access),
                };
                if let Some((header, field)) = target {
                    self.set(packet, &header, &field, &value);
                }
            }
            "add_header" => {
                if let Some(header) = self.header(&parameters[0])
                    && !packet.valid[&header]
                {
                    self.clear(packet, &header);
                    self.set_valid(packet, &header);
                    packet.length += self.bytes(packet, &header);
                }
            }
            "remove_header" => {
                if let Some(header) = self.header(&parameters[0])
                    && packet.valid[&header]
                {
                    packet.valid.insert(header.clone(), false);
                    packet.length = packet.length.saturating_sub(self.bytes(packet, &header));
                }
            }
            "assign_header" => {
                let [to, from] = [0, 1].map(|index| self.header(&parameters[index]));
                match (to, from) {
                    (Some(to), Some(from)) => self.copy(packet, &to, &from),
                    (Some(to), None) => drop(packet.valid.insert(to, false)),
                    (None, _) => {}
                }
            }
            "assign_VL" => {
                let [to, from] = [0, 1].map(|index| text(&parameters[index]["value"][0]));
                let bits = packet.lengths[from];
                packet.lengths.insert(to.into(), bits);
                let key = |header: &str| (header.to_owned(), VARIABLE.to_owned());
                let value = wrapped(&packet.values[&key(from)], bits);
                packet.values.insert(key(to), value);
            }
            "assign_union" => self.assign_union(packet, &parameters[0], &parameters[1]),
            "assign_header_stack" => {
                for (to, from) in self.stacks[&name(0)].iter().zip(&self.stacks[&name(1)]) {
                    self.copy(packet, to, from);
                }
                let filled = packet.filled[&name(1)];
                packet.filled.insert(name(0), filled);
            }
            "assign_union_stack" => {
                let [to, from] = [0, 1].map(|index| &self.union_stacks[&name(index)]);
                for (to, from) in to.iter().zip(from) {
                    self.copy_union(packet, to, from);
                }
                let filled = packet.filled[&name(1)];
                packet.filled.insert(name(0), filled);
            }
            "push" => self.push(packet, &name(0), small(&value(packet, 1))),
            "pop" => self.pop(packet, &name(0), small(&value(packet, 1))),
            "register_read" => {
                let names = &parameters[0]["value"];
                if let Some(cell) = self.register.get(small(&value(packet, 2))) {
                    self.set(packet, text(&names[0]), text(&names[1]), cell);
                }
            }
            "register_write" => {
                let (index, written) = (small(&value(packet, 1)), value(packet, 2));
                let width = self.program["register_arrays"][0]["bitwidth"].as_u64();
                if let Some(cell) = self.register.get_mut(index) {
                    *cell = wrapped(&written, width.expect("a number") as u32);
                }
            }
            "modify_field_with_hash_based_offset" => {
                let hash = BigInt::from(self.named_calculation(packet, &name(2)));
                let result = hash % value(packet, 3) + value(packet, 1);
                let names = &parameters[0]["value"];
                self.set(packet, text(&names[0]), text(&names[1]), &result);
            }
            "execute_meter" => {
                let (index, now) = (small(&value(packet, 1)), self.now);
                if let Some(meter) = self.meters.get_mut(index) {
                    let color = meter.as_mut().map_or(0, |meter| meter.color(now));
                    self.colored += usize::from(color > 0);
                    let names = &parameters[2]["value"];
                    self.set(
                        packet,
                        text(&names[0]),
                        text(&names[1]),
                        &BigInt::from(color),
                    );
                }
            }
            "generate_digest" => packet.digest = true,
            "count" => {
                let index = small(&value(packet, 1));
                if let Some((packets, bytes)) = self.counter.get_mut(index) {
                    *packets += 1;
                    *bytes += packet.frame.len() as u64;
                }
            }
            "modify_field_rng_uniform" => {
                let [low, high] = [1, 2].map(|index| small(&value(packet, index)));
                // Nothing between them is the lower one, and a number is taken all the same.
                let some = self.random.below((high + 1).saturating_sub(low).max(1));
                self.drawn += 1;
                let names = &parameters[0]["value"];
                let result = BigInt::from(low + some);
                self.set(packet, text(&names[0]), text(&names[1]), &result);
            }
            "clone_ingress_pkt_to_egress" | "clone_egress_pkt_to_egress" => {
                packet.clone = Some((small(&value(packet, 0)), small(&value(packet, 1))));
            }
            "resubmit" => packet.resubmit = small(&value(packet, 0)),
            "recirculate" => packet.recirculate = small(&value(packet, 0)),
            "truncate" => {
                let before = packet.truncate.unwrap_or(usize::MAX);
                packet.truncate = Some(small(&value(packet, 0)).min(before));
            }
            "exit" => packet.exit = true,
            "mark_to_drop" => {
                self.set_standard(packet, "egress_spec", DROP);
                self.set_standard(packet, "mcast_grp", 0);
            }
            "_jump" => return Some(small(&value(packet, 0))),
            "_jump_if_zero" => {
                let zero = value(packet, 0) == BigInt::from(0);
                return zero.then(|| small(&value(packet, 1)));
            }
            other => panic!("{other} is no primitive of the grammar"),
        }
        None
    }

    /// Makes a header what another of its type is. One that is not valid keeps its values.
    pub fn copy(&self, packet: &mut Packet, to: &str, from: &str) {
        if packet.valid[from] {
            self.set_valid(packet, to);
            self.copy_fields(packet, to, from);
        } else {
            packet.valid.insert(to.into(), false);
        }
    }

    fn copy_fields(&self, packet: &mut Packet, to: &str, from: &str) {
        for (field, _, _) in &self.fields[from] {
            let value = packet.values[&(from.to_owned(), field.clone())].clone();
            packet.values.insert((to.into(), field.clone()), value);
        }
        packet.lengths.insert(to.into(), packet.lengths[from]);
    }

    /// The headers of each element of a stack of headers or unions.
    fn elements(&self, stack: &str) -> Vec<Vec<String>> {
        match self.stacks.get(stack) {
            Some(headers) => headers.iter().map(|header| vec![header.clone()]).collect(),
            None => {
                let unions = self.union_stacks[stack].iter();
                unions.map(|union| self.unions[union].clone()).collect()
            }
        }
    }

    fn push(&self, packet: &mut Packet, stack: &str, count: usize) {
        let elements = self.elements(stack);
        for to in (0..elements.len()).rev() {
            let from = to.checked_sub(count).map(|from| &elements[from]);
            self.shift(packet, &elements[to], from);
        }
        let filled = (packet.filled[stack] + count).min(elements.len());
        packet.filled.insert(stack.into(), filled);
    }

    fn pop(&self, packet: &mut Packet, stack: &str, count: usize) {
        let elements = self.elements(stack);
        for to in 0..elements.len() {
            self.shift(packet, &elements[to], elements.get(to + count));
        }
        let filled = packet.filled[stack].saturating_sub(count);
        packet.filled.insert(stack.into(), filled);
    }

    /// Moves an element of a stack to another place, or none.
    fn shift(&self, packet: &mut Packet, to: &[String], from: Option<&Vec<String>>) {
        for (place, header) in to.iter().enumerate() {
            let from = from.map(|from| &from[place]);
            let valid = from.is_some_and(|from| packet.valid[from]);
            packet.valid.insert(header.clone(), valid);
            if let Some(from) = from {
                self.copy_fields(packet, header, from);
            }
        }
    }
}
