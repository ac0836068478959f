//! The instructions of a flow entry.

#[cfg(feature = "v1_5")]
mod meters;

use alloc::{sync::Arc, vec::Vec};

use crate::action::Action;
use crate::ext::ExtValue;
use crate::stat_trigger::StatTrigger;
use crate::types::{MeterId, TableId};
use crate::version::{Span, Version, span};

/// One instruction. The order of the variants is the order of execution.
///
/// Spec: OpenFlow 1.3.5 sections 5.9 and 7.2.4.
///
/// Invariant: [`INSTRUCTIONS`] has a row for each, with the same number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// Directs the packet to a meter, which may drop it.
    Meter(MeterId),
    /// Applies actions at once, in their order.
    ApplyActions(Vec<Action>),
    /// Empties the action set.
    ClearActions,
    /// Merges actions into the action set.
    WriteActions(Vec<Action>),
    /// Writes the bits of the metadata that the mask selects.
    WriteMetadata {
        /// The bits.
        value: u64,
        /// The bits that count.
        mask: u64,
    },
    /// Says when the entry's statistics are sent (since OpenFlow 1.5). Packets do not notice.
    StatTrigger(StatTrigger),
    /// An extension's instruction.
    Experimenter(ExtValue),
    /// Goes on in a later table.
    GotoTable(TableId),
}

/// The instruction type of experimenters.
const EXPERIMENTER: u16 = 0xffff;

/// The facts in an instruction's row.
#[derive(Clone, Copy, Debug)]
pub struct InstructionRow {
    /// The type on the wire.
    pub number: u16,
    /// The name in text.
    pub name: &'static str,
    /// The place in the order of execution.
    ///
    /// It is the list of section 5.9, with the meter first and GOTO_TABLE last. Choice: a trigger
    /// and extensions' instructions are executed right before GOTO_TABLE.
    pub order: u8,
    /// The versions that have it.
    pub versions: Span,
}

const fn row(number: u16, name: &'static str, order: u8, versions: Span) -> InstructionRow {
    InstructionRow {
        number,
        name,
        order,
        versions,
    }
}

/// Every instruction.
pub const INSTRUCTIONS: &[InstructionRow] = &[
    row(1, "goto_table", 7, span!(since V1_1)),
    row(2, "write_metadata", 4, span!(since V1_1)),
    row(3, "write_actions", 3, span!(since V1_1)),
    row(4, "apply_actions", 1, span!(since V1_1)),
    row(5, "clear_actions", 2, span!(since V1_1)),
    row(6, "meter", 0, span!(since V1_3 until V1_4)),
    row(7, "stat_trigger", 5, span!(since V1_5)),
    row(EXPERIMENTER, "experimenter", 6, span!(since V1_1)),
];

impl Instruction {
    /// The type on the wire.
    pub fn number(&self) -> u16 {
        match self {
            Self::GotoTable(_) => 1,
            Self::WriteMetadata { .. } => 2,
            Self::WriteActions(_) => 3,
            Self::ApplyActions(_) => 4,
            Self::ClearActions => 5,
            Self::Meter(_) => 6,
            Self::StatTrigger(_) => 7,
            Self::Experimenter(_) => EXPERIMENTER,
        }
    }

    /// Returns true if a flow entry may contain only one of the two.
    ///
    /// Of an experimenter, each of its types is a type of its own.
    pub fn is_same_type(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Experimenter(a), Self::Experimenter(b)) => a.row == b.row,
            (a, b) => a.number() == b.number(),
        }
    }

    /// The row of this instruction.
    pub fn row(&self) -> &'static InstructionRow {
        let number = self.number();
        let row = INSTRUCTIONS.iter().find(|row| row.number == number);
        row.expect("every instruction has a row")
    }

    /// Its place in the order of execution.
    fn order(&self) -> u8 {
        // The rows begin with order 0, so that these come before all of them.
        if matches!(self, Self::Experimenter(value) if value.row.runs_first) {
            return 0;
        }
        1 + self.row().order
    }
}

