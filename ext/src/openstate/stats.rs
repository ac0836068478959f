//! Multiparts: the requests of controllers about states, and the replies in each dialect.

use alloc::{format, string::ToString, vec::Vec};
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::text::parse_match;
use bofuss_oflib::wire::{Reader, Text, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, Match, ParseError};

use super::args::{take_table, write_fields, write_transition, write_variables};
use super::extractor::{MAX_FIELDS, MAX_KEY_BYTES, write_key};
use super::table::{Timers, Transition};
use super::wire::{get_timers, put_timers};
use super::{ALL_TABLES, check_length, error};
use crate::common::args::Args;
use crate::common::beba::{FlowVariables, N_GLOBAL_VARIABLES};

/// Bytes of BEBA's record before its key.
const BEBA_BYTES: usize = 32;
/// Bytes of BEBA's short record before its key.
const SHORT_BYTES: usize = 8;
/// Bytes of a reply with the global state.
const GLOBAL_STATE_BYTES: usize = 8;
/// Bytes of OpenState's record.
const OPENSTATE_BYTES: usize = 112;
/// Bytes of Open Packet Processor's record.
const OPP_BYTES: usize = 136;
/// Bytes of a request for the variables of a table.
const VARIABLES_REQUEST_BYTES: usize = 8;
/// The byte that distinguishes a reply from a request. A reply begins with the 16-bit length of a
/// record, below 256: its first byte is 0, and its second is at least this. A request begins with
/// the number of a table and a flag, which is 0 or 1.
const LEAST_RECORD_BYTES: u8 = SHORT_BYTES as u8;

/// The states that are asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StateRequest {
    /// The table; 255 for all.
    pub table: u8,
    /// The state that flows must have, if any.
    pub state: Option<u32>,
    /// Values that flows must have in fields of the lookup scope.
    pub fields: Match,
}

/// One flow's state in a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StateRecord {
    /// The table.
    pub table: u8,
    /// The key in the lookup scope; empty in the record that stands for all flows without state.
    pub key: Vec<u8>,
    /// The state.
    pub state: u32,
    /// The time since the last transition: seconds, and nanoseconds below a second.
    pub duration: (u32, u32),
    /// The timers that run.
    pub timers: Timers,
    /// The OXM headers of the lookup scope's fields, in records of OpenState and Open Packet
    /// Processor.
    pub fields: Vec<u32>,
    /// The flow's variables, in records of Open Packet Processor.
    pub variables: FlowVariables,
}

/// The forms of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordForm {
    /// OpenState's, 112 bytes.
    OpenState,
    /// Open Packet Processor's, 136 bytes.
    Opp,
    /// BEBA's, as long as the key.
    Beba,
    /// BEBA's without timers.
    Short,
}

/// A request for states, or a part of the reply; neither says which it is. They look alike only if
/// a request for table 0 has a flag above 7, and flags are 0 or 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StateStats {
    /// A controller's request.
    Request(StateRequest),
    /// A switch's reply. Without records and with type 2, it is also an OpenState controller's
    /// request for the global state.
    Reply(RecordForm, Vec<StateRecord>),
    /// The global state, for OpenState controllers.
    GlobalState(u32),
    /// A request for the variables of a table, with the type of short statistics.
    VariablesRequest(u8),
    /// The variables of a table.
    Variables([u32; N_GLOBAL_VARIABLES]),
}

impl Wire for StateRequest {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let table = r.at("table_id").get()?;
        let by_state = r.at("get_from_state").get::<u8>()? != 0;
        r.take(2)?;
        let state = r.at("state").get()?;
        Ok(Self {
            table,
            state: by_state.then_some(state),
            fields: r.at("match").get()?,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.table).put(&u8::from(self.state.is_some()));
        w.pad(2).put(&self.state.unwrap_or(0)).put(&self.fields);
    }
}

impl StateRecord {
    fn decode(form: RecordForm, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let least = match form {
            RecordForm::OpenState => OPENSTATE_BYTES,
            RecordForm::Opp => OPP_BYTES,
            RecordForm::Beba => BEBA_BYTES,
            RecordForm::Short => SHORT_BYTES,
        };
        let mut r = r.sized(0, least, 8, error::BAD_EXP_LEN)?;
        r.take(2)?;
        let mut this = Self {
            table: r.at("table_id").get()?,
            ..Self::default()
        };
        let mut key_bytes = usize::from(r.at("key_len").get::<u8>()?);
        match form {
            RecordForm::OpenState | RecordForm::Opp => return this.decode_fixed(form, &mut r),
            RecordForm::Beba => {
                this.duration = (r.get()?, r.get()?);
                this.timers = get_timers(&mut r)?;
            }
            RecordForm::Short => {}
        }
        this.state = r.at("state").get()?;
        key_bytes = key_bytes.min(MAX_KEY_BYTES);
        this.key = r.at("key").take(key_bytes)?.into();
        Ok(this)
    }

