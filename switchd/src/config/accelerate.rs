//! The cases in which the kernel forwards frames of known flows.

use std::str::FromStr;

use bofuss_accel::{MOST_FLOWS, USUAL_FLOWS};

use crate::error::{Error, Result, context};

/// The cases in which the kernel forwards frames of known flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accelerate {
    /// Whenever that can be had.
    #[default]
    Auto,
    /// Always; otherwise the switch does not start.
    On,
    /// Never.
    Off,
}

/// The options of the accelerator.
#[derive(Clone, Copy, Debug)]
pub struct AccelerateOptions {
    /// The cases in which it is used.
    pub when: Accelerate,
    /// The number of flows that it has room for.
    pub flows: u32,
}

impl AccelerateOptions {
    /// Those of these words. Errors: no such word, or no such number of flows.
    pub fn of(when: Option<&str>, flows: Option<u32>) -> Result<Self> {
        let when = when.map_or(Ok(Accelerate::default()), str::parse);
        let flows = flows.unwrap_or(USUAL_FLOWS);
        if !(1..=MOST_FLOWS).contains(&flows) {
            return Err(format!("--accelerated-flows: write 1 to {MOST_FLOWS}").into());
        }
        Ok(Self {
            when: when.map_err(context("--accelerate"))?,
            flows,
        })
    }
}

impl FromStr for Accelerate {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(Self::Auto),
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            _ => Err(format!("'{name}': write auto, on or off").into()),
        }
    }
}
