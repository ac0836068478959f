//! Random programs: headers, actions and what is around them, in the JSON that p4c writes.

use num_bigint::BigInt;
use serde_json::{Value, json};

use super::expressions::{Grammar, operation};
use super::externs::{COUNTERS, METERS};
use super::profiles::NewProfile;
use super::random::Random;
use super::tables::end;
use super::unions;

/// What a part of a key wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    Exact(BigInt),
    Prefix(BigInt, u32),
    Mask(BigInt, BigInt),
    Range(BigInt, BigInt),
    Any,
}

/// What an entry does: an action with its data, or a member or group of the table's profile.
#[derive(Clone, Debug)]
pub enum NewDoes {
    Action(String, Vec<BigInt>),
    Member(u32),
    Group(u32),
}

/// An entry that the control plane adds.
#[derive(Clone, Debug)]
pub struct NewEntry {
    pub table: String,
    pub key: Vec<Wanted>,
    pub priority: i32,
    pub does: NewDoes,
}

/// A member of a value set: its parts.
#[derive(Clone, Debug)]
pub struct NewValue {
    pub set: String,
    pub parts: Vec<(BigInt, u32)>,
}

/// Elements of a stack.
pub const STACK: usize = 3;
/// Cells of the register. Indices may be higher.
const CELLS: usize = 6;
const WIDTHS: [u32; 15] = [1, 3, 4, 7, 8, 9, 13, 16, 32, 48, 64, 100, 127, 128, 203];
const DEPTH: usize = 2;
/// Fields of the metadata.
pub const METADATA: usize = 4;
/// Standard metadata that is seen of each packet, with widths of whole bytes.
pub const SEEN: [(&str, u32); 11] = [
    ("instance_type", 32),
    ("egress_rid", 16),
    ("ingress_port", 16),
    ("checksum_error", 8),
    ("packet_length", 32),
    ("ingress_global_timestamp", 48),
    ("egress_global_timestamp", 48),
    ("enq_timestamp", 32),
    ("enq_qdepth", 24),
    ("deq_timedelta", 32),
    ("deq_qdepth", 24),
];
/// Headers with a field of variable width, the name of this field, the kind of these headers, and
/// the bits of all their fields at most.
pub const VARIABLES: [&str; 2] = ["v0", "v1"];
pub const VARIABLE: &str = "v";
pub const VARIABLE_KIND: usize = 3;
const VARIABLE_BYTES: usize = 12;
pub const ACTIONS: usize = 7;
/// The field of the metadata that counts how often a packet was cloned or began again.
pub const AGAIN: &str = "again";

/// A program and its entries.
pub struct Generated {
    pub document: Value,
    pub entries: Vec<NewEntry>,
    pub profiles: Vec<NewProfile>,
    pub values: Vec<NewValue>,
}

/// A field: its header's name, its own, its width.
type Field = (String, String, u32);

pub struct Maker<'a> {
    pub random: &'a mut Random,
    /// The fields of each type of header: their names, widths and whether they have signs.
    pub kinds: Vec<Vec<(String, u32, bool)>>,
    /// The headers outside of stacks, with their types.
    pub headers: Vec<(String, usize)>,
    /// All fields that programs read and write.
    fields: Vec<Field>,
    /// The widths of the parameters of each action.
    pub actions: Vec<Vec<u32>>,
    pub entries: Vec<NewEntry>,
    pub profiles: Vec<NewProfile>,
    pub values: Vec<NewValue>,
    /// The value sets and their widths.
    pub sets: Vec<(String, u32)>,
}

/// Makes a random program.
pub fn generate(random: &mut Random) -> Generated {
    let mut maker = Maker {
        random,
        kinds: Vec::new(),
        headers: Vec::new(),
        fields: Vec::new(),
        actions: Vec::new(),
        entries: Vec::new(),
        profiles: Vec::new(),
        values: Vec::new(),
        sets: Vec::new(),
    };
    let document = maker.document();
    Generated {
        document,
        entries: maker.entries,
        profiles: maker.profiles,
        values: maker.values,
    }
}

pub fn field(header: &str, name: &str) -> Value {
    json!({"type": "field", "value": [header, name]})
}

/// The field of an element of a stack, by the place of the field.
pub fn element(stack: &str, index: usize, place: usize) -> Value {
    let stack = json!({"type": "header_stack", "value": stack});
    let index = json!({"type": "hexstr", "value": format!("{index:#x}")});
    let header = operation("dereference_header_stack", stack, index);
    operation("access_field", header, json!(place))
}

/// The names that p4c gives to standard metadata, besides their own.
fn aliases() -> Vec<Value> {
    let intrinsic = [
        "mcast_grp",
        "egress_rid",
        "ingress_global_timestamp",
        "egress_global_timestamp",
    ];
    let queueing = ["enq_timestamp", "enq_qdepth", "deq_timedelta", "deq_qdepth"];
    let named = [("intrinsic", intrinsic), ("queueing", queueing)].into_iter();
    named
        .flat_map(|(of, names)| {
            names.map(|name| json!([format!("{of}_metadata.{name}"), ["standard_metadata", name]]))
        })
        .collect()
}

