//! What the operator chooses: tables, bounds, timers, and what becomes of packets without a rule.

use alloc::{format, string::String, vec::Vec};

use bofuss_datapath::Time;
use bofuss_oflib::types::TableId;

use super::flow::FlowLimits;
use crate::words::number;

/// Nanoseconds of a millisecond.
const MS: u64 = Time::SEC / 1000;
/// The longest time that an option takes: a day.
const MAX_MS: u64 = 86_400_000;
/// The most flows that an option takes.
const MAX_FLOWS: u64 = 1 << 24;

/// What becomes of a packet that no rule forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// The controllers get it, and its flow waits.
    Controller,
    /// It is dropped.
    Drop,
    /// It goes to all ports.
    Flood,
    /// It goes as an ordinary switch would send it.
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

/// The options of OpenQFlow, as `bofuss run --extension openqflow.NAME=VALUE` has them.
#[derive(Clone, Debug)]
pub(super) struct QflowOptions {
    /// The table whose packets have flows; without it OpenQFlow does nothing.
    pub(super) table: Option<TableId>,
    /// The tables of forwarding rules, in their order,
    pub(super) forwarding: Vec<TableId>,
    /// and those of QoS rules.
    pub(super) qos: Vec<TableId>,
    pub(super) unknown: Unknown,
    pub(super) limits: FlowLimits,
    /// Nanoseconds between two reports of a flow.
    pub(super) push_ns: u64,
    /// Whether flows stay on the failover port when their own is up again.
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
    /// Chooses. Errors: a sentence with what would be right.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let time = || Ok::<_, String>(number(value, 1, MAX_MS)? * MS);
        match name {
            "table" => self.table = Some(TableId(number(value, 0, TableId::MAX.0.into())? as u8)),
            "forwarding" => self.forwarding = tables(value)?,
            "qos" => self.qos = tables(value)?,
            "unknown" => {
                let found = Unknown::NAMES.iter().find(|(known, _)| *known == value);
                let Some((_, unknown)) = found else {
                    return Err(format!(
                        "'{value}' is not controller, drop, flood or normal"
                    ));
                };
                self.unknown = *unknown;
            }
            "flows" => self.limits.flows = number(value, 1, MAX_FLOWS)? as usize,
            "idle-ms" => self.limits.idle_ns = time()?,
            "tcp-idle-ms" => self.limits.tcp_idle_ns = time()?,
            "closed-ms" => self.limits.closed_ns = time()?,
            "push-ms" => self.push_ns = time()?,
            "failover" => match value {
                "revert" => self.stays = false,
                "stay" => self.stays = true,
                _ => return Err(format!("'{value}' is not revert or stay")),
            },
            _ => {
                return Err(format!(
                    "'{name}' is not table, forwarding, qos, unknown, flows, idle-ms, tcp-idle-ms, \
                     closed-ms, push-ms or failover"
                ));
            }
        }
        self.check()
    }

    /// Errors: packets could not go from one table to the next.
    fn check(&self) -> Result<(), String> {
        let first = self.table.iter();
        let all = first.chain(&self.forwarding).chain(&self.qos);
        if all.is_sorted_by(|one, next| one < next) {
            return Ok(());
        }
        Err("table, forwarding and qos have to be tables in ascending order".into())
    }

    /// Whether a table holds rules.
    pub(super) fn has_rules(&self, table: TableId) -> bool {
        self.forwarding.contains(&table) || self.qos.contains(&table)
    }
}

/// Numbers of tables with commas between.
fn tables(text: &str) -> Result<Vec<TableId>, String> {
    let list = text
        .split(',')
        .map(|one| number(one, 0, TableId::MAX.0.into()));
    list.map(|table| Ok(TableId(table? as u8))).collect()
}
