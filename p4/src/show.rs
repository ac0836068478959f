//! Expressions, keys and actions as text, for traces.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::int::Int;
use crate::program::{
    Array, Comparison, Cond, Data, HeaderRef, Match, Operator, Program, Table, UnionRef,
};
use crate::run::phv::Phv;
use crate::table::{Does, Entry, Handle, TableState};

/// The most characters of a step in a trace, or of an expression, a key or a call in one: a name
/// may have 512.
const MAX_CHARS: usize = 600;

/// A step or a part of one, cut if it is longer than one reads.
pub fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_CHARS) {
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// A condition with the values of its fields, shortened.
pub fn cond(program: &Program, phv: &Phv, cond: &Cond) -> String {
    shortened(Shower { program, phv }.cond(cond))
}

/// A call of an action.
pub fn action(program: &Program, action: usize, data: &[Int]) -> String {
    let row = &program.actions[action];
    let names = row.parameters.iter().zip(data);
    let values: Vec<String> = names
        .map(|((name, _), value)| format!("{name}={value}"))
        .collect();
    format!("{}({})", row.name, values.join(", "))
}

/// The key of a table, with its values.
pub fn key(table: &Table, values: &[Int]) -> String {
    let parts = table.key.iter().zip(values);
    let parts: Vec<String> = parts
        .map(|(part, value)| format!("{}={value}", part.name))
        .collect();
    parts.join(" ")
}

/// The entry that comes nearest to matching, and in what it differs: in as few parts of the key as
/// can be, and there in as low bits. `None` if there are no entries.
pub fn near_miss(table: &Table, state: &TableState, values: &[Int]) -> Option<String> {
    let distance = |entry: &Entry| {
        let parts = table.key.iter().zip(&entry.key).zip(values);
        let wrong = parts.filter(|((part, wanted), value)| !wanted.matches(value, part.width));
        let bits = wrong.map(|((part, wanted), value)| {
            let (wanted, mask) = wanted.value_and_mask(part.width);
            wanted.xor(value).and(&mask).bits()
        });
        bits.fold((0_usize, 0), |(count, all), bits| (count + 1, all + bits))
    };
    let (handle, entry) = state.iter().min_by_key(|(_, entry)| distance(entry))?;
    let parts = table.key.iter().zip(&entry.key).zip(values);
    let wrong = parts.filter(|((part, wanted), value)| !wanted.matches(value, part.width));
    let wrong: Vec<String> = wrong
        .map(|((part, wanted), _)| format!("{}={}", part.name, matched(wanted)))
        .collect();
    Some(format!(
        "nearest: entry {handle}, which wants {}",
        wrong.join(" and ")
    ))
}

/// The name of an array, and its `cells` with their indices, at most `most`, a line each.
pub fn cells(array: &Array, cells: impl Iterator<Item = (usize, String)>, most: usize) -> String {
    let mut text = format!("{} ({} cells)\n", array.name, array.size);
    for (number, (index, value)) in cells.enumerate() {
        if number == most {
            text.push_str(&format!("  and others from {index} on\n"));
            break;
        }
        text.push_str(&format!("  {index}: {value}\n"));
    }
    text
}

/// A table with at most `most` of its entries from the number `from` on, a line each.
pub fn table(
    program: &Program,
    table: usize,
    state: &TableState,
    (from, most): (Handle, usize),
) -> String {
    let row = &program.tables[table];
    let key = row.key.iter();
    let key: Vec<String> = key
        .map(|part| format!("{}: {}", part.name, part.kind.name()))
        .collect();
    let mut text = format!("table {} ({})\n", row.name, key.join(", "));
    for (number, (handle, entry)) in state.iter_from(from).enumerate() {
        if number == most {
            text.push_str(&format!("  and others from {handle} on\n"));
            break;
        }
        let parts = row.key.iter().zip(&entry.key);
        let parts: Vec<String> = parts
            .map(|(part, wanted)| format!("{}={}", part.name, matched(wanted)))
            .collect();
        text.push_str(&format!("  {handle}: {}", parts.join(" ")));
        if state.has_priorities() {
            text.push_str(&format!(" priority={}", entry.priority));
        }
        let packets = state.count(handle).packets;
        text.push_str(&format!(
            " {} packets={packets}\n",
            does(program, &entry.does)
        ));
    }
    if let Some(default) = &state.default {
        text.push_str(&format!("  default: {}\n", does(program, default)));
    }
    text
}

fn does(program: &Program, does: &Does) -> String {
    match does {
        Does::Action(id, data) => action(program, *id, data),
        Does::Member(id) => format!("member {id}"),
        Does::Group(id) => format!("group {id}"),
    }
}

fn matched(wanted: &Match) -> String {
    match wanted {
        Match::Exact(value) => format!("{value}"),
        Match::Lpm(value, length) => format!("{value}/{length}"),
        Match::Ternary(value, mask) => format!("{value}&&&{mask}"),
        Match::Range(low, high) => format!("{low}..{high}"),
        Match::Any => "*".into(),
    }
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Shower<'a> {
    program: &'a Program,
    phv: &'a Phv,
}

impl Shower<'_> {
    fn cond(&self, cond: &Cond) -> String {
        match cond {
            Cond::Const(value) => format!("{value}"),
            Cond::Compare(comparison, left, right) => {
                let sign = match comparison {
                    Comparison::Equal => "==",
                    Comparison::NotEqual => "!=",
                    Comparison::Less => "<",
                    Comparison::LessOrEqual => "<=",
                    Comparison::Greater => ">",
                    Comparison::GreaterOrEqual => ">=",
                };
                format!("{} {sign} {}", self.data(left), self.data(right))
            }
            Cond::SameBool(left, right) => {
                format!("({}) == ({})", self.cond(left), self.cond(right))
            }
            Cond::SameHeader(left, right) => {
                format!("{} == {}", self.header(left), self.header(right))
            }
            Cond::SameUnion(left, right) => {
                format!("{} == {}", self.union(left), self.union(right))
            }
            Cond::And(left, right) => format!("({} && {})", self.cond(left), self.cond(right)),
            Cond::Or(left, right) => format!("({} || {})", self.cond(left), self.cond(right)),
            Cond::Not(inner) => format!("!({})", self.cond(inner)),
            Cond::If(cond, yes, no) => {
                let (cond, yes, no) = (self.cond(cond), self.cond(yes), self.cond(no));
                format!("({cond} ? {yes} : {no})")
            }
            Cond::NotZero(data) => self.data(data),
            Cond::ValidHeader(header) => format!("{}.isValid()", self.header(header)),
            Cond::ValidUnion(union) => format!("{}.isValid()", self.union(union)),
        }
    }

    fn data(&self, data: &Data) -> String {
        match data {
            Data::Const(value) => format!("{value}"),
            Data::Field(id) => {
                let name = &self.program.fields[*id].name;
                format!("{name} ({})", self.phv.get(self.program, *id))
            }
            Data::FieldOf(header, place) => {
                let header = self.header(header);
                format!("{header}.[field {place}]")
            }
            Data::Parameter(index) => format!("parameter {index}"),
            Data::Valid(id) => {
                let name = &self.program.headers[*id].name;
                format!("{name}.isValid() ({})", self.phv.valid[*id])
            }
            Data::Binary(operator, left, right) => {
                let sign = match operator {
                    Operator::Add => "+",
                    Operator::Sub => "-",
                    Operator::Mul => "*",
                    Operator::Div => "/",
                    Operator::Rem => "%",
                    Operator::ShiftLeft => "<<",
                    Operator::ShiftRight => ">>",
                    Operator::And => "&",
                    Operator::Or => "|",
                    Operator::Xor => "^",
                    Operator::Signed => "signed in bits",
                    Operator::SaturateSigned => "saturated as signed in bits",
                    Operator::Saturate => "saturated in bits",
                };
                format!("({} {sign} {})", self.data(left), self.data(right))
            }
            Data::Not(inner) => format!("~{}", self.data(inner)),
            Data::FromBool(inner) => self.cond(inner),
            Data::If(cond, yes, no) => {
                let (cond, yes, no) = (self.cond(cond), self.data(yes), self.data(no));
                format!("({cond} ? {yes} : {no})")
            }
            Data::Register(id, index) => {
                format!("{}[{}]", self.program.registers[*id].name, self.data(index))
            }
            Data::Filled(stack, less) => {
                let stack = &self.program.stacks[*stack].name;
                if *less == 0 {
                    format!("{stack}.size")
                } else {
                    format!("{stack}.lastIndex")
                }
            }
            Data::Lookahead(offset, width) => format!("lookahead({offset}, {width})"),
        }
    }

    fn header(&self, header: &HeaderRef) -> String {
        match header {
            HeaderRef::Fixed(id) => self.program.headers[*id].name.clone(),
            HeaderRef::Element(stack, index) => {
                format!("{}[{}]", self.program.stacks[*stack].name, self.data(index))
            }
            HeaderRef::Last(stack) => format!("{}.last", self.program.stacks[*stack].name),
            HeaderRef::Member(union, place) => format!("{}.[member {place}]", self.union(union)),
        }
    }

    fn union(&self, union: &UnionRef) -> String {
        match union {
            UnionRef::Fixed(id) => self.program.unions[*id].name.clone(),
            UnionRef::Element(stack, index) => {
                format!(
                    "{}[{}]",
                    self.program.union_stacks[*stack].name,
                    self.data(index)
                )
            }
        }
    }
}
