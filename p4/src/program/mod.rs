//! A program in its compact form: indices instead of names.

mod expression;
mod parser;

use alloc::string::String;
use alloc::vec::Vec;

use crate::hash::Algorithm;
use crate::int::Int;
use crate::naming::named;

pub use expression::{
    AnyStack, Comparison, Cond, Data, ExternOp, HeaderOp, HeaderRef, Operator, PacketOp, Primitive,
    Target, UnionRef,
};
pub use parser::{ParserOp, SelectCase, SelectKey, State};

/// Index of a header or metadata instance in [`Program::headers`].
pub type HeaderId = usize;
/// Index of a field in [`Program::fields`].
pub type FieldId = usize;
/// Index of a header stack in [`Program::stacks`].
pub type StackId = usize;

/// A header or metadata instance.
#[derive(Debug)]
pub struct Header {
    pub name: String,
    /// The number of its type; headers are copied and compared only within a type. That of metadata
    /// is never that of another header.
    pub kind: usize,
    pub metadata: bool,
    /// Its first field. The others follow.
    pub first: FieldId,
    pub count: usize,
    /// The bits of its fields, without that of variable width.
    pub fixed_bits: u32,
    /// The field of variable width, and how many bits it has at most.
    pub variable: Option<(FieldId, u32)>,
    /// The union that it is a member of.
    pub union: Option<usize>,
    /// Where its fields are among those of all headers: the first bit, which begins a byte, and how
    /// many bytes.
    pub start: usize,
    pub bytes: usize,
}

impl Header {
    /// Whether its fields are kept as a packet has them: one after the other, all of them.
    pub fn packed(&self) -> bool {
        !self.metadata && self.variable.is_none()
    }

    /// Its fields in their order.
    pub fn fields(&self) -> core::ops::Range<FieldId> {
        self.first..self.first + self.count
    }
}

/// A field of a header or of metadata.
#[derive(Debug)]
pub struct Field {
    /// `HEADER.FIELD`.
    pub name: String,
    /// The header that it is of.
    pub header: HeaderId,
    /// In bits; the most for a field of variable width.
    pub width: u32,
    /// In two's complement.
    pub signed: bool,
    /// The width is given when the header is extracted.
    pub variable: bool,
    /// Its first bit among those of all headers.
    pub start: usize,
    /// Whether it can be read and written as a machine word.
    pub word: bool,
}

/// A header stack, or a stack of header unions.
#[derive(Debug)]
pub struct Stack {
    pub name: String,
    /// The headers or unions in it.
    pub elements: Vec<usize>,
}

/// A header union.
#[derive(Debug)]
pub struct Union {
    pub name: String,
    pub members: Vec<HeaderId>,
}

/// An action.
#[derive(Debug)]
pub struct Action {
    /// The name that P4Info has, too.
    pub name: String,
    /// The names and widths of its parameters.
    pub parameters: Vec<(String, u32)>,
    /// Its steps.
    pub body: Vec<Primitive>,
}

/// A value set of the parser, which the control plane fills.
#[derive(Debug)]
pub struct ValueSet {
    pub name: String,
    /// In bits, of all parts.
    pub width: u32,
    pub size: usize,
}

/// How a part of a table's key is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// Equal.
    Exact,
    /// The longest prefix.
    Lpm,
    /// Equal in the bits of a mask.
    Ternary,
    /// Between two values.
    Range,
    /// Equal, or any.
    Optional,
    /// Whether a header is valid.
    Valid,
}

impl MatchKind {
    /// Its name in P4.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Lpm => "lpm",
            Self::Ternary => "ternary",
            Self::Range => "range",
            Self::Optional => "optional",
            Self::Valid => "valid",
        }
    }
}

/// A part of a table's key.
#[derive(Debug)]
pub struct KeyPart {
    /// The name that P4Info has, too.
    pub name: String,
    /// The name of the field that it is.
    pub target: String,
    /// How it is matched.
    pub kind: MatchKind,
    /// What is matched.
    pub value: Data,
    /// In bits.
    pub width: u32,
    /// What is left of the field before it is compared.
    pub mask: Option<Int>,
}

/// What is next in a control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Node {
    Table(usize),
    Condition(usize),
    #[default]
    End,
}

/// How a table chooses what is next.
#[derive(Debug)]
pub enum Next {
    /// By the action, in the order of [`Table::actions`].
    Action(Vec<Node>),
    Hit(Node, Node),
}

