//! The text of one action or instruction: prints both, and reads actions by their rows.

use core::fmt;

use super::Actions;
use crate::action::{Action, SetField};
use crate::instruction::{Instruction, Instructions};
use crate::wire::{Text, TextForm};

/// Reads and prints the actions of the specification by their rows.
macro_rules! actions_text {
    ($($V:ident $(($T:ty))? $name:literal [$($alias:literal)*];)*) => {
        impl Action {
            /// Reads `name:argument`, the two apart. Errors: what is wrong, in words; `None` if no
            /// action has the name.
            pub fn parse(
                name: &str,
                argument: &str,
                catalogue: &$crate::catalogue::Catalogue,
            ) -> Option<Result<Self, $crate::ParseError>> {
                let is_called = |names: &[&str]| {
                    names.iter().any(|one| one.eq_ignore_ascii_case(name))
                };
                $(if is_called(&[$name, $($alias),*]) {
                    return Some($crate::text::actions_text!(
                        @parse $V argument catalogue name $($T)?
                    ));
                })*
                None
            }
        }
        impl core::fmt::Display for Action {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    $($crate::text::actions_text!(@pattern $V argument $($T)?) => {
                        $crate::text::actions_text!(@write $name f argument $($T)?)
                    })*
                    Self::Experimenter(value) => core::fmt::Display::fmt(value, f),
                }
            }
        }
    };
    (@pattern $V:ident $name:ident $T:ty) => { Self::$V($name) };
    (@pattern $V:ident $name:ident) => { Self::$V };
    (@write $name:literal $f:ident $argument:ident $T:ty) => {
        <$T as $crate::text::ActionArg>::write($argument, $name, $f)
    };
    (@write $name:literal $f:ident $argument:ident) => { $f.write_str($name) };
    (@parse $V:ident $text:ident $catalogue:ident $name:ident $T:ty) => {
        <$T as $crate::text::ActionArg>::parse($text, $catalogue).map(Self::$V)
    };
    (@parse $V:ident $text:ident $catalogue:ident $name:ident) => {
        if $text.is_empty() {
            Ok(Self::$V)
        } else {
            Err(alloc::format!("'{}' takes no argument", $name).into())
        }
    };
}
pub(crate) use actions_text;

impl TextForm for SetField {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl TextForm for Action {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn is_meter(action: &Action) -> bool {
    matches!(action, Action::Meter(_))
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TextForm::text(self, f)
    }
}

impl TextForm for Instruction {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GotoTable(table) => write!(f, "goto_table:{}", table.0),
            Self::WriteMetadata {
                value,
                mask: u64::MAX,
            } => write!(f, "write_metadata:{value:#x}"),
            Self::WriteMetadata { value, mask } => write!(f, "write_metadata:{value:#x}/{mask:#x}"),
            Self::WriteActions(actions) => write!(f, "write_actions({})", Actions(actions)),
            Self::ApplyActions(actions) if actions.is_empty() => f.write_str("apply_actions(drop)"),
            // Alone, a meter is the instruction.
            Self::ApplyActions(actions) if actions.iter().any(is_meter) => {
                write!(f, "apply_actions({})", Actions(actions))
            }
            Self::ApplyActions(actions) => write!(f, "{}", Actions(actions)),
            Self::ClearActions => f.write_str("clear_actions"),
            Self::Meter(meter) => write!(f, "meter:{meter}"),
            Self::StatTrigger(trigger) => write!(f, "stat_trigger({})", Text(trigger)),
            Self::Experimenter(value) => fmt::Display::fmt(value, f),
        }
    }
}

impl TextForm for Instructions {
    /// The text behind `actions=`: `drop` if there is nothing.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Actions(self.list()), f)
    }
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TextForm::text(self, f)
    }
}