/// The instructions of a flow entry, in the order of execution, at most one of each type (of an
/// experimenter's, one of each of its types). Copies share them.
///
/// Entries with equal instructions are many, so that an entry holds a pointer to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instructions(Arc<Vec<Instruction>>);

impl Instructions {
    /// Puts instructions in order. Errors: `Err(())` if one type occurs twice.
    #[allow(clippy::result_unit_err)]
    pub fn new(mut list: Vec<Instruction>) -> Result<Self, ()> {
        list.sort_by_key(Instruction::order);
        // Types of experimenters have one order, so that equal ones may stand apart. The first is
        // found after as many as there are types.
        for (at, one) in list.iter().enumerate() {
            if list[..at].iter().any(|other| other.is_same_type(one)) {
                return Err(());
            }
        }
        Ok(Self(list.into()))
    }

    /// One apply-actions instruction, or none if `actions` is empty.
    pub fn apply(actions: Vec<Action>) -> Self {
        let one = (!actions.is_empty()).then_some(Instruction::ApplyActions(actions));
        Self(Arc::new(one.into_iter().collect()))
    }

    /// The same in memory of their own, no more than they need.
    pub fn unshared(&self) -> Self {
        Self(Arc::new(self.list().to_vec()))
    }

    /// The list that copies share.
    pub(crate) fn shared(&self) -> &Vec<Instruction> {
        &self.0
    }

    /// The instructions in the order of execution.
    pub fn list(&self) -> &[Instruction] {
        &self.0
    }

    /// Every action in them.
    ///
    /// Actions within an experimenter's instruction are not among them.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.0.iter().flat_map(|instruction| match instruction {
            Instruction::ApplyActions(list) | Instruction::WriteActions(list) => list.as_slice(),
            Instruction::Meter(_)
            | Instruction::ClearActions
            | Instruction::WriteMetadata { .. }
            | Instruction::StatTrigger(_)
            | Instruction::Experimenter(_)
            | Instruction::GotoTable(_) => &[],
        })
    }

    /// Returns the thresholds at which the statistics of their entry are sent unasked.
    pub fn stat_trigger(&self) -> Option<&StatTrigger> {
        self.0.iter().find_map(|instruction| match instruction {
            Instruction::StatTrigger(trigger) => Some(trigger),
            Instruction::Meter(_)
            | Instruction::ApplyActions(_)
            | Instruction::ClearActions
            | Instruction::WriteActions(_)
            | Instruction::WriteMetadata { .. }
            | Instruction::Experimenter(_)
            | Instruction::GotoTable(_) => None,
        })
    }

    /// Returns the instructions that a version reports, if it has fewer. A trigger changes nothing
    /// for packets, so that entries are listed without it before 1.5.
    pub(crate) fn reported_in(&self, version: Version) -> Option<Self> {
        if version.has_stat_lists() || self.stat_trigger().is_none() {
            return None;
        }
        let mut others = self.list().to_vec();
        others.retain(|one| !matches!(one, Instruction::StatTrigger(_)));
        Some(Self(others.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext::{ExtKind, ExtRow};
    use crate::wire::Bytes;

    static ROWS: [ExtRow; 3] = [
        ExtRow::new(ExtKind::Instruction, 0xe0_0001, 1, "a"),
        ExtRow::new(ExtKind::Instruction, 0xe0_0001, 2, "b"),
        ExtRow {
            runs_first: true,
            ..ExtRow::new(ExtKind::Instruction, 0xe0_0001, 3, "c")
        },
    ];

    #[test]
    fn a_type_of_an_experimenter_stands_once_wherever_the_two_would_stand() {
        let cases: &[(&[usize], bool)] = &[
            (&[1, 0, 2], true),
            (&[0, 0], false),
            (&[0, 1, 0], false),
            (&[2, 0, 1, 2], false),
        ];
        for (types, is_ok) in cases {
            let list = types.iter().map(|ty| {
                let value = ExtValue::new(&ROWS[*ty], Vec::new(), Bytes::default());
                Instruction::Experimenter(value)
            });
            let instructions = Instructions::new(list.collect());
            assert_eq!(instructions.is_ok(), *is_ok, "{types:?}");
        }
    }
}