/// A table.
#[derive(Debug)]
pub struct Table {
    /// The name that P4Info has, too.
    pub name: String,
    /// What is compared with its entries.
    pub key: Vec<KeyPart>,
    /// The actions that its entries may have.
    pub actions: Vec<usize>,
    /// How many entries it has at most.
    pub size: usize,
    /// What is next after an action.
    pub next: Next,
    /// What is next if there is no action.
    pub base_next: Node,
    /// The action profile that has its actions.
    pub profile: Option<usize>,
    /// Entries have counters.
    pub counters: bool,
    /// The direct meter, and where its colour goes.
    pub meter: Option<(usize, FieldId)>,
    /// Entries may have a timeout.
    pub timeout: bool,
    /// The default action and its data.
    pub default: Option<(usize, Vec<Int>)>,
    /// The default action cannot be changed.
    pub const_default: bool,
    /// The program has its entries, which cannot be changed.
    pub const_entries: bool,
    /// The entries of the program.
    pub entries: Vec<ConstEntry>,
}

/// How an entry matches a part of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// This value.
    Exact(Int),
    /// The value, and how many of its first bits count.
    Lpm(Int, u32),
    /// The value and its mask.
    Ternary(Int, Int),
    /// From the first to the second, with both.
    Range(Int, Int),
    /// Any value.
    Any,
}

/// An entry that the program has.
#[derive(Debug)]
pub struct ConstEntry {
    pub key: Vec<Match>,
    pub priority: i32,
    pub action: usize,
    pub data: Vec<Int>,
}

/// A condition of a control.
#[derive(Debug)]
pub struct Condition {
    pub name: String,
    pub cond: Cond,
    pub yes: Node,
    pub no: Node,
}

/// An action profile, with its selector if it has one.
#[derive(Debug)]
pub struct Profile {
    pub name: String,
    pub size: usize,
    pub selector: Option<Calculation>,
}

/// A part of what a hash or checksum is computed of.
#[derive(Debug)]
pub enum Input {
    /// Fields of a header that follow each other, by their first bit and their bits together.
    Bits(HeaderId, usize, u32),
    /// A field of variable width.
    Field(FieldId),
    Const(Int, u32),
    Header(HeaderId),
    /// What follows the headers in the packet.
    Payload,
}

/// A hash or checksum.
#[derive(Debug)]
pub struct Calculation {
    pub name: String,
    pub algorithm: Algorithm,
    pub input: Vec<Input>,
}

/// A checksum that is verified after the parser or updated before the deparser.
#[derive(Debug)]
pub struct Checksum {
    pub target: FieldId,
    pub calculation: usize,
    pub condition: Option<Cond>,
    pub verify: bool,
    pub update: bool,
}

/// Counters, meters or registers under one name.
#[derive(Debug)]
pub struct Array {
    /// The name that P4Info has, too.
    pub name: String,
    /// How many cells it has.
    pub size: usize,
    /// It belongs to the entries of a table.
    pub direct: bool,
    /// The name of that table.
    pub table: Option<String>,
    /// The bits of a register; 0 for others.
    pub width: u32,
    /// A meter counts bytes, and not packets.
    pub bytes: bool,
}

/// Fields under one name: those that a clone keeps, or that a digest has.
#[derive(Debug)]
pub struct FieldList {
    /// The number by which primitives name it.
    pub id: u64,
    /// The name that P4Info has, too.
    pub name: String,
    /// What it has, in order.
    pub elements: Vec<Data>,
    /// The bits of each element, 0 for what is no field, and whether it is in two's complement.
    pub fields: Vec<(u32, bool)>,
}

/// Fields of the metadata that the architecture writes or reads, if the program has them.
#[derive(Debug, Default)]
pub struct Standard {
    pub ingress_port: Option<FieldId>,
    pub egress_spec: Option<FieldId>,
    pub egress_port: Option<FieldId>,
    pub instance_type: Option<FieldId>,
    pub packet_length: Option<FieldId>,
    pub parser_error: Option<FieldId>,
    pub checksum_error: Option<FieldId>,
    pub mcast_grp: Option<FieldId>,
    pub egress_rid: Option<FieldId>,
    pub priority: Option<FieldId>,
    pub ingress_timestamp: Option<FieldId>,
    pub egress_timestamp: Option<FieldId>,
    pub enq_timestamp: Option<FieldId>,
    pub enq_qdepth: Option<FieldId>,
    pub deq_timedelta: Option<FieldId>,
    pub deq_qdepth: Option<FieldId>,
}

/// The errors of the core library, as the program numbers them.
#[derive(Debug, Default)]
pub struct CoreErrors {
    pub packet_too_short: u32,
    pub stack_out_of_bounds: u32,
    pub header_too_short: u32,
    pub parser_timeout: u32,
    pub parser_invalid_argument: u32,
}

