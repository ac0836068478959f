//! Without the feature `reshape`, every table can do everything: see `admission.rs`.

use bofuss_oflib::error::{BadInstruction, BadMatch};
use bofuss_oflib::field::PACKET_TYPE;
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::{ErrorCode, Instruction};

use super::PipelineShape;

impl PipelineShape {
    /// Checks a flow-mod against what all tables can do. A table that is not in the pipeline is not
    /// checked, as with ALL; the caller looks for it.
    ///
    /// Errors: BAD_MATCH/BAD_VALUE for a packet type that the switch does not know,
    /// BAD_INSTRUCTION/BAD_TABLE_ID for a goto-table to a table that is not a later one.
    pub(crate) fn check(&self, flow_mod: &FlowMod) -> Result<(), ErrorCode> {
        let Some(Some(abilities)) = self.tables.get(usize::from(flow_mod.table_id.0)) else {
            return Ok(());
        };
        let packet_type = flow_mod.fields.get(PACKET_TYPE);
        if packet_type.is_some_and(|named| !abilities.has_packet_type(named)) {
            return Err(BadMatch::BAD_VALUE);
        }
        let instructions = flow_mod.instructions.list().iter();
        let mut next_tables = instructions.filter_map(|one| {
            let Instruction::GotoTable(next) = one else {
                return None;
            };
            Some(*next)
        });
        let goes_nowhere = next_tables.any(|next| !abilities.has_next(next, 0));
        if !flow_mod.deletes() && goes_nowhere {
            return Err(BadInstruction::BAD_TABLE_ID);
        }
        Ok(())
    }
}
