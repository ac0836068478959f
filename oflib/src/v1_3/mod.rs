//! OpenFlow 1.3 on the wire; 1.2 writes most structures so, too. Spec: OpenFlow 1.3.5.
//!
//! Structures whose fields stand in order are rows of `layout!`; the others are functions.

mod action;
#[cfg(feature = "bundles")]
pub(crate) mod bundle;
pub(crate) mod error;
mod flow;
mod group;
pub(crate) mod matching;
mod meter;
#[cfg(feature = "monitors")]
pub(crate) mod monitor;
mod multipart;
pub(crate) mod onf;
mod packet;
mod port;
#[cfg(feature = "bundles")]
mod properties;
pub(crate) mod session;
mod table_features;

/// The forms that came with 1.2 and 1.3, and stay until another version says otherwise.
///
/// "Form" is that of [`crate::forms::Form`]: `forms.rs` says which versions use these.
pub(crate) enum V1_3 {}

/// Gives structures of the model a form: the fields in wire order, `=> N` bytes of padding after
/// one. Fields after `..` have no place in it: they are read as nothing. Those that are named
/// behind it cannot be said; others are left out.
///
/// Numbers are big-endian, and nothing is between two fields but the padding that is named. A
/// structure whose length is in it reads the length before, as it bounds the window of the fields.
macro_rules! layout {
    ($V:ty; $($T:ident {
        $($f:ident $(=> $pad:literal)?),* $(; ..$rest:ident $([$($unsupported:ident),*])?)?
    })*) => { $(
        impl $crate::forms::Form<$V> for $T {
            fn read(
                r: &mut $crate::wire::Reader<'_>,
            ) -> Result<Self, $crate::error::DecodeError> {
                Ok(Self {
                    $($f: {
                        let value = r.at(stringify!($f)).get()?;
                        $(r.take($pad)?;)?
                        value
                    },)*
                    $(..Self::$rest())?
                })
            }
            fn write(&self, w: &mut $crate::wire::Writer<'_>) {
                $($($(if self.$unsupported != Self::default().$unsupported {
                    w.unsupported(stringify!($unsupported));
                })*)?)?
                $(w.put(&self.$f)$(.pad($pad))?;)*
            }
        }
    )* };
}
pub(crate) use layout;
#[cfg(feature = "bundles")]
pub(crate) use properties::{
    EXPERIMENTER, Properties, properties, read_properties, with_properties,
};
