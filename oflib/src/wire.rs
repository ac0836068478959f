//! Reading and writing big-endian wire forms, and the macros that derive both from one definition.

use alloc::{string::String, vec::Vec};
use core::fmt;

use crate::codec::Codec;
use crate::error::{BadRequest, DecodeError, ErrorCode};

/// A value with a wire form and a text form.
pub trait Wire: Sized {
    /// Reads the value. Errors: as the reader's context says when bytes run out, else the field's
    /// own.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError>;
    /// Appends the wire form.
    fn encode(&self, w: &mut Writer<'_>);
    /// Writes the text form.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// Shows a value's text form.
pub struct Text<'a, T>(pub &'a T);

impl<T: Wire> fmt::Display for Text<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.text(f)
    }
}

/// A bounded window on a message's bytes.
///
/// Invariant: no method reads past the window; each answers with the window's `short` error
/// instead.
#[derive(Clone)]
pub struct Reader<'a> {
    /// The version, catalogue and dialect in force.
    pub codec: &'a Codec,
    bytes: &'a [u8],
    pos: usize,
    field: &'static str,
    short: ErrorCode,
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

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.pos
    }

    /// Whether all bytes are read.
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// Bytes read so far, from the start of the message.
    pub fn position(&self) -> usize {
        self.pos
    }

    /// Takes `count` bytes. Errors: the window's `short`.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        if count > self.remaining() {
            return Err(self.short());
        }
        let taken = &self.bytes[self.pos..self.pos + count];
        self.pos += count;
        Ok(taken)
    }

    /// Takes the rest.
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
        let head = &self.bytes[self.pos..];
        let Some(length) = head.get(at..at + 2) else {
            return Err(self.err(short));
        };
        let length = u16::from_be_bytes([length[0], length[1]]) as usize;
        if length < least || (unit > 0 && !length.is_multiple_of(unit)) {
            return Err(self.err(short));
        }
        self.sub(length, short)
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
    /// What is written so far.
    pub bytes: Vec<u8>,
    /// Where the items of the outermost list begin: a message may be split there.
    pub(crate) item_starts: Vec<usize>,
    in_list: bool,
}

impl<'a> Writer<'a> {
    /// An empty writer.
    pub fn new(codec: &'a Codec) -> Self {
        Self {
            codec,
            bytes: Vec::new(),
            item_starts: Vec::new(),
            in_list: false,
        }
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
    pub fn align8(&mut self, from: usize) -> &mut Self {
        let length = self.bytes.len() - from;
        self.pad(length.next_multiple_of(8) - length)
    }

    /// Writes the length since `from` as 16 bits at `at`. Lengths past 65,535 are cut by the codec.
    pub fn patch_length(&mut self, from: usize, at: usize) {
        let length = u16::try_from(self.bytes.len() - from).unwrap_or(u16::MAX);
        self.bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
    }
}

macro_rules! integers {
    ($($t:ty)*) => { $(
        impl Wire for $t {
            fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(Self::from_be_bytes(r.array()?))
            }
            fn encode(&self, w: &mut Writer<'_>) {
                w.raw(&self.to_be_bytes());
            }
            fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )* };
}
integers!(u8 u16 u32 u64);

impl<T: Wire> Wire for Vec<T> {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut items = Self::new();
        while !r.is_empty() {
            items.push(r.get()?);
        }
        Ok(items)
    }
    fn encode(&self, w: &mut Writer<'_>) {
        let outermost = !core::mem::replace(&mut w.in_list, true);
        for item in self {
            if outermost {
                w.item_starts.push(w.bytes.len());
            }
            w.put(item);
        }
        w.in_list = !outermost;
    }
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, item) in self.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { "; " })?;
            item.text(f)?;
        }
        f.write_str("]")
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
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A string in a fixed array of `N` bytes that ends with a zero byte.
///
/// Shape: what does not fit is cut at a character; where the bytes are not UTF-8, those above 127
/// become `?`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixedStr<const N: usize>(pub String);

