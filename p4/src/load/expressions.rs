//! Reads expressions: numbers, truths, and the headers, unions and stacks in them.

use alloc::boxed::Box;
use alloc::format;

use super::loader::{Loader, MAX_WIDTH, find};
use crate::int::Int;
use crate::json::{Node, Result};
use crate::program::{
    AnyStack, Comparison, Cond, Data, HeaderRef, Operator, StackId, Target, UnionRef,
};

/// The operators of two numbers.
const OPERATORS: [(&str, Operator); 13] = [
    ("+", Operator::Add),
    ("-", Operator::Sub),
    ("*", Operator::Mul),
    ("/", Operator::Div),
    ("%", Operator::Rem),
    ("<<", Operator::ShiftLeft),
    (">>", Operator::ShiftRight),
    ("&", Operator::And),
    ("|", Operator::Or),
    ("^", Operator::Xor),
    ("two_comp_mod", Operator::Signed),
    ("sat_cast", Operator::SaturateSigned),
    ("usat_cast", Operator::Saturate),
];

/// The comparisons of two numbers.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<", Comparison::Less),
    ("<=", Comparison::LessOrEqual),
    (">", Comparison::Greater),
    (">=", Comparison::GreaterOrEqual),
];

fn row<T: Copy>(rows: &[(&str, T)], name: &str) -> Option<T> {
    rows.iter()
        .find(|(other, _)| *other == name)
        .map(|(_, value)| *value)
}

/// What an expression gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Data,
    Bool,
    Header,
    Union,
}

/// An expression as it is in the JSON: what it is of, or an operation.
enum Form<'a> {
    Plain(&'a str, Node<'a>),
    Operation(&'a str, Node<'a>),
}

/// The form of an expression. Objects of the type `expression` may lie within each other.
fn form<'a>(node: &Node<'a>) -> Result<Form<'a>> {
    let mut node = node.clone();
    loop {
        if let Some(op) = node.find("op")? {
            return Ok(Form::Operation(op.text()?, node));
        }
        let kind = node.get("type")?.text()?;
        let value = node.get("value")?;
        if kind != "expression" {
            return Ok(Form::Plain(kind, value));
        }
        node = value;
    }
}

fn shape(node: &Node<'_>) -> Result<Shape> {
    Ok(match form(node)? {
        Form::Plain("bool", _) => Shape::Bool,
        Form::Plain("header", _) => Shape::Header,
        Form::Plain("header_union", _) => Shape::Union,
        Form::Plain(..) => Shape::Data,
        Form::Operation(op, node) => match op {
            "d2b" | "and" | "or" | "not" | "valid" | "valid_union" => Shape::Bool,
            "dereference_header_stack" | "access_union_header" => Shape::Header,
            "dereference_union_stack" => Shape::Union,
            "?" => shape(&node.get("left")?)?,
            _ if row(&COMPARISONS, op).is_some() => Shape::Bool,
            _ => Shape::Data,
        },
    })
}

