//! Messages about ports with drivers, on the wire and as text.

use alloc::{string::String, vec::Vec};
use core::{fmt, str};

use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::text::{items, number};
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ParseError, PortNo};

use super::error::BAD_VALUE;
use super::values::{Name, Values};
use crate::common::list::Listed;

/// A line of the protocol between driver and switch: JSON, without its end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DriverLine(pub String);

impl Wire for DriverLine {
    /// Errors: BAD_VALUE for what is no UTF-8.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = r.clone();
        let text = str::from_utf8(r.rest()).map_err(|_| at.err(BAD_VALUE))?;
        Ok(Self(text.into()))
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.raw(self.0.as_bytes());
    }
}

impl TextForm for DriverLine {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TypedBody for DriverLine {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        Ok(Self(text.into()))
    }
}

/// A line to the driver of a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToldLine {
    /// The port; ANY if the driver has none yet.
    pub port: PortNo,
    /// The line.
    pub line: DriverLine,
}

impl Wire for ToldLine {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port = PortNo(r.at("port_no").get()?);
        let line = r.at("line").get()?;
        Ok(Self { port, line })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.port.0).put(&self.line);
    }
}

impl TextForm for ToldLine {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port={},{}", self.port, self.line.0)
    }
}

impl TypedBody for ToldLine {
    fn parse(_: &str, _: &Catalogue) -> Result<Self, ParseError> {
        Err("only a switch sends it".into())
    }
}

/// Values that a controller sets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PortSet {
    /// The port.
    pub port: PortNo,
    /// The values.
    pub values: Values,
}

impl Wire for PortSet {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port = PortNo(r.at("port_no").get()?);
        let values = r.at("values").get()?;
        Ok(Self { port, values })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.port.0).put(&self.values);
    }
}

impl TextForm for PortSet {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port={}", self.port)?;
        self.values.text(f)
    }
}

impl TypedBody for PortSet {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut parts: Vec<&str> = items(text).collect();
        let port = take(&mut parts, "port").and_then(number);
        let port = port.and_then(|port| port.try_into().ok());
        let port = PortNo(port.ok_or("port=N is missing, or no number")?);
        let values = Values::parse(parts.into_iter())?;
        Ok(Self { port, values })
    }
}

/// Takes the value of a name, if it is there.
pub(super) fn take<'a>(parts: &mut Vec<&'a str>, name: &str) -> Option<&'a str> {
    let is_it = |part: &&str| part.split_once('=').is_some_and(|(word, _)| word == name);
    let at = parts.iter().position(is_it)?;
    Some(parts.remove(at).split_once('=')?.1)
}

/// An event that a driver reports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PortEvent {
    /// The port.
    pub port: PortNo,
    /// The kind of event.
    pub event: Name,
    /// What is known of it.
    pub values: Values,
}

impl Wire for PortEvent {
    /// Errors: BAD_VALUE.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port = PortNo(r.at("port_no").get()?);
        let at = r.at("event").clone();
        let length = r.get::<u8>()?;
        let event = str::from_utf8(r.take(length.into())?).ok();
        let event = event.and_then(Name::new).ok_or_else(|| at.err(BAD_VALUE))?;
        let values = r.at("values").get()?;
        Ok(Self {
            port,
            event,
            values,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let event = self.event.as_str();
        w.put(&self.port.0).put(&(event.len() as u8));
        w.raw(event.as_bytes()).put(&self.values);
    }
}

impl TextForm for PortEvent {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port={},event={}", self.port, self.event)?;
        self.values.text(f)
    }
}

impl TypedBody for PortEvent {
    fn parse(_: &str, _: &Catalogue) -> Result<Self, ParseError> {
        Err("only a switch sends it".into())
    }
}

/// What the driver of a port says of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PortValues {
    /// The port.
    pub port: PortNo,
    /// The values of its description.
    pub values: Values,
    /// Its own counters.
    pub counters: Values,
    /// The values that controllers may set.
    pub settable: Vec<Name>,
}

/// Reads what stands after its 16-bit length.
fn counted<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let length: u16 = r.get()?;
    r.take(length.into())
}

impl Wire for PortValues {
    /// Errors: BAD_VALUE, BAD_REQUEST/BAD_LEN.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port = PortNo(r.at("port_no").get()?);
        let at = r.at("values").clone();
        let values = Values::from_bytes(counted(r)?).map_err(|error| at.err(error))?;
        let at = r.at("counters").clone();
        let counters = Values::from_bytes(counted(r)?).map_err(|error| at.err(error))?;
        let at = r.at("settable").clone();
        let text = str::from_utf8(r.rest()).map_err(|_| at.err(BAD_VALUE))?;
        let names = text.split_terminator('\n').map(Name::new);
        let settable: Option<_> = names.collect();
        Ok(Self {
            port,
            values,
            counters,
            settable: settable.ok_or_else(|| at.err(BadRequest::BAD_LEN))?,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.port.0);
        for values in [&self.values, &self.counters] {
            let bytes = values.to_bytes();
            // 32 values of at most 98 bytes.
            w.put(&(bytes.len() as u16)).raw(&bytes);
        }
        for name in &self.settable {
            w.raw(name.as_str().as_bytes()).raw(b"\n");
        }
    }
}

impl TextForm for PortValues {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port={}", self.port)?;
        self.values.text(f)?;
        f.write_str(",settable=(")?;
        for (at, name) in self.settable.iter().enumerate() {
            write!(f, "{}{name}", if at == 0 { "" } else { "," })?;
        }
        f.write_str("),counters=(")?;
        for (at, (name, value)) in self.counters.iter().enumerate() {
            write!(f, "{}{name}={value}", if at == 0 { "" } else { "," })?;
        }
        f.write_str(")")
    }
}

impl Listed for PortValues {}

impl TypedBody for PortValues {
    fn parse(_: &str, _: &Catalogue) -> Result<Self, ParseError> {
        Err("only a switch sends it".into())
    }
}