impl<const N: usize> Wire for FixedStr<N> {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bytes = r.take(N)?;
        let len = bytes.iter().position(|&b| b == 0).unwrap_or(N - 1);
        let ascii = |&b: &u8| if b.is_ascii() { char::from(b) } else { '?' };
        Ok(Self(match core::str::from_utf8(&bytes[..len]) {
            Ok(text) => text.into(),
            Err(_) => bytes[..len].iter().map(ascii).collect(),
        }))
    }
    fn encode(&self, w: &mut Writer<'_>) {
        let len = self.0.floor_char_boundary(N - 1);
        w.raw(&self.0.as_bytes()[..len]).pad(N - len);
    }
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl<const N: usize> From<&str> for FixedStr<N> {
    fn from(s: &str) -> Self {
        Self(s.into())
    }
}

/// Defines a structure whose fields stand on the wire in the order written; `=> N` is N bytes of
/// padding behind a field, `as hex` a number printed so. The text form is `name=value,...`, or what
/// the function behind `text` writes. What stands behind `also` is not on the 1.3 wire; another
/// version says it.
macro_rules! wire {
    (@text $this:ident $f:ident $write:path; $($rest:tt)*) => { $write($this, $f) };
    (@text $this:ident $f:ident; $($field:ident [$($hex:ident)?])*) => {{
        let mut comma = "";
        $(
            let before = core::mem::replace(&mut comma, ",");
            write!($f, concat!("{}", stringify!($field), "="), before)?;
            $crate::wire::wire!(@value $($hex)? $this $f $field);
        )*
        let _ = comma;
        Ok(())
    }};
    (@value hex $this:ident $f:ident $field:ident) => { write!($f, "{:#x}", $this.$field)? };
    (@value $this:ident $f:ident $field:ident) => {
        $crate::wire::Wire::text(&$this.$field, $f)?
    };
    ($(#[$m:meta])* pub struct $N:ident $(text $write:path)? {
        $($(#[$fm:meta])* pub $f:ident : $t:ty $(as $hex:ident)? $(=> $pad:literal)?),* $(,)?
    } $(also { $($(#[$am:meta])* pub $a:ident : $at:ty),* $(,)? })?) => {
        $(#[$m])*
        #[derive(Clone, Debug, PartialEq, Eq, Default)]
        pub struct $N { $($(#[$fm])* pub $f: $t,)* $($($(#[$am])* pub $a: $at),*)? }
        impl $crate::wire::Wire for $N {
            fn decode(
                r: &mut $crate::wire::Reader<'_>,
            ) -> Result<Self, $crate::error::DecodeError> {
                Ok(Self { $($f: {
                    let value = r.at(stringify!($f)).get()?;
                    $(r.take($pad)?;)?
                    value
                },)* $($($a: <$at>::default()),*)? })
            }
            fn encode(&self, w: &mut $crate::wire::Writer<'_>) {
                $(w.put(&self.$f)$(.pad($pad))?;)*
            }
            fn text(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                $($(if self.$a != <$at>::default() {
                    f.write_str(concat!(stringify!($a), "="))?;
                    $crate::wire::Wire::text(&self.$a, f)?;
                    f.write_str(",")?;
                })*)?
                $crate::wire::wire!(@text self f $($write)?; $($f [$($hex)?])*)
            }
        }
    };
}
pub(crate) use wire;

/// Defines a number with named values. With `else ERROR` any other value is refused on decode.
macro_rules! named {
    ($(#[$m:meta])* pub struct $N:ident($t:ty) $(else $error:path)? {
        $($(#[$vm:meta])* $V:ident = $value:literal $text:literal),* $(,)?
    }) => {
        $(#[$m])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $N(pub $t);
        impl $N {
            $($(#[$vm])* pub const $V: Self = Self($value);)*
            /// Every named value with its name in text.
            pub const NAMES: &'static [(Self, &'static str)] = &[$((Self::$V, $text)),*];
            /// The name of this value, if it has one.
            pub fn name(self) -> Option<&'static str> {
                Self::NAMES.iter().find(|(value, _)| *value == self).map(|(_, name)| *name)
            }
            /// The value of a name, in either case.
            pub fn named(name: &str) -> Option<Self> {
                Self::NAMES.iter().find(|(_, n)| n.eq_ignore_ascii_case(name)).map(|(v, _)| *v)
            }
        }
        impl core::str::FromStr for $N {
            type Err = ();
            /// A name in either case, or a number.
            fn from_str(s: &str) -> Result<Self, ()> {
                let numbered = || $crate::text::number(s)?.try_into().ok().map(Self);
                Self::named(s).or_else(numbered).ok_or(())
            }
        }
        impl $crate::wire::Wire for $N {
            fn decode(
                r: &mut $crate::wire::Reader<'_>,
            ) -> Result<Self, $crate::error::DecodeError> {
                let _start = r.clone();
                let value = Self(r.get()?);
                $(if value.name().is_none() {
                    return Err(_start.err($error));
                })?
                Ok(value)
            }
            fn encode(&self, w: &mut $crate::wire::Writer<'_>) {
                w.put(&self.0);
            }
            fn text(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => core::fmt::Display::fmt(&self.0, f),
                }
            }
        }
        impl core::fmt::Display for $N {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                $crate::wire::Wire::text(self, f)
            }
        }
    };
}
pub(crate) use named;

/// Defines a set of flag bits with names; unknown bits are kept. The text form is `a|b|0x80`.
/// With `as WIRE` the 1.3 wire has only that many of the bits; another version says the others.
macro_rules! flags {
    (@wire $r:ident.get, $t:ty) => { $r.get::<$t>()? };
    (@wire $r:ident.get, $t:ty as $wire:ty) => { $r.get::<$wire>()? };
    (@put $w:ident, $value:expr, $t:ty) => { $w.put(&$value) };
    (@put $w:ident, $value:expr, $t:ty as $wire:ty) => { $w.put(&($value as $wire)) };
    ($(#[$m:meta])* pub struct $N:ident($t:ty $(as $wire:ty)?) {
        $($(#[$vm:meta])* $V:ident = $value:literal $text:literal),* $(,)?
    }) => {
        $(#[$m])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
        pub struct $N(pub $t);
        impl $N {
            $($(#[$vm])* pub const $V: Self = Self($value);)*
            /// Every named bit with its name in text.
            pub const NAMES: &'static [(Self, &'static str)] = &[$((Self::$V, $text)),*];
            /// All named bits.
            pub const ALL: Self = Self(0 $(| $value)*);
            /// The bit of a name, in either case.
            pub fn named(name: &str) -> Option<Self> {
                Self::NAMES.iter().find(|(_, n)| n.eq_ignore_ascii_case(name)).map(|(v, _)| *v)
            }
            /// Whether all bits of `other` are set.
            pub const fn has(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }
        }
        impl core::ops::BitOr for $N {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
        impl $crate::wire::Wire for $N {
            fn decode(
                r: &mut $crate::wire::Reader<'_>,
            ) -> Result<Self, $crate::error::DecodeError> {
                Ok(Self(<$t>::from($crate::wire::flags!(@wire r.get, $t $(as $wire)?))))
            }
            fn encode(&self, w: &mut $crate::wire::Writer<'_>) {
                $crate::wire::flags!(@put w, self.0, $t $(as $wire)?);
            }
            fn text(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let mut bar = "";
                let mut rest = self.0;
                for (flag, name) in Self::NAMES.iter().filter(|(flag, _)| self.has(*flag)) {
                    write!(f, "{bar}{name}")?;
                    (bar, rest) = ("|", rest & !flag.0);
                }
                if rest != 0 || bar.is_empty() {
                    write!(f, "{bar}{rest:#x}")?;
                }
                Ok(())
            }
        }
        impl core::fmt::Display for $N {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                $crate::wire::Wire::text(self, f)
            }
        }
    };
}
pub(crate) use flags;
