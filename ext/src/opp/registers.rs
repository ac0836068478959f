//! The registers of a table: header field extractors, conditions and global variables.

use super::{Condition, N_EXTRACTORS, RegisterMod};
use crate::common::beba::{N_CONDITIONS, N_GLOBAL_VARIABLES};
use crate::openstate::extractor::Extractor;

/// The registers of a table.
#[derive(Debug, Default)]
pub struct Registers {
    /// The extractors of header field operands, of one field each.
    pub extractors: [Option<Extractor>; N_EXTRACTORS],
    /// The conditions, whose outcomes are fields of packets.
    pub conditions: [Option<Condition>; N_CONDITIONS],
    /// The variables of the table.
    pub globals: [u32; N_GLOBAL_VARIABLES],
}

impl Registers {
    /// The commands that would recreate them in a new table.
    pub(crate) fn commands(&self) -> impl Iterator<Item = RegisterMod> {
        let extractors = (0u8..).zip(&self.extractors).filter_map(|(id, extractor)| {
            let field = extractor.as_ref()?.headers()[0];
            Some(RegisterMod::HeaderExtractor { id, field })
        });
        let conditions = (0u8..).zip(self.conditions).filter_map(|(id, condition)| {
            let condition = condition?;
            Some(RegisterMod::Condition { id, condition })
        });
        let globals = (0u8..)
            .zip(self.globals)
            .filter(|(_, value)| *value != 0)
            .map(|(id, value)| RegisterMod::GlobalVariable {
                id,
                value,
                mask: u32::MAX,
            });
        extractors.chain(conditions).chain(globals)
    }
}
