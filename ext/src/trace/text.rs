//! A trace as text for people.

use alloc::string::String;
use core::fmt;

use bofuss_agent::STANDALONE_COOKIE;

use super::read::number;
use super::{FieldDifference, HitEntry, LostEntry, Stage, Trace, TraceEvent, TracedFrame};

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.packet.bytes;
        let port = &self.packet.port;
        writeln!(f, "packet of {bytes} bytes received on port {port}")?;
        writeln!(f, "  {}", self.fields)?;
        let mut before = self.fields.as_str();
        for stage in &self.stages {
            stage.write(before, f)?;
            if stage.table.is_some() {
                before = &stage.fields;
            }
        }
        writeln!(f, "result")?;
        self.result
            .iter()
            .try_for_each(|event| writeln!(f, "  {event}"))?;
        if self.cut {
            writeln!(f, "  ... cut here: the trace is longer than one message")?;
        }
        if let Some(place) = &self.forwarded {
            writeln!(f, "frames of this flow are forwarded {place}")?;
        }
        Ok(())
    }
}

impl Stage {
    /// Its heading.
    pub(super) fn name(&self) -> String {
        match self.table {
            Some(table) => alloc::format!("table {table}"),
            None => self.kind.replace('_', " "),
        }
    }

    /// Writes the stage, with the packet's fields where they differ from those `before`.
    fn write(&self, before: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.name())?;
        if self.table.is_some() {
            for event in &self.before {
                writeln!(f, "  {event}")?;
            }
            for one in &self.extensions {
                writeln!(f, "  extension {} prepares the packet", one.name)?;
            }
            let rest = self.fields.strip_prefix(before);
            match rest.map(|more| (more, more.strip_prefix(','))) {
                Some(("", _)) => {}
                None if self.fields.is_empty() => {}
                Some((_, Some(more))) => writeln!(f, "  the packet now has {more}, too")?,
                Some((_, None)) | None => writeln!(f, "  the packet is now {}", self.fields)?,
            }
            match &self.won {
                Some(entry) => writeln!(f, "  won: {entry}")?,
                None if self.fields.is_empty() => {}
                None => writeln!(f, "  no entry matches")?,
            }
        }
        self.lost
            .iter()
            .try_for_each(|lost| writeln!(f, "  lost: {lost}"))?;
        for event in &self.events {
            let depth = match event {
                TraceEvent::Egress { .. } | TraceEvent::Instruction { .. } | TraceEvent::In(_) => {
                    "  "
                }
                TraceEvent::Action { .. } | TraceEvent::Meter { .. } => "    ",
                TraceEvent::Fragment
                | TraceEvent::Reported { .. }
                | TraceEvent::Bucket { .. }
                | TraceEvent::Normal { .. }
                | TraceEvent::Queue { .. }
                | TraceEvent::Out(_)
                | TraceEvent::PacketIn { .. }
                | TraceEvent::Drop { .. } => "      ",
            };
            writeln!(f, "{depth}{event}")?;
        }
        Ok(())
    }
}

/// A match as text, in words if every packet matches.
pub(super) fn or_any(fields: &str) -> &str {
    if fields.is_empty() {
        "any packet"
    } else {
        fields
    }
}

impl fmt::Display for HitEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let priority = self.priority;
        let cookie = &self.cookie;
        let fields = or_any(&self.fields);
        write!(f, "priority {priority}, {fields}, cookie {cookie}")?;
        if number(cookie) == Some(STANDALONE_COOKIE.into()) {
            f.write_str(" (the switch's own entry while it has no controller)")?;
        }
        Ok(())
    }
}

impl fmt::Display for LostEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "priority {}, {}: ", self.priority, or_any(&self.fields))?;
        if self.differs.is_empty() {
            return f.write_str("matches, too, but comes behind");
        }
        for (i, one) in self.differs.iter().enumerate() {
            write!(f, "{}{one}", if i == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl fmt::Display for FieldDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(is) = &self.is else {
            return write!(f, "the packet has no field for {}", self.wanted);
        };
        let ones = super::read::number(&self.bits).map_or(0, u128::count_ones);
        let what = if ones == 1 {
            "bit differs"
        } else {
            "bits differ"
        };
        write!(
            f,
            "it wants {}, but {is}: {ones} {what} ({})",
            self.wanted, self.bits
        )
    }
}

impl fmt::Display for TracedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes leave by port {}", self.bytes, self.port)?;
        if self.queue != 0 {
            write!(f, ", queue {}", self.queue)?;
        }
        if self.tunnel_id != 0 {
            write!(f, ", tunnel {:#x}", self.tunnel_id)?;
        }
        Ok(())
    }
}

impl fmt::Display for TraceEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fragment => f.write_str("=> waits for the other fragments"),
            Self::Instruction { text } => write!(f, "do {text}"),
            Self::Action { text } => f.write_str(text),
            Self::Reported {
                extension, text, ..
            } => write!(f, "{extension}: {text}"),
            Self::Bucket { group, ty, bucket } => {
                let why = match ty.as_str() {
                    "all" => "each bucket gets a copy",
                    "select" => "the one that was chosen",
                    "ff" => "the first that is live",
                    _ => "the only one",
                };
                write!(f, "group {group} ({ty}): bucket {bucket}, {why}")
            }
            Self::Egress { port } => write!(f, "egress tables, on the way to port {port}"),
            Self::Meter { meter, band: None } => write!(f, "meter {meter}: no rate is exceeded"),
            Self::Meter {
                meter,
                band: Some(band),
            } => write!(f, "meter {meter}: above {band}"),
            Self::Normal { text } => write!(f, "NORMAL {text}"),
            Self::Queue { port, queue } => write!(f, "queue {queue} of port {port}"),
            Self::In(frame) => {
                write!(
                    f,
                    "a packet of {} bytes, as if by port {}",
                    frame.bytes, frame.port
                )
            }
            Self::Out(frame) => write!(f, "=> {frame}"),
            Self::PacketIn { reason } => write!(f, "=> to the controllers, reason {reason}"),
            Self::Drop { meaning, .. } => write!(f, "=> dropped: {meaning}"),
        }
    }
}
