//! Keys and sums of flows, on the wire and as text.

use alloc::format;
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::text::parse_bytes;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ParseError};

use super::mac::{KEY_BYTES, Key};
use crate::common::args::Args;
use crate::common::list::Listed;

impl Wire for Key {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.at("key").array().map(Self)
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.raw(&self.0);
    }
}

impl TextForm for Key {
    /// The key is not shown.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("key=(not shown)")
    }
}

impl TypedBody for Key {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let digits = args.take("key").unwrap_or_default();
        args.finish()?;
        let bytes = parse_bytes(digits).ok();
        let key = bytes.and_then(|bytes| bytes.try_into().ok());
        let error = || format!("a key is {KEY_BYTES} bytes in hexadecimal: key=000102...");
        key.map(Self).ok_or_else(|| error().into())
    }
}

/// What a switch has summed of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowMac {
    /// The flow's number.
    pub flow: u64,
    /// Its packets.
    pub packets: u64,
    /// The sum of their MACs, modulo 2^64.
    pub mac: u64,
}

impl Wire for FlowMac {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            flow: r.at("flow").get()?,
            packets: r.at("packets").get()?,
            mac: r.at("mac").get()?,
        })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.flow).put(&self.packets).put(&self.mac);
    }
}

impl TextForm for FlowMac {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { flow, packets, mac } = self;
        write!(f, "flow={flow},packets={packets},mac={mac:#018x}")
    }
}

impl Listed for FlowMac {}

impl TypedBody for FlowMac {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let this = Self {
            flow: args.number("flow")?,
            packets: args.number("packets")?,
            mac: args.number("mac")?,
        };
        args.finish()?;
        Ok(this)
    }
}
