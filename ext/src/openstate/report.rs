//! State statistics, part by part: a walk over the states of one table or of all.

use alloc::vec::Vec;

use bofuss_datapath::Time;
use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::BadRequest;

use super::extractor::{Extractor, FlowKey};
use super::machine::{Machine, Stateful};
use super::table::{Behaviour, StateEntry};
use super::{ALL_TABLES, N_TABLES, RecordForm, StateRecord, StateRequest};

/// Records of one part; those of OpenState, the longest, then take 45 kB.
const RECORDS_PER_PART: usize = 400;

/// A reply that is under way.
#[derive(Debug)]
pub struct Report {
    request: StateRequest,
    /// The form of all records; each table's own if not said.
    form: Option<RecordForm>,
    /// Whether flows are forgotten once they are reported.
    deletes: bool,
    /// Where the walk goes on: the table, and the slot in it.
    table: u8,
    slot: u32,
}

impl Report {
    /// Begins the reply to a request. Errors: BAD_REQUEST/BAD_TABLE_ID.
    pub fn new(
        request: StateRequest,
        form: Option<RecordForm>,
        deletes: bool,
    ) -> Result<Self, ErrorCode> {
        if usize::from(request.table) >= N_TABLES && request.table != ALL_TABLES {
            return Err(BadRequest::BAD_TABLE_ID);
        }
        let table = if request.table == ALL_TABLES {
            0
        } else {
            request.table
        };
        Ok(Self {
            request,
            form,
            deletes,
            table,
            slot: 0,
        })
    }

    /// The same, going on where [`Report::place`] was.
    pub fn resume(&mut self, place: u64) {
        if place != 0 {
            (self.table, self.slot) = ((place >> 32) as u8, place as u32);
        }
    }

    /// Where it goes on; `None` after the last part.
    pub fn place(&mut self, machine: &mut Machine) -> Option<u64> {
        while self.is_asked() && machine.enabled(self.table).is_none() {
            self.next_table();
        }
        let place = u64::from(self.table) << 32 | u64::from(self.slot);
        self.is_asked().then_some(place)
    }

    /// The next part, of one table, with the form of its records; `None` after the last one.
    pub fn next_part(
        &mut self,
        now: Time,
        machine: &mut Machine,
    ) -> Option<(RecordForm, Vec<StateRecord>)> {
        while self.is_asked() {
            let number = self.table;
            let Some(table) = machine.enabled(number) else {
                self.next_table();
                continue;
            };
            let form = self.form.unwrap_or(match table.states.behaviour {
                Behaviour::OpenState => RecordForm::OpenState,
                Behaviour::Beba => RecordForm::Beba,
            });
            let mut records = Vec::new();
            let mut reported = Vec::new();
            let lookup = table.lookup().expect("the table is enabled");
            let wanted = lookup.wanted(self.request.fields.fields());
            while records.len() < RECORDS_PER_PART {
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
                reported
                    .iter()
                    .for_each(|key| machine.forget(now, number, key));
            }
            return Some((form, records));
        }
        None
    }

    /// Returns true if the present table is one that was asked for.
    fn is_asked(&self) -> bool {
        let of_all = self.request.table == ALL_TABLES && usize::from(self.table) < N_TABLES;
        of_all || self.request.table == self.table
    }

    fn next_table(&mut self) {
        self.table = if self.request.table == ALL_TABLES {
            self.table + 1
        } else {
            ALL_TABLES - 1
        };
        self.slot = 0;
    }

    fn wants(
        &self,
        wanted: &[(core::ops::Range<usize>, FlowKey)],
        key: &FlowKey,
        flow: &StateEntry,
    ) -> bool {
        let same = |(range, value): &(core::ops::Range<usize>, FlowKey)| {
            key.bytes()[range.clone()] == value.bytes()[range.clone()]
        };
        self.request.state.is_none_or(|state| state == flow.state) && wanted.iter().all(same)
    }

    /// The record that stands for all flows without a state, unless another state is asked for.
    fn default_record(&self, table: &Stateful, form: RecordForm) -> Option<StateRecord> {
        if self.request.state.is_some_and(|state| state != 0) {
            return None;
        }
        let lookup = table.lookup().filter(|_| form == RecordForm::OpenState);
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
    if form == RecordForm::OpenState {
        record.fields = lookup.headers().to_vec();
    }
    record
}
