//! The operator's options: tables, limits, timers, and the treatment of packets without a rule.

use alloc::vec::Vec;

use bofuss_datapath::{OptionError, Time};
use bofuss_oflib::types::TableId;

use super::flow::FlowLimits;
use crate::common::words::{choice, number};

/// The names of the options.
const NAMES: [&str; 10] = [
    "table",
    "forwarding",
    "qos",
    "unknown",
    "flows",
    "idle-ms",
    "tcp-idle-ms",
    "closed-ms",
    "push-ms",
    "failover",
];
/// The values of the option: true if flows stay on the failover port.
const FAILOVERS: [(&str, bool); 2] = [("revert", false), ("stay", true)];
/// Nanoseconds of a millisecond.
const MS: u64 = Time::SEC / 1000;
/// The longest time that an option accepts: one day.
const MAX_MS: u64 = 86_400_000;
/// The most flows that an option accepts.
const MAX_FLOWS: u64 = 1 << 24;

/// The treatment of a packet that no rule forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It is sent to the controllers, and its flow waits.
    Controller,
    /// It is dropped.
    Drop,
    /// It is flooded to all ports.
    Flood,
    /// It is forwarded by NORMAL.
    Normal,
}

impl Unknown {
    const NAMES: [(&'static str, Self); 4] = [
        ("controller", Self::Controller),
        ("drop", Self::Drop),
        ("flood", Self::Flood),
        ("normal", Self::Normal),
    ];
}

/// The options of OpenQFlow, set by `bofuss run --extension openqflow.NAME=VALUE`.
#[derive(Clone, Debug)]
pub(super) struct QflowOptions {
    /// The table whose misses are handled by flows; without it OpenQFlow does nothing.
    pub(super) table: Option<TableId>,
    /// The tables of forwarding rules, in order.
    pub(super) forwarding: Vec<TableId>,
    /// The tables of QoS rules, in order.
    pub(super) qos: Vec<TableId>,
    pub(super) unknown: Unknown,
    pub(super) limits: FlowLimits,
    /// Nanoseconds between two reports of a flow.
    pub(super) push_ns: u64,
    /// True if flows stay on the failover port when their own is up again.
    pub(super) stays: bool,
}

impl Default for QflowOptions {
    fn default() -> Self {
        Self {
            table: None,
            forwarding: Vec::new(),
            qos: Vec::new(),
            unknown: Unknown::Controller,
            limits: FlowLimits::default(),
            push_ns: 5 * Time::SEC,
            stays: false,
        }
    }
}

impl QflowOptions {
    /// Sets an option.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        match name {
            "table" => self.table = Some(TableId(number(value, 0, TableId::MAX.0.into())? as u8)),
            "forwarding" => self.forwarding = tables(value)?,
            "qos" => self.qos = tables(value)?,
            "unknown" => self.unknown = choice(value, &Unknown::NAMES)?,
            "flows" => self.limits.flows = number(value, 1, MAX_FLOWS)? as usize,
            "idle-ms" => self.limits.idle_ns = nanos(value)?,
            "tcp-idle-ms" => self.limits.tcp_idle_ns = nanos(value)?,
            "closed-ms" => self.limits.closed_ns = nanos(value)?,
            "push-ms" => self.push_ns = nanos(value)?,
            "failover" => self.stays = choice(value, &FAILOVERS)?,
            _ => {
                return Err(OptionError::UnknownName {
                    name: name.into(),
                    known: &NAMES,
                });
            }
        }
        self.check()
    }

    /// Errors: the tables are in an order in which packets cannot go from one to the next.
    fn check(&self) -> Result<(), OptionError> {
        let first = self.table.iter();
        let all = first.chain(&self.forwarding).chain(&self.qos);
        if all.is_sorted_by(|one, next| one < next) {
            return Ok(());
        }
        Err(OptionError::Invalid(
            "table, forwarding and qos have to be tables in ascending order",
        ))
    }

    /// Returns true if a table holds rules.
    pub(super) fn has_rules(&self, table: TableId) -> bool {
        self.forwarding.contains(&table) || self.qos.contains(&table)
    }
}

/// Reads milliseconds as nanoseconds.
fn nanos(value: &str) -> Result<u64, OptionError> {
    number(value, 1, MAX_MS).map(|ms| ms * MS)
}

/// Reads numbers of tables, with commas between them.
fn tables(text: &str) -> Result<Vec<TableId>, OptionError> {
    let list = text
        .split(',')
        .map(|one| number(one, 0, TableId::MAX.0.into()));
    list.map(|table| Ok(TableId(table? as u8))).collect()
}
