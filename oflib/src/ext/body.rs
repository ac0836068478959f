//! Bodies of experimenters' values: structures of any type, which only their rows know.

use alloc::{sync::Arc, vec::Vec};
use core::any::{Any, TypeId};
use core::fmt::{self, Debug};
use core::hash::{Hash, Hasher};

use super::{ExtKind, ExtRow, ExtValue, MAX_NESTED};
use crate::action::Action;
use crate::catalogue::Catalogue;
use crate::error::{BadAction, DecodeError};
use crate::message::Message;
use crate::parse_error::ParseError;
use crate::version::Version;
use crate::wire::{Bytes, Reader, TextForm, Wire, Writer};

/// An experimenter value as a structure: what follows experimenter and type on the wire, and is
/// between the parentheses in text.
///
/// Invariant: as for [`Wire`]: what was decoded can be encoded, and gives the same value again.
///
/// Its hash must read all that distinguishes two values, as [`ExtValue::held_bytes`] takes what it
/// reads for the size of a value.
pub trait TypedBody: Wire + TextForm + Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// Reads the text form. Errors: what is wrong, in words.
    ///
    /// Invariant: what [`TextForm::text`] writes is read as the same value.
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError>;

    /// Appends a further part of a multipart message. Errors: `false` if one part is all.
    fn join(&mut self, _part: Self) -> bool {
        false
    }

    /// A number that distinguishes actions of one row in an action set, which has at most one of
    /// each.
    fn action_set_key(&self) -> u64 {
        0
    }

    /// The actions in it that are applied to the packet itself or to a copy of it: a switch checks
    /// them as those around it.
    fn actions(&self) -> &[Action] {
        &[]
    }

    /// The same, as a connection gets it that the extension has given this form: where dialects
    /// differ in what is sent, and the connection is known to speak one. `None`: as it is.
    fn in_form(&self, _form: u8) -> Option<Self> {
        None
    }

    /// The standard messages of a version that a notification is sent as, if the version has such.
    /// `None`: it is sent as it is.
    fn in_messages(&self, _version: Version) -> Option<Vec<Message>> {
        None
    }
}

/// A [`TypedBody`] whose type only its row knows.
///
/// Traits with generic methods cannot be used behind a pointer. Its methods are those of the typed
/// trait; `is_equal`, `copy` and `hash` replace the derived ones.
pub(crate) trait AnyBody: Any + Debug + Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn encode(&self, w: &mut Writer<'_>);
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
    fn is_equal(&self, other: &dyn AnyBody) -> bool;
    fn copy(&self) -> SharedBody;
    fn in_form(&self, form: u8) -> Option<SharedBody>;
    fn in_messages(&self, version: Version) -> Option<Vec<Message>>;
    fn join(&mut self, part: &dyn AnyBody) -> bool;
    fn action_set_key(&self) -> u64;
    fn actions(&self) -> &[Action];
    fn hash(&self, state: &mut dyn Hasher);
}

impl<T: TypedBody> AnyBody for T {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(self);
    }
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TextForm::text(self, f)
    }
    fn is_equal(&self, other: &dyn AnyBody) -> bool {
        // Bodies of different types are never equal.
        other.as_any().downcast_ref() == Some(self)
    }
    fn copy(&self) -> SharedBody {
        Arc::new(self.clone())
    }
    fn in_form(&self, form: u8) -> Option<SharedBody> {
        let other = TypedBody::in_form(self, form)?;
        Some(Arc::new(other))
    }
    fn in_messages(&self, version: Version) -> Option<Vec<Message>> {
        TypedBody::in_messages(self, version)
    }
    fn join(&mut self, part: &dyn AnyBody) -> bool {
        // Parts of different types do not go together.
        let part: Option<&Self> = part.as_any().downcast_ref();
        part.is_some_and(|part| TypedBody::join(self, part.clone()))
    }
    fn action_set_key(&self) -> u64 {
        TypedBody::action_set_key(self)
    }
    fn actions(&self) -> &[Action] {
        TypedBody::actions(self)
    }
    fn hash(&self, mut state: &mut dyn Hasher) {
        Hash::hash(self, &mut state);
    }
}

/// A body as values hold it; copies share it.
///
/// Only `join` changes a body in place, and only while it has one owner.
pub(crate) type SharedBody = Arc<dyn AnyBody>;

/// The type of a row's bodies, with the function that reads them.
#[derive(Clone, Copy, Debug)]
pub struct BodyType {
    /// A function, because `TypeId::of` is not constant in the oldest Rust that is supported.
    ty: fn() -> TypeId,
    decode: fn(&mut Reader<'_>) -> Result<SharedBody, DecodeError>,
    #[cfg(feature = "text")]
    pub(super) parse: fn(&str, &Catalogue) -> Result<SharedBody, ParseError>,
}

impl BodyType {
    /// Returns the body type of `T`.
    pub const fn of<T: TypedBody>() -> Self {
        Self {
            ty: TypeId::of::<T>,
            decode: |r| Ok(Arc::new(r.get::<T>()?)),
            #[cfg(feature = "text")]
            parse: |text, catalogue| Ok(Arc::new(T::parse(text, catalogue)?)),
        }
    }
}

impl ExtValue {
    /// A value of a row with bodies. Panics: if those are of another type.
    pub fn typed<T: TypedBody>(row: &'static ExtRow, body: T) -> Self {
        let of = row.body.map(|body| (body.ty)());
        assert_eq!(of, Some(TypeId::of::<T>()), "the body is of the row's type");
        Self::with_body(row, Arc::new(body))
    }

