//! Structures as Python classes: the classes are made of rows when the module is imported, and
//! their instances have a slot for each member.

use pyo3::exceptions::PyNotImplementedError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::class::Class;
use crate::form::{Fault, PyForm, To};

/// The key under which a dictionary names its class.
pub(crate) const CLASS: &str = "class";

/// What a row says of a member.
pub(crate) struct Member {
    pub(crate) name: &'static str,
    /// Its type in stubs.
    pub(crate) annotation: String,
    /// What the constructor takes for it, in stubs.
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

    /// The member that a function gives, whose type the compiler knows.
    pub(crate) fn given_by<S, T: PyForm>(name: &'static str, _: fn(&S) -> &T) -> Self {
        Self::of::<T>(name)
    }
}

/// The members of a structure, which stand in an object of some class.
pub(crate) trait Members: Sized {
    /// The members, in the order of the constructor's arguments.
    fn members() -> Vec<Member>;
    /// Writes each member.
    fn write(&self, out: &MembersOut<'_>) -> PyResult<()>;
    /// Reads each member; those that are not there are as the row says. Errors: what is wrong in
    /// which.
    fn read(from: &MembersIn<'_>) -> Result<Self, Fault>;
}

/// A value with a class of its own, or with one for each of its variants.
pub(crate) trait Record: Sized + 'static {
    /// The class, or what its variants' classes derive from.
    const NAME: &'static str;
    /// Its classes: one, or that of each variant.
    fn classes() -> &'static [Class];
    /// Writes each member.
    fn write<'py>(&self, target: Destination<'py>) -> PyResult<Bound<'py, PyAny>>;
    /// Reads a value whose class the source names. Errors: as [`Members::read`].
    fn read(from: &MembersIn<'_>) -> Result<Self, Fault>;
    /// Its text form.
    fn text(&self) -> String;
    /// Reads a list of such values from one text. Errors: what is wrong in it.
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

/// Where a value is written: to a new object or dictionary, or to one that is there.
pub(crate) struct Destination<'py> {
    pub(crate) to: To<'py>,
    pub(crate) existing: Option<Bound<'py, PyAny>>,
}

impl<'py> Destination<'py> {
    /// To the members of an object.
    pub(crate) fn existing(made: Bound<'py, PyAny>) -> Self {
        let py = made.py();
        Self {
            to: To { py, plain: false },
            existing: Some(made),
        }
    }

    /// What the members of a value of this class are written to.
    pub(crate) fn open(self, class: &'static Class) -> PyResult<MembersOut<'py>> {
        match self.existing {
            Some(made) => Ok(MembersOut { made, to: self.to }),
            None => MembersOut::new(class, self.to),
        }
    }
}

/// What members are written to.
pub(crate) struct MembersOut<'py> {
    pub(crate) made: Bound<'py, PyAny>,
    to: To<'py>,
}

impl<'py> MembersOut<'py> {
    /// A new object of a class, or a dictionary that names it.
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

/// What members are read from: an object of a class, or a dictionary.
pub(crate) struct MembersIn<'py> {
    pub(crate) value: Bound<'py, PyAny>,
    /// The name of its class; empty for a dictionary that names none.
    pub(crate) class: String,
    pub(crate) is_dictionary: bool,
}

impl<'py> MembersIn<'py> {
    /// Errors: a value that is neither.
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

    /// That the class is none of those wanted.
    pub(crate) fn unknown(&self, wanted: &str) -> Fault {
        Fault::new(match self.class.as_str() {
            "" => format!("a dictionary without '{CLASS}' is no {wanted}"),
            class => format!("a {class} is no {wanted}"),
        })
    }

    /// Errors: it is of another class than this one.
    pub(crate) fn expect(&self, class: &str) -> Result<(), Fault> {
        if self.class == class || (self.is_dictionary && self.class.is_empty()) {
            return Ok(());
        }
        Err(self.unknown(class))
    }

    /// A member. Errors: what it is not; `None` if it is not there.
    pub(crate) fn get<T: PyForm>(&self, name: &Bound<'py, PyString>) -> Option<Result<T, Fault>> {
        let found = if self.is_dictionary {
            self.value.get_item(name)
        } else {
            self.value.getattr(name)
        };
        let value = found.ok()?;
        Some(T::from_python(&value).map_err(|fault| fault.within(name)))
    }

    /// Reads a member into its place, if it is there. Errors: what it is not.
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

    /// A member that has to be there if it is not `initial` else. Errors: that it is not, or what
    /// it is not.
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

/// A value that came to the model without a row here: what it is, in text, is all that is said.
pub(crate) fn without_class(text: &str) -> PyErr {
    PyNotImplementedError::new_err(format!("there is no class for {text}"))
}

/// The name of a member in Python: its own, or the one that the row has for it.
macro_rules! name {
    ($m:ident) => {
        stringify!($m)
    };
    ($m:ident $name:literal) => {
        $name
    };
}
pub(crate) use name;

/// The members of structures: a row names each member once, and the compiler finds one that is
/// missing. `= VALUE` is what a new one has, if not the model's default.
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

/// Structures with a class of their own; as [`members_of`], with the class's name in front.
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

/// Enums with a class for each variant: its name, the variant as a pattern and an expression, and
/// the members with their types, and what a new one has that may be left out.
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
