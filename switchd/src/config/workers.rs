//! The options of several workers: how many, and by what frames are divided among them.

use std::convert::Infallible;
use std::num::NonZero;
use std::str::FromStr;
use std::thread::available_parallelism;

use bofuss_datapath::{DispatchBy, DispatchFields};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// The most threads that forward packets.
const MOST_WORKERS: u32 = 64;

/// How many workers were asked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum WorkerCount {
    /// So many, in a file.
    Number(u32),
    /// `auto`, or a number as text.
    Words(String),
}

impl FromStr for WorkerCount {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::Words(text.into()))
    }
}

impl WorkerCount {
    fn is_auto(&self) -> bool {
        matches!(self, Self::Words(words) if words == "auto")
    }

    /// The number of workers. Errors: there are no so many.
    pub(super) fn number(&self) -> Result<usize> {
        let count = match self {
            Self::Number(count) => *count,
            Self::Words(_) if self.is_auto() => {
                let processors = available_parallelism().map_or(1, NonZero::get);
                MOST_WORKERS.min(processors as u32)
            }
            Self::Words(words) => words.parse().unwrap_or(0),
        };
        if !(1..=MOST_WORKERS).contains(&count) {
            return Err(format!("--workers: write auto, or 1 to {MOST_WORKERS}").into());
        }
        Ok(count as usize)
    }

    /// Returns true if there may be several, here or on another machine.
    pub(super) fn may_be_several(&self) -> bool {
        self.is_auto() || self.number().is_ok_and(|count| count > 1)
    }
}

/// The number of workers. Errors: there are no so many, or a record is made.
pub(super) fn count(count: Option<&WorkerCount>, has_record: bool) -> Result<usize> {
    match count {
        None => Ok(1),
        Some(count) if has_record && count.may_be_several() => {
            Err("--record is for one worker: leave --workers out".into())
        }
        Some(count) => count.number(),
    }
}

/// By what frames are divided. Errors: what is wrong with the words.
pub(super) fn dispatch(words: Option<&str>) -> Result<DispatchBy> {
    let words = words.unwrap_or("auto");
    match words {
        "auto" => return Ok(DispatchBy::Auto),
        "five-tuple" => return Ok(DispatchBy::FiveTuple),
        "port" => return Ok(DispatchBy::Port),
        _ => {}
    }
    let Some(names) = words.strip_prefix("fields=") else {
        let choices = "write auto, five-tuple, port, or fields=FIELD,...";
        return Err(format!("--dispatch {words}: {choices}").into());
    };
    let mut all = DispatchFields::default();
    for name in names.split(',') {
        let Some(field) = DispatchFields::named(name) else {
            let fields = DispatchFields::PAIRS.iter().flatten();
            let known: Vec<&str> = fields.map(|field| field.name).collect();
            let known = known.join(", ");
            return Err(format!("--dispatch {words}: '{name}' is none of {known}").into());
        };
        all = all.or(field);
    }
    Ok(DispatchBy::Fields(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_counted_or_as_many_as_processors() {
        let number = |words: &str| words.parse::<WorkerCount>().unwrap().number();
        assert_eq!(number("64").unwrap(), 64);
        assert_eq!(WorkerCount::Number(2).number().unwrap(), 2);
        assert!(WorkerCount::Number(0).number().is_err());
        let processors = available_parallelism().unwrap().get();
        assert_eq!(number("auto").unwrap(), processors.min(64));
        for words in ["0", "65", "many", "", "-1", "2.5", "4294967296"] {
            let error = number(words).unwrap_err().to_string();
            assert_eq!(error, "--workers: write auto, or 1 to 64");
        }
        let auto = "auto".parse().unwrap();
        assert!(count(Some(&auto), true).is_err(), "also on one processor");
        assert_eq!(count(None, true).unwrap(), 1);
    }

    #[test]
    fn words_say_by_what_frames_are_divided() {
        let named = |name| DispatchFields::named(name).unwrap();
        let both = named("ipv4_src").or(named("eth_dst"));
        for (words, by) in [
            (None, DispatchBy::Auto),
            (Some("auto"), DispatchBy::Auto),
            (Some("five-tuple"), DispatchBy::FiveTuple),
            (Some("port"), DispatchBy::Port),
            (Some("fields=ipv4_src,eth_dst"), DispatchBy::Fields(both)),
        ] {
            assert_eq!(dispatch(words).unwrap(), by);
        }
        for (words, said) in [
            ("flows", "write auto, five-tuple, port, or fields="),
            ("fields=", "'' is none of eth_src, eth_dst, ipv4_src"),
            ("fields=tcp_src", "'tcp_src' is none of"),
        ] {
            let error = dispatch(Some(words)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
