//! Notifications to controllers: a flow-mod was carried out, a state has changed.

use alloc::vec::Vec;
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::wire::{Bytes, Reader, Text, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, Match, ParseError};

use super::args::write_variables;
use super::dialect::{StateDialect, form_of};
use super::error;
use crate::common::beba::FlowVariables;

/// The type of the message that was carried out, `ntf_type`: OFPT_FLOW_MOD.
const FLOW_MOD: u32 = 14;

/// A flow-mod of the controller was carried out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlowNotification {
    /// The table.
    pub table: u32,
    /// The match.
    pub fields: Match,
    /// The types of its instructions.
    pub instructions: Vec<u32>,
}

impl Wire for FlowNotification {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let table = r.at("table_id").get()?;
        r.at("ntf_type").take(4)?;
        let fields = r.get()?;
        let count = r.at("instructions").get::<u32>()? as usize;
        if r.remaining() / 4 < count {
            return Err(r.err(error::BAD_EXP_LEN));
        }
        let mut instructions = Vec::new();
        for _ in 0..count {
            instructions.push(r.get()?);
        }
        r.rest();
        Ok(Self {
            table,
            fields,
            instructions,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&self.table).put(&FLOW_MOD).put(&self.fields);
        w.put(&(self.instructions.len() as u32))
            .put(&self.instructions);
        w.align8(start);
    }
}

impl TextForm for FlowNotification {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "table={},match={},instructions=",
            self.table,
            Text(&self.fields)
        )?;
        self.instructions.text(f)
    }
}

impl TypedBody for FlowNotification {
    fn parse(_: &str, _: &Catalogue) -> Result<Self, ParseError> {
        Err("only a switch sends it".into())
    }
}

/// A flow's state has changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StateChanged {
    /// The table.
    pub table: u32,
    /// The state before.
    pub old: u32,
    /// The state after.
    pub new: u32,
    /// The bits that the action changed.
    pub mask: u32,
    /// The flow's key.
    pub key: Vec<u8>,
    /// The flow's variables, in the form of Open Packet Processor.
    pub variables: Option<FlowVariables>,
}

impl Wire for StateChanged {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let this = Self {
            table: r.at("table_id").get()?,
            old: r.at("old_state").get()?,
            new: r.at("new_state").get()?,
            mask: r.at("state_mask").get()?,
            key: Vec::new(),
            variables: None,
        };
        let key_bytes = r.at("key_len").get::<u32>()? as usize;
        let key = r.at("key").take(key_bytes)?.into();
        let variables = get_variables(r)?;
        Ok(Self {
            key,
            variables,
            ..this
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.table).put(&self.old).put(&self.new);
        w.put(&self.mask).put(&(self.key.len() as u32));
        w.raw(&self.key);
        for variable in self.variables.iter().flatten() {
            w.put(variable);
        }
    }
}

/// Reads the variables of a flow, if anything is left.
fn get_variables(r: &mut Reader<'_>) -> Result<Option<FlowVariables>, DecodeError> {
    if r.is_empty() {
        return Ok(None);
    }
    let mut variables = FlowVariables::default();
    for variable in &mut variables {
        *variable = r.at("flow_data_var").get()?;
    }
    Ok(Some(variables))
}

impl TextForm for StateChanged {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table={},key=", self.table)?;
        Bytes(self.key.clone()).text(f)?;
        write!(
            f,
            ",old={},new={},mask={:#x}",
            self.old, self.new, self.mask
        )?;
        match &self.variables {
            Some(variables) => {
                f.write_str(",")?;
                write_variables(f, variables)
            }
            None => Ok(()),
        }
    }
}

impl TypedBody for StateChanged {
    /// Only controllers of Open Packet Processor get the variables. A connection that has not shown
    /// its dialect gets the notification as it is.
    fn in_form(&self, form: u8) -> Option<Self> {
        if form == 0 {
            return None;
        }
        let is_opp = form == form_of(StateDialect::Opp);
        Some(Self {
            variables: is_opp.then(|| self.variables.unwrap_or_default()),
            ..self.clone()
        })
    }

    fn parse(_: &str, _: &Catalogue) -> Result<Self, ParseError> {
        Err("only a switch sends it".into())
    }
}
