//! The text of `learn`, as ovs-ofctl writes it.

use alloc::{boxed::Box, format, string::String, vec::Vec};
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::text::{items, number};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::TextForm;
use bofuss_oflib::{Catalogue, ErrorCode, FieldMatch, Match, ParseError, Subfield};

use super::{Learn, Part, Source};

/// The table that gets the entry if the text names none.
const DEFAULT_TABLE: TableId = TableId(1);
/// What only Open vSwitch has of it.
const ELSEWHERE: [&str; 5] = [
    "delete_learned",
    "fin_idle_timeout",
    "fin_hard_timeout",
    "limit",
    "result_dst",
];

impl TextForm for Learn {
    /// `learn(table=1,hard_timeout=60,dl_dst[]=dl_src[],output:in_port[])`.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "learn(table={}", self.table.0)?;
        for (name, seconds) in [
            ("idle_timeout", self.idle_timeout),
            ("hard_timeout", self.hard_timeout),
        ] {
            if seconds != 0 {
                write!(f, ",{name}={seconds}")?;
            }
        }
        if self.priority != default_priority() {
            write!(f, ",priority={}", self.priority)?;
        }
        if self.send_flow_rem {
            f.write_str(",send_flow_rem")?;
        }
        if self.cookie != 0 {
            write!(f, ",cookie={:#x}", self.cookie)?;
        }
        for part in &self.parts {
            f.write_str(",")?;
            part.write(f)?;
        }
        f.write_str(")")
    }
}

fn default_priority() -> u16 {
    FlowMod::add(Match::ANY).priority
}

impl Part {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Match(dst, Source::Packet(src)) if dst == src => write!(f, "{dst}"),
            Self::Match(dst, Source::Packet(src)) => write!(f, "{dst}={src}"),
            Self::Match(dst, Source::Value(value)) => {
                if dst.is_whole() {
                    write!(f, "{}=", dst.field.shown())?;
                } else {
                    write!(f, "{dst}=")?;
                }
                dst.write_value(*value, f)
            }
            Self::Load(dst, Source::Packet(src)) => write!(f, "load:{src}->{dst}"),
            Self::Load(dst, Source::Value(value)) => {
                f.write_str("load:")?;
                dst.write_value(*value, f)?;
                write!(f, "->{dst}")
            }
            Self::Output(src) => write!(f, "output:{src}"),
        }
    }

    /// Reads a part; `fields` are those that are matched before it.
    fn parse(text: &str, fields: &[FieldMatch], catalogue: &Catalogue) -> Result<Self, ParseError> {
        let subfield = |text: &str| Subfield::parse(text.trim(), fields, catalogue);
        if let Some(src) = text.strip_prefix("output:") {
            return subfield(src).map(Self::Output);
        }
        if let Some(load) = text.strip_prefix("load:") {
            let (src, dst) = load
                .split_once("->")
                .ok_or_else(|| format!("'{load}' is not FROM->TO"))?;
            let dst = subfield(dst)?;
            return Ok(Self::Load(dst, source(src, &dst, fields, catalogue)?));
        }
        let Some((dst, src)) = text.split_once('=') else {
            let both = subfield(text)?;
            return Ok(Self::Match(both, Source::Packet(both)));
        };
        let dst = subfield(dst)?;
        Ok(Self::Match(dst, source(src, &dst, fields, catalogue)?))
    }
}

/// Reads where the bits for `dst` come from: bits of the packet if it is so written, else a value.
fn source(
    text: &str,
    dst: &Subfield,
    fields: &[FieldMatch],
    catalogue: &Catalogue,
) -> Result<Source, ParseError> {
    let text = text.trim();
    if !text.ends_with(']') {
        return dst.parse_value(text, catalogue).map(Source::Value);
    }
    let src = Subfield::parse(text, fields, catalogue)?;
    if src.n_bits != dst.n_bits {
        return Err(format!("{text} has {} bits for {}", src.n_bits, dst.n_bits).into());
    }
    Ok(Source::Packet(src))
}

impl TypedBody for Learn {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let mut this = Self {
            table: DEFAULT_TABLE,
            idle_timeout: 0,
            hard_timeout: 0,
            priority: default_priority(),
            cookie: 0,
            send_flow_rem: false,
            parts: Box::default(),
        };
        let mut parts = Vec::new();
        let mut fields = Vec::new();
        for item in items(text) {
            let item = item.trim();
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            match key {
                "table" => this.table = TableId(property(key, value)?),
                "idle_timeout" => this.idle_timeout = property(key, value)?,
                "hard_timeout" => this.hard_timeout = property(key, value)?,
                "priority" => this.priority = property(key, value)?,
                "cookie" => this.cookie = property(key, value)?,
                "send_flow_rem" if value.is_empty() => this.send_flow_rem = true,
                key if ELSEWHERE.contains(&key) => {
                    let what = "one of Nicira's extensions that is not here";
                    return Err(format!("'{key}' is {what}").into());
                }
                _ => {
                    let part = Part::parse(item, &fields, catalogue)?;
                    if let Part::Match(dst, Source::Value(value)) = part {
                        fields.push(FieldMatch::exact(dst.field, value));
                    }
                    parts.push(part);
                }
            }
        }
        if this.table == TableId::ALL {
            return Err("it learns in one table, 0 to 254".into());
        }
        this.parts = parts.into();
        this.check().map_err(wrong)?;
        Ok(this)
    }
}

/// What is wrong with the entry that it makes.
fn wrong(error: ErrorCode) -> String {
    format!("packets may make no such entry: {error}")
}

/// Reads the number of a property.
fn property<T: TryFrom<u64>>(key: &str, value: &str) -> Result<T, ParseError> {
    let number = number(value).and_then(|number| number.try_into().ok());
    number.ok_or_else(|| format!("{key}: '{value}' is no number for it").into())
}
