//! The text of messages: a row of names for each, and the bodies that are more than their fields.

use core::fmt;

use super::{Actions, write_bucket};
use crate::message::bundle::{BundleAdd, Timestamp};
use crate::message::controller_status::Uri;
use crate::message::group_mod::Bucket;
use crate::message::meter_mod::{Band, BandKind};
use crate::message::queue::{PacketQueue, QueueProperty};
use crate::message::request_forward::RequestForward;
use crate::message::{Empty, ErrorMsg, Hello, PacketOut};
use crate::version::Name;
use crate::wire::{Text, TextForm};

/// Prints a message: `OFPT_NAME: field=value,...`
macro_rules! messages_text {
    ($($V:ident)*) => {
        impl core::fmt::Display for Message {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "OFPT_{}", self.name())?;
                match self {
                    $(Self::$V(body) => $crate::text::write_body(f, body),)*
                }
            }
        }
    };
}
pub(crate) use messages_text;

/// Writes a message's body after its name.
pub(crate) fn write_body(f: &mut fmt::Formatter<'_>, body: &impl TextForm) -> fmt::Result {
    let mut out = BodyWriter {
        out: f,
        is_empty: true,
    };
    fmt::write(&mut out, format_args!("{}", Text(body)))
}

impl TextForm for Empty {
    fn text(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

/// Writes a colon before a body, unless that is empty. It stores nothing, so a reader that wants
/// only the beginning of a long message does not pay for the rest.
struct BodyWriter<'a, 'b> {
    out: &'a mut fmt::Formatter<'b>,
    is_empty: bool,
}

impl fmt::Write for BodyWriter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.is_empty && !text.is_empty() {
            self.is_empty = false;
            self.out.write_str(": ")?;
        }
        self.out.write_str(text)
    }
}

impl TextForm for Hello {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "versions=";
        for (word, bits) in self.bitmap.iter().enumerate() {
            for bit in (0..32).filter(|bit| bits >> bit & 1 == 1) {
                write!(f, "{comma}{}", Name((32 * word + bit) as u8))?;
                comma = ",";
            }
        }
        Ok(())
    }
}

impl TextForm for ErrorMsg {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},data=", self.error)?;
        self.data.text(f)
    }
}

impl TextForm for PacketOut {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.fields.fields().is_empty() {
            write!(f, "fields={},", self.fields)?;
        }
        write!(
            f,
            "buffer_id={},in_port={},data={},actions={}",
            self.buffer_id,
            self.in_port,
            Text(&self.data),
            Actions(&self.actions)
        )
    }
}

impl TextForm for QueueProperty {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MinRate(rate) => write!(f, "min_rate={rate}"),
            Self::MaxRate(rate) => write!(f, "max_rate={rate}"),
            Self::Experimenter(id, exp_type, data) => {
                write!(f, "experimenter={id:#x},")?;
                if *exp_type != 0 {
                    write!(f, "exp_type={exp_type},")?;
                }
                write!(f, "data={}", Text(data))
            }
        }
    }
}

impl TextForm for PacketQueue {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "queue_id={},port={},properties=",
            self.queue_id, self.port
        )?;
        self.properties.text(f)
    }
}

impl TextForm for Bucket {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_bucket(self, f)
    }
}

impl TextForm for Band {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            BandKind::Drop => f.write_str("type=drop")?,
            BandKind::DscpRemark(levels) => write!(f, "type=dscp_remark,prec_level={levels}")?,
            BandKind::Experimenter(id) => write!(f, "type=experimenter,experimenter={id:#x}")?,
        }
        write!(f, ",rate={},burst_size={}", self.rate, self.burst_size)
    }
}

pub(crate) fn write_timestamp(time: &Timestamp, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}.{:09}", time.seconds, time.nanoseconds)
}

impl TextForm for BundleAdd {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.experimenters.is_empty() {
            write!(f, "experimenters={},", Text(&self.experimenters))?;
        }
        write!(f, "bundle_id={},flags={},", self.bundle_id, self.flags)?;
        write!(f, "xid={:#x},message={}", self.xid, self.message)
    }
}

impl TextForm for RequestForward {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "xid={:#x},request={}", self.xid, self.request)
    }
}

impl TextForm for Uri {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
