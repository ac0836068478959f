//! The state tables of a switch as a list of the commands that would recreate them.

use alloc::vec::Vec;

use bofuss_datapath::Time;

use super::N_TABLES;
use super::machine::Machine;
use super::opp::{FlowVariables, OppMod};
use super::state_mod::StateMod;
use super::stateful::Stateful;
use super::table::Transition;

/// After this many commands, a part of a reply ends before the next flow. With the variables of its
/// last flow, a part takes at most 36 kB of the 64 KiB of a message.
const COMMANDS_PER_PART: usize = 400;

/// The part of the list that begins at `from`, and where the next part begins: the table's number
/// in the higher 32 bits, the slot of a flow in the lower ones. 0 is the beginning of the list.
///
/// Order: the global state, tables with their scopes and registers, flows, and at the end the
/// tables that are off.
pub(super) fn part(now: Time, machine: &Machine, from: u64) -> (Vec<StateMod>, Option<u64>) {
    let mut list = Vec::new();
    let tables = (0..N_TABLES as u8).filter_map(|number| Some((number, machine.table(number)?)));
    if from == 0 {
        list.push(StateMod::SetGlobalState {
            value: machine.global(),
            mask: u32::MAX,
        });
        for (number, table) in tables.clone() {
            configure(number, table, &mut list);
        }
    }
    let first = (from >> u32::BITS) as u8;
    for (number, table) in tables.clone().filter(|(number, _)| *number >= first) {
        let mut slot = if number == first { from as u32 } else { 0 };
        let key_bytes = table.lookup().map_or(0, |lookup| lookup.bytes());
        while let Some((found, key, flow)) = table.states.next(now, slot) {
            if list.len() >= COMMANDS_PER_PART {
                return (
                    list,
                    Some(u64::from(number) << u32::BITS | u64::from(found)),
                );
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
            set_variables(number, bytes, &flow.variables, &mut list);
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
    (list, None)
}

/// Adds the commands that make a table stateful and set its scopes and registers.
fn configure(number: u8, table: &Stateful, list: &mut Vec<StateMod>) {
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
    if table.is_enabled() {
        let changes = table.registers.commands();
        list.extend(changes.map(|change| StateMod::Registers {
            table: number,
            change,
        }));
    }
}

/// Adds the commands that set those variables of a flow that are not 0.
fn set_variables(table: u8, key: &[u8], variables: &FlowVariables, list: &mut Vec<StateMod>) {
    for (id, value) in (0u8..).zip(*variables) {
        if value != 0 {
            list.push(StateMod::Registers {
                table,
                change: OppMod::FlowVariable {
                    id,
                    value,
                    mask: u32::MAX,
                    key: key.to_vec(),
                },
            });
        }
    }
}
