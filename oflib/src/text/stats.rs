//! The text of statistics of entries, and of the instruction that says when they are sent.

use alloc::format;
use core::fmt;
use core::str::FromStr;

use super::{items, number};
use crate::message::stats::{StatTime, Stats};
use crate::parse_error::ParseError;
use crate::stat_trigger::{StatTrigger, StatTriggerFlags};
use crate::wire::{Text, TextForm};

/// Digits after the point of a time in seconds.
const DECIMALS: usize = 9;

impl FromStr for StatTime {
    type Err = ParseError;
    /// Reads seconds: `2`, `1.5` or `1.5s`. Errors: what is wrong, in words.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || format!("'{text}' is no time in seconds");
        let seconds = text.strip_suffix('s').unwrap_or(text);
        let (whole, part) = seconds.split_once('.').unwrap_or((seconds, "0"));
        let mut digits = whole.bytes().chain(part.bytes());
        if !digits.all(|digit| digit.is_ascii_digit()) || part.len() > DECIMALS {
            return Err(wrong().into());
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

impl Stats {
    /// Sets one by its name; `false` if it was there. Errors: what is wrong, in words.
    fn set(&mut self, name: &str, value: &str) -> Result<bool, ParseError> {
        let is_new = match name {
            "duration" => self.duration.replace(value.parse()?).is_none(),
            "idle_time" => self.idle_time.replace(value.parse()?).is_none(),
            "flow_count" => {
                let Ok(count) = u32::try_from(count_of(value)?) else {
                    return Err(format!("'{value}' is too large").into());
                };
                self.flow_count.replace(count).is_none()
            }
            "packet_count" => self.packet_count.replace(count_of(value)?).is_none(),
            "byte_count" => self.byte_count.replace(count_of(value)?).is_none(),
            _ => return Err(format!("there is no statistic '{name}'").into()),
        };
        Ok(is_new)
    }
}

fn count_of(text: &str) -> Result<u64, ParseError> {
    number(text).ok_or_else(|| format!("'{text}' is no number").into())
}

impl TextForm for StatTrigger {
    /// `periodic|only_first,packet_count=100`: the flags if there are any, and the thresholds.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thresholds = Text(&*self.thresholds);
        let has_thresholds = *self.thresholds != Stats::default();
        match (self.flags.0, has_thresholds) {
            (0, _) => write!(f, "{thresholds}"),
            (_, true) => write!(f, "{},{thresholds}", self.flags),
            (_, false) => write!(f, "{}", self.flags),
        }
    }
}

impl FromStr for StatTrigger {
    type Err = ParseError;
    /// Reads `periodic,packet_count=100,duration=1.5s`. Errors: what is wrong, in words.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut this = Self::default();
        for item in items(text) {
            if let Some((name, value)) = item.split_once(['=', ':']) {
                if !this.thresholds.set(name, value)? {
                    return Err(format!("'{name}' stands twice").into());
                }
                continue;
            }
            for name in item.split('|') {
                let flag = StatTriggerFlags::named(name).or_else(|| numbered_flag(name));
                this.flags =
                    this.flags | flag.ok_or_else(|| format!("there is no flag '{name}'"))?;
            }
        }
        Ok(this)
    }
}

fn numbered_flag(text: &str) -> Option<StatTriggerFlags> {
    u32::try_from(number(text)?).ok().map(StatTriggerFlags)
}
