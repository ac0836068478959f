//! The statistics of flow entries as a list of fields (OXS), since OpenFlow 1.5. Spec: OpenFlow
//! 1.5.1 section 7.2.4.

use alloc::{format, string::String};
use core::fmt;
use core::str::FromStr;

use crate::text::number;
use crate::wire::{Text, TextForm};

/// Nanoseconds of a second.
pub(crate) const NANOS: u32 = 1_000_000_000;
/// Digits after the point of a time in seconds.
const DECIMALS: usize = 9;

/// How long something lasted: whole seconds, and nanoseconds beyond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatTime {
    /// Whole seconds.
    pub sec: u32,
    /// Nanoseconds beyond.
    pub nsec: u32,
}

impl FromStr for StatTime {
    type Err = String;
    /// Reads seconds: `2`, `1.5` or `1.5s`. Errors: what is wrong, in words.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no time in seconds");
        let seconds = text.strip_suffix('s').unwrap_or(text);
        let (whole, part) = seconds.split_once('.').unwrap_or((seconds, "0"));
        let mut digits = whole.bytes().chain(part.bytes());
        if !digits.all(|digit| digit.is_ascii_digit()) || part.len() > DECIMALS {
            return Err(wrong());
        }
        Ok(Self {
            sec: whole.parse().map_err(|_| wrong())?,
            nsec: format!("{part:0<DECIMALS$}").parse().map_err(|_| wrong())?,
        })
    }
}

impl TextForm for StatTime {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.sec, self.nsec)
    }
}

/// Statistics of flow entries, or thresholds of them: those that are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stats {
    /// How long an entry exists.
    pub duration: Option<StatTime>,
    /// How long it has had no packet.
    pub idle_time: Option<StatTime>,
    /// Entries whose statistics these are the sums of.
    pub flow_count: Option<u32>,
    /// Packets.
    pub packet_count: Option<u64>,
    /// Bytes.
    pub byte_count: Option<u64>,
}

impl TextForm for Stats {
    /// `duration=1.000000000s,packet_count=2`: those that are there.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for (name, time) in [("duration", self.duration), ("idle_time", self.idle_time)] {
            if let Some(time) = time {
                write!(f, "{comma}{name}={}", Text(&time))?;
                comma = ",";
            }
        }
        let counts = [
            ("flow_count", self.flow_count.map(u64::from)),
            ("packet_count", self.packet_count),
            ("byte_count", self.byte_count),
        ];
        for (name, count) in counts {
            if let Some(count) = count {
                write!(f, "{comma}{name}={count}")?;
                comma = ",";
            }
        }
        Ok(())
    }
}

fn count_of(text: &str) -> Result<u64, String> {
    number(text).ok_or_else(|| format!("'{text}' is no number"))
}

/// The value of a counter that is not kept, in the versions that have no lists of statistics.
const NOT_COUNTED: u64 = u64::MAX;

impl Stats {
    /// The counters of entries, each of which is all ones if it is not kept.
    pub fn counted(packet_count: u64, byte_count: u64) -> Self {
        Self {
            packet_count: (packet_count != NOT_COUNTED).then_some(packet_count),
            byte_count: (byte_count != NOT_COUNTED).then_some(byte_count),
            ..Self::default()
        }
    }

    /// Sets one by its name; `false` if it was there. Errors: what is wrong, in words.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let is_new = match name {
            "duration" => self.duration.replace(value.parse()?).is_none(),
            "idle_time" => self.idle_time.replace(value.parse()?).is_none(),
            "flow_count" => {
                let Ok(count) = u32::try_from(count_of(value)?) else {
                    return Err(format!("'{value}' is too large"));
                };
                self.flow_count.replace(count).is_none()
            }
            "packet_count" => self.packet_count.replace(count_of(value)?).is_none(),
            "byte_count" => self.byte_count.replace(count_of(value)?).is_none(),
            _ => return Err(format!("there is no statistic '{name}'")),
        };
        Ok(is_new)
    }

    /// Packets, all ones if they are not there.
    pub fn packets(&self) -> u64 {
        self.packet_count.unwrap_or(NOT_COUNTED)
    }

    /// Bytes, all ones if they are not there.
    pub fn bytes(&self) -> u64 {
        self.byte_count.unwrap_or(NOT_COUNTED)
    }
}
