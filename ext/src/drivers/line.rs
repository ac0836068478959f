//! Lines of a driver: JSON, read into what they ask for or into a sentence that says what is wrong.

use alloc::{format, string::String, vec::Vec};

use bofuss_oflib::message::multipart::port::{OpticalStats, OpticalStatsFlags};
use bofuss_oflib::message::port::{OpticalPort, OpticalPortFeatures};
use serde_json::{Map, Value as Json};

use super::values::{MAX_NUMBER, MAX_VALUES, Name, Value, Values};

/// The longest line, in bytes without its end.
pub const MAX_LINE_BYTES: usize = 4096;

/// The way in which a driver names its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortName {
    /// By its number.
    Number(u32),
    /// By its name, which is that of its interface.
    Name(String),
}

/// A line of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// It drives a port from now on.
    Attach {
        /// The port.
        port: PortName,
        /// Whether it is told the rules for packets from the port.
        rules: bool,
    },
    /// It says something about its port.
    Report(Report),
}

/// What a driver says about its port; what it leaves out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Values of the description; `None` removes one.
    pub values: Vec<(Name, Option<Value>)>,
    /// The values that controllers may set.
    pub settable: Option<Vec<Name>>,
    /// The features of an optical port; `None` within if it is none.
    pub optical: Option<Option<OpticalPort>>,
    /// The state of an optical port.
    pub optical_stats: Option<Option<OpticalStats>>,
    /// Its own counters; `None` removes one.
    pub counters: Vec<(Name, Option<Value>)>,
    /// Whether the link is up.
    pub link_up: Option<bool>,
    /// An event, with what is known of it.
    pub event: Option<(Name, Values)>,
}

/// Members of a JSON object that have not been taken yet.
struct Members(Map<String, Json>);

impl Members {
    fn of(json: Json, what: &str) -> Result<Self, String> {
        match json {
            Json::Object(members) => Ok(Self(members)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                Err(format!("{what} is an object: {{...}}"))
            }
        }
    }

    fn take(&mut self, name: &str) -> Option<Json> {
        self.0.remove(name)
    }

    /// Takes a member, which `read` reads. Errors: those of `read`.
    fn read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Json) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        self.take(name).map(read).transpose()
    }

    /// Takes a number that has so many bits, with or without a sign; 0 if it is not there.
    fn number(&mut self, name: &str, bits: u32) -> Result<u32, String> {
        let Some(json) = self.take(name) else {
            return Ok(0);
        };
        let (least, most) = (-(1 << (bits - 1)), (1 << bits) - 1);
        let number = json.as_i64().filter(|n| (least..=most).contains(n));
        let number = number.ok_or_else(|| format!("{name} is an integer of {bits} bits"))?;
        Ok((number & most) as u32)
    }

    /// Takes a list of names of flags; none if it is not there.
    fn flags(&mut self, name: &str, bit: impl Fn(&str) -> Option<u32>) -> Result<u32, String> {
        let Some(json) = self.take(name) else {
            return Ok(0);
        };
        let list = json.as_array();
        let bits = list.map(|list| list.iter().map(|flag| flag.as_str().and_then(&bit)));
        let sum = bits.and_then(|mut bits| bits.try_fold(0, |sum, bit| Some(sum | bit?)));
        sum.ok_or_else(|| format!("{name} is a list of names of its flags"))
    }

    fn finish(self) -> Result<(), String> {
        match self.0.keys().next() {
            Some(name) => Err(format!("there is no member '{}'", cut(name))),
            None => Ok(()),
        }
    }
}

/// The first characters of a driver's text, as an error quotes them.
fn cut(text: &str) -> String {
    text.chars().take(MAX_QUOTED_CHARS).collect()
}

/// The most characters of a driver's text in an error.
const MAX_QUOTED_CHARS: usize = 40;

impl Line {
    /// Reads a line. Errors: a sentence for the driver's author.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_LINE_BYTES {
            return Err(format!("a line has at most {MAX_LINE_BYTES} bytes"));
        }
        let json = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
        let mut members = Members::of(json, "a line")?;
        if members.0.is_empty() {
            return Err("the line says nothing".into());
        }
        let line = match members.read("port", port)? {
            Some(port) => Self::Attach {
                port,
                rules: members.read("rules", truth)?.unwrap_or(false),
            },
            None => Self::Report(Report::parse(&mut members)?),
        };
        members.finish()?;
        Ok(line)
    }
}

impl Report {
    fn parse(members: &mut Members) -> Result<Self, String> {
        let changes = |json| Members::of(json, "values").and_then(changes);
        Ok(Self {
            values: members.read("values", changes)?.unwrap_or_default(),
            settable: members.read("settable", names)?,
            optical: members.read("optical", |json| unless_null(json, optical))?,
            optical_stats: members
                .read("optical_stats", |json| unless_null(json, optical_stats))?,
            counters: members.read("counters", changes)?.unwrap_or_default(),
            link_up: members.read("link", link)?,
            event: match members.read("event", name)? {
                Some(event) => Some((event, details(members.take("details"))?)),
                None => None,
            },
        })
    }
}