/// A program that has been checked: every index in it is within its list. The default is none:
/// packets end at once.
#[derive(Debug, Default)]
pub struct Program {
    /// Headers and metadata.
    pub headers: Vec<Header>,
    /// The fields of all headers and metadata.
    pub fields: Vec<Field>,
    /// The bits of all fields.
    pub bits: usize,
    /// The bytes that all headers take, each beginning with a byte.
    pub bytes: usize,
    /// Header stacks.
    pub stacks: Vec<Stack>,
    /// Header unions.
    pub unions: Vec<Union>,
    /// Stacks of header unions.
    pub union_stacks: Vec<Stack>,
    /// What clones and the like keep.
    pub field_lists: Vec<FieldList>,
    /// What digests have.
    pub digests: Vec<FieldList>,
    /// The errors of the program, by number.
    pub errors: Vec<(String, u32)>,
    /// The numbers of the errors that the parser itself makes.
    pub core_errors: CoreErrors,
    /// The states of the parser.
    pub states: Vec<State>,
    /// The first of them.
    pub start: usize,
    /// The value sets of the parser.
    pub value_sets: Vec<ValueSet>,
    /// The headers in the order in which the deparser writes them.
    pub deparse: Vec<HeaderId>,
    /// What the deparser does before.
    pub deparser_body: Vec<Primitive>,
    /// Actions.
    pub actions: Vec<Action>,
    /// Tables of both controls.
    pub tables: Vec<Table>,
    /// Conditions of both controls.
    pub conditions: Vec<Condition>,
    /// The first of ingress.
    pub ingress: Node,
    /// The first of egress.
    pub egress: Node,
    /// Action profiles.
    pub profiles: Vec<Profile>,
    /// Hashes and checksums.
    pub calculations: Vec<Calculation>,
    /// What is verified and updated.
    pub checksums: Vec<Checksum>,
    /// Counters.
    pub counters: Vec<Array>,
    /// Meters.
    pub meters: Vec<Array>,
    /// Registers.
    pub registers: Vec<Array>,
    /// The fields of the architecture.
    pub standard: Standard,
}

/// What a program has under names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A table.
    Table,
    /// An action profile, with or without a selector.
    Profile,
    /// An array of counters.
    Counter,
    /// An array of meters.
    Meter,
    /// An array of registers.
    Register,
    /// A value set of the parser.
    ValueSet,
    /// A hash or checksum.
    Calculation,
}

impl Program {
    /// Returns true if a part of a table's key is a field in two's complement.
    pub fn is_signed(&self, part: &KeyPart) -> bool {
        let field = part.value.field();
        field.is_some_and(|field| self.fields[field].signed)
    }

    /// The index of what is called `name`, as calls of a switch take it.
    pub fn index(&self, kind: Named, name: &str) -> Option<usize> {
        let array = |arrays: &[Array]| arrays.iter().position(|row| row.name == name);
        match kind {
            Named::Table => self.tables.iter().position(|row| row.name == name),
            Named::Profile => self.profiles.iter().position(|row| row.name == name),
            Named::Counter => array(&self.counters),
            Named::Meter => array(&self.meters),
            Named::Register => array(&self.registers),
            Named::ValueSet => self.value_sets.iter().position(|row| row.name == name),
            Named::Calculation => self.calculations.iter().position(|row| row.name == name),
        }
    }

    /// The same for a name or its end, as commands take it: in a whole part of the name, or in any.
    /// Errors: a sentence, also if several names end so.
    pub fn named(&self, kind: Named, name: &str) -> Result<usize, String> {
        let (names, what): (Vec<&str>, &str) = match kind {
            Named::Table => (names(&self.tables, |row| &row.name), "table"),
            Named::Profile => (names(&self.profiles, |row| &row.name), "action profile"),
            Named::Counter => (names(&self.counters, |row| &row.name), "counter"),
            Named::Meter => (names(&self.meters, |row| &row.name), "meter"),
            Named::Register => (names(&self.registers, |row| &row.name), "register"),
            Named::ValueSet => (names(&self.value_sets, |row| &row.name), "value set"),
            Named::Calculation => (names(&self.calculations, |row| &row.name), "calculation"),
        };
        named(names.into_iter().enumerate(), name, what)
    }
}

/// The names of rows.
fn names<T>(rows: &[T], name: impl Fn(&T) -> &str) -> Vec<&str> {
    rows.iter().map(name).collect()
}
