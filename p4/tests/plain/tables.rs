//! Random controls: tables with their entries, and conditions.

use num_bigint::BigInt;
use serde_json::{Value, json};

use super::expressions::{hex, operation, power};
use super::programs::{ACTIONS, METADATA, Maker, NewDoes, NewEntry, SEEN, Wanted, field};

/// The last action of egress: a header gets all metadata, some standard metadata, and how far
/// stacks are filled, so that it is seen.
pub fn end() -> Value {
    let mut body =
        vec![json!({"op": "add_header", "parameters": [{"type": "header", "value": "out"}]})];
    for place in 0..METADATA {
        let name = format!("m{place}");
        let parameters = [field("out", &name), field("meta", &name)];
        body.push(json!({"op": "assign", "parameters": parameters}));
    }
    for (name, _) in SEEN {
        let parameters = [field("out", name), field("standard_metadata", name)];
        body.push(json!({"op": "assign", "parameters": parameters}));
    }
    for name in ["s", "t"] {
        let stack = json!({"type": "header_stack", "value": name});
        let filled = operation("size_stack", Value::Null, stack);
        body.push(json!({"op": "assign", "parameters": [field("out", name), filled]}));
    }
    json!({"name": "end", "id": ACTIONS, "runtime_data": [], "primitives": body})
}

