//! The states of a parser in their compact form.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Cond, Data, FieldId, HeaderId, Primitive, StackId};

/// What a parser does in a state.
#[derive(Debug)]
pub enum ParserOp {
    Extract(HeaderId),
    /// The header, and the bits of its field of variable width.
    ExtractVariable(HeaderId, Data),
    /// To the next element of a stack.
    ExtractNext(StackId, Option<Data>),
    /// To a member of the next element of a stack of unions.
    ExtractNextUnion(usize, usize, Option<Data>),
    Set(FieldId, Data),
    Verify(Cond, Data),
    /// In bits.
    Advance(Data),
    Primitive(Primitive),
}

/// A part of the key by which a parser chooses its next state.
#[derive(Debug)]
pub enum SelectKey {
    Field(FieldId),
    /// A field of the last element of a stack.
    Last(StackId, usize),
    /// A field of a member of the last element of a stack of unions.
    LastUnion(usize, usize, usize),
    Lookahead(u32, u32),
}

/// What a case of a select is compared with.
#[derive(Debug)]
pub enum SelectCase {
    Default,
    /// A value and its mask, both as bytes of the key.
    Value(Vec<u8>, Vec<u8>),
    /// A value set, and a mask.
    Set(usize, Option<Vec<u8>>),
}

/// A state of the parser.
#[derive(Debug)]
pub struct State {
    pub name: String,
    pub ops: Vec<ParserOp>,
    pub key: Vec<SelectKey>,
    /// The width of each part of the key.
    pub key_widths: Vec<u32>,
    /// The bytes of the packet that the key reads ahead.
    pub ahead: usize,
    /// Each case, and its next state; `None` accepts.
    pub cases: Vec<(SelectCase, Option<usize>)>,
}
