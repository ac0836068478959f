//! Reading and writing big-endian wire forms: the window that is read, the bytes that are written,
//! numbers, lists and strings.

#[cfg(feature = "extensions")]
mod text_form;

use alloc::{string::String, vec::Vec};

use crate::codec::Codec;
use crate::error::{BadRequest, DecodeError, ErrorCode};
use crate::version::Version;

#[cfg(feature = "extensions")]
pub use text_form::{OneLine, Text, TextForm, write_escaped};

/// A value with a wire form, that of the codec's version.
///
/// Invariant: what was decoded can be encoded, and gives the same value again.
pub trait Wire: Sized {
    /// Reads the value. Errors: as the reader's context says when bytes run out, else the field's
    /// own.
    ///
    /// A type of which lists are read takes at least a byte: a list is read until its window is
    /// empty, and would not end otherwise.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError>;
    /// Appends the wire form. What the version cannot say is noted by [`Writer::unsupported`].
    fn encode(&self, w: &mut Writer<'_>);
}

/// The number that `bytes` are, of which there are at most 16, the highest first.
///
/// Of more bytes, the first would be shifted out without notice.
pub fn be_number(bytes: &[u8]) -> u128 {
    let mut number = 0;
    for byte in bytes {
        number = number << 8 | u128::from(*byte);
    }
    number
}

/// A bounded window on a message's bytes.
///
/// Invariant: no method reads past the window; each answers with the window's `short` error
/// instead.
///
/// A clone is a way to look ahead: it has a position of its own, and an error that it gives points
/// at the place where it was made.
#[derive(Clone)]
pub struct Reader<'a> {
    /// The version, catalogue and dialect in force.
    pub codec: &'a Codec,
    /// From the start of the message to the end of the window, so that a position in any window is
    /// also one in the message.
    bytes: &'a [u8],
    /// Never beyond the end of `bytes`.
    pos: usize,
    field: &'static str,
    /// The error for a wrong length.
    ///
    /// Windows within windows may have another: that of the structure that they belong to.
    pub(crate) short: ErrorCode,
    /// Experimenter bodies around this place.
    ///
    /// A window inherits it, and it ends with the window, so that nothing counts it down.
    #[cfg(feature = "extensions")]
    pub(crate) nested: u8,
}

impl<'a> Reader<'a> {
    /// Opens a window on a whole message.
    pub fn new(codec: &'a Codec, bytes: &'a [u8]) -> Self {
        Self {
            codec,
            bytes,
            pos: 0,
            field: "header",
            short: BadRequest::BAD_LEN,
            #[cfg(feature = "extensions")]
            nested: 0,
        }
    }

    /// Names the field read next, for errors; gives the reader back.
    pub fn at(&mut self, field: &'static str) -> &mut Self {
        self.field = field;
        self
    }

    /// The error `error` here.
    pub fn err(&self, error: ErrorCode) -> DecodeError {
        DecodeError {
            error,
            offset: self.pos,
            field: self.field,
        }
    }

    /// The window's error for a wrong length.
    pub fn short(&self) -> DecodeError {
        self.err(self.short)
    }

    /// The version that is read.
    pub fn version(&self) -> Version {
        self.codec.version
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.pos
    }

    /// Returns true if all bytes are read.
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// Bytes read so far, from the start of the message.
    pub fn position(&self) -> usize {
        self.pos
    }

