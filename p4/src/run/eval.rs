//! Evaluates expressions.

use core::cell::Cell;

use super::bits;
use super::phv::Phv;
use crate::int::Int;
use crate::program::{
    Comparison, Cond, Data, HeaderId, HeaderRef, Operator, Program, Target, UnionRef,
};
use crate::state::Paged;

/// What an expression read that is not there. Its value is 0 then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// An element of a stack.
    Element,
    /// Bytes of the packet.
    Bytes,
}

/// All that expressions read.
pub struct View<'a> {
    pub program: &'a Program,
    pub phv: &'a Phv,
    pub registers: &'a [Paged<Int>],
    /// The parameters of the action.
    pub parameters: &'a [Int],
    /// What the parser has before it.
    pub ahead: &'a [u8],
    /// What was missing, the last time.
    pub missing: Cell<Option<Missing>>,
}

impl View<'_> {
    /// The value of a number.
    pub fn data(&self, data: &Data) -> Int {
        match data {
            Data::Const(value) => value.clone(),
            Data::Field(id) => self.phv.values[*id].clone(),
            Data::FieldOf(header, place) => match self.header(header) {
                Some(id) => self.phv.values[self.program.headers[id].first + place].clone(),
                None => Int::ZERO,
            },
            Data::Parameter(index) => self.parameters.get(*index).cloned().unwrap_or(Int::ZERO),
            Data::Valid(id) => Int::from(self.phv.valid[*id]),
            Data::Binary(operator, left, right) => {
                binary(*operator, &self.data(left), &self.data(right))
            }
            Data::Not(data) => self.data(data).not(),
            Data::FromBool(cond) => Int::from(self.cond(cond)),
            Data::If(cond, yes, no) => self.data(if self.cond(cond) { yes } else { no }),
            Data::Register(id, index) => {
                let cell = self.registers[*id].get(self.data(index).index());
                cell.unwrap_or(Int::ZERO)
            }
            Data::Filled(stack, less) => {
                Int::Small(self.phv.filled[*stack] as i128 - i128::from(*less))
            }
            Data::Lookahead(offset, width) => {
                let end = (offset + width).div_ceil(8) as usize;
                if end > self.ahead.len() {
                    self.missing.set(Some(Missing::Bytes));
                    return Int::ZERO;
                }
                bits::read(self.ahead, *offset as usize, *width)
            }
        }
    }

    /// Whether a condition is true.
    pub fn cond(&self, cond: &Cond) -> bool {
        match cond {
            Cond::Const(value) => *value,
            Cond::Compare(comparison, left, right) => {
                let order = self.data(left).cmp(&self.data(right));
                match comparison {
                    Comparison::Equal => order.is_eq(),
                    Comparison::NotEqual => order.is_ne(),
                    Comparison::Less => order.is_lt(),
                    Comparison::LessOrEqual => order.is_le(),
                    Comparison::Greater => order.is_gt(),
                    Comparison::GreaterOrEqual => order.is_ge(),
                }
            }
            Cond::SameBool(left, right) => self.cond(left) == self.cond(right),
            Cond::SameHeader(left, right) => self.same(self.header(left), self.header(right)),
            Cond::SameUnion(left, right) => match (self.union(left), self.union(right)) {
                (Some(left), Some(right)) => {
                    let unions = &self.program.unions;
                    let mut pairs = unions[left].members.iter().zip(&unions[right].members);
                    pairs.all(|(a, b)| self.same(Some(*a), Some(*b)))
                }
                (left, right) => left == right,
            },
            Cond::And(left, right) => self.cond(left) && self.cond(right),
            Cond::Or(left, right) => self.cond(left) || self.cond(right),
            Cond::Not(cond) => !self.cond(cond),
            Cond::If(cond, yes, no) => self.cond(if self.cond(cond) { yes } else { no }),
            Cond::NotZero(data) => !self.data(data).is_zero(),
            Cond::ValidHeader(header) => self.header(header).is_some_and(|id| self.phv.valid[id]),
            Cond::ValidUnion(union) => self.union(union).is_some_and(|id| {
                let mut members = self.program.unions[id].members.iter();
                members.any(|member| self.phv.valid[*member])
            }),
        }
    }

    /// Whether two headers are equal: both invalid, or both valid with the same fields, as P4_16
    /// has it.
    fn same(&self, left: Option<HeaderId>, right: Option<HeaderId>) -> bool {
        let valid = |id: Option<HeaderId>| id.filter(|id| self.phv.valid[*id]);
        let (Some(left), Some(right)) = (valid(left), valid(right)) else {
            return valid(left).is_none() && valid(right).is_none();
        };
        let headers = &self.program.headers;
        let (a, b) = (&headers[left], &headers[right]);
        a.kind == b.kind
            && self.phv.lengths[left] == self.phv.lengths[right]
            && self.phv.values[a.fields()] == self.phv.values[b.fields()]
    }

    /// The header that is meant; `None` if a stack has no such element.
    pub fn header(&self, header: &HeaderRef) -> Option<HeaderId> {
        let found = match header {
            HeaderRef::Fixed(id) => Some(*id),
            HeaderRef::Element(stack, index) => {
                let index = self.data(index).index();
                self.program.stacks[*stack].elements.get(index).copied()
            }
            HeaderRef::Last(stack) => {
                let last = self.phv.filled[*stack].checked_sub(1);
                last.map(|index| self.program.stacks[*stack].elements[index])
            }
            HeaderRef::Member(union, place) => {
                let union = self.union(union);
                union.map(|id| self.program.unions[id].members[*place])
            }
        };
        if found.is_none() {
            self.missing.set(Some(Missing::Element));
        }
        found
    }

    /// The union that is meant; `None` if a stack has no such element.
    pub fn union(&self, union: &UnionRef) -> Option<usize> {
        match union {
            UnionRef::Fixed(id) => Some(*id),
            UnionRef::Element(stack, index) => {
                let index = self.data(index).index();
                self.program.union_stacks[*stack]
                    .elements
                    .get(index)
                    .copied()
            }
        }
    }

    /// The field that is written; `None` if a stack has no such element.
    pub fn target(&self, target: &Target) -> Option<usize> {
        match target {
            Target::Field(id) => Some(*id),
            Target::FieldOf(header, place) => self
                .header(header)
                .map(|id| self.program.headers[id].first + place),
        }
    }
}

fn binary(operator: Operator, left: &Int, right: &Int) -> Int {
    // The loader allows no width above 2^16; a wider one is as good as that.
    let width = || {
        u32::try_from(right.index())
            .unwrap_or(u32::MAX)
            .min(1 << 16)
    };
    match operator {
        Operator::Add => left.add(right),
        Operator::Sub => left.sub(right),
        Operator::Mul => left.mul(right),
        Operator::Div => left.div(right),
        Operator::Rem => left.rem(right),
        Operator::ShiftLeft => left.shl(right),
        Operator::ShiftRight => left.shr(right),
        Operator::And => left.and(right),
        Operator::Or => left.or(right),
        Operator::Xor => left.xor(right),
        Operator::Signed => left.signed(width()),
        Operator::Saturate => left.clamp(Int::ZERO, Int::highest(width())),
        Operator::SaturateSigned => {
            let half = Int::power(width().saturating_sub(1));
            left.clamp(Int::ZERO.sub(&half), half.sub(&Int::Small(1)))
        }
    }
}
