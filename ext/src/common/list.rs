//! Several values of one type as a body: what a switch has, as the messages that would make it so.

use alloc::vec::Vec;
use core::fmt;

use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, Message, ParseError, Version};

/// The size in bytes of the length before each value, which includes itself.
const LENGTH_BYTES: usize = 2;

/// A value that a [`ValueList`] may have.
///
/// Values that the switch lists are those that a controller sends, so that a list can be sent back
/// to another switch.
pub trait Listed: TypedBody {
    /// Writes the text of a value that comes after `others`, which may say how to read it. It reads
    /// back as [`TextForm::text`] does.
    fn text_after(&self, _others: &[Self], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text(f)
    }

    /// The standard messages of a version that say the same as a list, as
    /// [`TypedBody::in_messages`] has it.
    fn list_in_messages(_list: &[Self], _version: Version) -> Option<Vec<Message>> {
        None
    }
}

/// A body of any number of values, each after a 16-bit length on the wire; as text `[one; two]`.
/// Its request is the empty list, and parts of a reply are joined.
///
/// Errors: BAD_REQUEST/BAD_LEN for a length below 2 or past the list, or bytes left after a value;
/// a value's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueList<T>(pub Vec<T>);

impl<T: Listed> Wire for ValueList<T> {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut list = Vec::new();
        while !r.is_empty() {
            let mut item = r
                .at("item")
                .sized(0, LENGTH_BYTES, 0, BadRequest::BAD_LEN)?;
            item.take(LENGTH_BYTES)?;
            list.push(item.get()?);
            item.finish()?;
        }
        Ok(Self(list))
    }

    fn encode(&self, w: &mut Writer<'_>) {
        for item in &self.0 {
            let start = w.bytes.len();
            // The codec does not split this list, unlike a `Vec`: an extension that answers a
            // request gives parts that fit into a message.
            w.put(&0u16).put(item).patch_length(start, start);
        }
    }
}

impl<T: Listed> TextForm for ValueList<T> {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (at, item) in self.0.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { "; " })?;
            item.text_after(&self.0[..at], f)?;
        }
        f.write_str("]")
    }
}

impl<T: Listed> TypedBody for ValueList<T> {
    /// Reads a request, which has no arguments.
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        if !text.is_empty() {
            return Err("it takes no arguments".into());
        }
        Ok(Self(Vec::new()))
    }

    fn join(&mut self, part: Self) -> bool {
        self.0.extend(part.0);
        true
    }

    fn in_messages(&self, version: Version) -> Option<Vec<Message>> {
        T::list_in_messages(&self.0, version)
    }
}
