//! Expressions, keys and actions as text, for traces.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::int::Int;
use crate::program::{Comparison, Cond, Data, HeaderRef, Operator, Program, Table, UnionRef};
use crate::run::phv::Phv;
use crate::table::TableState;

/// A condition with the values of its fields.
pub fn cond(program: &Program, phv: &Phv, cond: &Cond) -> String {
    Shower { program, phv }.cond(cond)
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

/// The entry that fails to match in the fewest parts of its key, and in which. `None` if all parts
/// of all entries fail, or the table is empty.
pub fn near_miss(table: &Table, state: &TableState, values: &[Int]) -> Option<String> {
    let wrong = |entry: &crate::table::Entry| -> Vec<&str> {
        let parts = table.key.iter().zip(&entry.key).zip(values);
        parts
            .filter(|((part, wanted), value)| !wanted.matches(value, part.width))
            .map(|((part, _), _)| &*part.name)
            .collect()
    };
    let all = state.iter().map(|(handle, entry)| (handle, wrong(entry)));
    let (handle, wrong) = all.min_by_key(|(_, wrong)| wrong.len())?;
    (wrong.len() < table.key.len()).then(|| {
        let names = wrong.join(" and ");
        format!("nearest: entry {handle} differs in {names} only")
    })
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
                format!("{name} ({})", self.phv.values[*id])
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
