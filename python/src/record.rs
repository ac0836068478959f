//! Structures as Python classes, which rows define. Instances have a slot for each member.

use pyo3::exceptions::PyNotImplementedError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::class::Class;
use crate::form::{Fault, PyForm, To};

/// The key under which a dictionary names its class.
pub(crate) const CLASS: &str = "class";

/// A member of a class, from its row.
pub(crate) struct Member {
    pub(crate) name: &'static str,
    /// Its type, for stubs.
    pub(crate) annotation: String,
    /// The type that the constructor accepts for it, for stubs.
    pub(crate) accepted: String,
}

impl Member {
    /// The member of this name and type.
    pub(crate) fn of<T: PyForm>(name: &'static str) -> Self {
        Self {
            name,
            annotation: T::annotation(),
            accepted: T::accepted(),
        }
    }

    /// The member that a function returns: the compiler infers its type.
    pub(crate) fn given_by<S, T: PyForm>(name: &'static str, _: fn(&S) -> &T) -> Self {
        Self::of::<T>(name)
    }
}

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

/// Where a value is written to: a new object or dictionary, or an existing object.
pub(crate) struct Destination<'py> {
    pub(crate) to: To<'py>,
    pub(crate) existing: Option<Bound<'py, PyAny>>,
}

impl<'py> Destination<'py> {
    /// An existing object.
    pub(crate) fn existing(made: Bound<'py, PyAny>) -> Self {
        let py = made.py();
        Self {
            to: To { py, plain: false },
            existing: Some(made),
        }
    }

    /// Opens the destination for the members of a value of this class.
    pub(crate) fn open(self, class: &'static Class) -> PyResult<MembersOut<'py>> {
        match self.existing {
            Some(made) => Ok(MembersOut { made, to: self.to }),
            None => MembersOut::new(class, self.to),
        }
    }
}

/// An object or dictionary to which members are written.
pub(crate) struct MembersOut<'py> {
    pub(crate) made: Bound<'py, PyAny>,
    to: To<'py>,
}

impl<'py> MembersOut<'py> {
    /// Makes a new object of a class, or a dictionary that names the class.
    fn new(class: &'static Class, to: To<'py>) -> PyResult<Self> {
        let made = if to.plain {
            let dictionary = PyDict::new(to.py);
            dictionary.set_item(CLASS, class.name)?;
            dictionary.into_any()
        } else {
            class.new_object(to.py)?
        };
        Ok(Self { made, to })
    }

    /// The interpreter.
    pub(crate) fn py(&self) -> Python<'py> {
        self.to.py
    }

    /// Writes one member.
    pub(crate) fn put<T: PyForm>(&self, name: &Bound<'py, PyString>, value: &T) -> PyResult<()> {
        let value = value.to_python(self.to)?;
        if self.to.plain {
            self.made.set_item(name, value)
        } else {
            self.made.setattr(name, value)
        }
    }
}

/// An object or dictionary from which members are read.
pub(crate) struct MembersIn<'py> {
    pub(crate) value: Bound<'py, PyAny>,
    /// The name of its class; empty for a dictionary that names none.
    pub(crate) class: String,
    pub(crate) is_dictionary: bool,
}

impl<'py> MembersIn<'py> {
    /// Wraps a value. Errors: it is neither an object of such a class nor a dictionary.
    pub(crate) fn of(value: &Bound<'py, PyAny>, wanted: &str) -> Result<Self, Fault> {
        let is_dictionary = value.is_instance_of::<PyDict>();
        let class = if is_dictionary {
            value.get_item(CLASS).ok()
        } else {
            let class = value.getattr(intern!(value.py(), "_class"));
            Some(class.map_err(|_| Fault::other(value, wanted))?)
        };
        let class = match class {
            Some(class) => String::from_python(&class)?,
            None => String::new(),
        };
        Ok(Self {
            value: value.clone(),
            class,
            is_dictionary,
        })
    }

