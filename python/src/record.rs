//! Structures as Python classes, which rows define. Instances have a slot for each member.

use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;

use crate::class::Class;
use crate::form::{Fault, PyForm, To};
use crate::members::{Destination, Member, MembersIn, MembersOut};

/// A structure's members, for the object of a class that may have further ones.
pub(crate) trait Members: Sized {
    /// The members, in the order of the constructor's arguments.
    fn members() -> Vec<Member>;
    /// Writes each member.
    fn write(&self, out: &MembersOut<'_>) -> PyResult<()>;
    /// Reads each member; one that is missing gets its initial value. Errors: the member that does
    /// not fit.
    fn read(from: &MembersIn<'_>) -> Result<Self, Fault>;
}

/// A value with a class of its own, or with one for each of its variants.
pub(crate) trait Record: Sized + 'static {
    /// The name of its class, or of the base class of its variants' classes.
    const NAME: &'static str;
    /// Its class, or those of its variants.
    fn classes() -> &'static [Class];
    /// Writes the value to a destination.
    fn write<'py>(&self, target: Destination<'py>) -> PyResult<Bound<'py, PyAny>>;
    /// Reads a value of the class that the source names. Errors: as for [`Members::read`].
    fn read(from: &MembersIn<'_>) -> Result<Self, Fault>;
    /// The text form of the value.
    fn text(&self) -> String;
    /// Reads a list of such values from one text; `None` if there is no such form. Errors: what is
    /// wrong in it.
    fn list_of_text(_: &str) -> Option<Result<Vec<Self>, Fault>> {
        None
    }
}

/// The class of this name for the values of `T`, or for one of its variants.
pub(crate) const fn class_of<T: Record>(
    name: &'static str,
    base: &'static str,
    members: fn() -> Vec<Member>,
) -> Class {
    Class::new(
        name,
        base,
        members,
        |from, target| Ok(T::read(from)?.write(target)?),
        |from| Ok(T::read(from)?.text()),
    )
}

impl<T: Record> PyForm for T {
    fn annotation() -> String {
        T::NAME.into()
    }
    fn accepted() -> String {
        format!("{} | Mapping[str, Any]", T::NAME)
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.write(Destination { to, existing: None })
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        let source = MembersIn::of(value, T::NAME)?;
        T::read(&source)
    }
    fn list_of_text(text: &str) -> Option<Result<Vec<Self>, Fault>> {
        T::list_of_text(text)
    }
}

/// The error for a value of oflib for which no row here names a class.
pub(crate) fn without_class(text: &str) -> PyErr {
    PyNotImplementedError::new_err(format!("there is no class for {text}"))
}

/// The name of a member in Python: that of the field, or another if the row has one.
macro_rules! name {
    ($m:ident) => {
        stringify!($m)
    };
    ($m:ident $name:literal) => {
        $name
    };
}
pub(crate) use name;

/// The members of structures. A row names each member once; the compiler reports one that is
/// missing. `= VALUE` is a new structure, if that is not the default.
macro_rules! members_of {
    ($($T:ident $(= $initial:expr)? => { $($m:ident $($name:literal)?),* $(,)? })*) => { $(
        impl $crate::record::Members for $T {
            fn members() -> Vec<$crate::members::Member> {
                vec![$($crate::members::Member::given_by(
                    $crate::record::name!($m $($name)?),
                    |this: &Self| &this.$m,
                )),*]
            }
            fn write(&self, out: &$crate::members::MembersOut<'_>) -> pyo3::PyResult<()> {
                let Self { $($m),* } = self;
                $(out.put(pyo3::intern!(out.py(), $crate::record::name!($m $($name)?)), $m)?;)*
                Ok(())
            }
            fn read(from: &$crate::members::MembersIn<'_>) -> Result<Self, $crate::form::Fault> {
                let mut this = $crate::record::members_of!(@initial $($initial)?);
                $(from.read(
                    pyo3::intern!(from.py(), $crate::record::name!($m $($name)?)),
                    &mut this.$m,
                )?;)*
                Ok(this)
            }
        }
    )* };
    (@initial) => { Self::default() };
    (@initial $initial:expr) => { $initial };
}
pub(crate) use members_of;

/// Structures with a class of their own: rows as in [`members_of`], after the name of the class.
macro_rules! records {
    ($($class:literal $T:ident $(= $initial:expr)? => { $($members:tt)* })*) => {
        $crate::record::members_of! { $($T $(= $initial)? => { $($members)* })* }
        $(impl $crate::record::Record for $T {
            const NAME: &'static str = $class;
            fn classes() -> &'static [$crate::class::Class] {
                static CLASSES: [$crate::class::Class; 1] = [$crate::record::class_of::<$T>(
                    $class,
                    "Record",
                    <$T as $crate::record::Members>::members,
                )];
                &CLASSES
            }
            fn write<'py>(
                &self,
                target: $crate::members::Destination<'py>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::PyAny>> {
                let out = Self::classes()[0].open(target)?;
                $crate::record::Members::write(self, &out)?;
                Ok(out.made)
            }
            fn read(from: &$crate::members::MembersIn<'_>) -> Result<Self, $crate::form::Fault> {
                from.expect($class)?;
                $crate::record::Members::read(from)
            }
            fn text(&self) -> String {
                bofuss_oflib::wire::Text(self).to_string()
            }
        })*
    };
}
pub(crate) use records;