    /// A value of a row with bodies of this type.
    pub(super) fn with_body(row: &'static ExtRow, body: SharedBody) -> Self {
        Self {
            body: Some(body),
            ..Self::new(row, Vec::new(), Bytes::default())
        }
    }

    /// The body, if it is a `T`.
    pub fn body<T: TypedBody>(&self) -> Option<&T> {
        self.body.as_deref()?.as_any().downcast_ref()
    }

    /// Returns the key that distinguishes it from others of its row in an action set.
    pub fn action_set_key(&self) -> u64 {
        self.body.as_ref().map_or(0, |body| body.action_set_key())
    }

    /// The actions in it that are applied to the packet or to a copy of it.
    pub fn actions(&self) -> &[Action] {
        self.body.as_ref().map_or(&[], |body| body.actions())
    }

    /// The same, as a connection with this form gets it.
    #[must_use]
    pub fn in_form(&self, form: u8) -> Self {
        let mut this = self.clone();
        let other = this.body.as_ref().and_then(|body| body.in_form(form));
        if other.is_some() {
            this.body = other;
        }
        this
    }

    /// The standard messages of a version that say the same, if it is to be sent as these.
    pub fn in_messages(&self, version: Version) -> Option<Vec<Message>> {
        self.body.as_ref()?.in_messages(version)
    }

    /// Appends a further part of a multipart message: to a body as its type says, else its data.
    /// Errors: `false` if they do not go together, or one part is all.
    pub fn join(&mut self, part: Self) -> bool {
        if self.row != part.row || self.args != part.args {
            return false;
        }
        match (&mut self.body, part.body) {
            (Some(body), Some(part)) => {
                // Another value shares the body: only a copy may grow.
                if Arc::get_mut(body).is_none() {
                    *body = body.copy();
                }
                Arc::get_mut(body).is_some_and(|body| body.join(&*part))
            }
            (None, None) if self.row.data => {
                self.data.0.extend(part.data.0);
                true
            }
            (_, _) => false,
        }
    }

    /// Returns true if the bodies of two values are equal, or neither has one.
    pub(super) fn has_same_body(&self, other: &Self) -> bool {
        match (&self.body, &other.body) {
            (Some(one), Some(other)) => one.is_equal(&**other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    /// Hashes the body, if there is one.
    pub(super) fn hash_body(&self, state: &mut impl Hasher) {
        if let Some(body) = &self.body {
            body.hash(state);
        }
    }

    /// Reads a value of a row with bodies; `None` if the row has none.
    ///
    /// Errors: the body's; BAD_ACTION/TOO_MANY at `at_type` for bodies within each other deeper
    /// than [`MAX_NESTED`].
    pub(super) fn decode_body(
        row: &'static ExtRow,
        at_type: &Reader<'_>,
        r: &mut Reader<'_>,
    ) -> Result<Option<Self>, DecodeError> {
        let Some(body) = row.body else {
            return Ok(None);
        };
        // Only bodies can have values within them, so that only they count.
        r.nested += 1;
        if r.nested > MAX_NESTED {
            return Err(at_type.err(BadAction::TOO_MANY));
        }
        Ok(Some(Self::with_body(row, (body.decode)(r)?)))
    }

    /// Appends the body, if there is one.
    pub(super) fn encode_body(&self, w: &mut Writer<'_>) {
        let Some(body) = &self.body else {
            return;
        };
        if self.row.kind != ExtKind::Multipart {
            // Only a multipart may be split between the items of its list.
            return w.undivided(|w| body.encode(w));
        }
        let start = w.bytes.len();
        body.encode(w);
        // Further parts would lack what precedes the list.
        if w.item_starts.first() != Some(&start) {
            w.item_starts.clear();
        }
    }
}

impl fmt::Display for ExtValue {
    /// `name(arg=1,arg=2)`, data in hexadecimal. With a short type: as the body writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (true, Some(body)) = (self.row.short_type, &self.body) {
            return body.text(f);
        }
        write!(f, "{}(", self.row.name)?;
        let mut comma = "";
        for (arg, value) in self.row.args.iter().zip(&self.args) {
            write!(f, "{comma}{}={value}", arg.name)?;
            comma = ",";
        }
        if let Some(body) = &self.body {
            body.text(f)?;
        }
        if self.row.data {
            write!(f, "{comma}data=")?;
            self.data.text(f)?;
        }
        f.write_str(")")
    }
}
