//! Reads values of a JSON document, each with its place for errors.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde_json::{Map, Value};

use crate::int::Int;
use crate::number::number;
use crate::twice::key_twice;

/// The bytes of the largest program that is read.
pub const MAX_BYTES: usize = 32 << 20;
/// The levels of lists and objects that may lie within each other.
pub const MAX_DEPTH: usize = 512;

/// The reason why a program is refused: one, the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The place in the document, as `/parsers/0/parse_states/2/name`; empty for the whole.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.place.is_empty() {
            "/"
        } else {
            &self.place
        };
        write!(f, "{place}: {}", self.what)
    }
}

impl core::error::Error for LoadError {}

/// The result of reading a part of a program.
pub type Result<T, E = LoadError> = core::result::Result<T, E>;

/// Reads a document. Errors: what is no JSON, too large or too deep; a key twice in an object.
pub fn parse(bytes: &[u8]) -> Result<Value> {
    let whole = |what: String| LoadError {
        place: String::new(),
        what,
    };
    if bytes.len() > MAX_BYTES {
        return Err(whole(format!("larger than {MAX_BYTES} bytes")));
    }
    if depth(bytes) > MAX_DEPTH {
        return Err(whole(format!("more than {MAX_DEPTH} levels deep")));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    // The depth was checked above.
    reader.disable_recursion_limit();
    let mut values = reader.into_iter();
    let value = match values.next() {
        Some(read) => read.map_err(|error| whole(error.to_string()))?,
        None => return Err(whole("is empty".to_owned())),
    };
    if values.next().is_some() {
        return Err(whole("has more than one value".to_owned()));
    }
    match key_twice(bytes) {
        None => Ok(value),
        Some(place) => Err(LoadError {
            place,
            what: "is there twice".to_owned(),
        }),
    }
}

/// How deep lists and objects lie within each other, in bytes that may be no JSON.
fn depth(bytes: &[u8]) -> usize {
    let mut now = 0_usize;
    let mut deepest = 0;
    let mut in_text = false;
    let mut escaped = false;
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                now += 1;
                deepest = deepest.max(now);
            }
            b']' | b'}' if !in_text => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The step from a value to one within it.
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// The place of a value within that of another.
struct Place<'a> {
    parent: Option<Rc<Place<'a>>>,
    step: Step<'a>,
}

/// A value with its place.
#[derive(Clone)]
pub struct Node<'a> {
    value: &'a Value,
    place: Option<Rc<Place<'a>>>,
}

impl<'a> Node<'a> {
    /// The whole document.
    pub fn root(value: &'a Value) -> Self {
        Self { value, place: None }
    }

    fn at(&self, value: &'a Value, step: Step<'a>) -> Self {
        let parent = self.place.clone();
        Self {
            value,
            place: Some(Rc::new(Place { parent, step })),
        }
    }

    /// The place of the value.
    pub fn place(&self) -> String {
        let mut steps = Vec::new();
        let mut next = &self.place;
        while let Some(place) = next {
            steps.push(match place.step {
                Step::Key(key) => format!("/{key}"),
                Step::Index(index) => format!("/{index}"),
            });
            next = &place.parent;
        }
        steps.reverse();
        steps.concat()
    }

    /// An error at this place.
    pub fn error(&self, what: impl Into<String>) -> LoadError {
        LoadError {
            place: self.place(),
            what: what.into(),
        }
    }

    /// The same as an `Err`.
    pub fn refuse<T>(&self, what: impl Into<String>) -> Result<T> {
        Err(self.error(what))
    }