    /// The interpreter.
    pub(crate) fn py(&self) -> Python<'py> {
        self.value.py()
    }

    /// The fault that the class is not one of those that are wanted.
    pub(crate) fn unknown(&self, wanted: &str) -> Fault {
        Fault::new(match self.class.as_str() {
            "" => format!("a dictionary without '{CLASS}' is no {wanted}"),
            class => format!("a {class} is no {wanted}"),
        })
    }

    /// Checks the class. Errors: it is another one than `class`.
    pub(crate) fn expect(&self, class: &str) -> Result<(), Fault> {
        if self.class == class || (self.is_dictionary && self.class.is_empty()) {
            return Ok(());
        }
        Err(self.unknown(class))
    }

    /// Reads a member; `None` if it is missing. Errors: its value does not fit.
    pub(crate) fn get<T: PyForm>(&self, name: &Bound<'py, PyString>) -> Option<Result<T, Fault>> {
        let found = if self.is_dictionary {
            self.value.get_item(name)
        } else {
            self.value.getattr(name)
        };
        let value = found.ok()?;
        Some(T::from_python(&value).map_err(|fault| fault.within(name)))
    }

    /// Reads a member into its place, unless it is missing. Errors: its value does not fit.
    pub(crate) fn read<T: PyForm>(
        &self,
        name: &Bound<'py, PyString>,
        place: &mut T,
    ) -> Result<(), Fault> {
        if let Some(value) = self.get(name) {
            *place = value?;
        }
        Ok(())
    }

    /// Reads a member, or returns `initial` if it is missing. Errors: it is missing and has no
    /// initial value, or its value does not fit.
    pub(crate) fn need<T: PyForm>(
        &self,
        name: &Bound<'py, PyString>,
        initial: Option<T>,
    ) -> Result<T, Fault> {
        match (self.get(name), initial) {
            (Some(value), _) => value,
            (None, Some(initial)) => Ok(initial),
            (None, None) => Err(Fault::new("it is missing").within(name)),
        }
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
            fn members() -> Vec<$crate::record::Member> {
                vec![$($crate::record::Member::given_by(
                    $crate::record::name!($m $($name)?),
                    |this: &Self| &this.$m,
                )),*]
            }
            fn write(&self, out: &$crate::record::MembersOut<'_>) -> pyo3::PyResult<()> {
                let Self { $($m),* } = self;
                $(out.put(pyo3::intern!(out.py(), $crate::record::name!($m $($name)?)), $m)?;)*
                Ok(())
            }
            fn read(from: &$crate::record::MembersIn<'_>) -> Result<Self, $crate::form::Fault> {
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
                static CLASSES: [$crate::class::Class; 1] = [$crate::class::Class::of::<$T>(
                    $class,
                    "Record",
                    <$T as $crate::record::Members>::members,
                )];
                &CLASSES
            }
            fn write<'py>(
                &self,
                target: $crate::record::Destination<'py>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::PyAny>> {
                let out = target.open(&Self::classes()[0])?;
                $crate::record::Members::write(self, &out)?;
                Ok(out.made)
            }
            fn read(from: &$crate::record::MembersIn<'_>) -> Result<Self, $crate::form::Fault> {
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
                    $crate::class::Class::of::<$E>(stringify!($class), $N, || {
                        vec![$($crate::record::Member::of::<$T>(
                            $crate::record::name!($m $($name)?),
                        )),*]
                    })
                ),*];
                &CLASSES
            }
            fn write<'py>(
                &self,
                target: $crate::record::Destination<'py>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::PyAny>> {
                #[allow(clippy::enum_variant_names)]
                enum VariantClass { $($class),* }
                match self { $(
                    $($form)* => {
                        let out = target.open(&Self::classes()[VariantClass::$class as usize])?;
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
            fn read(from: &$crate::record::MembersIn<'_>) -> Result<Self, $crate::form::Fault> {
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
