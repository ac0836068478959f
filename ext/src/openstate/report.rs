//! Replies with state statistics, part by part: a walk over the flows of one table or of all.

use alloc::vec::Vec;

use bofuss_datapath::Time;
use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::BadRequest;

use super::extractor::{Extractor, FlowKey};
use super::machine::Machine;
use super::stateful::Stateful;
use super::table::StateEntry;
use super::{ALL_TABLES, N_TABLES, RecordForm, StateDialect, StateRecord, StateRequest};

/// The most flows of one part. With the longest records, of 136 bytes, they take 54 kB of the 64
/// KiB of a message.
const FLOWS_PER_PART: usize = 400;

/// A reply in progress.
#[derive(Debug)]
pub struct Report<'a> {
    request: &'a StateRequest,
    /// The form of all records; `None` for that of each table's dialect.
    form: Option<RecordForm>,
    /// True if flows are deleted once they are reported.
    deletes: bool,
    /// The table in which the walk continues.
    table: u8,
    /// The slot in that table.
    slot: u32,
}

impl<'a> Report<'a> {
    /// The reply to a request, from a place on: 0 for the beginning, or what [`Report::place`]
    /// returned. Errors: BAD_REQUEST/BAD_TABLE_ID.
    pub fn new(
        request: &'a StateRequest,
        form: Option<RecordForm>,
        deletes: bool,
        from: u64,
    ) -> Result<Self, ErrorCode> {
        if usize::from(request.table) >= N_TABLES && request.table != ALL_TABLES {
            return Err(BadRequest::BAD_TABLE_ID);
        }
        let first = if request.table == ALL_TABLES {
            0
        } else {
            request.table
        };
        Ok(Self {
            request,
            form,
            deletes,
            table: first.max((from >> u32::BITS) as u8),
            slot: from as u32,
        })
    }

    /// The place where the reply continues: the table in the higher 32 bits, the slot in the lower
    /// ones. `None` if everything was reported.
    pub fn place(&mut self, machine: &Machine) -> Option<u64> {
        self.seek(machine)?;
        Some(u64::from(self.table) << u32::BITS | u64::from(self.slot))
    }

    /// Goes to the next enabled table that was asked for, unless the current one is enabled.
    fn seek<'m>(&mut self, machine: &'m Machine) -> Option<&'m Stateful> {
        let last = if self.request.table == ALL_TABLES {
            N_TABLES as u8 - 1
        } else {
            self.request.table
        };
        while self.table <= last {
            if let Some(table) = machine.enabled(self.table) {
                return Some(table);
            }
            self.next_table();
        }
        None
    }

    /// The next part, with records of one table, and their form. It is empty if no table is left.
    pub fn next_part(
        &mut self,
        now: Time,
        machine: &mut Machine,
    ) -> (RecordForm, Vec<StateRecord>) {
        let Some(table) = self.seek(machine) else {
            return (self.form.unwrap_or(RecordForm::Beba), Vec::new());
        };
        let number = self.table;
        let form = self.form.unwrap_or_else(|| form_of(table.dialect()));
        let mut records = Vec::new();
        let mut reported = Vec::new();
        let lookup = table.lookup().expect("the table is enabled");
        let wanted = lookup.wanted(self.request.fields.fields());
        for _ in 0..FLOWS_PER_PART {
            let next = table.states.next(now, self.slot);
            let Some((slot, key, flow)) = next.filter(|_| wanted.is_some()) else {
                records.extend(self.default_record(table, form));
                self.next_table();
                break;
            };
            self.slot = slot + 1;
            if self.wants(wanted.as_deref().unwrap_or(&[]), &key, &flow) {
                records.push(record(now, number, lookup, &key, &flow, form));
                reported.push(key);
            }
        }
        if self.deletes {
            for key in &reported {
                machine.forget(now, number, key);
            }
        }
        (form, records)
    }

    fn next_table(&mut self) {
        self.table += 1;
        self.slot = 0;
    }

    /// Returns true if a flow has the state and the values in its key that were asked for.
    fn wants(
        &self,
        wanted: &[(core::ops::Range<usize>, FlowKey)],
        key: &FlowKey,
        flow: &StateEntry,
    ) -> bool {
        let mut wanted = wanted.iter();
        self.request.state.is_none_or(|state| state == flow.state)
            && wanted
                .all(|(range, value)| key.bytes()[range.clone()] == value.bytes()[range.clone()])
    }

    /// The record that stands for all flows without a state, unless a state other than 0 is asked
    /// for.
    fn default_record(&self, table: &Stateful, form: RecordForm) -> Option<StateRecord> {
        if self.request.state.is_some_and(|state| state != 0) {
            return None;
        }
        let lookup = table.lookup().filter(|_| names_fields(form));
        Some(StateRecord {
            table: self.table,
            fields: lookup.map_or(Vec::new(), |lookup| lookup.headers().to_vec()),
            ..StateRecord::default()
        })
    }
}

fn record(
    now: Time,
    table: u8,
    lookup: &Extractor,
    key: &FlowKey,
    flow: &StateEntry,
    form: RecordForm,
) -> StateRecord {
    let mut record = StateRecord {
        table,
        key: key.bytes()[..lookup.bytes()].to_vec(),
        state: flow.state,
        ..StateRecord::default()
    };
    if form != RecordForm::Short {
        record.duration = now.duration(flow.since);
        record.timers = flow.timers;
    }
    if names_fields(form) {
        record.fields = lookup.headers().to_vec();
    }
    if form == RecordForm::Opp {
        record.variables = flow.variables;
    }
    record
}

/// Returns true if the records of a form name the fields of the lookup scope.
fn names_fields(form: RecordForm) -> bool {
    matches!(form, RecordForm::OpenState | RecordForm::Opp)
}

/// The form of a dialect's records.
pub(super) fn form_of(dialect: StateDialect) -> RecordForm {
    match dialect {
        StateDialect::OpenState => RecordForm::OpenState,
        StateDialect::Beba => RecordForm::Beba,
        StateDialect::Opp => RecordForm::Opp,
    }
}
