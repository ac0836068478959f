//! Evaluates expressions.

use core::cell::Cell;

use super::phv::{Phv, place};
use crate::bits;
use crate::externs::Paged;
use crate::int::Int;
use crate::program::{
    Comparison, Cond, Data, HeaderId, HeaderRef, Operator, Program, Target, UnionRef,
};

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
            Data::Field(id) => self.phv.get(self.program, *id),
            Data::FieldOf(header, place) => match self.header(header) {
                Some(id) => {
                    let field = self.program.headers[id].first + place;
                    self.phv.get(self.program, field)
                }
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

    /// The same as [`Self::data`] in a machine word: quicker, but `None` where a part of it is not
    /// so narrow or of a kind that is rare.
    pub fn word(&self, data: &Data) -> Option<i64> {
        match data {
            Data::Const(Int::Small(value)) => i64::try_from(*value).ok(),
            Data::Field(id) => self.phv.get_word(self.program, *id),
            Data::Parameter(index) => match self.parameters.get(*index)? {
                Int::Small(value) => i64::try_from(*value).ok(),
                Int::Big(_) => None,
            },
            Data::Valid(id) => Some(self.phv.valid[*id].into()),
            Data::Binary(operator, left, right) => {
                binary_word(*operator, self.word(left)?, self.word(right)?)
            }
            Data::Not(data) => Some(!self.word(data)?),
            Data::Const(Int::Big(_))
            | Data::FieldOf(..)
            | Data::FromBool(_)
            | Data::If(..)
            | Data::Register(..)
            | Data::Filled(..)
            | Data::Lookahead(..) => None,
        }
    }

    /// Whether a condition is true.
    pub fn cond(&self, cond: &Cond) -> bool {
        match cond {
            Cond::Const(value) => *value,
            Cond::Compare(comparison, left, right) => {
                let order = match (self.word(left), self.word(right)) {
                    (Some(left), Some(right)) => left.cmp(&right),
                    _ => self.data(left).cmp(&self.data(right)),
                };
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
            Cond::NotZero(data) => match self.word(data) {
                Some(value) => value != 0,
                None => !self.data(data).is_zero(),
            },
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
            && self.phv.bytes[place(a)] == self.phv.bytes[place(b)]
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
        let found = match union {
            UnionRef::Fixed(id) => Some(*id),
            UnionRef::Element(stack, index) => {
                let index = self.data(index).index();
                let elements = &self.program.union_stacks[*stack].elements;
                elements.get(index).copied()
            }
        };
        if found.is_none() {
            self.missing.set(Some(Missing::Element));
        }
        found
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

/// The same as [`binary`], where the result is a word.
fn binary_word(operator: Operator, left: i64, right: i64) -> Option<i64> {
    let shift = u32::try_from(right).ok().filter(|by| *by < 64);
    match operator {
        Operator::Add => left.checked_add(right),
        Operator::Sub => left.checked_sub(right),
        Operator::Mul => left.checked_mul(right),
        Operator::And => Some(left & right),
        Operator::Or => Some(left | right),
        Operator::Xor => Some(left ^ right),
        Operator::ShiftRight => Some(left >> shift?),
        Operator::ShiftLeft => {
            let shifted = left << shift?;
            (shifted >> shift? == left).then_some(shifted)
        }
        Operator::Div
        | Operator::Rem
        | Operator::Signed
        | Operator::SaturateSigned
        | Operator::Saturate => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_give_what_numbers_of_any_width_give() {
        let edges = [0, 1, -1, 2, 31, 32, 62, 63, 64, 65, 1 << 16];
        let edges = edges
            .into_iter()
            .chain([i64::MIN, i64::MAX, 1 << 62, -1 << 40, 0xffff]);
        let operators = [
            Operator::Add,
            Operator::Sub,
            Operator::Mul,
            Operator::Div,
            Operator::Rem,
            Operator::ShiftLeft,
            Operator::ShiftRight,
            Operator::And,
            Operator::Or,
            Operator::Xor,
            Operator::Signed,
            Operator::SaturateSigned,
            Operator::Saturate,
        ];
        let mut words = 0;
        for (left, right) in edges
            .clone()
            .flat_map(|a| edges.clone().map(move |b| (a, b)))
        {
            for operator in operators {
                let Some(word) = binary_word(operator, left, right) else {
                    continue;
                };
                let (a, b) = (Int::Small(left.into()), Int::Small(right.into()));
                let wanted = binary(operator, &a, &b);
                assert_eq!(
                    Int::Small(word.into()),
                    wanted,
                    "{operator:?} {left} {right}"
                );
                words += 1;
            }
        }
        assert!(words > 1000, "{words} of them");
    }
}
