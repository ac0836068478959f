//! The text of multipart messages: a row of names for each, and the bodies that are more than their
//! fields.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

use super::{write_group, write_meter};
use crate::action::ACTIONS;
use crate::instruction::INSTRUCTIONS;
use crate::message::FlowRemovedReason;
use crate::message::multipart::ExtBody;
use crate::message::multipart::flow::FlowStats;
use crate::message::multipart::flow_monitor::{FlowUpdate, FlowUpdateEvent, MonitoredFlow};
use crate::message::multipart::group::{GroupDesc, GroupDescRequest, GroupFeatures, GroupStats};
use crate::message::multipart::meter::{MeterConfig, MeterStats};
use crate::message::multipart::port::PortDescRequest;
use crate::message::multipart::table_features::{
    FieldId, PROPERTIES, PropertyList, TableFeatures, TableProperty, TypeId,
};
use crate::wire::TextForm;

/// The type number of experimenters.
const EXPERIMENTER: u16 = 0xffff;

/// Prints a request or reply, or a part of one.
macro_rules! multipart_text {
    ($N:ident $Body:ident $($V:ident)*) => {
        impl $crate::wire::TextForm for $N {
            fn text(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                use alloc::string::ToString;
                let body = match &self.body {
                    $($Body::$V(body) => $crate::wire::Text(body).to_string(),)*
                };
                let more = if self.more { " (more)" } else { "" };
                let blank = if body.is_empty() { "" } else { " " };
                write!(f, "OFPMP_{}{more}{blank}{body}", self.body.name())
            }
        }
    };
}
pub(crate) use multipart_text;

impl TypeId {
    /// The name of the instruction (`kind` i) or action (a).
    fn name(self, kind: char) -> &'static str {
        let name = match kind {
            'i' => INSTRUCTIONS
                .iter()
                .find(|row| row.number == self.ty)
                .map(|row| row.name),
            _ => ACTIONS
                .iter()
                .find(|row| row.number == self.ty)
                .map(|row| row.name),
        };
        name.unwrap_or(if self.ty == EXPERIMENTER {
            "experimenter"
        } else {
            "unknown"
        })
    }
}

impl TextForm for ExtBody {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl TextForm for FlowStats {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.text(f)
    }
}

impl TextForm for GroupDescRequest {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return Ok(());
        }
        write!(f, "group_id={}", self.group_id)
    }
}

impl TextForm for GroupStats {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.text(f)
    }
}

impl TextForm for GroupDesc {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_group(self.group_id, self.ty, &self.buckets, f)
    }
}

impl TextForm for GroupFeatures {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "types={:#x},capabilities={},max_groups={:?},actions={:x?}",
            self.types, self.capabilities, self.max_groups, self.actions
        )
    }
}

impl TextForm for MeterStats {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "meter_id={},flow_count={},",
            self.meter_id, self.flow_count
        )?;
        self.input.text(f)?;
        write!(
            f,
            ",duration={}.{:09}s,bands=",
            self.duration_sec, self.duration_nsec
        )?;
        self.bands.text(f)
    }
}

impl TextForm for MeterConfig {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_meter(self.meter_id, self.flags, &self.bands, f)
    }
}

impl TextForm for PortDescRequest {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return Ok(());
        }
        write!(f, "port_no={}", self.port_no)
    }
}

impl TextForm for MonitoredFlow {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table={}", self.table_id)?;
        for (name, seconds) in [
            ("idle_timeout", self.idle_timeout),
            ("hard_timeout", self.hard_timeout),
        ] {
            if seconds != 0 {
                write!(f, ",{name}={seconds}")?;
            }
        }
        write!(f, ",cookie={:#x},priority={}", self.cookie, self.priority)?;
        let fields = self.fields.to_string();
        let comma = if fields.is_empty() { "" } else { "," };
        write!(f, "{comma}{fields} actions={}", self.instructions)
    }
}

impl TextForm for FlowUpdate {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(event, flow) => {
                write!(f, "event={event},")?;
                if *event == FlowUpdateEvent::REMOVED {
                    write!(f, "reason={},", FlowRemovedReason(flow.reason))?;
                }
                flow.text(f)
            }
            Self::Abbrev(xid) => write!(f, "event=abbrev,xid={xid:#x}"),
            Self::Stream(event) => write!(f, "event={event}"),
        }
    }
}

impl TextForm for TypeId {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.ty)
    }
}

impl TextForm for FieldId {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Known(field, false) => f.write_str(field.name),
            Self::Known(field, true) => write!(f, "{}/mask", field.name),
            Self::Unknown(header, 0) => write!(f, "oxm:{header:#010x}"),
            Self::Unknown(header, experimenter) => {
                write!(f, "oxm:{header:#010x}:{experimenter:#x}")
            }
        }
    }
}

impl TextForm for TableProperty {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = PROPERTIES.iter().find(|row| row.0 == self.ty);
        let (name, kind) = row.map_or(("?", 'e'), |row| (row.1, row.2));
        write!(f, "{name}=")?;
        match &self.list {
            PropertyList::Types(list) => {
                let names: Vec<&str> = list.iter().map(|id| id.name(kind)).collect();
                write!(f, "[{}]", names.join("; "))
            }
            PropertyList::Tables(list) => list.text(f),
            PropertyList::Fields(list) => list.text(f),
            PropertyList::Values(list) => list.text(f),
            PropertyList::Experimenter(id, ty, data) => {
                write!(f, "{id:#x}:{ty}:")?;
                data.text(f)
            }
        }
    }
}

impl TextForm for TableFeatures {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.text(f)
    }
}
