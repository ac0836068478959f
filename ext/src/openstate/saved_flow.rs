//! A flow of a state table with its past, as a message that gives it to a switch again.

use alloc::vec::Vec;
use core::fmt;

use bofuss_datapath::Time;
use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ParseError, PortNo};

use super::table::{StateEntry, Timers};
use super::wire::{check_key, get_timers, put_timers, table_id};
use crate::common::beba::{FlowVariables, N_FLOW_VARIABLES};

/// Bytes before the key: table, length of the key, state, timers, port, times, variables.
const HEAD_BYTES: usize = 8 + 4 + 16 + 4 + 16 + 4 * N_FLOW_VARIABLES;

/// A flow as a switch had it. Its times are by the clock of the switch, which goes on after a
/// restart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SavedFlow {
    /// The table.
    pub table: u8,
    /// The flow's key.
    pub key: Vec<u8>,
    /// Its state.
    pub state: u32,
    /// The timers that run.
    pub timers: Timers,
    /// The port in whose share it counts.
    pub port: PortNo,
    /// The time when the last transition was, in nanoseconds.
    pub since_ns: u64,
    /// The time when the idle timer was last started, in nanoseconds.
    pub used_ns: u64,
    /// Its variables.
    pub variables: FlowVariables,
}

impl SavedFlow {
    /// The flow of this key in a table.
    pub(crate) fn new(table: u8, key: &[u8], flow: &StateEntry) -> Self {
        Self {
            table,
            key: key.to_vec(),
            state: flow.state,
            timers: flow.timers,
            port: flow.port,
            since_ns: flow.since.0,
            used_ns: flow.used.0,
            variables: flow.variables,
        }
    }

    /// Its entry at `now`: it was not used later.
    pub(super) fn entry(&self, now: Time) -> StateEntry {
        let timers = self.timers.armed_in(self.state);
        StateEntry {
            state: self.state,
            has_timers: timers != Timers::default(),
            used: Time(self.used_ns).min(now),
            since: Time(self.since_ns).min(now),
            port: self.port,
            timers,
            variables: self.variables,
        }
    }
}

impl Wire for SavedFlow {
    /// Errors: BAD_EXP_LEN, BAD_TABLE_ID.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        check_key(r, HEAD_BYTES)?;
        let table = table_id(r)?;
        r.take(7)?;
        let state = r.at("state").get()?;
        let timers = get_timers(r)?;
        let port = r.at("port").get()?;
        let since_ns = r.at("since").get()?;
        let used_ns = r.at("used").get()?;
        let mut variables = FlowVariables::default();
        for variable in &mut variables {
            *variable = r.at("variable").get()?;
        }
        let key_bytes = r.remaining();
        let key = r.at("key").take(key_bytes)?.to_vec();
        Ok(Self {
            table,
            key,
            state,
            timers,
            port,
            since_ns,
            used_ns,
            variables,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.table).pad(3).put(&(self.key.len() as u32));
        w.put(&self.state);
        put_timers(&self.timers, w);
        w.put(&self.port).put(&self.since_ns).put(&self.used_ns);
        for variable in &self.variables {
            w.put(variable);
        }
        w.raw(&self.key);
    }
}

impl TextForm for SavedFlow {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table={},key=", self.table)?;
        for byte in &self.key {
            write!(f, "{byte:02x}")?;
        }
        write!(f, ",state={},port={}", self.state, self.port)?;
        write!(f, ",since_ns={},used_ns={}", self.since_ns, self.used_ns)
    }
}

impl TypedBody for SavedFlow {
    fn parse(_: &str, _: &Catalogue) -> Result<Self, ParseError> {
        Err("it is only in saved states: state_mod sets the state of a flow".into())
    }
}
