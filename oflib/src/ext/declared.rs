//! The rows that extensions declare, from what distinguishes each of them.

use super::{Arg, Audience, BodyType, ExtErrors, ExtKind, ExtRow, TypedBody, Usage};
use crate::error::{ErrorCode, ErrorRow};

impl ExtKind {
    /// Returns the name of such a thing.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Instruction => "instruction",
            Self::Message => "message",
            Self::Multipart => "multipart",
        }
    }
}

impl ExtRow {
    /// The row of values that are a `T` each.
    pub const fn typed<T: TypedBody>(
        kind: ExtKind,
        experimenter: u32,
        ty: u32,
        name: &'static str,
    ) -> Self {
        Self {
            body: Some(BodyType::of::<T>()),
            ..Self::new(kind, experimenter, ty, name)
        }
    }

    /// The same with arguments.
    pub const fn with_args(self, args: &'static [Arg]) -> Self {
        Self { args, ..self }
    }

    /// The same with bytes after the arguments.
    pub const fn with_data(self) -> Self {
        Self { data: true, ..self }
    }

    /// The same as a request that changes the switch.
    pub const fn that_changes(self) -> Self {
        Self {
            changes: true,
            ..self
        }
    }

    /// The same for connections that subscribed to it, and no others.
    pub const fn for_subscribers(self) -> Self {
        Self {
            audience: Audience::Subscribers,
            ..self
        }
    }

    /// The same as a verb of `dpctl`, with the row's name.
    pub const fn with_usage(self, arguments: &'static str, help: &'static str) -> Self {
        Self {
            usage: Some(Usage { arguments, help }),
            ..self
        }
    }

    /// The same with errors of its own, for a wrong length and, if no row before it of this kind
    /// and experimenter has others, for a type that the experimenter does not have.
    pub const fn with_errors(self, bad_type: ErrorCode, bad_length: ErrorCode) -> Self {
        Self {
            errors: Some(ExtErrors {
                bad_type,
                bad_length,
            }),
            ..self
        }
    }

    /// The same with the names of its experimenter's errors, which are known wherever the row is:
    /// see [`crate::experimenter_errors`].
    pub const fn with_error_names(self, error_names: &'static [ErrorRow]) -> Self {
        Self {
            error_names,
            ..self
        }
    }

    /// The same as an instruction that is executed before all of the specification's.
    pub const fn that_runs_first(self) -> Self {
        Self {
            runs_first: true,
            ..self
        }
    }

    /// The same with a type of 16 bits, as all rows of its experimenter, and a body that writes the
    /// whole text, with its name: `note:00` or `clone(output:2)`.
    pub const fn with_short_type(self) -> Self {
        Self {
            short_type: true,
            ..self
        }
    }
}
