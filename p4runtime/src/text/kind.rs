//! The kinds of fields in the text form of a message.

/// What a field has.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Message(&'static str),
    Enum(&'static str),
    Number,
    Truth,
    Text,
}

/// A message's name, and the name, number and kind of each of its fields.
pub type MessageRow = (&'static str, &'static [(&'static str, u32, Kind)]);

/// An enumeration's name, and the names and numbers of its values.
pub type EnumRow = (&'static str, &'static [(&'static str, u64)]);