impl Maker<'_> {
    pub fn control(&mut self, id: usize, name: &str) -> Value {
        let count = 2 + self.random.below(5);
        let is_table: Vec<bool> = (0..count).map(|_| !self.random.one_of(4)).collect();
        let name_of = |index: usize| match is_table.get(index) {
            Some(true) => json!(format!("{name}_t{index}")),
            Some(false) => json!(format!("{name}_c{index}")),
            None if name == "egress" => json!("egress_end"),
            None => Value::Null,
        };
        let (mut tables, mut conditions) = (Vec::new(), Vec::new());
        let mut profiles = Vec::new();
        for (index, is_table_here) in is_table.iter().enumerate() {
            // Mostly the next one.
            let skip = [1, 1, 1, 2, count];
            if *is_table_here {
                let mut next = Vec::new();
                for _ in 0..ACTIONS + 2 {
                    next.push(name_of(index + self.random.pick(&skip)));
                }
                let (table, profile) = self.table(name, index, &next);
                tables.push(table);
                profiles.extend(profile);
            } else {
                let cond = self.cond();
                let [yes, no] = [0, 1].map(|_| name_of(index + self.random.pick(&skip)));
                conditions.push(
                    json!({"name": name_of(index), "id": index, "expression": cond,
                    "true_next": yes, "false_next": no}),
                );
            }
        }
        if name == "egress" {
            let default = json!({"action_id": ACTIONS, "action_data": []});
            tables.push(
                json!({"name": "egress_end", "id": count, "key": [], "type": "simple",
                "max_size": 1, "action_ids": [ACTIONS], "actions": ["end"],
                "base_default_next": null, "next_tables": {"end": null},
                "default_entry": default}),
            );
        }
        json!({"name": name, "id": id, "init_table": name_of(0), "tables": tables,
            "conditionals": conditions, "action_profiles": profiles})
    }

    /// A table of a control, its entries, and its action profile if it has one; `next` is what may
    /// come after each action, and after none.
    fn table(&mut self, control: &str, id: usize, next: &[Value]) -> (Value, Option<Value>) {
        let name = format!("{control}_t{id}");
        let mut parts: Vec<(&str, u32)> = Vec::new();
        let mut key = Vec::new();
        for _ in 0..self.random.below(4) {
            let mut kind = self
                .random
                .pick(&["exact", "lpm", "ternary", "range", "optional"]);
            if kind == "lpm" && parts.iter().any(|(kind, _)| *kind == "lpm") {
                kind = "exact";
            }
            let (header, field, width) = self.a_field();
            let mask = if width >= 4 && self.random.one_of(6) {
                json!(format!("0x{}", self.random.digits(width as usize / 4)))
            } else {
                Value::Null
            };
            parts.push((kind, width));
            key.push(json!({"match_type": kind, "target": [header, field], "mask": mask}));
        }
        let mut actions: Vec<usize> = (0..ACTIONS).collect();
        for _ in 0..3 {
            actions.swap_remove(self.random.below(actions.len()));
        }
        if self.random.one_of(2) {
            actions.push(ACTIONS + if control == "ingress" { 1 } else { 2 });
        }
        let action_name = |id: usize| match id {
            ..ACTIONS => format!("a{id}"),
            _ => format!("again_{control}"),
        };
        let names: Vec<(usize, String)> =
            actions.iter().map(|id| (*id, action_name(*id))).collect();
        let kind = self
            .random
            .pick(&["simple", "simple", "indirect", "indirect_ws"]);
        let selects = kind == "indirect_ws";
        let profile =
            (kind != "simple").then(|| self.profile(&format!("{name}_profile"), selects, &names));
        let ranked = parts
            .iter()
            .any(|(kind, _)| ["ternary", "range", "optional"].contains(kind));
        for place in 0..if parts.is_empty() {
            0
        } else {
            self.random.below(9)
        } {
            let wanted = parts
                .iter()
                .map(|(kind, width)| self.wanted(kind, *width))
                .collect();
            let does = if profile.is_some() {
                self.member_or_group(selects)
            } else {
                let action = self.random.pick(&actions);
                NewDoes::Action(action_name(action), self.action_data(action))
            };
            self.entries.push(NewEntry {
                table: name.clone(),
                key: wanted,
                // No two are the same, so that one entry is the best.
                priority: if ranked {
                    (place as i32 * 5) % 9 + 1
                } else {
                    0
                },
                does,
            });
        }
        let names: Vec<String> = names.into_iter().map(|(_, name)| name).collect();
        let mut after = serde_json::Map::new();
        if self.random.one_of(3) {
            after.insert("__HIT__".into(), next[0].clone());
            after.insert("__MISS__".into(), next[1].clone());
        } else {
            after.extend(names.iter().cloned().zip(next[1..].iter().cloned()));
        }
        let default = self.random.pick(&actions);
        let default = if self.random.one_of(3) {
            Value::Null
        } else {
            let data = self.action_data(default);
            let data: Vec<String> = data.iter().map(|value| format!("{value:#x}")).collect();
            json!({"action_id": default, "action_data": data})
        };
        let table = json!({"name": name, "id": id, "key": key, "type": kind, "max_size": 64,
            "action_ids": actions, "actions": names, "base_default_next": next[0],
            "next_tables": after, "default_entry": default,
            "action_profile": profile.as_ref().map(|profile| &profile["name"])});
        (table, profile)
    }

    pub fn action_data(&mut self, action: usize) -> Vec<BigInt> {
        // Those that let a packet begin again have no parameters.
        let widths = self.actions.get(action).cloned().unwrap_or_default();
        widths.iter().map(|width| self.value(*width)).collect()
    }

    /// A value of a width: often 0 or the highest.
    pub fn value(&mut self, width: u32) -> BigInt {
        let highest = power(width) - 1;
        match self.random.below(4) {
            0 => BigInt::from(0),
            1 => highest,
            _ => hex(&json!(self.random.digits(64))) & highest,
        }
    }

    fn wanted(&mut self, kind: &str, width: u32) -> Wanted {
        let value = self.value(width);
        match kind {
            "exact" => Wanted::Exact(value),
            "lpm" => Wanted::Prefix(value, self.random.below(width as usize + 1) as u32),
            "ternary" if self.random.one_of(4) => Wanted::Any,
            // Few bits count.
            "ternary" => {
                let bits = [0, 1].map(|_| power(self.random.below(width as usize) as u32));
                Wanted::Mask(value, &bits[0] | &bits[1])
            }
            "range" => {
                let other = self.value(width);
                Wanted::Range(value.clone().min(other.clone()), value.max(other))
            }
            _ if self.random.one_of(2) => Wanted::Any,
            _ => Wanted::Exact(value),
        }
    }
}