    fn decode_fixed(mut self, form: RecordForm, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        self.duration = (r.get()?, r.get()?);
        let n_fields = r.at("field_count").get::<u32>()? as usize;
        for _ in 0..MAX_FIELDS {
            self.fields.push(r.get()?);
        }
        self.fields.truncate(n_fields);
        let key_bytes = r.at("key_len").get::<u32>()? as usize;
        let key = r.take(MAX_KEY_BYTES)?;
        self.key = key[..key_bytes.min(MAX_KEY_BYTES)].into();
        self.state = r.at("state").get()?;
        if form == RecordForm::Opp {
            for variable in &mut self.variables {
                *variable = r.at("flow_data_var").get()?;
            }
        }
        self.timers = get_timers(r)?;
        Ok(self)
    }

    fn encode(&self, form: RecordForm, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&0u16).put(&self.table);
        match form {
            RecordForm::OpenState | RecordForm::Opp => {
                w.pad(1).put(&self.duration.0).put(&self.duration.1);
                w.put(&(self.fields.len() as u32)).put(&self.fields);
                w.pad(4 * (MAX_FIELDS - self.fields.len()));
                w.put(&(self.key.len() as u32)).raw(&self.key);
                w.pad(MAX_KEY_BYTES - self.key.len());
                w.put(&self.state);
                if form == RecordForm::Opp {
                    for variable in &self.variables {
                        w.put(variable);
                    }
                }
                put_timers(&self.timers, w);
            }
            RecordForm::Beba => {
                w.put(&(self.key.len() as u8));
                w.put(&self.duration.0).put(&self.duration.1);
                put_timers(&self.timers, w);
                w.put(&self.state).raw(&self.key);
            }
            RecordForm::Short => {
                w.put(&(self.key.len() as u8)).put(&self.state);
                w.raw(&self.key);
            }
        }
        w.align8(start).patch_length(start, start);
    }
}

impl StateStats {
    fn decode_as(r: &mut Reader<'_>, is_short: bool) -> Result<Self, DecodeError> {
        let bytes = r.clone().rest();
        if !is_short && bytes.len() == GLOBAL_STATE_BYTES {
            r.take(4)?;
            return r.at("global_state").get().map(Self::GlobalState);
        }
        if is_short && bytes.len() == VARIABLES_REQUEST_BYTES && bytes[..2] == [0; 2] {
            r.take(7)?;
            return r.at("table_id").get().map(Self::VariablesRequest);
        }
        if is_short && bytes.len() == 4 * N_GLOBAL_VARIABLES && !has_short_records(bytes) {
            let mut variables = [0; N_GLOBAL_VARIABLES];
            for variable in &mut variables {
                *variable = r.at("global_data_var").get()?;
            }
            return Ok(Self::Variables(variables));
        }
        let form = match bytes {
            [] | [0, LEAST_RECORD_BYTES..=u8::MAX, ..] if is_short => RecordForm::Short,
            [0, length, ..] if usize::from(*length) == OPENSTATE_BYTES => RecordForm::OpenState,
            [0, length, ..] if usize::from(*length) == OPP_BYTES => RecordForm::Opp,
            [] | [0, LEAST_RECORD_BYTES..=u8::MAX, ..] => RecordForm::Beba,
            _ => return r.get().map(Self::Request),
        };
        let mut records = Vec::new();
        while !r.is_empty() {
            records.push(StateRecord::decode(form, r)?);
        }
        Ok(Self::Reply(form, records))
    }
}

/// Returns true if bytes are a list of short records, judged by the lengths in them. The eight
/// variables of a table look like such a list only if the upper half of some of them is the length
/// of a record that ends where the next one begins.
fn has_short_records(mut bytes: &[u8]) -> bool {
    while let [0, length, ..] = bytes {
        let length = usize::from(*length);
        if length < SHORT_BYTES || length % 8 != 0 || length > bytes.len() {
            return false;
        }
        bytes = &bytes[length..];
    }
    bytes.is_empty()
}

