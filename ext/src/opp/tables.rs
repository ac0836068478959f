//! The registers of all tables, and what they do: conditions are evaluated, variables computed and
//! read.

use alloc::{boxed::Box, vec::Vec};

use bofuss_datapath::{Time, Trial};
use bofuss_oflib::{Catalogue, ErrorCode, PortNo};

use super::{
    CONDITION_NULL, ContextSource, MAX_OPERANDS, Operand, OperandKind, OppMod, RegisterMod,
    Registers, SetDataVar,
};
use crate::common::beba::{FlowVariables, N_CONDITIONS, N_GLOBAL_VARIABLES};
use crate::openstate::extractor::{Extractor, FieldSource, FlowKey};
use crate::openstate::machine::Machine;
use crate::openstate::stateful::Stateful;
use crate::openstate::table::{StateEntry, TableFull};
use crate::openstate::{N_TABLES, StateDialect, error};

/// The variables of a packet's flow; `None` if the packet has no flow, since it lacks a field of
/// the key.
type OfFlow = Option<FlowVariables>;

/// The registers of a machine's tables.
#[derive(Debug)]
pub(super) struct RegisterTables {
    /// By the table's number; a table without registers takes no memory.
    tables: [Option<Box<Registers>>; N_TABLES],
    /// The trial that is current; [`Trial::LIVE`] if none is.
    trial: Trial,
    /// The variables of tables that the current trial has changed, the newest last.
    tried: Vec<(u8, [u32; N_GLOBAL_VARIABLES])>,
    /// Actions that computed a variable.
    updates: u64,
}

impl Default for RegisterTables {
    fn default() -> Self {
        Self {
            tables: [const { None }; N_TABLES],
            trial: Trial::LIVE,
            tried: Vec::new(),
            updates: 0,
        }
    }
}

/// A number of which the bits under a mask were replaced.
fn masked(old: u32, value: u32, mask: u32) -> u32 {
    old & !mask | value & mask
}

impl RegisterTables {
    /// The registers of a table, if it has some.
    pub(super) fn get(&self, number: u8) -> Option<&Registers> {
        self.tables.get(usize::from(number))?.as_deref()
    }

