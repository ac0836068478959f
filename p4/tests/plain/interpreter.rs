//! A switch that interprets the JSON of a program as it stands, slow and obvious: names, lists and
//! numbers of any size. It knows what `programs` makes, and no more.

use std::collections::BTreeMap;

use num_bigint::{BigInt, Sign};
use serde_json::Value;

use super::copies::Session;
use super::expressions::{hex, plain, signed, wrapped};
use super::externs::Meter;
use super::programs::NewEntry;

pub const STANDARD: &str = "standard_metadata";
pub const DROP: u32 = 511;
/// The errors of the parser.
const TOO_SHORT: u32 = 1;
const OUT_OF_BOUNDS: u32 = 3;
const INVALID_ARGUMENT: u32 = 6;

/// A field: its name, its width, whether it has a sign.
type Field = (String, u32, bool);

pub struct Interpreter<'a> {
    pub program: &'a Value,
    pub entries: &'a [NewEntry],
    /// The copies of multicast group 1: their ports and instances.
    pub group: Vec<(u32, u32)>,
    /// The clone sessions, of which the first is none.
    pub sessions: Vec<Session>,
    /// The cells of the meter; `None` are without rates.
    pub meters: Vec<Option<Meter>>,
    /// In microseconds.
    pub now: u64,
    /// The fields of each header.
    pub fields: BTreeMap<String, Vec<Field>>,
    /// The headers of each stack.
    pub stacks: BTreeMap<String, Vec<String>>,
    pub register: Vec<BigInt>,
    /// How often a table was hit and missed, so that a test can say that both happen.
    pub hits: usize,
    pub misses: usize,
    /// The same of clones, of packets that begin again, of meters that are not green, and of
    /// checksums that are wrong and right.
    pub clones: usize,
    pub again: usize,
    pub colored: usize,
    pub wrong: usize,
    pub right: usize,
}

/// A packet with its headers.
#[derive(Clone)]
pub struct Packet {
    pub values: BTreeMap<(String, String), BigInt>,
    pub valid: BTreeMap<String, bool>,
    pub filled: BTreeMap<String, usize>,
    /// As it arrived.
    pub frame: Vec<u8>,
    /// What the parser has not taken.
    pub rest: Vec<u8>,
    pub exit: bool,
    /// The session and the list of fields of the last clone that was asked for.
    pub clone: Option<(usize, usize)>,
    /// Lists of fields, 0 if it was not asked for.
    pub resubmit: usize,
    pub recirculate: usize,
    pub truncate: Option<usize>,
}

pub fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub fn named<'a>(all: &'a Value, name: &str) -> &'a Value {
    let found = list(all).iter().find(|one| one["name"] == name);
    found.expect("something has this name")
}

pub fn small(value: &BigInt) -> usize {
    usize::try_from(value).expect("a small number")
}

/// Bits of bytes, from the first on.
fn bits(bytes: &[u8], offset: usize, width: usize) -> BigInt {
    (offset..offset + width).fold(BigInt::from(0), |sum, at| {
        sum * 2 + (bytes[at / 8] >> (7 - at % 8) & 1)
    })
}

impl<'a> Interpreter<'a> {
    pub fn new(program: &'a Value, entries: &'a [NewEntry]) -> Self {
        let number = |value: &Value| value.as_u64().expect("a number") as u32;
        let mut fields = BTreeMap::new();
        for header in list(&program["headers"]) {
            let kind = named(&program["header_types"], text(&header["header_type"]));
            let rows = list(&kind["fields"]).iter();
            let rows = rows.map(|f| (text(&f[0]).to_owned(), number(&f[1]), f[2] == true));
            fields.insert(text(&header["name"]).to_owned(), rows.collect());
        }
        let mut stacks = BTreeMap::new();
        for stack in list(&program["header_stacks"]) {
            let ids = list(&stack["header_ids"]).iter();
            let header = |id: &Value| {
                let mut headers = list(&program["headers"]).iter();
                let found = headers.find(|header| header["id"] == *id);
                text(&found.expect("a header")["name"]).to_owned()
            };
            stacks.insert(text(&stack["name"]).to_owned(), ids.map(header).collect());
        }
        let cells = program["register_arrays"][0]["size"].as_u64();
        Self {
            program,
            entries,
            group: Vec::new(),
            sessions: Vec::new(),
            meters: Vec::new(),
            now: 0,
            fields,
            stacks,
            register: vec![BigInt::from(0); cells.expect("a number") as usize],
            hits: 0,
            misses: 0,
            clones: 0,
            again: 0,
            colored: 0,
            wrong: 0,
            right: 0,
        }
    }

    pub fn new_packet(&self, frame: &[u8]) -> Packet {
        let mut packet = Packet {
            values: BTreeMap::new(),
            valid: BTreeMap::new(),
            filled: BTreeMap::new(),
            frame: frame.to_vec(),
            rest: frame.to_vec(),
            exit: false,
            clone: None,
            resubmit: 0,
            recirculate: 0,
            truncate: None,
        };
        for header in list(&self.program["headers"]) {
            let name = text(&header["name"]);
            packet.valid.insert(name.into(), header["metadata"] == true);
            self.clear(&mut packet, name);
        }
        for stack in self.stacks.keys() {
            packet.filled.insert(stack.clone(), 0);
        }
        packet
    }

