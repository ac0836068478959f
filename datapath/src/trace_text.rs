//! The steps of a trace as lines for programs: a word, then values, with tabs between them.

use core::fmt;

use bofuss_oflib::FieldMatch;
use bofuss_oflib::wire::Text;

use crate::{Lost, Step};

/// The number of bytes of a frame that a step shows.
const SHOWN_BYTES: usize = 128;

/// A frame's length, and its first bytes in hexadecimal.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\t", self.0.len())?;
        let mut shown = self.0.iter().take(SHOWN_BYTES);
        shown.try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Text as one value of a line: without tabs and ends of lines.
struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.0.split(char::is_control);
        f.write_str(parts.next().unwrap_or(""))?;
        parts.try_for_each(|part| write!(f, " {part}"))
    }
}

impl fmt::Display for Lost {
    /// `lost`, and a line for each differing field: the wanted value and the packet's value as
    /// text, and as numbers the wanted value, the mask, and the packet's value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\nlost\t{}\t{}", self.priority, self.fields)?;
        for (want, is) in &self.differs {
            write!(f, "\ndiffers\t{want}\t")?;
            if let Some(is) = is {
                write!(f, "{}", FieldMatch::exact(want.field, *is))?;
            }
            write!(f, "\t{:#x}\t{:#x}\t", want.number(), want.mask_number())?;
            is.iter().try_for_each(|is| write!(f, "{is:#x}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Received(port, key, frame) => write!(f, "in\t{port}\t{key}\t{}", Hex(frame)),
            Self::Egress(port) => write!(f, "egress\t{port}"),
            Self::Fragment => f.write_str("fragment"),
            Self::Enter(table) => write!(f, "enter\t{table}"),
            Self::Hook(name, effect) => write!(f, "hook\t{name}\t{effect:?}"),
            Self::Reported(name, line) => write!(f, "says\t{name}\t{}", OneLine(line)),
            Self::Lookup(table, key, won, lost) => {
                write!(f, "table\t{table}\t{key}")?;
                if let Some((priority, fields, cookie)) = won {
                    write!(f, "\nwon\t{priority}\t{cookie:#x}\t{fields}")?;
                }
                lost.iter().try_for_each(|one| write!(f, "{one}"))
            }
            Self::Instruction(instruction) => write!(f, "do\t{}", Text(*instruction)),
            Self::Action(action) => write!(f, "action\t{action}"),
            Self::ActionSet => f.write_str("set"),
            Self::Bucket(group, ty, place) => write!(f, "bucket\t{group}\t{ty}\t{place}"),
            Self::Meter(id, None) => write!(f, "meter\t{id}\t"),
            Self::Meter(id, Some(band)) => write!(f, "meter\t{id}\t{band}"),
            Self::Normal(what) => write!(f, "normal\t{what}"),
            Self::Queue(port, queue) => write!(f, "queue\t{port}\t{queue}"),
            Self::Transmit(port, queue, tunnel, frame) => {
                write!(f, "out\t{port}\t{queue}\t{}", Hex(frame))?;
                match tunnel {
                    0 => Ok(()),
                    id => write!(f, "\t{id}"),
                }
            }
            Self::PacketIn(reason) => write!(f, "controllers\t{reason}"),
            Self::Drop(reason) => write!(f, "drop\t{}", reason.name()),
        }
    }
}
