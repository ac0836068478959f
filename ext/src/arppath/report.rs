//! Lists, changes of entries, and metrics of ARP-Path.

use alloc::vec::Vec;

use bofuss_datapath::{ControlContext, Metric, MetricKind, ReplyPart, Time};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::ExtRow;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ErrorCode, ExtValue, Match};

use super::error::TOO_MANY_PINS;
use super::machine::PathMachine;
use super::rules::table_miss_takes_it;
use super::table::{PathEntry, PathState, VlanHost, host_at, place};
use super::wire::{EntryState, PathMod, PathPortRecord, PathRecord, PathTableRecord, TableUse};
use super::{ENTRIES, PORTS, TABLES};
use crate::common::list::ValueList;

/// The number of entries or ports that one part of a reply visits.
const RECORDS_PER_PART: usize = 500;
/// Nanoseconds of a millisecond.
const MS: u64 = Time::SEC / 1000;

/// The next part of a list. Errors: there is no such list.
pub(super) fn part(
    machine: &PathMachine,
    cx: &ControlContext<'_>,
    row: usize,
    of: &'static ExtRow,
    from: u64,
) -> Result<ReplyPart, ErrorCode> {
    match row {
        ENTRIES => {
            let first = host_at(from);
            let (list, next) = machine.paths.list(cx.now, first, RECORDS_PER_PART);
            let records = list.iter().map(|(host, entry)| record(cx.now, host, entry));
            let value = ExtValue::typed(of, ValueList(records.collect()));
            let next = next.map(place);
            Ok(ReplyPart {
                value: Some(value),
                next,
            })
        }
        PORTS => Ok(ports(machine, cx.now, of, from)),
        TABLES => Ok(ReplyPart::last(ExtValue::typed(of, tables(machine, cx)))),
        _ => Err(BadRequest::BAD_EXP_TYPE),
    }
}

fn record(now: Time, (vlan, mac): &VlanHost, entry: &PathEntry) -> PathRecord {
    let state = match entry.state {
        _ if entry.is_pinned() => EntryState::Pinned,
        PathState::Locked => EntryState::Locked,
        PathState::Learnt => EntryState::Learnt,
    };
    let left_ms = match state {
        EntryState::Pinned => 0,
        EntryState::Locked | EntryState::Learnt => entry.until.since(now).div_ceil(MS) as u32,
    };
    PathRecord {
        vlan: *vlan,
        mac: *mac,
        port: entry.port,
        state,
        left_ms,
        via: entry.via,
    }
}

fn ports(machine: &PathMachine, now: Time, of: &'static ExtRow, from: u64) -> ReplyPart {
    let mut records = Vec::new();
    let mut next = None;
    for port in machine
        .neighbours
        .up()
        .filter(|port| u64::from(port.0) >= from)
    {
        if records.len() == RECORDS_PER_PART {
            next = Some(port.0.into());
            break;
        }
        records.push(PathPortRecord {
            port,
            kind: machine.kind(now, port),
            neighbour: machine.neighbours.heard(now, port, machine.options.hold),
        });
    }
    ReplyPart {
        value: Some(ExtValue::typed(of, ValueList(records))),
        next,
    }
}

/// The tables that were chosen, or whose table-miss entry has the action.
fn tables(machine: &PathMachine, cx: &ControlContext<'_>) -> ValueList<PathTableRecord> {
    let mut records = Vec::new();
    for (number, table) in (0u8..).zip(cx.tables()) {
        let id = TableId(number);
        let is_chosen = machine.options.tables.contains(&id);
        let has_miss_entry = table.find(0, &(&Match::ANY).into()).is_some();
        let usage = match (table_miss_takes_it(table), is_chosen) {
            (true, _) => TableUse::Entry,
            (false, true) if has_miss_entry => TableUse::Off,
            (false, true) => TableUse::Misses,
            (false, false) => continue,
        };
        records.push(PathTableRecord { table: id, usage });
    }
    ValueList(records)
}

/// Changes entries. Errors: the port is not up, or too many are pinned.
pub(super) fn change(
    machine: &mut PathMachine,
    cx: &ControlContext<'_>,
    change: &PathMod,
) -> Result<(), ErrorCode> {
    match *change {
        PathMod::Pin { vlan, mac, port } => {
            if !machine.neighbours.is_up(port) {
                return Err(BadRequest::BAD_PORT);
            }
            let station = (vlan, mac);
            let known = machine.paths.get(cx.now, &station);
            let is_pinned = known.is_some_and(PathEntry::is_pinned);
            if !is_pinned && machine.paths.pinned() >= machine.options.entries.div_ceil(2) {
                return Err(TOO_MANY_PINS);
            }
            machine.pin(cx.now, station, port);
            Ok(())
        }
        PathMod::Flush => {
            machine.paths.retain(|_, entry| entry.is_pinned());
            Ok(())
        }
        PathMod::Delete { vlan, mac, port } => {
            if let (Some(vlan), Some(mac)) = (vlan, mac) {
                let known = machine.paths.get(cx.now, &(vlan, mac));
                if known.is_some_and(|entry| port.is_none_or(|port| entry.port == port)) {
                    machine.paths.remove(&(vlan, mac));
                }
                return Ok(());
            }
            machine.paths.retain(|(of_vlan, of_mac), entry| {
                let is_it = vlan.is_none_or(|vlan| vlan == *of_vlan)
                    && mac.is_none_or(|mac| mac == *of_mac)
                    && port.is_none_or(|port| port == entry.port);
                !is_it
            });
            Ok(())
        }
    }
}

/// Adds the counters to a list of metrics.
pub(super) fn metrics(machine: &PathMachine, list: &mut Vec<Metric>) {
    let counts = &machine.counts;
    let gauges = [
        ("entries", "Hosts that are known", machine.paths.count()),
        (
            "pinned",
            "Entries that the operator set",
            machine.paths.pinned(),
        ),
        (
            "waiting",
            "Frames that wait for a path",
            machine.waiting.frames(),
        ),
    ];
    for (name, help, value) in gauges {
        list.push(Metric::only(name, help, MetricKind::Gauge, value as u64));
    }
    let counters = [
        ("moves", "Hosts that moved to another port", counts.moves),
        (
            "evicted",
            "Entries evicted because the table was full",
            machine.paths.evicted,
        ),
        (
            "flushed",
            "Entries removed with their port or neighbour",
            counts.flushed,
        ),
        (
            "lost_neighbours",
            "Neighbours that were lost",
            counts.lost_neighbours,
        ),
        ("repairs", "Repairs that were started", counts.repairs),
        (
            "replies",
            "Path-replies to requests of this switch",
            counts.replies,
        ),
        (
            "expired_frames",
            "Frames dropped after waiting too long for a path",
            counts.expired_frames,
        ),
        (
            "offered",
            "Frames to a host that no switch knows, sent to all ports",
            counts.offered,
        ),
        (
            "forged",
            "Protocol frames ignored as malformed, forged or unexpected",
            counts.forged,
        ),
        (
            "replayed",
            "Signed frames ignored as received before",
            counts.replayed,
        ),
    ];
    for (name, help, value) in counters {
        list.push(Metric::only(name, help, MetricKind::Counter, value));
    }
}
