//! The actions that change states: SET_STATE, SET_GLOBAL_STATE, INC_STATE.

use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Action, Catalogue, DecodeError, ErrorCode, ExtValue, Instruction, ParseError};

use super::args::{take_scope, take_table, take_transition, write_fields, write_transition};
use super::dialect::{Dialects, StateDialect};
use super::error;
use super::extractor::{Extractor, get_scope, put_scope, scope_count};
use super::table::Transition;
use super::wire::{get_timers, put_timers};
use super::{check_length, table_id};
use crate::common::args::{Args, write_masked};

/// Changes the state of the packet's flow in the update scope.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetState {
    /// The table whose state it is.
    pub table: u8,
    /// The state and its timers.
    pub transition: Transition,
    /// True if the flow's key is made by the bit-update scope.
    pub bit: bool,
    /// True if the action has the layout of Open Packet Processor.
    pub is_opp: bool,
    /// The fields that make the flow's key instead of the update scope, if any; only Open Packet
    /// Processor has these.
    pub scope: Option<Extractor>,
}

/// The conclusion from an action about the dialect of a table.
pub(crate) struct Evidence {
    /// The table.
    pub(crate) table: u8,
    /// The dialects that know such an action.
    pub(crate) known: Dialects,
    /// The error if the table's dialect is none of them.
    pub(crate) error: ErrorCode,
}

/// A function that finds the [`Evidence`] of an action in an entry of a table: [`evidence`], or an
/// extension's own function, which knows more actions.
pub(crate) type Infer = fn(&ExtValue, u8) -> Option<Evidence>;

/// Returns what can be inferred from an action in an entry; `None` if all dialects know it.
pub(crate) fn evidence(value: &ExtValue, _: u8) -> Option<Evidence> {
    let (table, known, error) = if let Some(action) = value.body::<SetState>() {
        let known = if action.is_opp {
            Dialects::only(StateDialect::Opp)
        } else {
            Dialects::SHORT_SET_STATE
        };
        (action.table, known, error::BAD_EXP_LEN)
    } else {
        let action = value.body::<IncState>()?;
        (action.table, Dialects::BEBA_OR_OPP, error::BAD_EXP_ACTION)
    };
    Some(Evidence {
        table,
        known,
        error,
    })
}

/// Returns what can be inferred from the actions of a flow-mod.
pub(crate) fn evidence_in(flow_mod: &FlowMod, infer: Infer) -> impl Iterator<Item = Evidence> {
    own_actions(flow_mod).filter_map(move |value| infer(value, flow_mod.table_id.0))
}

/// The actions of extensions in a flow-mod.
pub(crate) fn own_actions(flow_mod: &FlowMod) -> impl Iterator<Item = &ExtValue> {
    let lists = flow_mod.instructions.list().iter().map(|instruction| {
        if let Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) = instruction
        {
            &actions[..]
        } else {
            &[]
        }
    });
    lists.flatten().filter_map(|action| {
        if let Action::Experimenter(value) = action {
            Some(value)
        } else {
            None
        }
    })
}

/// Bytes after the type of a SET_STATE of OpenState and BEBA.
const SET_STATE_BYTES: usize = 36;
/// Bytes between the type and the fields of Open Packet Processor's SET_STATE.
const OPP_SET_STATE_BYTES: usize = 44;

impl Wire for SetState {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let is_opp = r.remaining() != SET_STATE_BYTES;
        if is_opp && r.remaining() < OPP_SET_STATE_BYTES {
            return Err(r.err(error::BAD_EXP_LEN));
        }
        r.take(4)?;
        let state = r.at("state").get()?;
        let mask = r.at("state_mask").get()?;
        let table = table_id(r)?;
        r.take(3)?;
        let timers = get_timers(r)?;
        let bit = r.at("bit").get::<u8>()? != 0;
        r.take(3)?;
        let mut scope = None;
        if is_opp {
            r.take(4)?;
            let mut at_count = r.clone();
            r.take(4)?;
            scope = get_scope(&mut at_count, r)?;
        }
        Ok(Self {
            table,
            transition: Transition {
                state,
                mask,
                timers,
            },
            bit,
            is_opp,
            scope,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.pad(4);
        w.put(&self.transition.state).put(&self.transition.mask);
        w.put(&self.table).pad(3);
        put_timers(&self.transition.timers, w);
        w.put(&u8::from(self.bit)).pad(3);
        if self.is_opp {
            let scope = self.scope.as_ref();
            w.pad(4).put(&scope_count(scope));
            put_scope(scope, w);
        }
    }
}

impl TextForm for SetState {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table={},", self.table)?;
        write_transition(f, &self.transition)?;
        if self.bit {
            f.write_str(",bit=1")?;
        }
        match &self.scope {
            Some(scope) => {
                f.write_str(",fields=")?;
                write_fields(f, scope.headers())
            }
            None if self.is_opp => f.write_str(",opp"),
            None => Ok(()),
        }
    }
}

impl TypedBody for SetState {
    /// An action set has at most one for each table.
    fn action_set_key(&self) -> u64 {
        self.table.into()
    }

    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let scope = take_scope(&mut args, catalogue)?;
        let this = Self {
            table: take_table(&mut args)?,
            transition: take_transition(&mut args)?,
            bit: args.number::<u8>("bit")? != 0,
            is_opp: args.take("opp").is_some() || scope.is_some(),
            scope,
        };
        args.finish().map(|()| this)
    }
}

/// Changes bits of the global state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetGlobalState {
    /// The new value, where the mask has ones.
    pub value: u32,
    /// The bits that change.
    pub mask: u32,
}

impl Wire for SetGlobalState {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        check_length(r, 12)?;
        r.take(4)?;
        Ok(Self {
            value: r.at("global_state").get()?,
            mask: r.at("global_state_mask").get()?,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.pad(4).put(&self.value).put(&self.mask);
    }
}

impl TextForm for SetGlobalState {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_masked(f, "global_state", self.value, self.mask)
    }
}

impl TypedBody for SetGlobalState {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let (value, mask) = args.masked("global_state")?;
        args.finish().map(|()| Self { value, mask })
    }
}

/// Adds 1 to the state of the packet's flow in the update scope.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IncState {
    /// The table whose state it is.
    pub table: u8,
}

impl Wire for IncState {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        check_length(r, 12)?;
        r.take(4)?;
        let table = table_id(r)?;
        r.take(7)?;
        Ok(Self { table })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.pad(4).put(&self.table).pad(7);
    }
}

impl TextForm for IncState {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table={}", self.table)
    }
}

impl TypedBody for IncState {
    fn action_set_key(&self) -> u64 {
        self.table.into()
    }

    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let table = take_table(&mut args)?;
        args.finish().map(|()| Self { table })
    }
}