impl Loader<'_> {
    /// An expression that gives a number. A truth is 1 or 0.
    pub(super) fn data(&self, node: &Node<'_>) -> Result<Data> {
        match form(node)? {
            Form::Plain(kind, value) => self.plain(kind, &value),
            Form::Operation(op, node) => self.operation(op, &node),
        }
    }

    fn plain(&self, kind: &str, value: &Node<'_>) -> Result<Data> {
        Ok(match kind {
            "hexstr" => Data::Const(value.hex(MAX_WIDTH as u32)?),
            "bool" => Data::Const(Int::from(value.boolean()?)),
            "field" => return self.field_or_validity(value),
            "runtime_data" | "local" => {
                let index = value.number(u64::from(u32::MAX))? as usize;
                if index >= self.parameters.len() {
                    return value.refuse("the action has no such parameter");
                }
                Data::Parameter(index)
            }
            "stack_field" => {
                let [stack, field] = value.tuple()?;
                let id = find(&self.stacks, &stack, "header stack")?;
                Data::FieldOf(HeaderRef::Last(id), self.place_in_stack(id, &field)?)
            }
            "register" => {
                let [register, index] = value.tuple()?;
                let id = find(&self.registers, &register, "register")?;
                Data::Register(id, Box::new(self.data(&index)?))
            }
            "lookahead" => {
                let (offset, width) = lookahead(value)?;
                Data::Lookahead(offset, width)
            }
            _ => return value.refuse(format!("is of the type {kind}, and no number")),
        })
    }

    /// A field that is read: one of a header, or its validity.
    fn field_or_validity(&self, value: &Node<'_>) -> Result<Data> {
        let [header, name] = value.tuple()?;
        if name.text()? == "$valid$" {
            return Ok(Data::Valid(find(&self.headers, &header, "header")?));
        }
        Ok(Data::Field(self.field(value)?))
    }

    fn operation(&self, op: &str, node: &Node<'_>) -> Result<Data> {
        if let Some(operator) = row(&OPERATORS, op) {
            let right = node.get("right")?;
            // A sign is an operator with one side.
            let left = match node.find("left")? {
                Some(left) => self.data(&left)?,
                None if operator == Operator::Sub => Data::Const(Int::ZERO),
                None => return node.refuse(format!("{op} has no left")),
            };
            let right = self.data(&right)?;
            return Ok(Data::Binary(operator, Box::new(left), Box::new(right)));
        }
        Ok(match op {
            "~" => Data::Not(Box::new(self.data(&node.get("right")?)?)),
            "b2d" => Data::FromBool(Box::new(self.cond(&node.get("right")?)?)),
            "?" if shape(node)? == Shape::Data => Data::If(
                Box::new(self.cond(&node.get("cond")?)?),
                Box::new(self.data(&node.get("left")?)?),
                Box::new(self.data(&node.get("right")?)?),
            ),
            "access_field" => {
                let (header, place) = self.field_of(node)?;
                Data::FieldOf(header, place)
            }
            "last_stack_index" => Data::Filled(self.stack(&node.get("right")?)?, 1),
            "size_stack" => Data::Filled(self.stack(&node.get("right")?)?, 0),
            _ if shape(node)? == Shape::Bool => Data::FromBool(Box::new(self.cond(node)?)),
            _ => return node.refuse(format!("has the unknown operation {op}")),
        })
    }

    /// An expression that is true or false. A number is true if it is not 0.
    pub(super) fn cond(&self, node: &Node<'_>) -> Result<Cond> {
        if shape(node)? != Shape::Bool {
            return Ok(Cond::NotZero(self.data(node)?));
        }
        let (op, node) = match form(node)? {
            Form::Plain(_, value) => return Ok(Cond::Const(value.boolean()?)),
            Form::Operation(op, node) => (op, node),
        };
        if let Some(comparison) = row(&COMPARISONS, op) {
            return self.comparison(comparison, &node);
        }
        let right = node.get("right")?;
        Ok(match op {
            "d2b" => Cond::NotZero(self.data(&right)?),
            "not" => Cond::Not(Box::new(self.cond(&right)?)),
            "valid" => Cond::ValidHeader(self.header(&right)?),
            "valid_union" => Cond::ValidUnion(self.union(&right)?),
            "and" => Cond::And(
                Box::new(self.cond(&node.get("left")?)?),
                Box::new(self.cond(&right)?),
            ),
            "or" => Cond::Or(
                Box::new(self.cond(&node.get("left")?)?),
                Box::new(self.cond(&right)?),
            ),
            "?" => Cond::If(
                Box::new(self.cond(&node.get("cond")?)?),
                Box::new(self.cond(&node.get("left")?)?),
                Box::new(self.cond(&right)?),
            ),
            _ => return node.refuse(format!("{op} is neither true nor false")),
        })
    }

    fn comparison(&self, comparison: Comparison, node: &Node<'_>) -> Result<Cond> {
        let (left, right) = (node.get("left")?, node.get("right")?);
        let shape = shape(&left)?;
        let same = match shape {
            Shape::Data => {
                let (left, right) = (self.data(&left)?, self.data(&right)?);
                return Ok(Cond::Compare(comparison, left, right));
            }
            Shape::Bool => {
                Cond::SameBool(Box::new(self.cond(&left)?), Box::new(self.cond(&right)?))
            }
            Shape::Header => Cond::SameHeader(self.header(&left)?, self.header(&right)?),
            Shape::Union => Cond::SameUnion(self.union(&left)?, self.union(&right)?),
        };
        match comparison {
            Comparison::Equal => Ok(same),
            Comparison::NotEqual => Ok(Cond::Not(Box::new(same))),
            Comparison::Less
            | Comparison::LessOrEqual
            | Comparison::Greater
            | Comparison::GreaterOrEqual => node.refuse("only numbers have an order"),
        }
    }

    /// A header stack by its name.
    pub(super) fn stack(&self, node: &Node<'_>) -> Result<StackId> {
        match form(node)? {
            Form::Plain("header_stack", value) => find(&self.stacks, &value, "header stack"),
            Form::Plain(..) | Form::Operation(..) => node.refuse("is not a header stack"),
        }
    }

    /// A stack of headers or unions by its name.
    pub(super) fn any_stack(&self, node: &Node<'_>) -> Result<AnyStack> {
        if let Form::Plain("header_union_stack", value) = form(node)? {
            let id = find(&self.union_stacks, &value, "stack of unions")?;
            return Ok(AnyStack::Unions(id));
        }
        self.stack(node).map(AnyStack::Headers)
    }

    /// A header.
    pub(super) fn header(&self, node: &Node<'_>) -> Result<HeaderRef> {
        match form(node)? {
            Form::Plain("header", value) => {
                Ok(HeaderRef::Fixed(find(&self.headers, &value, "header")?))
            }
            Form::Operation("dereference_header_stack", node) => {
                let stack = self.stack(&node.get("left")?)?;
                let index = self.data(&node.get("right")?)?;
                Ok(HeaderRef::Element(stack, Box::new(index)))
            }
            Form::Operation("access_union_header", node) => {
                let union = self.union(&node.get("left")?)?;
                let right = node.get("right")?;
                let place = right.number(u64::from(u32::MAX))? as usize;
                if place >= self.program.unions[self.union_like(&union)].members.len() {
                    return right.refuse("the union has no such member");
                }
                Ok(HeaderRef::Member(Box::new(union), place))
            }
            Form::Plain(..) | Form::Operation(..) => node.refuse("is not a header"),
        }
    }

    /// A header union.
    pub(super) fn union(&self, node: &Node<'_>) -> Result<UnionRef> {
        match form(node)? {
            Form::Plain("header_union", value) => {
                Ok(UnionRef::Fixed(find(&self.unions, &value, "header union")?))
            }
            Form::Operation("dereference_union_stack", node) => {
                let AnyStack::Unions(stack) = self.any_stack(&node.get("left")?)? else {
                    return node.refuse("is not a stack of unions");
                };
                let index = self.data(&node.get("right")?)?;
                Ok(UnionRef::Element(stack, Box::new(index)))
            }
            Form::Plain(..) | Form::Operation(..) => node.refuse("is not a header union"),
        }
    }

    /// A union of the type that `union` has.
    pub(super) fn union_like(&self, union: &UnionRef) -> usize {
        match union {
            UnionRef::Fixed(id) => *id,
            UnionRef::Element(stack, _) => self.program.union_stacks[*stack].elements[0],
        }
    }

    /// A header of the type that `header` has.
    pub(super) fn header_like(&self, header: &HeaderRef) -> usize {
        match header {
            HeaderRef::Fixed(id) => *id,
            HeaderRef::Element(stack, _) | HeaderRef::Last(stack) => {
                self.program.stacks[*stack].elements[0]
            }
            HeaderRef::Member(union, place) => {
                self.program.unions[self.union_like(union)].members[*place]
            }
        }
    }

    /// The place of a field in the headers of a stack.
    pub(super) fn place_in_stack(&self, stack: StackId, field: &Node<'_>) -> Result<usize> {
        let header = self.program.stacks[stack].elements[0];
        self.place_in(header, field)
    }

    /// The place of a field in a header.
    pub(super) fn place_in(&self, header: usize, field: &Node<'_>) -> Result<usize> {
        let found = self.fields.get(&(header, field.text()?));
        let first = self.program.headers[header].first;
        match found {
            Some(id) => Ok(id - first),
            None => field.refuse("no such field"),
        }
    }

    /// The header and the place of a field that `access_field` names.
    fn field_of(&self, node: &Node<'_>) -> Result<(HeaderRef, usize)> {
        let header = self.header(&node.get("left")?)?;
        let right = node.get("right")?;
        let place = right.number(u64::from(u32::MAX))? as usize;
        if place >= self.program.headers[self.header_like(&header)].count {
            return right.refuse("the header has no such field");
        }
        Ok((header, place))
    }

    /// What is written: a field of fixed width.
    pub(super) fn target(&self, node: &Node<'_>) -> Result<Target> {
        let target = match form(node)? {
            Form::Plain("field", value) => Target::Field(self.field(&value)?),
            Form::Plain("stack_field", value) => {
                let [stack, field] = value.tuple()?;
                let id = find(&self.stacks, &stack, "header stack")?;
                Target::FieldOf(HeaderRef::Last(id), self.place_in_stack(id, &field)?)
            }
            Form::Operation("access_field", node) => {
                let (header, place) = self.field_of(&node)?;
                Target::FieldOf(header, place)
            }
            Form::Plain(..) | Form::Operation(..) => {
                return node.refuse("cannot be written");
            }
        };
        let field = match &target {
            Target::Field(id) => *id,
            Target::FieldOf(header, place) => {
                self.program.headers[self.header_like(header)].first + place
            }
        };
        if self.program.fields[field].variable {
            return node.refuse("has a variable width");
        }
        Ok(target)
    }
}

/// The offset and width of what is read ahead, in bits.
pub(super) fn lookahead(value: &Node<'_>) -> Result<(u32, u32)> {
    let [offset, width] = value.tuple()?;
    Ok((
        offset.number(MAX_WIDTH)? as u32,
        width.number(MAX_WIDTH)? as u32,
    ))
}
