//! Random hashes, checksums, meters, clones and packets that begin again; and what the plain
//! interpreter makes of the first three.

use num_bigint::BigInt;
use serde_json::{Value, json};

use super::expressions::{hex, operation, wrapped};
use super::hashes::hash;
use super::interpreter::{Interpreter, Packet, list, text};
use super::programs::{AGAIN, METADATA, Maker, VARIABLE, VARIABLES, field};

const CALCULATIONS: usize = 3;
/// Cells of the meter. Indices may be higher.
pub const METERS: usize = 4;
/// Cells of the counter. Indices may be higher.
pub const COUNTERS: usize = 5;
/// How often a packet, with all that becomes of it, may be cloned or begin again.
const MOST_AGAIN: usize = 3;

fn number(value: usize) -> Value {
    json!({"type": "hexstr", "value": format!("{value:#x}")})
}

fn step(op: &str, parameters: Value) -> Value {
    json!({"op": op, "parameters": parameters})
}

impl Maker<'_> {
    pub fn calculations(&mut self) -> Vec<Value> {
        (0..CALCULATIONS)
            .map(|id| {
                let mut calculation = self.calculation();
                calculation["name"] = json!(format!("c{id}"));
                calculation["id"] = json!(id);
                calculation
            })
            .collect()
    }

    /// An algorithm and its input.
    pub fn calculation(&mut self) -> Value {
        let parts = 1 + self.random.below(4);
        let input: Vec<Value> = (0..parts).map(|_| self.input()).collect();
        let algorithm = self
            .random
            .pick(&["crc16", "crc32", "crcCCITT", "csum16", "xor16", "identity"]);
        json!({"algo": algorithm, "input": input})
    }

    fn input(&mut self) -> Value {
        match self.random.below(8) {
            0 => json!({"type": "payload", "value": null}),
            1 => {
                let header = self.random.below(self.headers.len());
                json!({"type": "header", "value": self.headers[header].0})
            }
            2 => {
                let width = self.random.pick(&[3, 8, 16, 20]);
                json!({"type": "hexstr", "value": "0x5", "bitwidth": width})
            }
            3 => field(self.random.pick(&VARIABLES), VARIABLE),
            _ => {
                let (header, name, _) = self.a_field();
                field(&header, &name)
            }
        }
    }

    pub fn checksums(&mut self) -> Vec<Value> {
        (0..2)
            .map(|id| {
                let (header, name, _) = self.a_field();
                let calculation = format!("c{}", self.random.below(CALCULATIONS));
                let mut checksum = json!({"name": format!("k{id}"), "id": id, "type": "generic",
                    "target": [header, name], "calculation": calculation,
                    "verify": self.random.one_of(2), "update": self.random.one_of(2)});
                if self.random.one_of(2) {
                    checksum["if_cond"] = self.cond();
                }
                checksum
            })
            .collect()
    }

    /// Two lists of fields that copies keep.
    pub fn field_lists(&mut self) -> Vec<Value> {
        (1..3)
            .map(|id| {
                let mut elements = vec![field("meta", AGAIN)];
                for place in 0..METADATA {
                    if self.random.one_of(2) {
                        elements.push(field("meta", &format!("m{place}")));
                    }
                }
                for name in [
                    "ingress_port",
                    "packet_length",
                    "egress_spec",
                    "instance_type",
                ] {
                    if self.random.one_of(4) {
                        elements.push(field("standard_metadata", name));
                    }
                }
                json!({"id": id, "name": format!("l{id}"), "elements": elements})
            })
            .collect()
    }

    /// An action of ingress or egress that clones the packet or lets it begin again, unless that
    /// has been too often.
    pub fn again(&mut self, name: &str, id: usize, ops: [&str; 2]) -> Value {
        let again = field("meta", AGAIN);
        let few = operation("<", again.clone(), number(MOST_AGAIN));
        let few = operation("b2d", Value::Null, few);
        let more = operation("+", again.clone(), number(1));
        let mut body = vec![step("assign", json!([again, more]))];
        if self.random.below(3) > 0 {
            // The last session is not there. All lists keep what counts how often.
            let (session, kept) = (1 + self.random.below(3), 1 + self.random.below(2));
            body.push(step(ops[0], json!([number(session), number(kept)])));
        }
        if self.random.one_of(2) {
            body.push(step(ops[1], json!([number(1 + self.random.below(2))])));
        }
        if self.random.one_of(3) {
            body.push(step("truncate", json!([number(self.random.below(90))])));
        }
        let end = number(body.len() + 1);
        body.insert(0, step("_jump_if_zero", json!([few, end])));
        json!({"name": name, "id": id, "runtime_data": [], "primitives": body})
    }

    /// The fields of a digest.
    pub fn learn_lists(&mut self) -> Value {
        let elements: Vec<Value> = (0..3)
            .map(|_| {
                let (header, name, _) = self.a_field();
                field(&header, &name)
            })
            .collect();
        json!([{"id": 1, "name": "d", "elements": elements}])
    }

    /// A primitive that uses a hash, a meter, a counter or a random number, that asks for a digest,
    /// or that cuts the packet.
    pub fn extern_primitive(&mut self, parameters: usize) -> Value {
        // Metadata is seen of each packet, a header only where it is valid.
        let target = if self.random.one_of(2) {
            field("meta", &format!("m{}", self.random.below(METADATA)))
        } else {
            let (header, name, _) = self.a_field();
            field(&header, &name)
        };
        match self.random.below(7) {
            4 => step("generate_digest", json!([number(1), number(1)])),
            5 => {
                let index = operation("&", self.data(parameters), number(7));
                let counter = json!({"type": "counter_array", "value": "n"});
                step("count", json!([counter, index]))
            }
            6 => {
                // The lowest may be above the highest.
                let low = number(self.random.below(300));
                let high = number(self.random.pick(&[0, 255, 0xffff_ffff]));
                step("modify_field_rng_uniform", json!([target, low, high]))
            }
            0 => step("truncate", json!([number(self.random.below(90))])),
            1 => {
                let index = operation("&", self.data(parameters), number(7));
                let meter = json!({"type": "meter_array", "value": "m"});
                step("execute_meter", json!([meter, index, target]))
            }
            _ => {
                let calculation = format!("c{}", self.random.below(CALCULATIONS));
                let calculation = json!({"type": "calculation", "value": calculation});
                let base = number(self.random.below(256));
                let size = number(self.random.pick(&[1, 7, 256, 0x1_0000, 0x1_0000_0000]));
                step(
                    "modify_field_with_hash_based_offset",
                    json!([target, base, calculation, size]),
                )
            }
        }
    }
}

