//! Lists of properties, which came with 1.4, and which the ONF's bundles have in 1.3: type, length,
//! contents; each type at most once but for experimenters'. Spec: OpenFlow 1.4.1 section 7.2.

use alloc::vec::Vec;

use super::{V1_3, layout};
use crate::error::{BadProperty, DecodeError};
use crate::message::property::ExperimenterProperty;
use crate::wire::{Reader, Writer};

layout! {
    V1_3;
    ExperimenterProperty { experimenter, exp_type, data }
}

/// The type of experimenters' properties.
pub(crate) const EXPERIMENTER: u16 = 0xffff;
/// Types from here on may stand several times: experimenters have them.
///
/// 0xfffe is an experimenter's, too, in table features (for the table-miss entry) and in the
/// asynchronous configuration (for slaves). No other structure has it.
const FIRST_REPEATED: u16 = 0xfffe;

/// A structure with properties.
///
/// The macro `properties!` implements it. Lists of properties end their structure.
pub(crate) trait Properties: Sized {
    /// Reads the contents of one property of type `ty` into its place; `false` if the structure has
    /// no such property. Errors: the contents'.
    fn read_property(&mut self, ty: u16, r: &mut Reader<'_>) -> Result<bool, DecodeError>;
    /// Appends the properties that it has.
    fn write_properties(&self, w: &mut Writer<'_>);
}

/// Reads the properties up to the window's end.
///
/// Errors: BAD_PROPERTY with BAD_TYPE, BAD_LEN or DUP_TYPE, or the contents'.
pub(crate) fn read_properties(
    this: &mut impl Properties,
    r: &mut Reader<'_>,
) -> Result<(), DecodeError> {
    // The types that may not come again: no more than the structure has, as others are refused.
    let mut seen = Vec::new();
    while !r.is_empty() {
        let (at_type, ty, mut body) = r.at("property").property(BadProperty::BAD_LEN)?;
        if seen.contains(&ty) {
            return Err(at_type.err(BadProperty::DUP_TYPE));
        }
        // Unlike an element of HELLO, an unknown property is an error: the sender relies on it.
        if !this.read_property(ty, &mut body)? {
            return Err(at_type.err(BadProperty::BAD_TYPE));
        }
        // No property has padding of its own; that to 8 bytes is outside the window.
        body.finish()?;
        if ty < FIRST_REPEATED {
            seen.push(ty);
        }
    }
    Ok(())
}

/// Says which properties structures have beside experimenters'. Of each: its type, bytes of padding
/// in front, and either the fields that it holds, which is always written, or, after `option`, the
/// field that holds it if it is there. Versions before `since` are told nothing of it.
macro_rules! properties {
    (@read $this:ident $r:ident $pad:literal fields $($f:ident)*) => {{
        $r.take($pad)?;
        $($this.$f = $r.at(stringify!($f)).get()?;)*
    }};
    (@read $this:ident $r:ident $pad:literal option $f:ident) => {{
        $r.take($pad)?;
        $this.$f = Some($r.at(stringify!($f)).get()?);
    }};
    (@write $this:ident $w:ident $ty:literal $pad:literal fields $($f:ident)*) => {
        $w.property($ty, |w| {
            w.pad($pad);
            $(w.put(&$this.$f);)*
        })
    };
    (@write $this:ident $w:ident $ty:literal $pad:literal option $f:ident) => {
        if let Some(value) = &$this.$f {
            $w.property($ty, |w| {
                w.pad($pad).put(value);
            });
        }
    };
    (@since $version:expr, $since:ident) => { $version >= $crate::version::Version::$since };
    (@since $version:expr,) => { true };
    ($($T:ident {
        $($ty:literal pad $pad:literal $kind:ident $($f:ident),* $([since $since:ident])?;)*
    })*) => { $(
        impl $crate::v1_3::Properties for $T {
            fn read_property(
                &mut self,
                ty: u16,
                r: &mut $crate::wire::Reader<'_>,
            ) -> Result<bool, $crate::error::DecodeError> {
                match ty {
                    $($ty if $crate::v1_3::properties!(@since r.version(), $($since)?) => {
                        $crate::v1_3::properties!(@read self r $pad $kind $($f)*)
                    })*
                    $crate::v1_3::EXPERIMENTER => {
                        self.experimenters.push(r.get()?);
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            }
            fn write_properties(&self, w: &mut $crate::wire::Writer<'_>) {
                $(if $crate::v1_3::properties!(@since w.version(), $($since)?) {
                    $crate::v1_3::properties!(@write self w $ty $pad $kind $($f)*);
                })*
                for one in &self.experimenters {
                    w.property($crate::v1_3::EXPERIMENTER, |w| {
                        w.put(one);
                    });
                }
            }
        }
    )* };
}
pub(crate) use properties;

/// Gives structures that end with properties a form: the fields in wire order, `=> N`
/// bytes of padding after one. Fields that are named after `..` cannot be said. A structure of a
/// list has its length in it: `[AT LEAST SKIP]` says at which byte, how many bytes there are at
/// least, and how many come before the first field.
macro_rules! with_properties {
    (@open $r:ident) => { $r.sub($r.remaining(), $crate::error::BadRequest::BAD_LEN)? };
    (@open $r:ident $at:literal $least:literal $skip:literal) => {{
        let bad = $crate::error::BadRequest::BAD_LEN;
        let mut body = $r.at("length").sized($at, $least, 8, bad)?;
        body.take($skip)?;
        body
    }};
    ($V:ty; $($T:ident $([$at:literal $least:literal $skip:literal])? {
        $($f:ident $(=> $pad:literal)?),* $(; ..$rest:ident [$($unsupported:ident),*])?
    })*) => { $(
        impl $crate::forms::Form<$V> for $T {
            fn read(
                r: &mut $crate::wire::Reader<'_>,
            ) -> Result<Self, $crate::error::DecodeError> {
                let mut body = $crate::v1_3::with_properties!(@open r $($at $least $skip)?);
                let mut this = Self {
                    $($f: {
                        let value = body.at(stringify!($f)).get()?;
                        $(body.take($pad)?;)?
                        value
                    },)*
                    ..Self::default()
                };
                $crate::v1_3::read_properties(&mut this, &mut body)?;
                Ok(this)
            }
            fn write(&self, w: &mut $crate::wire::Writer<'_>) {
                $($(if self.$unsupported != Self::$rest().$unsupported {
                    w.unsupported(stringify!($unsupported));
                })*)?
                let _start = w.bytes.len();
                $(w.pad($skip);)?
                $(w.put(&self.$f)$(.pad($pad))?;)*
                $crate::v1_3::Properties::write_properties(self, w);
                $(w.patch_length(_start, _start + $at);)?
            }
        }
    )* };
}
pub(crate) use with_properties;
