//! The text of a trace's steps about states: what was read, and what was changed.

use alloc::{format, string::String, string::ToString};
use core::fmt;

use bofuss_datapath::Time;

use super::args::write_timers;
use super::extractor::{Extractor, FieldSource, write_key};
use super::machine::{Changed, Machine};
use super::table::{StateEntry, Timers};

/// Nanoseconds of the unit of timeouts.
const NANOS_PER_MICRO: u64 = 1000;

/// A key as the values of a scope's fields.
struct KeyText<'a>(&'a Extractor, &'a [u8]);

impl fmt::Display for KeyText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.1.get(..self.0.bytes()).unwrap_or(self.1);
        write_key(f, self.0.headers(), bytes)
    }
}

/// Timers, each after a comma.
struct TimersText(Timers);

impl fmt::Display for TimersText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_timers(f, &self.0)
    }
}

/// The state that a packet reads in a table, with the running timers and the microseconds that are
/// left of each; `None` if the table has no states.
pub(super) fn read(
    machine: &Machine,
    now: Time,
    table: u8,
    packet: &mut impl FieldSource,
) -> Option<String> {
    let scope = machine.enabled(table)?.lookup()?;
    let Some(key) = scope.key(packet) else {
        return Some("reads nothing: the packet lacks a field of the lookup scope".to_string());
    };
    let text = KeyText(scope, &key.bytes()).to_string();
    let Some(flow) = machine.flow(now, table, &key) else {
        return Some(format!("reads table={table},key={text},state=0"));
    };
    let timers = TimersText(flow.timers);
    let state = flow.state;
    Some(format!(
        "reads table={table},key={text},state={state}{timers}{}",
        left(now, &flow)
    ))
}

/// The microseconds that are left of the running timers.
fn left(now: Time, flow: &StateEntry) -> String {
    let mut text = String::new();
    let timers = [
        ("hard_left", flow.hard_deadline()),
        ("idle_left", flow.idle_deadline()),
    ];
    for (name, deadline) in timers {
        if deadline != Time::NEVER {
            text += &format!(",{name}={}", deadline.since(now) / NANOS_PER_MICRO);
        }
    }
    text
}

/// The change of a state by an action, with the timers that run from then on.
pub(super) fn changed(machine: &Machine, table: u8, changed: Option<&Changed>) -> String {
    let scope = machine.enabled(table).and_then(|table| table.lookup());
    let (Some(scope), Some(changed)) = (scope, changed) else {
        return format!(
            "changes nothing: table {table} has no states, or the packet lacks a field of the key"
        );
    };
    let Changed {
        old, new, timers, ..
    } = changed;
    let bytes = changed.key.bytes();
    let key = KeyText(scope, &bytes);
    let timers = TimersText(*timers);
    format!("changes table={table},key={key},old={old},new={new}{timers}")
}