    /// The commands that set the registers of a table, if it is enabled, or would be if it were
    /// switched on: lists switch off what is off after all else.
    pub(super) fn commands(
        &self,
        table: u8,
        stateful: &Stateful,
    ) -> impl Iterator<Item = OppMod> + use<'_> {
        let registers = self.get(table).filter(|_| stateful.has_both_scopes());
        let changes = registers.into_iter().flat_map(|one| one.commands());
        changes.map(move |change| OppMod::Registers { table, change })
    }

    /// The registers of a table below [`N_TABLES`].
    fn place(&mut self, number: u8) -> &mut Registers {
        self.tables[usize::from(number)].get_or_insert_default()
    }

    /// Forgets the registers of a table below [`N_TABLES`].
    pub(super) fn forget(&mut self, number: u8) {
        self.tables[usize::from(number)] = None;
    }

    /// Begins this trial, if it is another one than the last, and forgets what that has changed.
    pub(super) fn enter(&mut self, trial: Trial) {
        if self.trial != trial {
            self.trial = trial;
            self.tried.clear();
        }
    }

    /// Returns how many actions have computed a variable.
    pub(super) fn updates(&self) -> u64 {
        self.updates
    }

    /// Carries out a controller's message about the registers of an enabled table.
    ///
    /// Errors: BAD_HEADER_FIELD_SIZE for a field that no key can hold, BAD_EXP_LEN for a key of
    /// another length than the table's, STATE_MOD_FAILED if there is no room for a further flow.
    pub(super) fn change(
        &mut self,
        machine: &mut Machine,
        now: Time,
        number: u8,
        change: &RegisterMod,
        catalogue: &Catalogue,
    ) -> Result<(), ErrorCode> {
        match change {
            RegisterMod::HeaderExtractor { id, field } => {
                let extractor =
                    Extractor::new(&[*field], catalogue).ok_or(error::BAD_HEADER_FIELD_SIZE)?;
                self.place(number).extractors[usize::from(*id)] = Some(extractor);
            }
            RegisterMod::Condition { id, condition } => {
                self.place(number).conditions[usize::from(*id)] = Some(*condition);
            }
            RegisterMod::GlobalVariable { id, value, mask } => {
                let variable = &mut self.place(number).globals[usize::from(*id)];
                *variable = masked(*variable, *value, *mask);
            }
            RegisterMod::FlowVariable {
                id,
                value,
                mask,
                key,
            } => {
                let enabled = machine.enabled(number).ok_or(error::SET_FLOW_STATE)?;
                enabled.check_key(key)?;
                let key = FlowKey::new(key);
                let old = machine.flow(now, number, &key);
                // The mask counts only for a flow that has an entry.
                let after = old.map_or(*value, |flow| {
                    masked(flow.variables[usize::from(*id)], *value, *mask)
                });
                let flow = (&key, PortNo::CONTROLLER);
                let set = set_flow_variable(machine, now, number, flow, *id, after);
                set.map_err(|TableFull| error::STATE_MOD_FAILED)?;
            }
        }
        Ok(())
    }

    /// The outcomes of a table's conditions for a packet; `None` if the table has another dialect
    /// or is not enabled.
    pub(super) fn conditions(
        &self,
        machine: &Machine,
        now: Time,
        number: u8,
        packet: &mut impl FieldSource,
    ) -> Option<[u8; N_CONDITIONS]> {
        let table = machine.enabled(number)?;
        if table.dialect() != StateDialect::Opp {
            return None;
        }
        let key = table.lookup().and_then(|scope| scope.key(packet));
        let Some(registers) = self.get(number) else {
            return Some([CONDITION_NULL; N_CONDITIONS]);
        };
        let of_flow = flow_variables(machine, now, number, key.as_ref());
        Some(registers.conditions.map(|condition| {
            let outcome = condition.and_then(|condition| {
                condition.outcome(|operand| self.value(machine, number, of_flow, operand, packet))
            });
            outcome.unwrap_or(CONDITION_NULL)
        }))
    }

    /// The variables of a table; zeros if it is not enabled.
    pub(super) fn globals(&self, machine: &Machine, number: u8) -> [u32; N_GLOBAL_VARIABLES] {
        if machine.enabled(number).is_none() {
            return [0; N_GLOBAL_VARIABLES];
        }
        let mut tried = self.tried.iter().rev();
        if let Some((_, tried)) = tried.find(|(table, _)| *table == number) {
            return *tried;
        }
        let registers = self.get(number);
        registers.map_or([0; N_GLOBAL_VARIABLES], |registers| registers.globals)
    }

    /// Carries out a SET_DATA_VAR for a packet. Returns the new value of the output; `None` if the
    /// table is not enabled, or the output or an operand has no value, and then nothing is done.
    pub(super) fn set_data_var(
        &mut self,
        machine: &mut Machine,
        now: Time,
        action: &SetDataVar,
        packet: &mut impl FieldSource,
    ) -> Option<u32> {
        let table = machine.enabled(action.table)?;
        let key = table.updated_flow(action.bit, action.scope.as_ref(), packet);
        let of_flow = flow_variables(machine, now, action.table, key.as_ref());
        let mut values = [0; MAX_OPERANDS];
        let used = &action.operands[..action.function.n_operands()];
        for (value, operand) in values.iter_mut().zip(used) {
            *value = self.value(machine, action.table, of_flow, *operand, packet)?;
        }
        let output = self.value(machine, action.table, of_flow, action.output, packet)?;
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
                self.set_variable(machine, now, action.table, flow, variable, value);
            }
        }
        self.updates += u64::from(self.trial == Trial::LIVE);
        Some(update.output)
    }

    /// The value that WRITE_CONTEXT_TO_FIELD writes, for the flow that the lookup in the table has
    /// found for a packet, even if the packet was rewritten since. `None` if the table is not
    /// enabled or has another dialect, or the value is the flow's and the packet lacked a field of
    /// the key.
    ///
    /// Choice: the packet of a packet-out, for which there was no lookup, has the flow of its own
    /// fields.
    pub(super) fn context(
        &self,
        machine: &Machine,
        now: Time,
        number: u8,
        source: ContextSource,
        packet: &mut impl FieldSource,
    ) -> Option<u32> {
        let table = machine.enabled(number).filter(|table| table.may_be_opp())?;
        if let ContextSource::GlobalVariable(id) = source {
            return Some(self.globals(machine, number)[usize::from(id)]);
        }
        let key = match packet.looked_up(number) {
            Some(key) => key?,
            None => table.lookup()?.key(packet)?,
        };
        let flow = machine.flow(now, number, &key);
        Some(match source {
            ContextSource::State => flow.map_or(0, |flow| flow.state),
            ContextSource::FlowVariable(id) | ContextSource::GlobalVariable(id) => {
                flow.map_or(0, |flow| flow.variables[usize::from(id)])
            }
        })
    }

    /// The value of an operand; `None` for a variable of a flow that the packet does not have, and
    /// for an extractor that is not set or whose field the packet lacks.
    fn value(
        &self,
        machine: &Machine,
        number: u8,
        of_flow: OfFlow,
        operand: Operand,
        packet: &mut impl FieldSource,
    ) -> Option<u32> {
        let id = usize::from(operand.id);
        match operand.kind {
            OperandKind::FlowVariable => of_flow?.get(id).copied(),
            OperandKind::GlobalVariable => self.globals(machine, number).get(id).copied(),
            OperandKind::HeaderField => {
                let extractor = self.get(number)?.extractors.get(id)?.as_ref()?;
                extractor.number(packet)
            }
            OperandKind::Constant => Some(operand.id.into()),
        }
    }

    /// Writes an operand, if it is a variable.
    fn set_variable(
        &mut self,
        machine: &mut Machine,
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
                let _ = set_flow_variable(machine, now, number, flow, variable.id, value);
            }
            OperandKind::GlobalVariable => {
                let mut globals = self.globals(machine, number);
                globals[usize::from(variable.id)] = value;
                if self.trial == Trial::LIVE {
                    self.place(number).globals = globals;
                } else {
                    self.tried.push((number, globals));
                }
            }
            OperandKind::HeaderField | OperandKind::Constant => {}
        }
    }
}

/// The variables of a flow, zeros if it has no entry; `None` without a key.
fn flow_variables(machine: &Machine, now: Time, number: u8, key: Option<&FlowKey>) -> OfFlow {
    let flow = machine.flow(now, number, key?);
    Some(flow.map_or_else(FlowVariables::default, |flow| flow.variables))
}

/// Sets a variable of a flow; a new one counts in the share of a port. Errors: there is no room for
/// it.
fn set_flow_variable(
    machine: &mut Machine,
    now: Time,
    number: u8,
    (key, port): (&FlowKey, PortNo),
    id: u8,
    value: u32,
) -> Result<(), TableFull> {
    let before = machine.flow(now, number, key);
    match StateEntry::with_variable(now, before, id, value) {
        Some(after) => machine.set_flow(now, number, key, Some(after), port),
        None => Ok(()),
    }
}
