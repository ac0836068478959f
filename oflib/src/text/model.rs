//! The text of what the macros of `model.rs` define: structures, numbers with names, flags.

/// Prints a structure: `name=value,...`, a number with `[hex]` so, or what a function of `text`
/// writes. Fields after the second `;` are printed only where they are not zero.
macro_rules! model_text {
    (@all $this:ident $f:ident $write:ident; $($rest:tt)*) => { $crate::text::$write($this, $f) };
    (@all $this:ident $f:ident; $($field:ident [$($hex:ident)?])*) => {{
        let mut comma = "";
        $(
            let before = core::mem::replace(&mut comma, ",");
            write!($f, concat!("{}", stringify!($field), "="), before)?;
            $crate::text::model_text!(@value $($hex)? $this $f $field);
        )*
        let _ = comma;
        Ok(())
    }};
    (@value hex $this:ident $f:ident $field:ident) => { write!($f, "{:#x}", $this.$field)? };
    (@value $this:ident $f:ident $field:ident) => {
        $crate::wire::TextForm::text(&$this.$field, $f)?
    };
    ($N:ident $($write:ident)?; $($f:ident [$($hex:ident)?])*; $($a:ident: $at:ty;)*) => {
        impl $crate::wire::TextForm for $N {
            fn text(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                $(if self.$a != <$at>::default() {
                    f.write_str(concat!(stringify!($a), "="))?;
                    $crate::wire::TextForm::text(&self.$a, f)?;
                    f.write_str(",")?;
                })*
                $crate::text::model_text!(@all self f $($write)?; $($f [$($hex)?])*)
            }
        }
    };
}
pub(crate) use model_text;

/// Reads and prints a number with named values.
macro_rules! named_text {
    ($N:ident) => {
        impl core::str::FromStr for $N {
            type Err = ();
            /// A name in either case, or a number.
            fn from_str(s: &str) -> Result<Self, ()> {
                if let Some(value) = Self::named(s) {
                    return Ok(value);
                }
                let number = $crate::text::number(s).ok_or(())?;
                number.try_into().map(Self).map_err(|_| ())
            }
        }
        impl $crate::wire::TextForm for $N {
            fn text(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => core::fmt::Display::fmt(&self.0, f),
                }
            }
        }
        impl core::fmt::Display for $N {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                $crate::wire::TextForm::text(self, f)
            }
        }
    };
}
pub(crate) use named_text;

/// Prints a set of flags: `a|b|0x80`.
macro_rules! flags_text {
    ($N:ident) => {
        impl $crate::wire::TextForm for $N {
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
                $crate::wire::TextForm::text(self, f)
            }
        }
    };
}
pub(crate) use flags_text;