    /// Takes `count` bytes. Errors: the window's `short`.
    ///
    /// On an error nothing is taken, and the error points at where the bytes should begin.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        if count > self.remaining() {
            return Err(self.short());
        }
        let taken = &self.bytes[self.pos..self.pos + count];
        self.pos += count;
        Ok(taken)
    }

    /// Takes the rest.
    ///
    /// It leaves nothing for [`finish`](Self::finish) to complain about.
    pub fn rest(&mut self) -> &'a [u8] {
        let taken = &self.bytes[self.pos..];
        self.pos = self.bytes.len();
        taken
    }

    /// Takes an array. Errors: the window's `short`.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        Ok(self.take(N)?.try_into().expect("take gave N bytes"))
    }

    /// Reads the next value.
    pub fn get<T: Wire>(&mut self) -> Result<T, DecodeError> {
        T::decode(self)
    }

    /// Splits off a window of `count` bytes whose length errors are `short`.
    ///
    /// Errors: `short` if fewer than `count` bytes remain.
    ///
    /// This reader goes on after the window, whether or not the window is read to its end: the
    /// caller decides if bytes may be left, by [`finish`](Self::finish).
    pub fn sub(&mut self, count: usize, short: ErrorCode) -> Result<Self, DecodeError> {
        if count > self.remaining() {
            return Err(self.err(short));
        }
        let window = Self {
            bytes: &self.bytes[..self.pos + count],
            short,
            ..self.clone()
        };
        self.pos += count;
        Ok(window)
    }

    /// Splits off a structure that begins here and carries its own 16-bit length `at` bytes
    /// further, which counts from its beginning, and which is at least `least` and, if not 0, a
    /// multiple of `unit`.
    ///
    /// Errors: `short` if the length is less or runs past the window.
    pub fn sized(
        &mut self,
        at: usize,
        least: usize,
        unit: usize,
        short: ErrorCode,
    ) -> Result<Self, DecodeError> {
        // The length is read ahead, as the window begins with what precedes the length.
        let head = &self.bytes[self.pos..];
        let Some(length) = head.get(at..at + 2) else {
            return Err(self.err(short));
        };
        let length = u16::from_be_bytes([length[0], length[1]]) as usize;
        if length < least || (unit > 0 && length % unit != 0) {
            return Err(self.err(short));
        }
        self.sub(length, short)
    }

    /// Splits off a property: type, length, contents, and padding to 8 bytes that its length does
    /// not count and that may lack at the end. Gives where the type stands, the type, and the
    /// contents.
    ///
    /// Errors: `short` if the length is less than 4 or runs past the window.
    /// Spec: the elements of HELLO and the properties of OpenFlow 1.3 and later.
    pub fn property(&mut self, short: ErrorCode) -> Result<(Self, u16, Self), DecodeError> {
        let start = self.position();
        let mut body = self.sized(2, 4, 0, short)?;
        let length = self.position() - start;
        let at_type = body.at("property type").clone();
        let ty = body.get()?;
        body.take(2)?;
        let padding = length.next_multiple_of(8) - length;
        // Some senders leave the padding of the last property away.
        self.take(padding.min(self.remaining()))?;
        Ok((at_type, ty, body))
    }

    /// Ends the window. Errors: its `short` if bytes are left.
    pub fn finish(&self) -> Result<(), DecodeError> {
        self.is_empty().then_some(()).ok_or_else(|| self.short())
    }
}

/// Collects a message's bytes.
pub struct Writer<'a> {
    /// The version, catalogue and dialect in force.
    pub codec: &'a Codec,
    /// The bytes written so far.
    pub bytes: Vec<u8>,
    /// The offsets at which the items of the outermost list begin: a message may be split there.
    pub(crate) item_starts: Vec<usize>,
    /// True if the outermost list goes on without items that the version cannot say.
    ///
    /// Replies set it: a list of entries is of use without what the peer's version cannot express.
    /// A request that lacked something would mean something else.
    pub(crate) leaves_out: bool,
    /// True within a list: the lists in its items are not the outermost.
    in_list: bool,
    /// The first of what the version cannot express, for the message of an error.
    unsupported: Option<&'static str>,
}

impl<'a> Writer<'a> {
    /// An empty writer.
    pub fn new(codec: &'a Codec) -> Self {
        Self {
            codec,
            bytes: Vec::new(),
            item_starts: Vec::new(),
            leaves_out: false,
            in_list: false,
            unsupported: None,
        }
    }

    /// The version that is written.
    pub fn version(&self) -> Version {
        self.codec.version
    }

    /// Appends what `contents` does, whose lists a message may not be split at, nor go without an
    /// item.
    ///
    /// It makes them look like inner lists, for values that are whole or nothing.
    pub fn undivided(&mut self, contents: impl FnOnce(&mut Self)) {
        let in_list = core::mem::replace(&mut self.in_list, true);
        contents(self);
        self.in_list = in_list;
    }

    /// Notes that the version has no words for `what`: the message, or the item of a list that may
    /// go without it, is not sent. The first note stays.
    ///
    /// A form need not stop after it: the bytes that it appends are dropped.
    pub fn unsupported(&mut self, what: &'static str) {
        self.unsupported.get_or_insert(what);
    }