impl Wire for StateStats {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::decode_as(r, false)
    }

    fn encode(&self, w: &mut Writer<'_>) {
        match self {
            Self::Request(request) => request.encode(w),
            Self::Reply(form, records) => records.iter().for_each(|one| one.encode(*form, w)),
            Self::GlobalState(state) => {
                w.pad(4).put(state);
            }
            Self::VariablesRequest(table) => {
                w.pad(7).put(table);
            }
            Self::Variables(variables) => {
                for variable in variables {
                    w.put(variable);
                }
            }
        }
    }
}

impl TextForm for StateStats {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(StateRequest {
                table,
                state,
                fields,
            }) => {
                write!(f, "table={table}")?;
                if let Some(state) = state {
                    write!(f, ",state={state}")?;
                }
                write!(f, ",match={}", Text(fields))
            }
            Self::Reply(_, records) => records.text(f),
            Self::GlobalState(state) => write!(f, "global_state={state}"),
            Self::VariablesRequest(table) => write!(f, "variables,table={table}"),
            Self::Variables(variables) => write_variables(f, variables),
        }
    }
}

impl TextForm for StateRecord {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table={}", self.table)?;
        if self.key.is_empty() {
            f.write_str(",default")?;
        } else {
            f.write_str(",key=")?;
            write_key(f, &self.fields, &self.key)?;
        }
        let transition = Transition {
            state: self.state,
            mask: u32::MAX,
            timers: self.timers,
        };
        f.write_str(",")?;
        write_transition(f, &transition)?;
        if self.variables != FlowVariables::default() {
            f.write_str(",")?;
            write_variables(f, &self.variables)?;
        }
        let (seconds, nanos) = self.duration;
        if (seconds, nanos) != (0, 0) {
            write!(f, ",duration={seconds}.{nanos:09}s")?;
        }
        if !self.fields.is_empty() {
            f.write_str(",fields=")?;
            write_fields(f, &self.fields)?;
        }
        Ok(())
    }
}

impl TypedBody for StateStats {
    fn join(&mut self, part: Self) -> bool {
        match (self, part) {
            (Self::Reply(form, records), Self::Reply(other, more)) if *form == other => {
                records.extend(more);
                true
            }
            (_, _) => false,
        }
    }

    /// Reads a request. The text of a reply cannot be read back.
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let (head, fields) = match text.split_once("match={") {
            Some((head, fields)) => (head, fields.strip_suffix('}').ok_or("'}' is missing")?),
            None => (text, ""),
        };
        let mut args = Args::new(head);
        if args.take("variables").is_some() {
            let table = take_table(&mut args)?;
            return args.finish().map(|()| Self::VariablesRequest(table));
        }
        let table = match args.take("table") {
            None => ALL_TABLES,
            Some(table) => Args::new(&format!("table={table}")).number("table")?,
        };
        let state = match args.take("state") {
            None => None,
            Some(state) => Some(Args::new(&format!("state={state}")).number("state")?),
        };
        args.finish()?;
        let fields = parse_match(fields, catalogue).map_err(|error| error.to_string())?;
        Ok(Self::Request(StateRequest {
            table,
            state,
            fields,
        }))
    }
}

/// A request or reply about states in BEBA's short form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShortStats(pub StateStats);

impl Wire for ShortStats {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        StateStats::decode_as(r, true).map(Self)
    }

    fn encode(&self, w: &mut Writer<'_>) {
        self.0.encode(w);
    }
}

impl TextForm for ShortStats {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.text(f)
    }
}

impl TypedBody for ShortStats {
    fn join(&mut self, part: Self) -> bool {
        self.0.join(part.0)
    }

    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        StateStats::parse(text, catalogue).map(Self)
    }
}

/// The multipart for the global state (BEBA) and for the number of states (OpenState), which have
/// the same type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GlobalStats {
    /// A controller asks for the global state.
    Request,
    /// Two numbers. In a reply, 0 and the global state. In an OpenState controller's request for
    /// the number of a table's states, the table is the first byte; the reply has that number and
    /// 0.
    Numbers(u32, u32),
}

impl Wire for GlobalStats {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if r.is_empty() {
            return Ok(Self::Request);
        }
        check_length(r, 8)?;
        Ok(Self::Numbers(r.get()?, r.get()?))
    }

    fn encode(&self, w: &mut Writer<'_>) {
        if let Self::Numbers(first, second) = self {
            w.put(first).put(second);
        }
    }
}

impl TextForm for GlobalStats {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request => Ok(()),
            Self::Numbers(0, state) => write!(f, "global_state={state}"),
            Self::Numbers(first, second) => write!(f, "numbers={first:#x}+{second:#x}"),
        }
    }
}

impl TypedBody for GlobalStats {
    /// Reads a request.
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        Args::new(text).finish().map(|()| Self::Request)
    }
}
