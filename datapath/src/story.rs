//! The steps of a trace as sentences.

use core::fmt;

use bofuss_oflib::wire::Wire;

use crate::{Lost, Step};

/// A value's text form, for `write!`.
struct Text<'a, T>(&'a T);

impl<T: Wire> fmt::Display for Text<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.text(f)
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "priority {} ({}) lost: {} differs",
            self.priority, self.fields, self.because
        )
    }
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Received(port, key, bytes) => write!(f, "port {port}: {bytes} bytes, {key}"),
            Self::Fragment => f.write_str("    => waits for the other fragments"),
            Self::Hook(name, effect) => write!(f, "  extension {name} ({effect:?})"),
            Self::Lookup(table, won, lost) => {
                write!(f, "table {table}: ")?;
                match won {
                    None => f.write_str("no entry matches")?,
                    Some((priority, fields, cookie)) => {
                        write!(f, "priority {priority}")?;
                        let fields = alloc::string::ToString::to_string(fields);
                        let any = fields.is_empty();
                        write!(f, ", {}", if any { "any packet" } else { &fields })?;
                        write!(f, ", cookie {cookie:#x}")?;
                    }
                }
                lost.iter().try_for_each(|one| write!(f, "\n  {one}"))
            }
            Self::Instruction(instruction) => write!(f, "  do {}", Text(*instruction)),
            Self::Action(action) => write!(f, "    {action}"),
            Self::ActionSet => f.write_str("action set"),
            Self::Bucket(group, ty, place) => {
                write!(f, "    group {group} ({ty}): bucket {place}")
            }
            Self::Meter(id, None) => write!(f, "    meter {id}: no rate is exceeded"),
            Self::Meter(id, Some(band)) => write!(f, "    meter {id}: above {band}"),
            Self::Normal(what) => write!(f, "    NORMAL {what}"),
            Self::Queue(port, queue) => write!(f, "    => queue {queue} of port {port}"),
            Self::Transmit(port, bytes) => write!(f, "    => {bytes} bytes leave by port {port}"),
            Self::PacketIn(reason) => write!(f, "    => to the controllers, reason {reason}"),
            Self::Drop(reason) => write!(f, "    => dropped: {}", reason.meaning()),
        }
    }
}