/// Enums with a class for each variant. A row has the name of the class, the variant in a form that
/// is both a pattern and an expression, and the members with their types; `= VALUE` is the initial
/// value of a member that may be left out.
macro_rules! variants {
    ($N:literal $E:ident {
        $($class:ident [$($form:tt)*] {
            $($m:ident $($name:literal)? : $T:ty $(= $initial:expr)?),*
        })*
    } check $check:path, text $text:path $(, list $list:path)?) => {
        impl $crate::record::Record for $E {
            const NAME: &'static str = $N;
            fn classes() -> &'static [$crate::class::Class] {
                const COUNT: usize = [$(stringify!($class)),*].len();
                static CLASSES: [$crate::class::Class; COUNT] = [$(
                    $crate::record::class_of::<$E>(stringify!($class), $N, || {
                        vec![$($crate::members::Member::with::<$T>(
                            $crate::record::name!($m $($name)?),
                            $crate::record::variants!(@initial $($initial)?),
                        )),*]
                    })
                ),*];
                &CLASSES
            }
            fn write<'py>(
                &self,
                target: $crate::members::Destination<'py>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::PyAny>> {
                #[allow(clippy::enum_variant_names)]
                enum VariantClass { $($class),* }
                match self { $(
                    $($form)* => {
                        let out = Self::classes()[VariantClass::$class as usize].open(target)?;
                        $(out.put(
                            pyo3::intern!(out.py(), $crate::record::name!($m $($name)?)),
                            $m,
                        )?;)*
                        Ok(out.made)
                    }
                )*
                    #[allow(unreachable_patterns)]
                    other => Err($crate::record::without_class(&$text(other))),
                }
            }
            fn read(from: &$crate::members::MembersIn<'_>) -> Result<Self, $crate::form::Fault> {
                match from.class.as_str() {
                    $(stringify!($class) => {
                        $(
                            let name = pyo3::intern!(
                                from.py(),
                                $crate::record::name!($m $($name)?)
                            );
                            let initial: Option<$T> = $crate::record::variants!(
                                @initial $($initial)?
                            );
                            let $m: $T = from.need(name, initial)?;
                        )*
                        $check($($form)*)
                    })*
                    _ => Err(from.unknown($N)),
                }
            }
            fn text(&self) -> String {
                $text(self)
            }
            $(fn list_of_text(text: &str) -> Option<Result<Vec<Self>, $crate::form::Fault>> {
                Some($list(text))
            })?
        }
    };
    (@initial) => { None };
    (@initial $initial:expr) => { Some($initial) };
}
pub(crate) use variants;