impl Maker<'_> {
    fn document(&mut self) -> Value {
        let (types, headers) = self.headers();
        let states = self.states();
        let mut actions: Vec<Value> = (0..ACTIONS).map(|id| self.action(id)).collect();
        actions.push(end());
        let ingress = ["clone_ingress_pkt_to_egress", "resubmit"];
        actions.push(self.again("again_ingress", ACTIONS + 1, ingress));
        let egress = ["clone_egress_pkt_to_egress", "recirculate"];
        actions.push(self.again("again_egress", ACTIONS + 2, egress));
        let pipelines: Vec<Value> = ["ingress", "egress"]
            .iter()
            .enumerate()
            .map(|(id, name)| self.control(id, name))
            .collect();
        let stack = |name: &str, id: usize, first: usize| {
            let ids: Vec<usize> = (first..first + STACK).collect();
            json!({"name": name, "id": id, "header_type": "k0", "size": STACK, "header_ids": ids})
        };
        let first = 2 + self.headers.len();
        let (unions, union_stacks) = unions::tables(first - unions::members().len());
        let sets: Vec<Value> = self.value_sets();
        json!({
            "__meta__": {"version": [2, 23]},
            "header_types": types,
            "headers": headers,
            "header_stacks": [stack("s", 0, first), stack("t", 1, first + STACK)],
            "header_unions": unions,
            "header_union_stacks": union_stacks,
            "parse_vsets": sets,
            "field_aliases": aliases(),
            "errors": [["NoError", 0], ["PacketTooShort", 1], ["NoMatch", 2],
                ["StackOutOfBounds", 3], ["HeaderTooShort", 4], ["ParserTimeout", 5],
                ["ParserInvalidArgument", 6]],
            "parsers": [{
                "name": "parser", "id": 0, "init_state": "p0", "parse_states": states}],
            "deparsers": [{"name": "deparser", "id": 0, "order": self.order()}],
            "register_arrays": [{"name": "r", "id": 0, "bitwidth": 77, "size": CELLS}],
            "meter_arrays": [{"name": "m", "id": 0, "size": METERS, "rate_count": 2,
                "type": "packets"}],
            "counter_arrays": [{"name": "n", "id": 0, "size": COUNTERS, "is_direct": false}],
            "learn_lists": self.learn_lists(),
            "calculations": self.calculations(),
            "checksums": self.checksums(),
            "field_lists": self.field_lists(),
            "actions": actions,
            "pipelines": pipelines,
        })
    }

    /// The types of headers, and the headers.
    fn headers(&mut self) -> (Vec<Value>, Vec<Value>) {
        let standard = json!([
            ["ingress_port", 9, false],
            ["egress_spec", 9, false],
            ["egress_port", 9, false],
            ["instance_type", 32, false],
            ["packet_length", 32, false],
            ["mcast_grp", 16, false],
            ["egress_rid", 16, false],
            ["checksum_error", 1, false],
            ["parser_error", 32, false],
            ["ingress_global_timestamp", 48, false],
            ["egress_global_timestamp", 48, false],
            ["enq_timestamp", 32, false],
            ["enq_qdepth", 19, false],
            ["deq_timedelta", 32, false],
            ["deq_qdepth", 19, false]
        ]);
        for kind in 0..3 {
            let mut fields = Vec::new();
            for place in 0..1 + self.random.below(5) {
                let width = self.random.pick(&WIDTHS);
                fields.push((format!("f{place}"), width, self.random.one_of(5)));
            }
            let bits: u32 = fields.iter().map(|(_, width, _)| width).sum();
            if bits % 8 != 0 {
                fields.push((format!("rest{kind}"), 8 - bits % 8, false));
            }
            self.kinds.push(fields);
        }
        self.kinds
            .push(vec![("a".into(), 4, false), ("b".into(), 12, false)]);
        let mut meta = Vec::new();
        for place in 0..METADATA {
            let width = self.random.pick(&WIDTHS);
            meta.push(json!([format!("m{place}"), width, false]));
            self.fields
                .push(("meta".into(), format!("m{place}"), width));
        }
        let mut out = meta.clone();
        meta.push(json!([AGAIN, 8, false]));
        out.extend([json!(["s", 8, false]), json!(["t", 8, false])]);
        out.extend(SEEN.map(|(name, width)| json!([name, width, false])));
        let bits: u32 = self.fields.iter().map(|(_, _, width)| width).sum();
        out.push(json!(["rest", 8 - bits % 8, false]));
        let mut types = vec![
            json!({"name": "standard_t", "id": 0, "fields": standard}),
            json!({"name": "meta_t", "id": 1, "fields": meta}),
        ];
        for (id, fields) in self.kinds.iter().enumerate() {
            let mut fields: Vec<Value> = fields.iter().map(|(n, w, s)| json!([n, w, s])).collect();
            let mut row = json!({"name": format!("k{id}"), "id": 2 + id});
            if id == VARIABLE_KIND {
                fields.insert(1, json!([VARIABLE, "*"]));
                row["max_length"] = json!(VARIABLE_BYTES);
            }
            row["fields"] = json!(fields);
            types.push(row);
        }
        let mut headers = vec![
            json!({"name": "standard_metadata", "id": 0, "header_type": "standard_t",
                "metadata": true}),
            json!({"name": "meta", "id": 1, "header_type": "meta_t", "metadata": true}),
        ];
        for index in 0..4 {
            self.headers
                .push((format!("h{index}"), self.random.below(3)));
        }
        let variables = VARIABLES.map(|name| (name.to_owned(), VARIABLE_KIND));
        self.headers.extend(variables);
        self.headers.extend(unions::members());
        let stacks = ["s", "t"].into_iter();
        let elements = stacks.flat_map(|name| (0..STACK).map(move |i| (format!("{name}[{i}]"), 0)));
        for (name, kind) in self.headers.clone().into_iter().chain(elements) {
            let id = headers.len();
            headers.push(
                json!({"name": name, "id": id, "header_type": format!("k{kind}"),
                "metadata": false}),
            );
            let fields = self.kinds[kind].iter();
            let named = fields.map(|(field, width, _)| (name.clone(), field.clone(), *width));
            self.fields.extend(named);
        }
        types.push(json!({"name": "out_t", "id": types.len(), "fields": out}));
        headers.push(
            json!({"name": "out", "id": headers.len(), "header_type": "out_t",
            "metadata": false}),
        );
        (types, headers)
    }

    /// A field that is read or written.
    pub fn a_field(&mut self) -> Field {
        let index = self.random.below(self.fields.len());
        self.fields[index].clone()
    }

    /// The leaves of expressions, in an action with so many parameters.
    fn leaf(&self, random: &mut Random, parameters: usize) -> Value {
        match random.below(13) {
            12 => unions::truth(random),
            0 | 1 => random.number(),
            2 | 3 if parameters > 0 => {
                json!({"type": "runtime_data", "value": random.below(parameters)})
            }
            4 => {
                let name = random.pick(&[
                    "ingress_port",
                    "egress_port",
                    "egress_rid",
                    "instance_type",
                    "parser_error",
                    "checksum_error",
                    "packet_length",
                ]);
                field("standard_metadata", name)
            }
            5 => {
                let index = random.below(self.headers.len());
                field(&self.headers[index].0, "$valid$")
            }
            // An index may be one too high.
            6 => {
                let place = random.below(self.kinds[0].len());
                element(random.pick(&["s", "t"]), random.below(STACK + 1), place)
            }
            7 => {
                let op = random.pick(&["last_stack_index", "size_stack"]);
                let stack = json!({"type": "header_stack", "value": random.pick(&["s", "t"])});
                operation(op, Value::Null, stack)
            }
            _ => {
                let (header, name, _) = &self.fields[random.below(self.fields.len())];
                field(header, name)
            }
        }
    }

    /// An expression that is a number.
    pub fn data(&mut self, parameters: usize) -> Value {
        let mut random = Random(self.random.below(usize::MAX) as u64);
        let leaf = |random: &mut Random| self.leaf(random, parameters);
        let depth = random.below(DEPTH + 1);
        Grammar(&leaf).data(&mut random, depth)
    }

    /// One that is true or false.
    pub fn cond(&mut self) -> Value {
        let mut random = Random(self.random.below(usize::MAX) as u64);
        let leaf = |random: &mut Random| self.leaf(random, 0);
        Grammar(&leaf).cond(&mut random, DEPTH)
    }

    fn action(&mut self, id: usize) -> Value {
        let widths: Vec<u32> = (0..self.random.below(3))
            .map(|_| self.random.pick(&WIDTHS))
            .collect();
        let count = widths.len();
        let parameters: Vec<Value> = widths
            .iter()
            .enumerate()
            .map(|(i, width)| json!({"name": format!("p{i}"), "bitwidth": width}))
            .collect();
        self.actions.push(widths);
        let steps = 1 + self.random.below(5);
        let body: Vec<Value> = (0..steps)
            .map(|at| self.primitive(at, steps, count))
            .collect();
        json!({"name": format!("a{id}"), "id": id, "runtime_data": parameters, "primitives": body})
    }

    /// The order of headers in what leaves.
    fn order(&mut self) -> Vec<String> {
        let stacks = (0..2 * STACK).map(|i| format!("{}[{}]", ["s", "t"][i / STACK], i % STACK));
        let mut rest: Vec<String> = self.headers.iter().map(|(name, _)| name.clone()).collect();
        rest.extend(stacks);
        let mut order = vec!["out".to_owned()];
        while !rest.is_empty() {
            order.push(rest.swap_remove(self.random.below(rest.len())));
        }
        order
    }
}

/// A packet: bytes that are often all zeros or all ones, and often too few.
pub fn packet(random: &mut Random) -> Vec<u8> {
    let length = [random.below(300), random.below(80)][random.below(2)];
    (0..length)
        .map(|_| [0, 0xff, random.below(256)][random.below(3)] as u8)
        .collect()
}