fn port(json: Json) -> Result<PortName, String> {
    let number = json.as_u64().and_then(|number| number.try_into().ok());
    let name = || Some(PortName::Name(json.as_str()?.into()));
    let port = number.map(PortName::Number).or_else(name);
    port.ok_or_else(|| "port is the number or the name of a port".into())
}

fn truth(json: Json) -> Result<bool, String> {
    json.as_bool()
        .ok_or_else(|| "rules is true or false".into())
}

fn link(json: Json) -> Result<bool, String> {
    match json.as_str() {
        Some("up") => Ok(true),
        Some("down") => Ok(false),
        Some(_) | None => Err("link is \"up\" or \"down\"".into()),
    }
}

fn name(json: Json) -> Result<Name, String> {
    let text = json.as_str().unwrap_or_default();
    Name::new(text).ok_or_else(|| bad_name(text))
}

fn bad_name(text: &str) -> String {
    let text = cut(text);
    format!("'{text}' is no name of 1 to 31 letters, digits, '_', '-' and '.', or is reserved")
}

fn names(json: Json) -> Result<Vec<Name>, String> {
    let Json::Array(list) = json else {
        return Err("settable is a list of names".into());
    };
    if list.len() > MAX_VALUES {
        return Err(too_many());
    }
    list.into_iter().map(name).collect()
}

fn too_many() -> String {
    format!("there are more than {MAX_VALUES} values")
}

fn unless_null<T>(
    json: Json,
    read: impl FnOnce(Members) -> Result<T, String>,
) -> Result<Option<T>, String> {
    if json.is_null() {
        return Ok(None);
    }
    Members::of(json, "it").and_then(read).map(Some)
}

fn changes(members: Members) -> Result<Vec<(Name, Option<Value>)>, String> {
    if members.0.len() > MAX_VALUES {
        return Err(too_many());
    }
    let mut list = Vec::new();
    for (text, json) in members.0 {
        let name = Name::new(&text).ok_or_else(|| bad_name(&text))?;
        let value = match &json {
            Json::Null => None,
            Json::Number(number) => Some(number.as_i64().and_then(Value::number)),
            Json::String(text) => Some(Value::word(text)),
            Json::Bool(_) | Json::Array(_) | Json::Object(_) => Some(None),
        };
        let value = value.map(|value| value.ok_or_else(|| bad_value(&name)));
        list.push((name, value.transpose()?));
    }
    Ok(list)
}

fn bad_value(name: &Name) -> String {
    format!(
        "{name} is neither an integer up to {MAX_NUMBER} nor a word of 1 to 63 letters, digits and \
         _-.:/+@# (of 23.5 dB make 235, with the unit in the name)"
    )
}

fn details(json: Option<Json>) -> Result<Values, String> {
    let mut values = Values::default();
    let Some(json) = json else {
        return Ok(values);
    };
    for (name, value) in changes(Members::of(json, "details")?)? {
        // There are not too many.
        let _ = values.set(name, value);
    }
    Ok(values)
}

fn optical(mut members: Members) -> Result<OpticalPort, String> {
    let feature = |name: &str| Some(OpticalPortFeatures::named(name)?.0);
    let optical = OpticalPort {
        supported: OpticalPortFeatures(members.flags("supported", feature)?),
        tx_min_freq_lmda: members.number("tx_min_freq_lmda", 32)?,
        tx_max_freq_lmda: members.number("tx_max_freq_lmda", 32)?,
        tx_grid_freq_lmda: members.number("tx_grid_freq_lmda", 32)?,
        rx_min_freq_lmda: members.number("rx_min_freq_lmda", 32)?,
        rx_max_freq_lmda: members.number("rx_max_freq_lmda", 32)?,
        rx_grid_freq_lmda: members.number("rx_grid_freq_lmda", 32)?,
        tx_pwr_min: members.number("tx_pwr_min", 16)? as u16,
        tx_pwr_max: members.number("tx_pwr_max", 16)? as u16,
    };
    members.finish()?;
    Ok(optical)
}

fn optical_stats(mut members: Members) -> Result<OpticalStats, String> {
    let flag = |name: &str| Some(OpticalStatsFlags::named(name)?.0);
    let stats = OpticalStats {
        flags: OpticalStatsFlags(members.flags("flags", flag)?),
        tx_freq_lmda: members.number("tx_freq_lmda", 32)?,
        tx_offset: members.number("tx_offset", 32)?,
        tx_grid_span: members.number("tx_grid_span", 32)?,
        rx_freq_lmda: members.number("rx_freq_lmda", 32)?,
        rx_offset: members.number("rx_offset", 32)?,
        rx_grid_span: members.number("rx_grid_span", 32)?,
        tx_pwr: members.number("tx_pwr", 16)? as u16,
        rx_pwr: members.number("rx_pwr", 16)? as u16,
        bias_current: members.number("bias_current", 16)? as u16,
        temperature: members.number("temperature", 16)? as u16,
    };
    members.finish()?;
    Ok(stats)
}