    /// Returns the first thing written that the version cannot express.
    pub fn first_unsupported(&self) -> Option<&'static str> {
        self.unsupported
    }

    /// Appends `value`.
    pub fn put<T: Wire>(&mut self, value: &T) -> &mut Self {
        value.encode(self);
        self
    }

    /// Appends raw bytes.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends `count` zero bytes.
    pub fn pad(&mut self, count: usize) -> &mut Self {
        self.bytes.resize(self.bytes.len() + count, 0);
        self
    }

    /// Appends zero bytes until the length since `from` is a multiple of 8.
    ///
    /// It counts from the structure's beginning, as a structure need not begin at a multiple of 8
    /// bytes of the message.
    pub fn align8(&mut self, from: usize) -> &mut Self {
        let length = self.bytes.len() - from;
        self.pad(length.next_multiple_of(8) - length)
    }

    /// Appends a property: type, length, what `contents` appends, and padding to 8 bytes.
    ///
    /// The length counts type and length, but not the padding, as [`Reader::property`] reads it.
    pub fn property(&mut self, ty: u16, contents: impl FnOnce(&mut Self)) -> &mut Self {
        let start = self.bytes.len();
        self.put(&ty).put(&0u16);
        contents(self);
        self.patch_length(start, start + 2);
        self.align8(start)
    }

    /// Writes the length since `from` as 16 bits at `at`. Lengths past 65,535 are cut by the codec.
    pub fn patch_length(&mut self, from: usize, at: usize) {
        // The codec refuses a message with such a structure, as that is longer than its own length
        // can say.
        let length = u16::try_from(self.bytes.len() - from).unwrap_or(u16::MAX);
        self.bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
    }
}

/// Numbers are big-endian everywhere in OpenFlow. There is no alignment: a structure's padding is
/// written out by its form.
macro_rules! integers {
    ($($t:ty)*) => { $(
        impl Wire for $t {
            fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(Self::from_be_bytes(r.array()?))
            }
            fn encode(&self, w: &mut Writer<'_>) {
                w.raw(&self.to_be_bytes());
            }
        }
    )* };
}
integers!(u8 u16 u32 u64 i32);

/// The items one after another, up to the end of the window; no count comes before them.
impl<T: Wire> Wire for Vec<T> {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut items = Self::new();
        while !r.is_empty() {
            items.push(r.get()?);
        }
        Ok(items)
    }
    fn encode(&self, w: &mut Writer<'_>) {
        // Only the outermost list of a message can be split or shortened: an item of it is the
        // least that means something by itself.
        let outermost = !core::mem::replace(&mut w.in_list, true);
        for item in self {
            let start = w.bytes.len();
            w.put(item);
            // The note is taken back with the item, so that the rest of the message is sent.
            if outermost && w.leaves_out && w.unsupported.take().is_some() {
                w.bytes.truncate(start);
            } else if outermost {
                w.item_starts.push(start);
            }
        }
        w.in_list = !outermost;
    }
}

/// The bytes up to the end of the structure, without meaning of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bytes(pub Vec<u8>);

impl Wire for Bytes {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(r.rest().into()))
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.raw(&self.0);
    }
}

/// The text that bytes are; where they are not UTF-8, those above 127 become `?`.
///
/// Other replacements could make the text longer in bytes than what it was read from, so that it
/// would not fit when it is written again.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    if let Ok(text) = core::str::from_utf8(bytes) {
        return text.into();
    }
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        text.push(if byte.is_ascii() {
            char::from(*byte)
        } else {
            '?'
        });
    }
    text
}

/// The beginning of a text, of at most so many bytes: it is cut at a character.
pub fn cut(text: &str, max_bytes: usize) -> &str {
    let most = text.len().min(max_bytes);
    // Offset 0 is a boundary of every text.
    let fits = (0..=most).rev().find(|len| text.is_char_boundary(*len));
    &text[..fits.unwrap_or(0)]
}

/// A string in a fixed array of `N` bytes that ends with a zero byte.
///
/// Shape: what does not fit is cut at a character; where the bytes are not UTF-8, those above 127
/// become `?`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FixedStr<const N: usize>(pub String);

impl<const N: usize> Wire for FixedStr<N> {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let padded = r.take(N)?;
        // Without a zero byte the last byte is dropped, as there would be no room for the zero when
        // the string is written again.
        let len = padded.iter().position(|&b| b == 0).unwrap_or(N - 1);
        Ok(Self(text_of(&padded[..len])))
    }
    fn encode(&self, w: &mut Writer<'_>) {
        let text = cut(&self.0, N - 1);
        w.raw(text.as_bytes()).pad(N - text.len());
    }
}

impl<const N: usize> From<&str> for FixedStr<N> {
    fn from(s: &str) -> Self {
        Self(s.into())
    }
}
