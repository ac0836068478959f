//! What the registers do in the state tables: conditions are evaluated, variables computed and
//! read.

use bofuss_datapath::Time;
use bofuss_oflib::{Catalogue, ErrorCode, PortNo};

use super::{
    CONDITION_NULL, ContextSource, FlowVariables, MAX_OPERANDS, N_CONDITIONS, N_GLOBAL_VARIABLES,
    Operand, OperandKind, OppMod, SetDataVar,
};
use crate::openstate::extractor::{Extractor, FieldSource, FlowKey};
use crate::openstate::machine::Machine;
use crate::openstate::stateful::Stateful;
use crate::openstate::table::{StateEntry, TableFull};
use crate::openstate::{StateDialect, error};

/// The variables of a packet's flow; `None` if the packet has no flow, since it lacks a field of
/// the key.
type OfFlow = Option<FlowVariables>;

impl OppMod {
    /// The error of this command for a table that is not enabled.
    pub(crate) fn disabled(&self) -> ErrorCode {
        match self {
            Self::HeaderExtractor { .. } => error::BAD_HEADER_EXTRACTOR,
            Self::Condition { .. } | Self::GlobalVariable { .. } => error::BAD_CONDITION,
            Self::FlowVariable { .. } => error::SET_FLOW_STATE,
        }
    }
}

/// A number of which the bits under a mask were replaced.
fn masked(old: u32, value: u32, mask: u32) -> u32 {
    old & !mask | value & mask
}

impl Machine {
    /// Carries out a controller's message about the registers of an enabled table.
    ///
    /// Errors: BAD_HEADER_FIELD_SIZE for a field that no key can hold, BAD_EXP_LEN for a key of
    /// another length than the table's, STATE_MOD_FAILED if there is no room for a further flow.
    pub(crate) fn change_registers(
        &mut self,
        now: Time,
        number: u8,
        change: &OppMod,
        catalogue: &Catalogue,
    ) -> Result<(), ErrorCode> {
        match change {
            OppMod::HeaderExtractor { id, field } => {
                let extractor =
                    Extractor::new(&[*field], catalogue).ok_or(error::BAD_HEADER_FIELD_SIZE)?;
                self.registers(number).extractors[usize::from(*id)] = Some(extractor);
            }
            OppMod::Condition { id, condition } => {
                self.registers(number).conditions[usize::from(*id)] = Some(*condition);
            }
            OppMod::GlobalVariable { id, value, mask } => {
                let variable = &mut self.registers(number).globals[usize::from(*id)];
                *variable = masked(*variable, *value, *mask);
            }
            OppMod::FlowVariable {
                id,
                value,
                mask,
                key,
            } => {
                self.check_key(number, key, error::SET_FLOW_STATE)?;
                let key = FlowKey::new(key);
                let old = self.flow(now, number, &key);
                // The mask counts only for a flow that has an entry.
                let after = old.map_or(*value, |flow| {
                    masked(flow.variables[usize::from(*id)], *value, *mask)
                });
                let flow = (&key, PortNo::CONTROLLER);
                let set = self.set_flow_variable(now, number, flow, *id, after);
                set.map_err(|TableFull| error::STATE_MOD_FAILED)?;
            }
        }
        Ok(())
    }

    /// The outcomes of a table's conditions for a packet; `None` if the table has another dialect
    /// or is not enabled.
    pub(crate) fn conditions(
        &self,
        now: Time,
        number: u8,
        packet: &mut impl FieldSource,
    ) -> Option<[u8; N_CONDITIONS]> {
        let table = self.enabled(number)?;
        if table.dialect() != StateDialect::Opp {
            return None;
        }
        let key = table.lookup().and_then(|scope| scope.key(packet));
        let of_flow = self.variables(now, number, key.as_ref());
        Some(table.registers.conditions.map(|condition| {
            let outcome = condition.and_then(|condition| {
                condition.outcome(|operand| self.value(number, table, of_flow, operand, packet))
            });
            outcome.unwrap_or(CONDITION_NULL)
        }))
    }

    /// The variables of a table; zeros if it is not enabled.
    pub(crate) fn global_variables(&self, number: u8) -> [u32; N_GLOBAL_VARIABLES] {
        match self.enabled(number) {
            Some(table) => self
                .tried_globals(number)
                .unwrap_or(table.registers.globals),
            None => [0; N_GLOBAL_VARIABLES],
        }
    }

