//! The state tables of a switch as a list of the commands that would recreate them.

use alloc::vec::Vec;

use bofuss_datapath::Time;

use super::N_TABLES;
use super::machine::Machine;
use super::state_mod::StateMod;
use super::stateful::Stateful;
use super::table::{StateEntry, Transition};

/// After this many commands, a part of a reply ends before the next flow. With the variables of its
/// last flow, a part takes at most 36 kB of the 64 KiB of a message.
const COMMANDS_PER_PART: usize = 400;

/// A list of commands. An extension of the state tables adds its own ones at two places.
pub(crate) trait CommandList {
    /// Returns how many commands it has.
    fn len(&self) -> usize;

    /// Adds a command.
    fn push(&mut self, command: StateMod);

    /// Called after the commands that make a table stateful and set its scopes.
    fn end_table(&mut self, _number: u8, _table: &Stateful) {}

    /// Called after the command that sets the state of a flow.
    fn end_flow(&mut self, _number: u8, _key: &[u8], _flow: &StateEntry) {}
}

impl CommandList for Vec<StateMod> {
    fn len(&self) -> usize {
        self.len()
    }

    fn push(&mut self, command: StateMod) {
        self.push(command);
    }
}

/// Adds the part that begins at `from`. Returns where the next part begins: the table's number in
/// the higher 32 bits, the slot of a flow in the lower ones, plus 1. 0 is the beginning.
///
/// Order: the global state, tables with their scopes, flows, and at the end the tables that are
/// off.
pub(crate) fn add_part(
    now: Time,
    machine: &Machine,
    from: u64,
    list: &mut impl CommandList,
) -> Option<u64> {
    let tables = (0..N_TABLES as u8).filter_map(|number| Some((number, machine.table(number)?)));
    if from == 0 {
        list.push(StateMod::SetGlobalState {
            value: machine.global(),
            mask: u32::MAX,
        });
        for (number, table) in tables.clone() {
            configure(number, table, list);
        }
    }
    let from = from.saturating_sub(1);
    let first = (from >> u32::BITS) as u8;
    for (number, table) in tables.clone().filter(|(number, _)| *number >= first) {
        let mut slot = if number == first { from as u32 } else { 0 };
        let key_bytes = table.lookup().map_or(0, |lookup| lookup.bytes());
        while let Some((found, key, flow)) = table.states.next(now, slot) {
            if list.len() >= COMMANDS_PER_PART {
                return Some((u64::from(number) << u32::BITS | u64::from(found)) + 1);
            }
            let bytes = &key.bytes()[..key_bytes];
            list.push(StateMod::SetFlowState {
                table: number,
                key: bytes.to_vec(),
                transition: Transition {
                    state: flow.state,
                    mask: u32::MAX,
                    timers: flow.timers,
                },
            });
            list.end_flow(number, bytes, &flow);
            slot = found + 1;
        }
    }
    for (number, table) in tables {
        if !table.is_on() {
            list.push(StateMod::TableConfig {
                table: number,
                stateful: false,
            });
        }
    }
    None
}

/// Adds the commands that make a table stateful and set its scopes.
fn configure(number: u8, table: &Stateful, list: &mut impl CommandList) {
    list.push(StateMod::TableConfig {
        table: number,
        stateful: true,
    });
    for (scope, extractor) in table.scopes() {
        list.push(StateMod::SetExtractor {
            table: number,
            scope,
            layout: table.layout(),
            biflow: extractor.is_biflow(),
            fields: extractor.headers().to_vec(),
        });
    }
    list.end_table(number, table);
}