    fn object(&self) -> Result<&'a Map<String, Value>> {
        let object = self.value.as_object();
        object.ok_or_else(|| self.error("is not an object"))
    }

    /// The member `key`. Errors: no object, no such member.
    pub fn get(&self, key: &'a str) -> Result<Self> {
        let found = self.object()?.get(key);
        let value = found.ok_or_else(|| self.error(format!("has no {key}")))?;
        Ok(self.at(value, Step::Key(key)))
    }

    /// The member `key`, `None` if it is missing or null. Errors: no object.
    pub fn find(&self, key: &'a str) -> Result<Option<Self>> {
        let found = self.object()?.get(key).filter(|value| !value.is_null());
        Ok(found.map(|value| self.at(value, Step::Key(key))))
    }

    /// The elements of a list. An object without members is one without elements: p4c writes some
    /// so. Errors: no list.
    pub fn items(&self) -> Result<Vec<Self>> {
        if self.value.as_object().is_some_and(Map::is_empty) {
            return Ok(Vec::new());
        }
        let list = self.value.as_array();
        let list = list.ok_or_else(|| self.error("is not a list"))?;
        let nodes = list.iter().enumerate();
        let nodes = nodes.map(|(index, value)| self.at(value, Step::Index(index)));
        Ok(nodes.collect())
    }

    /// The elements of the list `key`, none if it is missing or null. Errors: another value.
    pub fn list(&self, key: &'a str) -> Result<Vec<Self>> {
        match self.find(key)? {
            Some(list) => list.items(),
            None => Ok(Vec::new()),
        }
    }

    /// The elements of a list, which has `N`. Errors: any other value.
    pub fn tuple<const N: usize>(&self) -> Result<[Self; N]> {
        let nodes = self.items()?;
        let count = nodes.len();
        nodes
            .try_into()
            .map_err(|_| self.error(format!("has {count} elements, and not {N}")))
    }

    /// The members of an object, by their names. Errors: no object.
    pub fn members(&self) -> Result<Vec<(&'a str, Self)>> {
        let members = self.object()?.iter();
        Ok(members
            .map(|(key, value)| (&**key, self.at(value, Step::Key(key))))
            .collect())
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        self.value.is_null()
    }

    /// A text. Errors: any other value.
    pub fn text(&self) -> Result<&'a str> {
        let text = self.value.as_str();
        text.ok_or_else(|| self.error("is not a text"))
    }

    /// A text of its own.
    pub fn owned(&self) -> Result<String> {
        self.text().map(ToOwned::to_owned)
    }

    /// `true` or `false`. Errors: any other value.
    pub fn boolean(&self) -> Result<bool> {
        let value = self.value.as_bool();
        value.ok_or_else(|| self.error("is neither true nor false"))
    }

    /// A whole number from 0 to `most`. Errors: any other value.
    pub fn number(&self, most: u64) -> Result<u64> {
        match self.value.as_u64() {
            Some(number) if number <= most => Ok(number),
            Some(_) | None => self.refuse(format!("is not a number from 0 to {most}")),
        }
    }

    /// A number: of JSON, or a text as people write it. Errors: any other value.
    pub fn value(&self) -> Result<Int> {
        if let Some(number) = self.value.as_u64() {
            return Ok(Int::from(number));
        }
        match self.value.as_str() {
            Some(text) => number(text).map_err(|what| self.error(what)),
            None => self.refuse("is neither a whole number from 0 on nor a text with a number"),
        }
    }

    /// Refuses members of an object that are none of `known`. Errors: such a one, no object.
    pub fn only(&self, known: &[&str]) -> Result<()> {
        let mut members = self.members()?.into_iter();
        match members.find(|(key, _)| !known.contains(key)) {
            Some((_, other)) => {
                other.refuse(format!("is no key here; there are {}", known.join(", ")))
            }
            None => Ok(()),
        }
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        self.value.is_array()
    }

    /// A number in hexadecimal, as `0x1f` or `-0x1f`, of at most `bits` bits. Errors: any other
    /// value.
    pub fn hex(&self, bits: u32) -> Result<Int> {
        let text = self.text()?;
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        if digits.trim_start_matches('0').len() > bits.div_ceil(4) as usize {
            return self.refuse(format!("has more than {bits} bits"));
        }
        let Some(value) = Int::from_digits(digits, 16) else {
            return self.refuse("is not a number in hexadecimal");
        };
        Ok(if negative {
            Int::ZERO.sub(&value)
        } else {
            value
        })
    }
}
