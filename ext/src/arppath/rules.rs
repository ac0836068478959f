//! Finds the action of ARP-Path in the entries of tables.

use bofuss_datapath::Table;
use bofuss_oflib::{Action, Instruction, Match};

use super::VALUES;

/// True if the table-miss entry of a table has the action.
pub(super) fn table_miss_takes_it(table: &Table) -> bool {
    let miss = table.find(0, &(&Match::ANY).into());
    let entry = miss.and_then(|key| table.get(key));
    entry.is_some_and(|entry| has_action(entry.instructions.list()))
}

/// True if one of these instructions has the action.
pub(super) fn has_action(instructions: &[Instruction]) -> bool {
    instructions.iter().any(|one| {
        let (Instruction::ApplyActions(list) | Instruction::WriteActions(list)) = one else {
            return false;
        };
        list.iter().any(is_arp_path)
    })
}

fn is_arp_path(action: &Action) -> bool {
    let Action::Experimenter(value) = action else {
        return false;
    };
    *value.row == VALUES[0]
}
