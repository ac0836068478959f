//! Ports with drivers of the user's: named values, optical properties, counters and events of what
//! is behind an interface, such as a radio, a ROADM or an OLT. See README.md.

pub mod error;
mod hook;
pub mod line;
mod optical;
mod port;
mod told;
mod values;
mod wire;

pub use error::EXPERIMENTER;
pub use hook::hook;
pub use optical::{PortOptical, PortOpticalSet};
pub use port::{CHANGES_PER_SECOND, MAX_DRIVERS};
pub use values::{MAX_VALUES, Name, Value, Values};
pub use wire::{DriverLine, PortEvent, PortSet, PortValues, ToldLine};

use bofuss_oflib::Field;
use bofuss_oflib::ext::{ExtKind, ExtRow};

use crate::common::list::ValueList;

/// The extension has no fields.
pub static FIELDS: [Field; 0] = [];

/// Lines of drivers, and to them; what controllers set, read and are told.
pub static VALUES: [ExtRow; 7] = [
    ExtRow::typed::<DriverLine>(ExtKind::Message, EXPERIMENTER, 1, "driver_line")
        .that_changes()
        .with_error_names(error::ERRORS),
    ExtRow::typed::<ToldLine>(ExtKind::Message, EXPERIMENTER, 2, "driver_told").for_subscribers(),
    ExtRow::typed::<PortSet>(ExtKind::Message, EXPERIMENTER, 3, "port_set")
        .that_changes()
        .with_usage(
            "port=N,NAME=VALUE...",
            "asks the driver of a port to set values",
        ),
    ExtRow::typed::<PortEvent>(ExtKind::Message, EXPERIMENTER, 4, "port_event"),
    ExtRow::typed::<ValueList<PortValues>>(ExtKind::Multipart, EXPERIMENTER, 1, "port_values")
        .with_usage("", "prints what drivers say of their ports"),
    ExtRow::typed::<PortOpticalSet>(ExtKind::Message, EXPERIMENTER, 5, "port_optical_set")
        .that_changes()
        .with_usage(
            "port=N,configure=TX_TUNE|RX_TUNE|TX_PWR|USE_FREQ[,freq_lmda=N][,fl_offset=N]\
             [,grid_span=N][,tx_pwr=N]",
            "asks the driver of an optical port to configure it",
        ),
    ExtRow::typed::<ValueList<PortOptical>>(ExtKind::Multipart, EXPERIMENTER, 2, "port_optical")
        .with_usage("", "prints what drivers say of their optical ports"),
];

/// The index in [`VALUES`] of a line of a driver.
pub const DRIVER_LINE: usize = 0;
/// The index of a line to a driver.
const DRIVER_TOLD: usize = 1;
/// The index of an event.
const PORT_EVENT: usize = 3;
/// The index of the multipart about optical ports.
const PORT_OPTICAL: usize = 6;
/// The types of the experimenter's properties: values in a port's description and in a port-mod,
/// and counters in its statistics.
const VALUES_PROPERTY: u32 = 1;
const COUNTERS_PROPERTY: u32 = 2;

#[cfg(test)]
mod tests;