    pub fn clear(&self, packet: &mut Packet, header: &str) {
        for (field, _, _) in &self.fields[header] {
            let key = (header.to_owned(), field.clone());
            packet.values.insert(key, BigInt::from(0));
        }
    }

    pub fn standard(&self, packet: &Packet, field: &str) -> u32 {
        small(&packet.values[&(STANDARD.into(), field.into())]) as u32
    }

    pub fn set_standard(&self, packet: &mut Packet, field: &str, value: u32) {
        self.set(packet, STANDARD, field, &BigInt::from(value));
    }

    pub fn row(&self, header: &str, field: &str) -> &Field {
        let mut rows = self.fields[header].iter();
        rows.find(|(name, _, _)| name == field).expect("a field")
    }

    pub fn set(&self, packet: &mut Packet, header: &str, field: &str, value: &BigInt) {
        let (_, width, is_signed) = self.row(header, field);
        let value = if *is_signed {
            signed(value, *width)
        } else {
            wrapped(value, *width)
        };
        packet.values.insert((header.into(), field.into()), value);
    }

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
                self.extract(packet, next.ok_or(OUT_OF_BOUNDS)?)?;
                packet.filled.insert(text(first).into(), filled + 1);
            }
            "extract" => self.extract(packet, text(first))?,
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
                if !bits.is_multiple_of(8) {
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
            _ => Ok(None),
        }
    }

    fn extract(&self, packet: &mut Packet, header: &str) -> Result<(), u32> {
        let width: u32 = self.fields[header].iter().map(|(_, width, _)| width).sum();
        let length = width as usize / 8;
        if packet.rest.len() < length {
            return Err(TOO_SHORT);
        }
        let bytes: Vec<u8> = packet.rest.drain(..length).collect();
        let mut at = 0;
        for (field, width, _) in &self.fields[header] {
            let value = bits(&bytes, at, *width as usize);
            self.set(packet, header, field, &value);
            at += *width as usize;
        }
        packet.valid.insert(header.into(), true);
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
                _ => self.row(text(&names[0]), text(&names[1])).1,
            };
            let value = self.ahead_or_last(packet, part)?;
            let value = value.unwrap_or_else(|| self.data(packet, part, &[]));
            key = (key << (width.div_ceil(8) * 8)) + wrapped(&value, width);
        }
        for case in list(&state["transitions"]) {
            let matches = case["type"] == "default" || {
                let mask = hex(&case["mask"]);
                &key & &mask == hex(&case["value"]) & &mask
            };
            if matches {
                return Ok(case["next_state"].clone());
            }
        }
        Ok(Value::Null)
    }

    pub fn data(&self, packet: &Packet, value: &Value, parameters: &[BigInt]) -> BigInt {
        plain(value, &|leaf| self.leaf(packet, leaf, parameters))
    }

    fn leaf(&self, packet: &Packet, leaf: &Value, parameters: &[BigInt]) -> BigInt {
        let value = &leaf["value"];
        let size = |stack: &Value| self.stacks[text(&stack["value"])].len();
        match text(&leaf["type"]) {
            "field" if value[1] == "$valid$" => {
                BigInt::from(u8::from(packet.valid[text(&value[0])]))
            }
            "field" => packet.values[&(text(&value[0]).into(), text(&value[1]).into())].clone(),
            "runtime_data" => parameters[value.as_u64().expect("a number") as usize].clone(),
            _ => match text(&value["op"]) {
                "last_stack_index" => {
                    BigInt::from(packet.filled[text(&value["right"]["value"])]) - 1
                }
                // bmv2 gives how many are filled.
                "size_stack" if size(&value["right"]) > 0 => {
                    BigInt::from(packet.filled[text(&value["right"]["value"])])
                }
                "access_field" => match self.element(value) {
                    Some(key) => packet.values[&key].clone(),
                    None => BigInt::from(0),
                },
                other => panic!("{other} is no leaf of the grammar"),
            },
        }
    }

    /// The header and field of an element of a stack; `None` if there is no such element.
    pub fn element(&self, access: &Value) -> Option<(String, String)> {
        let header = &access["left"]["value"];
        let index = small(&hex(&header["right"]["value"]));
        let header = self.stacks[text(&header["left"]["value"])].get(index)?;
        let place = access["right"].as_u64().expect("a number") as usize;
        Some((header.clone(), self.fields[header][place].0.clone()))
    }

    pub fn deparse(&self, packet: &Packet) -> Vec<u8> {
        let mut frame = Vec::new();
        for header in list(&self.program["deparsers"][0]["order"]) {
            let header = text(header);
            if !packet.valid[header] {
                continue;
            }
            let (mut whole, mut width) = (BigInt::from(0), 0);
            for (field, bits, _) in &self.fields[header] {
                let value = &packet.values[&(header.to_owned(), field.clone())];
                whole = (whole << *bits) + wrapped(value, *bits);
                width += bits;
            }
            let bytes = whole.to_bytes_be();
            let bytes = if bytes.0 == Sign::NoSign {
                Vec::new()
            } else {
                bytes.1
            };
            frame.resize(frame.len() + width as usize / 8 - bytes.len(), 0);
            frame.extend(bytes);
        }
        frame.extend(&packet.rest);
        frame
    }
}
