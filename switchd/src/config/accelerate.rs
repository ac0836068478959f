//! When the kernel forwards frames of known flows.

use std::str::FromStr;

/// When the kernel forwards frames of known flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accelerate {
    /// Where that can be had.
    Auto,
    /// Always; otherwise the switch does not start.
    On,
    /// Never.
    #[default]
    Off,
}

impl FromStr for Accelerate {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "auto" => Ok(Self::Auto),
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            _ => Err(format!("'{name}': write auto, on or off")),
        }
    }
}
