//! The operator's options: timers, limits, the EtherType, tables, ports of hosts, and a key.

use alloc::collections::BTreeSet;

use bofuss_datapath::{OptionError, Time};
use bofuss_oflib::PortNo;
use bofuss_oflib::types::TableId;

use super::frame::ETHERTYPE;
use super::table::PathState;
use crate::common::words::number;

/// The names of the options.
const NAMES: [&str; 11] = [
    "ethertype",
    "lock-ms",
    "learnt-ms",
    "hello-ms",
    "hold-ms",
    "repair-ms",
    "entries",
    "floods",
    "tables",
    "host-ports",
    "key",
];
/// Nanoseconds of a millisecond.
const MS: u64 = Time::SEC / 1000;
/// The longest time that an option accepts: one day.
const MAX_MS: u64 = 86_400_000;
/// The most entries that an option accepts.
const MAX_ENTRIES: u64 = 1 << 20;
/// The lowest EtherType; smaller numbers are lengths. Spec: IEEE 802.3 section 3.2.6.
const MIN_ETHERTYPE: u64 = 0x600;

/// The options of ARP-Path, set by `bofuss run --extension arppath.NAME=VALUE`. Times are in
/// nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathOptions {
    /// The EtherType of its frames.
    pub(super) ethertype: u16,
    /// The time for which the first copy of a broadcast locks its source to a port. It should
    /// exceed the difference of the delays of any two paths.
    pub(super) lock: u64,
    /// The lifetime of an unused path.
    pub(super) learnt: u64,
    /// The time between two HELLOs.
    pub(super) hello: u64,
    /// The time without a HELLO after which a neighbour is lost.
    pub(super) hold: u64,
    /// The time that a frame waits for a path, and that no new search begins after a failure.
    pub(super) repair: u64,
    /// The most hosts that are known.
    pub(super) entries: usize,
    /// The number of frames that one port may flood in a second, and at once.
    pub(super) floods: u64,
    /// Tables whose misses are forwarded by ARP-Path.
    pub(super) tables: BTreeSet<TableId>,
    /// Ports that have only hosts; HELLOs from there count as forged.
    pub(super) host_ports: BTreeSet<PortNo>,
    /// The key with which frames are signed.
    pub(super) key: Option<u128>,
}

impl Default for PathOptions {
    fn default() -> Self {
        Self {
            ethertype: ETHERTYPE,
            lock: 500 * MS,
            learnt: 120_000 * MS,
            hello: 1000 * MS,
            hold: 3000 * MS,
            repair: 500 * MS,
            entries: 65_536,
            floods: 10_000,
            tables: BTreeSet::new(),
            host_ports: BTreeSet::new(),
            key: None,
        }
    }
}

impl PathOptions {
    /// Returns how long an entry lives.
    pub(super) fn lifetime(&self, state: PathState) -> u64 {
        match state {
            PathState::Locked => self.lock,
            PathState::Learnt => self.learnt,
        }
    }

    /// Sets an option.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        match name {
            "ethertype" => self.ethertype = number(value, MIN_ETHERTYPE, 0xffff)? as u16,
            "lock-ms" => self.lock = nanos_of_ms(value)?,
            "learnt-ms" => self.learnt = nanos_of_ms(value)?,
            "hello-ms" => self.hello = nanos_of_ms(value)?,
            "hold-ms" => self.hold = nanos_of_ms(value)?,
            "repair-ms" => self.repair = nanos_of_ms(value)?,
            "entries" => self.entries = number(value, 1, MAX_ENTRIES)? as usize,
            "floods" => self.floods = number(value, 1, Time::SEC)?,
            "tables" => {
                let list = numbers(value, TableId::MAX.0.into())?;
                self.tables = list.map(|table| TableId(table as u8)).collect();
            }
            "host-ports" => {
                let list = numbers(value, PortNo::MAX.0.into())?;
                self.host_ports = list.map(|port| PortNo(port as u32)).collect();
            }
            "key" => {
                let key = u128::from_str_radix(value, 16)
                    .ok()
                    .filter(|_| value.len() == 32);
                self.key = Some(key.ok_or(OptionError::Invalid("a key is 32 hexadecimal digits"))?);
            }
            _ => {
                return Err(OptionError::UnknownName {
                    name: name.into(),
                    known: &NAMES,
                });
            }
        }
        Ok(())
    }
}

/// Reads a time in milliseconds. Returns nanoseconds.
fn nanos_of_ms(text: &str) -> Result<u64, OptionError> {
    Ok(number(text, 1, MAX_MS)? * MS)
}

/// Numbers with commas between.
fn numbers(text: &str, most: u64) -> Result<impl Iterator<Item = u64>, OptionError> {
    let list = text.split(',').map(|one| number(one, 0, most));
    Ok(list
        .collect::<Result<BTreeSet<u64>, OptionError>>()?
        .into_iter())
}
