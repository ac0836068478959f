//! Expressions, and the steps of actions, in their compact form.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::{FieldId, HeaderId, StackId};
use crate::int::Int;

/// A header that an expression names.
#[derive(Clone, Debug)]
pub enum HeaderRef {
    Fixed(HeaderId),
    /// An element of a stack.
    Element(StackId, Box<Data>),
    /// A member of a union, by its place in it.
    Member(Box<UnionRef>, usize),
    /// The last one that a stack has.
    Last(StackId),
}

/// A header union that an expression names.
#[derive(Clone, Debug)]
pub enum UnionRef {
    Fixed(usize),
    /// An element of a stack of unions.
    Element(usize, Box<Data>),
}

/// What is computed of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    ShiftLeft,
    ShiftRight,
    And,
    Or,
    Xor,
    /// The first, in two's complement of as many bits as the second says.
    Signed,
    /// The nearest value of a signed number of so many bits.
    SaturateSigned,
    /// The nearest value of an unsigned number of so many bits.
    Saturate,
}

/// An expression that gives a number.
#[derive(Clone, Debug)]
pub enum Data {
    Const(Int),
    Field(FieldId),
    /// A field, by its place, of a header that is known at run time only.
    FieldOf(HeaderRef, usize),
    /// A parameter of the action.
    Parameter(usize),
    /// Whether a header is valid.
    Valid(HeaderId),
    Binary(Operator, Box<Data>, Box<Data>),
    Not(Box<Data>),
    FromBool(Box<Cond>),
    If(Box<Cond>, Box<Data>, Box<Data>),
    Register(usize, Box<Data>),
    /// How many elements of a stack have been filled, less the second.
    Filled(StackId, u32),
    /// Bits of the packet ahead of the parser: their offset and width.
    Lookahead(u32, u32),
}

impl Data {
    /// The field that it is, if it is one of a certain header.
    pub fn field(&self) -> Option<FieldId> {
        let Self::Field(field) = self else {
            return None;
        };
        Some(*field)
    }
}

/// How two numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// An expression that is true or false.
#[derive(Clone, Debug)]
pub enum Cond {
    Const(bool),
    Compare(Comparison, Data, Data),
    SameBool(Box<Cond>, Box<Cond>),
    SameHeader(HeaderRef, HeaderRef),
    SameUnion(UnionRef, UnionRef),
    And(Box<Cond>, Box<Cond>),
    Or(Box<Cond>, Box<Cond>),
    Not(Box<Cond>),
    If(Box<Cond>, Box<Cond>, Box<Cond>),
    NotZero(Data),
    ValidHeader(HeaderRef),
    ValidUnion(UnionRef),
}

/// What a primitive writes to.
#[derive(Clone, Debug)]
pub enum Target {
    Field(FieldId),
    FieldOf(HeaderRef, usize),
}

/// A stack that is shifted.
#[derive(Clone, Copy, Debug)]
pub enum AnyStack {
    Headers(StackId),
    Unions(usize),
}

/// One step of an action.
#[derive(Clone, Debug)]
pub enum Primitive {
    NoOp,
    Jump(usize),
    JumpIfZero(Data, usize),
    Assign(Target, Data),
    Header(HeaderOp),
    Extern(ExternOp),
    Packet(PacketOp),
}

/// A step that changes headers and stacks.
#[derive(Clone, Debug)]
pub enum HeaderOp {
    /// Copies a field of variable width.
    AssignVariable(FieldId, FieldId),
    Assign(HeaderRef, HeaderRef),
    AssignUnion(UnionRef, UnionRef),
    AssignStack(AnyStack, AnyStack),
    Push(AnyStack, Data),
    Pop(AnyStack, Data),
    SetValid(HeaderRef),
    SetInvalid(HeaderRef),
}

/// A step that uses something with a state of its own.
#[derive(Clone, Debug)]
pub enum ExternOp {
    Hash {
        to: Target,
        base: Data,
        calculation: usize,
        size: Data,
    },
    Random {
        to: Target,
        low: Data,
        high: Data,
    },
    RegisterRead(Target, usize, Data),
    RegisterWrite(usize, Data, Data),
    Count(usize, Data),
    Meter(usize, Data, Target),
}

/// A step that says what becomes of the packet, or what is told of it.
#[derive(Clone, Debug)]
pub enum PacketOp {
    Exit,
    MarkToDrop,
    /// The session, and the list of fields that the clone keeps.
    Clone(Data, Option<usize>),
    Resubmit(Option<usize>),
    Recirculate(Option<usize>),
    Digest(usize),
    Log(String, Vec<Data>),
    Truncate(Data),
    /// `assert` or `assume`, by its name.
    Assert(&'static str, Data),
}