/// A meter: of each rate its tokens a second, the most tokens, and millionths of those it has.
#[derive(Clone)]
pub struct Meter {
    pub committed: (u64, u64, u64),
    pub peak: (u64, u64, u64),
    pub filled: u64,
}

impl Meter {
    /// The colour of one packet: RFC 2698.
    pub fn color(&mut self, now: u64) -> u32 {
        let elapsed = now - self.filled;
        self.filled = now;
        for (rate, burst, has) in [&mut self.committed, &mut self.peak] {
            *has = (*has + *rate * elapsed).min(*burst * 1_000_000);
        }
        let enough = |bucket: &(u64, u64, u64)| bucket.2 >= 1_000_000;
        match (enough(&self.peak), enough(&self.committed)) {
            (false, _) => 2,
            (true, false) => {
                self.peak.2 -= 1_000_000;
                1
            }
            (true, true) => {
                self.peak.2 -= 1_000_000;
                self.committed.2 -= 1_000_000;
                0
            }
        }
    }
}

impl Interpreter<'_> {
    pub fn calculate(&self, packet: &Packet, calculation: &Value) -> u64 {
        let mut bits: Vec<bool> = Vec::new();
        let push = |bits: &mut Vec<bool>, value: &BigInt, width: u32| {
            bits.extend((0..width).rev().map(|place| value.bit(place.into())));
        };
        let push_field = |bits: &mut Vec<bool>, header: &str, name: &str| {
            let width = self.width(packet, header, name);
            let value = &packet.values[&(header.to_owned(), name.to_owned())];
            push(bits, &wrapped(value, width), width);
        };
        for part in list(&calculation["input"]) {
            let value = &part["value"];
            match text(&part["type"]) {
                "field" if packet.valid[text(&value[0])] => {
                    push_field(&mut bits, text(&value[0]), text(&value[1]));
                }
                "header" if packet.valid[text(value)] => {
                    for (name, _, _) in &self.fields[text(value)] {
                        push_field(&mut bits, text(value), name);
                    }
                }
                "hexstr" => {
                    let width = part["bitwidth"].as_u64().expect("a number") as u32;
                    push(&mut bits, &hex(value), width);
                }
                // Whole bytes after whole bytes.
                "payload" => {
                    bits.resize(bits.len().next_multiple_of(8), false);
                    for byte in &packet.rest {
                        push(&mut bits, &BigInt::from(*byte), 8);
                    }
                }
                // What is not valid is left out.
                _ => {}
            }
        }
        let byte = |bits: &[bool]| {
            let bit = |place| u8::from(*bits.get(place).unwrap_or(&false));
            (0..8).fold(0, |all, place| all * 2 + bit(place))
        };
        let bytes: Vec<u8> = bits.chunks(8).map(byte).collect();
        hash(text(&calculation["algo"]), &bytes)
    }

    /// The checksums that are verified or updated now.
    fn checksums(&self, packet: &Packet, what: &str) -> Vec<&Value> {
        let all = list(&self.program["checksums"]).iter();
        let applies =
            |cond: &Value| cond.is_null() || self.data(packet, cond, &[]) != BigInt::from(0);
        all.filter(|checksum| checksum[what] == true && applies(&checksum["if_cond"]))
            .collect()
    }

    pub fn is_checksum_wrong(&self, packet: &Packet) -> bool {
        self.checksums(packet, "verify").iter().any(|checksum| {
            let (header, name) = (text(&checksum["target"][0]), text(&checksum["target"][1]));
            let value = &packet.values[&(header.to_owned(), name.to_owned())];
            let value = wrapped(value, self.row(header, name).1);
            let computed = self.named_calculation(packet, text(&checksum["calculation"]));
            packet.valid[header] && value != BigInt::from(computed)
        })
    }

    pub fn update_checksums(&self, packet: &mut Packet) {
        for checksum in list(&self.program["checksums"]) {
            if self.checksums(packet, "update").contains(&checksum) {
                let (header, name) = (text(&checksum["target"][0]), text(&checksum["target"][1]));
                let computed = self.named_calculation(packet, text(&checksum["calculation"]));
                self.set(packet, header, name, &BigInt::from(computed));
            }
        }
    }
}