    /// Carries out a SET_DATA_VAR for a packet. Returns the new value of the output; `None` if the
    /// table is not enabled, or the output or an operand has no value, and then nothing is done.
    pub(crate) fn set_data_var(
        &mut self,
        now: Time,
        action: &SetDataVar,
        packet: &mut impl FieldSource,
    ) -> Option<u32> {
        let table = self.enabled(action.table)?;
        let key = table.updated_flow(action.bit, action.scope.as_ref(), packet);
        let of_flow = self.variables(now, action.table, key.as_ref());
        let mut values = [0; MAX_OPERANDS];
        let used = &action.operands[..action.function.n_operands()];
        for (value, operand) in values.iter_mut().zip(used) {
            *value = self.value(action.table, table, of_flow, *operand, packet)?;
        }
        let output = self.value(action.table, table, of_flow, action.output, packet)?;
        let update = action.function.apply(output, values, action.coefficients);
        let [_, second, third, _] = action.operands;
        let written = [
            (action.output, Some(update.output)),
            (second, update.second),
            (third, update.third),
        ];
        let flow = key.as_ref().map(|key| (key, packet.in_port()));
        for (variable, value) in written {
            if let Some(value) = value {
                self.set_variable(now, action.table, flow, variable, value);
            }
        }
        self.count_update();
        Some(update.output)
    }

    /// The value that WRITE_CONTEXT_TO_FIELD writes, for the flow that the lookup in the table has
    /// found for a packet, even if the packet was rewritten since. `None` if the table is not
    /// enabled or has another dialect, or the value is the flow's and the packet lacked a field of
    /// the key.
    ///
    /// Choice: the packet of a packet-out, for which there was no lookup, has the flow of its own
    /// fields.
    pub(crate) fn context(
        &self,
        now: Time,
        number: u8,
        source: ContextSource,
        packet: &mut impl FieldSource,
    ) -> Option<u32> {
        let table = self.enabled(number).filter(|table| table.may_be_opp())?;
        if let ContextSource::GlobalVariable(id) = source {
            return Some(self.global_variables(number)[usize::from(id)]);
        }
        let key = match packet.looked_up(number) {
            Some(key) => key?,
            None => table.lookup()?.key(packet)?,
        };
        let flow = self.flow(now, number, &key);
        Some(match source {
            ContextSource::State => flow.map_or(0, |flow| flow.state),
            ContextSource::FlowVariable(id) | ContextSource::GlobalVariable(id) => {
                flow.map_or(0, |flow| flow.variables[usize::from(id)])
            }
        })
    }

    /// The variables of a flow, zeros if it has no entry; `None` without a key.
    fn variables(&self, now: Time, number: u8, key: Option<&FlowKey>) -> OfFlow {
        let flow = self.flow(now, number, key?);
        Some(flow.map_or_else(FlowVariables::default, |flow| flow.variables))
    }

    /// The value of an operand; `None` for a variable of a flow that the packet does not have, and
    /// for an extractor that is not set or whose field the packet lacks.
    fn value(
        &self,
        number: u8,
        table: &Stateful,
        of_flow: OfFlow,
        operand: Operand,
        packet: &mut impl FieldSource,
    ) -> Option<u32> {
        let id = usize::from(operand.id);
        match operand.kind {
            OperandKind::FlowVariable => of_flow?.get(id).copied(),
            OperandKind::GlobalVariable => self.global_variables(number).get(id).copied(),
            OperandKind::HeaderField => {
                let extractor = table.registers.extractors.get(id)?.as_ref()?;
                extractor.number(packet)
            }
            OperandKind::Constant => Some(operand.id.into()),
        }
    }

    /// Writes an operand, if it is a variable.
    fn set_variable(
        &mut self,
        now: Time,
        number: u8,
        flow: Option<(&FlowKey, PortNo)>,
        variable: Operand,
        value: u32,
    ) {
        match variable.kind {
            OperandKind::FlowVariable => {
                let flow = flow.expect("its value was read just now");
                // Without room, the flow stays as it was, which is counted.
                let _ = self.set_flow_variable(now, number, flow, variable.id, value);
            }
            OperandKind::GlobalVariable => {
                let mut globals = self.global_variables(number);
                globals[usize::from(variable.id)] = value;
                self.set_globals(number, globals);
            }
            OperandKind::HeaderField | OperandKind::Constant => {}
        }
    }

    /// Sets a variable of a flow; a new one counts in the share of a port. Errors: there is no room
    /// for it.
    fn set_flow_variable(
        &mut self,
        now: Time,
        number: u8,
        (key, port): (&FlowKey, PortNo),
        id: u8,
        value: u32,
    ) -> Result<(), TableFull> {
        let before = self.flow(now, number, key);
        match StateEntry::with_variable(now, before, id, value) {
            Some(after) => self.set_flow(now, number, key, Some(after), port),
            None => Ok(()),
        }
    }
}
