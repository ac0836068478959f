//! The macros that define what the model is made of: structures, numbers with names, flags.

/// Defines a structure of the model and its text form: `name=value,...` with `as hex` for a number
/// printed so, or what the function of `text` that is named after `text` writes. Fields after
/// `in_some_versions` are printed only where they are not zero.
///
/// The wire form is not here: it is a row of `layout!`, as versions differ in it and not in the
/// structure.
macro_rules! model {
    ($(#[$m:meta])* pub struct $N:ident $(text $write:ident)? {
        $($(#[$fm:meta])* pub $f:ident : $t:ty $(as $hex:ident)?),* $(,)?
    } $(in_some_versions { $($(#[$am:meta])* pub $a:ident : $at:ty),* $(,)? })?) => {
        $(#[$m])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
        pub struct $N { $($(#[$fm])* pub $f: $t,)* $($($(#[$am])* pub $a: $at),*)? }
        #[cfg(feature = "text")]
        $crate::text::model_text! { $N $($write)?; $($f [$($hex)?])*; $($($a: $at;)*)? }
    };
}
pub(crate) use model;

/// Defines a number with named values, its text form, and its plain wire form: the number. With
/// `else ERROR` any other value is refused on decode; `default VALUE` says which is the default, if
/// not zero.
///
/// Without `else`, a number that has no name is kept: it is printed and encoded again as it came.
macro_rules! named {
    ($(#[$m:meta])* pub struct $N:ident($t:ty) $(else $error:path)? $(, default $D:ident)? {
        $($(#[$vm:meta])* $V:ident = $value:literal $text:literal),* $(,)?
    }) => {
        $(#[$m])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $N(pub $t);
        impl Default for $N {
            fn default() -> Self {
                Self(0 $(| Self::$D.0)?)
            }
        }
        impl $N {
            $($(#[$vm])* pub const $V: Self = Self($value);)*
            /// Every named value with its name in text.
            pub const NAMES: &'static [(Self, &'static str)] = &[$((Self::$V, $text)),*];
            /// Every named value with the specification's name, without its prefix.
            #[cfg(feature = "names")]
            pub const CONSTANTS: &'static [(&'static str, Self)] =
                &[$((stringify!($V), Self::$V)),*];
            /// The name of this value, if it has one.
            pub fn name(self) -> Option<&'static str> {
                Self::NAMES.iter().find(|(value, _)| *value == self).map(|(_, name)| *name)
            }
            /// The value of a name, in either case.
            #[cfg(feature = "names")]
            pub fn named(name: &str) -> Option<Self> {
                Self::NAMES.iter().find(|(_, n)| n.eq_ignore_ascii_case(name)).map(|(v, _)| *v)
            }
        }
        impl $crate::forms::Form<$crate::forms::Plain> for $N {
            fn read(
                r: &mut $crate::wire::Reader<'_>,
            ) -> Result<Self, $crate::error::DecodeError> {
                // The underscore is for the numbers that refuse nothing, in which it is not used.
                let _start = r.clone();
                let value = Self(r.get()?);
                $(if value.name().is_none() {
                    return Err(_start.err($error));
                })?
                Ok(value)
            }
            fn write(&self, w: &mut $crate::wire::Writer<'_>) {
                w.put(&self.0);
            }
        }
        #[cfg(feature = "text")]
        $crate::text::named_text! { $N }
    };
}
pub(crate) use named;

/// Defines a set of flag bits with names, its text form `a|b|0x80`, and its plain wire form: the
/// bits, unknown bits too.
///
/// Unknown bits are for the switch to refuse, which knows the error for them in each message.
macro_rules! flags {
    ($(#[$m:meta])* pub struct $N:ident($t:ty) {
        $($(#[$vm:meta])* $V:ident = $value:literal $text:literal),* $(,)?
    }) => {
        $(#[$m])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
        pub struct $N(pub $t);
        impl $N {
            $($(#[$vm])* pub const $V: Self = Self($value);)*
            /// Every named bit with its name in text.
            pub const NAMES: &'static [(Self, &'static str)] = &[$((Self::$V, $text)),*];
            /// Every named bit with the specification's name, without its prefix.
            #[cfg(feature = "names")]
            pub const CONSTANTS: &'static [(&'static str, Self)] =
                &[$((stringify!($V), Self::$V)),*];
            /// All named bits.
            pub const ALL: Self = Self(0 $(| $value)*);
            /// The bit of a name, in either case.
            #[cfg(feature = "names")]
            pub fn named(name: &str) -> Option<Self> {
                Self::NAMES.iter().find(|(_, n)| n.eq_ignore_ascii_case(name)).map(|(v, _)| *v)
            }
            /// These bits but those of `other`.
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }
            /// Returns true if all bits of `other` are set.
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
        impl $crate::forms::Form<$crate::forms::Plain> for $N {
            fn read(
                r: &mut $crate::wire::Reader<'_>,
            ) -> Result<Self, $crate::error::DecodeError> {
                r.get().map(Self)
            }
            fn write(&self, w: &mut $crate::wire::Writer<'_>) {
                w.put(&self.0);
            }
        }
        #[cfg(feature = "text")]
        $crate::text::flags_text! { $N }
    };
}
pub(crate) use flags;
