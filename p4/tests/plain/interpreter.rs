//! A switch that interprets the JSON of a program as it stands, slow and obvious: names, lists and
//! numbers of any size. It knows what `programs` makes, and no more.

use std::cell::Cell;
use std::collections::BTreeMap;

use num_bigint::{BigInt, Sign};
use serde_json::Value;

use super::copies::Session;
use super::expressions::{plain, signed, wrapped};
use super::externs::{COUNTERS, Meter};
use super::profiles::NewProfile;
use super::programs::{NewEntry, VARIABLE};
use super::random::Random;

pub const STANDARD: &str = "standard_metadata";
pub const DROP: u32 = 511;
/// A field: its name, its width, whether it has a sign.
type Field = (String, u32, bool);

pub struct Interpreter<'a> {
    pub program: &'a Value,
    pub entries: &'a [NewEntry],
    /// Those of the tables that have no actions of their own.
    pub profiles: &'a [NewProfile],
    /// The members of each value set, as keys of the parser.
    pub value_sets: BTreeMap<String, Vec<BigInt>>,
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
    /// The headers of each union, and the unions of each stack of them.
    pub unions: BTreeMap<String, Vec<String>>,
    pub union_stacks: BTreeMap<String, Vec<String>>,
    pub register: Vec<BigInt>,
    /// The packets and bytes of each cell of the counter.
    pub counter: Vec<(u64, u64)>,
    /// The values of all digests so far.
    pub digests: Vec<Vec<BigInt>>,
    /// Makes the random numbers of the program.
    pub random: Random,
    /// How many there were.
    pub drawn: usize,
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
    /// Packets whose member a selector chose, and those that a value set had.
    pub chosen: usize,
    pub in_sets: Cell<usize>,
    /// Headers with a field of variable width that has bits, and members of unions.
    pub variable: Cell<usize>,
    pub in_unions: Cell<usize>,
}

/// The fields of a type of header. One of variable width has as many bits as the others leave it.
fn fields_of(kind: &Value) -> Vec<Field> {
    let number = |value: &Value| value.as_u64().expect("a number") as u32;
    let rows = list(&kind["fields"]).iter();
    let fixed: u32 = rows
        .clone()
        .filter(|row| row[0] != VARIABLE)
        .map(|row| number(&row[1]))
        .sum();
    rows.map(|row| {
        let width = if row[0] == VARIABLE {
            8 * number(&kind["max_length"]) - fixed
        } else {
            number(&row[1])
        };
        (text(&row[0]).to_owned(), width, row[2] == true)
    })
    .collect()
}

/// A packet with its headers.
#[derive(Clone)]
pub struct Packet {
    pub values: BTreeMap<(String, String), BigInt>,
    pub valid: BTreeMap<String, bool>,
    pub filled: BTreeMap<String, usize>,
    /// By header: the bits that its field of variable width has.
    pub lengths: BTreeMap<String, u32>,
    /// The bytes that it would have if it left now.
    pub length: usize,
    /// The port that it arrived at, whatever the program writes to its metadata.
    pub port: u32,
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
    /// Whether a digest was asked for.
    pub digest: bool,
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

impl<'a> Interpreter<'a> {
    pub fn new(program: &'a Value, entries: &'a [NewEntry], profiles: &'a [NewProfile]) -> Self {
        let mut fields = BTreeMap::new();
        for header in list(&program["headers"]) {
            let kind = named(&program["header_types"], text(&header["header_type"]));
            fields.insert(text(&header["name"]).to_owned(), fields_of(kind));
        }
        // The names of what rows of the program have by their numbers.
        let by_ids = |rows: &str, ids: &str, of: &str| {
            let name = |id: &Value| {
                let found = list(&program[of]).iter().find(|one| one["id"] == *id);
                text(&found.expect("something has this id")["name"]).to_owned()
            };
            let rows = list(&program[rows]).iter();
            rows.map(|row| {
                let names = list(&row[ids]).iter().map(name).collect();
                (text(&row["name"]).to_owned(), names)
            })
            .collect()
        };
        let cells = program["register_arrays"][0]["size"].as_u64();
        Self {
            program,
            entries,
            profiles,
            value_sets: BTreeMap::new(),
            group: Vec::new(),
            sessions: Vec::new(),
            meters: Vec::new(),
            now: 0,
            fields,
            stacks: by_ids("header_stacks", "header_ids", "headers"),
            unions: by_ids("header_unions", "header_ids", "headers"),
            union_stacks: by_ids("header_union_stacks", "header_union_ids", "header_unions"),
            register: vec![BigInt::from(0); cells.expect("a number") as usize],
            counter: vec![(0, 0); COUNTERS],
            digests: Vec::new(),
            random: Random(0),
            drawn: 0,
            hits: 0,
            misses: 0,
            clones: 0,
            again: 0,
            colored: 0,
            wrong: 0,
            right: 0,
            chosen: 0,
            in_sets: Cell::default(),
            variable: Cell::default(),
            in_unions: Cell::default(),
        }
    }

    pub fn new_packet(&self, port: u32, frame: &[u8]) -> Packet {
        let mut packet = Packet {
            values: BTreeMap::new(),
            valid: BTreeMap::new(),
            filled: BTreeMap::new(),
            lengths: BTreeMap::new(),
            length: frame.len(),
            port,
            frame: frame.to_vec(),
            rest: frame.to_vec(),
            exit: false,
            clone: None,
            digest: false,
            resubmit: 0,
            recirculate: 0,
            truncate: None,
        };
        for header in list(&self.program["headers"]) {
            let name = text(&header["name"]);
            packet.valid.insert(name.into(), header["metadata"] == true);
            self.clear(&mut packet, name);
        }
        for stack in self.stacks.keys().chain(self.union_stacks.keys()) {
            packet.filled.insert(stack.clone(), 0);
        }
        packet
    }

    pub fn clear(&self, packet: &mut Packet, header: &str) {
        packet.lengths.insert(header.into(), 0);
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

    /// The bits that a field has now.
    pub fn width(&self, packet: &Packet, header: &str, field: &str) -> u32 {
        match field {
            VARIABLE => packet.lengths[header],
            _ => self.row(header, field).1,
        }
    }

    /// The bytes of a header.
    pub fn bytes(&self, packet: &Packet, header: &str) -> usize {
        let fields = self.fields[header].iter();
        let bits: u32 = fields
            .map(|(field, _, _)| self.width(packet, header, field))
            .sum();
        bits as usize / 8
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
                _ if self.truth(packet, value).is_some() => {
                    BigInt::from(u8::from(self.truth(packet, value) == Some(true)))
                }
                other => panic!("{other} is no leaf of the grammar"),
            },
        }
    }

    /// The header and field of `access_field`; `None` if a stack has no such element.
    pub fn element(&self, access: &Value) -> Option<(String, String)> {
        let header = self.header(&access["left"])?;
        let place = access["right"].as_u64().expect("a number") as usize;
        let field = self.fields[&header][place].0.clone();
        Some((header, field))
    }

    pub fn deparse(&self, packet: &Packet) -> Vec<u8> {
        let mut frame = Vec::new();
        for header in list(&self.program["deparsers"][0]["order"]) {
            let header = text(header);
            if !packet.valid[header] {
                continue;
            }
            let (mut whole, mut width) = (BigInt::from(0), 0);
            for (field, _, _) in &self.fields[header] {
                let bits = self.width(packet, header, field);
                let value = &packet.values[&(header.to_owned(), field.clone())];
                whole = (whole << bits) + wrapped(value, bits);
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
